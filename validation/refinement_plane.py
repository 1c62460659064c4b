"""What errs at a plane of refinement: Rayleigh waves along it, and contacts next to it.

A vertical force on a half-space, receivers on the surface up to eight wavelengths away, and the
plane 0.5, 1 and 2 wavelengths of its Rayleigh wave deep: those waves reach below it all the way.
The sides are periodic and so far away that no wave comes round, as layers that the plane goes
through send back more than it errs. Then rock under soft ground, a force in the rock, receivers on
the surface, and the plane so many rows of the coarser grid above the contact. Exact solutions of
the half-space and of the layer. What `seismo check` tells is beside; points per wavelength are
those of the shortest S wave below the plane.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.features.refinement.error import refined_error

ROCK = Medium(3000.0, 1700.0, 2200.0)
RAYLEIGH = 0.9216 * ROCK.vs  # m/s
SHORTEST = 100.0  # wavelength of S waves in m
FREQUENCY = ROCK.vs / (2.5 * SHORTEST)
WAVELENGTH = RAYLEIGH / FREQUENCY  # of Rayleigh waves of the wavelet's frequency
OFFSETS = np.array([1.0, 4.0, 8.0])  # of the receivers, in these
SOFT = Medium(1800.0, 1000.0, 2000.0)
HARD = Medium(4200.0, 2400.0, 2500.0)
COARSE = 30.0  # spacing in m below the plane, where the contact is near
CONTACT = 480.0  # m
FACTOR = 3  # spacing below the plane over that above
# By order, points and depth of the plane in Rayleigh wavelengths.
ALONG = {
    (8, 10.0, 0.5): 3e-4, (8, 10.0, 1.0): 1.2e-4, (8, 10.0, 2.0): 1.2e-4,
    (8, 5.0, 1.0): 2e-3, (8, 5.0, 2.0): 2e-3,
    (4, 10.0, 0.5): 4e-4, (4, 10.0, 1.0): 3e-4, (4, 10.0, 2.0): 3e-4,
    (4, 5.0, 1.0): 3e-3, (4, 5.0, 2.0): 3e-3,
}  # fmt: skip
# By order and rows from the plane down to the contact.
NEXT_TO = {
    (8, -1): 6e-3, (8, 0): 6e-3, (8, 1): 0.02, (8, 2): 0.026, (8, 3): 0.018, (8, 5): 9e-3,
    (4, 0): 6e-3, (4, 1): 0.02, (4, 2): 0.02, (4, 3): 0.02,
}  # fmt: skip


def half_space(points: float, order: int, depth: float) -> dict:
    """Put a force on a half-space whose plane lies so many Rayleigh wavelengths deep."""
    below = SHORTEST / points
    far = OFFSETS[-1] * WAVELENGTH
    duration = 1.05 * far / RAYLEIGH + 3.2 / FREQUENCY
    # The fastest waves come round after the end.
    across = far + ROCK.vp * duration
    low = below * np.ceil(0.5 * (across - far) / below)
    receivers = np.column_stack([OFFSETS * WAVELENGTH, np.zeros(OFFSETS.size)])
    return {
        "title": "Rayleigh wave along a plane of refinement", "physics": "elastic",
        "precision": "float64",
        "grid": {"extent": {"x": below * np.ceil(across / below),
                            "z": below * np.ceil(3.0 * WAVELENGTH / below)},
                 "origin": {"x": -low}, "spacing": below / FACTOR, "order": order,
                 "refinement": [{"below": below * round(depth * WAVELENGTH / below)}]},
        "time": {"duration": duration, "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "x_min": "periodic", "x_max": "periodic",
                       "layer": {"damping": 0.0}},
        "model": [{"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}],
        "sources": [{"type": "force", "position": {"x": 0.0, "z": 0.0}, "force": {"z": 1e9},
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(receivers, ["velocity"])],
    }  # fmt: skip


def soft_ground(order: int, rows: int) -> dict:
    """Put the plane so many rows of the coarser grid above a contact, and a force below it."""
    # As thick as waves of the rock are long, so that what layers send back is not the plane's.
    layer = {"points": 60}
    return {
        "title": "contact next to a plane of refinement", "physics": "elastic",
        "precision": "float64",
        "grid": {"extent": {"x": 900.0, "z": 1500.0}, "spacing": COARSE / FACTOR, "order": order,
                 "refinement": [{"below": CONTACT - rows * COARSE}]},
        "time": {"duration": 2.2, "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "layer": layer},
        "model": [{"type": "layers", "layers": [
            {"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
            for top, m in ((0.0, SOFT), (CONTACT, HARD))]}],
        "sources": [{"type": "force", "position": {"x": 450.0, "z": 1000.0},
                     "force": {"x": 1e9, "z": 1e9},
                     "wavelet": {"type": "ricker", "frequency": 1.5}}],
        "receivers": [cases.points(np.array([[300.0, 0.0], [500.0, 0.0]]), ["velocity"])],
    }  # fmt: skip


def worst(document: dict, stack: Stack) -> tuple[float, float]:
    """Run; return the error of the worst receiver, and what `check` tells."""
    run = cases.simulate(document)
    discretization = run.simulation.discretization
    (source,) = discretization.shots[0].sources
    force = np.array([source.strength.get(axis, 0.0) for axis in "xz"])
    exact = layered_plane.force_response(
        stack, np.array(source.position)[[0, 2]], discretization.groups[0].coordinates[:, [0, 2]],
        force, run.source, run.dt, "velocity", cut=1e-7,
    )  # fmt: skip
    traces = run.components("vx", "vz")
    errors = [metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True)]
    return max(errors), refined_error(discretization).error


def along(order: int, points: float, depth: float) -> cases.Row:
    """Compare the Rayleigh wave over a plane with Lamb's solution."""
    error, told = worst(half_space(points, order, depth), Stack((ROCK,), (0.0,)))
    return cases.Row(
        f"vertical force, surface up to 8 Rayleigh wavelengths away, plane {depth:g} of them deep",
        f"{points:g} ppw below, order {order}; {100 * told:.2g} % told", error,
        ALONG[order, points, depth], reference="half-space",
    )  # fmt: skip


def next_to(order: int, rows: int) -> cases.Row:
    """Compare soft ground on rock with the plane beside the contact with the exact solution."""
    error, told = worst(soft_ground(order, rows), Stack((SOFT, HARD), (0.0, CONTACT)))
    return cases.Row(
        f"soft ground on rock, rows from the plane down to the contact: {rows}",
        f"8.9 ppw below, order {order}; {100 * told:.2g} % told", error, NEXT_TO[order, rows],
        reference="layered half-space",
    )  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare by order, sampling, depth of the plane and rows to a contact."""
    if quick:
        return [along(8, 5.0, 1.0), next_to(8, 2), next_to(8, 0)]
    return [*(along(*key) for key in ALONG), *(next_to(*key) for key in NEXT_TO)]


if __name__ == "__main__":
    cases.main(case)

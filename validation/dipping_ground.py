"""Lamb's problem under ground that dips: P-SV, SH and 3-D waves along a slope and below it.

A half-space turned is a half-space, so that the exact solution is that of level ground, with
source, receivers and components turned. A buried force; receivers on the slope (`depth`, 0 below
the ground) and in the rock (by `z`), up to nine shortest wavelengths away, in 3-D four. In the
absorbing layers the ground is level: the grid reaches so far beyond the receivers that little comes
back from where it bends, but in 3-D, where that rules the error: with a margin of six wavelengths
in place of three the worst receiver errs by 0.40 % with 6 points, and by 0.085 % with 10 (all of
them 0.23 and 0.053 %), which takes minutes. Dip 0 tells what the same grid errs by without a slope.
Moments half a row to four rows deep, along and across the slope; stresses on the ground and below
it, of the largest stress there, and the traction on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import cases
import numpy as np

from seismo.exact import layered, layered_plane, metrics, shear
from seismo.exact.medium import AttenuatingMedium, Medium
from seismo.exact.stack import Stack

ROCK = Medium(3000.0, 1700.0, 2200.0)
HALF_SPACE = Stack((ROCK,), (0.0,))
PPW = 10  # points per shortest wavelength, where nothing else is said
SHORTEST = 100.0  # wavelength of S waves in m
FREQUENCY = ROCK.vs / (2.5 * SHORTEST)  # Hz
DELAY = 1.6 / FREQUENCY
# By waves and order: the worst receiver, and all together.
BARS = {
    ("P-SV", 8): (0.006, 0.003), ("P-SV", 4): (0.01, 0.006), ("SH", 8): (0.001, 0.0005),
    ("SH", 4): (0.005, 0.003), ("3-D", 8): (0.02, 0.015),
}  # fmt: skip


@dataclass(frozen=True)
class Geometry:
    """Source, receivers and force in the frame of the slope.

    Attributes:
        axes: of the run.
        source: down the slope, (along it) and into the rock, in shortest wavelengths.
        receivers: (receiver, axis), likewise.
        force: in that frame, N or N/m; along y alone for SH waves.
        margin: shortest wavelengths beyond source and receivers.
        ppw: points per shortest wavelength.
    """

    axes: str
    source: np.ndarray
    receivers: np.ndarray
    force: np.ndarray
    margin: float
    ppw: int = PPW

    @property
    def kind(self) -> str:
        """Which waves."""
        return "3-D" if self.axes == "xyz" else "SH" if self.force.size == 1 else "P-SV"


PLANE_RECEIVERS = np.array([[1.0, 0.0], [3.0, 0.0], [6.0, 0.0], [9.0, 0.0], [4.0, 0.3],
                            [7.0, 1.5], [5.0, 4.0]])  # fmt: skip
PSV = Geometry("xz", np.array([0.0, 2.1]), PLANE_RECEIVERS, np.array([0.8e9, 0.6e9]), 10.0)
SH = Geometry("xz", PSV.source, PLANE_RECEIVERS, np.array([1e9]), 10.0)
SPACE = Geometry(
    "xyz", np.array([0.0, 0.0, 1.3]),
    np.array([[1.0, 0.4, 0.0], [2.5, -0.7, 0.0], [3.6, 1.8, 0.0], [-1.5, 1.0, 0.0],
              [2.0, 1.0, 0.8], [1.0, -1.0, 2.0]]),
    np.array([0.6e12, 0.3e12, 0.7e12]), 3.0, ppw=6,
)  # fmt: skip


def turn(dip: float, azimuth: float = 0.0, dimensions: int = 2) -> np.ndarray:
    """Return the matrix whose columns are the ways down the slope, (along it) and into the rock.

    dip, and azimuth of the way down from x towards y, in radians; z is down.
    """
    cosine = np.cos(dip)
    sine = np.sin(dip)
    if dimensions == 2:
        return np.array([[cosine, -sine], [sine, cosine]])
    x = np.cos(azimuth)
    y = np.sin(azimuth)
    return np.array([[cosine * x, -y, -sine * x], [cosine * y, x, -sine * y], [sine, 0.0, cosine]])


def station(point: np.ndarray, below: float, axes: str) -> dict[str, float]:
    """Write a point (axis) m: on the ground by its depth, below it by its z."""
    position = cases.place(point, axes)
    if below == 0:
        del position["z"]
        position["depth"] = 0.0
    return position


def scenario(geometry: Geometry, dip: float, azimuth: float, order: int) -> dict:
    """Put the force and the receivers under ground of a dip and azimuth in degrees."""
    axes = geometry.axes
    spacing = SHORTEST / geometry.ppw
    matrix = turn(np.radians(dip), np.radians(azimuth), len(axes))
    source = SHORTEST * matrix @ geometry.source
    receivers = SHORTEST * geometry.receivers @ matrix.T
    ends = np.vstack([source, receivers])[:, :-1]
    margin = geometry.margin * geometry.ppw
    low = spacing * np.floor(ends.min(axis=0) / spacing - margin)
    wide = spacing * np.ceil(ends.max(axis=0) / spacing + margin) - low
    # The steepest way over the grid; rows follow it down to four times that, and are flat below.
    relief = np.tan(np.radians(dip)) * np.abs(wide @ _way_down(azimuth, axes))
    deep = 5.2 * relief + (geometry.receivers[:, -1].max() + 0.4 * geometry.margin) * SHORTEST
    extent = np.append(wide, spacing * np.ceil(deep / spacing))
    longest = np.linalg.norm(geometry.receivers - geometry.source, axis=1).max() * SHORTEST
    force = geometry.force
    document = {
        "title": "dipping ground", "physics": "elastic",
        "precision": "float64" if len(axes) == 2 else "float32",
        "grid": {"extent": cases.place(extent, axes), "spacing": spacing, "order": order,
                 "origin": cases.place(low, axes[:-1])},
        "time": {"duration": 1.15 * longest / ROCK.vs + DELAY + 1.2 / FREQUENCY,
                 "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "topography": {"type": "plane", "dip": f"{dip} deg", "azimuth": f"{azimuth} deg",
                       "through": dict.fromkeys(axes, 0.0)},
        "model": [{"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}],
        "sources": [{
            "type": "force", "position": cases.place(source, axes),
            "force": (
                {"y": force[0]} if geometry.kind == "SH" else cases.place(matrix @ force, axes)
            ),
            "wavelet": {"type": "ricker", "frequency": FREQUENCY, "delay": DELAY},
        }],
        "receivers": [{
            "type": "points", "quantities": ["velocity"],
            "positions": [station(point, below, axes) for point, below
                          in zip(receivers, geometry.receivers[:, -1], strict=True)],
        }],
    }  # fmt: skip
    if geometry.kind == "SH":
        document["physics"] = "elastic_sh"
    return document


def _way_down(azimuth: float, axes: str) -> np.ndarray:
    """Return the sizes of the horizontal components of the way down."""
    angle = np.radians(azimuth)
    return np.abs([np.cos(angle), np.sin(angle)][: len(axes) - 1])


def compare(
    geometry: Geometry, dip: float, azimuth: float, order: int
) -> tuple[cases.Run, np.ndarray, np.ndarray]:
    """Run one dip; return the run, traces and exact velocities (receiver, component, time)."""
    run = cases.simulate(scenario(geometry, dip, azimuth, order))
    source = SHORTEST * geometry.source
    receivers = SHORTEST * geometry.receivers
    if geometry.kind == "SH":
        exact = geometry.force[0] * shear.force_response(
            receivers, source, run.source, run.dt, ROCK.vs, ROCK.rho, "velocity", surface=0.0
        )
        return run, run.components("vy"), exact[:, None]
    solution = layered if geometry.kind == "3-D" else layered_plane
    exact = solution.force_response(
        HALF_SPACE, source, receivers, geometry.force, run.source, run.dt, "velocity", cut=1e-7
    )
    matrix = turn(np.radians(dip), np.radians(azimuth), len(geometry.axes))
    traces = run.components(*(f"v{axis}" for axis in geometry.axes))
    return run, traces, np.einsum("ij,rjt->rit", matrix, exact)


def rows_of(
    geometry: Geometry, dip: float, azimuth: float, order: int
) -> tuple[list[cases.Row], list[cases.Panel]]:
    """Compare one dip; return its rows, and panels of one receiver on the slope and one below."""
    run, traces, exact = compare(geometry, dip, azimuth, order)
    errors = [metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True)]
    name = f"{geometry.kind}, dip {dip:g} degrees"
    name += f" towards {azimuth:g}" if geometry.kind == "3-D" else ""
    worst, together = BARS[geometry.kind, order]
    sampling = f"{geometry.ppw} ppw, order {order}"
    rows = [
        cases.Row(f"{name}, worst of {len(errors)} receivers", sampling, max(errors), worst,
                  reference="half-space, turned"),
        cases.Row(f"{name}, all receivers together", sampling,
                  metrics.relative_l2(traces, exact), together, reference="half-space, turned"),
    ]  # fmt: skip
    letters = ["vy"] if geometry.kind == "SH" else [f"v{axis}" for axis in geometry.axes]
    panels = [
        cases.Panel(f"{letter}, {geometry.receivers[r, 0]:g} wavelengths down the slope, "
                    f"{geometry.receivers[r, -1]:g} below it", run.times, traces[r, k], exact[r, k])
        for r in (1, -1) for k, letter in enumerate(letters)
    ]  # fmt: skip
    return rows, panels


# Rows below the ground, and a bar: what level ground errs by there at most, or a little more.
SHALLOW = {0.5: 0.025, 1.0: 0.02, 2.0: 0.01, 4.0: 0.007}
MOMENTS = {"along the slope": (0, 0), "across it": (1, 1), "shear": (0, 1)}
LOSS = {"qp": 40.0, "qs": 20.0}
APART = 4.0  # m, of exact displacements that strains are differences of


def moment_row(kind: str, rows: float, dip: float) -> cases.Row:
    """Compare a moment some rows below the ground (order 8) at receivers on the slope and below."""
    angle = np.radians(dip)
    depth = rows / PPW
    below = depth * np.array([np.sin(angle), np.cos(angle)])
    receivers = np.array([[1.5, 0.0], [3.0, 0.0], [-2.0, 0.0], [2.0, 1.5]])
    geometry = replace(PSV, source=below, receivers=receivers, margin=5.0)
    moment = np.zeros((2, 2))
    i, j = MOMENTS[kind]
    moment[i, j] = moment[j, i] = 1e12
    matrix = turn(angle)
    turned = matrix @ moment @ matrix.T
    document = scenario(geometry, dip, 0.0, 8)
    (source,) = document["sources"]
    del source["force"]
    source |= {
        "type": "moment_tensor", "position": {"x": 0.0, "depth": depth * SHORTEST},
        "components": {"xx": turned[0, 0], "zz": turned[1, 1], "xz": turned[0, 1]},
    }  # fmt: skip
    run = cases.simulate(document)
    exact = layered_plane.moment_response(
        HALF_SPACE, SHORTEST * below, SHORTEST * receivers, moment, run.source, run.dt,
        "velocity", "moment_rate", cut=1e-7,
    )  # fmt: skip
    exact = np.einsum("ij,rjt->rit", matrix, exact)
    pairs = zip(run.components("vx", "vz"), exact, strict=True)
    return cases.Row(
        f"moment {kind}, {rows:g} rows deep, dip {dip:g} degrees, worst of {len(receivers)}",
        f"{PPW} ppw, order 8", max(metrics.relative_l2(*pair) for pair in pairs), SHALLOW[rows],
        reference="half-space, turned",
    )  # fmt: skip


def stress_rows(dip: float, order: int, lossy: bool = False) -> list[cases.Row]:
    """Compare stresses on the ground and among its rows, and the traction on it."""
    receivers = np.array([[1.5, below] for below in (0.0, 0.05, 0.1, 0.3)])
    geometry = replace(PSV, receivers=receivers, margin=5.0)
    document = scenario(geometry, dip, 0.0, order)
    document["receivers"][0]["quantities"] = ["stress"]
    if lossy:
        document["model"][0] |= LOSS
        document["attenuation"] = {"reference_frequency": FREQUENCY}
    run = cases.simulate(document)
    rock = _relaxing(run) if lossy else ROCK
    gradient = _gradients(geometry, run, dip, rock)
    p, s = _moduli(rock, run)
    trace = np.trace(gradient, axis1=1, axis2=2)
    exact = {
        "sxx": p(trace) - 2.0 * s(gradient[:, 1, 1]),
        "szz": p(trace) - 2.0 * s(gradient[:, 0, 0]),
        "sxz": s(gradient[:, 0, 1] + gradient[:, 1, 0]),
    }
    size = np.linalg.norm([*exact.values(), exact["sxz"]], axis=(0, 2))
    errors = [np.linalg.norm(run.traces[name] - one, axis=1) / size for name, one in exact.items()]
    slope = np.tan(np.radians(dip))
    traction = [run.traces[across][0] - slope * run.traces[level][0]
                for level, across in (("sxx", "sxz"), ("sxz", "szz"))]  # fmt: skip
    name = f"dip {dip:g} degrees" + (f", Qs = {LOSS['qs']:g}" if lossy else "")
    sampling = f"{PPW} ppw, order {order}"
    measured = {
        f"stresses on the ground, {name}": (max(one[0] for one in errors), 0.005),
        f"stresses half a row to three rows deep, {name}": (
            max(one[1:].max() for one in errors), 0.006),
        f"traction on the ground, {name}": (float(np.linalg.norm(traction) / size[0]), 0.001),
    }  # fmt: skip
    return [
        cases.Row(what, sampling, error, bar, reference="half-space, turned")
        for what, (error, bar) in measured.items()
    ]


def sh_stress_rows(dip: float, order: int) -> list[cases.Row]:
    """Compare stresses of SH waves on the ground and among its rows."""
    receivers = np.array([[1.5, below] for below in (0.0, 0.05, 0.1, 0.3)])
    geometry = replace(SH, receivers=receivers, margin=5.0)
    document = scenario(geometry, dip, 0.0, order)
    document["receivers"][0]["quantities"] = ["stress"]
    run = cases.simulate(document)

    def moved(places: np.ndarray) -> np.ndarray:
        source = SHORTEST * geometry.source
        return geometry.force[0] * shear.force_response(
            places, source, run.source, run.dt, ROCK.vs, ROCK.rho, "displacement", surface=0.0
        )

    slopes = np.array([_slopes(moved, place) for place in SHORTEST * receivers])
    exact = ROCK.mu * np.einsum("mk,rkt->rmt", turn(np.radians(dip)), slopes)
    size = np.linalg.norm(exact, axis=(1, 2))
    errors = np.linalg.norm(run.components("sxy", "syz") - exact, axis=2).max(axis=1) / size
    return [
        cases.Row(f"SH, stresses {where}, dip {dip:g} degrees", f"{PPW} ppw, order {order}",
                  float(error), 0.005, reference="half-space, turned")
        for where, error in (("on the ground", errors[0]),
                             ("half a row to three rows deep", errors[1:].max()))
    ]  # fmt: skip


def _slopes(moved: Callable[[np.ndarray], np.ndarray], place: np.ndarray) -> list[np.ndarray]:
    """Return the derivatives of a motion along both axes: polynomials through seven of it."""
    slopes = []
    for axis in (0, 1):
        # One-sided beside the surface.
        centred = axis == 0 or place[1] > 3.0 * APART
        steps = APART * (np.arange(7.0) - 3.0 if centred else np.arange(7.0))
        steps = steps if centred else steps - place[1]
        powers = np.vander(steps / APART, increasing=True).T
        weights = np.linalg.solve(powers, np.arange(7) == 1) / APART
        slopes.append(np.tensordot(weights, moved(place + steps[:, None] * np.eye(2)[axis]), 1))
    return slopes


def _relaxing(run: cases.Run) -> AttenuatingMedium:
    """Return the rock with the moduli that the mechanisms of a run have."""
    earth = run.simulation.discretization.earth
    relaxation = earth.relaxation
    assert relaxation is not None  # the rock attenuates
    medium = {name: float(value) for name, value in earth.sample(np.array(0.0), None).items()}
    p, s = (
        relaxation.cell_value(wave, medium[f"q{wave}"], medium["vp"], medium["vs"]) for wave in "ps"
    )
    return AttenuatingMedium(
        medium["vp"], medium["vs"], ROCK.rho,
        lambda laplace: relaxation.modulus("p", p, -1j * laplace),
        lambda laplace: relaxation.modulus("s", s, -1j * laplace),
    )  # fmt: skip


def _moduli(rock: Medium, run: cases.Run) -> list[Callable[[np.ndarray], np.ndarray]]:
    """Return what the P and the S modulus make of strains (..., time)."""
    # Transforms of twice the length; above the source's band any finite modulus will do.
    count = 2 * run.times.size
    omega = np.minimum(2.0 * np.pi * np.fft.rfftfreq(count, run.dt), 0.9 / run.dt)
    relaxed = rock.at(1j * omega)

    def product(modulus: np.ndarray, strain: np.ndarray) -> np.ndarray:
        return np.fft.irfft(modulus * np.fft.rfft(strain, count), count)[..., : strain.shape[-1]]

    return [partial(product, ROCK.rho * speed**2) for speed in (relaxed.vp, relaxed.vs)]


def _gradients(geometry: Geometry, run: cases.Run, dip: float, rock: Medium = ROCK) -> np.ndarray:
    """Return d_m u_l (receiver, l, m, time)."""

    def moved(places: np.ndarray) -> np.ndarray:
        return layered_plane.force_response(
            Stack((rock,), (0.0,)), SHORTEST * geometry.source, places, geometry.force,
            run.source, run.dt, "displacement", cut=1e-6,
        )  # fmt: skip

    gradients = np.array([_slopes(moved, place) for place in SHORTEST * geometry.receivers])
    matrix = turn(np.radians(dip))
    return np.einsum("lj,rkjt,mk->rlmt", matrix, gradients, matrix)


def case(quick: bool) -> list[cases.Row]:
    """Compare dips from 0 to 30 degrees, orders 4 and 8, and slopes along both axes in 3-D."""
    rows = []
    if quick:
        nearest = PLANE_RECEIVERS[[0, 1, 4]]
        small = (replace(geometry, receivers=nearest, margin=6.0) for geometry in (PSV, SH))
        rows = [row for geometry in small for row in rows_of(geometry, 10, 0.0, 8)[0]]
        return [*rows, moment_row("shear", 0.5, 30), *stress_rows(20, 8), *sh_stress_rows(20, 8)]
    for geometry in (PSV, SH):
        for order in (8, 4):
            for dip in (0, 5, 10, 20, 30):
                measured, panels = rows_of(geometry, dip, 0.0, order)
                rows += measured
                if geometry is PSV and order == 8 and dip == 20:
                    cases.draw_traces("dipping_ground", "Force under ground that dips 20 degrees",
                                      panels, "m/s")  # fmt: skip
    rows += [
        moment_row(kind, deep, dip)
        for dip in (0, 10, 20, 30)
        for deep in SHALLOW
        for kind in MOMENTS
    ]
    for dip in (10, 20, 30):
        for order in (8, 4):
            rows += [*stress_rows(dip, order), *sh_stress_rows(dip, order)]
    rows += [row for dip in (10, 30) for row in stress_rows(dip, 8, lossy=True)]
    return [*rows, *rows_of(SPACE, 15, 35, 8)[0]]


if __name__ == "__main__":
    cases.main(case)

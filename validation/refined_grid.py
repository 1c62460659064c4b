"""Grids refined above a plane: forces on one side of it, read on both, and what it sends back.

A half-space with a plane a few shortest wavelengths deep, spacing h above it and 3 h below;
the force lies above the plane, receivers stand on the surface, above the plane and below it. A
soft layer over rock with the plane at twice its depth, where the rock has as many points in a
wavelength as the layer. Both against exact solutions, with the error of the even grid of spacing h
beside. A hill on rock that grows stiffer with depth, against a grid of half the spacing. Plane
waves of vertical incidence: what the plane sends back, as the difference of the traces from those
of the even grid with the same time step. Points per shortest wavelength are those below the plane,
where nothing else is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import cases
import numpy as np

from seismo.exact import layered, layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

ROCK = Medium(3000.0, 1700.0, 2200.0)
SHORTEST = 100.0  # wavelength of S waves in m
SOFT = Medium(1500.0, 600.0, 1900.0)
HARD = Medium(3800.0, 2000.0, 2400.0)
THICK = 1.5  # of the soft layer, in its shortest wavelengths
FACTOR = 3  # spacing below the plane over that above
HILL_SPACING = 8.0  # m above the plane
# Runs end before waves grow in the layers, and what their damping sends back is not the plane's.
MATCHED = {"damping": 0.0}
ON_SURFACE, ABOVE, BELOW = "on the surface", "above the plane", "below the plane"
# By dimensions, order and points below the plane: the worst receiver of each part of the medium.
BARS = {
    (2, 8, 10 / 3): (0.05, 0.055, 0.09), (2, 8, 5.0): (3.5e-3, 3.7e-3, 5.5e-3),
    (2, 8, 20 / 3): (1.2e-3, 1.3e-3, 2e-3), (2, 8, 10.0): (2.2e-4, 2.4e-4, 3.5e-4),
    (2, 4, 10 / 3): (0.07, 0.07, 0.1), (2, 4, 5.0): (8e-3, 8e-3, 9e-3),
    (2, 4, 20 / 3): (2.4e-3, 2.5e-3, 3e-3), (2, 4, 10.0): (5.5e-4, 6e-4, 8e-4),
    (3, 8, 5.0): (3e-3, 3.7e-3, 7e-3),
}  # fmt: skip
RATIO = 1.15  # error of a soft layer, and on a hill, over that of the even grid
# By wave, order and points below the plane: what comes back.
SENT_BACK = {
    ("S", 8, 10 / 3): 0.06, ("S", 8, 5.0): 5e-3, ("S", 8, 20 / 3): 1.5e-3, ("S", 8, 10.0): 6e-4,
    ("P", 8, 10 / 3): 0.055, ("P", 8, 5.0): 5e-3, ("P", 8, 20 / 3): 1.5e-3, ("P", 8, 10.0): 7e-4,
    ("S", 4, 10 / 3): 0.09, ("S", 4, 5.0): 9e-3, ("S", 4, 20 / 3): 3e-3, ("S", 4, 10.0): 8e-4,
    ("P", 4, 10 / 3): 0.07, ("P", 4, 5.0): 6e-3, ("P", 4, 20 / 3): 2.5e-3, ("P", 4, 10.0): 1e-3,
}  # fmt: skip


@dataclass(frozen=True)
class Geometry:
    """A force above the plane and receivers around it, in shortest wavelengths.

    Attributes:
        source: (axis) of the force.
        receivers: (receiver, axis) and the part of the medium that each stands in.
        force: (axis) N, N/m in 2-D.
        margin: beyond source and receivers.
    """

    source: np.ndarray
    receivers: dict[str, np.ndarray]
    force: np.ndarray
    margin: float

    @property
    def axes(self) -> str:
        """Of the run."""
        return "xyz" if self.force.size == 3 else "xz"

    @property
    def points(self) -> np.ndarray:
        """All receivers (receiver, axis)."""
        return np.concatenate(list(self.receivers.values()))


PLANE = Geometry(
    np.array([0.0, 1.0]),
    {ON_SURFACE: np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]]),
     ABOVE: np.array([[2.0, 1.2], [4.0, 1.8]]),
     BELOW: np.array([[0.6, 4.4], [2.5, 4.2], [4.5, 4.9]])},
    np.array([0.8e9, 0.6e9]), 1.0,
)  # fmt: skip
SPACE = Geometry(
    np.array([0.0, 0.0, 1.0]),
    {ON_SURFACE: np.array([[1.0, 0.4, 0.0], [2.4, -0.6, 0.0]]),
     ABOVE: np.array([[1.6, 0.6, 1.2]]),
     BELOW: np.array([[0.4, 0.2, 3.6], [1.6, -0.5, 3.6]])},
    np.array([0.6e12, 0.3e12, 0.7e12]), 0.8,
)  # fmt: skip


def ricker(wavelength: float, velocity: float) -> dict:
    """Write the wavelet whose waves have a wavelength at 2.5 times its frequency."""
    frequency = velocity / (2.5 * wavelength)
    return {"type": "ricker", "frequency": frequency, "delay": 1.6 / frequency}


def half_space(geometry: Geometry, points: float, order: int, refined: bool) -> dict:
    """Put the force over the plane, with so many points per wavelength below it."""
    axes = geometry.axes
    below = SHORTEST / points
    source = SHORTEST * geometry.source
    receivers = SHORTEST * geometry.points
    ends = np.vstack([source, receivers])
    margin = SHORTEST * geometry.margin
    low = below * np.floor((ends[:, :-1].min(axis=0) - margin) / below)
    extent = below * np.ceil((np.append(ends[:, :-1].max(axis=0) - low, ends[:, -1].max()) + margin)
                             / below)  # fmt: skip
    longest = np.linalg.norm(receivers - source, axis=1).max()
    wavelet = ricker(SHORTEST, ROCK.vs)
    document = {
        "title": "grid refined above a plane", "physics": "elastic",
        "precision": "float64" if len(axes) == 2 else "float32",
        "grid": {"extent": cases.place(extent, axes), "spacing": below / FACTOR, "order": order,
                 "origin": cases.place(low, axes[:-1])},
        "time": {"duration": 1.15 * longest / ROCK.vs + 2.8 / wavelet["frequency"],
                 "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "layer": MATCHED},
        "model": [{"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}],
        "sources": [{"type": "force", "position": cases.place(source, axes),
                     "force": cases.place(geometry.force, axes), "wavelet": wavelet}],
        "receivers": [cases.points(receivers, ["velocity"], axes)],
    }  # fmt: skip
    if refined:
        deep = 2.7 if len(axes) == 2 else 1.8
        document["grid"]["refinement"] = [{"below": below * np.ceil(deep * points)}]
    return document


def compare(
    geometry: Geometry, points: float, order: int, refined: bool
) -> tuple[cases.Run, np.ndarray, np.ndarray]:
    """Run a half-space; return the run, traces and exact ones (receiver, component, time)."""
    run = cases.simulate(half_space(geometry, points, order, refined))
    solution = layered if len(geometry.axes) == 3 else layered_plane
    exact = solution.force_response(
        Stack((ROCK,), (0.0,)), SHORTEST * geometry.source, SHORTEST * geometry.points,
        geometry.force, run.source, run.dt, "velocity", cut=1e-7,
    )  # fmt: skip
    return run, run.components(*(f"v{axis}" for axis in geometry.axes)), exact


def across(geometry: Geometry, points: float, order: int, draws: bool = False) -> list[cases.Row]:
    """Compare receivers on both sides of the plane, with the even grid's worst beside."""
    errors = []
    for refined in (False, True):
        run, traces, exact = compare(geometry, points, order, refined)
        errors.append([metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True)])
    rows = []
    first = 0
    dimensions = len(geometry.axes)
    bars = BARS[dimensions, order, points]
    for (name, some), bar in zip(geometry.receivers.items(), bars, strict=True):
        even, found = (max(each[first : first + len(some)]) for each in errors)
        first += len(some)
        rows.append(cases.Row(
            f"half-space {dimensions}-D, force above the plane, worst of {len(some)} {name}",
            f"{points:.3g} ppw below, {FACTOR * points:.3g} above, order {order}; "
            f"even grid {100 * even:.2g} %", found, bar,
            reference="half-space",
        ))  # fmt: skip
    if draws:
        shown = (1, 6)
        cases.draw_traces(
            "refined_grid", f"Force above a plane, {points:.3g} points per wavelength below it",
            [cases.Panel(f"v{axis}, {geometry.points[r, 0]:g} wavelengths away, "
                         f"{geometry.points[r, -1]:g} deep", run.times, traces[r, k], exact[r, k])
             for r in shown for k, axis in enumerate(geometry.axes)], "m/s",
        )  # fmt: skip
    return rows


def soft_layer(points: float, order: int, refined: bool) -> tuple[np.ndarray, np.ndarray]:
    """Run a soft layer over rock; return traces and exact ones (receiver, component, time).

    points: in a shortest wavelength of the rock below the plane.
    """
    wavelet = ricker(SHORTEST, SOFT.vs)
    shortest = SHORTEST * HARD.vs / SOFT.vs
    below = shortest / points
    layer = THICK * SHORTEST
    # Twice as deep as the layer, as of LOH.1, and as deep as a plane has to be.
    plane = below * max(np.ceil(2 * layer / below), 9)
    source = np.array([0.0, plane + 9.3 * below])
    receivers = np.array([[100.0, 0.0], [400.0, 0.0], [800.0, 0.0]])
    margin = 12 * below
    document = {
        "title": "soft layer over rock", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": below * np.ceil((800.0 + 2 * margin) / below),
                            "z": below * np.ceil((source[1] + margin) / below)},
                 "origin": {"x": -margin}, "spacing": below / FACTOR, "order": order},
        "time": {"duration": 3.0, "dispersion_removal": True},
        # As thick on both grids: those of the finer one have three times the points.
        "boundaries": {"top": "free_surface", "layer": MATCHED | {"points": 12 if refined else 36}},
        "model": [{"type": "layers", "layers": [
            {"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
            for top, m in ((0.0, SOFT), (layer, HARD))]}],
        "sources": [{"type": "force", "position": cases.place(source),
                     "force": {"x": 0.8e9, "z": 0.6e9}, "wavelet": wavelet}],
        "receivers": [cases.points(receivers, ["velocity"])],
    }  # fmt: skip
    if refined:
        document["grid"]["refinement"] = [{"below": plane}]
    run = cases.simulate(document)
    exact = layered_plane.force_response(
        Stack((SOFT, HARD), (0.0, layer)), source, receivers, np.array([0.8e9, 0.6e9]), run.source,
        run.dt, "velocity", cut=1e-7,
    )  # fmt: skip
    return run.components("vx", "vz"), exact


def under_layer(points: float, order: int) -> cases.Row:
    """Compare the errors of a soft layer with the plane below it and without a plane."""
    even, refined = (metrics.relative_l2(*soft_layer(points, order, n)) for n in (False, True))
    return cases.Row(
        "soft layer over rock, plane below the layer, error over that of the even grid",
        f"{points:g} ppw below, {FACTOR * points * SOFT.vs / HARD.vs:.3g} in the layer, "
        f"order {order}; {100 * refined:.3g} %", refined / even, RATIO, unit="",
        reference="layered half-space",
    )  # fmt: skip


def on_hill(spacing: float, order: int, depth: float, refined: bool) -> np.ndarray:
    """Run a hill of 20 degrees on rock that grows stiffer below the ground; return its traces.

    Args:
        spacing: above the plane in m; steps are as many times as long.
        order: of the differences.
        depth: z of the force in m.
        refined: whether cells below the plane are three times as large.

    Returns:
        (receiver, component, time), at the times of steps of a grid of 8 m.
    """
    ends = {name: {"top": getattr(SOFT, name), "bottom": getattr(HARD, name)}
            for name in ("vp", "vs", "rho")}  # fmt: skip
    document = {
        "title": "hill above a plane", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 1200.0, "z": 960.0}, "origin": {"z": -80.0}, "order": order,
                 "spacing": spacing, "refinement": [{"below": 496.0}] if refined else []},
        "time": {"duration": 1.8, "step": 0.7e-3 * spacing / HILL_SPACING},
        "boundaries": {"top": "free_surface", "layer": MATCHED | {
            "points": 12 if refined else round(12 * FACTOR * HILL_SPACING / spacing)}},
        "topography": {"type": "hills", "hills": [
            {"center": {"x": 600.0}, "height": 64.0, "width": 150.0}]},
        "model": [{"type": "gradient", "relative_to": "ground", "z_top": 0.0, "z_bottom": 400.0,
                   **ends}],
        "sources": [{"type": "force", "position": {"x": 480.0, "z": depth},
                     "force": {"x": 0.8e9, "z": 0.6e9},
                     "wavelet": ricker(10 * FACTOR * HILL_SPACING, HARD.vs)}],
        "receivers": [{"type": "points", "quantities": ["velocity"], "positions": [
            {"x": x, "depth": 0.0} for x in (300.0, 450.0, 520.0, 600.0, 680.0, 750.0, 900.0)]}],
    }  # fmt: skip
    traces = cases.simulate(document).components("vx", "vz")
    steps = int(1.8 / 0.7e-3)
    return traces[..., :: round(HILL_SPACING / spacing)][..., :steps]


def under_hill(order: int, depth: float, reference: np.ndarray) -> cases.Row:
    """Compare the errors of traces on a hill with a plane below it and without."""
    even, refined = (
        metrics.relative_l2(on_hill(HILL_SPACING, order, depth, some), reference)
        for some in (False, True)
    )
    side = "above" if depth < 496.0 else "below"
    return cases.Row(
        f"hill of 20 degrees, force {side} the plane, error over that of the even grid",
        f"10 ppw below, {10 * FACTOR * SOFT.vs / HARD.vs:.3g} on the ground, order {order}; "
        f"{100 * refined:.3g} %", refined / even, RATIO, unit="", reference="half the spacing",
    )  # fmt: skip


def plane_wave(wave: str, points: float, order: int, refined: bool, step: float | None) -> dict:
    """Send a plane wave down on the plane, by forces on a level line between periodic sides."""
    velocity = ROCK.vs if wave == "S" else ROCK.vp
    h = SHORTEST * velocity / ROCK.vs / points / FACTOR
    axis = {"S": "y", "P": "z"}[wave]
    wavelet = ricker(FACTOR * h * points, velocity)
    plane, start, read = (FACTOR * h * round(n * points) for n in (8, 1, 4))
    travel = (2 * plane - start - read) / velocity
    duration = travel + 3.1 / wavelet["frequency"]
    return {
        "physics": "elastic" if wave == "P" else "elastic_sh", "precision": "float64",
        "grid": {"extent": {"x": 36 * h, "z": FACTOR * h * round(16 * points)}, "order": order,
                 "spacing": h, "refinement": [{"below": plane}] if refined else []},
        "time": {"duration": duration, "dispersion_removal": False,
                 **({"step": step} if step else {})},
        "boundaries": {"x_min": "periodic", "x_max": "periodic", "layer": {"points": 20}},
        "model": [{"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}],
        # Waves as short as these forces lie apart do not travel.
        "sources": [{"type": "force", "position": {"x": n * FACTOR * h, "z": start},
                     "force": {axis: 1e9}, "wavelet": wavelet} for n in range(12)],
        "receivers": [cases.points(np.array([[18 * h, read]]), ["velocity"])],
    }  # fmt: skip


def sent_back(wave: str, points: float, order: int) -> cases.Row:
    """Return what the plane sends back of a plane wave of vertical incidence."""
    refined = cases.simulate(plane_wave(wave, points, order, True, None))
    even = cases.simulate(plane_wave(wave, points, order, False, refined.dt))
    name = {"S": "vy", "P": "vz"}[wave]
    back = metrics.relative_l2(refined.traces[name][0], even.traces[name][0])
    return cases.Row(
        f"plane {wave} wave of vertical incidence sent back",
        f"{points:.3g} ppw of it below, order {order}", back, SENT_BACK[wave, order, points],
        reference="even grid",
    )  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare half-spaces, a soft layer and plane waves by order and sampling below the plane."""
    if quick:
        return [*across(PLANE, 5.0, 4), sent_back("S", 5.0, 8)]
    rows = []
    for order in (8, 4):
        for points in (10 / 3, 5.0, 20 / 3, 10.0):
            rows += across(PLANE, points, order, draws=order == 8 and points == 20 / 3)
    rows += across(SPACE, 5.0, 8)
    rows += [under_layer(points, order) for order in (8, 4) for points in (8.0, 10.0)]
    for depth in (86.0, 719.2):
        half = on_hill(0.5 * HILL_SPACING, 8, depth, False)
        rows += [under_hill(order, depth, half) for order in (8, 4)]
    rows += [sent_back(*key[:1], key[2], key[1]) for key in SENT_BACK]
    return rows


if __name__ == "__main__":
    cases.main(case)

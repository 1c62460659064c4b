"""Waves that travel 40 to 100 shortest wavelengths on as few points as their accuracy asks for.

Pressure of a pressure source in a whole space, Ricker wavelet, along an axis and along oblique
directions, in absolute amplitude; the shortest wavelength is that of 2.5 times the wavelet's
frequency. Coefficients are left to the run. Each row's sampling names the error that `seismo check`
expects beforehand. The 3-D cubes want a GPU of 40 GB or more; the quick version is 2-D.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import acoustic, metrics
from seismo.runs.prediction.accuracy import expected_error

VELOCITY, FREQUENCY = 2000.0, 10.0
SHORTEST = VELOCITY / (2.5 * FREQUENCY)
DIRECTIONS = {
    2: np.array([[1.0, 0.0], [0.8, 0.6], [0.8, -0.6]]),
    3: np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.64, 0.48, 0.6]]),
}
# shortest wavelengths, points in each, bar; keys of the grid that are not left out
PROBLEMS = (
    (60, 6.0, 0.005, {}),
    (60, 3.2, 0.006, {"order": 12}),
    (100, 2.8, 0.007, {"order": 16}),
    (100, 3.5, 0.0015, {"order": 16, "accuracy": 0.001}),
    (60, 3.2, 0.01, {"order": "auto"}),
)


def scenario(waves: float, points: float, dimensions: int, **grid: object) -> dict:
    """Put a source before the middle of a face, and receivers so many waves away.

    Faces are far from the paths: waves along an absorbing layer are another case (`cpml_grazing`).
    """
    axes = "xyz" if dimensions == 3 else "xz"
    h = SHORTEST / points
    margin, half = np.ceil(2.0 * points) * h, np.ceil(0.65 * waves * points) * h
    start = np.array([margin, *[half] * (dimensions - 1)])
    ends = start + DIRECTIONS[dimensions] * waves * SHORTEST
    along = np.ceil((waves + 4.0) * points) * h
    extent = [along, *[2.0 * half] * (dimensions - 1)]
    return {
        "title": "long paths", "physics": "acoustic",
        "grid": {"extent": cases.place(extent, axes), "spacing": h, **grid},
        "time": {"duration": waves * SHORTEST / VELOCITY + 3.2 / FREQUENCY},
        "model": [{"type": "uniform", "vp": VELOCITY}],
        "sources": [{"type": "pressure", "position": cases.place(start, axes),
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(ends, ["pressure"], axes)],
    }  # fmt: skip


def compare(document: dict) -> tuple[np.ndarray, cases.Run]:
    """Run; return the relative L2 error of each receiver, and the run."""
    run = cases.simulate(document)
    ends = np.array([list(p.values()) for p in document["receivers"][0]["positions"]])
    start = np.array(list(document["sources"][0]["position"].values()))
    exact = acoustic.pressure(ends - start, run.source, run.dt, VELOCITY)
    traces = run.traces["pressure"]
    return np.array([metrics.relative_l2(t, e) for t, e in zip(traces, exact, strict=True)]), run


def case(quick: bool) -> list[cases.Row]:
    """Compare whole spaces, 2-D where it has to be quick."""
    dimensions, rows = (2 if quick else 3), []
    for waves, points, bar, grid in PROBLEMS:
        errors, run = compare(scenario(waves, points, dimensions, **grid))
        discretization = run.simulation.discretization
        expected = expected_error(discretization).error
        axis, one, other = (f"{100 * error:.2g}" for error in errors)
        chosen = (
            f"order {discretization.stencil.order}, tolerance {discretization.stencil.tolerance:g}"
        )
        what = f"acoustic, {dimensions}-D, {waves} shortest wavelengths"
        rows.append(cases.Row(
            f"{what}: axis {axis}, oblique {one}, {other} %",
            f"{points:g} ppw, {chosen}, expected {100 * expected:.2g} %", float(errors.max()), bar,
        ))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

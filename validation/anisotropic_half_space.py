"""Rock whose axis of symmetry is tilted under a free surface, 2-D: its waves on finer grids.

No exact solution is known. A force acts 0.8 S wavelengths of the source's frequency deep, receivers
stand on the surface one to two of them away and beneath, all of them on nodes of every grid; time
steps and layers are the same shares of the spacing. The traces of each grid against those of the
finest, and the slope of these errors. The waves include a Rayleigh wave. `reciprocity.py` has such
a surface, too.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import metrics

ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0, "epsilon": 0.2, "delta": 0.08, "gamma": 0.15}
FREQUENCY, COARSEST = 10.0, 5
CELL = ROCK["vs"] / (2.5 * FREQUENCY) / COARSEST  # m
STEP, DURATION = 1.7e-3, 0.51  # s, a number of steps
EXTENT = np.array([70.0, 30.0]) * CELL
SOURCE = np.array([20.0, 10.0]) * CELL
BARS = (0.02, 0.003, 0.001)  # of grids once, twice and three times as fine
RECEIVERS = np.array([[32.0, 0.0], [45.0, 0.0], [40.0, 10.0]]) * CELL


def traces(theta: float, finer: int) -> np.ndarray:
    """Return velocities (receiver, component, time of the coarsest grid) of a finer grid."""
    run = cases.simulate({
        "title": "TTI half-space", "physics": "elastic", "precision": "float64",
        "grid": {"extent": cases.place(EXTENT), "spacing": CELL / finer, "order": 8},
        "time": {"duration": DURATION, "step": STEP / finer, "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "layer": {"points": 12 * finer}},
        "model": [{"type": "uniform", **ROCK, "theta": theta}],
        "sources": [{"type": "force", "position": cases.place(SOURCE),
                     "force": {"x": 6e8, "z": 1e9},
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(RECEIVERS, ["velocity"])],
    })  # fmt: skip
    return run.components("vx", "vz")[..., ::finer]


def case(quick: bool) -> list[cases.Row]:
    """Compare grids of 5, 10 and 15 points per wavelength with one of 40; of 5 and 10 with 20."""
    rows = []
    finest, grids = (4, (1, 2)) if quick else (8, (1, 2, 3))
    against = f"{finest * COARSEST} ppw"
    for theta in (30.0,) if quick else (30.0, 60.0):
        wanted = traces(theta, finest)
        errors = [max(map(metrics.relative_l2, traces(theta, n), wanted)) for n in grids]
        what = f"TTI half-space, tilt {theta:g}"
        for finer, error, bar in zip(grids, errors, BARS, strict=False):
            sampling = f"{finer * COARSEST} ppw"
            rows.append(
                cases.Row(f"{what}, worst receiver", sampling, error, bar, reference=against)
            )
        slope = float(-np.polyfit(np.log(grids), np.log(errors), 1)[0])
        sampling = f"5 to {grids[-1] * COARSEST} ppw"
        rows.append(cases.Row(f"{what}, order of convergence", sampling, slope, 3.0, unit="",
                              at_least=True, reference=against))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

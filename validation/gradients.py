"""Gradients of misfits, against differences of runs.

- The problem of SW4's `gradtest` and `onepoint`: a moment tensor under a free surface, 25 stations
  on it, and a uniform medium to which pyramids of vp, vs and rho are added, each with a free
  height (density and moduli there). The gradient by the three heights is compared with central
  differences; then iterations of L-BFGS-B start with heights of 5 %.
- The test of SPECFEM2D's kernels: a Gaussian dm of 2 % of vp changes the traces of a uniform medium
  by d, half the difference of two runs, and F* d is the gradient of a misfit with this residual.
  <d, d> equals <F* d, dm> but for third orders of dm.
"""

from __future__ import annotations

from typing import Any

import cases
import numpy as np
from scipy.optimize import minimize

import seismo

ROCK = {"vp": 4630.76, "vs": 2437.56, "rho": 2650.0}
BOUNDS = {"vp": (3500.0, 6000.0), "vs": (1850.0, 3200.0), "rho": (2100.0, 3200.0)}
HEIGHT = 0.05  # at the start, of vp, vs and rho of the uniform medium
ITERATIONS = 5
SCALES = np.array([0.1, 0.01, 0.1])  # of the heights: the misfit is most sensitive to vs
STEP = 1e-4  # of a height, for central differences

GAUSSIAN = {"width": 67.5, "share": -0.02}  # m, of vp


def box(spacing: float) -> dict[str, Any]:
    """Return SW4's box with its source and its stations."""
    places = np.linspace(11500.0, 23500.0, 5).tolist()
    deviation = 0.25  # s, of the Gaussian
    return {
        "physics": "elastic", "precision": "float64", "averaging": "point",
        "grid": {"extent": {"x": 35000.0, "y": 35000.0, "z": 19500.0}, "spacing": spacing,
                 "order": 4},
        "time": {"duration": 9.0},
        "boundaries": {"top": "free_surface", "layer": {"points": 10}},
        "model": [{"type": "uniform", **ROCK}],
        "sources": [{"type": "moment_tensor", "components": {"xy": 1e18}, "time_function": "moment",
                     "position": {"x": 17500.0, "y": 17500.0, "z": 2000.0},
                     "wavelet": {"type": "gaussian", "delay": 1.5,
                                 "frequency": 1.0 / (np.sqrt(2.0) * np.pi * deviation)}}],
        "receivers": [cases.points(np.array([[x, y, 0.0] for y in places for x in places]),
                                   ["displacement"], "xyz")],
    }  # fmt: skip


class Pyramids:
    """The misfit of SW4's box, by the heights of pyramids of vp, vs and rho."""

    def __init__(self, spacing: float) -> None:
        """Plan its runs, and observe the uniform medium."""
        self.propagator = seismo.Propagator(box(spacing), list(ROCK), BOUNDS, snapshots=1)
        tents = [1.0 - np.abs(np.linspace(-1.0, 1.0, n)) for n in self.propagator.shape]
        self.pyramid = tents[0][:, None, None] * tents[1][:, None] * tents[2]
        self.misfit = seismo.misfit(self.propagator, self.propagator(**self.model(np.zeros(3))))
        self.unit = 1.0

    def model(self, heights: np.ndarray) -> dict[str, np.ndarray]:
        """Return vp, vs and rho (z, y, x) of heights (3)."""
        rows = zip(ROCK.items(), heights, strict=True)
        return {name: value * (1.0 + height * self.pyramid) for (name, value), height in rows}

    def __call__(self, heights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit and its gradient (3) by the heights."""
        value, gradient = self.misfit(**self.model(heights))
        slopes = [np.sum(gradient[name] * ROCK[name] * self.pyramid) for name in ROCK]
        return value / self.unit, np.array(slopes) / self.unit


def pyramid_rows(spacing: float) -> list[cases.Row]:
    """Compare derivatives by heights with differences, and find the heights."""
    problem = Pyramids(spacing)
    start = np.full(3, HEIGHT)
    problem.unit = problem(start)[0]
    _, gradient = problem(start)
    sampling = f"h {spacing:g} m, order 4"
    rows = []
    for n, name in enumerate(ROCK):
        low, high = (problem(start + sign * STEP * np.eye(3)[n])[0] for sign in (-1.0, 1.0))
        difference = (high - low) / (2.0 * STEP)
        rows.append(cases.Row(
            f"elastic, 3-D, free surface: derivative by a height of {name}", sampling,
            float(abs(gradient[n] / difference - 1.0)), 1e-5, "", "SW4 6e-05, 5e-06, 8e-05",
            "central difference",
        ))  # fmt: skip

    def scaled(unknowns: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = problem(SCALES * unknowns)
        return value, SCALES * gradient

    found = minimize(
        scaled, start / SCALES, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}
    )
    rows.append(cases.Row(
        f"elastic, 3-D, free surface: misfit after {ITERATIONS} iterations", sampling,
        float(found.fun), 8.2e-6, "", "SW4 8.2e-06", "the misfit at the start",
    ))  # fmt: skip
    return rows


def plane(equation: str, spacing: float) -> dict[str, Any]:
    """Return a plane of uniform rock with a source and a receiver on either side of its middle."""
    elastic = equation == "elastic"
    rock = {"vp": 2700.0, "rho": 2500.0} | ({"vs": 1558.8} if elastic else {})
    source = (
        {"type": "force", "force": {"z": 1e9}} if elastic else {"type": "explosion", "moment": 1e12}
    )
    return {
        "physics": equation, "precision": "float64", "averaging": "point",
        "grid": {"extent": {"x": 1000.0, "z": 1000.0}, "spacing": spacing, "order": 8},
        "time": {"duration": 0.4}, "boundaries": {"layer": {"points": 20}},
        "model": [{"type": "uniform", **rock}],
        "sources": [source | {"position": {"x": 252.0, "z": 503.0},
                              "wavelet": {"type": "ricker", "frequency": 10.0}}],
        "receivers": [cases.points(np.array([[751.0, 498.0]]),
                                   ["velocity" if elastic else "pressure"])],
    }  # fmt: skip


def plane_row(equation: str, spacing: float, peer: str) -> cases.Row:
    """Compare the two products."""
    propagator = seismo.Propagator(
        plane(equation, spacing), ["vp"], {"vp": (2500.0, 2900.0)}, snapshots=1
    )
    z, x = (np.linspace(0.0, 1000.0, n) - 500.0 for n in propagator.shape)
    vp = np.full(propagator.shape, 2700.0)
    distance = np.hypot(z[:, None], x) / GAUSSIAN["width"]
    change = 2700.0 * GAUSSIAN["share"] * np.exp(-0.5 * distance**2)
    high, low = (propagator(vp=vp + sign * change) for sign in (1.0, -1.0))
    data = {
        group: {name: 0.5 * (trace - low[group][name]) for name, trace in sections.items()}
        for group, sections in high.items()
    }
    propagator(vp=vp, keep=True)
    model = np.sum(propagator.pullback(data)["vp"] * change)
    square = sum(np.sum(trace**2) for sections in data.values() for trace in sections.values())
    return cases.Row(
        f"{equation}, 2-D: <F* d, dm> over <d, d>, less 1", f"h {spacing:g} m, order 8",
        float(abs(model / square - 1.0)), 0.01, "%", f"SPECFEM2D {peer}", "traces of two runs",
    )  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare gradients with differences of runs."""
    rows = pyramid_rows(2000.0 if quick else 500.0)
    for equation, peer in (("acoustic", "2.8 %"), ("elastic", "13 %")):
        rows.append(plane_row(equation, 20.0 if quick else 10.0, peer))
    return rows


if __name__ == "__main__":
    cases.main(case)

"""An array with a step between two samples: the contact of two solids, midway between them.

What comes back from the contact, which is the run less one of the upper rock alone, against the
exact reflection (`seismo.exact.layered_plane`), where samples are cells, and where they are
values between which it is interpolated. The grid has the spacing of the samples, or another one.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

UPPER, LOWER = Medium(2000.0, 1100.0, 2000.0), Medium(3000.0, 1750.0, 2300.0)
STEP, CONTACT = 10.0, 405.0  # m
FREQUENCY, PPW, MARGIN = 4.4, 10, 20  # at the spacing of the samples
SOURCE = np.array([1003.0, 167.0])
RECEIVERS = np.array([[1003.0, 107.0], [1303.0, 157.0], [1603.0, 207.0]])


def scenario(h: float, interpolation: str | None) -> dict:
    """Return the run with the array, or with the upper rock alone."""
    z = STEP * np.arange(101)
    model: dict = {"type": "uniform", "vp": UPPER.vp, "vs": UPPER.vs, "rho": UPPER.rho}
    if interpolation:
        model = {
            name: np.where(z < CONTACT, getattr(UPPER, name), getattr(LOWER, name))[:, None]
            * np.ones(271)
            for name in ("vp", "vs", "rho")
        }
        model |= {"type": "array", "spacing": STEP, "interpolation": interpolation}
    return {
        "title": "array with a step", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 2700.0, "z": 1000.0}, "spacing": h, "order": 8},
        "boundaries": {"layer": {"points": MARGIN}},
        "time": {"duration": 1.6, "step": 1e-3, "dispersion_removal": True},
        "model": [model],
        "sources": [{"type": "explosion", "position": cases.place(SOURCE), "moment": 1e6,
                     "time_function": "moment",
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(RECEIVERS, ["velocity"])],
    }  # fmt: skip


def reflections(h: float, interpolation: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what comes back from the contact, and what should."""
    run = cases.simulate(scenario(h, interpolation))
    alone = cases.simulate(scenario(h, None))
    with_contact, without = (
        layered_plane.moment_response(
            Stack((UPPER, lower), (CONTACT,), False), SOURCE, RECEIVERS, 1e6 * np.eye(2),
            run.source, run.dt, "velocity", cut=1e-7,
        )
        for lower in (LOWER, UPPER)
    )  # fmt: skip
    names = ("vx", "vz")
    return run.components(*names) - alone.components(*names), with_contact - without


def case(quick: bool) -> list[cases.Row]:
    """Compare both meanings of samples, on the grid of the samples and on another one."""
    rows = []
    for h in (10.0,) if quick else (10.0, 8.0):
        # Values between samples are another earth: their bar says how far it is from this one.
        for interpolation, bar in (("cells", 0.01), ("linear", 0.1)):
            found, exact = reflections(h, interpolation)
            errors = [metrics.relative_l2(a, b) for a, b in zip(found, exact, strict=True)]
            name = f"reflection, `interpolation: {interpolation}`, worst of {len(errors)} receivers"
            rows.append(cases.Row(name, f"samples 10 m, grid {h:g} m", max(errors), bar))
    return rows


if __name__ == "__main__":
    cases.main(case)

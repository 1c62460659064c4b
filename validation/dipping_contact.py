"""A contact that dips, in 2-D: two solids, and water over soft sediment, at four dips.

The exact solution is that of a flat contact (`seismo.exact.layered_plane`), turned: an
explosion 30 cells above the contact, receivers from 30 cells above to 25 below it, up to 80 cells
away. The contact passes between the grid points anyhow, and so do source and receivers. The grid
reaches so far that nothing comes back from where the contact enters the absorbing layers, in which
it lies flat or stands upright.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

PAIRS = {
    "two solids": (Medium(2600.0, 1400.0, 2200.0), Medium(4000.0, 2300.0, 2500.0), 0.03),
    "water over sediment": (Medium(1500.0, 0.0, 1020.0), Medium(1800.0, 500.0, 1800.0), 0.08),
}
FREQUENCY, PPW, MARGIN = 10.0, 10, 200
SOURCE = np.array([0.0, -30.0])  # cells along the contact, and below it
RECEIVERS = np.array([[40.0, -30.0], [80.0, -12.0], [70.0, -5.0], [40.0, 5.0], [60.0, 25.0]])


def scenario(upper: Medium, lower: Medium, turn: np.ndarray, h: float) -> dict:
    """Put the lower medium under a contact along the first column of `turn`, between the nodes."""
    centre = np.array([0.37, 0.23]) * h
    source, receivers = centre + h * turn @ SOURCE, centre + h * RECEIVERS @ turn.T
    ends = np.vstack([source, receivers])
    low, high = (np.round(end / h) for end in (ends.min(0) - MARGIN * h, ends.max(0) + MARGIN * h))
    along, across = 1e4 * turn.T
    corners = [centre - along, centre + along, centre + along + across, centre - along + across]
    slowest = min(medium.vs or medium.vp for medium in (upper, lower))
    return {
        "title": "dipping contact", "physics": "elastic", "precision": "float64",
        "grid": {"extent": cases.place((high - low) * h), "origin": cases.place(low * h),
                 "spacing": h, "order": 8},
        "time": {"duration": 95.0 * h / slowest + 3.0 / FREQUENCY, "dispersion_removal": True},
        "model": [
            {"type": "uniform", "vp": upper.vp, "vs": upper.vs, "rho": upper.rho},
            {"type": "polygon", "points": np.array(corners).tolist(),
             "vp": lower.vp, "vs": lower.vs, "rho": lower.rho},
        ],
        "sources": [{"type": "explosion", "position": cases.place(source), "moment": 1e6,
                     "time_function": "moment",
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(receivers, ["velocity"])],
    }  # fmt: skip


def compare(upper: Medium, lower: Medium, dip: float):
    """Run one dip in degrees; give the run, traces and exact velocities."""
    h = min(medium.vs or medium.vp for medium in (upper, lower)) / (2.5 * FREQUENCY) / PPW
    cosine, sine = np.cos(np.radians(dip)), np.sin(np.radians(dip))
    turn = np.array([[cosine, -sine], [sine, cosine]])
    run = cases.simulate(scenario(upper, lower, turn, h))
    exact = layered_plane.moment_response(
        Stack((upper, lower), (0.0,), False), h * SOURCE, h * RECEIVERS, 1e6 * np.eye(2),
        run.source, run.dt, "velocity", cut=1e-7,
    )  # fmt: skip
    return run, run.components("vx", "vz"), np.einsum("ij,rjt->rit", turn, exact)


def case(quick: bool) -> list[cases.Row]:
    """Compare dips from 10 to 70 degrees."""
    rows = []
    for name, (upper, lower, bar) in PAIRS.items():
        for dip in (20,) if quick else (10, 20, 45, 70):
            run, traces, exact = compare(upper, lower, dip)
            errors = [metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True)]
            rows.append(cases.Row(f"{name}, dip {dip} degrees, worst of {len(errors)} receivers",
                                  f"{PPW} ppw", max(errors), bar))  # fmt: skip
            if dip == 20 and name == "two solids":
                panels = [
                    cases.Panel(f"{c}, {where}", run.times, traces[r, k], exact[r, k])
                    for r, where in ((0, "30 cells above"), (2, "5 cells above"), (4, "25 below"))
                    for k, c in enumerate(("vx", "vz"))
                ]
                cases.draw_traces("dipping_contact", "Two solids, a contact that dips 20 degrees",
                                  panels, "m/s")  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

"""Water over rock in 2-D: an explosion in the water, receivers in the water and on the sea bed.

The geometry of Komatitsch, Barnes & Tromp (2000, Geophysics 65, 623): source 500 m and receiver
533.33 m above the contact, 2177.29 m apart, 10 Hz. The analytical traces that travel with
SPECFEM2D have an arbitrary amplitude and onset, which are fitted for that comparison; the exact
solution of `seismo.exact.layered_plane` has neither freedom. Further receivers stand five
cells to either side of the contact, which is put at several places between the grid points, and
half a cell, two and twelve from it, where the Scholte wave has gone 36 of its shortest wavelengths.
"""

from __future__ import annotations

import cases
import numpy as np
from scipy.optimize import minimize_scalar

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

WATER, ROCK = Medium(1500.0, 0.0, 1020.0), Medium(3400.0, 1963.0, 2500.0)
OFFSET, FREQUENCY, DELAY = 2177.29, 10.0, 0.15


def scenario(ppw: float, fraction: float, duration: float) -> tuple[dict, float, np.ndarray]:
    """Put the contact a fraction of a cell below a node; give also its depth and the receivers."""
    h = WATER.vp / (2.5 * FREQUENCY) / ppw
    bed = (np.ceil(720.0 / h) + fraction) * h
    receivers = np.array([
        [OFFSET, bed - 533.33], [700.0, bed - 5 * h], [OFFSET, bed - 5 * h],
        [700.0, bed + 5 * h], [OFFSET, bed + 5 * h], [OFFSET, bed + 12 * h],
        *([OFFSET, bed + k * h] for k in (-2.0, -0.5, 0.5, 2.0)),
    ])  # fmt: skip
    return {
        "title": "water over rock", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": np.ceil(2700.0 / h) * h, "z": np.ceil(1200.0 / h) * h},
                 "origin": {"x": -np.ceil(250.0 / h) * h, "z": 0.0}, "spacing": h, "order": 8},
        "time": {"duration": duration, "dispersion_removal": True},
        "model": [{"type": "layers", "layers": [
            {"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
            for top, m in ((0.0, WATER), (bed, ROCK))]}],
        "sources": [{
            "type": "explosion", "position": {"x": 0.0, "z": bed - 500.0}, "moment": 1e6,
            "time_function": "moment",
            "wavelet": {"type": "ricker", "frequency": FREQUENCY, "delay": DELAY},
        }],
        "receivers": [cases.points(receivers, ["velocity"])],
    }, bed, receivers  # fmt: skip


def compare(ppw: float, fraction: float, duration: float = 2.6):
    """Run one position of the contact; give the run, traces and exact velocities."""
    document, bed, receivers = scenario(ppw, fraction, duration)
    run = cases.simulate(document)
    exact = layered_plane.moment_response(
        Stack((WATER, ROCK), (bed,), False), np.array([0.0, bed - 500.0]), receivers,
        1e6 * np.eye(2), run.source, run.dt, "velocity", cut=1e-7,
    )  # fmt: skip
    return run, run.components("vx", "vz"), exact


def published(run: cases.Run, trace: np.ndarray, sampling: str) -> list[cases.Row]:
    """Compare (component, time) with SPECFEM2D's analytical traces, fitting scale and onset."""
    path = cases.reference_data("specfem2d_fluid_solid2d", "trace2an.dat")
    if path is None:
        return []
    table = np.loadtxt(path)
    kept = table[:, 0] < run.times[-1] - 0.06
    reference = table[kept, 1:].T

    def misfit(onset: float) -> float:
        found = np.stack([np.interp(table[kept, 0] + onset, run.times, c) for c in trace])
        return metrics.relative_l2(found / metrics.amplitude_ratio(found, reference), reference)

    best = minimize_scalar(misfit, bounds=(0.04, 0.055), method="bounded")
    return [cases.Row("fluid-solid, water receiver, after amplitude and onset fit", sampling,
                      float(best.fun), 0.03, reference="trace2an")]  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare water over rock with the contact at several places in its cell."""
    rows = []
    for fraction in (0.0,) if quick else (0.0, 0.25, 0.5, 0.75):
        run, traces, exact = compare(10.0, fraction)
        sampling = f"10 ppw, contact {fraction} h below a node"
        groups = (("533 m above the bed", [0], 0.003), ("5 cells above", [1, 2], 0.012),
                  ("sea bed, 5 cells below", [3, 4], 0.012),
                  ("Scholte wave, 36 wavelengths, 12 cells below", [5], 0.004),
                  ("1/2 and 2 cells from the bed, either side", [6, 7, 8, 9], 0.026))  # fmt: skip
        for name, which, bar in groups:
            error = max(metrics.relative_l2(traces[r], exact[r]) for r in which)
            peers = "plain staggered grid: water 10-15 %, sea bed 22-69 %" if which != [0] else ""
            rows.append(cases.Row(f"fluid-solid, {name}", sampling, error, bar, peers=peers))
        if fraction in (0.0, 0.5):
            rows += published(run, traces[0], sampling)
        if fraction == 0.0:
            panels = [
                cases.Panel(f"{c}, {name}", run.times, traces[r, k], exact[r, k])
                for r, name in ((0, "water"), (2, "5 cells above the bed"), (4, "5 cells below"))
                for k, c in enumerate(("vx", "vz"))
            ]
            cases.draw_traces("fluid_solid", "Water over rock, 2.18 km, contact on a node, 10 ppw",
                              panels, "m/s")  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

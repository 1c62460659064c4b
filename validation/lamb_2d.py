"""Lamb's problem in 2-D: a vertical line force just under a free surface, Rayleigh waves on it.

The geometry is that of two analytic data sets that travel with SEM2DPACK and Deepwave (program
EX2DDIR). The first stands on the surface at 8 and 14 Rayleigh wavelengths; both receivers of the
second are buried. Displacement and velocity, absolute, against the exact solution of
`seismo.exact.layered_plane` and, where present, against the published traces themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

DEEPWAVE = {7.4: "Deepwave 8-13 %", 15: "Deepwave 2.2-3.7 %", 30: "Deepwave 0.8-1.3 %"}


@dataclass(frozen=True)
class Lamb:
    """One data set: its half-space, Ricker wavelet (Hz, s), geometry (m) and quantity."""

    name: str
    medium: Medium
    frequency: float
    delay: float
    depth: float
    receivers: tuple[tuple[float, float], ...]
    quantity: str
    duration: float


SURFACE = Lamb(
    "surface", Medium(3200.0, 1847.5, 2000.0), 10.0, 0.15, 50.0, ((700.0, 0.0), (1200.0, 0.0)),
    "displacement", 1.2,
)  # fmt: skip
BURIED = Lamb(
    "buried", Medium(1500.0, 1000.0, 2200.0), 14.5, 0.08025, 60.0, ((60.0, 20.0), (62.0, 22.0)),
    "velocity", 0.4,
)  # fmt: skip


def scenario(problem: Lamb, ppw: float) -> dict:
    """Put the problem on a grid of so many points per wavelength; 20 absorbing points around."""
    m = problem.medium
    h = m.vs / (2.5 * problem.frequency) / ppw
    if problem is SURFACE:
        h = {7.4: 10.0, 15: 5.0, 30: 2.5}.get(ppw, h)  # the peers' spacings, 7.39 ... 29.6 ppw
    margin = 0.5 * m.vp / problem.frequency
    far = max(x for x, _ in problem.receivers)
    deep = max(problem.depth, *(z for _, z in problem.receivers))
    return {
        "title": "2-D Lamb", "physics": "elastic", "precision": "float64",
        "grid": {
            "extent": {"x": h * np.ceil((far + 2 * margin) / h),
                       "z": h * np.ceil((deep + 3 * margin) / h)},
            "spacing": h, "order": 8, "origin": {"x": -h * np.ceil(margin / h), "z": 0.0},
        },
        "time": {"duration": problem.duration, "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": m.vp, "vs": m.vs, "rho": m.rho}],
        "sources": [{
            "type": "force", "position": {"x": 0.0, "z": problem.depth},
            "force": {"x": 0.0, "z": 1.0},
            "wavelet": {"type": "ricker", "frequency": problem.frequency, "delay": problem.delay},
        }],
        "receivers": [cases.points(np.array(problem.receivers), [problem.quantity])],
    }  # fmt: skip


def compare(problem: Lamb, ppw: float, bar: float) -> tuple[list[cases.Row], list[cases.Panel]]:
    """Run the problem once."""
    run = cases.simulate(scenario(problem, ppw))
    letter = problem.quantity[0].replace("d", "u")
    traces = run.components(f"{letter}x", f"{letter}z")
    exact = layered_plane.force_response(
        Stack((problem.medium,), (0.0,)), np.array([0.0, problem.depth]),
        np.array(problem.receivers), np.array([0.0, 1.0]), run.source, run.dt, problem.quantity,
    )  # fmt: skip
    rows = [
        cases.Row(
            f"2-D Lamb, {problem.name} receivers, {letter}{axis}", f"{ppw} ppw",
            max(metrics.relative_l2(traces[r, k], exact[r, k]) for r in range(len(traces))), bar,
            peers=DEEPWAVE.get(ppw, "") if problem is SURFACE else "",
        )
        for k, axis in enumerate("xz")
    ]  # fmt: skip
    panels = [
        cases.Panel(f"{letter}{axis}, x = {x:g} m, {ppw} ppw", run.times, traces[r, k], exact[r, k])
        for r, (x, _) in enumerate(problem.receivers)
        for k, axis in enumerate("xz")
    ]
    return rows + published(problem, run, traces, ppw, bar), panels


def published(problem, run, traces, ppw: float, bar: float) -> list[cases.Row]:
    """Compare with the published traces, whose z points up."""
    folder = "sem2dpack_lamb2d" if problem is SURFACE else "deepwave_lamb2d"
    path = cases.reference_data(folder, "Uz_file_ascii")
    if path is None:
        return []
    step, first = 5e-4, (5e-4 if problem is SURFACE else 2.5e-4)
    scale = 1.0 if problem is SURFACE else 0.5  # the velocity set is twice the true velocity
    table = -scale * np.loadtxt(path).reshape(2, -1)
    times = first + step * np.arange(table.shape[1])
    kept = times < run.times[-1]
    from scipy.interpolate import CubicSpline

    error = max(
        metrics.relative_l2(CubicSpline(run.times, traces[r, 1])(times[kept]), table[r, kept])
        for r in range(2)
    )
    return [
        cases.Row(f"2-D Lamb, {problem.name} receivers, vertical", f"{ppw} ppw", error, bar,
                  reference="EX2DDIR traces")
    ]  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare 2-D Lamb at 7.4, 15 and 30 points per wavelength."""
    rows = []
    for ppw, bar in ((7.4, 0.06), (15, 0.02), (30, 0.01))[: 2 if quick else 3]:
        found, panels = compare(SURFACE, ppw, bar)
        rows += found
        if ppw == 7.4:
            cases.draw_traces(
                "lamb_2d", "2-D Lamb, 10 Hz Ricker, 7.4 points per wavelength", panels, "m"
            )
    found, panels = compare(BURIED, 15, 0.02)
    cases.draw_traces("lamb_2d_buried", "2-D Lamb, buried receivers, 15 ppw", panels, "m/s")
    return rows + found


if __name__ == "__main__":
    cases.main(case)

"""Lamb's problem in 3-D: a vertical force on the free surface, observed on the free surface.

The problem of SW4's "testlamb" (Mooney 1974; Sjogreen & Petersson 2012): vs = 1, vp = sqrt 3,
rho = 1 (here times 1000 each), a smooth pulse. Vertical displacement one and several shear
wavelengths away, largest error over largest displacement, for three spacings; a fourth-order scheme
whose surface closure is of lower order must still show a slope of 3. Then the force buried one and
two shortest wavelengths deep, and among the rows of the surface, at 5 and 7 points.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

MEDIUM = Medium(1000.0 * np.sqrt(3.0), 1000.0, 1000.0)
FREQUENCY = 1.2  # Hz: a Ricker's 5 % level is 2.5 f = 3 Hz, SW4's fmax for its 1 Hz pulse
NEAR, FAR = 1000.0, 4000.0  # one and four wavelengths at 1 Hz
BURIED_BARS = {5: 0.004, 7: 0.0015}  # below the rows of the surface and among them
SW4 = {5: "SW4 7.2 %", 6.7: "SW4 3.4 %", 10: "SW4 0.93 %", 13.3: "SW4 0.33 %"}


def scenario(ppw: float, far: float, duration: float, depth: float = 0.0) -> dict:
    """Put the half-space on a grid of so many points per wavelength, the force at a depth in m."""
    h = MEDIUM.vs / (2.5 * FREQUENCY) / ppw
    margin = 500.0
    across = np.ceil(2 * margin / h / 2) * h
    return {
        "title": "3-D Lamb", "physics": "elastic", "precision": "float32",
        "grid": {
            "extent": {"x": h * np.ceil((far + 2 * margin) / h), "y": 2 * across,
                       "z": h * np.ceil(1000.0 / h)},
            "origin": {"x": -h * np.ceil(margin / h), "y": -across, "z": 0.0},
            "spacing": h, "order": 8,
        },
        "time": {"duration": duration, "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": MEDIUM.vp, "vs": MEDIUM.vs, "rho": MEDIUM.rho}],
        "sources": [{
            "type": "force", "position": {"x": 0.0, "y": 0.0, "z": depth},
            "force": {"x": 0.0, "y": 0.0, "z": 1e10},
            "wavelet": {"type": "ricker", "frequency": FREQUENCY},
        }],
        "receivers": [cases.points(
            np.array([[r, 0.0, 0.0] for r in (NEAR, far)]), ["displacement"], "xyz"
        )],
    }  # fmt: skip


def compare(ppw: float, far: float, duration: float, depth: float = 0.0):
    """Run one spacing; give times, traces and exact displacement (receiver, x z, time)."""
    run = cases.simulate(scenario(ppw, far, duration, depth))
    exact = layered.force_response(
        Stack((MEDIUM,), (0.0,)), np.array([0.0, 0.0, depth]),
        np.array([[NEAR, 0.0, 0.0], [far, 0.0, 0.0]]),
        np.array([0.0, 0.0, 1e10]), run.source, run.dt, "displacement",
    )[:, [0, 2]]  # fmt: skip
    return run, run.components("ux", "uz"), exact


def case(quick: bool) -> list[cases.Row]:
    """Compare 3-D Lamb on the surface at 5 to 13.3 points per wavelength."""
    far, duration = (FAR, 7.0) if not quick else (1500.0, 4.0)
    samplings = (5, 6.7) if quick else (5, 6.7, 10, 13.3)
    rows, errors = [], []
    for ppw in samplings:
        run, traces, exact = compare(ppw, far, duration)
        error = metrics.relative_maximum(traces[0, 1], exact[0, 1])
        errors.append(error)
        bar = {5: 0.005, 6.7: 0.0012, 10: 0.0004, 13.3: 0.0004}[ppw]
        rows.append(
            cases.Row("3-D Lamb, surface, uz at 1 wavelength, max norm", f"{ppw} ppw", error, bar,
                      peers=SW4[ppw])
        )  # fmt: skip
        rows.append(
            cases.Row(f"3-D Lamb, surface, both components at {far / NEAR:g} wavelengths, L2",
                      f"{ppw} ppw", metrics.relative_l2(traces[1], exact[1]), 5 * bar)
        )  # fmt: skip
        if ppw == 10:
            panels = [
                cases.Panel(f"{c} at {x:g} m", run.times, traces[r, k], exact[r, k])
                for r, x in enumerate((NEAR, far))
                for k, c in enumerate(("ux", "uz"))
            ]
            cases.draw_traces(
                "lamb_3d", "3-D Lamb, force and receivers on the surface, 10 ppw", panels, "m"
            )
    slope = -np.polyfit(np.log(samplings[:3]), np.log(errors[:3]), 1)[0]
    rows.append(
        cases.Row("3-D Lamb, order of convergence",
                  ", ".join(map(str, samplings[:3])) + " ppw", slope, 3.0, "",
                  "SW4 about 3", at_least=True)
    )  # fmt: skip
    return rows + [row for ppw in BURIED_BARS if ppw == 5 or not quick for row in buried(ppw)]


def buried(ppw: int) -> list[cases.Row]:
    """Compare a buried vertical force on the surface, both components of either receiver."""
    shortest = MEDIUM.vs / (2.5 * FREQUENCY)
    rows = []
    for depths in (1.0, 2.0), (0.6,):
        worst = 0.0
        for depth in depths:
            _, traces, exact = compare(ppw, FAR, 7.0, depth * shortest)
            errors = [metrics.relative_l2(t, e) for t, e in zip(traces, exact, strict=True)]
            worst = max(worst, *errors)
        deep = " and ".join(f"{depth:g}" for depth in depths)
        rows.append(cases.Row(
            f"3-D, vertical force {deep} shortest wavelengths deep, on the surface, L2",
            f"{ppw} ppw", worst, BURIED_BARS[ppw],
        ))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

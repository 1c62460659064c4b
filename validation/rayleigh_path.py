"""A Rayleigh wave that travels far over a uniform half-space, in 2-D.

A vertical force 0.6 shortest shear wavelengths deep, receivers on the surface: after 40 of these
wavelengths hardly anything but the Rayleigh wave is left, and its velocity on the grid is what
decides. It is that of the closure at the free surface, and of the differences beneath. Velocity of
both components against the exact solution of `seismo.exact.layered_plane`, relative L2 norm
of the receiver, for vp / vs from 1.5 to 5.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

VS, FREQUENCY = 1000.0, 10.0
SHORTEST = VS / (2.5 * FREQUENCY)
FAR = 40  # shortest wavelengths
BARS = {5: 0.05, 7: 0.012, 10: 0.004}
BEFORE = {5: "seismo 0.1.0: 27 %", 7: "seismo 0.1.0: 8.6 %", 10: "seismo 0.1.0: 2.0 %"}
ORDERS = {8: (5, 7, 10), 12: (5, 7), 16: (5, 7)}


def scenario(ppw: float, ratio: float, order: int, far: float) -> dict:
    """Put the half-space on a grid of so many points per shortest wavelength."""
    h, margin = SHORTEST / ppw, 4 * SHORTEST
    return {
        "title": "Rayleigh wave", "physics": "elastic", "precision": "float64",
        "grid": {
            "extent": {"x": h * np.ceil((far + 2 * margin) / h),
                       "z": h * np.ceil(8 * SHORTEST / h)},
            "spacing": h, "order": order, "origin": {"x": -h * np.ceil(margin / h), "z": 0.0},
        },
        "time": {"duration": 1.1 * far / VS + 4.5 / FREQUENCY, "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "layer": {"points": 24}},
        "model": [{"type": "uniform", "vp": ratio * VS, "vs": VS, "rho": 2000.0}],
        "sources": [{
            "type": "force", "position": {"x": 0.0, "z": 0.6 * SHORTEST},
            "force": {"x": 0.0, "z": 1.0},
            "wavelet": {"type": "ricker", "frequency": FREQUENCY},
        }],
        "receivers": [cases.points(np.array([[far, 0.0]]), ["velocity"])],
    }  # fmt: skip


def compare(ppw: float, ratio: float, order: int, far: float):
    """Run once; give the run, its traces and the exact ones (component, time)."""
    run = cases.simulate(scenario(ppw, ratio, order, far))
    exact = layered_plane.force_response(
        Stack((Medium(ratio * VS, VS, 2000.0),), (0.0,)), np.array([0.0, 0.6 * SHORTEST]),
        np.array([[far, 0.0]]), np.array([0.0, 1.0]), run.source, run.dt, "velocity",
    )[0]  # fmt: skip
    return run, run.components("vx", "vz")[0], exact


def case(quick: bool) -> list[cases.Row]:
    """Compare a Rayleigh wave after 40 wavelengths at 5, 7 and 10 points per wavelength."""
    rows, panels = [], []
    ratios = (1.5, 3**0.5, 5.0) if not quick else (3**0.5,)
    for order, samplings in ORDERS.items():
        if quick and order != 8:
            continue
        for ppw in samplings[:2] if quick else samplings:
            worst = 0.0
            for ratio in ratios:
                run, traces, exact = compare(ppw, ratio, order, FAR * SHORTEST)
                worst = max(worst, metrics.relative_l2(traces, exact))
            rows.append(cases.Row(
                f"Rayleigh wave after {FAR} shortest wavelengths, order {order}", f"{ppw} ppw",
                worst, BARS[ppw], peers=BEFORE[ppw] if order == 8 else "",
            ))  # fmt: skip
            if order == 8 and ppw == 7:
                panels = [
                    cases.Panel(f"{name}, vp / vs = {ratio:.3g}", run.times, traces[k], exact[k])
                    for k, name in enumerate(("vx", "vz"))
                ]
    cases.draw_traces(
        "rayleigh_path", f"Rayleigh wave after {FAR} shortest wavelengths, 7 ppw", panels, "m/s"
    )
    return rows


if __name__ == "__main__":
    cases.main(case)

"""Order of convergence of the elastic equations: whole space, free surface, interface.

Source and receivers stand on nodes of every grid, the layers are farther than waves travel, and the
time dispersion is removed: what is left is the difference operators' error. Taylor operators show
their nominal order in a whole space; a free surface, whose fitted rows are exact for parabolas,
gives three or more; an interface between two solids, wherever it lies, should give two.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered_plane, metrics, whole_space
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

UPPER, LOWER = Medium(2600.0, 1500.0, 2000.0), Medium(3900.0, 2200.0, 2400.0)
FREQUENCY, UNIT = 10.0, 60.0  # Hz; m, of which every spacing is a fraction


def scenario(divisions: int, order: int, media: tuple, surface: bool, interface: float) -> dict:
    """Put a buried force and receivers on a grid of UNIT / divisions."""
    h = UNIT / divisions
    layers = [{"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
              for top, m in zip((0.0, interface), media, strict=False)]  # fmt: skip
    top = 0.0 if surface else -20 * UNIT
    layers[0]["top"] = top
    return {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 44 * UNIT, "z": 24 * UNIT - top}, "spacing": h, "order": order,
                 "stencil": "taylor", "origin": {"x": -22 * UNIT, "z": top}},
        "time": {"duration": 0.72, "dispersion_removal": True},
        "boundaries": {"top": "free_surface" if surface else "absorbing"},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{"type": "force", "position": {"x": 0.0, "z": 2 * UNIT},
                     "force": {"x": 0.0, "z": 1e6},
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY, "delay": 0.25}}],
        "receivers": [cases.points(np.array([[5 * UNIT, 3 * UNIT], [4 * UNIT, UNIT]]),
                                   ["velocity"])],
    }  # fmt: skip


def error(divisions: int, order: int, setting: str) -> float:
    """Give the L2 error of both receivers and components."""
    interface = {"interface": 7.0 * UNIT, "interface between": 7.0 * UNIT + 0.37 * UNIT}.get(
        setting, 0.0
    )
    media = (UPPER, LOWER) if interface else (UPPER,)
    surface = setting == "free surface"
    document = scenario(divisions, order, media, surface, interface)
    if setting == "whole space":
        # All on nodes: interpolation between them is of fourth order whatever the operators'.
        document["sources"][0] |= {"type": "explosion", "moment": 1e6, "time_function": "moment"}
        del document["sources"][0]["force"]
        document["receivers"][0]["quantities"] = ["pressure"]
    run = cases.simulate(document)
    receivers = np.array([[5 * UNIT, 3 * UNIT], [4 * UNIT, UNIT]])
    source, force = np.array([0.0, 2 * UNIT]), np.array([0.0, 1e6])
    if setting == "whole space":
        stress = whole_space.moment_response(
            receivers - source, 1e6 * np.eye(2), run.source, run.dt, UPPER, "stress", "moment"
        )
        pressure = -0.5 * (stress[:, 0, 0] + stress[:, 1, 1])
        return metrics.relative_l2(run.traces["pressure"], pressure)
    stack = Stack(media, (0.0,) if surface else (interface,), surface)
    exact = layered_plane.force_response(
        stack, source, receivers, force, run.source, run.dt, "velocity", cut=1e-10
    )
    return metrics.relative_l2(run.components("vx", "vz"), exact)


def case(quick: bool) -> list[cases.Row]:
    """Measure slopes over three grids."""
    rows = []
    figure, axis = cases.subplots(figsize=(5.5, 4))
    settings = (
        ("whole space", 2, (10, 14, 20), 1.8),
        ("whole space", 4, (6, 8, 10), 3.8),
        ("whole space", 8, (5, 6, 8), 7.8),
        ("free surface", 4, (8, 12, 16), 2.8),
        ("free surface", 8, (6, 8, 12), 2.8),
        ("interface", 8, (6, 8, 12), 1.8),
        ("interface between", 8, (6, 8, 12), 1.8),
    )
    for setting, order, grids, bar in settings[2::2] if quick else settings:
        errors = [error(n, order, setting) for n in grids]
        slope = float(-np.polyfit(np.log(grids), np.log(errors), 1)[0])
        slowest = UPPER.vp if setting == "whole space" else UPPER.vs
        ppw = slowest / (2.5 * FREQUENCY) / UNIT
        rows.append(cases.Row(f"elastic 2-D, {setting}, order {order}: slope",
                              ", ".join(f"{n * ppw:.3g}" for n in grids) + " ppw", slope, bar, "",
                              "SW4 3.9-4.2 (order 4)" if order == 4 else "",
                              at_least=True))  # fmt: skip
        axis.loglog([n * ppw for n in grids], errors, "o-", ms=4, label=f"{setting}, order {order}")
    axis.set(xlabel="points per shortest wavelength", ylabel="relative L2 error")
    axis.legend(fontsize=7)
    axis.grid(alpha=0.3, which="both")
    cases.save(figure, "convergence")
    return rows


if __name__ == "__main__":
    cases.main(case)

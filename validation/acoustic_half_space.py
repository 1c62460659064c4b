"""An acoustic half-space under a pressure-release surface: the ghost, by the image source.

Source and receivers between the grid points, one of them in the first cells under the surface.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import acoustic, metrics

VELOCITY, FREQUENCY, PPW = 1500.0, 25.0, 10
SPACING = VELOCITY / (2.5 * FREQUENCY) / PPW
SOURCE = {2: (100.3, 12.7), 3: (60.3, 61.1, 12.7)}
RECEIVERS = {
    2: ((400.0, 30.0), (250.7, 1.3), (180.1, 150.0)),
    3: ((200.0, 170.0, 30.0), (150.7, 130.0, 1.3), (120.1, 90.0, 100.0)),
}


def scenario(physics: str, dimensions: int, quick: bool) -> dict:
    """Put source and receivers under the surface."""
    axes, small = "xyz" if dimensions == 3 else "xz", quick and dimensions == 3
    extent = {"x": 501.0, "z": 201.0} if dimensions == 2 else {"x": 261.0, "y": 231.0, "z": 141.0}
    model = {"type": "uniform", "vp": VELOCITY}
    if physics != "acoustic":
        model["rho"] = 1000.0
    return {
        "title": "half-space", "physics": physics, "precision": "float64",
        "grid": {"extent": extent, "spacing": SPACING, "order": 8},
        "time": {"duration": 0.27 if small else 0.4, "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "layer": {"points": 12} if small else {}},
        "model": [model],
        "sources": [{"type": "pressure", "position": cases.place(SOURCE[dimensions], axes),
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(np.array(RECEIVERS[dimensions]), ["pressure"], axes)],
    }  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare an acoustic half-space with its image-source solution."""
    rows, panels = [], []
    for dimensions in (2, 3):
        for physics in ("acoustic", "acoustic_variable_density"):
            run = cases.simulate(scenario(physics, dimensions, quick))
            trace = run.traces["pressure"]
            exact = acoustic.half_space_pressure(
                np.array(RECEIVERS[dimensions]), np.array(SOURCE[dimensions]), run.source, run.dt,
                VELOCITY,
            )  # fmt: skip
            error = max(metrics.relative_l2(a, b) for a, b in zip(trace, exact, strict=True))
            name = f"{physics.replace('_', ' ')}, {dimensions}-D"
            rows.append(cases.Row(f"half-space, {name}", f"{PPW} ppw", error, 0.01,
                                  reference="image source"))  # fmt: skip
            if physics == "acoustic":
                panels += [
                    cases.Panel(f"{dimensions}-D, receiver at {p[-1]:g} m", run.times, a, b)
                    for p, a, b in zip(RECEIVERS[dimensions], trace, exact, strict=True)
                ]
    cases.draw_traces("acoustic_half_space", "Pressure-release surface, 10 ppw", panels, "Pa", 3)
    return rows


if __name__ == "__main__":
    cases.main(case)

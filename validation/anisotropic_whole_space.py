"""Elastic whole space of rock with a vertical symmetry axis (VTI), 2-D and 3-D.

Forces and a moment act alone, 10 and 5 points per wavelength of the S wave along the axis, source
and receiver between the grid points; a moment Mxz besides. Velocities in absolute amplitude against
sums of plane waves (`seismo.exact.anisotropic`; Wang & Achenbach 1994, 1995).
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.equations import elastic_constants
from seismo.exact import anisotropic, metrics

ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0, "epsilon": 0.2, "delta": 0.08, "gamma": 0.15}
SOLID = anisotropic.Solid(
    elastic_constants.matrix(elastic_constants.constants_of(ROCK)), ROCK["rho"]
)
FREQUENCY = 10.0
OFFSET = {2: np.array([312.0, 205.0]), 3: np.array([181.0, 107.0, -142.0])}
BARS = {10: 0.005, 5: 0.01}


def compare(dimensions: int, part: dict, strength: np.ndarray, ppw: int, quick: bool):
    """Run one mechanism; give the run, traces and exact velocities (component, time)."""
    offset = OFFSET[dimensions] * (0.35 if quick and dimensions == 3 else 1.0)
    spacing = ROCK["vs"] / (2.5 * FREQUENCY) / ppw
    run = cases.simulate(
        cases.whole_space("VTI whole space", ROCK, FREQUENCY, offset, spacing, part, {})
    )
    respond = anisotropic.force_response if strength.ndim == 1 else anisotropic.moment_response
    exact = respond(offset[None], strength, run.source, run.dt, SOLID, "velocity")
    names = [f"v{a}" for a in ("xyz" if dimensions == 3 else "xz")]
    return run, run.components(*names)[0], exact[0]


def case(quick: bool) -> list[cases.Row]:
    """Compare every force, and Mxz, in 2-D; in 3-D Fx and Mxz."""
    rows, panels = [], []
    for dimensions, ppw in ((2, 10), (2, 5), (3, 10), (3, 5)):
        acting = ("Fx", "Fz", "Mxz") if dimensions == 2 else ("Fx", "Mxz")
        for name in acting:
            if quick and dimensions == 3 and (name, ppw) != ("Fx", 5):
                continue
            part, strength = cases.forces_and_moments(dimensions)[name]
            run, trace, exact = compare(dimensions, part, strength, ppw, quick)
            error = metrics.relative_l2(trace, exact)
            rows.append(cases.Row(f"elastic VTI {dimensions}-D, {name}, all components",
                                  f"{ppw} ppw", error, BARS[ppw]))  # fmt: skip
            if name == "Fx" and ppw == 5:
                axes = "xyz" if dimensions == 3 else "xz"
                panels += [cases.Panel(f"{dimensions}-D {name}, v{a}", run.times, trace[k],
                                       exact[k]) for k, a in enumerate(axes)]  # fmt: skip
    cases.draw_traces("anisotropic_whole_space", "VTI whole space, 5 ppw", panels, "m/s")
    return rows


if __name__ == "__main__":
    cases.main(case)

"""Elastic whole spaces of rock with an axis of symmetry, upright (VTI) or tilted (TTI).

Forces and a moment act alone, 10 and 5 points per wavelength of the S wave along the axis, source
and receiver between the grid points; a moment Mxz besides. Velocities in absolute amplitude against
sums of plane waves (`seismo.exact.anisotropic`; Wang & Achenbach 1994, 1995). Then waves in tilted
rock against those in the same rock upright, with the path and the force turned by as much.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.equations.rock import elastic_constants
from seismo.exact import anisotropic, metrics

ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0, "epsilon": 0.2, "delta": 0.08, "gamma": 0.15}
FREQUENCY = 10.0
OFFSET = {2: np.array([312.0, 205.0]), 3: np.array([181.0, 107.0, -142.0])}
AXES = {"VTI": {2: (0.0, 0.0), 3: (0.0, 0.0)}, "TTI": {2: (35.0, 0.0), 3: (50.0, 30.0)}}
BARS = {"VTI": {10: 0.005, 5: 0.01}, "TTI": {10: 0.008, 5: 0.015}}
STEP_SHARE = 1.2e-4  # s/m, of the spacing: a time step that both of two runs can take


def turn(kind: str, dimensions: int) -> np.ndarray:
    """Return the rotation (3, 3) that takes z to the axis of a kind of rock."""
    return elastic_constants.rotation(*AXES[kind][dimensions])


def simulate(
    kind: str, dimensions: int, part: dict, offset: np.ndarray, ppw: int, time: dict | None = None
) -> tuple[cases.Run, np.ndarray]:
    """Run one mechanism; give the run and the velocities (component, time)."""
    theta, phi = AXES[kind][dimensions]
    rock = ROCK | ({"theta": theta, "phi": phi} if theta else {})
    spacing = ROCK["vs"] / (2.5 * FREQUENCY) / ppw
    scenario = cases.whole_space(f"{kind} whole space", rock, FREQUENCY, offset, spacing, part, {})
    scenario["time"] |= time or {}
    run = cases.simulate(scenario)
    return run, run.components(*(f"v{a}" for a in ("xyz" if dimensions == 3 else "xz")))[0]


def compare(kind: str, dimensions: int, name: str, ppw: int, quick: bool):
    """Run one mechanism; give the run, traces and exact velocities (component, time)."""
    offset = OFFSET[dimensions] * (0.35 if quick and dimensions == 3 else 1.0)
    part, strength = cases.forces_and_moments(dimensions)[name]
    run, trace = simulate(kind, dimensions, part, offset, ppw)
    upright = elastic_constants.matrix(elastic_constants.constants_of(ROCK))
    stiffness = elastic_constants.rotate(upright, turn(kind, dimensions))
    respond = anisotropic.force_response if strength.ndim == 1 else anisotropic.moment_response
    solid = anisotropic.Solid(stiffness, ROCK["rho"])
    exact = respond(offset[None], strength, run.source, run.dt, solid, "velocity")
    return run, trace, exact[0]


def rotated(dimensions: int, ppw: int, quick: bool) -> cases.Row:
    """Compare tilted rock with the same rock upright, all else turned by as much."""
    axes = "xyz" if dimensions == 3 else "xz"
    keep = slice(None, None, None if dimensions == 3 else 2)
    rotation = turn("TTI", dimensions)[keep, keep]
    offset = OFFSET[dimensions] * (0.35 if quick and dimensions == 3 else 1.0)
    force = np.array([1e9, -4e8, 6e8])[keep]
    time = {"step": STEP_SHARE * ROCK["vs"] / (2.5 * FREQUENCY) / ppw, "duration": 0.6}
    traces = []
    for kind, turned in (("VTI", np.eye(dimensions)), ("TTI", rotation)):
        part = {"type": "force", "force": cases.place(turned @ force, axes)}
        _, trace = simulate(kind, dimensions, part, turned @ offset, ppw, time)
        traces.append(turned.T @ trace)
    error = metrics.relative_l2(traces[1], traces[0])
    what = f"elastic TTI {dimensions}-D, force, against the same rock upright, all else turned"
    return cases.Row(what, f"{ppw} ppw", error, 0.005, reference="invariant")


def case(quick: bool) -> list[cases.Row]:
    """Compare every force, and Mxz, in 2-D; in 3-D Fx and Mxz; then the rotation."""
    rows, panels = [], []
    for kind in AXES:
        for dimensions, ppw in ((2, 10), (2, 5), (3, 10), (3, 5)):
            for name in ("Fx", "Fz", "Mxz") if dimensions == 2 else ("Fx", "Mxz"):
                if quick and ((dimensions == 3 and name != "Fx") or ppw == 10):
                    continue
                run, trace, exact = compare(kind, dimensions, name, ppw, quick)
                error = metrics.relative_l2(trace, exact)
                rows.append(cases.Row(f"elastic {kind} {dimensions}-D, {name}, all components",
                                      f"{ppw} ppw", error, BARS[kind][ppw]))  # fmt: skip
                if name == "Fx" and ppw == 5:
                    axes = "xyz" if dimensions == 3 else "xz"
                    panels += [cases.Panel(f"{kind} {dimensions}-D {name}, v{a}", run.times,
                                           trace[k], exact[k])
                               for k, a in enumerate(axes)]  # fmt: skip
    cases.draw_traces("anisotropic_whole_space", "Anisotropic whole space, 5 ppw", panels, "m/s")
    rows += [rotated(2, 10, quick)] + ([] if quick else [rotated(3, 10, quick)])
    return rows


if __name__ == "__main__":
    cases.main(case)

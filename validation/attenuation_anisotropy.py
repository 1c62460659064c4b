"""Whole spaces of anisotropic rock that attenuates, about an upright axis (VTI) and a tilted one.

Kjartansson's constant Q of P and of S waves, 10 points per wavelength of the S wave along the axis,
source and receiver between the grid points. Velocities of forces in 2-D, in absolute
amplitude against sums of plane waves of complex constants (`seismo.exact.anisotropic`), so that the
fit of the mechanisms is part of the error. Pressures of acoustic waves (`acoustic_anisotropy`) are
compared likewise, with one modulus for all directions.
"""

from __future__ import annotations

import acoustic_anisotropy
import cases
import numpy as np

from seismo.equations.rock import anisotropic_loss, elastic_constants
from seismo.exact import (
    anisotropic,
    metrics,
)
from seismo.exact import (
    medium as viscoelastic,
)

ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0, "epsilon": 0.2, "delta": 0.08, "gamma": 0.15}
QUALITY = {"qp": 40.0, "qs": 20.0}
FREQUENCY, PPW = 10.0, 10
OFFSET = np.array([312.0, 205.0])
AXES = {"VTI": (0.0, 0.0), "TTI": (35.0, 0.0)}
BAR = 0.005


def solid(axis: tuple[float, float]) -> anisotropic.AttenuatingSolid:
    """Return the rock, whose constants have Kjartansson's moduli, about an axis (theta, phi)."""
    constants = elastic_constants.constants_of(ROCK)
    turn = elastic_constants.rotation(*axis)
    p, s = (viscoelastic.constant_q(QUALITY[name], FREQUENCY) for name in ("qp", "qs"))

    def stiffness(at: complex) -> np.ndarray:
        relaxed = anisotropic_loss.relaxed(constants, p(at), s(at))
        return elastic_constants.rotate(elastic_constants.matrix(relaxed), turn)

    return anisotropic.AttenuatingSolid(stiffness, ROCK["rho"])


def compare(kind: str, name: str, quick: bool) -> tuple[cases.Row, list[cases.Panel]]:
    """Run one mechanism in 2-D, and compare all components of the velocity."""
    offset = OFFSET * (0.4 if quick else 1.0)
    part, strength = cases.forces_and_moments(2)[name]
    theta, phi = AXES[kind]
    rock = ROCK | QUALITY | ({"theta": theta, "phi": phi} if theta else {})
    spacing = ROCK["vs"] / (2.5 * FREQUENCY) / PPW
    title = f"{kind} whole space that attenuates"
    scenario = cases.whole_space(title, rock, FREQUENCY, offset, spacing, part, {})
    run = cases.simulate(scenario | {"attenuation": {"reference_frequency": FREQUENCY}})
    trace = run.components("vx", "vz")[0]
    exact = anisotropic.force_response(
        offset[None], strength, run.source, run.dt, solid(AXES[kind]), "velocity"
    )[0]
    row = cases.Row(
        f"elastic {kind} 2-D, Qp 40, Qs 20, {name}, all components", f"{PPW} ppw",
        metrics.relative_l2(trace, exact), BAR,
    )  # fmt: skip
    panels = [
        cases.Panel(f"{kind} {name}, v{a}", run.times, trace[k], exact[k])
        for k, a in enumerate("xz")
    ]
    return row, panels


def acoustic(axis: str, distance: float) -> cases.Row:
    """Compare the pressure of a source of volume in shale, `distance` wavelengths away."""
    name = {"VTI": "shale", "TTI": "shale, tilt 35"}[axis]
    run, exact = acoustic_anisotropy.compare(
        name, "pressure", 2, PPW, distance, quality=QUALITY["qp"]
    )
    error = max(map(metrics.relative_l2, run.traces["pressure"], exact))
    return cases.Row(
        f"acoustic {axis} 2-D, Qp 40, pressure, {distance:g} wavelengths away", f"{PPW} ppw", error,
        BAR, reference="wavenumber integral",
    )  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare forces and pressures; the quick form is nearer the source."""
    done = [("TTI", "Fx")] if quick else [("VTI", "Fx"), ("TTI", "Fx")]
    rows = []
    panels = []
    for kind, name in done:
        row, drawn = compare(kind, name, quick)
        rows.append(row)
        panels += drawn
    cases.draw_traces(
        "attenuation_anisotropy", "Anisotropic whole space, Qp 40, Qs 20", panels, "m/s"
    )
    rows += [acoustic(axis, 3.0 if quick else 10.0) for axis in (["TTI"] if quick else AXES)]
    return rows


if __name__ == "__main__":
    cases.main(case)

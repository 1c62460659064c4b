"""The scheme's own dispersion relation: one plane wave in a periodic box, at seven angles.

A standing plane wave that fits the box oscillates at the frequency which the discrete equations
prescribe, sin^2(w dt/2) = (c dt/2)^2 sum_axes [2 sum_m c_m sin((m - 1/2) k h) / h]^2, and at no
other. It is set as the initial field, one node is watched, and its frequency measured from the
exact recurrence p(n+1) + p(n-1) = 2 cos(w dt) p(n) of a single oscillation.
"""

from __future__ import annotations

from dataclasses import replace

import cases
import numpy as np

from seismo.grid.coefficients import Stencil
from seismo.scenario import from_dict
from seismo.solver.discretization import Discretization
from seismo.solver.simulation import Simulation, build

POINTS, SPACING, VELOCITY = 24, 10.0, 2000.0
# Wave numbers along x and z in cycles per box: from along the axis to the diagonal and back.
WAVES = ((4, 0), (4, 1), (4, 2), (4, 4), (2, 4), (1, 4), (0, 4))


def scenario(physics: str, order: int, kind: str) -> dict:
    """Make a periodic box."""
    faces = dict.fromkeys(("top", "bottom", "x_min", "x_max"), "periodic")
    model = {"type": "uniform", "vp": VELOCITY}
    if physics != "acoustic":
        model["rho"] = 1500.0
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": POINTS * SPACING, "z": POINTS * SPACING}, "spacing": SPACING,
                 "order": order, "stencil": kind},
        "time": {"duration": 0.5}, "boundaries": faces, "model": [model],
        "sources": [{"type": "pressure", "position": {"x": 50.0, "z": 50.0},
                     "wavelet": {"type": "ricker", "frequency": 20.0}}],
        "receivers": [cases.points(np.array([[30.0, 70.0]]), ["pressure"])],
    }  # fmt: skip


def symbol(physics: str, stencil: Stencil, wave: tuple[int, int]) -> float:
    """Give the square of the wavenumber, times SPACING^2, as the differences see it."""
    kh = 2 * np.pi * np.array(wave) / POINTS
    if physics == "acoustic":
        d = stencil.second
        m = np.arange(1, len(d))
        return float(sum(-(d[0] + 2 * np.sum(d[1:] * np.cos(m * k))) for k in kh))
    c = stencil.first
    m = np.arange(1, len(c) + 1)
    return float(sum((2 * np.sum(c * np.sin((m - 0.5) * k))) ** 2 for k in kh))


def predicted(physics: str, stencil: Stencil, wave: tuple[int, int], dt: float) -> float:
    """Give w dt of the discrete equations."""
    square = symbol(physics, stencil, wave)
    return float(2 * np.arcsin(0.5 * VELOCITY * dt / SPACING * np.sqrt(square)))


def standing_wave(
    document: dict, names: tuple[str, ...], wave: tuple[int, int]
) -> tuple[np.ndarray, Discretization]:
    """Set fields to a standing wave; return the first at one node (step), and the set-up."""
    simulation = build(from_dict(document))
    return followed(simulation, dict.fromkeys(names, 1.0), wave), simulation.discretization


def followed(
    simulation: Simulation, amplitudes: dict[str, float], wave: tuple[int, int]
) -> np.ndarray:
    """Set fields to a standing wave of some amplitudes; return the first at one node (step)."""
    discretization, part = simulation.discretization, simulation.solvers[0]
    simulation.load([replace(discretization.shots[0], points=())])  # nothing but the wave
    kh = 2 * np.pi * np.array(wave) / POINTS
    for name, amplitude in amplitudes.items():
        half = discretization.physics.named(name).half
        x, z = (np.arange(POINTS) + 0.5 * (axis in half) for axis in "xz")
        shape = np.cos(kh[0] * x[None, :] + kh[1] * z[:, None] + 0.3)
        part.subdomain.inside(part.fields.arrays(0)[name])[0, :, 0, :] = amplitude * shape
    for images in reversed(part.images):
        for fill in (f for stage in images.values() for f in stage):
            fill()
    series = []
    for _ in range(simulation.total_steps):
        simulation.advance(1)
        series.append(float(simulation.field(next(iter(amplitudes)))[0, 7, 0, 3]))
    return np.array(series)


def measured(
    physics: str, order: int, kind: str, wave: tuple[int, int]
) -> tuple[float, Discretization]:
    """Run a standing wave; return its w dt and the set-up."""
    names = ("p", "p_old") if physics == "acoustic" else ("p",)
    p, discretization = standing_wave(scenario(physics, order, kind), names, wave)
    cosine = np.sum((p[2:] + p[:-2]) * p[1:-1]) / (2 * np.sum(p[1:-1] ** 2))
    return float(np.arccos(cosine)), discretization


def case(quick: bool) -> list[cases.Row]:
    """Compare measured and predicted frequencies at seven angles."""
    rows = []
    for physics in ("acoustic", "acoustic_variable_density"):
        for order, kind in ((4, "taylor"), (8, "taylor"), (8, "minmax")):
            errors = []
            for wave in WAVES[:: 3 if quick else 1]:
                found, discretization = measured(physics, order, kind, wave)
                errors.append(
                    abs(
                        found
                        / predicted(physics, discretization.stencil, wave, discretization.clock.dt)
                        - 1
                    )
                )
            rows.append(cases.Row(f"dispersion relation, {physics.replace('_', ' ')}, {kind}",
                                  f"order {order}, {len(errors)} angles", max(errors), 1e-6, "",
                                  reference="discrete dispersion relation"))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

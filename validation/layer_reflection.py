"""Plane waves that the default absorbing layers send back, at angles up to 60 degrees (2-D).

As in `zoeppritz.py`: a line source stands above the layer at the bottom, receivers at its depth.
What comes back is the record less that of the same run with the bottom too deep to be heard;
divided, in the frequency-wavenumber domain, by what that run records where the mirror image of the
receivers would stand, it is the reflection coefficient of the layer at each angle. The frequency
has a small imaginary part (records times exp(-damping t)), which beyond 60 degrees would hide more
than half of what comes back; `cpml_grazing.py` has waves along a layer. P waves are read as
pressure, S waves as rotation; the layers are those a run has by default. The bars are what those of
20 points, the default of 0.1.0, sent back in the same measurement.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact.medium import Medium
from seismo.scenario import from_dict
from seismo.solver.simulation import build

MEDIUM = Medium(3300.0, 1905.0, 2800.0)
SPACING, HEIGHT, REACH = 10.0, 5, 330  # m; cells above the layer; cells waves travel
DAMPING = 6.0  # records end at exp(-6)
ANGLES = np.radians(np.arange(0.0, 60.1, 3.0))
BARS = {  # what the layers of 0.1.0 sent back here, rounded up
    ("acoustic", 4.5): 2.0e-4, ("elastic P", 4.5): 1.6e-4, ("elastic S", 4.5): 2.4e-4,
    ("acoustic", 10.0): 2.0e-4, ("elastic P", 10.0): 8.1e-5, ("elastic S", 10.0): 6.0e-5,
}  # fmt: skip
BEFORE = f"layers of 20 points in seismo 0.1.0: at most {max(BARS.values()):g}"
# The motion read, the source, the velocity.
WAVES = {
    "acoustic": ("acoustic", "pressure", {"type": "pressure"}, MEDIUM.vp),
    "elastic P": ("elastic", "pressure", {"type": "explosion", "moment": 1e9}, MEDIUM.vp),
    "elastic S": ("elastic", "rotation", {"type": "force", "force": {"x": 1e9, "z": -1e9}},
                  MEDIUM.vs),
}  # fmt: skip


def scenario(wave: str, ppw: float, layer: dict | None, deep: bool) -> dict:
    """Put source and line above the layer at the bottom, or far above it."""
    physics, quantity, source, velocity = WAVES[wave]
    h, elastic = SPACING, physics == "elastic"
    frequency = velocity / (2.5 * h * ppw)
    line = np.arange(-REACH, REACH + 1) * h
    duration = REACH * h / velocity + 1.5 / frequency
    below = np.ceil(0.55 * duration * MEDIUM.vp / h) if deep else HEIGHT
    receivers = [{"name": name, **cases.points(np.stack([line, np.full(line.size, z)], 1),
                                               [quantity])}
                 for name, z in (("line", 0.0), ("mirrored", 2 * HEIGHT * h))]  # fmt: skip
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": (2 * REACH + 20) * h, "z": (20 + below) * h}, "spacing": h,
                 "origin": {"x": -(REACH + 10) * h, "z": -20 * h}},
        "time": {"duration": duration, "step": 0.4 * h / MEDIUM.vp},
        "boundaries": {} if layer is None else {"layer": layer},
        "model": [{"type": "uniform", "vp": MEDIUM.vp,
                   **({"vs": MEDIUM.vs, "rho": MEDIUM.rho} if elastic else {})}],
        "sources": [{**source, "position": {"x": 0.0, "z": 0.0},
                     "wavelet": {"type": "ricker", "frequency": frequency}}],
        "receivers": receivers if deep else receivers[:1],
    }  # fmt: skip


def records(document: dict) -> tuple[list[np.ndarray], float]:
    """Run; return the motion (receiver, time) of each receiver set as recorded, and the step."""
    simulation = build(from_dict(document))
    simulation.advance(simulation.total_steps)
    found = []
    for group in simulation.discretization.groups:
        ((_, _, name),) = group.components(simulation.discretization.physics).values()
        found.append(simulation.recorder.raw(0, group.name, name).astype(float))
    return found, simulation.dt


def reflection(wave: str, ppw: float, layer: dict | None = None) -> np.ndarray:
    """Return the coefficients (frequency, angle), at the wavelet's and at 2.5 times that."""
    (near,), dt = records(scenario(wave, ppw, layer, False))
    (direct, mirrored), _ = records(scenario(wave, ppw, layer, True))
    velocity = WAVES[wave][3]
    times, x = dt * np.arange(near.shape[1]), SPACING * np.arange(-REACH, REACH + 1)
    found = []
    for factor in (1.0, 2.5):
        omega = factor * 2 * np.pi * velocity / (2.5 * SPACING * ppw)
        turn = np.exp((1j * omega - DAMPING / times[-1]) * times)
        phase = np.exp(-1j * omega * np.sin(ANGLES)[:, None] / velocity * x)
        found.append(np.abs((phase @ ((near - direct) @ turn)) / (phase @ (mirrored @ turn))))
    return np.array(found)


def case(quick: bool) -> list[cases.Row]:
    """Measure what comes back of P and S waves at two samplings."""
    rows = []
    figure, axis = cases.subplots(figsize=(5.5, 3.6))
    for ppw in (4.5,) if quick else (4.5, 10.0):
        for wave in ("acoustic", "elastic S") if quick else WAVES:
            found = reflection(wave, ppw)
            axis.semilogy(np.degrees(ANGLES), found.max(axis=0), label=f"{wave}, {ppw:g} ppw")
            rows.append(cases.Row(f"default layers, reflection at 0-60 deg, {wave}",
                                  f"{ppw:g} ppw", float(found.max()), BARS[wave, ppw], "",
                                  BEFORE, "mirrored"))  # fmt: skip
    axis.set(xlabel="angle (degrees)", ylabel="reflection")
    axis.legend(fontsize=7)
    axis.grid(alpha=0.3)
    cases.save(figure, "layer_reflection")
    return rows


if __name__ == "__main__":
    cases.main(case)

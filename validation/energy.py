"""Conservation of energy in a closed box of a random medium.

With the source silent, the semi-discrete energy is conserved and the leapfrog scheme conserves its
own version of it, E = 1/2 v(n+1/2)^2 rho + 1/2 s(n) C^-1 s(n+1), to rounding for ever. Watched here
for the acoustic velocity-pressure equations, whose C is diagonal: rigid walls on all sides.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cases
import numpy as np

from seismo.scenario import from_dict
from seismo.solver.simulation import build

POINTS, SPACING, STEP = 65, 10.0, 1e-3
SILENT = 200  # steps after which the source has ended


def medium() -> dict[str, np.ndarray]:
    """Draw vp in m/s and rho in kg/m3 at every node (z, x), 40 % about their means."""
    generator = np.random.default_rng(3)
    return {
        name: mean * (1 + 0.4 * generator.uniform(-1, 1, (POINTS, POINTS)))
        for name, mean in (("vp", 3000.0), ("rho", 2200.0))
    }


def scenario(folder: Path, steps: int) -> dict:
    """Close the box and shut the source off early."""
    part = {"type": "file"}
    for name, values in medium().items():
        path = folder / f"{name}.npy"
        np.save(path, values)
        part[name] = {"path": str(path), "axes": "zx", "spacing": {"x": SPACING, "z": SPACING},
                      "units": "kg/m3" if name == "rho" else "m/s"}  # fmt: skip
    extent = (POINTS - 1) * SPACING
    return {
        "physics": "acoustic_variable_density", "precision": "float64", "averaging": "point",
        "grid": {"extent": {"x": extent, "z": extent}, "spacing": SPACING, "order": 8},
        # Without removal of the time dispersion the source is silent to the last bit when it ends.
        "time": {"duration": steps * STEP, "step": STEP, "dispersion_removal": False},
        "boundaries": dict.fromkeys(("top", "bottom", "x_min", "x_max"), "rigid"),
        "model": [part],
        "sources": [{"type": "force", "position": {"x": 200.0, "z": 300.0},
                     "force": {"x": 1e6, "z": 2e6},
                     "wavelet": {"type": "ricker", "frequency": 20.0}}],
        "receivers": [cases.points(np.array([[333.0, 222.0]]), ["pressure"])],
    }  # fmt: skip


def energies(steps: int) -> np.ndarray:
    """Run and sample twice the discrete energy [J/m] after the source has ended."""
    with tempfile.TemporaryDirectory() as folder:
        simulation = build(from_dict(scenario(Path(folder), steps)))
    rho = medium()["rho"]
    modulus = rho * medium()["vp"] ** 2
    # The share of a cell of a node between rigid walls, and of a point half a cell further.
    node = np.r_[0.5, np.ones(POINTS - 2), 0.5]
    half = np.r_[np.ones(POINTS - 1), 0.0]
    mass = {
        "vx": np.outer(node, half) * 0.5 * (rho + np.roll(rho, -1, axis=1)),
        "vz": np.outer(half, node) * 0.5 * (rho + np.roll(rho, -1, axis=0)),
    }
    simulation.advance(SILENT)
    found = []
    while simulation.step + 1 <= steps:
        before = simulation.field("p")[0, :, 0, :].copy()
        simulation.advance(1)
        after = simulation.field("p")[0, :, 0, :]
        energy = np.sum(np.outer(node, node) * before * after / modulus)
        for name, share in mass.items():
            energy += np.sum(share * simulation.field(name)[0, :, 0, :] ** 2)
        found.append(SPACING**2 * energy)
        simulation.advance(min(24, steps - simulation.step))
    return np.array(found)


def case(quick: bool) -> list[cases.Row]:
    """Watch the energy of a closed box."""
    steps = 2000 if quick else 10000
    found = energies(steps)
    drift = found / found[0] - 1
    figure, axis = cases.subplots(figsize=(6, 2.6))
    axis.plot(SILENT + 25 * np.arange(found.size), drift, lw=0.8)
    axis.set(xlabel="step", ylabel="E / E(0) - 1", title="Closed box, random medium, float64")
    cases.save(figure, "energy")
    return [cases.Row("energy drift, closed box, random medium", f"{steps} steps",
                      float(np.abs(drift).max()), 1e-12, "", "SW4 1e-14 over 435 steps",
                      "invariant")]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

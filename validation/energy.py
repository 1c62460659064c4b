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
from seismo.simulation import build

POINTS, SPACING = 65, 10.0


def scenario(folder: Path, steps: int) -> dict:
    """Close the box and shut the source off early."""
    generator = np.random.default_rng(3)
    part = {"type": "file"}
    for name, mean in (("vp", 3000.0), ("rho", 2200.0)):
        path = folder / f"{name}.npy"
        np.save(path, mean * (1 + 0.4 * generator.uniform(-1, 1, (POINTS, POINTS))))
        part[name] = {"path": str(path), "axes": "zx", "spacing": {"x": SPACING, "z": SPACING},
                      "units": "kg/m3" if name == "rho" else "m/s"}  # fmt: skip
    extent = (POINTS - 1) * SPACING
    return {
        "physics": "acoustic_variable_density", "precision": "float64", "averaging": "point",
        "grid": {"extent": {"x": extent, "z": extent}, "spacing": SPACING, "order": 8},
        "time": {"duration": steps * 1e-3, "step": 1e-3},
        "boundaries": dict.fromkeys(("top", "bottom", "x_min", "x_max"), "rigid"),
        "model": [part],
        "sources": [{"type": "force", "position": {"x": 200.0, "z": 300.0},
                     "force": {"x": 1e6, "z": 2e6},
                     "wavelet": {"type": "ricker", "frequency": 20.0}}],
        "receivers": [cases.points(np.array([[333.0, 222.0]]), ["pressure"])],
    }  # fmt: skip


def weights() -> np.ndarray:
    """Give the share of a cell that a node between rigid walls stands for."""
    w = np.ones(POINTS)
    w[[0, -1]] = 0.5
    return w


def energies(steps: int) -> np.ndarray:
    """Run and sample the discrete energy after the source has ended."""
    with tempfile.TemporaryDirectory() as folder:
        simulation = build(from_dict(scenario(Path(folder), steps)))
    part = simulation.parts[0]
    arrays = part.fields.arrays(0)
    c = {k: part.subdomain.view(arrays[k])[0][:, 0, :].astype(float) for k in ("kappa", "rho")
         if k in arrays}  # fmt: skip
    own = part.subdomain
    z0, x0 = own.offset[2], own.offset[0]
    inner = np.s_[z0 : z0 + POINTS, x0 : x0 + POINTS]
    node = np.outer(weights(), weights())
    rho = c["rho"]
    halfway = {"vx": 0.5 * (rho + np.roll(rho, -1, 1))[inner],
               "vz": 0.5 * (rho + np.roll(rho, -1, 0))[inner]}  # fmt: skip
    share = {"vx": np.outer(weights(), np.r_[np.ones(POINTS - 1), 0.0]),
             "vz": np.outer(np.r_[np.ones(POINTS - 1), 0.0], weights())}  # fmt: skip
    simulation.advance(200)
    found = []
    while simulation.step + 1 <= steps:
        before = simulation.field("p")[0, :, 0, :]
        simulation.advance(1)
        after = simulation.field("p")[0, :, 0, :]
        energy = np.sum(node * before * after / c["kappa"][inner])
        for name in ("vx", "vz"):
            v = simulation.field(name)[0, :, 0, :]
            energy += np.sum(share[name] * halfway[name] * v**2)
        found.append(energy)
        simulation.advance(min(24, steps - simulation.step))
    return np.array(found)


def case(quick: bool) -> list[cases.Row]:
    """Watch the energy of a closed box."""
    steps = 2000 if quick else 10000
    found = energies(steps)
    drift = found / found[0] - 1
    figure, axis = cases.plt.subplots(figsize=(6, 2.6), layout="constrained")
    axis.plot(200 + 25 * np.arange(found.size), drift, lw=0.8)
    axis.set(xlabel="step", ylabel="E / E(0) - 1", title="Closed box, random medium, float64")
    cases.save(figure, "energy")
    return [cases.Row("energy drift, closed box, random medium", f"{steps} steps",
                      float(np.abs(drift).max()), 1e-12, "", "SW4 1e-14 over 435 steps",
                      "invariant")]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

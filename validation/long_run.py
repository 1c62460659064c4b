"""A million steps after the source has fallen silent: nothing may grow.

A small grid with a free surface on top, absorbing layers on the other faces, a random medium with
30 % variation over a basement of twice the velocity, 0.85 of the largest stable step, float32. The
energy that is left (sum of rho v^2 and of stress^2 / modulus, per unit) is sampled on the way.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cases
import numpy as np
from scipy.ndimage import gaussian_filter

from seismo.scenario import from_dict
from seismo.simulation import Simulation, build

POINTS, SPACING = 41, 10.0


def scenario(folder: Path, steps: int) -> dict:
    """Make the medium and a force near the surface."""
    generator = np.random.default_rng(11)
    part = {"type": "file"}
    for name, mean in (("vp", 3000.0), ("vs", 1300.0), ("rho", 2200.0)):
        path = folder / f"{name}.npy"
        field = gaussian_filter(generator.standard_normal((POINTS, POINTS)), 3.0, mode="wrap")
        np.save(path, mean * (1 + 0.3 * field / np.abs(field).max()))
        part[name] = {"path": str(path), "axes": "zx", "spacing": {"x": SPACING, "z": SPACING},
                      "units": "kg/m3" if name == "rho" else "m/s"}  # fmt: skip
    extent = (POINTS - 1) * SPACING
    return {
        "physics": "elastic", "precision": "float32",
        "grid": {"extent": {"x": extent, "z": extent}, "spacing": SPACING, "order": 8},
        "time": {"duration": steps * 0.9e-3, "step": 0.9e-3},
        "boundaries": {"top": "free_surface"},
        "model": [part, {"type": "block", "z": [200.0, 500.0], "vp": 5200.0, "vs": 3000.0,
                         "rho": 2700.0}],
        "sources": [{"type": "force", "position": {"x": 133.0, "z": 127.0},
                     "force": {"x": 1e6, "z": 1e6},
                     "wavelet": {"type": "ricker", "frequency": 15.0}}],
        "receivers": [cases.points(np.array([[333.0, 22.0]]), ["velocity"])],
    }  # fmt: skip


def size(simulation: Simulation) -> float:
    """Give a positive definite measure of what is on the grid, on the scale of energy [J/m^2]."""
    kinetic = sum(np.sum(simulation.field(n).astype(float) ** 2) for n in ("vx", "vz")) * 2000.0
    stress = sum(np.sum(simulation.field(n).astype(float) ** 2) for n in ("sxx", "szz", "sxz"))
    return float(kinetic + stress / 1e10)


def case(quick: bool) -> list[cases.Row]:
    """Run on and on."""
    steps = 20_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        simulation = build(from_dict(scenario(Path(folder), steps)))
    at, found = [], []
    while simulation.step < steps:
        simulation.advance(min(100 if simulation.step < 3000 else 1000, steps - simulation.step))
        at.append(simulation.step)
        found.append(size(simulation))
    found = np.array(found) / max(found)
    figure, axis = cases.plt.subplots(figsize=(6, 2.8), layout="constrained")
    axis.loglog(at, np.maximum(found, 1e-60), lw=1)
    axis.set(
        xlabel="step",
        ylabel="energy / peak",
        title="Free surface, CPML, random medium on a basement",
    )
    cases.save(figure, "long_run")
    late = int(np.searchsorted(at, min(100_000, steps // 2)))
    return [
        cases.Row("energy left of the peak", f"{at[late]} steps", float(found[late]),
                  1e-9 if not quick else 1e-4, "", "published claims stop at 1e5 steps",
                  "invariant"),
        cases.Row("growth since then", f"{steps} steps",
                  float(found[late:].max() / max(found[late], 1e-300)), 1.01, "",
                  reference="invariant"),
    ]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

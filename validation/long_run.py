"""A million steps after the source has fallen silent: nothing may grow.

Small grids with a free surface on top and, on the other faces, the layers that a run has by
default (12 points); float32, order 8:

* a random medium with 30 % variation over a basement of twice the velocity, at 0.85 of the largest
  stable step;
* sea water over soft sediment over hard rock (vs 0, 350 and 3200 m/s), flat, so that waves are
  guided into the layers, at 0.9 of it. The shortest waves have 4.7 points per wavelength. Much
  shorter ones stand still on a grid: of a source of 10 Hz instead of 3, 0.3 % of the energy is
  left after 100,000 steps. Soil 1:133 softer than the rock below has layers that damp their fields
  from step 2017 on (`seismo.features.guided_waves.guides`), when two fifths of the energy are still
  there. The change leaves stresses that rest in the sediment, and water that circles above it,
  within a row or
  two: 99.8 % of what is left after 30,000 steps does not move. They fade as the innermost points of
  the layers, which damp least, give way: 2e-7 of the peak after 20,000 steps, 6e-8 after 100,000, a
  seventh of that after a million. Layers that damp from the first step on, or never, leave 5e-12
  after 60,000, which is rounding.

A third one is refined above a plane: 120 m of soft ground on rock (vs 500 and 2000 m/s), whose
waves have 5 points in the shortest wavelength. What it keeps after 10,000 steps are waves that soft
ground guides, as much as without the plane.

Energy is summed from velocities, stresses and rocks at the nodes on the way. It falls until only
rounding is left. "Growth" compares its largest values in the last tenth of the run and in the tenth
after 100,000 steps.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cases
import numpy as np
from scipy.ndimage import gaussian_filter

from seismo.scenario import from_dict
from seismo.solver.simulation import Simulation, build

POINTS, SPACING, STEP = 41, 10.0, 0.8e-3
LATE = 100_000
SEA = (
    {"top": 0.0, "vp": 1500.0, "vs": 0.0, "rho": 1000.0},
    {"top": 97.0, "vp": 1700.0, "vs": 350.0, "rho": 1700.0},
    {"top": 163.0, "vp": 5500.0, "vs": 3200.0, "rho": 2700.0},
)

GROUND = (
    {"top": 0.0, "vp": 1500.0, "vs": 500.0, "rho": 1800.0},
    {"top": 120.0, "vp": 3600.0, "vs": 2000.0, "rho": 2400.0},
)
PLANE = {"extent": {"x": 420.0, "z": 780.0}, "refinement": [{"below": 390.0}]}  # of its grid


def random_medium(folder: Path) -> list[dict]:
    """Write and name a random medium over a basement."""
    generator = np.random.default_rng(11)
    part = {"type": "file"}
    for name, mean in (("vp", 3000.0), ("vs", 1300.0), ("rho", 2200.0)):
        path = folder / f"{name}.npy"
        field = gaussian_filter(generator.standard_normal((POINTS, POINTS)), 3.0, mode="wrap")
        np.save(path, mean * (1 + 0.3 * field / np.abs(field).max()))
        part[name] = {"path": str(path), "axes": "zx", "spacing": {"x": SPACING, "z": SPACING},
                      "units": "kg/m3" if name == "rho" else "m/s"}  # fmt: skip
    basement = {"type": "block", "z": [200.0, 500.0], "vp": 5200.0, "vs": 3000.0, "rho": 2700.0}
    return [part, basement]


def scenario(model: list[dict], frequency: float, steps: int, grid: dict) -> dict:
    """Put a force near the surface."""
    extent = (POINTS - 1) * SPACING
    return {
        "physics": "elastic", "precision": "float32",
        "grid": {"extent": {"x": extent, "z": extent}, "spacing": SPACING, "order": 8}
        | grid,
        "time": {"duration": steps * STEP, "step": STEP},
        "boundaries": {"top": "free_surface"},
        "model": model,
        "sources": [{"type": "force", "position": {"x": 133.0, "z": 127.0},
                     "force": {"x": 1e6, "z": 1e6},
                     "wavelet": {"type": "ricker", "frequency": frequency}}],
        "receivers": [cases.points(np.array([[333.0, 22.0]]), ["velocity"])],
    }  # fmt: skip


class Energy:
    """The energy on a grid [J/m], to the error of taking all fields at the nodes.

    Of plane strain, per area: rho v^2 / 2 + p^2 / (2 (lambda + mu)) + (d^2 + sxz^2) / (2 mu), with
    p = (sxx + szz) / 2, d = (sxx - szz) / 2; without the last part in a fluid.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, discretization = simulation, simulation.discretization
        grid = discretization.grid
        z, x = (grid.coordinate(a, np.arange(grid.points["xyz".index(a)]))
                for a in "zx")  # fmt: skip
        rock = discretization.earth.sample(z[:, None], None, x[None, :])
        self.rho, mu = rock["rho"], rock["rho"] * rock["vs"] ** 2
        self.area = self.rho * rock["vp"] ** 2 - mu
        self.compliance = np.divide(1.0, mu, out=np.zeros_like(mu), where=mu > 0.0)

    def __call__(self) -> float:
        """Give it as the last step left it."""
        vx, vz, sxx, szz, sxz = (
            self.simulation.field(n)[0, :, 0].astype(float)
            for n in ("vx", "vz", "sxx", "szz", "sxz")
        )
        density = self.rho * (vx**2 + vz**2) + (0.5 * (sxx + szz)) ** 2 / self.area
        density += self.compliance * ((0.5 * (sxx - szz)) ** 2 + sxz**2)
        return float(0.5 * SPACING**2 * np.sum(density))


def follow(
    model: list[dict], frequency: float, steps: int, grid: dict
) -> tuple[np.ndarray, np.ndarray]:
    """Run, and give steps and energies over their peak."""
    simulation = build(from_dict(scenario(model, frequency, steps, grid)))
    energy, at, found = Energy(simulation), [], []
    while simulation.step < steps:
        simulation.advance(min(100 if simulation.step < 3000 else 1000, steps - simulation.step))
        at.append(simulation.step)
        found.append(energy())
    return np.array(at), np.array(found) / max(found)


def case(quick: bool) -> list[cases.Row]:
    """Run on and on."""
    steps, rows = 20_000 if quick else 1_000_000, []
    late = min(LATE, steps // 2)
    figure, axis = cases.subplots(figsize=(6, 3.2))
    with tempfile.TemporaryDirectory() as folder:
        for name, model, frequency, bar, grid in (
            ("random medium on a basement", random_medium(Path(folder)), 15.0, 1e-9, {}),
            ("water, soft sediment, hard rock", [{"type": "layers", "layers": list(SEA)}], 3.0,
             2e-7, {}),  # what rests, three times
            ("soft ground, refined above a plane", [{"type": "layers", "layers": list(GROUND)}],
             4.0, 1e-7, PLANE),
        ):  # fmt: skip
            at, left = follow(model, frequency, steps, grid)
            axis.loglog(at, np.maximum(left, 1e-60), lw=1, label=name)
            then = left[(at >= late) & (at < late + steps // 10)].max()
            rows += [
                cases.Row(f"{name}: energy left of the peak", f"{late} steps", float(then),
                          bar if not quick else 1e-4, "", "published claims stop at 1e5 steps",
                          "invariant"),
                cases.Row(f"{name}: growth since then", f"{steps} steps",
                          float(left[at > steps - steps // 10].max() / max(then, 1e-300)), 1.01, "",
                          reference="invariant"),
            ]  # fmt: skip
    axis.set(
        xlabel="step", ylabel="energy / peak", title="Free surface and absorbing layers, float32"
    )
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
    cases.save(figure, "long_run")
    return rows


if __name__ == "__main__":
    cases.main(case)

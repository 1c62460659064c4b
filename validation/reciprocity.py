"""Reciprocity in a random medium under a free surface, with absorbing layers.

The i-component at A of a force along j at B equals the j-component at B of a force along i at A,
exactly so in the discrete equations, because sources are the transpose of receivers and the
operators at the surface are each other's adjoint. Layers' memory included.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cases
import numpy as np

POINTS, SPACING = 71, 10.0
A, B = np.array([123.4, 3.7]), np.array([571.2, 402.9])


def random_medium(folder: Path, seed: int = 5) -> list[dict]:
    """Write vp, vs and rho that vary by some 30 % from node to node, and name them."""
    generator = np.random.default_rng(seed)
    part = {"type": "file"}
    for name, mean in (("vp", 3000.0), ("vs", 1300.0), ("rho", 2200.0)):
        path = folder / f"{name}.npy"
        np.save(path, mean * (1 + 0.3 * generator.uniform(-1, 1, (POINTS, POINTS))))
        part[name] = {"path": str(path), "axes": "zx", "spacing": {"x": SPACING, "z": SPACING},
                      "units": "kg/m3" if name == "rho" else "m/s"}  # fmt: skip
    return [part]


def motion(model: list[dict], precision: str, source, receiver, force: dict, component: str):
    """Run one force and give one component of velocity elsewhere."""
    extent = (POINTS - 1) * SPACING
    run = cases.simulate({
        "physics": "elastic", "precision": precision,
        "grid": {"extent": {"x": extent, "z": extent}, "spacing": SPACING, "order": 8},
        "time": {"duration": 1.5}, "boundaries": {"top": "free_surface"}, "model": model,
        "sources": [{"type": "force", "position": cases.place(source), "force": force,
                     "wavelet": {"type": "ricker", "frequency": 8.0}}],
        "receivers": [cases.points(receiver, ["velocity"])],
    })  # fmt: skip
    return run.traces[component][0]


def case(quick: bool) -> list[cases.Row]:
    """Exchange source and receiver."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model = random_medium(Path(folder))
        for precision, bar in (("float64", 1e-10), ("float32", 1e-4)):
            worst = 0.0
            for i, j in (("x", "z"), ("z", "z"), ("x", "x"), ("z", "x"))[: 1 if quick else 4]:
                along = {"x": {"x": 1.0, "z": 0.0}, "z": {"x": 0.0, "z": 1.0}}
                there = motion(model, precision, A, B, along[i], f"v{j}")
                back = motion(model, precision, B, A, along[j], f"v{i}")
                worst = max(worst, float(np.linalg.norm(there - back) / np.linalg.norm(there)))
            rows.append(cases.Row(f"reciprocity, random medium, free surface, CPML, {precision}",
                                  "4 component pairs", worst, bar, "", "Devito 1e-11 (fp64)",
                                  "invariant"))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

"""Reciprocity in random media under a free surface, with absorbing layers.

The i-component at A of a force along j at B equals the j-component at B of a force along i at A,
exactly so in the discrete equations, because sources are the transpose of receivers and the
operators at the surface are each other's adjoint. Layers' memory included. The media are isotropic,
and of a tilted axis of symmetry (TTI) that points anywhere from node to node. In layers, whose
stretching changes between the points that tilted rock couples, that holds to what layers reflect.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cases
import numpy as np

POINTS, SPACING = 71, 10.0
ISOTROPIC = {"vp": (2100.0, 3900.0), "vs": (910.0, 1690.0), "rho": (1540.0, 2860.0)}
TILTED = ISOTROPIC | {"epsilon": (0.1, 0.25), "delta": (0.0, 0.1), "theta": (-180.0, 180.0)}
MEDIA = (  # name, limits of its parameters, kind of all faces but the top, bars by precision
    ("random medium, free surface, CPML", ISOTROPIC, "absorbing",
     {"float64": 1e-10, "float32": 1e-4}),
    ("random TTI medium, free surface, rigid sides", TILTED, "rigid", {"float64": 1e-10}),
    ("random TTI medium, free surface, CPML", TILTED, "absorbing", {"float64": 2e-3}),
)  # fmt: skip
A, B = np.array([123.4, 3.7]), np.array([571.2, 402.9])


def random_medium(
    folder: Path, limits: dict[str, tuple[float, float]], seed: int = 5
) -> list[dict]:
    """Write parameters that vary between limits from node to node, and name their files."""
    generator = np.random.default_rng(seed)
    part = {"type": "file"}
    for name, (low, high) in limits.items():
        path = folder / f"{name}.npy"
        np.save(path, generator.uniform(low, high, (POINTS, POINTS)))
        part[name] = {"path": str(path), "axes": "zx", "spacing": {"x": SPACING, "z": SPACING}}
    return [part]


def motion(
    medium: dict, precision: str, source: np.ndarray, receiver: np.ndarray, force: dict,
    component: str,
) -> np.ndarray:  # fmt: skip
    """Run one force and give one component of velocity (time) elsewhere."""
    extent = (POINTS - 1) * SPACING
    run = cases.simulate({
        "physics": "elastic", "precision": precision,
        "grid": {"extent": {"x": extent, "z": extent}, "spacing": SPACING, "order": 8},
        "time": {"duration": 1.5}, **medium,
        "sources": [{"type": "force", "position": cases.place(source), "force": force,
                     "wavelet": {"type": "ricker", "frequency": 8.0}}],
        "receivers": [cases.points(receiver, ["velocity"])],
    })  # fmt: skip
    return run.traces[component][0]


def case(quick: bool) -> list[cases.Row]:
    """Exchange source and receiver."""
    rows = []
    for name, limits, sides, bars in MEDIA:
        boundaries = {"top": "free_surface"} | dict.fromkeys(("x_min", "x_max", "bottom"), sides)
        for precision, bar in bars.items():
            with tempfile.TemporaryDirectory() as folder:
                medium = {"model": random_medium(Path(folder), limits), "boundaries": boundaries}
                worst = largest_difference(medium, precision, quick)
            rows.append(cases.Row(f"reciprocity, {name}, {precision}", "4 component pairs", worst,
                                  bar, "", "Devito 1e-11 (fp64)", "invariant"))  # fmt: skip
    return rows


def largest_difference(medium: dict, precision: str, quick: bool) -> float:
    """Return by how much traces differ from those of source and receiver exchanged."""
    worst = 0.0
    for i, j in (("x", "z"), ("z", "z"), ("x", "x"), ("z", "x"))[: 1 if quick else 4]:
        along = {"x": {"x": 1.0, "z": 0.0}, "z": {"x": 0.0, "z": 1.0}}
        there = motion(medium, precision, A, B, along[i], f"v{j}")
        back = motion(medium, precision, B, A, along[j], f"v{i}")
        worst = max(worst, float(np.linalg.norm(there - back) / np.linalg.norm(there)))
    return worst


if __name__ == "__main__":
    cases.main(case)

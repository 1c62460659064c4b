"""Scenarios with sources and receivers on subdomain boundaries, at corners and in halos."""

from pathlib import Path

import solver
from seismo.equations.framework.registry import physics_for
from test_resume import SCENARIO

CUTS = {
    2: {2: [(2, 1), (4, 1)], 3: [(3, 1)], 4: [(4, 1)]},
    3: {2: [(1, 2)], 3: [(3, 1), (2, 2)], 4: [(2, 2), (1, 4)]},
}
HALOS = (0, 1 << 60)  # `Backend.copied_from`: copied from field to field, packed
CELLS = {2: (22, 37), 3: (14, 28, 31)}
# Water over rock: cuts across a contact, whose rows need corners. Maps, planes, shots in batches.
VOLUME = SCENARIO | {
    "grid": {"extent": {"x": 120.0, "y": 200.0, "z": 210.0}, "spacing": 10.0, "order": 4},
    "time": {"duration": 0.06, "step": 0.002},
    "sources": [SCENARIO["sources"][0] | {"position": {"x": 53.0, "y": 101.0, "z": 98.0}}],
    "survey": {"shots": [{"position": {"x": 53.0, "y": y, "z": 98.0}} for y in (40.0, 101.0, 99.0)],
               "batch": 2},
    "receivers": [{"type": "grid", "name": "volume", "quantities": ["velocity", "rotation"],
                   "x": [0.0, 120.0, 2], "y": [2.0, 200.0, 3], "z": [0.0, 210.0, 3]}],
    "output": {"snapshots": [
                   {"name": "volume", "fields": ["velocity", "sxx"], "interval": 0.018,
                    "decimate": 2},
                   {"name": "plane", "fields": ["szz"], "steps": 7, "plane": {"z": 60.0}}],
               "maps": [{"quantities": ["pgv", "pga"], "plane": {"z": 0.0}}]},
}  # fmt: skip
del VOLUME["checkpoint"]


def case(name: str, dimensions: int, base: Path, **faces: str) -> dict:
    """Give a scenario in a random medium with sources and receivers on the cuts in the middle."""
    physics, cells = physics_for(name, dimensions), CELLS[dimensions]
    document = solver.plan(
        name, dimensions, cells=cells, steps=30, random_medium=base,
        boundaries=solver.faces(dimensions, **faces or {"top": "free_surface", "x_max": "rigid"}),
    )  # fmt: skip
    spots = [[0.5 * n + shift for n in cells] for shift in (-2.3, -0.5, 0.0, 0.7, 1.5)]
    spots += [[0.3 * cells[0], *(end * n for n in cells[1:])] for end in (0, 1)]
    places = [solver.place(dimensions, spot) for spot in spots]
    document["sources"] = [
        solver.source(physics, kind, places[2 + k]) for k, kind in enumerate(physics.drives)
    ]
    document["receivers"] = [solver.points(places, quantities=solver.quantities(physics))]
    return document

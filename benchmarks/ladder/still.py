"""A run from rest that updates all points in each of its steps.

What is wrong with it: until the waves arrive a point is 0 before an update and after it. (The
product updates the box that the fastest waves of the sources can have reached, in a dozen phases.)
"""

from __future__ import annotations

from ladder.stand import Stand, difference, layered, run_of
from ladder.surveys import records
from ladder.worth import Side, Worth
from seismo.runs.tools.bench import cases
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation


def crossing(points: int) -> dict:
    """Return a scenario of a volume that waves cross from one side to the other, and no longer."""
    scenario = layered("acoustic", 3, 8, points)
    place = scenario["sources"][0]["position"]
    side = {a: 0.1 * length for a, length in place.items()}
    duration = cases.SPACING * points / cases.LOWER["vp"]
    return scenario | {
        "sources": [scenario["sources"][0] | {"position": side}],
        "time": {"duration": duration, "step": cases.STEP},
    }


def measure(stand: Stand) -> Worth:
    """Compare runs that update all points with runs that update what may move."""
    discretization = discretize(from_dict(crossing(stand.scale.space)))
    sides, answers = [], []
    for name, from_rest in (("all points", False), ("what may move", True)):
        simulation = Simulation(discretization, stand.backend, from_rest=from_rest)
        simulation.advance(simulation.total_steps)
        answers.append(records(simulation))
        seconds = stand.repeats(run_of(simulation, part=simulation.total_steps), stand.backend.wait)
        updates = simulation.points * simulation.total_steps / 1e9
        sides.append(Side.speed(name, updates, seconds))
        del simulation
    n = stand.scale.space
    return Worth(
        f"acoustic 3-D, order 8, {n}^3 and layers, until waves have crossed it",
        "Gpoint/s of all points", tuple(sides), difference(answers[0], answers[1]),
    )  # fmt: skip

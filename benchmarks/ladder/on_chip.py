"""Shots of elastic waves in a plane, whose every stage of a step is a launch of its own.

What is wrong with it: between two launches fields go out to the memory of the card and come back,
twice in each step, and a small plane is over before the next launch has begun. (The product
steps such a plane within one kernel: the multiprocessors of a cluster keep its fields in their
shared memory from step to step, and send one another the rows that neighbours read.)
"""

from __future__ import annotations

from typing import Any

from ladder.stand import Stand, difference, layered, run_of, simulate
from ladder.surveys import records
from ladder.worth import Side, Worth
from seismo.runs.tools.bench import cases

STEPS = 96


def survey(points: int, shots: int) -> dict[str, Any]:
    """Return a scenario of shots along a line, all in one batch."""
    scenario = layered("elastic", 2, 4, points)
    place = scenario["sources"][0]["position"]
    spots = [
        {"position": place | {"x": cases.SPACING * (points // 4 + 2 * n)}} for n in range(shots)
    ]
    return scenario | {"survey": {"shots": spots, "batch": shots}}


def measure(stand: Stand) -> Worth:
    """Compare steps by launches with steps in clusters, and what they record."""
    n, shots = stand.scale.small, 4 * stand.scale.shots
    sides, answers = [], []
    for name, in_clusters in (("a launch for each stage", False), ("in clusters", True)):
        backend: Any = stand.choice.make("float32")
        backend.in_clusters = in_clusters
        simulation = simulate(backend, survey(n, shots), STEPS)
        simulation.advance(simulation.total_steps)
        answers.append(records(simulation))
        seconds = stand.repeats(run_of(simulation, part=simulation.total_steps), backend.wait)
        updates = simulation.points * simulation.total_steps / 1e9
        sides.append(Side.speed(name, updates, seconds))
    return Worth(
        f"{shots} shots of elastic 2-D, order 4, {n}^2 and layers", "Gpoint/s", tuple(sides),
        difference(answers[0], answers[1]),
    )  # fmt: skip

"""Small shots of a survey: one after the other, each in a stream of its own, and in one batch.

What is wrong with one after the other: a grid of 300^2 points has work for a third of the card, and
a step is over before the next one is started. Streams fill it with several shots; but each brings
its own launches. (The product makes them one more dimension of the same launches.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ladder.stand import Stand, difference, layered, run_of, simulate
from ladder.worth import Side, Worth
from seismo.runs.tools.bench import cases

STEPS = 96


def survey(points: int, shots: int, batch: int | str) -> dict:
    """Give a scenario with shots along a line."""
    scenario = layered("acoustic", 2, 8, points)
    place = scenario["sources"][0]["position"]
    first = points // 4
    spots = [{"position": place | {"x": cases.SPACING * (first + 2 * n)}} for n in range(shots)]
    return scenario | {"survey": {"shots": spots, "batch": batch}}


def records(simulation: Any) -> np.ndarray:
    """Give all that a batch has recorded, (shot, receiver, step)."""
    groups, physics = simulation.discretization.groups, simulation.discretization.physics
    names = [(g.name, c) for g in groups for _, _, c in g.components(physics).values()]
    every = [
        [simulation.recorder.raw(shot, *name) for name in names]
        for shot in range(simulation.discretization.batch)
    ]
    return np.array(every)


def measure(stand: Stand) -> Worth:
    """Compare shots one by one, in streams, and in a batch."""
    from ladder.streams import Graphs, on

    n, shots = stand.scale.small, stand.scale.shots
    batch = simulate(stand.backend, survey(n, shots, shots), STEPS)
    batch.advance(batch.total_steps)
    wanted = records(batch)
    alone = simulate(stand.backend, survey(n, shots, 1), STEPS)
    found, every = [], alone.discretization.shots
    for shot in every:
        alone.load([shot])
        alone.advance(alone.total_steps)
        found.append(records(alone)[0])
    off = difference(np.array(found), wanted)
    lines = [simulate(on(Graphs, stand.backend), survey(n, shots, 1), STEPS) for _ in every]

    def wait_for_all() -> None:
        for one in lines:
            one.backend.wait()

    updates = batch.points * batch.total_steps / 1e9
    sides = (
        ("one after the other", shots * stand.seconds(run_of(alone), alone.backend.wait)),
        ("each in a stream of its own", stand.seconds(run_of(*lines), wait_for_all)),
        ("in one batch", stand.seconds(run_of(batch), batch.backend.wait)),
    )
    return Worth(
        f"{shots} shots of acoustic 2-D, order 8, {n}^2 and layers", "Gpoint/s",
        tuple(Side(name, updates / seconds) for name, seconds in sides), off,
    )  # fmt: skip


def batches(stand: Stand) -> Worth:
    """Measure the speed by the number of shots in a batch, and what `auto` takes."""
    n, most = stand.scale.small, 4 * stand.scale.shots
    sizes = [2**k for k in range(most.bit_length()) if 2**k <= most]
    curve, first = [], {}
    for batch in [*sizes, "auto"]:
        simulation = simulate(stand.backend, survey(n, most, batch), STEPS)
        simulation.advance(simulation.total_steps)
        first[batch] = records(simulation)[0]
        seconds = stand.seconds(run_of(simulation), stand.backend.wait)
        speed = simulation.points * simulation.total_steps / seconds / 1e9
        curve.append((simulation.discretization.batch, speed))
        del simulation
    taken, speed = curve.pop()
    return Worth(
        f"{most} shots of acoustic 2-D, order 8, {n}^2 and layers", "Gpoint/s",
        (Side("one shot at a time", curve[0][1]), Side(f"auto: {taken} shots together", speed)),
        difference(first[1], first["auto"]), tuple(curve), "shots in a batch",
    )  # fmt: skip

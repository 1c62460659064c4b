"""Steps that nobody looks at.

What is wrong: nothing is known. A run may be waiting for the disk, its card may be slowed down by
heat, or busy with layers instead of waves, and nobody tunes what nobody has measured. (The product:
`--profile` writes where the time goes, and every run keeps how fast it was and how the card was.
What that costs is measured here.)
"""

from __future__ import annotations

import time

from ladder.stand import Stand, difference, layered, run_of, simulate
from ladder.worth import Side, Worth
from seismo.backends.timeline import GROUPS, Profiled, Timeline
from seismo.runs.loop.time_loop import REPORT_EVERY

STEPS = 510  # ten that go group by group
LONG = 1.0  # s: of several samples


def profile(stand: Stand) -> Worth:
    """Compare steps with and without a profile."""
    n, timeline = stand.scale.elastic, Timeline()
    document, found = layered("acoustic", 3, 8, n), []
    for backend in (stand.backend, Profiled(stand.backend, timeline)):
        simulation = simulate(backend, document, STEPS)
        simulation.advance(simulation.total_steps)
        answer, run = simulation.field("p"), run_of(simulation, part=STEPS)
        updates = simulation.points * simulation.total_steps / 1e9
        found.append((answer, updates / stand.seconds(run, stand.backend.wait)))
        del simulation
    (wanted, plain), (answer, profiled) = found
    groups = timeline.seconds(GROUPS)
    parts = ", ".join(f"{name} {s / sum(groups.values()):.0%}" for name, s in groups.items())
    cost = 1 - profiled / plain
    return Worth(
        f"acoustic 3-D, order 8, {n}^3 and layers", "Gpoint/s",
        (Side("nobody looks", plain), Side("with a profile", profiled)),
        difference(answer, wanted),
        said=f"costs {max(0.0, cost):.1%} of the speed, and tells where a step goes: {parts}",
    )  # fmt: skip


def telemetry(stand: Stand) -> Worth:
    """Compare steps with and without samples of the device, as often as a run takes them."""
    n = stand.scale.elastic
    simulation = simulate(stand.backend, layered("acoustic", 3, 8, n), STEPS)
    run, speeds, answers = run_of(simulation), [], []
    health = stand.backend.health()  # the first one loads a library
    for sampled in (False, True):
        simulation.load(simulation.discretization.shots)
        run(1)
        stand.backend.wait()
        answers.append(simulation.field("p"))
        begin = due = time.perf_counter()
        count = 0
        while time.perf_counter() - begin < LONG * bool(stand.scale.seconds) or not count:
            run(1)
            stand.backend.wait()
            count += simulation.total_steps
            if sampled and time.perf_counter() > due:
                due = time.perf_counter() + REPORT_EVERY
                health = stand.backend.health()
        speeds.append(simulation.points * count / (time.perf_counter() - begin) / 1e9)
    cost, told = 1 - speeds[1] / speeds[0], ", ".join(f"{k} {v:.3g}" for k, v in health.items())
    return Worth(
        f"acoustic 3-D, order 8, {n}^3 and layers", "Gpoint/s",
        (Side("nobody looks", speeds[0]), Side("sampled five times a second", speeds[1])),
        difference(*answers), said=f"costs {max(0.0, cost):.1%} of the speed, and tells: {told}",
    )  # fmt: skip

"""Fields, model and layers of acoustic waves in 16 bits, beside those in 32.

What is wrong with 32 bits: nothing, but that a kernel which waits for memory takes as long as its
bytes do, 16 of a point and step instead of 10. Each step rounds what it stores in 16, so that the
answers differ by noise, not by rounding once. (The product does it where it is asked for, with
`precision: float16`, and computes in 32 bits.)
"""

from __future__ import annotations

from ladder.stand import Stand, difference, layered, run_of, simulate
from ladder.worth import Side, Worth

STEPS = 96


def measure(stand: Stand) -> Worth:
    """Compare the steps of a volume, and its fields after some of them."""
    n = stand.scale.space
    sides, answers = [], []
    for precision in ("float32", "float16"):
        document = layered("acoustic", 3, 8, n, precision=precision)
        simulation = simulate(stand.choice.make(precision), document, STEPS)
        simulation.advance(simulation.total_steps)
        answers.append(simulation.field("p"))
        seconds = stand.repeats(
            run_of(simulation, part=simulation.total_steps), simulation.backend.wait
        )
        updates = simulation.points * simulation.total_steps / 1e9
        sides.append(Side.speed(precision, updates, seconds))
        del simulation
    gain = sides[1].value / sides[0].value
    noise = difference(answers[1], answers[0])
    return Worth(
        f"acoustic 3-D, order 8, {n}^3 and layers", "Gpoint/s", tuple(sides), None,
        said=f"{gain:.2f} times faster; noise of {noise:.1%} of the field after {STEPS} steps",
    )  # fmt: skip

"""A clock that stops when the steps are launched.

What is wrong: launching returns at once, the card goes on. The speed is the speed of handing out
work. (Every timing of the product waits for the card, or uses its events.)
"""

from __future__ import annotations

import time

from ladder.stand import Stand, timed
from ladder.worth import Side, Worth

STEPS = 64


def measure(stand: Stand) -> Worth:
    """Compare what both clocks say; the second is right."""
    interior = stand.space
    take, wait = interior.backend.program(interior.steps(interior.product)), interior.backend.wait
    take(0, STEPS)
    wait()
    begin = time.perf_counter()
    take(0, STEPS)
    claimed = time.perf_counter() - begin
    wait()
    true = timed(lambda n: take(0, n), wait, STEPS)
    sides = (Side("without waiting", 1e3 * claimed), Side("waiting for the card", 1e3 * true))
    n, said = stand.scale.space, f"the first clock is wrong, by a factor of {true / claimed:.0f}"
    return Worth(f"{STEPS} steps of acoustic 3-D, order 8, {n}^3", "ms", sides, 0.0, said=said)

"""Differences between what was recorded and what is found now.

Bits depend on the processor that Numba compiles for, and on the versions of what computes. Where
these differ from the recorded ones, hashes are left out, numbers are compared to `ELSEWHERE`, and
texts but for their digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

HERE = 1e-9  # relative: numbers are recorded to 10 digits
ELSEWHERE = 1e-5
BITS = {"traces_sha256", "sha256"}


def differences(recorded: Any, found: Any, same_machine: bool, at: str = "") -> Iterator[str]:
    """Return a line for each value that differs."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in sorted(recorded.keys() | found.keys()):
            where = f"{at}: {key}" if at else key
            if not same_machine and key in BITS:
                continue
            if key not in found:
                yield f"{where}: is gone"
            elif key not in recorded:
                yield f"{where}: is new"
            else:
                yield from differences(recorded[key], found[key], same_machine, where)
    elif isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found):
            yield f"{at}: {len(recorded)} entries are {len(found)} now"
        for number, pair in enumerate(zip(recorded, found, strict=False)):
            yield from differences(*pair, same_machine, f"{at}[{number}]")
    elif not are_equal(recorded, found, same_machine, at):
        yield f"{at}: {recorded!r} is {found!r} now"


def are_equal(recorded: Any, found: Any, same_machine: bool, at: str) -> bool:
    """Whether two plain values are the same, as far as they can be."""
    numbers = (int, float)
    if isinstance(recorded, numbers) and isinstance(found, numbers):
        if same_machine:
            return math.isclose(recorded, found, rel_tol=HERE)
        # But for norms, what is next to nothing is the rounding error of a difference.
        least = 0.0 if "norms: " in at else HERE
        return math.isclose(recorded, found, rel_tol=ELSEWHERE, abs_tol=least)
    if isinstance(recorded, str) and isinstance(found, str) and not same_machine:
        recorded, found = (re.sub(r"[\d.]+", "#", text) for text in (recorded, found))
    return recorded == found

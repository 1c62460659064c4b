"""Kernels compiled anew by each run.

What is wrong: a run of a minute begins with seconds of compiling what the last one had. (The
product keeps the code on disk, under a key of all that goes into it.)
"""

from __future__ import annotations

import os
import tempfile
import time
from unittest.mock import patch

from ladder.stand import Stand, difference, layered, simulate
from ladder.worth import Side, Worth

STEPS = 16


def measure(stand: Stand) -> Worth:
    """Compare the first steps of two runs, with nothing kept and with all of it."""
    from ladder.streams import Graphs, on

    document = layered("acoustic", 2, 8, stand.scale.small + 1)
    seconds, answers = [], []
    with tempfile.TemporaryDirectory() as empty, patch.dict(os.environ, SEISMO_CACHE_DIR=empty):
        for _ in range(2):
            backend = on(Graphs, stand.backend)
            begin = time.perf_counter()
            simulation = simulate(backend, document, STEPS)
            simulation.advance(simulation.total_steps)
            backend.wait()
            seconds.append(time.perf_counter() - begin)
            answers.append(simulation.field("p"))
    names = ("nothing kept", "kernels kept on disk")
    sides = tuple(Side(name, s) for name, s in zip(names, seconds, strict=True))
    return Worth("from the scenario to the first steps", "s", sides, difference(*answers))

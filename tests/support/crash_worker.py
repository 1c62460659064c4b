"""A process that runs scenarios in children, and kills them or fills their disk.

Started once, so that a child costs neither Python nor its packages; each order is a line of JSON on
standard input: `scenario` (a file), `output`, and what shall happen.

    at: the child dies (SIGKILL) just before this operation on files, counted from 0
    after: it is killed after so many seconds
    full: from this operation on the disk is full
    first: this process itself runs the scenario; its children find kernels loaded, and what the
        scenario comes down to
"""

import errno
import json
import os
import signal
import sys
import time

import seismo.runs.run
from seismo.errors import SeismoError
from seismo.runs.prediction import assess as assessment
from seismo.runs.resources.placement import UnplacedRun

CHANGING = ("pwrite", "ftruncate", "fsync", "mkdir", "replace", "unlink", "rmdir")
FILLING = ("pwrite", "ftruncate", "mkdir")  # what a full disk refuses


def arm(order: dict, counted: list[str]) -> None:
    """Count the operations on files, and let one of them be the last."""

    def watched(name: str, real):
        def call(*arguments, **keys):
            number = len(counted)
            counted.append(name)
            if number == order.get("at"):
                os.kill(os.getpid(), signal.SIGKILL)
            if name in FILLING and number >= order.get("full", number + 1):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **keys)

        return call

    for name in CHANGING:
        setattr(os, name, watched(name, getattr(os, name)))


def live(order: dict, tell: int) -> int:
    """Run a scenario; tell of the first step and of every checkpoint."""
    counted: list[str] = []
    arm(order, counted)

    def report(progress) -> None:
        if progress.phase in ("step", "checkpoint"):
            os.write(tell, f"{progress.phase} {progress.step}\n".encode())

    try:
        seismo.runs.run.run(order["scenario"], order["output"], report, resume=True)
        code = 0
    except SeismoError as error:
        os.write(tell, f"said {error}\n".encode())
        code = error.exit_code
    os.write(tell, f"operations {len(counted)}\n".encode())
    return code


def remember_discretizations() -> None:
    """Discretize a scenario once, and assess it once."""
    known: dict = {}
    found: dict = {}
    discretized, assess = UnplacedRun.discretized, assessment.assess

    def discretize_once(unplaced: UnplacedRun, *arguments):
        key = unplaced.scenario.to_yaml()
        if key not in known:
            known[key] = discretized(unplaced, *arguments)
        unplaced.known = known[key]
        return unplaced.known

    def assess_once(discretization):
        key = discretization.scenario.to_yaml()
        if key not in found:
            found[key] = assess(discretization)
        return found[key]

    UnplacedRun.discretized = discretize_once
    assessment.assess = assess_once


def obey(order: dict) -> dict:
    """Start a child and see what becomes of it."""
    if order.get("first"):
        seismo.runs.run.run(order["scenario"], order["output"], resume=False).close()
        return {"code": 0, "lines": []}
    heard, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(heard)
        sys.exit(live(order, tell))  # as any process ends: HDF5 may crash there
    os.close(tell)
    with os.fdopen(heard) as stream:
        if "after" in order:
            time.sleep(order["after"])
            os.kill(child, signal.SIGKILL)
        lines = stream.read().splitlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"code": status, "lines": lines}


if __name__ == "__main__":
    if "--remember" in sys.argv:
        remember_discretizations()
    for line in sys.stdin:
        print(json.dumps(obey(json.loads(line))), flush=True)

"""Work of one MPI rank in a test; started by mpiexec, with its orders as JSON in a file.

cases     run each scenario on the first so many ranks, and store what the first gathers of it
command   run the command line; `failing` or `dying` is the rank that does so after some steps;
          `stuck` ranks never leave MPI; trial runs of the rank `deciding` ask for other layers
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from seismo.backends.communicator import (
    MpiCommunicator,
    SerialCommunicator,
    join,
)
from seismo.backends.cpu.backend import CpuBackend
from seismo.cli import main
from seismo.scenario import from_dict
from seismo.solver import discretize as discretizing
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.medium.field_damping import LayerDamping
from seismo.solver.simulation import Simulation

SOON = 8  # steps


def outcome(
    discretization: Discretization, parts, ranks: SerialCommunicator, make=CpuBackend
) -> dict[str, np.ndarray] | None:
    """Run a scenario, and give what `records_and_fields` gives."""
    backend = make(discretization.scenario.precision)
    simulation = Simulation(discretization, backend, parts and tuple(parts), ranks)
    simulation.advance(7)
    simulation.advance(simulation.total_steps - 7)
    return records_and_fields(simulation, ranks)


def records_and_fields(
    simulation: Simulation, ranks: SerialCommunicator
) -> dict[str, np.ndarray] | None:
    """Give every record, and fields that all points have, of every shot; None but on rank 0."""
    discretization, found = simulation.discretization, {}
    for shot in range(discretization.batch):
        for group in discretization.groups:
            for _, _, component in group.components(discretization.physics).values():
                raw = simulation.recorder.raw(shot, group.name, component)
                found[f"{shot}.{group.name}.{component}"] = raw
    kept = [f for f in discretization.physics.fields if f.buffer is None and not f.on_surface]
    for field in kept:
        own = [(box, np.array(view[...])) for box, view in simulation.views(field.name)]
        pieces = ranks.gather(own)
        if pieces is not None:
            nx, ny, nz = discretization.grid.points
            whole = np.full((discretization.batch, nz, ny, nx), np.nan)
            for box, values in (piece for some in pieces for piece in some):
                (_, y0, z0), (_, y1, z1) = box.lo, box.hi
                whole[:, z0:z1, y0:y1] = values
            found[field.name] = whole
    return found if ranks.first else None


class Some:
    """The module `mpi4py.MPI`, whose world is another communicator."""

    def __init__(self, mpi, world) -> None:
        self._mpi, self.COMM_WORLD = mpi, world

    def __getattr__(self, name: str):
        """Return what the module has."""
        return getattr(self._mpi, name)


def cases(orders: dict) -> None:
    """Run those of most ranks first; who has no more to do sleeps, since MPI's waiting is busy."""
    from mpi4py import MPI

    everyone = MPI.COMM_WORLD
    counts = range(everyone.size, 1, -1)
    worlds = {count: everyone.Split(everyone.rank >= count) for count in counts}
    for count in counts:
        if everyone.rank >= count:
            break
        ranks = MpiCommunicator(Some(MPI, worlds[count]))
        for name, (document, base, many, parts) in orders["cases"].items():
            found = None
            if many == count:
                found = outcome(discretize(from_dict(document, base)), parts, ranks)
            if found is not None:
                np.savez(Path(orders["into"]) / f"{name}.npz", **found)
    here = everyone.Ibarrier()
    while not here.Test():
        time.sleep(0.01)


def command(orders: dict) -> None:
    number, advance = join().number, Simulation.advance
    due = [orders.get("soon", SOON)]

    def trapped(simulation, steps: int) -> None:
        if due and simulation.step + steps > due[0]:
            due.clear()
            if number == orders.get("failing"):
                raise RuntimeError("the mast broke")
            if number == orders.get("dying"):
                os.kill(os.getpid(), signal.SIGKILL)
            if number == orders.get("stopping"):
                os.kill(os.getpid(), signal.SIGTERM)
            if number == orders.get("spoiling"):
                simulation.solvers[0].fields.wavefield["vx"][:] = np.nan
        advance(simulation, steps)

    Simulation.advance = trapped
    if number == orders.get("deciding"):
        discretizing.field_damping = lambda *run: LayerDamping(0.02, 0.02, 0.02)
    if orders.get("stuck"):
        sys.modules["mpi4py.MPI"].Finalize = lambda: time.sleep(1000)
    main(orders["command"])


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text())
    {"cases": cases, "command": command}[given["what"]](given)

"""Vector-Jacobian product of a run: from derivatives by traces to those by the model.

Forward runs of batches of shots are kept while there is memory for all of them
(`seismo.inversion.adjoint.snapshots`); others are run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.inversion.adjoint.extent import in_extent, on_grid
from seismo.inversion.adjoint.gradient import Gradient
from seismo.inversion.adjoint.residuals import residuals_of
from seismo.inversion.adjoint.run import Residuals
from seismo.inversion.adjoint.snapshots import KeptRun, SnapshotPlan, allowed_memory
from seismo.inversion.models import ParameterArrays, load_model
from seismo.inversion.refusals import refuse_fluids
from seismo.solver.discretization import Discretization
from seismo.solver.simulation import Simulation

_SAMPLES = 4.0  # snapshots in a period of the highest frequency


def steps_between(discretization: Discretization) -> int:
    """Return the steps between snapshots that sample the waves of a run."""
    period = 1.0 / discretization.highest_frequency
    return max(1, int(period / _SAMPLES / discretization.clock.dt))


class Pullback:
    """The adjoint side of a propagator.

    Attributes:
        gradient: the forward and adjoint runs.
    """

    def __init__(
        self, simulation: Simulation, batches: Sequence[list[Shot]], every: int | None,
        memory: int | None,
    ) -> None:  # fmt: skip
        """Bind the adjoint run.

        Args:
            simulation: the forward run.
            batches: shots that advance together.
            every: steps between snapshots; None for as few as the waves need, 1 for the exact
                derivative.
            memory: in bytes that snapshots may take, a share of the free memory when None.
        """
        self._simulation = simulation
        self._batches = batches
        every = steps_between(simulation.discretization) if every is None else every
        self.gradient = Gradient(simulation, every, memory)
        self._memory = memory
        self._model: ParameterArrays = {}
        self._kept: dict[int, KeptRun] = {}

    @property
    def plan(self) -> SnapshotPlan:
        """How the fields of a batch of shots are kept."""
        return self.gradient.plan

    def load(self, model: ParameterArrays) -> None:
        """Load a model, which the forward run has loaded, and forget runs of others."""
        if self._model is model:
            return
        refuse_fluids(model)
        self._kept.clear()
        self._model = model
        load_model(self.gradient.adjoint.simulation, model)
        grid = self._simulation.discretization.grid
        self.gradient.load({name: on_grid(array, grid) for name, array in model.items()})

    def run(self, batch: int) -> None:
        """Take all steps of a loaded batch, and keep its fields if all batches fit."""
        kept = self.gradient.run()
        if self._keeps_all:
            self._kept[batch] = kept

    @property
    def _keeps_all(self) -> bool:
        """Whether the snapshots of all batches fit the memory; a single batch always does."""
        count = len(self._batches)
        if count == 1:
            return True
        # What is kept already is not free any more.
        missing = count - len(self._kept)
        allowed = allowed_memory(self._simulation.backend, self._memory)
        return self.plan.segments == 1 and missing * self.plan.bytes <= allowed

    def __call__(
        self, by_traces: Mapping[str, Mapping[str, np.ndarray]], parameters: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Return derivatives (z, [y,] x) by parameters from those by the traces of all shots."""
        self.gradient.clear()
        for number, shots in enumerate(self._batches):
            residuals = self.residuals(number, by_traces)
            kept = self._kept.pop(number, None)
            if kept is None:
                self._simulation.load(shots)
                kept = self.gradient.run()
            self.gradient.add(shots, kept, residuals)
        by_parameters = self.gradient.by_parameters()
        grid = self._simulation.discretization.grid
        return {name: in_extent(by_parameters[name], grid) for name in parameters}

    def residuals(self, batch: int, by_traces: Mapping[str, Mapping[str, np.ndarray]]) -> Residuals:
        """Return derivatives by the records of a batch from those by the traces of all shots."""
        first = sum(len(shots) for shots in self._batches[:batch])
        return residuals_of(self._simulation.discretization, first, self._batches[batch], by_traces)

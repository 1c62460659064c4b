"""Vector-Jacobian product of a run: from derivatives by traces to those by its parameters.

Forward runs of batches of shots are kept while there is memory for all of them
(`seismo.inversion.adjoint.snapshots`); others are run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seismo.inversion.adjoint.gradient import Gradient
from seismo.inversion.adjoint.residuals import residuals_of
from seismo.inversion.adjoint.run import Residuals
from seismo.inversion.adjoint.snapshots import KeptRun, SnapshotPlan, allowed_memory
from seismo.inversion.adjoint.source_derivative import SourceDerivative
from seismo.inversion.models import Call, ParameterArrays, load_model
from seismo.inversion.refusals import refuse_fluids
from seismo.inversion.sources import SourceParameters
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
        self, simulation: Simulation, parameters: Sequence[str], sources: SourceParameters,
        every: int | None, memory: int | None,
    ) -> None:  # fmt: skip
        """Bind the adjoint run.

        Args:
            simulation: the forward run.
            parameters: of the model, that derivatives are wanted by.
            sources: whose parameters they are wanted by, too.
            every: steps between snapshots; None for as few as the waves need, 1 for the exact
                derivative.
            memory: in bytes that snapshots may take, a share of the free memory when None.
        """
        self._simulation = simulation
        self._parameters = tuple(parameters)
        self._sources = sources
        every = steps_between(simulation.discretization) if every is None else every
        self.gradient = Gradient(
            simulation, every, memory, bool(self._parameters), bool(sources.names)
        )
        self._memory = memory
        self._model: ParameterArrays = {}
        self._call: Call | None = None
        self._kept: dict[int, KeptRun] = {}

    @property
    def plan(self) -> SnapshotPlan:
        """How the fields of a batch of shots are kept."""
        return self.gradient.plan

    def load(self, call: Call) -> None:
        """Load the model of a call, which the forward run has loaded, and forget other runs."""
        if self._call is call:
            return
        self._kept.clear()
        self._call = call
        if self._model is not call.model:
            refuse_fluids(call.model)
            self._model = call.model
            load_model(self.gradient.adjoint.simulation, call.model)
            self.gradient.load(call.model)

    def run(self, batch: int) -> None:
        """Take all steps of a loaded batch, and keep its fields if all batches fit."""
        if not self._parameters:
            self._simulation.advance(self._simulation.total_steps)
            return
        kept = self.gradient.run()
        if self._keeps_all:
            self._kept[batch] = kept

    @property
    def _keeps_all(self) -> bool:
        """Whether the snapshots of all batches fit the memory; a single batch always does."""
        count = len(self._loaded.batches)
        if count == 1:
            return True
        # What is kept already is not free any more.
        missing = count - len(self._kept)
        allowed = allowed_memory(self._simulation.backend, self._memory)
        return self.plan.segments == 1 and missing * self.plan.bytes <= allowed

    @property
    def _loaded(self) -> Call:
        assert self._call is not None  # `load` comes first
        return self._call

    def __call__(self, by_traces: Mapping[str, Mapping[str, np.ndarray]]) -> ParameterArrays:
        """Return derivatives by all parameters from those by the traces of all shots."""
        self.gradient.clear()
        by_sources: list[SourceDerivative] = []
        for number, shots in enumerate(self._loaded.batches):
            residuals = self.residuals(number, by_traces)
            by_sources += self.gradient.add(shots, self._kept_run(number), residuals)
        derivatives = self._sources.by_arrays(by_sources, self._loaded.sources)
        if not self._parameters:
            return derivatives
        by_parameters = self.gradient.by_parameters()
        return {name: by_parameters[name] for name in self._parameters} | derivatives

    def _kept_run(self, batch: int) -> KeptRun | None:
        """Return the forward run of a batch, run again if need be; None where none is needed."""
        if not self._parameters:
            return None
        kept = self._kept.pop(batch, None)
        if kept is None or self.plan.segments > 1:
            # Steps that are taken again have the sources of this call.
            self._simulation.load(self._loaded.batches[batch])
        return kept or self.gradient.run()

    def residuals(self, batch: int, by_traces: Mapping[str, Mapping[str, np.ndarray]]) -> Residuals:
        """Return derivatives by the records of a batch from those by the traces of all shots."""
        batches = self._loaded.batches
        first = sum(len(shots) for shots in batches[:batch])
        count = len(self._loaded.shots)
        return residuals_of(
            self._simulation.discretization, first, batches[batch], by_traces, count
        )

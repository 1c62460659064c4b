"""Jacobian-vector product of a run: the change of traces with a change of the parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.inversion.adjoint.linearised import LinearisedRun, SourceChange
from seismo.inversion.models import Call, ParameterArrays, load_model
from seismo.inversion.sources import SourceParameters
from seismo.inversion.traces import Traces, empty_traces, read_traces
from seismo.solver.simulation import Simulation


class Pushforward:
    """The linearised side of a propagator."""

    def __init__(self, simulation: Simulation, sources: SourceParameters) -> None:
        """Bind the linearised run.

        Args:
            simulation: the forward run.
            sources: parameters of the sources.
        """
        self._simulation = simulation
        self._sources = sources
        self._linearised = LinearisedRun(simulation)
        self._model: ParameterArrays = {}

    def __call__(self, call: Call, change: Mapping[str, np.ndarray]) -> Traces:
        """Return the change of the traces of a call, whose model the forward run has loaded.

        Args:
            call: with its parameters.
            change: of parameters, by name; others do not change.
        """
        linearised = self._linearised
        if self._model is not call.model:
            self._model = call.model
            load_model(linearised.simulation, call.model)
        linearised.load_model(
            call.model,
            {name: array for name, array in change.items() if name in call.model},
        )
        of_sources = {name: a for name, a in change.items() if name in self._sources.names}
        if self._sources.names:
            strengths, shots = self._sources.changes(call.sources, of_sources)
        else:  # shots that were chosen
            strengths = [[{} for _ in shot.points] for shot in call.shots]
            shots = None
        simulation = linearised.simulation
        traces = empty_traces(
            simulation.discretization, simulation.backend.precision, len(call.shots)
        )
        first = 0
        for batch in call.batches:
            last = first + len(batch)
            self._simulation.load(batch)
            changed = None if shots is None else shots[first:last]
            linearised.run(batch, SourceChange(strengths[first:last], changed))
            read_traces(simulation, first, batch, traces)
            first = last
        return traces

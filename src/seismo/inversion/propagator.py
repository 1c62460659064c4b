"""The propagator: waves of many models on a grid that is planned once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.select import choose
from seismo.errors import ScenarioError
from seismo.inversion.adjoint.memory import recording, remembers
from seismo.inversion.adjoint.snapshots import SnapshotPlan
from seismo.inversion.models import (
    Call,
    ParameterArrays,
    PartValues,
    bounds_of_rock,
    checked,
    is_of_part,
    load_model,
    shape_of,
)
from seismo.inversion.pullback import Pullback
from seismo.inversion.pushforward import Pushforward
from seismo.inversion.refusals import (
    refuse_bounds,
    refuse_coarse,
    refuse_several,
    refuse_underivable,
    refuse_unsuited,
)
from seismo.inversion.sources import SOURCE_PARAMETERS, SourceParameters
from seismo.inversion.traces import Traces, empty_traces, read_traces
from seismo.model.node_values import ModelRange, arrays_of
from seismo.scenario import ScenarioInput, load
from seismo.scenario.scenario_facts import with_chosen_values
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation


class Propagator:
    """Computes the traces of a scenario for models given as arrays, again and again.

    The scenario is checked, discretized and bound to its kernels once: grid, time step, absorbing
    layers, differences and the rules by which sources act and receivers read stay the same for all
    models. The time step and the layers suit the fastest wave within the bounds.

    Attributes:
        scenario: as it was checked.
        parameters: names of those that may be given.
        bounds: least and greatest value of each of them, in SI.
        discretization: of all runs.
        simulation: that takes the steps.
        parts: values of parts of the scenario's model that may be given.
        sources: wavelets and strengths that may be given.
        model: values (z, [y,] x) by parameter that are loaded.
        batches: the shots that advance together.
        calls: how often it was called.
    """

    def __init__(
        self, scenario: ScenarioInput, parameters: Sequence[str] = (),
        bounds: Mapping[str, tuple[float, float]] | None = None, *, backend: str = "auto",
        device: int | None = None, threads: int | None = None, snapshots: int | None = None,
        memory: int | None = None, wavelet_interval: float | None = None,
        ranks: SerialCommunicator | None = None,
    ) -> None:  # fmt: skip
        """Plan the runs of a scenario, and load its own model.

        Args:
            scenario: a scenario, the same as nested dicts, or the path of its YAML file.
            parameters: names of the parameters of the equation that models give, such as "vp", of
                values of parts of the scenario's model, such as "model[1].vs", and of its sources:
                "wavelet", "force", "moment_tensor", "moment" (of explosions) and "amplitude"
                (`seismo.inversion.sources`).
            bounds: least and greatest value in SI of each parameter of the equation, and of each
                value of a part.
            backend: "auto" (a GPU if there is any and no threads are asked for), "cpu" or "gpu".
            device: number of the GPU, the first that will do when None.
            threads: threads to use on the CPU, all cores when None.
            snapshots: steps between the fields that derivatives are made of: 1 for exact ones,
                None for four in a period of the highest frequency.
            memory: bytes that these may take, 80 % of the free memory when None. Where they
                would take more, a GPU keeps them in 16 bits, or parts of the forward run are
                computed twice.
            wavelet_interval: s between the samples of wavelets that are given, the time step when
                None. The first is at the time 0 before delays; beyond the last they are zero.
            ranks: processes that work beside each other, each with a propagator: each takes a GPU,
                or a share of the cores, of its own.

        Raises:
            ScenarioError: the scenario will not do, or not for other models.
            DeviceError: there is no such backend or device, or it cannot be used.
        """
        # Longer steps are bounded for the rock of the scenario alone.
        self.scenario = with_chosen_values(load(scenario), stencil="fitted")
        self.parameters = tuple(parameters)
        self.bounds = {name: (float(a), float(b)) for name, (a, b) in (bounds or {}).items()}
        self._options: dict[str, Any] = {
            "backend": backend, "device": device, "threads": threads, "snapshots": snapshots,
            "memory": memory, "wavelet_interval": wavelet_interval,
        }  # fmt: skip
        refuse_bounds(self.parameters, self.bounds)
        models = None
        refuse_several(self.scenario)
        if self.parameters:
            refuse_unsuited(self.scenario, self.parameters)
            models = ModelRange(bounds_of_rock(self.bounds))
        chosen = choose(backend, device, threads, ranks).make(self.scenario.precision)
        self.discretization = discretize(self.scenario, chosen.batch_points, models=models)
        refuse_coarse(self.discretization, self.bounds)
        if self.parameters and remembers(self.discretization.physics):
            self.discretization = recording(self.discretization)
        self.simulation = Simulation(self.discretization, chosen, from_rest=True)
        self._own_model = arrays_of(self.discretization.earth)
        self.model = self._own_model
        self.parts = PartValues(
            self.discretization, list(filter(is_of_part, self.parameters)), self.bounds
        )
        of_sources = [name for name in self.parameters if name in SOURCE_PARAMETERS]
        self.sources = SourceParameters(self.discretization, of_sources, wavelet_interval)
        self.batches = self._batches_of(self.discretization.shots)
        self.calls = 0
        self._called: list[Call] = []
        self._is_several = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments: a copy in another process is planned anew."""
        return {
            "scenario": self.scenario, "parameters": self.parameters, "bounds": self.bounds,
            **self._options,
        }  # fmt: skip

    def __setstate__(self, arguments: dict[str, Any]) -> None:
        """Plan the runs anew."""
        self.__init__(**arguments)  # type: ignore[misc]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (z, [y,] x) of a model: the nodes of the extent, absorbing layers left out."""
        return shape_of(self.discretization.grid)

    @property
    def start(self) -> ParameterArrays:
        """The scenario's own values of all parameters, in SI, as a call takes them."""
        of_parts = {path: np.array(value) for path, value in self.parts.start.items()}
        start = self._own_model | self.sources.start | of_parts
        return {name: start[name].copy() for name in self.parameters}

    def __call__(self, *, keep: bool = False, **models: Any) -> Traces:
        """Return the traces of a model.

        Args:
            keep: whether `pullback` follows: the fields that it needs are kept, while they fit the
                memory, and need not be computed again.
            models: values (z, [y,] x) in SI at the nodes of the extent, by parameter, numbers by
                values of parts, and those of sources (`seismo.inversion.sources`); parameters left
                out are as in the scenario. With an axis before these, of several models.

        Returns:
            Receiver set -> component -> (shot, receiver, sample), in the precision of the run; of
            several models (model, shot, receiver, sample).

        Raises:
            ModelError: values have another shape, or lie beyond the bounds.
            UnstableError: the wavefield blew up.
        """
        self.calls += 1
        arrays = self._checked(models)
        several = self._several(arrays)
        self._is_several = several is not None
        self._called = [self._call_of(arrays, k) for k in range(several or 1)]
        every = [self._traces_of(call, keep and not several) for call in self._called]
        return self._joined(every)

    def pullback(self, by_traces: Mapping[str, Mapping[str, Any]]) -> ParameterArrays:
        """Return the derivative of a number by the parameters of the last call (its vjp).

        The number may be anything that is computed from the traces, such as a misfit.

        Args:
            by_traces: its derivatives by the traces, as a call returns them; sets and components
                that are left out are zero.

        Returns:
            Derivatives (z, [y,] x) by each of the parameters, in SI; of several models (model, z,
            [y,] x). Readings beside a surface and absorbing layers count as constant. Those by
            parameters of sources have the shape that these had in the call, or have in `start`;
            by wavelets they are those by the samples.

        Raises:
            ScenarioError: nothing was called, there is no derivative of these waves, or
                derivatives by traces are of another shape or not finite.
            InsufficientMemoryError: snapshots do not fit the memory.
        """
        self._require_call("pullback")
        derivatives = []
        for number, call in enumerate(self._called):
            self._load(call.model)
            self._adjoint.load(call)
            of_model = {
                group: {
                    name: np.asarray(array)[number] if self._is_several else np.asarray(array)
                    for name, array in sections.items()
                }
                for group, sections in by_traces.items()
            }
            by_arrays = self._adjoint(of_model)
            by_all = by_arrays | self.parts.by_values(by_arrays)
            derivatives.append({name: by_all[name] for name in self.parameters})
        if not self._is_several:
            return derivatives[0]
        return {name: np.stack([d[name] for d in derivatives]) for name in self.parameters}

    def jvp(self, **changes: Any) -> Traces:
        """Return the change of the traces of the last call with its parameters, to first order.

        This is the linearised run (Born's approximation), the transpose of `pullback`. It takes
        the steps of the call again, beside a second wavefield.

        Args:
            changes: of parameters by name, of the shape of their values in the call; parameters
                left out do not change.

        Returns:
            Changes as a call returns traces. Readings beside a surface and absorbing layers count
            as constant.

        Raises:
            ScenarioError: nothing was called, or there is no derivative of these waves.
            ModelError: changes have another shape, or are not finite.
        """
        self._require_call("jvp")
        arrays = self._checked(changes, dict.fromkeys(self.bounds, (-np.inf, np.inf)))
        count = self._several(arrays)
        if count is not None and (not self._is_several or count != len(self._called)):
            raise ScenarioError(
                f"jvp: changes of {count} models, and the last call was of "
                f"{len(self._called) if self._is_several else 'a single one'}; give as many"
            )
        every = []
        for number, call in enumerate(self._called):
            self._load(call.model)
            change = self._of_model(arrays, number)
            of_parts = {name: change.pop(name) for name in self.parts.start if name in change}
            every.append(self._linearised(call, change | self.parts.changes(of_parts)))
        return self._joined(every)

    @property
    def plan(self) -> SnapshotPlan:
        """How the fields of a batch of shots are kept for `pullback`."""
        return self._adjoint.plan

    @cached_property
    def _adjoint(self) -> Pullback:
        """The adjoint side, bound when it is first asked for."""
        refuse_underivable(self.discretization, self.parameters)
        of_model = dict.fromkeys(
            self.parts.parameters.get(name, name)
            for name in self.parameters
            if name not in self.sources.names
        )
        return Pullback(
            self.simulation, tuple(of_model), self.sources, self._options["snapshots"],
            self._options["memory"],
        )  # fmt: skip

    @cached_property
    def _linearised(self) -> Pushforward:
        """The linearised side, bound when it is first asked for."""
        refuse_underivable(self.discretization, self.parameters)
        return Pushforward(self.simulation, self.sources)

    def steps(
        self, every: int = 1, batch: int = 0, **models: Any
    ) -> Iterator[tuple[int, FieldsOfStep]]:
        """Step the shots of a batch, and yield the fields.

        Args:
            every: steps between two of them.
            batch: number of the batch, of `batches`.
            models: as of a call, a single one.

        Yields:
            The steps taken, and the fields by name; they are those of the step only until the next
            is asked for.
        """
        if every < 1:
            raise ScenarioError(f"every: {every}; must be at least 1")
        arrays = self._checked(models)
        if self._several(arrays) is not None:
            raise ScenarioError("steps: give a single model")
        call = self._call_of(arrays)
        self._load(call.model)
        simulation = self.simulation
        simulation.load(call.batches[batch])
        while simulation.step < simulation.total_steps:
            simulation.advance(min(every, simulation.total_steps - simulation.step))
            yield simulation.step, FieldsOfStep(simulation, len(self.batches[batch]))

    def select(self, shots: Sequence[int] | None = None) -> None:
        """Choose the shots of later calls: their traces are those of these shots, in this order.

        Args:
            shots: numbers of shots of the scenario, from 0; all of them when None.

        Raises:
            ScenarioError: there is no such shot, none is chosen, or parameters of sources are
                among those of the propagator.
        """
        known = self.discretization.shots
        numbers = range(len(known)) if shots is None else shots
        if self.sources.names:
            raise ScenarioError(
                f"shots: cannot be chosen beside the parameter {self.sources.names[0]} of sources; "
                "leave that out"
            )
        for number in numbers:
            if not 0 <= number < len(known):
                raise ScenarioError(f"shots: {number}: give numbers from 0 to {len(known) - 1}")
        if not len(numbers):
            raise ScenarioError("shots: none is chosen; name at least one, or None for all")
        self.batches = self._batches_of([known[number] for number in numbers])
        self._called = []

    def _load(self, model: ParameterArrays) -> None:
        """Load a model of all parameters of the equation, unless it is loaded."""
        if self.parameters and self.model is not model:
            self.model = model
            load_model(self.simulation, model)

    def _traces_of(self, call: Call, keep: bool) -> Traces:
        """Take all steps of all shots of a call, batch by batch."""
        self._load(call.model)
        if keep:
            self._adjoint.load(call)
        simulation = self.simulation
        count = len(call.shots)
        traces = empty_traces(self.discretization, simulation.backend.precision, count)
        first = 0
        for number, shots in enumerate(call.batches):
            simulation.load(shots)
            if keep:
                self._adjoint.run(number)
            else:
                simulation.advance(simulation.total_steps)
            read_traces(simulation, first, shots, traces)
            first += len(shots)
        return traces

    def _batches_of(self, shots: list[Shot]) -> list[list[Shot]]:
        together = self.discretization.batch
        return [shots[n : n + together] for n in range(0, len(shots), together)]

    def _call_of(self, arrays: ParameterArrays, number: int = 0) -> Call:
        """Return the call of the n-th of the models of checked values."""
        arguments = self._of_model(arrays, number)
        of_sources = {name: arguments.pop(name) for name in self.sources.names if name in arguments}
        of_parts = {name: arguments.pop(name) for name in self.parts.start if name in arguments}
        arguments |= self.parts.arrays(of_parts)
        # The same object is the same model: it is loaded already.
        model = self._own_model | arguments if arguments else self._own_model
        batches = self._batches_of(self.sources.shots(of_sources)) if of_sources else self.batches
        return Call(model, of_sources, batches)

    def _of_model(self, arrays: ParameterArrays, number: int) -> ParameterArrays:
        """Return the values of the n-th of the models."""
        return {
            name: array[number] if self._is_of_several(name, array) else array
            for name, array in arrays.items()
        }

    def _joined(self, every: Sequence[Traces]) -> Traces:
        """Return the traces of a single model, or of all with an axis before the others."""
        if not self._is_several:
            return every[0]
        return {
            group: {name: np.stack([of[group][name] for of in every]) for name in sections}
            for group, sections in every[0].items()
        }

    def _require_call(self, name: str) -> None:
        if not self._called:
            raise ScenarioError(f"{name}: call the propagator with a model first")

    def _checked(
        self, models: Mapping[str, Any], bounds: Mapping[str, tuple[float, float]] | None = None
    ) -> ParameterArrays:
        """Return checked values (..., z, [y,] x) by parameter, within bounds or those of models."""
        bounds = bounds or self.bounds
        for name in models:
            if name not in self.parameters:
                raise ScenarioError(
                    f"{name}: is none of the propagator's parameters "
                    f"({', '.join(self.parameters) or 'it has none'}); name it in `parameters`"
                )
        grid = self.discretization.grid
        arrays = {}
        for name, array_like in models.items():
            if name in self.sources.names:
                arrays[name] = self.sources.checked(name, array_like)
            elif name in self.parts.start:
                arrays[name] = self.parts.checked(name, array_like, bounds[name])
            else:
                arrays[name] = checked(name, array_like, grid, bounds[name])
        return arrays

    def _several(self, arrays: ParameterArrays) -> int | None:
        """Return how many models there are, None of a single one."""
        counts = {len(array) for name, array in arrays.items() if self._is_of_several(name, array)}
        if len(counts) > 1:
            numbers = " and ".join(map(str, sorted(counts)))
            raise ScenarioError(f"models: {numbers} models; give as many of each parameter")
        return counts.pop() if counts else None

    def _is_of_several(self, name: str, array: np.ndarray) -> bool:
        """Whether an array of a parameter has an axis of models."""
        dimensions = self.discretization.grid.dimensions
        start = self.sources.start | {path: np.zeros(()) for path in self.parts.start}
        return array.ndim > (start[name].ndim if name in start else dimensions)


class FieldsOfStep(Mapping[str, np.ndarray]):
    """The fields of a step, each fetched when it is asked for."""

    def __init__(self, simulation: Simulation, shots: int) -> None:
        """Look at a simulation of so many shots after a step."""
        self._simulation = simulation
        self._shots = shots
        self._step = simulation.step

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a field (shot, z, [y,] x) at the nodes of the extent, to be read only.

        Half points stand half a cell beyond the nodes of their index.

        Raises:
            KeyError: there is no such field.
            ScenarioError: further steps were taken since.
        """
        if name not in list(self):
            raise KeyError(name)
        if self._simulation.step != self._step:
            raise ScenarioError(f"{name}: the fields of step {self._step} are gone; copy them")
        grid = self._simulation.discretization.grid
        box = tuple(slice(*ends) for ends in zip(grid.extent.lo, grid.extent.hi, strict=True))
        field = self._simulation.field(name)[: self._shots, box[2], box[1], box[0]]
        field.flags.writeable = False
        return field[:, :, 0] if grid.dimensions == 2 else field

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        physics = self._simulation.discretization.physics
        return (field.name for field in physics.fields if not field.previous_of)

    def __len__(self) -> int:
        """Count the fields."""
        return sum(1 for _ in self)

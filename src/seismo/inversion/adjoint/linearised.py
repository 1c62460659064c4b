"""Linearised run: how the fields change, to first order, with the model and the sources.

It takes its steps beside the forward run, with the same kernels. A change dc of a coefficient of a
term c op(field) adds dc op(field of the forward run), where a source would act::

    stresses        ds += sum over operations of  dc op(v)
    velocities      dv += dc / c (v - v of the step before)
    second order    dp += dk / k (change of p in this step - that in the step before)

of several fields of second order dk / k is dM M^-1, M the matrix that operations are multiplied by.
The last two contain what sources add, as if their scale were proportional to the coefficient: what
is left of the scale's change acts as a source (`seismo.inversion.adjoint.source_derivative`). All
these are the products of the images (`seismo.inversion.adjoint.imaging`), turned round: the run is
the transpose of the gradient, to rounding. Changes in absorbing layers count as zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.backends.base import Launch
from seismo.grid.grid import Box
from seismo.inversion.adjoint.averages import CellAverages
from seismo.inversion.adjoint.derivative import CoefficientDerivative
from seismo.inversion.adjoint.imaging import sweeps
from seismo.inversion.adjoint.source_derivative import ActingTerm, SourceReading
from seismo.inversion.adjoint.tape import Tangents, TapedArray, value_of
from seismo.inversion.adjoint.tracing import Operation
from seismo.solver.sampling.injection import InjectionTable, SignalPoints, TableKey
from seismo.solver.sampling.recording import Recorder, RecordRows
from seismo.solver.simulation import Prepared, Simulation
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver


def _words(operation: Operation) -> str:
    return "_".join(word for pair in operation.operands for word in pair)


def products(cell) -> None:
    """Add factors times derivatives of forward velocities to stresses."""
    added: dict[str, Any] = {}
    for name in cell.fields:
        if name.startswith("factor_"):
            _, field, *words = name.split("_")
            pairs = tuple(zip(words[::2], words[1::2], strict=True))
            term = cell[name] * cell.total(*pairs)
            added[field] = added[field] + term if field in added else term
    for field, amount in added.items():
        cell.put(field, cell[field] + amount)


def strain_products(cell) -> None:
    """Add factors times forward strain rates, and their memory, to stresses."""
    added: dict[str, Any] = {}
    for name in cell.fields:
        if name.startswith("factor_"):
            _, field, mechanism, other = name.split("_")
            term = cell[name] * cell[f"forward_{other}_{mechanism}"]
            added[field] = added[field] + term if field in added else term
    for field, amount in added.items():
        cell.put(field, cell[field] + amount)


def second_strain_products(cell) -> None:
    """Add factors times the changes of sums of forward rates, and times their memory; keep sums."""
    products = [name.split("_")[1:] for name in cell.fields if name.startswith("factor_")]
    last = max(int(mechanism) for _, mechanism, _ in products)
    sums = {other: cell[f"forward_{other}_{last}"] for *_, other in products}
    rates = {other: now - cell[f"kept_{other}"] for other, now in sums.items()}
    added: dict[str, Any] = {}
    for field, mechanism, other in products:
        is_rate = int(mechanism) == last
        amount = rates[other] if is_rate else cell[f"forward_{other}_{mechanism}"]
        term = cell[f"factor_{field}_{mechanism}_{other}"] * amount
        added[field] = added[field] + term if field in added else term
    for field, amount in added.items():
        cell.put(field, cell[field] + amount)
    for other, now in sums.items():
        cell.put(f"kept_{other}", now)


def strain_factor_name(product: tuple[str, int, str]) -> str:
    """Return the name of the factor of a forward strain, or its memory, added to a stress."""
    stress, mechanism, other = product
    return f"factor_{stress}_{mechanism}_{other}"


def changes(cell) -> None:
    """Add factors times the change of forward fields since the step before; keep these fields."""
    for name in cell.fields:
        if name.startswith("factor_"):
            field = name.split("_")[1]
            forward = cell[f"forward_{field}"]
            cell.put(field, cell[field] + cell[name] * (forward - cell[f"kept_{field}"]))
            cell.put(f"kept_{field}", forward)


def second_changes(cell) -> None:
    """Add factors times the changes of the changes of fields in a step; keep the changes."""
    names = [name.removeprefix("kept_") for name in cell.fields if name.startswith("kept_")]
    now = {name: cell[f"forward_{name}"] - cell[f"before_{name}"] for name in names}
    second = {name: change - cell[f"kept_{name}"] for name, change in now.items()}
    for name in names:
        factors = {other: cell[factor_name((name, other))] for other in names}
        cell.put(name, cell[name] + cell.sum(factors[other] * second[other] for other in names))
    for name, change in now.items():
        cell.put(f"kept_{name}", change)


def factor_name(fields: tuple[str, str]) -> str:
    """Return the name of the factor of a field's change that is added to a field."""
    return "_".join(["factor", *dict.fromkeys(fields)])


class ModelSources(AddedLaunches):
    """What a change of the model adds to the fields of a subdomain of the linearised run."""

    def __init__(
        self, solver: SubdomainSolver, forward: SubdomainSolver, derivative: CoefficientDerivative
    ) -> None:
        """Allocate factors.

        Args:
            solver: the subdomain of the linearised run.
            forward: the same of the forward run.
            derivative: which fields and operations have coefficients.
        """
        self._solver = solver
        self._forward = forward
        fields = solver.fields
        size = next(iter(fields.wavefield.values())).size

        def new() -> Any:
            return solver.backend.zeros(size)[:size]

        self._moving = list(dict.fromkeys(name for name, _ in derivative.moving))
        self._pairs = derivative.moving
        self._operations = derivative.operations
        self._factors = {factor_name(pair): new() for pair in derivative.moving}
        self._kept = {name: new() for name in self._moving}
        self._memory = derivative.memory
        if self._memory and not self._moving:
            self._kept |= {stress: new() for stress in self._memory.stresses}
        strains = self._memory.products if self._memory else []
        self._factors |= {strain_factor_name(product): new() for product in strains}
        for field, operations in self._operations.items():
            for operation in operations:
                self._factors[f"factor_{field}_{_words(operation)}"] = new()

    def reset(self) -> None:
        """Begin at rest."""
        for array in self._kept.values():
            array[:] = 0

    def set_factors(self, factors: Mapping[str, np.ndarray]) -> None:
        """Set the factors (z, y, x) on the nodes of the grid, by name."""
        owned = self._solver.subdomain.owned
        (x0, y0, z0) = owned.lo
        (x1, y1, z1) = owned.hi
        backend = self._solver.backend
        for name, factor in factors.items():
            inside = self._solver.subdomain.inside(self._factors[name])
            inside[:] = backend.array(factor[z0:z1, y0:y1, x0:x1].astype(backend.precision))

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        physics = self._solver.fields.physics
        edges, middle = self._solver.subdomain.edges_and_core()
        boxes = [middle] if core else edges
        moving = [name for name in self._moving if physics.stage_writing(name) == stage]
        launches = self._bind_changes(moving, boxes, parity) if moving else []
        fields = [name for name in self._operations if physics.stage_writing(name) == stage]
        launches += self._bind_products(fields, boxes, parity) if fields else []
        strained = [
            name
            for name in (self._memory.stresses if self._memory else ())
            if physics.stage_writing(name) == stage
        ]
        return launches + (self._bind_strains(strained, boxes, parity) if strained else [])

    def _bind_strains(
        self, names: Sequence[str], boxes: Sequence[Box], parity: int
    ) -> list[Launch]:
        memory = self._memory
        assert memory is not None  # of these stresses
        products = [product for product in memory.products if product[0] in names]
        reads = {name: self._factors[name] for name in map(strain_factor_name, products)}
        reads |= {
            f"forward_{other}_{n}": self._forward.fields.written(memory.named(other, n), parity)
            for _, n, other in products
        }
        writes = {name: self._solver.fields.written(name, parity) for name in names}
        update = strain_products
        if self._solver.fields.physics.previous:
            writes |= {f"kept_{name}": self._kept[name] for name in names}
            update = second_strain_products
        return [
            launch
            for box in boxes
            for launch in sweeps(self._solver, update, writes, reads, box, is_closed=False)
        ]

    def _bind_changes(
        self, names: Sequence[str], boxes: Sequence[Box], parity: int
    ) -> list[Launch]:
        linearised = self._solver.fields
        forward = self._forward.fields
        writes: dict[str, Any] = {}
        reads: dict[str, Any] = {}
        for name in names:
            writes |= {name: linearised.written(name, parity), f"kept_{name}": self._kept[name]}
            reads[f"forward_{name}"] = forward.written(name, parity)
        factors = (factor_name(pair) for pair in self._pairs if pair[0] in names)
        reads |= {name: self._factors[name] for name in factors}
        update = changes
        if linearised.physics.previous:
            reads |= {f"before_{name}": forward.arrays(parity)[name] for name in names}
            update = second_changes
        return [
            launch
            for box in boxes
            for launch in sweeps(self._solver, update, writes, reads, box, is_closed=False)
        ]

    def _bind_products(
        self, names: Sequence[str], boxes: Sequence[Box], parity: int
    ) -> list[Launch]:
        linearised = self._solver.fields
        writes = {name: linearised.written(name, parity) for name in names}
        reads = {}
        for name in names:
            for operation in self._operations[name]:
                factor = f"factor_{name}_{_words(operation)}"
                reads[factor] = self._factors[factor]
        velocities = {
            field
            for name in names
            for operation in self._operations[name]
            for _, field in operation.operands
        }
        for field in sorted(velocities):
            reads[field] = self._forward.fields.written(field, parity)
        return [
            launch
            for box in boxes
            for launch in sweeps(self._solver, products, writes, reads, box, is_closed=True)
        ]


@dataclass(frozen=True)
class SourceChange:
    """A change of the sources of a batch of shots.

    Attributes:
        strengths: of each source of each shot, by component.
        shots: the sources with the changes of their wavelets; None where these do not change.
    """

    strengths: Sequence[Sequence[Mapping[str, float]]]
    shots: Sequence[Shot] | None


class LinearisedRun:
    """A simulation of the change of the fields, of a batch of shots."""

    def __init__(self, forward: Simulation) -> None:
        """Allocate and bind it beside the forward run."""
        self._forward = forward
        discretization = forward.discretization
        self.simulation = Simulation(
            discretization, forward.backend, ranks=forward.ranks, run_phases=forward.phases
        )
        self._averages = CellAverages(discretization)
        self._derivative = CoefficientDerivative(discretization, bool(self._averages.components))
        self._added = [
            ModelSources(solver, of_forward, self._derivative)
            for solver, of_forward in zip(self.simulation.solvers, forward.solvers, strict=True)
        ]
        for solver, added in zip(self.simulation.solvers, self._added, strict=True):
            solver.added.append(added)
        self._rows: dict[int, RecordRows | None] = {}  # by the number of shots
        self._taped: dict[str, TapedArray] = {}
        self._tangents = Tangents([])

    def load_model(self, model: Mapping[str, np.ndarray], change: Mapping[str, np.ndarray]) -> None:
        """Set the medium's change; its own coefficients are loaded like those of the forward run.

        Args:
            model: values (z, [y,] x) in SI at the nodes of the extent, by every parameter.
            change: of these, by name; others do not change.
        """
        averages = {
            name: TapedArray(array) for name, array in self._averages.on_grid(model).items()
        }
        self._taped = self._averages.coefficients(averages)
        changes = self._averages.changes(model, change)
        self._tangents = Tangents([(averages[name], array) for name, array in changes.items()])
        factors = dict(self._factors())
        for added in self._added:
            added.set_factors(factors)

    def _factors(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the factors (z, y, x) by name."""
        shape = self._forward.discretization.grid.points[::-1]
        tangents = self._tangents
        inverse = self._derivative.inverse_of_changes(self._taped)
        changes = {
            pair: tangents(coefficient)
            for pair, coefficient in self._derivative.coefficients_of_changes(self._taped)
        }
        for field, other in changes:
            factor = sum(
                change * inverse[middle, other]
                for (name, middle), change in changes.items()
                if name == field and (middle, other) in inverse
            )
            yield factor_name((field, other)), np.broadcast_to(factor, shape)
        for field, operation, coefficient, at_surface in self._derivative.coefficients_of_products(
            self._taped
        ):
            factor = np.broadcast_to(tangents(coefficient), shape).copy()
            if at_surface is not coefficient:
                factor[:1] = np.broadcast_to(tangents(at_surface), shape)[:1]
            yield f"factor_{field}_{_words(operation)}", factor
        memory = self._derivative.memory
        for term in memory.terms(self._taped) if memory is not None else ():
            assert memory is not None  # which has the term
            # Memory before the step, of that behind it: (xi - b e) / a.
            by_strain = tangents(term.at_once)
            for n, coefficient in zip(memory.mechanisms, term.remembered, strict=True):
                factor = tangents(coefficient) / memory.decay(n)
                by_strain = by_strain - memory.gain(n) * factor
                name = strain_factor_name((term.stress, n, term.strain))
                yield name, np.broadcast_to(factor, shape)
            name = strain_factor_name((term.stress, memory.last, term.strain))
            yield name, np.broadcast_to(by_strain, shape)

    def run(self, shots: Sequence[Shot], change: SourceChange) -> None:
        """Take all steps of shots that the forward run has loaded, beside it.

        Args:
            shots: of the batch.
            change: of their sources.
        """
        forward = self._forward
        simulation = self.simulation
        reading = SourceReading(
            simulation.discretization, simulation.solvers[0].injection,
            [shot.points for shot in shots], self._taped, forward.total_steps, every_term=True,
            linearised=True,
        )  # fmt: skip
        tables = [self._tables(solver, reading, change) for solver in simulation.solvers]
        if len(shots) not in self._rows:
            reader = Recorder(simulation.discretization, simulation.division, simulation.sampled)
            self._rows[len(shots)] = reader.rows_of(shots)
        simulation.start(Prepared(tables, self._rows[len(shots)]))
        for added in self._added:
            added.reset()
        for _ in range(forward.total_steps):
            forward.advance(1)
            simulation.advance(1)

    def _tables(
        self, solver: SubdomainSolver, reading: SourceReading, change: SourceChange
    ) -> dict[TableKey, InjectionTable]:
        """Return the tables of changes of sources that act on a subdomain."""
        entries: dict[str, list[SignalPoints]] = {}
        signals: dict[str, list[np.ndarray]] = {}
        for term in (*reading.terms, *reading.surface_terms):
            for amounts, signal in self._acting(term, reading, change):
                if not amounts.any():
                    continue
                x, y, z, _ = term.points
                rows = signals.setdefault(term.acts_on, [])
                x, y, z, strengths = solver.injection.owned(x, y, z, amounts)
                shot = np.full(len(x), term.shot)
                number = np.full(len(x), len(rows))
                entries.setdefault(term.acts_on, []).append(
                    SignalPoints(x, y, z, shot, strengths, number)
                )
                rows.append(signal)
        tables: dict[TableKey, InjectionTable] = {}
        for field, of_field in entries.items():
            joined = SignalPoints(
                *(np.concatenate(column) for column in zip(*of_field, strict=True))
            )
            tables |= solver.injection.tables_of(field, joined, np.array(signals[field]))
        return tables

    def _acting(
        self, term: ActingTerm, reading: SourceReading, change: SourceChange
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield amounts (n) at the points of a term, and the signals (step) that they multiply."""
        weights = term.points[3]
        scale: np.ndarray = np.broadcast_to(value_of(term.scale), weights.shape)
        by_medium = np.zeros(weights.shape)
        if isinstance(term.scale, TapedArray):
            by_medium = by_medium + self._tangents(term.scale)
        if term.imaged is not None:
            by_medium = by_medium - scale * self._tangents(term.imaged) / term.imaged.value
        yield term.strength * weights * by_medium, term.signal
        if term.acts_on != term.field.name:
            return
        strengths = change.strengths[term.shot][term.source]
        yield strengths.get(term.drive.component, 0.0) * weights * scale, term.signal
        if change.shots is not None:
            source = change.shots[term.shot].points[term.source]
            yield term.strength * weights * scale, reading.signal_of(term, source)

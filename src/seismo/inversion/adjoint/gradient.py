"""Gradient of a misfit by the model: a forward run that keeps snapshots, and an adjoint run.

Sums over time are m times those over snapshots of every m-th step
(`seismo.inversion.adjoint.snapshots`). With m = 1 the gradient is exact to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.inversion.adjoint.averages import CellAverages
from seismo.inversion.adjoint.derivative import CoefficientDerivative
from seismo.inversion.adjoint.extent import ArrayMemory
from seismo.inversion.adjoint.imaging import Images
from seismo.inversion.adjoint.run import AdjointRun, Residuals
from seismo.inversion.adjoint.snapshots import KeptRun, plan_snapshots
from seismo.inversion.adjoint.source_derivative import SourceDerivative, SourceReading
from seismo.inversion.adjoint.tape import TapedArray, propagate
from seismo.solver.simulation import Simulation


class Gradient:
    """The forward and adjoint runs of batches of shots, and the images of all of them."""

    def __init__(
        self, forward: Simulation, every: int = 1, memory: int | None = None,
        by_model: bool = True, by_sources: bool = False,
    ) -> None:  # fmt: skip
        """Bind the adjoint run and the images.

        Args:
            forward: the forward run.
            every: steps between snapshots.
            memory: in bytes that snapshots may take, a share of the free memory when None.
            by_model: whether derivatives by the model are computed; if not there are no images.
            by_sources: whether derivatives by sources are computed.
        """
        self._by_sources = by_sources
        self._forward = forward
        self._physics = forward.discretization.physics
        self.adjoint = AdjointRun(forward)
        self._memory = ArrayMemory.of(
            forward.backend, forward.discretization.points, len(forward.solvers)
        )
        self._averages = CellAverages(forward.discretization)
        self._derivative = CoefficientDerivative(
            forward.discretization, bool(self._averages.components)
        )
        self._images = [
            Images(
                solver,
                self.adjoint.simulation.phases,
                self._derivative.products,
                self._derivative.moving,
                self._derivative.memory,
            )
            for solver in self.adjoint.simulation.solvers
            if by_model
        ]
        kept_fields = tuple(self._images[0].forward) if by_model else ()
        self.plan = plan_snapshots(forward, kept_fields, every, memory)
        self.load({})

    def load(self, model: Mapping[str, np.ndarray]) -> None:
        """Load a model, and begin a sum over batches of shots.

        Args:
            model: values (z, [y,] x) in SI at the nodes of the extent, by every parameter.
        """
        self._model = model
        self._medium: dict[str, TapedArray] = {}
        self._taped: dict[str, TapedArray] = {}
        if model:
            averages = self._memory.put(self._averages.on_grid(model))
            self._medium = {name: TapedArray(array) for name, array in averages.items()}
            self._taped = self._averages.coefficients(self._medium)
        self._coefficients = {name: array.value for name, array in self._taped.items()}
        self.clear()

    def clear(self) -> None:
        """Begin another sum over batches of shots."""
        self._readings: list[tuple[SourceReading, np.ndarray]] = []
        self._factor = 0.0
        for images in self._images:
            images.clear()

    def run(self) -> KeptRun:
        """Take all steps of the loaded shots, and keep what the adjoint run needs."""
        return KeptRun(self._forward, self.plan)

    def add(
        self, shots: Sequence[Shot], kept: KeptRun | None, residuals: Residuals
    ) -> list[SourceDerivative]:
        """Add a batch of shots, that the forward run has loaded, to the images.

        Args:
            shots: of the batch.
            kept: their forward run; None where derivatives by sources alone are computed.
            residuals: derivatives of the misfit by their records.

        Returns:
            Derivatives by the sources of the shots, in their order; none if not asked for.
        """
        simulation = self.adjoint.simulation
        reading = self._reading_of(shots)
        self._set_factor(residuals)
        self.adjoint.load(shots, residuals, self._factor, self._coefficients, reading)
        targets = [images.forward for images in self._images]
        for snapshots in kept.segments() if kept is not None else ():
            while len(snapshots):
                self._image_step(self.adjoint.step_of(snapshots.pop(targets)))
        if reading is not None:
            simulation.advance(simulation.total_steps - simulation.step)
            record = self.adjoint.record / self._factor
            self._readings.append((reading, record))
            if self._by_sources:
                return reading.by_sources(record)
        return []

    def _image_step(self, step: int) -> None:
        """Take the adjoint run through a step, and add it to the images."""
        simulation = self.adjoint.simulation
        phase = simulation.phase_of(step)
        # Fields before the step: an equation of second order in time keeps them by itself.
        if not self._physics.previous:
            simulation.advance(step - simulation.step)
            for images in self._images:
                images.before_step(phase, simulation.parity)
        simulation.advance(step + 1 - simulation.step)
        for images in self._images:
            images.after_step(phase, simulation.last_parity)

    def _set_factor(self, residuals: Residuals) -> None:
        """Set the factor of all residuals by those of the first batch: products stay in range."""
        if not self._factor:
            largest = max((_largest(r) for r in residuals.values()), default=0.0)
            self._factor = float(np.exp2(-np.frexp(largest)[1])) if largest else 1.0

    def _reading_of(self, shots: Sequence[Shot]) -> SourceReading | None:
        """Return the reading of the sources of shots; None where no derivative needs it."""
        reading = self.adjoint.reading_of(shots, self._taped, self._by_sources)
        return reading if reading.terms or reading.surface_terms else None

    def by_parameters(self) -> dict[str, np.ndarray]:
        """Return the derivatives (z, [y,] x) by the values of the model, of all batches."""
        by_coefficients = self._derivative.by_coefficients(self._taped, self._image)
        of_sources = (reading.ends(record) for reading, record in self._readings)
        by_taped = propagate(chain(by_coefficients, *of_sources), self._taped.values())
        ends = ((array, by_taped(array)) for array in self._taped.values())
        by = propagate(ends, self._medium.values())
        by_averages = {
            name: by(array) + np.zeros_like(array.value) for name, array in self._medium.items()
        }
        if self._averages.of_nodes:
            model = self._memory.put(self._model)
            return self._memory.fetch(self._averages.by_model(model, by_averages))
        return self._averages.by_model(self._model, self._memory.fetch(by_averages))

    def _image(self, name: str) -> Any:
        """Return an image (z, y, x) of all batches on the nodes of the grid."""
        factor = self.plan.every / self._factor
        if self._memory.card is not None:
            (images,) = self._images
            return factor * images.sums(name)
        nx, ny, nz = self._forward.discretization.grid.points
        assembled = np.zeros((nz, ny, nx))
        for solver, images in zip(self.adjoint.simulation.solvers, self._images, strict=True):
            (_, y0, z0) = solver.subdomain.owned.lo
            (_, y1, z1) = solver.subdomain.owned.hi
            assembled[z0:z1, y0:y1] = solver.backend.fetch(images.sums(name))
        return factor * assembled


def _largest(array: np.ndarray) -> float:
    """Return the largest magnitude, without an array of magnitudes."""
    return float(max(array.max(initial=0.0), -array.min(initial=0.0)))

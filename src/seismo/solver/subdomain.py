"""The solver of a subdomain: arrays, operator tables, bound stages, images, sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.sources import PointSource, Shot
from seismo.backends.base import Backend, KernelConstants, Launch
from seismo.equations.framework.table import Physics, Stage
from seismo.features import acting
from seismo.grid.decomposition import LINE, CheckpointArray, Subdomain
from seismo.grid.grid import AXES
from seismo.grid.surface_interpolation import midpoint_weights
from seismo.solver.boundary_images import (
    Face,
    bind_images,
    image,
    touching,
)
from seismo.solver.discretization import Discretization
from seismo.solver.fields import Fields
from seismo.solver.medium.coefficients import (
    Averages,
    coefficients_of,
    layer_medium_of,
    medium_of,
)
from seismo.solver.medium.cpml import coupled, profiles
from seismo.solver.parallel.active_region import Phase
from seismo.solver.sampling.injection import Injection
from seismo.solver.stages import (
    Binding,
    BoundStage,
    bind_stages,
)


def _profile(subdomain: Subdomain, axis: str, layers: dict[str, np.ndarray]) -> np.ndarray:
    """Return the profile of the layers along an axis at the points of a subdomain."""
    a = AXES.index(axis)
    # x counts from before the first row; a lane may reach behind its end.
    length = subdomain.shape[2 - a] + (2 * LINE if axis == "x" else 0)
    # Outside layers b = a = 0, 1 / kappa = 1 and m = 1.
    padded = np.tile([[0.0], [0.0], [1.0]] * 2 + [[1.0]] * 2, (1, length))
    if axis in layers:
        # The part of the profile that this subdomain owns.
        lo = subdomain.owned.lo[a]
        hi = subdomain.owned.hi[a]
        start = lo + subdomain.offset[a]
        padded[:, start : start + hi - lo] = layers[axis][:, lo:hi]
    return padded


def _closed_width(discretization: Discretization) -> int:
    """Return the width of the closed differences below a free surface, or 0."""
    if discretization.curved_rows is not None:
        return discretization.curved_rows.plain
    return discretization.closure.up.shape[1] if discretization.closure else 0


def _surface_rows(discretization: Discretization) -> tuple[np.ndarray, ...]:
    """Return the closed differences below a free surface, up and down, in 1/m."""
    closure = discretization.closure
    if closure is None:
        return np.zeros((1, 1)), np.zeros((1, 1))
    if discretization.curved_rows is not None:
        return discretization.curved_rows.up, discretization.curved_rows.down
    rows = (
        closure.up / discretization.grid.spacing[2],
        closure.down / discretization.grid.spacing[2],
    )
    if not discretization.physics.interpolates:
        return rows
    # And interpolation adjoint in the norms of the closure.
    return tuple(np.hstack(pair) for pair in zip(rows, midpoint_weights(closure), strict=True))


def _tables(
    discretization: Discretization,
    subdomain: Subdomain,
    at_once: bool,
    layers: dict[str, np.ndarray],
) -> KernelConstants:
    grid = discretization.grid
    spacing = np.array(grid.spacing)[:, None] / discretization.physics.length
    # Difference coefficients over the spacing of each axis.
    first = np.array([discretization.stencil.along(axis) for axis in AXES]) / spacing
    second = discretization.stencil.second[None, :] / spacing**2
    on_nodes = discretization.stencil.on_nodes[None, :] / spacing
    profiles = [_profile(subdomain, axis, layers) for axis in AXES]
    # Fused second derivative: weights of the field and of the flux memory.
    if at_once:
        profiles[1:] = [
            np.concatenate([padded[:6], coupled(padded, first[a], second[a])])
            for a, padded in enumerate(profiles[1:], 1)
        ]
    # Interior ranges of x, y and z in array indices: no layer damps there.
    within = subdomain.owned & grid.damped.extent
    ends = zip(within.lo, within.hi, subdomain.offset, strict=True)
    x, y, z = ((lo + shift, hi + shift) for lo, hi, shift in ends)
    # Closed differences below a free surface.
    up, down = _surface_rows(discretization)
    return KernelConstants(
        strides=np.array(subdomain.strides),
        first=first,
        second=second,
        on_nodes=on_nodes,
        numbers=np.array(list(discretization.physics.numbers.values()), float),
        profiles=(profiles[0], profiles[1], profiles[2]),
        inside=(x, y, z),
        up=up,
        down=down,
        surface=subdomain.offset[2],
        even_layers=not discretization.field_damping.averaged,
    )


def _refined(
    discretization: Discretization, subdomain: Subdomain, tables: KernelConstants
) -> KernelConstants | None:
    """Return the tables of the rows beside the plane where two spacings meet, or None."""
    beside = discretization.refined_rows
    if beside is None:
        return None
    # As the closed differences of a free surface, counted from a row of their own.
    up, down = (weights / discretization.grid.spacing[2] for weights in (beside.up, beside.down))
    return replace(tables, up=up, down=down, surface=subdomain.offset[2] + beside.base)


class AddedLaunches:
    """Launches that a feature adds to the steps of a subdomain; none here.

    Attributes:
        window: steps of which it holds the data at a time, 0 for all of them.
    """

    window = 0

    def point_sources(self, shot: Shot) -> Sequence[PointSource]:
        """Return the parts of a shot that act as point sources do, on all subdomains."""
        return ()

    def evaluations(self) -> list[Launch]:
        """Return the launches that evaluate the sources of a step, before any stage needs it."""
        return []

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        return []

    def acts_for(self, shots: Sequence[Shot]) -> bool:
        """Whether any of the shots has something of it."""
        return True

    def holds(self, step: int) -> bool:
        """Whether the loaded window contains a step."""
        return True

    def load(self, step: int, steps: int) -> None:
        """Load the window of a step, of so many steps of the run."""

    def silence(self) -> None:
        """Add nothing, in the steps of shots that have none of it."""


class SubdomainSolver:
    """A subdomain: its arrays, stages bound in each phase of the steps, and sources."""

    def __init__(
        self, discretization: Discretization, backend: Backend, subdomain: Subdomain,
        phases: tuple[Phase, ...],
    ) -> None:  # fmt: skip
        """Allocate and bind everything, for the steps of each phase."""
        physics = discretization.physics
        scenario = discretization.scenario
        self.discretization = discretization
        self.subdomain = subdomain
        self.backend = backend
        self.fields = Fields(
            backend, physics, subdomain, discretization.uneven, discretization.reach,
            discretization.curved_rows,
        )  # fmt: skip
        medium, coefficients = self.load_medium(discretization)
        for planes in acting("planes", scenario):
            self.fields.set_planes(planes(discretization, subdomain, coefficients))
        faces = discretization.image_faces
        # Operators: a table for each phase of the layers.
        at_once = backend.at_once and physics.at_once and physics.differences == "second"
        tables = [
            _tables(discretization, subdomain, at_once, layers)
            for layers in profiles(discretization)
        ]
        first = Binding(
            backend, subdomain, self.fields, tables[0], discretization.stencil.order,
            discretization.row_groups(backend.lane_width), _closed_width(discretization),
            discretization.even, discretization.grid.box, discretization.field_damping.late > 0.0,
            discretization.curved_rows, discretization.closed_rows,
        )  # fmt: skip
        refined = [_refined(discretization, subdomain, of_phase) for of_phase in tables]
        # Stages bound in all phases of the steps; the memory is shared.
        self.bindings = [
            replace(first, tables=tables[p.layers], moving=p.box, refined=refined[p.layers])
            for p in phases
        ]
        self.phases: list[list[BoundStage]] = bind_stages(
            self.bindings, physics.stages, discretization.pad
        )
        self.tables = [binding.tables for binding in self.bindings]  # of each phase
        self.injection = Injection(
            backend, discretization.interpolation, self.fields, faces, discretization.clock,
            scenario.time.dispersion_removal,
        )  # fmt: skip
        # Launches of features, to stages or beside them.
        self.added: list[AddedLaunches] = [
            launch for launches in acting("launches", scenario) for launch in launches(self, medium)
        ]
        # Images outside mirror faces, after the stage that writes the field.
        self.images = [
            {s.name: self._images(faces, physics, s, parity) for s in physics.stages}
            for parity in physics.parities
        ]

    def load_medium(self, discretization: Discretization) -> tuple[Averages, Averages]:
        """Set the coefficients to those of an earth; of bound stages they change in place.

        Args:
            discretization: of this run, with any earth that suits it.

        Returns:
            The averages (z, y, x) on the nodes, and the coefficients made of them.
        """
        medium = medium_of(discretization, self.subdomain)
        # That of the layers at the sides.
        in_layers, spread = layer_medium_of(discretization, self.subdomain, medium)
        coefficients = coefficients_of(discretization, self.subdomain, in_layers)
        self.set_coefficients(coefficients, spread)
        return medium, coefficients

    def set_coefficients(
        self, coefficients: Averages, spread: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        """Set coefficients (z, y, x), spread over the points and the halo, in place if bound."""
        fill = partial(self._fill, self.discretization.image_faces)
        self.fields.set_coefficients(coefficients, fill, spread)

    @property
    def stages(self) -> list[BoundStage]:
        """The stages in the first phase; all work on the same arrays."""
        return self.phases[0]

    def state(self) -> dict[str, CheckpointArray]:
        """Return the state of the subdomain: fields and memory variables, by name."""
        # Stages may share their memory.
        memories = {id(m.array): m for stage in self.stages for m in stage.memories}.values()
        fields = self.fields
        stored, filled = (
            {name: [self.subdomain.global_block(f"field.{name}", box)] for name in fields.wavefield}
            for box in (self.subdomain.with_images, self.subdomain.padded)
        )
        arrays = {
            name: CheckpointArray(a, stored[name], filled[name])
            for name, a in fields.wavefield.items()
            if not fields.physics.named(name).on_surface
        }
        return arrays | {f"memory{n}": m for n, m in enumerate(memories)}

    def _fill(self, faces: list[Face], array: Any) -> None:
        for face in touching(faces, self.subdomain):
            for launch in image(self.backend, None, face, self.subdomain, array):
                launch()

    def _images(self, faces, physics: Physics, stage: Stage, parity: int):
        # As in halos: memory variables are not read there. Fields of a few rows are read where the
        # ground is level beside a face, as 0.
        named = (physics.named(name) for name in physics.exchanged(stage))
        written = tuple(f for f in named if f.buffer is None and not f.on_surface)
        arrays = self.fields.arrays(parity)
        return bind_images(self.backend, faces, written, self.subdomain, lambda name: arrays[name])

"""The discretization of a scenario: grid, earth, time step, geometry; no solver arrays.

It has facts that features give, by type (`Facts`), and facts that are derived once, when first
asked for (`derived`). A run whose shots are shared out otherwise (`Discretization.sharing`) has the
same dictionary of derived facts, so that none of them is derived again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.acquisition.spectra import dominant_frequency, highest_frequency
from seismo.acquisition.trace_processing import extra_steps
from seismo.equations.framework.table import Physics, Stage
from seismo.features import acting
from seismo.grid.coefficients import Stencil
from seismo.grid.coordinates import VerticalCoordinate
from seismo.grid.grid import Box, Grid
from seismo.grid.interpolation import RADIUS
from seismo.grid.surface_closure import BesideRefinement, RowWeights, SurfaceClosure
from seismo.grid.time_step import Clock
from seismo.model.contacts import ON_CONTACT, SlipContacts
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
from seismo.scenario import Scenario
from seismo.solver.accuracy.waves import Waves
from seismo.solver.boundary_images import Face
from seismo.solver.grid_layout import (
    GridInterface,
    RowGroup,
    halo_of,
    image_faces,
    reached,
    regions,
)
from seismo.solver.interpolation.layer_contacts import contact_depths, fluid_density, layers_of
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.interpolation.traction_free_slopes import SurfaceSlope, tilted_surface
from seismo.solver.medium.field_damping import LayerDamping
from seismo.solver.sampling.output_sets import (
    PeakMapSet,
    Series,
    make_all_maps,
    make_all_series,
)

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Facts:
    """Facts that features give of a run, each asked for by its type, or a type that it extends.

    Attributes:
        entries: the facts, of unlike types.
    """

    entries: tuple[object, ...] = ()

    def get(self, kind: type[Fact]) -> Fact | None:
        """Return the fact of a type, or None."""
        return next((fact for fact in self.entries if isinstance(fact, kind)), None)

    def __getitem__(self, kind: type[Fact]) -> Fact:
        """Return the fact of a type.

        Raises:
            KeyError: no feature has given it.
        """
        fact = self.get(kind)
        if fact is None:
            raise KeyError(kind)
        return fact

    def having(self, *facts: object) -> Facts:
        """Return the same with further facts, which replace others of their types."""
        kinds = tuple(type(fact) for fact in facts)
        return Facts((*(fact for fact in self.entries if type(fact) not in kinds), *facts))


class HasFacts(Protocol):
    """A run that keeps its derived facts, by the functions that derive them."""

    @property
    def derived_facts(self) -> dict[object, Any]:
        """The facts derived so far."""


def derived_once(derive: Callable[[Any], Fact]) -> Callable[[Any], Fact]:
    """Let a function of a run derive its fact once, however the run's shots are shared out."""

    @wraps(derive)
    def fact_of(run: HasFacts) -> Fact:
        if derive not in run.derived_facts:
            run.derived_facts[derive] = derive(run)
        fact: Fact = run.derived_facts[derive]
        return fact

    return fact_of


class derived(Generic[Fact]):  # noqa: N801 - used as a decorator
    """A property that is derived once for a run."""

    def __init__(self, derive: Callable[[Any], Fact]) -> None:
        self._fact_of = derived_once(derive)
        self.__doc__ = derive.__doc__

    def __get__(self, run: HasFacts, owner: type) -> Fact:
        """Return the fact."""
        return self._fact_of(run)


_ON_PLANE = 1e-6  # of a cell: above the plane, but on it


@dataclass(frozen=True)
class Discretization:
    """The run that a scenario comes down to before any array is made.

    Attributes:
        scenario: the scenario.
        physics: the wave equation.
        grid: the grid.
        earth: vp, vs, rho anywhere.
        extremes: of the earth on the grid.
        waves: that the grid has to carry.
        clock: time step and number of steps.
        stencil: order and tolerance of the spatial differences.
        closure: closed operators under an elastic free surface, or None.
        slope: of vz that this surface prescribes, or None.
        shots: the sources of every shot.
        survey_shots: the same of all jobs of an array, of which this run has a share.
        groups: the receiver sets.
        batch: shots that advance together.
        field_damping: of fields in absorbing layers, whose medium guides waves that grow there.
        grids: side by side, each with a share of the shots, on as many of the ranks.
        facts: that features give.
        interface: where the grid meets another of another spacing, or None.
        subdivision: cells in a cell of the coarsest grid, along an axis.
        above: the run on the grid above that, whose results are its own there, or None.
        fastest_beside: the fastest wave of the other grid in m/s, for layers alike on both.
        even: by stage, of every plane z, whether its medium is that of `IsotropicPlanes`.
        derived_facts: facts derived so far, none of which depends on `batch` or `grids`.
    """

    scenario: Scenario
    physics: Physics
    grid: Grid
    earth: Earth
    extremes: Extremes
    waves: Waves
    clock: Clock
    stencil: Stencil
    closure: SurfaceClosure | None
    slope: SurfaceSlope | None
    shots: list[Shot]
    survey_shots: list[Shot]
    groups: list[ReceiverGroup]
    batch: int = 1
    facts: Facts = field(default_factory=Facts)
    even: dict[str, np.ndarray] = field(default_factory=dict)
    grids: int = 1
    field_damping: LayerDamping = field(default_factory=LayerDamping)
    interface: GridInterface | None = None
    subdivision: int = 1
    above: Discretization | None = None
    fastest_beside: float = 0.0
    derived_facts: dict[object, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __getitem__(self, kind: type[Fact]) -> Fact:
        """Return the fact of a type that a feature has given.

        Raises:
            KeyError: none has.
        """
        return self.facts[kind]

    def fact(self, kind: type[Fact]) -> Fact | None:
        """Return the fact of a type; None where no feature has given it."""
        return self.facts.get(kind)

    def having(self, *facts: object) -> Discretization:
        """Return the same with facts of a feature, in place of others of their types."""
        return replace(self, facts=self.facts.having(*facts))

    def sharing(self, batch: int, grids: int) -> Discretization:
        """Return the same run with other shots together; the facts of both are the same."""
        above = None if self.above is None else self.above.sharing(batch, grids)
        shared = copy(self)
        vars(shared).update(batch=batch, grids=grids, above=above)
        return shared

    @property
    def slips(self) -> SlipContacts:
        """The level contacts along which media slip on each other."""
        return self.fact(SlipContacts) or SlipContacts()

    @property
    def vertical(self) -> VerticalCoordinate | None:
        """The ground that rows follow; None where they are flat."""
        return self.fact(VerticalCoordinate)

    def shots_on(self, grid: int) -> range:
        """Return the shots on a grid, of shots that advance together."""
        first, last = (self.batch * n // self.grids for n in (grid, grid + 1))
        return range(first, last)

    @property
    def each(self) -> int:
        """The most shots that a grid has."""
        return math.ceil(self.batch / self.grids)

    @derived
    def uneven(self) -> dict[str, np.ndarray]:
        """By stage, of every plane z, whether it needs all coefficients."""
        # Coefficients that the surface stage reads are kept in its row.
        surface = {n for s in self.physics.stages if s.where == "surface" for n in s.coefficients}
        closed = {stage for name, stage in self.physics.sparse.items() if name in surface}
        stored = {stage: ~planes for stage, planes in self.even.items()}
        for stage in closed:  # the free surface's row does
            stored[stage][0] |= self.closure is not None
        return stored

    @property
    def extra_steps(self) -> int:
        """Steps beyond the duration that complete the last trace samples."""
        return extra_steps(self.clock.steps, self.scenario.time.dispersion_removal)

    @property
    def total_steps(self) -> int:
        """Steps of a batch of shots."""
        return self.clock.steps + self.extra_steps

    @property
    def layer_phases(self) -> tuple[tuple[int, float], ...]:
        """The first step and the damping of the fields of each part of the run."""
        return self.field_damping.phases(self.total_steps)

    def reached(self, stage: Stage) -> Box:
        """Return the points that a stage may change."""
        return reached(stage, self.grid, self.closed_rows) & self.live

    @property
    def pad(self) -> int:
        """Margin of layer memory: half the order where it is differentiated, else 0."""
        return self.stencil.order // 2 if self.physics.differences == "second" else 0

    @property
    def reach(self) -> int:
        """Points beside an absorbing layer whose derivatives still see its memory."""
        # Order / 2 - 1: how far beside a layer the outer difference reads its flux memory.
        return max(0, self.pad - 1)

    @property
    def halo(self) -> int:
        """Points that parts of the grid hold of their neighbours."""
        curved = self.vertical is not None
        return halo_of(self.scenario, self.stencil.order, curved, self.subdivision > 1)

    @derived
    def curved_rows(self) -> RowWeights | None:
        """The weights of rows that follow the ground; None where it is flat."""
        return next((rows(self) for rows in acting("curved_rows", self.scenario)), None)

    @property
    def closed_rows(self) -> int:
        """Rows under a free surface with operators of their own."""
        if self.curved_rows is not None:
            return self.curved_rows.closed
        return self.closure.rows if self.closure else 0

    def has(self, positions: np.ndarray, height: float = 0.0) -> np.ndarray:
        """Return which positions (..., 3) in m lie on this side of the plane of another grid.

        Or of a level so many m above the plane.
        """
        z = np.asarray(positions)[..., 2]
        plane = self.interface
        if plane is None:
            return np.ones(z.shape, bool)
        # Both grids round alike: no position in whole spacings lies on the level.
        level = float(self.grid.coordinate("z", plane.row)) - height - _ON_PLANE * plane.spacing
        return z < level if plane.is_below else z >= level

    def reads(self, positions: np.ndarray) -> np.ndarray:
        """Return which receivers at positions (..., 3) in m this grid has.

        Next to the plane these are the coarser grid's, which has points on both sides of it.
        """
        # Reading takes RADIUS points on either side.
        return self.has(positions, RADIUS * (self.interface.spacing if self.interface else 0.0))

    @property
    def points(self) -> int:
        """Points that a step of a shot updates, absorbing layers and all grids included."""
        return sum(grid.live.size for grid in self.grids_of_spacing)

    @derived
    def refined_rows(self) -> BesideRefinement | None:
        """The differences beside the plane where two spacings meet, or None."""
        return next((rows(self) for rows in acting("refined_rows", self.scenario)), None)

    @property
    def plane_rows(self) -> BesideRefinement:
        """The same, where there are two grids."""
        assert self.refined_rows
        return self.refined_rows

    @property
    def live_grid(self) -> Grid:
        """The rows that are updated, on this side of such a plane, as a grid."""
        return self.interface.side if self.interface else self.grid

    @property
    def live(self) -> Box:
        """The points that are updated."""
        nx, ny, rows = self.live_grid.points
        # Above the plane all rows down to it, below it all from it on.
        first = 0 if self.subdivision > 1 else self.grid.points[2] - rows
        return Box((0, 0, first), (nx, ny, first + rows))

    @property
    def ground(self) -> VerticalCoordinate | None:
        """The ground that rows of any of its grids follow; None where it is flat."""
        return self.grids_of_spacing[-1].vertical

    @property
    def own_earth(self) -> Earth:
        """The earth on this grid's side of the plane, which goes on beyond it as at its edge.

        Cells on the plane are halved by it: their averages are of their own halves.
        """
        if self.interface is None:
            return self.earth
        plane = float(self.grid.coordinate("z", self.interface.row))
        _, y, x = self.earth.clamp
        top, bottom = self.grid.limits("z")
        # A contact on the plane is below the finer grid's half.
        just_above = plane - _ON_PLANE * self.grid.spacing[2]
        z = (top, just_above) if self.interface.is_below else (plane, bottom)
        return replace(self.earth, clamp=(z, y, x))

    @property
    def fastest(self) -> float:
        """The fastest wave in m/s, of all grids."""
        return max(self.physics.fastest(self.extremes), self.fastest_beside)

    @property
    def coarsest_spacing(self) -> float:
        """The largest spacing in m."""
        return max(self.waves.spacing)

    @derived
    def highest_frequency(self) -> float:
        """Frequency in Hz above which all sources radiate less than 1 % of their peak."""
        return highest_frequency(self.scenario, self.shots[0].summaries)

    @derived
    def dominant_frequency(self) -> float:
        """The lowest of the sources' dominant frequencies in Hz."""
        return dominant_frequency(self.scenario)

    @derived
    def contact_depths(self) -> np.ndarray:
        """Depths (n) in m where a medium of a layered earth ends suddenly, from the top."""
        return contact_depths(self.earth, self.grid)

    @derived
    def image_faces(self) -> list[Face]:
        """The faces whose outside is an image of the inside."""
        return image_faces(self.scenario.boundaries, self.grid, self.physics)

    @derived
    def series(self) -> list[Series]:
        """The series of snapshots of this grid that are written."""
        every = make_all_series(self.scenario, self.grid, self.physics, self.clock)
        shown = [series for series in every if self._shows("snapshots", series.name)]
        added = (recorded(self) for recorded in acting("series", self.scenario))
        return [*shown, *chain.from_iterable(added)]

    @derived
    def maps(self) -> list[PeakMapSet]:
        """The maps of largest values of this grid that are written."""
        every = make_all_maps(self.scenario, self.grid, self.physics, self.clock.dt)
        return [maps for maps in every if self._shows("maps", maps.name)]

    @property
    def all_maps(self) -> list[PeakMapSet]:
        """The maps of largest values of all grids."""
        return [maps for grid in self.grids_of_spacing for maps in grid.maps]

    def _shows(self, kind: str, name: str) -> bool:
        """Whether a set is of this grid: of the coarser grid if not of the finer."""
        shown = () if self.above is None else getattr(self.above.scenario.output, kind)
        return all(name != entry.name for entry in shown)

    @property
    def grids_of_spacing(self) -> list[Discretization]:
        """The run on its grids: the coarser grid, and the finer grid above it."""
        return [self] if self.above is None else [self, self.above]

    def rests(self, positions: np.ndarray) -> np.ndarray:
        """Return whether a fluid that stays at rest is at positions (..., 3) in m.

        A position on a contact is of the solid.
        """
        if not (self.physics.fluid_rests and self.extremes.fluid):
            return np.zeros(positions.shape[:-1], bool)
        step = np.array([0.0, 0.0, ON_CONTACT * self.grid.spacing[2]])
        above, below = (
            self.earth.at(positions + side * step, self.grid.dimensions)["vs"] == 0.0
            for side in (-1.0, 1.0)
        )
        return np.asarray(above & below)

    @derived
    def row_groups(self) -> Callable[[int], list[RowGroup]]:
        """Return regions of a kind of row each, for lanes of so many numbers."""
        grid = self.grid.damped
        curved = self.curved_rows.count if self.curved_rows else 0
        rows = self.refined_rows.rows if self.refined_rows else (0, 0)
        return cache(lambda lane: regions(grid, lane, self.closed_rows, self.reach, curved, rows))

    @property
    def _level_slopes(self) -> tuple[SurfaceSlope | None, SurfaceSlope | None]:
        """Slopes of vz and of derivatives that a level free surface prescribes."""
        closure = None if self.slope else self.closure
        return self.slope, tilted_surface(
            self.physics, self.earth, self.grid, self.stencil, closure
        )

    @derived
    def interpolation(self) -> PointInterpolation:
        """How fields are read at points, and sources spread."""
        grid = self.grid
        averaging = self.scenario.averaging
        # Beside contacts, on ground that slopes: the rules of features.
        candidates = (make(self) for make in acting("point_rules", self.scenario))
        rules = tuple(rule for rule in candidates if rule is not None)
        layers = None
        if not self.extremes.uniform:
            slips = tuple(contact for rule in rules for contact in rule.slips)
            first = self.stencil.first
            layers = layers_of(self.physics, self.earth, grid, averaging, first, slips)
        # Slopes that the surface prescribes: of a level surface, unless a feature has others.
        slopes = next((rule.slopes for rule in rules if rule.slopes is not None), None)
        slope, tilted = slopes or self._level_slopes
        imaged = any(face.kind == "free_surface" for face in self.image_faces)
        fluids = fluid_density(self.earth, grid, averaging)
        return PointInterpolation(
            grid, self.physics, self.closure, imaged, self.stencil, slope, tilted,
            layers, fluids, rules, self.rests,
        )  # fmt: skip

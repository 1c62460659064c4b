"""The discretization of a scenario: grid, earth, time step, geometry; no solver arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from seismo.acquisition.geometry import Geometry
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.shots import Share, Shot, evenly, with_plane_waves, with_subfaults
from seismo.acquisition.source_frequencies import dominant_frequency, highest_frequency
from seismo.acquisition.trace_processing import extra_steps
from seismo.equations.fluid_solid_contact import Contact
from seismo.equations.fluid_solid_operators import row_norms
from seismo.equations.registry import physics_for
from seismo.equations.table import Physics, Stage
from seismo.errors import gathered
from seismo.grid.coefficients import Stencil
from seismo.grid.curved_rows import RowWeights, row_weights
from seismo.grid.grid import Box, Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.time_step import Clock
from seismo.grid.topography import Topography
from seismo.model import Earth, Extremes
from seismo.model.contact_depths import contact_depths
from seismo.model.guides import GuidedDamping, damping
from seismo.scenario import Scenario
from seismo.solver import cpml
from seismo.solver.accuracy import choose_stencil, least_order, refuse_uncarried
from seismo.solver.attenuation import relaxation_of, stepping
from seismo.solver.boundary_images import Face
from seismo.solver.closed_surface import free_surface, surface_of
from seismo.solver.curved_ground import curved
from seismo.solver.derived_facts import derived
from seismo.solver.fluid_contacts import contacts_of
from seismo.solver.grid_layout import halo_of, image_faces, make_grid, refuse_thin, refuse_unfit
from seismo.solver.ground import topography_of
from seismo.solver.ground_slope import ground_slopes
from seismo.solver.growing_rows import refuse_growing_contacts
from seismo.solver.half_precision import halved
from seismo.solver.incident_background import refuse_background
from seismo.solver.incident_terms import incident_terms, incident_waves
from seismo.solver.layered_reading import layers_of
from seismo.solver.map_quantities import PeakMapSet, make_all_maps
from seismo.solver.medium import even_planes, read_earth
from seismo.solver.memory_storage import relaxing
from seismo.solver.one_sided_reading import fluid_density
from seismo.solver.point_weights import PointInterpolation
from seismo.solver.snapshot_series import Series, make_all_series
from seismo.solver.stages import reached
from seismo.solver.subfaults import placed_faults
from seismo.solver.surface_slope import SurfaceSlope
from seismo.solver.tilted_surface import tilted_surface
from seismo.solver.time_step import Scheme, limits_of, make_clock
from seismo.solver.waves import Waves, waves_of

BATCH_POINTS = 1 << 20  # small shots advance together up to so many points; see `Backend`


@dataclass(frozen=True)
class Discretization:
    """What a scenario comes down to before any array is made.

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
        slope: what that surface prescribes of vz, or None.
        shots: the sources of every shot.
        groups: the receiver sets.
        batch: shots that advance together.
        guided_damping: of fields in absorbing layers, whose medium guides waves that grow there.
        grids: that stand side by side, each with some of these shots, on as many of the ranks.
        facts: that have been derived of it, none of which depends on `batch` or `grids`.
        contacts: horizontal contacts of fluid and solid whose rows are corrected.
        interfaces: all of them.
        even: by stage, of every plane z, whether its medium is that of `IsotropicPlanes`.
        topography: the ground that rows follow, None where it is flat.
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
    groups: list[ReceiverGroup]
    batch: int = 1
    contacts: tuple[Contact, ...] = ()
    interfaces: list[Contact] = field(default_factory=list)
    even: dict[str, np.ndarray] = field(default_factory=dict)
    topography: Topography | None = None
    grids: int = 1
    guided_damping: GuidedDamping = field(default_factory=GuidedDamping)
    facts: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def sharing(self, batch: int, grids: int) -> Discretization:
        """Return the same run with other shots together; the facts of both are the same."""
        shared = copy(self)
        object.__setattr__(shared, "batch", batch)
        object.__setattr__(shared, "grids", grids)
        return shared

    def shots_on(self, grid: int) -> range:
        """Return the shots on one of the grids, of those that advance together."""
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
        return self.guided_damping.phases(self.total_steps)

    def reached(self, stage: Stage) -> Box:
        """Return the points that a stage may change."""
        return reached(stage, self.grid, self.closed_rows)

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
        return halo_of(self.stencil.order, self.topography is not None)

    @derived
    def curved_rows(self) -> RowWeights | None:
        """The weights of rows that follow the ground; None where it is flat."""
        if self.topography is None or self.closure is None:
            return None
        return row_weights(self.topography, self.stencil, self.closure)

    @property
    def closed_rows(self) -> int:
        """Rows under a free surface with operators of their own."""
        if self.curved_rows is not None:
            return self.curved_rows.closed
        return self.closure.rows if self.closure else 0

    @property
    def fastest(self) -> float:
        """The fastest wave in m/s."""
        return self.physics.fastest(self.extremes)

    @property
    def coarsest_spacing(self) -> float:
        """The largest spacing in m."""
        return max(self.waves.spacing)

    @derived
    def highest_frequency(self) -> float:
        """Frequency in Hz above which all sources radiate less than 1 % of their peak."""
        return highest_frequency(self.scenario)

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
        return image_faces(self.scenario, self.grid, self.physics)

    @derived
    def series(self) -> list[Series]:
        """The series of snapshots that are written."""
        return make_all_series(self.scenario, self.grid, self.physics, self.clock)

    @derived
    def maps(self) -> list[PeakMapSet]:
        """The maps of largest values that are written."""
        return make_all_maps(self.scenario, self.grid, self.physics, self.clock.dt)

    subfaults = derived(placed_faults)  # of the only shot that has any
    incident_waves = derived(incident_waves)
    incident_terms = derived(incident_terms)  # for all subdomains
    pml_profiles = derived(cpml.profiles)

    @derived
    def row_groups(self) -> Callable[[int], list[cpml.RowGroup]]:
        """Return regions of one kind of row each, for lanes of so many numbers."""
        grid = self.grid.damped
        curved = self.curved_rows.count if self.curved_rows else 0
        return cache(lambda lane: cpml.regions(grid, lane, self.closed_rows, self.reach, curved))

    @derived
    def interpolation(self) -> PointInterpolation:
        """What the weights of sources and receivers depend on beside their positions."""
        grid = self.grid
        averaging = self.scenario.averaging
        first = self.stencil.first
        layers = None
        if not self.extremes.uniform:
            layers = layers_of(self.physics, self.earth, grid, averaging, first, self.contacts)
        imaged = any(face.kind == "free_surface" for face in self.image_faces)
        slope = self.slope
        closure = None if slope else self.closure
        tilted = tilted_surface(self.physics, self.earth, grid, self.stencil, closure)
        if self.topography is not None:
            slope, tilted = ground_slopes(self.physics, self.earth, self.topography, self.stencil)
        return PointInterpolation(
            grid, self.physics, self.closure, imaged, self.stencil.order // 2, slope,
            self.contacts, row_norms(self.contacts, first, grid.points[2]),
            fluid_density(self.earth, grid, averaging), layers, tilted, self.topography,
            self.extremes.uniform,
        )  # fmt: skip


def discretize(
    scenario: Scenario, batch_points: int = BATCH_POINTS, share: Share | None = None
) -> Discretization:
    """Discretize a scenario: grid, earth, time step and geometry.

    Args:
        scenario: a checked scenario.
        batch_points: small shots advance together up to so many points.
        share: which of the shots, all when None.

    Raises:
        ScenarioError: a model file, position or time step will not do.
    """
    grid = make_grid(scenario)
    relaxation = relaxation_of(scenario)
    topography = topography_of(scenario, grid)
    slopes = topography is not None
    options = relaxation or scenario.options
    physics = physics_for(scenario.equation.name, grid.dimensions, options, slopes)
    refuse_unfit(scenario, physics)
    geometry = Geometry(scenario, grid, topography)
    read_model = partial(read_earth, scenario, grid, physics, relaxation, topography)
    steps: tuple[Callable[[], Any], ...] = (read_model, geometry.shots, geometry.groups)
    (earth, extremes, sample), shots, groups = gathered(steps)
    shots = [with_subfaults(shot, earth, grid.dimensions) for shot in shots]
    shots = [with_plane_waves(shot, earth, grid, extremes) for shot in shots]
    sources = [source for shot in shots for source in shot.sources]
    # Closure of a free surface, by what lies among its rows.
    surface = None
    if scenario.boundaries.top == "free_surface":
        read = np.array([z for group in groups for z in group.read_positions[:, 2]])
        surface = free_surface(physics, earth, grid, sources, read, sample.wet, slopes)
    # Order and coefficients, by the waves that the grid has to carry.
    top = (surface.kind(least_order(scenario.grid)), surface.sources) if surface else (None, None)
    waves = waves_of(scenario, physics, grid, earth.layered, sample.media(), shots, groups, *top)
    refuse_uncarried(scenario, waves)
    stencil = choose_stencil(scenario.grid, waves)
    closure, slope = surface_of(surface, earth, grid, stencil)
    refuse_thin(scenario, grid, physics, stencil.order, closure, slopes)
    interfaces, contacts = contacts_of(scenario, physics, earth, grid, stencil, closure)
    refuse_growing_contacts(scenario, grid, contacts, closure, stencil.order // 2)
    # Stability limit of a uniform medium, and what contacts and averages leave of it.
    scheme = Scheme(physics, grid, stencil, closure, topography)
    limit, safe = limits_of(scenario, scheme, earth, extremes, contacts)
    clock_of = partial(make_clock, scenario, limit, safe)
    clock, relaxation = stepping(relaxation, scenario, extremes, clock_of)
    if not scenario.time.dispersion_removal:
        waves = replace(waves, dt=clock.dt)
    setup = Discretization(
        scenario, physics, grid, earth, extremes, waves, clock, stencil, closure, slope, shots,
        groups, contacts=contacts, interfaces=interfaces, topography=topography,
    )  # fmt: skip
    if relaxation is not None:
        setup = relaxing(setup, relaxation)
    if scenario.in_16_bits:
        setup = halved(setup)
    setup = curved(setup)
    # What depends on how the medium relaxes; of the shots, those of this run.
    on_rigid = scenario.boundaries.bottom == "rigid"
    guided = damping(setup.earth, grid, closure is not None, on_rigid, setup.fastest)
    setup = replace(
        setup,
        shots=shots if share is None else share.take(shots),
        even=even_planes(setup),
        guided_damping=guided.replaced(scenario.boundaries.layer.damping, setup.total_steps),
    )
    refuse_background(setup)
    return batched(setup, batch_points)


def batched(setup: Discretization, batch_points: int, grids: int = 1) -> Discretization:
    """Let small shots advance together up to so many points, unless the scenario says how many.

    Args:
        setup: the run.
        batch_points: of the shots on each grid.
        grids: that stand side by side.
    """
    shots = len(setup.shots)
    survey = setup.scenario.survey
    if survey is None or survey.batch == "auto":
        together = evenly(shots, batch_points // setup.grid.size, grids)
    else:
        together = min(shots, survey.batch * grids)
    return setup.sharing(together, grids)

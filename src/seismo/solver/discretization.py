"""What a scenario comes down to before any array is made: grid, earth, time step, geometry."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from seismo.acquisition.geometry import Geometry, Share, Shot
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.trace_processing import extra_steps
from seismo.equations.fluid_solid_contact import Contact, find_contacts
from seismo.equations.fluid_solid_operators import stable_share
from seismo.equations.registry import physics_for
from seismo.equations.table import Physics, Stage
from seismo.errors import ModelError, ScenarioError, gathered
from seismo.grid.coefficients import Stencil, largest_second_symbol, largest_symbol
from seismo.grid.grid import AXES, Box, Grid, triple
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.time_step import Clock, choose_clock, stability_limit
from seismo.model import Earth, Extremes, build_earth, cell_average, extremes_of, plain_planes
from seismo.model.column import NODES
from seismo.model.guides import damping
from seismo.model.stiffness import excess
from seismo.solver.accuracy import choose_stencil, least_order, refuse_uncarried
from seismo.solver.boundary_images import Face
from seismo.solver.closed_surface import free_surface, surface_of
from seismo.solver.peak_maps import PeakMapSet, make_maps
from seismo.solver.stages import reached
from seismo.solver.surface_slope import SurfaceSlope
from seismo.solver.waves import Waves, waves_of

BATCH_POINTS = 1 << 20  # small shots advance together up to so many points; see `Backend`
MOST_STEPS = 20_000_000  # what is due when is listed step by step
EVEN_RUN = 8  # planes of even medium that are worth launches of their own
_FACES = (("x", "x_min", "x_max"), ("y", "y_min", "y_max"), ("z", "top", "bottom"))


def make_grid(scenario: Any) -> Grid:
    """Lay out the grid of a scenario, absorbing layers included."""
    spec, faces = scenario.grid, scenario.boundaries
    axes = "xyz" if scenario.dimensions == 3 else "xz"
    points, low, high = [1, 1, 1], [0, 0, 0], [0, 0, 0]
    for axis, first, last in _FACES:
        if axis not in axes:
            continue
        a = AXES.index(axis)
        width = faces.layer.points
        low[a] = width if getattr(faces, first) == "absorbing" else 0
        high[a] = width if getattr(faces, last) == "absorbing" else 0
        cells = round(getattr(spec.extent, axis) / getattr(spec.spacing, axis))
        # A periodic axis has its last node on its first.
        inner = cells if getattr(faces, first) == "periodic" else cells + 1
        points[a] = inner + low[a] + high[a]
    spacing = (spec.spacing.x, spec.spacing.y or 1.0, spec.spacing.z)
    origin = (spec.origin.x, spec.origin.y, spec.origin.z)
    return Grid(axes, triple(points), spacing, origin, triple(low), triple(high))


def halo_of(order: int) -> int:
    """Return the points that parts of the grid hold of their neighbours."""
    return max(2, order // 2)


def image_faces(scenario: Any, grid: Grid, physics: Physics) -> list[Face]:
    """List the faces whose outside is an image of the inside."""
    found = []
    for axis, first, last in _FACES:
        for name, high in ((first, False), (last, True)):
            kind = getattr(scenario.boundaries, name)
            closed = kind == "free_surface" and physics.closes_surface
            if axis in grid.axes and kind != "absorbing" and not closed:
                found.append(Face(axis, high, kind))
    return found


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
        guided_damping: of the fields in all of the absorbing layers, as a share of the layers' own;
            0 where the medium guides no waves that grow there.
        grids: that stand side by side, each with some of these shots, on as many of the ranks.
        contacts: horizontal contacts of fluid and solid whose rows are corrected.
        even: by stage, of every plane z, whether its medium is even (`Even`) wherever one looks.
    """

    scenario: Any
    physics: Physics
    grid: Grid
    earth: Earth
    extremes: Any
    waves: Waves
    clock: Clock
    stencil: Stencil
    closure: SurfaceClosure | None
    slope: SurfaceSlope | None
    shots: list[Shot]
    groups: list[ReceiverGroup]
    batch: int = 1
    contacts: tuple[Contact, ...] = ()
    even: dict[str, np.ndarray] = field(default_factory=dict)
    grids: int = 1
    guided_damping: float = 0.0

    def shots_on(self, grid: int) -> range:
        """Return the shots on one of the grids, of those that advance together."""
        first, last = (self.batch * n // self.grids for n in (grid, grid + 1))
        return range(first, last)

    @property
    def each(self) -> int:
        """The most shots that a grid has."""
        return math.ceil(self.batch / self.grids)

    @property
    def uneven(self) -> dict[str, np.ndarray]:
        """By stage, of every plane z, whether it needs all coefficients."""
        surface = {n for s in self.physics.stages if s.where == "surface" for n in s.coefficients}
        closed = {stage for name, stage in self.physics.sparse.items() if name in surface}
        found = {stage: ~planes for stage, planes in self.even.items()}
        for stage in closed:  # the free surface's row does
            found[stage][0] |= self.closure is not None
        return found

    @property
    def extra_steps(self) -> int:
        """Steps beyond the duration that complete the last trace samples."""
        return extra_steps(self.clock.steps, self.scenario.time.dispersion_removal)

    def reached(self, stage: Stage) -> Box:
        """Return the points that a stage may change."""
        return reached(stage, self.grid, self.closure is not None)

    @property
    def pad(self) -> int:
        """Margin of layer memory: half the order where it is differentiated, else 0."""
        return self.stencil.order // 2 if self.physics.differences == "second" else 0

    @property
    def reach(self) -> int:
        """Points beside an absorbing layer whose derivatives still see its memory."""
        return max(0, self.pad - 1)

    @property
    def halo(self) -> int:
        """Points that parts of the grid hold of their neighbours: contacts and maps reach two."""
        return halo_of(self.stencil.order)

    @property
    def fastest(self) -> float:
        """The fastest wave in m/s."""
        return self.physics.fastest(self.extremes)


def maps_of(setup: Discretization) -> list[PeakMapSet]:
    """Return the maps of a run."""
    return [make_maps(m, setup.grid, setup.physics) for m in setup.scenario.output.maps]


def evenly(shots: int, each: int, grids: int = 1) -> int:
    """Share shots out between batches of at most `each` on every grid, as evenly as can be."""
    batches = math.ceil(shots / (max(1, each) * grids))
    return min(shots, math.ceil(shots / batches / grids) * grids)


def discretize(
    scenario: Any, batch_points: int = BATCH_POINTS, share: Share | None = None
) -> Discretization:
    """Work out grid, earth, time step and geometry of a scenario.

    Args:
        scenario: a checked scenario.
        batch_points: small shots advance together up to so many points.
        share: which of the shots, all when None.

    Raises:
        ScenarioError: a model file, position or time step will not do.
    """
    grid = make_grid(scenario)
    physics = physics_for(scenario.physics, grid.dimensions, scenario.options)
    if physics.differences == "second" and scenario.boundaries.layer.kappa != 1:
        raise scenario.mistake(
            "boundaries", "layer", "kappa",
            problem=f"the layers of {scenario.physics} waves, driven by second differences, do not "
            "stretch; leave it out, or use another physics",
        )  # fmt: skip
    geometry = Geometry(scenario, grid)
    steps: tuple[Callable[[], Any], ...] = (
        partial(_earth, scenario, grid, physics), geometry.shots, geometry.groups
    )  # fmt: skip
    (earth, extremes), shots, groups = gathered(steps)
    surface = None
    if scenario.boundaries.top == "free_surface":
        sources = [source for shot in shots for source in shot.sources]
        read = np.array([z for group in groups for z in group.positions[:, 2]])
        surface = free_surface(physics, earth, grid, sources, read)
    kind = surface.kind(least_order(scenario.grid)) if surface else None
    near = surface.near if surface else 0.0
    waves = waves_of(scenario, physics, grid, earth, shots, groups, kind, near)
    refuse_uncarried(scenario, waves)
    stencil = choose_stencil(scenario.grid, waves)
    closure, slope = surface_of(surface, earth, grid, stencil)
    fastest = physics.fastest(extremes)
    intervals = [r.interval for r in scenario.receivers if r.interval is not None]
    intervals += [s.interval for s in scenario.output.snapshots if s.interval is not None]
    contacts: tuple[Contact, ...] = ()
    if physics.fluid_meets_solid and scenario.averaging == "effective":
        contacts = find_contacts(earth, grid, stencil.order // 2, closure.rows if closure else 0)
    limit = _limit(physics, grid, stencil, closure, fastest)
    shares = [stable_share(k, stencil.first, grid) * fastest / k.fastest for k in contacts]
    if physics.differences == "first":
        averaging = scenario.averaging
        more = excess(earth, grid, stencil.first, physics.medium, averaging, extremes)
        shares.append(more**-0.5)
    clock = _clock(scenario, limit, _safe(scenario, earth, extremes, shares), intervals)
    if not scenario.time.dispersion_removal:
        waves = replace(waves, dt=clock.dt)
    shots = shots if share is None else share.take(shots)
    even = _even_planes(scenario, physics, grid, earth, extremes, contacts)
    found = Discretization(
        scenario, physics, grid, earth, extremes, waves, clock, stencil, closure, slope, shots,
        groups, contacts=contacts, even=even,
        guided_damping=damping(earth, grid, closure is not None, clock.steps),
    )  # fmt: skip
    return batched(found, batch_points)


def batched(setup: Discretization, batch_points: int, grids: int = 1) -> Discretization:
    """Let small shots advance together up to so many points, unless the scenario says how many.

    Args:
        setup: the run.
        batch_points: of the shots on each grid.
        grids: that stand side by side.
    """
    shots, survey = len(setup.shots), setup.scenario.survey
    if survey is None or survey.batch == "auto":
        together = evenly(shots, batch_points // setup.grid.size, grids)
    else:
        together = min(shots, survey.batch * grids)
    return replace(setup, batch=together, grids=grids)


def _even_planes(
    scenario: Any, physics: Physics, grid: Grid, earth: Earth, extremes: Extremes, contacts
) -> dict[str, np.ndarray]:
    """Return which planes are even for each stage that asks; short runs do not pay."""
    z, x = (_nodes(grid, a) for a in "zx")
    y = _nodes(grid, "y") if grid.dimensions == 3 else None
    spacing = dict(zip(AXES, grid.spacing, strict=True))
    found = {}
    for stage, rule in [(s, s.even) for s in physics.stages if s.even]:
        if earth.layered:
            column = cell_average(
                earth, z, y if y is None else y[:1], x[:1], spacing, (*physics.medium, *rule.asks),
                scenario.averaging, dtype=np.float64,
            )  # fmt: skip
            even = rule.where(column).reshape(-1)
        elif rule.everywhere(extremes):
            even = np.ones(z.size, bool)
        else:
            even = plain_planes(earth, z, y, x, spacing, scenario.averaging, rule.of_density)
        if rule.of_density:
            even[:-1] &= even[1:].copy()
        else:
            even[[contact.row for contact in contacts]] = False
        found[stage.name] = even
        ends = [0, *(np.flatnonzero(np.diff(even)) + 1), even.size]
        for first, last in pairwise(ends):
            even[first:last] &= last - first >= EVEN_RUN
    return found


def _earth(scenario: Any, grid: Grid, physics: Physics) -> tuple[Earth, Extremes]:
    """Return the earth, and its extremes on the grid."""
    y_limits = grid.limits("y") if grid.dimensions == 3 else None
    clamp = (grid.limits("z"), y_limits, grid.limits("x"))
    spacing = {a: grid.spacing[AXES.index(a)] for a in grid.axes}
    z, y, x = (_nodes(grid, a) for a in "zyx")
    y_nodes = y if grid.dimensions == 3 else None
    cells = scenario.averaging == "effective"
    try:
        earth = build_earth(scenario.model, scenario.base, physics.needs, clamp, spacing)
        return earth, extremes_of(earth, z, y_nodes, x, spacing, cells)
    except ModelError as error:
        placed = [scenario.mistake(*e.key, problem=e.problem) for e in (error, *error.others)]
        kind = ScenarioError if error.others else ModelError
        raise kind(*(text for one in placed for text in one.messages)) from None


def _safe(scenario: Any, earth: Earth, extremes: Extremes, contacts: list[float]) -> float:
    """Return the share of the limit of a uniform medium that the averages of this one leave.

    Sharp averages (`seismo.model.column`) are stiffer than any medium by their room at most, and
    contacts of fluid and solid leave shares of their own
    (`seismo.equations.fluid_solid_operators`).
    """
    found = list(contacts)
    if scenario.averaging == "effective" and earth.layered and not extremes.uniform:
        found.append(1.0 - NODES.room)
    return min(found, default=1.0)


def _clock(scenario: Any, limit: float, safe: float, intervals: list[float]) -> Clock:
    spec = scenario.time
    share = min(1.0, spec.courant / safe)
    try:
        clock = choose_clock(spec.duration, safe * limit, share, spec.step, intervals)
    except ScenarioError as error:
        raise scenario.mistake("time", "step", problem=str(error)) from None
    if clock.steps > MOST_STEPS:
        raise scenario.mistake(
            "time", "duration",
            problem=f"takes {clock.steps:.3g} steps of {clock.dt:.3g} s, more than "
            f"{MOST_STEPS:.0e}; shorten it, or check its unit",
        )  # fmt: skip
    return clock


def _nodes(grid: Grid, axis: str) -> np.ndarray:
    return grid.coordinate(axis, np.arange(grid.points[AXES.index(axis)]))


def _limit(physics: Physics, grid: Grid, stencil: Stencil, closure, fastest: float) -> float:
    if physics.differences == "second":
        symbol = math.sqrt(largest_second_symbol(stencil.second))
    else:
        symbol = largest_symbol(stencil.first)
    growth = {"z": closure.growth} if closure is not None else {}
    return stability_limit(
        fastest, [(symbol * growth.get(a, 1.0), grid.spacing[AXES.index(a)]) for a in grid.axes]
    )

"""From a scenario to a wavefield that steps: `build(scenario) -> Simulation`, and its loop.

    for step:
        for stage:                       # velocity, then stress
            update edges, start halos    # what neighbours wait for
            update core, finish halos
            inject sources; fill images outside the faces
        sample receivers
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo import cpml, decomposition, wavelets
from seismo.backends.base import SweepTables
from seismo.backends.cpu import CpuBackend
from seismo.fields import Fields
from seismo.free_surface import Face, bind_images
from seismo.grid import AXES, Grid
from seismo.halo import Halo
from seismo.model import Earth, build_earth, cell_average
from seismo.model.earth import NEEDS
from seismo.physics import physics_for
from seismo.physics.table import Physics
from seismo.receivers import ReceiverGroup, Recorder, extra_steps
from seismo.schedule import Clock, choose_clock, stability_limit
from seismo.sources import Injection, Surroundings
from seismo.stages import Binding, BoundStage, bind_stages
from seismo.stencils import (
    SurfaceClosure,
    centred,
    largest_second_symbol,
    largest_symbol,
    staggered,
    surface_closure,
)
from seismo.survey import Geometry, Shot

BATCH_POINTS = 1 << 20  # small shots advance together up to this many points, to fill the caches
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
    spacing = tuple(getattr(spec.spacing, a) or 1.0 for a in AXES)
    origin = tuple(getattr(spec.origin, a) for a in AXES)
    return Grid(axes, tuple(points), spacing, origin, tuple(low), tuple(high))


def image_faces(scenario: Any, grid: Grid, physics: Physics) -> list[Face]:
    """List the faces whose outside is an image of the inside."""
    found = []
    for axis, first, last in _FACES:
        for name, high in ((first, False), (last, True)):
            kind = getattr(scenario.boundaries, name)
            closed = kind == "free_surface" and physics.closed_surface
            if axis in grid.axes and kind != "absorbing" and not closed:
                found.append(Face(axis, high, kind))
    return found


@dataclass(frozen=True)
class Setup:
    """What a scenario comes down to before any array is made.

    Attributes:
        scenario: the scenario.
        physics: the wave equation.
        grid: the grid.
        earth: vp, vs, rho anywhere.
        extremes: of the earth on the grid.
        clock: time step and number of steps.
        closure: closed operators under an elastic free surface, or None.
        shots: the sources of every shot.
        groups: the receiver sets.
    """

    scenario: Any
    physics: Physics
    grid: Grid
    earth: Earth
    extremes: Any
    clock: Clock
    closure: SurfaceClosure | None
    shots: list[Shot]
    groups: list[ReceiverGroup]

    @property
    def extra_steps(self) -> int:
        """Steps beyond the duration that complete the last trace samples."""
        return extra_steps(self.clock.steps, self.scenario.time.dispersion_removal)

    @property
    def batch(self) -> int:
        """Shots that advance together."""
        together = min(len(self.shots), max(1, BATCH_POINTS // self.grid.size))
        return math.ceil(len(self.shots) / math.ceil(len(self.shots) / together))

    @property
    def fastest(self) -> float:
        """The fastest wave in m/s."""
        return self.extremes.vs_max if self.physics.name == "elastic_sh" else self.extremes.vp_max


def prepare(scenario: Any) -> Setup:
    """Work out grid, earth, time step and geometry of a scenario.

    Raises:
        ScenarioError: a model file, position or time step will not do.
    """
    grid = make_grid(scenario)
    physics = physics_for(scenario.physics, grid.dimensions)
    clamp = tuple(grid.limits(a) if a in grid.axes else None for a in "zyx")
    spacing = dict(zip(AXES, grid.spacing, strict=True))
    earth = build_earth(scenario.model, scenario.base, NEEDS[physics.name], clamp, spacing)
    z, y, x = (_nodes(grid, a) for a in "zyx")
    extremes = earth.extremes(z, y if grid.dimensions == 3 else None, x)
    order, kind = scenario.grid.order, scenario.grid.stencil
    free = scenario.boundaries.top == "free_surface"
    closure = surface_closure(order, kind) if free and physics.closed_surface else None
    fastest = extremes.vs_max if physics.name == "elastic_sh" else extremes.vp_max
    intervals = [r.interval for r in scenario.receivers if r.interval is not None]
    intervals += [s.interval for s in scenario.output.snapshots]
    clock = choose_clock(
        scenario.time.duration,
        _limit(physics, grid, order, kind, closure, fastest),
        scenario.time.courant,
        scenario.time.step,
        intervals,
    )
    geometry = Geometry(scenario, grid)
    shots, groups = geometry.shots(), geometry.groups()
    return Setup(scenario, physics, grid, earth, extremes, clock, closure, shots, groups)


def _nodes(grid: Grid, axis: str) -> np.ndarray:
    return grid.coordinate(axis, np.arange(grid.points[AXES.index(axis)]))


def _limit(physics: Physics, grid: Grid, order: int, kind: str, closure, fastest: float) -> float:
    if physics.second_order:
        symbol = math.sqrt(largest_second_symbol(centred(order, kind)))
    else:
        symbol = largest_symbol(staggered(order, kind))
    growth = {"z": closure.growth} if closure is not None else {}
    return stability_limit(
        fastest, [(symbol * growth.get(a, 1.0), grid.spacing[AXES.index(a)]) for a in grid.axes]
    )


def _layer(setup: Setup) -> cpml.Layer:
    spec = setup.scenario.boundaries.layer
    alpha = spec.alpha
    if alpha is None:
        base = setup.scenario.base
        alpha = min(wavelets.dominant_frequency(s.wavelet, base) for s in setup.scenario.sources)
    return cpml.Layer(spec.reflection, spec.kappa, math.pi * alpha, spec.power, setup.fastest)


def _tables(setup: Setup, subdomain: decomposition.Subdomain) -> SweepTables:
    grid, dt = setup.grid, setup.clock.dt
    order, kind = setup.scenario.grid.order, setup.scenario.grid.stencil
    layer = _layer(setup)
    nz, ny, nx = subdomain.shape
    profiles = []
    for axis, length in zip(AXES, (nx, ny, nz), strict=True):
        a = AXES.index(axis)
        padded = np.tile([[0.0], [0.0], [1.0]] * 2, (1, length)).reshape(6, length)
        if axis in grid.axes:
            whole = cpml.profile(grid, axis, layer, dt)
            lo, hi = subdomain.owned.lo[a], subdomain.owned.hi[a]
            start = lo + subdomain.offset[a]
            padded[:, start : start + hi - lo] = whole[:, lo:hi]
        profiles.append(padded)
    spacing = np.array(grid.spacing)[:, None]
    closure = setup.closure
    up, down = (closure.up, closure.down) if closure else (np.zeros((1, 1)), np.zeros((1, 1)))
    return SweepTables(
        strides=np.array(subdomain.strides),
        first=staggered(order, kind)[None, :] / spacing,
        second=centred(order, kind)[None, :] / spacing**2,
        profiles=tuple(profiles),
        up=up / grid.spacing[2],
        down=down / grid.spacing[2],
        surface=subdomain.offset[2],
    )


def _medium(setup: Setup, subdomain: decomposition.Subdomain) -> dict[str, np.ndarray]:
    """Average the earth onto the nodes of a subdomain and its halo."""
    grid, a_halo = setup.grid, subdomain.halo
    (x0, y0, z0), (x1, y1, z1) = subdomain.owned.lo, subdomain.owned.hi
    z = grid.coordinate("z", np.arange(z0 - a_halo, z1 + a_halo))
    x = grid.coordinate("x", np.arange(x0, x1))
    y = None
    if grid.dimensions == 3:
        y = grid.coordinate("y", np.arange(y0 - a_halo, y1 + a_halo))
    spacing = dict(zip(AXES, grid.spacing, strict=True))
    medium = cell_average(
        setup.earth, z, y, x, spacing, setup.physics.medium, setup.scenario.averaging,
        dtype=np.float64,
    )  # fmt: skip
    return {k: v[:, None, :] if v.ndim == 2 else v for k, v in medium.items()}


class Part:
    """One subdomain: its arrays, bound stages and sources."""

    def __init__(self, setup: Setup, backend: Any, subdomain: decomposition.Subdomain) -> None:
        physics, scenario = setup.physics, setup.scenario
        self.subdomain = subdomain
        self.fields = Fields(backend, physics, subdomain)
        medium = _medium(setup, subdomain)
        self.fields.set_coefficients(physics.coefficients(medium, setup.clock.dt))
        faces = image_faces(scenario, setup.grid, physics)
        for name in self._coefficient_names(physics):
            self._fill(faces, name)
        closed_rows = setup.closure.rows if setup.closure else 0
        halo = scenario.grid.order // 2
        reach = halo if physics.second_order else 0
        binding = Binding(
            backend, subdomain, self.fields, _tables(setup, subdomain), scenario.grid.order,
            cpml.regions(setup.grid, backend.lane_width, closed_rows, reach),
            setup.closure.up.shape[1] if setup.closure else 0,
        )  # fmt: skip
        self.stages: list[BoundStage] = bind_stages(binding, physics.stages, reach)
        around = Surroundings(
            setup.grid, physics, setup.closure, any(f.kind == "free_surface" for f in faces)
        )
        self.injection = Injection(
            around, self.fields, setup.clock, scenario.time.dispersion_removal
        )
        self.images = [
            {s.name: self._images(faces, physics, s.writes, parity) for s in physics.stages}
            for parity in (0, 1)
        ]
        self.around = around

    @staticmethod
    def _coefficient_names(physics: Physics) -> list[str]:
        return list(dict.fromkeys(c for stage in physics.stages for c in stage.coefficients))

    def _fill(self, faces: list[Face], name: str) -> None:
        from seismo.free_surface import image

        for face in sorted(faces, key=lambda f: f.axis):
            image(None, face, self.subdomain, self.fields.arrays(0)[name])()

    def _images(self, faces, physics: Physics, names, parity: int):
        written = tuple(physics.named(name) for name in names)
        arrays = self.fields.arrays(parity)
        return bind_images(faces, written, self.subdomain, lambda name: arrays[name])


class Simulation:
    """A batch of shots on the grid, ready to step."""

    def __init__(self, setup: Setup, backend: Any, parts: tuple[int, int] = (1, 1)) -> None:
        """Allocate and bind everything; see `build`."""
        self.setup, self.backend = setup, backend
        halo = setup.scenario.grid.order // 2
        subdomains = decomposition.decompose(setup.grid, halo, parts, setup.batch)
        rows = [[Part(setup, backend, s) for s in row] for row in subdomains]
        self.parts = [part for row in rows for part in row]
        self._halos = [
            [
                Halo([[p.fields for p in row] for row in rows], stage.writes, parity)
                if stage.writes
                else None
                for stage in setup.physics.stages
            ]
            for parity in (0, 1)
        ]
        self.step = 0
        self.total_steps = setup.clock.steps + setup.extra_steps
        self.recorder = Recorder(
            self.parts[0].around, [p.fields for p in self.parts], setup.groups,
            setup.scenario.grid.order, setup.scenario.grid.stencil, setup.batch, self.total_steps,
        )  # fmt: skip
        self.load(setup.shots[: setup.batch])

    @property
    def points(self) -> int:
        """Points that one step updates, absorbing layers and shots included."""
        return self.setup.grid.size * self.setup.batch

    @property
    def bytes_per_point(self) -> int:
        """Bytes a perfect kernel moves for one point and step."""
        return self.setup.physics.numbers_per_point * np.dtype(self.backend.precision).itemsize

    @property
    def dt(self) -> float:
        """Time step in s."""
        return self.setup.clock.dt

    @property
    def steps(self) -> int:
        """Steps of the wanted duration."""
        return self.setup.clock.steps

    def load(self, shots: list[Shot]) -> None:
        """Start over with other shots, at most a batch of them."""
        sources = [list(shot.sources) for shot in shots]
        for part in self.parts:
            part.fields.clear()
            part.injection.load(sources, self.total_steps)
            for stage in part.stages:
                stage.clear()
        self.recorder.clear()
        self.step = 0

    def advance(self, steps: int) -> None:
        """Take a number of steps, at most up to `total_steps`."""
        if self.step + steps > self.total_steps:
            raise ValueError(f"{self.step} + {steps} steps exceed the run's {self.total_steps}")
        swaps = self.setup.physics.swap is not None
        for _ in range(steps):
            parity = self.step % 2 if swaps else 0
            self._step(parity)
            self.recorder.sample(self.step, parity)
            self.step += 1

    def _step(self, parity: int) -> None:
        for n, stage in enumerate(self.setup.physics.stages):
            for part in self.parts:
                part.stages[n].update_edges(parity)
            halo = self._halos[parity][n]
            if halo is not None:
                halo.start()
            for part in self.parts:
                part.stages[n].update_core(parity)
            if halo is not None:
                halo.finish()
            for part in self.parts:
                part.injection.inject(stage.name, self.step, parity)
                for fill in part.images[parity][stage.name]:
                    fill()

    def field(self, name: str) -> np.ndarray:
        """Give a field (shot, z, y, x) as the last step left it, layers included."""
        swaps = self.setup.physics.swap is not None
        parity = (self.step - 1) % 2 if swaps else 0
        nx, ny, nz = self.setup.grid.points
        whole = np.empty((self.setup.batch, nz, ny, nx), self.backend.precision)
        for part in self.parts:
            (_, y0, z0), (_, y1, z1) = part.subdomain.owned.lo, part.subdomain.owned.hi
            whole[:, z0:z1, y0:y1] = part.subdomain.inside(part.fields.written(name, parity))
        return whole


def build(
    scenario: Any, *, threads: int | None = None, parts: tuple[int, int] = (1, 1)
) -> Simulation:
    """Build the simulation of a scenario's first batch of shots.

    Args:
        scenario: a checked scenario.
        threads: threads to use, all cores when None.
        parts: subdomains along z and y (the answer does not depend on it).

    Raises:
        ScenarioError: something in the scenario cannot be built.
    """
    return Simulation(prepare(scenario), CpuBackend(scenario.precision, threads), parts)

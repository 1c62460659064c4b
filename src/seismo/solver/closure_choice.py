"""Choice of the closure of a free surface, by the media, sources and receivers among its rows.

In a single solid it is fitted, to forces or to moments; where a contact lies among the rows of an
earth that varies with depth only, and all sources and receivers stand on the surface or below the
rows, it is fitted to a contact so deep; elsewhere it is plain (`seismo.grid.surface_closure`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.equations.framework.table import Physics
from seismo.equations.rock import elastic_constants
from seismo.grid.coefficients import MIDPOINT, Stencil
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import (
    CONTACT_ORDER,
    CONTACT_ROWS,
    MOMENT_ROWS,
    ROWS,
    ClosureKind,
    SurfaceClosure,
    closure_kind,
    has_long_closure,
    most_rows,
    slowest,
    surface_closure,
)
from seismo.grid.surface_interpolation import (
    WEIGHTED_ROWS,
    SurfaceWeights,
    deepest,
    surface_weights,
)
from seismo.model.earth import Earth
from seismo.model.effective import GridCells, tensor
from seismo.model.effective.averaging import cell_average
from seismo.solver.interpolation.traction_free_slopes import (
    CONTACT,
    MOST_ROWS,
    SurfaceSlope,
    even_depths,
)

# A horizontal force among the rows, but below the depths of fitted weights, wants the closure for
# moments down to this depth in cells, and the near field of a vertical force errs there, in that of
# a moment. Traces 3 and 12 wavelengths away in 3-D at 5 and 7 points per wavelength, worst depth:
# of horizontal forces 9.8 and 6.2 % with the closure for forces, 2.8 and 1.8 % with that for
# moments, six cells deep 0.7, 0.3 and 1.3, 0.6 %; of vertical forces 1.8 and 1.0 % with the former,
# 2.5 and 0.7 % with the other.
SIDEWAYS_LAST = 6.0
# A vertical force errs by this share of a moment's error, down to this depth in cells, and by half
# as much as others further down.
VERTICAL = 0.7
VERTICAL_LAST = 4.4
VERTICAL_BELOW = 0.5
# The same of sources that fitted weights spread, relative to a moment so spread: of vertical forces
# next to the surface, of horizontal ones, and of shear moments next to it, whose own motion
# is small. 0.5, 1, 2.5, 4 cells deep in 2-D, 7 points, 3 wavelengths away: Fz 0.42, 0.42, 0.09,
# 0.08 %, Fx 0.20, 0.16, 0.34, 0.34 %, Mxz 2.1, 1.9, 0.42, 0.72 %.
WEIGHTED_VERTICAL = 0.6
WEIGHTED_SIDEWAYS = 0.38
WEIGHTED_SHEAR = 4.2
WEIGHTED_BELOW = 0.33
NEXT_TO_SURFACE = 1.75  # cells
# Relative change of a modulus or density within half a cell from which on the rows of a surface
# hold several media. Manufactured solutions of 8 to 16 points per wavelength in media that vary
# smoothly, but by 1 to 4 % there, have 10 to 40 times the error with fitted rows.
GRADIENT = 0.005
# A layer that ends among the rows, so many cells deep, wants a plain closure of less power: 1 where
# it is SOFTER times softer than all below, 2 a little further down. Errors of 1200/600 m/s on
# 3000/1700, 10 points per wavelength, with powers 3, 2, 1: 10 m of it 7.7, 7.9, 1.7 %; 15 m 2.2,
# 3.5, 0.7 %; 20 m 1.7, 0.6, 1.8 %; 35 m 2.3, 1.3, 1.1 %. The stiffer rock on top: 10 m 5.8, 9.2,
# 16 %; 20 m 7.2, 1.6, 10 %. Of 1200/600 on 1300/650, 20 m: 1.5, 0.6, 5.9 %.
SHALLOWEST = 1.0
SHALLOW = 3.0
SOFTER = 2.0
# Rows fitted to a contact do better where the shear modulus jumps SOFTER times, or MUCH_SOFTER
# above this depth in cells. 10 points, vx, plain and fitted: 1200/600 on 3000/1700, 15, 23, 30 and
# 40 m of it 0.8 and 0.4, 1.9 and 0.3, 1.4 and 0.4, 1.4 and 0.4 %; 2000/1000 on that, 16, 23, 40 m
# 0.6 and 1.2, 1.1 and 0.2, 0.8 and 0.5 %; 1200/600 on 1300/650, 16, 23, 40 m 0.2 and 3.2, 0.3 and
# 0.8, 0.5 and 0.8 %. What acts or is read among the rows errs by 1.2 to 28 instead of 1 to 5 %.
# Beyond SOFTEST waves in layers of 800/250 m/s grew in absorbing layers with either rows, before
# these damped waves guided by such ground (`seismo.features.guided_waves.guides`).
MUCH_SOFTER = 4.0
DEEP = 2.0
SOFTEST = 20.0
BACKWARD = 0.005  # of the shear velocity of the surface: slower energy counts as still
_TOGETHER = 1 << 22  # nodes that are sampled at once
_FINE = 64  # samples per cell, in search of a contact


class SurfaceSources(NamedTuple):
    """How sources near a free surface err.

    Attributes:
        moments: whether sources among the rows of a fitted closure want that for moments.
        near_field: by how much the near field of sources among them, or of moments on the surface,
            errs whatever the closure, in that of a moment.
        below: by how much waves err that come from below the rows, relative to a moment.
        weighted: whether fitted weights (`surface_interpolation`) spread all that errs so.
    """

    moments: bool = False
    near_field: float = 0.0
    below: float = 1.0
    weighted: bool = False


class FreeSurface(NamedTuple):
    """Surroundings on which the closure of a free surface depends.

    Attributes:
        rows: half points below it and above the shallowest contact, of half points that a reading
            of vz uses; 0 without vz.
        even_rows: cells of a single solid below it (`GRADIENT`), as far as fits need.
        sources: among the rows, and below them.
        power: that a plain closure is best exact for.
        contact: depth in cells of the contact that the rows may be fitted to, else infinite.
        long: whether differences along z are bounded, for longer time steps.
    """

    rows: int
    even_rows: float
    sources: SurfaceSources = SurfaceSources()
    power: int = 3
    contact: float = math.inf
    long: bool = False

    def can_be_long(self, order: int) -> bool:
        """Whether there is a closure of bounded differences that does as well."""
        return self.kind(order) is ClosureKind.FORCES and has_long_closure(order, self.even_rows)

    def kind(self, order: int) -> ClosureKind:
        """Return the kind of closure of an order."""
        if self.long:
            return ClosureKind.LONG
        return closure_kind(order, self.even_rows, self.sources.moments, self.contact)

    def weights(self, order: int) -> SurfaceWeights | None:
        """Return the weights that read and act among the rows of its closure, if it has any."""
        return surface_weights(order, self.kind(order), self.even_rows)

    def closure(self, stencil: Stencil) -> SurfaceClosure:
        """Return the closure of a stencil."""
        kind = self.kind(stencil.order)
        even = self.contact if kind is ClosureKind.CONTACT else self.even_rows
        return surface_closure(stencil, kind, even, self.power)


def free_surface(
    physics: Physics,
    earth: Earth,
    grid: Grid,
    sources: Iterable[Any],
    read: np.ndarray,
    wet: bool,
    slopes: bool = False,
) -> FreeSurface | None:
    """Return the surroundings of a free surface that differences close, None where images make it.

    Args:
        physics: the wave equation.
        earth: the medium.
        grid: the grid.
        sources: of all shots, each with its kind and its position in m.
        read: depths (n) in m of all receivers.
        wet: whether there is a fluid on the surface.
        slopes: whether it follows the ground, where fits to flat surfaces do not apply.
    """
    if not physics.closes_surface:
        return None
    if slopes:
        return FreeSurface(0, 0.0)
    # What is fitted is P-SV motion of rock alike in all directions along the surface, where shear
    # strains are no part of the slope of vz.
    psv = any(field.name == "vz" for field in physics.fields)
    if not psv or ({"theta", "c33"} & set(earth.needs) and _tilted(earth, grid, most_rows())):
        return FreeSurface(0, 0.0)
    # Depths, in cells, of sources and of readings.
    acting = [(s, float(grid.index("z", s.position[2]))) for s in sources]
    ends = np.append([z for _, z in acting], grid.index("z", read))
    beside = ((MOMENT_ROWS[0] < ends) & (ends < MOMENT_ROWS[1])).any()
    contact, even = even_depths(earth, grid, WEIGHTED_ROWS, (CONTACT, GRADIENT))
    if wet:  # fits are of solids: under water the plain closure errs less
        even = 0.0
    # Rows of a closure do not reach into an absorbing layer below them, nor beyond the grid.
    halves = grid.rows_above_layers - 1
    even = min(even, halves)
    rows = max(1, math.ceil(min(contact, MOST_ROWS, halves)))
    fitted = math.inf if beside or halves < CONTACT_ROWS else _lone_contact(earth, grid)
    power = _plain_power(earth, grid, contact)
    return FreeSurface(rows, even, _shallow(acting, even), power, fitted)


def _shallow(sources: Sequence[tuple[Any, float]], even_rows: float) -> SurfaceSources:
    """Return the sources as a surface sees them, by depths in cells and rows of a single solid."""
    first, last = MOMENT_ROWS
    reach = deepest(even_rows)
    forces = [(s, z) for s, z in sources if s.kind == "force"]
    level = [(s, z) for s, z in forces if any(s.strength.get(a) for a in "xy")]
    moments = [(s, z) for s, z in sources if s.kind != "force" and z < last]
    lying = [z for _, z in level if first < z < SIDEWAYS_LAST]
    standing = [z for _, z in forces if first < z < VERTICAL_LAST]
    # Moments among the rows want the closure for moments; horizontal forces below the weights, too.
    sideways = any(z > reach for z in lying)
    wanted = sideways or first < max((z for _, z in moments), default=0.0)
    below = VERTICAL_BELOW if forces and len(forces) == len(sources) and not level else 1.0
    if not all(first < z <= reach for z in (*(z for _, z in moments), *lying, *standing)):
        # What is vertical errs less, among the rows and below them.
        near_field = 1.0 if lying or moments else VERTICAL * bool(standing)
        return SurfaceSources(wanted, near_field, below)
    shares = [WEIGHTED_VERTICAL for z in standing if z < NEXT_TO_SURFACE]
    shares += [WEIGHTED_SIDEWAYS for _ in lying] + [1.0 for _ in moments]
    shares += [WEIGHTED_SHEAR for s, z in moments if z < NEXT_TO_SURFACE and _shears(s)]
    if below < 1.0 and max(z for _, z in forces) <= reach:
        below = WEIGHTED_BELOW
    return SurfaceSources(wanted, max(shares, default=0.0), below, weighted=True)


def _shears(source: PointSource) -> bool:
    """Whether a source is a moment along the surface that turns about a line on it."""
    return any(source.strength.get(name) for name in ("xz", "yz"))


def _tilted(earth: Earth, grid: Grid, rows: int) -> bool:
    """Whether rock without an upright axis reaches into so many rows, or rows that they read."""
    z, y, x = (
        grid.coordinate(a, np.arange(n)) for a, n in zip("zyx", grid.points[::-1], strict=True)
    )
    z = z[: rows + len(MIDPOINT)]
    if earth.layered:
        y = y[:1]
        x = x[:1]
    # Slabs of y, which bound the memory.
    for y_block in np.array_split(y, -(-y.size * x.size * z.size // _TOGETHER)):
        medium = earth.sample(*tensor(z, y_block if grid.dimensions == 3 else None, x))
        if not np.all(elastic_constants.upright(medium)):
            return True
    return False


def surface_of(
    surface: FreeSurface | None, earth: Earth, grid: Grid, stencil: Stencil
) -> tuple[SurfaceClosure | None, SurfaceSlope | None]:
    """Return the closure of a free surface, and the slope of vz that it prescribes, or None.

    Args:
        surface: the free surface that differences close, or None.
        earth: the medium.
        grid: the grid.
        stencil: of the differences.
    """
    if surface is None:
        return None, None
    rows = surface.rows
    halo = stencil.order // 2
    fitted = surface.weights(stencil.order)
    slope = SurfaceSlope(grid, earth, rows, halo, fitted) if rows else None
    return surface.closure(stencil), slope


def _lone_contact(earth: Earth, grid: Grid) -> float:
    """Return the depth in cells of a contact of two solids that lies alone among the rows.

    Infinite without a contact, where it does not lead into stiffer rock, or where waves along rows
    fitted to it would run back: these grow in absorbing layers, by up to 10^5 in 3000 steps.
    """
    if not earth.layered:
        return math.inf
    profiles = _moduli(earth, grid, np.arange(CONTACT_ROWS * _FINE + 1) / _FINE)
    if not profiles.all():
        return math.inf
    # One sudden change among the rows, even media above and below.
    change = np.abs(np.diff(profiles)) / np.minimum(profiles[:, 1:], profiles[:, :-1]).clip(1e-300)
    jumps = np.flatnonzero((change > GRADIENT).any(0))
    if jumps.size != 1:
        return math.inf
    above, below = np.split(profiles, jumps + 1, axis=1)
    even = all((np.ptp(v, axis=1) < GRADIENT * v.min(axis=1)).all() for v in (above, below))
    # Depth of the contact in cells.
    depth = float(jumps[0] + 1) / _FINE
    wanted = SOFTER if depth > DEEP - 0.5 / _FINE else MUCH_SOFTER
    # P modulus no softer below, shear modulus as much stiffer as the depth asks.
    softer = below[1:, 0] > np.array([1.0, wanted]) * above[1:, -1]
    suits = even and softer.all() and below[2, 0] < SOFTEST * above[2, -1]
    return depth if suits and not _runs_back(earth, grid, depth) else math.inf


def _runs_back(earth: Earth, grid: Grid, contact: float) -> bool:
    """Whether energy of waves along rows fitted to a contact would run against their phase."""
    stencil = Stencil(CONTACT_ORDER)
    closure = surface_closure(stencil, ClosureKind.CONTACT, contact)
    z = grid.coordinate("z", np.arange(ROWS))
    names = ("rho", "c11", "c13", "c33", "c44")
    spacing = grid.cells
    across = np.zeros(1) if grid.dimensions == 3 else None
    # Modes of the closed rows: group against phase velocity.
    medium = cell_average(
        earth, GridCells(z, across, np.zeros(1), spacing), names, dtype=np.float64
    )
    flat = {name: array.reshape(-1) for name, array in medium.items()}
    velocity = math.sqrt(flat["c44"][0] / flat["rho"][0])
    return slowest(closure, stencil, flat) < -BACKWARD * velocity


def _moduli(earth: Earth, grid: Grid, rows: np.ndarray) -> np.ndarray:
    """Return density, P and S modulus (3, n) of a solid that varies with depth only."""
    z = grid.coordinate("z", rows)
    down, across = (z[:, None, None], np.zeros(1)) if grid.dimensions == 3 else (z[:, None], None)
    medium = earth.sample(down, across, np.zeros(1))
    speeds = np.array([np.ones(z.size), *(medium[v].ravel() for v in ("vp", "vs"))])
    return np.asarray(medium["rho"].ravel() * speeds**2)


def _plain_power(earth: Earth, grid: Grid, depth: float) -> int:
    """Return the power that a plain closure is best exact for under layers, `depth` cells thick."""
    if not earth.layered or depth > SHALLOW:
        return 3
    shear = _moduli(earth, grid, np.arange(2 * grid.points[2] - 1) / 2)[2]
    if shear.min() == 0.0:
        return 3
    if depth > SHALLOWEST:
        return 2
    return 1 if shear[int(2 * depth) + 1 :].min() > SOFTER * shear[0] else 3

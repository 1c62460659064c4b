"""What reading a field at any position depends on: the grid, its surface, where the field stands.

Receivers read with these weights, sources spread with them; both therefore agree on what happens
beside a free surface, and reciprocity holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seismo.contact import Contact
from seismo.contact_reading import FluidDensity, side_weights
from seismo.errors import ScenarioError
from seismo.grid import AXES, Grid
from seismo.interpolation import (
    RADIUS,
    Surface,
    axis_weights,
    derivative_weights,
    point_weights,
    slope_share,
)
from seismo.layered_reading import KINDS, Layers, Quantity
from seismo.model import Earth
from seismo.physics.table import Field, Physics
from seismo.stencils import Stencil
from seismo.strain_reading import StrainReading
from seismo.surface_closure import (
    MOMENT_ROWS,
    Kind,
    SurfaceClosure,
    closure_kind,
    most_rows,
    surface_closure,
)
from seismo.surface_slope import CONTACT, MOST_ROWS, Points, SurfaceSlope, even_depths


@dataclass(frozen=True)
class Surroundings:
    """What the weights of sources and receivers depend on beside the position.

    Attributes:
        grid: the grid.
        physics: the wave equation.
        closure: closed operators under an elastic free surface, or None.
        imaged: whether a free surface is made by images.
        halo: points beyond each face of the grid that a field has.
        slope: what the free surface prescribes of vz, or None.
        contacts: of fluid and solid.
        fluids: densities that motion along layers of fluid is read with, or None.
        layers: rows of an earth that varies with depth only, or None.
        norms: cells that node rows and half rows stand for (`contact_operators.row_norms`).
    """

    grid: Grid
    physics: Physics
    closure: SurfaceClosure | None
    imaged: bool
    halo: int
    slope: SurfaceSlope | None = None
    contacts: tuple[Contact, ...] = ()
    norms: tuple[np.ndarray, np.ndarray] | None = None
    fluids: FluidDensity | None = None
    layers: Layers | None = None

    def surface(self, field: Field) -> Surface | None:
        """Tell how a field continues above the free surface, if there is one."""
        half = "z" in field.half
        if self.closure is not None:
            stress = field.name.startswith("s")
            sloped = self.slope.rows if self.slope and field.name == "vz" else 0
            return Surface(0, vanishes=half and stress, sloped=sloped)
        if self.imaged:
            return Surface(1 if half else -1, vanishes=not half)
        return None

    def _index(self, position) -> list[float]:
        return [
            float(self.grid.index(a, p)) if a in self.grid.axes else 0.0
            for a, p in zip(AXES, position, strict=True)
        ]

    def weights(self, field: Field, position, kind: Quantity | None = None):
        """Give grid indices x, y, z and weights that read a field at a position in m.

        Where the surface prescribes its slope, that takes part besides: `columns`.

        Args:
            field: the field.
            position: x, y, z in m.
            kind: of what is read where the field stands (`seismo.layered_reading`), the field's
                own when None.
        """
        index, half, surface = self._index(position), "z" in field.half, self.surface(field)
        side = None
        if not slope_share(index[2], half, surface):  # its polynomial ends above the contacts
            side = side_weights(self.contacts, field.name, half, index[2], self.grid.points[2])
        kind = kind or KINDS.get(field.name)
        if side is None and kind and self.layers and self._under(index[2], half, surface):
            side = self.layers.weights(kind, half, index[2])
        found = point_weights(index, field.half, 0, surface, side)
        self.refuse_outside(found, position, "interpolate", ", or onto a grid point")
        if self.fluids is not None and field.name in ("vx", "vy") and not half:
            *places, some = found
            found = (*places, some * self.fluids.ratios(places[2], position[2]))
        return found

    @staticmethod
    def _under(place: float, half: bool, surface: Surface | None) -> bool:
        """Tell whether weights of even media reach no free surface at a place, in rows."""
        return surface is None or place - 0.5 * half >= RADIUS - 1

    def deep(self, position) -> bool:
        """Tell whether no weights for a position in m reach a free surface."""
        surfaces = [(self.surface(f), "z" in f.half) for f in self.physics.fields]
        place = self._index(position)[2]
        return all(self._under(place, half, surface) for surface, half in surfaces)

    def strains(self, position) -> StrainReading | None:
        """Return what reads strains among layers; None where the medium is even."""
        place = self._index(position)[2]
        if self.layers is None or not self.layers.uneven(place):
            return None

        def read(field: Field, kind: Quantity) -> Points:
            return Points(*self.weights(field, position, kind))

        return StrainReading(self.layers, self.physics, place, read)

    def columns(self, field: Field, position) -> Points | None:
        """Give the points of the surface whose slope takes part in a field, and how much (m)."""
        x, y, z = self._index(position)
        share = slope_share(z, "z" in field.half, self.surface(field))
        if not share:
            return None
        points = Points(*point_weights((x, y, 0.0), field.half.replace("z", "")))
        return points._replace(weights=points.weights * share * self.grid.spacing[2])

    def reading(self, field: Field, position) -> dict[str, Points]:
        """Give the points, by their field, that read a field at a position in m.

        Of a stress those that read the strain that it does work on.
        """
        strains = self.strains(position) if field.name[0] in "sp" else None
        if strains:
            return strains.strain(field.name)
        found = {field.name: Points(*self.weights(field, position))}
        columns = self.columns(field, position)
        return found | (self.slope.points(columns) if self.slope and columns else {})

    def derivative(self, field: Field, position) -> tuple[Points, dict[str, Points]] | None:
        """Return what reads d_z of a velocity under a surface that prescribes it; None without one.

        Returns:
            points where the derivative stands (half a cell up or down from the field), and the
            points, by their field, that tell its value on the surface.
        """
        if self.slope is None:
            return None
        x, y, z = self._index(position)
        half, across = "z" not in field.half, field.half.replace("z", "")
        side = side_weights(self.contacts, field.name, half, z, self.grid.points[2])
        further = side or axis_weights(z, half, 0, Surface(0, vanishes=False))
        rows, some, share = derivative_weights(z, half, self.slope.rows, further)
        points = Points(*point_weights((x, y, z), across, side=(rows, some)))
        columns = Points(*point_weights((x, y, 0.0), across))
        self.refuse_outside(columns, position, "interpolate")
        if not share:
            return points, {}
        columns = columns._replace(weights=share * columns.weights)
        if half:
            return points, self.slope.shear_points(across, columns)
        return points, self.slope.points(columns)

    def refuse_outside(self, points, position, what: str, instead: str = "") -> None:
        """Refuse a position in m whose points (x, y, z, ...) reach beyond those that fields have.

        Raises:
            ScenarioError: it lies too near a face to do `what`; what to do `instead` is told.
        """
        for a, axis in enumerate(AXES):
            first, last = points[a].min(initial=0), points[a].max(initial=0)
            over = max(-first, last - self.grid.points[a] + 1) - self.halo
            if axis in self.grid.axes and over > 0:
                raise ScenarioError(
                    f"{axis} = {position[a]:.6g} m lies too near a face of the grid to {what}: "
                    f"move it inwards by {over * self.grid.spacing[a]:g} m{instead}"
                )

    def norm(self, field: Field, z: np.ndarray) -> np.ndarray:
        """Give the share of a cell that points in row z stand for."""
        share = np.ones(len(z))
        if self.norms is not None:
            inside = (z >= 0) & (z < self.grid.points[2])
            share[inside] = self.norms["z" in field.half][z[inside]]
        if self.closure is not None:
            half = "z" in field.half
            norm = self.closure.half_norm if half else self.closure.node_norm
            near = z < len(norm)
            share[near] = norm[z[near]]
        return share


# A horizontal force among the rows wants the closure for moments down to this depth in cells, and
# the near field of a vertical one errs, in that of a moment. Traces 3 and 12 wavelengths away in
# 3-D at 5 and 7 points per wavelength, worst depth: of horizontal forces 9.8 and 6.2 % with the
# closure for forces, 2.8 and 1.8 % with that for moments, six cells deep 0.7, 0.3 and 1.3, 0.6 %;
# of vertical ones 1.8 and 1.0 % with the one, 2.5 and 0.7 % with the other.
SIDEWAYS_LAST, VERTICAL = 6.0, 0.3
# Relative change of a modulus or density within half a cell from which on the rows of a surface are
# not of one medium. Manufactured solutions of 8 to 16 points per wavelength in media that vary
# smoothly, but by 1 to 4 % there, have 10 to 40 times the error with fitted rows.
GRADIENT = 0.005
# A layer that ends among the rows, so many cells deep, wants a plain closure of less power: 1 where
# it is SOFTER times softer than all below, 2 a little further down. Errors of 1200/600 m/s on
# 3000/1700, 10 points per wavelength, with powers 3, 2, 1: 10 m of it 7.7, 7.9, 1.7 %; 15 m 2.2,
# 3.5, 0.7 %; 20 m 1.7, 0.6, 1.8 %; 35 m 2.3, 1.3, 1.1 %. The stiffer one on top: 10 m 5.8, 9.2,
# 16 %; 20 m 7.2, 1.6, 10 %. Of 1200/600 on 1300/650, 20 m: 1.5, 0.6, 5.9 %.
SHALLOWEST, SHALLOW, SOFTER = 1.0, 3.0, 2.0


class FreeSurface(NamedTuple):
    """What a free surface that differences close depends on, beside these.

    Attributes:
        rows: half points below it and above the shallowest contact, of those that a reading of vz
            uses; 0 without vz.
        even_rows: cells below it that are of one solid (`GRADIENT`), as far as fits ask for.
        moments: whether what acts among the rows of a fitted closure wants that for moments.
        near: by how much the near field of sources among them, or of moments on the surface, errs
            whatever the closure, in that of a moment.
        power: that a plain closure is best exact for.
    """

    rows: int
    even_rows: float
    moments: bool
    near: float = 0.0
    power: int = 3

    def kind(self, order: int) -> Kind:
        """Return the kind of closure of an order."""
        return closure_kind(order, self.even_rows, self.moments)


def free_surface(
    physics: Physics, earth: Earth, grid: Grid, sources: Iterable[Any]
) -> FreeSurface | None:
    """Return what the closure of a free surface depends on, None where images make it.

    Args:
        physics: the wave equation.
        earth: the medium.
        grid: the grid.
        sources: of all shots, each with its kind and its position in m.
    """
    if not physics.closed_surface:
        return None
    if not any(field.name == "vz" for field in physics.fields):  # what is fitted is P-SV motion
        return FreeSurface(0, 0.0, False)
    moments, near = _shallow([(s, float(grid.index("z", s.position[2]))) for s in sources])
    contact, even = even_depths(earth, grid, most_rows(), (CONTACT, GRADIENT))
    if _wet(earth, grid):  # fits are of solids: under water the plain closure errs less
        even = 0.0
    rows = max(1, math.ceil(min(contact, MOST_ROWS)))
    return FreeSurface(rows, even, moments, near, _plain_power(earth, grid, contact))


def _shallow(sources: Sequence[tuple[Any, float]]) -> tuple[bool, float]:
    """Return `moments` and `near` of a `FreeSurface`, of sources and their depths in cells."""
    first, last = MOMENT_ROWS
    forces = [s for s, z in sources if s.kind == "force" and first < z < SIDEWAYS_LAST]
    sideways = any(s.strength.get(a) for s in forces for a in "xy")
    moments = [z for s, z in sources if s.kind != "force" and z < last]
    lowest = first < max(moments, default=0.0)
    return sideways or lowest, 1.0 if sideways or moments else VERTICAL * bool(forces)


def _wet(earth: Earth, grid: Grid) -> bool:
    """Tell whether there is a fluid on the free surface."""
    y, x = (grid.coordinate(a, np.arange(grid.points[AXES.index(a)])) for a in "yx")
    if earth.layered:
        y, x = y[:1], x[:1]
    across = y[:, None] if grid.dimensions == 3 else None
    return bool((earth.sample(np.array(grid.coordinate("z", 0)), across, x)["vs"] == 0.0).any())


def surface_of(
    surface: FreeSurface | None, earth: Earth, grid: Grid, stencil: Stencil
) -> tuple[SurfaceClosure | None, SurfaceSlope | None]:
    """Return the closure of a free surface, and what the surface prescribes of vz, if anything.

    Args:
        surface: the free surface, if there is one that differences close.
        earth: the medium.
        grid: the grid.
        stencil: of the differences.
    """
    if surface is None:
        return None, None
    kind = surface.kind(stencil.order)
    closure = surface_closure(stencil, kind, surface.even_rows, surface.power)
    rows, halo = surface.rows, stencil.order // 2
    return closure, SurfaceSlope(grid, earth, rows, halo) if rows else None


def _plain_power(earth: Earth, grid: Grid, depth: float) -> int:
    """Return the power that a plain closure is best exact for under layers, `depth` cells thick."""
    if not earth.layered or depth > SHALLOW:
        return 3
    z = grid.coordinate("z", np.arange(2 * grid.points[2] - 1) / 2)
    down, across = (z[:, None, None], np.zeros(1)) if grid.dimensions == 3 else (z[:, None], None)
    medium = earth.sample(down, across, np.zeros(1))
    shear = (medium["rho"] * medium["vs"] ** 2).ravel()
    if shear.min() == 0.0:
        return 3
    if depth > SHALLOWEST:
        return 2
    return 1 if shear[int(2 * depth) + 1 :].min() > SOFTER * shear[0] else 3

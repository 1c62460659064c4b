"""What reading a field at any position depends on: the grid, its surface, where the field stands.

Receivers read with these weights, sources spread with them; both therefore agree on what happens
beside a free surface, and reciprocity holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seismo.equations.framework.table import Field, Physics
from seismo.errors import ScenarioError
from seismo.features.contacts.contact import Contact
from seismo.features.contacts.interpolation import (
    FluidDensity,
    own_side,
    side_weights,
)
from seismo.features.topography.rows import Topography
from seismo.features.topography.surface.shear import FITTED_ROWS, GroundTraction
from seismo.grid.grid import AXES, Grid
from seismo.grid.interpolation import (
    RADIUS,
    SURFACE_POINTS,
    Along,
    Surface,
    axis_weights,
    broad_weights,
    derivative_weights,
    point_weights,
    slope_share,
    value_share,
)
from seismo.grid.surface_closure import SurfaceClosure
from seismo.solver.interpolation.jump_conditions import KINDS, SlopeKind
from seismo.solver.interpolation.layer_contacts import Layers
from seismo.solver.interpolation.strain import StrainReading, joined
from seismo.solver.interpolation.thin_layer import ThinLayerReading
from seismo.solver.surface.surface_slope import (
    MOST_ROWS,
    Points,
    SurfaceSlope,
)

# Below the ground, that polynomials go through where contacts may cross them, and of fluids, whose
# rows next to it err more. Where the ground prescribes slopes few of them are read anyway.
_ROWS_ACROSS = 4


def _what_is_read(field: Field) -> str:
    """Return what `SurfaceWeights` read a field as: velocities, and the strains of the others."""
    if field.name.startswith("v"):
        return "across" if "z" in field.half else "along"
    return "shear" if "z" in field.half else "normal"


@dataclass(frozen=True)
class PointInterpolation:
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
        tilted: what a free surface prescribes of derivatives where that differs: of tilted rock,
            or on ground that slopes; None elsewhere.
        topography: the ground that rows follow, None where it is flat.
        uniform: whether the earth is one medium.
        traction: what ground that slopes prescribes of shear stresses, or None.
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
    tilted: SurfaceSlope | None = None
    topography: Topography | None = None
    uniform: bool = False
    traction: GroundTraction | None = None

    @cached_property
    def thin_layer(self) -> ThinLayerReading | None:
        """What reads motion along a surface on a thin soft layer; None without one."""
        if self.layers is None or self.closure is None or not self.closure.two_point:
            return None
        return ThinLayerReading(self.layers, self.closure)

    def surface(self, field: Field, sloped: bool = True) -> Surface | None:
        """Return how a field continues above the free surface, if there is one.

        `sloped`: with what that prescribes.
        """
        half = "z" in field.half
        # Closed differences: fields end at the surface; images: even or odd continuation.
        if self.closure is not None:
            known = self.slope.rows if self.slope and sloped and field.name == "vz" else 0
            # Over topography contacts may cross any row: six rows amplify a kink among them.
            fluid = "p" in self.physics.gradients
            across = self.topography is not None and (fluid or not self.uniform)
            rows = _ROWS_ACROSS if across else SURFACE_POINTS
            return Surface(0, vanishes=field.vanishes, sloped=known, rows=rows)
        if self.imaged:
            return Surface(1 if half else -1, vanishes=not half)
        return None

    def _index(self, position) -> list[float]:
        return [
            float(self.grid.index(a, p)) if a in self.grid.axes else 0.0
            for a, p in zip(AXES, position, strict=True)
        ]

    def weights(self, field: Field, position, kind: SlopeKind | None = None, fitted: bool = True):
        """Return grid indices x, y, z and weights that read a field at a position in m.

        Where the surface prescribes its slope, that takes part besides: `columns`.

        Args:
            field: the field.
            position: x, y, z in m.
            kind: of what is read where the field stands
                (`seismo.solver.interpolation.jump_conditions`), the field's own when None.
            fitted: whether fitted weights read it among the rows of a closure. Derivatives across
                the surface have none, and those along it do not either, whose errors cancel.
        """
        index = self._index(position)
        half = "z" in field.half
        surface = self.surface(field)
        among = self._among_rows(field, index[2]) if fitted else None
        side = among or self.side(field, index[2], kind)
        points = point_weights(index, field.half, 0, surface, side)
        self.refuse_outside(points, position, "interpolate", ", or onto a grid point")
        # Layers of fluid: rho v is continuous, not v.
        if self.fluids is not None and field.name in ("vx", "vy") and not half:
            *indices, some = points
            points = (*indices, some * self.fluids.ratios(indices[2], position[2]))
        return points

    def side(self, field: Field, z_index: float, kind: SlopeKind | None = None) -> Along | None:
        """Return rows and weights beside contacts; None where those of an even medium do.

        Args:
            field: the field.
            z_index: where, in rows.
            kind: as of `weights`.
        """
        half = "z" in field.half
        surface = self.surface(field)
        kind = kind or KINDS.get(field.name)
        # Beside contacts of fluid and solid: rows of the position's own side.
        side = None
        if not slope_share(z_index, half, surface):  # its polynomial ends above the contacts
            side = side_weights(self.contacts, field.name, half, z_index, self.grid.points[2])
        # Motion along the surface of a thin layer: weights that read its bends.
        if side is None and self.thin_layer and kind == "along" and z_index < RADIUS - 1:
            side = self.thin_layer.weights(z_index)
        # Among layers: weights that read kinks as the scheme has them.
        if side is None and kind and self.layers and self._under(z_index, half, surface):
            side = self.layers.weights(kind, half, z_index)
            if side and not own_side(self.contacts, half, z_index, side[0]):
                side = None
        return side

    def _among_rows(self, field: Field, z_index: float) -> Along | None:
        """Return rows and weights that belong to the closure; None where others do."""
        fitted = self.slope.fitted if self.slope else None
        what = _what_is_read(field)
        return fitted.weights(what, z_index) if fitted and fitted.reads(what, z_index) else None

    @staticmethod
    def _under(z_index: float, half: bool, surface: Surface | None) -> bool:
        """Whether weights of even media reach no free surface at a place, in rows."""
        return surface is None or z_index - 0.5 * half >= RADIUS - 1

    def deep(self, position) -> bool:
        """Whether no weights for a position in m reach a free surface."""
        surfaces = [(self.surface(f), "z" in f.half) for f in self.physics.fields]
        z_index = self._index(position)[2]
        return all(self._under(z_index, half, surface) for surface, half in surfaces)

    def strains(self, position) -> StrainReading | None:
        """Return what reads strains among layers; None where the medium is even."""
        z_index = self._index(position)[2]
        if self.layers is None or not self.layers.uneven(z_index):
            return None

        def read(field: Field, kind: SlopeKind) -> Points:
            # Strains by the stress that does work on them.
            points = Points(*self.weights(field, position, kind))
            if self.closure is None or field.name != "szz":
                return points
            # szz = 0 on the surface, where the differences of vz do not tell ezz.
            return points._replace(weights=np.where(points.z == 0, 0.0, points.weights))

        return StrainReading(self.layers, self.physics, z_index, read)

    def columns(self, field: Field, position, fitted: bool = True) -> Points | None:
        """Return the points of the surface whose slope takes part in a field, and how much (m)."""
        # Columns under the position, on the surface.
        x, y, z = self._index(position)
        # Weight of d_z vz on the surface, in m.
        share = slope_share(z, "z" in field.half, self.surface(field))
        if not share or (fitted and self._among_rows(field, z)):
            return None
        points = Points(*point_weights((x, y, 0.0), field.half.replace("z", "")))
        return points._replace(weights=points.weights * share * self.grid.spacing[2])

    def reading(self, field: Field, position) -> dict[str, Points]:
        """Return the points, by their field, that read a field at a position in m.

        Of a stress those that read the strain that it does work on.
        """
        # Stresses and pressure among layers: by the strain that they do work on.
        strains = self.strains(position) if field.name[0] in "sp" else None
        if strains:
            return strains.strain(field.name)
        under_slope = self._strain_under_slope(field, position)
        if under_slope:
            return under_slope
        points_by_field = {field.name: Points(*self.weights(field, position))}
        columns = self.columns(field, position)
        if self.slope and columns:
            for name, some in self.slope.points(columns).items():
                both = (points_by_field[name], some) if name in points_by_field else (some,)
                points_by_field[name] = joined(*both)
        return points_by_field

    def _strain_under_slope(self, field: Field, position) -> dict[str, Points] | None:
        """Return the points of the strain that a stress does work on under ground that slopes."""
        is_even = self.tilted is not None and self.tilted.rows >= MOST_ROWS
        is_high = self._index(position)[2] < FITTED_ROWS
        if self.traction and field.name in self.traction.names and is_even and is_high:
            return self.traction.fitted_strain(field.name, position)
        return self.stress_under_slope(field, position, of_strain=True)

    def stress_under_slope(
        self, field: Field, position, of_strain: bool = False
    ) -> dict[str, Points] | None:
        """Return the points, by their field, that read a stress under ground that slopes.

        None of other fields, and under level ground.

        Args:
            field: the field.
            position: x, y, s in m.
            of_strain: whether the strain is read that the stress does work on.
        """
        # Rows of the stress itself, and what the ground prescribes.
        traction = self.traction
        if traction is None or field.name not in traction.names:
            return None
        points = Points(*self.weights(field, position))
        half = "z" in field.half
        share = value_share(self._index(position)[2], half, self.surface(field))
        if not share:
            return {field.name: points}
        # The value on the ground, a zero or that of the first row, is what its traction prescribes.
        rows = np.where((points.z == 0) & (not half), 0.0, points.weights)
        points_by_field = {field.name: points._replace(weights=rows)}
        read = traction.strain if of_strain else traction.stress
        for name, some in read(field.name, position).items():
            some = some._replace(weights=share * some.weights)
            earlier = (points_by_field[name],) if name in points_by_field else ()
            points_by_field[name] = joined(*earlier, some)
        return points_by_field

    def spreading(self, field: Field, position) -> dict[str, Points]:
        """Return the points, by their field, that a source at a position in m acts on.

        They are those that read the field there, unless the equation asks for broad sources.
        """
        if not self.physics.broad_sources:
            return self.reading(field, position)
        # Broad sources: a wide kernel, without waves too short for the grid.
        index = [p if a in self.grid.axes else None
                 for a, p in zip(AXES, self._index(position), strict=True)]  # fmt: skip
        return {field.name: Points(*broad_weights(index, self.surface(field)))}

    def derivative(self, field: Field, position) -> tuple[Points, dict[str, Points]] | None:
        """Return what reads d_z of a velocity under a surface that prescribes it; None without one.

        Returns:
            points where the derivative stands (half a cell up or down from the field), and the
            points, by their field, that tell its value on the surface.
        """
        slope = self.tilted or self.slope
        if slope is None:
            return None
        x, y, z = self._index(position)
        half = "z" not in field.half
        across = field.half.replace("z", "")
        side = side_weights(self.contacts, field.name, half, z, self.grid.points[2])
        further = side or axis_weights(z, half, 0, Surface(0, vanishes=False))
        # Derivative along z from the rows, and of the surface's prescribed slope.
        rows, some, share = derivative_weights(z, half, slope.rows, further)
        points = Points(*point_weights((x, y, z), across, side=(rows, some)))
        columns = Points(*point_weights((x, y, 0.0), across))
        self.refuse_outside(columns, position, "interpolate")
        if not share:
            return points, {}
        columns = columns._replace(weights=share * columns.weights)
        if half:
            return points, slope.shear_points(across, columns)
        return points, slope.points(columns)

    def refuse_outside(self, points, position, what: str, instead: str = "") -> None:
        """Refuse a position in m whose points (x, y, z, ...) reach beyond those that fields have.

        Raises:
            ScenarioError: it lies too near a face to do `what`; what to do `instead` is told.
        """
        for a, axis in enumerate(AXES):
            # Extent of the points beyond the halo.
            first = points[a].min(initial=0)
            last = points[a].max(initial=0)
            over = max(-first, last - self.grid.points[a] + 1) - self.halo
            if axis in self.grid.axes and over > 0:
                raise ScenarioError(
                    f"{axis} = {position[a]:.6g} m lies too near a face of the grid to {what}: "
                    f"move it inwards by {over * self.grid.spacing[a]:g} m{instead}"
                )

    def norm(self, field: Field, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the share of a flat cell at the top that points (n) at grid indices stand for."""
        share = np.ones(len(z))
        # Rows at contacts stand for other shares of a cell; so do those of a closed surface.
        if self.norms is not None:
            inside = (z >= 0) & (z < self.grid.points[2])
            share[inside] = self.norms["z" in field.half][z[inside]]
        if self.closure is not None:
            half = "z" in field.half
            norm = self.closure.half_norm if half else self.closure.node_norm
            is_closed = z < len(norm)
            share[is_closed] = norm[z[is_closed]]
        if self.grid.stretching is not None:
            share = share * self.grid.heights(z + 0.5 * ("z" in field.half))
        if self.topography is not None:
            at = [
                self.grid.coordinate(a, n + 0.5 * (a in field.half))
                for a, n in zip("zyx", (z, y, x), strict=True)
            ]
            share = share * self.topography.height(*at)
        return share

"""Point interpolation: how fields are read, and sources spread, at any position of a grid.

Receivers read with these weights, sources spread with them; both therefore agree beside a free
surface, and reciprocity holds. Away from it the weights are of an even medium, or of the layers
about the position. Where a feature has others (beside contacts of fluid and solid, on ground that
slopes) it gives a `PointRule` at the place `point_rules`. Rules are asked in the order of the
features, and the first that answers is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seismo.equations.framework.table import Field, Physics, Term
from seismo.errors import ScenarioError
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES, Grid
from seismo.grid.interpolation import (
    RADIUS,
    SURFACE_POINTS,
    Along,
    Points,
    PointsByField,
    Surface,
    add_points,
    axis_weights,
    broad_weights,
    derivative_weights,
    point_weights,
    slope_share,
)
from seismo.grid.surface_closure import SurfaceClosure
from seismo.model.contacts import SlipContact
from seismo.solver.interpolation.layer_contacts import (
    KINDS,
    FluidDensity,
    Layers,
    SlopeKind,
)
from seismo.solver.interpolation.strains import StrainReading
from seismo.solver.interpolation.traction_free_slopes import SurfaceSlope, ThinLayerReading


def _kind_of(field: Field) -> str:
    """Return the quantity that `SurfaceWeights` read a field as: a velocity, or a strain."""
    if field.name.startswith("v"):
        return "across" if "z" in field.half else "along"
    return "shear" if "z" in field.half else "normal"


@dataclass(frozen=True, kw_only=True)
class PointRule:
    """Interpolation of a feature where that of an even medium, or of layers, does not do.

    A rule overrides the methods of which it knows better.

    Attributes:
        slips: contacts along which media slip on each other; no reading goes across them.
        slopes: of vz that is read, and of derivatives, which the surface prescribes in place of
            slopes of a level surface; None where these count.
        surface_rows: rows that polynomials below a closed surface go through, or None.
        by_depth: whether weights next to the surface depend on the depth alone.
    """

    slips: Sequence[SlipContact] = ()
    slopes: tuple[SurfaceSlope | None, SurfaceSlope | None] | None = None
    surface_rows: int | None = None
    by_depth: bool = True

    def side(self, name: str, half: bool, z_index: float) -> Along | None:
        """Return rows and weights that read a field, on half rows or not, at a depth in rows."""
        return None

    def one_sided_slope(self, half: bool, z_index: float, reach: int) -> Along | None:
        """Return rows and weights that read d_z (per row) of a velocity, on half rows or not.

        `reach`: rows on either side that it is read from elsewhere.
        """
        return None

    def differences(self, half: bool, row: int) -> Along | None:
        """Return rows and weights of d_z (per row) of a velocity, on half rows or not, in a row."""
        return None

    def norm(self, field: Field, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray | None:
        """Return the share of a flat cell that points (n) of a field stand for."""
        return None

    def level_terms(self, term: Term, position) -> list[Term] | None:
        """Return terms along the rows of the grid that a term is the sum of at a position in m."""
        return None

    def strain(
        self, interpolation: PointInterpolation, field: Field, position
    ) -> PointsByField | None:
        """Return the points of the strain that a stress does work on at a position in m."""
        return None

    def stress(
        self, interpolation: PointInterpolation, field: Field, position
    ) -> PointsByField | None:
        """Return the points that read a stress at a position in m."""
        return None


@dataclass(frozen=True)
class PointInterpolation:
    """The interpolation of fields at points of a grid, given its medium and its free surface.

    Attributes:
        grid: the grid.
        physics: the wave equation.
        closure: closed operators under an elastic free surface, or None.
        imaged: whether a free surface is made by images.
        stencil: of the differences.
        slope: of vz that the free surface prescribes, or None.
        tilted: slopes that it prescribes of derivatives where these differ, as of tilted rock; or
            None.
        layers: rows of an earth that varies with depth only, or None.
        fluids: densities that motion along layers of fluid is read with, or None.
        rules: of features, in their order.
        rests: function(position in m) -> whether a fluid that stays at rest is there, or None.
    """

    grid: Grid
    physics: Physics
    closure: SurfaceClosure | None
    imaged: bool
    stencil: Stencil
    slope: SurfaceSlope | None = None
    tilted: SurfaceSlope | None = None
    layers: Layers | None = None
    fluids: FluidDensity | None = None
    rules: tuple[PointRule, ...] = ()
    rests: Callable[[np.ndarray], Any] | None = None

    @property
    def halo(self) -> int:
        """Points beyond each face of the grid that differences read."""
        return self.stencil.order // 2

    @cached_property
    def thin_layer(self) -> ThinLayerReading | None:
        """The reading of motion along a surface on a thin soft layer; None without such a layer."""
        if self.layers is None or self.closure is None or not self.closure.two_point:
            return None
        return ThinLayerReading(self.layers, self.closure)

    @property
    def level(self) -> bool:
        """Whether the free surface prescribes the same slopes in all columns."""
        return all(rule.slopes is None for rule in self.rules)

    @property
    def by_depth(self) -> bool:
        """Whether weights next to the free surface depend on the depth alone."""
        return all(rule.by_depth for rule in self.rules)

    @cached_property
    def slips(self) -> tuple[SlipContact, ...]:
        """Contacts along which media slip on each other."""
        return tuple(contact for rule in self.rules for contact in rule.slips)

    def surface(self, field: Field, sloped: bool = True) -> Surface | None:
        """Return how a field continues above the free surface, if any.

        `sloped`: with the slope that it prescribes.
        """
        half = "z" in field.half
        # Closed differences: fields end at the surface; images: even or odd continuation.
        if self.closure is not None:
            known = self.slope.rows if self.slope and sloped and field.name == "vz" else 0
            rows = next((r.surface_rows for r in self.rules if r.surface_rows), SURFACE_POINTS)
            return Surface(0, vanishes=field.vanishes, sloped=known, rows=rows)
        if self.imaged:
            return Surface(1 if half else -1, vanishes=not half)
        return None

    def index(self, position) -> list[float]:
        """Return where a position in m is, in points along x, y, z."""
        return [
            float(self.grid.index(a, p)) if a in self.grid.axes else 0.0
            for a, p in zip(AXES, position, strict=True)
        ]

    def weights(
        self, field: Field, position, kind: SlopeKind | None = None, fitted: bool = True
    ) -> Points:
        """Return the points that read a field at a position in m.

        Where the surface prescribes its slope, that takes part besides: `columns`.

        Args:
            field: the field.
            position: x, y, z in m.
            kind: of the reading where the field stands
                (`seismo.solver.interpolation.layer_contacts`), the field's own when None.
            fitted: whether fitted weights read it among the rows of a closure. Derivatives across
                the surface have none, nor have derivatives along it, whose errors cancel.
        """
        index = self.index(position)
        surface = self.surface(field)
        among = self._among_rows(field, index[2]) if fitted else None
        side = among or self.side(field, index[2], kind)
        points = point_weights(index, field.half, 0, surface, side)
        self.refuse_outside(points, position, "interpolate", ", or onto a grid point")
        ratios = self.density_ratios(field, points.z, position[2])
        return points if ratios is None else points.times(ratios)

    def density_ratios(self, field: Field, rows: np.ndarray, z: float) -> np.ndarray | None:
        """Return rho(row) / rho(z in m), where rho times a field is read along layers of fluid."""
        # Motion along layers of fluid: rho v is continuous, not v.
        if self.fluids is None or field.name not in ("vx", "vy") or "z" in field.half:
            return None
        return self.fluids.ratios(rows, z)

    def side(self, field: Field, z_index: float, kind: SlopeKind | None = None) -> Along | None:
        """Return rows and weights beside contacts, or None where weights of an even medium do.

        Args:
            field: the field.
            z_index: where, in rows.
            kind: as of `weights`.
        """
        half = "z" in field.half
        surface = self.surface(field)
        kind = kind or KINDS.get(field.name)
        side = None
        if not slope_share(z_index, half, surface):  # its polynomial ends above any contact
            side = self._side_of_rules(field.name, half, z_index)
        # Motion along the surface of a thin layer: weights that read its bends.
        if side is None and self.thin_layer and kind == "along" and z_index < RADIUS - 1:
            side = self.thin_layer.weights(z_index)
        # Among layers: weights that read kinks as the scheme has them.
        if side is None and kind and self.layers and self._under(z_index, half, surface):
            side = self.layers.own_weights(kind, half, z_index)
        return side

    def _side_of_rules(self, name: str, half: bool, z_index: float) -> Along | None:
        """Return rows and weights of the first rule that has any."""
        # Rows of a side of a contact exclude other rows: the first answer is the only answer.
        sides = (rule.side(name, half, z_index) for rule in self.rules)
        return next((side for side in sides if side is not None), None)

    def _among_rows(self, field: Field, z_index: float) -> Along | None:
        """Return rows and weights that belong to the closure; None where others do."""
        fitted = self.slope.fitted if self.slope else None
        kind = _kind_of(field)
        return fitted.weights(kind, z_index) if fitted and fitted.reads(kind, z_index) else None

    @staticmethod
    def _under(z_index: float, half: bool, surface: Surface | None) -> bool:
        """Whether weights of even media reach no free surface at a place, in rows."""
        return surface is None or z_index - 0.5 * half >= RADIUS - 1

    def deep(self, position) -> bool:
        """Whether no weights for a position in m reach a free surface."""
        surfaces = [(self.surface(f), "z" in f.half) for f in self.physics.fields]
        z_index = self.index(position)[2]
        return all(self._under(z_index, half, surface) for surface, half in surfaces)

    def differences(self, field: Field, row: int) -> Along | None:
        """Return rows and weights of d_z (per row) of a velocity in a row that has its own."""
        every = (rule.differences("z" in field.half, row) for rule in self.rules)
        return next((along for along in every if along is not None), None)

    def one_sided_slope(self, field: Field, position) -> Points | None:
        """Return the points of d_z of a velocity beside a contact that slips; None elsewhere.

        Next to a surface that prescribes it `derivative` has them.
        """
        if (self.tilted or self.slope) and not self.deep(position):
            return None
        index = self.index(position)
        along = self._own_slope(index[2], "z" in field.half)
        if along is None:
            return None
        rows, weights = along
        return point_weights(
            index, field.half, side=(rows, weights / self.grid.edge("z", index[2]))
        )

    def _own_slope(self, z_index: float, half: bool = False) -> Along | None:
        """Return rows and weights of d_z (per row) of a velocity beside a contact that slips."""
        every = (rule.one_sided_slope(half, z_index, RADIUS + self.halo) for rule in self.rules)
        return next((along for along in every if along is not None), None)

    def strains(self, position, shears: bool = False) -> StrainReading | None:
        """Return the reading of strains among layers; None where the medium is even.

        `shears`: or beside contacts that slip, where shear strain ends.
        """
        z_index = self.index(position)[2]
        if self.layers is None:
            return None
        ends = shears and self._own_slope(z_index)
        if not (ends or self.layers.uneven(z_index)):
            return None

        def read(field: Field, kind: SlopeKind) -> Points:
            # Strains by the stress that does work on them.
            points = self.weights(field, position, kind)
            if self.closure is None or field.name != "szz":
                return points
            # szz = 0 on the surface, where the differences of vz do not tell ezz.
            return points._replace(weights=np.where(points.z == 0, 0.0, points.weights))

        return StrainReading(self.layers, self.physics, z_index, read)

    def columns(self, field: Field, position, fitted: bool = True) -> Points | None:
        """Return the points of the surface whose slope takes part in a field, and how much (m)."""
        # Columns under the position, on the surface.
        x, y, z = self.index(position)
        # Weight of d_z vz on the surface, in m.
        share = slope_share(z, "z" in field.half, self.surface(field))
        if not share or (fitted and self._among_rows(field, z)):
            return None
        points = point_weights((x, y, 0.0), field.half.replace("z", ""))
        return points._replace(weights=points.weights * share * self.grid.spacing[2])

    def reading(self, field: Field, position) -> PointsByField:
        """Return the points, by their field, that read a field at a position in m.

        Of a stress the points that read the strain that it does work on.
        """
        # Stresses and pressure among layers: by the strain that they do work on.
        strains = self.strains(position) if field.name[0] in "sp" else None
        if strains:
            return strains.strain(field.name)
        # Beside a feature with its own rule: the strain by that rule.
        for rule in self.rules:
            if points_by_field := rule.strain(self, field, position):
                return points_by_field
        # The weights of the rows, and of the slope that the surface prescribes.
        points_by_field = {field.name: self.weights(field, position)}
        columns = self.columns(field, position)
        if self.slope and columns:
            for name, points in self.slope.points(columns).items():
                add_points(points_by_field, name, points)
        return points_by_field

    def stress(self, field: Field, position) -> PointsByField | None:
        """Return the points that read a stress by a rule at a position in m, or None."""
        # A stress itself, not the strain that it does work on.
        every = (rule.stress(self, field, position) for rule in self.rules)
        return next((points_by_field for points_by_field in every if points_by_field), None)

    def level_terms(self, term: Term, position) -> list[Term]:
        """Return terms along the rows of the grid that a term is the sum of at a position in m."""
        every = (rule.level_terms(term, position) for rule in self.rules)
        return next((terms for terms in every if terms is not None), [term])

    def spreading(self, field: Field, position) -> PointsByField:
        """Return the points, by their field, that a source at a position in m acts on.

        These points read the field there, unless the equation asks for broad sources.
        """
        if not self.physics.broad_sources:
            return self.reading(field, position)
        # Broad sources: a wide kernel, without waves too short for the grid.
        index = [p if a in self.grid.axes else None
                 for a, p in zip(AXES, self.index(position), strict=True)]  # fmt: skip
        return {field.name: broad_weights(index, self.surface(field))}

    def derivative(self, field: Field, position) -> tuple[Points, PointsByField] | None:
        """Return the points of d_z of a velocity under a surface that prescribes it, or None.

        Returns:
            points where the derivative stands (half a cell up or down from the field), and the
            points, by their field, that tell its value on the surface.
        """
        slope = self.tilted or self.slope
        if slope is None:
            return None
        x, y, z = self.index(position)
        half = "z" not in field.half
        across = field.half.replace("z", "")
        side = self._side_of_rules(field.name, half, z)
        further = side or axis_weights(z, half, 0, Surface(0, vanishes=False))
        # Derivative along z from the rows, and of the surface's prescribed slope.
        rows, weights, share = derivative_weights(z, half, slope.rows, further)
        points = point_weights((x, y, z), across, side=(rows, weights))
        columns = point_weights((x, y, 0.0), across)
        self.refuse_outside(columns, position, "interpolate")
        if not share:
            return points, {}
        columns = columns.times(share)
        if half:
            return points, slope.shear_points(across, columns)
        return points, slope.points(columns)

    def refuse_outside(self, points, position, act: str, instead: str = "") -> None:
        """Refuse a position in m whose points (x, y, z, ...) reach beyond the points of fields.

        Raises:
            ScenarioError: it lies too near a face to `act` there; the remedy `instead` is appended.
        """
        for a, axis in enumerate(AXES):
            # Extent of the points beyond the halo.
            first = points[a].min(initial=0)
            last = points[a].max(initial=0)
            over = max(-first, last - self.grid.points[a] + 1) - self.halo
            if axis in self.grid.axes and over > 0:
                raise ScenarioError(
                    f"{axis} = {position[a]:.6g} m lies too near a face of the grid to {act}: "
                    f"move it inwards by {over * self.grid.spacing[a]:g} m{instead}"
                )

    def norm(self, field: Field, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the share of a flat cell at the top that points (n) at grid indices stand for."""
        share = np.ones(len(z))
        # Rows of a closed surface stand for other shares of a cell.
        if self.closure is not None:
            half = "z" in field.half
            norm = self.closure.half_norm if half else self.closure.node_norm
            is_closed = z < len(norm)
            share[is_closed] = norm[z[is_closed]]
        if self.grid.stretching is not None:
            share = share * self.grid.heights(z + 0.5 * ("z" in field.half))
        # And rules of a feature: at contacts, and on ground that slopes.
        for rule in self.rules:
            factor = rule.norm(field, x, y, z)
            share = share if factor is None else share * factor
        return share


def derivative_points(
    interpolation: PointInterpolation, field: Field, axis: str, points: Points
) -> Points:
    """Replace points of a derivative by the points of the field it differentiates."""
    if axis != "z":
        return _evenly_along(interpolation, field, axis, points)
    # Rows beside contacts that slip have differences of their own.
    rows = np.unique(points.z).tolist()
    one_sided = {row: along for row in rows if (along := interpolation.differences(field, row))}
    joined = [
        _evenly_along(interpolation, field, axis, points.taking(~np.isin(points.z, [*one_sided])))
    ]
    for row, (read, weights) in one_sided.items():
        x, y, _, w = (np.repeat(column, read.size) for column in points.taking(points.z == row))
        count = x.size // read.size
        height = interpolation.grid.edge("z", row + 0.5 * ("z" not in field.half))
        joined.append(Points(x, y, np.tile(read, count), w * np.tile(weights, count) / height))
    return Points(*map(np.concatenate, zip(*joined, strict=True)))


def _evenly_along(
    interpolation: PointInterpolation, field: Field, axis: str, points: Points
) -> Points:
    x, y, z, w = points
    a = AXES.index(axis)
    half = axis in field.half
    h = interpolation.grid.spacing[a]
    c = interpolation.stencil.along(axis) / h
    index = [x, y, z]
    rows = []
    # Each point of the derivative becomes a pair of the field's for each coefficient.
    for m, coefficient in enumerate(c, 1):
        # Half-point fields give the derivative on nodes: points n - 1/2 and n + 1/2.
        for sign, shift in ((1, m - 1 if half else m), (-1, -m if half else 1 - m)):
            moved = [i + (shift if n == a else 0) for n, i in enumerate(index)]
            rows.append((*moved, sign * coefficient * w))
    if axis == "z" and interpolation.grid.stretching is not None:
        # (1 / J) d/dzeta, J where the derivative stands.
        heights = interpolation.grid.heights(z + (0.0 if half else 0.5))
        rows = [(*at, weights / heights) for *at, weights in rows]
    if axis == "z" and interpolation.closure is not None:
        return _along_closed(interpolation.closure, half, h, rows, points)
    return Points(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


def _along_closed(closure: SurfaceClosure, half: bool, h: float, rows, points: Points) -> Points:
    x, y, z, w = points
    # Rows below a closed surface: one-sided differences in place of the pairs.
    is_closed = z < closure.rows
    table = (closure.down if half else closure.up) / h
    kept = [tuple(column[~is_closed] for column in row) for row in rows]
    for k in range(table.shape[1]):
        row = np.full(is_closed.sum(), k)
        kept.append((x[is_closed], y[is_closed], row, w[is_closed] * table[z[is_closed], k]))
    return Points(*(np.concatenate(column) for column in zip(*kept, strict=True)))

"""Receiver channels: points and weights that read a component at a position.

Each is a sum of weighted points; divergence and rotation differentiate the interpolated field with
the scheme's own differences. Among layers they are of the strains at the position, and stresses
along the layers are of the position's own rock (`seismo.solver.interpolation.strain`). A channel of
a fibre is a sum of velocities at several positions (`seismo.acquisition.receivers`), or of
strains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise

import numpy as np

from seismo.acquisition.receivers import Fibre, ReceiverGroup
from seismo.equations.framework.table import Field, Term
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Points, PointsByField, joined_by_field
from seismo.grid.surface_closure import SurfaceClosure
from seismo.solver.interpolation.fibre import strain_places
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.interpolation.strain import StrainReading

_NO_WEIGHT = 1e-9  # of directions: what rounding leaves


def _along(
    interpolation: PointInterpolation, field: Field, axis: str, stencil: Stencil, points: Points
) -> Points:
    """Replace points of a derivative by the points of the field it differentiates."""
    x, y, z, w = points
    a = AXES.index(axis)
    half = axis in field.half
    h = interpolation.grid.spacing[a]
    c = stencil.along(axis) / h
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


def _term_points(
    interpolation: PointInterpolation, term: Term, position, stencil: Stencil
) -> Iterator[tuple[str, Points]]:
    """Return the points, with their field, that read a term for a position in m."""
    for level_term in interpolation.level_terms(term, position):
        yield from _level_points(interpolation, level_term, position, stencil)


def _level_points(
    interpolation: PointInterpolation, term: Term, position, stencil: Stencil
) -> Iterator[tuple[str, Points]]:
    """Return the points, with their field, that read a term along the rows of the grid."""
    field = interpolation.physics.named(term.field)
    strains = interpolation.strains(position) if _by_layers(interpolation, term, position) else None
    # Among layers: strains from what is continuous across contacts.
    if strains and not (strains.wet and _shears(term)):
        for name, points in _among_layers(interpolation, strains, term, position, stencil):
            interpolation.refuse_outside(points, position, "differentiate")
            yield name, points.times(term.factor)
        return
    # Stresses that a feature reads otherwise.
    stresses = None if term.along else interpolation.stress(field, position)
    if stresses:
        for name, points in stresses.items():
            yield name, points.times(term.factor)
        return
    on_surface = PointsByField()
    # d_z of a velocity under a free surface: the surface prescribes it.
    known = interpolation.derivative(field, position) if term.along == "z" else None
    columns = None
    if known:
        points, on_surface = known
    else:
        target = _differentiated(field, term.along)
        points = interpolation.weights(target, position, fitted=not term.along)
        columns = interpolation.columns(target, position, fitted=not term.along)
    if term.along:
        points = _along(interpolation, field, term.along, stencil, points)
        interpolation.refuse_outside(points, position, "differentiate")
    # Where the surface prescribes the slope of vz: points of vx and vy beside those of vz.
    if interpolation.slope and columns:
        if term.along:
            columns = _along(interpolation, field, term.along, stencil, columns)
        on_surface = interpolation.slope.points(columns)
    yield field.name, points.times(term.factor)
    for name, points in on_surface.items():
        yield name, points.times(term.factor)


def _differentiated(field: Field, axis: str) -> Field:
    """Return a field where its derivative along an axis stands; itself without one."""
    # A staggered difference stands half a point from its field along the axis.
    return replace(field, half="".join(sorted(set(field.half) ^ set(axis))))


def _by_layers(interpolation: PointInterpolation, term: Term, position) -> bool:
    """Whether a term jumps across contacts; turning is read so where no surface is near."""
    if term.field[0] == "v" and not term.along:
        return False
    return not _shears(term) or interpolation.deep(position)


def _shears(term: Term) -> bool:
    """Whether a term is a derivative of a velocity across its own direction."""
    return term.field[0] == "v" and term.along not in ("", term.field[1:])


def _among_layers(
    interpolation: PointInterpolation,
    strains: StrainReading,
    term: Term,
    position,
    stencil: Stencil,
) -> Iterator[tuple[str, Points]]:
    """Return the points, with their field, that read a stress, or a derivative of a velocity.

    With a along the layers d_z v_a = 2 e_az - d_a vz, which are read for what they are.
    """
    fluid = "p" in (f.name for f in interpolation.physics.fields)
    component = term.field[1:]
    # Stress at the position, with its own moduli.
    if not term.along:
        yield from strains.stress(term.field).items()
    # Normal strain e_aa, on the stress that does work on it.
    elif component == term.along:
        for name, points in strains.strain("p" if fluid else f"s{component}{component}").items():
            axis = component if fluid else name[1]
            yield _derivative(interpolation, f"v{axis}", axis, stencil, points)
    # d_z v_a = 2 e_az - d_a vz
    elif term.along == "z":
        turns = "vz" in (f.name for f in interpolation.physics.fields)  # SH waves: d_z vy = 2 e_yz
        for points in strains.strain(f"s{component}z").values():
            yield _derivative(interpolation, term.field, "z", stencil, points)
            if turns:
                yield _derivative(interpolation, "vz", component, stencil, points)
        if turns:
            yield _slope(interpolation, "vz", component, position, stencil, -1.0)
    # Slopes along the layers are continuous across contacts, as their field is.
    else:
        yield _slope(interpolation, term.field, term.along, position, stencil, 1.0)


def _slope(
    interpolation: PointInterpolation,
    name: str,
    axis: str,
    position,
    stencil: Stencil,
    factor: float,
) -> tuple[str, Points]:
    """Return the points, with their field, of a derivative along the layers at a position in m."""
    target = _differentiated(interpolation.physics.named(name), axis)
    points = interpolation.weights(target, position).times(factor)
    return _derivative(interpolation, name, axis, stencil, points)


def _derivative(
    interpolation: PointInterpolation, name: str, axis: str, stencil: Stencil, points: Points
) -> tuple[str, Points]:
    """Return the points, with their field, of a derivative that the scheme has at some points."""
    field = interpolation.physics.named(name)
    return name, _along(interpolation, field, axis, stencil, points)


def receiver_points(
    interpolation: PointInterpolation,
    group: ReceiverGroup,
    number: int,
    position: np.ndarray,
    base: tuple[str, str],
    stencil: Stencil,
) -> PointsByField:
    """Return the points, by their field, that read a base component at one receiver of a set.

    Args:
        interpolation: what weights depend on besides the position.
        group: the set.
        number: of the receiver.
        position: (3) m where it is.
        base: quantity that is recorded, and the component of it.
        stencil: of the differences.
    """
    observables = interpolation.physics.observables
    if group.fibre is None:
        quantity, component = base
        terms = observables[quantity][component]
        return channel_points(interpolation, terms, position, stencil)
    return _fibre_points(interpolation, group.fibre, number, stencil)


def _fibre_points(
    interpolation: PointInterpolation, fibre: Fibre, number: int, stencil: Stencil
) -> PointsByField:
    """Return the points, by their field, that read the mean strain along a channel's gauge length.

    Pieces between bends read the motion at their ends, or strains (`fibre_reading`).
    """
    observables = interpolation.physics.observables
    corners = fibre.ends[number]
    weights = fibre.weights[number].copy()
    sums: list[tuple[np.ndarray, tuple[Term, ...]]] = []
    for n, (begin, end) in enumerate(pairwise(corners)):
        length = float(np.linalg.norm(end - begin))
        direction = (end - begin) / length
        strain_shares = strain_places(interpolation, begin, end)
        if strain_shares:
            # Neither end of the piece is read for it.
            weights[n] += direction / fibre.gauge_length
            weights[n + 1] -= direction / fibre.gauge_length
        for position, share in strain_shares:
            share *= length / fibre.gauge_length
            sums.append((position, _along_fibre(interpolation, direction, share)))
    least = _NO_WEIGHT / fibre.gauge_length
    for corner, some in zip(corners, weights, strict=True):
        # Ends and bends: weighted velocities.
        shares = {f"v{a}": some[AXES.index(a)] for a in interpolation.physics.axes}
        terms = tuple(
            replace(term, factor=share * term.factor)
            for name, share in shares.items()
            for term in (observables["velocity"][name] if abs(share) > least else ())
        )
        sums.append((corner, terms))
    return joined_by_field(
        named_points
        for position, terms in sums
        for named_points in channel_points(interpolation, terms, position, stencil).items()
    )


def _along_fibre(
    interpolation: PointInterpolation, direction: np.ndarray, share: float
) -> tuple[Term, ...]:
    """Return the terms of a share of t . e t, the rate of strain along a direction t."""
    axes = interpolation.physics.axes
    strains = interpolation.physics.observables["strain_rate"]
    terms = list[Term]()
    for a, b in combinations_with_replacement(axes, 2):
        # t_a^2 e_aa, and 2 t_a t_b e_ab.
        weight = direction[AXES.index(a)] * direction[AXES.index(b)] * (1.0 if a == b else 2.0)
        if abs(weight) > _NO_WEIGHT:
            terms += [
                replace(term, factor=share * weight * term.factor)
                for term in strains[f"e{a}{b}_rate"]
            ]
    return tuple(terms)


def channel_points(
    interpolation: PointInterpolation, terms: Iterable[Term], position, stencil: Stencil
) -> PointsByField:
    """Return the points, by their field, that read a sum of terms for a position in m."""
    points_by_field = PointsByField()
    for term in terms:
        for name, points in _term_points(interpolation, term, position, stencil):
            both = (
                zip(points_by_field[name], points, strict=True) if name in points_by_field else ()
            )
            points_by_field[name] = Points(*map(np.concatenate, both)) if both else points
    return points_by_field

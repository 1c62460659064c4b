"""Receiver channels: points and weights that read a component at a position.

Each is a sum of weighted points; divergence and rotation differentiate the interpolated field with
the scheme's own differences. Among layers they are of the strains at the position, and stresses
along the layers are of the position's own rock (`seismo.solver.interpolation.strains`).

A channel of a fibre is the mean strain along its gauge length l, of straight pieces
t . [v(end) - v(begin)] / l (`seismo.acquisition.receivers`). Beside contacts of layers, and among
the rows of a free surface, motion is read with errors of a few thousandths, other ones at either
end, which a short l makes large. Strains are read there directly, so that short pieces integrate
them, from contact to contact::

    1/l int t . e t ds  =  sum_k w_k t . e(s_k) t,     s_k, w_k of Gauss and Legendre

Receivers too near a face to be read are refused before a run is planned.

A feature gives an indirect reading (hook `indirect_reading`) where quantities are better known by
others: strains by stresses beside a plane of refinement, stresses by strains on ground that slopes.
It marks the receivers that it reads so, has the points of their channels, which may be two for a
component, and converts their traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement, pairwise, product

import numpy as np

from seismo.acquisition.receivers import Fibre, ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.equations.framework.table import Field, Term
from seismo.equations.rock import elastic_constants
from seismo.errors import ScenarioError, gathered
from seismo.features import acting
from seismo.grid.grid import AXES
from seismo.grid.interpolation import (
    RADIUS,
    Points,
    PointsByField,
    joined_by_field,
    point_weights,
)
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.point_weights import PointInterpolation, derivative_points
from seismo.solver.interpolation.strains import StrainReading

_NO_WEIGHT = 1e-9  # of directions: left by rounding
MOST_CELLS = 4.0  # of a piece that integrates strains
_LEVEL = 0.02  # sine of the dip up to which both ends of a piece err alike
_NODES = 2  # places in it, and another for each cell


def channel_points(
    interpolation: PointInterpolation, terms: Iterable[Term], position
) -> PointsByField:
    """Return the points, by their field, that read a sum of terms for a position in m."""
    points_by_field = PointsByField()
    # Rows of a fluid at rest, which differences move beside rock, are not read.
    if interpolation.rests is not None and interpolation.rests(np.asarray(position)):
        nearest = point_weights(np.rint(interpolation.index(position)), "").times(0.0)
        return {term.field: nearest for term in terms}
    for term in terms:
        for name, points in _term_points(interpolation, term, position):
            both = (
                zip(points_by_field[name], points, strict=True) if name in points_by_field else ()
            )
            points_by_field[name] = Points(*map(np.concatenate, both)) if both else points
    return points_by_field


def _term_points(
    interpolation: PointInterpolation, term: Term, position
) -> Iterator[tuple[str, Points]]:
    """Return the points, with their field, that read a term for a position in m."""
    for level_term in interpolation.level_terms(term, position):
        yield from _level_points(interpolation, level_term, position)


def _level_points(
    interpolation: PointInterpolation, term: Term, position
) -> Iterator[tuple[str, Points]]:
    """Return the points, with their field, that read a term along the rows of the grid."""
    field = interpolation.physics.named(term.field)
    by_layers = _by_layers(interpolation, term, position)
    strains = interpolation.strains(position, _shears(term)) if by_layers else None
    # Among layers: strains from quantities continuous across contacts.
    if strains and not (strains.wet and _shears(term)):
        for name, points in _among_layers(interpolation, strains, term, position):
            interpolation.refuse_outside(points, position, "differentiate")
            yield name, points.times(term.factor)
        return
    # Stresses that a feature reads otherwise.
    stresses = None if term.along else interpolation.stress(field, position)
    if stresses:
        for name, points in stresses.items():
            yield name, points.times(term.factor)
        return
    # Shear beside a contact with a fluid, or of one, which the scheme does not have.
    if term.along == "z" and _shears(term):
        slope = interpolation.one_sided_slope(field, position)
        if slope:
            yield field.name, slope.times(term.factor)
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
        points = derivative_points(interpolation, field, term.along, points)
        interpolation.refuse_outside(points, position, "differentiate")
    # Where the surface prescribes the slope of vz: points of vx and vy beside points of vz.
    if interpolation.slope and columns:
        if term.along:
            columns = derivative_points(interpolation, field, term.along, columns)
        on_surface = interpolation.slope.points(columns)
    yield field.name, points.times(term.factor)
    for name, points in on_surface.items():
        yield name, points.times(term.factor)


def _differentiated(field: Field, axis: str) -> Field:
    """Return a field where its derivative along an axis stands, or itself."""
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
    interpolation: PointInterpolation, strains: StrainReading, term: Term, position
) -> Iterator[tuple[str, Points]]:
    """Return the points, with their field, that read a stress, or a derivative of a velocity.

    With a along the layers d_z v_a = 2 e_az - d_a vz, which are read directly.
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
            yield _derivative(interpolation, f"v{axis}", axis, points)
    # d_z v_a = 2 e_az - d_a vz
    elif term.along == "z":
        turns = "vz" in (f.name for f in interpolation.physics.fields)  # SH waves: d_z vy = 2 e_yz
        for points in strains.strain(f"s{component}z").values():
            yield _derivative(interpolation, term.field, "z", points)
            if turns:
                yield _derivative(interpolation, "vz", component, points)
        if turns:
            yield _slope(interpolation, "vz", component, position, -1.0)
    # Slopes along the layers are continuous across contacts, as their field is.
    else:
        yield _slope(interpolation, term.field, term.along, position, 1.0)


def _slope(
    interpolation: PointInterpolation, name: str, axis: str, position, factor: float
) -> tuple[str, Points]:
    """Return the points, with their field, of a derivative along the layers at a position in m."""
    target = _differentiated(interpolation.physics.named(name), axis)
    points = interpolation.weights(target, position).times(factor)
    return _derivative(interpolation, name, axis, points)


def _derivative(
    interpolation: PointInterpolation, name: str, axis: str, points: Points
) -> tuple[str, Points]:
    """Return the points, with their field, of a derivative that the scheme has at given points."""
    field = interpolation.physics.named(name)
    return name, derivative_points(interpolation, field, axis, points)


def receiver_points(
    interpolation: PointInterpolation,
    group: ReceiverGroup,
    number: int,
    position: np.ndarray,
    base: tuple[str, str],
) -> PointsByField:
    """Return the points, by their field, that read a base component at a receiver of a set.

    Args:
        interpolation: how fields are read.
        group: the set.
        number: of the receiver.
        position: (3) m where it is.
        base: quantity that is recorded, and the component of it.
    """
    observables = interpolation.physics.observables
    if group.fibre is None:
        quantity, component = base
        terms = observables[quantity][component]
        return channel_points(interpolation, terms, position)
    return _fibre_points(interpolation, group.fibre, number)


def _fibre_points(interpolation: PointInterpolation, fibre: Fibre, number: int) -> PointsByField:
    """Return the points, by their field, that read the mean strain along a channel's gauge length.

    Pieces between bends read the motion at their ends, or strains (`_strain_places`).
    """
    observables = interpolation.physics.observables
    corners = fibre.ends[number]
    weights = fibre.weights[number].copy()
    sums: list[tuple[np.ndarray, tuple[Term, ...]]] = []
    for n, (begin, end) in enumerate(pairwise(corners)):
        length = float(np.linalg.norm(end - begin))
        direction = (end - begin) / length
        strain_shares = _strain_places(interpolation, begin, end)
        if strain_shares:
            # Neither end of the piece is read for it.
            weights[n] += direction / fibre.gauge_length
            weights[n + 1] -= direction / fibre.gauge_length
        for position, share in strain_shares:
            share *= length / fibre.gauge_length
            sums.append((position, _along_fibre(interpolation, direction, share)))
    least = _NO_WEIGHT / fibre.gauge_length
    for corner, weight in zip(corners, weights, strict=True):
        # Ends and bends: weighted velocities.
        shares = {f"v{a}": weight[AXES.index(a)] for a in interpolation.physics.axes}
        terms = tuple(
            replace(term, factor=share * term.factor)
            for name, share in shares.items()
            for term in (observables["velocity"][name] if abs(share) > least else ())
        )
        sums.append((corner, terms))
    return joined_by_field(
        named_points
        for position, terms in sums
        for named_points in channel_points(interpolation, terms, position).items()
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


def _strain_places(
    interpolation: PointInterpolation, begin: np.ndarray, end: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """Return where, and with which shares, a piece of a fibre reads strains.

    Args:
        interpolation: how fields are read.
        begin: (3) m, where the straight piece begins.
        end: (3) m.

    Returns:
        Positions (3) m and shares, which add up to 1; none where motion at the ends is read.
    """
    grid = interpolation.grid
    axes = [AXES.index(a) for a in grid.axes]
    cells = float(np.linalg.norm((end - begin)[axes] / np.array(grid.spacing)[axes]))
    rows = [float(grid.index("z", p[2])) for p in (begin, end)]
    is_level = abs(end[2] - begin[2]) <= _LEVEL * float(np.linalg.norm(end - begin))
    if is_level or cells > MOST_CELLS or not _is_uneven(interpolation, begin, end, rows):
        return []
    # Gauss and Legendre's rule between contacts, across which strains jump.
    nodes, weights = np.polynomial.legendre.leggauss(_NODES + int(cells))
    cuts = [0.0, *_crossings(interpolation, begin[2], end[2]), 1.0]
    return [
        (begin + (low + (high - low) * 0.5 * (1.0 + node)) * (end - begin),
         0.5 * (high - low) * weight)
        for low, high in pairwise(cuts)
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True)
    ]  # fmt: skip


def _is_uneven(
    interpolation: PointInterpolation, begin: np.ndarray, end: np.ndarray, rows: list[float]
) -> bool:
    """Whether motion at the ends of a piece is read otherwise than in an even medium."""
    if "strain_rate" not in interpolation.physics.observables:
        return False
    # Media slip along contacts with fluids: the motion at the ends tells by how much.
    for contact in interpolation.slips:
        if min(rows) - RADIUS < contact.z_index < max(rows) + RADIUS:
            return False
    strains = [interpolation.strains(p) for p in (begin, 0.5 * (begin + end), end)]
    if any(reading is not None and reading.wet for reading in strains):
        return False
    among_rows = interpolation.closure is not None and min(rows) < interpolation.closure.rows
    return among_rows or any(reading is not None for reading in strains)


def _crossings(interpolation: PointInterpolation, first: float, last: float) -> list[float]:
    """Return which shares of the way from a depth (m) to another lie on contacts of layers."""
    if interpolation.layers is None or first == last:
        return []
    shares = (interpolation.layers.contact_depths - first) / (last - first)
    return sorted(shares[(shares > 0.0) & (shares < 1.0)].tolist())


def refuse_unreadable(discretization: Discretization) -> None:
    """Refuse receivers too near a face of the grid, of all shots that they move with.

    Raises:
        ScenarioError: it names the first of each set.
    """
    numbers = {group.name: number for number, group in enumerate(discretization.scenario.receivers)}
    gathered(
        partial(_refuse_group, discretization, grid, numbers[group.name], group)
        for grid in discretization.grids_of_spacing
        for group in grid.groups
    )


def _refuse_group(
    discretization: Discretization, grid: Discretization, number: int, group: ReceiverGroup
) -> None:
    """Refuse the first receiver of a set that lies too near a face."""
    bases = dict.fromkeys((b, c) for _, b, c in group.components(grid.physics).values())
    # Points that interpolation and differences read on either side.
    points = grid.grid.points
    reach = RADIUS + grid.stencil.order // 2
    known = set[tuple[str, float]]()
    shots = [""] if group.motion is None else list(group.motion.sources)
    for shot, axis in product(shots, grid.grid.axes):
        a = AXES.index(axis)
        positions = group.at(shot)
        # How far points reach along an axis depends on the coordinate along it alone.
        index = grid.grid.index(axis, positions[:, a])
        is_near = (index < reach) | (index > points[a] - 1 - reach)
        is_near &= group.recording(shot) & grid.reads(positions)
        for n in np.flatnonzero(is_near).tolist():
            key = (axis, float(positions[n, a]))
            if key in known:
                continue
            known.add(key)
            # The points themselves tell how far they reach.
            try:
                for base in bases:
                    receiver_points(grid.interpolation, group, n, positions[n], base)
            except ScenarioError as error:
                where = f"in {shot} receiver {group.codes[n]}" if shot else group.codes[n]
                problem = f"{where}: {error}"
                raise discretization.scenario.mistake(
                    "receivers", number, problem=problem
                ) from None


FURTHER = "~"  # behind the name of a component: its second channels


@dataclass(frozen=True)
class IndirectReading:
    """The reading of receivers of a grid; that of their own quantities unless overridden.

    Attributes:
        discretization: the run on a grid of it.
    """

    discretization: Discretization

    def bases(self, group: ReceiverGroup) -> list[tuple[str, str]]:
        """Return the base quantities and components that channels of a set of receivers record."""
        # Once each, and second channels behind them.
        recorded = group.components(self.discretization.physics).values()
        bases = list(dict.fromkeys((base, component) for _, base, component in recorded))
        return bases + [(b, c + FURTHER) for b, c in bases if self.adds_further(group.name, c)]

    def adds_further(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has second channels."""
        return False

    def marks(self, positions: np.ndarray) -> np.ndarray | None:
        """Return (receiver) whether each is read so at positions (receiver, 3) in m; None of none.

        Or numbers (receiver, n), NaN where it is not.
        """
        return None

    def beside(
        self, groups: Sequence[ReceiverGroup], shots: Sequence[Shot]
    ) -> dict[tuple[int, str], np.ndarray]:
        """Return (number of a shot, set) -> the marks of its receivers; nothing where none has."""
        every = {
            (number, group.name): self.marks(group.at(shot.name))
            for group in groups
            for number, shot in enumerate(shots)
        }
        return {key: marks for key, marks in every.items() if marks is not None}

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> PointsByField:
        """Return the points, by their field, that a channel reads at a receiver of a set.

        Args:
            group: the set.
            number: of the receiver.
            position: (3) m where it is.
            base: quantity and component, of `bases`.
        """
        return receiver_points(self.discretization.interpolation, group, number, position, base)

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        further: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, made of its readings.

        Args:
            group: name of the set of receivers.
            component: base component.
            traces: of all of them.
            further: readings of second channels, or None.
            beside: (receiver) of `beside`, None where it has none.
        """
        return traces

    def _medium(
        self, positions: np.ndarray, moduli: tuple[float, float] = (1.0, 1.0)
    ) -> dict[str, np.ndarray]:
        """Return the medium at positions (..., 3) in m, of so many times unrelaxed moduli."""
        # Rock without loss has its moduli whatever the share.
        earth = replace(self.discretization.earth, moduli=moduli)
        return earth.at(positions, self.discretization.grid.dimensions)

    def _stiffness(
        self, position: np.ndarray, moduli: tuple[float, float] = (1.0, 1.0)
    ) -> tuple[list[str], np.ndarray]:
        """Return the stresses, and the stiffness (stress, strain) of the rock at a position."""
        names = list(self.discretization.physics.observables["stress"])
        return names, elastic_constants.stiffness_of_stresses(self._medium(position, moduli), names)

    def _of_group(self, name: str, component: str, bases: Sequence[str]) -> tuple[Term, ...]:
        """Return the terms of a component of base quantities; none along fibres."""
        group = next(group for group in self.discretization.groups if group.name == name)
        observables = self.discretization.physics.observables
        known = {c: terms for base in bases for c, terms in observables.get(base, {}).items()}
        return known.get(component, ()) if group.fibre is None else ()


def reading_of(discretization: Discretization) -> IndirectReading:
    """Return the reading of a run's grid: that of the first feature that has any."""
    features = acting("indirect_reading", discretization.scenario)
    readings = (reading(discretization) for reading in features)
    return next((r for r in readings if r is not None), IndirectReading(discretization))

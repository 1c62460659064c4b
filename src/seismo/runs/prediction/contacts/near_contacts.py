"""Sources and receivers beside contacts of media, where fields bend or jump.

Among layers they are read on their own side (`seismo.solver.interpolation.layer_contacts`,
`seismo.solver.interpolation.strains`). What is left comes from waves that bend within a cell.
Receivers err as the rows do that they read (`row_errors`). Of sources, and of receivers whose
rows are not known (fibres, VTI rocks), with r the ratio of moduli at a contact d cells away and p
points in the shortest wavelength beside it, it is about

    moments, and receivers of strains:      0.012 (r - 1) (10 / p)^2 exp(-1.25 d)
    forces:                                 0.006 (r - 1) (10 / p)^2 exp(-1.5 d)
    receivers of motion:                    0.004 (r - 1) (10 / p)^2 exp(-1.5 d)

(divergence, rotation, strain, stress and pressure of solids) within a factor of 2 to 3, of fluids
and of solids, under a free surface, too, where waves graze the contact; steep ones from the stiffer
side err by less. Forces across layers of solids err by a quarter, since S waves strain both sides
alike along it and P waves are longer. On the softer side of strains and explosions, since
the rock beyond strains 1 / r as much, but not of shear and rotation, it is::

    0.024 (1 - 1 / r) (10 / p)^2 exp(-1.25 d)

Where the earth varies sideways a moment is spread over both media and strains them by unlike
amounts, and a force or a receiver meets a motion whose slope jumps, at any order and sampling::

    moments:                0.4 (r - 1) exp(-1.25 d)
    forces and receivers:   0.02 (r - 1) exp(-4 d)
    receivers of strains:   0.3 (r - 1) exp(-1.7 d)

On the softer side of moments and strains, where the rock beyond strains 1 / r as much, and on both
sides of stresses, which are continuous across a contact and of which those along it have as large a
part in the stiffer rock, it is::

    0.5 (1 - 1 / r) exp(-1.7 d)

Of motion on the softer side only that of sources is told: read, it errs by no more than a few times
the error that contacts make in it anyway. Explosions feel the modulus of P waves alone. Waves of
constant density act and are read alike on both sides, but for moments where the earth varies
sideways.

On ground that is not flat motion is read by its slope and its next three rows, or by four rows,
whatever lies among them: 0.008 (r - 1) (10 / p)^2 where a contact does.

Motion in a soft layer of one cell under a free surface is read by its own rule
(`seismo.solver.interpolation.traction_free_slopes`), to 0.015 (10 / p)^2 whatever the rock beneath.
Contacts of fluid and solid have differences of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import PointSource
from seismo.grid.grid import AXES, moved
from seismo.grid.interpolation import RADIUS
from seismo.runs.prediction.contacts.directivity import is_isotropic, strengths
from seismo.runs.prediction.contacts.layered_error import layered_error
from seismo.runs.prediction.contacts.row_errors import reading_errors
from seismo.runs.prediction.lines import WarningLines, named, up_to
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization
from seismo.solver.parallel.partition import never_cut
from seismo.solver.sampling.peak_maps import MapReading

_REACH = 4.5  # cells
_PER_CELL = 8  # samples
_JUMP = 0.03  # relative change between neighbours that is a contact
_LEAST = 0.02  # least error that is reported


class _Law(NamedTuple):
    """An error at a contact, its decay per cell, and the power of the points that it falls with."""

    factor: float
    decay: float
    power: float = 0.0


# Of moments, of forces, and by 1 - 1 / r.
_LAYERED = _Law(0.012, 1.25, 2.0), _Law(0.006, 1.5, 2.0), _Law(0.024, 1.25, 2.0)
_ACROSS = 0.25  # of forces in solids, those across layers
_SIDEWAYS = _Law(0.4, 1.25), _Law(0.02, 4.0), _Law(0.5, 1.7)
# Of strains, of motion, and by 1 - 1 / r.
_READ = _LAYERED[0], _Law(0.004, 1.5, 2.0), _LAYERED[2]
_READ_SIDEWAYS = _Law(0.3, 1.7), _SIDEWAYS[1], _SIDEWAYS[2]
# Of motion on ground that is not flat, whose polynomials cross contacts below it: 8 and 11 % found
# where r is about 2.6, 2.8 and 1.6 cells above one, at 4 points.
_ON_SLOPES = _Law(0.008, 0.0, 2.0)
_MOST_PLACES = 2000  # of a set of receivers that are looked at where the earth varies sideways
_THIN = _Law(0.015, 0.0, 2.0)  # of motion in a layer of a cell, as if of r = 2
DIFFERENTIATED = ("divergence", "rotation", "strain_rate", "strain")
_BY_SIDE = {"strain_rate", "strain", "stress"}  # that err less on the softer side
_BENT = (*DIFFERENTIATED, "stress", "pressure")  # quantities that strains along layers are part of


class _Beside(NamedTuple):
    """A contact beside a position.

    Attributes:
        cells: how many it is away.
        ratio: of moduli across it.
        softer: whether the position is on its softer side.
        points: in the shortest wavelength beside it.
    """

    cells: float
    ratio: float
    softer: bool
    points: float

    def error(self, law: _Law, bounded: bool = False) -> float:
        """Return the error so near a contact by a law of r - 1, or of 1 - 1 / r (`bounded`)."""
        excess = 1.0 - 1.0 / self.ratio if bounded else self.ratio - 1.0
        return (
            law.factor
            * excess
            * (10.0 / self.points) ** law.power
            * math.exp(-law.decay * self.cells)
        )


class NearSource(NamedTuple):
    """A source: its name, how many cells away the nearest contact is, and its error."""

    name: str
    cells: float
    error: float


class NearReceivers(NamedTuple):
    """A set of receivers: its name, which err by more than `_LEAST`, and its worst error."""

    name: str
    affected: str
    error: float


def reads_layers(discretization: Discretization) -> bool:
    """Whether sources and receivers are read by the layers that they are in."""
    return discretization.interpolation.layers is not None


def near_sources(discretization: Discretization) -> list[NearSource]:
    """List all sources, each name once, where it errs most."""
    laws = _LAYERED if reads_layers(discretization) else _SIDEWAYS
    axes = "z" if discretization.earth.layered else discretization.grid.axes
    worst: dict[str, NearSource] = {}
    known: dict[tuple, _Beside] = {}
    for source in (s for shot in discretization.shots for s in shot.sources if s.is_local):
        shears = not is_isotropic(source)
        at = (shears, *(source.position[AXES.index(a)] for a in axes))
        if at not in known:
            known[at] = _nearest(discretization, source.position, axes, shears)
        beside = known[at]
        # A source of volume moves media of any modulus alike.
        acts = source.kind != "pressure"
        bounded = beside.softer and source.kind != "force" and (laws is _SIDEWAYS or not shears)
        law = laws[2] if bounded else laws[source.kind == "force"]
        error = beside.error(law, bounded) if acts else 0.0
        if laws is _LAYERED and source.kind == "force":
            error *= _share_along(discretization, source)
        if source.name not in worst or error > worst[source.name].error:
            worst[source.name] = NearSource(source.name, beside.cells, error)
    return list(worst.values())


def _share_along(discretization: Discretization, source: PointSource) -> float:
    """Return the share of a force's error that it has by its direction among layers."""
    fluid = _along(discretization, source.position, "z", np.array(source.position[2:]))[1][0]
    if fluid or not discretization.physics.fluid_meets_solid:
        return 1.0
    force, _ = strengths(source)
    size = float(np.linalg.norm(force)) or 1.0
    return float(np.linalg.norm(force * (1.0, 1.0, _ACROSS))) / size


def near_receivers(discretization: Discretization) -> list[NearReceivers]:
    """List the sets of receivers."""
    return [_near_set(discretization, group) for group in discretization.groups]


def _near_set(discretization: Discretization, group: ReceiverGroup) -> NearReceivers:
    """Return the error of a set: the largest of its quantities."""
    strains = discretization.physics.fluid_meets_solid and any(
        name in _BENT for name in group.quantities
    )
    sloping = discretization.vertical is not None and not strains
    if not (strains or discretization.earth.layered or sloping):
        # Motion errs there as the contacts themselves do
        # (`seismo.runs.prediction.contacts.sideways`).
        return NearReceivers(group.name, "", 0.0)
    laws = _READ if reads_layers(discretization) else _READ_SIDEWAYS
    axes = "z" if discretization.earth.layered else discretization.grid.axes
    bent = {name for name in group.quantities if name in _BENT}
    sideways = laws is _READ_SIDEWAYS
    by_side = strains and (bent <= _BY_SIDE if sideways else "rotation" not in bent)
    columns = [AXES.index(a) for a in axes]
    positions = group.all_positions
    _, first = np.unique(positions[:, columns], axis=0, return_index=True)
    every = 1 if axes == "z" else -(-first.size // _MOST_PLACES)
    positions = positions[first[::every]]
    errors = np.zeros(len(positions))
    read = reading_errors(discretization).get(group.name, {})
    scattered = layered_error(discretization).sets[group.name] if read else 0.0
    for n, (x, y, z) in enumerate(positions.tolist()):
        if z in read:
            errors[n] = math.sqrt(max(read[z] ** 2 - scattered**2, 0.0))
            continue
        beside = _nearest(discretization, (x, y, z), axes)
        if beside.ratio > 1.0:
            fluid = bool(_along(discretization, (x, y, z), "z", np.array([z]))[1][0])
            law = _ON_SLOPES if sloping else laws[fluid or not strains]
            beside_ground = float(discretization.grid.index("z", z)) < RADIUS
            bounded = by_side and (beside.softer or (sideways and bent == {"stress"}))
            if beside_ground or not sloping:
                errors[n] = beside.error(laws[2] if bounded else law, bounded)
            if discretization.interpolation.thin_layer and not strains:
                errors[n] = min(errors[n], beside._replace(ratio=2.0).error(_THIN))
    affected = positions[errors > _LEAST][:, columns]
    is_affected = partial(_among, columns, affected)
    count = min(every * group.count_where(is_affected), len(group))
    names = named(discretization, group, is_affected, count) if count else ""
    return NearReceivers(group.name, names, float(errors.max(initial=0.0)))


def _among(columns: list[int], affected: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return which positions (n, 3) have coordinates that are among others (m, axes)."""
    return (positions[:, None, columns] == affected[None]).all(2).any(1)


def near_contacts(
    sources: Iterable[NearSource], receivers: Iterable[NearReceivers]
) -> WarningLines:
    """Name sources and receivers that err by more than `_LEAST` since a contact is near.

    Args:
        sources: `near_sources` of a run.
        receivers: its `near_receivers`.
    """
    for source in sources:
        if source.error > _LEAST:
            yield (
                f"source {source.name}: a contact of media lies {source.cells:.2g} points away: "
                f"amplitudes err by {up_to(source.error)}; move it away from the "
                "contact, or use a finer grid.spacing"
            )
    for group in receivers:
        if group.affected:
            yield (
                f"receivers {group.name}: {group.affected} on a contact of media or near it, "
                f"where motion bends: traces err by {up_to(group.error)}; move "
                "them away from the contact, or use a finer grid.spacing"
            )


def near_maps(discretization: Discretization) -> WarningLines:
    """Name maps of peaks whose nodes are read as if there were no contacts beside them."""
    reading = MapReading(discretization.interpolation, never_cut(discretization))
    for map_ in discretization.maps:
        names = {
            name for channel, at_nodes in map_.channels if at_nodes for name, _ in channel.terms
        }
        at = reading.at(map_.cut.index[2])
        rows = sorted({z for name in names for z in at.unlike(name)})
        if rows:
            depths = [
                with_unit(float(discretization.grid.ticks("z", rows[n])), "m") for n in (0, -1)
            ]
            yield (
                f"maps {map_.name}: {len(rows)} rows of nodes beside contacts of media, from z = "
                f"{depths[0]} to {depths[1]}, are read as in an even medium, since parts of the "
                f"grid hold {discretization.halo} points of their neighbours: peaks there err by "
                f"up to 10 %; use grid.order {2 * RADIUS} or more, or receivers"
            )


def _nearest(
    discretization: Discretization, position: tuple[float, ...], axes: str, shears: bool = True
) -> _Beside:
    """Return the contact that is nearest to a position, of all moduli or without those of shear."""
    nearest = _Beside(math.inf, 1.0, False, math.inf)
    height = float(discretization.grid.heights(discretization.grid.index("z", position[2])))
    if reads_layers(discretization) and "rho" not in discretization.earth.needs:
        return nearest
    steps = np.arange(-_REACH * _PER_CELL, _REACH * _PER_CELL + 1) / _PER_CELL
    away = np.minimum(np.abs(steps[1:]), np.abs(steps[:-1]))
    for axis in axes:
        number = AXES.index(axis)
        line = moved(discretization.grid.cells, axis, position[number], steps)
        moduli, wet = _along(
            discretization, position, axis, np.clip(line, *discretization.grid.limits(axis))
        )
        low, high = (f(moduli[:, 1:], moduli[:, :-1]) for f in (np.minimum, np.maximum))
        jumps = (high > (1.0 + _JUMP) * low).any(0) & (wet[1:] == wet[:-1])
        if not jumps.any():
            continue
        n = int(np.where(jumps, away, np.inf).argmin())
        cell = slice(max(0, n - _PER_CELL // 2), n + _PER_CELL // 2 + 2)
        beside = moduli[:, cell][:, wet[cell] == wet[n]]
        known = beside.min(1) > 0.0
        speed = float(np.sqrt((beside[known][-1] / beside[0]).min()))
        known[2:] &= shears
        low, high = (f(beside[known], axis=1) for f in (np.min, np.max))
        most = int((high / low).argmax())
        softer = bool(moduli[known, steps.size // 2][most] ** 2 < low[most] * high[most])
        points = discretization.waves.points(speed / height)
        ratio = float(high[most] / low[most])
        nearest = min(nearest, _Beside(float(away[n]), ratio, softer, points))
    return nearest


def _along(
    discretization: Discretization, position: tuple[float, ...], axis: str, line: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return moduli and density (3, n) on a line through a position, and where it is fluid."""
    x, y, z = (line if a == axis else np.full(1, position[AXES.index(a)]) for a in AXES)
    if discretization.grid.dimensions == 3:
        medium = discretization.earth.sample(z[:, None, None], y[:, None], x)
    else:
        medium = discretization.earth.sample(z[:, None], None, x)
    samples = {name: np.broadcast_to(v, np.broadcast(*medium.values()).shape).ravel()
              for name, v in medium.items()}  # fmt: skip
    rho = samples.get("rho", np.ones(line.size))
    speeds = [samples[name] for name in ("vp", "vs") if name in samples]
    wet = samples["vs"] == 0.0 if "vs" in samples else np.zeros(rho.shape, bool)
    return np.stack([rho, *(rho * v**2 for v in speeds)]), wet

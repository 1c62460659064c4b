"""Receivers: positions and recorded quantities of a set, and fibres that record strain.

Receivers that move with the shots stand at x + x_s, y + y_s and z, or z + z_s, with x_s, y_s, z_s
the source of the shot.

Fibres are for distributed acoustic sensing (DAS). A channel at the distance s along the fibre has
the mean rate of strain along it over the gauge length L, as interferometry of two points L apart
measures it on a straight fibre::

    1/L int t . d_s v ds = 1/L sum_k t_k . [v(s_k+1) - v(s_k)],   s - L/2 = s_0 < ... = s + L/2

v velocity, t direction of the fibre, s_k the bends between. It is a sum of velocities at the ends
and bends, with weights (t_k-1 - t_k) / L (Daley et al. 2016; Lindsey & Martin 2021, eq. 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seismo.equations.framework.table import FOLLOWING, Physics, Term

_STRAIGHT = 1e-9  # change of direction that is none
_SHORTEST = 1e-8  # of the length of a fibre: pieces that are none
UNITS = {
    "velocity": "m/s", "displacement": "m", "acceleration": "m/s^2", "pressure": "Pa",
    "stress": "Pa", "divergence": "1/s", "rotation": "rad/s", "strain_rate": "1/s", "strain": "1",
}  # fmt: skip
_BASES = {name: base for base, names in FOLLOWING.items() for name in names}
_MOST_SHOTS = 500  # whose positions of moving receivers are looked at, where any will do
_MOTIONS = {"displacement": "u", "acceleration": "a"}  # letter instead of the v of velocity


def unit_of(quantity: str, physics: Physics) -> str:
    """Return the SI unit of a quantity that an equation records."""
    if quantity in UNITS:
        return UNITS[quantity]
    term = next(iter(physics.observables[quantity].values()))[0]
    return physics.named(term.field).unit + "/m" * bool(term.along)


def _name(quantity: str, component: str) -> str:
    """Return the name of a base component as a part of a quantity: vx is ux of displacement."""
    if quantity in _MOTIONS:
        return _MOTIONS[quantity] + component[1:]
    return component.removesuffix("_rate") if quantity == "strain" else component


@dataclass(frozen=True)
class Motion:
    """How the receivers of a set move with the shots.

    Attributes:
        sources: name of each shot -> (3) m, position of its source.
        axes: (3), 1 along axes whose coordinates count from the source, else 0.
        low: (3) m, first place along each axis where receivers record.
        high: (3) m, last place.
        drops: whether receivers of a shot lie outside of that.
    """

    sources: Mapping[str, np.ndarray]
    axes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    drops: bool = False

    @property
    def sample(self) -> Sequence[str]:
        """The names of the shots, or of a sample of many: the first, the last, between."""
        names = list(self.sources)
        kept = np.linspace(0, len(names) - 1, min(len(names), _MOST_SHOTS)).round().astype(int)
        return [names[n] for n in kept]


@dataclass(frozen=True)
class ReceiverGroup:
    """The receivers of a set.

    Attributes:
        name: of the set.
        codes: of each receiver.
        coordinates: (receivers, 3) x, y, z in m; of receivers that move, as `Motion` says.
        quantities: to record.
        interval: sampling interval in s, None for every step.
        elevations: their name in its station list, which are not used; "" without.
        vertical: the reading of z or depths of its station list, where that does not say.
        elevations_m: (receivers) m of its station list, NaN of receivers without, or None.
        fibre: whose channels the receivers are, or None.
        motion: how they move with the shots, None where they do not.
        sites: names of the sites of its station list; empty where none has a name.
    """

    name: str
    codes: tuple[str, ...]
    coordinates: np.ndarray
    quantities: tuple[str, ...]
    interval: float | None
    elevations: str = ""
    vertical: str = ""
    elevations_m: np.ndarray | None = None
    fibre: Fibre | None = None
    motion: Motion | None = None
    sites: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Count the receivers."""
        return len(self.codes)

    @property
    def of_list(self) -> dict[str, Any]:
        """Facts of a station list beside the positions, by name in results."""
        described: dict[str, Any] = {}
        if self.elevations_m is not None:
            described["station_elevation"] = self.elevations_m
        return described | ({"site": list(self.sites)} if self.sites else {})

    def at(self, shot: str) -> np.ndarray:
        """Return the positions (receivers, 3) m in a shot, by its name."""
        if self.motion is None:
            return self.coordinates
        return self.coordinates + self.motion.axes * self.motion.sources[shot]

    def recording(self, shot: str) -> np.ndarray:
        """Return which receivers (receivers) record in a shot: all that lie inside the grid."""
        if self.motion is None or not self.motion.drops:
            return np.ones(len(self), bool)
        positions = self.at(shot)
        inside = (self.motion.low <= positions) & (positions <= self.motion.high)
        return np.asarray(inside.all(axis=1))

    @cached_property
    def all_positions(self) -> np.ndarray:
        """The positions (n, 3) m of all shots (`Motion.sample`), each once where receivers move."""
        if self.motion is None:
            return self.coordinates
        for shots in (self.motion.sample, self.motion.sources):
            every = np.concatenate([self.at(shot)[self.recording(shot)] for shot in shots])
            if len(every):
                break
        return np.unique(every, axis=0)

    def count_where(self, condition: Callable[[np.ndarray], np.ndarray]) -> int:
        """Count the receivers whose position (n, 3) m meets a condition (n), in any shot."""
        if self.motion is None:
            return int(condition(self.coordinates).sum())
        met = np.zeros(len(self), bool)
        for shot in self.motion.sample:
            met |= condition(self.at(shot)) & self.recording(shot)
        return int(met.sum())

    def first_where(
        self, condition: Callable[[np.ndarray], np.ndarray], most: int
    ) -> list[tuple[str, np.ndarray]]:
        """Return codes and positions (3) m of the first receivers that meet a condition (n).

        Of receivers that move it is the position in the first shot in which they do.
        """
        first = dict[int, np.ndarray]()
        for shot in ("",) if self.motion is None else self.motion.sample:
            positions = self.at(shot)
            met = np.flatnonzero(condition(positions) & self.recording(shot))
            first = {n: positions[n] for n in met[:most].tolist()} | first
        return [(self.codes[n], first[n]) for n in sorted(first)[:most]]

    @property
    def read_positions(self) -> np.ndarray:
        """Positions (n, 3) in m that fields are read at."""
        return self.all_positions if self.fibre is None else np.concatenate(self.fibre.ends)

    def components(self, physics: Physics) -> dict[str, tuple[str, str, str]]:
        """Return each component's quantity, the base quantity recorded and the base component."""
        components = {}
        for quantity in self.quantities:
            base = _BASES.get(quantity, quantity)
            for component in (base,) if self.fibre else physics.observables[base]:
                components[_name(quantity, component)] = (quantity, base, component)
        return components

    def terms(self, physics: Physics, base: str, component: str) -> tuple[Term, ...]:
        """Return the components read for a base component; along a fibre all of velocity."""
        if self.fibre is None:
            return physics.observables[base][component]
        return tuple(term for terms in physics.observables["velocity"].values() for term in terms)


def paths_of(
    sources: np.ndarray, groups: Sequence[ReceiverGroup], most: int = 20
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield sources (n, 3) and receivers (m, 3) in m, between all of which waves travel.

    Args:
        sources: (n, 3) m of all shots.
        groups: the receiver sets.
        most: shots that are looked at where receivers move.
    """
    fixed = [group.coordinates for group in groups if group.motion is None]
    if fixed:
        yield sources, np.concatenate(fixed)
    moving = [(group, group.motion) for group in groups if group.motion is not None]
    for group, motion in moving:
        shots = motion.sample
        for shot in shots[:: -(-len(shots) // most)]:
            positions = group.at(shot)[group.recording(shot)]
            if len(positions):
                yield motion.sources[shot][None], positions


def thinned(rows: np.ndarray, most: int) -> np.ndarray:
    """Return every n-th row, at most so many."""
    return rows[:: -(-len(rows) // most) or 1]


@dataclass(frozen=True)
class Fibre:
    """The channels of a fibre.

    Attributes:
        gauge_length: in m.
        distances: (channels) of their centres along the fibre, in m.
        ends: for each channel the ends and bends (n, 3) m of its gauge length.
        weights: and the weights (n, 3) 1/m of the velocities there along x, y, z.
    """

    gauge_length: float
    distances: np.ndarray
    ends: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray, ...]


def fibre_of(points: np.ndarray, spacing: float, gauge_length: float) -> tuple[Fibre, np.ndarray]:
    """Return the channels along a line through points, and their positions (channels, 3) m.

    The gauge length of the first begins where the fibre does, and that of the last ends on it.

    Args:
        points: (n, 3) m, in order.
        spacing: of channels along the fibre in m.
        gauge_length: in m, at most the length of the fibre.
    """
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    points = points[np.append(True, steps > 0.0)]
    along = np.append(0.0, np.cumsum(steps[steps > 0.0]))
    count = 1 + int((along[-1] - gauge_length) / spacing * (1.0 + 1e-9))
    distances = 0.5 * gauge_length + spacing * np.arange(count)
    pieces = [
        _channel(points, along, s - 0.5 * gauge_length, s + 0.5 * gauge_length) for s in distances
    ]
    ends, weights = zip(*pieces, strict=True)
    return Fibre(gauge_length, distances, ends, weights), _at(points, along, distances)


def length_of(points: np.ndarray) -> float:
    """Return the length in m of a line through points (n, 3) m."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def _at(points: np.ndarray, along: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the positions (n, 3) at distances along a line of points at distances `along`."""
    return np.stack([np.interp(distances, along, points[:, a]) for a in range(3)], axis=1)


def _channel(
    points: np.ndarray, along: np.ndarray, begin: float, end: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends and bends (n, 3) of a gauge length, and the weights (n, 3) of velocities."""
    # Rounding must not make pieces without a direction of ends that are bends.
    least = _SHORTEST * along[-1]
    bends = along[(along > begin + least) & (along < end - least)]
    corners = _at(points, along, np.concatenate([[begin], bends, [end]]))
    pieces = np.diff(corners, axis=0)
    directions = pieces / np.linalg.norm(pieces, axis=1, keepdims=True)
    none = np.zeros((1, 3))
    turns = -np.diff(directions, axis=0, prepend=none, append=none)
    kept = np.abs(turns).max(axis=1) > _STRAIGHT
    return corners[kept], turns[kept] / (end - begin)

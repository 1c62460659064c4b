"""The earth model of a scenario as one object that knows vp, vs and rho at any point.

Parts are painted in the order of the scenario, each over those before it; parameters that a part
does not set stay unchanged. Coordinates beyond the interior (in the absorbing layers) are clamped
to its edge, so that the medium is constant along the normal of every layer. Parts are asked in true
z, or by the depth below the ground (`GroundFrame`).

Symbols: vp, vs velocities of P and S waves (m/s), rho density (kg/m3); z depth positive down, x, y
(m).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeGuard

import numpy as np
from numpy.polynomial import Chebyshev

from seismo.equations.framework.parameters import (
    CONSTANTS,
    LEAST_QUALITY,
    Condition,
    Conversion,
    different,
    worth_finding,
)
from seismo.equations.framework.registry import PARAMETERS
from seismo.equations.rock.anisotropic_loss import STIFFER, loss_numbers, scaled, shear_share
from seismo.equations.rock.relaxation import Relaxation
from seismo.errors import ModelError
from seismo.grid.coordinates import VerticalCoordinate
from seismo.grid.grid import Bounds
from seismo.model.effective import Clamp, Range
from seismo.model.gridded import Gridded
from seismo.model.parts import DepthProfile, EarthPart, SourceSpheres, Uniform
from seismo.model.random_medium import RandomMedium
from seismo.model.samples import turned
from seismo.model.volume import Volume

Boxes = tuple[Bounds, Bounds]  # low and high ends
# Numbers y, as in `Relaxation`, so close that linear interpolation errs by less than 1e-11.
_Y = np.linspace(0.0, 1.0 / (LEAST_QUALITY + 1.0), 2**16 + 1)
_DEGREE = 24  # of the polynomial in y through ratios of velocities, which errs by less than 1e-13
# Below vp / vs = sqrt(4/3) the bulk modulus is negative; rounding of float32 files is allowed for.
LEAST_RATIO = np.sqrt(4.0 / 3.0) * (1.0 - 1e-6)


@dataclass(frozen=True)
class GroundFrame:
    """Where the points of a grid stand, and how parts of the earth count their z.

    Attributes:
        topography: that the vertical coordinate s follows; None where it is z.
        level: z in m of the ground, where there is no topography.
        below_ground: numbers of the parts whose z counts from the ground.
    """

    topography: VerticalCoordinate | None = None
    level: float = 0.0
    below_ground: frozenset[int] = frozenset()

    def follows_ground(self, number: int) -> bool:
        """Whether z of a part may differ from that of the grid."""
        return self.topography is not None or number in self.below_ground

    def points(self, coordinates: Bounds) -> PlacedPoints:
        """Return points at s, y, x in m."""
        s, y, x = coordinates
        if self._is_flat(s):
            return PlacedPoints(self, coordinates)
        assert self.topography is not None
        f = self.topography.surface(y, x)
        return PlacedPoints(self, (self.topography.z_over(f, s), y, x), f)

    def boxes(self, low: Bounds, high: Bounds) -> PlacedBoxes:
        """Return the boxes of z, y, x that contain the boxes of s, y, x in m."""
        if self._is_flat(low[0]):
            return PlacedBoxes(self, (low, high))
        assert self.topography is not None
        # The ground at the corners; z grows with s.
        corners = [self.topography.surface(*column) for column in _corners(low, high)]
        top = np.minimum.reduce([self.topography.z_over(f, low[0]) for f in corners])
        bottom = np.maximum.reduce([self.topography.z_over(f, high[0]) for f in corners])
        return PlacedBoxes(self, ((top, *low[1:]), (bottom, *high[1:])), corners)

    def _is_flat(self, s: np.ndarray) -> bool:
        """Whether z is s."""
        return self.topography is None or bool(np.all(s >= self.topography.flat_from))

    def ground(self, y: np.ndarray | None, x: np.ndarray, f: np.ndarray | None) -> np.ndarray:
        """Return z in m of the ground at y, x in m, f below the level where that is known."""
        if self.topography is None:
            return np.asarray(self.level)
        return self.topography.level + (self.topography.surface(y, x) if f is None else f)


@dataclass(frozen=True)
class PlacedPoints:
    """Points at their true z.

    Attributes:
        frame: of the earth.
        coordinates: z, y, x in m.
        below_level: of the ground over them, in m; None where it is not known yet.
    """

    frame: GroundFrame
    coordinates: Bounds
    below_level: np.ndarray | None = None

    def of_part(self, number: int) -> Bounds:
        """Return z, y, x in m as a part of the model counts z."""
        if number not in self.frame.below_ground:
            return self.coordinates
        z, y, x = self.coordinates
        return z - self._ground, y, x

    @cached_property
    def _ground(self) -> np.ndarray:
        _, y, x = self.coordinates
        return self.frame.ground(y, x, self.below_level)


@dataclass(frozen=True)
class PlacedBoxes:
    """Boxes at their true z.

    Attributes:
        frame: of the earth.
        ends: low and high z, y, x in m.
        below_level: of the ground over their corners, in m; None where it is not known yet.
    """

    frame: GroundFrame
    ends: Boxes
    below_level: Sequence[np.ndarray | None] = (None,) * 4

    def of_part(self, number: int) -> Boxes:
        """Return the boxes that hold these, with z as a part counts it."""
        if number not in self.frame.below_ground:
            return self.ends
        low, high = self.ends
        highest, lowest = self._ground
        return (low[0] - lowest, *low[1:]), (high[0] - highest, *high[1:])

    @cached_property
    def _ground(self) -> tuple[np.ndarray, np.ndarray]:
        """Z in m of the highest and the lowest ground over the corners."""
        columns = _corners(*self.ends)
        corners = [
            self.frame.ground(*column, f)
            for column, f in zip(columns, self.below_level, strict=True)
        ]
        return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _corners(low: Bounds, high: Bounds) -> list[tuple[np.ndarray | None, np.ndarray]]:
    """Return y, x in m of the corners of boxes."""
    return [(y, x) for y in (low[1], high[1]) for x in (low[2], high[2])]


@dataclass(frozen=True)
class Earth:
    """vp, vs and rho anywhere; see `build_earth`.

    Attributes:
        model_parts: painted in order.
        needs: names of the parameters.
        clamp: the interior, beyond which it goes on as at its edge.
        conditions: of the parameters.
        conversion: from the parts' parameters to these.
        relaxation: of a medium that attenuates; vp and vs are then the unrelaxed ones.
        moduli: of P and S waves, over unrelaxed ones.
        growth: moduli are larger by so many times their y.
        frame: of the grid: over topography coordinates are x, y, s; and of the parts.
        spheres: about sources, drawn over all parts.
    """

    model_parts: tuple[EarthPart, ...]
    needs: tuple[str, ...]
    clamp: Clamp = (None, None, None)
    conditions: tuple[Condition, ...] = ()
    conversion: Conversion | None = None
    relaxation: Relaxation | None = None
    moduli: tuple[float, float] = (1.0, 1.0)
    growth: float = 0.0
    frame: GroundFrame = field(default_factory=GroundFrame)
    spheres: SourceSpheres | None = None

    @cached_property
    def stiffer(self) -> Earth:
        """The same with moduli that are `STIFFER` times their y larger."""
        return replace(self, growth=STIFFER)

    @property
    def as_painted(self) -> Earth:
        """The same whose parameters are those that the parts of the model give."""
        needs = self.conversion.takes if self.conversion else self.needs
        return replace(self, needs=needs, conversion=None, conditions=(), relaxation=None)

    def converted(self, rock: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of values (...) as parts give them; others are as by default."""
        assert self.conversion is not None  # of an earth that has one
        like = next(iter(rock.values()))
        parameters = {
            name: rock[name] if name in rock else np.full_like(like, PARAMETERS[name].start)
            for name in self.conversion.takes
        }
        self.conversion.complete(parameters)
        converted: dict[str, Any] = self.conversion.convert(parameters)
        return converted

    @property
    def as_given(self) -> Earth:
        """The same with the velocities of the scenario, not the unrelaxed ones."""
        return replace(self, relaxation=None)

    @cached_property
    def column_averages(self) -> dict[tuple[bytes, object], dict[str, np.ndarray]]:
        """Averages that have been taken down its column, by depths and spacing (`averaging`)."""
        return {}

    @property
    def layered(self) -> bool:
        """Whether the earth varies with its vertical coordinate only."""
        if self.spheres is not None:
            return False
        if self.frame.topography is not None:
            return all(isinstance(model_part, Uniform) for model_part in self.model_parts)
        return all(model_part.layered for model_part in self.model_parts)

    @property
    def is_open(self) -> bool:
        """Whether other models may follow, with other values at the nodes (`NodeValues`)."""
        return any(getattr(model_part, "changing", None) for model_part in self.model_parts)

    @property
    def gridded(self) -> bool:
        """Whether a part varies within cells anywhere, as files do."""
        return any(map(_varies_within_cells, self.model_parts))

    def turned(self, least: float) -> str:
        """Describe which model file seems transposed where vp / vs falls below a least value."""
        descriptions = (turned(p.grids, least) for p in self.model_parts if isinstance(p, Gridded))
        return next(filter(None, descriptions), "")

    def sample(
        self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray | float = 0.0
    ) -> dict[str, np.ndarray]:
        """Return each parameter needed (broadcast shape of z, y, x) at coordinates in m.

        Args:
            z: depths (broadcastable) m; s over topography.
            y: coordinates along y (broadcastable) m, None in 2-D.
            x: coordinates along x (broadcastable) m.

        Raises:
            ModelError: a value is missing, or physically impossible.
        """
        points = self.frame.points(self.inside(np.asarray(z, float), y, np.asarray(x, float)))
        z, y, x = points.coordinates
        shape = np.broadcast_shapes(z.shape, x.shape, () if y is None else y.shape)
        names = self.conversion.takes if self.conversion else self.needs
        fields = {name: np.full(shape, PARAMETERS[name].start) for name in names}
        for k, model_part in enumerate(self.model_parts):
            model_part.paint(fields, *points.of_part(k))
        if self.spheres is not None:
            self.spheres.paint(fields, z, y, x)
        if self.conversion is None:
            _check(fields, (z, y, x), self)
        else:
            fields = self._converted(fields, (z, y, x), self.conversion)
        _fulfil(self.conditions, fields, fields, (z, y, x), self)
        return self.unrelaxed(fields)

    def at(self, positions: np.ndarray, dimensions: int) -> dict[str, np.ndarray]:
        """Return each parameter needed (...) at positions (..., 3) m, as `sample` does."""
        x, y, z = np.moveaxis(positions, -1, 0)
        return self.sample(z, y if dimensions == 3 else None, x)

    def _converted(
        self, fields: dict[str, np.ndarray], coordinates: Bounds, conversion: Conversion
    ) -> dict[str, np.ndarray]:
        """Return the painted parameters, converting each different rock once."""
        conversion.complete(fields)
        _check(fields, coordinates, self)
        columns = np.array([fields[name].ravel() for name in conversion.takes])
        if worth_finding(columns):
            rocks, inverse = different(columns)
        else:
            rocks = columns
            inverse = np.arange(columns.shape[1])
        shape = fields[conversion.takes[0]].shape
        kinds = dict(zip(conversion.takes, rocks, strict=True))
        _fulfil(conversion.conditions, kinds, fields, coordinates, self, inverse.reshape(shape))
        converted = conversion.convert(kinds)
        return {name: converted[name][inverse].reshape(shape) for name in conversion.names}

    def most_qp(self, medium: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the qp of media whose bulk modulus (`relaxation`) loses nothing.

        With more it would gain energy, and waves could grow. In 2-D it is lambda + mu. In
        anisotropic rock there is a strain without loss (`seismo.equations.rock.anisotropic_loss`).
        """
        with np.errstate(divide="ignore"):
            return medium["qs"] / shear_share(medium, self._dimensions)

    @property
    def _dimensions(self) -> int:
        return 2 if self.clamp[1] is None else 3

    def unrelaxed(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with unrelaxed velocities, of moduli that may be made larger."""
        relaxation = self.relaxation
        if relaxation is None:
            return fields
        if {"qp", "qs"} <= fields.keys():
            fields["qp"] = np.minimum(fields["qp"], self.most_qp(fields))
        moduli = []
        numbers = loss_numbers(fields, relaxation, self._dimensions)
        for wave, share, y in zip("ps", self.moduli, numbers, strict=True):
            ratio = np.interp(y, _Y, _ratios(relaxation, wave))
            moduli.append(share * ratio**2 * (1.0 + self.growth * y))
        return fields | scaled(fields, *moduli)

    def given_by(
        self, name: str, z: float, y: float | None = None, x: float = 0.0
    ) -> tuple[str | int, ...]:
        """Return the keys of the scenario that set a parameter at a position in m, at its z."""
        key: tuple[str | int, ...] = ("model",)
        coordinates: Bounds = (
            np.array([z]), None if y is None else np.array([y]), np.array([x])
        )  # fmt: skip
        if self.frame.topography is None:
            coordinates = self.inside(*coordinates)
        points = PlacedPoints(self.frame, coordinates)
        for k, model_part in enumerate(self.model_parts):
            if isinstance(model_part, RandomMedium) and name in model_part.factors:
                key = ("model", k, "properties", name)
            fields = {name: np.full(1, np.nan)}
            model_part.paint(fields, *points.of_part(k))
            if not np.isnan(fields[name][0]):
                own_keys = (
                    model_part.key(name, float(coordinates[0][0]))
                    if isinstance(model_part, DepthProfile)
                    else (name,)
                )
                key = ("model", k, *own_keys)
        return key

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return which boxes low to high (z, y, x in m; broadcast shape) are not uniform.

        Gridded parts that vary everywhere (`gridded`) are ignored.
        """
        boxes = self.frame.boxes(self.inside(*low), self.inside(*high))
        result = np.zeros((), bool)
        for k, model_part in enumerate(self.model_parts):
            result = result | model_part.uneven(*boxes.of_part(k))
        return result

    def varies(self, low: Bounds, high: Bounds, density: bool = False) -> bool:
        """Whether gridded parts vary anywhere between two depths z of `low` and `high`.

        Of `density` alone, it must step between neighbouring points of the file.
        """
        boxes = self.frame.boxes(self.inside(*low), self.inside(*high))
        for k, model_part in enumerate(self.model_parts):
            if _varies_within_cells(model_part):
                (top, *_), (bottom, *_) = boxes.of_part(k)
                varies = model_part.steps if density else model_part.varies
                if varies(top.min(), bottom.max()):
                    return True
        return False

    def inside(self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> Bounds:
        """Return coordinates moved into the interior."""
        limits_z, limits_y, limits_x = self.clamp
        return _clip(z, limits_z), None if y is None else _clip(y, limits_y), _clip(x, limits_x)


def _varies_within_cells(model_part: EarthPart) -> TypeGuard[Gridded | Volume]:
    """Whether a part is a file of which boxes are not uniform anywhere."""
    return isinstance(model_part, Volume) or (
        isinstance(model_part, Gridded) and not model_part.cells
    )


@lru_cache
def _ratios(relaxation: Relaxation, wave: str) -> np.ndarray:
    """Return unrelaxed over given velocities at the numbers `_Y`, once for all samples."""
    exact = partial(relaxation.velocity_ratio, wave)
    return Chebyshev.interpolate(exact, _DEGREE, _Y[[0, -1]])(_Y)


def _clip(coordinate: np.ndarray, limits: Range) -> np.ndarray:
    return coordinate if limits is None else np.clip(coordinate, *limits)


def _check(fields: Mapping[str, np.ndarray], coordinates: Bounds, earth: Earth) -> None:
    """Raise for missing or impossible values, with the first position."""
    for name, samples in fields.items():
        if name in CONSTANTS:
            continue  # 0 where a rock is given otherwise
        # A comparison with NaN is false: a single pass finds both the missing and the impossible.
        parameter = PARAMETERS[name]
        least = parameter.least
        is_valid = samples >= least if parameter.has_least else samples > least
        if not is_valid.all():
            first_bad, value = _first(~is_valid, samples, coordinates)
            if np.isnan(value):
                raise ModelError(
                    f"{name} is not given at {_named(first_bad)}; let the first part cover the "
                    "region",
                    "model",
                )
            limit = f"at least {least:g}" if parameter.has_least else f"above {least:g}"
            problem = f"{name} is {value:g} at {_named(first_bad)}; must be {limit}"
            raise ModelError(problem, *earth.given_by(name, **first_bad))
    if "vp" in fields and "vs" in fields:
        velocities = np.equal(fields.get("c33", 0.0), 0.0)  # of constants other things are asked
        is_invalid = velocities & (fields["vp"] < LEAST_RATIO * fields["vs"])
        if is_invalid.any():
            first_bad, ratio = _first(
                is_invalid, fields["vp"] / np.maximum(fields["vs"], 1e-30), coordinates
            )
            keys = [earth.given_by(name, **first_bad) for name in ("vs", "vp")]
            reason = "below 1.155 the bulk modulus is negative"
            remedy = "check vp, vs and the order of parts"
            if ratio < 1.0:
                reason = "vs is larger than vp"
                remedy = "are they exchanged?"
            raise ModelError(
                f"vp/vs is {ratio:.3f} at {_named(first_bad)}; {reason}: "
                f"{earth.turned(LEAST_RATIO) or remedy}",
                *max(keys, key=lambda key: key[1]),  # of the part laid over the other
            )


def _fulfil(
    conditions: Iterable[Condition], media: Mapping[str, np.ndarray],
    fields: Mapping[str, np.ndarray], coordinates: Bounds, earth: Earth,
    which: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Raise for media, of the fields or `which`, that do not fulfil a condition."""
    for condition in conditions:
        fulfilled = np.asarray(condition.holds(media))
        if not fulfilled.all():
            _refuse(condition, fields, ~(fulfilled if which is None else fulfilled[which]),
                    coordinates, earth)  # fmt: skip


def _refuse(
    condition: Condition, fields: Mapping[str, np.ndarray], is_bad: np.ndarray, coordinates: Bounds,
    earth: Earth,
) -> None:  # fmt: skip
    """Raise for media that do not fulfil a condition, with the first position."""
    first_ones = [_first(is_bad, fields[name], coordinates) for name in condition.names]
    first_bad = first_ones[0][0]
    named = (f"{n} is {v:g}" for n, (_, v) in zip(condition.names, first_ones, strict=True))
    keys = [earth.given_by(name, **first_bad) for name in condition.names]
    raise ModelError(
        f"{' and '.join(named)} at {_named(first_bad)}; {condition.problem}",
        *max(keys, key=lambda key: key[1:2]),  # of the part laid over the others
    )


def _first(
    is_bad: np.ndarray, samples: np.ndarray, coordinates: Bounds
) -> tuple[dict[str, float], float]:
    """Return the first bad position in m by axis, and the value there."""
    index = np.unravel_index(int(np.argmax(is_bad)), is_bad.shape)
    position = {
        axis: float(np.broadcast_to(coordinate, is_bad.shape)[index])
        for axis, coordinate in zip("zyx", coordinates, strict=True)
        if coordinate is not None
    }
    return position, float(samples[index])


def _named(position: Mapping[str, float]) -> str:
    return ", ".join(f"{axis} = {value:g} m" for axis, value in position.items())

"""The media of a grid: each of a few layers, or three that represent many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from seismo.equations.framework.parameters import different
from seismo.equations.rock import plane_waves
from seismo.grid.grid import AXES, Grid
from seismo.model.earth import Earth
from seismo.model.effective import Samples

MOST_MEDIA = 12
_SAMPLES = 200_000
_TYPICAL = ("slowest", "middle", "fastest")


@dataclass(frozen=True)
class RepresentativeMedium:
    """One medium of the earth.

    Many media are represented by three: the slowest, the median and the fastest. z and share then
    belong to the slowest tenth of the points, the points between, and the fastest tenth.

    Attributes:
        top: smallest z in m of rows in which it occurs, over topography s (`Topography`).
        bottom: greatest depth in m.
        z: smallest and greatest z in m at which it occurs, over topography, too.
        vp: m/s, None where the equation has none.
        vs: m/s, 0 in a fluid, None where the equation has none.
        rho: kg/m3, None where the equation has none.
        share: of the sampled points.
        stands_for: "slowest", "middle" or "fastest" of many media, "" for a single medium.
        others: further parameters that the equation has.
        height: of the tallest cells that it fills, in cells at the top of the grid.
    """

    top: float
    bottom: float
    z: tuple[float, float]
    vp: float | None
    vs: float | None
    rho: float | None
    share: float
    stands_for: str = ""
    others: Mapping[str, float] = field(default_factory=dict)
    height: float = 1.0

    @property
    def slowest(self) -> float:
        """Velocity of the slowest wave in m/s."""
        return self._speeds[0] if self.anisotropic else self.vs or self.vp or math.nan

    @property
    def sampled(self) -> float:
        """Velocity in m/s of waves with as few points per wavelength in cells at the top."""
        return self.slowest / self.height

    @property
    def fastest(self) -> float:
        """Velocity of the fastest wave in m/s."""
        return self._speeds[1] if self.anisotropic else self.vp or self.slowest

    @property
    def anisotropic(self) -> bool:
        """Whether it has the constants of anisotropic rock."""
        return bool(self.vs) and bool({"gamma", "c33"} & self.others.keys())

    @cached_property
    def _speeds(self) -> tuple[float, float]:
        velocities = {name: getattr(self, name) for name in ("vp", "vs", "rho")}
        medium = {name: value for name, value in velocities.items() if value is not None}
        slowest, fastest = plane_waves.speeds({**medium, **self.others})
        return float(slowest), float(fastest)


class MediaSample:
    """Media at points spread over the extent, taken in a pass over the nodes of a grid.

    Attributes:
        wet: whether there is fluid in the topmost row.
    """

    def __init__(self, earth: Earth, grid: Grid) -> None:
        """Choose the points: all nodes, or so many as will do."""
        self._earth = earth
        self._grid = grid
        self.wet = False
        ends = {a: (grid.extent.lo[n], grid.extent.hi[n])
                for n, a in enumerate(AXES) if a in grid.axes}  # fmt: skip
        total = math.prod(hi - lo for a, (lo, hi) in ends.items() if a == "z" or not earth.layered)
        every = math.ceil((max(1.0, total / _SAMPLES)) ** (1.0 / grid.dimensions))
        self._rows = np.arange(*ends["z"], every)
        self._z = grid.coordinate("z", self._rows)
        across = [slice(*ends[a], every) for a in "yx" if a in ends]
        self._across = [slice(None)] if earth.layered else across
        self._depths: list[np.ndarray] = []
        self._z_true: list[np.ndarray] = []
        self._columns: list[np.ndarray] = []
        # f of the columns, of a uniform earth that under the highest ground: z = s + f B(s).
        self._topography = earth.frame.topography
        if self._topography is not None:
            at = {a: grid.coordinate(a, np.arange(*ends[a], every)) for a in ends}
            y = at["y"][:, None] if "y" in at else None
            below_level = self._topography.surface(y, at["x"])
            self._below_level = below_level.min() if earth.layered else below_level.ravel()

    def take(self, rows: slice, samples: Samples) -> None:
        """Take the points that lie in a range of rows z of the nodes."""
        if rows.start == 0 and "vs" in samples:
            self.wet = bool((samples["vs"][0] == 0.0).any())
        inside = (rows.start <= self._rows) & (self._rows < rows.stop)
        index = (self._rows[inside] - rows.start, *self._across)
        inner = [samples[name][index] for name in self._earth.needs]
        self._columns.append(np.array([parameter.ravel() for parameter in inner]))
        per_row = math.prod(inner[0].shape[1:])
        s = np.repeat(self._z[inside], per_row)
        self._depths.append(s)
        if self._topography is not None:
            share = self._topography.share(self._z[inside])
            s = s + np.multiply.outer(share, self._below_level).ravel()
        self._z_true.append(s)

    def media(self) -> list[RepresentativeMedium]:
        """List the media from the top, or the slowest, median and fastest of many."""
        depths = np.concatenate(self._depths)
        z_true = np.concatenate(self._z_true)
        columns = np.concatenate(self._columns, axis=1)
        if "vs" in self._earth.needs and "vp" not in self._earth.needs:
            # No SH waves in fluids.
            solid = columns[self._earth.needs.index("vs")] > 0.0
            depths, z_true, columns = depths[solid], z_true[solid], columns[:, solid]
        # Cells of an even grid are as tall everywhere.
        heights = np.ones(depths.size)
        if self._grid.stretching is not None:
            heights = self._grid.heights(self._grid.index("z", depths))
        parameters, inverse = different(columns)
        numbers_of: np.ndarray | None = None
        many = parameters.shape[1] > MOST_MEDIA
        if many:
            numbers_of, inverse = _typical(self._earth, columns, heights)
            parameters = columns[:, numbers_of]
        media = []
        for number in range(parameters.shape[1]):
            belongs = inverse == number
            if not belongs.any():
                continue
            numbers = map(float, parameters[:, number])
            properties = dict(zip(self._earth.needs, numbers, strict=True))
            vp, vs, rho = (properties.pop(name, None) for name in ("vp", "vs", "rho"))
            top = float(depths[belongs].min())
            bottom = float(depths[belongs].max())
            z = (float(z_true[belongs].min()), float(z_true[belongs].max()))
            share = float(belongs.mean())
            stands_for = _TYPICAL[number] if many else ""
            tallest = heights[belongs].max() if numbers_of is None else heights[numbers_of[number]]
            media.append(
                RepresentativeMedium(
                    top, bottom, z, vp, vs, rho, share, stands_for, properties, float(tallest)
                )
            )
        return media if many else sorted(media, key=lambda medium: (medium.top, medium.slowest))


def _typical(
    earth: Earth, columns: np.ndarray, heights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return three points (3) that represent many media, and which each point (n) belongs to.

    They are of the slowest tenth, the points between and the fastest tenth, by points per
    wavelength.

    Points as slow, or as fast, as the last of a tenth belong to it: water is not split in two.
    """
    by_name = dict(zip(earth.needs, columns, strict=True))
    speeds = by_name["vp"] if "vp" in by_name else by_name["vs"]
    if "vs" in by_name:
        speeds = np.where(by_name["vs"] > 0.0, by_name["vs"], speeds)
    speeds = speeds / heights
    order = np.argsort(speeds, kind="stable")
    tenth = max(1, len(order) // 10)
    slow_limit, fast_limit = speeds[order[[tenth - 1, -tenth]]]
    inverse = np.where(speeds <= slow_limit, 0, np.where(speeds < fast_limit, 1, 2))
    inverse[order[-1]] = 2  # however few speeds there are, there are several media
    between = order[inverse[order] == 1]
    median = between[len(between) // 2] if between.size else order[len(order) // 2]
    return np.array([order[0], median, order[-1]]), inverse

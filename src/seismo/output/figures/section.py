"""Plane sections of a grid with their geometry: the ground on which model and waves are drawn.

A 2-D grid is its own section. A 3-D grid is cut along x-z, y-z and x-y through a point. Depth z
points down the page; a section x-y is a map seen from above, so x (north) points up and y (east)
to the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import yaml
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from seismo.errors import ScenarioError
from seismo.grid.grid import AXES
from seismo.output.figures.map_marks import draw_map_marks
from seismo.output.figures.style import RECEIVER_COLOUR, SOURCE_COLOUR, length_unit
from seismo.output.ground_record import GroundRecord
from seismo.output.results import Results
from seismo.scenario import units

_MOST_MARKERS = 40  # of a set of receivers
_MOST_DOTS = 2000  # the same on a map


@dataclass(frozen=True)
class CrossSection:
    """A plane: the axis to the right, the axis up or down the page, and where it cuts.

    Attributes:
        horizontal: axis to the right.
        vertical: axis along the page.
        across: axis that is cut, None in 2-D.
        position: where, in m.
        ground: that rows follow, None where it is flat.
    """

    horizontal: str
    vertical: str
    across: str | None = None
    position: float = 0.0
    ground: GroundRecord | None = field(default=None, compare=False)

    def title(self) -> str:
        """Describe where a 3-D grid is cut, such as ``y = 11 km``; empty in 2-D."""
        if self.across is None:
            return ""
        if self.ground is not None and self.ground.is_on({self.across: self.position}):
            return "on the ground"
        factor, unit = length_unit([0.0, self.position])
        return f"{self.across} = {self.position * factor:.4g} {unit}"

    def index(self, axes: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
        """Return the index that cuts this section out of an array over `axes`."""
        return tuple(
            slice(None) if name in (self.horizontal, self.vertical) else self._nearest(coordinate)
            for name, coordinate in axes.items()
        )

    def oriented(self, array: np.ndarray, axes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the cut as (vertical, horizontal), at points that are the same distance apart."""
        order = [name for name in axes if name in (self.horizontal, self.vertical)]
        cut = array if order[0] == self.vertical else array.T
        if self.is_curved:  # drawn where points stand
            return cut
        rows = _even_rows(axes[self.vertical])
        return cut if rows is None else cut[rows]

    def shape_ratio(self, axes: Mapping[str, np.ndarray]) -> float:
        """Return height over width."""
        return _reach(axes[self.vertical]) / _reach(axes[self.horizontal])

    @property
    def is_curved(self) -> bool:
        """Whether its rows follow the ground."""
        return self.ground is not None and self.vertical == "z"

    def z(self, axes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return z in m of the points (vertical, horizontal) of a section that is curved."""
        assert self.ground is not None  # `is_curved`
        plane = {} if self.across is None else {self.across: self.position}
        return self.ground.points({n: axes[n] for n in (self.vertical, self.horizontal)}, plane)

    def _nearest(self, coordinate: np.ndarray) -> int:
        return int(np.abs(coordinate - self.position).argmin())


def sections(
    axes: Mapping[str, np.ndarray], through: Mapping[str, float],
    ground: GroundRecord | None = None,
) -> list[CrossSection]:  # fmt: skip
    """Return the section of a 2-D grid, or the three of a 3-D grid that meet at a point.

    Args:
        axes: coordinates in m.
        through: the point.
        ground: that rows follow, None where it is flat; of a plane that of it alone.
    """
    names = list(axes)
    if len(names) == 2:
        pair = _pair(names)
        return [CrossSection(pair.horizontal, pair.vertical, ground=ground)]
    if len(names) != 3:
        raise ScenarioError(f"a figure needs two or three axes, not {len(names)}")
    cross_sections = []
    for across in ("y", "x", "z"):
        middle = float(np.mean(axes[across][[0, -1]]))
        position = float(np.clip(through.get(across, middle), axes[across][0], axes[across][-1]))
        pair = _pair([name for name in names if name != across])
        cross_sections.append(
            CrossSection(pair.horizontal, pair.vertical, across, position, ground)
        )
    return cross_sections


def chosen_section(
    axes: Mapping[str, np.ndarray],
    through: Mapping[str, float],
    across: str | None,
    volumes: Sequence[str] = (),
    ground: GroundRecord | None = None,
) -> CrossSection:
    """Return one section: in 3-D the one across axis `across`, by default y.

    Args:
        axes: coordinates in m.
        through: point where it cuts, as far as `across` does not say: ``z:500``, ``z:1.5 km``.
        across: the axis to cut.
        volumes: options that choose what could be cut instead of a plane, such as ``series=all``.
        ground: that rows follow, None where it is flat.

    Raises:
        ScenarioError: there is no such axis, it does not reach there, or there is one plane alone.
    """
    axis, has_position, position_text = (across or "y").partition(":")
    # A plane is cut already; its own axis may be named.
    if across and len(axes) == 2 and (has_position or axis not in {*AXES} - {*axes}):
        remedy = f"choose {' or '.join(volumes[:3])}, or leave section out"
        raise ScenarioError(
            f"section {across!r}: only the plane {'-'.join(axes)} is stored here; "
            f"{remedy if volumes else 'leave section out'}"
        )
    if has_position and len(axes) == 3 and axis in axes:
        through = {**through, axis: _position(across or "", axis, position_text, axes[axis])}
    cross_sections = sections(axes, through, ground)
    if len(cross_sections) == 1:
        return cross_sections[0]
    for section in cross_sections:
        if section.across == axis:
            return section
    raise ScenarioError(
        f"section {across!r}: name the axis to cut, x, y or z, and where if you like: z:500, "
        "z:1.5 km"
    )


def _position(text: str, axis: str, position_text: str, along: np.ndarray) -> float:
    """Read where to cut an axis: the grid point next to it."""
    try:
        position = units.to_si(position_text.strip(), units.LENGTH)
    except units.UnitError as error:
        raise ScenarioError(f"section {text!r}: {error}") from None
    reach = 0.5 * float(np.ptp(along[:2]))
    if not along[0] - reach <= position <= along[-1] + reach:
        raise ScenarioError(
            f"section {text!r}: {axis} is from {along[0]:.6g} to {along[-1]:.6g} m here"
        )
    return float(along[np.abs(along - position).argmin()])


def surface_of(results: Results, axes: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return z (m) of the free surface where a volume reaches it; else nothing."""
    scenario = yaml.safe_load(results.scenario) or {}
    free = (scenario.get("boundaries") or {}).get("top") == "free_surface"
    if len(axes) != 3 or not free:
        return {}
    top = float(((scenario.get("grid") or {}).get("origin") or {}).get("z", 0.0))
    if results.ground is not None:
        top = results.ground.level
    reaches = abs(axes["z"][0] - top) < 1e-3 * float(np.ptp(axes["z"][:2]))
    return {"z": float(axes["z"][0])} if reaches else {}


def draw_image(
    panel: Axes,
    section: CrossSection,
    array: np.ndarray,
    axes: Mapping[str, np.ndarray],
    scale: float,
    **options: Any,
) -> AxesImage | QuadMesh:
    """Draw values (vertical, horizontal), one cell around each grid point, in units `scale`."""
    if section.is_curved:
        options.pop("interpolation", None)
        x = np.broadcast_to(axes[section.horizontal], array.shape)
        z = section.z(axes)
        return panel.pcolormesh(
            x * scale, z * scale, array, shading="nearest", rasterized=True, **options
        )
    x_first, x_last = _edges(axes[section.horizontal], scale)
    low, high = _edges(axes[section.vertical], scale)
    return panel.imshow(array, extent=(x_first, x_last, low, high), origin="lower", **options)


def frame_section(
    panel: Axes, section: CrossSection, axes: Mapping[str, np.ndarray], scale: float, unit: str
) -> None:
    """Set limits, labels and directions: z down the page, everything to scale."""
    panel.set_aspect("equal")
    panel.set_xlim(*_edges(axes[section.horizontal], scale))
    low, high = _edges(axes[section.vertical], scale)
    if section.is_curved:
        z = section.z(axes)
        step = float(axes["z"][1] - axes["z"][0])
        low = float(z.min() - step) * scale
        x = axes[section.horizontal]
        if section.ground is not None and section.ground.is_on({"z": axes["z"][0]}):
            panel.plot(x * scale, z[0] * scale, color="black", linewidth=0.8, zorder=3)
    panel.set_ylim((high, low) if section.vertical == "z" else (low, high))
    panel.set_xlabel(f"{section.horizontal} ({unit})")
    panel.set_ylabel(f"{section.vertical} ({unit})")
    panel.locator_params(nbins=5, steps=[1, 2, 5, 10])


def draw_geometry(
    panel: Axes,
    section: CrossSection,
    results: Results,
    axes: Mapping[str, np.ndarray],
    scale: float,
    shot: str | None,
    coast: bool | None = None,
) -> list[Line2D]:
    """Mark the sources (stars) and receivers (triangles) within `axes`, projected on the section.

    Marks on an edge are drawn whole, so that nothing clips those which lie beyond. A map seen
    from above has marks of its own (`map_marks`), among which is the `coast`.
    """
    marks = []
    if section.vertical == "x":
        draw_map_marks(panel, results, axes, scale, shot, coast)
    positions, many = _receiver_positions(results, section, axes, shot)
    if many.size:
        marks += panel.plot(
            *(many * scale), ".", color=RECEIVER_COLOUR, markeredgecolor="black", markersize=3,
            markeredgewidth=0.4, clip_on=False, label="receivers", zorder=6,
        )  # fmt: skip
    if positions.size:
        size = 5 if positions.shape[1] < 20 else 3
        marks += panel.plot(
            *(positions * scale), "v", color=RECEIVER_COLOUR, markeredgecolor="black",
            clip_on=False, markersize=size, markeredgewidth=0.6, label="receivers",
            zorder=7 if section.vertical == "x" else 2,  # above beach balls and degrees of a map
        )  # fmt: skip
    sources = results.sources_of(shot)
    positions = np.array(
        [
            [s[section.horizontal], s[section.vertical]]
            for s in sources
            if section.horizontal in s and section.vertical in s
        ]
    ).T.reshape(2, -1)
    positions = positions[:, _within(positions, section, axes)]
    if positions.size:
        marks += panel.plot(
            *(positions * scale), "*", color=SOURCE_COLOUR, markeredgecolor="black", clip_on=False,
            markersize=11, markeredgewidth=0.7,
            label="source" if positions.shape[1] == 1 else "sources",
        )  # fmt: skip
    return marks


def source_position(results: Results, shot: str | None) -> dict[str, float]:
    """Return x, y, z (m) of the first source of a shot; empty when none is recorded."""
    for source in results.sources_of(shot):
        return {axis: float(source[axis]) for axis in "xyz" if axis in source}
    return {}


def _receiver_positions(
    results: Results, section: CrossSection, axes: Mapping[str, np.ndarray], shot: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return where receivers are marked (2, n), and where sets of many have dots on a map (2, n).

    Sets are thinned one by one: a line of many hides no station.
    """
    shown = [np.empty((2, 0))]
    dotted = [np.empty((2, 0))]
    for traces in results.traces.values():
        positions = traces.recorded_at(section.horizontal + section.vertical, shot)
        if positions is not None:
            inside = positions[:, _within(positions, section, axes)]
            if section.vertical == "x" and inside.shape[1] > _MOST_MARKERS:
                dotted.append(_thinned(inside, _MOST_DOTS))
            else:
                shown.append(_thinned(inside, _MOST_MARKERS))
    return np.concatenate(shown, axis=1), np.concatenate(dotted, axis=1)


def _thinned(positions: np.ndarray, most: int) -> np.ndarray:
    """Keep every so many of places (2, n), as many at both ends left out."""
    step = max(1, -(-positions.shape[1] // most))
    return positions[:, (positions.shape[1] - 1) % step // 2 :: step]


def _within(
    positions: np.ndarray, section: CrossSection, axes: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return which places (2, n) lie on the axes, or less than a point beyond a decimated one."""
    within = np.ones(positions.shape[1], bool)
    for along, name in zip(positions, (section.horizontal, section.vertical), strict=True):
        step = np.ptp(axes[name][:2])
        within &= (axes[name][0] - step < along) & (along < axes[name][-1] + step)
    return within


def _pair(names: Sequence[str]) -> CrossSection:
    if "z" in names:
        return CrossSection(next(name for name in names if name != "z"), "z")
    return CrossSection("y", "x")


def _edges(coordinate: np.ndarray, scale: float) -> tuple[float, float]:
    half = 0.5 * (coordinate[1] - coordinate[0]) if len(coordinate) > 1 else 0.5
    return float((coordinate[0] - half) * scale), float((coordinate[-1] + half) * scale)


def _even_rows(coordinate: np.ndarray) -> np.ndarray | None:
    """Return the points next to places as far apart as the closest ones; None where all are."""
    steps = np.diff(coordinate)
    if len(steps) < 2 or steps.max() <= steps.min() * (1.0 + 1e-6):
        return None
    count = round(float((coordinate[-1] - coordinate[0]) / steps.min())) + 1
    even = np.linspace(coordinate[0], coordinate[-1], count)
    return np.rint(np.interp(even, coordinate, np.arange(len(coordinate)))).astype(int)


def _reach(coordinate: np.ndarray) -> float:
    low, high = _edges(coordinate, 1.0)
    return high - low

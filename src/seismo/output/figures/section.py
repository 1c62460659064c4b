"""Plane sections of a grid with their geometry: the ground on which model and waves are drawn.

A 2-D grid is its own section. A 3-D grid is cut along x-z, y-z and x-y through a point. Depth z
points down the page; a section x-y is a map seen from above, so x (north) points up and y (east)
to the right. The section goes through the points next to the wanted position
(`drawn_position`).

Arrays on sections are images, framed to scale; over topography they are drawn where points stand.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import yaml
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.path import Path

from seismo.errors import ScenarioError, ScenarioWarning
from seismo.grid.grid import AXES
from seismo.output.figures.style import length_unit
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import GroundRecord
from seismo.scenario import units

_SAME = 1e-6  # of a spacing: rounding of a position
_FINER = 3  # rows of an image to the lowest cell of a section whose rows follow the ground
_MOST_ROWS = 2000


def limits_of(axis: str, along: np.ndarray, ground: GroundRecord | None) -> tuple[float, float]:
    """Return the ends in m of an axis; z begins at the highest ground."""
    is_curved = axis == "z" and ground is not None and ground.is_on({"z": along[0]})
    low = float(ground.z.min()) if ground is not None and is_curved else float(along[0])
    return low, float(along[-1])


def requested_position(
    text: str, axis: str, position_text: str, along: np.ndarray, ground: GroundRecord | None
) -> float:
    """Read where to cut an axis: the grid point next to it, or z among rows that are curved.

    Warns:
        ScenarioWarning: points do not stand there, but beside.
    """
    try:
        position = units.to_si(position_text.strip(), units.LENGTH)
    except units.UnitError as error:
        raise ScenarioError(f"section {text!r}: {error}") from None
    reach = 0.5 * float(np.ptp(along[:2]))
    low, high = limits_of(axis, along, ground)
    if not low - reach <= position <= high + reach:
        raise ScenarioError(f"section {text!r}: {axis} is from {low:.6g} to {high:.6g} m here")
    drawn = drawn_position(axis, max(position, low), along, ground)
    factor, unit = length_unit([0.0, drawn])
    words = f"{axis} = {drawn * factor:.6g} {unit}"
    note = ""
    if axis == "z" and ground is not None and drawn < ground.flat_from:
        if not ground.is_on({"z": drawn}):
            note = f"the points of rows nearest to {words} are drawn: rows follow the ground"
    elif abs(drawn - position) > _SAME * reach:
        note = f"{words} is drawn, the plane of points next to it"
    if note:
        warnings.warn(f"section {text!r}: {note}", ScenarioWarning, stacklevel=2)
    return drawn


def drawn_position(
    axis: str, position: float, along: np.ndarray, ground: GroundRecord | None
) -> float:
    """Return where points stand next to a position in m; itself among rows that are curved."""
    if axis == "z" and ground is not None and position < ground.flat_from:
        return position
    return float(along[np.abs(along - position).argmin()])


@dataclass(frozen=True)
class CrossSection:
    """A plane: the axis to the right, the axis up or down the page, and where it cuts.

    Attributes:
        horizontal: axis to the right.
        vertical: axis along the page.
        across: axis that is cut, None in 2-D.
        position: where, in m.
        ground: that rows follow, None where it is flat.
        row_cache: `_rows` of axes, or positions of an image's rows between the rows of a curved
            section: cached, since the search is costly.
    """

    horizontal: str
    vertical: str
    across: str | None = None
    position: float = 0.0
    ground: GroundRecord | None = field(default=None, compare=False)
    row_cache: dict[bytes, tuple[np.ndarray, np.ndarray]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def title(self) -> str:
        """Describe where a 3-D grid is cut, such as ``y = 11 km``; empty in 2-D."""
        if self.across is None:
            return ""
        if self.ground is not None and self.ground.is_on({self.across: self.position}):
            return "on the ground"
        factor, unit = length_unit([0.0, self.position])
        rows = "rows nearest to " * self._crosses_rows
        return f"{rows}{self.across} = {self.position * factor:.6g} {unit}"

    def index(self, axes: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
        """Return the index that cuts this section out of an array over `axes`.

        Of a map among rows that follow the ground it is a range of rows, for `oriented`.
        """
        if self._crosses_rows:
            rows = self._rows(axes)[0]
            return (slice(int(rows.min()), int(rows.max()) + 1), slice(None), slice(None))
        return tuple(
            slice(None) if name in (self.horizontal, self.vertical) else self._nearest(coordinate)
            for name, coordinate in axes.items()
        )

    def oriented(self, array: np.ndarray, axes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the cut as (vertical, horizontal), at points that are the same distance apart.

        It is NaN above the ground.
        """
        if self._crosses_rows:
            rows, is_above = self._rows(axes)
            cut = np.take_along_axis(array, rows[None] - rows.min(), axis=0)[0]
            return np.where(is_above, np.nan, cut).T
        order = [name for name in axes if name in (self.horizontal, self.vertical)]
        cut = array if order[0] == self.vertical else array.T
        if self.is_curved:  # drawn where points stand
            return cut
        even = _even_rows(axes[self.vertical])
        return cut if even is None else cut[even]

    def shape_ratio(self, axes: Mapping[str, np.ndarray]) -> float:
        """Return height over width."""
        if self.is_curved:
            x, z = self.corners(axes)
            return float(np.ptp(z) / np.ptp(x))
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

    def corners(self, axes: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return x or y, and z, in m of the corners of cells around points of a curved section."""
        assert self.ground is not None  # `is_curved`
        spacing = self.ground.spacing
        z = self.z(axes)
        corners = np.apply_along_axis(_between, 0, z, spacing)
        # Nothing is drawn above the ground.
        if self.ground.is_on({"z": axes["z"][0]}):
            corners[0] = z[0]
        corners = np.apply_along_axis(_between, 1, corners, 0.0)
        return np.broadcast_to(_between(axes[self.horizontal], spacing), corners.shape), corners

    @property
    def _crosses_rows(self) -> bool:
        """Whether it is a map of constant z among rows that follow the ground."""
        return (
            self.ground is not None
            and self.across == "z"
            and self.position < self.ground.flat_from
            and not self.ground.is_on({"z": self.position})
        )

    def _rows(self, axes: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows (y, x) that stand nearest to such a map, and where it is above ground."""
        assert self.ground is not None  # `_crosses_rows`
        key = b"".join(axes[name].tobytes() for name in "zyx")
        if key not in self.row_cache:
            ground = self.ground.at(axes["y"][:, None], axes["x"])
            rows = self.ground.nearest_rows(axes, self.position)
            self.row_cache[key] = (rows, self.position < ground)
        return self.row_cache[key]

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
        ends = limits_of(across, axes[across], ground)
        position = through.get(across, float(np.mean(axes[across][[0, -1]])))
        if ground is None or not ground.is_on({across: position}):  # of any z
            position = drawn_position(across, float(np.clip(position, *ends)), axes[across], ground)
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
    """Return a section: in 3-D across axis `across`, by default y.

    Args:
        axes: coordinates in m.
        through: point where it cuts, as far as `across` does not say: ``z:500``, ``z:1.5 km``.
        across: the axis to cut.
        volumes: options that choose a volume to cut instead of a plane, such as ``series=all``.
        ground: that rows follow, None where it is flat.

    Raises:
        ScenarioError: there is no such axis, it does not reach there, or there is a single plane.
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
        through = {
            **through,
            axis: requested_position(across or "", axis, position_text, axes[axis], ground),
        }
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


def thinned_above(results: RunResults, axes: Mapping[str, np.ndarray], series: str = "") -> str:
    """Describe from where up arrays on both sides of a plane of refinement have not all points.

    They have the points of the coarser grid, of snapshots as `series` is decimated.
    """
    plane = results.attributes.get("refined_above")
    if plane is None or "z" not in axes or not axes["z"][0] < plane < axes["z"][-1]:
        return ""
    factor, unit = length_unit([0.0, plane])
    snapshots = results.section("output").get("snapshots") or []
    stem = series.partition("/")[0]  # without the shot
    decimate = next((entry["decimate"] for entry in snapshots if entry["name"] == stem), 1)
    share = f"one in {3 * decimate} points of the finer grid along each axis"
    return f"above z = {plane * factor:.4g} {unit} {share}"


def surface_of(results: RunResults, axes: Mapping[str, np.ndarray]) -> dict[str, float]:
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


def source_position(results: RunResults, shot: str | None) -> dict[str, float]:
    """Return x, y, z (m) of the first source of a shot; empty when none is recorded."""
    for source in results.sources_of(shot):
        return {axis: float(source[axis]) for axis in "xyz" if axis in source}
    return {}


def _pair(names: Sequence[str]) -> CrossSection:
    if "z" in names:
        return CrossSection(next(name for name in names if name != "z"), "z")
    return CrossSection("y", "x")


def edges(coordinate: np.ndarray, scale: float) -> tuple[float, float]:
    """Return the ends of the cells about points in m, in units `scale`."""
    half = 0.5 * (coordinate[1] - coordinate[0]) if len(coordinate) > 1 else 0.5
    return float((coordinate[0] - half) * scale), float((coordinate[-1] + half) * scale)


def _between(points: np.ndarray, spacing: float) -> np.ndarray:
    """Return the middles between points (n), and as far beyond both ends (n + 1).

    The ends of a single point are `spacing` apart.
    """
    if points.size == 1:
        return points + 0.5 * spacing * np.array([-1.0, 1.0])
    middles = 0.5 * (points[1:] + points[:-1])
    return np.array([2.0 * points[0] - middles[0], *middles, 2.0 * points[-1] - middles[-1]])


def _even_rows(coordinate: np.ndarray) -> np.ndarray | None:
    """Return the points next to places as far apart as the closest ones; None where all are."""
    steps = np.diff(coordinate)
    if len(steps) < 2 or steps.max() <= steps.min() * (1.0 + 1e-6):
        return None
    count = round(float((coordinate[-1] - coordinate[0]) / steps.min())) + 1
    even = np.linspace(coordinate[0], coordinate[-1], count)
    return np.rint(np.interp(even, coordinate, np.arange(len(coordinate)))).astype(int)


def _reach(coordinate: np.ndarray) -> float:
    low, high = edges(coordinate, 1.0)
    return high - low


def draw_image(
    panel: Axes,
    section: CrossSection,
    array: np.ndarray,
    axes: Mapping[str, np.ndarray],
    scale: float,
    **options: Any,
) -> AxesImage:
    """Draw values (vertical, horizontal), a cell around each grid point, in units `scale`."""
    x_first, x_last = edges(axes[section.horizontal], scale)
    low, high = edges(axes[section.vertical], scale)
    if section.is_curved:
        x, z = section.corners(axes)
        x_first, x_last = (float(end) * scale for end in x[0, [0, -1]])
        low, high = (float(end) * scale for end in (z.min(), z.max()))
        is_smooth = "interpolation" in options
        array = on_even_rows(section, array, axes, is_smooth)
        if isinstance(options.get("alpha"), np.ndarray):
            options["alpha"] = on_even_rows(section, options["alpha"], axes, is_smooth)
    extent = (x_first, x_last, low, high)
    image = panel.imshow(array, extent=extent, origin="lower", **options)
    if section.is_curved:
        # Nothing is drawn above the first cells, and below the last.
        outline = [np.stack([x[0], z[0]], axis=1), np.stack([x[-1], z[-1]], axis=1)[::-1]]
        image.set_clip_path(Path(np.concatenate(outline) * scale), panel.transData)
    return image


def on_even_rows(
    section: CrossSection, array: np.ndarray, axes: Mapping[str, np.ndarray], is_smooth: bool = True
) -> np.ndarray:
    """Return values (vertical, horizontal) on rows of an image, where those follow the ground.

    Values are of the points at the nearest z, or linear between, in each column.
    """
    if not section.is_curved:
        return array
    above, share = _image_rows(section, axes)
    if not is_smooth:
        return np.take_along_axis(array, np.rint(above + share).astype(int), axis=0)
    below = np.minimum(above + 1, len(array) - 1)
    values_above, values_below = (np.take_along_axis(array, n, axis=0) for n in (above, below))
    mixed: np.ndarray = (1.0 - share) * values_above + share * values_below
    return mixed


def _image_rows(
    section: CrossSection, axes: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows above the points (row, column) of the image, and how far these are below.

    That is in rows. They are kept: each frame of a movie asks for them.
    """
    key = b"".join(axes[name].tobytes() for name in (section.vertical, section.horizontal))
    if key in section.row_cache:
        return section.row_cache[key]
    z = section.z(axes)
    _, corners = section.corners(axes)
    lowest_cell = float(np.diff(corners, axis=0).min())
    ends = corners.min(), corners.max()
    count = min(_MOST_ROWS, math.ceil(_FINER * (ends[1] - ends[0]) / lowest_cell))
    even = ends[0] + (np.arange(count) + 0.5) * (ends[1] - ends[0]) / count
    # Number of the row at each place of the image.
    numbers = np.arange(len(z), dtype=float)
    rows = np.stack([np.interp(even, column, numbers) for column in z.T], axis=1)
    above = np.minimum(rows.astype(int), len(z) - 1)
    section.row_cache[key] = (above, rows - above)
    return section.row_cache[key]


def frame_section(
    panel: Axes, section: CrossSection, axes: Mapping[str, np.ndarray], scale: float, unit: str
) -> None:
    """Set limits, labels and directions: z down the page, everything to scale."""
    panel.set_aspect("equal")
    x_first, x_last = edges(axes[section.horizontal], scale)
    low, high = edges(axes[section.vertical], scale)
    if section.ground is not None and section.is_curved:
        x, z = (corners * scale for corners in section.corners(axes))
        x_first, x_last = x[0, [0, -1]]
        step = float(np.ptp(axes["z"][:2])) or section.ground.spacing
        low = float(z.min()) - step * scale
        high = float(z.max())
        if section.ground.is_on({"z": axes["z"][0]}):
            panel.plot(x[0], z[0], color="black", linewidth=0.8, zorder=3)
    panel.set_xlim(x_first, x_last)
    panel.set_ylim((high, low) if section.vertical == "z" else (low, high))
    panel.set_xlabel(f"{section.horizontal} ({unit})")
    panel.set_ylabel(f"{section.vertical} ({unit})")
    panel.locator_params(nbins=5, steps=[1, 2, 5, 10])

"""Marks on a map seen from above: scale, north, coast, relief, names, mechanisms.

x points up the page and y to the right. A beach ball is the lower half of the focal sphere in equal
area: a ray that leaves at the angle t from straight down stands at r = sqrt(2) sin(t / 2), black
where the first motion of P waves points away from the source, n M n > 0 (Aki & Richards 2002,
section 4.5).

Coast lines and borders are from Natural Earth, where cartopy and its data are installed, from the
files that cartopy keeps (`cartopy.config`); nothing here makes cartopy download missing files.
Lines are projected as the grid is.

The relief of the ground is shown by contour lines of height, and by shade on slopes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import compress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LightSource, ListedColormap
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from matplotlib.text import OffsetFrom
from matplotlib.ticker import MaxNLocator

from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.formats.reading import optional_package
from seismo.grid.coordinates import nearest_turn
from seismo.output.figures.style import RECEIVER_COLOUR
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import GroundRecord
from seismo.scenario.sections.receivers import CODE

COAST = ("physical", "coastline")
BORDERS = ("cultural", "admin_0_boundary_lines_land")
_RESOLUTIONS = ("10m", "50m", "110m")  # scales of 1 : 10, 50 and 110 million
_FINE = 1.5e6  # m: maps up to so wide have the finest lines
_WITHIN = 0.3  # of the size of a map, that lines are kept beyond its edges
_STYLES = {COAST: "solid", BORDERS: (0, (4.0, 2.0))}
_LIGHT = [patheffects.withStroke(linewidth=1.8, foreground="white", alpha=0.6)]
_LINES = 7  # contour lines at most
_STEEP = 0.5  # tangent of a slope that is in full light or shade
_DARKEST = 0.35  # opacity of the deepest shade, and of the brightest light
_SUN = (315.0, 45.0)  # azimuth and height in degrees: from the upper left, as maps have it
_HALO = [patheffects.withStroke(linewidth=2.0, foreground="black")]
_EDGE = [patheffects.withStroke(linewidth=3.5, foreground=RECEIVER_COLOUR)]  # of a bar of 2
_MOST_NAMES = 30  # of a set: more would cover the map
_MOST_NUMBERS = 6  # of a set whose receivers have no names of their own
_CORNER = 0.25  # of the height of a panel, where the arrow to north stands
_MOST_BALLS = 8  # points of a finite fault have no balls
_BALL = 22.0  # points across
_PIXELS = 121
_SMALL = 3.0  # inches for a panel
_TINY = 1.8
_SHARE = 0.25  # of the width that the scale bar takes at most
_PAIRS = ("xx", "yy", "zz", "xy", "xz", "yz")


def draw_coast(
    panel: Axes,
    projection: Projection,
    axes: Mapping[str, np.ndarray],
    scale: float,
    is_wanted: bool | None,
) -> None:
    """Draw coast lines and borders on a panel whose coordinates are y and x in units of `scale`.

    Args:
        panel: to draw on.
        projection: of the grid.
        axes: x and y in m of the map.
        scale: units of the panel in a metre.
        is_wanted: False for none; True refuses to go on without them, None leaves them out.

    Raises:
        ScenarioError: they are wanted, and cartopy or its data are not there.
    """
    if is_wanted is False:
        return
    try:
        files = {layer: _file(layer, _extent(axes)) for layer in (COAST, BORDERS)}
    except ScenarioError:
        if is_wanted:
            raise
        return
    for layer, file in files.items():
        lines = [
            np.column_stack([y, x]) * scale
            for longitude, latitude in _lines(file)
            for x, y in _pieces(projection, axes, longitude, latitude)
        ]
        panel.add_collection(
            LineCollection(
                lines, colors="black", linewidths=0.7, linestyles=[_STYLES[layer]],
                path_effects=_LIGHT, zorder=2, label=f"_{layer[1]}",
            ),
            autolim=False,
        )  # fmt: skip


def _extent(axes: Mapping[str, np.ndarray]) -> float:
    return max(float(np.ptp(axes[axis])) for axis in "xy")


def _file(layer: tuple[str, str], extent: float) -> Path:
    """Return the shapefile of a layer that suits a map so many m wide, of the installed ones.

    Raises:
        ScenarioError: cartopy is not installed, or has none.
    """
    reader = optional_package("cartopy.io.shapereader", "maps", "a map with coast lines")
    config = optional_package("cartopy", "maps", "a map with coast lines").config
    downloader = config["downloaders"]["shapefiles", "natural_earth"]
    assert isinstance(downloader, reader.NEShpDownloader)
    resolutions = _RESOLUTIONS if extent <= _FINE else _RESOLUTIONS[1:] + _RESOLUTIONS[:1]
    for resolution in resolutions:
        words = {"config": config, "resolution": resolution, "category": layer[0], "name": layer[1]}
        for path in (downloader.pre_downloaded_path(words), downloader.target_path(words)):
            if path is not None and path.is_file():
                return Path(path)
    raise ScenarioError(
        f"coast: cartopy has no {layer[1]} of Natural Earth in {config['data_dir']}; download them "
        "with `cartopy_feature_download physical cultural`, or set CARTOPY_DATA_DIR to a folder "
        "that has them"
    )


@lru_cache(maxsize=4)
def _lines(file: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return longitudes and latitudes in degrees of the lines in a shapefile."""
    reader = optional_package("cartopy.io.shapereader", "maps", "a map with coast lines")
    lines = []
    for geometry in reader.Reader(file).geometries():
        for line in getattr(geometry, "geoms", [geometry]):
            longitude, latitude = np.asarray(line.coords).T[:2]
            lines.append((longitude, latitude))
    return lines


def _pieces(
    projection: Projection, axes: Mapping[str, np.ndarray], longitude: np.ndarray,
    latitude: np.ndarray,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """Yield x and y in m of the pieces of a line that lie on a map or beside it."""
    corners = np.meshgrid(axes["x"][[0, -1]], axes["y"][[0, -1]])
    edges, parallels = projection.to_geographic(*corners)
    middle = projection.to_geographic(np.mean(corners[0]), np.mean(corners[1]))[0]
    turned = nearest_turn(longitude, middle)
    edges = nearest_turn(edges, middle)
    inside = np.ones(len(turned), bool)
    for degrees, limits in ((turned, edges), (latitude, parallels)):
        beyond = _WITHIN * float(np.ptp(limits))
        inside &= (limits.min() - beyond < degrees) & (degrees < limits.max() + beyond)
    # Neighbours of points inside are kept, so that lines cross the edges.
    kept = inside.copy()
    kept[1:] |= inside[:-1]
    kept[:-1] |= inside[1:]
    runs = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(int)))
    for first, end in zip(runs[::2], runs[1::2], strict=True):
        if end - first > 1:
            yield projection.to_grid(longitude[first:end], latitude[first:end])


def draw_relief(
    panel: Axes, ground: GroundRecord, axes: Mapping[str, np.ndarray], scale: float
) -> None:
    """Draw it over the colours of a map whose axes are y, to the right, and x, up the page.

    Args:
        panel: of the map.
        ground: whose heights are drawn.
        axes: coordinates in m of the map.
        scale: of the panel per m.
    """
    heights = ground.datum - ground.z.T
    if min(heights.shape) < 2 or np.ptp(heights) == 0.0:
        return
    y = ground.y
    x = ground.x
    # Shade: slopes of equal steepness look alike on maps of any size.
    steepest = float(np.percentile(np.hypot(*np.gradient(heights, x, y)), 99.0))
    exaggeration = _STEEP / max(steepest, 1e-9)
    light = LightSource(*_SUN).hillshade(
        heights[::-1], vert_exag=exaggeration, dx=float(y[1] - y[0]), dy=float(x[1] - x[0])
    )[::-1]
    level = float(LightSource(*_SUN).hillshade(np.zeros((2, 2)))[0, 0])
    shade = np.clip((light - level) / max(level, 1.0 - level), -1.0, 1.0)
    half = 0.5 * float(y[1] - y[0]), 0.5 * float(x[1] - x[0])
    panel.imshow(
        shade > 0.0, cmap=ListedColormap(["black", "white"]), vmin=0, vmax=1,
        alpha=_DARKEST * np.abs(shade), origin="lower", interpolation="nearest", zorder=1.5,
        extent=(
            (y[0] - half[0]) * scale, (y[-1] + half[0]) * scale,
            (x[0] - half[1]) * scale, (x[-1] + half[1]) * scale,
        ),
    )  # fmt: skip
    levels = MaxNLocator(_LINES, steps=[1, 2, 2.5, 5, 10]).tick_values(heights.min(), heights.max())
    inner = levels[(levels > heights.min()) & (levels < heights.max())]
    lines = panel.contour(
        y * scale, x * scale, heights, levels=inner, colors="black", linewidths=0.4, alpha=0.6,
        zorder=1.6, negative_linestyles="solid",
    )  # fmt: skip
    panel.clabel(lines, fmt="%g", fontsize=5)
    panel.set_xlim(float(axes["y"][0]) * scale, float(axes["y"][-1]) * scale)


def draw_map_marks(
    panel: Axes,
    results: RunResults,
    axes: Mapping[str, np.ndarray],
    scale: float,
    shot: str | None,
    coast: bool | None = None,
) -> None:
    """Draw all of them on a panel whose coordinates are y and x in units of `scale`.

    Small panels have neither a graticule nor names, the smallest no scale and no north, and maps of
    a single row or column no marks. `coast` says whether coast lines are drawn, None where they
    can.

    Raises:
        ScenarioError: coast lines are wanted, and cannot be drawn.
    """
    if min(axes["x"].size, axes["y"].size) < 2:
        return
    width = _width(panel)
    is_small = width < _SMALL
    projection = _projection(results)
    if results.ground is not None:
        draw_relief(panel, results.ground, axes, scale)
    if projection is not None:
        draw_coast(panel, projection, axes, scale, coast)
    elif coast:
        raise ScenarioError("coast: the run has no place on the earth; give the section geographic")
    if width > _TINY:
        _draw_scale(panel, axes, scale)
    if (azimuth := results.azimuth) is not None and width > _TINY:
        _point_north(panel, azimuth)
        if not is_small and projection is not None:
            _draw_graticule(panel, projection, axes, scale)
    for traces in () if is_small else results.traces.values():
        first = shot or next(iter(traces.shots), None)
        positions = traces.recorded_at("xy", first)
        if positions is not None and _is_named(traces.codes):
            (x, y) = positions * scale
            index = traces.shots.index(first) if first in traces.shots else 0
            codes = list(compress(traces.codes, traces.recording(index)))
            _write_names(panel, codes, y, x)
    size = _BALL * (0.6 if is_small else 1.0)
    tensors = [s for s in results.sources_of(shot) if all(f"moment_{p}" in s for p in _PAIRS)]
    for source in tensors if len(tensors) <= _MOST_BALLS else ():
        ball = OffsetImage(beach_ball(_tensor(source)), zoom=size / _PIXELS)
        position = (source["y"] * scale, source["x"] * scale)
        panel.add_artist(AnnotationBbox(ball, position, frameon=False, pad=0.0, zorder=5))


def beach_ball(moment: np.ndarray) -> np.ndarray:
    """Return the picture (row, column, RGBA) of a moment tensor (3, 3) of x, y, z, z down.

    The first row is the northern (x) edge; outside of the sphere it is transparent.
    """
    across = np.linspace(-1.0, 1.0, _PIXELS)
    east, north = np.meshgrid(across, across[::-1])
    radius = np.hypot(east, north)
    angle = 2.0 * np.arcsin(np.minimum(radius, 1.0) / np.sqrt(2.0))
    side = np.sin(angle) / np.where(radius > 0.0, radius, 1.0)
    direction = np.stack([north * side, east * side, np.cos(angle)])
    motion = np.einsum("irc,ij,jrc->rc", direction, moment, direction)
    picture = np.ones((_PIXELS, _PIXELS, 4))
    picture[motion > 0.0, :3] = 0.0
    picture[radius > 1.0 - 4.0 / _PIXELS, :3] = 0.0  # the rim
    picture[radius > 1.0, 3] = 0.0
    return picture


def round_length(width: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most a quarter of a width."""
    most = _SHARE * width
    power = 10.0 ** np.floor(np.log10(most))
    return float(max(n * power for n in (1.0, 2.0, 5.0) if n * power <= most * (1.0 + 1e-9)))


def _draw_scale(panel: Axes, axes: Mapping[str, np.ndarray], scale: float) -> None:
    """Draw a bar of round length in the lower left corner."""
    first, last = axes["y"][[0, -1]] * scale
    bottom, top = axes["x"][[0, -1]] * scale
    length = round_length(last - first)
    unit = "m" if scale == 1.0 else "km"
    start = first + 0.04 * (last - first)
    height = bottom + 0.05 * (top - bottom)
    panel.plot(
        [start, start + length], [height, height], color="black", linewidth=2.0,
        solid_capstyle="butt", path_effects=_EDGE, label="_scale",
    )  # fmt: skip
    panel.annotate(
        f"{length:g} {unit}", (start + 0.5 * length, height), (0.0, 3.0),
        textcoords="offset points", ha="center", va="bottom", fontsize=7, color=RECEIVER_COLOUR,
        path_effects=_HALO,
    )  # fmt: skip


def _point_north(panel: Axes, azimuth: float) -> None:
    """Draw an arrow in the lower right corner, where x points up, `azimuth` degrees from north."""
    angle = np.radians(azimuth)
    half = 9.0 * np.array([-np.sin(angle), np.cos(angle)])
    corner = OffsetFrom(panel, (1.0, 0.0), "points")  # as far from it in panels of any size
    middle = np.array([-12.0, 18.0])
    panel.annotate(
        "N", tuple(middle - half), tuple(middle + half), corner, corner, ha="center",
        va="center", weight="bold", fontsize=8, color=RECEIVER_COLOUR,
        path_effects=_HALO, annotation_clip=False,
        arrowprops={"arrowstyle": "<|-", "color": RECEIVER_COLOUR, "path_effects": _HALO},
    )  # fmt: skip


def _projection(results: RunResults) -> Projection | None:
    """Return the projection of the grid; None if none, or where pyproj is not installed."""
    geographic = results.section("geographic")
    with contextlib.suppress(ScenarioError):
        return Projection(SimpleNamespace(**geographic)) if geographic else None
    return None


def _draw_graticule(
    panel: Axes, projection: Projection, axes: Mapping[str, np.ndarray], scale: float
) -> None:
    """Draw meridians and parallels with their degrees."""
    y = np.linspace(axes["y"][0], axes["y"][-1], 41)
    x = np.linspace(axes["x"][0], axes["x"][-1], 41)
    degrees = projection.to_geographic(*np.meshgrid(x, y, indexing="ij"))
    for field, letters in zip(degrees, ("EW", "NS"), strict=True):
        locator = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10])
        levels = np.asarray(locator.tick_values(field.min(), field.max()))
        panel.contour(
            y * scale, x * scale, field, levels=levels, colors="0.85", linewidths=0.5,
            linestyles="dotted", zorder=2,
        )  # fmt: skip
        _label_edge(panel, y * scale, x * scale, field, levels, letters)


def _label_edge(
    panel: Axes, y: np.ndarray, x: np.ndarray, field: np.ndarray, levels: np.ndarray, letters: str
) -> None:
    """Write degrees where their lines meet the upper edge, or the right edge if that has more."""
    upper = field[-1]
    right = field[:, -1]
    is_upper = np.ptp(upper) >= np.ptp(right)
    edge, along = (upper, y) if is_upper else (right, x)
    rising = np.argsort(edge)
    for level in levels:
        if edge.min() < level < edge.max():
            position = float(np.interp(level, edge[rising], along[rising]))
            if not is_upper and position < x[0] + _CORNER * np.ptp(x):
                continue
            mark = (position, x[-1]) if is_upper else (y[-1], position)
            panel.annotate(
                _degrees(level, letters), mark, (0.0, -2.0) if is_upper else (-2.0, 0.0),
                textcoords="offset points", ha="center" if is_upper else "right",
                va="top" if is_upper else "center", fontsize=5.5, color=RECEIVER_COLOUR,
                path_effects=_HALO, zorder=6,
            )  # fmt: skip


def _degrees(value: float, letters: str) -> str:
    if letters == "EW":
        value = float(nearest_turn(value, 0.0))
    return f"{abs(round(value, 6)):g}\N{DEGREE SIGN}{letters[int(value < 0.0)]}"


def _is_named(codes: list[str]) -> bool:
    """Whether a set has few receivers, or such as have names of their own."""
    numbered = [CODE.format(index) for index in range(len(codes))]
    return len(codes) <= (_MOST_NUMBERS if codes == numbered else _MOST_NAMES)


def _write_names(panel: Axes, codes: list[str], y: np.ndarray, x: np.ndarray) -> None:
    """Write the stations of NET.STA.LOC beside their marks, within the panel."""
    for code, east, north in zip(codes, y, x, strict=True):
        words = code.rstrip(".").split(".")
        panel.annotate(
            words[1] if len(words) > 1 else words[0], (float(east), float(north)), (4.0, 3.0),
            textcoords="offset points", fontsize=6, color=RECEIVER_COLOUR, path_effects=_HALO,
            annotation_clip=True, zorder=8,
        )  # fmt: skip


def _width(panel: Axes) -> float:
    """Return the inches that a panel has about, its labels included."""
    figure: Any = panel.figure
    subplot = panel.get_subplotspec()
    if subplot is None:
        return float(figure.get_figwidth())
    ratios = np.array(subplot.get_gridspec().get_width_ratios())
    return float(figure.get_figwidth() * ratios[subplot.colspan.start] / ratios.sum())


def _tensor(source: Mapping[str, Any]) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = (float(source[f"moment_{pair}"]) for pair in _PAIRS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

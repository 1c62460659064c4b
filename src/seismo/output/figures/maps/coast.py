"""Coast lines and borders of Natural Earth, where cartopy and its data are installed.

The data are those files that cartopy keeps (`cartopy.config`); cartopy itself would download what
is missing, which nothing here makes it do. Lines are projected as the grid is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from seismo.acquisition.projection import Projection
from seismo.errors import ScenarioError
from seismo.formats.reading.optional_package import optional_package
from seismo.grid.longitude import nearest_turn

COAST = ("physical", "coastline")
BORDERS = ("cultural", "admin_0_boundary_lines_land")
_RESOLUTIONS = ("10m", "50m", "110m")  # scales of 1 : 10, 50 and 110 million
_FINE = 1.5e6  # m: maps up to so wide have the finest lines
_WITHIN = 0.3  # of the size of a map, that lines are kept beyond its edges
_STYLES = {COAST: "solid", BORDERS: (0, (4.0, 2.0))}
_LIGHT = [patheffects.withStroke(linewidth=1.8, foreground="white", alpha=0.6)]


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
    """Return the shapefile of a layer that suits a map so many m wide, of those that are there.

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

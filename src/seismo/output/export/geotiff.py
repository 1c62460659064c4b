"""Maps as GeoTIFF, a band for each quantity, placed on the earth by the projection of the grid.

A pixel is centred on its node. Its corner goes to east and north by an affine transform, since x
points along the azimuth a (clockwise from north) and y 90 degrees clockwise of x:

    east = x sin a + y cos a,    north = x cos a - y sin a.

Rows and columns are those of the grid, turned by quarters so that columns run east within 45
degrees, and rows south.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from seismo.acquisition.locator import definition_of
from seismo.errors import ScenarioError
from seismo.formats.reading import optional_package
from seismo.output.export import ExportFile, ExportFormat, ExportSelection, FilesOfFormat
from seismo.output.run_directory import HiddenFile
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import MapSet
from seismo.output.store.layout import long_name

_PROFILE = {"driver": "GTiff", "dtype": "float32", "compress": "deflate", "predictor": 3}
Steps = tuple[tuple[float, float], tuple[float, float]]  # east, north of a column and of a row


def geotiff(selection: ExportSelection) -> FilesOfFormat:
    """Return a GeoTIFF for each set of maps on a horizontal plane, and each shot.

    Raises:
        ScenarioError: there are no such maps, or rasterio is not installed.
    """
    results = selection.results
    optional_package("rasterio", "geotiff", "the export to GeoTIFF")
    sets = {name: maps for name, maps in results.maps.items() if is_horizontal(maps)}
    if not sets:
        raise ScenarioError(
            f"{results.path}: holds no maps on a horizontal plane; add output.maps with "
            "plane: {z: ...} to the scenario"
        )
    for name, maps in sets.items():
        for shot, index in selection.shots(maps, maps.shots).items():
            words = (name, shot if len(maps.shots) > 1 else "")

            def write(file: HiddenFile, maps: MapSet = maps, index: int = index) -> None:
                _write(results, maps, index, file)

            yield ExportFile(selection.file_name(*words, suffix=".tif"), write)


def is_horizontal(maps: MapSet) -> bool:
    """Whether maps are on a plane of x and y, of two points along each at least."""
    return set(maps.axes) == {"x", "y"} and all(len(ticks) > 1 for ticks in maps.axes.values())


def _write(results: RunResults, maps: MapSet, shot: int, file: HiddenFile) -> None:
    rasterio = optional_package("rasterio", "geotiff", "the export to GeoTIFF")
    geographic = results.section("geographic")
    azimuth = float(geographic["azimuth"]) if geographic else 0.0
    names = list(maps)
    bands = np.stack([maps.values_of(name, shot) for name in names])
    bands, corner, steps = _oriented(bands, maps.axes, azimuth)
    (column, row) = steps
    transform = rasterio.Affine(column[0], row[0], corner[0], column[1], row[1], corner[1])
    profile: dict[str, Any] = {
        **_PROFILE, "count": len(names), "height": bands.shape[1], "width": bands.shape[2],
        "transform": transform, "nodata": math.nan,
    }  # fmt: skip
    if geographic:
        origin = (float(geographic[key]) for key in ("longitude", "latitude"))
        profile["crs"] = rasterio.CRS.from_string(definition_of(*origin))
    with rasterio.open(file.path, "w", **profile) as image:
        image.write(bands.astype(np.float32))
        image.descriptions = names
        image.units = [maps.unit(name) for name in names]
        image.update_tags(title=results.title, shot=maps.shots[shot])
        for number, name in enumerate(names, 1):
            image.update_tags(number, long_name=long_name(name))


def _oriented(
    bands: np.ndarray, axes: dict[str, np.ndarray], azimuth: float
) -> tuple[np.ndarray, tuple[float, float], Steps]:
    """Turn bands (band, y, x) so that columns run east within 45 degrees, and rows south.

    Returns:
        Bands (band, row, column); east and north in m of the outer corner of the first pixel; east
        and north in m of a step to the next column, and to the next row.
    """
    sine = math.sin(math.radians(azimuth))
    cosine = math.cos(math.radians(azimuth))
    along = {"x": (sine, cosine), "y": (cosine, -sine)}
    # Columns along the axis that is nearer to east, rows along the other.
    ordered = ("y", "x") if abs(sine) < abs(cosine) else ("x", "y")
    if ordered[0] == "y":
        bands = bands.swapaxes(1, 2)
    corner = [0.0, 0.0]
    steps = []
    for number, axis in enumerate(ordered):
        ticks = axes[axis]
        step = float(ticks[-1] - ticks[0]) / (len(ticks) - 1)
        first = float(ticks[0])
        # Reverse columns that run west, and rows that run north.
        if along[axis][number] * (-1.0 if number else 1.0) < 0.0:
            first = float(ticks[-1])
            step = -step
            bands = np.flip(bands, 2 - number)
        # The corner lies half a step before the first node.
        for k in (0, 1):
            corner[k] += (first - 0.5 * step) * along[axis][k]
        steps.append((step * along[axis][0], step * along[axis][1]))
    return bands, (corner[0], corner[1]), (steps[0], steps[1])


def _remarks(results: RunResults) -> Iterator[str]:
    if not results.section("geographic"):
        yield (
            "the scenario has no section geographic: the files have no reference system, and "
            "grid coordinates, x to the north and y to the east"
        )
    if left_out := [name for name, maps in results.maps.items() if not is_horizontal(maps)]:
        yield f"maps {', '.join(left_out)} are not on a horizontal plane and are left out"


GEOTIFF = ExportFormat(geotiff, dated=False, remarks=_remarks)

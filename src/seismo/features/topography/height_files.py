"""Heights of the ground from files: .npy, NetCDF and GMT grids, GeoTIFF, and text of x, y, height.

All are values at the points of a regular grid; between these a cubic spline goes. Coordinates of
text may be rounded, or have noise, each by itself. Along each axis coordinates closer than a
fraction of the shorter steps are merged; rows and columns then are whole steps apart.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.features.topography.section import FileTopography, heights_format
from seismo.formats import format_for
from seismo.formats.netcdf import (
    axis_of,
    kind_of,
    open_netcdf,
)
from seismo.formats.reading import optional_package, read_lines
from seismo.formats.reading.arrays import (
    brief,
    listing,
    read_npy,
    refuse_what_does_not_fit,
)
from seismo.grid.coordinates import centred_longitudes, nearest_turn
from seismo.model.files import one_line_for_malformed, refuse_no_file
from seismo.model.volume import Placement, on_the_earth
from seismo.scenario.gridded_parts import GriddedFile
from seismo.scenario.python_data import LENGTHS, TIMES

_HIGHEST = 2e4  # m, of anything on the earth, above or below the sea
_GAP = -9999.0  # m, with which files say that they have no height
_COVERED = 0.5  # share of the grid along an axis that a file has to have in any case
_DEGREES = 360.0  # no larger number is a longitude or latitude
_BEYOND = 1e-6  # of the spacing, by which the grid may leave a file
_MARGIN = 4  # points of a file kept around a region, for the spline

MapRegion = Mapping[str, tuple[float, float]]  # limits in m by axis name
# Share of a step by which points may be off a regular grid. Rounded to 1 m they are 0.5 m off, and
# so are the ends of the axis between which the grid is laid: 1 m of a step of 25 m.
_TOLERANCE = 0.04
_SHORT = 0.1  # of the length of an axis; steps of noise add up to less, steps of rows to more
_MOST_NODES = 100  # of a regular grid for each line of the file


@dataclass(frozen=True)
class Heights:
    """Heights at the points of a file.

    Attributes:
        path: of the file.
        rows: coordinates (n), rising, of latitude or y.
        columns: coordinates (m), rising, of longitude or x.
        samples: heights (n, m) in m, up; NaN where there are none.
        placement: from x, y of the grid to these coordinates.
        nearest: whether the height at its edge is taken outside the file, else that is an error.
    """

    path: Path
    rows: np.ndarray
    columns: np.ndarray
    samples: np.ndarray
    placement: Placement
    nearest: bool = False

    def spacing(self, x: float, y: float) -> float:
        """Return the distance in m between points of the file about a place of the grid."""
        aside = self.placement.coordinates(np.array([y, y, y + 1.0]), np.array([x, x + 1.0, x]))
        row, column = (np.asarray(c, float) for c in aside)
        steps = []
        for ticks, coordinate in ((self.rows, row), (self.columns, column)):
            per_metre = float(np.hypot(*(coordinate[1:] - coordinate[0])))
            if ticks.size > 1 and per_metre > 0.0:
                steps.append(float(ticks[1] - ticks[0]) / per_metre)
        return min(steps, default=math.inf)

    def within(self, region: MapRegion) -> Heights:
        """Return the heights that a region needs.

        Raises:
            ModelError: it leaves the file, or the file has no values there.
        """
        (low_row, high_row), (low, high) = self.placement.reach(region)
        names = ("y", "x")
        columns = self.columns
        samples = self.samples
        if self.placement.projection is not None and not self.placement.crs:
            names = ("latitude", "longitude")
            columns, numbers = centred_longitudes(columns, 0.5 * (low + high))
            samples = samples[:, numbers]
        kept = (
            self._kept(names[0], self.rows, (low_row, high_row)),
            self._kept(names[1], columns, (low, high)),
        )
        samples = samples[kept[0], kept[1]]
        if not np.isfinite(samples).all():
            bad = np.argwhere(~np.isfinite(samples))[0]
            raise ModelError(
                f"{self.path} has no height at {names[0]} {self.rows[kept[0]][bad[0]]:.8g}, "
                f"{names[1]} {columns[kept[1]][bad[1]]:.8g}, and the grid needs it; fill the "
                "gaps of the file, or move the grid",
                "path",
            )
        return replace(self, rows=self.rows[kept[0]], columns=columns[kept[1]], samples=samples)

    def _kept(self, name: str, ticks: np.ndarray, ends: tuple[float, float]) -> slice:
        low, high = ends
        if ticks.size == 1:
            return slice(0, 1)
        step = float(ticks[1] - ticks[0])
        beyond = max(ticks[0] - low, high - ticks[-1])
        common = min(high, ticks[-1]) - max(low, ticks[0])
        is_elsewhere = common < _COVERED * (high - low)
        if beyond > _BEYOND * step and (is_elsewhere or not self.nearest):
            remedy = "take a larger file, move the grid, or write outside: nearest"
            if is_elsewhere:
                remedy = (
                    "take another file, or check origin, spacing, crs and the section geographic"
                )
                if name in "xy" and max(np.abs(ticks[[0, -1]])) <= _DEGREES:
                    remedy += "; numbers of the file look like degrees"
            raise ModelError(
                f"{self.path} reaches from {name} {ticks[0]:.8g} to {ticks[-1]:.8g}, and the grid "
                f"from {low:.8g} to {high:.8g}; {remedy}",
                "path",
            )
        first = max(0, int(np.searchsorted(ticks, low)) - _MARGIN)
        last = min(ticks.size, int(np.searchsorted(ticks, high)) + _MARGIN)
        return slice(min(first, ticks.size - 1), max(last, first + 1))

    def on_grid(self, y: np.ndarray | None, x: np.ndarray) -> np.ndarray:
        """Return heights (y, x) in m at coordinates of the grid in m; (x) along y = 0 without y."""
        return self._at(np.zeros(()) if y is None else y[:, None], x)

    def _at(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return heights in m at places (any broadcast shape) of the grid in m."""
        from scipy.interpolate import RectBivariateSpline, make_interp_spline

        y, x = np.broadcast_arrays(y, x)
        row, column = (np.asarray(c, float) for c in self.placement.coordinates(y, x))
        row, column = np.broadcast_arrays(row, column)
        row = np.clip(row, self.rows[0], self.rows[-1])
        column = np.clip(column, self.columns[0], self.columns[-1])
        degrees = [min(3, ticks.size - 1) for ticks in (self.rows, self.columns)]
        if degrees[0] == 0:
            if degrees[1] == 0:
                return np.full(x.shape, float(self.samples[0, 0]))
            line: np.ndarray = make_interp_spline(self.columns, self.samples[0], degrees[1])(column)
            return line
        spline = RectBivariateSpline(
            self.rows, self.columns, self.samples, kx=degrees[0], ky=degrees[1]
        )
        heights: np.ndarray = spline.ev(row, column)
        return heights


@dataclass(frozen=True)
class HeightsRequest:
    """A file of heights, with the data that a format needs to place it.

    Attributes:
        path: of the file.
        section: of the scenario.
        region: limits of the grid in m by axis name, "x" and, in 3-D, "y".
        spacing: of the grid in m by axis name.
        projection: function() -> the map between the grid and the earth, None if none.
    """

    path: Path
    section: FileTopography
    region: MapRegion
    spacing: Mapping[str, float]
    projection: Callable[[], Any] | None

    def placement(self, geographic: bool) -> Placement:
        """Return the placement of a file with longitudes and latitudes, or with x and y.

        Raises:
            ModelError: the scenario says otherwise, or lacks the section needed.
        """
        crs = self.section.crs
        if geographic and crs is not None:
            raise ModelError(f"{self.path} has longitudes and latitudes; leave it out", "crs")
        if geographic or crs is not None:
            return on_the_earth(self.projection, self.path, crs or "")
        return Placement()


def read_heights(
    section: FileTopography, base: Path, region: MapRegion, spacing: Mapping[str, float],
    projection: Callable[[], Any] | None,
) -> Heights:  # fmt: skip
    """Read the heights that a region needs.

    Args:
        section: of the scenario.
        base: folder that relative paths start from.
        region: limits of the grid in m by axis name, "x" and, in 3-D, "y".
        spacing: of the grid in m by axis name.
        projection: function() -> the map between the grid and the earth, None if none.

    Raises:
        ModelError: the file is missing or malformed, or does not cover the grid.
    """
    path = Path(base) / section.path
    refuse_no_file(path)
    form = heights_format(section)
    with one_line_for_malformed(path, form):
        request = HeightsRequest(path, section, region, spacing, projection)
        heights: Heights = format_for("heights", form)["heights"](request)
    samples = np.where(heights.samples == _GAP, np.nan, heights.samples)
    needed = replace(heights, samples=samples, nearest=section.outside == "nearest").within(
        region if "y" in region else {**region, "y": (0.0, 0.0)}
    )
    if np.abs(needed.samples).max() > _HIGHEST:
        extreme = float(needed.samples.flat[np.abs(needed.samples).argmax()])
        raise ModelError(
            f"{path} has the height {extreme:g} m, and "
            "nothing on the earth is higher than 20 km; check its unit and what stands for gaps",
            "path",
        )
    return needed


def heights_of_npy(request: HeightsRequest) -> Heights:
    """Return the heights of a .npy file, at points that the scenario gives or the grid's.

    Raises:
        ModelError: it has too many axes, or too few.
    """
    path = request.path
    section = request.section
    region = request.region
    samples = read_npy(path, GriddedFile(path=section.path, format="npy")).astype(float)
    axes = "yx" if "y" in region else "x"
    if samples.ndim != len(axes):
        raise ModelError(
            f"{path} has {samples.ndim} axes, the heights of this run have {len(axes)}: "
            f"{', '.join(axes)}",
            "path",
        )
    ticks = []
    for axis, count in zip(axes, samples.shape, strict=True):
        step = section.spacing and getattr(section.spacing, axis)
        start = getattr(section.origin, axis) if section.origin else None
        first = region[axis][0] if start is None else float(start)
        ticks.append(first + np.arange(count) * (step or request.spacing[axis]))
    if axes == "x":
        return Heights(path, np.zeros(1), ticks[0], samples[None], Placement())
    return Heights(path, ticks[0], ticks[1], samples, Placement())


def heights_of_netcdf(request: HeightsRequest) -> Heights:
    """Return the heights of a NetCDF file.

    Raises:
        ModelError: its axes, units or the place of its grid will not do.
    """
    path = request.path
    with open_netcdf(path) as dataset:
        array = _variable(dataset, request.section, path)
        kinds = {kind_of(dataset, dimension): dimension for dimension in array.dims}
        geographic = kinds.keys() == {"latitude", "longitude"}
        if not geographic and kinds.keys() != {"y", "x"}:
            raise ModelError(
                f"{path}: {array.name} has the axes {listing(map(str, array.dims))}; it needs "
                "latitude and longitude, or y and x, each with coordinates of its crs_of_file",
                "path",
            )
        names = ("latitude", "longitude") if geographic else ("y", "x")
        rows, columns = (axis_of(dataset, kind, kinds[kind], None, path) for kind in names)
        refuse_what_does_not_fit(path, 8 * array.size)
        samples = array.transpose(kinds[names[0]], kinds[names[1]]).values.astype(float)
        unit = str(array.attrs.get("units", "")).strip().lower()
        is_depth = str(array.attrs.get("positive", "")).strip().lower() == "down"
    if unit not in LENGTHS or unit in TIMES:
        raise ModelError(f"{path}: its heights are in {brief(unit)}; give them in m or km", "path")
    samples = samples[rows.order][:, columns.order] * LENGTHS[unit] * (-1.0 if is_depth else 1.0)
    return Heights(path, rows.ticks, columns.ticks, samples, request.placement(geographic))


def _variable(dataset: Any, section: FileTopography, path: Path) -> Any:
    """Return the variable with the heights: the named, or the only one of two axes."""
    if section.variable is not None:
        if section.variable not in dataset.data_vars:
            known = listing(sorted(map(str, dataset.data_vars)))
            raise ModelError(
                f"{path} has no variable {section.variable!r}; available: {known}", "variable"
            )
        arrays = [dataset[section.variable].squeeze()]
    else:
        arrays = [dataset[name].squeeze() for name in dataset.data_vars]
        arrays = [a for a in arrays if a.ndim == 2 and a.dtype.kind in "fiu"]
    if len(arrays) != 1 or arrays[0].ndim != 2 or arrays[0].dtype.kind not in "fiu":
        names = listing(sorted(str(a.name) for a in arrays))
        raise ModelError(
            f"{path} has these variables of numbers along two axes: {names}; name one", "variable"
        )
    return arrays[0]


def heights_of_geotiff(request: HeightsRequest) -> Heights:
    """Return the heights of the first band of a GeoTIFF file.

    Raises:
        ModelError: it is turned, or cannot be placed on the grid.
        ScenarioError: rasterio is not installed.
    """
    path = request.path
    section = request.section
    rasterio = optional_package("rasterio", "geotiff", f"{path}: a GeoTIFF file")
    with warnings.catch_warnings(action="ignore"), rasterio.open(path, driver="GTiff") as image:
        to = image.transform
        if to.b or to.d:
            raise ModelError(f"{path} is turned against its axes; warp it to north up", "path")
        refuse_what_does_not_fit(path, 8 * image.width * image.height)
        samples = image.read(1, masked=True).astype(float).filled(np.nan)
        # A pixel is centred half a pixel from its corner.
        columns = to.c + to.a * (np.arange(image.width) + 0.5)
        rows = to.f + to.e * (np.arange(image.height) + 0.5)
        crs = image.crs
    geographic = crs is not None and crs.is_geographic and section.crs is None
    crs_of_file = section.crs or ("" if crs is None or geographic else crs.to_wkt())
    placed = geographic or crs_of_file
    placement = on_the_earth(request.projection, path, crs_of_file) if placed else Placement()
    turned = samples[:: -1 if to.e < 0 else 1, :: -1 if to.a < 0 else 1]
    return Heights(path, np.sort(rows), np.sort(columns), turned, placement)


def heights_of_text(request: HeightsRequest) -> Heights:
    """Return the heights of lines of x, y and height.

    Raises:
        ModelError: a line is malformed, or the points lie on no grid.
    """
    path = request.path
    section = request.section
    degrees = section.coordinates == "degrees" or (
        section.coordinates is None and request.projection is not None and section.crs is None
    )
    placement = request.placement(degrees)
    meridian = float(placement.coordinates(np.zeros(()), np.zeros(()))[1]) if degrees else None
    rows, columns, samples = read_height_lines(path, meridian)
    return Heights(path, rows, columns, samples, placement)


def read_height_lines(
    path: Path, meridian: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows (n), columns (m), both rising, and heights (n, m), NaN where none is given.

    Args:
        path: of the file.
        meridian: in degrees, about which x are longitudes; None where they are none.

    Raises:
        ModelError: it is no such text, its points stand on no regular grid, or that is too large.
    """
    table, line_numbers = _table_of(path)
    x, y, heights = table.T
    x = x if meridian is None else nearest_turn(x, meridian)
    columns, rows = _regular_grid(x, y, path)
    refuse_what_does_not_fit(path, 8 * rows.count * columns.count)
    samples = np.full((rows.count, columns.count), np.nan)
    nodes = rows.nearest(y), columns.nearest(x)
    samples[nodes] = heights
    unlike = (samples[nodes] != heights) & np.isfinite(heights)
    if unlike.any():
        number = line_numbers[int(unlike.argmax())]
        raise ModelError(f"{path}:{number}: another line has another height there", "path")
    return rows.ticks, columns.ticks, samples


def _table_of(path: Path) -> tuple[np.ndarray, list[int]]:
    """Return x, y and heights (line, 3) of a file, and the numbers of the lines."""
    lines = read_lines(path, "expected lines of x, y, height")
    table = []
    for number, line in lines:
        words = line.replace(",", " ").replace(";", " ").split()
        try:
            table.append([float(word) for word in words])
        except ValueError:
            if table or number > lines[0][0]:
                raise ModelError(
                    f"{path}:{number}: not a line of numbers: x, y, height", "path"
                ) from None
    if len({len(row) for row in table}) != 1 or len(table[0]) != 3:
        raise ModelError(f"{path} needs lines of three numbers each: x, y, height", "path")
    line_numbers = [number for number, _ in lines[len(lines) - len(table) :]]
    return np.array(table), line_numbers


@dataclass(frozen=True)
class _EvenAxis:
    """Evenly spaced coordinates.

    Attributes:
        first: of them.
        last: of them.
        count: how many.
        error: largest distance of a point from the nearest, in steps.
    """

    first: float
    last: float
    count: int
    error: float = 0.0

    @property
    def step(self) -> float:
        """Spacing of the coordinates, 0 of a single one."""
        return (self.last - self.first) / max(self.count - 1, 1)

    @property
    def ticks(self) -> np.ndarray:
        """All of them (count)."""
        return np.linspace(self.first, self.last, self.count)

    def nearest(self, points: np.ndarray) -> np.ndarray:
        """Return the numbers of the coordinates nearest to points (n) of the axis."""
        if self.count == 1:
            return np.zeros(points.size, int)
        numbers = np.rint((points - self.first) / self.step)
        return np.clip(numbers, 0, self.count - 1).astype(int)


def _regular_grid(x: np.ndarray, y: np.ndarray, path: Path) -> tuple[_EvenAxis, _EvenAxis]:
    """Return the columns and rows of the regular grid that points (n) stand on.

    Raises:
        ModelError: there is none, or few of its nodes have a height.
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ModelError(f"{path}: x and y must be finite numbers", "path")
    points = np.unique(x + 1j * y).size
    lengths = np.ptp(x), np.ptp(y)
    # Spacing of so many points in square cells: (length + h) (width + h) = points h^2.
    half = 0.5 * sum(lengths)
    cell = (half + math.sqrt(half**2 + (points - 1) * math.prod(lengths))) / max(points - 1, 1)
    problem = ""
    # First with close coordinates merged; should points coincide by that, with all apart.
    for tolerance in (_TOLERANCE, 0.0):
        axes = [_even_axis(coordinates, tolerance, cell) for coordinates in (x, y)]
        nodes = math.prod(axis.count for axis in axes)
        errors = [axis.error for axis in axes]
        if nodes > _MOST_NODES * points:
            problem = problem or (
                f"its x and y make a regular grid of {axes[0].count} x {axes[1].count} points, of "
                f"which the file has {points}"
            )
        elif max(errors) > _TOLERANCE:
            name, axis = max(
                zip("xy", axes, strict=True), key=lambda name_and_axis: name_and_axis[1].error
            )
            problem = problem or (
                f"its {name} are {axis.error * axis.step:.3g} off a regular grid of {axis.step:.6g}"
            )
        elif nodes >= points:
            return axes[0], axes[1]
    raise ModelError(f"{path}: {problem}; grid it, by GMT surface, say", "path")


def _even_axis(coordinates: np.ndarray, tolerance: float, cell: float) -> _EvenAxis:
    """Return the even coordinates nearest to those (n) of points.

    Args:
        coordinates: of the points.
        tolerance: share of a step by which equal coordinates may differ.
        cell: spacing of the points.
    """
    rising = np.unique(coordinates)
    if np.ptp(rising) <= tolerance * cell:
        middle = float(rising.mean())
        return _EvenAxis(middle, middle, 1)
    steps = np.sort(np.diff(rising))
    lengths = np.cumsum(steps)
    short = steps[np.searchsorted(lengths, _SHORT * lengths[-1])]
    rising = rising[np.append(True, np.diff(rising) > tolerance * short)]
    # Rounded steps differ: the mean of steps about the median is the grid's.
    steps = np.diff(rising)
    step = np.quantile(steps, 0.5, method="lower")
    step = steps[np.rint(steps / step) == 1.0].mean()
    count = 1 + int(np.rint(steps / step).sum())
    axis = _EvenAxis(float(rising[0]), float(rising[-1]), count)
    nodes = axis.first + axis.step * axis.nearest(coordinates)
    error = float(np.abs(coordinates - nodes).max()) / axis.step
    return _EvenAxis(axis.first, axis.last, count, error)

"""The shape of the ground of a scenario at the nodes of its grid.

It is as smooth as the grid carries: waves of the ground that are shorter than about four spacings
are removed by a filter 1 - (1 - G)^4, G a Gaussian of 1.5 spacings, which leaves waves longer than
sixteen alone to 1e-3. Towards absorbing layers at the sides it becomes level along their normal:

    z(x) = zs(c(x)),    c' = 1 inside, and falls to 0 over the last ten points (a quintic step),

so that neither slope nor curvature jumps at the layer. A plane stays a plane up to the layer, where
it bends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.features.topography.height_files import Heights, read_heights
from seismo.features.topography.rows import GroundSpline
from seismo.features.topography.section import (
    FileTopography,
    HillsTopography,
    PlaneTopography,
)
from seismo.scenario import Scenario

BLEND = 10  # points beside a layer over which the ground becomes level
_SIGMA = 1.5  # spacings, of the Gaussian
_PASSES = 4  # that sharpen it
_FINEST = 8  # points in a spacing, of files that are finer than the grid
_UNCHANGED = 1e-3  # of the spacing, below which ground is left as it is
_MOST = 4e7  # points at which a file is read


@dataclass(frozen=True, eq=False)
class Ground:
    """The ground over the extent of a run.

    Attributes:
        x: coordinates (n) in m of the nodes.
        y: coordinates (m) in m, None in 2-D.
        z: of the ground (m, n) or (n) in m.
        smoothing: m (m, n) or (n) by which smoothing lowered it.
        levelling: m by which levelling beside absorbing layers lowered it.
        spacing: m between the points of its file, 0 without.
        is_plane: whether it is a plane that dips.
    """

    x: np.ndarray
    y: np.ndarray | None
    z: np.ndarray
    smoothing: np.ndarray
    levelling: np.ndarray
    spacing: float = 0.0
    is_plane: bool = False

    @property
    def highest(self) -> float:
        """Z in m of the highest ground."""
        return float(self.z.min())

    @property
    def relief(self) -> float:
        """Height in m of the highest ground above the lowest."""
        return float(np.ptp(self.z))

    def position(self, index: int) -> tuple[float, float]:
        """Return x, y in m of the node with a flat index."""
        numbers = np.unravel_index(index, self.z.shape)
        return float(self.x[numbers[-1]]), 0.0 if self.y is None else float(self.y[numbers[0]])


def made_ground(
    scenario: Scenario,
    section: HillsTopography | PlaneTopography | FileTopography,
    projection: Callable[[], Any] | None,
) -> Ground:
    """Return the ground at the nodes of the extent, smoothed and level beside layers.

    Args:
        scenario: the scenario.
        section: of it, that describes the ground.
        projection: function() -> the map between the grid and the earth, None if none.

    Raises:
        ScenarioError: a file is missing or malformed, or does not cover the grid.
    """
    x, y = nodes_of(scenario)
    if isinstance(section, PlaneTopography):
        z = _plane(section, y, x)
        return Ground(x, y, z, np.zeros(z.shape), np.zeros(z.shape), is_plane=section.dip != 0.0)
    spacing = 0.0
    finer = 1
    heights: Callable[[Any, Any], np.ndarray]
    if isinstance(section, HillsTopography):
        heights = partial(_hills, section)
    else:
        file = _file(scenario, section, x, y, projection)
        spacing = file.spacing(float(x.mean()), 0.0 if y is None else float(y.mean()))
        heights = file.on_grid
        across = 1 if y is None else 2
        most = (_MOST / (x.size * (1 if y is None else y.size))) ** (1.0 / across)
        finer = int(np.clip(math.ceil((x[1] - x[0]) / spacing), 1, max(1, min(_FINEST, int(most)))))
    rows = None if y is None else _between(y, finer)
    raw = section.datum - heights(rows, _between(x, finer))
    taken = (slice(None, None, finer),) * raw.ndim
    smooth = _smoothed(raw, finer)[taken]
    raw = raw[taken]
    if np.abs(smooth - raw).max() < _UNCHANGED * (x[1] - x[0]):
        smooth = raw
    z = _level_beside_layers(scenario, x, y, smooth)
    return Ground(x, y, z, smooth - raw, z - smooth, spacing)


def nodes_of(scenario: Scenario) -> tuple[np.ndarray, np.ndarray | None]:
    """Return x and y in m of the nodes of the extent."""
    spec = scenario.grid
    lines = []
    for axis in "xy"[: scenario.dimensions - 1]:
        spacing = getattr(spec.spacing, axis)
        cells = round(getattr(spec.extent, axis) / spacing)
        lines.append(getattr(spec.origin, axis) + spacing * np.arange(cells + 1))
    return lines[0], lines[1] if len(lines) > 1 else None


def _between(nodes: np.ndarray, finer: int) -> np.ndarray:
    """Return nodes and points between them, so many in a spacing."""
    return np.linspace(nodes[0], nodes[-1], (nodes.size - 1) * finer + 1)


def _plane(section: PlaneTopography, y: np.ndarray | None, x: np.ndarray) -> np.ndarray:
    azimuth = math.radians(section.azimuth)
    along = (x - section.through.x) * math.cos(azimuth)
    if y is not None:
        along = along + (y - section.through.y)[:, None] * math.sin(azimuth)
    depth: np.ndarray = section.through.z + math.tan(math.radians(section.dip)) * along
    return depth


def _hills(section: HillsTopography, y: np.ndarray | None, x: np.ndarray) -> np.ndarray:
    """Return heights (y, x), or (x), of the sum of all hills."""
    height = np.array([hill.height for hill in section.hills])
    centres = np.array([[hill.center.x, hill.center.y or 0.0] for hill in section.hills])
    width = np.array([hill.width for hill in section.hills])
    along_x = np.exp(-(((x - centres[:, :1]) / width[:, None]) ** 2))
    if y is None:
        return height @ along_x
    along_y = np.exp(-(((y - centres[:, 1:]) / width[:, None]) ** 2))
    return (height[:, None] * along_y).T @ along_x


def _file(
    scenario: Scenario,
    section: FileTopography,
    x: np.ndarray,
    y: np.ndarray | None,
    projection: Callable[[], Any] | None,
) -> Heights:
    """Return the heights of the file that the grid needs."""
    spec = scenario.grid
    region = {"x": (float(x[0]), float(x[-1]))}
    spacing = {"x": spec.spacing.x}
    if y is not None:
        region["y"] = (float(y[0]), float(y[-1]))
        spacing["y"] = float(spec.spacing.y or spec.spacing.x)
    try:
        return read_heights(section, scenario.base, region, spacing, projection)
    except ModelError as error:
        raise scenario.mistake("topography", *error.key, problem=error.problem) from None


def _smoothed(raw: np.ndarray, finer: int) -> np.ndarray:
    """Remove wavelengths too short for the grid: 1 - (1 - G)^n of the spectrum stays."""
    from scipy.ndimage import gaussian_filter

    rest = raw
    for _ in range(_PASSES):
        rest = rest - gaussian_filter(rest, _SIGMA * finer, mode="nearest")
    smooth: np.ndarray = raw - rest
    return smooth


def _level_beside_layers(
    scenario: Scenario, x: np.ndarray, y: np.ndarray | None, z: np.ndarray
) -> np.ndarray:
    """Let the ground become level towards absorbing faces."""
    surface = GroundSpline(x, y, z)
    moved = [_eased(scenario, a, line) for a, line in (("x", x), ("y", y)) if line is not None]
    if y is None:
        return surface(None, moved[0])
    return surface(moved[1][:, None], moved[0])


def _eased(scenario: Scenario, axis: str, line: np.ndarray) -> np.ndarray:
    """Return c: where the ground at each coordinate (n) in m is taken from."""
    width = min(BLEND, (line.size - 1) // 4) * float(line[1] - line[0])
    moved = line.copy()
    for face, end, inwards in ((f"{axis}_min", line[0], 1.0), (f"{axis}_max", line[-1], -1.0)):
        if getattr(scenario.boundaries, face) == "absorbing" and width > 0.0:
            # u from 0 where it begins to 1 at the face; 1 - c' is a quintic step in u.
            u = np.clip(1.0 - inwards * (line - end) / width, 0.0, 1.0)
            moved += inwards * width * (u**6 - 3.0 * u**5 + 2.5 * u**4)
    return moved

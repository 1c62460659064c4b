"""The smallest and greatest velocities and densities in the cells of a grid.

An effective medium is no faster than the fastest medium of its cell. A thin bed or a small body may
lie between the nodes and still stiffen the cells about it: the extremes that limit the time step
include the samples inside cut cells, as the averages do.

Symbols: z, y, x coordinates (m), vp, vs (m/s), rho (kg/m3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from seismo.grid.grid import moved
from seismo.model.earth import Earth
from seismo.model.effective import (
    GRIDDED,
    SLAB,
    GridCells,
    Samples,
    column,
    corners,
    lattice,
    offsets,
    tensor,
    uneven_cells,
)
from seismo.model.gridded import Gridded
from seismo.model.parts import Uniform
from seismo.model.volume import Volume

_STIFF = {"c11", "c22", "c33"}


@dataclass(frozen=True)
class Extremes:
    """Smallest and greatest values of a region; `vs_min` leaves fluids out (0 if all is fluid).

    `others` has further parameters that equations declare, and quantities derived from these.
    `fluid_rho_min`, `fluid_rho_max` hold for fluids alone, where the physics knows density.
    """

    vp_min: float = 0.0
    vp_max: float = 0.0
    vs_min: float = 0.0
    vs_max: float = 0.0
    rho_min: float = 0.0
    rho_max: float = 0.0
    fluid_rho_min: float = 0.0
    fluid_rho_max: float = 0.0
    ratio_min: float = float("inf")  # of vp / vs
    ratio_max: float = 0.0
    fluid: bool = False
    others: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def fluids_alike(self) -> bool:
        """Whether all fluids have the same density."""
        return self.fluid_rho_min == self.fluid_rho_max

    @property
    def uniform(self) -> bool:
        """Whether there is a single medium."""
        pairs = (
            (self.vp_min, self.vp_max),
            (self.vs_min, self.vs_max),
            (self.rho_min, self.rho_max),
            *self.others.values(),
        )
        return all(low == high for low, high in pairs) and not (self.fluid and self.vs_max)


def extremes_of(
    earth: Earth,
    points: GridCells,
    cells: bool = True,
    take: Callable[[slice, Samples], object] = lambda rows, samples: None,
    derived: Mapping[str, Callable[[Samples], np.ndarray]] | None = None,
) -> Extremes:
    """Return the extremes over a grid, from a single pass over its nodes.

    Args:
        earth: the earth.
        points: the nodes.
        cells: whether the cells about the nodes count, or the nodes alone.
        take: given the rows z and the samples of every slab of nodes, for other statistics.
        derived: further numbers, by name, made of samples.
    """
    if earth.layered:
        points = replace(points, y=None, x=points.x[:1])
    bounds = _Bounds(derived or {})
    for samples in _at_nodes(earth, points, cells, take):
        bounds.include(samples)
    if cells and _hidden(earth, bounds.extremes):
        for samples in _inside_files(earth, points):
            bounds.include(samples)
    return bounds.extremes


def extremes_by_row(
    earth: Earth,
    points: GridCells,
    cells: bool,
    derived: Mapping[str, Callable[[Samples], np.ndarray]],
) -> list[Extremes]:
    """Return the extremes of each row of nodes (nz); see `extremes_of`."""
    rows = (replace(points, z=points.z[n : n + 1]) for n in range(points.z.size))
    return [extremes_of(earth, row, cells, derived=derived) for row in rows]


def _at_nodes(
    earth: Earth, points: GridCells, cells: bool, take: Callable[[slice, Samples], object]
) -> Iterator[Samples]:
    """Sample nodes, and the cells about them that a contact cuts, slab by slab."""
    y = points.y
    rank = 2 if y is None else 3
    within = corners(rank) if _is_told_by_corners(earth, points) else lattice(rank)
    if earth.layered:
        within = np.stack([offsets(column.SAMPLES), np.zeros(column.SAMPLES)])
    count = max(1, SLAB // (points.x.size * (1 if y is None else y.size)))
    for first in range(0, points.z.size, count):
        rows = slice(first, min(first + count, points.z.size))
        axes = points.rows(rows)
        samples = earth.sample(*axes)
        take(rows, samples)
        yield samples
        if cells:
            yield from (samples for _, samples in uneven_cells(earth, axes, points.spacing, within))


def _is_told_by_corners(earth: Earth, points: GridCells) -> bool:
    """Whether all rocks of a cell are at its corners: cells of files are no smaller than it."""
    if earth.frame.topography is not None or earth.spheres is not None:
        return False
    gridded = [p for p in earth.model_parts if isinstance(p, Gridded) and p.cells]
    uniform = [p for p in earth.model_parts if isinstance(p, Uniform)]
    if not gridded or len(gridded) + len(uniform) < len(earth.model_parts):
        return False
    grids = [grid for model_part in gridded for grid in model_part.grids.values()]
    if len({(grid.axes, grid.origin, grid.spacing) for grid in grids}) > 1:
        return False
    steps = zip(grids[0].axes, grids[0].spacing, strict=True)
    sizes = ((points.spacing[axis], step) for axis, step in steps)
    return all(isinstance(size, float) and size <= step for size, step in sizes)


def _hidden(earth: Earth, extremes: Extremes) -> bool:
    """Whether a file may be faster between the nodes than on any."""
    return any(
        model_part.largest(name) > _largest(name, extremes) * (1.0 + 1e-9)
        for model_part in earth.model_parts
        if isinstance(model_part, Gridded | Volume)
        for name in ({"vp", "vs"} & set(earth.needs)) | _STIFF
    )


def _largest(name: str, extremes: Extremes) -> float:
    """Return the largest value of a parameter of the medium, 0 where it is not known."""
    known = getattr(extremes, f"{name}_max", None)
    return extremes.others.get(name, (0.0, 0.0))[1] if known is None else known


def _inside_files(earth: Earth, points: GridCells) -> Iterator[Samples]:
    """Sample every cell as the averages do where files vary everywhere."""
    spacing = points.spacing
    horizontal = {"x": points.x} if points.y is None else {"y": points.y, "x": points.x}
    division = GRIDDED[len(horizontal) + 1]
    fine = {
        name: moved(spacing, name, axis[:, None], offsets(count)).ravel()
        for (name, axis), count in zip(horizontal.items(), division[1:], strict=True)
    }
    for depth in points.z:
        depths = moved(spacing, "z", depth, offsets(division[0]))
        yield earth.sample(*tensor(depths, fine.get("y"), fine["x"]))


class _Bounds:
    """Extremes of the samples that it has been given."""

    def __init__(self, derived: Mapping[str, Callable[[Samples], np.ndarray]]) -> None:
        self._derived = derived
        self._low: dict[str, float] = {}
        self._high: dict[str, float] = {}
        self._ratios = float("inf"), 0.0
        self._fluid = False

    def include(self, fields: Samples) -> None:
        """Widen the bounds to samples."""
        if "rho" in fields:
            is_fluid = fields["vs"] == 0.0 if "vs" in fields else slice(None)
            self._widen("fluid_rho", fields["rho"][is_fluid])
        for name, samples in fields.items():
            solid = samples[samples > 0.0] if name == "vs" else samples
            self._fluid = self._fluid or solid.size < samples.size
            self._widen(name, solid)
        for name, made_of in self._derived.items():
            self._widen(name, made_of(fields))
        if "vp" in fields and "vs" in fields:
            solid = fields["vs"] > 0.0
            if solid.any():
                ratio = fields["vp"][solid] / fields["vs"][solid]
                low, high = self._ratios
                self._ratios = min(low, float(ratio.min())), max(high, float(ratio.max()))

    def _widen(self, name: str, samples: np.ndarray) -> None:
        if samples.size:
            self._low[name] = min(self._low.get(name, np.inf), float(samples.min()))
            self._high[name] = max(self._high.get(name, -np.inf), float(samples.max()))

    @property
    def extremes(self) -> Extremes:
        """The extremes so far."""
        pairs = {name: (low, self._high[name]) for name, low in self._low.items()}
        known = Extremes.__dataclass_fields__
        others = {name: pair for name, pair in pairs.items() if f"{name}_min" not in known}
        bounds = {
            f"{name}_{end}": value
            for name, pair in pairs.items()
            for end, value in zip(("min", "max"), pair, strict=True)
            if name not in others
        }
        low, high = self._ratios
        return Extremes(**bounds, ratio_min=low, ratio_max=high, fluid=self._fluid, others=others)

"""The smallest and greatest velocities and densities in the cells of a grid.

An effective medium is no faster than the fastest medium of its cell. A thin bed or a small body may
lie between the nodes and still stiffen the cells about it: the extremes that limit the time step
include the samples inside cut cells, as the averages do.

Symbols: z, y, x coordinates (m), vp, vs (m/s), rho (kg/m3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from seismo.model import column
from seismo.model.cells import GRIDDED, Samples, lattice, offsets, tensor, uneven_cells
from seismo.model.earth import Earth
from seismo.model.gridded import Gridded


@dataclass(frozen=True)
class Extremes:
    """Smallest and greatest values of a region; `vs_min` leaves fluids out (0 if all is fluid).

    `others` has those of parameters that single equations declare.
    `fluid_rho_min`, `fluid_rho_max` are those of fluids alone, where the physics knows density.
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
    fluid: bool = False
    others: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def fluids_alike(self) -> bool:
        """Whether all fluids have one density."""
        return self.fluid_rho_min == self.fluid_rho_max

    @property
    def uniform(self) -> bool:
        """Whether there is only one medium."""
        pairs = (
            (self.vp_min, self.vp_max),
            (self.vs_min, self.vs_max),
            (self.rho_min, self.rho_max),
            *self.others.values(),
        )
        return all(low == high for low, high in pairs) and not (self.fluid and self.vs_max)


def extremes_of(
    earth: Earth,
    z: np.ndarray,
    y: np.ndarray | None,
    x: np.ndarray,
    spacing: Mapping[str, float],
    cells: bool = True,
) -> Extremes:
    """Return the extremes over a grid.

    Args:
        earth: the earth.
        z: depths (nz) m of the nodes.
        y: coordinates (ny) m along y, or None in 2-D.
        x: coordinates (nx) m along x.
        spacing: of the grid in m by axis name.
        cells: whether the cells about the nodes count, or the nodes alone.
    """
    if earth.layered:
        y = None
        x = x[:1]
    extremes = _extremes(_at_nodes(earth, z, y, x, spacing, cells))
    if not cells or not _hidden(earth, extremes):
        return extremes
    file_samples = _inside_files(earth, z, y, x, spacing)
    return _extremes(chain(_at_nodes(earth, z, y, x, spacing, cells), file_samples))


def _at_nodes(
    earth: Earth, z: np.ndarray, y: np.ndarray | None, x: np.ndarray,
    spacing: Mapping[str, float], cells: bool,
) -> Iterator[Samples]:  # fmt: skip
    """Sample nodes, and the cells about them that a contact cuts, slab by slab."""
    rank = 2 if y is None else 3
    points = lattice(rank)
    if earth.layered:
        points = np.stack([offsets(column.SAMPLES), np.zeros(column.SAMPLES)])
    for depths in [z] if earth.layered else z[:, None]:
        axes = tensor(depths, y, x)
        yield earth.sample(*axes)
        if cells:
            yield from (samples for _, samples in uneven_cells(earth, axes, spacing, points))


def _hidden(earth: Earth, extremes: Extremes) -> bool:
    """Whether a file may be faster between the nodes than on any."""
    grids = [model_part.grids for model_part in earth.parts if isinstance(model_part, Gridded)]
    return any(
        grid.largest > getattr(extremes, f"{name}_max") * (1.0 + 1e-9)
        for by_name in grids
        for name, grid in by_name.items()
        if name in earth.needs and name in ("vp", "vs")
    )


def _inside_files(
    earth: Earth, z: np.ndarray, y: np.ndarray | None, x: np.ndarray, spacing: Mapping[str, float]
) -> Iterator[Samples]:
    """Sample every cell as the averages do where files vary everywhere."""
    horizontal = {"y": y, "x": x} if y is not None else {"x": x}
    division = GRIDDED[len(horizontal) + 1]
    fine = {
        name: (axis[:, None] + offsets(count) * spacing[name]).ravel()
        for (name, axis), count in zip(horizontal.items(), division[1:], strict=True)
    }
    for depth in z:
        depths = depth + offsets(division[0]) * spacing["z"]
        yield earth.sample(*tensor(depths, fine.get("y"), fine["x"]))


def _extremes(samples: Iterable[Samples]) -> Extremes:
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    ratio = float("inf")
    fluid = False
    for fields in samples:
        if "rho" in fields:
            fluid_rho = fields["rho"][fields["vs"] == 0.0] if "vs" in fields else fields["rho"]
            if fluid_rho.size:
                low["fluid_rho"] = min(low.get("fluid_rho", np.inf), float(fluid_rho.min()))
                high["fluid_rho"] = max(high.get("fluid_rho", 0.0), float(fluid_rho.max()))
        for name, samples_of_parameter in fields.items():
            solid = (
                samples_of_parameter[samples_of_parameter > 0.0]
                if name == "vs"
                else samples_of_parameter
            )
            fluid = fluid or solid.size < samples_of_parameter.size
            if solid.size:
                low[name] = min(low.get(name, np.inf), float(solid.min()))
                high[name] = max(high.get(name, -np.inf), float(solid.max()))
        if "vp" in fields and "vs" in fields:
            solid = fields["vs"] > 0.0
            if solid.any():
                ratio = min(ratio, float((fields["vp"][solid] / fields["vs"][solid]).min()))
    known = Extremes.__dataclass_fields__
    others = {name: (low[name], high[name]) for name in low if f"{name}_min" not in known}
    bounds = {f"{name}_min": value for name, value in low.items() if name not in others}
    bounds |= {f"{name}_max": value for name, value in high.items() if name not in others}
    return Extremes(**bounds, ratio_min=ratio, fluid=fluid, others=others)

"""Values of a model on the nodes of a grid, and the range of models that a run has to suit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import CONSTANTS
from seismo.equations.rock.relaxation import Relaxation
from seismo.grid.grid import AXES, Bounds, Grid
from seismo.model.earth import Earth
from seismo.model.effective import tensor
from seismo.model.extremes import Extremes
from seismo.model.gridded import Gridded, GridField


@dataclass(frozen=True)
class NodeValues(Gridded):
    """The part of an earth that has a value at each node, whatever the values are.

    It counts as varying along all axes, and by any amount: other values may follow.

    Attributes:
        changing: names of the parameters that other models have other values of.
    """

    changing: frozenset[str] = frozenset()

    @property
    def thin(self) -> dict[str, GridField]:
        """The values, along all axes."""
        return dict(self.grids)

    @property
    def layered(self) -> bool:
        """Whether the values vary along z only."""
        return False

    def varies(self, top: float, bottom: float) -> bool:
        """Whether any parameter may have more than one value between two depths in m."""
        return bool(self.changing) or super().varies(top, bottom)

    def steps(self, top: float, bottom: float) -> bool:
        """Whether density may jump between neighbouring points, between two depths in m."""
        return "rho" in self.changing or super().steps(top, bottom)


def with_values(
    earth: Earth, grid: Grid, arrays: Mapping[str, np.ndarray], like: NodeValues | None = None
) -> Earth:
    """Return an earth with these values (z, [y,] x) by parameter at the nodes of the extent.

    Args:
        earth: it goes on beyond the extent as this one does.
        grid: the nodes.
        arrays: the values in SI.
        like: values whose changing parameters these have, too; those of `earth` when None.
    """
    if like is None:
        (like,) = (known for known in earth.model_parts if isinstance(known, NodeValues))
    names = "".join(a for a in "zyx" if a in grid.axes)
    origin = tuple(float(nodes_along(grid, a)[0]) for a in names)
    spacing = tuple(grid.spacing[AXES.index(a)] for a in names)
    grids = {
        name: GridField(array, names, origin, spacing, 1.0, name, (name,))
        for name, array in arrays.items()
    }
    return replace(earth, model_parts=(replace(like, grids=grids),))


def arrays_of(earth: Earth) -> dict[str, np.ndarray]:
    """Return the values (z, [y,] x) by parameter of an earth that has them at nodes."""
    return {
        name: field.samples
        for node_values in earth.model_parts
        if isinstance(node_values, NodeValues)
        for name, field in node_values.grids.items()
    }


def nodes_along(grid: Grid, axis: str) -> np.ndarray:
    """Return the coordinates (n) in m of the nodes of the extent along an axis."""
    a = AXES.index(axis)
    return grid.coordinate(axis, np.arange(grid.extent.lo[a], grid.extent.hi[a]))


def extent_of(grid: Grid) -> Bounds:
    """Return the coordinates z, y, x in m of the nodes of the extent, so that they span a grid."""
    y = nodes_along(grid, "y") if "y" in grid.axes else None
    return tensor(nodes_along(grid, "z"), y, nodes_along(grid, "x"))


@dataclass(frozen=True)
class ModelRange:
    """The models that a run has to suit besides the scenario's.

    Attributes:
        bounds: least and greatest value of each parameter that may change, in SI.
    """

    bounds: Mapping[str, tuple[float, float]]

    def on_nodes(self, earth: Earth, grid: Grid) -> Earth:
        """Return the earth that has the values of another at the nodes of the extent.

        Where models give parameters that are converted to those of the waves, nodes have these.
        """
        if not self.bounds.keys() <= set(earth.needs) - self._replaced(earth):
            painted = earth.as_painted.sample(*extent_of(grid))
            samples = {name: array for name, array in painted.items() if name not in CONSTANTS}
        else:
            samples = earth.as_given.sample(*extent_of(grid))
            if earth.conversion and not self._replaced(earth):
                earth = replace(earth, conversion=None)
        shape = tuple(nodes_along(grid, a).size for a in "zyx" if a in grid.axes)
        arrays = {name: np.broadcast_to(array, shape).copy() for name, array in samples.items()}
        like = NodeValues({}, changing=frozenset(self.bounds))
        return with_values(earth, grid, arrays, like)

    @staticmethod
    def _replaced(earth: Earth) -> set[str]:
        """Return the velocities, of waves that take elastic constants."""
        return {"vp", "vs"} if "c33" in earth.needs else set()

    def widened(
        self, extremes: Extremes, earth: Earth, derived: Mapping[str, Callable]
    ) -> Extremes:  # fmt: skip
        """Return the extremes of all these models, from those of the scenario's.

        Args:
            extremes: of the scenario's model.
            earth: of that, with values at nodes.
            derived: further numbers, by name, made of samples. They are taken to be largest where
                each parameter is at an end of its range, as the squared speed of the fastest wave
                is, which is convex in the stiffness.
        """
        known = {field.name for field in fields(Extremes)}
        wider: dict[str, object] = {}
        others = dict(extremes.others)
        bounds = dict(self.bounds)
        if "rho" in bounds and extremes.fluid_rho_max:
            bounds["fluid_rho"] = bounds["rho"]
        if derived or earth.relaxation:
            corners = _corners(arrays_of(earth), self.bounds)
            samples = earth.converted(corners) if earth.conversion else corners
            if earth.relaxation is not None and "epsilon" in samples:
                samples |= _unrelaxed(samples, earth.relaxation)
            elif earth.relaxation is not None:
                samples = earth.unrelaxed(samples)
            with np.errstate(invalid="ignore"):
                numbers = samples | {name: made_of(samples) for name, made_of in derived.items()}
            for name, array in numbers.items():
                finite = array[np.isfinite(array)]
                bounds[name] = float(finite.min()), float(finite.max())
        for name, (low, high) in bounds.items():
            if f"{name}_min" not in known:
                least, greatest = others.get(name, (low, high))
                others[name] = min(low, least), max(high, greatest)
                continue
            wider[f"{name}_max"] = max(high, getattr(extremes, f"{name}_max"))
            if low > 0.0:  # that of vs leaves fluids out
                wider[f"{name}_min"] = min(low, getattr(extremes, f"{name}_min"))
        return replace(extremes, **wider, others=others)  # type: ignore[arg-type]


def _unrelaxed(samples: Mapping[str, Any], relaxation: Relaxation) -> dict[str, Any]:
    """Return velocities that are no less than the unrelaxed ones of any of these rocks.

    They may be impossible ones, for which no least qp is known.
    """
    known = [samples[name].min() for name in ("qp", "qs") if name in samples]
    velocities = [name for name in ("vp", "vs") if name in samples]
    # qp may be lowered, to no less than qs (`Earth.most_qp`).
    numbers = {n: relaxation.cell_value(n[1], min(known), 1.0, 1.0) for n in velocities}
    return {n: samples[n] * relaxation.velocity_ratio(n[1], y) for n, y in numbers.items()}


_DIRECTIONS = frozenset({"theta", "phi", "azimuth"})  # of rock, which its speeds do not depend on


def _corners(
    arrays: Mapping[str, np.ndarray], bounds: Mapping[str, tuple[float, float]]
) -> dict[str, np.ndarray]:
    """Return samples (n) of the rocks whose parameters are all at an end of their ranges."""
    ends: list[set[float]] = []
    for name, array in arrays.items():
        low, high = bounds.get(name, (np.inf, -np.inf))
        both = {float(min(low, array.min())), float(max(high, array.max()))}
        ends.append({float(array.flat[0])} if name in _DIRECTIONS else both)
    return dict(zip(arrays, np.array(list(product(*ends))).T, strict=True))

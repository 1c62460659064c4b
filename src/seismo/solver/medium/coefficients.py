"""Effective medium at the nodes of a subdomain and its halo, and the coefficients made of it.

Where an equation asks for another medium in absorbing layers, it changes over the points of a layer
that do not damp (`Grid.collar`), so smoothly that waves pass, and is that of the layer where it
damps (`seismo.equations.framework.declaration.Collar`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from seismo.equations.framework.declaration import Collar
from seismo.features import acting
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Grid, moved
from seismo.grid.interpolation import Midpoints
from seismo.grid.surface_interpolation import midpoint_weights
from seismo.model.effective import GridCells, Samples
from seismo.model.effective.averaging import cell_average, effective_medium
from seismo.solver.boundary_images import source_of, turned_off

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

_MOST_NODES = 100_000  # of an earth that varies sideways, at which lessened couplings are sought
_NEVER = 1 << 40  # a node beyond every grid
_COUPLED = 1e-3  # of c33: constants that couple less than that tell nothing

Averages = dict[str, np.ndarray]  # (z, y, x) by name


def as_volume(array: np.ndarray) -> np.ndarray:
    """Return an array (z, x) as (z, 1, x), others as they are."""
    return array[:, None, :] if array.ndim == 2 else array


def nodes_of(discretization: Discretization, subdomain: Subdomain) -> dict[str, range]:
    """Return these nodes, z first; a single one along y and x if the earth varies with z only."""
    nodes = every_node(discretization, subdomain)
    if discretization.earth.layered:
        # A layered earth varies with z only: a single column is enough.
        return {axis: index if axis == "z" else index[:1] for axis, index in nodes.items()}
    return nodes


def every_node(discretization: Discretization, subdomain: Subdomain) -> dict[str, range]:
    """Return the nodes of a subdomain and of its halo, z first."""
    nodes = {}
    for axis in "zyx" if discretization.grid.dimensions == 3 else "zx":
        first, last = (end[AXES.index(axis)] for end in (subdomain.owned.lo, subdomain.owned.hi))
        # x has no halo of its own: rows are padded later.
        beyond = 0 if axis == "x" else subdomain.halo
        nodes[axis] = range(first - beyond, last + beyond)
    return nodes


def node_medium(discretization: Discretization, subdomain: Subdomain) -> dict[str, np.ndarray]:
    """Average the earth onto the nodes (z, y, x) of a subdomain and its halo.

    Couplings that would set energy free beside other rock are weakened (`Physics.weakened`).
    """
    nodes = nodes_of(discretization, subdomain)
    if discretization.physics.weakened is None or discretization.extremes.uniform:
        return averages_at(discretization, {a: np.array(r) for a, r in nodes.items()})
    return _weakened(discretization, nodes)[1]


def _weakened(
    discretization: Discretization, nodes: Mapping[str, range]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the averages at nodes (z, y, x), and their remainder (`Physics.weakened`)."""
    assert discretization.physics.weakened is not None
    ranges = {axis: _averaged_range(discretization, axis, index) for axis, index in nodes.items()}
    index = {axis: _images(discretization, axis, np.array(wide)) for axis, wide in ranges.items()}
    medium = averages_at(discretization, index)
    weakened = discretization.physics.weakened(
        medium, {axis: _midpoints(discretization, axis, wide) for axis, wide in ranges.items()}
    )
    # Without the margin averaged around the nodes.
    inner = [slice(None)] * 3
    for axis, index_range in nodes.items():
        start = index_range.start - ranges[axis].start
        inner["zyx".index(axis)] = slice(start, start + len(index_range))
    before, after = (
        {name: array[tuple(inner)] for name, array in averages.items()}
        for averages in (medium, weakened)
    )
    return before, after


def coupling_left(discretization: Discretization) -> tuple[float, float]:
    """Return the least share of its coupling that rock is left with, and the depth of it in m.

    Of an earth that varies sideways the middle of a large grid is looked at.
    """
    grid = discretization.grid
    if discretization.physics.weakened is None or discretization.extremes.uniform:
        return 1.0, 0.0
    nodes = {}
    most_nodes = _MOST_NODES
    for axis in "zyx" if grid.dimensions == 3 else "zx":
        k = AXES.index(axis)
        first = grid.extent.lo[k]
        last = grid.extent.hi[k]
        if discretization.earth.layered and axis != "z":
            last = first + 1
        count = max(1, min(last - first, most_nodes))
        first += (last - first - count) // 2
        nodes[axis] = range(first, first + count)
        most_nodes //= count
    before, after = _weakened(discretization, nodes)
    # c_nI is left s_I times (n a normal, I a shear strain).
    least = np.ones(len(nodes["z"]))
    for name in (n for n in before if n[0] == "c" and n[1] <= "3" < n[2]):
        coupled = np.abs(before[name]) > _COUPLED * np.abs(before["c33"])
        share = np.where(coupled, after[name] / np.where(coupled, before[name], 1.0), 1.0)
        least = np.minimum(least, share.min((1, 2)))
    row = int(least.argmin())
    return float(least[row]), float(grid.coordinate("z", np.array([nodes["z"][row]]))[0])


def averages_at(
    discretization: Discretization, index: Mapping[str, np.ndarray],
    change: Callable[[Samples], dict[str, np.ndarray]] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Average the earth about nodes of the grid; return arrays (z, y, x), changed if at all."""
    grid = discretization.grid
    z, x = (grid.coordinate(a, index[a]) for a in "zx")
    y = grid.coordinate("y", index["y"]) if "y" in index else None
    spacing = grid.cells
    # Effective medium: averages over the cell of each node.
    medium = effective_medium(
        discretization.own_earth, GridCells(z, y, x, spacing), discretization.physics.medium,
        discretization.scenario.averaging, change,
    )  # fmt: skip
    return {name: as_volume(average) for name, average in medium.items()}


def _averaged_range(discretization: Discretization, axis: str, nodes: range) -> range:
    """Return the nodes that factors at given nodes depend on."""
    if discretization.earth.layered and axis != "z":
        return nodes
    reach = discretization.physics.weakened_by
    first = nodes.start - reach
    last = nodes.stop + reach
    # Nodes in a layer have the least factor about its inner edge.
    before, behind = _layers(discretization, axis)
    if nodes.start < before:
        last = max(last, before + reach)
    if nodes.stop > behind:
        first = min(first, behind - reach)
    # Rows under a closed surface interpolate between all of each other.
    rows = (
        discretization.closure.up.shape[1] + reach if axis == "z" and discretization.closure else 0
    )
    return range(min(first, 0), max(last, rows)) if first < rows else range(first, last)


def _layers(discretization: Discretization, axis: str) -> tuple[int, int]:
    """Return the nodes along an axis before which, and from which on, all lie in a layer."""
    grid = discretization.grid
    k = AXES.index(axis)
    before = grid.low[k] or -_NEVER
    behind = grid.points[k] - grid.high[k] if grid.high[k] else _NEVER
    return before, behind


def _images(discretization: Discretization, axis: str, nodes: np.ndarray) -> np.ndarray:
    """Return the nodes whose rock stands at given nodes, outside mirror and periodic faces too."""
    last = discretization.grid.points[AXES.index(axis)] - 1
    for face in discretization.image_faces:
        if face.axis == axis:
            depth = nodes - last if face.high else -nodes
            inside = np.clip(source_of(face, False, depth, 0, last), 0, last)
            nodes = np.where(depth > 0, inside, nodes)
    return nodes


def _midpoints(discretization: Discretization, axis: str, nodes: range) -> Midpoints:
    """Return the interpolation along an axis of an array of nodes."""
    position = "zyx".index(axis)
    before, behind = _layers(discretization, axis)
    index = np.array(nodes)
    layers = (index < before, index >= behind)
    if axis != "z" or discretization.closure is None or nodes.start > 0:
        return Midpoints(position, layers=layers)
    return Midpoints(position, -nodes.start, *midpoint_weights(discretization.closure), layers)


def share_along(grid: Grid, axis: str, index: np.ndarray) -> np.ndarray:
    """Return the share (n) of the layers' medium at indices (n) along an axis, from 0 to 1."""
    n = AXES.index(axis)
    beyond = np.zeros(index.shape)
    if grid.low[n]:
        # Points beyond the inner side of either layer.
        beyond = np.maximum(beyond, grid.low[n] - index)
    if grid.high[n]:
        beyond = np.maximum(beyond, index - (grid.points[n] - 1 - grid.high[n]))
    # sin^2 taper across the collar.
    return np.sin(0.5 * np.pi * np.clip(beyond / grid.collar, 0.0, 1.0)) ** 2


def changed(
    coefficients: dict[str, np.ndarray], collar: Collar, grid: Grid, subdomain: Subdomain
) -> dict[str, np.ndarray]:
    """Return coefficients (z, y, x) of a subdomain, with its halo along y and z, as layers ask."""
    share = np.zeros((1, 1, 1))
    for axis in grid.axes:
        n = AXES.index(axis)
        beyond = 0 if axis == "x" else subdomain.halo
        index = np.arange(subdomain.owned.lo[n] - beyond, subdomain.owned.hi[n] + beyond)
        shape = [-1 if a == axis else 1 for a in "zyx"]
        share = np.maximum(share, share_along(grid, axis, index).reshape(shape))
    return collar.change(coefficients, share)


def medium_of(discretization: Discretization, subdomain: Subdomain) -> Averages:
    """Return the averages (z, y, x) that the coefficients are made of."""
    medium = node_medium(discretization, subdomain)
    # Rows that features correct have a medium of their own.
    for adjust in acting("row_media", discretization.scenario):
        adjust(discretization, subdomain, medium)
    if "rho" in medium:
        medium |= _own_densities(discretization, subdomain, medium["rho"])
    return medium


def layer_medium_of(
    discretization: Discretization, subdomain: Subdomain, medium: Averages
) -> tuple[Averages, Callable[[np.ndarray], np.ndarray]]:
    """Return the medium with that of layers, and a function that spreads arrays over (y, x).

    It may be changed in place.
    """
    for in_layers in acting("layer_media", discretization.scenario):
        changed: tuple[Averages, Callable] | None = in_layers(discretization, subdomain, medium)
        if changed is not None:
            return changed
    return medium, lambda array: array


def coefficients_of(
    discretization: Discretization, subdomain: Subdomain, medium: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the arrays of the formulas, with dt, as changed by rigid faces and layers."""
    physics = discretization.physics
    coefficients = physics.coefficients(medium, discretization.clock.dt)
    coefficients = turned_off(coefficients, physics.odd, discretization.image_faces, subdomain)
    # Media whose waves would grow in layers change over the collar.
    collar = discretization.scenario.equation.beside_layers
    return changed(coefficients, collar, discretization.grid, subdomain) if collar else coefficients


def _own_densities(
    discretization: Discretization, subdomain: Subdomain, rho: np.ndarray
) -> dict[str, np.ndarray]:
    """Average densities about the velocities, in the planes z that keep them.

    Where a cell holds any solid, there or at the two nodes beside it, they are the mean of these
    nodes; so they are in all other planes of a layered earth.

    Args:
        discretization: the run.
        subdomain: whose points and halo.
        rho: averages (z, y, x) at the nodes.
    """
    names = [name for name in discretization.physics.sparse if name.startswith("rho_")]
    if not names:
        return {}
    # Planes z that keep a density for each component.
    kept = discretization.uneven[discretization.physics.sparse[names[0]]]
    layered = discretization.earth.layered
    if not (kept.any() or layered):
        return dict.fromkeys(names, np.zeros((1, 1, 1)))
    first, last = (end[2] + n * subdomain.halo
                   for end, n in ((subdomain.owned.lo, -1), (subdomain.owned.hi, 1)))  # fmt: skip
    planes = np.flatnonzero(kept[np.clip(np.arange(first, last), 0, kept.size - 1)])
    beyond = np.append(planes, planes + 1).clip(max=len(rho) - 1)  # they and the next ones
    # Cells that hold any solid have no density of a fluid (NaN).
    solid = np.isnan(_density(discretization, subdomain, names[0], beyond, ""))
    densities = {}
    for name in names:
        axis = "zyx".index(name[-1])
        mean = 0.5 * (rho + _next(rho, axis)) if layered else np.zeros(rho.shape)
        # Effective density where the velocity stands; beside solids the mean of two nodes.
        effective = _density(discretization, subdomain, name, planes, name[-1])
        is_solid, is_solid_below = np.split(solid, 2)
        solid_next = is_solid_below if axis == 0 else _next(is_solid, axis)
        dry = np.isnan(effective) | is_solid | solid_next
        pair = rho[beyond].reshape(2, len(planes), *rho.shape[1:])
        beside = pair[1] if axis == 0 else _next(pair[0], axis)
        mean[planes] = np.where(dry, 0.5 * (pair[0] + beside), effective)
        densities[name] = mean
    return densities


def _density(
    discretization: Discretization,
    subdomain: Subdomain,
    name: str,
    planes: np.ndarray,
    axis: str,
) -> np.ndarray:
    """Average a density (planes, y, x) half a cell along an axis from the nodes ("": at them)."""
    nodes = nodes_of(discretization, subdomain)
    z, x = (discretization.grid.coordinate(a, nodes[a]) for a in "zx")
    y = discretization.grid.coordinate("y", nodes["y"]) if "y" in nodes else None
    # The cell about a velocity, half a cell along its axis.
    sizes = discretization.grid.cells
    z, x = (moved(sizes, a, at, 0.5 * (a == axis)) for a, at in (("z", z[planes]), ("x", x)))
    y = None if y is None else moved(sizes, "y", y, 0.5 * (axis == "y"))
    averaging = discretization.scenario.averaging
    density = cell_average(
        discretization.own_earth, GridCells(z, y, x, sizes), (name,), averaging, dtype=np.float64
    )[name]
    return density[:, None, :] if density.ndim == 2 else density


def _next(array: np.ndarray, axis: int) -> np.ndarray:
    """Return the values of the next points along an axis; the last values stay."""
    count = array.shape[axis]
    return array.take(np.minimum(np.arange(count) + 1, count - 1), axis)

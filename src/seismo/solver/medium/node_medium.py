"""The effective medium at the nodes of a subdomain and of its halo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Midpoints
from seismo.grid.surface_interpolation import midpoint_weights
from seismo.model.effective.cells import GridCells, Samples
from seismo.model.effective.losses import effective_medium
from seismo.solver.surface.boundary_images import source_of

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

_MOST_NODES = 100_000  # of an earth that varies sideways, at which lessened couplings are sought
_NEVER = 1 << 40  # a node beyond every grid
_COUPLED = 1e-3  # of c33: constants that couple less than that tell nothing


def as_volume(array: np.ndarray) -> np.ndarray:
    """Return an array (z, x) as (z, 1, x), others as they are."""
    return array[:, None, :] if array.ndim == 2 else array


def nodes_of(discretization: Discretization, subdomain: Subdomain) -> dict[str, range]:
    """Return those nodes, z first; one along y and x if the earth varies with z only."""
    nodes = every_node(discretization, subdomain)
    if discretization.earth.layered:
        # A layered earth varies with z only: one column is enough.
        return {axis: some if axis == "z" else some[:1] for axis, some in nodes.items()}
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
    """Return the averages at nodes (z, y, x), and what is left of them (`Physics.weakened`)."""
    assert discretization.physics.weakened is not None
    around = {axis: _around(discretization, axis, some) for axis, some in nodes.items()}
    index = {axis: _images(discretization, axis, np.array(some)) for axis, some in around.items()}
    medium = averages_at(discretization, index)
    weakened = discretization.physics.weakened(
        medium, {axis: _midpoints(discretization, axis, some) for axis, some in around.items()}
    )
    # Without what was averaged around the nodes.
    inner = [slice(None)] * 3
    for axis, some in nodes.items():
        start = some.start - around[axis].start
        inner["zyx".index(axis)] = slice(start, start + len(some))
    before, after = (
        {name: array[tuple(inner)] for name, array in one.items()} for one in (medium, weakened)
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


def _around(discretization: Discretization, axis: str, nodes: range) -> range:
    """Return the nodes that factors at some nodes depend on; one if the earth does not vary."""
    if discretization.earth.layered and axis != "z":
        return nodes
    reach = discretization.physics.weakened_by
    first = nodes.start - reach
    last = nodes.stop + reach
    # Nodes in a layer have the least factor of those about its inner edge.
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
    """Return the nodes whose rock stands at some nodes, outside mirror and periodic faces too."""
    last = discretization.grid.points[AXES.index(axis)] - 1
    for face in discretization.image_faces:
        if face.axis == axis:
            depth = nodes - last if face.high else -nodes
            inside = np.clip(source_of(face, False, depth, 0, last), 0, last)
            nodes = np.where(depth > 0, inside, nodes)
    return nodes


def _midpoints(discretization: Discretization, axis: str, nodes: range) -> Midpoints:
    """Return the interpolation along an axis of an array of some nodes."""
    position = "zyx".index(axis)
    before, behind = _layers(discretization, axis)
    index = np.array(nodes)
    layers = (index < before, index >= behind)
    if axis != "z" or discretization.closure is None or nodes.start > 0:
        return Midpoints(position, layers=layers)
    return Midpoints(position, -nodes.start, *midpoint_weights(discretization.closure), layers)

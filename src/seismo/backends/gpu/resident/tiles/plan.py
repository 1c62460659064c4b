"""How many tiles a plane is cut into, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.resident.clusters.memory import PlaneRegion
from seismo.backends.gpu.resident.tiles.layout import (
    LAYER_COST,
    Tiles,
    TileShape,
    widest,
)

# Rows of a thread's column at most, and in tiles with layers of rows: each takes four registers.
STRIPS = (*((n, n) for n in range(2, 18, 2)), (22, 17), (22, 22))
# us of a step: of a lane of a block; beside these (one H200: planes of 340 and 2041 points).
LANE = 0.9e-3
FIXED = 3.4


def _cuts(first: int, last: int, count: int, less: int, most: tuple[int, int]) -> list[int]:
    """Return the first rows of tiles, and behind the last.

    Args:
        first: row of the plane.
        last: behind its last row.
        count: of rows of tiles, at least 2.
        less: rows that those at both ends should have less.
        most: rows of a tile between others, and at the ends.
    """
    # Tiles at the ends are `less` shorter: R m - 2 less = all rows, with m those of the others.
    between = -(-(last - first + 2 * less) // count)
    if count > 2:
        # As many more as those at the ends have no room for.
        between = max(between, -(-(last - first - 2 * most[1]) // (count - 2)))
    between = min(between, most[0])
    top = -(-(last - first - (count - 2) * between) // 2)
    return [first, *(first + top + n * between for n in range(count - 1)), last]


def turns_of(tiles: Tiles, shots: int, most: int) -> int:
    """Return how often as many shots as run at the same time are stepped, until all are."""
    return -(-shots // (most // tiles.count))


def microseconds(tiles: Tiles, shots: int, most: int) -> float:
    """Return what a step of some shots takes, as predicted."""
    return turns_of(tiles, shots, most) * (FIXED + LANE * tiles.cost)


def tilings(
    regions: Sequence[PlaneRegion], tables: KernelConstants, shape: TileShape,
    lanes: Sequence[int], most: int, numbers: int,
) -> list[Tiles]:  # fmt: skip
    """Return the ways to cut a plane into tiles.

    Args:
        regions: that make up the plane.
        tables: of the sweeps.
        shape: built in, but for the lanes, the strip and the layer.
        lanes: of a row of a tile at most, as kernels have them built in.
        most: tiles that run at the same time.
        numbers: that fit the shared memory of a block.
    """
    # The plane, layers included, in array indices.
    x_first = min(region.x[0] for region in regions)
    x_last = max(one.x[1] for one in regions)
    z_first = min(one.z[0] for one in regions)
    z_last = max(one.z[1] for one in regions)
    # Layers at the ends of each axis; where two meet they are of both.
    x_layers, z_layers = (
        tuple(sorted({getattr(one, axis) for one in regions if axis in one.stretched}))
        for axis in "xz"
    )
    x_damped, z_damped = (
        tuple(_damped(profile, one, n) for one in layers)
        for profile, layers, n in (
            (tables.profiles[0], x_layers, shape.width), (tables.profiles[2], z_layers, 1)
        )
    )  # fmt: skip
    # Threads for the lanes of a layer along x.
    layer = max(shape.up(widest(x_layers)) // shape.width, 1)
    all_lanes = -(-(x_last - x_first) // shape.width)
    ways = []
    for columns in range(2, most // 2 + 1):
        # Tiles of whole lanes, all as wide but the last; none of them empty.
        in_row = -(-all_lanes // columns)
        row = in_row * shape.width
        x = (*range(x_first, x_last, row), x_last)
        enough = [n for n in lanes if n >= in_row]
        if len(x) != columns + 1 or not enough:
            continue
        some = replace(shape, lanes=min(enough))
        for rows in range(2, most // columns + 1):
            # The fewest rows of a thread that do.
            for strip, short in STRIPS:
                heights = (strip * some.groups, short * some.groups)
                if rows * heights[0] < z_last - z_first:
                    continue
                less = round(LAYER_COST * widest(z_layers))
                z = tuple(_cuts(z_first, z_last, rows, less, heights))
                built = replace(some, strip=strip, short=short, layer=layer)
                tiles = Tiles(x, z, x_layers, z_layers, x_damped, z_damped, built)
                if _is_possible(tiles, numbers):
                    ways.append(tiles)
                    break
    return ways


def _damped(profile: np.ndarray, layer: tuple[int, int], width: int) -> tuple[int, int]:
    """Return those columns or rows of a layer whose memory variables are not 0 throughout.

    A layer's flux reaches half the order of the differences further than the layer itself.

    Args:
        profile: b, a and 1/kappa at nodes and half points.
        layer: first of the columns or rows, and behind the last.
        width: numbers of a lane, of which there are whole ones.
    """
    # psi <- b psi + a d with b = a = 0 stays 0.
    first, last = layer
    is_damped = profile[[0, 1, 3, 4], first:last].any(axis=0)
    damped = np.flatnonzero(is_damped)
    low, high = (int(damped[0]), int(damped[-1]) + 1) if damped.size else (0, 0)
    return first + low // width * width, first + -(-high // width) * width


def _is_possible(tiles: Tiles, numbers: int) -> bool:
    """Whether tiles fit, layers lie in one each, and neighbours see no further."""
    shape = tiles.shape
    # Threads have room for all rows, and what a tile leaves of its edges is as wide as what
    # neighbours see.
    smallest = min(b - a for cuts in (tiles.z, tiles.x) for a, b in pairwise(cuts))
    fits = all(b - a <= tiles.strip(a, b - a) * shape.groups for a, b in pairwise(tiles.z))
    if not fits or smallest < shape.margin or shape.layer > shape.threads:
        return False
    for layers, cuts in ((tiles.x_layers, tiles.x), (tiles.z_layers, tiles.z)):
        # A layer takes all that it needs from one tile: it does not wait for others.
        for first, last in layers:
            low = max(first - shape.half, cuts[0])
            high = min(last + shape.half, cuts[-1])
            if not any(a <= low and high <= b for a, b in pairwise(cuts)):
                return False
    return tiles.numbers <= numbers

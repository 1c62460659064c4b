"""How many tiles a plane is cut into, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from seismo.backends.gpu.cluster_memory import PlaneRegion
from seismo.backends.gpu.tile_layout import LAYER_COST, Tiles, TileShape, widest

# Rows of a thread's column at most, and in tiles with bands of rows: each takes four registers.
STRIPS = (*((n, n) for n in range(4, 20, 2)), (22, 17), (22, 22))


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


def tilings(
    regions: Sequence[PlaneRegion], shape: TileShape, most: int, numbers: int
) -> list[Tiles]:
    """Return the ways to cut a plane into tiles, the fastest first.

    Args:
        regions: that make up the plane.
        shape: built in, but for the strip and the band.
        most: tiles that run at the same time.
        numbers: that fit the shared memory of a block.
    """
    # The plane, layers included, in array indices.
    x_first = min(one.x[0] for one in regions)
    x_last = max(one.x[1] for one in regions)
    z_first = min(one.z[0] for one in regions)
    z_last = max(one.z[1] for one in regions)
    # Layers at the ends of each axis; where two meet they are of both.
    x_bands, z_bands = (
        tuple(sorted({getattr(one, axis) for one in regions if axis in one.stretched}))
        for axis in "xz"
    )
    # Threads for the lanes of a layer along x.
    band = max(shape.up(widest(x_bands)) // shape.width, 1)
    lanes = -(-(x_last - x_first) // shape.width)
    ways = []
    for columns in range(-(-lanes // shape.lanes), most // 2 + 1):
        # Tiles of whole lanes, all as wide but the last; none of them empty.
        row = -(-lanes // columns) * shape.width
        x = (*range(x_first, x_last, row), x_last)
        if len(x) != columns + 1 or columns < 2:
            continue
        for rows in range(2, most // columns + 1):
            # The fewest rows of a thread that do.
            for strip, short in STRIPS:
                heights = (strip * shape.groups, short * shape.groups)
                less = round(LAYER_COST * widest(z_bands))
                z = tuple(_cuts(z_first, z_last, rows, less, heights))
                built = replace(shape, strip=strip, short=short, band=band)
                tiles = Tiles(x, z, x_bands, z_bands, built)
                if _is_possible(tiles, numbers):
                    ways.append(tiles)
                    break
    return sorted(ways, key=lambda one: one.cost)


def _is_possible(tiles: Tiles, numbers: int) -> bool:
    """Whether tiles fit, layers lie in one each, and neighbours see no further."""
    shape = tiles.shape
    for bands, cuts in ((tiles.x_bands, tiles.x), (tiles.z_bands, tiles.z)):
        # A layer takes all that it needs from one tile: it does not wait for others.
        for first, last in bands:
            low = max(first - shape.half, cuts[0])
            high = min(last + shape.half, cuts[-1])
            if not any(a <= low and high <= b for a, b in pairwise(cuts)):
                return False
    # What a tile leaves of its edges is as wide as what neighbours see.
    smallest = min(b - a for cuts in (tiles.z, tiles.x) for a, b in pairwise(cuts))
    # Threads have room for all rows.
    fits = all(b - a <= tiles.strip(a, b - a) * shape.groups for a, b in pairwise(tiles.z))
    is_seen = smallest >= shape.margin
    return fits and is_seen and shape.band <= shape.threads and tiles.numbers <= numbers

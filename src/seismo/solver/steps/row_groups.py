"""Regions of the grid with one kind of row each: in layers, closed, or following the ground."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from seismo.equations.framework.table import Stage
from seismo.grid.grid import AXES, Box, Grid


@dataclass(frozen=True)
class RowGroup:
    """Rows along x that share one variant of the operators, and another one at their ends.

    Attributes:
        box: the points; whole rows.
        spans: along x the left layer, the middle, the right layer, as (first, last + 1); empty ones
            have first = last + 1.
        middle: axes whose derivatives pass through layer memory in the middle.
        ends: the same in the layers at both ends.
        closed: whether it lies in the rows closed by a free surface.
        curved: whether its rows follow the ground.
        refined: whether its rows lie beside the plane where two spacings meet.
    """

    box: Box
    spans: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    middle: str
    ends: str
    closed: bool
    curved: bool = False
    refined: bool = False

    @property
    def kind(self) -> tuple[str, str, bool]:
        """Stretched axes in the middle and at the ends, and whether it is closed."""
        return self.middle, self.ends, self.closed

    def stretched(self, span: int) -> str:
        """Return the stretched axes of a span."""
        return self.middle if span == 1 else self.ends


def _segments(grid: Grid, axis: str, reach: int) -> list[tuple[int, int, bool]]:
    """Cut y or z in layer, middle and layer; tell which are layers."""
    n = AXES.index(axis)
    points = grid.points[n]
    # Layers, and the points beside them that see their memory.
    low = grid.low[n] + reach if grid.low[n] else 0
    high = points - grid.high[n] - reach if grid.high[n] else points
    # Layers that meet leave no interior.
    if low >= high:
        return [(0, points, bool(grid.low[n] or grid.high[n]))]
    cuts = [(0, low, True), (low, high, False), (high, points, True)]
    return [c for c in cuts if c[0] < c[1]]


def spans(grid: Grid, lane: int, reach: int):
    """Cut x in layer, middle and layer, on whole lanes, so that vectors are aligned.

    Where nothing is left for the middle, all is one layer: rows begin on a whole lane, too.
    """
    points = grid.points[0]
    low = grid.low[0]
    high = grid.high[0]
    # Enlarge the segments of the layers to whole lanes.
    first = -(-(low + reach) // lane) * lane if low else 0
    last = (points - high - reach) // lane * lane if high else points
    if first >= last:
        return (0, 0), (0, 0), (0, points)
    return (0, first), (first, last), (last, points)


def regions(
    grid: Grid, lane: int, closed_rows: int = 0, reach: int = 0, curved_rows: int = 0,
    refined: tuple[int, int] = (0, 0),
) -> list[RowGroup]:  # fmt: skip
    """Cut the grid into regions of one kind of row each.

    Args:
        grid: the grid.
        lane: numbers in a lane.
        closed_rows: rows under a free surface with their own operators.
        reach: points beside a layer whose derivatives still see its memory.
        curved_rows: rows from the top that follow the ground.
        refined: the first row beside the plane where two spacings meet, and the one behind the
            last.
    """
    cuts = spans(grid, lane, reach)
    # Product of the segments along y and z.
    y_cuts = _segments(grid, "y", reach) if "y" in grid.axes else [(0, 1, False)]
    z_cuts = _segments(grid, "z", reach)
    # Rows of a closed surface are a row group of their own; so are those that follow the ground.
    first = 0
    for rows in (closed_rows, curved_rows):
        if rows > first:
            rest = [(max(lo, rows), hi, s) for lo, hi, s in z_cuts if hi > rows]
            z_cuts = [*(cut for cut in z_cuts if cut[1] <= first), (first, rows, False), *rest]
            first = rows
    # Rows beside another spacing lie in the interior.
    for row in (row for row in refined if refined[1]):
        z_cuts = [
            cut
            for lo, hi, is_layer in z_cuts
            for cut in ((lo, min(hi, row), is_layer), (max(lo, row), hi, is_layer))
            if cut[0] < cut[1]
        ]
    groups = []
    for y, z in product(y_cuts, z_cuts):
        # Stretched axes of the interior of a row and of its ends.
        middle = ("y" if y[2] else "") + ("z" if z[2] else "")
        ends = "x" + middle if grid.low[0] or grid.high[0] else middle
        box = Box((0, y[0], z[0]), (grid.points[0], y[1], z[1]))
        closed = bool(closed_rows) and z[0] == 0
        beside = refined[0] <= z[0] < refined[1]
        groups.append(RowGroup(box, cuts, middle, ends, closed, z[0] < curved_rows, beside))
    return groups


def reached(stage: Stage, grid: Grid, closed_rows: int) -> Box:
    """Return the points that others may read anew after a stage, with so many closed rows."""
    # The surface's row, or the closed ones; what slopes add is read in its column, never cut.
    nx, ny, nz = grid.points
    rows = {"surface": min(1, closed_rows), "closed": closed_rows, "curved": 0}
    return Box((0, 0, 0), (nx, ny, rows.get(stage.where, nz)))

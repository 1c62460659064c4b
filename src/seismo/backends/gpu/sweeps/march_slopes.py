"""A march along rows that follow the ground, which finds what slopes add to derivatives on the way.

A point takes 2 reach + 1 rows of each `H` (`seismo.backends.operators.curved`) about its own, or
all rows that closed ones read. A thread keeps those of its column in registers: for each plane it
finds the one that is reach planes ahead, and updates the point. So no array has `H`, nothing of it
is stored and read again, and each row of it is found once in a march.
"""

from __future__ import annotations

from collections.abc import Sequence

from seismo.backends.code.traced import (
    IRValue,
    repeat,
    when,
)
from seismo.backends.gpu.sweeps.lanes import Column
from seismo.backends.gpu.sweeps.layouts import BlockShape
from seismo.backends.gpu.sweeps.march import March, Sweep
from seismo.backends.operators.derivatives import Cell, Operators
from seismo.equations.framework.formula import Formula


class SlopeMarch:
    """What a thread does with its planes.

    Args:
        operators: of rows that follow the ground.
        formula: what updates a point, and which `H` it takes.
        ahead: planes further on that the second-level cache is asked for; 0 for none.
    """

    def __init__(self, operators: Operators, formula: Formula, ahead: int) -> None:
        assert operators.curved is not None
        self._operators = operators
        self._formula = formula
        self._update = operators.bind(formula)
        self._rows = operators.curved.cross
        self._ahead = ahead

    def inner(self, sweep: Sweep, first: IRValue, last: IRValue) -> None:
        """Write the planes of a thread whose weights are about themselves."""
        reach = self._rows // 2
        count = 2 * reach

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            # What is read again for the next plane comes out of the cache: registers are full.
            i = sweep.lanes.unknown(carried[0])
            kept = carried[1:]
            # The H that completes the column of plane z is reach planes ahead.
            brought = self._slopes_at(sweep, i + reach * sweep.plane, z + reach)
            columns = [[*kept[n * count : (n + 1) * count], lane] for n, lane in enumerate(brought)]
            # Prefetch what later planes bring into the second-level cache.
            if self._ahead:
                with when(z + self._ahead < last):
                    _ask(sweep, i, reach, self._ahead)
            self._updated(sweep, i, z, columns)
            return [i + sweep.plane, *(lane for lanes in columns for lane in lanes[1:])]

        start = sweep.index(first)
        begun = [
            self._slopes_at(sweep, start + n * sweep.plane, first + n) for n in range(-reach, reach)
        ]
        queues = zip(*begun, strict=True)
        repeat(first, last, [start, *(lane for lanes in queues for lane in lanes)], next_turn)

    def closed(self, sweep: Sweep, first: IRValue, last: IRValue) -> None:
        """Write the planes of a thread under the surface, whose weights count from its row."""
        # All of their H: none lies above the surface.
        surface = first.constant(int(sweep.constants.tables.surface))
        start = sweep.index(surface)
        of_rows = [
            self._slopes_at(sweep, start + n * sweep.plane, surface + n) for n in range(self._rows)
        ]
        above = [None] * self._rows
        columns = [[*above, *lanes, None] for lanes in zip(*of_rows, strict=True)]

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            i = sweep.lanes.unknown(carried[0])
            self._updated(sweep, i, z, columns)
            return [i + sweep.plane]

        repeat(first, last, [sweep.index(first)], next_turn)

    def _slopes_at(self, sweep: Sweep, i: IRValue, z: IRValue) -> list[IRValue]:
        # Each H at a lane, of the fields there.
        names = self._formula.marched
        arrays = (*sweep.arrays, *([None] * len(names)))
        curved = Cell(self._operators, self._formula, i, sweep.context(z), arrays).curved
        return [curved.sloped(name) for name in names]

    def _updated(self, sweep: Sweep, i: IRValue, z: IRValue, columns: Sequence) -> None:
        # An array's address stands for that of H, which has none.
        kept = [Column(sweep.arrays[0], lanes) for lanes in columns]
        self._update(i, sweep.context(z), *sweep.arrays, *kept)


def along_slopes(operators: Operators, formula: Formula, shape: BlockShape) -> March:
    """Return what writes a thread's planes (`SlopeMarch`), of closed rows or of others."""
    march = SlopeMarch(operators, formula, shape.ahead)
    return march.closed if operators.closed else march.inner


def _ask(sweep: Sweep, i: IRValue, reach: int, ahead: int) -> None:
    """Ask the cache for what a later plane brings: fields that H reads, and the point's own."""
    constants = sweep.constants
    fields = constants.writes + constants.reads
    for n, array in enumerate(sweep.arrays[:fields]):
        planes = ahead + (reach if n >= constants.writes else 0)
        sweep.lanes.ask(array, i + planes * sweep.plane)

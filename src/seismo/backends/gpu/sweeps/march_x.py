"""A march across an absorbing layer whose second derivatives are taken at once.

A thread holds its column of the field and of the fluxes to come in registers: each row of the layer
is read once, and of the neighbours' memory none. The rows beside the layer's memory, which see it,
are marched through alike (`seismo.backends.operators.fused_pml.across`). At high orders the plane
around the points stands in shared memory (`march_tile`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seismo.backends.code.traced import (
    IRValue,
    repeat,
    when,
)
from seismo.backends.gpu.sweeps.lanes import Column
from seismo.backends.gpu.sweeps.layouts import BlockShape
from seismo.backends.gpu.sweeps.march import March, Sweep
from seismo.backends.gpu.sweeps.march_tile import PlaneTile, only_points


def across(update: Callable, flux: Callable, shape: BlockShape) -> March:
    """Return what writes a thread's planes of a layer across z (`fused_pml.across`).

    It begins as far before them as fluxes are needed, so that each flux is found in one way only.

    Args:
        update: the formula.
        flux: function (field, i, place) -> the flux there.
        shape: the layout of threads.
    """

    def march(sweep: Sweep, first: IRValue, last: IRValue) -> None:
        # Registers: 2 reach field lanes and 2 half fluxes, where reach = 2 half - 1 planes on each
        # side.
        half = sweep.constants.half
        reach = 2 * half - 1
        count = 2 * reach
        tile = PlaneTile(sweep, shape, first) if shape.tile else None

        def forward(
            i: IRValue, z: IRValue, carried: Sequence[IRValue]
        ) -> tuple[Column, list[IRValue]]:  # fmt: skip
            """Take a plane up: return the field's column, and the fluxes with the one it brings."""
            # The flux at z + half - 1/2 needs the field up to reach planes ahead of z.
            queue = carried[:count]
            fluxes = carried[count:]
            (lane,) = sweep.next_lanes(i, reach)
            (field,) = sweep.z_differentiated
            column = Column(field, [*queue, lane])
            return column, [*fluxes[1:], flux(column, i, sweep.context(z))]

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            # Main march: the flux half a stencil ahead enters, then the plane is updated.
            i, *registers = carried
            around = tile.turn(z, last, i) if tile else None
            if shape.ahead:
                with when(z + shape.ahead < last):
                    _ask_row(sweep, i + shape.ahead * sweep.plane, z + shape.ahead)
                    if shape.asks:
                        _ask_registers(sweep, i + shape.ahead * sweep.plane, z + shape.ahead)
            column, fluxes = forward(i, z + (half - 1), registers)
            with only_points(sweep):
                update(i, sweep.context(z, fluxes), *sweep.operands([column.lanes], (), around))
            return [i + sweep.plane, *column.lanes[1:], *fluxes]

        # Start reach planes before the first one: 2 half - 1 steps fill the queue of fluxes.
        i = sweep.index(first - reach)
        # Planes behind that are not asked for are gone before they are used: any lane will do.
        (lanes_ahead,) = sweep.window(i, 0, reach - 1)
        queue = [lanes_ahead[0]] * reach + lanes_ahead
        registers = [*queue, *queue[: 2 * half]]
        # Written out, so that the steps' loads go side by side; they update nothing.
        for n in range(reach):
            column, fluxes = forward(i, first + (n - half), registers)
            registers = [*column.lanes[1:], *fluxes]
            i = i + sweep.plane
        repeat(first, last, [i, *registers], next_turn)

    return march


def _ask_registers(sweep: Sweep, i: IRValue, z: IRValue) -> None:
    """Ask the cache for the field and the flux that a later turn's registers take up."""
    half = sweep.constants.half
    (field,) = sweep.z_differentiated
    sweep.lanes.ask(field, i + (2 * half - 1) * sweep.plane)
    context = sweep.context(z + (half - 1))
    with when(context.kept[1]):
        sweep.lanes.ask(context.flux, context.j)


def _ask_row(sweep: Sweep, i: IRValue, z: IRValue) -> None:
    """Ask the cache for what changes in a row further on."""
    context = sweep.context(z)
    position = sweep.position
    constants = sweep.constants
    fields = constants.writes + constants.reads
    for n in range(fields):
        if n not in constants.columns and n not in constants.unread:
            sweep.lanes.ask(sweep.arrays[n], i)
    with when(context.medium.equals(position.shot)):  # else those of the row before, or of the next
        for array in sweep.arrays[fields:]:
            sweep.lanes.ask(array, i - context.medium)
    with when(context.kept[0]):
        sweep.lanes.ask(context.memory, context.j)

"""A march across an absorbing layer whose second derivatives are taken at once.

A thread holds its column of the field and of the fluxes to come in registers: each row of the layer
is read once, and of the neighbours' memory none. The rows beside the layer's memory, which see it,
are marched through alike (`seismo.backends.operators.fused_pml.across`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seismo.backends.gpu.march import Constants, place_maker, queues_of


def across(
    lanes: Any, update: Callable, constants: Constants, brings: Callable, ahead: int
) -> Callable:
    """Make the function that does a thread's planes of a layer across z (`fused_pml.across`).

    It begins as far before them as fluxes are needed, so that each flux is found in one way only.

    Args:
        lanes: the lanes.
        update: the formula.
        constants: of the kernel.
        brings: function (field, i, place) -> the flux there.
        ahead: rows further on that the second-level cache is asked for; 0 for none.
    """
    make, whole, half = place_maker(lanes, constants), lanes.index, constants.half
    y_stride, z_stride = (int(s) for s in constants.tables.strides)
    around, reach, plane, field = 2 * half, 2 * half - 1, whole(z_stride), constants.writes
    start, coming, columns_of, operands, rest = queues_of(lanes, constants, True, reach)
    ask, later, coefficient = lanes.ask, whole(ahead * z_stride), constants.arrays - 1

    @lanes.jit
    def forward(addresses, arrays, i, queues, fluxes, x, y, z, *where):
        columns = columns_of(queues, coming(arrays, (i, where[0])))
        given, front = operands(arrays, (columns, (), ())), make(addresses, x, y, z, *where)
        return rest(columns, i), (*fluxes[1:], brings(given[field], i, front)), given

    @lanes.jit
    def ask_row(arrays, i, shot, place):
        ask(arrays[0], i)
        if place.medium == whole(shot):  # else they are those of the row before, or of the next
            ask(arrays[coefficient], i - place.medium)
        if place.kept[0]:
            ask(place.memory, place.j)

    @lanes.jit
    def with_fluxes(addresses, fluxes):
        return (*addresses[:2], fluxes, *addresses[3:])

    @lanes.jit
    def march(addresses, arrays, x, y, first, last, *where):
        i = whole((first - reach) * z_stride + y * y_stride + x + where[0])
        queues = start(arrays, i)
        fluxes = queues[0][:around]  # they are gone before they are used
        for z in range(first - half, first + half - 1):
            queues, fluxes, _ = forward(addresses, arrays, i, queues, fluxes, x, y, z, *where)
            i += plane
        for z in range(first, last):
            if ahead and z + ahead < last:
                ask_row(arrays, i + later, where[0], make(addresses, x, y, z + ahead, *where))
            queues, fluxes, given = forward(
                addresses, arrays, i, queues, fluxes, x, y, z + half - 1, *where
            )
            update(i, make(with_fluxes(addresses, fluxes), x, y, z, *where), *given)
            i += plane

    return march

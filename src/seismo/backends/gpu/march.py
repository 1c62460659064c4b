"""What one thread of a sweep does: its planes along z, with the lanes it keeps on the way.

Strides, coefficients and spacings are constants of the kernel: each grid compiles its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.backends.base import SweepTables
from seismo.backends.gpu.layouts import BlockShape
from seismo.backends.operators.stencils import AXES, Place


@dataclass(frozen=True)
class Constants:
    """What a sweep's kernel has built in.

    Attributes:
        tables: strides, coefficients, profiles, surface weights.
        stretched: axes whose derivatives pass through layer memory.
        closed: whether the rows are those under a free surface.
        masked: whether rows may end within a lane.
        half: half the order of the differences.
        writes: arrays that the formula changes; they come first.
        reads: arrays that it differentiates; they follow.
        arrays: all arrays.
        memories: memory variables of a point, where derivatives pass through one after the other.
    """

    tables: SweepTables
    stretched: str
    closed: bool
    masked: bool
    half: int
    writes: int
    reads: int
    arrays: int
    memories: int

    @property
    def bare(self) -> tuple[tuple[int, int], ...]:
        """Rows z, from the first to behind the last, without memory at nodes and half points.

        Only a march across a layer asks for them.
        """
        first, last = self.tables.inside[2]
        return ((first, last), (first - 1, last)) if self.stretched == "z" else ()

    def __str__(self) -> str:
        """Name all that a kernel has built in; the profiles come as arguments."""
        t, digest = self.tables, hashlib.sha256()
        for a in (t.strides, t.first, t.second):
            digest.update(np.ascontiguousarray(a).tobytes())
        shapes = [a.shape for a in (*t.profiles, t.up)]
        rest = (self.stretched, self.closed, self.masked, self.half, self.writes, self.reads)
        counts = self.arrays, self.memories
        return f"{digest.hexdigest()} {t.surface} {shapes} {rest} {counts} {t.inside}"


def _coefficients(table: np.ndarray, number) -> tuple:
    return tuple(tuple(number(c) for c in row) for row in table)


def _tuple_of(lanes, elements: list) -> Callable:
    """Make a function (a, b) -> the tuple of what `elements` give.

    Each half calls its halves: a call within a call for each element is too deep for the compiler.
    """
    jit, half = lanes.jit, len(elements) // 2
    if half == 0:
        only = elements[0]
        return jit(lambda a, b: (only(a, b),))
    front, back = _tuple_of(lanes, elements[:half]), _tuple_of(lanes, elements[half:])
    return jit(lambda a, b: (*front(a, b), *back(a, b)))


def place_maker(lanes: Any, constants: Constants) -> Callable:
    """Make the function that puts a thread's `Place` together.

    The result takes (addresses, x, y, z, shot, packed, memory, memory_y, memory_z, slot, x_end);
    the addresses are those of the table of blocks, the layer memory (three), the profiles along
    x, y, z and the surface weights.
    """
    t, number, whole = constants.tables, lanes.number, lanes.index
    y_stride, z_stride = (whole(s) for s in t.strides)
    first, second = _coefficients(t.first, number), _coefficients(t.second, number)
    x_length = whole(t.profiles[0].shape[1])
    y_profile, z_profile = (
        _row_of(lanes, axis in constants.stretched, t.profiles[n].shape[0])
        for n, axis in ((1, "y"), (2, "z"))
    )
    weights = _row_of(lanes, constants.closed, t.up.shape[1])
    surface, last_row = int(t.surface), t.up.shape[0] - 1
    mask_of = lanes.jit((lambda x, x_end: x_end - x) if constants.masked else (lambda x, e: None))
    nothing, kept = whole(0), _keeping(lanes, constants.bare)
    steps = zip(AXES, t.inside, (lanes.width, 1, 1), (1, *t.strides), strict=True)
    x_out, y_out, z_out = (
        _outwards(lanes, *step) if axis in constants.stretched else lanes.jit(lambda n: 0)
        for axis, *step in steps
    )

    @lanes.jit
    def place(addresses, x, y, z, shot, packed, memory, memory_y, memory_z, slot, x_end):
        _, held, flux, coming, x_table, py, pz, up, down = addresses
        below = z - surface
        row = min(max(below, 0), last_row)
        j = memory + z * memory_z + y * memory_y + x
        medium = shot + x_out(x) + y_out(y) + z_out(z)
        return Place(
            y_stride, z_stride, first, second, mask_of(x, x_end), whole(medium), whole(packed),
            held, whole(j), whole(memory_y), whole(memory_z), whole(slot), nothing,
            whole(x), x_table, x_length, y_profile(py, whole(y)), z_profile(pz, whole(z)),
            weights(up, whole(row)), weights(down, whole(row)), whole(below) * z_stride,
            flux, coming, kept(z),
        )  # fmt: skip

    return place


def _outwards(lanes, inside: tuple[int, int], width: int, stride: int) -> Callable:
    """Make the function n -> how much further out than the coefficients it reads a point lies.

    The medium of a layer goes on as it is at its inner edge (`seismo.model.earth.Earth.clamp`), so
    that all of its points read what the innermost of them whose next one is in the layer, too, has:
    out of the cache, for most of them.
    """
    low, high = (inside[0] - 1 - width) // width * width, -(-inside[1] // width) * width
    step = int(stride)
    return lanes.jit(lambda n: (n - min(max(n, low), high)) * step)


def _keeping(lanes, bare: tuple) -> Callable:
    """Make a function (z) -> whether that row has memory, for nodes and for half points."""
    if not bare:
        return lanes.jit(lambda z: None)
    (a, b), (c, d) = bare
    return lanes.jit(lambda z: (z < a or z >= b, z < c or z >= d))


def _row_of(lanes, used: bool, width: int) -> Callable:
    """Make a function (table, n) -> the numbers of its n-th row, which takes up whole lanes."""
    if not used:
        return lanes.jit(lambda table, n: None)
    read, count = lanes.read, lanes.index(-(-width // lanes.width) * lanes.width)

    def element(k: int):
        within, part = k % lanes.width, lanes.part(k % lanes.width)
        at = lanes.index(k - within)
        return lanes.jit(lambda table, n: part(read(table, n * count + at)))

    return _tuple_of(lanes, [element(k) for k in range(width)])


def marching(lanes: Any, update: Callable, constants: Constants, shape: BlockShape) -> Callable:
    """Make the function that does a thread's planes z, from `first` on and below `last`.

    It takes (addresses, arrays, x, y, first, last, *where), the last as `place_maker` has them.
    Of several planes it keeps what is around a point along z in queues.
    """
    make, whole = place_maker(lanes, constants), lanes.index
    y_stride, z_stride = (int(s) for s in constants.tables.strides)
    plane = whole(z_stride)

    @lanes.jit
    def index(x, y, z, shot):
        return whole(z * z_stride + y * y_stride + x + shot)

    ask_changed = _asking_changed(lanes, constants)

    @lanes.jit
    def single(addresses, arrays, x, y, z, last, *where):
        i, place = index(x, y, z, where[0]), make(addresses, x, y, z, *where)
        ask_changed(arrays, (i, place))
        update(i, place, *arrays)

    if shape.planes == 1:
        return single
    start, coming, columns_of, operands, rest = queues_of(lanes, constants, alone=True)
    ask, ahead = _asking(lanes, constants, shape.ahead), shape.ahead

    @lanes.jit
    def march(addresses, arrays, x, y, first, last, *where):
        shot = where[0]
        i = index(x, y, first, shot)
        queues = start(arrays, i)
        for z in range(first, last):
            place = make(addresses, x, y, z, *where)
            brought = coming(arrays, (i, shot))
            columns = columns_of(queues, brought)
            if z + ahead < last:
                ask(arrays, (i, shot))
            update(i, place, *operands(arrays, (columns, brought, ())))
            queues = rest(columns, i)
            i += plane

    return march


def _asking_changed(lanes: Any, constants: Constants) -> Callable:
    """Make the function (arrays, (i, place)) that asks the cache for what a layer's update changes.

    What it reads of it comes after stores, of which the compiler must assume that they changed it:
    the memory's latency would count for each of the fields and memory variables.
    """
    jit, ask, whole = lanes.jit, lanes.ask, lanes.index

    def array(n: int) -> Callable:
        return jit(lambda arrays, at: ask(arrays[n], at[0]))

    def memory(n: int) -> Callable:
        return jit(lambda arrays, at: ask(at[1].memory, at[1].j + whole(n) * at[1].slot))

    if not constants.memories:
        return jit(lambda arrays, at: None)
    memories, fields = map(memory, range(constants.memories)), map(array, range(constants.writes))
    return _tuple_of(lanes, [*memories, *fields])


def _asking(lanes: Any, constants: Constants, ahead: int) -> Callable:
    """Make the function (arrays, (i, shot)) that asks the cache for what a later plane brings.

    Threads that march keep little of the memory's latency in flight: their registers are full. This
    takes none.
    """
    jit, ask, whole, first = lanes.jit, lanes.ask, lanes.index, constants.writes
    if not ahead:
        return jit(lambda arrays, at: None)
    z_stride, fields = int(constants.tables.strides[1]), range(first, first + constants.reads)
    near, far = whole(ahead * z_stride), whole((ahead + constants.half) * z_stride)

    def one(n: int) -> Callable:
        if n in fields:
            return jit(lambda arrays, at: ask(arrays[n], at[0] + far))
        if n < first:
            return jit(lambda arrays, at: ask(arrays[n], at[0] + near))
        return jit(lambda arrays, at: ask(arrays[n], at[0] + near - whole(at[1])))

    return _tuple_of(lanes, [one(n) for n in range(constants.arrays)])


def queues_of(
    lanes: Any, constants: Constants, alone: bool, reach: int = 0
) -> tuple[Callable, ...]:  # fmt: skip
    """Make what a march does with the lanes around a point along z, of all fields it reads.

    What the formula does not use of them, the compiler leaves out.

    Args:
        lanes: the lanes.
        constants: of the kernel.
        alone: whether a plane brings these fields only; else the other arrays' own lanes, too.
        reach: planes ahead that are held; those behind then come with the march. Else as many as
            the differences need, on both sides.

    Returns:
        Functions (arrays, i) -> queues of all planes but the last; (arrays, (i, shot)) -> what a
        plane brings; (queues, brought) -> columns, with the last plane; (arrays, (columns, brought,
        tiles)) -> what the formula takes; (columns, i) -> queues of the next plane.
    """
    jit, read, load, whole = lanes.jit, lanes.read, lanes.load, lanes.index
    z_stride, first = int(constants.tables.strides[1]), constants.writes
    most = reach or constants.half
    front, fields, behind = whole(most * z_stride), range(first, first + constants.reads), not reach
    others = [] if alone else [n for n in range(constants.arrays) if n not in fields]

    def level(n: int) -> Callable:
        far = whole(abs(n) * z_stride)
        if n < 0:
            return jit(lambda f, i: read(f, i - far))
        return jit(lambda f, i: read(f, i + far))

    # Those behind that are not asked for are gone before they are used: any lane will do.
    levels = [level(n if behind else max(n, 0)) for n in range(-most, most)]
    window = _tuple_of(lanes, levels)

    def started(n: int) -> Callable:
        return jit(lambda arrays, i: window(arrays[n], i))

    def bring(n: int) -> Callable:
        if n in fields:
            return jit(lambda arrays, at: read(arrays[n], at[0] + front))
        if n < first:
            return jit(lambda arrays, at: load(arrays[n], at[0]))
        return jit(lambda arrays, at: read(arrays[n], at[0] - whole(at[1])))

    def grown(k: int) -> Callable:
        return jit(lambda queues, brought: (*queues[k], brought[k]))

    def operand(n: int) -> Callable:
        if n in fields:
            k = n - first
            return jit(lambda arrays, held: (arrays[n], *held[0][k], *held[2]))
        if n in others:
            k = constants.reads + others.index(n)
            return jit(lambda arrays, held: (arrays[n], held[1][k]))
        return jit(lambda arrays, held: arrays[n])

    def rest(k: int) -> Callable:
        return jit(lambda columns, i: columns[k][1:])

    return (
        _tuple_of(lanes, [started(n) for n in fields]),
        _tuple_of(lanes, [bring(n) for n in (*fields, *others)]),
        _tuple_of(lanes, [grown(k) for k in range(constants.reads)]),
        _tuple_of(lanes, [operand(n) for n in range(constants.arrays)]),
        _tuple_of(lanes, [rest(k) for k in range(constants.reads)]),
    )

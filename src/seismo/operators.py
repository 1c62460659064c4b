"""Difference operators on lanes: plain, stretched in absorbing layers, one-sided at a free surface.

A formula of `physics/` is written with these names and bound to one of their variants::

    x_up y_up z_up    derivative half a cell further up the axis (node -> half point)
    x_dn y_dn z_dn    derivative half a cell further down the axis (half point -> node)
    xx yy zz          second derivative on the spot
    x_flux ...        layer memory of a second derivative (nothing outside the layer)
    at, put           the field's own value; coefficient and its neighbours x_next y_next z_next

Every operator takes the flat index `i` of the point and its `Place`: the strides, coefficients and
tables of the row it stands in. The last argument of a derivative numbers its memory variable.

In a layer, d/dx becomes (1/kappa) d/dx + psi with the memory variable psi <- b psi + a d/dx
(convolutional perfectly matched layer; Roden & Gedney 2000; Komatitsch & Martin 2007). A second
derivative keeps two: for the flux at half points and for the outer derivative.
"""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from types import SimpleNamespace

AXES = ("x", "y", "z")

Place = namedtuple(
    "Place",
    (
        "y_stride",  # distance of neighbours along y, z in the flat arrays
        "z_stride",
        "first",  # staggered coefficients / spacing, one tuple for each of x, y, z
        "second",  # centred coefficients / spacing^2, likewise
        "mask",  # which numbers of the lane lie inside the box
        "shot",  # offset of this shot's fields; the model has none
        "packed",  # offset of coefficients that are kept for some planes z only
        "memory",  # layer memory: array or address, index of this point, strides, slot size
        "j",
        "memory_y",
        "memory_z",
        "slot",
        "ahead",  # from a point's memory to the memory of the row that comes next
        "x",  # index along x, and b, a, 1/kappa at nodes and half points: a table along x with
        "x_table",  # its row length, six numbers for this row of y and z
        "x_length",
        "y_row",
        "z_row",
        "up",  # surface weights of this row / spacing, and the row's offset from the surface
        "down",
        "depth",
        "flux",  # memory of second derivatives' fluxes, of this step and of the next, where these
        "coming",  # are taken at once; its places are those of `memory`
    ),
    defaults=(None, None),
)


def _added(lanes, pieces: list):
    """Add functions (f, i, stride, c) up, written out; the m-th goes with coefficient c[m]."""
    jit = lanes.jit

    def extend(previous, piece, m: int):
        return jit(lambda f, i, stride, c: previous(f, i, stride, c) + c[m] * piece(f, i, stride))

    first = pieces[0]
    total = jit(lambda f, i, stride, c: c[0] * first(f, i, stride))
    for m in range(1, len(pieces)):
        total = extend(total, pieces[m], m)
    return total


@lru_cache
def _far(lanes, axis: str, n: int):
    """Read a field n points further along an axis."""
    if axis == "x" and n:
        beside = lanes.beside(n)
        return lanes.jit(lambda f, i, stride: beside(f, i))
    return lanes.row(n) if axis == "y" and n else lanes.level(n)


@lru_cache
def _staggered_sum(lanes, axis: str, terms: int, start: int):
    """c[0] (f[i+start] - f[i+start-1]) + c[1] (f[i+start+1] - f[i+start-2]) + ..."""

    def pair(m: int):
        ahead, behind = (_far(lanes, axis, n) for n in (start + m, start - 1 - m))
        return lanes.jit(lambda f, i, stride: ahead(f, i, stride) - behind(f, i, stride))

    return _added(lanes, [pair(m) for m in range(terms)])


@lru_cache
def _centred_sum(lanes, axis: str, terms: int):
    """d[0] f[i] + d[1] (f[i+s] + f[i-s]) + ..., written out."""

    def pair(m: int):
        ahead, behind = (_far(lanes, axis, n) for n in (m, -m))
        return lanes.jit(lambda f, i, stride: ahead(f, i, stride) + behind(f, i, stride))

    return _added(lanes, [_far(lanes, axis, 0), *(pair(m) for m in range(1, terms + 1))])


@lru_cache
def _column_sum(lanes, width: int):
    """w[0] f[i] + w[1] f[i+s] + ..., written out: the one-sided rows at the surface."""
    return _added(lanes, [_far(lanes, "z", n) for n in range(width)])


@lru_cache
def _stride(lanes, axis: str):
    one, jit = lanes.index(1), lanes.jit
    if axis == "x":
        return jit(lambda s: one)
    if axis == "y":
        return jit(lambda s: s.y_stride)
    return jit(lambda s: s.z_stride)


@lru_cache
def _memory_stride(lanes, axis: str):
    one, jit = lanes.index(1), lanes.jit
    if axis == "x":
        return jit(lambda s: one)
    if axis == "y":
        return jit(lambda s: s.memory_y)
    return jit(lambda s: s.memory_z)


@lru_cache
def _profile(lanes, axis: str, half: bool):
    """The layer's b, a and 1/kappa where this lane stands, at nodes or half points."""
    load, jit, whole = lanes.load, lanes.jit, lanes.index
    k = 3 if half else 0
    b, a, ikappa = whole(k), whole(k + 1), whole(k + 2)
    if axis == "x":

        @jit
        def profile(s):
            n, x = s.x_length, s.x
            return (
                load(s.x_table, x + b * n),
                load(s.x_table, x + a * n),
                load(s.x_table, x + ikappa * n),
            )
    elif axis == "y":

        @jit
        def profile(s):
            return s.y_row[k], s.y_row[k + 1], s.y_row[k + 2]
    else:

        @jit
        def profile(s):
            return s.z_row[k], s.z_row[k + 1], s.z_row[k + 2]

    return profile


@lru_cache
def _relax(lanes, axis: str, half: bool, first_slot: int):
    """Pass a derivative through its memory variable: d / kappa + psi."""
    load, store, jit, whole = lanes.load, lanes.store, lanes.jit, lanes.index
    profile, offset, fetch = _profile(lanes, axis, half), whole(first_slot), lanes.fetch

    @jit
    def relax(d, s, k):
        b, a, ikappa = profile(s)
        place = s.j + (offset + whole(k)) * s.slot
        fetch(s.memory, place + s.ahead)
        psi = b * load(s.memory, place) + a * d
        store(s.memory, place, psi, s.mask)
        return d * ikappa + psi

    return relax


@lru_cache
def _staggered(lanes, order: int, axis: str, first_slot: int | None, closed: int):
    """Build up and down along an axis: plain, stretched (from a memory slot on) or closed."""
    jit, stride, a = lanes.jit, _stride(lanes, axis), AXES.index(axis)
    if closed:
        return _closed(lanes, closed)
    ahead, behind = (_staggered_sum(lanes, axis, order // 2, start) for start in (1, 0))

    @jit
    def up(f, i, s, k):
        return ahead(f, i, stride(s), s.first[a])

    @jit
    def down(f, i, s, k):
        return behind(f, i, stride(s), s.first[a])

    if first_slot is None:
        return up, down
    relax_half = _relax(lanes, axis, True, first_slot)
    relax_node = _relax(lanes, axis, False, first_slot)

    @jit
    def stretched_up(f, i, s, k):
        return relax_half(up(f, i, s, k), s, k)

    @jit
    def stretched_down(f, i, s, k):
        return relax_node(down(f, i, s, k), s, k)

    return stretched_up, stretched_down


def _closed(lanes, width: int):
    jit, total = lanes.jit, _column_sum(lanes, width)

    @jit
    def up(f, i, s, k):
        return total(f, i - s.depth, s.z_stride, s.up)

    @jit
    def down(f, i, s, k):
        return total(f, i - s.depth, s.z_stride, s.down)

    return up, down


@lru_cache
def _centred(lanes, order: int, axis: str, first_slot: int | None):
    """Build the second derivative and the update of its flux memory (slots: flux, outer).

    kappa is 1 here: the flux correction is then the memory variable itself.
    """
    jit, stride, a = lanes.jit, _stride(lanes, axis), AXES.index(axis)
    total = _centred_sum(lanes, axis, order // 2)

    @jit
    def second(f, i, s):
        return total(f, i, stride(s), s.second[a])

    @jit
    def no_flux(f, i, s):
        return None

    if first_slot is None:
        return second, no_flux
    ahead, behind = (_staggered_sum(lanes, axis, order // 2, start) for start in (1, 0))
    flux_slot = lanes.index(first_slot)
    relax_half = _relax(lanes, axis, True, first_slot)
    relax_node = _relax(lanes, axis, False, first_slot)
    memory_stride = _memory_stride(lanes, axis)

    @jit
    def flux(f, i, s):
        relax_half(ahead(f, i, stride(s), s.first[a]), s, 0)

    @jit
    def stretched_second(f, i, s):
        place = s.j + flux_slot * s.slot
        correction = behind(s.memory, place, memory_stride(s), s.first[a])
        return relax_node(second(f, i, s) + correction, s, 1)

    return stretched_second, flux


@lru_cache
def _weighted_sum(lanes, axis: str, first: int, last: int, row: int, held: int = -1):
    """w[0] f[i+first] + w[1] f[i+first+1] + ... up to f[i+last], written out.

    The weights are rows of the layer's profile, from `row` on (`seismo.cpml.coupled`). Of the field
    a thread may hold the point itself, and along z those up to `held` from it.
    """
    jit, zero = lanes.jit, lanes.number(0)

    def extend(previous, n: int):
        k, near = row + n - first, abs(n) <= (held if axis == "z" else min(held, 0))
        piece = _far(lanes, axis, n) if near else lanes.further(n)
        if axis == "y":
            return jit(lambda f, i, d, s: previous(f, i, d, s) + s.y_row[k] * piece(f, i, d))
        return jit(lambda f, i, d, s: previous(f, i, d, s) + s.z_row[k] * piece(f, i, d))

    total = jit(lambda f, i, stride, s: zero)
    for n in range(first, last + 1):
        total = extend(total, n)
    return total


def _weighted(lanes, order: int, axis: str):
    """Build what gives the flux to come, and the second derivative before its outer memory.

    The derivative is a sum with the layer's own weights: rows and planes have one for all lanes.
    """
    jit, read, half, a = lanes.jit, lanes.read, order // 2, AXES.index(axis)
    stride, memory_stride = _stride(lanes, axis), _memory_stride(lanes, axis)
    field = _weighted_sum(lanes, axis, 1 - 2 * half, 2 * half - 1, 6, half)
    memory = _weighted_sum(lanes, axis, -half, half - 1, 5 + 4 * half)
    ahead, profile = _staggered_sum(lanes, axis, half, 1), _profile(lanes, axis, True)

    @jit
    def both(f, i, s, place):
        b, gain, _ = profile(s)
        flux = b * read(s.flux, place) + gain * ahead(f, i, stride(s), s.first[a])
        return flux, field(f, i, stride(s), s) + memory(s.flux, place, memory_stride(s), s)

    return both


def _along_x(lanes, order: int):
    """Build the same along x: the flux to come of the lanes around, each with its own profile."""
    jit, read, half, width = lanes.jit, lanes.read, order // 2, lanes.width
    around = -(-half // width)
    ahead, total = _staggered_sum(lanes, "x", half, 1), _centred_sum(lanes, "x", half)
    decay, gain, index = lanes.index(3), lanes.index(4), lanes.index

    def lane(n: int):
        off = index(abs(n) * width)
        move = jit((lambda i: i - off) if n < 0 else (lambda i: i + off))

        @jit
        def flux(f, i, s, place):
            x, length = move(s.x), s.x_length
            b, a = read(s.x_table, x + decay * length), read(s.x_table, x + gain * length)
            return b * read(s.flux, move(place)) + a * ahead(f, move(i), index(1), s.first[0])

        return flux

    def grown(previous, piece):
        return jit(lambda f, i, s, p: (*previous(f, i, s, p), piece(f, i, s, p)))

    fluxes = jit(lambda f, i, s, place: ())
    for n in range(-around, around + 1):
        fluxes = grown(fluxes, lane(n))

    def pair(m: int):
        front, back = lanes.among(m), lanes.among(-1 - m)
        return jit(lambda held, i, stride: front(held) - back(held))

    correction = _added(lanes, [pair(m) for m in range(half)])

    @jit
    def both(f, i, s, place):
        held, one = fluxes(f, i, s, place), index(1)
        d = total(f, i, one, s.second[0]) + correction(held, i, one, s.first[0])
        return held[around], d

    return both


@lru_cache
def _at_once(lanes, order: int, axis: str, slot: int):
    """Build the second derivative that passes through both of its memory variables in one go.

    It takes twice as many points of the field, and the old flux around; in turn no sweep goes
    before it, and no layer is read twice.
    """
    load, store, jit, offset = lanes.load, lanes.store, lanes.jit, lanes.index(slot)
    both = _along_x(lanes, order) if axis == "x" else _weighted(lanes, order, axis)
    profile = _profile(lanes, axis, False)

    @jit
    def second(f, i, s):
        place = s.j + offset * s.slot
        outer = load(s.memory, place)  # before anything is stored
        flux, d = both(f, i, s, place)
        b, gain, _ = profile(s)
        outer = b * outer + gain * d
        store(s.coming, place, flux, s.mask)
        store(s.memory, place, outer, s.mask)
        return d + outer

    return second, None


@lru_cache
def _plain(lanes) -> dict:
    """Build what no layer or surface changes: the field itself and its coefficients."""
    jit, load, store, read, beside = lanes.jit, lanes.load, lanes.store, lanes.read, lanes.beside(1)
    spot = lanes.level(0)

    @jit
    def at(f, i):
        return load(f, i)

    @jit
    def put(f, i, s, value):
        store(f, i, value, s.mask)

    @jit
    def here(f, i, s):
        return spot(f, i - s.shot, s.z_stride)

    @jit
    def x_next(f, i, s):
        return beside(f, i - s.shot)

    @jit
    def y_next(f, i, s):
        return read(f, i + s.y_stride - s.shot)

    @jit
    def z_next(f, i, s):
        return read(f, i + s.z_stride - s.shot)

    return {
        "at": at, "put": put, "here": here, "x_next": x_next, "y_next": y_next, "z_next": z_next,
    }  # fmt: skip


def operators(
    lanes, order: int, axes: str, stretched: str = "", slots: int = 0, closed: int = 0,
    at_once: bool = False,
):  # fmt: skip
    """Build the operators of one variant; those of equal axes are shared between variants.

    Args:
        lanes: the lanes of a backend (jit, load, store, index, number, rounded).
        order: 2, 4, ... 16.
        axes: "xz" or "xyz".
        stretched: the axes whose derivatives pass through layer memory, e.g. "xz".
        slots: memory variables of a stage along one axis.
        closed: width of the surface weights, 0 away from a free surface.
        at_once: whether second derivatives update their flux memory, too.
    """
    names = dict(_plain(lanes))
    for axis in axes:
        slot = stretched.index(axis) * slots if axis in stretched else None
        width = closed if axis == "z" else 0
        names[f"{axis}_up"], names[f"{axis}_dn"] = _staggered(lanes, order, axis, slot, width)
        make = _at_once if at_once and slot is not None else _centred
        names[axis * 2], names[f"{axis}_flux"] = make(lanes, order, axis, slot)
    return SimpleNamespace(jit=lanes.jit, number=lanes.number, rounded=lanes.rounded, **names)

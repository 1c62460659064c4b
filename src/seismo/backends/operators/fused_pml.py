"""Second derivatives of absorbing layers in one pass, which update both their memory variables.

`seismo.backends.operators.derivatives` has the two steps that this does at once: the flux at half
points, and the outer derivative (`seismo.solver.cpml.coupled` says how). It takes twice as many
points of the field, and the flux as it was around; in turn no sweep goes before it, and no layer is
read twice.
"""

from __future__ import annotations

from functools import lru_cache

from seismo.backends.operators.stencils import (
    AXES,
    added,
    centred_sum,
    far,
    memory_stride_of,
    profile_of,
    staggered_sum,
    stride_of,
)
from seismo.backends.traced import choose, when


def _weighted_sum(lanes, row, pairs: list[tuple[int, int, int, int]], first):
    """first(f, i, s) + w[j] f[i + m stride] + w[k] f[i - n stride] + ... of all (j, m, k, n).

    The weights w are the layer's row of its profile (`seismo.solver.cpml.coupled`).
    """
    jit, read = lanes.jit, lanes.read

    def extend(previous, j: int, m: int, k: int, n: int):
        ahead, back = lanes.index(m), lanes.index(n)

        @jit
        def extended(f, i, stride, s):
            w = row(s)
            there, behind = read(f, i + ahead * stride), read(f, i - back * stride)
            return previous(f, i, stride, s) + w[j] * there + w[k] * behind

        return extended

    total = first
    for pair in pairs:
        total = extend(total, *pair)
    return total


def _weighted(lanes, order: int, axis: str):
    """Build what gives the flux to come, and the second derivative before its outer memory.

    The derivative is a sum with the layer's own weights: rows and planes have one for all lanes.
    """
    jit, read, half, a = lanes.jit, lanes.read, order // 2, AXES.index(axis)
    stride, memory_stride = stride_of(lanes, axis), memory_stride_of(lanes, axis)
    row = jit(lambda s: s.y_row) if axis == "y" else jit(lambda s: s.z_row)
    spot, node, zero = far(lanes, axis, 0), 5 + 2 * half, lanes.number(0)
    centre = jit(lambda f, i, stride, s: row(s)[node] * spot(f, i, stride))
    around = [(node + n, n, node - n, n) for n in range(1, 2 * half)]
    field = _weighted_sum(lanes, row, around, centre)
    edge = node + 3 * half  # the weight of the flux half a point further
    memory = _weighted_sum(
        lanes, row, [(edge + m, m, edge - 1 - m, m + 1) for m in range(half)],
        jit(lambda f, i, stride, s: zero),
    )  # fmt: skip
    ahead, profile = staggered_sum(lanes, axis, half, 1), profile_of(lanes, axis, True)

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
    ahead, total = staggered_sum(lanes, "x", half, 1), centred_sum(lanes, "x", half)
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

    correction = added(lanes, [pair(m) for m in range(half)])

    @jit
    def both(f, i, s, place):
        held, one = fluxes(f, i, s, place), index(1)
        d = total(f, i, one, s.second[0]) + correction(held, i, one, s.first[0])
        return held[around], d

    return both


@lru_cache
def across(lanes, order: int, slot: int):
    """Build the second derivative along z of a march that has the fluxes to come around a point.

    They are `s.flux`, and half the order further than the point stands the one that a plane brings.
    Memory that stays 0, beside the layer, is left alone.

    Returns:
        Functions (f, i, s): the derivative; and the flux at the half point behind the place.
    """
    load, read, store, jit, offset = (
        lanes.load,
        lanes.read,
        lanes.store,
        lanes.jit,
        lanes.index(slot),
    )
    half, somewhere = order // 2, lanes.index(0)
    at_node, at_half = (profile_of(lanes, "z", half_point) for half_point in (False, True))
    total, ahead = centred_sum(lanes, "z", half), staggered_sum(lanes, "z", half, half)

    def pair(m: int):
        return jit(lambda held, i, stride: held[half + m] - held[half - 1 - m])

    correction = added(lanes, [pair(m) for m in range(half)])

    @jit
    def coming(f, i, s):
        b, gain, _ = at_half(s)
        place = choose(s.kept[1], s.j + offset * s.slot, somewhere)
        return b * read(s.flux, place) + gain * ahead(f, i, s.z_stride, s.first[2])

    @jit
    def second(f, i, s):
        b, gain, _ = at_node(s)
        place = s.j + offset * s.slot
        outer = load(s.memory, choose(s.kept[0], place, somewhere))
        d = total(f, i, s.z_stride, s.second[2]) + correction(s.flux, i, s.z_stride, s.first[2])
        outer = b * outer + gain * d
        with when(s.kept[1]):
            store(s.coming, place, s.flux[half], s.mask)
        with when(s.kept[0]):
            store(s.memory, place, outer, s.mask)
        return d + outer

    return second, coming


@lru_cache
def at_once(lanes, order: int, axis: str, slot: int):
    """Build the second derivative along an axis, with its memory variables from `slot` on."""
    load, store, jit, offset = lanes.load, lanes.store, lanes.jit, lanes.index(slot)
    both = _along_x(lanes, order) if axis == "x" else _weighted(lanes, order, axis)
    profile = profile_of(lanes, axis, False)

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

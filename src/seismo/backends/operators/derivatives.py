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

from functools import lru_cache, reduce
from types import SimpleNamespace

from seismo.backends.operators import fused_pml
from seismo.backends.operators.stencils import (
    AXES,
    centred_sum,
    column_sum,
    memory_stride_of,
    profile_of,
    staggered_sum,
    stride_of,
)


@lru_cache
def _relax(lanes, axis: str, half: bool, first_slot: int):
    """Pass a derivative through its memory variable: d / kappa + psi."""
    load, store, jit, whole = lanes.load, lanes.store, lanes.jit, lanes.index
    profile, offset, fetch = profile_of(lanes, axis, half), whole(first_slot), lanes.fetch

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
    jit, stride, a = lanes.jit, stride_of(lanes, axis), AXES.index(axis)
    if closed:
        return _closed(lanes, closed)
    ahead, behind = (staggered_sum(lanes, axis, order // 2, start) for start in (1, 0))

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
    jit, total = lanes.jit, column_sum(lanes, width)

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
    jit, stride, a = lanes.jit, stride_of(lanes, axis), AXES.index(axis)
    total = centred_sum(lanes, axis, order // 2)

    @jit
    def second(f, i, s):
        return total(f, i, stride(s), s.second[a])

    @jit
    def no_flux(f, i, s):
        return None

    if first_slot is None:
        return second, no_flux
    ahead, behind = (staggered_sum(lanes, axis, order // 2, start) for start in (1, 0))
    flux_slot = lanes.index(first_slot)
    relax_half = _relax(lanes, axis, True, first_slot)
    relax_node = _relax(lanes, axis, False, first_slot)
    memory_stride = memory_stride_of(lanes, axis)

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
        return spot(f, i - s.medium, s.z_stride)

    @jit
    def x_next(f, i, s):
        return beside(f, i - s.medium)

    @jit
    def y_next(f, i, s):
        return read(f, i + s.y_stride - s.medium)

    @jit
    def z_next(f, i, s):
        return read(f, i + s.z_stride - s.medium)

    return {
        "at": at, "put": put, "here": here, "x_next": x_next, "y_next": y_next, "z_next": z_next,
    }  # fmt: skip


@lru_cache
def _damped_put(lanes, stretched: str):
    """Build `put` of a layer that damps the field: m f, with the m of each stretched axis."""
    load, store, jit, seventh = lanes.load, lanes.store, lanes.jit, lanes.index(6)
    kept_along = {
        "x": jit(lambda s: load(s.x_table, s.x + seventh * s.x_length)),
        "y": jit(lambda s: s.y_row[6]),
        "z": jit(lambda s: s.z_row[6]),
    }

    def times(first, second):
        return jit(lambda s: first(s) * second(s))

    kept = reduce(times, [kept_along[axis] for axis in stretched])

    @jit
    def put(f, i, s, value):
        store(f, i, value * kept(s), s.mask)

    return put


def operators(
    lanes, order: int, axes: str, stretched: str = "", slots: int = 0, closed: int = 0,
    at_once: bool = False, across: bool = False, damped: bool = False,
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
        across: whether a march along z does, across the layer; `z_flux` is what it brings.
        damped: whether `put` in a layer damps the field.
    """
    names = dict(_plain(lanes))
    if damped and stretched:
        names["put"] = _damped_put(lanes, stretched)
    for axis in axes:
        slot = stretched.index(axis) * slots if axis in stretched else None
        width = closed if axis == "z" else 0
        names[f"{axis}_up"], names[f"{axis}_dn"] = _staggered(lanes, order, axis, slot, width)
        if at_once and slot is not None:
            pair = (
                fused_pml.across(lanes, order, slot) if across
                else fused_pml.at_once(lanes, order, axis, slot)
            )  # fmt: skip
        else:
            pair = _centred(lanes, order, axis, slot)
        names[axis * 2], names[f"{axis}_flux"] = pair
    return SimpleNamespace(jit=lanes.jit, number=lanes.number, rounded=lanes.rounded, **names)

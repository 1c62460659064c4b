"""Second derivatives of absorbing layers in one pass, which update both their memory variables.

`seismo.backends.operators.derivatives` has the two steps that this does at once: the flux at half
points, and the outer derivative (`seismo.solver.absorbing.cpml.coupled` says how). It takes twice
as many points of the field, and the flux as it was around; in turn no sweep goes before it, and no
layer is read twice. `slot` numbers the axis' memory variable.
"""

from __future__ import annotations

from typing import Any

from seismo.backends.code.traced import choose, when
from seismo.backends.operators.stencils import (
    AXES,
    KernelContext,
    Neighbours,
    centred_sum,
    memory_stride_of,
    profile_of,
    staggered_sum,
    weighted,
)


def at_once(neighbours: Neighbours, order: int, s: KernelContext, slot: int) -> Any:
    """Return the second derivative along an axis; update its flux and outer memory."""
    lanes = neighbours.lanes
    axis = neighbours.axis
    memory_index = s.j + slot * s.slot
    outer = lanes.load(s.memory, memory_index)  # before anything is stored
    # d = D2 f + D psi with the new flux psi; along x each number of the lane has its own profile.
    along = _along_x if axis == "x" else _across_rows
    flux, d = along(neighbours, order // 2, s, memory_index)
    # Outer recursion: chi <- b chi + a d, and d + chi in place of d (kappa = 1).
    b, gain, _ = profile_of(lanes, axis, False, s)
    outer = b * outer + gain * d
    lanes.store(s.coming, memory_index, flux, s.mask)
    lanes.store(s.memory, memory_index, outer, s.mask)
    return d + outer


def _across_rows(
    neighbours: Neighbours, half: int, s: KernelContext, memory_index: Any
) -> tuple[Any, Any]:
    """Return the flux to come, and the second derivative before its outer memory.

    The derivative is a sum with the layer's own weights: rows and planes have one for all lanes.
    They follow m in the row of its profile: 4 half - 1 of the field, 2 half of the flux.
    """
    lanes, axis, f, i, stride = neighbours
    memory_stride = memory_stride_of(s, axis)
    row = s.y_row if axis == "y" else s.z_row
    # New flux at i + 1/2, for the memory of the next step: psi <- b psi + a D f.
    b, gain, _ = profile_of(lanes, axis, True, s)
    ahead = staggered_sum(neighbours, s.first[AXES.index(axis)], 1)
    flux = b * lanes.read(s.flux, memory_index) + gain * ahead
    # D2 f + D psi with the recursion of psi substituted: w_k f(i + k), |k| < 2 half ...
    node = 5 + 2 * half
    total = row[node] * neighbours.at(0)
    for n in range(1, 2 * half):
        further = lanes.read(f, i + n * stride)
        behind = lanes.read(f, i - n * stride)
        total = total + row[node + n] * further + row[node - n] * behind
    # ... + v_m psi(i + m + 1/2), -half <= m < half, with the psi of the step before.
    edge = node + 3 * half  # the weight of the flux half a point further
    memory = None
    for m in range(half):
        further = lanes.read(s.flux, memory_index + m * memory_stride)
        behind = lanes.read(s.flux, memory_index - (m + 1) * memory_stride)
        pair = row[edge + m] * further
        memory = (pair if memory is None else memory + pair) + row[edge - 1 - m] * behind
    return flux, total + memory


def _along_x(
    neighbours: Neighbours, half: int, s: KernelContext, memory_index: Any
) -> tuple[Any, Any]:
    """Return the same along x: the flux to come of the lanes around, each with its own profile."""
    lanes = neighbours.lanes
    # Lanes to the left and right that the staggered difference of the flux reaches.
    around = -(-half // lanes.width)
    width = lanes.width

    # Recursion of the flux at half points (columns 3 and 4 of the profile: b and a).
    def flux(n: int) -> Any:
        x = s.x + n * width
        b, gain = (lanes.read(s.x_table, x + k * s.x_length) for k in (3, 4))
        ahead = staggered_sum(
            neighbours._replace(index=neighbours.index + n * width), s.first[0], 1
        )
        return b * lanes.read(s.flux, memory_index + n * width) + gain * ahead

    # D psi: staggered difference of the new fluxes, half a cell down to the nodes.
    fluxes = [flux(n) for n in range(-around, around + 1)]
    pairs = (lanes.among(fluxes, m) - lanes.among(fluxes, -1 - m) for m in range(half))
    # d = D2 f + D psi, before the outer recursion.
    d = centred_sum(neighbours, s.second[0])
    return fluxes[around], d + weighted(s.first[0], pairs)


def flux_to_come(neighbours: Neighbours, order: int, s: KernelContext, slot: int) -> Any:
    """Return the flux along z that a plane brings to a march across the layer.

    It stands half the order further than the point. Memory that stays 0, beside the layer, is left
    alone.
    """
    lanes = neighbours.lanes
    # The plane that enters the queue lies half the order ahead of the point that is updated.
    b, gain, _ = profile_of(lanes, "z", True, s)
    # Rows that keep no memory all read the number at index 0.
    memory_index = choose(s.kept[1], s.j + slot * s.slot, 0)
    ahead = staggered_sum(neighbours, s.first[2], order // 2)
    return b * lanes.read(s.flux, memory_index) + gain * ahead


def across(neighbours: Neighbours, order: int, s: KernelContext, slot: int) -> Any:
    """Return the second derivative along z of a march that has the fluxes to come around a point.

    They are `s.flux`.
    """
    # The fluxes of half points z - half + 1/2 .. z + half - 1/2, in registers since they were
    # computed.
    half = order // 2
    lanes = neighbours.lanes
    memory_index = s.j + slot * s.slot
    b, gain, _ = profile_of(lanes, "z", False, s)
    outer = lanes.load(s.memory, choose(s.kept[0], memory_index, 0))
    # Difference of the new fluxes back to the node, and the outer recursion.
    pairs = (s.flux[half + m] - s.flux[half - 1 - m] for m in range(half))
    d = centred_sum(neighbours, s.second[2]) + weighted(s.first[2], pairs)
    outer = b * outer + gain * d
    # Rows beside the layer see its memory but have none of their own to store.
    with when(s.kept[1]):
        lanes.store(s.coming, memory_index, s.flux[half], s.mask)
    with when(s.kept[0]):
        lanes.store(s.memory, memory_index, outer, s.mask)
    return d + outer

"""Add to and read from single points of a field: how sources and receivers touch the wavefield.

Both are rows of a sparse matrix, summed in a fixed order, so that results do not depend on how the
grid is cut or on the machine. Each function does the n-th part of the work; a backend calls it for
every n (`seismo.backends.base.Backend.each`).
"""

from __future__ import annotations


def amount(n, cells, starts, weights, signals, begins, samples, acting, clock, places, amounts):
    """Sum weights[k] * samples[signals[k], step - begin] over all entries k of cell n.

    A signal is its first sample before its `begin`, and its last one after its samples; all of them
    are zero but in the steps from acting[0] to acting[1]. Without entries, or out of these steps,
    it is no cell, and has no place: another one may stand for the same.
    """
    first, step, last = starts[n], clock[0], samples.shape[1] - 1
    if first < starts[n + 1] and acting[0] <= step <= acting[1]:
        signal = signals[first]
        total = weights[first] * samples[signal, min(max(step - begins[signal], 0), last)]
        for k in range(first + 1, starts[n + 1]):
            signal = signals[k]
            total += weights[k] * samples[signal, min(max(step - begins[signal], 0), last)]
        places[n], amounts[n] = cells[n], total
    else:
        places[n] = -1


def inject(n, field, places, amounts):
    """Add an amount to the field at its place.

    The next stage waits for this; what can be known before is, and stands in the cache of a GPU.
    """
    at = places[n]
    if at >= 0:
        field[at] += amounts[n]


def add_slopes(n, target, source, cells, first, second, step, stride, coefficients):
    """Add the centred derivatives of a field at two nodes, weighted, to point n of another field.

    Args:
        n: number of the point.
        target: field that changes.
        source: field that is differentiated.
        cells: flat indices of the points, which are those of their first nodes.
        first: weights of the first nodes.
        second: weights of the second nodes.
        step: from the first node to the second.
        stride: distance of neighbours along the axis of the derivative.
        coefficients: of the points 1, 2, ... ahead / spacing; those behind have the opposite ones.
    """
    at = cells[n]
    after, a, b = at + step, first[n], second[n]
    total = coefficients[0] * (
        a * (source[at + stride] - source[at - stride])
        + b * (source[after + stride] - source[after - stride])
    )
    for m in range(1, coefficients.size):
        far = (m + 1) * stride
        total += coefficients[m] * (
            a * (source[at + far] - source[at - far])
            + b * (source[after + far] - source[after - far])
        )
    target[at] += total


def gather(n, field, indices, slots, values):
    """Copy field[indices[n]] to values[slots[n]]."""
    values[slots[n]] = field[indices[n]]


def sums(n, values, indices, starts, weights, partial):
    """Sum weights[k] * values[indices[k]] over the entries k of piece n of a row."""
    first = starts[n]
    total = weights[first] * values[indices[first]]
    for k in range(first + 1, starts[n + 1]):
        total += weights[k] * values[indices[k]]
    partial[n] = total


def record(n, values, indices, starts, weights, channels, traces, clock):
    """Add weights[k] * values[indices[k]] of row n to what its channel has in this step."""
    step, channel = clock[0], channels[n]
    total = traces[step, channel]
    for k in range(starts[n], starts[n + 1]):
        total += weights[k] * values[indices[k]]
    traces[step, channel] = total

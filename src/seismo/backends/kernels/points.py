"""Single points of a field: how sources and receivers touch the wavefield.

Both are rows of a sparse matrix, summed in a fixed order, so that results do not depend on how the
grid is cut or on the machine. Each function does the n-th part of the work; a backend calls it for
every n (`seismo.backends.base.Backend.each`).

All points that a plane wave comes to at the same time have the same signals, but for a factor. So
these are delayed and filtered first (`retard`), a column of rows at a time, and are then added to
the points.
"""

from __future__ import annotations


def amount(n, cells, starts, weights, signals, begins, samples, acting, clock, points, amounts):
    """Sum weights[k] * samples[signals[k], step - begin] over all entries k of cell n.

    A signal is its first sample before its `begin`, and its last one after its samples; all of them
    are zero but in the steps from acting[0] to acting[1]. Without entries, or out of these steps,
    it is no cell, and has no place: another one may stand for the same.
    """
    first = starts[n]
    step = clock[0]
    last = samples.shape[1] - 1
    # Sources act in a window of steps: before and after it nothing is added.
    if first < starts[n + 1] and acting[0] <= step <= acting[1]:
        # Sparse matrix row in CSR form: entries starts[n] .. starts[n + 1], summed in order.
        signal = signals[first]
        total = weights[first] * samples[signal, min(max(step - begins[signal], 0), last)]
        for k in range(first + 1, starts[n + 1]):
            signal = signals[k]
            total += weights[k] * samples[signal, min(max(step - begins[signal], 0), last)]
        points[n] = cells[n]
        amounts[n] = total
    else:
        # Mark the point as idle; `inject` skips it.
        points[n] = -1


def inject(n, field, points, amounts):
    """Add an amount to the field at its place.

    The next stage waits for this; what can be known before is, and stands in the cache of a GPU.
    """
    at = points[n]
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
    # Centred first derivative by antisymmetric coefficients, at the two nodes about the point.
    at = cells[n]
    after = at + step
    a = first[n]
    b = second[n]
    total = coefficients[0] * (
        a * (source[at + stride] - source[at - stride])
        + b * (source[after + stride] - source[after - stride])
    )
    # Further pairs of the stencil, each (m + 1) spacings from its node.
    for m in range(1, coefficients.size):
        far = (m + 1) * stride
        total += coefficients[m] * (
            a * (source[at + far] - source[at - far])
            + b * (source[after + far] - source[after - far])
        )
    target[at] += total


def gather(n, field, indices, slots, sampled):
    """Copy field[indices[n]] to sampled[slots[n]]."""
    sampled[slots[n]] = field[indices[n]]


def sums(n, sampled, indices, starts, weights, partial):
    """Sum weights[k] * sampled[indices[k]] over the entries k of piece n of a row."""
    # First entry outside the loop: the sum begins with a product, not with 0 + a product.
    first = starts[n]
    total = weights[first] * sampled[indices[first]]
    for k in range(first + 1, starts[n + 1]):
        total += weights[k] * sampled[indices[k]]
    partial[n] = total


def record(n, sampled, indices, starts, weights, channels, traces, clock):
    """Add weights[k] * sampled[indices[k]] of row n to what its channel has in this step."""
    # Traces are accumulated, since a channel may have parts from several rows.
    step = clock[0]
    channel = channels[n]
    total = traces[step, channel]
    for k in range(starts[n], starts[n + 1]):
        total += weights[k] * sampled[indices[k]]
    traces[step, channel] = total


TOGETHER = 4  # samples of a filter that are taken in one pass over the rows of a column


def retard(n, z0, z1, filtered, segments, lags, taps, signals, clock):
    """Set filtered[n, z] to the sum over k of taps[n, k] * signals[segment, step - lag + k, z].

    Signals are their first sample before they begin, and their last one after their end.
    """
    segment = segments[n]
    first = clock[0] - lags[n]
    last = signals.shape[1] - 1
    for z in range(z0, z1):
        filtered[n, z] = 0
    # Finite impulse response of the column: rows are neighbours, samples are not.
    for k in range(0, taps.shape[1], TOGETHER):
        a = taps[n, k]
        b = taps[n, k + 1]
        c = taps[n, k + 2]
        d = taps[n, k + 3]
        at_a = min(max(first + k, 0), last)
        at_b = min(max(first + k + 1, 0), last)
        at_c = min(max(first + k + 2, 0), last)
        at_d = min(max(first + k + 3, 0), last)
        for z in range(z0, z1):
            filtered[n, z] += (a * signals[segment, at_a, z] + b * signals[segment, at_b, z]) + (
                c * signals[segment, at_c, z] + d * signals[segment, at_d, z]
            )


def add_retarded(n, field, points, entries, scales, filtered):
    """Add a multiple of a filtered signal to the field at point n."""
    field[points[n]] += scales[n] * filtered[entries[n]]

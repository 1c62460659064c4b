"""Points of a field where sources, receivers and subfaults touch it.

Sources and receivers are rows of a sparse matrix, summed in a fixed order, so that results do not
depend on how the grid is cut or on the machine. Each function does the n-th part of the work; a
backend calls it for every n (`seismo.backends.base.Backend.each`).

All points that a plane wave comes to at the same time have the same signals, but for a factor. So
these are delayed and filtered first (`retard`), a column of rows at a time, and are then added to
the points.

The moment rates of many subfaults are spread over the grid without a table of points for each. A
subfault acts on WIDTH points along x and y and a few more along z, with products of weights along
each axis. Subfaults of equal first points along y and z are a *line*, and subfaults of a line that
begin among the same BLOCK points along x a *segment*, sorted by their first points. Each step sums
the subfaults of a segment first, for every row (z, y) that they act on: each number of a subfault
is read once for a row. A *piece*, PIECE points of a row of the grid, then sums what the segments
about it give. Every sum has a fixed order, however the grid is cut.
"""

from __future__ import annotations


def amount(n, cells, starts, weights, signals, begins, samples, acting, clock, points, amounts):
    """Sum weights[k] * samples[signals[k], step - begin] over all entries k of cell n.

    A signal is its first sample before its `begin`, and its last one after its samples; all of them
    are zero but in the steps from acting[0] to acting[1]. Without entries, or out of these steps,
    it is no cell, and has no place: another cell may use the same.
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

    The next stage waits for this: all that can be computed before is, and lies in a GPU's cache.
    """
    at = points[n]
    if at >= 0:
        field[at] += amounts[n]


def add_taken(n, field, points, starts, weights, signals, samples, window, clock):
    """Add weights[k] * samples[step - window, signals[k]] over the entries k of point n to a field.

    Samples (step, signal) are those of a window of steps that begins with `window`.
    """
    row = clock[0] - window[0]
    first = starts[n]
    # Sparse matrix row in CSR form: entries starts[n] .. starts[n + 1], summed in order.
    total = weights[first] * samples[row, signals[first]]
    for k in range(first + 1, starts[n + 1]):
        total += weights[k] * samples[row, signals[k]]
    field[points[n]] += total


def add_slopes(n, target, source, cells, first, second, step, stride, coefficients):
    """Add the centred derivatives of a field at two nodes, weighted, to point n of another field.

    Args:
        n: number of the point.
        target: field that changes.
        source: field that is differentiated.
        cells: flat indices of the points, equal to those of their first nodes.
        first: weights of the first nodes.
        second: weights of the second nodes.
        step: from the first node to the second.
        stride: distance of neighbours along the axis of the derivative.
        coefficients: of the points 1, 2, ... ahead / spacing; points behind have the opposite.
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
    """Add weights[k] * sampled[indices[k]] of row n to its channel's sample of this step."""
    # Traces are accumulated, since a channel may have parts from several rows.
    step = clock[0]
    channel = channels[n]
    total = traces[step, channel]
    for k in range(starts[n], starts[n + 1]):
        total += weights[k] * sampled[indices[k]]
    traces[step, channel] = total


TOGETHER = 4  # samples of a filter taken in one pass over the rows of a column


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


WIDTH = 8
BLOCK = 16
PIECE = 64
ROWS = WIDTH * WIDTH  # rows along y, times points that belong to one another
REACH = BLOCK + WIDTH  # points along x that a segment acts on, plus 1


def sum_segment(
    n, x0, x1, sums, segments, order, firsts, along, across, down, signals, window, clock
):  # fmt: skip
    """Sum the amounts of a segment's subfaults in a step, on the rows of a z.

    Args:
        n: number of the segment, times its rows along z, and of that row.
        x0: first of WIDTH rows along y times points x, to which x + WIDTH and x + 2 WIDTH belong.
        x1: behind the last.
        sums: (n, WIDTH, REACH) flat, the sums, from the first point of the segment's block.
        segments: (segment, 3) flat, the first subfault, the end, and the first point of the block.
        order: (subfault) its place in the signals.
        firsts: (subfault) first point along x.
        along: (subfault, WIDTH) flat, weights along x.
        across: (subfault, WIDTH) flat, weights along y.
        down: (subfault, depth) flat, weights along z, times its strength.
        signals: (step, place) flat, moment rates from the first step of the window.
        window: that step.
        clock: the step.
    """
    deep = down.size // firsts.size
    segment = 3 * (n // deep)
    first = segments[segment]
    last = segments[segment + 1]
    if first < last:
        k = n % deep
        now = (clock[0] - window[0]) * firsts.size
        origin = segments[segment + 2]
        zero = along[0] - along[0]  # of their own precision
        if x1 - x0 == ROWS:  # all of them, in numbers that the compiler knows: eight at once
            for j in range(WIDTH):
                row = (n * WIDTH + j) * REACH - origin
                for x in range(origin, origin + REACH):
                    sums[row + x] = zero
                t = first
                while t < last:
                    # Subfaults that begin at the same point, in registers.
                    at = firsts[t]
                    a = b = c = d = e = f = g = h = zero
                    while t < last and firsts[t] == at:
                        share = across[t * WIDTH + j] * down[t * deep + k] * signals[now + order[t]]
                        a += share * along[t * WIDTH]
                        b += share * along[t * WIDTH + 1]
                        c += share * along[t * WIDTH + 2]
                        d += share * along[t * WIDTH + 3]
                        e += share * along[t * WIDTH + 4]
                        f += share * along[t * WIDTH + 5]
                        g += share * along[t * WIDTH + 6]
                        h += share * along[t * WIDTH + 7]
                        t += 1
                    sums[row + at] += a
                    sums[row + at + 1] += b
                    sums[row + at + 2] += c
                    sums[row + at + 3] += d
                    sums[row + at + 4] += e
                    sums[row + at + 5] += f
                    sums[row + at + 6] += g
                    sums[row + at + 7] += h
        else:
            for x in range(x0, x1):
                # Of WIDTH points in a row one belongs to x: at, until subfaults begin behind it.
                j = x // WIDTH
                row = (n * WIDTH + j) * REACH - origin
                at = x % WIDTH + origin
                amount = zero
                for t in range(first, last):
                    begin = firsts[t]
                    while at < begin:
                        sums[row + at] = amount
                        amount = zero
                        at += WIDTH
                    weight = across[t * WIDTH + j] * down[t * deep + k]
                    amount += weight * signals[now + order[t]] * along[t * WIDTH + at - begin]
                while at < origin + REACH:
                    sums[row + at] = amount
                    amount = zero
                    at += WIDTH


def spread(n, x0, x1, amounts, pieces, spans, lines, masks, slots, sums):
    """Sum the amounts of all segments at the points x0 <= x < x1 of piece n in a step.

    Args:
        n: number of the piece.
        x0: first point.
        x1: behind the last point.
        amounts: (piece, PIECE) the sums.
        pieces: (piece, 3) first x, y and z relative to the first of `lines`.
        spans: (piece, 2) the points that any subfault acts on.
        lines: (z, y) number of the line that begins there, -1 if none.
        masks: (piece, depth) bits j of the rows along y where a line begins, j rows back.
        slots: (line, block) number of the segment, -1 if none.
        sums: results of `sum_segment`.
    """
    first = max(x0, spans[n, 0])
    last = min(x1, spans[n, 1])
    if first < last:
        begin = pieces[n, 0]
        y = pieces[n, 1]
        z = pieces[n, 2]
        for x in range(first, last):
            amounts[n, x] = 0
        low = max(begin + first - WIDTH + 1, 0) // BLOCK
        high = (begin + last - 1) // BLOCK + 1
        deep = masks.shape[1]
        for k in range(deep):
            mask = masks[n, k]
            for j in range(WIDTH):
                if (mask >> j) & 1:
                    line = lines[z - k, y - j]
                    for block in range(low, high):
                        segment = slots[line, block]
                        if segment >= 0:
                            # Points of the piece that the segment acts on.
                            origin = block * BLOCK - begin
                            row = ((segment * deep + k) * WIDTH + j) * REACH - origin
                            for x in range(max(first, origin), min(last, origin + REACH)):
                                amounts[n, x] += sums[row + x]


def add_spread(n, x0, x1, field, amounts, numbers, points, spans):
    """Add the sums of piece numbers[n] to a field, where it begins at places[n]."""
    piece = numbers[n]
    point = points[n]
    for x in range(max(x0, spans[piece, 0]), min(x1, spans[piece, 1])):
        field[point + x] += amounts[piece, x]

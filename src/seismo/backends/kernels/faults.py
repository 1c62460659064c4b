"""Spread the moment rates of many subfaults over the grid, without a table of points for each.

A subfault acts on WIDTH points along x and y and a few more along z, with weights that are products
of those along each axis. Those of equal first points along y and z are a *line*, and those of a
line that begin among the same BLOCK points along x a *segment*, sorted by their first points. Each
step sums the subfaults of a segment first, for every row (z, y) that they act on: each number of a
subfault is read once for a row. A *piece*, PIECE points of a row of the grid, then sums what the
segments about it give. Every sum is one of a fixed order, however the grid is cut.
"""

from __future__ import annotations

WIDTH = 8
BLOCK = 16
PIECE = 64
ROWS = WIDTH * WIDTH  # rows along y, times points that belong to one another
REACH = BLOCK + WIDTH  # points along x that a segment acts on, and one more


def sum_segment(
    n, x0, x1, sums, segments, order, firsts, along, across, down, signals, window, clock
):  # fmt: skip
    """Sum what the subfaults of a segment give to the rows of one z that they act on, in a step.

    Args:
        n: number of the segment, times its rows along z, and of that row.
        x0: first of WIDTH rows along y times points x, to which x + WIDTH and x + 2 WIDTH belong.
        x1: behind the last one.
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
                    # Those that begin at one point, in registers.
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
    """Sum what all segments give to the points x0 <= x < x1 of piece n in a step.

    Args:
        n: number of the piece.
        x0: first point.
        x1: behind the last point.
        amounts: (piece, PIECE) the sums.
        pieces: (piece, 3) first x, and y and z less those of the first of `lines`.
        spans: (piece, 2) the points that any subfault acts on.
        lines: (z, y) number of the line that begins there, -1 without one.
        masks: (piece, depth) bits j of the rows along y where a line begins, j rows back.
        slots: (line, block) number of the segment, -1 without one.
        sums: what `sum_segment` found.
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

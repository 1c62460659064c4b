"""Spread the moment rates of many subfaults over the grid, without a table of points for each.

A subfault acts on WIDTH points along x and y and a few more along z, with weights that are products
of those along each axis. Those of equal first points along y and z are a *line*, sorted by their
first point along x in blocks of BLOCK points. A *piece*, PIECE points of a row of the grid, sums
what the lines about it give: every sum is one of a fixed order, however the grid is cut.

Sums have a margin of WIDTH points at either end of a piece, which other pieces have, too: all that
a subfault gives to a row can then be added at once, where a CPU does the whole piece.
"""

from __future__ import annotations

WIDTH = 8
BLOCK = 16
PIECE = 64


def spread(
    n, x0, x1, amounts, pieces, spans, lines, starts, firsts, along, across, down, signals, window,
    clock,
):  # fmt: skip
    """Sum what all subfaults add to the points x0 <= x < x1 of piece n in a step.

    Args:
        n: number of the piece.
        x0: first point.
        x1: behind the last point.
        amounts: (piece, PIECE + 2 WIDTH) the sums.
        pieces: (piece, 3) first x, and y and z less those of the first of `lines`.
        spans: (piece, 2) the points that any subfault acts on.
        lines: (z, y) number of the line that begins there, -1 without one.
        starts: (line, block + 1) first subfault of each block.
        firsts: (subfault) first point along x.
        along: (subfault, WIDTH) weights along x.
        across: (subfault, WIDTH) weights along y.
        down: (subfault, depth) weights along z, times its strength.
        signals: (step, subfault) moment rates from the first step of the window.
        window: that step.
        clock: the step.
    """
    first = max(x0, spans[n, 0])
    last = min(x1, spans[n, 1])
    if first < last:
        step = clock[0] - window[0]
        begin = pieces[n, 0]
        y = pieces[n, 1]
        z = pieces[n, 2]
        is_full_piece = x1 - x0 == PIECE
        for x in range(
            0 if is_full_piece else first + WIDTH,
            PIECE + 2 * WIDTH if is_full_piece else last + WIDTH,
        ):
            amounts[n, x] = 0
        low = max(begin + first - WIDTH + 1, 0) // BLOCK
        high = (begin + last - 1) // BLOCK + 1
        for k in range(down.shape[1]):
            for j in range(WIDTH):
                line = lines[z - k, y - j]
                if line >= 0:
                    for t in range(starts[line, low], starts[line, high]):
                        at = firsts[t] - begin
                        if at < last and at + WIDTH > first:
                            share = across[t, j] * down[t, k] * signals[step, t]
                            if is_full_piece:  # in numbers that the compiler knows: eight at once
                                to = at + WIDTH
                                a = along[t, 0]
                                b = along[t, 1]
                                c = along[t, 2]
                                d = along[t, 3]
                                e = along[t, 4]
                                f = along[t, 5]
                                g = along[t, 6]
                                h = along[t, 7]
                                amounts[n, to] += share * a
                                amounts[n, to + 1] += share * b
                                amounts[n, to + 2] += share * c
                                amounts[n, to + 3] += share * d
                                amounts[n, to + 4] += share * e
                                amounts[n, to + 5] += share * f
                                amounts[n, to + 6] += share * g
                                amounts[n, to + 7] += share * h
                            else:
                                for x in range(max(first, at), min(last, at + WIDTH)):
                                    amounts[n, x + WIDTH] += share * along[t, x - at]


def add_spread(n, x0, x1, field, amounts, numbers, points, spans):
    """Add the sums of piece numbers[n] to a field, where it begins at places[n]."""
    piece = numbers[n]
    point = points[n]
    for x in range(max(x0, spans[piece, 0]), min(x1, spans[piece, 1])):
        field[point + x] += amounts[piece, x + WIDTH]

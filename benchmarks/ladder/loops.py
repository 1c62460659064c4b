"""Loops compiled by Numba: on one core, on all, along z innermost, and between constants.

What is wrong with `serial`: one core of many works. With `parallel`: an index counted down from the
shape of an array may be negative for all that the compiler knows, which in Python counts from the
end; asking for each of 27 reads stops it from using the processor's vectors. With `strided`: the
innermost loop jumps from plane to plane, and each number comes with 60 bytes that nobody uses
before they are gone. With `constant`: planes leave the caches before the next one needs them.
(The product: lanes that are vectors, tiles that fit the caches, addresses instead of indices.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit, prange

from ladder import naive
from ladder.acoustic import Box, update_of
from ladder.stand import Call


def _serial(point: Callable, b: Box) -> Callable:
    x0, y0, z0 = b.x0, b.y0, b.z0
    after_x, after_y, after_z = b.behind

    @njit(fastmath=True)
    def run(q, p, k):
        nz, ny, nx = q.shape
        for z in range(z0, nz - after_z):
            for y in range(y0, ny - after_y):
                for x in range(x0, nx - after_x):
                    point(q, p, k, z, y, x)

    return run


def _parallel(point: Callable, b: Box) -> Callable:
    x0, y0, z0 = b.x0, b.y0, b.z0
    after_x, after_y, after_z = b.behind

    @njit(fastmath=True, parallel=True)
    def run(q, p, k):
        nz, ny, nx = q.shape
        for z in prange(z0, nz - after_z):
            for y in range(y0, ny - after_y):
                for x in range(x0, nx - after_x):
                    point(q, p, k, z, y, x)

    return run


def _strided(point: Callable, b: Box) -> Callable:
    x0, y0, z0 = b.x0, b.y0, b.z0
    after_x, after_y, after_z = b.behind

    @njit(fastmath=True, parallel=True)
    def run(q, p, k):
        nz, ny, nx = q.shape
        for y in prange(y0, ny - after_y):
            for x in range(x0, nx - after_x):
                for z in range(z0, nz - after_z):
                    point(q, p, k, z, y, x)

    return run


def _constant(point: Callable, b: Box) -> Callable:
    x0, x1, y0, y1, z0, z1 = b.x0, b.x1, b.y0, b.y1, b.z0, b.z1

    @njit(fastmath=True, parallel=True)
    def run(q, p, k):
        for z in prange(z0, z1):
            for y in range(y0, y1):
                for x in range(x0, x1):
                    point(q, p, k, z, y, x)

    return run


def _binding(loops: Callable) -> Callable[[Any, Call], list]:
    @cache  # even and odd steps differ in nothing but their arrays
    def compiled(c: tuple, box: Box) -> Callable:
        return loops(njit(inline="always")(naive.point_of(c)), box)

    def bind(backend: Any, call: Call) -> list:
        u = update_of(call)
        run = compiled(u.c, u.box)
        return [lambda: run(*u.arrays)]

    return bind


serial, parallel, strided, constant = map(_binding, (_serial, _parallel, _strided, _constant))

"""Constants that the kernel of a sweep has built in: numbers, counts, and the roles of arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.operators.stencils import AXES


@dataclass(frozen=True)
class SweepConstants:
    """What a sweep's kernel has built in.

    Attributes:
        tables: strides, coefficients, profiles, surface weights.
        stretched: axes whose derivatives pass through layer memory.
        closed: whether the rows are those under a free surface.
        masked: whether rows may end within a lane.
        half: half the order of the differences.
        writes: arrays that the formula changes; they come first.
        reads: arrays that it differentiates; they follow.
        columns: numbers of the arrays that it differentiates along z.
        arrays: all arrays.
        memories: memory variables of a point, where derivatives pass through one after the other.
        short: whether each array is kept in 16 bits.
        scaled: whether derivatives along z are divided by how tall their cells are.
        asked_arrays: those that the second-level cache is asked for before a point is updated.
        unread: those that are changed whatever they were, which no march asks for.
        short_memory: whether layers' memory is kept in 16 bits.
    """

    tables: KernelConstants
    stretched: str
    closed: bool
    masked: bool
    half: int
    writes: int
    reads: int
    columns: tuple[int, ...]
    arrays: int
    memories: int
    short: tuple[bool, ...]
    scaled: bool = False
    asked_arrays: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()
    short_memory: bool = False

    def __str__(self) -> str:
        """Name all that a kernel has built in; the profiles come as arguments."""
        # Profiles are passed as arrays; all other numbers are literals of the kernel's code, hence
        # hashed.
        t = self.tables
        shapes = [a.shape for a in (*t.profiles, t.up)]
        rest = (self.stretched, self.closed, self.masked, self.half, self.writes, self.reads)
        counts = self.arrays, self.memories, self.columns, self.short, self.asked_arrays
        kept = f"{t.inside} {t.even_layers} {self.short_memory}"
        return f"{digest_of(t)} {t.surface} {shapes} {rest} {counts} {kept}"


def digest_of(tables: KernelConstants) -> str:
    """Identify the numbers that kernels have built in."""
    digest = hashlib.sha256()
    for a in (tables.strides, tables.first, tables.second, tables.on_nodes, tables.numbers):
        digest.update(np.ascontiguousarray(a).tobytes())
    return digest.hexdigest()


def built_in(tables: KernelConstants) -> dict[str, list]:
    """Return coefficients and scalars as Python numbers: they become immediate operands."""
    coefficients = ("first", "second", "on_nodes")
    numbers = {name: [[float(c) for c in row] for row in getattr(tables, name)]
               for name in coefficients}  # fmt: skip
    return numbers | {"numbers": [float(c) for c in tables.numbers]}


def inner_nodes(tables: KernelConstants, axis: str, width: int) -> tuple[int, int]:
    """Return the first and the last node along an axis whose medium layers go on with.

    Along x they begin a lane of `width` numbers, so that loads stay aligned. Layers with a medium
    of their own read all of it.
    """
    if not tables.even_layers:
        return 0, tables.profiles[AXES.index(axis)].shape[1]
    low, high = tables.inside[AXES.index(axis)]
    lane = width if axis == "x" else 1
    return int((low - 1 - lane) // lane * lane), int(-(-high // lane) * lane)

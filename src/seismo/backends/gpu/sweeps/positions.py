"""Where a thread of a sweep stands in its arrays, and its block in the planes that it copies."""

from __future__ import annotations

from dataclasses import dataclass

from seismo.backends.code.traced import IRValue


@dataclass(frozen=True)
class ThreadPosition:
    """Which points are a thread's: a lane of each plane.

    Attributes:
        x: of its first point.
        y: of its rows.
        x_end: behind the last point of the rows.
        shot: offset of the shot's fields.
        packed: offset of coefficients that are kept for some planes.
        memory: layer memory, as in `KernelContext`: index of (0, 0, 0), strides, slot size.
        memory_y: see there.
        memory_z: see there.
        slot: see there.
    """

    x: IRValue
    y: IRValue
    x_end: IRValue | int
    shot: IRValue
    packed: IRValue | int
    memory: IRValue | int = 0
    memory_y: IRValue | int = 0
    memory_z: IRValue | int = 0
    slot: IRValue | int = 0


@dataclass(frozen=True)
class BlockPosition:
    """Where a block of threads stands in its planes, and a thread in it.

    Attributes:
        x: of the block's first point.
        y: of its first row.
        x_end: behind the last point of the box.
        y_end: behind its last row.
        column: the thread's number along x.
        row: and along y.
        number: of the thread among those that copy together.
        threads: how many do.
        inside: whether the thread has points.
    """

    x: IRValue
    y: IRValue
    x_end: IRValue | int
    y_end: IRValue | int
    column: IRValue
    row: IRValue
    number: IRValue
    threads: int
    inside: IRValue

"""NumPy backends: the base of host backends, and the reference that the others are tested against.

`HostBackend` has the copies, the step counter and the loop over steps of backends whose arrays are
NumPy's. `ReferenceBackend` runs the same formulas on index arrays, slow and plain.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from seismo.backends import machine
from seismo.backends.base import (
    FIRST_SPAN,
    PML_COST,
    SHORT,
    SPAN_COLUMNS,
    Communicator,
    Copy,
    Group,
    KernelConstants,
    KernelFields,
    LargestMagnitude,
    Launch,
    Rows,
    Search,
    Step,
    Variant,
    computed_in,
)
from seismo.backends.operators.derivatives import KernelContext
from seismo.equations.framework.formula import Formula


def _nothing() -> None:
    """Do nothing: the work is done already."""


class HostBackend:
    """Arrays in this machine's own memory; launches are done when they return."""

    batch_points = 1 << 20  # fill the caches
    at_once = False  # the previous tile's data is in the cache
    pml_costs = PML_COST["cpu"]
    has_float16 = False
    copied_from = 0
    looks_ahead = 0
    measured_from = 2.0

    def __init__(self, precision: str) -> None:
        self.precision = computed_in(precision)
        self.clock = np.zeros(1, np.int64)
        self._before = (time.perf_counter(), time.process_time())

    def marches_slopes(self, formula: Formula, reach: int) -> bool:
        """Keep slope terms in arrays: the caches hold them; see `Backend.marches_slopes`."""
        return False

    def array(self, host_array: np.ndarray) -> np.ndarray:
        """Copy an array."""
        return np.array(host_array)

    def fetch(self, array: np.ndarray) -> np.ndarray:
        """Return the array itself."""
        return array

    def host_buffer(self, size: int) -> np.ndarray:
        """Allocate bytes."""
        return np.empty(size, np.uint8)

    def send(self, array: np.ndarray, host: np.ndarray) -> Copy:
        """Copy an array at once; see `Backend.send`."""
        np.copyto(host, array)
        return Copy(_nothing, _nothing)

    def exchange(self, ranks: Communicator, out: dict[int, Any], into: dict[int, Any]) -> tuple:
        """Let the ranks carry them; see `Backend.exchange`."""
        start, finish = ranks.exchange(out, into)
        return (start,), (finish,)

    def mark(self) -> Callable[[], None]:
        """All that was launched is done; see `Backend.mark`."""
        return _nothing

    def reaches(self, other: Any) -> bool:
        """All memory is the host's; see `Backend.reaches`."""
        return True

    def copy(
        self, sources: Sequence[Any], source_rows: Rows, targets: Sequence[Any], target_rows: Rows
    ) -> Launch:
        """Copy rows by NumPy's means; see `Backend.copy`."""
        pairs = [
            (target_rows.of(target), source_rows.of(source))
            for source, target in zip(sources, targets, strict=True)
        ]

        def run() -> None:
            for target, source in pairs:
                np.copyto(target, source)

        return run

    def staged_copy(self, source: Any, other: Any, target: Any) -> tuple:
        """There is nothing to be carried; see `Backend.staged_copy`."""
        return ()

    def program(self, steps: tuple[Step, ...], others: Any = ()) -> Callable[[int, int], None]:
        """Make the loop of a single rank; see `Backend.program`."""
        # The list of launches is flattened once: the loop does nothing but call them.
        flat = [[launch for group in step for launch in group] for step in steps]

        def advance(first: int, count: int) -> None:
            for step in range(first, first + count):
                self.clock[0] = step
                for launch in flat[step % len(flat)]:
                    launch()

        return advance

    def alone(self, group: Group) -> Callable[[int], None]:
        """Make a program of a single group; see `Backend.alone`."""
        advance = self.program(([group],))
        return lambda step: advance(step, 1)

    def moment(self) -> Callable[[], float]:
        """Read the clock: launches are done when they return."""
        now = time.perf_counter()
        return lambda: now

    def annotated(self, name: str) -> AbstractContextManager[Any]:
        """Name nothing."""
        return nullcontext()

    def wait(self) -> None:
        """Return at once."""

    def use_in_thread(self) -> None:
        """Any thread may; see `Backend.use_in_thread`."""

    def largest(self, field: np.ndarray, plane: int) -> Search:
        """Look at every fourth plane of a large field; see `Backend.largest`."""
        # Every fourth plane of large fields: instability spreads over a plane within few steps.
        planes = field[: field.size // plane * plane].reshape(-1, plane)
        step = max(1, min(4, len(planes) // 16))
        sampled = planes[::step]

        def start() -> Callable[[], LargestMagnitude]:
            with np.errstate(invalid="ignore"):
                # NaN survives these reductions, which copy nothing, and comes before all else.
                row = int(np.maximum(sampled.max(axis=1), -sampled.min(axis=1)).argmax())
            # The row and then the number in it of the largest magnitude.
            line = np.abs(sampled[row])
            column = int(line.argmax())
            size = float(line[column])
            largest = LargestMagnitude(
                size if math.isfinite(size) else math.inf, row * step * plane + column
            )
            return lambda: largest

        return start

    @property
    def threads(self) -> int:
        """Threads that share the work."""
        return 1

    def free_memory(self) -> int | None:
        """Return None: there is the host's memory only."""
        return None

    def bandwidth(self) -> float:
        """Measure the bytes a second that the threads move, read and written."""
        return machine.bandwidth(self.threads)

    def health(self) -> dict[str, float]:
        """Describe how busy the threads were since the last time, and the memory of the process."""
        # Utilisation: CPU time over wall time since the last call, per thread.
        now = (time.perf_counter(), time.process_time())
        wall, busy = (b - a for a, b in zip(self._before, now, strict=True))
        self._before = now
        health = {"utilisation": min(1.0, busy / (wall * self.threads))} if wall > 0 else {}
        memory = machine.resident_memory()
        return health | ({} if memory is None else {"memory": float(memory)})

    def describe(self) -> dict[str, Any]:
        """Name the processor and the threads."""
        return {"device": machine.processor(), "threads": self.threads}


AT_ONCE = 1 << 16  # points of a lane, about: as much as fits the caches


class _Lanes:
    """A lane is any number of points, by their indices."""

    @staticmethod
    def load(f: np.ndarray, i: np.ndarray) -> np.ndarray:
        return f[i].astype(np.float32) if f.dtype == SHORT else f[i]

    read = load

    def beside(self, f: np.ndarray, i: np.ndarray, n: int) -> np.ndarray:
        return self.load(f, i + n)

    def level(self, f: np.ndarray, i: np.ndarray, n: int, stride: int) -> np.ndarray:
        return self.load(f, i + n * stride)

    row = level

    @staticmethod
    def store(f: np.ndarray, i: np.ndarray, value: np.ndarray, mask: None) -> None:
        f[i] = value

    @staticmethod
    def fetch(f: np.ndarray, i: np.ndarray) -> None:
        """Leave the caches alone."""

    @staticmethod
    def rounded(value: np.ndarray) -> np.ndarray:
        return value


class ReferenceBackend(HostBackend):
    """Formulas on NumPy index arrays: a "lane" holds all points of a range of planes."""

    name = "reference"
    lane_width = 1
    has_float16 = True

    def __init__(self, precision: str = "float32") -> None:
        super().__init__(precision)
        self.lanes = _Lanes()

    def zeros(self, size: int, short: bool = False) -> np.ndarray:
        """Allocate zeros."""
        return np.zeros(size, SHORT if short else self.precision)

    def sweep(
        self,
        formula,
        variant: Variant,
        tables: KernelConstants,
        boxes,
        operands: KernelFields,
        back: bool = False,
        whole_boxes: np.ndarray | None = None,
    ):
        """Bind a formula; see `Backend.sweep`."""
        # Formulas bound twice: to the ends of rows, in layers along x, and to the interior.
        ends, middle = variant.bind(formula, self.lanes)

        def run() -> None:
            # Some planes of a box at a time, by x-segment, with NumPy over z, y and x.
            for box in boxes:
                z0, z1, y0, y1 = (int(n) for n in box[:4])
                deep = max(1, AT_ONCE // ((y1 - y0) * tables.strides[0]))
                for z in range(z0, z1, deep):
                    planes = np.arange(z, min(z + deep, z1))
                    for span in range(3):
                        context, i = context_of(tables, box, operands.memory[0], planes, span)
                        (middle if span == 1 else ends)(i, context, *operands.all)

        return [run]

    def each(self, body, count: int, arguments: tuple, writes, shots=None):
        """Bind a loop; see `Backend.each`."""

        def run() -> None:
            for n in range(count):
                body(n, *arguments)

        return run

    def each_row(self, body, count: int, length: int, arguments: tuple, writes, shots=None):
        """Bind a loop over rows; see `Backend.each_row`."""

        def run() -> None:
            for n in range(count):
                body(n, 0, length, *arguments)

        return run


def context_of(
    tables: KernelConstants, box, memory, planes: np.ndarray, span: int
) -> tuple[KernelContext, np.ndarray]:
    """Return a formula's context for a segment of planes, and its indices (z, y, x)."""
    first = FIRST_SPAN + span * SPAN_COLUMNS
    shot = int(box[4])
    packed = int(box[5])
    # All points of the segment are a single lane; the mask is not needed.
    x0, x1, base, memory_y, memory_z, slot = (int(n) for n in box[first : first + SPAN_COLUMNS])
    x = np.arange(x0, x1)
    rows = slice(int(box[2]), int(box[3]))
    y = np.arange(rows.start, rows.stop)[:, None]
    z = planes[:, None, None]
    y_stride, z_stride = (int(s) for s in tables.strides)
    # Rows of the SBP closure, clamped to the last row.
    closed = np.clip(planes - tables.surface, 0, len(tables.up) - 1)
    px, py, pz = tables.profiles
    # The same names as the compiled backends, with NumPy arrays for lanes.
    context = KernelContext(
        y_stride, z_stride, tables.first, tables.second, tables.on_nodes, tables.numbers, shot,
        None, shot, packed,
        memory, base + z * memory_z + y * memory_y + x, memory_y, memory_z, slot,
        memory_y, x, px.ravel(), px.shape[1], py[:, rows, None], pz[:, planes, None, None],
        tables.up[closed].T[..., None, None], tables.down[closed].T[..., None, None],
        (z - tables.surface) * z_stride, ground=z * z_stride + shot,
    )  # fmt: skip
    return context, z * z_stride + y * y_stride + x + shot

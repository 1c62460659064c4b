"""A card whose kernels are compiled for this machine's processor, and run thread by thread.

The code of a sweep is the traced code of the GPU, but for loads and stores, which reach the host's
memory, and what a thread asks of its card. Around every array stand numbers that are not numbers:
a thread that reads beyond one shows, and so does one that writes there (`SimulatedCard.check`).
"""

from __future__ import annotations

import ctypes
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, config
from numba.core.codegen import JITCPUCodegen

from seismo.backends.base import Copy
from seismo.backends.cpu.c_functions import (
    Compile,
    Compiled,
    address_of,
    written,
)
from seismo.backends.gpu.arrays import LargestKernel
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.launch_order import merged
from seismo.backends.gpu.resident.kernel import TileKernel
from seismo.backends.gpu.resident.threads import Member, SharedLanes
from seismo.backends.gpu.resident.tile_layout import TileNumbers, TileShape, tile_numbers
from seismo.backends.gpu.sweeps.kernels import SweepKernel
from seismo.backends.gpu.sweeps.lanes import LANE_BYTES, CudaLanes
from seismo.backends.gpu.sweeps.layouts import H200, BlockShape
from seismo.backends.kernel_cache import source_digest
from seismo.backends.traced import (
    I32,
    IRArray,
    IRValue,
    loop,
    spread,
)

MARGIN = 4096  # numbers beside an array


def _small(axes: str, kind: str) -> BlockShape:
    """Return few threads, that march along z or do one plane each."""
    if "y" in axes:
        return BlockShape((2, 2, 1), 3)
    return BlockShape((2, 1, 2), 1 if kind == "second" else 3)


SHAPES = {key: _small(*key[:2]) for key in H200}


class InHostMemory:
    """What lanes do otherwise in this machine's memory."""

    space = 0

    def ask(self, address: IRValue, index: IRValue) -> None:
        """Leave the caches alone."""

    def shared(self, builder: ir.IRBuilder, count: int) -> ir.Value:
        """Set memory aside for each thread: it copies all of a plane (`HostThread.share`)."""
        memory = cgutils.alloca_once(builder, ir.ArrayType(self.kind, count))
        memory.align = LANE_BYTES
        return builder.bitcast(memory, self.kind.as_pointer())

    def copy_to_shared(
        self, memory: ir.Value, shared_index: IRValue, address: IRValue, index: IRValue
    ) -> None:
        """Copy at once."""
        lane = self.read(address, index).value
        target = self._in_shared(memory, shared_index, lane.type)
        index.builder.store(lane, target).align = LANE_BYTES

    def await_copies(self, builder: ir.IRBuilder) -> None:
        """Threads are alone."""

    def unknown(self, index: IRValue) -> IRValue:
        """Leave an index as it is."""
        return index

    def any_of_warp(self, condition: IRValue) -> IRValue:
        """Threads are alone."""
        return condition

    def rounded(self, value: IRValue) -> IRValue:
        """Hide from the compiler that it is a product."""
        same = ir.FunctionType(value.value.type, [value.value.type])
        return value.then(value.builder.asm(same, "", "=x,0", [value.value], True))


class HostLanes(InHostMemory, CudaLanes):
    """The same lanes in this machine's memory."""


class HostClusterLanes(InHostMemory, SharedLanes):
    """Those of clusters."""

    def moved(self, number: IRValue) -> IRValue:
        """Hide from the compiler that it is a product."""
        return self.element(self.rounded(spread(number, self.vector)), 0)

    def quotient(self, a: IRValue, b: IRValue) -> IRValue:
        """Divide as this machine does."""
        return a.then(a.builder.fdiv(a.value, b.value))


class HostCluster:
    """The blocks of a cluster, whose threads take each phase one after the other."""

    def __init__(
        self, shot: IRValue, lanes: SharedLanes, blocks: IRValue, threads: int, memory: IRValue,
        size: IRValue,
    ) -> None:  # fmt: skip
        self._shot = shot
        self._lanes = lanes
        self._blocks = blocks
        self._threads = threads
        self._memory = memory
        self._size = size

    def keep(self, find: Callable) -> None:
        self._find = find

    def begin(self) -> None:
        pass

    synchronize = begin

    def phase(self, work: Callable) -> None:
        zero = self._shot.constant(0)
        threads = zero.constant(self._threads)
        with loop(zero, self._blocks) as rank, loop(zero, threads) as thread:
            memory = self._memory + rank * self._size
            member = Member(self._shot, rank.short(), thread.short(), memory)
            work(replace(member, kept=self._find(member)))

    def exchange(self, work: Callable, turn: IRValue, kind: int) -> None:
        def send(by: int, address: IRValue, lane: IRValue) -> None:
            self._lanes.store(address + self._size * by, address.constant(0), lane, None)

        self.phase(lambda member: work(member, send))


class HostTiles:
    """The tiles of a plane, whose threads take each phase one after the other.

    What a thread has in registers is in memory here, behind that of all blocks.
    """

    def __init__(
        self, lanes: SharedLanes, plane: TileNumbers, shape: TileShape, blocks: IRValue,
        memory: IRValue, size: IRValue,
    ) -> None:  # fmt: skip
        self._lanes = lanes
        self._plane = plane
        self._shape = shape
        self._blocks = blocks
        self._memory = memory
        self._size = size
        self.registers = self

    def read(self, member: Member, n: int) -> IRValue:
        return self._lanes.load(*self._register(member, n))

    def write(self, member: Member, n: int, lane: IRValue) -> None:
        self._lanes.store(*self._register(member, n), lane, None)

    def _register(self, member: Member, n: int) -> tuple[IRValue, IRValue]:
        block = (member.shot - self._plane.shot) * self._plane.tiles.wide() + member.rank.wide()
        thread = block * self._shape.threads + member.thread.wide()
        start = self._memory + self._size * self._blocks
        return start, (thread * self._shape.strip + n) * self._lanes.width

    def keep(self, find: Callable) -> None:
        self._find = find

    @property
    def member(self) -> Member:
        zero = self._plane.shot.constant(0)
        return self._at(zero, zero)

    def _at(self, block: IRValue, thread: IRValue) -> Member:
        memory = self._memory + block * self._size
        tiles = self._plane.tiles.wide()
        shot = block // tiles
        rank = (block - shot * tiles).short()
        member = Member(self._plane.shot + shot, rank, thread.short(), memory)
        return replace(member, kept=self._find(member))

    def phase(self, work: Callable) -> None:
        zero = self._plane.shot.constant(0)
        threads = zero.constant(self._shape.threads)
        with loop(zero, self._blocks) as block, loop(zero, threads) as thread:
            work(self._at(block, thread))

    def publish(self, count: IRValue) -> None:
        pass

    await_neighbours = publish


class HostThread:
    """A thread's numbers, which loops of the host's count."""

    def __init__(self, blocks: list[IRValue], threads: list[IRValue]) -> None:
        self._blocks = dict(zip("xyz", blocks, strict=True))
        self._threads = dict(zip("xyz", threads, strict=True))

    def number(self, axis: str) -> IRValue:
        return self._threads[axis]

    def share(self, threads: tuple[int, int, int]) -> tuple[IRValue, int]:
        """Threads run one after the other: none can wait for another's share."""
        return self._threads["x"].constant(0), 1

    def block(self, axis: str) -> IRValue:
        number = self._blocks[axis]
        return number.then(number.builder.trunc(number.value, I32))


host_lanes = cache(HostLanes)


@contextmanager
def unoptimised() -> Iterator[None]:
    """Let the compiler take a quarter of its time: what it makes here runs on a few points."""
    kept = config.OPT
    config.OPT = type(kept)(0)
    try:
        yield
    finally:
        config.OPT = kept


@cache
def _code_generator() -> JITCPUCodegen:
    return JITCPUCodegen("simulated_card")


def quickly(compiled: Compile) -> Compile:
    """Return what compiles the same function without optimising it."""

    def compile_it(codegen: JITCPUCodegen, name: str) -> Compiled:
        with unoptimised():
            return compiled(_code_generator(), name)

    return compile_it


_TEXT = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@cache
def compiled(
    kernel: str, trace: Callable, lanes: HostLanes, counts: tuple[int, ...]
) -> Callable:  # fmt: skip
    """Compile a sweep: a function of the address of grid, block and the addresses it is given."""

    def write(first: IRValue, last: IRValue, parameters: IRValue, step: IRValue) -> None:
        words = IRArray(parameters)
        sizes = [words[n] for n in range(6)]
        given = iter(words[n] for n in range(6, 6 + sum(counts)))
        arguments = [list(islice(given, count)) for count in counts]
        with ExitStack() as loops:
            numbers = [loops.enter_context(loop(first, size)) for size in sizes]
            trace(lanes, HostThread(numbers[:3], numbers[3:]), *arguments)

    return _function(f"{kernel} {counts}", write)


@cache
def compiled_clusters(
    name: str, trace: Callable, precision: str, counts: tuple[int, int, int], threads: int
) -> Callable:
    """Compile a kernel of clusters: a function of where the words that it is given stand.

    They are clusters, blocks of each, their memory, bytes of a block's, first step, steps, address
    of the coefficients; then addresses and whole numbers.
    """

    def write(first: IRValue, last: IRValue, parameters: IRValue, step: IRValue) -> None:
        lanes = HostClusterLanes(precision)
        given = (IRArray(parameters)[n] for n in range(7 + counts[0] + counts[1]))
        clusters, blocks, memory, size, start, steps, numbers = islice(given, 7)
        words = [list(islice(given, count)) for count in counts[:2]]
        coefficients = [IRArray(numbers, lanes.kind)[n] for n in range(counts[2])]
        with loop(first, clusters) as shot:
            cluster = HostCluster(shot, lanes, blocks, threads, memory, size)
            trace(lanes, cluster, *words, coefficients, start, steps)

    return _function(f"{name} {counts} {threads}", write)


@cache
def compiled_tiles(
    name: str, kernel: TileKernel, precision: str, counts: tuple[int, int, int]
) -> Callable:
    """Compile a kernel of tiles: a function of where the words that it is given stand.

    They are those of `compiled_clusters` without clusters.
    """

    def write(first: IRValue, last: IRValue, parameters: IRValue, step: IRValue) -> None:
        lanes = HostClusterLanes(precision)
        given = (IRArray(parameters)[n] for n in range(6 + counts[0] + counts[1]))
        blocks, memory, size, start, steps, numbers = islice(given, 6)
        words = [list(islice(given, count)) for count in counts[:2]]
        coefficients = [IRArray(numbers, lanes.kind)[n] for n in range(counts[2])]
        plane = tile_numbers(words[1])[0]
        tiles = HostTiles(lanes, plane, kernel.shape, blocks, memory, size)
        kernel.trace(lanes, tiles, *words, coefficients, start, steps)

    return _function(f"{name} {counts}", write)


def _function(name: str, write: Callable) -> Callable:
    address = address_of(f"{source_digest()} {_TEXT} {name}", quickly(written(write)))
    words = (ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64, ctypes.c_int64)
    return ctypes.CFUNCTYPE(None, *words)(address)


def _run_body(kernel: Any, grid: tuple, block: tuple, count: int, length: int, arguments: tuple):
    """Run a body for each n, or each point of each row."""
    for n in range(count):
        if kernel.rows:
            for x in range(length):
                kernel.body(n, x, x + 1, *arguments)
        else:
            kernel.body(n, *arguments)


def _run_largest(kernel: LargestKernel, grid: tuple, block: tuple, count: int, bits, largest):
    """Find the largest key of each block."""
    places = np.arange(count, dtype=np.uint64)
    keys = kernel.key(bits[:count], places)
    owner = places // np.uint64(block[0]) % np.uint64(grid[0])
    for n in range(grid[0]):
        largest[n] = keys[owner == n].max(initial=0)


class SimulatedCard:
    """Stand in for `seismo.backends.gpu.card.Card`."""

    name, capability = "simulator", (9, 0)
    multiprocessors = 132

    def __init__(self, peers: bool = True) -> None:
        self.peers = peers
        self._margins: list[np.ndarray] = []

    def lanes(self, precision: str, narrow: bool = False):
        return host_lanes(precision, narrow)

    def zeros(self, size: int, precision: str):
        """Allocate zeros as aligned as lanes, with numbers that are not numbers around."""
        around = np.full(size + 2 * MARGIN + 16, np.nan, precision)
        first = MARGIN + (-(around.ctypes.data + MARGIN * around.itemsize) % 64) // around.itemsize
        around[first : first + size] = 0.0
        self._margins += [around[:first], around[first + size :]]
        return around[first : first + size]

    def array(self, values):
        return np.array(values)

    def check(self) -> None:
        """See that nothing was written beside an array."""
        assert all(np.isnan(margin).all() for margin in self._margins)

    def fetch(self, array):
        return np.asarray(array)

    def fetch_later(self, array):
        copy = np.array(array)
        return lambda: copy

    def host_buffer(self, size: int):
        return np.empty(size, np.uint8)

    def send(self, array, host):
        np.copyto(host, array)
        return Copy(lambda: None, lambda: None)

    def fetching(self, array, host):
        return lambda: np.copyto(host.view(array.dtype), array)

    def putting(self, host, array):
        return lambda: np.copyto(array, host.view(array.dtype))

    def copying(self, given, rows, to, there):
        def run() -> None:
            for a, b in zip(given, to, strict=True):
                np.copyto(there.joined.of(b), rows.joined.of(a))

        return run

    def alone(self, group, clock):
        def run(step: int) -> None:
            clock[0] = step
            for launch in group:
                launch()

        return run

    def moment(self):
        now = time.perf_counter()
        return lambda: now

    def annotated(self, name: str):
        return nullcontext()

    def use_in_thread(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def health(self):
        return {"memory": 1e9}

    def describe(self):
        return {"device": self.name}

    def free_memory(self) -> int:
        return 1 << 40

    def bandwidth(self) -> float:
        return 1e9

    def postpone(self, launches) -> None:
        pass

    def clustered(self, kernel, sizes, arguments, beside=()):
        *clusters, threads, shared = sizes
        arrays, plane, coefficients = arguments
        words = [*(array.ctypes.data for array in arrays), *plane]
        numbers = np.array(coefficients)
        counts = (len(arrays), len(plane), len(coefficients))
        size = clusters[-1] * shared // 4
        if len(clusters) == 1:
            function = compiled_tiles(str(kernel), kernel, kernel.precision, counts)
            registers = clusters[0] * threads * kernel.shape.strip * 4
            memory = self.zeros(size + registers, "float32")
        else:
            trace = kernel.trace
            function = compiled_clusters(str(kernel), trace, kernel.precision, counts, threads)
            memory = self.zeros(size, "float32")

        def advance(first: int, count: int, held=arguments) -> None:
            sizes = (*clusters, memory.ctypes.data, shared, first, count)
            given = np.array([*sizes, numbers.ctypes.data, *words], np.int64)
            function(0, 0, given.ctypes.data, 0)

        return advance

    def launch(self, kernel, grid, block, arguments, *, addresses, writes, bounds=None, call=None):
        grid, block = (tuple(int(n) for n in size) for size in (grid, block))
        if isinstance(kernel, SweepKernel):
            addresses = [array.ctypes.data for some in arguments for array in some]
            parameters = np.array([*grid, *block, *addresses], np.uint64)
            counts = tuple(map(len, arguments))
            lanes = self.lanes(kernel.precision, kernel.narrow)
            function = compiled(str(kernel), kernel.trace, lanes, counts)

            def run(held=arguments) -> None:
                function(0, 0, parameters.ctypes.data, 0)
        else:
            go = _run_largest if isinstance(kernel, LargestKernel) else _run_body

            def run() -> None:
                go(kernel, grid, block, *arguments)

        run.call = call
        return run

    def program(self, members):
        def advance(first: int, count: int) -> None:
            for member in members:
                member.clock[0] = first
            for step in range(first, first + count):
                for group in merged([m.steps[step % len(m.steps)] for m in members]):
                    for launch in group:
                        launch()

        return advance

    def mark(self):
        return lambda: None

    def reaches(self, other) -> bool:
        return self.peers


class SimulatedBackend(GpuBackend):
    """The GPU backend with small blocks, and planes in clusters on request."""

    search = (4, 3)
    in_clusters = False


def simulated(precision: str, peers: bool = True) -> GpuBackend:
    return SimulatedBackend(precision, SimulatedCard(peers), SHAPES)

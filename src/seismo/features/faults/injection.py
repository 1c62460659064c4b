"""Faults of many subfaults injected into one subdomain, window by window of steps.

The subfaults that act in a window of steps are sorted by the points that they begin at: lines,
segments and pieces, as `seismo.backends.point_kernels` has them.

Launches are bound once, to arrays for the largest number of subfaults that act at a time. Before
each window the weights and signals of its subfaults are copied there, while a thread computes the
next window.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from seismo.acquisition.sources import PointSource, Shot
from seismo.backends.base import Backend, Launch
from seismo.backends.point_kernels import (
    BLOCK,
    PIECE,
    REACH,
    ROWS,
    WIDTH,
    add_spread,
    spread,
    sum_segment,
)
from seismo.equations.framework.table import Field
from seismo.errors import ScenarioError
from seismo.features.faults.subfaults import (
    NUMBERS_PLACED,
    WINDOW,
    FaultSignals,
    Subfaults,
    placed_faults,
)
from seismo.grid.decomposition import Subdomain
from seismo.runs.resources.memory import FeatureMemory
from seismo.solver.discretization import Discretization
from seismo.solver.fields import Fields
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver

Levels = dict[tuple[str, bool], np.ndarray]  # by axis, and whether half a cell further
_TOGETHER = 16  # consecutive rows along z of a thread


class Table(NamedTuple):
    """What `seismo.backends.point_kernels` takes of the subfaults that act in a window."""

    spans: np.ndarray
    slots: np.ndarray
    segments: np.ndarray
    order: np.ndarray
    firsts: np.ndarray
    along: np.ndarray
    across: np.ndarray
    down: np.ndarray


def fault_pieces(discretization: Discretization, subdomain: Subdomain) -> list[FaultPieces]:
    """Return the faults of a run, of the only shot that has any, in a subdomain."""
    return [FaultPieces(subfaults, subdomain) for subfaults in placed_faults(discretization)]


class FieldPieces:
    """The pieces of rows of a field in a subdomain that the subfaults of a fault act on.

    Attributes:
        field: the field.
        pieces: (piece, 3) first x, and y and z counted as `lines` does.
        lines: (z, y) numbers of lines, -1 where none begins.
        masks: (piece, depth) bits j of the rows along y where a line begins, j rows back.
        most_segments: that act in a window at most, or a few more.
    """

    def __init__(self, subfaults: Subfaults, field: Field, subdomain: Subdomain) -> None:
        """Find all that any subfault acts on."""
        self.field = field
        self._subfaults = subfaults
        self._deep = subfaults.depths.width
        # First point of each subfault along each axis: WIDTH x WIDTH x depth points follow.
        self._spread = spread = subfaults.spread
        self._first = {a: subfaults.first(field, a)[spread] for a in "xyz"}
        (y, z) = (self._first[a] for a in "yz")
        low = [int(along.min()) if along.size else 0 for along in (y, z)]
        high = [int(along.max()) if along.size else 0 for along in (y, z)]
        # A frame of -1 is as wide as the points that a line acts on.
        self._origin = low[0] - WIDTH, low[1] - self._deep
        shape = high[1] - low[1] + 1 + 2 * self._deep, high[0] - low[0] + 1 + 2 * WIDTH
        # Lines: (z, y) where subfaults begin, numbered; -1 where none does.
        self.lines = np.full(shape, -1, np.int32)
        at = z - self._origin[1], y - self._origin[0]
        self.lines[at] = 0
        begun = np.nonzero(self.lines == 0)
        self.lines[begun] = np.arange(begun[0].size)
        self._count = begun[0].size
        self._line = self.lines[at]
        self._blocks = subdomain.owned.shape[0] // BLOCK + 2
        self.pieces = self._all_pieces(subdomain)
        _, y, z = self.pieces.T
        self.masks = np.zeros((len(self.pieces), self._deep), np.int32)
        for k in range(self._deep):
            for j in range(WIDTH):
                self.masks[:, k] |= (self.lines[z - k, y - j] >= 0).astype(np.int32) << j
        self._number = np.full(len(subfaults.fault), -1)
        self._number[spread] = np.arange(spread.size)
        self.most_segments = self.segments_at_most(subfaults.signals)

    @property
    def first_points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First x, y, z (piece) in the grid."""
        x, y, z = self.pieces.T
        return x, y + self._origin[0], z + self._origin[1]

    def members(self) -> np.ndarray:
        """Return (subfault that is spread) whether each acts on any of the pieces."""
        # Rows of this subdomain's pieces.
        touched = np.zeros(self.lines.shape, bool)
        touched[self.pieces[:, 2], self.pieces[:, 1]] = True
        z, y = (self._first[a] - o for a, o in zip("zy", self._origin[::-1], strict=True))
        acts = np.zeros(z.size, bool)
        for k in range(self._deep):
            for j in range(WIDTH):
                acts |= touched[z + k, y + j]
        return acts

    def segments_at_most(self, signals: FaultSignals) -> int:
        """Return how many segments act in a window at most, or a few more.

        A segment is taken to act from when its first subfault begins until its last ends.
        """
        # Subfaults that act at all, by segment.
        acts = signals.stop[self._spread] > signals.first[self._spread]
        if not acts.any():
            return 1
        keys = self._line * self._blocks + self._first["x"] // BLOCK
        _, segment = np.unique(keys[acts], return_inverse=True)
        # First and last steps of each segment.
        begin = np.full(segment.max() + 1, 2**62)
        end = np.zeros(begin.size, np.int64)
        np.minimum.at(begin, segment, signals.first[self._spread][acts])
        np.maximum.at(end, segment, signals.stop[self._spread][acts])
        return signals.together(begin, end)

    @property
    def depth(self) -> int:
        """Rows along z that a subfault acts on."""
        return self._deep

    def shapes(self, most: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of a `Table` with room for so many subfaults."""
        slots = (max(1, self._count), self._blocks)
        level = (most, WIDTH)
        segments = (self.most_segments, 3)
        alone = (most,)
        down = (most, self._deep)
        return (len(self.pieces), 2), slots, segments, alone, alone, level, level, down

    def table(self, numbers: np.ndarray, levels: Levels, most: int, kind: np.dtype) -> Table:
        """Return the tables of acting subfaults, and their order, padded to `most`.

        Args:
            numbers: of the subfaults.
            levels: their weights along x and y.
            most: subfaults.
            kind: of the run's numbers.
        """
        spread_numbers = self._number[numbers]
        line = self._line[spread_numbers]
        x = self._first["x"][spread_numbers]
        # Subfaults sorted by line and first point along x: segments are contiguous.
        order = np.lexsort((numbers, x, line))
        line = line[order]
        x = x[order]
        # Segments: where each begins and ends, and the slot of its line and block.
        keys, starts = np.unique(line * self._blocks + x // BLOCK, return_index=True)
        segments = np.zeros((self.most_segments, 3), np.int32)
        ends = np.append(starts[1:], x.size)[: keys.size]
        segments[: keys.size] = np.stack([starts, ends, keys % self._blocks * BLOCK], axis=1)
        slots = np.full((max(1, self._count), self._blocks), -1, np.int32)
        slots.ravel()[keys] = np.arange(keys.size)
        # Separable weights along x, y and z; their product acts at a point.
        along, across = (levels[a, a in self.field.half][order] for a in "xy")
        down = self._subfaults.down(self.field, numbers[order])
        limits = np.finfo(kind).max
        # Overflow of the run's precision.
        if not (np.abs(down) < limits).all():  # NaN too
            raise ScenarioError(
                f"source {self._subfaults.fault.name}: too strong for {kind} numbers; use a "
                "smaller one"
            )
        integers = [_padded(a, most, np.dtype(np.int32)) for a in (order, x)]
        return Table(
            self._spans(line, x), slots, segments, *integers,
            *(_padded(weights, most, kind) for weights in (along, across, down)),
        )  # fmt: skip

    def _all_pieces(self, subdomain: Subdomain) -> np.ndarray:
        # Rows that any subfault reaches and this subdomain owns, cut into pieces along x.
        low, high = self._reach(self._line, self._first["x"])
        z, y = np.nonzero(low < high)
        owned = subdomain.owns(y + self._origin[0], z + self._origin[1])
        z = z[owned]
        y = y[owned]
        first = low[z, y] // PIECE
        last = (high[z, y] - 1) // PIECE + 1
        rows = np.repeat(np.arange(z.size), last - first)
        # Number of each piece within its row.
        n = np.arange(rows.size) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
        pieces = np.stack([(first[rows] + n) * PIECE, y[rows], z[rows]], axis=1)
        # Neighbours see the same subfaults, and stay together; groups of them, which act at
        # different times, are mixed, so that threads take equal shares.
        group = (pieces[:, 0] // PIECE) * 1000003 + pieces[:, 2] // _TOGETHER
        mixed = np.argsort((group * 0x9E3779B1) % 2**32, kind="stable")
        return pieces[mixed].astype(np.int32)

    def _spans(self, line: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return (piece, 2) the points from and up to which subfaults act."""
        # Range of x that acts in each piece, relative to its begin.
        low, high = self._reach(line, x)
        begin, y, z = self.pieces.T
        ends = np.stack([low[z, y] - begin, high[z, y] - begin], axis=1)
        return ends.clip(0, PIECE).astype(np.int32)

    def _reach(self, line: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first x (z, y), and the end, that subfaults on lines act on in any row."""
        # Range of x for each line.
        least = np.full(self._count, 2**30)
        most = np.full(self._count, -(2**30))
        np.minimum.at(least, line, x)
        np.maximum.at(most, line, x + WIDTH)
        begun = self.lines >= 0
        shape = self.lines.shape
        low = np.full(shape, 2**30)
        high = np.full(shape, -(2**30))
        low[begun] = least
        high[begun] = most
        reached = low.copy(), high.copy()
        # Spread to the rows y .. y + WIDTH, z .. z + depth that its subfaults act on.
        for k in range(self._deep):
            for j in range(WIDTH):
                to = slice(k, None), slice(j, None)
                source = slice(shape[0] - k), slice(shape[1] - j)
                np.minimum(reached[0][to], low[source], out=reached[0][to])
                np.maximum(reached[1][to], high[source], out=reached[1][to])
        return reached


class FaultPieces:
    """A fault in a subdomain: pieces of all fields, and the subfaults that act on any."""

    def __init__(self, subfaults: Subfaults, subdomain: Subdomain) -> None:
        """Find them."""
        self.subfaults = subfaults
        field_pieces = [FieldPieces(subfaults, field, subdomain) for field in subfaults.fields]
        self.fields = [piece for piece in field_pieces if len(piece.pieces)]
        # Subfaults that act on any point of this subdomain.
        touched = [field.members() for field in self.fields]
        members = np.any(touched, axis=0) if touched else np.zeros(0, bool)
        self.members = subfaults.spread[members] if touched else subfaults.spread[:0]
        self._signals = subfaults.signals.alone()
        self.most = max(1, self._signals.most(self.members))

    def nbytes(self, item: int) -> int:
        """Count the bytes on a device."""
        numbers = 0
        for field in self.fields:
            *integers, along, across, down = field.shapes(self.most)
            integers += [field.pieces.shape, field.lines.shape, field.masks.shape]
            numbers += 4 * sum(map(int, map(np.prod, integers)))
            numbers += item * sum(map(int, map(np.prod, (along, across, down))))
            numbers += (item * PIECE + 16) * len(field.pieces)  # sums; where they are, and which
        return numbers + item * (WINDOW * self.most + int(np.prod(self.sums)))

    @property
    def sums(self) -> tuple[int, ...]:
        """The shape of the sums of segments, field by field."""
        most = max((field.most_segments for field in self.fields), default=1)
        depth = max((field.depth for field in self.fields), default=1)
        return most, depth, WIDTH, REACH

    @property
    def host_bytes(self) -> int:
        """Count the bytes on the host: data of the file, weights, and signals in use."""
        subfaults = self.subfaults
        placement = 8 * NUMBERS_PLACED * len(subfaults.fault)
        return subfaults.fault.nbytes + placement + self._signals.kept_bytes(self.most)

    def tables(self, begin: int, kind: np.dtype) -> tuple[np.ndarray, list[Table]]:
        """Compute the tables of the window that begins with a step.

        Returns:
            the signals (step, place), and for each field its tables.
        """
        numbers = self._signals.acting(begin, self.members)
        signals = np.zeros((WINDOW, self.most), kind)
        signals[:, : numbers.size] = self._signals.window(begin, numbers)
        # Fields share the weights on nodes, and on half points.
        kinds = {(a, a in field.field.half) for field in self.fields for a in "xy"}
        levels = {(a, half): self.subfaults.level(a, half, numbers) for a, half in kinds}
        return signals, [field.table(numbers, levels, self.most, kind) for field in self.fields]


def _padded(array: np.ndarray, most: int, kind: np.dtype) -> np.ndarray:
    padded = np.zeros((most, *array.shape[1:]), kind)
    padded[: len(array)] = array
    return padded


def memory(
    discretization: Discretization, subdomain: Subdomain, plane_size: int, item: int
) -> FeatureMemory:
    """Count the bytes of the faults of a run in a subdomain, with numbers of `item` bytes."""
    pieces = fault_pieces(discretization, subdomain)
    windows = sum(piece.nbytes(item) for piece in pieces)
    host = windows + sum(piece.host_bytes for piece in pieces)
    points = [source for piece in pieces for source in piece.subfaults.point_sources]
    return FeatureMemory(sources=windows, host=host, points=points)


def injections(solver: SubdomainSolver, medium: object) -> list[AddedLaunches]:
    """Return the injections of the faults of a run into a subdomain."""
    return [
        FaultInjection(solver.backend, solver.fields, pieces)
        for pieces in fault_pieces(solver.discretization, solver.subdomain)
    ]


class FaultInjection(AddedLaunches):
    """Injection of a fault into a subdomain."""

    window = WINDOW

    def __init__(self, backend: Backend, fields: Fields, pieces: FaultPieces) -> None:
        """Allocate the tables of a window."""
        self._backend = backend
        self._fields = fields
        self._pieces = pieces
        self._kind = np.dtype(backend.precision)
        self._window = backend.array(np.zeros(1, np.int64))
        self._signals = backend.array(np.zeros((WINDOW, pieces.most), self._kind))
        self._sums = backend.array(np.zeros(pieces.sums, self._kind))
        self._tables: list[Table] = []
        self._arrays: list[tuple[Any, ...]] = []  # amounts, pieces, lines, masks
        for field in pieces.fields:
            # Arrays for the most subfaults of any window: launches stay bound to them.
            shapes = field.shapes(pieces.most)
            kinds = [np.dtype(np.int32)] * 5 + [self._kind] * 3
            arrays = [np.zeros(s, t) for s, t in zip(shapes, kinds, strict=True)]
            self._tables.append(Table(*map(backend.array, arrays)))
            amounts = np.zeros((len(field.pieces), PIECE), self._kind)
            arrays = [amounts, field.pieces, field.lines, field.masks]
            self._arrays.append(tuple(map(backend.array, arrays)))
        self._begin = -1
        self._pool = ThreadPoolExecutor(1, "seismo-fault")
        self._next: dict[int, Future[tuple[np.ndarray, list[Table]]]] = {}

    def point_sources(self, shot: Shot) -> Sequence[PointSource]:
        """Return the subfaults at faces, which act as point sources."""
        return self._pieces.subfaults.point_sources if shot.faults else ()

    def acts_for(self, shots: Sequence[Shot]) -> bool:
        """Whether any of the shots has faults."""
        return any(shot.faults for shot in shots)

    def holds(self, step: int) -> bool:
        """Whether the loaded window contains a step."""
        return self._begin == step - step % WINDOW

    def load(self, step: int, steps: int) -> None:
        """Load the window of a step; start to compute the next, if any, in a thread."""
        if self.holds(step):
            return
        self._begin = begin = step - step % WINDOW
        if not self._tables:
            return
        # The window computed by the thread, unless the run went elsewhere.
        prepared = {later: future.result() for later, future in self._next.items()}
        signals, tables = prepared.get(begin) or self._pieces.tables(begin, self._kind)
        # Copy into the arrays that launches are bound to.
        self._signals[:] = self._backend.array(signals)
        for bound_table, table in zip(self._tables, tables, strict=True):
            for array, numbers in zip(bound_table, table, strict=True):
                array[:] = self._backend.array(numbers)
        self._window[:] = self._backend.array(np.array([begin]))
        # Work the next window out meanwhile.
        later = begin + WINDOW
        self._next = {}
        if later < steps:
            self._next = {later: self._pool.submit(self._pieces.tables, later, self._kind)}

    def silence(self) -> None:
        """Deactivate all subfaults."""
        for table in self._tables:
            table.spans[:] = 0
            table.segments[:] = 0
        self._begin = -1

    def evaluations(self) -> list[Launch]:
        """Return the launches that sum a step's injection, before any stage needs it."""
        launches = []
        sums = self._sums.ravel()
        for field, arrays, table in zip(
            self._pieces.fields, self._arrays, self._tables, strict=True
        ):
            amounts, pieces, *rows = arrays
            spans, slots, *summed = table
            # Each segment, and each row along z that it acts on.
            levels = range(field.most_segments * field.depth)
            flat = [array.ravel() for array in (*summed, self._signals)]
            arguments = (sums, *flat, self._window, self._backend.clock)
            launches.append(
                self._backend.each_row(
                    sum_segment, len(levels), ROWS, arguments, (0,), _first(levels)
                )
            )
            gathered = (amounts, pieces, spans, *rows, slots, sums)
            launches.append(
                self._backend.each_row(spread, len(pieces), PIECE, gathered, (0,), _first(pieces))
            )
        return launches

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        subdomain = self._fields.subdomain
        launches = []
        physics = self._fields.physics
        for field, arrays, table in zip(
            self._pieces.fields, self._arrays, self._tables, strict=True
        ):
            name = field.field.name
            (x, y, z) = field.first_points
            # Pieces of the edges, or of the core.
            numbers = np.flatnonzero(subdomain.in_core(y, z) == core)
            if physics.stage_writing(name) != stage or not numbers.size:
                continue
            flat_indices = subdomain.flat(x, y, z)[numbers].astype(np.int64)
            put = self._backend.array
            arguments = (
                self._fields.written(name, parity), arrays[0], put(numbers), put(flat_indices),
                table.spans,
            )  # fmt: skip
            launches.append(
                self._backend.each_row(
                    add_spread, numbers.size, PIECE, arguments, (0,), _first(numbers)
                )
            )
        return launches


def _first(items: Any) -> np.ndarray:
    """Return the shot that each item serves: a fault acts in a single shot."""
    return np.zeros(len(items), np.int64)

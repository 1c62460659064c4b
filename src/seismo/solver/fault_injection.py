"""Inject faults of many subfaults into one subdomain, window by window of steps.

What is bound once has room for the subfaults that act together at most. Before each window those
that act in it are sorted by the points that they act on, and their weights and signals copied
there; a thread works the next window out meanwhile. Nothing is kept of subfaults that do not act.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.kernels.faults import BLOCK, PIECE, WIDTH, add_spread, spread
from seismo.equations.table import Field
from seismo.errors import ScenarioError
from seismo.grid.decomposition import Subdomain
from seismo.solver.fault_signals import WINDOW
from seismo.solver.fields import Fields
from seismo.solver.subfaults import NUMBERS_PLACED, Subfaults

_TOGETHER = 16  # rows along z whose pieces a thread takes one after another


class Table(NamedTuple):
    """What `kernels.faults.spread` takes of the subfaults that act in a window."""

    spans: np.ndarray
    starts: np.ndarray
    firsts: np.ndarray
    along: np.ndarray
    across: np.ndarray
    down: np.ndarray
    signals: np.ndarray


class FieldPieces:
    """The pieces of rows of a field in a subdomain that the subfaults of a fault act on.

    Attributes:
        field: the field.
        pieces: (piece, 3) first x, and y and z counted as `lines` does.
        lines: (z, y) numbers of lines, -1 where none begins.
    """

    def __init__(self, subfaults: Subfaults, field: Field, subdomain: Subdomain) -> None:
        """Find all that any subfault acts on."""
        self.field = field
        self._subfaults = subfaults
        self._deep = subfaults.depths.width
        # First point of each subfault along each axis: WIDTH x WIDTH x depth points follow.
        spread = subfaults.spread
        self._first = {a: subfaults.first(field, a)[spread] for a in "xyz"}
        y = self._first["y"]
        z = self._first["z"]
        low = [int(along.min()) if along.size else 0 for along in (y, z)]
        high = [int(along.max()) if along.size else 0 for along in (y, z)]
        # A frame of -1 is as wide as what a line acts on.
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
        self._number = np.full(len(subfaults.fault), -1)
        self._number[spread] = np.arange(spread.size)

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

    def shapes(self, most: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of a `Table` with room for so many subfaults, but for the signals."""
        starts = (max(1, self._count), self._blocks + 1)
        level = (most, WIDTH)
        return (len(self.pieces), 2), starts, (most,), level, level, (most, self._deep)

    def table(self, numbers: np.ndarray, most: int, kind: np.dtype) -> tuple[Table, np.ndarray]:
        """Return what some subfaults act by, and their order, with room for `most`."""
        spread_numbers = self._number[numbers]
        line = self._line[spread_numbers]
        x = self._first["x"][spread_numbers]
        # Compressed rows: subfaults sorted by line and block along x.
        order = np.lexsort((numbers, x // BLOCK, line))
        line = line[order]
        x = x[order]
        # First entry of each block of each line, and the end.
        cells = np.bincount(line * self._blocks + x // BLOCK, minlength=self._count * self._blocks)
        ends = np.cumsum(cells).reshape(self._count, self._blocks)
        starts = np.concatenate([ends[:, :1] - cells.reshape(ends.shape)[:, :1], ends], axis=1)
        # Separable weights along x, y and z; their product acts at a point.
        weights = self._subfaults.weights(self.field, numbers[order])
        limits = np.finfo(kind).max
        # Overflow of the run's precision.
        if not (np.abs(weights.down) < limits).all():  # NaN too
            raise ScenarioError(
                f"source {self._subfaults.fault.name}: too strong for {kind} numbers; use a "
                "smaller one"
            )
        firsts, along, across, down = (
            _padded(a, most, t)
            for a, t in ((x, np.dtype(np.int32)), (weights.along, kind), (weights.across, kind),
                         (weights.down, kind))
        )  # fmt: skip
        spans = self._spans(line, x)
        table = Table(spans, starts.astype(np.int32), firsts, along, across, down, down)
        return table, order

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
        # Neighbours see the same subfaults, and stay together; groups of them, which do not act
        # at one time, are mixed, so that threads take equal shares.
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
        self.fields = [one for one in field_pieces if len(one.pieces)]
        # Subfaults that act on any point of this subdomain.
        touched = [one.members() for one in self.fields]
        members = np.any(touched, axis=0) if touched else np.zeros(0, bool)
        self.members = subfaults.spread[members] if touched else subfaults.spread[:0]
        self._signals = subfaults.signals.alone()
        self.most = max(1, self._signals.most(self.members))

    def nbytes(self, item: int) -> int:
        """Count the bytes on a device."""
        numbers = 0
        for one in self.fields:
            spans, starts, firsts, *weights = one.shapes(self.most)
            integers = [spans, starts, firsts, one.pieces.shape, one.lines.shape]
            numbers += 4 * sum(map(int, map(np.prod, integers)))
            numbers += item * sum(map(int, map(np.prod, weights)))
            numbers += item * (WINDOW * self.most + (PIECE + 2 * WIDTH) * len(one.pieces))
            numbers += 16 * len(one.pieces)  # where they are, and which
        return numbers

    @property
    def host_bytes(self) -> int:
        """Count the bytes on the host: what the file has, where it acts, and signals in use."""
        subfaults = self.subfaults
        position_bytes = 8 * NUMBERS_PLACED * len(subfaults.fault)
        return subfaults.fault.nbytes + position_bytes + self._signals.kept_bytes(self.most)

    def tables(self, begin: int, kind: np.dtype) -> list[Table]:
        """Work out what acts in the window that begins with a step, for each field."""
        # Subfaults that act in this window, in the order of each field's table.
        numbers = self._signals.acting(begin, self.members)
        signals = self._signals.window(begin, numbers)
        tables = []
        for one in self.fields:
            table, order = one.table(numbers, self.most, kind)
            padded_signals = np.zeros((WINDOW, self.most), kind)
            padded_signals[:, : numbers.size] = signals[:, order]
            tables.append(table._replace(signals=padded_signals))
        return tables


class FaultInjection:
    """What injects a fault into one subdomain."""

    def __init__(self, backend: Backend, fields: Fields, pieces: FaultPieces) -> None:
        """Allocate what its windows need."""
        self._backend = backend
        self._fields = fields
        self._pieces = pieces
        self._kind = np.dtype(backend.precision)
        self._window = backend.array(np.zeros(1, np.int64))
        self._tables: list[Table] = []
        self._held: list[tuple[Any, ...]] = []  # amounts, pieces, lines
        for one in pieces.fields:
            # Arrays for the most subfaults of any window: launches stay bound to them.
            shapes = one.shapes(pieces.most)
            kinds = [np.dtype(np.int32)] * 3 + [self._kind] * 3
            arrays = [np.zeros(s, t) for s, t in zip(shapes, kinds, strict=True)]
            arrays.append(np.zeros((WINDOW, pieces.most), self._kind))
            self._tables.append(Table(*map(backend.array, arrays)))
            amounts = np.zeros((len(one.pieces), PIECE + 2 * WIDTH), self._kind)
            self._held.append(tuple(map(backend.array, (amounts, one.pieces, one.lines))))
        self._begin = -1
        self._pool = ThreadPoolExecutor(1, "seismo-fault")
        self._next: dict[int, Future[list[Table]]] = {}

    def holds(self, step: int) -> bool:
        """Whether it has what acts in the window of a step."""
        return self._begin == step - step % WINDOW

    def load(self, step: int, steps: int) -> None:
        """Take what acts in the window of a step; begin to work out the next, if there is one."""
        if self.holds(step):
            return
        self._begin = begin = step - step % WINDOW
        if not self._tables:
            return
        # The window worked out by the thread, unless the run went elsewhere.
        prepared = {later: future.result() for later, future in self._next.items()}
        tables = prepared.get(begin) or self._pieces.tables(begin, self._kind)
        # Copy into the arrays that launches are bound to.
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
        """Let nothing act."""
        for table in self._tables:
            table.spans[:] = 0
        self._begin = -1

    def worked_out(self) -> list[Launch]:
        """Return what sums what a step injects, before any stage needs it."""
        launches = []
        for (amounts, pieces, lines), table in zip(self._held, self._tables, strict=True):
            spans, *others = table
            arguments = (amounts, pieces, spans, lines, *others, self._window, self._backend.clock)
            launches.append(
                self._backend.each_row(spread, len(pieces), PIECE, arguments, (0,), _first(pieces))
            )
        return launches

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return what to launch once a stage has updated the edges, or the core."""
        subdomain = self._fields.subdomain
        launches = []
        physics = self._fields.physics
        for one, bound_arrays, table in zip(
            self._pieces.fields, self._held, self._tables, strict=True
        ):
            name = one.field.name
            (x, y, z) = one.first_points
            # Pieces of the edges, or of the core.
            numbers = np.flatnonzero(subdomain.in_core(y, z) == core)
            if physics.stage_writing(name) != stage or not numbers.size:
                continue
            flat_indices = subdomain.flat(x, y, z)[numbers].astype(np.int64)
            put = self._backend.array
            arguments = (
                self._fields.written(name, parity), bound_arrays[0], put(numbers),
                put(flat_indices), table.spans,
            )  # fmt: skip
            launches.append(
                self._backend.each_row(
                    add_spread, numbers.size, PIECE, arguments, (0,), _first(numbers)
                )
            )
        return launches


def _first(items: Any) -> np.ndarray:
    """Return the shot that each item serves: a fault acts in the only one."""
    return np.zeros(len(items), np.int64)


def _padded(array: np.ndarray, most: int, kind: np.dtype) -> np.ndarray:
    padded = np.zeros((most, *array.shape[1:]), kind)
    padded[: len(array)] = array
    return padded

"""The layout of a plane in the shared memory of a cluster, and the tables of its threads' work.

What the blocks of a cluster keep of a plane in shared memory, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.resident.block import SourceNumbers, numbers_of
from seismo.backends.gpu.resident.plane_steps import PlaneRegion, PointKind
from seismo.backends.gpu.resident.record import ReceiverSamples
from seismo.backends.gpu.resident.threads import COUNTER_BYTES
from seismo.backends.gpu.sweeps.layouts import inner_nodes

RANK_COLUMNS = (
    "first", "rows", "above", "held",  # first own row, own rows; rows kept before them; in all
    "size", "model_size",  # numbers of a field, and of a coefficient
    "model", "x_memory", "z_memory",  # where in memory these begin
    "model_first", "model_rows",  # rows of the model
    "up", "up_size", "down", "down_size",  # from a place here to that of a neighbour; its `size`
)  # fmt: skip
ROUND_COLUMNS = (
    "kind", "x_end", "z_end",  # of the points
    "x_memory", "z_memory",  # of (0, 0), from the beginning of the block's memory along x and z
    "x_slot", "z_slot",  # from fluxes to outer variables there
    "memory", "memory_z", "slot", "shot",  # the same in the card's memory, and from shot to shot
    "packed",  # offset of coefficients kept for a range of rows only
    "height",  # rows of a column
)  # fmt: skip
SHORT_COLUMNS = ("kind", "x_end", "z_end", "height")  # of 32 bits
X_BITS = 1 << 16  # a point is its x plus this times its z, in 32 bits


class PlaneNumbers(NamedTuple):
    """Whole numbers of a plane and its layout, which a kernel takes as arguments.

    What is compared has 32 bits in the kernel, where registers are few; indices have 64, of which
    the assembler drops the upper half in shared memory.

    Attributes:
        blocks: of a cluster.
        x_first: first number of the rows in the arrays.
        row: numbers of a row without its margins.
        z_first: first row.
        z_end: behind the last row.
        pitch: numbers of a row in shared memory.
        model_first: first x of the model in shared memory.
        model_row: numbers of a row of the model there.
        x_pitch: numbers of a row of layer memory along x.
        z_pitch: lanes of a column of that along z.
        numbers: of shared memory of a block.
        volume: numbers of a shot's field in the card's memory.
        stride: distance of rows there.
        inner_x: first x whose medium layers along x go on with.
        inner_x_last: the last.
        inner_z: first row whose medium layers along z go on with.
        inner_z_last: the last.
        x_length: numbers of a row of the profiles along x.
        channels: of the record.
        group_blocks: blocks of all shots.
        lane_reciprocal: `reciprocal` of the lanes of a row.
        model_reciprocal: of the numbers of a row of the model.
        stride_reciprocal: of the distance of rows.
    """

    blocks: Any
    x_first: Any
    row: Any
    z_first: Any
    z_end: Any
    pitch: Any
    model_first: Any
    model_row: Any
    x_pitch: Any
    z_pitch: Any
    numbers: Any
    volume: Any
    stride: Any
    inner_x: Any
    inner_x_last: Any
    inner_z: Any
    inner_z_last: Any
    x_length: Any
    channels: Any
    group_blocks: Any
    lane_reciprocal: Any
    model_reciprocal: Any
    stride_reciprocal: Any


SHORT = (
    "blocks", "x_first", "row", "z_first", "z_end", "model_first", "numbers",
    "inner_x", "inner_x_last", "inner_z", "inner_z_last",
)  # fmt: skip


def plane_numbers(flat: Sequence[Any]) -> tuple[PlaneNumbers, list[SourceNumbers]]:
    """Return a kernel's numbers, some of them in 32 bits, and the numbers of its sources."""
    return numbers_of(PlaneNumbers, SHORT, flat)


@dataclass(frozen=True)
class PassShape:
    """The work of a block's threads between two barriers of a step.

    Attributes:
        kinds: numbers of the kinds of points that are updated.
        recorded: group of channels that are recorded meanwhile, or None.
        late: whether these are recorded as the step before left them.
        injected: fields that sources act on afterwards.
        sent: fields whose outer rows the neighbours get then.
    """

    kinds: tuple[int, ...]
    recorded: int | None = None
    late: bool = False
    injected: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()


@dataclass(frozen=True)
class ClusterShape:
    """Compile-time constants of a kernel: rows in shared memory, and the work of a step.

    Attributes:
        threads: of a block.
        margin: numbers before the first of a row in shared memory.
        half: half the order of the differences.
        halo: rows of its neighbours that a block keeps.
        kinds: of points.
        strips: of each kind, rows that a thread updates at most with a column in registers.
        masked: whether rows may end within a lane.
        profile: numbers of a row of the profile along z, whole lanes.
        passes: of a step, in order.
        fields: that a block keeps.
        coefficients: arrays of the model.
        memories: arrays of layer memory.
        alternating: whether steps are second differences, of two fields that are written by turns;
            layer memory is in shared memory then, else in the card's.
        kept: numbers of the coefficients that are in shared memory.
    """

    threads: int
    margin: int
    half: int
    halo: int
    kinds: tuple[PointKind, ...]
    strips: tuple[int, ...]
    masked: bool
    profile: int
    passes: tuple[PassShape, ...]
    fields: int
    coefficients: int
    memories: int
    alternating: bool
    kept: tuple[int, ...]

    @property
    def unchanging(self) -> tuple[str, ...]:
        """Arrays that no kernel changes, as `Arrays.of` names them."""
        return () if self.alternating else ("model", "profiles")

    @property
    def tables(self) -> int:
        """Number of the tables of the transport: rounds of each pass, all rounds, their points."""
        return len(self.passes) + 2

    @property
    def injected(self) -> list[int]:
        """Fields that sources act on, in the order of the passes."""
        return [field for pass_ in self.passes for field in pass_.injected]

    @property
    def exchanges(self) -> list[PassShape]:
        """Passes after which blocks exchange rows; at most two."""
        return [pass_ for pass_ in self.passes if pass_.sent]

    @property
    def sent(self) -> set[int]:
        """Fields of which neighbours get outer rows: of all others blocks keep their own alone."""
        return {field for pass_ in self.passes for field in pass_.sent}

    def rows_less(self, field: int) -> int:
        """Return by how many rows a field begins earlier than if all had rows of neighbours.

        A field without such rows begins where its first own row would lie behind them.
        """
        if self.alternating:
            return 0
        bare = [n for n in range(field + 1) if n not in self.sent]
        return self.halo * (2 * len(bare) - (field in bare))

    @property
    def groups(self) -> int:
        """Number of the groups of channels, each recorded at its own place of a step."""
        return sum(pass_.recorded is not None for pass_ in self.passes)


@dataclass(frozen=True)
class BlockRows:
    """The rows of a block.

    Attributes:
        z: first own row, and behind the last.
        halo: rows that it keeps before them, and behind them.
        model: first row of the model that it keeps, and behind the last.
        layers: rows in layers across z: first ones, and behind the last.
    """

    z: tuple[int, int]
    halo: int
    model: tuple[int, int]
    layers: tuple[tuple[int, int], ...]

    @property
    def own_rows(self) -> int:
        """Return the number of rows that it updates."""
        return self.z[1] - self.z[0]

    @property
    def kept_rows(self) -> int:
        """All rows of a field that it keeps."""
        return self.own_rows + 2 * self.halo


@dataclass(frozen=True)
class Keeps:
    """What blocks keep in shared memory.

    Attributes:
        fields: number of fields.
        bare: the fields without rows of neighbours.
        models: number of coefficients.
        next_nodes: lanes and rows behind a point's own in which formulas read coefficients.
        layers: whether layer memory, too.
        beyond: rows behind the last field that threads may read.
    """

    fields: int
    bare: int
    models: int
    next_nodes: int
    layers: bool
    beyond: int


class SharedMemory:
    """How the rows of blocks lie in shared memory, in numbers.

    All fields, each with zeros before the first row; coefficients of the model; layer memory along
    x: fluxes, then outer variables, in rows of all layers along x with zeros between them; along z,
    for each layer, column by column of lanes: fluxes with zeros around, then outer variables. What
    is next in a column thus has a constant distance, and an odd number of lanes in a column keeps
    threads on banks of their own.
    """

    def __init__(
        self, regions: Sequence[PlaneRegion], tables: KernelConstants, half: int, width: int,
        keeps: Keeps,
    ) -> None:  # fmt: skip
        """Compute the layout that all blocks share.

        Args:
            regions: that make up the plane.
            tables: of the sweeps.
            half: half the order of the differences.
            width: numbers of a lane.
            keeps: data that blocks keep.
        """
        self._half = half
        self._keeps = keeps
        self.margin = -(-half // width) * width
        x0 = min(region.x[0] for region in regions)
        self.x = (x0, x0 + _lanes(x0, max(region.x[1] for region in regions), width))
        self.row = self.x[1] - self.x[0]
        self.pitch = self.row + self.margin
        self._width = width
        self.blocks: list[BlockRows] = []
        self._x_starts: dict[tuple[int, int], int] = {}
        self.model = (0, 0)
        self.x_pitch = 0
        self.z_pitch = 0
        if keeps.models:
            self._place_model(regions, tables)
        if keeps.layers:
            self._place_layers(regions)

    @property
    def z(self) -> tuple[int, int]:
        """First row of the plane, and behind the last."""
        return self.blocks[0].z[0], self.blocks[-1].z[1]

    def _place_model(self, regions: Sequence[PlaneRegion], tables: KernelConstants) -> None:
        """Find the columns of the model."""
        width = self._width
        # The nodes whose model is read.
        # In layers the model goes on as it is at their inner edge.
        low, high = inner_nodes(tables, "x", width)
        ends = [
            np.array([x.start, x[-1]]).clip(low, high) if "x" in region.stretched
            else np.array([x.start, x[-1]])
            for region in regions for x in (range(*region.x, width),)
        ]  # fmt: skip
        self.model = (int(np.min(ends)), int(np.max(ends)) + (1 + self._keeps.next_nodes) * width)

    def _place_layers(self, regions: Sequence[PlaneRegion]) -> None:
        """Compute the sizes of rows and columns of layer memory."""
        half = self._half
        width = self._width
        # Layers along x, contiguous in a row.
        spans = sorted({region.x for region in regions if "x" in region.stretched})
        at = self.margin
        for span in spans:
            self._x_starts[span] = at - span[0]
            at += _lanes(*span, width) + self.margin
        self.x_pitch = at - self.margin
        # Numbers of a column of the highest layer across z, in lanes.
        rows = max((z[1] - z[0] for z in (r.z for r in regions if "z" in r.stretched)), default=0)
        self.z_pitch = 2 * (rows + half) + 1

    def most_rows(self, numbers: int, halo: int) -> int:
        """Return the rows that fit so many numbers, without layers across z."""
        # Rows of neighbours, of all fields; then the size of each row.
        # Fields without rows of neighbours are shorter by these.
        keeps = self._keeps
        model_row = keeps.models * (self.model[1] - self.model[0])
        fixed = (keeps.fields + 2) * self.margin + keeps.next_nodes * model_row
        beyond = 0 if keeps.models else keeps.beyond
        fixed += (2 * (keeps.fields - keeps.bare) * halo + beyond) * self.pitch
        each = keeps.fields * self.pitch + model_row + 2 * self.x_pitch
        return (numbers - fixed) // each

    def assign(self, blocks: Sequence[BlockRows]) -> None:
        """Place the rows of blocks."""
        self.blocks = list(blocks)
        self.starts = [self._starts_of(rows) for rows in blocks]
        # Rows that are read in vain lie behind the fields, or in space of their own.
        beyond = self._keeps.beyond * self.pitch
        self.numbers = max(max(model + beyond, end) for model, *_, end in self.starts)

    def field_size(self, rows: BlockRows) -> int:
        """Numbers of a field of a block."""
        return self.margin + rows.kept_rows * self.pitch

    def model_size(self, rows: BlockRows) -> int:
        """Numbers of a coefficient of a block."""
        return (rows.model[1] - rows.model[0]) * (self.model[1] - self.model[0])

    def _starts_of(self, rows: BlockRows) -> tuple[int, int, int, int]:
        """Return where the model and both layer memories begin, and the end."""
        keeps = self._keeps
        model = keeps.fields * self.field_size(rows) - 2 * keeps.bare * rows.halo * self.pitch
        # Behind the last own row of a field without neighbours' stand zeros, too.
        model += self.margin * (keeps.bare > 0)
        x_memory = model + self._keeps.models * self.model_size(rows)
        z_memory = x_memory + (
            self.margin + 2 * rows.own_rows * self.x_pitch if self.x_pitch else 0
        )
        layers = len(rows.layers) * self.z_pitch
        return model, x_memory, z_memory, z_memory + layers * self.row

    def bytes(self, size: int) -> int:
        """Return the bytes of shared memory of a block whose numbers have so many."""
        return self.numbers * size + COUNTER_BYTES

    def table(self) -> np.ndarray:
        """Return `RANK_COLUMNS` of all blocks."""
        table = []
        for n, (rows, starts) in enumerate(zip(self.blocks, self.starts, strict=True)):
            # From a row here to its copy in the blocks before and behind.
            before = self.blocks[max(n - 1, 0)]
            behind = self.blocks[min(n + 1, len(self.blocks) - 1)]
            model, x_memory, z_memory, _ = starts
            first, last = rows.model
            table.append((
                rows.z[0], rows.own_rows, rows.halo, rows.kept_rows, self.field_size(rows),
                self.model_size(rows), model, x_memory, z_memory, first, last - first,
                before.own_rows * self.pitch, self.field_size(before),
                -rows.own_rows * self.pitch, self.field_size(behind),
            ))  # fmt: skip
        return np.array(table)

    def locate(
        self, samples: ReceiverSamples, shape: ClusterShape, reach: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the block of each channel and the indices of its entries there (`Locate`).

        Args:
            samples: of the receivers.
            shape: of the kernel.
            reach: of each field, rows of its neighbours that a block knows when it records.
        """
        middle, _ = samples.middles
        rank = np.full(len(samples.columns), -1)
        for n, rows in enumerate(self.blocks):
            # The block that has the middle of the entries, or any that knows them.
            has_middle = (middle >= rows.z[0]) & (middle < rows.z[1])
            rank[samples.known_to(*rows.z, reach) & (has_middle | (rank < 0))] = n
        if (rank < 0).any():
            return None
        # Position of each entry: its field in the block, its row, its place there.
        first = np.array([rows.z[0] - rows.halo for rows in self.blocks])
        sizes = np.array([self.field_size(rows) for rows in self.blocks])
        of_entry = rank[samples.owners]
        indices = (samples.z - first[of_entry]) * self.pitch + samples.x + self.margin
        if not shape.alternating:
            less = np.array([shape.rows_less(n) for n in range(shape.fields)])
            indices += samples.fields * sizes[of_entry] - less[samples.fields] * self.pitch
        return rank, indices

    def memory_of(self, region: PlaneRegion, rows: BlockRows) -> tuple[int, int, int, int]:
        """Return a region's columns of layer memory: of (0, 0) along x and z, and both slots."""
        along_x = along_z = slot_x = slot_z = 0
        if self.x_pitch and "x" in region.stretched:
            along_x = self._x_starts[region.x] - rows.z[0] * self.x_pitch
            slot_x = rows.own_rows * self.x_pitch
        if self.z_pitch and "z" in region.stretched:
            before = sum(b <= region.z[0] for _, b in rows.layers)
            first, last = region.z
            start = (before * self.row - self.x[0]) * self.z_pitch
            along_z = start + (self._half - first) * self._width
            slot_z = (last - first + self._half) * self._width
        return along_x, along_z, slot_x, slot_z


def _lanes(first: int, last: int, width: int) -> int:
    """Return the numbers of whole lanes of a range."""
    return -(-(last - first) // width) * width

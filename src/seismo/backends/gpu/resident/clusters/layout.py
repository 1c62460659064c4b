"""How a plane lies in the shared memory of a cluster, and the tables of who does what there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seismo.backends.gpu.resident.clusters.cluster import COUNTER_BYTES

SHARED_BYTES = 227 * 1024  # of a block, says CUDA of compute capability 9.0
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
    "packed",  # offset of coefficients that are kept for some rows only
    "height",  # rows of a column
)  # fmt: skip
SHORT_COLUMNS = ("kind", "x_end", "z_end", "height")  # of 32 bits
X_BITS = 1 << 16  # a point is its x plus this times its z, in 32 bits


class ClusterError(RuntimeError):
    """A card, or the share of one that a process has, does not run clusters of some size."""


class ClusterSizes(NamedTuple):
    """Sizes of a launch whose blocks make clusters.

    Attributes:
        clusters: of the launch.
        blocks: of a cluster.
        threads: of a block.
        shared: bytes of its shared memory.
    """

    clusters: int
    blocks: int
    threads: int
    shared: int


class TileSizes(NamedTuple):
    """Sizes of a launch whose blocks all run at the same time.

    Attributes:
        blocks: of the launch.
        threads: of a block.
        shared: bytes of its shared memory.
    """

    blocks: int
    threads: int
    shared: int


class PlaneNumbers(NamedTuple):
    """Whole numbers of a plane and its layout, which a kernel takes as arguments.

    What is compared has 32 bits in the kernel, where registers are few; indices have 64, of which
    the assembler drops the upper half in shared memory.

    Attributes:
        blocks: of a cluster.
        x_first: first number of the rows in the arrays.
        row: numbers of a row without what lies around it.
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
        inner_x_last: the last one.
        inner_z: first row whose medium layers along z go on with.
        inner_z_last: the last one.
        x_length: numbers of a row of the profiles along x.
        channels: of the record.
        group_blocks: blocks of all shots.
        lane_reciprocal: `reciprocal` of the lanes of a row.
        model_reciprocal: of those of a row of the model.
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


class SourceNumbers(NamedTuple):
    """Whole numbers of the sources of a field.

    Attributes:
        cells: of a shot.
        samples: of a signal.
    """

    cells: Any
    samples: Any


SHORT = (
    "blocks", "x_first", "row", "z_first", "z_end", "model_first", "numbers",
    "inner_x", "inner_x_last", "inner_z", "inner_z_last",
)  # fmt: skip


def plane_numbers(flat: Sequence[Any]) -> tuple[PlaneNumbers, list[SourceNumbers]]:
    """Return the numbers of a kernel, with those compared in 32 bits, and those of its sources."""
    count = len(PlaneNumbers._fields)
    plane = PlaneNumbers(*flat[:count])
    short = {name: getattr(plane, name).short() for name in SHORT}
    sources = [SourceNumbers(*flat[n : n + 2]) for n in range(count, len(flat), 2)]
    return plane._replace(**short), sources


_ONE = 1 << 32  # what reciprocals are parts of


def reciprocal(divisor: int) -> int:
    """Return what `quotient` divides by it: 2^32 over the divisor, rounded up."""
    return -(-_ONE // divisor)


def quotient(n: Any, of: Any) -> Any:
    """Divide 32 bits, n >= 0, given a `reciprocal`; exact where n times the divisor fits them."""
    return (n.wide() * of // _ONE).short()


@dataclass(frozen=True, order=True)
class PointKind:
    """Points that are updated by the same code.

    Attributes:
        formula: number of the formula among those of the kernel.
        stretched: axes that pass through layer memory.
    """

    formula: int
    stretched: str


@dataclass(frozen=True)
class PassShape:
    """What the threads of a block do in each step until they wait for one another.

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
    """What a kernel has built in of how rows lie in shared memory, and of what a step does.

    Attributes:
        threads: of a block.
        margin: numbers before the first of a row in shared memory.
        half: half the order of the differences.
        halo: rows of its neighbours that a block keeps.
        kinds: of points.
        strips: of each kind, rows that a thread updates at most with a column in registers.
        masked: whether rows may end within a lane.
        profile: numbers of a row of the profile along z, whole lanes.
        passes: of a step, one after the other.
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
    def injected(self) -> list[int]:
        """Fields that sources act on, in the order of the passes."""
        return [field for pass_ in self.passes for field in pass_.injected]

    @property
    def sent(self) -> set[int]:
        """Fields of which neighbours get outer rows: of all others blocks keep their own alone."""
        return {field for pass_ in self.passes for field in pass_.sent}

    def rows_less(self, field: int) -> int:
        """Return by how many rows a field begins earlier than if all had those of neighbours.

        A field that has none begins where its first own row would stand behind some of them.
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
class ClusterLayout:
    """How a plane lies in the shared memory of a cluster.

    Attributes:
        blocks: of the cluster.
        x: first number of the rows in the arrays, and behind the last.
        z: first row, and behind the last.
        margin: numbers before the first of a row in shared memory.
        pitch: numbers of such a row.
        model: first x of the model in shared memory, and behind the last.
        x_pitch: numbers of a row of layer memory along x.
        z_pitch: lanes of a column of that along z.
        numbers: of shared memory of a block.
        volume: numbers of a shot's field in the card's memory.
        halo: rows of its neighbours that a block keeps.
    """

    blocks: int
    x: tuple[int, int]
    z: tuple[int, int]
    margin: int
    pitch: int
    model: tuple[int, int]
    x_pitch: int
    z_pitch: int
    numbers: int
    volume: int
    halo: int

    @property
    def row(self) -> int:
        """Numbers of a row without what lies around it."""
        return self.x[1] - self.x[0]

    def bytes(self, size: int) -> int:
        """Bytes of shared memory of a block whose numbers have some bytes."""
        return self.numbers * size + COUNTER_BYTES

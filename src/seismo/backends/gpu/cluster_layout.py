"""How a plane lies in the shared memory of a cluster, and the tables of who does what there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from seismo.backends.gpu.cluster import COUNTER_BYTES

WARP = 32
RANK_COLUMNS = (
    "first", "rows", "above", "held",  # first own row, own rows; rows kept before them; in all
    "size", "model", "x_memory", "z_memory",  # numbers of a field; where in memory these begin
    "model_first", "model_rows",  # rows of the model
    "up", "up_size", "down", "down_size",  # from a place here to that of a neighbour; its `size`
)  # fmt: skip
ROUND_COLUMNS = (
    "kind", "x_end", "z_end",  # of the points
    "x_memory", "z_memory",  # of (0, 0), from the beginning of the block's memory along x and z
    "x_slot", "z_slot",  # from fluxes to outer variables there
    "memory", "memory_z", "slot", "shot",  # the same in the card's memory, and from shot to shot
)  # fmt: skip
SHORT_COLUMNS = ("kind", "x_end", "z_end")  # of 32 bits
X_BITS = 1 << 16  # a point is its x plus this times its z, in 32 bits


class ClusterError(RuntimeError):
    """A card, or the share of one that a process has, does not run clusters of some size."""


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
        cells: of the sources of a shot.
        samples: of a signal.
        channels: of the record.
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
    cells: Any
    samples: Any
    channels: Any
    lane_reciprocal: Any
    model_reciprocal: Any
    stride_reciprocal: Any


SHORT = (
    "blocks", "x_first", "row", "z_first", "z_end", "model_first", "numbers",
    "inner_x", "inner_x_last", "inner_z", "inner_z_last",
)  # fmt: skip


def shortened(plane: PlaneNumbers) -> PlaneNumbers:
    """Return the numbers of a kernel with those that are compared in 32 bits."""
    return plane._replace(**{name: getattr(plane, name).short() for name in SHORT})


_ONE = 1 << 32  # what reciprocals are parts of


def reciprocal(divisor: int) -> int:
    """Return what `quotient` divides by it: 2^32 over the divisor, rounded up."""
    return -(-_ONE // divisor)


def quotient(n: Any, of: Any) -> Any:
    """Divide 32 bits, n >= 0, given a `reciprocal`; exact where n times the divisor fits them."""
    return (n.wide() * of // _ONE).short()


@dataclass(frozen=True)
class ClusterShape:
    """What a kernel has built in of how rows lie in shared memory.

    Attributes:
        threads: of a block.
        margin: numbers before the first of a row in shared memory.
        half: half the order of the differences.
        halo: rows of its neighbours that a block keeps.
        kinds: axes that are stretched, of each kind of points.
        strips: of each kind, rows that a thread updates with a column in registers.
        masked: whether rows may end within a lane.
        profile: numbers of a row of the profile along z, whole lanes.
    """

    threads: int
    margin: int
    half: int
    halo: int
    kinds: tuple[str, ...]
    strips: tuple[int, ...]
    masked: bool
    profile: int


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

"""How a plane lies in the shared memory of a cluster, and the tables of who does what there."""

from __future__ import annotations

from dataclasses import dataclass

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
X_BITS = 1 << 20  # a point is its x plus this times its z


class ClusterError(RuntimeError):
    """A card, or the share of one that a process has, does not run clusters of some size."""


@dataclass(frozen=True)
class ClusterLayout:
    """How a plane lies in the shared memory of a cluster.

    Attributes:
        blocks: of the cluster.
        threads: of a block.
        x: first number of the rows in the arrays, and behind the last.
        z: first row, and behind the last.
        margin: numbers before the first of a row in shared memory.
        pitch: numbers of such a row.
        model: first x of the model in shared memory, and behind the last.
        x_pitch: numbers of a row of layer memory along x.
        numbers: of shared memory of a block.
        strips: of each kind of points, rows that a thread updates with a column in registers.
        volume: numbers of a shot's field in the card's memory.
        half: half the order of the differences.
        halo: rows of its neighbours that a block keeps.
    """

    blocks: int
    threads: int
    x: tuple[int, int]
    z: tuple[int, int]
    margin: int
    pitch: int
    model: tuple[int, int]
    x_pitch: int
    numbers: int
    strips: tuple[int, ...]
    volume: int
    half: int
    halo: int

    @property
    def row(self) -> int:
        """Numbers of a row without what lies around it."""
        return self.x[1] - self.x[0]

    def bytes(self, size: int) -> int:
        """Bytes of shared memory of a block whose numbers have some bytes."""
        return self.numbers * size + COUNTER_BYTES

"""What the blocks of a cluster keep of a plane in shared memory, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.cluster_layout import ClusterLayout
from seismo.backends.gpu.sweep_constants import inner_nodes


@dataclass(frozen=True)
class PlaneRegion:
    """Points that are updated alike, in array indices of the first shot.

    Attributes:
        stretched: axes that pass through layer memory.
        x: first point, and behind the last.
        z: first row, and behind the last.
        memory: index of (0, 0) in layer memory; distances of rows, variables and shots there.
    """

    stretched: str
    x: tuple[int, int]
    z: tuple[int, int]
    memory: tuple[int, int, int, int]


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


class SharedMemory:
    """How the rows of blocks lie in shared memory, in numbers.

    Both fields, each with zeros before the first row; the model; layer memory along x: fluxes,
    then outer variables, in rows of all layers along x with zeros between them; that along z
    of each layer, one column of lanes after the other: fluxes with zeros around, then outer
    variables. What is next in a column thus has a constant distance, and an odd number of lanes in
    a column keeps threads on banks of their own.
    """

    def __init__(
        self, regions: Sequence[PlaneRegion], tables: KernelConstants, half: int, width: int
    ) -> None:
        self._half = half
        self.margin = -(-half // width) * width
        x0 = min(region.x[0] for region in regions)
        self.x = (x0, x0 + _lanes(x0, max(region.x[1] for region in regions), width))
        self.row = self.x[1] - self.x[0]
        self.pitch = self.row + self.margin
        # The nodes whose model is read.
        low, high = inner_nodes(tables, "x", width)
        ends = [
            np.array([x.start, x[-1]]).clip(low, high) if "x" in region.stretched
            else np.array([x.start, x[-1]])
            for region in regions for x in (range(*region.x, width),)
        ]  # fmt: skip
        self.model = (int(np.min(ends)), int(np.max(ends)) + width)
        # Layers along x, one behind the other in a row.
        spans = sorted({region.x for region in regions if "x" in region.stretched})
        self._x_starts: dict[tuple[int, int], int] = {}
        at = self.margin
        for span in spans:
            self._x_starts[span] = at - span[0]
            at += _lanes(*span, width) + self.margin
        self.x_pitch = at - self.margin
        # Numbers of a column of the highest layer across z, over those of a lane.
        rows = max((z[1] - z[0] for z in (r.z for r in regions if "z" in r.stretched)), default=0)
        self.z_pitch = 2 * (rows + half) + 1
        self._width = width
        self.blocks: list[BlockRows] = []

    def most_rows(self, numbers: int, halo: int) -> int:
        """Return the rows that fit so many numbers, without layers across z."""
        # Rows of neighbours, of both fields; then what each row takes.
        fixed = 3 * self.margin + 4 * halo * self.pitch
        each = 2 * self.pitch + self.model[1] - self.model[0] + 2 * self.x_pitch
        return (numbers - fixed) // each

    def assign(self, blocks: Sequence[BlockRows]) -> None:
        """Place the rows of blocks."""
        self.blocks = list(blocks)
        self.starts = [self._starts_of(rows) for rows in blocks]
        self.numbers = max(start[-1] for start in self.starts)

    def field_size(self, rows: BlockRows) -> int:
        """Numbers of a field of a block."""
        return self.margin + rows.kept_rows * self.pitch

    def _starts_of(self, rows: BlockRows) -> tuple[int, int, int, int]:
        """Return where the model and both layer memories begin, and the end."""
        model = 2 * self.field_size(rows)
        x_memory = model + (rows.model[1] - rows.model[0]) * (self.model[1] - self.model[0])
        z_memory = x_memory + (
            self.margin + 2 * rows.own_rows * self.x_pitch if self.x_pitch else 0
        )
        layers = len(rows.layers) * self.z_pitch
        return model, x_memory, z_memory, z_memory + layers * self.row

    def memory_of(self, region: PlaneRegion, rows: BlockRows) -> tuple[int, int, int, int]:
        """Return a region's columns of layer memory: of (0, 0) along x and z, and both slots."""
        along_x = along_z = slot_x = slot_z = 0
        if "x" in region.stretched:
            along_x = self._x_starts[region.x] - rows.z[0] * self.x_pitch
            slot_x = rows.own_rows * self.x_pitch
        if "z" in region.stretched:
            before = sum(b <= region.z[0] for _, b in rows.layers)
            first, last = region.z
            start = (before * self.row - self.x[0]) * self.z_pitch
            along_z = start + (self._half - first) * self._width
            slot_z = (last - first + self._half) * self._width
        return along_x, along_z, slot_x, slot_z


def _lanes(first: int, last: int, width: int) -> int:
    """Return the numbers of whole lanes of a range."""
    return -(-(last - first) // width) * width


def layout_of(memory: SharedMemory, volume: int) -> ClusterLayout:
    """Return how rows lie in shared memory, of shots of `volume` numbers in the card's."""
    blocks = memory.blocks
    return ClusterLayout(
        blocks=len(blocks), x=memory.x, z=(blocks[0].z[0], blocks[-1].z[1]),
        margin=memory.margin, pitch=memory.pitch, model=memory.model, x_pitch=memory.x_pitch,
        z_pitch=memory.z_pitch, numbers=memory.numbers, volume=volume, halo=blocks[0].halo,
    )  # fmt: skip

"""What the blocks of a cluster keep of a plane in shared memory, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.resident.clusters.layout import ClusterLayout, PointKind
from seismo.backends.gpu.sweeps.constants import inner_nodes


@dataclass(frozen=True)
class PlaneRegion:
    """Points that are updated alike, in array indices of the first shot.

    Attributes:
        kind: of the points.
        x: first point, and behind the last.
        z: first row, and behind the last.
        memory: index of (0, 0) in layer memory; distances of rows, variables and shots there.
        packed: offset of coefficients that are kept for some rows only.
    """

    kind: PointKind
    x: tuple[int, int]
    z: tuple[int, int]
    memory: tuple[int, int, int, int]
    packed: int

    @property
    def stretched(self) -> str:
        """Axes that pass through layer memory."""
        return self.kind.stretched


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
        bare: those of them that have no rows of neighbours.
        models: number of coefficients.
        next_nodes: lanes and rows behind a point's own in which formulas read coefficients.
        layers: whether layer memory, too.
        beyond: rows behind those of the last field that threads may read.
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
    x: fluxes, then outer variables, in rows of all layers along x with zeros between them; that
    along z of each layer, one column of lanes after the other: fluxes with zeros around, then outer
    variables. What is next in a column thus has a constant distance, and an odd number of lanes in
    a column keeps threads on banks of their own.
    """

    def __init__(
        self, regions: Sequence[PlaneRegion], tables: KernelConstants, half: int, width: int,
        keeps: Keeps,
    ) -> None:  # fmt: skip
        """Find what all blocks share.

        Args:
            regions: that make up the plane.
            tables: of the sweeps.
            half: half the order of the differences.
            width: numbers of a lane.
            keeps: what blocks keep.
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
        """Find what rows and columns of layer memory take."""
        half = self._half
        width = self._width
        # Layers along x, one behind the other in a row.
        spans = sorted({region.x for region in regions if "x" in region.stretched})
        at = self.margin
        for span in spans:
            self._x_starts[span] = at - span[0]
            at += _lanes(*span, width) + self.margin
        self.x_pitch = at - self.margin
        # Numbers of a column of the highest layer across z, over those of a lane.
        rows = max((z[1] - z[0] for z in (r.z for r in regions if "z" in r.stretched)), default=0)
        self.z_pitch = 2 * (rows + half) + 1

    def most_rows(self, numbers: int, halo: int) -> int:
        """Return the rows that fit so many numbers, without layers across z."""
        # Rows of neighbours, of all fields; then what each row takes.
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
        # Rows that are read in vain lie in what follows the fields, or in room of their own.
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


def layout_of(memory: SharedMemory, volume: int) -> ClusterLayout:
    """Return how rows lie in shared memory, of shots of `volume` numbers in the card's."""
    blocks = memory.blocks
    return ClusterLayout(
        blocks=len(blocks), x=memory.x, z=(blocks[0].z[0], blocks[-1].z[1]),
        margin=memory.margin, pitch=memory.pitch, model=memory.model, x_pitch=memory.x_pitch,
        z_pitch=memory.z_pitch, numbers=memory.numbers, volume=volume, halo=blocks[0].halo,
    )  # fmt: skip

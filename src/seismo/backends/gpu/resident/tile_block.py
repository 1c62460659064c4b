"""Tiles of a plane as a thread works with them: addresses, places, rows, and copies.

Copies go between the card's memory and that of the tile's block.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from seismo.backends.gpu.resident.block import ResidentBlock
from seismo.backends.gpu.resident.threads import Member
from seismo.backends.gpu.resident.tile_layout import PROFILE, TILE_COLUMNS, TileNumbers, TileShape
from seismo.backends.traced import (
    IRArray,
    IRValue,
    choose,
    loop,
    smaller,
    when,
)


class TileBlock(ResidentBlock):
    """A tile, as one of its threads works with it."""

    plane: TileNumbers
    shape: TileShape

    def share(self, member: Member) -> None:
        """Copy the columns of the tile to shared memory, where they are at hand in each step."""
        columns = len(TILE_COLUMNS)
        of_tile = columns - 2
        address = member.memory
        with loop(member.thread, member.thread.constant(columns), self.shape.threads) as n:
            # The tile's own columns, from the host's table.
            with when(n < of_tile):
                tile = member.shot * self.plane.tiles.wide() + member.rank.wide()
                column = IRArray(self.arrays.blocks)[tile * columns + n.wide()]
                self.lanes.put_number(address, n.wide(), column)
            # First and last step of the sources, which other shots change.
            with when(n >= of_tile):
                step = IRArray(self.arrays.sources[0].acting)[n.wide() - of_tile]
                self.lanes.put_number(address, n.wide(), step)

    def sources_act(self, member: Member, step: IRValue) -> IRValue:
        """Whether any source acts in a step."""
        return (step >= member.kept["acting"]) & (member.kept["acting_end"] >= step)

    def find(self, member: Member) -> dict[str, IRValue]:
        """Return the columns of the tile, and the thread's place in it."""
        zero = self.plane.shot.constant(0)
        # The table has 64 bits; numbers compared and multiplied here have 32.
        kept = {
            name: self.lanes.integer(member.memory, zero + n) for n, name in enumerate(TILE_COLUMNS)
        }
        long = ("memory", "channel", "acting")
        kept = {
            name: n if any(word in name for word in long) else n.short() for name, n in kept.items()
        }
        # Neighbouring threads have lanes of a row: a warp has points of few rows.
        group = member.thread // self.shape.lanes
        kept["lane"] = member.thread - group * self.shape.lanes
        kept["row"] = group * kept["strip"]
        kept["lanes"] = (kept["numbers"] + (self.lanes.width - 1)) // self.lanes.width
        return kept

    def field(self, member: Member, field: int, step: IRValue) -> IRValue:
        """Return the address of p in shared memory, as the last step left it."""
        return member.memory

    def index(self, row: IRValue, lane: IRValue) -> IRValue:
        """Return the index of a lane of p in shared memory, of a row of the tile or beside it."""
        # Behind the table and a lane of zeros: rows of neighbours, margin, then own points.
        shape = self.shape
        before = shape.zero + shape.width + shape.halo * shape.pitch + shape.margin
        return (row * shape.pitch + lane * shape.width + before).wide()

    def start(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Return the index of a point of the arrays in shared memory."""
        # Points that sources act on may be of any tile: the difference may be negative.
        kept = member.kept
        origin = kept["first"].constant(0)
        from_first = (z - kept["first"]) * self.shape.pitch + x - kept["x_first"]
        return self.index(origin, origin) + from_first.signed_wide()

    def owns(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Whether a point of the arrays is the tile's own."""
        kept = member.kept
        row = z - kept["first"]
        column = x - kept["x_first"]
        in_rows = (row >= 0) & (row < kept["rows"])
        return in_rows & (column >= 0) & (column < kept["numbers"])

    def position(self, member: Member, row: IRValue, lane: IRValue) -> tuple[IRValue, IRValue]:
        """Return x and z in the arrays of a lane of a row of the tile or beside it."""
        return member.kept["x_first"] + lane * self.lanes.width, member.kept["first"] + row

    def array_index(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Return the index of a point in the arrays of fields."""
        # Fields of a shot follow the previous shot's.
        return member.shot * self.plane.volume + z.wide() * self.plane.stride + x.wide()

    def mask(self, x: IRValue) -> IRValue | None:
        """Return the numbers of a lane before the end of its row; None where all lanes are full."""
        return self.plane.x_end - x if self.shape.masked else None

    def written(self, step: IRValue) -> tuple[IRValue, IRValue]:
        """Return the arrays of p that a step writes, and that it reads."""
        even, odd = self.arrays.fields
        # Leapfrog: p(n+1) takes the place of p(n-1), so that the two arrays take turns.
        is_even = (step % 2).equals(0)
        return choose(is_even, even, odd), choose(is_even, odd, even)

    @contextmanager
    def each_own(self, member: Member) -> Iterator[tuple[IRValue, IRValue]]:
        """Loop over the tile's lanes: give row and lane by turns to its threads."""
        # Row by row, as the card's memory has them: a warp reads whole lines.
        count = member.kept["rows"] * self.shape.lanes
        with loop(member.thread, count, self.shape.threads) as n:
            row = n // self.shape.lanes
            lane = n - row * self.shape.lanes
            with when(lane < member.kept["lanes"]):
                yield row, lane

    @contextmanager
    def each_in_frame(self, member: Member, inside: bool) -> Iterator[tuple[IRValue, IRValue]]:
        """Loop over lanes at edges that the tile shares: its own, or its neighbours'.

        Args:
            member: the thread.
            inside: whether it is the tile's own lanes.
        """
        kept = member.kept
        plane = self.plane
        none = kept["rows"].constant(0)
        halo = none.constant(self.shape.halo)
        beside = none.constant(self.shape.margin // self.shape.width)  # lanes of a neighbour
        # Rows and lanes at each side, 0 where no tile is behind it.
        above = choose(kept["first"] > plane.z_first, halo, none)
        below = choose(kept["first"] + kept["rows"] < plane.z_end, halo, none)
        before = choose(kept["x_first"] > plane.x_first, beside, none)
        behind = choose(kept["x_first"] + kept["numbers"] < plane.x_end, beside, none)
        # Rows at both ends, of all lanes, with the corners where these are neighbours'.
        corner = none if inside else before
        length = kept["lanes"] + (none if inside else before + behind)
        across = length * (above + below)
        sides = before + behind
        with loop(member.thread, across + kept["rows"] * sides, self.shape.threads) as n:
            # First the rows at both ends, then the columns at both sides of all rows.
            is_across = n < across
            end_row = n // length
            in_column = n - across
            row = in_column // choose(sides > 0, sides, none + 1)
            column = in_column - row * sides
            # n-th row of the first ones, then of the last ones; columns likewise.
            low, high = (none, none - halo) if inside else (none - halo, none)
            first_rows = end_row < above
            end_row_at = choose(first_rows, end_row + low, end_row - above + kept["rows"] + high)
            low, high = (none, none - beside) if inside else (none - beside, none)
            first_columns = column < before
            column_at = choose(first_columns, column + low, column - before + kept["lanes"] + high)
            yield (
                choose(is_across, end_row_at, row),
                choose(is_across, n - end_row * length - corner, column_at),
            )

    @contextmanager
    def each_in_layer(
        self, member: Member, axis: str, extent: str = "layer"
    ) -> Iterator[tuple[IRValue, IRValue]]:
        """Loop over the lanes of a layer along an axis: give x and z to the tile's threads.

        Args:
            member: the thread.
            axis: of the layer.
            extent: `layer` for all points, `damped` for points whose memory is not 0.
        """
        kept = member.kept
        shape = self.shape
        if axis == "x":
            # A thread for each lane of the layer, in as many rows as there are threads for.
            row = member.thread // shape.layer
            x = kept["x_layer"] + (member.thread - row * shape.layer) * shape.width
            # Threads behind the last whole row of them have no part in it.
            step = shape.threads // shape.layer
            in_layer = (x >= kept[f"x_{extent}"]) & (x < kept[f"x_{extent}_end"]) & (row < step)
            with when(in_layer), loop(row, kept["rows"], step) as n:
                yield x, kept["first"] + n
        else:
            # A thread for each lane of a row, rows by turns.
            group = member.thread // shape.lanes
            x = kept["x_first"] + kept["lane"] * shape.width
            begin = kept[f"z_{extent}"] + group
            is_own = (kept["lane"] < kept["lanes"]) & (group < shape.groups)
            with when(is_own), loop(begin, kept[f"z_{extent}_end"], shape.groups) as z:
                yield x, z

    @contextmanager
    def each_column(
        self, member: Member, extent: str, rows: int
    ) -> Iterator[tuple[IRValue, IRValue, IRValue]]:
        """Loop over columns of a layer along z, a number wide: give x, first row and behind it.

        Args:
            member: the thread.
            extent: as `each_in_layer` has it.
            rows: of a column.
        """
        # Threads have a column of numbers each, in as many groups as there are threads for.
        kept = member.kept
        groups = self.shape.threads // self.shape.row
        group = member.thread // self.shape.row
        column = member.thread - group * self.shape.row
        is_own = (column < kept["numbers"]) & (group < groups)
        end = kept[f"z_{extent}_end"]
        begin = kept[f"z_{extent}"] + group * rows
        with when(is_own), loop(begin, end, groups * rows) as z:
            yield kept["x_first"] + column, z, end

    def memory_index(self, member: Member, axis: str, x: IRValue, z: IRValue) -> IRValue:
        """Return the index of a point's memory along an axis in the card's memory."""
        kept = member.kept
        # Where layers along both axes meet memory lies elsewhere, with both axes' variables.
        other = "z" if axis == "x" else "x"
        coordinate = z if axis == "x" else x
        in_other = coordinate >= kept[f"{other}_layer"]
        is_corner = in_other & (coordinate < kept[f"{other}_layer_end"])
        start, rows = (
            choose(is_corner, kept[f"corner_{axis}_{name}"], kept[f"{axis}_{name}"])
            for name in ("memory", "memory_z")
        )
        # Index of (0, 0), then rows of the region.
        return start + z.wide() * rows + x.wide()

    def layer_index(self, member: Member, name: str, x: IRValue, z: IRValue) -> IRValue:
        """Return the index of a point in shared memory's part of a layer.

        Args:
            member: the thread.
            name: of the layer's numbers in `TILE_COLUMNS`, but profiles.
            x: of the point.
            z: of the point.
        """
        kept = member.kept
        shape = self.shape
        # Names begin with the axis.
        of_flux = "flux" in name
        if name == "x_outer":
            row = (z - kept["first"]) * self.plane.x_damped_width
            return kept[name] + row + x - kept["x_damped"]
        if name == "z_outer":
            return kept[name] + (z - kept["z_damped"]) * shape.row + x - kept["x_first"]
        if name[0] == "x":
            # Zeros stand before each row of fluxes.
            before = shape.up(shape.half) if of_flux else 0
            row = (z - kept["first"]) * (self.plane.x_width + before)
            return kept[name] + before + row + x - kept["x_layer"]
        # Rows of zeros before the rows of fluxes.
        before = shape.half * shape.row if of_flux else 0
        return kept[name] + before + (z - kept["z_layer"]) * shape.row + x - kept["x_first"]

    def last_position(self, x: IRValue, z: IRValue) -> tuple[IRValue, IRValue]:
        """Return a place of the plane, clamped to its end."""
        # Lanes begin at multiples of their width, as rows do.
        width = self.lanes.width
        last = (self.plane.x_end - 1) // width * width
        return smaller(x, last), smaller(z, self.plane.z_end - 1)


class TileCopies:
    """Fill a tile before the first step, exchange edges, and store it after the last."""

    def __init__(self, block: TileBlock, registers: Any) -> None:
        self._block = block
        self._registers = registers

    def load(self, member: Member, step: IRValue) -> None:
        """Copy p(n), p(n-1) and the fluxes of layers from the card's memory."""
        block = self._block
        # The step to come writes over p(n-1), and reads p(n).
        past, p = block.written(step)
        with block.each_own(member) as (row, lane):
            x, z = block.position(member, row, lane)
            value = block.lanes.load(p, block.array_index(member, x, z))
            block.lanes.store(member.memory, block.index(row, lane), value, block.mask(x))
        # What a thread has behind the plane's end is never stored.
        kept = member.kept
        for n in range(block.shape.strip):
            x, z = block.last_position(*block.position(member, kept["row"] + n, kept["lane"]))
            value = block.lanes.load(past, block.array_index(member, x, z))
            self._registers.write(member, n, value)
        self._copy_memory(member, step, inwards=True)
        self._load_profiles(member)

    def store(self, member: Member, step: IRValue) -> None:
        """Copy p(n), p(n-1) and the fluxes of layers to the card's memory."""
        block = self._block
        past, p = block.written(step)
        with block.each_own(member) as (row, lane):
            x, z = block.position(member, row, lane)
            value = block.lanes.load(member.memory, block.index(row, lane))
            block.lanes.store(p, block.array_index(member, x, z), value, block.mask(x))
        # Registers: the rows of a thread that the tile has.
        kept = member.kept
        with when(kept["lane"] < kept["lanes"]):
            for n in range(block.shape.strip):
                x, z = block.position(member, kept["row"] + n, kept["lane"])
                is_own = (kept["row"] + n < kept["rows"]) & (kept["strip"] > n)
                with when(is_own):
                    value = self._registers.read(member, n)
                    block.lanes.store(past, block.array_index(member, x, z), value, block.mask(x))
        self._copy_memory(member, step, inwards=False)

    def store_edges(self, member: Member, step: IRValue) -> None:
        """Store the edges of the tile, as a step has written them, in the card's memory."""
        block = self._block
        written, _ = block.written(step)
        with block.each_in_frame(member, inside=True) as (row, lane):
            x, z = block.position(member, row, lane)
            value = block.lanes.load(member.memory, block.index(row, lane))
            block.lanes.store(written, block.array_index(member, x, z), value, block.mask(x))

    def load_edges(self, member: Member, step: IRValue) -> None:
        """Load the edges of the neighbouring tiles, as a step has written them."""
        block = self._block
        written, _ = block.written(step)
        with block.each_in_frame(member, inside=False) as (row, lane):
            x, z = block.position(member, row, lane)
            value = block.lanes.load(written, block.array_index(member, x, z))
            block.lanes.store(member.memory, block.index(row, lane), value, block.mask(x))

    def _copy_memory(self, member: Member, step: IRValue, inwards: bool) -> None:
        """Copy layer memory, as a step finds it, from or to the card's memory."""
        block = self._block
        lanes = block.lanes
        flux = block.fluxes(step)
        outer = block.arrays.memory[0]
        for axis in "xz":
            with block.each_in_layer(member, axis, "damped") as (x, z):
                # Flux and outer variable have the same index in their arrays.
                at = block.memory_index(member, axis, x, z)
                for name, array in (("flux", flux), ("outer", outer)):
                    index = block.layer_index(member, f"{axis}_{name}", x, z).wide()
                    inside = (member.memory, index)
                    source, target = ((array, at), inside) if inwards else (inside, (array, at))
                    lane = lanes.load(*source)
                    lanes.store(target[0], target[1], lane, block.mask(x))

    def _load_profiles(self, member: Member) -> None:
        """Copy the profiles of layers to shared memory."""
        block = self._block
        lanes = block.lanes
        kept = member.kept
        x_table = block.arrays.x_table
        z_table = block.arrays.z_table
        # Along x a row for each number, along z one for each row of the layer.
        with block.each_in_layer(member, "x") as (x, z), when(z.equals(kept["first"])):
            for n in range(PROFILE):
                at = kept["x_profile"] + block.plane.x_width * n + x - kept["x_layer"]
                source = block.plane.x_length * n + x.wide()
                lanes.store(member.memory, at.wide(), lanes.read(x_table, source), None)
        width = block.shape.up(PROFILE)
        with loop(kept["z_layer"] + member.thread, kept["z_layer_end"], block.shape.threads) as z:
            start = kept["z_profile"] + (z - kept["z_layer"]) * width
            for n in range(0, width, lanes.width):
                row = lanes.read(z_table, z.wide() * block.shape.profile + n)
                lanes.store(member.memory, (start + n).wide(), row, None)

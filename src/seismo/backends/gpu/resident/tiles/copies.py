"""Copies of a tile between the card's memory and that of its block."""

from __future__ import annotations

from typing import Any

from seismo.backends.gpu.resident.clusters.cluster import Member
from seismo.backends.gpu.resident.tiles.block import TileBlock
from seismo.backends.gpu.resident.tiles.layout import PROFILE
from seismo.backends.traced import (
    IRValue,
    choose,
    loop,
    when,
)


class TileCopies:
    """Fill a tile before the first step, exchange edges, and keep what it has after the last."""

    def __init__(self, block: TileBlock, registers: Any) -> None:
        self._block = block
        self._registers = registers

    def clear(self, member: Member) -> None:
        """Fill the memory of the block with zeros."""
        # Tables come later: nothing of a tile is known yet.
        block = self._block
        block.lanes.clear(member, block.plane.numbers, block.shape.threads)

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
        """Leave what a step has written at the edges of the tile in the card's memory."""
        block = self._block
        written, _ = block.written(step)
        with block.each_in_frame(member, inside=True) as (row, lane):
            x, z = block.position(member, row, lane)
            value = block.lanes.load(member.memory, block.index(row, lane))
            block.lanes.store(written, block.array_index(member, x, z), value, block.mask(x))

    def load_edges(self, member: Member, step: IRValue) -> None:
        """Take what a step has written at the edges of the tiles around."""
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
        # Even and odd steps find the fluxes in different arrays; here they have one.
        arrays = block.arrays
        flux = choose((step % 2).equals(0), arrays.even_flux, arrays.odd_flux)
        for axis in "xz":
            with block.each_in_layer(member, axis, "damped") as (x, z):
                # Flux and outer variable have the same index in their arrays.
                at = block.memory_index(member, axis, x, z)
                for name, array in (("flux", flux), ("outer", arrays.outer)):
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

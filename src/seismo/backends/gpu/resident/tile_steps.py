"""Updates of a tile by second differences: absorbing layers, then all points.

A second derivative in a layer is the interior's plus the layer's terms, its fluxes' derivative and
outer memory. Layers are updated by all threads of a block, whoever has their points, and leave that
sum in shared memory, so that all points have the same code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seismo.backends.gpu.resident.block import NotedLanes, context_of, march
from seismo.backends.gpu.resident.threads import Member
from seismo.backends.gpu.resident.tile_block import TileBlock
from seismo.backends.gpu.resident.tile_layout import PROFILE
from seismo.backends.gpu.sweeps.lanes import Column
from seismo.backends.operators.cell import bind
from seismo.backends.operators.derivatives import KernelContext, Operators
from seismo.backends.traced import (
    IRValue,
    choose,
    either,
    when,
)
from seismo.equations.framework.formula import SECOND_SLOTS, Formula

COLUMN = 6  # consecutive rows of a layer along z of a thread


class _PointOperators(Operators):
    """Operators of points to whose second derivatives layers add `KernelContext.memory`."""

    def second(self, axis: str, f: Any, i: Any, s: KernelContext) -> Any:
        """Return a second derivative."""
        # Pasalic & McGarry (2010): in a layer d2/da2 p + d/da psi + outer memory.
        derivative = super().second(axis, f, i, s)
        return derivative + s.memory[axis] if s.memory else derivative


class TileSteps:
    """Update the points of a tile."""

    def __init__(
        self, block: TileBlock, formula: Formula, coefficients: dict[str, list], registers: Any
    ) -> None:
        """Bind a formula.

        Args:
            block: the tile.
            formula: of the equation.
            coefficients: as in `KernelContext`.
            registers: lanes that each thread keeps: p(n-1).
        """
        self._block = block
        self._coefficients = coefficients
        self._registers = registers
        order = 2 * block.shape.half
        self._noted = NotedLanes(block.lanes)
        self._update = bind(_PointOperators(self._noted, order, "xz"), formula)
        # Operators of layers along each axis, and without the layers' terms.
        self._lanes = {"x": block.lanes, "z": block.lanes.single()}
        self._inside = {axis: Operators(lanes, order, "xz") for axis, lanes in self._lanes.items()}
        self._layers = {
            axis: Operators(lanes, order, "xz", axis, SECOND_SLOTS)
            for axis, lanes in self._lanes.items()
        }

    def update_fluxes(self, member: Member) -> None:
        """Update the fluxes of layers, from p(n) alone."""
        block = self._block

        def flux(axis: str, x: IRValue, z: IRValue, p: Any, _: Any) -> None:
            # psi <- b psi + a dp/da at half points (Roden & Gedney 2000).
            index = block.layer_index(member, f"{axis}_flux", x, z).wide()
            context = self._in_layer(axis, member, x, z, {"j": index, "slot": index.constant(0)})
            self._layers[axis].flux(axis, p, block.start(member, x, z), context)

        self._each_in_layers(member, "damped", flux)

    def update_layers(self, member: Member) -> None:
        """Update the outer memory of layers, and compute their terms of second derivatives."""
        block = self._block

        def layer(axis: str, x: IRValue, z: IRValue, p: Any, fluxes: Any) -> None:
            flux, outer, added = (
                block.layer_index(member, f"{axis}_{name}", x, z)
                for name in ("flux", "outer", "sum")
            )
            # Outer memory is 0 behind the damped points: a lane of zeros serves all.
            along = x if axis == "x" else z
            is_damped = along >= member.kept[f"{axis}_damped"]
            is_damped = is_damped & (along < member.kept[f"{axis}_damped_end"])
            outer = choose(is_damped, outer, block.shape.zero)
            # Fluxes around the point, and the outer variable, which has a slot of its own.
            memory: dict[str, Any] = {"j": flux.wide(), "slot": (outer - flux).signed_wide()}
            memory |= {"flux": fluxes, "memory_z": block.shape.row}
            context = self._in_layer(axis, member, x, z, memory)
            at = (axis, p, block.start(member, x, z), context)
            # Before anything is stored: shared data is read once.
            inside = self._inside[axis].second(*at)
            difference = self._layers[axis].second(*at) - inside
            self._lanes[axis].store(member.memory, added.wide(), difference, None)

        self._each_in_layers(member, "layer", layer)

    def _each_in_layers(self, member: Member, extent: str, work: Callable[..., None]) -> None:
        """Do work (axis, x, z, p, fluxes) for the points of the tile's layers.

        Along x that is a lane each, along z a number each: threads keep columns of numbers in
        registers, of which lanes would take too many.
        """
        block = self._block
        with block.each_in_layer(member, "x", extent) as (x, z):
            work("x", x, z, member.memory, member.memory)
        half = block.shape.half
        with block.each_column(member, extent, COLUMN) as (x, z, end):
            # First index and distance of rows of p, and of its fluxes.
            flux = block.layer_index(member, "z_flux", x, z).wide()
            sources = ((block.start(member, x, z), block.shape.pitch), (flux, block.shape.row))

            def read(k: int) -> list[IRValue]:
                lanes = self._lanes["z"]
                return [lanes.read(member.memory, i + k * row) for i, row in sources]

            def point(n: int, rows: list[list[IRValue]]) -> None:
                columns = (Column(member.memory, list(lanes)) for lanes in zip(*rows, strict=True))
                work("z", x, z + n, *columns)

            march(COLUMN, half, read, lambda n: z + n < end, point)

    def update(self, member: Member) -> None:
        """Update all points: p(n+1) over p(n-1), in registers."""
        block = self._block
        kept = member.kept
        x, z = block.position(member, kept["row"], kept["lane"])
        # Whether any row of the thread is in a layer.
        in_x = (x >= kept["x_layer"]) & (x < kept["x_layer_end"])
        in_z = (z < kept["z_layer_end"]) & (z + block.shape.strip > kept["z_layer"])
        any_layer = block.lanes.any_of_warp(in_x | in_z)

        # Three codes: few rows with layers; many rows, with layers and without.
        def update(count: int, layers: bool) -> Callable[[], None]:
            return lambda: self._update_points(member, x, z, count, layers)

        def long() -> None:
            either(any_layer, update(block.shape.strip, True), update(block.shape.strip, False))

        # Lanes of a warp have the same rows.
        with when(kept["row"] < kept["rows"]):
            self._by_strip(member, update(block.shape.short, True), long)

    def _by_strip(
        self, member: Member, short: Callable[[], None], long: Callable[[], None]
    ) -> None:
        """Write the code of tiles whose threads have fewer rows, and of others."""
        if self._block.shape.short == self._block.shape.strip:
            long()
        else:
            either(member.kept["strip"] < self._block.shape.strip, short, long)

    def _update_points(
        self, member: Member, x: IRValue, z: IRValue, count: int, layers: bool
    ) -> None:
        """Update a thread's column.

        Args:
            member: the thread.
            x: of the column.
            z: of its first row.
            count: of its rows.
            layers: whether layers may add something.
        """
        block = self._block
        half = block.shape.half
        pitch = block.shape.pitch
        start = block.index(member.kept["row"], member.kept["lane"])
        # Rows behind the plane are computed in vain.
        # Model: c^2 dt^2, from the second-level cache, a row ahead.
        column, row = block.last_position(x, z)
        node = row.wide() * block.plane.stride + column.wide()
        (model,) = block.arrays.coefficients
        k = [block.lanes.read(model, node)]
        # Rows around the first; each further row loads the last row of its stencil.
        p = [block.lanes.read(member.memory, start + n * pitch) for n in range(-half, half)]
        for n in range(count):
            i = start + n * pitch
            p.append(block.lanes.read(member.memory, i + half * pitch))
            if n + 1 < count:
                # Addresses are computed as they are needed: there is no register for them.
                is_next = z + (n + 1) < block.plane.z_end
                node = block.lanes.unknown(node + choose(is_next, block.plane.stride, 0))
                k.append(block.lanes.read(model, node))
            added = self._added(member, x, z + n) if layers else {}
            context = self._context(x, memory=added)
            # p(n-1), p(n) around the row, c^2 dt^2, in the order of the formula.
            operands = (
                Column(member.memory, [self._registers.read(member, n)]),
                Column(member.memory, p[n : n + 2 * half + 1]),
                Column(model, [k[n]]),
            )
            self._update(i, context, *operands)
            ((_, _, value, _),) = self._noted.taken()
            self._registers.write(member, n, value)

    def _added(self, member: Member, x: IRValue, z: IRValue) -> dict[str, IRValue]:
        """Return the layers' terms of second derivatives of a lane, 0 outside of layers."""
        block = self._block
        kept = member.kept
        added = {}
        for axis, coordinate in (("x", x), ("z", z)):
            is_behind = coordinate >= kept[f"{axis}_layer"]
            in_layer = is_behind & (coordinate < kept[f"{axis}_layer_end"])
            # A lane of zeros in place of missing layers: no branch.
            index = block.layer_index(member, f"{axis}_sum", x, z)
            index = choose(in_layer, index, block.shape.zero)
            added[axis] = block.lanes.read(member.memory, index.wide())
        return added

    def exchange(self, member: Member) -> None:
        """Exchange p(n+1) in registers and p(n) in shared memory."""
        kept = member.kept
        # Numbers from the lane's first to the end of the tile.
        x, _ = self._block.position(member, kept["row"], kept["lane"])
        numbers = kept["x_first"] + kept["numbers"] - x

        def exchange(count: int) -> Callable[[], None]:
            is_inside = (numbers >= self._block.lanes.width) & (kept["rows"] >= kept["row"] + count)
            return lambda: either(
                is_inside,
                lambda: self._exchange(member, count, None),
                lambda: self._exchange(member, count, numbers),
            )

        with when(kept["row"] < kept["rows"]):
            shape = self._block.shape
            self._by_strip(member, exchange(shape.short), exchange(shape.strip))

    def _exchange(self, member: Member, count: int, numbers: IRValue | None) -> None:
        """Exchange a thread's column.

        Args:
            member: the thread.
            count: of its rows.
            numbers: of a lane that are the tile's own, by row; None where all are.
        """
        block = self._block
        kept = member.kept
        start = block.index(kept["row"], kept["lane"])
        for n in range(count):
            i = start + n * block.shape.pitch
            # Each thread has its own points: no other reads them meanwhile.
            p = block.lanes.load(member.memory, i)
            lane = self._registers.read(member, n)
            if numbers is None:
                block.lanes.store(member.memory, i, lane, None)
            else:
                # What lies behind the plane stays 0; columns of neighbours come later.
                with when(kept["row"] + n < kept["rows"]):
                    begun = block.lanes.begun(lane, numbers)
                    block.lanes.store(member.memory, i, begun, None)
            self._registers.write(member, n, p)

    def _in_layer(
        self, axis: str, member: Member, x: IRValue, z: IRValue, memory: dict[str, Any]
    ) -> KernelContext:
        """Return the operators' context of a lane in a layer.

        Args:
            axis: of the layer.
            member: the thread.
            x: of the lane.
            z: of the lane.
            memory: where the lane is in layer memory.
        """
        block = self._block
        kept = member.kept
        profile = kept[f"{axis}_profile"]
        # Profiles are in shared memory, along x a row for each of their numbers.
        memory |= {"memory": member.memory}
        if axis == "x":
            at = (profile + x - kept["x_layer"]).wide()
            along_x = {"x_table": member.memory, "x_length": block.plane.x_width.wide()}
            return self._context(at, mask=block.mask(x), **along_x, **memory)
        width = block.shape.up(PROFILE)
        start = (profile + (z - kept["z_layer"]) * width).wide()
        row = block.lanes.numbers(member.memory, start, PROFILE)
        return self._context(x, z_row=row, **memory)

    def _context(self, x: IRValue, **known: Any) -> KernelContext:
        """Return the operators' context of a lane.

        Args:
            x: of the lane.
            known: the rest of the context, and coefficients.
        """
        # The model counts from the node itself, a shot from its own fields.
        of_lane = {"medium": x.wide().constant(0), "x": x} | known
        return context_of(self._coefficients, self._block.shape.pitch, **of_lane)

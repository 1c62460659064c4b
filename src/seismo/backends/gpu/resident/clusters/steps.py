"""Updates of a plane by second differences in the memory of a cluster: fluxes of layers, own rows.

Layers take two passes, as on a CPU.
"""

from __future__ import annotations

from typing import Any

from seismo.backends.gpu.resident.clusters.block import ClusterBlock
from seismo.backends.gpu.resident.clusters.cluster import ClusterLanes, Member
from seismo.backends.gpu.sweeps.lanes import Column
from seismo.backends.operators.cell import bind
from seismo.backends.operators.derivatives import Operators
from seismo.backends.operators.stencils import KernelContext
from seismo.backends.traced import IRValue
from seismo.equations.framework.formula import SECOND_SLOTS, Formula

WRITTEN_FIELD = 0  # numbers of the fields (`ClusterBlock.field`)
READ_FIELD = 1


class _LayerOperators(Operators):
    """Operators whose memory along each axis lies elsewhere: `KernelContext.memory` by axis."""

    def slot(self, axis: str) -> int:
        """Return the first memory variable along an axis, in its own memory."""
        return 0

    def second(self, axis: str, f: Any, i: Any, s: KernelContext) -> Any:
        """Return a second derivative."""
        return super().second(axis, f, i, self._along(axis, s))

    def flux(self, axis: str, f: Any, i: Any, s: KernelContext) -> None:
        """Update the flux memory of a second derivative."""
        super().flux(axis, f, i, self._along(axis, s))

    def _along(self, axis: str, s: KernelContext) -> KernelContext:
        return s._replace(**s.memory[axis]) if axis in self.stretched else s


class _FluxQueue:
    """Columns of the flux along z around rows that follow one another."""

    def __init__(self, lanes: ClusterLanes, memory: dict[str, Any], half: int) -> None:
        self._lanes = lanes
        self._memory = memory
        self._half = half
        # Half points n - M ... n + M - 1 about row n, for the outer difference of psi.
        self._rows = [self._read(n) for n in range(-half, half)]

    def _read(self, n: int) -> IRValue:
        memory = self._memory
        return self._lanes.load(memory["memory"], memory["j"] + n * memory["memory_z"])

    def __getitem__(self, n: int) -> Column:
        """Return the column around the n-th row; asked for one row after the other."""
        self._rows.append(self._read(n + self._half))
        return Column(self._memory["memory"], self._rows[n : n + 2 * self._half + 1])


class ClusterSteps:
    """Update the points of a block."""

    def __init__(
        self, block: ClusterBlock, formula: Formula, coefficients: dict[str, list]
    ) -> None:
        """Bind a formula to the operators of each kind of points.

        Args:
            block: the block.
            formula: of the equation.
            coefficients: those that `KernelContext` names.
        """
        self._block = block
        self._coefficients = coefficients
        order = 2 * block.shape.half
        self._operators = [
            _LayerOperators(block.lanes, order, "xz", kind.stretched, SECOND_SLOTS)
            for kind in block.shape.kinds
        ]
        self._updates = [bind(operator, formula) for operator in self._operators]

    def advance(self, number: int, member: Member, step: IRValue) -> None:
        """Do a pass of a step: update the fluxes of layers, or all points."""
        (self._update_fluxes, self._update)[number](member, step)

    def _update_fluxes(self, member: Member, step: IRValue) -> None:
        """Update the fluxes of the block's layers."""
        field = self._block.field(member, READ_FIELD, step)

        def update(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            def flux(n: int, i: IRValue, columns: list[Column]) -> None:
                context = self._context(number, member, row, x, z + n, i)
                # psi <- b psi + a dp/da at half points (Roden & Gedney 2000).
                for axis in self._block.shape.kinds[number].stretched:
                    self._operators[number].flux(axis, columns[0], i, context)

            start = self._block.start(member, x, z)
            self._block.march(number, row, z, start, [field], flux)

        self._block.rounds(member, 0, update)

    def _update(self, member: Member, step: IRValue) -> None:
        """Update the block's rows: bind the formula to where each lane stands."""
        field = self._block.field(member, READ_FIELD, step)
        written = self._block.field(member, WRITTEN_FIELD, step)
        model = self._block.kept_model(member, 0)

        def update(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            fluxes = self._flux_queue(number, member, row, x, z)

            def point(n: int, i: IRValue, columns: list[Column]) -> None:
                context = self._context(number, member, row, x, z + n, i)
                if fluxes is not None:
                    context.memory["z"]["flux"] = fluxes[n]
                # p(n+1) over p(n-1); in layers d2/da2 p + d/da psi + outer memory.
                self._updates[number](i, context, written, columns[0], model)

            start = self._block.start(member, x, z)
            self._block.march(number, row, z, start, [field], point)

        self._block.rounds(member, 1, update)

    def _flux_queue(
        self, number: int, member: Member, row: dict[str, IRValue], x: IRValue, z: IRValue
    ) -> _FluxQueue | None:
        """Return the fluxes along z around the rows of a column, read as they are needed."""
        if "z" not in self._block.shape.kinds[number].stretched:
            return None
        memory = self._block.memory(number, member, row, x, z)["z"]
        return _FluxQueue(self._block.lanes, memory, self._block.shape.half)

    def _context(self, number: int, member: Member, row: dict[str, IRValue], x: IRValue,
                 z: IRValue, i: IRValue) -> KernelContext:  # fmt: skip
        """Return what operators see of a lane."""
        plane = self._block.plane
        stretched = self._block.shape.kinds[number].stretched
        # The medium of a layer goes on as it is at its inner edge.
        inner_x = x.clip(plane.inner_x, plane.inner_x_last) if "x" in stretched else x
        inner_z = z.clip(plane.inner_z, plane.inner_z_last) if "z" in stretched else z
        node = (inner_z - member.kept["model_first"]).wide() * plane.model_row
        node = node + (inner_x - plane.model_first).wide()
        return KernelContext(
            **self._coefficients,
            y_stride=plane.pitch,
            z_stride=plane.pitch,
            shot=0,
            mask=self._block.mask(x, row["x_end"]),
            medium=i - node,
            packed=0,
            memory=self._block.memory(number, member, row, x, z),
            j=None,
            memory_y=0,
            memory_z=None,
            slot=None,
            ahead=0,
            x=x.wide(),
            x_table=self._block.arrays.x_table,
            x_length=plane.x_length,
            y_row=None,
            z_row=self._block.z_profile(z) if "z" in stretched else None,
            up=None,
            down=None,
            depth=None,
        )

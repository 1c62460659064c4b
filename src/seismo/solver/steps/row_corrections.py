"""Additions to whole rows of a subdomain, right after the sweep of a stage over the same points.

A sweep knows one formula for all rows. Where a few rows of a column need other weights (at contacts
of fluid and solid) they get the difference here: weighted rows of another field, or its derivative
along the rows, stretched in the absorbing layers as the sweeps stretch theirs. The rows of an edge
are corrected with the edge, before neighbours receive it, the others with the core; each point by
the subdomain that owns it, from fields that the stage only reads. The answer is therefore the same
to the last bit however the grid is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seismo.backends.base import Backend, KernelConstants, Launch
from seismo.backends.kernels.rows import add_rows, add_scaled, slope
from seismo.equations.framework.row_terms import RowSlope, RowSums
from seismo.grid.decomposition import Subdomain
from seismo.grid.global_index import CheckpointArray, GlobalBlock
from seismo.grid.grid import AXES, Box


class RowCorrections:
    """Own the layer memory of a stage's corrections and bind them to the points of boxes."""

    def __init__(
        self, backend: Backend, subdomain: Subdomain, arrays: dict[str, np.ndarray], stage: str
    ) -> None:
        """Prepare for one subdomain.

        Args:
            backend: where the arrays are.
            subdomain: where.
            arrays: its flat arrays by field.
            stage: that they follow.
        """
        self._stage = stage
        self._backend = backend
        self._subdomain = subdomain
        self._arrays = arrays
        self._scratch: dict[tuple[str, Box], Any] = {}
        self.memories: list[CheckpointArray] = []

    def bind(
        self, terms: list[RowSums | RowSlope], box: Box, tables: KernelConstants
    ) -> list[Launch]:
        """Bind the terms whose target rows lie in a box of owned points, with tables of sweeps.

        Bindings of one box to other tables go on with the same layer memory.
        """
        launches = []
        for number, term in enumerate(terms):
            if isinstance(term, RowSlope):
                launches += self._slope(term, box, f"correction.{self._stage}.{number}", tables)
            else:
                launches += self._sums(term, box)
        return launches

    def _bases(self, box: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where row z = 0 would begin for every shot and y of a box, those y, and the shots.

        Of a part further down that is before its arrays.
        """
        # Rows of the box: one for each shot and y, at z = 0.
        y = np.arange(box.lo[1], box.hi[1])
        batch = self._subdomain.batch
        shots = np.repeat(np.arange(batch), len(y))
        rows = np.tile(self._subdomain.flat(0, y, 0), batch)
        return shots * self._subdomain.volume + rows, np.tile(y, batch), shots

    def _offsets(self, rows) -> np.ndarray:
        return np.array(rows, np.int64) * self._subdomain.strides[1]

    def _sums(self, term: RowSums, box: Box) -> list[Launch]:
        # Dense block of the weights: target rows of this box, source rows.
        inside = {k: w for k, w in term.weights.items() if box.lo[2] <= k[0] < box.hi[2]}
        if not inside or not box.size:
            return []
        # Rows that change, and rows that are read.
        rows = sorted({target for target, _ in inside})
        sources = sorted({source for _, source in inside})
        target = self._arrays[term.target]
        source = self._arrays[term.source]
        weights = np.array([[inside.get((t, s), 0.0) for s in sources] for t in rows], target.dtype)
        to = self._offsets(rows)
        source_offsets = self._offsets(sources)
        (bases, _, shots) = self._bases(box)
        length = box.shape[0]
        put = self._backend.array
        arguments = (target, source, put(bases), put(to), put(source_offsets), put(weights))
        return [self._backend.each_row(add_rows, bases.size, length, arguments, (0,), shots)]

    def _memory(self, array_name: str, box: Box, rows: int, number: np.dtype) -> tuple[Any, Any]:
        """Return the layer memory of a term in a box, and where it finds slopes: (row, x) each."""
        if (array_name, box) not in self._scratch:
            length = box.shape[0]
            shots = self._subdomain.shots
            memory, slopes = (
                self._backend.array(np.zeros((rows, length), number)) for _ in range(2)
            )
            # Memory (shot, y, x) by global indices; it is the same in all phases of the layers.
            counts = ((shots.start, shots.stop), (box.lo[1], box.hi[1]), (0, length))
            strides = (rows // len(shots) * length, length, 1)
            block = GlobalBlock(array_name, 0, strides, tuple((run,) for run in counts))
            self.memories.append(CheckpointArray(memory, [block]))
            self._scratch[array_name, box] = memory, slopes
        return self._scratch[array_name, box]

    def _slope(
        self, term: RowSlope, box: Box, array_name: str, tables: KernelConstants
    ) -> list[Launch]:
        # df/da of weighted rows, once for all rows that take it.
        inside = {k: g for k, g in term.targets.items() if box.lo[2] <= k[1] < box.hi[2]}
        if not inside or not box.size:
            return []
        source = self._arrays[term.source]
        a = AXES.index(term.axis)
        number = source.dtype
        bases, y, shots = self._bases(box)
        length = box.shape[0]
        # b, a, 1 / kappa at nodes or half points: the term is stretched as the sweeps are.
        profile = tables.profiles[a][3 * term.up :][:3].astype(number)
        if term.axis == "x":
            profile = profile[:, self._subdomain.offset[0] :]
            profile_index = y * 0 - 1
        else:
            profile_index = y + self._subdomain.offset[1]
        # Staggered difference along the axis, up or down.
        stride = (1, self._subdomain.strides[0])[a]
        backend = self._backend
        put = self._backend.array
        memory, slopes = self._memory(array_name, box, bases.size, number)
        at = put(bases)
        arguments = (
            source, put(self._offsets(list(term.weights))),
            put(np.array(list(term.weights.values()), number)), at,
            stride, 0 if term.up else -stride, put(np.asarray(tables.first[a], number)),
            put(np.ascontiguousarray(profile)), put(profile_index), memory, slopes,
        )  # fmt: skip
        # One derivative, added to each target row with its own factor.
        adds = [
            (self._arrays[name], at, int(self._offsets(row)), number.type(gain), slopes)
            for (name, row), gain in inside.items()
        ]
        return [
            backend.each_row(slope, bases.size, length, arguments, (9, 10), shots),
            *(backend.each_row(add_scaled, bases.size, length, add, (0,), shots) for add in adds),
        ]

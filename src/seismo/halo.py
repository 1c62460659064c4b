"""Halo exchange between the subdomains of one process.

A link copies the owned points next to a cut into the neighbour's halo. The stage that
stands between `start` and `finish` does not know what carries the copy.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.decomposition import Subdomain
from seismo.fields import Fields
from seismo.kernels.rows import copy_rows


def _rows(subdomain: Subdomain, axis: str, start: int) -> np.ndarray:
    """Give the flat indices where `halo` planes across an axis begin, row by row."""
    nz, ny, _ = subdomain.shape
    index = {"z": range(nz), "y": range(ny)} | {axis: range(start, start + subdomain.halo)}
    shot, z, y = np.ix_(range(subdomain.batch), index["z"], index["y"])
    y_stride, z_stride = subdomain.strides
    return (shot * subdomain.volume + z * z_stride + y * y_stride).ravel()


def link(
    backend: Backend, axis: str, low: Subdomain, high: Subdomain, below, above
) -> list[Launch]:
    """Bind the exchange of one field across the cut between two neighbours.

    Args:
        backend: where both are.
        axis: "y" or "z".
        low: the subdomain before the cut, whose flat array is `below`.
        high: the subdomain behind it, whose flat array is `above`.
        below: flat array.
        above: flat array.
    """
    halo, points = low.halo, low.owned.shape[{"y": 1, "z": 2}[axis]]
    pairs = (
        (above, below, _rows(high, axis, 0), _rows(low, axis, points)),
        (below, above, _rows(low, axis, halo + points), _rows(high, axis, halo)),
    )
    return [
        backend.each_row(
            copy_rows, to.size, low.shape[2],
            (target, source, backend.array(to), backend.array(given)), writes=(0,),
        )
        for target, source, to, given in pairs
    ]  # fmt: skip


class Halo:
    """Exchange what a stage has written, for all cuts; corners travel with the second axis.

    `start` and `finish` list what to launch before and after the core is updated.
    """

    def __init__(
        self, backend: Backend, parts: list[list[Fields]], names: tuple[str, ...], parity: int
    ) -> None:
        pairs = [
            ("z", low, high)
            for upper, lower in pairwise(parts)
            for low, high in zip(upper, lower, strict=True)
        ]
        pairs += [("y", low, high) for row in parts for low, high in pairwise(row)]
        self.start = [
            launch
            for axis, low, high in pairs
            for name in names
            for launch in link(
                backend, axis, low.subdomain, high.subdomain,
                low.written(name, parity), high.written(name, parity),
            )
        ]  # fmt: skip
        # Copies within a process are ordered like all launches; a link over a wire ends here.
        self.finish: list[Launch] = []

"""Halo exchange between the subdomains of one process.

A link copies the owned points next to a cut into the neighbour's halo. The stage that
stands between `start` and `finish` does not know what carries the copy.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from seismo.decomposition import Subdomain
from seismo.fields import Fields


def _rows(subdomain: Subdomain, axis: str, start: int, array):
    index: list[slice] = [slice(None)] * 4
    index[{"z": 1, "y": 2}[axis]] = slice(start, start + subdomain.halo)
    return subdomain.view(array)[tuple(index)]


def link(axis: str, low: Subdomain, high: Subdomain, below, above) -> Callable[[], None]:
    """Bind the exchange of one field across the cut between two neighbours.

    Args:
        axis: "y" or "z".
        low: the subdomain before the cut, whose flat array is `below`.
        high: the subdomain behind it, whose flat array is `above`.
        below: flat array.
        above: flat array.
    """
    halo, points = low.halo, low.owned.shape[{"y": 1, "z": 2}[axis]]
    pairs = (
        (_rows(high, axis, 0, above), _rows(low, axis, points, below)),
        (
            _rows(low, axis, halo + points, below),
            _rows(high, axis, halo, above),
        ),
    )

    def copy() -> None:
        for target, source in pairs:
            target[...] = source

    return copy


class Halo:
    """Exchange what a stage has written, for all cuts; corners travel with the second axis.

    `start` and `finish` list what to call before and after the core is updated.
    """

    def __init__(self, parts: list[list[Fields]], names: tuple[str, ...], parity: int) -> None:
        pairs = [
            ("z", low, high)
            for upper, lower in pairwise(parts)
            for low, high in zip(upper, lower, strict=True)
        ]
        pairs += [("y", low, high) for row in parts for low, high in pairwise(row)]
        self.start = [
            link(
                axis,
                low.subdomain,
                high.subdomain,
                low.written(name, parity),
                high.written(name, parity),
            )
            for axis, low, high in pairs
            for name in names
        ]
        # Copies within a process are done when they return; a link over a wire ends here.
        self.finish: list[Callable[[], None]] = []

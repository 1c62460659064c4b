"""A watch for waves that grow in absorbing layers, slowly and long before they blow up.

Waves that a medium guides may grow in a layer by an e-fold in some hundred steps
(`seismo.features.guided_waves.guides`). They are known by their place and their direction, not by
their size: once the sources are silent, waves that a layer absorbs decay in it. So they grow where
the largest motion has lain in layers for two windows of `LOOKS` looks, and the largest of the
second window exceeds `RISE` times that of the first.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import NamedTuple

from seismo.grid.grid import AXES, Grid, Triple

LOOKS = 8  # of a window: 400 steps
RISE = 1.2
LEAST = 1e-4  # of the peak; less may be rounding
_FACES = {"x": ("x_min", "x_max"), "y": ("y_min", "y_max"), "z": ("top", "bottom")}


class LayerLook(NamedTuple):
    """A look at the wavefield: its step, the largest motion, and the layers that it lies in."""

    step: int
    size: float
    faces: tuple[str, ...]


def faces_of(grid: Grid, index: Triple) -> tuple[str, ...]:
    """Return the faces whose absorbing layers a point lies in, as scenarios name them."""
    inner = grid.extent
    sides = zip(AXES, index, inner.lo, inner.hi, strict=True)
    return tuple(_FACES[a][i >= hi] for a, i, lo, hi in sides if not lo <= i < hi)


class LayerWatch:
    """The latest looks at a wavefield whose sources are silent."""

    def __init__(self) -> None:
        """Begin with none."""
        self.looks: deque[LayerLook] = deque(maxlen=2 * LOOKS)

    def growth(self, look: LayerLook, peak: float) -> int | None:
        """Take a look; return the step of the first one since which waves grow, None without any.

        Args:
            look: the latest.
            peak: the largest motion while the sources acted.
        """
        self.looks.append(look)
        # Two full windows, all of whose looks have the largest motion in layers.
        if len(self.looks) < 2 * LOOKS or not all(one.faces for one in self.looks):
            return None
        # The largest of each window, as motion oscillates from look to look.
        before = max(one.size for one in islice(self.looks, LOOKS))
        largest = max(one.size for one in islice(self.looks, LOOKS, None))
        return self.looks[0].step if largest > max(RISE * before, LEAST * peak) else None

"""Arrays on a card, as the GPU backend has them: copies, and tables that sweeps share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.backends.base import SHORT, Copy, Group, KernelConstants, computed_in
from seismo.backends.gpu.sweeps.layouts import FLOAT16, Shapes, shapes_of

if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card


class GpuArrays:
    """Arrays of one precision on a card, and the layouts of threads that work on them."""

    in_clusters: bool | None = None  # whether kernels loop over a plane's steps; None: if faster

    def __init__(self, precision: str, card: Card, shapes: Shapes | None = None) -> None:
        """Take the precision, the card (`seismo.backends.gpu.card.Card`) and layouts of threads."""
        self.precision = computed_in(precision)
        self.card = card
        self.shapes = shapes or shapes_of(card.name) | (FLOAT16 if precision == SHORT else {})
        self.lanes = card.lanes(precision)
        self.lane_width = card.lanes(precision, narrow=True).width
        self.clock = card.array(np.zeros(1, np.int64))

    def zeros(self, size: int, short: bool = False) -> Any:
        """Allocate zeros and padding: a lane of the last row may reach beyond its end."""
        return self.card.zeros(size + 8 * self.lanes.width, SHORT if short else self.precision)

    def array(self, host_array: np.ndarray) -> Any:
        """Copy an array to the card."""
        return self.card.array(host_array)

    def fetch(self, array: Any) -> np.ndarray:
        """Copy an array, or a view of one, from the card."""
        return self.card.fetch(array)

    def host_buffer(self, size: int) -> np.ndarray:
        """Allocate pinned bytes."""
        return self.card.host_buffer(size)

    def send(self, array: Any, host: np.ndarray) -> Copy:
        """Copy an array beside the launches; see `Backend.send`."""
        return self.card.send(array, host)

    def wait(self) -> None:
        """Return when all that was launched is done."""
        self.card.wait()

    def attend(self) -> None:
        """See `Backend.attend`."""
        self.card.attend()

    def alone(self, group: Group) -> Callable[[int], None]:
        """Launch a group without a graph; see `Backend.alone`."""
        return self.card.alone(group, self.clock)

    def moment(self) -> Callable[[], float]:
        """Record an event; see `Backend.moment`."""
        return self.card.moment()

    def annotated(self, name: str) -> AbstractContextManager[Any]:
        """Open a range of NVTX; see `Backend.annotated`."""
        return self.card.annotated(name)

    def free_memory(self) -> int | None:
        """Return the free bytes of the card."""
        return self.card.free_memory()

    def bandwidth(self) -> float:
        """Measure what copies on the card move."""
        return self.card.bandwidth()

    def health(self) -> dict[str, float]:
        """Describe how busy, full, hot the card is, and what it draws."""
        return self.card.health()

    def describe(self) -> dict[str, Any]:
        """Name the card, its driver and libraries."""
        return self.card.describe()


@lru_cache(maxsize=64)
def device_tables(backend: GpuArrays, tables: KernelConstants) -> tuple[Any, ...]:
    """Return the profiles along x, y, z and both surface weights on the card, once for all sweeps.

    Rows of all but x are padded to lanes: a vector load never straddles two rows.
    """
    x, y, z = tables.profiles
    rows = (_whole_lanes(a, backend.lanes.unit) for a in (y.T, z.T, tables.up, tables.down))
    arrays = (np.ascontiguousarray(a, np.float64) for a in (x, *rows))
    return tuple(_on_device(backend, a.tobytes(), a.shape) for a in arrays)


def _whole_lanes(rows: np.ndarray, width: int) -> np.ndarray:
    """Fill rows up, so that each of them begins with a lane."""
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % width)))


@lru_cache(maxsize=64)
def _on_device(backend: GpuArrays, data: bytes, shape: tuple[int, ...]) -> Any:
    """Copy a table of coefficients to the card, once for all constants that share it."""
    host_array = np.frombuffer(data).reshape(shape)
    return backend.array(host_array.ravel().astype(backend.precision))

"""Profiles of layers and weights of a surface on the card, as kernels read them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.backends.base import KernelConstants

if TYPE_CHECKING:
    from seismo.backends.gpu.backend import GpuBackend


@lru_cache(maxsize=64)
def device_tables(backend: GpuBackend, tables: KernelConstants) -> tuple[Any, ...]:
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
def _on_device(backend: GpuBackend, data: bytes, shape: tuple[int, ...]) -> Any:
    """Copy a table of coefficients to the card, once for all constants that share it."""
    host_array = np.frombuffer(data).reshape(shape)
    return backend.array(host_array.ravel().astype(backend.precision))

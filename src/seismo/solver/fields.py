"""The arrays of a subdomain: wavefield and model coefficients, by name and step parity.

Equations of second order in time keep two fields that change places after every step. The two
arrays stay where they are; the names move: sweeps of even and odd steps are
bound to `arrays(parity)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.row_kernels import dither
from seismo.equations.framework.table import Physics
from seismo.grid.decomposition import Subdomain
from seismo.grid.surface_closure import RowWeights


def marched_slopes(
    physics: Physics, backend: Backend, curved_rows: RowWeights | None
) -> frozenset[str]:
    """Return the names of terms of slopes that marches find, and no array has."""
    if curved_rows is None:
        return frozenset()
    reach = curved_rows.inner // 2
    return frozenset(
        name
        for stage in physics.stages
        if stage.slopes and backend.marches_slopes(physics.formula(stage, True), reach)
        for name in stage.slopes
    )


class Fields:
    """Own the wavefield, by name as an even step sees it, and the coefficients of a subdomain.

    Coefficients that even planes of a stage do without (`Physics.sparse`) are kept for the other
    planes z alone, back to back; `packed` tells how much earlier a plane stands there.
    """

    def __init__(
        self, backend: Backend, physics: Physics, subdomain: Subdomain,
        uneven: dict[str, np.ndarray], reach: int, curved_rows: RowWeights | None = None,
    ) -> None:  # fmt: skip
        """Allocate the wavefield.

        Args:
            backend: where.
            physics: the wave equation.
            subdomain: the points.
            uneven: by stage, of every plane z of the grid, whether all coefficients are needed.
            reach: points beside a layer whose derivatives still see its memory.
            curved_rows: that follow the ground, None where it is flat.
        """
        self.physics = physics
        self.subdomain = subdomain
        self._backend = backend
        low = subdomain.owned.lo[2]
        high = subdomain.owned.hi[2]
        # Planes z, in array indices, that keep all coefficients of a stage.
        self._planes = {
            stage: np.flatnonzero(planes[low:high]) + low + subdomain.offset[2]
            for stage, planes in uneven.items()
        }
        self.marched = marched_slopes(physics, backend, curved_rows)
        # All shots, back to back.
        size = subdomain.volume * subdomain.batch + subdomain.before
        # Layers at the faces, taken at once, look at points beyond the halo, with weights of 0.
        beyond = reach * subdomain.strides[1] if backend.at_once and physics.at_once else 0
        self.wavefield = {
            f.name: backend.zeros(self._of_rows(1))
            if f.on_surface
            else backend.zeros(size + 2 * beyond, f.short)[beyond : beyond + size]
            for f in physics.fields
            if f.buffer is None
        }
        self._slope_rows = curved_rows.read if curved_rows else 0
        self._buffers = self._slope_buffers()
        self.planes: dict[str, np.ndarray] = {}
        self._coefficients: dict[str, np.ndarray] = {}

    def _slope_buffers(self) -> list[np.ndarray]:
        """Allocate terms of slopes, of as many rows as are read; none that marches find."""
        numbers = {f.name: f.buffer for f in self.physics.fields if f.buffer is not None}
        kept = {number for name, number in numbers.items() if name not in self.marched}
        size = self._of_rows(self._slope_rows)
        return [
            self._backend.zeros(size if n in kept else self.subdomain.before)
            for n in sorted(set(numbers.values()))
        ]

    def _of_rows(self, count: int) -> int:
        """Count the numbers in an array of rows from the surface down, of all shots."""
        return self._of_shot(count) * self.subdomain.batch + self.subdomain.before

    def _of_shot(self, count: int) -> int:
        # Placed as in other arrays: the halo above the surface first.
        sub = self.subdomain
        rows = sub.offset[2] + count if sub.owned.lo[2] == 0 else 0
        return rows * sub.strides[1]

    @property
    def shot_distances(self) -> tuple[int, int, int]:
        """Numbers from a shot to the next in fields, in slopes and in the surface's row.

        Zeros of a shot alone.
        """
        if self.subdomain.batch == 1:
            return 0, 0, 0
        return self.subdomain.volume, self._of_shot(self._slope_rows), self._of_shot(1)

    def set_planes(self, planes: dict[str, np.ndarray]) -> None:
        """Copy planes (y, x), halo included, that have a number for each column of points."""
        sub = self.subdomain
        stride, plane = sub.strides
        for name, columns in planes.items():
            # Rows of a plane z, where they stand in the arrays of fields.
            rows = np.zeros((plane // stride, stride), self._backend.precision)
            ny, nx = columns.shape
            rows[:ny, :nx] = columns
            flat = np.concatenate([np.zeros(sub.before, rows.dtype), rows.ravel()])
            self.planes[name] = self._backend.zeros(self.plane_size)
            self.planes[name][: flat.size] = self._backend.array(flat)

    @property
    def plane_size(self) -> int:
        """Count the numbers in a plane, for each column of points, behind the earlier ones."""
        return self.subdomain.before + self.subdomain.strides[1]

    def size_of(self, coefficient: str) -> int:
        """Count the numbers that are kept of a coefficient."""
        if coefficient in self.physics.sparse:
            planes = self._planes[self.physics.sparse[coefficient]]
            return len(planes) * self.subdomain.strides[1]
        return self.subdomain.volume

    def packed(self, z: int, coefficients: tuple[str, ...]) -> int:
        """Return how much earlier plane z of the grid stands in sparse coefficients.

        They belong to a stage; 0 where none is sparse.
        """
        stages = {self.physics.sparse[n] for n in coefficients if n in self.physics.sparse}
        if not stages:
            return 0
        (stage,) = stages
        # Planes left out before this plane, times their size.
        plane = z + self.subdomain.offset[2]
        return int(plane - np.searchsorted(self._planes[stage], plane)) * self.subdomain.strides[1]

    def at(self, nodes: np.ndarray, coefficient: str) -> np.ndarray:
        """Fetch a coefficient (n) at nodes (3, n) x, y, z of the grid, NaN where it is not kept."""
        flat = self.subdomain.flat(*nodes)
        array = self._coefficients[coefficient]
        kept = np.ones(flat.shape, bool)
        # Packed coefficients: NaN in planes that keep none.
        stage = self.physics.sparse.get(coefficient)
        if stage is not None:
            planes = self._planes[stage]
            plane = nodes[2] + self.subdomain.offset[2]
            kept = np.isin(plane, planes)
            flat = flat - (plane - np.searchsorted(planes, plane)) * self.subdomain.strides[1]
        fetched = np.full(flat.shape, np.nan)
        if kept.any():
            fetched[kept] = self._backend.fetch(array[flat[kept]])
        return fetched

    def set_coefficients(
        self, padded: dict[str, np.ndarray], fill: Callable, spread: Callable = lambda array: array
    ) -> None:
        """Copy the model's arrays, each (z, y, x) with halo along y and z, owned points along x.

        An axis may have a single value for all points, or `spread` expands the values given. Beyond
        the ends of x the values are continued; function `fill` sets all else outside the grid.
        Arrays that are there already get the new values, so that launches may be bound to them.
        """
        # Those of which little is kept come first, while there is room for all of them.
        for name in sorted(padded, key=self.size_of):
            stage = self.physics.sparse.get(name)
            if stage and not self._planes[stage].size:
                self._set(name, self._backend.zeros(self.subdomain.before))
                continue
            is_short = name in self.physics.short_coefficients
            samples = spread(padded[name].astype(self._backend.precision, copy=False))
            array = self._padded(
                samples, None if stage or is_short else self._coefficients.get(name)
            )
            fill(array)
            if is_short:
                array = self._dithered(array, self.physics.short_coefficients.index(name))
            self._set(name, self._some(array, self._planes[stage]) if stage else array)

    def _set(self, name: str, array: Any) -> None:
        """Keep a coefficient, in the array that launches may be bound to."""
        bound = self._coefficients.setdefault(name, array)
        if bound is not array:
            bound[:] = array

    def _padded(self, samples: np.ndarray, array: Any = None) -> Any:
        """Return samples (z, y, x) in an array with halos, which is allocated if there is none."""
        sub = self.subdomain
        halo = sub.halo
        end = sub.halo + sub.owned.shape[0]
        if array is None:
            array = self._backend.zeros(sub.volume + sub.before)
        (rows,) = sub.view(array)
        source = self._backend.array(samples)
        ny = sub.padded.shape[1]
        # Owned points; padding rows and halos along x repeat the last ones.
        rows[:, :ny, halo:end] = source
        for spare in range(ny, rows.shape[1]):
            rows[:, spare, halo:end] = source[:, -1]
        rows[:, :, :halo] = rows[:, :, halo : halo + 1]
        rows[:, :, end:] = rows[:, :, end - 1 : end]
        array[: sub.before] = source[0, 0, 0]
        return array

    def _dithered(self, array: np.ndarray, seed: int) -> np.ndarray:
        """Return a coefficient in 16 bits, rounded alike however the grid is cut."""
        sub = self.subdomain
        short = self._backend.zeros(sub.volume + sub.before, short=True)
        # Rows of the padded array, numbered as in the whole grid.
        deep, high, length = sub.shape
        z, y = (n.ravel() for n in np.indices((deep, high)))
        _, oy, oz = sub.offset
        points = sub.grid.points
        rows = sub.before + z * sub.strides[1] + y * sub.strides[0]
        numbers = (z - oz) * (points[1] + 2 * sub.halo) + y - oy
        put = self._backend.array
        arguments = (short, array, put(rows), put(numbers), seed)
        short[:] = array  # rows before the first, and where kernels are only compiled
        self._backend.each_row(dither, rows.size, length, arguments, (0,))()
        return short

    def _some(self, array: np.ndarray, planes: np.ndarray) -> np.ndarray:
        stride = self.subdomain.strides[1]
        before = self.subdomain.before
        packed = self._backend.zeros(len(planes) * stride + before)
        for n, plane in enumerate(planes):
            to = before + n * stride
            start = before + plane * stride
            packed[to : to + stride] = array[start : start + stride]
        return packed

    def arrays(self, parity: int) -> dict[str, np.ndarray]:
        """Name the arrays as a step of that parity sees them."""
        named = {**self.wavefield, **self._coefficients, **self.planes}
        named |= {
            f.name: self._buffers[f.buffer] for f in self.physics.fields if f.buffer is not None
        }
        # Odd steps: the two time levels have changed places.
        for now, before in self.physics.previous.items() if parity else ():
            named[now], named[before] = named[before], named[now]
        return named

    def written(self, name: str, parity: int) -> np.ndarray:
        """Return the array that holds field `name` once a step of that parity has updated it."""
        return self.arrays(parity)[self.physics.previous.get(name, name)]

    @property
    def renewed_bytes(self) -> int:
        """Bytes of the arrays that are new in every step of rows that follow the ground."""
        surface = [self.wavefield[f.name] for f in self.physics.fields if f.on_surface]
        return sum(a.nbytes for a in (*surface, *self._buffers))

    @property
    def bytes(self) -> int:
        """Bytes of all arrays."""
        every = [*self.wavefield.values(), *self._coefficients.values(), *self.planes.values()]
        every += self._buffers
        return sum(a.nbytes for a in every)


class FieldView:
    """The owned points (shot, z, y, x) of a field, fetched from the backend where it is indexed."""

    def __init__(self, backend: Backend, array: Any) -> None:
        """Look at an array of the backend's."""
        self._backend = backend
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along shot, z, y, x."""
        return self._array.shape

    def __getitem__(self, index: Any) -> np.ndarray:
        """Fetch a part; queued launches are done by then."""
        return self._backend.fetch(self._array[index])


@dataclass(frozen=True)
class RankFields:
    """The fields of a batch of shots that a rank has.

    Attributes:
        backend: where they are.
        fields: of its subdomains.
        shots: that advance together, on all ranks.
        ranks: that have a share of the points each.
    """

    backend: Backend
    fields: list[Fields]
    shots: int
    ranks: SerialCommunicator

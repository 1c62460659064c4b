"""Exchange of two grids of different spacing on the plane where they meet, before each stage.

    before velocities change   traction on the plane, of the coarser grid   -> both
    before stresses change     velocity on the plane, of the finer grid     -> both

Each value stands in a row beyond the plane, where sweeps find it
(`seismo.features.refinement.operators`). After a step the rows of the coarser grid above the plane,
which no sweep updates, take coinciding points of the finer: snapshots see a single grid.

Both are cut at the same y. What crosses is found in the halos, too, from the values that halos have
of the stage before: nothing more is sent.
"""

from __future__ import annotations

import numpy as np

from seismo.backends import row_kernels as kernels
from seismo.backends.base import Backend, Launch
from seismo.equations.framework.table import Field, Stage
from seismo.features.refinement import operators as refinement
from seismo.features.refinement.operators import FACTOR
from seismo.grid.grid import AXES
from seismo.grid.surface_closure import BesideRefinement
from seismo.solver.discretization import Discretization
from seismo.solver.subdomain import SubdomainSolver


class RefinedExchange:
    """The launches of the exchange between subdomains of two stacked grids."""

    def __init__(
        self, backend: Backend, coarse: SubdomainSolver, fine: SubdomainSolver,
        discretization: Discretization,
    ) -> None:  # fmt: skip
        """Bind nothing yet.

        Args:
            backend: where both are.
            coarse: of the grid below.
            fine: of the grid above.
            discretization: of the grid below, which knows that above.
        """
        assert discretization.above is not None
        self._backend = backend
        self._axes = discretization.grid.axes
        self._periodic = {
            face.axis for face in discretization.image_faces if face.kind == "periodic"
        }
        self._fields = [
            f for f in discretization.physics.fields if not f.remembers and f.buffer is None
        ]
        self._points = [
            grid_discretization.grid.points
            for grid_discretization in (discretization, discretization.above)
        ]
        self._rows = [discretization.plane_rows, discretization.above.plane_rows]
        self._solvers = [coarse, fine]
        self._arrays = [solver.fields.arrays(0) for solver in self._solvers]

    def before(self, stage: Stage) -> list[Launch]:
        """Return the launches that exchange fields across the plane before a stage, in order."""
        # Of what the stage differentiates, velocities and tractions s_az cross the plane; the finer
        # grid gives velocities, the coarser tractions.
        crossing = [
            (field, int(field.name[0] == "v"))
            for field in self._fields
            if field.name in stage.reads and (field.name[0] == "v" or field.name.endswith("z"))
        ]
        # The giver finds them on the plane, for its own differences, too; the taker interpolates
        # them between its points, or averages them.
        launches = [launch for field, giver in crossing for launch in self._on_plane(field, giver)]
        return launches + [
            launch for field, giver in crossing for launch in self._crossing(field, giver)
        ]

    def _on_plane(self, field: Field, grid: int) -> list[Launch]:
        """Return the launches that compute a field on the plane from the rows of its own grid."""
        # f* = l f of half points, f* = f[0] of nodes.
        solver = self._solvers[grid]
        beside = self._rows[grid]
        sub = solver.subdomain
        target, sources, weights = _values_on_plane(beside, field)
        # One row of each shot and y, from which rows of the grid are counted.
        # Halos along y, too: a part of the other grid takes points of them.
        _, last, _ = self._points[grid]
        first, behind = (np.clip(end[1], 0, last) for end in (sub.padded.lo, sub.padded.hi))
        bases, shots = _rows(solver, 0, np.arange(first, behind))
        stride = sub.strides[1]
        array = self._arrays[grid][field.name]
        put = self._backend.array
        arguments = (
            array, put(bases), target * stride, put(np.array(sources, np.int64) * stride),
            put(weights.astype(self._backend.precision)),
        )  # fmt: skip
        length = sub.owned.hi[0]
        return [
            self._backend.each_row(kernels.extrapolate, bases.size, length, arguments, (0,), shots)
        ]

    def _crossing(self, field: Field, giver: int) -> list[Launch]:
        """Return the launches that carry a field on the plane between the grids."""
        taker = 1 - giver
        source = self._solvers[giver]
        target = self._solvers[taker]
        # v* = R v, T* = I T: weights along x times weights along y.
        (x_weights, x_points), (y_weights, y_points) = (
            self._along(a, a in field.half, taker) for a in ("x", "y")
        )
        put = self._backend.array
        sub = source.subdomain
        number = self._backend.precision
        # Rows of the taker, and for each the rows of the giver that it takes.
        row = _values_on_plane(self._rows[taker], field)[0]
        target_rows, shots = _rows(target, row, _owned(target, "y"))
        row = _values_on_plane(self._rows[giver], field)[0]
        at = sub.flat(0, y_points, row)
        source_rows = np.concatenate([at + n * sub.volume for n in range(sub.batch)])
        arguments = (
            self._arrays[taker][field.name], put(target_rows), self._arrays[giver][field.name],
            put(source_rows), put(np.tile(y_weights, (sub.batch, 1)).astype(number)),
            put(x_points), put(x_weights.astype(number)),
        )  # fmt: skip
        length = target.subdomain.owned.hi[0]
        return [
            self._backend.each_row(
                kernels.interpolate, target_rows.size, length, arguments, (0,), shots
            )
        ]

    def _along(self, axis: str, is_half: bool, taker: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights (points, n) of the other grid's points (points, n) along an axis."""
        n = AXES.index(axis)
        end = self._points[1 - taker][n]
        if axis not in self._axes:
            return np.ones((1, 1)), np.zeros((1, 1), np.int64)
        index = _owned(self._solvers[taker], axis)
        # Coarse points take an average of fine points, adjoint to the interpolation to these.
        if taker == 0:
            offsets, coarse_weights = refinement.to_coarse(is_half)
            points = FACTOR * index[:, None] + offsets
            weights = np.tile(coarse_weights, (index.size, 1))
        else:
            count = len(refinement.THIRD)
            points = np.tile(index[:, None] // FACTOR, count)
            weights = np.zeros((index.size, count))
            for kind, offsets, fine_weights in refinement.to_fine(is_half):
                chosen = index % FACTOR == kind
                points[chosen, : fine_weights.size] = index[chosen, None] // FACTOR + offsets
                weights[chosen, : fine_weights.size] = fine_weights
        # Around a periodic axis the first points follow the last ones.
        if axis in self._periodic:
            points %= end
        # Beyond the outer side of a layer there is nothing.
        weights[(points < 0) | (points >= end)] = 0.0
        return weights, np.clip(points, 0, end - 1)

    def fill(self) -> list[Launch]:
        """Return the launches that copy the finer grid to the coarser one above the plane."""
        # Every row of the coarser grid above the plane, in all fields that outputs show.
        coarse, fine = self._solvers
        plane = self._rows[0].plane
        launches = []
        for field in self._fields:
            # Fine points that stand on coarse ones: 3 i, half a cell further 3 i + 1.
            shift = {a: int(a in field.half) for a in AXES}
            # Half points at the far ends coincide with no fine point.
            nx, ny = (
                self._points[0][n] - shift[a] * (a in self._axes and a not in self._periodic)
                for n, a in enumerate("xy")
            )
            y = _owned(coarse, "y")
            y, z = (np.ravel(numbers) for numbers in np.meshgrid(y[y < ny], np.arange(plane)))
            y_fine = FACTOR * y + shift["y"] if "y" in self._axes else y
            # A row for each y, z and shot.
            targets = coarse.subdomain.flat(0, y, z)
            sources = fine.subdomain.flat(shift["x"], y_fine, FACTOR * z + shift["z"])
            batch = range(coarse.subdomain.batch)
            to, source = (
                np.concatenate([rows + n * solver.subdomain.volume for n in batch])
                for rows, solver in ((targets, coarse), (sources, fine))
            )
            put = self._backend.array
            arguments = (
                self._arrays[0][field.name], put(to), self._arrays[1][field.name], put(source),
                FACTOR,
            )  # fmt: skip
            shots = np.repeat(np.array(batch), y.size)
            launches.append(
                self._backend.each_row(kernels.take, to.size, nx, arguments, (0,), shots)
            )
        return launches


def _values_on_plane(beside: BesideRefinement, field: Field) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the row that holds a field on the plane, and the rows and weights that it is of."""
    if "z" in field.half:
        return beside.halves, beside.inner, beside.extrapolation
    return beside.nodes, np.array([beside.plane]), np.ones(1)


def _owned(solver: SubdomainSolver, axis: str) -> np.ndarray:
    """Return the grid indices that a subdomain owns along an axis."""
    owned = solver.subdomain.owned
    n = AXES.index(axis)
    return np.arange(owned.lo[n], owned.hi[n])


def _rows(solver: SubdomainSolver, z: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the flat indices where a row begins for every shot and y, and the shots."""
    sub = solver.subdomain
    shots = np.repeat(np.arange(sub.batch), y.size)
    return np.tile(sub.flat(0, y, z), sub.batch) + shots * sub.volume, shots

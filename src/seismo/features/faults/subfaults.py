"""The subfaults of a run on its grid: which points each acts on, and when.

Those whose points all lie inside the grid, away from faces that are images, are spread by weights
along each axis (`seismo.backends.point_kernels`). The few others act as lone points do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.equations.framework.table import Field
from seismo.features.faults.finite_fault import ActingFault
from seismo.features.faults.moment_depths import MomentDepths
from seismo.features.faults.signals import FaultSignals
from seismo.grid.grid import AXES
from seismo.grid.interpolation import WIDTH, even_weights
from seismo.solver.boundary_images import Face
from seismo.solver.discretization import derived_once
from seismo.solver.interpolation.point_weights import PointInterpolation

NUMBERS_PLACED = 48  # of 8 bytes: where a subfault acts, and when, and what its file says of it


class Subfaults:
    """The subfaults of one fault.

    Attributes:
        fault: the fault.
        spread: numbers of those that are spread by weights along each axis.
        signals: moment rates.
        depths: weights along z.
    """

    def __init__(
        self, fault: ActingFault, interpolation: PointInterpolation, faces: list[Face],
        breaks: np.ndarray, dt: float, make_signals: Callable[[float], FaultSignals],
    ) -> None:  # fmt: skip
        """Place a fault on a grid.

        Args:
            fault: the fault.
            interpolation: the grid and its medium.
            faces: that are images.
            breaks: depths (n) in m where the medium of a layered earth ends suddenly.
            dt: time step in s.
            make_signals: makes its signals, of times that are so many steps late.
        """
        self.fault = fault
        self._interpolation = interpolation
        self._dt = dt
        self.depths = MomentDepths(interpolation, fault.positions, fault.strengths, breaks)
        fields = self.depths.targets
        # Time level of the signals, as of point sources (`Injection`).
        late = any(f.late for f in fields) or interpolation.physics.differences != "first"
        self.signals = make_signals(0.0 if late else 0.5)
        self._coordinates = {
            a: np.asarray(interpolation.grid.index(a, fault.positions[:, AXES.index(a)]), float)
            for a in interpolation.grid.axes
        }
        self.spread = np.flatnonzero(self._inside({f.axis for f in faces}, fields))

    @property
    def fields(self) -> list[Field]:
        """The fields that they act on."""
        return self.depths.targets

    @property
    def lone(self) -> list[PointSource]:
        """The others, which act as points."""
        others = np.setdiff1d(np.arange(len(self.fault)), self.spread)
        return [self.fault.point(n) for n in others.tolist()]

    def first(self, field: Field, axis: str) -> np.ndarray:
        """Return the first point (subfault) of a field along an axis that each acts on."""
        if axis not in self._coordinates:
            return np.zeros(len(self.fault), np.int64)
        if axis == "z":
            return self.depths.first(field)
        # First of WIDTH points about the position, on nodes or half points.
        along = np.floor(self._coordinates[axis] - 0.5 * (axis in field.half))
        return along.astype(np.int64) - WIDTH // 2 + 1

    def down(self, field: Field, numbers: np.ndarray) -> np.ndarray:
        """Return the weights (subfault, n) of some subfaults along z, times strength and step.

        With those along x and y (`level`) they are what a field gets per unit of their signals.
        """
        # A moment rate dM/dt acts on a stress as -dM/dt / cell (stress glut).
        drives = self._interpolation.physics.drives["moment_tensor"]
        scale = drives[0].scale(lambda name: 1.0, self._dt) / self._interpolation.grid.cell
        down = scale * self.depths.weights(field, numbers)
        rows = self.depths.first(field)[numbers, None] + np.arange(down.shape[1])
        # Over the share of a cell that each row stands for.
        x, y = (self._among(field, a, numbers)[:, None] for a in "xy")
        at = (array.ravel() for array in np.broadcast_arrays(x, y, rows))
        return np.asarray(down / self._interpolation.norm(field, *at).reshape(rows.shape))

    def _among(self, field: Field, axis: str, numbers: np.ndarray) -> np.ndarray:
        """Return where some subfaults stand among the points of a field along an axis."""
        if axis not in self._coordinates:
            return np.zeros(numbers.size)
        return self._coordinates[axis][numbers] - 0.5 * (axis in field.half)

    def level(self, axis: str, half: bool, numbers: np.ndarray) -> np.ndarray:
        """Return the weights (subfault, WIDTH) of some subfaults along x or y.

        Args:
            axis: "x" or "y".
            half: whether the field is staggered along it.
            numbers: of the subfaults.
        """
        if axis not in self._coordinates:
            return np.eye(1, WIDTH).repeat(numbers.size, axis=0)
        # Weights of even media, which are separable.
        return even_weights(self._coordinates[axis][numbers], half)[1]

    def _inside(self, imaged: set[str], fields: list[Field]) -> np.ndarray:
        """Return (subfault) whether all points lie in the grid, beside no face that is an image."""
        grid = self._interpolation.grid
        inside = np.full(len(self.fault), not self._interpolation.physics.broad_sources)
        for field in fields:
            for axis in grid.axes:
                first = self.first(field, axis)
                margin = int(axis in imaged)
                count = self.depths.width if axis == "z" else WIDTH
                last = grid.points[AXES.index(axis)] - 1 - margin
                # All points lie in the grid, none on a face that is an image.
                inside &= (first >= margin) & (first + count - 1 <= last)
        return inside


@derived_once
def placed_faults(run: Any) -> list[Subfaults]:
    """Return the faults of a run on its grid (`seismo.solver.discretization.Discretization`)."""
    # Of two grids the one has them on whose side of the plane they lie.
    every = (fault for shot in run.shots for fault in shot.faults)
    faults = [fault for fault in every if run.has(fault.positions).all()]
    if not faults:
        return []
    breaks = run.contact_depths if run.earth.layered else np.zeros(0)
    dt = run.clock.dt
    removal = run.scenario.time.dispersion_removal
    kept = run.total_steps, removal, run.scenario.arithmetic
    return [
        Subfaults(
            fault, run.interpolation, run.image_faces, breaks, dt,
            partial(FaultSignals, fault, dt, *kept),
        )
        for fault in faults
    ]  # fmt: skip

"""The problem of `equal_error.py`: a cube in a whole space, three long paths, the exact traces.

Lengths are counted in shortest wavelengths, that of the slowest wave at 2.5 times the frequency of
a Ricker wavelet. The source stands 2 of them from one face and 20 from two others; of the cube's
N, 0.96 lie between it and each of three receivers: along x, along the diagonal of x and y, and
along that of all three. A pressure source is recorded by pressure, a force along z by its vz,
which is the shear wave alone on the first two paths and P and S on the third.

Every code gets source and receivers on the points of its own pressure, or of vz for those whose
positions are of that component: the nearest to the places named above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seismo.exact import acoustic, metrics, whole_space
from seismo.exact.medium import Medium
from seismo.grid.coefficients import Stencil
from seismo.runs.prediction.accuracy import expected_error, sent_back
from seismo.scenario import Scenario
from seismo.solver.accuracy.stencil import dispersion_error
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize

VP = 3000.0
VS = VP / math.sqrt(3.0)
RHO = 2500.0
FREQUENCY = 10.0
HIGHEST = 2.5 * FREQUENCY
PERIOD = 1.0 / HIGHEST
PATH = 0.96  # of the side
SOURCE = np.array([0.02, 0.2, 0.2])  # of the side
DIRECTIONS = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
DELAY = 1.5 / FREQUENCY  # of seismo's wavelet, s
TAIL = 7.0  # periods of 1 / HIGHEST: the delay of the wavelet, and nearly as much behind it
SHARE_OF_LAYERS = 0.7  # of the wanted error: from there on `seismo check` asks for thicker ones
FEWEST, MOST = 2.2, 10.0  # points in a shortest wavelength that are looked at


def ricker(times: np.ndarray) -> np.ndarray:
    """Return the wavelet (time) of the source at some times in s."""
    squared = (math.pi * FREQUENCY * (times - DELAY)) ** 2
    return (1.0 - 2.0 * squared) * np.exp(-squared)


@dataclass(frozen=True)
class Cube:
    """One cube on one grid.

    Attributes:
        physics: "acoustic" or "elastic".
        wavelengths: along a side.
        points: in a shortest wavelength.
    """

    physics: str
    wavelengths: float
    points: float

    @property
    def slowest(self) -> float:
        """Velocity of the shortest waves in m/s."""
        return VS if self.physics == "elastic" else VP

    @property
    def spacing(self) -> float:
        """Distance between grid points in m."""
        return self.slowest / HIGHEST / self.points

    @property
    def nodes(self) -> int:
        """Points along a side, layers left out."""
        return round(self.wavelengths * self.points) + 1

    @property
    def duration(self) -> float:
        """Simulated time in s."""
        return (PATH * self.wavelengths + TAIL) * PERIOD

    @property
    def source(self) -> np.ndarray:
        """Indices (x, y, z) of the source's grid point."""
        return np.rint(SOURCE * (self.nodes - 1)).astype(int)

    @property
    def receivers(self) -> np.ndarray:
        """Indices (receiver, axis) of the receivers' grid points."""
        along = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1)[:, None]
        return self.source + np.rint(PATH * self.wavelengths * self.points * along).astype(int)

    def scenario(self, accuracy: float, order: int | str, layer: int) -> dict[str, Any]:
        """Return the scenario of seismo, with its defaults but for what is asked."""
        elastic = self.physics == "elastic"
        rock = {"vp": VP} | ({"vs": VS, "rho": RHO} if elastic else {})
        acting: dict[str, Any] = {"type": "pressure"}
        if elastic:
            acting = {"type": "force", "force": {"z": 1.0}}
        return {
            "title": f"{self.physics} cube of {self.wavelengths:g} shortest wavelengths",
            "physics": self.physics,
            "grid": {
                "extent": dict.fromkeys("xyz", (self.nodes - 1) * self.spacing),
                "spacing": self.spacing, "order": order, "accuracy": accuracy,
            },
            "time": {"duration": self.duration},
            "boundaries": {"layer": {"points": layer}},
            "model": [{"type": "uniform", **rock}],
            "sources": [acting | {
                "position": self._place(self.source),
                "wavelet": {"type": "ricker", "frequency": FREQUENCY},
            }],
            "receivers": [{
                "type": "points", "name": "far",
                "quantities": ["velocity" if elastic else "pressure"],
                "positions": [self._place(receiver) for receiver in self.receivers],
            }],
        }  # fmt: skip

    def _place(self, indices: np.ndarray) -> dict[str, float]:
        return dict(zip("xyz", (indices * self.spacing).tolist(), strict=True))

    def exact(self, wavelet: np.ndarray, dt: float) -> np.ndarray:
        """Return the exact traces (receiver, time): pressure in Pa, or vz in m/s.

        Args:
            wavelet: (time) of the source, Pa m of a pressure source, N of a force.
            dt: of both in s.
        """
        offsets = (self.receivers - self.source) * self.spacing
        if self.physics == "acoustic":
            return acoustic.pressure(offsets, wavelet, dt, VP)
        rock = Medium(VP, VS, RHO)
        force = np.array([0.0, 0.0, 1.0])
        return whole_space.force_response(offsets, force, wavelet, dt, rock, "velocity")[:, 2]

    def errors(
        self, traces: np.ndarray, times: np.ndarray, dt: float, scaled: bool = False
    ) -> list[float]:
        """Return the relative L2 error of each trace.

        Args:
            traces: (receiver, time), pressure in Pa or vz in m/s.
            times: (time) of the traces in s, equally spaced.
            dt: their distance in s.
            scaled: whether each trace may take the factor that brings it closest.
        """
        known = self.exact(ricker(times), dt)
        errors = []
        for trace, exact in zip(traces, known, strict=True):
            factor = metrics.amplitude_ratio(exact, trace) if scaled else 1.0
            errors.append(metrics.relative_l2(factor * trace, exact))
        return errors


@dataclass(frozen=True)
class Advice:
    """A grid that `seismo check` expects to keep to an accuracy.

    Attributes:
        cube: the cube on this grid.
        order: of the differences.
        layer: points of the absorbing layers.
        expected: error that it expects.
        discretization: what it says more.
    """

    cube: Cube
    order: int
    layer: int
    expected: float
    discretization: Discretization

    @property
    def work(self) -> int:
        """Points times steps."""
        return self.discretization.grid.size * self.discretization.clock.steps


def advised(physics: str, wavelengths: float, accuracy: float, order: int) -> Advice:
    """Return the coarsest grid of an order for an accuracy, as `seismo check` is asked for it.

    Layers are as thick as it says that they have to be.
    """
    layer = 12
    low, high = FEWEST, MOST
    while high - low > 0.01:  # the fewest points with which the expected error is the wanted one
        middle = 0.5 * (low + high)
        layer, error = _expected(Cube(physics, wavelengths, middle), accuracy, order)
        low, high = (low, middle) if error <= accuracy else (middle, high)
    cube = Cube(physics, wavelengths, high)
    layer, error = _expected(cube, accuracy, order)
    return Advice(cube, order, layer, error, _discretization(cube, accuracy, order, layer))


def _expected(cube: Cube, accuracy: float, order: int) -> tuple[int, float]:
    """Return the points of layers that keep to an accuracy, and the expected error with them."""
    layer = 12
    discretization = _discretization(cube, accuracy, order, layer)
    while sent_back(discretization, layer) > SHARE_OF_LAYERS * accuracy:
        layer += 1
    return layer, expected_error(_discretization(cube, accuracy, order, layer)).error


def _discretization(cube: Cube, accuracy: float, order: int, layer: int) -> Discretization:
    return discretize(Scenario.model_validate(cube.scenario(accuracy, order, layer)))


def dispersion(
    discretization: Discretization, points: float, courant: float, removed: bool
) -> float:
    """Return the error that waves of a run would have by Taylor coefficients of order 8.

    Args:
        discretization: of the run on any grid.
        points: in a shortest wavelength.
        courant: fastest velocity times time step over spacing.
        removed: whether the error of time stepping is taken out of the traces.
    """
    waves = discretization.waves
    spacing = waves.slowest / HIGHEST / points
    dt = 0.0 if removed else courant * spacing / VP
    waves = replace(waves, spacing=(spacing,) * 3, dt=dt)
    return dispersion_error(waves, Stencil(8))


def peer_grid(
    discretization: Discretization, accuracy: float, removed: bool, limit: float
) -> tuple:
    """Return points in a shortest wavelength and Courant number that cost a peer least.

    Args:
        discretization: of the cube on any grid.
        accuracy: wanted.
        removed: whether the error of time stepping is taken out of the traces.
        limit: largest Courant number that it steps with.
    """
    best: tuple[float, float, float] = (math.inf, 0.0, 0.0)
    for points in np.arange(4.0, 12.0, 0.1):
        if dispersion(discretization, points, limit, True) > accuracy:
            continue
        courant = limit
        while not removed and dispersion(discretization, points, courant, False) > accuracy:
            courant *= 0.98
            if courant < 1e-3:
                break
        best = min(best, (points**4 / courant, float(points), courant))
    return best[1:]

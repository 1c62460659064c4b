"""Resolution of the waves of each medium by the grid, up to the sources' highest frequency.

Of a wave of angular frequency w and velocity c, the differences make the wavenumber k into K(k),
and time stepping makes w into (2 / dt) sin(w dt / 2) (`seismo.grid.coefficients`). The wave travels
at

    c' / c = asin(c dt K / 2) / (c dt k / 2),    k = w / c,

or K / k alone where the time dispersion is removed. Along an axis the differences err most, along a
diagonal least, and time stepping errs the same way in both: the larger error of the two is given.
The error that follows for traces is in `seismo.runs.prediction.accuracy`.

The interpolation of coupled strains adds to the dispersion, in rock of any anisotropy. The
four-point mean P of `seismo.equations.elastic.tti` passes waves of wavenumber k along an axis of
spacing h with 1 - 3/128 (k h)^4. So constants that couple a shear strain to a normal strain act
P times on a wave, along both axes of the shear strain, and constants of two shear strains along the
axes of both: with the loss C' of stiffness C, a wave's direction n, its motion e and velocity c

    dc / c  =  1/2 (e n C' n e) / (rho c^2),        phase error  =  k dc / c  on each metre

A cell has the mean of rock that changes gradually within it, by the share g of its velocity: waves
are off by the phase k g^2 / 12 on each metre. That is the order of g that means of 1 / c^2 and c^2
differ by, and its factor was found with random gradients, to a factor of 1.5.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.equations.rock import elastic_constants, plane_waves
from seismo.grid.coefficients import Operator
from seismo.grid.grid import AXES
from seismo.model.media import RepresentativeMedium
from seismo.scenario import Scenario
from seismo.solver.accuracy.waves import Passage
from seismo.solver.discretization import Discretization


@dataclass(frozen=True, kw_only=True)
class LayerResolution(RepresentativeMedium):
    """A medium of the earth and how the grid carries its slowest wave.

    Attributes:
        points_per_wavelength: of the slowest wave at the highest frequency.
        phase_error: of its velocity there, in %.
    """

    points_per_wavelength: float
    phase_error: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def phase_error(discretization: Discretization, velocity: float, frequency: float) -> float:
    """Return the error in % of the phase velocity of a wave of that velocity in m/s."""
    points = velocity / (frequency * discretization.coarsest_spacing)
    dimensions = discretization.grid.dimensions
    # On the diagonal every axis sees the projected wavelength.
    errors = [_error(discretization, p, frequency) for p in (points, points * dimensions**0.5)]
    return max(errors, key=abs)


def _error(discretization: Discretization, points: float, frequency: float) -> float:
    operator = Operator(
        discretization.stencil, discretization.waves.second_order, discretization.waves.spacing
    )
    k = 2.0 * math.pi / points
    squares = [
        float(operator.symbol_squared(axis, np.array([k]))[0])
        for axis in range(len(operator.spacing))
    ]
    ratio = max((math.sqrt(max(0.0, square)) / k for square in squares), key=lambda r: abs(r - 1.0))
    if not discretization.scenario.time.dispersion_removal:
        half = math.pi * frequency * discretization.clock.dt
        ratio = math.asin(min(1.0, half * ratio)) / half
    return 100.0 * (ratio - 1.0)


def layers_of(discretization: Discretization, frequency: float) -> list[LayerResolution]:
    """List the media of the earth and how the grid carries them (`seismo.model.media`)."""
    spacing = discretization.coarsest_spacing
    return [
        LayerResolution(
            **asdict(passage.medium),
            points_per_wavelength=passage.medium.sampled / (frequency * spacing),
            phase_error=phase_error(discretization, passage.medium.sampled, frequency),
        )
        for passage in discretization.waves.passages
    ]


def of_spacing(discretization: Discretization, factor: float) -> Scenario:
    """Return the scenario with a spacing so many times as large."""
    grid = discretization.grid
    spacing: dict[str, Any] = {a: factor * grid.spacing[AXES.index(a)] for a in grid.axes}
    along_z = discretization.scenario.grid.spacing.z
    if along_z == "auto":
        spacing["z"] = along_z
    elif isinstance(along_z, tuple):
        spacing["z"] = [{"below": r.below, "spacing": factor * r.spacing} for r in along_z]
    changes: dict[str, Any] = {"grid.spacing": spacing}
    # Where no plane was found another spacing has none, either: each is judged as a single grid.
    if discretization.scenario.grid.plane_is_open:
        changes["grid.refinement"] = []
    return discretization.scenario.changed(changes)


COUPLED = "interpolation of coupled strains"
_FOURTH = 3.0 / 128.0  # of (k h)^4, that the mean of four points lacks of 1


def coupling_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by interpolated coupling, of all passages."""
    if not discretization.physics.interpolates or not discretization.extremes.vs_max:
        return 0.0
    waves = discretization.waves
    frequency = waves.spectra.frequency
    squares = 0.0
    for passage in waves.passages:
        if passage.medium.anisotropic:
            phase = (
                _slowing(discretization, passage)
                * (2.0 * math.pi * frequency) ** 5
                * passage.distance
            )
            squares += waves.spectra.error(phase) ** 2
    return math.sqrt(squares)


def _slowing(discretization: Discretization, passage: Passage) -> float:
    """Return dc / c over k^4 c^5 [s^5/m], the root mean square of the waves of all directions."""
    medium = passage.medium
    known = {name: getattr(medium, name) for name in ("vp", "vs", "rho")} | dict(medium.others)
    stiffness = elastic_constants.stiffness_of({n: np.array(v) for n, v in known.items()})
    n = plane_waves.directions(discretization.grid.dimensions)
    spacing = np.array(
        [dict(zip(AXES, discretization.grid.spacing, strict=True)).get(a, 0.0) for a in "xyz"]
    )
    # The loss of a shear strain's interpolation, by Voigt's indices; normal strains have none.
    lacking = _FOURTH * (n * spacing) ** 4
    of_strain = np.stack(
        [(i != j) * (lacking[:, i] + lacking[:, j]) for i, j in elastic_constants.PAIRS], 1
    )
    both = of_strain[:, :, None] + of_strain[:, None, :]
    lost = stiffness * both * (1.0 - np.eye(6))
    voigt = elastic_constants.VOIGT
    whole_tensor = stiffness[voigt[:, :, None, None], voigt[None, None]]
    lost_tensor = lost[:, voigt[:, :, None, None], voigt[None, None]]
    # Christoffel matrices of both, and their share in the motion of each wave.
    whole_matrix = np.einsum("ijkl,aj,al->aik", whole_tensor, n, n)
    lost_matrix = np.einsum("aijkl,aj,al->aik", lost_tensor, n, n)
    if discretization.grid.dimensions == 2:
        # Motion in the plane of x and z.
        whole_matrix = whole_matrix[:, ::2, ::2]
        lost_matrix = lost_matrix[:, ::2, ::2]
    moduli, motion = np.linalg.eigh(whole_matrix)
    slower = np.einsum("aim,aik,akm->am", motion, lost_matrix, motion) / moduli
    speed = np.sqrt(moduli / medium.rho)
    return float(np.sqrt(np.mean((0.5 * slower / speed**5)[:, 0] ** 2)))


GRADIENTS = "gradients within cells"
_OF_GRADIENTS = 1.0 / 12.0
_GRADUAL = 0.25  # of a change: by how much it may differ between both halves of a cell
_MOST_ENDS = 10  # sources, and receivers, between which straight paths are looked at
_PLACES = 48  # on a path


def gradient_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by media that change gradually within cells."""
    if discretization.extremes.uniform or not discretization.groups:
        return 0.0
    spectra = discretization.waves.spectra
    sources = [s.position for shot in discretization.shots for s in shot.sources if s.is_local]
    worst = 0.0
    for ends in paths_of(np.reshape(sources, (-1, 3)), discretization.groups):
        acting, reading = (thinned(np.asarray(end, float), _MOST_ENDS) for end in ends)
        paths = reading - acting[:, None]
        shares = (np.arange(_PLACES)[:, None] + 0.5) / _PLACES
        positions = acting[:, None, None] + shares * paths[:, :, None]
        delays = _gradient_delay(discretization, positions.reshape(-1, 3)).reshape(
            positions.shape[:3]
        )
        delay = delays.mean(axis=2) * np.linalg.norm(paths, axis=2)
        worst = max(worst, float(delay.max(initial=0.0)))
    return spectra.error(2.0 * math.pi * spectra.frequency * worst)


def _gradient_delay(discretization: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return g^2 / 12 c (n) in s/m at positions (n, 3) m."""
    grid = discretization.grid
    squares = np.zeros(len(positions))
    slowness = 1.0 / _velocity(discretization, positions)
    for axis in "z" if discretization.earth.layered else grid.axes:
        a = AXES.index(axis)
        half = np.zeros_like(positions)
        half[:, a] = 0.5 * grid.spacing[a]
        if axis == "z":
            half[:, a] *= grid.heights(grid.index("z", positions[:, a]))
        first, last = grid.limits(axis)
        middle = positions.copy()  # of cells that do not reach beyond the grid
        middle[:, a] = np.clip(positions[:, a], first + half[:, a], last - half[:, a])
        before, at, behind = (
            np.log(_velocity(discretization, middle + side * half)) for side in (-1, 0, 1)
        )
        changes = at - before, behind - at
        gradual = np.abs(changes[1] - changes[0]) <= _GRADUAL * np.max(np.abs(changes), axis=0)
        squares += gradual * (behind - before) ** 2
    return _OF_GRADIENTS * squares * slowness


def _velocity(discretization: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return the velocity (n) m/s of the slowest wave at positions (n, 3) m."""
    medium = discretization.earth.at(positions, discretization.grid.dimensions)
    velocities = [np.broadcast_to(medium[n], len(positions)) for n in ("vs", "vp") if n in medium]
    slowest = np.where(velocities[0] > 0.0, velocities[0], velocities[-1])
    # There are no SH waves in a fluid: 1 m/s is no gradual change from any rock.
    waves: np.ndarray = np.maximum(slowest, 1.0)
    return waves

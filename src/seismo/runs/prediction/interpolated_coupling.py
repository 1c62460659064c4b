"""Dispersion by the interpolation of coupled strains, in rock of any anisotropy.

The four-point mean P of `seismo.equations.elastic.tti` passes waves of wavenumber k along an axis
of spacing h with 1 - 3/128 (k h)^4. So constants that couple a shear strain to a normal one act
P times on a wave, along both axes of the shear strain, and those of two shear strains along the
axes of both: with the loss C' of stiffness C, a wave's direction n, its motion e and velocity c

    dc / c  =  1/2 (e n C' n e) / (rho c^2),        phase error  =  k dc / c  on each metre
"""

from __future__ import annotations

import math

import numpy as np

from seismo.equations.rock import elastic_constants, plane_waves
from seismo.grid.grid import AXES
from seismo.solver.accuracy.waves import Passage
from seismo.solver.discretization import Discretization

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
    # What a shear strain's interpolation lacks, by Voigt's indices; normal strains have none.
    lacking = _FOURTH * (n * spacing) ** 4
    of_strain = np.stack(
        [(i != j) * (lacking[:, i] + lacking[:, j]) for i, j in elastic_constants.PAIRS], 1
    )
    both = of_strain[:, :, None] + of_strain[:, None, :]
    lost = stiffness * both * (1.0 - np.eye(6))
    voigt = elastic_constants.VOIGT
    whole_tensor = stiffness[voigt[:, :, None, None], voigt[None, None]]
    lost_tensor = lost[:, voigt[:, :, None, None], voigt[None, None]]
    # Christoffel matrices of both, and what the motion of each wave has of them.
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

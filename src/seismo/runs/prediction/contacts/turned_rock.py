"""What contacts of flat layers make traces err by where the axes of their rocks differ.

Contacts of tilted rock are counted as those of rock whose axis is upright
(`seismo.equations.framework.declaration.LayeredWaves`), which knows nothing of a rock that goes on
about another axis. With the constants C of both rocks, each in its own c33, that adds about

    e = factor |C - C'| / |C| (10 / p)^2,    |C|^2 the sum of squares of all c_ijkl

at p points in the wavelength. With ratios of velocities of 1 to 3, and tilts of 15 to
90 degrees beside an upright axis or on both sides, 0.003 to 2.8 % were found (2-D, order 8, 6 to 20
points in the shortest wavelength, 48 for what is exact, epsilon 0.2, delta 0.08): of that `check`
says 0.35 to 3.2 times as much, but for tilts of 30 degrees and less without any other change, up to
4.4 times, by the interpolation of strains. Before it said 2 to 26 times as much, or nothing.
Half a cell under a node 0.07 to 2.1 % were found at 5 and 10 points (ratios 1 to 3, tilts 20 to
60 degrees, 40 points for what is exact), and 0.7 to 2.5 times as much is said.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from seismo.equations.rock import elastic_constants
from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization

TURNED = PowerLaw(0.0118, 2.0)  # of |C - C'| = |C|
_BESIDE = 0.05  # of a cell: where rocks are asked for


def turned_error(discretization: Discretization) -> float:
    """Return the error of the traces; 0 where no strains are coupled, or no axis changes."""
    depths = discretization.contact_depths
    if not discretization.physics.interpolates or not len(depths):
        return 0.0
    little = _BESIDE * discretization.grid.spacing[2]
    z = np.stack([depths - little, depths + little], -1).ravel()
    samples = discretization.earth.sample(z, None)
    solid = samples["vs"] > 0.0
    rocks = {name: np.broadcast_to(value, z.shape) for name, value in samples.items()}
    # c_ijkl over c33 of rock whose axis is upright, rho vp^2.
    voigt = elastic_constants.VOIGT
    stiffness = elastic_constants.stiffness_of(rocks)
    tensor = stiffness[..., voigt[:, :, None, None], voigt[None, None]].reshape(len(z), -1)
    scaled = tensor / (rocks["rho"] * rocks["vp"] ** 2)[:, None]
    pairs = [
        float(np.linalg.norm(b - a) / np.linalg.norm(a))
        for n, (a, b) in enumerate(pairwise(scaled))
        if n % 2 == 0 and solid[n] and solid[n + 1]
    ]
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * discretization.grid.spacing[2])
    return max(pairs, default=0.0) * waves.spectra.error(TURNED(points))

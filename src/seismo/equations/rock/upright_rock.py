"""Rock of flat layers: isotropic, or transversely isotropic about z, and fluids.

Symbols: vp, vs velocities (m/s), rho density (kg/m3), c11 ... c66 constants (Pa), lambda and mu
moduli (Pa).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.equations.rock import elastic_constants, plane_waves


@dataclass(frozen=True)
class Rock:
    """A medium of a layer: vp, vs (m/s), rho (kg/m3) and Thomsen's parameters."""

    vp: float
    vs: float
    rho: float
    epsilon: float = 0.0
    delta: float = 0.0
    gamma: float = 0.0

    @property
    def _medium(self) -> dict[str, float]:
        parameters = vars(self)
        if elastic_constants.isotropic(parameters):
            return {name: parameters[name] for name in ("vp", "vs", "rho")}
        return parameters

    @property
    def fastest(self) -> float:
        """The speed of the fastest wave [m/s]."""
        medium = self._medium
        return float(plane_waves.fastest(medium)) if "epsilon" in medium else self.vp

    @property
    def shear(self) -> float:
        """The shear modulus mu, or c44 [Pa]."""
        return self.rho * self.vs**2

    @property
    def level_shear(self) -> float:
        """The shear modulus mu, or c66 [Pa]."""
        return float(elastic_constants.level_shear(self._medium))

    @property
    def stiffness(self) -> float:
        """Return lambda + 2 mu, or c33 [Pa]."""
        return self.rho * self.vp**2

    @property
    def thin_stretch(self) -> float:
        """Return l = lambda / (lambda + 2 mu), or c13 / c33."""
        return float(elastic_constants.thin_stretch(self._medium))

    @property
    def plate(self) -> float:
        """Return E = 4 mu (lambda + mu) / (lambda + 2 mu), or c11 - c13^2 / c33 [Pa]."""
        return float(elastic_constants.plate(self._medium))

    def constants(self, c33: np.ndarray) -> dict[str, np.ndarray]:
        """Return the constants [Pa] of rows of it that have some c33 in place of its own."""
        # c13 = l c33, c11 = E + l^2 c33; nine constants of rock transversely isotropic about z.
        c11 = self.plate + self.thin_stretch**2 * c33
        c13 = self.thin_stretch * c33
        shear = np.full_like(c33, self.shear)
        level = np.full_like(c33, self.level_shear)
        return {
            "c11": c11, "c22": c11, "c33": c33, "c12": c11 - 2.0 * level, "c13": c13, "c23": c13,
            "c44": shear, "c55": shear, "c66": level,
        }  # fmt: skip

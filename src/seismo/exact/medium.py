"""What the exact solutions call a medium: three numbers, and a name for the moduli.

vp, vs [m/s]; rho [kg/m3]; lame (lambda), mu [Pa]. A fluid is a medium with vs = 0. The speeds of a
medium that attenuates (``viscoelastic``) are complex numbers of the Laplace variable; solutions ask
every medium for those with `at`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.errors import SeismoError

Speed = float | Callable[[np.ndarray], np.ndarray]  # m/s, or a function of s [1/s]


def speed_at(c: Speed, s: np.ndarray) -> Any:
    """Return a speed [m/s] for Laplace variables s [1/s]."""
    return c(s) if callable(c) else c


@dataclass(frozen=True)
class Medium:
    """A homogeneous isotropic elastic solid, or a fluid when vs is zero.

    Or what one that attenuates is for some Laplace variables: complex speeds, of any shape.
    """

    vp: Any
    vs: Any
    rho: float

    def __post_init__(self) -> None:
        """Refuse what no stable solid can be (positive bulk and shear modulus)."""
        vp = np.real(self.vp)
        vs = np.real(self.vs)
        if np.any(vp <= 0) or np.any(vs < 0) or self.rho <= 0 or np.any(4 * vs**2 >= 3 * vp**2):
            raise SeismoError(f"{self} is no elastic medium: need rho > 0, 0 <= vs < 0.866 vp")

    def at(self, s: np.ndarray | complex) -> Medium:
        """Return the medium for Laplace variables s [1/s]: itself."""
        return self

    @property
    def is_fluid(self) -> bool:
        """Whether it bears no shear stress."""
        return not np.any(self.vs)

    @property
    def mu(self) -> Any:
        """Shear modulus [Pa]."""
        return self.rho * self.vs**2

    @property
    def lame(self) -> Any:
        """First Lame parameter [Pa]."""
        return self.rho * (self.vp**2 - 2 * self.vs**2)

    @property
    def bulk(self) -> Any:
        """Bulk modulus [Pa]."""
        return self.lame + 2 * self.mu / 3

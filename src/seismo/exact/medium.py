"""What the exact solutions call a medium: three numbers, and a name for the moduli.

vp, vs [m/s]; rho [kg/m3]; lame (lambda), mu [Pa]. A fluid is a medium with vs = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from seismo.errors import SeismoError


@dataclass(frozen=True)
class Medium:
    """A homogeneous isotropic elastic solid, or a fluid when vs is zero."""

    vp: float
    vs: float
    rho: float

    def __post_init__(self) -> None:
        """Refuse what no stable solid can be (positive bulk and shear modulus)."""
        if self.vp <= 0 or self.vs < 0 or self.rho <= 0 or 4 * self.vs**2 >= 3 * self.vp**2:
            raise SeismoError(f"{self} is no elastic medium: need rho > 0, 0 <= vs < 0.866 vp")

    @property
    def mu(self) -> float:
        """Shear modulus [Pa]."""
        return self.rho * self.vs**2

    @property
    def lame(self) -> float:
        """First Lame parameter [Pa]."""
        return self.rho * (self.vp**2 - 2 * self.vs**2)

    @property
    def bulk(self) -> float:
        """Bulk modulus [Pa]."""
        return self.lame + 2 * self.mu / 3

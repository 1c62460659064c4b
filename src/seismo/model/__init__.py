"""The earth: vp, vs, rho at any point, and the effective medium a grid should carry."""

from __future__ import annotations

from seismo.model.averaging import cell_average, plain_planes
from seismo.model.earth import Earth, Extremes, build_earth

__all__ = ["Earth", "Extremes", "build_earth", "cell_average", "plain_planes"]

"""The earth: vp, vs, rho at any point, and the effective medium a grid should carry."""

from __future__ import annotations

from seismo.model.averaging import cell_average, plain_planes
from seismo.model.build import build_earth
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes, extremes_of

__all__ = ["Earth", "Extremes", "build_earth", "cell_average", "extremes_of", "plain_planes"]

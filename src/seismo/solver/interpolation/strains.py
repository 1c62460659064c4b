"""Strains and stresses among layers.

Strains among layers are read from quantities that are continuous across contacts. Across a
horizontal contact e_ab along it, szz, sxz and syz are continuous; ezz, exz, eyz and the stresses
along it jump. These are read with the moduli at the position (here without an index, with the index
j at a node or half row), so that nothing is read across a jump::

    ezz   = sum_j w_j [c33_j ezz_j + c13_j (exx_j + eyy_j)] / c33 - (c13 / c33) (exx + eyy)
    2 exz = sum_j w_j (mu_j / mu) 2 exz_j
    sxx   = (c13 / c33) szz + (c11 - c13^2 / c33) exx + (c12 - c13^2 / c33) eyy

exx, eyy and exy are read as they are, where `sxx` is to be read with moduli of the nodes, from
their stresses. A moment acts by the transpose: its work is that on the strain at the source. In a
fluid that is sum_j w_j kappa_j / kappa div_j: the volume that comes out of the source is its own.

Each strain is given by the points of the stress that does work on it, where the scheme has it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seismo.equations.framework.table import Field, Physics
from seismo.grid.interpolation import Points, PointsByField, add_points, joined
from seismo.solver.interpolation.layer_contacts import MARGIN, Layers, SlopeKind, moduli

# Returns the points of a field for the weights of a kind of quantity.
Read = Callable[[Field, SlopeKind], Points]


class StrainReading:
    """The reading of strains and stresses at a place among layers.

    Attributes:
        medium: the averages (1) that the equation takes, of the medium at the place alone.
        wet: whether that is fluid.
    """

    def __init__(self, layers: Layers, physics: Physics, z_index: float, read: Read) -> None:
        """Take the layers, the equation, a place in rows, and the function of points there."""
        self._physics = physics
        self._read = read
        self.medium = layers.at(z_index)
        self.losses = layers.losses_at(z_index)
        self._rows = layers.rows(z_index)
        self._moduli = {name: float(value[0]) for name, value in moduli(self.medium).items()}
        self.wet = self._moduli["c44"] == 0.0
        self._level = [f"s{a}{a}" for a in physics.axes if a != "z"]

    def strain(self, name: str) -> PointsByField:
        """Return the points, by field, of the strain that a stress does work on."""
        if name == "p":
            # div = sum w_j kappa_j / kappa div_j
            points = self._get("p", "pull")
            return {"p": points.times(self._at("c33", points) / self._moduli["c33"])}
        if name in ("sxz", "syz"):
            points = self._get(name, "shear")
            q = self._at("c44", points), self._at("c44", points, 1)
            # 2 exz = sum w_j (mu_j / mu) 2 exz_j, mu_j the harmonic mean of two nodes.
            shear = 2.0 * q[0] * q[1] / (q[0] + q[1])
            return {name: points.times(shear / self._moduli["c44"])}
        if name != "szz":
            return {name: self._get(name, "along")}
        across = self._get("szz", "pull")
        c33 = self._moduli["c33"]
        # ezz from szz, which is continuous, less (c13 / c33) of the level strains.
        share = across.times(self._at("c13", across) / c33)
        points_by_field = {"szz": across.times(self._at("c33", across) / c33)}
        for level in self._level:
            along = self._get(level, "along")
            less = along.times(-self._moduli["c13"] / c33)
            points_by_field[level] = joined(share, less)
        return points_by_field

    def stress(self, name: str) -> PointsByField:
        """Return the points, by field, that read a stress."""
        if name in ("szz", "p", "sxz", "syz") or (self.wet and name in self._level):
            return {name: self._get(name, "shear" if name in ("sxz", "syz") else "pull")}
        along = self._get(name, "along")
        if name == "sxy":
            return {name: along.times(self._moduli["c66"] / self._at("c66", along))}
        across = self._get("szz", "pull")
        # sxx less (c13 / c33) szz at the nodes, times the ratio of plate moduli.
        turn = self._at("c13", along) / self._at("c33", along)
        points_by_field = {"szz": across.times(self._moduli["c13"] / self._moduli["c33"])}
        for level, share in self._shares(name, along).items():
            points_by_field[level] = along.times(share)
            add_points(points_by_field, "szz", along.times(-share * turn))
        return points_by_field

    def _shares(self, name: str, along: Points) -> dict[str, np.ndarray]:
        """Return the shares in sxx (syy) of the nodes' stresses, all less their parts of szz.

        They are P = E exx + F eyy and Q = F exx + E eyy, E - F = 2 c66: the sum and the difference
        of the two go as E + F and as c66.
        """
        plate = self._moduli["c11"] - self._moduli["c13"] ** 2 / self._moduli["c33"]
        c13, c33, c11 = (self._at(n, along) for n in ("c13", "c33", "c11"))
        plates = c11 - c13**2 / c33
        if len(self._level) == 1:
            return {name: plate / plates}
        c66 = self._at("c66", along)
        c66_own = self._moduli["c66"]
        # 3-D: sum and difference of exx and eyy have the moduli E - c66 and c66.
        both = (plate - c66_own) / (plates - c66)
        difference = c66_own / c66
        return {
            n: 0.5 * (both + difference if n == name else both - difference) for n in self._level
        }

    def _get(self, name: str, kind: SlopeKind) -> Points:
        return self._read(self._physics.named(name), kind)

    def _at(self, modulus: str, points: Points, further: int = 0) -> np.ndarray:
        """Return a modulus at the rows of points, or so many rows further down."""
        return self._rows[modulus][points.z + MARGIN + further]

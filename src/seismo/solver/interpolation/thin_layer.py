"""Interpolation weights of motion along a free surface on a soft layer of one cell, where it bends.

With u motion along the surface, s shear stress, w motion across it and waves of frequency omega
along x::

    d_z s = -omega^2 rho u - E d_xx u - c66 d_yy u,    E = c11 - c13^2 / c33
    d_z u = s / mu - d_x w,                            s = 0 on the surface

So beside a line u has parts phi that go as the integrals over z of S / mu, where S is the integral
of rho, of E or of c66. The closed rows have them, too: G phi = S / mu with D S = rho, by their own
differences (`seismo.grid.surface_closure`) and averages. A closure of power 1, which such a layer
has, leaves a part of a cell's bend in single rows, which is 1 to 4 % of u. The weights of even
media are changed as little as makes them read each phi as it is at the position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seismo.grid.interpolation import RADIUS, Along, Surface, axis_weights
from seismo.grid.surface_closure import SurfaceClosure, closed_operators
from seismo.solver.interpolation.layer_contacts import (
    ALIKE,
    MARGIN,
    Layers,
    Values,
)

_ROWS = 5  # least rows that weights change
_DEEPEST = 16  # row from which on the medium has to be even
_TAIL = 40  # rows of that medium, which differences are inverted over
_FINE = 64  # samples per row of exact integrals
_LEAST = 0.2  # of the largest part of phi that is no line: what is not read exactly


@dataclass(frozen=True)
class ThinLayerReading:
    """The reading of motion along a free surface on a thin soft layer.

    Attributes:
        layers: the rows of the earth.
        closure: of the differences at the surface.
    """

    layers: Layers
    closure: SurfaceClosure

    def weights(self, z_index: float) -> Along | None:
        """Return rows and weights for a place, in rows; None where those of even media do."""
        if not self._bends:
            return None
        even_rows, weights = axis_weights(z_index, False, 0, Surface(0, vanishes=False))
        rows = np.arange(max(_ROWS, even_rows.max() + 1))
        plain = np.zeros(rows.size)
        plain[even_rows] = weights
        # phi of the rows and at the place, less its line through the rows.
        line = np.array([np.ones(rows.size), rows])
        seen = np.array([discrete[rows] for discrete, _ in self._bends])
        depths = np.arange(self._even * _FINE + 1) / _FINE
        wanted = [np.interp(z_index, depths, exact) for _, exact in self._bends]
        rest = seen - np.linalg.solve(line @ line.T, line @ seen.T).T @ line
        # Damped least change of the weights.
        gram = rest @ rest.T + (_LEAST * np.abs(rest).max()) ** 2 * np.eye(len(rest))
        return rows, plain + np.linalg.solve(gram, wanted - seen @ plain) @ rest

    @cached_property
    def _rows(self) -> Values:
        """Moduli (rows) as the scheme has them, from the surface down."""
        return {n: v[MARGIN:] for n, v in self.layers.rows(0.0).items() if np.isfinite(v).all()}

    @cached_property
    def _even(self) -> int:
        """The first row below those of the closure with one medium about it; 0 without one."""
        for row in range(self.closure.rows + 1, _DEEPEST):
            about = slice(row - 1, row + RADIUS + 1)
            moduli = np.array(list(self._rows.values()))[:, about]
            if (np.ptp(moduli, axis=1) <= ALIKE * np.abs(moduli).max(1)).all():
                return row
        return 0

    @cached_property
    def _bends(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each phi: (rows) of the scheme, and (samples) exact, `_FINE` to a row.

        Below the row `_even` its medium goes on.
        """
        last = self._even
        if not last or (self._rows["c44"] == 0.0).any():
            return []
        total = last + _TAIL
        rows = {name: np.pad(v[: last + 1], (0, total - last - 1), "edge")
                for name, v in self._rows.items()}  # fmt: skip
        z = (np.arange(last * _FINE) + 0.5) / _FINE
        fine = self.layers.moduli_of(z, 1.0 / _FINE)
        up, down = closed_operators(np.array(self.layers.first), total, total, self.closure)
        softness = 1.0 / rows["c44"]
        softness = 0.5 * (softness[1:] + softness[:-1])  # of the half rows
        bends = []
        for density, exact_density in zip(_densities(rows), _densities(fine), strict=True):
            # D S = rho and G phi = S / mu, with phi = 0 on the surface.
            stress = np.linalg.solve(down, density)[:-1]
            phi = np.append(0.0, np.linalg.solve(up[:-1, 1:], softness * stress))
            # Exact: S and phi by the midpoint rule.
            sums = np.append(0.0, np.cumsum(exact_density)) / _FINE
            steps = 0.5 * (sums[1:] + sums[:-1]) / fine["c44"]
            exact = np.append(0.0, np.cumsum(steps)) / _FINE
            # Below the closure they differ by a line, which waves from below have anyway.
            below = np.arange(self.closure.rows, last + 1)
            line = np.polyfit(below, phi[below] - exact[::_FINE][below], 1)
            unit = np.abs(exact[-1])
            bends.append(((phi - np.polyval(line, np.arange(total))) / unit, exact / unit))
        return bends


def _densities(m: Values) -> list[np.ndarray]:
    """Return the quantities whose integral shear stress is: rho, E and, where it acts, c66."""
    stretch = m["c11"] - m["c13"] ** 2 / m["c33"]
    return [m["rho"], stretch, *([m["c66"]] if "c66" in m else [])]

"""Records of receivers beside contacts, of waves in the rows of the grid and exactly.

A receiver within some cells of a stack of contacts reads fields of rows of the grid
(`row_errors`), on which waves bend from row to row. Of a plane wave of
wavenumber k along x, with the fields U, W, X and Z of `scattering`,

    vx = i U    vz = W    sxz = i X    szz = Z    sxx = Sxx    p = -Z

(displacements stand for velocities), and SH waves, which equal waves of a fluid,

    vy = Z    sxy = i s^2 U    syz = s^2 W

a component is a sum of points of these rows, with exp(ik (x_point - x)), or of U, W, X and Z at the
place, with the derivatives

    U' = X / mu - k W (k W in fluids)    W' = Z / c33 + (c13 / c33) k U    Z' = rho s^2 W of fluids

and Sxx = -k c11 U + c13 W'. All terms of a component go along x as U does (odd), or as W does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.equations.framework.table import Term
from seismo.equations.rock.plane_waves import Rock
from seismo.grid.interpolation import Points, PointsByField
from seismo.runs.prediction.contacts.scattering import DiscreteStack

# Fields that go along x as U does, times i.
_ODD = {"vx", "sxz", "sxy"}
HALF_ROWS = {"vz", "sxz", "syz"}
KNOWN = {"vx", "vz", "sxx", "syy", "szz", "sxz", "p", "vy", "sxy", "syz"}


@dataclass(frozen=True)
class RowReading:
    """A component that a receiver records beside a stack.

    Attributes:
        terms: of the component.
        points: of the rows, by field.
        first: row of the grid that the rows of the stack begin with.
        middle: index along x of the receiver, a node.
        spacing: along x in m.
        transverse: whether waves are SH.
    """

    terms: tuple[Term, ...]
    points: PointsByField
    first: int
    middle: int
    spacing: float
    transverse: bool

    @property
    def odd(self) -> bool:
        """Whether it goes along x as U does."""
        term = self.terms[0]
        return (term.field in _ODD) != (term.along == "x")

    @property
    def node_rows(self) -> set[int]:
        """Rows of the grid that it reads whose fields stand on nodes."""
        on_nodes = [points for name, points in self.points.items() if name not in HALF_ROWS]
        return {row for points in on_nodes for row in points.z.tolist()}

    def of_rows(self, rows: DiscreteStack, s: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Return the factors (wave, row) of U in node rows, and of W in half rows behind them."""
        up = rows.up / rows.spacing
        down = rows.down / rows.spacing
        along = np.zeros((len(k), len(rows.rho_x)), complex)
        across = np.zeros((len(k), len(rows.rho_z)), complex)
        column = k[:, None]
        for name, points in self.points.items():
            weights = self._weights(name, points, rows, k)
            if name in ("vx", "sxy"):
                along += weights * (1.0 if name == "vx" else s[:, None] ** 2)
            elif name in ("vz", "syz"):
                across += weights * (1.0 if name == "vz" else s[:, None] ** 2)
            elif name == "sxz":
                along += (weights * rows.c44) @ up
                across += weights * rows.c44 * column
            else:
                first = rows.c11 if name == "sxx" else rows.c13
                second = rows.c13 if name in ("sxx", "syy") else rows.c33
                along -= column * weights * first
                across += (weights * second) @ down
        total = np.concatenate([along, across], axis=1)
        return np.asarray(total / (1j if self.odd else 1.0))

    def _weights(self, name: str, points: Points, rows: DiscreteStack, k: np.ndarray) -> np.ndarray:
        """Return the weights (wave, row) of a field in the rows where it stands."""
        x = points.x + 0.5 * (name in _ODD) - self.middle
        columns, number = np.unique(x, return_inverse=True)
        count = len(rows.rho_z if name in HALF_ROWS else rows.rho_x)
        weights = np.zeros((len(columns), count))
        np.add.at(weights, (number, points.z - self.first), points.weights)
        sign = -1.0 if name == "p" else 1.0
        unit = sign * (1j if name in _ODD else 1.0)
        return np.asarray(unit * np.exp(1j * self.spacing * np.outer(k, columns)) @ weights)

    def exactly(self, rock: Rock, s: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Return the factors (wave, 4) of U, W, X and Z at the place."""
        total = np.zeros((len(k), 4), complex)
        for term in self.terms:
            total += term.factor * self._exact_term(term, rock, s, k)
        return np.asarray(total / (1j if self.odd else 1.0))

    def _exact_term(self, term: Term, rock: Rock, s: np.ndarray, k: np.ndarray) -> np.ndarray:
        along, across, shear, pull = np.eye(4)[:, None] * np.ones((1, len(k), 1))
        column = k[:, None]
        slope = pull / rock.stiffness + rock.thin_stretch * column * along
        if self.transverse:
            if term.field in ("sxy", "syz"):
                square = s[:, None] ** 2
                return 1j * square * along if term.field == "sxy" else square * across
            if term.along == "x":
                return 1j * column * pull
            return rock.rho * s[:, None] ** 2 * across if term.along else pull
        if term.along == "y" or term.field in ("vy", "sxy", "syz"):
            return 0.0 * pull
        if term.field[0] == "v":
            value, unit = (along, 1j) if term.field == "vx" else (across, 1.0)
            if term.along == "x":
                return 1j * column * unit * value
            if term.along == "z" and term.field == "vz":
                return slope
            if term.along == "z":
                bent = shear / rock.shear - column * across if rock.shear else column * across
                return unit * bent
            return unit * value
        stretch = column * along
        coupled = rock.thin_stretch * rock.stiffness
        stresses = {"szz": pull, "p": -pull, "sxz": 1j * shear, "syy": coupled * (slope - stretch),
                    "sxx": coupled * slope - rock.stiffness * stretch}  # fmt: skip
        return stresses[term.field]

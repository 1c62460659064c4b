"""Running means down a column of rock: the medium that waves longer than its beds see.

A stack of beds is transversely isotropic as a whole (Backus 1962, eq. 13), and so is one of beds
that are so themselves (Schoenberg & Muir 1989)::

    rho = <rho>,           c33 = 1 / <1 / c33>,    c13 = <c13 / c33> c33,
    c44 = 1 / <1 / c44>,   c66 = <c66>,            c11 = <c11 - c13^2 / c33> + <c13 / c33>^2 c33

The angle brackets are (1 - t) times the rock of the row, and t times a mean over rows with the
weights of a normal distribution of `SPREAD` rows. Positive weights leave the medium positive, and
no wave faster than the fastest of its rocks. Fluids keep their own medium, and part a column: rock
on one side does not take part in means on the other.

Symbols: rho (kg/m3), c11 ... c66 (Pa), t a share from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from seismo.solver.medium.coefficients import as_volume

SPREAD = 8.0  # rows
REACH = 24  # rows on either side that take part
CONSTANTS = frozenset({"rho", "c11", "c13", "c33", "c44", "c66"})

Columns = Mapping[str, np.ndarray]  # averages (z, y, x) by name


def has_means(averages: Collection[str]) -> bool:
    """Return whether a medium of these averages, but for losses, is that of such a stack."""
    rigid = {name for name in averages if not name.startswith(("y_", "rho_"))}
    return {"rho", "c11", "c13", "c33", "c44"} <= rigid <= CONSTANTS


@dataclass(frozen=True)
class RunningMeans:
    """Takes columns with `REACH` rows beyond either end to their running means.

    Attributes:
        share: t (y, x), broadcastable against the columns.
    """

    share: np.ndarray

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        """Return the medium (z, y, x) of columns (z + 2 REACH, y, x)."""
        columns = {name: as_volume(array) for name, array in columns.items()}
        solid = columns["c44"] > 0.0
        terms = _terms(columns, solid)
        means = _means(terms, solid)
        mixed = {
            name: (1.0 - self.share) * _inner(terms[name]) + self.share * mean
            for name, mean in means.items()
        }
        changed = _inner(solid) & (self.share > 0.0)
        constants = _constants(mixed)
        # Of rock the densities along axes are those of nodes.
        constants |= {name: constants["rho"] for name in columns if name.startswith("rho_")}
        return {
            name: np.where(changed, constant, _inner(columns[name]))
            for name, constant in constants.items()
        }


def _inner(array: np.ndarray) -> np.ndarray:
    return array[REACH : len(array) - REACH]


def _terms(c: Columns, solid: np.ndarray) -> dict[str, np.ndarray]:
    """Return what is averaged; of fluids no compliance of shear."""
    share = c["c13"] / c["c33"]
    terms = {
        "rho": c["rho"],
        "compliance": 1.0 / c["c33"],
        "share": share,
        "plate": c["c11"] - share * c["c13"],
        "shear_compliance": 1.0 / np.where(solid, c["c44"], 1.0),
    }
    return terms | ({"c66": c["c66"]} if "c66" in c else {})


def _constants(m: Columns) -> dict[str, np.ndarray]:
    """Return the constants of a stack of these means."""
    c33 = 1.0 / m["compliance"]
    c13 = m["share"] * c33
    constants = {
        "rho": m["rho"],
        "c33": c33,
        "c13": c13,
        "c11": m["plate"] + m["share"] * c13,
        "c44": 1.0 / m["shear_compliance"],
    }
    return constants | ({"c66": m["c66"]} if "c66" in m else {})


def _means(terms: Columns, solid: np.ndarray) -> dict[str, np.ndarray]:
    """Return weighted means (z, y, x) of terms, of the rows of one stretch of rock."""
    count = len(solid) - 2 * REACH
    # Rows with as many fluid ones above them belong to one stretch.
    stretch = np.cumsum(~solid, axis=0)
    total = np.zeros((count, *solid.shape[1:]))
    sums = {name: np.zeros((count, *term.shape[1:])) for name, term in terms.items()}
    # Row by row, so that sums are the same for every cut of the grid.
    for offset in range(-REACH, REACH + 1):
        rows = slice(REACH + offset, REACH + offset + count)
        weight = np.exp(-0.5 * (offset / SPREAD) ** 2)
        taken = weight * (solid[rows] & (stretch[rows] == _inner(stretch)))
        total += taken
        for name, term in terms.items():
            sums[name] += taken * term[rows]
    # Fluids have no mean, and keep their terms.
    has_mean = total > 0.0
    total = np.where(has_mean, total, 1.0)
    return {n: np.where(has_mean, sums[n] / total, _inner(term)) for n, term in terms.items()}

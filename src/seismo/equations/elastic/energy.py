"""What elastic stresses store: s : C^-1 : s / 2, on the points where they stand.

Normal stresses do not depend on shear strains here: their part is a form of the matrix between
normal strains and stresses on the nodes, that of each shear stress a product with its compliance,
the mean of the nodes beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from seismo.equations.elastic.formulas import pairs
from seismo.equations.framework.declaration import StoredEnergy

Mean = Callable[[str], np.ndarray]


def stored(
    axes: str, stiffness: Callable[[Mean], list], compliance: Callable[[str], str]
) -> tuple[StoredEnergy, ...]:
    """Return the forms of all stresses.

    Args:
        axes: "xz" or "xyz".
        stiffness: function(mean) -> matrix of normal strains and stresses, times dt.
        compliance: function(pair of axes) -> coefficient of that shear stress, over dt.
    """

    def normal(one, other, mean: Mean) -> np.ndarray:
        # s_aa (C^-1)_ab s_bb, the matrix behind the axes of the grid.
        matrix = np.moveaxis(np.array(stiffness(mean)), (0, 1), (-2, -1))
        row, column = (
            np.stack([state[f"s{a}{a}"] for a in axes], -1)[..., None] for state in (one, other)
        )
        return np.sum(row * np.linalg.solve(matrix, column), axis=(-2, -1))

    def shear(pair: str, one, other, mean: Mean) -> np.ndarray:
        # s_ab^2 / c_I
        return one[f"s{pair}"] * other[f"s{pair}"] * mean(compliance(pair))

    return (
        StoredEnergy("", normal),
        *(StoredEnergy(pair, partial(shear, pair)) for pair in pairs(axes)),
    )


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return what stresses store in rock that is isotropic or transversely isotropic about z."""
    return stored(axes, partial(_stiffness, axes), lambda pair: "q66" if pair == "xy" else "q")


def _stiffness(axes: str, mean: Mean) -> list:
    c11, c13, c33 = (mean(name) for name in ("c11", "c13", "c33"))
    if len(axes) == 2:
        return [[c11, c13], [c13, c33]]
    # c12 = c11 - 2 c66
    c12 = c11 - 2.0 / mean("q66")
    return [[c11, c12, c13], [c12, c11, c13], [c13, c13, c33]]

"""What `check` says where couplings of strains are lessened so that no motion sets energy free.

Rock that couples normal and shear strains keeps less of it at nodes beside much stiffer rock
(`seismo.equations.elastic_tti.definite`). Beside such contacts waves err by more than beside
others: rock whose coupling takes six tenths of the shear energy, beside the same four times as
stiff, by 4 to 21 % at 10 points per wavelength of the soft side, where 0.78 is left (3 to 10 % with
all of it, which is not stable beside every rock).
"""

from __future__ import annotations

from seismo.runs.prediction.checks.timing import WarningLines
from seismo.solver.discretization import Discretization
from seismo.solver.medium.node_medium import coupling_left

_MUCH = 0.98  # of a coupling: no error of its own shows with more


def weakened_coupling(discretization: Discretization) -> WarningLines:
    """Name the place where least is left of a coupling."""
    share, z = coupling_left(discretization)
    if share < _MUCH:
        yield (
            f"model: at z = {z:.6g} m, beside much stiffer rock, normal and shear strains are "
            f"coupled by only {share:.2g} of what the rock's constants say, as more could make "
            "waves grow: beside that contact they err by up to 20 % with 10 points per wavelength, "
            "twice as much as beside others, and by less on a finer grid.spacing; rock that "
            "changes over some cells keeps its coupling"
        )

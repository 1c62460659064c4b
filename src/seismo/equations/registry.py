"""The wave equations by name: every folder of `seismo.equations` that declares an `EQUATION`.

Folders that stand elsewhere are found, too: `SEISMO_EQUATIONS` lists, as `PATH` does, the folders
that hold them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import seismo.equations
from seismo.equations.declaration import Equation
from seismo.equations.parameters import RHO, VP, VS
from seismo.equations.table import Physics
from seismo.errors import ScenarioError


def _declared() -> dict[str, Equation]:
    folders = (found.name for found in iter_modules(seismo.equations.__path__) if found.ispkg)
    declared = (import_module(f"seismo.equations.{name}").EQUATION for name in sorted(folders))
    return {equation.name: equation for equation in declared}


EQUATIONS = _declared()
PARAMETERS = {p.name: p for p in (VP, VS, RHO)}
PARAMETERS |= {p.name: p for equation in EQUATIONS.values() for p in equation.parameters}
VARIANTS = tuple((e.name, n) for e in EQUATIONS.values() for n in e.dimensions)


@cache
def physics_for(name: str, dimensions: int, options: Any = None) -> Physics:
    """Return the table of the wave equation of that name in 2 or 3 dimensions."""
    if (name, dimensions) not in VARIANTS:
        known = ", ".join(f"{known} in {n}-D" for known, n in VARIANTS)
        raise ScenarioError(f"physics: {name} in {dimensions}-D does not exist; there are {known}")
    return EQUATIONS[name].physics(dimensions, options)

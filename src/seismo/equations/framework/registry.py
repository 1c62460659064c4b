"""The wave equations by name, declared in folders of `seismo.equations`.

A folder declares a single `EQUATION`, or a family, `EQUATIONS`.

Folders that stand elsewhere are found, too: `SEISMO_EQUATIONS` lists, as `PATH` does, the folders
that hold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules
from typing import Any

import seismo.equations
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    CONSTANTS,
    RHO,
    TSVANKIN,
    VP,
    VS,
    Parameter,
)
from seismo.equations.framework.table import Physics
from seismo.errors import ScenarioError

# Folders of `seismo.equations` that equations are made of.
FRAMEWORK = {"framework", "rock"}


def declared(folders: Iterable[str]) -> dict[str, Equation]:
    """Return the equations of folders, by name.

    Raises:
        ImportError: a folder holds or declares no equation, or repeats a name.
    """
    equations: dict[str, Equation] = {}
    for folder in folders:
        # Every other folder has equations.
        names = sorted({m.name for m in iter_modules([folder]) if m.ispkg} - FRAMEWORK)
        if not names:
            raise ImportError(f"{folder} holds no folder of an equation; see SEISMO_EQUATIONS")
        for equation in _sorted(folder, names):
            if equation.name in equations:
                raise ImportError(f"{folder}: equation {equation.name} is there twice")
            equations[equation.name] = equation
    return equations


def _sorted(folder: str, names: Iterable[str]) -> list[Equation]:
    """Return the equations of subfolders of a folder, by name."""
    equations: list[Equation] = []
    for name in names:
        module = import_module(f"seismo.equations.{name}")
        if hasattr(module, "EQUATIONS"):
            equations += module.EQUATIONS
        elif getattr(module, "EQUATION", None) is not None:
            equations.append(module.EQUATION)
        else:
            raise ImportError(f"{folder}: equation {name} declares no EQUATION")
    return sorted(equations, key=attrgetter("name"))


def parameters_of(equations: Iterable[Equation]) -> dict[str, Parameter]:
    """Return vp, vs, rho and all further parameters of equations, by name.

    Raises:
        ImportError: two equations declare a parameter differently.
    """
    parameters = {parameter.name: parameter for parameter in (VP, VS, RHO)}
    for equation in equations:
        # A parameter of two equations is the same.
        for parameter in (*equation.parameters, *equation.instead):
            if parameters.setdefault(parameter.name, parameter) != parameter:
                raise ImportError(
                    f"equation {equation.name} declares the parameter {parameter.name} otherwise "
                    "than another; give it another name"
                )
    return parameters


EQUATIONS = declared(seismo.equations.__path__)
PARAMETERS = parameters_of(EQUATIONS.values())
DEFAULTS = {p.name: p.default for p in PARAMETERS.values() if p.default is not None}
_ANISOTROPY = ("theta", "phi", "azimuth", *(p.name for p in TSVANKIN))
# What changes waves of a velocity, and goes for nothing only where that velocity does. Of the
# elastic constants some leave alone the motion along y of waves in the plane of x and z.
_CHANGED_BY = {
    "vp": {"qp", "epsilon", "delta", *_ANISOTROPY, *CONSTANTS},
    "vs": {"qs", "gamma", *_ANISOTROPY, "c14", "c16", "c34", "c36", "c45", "c46", "c56"},
}
PHYSICS = tuple(e.name for e in EQUATIONS.values() if not e.extends)  # names in scenarios
VARIANTS = tuple((name, n) for name in PHYSICS for n in EQUATIONS[name].dimensions)


def parameters_of_physics(physics: str | None) -> set[str]:
    """Return the parameters that any equation of a physics takes; all for unknown physics."""
    of_physics = [e for e in EQUATIONS.values() if physics in (e.name, e.extends, None)]
    return {name for equation in of_physics for name in equation.takes}


def equation_for(physics: str, dimensions: int | None, parameters: Iterable[str]) -> Equation:
    """Return the equation of fewest parameters, of a physics, that takes the model's parameters.

    Parameters of waves that the physics does not have are ignored, as vs and qs are in a fluid.

    Args:
        physics: one of `PHYSICS`.
        dimensions: 2 or 3; any when None.
        parameters: names of the parameters that the model gives other than their defaults.

    Raises:
        ScenarioError: no equation takes all of them.
    """
    # The equations of this physics, and their extensions.
    of_physics = [e for e in EQUATIONS.values() if physics in (e.name, e.extends)]
    # Parameters that matter for waves of this physics have to be taken by an equation.
    known = {name for e in of_physics for name in e.takes}
    felt = {name for velocity in known & _CHANGED_BY.keys() for name in _CHANGED_BY[velocity]}
    if lost := sorted((set(parameters) & felt) - known):
        raise ScenarioError(f"no equation of {physics} takes {', '.join(lost)}; leave it out")
    # Candidates take all that the model gives, in these dimensions.
    taken = set(parameters) & known
    able = [
        e
        for e in of_physics
        if taken <= set(e.takes) and (dimensions is None or dimensions in e.dimensions)
    ]
    if not able:
        further = ", ".join(sorted(taken - set(EQUATIONS[physics].needs)))
        raise ScenarioError(f"no equation of {physics} takes {further} together; leave some out")
    # Fewest parameters: no field or stiffness that the model does not need.
    return min(able, key=lambda e: len(e.needs))


def lossless(equation: Equation, dimensions: int) -> Equation:
    """Return the equation of the same waves, without attenuation."""
    parameters = set(equation.needs) - {"qp", "qs"}
    return equation_for(equation.extends or equation.name, dimensions, parameters)


@cache
def physics_for(name: str, dimensions: int, options: Any = None, slopes: bool = False) -> Physics:
    """Return the table of the wave equation of that name in 2 or 3 dimensions.

    `slopes`: that under ground that slopes.
    """
    if name not in EQUATIONS or dimensions not in EQUATIONS[name].dimensions:
        known = ", ".join(f"{known} in {n}-D" for known, n in VARIANTS)
        raise ScenarioError(f"physics: {name} in {dimensions}-D does not exist; there are {known}")
    return EQUATIONS[name].physics(dimensions, options, slopes)

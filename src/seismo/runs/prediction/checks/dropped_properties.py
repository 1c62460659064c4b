"""Properties of the model that the waves of the chosen equation do not feel.

Every part may give every property, whatever the physics. One that the equation does not take is
named wherever it could change anything: a density that varies, or is perturbed, and any other
property that is neither 0 nor what it is by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from seismo.equations.framework.parameters import RHO
from seismo.equations.framework.registry import (
    EQUATIONS,
    PARAMETERS,
    PHYSICS,
    parameters_of_physics,
)
from seismo.model.layered import DepthProfile, EarthPart
from seismo.model.random_medium import RandomMedium
from seismo.model.volumes.gridded import Gridded
from seismo.model.volumes.volume import Volume
from seismo.runs.prediction.checks.timing import WarningLines
from seismo.solver.discretization import Discretization


def dropped(discretization: Discretization) -> WarningLines:
    """Name the properties that the model gives and the equation does not take."""
    first: dict[str, int] = {}
    ends: dict[str, tuple[float, float]] = {}
    perturbed: set[str] = set()
    for k, model_part in enumerate(discretization.earth.model_parts):
        for name, samples in _samples(model_part, discretization.grid.limits("z")):
            first.setdefault(name, k)
            least, most = ends.get(name, (np.inf, -np.inf))
            ends[name] = (
                min(least, float(np.fmin.reduce(samples, None))),
                max(most, float(np.fmax.reduce(samples, None))),
            )
        if isinstance(model_part, RandomMedium):
            first |= dict.fromkeys(model_part.factors.keys() - first.keys(), k)
            perturbed |= model_part.factors.keys()
    names = [
        name for name in PARAMETERS
        if name in first.keys() - set(discretization.scenario.equation.takes)
        and (name in perturbed or _matters(name, *ends[name]))
    ]  # fmt: skip
    if not names:
        return
    key = ("model", min(first[name] for name in names))
    ranges = ", ".join(f"{name}{_range(name, ends.get(name, ()))}" for name in names)
    density = ", which are those of constant density" if RHO.name in names else ""
    yield (
        f"{discretization.scenario.named(*key)}: {ranges}: without effect on waves of "
        f"physics: {discretization.scenario.physics}{density}; {_remedy(discretization, names)}"
    )


def _samples(model_part: EarthPart, z: tuple[float, float]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield values of each property that a part gives, its extremes among them."""
    if isinstance(model_part, DepthProfile):
        depths = np.append(model_part.tops, z)
        for side in ("left", "right"):
            yield from model_part.at(model_part.at_tops, depths, side)
    elif isinstance(model_part, Gridded):
        for name, grid in model_part.grids.items():
            yield name, np.array([grid.samples.min(), grid.samples.max()]) * grid.factor
    elif isinstance(model_part, Volume):
        for block in model_part.blocks:
            yield from block.samples.items()
    else:
        properties: Mapping[str, float] = getattr(model_part, "properties", {})
        yield from ((name, np.array(value)) for name, value in properties.items())


def _matters(name: str, least: float, most: float) -> bool:
    """Whether a property between two values is not the same as none."""
    none = {0.0, PARAMETERS[name].default}
    return least < most if name == RHO.name else not {least, most} <= none


def _range(name: str, ends: tuple[float, ...]) -> str:
    """Format the numbers of a property, "" where it is perturbed alone."""
    unit = PARAMETERS[name].unit
    numbers = " to ".join(dict.fromkeys(f"{end:.5g}" for end in ends))
    return f" {numbers}{unit and f' {unit}'}" if numbers else ""


def _remedy(discretization: Discretization, names: list[str]) -> str:
    """Name the physics of fewest parameters that takes properties, if there is one."""
    wanted = {*names, *discretization.scenario.equation.takes}
    able = [
        name for name in PHYSICS
        if wanted <= parameters_of_physics(name)
        and discretization.grid.dimensions in EQUATIONS[name].dimensions
    ]  # fmt: skip
    them = "it" if len(names) == 1 else "them"
    if not able:
        return f"leave {them} out"
    fewest = min(able, key=lambda name: len(parameters_of_physics(name)))
    return f"physics: {fewest} takes {them}; else leave {them} out"

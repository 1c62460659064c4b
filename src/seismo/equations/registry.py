"""The wave equations by name and number of dimensions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from seismo.equations import acoustic, acoustic_variable_density, elastic, elastic_sh
from seismo.equations.table import Physics
from seismo.errors import ScenarioError

EQUATIONS: dict[tuple[str, int], Callable[[], Physics]] = {
    ("acoustic", 2): acoustic.two_dimensions,
    ("acoustic", 3): acoustic.three_dimensions,
    ("acoustic_variable_density", 2): acoustic_variable_density.two_dimensions,
    ("acoustic_variable_density", 3): acoustic_variable_density.three_dimensions,
    ("elastic", 2): elastic.two_dimensions,
    ("elastic", 3): elastic.three_dimensions,
    ("elastic_sh", 2): elastic_sh.two_dimensions,
}


@cache
def physics_for(name: str, dimensions: int) -> Physics:
    """Return the wave equation of that name in 2 or 3 dimensions."""
    if (name, dimensions) not in EQUATIONS:
        known = ", ".join(f"{n} in {d}-D" for n, d in EQUATIONS)
        raise ScenarioError(f"physics: {name} in {dimensions}-D does not exist; there are {known}")
    return EQUATIONS[name, dimensions]()

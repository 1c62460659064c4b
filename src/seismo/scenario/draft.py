"""Drafts: the parts of a scenario that could be read, for rules between its keys.

A draft stands for a sound scenario, too, so that each rule is written once. A section's rules stand
beside the section, rules between several in `seismo.scenario.between_sections`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.registry import EQUATIONS, VARIANTS, equation_for, physics_for
from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath, ScenarioError
from seismo.scenario.quantities import Mistake, Mistakes
from seismo.scenario.sections.grid import Boundaries, GridSpec, TimeSpec

AXES = ("x", "y", "z")
_ROUNDING = 1e-9  # of the extent: a position typed in km may miss the face by its last bit


@dataclass(frozen=True)
class Draft:
    """The readable parts of a scenario; None for an unreadable part.

    Entries of model, sources, receivers and of the lists of output are None where they could not be
    read.

    Attributes:
        others: all other sections, such as sections of features, by their keys.
        written: keys of all sections, readable or not.
        required: parameters that the equation has to take, as far as the model can be read.
    """

    physics: str | None
    grid: GridSpec | None
    time: TimeSpec | None
    boundaries: Boundaries | None
    model: tuple[Any, ...] | None
    sources: tuple[Any, ...] | None
    receivers: tuple[Any, ...] | None
    survey: Any
    output: Any
    others: Mapping[str, Any]
    written: frozenset[str]
    required: frozenset[str]

    @property
    def has_geographic(self) -> bool:
        """Whether the grid has a place on the earth."""
        return "geographic" in self.written

    @property
    def has_topography(self) -> bool:
        """Whether the ground is not flat."""
        return "topography" in self.written

    @property
    def options(self) -> Mapping[str, Any]:
        """Sections of options, by their equations."""
        return {name: section for name, section in self.others.items() if name in EQUATIONS}

    @property
    def equation(self) -> Equation | None:
        """Return the wave equation; that of the physics alone where none takes all of the model.

        None where the physics could not be read.
        """
        if self.physics is None:
            return None
        try:
            return equation_for(self.physics, self.dimensions, set(self.required))
        except ScenarioError:
            return EQUATIONS[self.physics]

    @property
    def table(self) -> Physics | None:
        """Return the table of the wave equation, in a dimension that it exists in."""
        equation = self.equation
        if equation is None:
            return None
        known = equation.dimensions
        dimensions = self.dimensions if self.dimensions in known else known[0]
        return physics_for(equation.name, dimensions, self.options.get(equation.name))

    @property
    def dimensions(self) -> int | None:
        """Return 2 or 3, or None where the grid could not be read."""
        if self.grid is None:
            return None
        return 2 if self.grid.extent.y is None else 3

    def offset_axes(self, path: KeyPath) -> str:
        """Return the axes along which a position at a path counts from the source of each shot."""
        if path[0] != "receivers" or self.receivers is None:
            return ""
        axes: str = self.receivers[int(path[1])].offset_axes
        return axes

    def limits(self, axis: str) -> tuple[float, float] | None:
        """Return the first and the last coordinate in m of the grid; None where not known here.

        Nor where it is shorter than the spacing, which is a mistake of its own.
        """
        length = getattr(self.grid.extent, axis) if self.grid else None
        spacing = self.grid.at_top(axis) if self.grid else None
        if self.grid is None or length is None or (spacing and spacing > length):
            return None
        low = self.grid.origin.top if axis == "z" else getattr(self.grid.origin, axis)
        if axis == "z" and self.has_topography and self.grid.origin.z is None:
            return None  # that of the highest ground
        return low, low + length


OWN_KEYS = {field.name for field in fields(Draft)}


def inside(draft: Draft, path: KeyPath, axis: str, value: float | None) -> Mistakes:
    """Check that a coordinate lies inside the grid."""
    limits = draft.limits(axis)
    if value is None or limits is None:
        return
    low = limits[0]
    length = limits[1] - low
    if not low - _ROUNDING * length <= value <= low + length * (1.0 + _ROUNDING):
        problem = f"outside the grid: {axis} from {low:g} m to {low + length:g} m"
        yield Mistake(
            path, f"{problem}; move it inside, or change grid.extent.{axis} or grid.origin.{axis}"
        )


def equations_with(dimensions: int, suits: Callable[[Physics], bool]) -> str:
    """Name the equations whose table in so many dimensions will do."""
    return ", ".join(
        name for name, n in VARIANTS if n == dimensions and suits(physics_for(name, n))
    )

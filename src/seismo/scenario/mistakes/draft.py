"""A scenario as far as it could be read, for rules between its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.registry import (
    EQUATIONS,
    PARAMETERS,
    PHYSICS,
    equation_for,
)
from seismo.errors import KeyPath, ScenarioError
from seismo.scenario.earth.model_parts import ModelPart, given_parameters
from seismo.scenario.sections.attenuation import Attenuation, attenuated_by
from seismo.scenario.sections.grid import (
    Boundaries,
    GridSpec,
    TimeSpec,
)
from seismo.scenario.sections.output import (
    Maps,
    Output,
    Snapshots,
)
from seismo.scenario.sections.receivers import ReceiverSet
from seismo.scenario.sections.sources import Source, Survey
from seismo.scenario.sections.topography import TopographySection

if TYPE_CHECKING:
    from seismo.scenario.document import Scenario


@dataclass(frozen=True)
class Draft:
    """The parts of a scenario that could be read; None stands for one that could not."""

    physics: str | None
    grid: GridSpec | None
    time: TimeSpec | None
    boundaries: Boundaries | None
    model: tuple[Any, ...] | None
    sources: tuple[Any, ...] | None
    receivers: tuple[Any, ...] | None
    survey: Survey | None
    output: Output | None  # whose entries are None where they could not be read
    has_geographic: bool
    attenuation: Attenuation | None
    options: Mapping[str, Any]  # sections of options, by their equations
    has_topography: bool
    topography: Any  # None where there is none, too
    unread: frozenset[str] = frozenset()  # parameters that parts of the model name, not readable

    @property
    def required(self) -> set[str]:
        """Return the parameters that the equation has to take, as far as the model can be read."""
        readable = [model_part for model_part in self.model or () if model_part is not None]
        return given_parameters(readable) | attenuated_by(self.attenuation) | self.unread

    @property
    def equation(self) -> Equation | None:
        """Return the wave equation; that of the physics alone where none takes all of the model.

        None where the physics could not be read.
        """
        if self.physics is None:
            return None
        try:
            return equation_for(self.physics, self.dimensions, self.required)
        except ScenarioError:
            return EQUATIONS[self.physics]

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
        spacing = self.grid.spacing.at_top(axis) if self.grid else None
        if self.grid is None or length is None or (spacing and spacing > length):
            return None
        low = self.grid.origin.top if axis == "z" else getattr(self.grid.origin, axis)
        if axis == "z" and self.has_topography and self.grid.origin.z is None:
            return None  # that of the highest ground
        return low, low + length


def draft_of(scenario: Scenario) -> Draft:
    """Return the parts of a sound scenario (`seismo.scenario.document.Scenario`)."""
    return Draft(
        physics=scenario.physics,
        grid=scenario.grid,
        time=scenario.time,
        boundaries=scenario.boundaries,
        model=scenario.model,
        attenuation=scenario.attenuation,
        sources=scenario.sources,
        receivers=scenario.receivers,
        survey=scenario.survey,
        output=scenario.output,
        has_geographic=scenario.geographic is not None,
        options={
            n: section for n in EQUATIONS if (section := getattr(scenario, n, None)) is not None
        },
        has_topography=scenario.topography is not None,
        topography=scenario.topography,
    )


def draft_of_data(data: dict[str, Any]) -> Draft:
    """Return what can be read of a faulty scenario."""
    physics = data.get("physics")
    model = _try_each(ModelPart, data.get("model"))
    # Of a part that cannot be read the keys still say what the equation has to take.
    unread = [data["model"][n] for n, model_part in enumerate(model or ()) if model_part is None]
    return Draft(
        physics=physics if isinstance(physics, str) and physics in PHYSICS else None,
        grid=_try(GridSpec, data.get("grid")),
        time=_try(TimeSpec, data.get("time")),
        boundaries=_try(Boundaries, data.get("boundaries")),
        attenuation=_try(Attenuation, data["attenuation"]) if "attenuation" in data else None,
        model=model,
        unread=frozenset(PARAMETERS.keys() & _keys_below(unread)),
        sources=_try_each(Source, data.get("sources")),
        receivers=_try_each(ReceiverSet, data.get("receivers")),
        survey=_try(Survey, data.get("survey")),
        output=_output(data.get("output")),
        has_geographic="geographic" in data,
        options={
            name: _try(equation.options, data[name])
            for name, equation in EQUATIONS.items()
            if equation.options is not None and name in data
        },
        has_topography="topography" in data,
        topography=_try(TopographySection, data.get("topography")),
    )


def _output(data: Any) -> Output | None:
    """Return the entries of snapshots and maps that can be read, None in place of the others."""
    if not isinstance(data, dict):
        return None
    entries = {"snapshots": Snapshots, "maps": Maps}
    readable: dict[str, Any] = {
        key: _try_each(kind, data.get(key)) or () for key, kind in entries.items()
    }
    return Output.model_construct(**readable)


def _keys_below(data: Any) -> set[str]:
    """Return the keys of all mappings in data."""
    if isinstance(data, dict):
        return {str(key) for key in data}.union(*map(_keys_below, data.values()))
    return set[str]().union(*map(_keys_below, data)) if isinstance(data, list | tuple) else set()


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    """Return what validates a section: building it takes as long as all the rest of a message."""
    return TypeAdapter(annotation)


def _try(annotation: Any, data: Any) -> Any:
    try:
        return _adapter(annotation).validate_python(data)
    except ValidationError:
        return None


def _try_each(annotation: Any, data: Any) -> tuple[Any, ...] | None:
    if not isinstance(data, list | tuple):
        return None
    adapter = _adapter(annotation)
    result: list[Any] = []
    for item in data:
        try:
            result.append(adapter.validate_python(item))
        except ValidationError:
            result.append(None)
    return tuple(result)

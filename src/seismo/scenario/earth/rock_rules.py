"""Rules of what the model has to give: one rock in each part, and every property everywhere."""

from __future__ import annotations

from typing import Any

from seismo.equations.framework.parameters import CONSTANTS
from seismo.equations.framework.registry import PARAMETERS, parameters_of_physics
from seismo.equations.rock import rock_parameters
from seismo.errors import KeyPath
from seismo.scenario.earth.model_parts import (
    COLUMNS,
    GradientPart,
    Layer,
    LayersPart,
    TablePart,
    UniformPart,
    WaterPart,
    given_in,
    given_parameters,
    rock_sections,
)
from seismo.scenario.earth.random_part import RandomPart
from seismo.scenario.mistakes.draft import Draft
from seismo.scenario.mistakes.schema_text import allowed, annotation_of
from seismo.scenario.quantities import Mistake
from seismo.scenario.rules.between_sections import Mistakes

_FILLING = (UniformPart, Layer, GradientPart)  # that leave no gap
_FILLED = (UniformPart, LayersPart, GradientPart)
_WHOLE_GRID = ("uniform", "layers", "gradient", "table", "file", "array", "volume")


def rocks(draft: Draft) -> Mistakes:
    """Check that each part gives one rock, in one way."""
    felt = parameters_of_physics(draft.physics)
    for path, section in rock_sections(draft.model or ()):
        mistake = rock_parameters.mistake(given_in(section), draft.dimensions)
        if mistake is not None:
            yield Mistake((*path, mistake[0]), mistake[1])
        for parameter in PARAMETERS.values() if isinstance(section, _FILLING) else ():
            is_wanted = parameter.always and parameter.name in felt
            if is_wanted and not _gives(section, parameter.name):
                kind = allowed(annotation_of(type(section).model_fields[parameter.name]))
                problem = f"missing: give {parameter.meaning} ({kind}), or elastic constants"
                yield Mistake((*path, parameter.name), problem)


def gridded_angles(draft: Draft) -> Mistakes:
    """Check that angles of files and arrays are those of rock with planes of symmetry."""
    model = [model_part for model_part in draft.model or () if model_part is not None]
    couplings = (given_parameters(model) & CONSTANTS.keys()) - set(rock_parameters.ORTHORHOMBIC)
    for path, section in rock_sections(draft.model or ()):
        is_gridded = getattr(section, "type", "") in ("file", "array", "volume")
        for angle in rock_parameters.ANGLES if couplings and is_gridded else ():
            if angle.name in given_in(section):
                problem = f"rock with {min(couplings)} has no planes of symmetry by which angles "
                remedy = "could be interpolated: give constants about the axes of the grid"
                yield Mistake((*path, angle.name), problem + remedy)


def perturbations(draft: Draft) -> Mistakes:
    """Check that random media have a medium to perturb."""
    for index, model_part in enumerate(draft.model or ()):
        if not isinstance(model_part, RandomPart):
            return
        problem = "perturbs the parts before it, and there are none: move it below them"
        yield Mistake(("model", index, "type"), problem)


def seas(draft: Draft) -> Mistakes:
    """Check that the bed of a sea does not lie above the grid, by a sign."""
    limits = draft.limits("z")
    for index, model_part in enumerate(draft.model or () if limits else ()):
        above = limits and isinstance(model_part, WaterPart) and model_part.depth <= limits[0]
        if limits and above and model_part.depth < 0.0 and not draft.has_topography:
            problem = f"z of the sea bed, {model_part.depth:g} m, is above the grid, which begins "
            remedy = f"at {limits[0]:g} m; z points down: did you mean {-model_part.depth:g} m?"
            yield Mistake(("model", index, "depth"), problem + remedy)


def properties(draft: Draft) -> Mistakes:
    """Check that every property of the equation is given over the whole grid."""
    if (
        draft.equation is None
        or not draft.model
        or any(model_part is None for model_part in draft.model)
    ):
        return
    for key in (p.name for p in draft.equation.parameters if p.default is None):
        gaps = [
            gap
            for index, model_part in enumerate(draft.model)
            for gap in _gaps(index, model_part, key)
        ]
        if any(
            model_part.type in _WHOLE_GRID and _gives(model_part, key) for model_part in draft.model
        ):
            continue
        if PARAMETERS[key].always and any(
            isinstance(draft.model[int(g[1])], _FILLED) for g in gaps
        ):
            continue  # `rocks` tells
        remedy = (
            f"missing: physics {draft.physics} needs {key} over the whole grid; no part gives it"
        )
        for gap in gaps or [("model", 0, key)]:
            yield Mistake(gap, f"{remedy}; add {key} here")


def _gives(model_part: Any, key: str) -> bool:
    if not getattr(model_part, "everywhere", True):
        return False
    if isinstance(model_part, LayersPart):
        return all(_gives(layer, key) for layer in model_part.layers)
    if isinstance(model_part, TablePart):
        return key in (parameter.name for parameter in COLUMNS)
    names = given_in(model_part)
    return key in names or rock_parameters.stands_for(key, names)


def _gaps(index: int, model_part: Any, key: str) -> list[KeyPath]:
    """Return where a part that could give `key` everywhere does not."""
    if isinstance(model_part, LayersPart):
        missing = [n for n, layer in enumerate(model_part.layers) if not _gives(layer, key)]
        return [("model", index, "layers", number, key) for number in missing]
    return (
        [("model", index, key)]
        if model_part.type in _WHOLE_GRID and not _gives(model_part, key)
        else []
    )

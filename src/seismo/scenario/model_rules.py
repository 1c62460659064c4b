"""Rules of the model: a single rock in each part, every property everywhere, layers in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from seismo.equations.framework.parameters import CONSTANTS
from seismo.equations.framework.registry import PARAMETERS, parameters_of_physics
from seismo.equations.rock import rock_parameters
from seismo.errors import KeyPath
from seismo.scenario.draft import Draft
from seismo.scenario.gridded_parts import (
    FORMATS,
    OTHERS,
    VOLUMES,
    GriddedFile,
    RandomPart,
    format_of,
)
from seismo.scenario.mistakes.schema_text import allowed, annotation_of
from seismo.scenario.model_parts import (
    COLUMNS,
    FilePart,
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
from seismo.scenario.quantities import Mistake, Mistakes

_FILLING = (UniformPart, Layer, GradientPart)  # that leave no gap
_FILLED = (UniformPart, LayersPart, GradientPart)
_WHOLE_GRID = ("uniform", "layers", "gradient", "table", "file", "array", "volume")


def rocks(draft: Draft) -> Mistakes:
    """Check that each part gives a single rock, by one set of parameters."""
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
    """Check that angles of files and arrays belong to rock with planes of symmetry."""
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


def gridded_files(index: int, model_part: Any) -> Iterator[tuple[KeyPath, GriddedFile]]:
    """Yield the path and the section of each gridded file of a part."""
    if isinstance(model_part, FilePart):
        for key in PARAMETERS:
            file = getattr(model_part, key)
            if file is not None:
                yield ("model", index, key), file


def model_shapes(draft: Draft) -> Mistakes:
    """Check the order of layers and gradients, and the axes of gridded files."""
    for index, model_part in enumerate(draft.model or ()):
        if isinstance(model_part, LayersPart):
            tops = [layer.top for layer in model_part.layers]
            for number in range(1, len(tops)):
                if tops[number] <= tops[number - 1]:
                    above = f"{tops[number - 1]:g} m, the top of the layer before"
                    problem = f"layers are listed downwards: must be below {above}"
                    yield Mistake(("model", index, "layers", number, "top"), problem)
        elif isinstance(model_part, GradientPart):
            yield from _gradient(("model", index, "z_bottom"), model_part)
        for path, file in gridded_files(index, model_part):
            yield from _file(path, file, draft.dimensions)
    limits = draft.limits("z")
    if limits and draft.model and not draft.has_topography:
        yield from _top_covered(limits[0], draft.model[0])


def _gradient(path: KeyPath, gradient: GradientPart) -> Mistakes:
    if (
        gradient.z_top is not None
        and gradient.z_bottom is not None
        and gradient.z_bottom <= gradient.z_top
    ):
        yield Mistake(path, f"must be below z_top ({gradient.z_top:g} m)")


def _top_covered(top: float, first: Any) -> Mistakes:
    counted = isinstance(first, LayersPart) and first.relative_to is None
    if counted and first.layers[0].top > top:
        problem = f"nothing fills the grid above: start at the grid's top ({top:g} m) or higher"
        yield Mistake(("model", 0, "layers", 0, "top"), problem)


def _file(path: KeyPath, file: GriddedFile, dimensions: int | None) -> Mistakes:
    suffix = PurePath(file.path).suffix.lower()
    foreign_format = None if file.format else OTHERS.get(suffix)
    if foreign_format:
        kind = foreign_format[0]
        expression = foreign_format[1].format(path=file.path, name=path[-1])
        saved = f'numpy.save("{PurePath(file.path).with_suffix(".npy")}", {expression})'
        problem = f"{kind}; models are read from .npy, HDF5, SEG-Y or raw numbers: {saved}"
        yield Mistake((*path, "path"), problem)
    elif not file.format and VOLUMES.get(suffix) == "netcdf":
        problem = "a NetCDF file; write - {type: volume, path: " + file.path + ", " + str(path[-1])
        yield Mistake((*path, "path"), problem + ": NAME OF ITS VARIABLE}")
    elif format_of(file) == "raw" and file.shape is None and (file.format or suffix):
        problem = "missing: a raw file needs its numbers of points, slowest axis first"
        if not file.format:
            problem += f"; {file.path!r} counts as one, as it ends in none of {', '.join(FORMATS)}"
        yield Mistake((*path, "shape"), problem)
    if dimensions == 2 and "y" in (file.axes or ""):
        yield Mistake((*path, "axes"), "a 2-D run has the axes x and z only")
    if file.shape is not None:
        axes = file.axes or ("z", "zx", "zyx")[len(file.shape) - 1]
        if len(axes) != len(file.shape) or (dimensions == 2 and len(file.shape) == 3):
            expected = f"one number of points for each of the axes {', '.join(file.axes or 'zx')}"
            yield Mistake((*path, "shape"), f"needs {expected}")

"""The earth of a scenario, built from the parts of its model and the files that they name.

Depths z, coordinates x and y in m. One-dimensional models may come from CSV files (`read_table`):
rows of depth, vp, vs, rho, with or without qp, qs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from seismo.equations.framework.registry import DEFAULTS, PARAMETERS
from seismo.equations.rock.rock_parameters import replaced, stands_for
from seismo.errors import ModelError, gathered
from seismo.formats.reading import look_alike, read_lines
from seismo.model.earth import Earth
from seismo.model.effective import Clamp, Range
from seismo.model.effective.plain_means import ANGLES, TURNS
from seismo.model.files import (
    grid_of_array,
    read_grid,
    read_volume,
)
from seismo.model.gridded import (
    Gridded,
    GridField,
    separate_angles,
    unlike,
)
from seismo.model.parts import (
    Block,
    DepthProfile,
    EarthPart,
    Polygon,
    Sphere,
    Uniform,
    Water,
    beneath,
    from_gradient,
    from_layers,
    from_rows,
)
from seismo.model.random_medium import RandomMedium, draw
from seismo.model.samples import turned_round
from seismo.model.volume import Volume
from seismo.scenario.gridded_parts import format_of
from seismo.scenario.model_parts import (
    COLUMNS,
    QUALITY_COLUMNS,
    ArrayPart,
    FilePart,
    GradientPart,
    LayersPart,
    ModelPart,
    TablePart,
    given_parameters,
    headings,
)
from seismo.scenario.quantities import ScenarioSection, impossible

_COLUMNS = headings(COLUMNS).split(", ")
_ALL_COLUMNS = headings((*COLUMNS, *QUALITY_COLUMNS)).split(", ")


def read_table(path: Path, attenuates: bool = False) -> np.ndarray:
    """Return the rows of a CSV file: z m, vp m/s, vs m/s, rho kg/m3 (n, 4), and qp, qs (n, 6).

    A first line may name the columns, in any order (``depth`` is taken for z); ``#`` starts a
    comment; commas, semicolons or blanks separate.

    Raises:
        ModelError: the file is missing or malformed, or its depths decrease.
    """
    columns = _ALL_COLUMNS if attenuates else _COLUMNS
    expected = f"expected rows of {', '.join(columns)} in SI units"
    order = list(range(len(columns)))
    has_header = False
    table: list[list[float]] = []
    for number, line in read_lines(path, expected):
        words = line.replace(",", " ").replace(";", " ").split()
        where = f"{path}:{number}"
        if not (table or has_header or _is_number(words[0])):
            order = _header(words, columns, where)
            has_header = True
            continue
        table.append(_row(words, columns, order, where, expected))
        if len(table) > 1 and table[-1][0] < table[-2][0]:
            raise ModelError(
                f"{where}: depth {table[-1][0]:g} lies above the row before; list them downwards",
                "path",
            )
    if not table:
        raise ModelError(f"{path} has no rows; {expected}", "path")
    return np.array(table)


def _header(words: list[str], columns: list[str], where: str) -> list[int]:
    names = [{"depth": "z"}.get(word.lower(), word.lower()) for word in words]
    if sorted(names) != sorted(columns):
        known = set(columns).intersection(names)  # lines of other files are not quoted
        description = f"columns {', '.join(words)[:80]}" if known else "is not a line of a table"
        raise ModelError(
            f"{where}: {description}; expected {', '.join(columns)} in any order, without units"
            + _remedy(len(names), columns),
            "path",
        )
    return [names.index(name) for name in columns]


def _remedy(count: int, columns: list[str]) -> str:
    """Return the remedy where a file has the columns of the other kind of table."""
    if count == len(columns) or count not in (len(_COLUMNS), len(_ALL_COLUMNS)):
        return ""
    return f"; for {count} columns write attenuates: {str(columns == _COLUMNS).lower()}"


def _row(
    words: list[str], columns: list[str], order: list[int], where: str, expected: str
) -> list[float]:
    if len(words) != len(columns):
        remedy = _remedy(len(words), columns)
        raise ModelError(f"{where}: {len(words)} columns; {expected}{remedy}", "path")
    for name, word in zip(columns, (words[k] for k in order), strict=True):
        if not _is_number(word) or (math.isinf(float(word)) and name in _COLUMNS):
            problem = look_alike(word) or expected
            raise ModelError(f"{where}: {word[:20]!r} is not a number; {problem}", "path")
    row = [float(words[k]) for k in order]
    for name, value in zip(columns[1:], row[1:], strict=True):
        if problem := impossible(PARAMETERS[name], value):
            raise ModelError(f"{where}: {name}: {problem}", "path")
    return row


def _is_number(word: str) -> bool:
    try:
        return not math.isnan(float(word))
    except ValueError:
        return False


def build_earth(
    sections: Sequence[Any],
    base: Path,
    needs: Sequence[str] = ("vp", "vs", "rho"),
    clamp: Clamp = (None, None, None),
    spacing: Mapping[str, float] | None = None,
    projection: Callable[[], Any] | None = None,
    clamps: Mapping[int, Clamp] | None = None,
) -> Earth:
    """Build the earth from the parts of a scenario, reading the files they name.

    Args:
        sections: parts of the scenario's model, in order.
        base: folder that relative paths start from.
        needs: parameters that the physics takes.
        clamp: interior as ((z_min, z_max), (y_min, y_max), (x_min, x_max)) in m; None for an axis
            without limits. Also gives a gradient and a file their default extent and origin.
        spacing: spacing of the run's grid in m by axis name, for files that give none.
        projection: function() -> the map between the grid and the earth, None if none.
        clamps: other ones, by the numbers of parts whose z counts from the ground.

    Raises:
        ModelError: a file is missing or malformed, or a required parameter is not given.
    """
    used = given_parameters(sections)
    built = tuple(
        gathered(
            partial(
                _build,
                section,
                ("model", k),
                Path(base),
                (clamps or {}).get(k, clamp),
                spacing or {},
                projection,
            )
            for k, section in enumerate(sections)
        )
    )
    for k, medium in enumerate(built):
        if isinstance(medium, RandomMedium):
            _check_perturbed(medium, k, needs, used)
            _refuse_replaced(medium, k, built)
    _refuse_angles_apart(built)
    for name in needs:
        is_given = stands_for(name, used) or any(name in section.parameters for section in built)
        if not is_given and PARAMETERS[name].default is None:
            raise ModelError(
                f"no part gives {name} everywhere; add `{name}` to the first part", "model"
            )
    return Earth(tuple(_of_one_kind(section, used) for section in built), tuple(needs), clamp)


def _check_perturbed(medium: RandomMedium, k: int, needs: Sequence[str], used: set[str]) -> None:
    """Refuse perturbations that rock does not feel."""
    if medium.factors.keys().isdisjoint(needs):
        raise ModelError(
            f"perturbs {', '.join(medium.factors)} alone, which the waves of this physics do not "
            f"feel; they feel {', '.join(needs)}",
            "model", k, "properties",
        )  # fmt: skip
    if any(stands_for(name, used) for name in medium.factors):
        raise ModelError(
            "perturbs velocities, and rock of this model is given by elastic constants, which "
            "stay; give that rock by velocities, too, or perturb rho alone",
            "model", k, "properties",
        )  # fmt: skip


def _refuse_replaced(medium: RandomMedium, k: int, built: Sequence[Any]) -> None:
    """Refuse perturbations of parameters that a later part replaces everywhere."""
    for later, model_part in enumerate(built[k + 1 :], k + 1):
        if names := sorted(medium.factors.keys() & model_part.parameters):
            raise ModelError(
                f"perturbs {', '.join(names)}, which model[{later}] gives anew everywhere, so that "
                "nothing of it remains; put this part after that one",
                "model", k, "properties",
            )  # fmt: skip


def _refuse_angles_apart(built: Sequence[Any]) -> None:
    """Refuse theta and phi on the points of two parts: each would be interpolated by itself."""
    grids = {k: p.grids for k, p in enumerate(built) if isinstance(p, Gridded)}
    if numbers := separate_angles(grids):
        raise ModelError(
            f"varies in this part and theta in model[{numbers[0]}], and an axis is interpolated by "
            "both of its angles: give both in one part, on the same points",
            "model", numbers[1], "phi",
        )  # fmt: skip


def _of_one_kind(model_part: Any, used: set[str]) -> EarthPart:
    """Return a part that leaves nothing of rock given in another way, of parameters in use."""
    if isinstance(model_part, RandomMedium):
        return model_part
    if isinstance(model_part, Gridded):
        return replace(model_part, removed=frozenset(replaced(model_part.grids) & used))
    if isinstance(model_part, Volume):
        names = model_part.blocks[0].samples
        return replace(model_part, removed=frozenset(replaced(names) & used))
    if not isinstance(model_part, DepthProfile):
        zeros = dict.fromkeys(replaced(model_part.properties) & used, 0.0)
        return replace(model_part, properties={**zeros, **model_part.properties})
    at_tops = model_part.at_tops
    slopes = model_part.slopes
    columns = dict.fromkeys(replaced(at_tops) & used - at_tops.keys(), 0.0 * model_part.tops)
    return replace(model_part, at_tops={**at_tops, **columns}, slopes={**slopes, **columns})


def _build(
    section: ModelPart,
    key: tuple[str | int, ...],
    base: Path,
    clamp: Clamp,
    spacing: Mapping[str, float],
    projection: Callable[[], Any] | None,
) -> EarthPart:
    region = {axis: ends for axis, ends in zip("zyx", clamp, strict=True) if ends}
    match section.type:
        case "uniform":
            return Uniform(_properties(section))
        case "layers":
            _check_layers(section, key)
            return from_layers(section)
        case "gradient":
            _check_ends(section, key)
            return from_gradient(section, *_gradient_range(section, key, clamp[0]))
        case "table":
            return from_rows(_rows(section, key, base), section)
        case "block":
            return Block(section.z, section.y, section.x, _properties(section))
        case "sphere":
            centre = section.center
            return Sphere(centre.z, centre.y or 0.0, centre.x, section.radius, _properties(section))
        case "interface":
            return beneath(section.points, _properties(section))
        case "polygon":
            return Polygon(section.points, _properties(section))
        case "water":
            water = {"vp": section.vp, "vs": 0.0, "rho": section.rho}
            return Water(section.depth, DEFAULTS | water)
        case "file":
            files = _written(section)
            read = gathered(
                partial(read_grid, spec, base, (*key, name), spacing, region)
                for name, spec in files.items()
            )
            grids = dict(zip(files, read, strict=True))
            _check_order(files, grids, key, region)
            return _on_grids(grids, section, key)
        case "volume":
            return read_volume(section, _written(section), base, key, region, projection)
        case "random":
            return draw(section, key, region, spacing)
        case "array":
            arrays = _written(section)
            taken = gathered(
                partial(grid_of_array, array, section, (*key, name), region, spacing)
                for name, array in arrays.items()
            )
            return _on_grids(dict(zip(arrays, taken, strict=True)), section, key)
    raise ModelError(f"{section.type!r} is not known", *key, "type")


def _on_grids(
    grids: dict[str, GridField], section: FilePart | ArrayPart, key: tuple[str | int, ...]
) -> Gridded:
    if grids.keys() >= ANGLES.keys() and unlike(grids["theta"], grids["phi"]):
        raise ModelError(
            "stands on other points than theta, and an axis is interpolated by both of its angles: "
            "give both the same shape, axes, origin and spacing",
            *key, "phi",
        )  # fmt: skip
    return Gridded(grids, cells=getattr(section, "interpolation", "") == "cells")


def _written(section: ScenarioSection) -> dict[str, Any]:
    """Return a part's parameters, by name."""
    by_name = {name: getattr(section, name, None) for name in PARAMETERS}
    return {name: value for name, value in by_name.items() if value is not None}


def _check_order(
    files: Mapping[str, Any],
    grids: Mapping[str, GridField],
    key: tuple[str | int, ...],
    region: Mapping[str, tuple[float, float]],
) -> None:
    """Refuse files whose order of axes is not given, and seems to be reversed."""
    for name, grid in grids.items():
        is_explicit = files[name].axes is not None or files[name].origin is not None
        is_explicit = is_explicit or format_of(files[name]) == "segy"
        known = not is_explicit and set(grid.axes) <= set(region)
        if problem := turned_round(grid, region) if known else "":
            raise ModelError(problem, *key, name, "axes")


def _rows(section: TablePart, key: tuple[str | int, ...], base: Path) -> np.ndarray:
    if section.path is None:
        table = np.array(section.rows, float)
    else:
        try:
            table = read_table(base / section.path, section.attenuates)
        except ModelError as error:
            raise error.below(*key) from None
    _check_quality(table, section, key)
    return table


def _check_quality(table: np.ndarray, section: TablePart, key: tuple[str | int, ...]) -> None:
    """Refuse rows between which a quality factor grows to infinity."""
    begins_or_ends = np.isinf(table[1:]) != np.isinf(table[:-1])
    steep = begins_or_ends.any(axis=1) & (np.diff(table[:, 0]) > 0.0)
    if section.interpolation == "linear" and steep.any():
        row = int(np.argmax(steep))
        raise ModelError(
            f"between z = {table[row, 0]:g} and {table[row + 1, 0]:g} m a quality factor would be "
            "interpolated with infinity: give a further row of the same depth where loss begins or "
            "ends, or interpolation: constant",
            *key,
            "rows" if section.path is None else "path",
        )


def _properties(section: ScenarioSection) -> dict[str, float]:
    return {name: float(value) for name, value in _written(section).items()}


def _check_layers(section: LayersPart, key: tuple[str | int, ...]) -> None:
    tops = [layer.top for layer in section.layers]
    for k, (above, below) in enumerate(itertools.pairwise(tops), 1):
        if below <= above:
            raise ModelError(
                f"{below:g} m is not below the layer above ({above:g} m); list them downwards",
                *key,
                "layers",
                k,
                "top",
            )
    for name in PARAMETERS:
        missing = [
            k for k, layer in enumerate(section.layers)
            if getattr(layer, name, None) is None and not stands_for(name, _written(layer))
        ]  # fmt: skip
        if PARAMETERS[name].default is None and missing and len(missing) < len(section.layers):
            raise ModelError(
                "missing, but other layers give it; give it in all or none",
                *key,
                "layers",
                missing[0],
                name,
            )


def _check_ends(section: GradientPart, key: tuple[str | int, ...]) -> None:
    """Refuse a gradient between a quality factor and inf: no line joins them.

    So are axes that turn further than they need to.
    """
    for name in PARAMETERS:
        ends = getattr(section, name, None)
        if ends is not None and name in TURNS:
            turned = ends.bottom - ends.top
            least = turned - TURNS[name] * round(turned / TURNS[name])
            if abs(turned) > TURNS[name] / 2.0:
                raise ModelError(
                    f"{name} would turn by {turned:g} deg from top to bottom, and {ends.top:g} and "
                    f"{ends.top + least:g} deg are the same ends, {abs(least):g} deg apart: give "
                    f"those, or gradients of at most {TURNS[name] / 2.0:g} deg, one below another",
                    *key, name, "bottom",
                )  # fmt: skip
        if ends is not None and np.isinf(ends.top) != np.isinf(ends.bottom):
            raise ModelError(
                "nothing changes linearly up to inf: give a large number, as 1e4, in its place",
                *key, name, "top" if np.isinf(ends.top) else "bottom",
            )  # fmt: skip


def _gradient_range(
    section: GradientPart, key: tuple[str | int, ...], limits: Range
) -> tuple[float, float]:
    top = section.z_top if section.z_top is not None else limits and limits[0]
    bottom = section.z_bottom if section.z_bottom is not None else limits and limits[1]
    if top is None or bottom is None:
        raise ModelError("a gradient needs z_top and z_bottom", *key)
    if bottom <= top:
        raise ModelError(
            f"{bottom:g} m is not below z_top ({top:g} m); z points down", *key, "z_bottom"
        )
    return float(top), float(bottom)

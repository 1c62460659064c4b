"""Readers of gridded parts of the earth: axes, units and values are checked.

One parameter comes from a gridded file (`read_grid`) or from an array that a scenario in Python
holds (`grid_of_array`), several from a file of a format of its own (`read_volume`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ModelError
from seismo.formats import format_for, giving
from seismo.formats.reading import no_file
from seismo.formats.reading.arrays import (
    MALFORMED,
    brief,
    too_large,
)
from seismo.model.gridded import (
    AXES,
    USUAL_AXES,
    GridField,
    Limits,
    in_order,
)
from seismo.model.samples import (
    FACTORS,
    check_values,
    factor_of,
)
from seismo.model.volume import Volume, VolumeRequest
from seismo.scenario.gridded_parts import (
    VOLUMES,
    GriddedFile,
    VolumePart,
    format_of,
    volume_format,
)
from seismo.scenario.python_data import PythonArray
from seismo.scenario.quantities import impossible

_FACTORS = {unit: factor for units in FACTORS.values() for unit, factor in units.items()}
_AS_IEEE = 512.0  # are IBM's floats up to 4096, taken for IEEE's


def read_grid(
    spec: GriddedFile,
    base: Path,
    key: tuple[str | int, ...],
    spacing: Mapping[str, float],
    region: Mapping[str, Limits],
) -> GridField:
    """Read a parameter from a gridded file.

    Args:
        spec: the scenario's specification of the file.
        base: folder that relative paths start from.
        key: of the specification in the scenario, such as ("model", 0, "vp"); the last names the
            parameter.
        spacing: spacing in m by axis name where the specification gives none.
        region: limits of the grid in m by axis name; where a file begins that does not say.

    Raises:
        ModelError: missing or malformed file, or physically impossible values.
        InsufficientMemoryError: it is larger than the free memory.
    """
    path = Path(base) / spec.path
    with _below(key, path):
        refuse_no_file(path)
        if format_of(spec) == "segy":
            return _segy(spec, path, key, region)
        return _read(spec, path, key, spacing, region)


@contextmanager
def _below(key: tuple[str | int, ...], path: Path | None = None) -> Iterator[None]:
    """Name the key of mistakes, and the size of a file that does not fit into the memory."""
    try:
        yield
    except ModelError as error:
        raise error.below(*key) from None
    except MemoryError:
        if path is None:
            raise
        raise too_large(path, path.stat().st_size) from None


def _read(
    spec: GriddedFile,
    path: Path,
    key: tuple[str | int, ...],
    spacing: Mapping[str, float],
    region: Mapping[str, Limits],
) -> GridField:
    with one_line_for_malformed(path, format_of(spec)):
        array = format_for("array", format_of(spec))["array"](path, spec)
    axes = _axes(spec, array, path)
    if spec.shape is not None and tuple(spec.shape) != array.shape:
        raise ModelError(f"{path} has shape {list(array.shape)}; write that, or nothing", "shape")
    name = str(key[-1])
    factor = _factor(spec)
    check_values(
        array, factor, name, str(path), lambda: _swapped(array, factor, name, spec), ("path",),
        "check `units`, `dtype` and `byte_order`",
    )  # fmt: skip
    samples, sorted_axes = in_order(array, axes)
    origin = {axis: limits[0] for axis, limits in region.items()}
    return GridField(
        samples,
        sorted_axes,
        tuple(_along(spec.origin, axis, origin, "origin", path) for axis in sorted_axes),
        tuple(_along(spec.spacing, axis, spacing, "spacing", path) for axis in sorted_axes),
        factor,
        str(path),
        (*key, "path"),
        spec.spacing is not None,
    )


def _segy(
    spec: GriddedFile, path: Path, key: tuple[str | int, ...], region: Mapping[str, Limits]
) -> GridField:
    from seismo.formats.segy import other_floats  # only runs with such a file need it

    with one_line_for_malformed(path, "SEG-Y"):
        samples, axes, origin, spacing = format_for("traces", "segy")["traces"](path, spec, region)
    name = str(key[-1])
    factor = _factor(spec)
    parameter = PARAMETERS[name]
    otherwise = partial(other_floats, path, lambda v: not impossible(parameter, v * factor))
    check_values(samples, factor, name, str(path), otherwise, ("path",), "check `units`")
    is_doubtful = samples.max() < _AS_IEEE  # no rock, or soft soil
    samples, sorted_axes = in_order(samples, axes)
    order = [axes.index(axis) for axis in sorted_axes]
    return GridField(
        samples, sorted_axes, tuple(origin[k] for k in order), tuple(spacing[k] for k in order),
        factor, str(path), (*key, "path"), True, otherwise() if is_doubtful else "",
    )  # fmt: skip


def refuse_no_file(path: Path) -> None:
    """Raise where there is no file at a path."""
    if problem := no_file(path, "paths begin at the folder of the scenario"):
        raise ModelError(problem, "path")


@contextmanager
def one_line_for_malformed(path: Path, form: str) -> Iterator[None]:
    """Raise libraries' errors of a damaged file as one line."""
    try:
        yield
    except MALFORMED as error:
        if "truncated" in str(error):
            raise ModelError(f"{path} is cut short; copy it again", "path") from None
        raise ModelError(
            f"{path} cannot be read as {form}: {brief(error)}; check `format`", "path"
        ) from None


def _factor(spec: GriddedFile) -> float:
    return _FACTORS[spec.units] if hasattr(spec, "units") else 1.0


def _axes(spec: GriddedFile, array: np.ndarray, path: Path) -> str:
    axes = spec.axes or USUAL_AXES.get(array.ndim, "")
    if len(axes) != array.ndim or len(set(axes)) != len(axes) or set(axes) - set(AXES):
        raise ModelError(
            f"{path} has {array.ndim} axes; name each of zyx once, slowest first (C order)", "axes"
        )
    return axes


def _along(section: Any, axis: str, default: Mapping[str, float], key: str, path: Path) -> float:
    value = getattr(section, axis, None) if section is not None else None
    value = default.get(axis) if value is None else value
    if value is None:
        raise ModelError(
            f"missing: {path} has the axis {axis}; give `{key}: {{{axis}: ...}}`, "
            f"or a file without it where the run has none",
            key,
        )
    return float(value)


def _swapped(array: np.ndarray, factor: float, name: str, spec: GriddedFile) -> str:
    """Return the hint to use the other byte order of a raw file, if that gives valid values."""
    if format_of(spec) != "raw":
        return ""
    swapped = array.byteswap()
    low = float(swapped.min()) * factor
    high = float(swapped.max()) * factor
    is_finite = np.isfinite([low, high]).all()
    if not is_finite or any(impossible(PARAMETERS[name], value) for value in (low, high)):
        return ""
    other_order = "big" if spec.byte_order == "little" else "little"
    return f"with byte_order: {other_order} they are {low:.4g} to {high:.4g}: give that"


def files_of_volume(section: VolumePart, path: Path) -> list[Path]:
    """Return the file of a part of the model at its path, and the files that it names in turn.

    Raises:
        ModelError: it is malformed.
    """
    name = volume_format(section)
    further = (
        known["volume_files"](path) for known in giving("volume_files") if known.name == name
    )
    return [path, *chain.from_iterable(further)]


def read_volume(
    section: VolumePart,
    variables: Mapping[str, Any],
    base: Path,
    key: tuple[str | int, ...],
    region: Mapping[str, tuple[float, float]],
    projection: Callable[[], Any] | None,
) -> Volume:
    """Read a part of the earth from a file.

    Args:
        section: the part of the scenario's model.
        variables: variables of the file, and their units, by parameter.
        base: folder that relative paths start from.
        key: of the part in the scenario.
        region: limits of the grid in m by axis name.
        projection: function() -> the map between the grid and the earth, None if none.

    Raises:
        ModelError: missing or malformed file, or physically impossible values.
        InsufficientMemoryError: the needed part is larger than the free memory.
    """
    path = Path(base) / section.path
    request = VolumeRequest(path, section, variables, key, region, projection)
    form = volume_format(section)
    with _below(key, path):
        refuse_no_file(path)
        if not form:
            known = ", ".join(sorted(set(VOLUMES.values())))
            raise ModelError(
                f"missing: {path} ends in none of {', '.join(VOLUMES)}; give it ({known})", "format"
            )
        with one_line_for_malformed(path, form):
            volume: Volume = format_for("volume", form)["volume"](request)
            return volume


def grid_of_array(
    array: PythonArray,
    section: Any,
    key: tuple[str | int, ...],
    region: Mapping[str, Limits],
    spacing: Mapping[str, float],
) -> GridField:
    """Take a parameter from an array; arrays in C order, axes zyx, are not copied.

    Args:
        array: the array.
        section: the part of the model that holds it
            (`seismo.scenario.model_parts.ArrayPart`).
        key: of the array in the scenario, such as ("model", 0, "vp"); the last names the parameter.
        region: limits of the grid in m by axis name.
        spacing: of the grid in m by axis name.

    Raises:
        ModelError: its shape, axes or coordinates do not fit, or no medium has its values.
    """
    name = str(key[-1])
    with _below(key):
        samples = array.samples
        axes = _axes_of_array(array, section.axes, "".join(axis for axis in AXES if axis in region))
        labels = {
            "origin": dict(zip(axes, array.origin or (), strict=False)),
            "spacing": dict(zip(axes, array.spacing or (), strict=False)),
        }
        for quantity, of_axis in labels.items():
            _refuse_two(quantity, of_axis, getattr(section, quantity), array)
        of_axes = {
            quantity: {a: getattr(getattr(section, quantity), a, None) for a in axes} | of_axis
            for quantity, of_axis in labels.items()
        }
        alone = [axis for axis in axes if of_axes["spacing"][axis] is None]
        _check_points(array, axes, alone, region, spacing)
        factor = factor_of(array.units, name)
        check_values(samples, factor, name, f"the {array}", lambda: "", (), "give SI")
    samples, sorted_axes = in_order(samples, axes)
    origins = (of_axes["origin"][axis] for axis in sorted_axes)
    steps = (of_axes["spacing"][axis] for axis in sorted_axes)
    return GridField(
        samples,
        sorted_axes,
        tuple(region[a][0] if o is None else o for a, o in zip(sorted_axes, origins, strict=True)),
        tuple(spacing[a] if s is None else s for a, s in zip(sorted_axes, steps, strict=True)),
        factor,
        f"the {array}",
        key,
        not alone,
    )


def _axes_of_array(array: PythonArray, written: str | None, run: str) -> str:
    """Return the axes of an array in C order: from its labels, as written, or by their number.

    `run` are the run's axes.
    """
    labelled = "".join(array.axes or ())
    axes = labelled or written or USUAL_AXES[len(array.shape)]
    if array.axes is not None and (set(array.axes) - set(AXES) or len(set(axes)) != len(axes)):
        raise ModelError(
            f"has the axes {', '.join(array.axes)}; name them z (or depth), y, x, in m: "
            "array.rename({...})"
        )
    if labelled and written and labelled != written:
        raise ModelError(f"has the axes {labelled} by its labels, and `axes` says {written}")
    if len(axes) != len(array.shape):
        raise ModelError(f"is an {array}, and `axes` ({axes}) has {len(axes)}; name each once")
    if set(axes) - set(run):
        raise ModelError(f"is an {array}, axes {axes}; a 2-D run has {' and '.join(run)} only")
    return axes


def _refuse_two(
    quantity: str, of_axis: Mapping[str, float], section: Any, array: PythonArray
) -> None:
    """Refuse a spacing or origin that coordinates give otherwise, by 1 % of their spacing."""
    for axis, step in zip(of_axis, array.spacing or (), strict=False):
        written = getattr(section, axis, None)
        if written is not None and abs(written - of_axis[axis]) > 0.01 * step:
            raise ModelError(
                f"has the {quantity} {of_axis[axis]:g} m along {axis} by its coordinates, and "
                f"`{quantity}` says {written:g} m; leave that out, or the coordinates: array.values"
            )


def _check_points(
    array: PythonArray,
    axes: str,
    alone: list[str],
    region: Mapping[str, Limits],
    spacing: Mapping[str, float],
) -> None:
    """Refuse an array without a spacing whose points are not the grid's."""
    if set(alone) - spacing.keys():
        raise ModelError(
            f"is an {array} without a spacing along z, and rows of the grid grow with depth "
            "(grid.spacing.z); give its `spacing` and `origin`"
        )
    if set(axes) - spacing.keys():
        return
    shape = dict(zip(axes, array.shape, strict=True))
    needed = {axis: round((region[axis][1] - region[axis][0]) / spacing[axis]) + 1 for axis in axes}
    if all(shape[axis] == needed[axis] for axis in alone):
        return
    problem = (
        f"is an {array}, axes {axes}, and without a spacing its points are the grid's: "
        f"{list(needed.values())}"
    )
    turned = list(array.shape[::-1]) == list(needed.values())
    remedy = "transpose it: array.T" if turned else "give that shape, or its `spacing`"
    extent = ", ".join(
        f"{axis}: {(shape[axis] - 1) * spacing[axis]:g}" for axis in axes[::-1] if shape[axis] > 1
    )
    fits = "" if turned else f" (grid.extent {{{extent}}} would fit)"
    raise ModelError(f"{problem}; {remedy}{fits}")

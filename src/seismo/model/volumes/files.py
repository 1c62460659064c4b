"""One parameter of the earth from a gridded file: the array, its axes, units and values checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.formats import format_for
from seismo.formats.reading.arrays import (
    MALFORMED,
    brief,
    too_large,
)
from seismo.formats.reading.text import no_file
from seismo.formats.segy import other_floats
from seismo.model.volumes.gridded import (
    AXES,
    USUAL_AXES,
    GridField,
    Limits,
    in_order,
)
from seismo.model.volumes.sample_limits import FACTORS, check_values
from seismo.scenario.earth.gridded_parts import GriddedFile, format_of
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
    """Read one parameter from a gridded file.

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
    try:
        refuse_no_file(path)
        if format_of(spec) == "segy":
            return _segy(spec, path, key, region)
        return _read(spec, path, key, spacing, region)
    except ModelError as error:
        raise error.below(*key) from None
    except MemoryError:
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
    with one_line_for_malformed(path, "SEG-Y"):
        samples, axes, origin, spacing = format_for("traces", "segy")["traces"](path, spec, region)
    name = str(key[-1])
    factor = _factor(spec)
    otherwise = partial(other_floats, path, lambda value: not impossible(name, value * factor))
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
    """Raise what libraries say of a damaged file as one line."""
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
    if not np.isfinite([low, high]).all() or impossible(name, low) or impossible(name, high):
        return ""
    other_order = "big" if spec.byte_order == "little" else "little"
    return f"with byte_order: {other_order} they are {low:.4g} to {high:.4g}: give that"

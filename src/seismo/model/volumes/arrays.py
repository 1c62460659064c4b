"""One parameter of the earth from an array that a scenario in Python holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seismo.errors import ModelError
from seismo.model.volumes.gridded import (
    AXES,
    USUAL_AXES,
    GridField,
    Limits,
    in_order,
)
from seismo.model.volumes.sample_limits import check_values, factor_of
from seismo.scenario.earth.arrays import PythonArray


def grid_of_array(
    array: PythonArray,
    section: Any,
    key: tuple[str | int, ...],
    region: Mapping[str, Limits],
    spacing: Mapping[str, float],
) -> GridField:
    """Take one parameter from an array; what is in C order, axes zyx, is not copied.

    Args:
        array: the array.
        section: the part of the model that holds it
            (`seismo.scenario.earth.model_parts.ArrayPart`).
        key: of the array in the scenario, such as ("model", 0, "vp"); the last names the parameter.
        region: limits of the grid in m by axis name.
        spacing: of the grid in m by axis name.

    Raises:
        ModelError: its shape, axes or coordinates do not fit, or no medium has its values.
    """
    try:
        return _grid_of(array, section, key, region, spacing)
    except ModelError as error:
        raise error.below(*key) from None


def _grid_of(
    array: PythonArray,
    section: Any,
    key: tuple[str | int, ...],
    region: Mapping[str, Limits],
    spacing: Mapping[str, float],
) -> GridField:
    samples = array.samples
    name = str(key[-1])
    axes = _axes(array, section.axes, "".join(axis for axis in AXES if axis in region))
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


def _axes(array: PythonArray, written: str | None, run: str) -> str:
    """Return the axes of an array in C order: its labels', those written, or by their number.

    `run` are those of the run.
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

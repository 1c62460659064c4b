"""Lengths of spacings that a person would choose: short numbers that divide the extents."""

from __future__ import annotations

import math
from collections.abc import Iterator

from seismo.grid.grid import AXES
from seismo.scenario import Scenario
from seismo.solver.grid_layout import FACES

_WINDOW = 0.88  # share of a spacing, down to which lengths are compared
_WIDER_WINDOWS = (0.5, 0.2)  # the same where none of these suits
_UNEVEN = 0.9  # worth of a spacing that leaves a part of a cell, beside one that does not
_OFF_CONTACTS = 0.95  # the same of a spacing whose nodes miss a contact of layers
_DIGITS = 0.99  # the same for each digit beyond the first two
_LONG = 5  # digits of a number that nobody would choose
_PART = 0.8  # worth of such a number
_FEWEST_CELLS = 24  # of the finer spacing, along the shortest of several sides to be divided


def chosen_length(scenario: Scenario, most: float) -> float:
    """Return a spacing in m, below a largest: a short number that divides extents, if it is near.

    The grid covers all extents where a near spacing does. Along axes with rigid or periodic faces
    it ends with them. Nodes meet contacts of layers where such a spacing is near, too. Of refined
    grids the cells below the plane count, which have to divide the extents.

    Raises:
        ScenarioError: the extents that it has to divide have no such length in common.
    """
    subdivision = 3.0 if scenario.grid.refinement else 1.0
    largest = subdivision * most
    lengths = _suitable(scenario, largest)
    if not lengths:
        problem = "the extents have no common spacing; give grid.spacing"
        plane = ", or leave refinement out" if scenario.grid.refinement else ""
        raise scenario.mistake("grid", "extent", problem=problem + plane)
    return max(lengths, key=lambda cell: _worth(scenario, cell)) / subdivision


def has_common_cells(scenario: Scenario) -> bool:
    """Whether cells below a plane can divide all extents."""
    return bool(_suitable(scenario, math.inf))


def _extents(scenario: Scenario) -> dict[str, float]:
    """Return the lengths of the region in m, by axis."""
    extent = scenario.grid.extent
    lengths = {axis: getattr(extent, axis) for axis in AXES}
    return {axis: length for axis, length in lengths.items() if length is not None}


def _suitable(scenario: Scenario, most: float) -> list[float]:
    """Return lengths near a largest that divide the extents that have to be, and cover the others.

    Where none covers them, those that divide.
    """
    extents = _extents(scenario)
    faces = scenario.boundaries
    divided = [
        length
        for axis, length in extents.items()
        if scenario.grid.refinement
        or not {"rigid", "periodic"}.isdisjoint(getattr(faces, face) for face in FACES[axis])
    ]
    if len(divided) > 1:
        subdivision = 3.0 if scenario.grid.refinement else 1.0
        most = min(most, subdivision * min(extents.values()) / _FEWEST_CELLS)
    dividing: list[float] = []
    for window in (_WINDOW, *_WIDER_WINDOWS):
        lengths = _lengths(most, divided or list(extents.values()), window)
        dividing = [h for h in lengths if all(_is_whole(e / h) for e in divided)]
        covering = [h for h in dividing if all(_is_covered(e, h) for e in extents.values())]
        if covering:
            return covering
    return dividing


def _worth(scenario: Scenario, cell: float) -> float:
    """Return the worth of a length of cells (m), below a plane where there is one."""
    grid = scenario.grid
    subdivision = 3.0 if grid.refinement else 1.0
    contacts = [
        layer.top - grid.origin.top
        for section in scenario.model
        if section.type == "layers"
        for layer in section.layers[1:]
        if grid.origin.top < layer.top < grid.origin.top + grid.extent.z
    ]
    digits = len(f"{cell:.6f}".replace(".", "").strip("0"))
    value = cell * (_DIGITS ** max(0, digits - 2) if digits < _LONG else _PART)
    is_even = all(_is_whole(length / cell) for length in _extents(scenario).values())
    is_met = all(_is_whole(subdivision * z / cell) for z in contacts)
    return value * (1.0 if is_even else _UNEVEN) * (1.0 if is_met else _OFF_CONTACTS)


def _lengths(most: float, extents: list[float], window: float) -> Iterator[float]:
    """Yield lengths of up to three digits between a share of the largest and that, and parts."""
    unit = 10.0 ** (math.floor(math.log10(window * most)) - 2)
    first = math.ceil(window * most / unit)
    last = math.floor(most / unit * (1.0 + 1e-9))
    for number in range(first, last + 1):
        yield float(f"{number * unit:.4g}")
    # To fall back on where extents have no such number in common.
    for extent in extents:
        fewest = math.ceil(extent / most * (1.0 - 1e-9))
        for cells in range(fewest, int(extent / (window * most)) + 1):
            yield extent / cells


def _is_whole(count: float) -> bool:
    return abs(count - round(count)) < 1e-9 * count


def _is_covered(extent: float, cell: float) -> bool:
    return round(extent / cell) * cell >= extent * (1.0 - 1e-9)

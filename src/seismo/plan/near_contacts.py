"""Sources and receivers beside contacts of media, whose fields a grid smooths where they bend.

A moment is spread over grid points on both sides of a contact, and strains them by unlike amounts,
a force or a receiver there meets a motion whose slope jumps. With r the ratio of moduli at a
contact d cells away, what they err by is about

    moments:                0.4 (r - 1) exp(-1.25 d)
    forces and receivers:   0.02 (r - 1) exp(-4 d)

within a factor of 2 of what was found (order 8, 10 points per wavelength; r = 1.8, 2.8 and 9.7, in
fluids and in solids, d from 0 to 4; less on the stiffer side), at any order and sampling. Contacts
of fluid and solid have differences of their own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from seismo.grid import AXES
from seismo.plan.timing import Lines
from seismo.setup import Setup

_REACH = 4.5  # cells
_PER_CELL = 8  # samples
_JUMP = 0.03  # relative change from one to the next that is a contact
_LEAST = 0.02  # error that is told
_MOMENTS, _FORCES = (0.4, 1.25), (0.02, 4.0)  # factor and decay per cell


class NearSource(NamedTuple):
    """A source: its name, how many cells away the nearest contact is, and its error."""

    name: str
    cells: float
    error: float


def near_sources(setup: Setup) -> list[NearSource]:
    """List all sources but pressures of constant density, each name once, where it errs most."""
    found: dict[str, NearSource] = {}
    known: dict[tuple, tuple[float, float]] = {}
    for source in (s for shot in setup.shots for s in shot.sources):
        axes = "z" if setup.earth.layered else setup.grid.axes
        at = tuple(source.position[AXES.index(a)] for a in axes)
        if at not in known:
            known[at] = _nearest(setup, source.position, axes)
        cells, ratio = known[at]
        error = _error(_FORCES if source.kind == "force" else _MOMENTS, cells, ratio)
        if source.name not in found or error > found[source.name].error:
            found[source.name] = NearSource(source.name, cells, error)
    return list(found.values())


def near_contacts(setup: Setup) -> Lines:
    """Name sources and receivers that err by more than `_LEAST` since a contact is near."""
    for source in near_sources(setup):
        if source.error > _LEAST:
            yield (
                f"source {source.name}: a contact of media lies {source.cells:.2g} points away, so "
                "that the grid spreads it over both: amplitudes err by up to about "
                f"{_percent(source.error)}; move it away from the contact, or use a finer "
                "grid.spacing"
            )
    if setup.earth.layered:
        yield from _receivers(setup)


def _receivers(setup: Setup) -> Lines:
    """Name receivers near contacts, in an earth that varies with depth only."""
    for group in setup.groups:
        depths, counts = np.unique(group.positions[:, 2], return_counts=True)
        places = [(*group.positions[0, :2], z) for z in depths]
        errors = np.array([_error(_FORCES, *_nearest(setup, place, "z")) for place in places])
        near = errors > _LEAST
        if near.any():
            yield (
                f"receivers {group.name}: {counts[near].sum()} on a contact of media or less than "
                "a point from it, where motion bends: traces err by up to about "
                f"{_percent(errors.max())}; move them a point away, or use a finer grid.spacing"
            )


def source_error(setup: Setup) -> float:
    """Return the largest error that a contact makes of a source, at most 1."""
    return min(1.0, max((source.error for source in near_sources(setup)), default=0.0))


def _percent(error: float) -> str:
    return f"{float(f'{100 * error:.2g}'):g} %"


def _error(law: tuple[float, float], cells: float, ratio: float) -> float:
    factor, decay = law
    return factor * (ratio - 1.0) * math.exp(-decay * cells)


def _nearest(setup: Setup, position: tuple[float, ...], axes: str) -> tuple[float, float]:
    """Return how many cells away the nearest contact is, and the ratio of moduli across it."""
    if "rho" not in setup.earth.needs:
        return math.inf, 1.0
    steps = np.arange(-_REACH * _PER_CELL, _REACH * _PER_CELL + 1) / _PER_CELL
    away = np.minimum(np.abs(steps[1:]), np.abs(steps[:-1]))
    nearest = math.inf, 1.0
    for axis in axes:
        number = AXES.index(axis)
        line = position[number] + steps * setup.grid.spacing[number]
        moduli, wet = _along(setup, position, axis, np.clip(line, *setup.grid.limits(axis)))
        low, high = (f(moduli[:, 1:], moduli[:, :-1]) for f in (np.minimum, np.maximum))
        jumps = (high > (1.0 + _JUMP) * low).any(0) & (wet[1:] == wet[:-1])
        if not jumps.any():
            continue
        n = int(np.where(jumps, away, np.inf).argmin())
        cell = slice(max(0, n - _PER_CELL // 2), n + _PER_CELL // 2 + 2)
        beside = moduli[:, cell][:, wet[cell] == wet[n]]
        beside = beside[beside.min(1) > 0.0]
        nearest = min(nearest, (float(away[n]), float((beside.max(1) / beside.min(1)).max())))
    return nearest


def _along(
    setup: Setup, position: tuple[float, ...], axis: str, line: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return moduli and density (3, n) on a line through a position, and where it is fluid."""
    x, y, z = (line if a == axis else np.full(1, position[AXES.index(a)]) for a in AXES)
    if setup.grid.dimensions == 3:
        medium = setup.earth.sample(z[:, None, None], y[:, None], x)
    else:
        medium = setup.earth.sample(z[:, None], None, x)
    values = {name: np.broadcast_to(v, np.broadcast(*medium.values()).shape).ravel()
              for name, v in medium.items()}  # fmt: skip
    rho = values["rho"]
    speeds = [values[name] for name in ("vp", "vs") if name in values]
    wet = values["vs"] == 0.0 if "vs" in values else np.zeros(rho.shape, bool)
    return np.stack([rho, *(rho * v**2 for v in speeds)]), wet

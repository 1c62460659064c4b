"""Differences with which a run takes longer time steps (`grid.stencil: long_steps`), and why.

A step is stable up to dt = 2 / (c sqrt(sum over axes of S_a^2 / h_a^2)), S_a being the largest
symbol of the differences along an axis. Free surfaces and contacts ask for more points per
wavelength than dispersion does: there bounded differences
(`seismo.grid.coefficients`), whose S is less, disperse little. Along z differences under a free
surface have their own closure. Differences stay as they are along z where its closure does not
apply, a contact of fluid and solid has one-sided rows, or a source or receiver lies beside a
contact. They stay along all axes where sources and receivers lie in each other's near field,
sources radiate at frequencies at which bounded waves stand still, or waves guided by thin beds or
closed rows grow in absorbing layers.

Where the wanted accuracy has room for it `check` says how many steps they save (`LongerSteps`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.equations.framework.table import Physics
from seismo.errors import SeismoError
from seismo.grid.coefficients import (
    BOUNDED_ORDERS,
    BOUNDS,
    UNDER_SURFACE,
    Stencil,
    bounded_family,
    staggered_symbol,
    under_surface,
)
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import ClosureKind
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
from seismo.runs.prediction.accuracy import Expected, expected_error
from seismo.runs.prediction.assess import Finding
from seismo.runs.prediction.lines import Check, WarningLines, percent
from seismo.scenario import Scenario
from seismo.scenario.sections.grid import GridSpec
from seismo.solver.accuracy.stencil import dispersion_error, surface_error
from seismo.solver.accuracy.waves import Waves
from seismo.solver.closure_choice import FreeSurface
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.grid_layout import Level

_SHARE = 0.3  # of the accepted error of the traces, for dispersion and for a free surface
# Where the symbol is flat waves stand still, and radiation of sources there rings on. So next to
# nothing of their energy may lie above a share of the least such value.
_FLAT = 0.7
_RINGS = 1e-7
_CLEAR = 8  # cells between a contact and a source or receiver, or another contact
_FINE = 4  # samples of a cell, in search of a contact
_SUDDEN = 0.03  # relative change of a parameter from sample to sample
# Cells between sources and receivers, up to order 8 and above, from which on near fields of forces
# and moments hardly err: near fields hold shorter waves than travelling waves, strains more than
# motion. Order 8, bound 1.5, 4, 8, 12, 16 cells away: motion 37, 1.5, 0.2, 0.04 %, strain 1.0 and
# 0.08 % at 12 and 16; order 16, strain 14, 17, 22 cells away: 6.4, 1.1, 0.02 %.
_NEAREST = {1.5: (16, 22), 1.7: (12, 18), 1.9: (10, 16), 2.2: (9, 14)}
_NEAREST_UNDER_SURFACE = 16
LEAST_CELLS = min(low for low, _ in _NEAREST.values())  # nearer nothing is bounded
_WORTH = 0.92  # share of the steps from which on it is named


def reason_against(scenario: Scenario, physics: Physics, earth: Earth) -> str:
    """Return why a run cannot have bounded differences, empty if it can."""
    if physics.differences == "second":
        return f"is for first-order equations, and {scenario.equation.name} is of second order"
    if physics.interpolates:
        return f"is not for {scenario.equation.name}, whose strains are interpolated"
    if scenario.has_topography:
        return "is not for topography"
    if scenario.grid.planes:
        return "is not for refined grids"
    if not earth.layered:
        return "is for an earth that varies with depth only"
    faces = scenario.boundaries
    if {"rigid", "periodic"} & {getattr(faces, name) for name in type(faces).model_fields}:
        return "is not for rigid or periodic faces, between which waves travel for the whole run"
    if not all(source.is_driven for source in scenario.sources):
        return "is not for waves from outside"
    if not scenario.time.dispersion_removal:
        return "needs time.dispersion_removal: true, as longer steps disperse more"
    if scenario.time.step is not None:
        return "has nothing to choose where time.step is given"
    order = scenario.grid.order
    if order != "auto" and order not in BOUNDED_ORDERS:
        return f"is for orders from {BOUNDED_ORDERS[0]} on, not for {order}"
    return ""


def refuse_long_steps(scenario: Scenario, physics: Physics, earth: Earth) -> None:
    """Refuse bounded differences where there are none.

    Raises:
        ScenarioError: with the reason.
    """
    reason = reason_against(scenario, physics, earth)
    if reason:
        raise scenario.mistake("grid", "stencil", problem=f"{reason}; leave grid.stencil out")


def long_stencil(
    level: Level, physics: Physics, earth: Earth, extremes: Extremes, shots: Sequence[Shot],
    groups: Sequence[ReceiverGroup], chosen: tuple[Waves, Stencil, FreeSurface | None],
) -> tuple[Waves, Stencil, FreeSurface | None]:  # fmt: skip
    """Return waves, differences and surface of a grid with the longest step that errors allow.

    Raises:
        ScenarioError: the run cannot have bounded differences.
    """
    refuse_long_steps(level.scenario, physics, earth)
    clear = clear_axes(earth, level.grid, extremes, shots, groups)
    return lengthened(*chosen, clear, level.scenario.grid)


def lengthened(
    waves: Waves, stencil: Stencil, surface: FreeSurface | None, clear: str, spec: GridSpec
) -> tuple[Waves, Stencil, FreeSurface | None]:
    """Return differences with the longest step that the accuracy allows, or the same.

    Args:
        waves: that the grid carries.
        stencil: fitted differences.
        surface: the free surface that differences close, or None.
        clear: axes along which no contact lies beside a source or receiver (`clear_axes`).
        spec: the scenario's grid, with the accepted error of the traces.

    Returns:
        the waves and the surface, by its closure; the differences.
    """
    # With other orders waves along the rows of a free surface grow in absorbing layers.
    if surface is not None and stencil.order not in UNDER_SURFACE:
        return waves, stencil, surface
    if surface is not None and "z" in clear:
        waves, stencil, surface = _under_surface(waves, stencil, surface, spec.accuracy)
    axes = clear if surface is None else clear.replace("z", "")
    if not axes:
        return waves, stencil, surface
    error = partial(dispersion_error, waves)
    for bound in BOUNDS:
        best = min(_bounded(stencil, axes, bound), key=error)
        low, high = _NEAREST[bound]
        cells = low if stencil.order <= 8 else high
        accurate = error(best) <= _SHARE * spec.accuracy
        if accurate and _are_far(waves, cells) and not _rings(waves, best):
            return waves, best, surface
    return waves, stencil, surface


def clear_axes(
    earth: Earth, grid: Grid, extremes: Extremes, shots: Sequence[Shot],
    groups: Sequence[ReceiverGroup],
) -> str:  # fmt: skip
    """Return the axes along which differences may be bounded, by the contacts of flat layers.

    None where two contacts are near each other: waves guided between thin beds grow in absorbing
    layers. Not z where a contact lies beside a source or a receiver, or has its own rows (fluid and
    solid).
    """
    rows = _contacts(earth, grid)
    if (np.diff(rows) < _CLEAR).any():
        return ""
    acting = [source.position for shot in shots for source in shot.sources]
    faults = [fault.positions for shot in shots for fault in shot.faults]
    read = [group.read_positions for group in groups]
    ends = np.concatenate([np.reshape(acting, (-1, 3)), *faults, *read])
    away = np.abs(np.unique(grid.index("z", ends[:, 2]))[:, None] - rows)
    beside = (away < _CLEAR).any() or (extremes.fluid and extremes.vs_max > 0.0)
    return "".join(axis for axis in grid.axes if axis != "z" or not beside)


def _contacts(earth: Earth, grid: Grid) -> np.ndarray:
    """Return the rows (n) at which a layered medium changes suddenly."""
    rows = np.arange(grid.points[2] * _FINE) / _FINE
    z = grid.coordinate("z", rows)
    zero = np.zeros(1)
    at = (z[:, None, None], zero, zero) if grid.dimensions == 3 else (z[:, None], None, zero)
    medium = np.array([column.ravel() for column in earth.sample(*at).values()])
    sudden = (np.abs(np.diff(medium)) > _SUDDEN * np.abs(medium[:, 1:])).any(axis=0)
    # A change that spreads over several samples is a single contact.
    return rows[1:][sudden & ~np.append(False, sudden[:-1])]


def _are_far(waves: Waves, cells: float) -> bool:
    """Whether no receiver is nearer to a source than so many of the tallest cells."""
    height = max(passage.medium.height for passage in waves.passages)
    return waves.nearest >= cells * height * max(waves.spacing)


def _rings(waves: Waves, stencil: Stencil) -> bool:
    """Whether sources radiate at frequencies at which waves of the grid stand still."""
    k = np.linspace(1e-3, math.pi, 1001)
    least = math.inf
    for axes, *_ in stencil.bounds:
        symbol = staggered_symbol(stencil.along(axes[0]), k)
        least = min(least, float(symbol[np.argmax(symbol) :].min()))
    # w = c K / h, of the slowest waves.
    frequency = _FLAT * least * waves.slowest / (2.0 * math.pi * max(waves.spacing))
    above = waves.spectra.frequency > frequency
    return float(waves.spectra.energy[:, above].sum(axis=1).max()) > _RINGS


def _bounded(stencil: Stencil, axes: str, bound: float) -> Iterator[Stencil]:
    """Yield differences that are bounded along further axes, too."""
    for known, tolerance in bounded_family(stencil.order):
        if known == bound:
            yield replace(stencil, bounds=(*stencil.bounds, (axes, bound, tolerance)))


def _under_surface(
    waves: Waves, stencil: Stencil, surface: FreeSurface, accuracy: float
) -> tuple[Waves, Stencil, FreeSurface]:
    """Return differences along z with a closure of their own, where it is accurate enough."""
    if not surface.can_be_long(stencil.order):
        return waves, stencil, surface
    longer = replace(stencil, bounds=under_surface(stencil.order))
    there = replace(waves, surface=ClosureKind.LONG)
    accurate = max(dispersion_error(there, longer), surface_error(there)) <= _SHARE * accuracy
    if accurate and _are_far(waves, _NEAREST_UNDER_SURFACE) and not _rings(waves, longer):
        return there, longer, surface._replace(long=True)
    return waves, stencil, surface


def no_longer_steps(discretization: Discretization) -> WarningLines:
    """Name the choice of longer steps where there are none."""
    if discretization.scenario.grid.stencil == "long_steps" and not discretization.stencil.bounds:
        cells = _cells_apart(discretization)
        why = (
            "dispersion or the free surface would err by more than 0.3 of grid.accuracy, the grid "
            "would ring at frequencies of the sources, contacts lie within 8 cells of each other, "
            "or the order under a free surface is not 8"
        )
        if not cells:
            why = "maps, and runs without receivers, have nodes in the near fields of sources"
        elif cells < LEAST_CELLS:
            why = f"a receiver lies in the near field of a source, {cells:.3g} cells from it"
        yield f"grid.stencil: long_steps makes no step longer: {why}; leave it out"


def _cells_apart(discretization: Discretization) -> float:
    """Return the cells between a source and the nearest receiver; 0 where maps are wanted."""
    return discretization.waves.nearest / max(discretization.waves.spacing)


@dataclass(frozen=True)
class LongerSteps:
    """What a run with bounded differences takes.

    Attributes:
        steps: beside the run's own.
        error: of the traces, expected.
    """

    steps: float
    error: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """Name the key, and its saving."""
        return (
            f"grid.stencil: long_steps takes {percent(1.0 - self.steps)} fewer steps, and is "
            f"expected to err by {percent(self.error)}"
        )


def longer_steps(discretization: Discretization, expected: Expected) -> LongerSteps | None:
    """Return the saving by bounded differences, if large and within the wanted accuracy."""
    spec = discretization.scenario.grid
    if spec.stencil != "fitted" or expected.error > spec.accuracy:
        return None
    if reason_against(discretization.scenario, discretization.physics, discretization.earth):
        return None
    if _cells_apart(discretization) < LEAST_CELLS:
        return None
    try:
        longer = discretize(discretization.scenario.changed({"grid.stencil": "long_steps"}))
        error = expected_error(longer).error
    except SeismoError:
        return None
    steps = longer.clock.steps / discretization.clock.steps
    if steps > _WORTH or error > spec.accuracy:
        return None
    return LongerSteps(steps, error)


CHECKS = (Check("steps", no_longer_steps),)
FINDINGS = (Finding("longer_steps", "longer", longer_steps),)

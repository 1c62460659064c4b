"""Differences of a run that injects a wavefield: on the grid of the recorded run they are its own.

The coefficients of an order, and the closure of a free surface, suit the sources and receivers of a
run. With those of the recorded run, of the same spacing, the field inside is its field to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.equations.framework.table import Physics
from seismo.features.wavefield_boxes.recorded_box import RecordedBox
from seismo.features.wavefield_boxes.source import RecordedWavefield
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
from seismo.solver.accuracy.waves import Waves
from seismo.solver.closure_choice import FreeSurface
from seismo.solver.grid_layout import Level


def recorded_stencil(
    level: Level, physics: Physics, earth: Earth, extremes: Extremes, shots: Sequence[Shot],
    groups: Sequence[ReceiverGroup], chosen: tuple[Waves, Stencil, FreeSurface | None],
) -> tuple[Waves, Stencil, FreeSurface | None]:  # fmt: skip
    """Return waves, differences and surface of a grid: the recorded run's where they fit."""
    waves, stencil, surface = chosen
    # The only wavefield, or the first of several.
    wavefields = [
        source for shot in shots for source in shot.points if isinstance(source, RecordedWavefield)
    ]
    if not wavefields or not _alike(level, wavefields[0].recorded):
        return chosen
    # Its coefficients, and a closure of its kind for them.
    recorded = wavefields[0].recorded
    stencil = recorded.stencil
    if surface is not None:
        surface = _of_kind(surface, stencil.order, recorded.closure)
        waves = replace(waves, surface=surface.kind(stencil.order))
    return waves, stencil, surface


def _alike(level: Level, recorded: RecordedBox) -> bool:
    """Whether a grid has the spacing of the recorded run, and no other differences are typed."""
    # Coefficients belong to a spacing, an order and a family of coefficients.
    spec = level.scenario.grid
    spacing = all(
        math.isclose(level.grid.spacing[AXES.index(axis)], length, rel_tol=1e-9)
        for axis, length in recorded.spacing.items()
    )
    return spacing and spec.order in ("auto", recorded.stencil.order) and (
        spec.stencil == recorded.family
    )  # fmt: skip


def _of_kind(surface: FreeSurface, order: int, kind: str) -> FreeSurface:
    """Return the surroundings of a surface with the wanted kind of closure, if they can have it."""
    # Kinds follow from what acts among the rows, and from a contact there.
    candidates = (
        surface,
        *(surface._replace(sources=surface.sources._replace(moments=moments), contact=contact)
          for moments in (True, False) for contact in (surface.contact, math.inf)),
    )  # fmt: skip
    return next((each for each in candidates if each.kind(order).value == kind), surface)

"""Sources of type `wavefield` in the grid: the box of a recorded wavefield, and where it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from seismo.acquisition.locator import Locator
from seismo.acquisition.sources import PointSource
from seismo.acquisition.spectra import SourceKind, derivatives_of
from seismo.errors import ModelError
from seismo.features.wavefield_boxes.recorded_box import (
    RadiatedWavelet,
    RecordedBox,
    recorded_box,
)
from seismo.features.wavefield_boxes.section import WavefieldSource
from seismo.features.wavefield_boxes.shell import GridBox, grid_box
from seismo.grid.grid import AXES
from seismo.scenario.sections.sources import SOURCE_NAME
from seismo.solver.discretization import Discretization


@dataclass(frozen=True)
class RecordedWavefield(PointSource):
    """A recorded wavefield of a shot; its position is the place of its box next to its source.

    Attributes:
        recorded: the box of the other run.
        box: the same on the grid of this run.
    """

    recorded: RecordedBox = field(kw_only=True)
    box: GridBox = field(kw_only=True)

    @property
    def centre(self) -> None:
        """None: it has its times from another run."""
        return None

    @property
    def is_local(self) -> bool:
        """Whether it acts at its position: it acts on all faces of its box."""
        return False

    @property
    def silent_after(self) -> float:
        """Time in s after which nothing of it enters the box."""
        return math.inf


def recorded_wavefields(discretization: Discretization) -> list[RecordedWavefield]:
    """Return the recorded wavefields that a run injects."""
    return [
        source
        for shot in discretization.shots
        for source in shot.points
        if isinstance(source, RecordedWavefield)
    ]


def reach(discretization: Discretization) -> int:
    """Return the points that formulas take on either side of their own."""
    return discretization.halo


def _box_of(source: WavefieldSource, base: Path | None) -> RecordedBox:
    return recorded_box((base or Path()) / source.path, source.box)


def locate_wavefield(locate: Locator, source: WavefieldSource, number: int) -> RecordedWavefield:
    """Return a recorded wavefield of a scenario in the grid.

    Raises:
        ScenarioError: the file has no such box, or it does not fit the run.
    """
    scenario = locate.scenario
    grid = locate.grid
    # The box of the file, whose run has to be like this one.
    try:
        recorded = _box_of(source, scenario.base)
    except ModelError as error:
        raise scenario.mistake("sources", number, *error.key, problem=error.problem) from None
    for problem in _problems(recorded, locate):
        raise scenario.mistake("sources", number, "path", problem=problem)
    wavefield = RecordedWavefield(
        name=source.name or SOURCE_NAME.format(number), kind=source.type,
        position=_entrance(recorded), strength={"": 1.0}, wavelet=recorded.wavelet, delay=0.0,
        derivative=0, base=scenario.base, recorded=recorded,
        box=grid_box(grid, recorded.ends, recorded.faces),
    )  # fmt: skip
    # Its spectrum is that of the recorded source in the far field.
    derivative = round(derivatives_of(wavefield) - recorded.derivatives)
    return replace(wavefield, derivative=derivative)


def _entrance(recorded: RecordedBox) -> tuple[float, float, float]:
    """Return x, y, z in m of the point of a box that is next to a source of its run."""
    # Waves come to this point of the box first, or nearly so.
    position = next(iter(recorded.sources.values()))
    nearest = {
        axis: float(np.clip(at, recorded.first[axis], recorded.last[axis]))
        for axis, at in zip(recorded.axes, position, strict=True)
    }
    x, y, z = (nearest.get(axis, 0.0) for axis in AXES)
    return x, y, z


def _problems(recorded: RecordedBox, locate: Locator) -> Iterator[str]:
    """Yield why a recorded box does not fit a run."""
    scenario = locate.scenario
    grid = locate.grid
    # The same equation, for no longer than it was recorded.
    if recorded.axes != grid.axes:
        yield f"is of a {len(recorded.axes)}-D run, and this one has {grid.dimensions} dimensions"
    if recorded.equation != scenario.equation.name:
        yield f"is of {recorded.equation} waves, and this run has {scenario.equation.name}"
    if scenario.time.duration > recorded.duration * (1.0 + 1e-9):
        yield (
            f"ends at {recorded.duration:g} s, and this run at {scenario.time.duration:g} s: set "
            f"time.duration to {recorded.duration:g} s, or record the box for longer"
        )
    # Inside the box the field has no sources.
    for name, position in recorded.sources.items():
        inside = all(
            recorded.first[axis] <= at <= recorded.last[axis]
            for axis, at in zip(recorded.axes, position, strict=True)
        )
        if inside:
            yield (
                f"its source {name} lies in box {recorded.name}, whose field inside would need it: "
                "record a box beside the sources"
            )


def _wavelet(source: Any, base: Path | None) -> RadiatedWavelet:
    return _box_of(source, base).wavelet


KIND = SourceKind("wavefield", locate_wavefield, _wavelet)

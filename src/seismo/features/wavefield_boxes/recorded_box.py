"""A box of a results file: where its faces are, and its fields in windows of records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from seismo.acquisition.wavelet_shapes import FLOOR, WaveletShape
from seismo.acquisition.wavelets import SampledWavelet, natural_spline
from seismo.errors import ModelError, ScenarioError
from seismo.features.wavefield_boxes.face_ground import FaceGround
from seismo.grid.coefficients import Stencil
from seismo.output.run_results import RunResults

_KEPT = 64  # boxes whose facts are kept


@dataclass(frozen=True, eq=False)
class RadiatedWavelet(SampledWavelet):
    """The wavelet of the source that a wavefield comes from."""

    dominant: float = 1.0

    @property
    def shape(self) -> WaveletShape:
        """The wavelet as a function of time."""
        # It is zero beside its samples.
        start = float(self.samples.time[0])
        end = float(self.samples.time[-1])
        return WaveletShape(
            self.samples.value, self.samples.rate, start, end, self.dominant,
            points=2 * self.samples.time.size,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecordedBox:
    """The facts of a recorded box.

    Attributes:
        path: results file.
        name: of the box.
        equation: of the run.
        axes: "xz" or "xyz".
        first: coordinates in m of the first nodes inside, by axis.
        last: of the last nodes inside.
        spacing: of the grid in m, by axis.
        faces: such as "x_min".
        slabs: coordinates in m by axis of the nodes about each face.
        half: axes along which each field stands half a cell further.
        lags: of each field in steps (`recording`).
        vanishing: fields that vanish on a free surface, half a cell above their first points.
        records: how many there are.
        every: steps between two.
        dt: time step in s.
        duration: of the run in s.
        removal: whether its sources have the time dispersion that its traces are freed from.
        stencil: of its differences.
        family: of their coefficients, as in `grid.stencil`.
        ground: about its faces.
        closure: kind of the closure of its free surface, "" without one.
        wavelet: of its source with the highest frequencies.
        derivatives: of it in the far field (`seismo.acquisition.spectra.derivatives_of`).
        sources: names and positions in m of its sources.
    """

    path: Path
    name: str
    equation: str
    axes: str
    first: dict[str, float]
    last: dict[str, float]
    spacing: dict[str, float]
    faces: tuple[str, ...]
    slabs: dict[str, dict[str, np.ndarray]]
    half: dict[str, str]
    lags: dict[str, float]
    vanishing: tuple[str, ...]
    records: int
    every: int
    dt: float
    duration: float
    removal: bool
    stencil: Stencil
    family: str
    ground: FaceGround
    closure: str
    wavelet: RadiatedWavelet
    derivatives: float
    sources: dict[str, tuple[float, ...]]

    @property
    def ends(self) -> dict[str, tuple[float, float]]:
        """The first and the last coordinate inside in m, by axis."""
        return {axis: (self.first[axis], self.last[axis]) for axis in self.axes}

    def open(self) -> RunResults:
        """Open the file, to read fields."""
        return RunResults(self.path)


def recorded_box(path: Path, name: str | None) -> RecordedBox:
    """Return the facts of a box of a results file, its only box where `name` is None.

    Raises:
        ModelError: the file is missing or damaged, or has no such box; with the key at fault.
    """
    try:
        state = path.stat()
        return _read(path, name, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or 'cannot be read'}", "path") from None
    except ScenarioError as error:
        raise ModelError(str(error), "path") from None


@lru_cache(_KEPT)
def _read(path: Path, name: str | None, *changed: int) -> RecordedBox:
    with RunResults(path) as results:
        # The box that is asked for, or the only one.
        boxes = results.boxes
        listed = ", ".join(boxes)
        if not boxes:
            raise ModelError(f"{path}: has no recorded box; see output.boxes of its run", "path")
        if name is None and len(boxes) > 1:
            raise ModelError(f"{path} has the boxes {listed}: give one of them", "box")
        if name is not None and name not in boxes:
            raise ModelError(f"{path} has no box {name}; it has {listed}", "box")
        chosen = name or next(iter(boxes))
        # Slabs about its faces, and the facts that injection needs.
        slabs = boxes[chosen]
        if results.status != "complete":
            raise ModelError(f"{path}: its run has not ended: {results.message}", "path")
        try:
            facts = json.loads(str(next(iter(slabs.values())).fact("box")))
            half = json.loads(str(results.attributes["half_cell"]))
            return _box(results, chosen, slabs, facts, half)
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            problem = f"{path}: box {chosen} is damaged ({error}); run its scenario again"
            raise ModelError(problem, "path") from None


def _stencil(facts: dict[str, Any]) -> Stencil:
    # Lists of JSON are tuples of the stencil.
    bounds = tuple((str(axes), float(a), float(b)) for axes, a, b in facts["bounds"])
    return Stencil(int(facts["order"]), float(facts["tolerance"]), bounds)


def _box(
    results: RunResults, name: str, slabs: Any, facts: dict[str, Any], half: dict[str, str]
) -> RecordedBox:
    """Return the facts of a box from those in its file."""
    # x, [y,] z as a grid names its axes.
    axes = "".join(sorted(facts["first"]))
    wavelets = results.wavelets
    if wavelets is None:
        raise ValueError("wavelets are missing")
    samples = wavelets.samples[int(facts["wavelet"])]
    # Without the rest before and behind it.
    acting = np.flatnonzero(np.abs(samples) > FLOOR**2 * np.abs(samples).max())
    if not acting.size:
        raise ValueError("its wavelet is zero")
    lasting = slice(max(0, acting[0] - 1), acting[-1] + 2)
    spline = natural_spline(wavelets.time[lasting], samples[lasting].astype(float))
    # Where the sources are: no box has them inside.
    rows = results.sources
    return RecordedBox(
        path=results.path, name=name, equation=results.physics, axes=axes,
        first={a: float(facts["first"][a]) for a in axes},
        last={a: float(facts["last"][a]) for a in axes},
        spacing={a: float(facts["spacing"][a]) for a in axes},
        faces=tuple(str(face) for face in facts["faces"]),
        slabs={face: dict(slabs[face].axes) for face in facts["faces"]},
        half={field: str(half.get(field, "")) for field in facts["lags"]},
        lags={field: float(lag) for field, lag in facts["lags"].items()},
        vanishing=tuple(map(str, facts["vanishing"])),
        records=min(slabs[face].time.size for face in facts["faces"]),
        every=int(facts["every"]), dt=float(facts["dt"]), duration=float(facts["duration"]),
        removal=bool(facts["removal"]), stencil=_stencil(facts["stencil"]),
        family=str(facts["family"]), ground=FaceGround(**facts["ground"]),
        closure=str(facts["closure"]),
        wavelet=RadiatedWavelet(spline, float(facts["dominant_frequency"])),
        derivatives=float(facts["derivatives"]),
        sources={str(row["name"]): tuple(float(row[a]) for a in axes) for row in rows},
    )  # fmt: skip

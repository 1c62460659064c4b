"""Sources given as arrays: the samples of their wavelets, and their strengths.

The sources of all shots are numbered through: those of a survey by their shots, those of a scenario
without a survey in its order. Parameters of a single call have these shapes::

    wavelet         (source, sample)       at times 0, interval, 2 interval, ... before delays
    force           (source, component)    N        along x, (y,) z
    moment_tensor   (source, component)    N m      along the grid's axes
    moment          (source)               N m      of explosions
    amplitude       (source)               of the wavelets of `pressure` and `volume_rate` sources

Without the axis `source` an array is for all of them; an axis before it is of several calls. The
components are those that the equation has. A source of another type takes nothing of a strength.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seismo.acquisition.sources import PointSource, Shot
from seismo.acquisition.wavelets import SampledWavelet, natural_spline
from seismo.errors import ModelError, ScenarioError
from seismo.inversion.adjoint.source_derivative import SourceDerivative
from seismo.solver.discretization import Discretization

WAVELET = "wavelet"
# Types of sources whose strength a parameter is.
STRENGTHS = {
    "force": ("force",),
    "moment_tensor": ("moment_tensor",),
    "moment": ("explosion",),
    "amplitude": ("pressure", "volume_rate"),
}
SOURCE_PARAMETERS = (WAVELET, *STRENGTHS)


class SourceParameters:
    """The sources of a run, whose wavelets and strengths are arrays.

    Attributes:
        names: parameters of sources that are given as arrays.
        interval: s between samples of wavelets.
        start: the scenario's own values by parameter.
    """

    def __init__(
        self, discretization: Discretization, names: Sequence[str], interval: float | None
    ) -> None:
        """Look at the sources of a run.

        Args:
            discretization: the run.
            names: parameters of sources.
            interval: s between samples of wavelets, the time step when None.

        Raises:
            ScenarioError: no source has such a strength, or the interval is impossible.
        """
        self.names = tuple(names)
        self._shots = discretization.shots
        self._physics = discretization.physics
        self._sources = [source for shot in self._shots for source in shot.points]
        kinds = {source.kind for source in self._sources}
        for name in self.names:
            if name != WAVELET and kinds.isdisjoint(STRENGTHS[name]):
                raise ScenarioError(
                    f"parameters: {name}: is of sources of type {' or '.join(STRENGTHS[name])}, "
                    f"and those of the scenario are {', '.join(sorted(kinds))}; leave it out"
                )
        if interval is not None and not 0.0 < interval < math.inf:
            raise ScenarioError(f"wavelet_interval: {interval:g} s; give a positive time")
        dt = discretization.clock.dt
        self.interval = dt if interval is None else float(interval)
        # The signals of all steps, those behind the record included.
        self._samples = math.ceil(discretization.total_steps * dt / self.interval) + 1
        self.start = {name: self._start_of(name) for name in self.names}

    def checked(self, name: str, array_like: Any) -> np.ndarray:
        """Return values of a parameter in float64.

        Raises:
            ModelError: they have another shape, or are not finite.
        """
        array = np.asarray(array_like)
        if array.dtype.kind not in "fiu":
            raise ModelError(f"has type {array.dtype}; give real numbers", name)
        expected = self.start[name].shape
        if name == WAVELET and array.ndim and array.shape[-1] > 1:
            expected = (expected[0], array.shape[-1])  # any number of samples that a spline has
        missing = len(expected) - array.ndim
        if abs(missing) > 1 or array.shape[max(0, -missing) :] != expected[max(0, missing) :]:
            raise ModelError(
                f"has the shape {list(array.shape)}; give {list(expected)}, its first axis being "
                "the sources; without that axis for all sources alike, with an axis before it for "
                "several models",
                name,
            )
        array = np.array(array, float)  # the caller may change its own
        if not np.isfinite(array).all():
            index = np.argwhere(~np.isfinite(array))[0].tolist()
            raise ModelError(f"{array[tuple(index)]:g} at index {index} is not finite", name)
        return array

    def shots(self, arrays: Mapping[str, np.ndarray]) -> list[Shot]:
        """Return all shots with other wavelets and strengths.

        Args:
            arrays: checked values by parameter, of a single call; others are the scenario's.
        """
        if not arrays:
            return self._shots
        return self._replaced(self._shots, arrays, self._wavelets(arrays))

    def _replaced(
        self, shots: Sequence[Shot], arrays: Mapping[str, np.ndarray],
        wavelets: Sequence[SampledWavelet],
    ) -> list[Shot]:  # fmt: skip
        """Return shots whose sources have strengths and wavelets of arrays."""
        numbers = itertools.count()
        return [
            replace(
                shot,
                points=tuple(
                    self._source(source, next(numbers), arrays, wavelets) for source in shot.points
                ),
            )
            for shot in shots
        ]

    def changes(
        self, arrays: Mapping[str, np.ndarray], change: Mapping[str, np.ndarray]
    ) -> tuple[list[list[dict[str, float]]], list[Shot] | None]:
        """Return the changes of strengths, and all shots with those of wavelets as wavelets.

        Args:
            arrays: checked values that a call was given.
            change: of parameters, by name; others do not change.

        Returns:
            Of each source of each shot the change by component; shots, None where no wavelet
            changes.
        """
        strengths = {n: np.zeros_like(a) for n, a in self.start.items() if n != WAVELET}
        strengths |= {n: array for n, array in change.items() if n != WAVELET}
        still = [
            replace(shot, points=tuple(replace(s, strength={}) for s in shot.points))
            for shot in self._shots
        ]
        by_strength = [
            [source.strength for source in shot.points]
            for shot in self._replaced(still, strengths, [])
        ]
        if WAVELET not in change:
            return by_strength, None
        return by_strength, self._replaced(self._shots, arrays, self._wavelets(change))

    def by_arrays(
        self, derivatives: Sequence[SourceDerivative], arrays: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return derivatives by the parameters, of the shape of those of a call.

        Args:
            derivatives: by sources, in their order.
            arrays: checked values that the call was given.
        """
        by_parameter = {}
        for name in self.names:
            array = arrays.get(name, self.start[name])
            if name == WAVELET:
                by_sources = np.array([d.by_samples(self.spline(array)) for d in derivatives])
            else:
                by_sources = np.array(
                    [
                        [d.by_strength.get(c, 0.0) for c in self.components(name)]
                        if source.kind in STRENGTHS[name]
                        else [0.0] * len(self.components(name))
                        for source, d in zip(self._sources, derivatives, strict=True)
                    ]
                ).reshape(self.start[name].shape)
            alike = array.ndim < self.start[name].ndim
            by_parameter[name] = by_sources.sum(axis=0) if alike else by_sources
        return by_parameter

    def components(self, name: str) -> tuple[str, ...]:
        """Return the components of a strength, in their order."""
        kind = next(k for k in STRENGTHS[name] if self._physics.components(k))
        return self._physics.components(kind)

    def spline(self, samples: np.ndarray) -> SampledWavelet:
        """Return the wavelet of samples (..., sample), the first of them if there are several."""
        row = samples.reshape(-1, samples.shape[-1])[0]
        return SampledWavelet(natural_spline(self.interval * np.arange(row.size), row))

    def _start_of(self, name: str) -> np.ndarray:
        if name == WAVELET:
            times = self.interval * np.arange(self._samples)
            return np.array([s.signal(times + s.delay, s.derivative) for s in self._sources])
        components = self.components(name)
        strengths = [
            [s.strength.get(c, 0.0) if s.kind in STRENGTHS[name] else 0.0 for c in components]
            for s in self._sources
        ]
        return np.array(strengths) if components != ("",) else np.array(strengths)[:, 0]

    def _wavelets(self, arrays: Mapping[str, np.ndarray]) -> list[SampledWavelet]:
        """Return the given wavelet of each source; none where none is given."""
        if WAVELET not in arrays:
            return []
        samples = arrays[WAVELET]
        if samples.ndim == 1:
            return [self.spline(samples)] * len(self._sources)
        return [self.spline(row) for row in samples]

    def _source(
        self, source: PointSource, number: int, arrays: Mapping[str, np.ndarray],
        wavelets: Sequence[SampledWavelet],
    ) -> PointSource:  # fmt: skip
        """Return a source with the wavelet and the strength that were given."""
        if wavelets:
            source = replace(source, wavelet=wavelets[number])
        for name, kinds in STRENGTHS.items():
            if name in arrays and source.kind in kinds:
                of_source = np.broadcast_to(arrays[name], self.start[name].shape)[number]
                components = zip(
                    self.components(name), np.atleast_1d(of_source).tolist(), strict=True
                )
                source = replace(source, strength=source.strength | dict(components))
        return source

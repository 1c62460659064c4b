"""Sources and shots: points with a strength and a source time function, which act together."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.moment_tensor import scalar_moment, tensor_from_grid
from seismo.acquisition.slip_rate import SlipRate
from seismo.errors import ScenarioError
from seismo.grid.grid import Grid
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes


class ManySources(Protocol):
    """Many points of a source, which are kept in arrays."""

    name: str
    positions: np.ndarray  # x, y, z (point, 3) m

    def __len__(self) -> int:
        """Count them."""

    @property
    def samples(self) -> list[PointSource]:
        """All sources, or a representative sample of many."""

    def moved(self, positions: np.ndarray) -> ManySources:
        """Return them at other positions (point, 3) m."""


class IncomingWave(NamedTuple):
    """A plane wave from the lowest half-space: its kind, and horizontal slowness in s/m."""

    wave: str
    slowness: float


@dataclass(frozen=True)
class PointSource:
    """A source of a shot.

    Attributes:
        name: for the results.
        kind: type in the scenario: "force", "moment_tensor", ...
        position: x, y, z in m.
        strength: component -> number: {"z": N}, {"xx": N m, ...} or {"": amplitude}.
        wavelet: the scenario's wavelet, or the moment rate of a subfault.
        delay: s, added to the wavelet's own.
        derivative: which time derivative of the moment (or force) the wavelet describes: 1 for a
            moment rate, else 0.
        base: folder of wavelet files.
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    strength: dict[str, float]
    wavelet: wavelets.SourceWavelet
    delay: float
    derivative: int
    base: Path | None = None

    def signal(self, times: np.ndarray, derivative: int) -> np.ndarray:
        """Evaluate a time derivative (-1: the integral) of the moment or force at times in s."""
        order = derivative - self.derivative
        t = times - self.delay
        if isinstance(self.wavelet, SlipRate) and order in (-1, 0):
            return self.wavelet.integral(t) if order < 0 else self.wavelet.resampled(t)
        if order == 0:
            return wavelets.evaluate(self.wavelet, t, self.base)
        if order == 1:
            return wavelets.derivative(self.wavelet, t, self.base)
        if order < 0:
            return _integral(self, t)
        step = (times[1] - times[0]) / 8
        rates = [wavelets.derivative(self.wavelet, t + s * step, self.base) for s in (-2, -1, 1, 2)]
        return (rates[0] - 8 * rates[1] + 8 * rates[2] - rates[3]) / (12 * step)

    def signal_transposed(
        self, by_signal: np.ndarray, times: np.ndarray, derivative: int
    ) -> np.ndarray:
        """Return the derivative by the samples (n) of its wavelet: the transpose of `signal`.

        Args:
            by_signal: (time) derivative by `signal` of the same arguments.
            times: in s.
            derivative: of the moment or force.
        """
        assert isinstance(self.wavelet, wavelets.SampledWavelet)
        samples = self.wavelet.samples
        order = derivative - self.derivative
        t = times - self.delay
        if order == 0:
            return samples.value_transposed(t, by_signal)
        if order == 1:
            return samples.rate_transposed(t, by_signal)
        if order < 0:
            abscissae, weights, steps = _gauss_rule(self, t)
            # The last integrals are kept, each of them a sum over all steps before.
            kept = np.append(np.zeros(len(steps) + 1 - t.size), by_signal)[1:]
            by_integrals = np.cumsum(kept[::-1])[::-1] * steps / 2
            return samples.value_transposed(abscissae, by_integrals[:, None] * weights)
        step = (times[1] - times[0]) / 8
        by_samples = np.zeros(samples.time.size)
        for shift, factor in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
            by_rates = factor / (12 * step) * by_signal
            by_samples += samples.rate_transposed(t + shift * step, by_rates)
        return by_samples

    @property
    def apparent(self) -> tuple[wavelets.SourceWavelet, ...]:
        """Further wavelets, which stations in other directions see."""
        return ()

    @property
    def radiated(self) -> tuple[wavelets.SourceWavelet, ...]:
        """The wavelets that it has for stations in different directions."""
        return (self.wavelet, *self.apparent)

    def with_moments(self, earth: Earth, dimensions: int) -> tuple[PointSource, ManySources | None]:
        """Return it with the moment that it has in an earth, and many points that act for it."""
        return self, None

    def in_earth(self, earth: Earth, grid: Grid, extremes: Extremes) -> PointSource:
        """Return it with the rock that it comes from.

        Args:
            earth: the medium.
            grid: the grid.
            extremes: of the medium on the grid.
        """
        return self

    @property
    def scalar_moment(self) -> float | None:
        """Scalar moment in N m (in 2-D per metre) of a moment tensor or explosion, else None."""
        size = abs(float(self.wavelet.amplitude))
        if self.kind == "explosion":
            return size * abs(self.strength[""])
        if self.kind == "moment_tensor":
            return size * scalar_moment(tensor_from_grid(self.strength))
        return None

    @property
    def incoming(self) -> IncomingWave | None:
        """The plane wave of a source that acts at no position; None of others."""
        return None

    @property
    def is_local(self) -> bool:
        """Whether it acts at its position, and so errs by rock nearby."""
        return self.incoming is None

    @property
    def is_extended(self) -> bool:
        """Whether it stands for many points, whose rates are not its wavelet alone."""
        return False

    @property
    def silent_after(self) -> float:
        """Time in s after which nothing of it enters the grid."""
        return self.end

    def travel_times(self, positions: np.ndarray, axes: list[int], speed: float) -> np.ndarray:
        """Return when a wave of a speed in m/s comes straight to positions (n, 3) m, (n) in s."""
        away = (positions - np.array(self.position))[:, axes]
        return np.linalg.norm(away, axis=1) / speed

    @property
    def start(self) -> float:
        """Time in s before which it is negligible."""
        return wavelets.start_time(self.wavelet, self.base) + self.delay

    @property
    def centre(self) -> float | None:
        """Time in s of the centre of a symmetric wavelet, None of others."""
        shape = wavelets.shape_of(self.wavelet, self.base)
        return (self.start + self.end) / 2 if shape.start == -shape.end else None

    @property
    def end(self) -> float:
        """Time in s after which it is negligible."""
        return wavelets.end_time(self.wavelet, self.base) + self.delay


def _integral(source: PointSource, t: np.ndarray) -> np.ndarray:
    """Integrate the wavelet from before the first time, by 4-point Gauss rule in every step."""
    abscissae, weights, steps = _gauss_rule(source, t)
    integrals = wavelets.evaluate(source.wavelet, abscissae, source.base) @ weights
    return np.concatenate([[0.0], np.cumsum(integrals * steps / 2)])[-t.size :]


def _gauss_rule(source: PointSource, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return abscissae (step, 4) s of the steps to t from before the wavelet, weights, lengths."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    step = t[1] - t[0]
    steps = max(0, math.ceil((t[0] + source.delay - source.start) / step))
    earlier = t[0] + step * np.arange(-steps - 1, 0)
    edges = np.concatenate([earlier, t])
    centres = (edges[1:] + edges[:-1]) / 2
    return centres[:, None] + np.diff(edges)[:, None] / 2 * nodes, weights, np.diff(edges)


@dataclass(frozen=True)
class Shot:
    """A shot: its name and its sources.

    Attributes:
        name: for the results.
        points: sources that act at a point each; faults, before their moments are known.
        summaries: a point for each source of the scenario; summaries of faults do not act.
        faults: of many subfaults that act.
    """

    name: str
    points: tuple[Any, ...]
    summaries: tuple[PointSource, ...] = ()
    faults: tuple[ManySources, ...] = ()

    @cached_property
    def sources(self) -> tuple[PointSource, ...]:
        """All points, and subfaults that stand for all of their faults (`ManySources.samples`)."""
        return (*self.points, *chain.from_iterable(fault.samples for fault in self.faults))


@dataclass(frozen=True)
class Share:
    """One of several nearly equal shares of a survey's shots, counted from 1: "2/4"."""

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Share:
        """Read a share such as "2/4".

        Raises:
            ScenarioError: the text is not a share.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        number, of = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= of:
            prefix = f"{number} is more than {of}; " if number > of else ""
            raise ScenarioError(
                f"--shots {text}: {prefix}give a share such as 2/4, the second of four"
            )
        return Share(number, of)

    def __str__(self) -> str:
        """Format it as `read` expects it."""
        return f"{self.number}/{self.of}"

    def take(self, shots: list[Shot]) -> list[Shot]:
        """Return the shots of this share, in order.

        Raises:
            ScenarioError: there are fewer shots than shares.
        """
        if self.of > len(shots):
            raise ScenarioError(f"--shots {self}: the scenario has {len(shots)}; use fewer shares")
        start, stop = (len(shots) * n // self.of for n in (self.number - 1, self.number))
        return shots[start:stop]


def with_moments(shot: Shot, earth: Earth, dimensions: int) -> Shot:
    """Return a shot with the moments that its sources, such as finite faults, have in an earth.

    Raises:
        ScenarioError: slip makes no moment, as the model has no rigidity there.
    """
    points = list[PointSource]()
    summaries = list[PointSource]()
    faults = list[ManySources]()
    for source in shot.points:
        summary, fault = source.with_moments(earth, dimensions)
        if fault is None:
            points.append(summary)
        else:
            faults.append(fault)
        summaries.append(summary)
    return Shot(shot.name, tuple(points), tuple(summaries), tuple(faults))


def in_earth(shot: Shot, earth: Earth, grid: Grid, extremes: Extremes) -> Shot:
    """Return a shot whose sources know the rock that they come from (`PointSource.in_earth`)."""
    points, summaries = (
        tuple(source.in_earth(earth, grid, extremes) for source in sources)
        for sources in (shot.points, shot.summaries)
    )
    return replace(shot, points=points, summaries=summaries)


def evenly(shots: int, each: int, grids: int = 1) -> int:
    """Share shots out between batches of at most `each` on every grid, as evenly as can be."""
    # The fewest batches, and the smallest batch that makes no more of them.
    batches = math.ceil(shots / (max(1, each) * grids))
    return min(shots, math.ceil(shots / batches / grids) * grids)

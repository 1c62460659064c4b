"""Unknowns of an inversion, and the models that they make.

A parameter p is unknown as q(p): itself, its inverse or its logarithm. An array u of unknowns
changes the model r at the beginning of a band::

    q = q(r) + (q_max - q_min) m S (d u)

m mask (0 where nodes stay, 1 where they are free), d preconditioner, S smoothing. q is clipped to
its bounds, and tied parameters follow by y = a p^b at nodes that are free. The gradient by u is
d S m (q_max - q_min) dp/dq (g_p + g_y dy/dp): steps along it change the model by S d^2 S m. So S
is a Gaussian of the wanted length over sqrt(2): two of them are one of that length. As all this
belongs to the function that is minimised, its gradient is exact, and any optimiser may take it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.ndimage import gaussian_filter

ModelValues = dict[str, np.ndarray]
Smoothing = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Unknown:
    """A parameter that the inversion changes.

    Attributes:
        bounds: least and greatest value in SI.
        kind: what is unknown: "value", "slowness" or "log".
    """

    bounds: tuple[float, float]
    kind: str = "value"

    def of(self, parameter: np.ndarray) -> np.ndarray:
        """Return q of values of the parameter."""
        if self.kind == "slowness":
            return 1.0 / parameter
        return np.log(parameter) if self.kind == "log" else parameter

    def parameter(self, q: np.ndarray) -> np.ndarray:
        """Return the parameter of values of q, within the bounds."""
        parameter = q
        if self.kind == "slowness":
            parameter = 1.0 / q
        elif self.kind == "log":
            parameter = np.exp(q)
        return np.clip(parameter, *self.bounds)

    def derivative(self, parameter: np.ndarray) -> np.ndarray:
        """Return dp/dq."""
        if self.kind == "slowness":
            return -(parameter**2)
        return parameter if self.kind == "log" else np.ones_like(parameter)

    @property
    def limits(self) -> tuple[float, float]:
        """Least and greatest q."""
        ends = self.of(np.array(self.bounds))
        return float(ends.min()), float(ends.max())


@dataclass(frozen=True)
class Tie:
    """A parameter that follows from an unknown one: y = factor p^power.

    Attributes:
        source: name of that.
        power: of it.
        factor: in SI.
    """

    source: str
    power: float
    factor: float

    def of(self, parameter: np.ndarray) -> np.ndarray:
        """Return the values that follow from those of the source."""
        return self.factor * parameter**self.power

    def derivative(self, parameter: np.ndarray) -> np.ndarray:
        """Return dy/dp."""
        return self.factor * self.power * parameter ** (self.power - 1.0)


def gaussian(length: float | None, spacing: tuple[float, ...]) -> Smoothing:
    """Return the smoothing S: a Gaussian whose square has a standard deviation.

    Args:
        length: that standard deviation in m; None for no smoothing.
        spacing: of the nodes along the axes of the arrays, in m.
    """
    if length is None:
        return np.asarray
    deviations = [length / np.sqrt(2.0) / step for step in spacing]
    # Reflected half a node beyond its ends the filter is its own transpose.
    return partial(gaussian_filter, sigma=deviations, mode="reflect")


class Unknowns:
    """The map from arrays of unknowns to models, and its transpose.

    Attributes:
        names: of the unknown parameters.
        mask: (z, [y,] x) from 0, where nodes stay, to 1.
    """

    def __init__(
        self, unknowns: Mapping[str, Unknown], ties: Mapping[str, Tie], start: ModelValues,
        mask: np.ndarray, smoothing: Smoothing = np.asarray,
    ) -> None:  # fmt: skip
        """Take the first model, which fixes all that stays.

        Args:
            unknowns: by parameter.
            ties: by parameter that follows from an unknown.
            start: values (z, [y,] x) of all these.
            mask: (z, [y,] x), from 0 to 1.
            smoothing: the symmetric operator S.
        """
        self._unknowns = dict(unknowns)
        self._ties = dict(ties)
        self._start = start
        self._smoothing = smoothing
        self.names = tuple(unknowns)
        self.mask = mask
        self._free = mask > 0.0
        self._precondition = np.ones_like(mask)
        self._reference: ModelValues = {}
        self.begin(start)

    def begin(self, model: ModelValues, precondition: np.ndarray | None = None) -> None:
        """Begin a band: unknowns of 0 are this model.

        Args:
            model: values (z, [y,] x) by parameter.
            precondition: d (z, [y,] x), above 0; 1 when None.
        """
        self._reference = {name: self._unknowns[name].of(model[name]) for name in self.names}
        if precondition is not None:
            self._precondition = precondition

    def bounds(self, name: str) -> np.ndarray | None:
        """Return least and greatest unknowns (n, 2) at free nodes; None where S joins them."""
        if self._smoothing is not np.asarray:
            return None
        low, high = self._unknowns[name].limits
        reference = self._reference[name][self._free]
        scale = (self._factor(name) * self._precondition)[self._free]
        return np.stack([low - reference, high - reference], axis=1) / scale[:, None]

    def models(self, changes: ModelValues) -> ModelValues:
        """Return the values (z, [y,] x) of all parameters, unknown and tied, of unknowns."""
        models = {}
        for name, unknown in self._unknowns.items():
            changed = unknown.parameter(self._q(name, changes[name]))
            models[name] = np.where(self._free, changed, self._start[name])
        for name, tie in self._ties.items():
            models[name] = np.where(self._free, tie.of(models[tie.source]), self._start[name])
        return models

    def with_ties(self, by_parameters: ModelValues, models: ModelValues) -> ModelValues:
        """Return derivatives by unknown parameters, those by tied ones included.

        Args:
            by_parameters: derivatives (z, [y,] x) by all parameters.
            models: the model.
        """
        gradient = {name: np.array(by_parameters[name]) for name in self.names}
        for name, tie in self._ties.items():
            of_source = by_parameters[name] * tie.derivative(models[tie.source])
            gradient[tie.source] += np.where(self._free, of_source, 0.0)
        return gradient

    def transposed(
        self, gradient: ModelValues, changes: ModelValues, models: ModelValues
    ) -> ModelValues:
        """Return derivatives by unknowns (z, [y,] x) from those by unknown parameters.

        Args:
            gradient: as of `with_ties`.
            changes: the unknowns.
            models: the model that they make.
        """
        by_unknowns = {}
        for name, unknown in self._unknowns.items():
            low, high = unknown.limits
            q = self._q(name, changes[name])
            inside = (low <= q) & (q <= high)
            by_q = np.where(inside, gradient[name] * unknown.derivative(models[name]), 0.0)
            by_unknowns[name] = self._precondition * self._smoothing(self._factor(name) * by_q)
        return by_unknowns

    def _factor(self, name: str) -> np.ndarray:
        low, high = self._unknowns[name].limits
        return (high - low) * self.mask

    def _q(self, name: str, change: np.ndarray) -> np.ndarray:
        smooth = self._smoothing(self._precondition * change)
        return self._reference[name] + self._factor(name) * smooth

"""Inverse problems as functions of a flat vector, for `scipy.optimize.minimize`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Models = dict[str, np.ndarray]


class Problem:
    """The misfit as a function of the unknown values of all models, in units of their scales.

    ::

        problem = Problem(seismo.misfit(propagator, observed), start={"vp": vp}, bounds=bounds)
        result = scipy.optimize.minimize(
            problem.flat, problem.flat_start, jac=True, method="L-BFGS-B",
            bounds=problem.flat_bounds,
        )
        vp = problem.unflatten(result.x)["vp"]

    Attributes:
        start: model arrays by parameter; values that are not unknown stay as they are here.
        flat_start: unknowns of `start`, (unknown).
        flat_bounds: least and greatest value of each unknown, (unknown, 2).
        unit: of the values that `flat` returns; the misfit of its first call when None.
    """

    def __init__(
        self,
        objective: Callable[..., tuple[float, Mapping[str, np.ndarray]]],
        start: Mapping[str, Any],
        bounds: Mapping[str, tuple[float, float]] | None = None,
        scales: Mapping[str, float] | None = None,
        mask: Any = None,
        unit: float | None = None,
    ) -> None:
        """Lay out the unknowns.

        Args:
            objective: function of models that returns a value and its gradient by parameter, as
                `seismo.misfit` makes it.
            start: model arrays by parameter, in SI.
            bounds: least and greatest value by parameter, in SI; parameters left out have none.
            scales: change of a parameter, in SI, that is 1 in the flat vector; its range in the
                bounds where it is left out, without bounds its largest value at the start.
            mask: true where values are unknown: an array for all parameters, or by parameter those
                that are masked. All are unknown when None.
            unit: of the values of `flat`.

        Raises:
            ValueError: bounds, scales or masks belong to no parameter, or do not suit the start.
        """
        self.objective = objective
        self.start = {name: np.array(model, float) for name, model in start.items()}
        self._limits = dict.fromkeys(self.start, (-np.inf, np.inf))
        self._limits |= _known("bounds", bounds, self.start)
        self._masks = self._masks_of(mask)
        self._scales = {name: self._default_scale(name) for name in self.start}
        self._scales |= _known("scales", scales, self.start)
        for name, (least, greatest) in self._limits.items():
            if not np.all((least <= self.start[name]) & (self.start[name] <= greatest)):
                raise ValueError(f"start: {name} lies beyond its bounds {least:g} to {greatest:g}")
        self.unit = unit
        self.flat_start = self.flatten(self.start)
        self.flat_bounds = np.concatenate(
            [
                np.tile(np.array(self._limits[name]) / self._scales[name], (mask.sum(), 1))
                for name, mask in self._masks.items()
            ]
        )

    def flat(self, unknowns: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit of unknowns (unknown) and its gradient, over `unit`."""
        value, gradient = self.objective(**self.unflatten(unknowns))
        if self.unit is None:
            self.unit = float(value) if value > 0.0 else 1.0
        flat_gradient = self._joined(
            {name: np.asarray(gradient[name]) * self._scales[name] for name in self.start}
        )
        return float(value) / self.unit, flat_gradient / self.unit

    def flatten(self, models: Mapping[str, Any]) -> np.ndarray:
        """Return the unknowns (unknown) of model arrays by parameter."""
        return self._joined(
            {name: np.asarray(models[name]) / self._scales[name] for name in self.start}
        )

    def unflatten(self, unknowns: np.ndarray) -> Models:
        """Return the model arrays of unknowns (unknown), by parameter, within the bounds."""
        counts = [int(mask.sum()) for mask in self._masks.values()]
        models = {}
        pieces = np.split(np.asarray(unknowns, float), np.cumsum(counts)[:-1])
        for (name, mask), piece in zip(self._masks.items(), pieces, strict=True):
            models[name] = self.start[name].copy()
            # A product with the scale may be rounded to a value beyond a bound.
            models[name][mask] = np.clip(piece * self._scales[name], *self._limits[name])
        return models

    def _joined(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([arrays[name][mask] for name, mask in self._masks.items()])

    def _masks_of(self, mask: Any) -> dict[str, np.ndarray]:
        masks = mask if isinstance(mask, Mapping) else dict.fromkeys(self.start, mask)
        masks = _known("mask", masks, self.start)
        arrays = {}
        for name, model in self.start.items():
            unknown = masks.get(name)
            arrays[name] = np.asarray(True if unknown is None else unknown, bool)
            if arrays[name].shape not in ((), model.shape):
                raise ValueError(f"mask: {arrays[name].shape}; {name} is {model.shape}")
            arrays[name] = np.broadcast_to(arrays[name], model.shape)
        return arrays

    def _default_scale(self, name: str) -> float:
        least, greatest = self._limits[name]
        if np.isfinite(greatest - least):
            return greatest - least
        return float(np.abs(self.start[name]).max()) or 1.0


def _known(key: str, facts: Mapping[str, Any] | None, models: Models) -> dict[str, Any]:
    """Return facts by parameter, none of which belongs to another parameter than the models."""
    for name in facts or {}:
        if name not in models:
            raise ValueError(f"{key}: {name} is none of {', '.join(models)}")
    return dict(facts or {})

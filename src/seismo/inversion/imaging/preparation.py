"""Derivatives of a number by the model, made ready: waves, background, shots and traces, checked.

The number is a function of the traces of each shot. An image has that of a misfit, a kernel that
of a travel time; both are sums over shots of what `Propagator.pullback` returns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from seismo.errors import ScenarioError
from seismo.grid.grid import AXES, Grid
from seismo.inversion.imaging.settings import Background, GradientSettings
from seismo.inversion.survey.batches import ShotBatches
from seismo.inversion.survey.conditioning import energy_of, mask_of
from seismo.inversion.survey.preparation import PreparedTask, SurveyMachine, digest_of
from seismo.inversion.survey.traces import Sections, ShotPropagator
from seismo.model.node_values import ModelRange, arrays_of, nodes_along
from seismo.solver.discretize import discretize

ENERGY = "energy"
_SPEEDS = ("vp", "vs")
_ROCK = ("vp", "vs", "rho")  # what images and kernels are by
_APART = 1e-6  # relative distance of the bounds of a uniform parameter
TraceDerivative = Callable[[Sections, Sequence[int]], tuple[float, Sections]]
DerivativeArrays = dict[str, np.ndarray]


class PreparedGradient(PreparedTask):
    """A sum over shots of derivatives by the model, ready to run.

    Attributes:
        models: values (z, [y,] x) of the background by parameter.
        mask: (z, [y,] x) from 0, where there is no image, to 1.
        shots: numbers of those that are added.
    """

    settings: GradientSettings

    def __init__(
        self, settings: GradientSettings, make: Callable[..., ShotPropagator],
        machine: SurveyMachine,
    ) -> None:  # fmt: skip
        """Check the waves, the background and the shots.

        Args:
            settings: of the task.
            make: `seismo.Propagator`, which is called with a scenario, parameters and bounds.
            machine: where it runs.

        Raises:
            ScenarioError: the task cannot be run as written.
        """
        self.settings = settings
        self.machine = machine
        self.scenario = settings.background_scenario()
        run = discretize(self.scenario)
        of_nodes = arrays_of(ModelRange({}).on_nodes(run.earth, run.grid))
        # Anisotropy is that of the scenario.
        model = {name: of_nodes[name] for name in _ROCK if name in run.physics.needs}
        self.models = background_of(settings.background, run.grid, model)
        self.mask = np.array(mask_of(settings.mask, run, self.models))
        if not self.mask.any():
            raise settings.mistake("mask", problem="leaves no node free; shorten distances")
        self.propagator = make(
            self.scenario, tuple(self.models), {n: _bounds(a) for n, a in self.models.items()},
            snapshots=settings.snapshots, **machine.options,
        )  # fmt: skip
        self.shots = self._chosen_shots()
        _ = self.propagator.plan  # refuses what has no derivative

    @property
    @abstractmethod
    def observed(self) -> Sections:
        """Traces (shot, receiver, sample) that the number is a function of, NaN elsewhere."""

    @property
    @abstractmethod
    def comparison(self) -> TraceDerivative:
        """The number as a function of the traces of shots, and its derivative by them."""

    @property
    def needs_energy(self) -> bool:
        """Whether the energy of the waves is added, too."""
        return False

    @abstractmethod
    def write(self, path: Path, totals: DerivativeArrays) -> None:
        """Write the results of sums over all shots: derivatives by parameter, and energy."""

    def shot_sum(self) -> DerivativeBatches:
        """Return the batches of shots, on all ranks."""
        return DerivativeBatches(self)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the numbers depend on, by words for messages."""
        background = {"background": dict(self.models)}
        return self.facts_with(observed=digest_of(self.observed), background=digest_of(background))

    @property
    def geometry(self) -> dict[str, np.ndarray]:
        """Positions (n, 3) m of the chosen sources, and of all receivers."""
        shots = self.propagator.discretization.shots
        sources = [point.position for number in self.shots for point in shots[number].points]
        return super().geometry | {"source": np.array(sources)}

    def _chosen_shots(self) -> list[int]:
        known = [shot.name for shot in self.propagator.discretization.shots]
        chosen = self.settings.shots
        for name in chosen.names or ():
            if name not in known:
                problem = f"{name} is no shot of the scenario; use {listed(known)}"
                raise self.settings.mistake("shots", "names", problem=problem)
        names = known if chosen.names is None else chosen.names
        return [known.index(name) for name in names][:: chosen.every]


class DerivativeBatches(ShotBatches):
    """Derivatives of batches of shots by the model."""

    def __init__(self, prepared: PreparedGradient) -> None:
        """Take what is prepared."""
        super().__init__(prepared.propagator, prepared.machine.ranks)
        self._prepared = prepared
        self._compare = prepared.comparison

    def of_batch(self, task: Any, shots: Sequence[int]) -> DerivativeArrays:
        """Return derivatives (z, [y,] x) by parameter, and energy, of selected shots."""
        prepared = self._prepared
        predicted: Sections = self._propagator(keep=True, **prepared.models)
        _, by_traces = self._compare(predicted, shots)
        arrays = self._propagator.pullback(by_traces)
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise ScenarioError(
                    f"the derivative by {name} is not finite; check observed traces"
                )
        if prepared.needs_energy:
            arrays[ENERGY] = energy_of(self._propagator, prepared.models)
        return arrays


def _bounds(array: np.ndarray) -> tuple[float, float]:
    """Return bounds that hold all values of a background."""
    low = float(array.min())
    return low, max(float(array.max()), low * (1.0 + _APART))


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names in a line."""
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)


def background_of(
    settings: Background, grid: Grid, model: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the background (z, [y,] x) by parameter.

    Slowness is smoothed, so that travel times stay, and other parameters as they are. Nodes above
    a depth stay, and have no part in others.

    Args:
        settings: how it is smoothed.
        grid: of the run.
        model: values (z, [y,] x) by parameter.
    """
    if settings.smooth is None:
        return model
    axes = [axis for axis in "zyx" if axis in grid.axes]
    deviations = [settings.smooth / grid.spacing[AXES.index(axis)] for axis in axes]
    above = -np.inf if settings.above is None else settings.above
    is_free = (nodes_along(grid, "z") >= above).reshape(-1, *(1,) * (len(axes) - 1))

    def smoothed(array: np.ndarray) -> np.ndarray:
        """Return an array whose free values are averages of free ones."""
        free = np.broadcast_to(is_free, array.shape)
        weights, total = (
            gaussian_filter(values_of, deviations, mode="nearest")
            for values_of in (free.astype(float), np.where(free, array, 0.0))
        )
        return np.where(free, total / np.where(free, weights, 1.0), array)

    return {
        name: 1.0 / smoothed(1.0 / array) if name in _SPEEDS and array.all() else smoothed(array)
        for name, array in model.items()
    }

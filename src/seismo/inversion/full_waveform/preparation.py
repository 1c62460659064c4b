"""Preparation of an inversion: waves, first model, unknowns and observed traces, all checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from seismo.grid.grid import AXES
from seismo.inversion.full_waveform.objective import ShotSum
from seismo.inversion.full_waveform.settings import DepthPower, Inversion
from seismo.inversion.full_waveform.unknowns import Tie, Unknown, Unknowns, gaussian
from seismo.inversion.misfits import comparison
from seismo.inversion.survey.conditioning import depth_weights, mask_of
from seismo.inversion.survey.observed import ObservedTraces, read_observed
from seismo.inversion.survey.plan import (
    PlanLines,
    gradient_text,
    lines_of_waves,
    nodes_text,
    shots_text,
    traces_text,
)
from seismo.inversion.survey.preparation import PreparedTask, SurveyMachine, digest_of
from seismo.inversion.survey.traces import BandComparison, ShotPropagator
from seismo.model.node_values import ModelRange, arrays_of
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize


class PreparedInversion(PreparedTask):
    """An inversion that is ready to run.

    Attributes:
        settings: of the inversion.
        machine: where it runs.
        scenario: with the first model as its own.
        start: values (z, [y,] x) of the first model, by unknown and tied parameter.
        mask: (z, [y,] x) from 0, where nodes stay, to 1.
        propagator: computes the waves.
        observed: traces, and remarks on them.
    """

    noun = "inversion"
    settings: Inversion

    def __init__(
        self, inversion: Inversion, make: Callable[..., ShotPropagator], machine: SurveyMachine
    ) -> None:
        """Check all that can be checked before the first step.

        Args:
            inversion: the settings.
            make: `seismo.Propagator`, which is called with a scenario, parameters and bounds.
            machine: where it runs.

        Raises:
            ScenarioError: the inversion cannot be run as written.
        """
        self.settings = inversion
        self.machine = machine
        self.scenario = inversion.first_scenario()
        self._unknowns = {
            name: Unknown(section.bounds, section.unknown)
            for name, section in inversion.parameters.by_name.items()
        }
        self._ties = {name: Tie(*tie) for name, tie in inversion.ties.by_name.items()}
        self._refuse_unknown_names()
        run = discretize(self.scenario)
        names = (*self._unknowns, *self._ties)
        sampled = arrays_of(ModelRange({}).on_nodes(run.earth, run.grid))
        self.start = {name: sampled[name] for name in names}
        self.mask = np.array(mask_of(inversion.mask, run, sampled))
        self._refuse_start()
        self.propagator = make(
            self.scenario, names, {name: self._range(name) for name in names},
            snapshots=inversion.snapshots, **machine.options,
        )  # fmt: skip
        self.observed: ObservedTraces = read_observed(
            inversion, inversion.observed, self.propagator.discretization
        )
        shots = len(self.propagator.discretization.shots)
        if inversion.shots is not None and inversion.shots.each > shots:
            problem = f"exceeds the {shots} shots of the scenario; give at most as many"
            raise inversion.mistake("shots", "each", problem=problem)
        _ = self.propagator.plan  # refuses what has no derivative

    def plan_lines(self) -> PlanLines:
        """Return facts of the inversion, a name and a text each."""
        inversion = self.settings
        propagator = self.propagator
        free = int((self.mask > 0.0).sum())
        names = ", ".join(inversion.parameters.by_name)
        every_shot = len(propagator.discretization.shots)
        shots = every_shot if inversion.shots is None else inversion.shots.each
        bands = len(inversion.bands)
        return [
            ("unknown", f"{names} at {free:,} of {nodes_text(propagator)}"),
            ("compared", f"{traces_text(self.observed.sections)} by {inversion.misfit.kind}"),
            ("shots", f"for a gradient {shots_text(propagator, shots)}"),
            *lines_of_waves(propagator),
            ("gradient", gradient_text(propagator, shots)),
            ("iterations", f"at most {inversion.optimiser.iterations} of "
             f"{inversion.optimiser.method} in each of {bands} band{'s' * (bands > 1)}"),
            *(("note", remark) for remark in self.observed.remarks),
        ]  # fmt: skip

    def unknowns(self) -> Unknowns:
        """Return the map from unknowns to models, at the first model."""
        grid = self.propagator.discretization.grid
        spacing = tuple(grid.spacing[AXES.index(a)] for a in "zyx" if a in grid.axes)
        smoothing = gaussian(self.settings.smooth, spacing)
        unknowns = Unknowns(self._unknowns, self._ties, self.start, self.mask, smoothing)
        settings = self.settings.precondition
        if isinstance(settings, DepthPower):
            # Tied parameters follow from the beginning.
            unknowns.begin(self.start, depth_weights(settings.power, grid))
        return unknowns

    def shot_sum(self) -> ShotSum:
        """Return the sum over the batches of shots, on all ranks."""
        misfit = self.settings.misfit
        compare = partial(
            BandComparison, self.propagator.discretization, self.observed.sections, misfit,
            comparison(misfit.kind, **misfit.options),
        )  # fmt: skip
        return ShotSum(self.propagator, compare, self.machine.ranks)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the numbers depend on, by words for messages."""
        return self.facts_with(observed=digest_of(self.observed.sections))

    def _range(self, name: str) -> tuple[float, float]:
        """Return the least and greatest value that a parameter may have, fixed nodes included."""
        if name in self._unknowns:
            ends = list(self._unknowns[name].bounds)
        else:
            tie = self._ties[name]
            ends = [float(tie.of(np.array(end))) for end in self._unknowns[tie.source].bounds]
        fixed = self.start[name][self.mask == 0.0]
        ends += _ends(fixed)
        return min(ends), max(ends)

    def _refuse_unknown_names(self) -> None:
        """Refuse parameters that are none of the scenario's equation."""
        equation = self.scenario.equation
        known = {parameter.name for parameter in equation.parameters}
        for section, names in (("parameters", self._unknowns), ("ties", self._ties)):
            for name in names:
                if name not in known:
                    problem = f"is no parameter of {equation.name}; use {', '.join(sorted(known))}"
                    raise self.settings.mistake(section, name, problem=problem)

    def _refuse_start(self) -> None:
        """Refuse a first model beyond the bounds at nodes that are free."""
        free = self.mask > 0.0
        if not free.any():
            raise self.settings.mistake("mask", problem="leaves no node free; shorten distances")
        for name, unknown in self._unknowns.items():
            low, high = unknown.bounds
            model = self.start[name][free]
            if model.min() < low or model.max() > high:
                problem = (
                    f"the first model has {model.min():.6g} to {model.max():.6g}; widen the "
                    "bounds, or let `mask` hold those nodes"
                )
                raise self.settings.mistake("parameters", name, "bounds", problem=problem)


def _ends(model: np.ndarray) -> list[float]:
    return [float(model.min()), float(model.max())] if model.size else []


def gradient_runs(prepared: PreparedInversion) -> int:
    """Return the batches of shots of an evaluation."""
    discretization: Discretization = prepared.propagator.discretization
    shots = len(discretization.shots)
    if prepared.settings.shots is not None:
        shots = prepared.settings.shots.each
    return -(-shots // discretization.batch)

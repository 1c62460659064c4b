"""Convergence of a scenario's traces: its run beside another at a finer setting.

Where the grid is left to the program, the finer one is chosen in the same way for a quarter of the
accuracy. A typed grid has half the spacing, absorbing layers with points for a quarter of the
accuracy (at least as thick as its own), and differences that suit it. Where that needs too much
memory, a setting between both is taken.

The measured error of a receiver is the relative L2 norm (`seismo.exact.metrics`) of the difference
of both runs, all components of a quantity together, as `seismo.runs.prediction.accuracy` expects
it; of a set that of the worst receiver. What both runs err by alike it does not contain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import InsufficientMemoryError, ScenarioError
from seismo.exact.metrics import relative_l2_of_receivers, resampled
from seismo.features import acting
from seismo.output.results import Results
from seismo.runs.check import load_placed
from seismo.runs.check.planned_run import PlannedRun
from seismo.runs.prediction.resolution import of_spacing
from seismo.scenario import Scenario, ScenarioInput
from seismo.scenario.quantities import AUTO
from seismo.scenario.scenario_facts import with_chosen_values
from seismo.solver.discretization import Discretization

FINER = ((4.0, 0.5), (2.0, 0.7))  # accuracy over that of the finer run, and factor of its spacing
Planner = Callable[[Scenario], PlannedRun]
_ALIKE = 0.7  # share of an error that remains at the finer setting: both runs err alike


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of a scenario that are compared.

    Attributes:
        scenario: as it is.
        finer: at the finer setting.
        coarse: plan of the scenario.
        fine: plan at the finer setting.
    """

    scenario: Scenario
    finer: Scenario
    coarse: PlannedRun
    fine: PlannedRun

    @property
    def wanted(self) -> float:
        """Relative error that the scenario accepts."""
        return self.scenario.grid.accuracy

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        runs = {"run": self.coarse, "finer_run": self.fine}
        return {
            "wanted": self.wanted,
            **{name: plan.as_dict() for name, plan in runs.items()},
            "shared": [{"cause": name, "error": error} for name, error in self.shared],
        }

    @property
    def shared(self) -> list[tuple[str, float]]:
        """Causes, and errors, that both runs have alike: the comparison does not show them."""
        remaining = dict(self.fine.expected.causes)
        return [
            (name, error)
            for name, error in self.coarse.expected.causes
            if min(error, remaining.get(name, 0.0)) > max(_ALIKE * error, 0.1 * self.wanted)
        ]


@dataclass(frozen=True)
class SetError:
    """The errors of a set of receivers.

    Attributes:
        name: of the set.
        expected: relative L2 error of the worst trace, as `check` has it.
        measured: the same, against the finer run.
        receiver: code, or number, of the worst receiver.
        quantity: that it records.
    """

    name: str
    expected: float
    measured: float
    receiver: str
    quantity: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def plan_comparison(
    source: ScenarioInput, plan: Planner, accuracy: str | None = None
) -> ComparedRuns:
    """Plan the run of a scenario and a finer one that its machine can hold.

    Args:
        source: the scenario.
        plan: function(scenario) -> run planned on its devices.
        accuracy: wanted error in place of its own.

    Raises:
        ScenarioError: it has no receivers or stands for several runs, or cannot be run.
        InsufficientMemoryError: the machine holds no finer run.
    """
    scenario = load_placed(source, accuracy)
    if not scenario.receivers:
        raise scenario.mistake(
            "receivers", problem="there are none, and traces are compared; add a set of receivers"
        )
    if any(acting("runs", scenario)):
        raise ScenarioError(
            "several runs follow from this scenario; verify one of them: leave the ensemble out"
        )
    coarse = plan(scenario)
    refusal = ""
    for times, factor in FINER:
        finer = _finer(source, coarse.discretization, times, factor)
        try:
            fine = plan(finer)
        except InsufficientMemoryError as error:
            refusal = str(error)
            continue
        if fine.exit_code != InsufficientMemoryError.exit_code:
            return ComparedRuns(scenario, finer, coarse, fine)
        refusal = fine.refusals[0]
    raise InsufficientMemoryError(
        f"no finer run fits: {refusal}; verify a smaller grid.extent, or a larger --accuracy"
    )


def _finer(
    source: ScenarioInput, discretization: Discretization, times: float, factor: float
) -> Scenario:
    """Return a scenario at a finer setting, without snapshots and maps."""
    scenario = discretization.scenario
    accuracy = scenario.grid.accuracy / times
    traces_alone: dict[str, Any] = {
        f"output.{name}": [] for name, series in scenario.output if isinstance(series, tuple)
    }
    if "grid.spacing" in scenario.chosen:
        return load_placed(source, accuracy).changed(traces_alone)
    layer = scenario.boundaries.layer
    finer = of_spacing(discretization, factor).changed(
        {"grid.accuracy": accuracy, "boundaries.layer.points": AUTO, **traces_alone}
    )
    finer = with_chosen_values(finer)
    thick = round(layer.points / factor)
    if finer.boundaries.layer.points >= thick:
        return finer
    return finer.changed({"boundaries.layer.points": thick})


def measured_errors(comparison: ComparedRuns, coarse: Results, fine: Results) -> Iterator[SetError]:
    """Yield the errors of the sets of receivers, from the results of both runs."""
    expected = comparison.coarse.expected
    of_sets = dict(expected.sets)
    run = comparison.coarse.discretization
    for group in run.groups:
        quantities: dict[str, list[str]] = {}
        for component, (quantity, *_) in group.components(run.physics).items():
            quantities.setdefault(quantity, []).append(component)
        errors = {
            (quantity, number): error
            for quantity, components in quantities.items()
            for number, error in enumerate(_of_receivers(coarse, fine, group.name, components))
        }
        (quantity, number), worst = max(errors.items(), key=lambda item: item[1])
        codes = coarse.traces[group.name].codes
        receiver = codes[number] or str(number)
        yield SetError(
            group.name, of_sets.get(group.name, expected.error), float(worst), receiver, quantity
        )


def _of_receivers(coarse: Results, fine: Results, name: str, components: list[str]) -> np.ndarray:
    """Return the largest error (receiver) over the shots, of some components together."""
    traces, times = _traces(coarse, name, components)
    reference, finer_times = _traces(fine, name, components)
    inside = times <= finer_times[-1]
    on_times = resampled(reference, finer_times, times[inside])
    errors = relative_l2_of_receivers(traces[..., inside], on_times)
    return errors.max(axis=0)


def _traces(results: Results, name: str, components: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return traces (shot, receiver, component, time), 0 where none is recorded, and times in s."""
    group = results.traces[name]
    traces = np.stack([group.values_of(component) for component in components], axis=2)
    return np.nan_to_num(traces), group.time


def finer_path(path: Path) -> Path:
    """Return where the results of the finer run go, beside those of the run."""
    return path.with_name(f"{path.stem}-finer{path.suffix}")

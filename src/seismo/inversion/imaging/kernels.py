"""Sensitivity kernels: the change of a measurement by relative changes of the model.

A kernel K(x) of a measurement m by a parameter p is its derivative by ln p in a unit of volume::

    dm = sum over nodes of K dln(p) dV

Measurements are of traces y behind filter and window, and of perturbed ones y + dy::

    traveltime   the shift of the largest correlation of both: dT = -sum(dy/dt dy) / sum((dy/dt)^2)
    amplitude    the relative change of size: dlnA = sum(y dy) / sum(y^2)
    waveform     half the sum of squared differences to observed traces

Those of several receivers and shots are added. A travel time grows where waves become slower: its
kernel by speed is negative inside the first Fresnel zone, and in 3-D vanishes on the ray.

Literature: Dahlen, Hung & Nolet (2000, Geophys. J. Int. 141, 157-174); Tromp, Tape & Liu (2005,
Geophys. J. Int. 160, 195-216, eqs. 45 and 67).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup, unit_of
from seismo.errors import ScenarioError
from seismo.inversion.imaging.preparation import (
    DerivativeArrays,
    PreparedGradient,
    TraceDerivative,
    listed,
)
from seismo.inversion.imaging.results import NodeArray, squared, write_arrays
from seismo.inversion.imaging.settings import Kernel
from seismo.inversion.misfits import SectionMisfit, TraceMisfit, comparison, sum_of_sections
from seismo.inversion.survey.observed import read_observed
from seismo.inversion.survey.plan import (
    PlanLines,
    gradient_text,
    lines_of_waves,
    nodes_text,
    shots_text,
)
from seismo.inversion.survey.preparation import SurveyMachine
from seismo.inversion.survey.traces import (
    BandComparison,
    Sections,
    ShotPropagator,
    interval_of,
    sample_times,
)

_LEAST = 1e-5  # of the largest sample of a trace: less is no wave


def traveltime(
    predicted: np.ndarray, observed: np.ndarray, interval: float
) -> tuple[float, np.ndarray]:
    """Return 0, the delay of traces behind themselves, and its derivative by them.

    Args:
        predicted: (trace, sample).
        observed: of the same shape; not used.
        interval: between samples in s.
    """
    count = predicted.shape[1]
    frequencies = np.fft.rfftfreq(2 * count, interval)
    spectrum = 2j * np.pi * frequencies * np.fft.rfft(predicted, 2 * count)
    rate = np.fft.irfft(spectrum, 2 * count)
    # Where a record ends within waves, a part of the rate lies behind its end.
    return 0.0, -_over_squares(rate)[:, :count]


def amplitude(predicted: np.ndarray, observed: np.ndarray) -> tuple[float, np.ndarray]:
    """Return 0, the logarithm of the size of traces over their own, and its derivative by them."""
    return 0.0, _over_squares(predicted)


def _over_squares(traces: np.ndarray) -> np.ndarray:
    """Return traces (trace, sample) over the sums of their squares; zero where these are."""
    squares = (traces**2).sum(axis=1, keepdims=True)
    return np.divide(traces, squares, out=np.zeros_like(traces), where=squares > 0.0)


class PreparedKernel(PreparedGradient):
    """Sensitivity kernels that are ready to be computed.

    Attributes:
        group: set of receivers.
        component: of their traces.
        rows: numbers of the receivers that are added.
        parameters: that kernels are by.
    """

    noun = "kernel"
    settings: Kernel

    def __init__(
        self, settings: Kernel, make: Callable[..., ShotPropagator], machine: SurveyMachine
    ) -> None:
        """Check all that can be checked before the first step, as `PreparedGradient` does."""
        super().__init__(settings, make, machine)
        self.group = self._chosen_group()
        self.component = self._chosen_component()
        self.rows = self._chosen_rows()
        self.parameters = self._chosen_parameters()
        self.remarks: list[str] = []
        _ = self.observed

    def plan_lines(self) -> PlanLines:
        """Return facts of the kernels, a name and a text each."""
        propagator = self.propagator
        shots = len(self.shots)
        receivers = len(self.rows)
        return [
            ("kernels", f"by {', '.join(self.parameters)} at {nodes_text(propagator)}"),
            ("of", f"{self.settings.kind} of {self.group.name}.{self.component}, "
             f"{receivers} receiver{'s' * (receivers > 1)}"),
            ("shots", shots_text(propagator, shots)),
            *lines_of_waves(propagator),
            ("time", gradient_text(propagator, shots)),
            *(("note", remark) for remark in self.remarks),
        ]  # fmt: skip

    @cached_property
    def observed(self) -> Sections:
        """Observed traces of the chosen receivers, or zeros there; NaN elsewhere."""
        run = self.propagator.discretization
        name = self.group.name
        shape = (len(run.shots), len(self.group), sample_times(run, self.group).size)
        traces = np.full(shape, np.nan)
        if self.settings.observed is None:
            traces[:, self.rows] = 0.0
            return {name: {self.component: traces}}
        observed = read_observed(self.settings, self.settings.observed, run, self.shots)
        self.remarks += observed.remarks
        section = observed.sections.get(name, {}).get(self.component)
        if section is None:
            problem = f"the files have no {name}.{self.component}; name a component that they have"
            raise self.settings.mistake("observed", problem=problem)
        traces[:, self.rows] = section[:, self.rows]
        return {name: {self.component: traces}}

    @cached_property
    def comparison(self) -> TraceDerivative:
        """The measurement of traces of shots, and its derivative by them."""
        band = BandComparison(
            self.propagator.discretization, self.observed, self.settings.window,
            self._measurement, self.settings.low_pass,
        )  # fmt: skip

        def measure(predicted: Sections, shots: Sequence[int]) -> tuple[float, Sections]:
            """Measure traces in whose window there are waves."""
            windowed = band.windowed(predicted, shots)
            self._refuse_silence(predicted, windowed, shots)
            return band(predicted, shots)

        return measure

    def write(self, path: Path, totals: DerivativeArrays) -> None:
        """Write kernels, in the unit of the measurement in a unit of volume."""
        grid = self.propagator.discretization.grid
        volume = float(np.prod([grid.spacing["xyz".index(axis)] for axis in grid.axes]))
        unit = f"{self._unit}/m^{len(grid.axes)}"
        arrays = {
            name: NodeArray(self.mask * self.models[name] * totals[name] / volume, unit)
            for name in self.parameters
        }
        write_arrays(path, self, arrays)

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the results."""
        codes = ", ".join(self.group.codes[row] for row in self.rows)
        return super().attributes | {
            "kind": self.settings.kind, "component": f"{self.group.name}.{self.component}",
            "receivers": codes,
        }  # fmt: skip

    @property
    def geometry(self) -> dict[str, np.ndarray]:
        """Positions (n, 3) m of the chosen sources and receivers."""
        shots = self.propagator.discretization.shots
        names = [shots[number].name for number in self.shots]
        receivers = np.concatenate([self.group.at(name)[self.rows] for name in names])
        return super().geometry | {"receiver": np.unique(receivers, axis=0)}

    @property
    def _measurement(self) -> TraceMisfit:
        """The measurement of windowed traces."""
        if self.settings.kind == "waveform":
            return comparison("l2")
        measure: SectionMisfit = amplitude
        if self.settings.kind == "traveltime":
            interval = interval_of(self.propagator.discretization, self.group)
            measure = partial(traveltime, interval=interval)
        return partial(sum_of_sections, measure)

    @property
    def _unit(self) -> str:
        """The unit of the measurement."""
        if self.settings.kind != "waveform":
            return "s" if self.settings.kind == "traveltime" else "1"
        physics = self.propagator.discretization.physics
        return squared(unit_of(self.group.components(physics)[self.component][0], physics))

    def _refuse_silence(
        self, predicted: Sections, windowed: Sections, shots: Sequence[int]
    ) -> None:
        """Refuse traces without waves in their window, whose measurement is that of rounding."""
        name = self.group.name
        largest = np.abs(np.nan_to_num(predicted[name][self.component])).max(axis=-1)
        inside = np.abs(windowed[name][self.component]).max(axis=-1)
        known = self.propagator.discretization.shots
        for n, shot in enumerate(shots):
            for row in self.rows:
                if inside[n, row] <= _LEAST * largest[n, row]:
                    raise self._mistake(
                        f"no waves of {known[shot].name} reach {self.group.codes[row]} in it; "
                        "let it begin sooner or end later, or leave the receiver out of `codes`",
                        "window",
                    )

    def _chosen_group(self) -> ReceiverGroup:
        groups = {group.name: group for group in self.propagator.discretization.groups}
        wanted = self.settings.receivers
        if wanted is None and len(groups) == 1:
            return next(iter(groups.values()))
        if wanted not in groups:
            problem = f"must be a set of the scenario: {', '.join(groups)}"
            raise self._mistake(problem, "receivers")
        return groups[wanted]

    def _chosen_component(self) -> str:
        known = list(self.group.components(self.propagator.discretization.physics))
        wanted = self.settings.component or (known[0] if len(known) == 1 else None)
        if wanted not in known:
            problem = f"must be one that {self.group.name} records: {', '.join(known)}"
            raise self._mistake(problem, "component")
        return wanted

    def _chosen_rows(self) -> list[int]:
        known = list(self.group.codes)
        for code in self.settings.codes or ():
            if code not in known:
                problem = f"{code} is no receiver of {self.group.name}; use {listed(known)}"
                raise self._mistake(problem, "codes")
        return [known.index(code) for code in self.settings.codes or known]

    def _chosen_parameters(self) -> list[str]:
        for number, name in enumerate(self.settings.parameters or ()):
            if name not in self.models:
                problem = (
                    f"is no parameter of {self.scenario.equation.name}; use "
                    f"{', '.join(self.models)}"
                )
                raise self._mistake(problem, "parameters", number)
        return list(self.settings.parameters or self.models)

    def _mistake(self, problem: str, *key: str | int) -> ScenarioError:
        return self.settings.mistake(*key, problem=problem)

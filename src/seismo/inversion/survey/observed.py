"""Observed traces of a scenario's shots and receivers, from results of seismo or SEG-Y.

Results are matched by the names of shots and the codes of receivers, whose positions have to
agree; SEG-Y by positions alone. Receivers that a file lacks are NaN; a shot that it lacks is
refused. Other sampling is interpolated by splines of fifth degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.fft import irfft, rfft, rfftfreq
from scipy.interpolate import make_interp_spline

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.errors import ScenarioError
from seismo.formats.segy.gathers import TraceTable, read_traces
from seismo.inversion.survey.settings import ObservedFile, SurveySettings
from seismo.inversion.survey.traces import (
    Sections,
    interval_of,
    sample_times,
)
from seismo.output.results import Results, open_results
from seismo.output.store.array_sets import TraceSet
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

_HDF5 = b"\x89HDF"
_TOLERANCE = 0.5  # of the spacing, by which positions of a file and of the scenario may differ
_SAME_TIME = 1e-6  # of an interval
_DEGREE = 5  # of splines
_PASSED = 0.8  # of the Nyquist frequency


@dataclass
class ObservedTraces:
    """Observed traces, and remarks on them.

    Attributes:
        sections: (shot, receiver, sample) of all shots of the scenario, by set and component.
        remarks: in words.
    """

    sections: Sections = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def read_observed(
    settings: SurveySettings, files: Sequence[ObservedFile], discretization: Discretization,
    shots: Sequence[int] | None = None,
) -> ObservedTraces:  # fmt: skip
    """Read all observed traces.

    Args:
        settings: where relative paths begin, and mistakes are.
        files: its entries.
        discretization: the run.
        shots: numbers of those that are compared; others need not be there and are NaN. All when
            None.

    Raises:
        ScenarioError: a file cannot be read, or does not fit the scenario.
    """
    observed = ObservedTraces()
    for number, entry in enumerate(files):
        path = settings.base / entry.path
        reader = _Reader(settings, entry, discretization, number, path, observed, shots)
        if not path.is_file():
            raise reader.mistake("there is no such file", "path")
        with path.open("rb") as file:
            is_hdf5 = file.read(len(_HDF5)) == _HDF5
        if is_hdf5:
            with open_results(path) as results:
                reader.add_results(results)
        else:
            reader.add_segy(read_traces(path))
    return observed


class _Reader:
    """A file of observed traces on its way to the shots and receivers of a scenario."""

    def __init__(
        self, settings: SurveySettings, entry: ObservedFile, discretization: Discretization,
        number: int, path: Path, observed: ObservedTraces, shots: Sequence[int] | None,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._entry = entry
        self._discretization = discretization
        self._number = number
        self._path = path
        self._observed = observed
        known = discretization.shots
        self._shots = {n: known[n] for n in (range(len(known)) if shots is None else shots)}
        grid = discretization.grid
        self._axes = ["xyz".index(axis) for axis in grid.axes]
        self._tolerance = _TOLERANCE * min(grid.spacing[a] for a in self._axes)

    def mistake(self, problem: str, key: str) -> ScenarioError:
        """Return the error of a problem at a key of the file's entry."""
        text = f"{self._path}: {problem}"
        return self._settings.mistake("observed", self._number, key, problem=text)

    def add_results(self, results: Results) -> None:
        """Add traces of a results file."""
        for group in self._groups(list(results.traces)):
            traces = results.traces[group.name]
            known = group.components(self._discretization.physics)
            components = [c for c in known if c in traces]
            if self._entry.component is not None:
                components = [c for c in components if c == self._entry.component]
            if not components:
                raise self.mistake(
                    f"{group.name}: has {', '.join(traces)}, and the scenario records "
                    f"{', '.join(known)}; let it record the same, or name another set",
                    "component",
                )
            self._refuse_other_sources(results, traces)
            sections = self._empty(len(traces.time), group, len(components))
            for number, shot in self._shots.items():
                sections[:, number] = self._of_shot(traces, group, shot, components)
            for component, section in zip(components, sections, strict=True):
                self._add(group, component, section, traces.time)

    def _of_shot(
        self, traces: TraceSet, group: ReceiverGroup, shot: Shot, components: Sequence[str]
    ) -> np.ndarray:
        """Return traces (component, receiver, sample) of a shot, NaN where there are none."""
        index = traces.shots.index(shot.name)
        rows = {code: row for row, code in enumerate(traces.codes)}
        chosen = np.array([rows.get(code, -1) for code in group.codes])
        there = chosen >= 0
        if not there.any():
            raise self.mistake(
                f"{group.name}: has none of the scenario's receivers {', '.join(group.codes[:3])} "
                f"..., but {', '.join(traces.codes[:3])} ...; use the same codes",
                "receivers",
            )
        position = np.zeros((len(traces.codes), 3))
        for n, axis in enumerate("xyz"):
            column = traces.coordinate(axis, index) if axis in traces.columns else None
            position[:, n] = 0.0 if column is None else column
        away = self._distance(group.at(shot.name)[there], position[chosen[there]])
        if away.max() > self._tolerance:
            code = np.array(group.codes)[there][int(away.argmax())]
            raise self.mistake(
                f"{group.name}: {code} lies {away.max():.4g} m from the scenario's; more than "
                "half a cell: check positions, or the unit of lengths",
                "receivers",
            )
        section = np.full((len(components), len(group), len(traces.time)), np.nan)
        there[there] = traces.recording(index)[chosen[there]]
        for n, component in enumerate(components):
            section[n, there] = traces.values_of(component, index)[chosen[there]]
        return section

    def _refuse_other_sources(self, results: Results, traces: TraceSet) -> None:
        """Refuse shots that the file lacks, and sources at other positions."""
        for shot in self._shots.values():
            if shot.name not in traces.shots:
                raise self.mistake(
                    f"has no shot {shot.name}, but {', '.join(traces.shots[:5])}; leave it out of "
                    "the scenario's survey, or give its traces",
                    "path",
                )
            rows = [row for row in results.sources_of(shot.name) if {"x", "z"} <= row.keys()]
            if rows and shot.points:
                position = np.array([[float(rows[0].get(axis, 0.0)) for axis in "xyz"]])
                away = self._distance(position, np.array([shot.points[0].position]))[0]
                if away > self._tolerance:
                    raise self.mistake(
                        f"the source of {shot.name} lies {away:.4g} m from the scenario's; more "
                        "than half a cell: check `survey` and positions",
                        "path",
                    )

    def add_segy(self, table: TraceTable) -> None:
        """Add traces of a SEG-Y file, by the positions of their sources and receivers."""
        groups = self._groups([])
        known = list(groups[0].components(self._discretization.physics))
        component = self._entry.component or (known[0] if len(known) == 1 else None)
        if component not in known:
            raise self.mistake(f"name the component of its traces: {', '.join(known)}", "component")
        group = groups[0]
        (section,) = self._empty(table.traces.shape[1], group)
        for number, shot in self._shots.items():
            if len(shot.points) != 1:
                raise self.mistake(f"{shot.name} has several sources; SEG-Y names one", "path")
            of_shot = self._distance(table.sources, np.array([shot.points[0].position]))
            mine = np.flatnonzero(of_shot <= self._tolerance)
            if not mine.size:
                raise self.mistake(
                    f"has no traces of {shot.name}: the nearest source lies {of_shot.min():.4g} m "
                    "from it, more than half a cell; check positions, or leave the shot out",
                    "path",
                )
            for row, position in enumerate(group.at(shot.name)):
                away = self._distance(table.receivers[mine], position[None])
                if away.min() <= self._tolerance:
                    section[number, row] = table.traces[mine[int(away.argmin())]]
        if not np.isfinite(section).any():
            raise self.mistake(
                f"none of its receivers lies within half a cell of those of {group.name}; check "
                "positions, or the unit of lengths",
                "path",
            )
        self._add(group, component, section, table.times)

    def _empty(self, samples: int, group: ReceiverGroup, components: int = 1) -> np.ndarray:
        """Return traces (component, shot, receiver, sample) that are NaN."""
        shots = len(self._discretization.shots)
        return np.full((components, shots, len(group), samples), np.nan)

    def _groups(self, in_file: Sequence[str]) -> list[ReceiverGroup]:
        """Return the receiver sets of the scenario that a file has traces of."""
        groups = {group.name: group for group in self._discretization.groups}
        names = [name for name in groups if name in in_file] if in_file else list(groups)
        if self._entry.receivers is not None:
            names = [name for name in names if name == self._entry.receivers]
        if not names:
            sets = f"has the sets {', '.join(in_file)}" if in_file else "is of another set"
            raise self.mistake(
                f"{sets}; those of the scenario are {', '.join(groups)}; use the same names",
                "receivers",
            )
        if not in_file and len(names) > 1:
            raise self.mistake(f"name the set of its traces: {', '.join(names)}", "receivers")
        return [groups[name] for name in names]

    def _distance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return distances (n) in m of positions (n, 3), along the axes of the grid."""
        return np.linalg.norm((first - second)[:, self._axes], axis=1)

    def _add(
        self, group: ReceiverGroup, component: str, section: np.ndarray, times: np.ndarray
    ) -> None:
        """Add traces (shot, receiver, sample) at times (sample) s, at the times of the scenario."""
        sections = self._observed.sections.setdefault(group.name, {})
        if component in sections:
            raise self.mistake(f"{group.name}.{component} was given before; leave it out", "path")
        sections[component] = self._resampled(group, section, np.asarray(times, float))
        compared = section[list(self._shots)]
        missing = int(np.isnan(compared).all(axis=-1).sum())
        if missing:
            self._observed.remarks.append(
                f"{self._path}: {missing} of {compared.shape[0] * compared.shape[1]} traces of "
                f"{group.name}.{component} are not there, and do not count"
            )

    def _resampled(
        self, group: ReceiverGroup, section: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """Return traces (shot, receiver, sample) at the times of the scenario, NaN beyond."""
        wanted = sample_times(self._discretization, group)
        interval = interval_of(self._discretization, group)
        if times.shape == wanted.shape and np.abs(times - wanted).max() <= _SAME_TIME * interval:
            return section
        recorded = float(times[-1] - times[0]) / (times.size - 1)
        if 0.5 / recorded < self._discretization.highest_frequency:
            raise self.mistake(
                f"samples are {with_unit(recorded, 's')} apart, too few for waves of "
                f"{self._discretization.highest_frequency:.4g} Hz; give traces sampled more finely",
                "path",
            )
        there = np.isfinite(section).all(axis=-1, keepdims=True)
        filled = np.where(there, section, 0.0)
        if recorded < interval * (1.0 - _SAME_TIME):
            filled = _without_aliases(filled, recorded, 0.5 / interval)
        inside = (times[0] <= wanted) & (wanted <= times[-1] + _SAME_TIME * recorded)
        spline = make_interp_spline(times, filled, k=_DEGREE, axis=-1)
        resampled = np.where(there & inside, spline(np.clip(wanted, times[0], times[-1])), np.nan)
        remark = (
            f"{self._path}: traces of {group.name} were interpolated from "
            f"{with_unit(recorded, 's')} to {with_unit(interval, 's')}"
        )
        if not inside.all():
            remark += f"; {int((~inside).sum())} samples of the scenario lie beyond them"
        if remark not in self._observed.remarks:
            self._observed.remarks.append(remark)
        return resampled


def _without_aliases(traces: np.ndarray, interval: float, nyquist: float) -> np.ndarray:
    """Return traces (..., sample) without frequencies from a Nyquist frequency in Hz on.

    They are continued beyond their ends, point by point mirrored, so that these stay as they are.
    """
    before = 2.0 * traces[..., :1] - traces[..., :0:-1]
    behind = 2.0 * traces[..., -1:] - traces[..., -2::-1]
    extended = np.concatenate([before, traces, behind], axis=-1)
    share = np.clip((nyquist - rfftfreq(extended.shape[-1], interval)) / nyquist, 0.0, 1.0)
    response = 0.5 - 0.5 * np.cos(np.pi * np.minimum(share / (1.0 - _PASSED), 1.0))
    filtered = irfft(rfft(extended) * response, extended.shape[-1])
    first = before.shape[-1]
    return filtered[..., first : first + traces.shape[-1]]

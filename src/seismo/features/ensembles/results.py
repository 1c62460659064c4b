"""The reader of ensembles: traces with an axis `member`, statistics of maps, drawn values.

Use it as::

    results = seismo.open_ensemble("basin_ensemble.h5")
    results.traces["surface"]["vz"].quantile(0.84, "member")
    results.statistics["ground"]["pgv_mean"].plot()
    results.draws["model[1].vs"]                      # (member)
    seismo.run(results.member(3))                     # the complete results of a member

Units are SI and every array carries its own. Arrays are read when they are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import h5py
import numpy as np

from seismo.errors import ScenarioError
from seismo.features.ensembles.collection import FORMAT, hash_of_members
from seismo.features.ensembles.keys import key_of
from seismo.features.ensembles.members import no_member
from seismo.formats.reading import optional_package
from seismo.output.run_results import RunResults, formats_of_features
from seismo.output.store.array_sets import MapSet
from seismo.output.store.arrays import (
    NamedArrays,
    NamedItems,
    children,
    hash_of_all,
    hash_of_frame,
    read,
    text_attribute,
)
from seismo.runs.progress import clock_time
from seismo.scenario import Scenario, parse
from seismo.scenario.units import with_unit


class EnsembleTraces(NamedArrays):
    """The seismograms of a receiver set: quantity -> (member, shot, receiver, time)."""

    @property
    def time(self) -> np.ndarray:
        """Sample times (time) s."""
        return self.numbers("time")

    @property
    def codes(self) -> list[str]:
        """Receiver codes."""
        return list(map(str, self.column("receiver")))  # type: ignore[arg-type]

    @property
    def shots(self) -> list[str]:
        """Shot names."""
        return list(map(str, self.column("shot")))  # type: ignore[arg-type]


class MemberMaps(MapSet):
    """The maps of all members: quantity -> (member, shot, [z, y, x])."""

    _leading = 2


class MapStatistics(MapSet):
    """Statistics over the members: pgv_mean, pgv_deviation (shot, [z, y, x]), pgv_percentile.

    That has an axis `percentile` before the others.
    """

    @property
    def percentiles(self) -> list[float]:
        """The percentiles, from 0 to 100."""
        numbers = self.column("percentile")
        return [] if numbers is None else [float(number) for number in numbers]

    @property
    def quantities(self) -> list[str]:
        """The quantities of the maps, such as pgv."""
        return [name.removesuffix("_mean") for name in self if name.endswith("_mean")]


class Ensemble(RunResults):
    """The results of an ensemble, open for reading."""

    _format: ClassVar = FORMAT

    def __len__(self) -> int:
        """Count the members."""
        return int(self.attributes["members"])

    def __repr__(self) -> str:
        """Name the file, its title and its content."""
        return (
            f"<Ensemble {self.path.name} {self.title!r}: {len(self)} members, "
            f"traces {list(self.traces)}, statistics {list(self.statistics)}>"
        )

    @cached_property
    def traces(self) -> Mapping[str, EnsembleTraces]:  # type: ignore[override]
        """Receiver sets by name, their arrays (member, shot, receiver, time)."""
        sets = {name: EnsembleTraces(group, name) for name, group in self._groups("traces")}
        return NamedItems("traces", sets)

    @cached_property
    def maps(self) -> Mapping[str, MapSet]:
        """Maps of all members by name; empty where they were left out."""
        maps = {k: MemberMaps(g, k, self.ground) for k, g in self._groups("maps")}
        return NamedItems("maps", maps)

    @cached_property
    def statistics(self) -> Mapping[str, MapStatistics]:
        """Statistics of maps over the members, by the name of the maps."""
        groups = self._groups("statistics")
        return NamedItems("statistics", {k: MapStatistics(g, k, self.ground) for k, g in groups})

    @cached_property
    def draws(self) -> Mapping[str, np.ndarray]:
        """The drawn values (member) in SI, by the paths of their keys."""
        return NamedItems("draws", self._columns("draws"))

    @cached_property
    def draw_units(self) -> Mapping[str, str]:
        """The unit of each drawn value."""
        group = self._group("draws")
        datasets = children(group, h5py.Dataset)
        return {name: text_attribute(data, "units") for name, data in datasets if name != "member"}

    @cached_property
    def members(self) -> Mapping[str, np.ndarray]:
        """Facts (member) of the members: dt in s, steps, traces_sha256."""
        return NamedItems("members", self._columns("members"))

    def _columns(self, name: str) -> dict[str, np.ndarray]:
        datasets = children(self._group(name), h5py.Dataset)
        return {key: read(data) for key, data in datasets if key != "member"}

    def member(self, number: int) -> Scenario:
        """Return the scenario of a member, which runs by itself to the same traces.

        Relative paths in it begin at the folder of the results.

        Raises:
            ScenarioError: there is no such member.
        """
        if not 0 <= number < len(self):
            raise no_member(number, len(self))
        scenario = parse(self.scenario, str(self.path.with_suffix(".yaml")))
        changes: dict[str, Any] = {"ensemble": None}
        for name, column in self.draws.items():
            key = key_of(name, scenario.model, scenario.sources)
            changes[name] = key.plain(float(column[number]))
        return scenario.changed(changes)

    def to_xarray(self) -> Any:
        """Return an ``xarray.DataTree`` of traces, maps, statistics and draws, read when used.

        Raises:
            ScenarioError: xarray or h5netcdf is not installed.
        """
        xarray = optional_package("xarray", "xarray", "opening an ensemble with xarray")
        optional_package("h5netcdf", "xarray", "opening an ensemble with xarray")
        return xarray.open_datatree(self.path, engine="h5netcdf")

    def plot(self, kind: str, **options: Any) -> Any:
        """Return a figure of Matplotlib: "fans", "statistics" or "draws".

        Args:
            kind: as for `seismo plot`.
            options: of that figure (`seismo.features.ensembles.figures`).

        Raises:
            ScenarioError: there is no such kind, or nothing of it in the file.
        """
        from seismo.output.figures import figure_of

        kinds = formats_of_features()[FORMAT].figures()
        return figure_of(self, kind, kinds, **options)

    def info(self) -> str:
        """Describe the file in plain text: members, drawn values, traces, maps."""
        summary = self.summary
        rows = [
            ("title", self.title),
            ("status", self.status),
            ("seismo", f"{self.attributes['seismo_version']}, {self.attributes['created']}"),
            ("physics", self.physics),
            ("members", f"{len(self)}, steps of {_span(self.members['dt'], 's')}"),
        ]
        for key, column in self.draws.items():
            unit = self.draw_units[key]
            mean = with_unit(float(column.mean()), unit)
            rows.append(("drawn", f"{key}: {_span(column, unit)}, mean {mean}"))
        for name, traces in self.traces.items():
            quantities = ", ".join(traces)
            rows.append(("traces", f"{name}: {quantities} {traces.shape(next(iter(traces)))}"))
        for name, maps in self.statistics.items():
            percentiles = ", ".join(f"{number:g}" for number in maps.percentiles)
            kept = "all members, " if name in self.maps else ""
            also = f", percentiles {percentiles}" if percentiles else ""
            rows.append(
                ("maps", f"{name}: {', '.join(maps.quantities)}: {kept}mean, deviation{also}")
            )
        if "elapsed_s" in summary:
            device = summary.get("device", "")
            rows.append(("ran", f"in {clock_time(float(summary['elapsed_s']))} on {device}"))
        rows += [("warning", text) for text in self.warnings]
        rows.append(("hash", self.traces_hash))
        return "\n".join([str(self.path), *(f"  {name:<12}{text}" for name, text in rows if text)])

    def _check_hash(self) -> None:
        """Compare the traces of each member with its hash, and these with the hash of all."""
        hashes = [str(text) for text in self.members["traces_sha256"]]
        if hash_of_members(hashes) != self.traces_hash:
            raise ScenarioError(f"{self.path}: the hashes of the members were changed")
        for number, text in enumerate(hashes):
            frames = {
                f"traces/{name}/{quantity}/{shot}": hash_of_frame(
                    traces.values_of(quantity, (number, shot))
                )
                for name, traces in self.traces.items()
                for quantity in traces
                for shot in range(len(traces.shots))
            }
            if hash_of_all(frames) != text:
                raise ScenarioError(
                    f"{self.path}: the traces of member {number} do not have their hash; copy the "
                    "file again, or run again"
                )


def _span(column: np.ndarray, unit: str) -> str:
    """Format the least and the greatest value; once where they are equal."""
    ends = dict.fromkeys((float(column.min()), float(column.max())))
    return " to ".join(with_unit(end, unit) for end in ends)


def open_ensemble(path: str | os.PathLike[str]) -> Ensemble:
    """Open the results of an ensemble for reading.

    Raises:
        ScenarioError: the file is missing, damaged, or holds no ensemble.
    """
    return Ensemble(path)

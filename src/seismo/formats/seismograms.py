"""Seismograms as seismologists exchange them: components N, E, Z with NET.STA.LOC.CHA and dates.

Results have components along the grid's x, y and z, z down. Here Z is up: Z = -z. Where the grid
has a position on the earth, x points along the azimuth a at a station (clockwise from north), and

    N = x cos a - y sin a,    E = x sin a + y cos a.

Elsewhere, and in 2-D, horizontal components keep their names X and Y. A channel is the band code
that belongs to the sampling rate, X of synthetic velocity (N of acceleration, Y of displacement, D
of pressure, J of rotation), and the component (FDSN, Source Identifiers, 2019; SEED manual 2.4,
appendix A).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from seismo.acquisition.locator import north_east
from seismo.acquisition.moment_tensor import tensor_from_grid
from seismo.errors import ScenarioError
from seismo.grid.coordinates import nearest_turn
from seismo.output.export import ExportSelection
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import TraceSet
from seismo.scenario.sections.grid import ground_of

NO_NETWORK = "XX"  # of receivers without a network; FDSN keeps the code for tests
NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)  # of t = 0 where the scenario has no event
_BANDS = ((5000, "J"), (1000, "F"), (250, "C"), (80, "H"), (10, "B"), (1.05, "M"),
          (0.95, "L"), (0.1, "V"), (0.01, "U"), (0.0, "W"))  # least rate (Hz), code  # fmt: skip
_INSTRUMENTS = {"pressure": "D", "rotation": "J", "acceleration": "N", "displacement": "Y"}
_SYNTHETIC = "X"
_HYDROPHONE = "H"
_HYPOCENTRE = "hypocentre_"  # beginning of columns of a fault
_ROUND = 1e-9  # relative: rates such as 1 / 0.0125 s are on one side of a limit


@dataclass(frozen=True)
class StationName:
    """Network, station and location of a receiver."""

    network: str
    station: str
    location: str


@dataclass(frozen=True)
class CodeLengths:
    """Most letters of network, station and location in a format."""

    network: int
    station: int
    location: int


@dataclass(frozen=True)
class Seismogram:
    """A component at a station.

    Attributes:
        receiver: its index in the receiver set.
        name: network, station, location.
        channel: band, instrument and component.
        samples: (time) in the unit of the recording.
        azimuth: of the component in degrees from north, None where the grid has no north.
        dip: of the component in degrees below the horizontal, -90 upwards; None without direction.
    """

    receiver: int
    name: StationName
    channel: str
    samples: np.ndarray
    azimuth: float | None
    dip: float | None


def tensor_of(source: Mapping[str, Any]) -> np.ndarray | None:
    """Return the moment tensor (3, 3) N m on the axes of the grid; None of other sources."""
    if source.get("type") != "moment_tensor":
        return None
    return tensor_from_grid(
        {key[-2:]: float(source[key]) for key in source if key.startswith("moment_")}
    )


@dataclass(frozen=True)
class Recording:
    """A quantity at a receiver set in a shot.

    Attributes:
        results: the results file.
        traces: the receiver set.
        shot: name of the shot.
        quantity: such as velocity.
        components: axis -> name of the trace.
    """

    results: RunResults
    traces: TraceSet
    shot: str
    quantity: str
    components: dict[str, str]

    @property
    def unit(self) -> str:
        """SI unit of the samples."""
        return self.traces.unit(next(iter(self.components.values())))

    @cached_property
    def interval(self) -> float:
        """Sampling interval in s.

        Raises:
            ScenarioError: there is a single sample.
        """
        time = self.traces.time
        if len(time) < 2:
            raise ScenarioError(
                f"receivers {self.traces.name}: one sample in every trace is nothing to export; "
                "give an interval shorter than time.duration"
            )
        return float(time[-1] - time[0]) / (len(time) - 1)

    @cached_property
    def names(self) -> list[StationName]:
        """Network, station and location of each receiver."""
        return [station_name(code) for code in self.traces.codes]

    @cached_property
    def coordinates(self) -> dict[str, list[float]]:
        """Name -> (receiver): x, (y,) z, distances in m, longitude and latitude in degrees."""
        names = (
            *"xyz", "depth", "elevation", "longitude", "latitude", "r_hyp", "r_rup", "r_jb",
        )  # fmt: skip
        columns = {name: self.traces.coordinate(name, self.index) for name in names}
        return {name: column.tolist() for name, column in columns.items() if column is not None}

    @cached_property
    def index(self) -> int:
        """The number of the shot."""
        return self.traces.shots.index(self.shot)

    @cached_property
    def hypocentre(self) -> dict[str, Any]:
        """The source of the shot that begins first; empty without sources."""
        return hypocentre(self.results, self.shot)

    def distance(self, receiver: int) -> float | None:
        """Return the horizontal distance in m from the source that begins first, None without."""
        axes = [a for a in "xy" if a in self.coordinates and a in self.hypocentre]
        offsets = [self.coordinates[a][receiver] - self.hypocentre[a] for a in axes]
        return math.hypot(*offsets) if offsets else None

    @property
    def on_earth(self) -> bool:
        """Whether stations have longitudes and latitudes."""
        return "longitude" in self.coordinates

    def check_codes(self, format_name: str, letters: CodeLengths) -> None:
        """Raise ScenarioError where a format cannot hold the codes, or tell them apart."""
        self._refuse_equal_names()
        long = [
            f"{key} {code!r} (at most {most})"
            for name in self.names
            for (key, code), most in zip(vars(name).items(), vars(letters).values(), strict=True)
            if len(code) > most
        ]
        if long:
            named = ", ".join(dict.fromkeys(long[:3]))
            raise ScenarioError(
                f"receivers {self.traces.name}: {format_name} cannot hold the {named}; give "
                "shorter codes NET.STA.LOC"
            )

    def _refuse_equal_names(self) -> None:
        """Raise ScenarioError where different codes become equal, as R and XX.R do."""
        codes = dict[StationName, str]()
        for name, code in zip(self.names, self.traces.codes, strict=True):
            if (other := codes.setdefault(name, code)) != code:
                written = ".".join((name.network, name.station, name.location)).rstrip(".")
                raise ScenarioError(
                    f"receivers {self.traces.name}: {other!r} and {code!r} would both be written "
                    f"as {written}; give one of them another code NET.STA.LOC"
                )

    def position(self, receiver: int) -> dict[str, float]:
        """Return latitude, longitude (degrees), elevation and depth (m) of a receiver.

        Without topography elevations are of the station list, else 0.

        Raises:
            ScenarioError: receivers have no longitude and latitude.
        """
        if not self.on_earth:
            raise ScenarioError(
                f"receivers {self.traces.name}: stations need longitudes and latitudes; add the "
                "section geographic to the scenario"
            )
        return {
            "latitude": self.coordinates["latitude"][receiver],
            "longitude": float(nearest_turn(self.coordinates["longitude"][receiver], 0.0)),
            "elevation": self.elevation(receiver),
            "depth": self.depth(receiver),
        }

    def depth(self, receiver: int) -> float:
        """Return the depth of a receiver below the ground in m."""
        if "depth" in self.coordinates:
            return self.coordinates["depth"][receiver]
        return self.coordinates["z"][receiver] - ground(self.results)

    def elevation(self, receiver: int) -> float:
        """Return the height of the ground in m, of level ground that of the list, or else 0."""
        if "elevation" in self.coordinates:
            return self.coordinates["elevation"][receiver]
        listed = self.traces.coordinate("station_elevation", self.index)
        return 0.0 if listed is None else float(np.nan_to_num(listed[receiver]))

    def seismograms(self) -> Iterator[Seismogram]:
        """Return the seismograms of recording stations, station by station."""
        components = self._rotated()
        azimuths = self._azimuths(list(components))
        prefix = _band(1.0 / self.interval) + _INSTRUMENTS.get(self.quantity, _SYNTHETIC)
        dips = dict.fromkeys("NEXY", 0.0) | {"Z": -90.0}
        for receiver in np.flatnonzero(self.traces.recording(self.index)).tolist():
            name = self.names[receiver]
            for component, samples in components.items():
                yield Seismogram(
                    receiver, name, prefix + component, samples[receiver],
                    azimuths[component][receiver], dips.get(component),
                )  # fmt: skip

    def _rotated(self) -> dict[str, np.ndarray]:
        """Return component -> (receiver, time) of components along the axes, z up."""
        along = {a: self.traces.values_of(n, self.index) for a, n in self.components.items()}
        if "" in along:
            return {_HYDROPHONE: along[""]}
        up = {"Z": -along["z"]} if "z" in along else {}
        azimuth = self.traces.coordinate("x_azimuth", self.index)
        if azimuth is None or not {"x", "y"} <= along.keys():
            return {axis.upper(): along[axis] for axis in along if axis != "z"} | up
        north, east = north_east(along["x"], along["y"], azimuth[:, None])
        return {"N": north.astype(along["x"].dtype), "E": east.astype(along["x"].dtype)} | up

    def _azimuths(self, components: list[str]) -> dict[str, list[float | None]]:
        """Return the azimuths (receiver) of components."""
        count = len(self.names)
        azimuth = self.traces.coordinate("x_azimuth", self.index)
        known: dict[str, Any] = {"N": [0.0] * count, "E": [90.0] * count, "Z": [0.0] * count}
        if azimuth is not None:
            known |= {"X": (azimuth % 360.0).tolist(), "Y": ((azimuth + 90.0) % 360.0).tolist()}
        return {name: known.get(name, [None] * count) for name in components}


def recordings(
    selection: ExportSelection, allowed: tuple[str, ...] | None = None
) -> Iterator[tuple[str, Recording]]:
    """Return each selected recording with the words that distinguish its files.

    Args:
        selection: receiver sets, shots and quantities.
        allowed: quantities that the format has room for, all of them if None; others are left out.

    Raises:
        ScenarioError: nothing is selected that the format has room for.
    """
    count = 0
    for name, traces in selection.sets.items():
        for shot, index in selection.shots(traces, traces.shots).items():
            if not traces.recording(index).any():
                continue
            for quantity, components in selection.quantities(traces).items():
                if allowed is None or quantity in allowed:
                    words = (name, shot if len(traces.shots) > 1 else "", quantity)
                    recording = Recording(selection.results, traces, shot, quantity, components)
                    count += 1
                    yield "-".join(filter(None, words)), recording
    if not count and allowed:
        raise ScenarioError(
            f"{selection.results.path}: holds no {', '.join(allowed)} of the selected receivers; "
            "the format netcdf holds every quantity"
        )


def station_name(code: str) -> StationName:
    """Return network, station and location of NET.STA.LOC, NET.STA or STA.

    Raises:
        ScenarioError: the code is none of these.
    """
    words = code.rstrip(".").split(".")
    if len(words) > 3 or not words[-1]:
        raise ScenarioError(
            f"receiver {code!r}: is not NET.STA.LOC, NET.STA or STA; give it such a code"
        )
    network, station, location = {
        1: ("", *words, ""),
        2: (*words, ""),
        3: tuple(words),
    }[len(words)]
    return StationName(network or NO_NETWORK, station, location)


def start_date(results: RunResults, time: float = 0.0) -> datetime:
    """Return the date, in UTC, of a time (s) of the run: 1970 where its scenario has no event."""
    event = results.event
    if not event:
        return NO_DATE + timedelta(seconds=time)
    return origin_date(results) + timedelta(seconds=time - float(event["at"]))


def origin_date(results: RunResults) -> datetime:
    """Return the origin time in UTC: that of t = 0 in 1970 where the scenario has no event."""
    event = results.event
    return datetime.fromisoformat(event["time"]) if event else NO_DATE


def hypocentre(results: RunResults, shot: str) -> dict[str, Any]:
    """Return the source of a shot that begins first, a fault at its hypocentre; empty without."""
    sources = results.sources_of(shot)
    first = min(sources, key=lambda source: float(source.get("start", 0.0)), default={})
    columns = {key: first[key] for key in first if key.startswith(_HYPOCENTRE)}
    known = {
        key.removeprefix(_HYPOCENTRE): value
        for key, value in columns.items()
        if math.isfinite(float(value))
    }
    return {**first, **known}


def ground(results: RunResults) -> float:
    """Return z of the ground in m, from which depths count."""
    top = (results.section("grid").get("origin") or {}).get("z") or 0.0
    return ground_of(float(top), results.section("boundaries").get("top", ""))


def _band(rate: float) -> str:
    """Return the band code of a sampling rate in Hz."""
    return next(code for least, code in _BANDS if rate >= least * (1.0 - _ROUND))

"""Earthquakes of catalogues as sources: moment tensor, place, time and duration, read from files.

A hypocentre is where and when a rupture began, a centroid where and when its moment was released on
average. The half duration of catalogues is that of a triangle.

A centroid's time is when the moment rate has its centre of gravity. With the section `event` of
the scenario it is `at` plus its distance from the origin time, whatever delay the wavelet has;
without, the moment rate begins as the run does, or as the delay of its wavelet says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.moment_tensor import magnitude_of, scalar_moment
from seismo.errors import ModelError, printable
from seismo.formats import giving
from seismo.formats.reading import (
    LARGEST,
    no_file,
    version_of,
)
from seismo.model.volume import transformer_to
from seismo.scenario.sections.sources import EventSource
from seismo.scenario.sections.wavelet import GaussianRateWavelet, Wavelet

MOST_APART = 0.5  # of magnitude: moments in another unit are 4.7 off
_LONGEST = 1e4  # s, half duration: ten times that of the greatest earthquakes and more
_SHOWN = 5  # events of a file, in messages


@dataclass(frozen=True)
class EventOrigin:
    """Where and when: degrees, or m to east and north of a projection; m below the surface; UTC."""

    longitude: float
    latitude: float
    depth: float
    time: datetime


@dataclass(frozen=True)
class EventProblem:
    """An event that cannot act, and its lack."""

    id: str
    problem: ModelError


@dataclass(frozen=True, eq=False)
class CatalogueEvent:
    """One event of a file.

    Attributes:
        id: in its catalogue.
        tensor: moment tensor (3, 3) N m in north, east, down.
        hypocentre: None where only the centroid is known.
        centroid: None where only the hypocentre is known.
        half_duration: s, or None.
        magnitude: that the file says beside the tensor, or None.
    """

    id: str
    tensor: np.ndarray
    hypocentre: EventOrigin | None
    centroid: EventOrigin | None
    half_duration: float | None
    magnitude: float | None = None

    def origin(self, kind: str) -> tuple[EventOrigin, bool]:
        """Return the centroid or hypocentre, the other where it lacks, and if a centroid."""
        centroid = self.centroid is not None and (kind == "centroid" or self.hypocentre is None)
        origin = self.centroid if centroid else self.hypocentre
        assert origin is not None  # or the centroid is
        return origin, centroid

    @property
    def usual_half_duration(self) -> float:
        """Return the half duration in s that follows the moment in the GCMT catalogue."""
        return half_duration_of_moment(scalar_moment(self.tensor))

    @property
    def contradiction(self) -> str:
        """Return the magnitude of the file that does not fit its tensor, "" where none."""
        moment = scalar_moment(self.tensor)
        size = magnitude_of(moment)
        if self.magnitude is None or abs(size - self.magnitude) <= MOST_APART:
            return ""
        return (
            f"the moment tensor, {moment:.2g} N m, is of magnitude {size:.1f}, and the magnitude "
            f"beside it {self.magnitude:.1f}"
        )


def half_duration_of_moment(moment: float) -> float:
    """Return the half duration in s that the GCMT catalogue takes for a moment in N m.

    Literature: Ekstrom, Nettles & Dziewonski (2012, PEPI 200-201, 1-9), M0 in dyn cm.
    """
    return float(1.05e-8 * (moment * 1e7) ** (1.0 / 3.0))


@dataclass(frozen=True, eq=False)
class EventAction:
    """The action of an event.

    Attributes:
        degrees: its longitude and latitude, and its depth in m.
        tensor: moment tensor (3, 3) N m in north, east, down.
        wavelet: moment rate.
        delay: s, added to the wavelet's own.
    """

    degrees: dict[str, float]
    tensor: np.ndarray
    wavelet: Wavelet
    delay: float


def action_of(source: EventSource, base: Path | None, reference: Any) -> EventAction:
    """Return the action of an event.

    Args:
        source: of the scenario.
        base: folder at which paths start.
        reference: the scenario's section `event`, or None.

    Raises:
        ModelError: the file is missing, malformed or incomplete.
    """
    event = read_event(source, base)
    origin, is_centroid = event.origin(source.origin)
    wavelet = event_wavelet(source, base)
    longitude, latitude = _in_degrees(source, origin)
    degrees = {"longitude": longitude, "latitude": latitude, "depth": origin.depth}
    delay = source.delay
    if reference is not None:
        since = origin.time - datetime.fromisoformat(reference.time)
        delay += reference.at + since.total_seconds()
        delay -= _to_origin(wavelet, base, is_centroid)
    return EventAction(degrees, event.tensor, wavelet, delay)


def _in_degrees(source: EventSource, origin: EventOrigin) -> tuple[float, float]:
    """Return longitude and latitude of an origin, which may be in metres of a projection."""
    if source.crs is not None:
        longitude, latitude = transformer_to(source.crs).transform(
            origin.longitude, origin.latitude, direction="INVERSE"
        )
        return float(longitude), float(latitude)
    if abs(origin.latitude) > 90.0 or abs(origin.longitude) > 360.0:
        raise ModelError(
            f"missing: {source.path} has its event at {origin.longitude:g} m (east) and "
            f"{origin.latitude:g} m (north) of a map projection; give that, such as EPSG:32611. "
            "`seismo convert` carries the whole run of SPECFEM over",
            "crs",
        )
    return origin.longitude, origin.latitude


def event_wavelet(source: EventSource, base: Path | None) -> Wavelet:
    """Return the moment rate of an event.

    Raises:
        ModelError: neither the source nor its file has it, or as `read_event`.
    """
    if source.wavelet is not None:
        return source.wavelet
    event = read_event(source, base)
    if event.half_duration is None:
        raise ModelError(
            f"missing: {source.path} has no half duration; give wavelet, such as {{type: "
            f"gaussian_rate, half_duration: {event.usual_half_duration:.2g} s}} (what the GCMT "
            "catalogue takes for this moment)",
            "wavelet",
        )
    if event.half_duration > _LONGEST:
        raise ModelError(
            f"{source.path}: its half duration of {event.half_duration:g} s is above "
            f"{_LONGEST:g} s; give wavelet",
            "path",
        )
    return GaussianRateWavelet(type="gaussian_rate", half_duration=event.half_duration)


def read_event(source: EventSource, base: Path | None) -> CatalogueEvent:
    """Return the event of a source.

    Raises:
        ModelError: the file is missing or malformed, or none or several events are meant.
    """
    path = Path(base or ".") / source.path
    if problem := no_file(path, "give QuakeML or CMTSOLUTION"):
        raise ModelError(problem, "path")
    events = _read(path, version_of(path))
    named = [e for e in events if source.id is None or e.id.endswith(source.id)]
    if len(named) == 1:
        if isinstance(named[0], EventProblem):
            raise named[0].problem
        return named[0]
    names = ", ".join(printable(event.id) for event in (named or events)[:_SHOWN])
    names += ", ..." if len(named or events) > _SHOWN else ""
    if source.id is None:
        problem = f"{path} has {len(events)} events: give id, the end of one of {names}"
        raise ModelError(problem, "path")
    many = "several" if named else "none"
    raise ModelError(f"{path}: {many} of its events end so; it has {names}", "id")


@lru_cache(maxsize=8)
def _read(path: Path, changed: object) -> Sequence[CatalogueEvent | EventProblem]:
    if path.stat().st_size > LARGEST:
        raise ModelError(f"{path} is larger than {LARGEST >> 20} MB", "path")
    known = next(f for f in giving("events") if f["is_events"](path))
    events: Sequence[CatalogueEvent | EventProblem] = known["events"](path)
    return events


def _to_origin(wavelet: Wavelet, base: Path | None, is_centroid: bool) -> float:
    """Return when in s a wavelet has its centre of gravity, or begins, with its own delay."""
    shape = wavelets.shape_of(wavelet, base)
    tau = np.linspace(shape.start, shape.end, shape.points)
    size = np.abs(shape.value(tau))
    centre = float(np.sum(tau * size) / np.sum(size)) if is_centroid else shape.start
    return centre + wavelets.delay(wavelet, base)

"""Events of QuakeML, by ObsPy: the preferred moment tensor, or the angles of a nodal plane."""

from __future__ import annotations

import warnings
from datetime import UTC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from seismo.acquisition.events import (
    CatalogueEvent,
    EventOrigin,
    EventProblem,
)
from seismo.acquisition.moment_tensor import (
    double_couple,
    from_components,
    moment_of,
)
from seismo.errors import ModelError, printable
from seismo.formats.reading.optional_package import optional_package

_TENSOR = ("rr", "tt", "pp", "rt", "rp", "tp")


def read_quakeml(path: Path) -> list[CatalogueEvent | EventProblem]:
    """Return the events of a file; what an event lacks is said where it is meant.

    Raises:
        ModelError: it is no QuakeML.
        ScenarioError: ObsPy is not installed.
    """
    obspy = optional_package("obspy", "seismology", f"{path}: QuakeML")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            events = obspy.read_events(str(path), format="QUAKEML")
    except Exception as error:  # of any kind, as files may hold anything
        problem = printable(str(error).partition("\n")[0][:200])
        raise ModelError(f"{path}: not read as QuakeML: {problem}", "path") from None
    return [_described(path, event) for event in events]


def _described(path: Path, event: Any) -> CatalogueEvent | EventProblem:
    name = printable(event.resource_id.id if event.resource_id else "")
    try:
        return _event(path, name, event)
    except ModelError as problem:
        return EventProblem(name, problem)


def _event(path: Path, name: str, event: Any) -> CatalogueEvent:
    mechanism = event.preferred_focal_mechanism() or next(iter(event.focal_mechanisms), None)
    if mechanism is None:
        raise ModelError(f"{path}: event {name} has no focal mechanism", "path")
    moment_tensor = mechanism.moment_tensor
    hypocentre, centroid = _origins(event, mechanism)
    if hypocentre is centroid is None:
        raise ModelError(
            f"{path}: event {name} has no origin with longitude, latitude, depth and time", "path"
        )
    function = moment_tensor and moment_tensor.source_time_function
    duration = function.duration if function and function.duration else None
    return CatalogueEvent(
        name, _tensor(path, name, event, mechanism), hypocentre, centroid,
        duration / 2.0 if duration else None, _magnitude(event),
    )  # fmt: skip


def _tensor(path: Path, name: str, event: Any, mechanism: Any) -> np.ndarray:
    """Return the moment tensor (3, 3) N m in north, east, down."""
    moment_tensor = mechanism.moment_tensor
    if moment_tensor is not None and moment_tensor.tensor is not None:
        components = {c: getattr(moment_tensor.tensor, f"m_{c}") for c in _TENSOR}
        if None not in components.values() and any(components.values()):
            return from_components(SimpleNamespace(**components), "gcmt")
    planes = mechanism.nodal_planes
    plane = planes and (planes.nodal_plane_1 or planes.nodal_plane_2)
    moment = moment_tensor.scalar_moment if moment_tensor else None
    magnitude = _magnitude(event)
    if not moment and magnitude is not None:
        moment = moment_of(magnitude)
    if not plane or not moment:
        raise ModelError(
            f"{path}: event {name} has no moment tensor, nor a nodal plane with scalar moment or "
            "Mw; give its angles as a source of type moment_tensor",
            "path",
        )
    return double_couple(plane.strike, plane.dip, plane.rake, moment)


def _magnitude(event: Any) -> float | None:
    """Return the moment magnitude, if the preferred magnitude is one."""
    magnitude = event.preferred_magnitude() or next(iter(event.magnitudes), None)
    if magnitude is None or not (magnitude.magnitude_type or "").lower().startswith("mw"):
        return None
    return float(magnitude.mag)


def _origins(event: Any, mechanism: Any) -> tuple[EventOrigin | None, EventOrigin | None]:
    """Return hypocentre and centroid, as far as they are known.

    The centroid is the origin that the moment tensor was derived at; without it the event's last
    one of that type, the preferred origin last of all. So is the hypocentre of all other origins.
    """
    moment_tensor = mechanism.moment_tensor
    derived = moment_tensor.derived_origin_id if moment_tensor else None
    derives = centroid = hypocentre = None
    preferred = event.preferred_origin()
    for origin in [*event.origins, *([preferred] if preferred else [])]:
        if None in (origin.longitude, origin.latitude, origin.depth, origin.time):
            continue
        time = origin.time.datetime.replace(tzinfo=UTC)
        described = EventOrigin(origin.longitude, origin.latitude, origin.depth, time)
        if derived is not None and origin.resource_id == derived:
            derives = described
        elif origin.origin_type == "centroid":
            centroid = described
        else:
            hypocentre = described
    return hypocentre, derives or centroid

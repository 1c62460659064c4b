"""Finite faults in results and in `seismo check`: hypocentres, distances, moments and subfaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from seismo.acquisition.locator import Projection
from seismo.acquisition.moment_tensor import magnitude_of
from seismo.acquisition.sources import ManySources, PointSource
from seismo.acquisition.wavelet_shapes import half_duration_of
from seismo.features.faults.finite_fault import FaultSummary
from seismo.runs.coordinates import true_positions
from seismo.runs.prediction.checks.timing import MOST_OFF
from seismo.runs.prediction.lines import Check, Report, WarningLines
from seismo.solver.discretization import Discretization

MOST_GRAIN = 0.05  # of the moment rate, at the frequency of the subfaults


def source_facts(discretization: Discretization, source: PointSource) -> dict[str, Any]:
    """Return the hypocentre of a source, if a fault."""
    if not isinstance(source, FaultSummary) or source.geometry is None:
        return {}
    return {"hypocentre": _coordinates(discretization, source.geometry.hypocentre)}


def _coordinates(discretization: Discretization, point: np.ndarray) -> dict[str, float]:
    """Return the coordinates of a point (3) m in true depth: see `coordinates_of`."""
    x, y, z = point.tolist()
    coordinates = {"x": x, "y": y, "z": z, "depth": z - discretization.scenario.ground}
    if discretization.ground is not None:
        ground = float(discretization.ground.ground(y, x))
        coordinates["depth"] = z - ground
        coordinates["elevation"] = discretization.scenario.datum - ground
    longitude, latitude = Projection(discretization.scenario.geographic).to_geographic(x, y)
    return coordinates | {"longitude": float(longitude), "latitude": float(latitude)}


def receiver_facts(discretization: Discretization, positions: np.ndarray) -> dict[str, np.ndarray]:
    """Return the distances in m of positions (receiver, 3) m from the only source, if a fault."""
    summaries = discretization.shots[0].summaries
    if len(summaries) != 1 or not isinstance(summaries[0], FaultSummary):
        return {}
    geometry = summaries[0].geometry
    return {} if geometry is None else geometry.distances(true_positions(discretization, positions))


def _moments(discretization: Discretization) -> WarningLines:
    """Name faults whose moment by the file differs from the moment by the model or slip rates."""
    for fault in (s for s in discretization.shots[0].summaries if isinstance(s, FaultSummary)):
        yield from (f"source {fault.name}: {text}" for text in fault.assumed)
        of_file, of_model = fault.moments
        if of_file > 0.0 and of_model > 0.0 and abs(of_model / of_file - 1.0) > MOST_OFF:
            yield (
                f"source {fault.name}: its slip makes a moment of {of_file:.3g} N m by the file's "
                f"rigidity, {of_model:.3g} by the model's: {fault.moment:.3g} act; the other one "
                "by sources.rigidity: model or file"
            )
        if abs(fault.mismatch) > MOST_OFF:
            yield (
                f"source {fault.name}: its slip rates amount to {fault.mismatch:+.0%} of the slip "
                "that the file states beside them: the rates act"
            )


def _grain(discretization: Discretization) -> WarningLines:
    """Name faults whose subfaults radiate separately where a rupture radiates as a whole."""
    for k, fault in enumerate(discretization.shots[0].summaries):
        grain = fault.directivity.grain if isinstance(fault, FaultSummary) else None
        if grain is not None and grain.share > MOST_GRAIN:
            yield (
                f"source {fault.name}: its subfaults, {grain.spacing:.4g} m apart, come one by one "
                f"at a rupture velocity of {grain.velocity:.4g} m/s: behind it they radiate up to "
                f"{grain.share:.0%} of its moment rate at {grain.frequency:.3g} Hz, which is the "
                f"grain of the file and not the earthquake; set sources[{k}].smoothing to "
                f"{half_duration_of(grain.frequency):.2g} s, or give smaller subfaults"
            )


def _described(discretization: Discretization, fault: FaultSummary, acting: ManySources) -> str:
    """Describe a finite fault: its moment, and moments of its file's slip by either rigidity."""
    sizes = [(fault.moment, "acts")]
    sizes += zip(
        fault.moments, ("slip, area and rigidity of the file", "by the model"), strict=True
    )
    named = [f"{m:.4g} N m (Mw {magnitude_of(m):.2f}) {origin}" for m, origin in sizes if m > 0.0]
    z = true_positions(discretization, acting.positions)[:, 2]
    text = (
        f"{fault.name}: {fault.subfaults} subfaults that slip, at z = {z.min():.6g} to "
        f"{z.max():.6g} m; M0 {', '.join(named)}"
    )
    if grain := fault.directivity.grain:
        text += (
            f"; rupture at {grain.velocity:.4g} m/s over subfaults {grain.spacing:.4g} m apart, "
            f"which show from {grain.frequency:.3g} Hz on"
        )
    return text


def fault_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield a line for each finite fault."""
    shot = discretization.shots[0]
    faults = [source for source in shot.summaries if isinstance(source, FaultSummary)]
    for fault, acting in zip(faults, shot.faults, strict=True):
        yield "fault", _described(discretization, fault, acting)


FAULTS: tuple[Callable[[Discretization], WarningLines], ...] = (_moments, _grain)
CHECKS = tuple(Check("moments", lines) for lines in FAULTS)
REPORTS = (Report("sources", fault_facts),)

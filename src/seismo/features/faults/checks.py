"""What `check` says of finite faults: their moments, and subfaults."""

from __future__ import annotations

from collections.abc import Callable

from seismo.acquisition.wavelet_shapes import half_duration_of
from seismo.features.faults.finite_fault import FaultSummary
from seismo.runs.prediction.checks.moments import MOST_OFF
from seismo.runs.prediction.lines import Check, WarningLines
from seismo.solver.discretization import Discretization

MOST_GRAIN = 0.05  # of the moment rate, at the frequency of the subfaults


def _moments(discretization: Discretization) -> WarningLines:
    """Name faults whose moment is another one by the file than by the model or its slip rates."""
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
    """Name faults whose subfaults radiate one by one what a rupture radiates as a whole."""
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


FAULTS: tuple[Callable[[Discretization], WarningLines], ...] = (_moments, _grain)
CHECKS = tuple(Check("moments", lines) for lines in FAULTS)

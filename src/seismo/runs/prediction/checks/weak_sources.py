"""Sources so weak that fields come near the smallest numbers of single precision."""

from __future__ import annotations

from seismo.features.half_precision.source_peaks import strain_rates
from seismo.runs.prediction.checks.timing import WarningLines
from seismo.solver.accuracy.stability_monitor import WEAKEST, weakness
from seismo.solver.discretization import Discretization


def weak_sources(discretization: Discretization) -> WarningLines:
    """Name the motion beside elastic sources, where digits of it are lost.

    The strain rate in the cell of a source times its size: within a factor of ten of the largest
    velocity that a run finds, which says so too (`StabilityMonitor.weakness`).
    """
    physics = discretization.physics
    sources = [source for shot in discretization.shots for source in shot.points if source.is_local]
    of_rock = physics.fields[0].name == "vx" and not {"c44", "c55"}.isdisjoint(physics.medium)
    if discretization.scenario.precision != "float32" or not of_rock or not sources:
        return
    end = discretization.total_steps * discretization.clock.dt
    rates = strain_rates(
        physics,
        discretization.earth,
        sources,
        discretization.grid.cell,
        discretization.clock.dt,
        end,
    )
    velocity = float(rates.max()) * discretization.grid.spacing[0]
    if 0.0 < velocity < WEAKEST:
        yield weakness(f"sources: they move the points beside them by {velocity:.1g} m/s")

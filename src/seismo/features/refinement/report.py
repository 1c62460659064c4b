"""What `check` says of a grid that is finer above a plane."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.features.refinement.error import refinement_error
from seismo.grid.grid import AXES
from seismo.runs.prediction.percent import percent
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

_NONE = (
    "auto: no plane spares a fifth of the points, below which waves are three times as long as the "
    "slowest, that these cross accurately, with room above and below, and away from sources, "
    "receivers, maps and contacts of fluid and solid"
)


def refinement_facts(setup: Discretization) -> Iterator[tuple[str, str]]:
    """Yield how the grid is refined above a plane, against one that is as fine everywhere."""
    if setup.fine is None:
        if setup.scenario.grid.plane_is_open:
            yield "refinement", _NONE
        return
    fine = setup.fine.grid
    size = " x ".join(str(setup.fine.live.shape[AXES.index(a)]) for a in fine.axes)
    uniform = setup.live.size * setup.fine.finer**fine.dimensions + setup.fine.live.size
    yield (
        "refinement",
        f"above z = {with_unit(float(fine.coordinate('z', setup.fine.meets)), 'm')} "
        f"{size} points of {fine.spacing[0]:.4g} m, below it points of "
        f"{setup.grid.spacing[0]:.4g} m: {setup.points / 1e6:.3g} million are updated in a step, "
        f"{setup.points / uniform:.2g} of those that a uniform grid has; waves that cross the "
        f"plane err by {percent(refinement_error(setup))}",
    )

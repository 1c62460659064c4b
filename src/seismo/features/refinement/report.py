"""What `check` says of a grid that is finer above a plane."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.features.refinement.error import refinement_error
from seismo.grid.grid import AXES
from seismo.runs.prediction.lines import Report, percent
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

_NONE = (
    "auto: no plane spares a fifth of the points, below which waves are three times as long as the "
    "slowest, that these cross accurately, with room above and below, and away from sources, "
    "receivers, maps and contacts of fluid and solid"
)


def refinement_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield how the grid is refined above a plane, against one that is as fine everywhere."""
    if discretization.above is None:
        if discretization.scenario.grid.plane_is_open:
            yield "refinement", _NONE
        return
    above = discretization.above
    fine = above.grid
    size = " x ".join(str(above.live.shape[AXES.index(a)]) for a in fine.axes)
    uniform = discretization.live.size * above.subdivision**fine.dimensions + above.live.size
    yield (
        "refinement",
        f"above z = {with_unit(float(fine.coordinate('z', above.plane_rows.plane)), 'm')} "
        f"{size} points of {fine.spacing[0]:.4g} m, below it points of "
        f"{discretization.grid.spacing[0]:.4g} m: "
        f"{discretization.points / 1e6:.3g} million are updated in a step, "
        f"{discretization.points / uniform:.2g} of those that a uniform grid has; waves that "
        f"cross the plane err by {percent(refinement_error(discretization))}",
    )


REPORTS = (Report("grid", refinement_facts),)

"""Grids of a few points between two faces: right, or refused with what they lack."""

import numpy as np
import pytest

import solver
from seismo.errors import ScenarioError
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize


def thin(
    name: str, cells: int, order: int, bottom: str = "absorbing", layer: int = 3, **changes
) -> dict:
    """Give a plane of few cells along z under a free surface, with a force in its middle."""
    wide = 30
    middle = solver.place(2, (wide / 2, cells / 2))
    force = {"type": "force", "position": middle, "force": dict.fromkeys("xz", 1.0),
             "wavelet": {"type": "ricker", "frequency": solver.FREQUENCY}}  # fmt: skip
    boundaries = solver.faces(2, top="free_surface", bottom=bottom) | {"layer": {"points": layer}}
    document = solver.plan(name, 2, cells=(wide, 30), order=order, steps=None)
    document["grid"]["extent"] = solver.place(2, (wide, cells))
    document |= {"sources": [force], "boundaries": boundaries}
    spots = [solver.place(2, (x, 0.0)) for x in (8, 21)]
    document["receivers"] = [solver.points(spots, quantities=["velocity"])]
    return document | changes


@pytest.mark.parametrize(
    ("order", "cells", "rows"),
    [(2, 1, 1), (4, 3, 4), (4, 6, 4), (4, 7, 8), (4, 9, 8), (4, 10, 11), (8, 5, 6), (8, 7, 8),
     (16, 7, 8)],
)  # fmt: skip
def test_closed_rows_lie_above_the_layer_at_the_bottom(order: int, cells: int, rows: int) -> None:
    """The largest closure that fits; more rows were updated beyond the grid, and became NaN."""
    discretization = discretize(from_dict(thin("elastic", cells, order)))
    assert discretization.closed_rows == rows <= cells + 1
    for group in discretization.row_groups(1):
        assert group.box.hi[2] <= discretization.grid.points[2]
        damps = group.box.hi[2] > cells + 1
        assert ("z" in group.middle) == damps


@pytest.mark.parametrize(("order", "cells"), [(4, 3), (8, 5)])
def test_energy_stays_in_a_plate(order: int, cells: int) -> None:
    """Rigid sides and bottom a few cells below the surface: motion neither grows nor dies."""
    document = thin("elastic", cells, order, "rigid", time={"duration": 20.0, "courant": 0.98})
    document["boundaries"] |= dict.fromkeys(("x_min", "x_max"), "rigid")
    simulation = solver.build(document)
    solver.silence(simulation)
    solver.add_noise(simulation)
    levels = []
    for count in (*[1] * 40, 4_000, *[1] * 40):
        simulation.advance(count)
        fields = solver.wavefield(simulation)
        levels.append(sum(np.sum(fields[f"v{a}"] ** 2) for a in "xz"))
    assert 0.6 < np.mean(levels[41:]) / np.mean(levels[:40]) < 1.6


@pytest.mark.parametrize(
    ("name", "order", "cells", "bottom", "said"),
    [
        ("elastic", 4, 2, "absorbing", "extent.z.*has 3 points.*order 4 beside a free surface "
         "need 4; use 27 m"),
        ("elastic", 8, 2, "absorbing", "order 8 beside a free surface need 6; use 45 m, or a "
         "lower grid.order than 8"),
        ("elastic", 16, 7, "rigid", "order 16 beside a rigid face need 9; use 72 m"),
        ("acoustic", 8, 2, "rigid", "order 8 beside a rigid face need 5; use 36 m"),
    ],
)  # fmt: skip
def test_what_is_too_thin_is_refused(name, order, cells, bottom, said) -> None:
    document = thin(name, cells, order, bottom)
    if name == "acoustic":
        document["sources"][0] = {**document["sources"][0], "type": "pressure", "amplitude": 1.0}
        del document["sources"][0]["force"]
        document["receivers"][0]["quantities"] = ["pressure"]
    with pytest.raises(ScenarioError, match=said):
        discretize(from_dict(document))


def test_thin_periodic_axes_are_refused() -> None:
    document = thin("elastic", 10, 8)
    document["grid"]["extent"]["x"] = 3 * solver.SPACING["x"]
    document["boundaries"] |= dict.fromkeys(("x_min", "x_max"), "periodic")
    document["sources"][0]["position"] = solver.place(2, (1.0, 5.0))
    document["receivers"] = [solver.points([solver.place(2, (2.0, 5.0))])]
    with pytest.raises(ScenarioError, match=r"extent.x.*has 3 points.*periodic face need 4"):
        discretize(from_dict(document))

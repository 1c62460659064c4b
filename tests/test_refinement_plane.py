"""`grid.refinement: auto`: the plane that velocities, sources and receivers allow."""

import pytest

import solver
from seismo.errors import ScenarioError
from seismo.runs.check import make_plan
from seismo.runs.check.refinement import refinement_facts
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

FORCE = {"type": "force", "force": {"z": 1.0}, "wavelet": {"type": "ricker", "frequency": 3.0}}


def basin(rock: float = 2300.0, depths=(2500.0,), receivers=(0.0,), **grid) -> dict:
    """Give soft layers down to 900 m over rock."""
    layers = [
        {"top": 0.0, "vp": 900.0, "vs": 400.0, "rho": 1800.0},
        {"top": 400.0, "vp": 2000.0, "vs": 1000.0, "rho": 2100.0},
        {"top": 900.0, "vp": 4000.0, "vs": rock, "rho": 2500.0},
    ]
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 900.0, "z": 3600.0}, "spacing": 10.0, "refinement": "auto"} | grid,
        "time": {"duration": 0.5},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [FORCE | {"position": {"x": 450.0, "z": z}} for z in depths],
        "receivers": [solver.points([{"x": 300.0, "z": z} for z in receivers])],
    }  # fmt: skip


def plane(document: dict) -> float | None:
    """Give z of the plane that is chosen."""
    setup = discretize(from_dict(document))
    if setup.fine is None:
        return None
    return float(setup.grid.coordinate("z", setup.meets))


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, 900.0),  # where waves of 2300 m/s begin, three times 400
        ({"rock": 1100.0}, None),  # nowhere three times
        ({"depths": (950.0, 2500.0)}, 1020.0),  # seven rows above, 0.95 km
        ({"receivers": (0.0, 930.0)}, 960.0),  # three rows above
        ({"receivers": (0.0, 990.0)}, 1020.0),  # five rows of 30 m below reach up to 840 m
        ({"accuracy": 1e-4}, None),  # 0.1 % errs what crosses it
        ({"accuracy": 5e-3}, 900.0),
        ({"extent": {"x": 900.0, "z": 1350.0}, "depths": (400.0,)}, None),  # no room below
    ],
)
def test_the_plane_is_the_shallowest_that_suits(changes: dict, wanted: float | None) -> None:
    assert plane(basin(**changes)) == wanted


def test_it_is_the_plane_that_one_might_give() -> None:
    found = discretize(from_dict(basin()))
    given = discretize(from_dict(basin(refinement=[{"below": 900.0}])))
    assert found.scenario.grid == given.scenario.grid
    assert found.points == given.points < 0.5 * discretize(from_dict(basin(refinement=[]))).points


def test_check_says_that_there_is_none() -> None:
    setup = make_plan(from_dict(basin(rock=1100.0))).setup
    ((_, text),) = refinement_facts(setup)
    assert text.startswith("auto: no plane spares a fifth of the points")
    assert setup.fine is None


def test_waves_that_do_not_go_with_it_are_refused() -> None:
    document = basin()
    document["physics"] = "acoustic"
    document["sources"][0] |= {"type": "explosion"}
    del document["sources"][0]["force"]
    with pytest.raises(ScenarioError, match="acoustic waves do not go with it"):
        discretize(from_dict(document))

"""`grid.refinement: auto`: the plane that velocities, sources and receivers allow."""

import pytest

import solver
from seismo.errors import ScenarioError
from seismo.features.refinement import plane as refinement_plane
from seismo.features.refinement.error import refinement_error, refinement_facts
from seismo.features.refinement.operators import FACTOR
from seismo.runs.check.plan import make_plan
from seismo.scenario import from_dict
from seismo.solver.accuracy.stencil import crossing_error
from seismo.solver.discretize import discretize

FORCE = {"type": "force", "force": {"z": 1.0}, "wavelet": {"type": "ricker", "frequency": 3.0}}


def basin(
    rock: float = 2300.0, depths=(2500.0,), receivers=(0.0,), deeper: float = 0.0,
    seam: float = 0.0, dike=(), **grid,
) -> dict:  # fmt: skip
    """Give soft layers down to 900 m over rock, and firmer rock deeper if wanted."""
    layers = [
        {"top": 0.0, "vp": 900.0, "vs": 400.0, "rho": 1800.0},
        {"top": 400.0, "vp": 2000.0, "vs": 1000.0, "rho": 2100.0},
        {"top": 900.0, "vp": 4000.0, "vs": rock, "rho": 2500.0},
    ]
    soft = {"vp": 900.0, "vs": 400.0, "rho": 1800.0}
    model = [{"type": "layers", "layers": layers}]
    if seam:
        layers[1]["top"] = 300.0
        layers[2]["top"] = 600.0
        model.append({"type": "block", "z": [seam, seam + 20.0], **soft})
    if dike:
        model.append({"type": "block", "x": list(dike), "z": [900.0, 3300.0], **soft})
    if deeper:
        layers.append({"top": deeper, "vp": 5200.0, "vs": 3000.0, "rho": 2700.0})
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 900.0, "z": 3600.0}, "spacing": 10.0, "refinement": "auto"} | grid,
        "time": {"duration": 0.5},
        "boundaries": {"top": "free_surface"},
        "model": model,
        "sources": [FORCE | {"position": {"x": 450.0, "z": z}} for z in depths],
        "receivers": [solver.points([{"x": 300.0, "z": z} for z in receivers])],
    }  # fmt: skip


def plane(document: dict) -> float | None:
    """Give z of the plane that is chosen."""
    discretization = discretize(from_dict(document))
    if discretization.above is None:
        return None
    return float(discretization.grid.coordinate("z", discretization.interface.row))


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, 900.0),  # where waves of 2300 m/s begin, three times 400
        ({"rock": 1100.0}, None),  # nowhere three times
        ({"depths": (950.0, 2500.0)}, 1050.0),  # eight rows above, 0.95 km
        ({"deeper": 960.0}, 960.0),  # no contact in the next four rows
        ({"receivers": (0.0, 910.0)}, 990.0),  # eight rows above
        ({"receivers": (0.0, 990.0)}, 1080.0),  # six rows of 30 m below reach up to 810 m
        ({"seam": 880.0}, 960.0),  # a thin one ends 6 rows above
        ({"dike": (445.0, 455.0)}, None),  # of a cell
        ({"accuracy": 1e-4}, None),  # 0.1 % errs what crosses it
        ({"accuracy": 5e-3}, 900.0),
        ({"extent": {"x": 900.0, "z": 1350.0}, "depths": (400.0,)}, None),  # no room below
    ],
)
def test_the_plane_is_the_shallowest_that_suits(changes: dict, wanted: float | None) -> None:
    assert plane(basin(**changes)) == wanted


@pytest.mark.parametrize("order", [2, 4, 6, 8, 10, 16])
@pytest.mark.parametrize("top", ["free_surface", "absorbing"])
def test_the_shallowest_rock_leaves_room(order: int, top: str) -> None:
    """Whatever the order, a plane that is found is one that may be."""
    thin = FACTOR * -(-(3 * order + 8) // FACTOR) * 10.0
    document = basin(order=order, accuracy=0.1)
    document["boundaries"]["top"] = top
    document["model"][0]["layers"][1]["top"] = 0.5 * thin
    document["model"][0]["layers"][2]["top"] = thin - 10.0
    found = plane(document)
    assert found is not None
    assert found <= thin + 20.0


def test_it_looks_at_all_spacings() -> None:
    """Of three axes: what crosses the plane errs by the largest cells."""
    document = basin(extent={"x": 300.0, "y": 900.0, "z": 3600.0}, accuracy=0.01)
    document["sources"][0]["position"] |= {"x": 150.0, "y": 450.0}
    document["receivers"] = [solver.points([{"x": 150.0, "y": 300.0, "z": 0.0}])]
    document["grid"]["spacing"] = {"x": 10.0, "y": 60.0, "z": 10.0}
    document["grid"]["extent"]["y"] = 900.0
    assert plane(document) is None


def test_limits_are_the_same_however_they_are_rounded() -> None:
    """A source eight rows above a plane of odd spacings, and one as far below."""
    for h in (0.3, 0.7, 1.1):
        document = basin(extent={"x": 90 * h, "z": 360 * h}, spacing=h, accuracy=0.1)
        document["sources"][0] |= {
            "position": {"x": 45 * h, "z": 82 * h},
            "wavelet": {"type": "ricker", "frequency": 30.0 / h},
        }
        document["receivers"] = [solver.points([{"x": 30 * h, "z": 0.0}])]
        layers = document["model"][0]["layers"]
        for layer, rows in zip(layers, (0, 40, 90), strict=True):
            layer["top"] = rows * h
        assert plane(document) == pytest.approx(90 * h)


def test_a_map_is_never_on_both_sides() -> None:
    document = basin()
    document["output"] = {"maps": [{"quantities": ["pgv"], "box": {"z": [0.0, 1000.0]}}]}
    assert plane(document) == 1080.0


def test_an_open_plane_is_written_as_it_was_read(recwarn) -> None:
    scenario = from_dict(basin(rock=1100.0))
    assert "refinement: auto" in scenario.to_yaml()
    assert discretize(scenario).scenario.model_dump()["grid"]["refinement"] == "auto"
    assert not recwarn.list


def test_it_is_the_plane_that_one_might_give() -> None:
    found = discretize(from_dict(basin()))
    given = discretize(from_dict(basin(refinement=[{"below": 900.0}])))
    assert found.scenario.grid == given.scenario.grid
    assert found.points == given.points < 0.5 * discretize(from_dict(basin(refinement=[]))).points


def test_without_a_plane_the_grid_under_a_hill_is_that_of_one_spacing() -> None:
    hill = {"center": {"x": 450.0}, "height": 85.0, "width": 200.0}
    document = basin(rock=1100.0) | {"topography": {"type": "hills", "hills": [hill]}}
    document["receivers"] = [solver.points([{"x": 300.0, "depth": 0.0}])]
    discretization = discretize(from_dict(document))
    document["grid"]["refinement"] = []
    assert discretization.grid == discretize(from_dict(document)).grid


@pytest.mark.parametrize("kind", ["force", "explosion"])
def test_check_tells_the_crossing_by_which_the_plane_was_chosen(kind: str, monkeypatch) -> None:
    """An explosion below it: S waves come back from the surface above, and cross it slowest."""
    errors = []

    def kept(*waves: object) -> float:
        errors.append(crossing_error(*waves))
        return errors[-1]

    monkeypatch.setattr(refinement_plane, "crossing_error", kept)
    document = basin(order=8, accuracy=0.1)
    if kind == "explosion":
        del document["sources"][0]["force"]
        document["sources"][0] |= {"type": kind, "moment": 1e12}
    discretization = discretize(from_dict(document))
    assert discretization.above is not None
    assert refinement_error(discretization) == errors[-1] > 0.0


@pytest.mark.parametrize(
    ("top", "deeper", "has_shear"),
    [("absorbing", 0.0, False), ("free_surface", 0.0, True), ("absorbing", 1200.0, True)],
)
def test_an_explosion_has_s_waves_where_something_makes_them(
    top: str, deeper: float, has_shear: bool
) -> None:
    """In one rock without a surface, on either side of a plane, there are P waves alone."""
    rock = {"vp": 3000.0, "vs": 1000.0, "rho": 2500.0}
    layers = [{"top": 0.0, **rock}]
    if deeper:
        layers.append({"top": deeper, **rock, "vp": 4000.0})
    document = basin(
        refinement=[{"below": 1200.0}], extent={"x": 1500.0, "z": 2400.0}, depths=(600.0,)
    )
    document["boundaries"]["top"] = top
    document["model"] = [{"type": "layers", "layers": layers}]
    document["sources"] = [
        {"type": "explosion", "moment": 1e12, "wavelet": {"type": "ricker", "frequency": 10.0},
         "position": {"x": 600.0, "z": 600.0}}
    ]  # fmt: skip
    discretization = discretize(from_dict(document))
    assert discretization.above is not None
    for side in (discretization, discretization.above):
        assert side.waves.slowest == (1000.0 if has_shear else side.waves.fastest)
    assert has_shear or discretization.stencil.order == 8


def test_check_says_that_there_is_none() -> None:
    discretization = make_plan(from_dict(basin(rock=1100.0))).discretization
    ((_, text),) = refinement_facts(discretization)
    assert text.startswith("auto: no plane spares a fifth of the points")
    assert discretization.above is None


def test_waves_that_do_not_go_with_it_are_refused() -> None:
    document = basin()
    document["physics"] = "acoustic"
    document["sources"][0] |= {"type": "explosion"}
    del document["sources"][0]["force"]
    with pytest.raises(ScenarioError, match="acoustic waves do not go with it"):
        discretize(from_dict(document))

"""Grids and layers that are left to the program: what is chosen, kept, refused, and found."""

import copy
import json
import math
from dataclasses import replace

import pytest
import yaml

import seismo
from seismo.backends.select import choose
from seismo.errors import ScenarioError
from seismo.features.chosen_grids.choice import Candidate, GridSearch
from seismo.features.chosen_grids.lengths import chosen_length
from seismo.features.chosen_grids.prices import prices, with_open_grid
from seismo.runs.check import choices_of, load_placed
from seismo.runs.check.plan import make_plan
from seismo.runs.file_contents import attributes_of
from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.preview import preview
from seismo.scenario import from_dict, load, parse
from seismo.solver.discretize import discretize
from seismo.solver.grid_layout import settled

TEXT = """\
physics: acoustic_variable_density
grid:
  extent: {x: 600 m, z: 400 m}
  accuracy: 2 %
time: {duration: 0.3 s}
model: [{type: layers, layers: [{top: 0 m, vp: 2 km/s, rho: 2 g/cm3},
                                {top: 250 m, vp: 2.6 km/s, rho: 2.2 g/cm3}]}]
sources: [{type: explosion, position: {x: 200 m, z: 150 m}, moment: 1e12,
           wavelet: {type: ricker, frequency: 20 Hz}}]
receivers: [{name: a, type: points, positions: [{x: 400 m, z: 150 m}], quantities: [pressure]}]
"""
CLOSE = 1.02  # times the wanted error, which counts as met


def scenario(layer=None, **grid):
    """Return the scenario with these keys of its grid, and of its layers."""
    data = yaml.safe_load(TEXT)
    data["grid"] |= grid
    if layer is not None:
        data["boundaries"] = {"layer": layer}
    return from_dict(data)


@pytest.fixture(scope="module")
def closed():
    """Return the scenario with its grid."""
    return load_placed(scenario())


def test_an_extent_is_enough(closed):
    assert closed.chosen.keys() >= {"grid.spacing", "grid.order", "boundaries.layer.points"}
    error = expected_error(discretize(closed)).error
    assert 0.5 * 0.02 < error <= CLOSE * 0.02
    assert load_placed(scenario(spacing="auto")).chosen == closed.chosen


def test_it_divides_the_extents_and_meets_the_contact(closed):
    h = closed.chosen["grid.spacing"]
    assert float(f"{h:.3g}") == h
    for length in (600.0, 400.0, 250.0):
        assert length / h == pytest.approx(round(length / h))


def test_a_smaller_error_has_a_finer_grid(closed):
    finer = load_placed(scenario(), "0.2 %")
    assert finer.grid.accuracy == finer.chosen["grid.accuracy"] or finer.grid.accuracy == 0.002
    assert finer.chosen["grid.spacing"] < 0.5 * closed.chosen["grid.spacing"]
    assert expected_error(discretize(finer)).error <= CLOSE * 0.002


def test_what_is_typed_is_kept():
    kept = load_placed(scenario({"points": 13}, order=4, stencil="taylor"))
    assert kept.chosen.keys() == {"grid.spacing"}
    assert (kept.grid.order, kept.grid.stencil, kept.boundaries.layer.points) == (4, "taylor", 13)
    lowest = load_placed(scenario(order="auto"))
    assert lowest.grid.order in (8, 12, 16)


def test_points_of_layers_may_be_chosen_alone():
    typed = load_placed(scenario({"points": "auto"}, spacing=10.0, order=8))
    assert typed.chosen.keys() == {"boundaries.layer.points"}
    assert typed.grid.spacing.x == 10.0
    assert load(scenario(spacing=10.0)).boundaries.layer.points == 12  # the default


def test_layers_are_thicker_for_a_smaller_error():
    few, many = (
        load_placed(scenario({"points": "auto"}, spacing=4.0, accuracy=accuracy))
        for accuracy in (0.02, 2e-5)
    )
    assert 10 <= few.boundaries.layer.points < many.boundaries.layer.points <= 40


def test_every_way_to_run_has_the_same_grid(closed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(TEXT)
    plan = seismo.check("s.yaml")
    assert plan.discretization.scenario == closed
    assert plan.as_dict()["chosen"] == closed.chosen
    assert f"grid.spacing {closed.chosen['grid.spacing']:g} m, grid.order" in str(plan)
    assert json.loads(preview("s.yaml").attributes["chosen"]) == closed.chosen
    assert seismo.Propagator(scenario()).scenario == closed
    with seismo.run("s.yaml", backend="cpu") as results:
        assert json.loads(results.attributes["chosen"]) == closed.chosen
        assert results.scenario_text == TEXT  # what was asked
        assert parse(results.scenario) == closed  # what was run
        assert results.chosen == closed.chosen
        assert results.wanted_error == 0.02
        assert results.expected_error == pytest.approx(plan.expected.error)
        text = " ".join(results.info().split())
        assert f"{100 * plan.expected.error:.2g} % expected, 2 % wanted" in text
        assert f"chosen grid.spacing {closed.chosen['grid.spacing']:g} m, grid.order" in text


def test_an_accuracy_may_be_given_to_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(TEXT)
    with seismo.run("s.yaml", backend="cpu", accuracy="5 %") as results:
        resolved = parse(results.scenario)
        assert resolved.grid.accuracy == 0.05
        assert results.path.name == "s.h5"
    with pytest.raises(ScenarioError, match=r"^--accuracy: 50: "):
        seismo.check("s.yaml", accuracy=50)


def test_a_resumed_run_has_what_was_chosen(closed, tmp_path, monkeypatch):
    from seismo.runs.checkpoints import origin_of

    (tmp_path / "s.yaml").write_text(TEXT)
    begun = load_placed(tmp_path / "s.yaml", "3 %")
    header = origin_of(begun)
    assert parse(header["text"], header["file"]).completed(header["chosen"]) == begun
    assert header["as_file"]


def test_a_plane_at_a_depth_is_refused_in_its_line():
    text = TEXT.replace("accuracy: 2 %", "refinement: [{below: 120 m}]")
    with pytest.raises(
        ScenarioError, match=r"scenario.yaml:4:.*grid\.refinement\[0\]\.below.*auto"
    ):
        parse(text)


def test_a_plane_of_refinement_suits_the_spacing():
    refined = load_placed(scenario(refinement="auto"))
    h = 3.0 * refined.grid.spacing.x
    for length in (600.0, 400.0):
        assert length / h == pytest.approx(round(length / h))


def test_mistakes_of_places_and_units_have_their_lines():
    with pytest.raises(ScenarioError, match=r"scenario.yaml:8:.*outside the grid"):
        parse(TEXT.replace("x: 200 m", "x: 900 m"))
    with pytest.raises(ScenarioError, match=r"scenario.yaml:5:.*time\.step.*stability limit"):
        load_placed(parse(TEXT.replace("0.3 s}", "0.3 s, step: 50 ms}")))


def test_the_cause_that_no_grid_mends_is_named():
    data = yaml.safe_load(TEXT)
    data["physics"] = "acoustic"
    data["model"] = [{"type": "uniform", "vp": 2000.0}]
    data["boundaries"] = {"layer": {"points": 3}}
    plan = make_plan(load_placed(from_dict(data), "0.05 %"))
    (warning,) = [line for line in plan.warnings if line.startswith("grid.accuracy")]
    assert "absorbing layers" in warning
    assert plan.remedy == ""


@pytest.mark.parametrize("most", [0.0123, 1.0, 7.3, 9.99, 41.0, 333.0, 2500.0])
@pytest.mark.parametrize("extent", [(1.0, 1.0), (60.0, 40.0), (12.34, 7.0)])
def test_lengths_are_short_and_near(most, extent):
    data = yaml.safe_load(TEXT)
    data["grid"] = {"extent": {"x": extent[0] * 1e3 * most, "z": extent[1] * 1e3 * most}}
    data["model"] = [{"type": "uniform", "vp": 2000.0, "rho": 2000.0}]
    data["sources"][0]["position"] = data["receivers"][0]["positions"][0] = {"x": 0.0, "z": 0.0}
    h = chosen_length(from_dict(data), most)
    assert 0.85 * most <= h <= most * (1.0 + 1e-9)


def cheapest_of_all(open_scenario) -> float:
    """Return the time of the cheapest of all grids that keep to the accuracy."""
    times = []
    for h in (6.25, 8.0, 10.0, 12.5):
        for order in (8, 12, 16):
            keys = {"grid.spacing": h, "grid.order": order, "boundaries.layer.points": 10}
            run = discretize(open_scenario.changed(keys))
            grid = Candidate(keys, run, expected_error(run, 0.0))  # layers apart
            if grid.expected.error <= CLOSE * run.scenario.grid.accuracy:
                times.append(grid.seconds)
    return min(times)


@pytest.mark.parametrize("accuracy", [0.01, pytest.param(0.05, marks=pytest.mark.slow)])
def test_none_is_much_cheaper(accuracy):
    open_scenario = scenario(accuracy=accuracy)
    assert GridSearch(open_scenario).cheapest().seconds <= 1.3 * cheapest_of_all(open_scenario)


def test_copies_keep_what_was_chosen(closed):
    assert closed.changed({"time.duration": 0.2}).grid.spacing == closed.grid.spacing
    assert closed.changed({"time.duration": 0.2}).chosen == {}
    assert copy.deepcopy(closed).chosen == closed.chosen
    assert math.isclose(closed.completed({"time.duration": 0.2}).time.duration, 0.2)


def test_prices_of_errors_are_listed(closed):
    plan = replace(make_plan(closed), shows_prices=True)
    coarse, own = prices(closed, plan.backend, [0.05, 0.02])
    vars(plan)["prices"] = [coarse, own]
    assert own.spacing == closed.chosen["grid.spacing"] < coarse.spacing
    assert own.seconds > coarse.seconds
    assert coarse.expected <= CLOSE * 0.05
    assert plan.as_dict()["prices"] == [coarse.as_dict(), own.as_dict()]
    assert "prices of errors" in str(plan)


def test_prices_keep_what_is_typed():
    typed = load(scenario({"points": 13}, spacing=10.0, order=4))
    assert "prices of errors" not in str(make_plan(typed))
    (price,) = prices(typed, choose("cpu").make("float32"), [0.02])
    assert (price.order, price.points) == (4, 13)


def test_prices_name_what_keeps_an_error_out_of_reach():
    data = yaml.safe_load(TEXT)
    data["model"] = [{"type": "uniform", "vp": 2000.0, "rho": 2000.0, "qp": 30.0}]
    data["attenuation"] = {"mechanisms": 1}
    (price,) = prices(from_dict(data), choose("cpu").make("float32"), [0.002])
    assert price.expected > 0.002
    assert "relaxation mechanisms" in price.obstacle


def sized(x, z, refinement=None, **faces):
    """Return the scenario with extents in m, and faces."""
    data = yaml.safe_load(TEXT)
    data["grid"] = {"extent": {"x": x, "z": z}, "accuracy": 0.05}
    if refinement:
        data["grid"]["refinement"] = refinement
    data["boundaries"] = faces
    return from_dict(data)


def test_the_period_is_the_extent():
    sideways = sized(1037.0, 713.0, x_min="periodic", x_max="periodic")
    for most in (9.2, 14.0, 31.0):
        h = chosen_length(sideways, most)
        assert 1037.0 / h == pytest.approx(round(1037.0 / h), abs=1e-6)
        assert 0.85 * most < h <= most
    both = sized(1037.0, 713.0, x_min="periodic", x_max="periodic", bottom="rigid")
    with pytest.raises(ScenarioError, match=r"have no common spacing; give grid\.spacing$"):
        chosen_length(both, 9.0)


@pytest.mark.parametrize("extents", [(1037.0, 713.0), (1023.0, 713.0), (1000.1, 333.3)])
@pytest.mark.parametrize("most", [9.05, 13.3, 29.7])
def test_the_grid_covers_the_extents(extents, most):
    h = chosen_length(sized(*extents), most)
    assert all(round(length / h) * h >= length * (1.0 - 1e-9) for length in extents)
    assert h > 0.85 * most


def test_without_common_cells_is_no_plane():
    uneven = load_placed(sized(1037.0, 713.0, "auto"))
    assert uneven.grid.planes == ()
    assert not uneven.grid.plane_is_open


def test_layers_beside_a_plane_have_coarse_cells():
    data = yaml.safe_load(TEXT)
    data["physics"] = "elastic_sh"
    data["grid"] = {"extent": {"x": 600.0, "z": 1200.0}, "accuracy": 0.05}
    layers = [{"top": top, "vs": vs, "rho": 2000.0} for top, vs in ((0.0, 600.0), (250.0, 3000.0))]
    data["model"] = [{"type": "layers", "layers": layers}]
    position = {"x": 200.0, "z": 100.0}
    wavelet = {"type": "ricker", "frequency": 10.0}
    data["sources"] = [{"type": "force", "position": position, "wavelet": wavelet,
                        "force": {"y": 1.0}}]  # fmt: skip
    points = [{"x": 400.0, "z": 100.0}]
    data["receivers"] = [{"name": "a", "type": "points", "positions": points}]
    single = load_placed(from_dict(data))
    data["grid"] |= {"refinement": "auto", "spacing": "auto"}
    refined = load_placed(from_dict(data))
    assert settled(refined).grid.planes
    thick = [s.grid.spacing.x * s.boundaries.layer.points for s in (single, refined)]
    assert with_open_grid(discretize(refined).scenario).grid.plane_is_open
    assert 0.5 * thick[0] < 3.0 * thick[1] < 1.6 * thick[0]


def test_requests_are_no_choices(closed):
    asked = closed.completed({"grid.accuracy": 0.03, "grid.stencil": "fitted"})
    stencil = {"grid.stencil"} & closed.chosen.keys()
    assert choices_of(asked).keys() == closed.chosen.keys() - stencil
    typed = load_placed(scenario({"points": 13}, spacing=10.0), "5 %")
    plan = make_plan(typed)
    assert "chosen " not in str(plan)
    assert "chosen" not in plan.as_dict()
    assert "chosen" not in attributes_of(plan.discretization)


def test_a_faulty_option_is_named():
    with pytest.raises(ScenarioError, match=r"^--accuracy: 'abc': [^\n]+$"):
        load_placed(scenario(), "abc")


def test_a_mistake_brings_no_others_of_an_open_grid():
    text = TEXT.replace("600 m, z: 400 m", "1037 m, z: 713 m").replace("2 %", "0")
    text = text.replace("{x: 400 m, z: 150 m}", "{x: 1037 m, z: 713 m}")
    with pytest.raises(ScenarioError) as caught:
        load_placed(from_dict(yaml.safe_load(text)))
    assert len(caught.value.messages) == 1

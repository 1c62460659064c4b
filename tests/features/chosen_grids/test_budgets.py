"""Grids that are chosen for a budget of time and memory: the least error, what is refused."""

import json

import pytest
import yaml
from test_chosen_grids import CLOSE, TEXT, scenario

import seismo
from seismo.errors import ScenarioError
from seismo.runs.check import load_placed
from seismo.runs.check.budget import Budget, read_budget
from seismo.runs.resources.memory import PYTHON_BYTES


@pytest.fixture(scope="module")
def plan():
    """Return the plan of the scenario within the time that 1 % takes."""
    seconds = seismo.check(scenario(accuracy=0.01), backend="cpu").seconds
    return seismo.check(scenario(), backend="cpu", within=1.2 * seconds)


def test_the_least_error_in_a_time(plan):
    own = plan.discretization.scenario
    assert plan.seconds <= plan.budget.seconds
    assert plan.expected.error <= CLOSE * own.grid.accuracy <= 0.012
    finer = seismo.check(scenario(accuracy=0.6 * own.grid.accuracy), backend="cpu")
    assert finer.seconds > plan.budget.seconds


def test_a_run_of_its_accuracy_has_its_grid(plan):
    accuracy = plan.discretization.scenario.grid.accuracy
    assert f"--accuracy '{100 * accuracy:.2g} %'" in str(plan)
    again = load_placed(scenario(), f"{100 * accuracy:.2g}%")
    assert again.grid == plan.discretization.scenario.grid
    assert again.boundaries == plan.discretization.scenario.boundaries


def test_programs_read_the_budget(plan):
    data = json.loads(json.dumps(plan.as_dict()))
    assert data["budget"] == {"seconds": plan.budget.seconds, "memory": None}
    assert "budget" not in seismo.check(scenario(spacing=10.0)).as_dict()


def test_a_memory_is_a_budget_too():
    coarse = seismo.check(scenario(accuracy=0.05), backend="cpu")
    room = 1.5 * (coarse.largest_need - PYTHON_BYTES)
    plan = seismo.check(scenario(), backend="cpu", memory=PYTHON_BYTES + room)
    assert plan.largest_need <= PYTHON_BYTES + room
    assert plan.discretization.scenario.grid.accuracy < 0.05


def test_a_small_budget_is_refused_with_what_is_needed():
    with pytest.raises(ScenarioError, match=r"1 ms.*5 % takes \d[^;]*s and \d+ MB; give more"):
        seismo.check(scenario(), backend="cpu", within="1 ms", memory="2 TB")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": "3 km"}, r"^--within 3 km: a length where a time is needed"),
        ({"within": "0 s"}, r"^--within 0 s: must be above 0$"),
        ({"memory": "70 GX"}, r"^--memory 70 GX: unknown unit 'GX': write.*GB"),
        ({"memory": "ten"}, r"^--memory ten: not a number.*GB"),
        ({"within": "1 s", "accuracy": "2%"}, r"^--accuracy 2%: leave it out"),
    ],
)
def test_faulty_options_are_named(options, message):
    with pytest.raises(ScenarioError, match=message):
        seismo.check(scenario(), **options)


def test_a_typed_grid_is_refused_in_its_line(tmp_path):
    (tmp_path / "s.yaml").write_text(TEXT.replace("accuracy: 2 %", "spacing: 10 m"))
    with pytest.raises(ScenarioError, match=r"s.yaml:4:.*grid\.spacing.*leave it out"):
        seismo.check(tmp_path / "s.yaml", within="1 min")
    points = yaml.safe_load(TEXT)
    points["grid"] = {"extent": points["grid"]["extent"], "spacing": 10.0}
    points["boundaries"] = {"layer": {"points": "auto"}}
    with pytest.raises(ScenarioError, match=r"grid\.spacing"):
        seismo.check(points, memory="1 GB")


def test_budgets_are_read_and_written():
    assert read_budget(None, None) is None
    assert read_budget("10 min", "64 GiB") == Budget(600.0, 64 * 2**30)
    assert str(read_budget("10 min", "70 GB")) == "10 min 00 s and 70 GB"
    assert str(read_budget("20 ms", None)) == "20 ms"
    assert Budget(10.0, None).share(5.0, 1e12) == 0.5
    assert Budget(10.0, 1.0).share(5.0, 1e9) == float("inf")

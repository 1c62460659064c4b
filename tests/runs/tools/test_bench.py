"""The benchmark driver, with a stand-in solver: sizes, arithmetic and files, never speed.

Expected numbers are products worked out by hand from the definitions in `seismo.runs.tools.bench`.
"""

import io
import itertools
import json
import runpy
import subprocess
import sys
import types
from pathlib import Path
from typing import ClassVar

import pytest
import yaml
from rich.console import Console

from seismo.errors import ScenarioError, SeismoError
from seismo.runs.tools import bench
from seismo.scenario import from_dict, load

OUTPUT = Path(__file__).parents[3] / "benchmarks/output.py"
SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))
BANDWIDTH = bench.Bandwidth(update=80.0, copy=50.0)


class StandIn:
    """Counts steps; `duration` s pass on a false clock for each of them."""

    bytes_per_point = 16.0
    backend = types.SimpleNamespace(wait=lambda: None)
    discretization = types.SimpleNamespace(shots=[], batch=1)
    log: ClassVar[list[tuple[int, int]]] = []

    def __init__(self, points: int, clock: list[float], duration: float) -> None:
        """Start at the clock's time."""
        self.points, self.clock, self.duration = points, clock, duration

    def load(self, shots: list) -> None:
        """Begin again, twice as fast."""
        self.duration /= 2

    def advance(self, steps: int) -> None:
        """Log the call and let its time pass."""
        self.log.append((self.points, steps))
        self.clock[0] += steps * self.duration


@pytest.fixture
def solver(monkeypatch):
    """Replace solver and clock; of three repeats the first is the slowest, the third the best."""
    clock = [0.0]
    monkeypatch.setattr(StandIn, "log", [])

    def build(scenario, choice):
        return StandIn(bench.CASES[scenario["title"].split()[-1]].points, clock, 0.008)

    monkeypatch.setitem(sys.modules, "seismo.solver.simulation", types.SimpleNamespace(build=build))
    monkeypatch.setattr(
        "seismo.solver.simulation", sys.modules["seismo.solver.simulation"], raising=False
    )
    monkeypatch.setattr(bench, "_validated", lambda scenario: scenario)
    monkeypatch.setattr(bench.time, "perf_counter", lambda: clock[0])
    return build


def test_totals_are_the_published_sizes():
    """Interior plus 20 points on each side is the size that the peers' figures were taken at."""
    totals = {"W1": 2081**2, "W2": 256**3, "W3": 1541**2, "W4": 160**3, "W5": 64 * 340**2}
    assert {name: case.points for name, case in bench.CASES.items()} == totals
    for case in bench.CASES.values():
        extent = case.scenario["grid"]["extent"]
        nodes = 1
        for length in extent.values():
            nodes *= round(length / bench.SPACING) + 1 + 2 * bench.LAYER_POINTS
        assert nodes * len(case.scenario.get("survey", {}).get("shots", [0])) == case.points


def test_small_cubes_have_layers_of_the_default_width():
    """Whose points count: 320^3 and 240^3 with them."""
    default = from_dict({**bench.CARD_CASES["G1"].scenario, "boundaries": {}}).boundaries.layer
    for name, total in (("G19", 320), ("G24", 240)):
        case = bench.CARD_CASES[name]
        scenario = from_dict(case.scenario)
        assert scenario.boundaries.layer == default
        assert round(scenario.grid.extent.x / bench.SPACING) + 1 + 2 * default.points == total
        assert case.points == total**3


@pytest.mark.parametrize("name", bench.CASES)
def test_cases_are_valid_scenarios(name):
    """Every case passes the strict schema, and its positions lie on nodes inside the grid."""
    scenario = pytest.importorskip("seismo.scenario").Scenario
    scenario.model_validate(bench.CASES[name].scenario)
    listed = bench.CASES[name].scenario
    positions = [source["position"] for source in listed["sources"]]
    positions += [shot["position"] for shot in listed.get("survey", {}).get("shots", [])]
    positions += [listed["receivers"][0]["start"], listed["receivers"][0]["end"]]
    for position in positions:
        for axis, value in position.items():
            assert value % bench.SPACING == 0
            assert 0 <= value <= listed["grid"]["extent"][axis]


def test_step_is_stable():
    """The step obeys the worst limit of the cases: acoustic 3-D, order 8, at the lower layer's vp.

    Von Neumann: dt vp / h <= 2 / sqrt(3 s), s = 6.501 the sum of the moduli of the order-8
    coefficients of the second derivative (Fornberg 1988), times 1 / h^2.
    """
    moduli = 205 / 72 + 2 * (8 / 5 + 1 / 5 + 8 / 315 + 1 / 560)
    limit = 2 / (3 * moduli) ** 0.5 * bench.SPACING / bench.LOWER["vp"]
    assert limit > bench.STEP


def test_median_of_repeats(solver):
    """Three repeats at 4, 2 and 1 ms a step: the median is 2 ms; warm-up steps do not count."""
    (row,) = bench.run_cases(["W4"], repeats=3, bandwidth=BANDWIDTH)
    assert row.seconds == pytest.approx((0.24, 0.12, 0.06))
    assert row.mpoints_per_s == pytest.approx(160**3 * 60 / 0.12 / 1e6)
    assert row.gigabytes_per_s == pytest.approx(row.mpoints_per_s * 16 / 1000)
    assert row.share == pytest.approx(row.gigabytes_per_s / 80.0)
    warm = (160**3, bench.WARM_UP_STEPS)
    assert StandIn.log == [warm, *[warm, (160**3, 60)] * 3]


def test_other_points_are_refused(solver, monkeypatch):
    """A build with other layers than the case promises is an error, not a flattering number."""
    small = types.SimpleNamespace(build=lambda *_: StandIn(120**3 + 1, [0.0], 1.0))
    monkeypatch.setattr("seismo.solver.simulation", small)
    with pytest.raises(SeismoError, match="W4 built 1728001 points where it promises 4096000"):
        list(bench.run_cases(["W4"], bandwidth=BANDWIDTH))


def test_unknown_case_names_the_choices():
    """A wrong name is a scenario error that lists the right ones."""
    with pytest.raises(ScenarioError, match="W99 does not exist; choose from W1, W2"):
        list(bench.run_cases(["W99"], bandwidth=BANDWIDTH))


def restated(name: str) -> dict:
    """Give a case as peers get it."""
    return runpy.run_path(str(OUTPUT.with_name("cases.py")))["plain"](name)


def test_cases_of_rock_have_their_equations():
    """Those that peers are asked for, with as many points in all whoever has a collar."""
    known = {n: from_dict(case.scenario).equation.name for n, case in bench.ROCK_CASES.items()}
    assert known == {
        "W6": "viscoacoustic_variable_density", "W7": "viscoacoustic_variable_density",
        "W8": "viscoelastic", "W9": "viscoelastic", "W10": "acoustic_vti", "W11": "acoustic_tti",
        "W12": "elastic_vti", "W13": "elastic_tti",
    }  # fmt: skip
    for case in bench.ROCK_CASES.values():
        plain = restated(case.name)
        (nodes,) = set(plain["shape"])
        assert (nodes + 2 * plain["layer"]) ** 3 == case.points
        assert set(plain["further"]) <= plain["upper"].keys()


def test_table_and_file(solver, tmp_path):
    """The table shows the share; the JSON holds repeats, machine and derived numbers."""
    rows = list(bench.run_cases(["W4"], repeats=1, bandwidth=BANDWIDTH))
    text = io.StringIO()
    bench.print_table(rows, Console(file=text, width=120))
    assert "4,096,000" in text.getvalue()
    assert f"{rows[0].share:.0%}" in text.getvalue()
    bench.write_json(tmp_path / "bench.json", rows, BANDWIDTH)
    record = json.loads((tmp_path / "bench.json").read_text())
    assert record["bandwidth_gb_per_s"] == {"update": 80.0, "copy": 50.0}
    assert record["rows"][0]["mpoints_per_s"] == pytest.approx(rows[0].mpoints_per_s)
    assert record["machine"]["threads"] >= 1
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]


def test_bandwidth_counts_reads_and_writes(monkeypatch):
    """Loops that take 0.5 s over 1 MiB move 2 MiB in 0.5 s, whatever the machine."""
    ticks = itertools.count(step=0.5)
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(ticks))
    measured = bench.measure_bandwidth(megabytes=1, repeats=2)
    assert measured.update == pytest.approx(2 * 2**20 / 0.5 / 1e9)
    assert measured.best == max(measured.update, measured.copy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "said"),
    [
        pytest.param("steps", "speed left", marks=pytest.mark.slow, id="steps"),
        pytest.param("store", "beside gzip-4", id="store"),
    ],
)
def test_the_cost_of_output_is_measured(what, said):
    """The script runs, on a grid too small to tell anything."""
    options = ["--points", "40", "--steps", "20", "--every", "10", "--rounds", "1"]
    command = [sys.executable, str(OUTPUT), what, *options]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not found.returncode, found.stderr
    assert said in found.stdout


def test_shipped_scenarios_in_space_are_cases():
    """By their names, in few steps of all that they do."""
    assert {path.stem.upper() for path in SCENARIOS if "y" in extent_of(path)} == {*bench.SHIPPED}
    (case,) = bench.select(["double_couple"])
    assert case.scenario == load(SCENARIOS[0].with_name("double_couple.yaml"))
    assert case.points * case.steps < 1.1 * bench.UPDATES


def extent_of(path: Path) -> dict:
    return yaml.safe_load(path.read_text())["grid"]["extent"]

"""The ladder of optimisations: every row has its place, every other way gives the product's answer.

Nothing here is about speed. Sides of a row differ by rounding in single precision over a few steps:
1e-5 of the waves, as the ladder itself demands of what it measures (`ladder.report.CLOSE`). The
kernels of the ladder need a card (`test_gpu.py`).
"""

import ast
import io
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from seismo import examples
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import BackendChoice, choose
from seismo.runs.resources.memory_fit import HypotheticalRanks
from seismo.runs.resources.placement import step_seconds
from seismo.runs.tools.bench import find_ladder
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.parallel.active_region import phases
from seismo.solver.parallel.partition import divide
from test_resources import Device

report = find_ladder()
import scaling  # noqa: E402
from ladder import fewer_bits, page, rungs, several, stand, still  # noqa: E402
from ladder.rows import ROWS  # noqa: E402
from ladder.stand import Scale, Stand  # noqa: E402
from ladder.worth import Side, Worth  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "benchmarks" / "results" / "ladder_h200.json"
# Rows of 32 points are whole lanes: there each begins with what lies behind the one before.
TINY = Scale(space=32, elastic=24, processor=32, plane=48, small=40, shots=2, seconds=0.0)
CARD = Scale(space=96, elastic=64, processor=32, plane=200, small=100, shots=4, seconds=0.0)


def names_in(file: Path) -> set[str]:
    """Give what a file defines: functions, classes and their methods, and names set at the top."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [n for n in node.body if isinstance(n, ast.FunctionDef)]
            found |= {f"{node.name}.{method.name}" for method in inner}
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def test_every_piece_of_advice_has_a_row():
    assert [row.number for row in ROWS] == list(range(1, 36))
    assert {row.number for row in ROWS} >= set(page.BEYOND)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_a_row_names_what_there_is(row):
    """File and function in the product, and the files of the ladder that do without."""
    assert row.places
    assert row.here
    for place in row.places:
        file, _, name = place.partition(":")
        assert name in names_in(ROOT / "src" / "seismo" / file), place
    for file in row.beside:
        text = page._wrong(file)
        assert "What is wrong" in text or file == "machines", text
    if row.measure:
        file, name = row.measure
        assert name in names_in(page.HERE / f"{file}.py")


def test_every_rung_of_the_processor_gives_the_products_answer():
    stand = Stand(choose("cpu"), TINY)
    found = list(rungs.climb(stand, "cpu"))
    assert [rung.name for rung in found] == [name for name, *_ in rungs.LADDERS["cpu"]]
    assert all(rung.difference < report.CLOSE for rung in found)
    assert found[-1].difference == 0


def test_rows_are_measured_printed_and_kept(tmp_path):
    """Those of the processor; what needs a GPU says so; a second call adds to the file."""
    file, shown = tmp_path / "ladder.json", Console(file=io.StringIO(), width=150)
    for names in (["30", "6"], ["21", "15", "28"]):
        record = report.climb(choose("cpu"), names, file, shown, TINY)
    assert json.loads(file.read_text()) == json.loads(json.dumps(record))
    rows = record["rows"]
    assert {number for number in rows if "gain" in rows[number]} == {"30", "21", "28"}
    assert not any("failed" in found for found in rows.values())
    assert rows["6"] == {"missing": "needs a GPU"}
    assert rows["15"] == {"missing": "needs 2 GPUs"}
    report.print_rows(record, shown)
    assert "needs 2 GPUs" in shown.file.getvalue()
    text = page.page(record)
    assert rows["30"]["scenario"] in text
    page.draw(record | {"rungs": [rung_of("cpu")]}, tmp_path / "ladder.png")
    assert (tmp_path / "ladder.png").stat().st_size > 1000


@pytest.fixture
def untimed(monkeypatch):
    """Time nothing where speed does not matter: each measurement took a second."""
    monkeypatch.setattr(stand, "timed", lambda take, wait, count: 1.0)


def test_fewer_bits_are_measured_with_their_noise(untimed, monkeypatch):
    """By NumPy, in thin layers: a card takes the same scenarios."""
    thin = partial(stand.layered, boundaries={"layer": {"points": 2}})
    monkeypatch.setattr(fewer_bits, "layered", thin)
    monkeypatch.setattr(fewer_bits, "STEPS", 64)
    choice = BackendChoice("reference", "by NumPy", ReferenceBackend)
    (row,) = (row for row in ROWS if row.number == 33)
    worth = fewer_bits.measure(Stand(choice, replace(TINY, space=8)))
    assert [side.name for side in worth.sides] == ["float32", "float16"]
    assert row.measure == ("fewer_bits", "measure")
    assert "0.0%" < worth.said.partition("noise of ")[2].partition(" ")[0] < "2.0%"


def test_what_may_move_is_measured_with_its_spread(untimed):
    """A grid so small that the front leaves out a tenth of the updates, no more."""
    discretization = discretize(from_dict(still.crossing(48)))
    assert len(phases(discretization, from_rest=True)) > 1
    worth = still.measure(Stand(choose("cpu"), replace(TINY, space=48)))
    assert worth.difference < report.CLOSE
    for side in worth.sides:
        assert side.spread[0] <= side.value <= side.spread[1]
    (row,) = (row for row in ROWS if row.number == 35)
    found = worth.as_dict()
    text = page._row(row, json.loads(json.dumps(found)))
    assert "{:.3g} to {:.3g}".format(*worth.sides[0].spread) in text
    assert "spread" not in Worth("", "s", (Side("one", 1.0),) * 2, None).as_dict()["sides"][0]


def rung_of(machine: str) -> dict:
    return rungs.Rung("one", machine, 1e9, 0.5, 0.0).as_dict()


def test_answers_that_differ_are_no_result(monkeypatch):
    """A row whose sides do not agree shows no gain."""
    stand = Stand(choose("cpu"), TINY)
    row = next(row for row in ROWS if row.number == 30)
    monkeypatch.setattr(report, "CLOSE", -1.0)
    assert "the answers differ by" in report._measured(row, stand)["failed"]
    monkeypatch.setattr(type(stand), "backend", property(lambda self: 1 / 0))
    assert "ZeroDivisionError" in report._measured(row, stand)["failed"]


def test_rows_of_several_gpus_are_read_from_what_scaling_measures():
    """Speeds are points over the best of the seconds; what is not there is missing."""
    row = {"case": "weak_elastic", "points": 10**9, "processes": 1}
    rows = [
        row | {"gpus": 1, "overlapped": [0.25, 0.2]},
        row | {"gpus": 2, "overlapped": [0.1], "turns": [0.125], "host": [0.5]},
        row | {"gpus": 2, "overlapped": [0.16], "processes": 2},
        row | {"case": "surface_384", "gpus": 2, "overlapped": [0.1], "even": [0.11]},
        {"case": "strong_128", "gpus": 1, "processes": 1, "points": 10, "overlapped": [1.0]},
        {"case": "exchange", "bytes": 2**20, "seconds": {
            "synchronous": 2e-4, "pageable": 4e-3, "copies": 1e-4, "stores": 5e-5}},
    ]  # fmt: skip
    found = several.read(rows)
    assert {n: round(r["gain"], 6) for n, r in found.items() if "gain" in r} == {
        "16": 1.1, "17": 40.0, "18": 1.25, "19": 3.125, "20": 5.0, "32": 1.6,
    }  # fmt: skip
    assert found["18"]["curve"] == ((1.0, 5.0), (2.0, 10.0))
    assert found["15"] == {"missing": "scaling.py has not measured strong_128 on 2 GPUs"}


def test_the_numbers_of_several_h200s_are_read():
    """Points a second are the grid's points over the microseconds in the file, by hand here."""
    file = RESULTS.with_name("scaling_h200.json")
    found = several.read(json.loads(file.read_text(encoding="utf-8")))
    (turns, overlapped) = found["18"]["sides"]
    assert overlapped["value"] == pytest.approx(4 * 384**3 / 2401e-6 / 1e9)
    assert turns["value"] == pytest.approx(4 * 384**3 / 2742e-6 / 1e9)
    assert [side["value"] for side in found["17"]["sides"]] == pytest.approx(
        [1516.8, 43.1, 14.3, 13.4]
    )
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    assert {n: kept[n] for n in found} == json.loads(json.dumps(found))


def test_what_several_h200s_take_is_what_a_plan_expects():
    """From the time of one: what is computed, halos and meetings add up."""
    file = RESULTS.with_name("scaling_h200.json")
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    taken = {(c["case"], c["gpus"]): 1e-6 * c["overlapped"] for c in cases if c["processes"] == 1}
    card, compared = Device(0), 0
    setups = {key: discretize(from_dict(scaling.scenario(*key))) for key in taken}
    for (case, gpus), seconds in taken.items():
        alone, discretization = setups[case, 1], setups[case, gpus]
        if gpus > 1 and discretization.grid.size >= gpus << 20:
            rate = alone.grid.size / taken[case, 1]
            division = divide(discretization, card, HypotheticalRanks(gpus), (gpus, 1))
            expected = step_seconds(discretization, card, rate, division)
            assert expected == pytest.approx(seconds, rel=0.1), (case, gpus)
            compared += 1
    assert compared == 10


def test_bars_are_logarithmic():
    assert report.bar(1.0, 100.0) == ""
    assert len(report.bar(10.0, 100.0)) == report.WIDTH / 2
    assert len(report.bar(100.0, 100.0)) == report.WIDTH


def test_a_row_that_does_not_exist(command_line):
    code, _, err = command_line("bench", "--ladder", 36, "gpu")
    assert code == 2
    assert "there is no row 36; choose from cpu, gpu, 1, 2" in err


def test_a_copy_of_the_ladder_comes_before_that_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    find_ladder()
    assert sys.path[0] == str(examples.HERE)
    list(examples.copy_examples("ladder", tmp_path))
    find_ladder()
    assert sys.path[0] == str(tmp_path)


def test_the_page_is_what_the_numbers_make():
    """Prose and numbers cannot part: `python benchmarks/ladder/page.py RESULTS` writes it."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert page.page(record) == page.PAGE.read_text(encoding="utf-8")


@pytest.mark.gpu
@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_a_row_on_a_card(row):
    found = report._measured(row, Stand(choose("gpu"), CARD))
    assert "failed" not in found, found


@pytest.mark.gpu
def test_every_rung_of_a_card():
    found = list(rungs.climb(Stand(choose("gpu"), CARD), "gpu"))
    assert all(rung.difference < report.CLOSE for rung in found)

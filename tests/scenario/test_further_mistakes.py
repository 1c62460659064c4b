"""Mistakes that a scenario shows alone and those of its files and places are told together."""

import random
from pathlib import Path

import pytest

import seismo
from seismo.equations.framework.registry import VARIANTS
from seismo.errors import ScenarioError
from seismo.scenario import parse
from seismo.scenario.document import filled
from test_scenario_mistakes import FLAT, SOLID

TEXT = """\
physics: elastic
grid: {extent: {x: 4 km, z: 2 km}, spacing: 20 m}
time: {duration: 1 s}
boundaries: {top: free_surface}
model:
  - {type: uniform, vp: 3 km/s, vs: 1.7 km/s, rho: 2200}
  - {type: table, path: nowhere.txt}
sources:
  - {type: explosion, position: {x: 1 km, z: 1 km}, wavelet: {type: ricker, frequency: 10 Hz}}
  - {type: explosion, position: {x: 1 km, z: 1 km}, wavelet: {type: file, path: lost.txt}}
receivers:
  - {type: line, start: {x: 0, z: 0}, end: {x: 4 km, z: 0}, count: 5}
  - {type: stations, name: listed, path: list.csv}
output: {snapshots: [{fields: [vx], steps: 5, box: {x: [1001 m, 1002 m]}}]}
"""
PLACES = [
    "model[1].path", "sources[1].wavelet.path", "receivers[1].path", "output.snapshots[0].box.x",
]  # fmt: skip
HILLS = "topography: {type: hills, hills: [{center: {x: 2 km}, height: 100 m, width: 500 m}]}\n"


def keys(text: str, folder: Path) -> list[str]:
    (folder / "list.csv").write_text("station,x,z\nA,100,0\nB,5000,0\n")
    (folder / "s.yaml").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        seismo.check(folder / "s.yaml", backend="cpu")
    return [line.split(": ")[1] for line in caught.value.messages]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"duration: 1 s": "duration: 1 km"}, ["time.duration"]),
        ({"physics: elastic": "physics: elastic\ntitel: a"}, ["titel"]),
        ({"top: free": "botom: rigid, top: free"}, ["boundaries.botom"]),
        ({"spacing: 20 m": "spacing: 20 m, order: 7"}, ["grid.order"]),
        ({"sources:\n": "sources:\n  - {type: explosion}\n"},
         ["sources[0].position", "sources[0].wavelet"]),
        ({"count: 5": "count: 5, interval: 1 m"}, ["receivers[0].interval"]),
        ({"end: {x: 4 km,": "end: {x: 9 km,"}, ["receivers[0].end.x"]),
        ({"output: {": "output: {pathh: a.h5, "}, ["output.pathh"]),
        ({"output:": "survey: {shots: each_source}\noutput:"}, ["survey.shots"]),
        ({"vs: 1.7 km/s": "vs: 1.7 km"}, ["model[0].vs"]),
        ({"boundaries:": f"{HILLS}time: {{}}\nboundaries:"}, ["time"]),
    ],
)  # fmt: skip
def test_mistakes_of_all_kinds_are_told_at_once(changes, told, tmp_path):
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    places = PLACES
    if "sources[0].position" in told:
        places = [path.replace("sources[1]", "sources[2]") for path in PLACES]
    assert sorted(keys(text, tmp_path)) == sorted([*told, *places])


def test_they_stand_in_the_order_of_the_lines(tmp_path):
    text = TEXT.replace("count: 5", "count: 5.5")
    assert keys(text, tmp_path) == [*PLACES[:2], "receivers[0].count", *PLACES[2:]]


@pytest.mark.parametrize("titled", ["", "titel: a\n"])
def test_without_its_ground_missing_files_are_told(titled, tmp_path):
    """Nothing has a place then."""
    text = TEXT.replace("boundaries:", "topography: {type: file, path: no.nc}\nboundaries:")
    told = [*["titel"] * bool(titled), "topography.path", *PLACES[:2]]
    assert sorted(keys(titled + text, tmp_path)) == sorted(told)


def test_an_entry_with_a_mistake_has_no_more_told_of_it(tmp_path):
    """Its file is looked for when it can be read."""
    text = TEXT.replace("path: list.csv", "path: list.csv, interval: 1 m")
    assert keys(text, tmp_path) == [*PLACES[:2], "receivers[1].interval", PLACES[3]]


def test_a_grid_that_cannot_be_read_has_no_places(tmp_path):
    assert keys(TEXT.replace("extent: {x: 4 km", "extent: {x: 4 s"), tmp_path) == ["grid.extent.x"]


def test_a_section_that_is_there_twice_hides_its_entries_alone(tmp_path):
    text = TEXT.replace("file, path: lost.txt", "ricker, frequency: 1 m") + "sources: []\n"
    own = ["sources[1].wavelet.frequency", "sources"]
    assert sorted(keys(text, tmp_path)) == sorted([PLACES[0], *own, *PLACES[2:]])


@pytest.mark.parametrize(("name", "dimensions"), VARIANTS)
def test_fillers_suit_every_equation(name, dimensions):
    """With a mistake in each section the rest of it is a scenario."""
    text = {2: FLAT, 3: SOLID}[dimensions].replace("physics: elastic", f"physics: {name}")
    text = text.replace("duration: 1 s", "duration: 1 m").replace("count: 5", "count: x")
    text = text.replace("frequency: 10 Hz", "frequency: 10 m").replace("vp: 3 km/s", "vp: 3 km")
    text = text.replace("output: {}", "output: {snapshots: [5], maps: [5]}")
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    scenario, entries = filled(*caught.value.read)
    assert len(entries) == 6
    assert scenario.dimensions == dimensions


def test_no_spoiled_scenario_gives_anything_but_a_scenario_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = TEXT.replace("{", "{ ").replace(",", " ,").split(" ")
    draw = random.Random(5)
    for _ in range(60):
        spoiled = list(words)
        for _ in range(draw.randint(1, 3)):
            spoiled[draw.randrange(len(words))] = draw.choice(["x", "1 km", "{}", "[]", "-1", "5"])
        Path("s.yaml").write_text(" ".join(spoiled))
        with pytest.raises(ScenarioError) as caught:
            seismo.check("s.yaml")
        assert len(set(caught.value.messages)) == len(caught.value.messages) > 0

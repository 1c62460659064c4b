"""The scenario: read once, SI afterwards, written back equal; the same keys from Python."""

import copy
import json
import pickle
import re
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from seismo.errors import ScenarioError
from seismo.runs.run import run
from seismo.scenario import Scenario, from_dict, json_schema, load, parse, template
from seismo.scenario.reference import reference, reference_of

FULL = Path(__file__).with_name("scenario_full.yaml").read_text(encoding="utf-8")


def test_a_dict_is_loaded_and_changed_as_a_file_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = parse(template("run")).model_dump(exclude_none=True)
    scenario = load(given)
    assert scenario == load(scenario) == from_dict(given)
    assert scenario.base.resolve() == tmp_path.resolve()
    assert load(scenario.changed({"time.duration": 2.0})).time.duration == 2.0
    with pytest.raises(ScenarioError, match=r"^grid\.extent.*: missing"):
        load(given | {"grid": {"spacing": 5.0}})


@pytest.mark.parametrize("given", [[{}], 3, None, b"scenario.yaml", np.zeros(2)])
def test_what_is_no_scenario_is_refused_in_one_line(given):
    for take in (load, run):
        with pytest.raises(
            ScenarioError, match="give the path of a YAML file, or a dict of its"
        ) as e:
            take(given)
        assert str(e.value).startswith(f"{type(given).__name__}: ")


def test_an_array_is_led_to_a_file_and_a_number_of_no_axes_is_one():
    given = parse(template("run")).model_dump(exclude_none=True)
    uniform = {"type": "uniform", "vp": 3000.0, "vs": 1700.0, "rho": np.array(2200)}
    given |= {"model": [uniform], "time": {"duration": np.array("2 s")}}
    given["grid"]["order"] = np.array(4)
    scenario = load(given)
    assert (scenario.model[0].rho, scenario.time.duration, scenario.grid.order) == (2200.0, 2.0, 4)
    given["model"] = [uniform | {"vp": np.full((3, 4), 3000.0)}]
    message = r"^model\[0\].vp: array of shape \[3, 4\]: an array .*'type': 'array', 'vp': array"
    with pytest.raises(ScenarioError, match=message):
        load(given)
    given["model"] = np.full((3, 4), 3000.0)
    with pytest.raises(ScenarioError, match=message.replace(r"\[0\].vp", "")) as caught:
        load(given)
    assert len(caught.value.messages) == 1
    given |= {"model": [uniform], "time": {"duration": np.zeros(2)}}
    with pytest.raises(
        ScenarioError, match=r"^time.duration: array of shape \[2\]: must be a numb"
    ):
        load(given)


def test_every_kind_of_part_is_read_into_si():
    scenario = parse(FULL)
    assert scenario.dimensions == 3
    assert scenario.grid.extent.x == 4000.0
    assert (scenario.grid.origin.x, scenario.grid.origin.z) == (-1000.0, 100.0)
    assert scenario.time.step == 0.001
    assert scenario.boundaries.layer.alpha == 3.0
    assert scenario.model[0].rho == 2200.0
    assert scenario.model[1].layers[0].vp_gradient == 0.5
    assert scenario.model[3].rows[1] == (1000.0, 3000.0, 1500.0, 2300.0)
    assert scenario.model[7].vp.units == "km/s"
    assert scenario.model[9].points == ((0.0, 1000.0), (2000.0, 1500.0))
    assert scenario.model[10].points[2] == (500.0, 2000.0)
    assert scenario.sources[0].components.tp == -2e17
    assert scenario.sources[0].position.depth == 14000.0
    assert scenario.sources[2].force.z == 1000.0
    assert scenario.receivers[0].positions[0].code == "CI.PAS.00"
    assert scenario.receivers[2].z == (100.0, 100.0, 1)
    assert scenario.geographic.azimuth == 20.0
    assert (scenario.event.time, scenario.event.at) == ("2008-07-29T18:42:15.500000Z", 3.5)
    assert (scenario.event.id, scenario.event.name) == ("ci14383980", "Chino Hills")


def test_an_origin_time_is_in_utc_unless_it_says_otherwise():
    for time in ("2008-07-29 18:42:15", datetime(2008, 7, 29, 18, 42, 15), "2008-07-29T18:42:15Z"):
        event = {"time": time, "id": "", "name": ""}
        scenario = from_dict(parse(template("a")).model_dump() | {"event": event})
        assert scenario.event.time == "2008-07-29T18:42:15Z"
    with pytest.raises(ScenarioError, match=r"event\.time: .*write ISO 8601 in UTC, such as 2008"):
        parse(template("a") + "event: {time: 29.7.2008}\n")


def test_a_scenario_written_out_loads_back_equal():
    scenario = parse(FULL)
    written = scenario.to_yaml()
    again = parse(written, "again.yaml")
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert again.to_yaml() == written
    assert from_dict(scenario.model_dump()) == scenario


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=40).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)))
def test_any_title_survives_the_way_through_yaml(title):
    scenario = parse(template("x")).model_copy(update={"title": title})
    assert parse(scenario.to_yaml()).title == title


def test_scenarios_that_differ_are_not_equal():
    text = template("a")
    assert parse(text) == parse(text, "other/name.yaml")
    assert parse(text) != parse(text.replace("0.8 s", "0.9 s"))
    assert parse(text) != text


def test_one_length_is_the_spacing_of_all_axes():
    flat = parse(template("a")).grid.spacing
    assert (flat.x, flat.y, flat.z) == (5.0, None, 5.0)
    solid = parse(FULL.replace("{x: 20 m, y: 20 m, z: 10 m}", "25 m")).grid.spacing
    assert (solid.x, solid.y, solid.z) == (25.0, 25.0, 25.0)


@pytest.mark.parametrize(
    ("physics", "quantity"),
    [("elastic", "velocity"), ("acoustic", "pressure"), ("acoustic_variable_density", "pressure")],
)
def test_quantities_left_out_follow_the_physics(physics, quantity):
    text = re.sub(r" *quantities: .*\n", "", template("a")).replace("[vx, vz]", "[pressure]")
    scenario = parse(text.replace("physics: elastic ", f"physics: {physics} "))
    assert scenario.receivers[0].quantities == (quantity,)


def test_a_scenario_stays_as_it_was_checked_and_says_how_to_make_another():
    scenario = parse(template("a"))
    with pytest.raises(ScenarioError, match=r"^order: .* scenario\.changed\({'time\.duration'"):
        scenario.grid.order = 4
    assert scenario == parse(template("a"))


def test_a_changed_scenario_is_what_the_changed_file_would_be(tmp_path):
    text = template("a")
    scenario = parse(text, str(tmp_path / "a.yaml"))
    changed = scenario.changed({"time.duration": "900 ms", "boundaries.layer.points": 12})
    assert changed.time.duration == 0.9
    assert changed.boundaries.layer.points == 12
    again = changed.changed({"time.duration": "0.8 s", "boundaries.layer": None})
    assert again == scenario
    assert scenario == parse(text)
    assert (changed.base, changed.path, changed.where("time")) == (tmp_path, None, "")
    assert changed.text == changed.to_yaml() != scenario.to_yaml()
    assert parse(changed.text) == changed


def test_what_was_left_out_is_still_left_out_of_a_changed_scenario():
    text = re.sub(r" *quantities: .*\n", "", template("a")).replace("[vx, vz]", "[pressure]")
    scenario = parse(text)
    assert scenario.receivers[0].quantities == ("velocity",)
    changed = scenario.changed({"physics": "acoustic"})
    assert changed.receivers[0].quantities == ("pressure",)


def test_changes_take_parts_of_scenarios_and_lists():
    scenario = parse(FULL)
    force = scenario.sources[2]
    changed = scenario.changed({"sources": [force, force], "sources[1].force.z": "3 kN"})
    assert changed.sources[0] == force
    assert [source.force.z for source in changed.sources] == [1000.0, 3000.0]
    assert scenario.sources[2].force.z == 1000.0


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("time.duration", -0.2, r"^time\.duration: -0\.2: must be a number in s, above 0$"),
        ("tim.duration", 1, r"^tim: unknown key; did you mean 'time'"),
        ("output.pth", None, r"^output\.pth: no value: unknown key; did you mean 'path'"),
        ("boundaries.bottom", "free_surface", r"^boundaries\.bottom: .*only the top"),
        ("sources.position.x", 1, r"^s\.yaml:[0-9:]+: sources: is a list of 1: name one"),
        ("sources[1].position.x", 1, r"^s\.yaml:[0-9:]+: sources: has no \[1\]: it is a list of 1"),
        ("physics.name", 1, r"^s\.yaml:[0-9:]+: physics: 'elastic': is one value as it is written"),
        ("sources[-1].type", 1, r"^'sources\[-1\]\.type': give a path of keys, such as 'sou"),
        (3, 1, r"^3: give a path of keys"),
    ],
)
def test_a_change_that_will_not_do_gives_one_line(key, value, says):
    with pytest.raises(ScenarioError, match=says) as caught:
        parse(template("a"), "s.yaml").changed({key: value})
    assert len(caught.value.messages) == 1


def test_a_dict_that_goes_on_changing_leaves_its_scenario_alone():
    data = parse(template("a")).model_dump()
    scenario = from_dict(data)
    data["time"]["duration"] = 0.1
    assert scenario.changed({"title": "b"}).time.duration == 0.8


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ({"duration": -0.2}, r"^time\.duration: -0\.2: must be"),
        ({"tim": 3}, r"^time\.tim: 3: unknown key"),
    ],
)
def test_an_altered_copy_is_checked_anew(update, says):
    scenario = parse(template("a"), "s.yaml")
    assert scenario.confirmed() is scenario
    assert copy.deepcopy(scenario).confirmed().path == scenario.path

    def altered(update):
        return scenario.model_copy(update={"time": scenario.time.model_copy(update=update)})

    with pytest.raises(ScenarioError, match=says):
        altered(update).confirmed()
    sound = altered({"duration": "0.2 s"}).confirmed()
    assert sound.time.duration == 0.2
    assert parse(sound.text) == sound


def test_a_scenario_survives_copy_and_pickle():
    scenario = parse(FULL, "folder/s.yaml")
    for clone in (copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario))):
        assert clone == scenario
        assert clone.base == scenario.base
        assert clone.where("physics") == "folder/s.yaml:3:1"


def test_python_takes_the_same_keys_and_units_as_yaml():
    data = {
        "physics": "acoustic",
        "grid": {"extent": {"x": "1 km", "z": 500}, "spacing": "10 m"},
        "time": {"duration": "200 ms"},
        "model": [{"type": "uniform", "vp": "2 km/s"}],
        "sources": [
            {
                "type": "pressure",
                "position": {"x": 500, "z": 250},
                "wavelet": {"type": "ricker", "frequency": "20 Hz"},
            }
        ],
    }
    scenario = from_dict(data)
    assert scenario.model[0].vp == 2000.0
    assert scenario.where("physics") == ""
    assert scenario.text == scenario.to_yaml()
    assert Scenario(**data) == scenario


def test_numbers_of_numpy_are_numbers():
    line = "survey: {line: {start: {x: 100, z: 50}, end: {x: 200, z: 50}, count: 3}}"
    scenario = parse(template("a") + line).changed({
        "grid.order": np.int64(4), "grid.decomposition": (np.int32(2), 1),
        "survey.batch": np.uint8(3), "survey.line.count": np.int16(5),
        "time.duration": np.float32(0.5),
    })  # fmt: skip
    assert (scenario.grid.order, scenario.grid.decomposition) == (4, (2, 1))
    assert (scenario.survey.batch, scenario.survey.line.count) == (3, 5)
    assert parse(scenario.to_yaml()) == scenario
    for no_number in (np.float64(4.0), np.bool_(True), True):
        for key, allowed in (("grid.order", "auto, or one of 2"), ("survey.batch", "at least")):
            with pytest.raises(ScenarioError, match=rf"^{key}: .*{allowed}"):
                scenario.changed({key: no_number})


def test_parts_within_a_dict_are_checked_anew():
    scenario = parse(template("a"))
    altered = scenario.time.model_copy(update={"duration": -1.0})
    with pytest.raises(ScenarioError, match=r"^time\.duration: -1\.0: must be"):
        from_dict(scenario.model_dump(exclude_none=True) | {"time": altered})


def test_python_gets_the_same_messages_without_a_file():
    with pytest.raises(ScenarioError) as caught:
        from_dict({"physics": "elastc", "grid": {"extent": {"x": "1 kg", "z": 1}}})
    assert caught.value.messages[0].startswith("physics: 'elastc': must be one of acoustic,")
    assert caught.value.messages[1].startswith("grid.extent.x: '1 kg': ")


def test_a_broken_rule_stops_direct_construction_too():
    data = parse(template("a")).model_dump()
    data["boundaries"]["bottom"] = "free_surface"
    with pytest.raises(ValidationError, match=r"boundaries\.bottom: only the top"):
        Scenario(**data)


def test_load_keeps_the_folder_the_text_and_the_lines(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(template("run"), encoding="utf-8")
    scenario = load(file)
    assert scenario.base == tmp_path
    assert scenario.path == file
    assert scenario.text == template("run")
    assert scenario.resolve("vp.npy") == tmp_path / "vp.npy"
    assert scenario.resolve("/data/vp.npy").as_posix() == "/data/vp.npy"
    line = 1 + template("run").split("\n").index("  duration: 0.8 s")
    assert scenario.where("time", "duration") == f"{file}:{line}:3"
    assert scenario.where("time", "step") == f"{file}:{line - 1}:1"
    error = scenario.mistake("time", "duration", problem="too long")
    assert str(error) == f"{file}:{line}:3: time.duration: '0.8 s': too long"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty: a scenario begins like 'physics: elastic'"),
        (b"- 1\n", "not a mapping"),
        (b"a: \xff\n", ":1: not UTF-8 text"),
        ("a: 1".encode("utf-16"), ":1: not UTF-8 text"),
        (
            b"\x89HDF\r\n\x1a\n",
            "is an HDF5 file (`seismo info` describes results), not text; give a",
        ),
        (b"\x89PNG\r\n\x1a\n", "is a picture, not text; give a scenario, a YAML file"),
        (b"a\0\xff", "is a binary file, not text"),
        (b"#" * (2 << 20), "larger than"),
    ],
)
def test_a_file_that_is_no_scenario_gives_one_line(tmp_path, content, says):
    file = tmp_path / "run.yaml"
    file.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load(file)
    (message,) = caught.value.messages
    assert message.startswith(str(file))
    assert says in message


@pytest.mark.parametrize("name", ["absent.yaml", ".", "nul\0.yaml"])
def test_a_file_that_cannot_be_read_gives_one_line(tmp_path, name):
    with pytest.raises(ScenarioError, match="cannot be read: "):
        load(f"{tmp_path}/{name}")


def test_a_byte_order_mark_does_no_harm(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(template("run"), encoding="utf-8-sig")
    assert load(file) == parse(template("run"))


def test_the_template_is_small_elastic_and_names_its_results():
    scenario = parse(template("first-try"))
    assert scenario.physics == "elastic"
    assert scenario.dimensions == 2
    assert "first-try" in scenario.title
    points = scenario.grid.extent.x * scenario.grid.extent.z / scenario.grid.spacing.x**2
    assert points < 1e5  # a run of seconds
    for name in ("../x", "", "a b", "-x", "x" * 65, "a\n"):
        with pytest.raises(ScenarioError, match="is not a name"):
            template(name)


def test_the_json_schema_knows_every_key_of_a_full_scenario():
    schema = json_schema()
    assert json.loads(json.dumps(schema)) == schema
    definitions = schema["$defs"]
    assert definitions["GridSpec"]["properties"]["order"]["anyOf"][1]["enum"][-1] == 16
    assert definitions["Layer"]["properties"]["vp"]["anyOf"][0]["x-unit"] == "m/s"
    assert schema["additionalProperties"] is False
    for name, definition in [("Scenario", schema), *definitions.items()]:
        for key, item in definition["properties"].items():
            assert key == "type" or item.get("description"), f"{name}.{key} has no description"


@pytest.mark.parametrize("key", ["sources", "sources[0]", "sources[]"])
def test_the_reference_of_a_key_holds_what_is_below_it_once(key):
    text = reference_of(key)
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles[0] == "## `sources[]` (type: explosion)"
    assert "## `sources[].force`" in titles
    assert all(title.startswith("## `sources[]") for title in titles)
    assert titles.count("## `sources[].wavelet` (type: ricker)") == 1
    line, tables = text.split("\n\n", 1)
    assert line == "`sources`: a list; *required*; sources, acting together"
    assert tables in reference()


def test_the_reference_of_a_single_value_is_its_line():
    rows = [line for line in reference_of("time.step").splitlines() if line.startswith("| `")]
    assert rows == [line for line in reference().splitlines() if line.startswith("| `step`")]
    assert "| `physics` |" in reference_of("physics")
    assert "| `grid` |" not in reference_of("physics")


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("grid.refinement", "auto, or a list"),
        ("grid.spacing", "a number in m, above 0, or auto, or keys x, y, z"),
        ("grid.refinement.factor", "3"),
        ("receivers.x", "a number in m, or a list of 3 values"),
        ("model.correlation", "a number in m, above 0, or keys x, y, z"),
        ("model.properties", "a list of some of these keys, or keys vp, vs, rho"),
        ("survey.shots.position", "one of x, y, z; longitude, latitude, depth"),
    ],
)
def test_the_reference_names_every_way_to_write_a_key(key, wanted):
    text = reference_of(key)
    assert f"| {wanted}" in text or f"`{key}`: {wanted};" in text.splitlines()[0]


def test_the_reference_of_no_key_names_the_nearest():
    with pytest.raises(
        ScenarioError, match=r"^time.stpe: .* no such key; did you mean 'time.step'"
    ):
        reference_of("time.stpe")


def test_the_reference_lists_every_key_with_unit_default_and_range():
    text = reference()
    assert "| `courant` | a number, at least 0.001, at most 1 | `0.9` |" in text
    assert "| `vp` | a number in m/s, above 0 | *optional* | P velocity |" in text
    assert "| `c11` | a number in Pa, above 0, at most 1e+13 | *optional* |" in text
    assert "## `model[]` (type: sphere)" in text
    assert "## `sources[].wavelet` (type: ricker)" in text
    keys = {
        key for definition in json_schema()["$defs"].values() for key in definition["properties"]
    }
    assert {key for key in keys if f"| `{key}` |" not in text} == set()


def with_parts(parts: str) -> str:
    return template("x").replace("grid:\n", f"grid:\n  decomposition: {parts}\n", 1)


@pytest.mark.parametrize(("parts", "wanted"), [("auto", "auto"), ("[2, 3]", (2, 3))])
def test_parts_are_auto_or_two_counts(parts, wanted):
    scenario = parse(with_parts(parts))
    assert scenario.grid.decomposition == wanted
    assert parse(scenario.to_yaml()) == scenario


@pytest.mark.parametrize("parts", ["4", "[2]", "[2, 0]", "[2, 2.0]", "2x2", "[1, 2, 3]"])
def test_other_parts_are_one_line(parts):
    with pytest.raises(ScenarioError, match="auto, or a list of 2 whole numbers, at least 1"):
        parse(with_parts(parts))

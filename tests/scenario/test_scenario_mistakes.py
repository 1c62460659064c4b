"""Every mistake is told with its line, key, value and remedy, and all of them at once."""

import copy
import json
import pickle
import re
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ModelError, ScenarioError
from seismo.scenario import from_dict, json_schema, parse
from seismo.scenario.mistakes.continuation import possible_value
from seismo.scenario.quantities import impossible

FLAT = """\
physics: elastic
grid: {extent: {x: 4 km, z: 2 km}, spacing: 10 m}
time: {duration: 1 s}
boundaries: {}
model:
  - {type: uniform, vp: 3 km/s, vs: 1.7 km/s, rho: 2200}
sources:
  - {type: explosion, position: {x: 1 km, z: 1 km}, wavelet: {type: ricker, frequency: 10 Hz}}
receivers:
  - {type: line, start: {x: 0, z: 0}, end: {x: 4 km, z: 0}, count: 5}
output: {}
"""
SOLID = (
    FLAT.replace("{x: 4 km, z: 2 km}", "{x: 4 km, y: 3 km, z: 2 km}")
    .replace("{x: 1 km, z: 1 km}", "{x: 1 km, y: 1 km, z: 1 km}")
    .replace("{x: 0, z: 0}", "{x: 0, y: 0, z: 0}")
    .replace("{x: 4 km, z: 0}", "{x: 4 km, y: 0, z: 0}")
)
SURFACE = "{type: line, start: {x: 0, z: 0}, end: {x: 4 km, z: 0}, count: 5}"
EXPLOSION = (
    "{type: explosion, position: {x: 1 km, z: 1 km}, wavelet: {type: ricker, frequency: 10 Hz}}"
)
UNIFORM = "{type: uniform, vp: 3 km/s, vs: 1.7 km/s, rho: 2200}"
LAYER = "{type: layers, layers: [{top: 0, vp: 3 km/s, vs: 1.7 km/s, rho: 2200}]}"
HALF_MOMENT = (
    "{type: moment_tensor, position: {x: 1 km, z: 1 km}, wavelet: {type: ricker, frequency: 1}"
)
FORCE = "{type: force, position: {x: 1 km, z: 1 km}, wavelet: {type: ricker, frequency: 1}"


def mistakes(text: str) -> tuple[str, ...]:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "s.yaml")
    return caught.value.messages


@pytest.mark.parametrize("text", [FLAT, SOLID])
def test_the_scenarios_that_are_spoiled_below_are_good(text):
    parse(text)


def test_a_volume_that_changes_nothing_and_is_not_there_is_told_of_both():
    changed, lost = mistakes(FLAT.replace(UNIFORM, UNIFORM + "\n  - {type: volume, path: no.nc}"))
    assert "model[1]: changes nothing" in changed
    assert lost == "s.yaml:7:20: model[1].path: 'no.nc': no such file as no.nc"


@pytest.mark.parametrize("rho", [1.2, 10.0])
def test_the_density_of_air_or_foam_is_one(rho):
    assert parse(FLAT.replace("rho: 2200", f"rho: {rho}")).model[0].rho == rho


CASES = yaml.safe_load(Path(__file__).with_name("scenario_mistakes.yaml").read_text("utf-8"))


def spoiled(case: dict) -> str:
    """Give a good scenario with the mistake of a case."""
    text = {"flat": FLAT, "solid": SOLID}[case["base"]]
    for old, new in case["replace"]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_a_mistake_is_told_with_place_key_value_and_remedy(case):
    """The place is checked against the text: the key stands there, or what should hold it."""
    text = spoiled(case)
    found = mistakes(text)
    assert found[0] == case["message"]
    assert len(found) == 1 + case.get("others", 0)

    place, path, *rest = found[0].split(": ")
    line, column = (int(number) for number in place.split(":")[1:])
    there = text.splitlines()[line - 1][column - 1 :]
    *_, holder, key = ["", *re.findall("[a-z_]+", path)]
    if rest[0] != "missing" and not path.endswith("]") and f"{key}:" in there:
        assert there.startswith(f"{key}:")
    else:
        assert there.startswith(("{", "[", f"{holder}:", rest[0].strip("'")))


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines():
    text = (
        FLAT.replace("physics: elastic", "physics: elastic\ntitel: x")
        .replace("spacing: 10 m", "spacing: 10 m, order: 017")
        .replace("duration: 1 s", "duration: 1 km")
        .replace("{x: 1 km, z: 1 km}", "{x: 9 km, z: 1 km}")
        .replace("count: 5", "count: 5, quantities: [speed]")
        .replace("output: {}", "output: {}\noutput: {}")
    )
    found = mistakes(text)
    assert [line.split(": ")[1] for line in found] == [
        "titel", "grid.order", "time.duration", "sources[0].position.x",
        "receivers[0].quantities[0]", "output",
    ]  # fmt: skip
    # A grid that cannot be read at all cannot be compared with the source.
    found = mistakes(text.replace("order: 017", "origin: 1 s"))
    assert [line.split(": ")[1] for line in found][1:4] == [
        "grid.origin", "time.duration", "receivers[0].quantities[0]",
    ]  # fmt: skip


def test_mistakes_can_be_sent_to_another_process():
    """A pool of processes sends them back; who asks there reads the places, too."""
    with pytest.raises(ScenarioError) as caught:
        parse(FLAT.replace("duration: 1 s", "duration: 1 km"), "s.yaml")
    for error in (caught.value, ModelError("too small", "layers", 1)):
        for same in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
            assert same.messages == error.messages
            assert same.messages[0].key == error.messages[0].key
            assert same.messages[0].line_column == error.messages[0].line_column


SNAPSHOT = "{fields: [vx], interval: 0}"
LOSSY = "{top: 0 m, vp: 3 km/s, vs: 1.7 km/s, rho: 2.4 g/cm3, qp: 100, qs: 50}"


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ("qs: 50", "qs: 5O", ["model[0].layers[0].qs"]),
        ("vs: 1.7 km/s", "vs: 1.7 km", ["model[0].layers[0].vs"]),
        ("rho: 2.4 g/cm3", "rho: 2.4, colour: red",
         ["model[0].layers[0].rho", "model[0].layers[0].colour"]),
        (LOSSY, "{top: x, qp: 100}", ["model[0].layers[0].top"]),
        ("type: layers", "type: layerz", ["model[0].type"]),
        ("x: 4 km, z: 2 km}", "x: 5 km, z: 2 km}, origen: {x: -1 km}, order: 7",
         ["grid.origen", "grid.order"]),
        ("type: line", "type: line, relatve_to: source", ["receivers[0].relatve_to"]),
        ("type: line", "type: line, interval: 0", ["receivers[0].interval"]),
        ("output: {}", "output: {snapshots: [{fields: [vx], interval: 2 m}]}",
         ["output.snapshots[0].interval"]),
        ("explosion,", "pressure, amplitude: 1 Pa m, nmae: a,",
         ["sources[0].amplitude", "sources[0].nmae"]),
    ],
)  # fmt: skip
def test_a_mistake_brings_no_others(old, new, paths):
    text = FLAT.replace("output: {}", "attenuation: {law: kolsky}\noutput: {}")
    text = text.replace(UNIFORM, f"{{type: layers, layers: [{LOSSY}]}}")
    parse(text)
    assert old in text
    found = mistakes(text.replace(old, new))
    assert [line.split(": ")[1] for line in found] == paths


def test_mistakes_in_one_section_hide_none_of_the_others():
    text = (
        FLAT.replace("x: 4 km, z: 2 km}", "x: 4 km, z: 2 km}, order: 7")
        .replace("frequency: 10 Hz", "frequency: 10 s")
        .replace("{x: 1 km, z: 1 km}", "{x: 9 km, z: 1 km}")
        .replace("count: 5", "count: 5.5, quantities: [pressure], interval: 1 m")
        .replace("output: {}", f"output: {{snapshots: [{SNAPSHOT}, {{steps: 1, fields: [q]}}]}}")
    )  # fmt: skip
    assert [line.split(": ")[1] for line in mistakes(text)] == [
        "grid.order", "sources[0].position.x", "sources[0].wavelet.frequency",
        "receivers[0].count", "receivers[0].interval", "output.snapshots[0].interval",
        "output.snapshots[1].name", "output.snapshots[1].fields[0]",
    ]  # fmt: skip


_ENTRY = "fields: [q], steps: 1"


@pytest.mark.parametrize(
    ("entry", "paths"),
    [
        (f"{{{_ENTRY}, box: {{x: 5}}}}", [".box.x", ".fields[0]"]),
        (f"{{{_ENTRY}, plane: 5}}", [".plane", ".fields[0]"]),
        (f"{{{_ENTRY}, interval: 1}}", ["", ".fields[0]"]),
        ("{fields: 5, steps: 1, box: {x: [0, 9e9]}}", [".fields", ".box.x"]),
        ("{fields: [q], interval: 1, start: 3, stop: 2}", ["", ".fields[0]"]),
        ("5", [""]),
    ],
)
def test_a_mistake_in_output_hides_no_others_of_it(entry, paths):
    others = "{name: b, fields: [vx], interval: 1, start: 5}], maps: [{quantities: [pgv_y]}]"
    found = mistakes(FLAT.replace("output: {}", f"output: {{snapshots: [{entry}, {others}}}"))
    of_entry = [f"output.snapshots[0]{path}" for path in paths]
    others = ["output.snapshots[1].start", "output.maps[0].quantities[0]"]
    assert sorted(line.split(": ")[1] for line in found) == sorted(of_entry + others)


def test_snapshots_that_are_no_list_hide_no_mistakes_of_maps():
    text = FLAT.replace("output: {}", "output: {snapshots: 5, maps: [{quantities: [pgv_y]}]}")
    assert [line.split(": ")[1] for line in mistakes(text)] == [
        "output.snapshots", "output.maps[0].quantities[0]",
    ]  # fmt: skip


def test_a_misspelt_type_hides_nothing_of_its_section():
    text = FLAT.replace("type: line", "type: lines").replace("count: 5", "cuont: 5, interval: 0")
    text = text.replace(UNIFORM, UNIFORM.replace("uniform", "unifrom").replace("2200", "2.2"))
    assert [line.split(": ")[1] for line in mistakes(text)] == [
        "model[0].type", "model[0].rho", "receivers[0].type", "receivers[0].cuont",
        "receivers[0].interval",
    ]  # fmt: skip
    # A word for something else says nothing of the keys that follow.
    (message,) = mistakes(FLAT.replace("type: uniform", "type: grid"))
    assert "model[0].type: 'grid': must be one of" in message


@pytest.mark.parametrize("parameter", PARAMETERS.values(), ids=str)
def test_every_parameter_has_a_value_that_stands_in_for_a_mistake(parameter):
    assert not impossible(parameter, possible_value(parameter))
    assert possible_value(parameter) != parameter.default


def test_a_misspelt_required_key_is_one_mistake():
    (message,) = mistakes(FLAT.replace("frequency", "freqency"))
    assert message.endswith("unknown key; did you mean 'frequency'?")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("duration: 1 s", "duration: 1 s, dt: 1 ms", "step"),
        ("output: {}", "dt: 1 ms", "time.step"),
        ("extent: {", "size: {", "extent"),
        ("spacing: 10 m", "dx: 10 m", "spacing"),
        ("frequency: 10 Hz", "f0: 10 Hz", "frequency"),
        (
            EXPLOSION,
            f"{HALF_MOMENT}, strike: 1, dip: 2, rake: 3, magnitude: 3, Mw: 3}}",
            "magnitude",
        ),
        ("explosion,", "explosion, M0: 1e15,", "moment"),
        ("output: {}", "top: free_surface", "boundaries.top"),
        ("duration: 1 s", "nt: 1000", "duration' (a time, not a number of steps)"),
        ("output: {}", "steps: 1000", "time.duration' (a time, not a number of steps)"),
        ("extent: {x: 4 km, z: 2 km}", "nx: 400", "extent' (a length, of which grid.spacing"),
        ("x: 4 km, z: 2 km", "nx: 4 km, z: 2 km", "x' (a length, of which grid.spacing"),
        ("boundaries: {}", "boundaries: {free_surface: true}", "top' (write top: free_surface)"),
        ("10 m", "10 m, free_surface: true", "boundaries.top' (write top: free_surface)"),
        ("boundaries: {}", "boundaries: {npml: 20}", "layer.points' (of the layers outside"),
        ("boundaries: {}", "boundaries: {layer: {thickness: 20}}", "points"),
        ("output: {}", "pml: 20", "boundaries.layer.points' (of the layers outside"),
        ("10 m", "10 m, courant: 0.5", "time.courant"),
        ("explosion,", "explosion, f0: 10,", "wavelet.frequency"),
        ("output: {}", "wavelet: {}", "sources[0].wavelet"),
        ("sources:", "source:", "sources"),
        ("receivers:", "receiver:", "receivers"),
        ("receivers:", "stations:", "receivers"),
        ("model:", "medium:", "model"),
        (UNIFORM, LAYER.replace("top", "thickness"), "top' (the depth where it begins, not how"),
        ("spacing: 10 m", "spacing: 10 m, origin: {z: 0}, points: 5", None),
        ("spacing: 10 m", "spacing: 10 m, n: 5", None),
        ("explosion,", "pressure, Mw: 3,", None),
    ],
)
def test_a_key_of_another_name_or_place_is_led_to_the_right_one(old, new, key):
    (message,) = mistakes(FLAT.replace(old, new, 1))
    said = f"did you mean '{key}" + "'?" * ("'" not in (key or ""))
    allowed = said if key else "allowed are "
    assert f"unknown key; {allowed}" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("count: 5", "count: 5, quantities: [vz]", "strain; did you mean 'velocity'?"),
        ("spacing: 10 m", "spacing: 10 m, accuracy: 0.5", "10 %; write 0.5 %, or 0.005, if"),
        ("type: uniform", "type: homogeneous", "water; did you mean 'uniform'?"),
        ("physics: elastic", "physics: viscoelastic", "sh; media attenuate where the model"),
        (
            "rho: 2200", "rho: 2200, Qp: 50",
            "Qp: 50: unknown key; did you mean 'qp'?",
        ),
    ],
)  # fmt: skip
def test_what_is_called_otherwise_elsewhere_or_is_not_there_is_told(old, new, said):
    assert said in mistakes(FLAT.replace(old, new))[0]


def test_what_is_told_of_shots_leads_to_a_survey():
    two = FLAT.replace(EXPLOSION, f"{EXPLOSION}\n  - {EXPLOSION}").replace("output: {}\n", "")
    (message,) = mistakes(two + "shots: each_source\n")
    assert "did you mean 'survey.shots' (a list of {position: ...}, between which the" in message
    shots = "survey: {shots: [{position: {x: 1 km, z: 1 km}}, {position: {x: 2 km, z: 1 km}}]}\n"
    (message,) = mistakes(two + shots)
    assert message.endswith("keep one in sources, and list its positions in shots; other sources "
                            "are runs of their own")  # fmt: skip
    one = FLAT.replace("output: {}\n", "")
    assert len(parse(one + shots).survey.shots) == 2
    # A word in the list is no position.
    (message,) = mistakes(one + "survey: {shots: [each_source]}\n")
    assert message.endswith("must be a mapping with the keys name, position")


def test_misspelt_components_are_those_of_the_frame():
    tensor = f"{HALF_MOMENT}, frame: gcmt, components: {{Mrr: 1e12, Mtp: 2e12, rt: 0}}}}"
    found = mistakes(FLAT.replace(EXPLOSION, tensor))
    assert [line.split("unknown key; ")[1] for line in found] == [
        f"did you mean '{name}'?" for name in ("rr", "tp")
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{duration: 1 s}", "\n  duration:1 s", "3:1: time: 'duration:1 s': "),
        ("{duration: 1 s}", "{duration:1 s}", "3:8: time.duration: 'duration:1 s': "),
        (UNIFORM, "type:uniform", "6:5: model[0]: 'type:uniform': "),
        ("physics: elastic", "physics:elastic  # a:b", "1:1: 'physics:elastic': "),
        (
            "{duration: 1 s}",
            "\n  duration: 1 s\n  courant:0.5\n  step: 1 ms",
            "5:3: 'courant:0.5': ",
        ),
        (f"  - {UNIFORM}", "  - type:uniform\n    vp: 3", "6:3: '- type:uniform': "),
    ],
)
def test_a_space_that_is_missing_behind_a_colon_is_told(old, new, said):
    (message,) = mistakes(FLAT.replace(old, new))
    right = said.split("'")[1].removeprefix("- ").replace(":", ": ")
    assert message == f"s.yaml:{said}put a space behind the colon: '{right}'"


def test_a_space_that_is_missing_elsewhere_is_told():
    (message,) = mistakes("duration:1 s\n")
    assert message == "s.yaml: put a space behind the colon: 'duration: 1 s'"
    (message,) = mistakes(FLAT.replace("duration: 1 s", "duration:\u00a01 s"))
    assert message.endswith("'duration:\\xa01 s': put a space behind the colon: 'duration: 1 s'")
    (message,) = mistakes(FLAT.replace(f"  - {UNIFORM}", "  -type: uniform\n  - vp: 3"))
    assert message.endswith("'-type: uniform': put a space behind the dash: '- type: uniform'")


@pytest.mark.parametrize("title", ["a:b", "'a:b'", "http://a", "C:\\a"])
def test_a_colon_within_a_text_is_no_mistake(title):
    assert parse(f"title: {title}\n{FLAT}").title == title.strip("'")


@pytest.mark.parametrize("extent", ["{x: 4, z: 2}", "{x: 4, z: 2 km}", "{x: 4 km, z: 2}"])
def test_an_extent_without_its_unit_brings_no_positions_outside(extent):
    count = extent.count("4,") + extent.count("2}")
    found = mistakes(FLAT.replace("{x: 4 km, z: 2 km}", extent))
    assert len(found) == count
    assert all("is less than grid.spacing, 10 m; did you mean" in line for line in found)


def test_a_flood_of_mistakes_is_cut():
    points = ", ".join("{x: -1, z: 1}" for _ in range(200))
    found = mistakes(FLAT.replace(SURFACE, f"{{type: points, positions: [{points}]}}"))
    assert len(found) == 51
    assert found[-1] == "s.yaml: and 150 more mistakes"


def test_a_position_on_the_face_is_inside_despite_rounding():
    """0.1 * 7 is above 0.7 by one unit in the last place."""
    assert 0.1 * 7 > 0.7
    small = FLAT.replace("{x: 4 km, z: 2 km}", "{x: 0.7, z: 0.9}").replace("10 m", "0.1")
    end = f"{{x: {0.1 * 7!r}, z: 0}}"
    parse(small.replace("{x: 1 km, z: 1 km}", "{x: 0.1, z: 0.1}").replace("{x: 4 km, z: 0}", end))


@pytest.mark.parametrize(
    ("physics", "source"),
    [
        ("acoustic", "pressure"), ("acoustic", "explosion"),
        ("acoustic_variable_density", "force"), ("elastic", "pressure"), ("elastic_sh", "force"),
    ],
)  # fmt: skip
def test_the_sources_an_equation_has_are_accepted(physics, source):
    force = ", force: {y: 1}" if physics == "elastic_sh" else ", force: {z: 1}"
    extra = f"type: {source}" + (force if source == "force" else "")
    parse(FLAT.replace("physics: elastic", f"physics: {physics}").replace("type: explosion", extra))


def test_a_tensor_of_sh_waves_is_accepted():
    tensor = f"{HALF_MOMENT}, components: {{xy: 1, yz: 2}}}}"
    parse(FLAT.replace("physics: elastic", "physics: elastic_sh").replace(EXPLOSION, tensor))


_SNIPPETS = st.sampled_from(
    [
        "type", "x", "1 km", "017", "null", "{}", "[]", "[1, 2]", ".inf", "1e3", "yes", "-1", "'",
        ":", "{a: b}", "é\x85",
    ]
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_spoiled_text_gives_anything_but_a_scenario_error(data):
    """Random words of a good scenario are replaced: it still loads, or says what is wrong."""
    words = (
        data.draw(st.sampled_from([FLAT, SOLID])).replace("{", "{ ").replace(",", " ,").split(" ")
    )
    for _ in range(data.draw(st.integers(1, 4))):
        words[data.draw(st.integers(0, len(words) - 1))] = data.draw(
            _SNIPPETS | st.text(max_size=4)
        )
    text = " ".join(words)
    try:
        scenario = parse(text, "s.yaml")
    except ScenarioError:
        for message in mistakes(text):
            assert message.startswith("s.yaml:")
            assert "\n" not in message
            assert not re.search(
                r"\|(uniform|explosion|ricker|line|x, y, z)", message.split(": ")[1]
            )
    else:
        assert parse(scenario.to_yaml()) == scenario


_SECTIONS = ["physics", "grid", "time", "model", "sources", "receivers", "survey", "output"]
_KEYS = st.text(max_size=4) | st.integers() | st.sampled_from(["type", "x", "vp", "fields"])
_TYPES = st.sampled_from(["uniform", "layers", "force", "line"])
_INSIDE = st.sampled_from(["layers", "vp", "position", "name", "start"])
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=2)
)
_ANYTHING = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_KEYS, inner, max_size=3)
        | st.builds(
            lambda kind, rest: {"type": kind, **rest},
            _TYPES,
            st.dictionaries(_INSIDE, inner, max_size=3),
        )
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(_SECTIONS), _ANYTHING))
def test_no_python_data_gives_anything_but_a_scenario_error(data):
    with pytest.raises(ScenarioError) as caught:
        from_dict(data)
    assert all("\n" not in message for message in caught.value.messages)


@pytest.mark.parametrize("data", [None, 5, [], "physics: elastic", {}, {1: 2}])
def test_python_data_that_is_no_scenario_is_refused(data):
    with pytest.raises(ScenarioError):
        from_dict(data)


def test_a_grid_just_above_the_limit_is_told_from_it():
    text = "grid: {extent: {x: 100 km, y: 100 km, z: 100 km}, spacing: 10 m}\n"
    with pytest.raises(ScenarioError, match=r"makes 1\.0003e\+12 points, 1e\+12 is the limit"):
        parse(text)


MANY = 10_000
LINE = "{type: line, start: {x: 0, z: 0}, end: {x: 4 km, z: 0}, count: 5, quantities: [%s]}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SURFACE, LINE % ", ".join(["v"] * MANY)),
        (SURFACE, LINE % ", ".join(["velocity"] * MANY)),
        (SURFACE, LINE % ", ".join(f"v{n}" for n in range(MANY))),
        ("output: {}", "\n".join(f"key{n}: 1" for n in range(MANY))),
        ("order: 8", ", ".join(f"key{n}: 1" for n in range(MANY))),
        ("output: {}", f"output: {{snapshots: [{{interval: 1 s, fields: [{'vq, ' * MANY}]}}]}}"),
    ],
)
def test_very_many_mistakes_take_no_longer_than_as_many_values(old, new):
    """Each was compared with all others: 10 s of CPU where this takes a third of one."""
    before = time.process_time()
    found = mistakes(FLAT.replace("spacing: 10 m", "spacing: 10 m, order: 8").replace(old, new))
    assert time.process_time() - before < 4.0
    assert len(found) == 51
    assert re.fullmatch(r"s\.yaml: and (9949|9950) more mistakes", found[-1])
    assert all(line.startswith("s.yaml:") for line in found)


def test_the_first_lines_of_very_many_mistakes_are_explained():
    entries = ", ".join(["velocity"] * 3 + ["velocitty"] + ["v"] * 900)
    found = mistakes(
        FLAT.replace(SURFACE, LINE % entries).replace("x: 4 km, z: 2", "x: 4 kn, z: 2")
    )
    assert "4 kn" in found[0]
    assert "quantities[3]: 'velocitty': must be one of" in found[1]
    assert "did you mean 'velocity'?" in found[49]


def test_python_data_that_is_too_deep_is_refused():
    data: list = []
    for _ in range(2000):
        data = [data]
    around: dict = {}
    around["around"] = around
    for deep in (data, around):
        with pytest.raises(ScenarioError, match="nested deeper than 32 levels, or contains itself"):
            from_dict({"physics": "elastic", "model": deep})


@pytest.mark.parametrize("name", ["topo", "DEM"])
def test_topography_under_other_names_is_led_to_its_section(name):
    (message,) = mistakes(FLAT.replace(UNIFORM, UNIFORM.replace("}", f", {name}: 0.1}}")))
    assert "unknown key; the section topography describes the ground" in message
    lines = mistakes(f"{FLAT}{name}: {{type: plane}}\n")
    assert any("did you mean 'topography'?" in line for line in lines)


@pytest.mark.parametrize("name", ["topography", "ground"])
def test_receivers_that_count_from_the_ground_are_led_to_depth(name):
    (message,) = mistakes(FLAT.replace("count: 5", f"count: 5, relative_to: {name}"))
    assert "relative_to: " in message
    assert "must be one of source; the section topography describes the ground; positi" in message


def test_layers_that_count_from_the_ground_are_led_to_it():
    layers = LAYER.replace("layers,", "layers, relative_to: topography,")
    (message,) = mistakes(FLAT.replace(UNIFORM, layers))
    assert message.endswith("must be one of ground; did you mean 'ground'?")


def test_no_quantity_is_led_to_the_ground():
    (message,) = mistakes(FLAT.replace("count: 5", "count: 5, quantities: [elevation]"))
    assert "'elevation'" in message
    assert message.endswith("strain")


@pytest.mark.parametrize("name", ["vti", "TTI", "thomsen", "orthorhombic", "eta"])
def test_anisotropy_under_other_names_is_led_to_its_parameters(name):
    (message,) = mistakes(FLAT.replace(UNIFORM, UNIFORM.replace("}", f", {name}: 0.1}}")))
    assert "unknown key; media are anisotropic where the model gives epsilon, delta" in message


@pytest.mark.parametrize("name", ["tilt", "dip_angle"])
def test_a_tilt_is_theta(name):
    (message,) = mistakes(FLAT.replace(UNIFORM, UNIFORM.replace("}", f", {name}: 20 deg}}")))
    assert "did you mean 'theta' (of the symmetry axis from z)?" in message


@pytest.mark.parametrize("name", ["tau_sigma", "tau_s", "Qmu"])
def test_attenuation_under_other_names_is_led_to_quality_factors(name):
    (message,) = mistakes(FLAT.replace(UNIFORM, UNIFORM.replace("}", f", {name}: 0.1}}")))
    assert "unknown key; media attenuate where the model gives qp or qs" in message


def test_a_finite_fault_has_a_type_of_its_own():
    (message,) = mistakes(FLAT.replace("type: explosion", "type: srf"))
    assert "did you mean 'finite_fault'?" in message


GUN = "{{type: {kind}, amplitude: {amount}, position: {{x: 1 km, z: 1 km}}, wavelet: {wavelet}}}"
PULSE = "{type: ricker, frequency: 10 Hz}"


@pytest.mark.parametrize(
    ("kind", "amount", "value"),
    [
        ("pressure", "2.0e+5 Pa", 2e5), ("pressure", "2 bar", 2e5), ("pressure", "3", 3.0),
        ("volume_rate", "2 m2/s", 2.0), ("volume_rate", "3", 3.0),
    ],
)  # fmt: skip
def test_amounts_of_a_plane_may_have_their_unit(kind, amount, value):
    source = GUN.format(kind=kind, amount=amount, wavelet=PULSE)
    assert parse(FLAT.replace(EXPLOSION, source)).sources[0].amplitude == value
    assert not mistakes_of_volume(
        kind, amount.replace("m2", "m3") + " m" * amount[-1:].isalpha() * (kind == "pressure")
    )


def mistakes_of_volume(kind: str, amount: str) -> list[str]:
    wavelet = PULSE
    source = GUN.format(kind=kind, amount=amount, wavelet=wavelet).replace(
        "x: 1 km", "x: 1 km, y: 0"
    )
    text = SOLID.replace(EXPLOSION.replace("{x: 1 km, z", "{x: 1 km, y: 1 km, z"), source)
    try:
        parse(text)
    except ScenarioError as error:
        return list(error.messages)
    return []


@pytest.mark.parametrize(("kind", "amount", "needed"), [
    ("pressure", "2 Pa", "Pa m"), ("volume_rate", "1 m2/s", "m3/s"),
])  # fmt: skip
def test_amounts_of_a_volume_have_another_unit(kind, amount, needed):
    (message,) = mistakes_of_volume(kind, amount)
    assert message.endswith(f"sources[0].amplitude: '{amount}': a 3-D run needs {needed}")
    source = GUN.format(kind=kind, amount=f"2 {needed}", wavelet=PULSE)
    (message,) = mistakes(FLAT.replace(EXPLOSION, source))
    assert message.endswith(f"a 2-D run needs {amount[2:]} (per metre of y)")
    (message,) = mistakes(
        FLAT.replace(EXPLOSION, GUN.format(kind=kind, amount="2 m", wavelet=PULSE))
    )
    assert "a length where a" in message


@pytest.mark.parametrize("value", ["5e-324", "1e-300 ms", "1e-16"])
def test_a_time_that_nobody_means_is_refused(value):
    """Its reciprocal, or what it is divided by, is no number."""
    text = FLAT.replace(
        "output: {}", f"output: {{snapshots: [{{fields: [vx], interval: {value}}}]}}"
    )
    (message,) = mistakes(text)
    assert message.endswith("is shorter than 1e-15 s; check its unit")


def test_a_file_name_that_is_too_long_is_refused():
    """Asked for it, the operating system gives an error of its own."""
    table = f"{{type: table, path: deep/{'x' * 300}.csv}}"
    (message,) = mistakes(FLAT.replace(UNIFORM, table))
    assert message.endswith("has a name of more than 255 bytes, which no file has")


@pytest.mark.parametrize("value", ["5e-324", "1e-300", "1e-10"])
def test_a_frequency_that_nobody_means_is_refused(value):
    """Its period, or the sum of a few of them, is no number."""
    (message,) = mistakes(FLAT.replace("frequency: 10 Hz", f"frequency: {value}"))
    assert "at least 1e-09, at most 1e+09" in message


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("quantities: 5, periods: [1 s]", ["quantities"]),
        ("quantities: 5, periods: [1 km]", ["quantities", "periods[0]"]),
        ("quantities: [sa, foo], periods: 5", ["periods", "quantities[1]"]),
        ("quantities: [sa], periods: [1 s, 1 s]", ["periods"]),
        ("quantities: [vx], periods: [1 km]", ["periods[0]"]),
        ("quantities: [sax], periods: 5", ["periods", "quantities[0]"]),
        ("quantities: [sa_x], periods: 5", ["periods"]),
    ],
)
def test_quantities_and_periods_of_a_map_hide_no_other_mistake(keys, told):
    """Neither goes with what stands in place of the other alone."""
    maps = f"maps: [{{name: a, {keys}}}, {{name: a, quantities: [vx]}}]"
    lines = mistakes(FLAT.replace("output: {}", f"output: {{{maps}}}"))
    named = {line.split(": ")[1] for line in lines}
    assert named == {"output.maps[1].name", *(f"output.maps[0].{key}" for key in told)}


def test_one_value_of_a_gradient_is_that_of_both_ends():
    ends = "vp: {top: 2 km/s, bottom: 4 km/s}, vs: {top: 1 km/s, bottom: 2 km/s}"
    text = FLAT.replace(UNIFORM, f"{{type: gradient, {ends}, rho: 2 g/cm3, qp: 200, qs: inf}}")
    scenario = parse(text)
    (gradient,) = scenario.model
    assert gradient.rho.top == gradient.rho.bottom == 2000.0
    assert (gradient.qp.top, gradient.qs.bottom) == (200.0, float("inf"))
    assert parse(scenario.to_yaml()) == scenario
    rho = json_schema()["$defs"]["GradientPart"]["properties"]["rho"]
    assert '"exclusiveMinimum": 0' in json.dumps(rho)
    for written, problem in (
        ("qp: 1 km", "a length where a plain number is needed"),
        ("qp: 3", "must be a number, at least 5, or keys top, bottom"),
        ("qp: [2]", "not a number: write a plain number, or keys top, bottom"),
        ("rho: [2 g/cm3]", "or with a unit (kg/m3, g/cm3), or keys top, bottom"),
        ("qp: auto", "or keys top, bottom"),
        ("rho: 2.0", "did you mean '2 g/cm3'?"),
        ("rho: {top: 2 g/cm3}", "missing: give rho at `z_bottom` and below"),
    ):
        key = written.partition(":")[0]
        spoiled = re.sub(rf"\b{key}: [^,}}]+", written, text)
        (message,) = mistakes(spoiled)
        assert f"model[0].{key}" in message
        assert problem in message

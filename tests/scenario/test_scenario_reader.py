"""The strict reader: every trap of ordinary YAML is either read as meant or refused with its place.

Theory: YAML 1.2 core schema, less everything that is ambiguous (other truth values, octal numbers)
or hidden (tags, anchors, second documents). The limits are those the module states.
"""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.errors import ScenarioError
from seismo.scenario import from_dict
from seismo.scenario.strict_yaml import (
    MAX_BYTES,
    MAX_NODES,
    read,
    to_text,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", 1000.0), ("1.0e3", 1000.0), ("1e-3", 0.001), ("12e03", 12000.0), (".5", 0.5),
        ("1.", 1.0), ("-7", -7), ("0", 0), ("1_000", "1_000"), ("1:30", "1:30"), (".inf", ".inf"),
        ("2008-07-29", "2008-07-29"), ("y", "y"), ("'017'", "017"), ('"no"', "no"), ("true", True),
        ("null", None), ("~", None), ("", None),
    ],
)  # fmt: skip
def test_a_plain_scalar_is_what_it_looks_like(text, value):
    data = read(f"key: {text}", "s.yaml").data
    assert data == {"key": value}
    assert type(data["key"]) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("017", "s.yaml 2 8 '017': leading zero, octal or decimal? write 17"),
        ("1e400", "s.yaml 2 8 '1e400': too large a number"),
        ("9" * 41, "too many digits"),
        ("no", "s.yaml 2 8 'no': ambiguous truth value; write true or false"),
        ("On", "ambiguous truth value"),
        ("TRUE", "ambiguous truth value"),
    ],
)
def test_an_ambiguous_scalar_is_a_mistake_with_its_place(text, says):
    document = read(f"a: 1\nkey:   {text}", "s.yaml")
    (path, (line, column), problem) = document.mistakes[0]
    assert path == ("key",)
    assert says in f"{document.name} {line} {column} {problem}"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,5", "1,5"), ("-1,5e3 km", "-1,5e3 km"), ("1, 5", 1), ("'1',5", "1"), ("[1],5", [1])],
)
def test_a_decimal_comma_in_braces_is_a_mistake_of_its_number(text, value):
    document = read(f"{{a: 0, x: {text}, y: {{}}}}", "s.yaml")
    assert document.data["x"] == value
    if text == value:
        assert document.data == {"a": 0, "x": value, "y": {}}
        ((path, place, problem),) = document.mistakes
        assert (path, place) == (("x",), (1, 11))
        assert problem.startswith(f"'{value}': a decimal comma ends a value")
    else:
        assert document.mistakes == []


def test_duplicate_keys_are_mistakes_that_name_both_lines():
    document = read("a: 1\nb: 2\na: 3\n", "s.yaml")
    assert document.data == {"a": 1, "b": 2}
    assert document.mistakes == [(("a",), (3, 1), "duplicate key, first on line 1; keep one")]


def test_keys_that_look_alike_do_not_collapse():
    assert read("{1: a, true: b}", "s.yaml").data == {"1": "a", "true": "b"}


def test_a_key_that_is_a_list_is_a_mistake():
    assert "plain word" in read("[1, 2]: 3", "s.yaml").mistakes[0][2]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: &x 1", "s.yaml:1:4: anchors and aliases"),
        ("a: 1\nb: *a", "s.yaml:2:4: anchors and aliases"),
        ("a: !!python/object:os.system x", "tag 'tag:yaml.org,2002:python/object:os.system'"),
        ("a: !!int 3", "s.yaml:1:4: tag"),
        ("a: 1\n---\nb: 1", "s.yaml:2:1: only one YAML document"),
        ("[" * 40 + "]" * 40, "nested deeper than 32"),
        ("[" * 20_000, "nested deeper than 32"),
        (
            "a: 1\nb: [1, 2\n",
            "s.yaml:3:1: not readable as YAML: while parsing a flow sequence begun on line 2",
        ),
        ("a:\n\t- b", "s.yaml:2:1: not readable as YAML"),
        ("a: 'x", "not readable as YAML"),
        ("a: \x00", "not readable as YAML"),
        ("a: \ud800", "not valid Unicode at character 4"),
        ("# " + "x" * MAX_BYTES, f"larger than {MAX_BYTES} bytes"),
        ("[" + "1," * MAX_NODES + "]", f"more than {MAX_NODES} values"),
    ],
)
def test_what_is_hidden_endless_or_broken_is_refused(text, says):
    with pytest.raises(ScenarioError) as caught:
        read(text, "s.yaml")
    (message,) = caught.value.messages
    assert says in message
    assert "\n" not in message


def test_an_alias_bomb_is_refused_before_anything_is_built():
    bomb = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]\n" for i in range(1, 12))
    with pytest.raises(ScenarioError, match="anchors and aliases"):
        read(bomb, "s.yaml")


def test_places_are_those_of_the_keys():
    line_columns = read("a:\n  b: [1, {c: 2}]\n", "s.yaml").line_columns
    assert line_columns[("a",)] == (1, 1)
    assert line_columns[("a", "b")] == (2, 3)
    assert line_columns[("a", "b", 1, "c")] == (2, 11)


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(
        ["1e3", "no", "017", "~", "null", "1:30", "a: b", "# x", "- x", " x ", "<<", "="]
    )
)
_DATA = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
)


@settings(max_examples=150, deadline=None)
@given(_DATA)
def test_what_is_written_reads_back_equal(data):
    document = read(to_text(data), "s.yaml")
    assert document.mistakes == []
    assert document.data == data
    assert repr(document.data) == repr(data)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab01:-[]{}&*!|>'\"#%@`,?. \n\te\x85\u2028\ud800\U0001f30b", max_size=40))
def test_no_text_gives_anything_but_data_or_a_scenario_error(text):
    try:
        document = read(text, "s.yaml")
    except ScenarioError as error:
        messages = error.messages
    else:
        messages = tuple(problem for _, _, problem in document.mistakes)
        yaml.safe_dump(document.data)
    assert all("\n" not in message for message in messages)


SOUND = {
    "physics": "elastic",
    "grid": {"extent": {"x": 400.0, "z": 400.0}, "spacing": 10.0},
    "time": {"duration": 0.1},
    "model": [{"type": "uniform", "vp": 2000.0, "vs": 1000.0, "rho": 2000.0}],
    "sources": [{"type": "explosion", "moment": 1.0, "position": {"x": 200.0, "z": 200.0},
                 "wavelet": {"type": "ricker", "frequency": 12.0}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"grid.spacing": [10, 10]}, "write {x: 10 m, z: 10 m}"),
     ({"sources[0].wavelet.frequency": "-5 Hz"}, "must be positive"),
     ({"sources[3].moment": 2.0}, "sources: has no [3]: it is a list of 1"),
     ({"model[0].vs": None, "model[0].Vs": 1000.0}, "did you mean 'vs'?")],
)  # fmt: skip
def test_a_slip_gets_one_message_that_names_the_remedy(changes, said):
    with pytest.raises(ScenarioError) as refused:
        from_dict(SOUND).changed(changes)
    (message,) = refused.value.messages
    assert said in message

"""A few of the recorded answers (`tests/goldens/`); `tests/goldens/record.py` compares all.

Results are compared by norms, to 1e-5, as tests compile with options of their own: sums of some
thousand roundings of float32, each of 6e-8, in a random walk come to 4e-6. On the machine that they
were recorded on all else is equal.
"""

import pytest

from goldens import cases, measure
from goldens.compare import differences
from goldens.record import measured, read

CASES = cases.read_cases()
RECORDED = {name: read(name) for name in ("runs", "structure", "checks", "messages")}
EQUATIONS = ("acoustic", "elastic", "elastic_sh", "viscoelastic")
SHIPPED = ("quickstart", "sea_bottom", "survey_2d")


def assert_as_recorded(found: dict) -> None:
    same = RECORDED["runs"]["machine"] == measure.machine()
    recorded = {**RECORDED, "runs": RECORDED["runs"]["cases"]}
    for name, parts in found.items():
        of_these = {key: recorded[name].get(key) for key in parts}
        lines = list(differences(of_these, parts, same and name != "runs"))
        assert not lines, "\n".join([name, *lines])


@pytest.mark.usefixtures("no_remedies")
@pytest.mark.parametrize("name", EQUATIONS)
def test_an_equation_gives_what_it_gave(name):
    case = next(c for c in CASES["equations"] if c[:2] == [name, 2] and c[5] == "float32")
    assert_as_recorded(measured("equations", " ".join(map(str, case)), case, None))


@pytest.mark.parametrize("what", ["shipped float32", "checks small"])
@pytest.mark.parametrize("name", SHIPPED)
def test_a_scenario_gives_what_it_gave(name, what, monkeypatch):
    monkeypatch.chdir(cases.SCENARIOS)
    kind, form = what.split()
    assert_as_recorded(measured(kind, f"{name} {form}", CASES["shipped"][name], None))


def test_mistakes_are_told_as_they_were():
    assert_as_recorded(measured("messages", "", None, None))


@pytest.mark.parametrize(
    ("change", "here", "elsewhere"),
    [
        ({"traces_sha256": "b"}, 1, 0),
        ({"norms": {"traces in m": 1.0 + 1e-6}}, 1, 0),
        ({"norms": {"traces in m": 1.0 + 1e-4}}, 1, 1),
        ({"norms": {}}, 1, 1),
        ({"text": "use 21 m"}, 1, 0),
        ({"text": "use 20 km"}, 1, 1),
        ({"more": 1}, 1, 1),
    ],
)
def test_differences_are_found(change, here, elsewhere):
    recorded = {"traces_sha256": "a", "norms": {"traces in m": 1.0}, "text": "use 20 m"}
    found = recorded | change
    assert len(list(differences(recorded, found, True))) == here
    assert len(list(differences(recorded, found, False))) == elsewhere


PTX = """
.visible .entry {0}(
	.param .u64 {0}_param_0
)
{{
	.shared .align 16 .b8 {1}[64];  // of {0}
	ld.param.u64 %rd1, [{0}_param_0];
	ld.global.nc.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd1+{2}];
	ret;
}}
"""


def test_kernels_differ_by_their_code_alone():
    kernels = pytest.importorskip("goldens.kernels", reason="needs numba-cuda")
    first, renamed, other = (
        kernels.without_names(PTX.format(*words))
        for words in (("_ZN1a", "one", 16), ("_ZN2bc", "two", 16), ("_ZN1a", "one", 32))
    )
    assert first == renamed != other
    assert "v4.f32" in first
    assert len(kernels.INSTRUCTION.findall(first)) == 3

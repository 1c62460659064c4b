"""Settings of inversions: what they accept, and messages that name key, line and remedy."""

import pytest

import seismo
from seismo.errors import ScenarioError
from small_inversion import scenario, settings


@pytest.mark.parametrize(
    ("keys", "place", "problem"),
    [
        ({"smoth": 3.0}, "smoth", "did you mean 'smooth'?"),
        ({"parameters": {}}, "parameters", "names no parameter: give one, such as vp"),
        (
            {"parameters": {"vp": {"bounds": ["2 km/s", "1 km/s"]}}},
            "parameters.vp.bounds",
            "write the least value first",
        ),
        (
            {"parameters": {"vp": {"bounds": [1900.0, 2700.0], "unknown": "slownes"}}},
            "parameters.vp.unknown",
            "did you mean 'slowness'?",
        ),
        ({"ties": {"rho": "gardnr"}}, "ties.rho", "must be gardner, or a ratio such as vp / 1.8"),
        ({"ties": {"rho": "vs * 2"}}, "ties.rho", "vs is no unknown; use vp"),
        ({"ties": {"vp": "gardner"}}, "ties.vp", "leave it out at either place"),
        ({"bands": ["5 Hz", "3 Hz"]}, "bands", "the lowest frequency comes first"),
        ({"misfit": {"kind": "huber"}}, "misfit", "huber needs a threshold"),
        ({"misfit": {"sharpness": 2.0}}, "misfit", "sharpness is no option of l2: leave it out"),
        ({"optimiser": {"method": "adam", "memory": 3}}, "optimiser", "memory is no key of adam"),
        ({"shots": {"each": 1, "random": 0}}, "shots", "write optimiser: {method: adam}"),
        ({"precondition": {"type": "ilumination"}}, "precondition.type", "did you mean"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, keys, place, problem):
    with pytest.raises(ScenarioError) as caught:
        settings(tmp_path, **keys)
    (message,) = caught.value.messages
    assert message.startswith(f"{tmp_path}/inversion.yaml:")
    assert f": {place}: " in message
    assert problem in message


def test_units_and_shorthands_are_read(tmp_path):
    inversion = settings(
        tmp_path, bands=["3 Hz", "0.01 kHz", "inf"], ties={"rho": "gardner", "vs": "vp / 1.8"},
        smooth="0.1 km", observed=["a.segy", {"path": "b.h5", "receivers": "line"}],
    )  # fmt: skip
    assert inversion.bands == (3.0, 10.0, float("inf"))
    assert inversion.ties.by_name["rho"] == ("vp", 0.25, 310.0)
    assert inversion.ties.by_name["vs"] == ("vp", 1.0, 1.0 / 1.8)
    assert inversion.smooth == 100.0
    assert [entry.path for entry in inversion.observed] == ["a.segy", "b.h5"]
    assert inversion.observed[1].receivers == "line"


def test_a_scenario_is_no_inversion(tmp_path):
    (tmp_path / "list.yaml").write_text("- 1\n")
    from seismo.inversion.full_waveform.settings import load_inversion

    with pytest.raises(ScenarioError, match="is no inversion"):
        load_inversion(tmp_path / "list.yaml")


def test_the_example_is_sound():
    """Its scenario, too, with the first model."""
    from pathlib import Path

    from seismo.inversion.full_waveform.settings import load_inversion

    folder = Path(__file__).resolve().parents[2] / "inversions"
    inversion = load_inversion(folder / "crosshole_inversion.yaml")
    scenario = inversion.first_scenario()
    assert len(scenario.model) == 1
    assert scenario.averaging == "point"
    assert inversion.observed[0].path == "crosshole.h5"


def test_a_scenario_may_stand_in_the_settings(tmp_path):
    """Its mistakes have lines of the file; relative paths begin at its folder."""
    inversion = settings(tmp_path, scenario=scenario())
    assert inversion.first_scenario().survey == seismo.load(scenario()).survey
    assert inversion.results_path.name == "inversion.h5"
    wrong = settings(tmp_path, scenario=scenario(precision="float31"))
    with pytest.raises(ScenarioError) as caught:
        wrong.first_scenario()
    (message,) = caught.value.messages
    assert message.startswith(f"{tmp_path}/inversion.yaml:3:")
    assert ": scenario.precision: " in message

"""Drawn values: their distributions, their keys, and messages about both."""

import numpy as np
import pytest
import scipy.stats

from seismo.errors import ScenarioError
from seismo.features.ensembles.draws import draws_of, random_numbers
from seismo.features.ensembles.members import Members
from seismo.scenario import from_dict, parse

TEXT = """\
physics: elastic
grid: {extent: {x: 400 m, z: 200 m}, spacing: 10 m, order: 4}
time: {duration: 0.2 s}
model:
  - {type: uniform, vp: 2000, vs: 1100, rho: 2000}
  - {type: block, z: [0, 60], vp: 1500, vs: 700}
  - {type: random, hurst: 0.3, correlation: 50 m, std: 0.05, properties: [vp], seed: 4}
sources:
  - {type: explosion, position: {x: 200, z: 100}, moment: 1e9,
     wavelet: {type: ricker, frequency: 12}}
receivers:
  - {name: line, type: line, start: {x: 50, z: 10}, end: {x: 350, z: 10}, count: 4, interval: 10 ms}
ensemble:
  members: 1000
  draw:
    - {type: TYPE, key: "model[1].vs", OPTIONS}
"""


def drawn(kind: str, options: str, members: int = 1000, key: str = "model[1].vs") -> np.ndarray:
    text = TEXT.replace("TYPE", kind).replace("OPTIONS", options).replace("model[1].vs", key)
    return draws_of(parse(text.replace("1000", str(members)))).table[:, 0]


@pytest.mark.parametrize(
    ("kind", "options", "distribution"),
    [
        ("uniform", "lowest: 0.6 km/s, highest: 800", scipy.stats.uniform(600, 200)),
        ("normal", "deviation: 20", scipy.stats.norm(700, 20)),
        ("normal", "mean: 0.65 km/s, deviation: 50, lowest: 600, highest: 720",
         scipy.stats.truncnorm(-1.0, 1.4, 650, 50)),
        ("lognormal", "sigma: 0.1", scipy.stats.lognorm(0.1, scale=700)),
        ("lognormal", "median: 600, sigma: 0.2, highest: 600 m/s", None),
    ],
)  # fmt: skip
def test_values_have_their_distribution(kind, options, distribution):
    numbers = drawn(kind, options)
    if distribution is None:
        # Below the median: the half of a lognormal distribution.
        assert numbers.max() <= 600.0
        logarithms = np.log(numbers / 600.0) / 0.2
        assert scipy.stats.kstest(-logarithms, scipy.stats.halfnorm.cdf).pvalue > 0.01
        return
    # Kolmogorov and Smirnov; the seed is fixed.
    assert scipy.stats.kstest(numbers, distribution.cdf).pvalue > 0.01


def test_values_are_quantiles_of_random_numbers():
    numbers = random_numbers(0, "model[1].vs", 1000)
    np.testing.assert_allclose(
        drawn("normal", "mean: 650, deviation: 50, lowest: 600, highest: 720"),
        scipy.stats.truncnorm(-1.0, 1.4, 650, 50).ppf(numbers), rtol=1e-12,
    )  # fmt: skip
    assert numbers.min() > 0.0
    assert numbers.max() < 1.0


def test_more_members_and_other_keys_leave_values_as_they_are():
    few = drawn("normal", "deviation: 20", 10)
    many = drawn("normal", "deviation: 20", 30)
    np.testing.assert_array_equal(few, many[:10])
    other = random_numbers(0, "model[0].vs", 1000)
    assert abs(np.corrcoef(other, random_numbers(0, "model[1].vs", 1000))[0, 1]) < 0.1
    assert not np.isin(other, random_numbers(1, "model[0].vs", 1000)).any()


def test_choices_follow_their_weights():
    numbers = drawn("choice", "numbers: [500, 0.6 km/s, 700], weights: [1, 0, 3]")
    assert set(numbers) == {500.0, 700.0}
    assert np.mean(numbers == 700.0) == pytest.approx(0.75, abs=0.04)
    assert set(drawn("choice", "numbers: [500, 600]")) == {500.0, 600.0}


def test_far_tails_have_as_many_values_above_as_below():
    above, below = (
        drawn("normal", f"mean: 1000, deviation: 10, {limit}")
        for limit in ("lowest: 1080", "highest: 920")
    )
    assert np.isfinite(above).all()
    assert len(set(above)) == len(set(below)) == len(above)


def test_seeds_are_whole_numbers():
    numbers = drawn("uniform", "lowest: 2, highest: 5", key="model[2].seed")
    assert set(numbers) == {2.0, 3.0, 4.0, 5.0}
    assert np.mean(numbers == 2.0) == pytest.approx(0.25, abs=0.04)
    text = TEXT.replace("TYPE", "list").replace("OPTIONS", "numbers: [7, 9]")
    text = text.replace("1000", "2").replace("model[1].vs", "model[2].seed")
    assert Members(parse(text))[1].model[2].seed == 9


def with_table(tmp_path, content: str, members: int = 2) -> Members:
    (tmp_path / "draws.csv").write_text(content)
    text = TEXT.partition("ensemble:")[0] + (
        f"ensemble: {{members: {members}, table: {{path: draws.csv}}}}\n"
    )
    return Members(parse(text, str(tmp_path / "s.yaml")))


def test_tables_give_values_member_by_member(tmp_path):
    content = "model[1].vs, sources[0].position.x\n600, 0.15 km\n# a comment\n0.65 km/s, 180\n"
    members = with_table(tmp_path, content)
    np.testing.assert_array_equal(members.draws.table, [[600.0, 150.0], [650.0, 180.0]])
    assert members[1].sources[0].position.x == 180.0
    assert members[1].section("ensemble") is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("model[1].vs\n600\n", "draws.csv:2: 1 rows for 2 members"),
        ("model[1].vx\n600\n700\n", r"draws.csv:1: model\[1\] has no key vx"),
        ("model[1].vs\n600\n700 kg\n", "draws.csv:3: model.*'700 kg': a value in 'kg'"),
        ("model[1].vs, model[0].vs\n600, 700\n700\n", "draws.csv:3: 1 values for 2 keys"),
        ("model[1].vs, model[1].vs\n600, 700\n7, 8\n", "draws.csv:1: a key is there twice"),
    ],
)
def test_mistakes_in_tables_are_named_by_line(tmp_path, content, problem):
    with pytest.raises(ScenarioError, match=rf"s.yaml:13:.*ensemble.table.path: .*{problem}"):
        with_table(tmp_path, content)


def test_tables_are_there_and_draw_other_keys(tmp_path):
    members = with_table(tmp_path, "model[1].vs\n600\n700\n")
    (tmp_path / "draws.csv").unlink()
    with pytest.raises(ScenarioError, match="no such file as"):
        Members(members.scenario)
    (tmp_path / "draws.csv").write_text("model[1].vs\n600\n700\n")
    draw = [{"type": "list", "key": "model[1].vs", "numbers": [1.0, 2.0]}]
    with pytest.raises(ScenarioError, match=r"model\[1\].vs is drawn twice"):
        Members(members.scenario.changed({"ensemble.draw": draw}))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("model[1].vs", "model[1].vx"), r"draw\[0\].key: 'model\[1\].vx': model\[1\] has no key"),
        (("model[1].vs", "model[7].vs"), r"model is a list, and has \[0\] to \[2\]"),
        (("model[1].vs", "grid.spacing"), "must begin with model or sources"),
        (("model[1].vs", "model[1].type"), "holds no number"),
        (("model[1].vs", "model[1].rho"), r"model\[1\].rho is not written: write a typical value"),
        (("model[1].vs", "model[1].vs.x"), r"model\[1\].vs is a single value"),
        (("model[1].vs", "model vs"), "must begin with model or sources"),
        (("deviation: 20", "deviation: 20 m"), r"draw\[0\].deviation: '20 m': a length where a v"),
        (("deviation: 20", "deviation: -1"), r"draw\[0\].deviation: -1: must be above 0"),
        (("deviation: 20", "deviation: 20, lowest: 9, highest: 8"), "highest: 8: must be above"),
        (("deviation: 20", "deviation: [1]"), "must be a number, or a text with a unit"),
        (("normal", "normall"), "did you mean 'normal'"),
        (("normal, key: \"model[1].vs\", deviation: 20", "lognormal, key: \"model[1].vs\", "
          "sigma: 1, lowest: -1"), "lowest is -1, and lognormal values are above 0"),
        (("normal, key: \"model[1].vs\", deviation: 20", "list, key: \"model[1].vs\", "
          "numbers: [1]"), "numbers: .*has 1 for 1000 members: give as many"),
        (("normal, key: \"model[1].vs\", deviation: 20", "choice, key: \"model[1].vs\", "
          "numbers: [1, 2], weights: [1]"), "weights: give 2, as many as numbers"),
        (("normal, key: \"model[1].vs\", deviation: 20", "uniform, key: \"model[2].seed\", "
          "lowest: 0.5, highest: 3"), r"draw\[0\].lowest: 0.5: must be a whole number"),
        (("normal, key: \"model[1].vs\", deviation: 20", "uniform, key: \"model[2].seed\", "
          "lowest: 1, highest: 9007199254740994"), r"draw\[0\].highest: .*: must be at most 9007"),
        ((", interval: 10 ms", ""), r"receivers\[0\].interval: missing: members of an ensemble"),
        (("interval: 10 ms", "interval: 30 ms"), "does not divide time.duration, 0.2 s"),
        (("ensemble:", "output: {snapshots: [{fields: [vx], interval: 10 ms}]}\nensemble:"),
         "output.snapshots: are not kept of an ensemble"),
        (("members: 1000", "members: 1"), "members: 1: must be a whole number, at least 2"),
    ],
)  # fmt: skip
def test_mistakes_are_named_by_key_and_line(change, problem):
    text = TEXT.replace("TYPE", "normal").replace("OPTIONS", "deviation: 20")
    assert change[0] in text
    with pytest.raises(ScenarioError, match=rf"^scenario.yaml:\d+:\d+: .*{problem}"):
        parse(text.replace(*change))


def test_time_steps_of_all_members_need_no_interval():
    text = TEXT.replace("TYPE", "normal").replace("OPTIONS", "deviation: 20")
    parse(text.replace(", interval: 10 ms", "").replace("0.2 s}", "0.2 s, step: 1 ms}"))


@pytest.mark.parametrize(
    ("key", "options", "problem"),
    [
        ("model[1].vs", "lowest: -5, highest: 5",
         r"draw\[0\].key: 'model\[1\].vs': member \d+ draws model\[1\].vs: -\d.*; narrow its"),
        ("sources[0].position.x", "lowest: 390, highest: 500",
         r"member \d+ draws sources\[0\].position.x: 4\d+.*outside the grid.*; narrow its"),
        ("model[1].z[0]", "lowest: 50, highest: 90",
         r": member \d+ \(model\[1\].z\[0\] = \d+.* m\): model\[1\].z: .*must increase"),
    ],
)  # fmt: skip
def test_values_that_will_not_do_are_refused_before_anything_runs(key, options, problem):
    text = TEXT.replace("TYPE", "uniform").replace("OPTIONS", options).replace("model[1].vs", key)
    members = Members(parse(text.replace("1000", "20")))
    with pytest.raises(ScenarioError, match=rf"scenario.yaml:\d+:\d+: ensemble.*{problem}"):
        members.refuse_unsound()


def test_a_distribution_without_values_is_refused():
    text = TEXT.replace("TYPE", "normal").replace(
        "OPTIONS", "deviation: 1, lowest: 900, highest: 901"
    )
    with pytest.raises(ScenarioError, match=r"draw\[0\]: no value of the distribution lies from"):
        draws_of(parse(text))


def test_a_key_is_drawn_once():
    draw = [{"type": "normal", "key": "model[0].vs", "deviation": 1.0}] * 2
    data = {**parse(TEXT.partition("ensemble:")[0])._source().data}
    with pytest.raises(ScenarioError, match=r"draw\[1\].key: 'model\[0\].vs': is drawn twice"):
        from_dict(data | {"ensemble": {"members": 2, "draw": draw}})
    with pytest.raises(ScenarioError, match="needs draw or table"):
        from_dict(data | {"ensemble": {"members": 2}})

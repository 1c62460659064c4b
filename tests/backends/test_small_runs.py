"""Runs that a CPU has done before a GPU has started: `--backend auto` knows them.

Nothing here needs a GPU: it is there by name, and nobody may open it.
"""

import re
from dataclasses import replace

import pytest

import seismo
from decomposition_cases import VOLUME
from seismo.backends import select
from seismo.backends.gpu.detect import Gpu
from seismo.backends.select import choose
from seismo.equations.framework.registry import EQUATIONS
from seismo.runs.resources import placement, speed
from seismo.runs.resources.placement import (
    DOUBT,
    START,
    UnplacedRun,
    reason_for_cpu,
    select_backends,
)
from seismo.scenario import from_dict, parse
from test_backend_choice import SCENARIO

SMALL = parse(SCENARIO, "s.yaml")


def lasting(duration: float):
    return parse(SCENARIO.replace("0.05 s", f"{duration} s"), "s.yaml")


class OpenedError(Exception):
    """Somebody looked for a GPU after all."""


@pytest.fixture
def beside_a_card(tmp_path, monkeypatch):
    """Work beside a small scenario, on a machine whose driver shows a GPU."""

    def look():
        raise OpenedError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    visible = (Gpu("NVIDIA H200", (9, 0)),)
    monkeypatch.setitem(select.optional_gpu.__kwdefaults__, "visible", lambda: visible)
    for chooser in (choose, select.choose_all):
        monkeypatch.setitem(chooser.__kwdefaults__, "detect", look)


def why(scenario) -> str:
    backend = choose("cpu").make("float32")
    return reason_for_cpu(UnplacedRun(scenario).discretized(backend), backend, "NVIDIA H200")


def test_a_small_run_is_spared_the_start_of_a_gpu():
    assert re.fullmatch(
        r"so small a run takes it [\d.]+ ms at most, and NVIDIA H200 [\d.]+ s to start "
        r"\(--backend gpu takes that\)",
        why(SMALL),
    )


def test_where_in_doubt_a_gpu_is_taken():
    """Runs of so many steps that CPU, as slow as it may be, and GPU take the same."""
    backend = choose("cpu").make("float32")
    discretization, here = (
        UnplacedRun(SMALL).discretized(backend),
        speed.RooflineMachine("cpu", backend.describe()),
    )
    seconds = speed.seconds(discretization, speed.points_per_second(discretization, here), here)
    each = seconds / (discretization.clock.steps + discretization.extra_steps)
    steps = START / (DOUBT * each - speed.STEP_SECONDS["gpu"])
    even = steps * discretization.clock.dt
    assert why(lasting(round(0.9 * even, 3)))
    assert not why(lasting(round(1.1 * even, 3)))


def test_an_equation_that_nobody_has_measured_counts_as_the_dearest(monkeypatch):
    backend = choose("cpu").make("float32")
    discretization, here = (
        UnplacedRun(SMALL).discretized(backend),
        speed.RooflineMachine("cpu", backend.describe()),
    )
    known = speed.points_per_second(discretization, here)
    dear, name = EQUATIONS["elastic"], discretization.scenario.physics
    monkeypatch.setitem(EQUATIONS, "elastic", replace(dear, nanoseconds={"cpu": {3: 1000.0}}))
    monkeypatch.setitem(EQUATIONS, name, replace(EQUATIONS[name], nanoseconds={}))
    assert speed.points_per_second(discretization, here) < known
    assert why(SMALL)


def test_no_large_grid_is_looked_at_before_the_card(beside_a_card, monkeypatch):
    monkeypatch.setattr(placement.UnplacedRun, "discretized", None)
    with pytest.raises(OpenedError):
        select_backends(UnplacedRun(parse(SCENARIO.replace("200 m", "12 km"), "s.yaml")))


def test_shots_and_maps_count():
    """Each shot takes a CPU as long as one alone, and a GPU no time."""
    survey = VOLUME["survey"] | {"shots": VOLUME["survey"]["shots"] * 1000}
    maps = {"output": {"maps": [{"name": "ground", "quantities": ["pgv"]}]}}
    assert why(from_dict(VOLUME))
    assert not why(from_dict(VOLUME | {"survey": survey}))
    plain = {k: v for k, v in VOLUME.items() if k not in ("survey", "output")}
    assert why(from_dict(plain)) != why(from_dict(plain | maps))


@pytest.mark.parametrize("asked", [{"backend": "gpu"}, {"device": 0}, {"count": 2}])
def test_who_asks_for_gpus_gets_them(beside_a_card, asked):
    with pytest.raises(OpenedError):
        select_backends(UnplacedRun(SMALL), **asked)


@pytest.mark.parametrize("asked", [{}, {"count": "auto"}])
def test_auto_takes_the_cpu_and_opens_no_card(beside_a_card, asked):
    run = UnplacedRun(SMALL)
    (found,), said = select_backends(run, **asked)
    assert (found.name, found.together) == ("cpu", None)
    assert said == why(SMALL)
    assert run.known is not None
    with seismo.run(SMALL, gpus=asked.get("count")) as results:
        assert results.summary["threads"] >= 1


def test_run_and_check_say_so_in_their_first_line(beside_a_card, command_line):
    first = [command_line(command, "s.yaml")[2].split("\n")[0] for command in ("run", "check")]
    assert re.match(
        r"on the CPU, \d+ threads?; so small a run takes it [\d.]+ ms at most", first[0]
    )
    assert first[0] == first[1]
    assert command_line("run", "s.yaml", "--backend", "cpu", "--resume")[0] == 0

"""Several ranks in one process, as cards are: the bits of one, in any order that launches may take.

Ranks on CPUs stand for cards (`teamwork`). Sources and receivers stand on cuts, on corners of four
parts, and in the halos beside them. Equality is to the last bit.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import crew
import seismo
import solver
from cut_cases import CUTS, VOLUME, case
from seismo import runner, team
from seismo.backends.choice import Choice
from seismo.backends.cpu import CpuBackend
from seismo.errors import ScenarioError, StoppedError, UnstableError
from seismo.ranks import Alone
from seismo.runner import stepping
from seismo.runner.signals import Signals
from seismo.simulation import Simulation
from seismo.team import Team
from teamwork import TeamBackend
from test_survival import contents


def outcome(document, base, parts, ranks, make=TeamBackend):
    return crew.outcome(document, base, parts, ranks, make)


@pytest.mark.parametrize("faces", [{}, {"top": "absorbing"}], ids=["images", "layers"])
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_every_cut_gives_the_bits_of_one(name, dimensions, faces, tmp_path):
    """Images beyond faces wait for all of a stage; only without them cores run ahead of halos."""
    document = case(name, dimensions, tmp_path, **faces)
    wanted = outcome(document, tmp_path, None, Alone(), CpuBackend)
    assert all(values.any() for values in wanted.values())
    for count, cuts in CUTS[dimensions].items():
        for parts in cuts:
            found = Team(count).run(lambda r, p=parts: outcome(document, tmp_path, p, r))
            different = [key for key in wanted if not np.array_equal(found[key], wanted[key])]
            assert (parts, different) == (parts, [])


class Strangers(TeamBackend):
    """Ranks that do not see one another's memory."""

    peers = False


def test_what_devices_do_not_see_goes_through_the_host(tmp_path):
    document = case("elastic", 2, tmp_path)
    wanted = outcome(document, tmp_path, None, Alone(), CpuBackend)
    found = Team(3).run(lambda r: outcome(document, tmp_path, (3, 1), r, Strangers))
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)


def test_an_error_of_one_ends_all():
    def work(ranks) -> None:
        if ranks.number == 1:
            raise ScenarioError("the mast broke")
        ranks.share(0)

    with pytest.raises(ScenarioError, match="the mast broke"):
        Team(3).run(work)
    assert threading.active_count() == 1


def test_what_all_have_come_to_is_done_whoever_fails_then():
    """A rank that fails right after a meeting does so before others have woken up."""
    passed = []

    def work(ranks) -> None:
        time.sleep(0.002 * ranks.number)  # who comes last does not have to wake up
        ranks.wait()
        if ranks.number:
            raise ScenarioError("the mast broke")
        passed.append(True)

    for _ in range(100):
        with pytest.raises(ScenarioError, match="the mast broke"):
            Team(2).run(work)
    assert len(passed) == 100


def test_who_is_far_from_the_next_meeting_is_not_waited_for_once_the_first_has_failed(monkeypatch):
    monkeypatch.setattr(team, "GRACE", 0.01)
    go_on = threading.Event()

    def work(ranks) -> None:
        if ranks.first:
            raise KeyboardInterrupt
        go_on.wait()

    with pytest.raises(KeyboardInterrupt):
        Team(2).run(work)
    go_on.set()


@pytest.fixture
def on_four(monkeypatch):
    """Let runs go to four ranks of this process."""
    choices = [Choice("cpu", "on a team", TeamBackend, 4)] * 4
    monkeypatch.setattr(runner, "chosen", lambda *_: (choices, "", None))


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    """The results of one rank."""
    path = tmp_path_factory.mktemp("alone") / "x.h5"
    seismo.run(VOLUME, path).close()
    return path


@pytest.mark.parametrize("peers", [True, False])
@pytest.mark.parametrize("parts", ["auto", [2, 2]])
def test_a_whole_run_gives_the_file_of_one(tmp_path, alone, on_four, monkeypatch, parts, peers):
    """Traces, snapshots and maps of a survey, whether or not ranks see one another's memory."""
    monkeypatch.setattr(TeamBackend, "peers", peers)
    scenario = VOLUME | {"grid": VOLUME["grid"] | {"decomposition": parts}}
    notes = []
    with seismo.run(scenario, tmp_path / "x.h5", notes.append) as results:
        assert results.summary["ranks"] == 4
        assert 0.0 <= results.summary["imbalance"] < 0.5
    assert contents(tmp_path / "x.h5") == contents(alone)
    said = [p.note for p in notes if p.phase == "device"]
    assert said[0] == "on a team"
    assert ["halos go through the host's" in note for note in said[1:]] == [True] * (not peers)
    assert not list(tmp_path.glob("*.run"))


def test_results_that_nobody_named_last_as_long_as_they_are_held(alone, on_four):
    with seismo.run(VOLUME) as results, seismo.open_results(alone) as single:
        assert results.traces_hash == single.traces_hash


@pytest.mark.parametrize(("parts", "others"), [("auto", 2), ([2, 2], 3), ([1, 4], 1), ([2, 2], 4)])
def test_a_stopped_run_goes_on_on_any_number(tmp_path, alone, monkeypatch, parts, others):
    """Four ranks stop, others go on and stop, four go on."""
    grid = VOLUME["grid"] | {"decomposition": parts}
    stopping = VOLUME | {"checkpoint": {"steps": 7}, "grid": grid}
    path, auto = tmp_path / "x.h5", {"grid": VOLUME["grid"]}
    for count, scenario in ((4, stopping), (others, stopping | auto), (4, VOLUME)):
        choices = [Choice("cpu", "on a team", TeamBackend, count)] * count
        monkeypatch.setattr(runner, "chosen", lambda *_, found=choices: (found, "", None))
        signals = Signals()
        monkeypatch.setattr(stepping, "REPORT_EVERY", 0.0)  # else it may be over before it is told

        def stop(progress, signals=signals, ends="checkpoint" in scenario) -> None:
            signals.stop = ends and progress.phase == "step"

        with contextlib.suppress(StoppedError):
            seismo.run(scenario, path, stop, signals=signals, resume=True).close()
        assert path.exists() == (scenario is VOLUME)
    assert contents(path) == contents(alone)


def test_a_wavefield_that_blows_up_on_one_is_told_and_kept(tmp_path, on_four, monkeypatch):
    advance = Simulation.advance

    def spoiled(simulation, steps: int) -> None:
        advance(simulation, steps)
        if simulation.ranks.number == 2 and simulation.step >= 8:
            simulation.parts[0].fields.wavefield["vx"][:] = np.nan

    monkeypatch.setattr(Simulation, "advance", spoiled)
    with pytest.raises(UnstableError, match="is unstable"):
        seismo.run(VOLUME, tmp_path / "x.h5")
    with seismo.open_results(tmp_path / "x.h5") as results:
        assert results.status == "unstable"

"""The timeline of a run: every stage has its span, in order, and the answer is the same run's.

Times are those of a clock that goes on by itself; only their order and their sums are looked at.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import weakref

import pytest

import seismo
from seismo.backends import timeline as timelines
from seismo.backends.base import Group
from seismo.backends.timeline import (
    COPIES,
    GROUPS,
    STEPS,
    Timeline,
)
from seismo.errors import ScenarioError, StoppedError
from seismo.runs.loop import run_loop
from seismo.runs.request import Signals
from test_run import SCENARIO

OUTPUT = {"snapshots": [{"name": "p", "fields": ["p"], "steps": 20}]}


def read(path) -> tuple[dict[str, list[dict]], list[dict]]:
    """Give the spans of each track, and all of them."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    spans = [e for e in events if e["ph"] == "X"]
    return {names[t]: [e for e in spans if e["tid"] == t] for t in names}, spans


@pytest.fixture
def often(monkeypatch):
    """Let every seventh step go group by group."""
    monkeypatch.setattr(timelines, "EVERY", 7)
    monkeypatch.setattr(timelines, "ALONE", 6)


def test_a_profiled_run_gives_the_same_bits(tmp_path, often):
    said = []
    scenario = SCENARIO | {"output": OUTPUT}
    found = seismo.run(scenario, tmp_path / "x.h5", said.append, profile=True, backend="cpu")
    wanted = seismo.run(scenario, tmp_path / "y.h5", backend="cpu")
    assert found.traces_hash == wanted.traces_hash
    tracks, spans = read(tmp_path / "x.profile.json")
    assert not (tmp_path / "y.profile.json").exists()
    assert {e["name"] for e in tracks[GROUPS]} == {"velocity", "pressure", "sources", "receivers"}
    assert {"snapshots", "wait for the steps"} <= {e["name"] for e in spans}
    assert {e["name"] for e in tracks["seismo-write"]} == {"store"}
    assert len(tracks[COPIES]) == len(found.snapshots["p"].time)
    (note,) = [p.note for p in said if p.phase == "profile"]
    assert note.startswith(f"{tmp_path / 'x.profile.json'}: of a step, group by group: ")


def test_steps_follow_one_another_and_hold_their_groups(tmp_path, often):
    """All steps are there once; those that go by themselves hold their groups, in order."""
    results = seismo.run(SCENARIO, tmp_path / "x.h5", profile=True, backend="cpu")
    tracks, _ = read(tmp_path / "x.profile.json")
    numbers = []
    for span in tracks[STEPS]:
        _, first, *rest = span["name"].split()
        numbers += range(int(first), int(rest[-1] if rest else first) + 1)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= results.summary["steps"]
    for track in (STEPS, GROUPS):
        for one, other in itertools.pairwise(tracks[track]):
            assert one["ts"] + one["dur"] <= other["ts"] + 1e-3  # us
    single = next(e for e in tracks[STEPS] if e["name"] == "step 6")
    within = [e for e in tracks[GROUPS] if 0 <= e["ts"] - single["ts"] <= single["dur"]]
    assert (within[0]["name"], within[-1]["name"]) == ("sources", "receivers")


def test_a_run_that_stops_leaves_its_timeline(tmp_path, monkeypatch):
    monkeypatch.setattr(run_loop, "REPORT_EVERY", 0.0)
    signals = Signals()

    def stop(progress) -> None:
        signals.stop = progress.phase == "step"

    with pytest.raises(StoppedError):
        seismo.run(SCENARIO, tmp_path / "x.h5", stop, signals=signals, profile=True, backend="cpu")
    _, spans = read(tmp_path / "x.profile.json")
    assert "checkpoint" in {e["name"] for e in spans}


def test_a_timeline_that_cannot_be_written_hides_no_other_error(tmp_path, monkeypatch):
    """What ended the run is told; where nothing did, why there is no timeline."""
    (tmp_path / "x.profile.json").mkdir()
    monkeypatch.setattr(run_loop, "REPORT_EVERY", 0.0)
    signals = Signals()

    def run(**keys):
        seismo.run(SCENARIO, tmp_path / "x.h5", profile=True, backend="cpu", **keys).close()

    def stop(progress) -> None:
        signals.stop = progress.phase == "step"

    with pytest.raises(StoppedError):
        run(progress=stop, signals=signals)
    with pytest.raises(ScenarioError, match=r"x.profile.json: is a folder"):
        run(resume=True)
    assert seismo.open_results(tmp_path / "x.h5").status == "complete"


def test_spans_of_threads_and_their_sums(monkeypatch):
    """Each thread is a track; a clock that counts makes every span 1 s long."""
    ticks = itertools.count()
    monkeypatch.setattr(timelines.time, "perf_counter", lambda: float(next(ticks)))
    timeline = Timeline()

    def work() -> None:
        for _ in range(2):
            with timeline.span("work"):
                pass

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    with pytest.raises(ZeroDivisionError), timeline.span("fails"):
        _ = 1 / 0
    assert timeline.seconds("worker") == {"work": 2.0}
    assert timeline.seconds("MainThread") == {"fails": 1.0}
    spans = [e for e in timeline.events() if e["ph"] == "X"]
    assert [(e["ts"], e["dur"]) for e in spans] == [(1e6, 1e6), (3e6, 1e6), (5e6, 1e6)]


class Mark:
    """A moment, once the card has come so far."""

    def __init__(self, card: Card, number: int) -> None:
        self._card, self._number = card, number

    def __call__(self) -> float:
        assert self._number <= self._card.done
        return float(self._number)


class Card:
    """A backend whose moments are counted as long as somebody holds them, as its events are."""

    def __init__(self) -> None:
        self.held: weakref.WeakSet[Mark] = weakref.WeakSet()
        self.made = self.done = 0

    def moment(self) -> Mark:
        self.made += 1
        mark = Mark(self, self.made)
        self.held.add(mark)
        return mark

    def annotated(self, name: str):
        return contextlib.nullcontext()

    def alone(self, group):
        return lambda step: None

    def program(self, steps, others):
        return lambda first, count: None

    def wait(self) -> None:
        self.done = self.made


def test_what_a_card_keeps_for_a_profile_does_not_grow():
    """Its events are given back whenever somebody waits; all spans are told all the same."""
    card, timeline = Card(), Timeline()
    watched = timelines.Profiled(card, timeline)
    take = watched.program(([Group([], name="velocity"), Group([], name="stress")],))
    most = 0
    for first in range(0, 5100, 102):
        take(first, 102)
        most = max(most, len(card.held))
        watched.wait()
        assert not card.held
    assert most < 40
    assert timeline.seconds(GROUPS) == {"velocity": 100.0, "stress": 100.0}
    spans = [e for e in timeline.events() if e["ph"] == "X"]
    assert sum(e["name"] in ("velocity", "stress") for e in spans) == 200


def test_of_a_very_long_run_the_first_spans_are_kept(monkeypatch):
    monkeypatch.setattr(timelines, "MOST", 10)
    timeline = Timeline()
    for n in range(25):
        timeline.note("track", "span", lambda n=n: float(n), lambda n=n: n + 0.5)
    assert timeline.seconds("track") == {"span": 5.0}
    assert len([e for e in timeline.events() if e["ph"] == "X"]) == 10


def test_what_took_long_once_does_not_count_for_all():
    timeline = Timeline()
    for n in range(5):
        timeline.note("track", "step", lambda: 0.0, lambda n=n: 100.0 if n == 2 else 2.0)
    assert timeline.seconds("track") == {"step": 10.0}

"""Several ranks in one process, one for each GPU: bit-identical results in any launch order.

Ranks on CPUs replace GPUs (`thread_ranks`). Sources and receivers lie on subdomain boundaries, at
corners of four subdomains, and in halos.
"""

import contextlib
import threading
import time
from itertools import cycle

import numpy as np
import pytest

import mpi_worker
import seismo
import solver
from decomposition_cases import CUTS, HALOS, VOLUME, case
from seismo.backends import device_threads
from seismo.backends.communicator import SerialCommunicator, rank_barrier
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.device_threads import DeviceThreads
from seismo.backends.gpu.launch_order import dependencies, merged
from seismo.backends.select import BackendChoice
from seismo.errors import ScenarioError, StoppedError, UnstableError
from seismo.runs import run
from seismo.runs.loop import run_loop
from seismo.runs.request import Signals
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation
from test_resume import SHORT, contents
from thread_ranks import ThreadBackend


def outcome(discretization, parts, ranks, make=ThreadBackend):
    return mpi_worker.outcome(discretization, parts, ranks, make)


@pytest.mark.parametrize(
    ("faces", "halos"),
    [
        pytest.param({}, HALOS, id="images"),
        pytest.param({"top": "absorbing"}, HALOS[::-1], id="layers", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("name", "dimensions"),
    solver.slow_cases_but({"elastic-2d", "acoustic-3d"}, solver.EVERY_EQUATION),
)
def test_every_cut_gives_the_bits_of_one(name, dimensions, faces, halos, tmp_path, monkeypatch):
    """Images beyond faces wait for all of a stage; only without them cores run ahead of halos.

    Each cut has halos copied beside the one kind of faces, and packed ones beside the other.
    """
    document = case(name, dimensions, tmp_path, **faces)
    discretization = discretize(from_dict(document, tmp_path))
    wanted = outcome(discretization, None, SerialCommunicator(), CpuBackend)
    assert all(values.any() for values in wanted.values())
    every = [(count, parts) for count, cuts in CUTS[dimensions].items() for parts in cuts]
    for (count, parts), least in zip(every, cycle(halos), strict=False):
        monkeypatch.setattr(ThreadBackend, "copied_from", least)
        found = DeviceThreads(count).run(lambda r, p=parts: outcome(discretization, p, r))
        different = [key for key in wanted if not np.array_equal(found[key], wanted[key])]
        assert (parts, least, different) == (parts, least, [])


@pytest.mark.parametrize(
    ("top", "surface"),
    [
        pytest.param("absorbing", [0, 0, 0, 0], marks=pytest.mark.slow),
        ("free_surface", [1, 1, 0, 0]),
    ],
)
@pytest.mark.parametrize("least", HALOS)
def test_one_launch_sends_all_that_a_stage_has_changed(top, surface, least, tmp_path, monkeypatch):
    """All fields go at once; the row of a free surface is nothing to those below it."""
    monkeypatch.setattr(ThreadBackend, "copied_from", least)
    discretization = discretize(from_dict(case("elastic", 3, tmp_path, top=top), tmp_path))

    def packing(ranks: SerialCommunicator) -> list[list[int]]:
        backend = ThreadBackend(discretization.scenario.precision)
        halos = Simulation(discretization, backend, (2, 2), ranks).halos[0]
        return ranks.allgather([
            sum(launch is not rank_barrier for group in halo.start for launch in group)
            for halo in halos
        ])  # fmt: skip

    velocity, stress, row = zip(*DeviceThreads(4).run(packing), strict=True)
    assert (velocity, stress, list(row)) == ((3,) * 4, (3,) * 4, surface)


@pytest.mark.parametrize(("least", "waits"), [(HALOS[0], "edge"), (HALOS[1], "message")])
def test_halos_wait_for_no_other_halo(least, waits, tmp_path, monkeypatch):
    """What a rank copies into another's halo is nothing to what that one copies itself."""
    monkeypatch.setattr(ThreadBackend, "copied_from", least)
    discretization = discretize(from_dict(case("elastic", 2, tmp_path, top="absorbing"), tmp_path))

    def order(ranks: SerialCommunicator) -> list[set[str]]:
        backend = ThreadBackend(discretization.scenario.precision)
        simulation = Simulation(discretization, backend, (3, 1), ranks)
        groups = merged(ranks.allgather(simulation._bind(0)))
        where = [group.where for group in groups for _ in group]
        every = zip(where, dependencies(groups), strict=True)
        return [{where[n] for n in needed} for place, needed in every if place == "halo"]

    assert DeviceThreads(3).run(order) == [{waits}] * 8


class NoPeerAccessBackend(ThreadBackend):
    """Ranks without access to each other's memory."""

    peers = False


@pytest.mark.parametrize("blind", [(0, 1, 2), (1,)], ids=["all", "one"])
def test_what_devices_do_not_see_goes_through_the_host(blind, tmp_path):
    """Nor is it copied where only one of two sees the other's memory."""
    discretization = discretize(from_dict(case("elastic", 2, tmp_path), tmp_path))
    wanted = outcome(discretization, None, SerialCommunicator(), CpuBackend)

    def one(ranks: SerialCommunicator) -> dict:
        make = NoPeerAccessBackend if ranks.number in blind else ThreadBackend
        return outcome(discretization, (3, 1), ranks, make)

    found = DeviceThreads(3).run(one)
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)


def test_an_error_of_one_ends_all():
    def work(ranks) -> None:
        if ranks.number == 1:
            raise ScenarioError("the mast broke")
        ranks.allgather(0)

    with pytest.raises(ScenarioError, match="the mast broke"):
        DeviceThreads(3).run(work)
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
            DeviceThreads(2).run(work)
    assert len(passed) == 100


def test_who_is_far_from_the_next_meeting_is_not_waited_for_once_the_first_has_failed(monkeypatch):
    monkeypatch.setattr(device_threads, "GRACE", 0.01)
    go_on = threading.Event()

    def work(ranks) -> None:
        if ranks.first:
            raise KeyboardInterrupt
        go_on.wait()

    with pytest.raises(KeyboardInterrupt):
        DeviceThreads(2).run(work)
    go_on.set()


def on_team(monkeypatch, count: int) -> None:
    """Let runs go to so many ranks of this process."""
    choices = [BackendChoice("cpu", "on a team", ThreadBackend, count)] * count
    monkeypatch.setattr(run, "select_backends", lambda *_: (choices, ""))


@pytest.fixture
def on_four(monkeypatch):
    """Let runs go to four ranks."""
    on_team(monkeypatch, 4)


def volume(spread: str, parts="auto", **sections) -> dict:
    """Give the survey of three shots, shared as told."""
    own = {"grid": VOLUME["grid"] | {"decomposition": parts}}
    return VOLUME | own | {"survey": VOLUME["survey"] | {"spread": spread}} | sections


@pytest.mark.parametrize(
    ("count", "spread", "parts", "grids", "peers"),
    [
        pytest.param(4, "auto", [2, 2], 1, True, marks=pytest.mark.slow),
        (2, "shots", [1, 2], 2, False),  # two parts of one rank's
        pytest.param(4, "grid", "auto", 1, False, marks=pytest.mark.slow),
        pytest.param(3, "shots", "auto", 3, True, marks=pytest.mark.slow),
        # Two grids of two ranks each; the last shot is on one of them.
        pytest.param(4, "auto", [1, 2], 2, True, marks=pytest.mark.slow),
        pytest.param(4, "auto", [1, 2], 2, False, marks=pytest.mark.slow),
    ],
)
def test_a_whole_run_gives_the_file_of_one(
    tmp_path, alone, monkeypatch, count, spread, parts, grids, peers
):
    """Traces, snapshots and maps of a survey, with and without shared memory of ranks."""
    on_team(monkeypatch, count)
    monkeypatch.setattr(ThreadBackend, "peers", peers)
    notes = []
    with seismo.run(volume(spread, parts), tmp_path / "x.h5", notes.append) as results:
        assert (results.summary["ranks"], results.summary["grids"]) == (count, grids)
        assert 0.0 <= results.summary["imbalance"] < 0.5
    assert contents(tmp_path / "x.h5") == contents(alone)
    said = [p.note for p in notes if p.phase == "device"]
    assert said[0] == "on a team"
    apart = not peers and grids < count
    assert ["halos go through the host's" in note for note in said[1:]] == [True] * apart
    assert not list(tmp_path.glob("*.run"))


def test_results_that_nobody_named_last_as_long_as_they_are_held(tmp_path, monkeypatch):
    seismo.run(SHORT, tmp_path / "x.h5").close()
    on_team(monkeypatch, 2)
    with seismo.run(SHORT) as results, seismo.open_results(tmp_path / "x.h5") as single:
        assert results.summary["ranks"] == 2
        assert results.traces_hash == single.traces_hash


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((4, "grid", [2, 2]), (2, "shots", "auto")),
        pytest.param((2, "shots", "auto"), (4, "auto", [1, 2]), marks=pytest.mark.slow),
        pytest.param((3, "shots", "auto"), (2, "grid", "auto"), marks=pytest.mark.slow),
        pytest.param((4, "auto", [2, 1]), (1, "auto", "auto"), marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_goes_on_on_any_number(tmp_path, alone, monkeypatch, first, second):
    """Some ranks stop, others that share it otherwise go on and stop, four go on."""
    path, every = tmp_path / "x.h5", {"checkpoint": {"steps": 7}}
    for (count, *shared), ends in ((first, every), (second, every), ((4, "auto"), {})):
        on_team(monkeypatch, count)
        signals = Signals()
        monkeypatch.setattr(run_loop, "REPORT_EVERY", 0.0)  # else it may be over before it is told

        def stop(progress, signals=signals, ends=bool(ends)) -> None:
            signals.stop = ends and progress.phase == "step"

        with contextlib.suppress(StoppedError):
            seismo.run(volume(*shared, **ends), path, stop, signals=signals, resume=True).close()
        assert path.exists() == (not ends)
    assert contents(path) == contents(alone)


@pytest.mark.slow
def test_shots_go_on_as_many_at_a_time_as_they_began(tmp_path, monkeypatch):
    """Three ranks begin with a shot each; two hold three of them then, and four share two grids."""
    path, signals = tmp_path / "x.h5", Signals()
    on_team(monkeypatch, 3)
    document = volume("shots", checkpoint={"steps": 7})
    document["survey"]["batch"] = 1

    def stop(progress) -> None:
        signals.stop = progress.phase == "checkpoint"

    with pytest.raises(StoppedError):
        seismo.run(document, path, stop, signals=signals)
    on_team(monkeypatch, 4)
    with pytest.raises(ScenarioError, match=r"survey.spread: 'shots': 3 at a time for 4 ranks"):
        seismo.run(document, path, resume=True)
    document["survey"]["spread"] = "auto"
    with seismo.run(document, path, resume=True) as results:
        assert results.summary["grids"] in (1, 2)


@pytest.mark.parametrize("spread", solver.slow_but({"auto"}, ["grid", "auto"]))
def test_a_wavefield_that_blows_up_on_one_is_told_and_kept(tmp_path, on_four, monkeypatch, spread):
    advance = Simulation.advance

    def spoiled(simulation, steps: int) -> None:
        advance(simulation, steps)
        if simulation.ranks.number == 2 and simulation.step >= 8:
            simulation.solvers[0].fields.wavefield["vx"][:] = np.nan

    monkeypatch.setattr(Simulation, "advance", spoiled)
    with pytest.raises(UnstableError, match="is unstable"):
        seismo.run(volume(spread), tmp_path / "x.h5")
    with seismo.open_results(tmp_path / "x.h5") as results:
        assert results.status == "unstable"

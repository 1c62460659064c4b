"""Memory estimates and batch sizes, on the host and on devices with their own memory.

The device is a stand-in that says how much it has; nothing is run on it.
"""

import math
import re
import subprocess
import sys

import pytest
import yaml
from rich.console import Console

from seismo.backends import machine
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import BackendChoice
from seismo.errors import InsufficientMemoryError, ScenarioError
from seismo.output.run_directory.partial_files import run_folder
from seismo.runs import run
from seismo.runs.check.plan import make_plan
from seismo.runs.check.report import print_plan
from seismo.runs.resources.memory import memory_of, output_of
from seismo.runs.resources.memory_fit import (
    KERNEL_BYTES,
    HypotheticalRanks,
    demands,
    lack_of_disk,
    refuse_what_does_not_fit,
)
from seismo.runs.resources.placement import EXCHANGE_SECONDS, LINK, step_seconds, worth_taking
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.medium import earth_samples as medium
from seismo.solver.parallel.partition import divide

SCENARIO = {
    "physics": "elastic",
    "grid": {"extent": {"x": 2000.0, "z": 1000.0}, "spacing": 10.0},
    "time": {"duration": 1.5},
    "boundaries": {"top": "free_surface", "layer": {"points": 14}},
    "model": [{"type": "uniform", "vp": 1800.0, "vs": 1000.0, "rho": 2000.0}],
    "sources": [{"type": "force", "force": {"z": 1.0}, "position": {"x": 600.0, "z": 200.0},
                 "wavelet": {"type": "ricker", "frequency": 8.0}}],
    "receivers": [{"type": "line", "start": {"x": 100.0, "z": 10.0}, "count": 19,
                   "end": {"x": 1900.0, "z": 10.0}}],
}  # fmt: skip


def many_shots(count=40, **keys):
    """A survey of small shots: 229 x 115 points each."""
    line = {"start": {"x": 300.0, "z": 200.0}, "end": {"x": 1700.0, "z": 200.0}, "count": count}
    return from_dict(SCENARIO | {"survey": {"line": line, **keys}})


class Device(ReferenceBackend):
    """A backend with memory of its own."""

    name = "gpu"
    batch_points = 32 << 20

    def __init__(self, free):
        super().__init__("float32")
        self._free = free

    def free_memory(self):
        """Say what the test wants."""
        return self._free

    def bandwidth(self):
        """Say a round number."""
        return 4e12

    def describe(self):
        """Name it."""
        return {"device": "a card"}


def on_device(free=10**12):
    return BackendChoice("gpu", "on a card", lambda precision: Device(free))


def test_small_shots_share_a_device_until_it_is_full(monkeypatch):
    """All forty; or as many as fit, evenly: the memory of one more would not."""
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    roomy = make_plan(many_shots(), on_device())
    assert roomy.discretization.batch == 40
    (card, host) = roomy.demands
    assert (card.where, host.where) == ("a card", "this machine")
    alone = make_plan(many_shots(1), on_device()).demands[0].need
    each = (card.need - alone) / 39
    tight = make_plan(many_shots(), on_device(int(alone + 12.5 * each)))
    assert tight.discretization.batch == 10  # 4 batches of 10, of at most 13
    assert all(demand.fits for demand in tight.demands)
    assert make_plan(many_shots(), on_device(1)).discretization.batch == 1


def test_the_scenario_may_say_how_many_shots_advance_together():
    for batch, together in (("auto", 20), (7, 7), (1000, 40)):  # 2 batches of at most 35
        plan = make_plan(many_shots(batch=batch))
        assert plan.discretization.batch == together


def test_a_device_too_small_is_named_with_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    plan = make_plan(many_shots(batch=40), on_device(10**8))
    words = r"the run needs [\d.]+ MB of memory on a card, 100 MB are free there"
    assert any(re.search(words, line) for line in plan.warnings)
    with pytest.raises(InsufficientMemoryError, match=f"{words}; use a smaller survey.batch, "):
        refuse_what_does_not_fit(plan.discretization, plan.memory, Device(10**8), tmp_path / "x.h5")
    monkeypatch.setattr(machine, "available_memory", lambda: 10**8)
    with pytest.raises(InsufficientMemoryError, match="GB of memory on this machine, 100 MB are"):
        refuse_what_does_not_fit(
            plan.discretization, plan.memory, Device(10**12), tmp_path / "x.h5"
        )


def test_files_that_vanish_meanwhile_take_no_room(monkeypatch, tmp_path):
    """The state of a run is written beside and renamed while its files are counted."""
    folder = run_folder(tmp_path / "x.h5")
    folder.mkdir()
    (folder / "status.json.new").symlink_to(folder / "renamed")
    (folder / "part").write_bytes(bytes(1000))
    discretization = make_plan(many_shots(batch=40)).discretization
    needed = output_of(discretization).total
    for free, fits in ((needed - 1000, True), (needed - 1001, False)):
        monkeypatch.setattr(machine, "free_disk", lambda _, free=free: free)
        assert (lack_of_disk(discretization, tmp_path / "x.h5", 0) == "") is fits


def test_the_plan_names_the_device(monkeypatch, capsys):
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    plan = make_plan(from_dict(SCENARIO), on_device())
    print_plan(plan, Console(width=200))
    said = capsys.readouterr().out
    assert re.search(r"memory .* MB on a card, .* GB on this machine \(wavefield", said)
    assert re.search(r"run time .* on a card when nothing else runs, at [\d.]+ Gpoint/s", said)
    assert [need["where"] for need in plan.as_dict()["memory_needed"]] == ["a card", "this machine"]


def larger(points: int):
    """A square of so many points a side, with layers."""
    length = 10.0 * (points - 41)
    grid = SCENARIO["grid"] | {"extent": {"x": length, "z": length}}
    return discretize(from_dict(SCENARIO | {"grid": grid}))


def test_a_field_beyond_all_memory_is_refused_before_the_earth_is_looked_at(monkeypatch):
    """Five thousand kilometres for five: 10^11 points, which take an hour to look at."""
    monkeypatch.setattr(medium, "build_earth", None)
    extent = {"x": "5000 km", "z": "2500 km"}
    scenario = from_dict(SCENARIO | {"grid": SCENARIO["grid"] | {"extent": extent}})
    words = r"grid.extent: one field of \d+ x \d+ points takes [\d.]+ [GT]B, .* check the unit"
    for attempt in (lambda: make_plan(scenario), lambda: run.run(scenario)):
        with pytest.raises(InsufficientMemoryError, match=words):
            attempt()


def test_only_as_many_devices_are_taken_as_help():
    """A small grid waits longer for its neighbours than it computes; some cuts cannot be."""
    assert worth_taking(larger(300), Device(10**12), 4)[0] == 1
    count, why = worth_taking(larger(4000), Device(10**12), 4)
    assert count == 4
    assert re.fullmatch(
        r"takes 4 of 4 GPUs: a step is expected to take [\d.]+ µs on 1, [\d.]+ µs on 4", why
    )
    times = [float(number) for number in re.findall(r"([\d.]+) µs", why)]
    assert 2.0 < times[0] / times[1] < 4.0
    assert worth_taking(larger(300), Device(10**12), 64)[0] == 1


def test_devices_help_a_survey_that_do_not_help_a_shot():
    """Forty small shots are shared out, where one alone is best left on one device."""
    device = Device(10**12)
    assert worth_taking(discretize(many_shots(1), device.batch_points), device, 4)[0] == 1
    count, why = worth_taking(discretize(many_shots(), device.batch_points), device, 4)
    assert count == 4
    assert re.search(r"a step of all 40 shots is expected to take [\d.]+ µs on 1, ", why)
    three = discretize(many_shots(3, spread="shots", batch=1), device.batch_points)
    assert worth_taking(three, device, 8)[0] == 3


def test_the_plan_says_how_devices_share_the_shots(monkeypatch, capsys):
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    plan = make_plan(many_shots(), on_device(), 4)
    assert (plan.discretization.batch, plan.discretization.grids, plan.discretization.each) == (
        40,
        4,
        10,
    )
    print_plan(plan, Console(width=300))
    said = capsys.readouterr().out
    assert "40 shots, 40 at a time" in said
    assert re.search(
        r"shared by +4 x a card, as 4 grids side by side, each with its own shots", said
    )
    assert re.search(r"shots are spread over 4 grids on 4 ranks: a step of all 40 .* µs on 4", said)
    shared = plan.as_dict()
    assert (shared["division"]["grids"], shared["division"]["parts"]) == (4, "1 x 1")
    assert shared["sharing"] in said


@pytest.mark.parametrize(("top", "meetings"), [("absorbing", 2), ("free_surface", 3)])
def test_devices_tell_one_another_what_a_stage_has_changed(top, meetings):
    """Two velocities and three stresses beside the cut; the surface's row, far from it, nothing."""
    discretization = discretize(from_dict(SCENARIO | {"boundaries": {"top": top}}))
    device = Device(0)
    division = divide(discretization, device, HypotheticalRanks(2), (2, 1))
    bytes_ = (2 + 3) * discretization.grid.points[0] * discretization.halo * 4
    expected = bytes_ / LINK + meetings * EXCHANGE_SECONDS
    assert step_seconds(discretization, device, math.inf, division) == pytest.approx(
        expected, rel=1e-12
    )


def test_each_device_needs_the_memory_of_its_own_shots(monkeypatch):
    """Ten of forty, with a whole model: as if there were ten; a part of the grid needs less."""
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    forty, ten = (make_plan(many_shots(n), on_device(), 4 * n // 40) for n in (40, 10))
    assert forty.demands[0].need == pytest.approx(ten.demands[0].need, rel=1e-3)
    cut = make_plan(many_shots(40, spread="grid"), on_device(), 4)
    assert cut.memory.model == ten.memory.model == forty.memory.model // 4


@pytest.mark.parametrize(
    ("count", "devices", "keys", "grids"),
    [
        (40, 4, {"spread": "grid"}, 1), (40, 4, {"spread": "shots"}, 4), (1, 4, {}, 1),
        (5, 4, {"batch": 1}, 4), (2, 8, {"batch": 1}, 2),
    ],
)  # fmt: skip
def test_grids_stand_side_by_side_as_the_scenario_says(monkeypatch, count, devices, keys, grids):
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    discretization = make_plan(many_shots(count, **keys), on_device(), devices).discretization
    assert discretization.grids == grids
    assert all(discretization.shots_on(n) for n in range(grids))


def test_a_shot_that_fits_no_device_is_cut(monkeypatch):
    """Eight large shots on four devices: each fits two of them; told to spread, that is refused."""
    monkeypatch.setattr(machine, "available_memory", lambda: 10**13)
    extent = {"x": 20000.0, "z": 20000.0}
    line = {"start": {"x": 300.0, "z": 200.0}, "end": {"x": 1700.0, "z": 200.0}, "count": 8}

    def survey(**keys):
        grid = SCENARIO["grid"] | {"extent": extent}
        return from_dict(SCENARIO | {"grid": grid, "survey": {"line": line, "batch": 1, **keys}})

    alone = make_plan(survey(), on_device()).demands[0].need
    small = on_device(KERNEL_BYTES + int(0.7 * (alone - KERNEL_BYTES)))
    plan = make_plan(survey(), small, 4)
    assert (plan.discretization.grids, plan.division.counts) == (2, "2 x 1")
    assert "µs on 4 (too large)" in plan.sharing
    assert all(demand.fits for demand in plan.demands)
    words = r"survey.spread: 'shots': the run needs .* on a card, .* free there; use auto, or grid"
    with pytest.raises(ScenarioError, match=words):
        make_plan(survey(spread="shots"), small, 4)
    words = r"survey.spread: 'shots': 8 at a time for 9 ranks; use at most 8, or auto, or grid"
    with pytest.raises(ScenarioError, match=words):
        make_plan(survey(spread="shots"), small, 9)


def test_a_run_that_fits_no_single_device_says_how_many_hold_it(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "available_memory", lambda: 10**13)
    discretization = larger(2000)
    memory = memory_of(discretization)
    need = demands(memory, Device(0))[0].need
    device = Device(KERNEL_BYTES + (need - KERNEL_BYTES) // 3 + 100)
    words = r"; use 3 GPUs of this kind \(--gpus 3\), a coarser grid.spacing"
    with pytest.raises(InsufficientMemoryError, match=words):
        refuse_what_does_not_fit(discretization, memory, device, tmp_path / "x.h5")
    refuse_what_does_not_fit(
        discretization, memory, device, tmp_path / "x.h5", ranks=HypotheticalRanks(3)
    )
    assert worth_taking(discretization, device, 4)[0] >= 3


def test_the_plan_says_how_devices_share_the_grid(monkeypatch, capsys):
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    plan = make_plan(from_dict(SCENARIO), on_device(), 3)
    print_plan(plan, Console(width=200))
    said = capsys.readouterr().out
    assert re.search(r"shared by +3 x a card, in 3 x 1 parts along z and y; .* [\d.]+% above", said)
    assert re.search(r"run time .* on 3 x a card when", said)
    shared = plan.as_dict()["division"]
    assert (shared["ranks"], shared["parts"]) == (3, "3 x 1")
    assert plan.demands[0].need < make_plan(from_dict(SCENARIO), on_device()).demands[0].need


VOLUME = {
    "physics": "elastic",
    "grid": {"extent": {"x": 1200.0, "y": 1200.0, "z": 1200.0}, "spacing": 20.0},
    "time": {"duration": 0.02},
    "boundaries": {"top": "free_surface", "layer": {"points": 10}},
    "model": [{"type": "uniform", "vp": 1800.0, "vs": 1000.0, "rho": 2000.0},
              {"type": "sphere", "center": {"x": 600.0, "y": 600.0, "z": 600.0}, "radius": 240.0,
               "vp": 2500.0, "vs": 1400.0, "rho": 2100.0}],
    "sources": [{"type": "force", "force": {"z": 1e9}, "wavelet": {"type": "ricker",
                 "frequency": 5.0}, "position": {"x": 600.0, "y": 600.0, "z": 400.0}}],
    "receivers": [{"type": "points", "positions": [{"x": 300.0, "y": 600.0, "z": 0.0}]}],
}  # fmt: skip


def tilted(model):
    """The same rocks about an axis that is tilted."""
    return [rock | {"epsilon": 0.1, "delta": 0.05, "theta": 30.0} for rock in model]


def test_averages_of_tilted_rock_are_counted_with_those_around_the_grid():
    """Freed before the fields take their pages, beside which nothing else is kept."""
    discretization = discretize(from_dict(VOLUME | {"model": tilted(VOLUME["model"])}))
    nodes = math.prod(n + 12 for n in discretization.grid.points)
    memory = memory_of(discretization)
    coefficients = (memory.averages / 8 - 22 * nodes) / discretization.grid.size
    assert coefficients == round(coefficients) >= 22
    assert memory.total == memory.preparing > memory.averages + memory.model


def test_time_taken_of_the_memory_is_counted():
    memory = memory_of(discretize(from_dict(SCENARIO)))
    assert memory.host >= memory.stepping + machine.BANDWIDTH_BYTES


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the C library of others keeps freed memory")
@pytest.mark.parametrize("changes", [{}, {"model": tilted(VOLUME["model"])}], ids=["one", "tilted"])
def test_a_run_takes_no_more_memory_than_was_said(changes, tmp_path):
    """A tenth more at most; less where kernels need no compiling, and a short run no timing."""
    scenario = from_dict(VOLUME | changes)
    need = make_plan(scenario).demands[0].need
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(VOLUME | changes))
    command = [sys.executable, "-c", _MEASURED, "run", str(tmp_path / "a.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    taken = int(done.stdout.splitlines()[-1])
    assert 0.4 * need < taken < 1.1 * need


_MEASURED = """
from seismo.backends import machine
from seismo.cli import main
try:
    main()
except SystemExit:
    pass
print(machine.peak_memory())
"""

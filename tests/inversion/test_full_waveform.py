"""Inversions from files to files: gradients, recovered models, and runs that go on."""

import math
import os
import signal

import numpy as np
import pytest

import seismo
from seismo.errors import ScenarioError, StoppedError
from seismo.inversion.full_waveform.history import open_inversion
from seismo.inversion.full_waveform.objective import ShotSum
from seismo.inversion.full_waveform.run import invert
from seismo.inversion.problem import Problem
from seismo.inversion.survey.course import TaskRequest
from small_inversion import Rank, prepared, scenario, write_scenario


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("inversion")
    write_scenario(path)
    return path


@pytest.fixture(scope="module")
def ready(folder):
    return prepared(folder)


@pytest.fixture(scope="module")
def whole(ready, folder):
    """Return the contents of the results of an unbroken run."""
    return contents(invert(ready, TaskRequest(folder / "whole.h5")))


def contents(path) -> dict[str, np.ndarray]:
    """Return all arrays of an inversion's results."""
    with open_inversion(path) as results:
        assert results.attributes["status"] == "complete"
        names = [*results.parameters, *(f"gradient_{n}" for n in results.parameters)]
        count = len(results.column("misfit"))
        arrays = {n: np.stack([results.model(n, k) for k in range(count)]) for n in names}
        return arrays | {n: results.column(n) for n in ("misfit", "band", "evaluation")}


def assert_same(first, second) -> None:
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert (array == second[name]).all(), name


def test_models_come_nearer_to_the_truth(whole, ready):
    """In the middle between source and receivers, where waves pass; two bands of two iterations."""
    truth = seismo.Propagator(scenario(), ["vp"], {"vp": (1900.0, 2700.0)}, backend="cpu").model
    errors = [np.linalg.norm(vp - truth["vp"]) for vp in whole["vp"]]
    assert errors[-1] < 0.8 * errors[0]
    assert whole["vp"][-1][18, 20] > 2360.0  # of 2450 in the body, 2300 at the start
    assert list(whole["band"]) == [20.0] * 3 + [math.inf] * 3
    for band in (20.0, math.inf):
        values = whole["misfit"][whole["band"] == band]
        assert (np.diff(values) < 0.0).all()


def test_the_gradient_agrees_with_central_differences(folder):
    """Of unknown slowness with a tied density, a window, a filter, smoothing and weights."""
    (folder / "dense").mkdir()
    write_scenario(
        folder / "dense",
        physics="acoustic_variable_density",
        model=[{"type": "uniform", "vp": 2300.0, "rho": 2000.0}],
    )
    inversion = prepared(
        folder / "dense", start=[{"type": "uniform", "vp": 2200.0, "rho": 2000.0}],
        ties={"rho": "gardner"}, misfit={"before": {"velocity": 2000.0, "delay": 0.06},
        "taper": 0.01}, bands=[30.0], precondition={"type": "depth", "power": 0.5},
        mask={"sources": 40.0, "layers": 30.0},
    )  # fmt: skip
    unknowns = inversion.unknowns()
    shots = inversion.shot_sum()

    def objective(vp):
        models = unknowns.models({"vp": vp})
        value, by = shots.misfit(30.0, models, [0, 1])
        return value, unknowns.transposed(unknowns.with_ties(by, models), {"vp": vp}, models)

    problem = Problem(
        objective, {"vp": np.zeros(inversion.mask.shape)}, mask=unknowns.mask > 0.0,
        scales={"vp": 1.0},
    )  # fmt: skip
    random = np.random.default_rng(0)
    place = 0.05 * random.standard_normal(problem.flat_start.size)
    direction = random.standard_normal(problem.flat_start.size)
    _, gradient = problem.flat(place)
    step = 1e-4
    ahead, behind = (problem.flat(place + s * direction)[0] for s in (step, -step))
    assert (ahead - behind) / (2.0 * step) == pytest.approx(gradient @ direction, rel=1e-6)


def test_a_killed_run_goes_on_to_the_same_bits(ready, folder, whole, monkeypatch):
    """Processes die (SIGKILL) before or behind a rename of a file, at random, until one ends."""
    output = folder / "killed.h5"
    random = np.random.default_rng(5)
    codes = []
    while not codes or codes[-1]:
        codes.append(killed(ready, output, int(random.integers(1, 5))))
        assert len(codes) < 30
    assert codes[:-1] == [-signal.SIGKILL] * (len(codes) - 1)
    assert len(codes) > 3
    assert_same(contents(output), whole)
    assert not output.with_name("killed.h5.run").exists()


def killed(ready, output, operations: int) -> int:
    """Go on in a process that dies at its n-th new file; return 0, or the signal that ended it."""
    child = os.fork()
    if not child:
        done = 0
        rename = os.replace

        def replace_or_die(self, target):
            nonlocal done
            done += 1
            if done == operations and operations % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            rename(self, target)
            if done == operations:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            type(output).replace = replace_or_die
            invert(ready, TaskRequest(output, resume=True))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def test_a_run_stops_between_evaluations_and_goes_on(ready, folder, whole):
    output = folder / "stopped.h5"
    reports = []

    def stops_after_three() -> bool:
        return len(list(output.with_name("stopped.h5.run").glob("evaluation-*"))) >= 3

    with pytest.raises(StoppedError, match="go on with --resume"):
        invert(ready, TaskRequest(output, None, reports.append, stops_after_three))
    with open_inversion(output) as results:
        assert results.attributes["status"] == "unfinished"
        assert len(results.column("misfit")) == len(reports)
    with pytest.raises(ScenarioError, match="go on with --resume, or start over"):
        invert(ready, TaskRequest(output))
    invert(ready, TaskRequest(output, resume=True))
    assert_same(contents(output), whole)
    # Complete results of the same inversion are left alone.
    before = output.stat().st_mtime_ns
    invert(ready, TaskRequest(output, resume=True))
    assert output.stat().st_mtime_ns == before


def test_another_inversion_does_not_go_on(ready, folder):
    output = folder / "other.h5"
    with pytest.raises(StoppedError):
        invert(ready, TaskRequest(output, is_stopping=lambda: True))
    with pytest.raises(ScenarioError, match="begun with another inversion"):
        invert(prepared(folder, smooth=20.0), TaskRequest(output, resume=True))


@pytest.mark.parametrize("count", [2, 3])  # of three ranks one has no shot
def test_the_gradient_is_the_same_for_any_number_of_ranks(ready, count):
    models = ready.start
    value, gradient = ready.shot_sum().misfit(20.0, models, [0, 1])
    ranks = [Rank(n, count) for n in range(count)]
    sums = [ShotSum(ready.propagator, ready.shot_sum()._make, rank) for rank in ranks]
    order = (("misfit", 20.0, models), [(0, [0]), (1, [1])])
    ranks[0].others = [s._of_rank(*order) for s in sums[1:]]
    shared_value, shared_gradient = sums[0].misfit(20.0, models, [0, 1])
    assert shared_value == value
    assert (shared_gradient["vp"] == gradient["vp"]).all()


def test_adam_with_random_shots(folder):
    """Each iteration has a shot of its own; the sum over all decreases."""
    inversion = prepared(
        folder, optimiser={"method": "adam", "iterations": 4, "step": "1 %"}, bands=[20.0],
        shots={"each": 1, "random": 3}, smooth=None, precondition=None,
    )  # fmt: skip
    path = invert(inversion, TaskRequest(folder / "adam.h5"))
    arrays = contents(path)
    total = [
        inversion.shot_sum().misfit(20.0, {"vp": vp}, [0, 1])[0]
        for vp in (arrays["vp"][0], arrays["vp"][-1])
    ]
    assert total[1] < 0.9 * total[0]
    # 1 % of the bounds of slowness in each iteration, at most: the range is 1/1900 - 1/2700 s/m.
    change = np.abs(1.0 / arrays["vp"][1] - 1.0 / arrays["vp"][0]).max()
    assert change == pytest.approx(0.01 * (1.0 / 1900.0 - 1.0 / 2700.0), rel=1e-3)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"parameters": {"vs": {"bounds": [1000.0, 2000.0]}}}, "vs: is no parameter of acoustic"),
        ({"parameters": {"vp": {"bounds": [2350.0, 2700.0]}}}, "the first model has 2300 to 2300"),
        ({"mask": {"above": "3 km"}}, "leaves no node free"),
        ({"start": [{"type": "uniform", "vp": "2 kg"}]}, "start[0].vp"),
        (
            {"optimiser": {"method": "adam"}, "shots": {"each": 3, "random": 0}},
            "exceeds the 2 shots of the scenario",
        ),
    ],
)
def test_what_cannot_be_inverted_is_refused(folder, keys, problem):
    with pytest.raises(ScenarioError) as caught:
        prepared(folder, **keys)
    assert problem in str(caught.value)
    assert "inversion.yaml:" in str(caught.value)


def test_water_stays_as_it_is(folder):
    """Nodes that are slower than the bounds are held; the bounds are those of the others."""
    inversion = prepared(
        folder, start=[{"type": "uniform", "vp": 2300.0},
                       {"type": "block", "x": [0.0, 400.0], "z": [0.0, 95.0], "vp": 1500.0}],
        mask={"slower_than": "1.6 km/s"},
    )  # fmt: skip
    assert (inversion.mask[:10] == 0.0).all()
    assert (inversion.mask[11:] == 1.0).all()
    assert inversion.propagator.bounds["vp"] == (1500.0, 2700.0)


def test_the_command_checks_inverts_and_draws(folder, command_line):
    """`--check` writes nothing; figures are those of the results."""
    prepared(folder, bands=["inf"], optimiser={"iterations": 1})
    file = folder / "inversion.yaml"
    code, out, _ = command_line("invert", file, "--check", "--backend", "cpu", "--threads", "1")
    assert code == 0
    assert "unknown     vp at 1,515 of 37 x 41 nodes" in out
    assert "well.pressure (14 traces) by l2" in out
    output = folder / "drawn.h5"
    assert not output.exists()
    options = ("--backend", "cpu", "--threads", "1", "--output", output)
    code, out, err = command_line("invert", file, *options)
    assert (code, out.strip()) == (0, str(output))
    assert "band 1/1 (all frequencies)  iteration 1/1" in err
    code, out, _ = command_line("plot", output)
    assert code == 0
    assert [folder / f"drawn-{kind}.png" for kind in ("misfit", "models")] == [
        type(folder)(line) for line in out.split()
    ]
    code, out, _ = command_line("info", output)
    assert code == 0
    assert "  models      vp at 37 x 41 nodes" in out
    assert "of the first, all frequencies" in out
    code, _, err = command_line("plot", output, "gather")
    assert code == 2
    assert "figures of inversions are misfit, models" in err

"""Memory variables in 16 bits: who keeps them so, what that changes, on every backend and cut."""

import math

import numpy as np
import pytest

import solver
import test_gpu_simulated
import test_solver_backends
from seismo import check
from seismo.errors import ScenarioError, UnstableError
from seismo.features.loss import mechanisms as memory_storage
from seismo.scenario import from_dict
from seismo.solver.accuracy.stability_monitor import StabilityMonitor
from seismo.solver.discretize import discretize
from test_solver_state import assert_goes_on

pytestmark = pytest.mark.usefixtures("no_remedies")

SHORT = {"precision": "float32", "attenuation": {"storage": 16}}
MOST_UNLIKE = memory_storage.MOST_UNLIKE


@pytest.fixture(autouse=True)
def unlike_sources(monkeypatch):
    """Let sources of all kinds act at once, with one unit each."""
    monkeypatch.setattr(memory_storage, "MOST_UNLIKE", math.inf)


def plan(dimensions: int = 2, name: str = "viscoelastic", **changes) -> dict:
    return solver.plan(name, dimensions, **{"steps": 5, **SHORT, **changes})


def scale(document: dict) -> float:
    return discretize(from_dict(document)).earth.relaxation.scale


@pytest.mark.parametrize(
    ("dimensions", "storage", "short"),
    [(2, "auto", False), (3, "auto", True), (2, 16, True), (3, 32, False)],
)
def test_who_keeps_them_in_16_bits(dimensions, storage, short):
    assert bool(scale(plan(dimensions, attenuation={"storage": storage}))) is short


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"precision": "float64"}, "precision is float64"),
        ({"name": "viscoacoustic"}, "P-SV waves alone"),
        ({"attenuation": {"storage": 16, "band": [1e-4, 60.0]}}, "begins too low"),
    ],
)
def test_where_they_will_not_do(changes, problem):
    with pytest.raises(ScenarioError, match=rf"attenuation\.storage: 16: too few bits.*{problem}"):
        scale(plan(**changes))


def test_neighbours_are_sent_no_memory():
    """They read none; copies between cards are of numbers of one size."""
    physics = discretize(from_dict(plan(3))).physics
    assert physics.short
    for stage in physics.stages:
        assert set(physics.exchanged(stage)) == {n for n in stage.writes if n[0] in "vs"}


def test_a_point_and_step_take_fewer_bytes_and_check_says_so():
    numbers = {bits: check(plan(attenuation={"storage": bits})) for bits in (16, 32)}
    assert "memory variables in 16 bits" in str(numbers[16])
    assert numbers[32].memory.wavefield > 1.3 * numbers[16].memory.wavefield


@pytest.mark.parametrize(
    ("times", "delay", "bits"), [(100.0, 0.0, 16), (1e4, 0.0, 32), (1e4, 50.0, 16)]
)
def test_sources_that_are_much_weaker_than_others_take_32(monkeypatch, times, delay, bits):
    """Whichever shot they are of; what begins after the end does not count."""
    monkeypatch.setattr(memory_storage, "MOST_UNLIKE", MOST_UNLIKE)
    place = solver.place(3, 9.3)
    weak, strong = (
        solver.source(solver.physics_for("viscoelastic", 3), "explosion", place, **changes)
        for changes in ({}, {"moment": times, "delay": delay})
    )
    document = plan(3, sources=[weak, strong], attenuation={"storage": "auto"})
    assert (scale(document) != 0.0) == (bits == 16)
    if bits == 32:
        with pytest.raises(ScenarioError, match=r"too few bits: source .* is 1.0e\+04 times"):
            scale(document | {"attenuation": {"storage": 16}})


TILTED = pytest.param("viscoelastic_tti", marks=pytest.mark.slow)


@pytest.mark.parametrize("case", solver.slow_but({"free_surface"}, ["layers", "free_surface"]))
@pytest.mark.parametrize("name", ["viscoelastic", TILTED])
def test_lanes_equal_numpy(name, case, tmp_path):
    test_solver_backends.compare(name, 2, tmp_path, case, **SHORT)


@pytest.mark.parametrize("name", ["viscoelastic", TILTED])
def test_the_cards_lanes_equal_numpy(name, tmp_path):
    document = test_gpu_simulated.planned(name, 2, tmp_path, **SHORT)
    test_gpu_simulated.compare(document, tmp_path)


def test_a_run_goes_on_to_the_same_bits(tmp_path):
    document = plan(steps=24, random_medium=tmp_path, cells=(30, 26))
    assert_goes_on(document, tmp_path, (5, 13), parts=(2, 1))


@pytest.mark.parametrize("name", ["viscoelastic", TILTED])
def test_traces_hardly_change(name):
    """Through rock whose Q is 10, on a coarse grid: measured 4e-5 and 6e-4."""
    model = [{"type": "uniform", "vp": 2000.0, "vs": 1100.0, "rho": 2000.0, "qp": 20.0, "qs": 10.0}]
    if name == "viscoelastic_tti":
        model[0] |= {"epsilon": 0.2, "delta": 0.1, "gamma": 0.1, "theta": 30.0}
    read = [solver.points([solver.place(2, (90.3, 12.0))], quantities=["velocity"])]
    keys = {"cells": (100, 24), "steps": 420, "model": model, "receivers": read}
    short, whole = (
        solver.records(solver.simulate(plan(name=name, **keys, attenuation={"storage": bits})))
        for bits in (16, 32)
    )
    for name, wanted in whole.items():
        change = np.linalg.norm(short[name] - wanted) / np.linalg.norm(wanted)
        assert 1e-7 < change < 1e-3


def test_the_softest_ground_of_all_sources_counts():
    soft = {"vp": 400.0, "vs": 100.0, "rho": 1600.0}
    model = [{"type": "block", "x": [0.0, 100.0], **soft, "qp": 40.0, "qs": 20.0}]
    document = plan(cells=40, receivers=[solver.points([solver.place(2, 30.0)])])
    ends = [dict(document["sources"][0], position=solver.place(2, (n, 20.0))) for n in (5.0, 30.0)]
    scales = [
        scale(document | {"model": document["model"] + model, "sources": some})
        for some in (ends[:1], ends, ends[1:])
    ]
    assert scales[0] == scales[1] < scales[2] / 10.0


@pytest.mark.parametrize(
    "kind",
    solver.slow_but(
        {"force", "moment_tensor"}, ["force", "moment_tensor", "explosion", "volume_rate"]
    ),
)
def test_the_largest_ones_are_far_from_both_ends(kind):
    """16 bits reach from 6e-5 to 65504."""
    document = plan(steps=60, name="viscoelastic")
    document["sources"] = [one for one in document["sources"] if one["type"] == kind]
    simulation, largest = solver.build(document), 0.0
    while simulation.step < simulation.total_steps:
        simulation.advance(8)
        views = (view for _, view in simulation.views("memory_xx_3"))
        largest = max(largest, *(float(np.abs(view[...]).max()) for view in views))
    assert 30.0 < largest < 6000.0


def test_what_is_too_large_ends_the_run(monkeypatch):
    monkeypatch.setattr(memory_storage, "strain_rates", lambda *a: np.full(len(a[2]), 1e-9))
    simulation = solver.build(plan(steps=60))
    monitor = StabilityMonitor(simulation, "vx", math.inf)
    simulation.advance(simulation.total_steps)
    with pytest.raises(UnstableError, match=r"attenuation\.storage: 32"):
        monitor.confirm(simulation.step)


@pytest.mark.parametrize(("quality", "short"), [(12.0, True), (5.0, False)])
def test_receivers_that_hardly_anything_reaches_take_32(quality, short):
    """Nine S wavelengths, 0.75 and 1.8 times Q; 16 bits are kept where they are asked for."""
    document = plan(3, cells=(40, 12, 12), attenuation={"storage": "auto"})
    wavelet = {"type": "ricker", "frequency": 10.0}
    document["model"] = [{"type": "uniform", "vp": 3000.0, "vs": 1000.0, "rho": 2200.0,
                          "qp": 2.0 * quality, "qs": quality}]  # fmt: skip
    reach = 900.0
    document["grid"] |= {"spacing": 25.0, "extent": {"x": 1000.0, "y": 300.0, "z": 300.0}}
    middle = {"y": 150.0, "z": 150.0}
    document["sources"] = [{"type": "force", "force": {"z": 1.0}, "wavelet": wavelet,
                            "position": {"x": 50.0, **middle}}]  # fmt: skip
    document["receivers"] = [solver.points([{"x": 50.0 + reach, **middle}])]
    assert bool(scale(document)) is short
    said = check(document, backend="cpu")
    assert ("in 32 bits, as S waves cross 1.8 wavelengths" in " ".join(str(said).split())) != short
    document["attenuation"] = {"storage": 16}
    assert scale(document)
    lines = check(document, backend="cpu").warnings
    assert any("storage: 16: S waves cross" in line for line in lines) != short

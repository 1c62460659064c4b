"""Steps update the points that waves can have reached: the answer is that of all points.

What is left out is less than 1e-7 of the largest, as much as rounding leaves in single precision.
"""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import mpi_worker
import seismo
import solver
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.device_threads import DeviceThreads
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import choose
from seismo.runs.resources.speed import RooflineMachine, seconds
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.parallel import active_region as moving_part
from seismo.solver.parallel.active_region import (
    AROUND,
    WIDTH,
    phases,
    points_a_step,
    updates,
)
from seismo.solver.simulation import Simulation
from thread_ranks import ThreadBackend

IN_SPACE = [case for case in solver.EVERY_EQUATION if case.values[1] == 3]


def cube(name: str = "acoustic", cells=60, **changes) -> dict:
    """Return an earth with sources of all kinds in a corner, whose waves cross most of it."""
    changes = {"steps": 60, "order": 4} | changes
    document = solver.plan(name, 3, cells=cells, **changes)
    for n, source in enumerate(document["sources"]):
        source["position"] = solver.place(3, [9.3 + n, 10.1, 8.6 + n])
    return document


def stepped(discretization, backend, from_rest: bool, counts=None) -> Simulation:
    simulation = Simulation(discretization, backend, counts, from_rest=from_rest)
    simulation.advance(simulation.total_steps)
    return simulation


@pytest.mark.parametrize("order", [2, 4, 8, 12, 16])
@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("name", ["acoustic", "elastic"])
def test_nothing_moves_ahead_of_a_front(name, order, share):
    """A source that acts in one step sends a plane wave along x, in the time steps of a volume."""
    time = {"duration": 1.0, "courant": share}
    discretization = discretize(from_dict(solver.plan(name, 3, order=order, steps=20, time=time)))
    courant = discretization.fastest * discretization.clock.dt / discretization.grid.spacing[0]
    speed = points_a_step(discretization)["x"]
    assert courant <= speed < 1.1 * courant
    first, second = (
        courant * discretization.stencil.first,
        courant**2 * discretization.stencil.second,
    )
    p, v, before = np.zeros(2600), np.zeros(2600), np.zeros(2600)
    p[1300] = 1.0
    for n in range(1, 1201):
        if name == "elastic":
            v = v - sum(c * (np.roll(p, -j) - np.roll(p, j - 1)) for j, c in enumerate(first, 1))
            p = p - sum(c * (np.roll(v, 1 - j) - np.roll(v, j)) for j, c in enumerate(first, 1))
        else:
            around = (c * (np.roll(p, j) + np.roll(p, -j)) for j, c in enumerate(second[1:], 1))
            p, before = 2.0 * p - before + second[0] * p + sum(around), p
        if n in (1, 3, 10, 30, 100, 300, 600, 1200):
            far = np.flatnonzero(np.abs(p) > 1e-7 * np.abs(p).max()).max() - 1300
            assert far < speed * n + WIDTH * np.cbrt(n) + AROUND


@pytest.mark.parametrize(
    ("name", "dimensions"), solver.slow_cases_but({"acoustic-3d", "elastic-3d"}, IN_SPACE)
)
@pytest.mark.parametrize("faces", [{}, {"top": "free_surface", "y_max": "rigid"}])
def test_the_answer_is_that_of_all_points(name, dimensions, faces):
    discretization = discretize(from_dict(cube(name, boundaries=solver.faces(dimensions, **faces))))
    some, every = (stepped(discretization, CpuBackend("float64"), rest) for rest in (True, False))
    assert len(some.phases) > 3
    assert len(every.phases) == 1
    assert solver.difference(solver.records(some), solver.records(every)) < 1e-7
    assert solver.difference(solver.wavefield(some), solver.wavefield(every)) < 1e-7


def on_a_hill(order: int = 4, **changes) -> dict:
    """Return a steep hill over a corner of the earth, and a source under it."""
    document = cube("elastic", (32, 60, 48), order=order, steps=45, **changes)
    across = {a: 8.0 * solver.SPACING[a] for a in "xy"}
    height = 4.0 * solver.SPACING["z"]
    document["topography"] = {
        "type": "hills", "hills": [{"center": across, "height": height, "width": 1.4 * height}]
    }  # fmt: skip
    document["boundaries"] = solver.faces(3, top="free_surface")
    document["sources"] = [document["sources"][0]]
    document["sources"][0]["position"] = across | {"depth": 4.0 * solver.SPACING["z"]}
    place = {a: 20.0 * solver.SPACING[a] for a in "xy"} | {"depth": 0.0}
    document["receivers"] = [{"type": "points", "positions": [place], "quantities": ["velocity"]}]
    return document


@pytest.mark.parametrize("order", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_the_answer_over_slopes_is_that_of_all_points(order, monkeypatch):
    """Waves go faster in rows that are lower, and less would not do."""
    discretization = discretize(from_dict(on_a_hill(order)))
    assert discretization.vertical.steepest > 0.5
    speed = points_a_step(discretization)
    courant = discretization.fastest * discretization.clock.dt / discretization.grid.spacing[2]
    assert speed["z"] > 1.3 * courant
    some, every = (stepped(discretization, CpuBackend("float64"), rest) for rest in (True, False))
    assert len(some.phases) > 3
    assert solver.difference(solver.wavefield(some), solver.wavefield(every)) < 1e-11
    monkeypatch.setattr(moving_part, "AROUND", -20.0)
    less = stepped(discretization, CpuBackend("float64"), True)
    assert solver.difference(solver.wavefield(less), solver.wavefield(every)) > 1e-5


def test_less_would_not_do(monkeypatch):
    """Of boxes that end within the wave the answer is another one."""
    discretization = discretize(from_dict(cube()))
    every = stepped(discretization, CpuBackend("float64"), False)
    monkeypatch.setattr(moving_part, "AROUND", -20.0)
    some = stepped(discretization, CpuBackend("float64"), True)
    assert solver.difference(solver.wavefield(some), solver.wavefield(every)) > 1e-3


@pytest.mark.parametrize("parts", solver.slow_but({(2, 3)}, [(2, 1), (2, 3)]))
def test_cuts_change_no_bit(parts, tmp_path):
    document = cube("elastic", (100, 32, 32), random_medium=tmp_path)
    discretization = discretize(from_dict(document, tmp_path))
    whole, cut = (stepped(discretization, CpuBackend("float64"), True, n) for n in (None, parts))
    assert len(whole.phases) > 1
    assert solver.identical(solver.records(cut), solver.records(whole))
    assert solver.identical(solver.wavefield(cut), solver.wavefield(whole))


def test_ranks_change_no_bit(tmp_path, monkeypatch):
    """Four ranks, of which some have nothing to do at first, in any order of launches."""
    monkeypatch.setattr(mpi_worker, "Simulation", partial(Simulation, from_rest=True))
    document = cube("elastic", (70, 40, 36), random_medium=tmp_path, steps=40)
    discretization = discretize(from_dict(document, tmp_path))
    assert len(phases(discretization, from_rest=True)) > 1
    take = partial(mpi_worker.outcome, discretization)
    wanted = take(None, SerialCommunicator(), CpuBackend)
    found = DeviceThreads(4).run(lambda ranks: take((2, 2), ranks, ThreadBackend))
    assert solver.identical(found, wanted)


def test_another_simulation_goes_on():
    """At a step within a phase, as from a checkpoint."""
    discretization = discretize(from_dict(cube(steps=40)))
    first, second = (
        Simulation(discretization, CpuBackend("float64"), from_rest=True) for _ in range(2)
    )
    stop = first.phases[2].first + 1
    solver.go_on(first, second, stop)
    for simulation in (first, second):
        simulation.advance(simulation.total_steps - stop)
    assert solver.identical(solver.wavefield(first), solver.wavefield(second))


def test_plain_code_and_kernels_agree():
    discretization = discretize(from_dict(cube("elastic", (100, 20, 20), steps=20)))
    found, wanted = (
        stepped(discretization, backend, True)
        for backend in (CpuBackend("float64"), ReferenceBackend("float64"))
    )
    assert found.phases[-1].box.size < 0.7 * discretization.grid.size
    assert solver.difference(solver.wavefield(found), solver.wavefield(wanted)) < 1e-12


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["acoustic", "elastic", "viscoelastic", "acoustic_tti", "hill"])
def test_a_card_leaves_out_what_the_processor_does(name):
    discretization = discretize(from_dict(on_a_hill() if name == "hill" else cube(name)))
    cut = (1, 2) if name == "hill" else (2, 2)  # rows that follow the ground are not cut
    (found, same), wanted = (
        [stepped(discretization, choose("gpu").make("float64"), True, n) for n in (None, cut)],
        stepped(discretization, CpuBackend("float64"), True),
    )
    assert len(found.phases) > 3
    assert solver.difference(solver.wavefield(found), solver.wavefield(wanted)) < 1e-11
    assert solver.identical(solver.wavefield(same), solver.wavefield(found))


def test_phases_end_where_a_front_has_come_to():
    """The box of a phase holds the sources' surroundings at its last step; layers keep theirs."""
    discretization = discretize(from_dict(cube()))
    found = phases(discretization, from_rest=True)
    assert found[0].first == 0
    assert found[-1].box == discretization.grid.box
    speed = points_a_step(discretization)["z"]
    for one, following in pairwise(found):
        assert one.box.size < following.box.size
        assert one.box & following.box == one.box
        deepest = discretization.grid.index("z", max(s["position"]["z"] for s in cube()["sources"]))
        assert one.box.hi[2] >= min(
            deepest + speed * following.first + 10.0, discretization.grid.points[2]
        )


@pytest.mark.parametrize(
    ("document", "from_rest"),
    [
        (cube(), False),
        (solver.plan("acoustic", 2, cells=300, steps=100), True),
        (cube(steps=2000), True),  # hardly anything is saved
        (cube(boundaries=dict.fromkeys(("x_min", "x_max", "y_min", "y_max"), "periodic")), True),
    ],
    ids=["moving", "plane", "long", "periodic"],
)  # fmt: skip
def test_where_all_points_are_updated(document, from_rest):
    discretization = discretize(from_dict(document))
    found = phases(discretization, from_rest)
    if "x_min" in document["boundaries"]:
        assert all(p.box.shape[:2] == discretization.grid.points[:2] for p in found)
        return
    assert [p.box for p in found] == [discretization.grid.box]
    assert updates(found, 5, 15) == 10 * discretization.grid.size


def test_a_run_counts_what_it_updates(tmp_path):
    """Its speed, its progress and what is expected of it; from rest, and after a stop."""
    document = cube(steps=100, precision="float32")
    discretization = discretize(from_dict(document))
    found = phases(discretization, from_rest=True)
    assert updates(found, 0, 30) + updates(found, 30, 100) == updates(found, 0, 100)
    work = []
    seismo.run(document, tmp_path / "x.h5", lambda p: work.append((p.fraction, p.work))).close()
    inside = [(steps, share) for steps, share in work if 0.0 < steps < 1.0 and share]
    assert all(share < steps for steps, share in inside)
    assert work[-2][1] == 1.0
    machine = RooflineMachine("cpu", {"threads": 1})
    share = (
        updates(found, 0, discretization.total_steps)
        / discretization.grid.size
        / discretization.total_steps
    )
    long = seconds(discretization, 1.0, machine)
    assert long == pytest.approx(
        share * discretization.grid.size * discretization.total_steps, rel=1e-3
    )

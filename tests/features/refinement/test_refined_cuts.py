"""Grids of two spacings on several ranks: the bits of one process, wherever they are cut."""

import numpy as np
import pytest

import seismo
import solver
from decomposition_cases import HALOS
from mpi_worker import outcome
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.device_threads import DeviceThreads
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError, StoppedError
from seismo.runs.loop import run_loop
from seismo.runs.request import Signals
from seismo.runs.resources.placement import FeasibleRanks
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation
from test_device_threads import on_team
from test_resume import contents
from thread_ranks import ThreadBackend

SPACING, PLANE = 10.0, 390.0
EXTENT = {"x": 180.0, "y": 480.0, "z": 780.0}


def case(name: str, folder, order: int = 4, **faces: str) -> dict:
    """Give a random medium on both sides of a plane; sources and receivers at cuts, and beside."""
    physics = physics_for(name, 3)
    document = solver.plan(name, 3, steps=None)
    document["grid"] |= {
        "extent": EXTENT, "spacing": SPACING, "order": order, "refinement": [{"below": PLANE}],
    }  # fmt: skip
    document["boundaries"] = {"top": "free_surface", "layer": {"points": 4}} | faces
    shape = tuple(round(EXTENT[a] / SPACING) + 1 for a in "zyx")
    document["model"] = solver.gridded(folder, solver.random_arrays(physics, shape))
    for quantity in document["model"][0].values():
        if isinstance(quantity, dict):
            quantity["spacing"] = dict.fromkeys("zyx", SPACING)
    places = [
        {"x": 101.0, "y": y, "z": z} for z in (150.0, 660.0) for y in (118.0, 237.0, 240.0, 362.0)
    ]
    kinds = list(physics.drives)
    document["sources"] = [
        solver.source(physics, kinds[n % len(kinds)], place) for n, place in enumerate(places)
    ]
    document["receivers"] = [solver.points(places, quantities=["velocity"])]
    document["time"] = {"duration": 0.1, "dispersion_removal": False}
    return document


@pytest.mark.parametrize(
    ("name", "order", "faces"),
    [
        ("elastic", 4, {}),
        pytest.param("viscoelastic", 8, {"x_min": "periodic", "x_max": "periodic"},
                     marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_every_cut_gives_the_bits_of_one(name, order, faces, tmp_path, monkeypatch) -> None:
    """Receivers of both grids, and fields of both, as the coarser one shows them."""
    discretization = discretize(from_dict(case(name, tmp_path, order, **faces), tmp_path))
    wanted = outcome(discretization, (1, 1), SerialCommunicator(), CpuBackend)
    assert wanted is not None
    assert all(values.any() for values in wanted.values())
    for count, parts, least in ((2, 2, HALOS[0]), (3, 3, HALOS[1]), (2, 3, HALOS[1])):
        monkeypatch.setattr(ThreadBackend, "copied_from", least)
        found = DeviceThreads(count).run(
            lambda r, p=(1, parts): outcome(discretization, p, r, ThreadBackend)
        )
        different = [key for key in wanted if not np.array_equal(found[key], wanted[key])]
        assert (parts, different) == (parts, [])


@pytest.mark.slow  # grids of two spacings go on in `test_changed_ranks.py`, too
def test_a_stopped_run_goes_on_on_any_number(tmp_path, monkeypatch) -> None:
    """Of a survey, with maps on both sides and snapshots of both; three ranks stop, two go on."""
    document = case("elastic", tmp_path)
    document["sources"] = document["sources"][:1]
    places = ({"x": 101.0, "y": y, "z": z} for y, z in ((237.0, 150.0), (240.0, 660.0)))
    shots = [{"position": place} for place in places]
    document["survey"] = {"shots": shots, "batch": 2}
    document["output"] = {
        "snapshots": [
            {"name": "section", "fields": ["velocity", "szz"], "steps": 9, "plane": {"x": 90.0}},
        ],
        "maps": [{"name": "ground", "quantities": ["pgv"], "plane": {"z": 0.0}},
                 {"name": "deep", "quantities": ["pgv"], "plane": {"z": 600.0}}],
    }  # fmt: skip
    monkeypatch.chdir(tmp_path)
    seismo.run(document, tmp_path / "one.h5").close()
    monkeypatch.setattr(run_loop, "REPORT_EVERY", 0.0)
    signals = Signals()

    def stop(progress) -> None:
        signals.stop |= progress.phase == "step"

    on_team(monkeypatch, 3)
    stopping = document | {"checkpoint": {"steps": 7}}
    with pytest.raises(StoppedError):
        seismo.run(stopping, tmp_path / "two.h5", stop, signals=signals)
    on_team(monkeypatch, 2)
    with seismo.run(document, tmp_path / "two.h5", resume=True) as results:
        assert results.summary["ranks"] == 2
    assert contents(tmp_path / "two.h5") == contents(tmp_path / "one.h5")


def test_cuts_along_z_are_refused(tmp_path) -> None:
    document = case("elastic", tmp_path)
    discretization = discretize(from_dict(document, tmp_path))
    with pytest.raises(ScenarioError, match="along z, where grids of two spacings"):
        Simulation(discretization, CpuBackend("float32"), (2, 1))
    document["grid"]["decomposition"] = [2, 2]
    with pytest.raises(ScenarioError, match=r"cut along y alone: use \[1, 4\]"):
        from_dict(document, tmp_path)


def test_ranks_that_can_share_them_are_counted(tmp_path) -> None:
    """As many as parts of four coarse points fit along y, between the layers."""
    feasible = FeasibleRanks(from_dict(case("elastic", tmp_path), tmp_path))
    assert [feasible.suits(n) for n in range(1, 8)] == [True] * 5 + [False] * 2

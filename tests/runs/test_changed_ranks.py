"""Runs that go on, on another number of ranks and parts, to the bits of an unbroken one.

State goes through the files of a checkpoint, as that of a run does. Ranks are threads of this
process (`thread_ranks.py`); that processes do the same is in `test_ranks.py`. Nothing is computed
when arrays are copied, so equality is exact.
"""

import math

import numpy as np
import pytest

import seismo
import solver
from decomposition_cases import VOLUME, case
from mpi_worker import records_and_fields
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.device_threads import DeviceThreads
from seismo.errors import StoppedError
from seismo.features.loss import mechanisms as memory_storage
from seismo.output.run_directory import checkpoint
from seismo.runs.checkpoints import own_folder
from seismo.runs.loop import run_loop
from seismo.runs.request import Signals
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation
from simulated_card import simulated
from solver import slow_but
from test_curved_rows import on_hill
from test_device_threads import on_team
from test_finite_fault import elastic, fault, srf
from test_many_subfaults import LOSSY, PLAIN, rough, window_of
from test_refined_cuts import case as refined
from test_resume import contents
from thread_ranks import ThreadBackend

pytestmark = pytest.mark.usefixtures("no_remedies", "exact_contacts")

# Ranks and parts along z and y, one after another; parts of one rank are stored in one file.
CUTS = [(2, (1, 2)), (3, (3, 1)), (1, (2, 2))]
MORE_CUTS = [(1, (1, 1)), *CUTS, (2, (2, 2)), (1, (2, 1)), (2, (1, 4)), (3, (1, 3)), (1, (1, 1))]
ALONG_Y = [(2, (1, 2)), (3, (1, 3)), (1, (1, 2)), (2, (1, 2))]
ALONG_Z = [(1, (1, 1)), (2, (2, 1)), (3, (3, 1)), (1, (2, 1)), (2, (4, 1))]


def leg(discretization, base, ranks, parts, start, stop, make):
    """Take some steps from a checkpoint, and write another; give what is there on the first."""
    backend = make(discretization.scenario.precision)
    simulation = Simulation(discretization, backend, parts, ranks)
    if start:
        name = f"checkpoint-{start:012d}.zip"
        files = [base / name, *sorted(base.glob(f"rank-*/{name}"))]
        simulation.step = start
        own = own_folder(base, ranks.number)
        checkpoint.fill(files, own / name, simulation.state(), backend.array)
    stop = simulation.total_steps if stop is None else stop
    simulation.advance(stop - start)
    folder = own_folder(base, ranks.number)
    folder.mkdir(exist_ok=True)
    checkpoint.write(folder, stop, {}, simulation.state(), backend.fetch)
    return records_and_fields(simulation, ranks)


def assert_goes_on(document, base, cuts, make=ThreadBackend) -> None:
    """Stop after an even or an odd number of steps, and go on with the next cut of the grid."""
    (count, parts), *others = cuts
    discretization = discretize(from_dict(document, base))
    wanted = leg(discretization, base, SerialCommunicator(), (1, 1), 0, None, make)
    assert all(values.any() for values in wanted.values())
    stops = [7 + 4 * n - n % 2 for n in range(len(others))]
    legs = zip(cuts, [0, *stops], [*stops, None], strict=True)
    for (count, parts), start, stop in legs:
        found = DeviceThreads(count).run(
            lambda ranks, p=parts, a=start, b=stop: leg(discretization, base, ranks, p, a, b, make)
        )
    assert [key for key in wanted if not np.array_equal(found[key], wanted[key])] == []


@pytest.mark.parametrize(
    ("name", "dimensions"),
    solver.slow_cases_but({"elastic-2d", "acoustic-3d"}, solver.EVERY_EQUATION),
)
def test_every_equation_goes_on(name, dimensions, tmp_path) -> None:
    cuts = MORE_CUTS if dimensions == 3 else ALONG_Z
    assert_goes_on(case(name, dimensions, tmp_path), tmp_path, cuts)


@pytest.mark.parametrize(
    ("name", "dimensions", "storage"),
    [("viscoelastic", 2, 16), ("viscoelastic", 2, 32),
     pytest.param("viscoelastic", 3, 16, marks=pytest.mark.slow),
     pytest.param("viscoelastic", 3, 32, marks=pytest.mark.slow),
     pytest.param("viscoelastic_tti", 3, 16, marks=pytest.mark.slow),
     pytest.param("viscoelastic_tti", 3, 32, marks=pytest.mark.slow)],
)  # fmt: skip
def test_memory_variables_go_on(name, dimensions, storage, tmp_path) -> None:
    """They are read where they stand alone: nobody sends them, and halos have old ones."""
    document = case(name, dimensions, tmp_path)
    document |= {"precision": "float32", "attenuation": {"storage": storage}}
    document["sources"] = document["sources"][:1]
    assert_goes_on(document, tmp_path, CUTS if dimensions == 3 else ALONG_Z)


def test_refined_grids_with_losses_go_on(tmp_path) -> None:
    document = refined("viscoelastic", tmp_path)
    document["time"]["duration"] = 0.05
    assert_goes_on(document, tmp_path, ALONG_Y[:2])


@pytest.mark.parametrize("dimensions", slow_but([2], [2, 3]))
def test_hills_with_losses_go_on(dimensions, tmp_path) -> None:
    document = on_hill("viscoelastic", dimensions, 4, time=PLAIN)
    assert_goes_on(document, tmp_path, {2: ALONG_Z[:2], 3: ALONG_Y}[dimensions])


def test_faults_go_on(tmp_path, monkeypatch) -> None:
    """In the middle of a window of their signals."""
    window_of(monkeypatch, 16)
    document = elastic(
        [fault(tmp_path, srf(rough(6)))], cells=20, model=LOSSY, precision="float32", time=PLAIN
    )
    assert_goes_on(document, tmp_path, CUTS)


def test_fields_of_16_bits_go_on(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(memory_storage, "MOST_UNLIKE", math.inf)
    document = case("elastic", 2, tmp_path) | {"precision": "float16"}
    assert_goes_on(document, tmp_path, ALONG_Z, simulated)


def test_plane_waves_go_on(tmp_path) -> None:
    document = solver.plan("viscoelastic", 2, cells=(60, 40), steps=60)
    document["boundaries"] |= {"top": "free_surface"}
    wavelet = {"type": "ricker", "frequency": 20.0}
    document["sources"] = [
        {"type": "plane_wave", "wave": "SV", "incidence": 20.0} | {"wavelet": wavelet}
    ]
    assert_goes_on(document, tmp_path, ALONG_Z)


@pytest.mark.parametrize("storage", slow_but([32], [16, 32]))
def test_a_survey_goes_on(storage, tmp_path, monkeypatch) -> None:
    """Shots in batches, moving receivers, maps with oscillators, snapshots, and losses."""
    streamer = {
        "type": "points", "name": "streamer", "relative_to": "source", "quantities": ["velocity"],
        "positions": [{"x": 20.0, "y": y, "z": 50.0} for y in (-30.0, 1.0, 70.0)],
    }  # fmt: skip
    ground = {"name": "ground", "quantities": ["pgv", "sa"], "periods": [0.05], "plane": {"z": 0.0}}
    document = VOLUME | {
        "precision": "float32",
        "attenuation": {"storage": storage},
        "model": [
            {"type": "uniform", "vp": 1800.0, "vs": 900.0, "rho": 1700.0, "qp": 40.0, "qs": 20.0}
        ],
        "receivers": [*VOLUME["receivers"], streamer],
        "output": VOLUME["output"] | {"maps": [ground]},
    }
    seismo.run(document, tmp_path / "one.h5").close()
    monkeypatch.setattr(run_loop, "REPORT_EVERY", 0.0)
    resume = None
    for count, parts in ((2, [2, 1]), (3, [1, 3]), (1, [2, 2])):
        signals = Signals()

        def stop(progress, signals=signals) -> None:
            signals.stop |= progress.phase == "step"

        on_team(monkeypatch, count)
        again = document | {"grid": VOLUME["grid"] | {"decomposition": parts}}
        with pytest.raises(StoppedError):
            seismo.run(again, tmp_path / "x.h5", stop, signals=signals, resume=resume)
        resume = True
    seismo.run(document, tmp_path / "x.h5", resume=True).close()
    assert contents(tmp_path / "x.h5") == contents(tmp_path / "one.h5")

"""Several GPUs: `pytest -m gpu tests/backends/gpu/test_several_gpus.py`, bit-identical to one.

Sources and receivers stand on cuts, on corners of four parts, and in the halos beside them. Every
card compiles the kernels of its own part, so that this takes minutes with an empty cache.
"""

import math
from itertools import product

import numpy as np
import pytest

import mpi_worker
import seismo
import solver
from decomposition_cases import HALOS, VOLUME, case
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.device_threads import DeviceThreads
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.detect import detect
from seismo.backends.select import choose, choose_all
from seismo.errors import DeviceError, StoppedError
from seismo.features.loss import mechanisms as memory_storage
from seismo.runs import run
from seismo.runs.loop import run_loop
from seismo.runs.request import Request, Signals
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_curved_rows import CURVED, on_hill
from test_refined_cuts import case as refined
from test_resume import contents

pytestmark = pytest.mark.gpu
CUTS = {
    2: {2: [(2, 1)], 4: [(4, 1)]},
    3: {2: [(2, 1), (1, 2)], 4: [(2, 2), (4, 1)], 8: [(4, 2), (2, 4)]},
}
CURVED_CUTS = {2: {2: [(2, 1)]}, 3: {2: [(2, 1), (1, 2)], 4: [(2, 2), (1, 4)], 8: [(2, 4)]}}
# What has 16 bits: fields and model, or memory variables alone.
FIELDS = {"precision": "float16"}
MEMORY = {"precision": "float32", "attenuation": {"storage": 16}}


@pytest.fixture(scope="module")
def count() -> int:
    """How many cards are used: 2, 4 or 8."""
    found = len(detect().gpus)
    if found < 2:
        pytest.skip("there is one GPU only")
    return max(n for n in (2, 4, 8) if n <= found)


def assert_cuts_change_no_bit(
    document: dict, count: int, base, monkeypatch, cuts: dict[int, dict] = CUTS
) -> None:
    """Compare every cut over two cards and more with one card, halos copied and packed."""
    monkeypatch.setattr(GpuBackend, "in_clusters", False)  # whose planes differ by rounding
    discretization = discretize(from_dict(document, base))
    wanted = mpi_worker.outcome(discretization, None, SerialCommunicator(), choose("gpu").make)
    assert all(values.any() for values in wanted.values())
    dimensions = len(document["grid"]["extent"])
    every = [p for n, some in cuts[dimensions].items() if n <= count for p in some]
    for parts, least in product(every, HALOS):
        monkeypatch.setattr(GpuBackend, "copied_from", least)
        choices = choose_all(parts[0] * parts[1])

        def one(ranks, parts=parts, choices=choices):
            return mpi_worker.outcome(discretization, parts, ranks, choices[ranks.number].make)

        found = DeviceThreads(len(choices)).run(one)
        different = [key for key in wanted if not np.array_equal(found[key], wanted[key])]
        assert (parts, least, different) == (parts, least, [])


@pytest.mark.parametrize("faces", [{}, {"top": "absorbing"}], ids=["images", "layers"])
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_every_cut_gives_the_bits_of_one_card(
    name, dimensions, faces, count, tmp_path, monkeypatch
):
    document = case(name, dimensions, tmp_path, **faces)
    assert_cuts_change_no_bit(document, count, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "dimensions", "short"),
    [
        pytest.param("acoustic", 3, FIELDS, id="acoustic-3d"),
        pytest.param("elastic", 3, FIELDS, id="elastic-3d"),
        pytest.param("elastic", 2, FIELDS, id="elastic-2d", marks=pytest.mark.slow),
        pytest.param("elastic_vti", 3, FIELDS, id="elastic_vti-3d", marks=pytest.mark.slow),
        pytest.param("viscoelastic", 3, MEMORY, id="viscoelastic-3d"),
        pytest.param(
            "viscoelastic_tti", 3, MEMORY, id="viscoelastic_tti-3d", marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
def test_every_cut_gives_the_16_bits_of_one_card(
    name, dimensions, short, count, tmp_path, monkeypatch
):
    """Sources of all kinds act at once, with one unit each."""
    monkeypatch.setattr(memory_storage, "MOST_UNLIKE", math.inf)
    document = case(name, dimensions, tmp_path, top="free_surface") | short
    assert_cuts_change_no_bit(document, count, tmp_path, monkeypatch)


@pytest.mark.parametrize(("name", "dimensions"), CURVED)
def test_cuts_beside_and_below_curved_rows_give_the_bits_of_one_card(
    name, dimensions, count, tmp_path, monkeypatch
):
    """Along y anywhere; along z below the rows that follow the ground."""
    document = on_hill(name, dimensions, 4, precision="float32")
    assert_cuts_change_no_bit(document, count, tmp_path, monkeypatch, CURVED_CUTS)


@pytest.mark.parametrize(("name", "order"), [("elastic", 4), ("viscoelastic", 8)])
def test_cuts_of_refined_grids_give_the_bits_of_one_card(name, order, count, tmp_path, monkeypatch):
    """Along y, both at once; four parts where they are wide enough."""
    cuts = {3: {n: [(1, n)] for n in (2, 4) if n < 4 or order == 4}}
    assert_cuts_change_no_bit(refined(name, tmp_path, order), count, tmp_path, monkeypatch, cuts)


@pytest.mark.parametrize(("spread", "grids"), [("grid", 1), ("shots", 2)])
def test_a_whole_run_gives_the_file_of_one_card(count, tmp_path, spread, grids):
    """Traces, snapshots and maps of a survey."""
    seismo.run(VOLUME, tmp_path / "one.h5", backend="gpu").close()
    scenario = VOLUME | {"survey": VOLUME["survey"] | {"spread": spread}}
    with seismo.run(
        scenario, tmp_path / "all.h5", gpus=2 if spread == "shots" else count
    ) as results:
        assert results.summary["grids"] == grids
    assert contents(tmp_path / "all.h5") == contents(tmp_path / "one.h5")
    assert not list(tmp_path.glob("*.run"))


def test_a_stopped_run_goes_on_on_any_number(count, tmp_path, monkeypatch):
    """Stopped on all cards, then on half as many, and so on down to one."""
    monkeypatch.setattr(run_loop, "REPORT_EVERY", 0.0)  # else it may be over before it is told
    seismo.run(VOLUME, tmp_path / "one.h5", backend="gpu").close()
    signals = Signals()

    def stop(progress) -> None:
        signals.stop |= progress.phase == "step"  # of any card, once

    scenario = VOLUME | {"checkpoint": {"steps": 4}}
    with pytest.raises(StoppedError, match="seismo resume"):
        seismo.run(scenario, tmp_path / "all.h5", stop, gpus=count, signals=signals)
    while count > 2:
        count //= 2
        signals = Signals()
        again = Request(report=stop, backend="gpu", gpus=count, signals=signals)
        with pytest.raises(StoppedError, match="seismo resume"):
            run.resume(tmp_path / "all.h5.run", again)
    run.resume(tmp_path / "all.h5.run", Request(backend="gpu", gpus=1)).close()
    assert contents(tmp_path / "all.h5") == contents(tmp_path / "one.h5")


def test_more_cards_than_there_are_is_refused():
    with pytest.raises(DeviceError, match="gpus: 1000; there are "):
        seismo.run(VOLUME, gpus=1000)

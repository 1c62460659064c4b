"""Children of a process that has started threads: they step on one thread, to the same bits."""

import json
import subprocess
import sys

import pytest

from seismo.backends import machine, select
from seismo.backends.cpu.backend import CpuBackend

CHILDREN = """
import json, multiprocessing, sys, warnings
import seismo

SCENARIO = {
    "physics": "acoustic", "grid": {"extent": {"x": 300, "z": 300}, "spacing": 10, "order": 4},
    "time": {"duration": 0.1}, "boundaries": {"layer": {"points": 8}},
    "model": [{"type": "uniform", "vp": 2000.0}],
    "sources": [{"type": "pressure", "position": {"x": 100, "z": 100},
                 "wavelet": {"type": "ricker", "frequency": 10}}],
    "receivers": [{"type": "points", "positions": [{"x": 200, "z": 100}]}],
}

SURVEY = SCENARIO | {
    "survey": {"shots": [{"position": {"x": x, "z": 100}} for x in (100, 150)], "batch": 2}
}

def one(job):
    scenario, threads = job
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with seismo.run(scenario, backend="cpu", threads=threads) as results:
            hashed = results.traces_hash
    return hashed, sum("was forked" in str(one.message) for one in caught)

if __name__ == "__main__":
    jobs = [(SCENARIO, None), (SCENARIO, 2), (SURVEY, None)]
    before = [one(job) for job in jobs]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(json.dumps([before, pool.map_async(one, jobs).get(60), [one(job) for job in jobs]]))
"""


def test_forked_children_run(tmp_path):
    """After runs on two threads in their parent, which goes on with two."""
    (tmp_path / "children.py").write_text(CHILDREN)
    done = subprocess.run(
        [sys.executable, "children.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, inside, behind = json.loads(done.stdout)
    assert [hashed for hashed, _ in before] == [hashed for hashed, _ in inside]
    assert before == behind
    assert [said for _, said in before] == [0, 0, 0]
    assert [said for _, said in inside][1] == 1


@pytest.mark.parametrize("threads", [None, 1])
def test_one_thread_is_no_loss_where_no_more_are_asked_for(monkeypatch, threads):
    monkeypatch.setattr(select, "has_lost_threads", lambda: True)
    monkeypatch.setattr("seismo.backends.machine.has_lost_threads", lambda: True)
    monkeypatch.setattr("seismo.backends.machine.most_threads", lambda: 2 if threads else 1)
    choice = select.choose("cpu", threads=threads)
    assert choice.note == "on the CPU, 1 thread"
    assert not choice.caution
    assert CpuBackend(threads=threads).threads == 1
    assert not machine._lost.is_set()

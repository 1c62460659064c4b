"""`seismo compare`: identical, or how far apart; differences here are known beforehand."""

import shutil

import h5py
import numpy as np
import pytest

import seismo
from seismo.output.report import compare
from test_resume import SHORT


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "a.h5"
    seismo.run(SHORT | {"checkpoint": {}}, path).close()
    return path


def changed(results, tmp_path, change):
    """Copy the file, and change the traces (shot, receiver, time) of the copy."""
    other = tmp_path / "b.h5"
    shutil.copy(results, other)
    with h5py.File(other, "r+") as file:
        group = next(iter(file["traces"].values()))
        change(group)
    return other


@pytest.fixture
def said(command_line):
    """Compare files; give exit code and lines."""

    def call(*files) -> tuple[int, list[str]]:
        code, out, _ = command_line("compare", *files)
        return code, out.splitlines()

    return call


def test_a_file_is_identical_to_its_copy(results, tmp_path, said):
    code, lines = said(results, changed(results, tmp_path, lambda group: None))
    assert (code, lines) == (0, ["identical: 3 arrays"])


def test_a_small_change_is_measured(results, tmp_path, said):
    """One number doubled: |b - a| is that number; over the norm of all it is the relative error."""

    def double(group):
        values = group["pressure"][...]
        place = np.unravel_index(np.abs(values).argmax(), values.shape)
        values[place] *= 2
        group["pressure"][...] = values

    other = changed(results, tmp_path, double)
    with seismo.open_results(results) as one, seismo.open_results(other) as two:
        found = {array.name.split("/")[-1]: array for array in compare(one, two)}
        values = next(iter(one.traces.values())).values_of("pressure").astype(float)
    largest = np.abs(values).max()
    assert found["pressure"].largest == pytest.approx(largest)
    assert found["pressure"].relative == pytest.approx(largest / np.sqrt((values**2).sum()))
    assert not found["pressure"].identical
    code, lines = said(results, other)
    assert code == 1
    assert [line for line in lines if "relative L2" in line] == [str(found["pressure"])]
    assert sum(line.endswith(": identical") for line in lines) == 2


def test_minus_zero_is_no_difference_but_not_identical(results, tmp_path):
    def with_first(zero: float, name: str):
        def change(group):
            group["pressure"][..., 0] = zero

        (tmp_path / name).mkdir()
        return changed(results, tmp_path / name, change)

    positive, negative = with_first(0.0, "positive"), with_first(-0.0, "negative")
    with seismo.open_results(positive) as one, seismo.open_results(negative) as two:
        (found,) = (array for array in compare(one, two) if not array.identical)
    assert (found.relative, found.largest) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda group: group.pop("pressure"), "only in the first file"),
        (lambda group: group["x"].__setitem__(0, 7.0), "stand at other places: x"),
    ],
)
def test_what_cannot_be_compared_says_why(results, tmp_path, said, change, message):
    code, lines = said(results, changed(results, tmp_path, change))
    assert code == 1
    assert any(message in line for line in lines)


def test_axes_that_agree_but_for_rounding_are_compared(results, tmp_path):
    """Before, the last bit of a time was another place; half a step is one."""

    def moved(share):
        def change(group):
            time = group["time"][...]
            group["time"][...] = time + share * (time[1] - time[0])

        return changed(results, tmp_path, change)

    for share, obstacle in ((1e-12, ""), (0.5, "stand at other places: time")):
        with seismo.open_results(results) as one, seismo.open_results(moved(share)) as two:
            found = next(array for array in compare(one, two) if array.name.startswith("traces"))
        assert found.obstacle == obstacle


def test_runs_of_other_grids_have_the_same_axes(tmp_path):
    """Sampled every 1.5 ms, at the same places; before, the last bits were those of the steps."""
    axes = []
    for n, spacing in enumerate((0.3, 0.1)):
        document = SHORT | {
            "grid": {"extent": {"x": 9.0, "z": 6.0}, "spacing": spacing, "order": 4},
            "time": {"duration": 0.006},
            "sources": [{"type": "pressure", "position": {"x": 3.0, "z": 3.0},
                         "wavelet": {"type": "ricker", "frequency": 200.0}}],
            "receivers": [{"type": "points", "name": "r", "interval": 1.5e-4,
                           "quantities": ["pressure"], "positions": [{"x": 4.2, "z": 3.0}]}],
            "output": {"snapshots": [{"name": "s", "fields": ["p"], "interval": 4.5e-4,
                                      "decimate": (1, 3)[n]}], "model": False},
        }  # fmt: skip
        document = {k: v for k, v in document.items() if k not in ("survey", "checkpoint")}
        with seismo.run(document, tmp_path / f"{n}.h5") as found:
            snapshots = found.snapshots["s"]
            axes.append([found.traces["r"].column("time"),
                         *(snapshots.column(name) for name in ("time", "z", "x"))])  # fmt: skip
    for one, other in zip(*axes, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_hash_tells_traces_apart(results, tmp_path):
    moved = SHORT | {"checkpoint": {}, "survey": {**SHORT["survey"], "batch": 2}}
    louder = dict(moved, sources=[SHORT["sources"][0] | {"moment": 2e9}])
    with (
        seismo.open_results(results) as one,
        seismo.run(moved, tmp_path / "m.h5") as same,
        seismo.run(louder, tmp_path / "l.h5") as other,
    ):
        assert one.traces_hash == same.traces_hash != other.traces_hash
        assert one.traces_hash in one.info()

"""Results files with flipped bits: one line that names the file, no crash, no wrong number.

What describes the data carries checksums of HDF5's, and so do the chunks that hold it. What carries
none is the text (names of receivers, the scenario), which a flipped bit may change unseen.
"""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import seismo
from seismo.errors import ScenarioError
from seismo.output.report import compare
from seismo.output.results_file import ResultsWriter
from solver import slow_but
from test_resume import SCENARIO

TRIES = """
import json, sys
from seismo import cli
for path in sys.argv[2:]:
    for command in (["info", "--verify", path], ["compare", path, sys.argv[1]]):
        try:
            cli.main(command)
        except SystemExit as leaving:
            print(json.dumps([path, command[0], leaving.code]), file=sys.stderr, flush=True)
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A small file with some of everything."""
    path = tmp_path_factory.mktemp("sound") / "sound.h5"
    seismo.run(SCENARIO, path, backend="cpu").close()
    return path


def damaged(sound: Path, path: Path, places: list[int]) -> Path:
    """Copy the file with a bit flipped in each of some bytes."""
    data = bytearray(sound.read_bytes())
    for at in places:
        data[at] ^= 1 << at % 8
    path.write_bytes(data)
    return path


def whatever(path: Path, sound: Path) -> None:
    """Read all there is."""
    with seismo.open_results(path) as one, seismo.open_results(sound) as other:
        one.info()
        assert all(array.identical for array in compare(one, other))


@pytest.mark.parametrize("share", slow_but({31}, [31, 1]))
def test_every_header_has_a_checksum(sound, tmp_path, share):
    """A bit within any of them, or one in so many, is noticed."""
    data, at, starts = sound.read_bytes(), -1, []
    while (at := data.find(b"OHDR", at + 1)) >= 0:
        starts.append(at)
    assert len(starts) > 30
    for start in starts[::share]:
        path = damaged(sound, tmp_path / "x.h5", [start + 9])
        with pytest.raises(ScenarioError, match=r"x\.h5: .*damaged|cannot be opened") as caught:
            whatever(path, sound)
        assert "\n" not in str(caught.value)
        assert "None" not in str(caught.value)


def test_a_damaged_mark_is_not_taken_for_a_foreign_file(sound, tmp_path):
    """Its text, then all the attributes where the place of one cannot be found."""
    data = sound.read_bytes()
    path = damaged(sound, tmp_path / "x.h5", [data.index(b"seismo results") + 8])
    said = "is damaged: the attribute format is 'seismo r.sults', not 'seismo results'; copy"
    with pytest.raises(ScenarioError, match=said):
        seismo.open_results(path)
    root = data.index(b"BTHD")  # the first tree: names of the root's attributes
    with pytest.raises(
        ScenarioError, match=r"x\.h5: /: cannot be read, the file is damaged: .*copy"
    ):
        seismo.open_results(damaged(sound, path, [root + 9]))
    with pytest.raises(ScenarioError, match="no results of seismo that can be read"):
        seismo.run(SCENARIO, path, backend="cpu")


@pytest.mark.parametrize("share", slow_but({8}, [8, 1]))
def test_every_number_has_a_checksum(sound, tmp_path, share):
    """In one in so many datasets: those without a checksum would be most."""
    chunks = {}

    def look(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind == "f":
            assert item.chunks, name
            if item.id.get_num_chunks():
                chunks[name] = item.id.get_chunk_info(0)

    with h5py.File(sound) as file:
        file.visititems(look)
    assert {name.split("/")[0] for name in chunks} >= {"traces", "snapshots", "maps", "wavelets"}
    for name, chunk in list(chunks.items())[::share]:
        path = damaged(sound, tmp_path / "x.h5", [chunk.byte_offset + chunk.size - 1])
        with h5py.File(path) as file, pytest.raises(OSError, match="filter"):
            np.asarray(file[name])
        with seismo.open_results(path) as one, seismo.open_results(sound) as other:
            for read in (one.verify, lambda: list(compare(other, one))):
                with pytest.raises(ScenarioError, match=rf"x\.h5: /{name}: .*damaged"):
                    read()


def test_a_sound_file_is_verified(sound, command_line):
    with h5py.File(sound) as file:
        names: list[str] = []
        file.visit(names.append)
        arrays = [file[name] for name in names if isinstance(file[name], h5py.Dataset)]
        count = sum(array.size for array in arrays if array.dtype.kind == "f")
    said = command_line("info", "--verify", sound)[1]
    assert f"all {count:,} values match their checksums" in said


@pytest.mark.parametrize("what", ["attribute", "trace"])
def test_traces_that_do_not_have_their_hash_are_not_verified(sound, tmp_path, command_line, what):
    """Each is sound by its checksums, as another program writes it."""
    path = tmp_path / "x.h5"
    shutil.copy(sound, path)
    with h5py.File(path, "r+") as file:
        if what == "attribute":
            file.attrs["traces_sha256"] = "0" * 64
        else:
            (one, *_) = file["traces"].values()
            array = next(dataset for dataset in one.values() if dataset.ndim == 3)
            array[-1, -1, -1] += 1.0
    code, out, err = command_line("info", "--verify", path)
    assert code == ScenarioError.exit_code
    assert "values match their checksums" not in out
    assert err.startswith(f"{path}: the hash of the traces is ")
    assert len(err.splitlines()) == 1


def test_shots_that_were_not_stored_are_no_part_of_the_hash(tmp_path):
    """A survey that is given up leaves them out."""
    with ResultsWriter(tmp_path / "x.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.create_traces(
            "line", shots=["a", "b"], codes=["R0", "R1"], positions={}, requested={},
            time=np.arange(4.0), quantities={"p": "Pa"},
        )  # fmt: skip
        writer.write("traces/line/p", 0, np.ones((2, 4)))
        writer.finish({})
    with seismo.open_results(tmp_path / "x.h5") as results:
        assert np.isnan(results.traces["line"].values_of("p", 1)).all()
        assert results.verify() == 2 * 2 * 4 + 4


def test_an_unknown_status_is_remarked(sound, tmp_path):
    path = tmp_path / "x.h5"
    shutil.copy(sound, path)
    with h5py.File(path, "r+") as file:
        file.attrs["status"] = "complfte"
    with seismo.open_results(path) as one, seismo.open_results(sound) as other:
        assert "'complfte' is not what seismo writes (complete, unstable or " in one.info()
        assert "STATUS" not in other.info()


def test_bits_flipped_anywhere_crash_nothing(sound, tmp_path):
    """Each try ends by itself, with one line that names the file where it ends badly."""
    generator, size = random.Random(3), sound.stat().st_size
    paths = [
        damaged(sound, tmp_path / f"{n}.h5", generator.choices(range(size), k=1 + n % 4))
        for n in range(6)
    ]
    words = [sys.executable, "-c", TRIES, str(sound), *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-1000:]
    said, tries = list[str](), 0
    for line in done.stderr.splitlines():
        if not line.startswith("["):
            said.append(line)
            continue
        path, _, code = json.loads(line)
        tries += 1
        assert code in (0, 1, 2), said
        assert [path in line for line in said] == [True] * (code == 2), said
        said = []
    assert tries == 2 * len(paths)

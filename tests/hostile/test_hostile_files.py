"""Files from outside that lead elsewhere, claim what they do not hold, or are no files at all."""

import io
import os
import struct
import time
import zipfile

import h5py
import numpy as np
import pytest
import xarray

import seismo
from fuzz import call
from seismo.errors import InsufficientMemoryError, ScenarioError
from seismo.formats.converted_run import convert
from seismo.formats.reading.arrays import open_hdf5
from seismo.output.export import export
from seismo.output.run_directory import plain_name
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from synthetic_results import write_elastic_2d
from test_finite_fault import POINTS, as_hdf5, elastic, point, sources_of, srf
from test_openswpc_models import TEXT as JAPAN
from test_openswpc_models import japan  # noqa: F401

SCENARIO = """\
physics: acoustic
grid: {extent: {x: 200 m, z: 200 m}, spacing: 10 m, order: 2}
time: {duration: 60 ms}
boundaries: {BOUNDARYlayer: {points: 4}}
model: [MODEL]
sources: [{type: pressure, position: {x: 100, z: 100}, wavelet: WAVELET}]
receivers: [RECEIVERS]
"""
PARTS = {
    "BOUNDARY": "",
    "MODEL": "{type: uniform, vp: 2000}",
    "WAVELET": "{type: ricker, frequency: 20 Hz}",
    "RECEIVERS": "{type: points, positions: [{x: 50, z: 50}]}",
}
FAULT = {"type": "finite_fault", "path": "fault.h5"}


def checked(folder, **changes) -> tuple[int, str]:
    """Check a scenario with some parts of it changed."""
    text = SCENARIO
    for name, part in (PARTS | changes).items():
        text = text.replace(name, part)
    (folder / "s.yaml").write_text(text)
    return call("check", str(folder / "s.yaml"))


def fault_refused(folder, match: str) -> None:
    with pytest.raises(ScenarioError, match=match):
        discretize(from_dict(elastic([FAULT]), folder))


def member(path, name: str, new) -> None:
    """Replace a member of an HDF5 file's root by what a function makes there."""
    with h5py.File(path, "a") as file:
        del file[name]
        new(file, name)


@pytest.mark.parametrize("name", ["POINTS", "SR1", "SR2"])
def test_srf_hdf5_is_read_from_its_own_file_alone(tmp_path, name):
    as_hdf5(tmp_path / "other.h5", [point(120, 140, 95, across=0.2)], True)
    with h5py.File(tmp_path / "other.h5") as file:
        kind, shape = file[name].dtype, file[name].shape
    layout = h5py.VirtualLayout(shape, kind)
    layout[...] = h5py.VirtualSource(str(tmp_path / "other.h5"), name, shape)
    secret = [(str(tmp_path / "other.h5"), 0, kind.itemsize * shape[0])]
    for new, said in (
        (lambda f, n: f.__setitem__(n, h5py.ExternalLink("other.h5", n)), "is a link in"),
        (lambda f, n: f.create_dataset(n, shape, kind, external=secret), "in other files"),
        (lambda f, n: f.create_virtual_dataset(n, layout), "in other files"),
        (
            lambda f, n: f.create_dataset(n, 1 << 31, kind, chunks=(1 << 16,)),
            "holds next to nothing",
        ),
    ):
        as_hdf5(tmp_path / "fault.h5", [point(120, 140, 95, across=0.2)], True)
        member(tmp_path / "fault.h5", name, new)
        fault_refused(tmp_path, said)


def test_srf_hdf5_of_words_is_refused(tmp_path):
    as_hdf5(tmp_path / "fault.h5", [point(120, 140, 95)], False)
    words = np.zeros(1, [(name, "S9" if name == "LON" else kind) for name, kind in POINTS])
    member(tmp_path / "fault.h5", "POINTS", lambda file, name: file.__setitem__(name, words))
    fault_refused(tmp_path, "LON of POINTS are no numbers")
    member(tmp_path / "fault.h5", "POINTS", lambda f, n: f.__setitem__(n, h5py.Empty("f4")))
    fault_refused(tmp_path, "no numbers|must be real|holds next to nothing")


def test_srf_counts_end_where_the_file_does(tmp_path):
    text = srf([point(120, 140, 95)])
    began = time.process_time()
    for old, new, said in (
        ("PLANE 1\n", "PLANE 999999999999\n", "none of its 0 subfaults slips"),
        ("PLANE 1\n", "PLANE ²\n", "expected PLANE and a number"),
        ("POINTS 1\n", f"POINTS {'9' * 5000}\n", "expected POINTS and a number"),
        ("POINTS 1\n", "POINTS 999999999999\n", "ends before all"),
    ):
        assert old in text
        with pytest.raises(ScenarioError, match=said):
            sources_of(tmp_path, text.replace(old, new))
    assert time.process_time() - began < 5.0


def test_slip_that_no_earthquake_has_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match=r"fault.srf:7: subfault 1 slips by .* m over .* m2"):
        sources_of(tmp_path, srf([point(120, 140, 95, slip=1e30)]))


def hollow(path, length: int, count: int) -> None:
    """Write an HDF5 file, and behind it collections of strings that overlap."""
    with h5py.File(path, "w") as file:
        file["vp"] = np.full((3, 4), 2000.0)
    head = b"GCOL\x01\x00\x00\x00" + struct.pack("<Q", length)
    with path.open("ab") as file:
        file.write(head.ljust(32, b"\x01") * count)


@pytest.mark.parametrize("count", [4096, 32768])
def test_strings_are_looked_at_once(tmp_path, count):
    """In time linear in the file: 32768 collections took minutes, each to the end of the file."""
    hollow(tmp_path / "m.h5", 1 << 40, count)
    began = time.process_time()
    with pytest.raises(OSError, match="is damaged: strings in it overlap"):
        open_hdf5(tmp_path / "m.h5")
    assert time.process_time() - began < 2.0
    for words in (("info",), ("status",), ("resume",)):
        assert call(*words, str(tmp_path / "m.h5"))[0] == 2


def test_a_string_within_a_string_is_no_damage(tmp_path):
    """Bytes that look like a collection."""
    inside = b"GCOL\x01\x00\x00\x00" + struct.pack("<Q", 16)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        kind = h5py.vlen_dtype(np.uint8)
        file.create_dataset("text", (2,), kind)[0] = np.frombuffer(inside * 9, np.uint8)
        file["names"] = np.array(["a" * 5000, "b" * 70_000], h5py.string_dtype())
    with open_hdf5(tmp_path / "m.h5") as file:
        assert len(file["names"][1]) == 70_000


@pytest.mark.parametrize("place", ["heights", "openswpc", "volume"])
def test_netcdf_files_lead_nowhere(request, tmp_path, place):
    """Coordinates too, and not by a virtual dataset."""
    folder = request.getfixturevalue("japan") if place == "openswpc" else tmp_path
    axes = {"z": 50.0 * np.arange(5), "y": 50.0 * np.arange(5), "x": 50.0 * np.arange(5)}
    names = {"openswpc": ["lat", "lon"], "heights": ["y", "x"]}.get(place, ["z", "x"])
    path = folder / {"openswpc": "basin.grd"}.get(place, "m.nc")
    if place != "openswpc":
        data = xarray.Dataset({"vp": (names, np.full((5, 5), 2000.0))}, {n: axes[n] for n in names})
        for name in names:
            data[name].attrs["units"] = "m"
        data.vp.attrs["units"] = "m" if place == "heights" else "m/s"
        data.to_netcdf(path, engine="h5netcdf")
    with h5py.File(path) as file:
        values = file[names[0]][...]
    with h5py.File(folder / "other.h5", "w") as file:
        file["values"] = values
    layout = h5py.VirtualLayout(values.shape, values.dtype)
    layout[...] = h5py.VirtualSource(str(folder / "other.h5"), "values", values.shape)
    with h5py.File(path, "a") as file:
        file.create_virtual_dataset("elsewhere", layout)
        file["outside"] = h5py.ExternalLink("other.h5", "values")
    if place == "openswpc":
        (folder / "s.yaml").write_text(JAPAN)
        code, said = call("check", str(folder / "s.yaml"))
    elif place == "volume":
        code, said = checked(folder, MODEL="{type: volume, path: m.nc, vp: vp, positive: down}")
    else:
        code, said = checked(
            folder, BOUNDARY="top: free_surface, ",
            RECEIVERS="]\ntopography: {type: file, path: m.nc}\nsurvey: {} #",
        )  # fmt: skip
    assert code == 2
    assert "elsewhere is stored elsewhere, which is not followed" in said


def npz(path, header: str, values: int) -> None:
    """Write an archive with one array of zeros, whatever its header says."""
    text = header.encode().ljust(117) + b"\n"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(
        "vp.npy", "w", force_zip64=True
    ) as file:  # fmt: skip
        file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
        for _ in range(values >> 20):
            file.write(bytes(1 << 20))
    path.write_bytes(data.getvalue())


def test_arrays_of_an_archive_are_unpacked_after_their_headers(tmp_path, monkeypatch):
    """A kilobyte a megabyte; other members, and arrays that do not fit, are not unpacked."""
    source, target = tmp_path / "a.npz", tmp_path / "a.yaml"
    said = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
    npz(source, said % "4096, 4096", 32 << 20)
    with pytest.raises(ScenarioError, match=r"vp has 33554432 bytes .* says \(4096, 4096\)"):
        convert(source, target)
    npz(source, "{'descr': '|O', 'fortran_order': False, 'shape': (4194304,), }", 32 << 20)
    with pytest.raises(ScenarioError, match="no readable archive of arrays: vp has"):
        convert(source, target)
    npz(source, said % "2048, 4096", 32 << 20)
    monkeypatch.setattr("seismo.backends.machine.available_memory", lambda: 1 << 20)
    with pytest.raises(InsufficientMemoryError, match=r"a\.npz: needs 0\.0336 GB of memory"):
        convert(source, target)
    with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other.npy", bytes(8 << 20))
    with pytest.raises(ScenarioError, match="has no vp"):
        convert(source, target)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize(
    "changes",
    [
        {"MODEL": "{type: file, vp: {path: FILE}}"},
        {"MODEL": "{type: table, path: FILE}"},
        {"MODEL": "{type: volume, path: FILE, format: netcdf, vp: vp}"},
        {"WAVELET": "{type: file, path: FILE}"},
        {"RECEIVERS": "{type: stations, path: FILE}"},
    ],
    ids=["file", "table", "volume", "wavelet", "stations"],
)
def test_what_is_no_file_is_called_by_its_name(tmp_path, kind, changes):
    name = {"device": "/dev/zero", "folder": "."}.get(kind, "pipe")
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    code, said = checked(tmp_path, **{k: text.replace("FILE", name) for k, text in changes.items()})
    assert code == 2
    assert ("is a folder" if kind == "folder" else "is a pipe or a device, not a file") in said


def test_results_that_are_a_pipe_are_refused(tmp_path):
    os.mkfifo(tmp_path / "x.h5")
    for words in (("info",), ("plot",), ("export", "sac")):
        code, said = call(words[0], str(tmp_path / "x.h5"), *words[1:])
        assert code == 2, said


def results_with(path, shot: str = "shot_a", code: str = ""):
    """Write results with a name of a shot, or a station, that others would not give."""
    write_elastic_2d(path)
    with h5py.File(path, "a") as file:
        for one in file["traces"].values():
            one["shot"][0] = shot
            if code:
                one["receiver"][0] = code
    return path


@pytest.mark.parametrize("form", ["miniseed", "sac", "segy", "su", "geotiff", "ground-motion"])
def test_names_of_results_do_not_lead_out_of_the_folder(tmp_path, form):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    for names in ({"shot": "../../../../x"}, {"shot": "/x"}, {"code": "AA./../../../x.00"}):
        path = results_with(tmp_path / "r.h5", **names)
        with seismo.open_results(path) as results:
            try:
                list(export(results, form, folder))
            except ScenarioError as error:
                assert str(error).isprintable()  # noqa: PT017
    assert all(p.is_relative_to(folder) for p in tmp_path.rglob("*") if p.is_file() and p != path)


@pytest.mark.parametrize("name", ["..", ".x", "a/b", "/a", "a\nb", "a\0", "x" * 300])
def test_the_rule_of_names(name):
    with pytest.raises(ScenarioError, match=r"^r\.h5: .* is no name that a file can have"):
        plain_name(name, "r.h5")


@pytest.mark.parametrize("kind", ["external", "virtual", "huge", "ground"])
def test_results_are_read_from_their_own_file_alone(tmp_path, kind):
    path = write_elastic_2d(tmp_path / "r.h5")
    other = write_elastic_2d(tmp_path / "o.h5")
    with h5py.File(path, "a") as file:
        name = "model/vp"
        shape, dtype = file[name].shape, file[name].dtype
        del file[name]
        if kind == "external":
            file.create_dataset(name, shape, dtype, external=[(str(other), 0, 1 << 20)])
        elif kind == "huge":
            file.create_dataset(name, (1 << 24, 1 << 24), "f4", chunks=(64, 64))
        elif kind == "ground":
            for axis in ("x", "ground"):
                file[f"ground/{axis}"] = h5py.ExternalLink("o.h5", "model/x")
        else:
            layout = h5py.VirtualLayout(shape, dtype)
            layout[...] = h5py.VirtualSource(str(other), name, shape)
            file.create_virtual_dataset(name, layout)
    with seismo.open_results(path) as results:
        if kind == "huge":
            with pytest.raises(InsufficientMemoryError, match=r"r\.h5: /model/vp: needs"):
                results.model.values_of("vp")
        elif kind == "ground":
            with pytest.raises(ScenarioError, match="the file is damaged"):
                _ = results.model
        else:
            assert "vp" not in results.model


@pytest.mark.parametrize("words", [("resume", "x.run"), ("convert", "x.npz"), ("info", "x.h5")])
def test_links_to_themselves_are_refused(tmp_path, words):
    path = tmp_path / words[1]
    path.symlink_to(path.name)
    code, said = call(words[0], str(path))
    assert code == 2
    assert str(path) in said

"""Gridded model files: one answer whatever the format and axis order; hostile files refused."""

import re
from pathlib import Path
from types import SimpleNamespace as Spec

import h5py
import numpy as np
import pytest

from seismo.errors import InsufficientMemoryError, ModelError, ScenarioError
from seismo.formats.reading import arrays as array_files
from seismo.model.build import build_earth
from seismo.scenario import load, parse
from seismo.solver.discretize import discretize

UNIT = {"z": 10.0, "y": 10.0, "x": 10.0}


def grid_file(path, **keys):
    defaults = dict.fromkeys(("format", "dataset", "shape", "axes", "spacing", "origin"))
    defaults |= {"dtype": "float32", "byte_order": "little", "units": "m/s"}
    return Spec(path=str(path), **(defaults | keys))


def earth_of(base, needs=("vp",), clamp=((0.0, 1e4),) * 3, **files):
    part = Spec(type="file", **(dict.fromkeys(("vp", "vs", "rho")) | files))
    return build_earth([part], base, needs, clamp, UNIT)


def bilinear(z, x):
    return 2000.0 + 3.0 * z + 2.0 * x + 0.01 * z * x


@pytest.fixture
def plane():
    z, x = np.arange(11) * 20.0, np.arange(21) * 10.0
    return bilinear(z[:, None], x).astype("f4")


SPACING = Spec(x=10.0, y=None, z=20.0)
ORIGIN = Spec(x=0.0, y=None, z=0.0)


def write(base: Path, plane, form):
    """Write the same plane and return the specification that reads it."""
    common = {"spacing": SPACING, "origin": ORIGIN}
    if form == "npy":
        np.save(base / "a.npy", plane)
        return grid_file("a.npy", **common)
    if form == "fortran":
        np.save(base / "a.npy", np.asfortranarray(plane))
        return grid_file("a.npy", **common)
    if form == "turned":
        np.save(base / "a.npy", plane.T)
        return grid_file("a.npy", axes="xz", shape=(21, 11), **common)
    if form == "kilometres":
        np.save(base / "a.npy", plane.astype("f8") / 1e3)
        return grid_file("a.npy", units="km/s", **common)
    if form == "raw":
        plane.T.astype(">f8").tofile(base / "a.bin")
        return grid_file(
            "a.bin", shape=(21, 11), axes="xz", dtype="float64", byte_order="big", **common
        )
    with h5py.File(base / "a.h5", "w") as file:
        file.create_dataset("model/vp", data=plane, chunks=True, compression="gzip", shuffle=True)
    return grid_file("a.h5", dataset="model/vp", **common)


@pytest.mark.parametrize("form", ["npy", "fortran", "turned", "kilometres", "raw", "hdf5"])
def test_a_bilinear_field_is_met_exactly_whatever_the_format(tmp_path: Path, plane, form):
    # Bilinear interpolation is exact for bilinear fields; float32 rounds at 1e-7.
    earth = earth_of(tmp_path, vp=write(tmp_path, plane, form))
    z, x = np.linspace(0.0, 200.0, 33)[:, None], np.linspace(0.0, 200.0, 17)[None, :]
    expected = bilinear(z, x)
    assert np.allclose(earth.sample(z, None, x)["vp"], expected, rtol=3e-7)
    scattered = earth.sample(np.broadcast_to(z, expected.shape), None, x * np.ones_like(z))
    assert np.allclose(scattered["vp"], expected, rtol=3e-7)
    assert earth.sample(np.array(13.0), None, np.array(17.0))["vp"] == pytest.approx(
        bilinear(13.0, 17.0)
    )


def test_the_edges_go_on(tmp_path: Path, plane):
    earth = earth_of(tmp_path, clamp=(None, None, None), vp=write(tmp_path, plane, "npy"))
    found = earth.sample(
        np.array([[-30.0], [50.0], [900.0]]), None, np.array([[-5.0, 70.0, 500.0]])
    )["vp"]
    z, x = np.clip([-30.0, 50.0, 900.0], 0, 200)[:, None], np.clip([-5.0, 70.0, 500.0], 0, 200)
    assert np.allclose(found, bilinear(z, x), rtol=3e-7)


def test_three_axes_in_any_order(tmp_path: Path):
    z, y, x = np.arange(4) * 10.0, np.arange(5) * 10.0, np.arange(6) * 10.0
    cube = 2000.0 + z[:, None, None] + 2 * y[:, None] + 3 * x
    np.save(tmp_path / "c.npy", cube.transpose(1, 2, 0))
    earth = earth_of(tmp_path, vp=grid_file("c.npy", axes="yxz"))
    fine = np.linspace(0.0, 30.0, 9)
    tensor = earth.sample(fine[:, None, None], fine[None, :, None], fine)["vp"]
    expected = 2000.0 + fine[:, None, None] + 2 * fine[:, None] + 3 * fine
    assert np.allclose(tensor, expected)
    zz, yy, xx = np.meshgrid(fine, fine, fine, indexing="ij")
    assert np.allclose(earth.sample(zz, yy, xx)["vp"], expected)
    one = earth.sample(fine[:1, None, None], fine[None, :, None], fine[None, None, :])["vp"]
    assert np.allclose(one, expected[:1])
    with pytest.raises(ModelError, match="has the axis y, but the grid is 2-D"):
        earth.sample(fine[:, None], None, fine)


def test_density_in_grams(tmp_path: Path):
    np.save(tmp_path / "r.npy", np.full((3, 3), 2.5))
    np.save(tmp_path / "v.npy", np.full((3, 3), 2500, "u2"))
    earth = earth_of(
        tmp_path, ("vp", "rho"), vp=grid_file("v.npy"), rho=grid_file("r.npy", units="g/cm3")
    )
    found = earth.sample(np.array(0.0), None, np.array(0.0))
    assert (found["vp"], found["rho"]) == (2500.0, 2500.0)


def refused(base, message, **keys):
    with pytest.raises(ModelError, match=message) as caught:
        earth_of(base, vp=grid_file(**keys))
    assert "\n" not in str(caught.value)


def test_missing_and_malformed_arrays(tmp_path: Path):
    good = np.full((3, 4), 2000.0, "f4")
    np.save(tmp_path / "good.npy", good)
    refused(tmp_path, r"model\[0\].vp.path: no such file as .*none\.npy", path="none.npy")
    refused(tmp_path, r"vp.shape: .* has shape \[3, 4\]; write that", path="good.npy", shape=(4, 3))
    refused(tmp_path, "vp.axes: .* has 2 axes; name each of zyx once", path="good.npy", axes="zyx")
    refused(tmp_path, "vp.shape: missing: the raw file .* needs it", path="good.npy", format="raw")
    (tmp_path / "text.npy").write_text("no")
    refused(tmp_path, "is not a .npy file", path="text.npy")
    raw = (tmp_path / "good.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(raw[:-4])
    refused(tmp_path, "has 44 bytes of data, its header .* needs 48", path="short.npy")
    good.tofile(tmp_path / "good.bin")
    refused(
        tmp_path,
        r"vp.shape: .* has 48 bytes, this shape of float32 needs 60",
        path="good.bin",
        shape=(3, 5),
    )
    refused(tmp_path, "cannot be read as hdf5", path="good.bin", format="hdf5")
    refused(
        tmp_path,
        r"smallest value \(12 of 12 values, .* is too fast .* mean '2000 m/s'\?; check `units`",
        path="good.npy",
        units="km/s",
    )
    for value, message in (
        (np.nan, r"holds 3 of 9 values that are not finite, the first at index \[0, 0\]; fill"),
        (0.0, r"smallest value \(3 of 9 values, the first at index \[0, 0\]\): 0 m/s is too slow"),
        (3.5, r"smallest value \(3 of 9 .*: 3.5 m/s .*; did you mean '3.5 km/s'\?; check `units`"),
    ):
        np.save(tmp_path / "bad.npy", np.where(np.eye(3) > 0, value, 2000.0))
        refused(tmp_path, message, path="bad.npy")
    good[1, 2] = 9e-41  # as big-endian numbers are taken for little-endian ones
    np.save(tmp_path / "bad.npy", good)
    message = (
        r"smallest value \(at index \[1, 2\]\): .* m/s to 20 km/s\); check `units`, `dtype` and"
    )
    refused(tmp_path, message, path="bad.npy")
    good[1, 2] = np.inf
    np.save(tmp_path / "bad.npy", good)
    refused(tmp_path, r"1 of 12 values .* at index \[1, 2\]", path="bad.npy")


def test_the_other_byte_order_is_named_where_it_makes_rock(tmp_path: Path):
    values = np.random.default_rng(1).uniform(1500.0, 4500.0, (30, 40)).astype("f4")
    values.astype(">f4").tofile(tmp_path / "big.bin")
    refused(
        tmp_path,
        r"with byte_order: big they are 15\d\d to 44\d\d: give that$",
        path="big.bin",
        shape=(30, 40),
    )
    values[2, 3] = 0.0
    np.save(tmp_path / "gap.npy", values)
    refused(tmp_path, r"\(at index \[2, 3\]\): 0 m/s is too slow.*; fill the gaps$", path="gap.npy")


def test_no_code_and_no_huge_array_is_read_from_npy(tmp_path: Path):
    np.save(tmp_path / "pickle.npy", np.array([{"a": 1}], object), allow_pickle=True)
    refused(tmp_path, "has type object; must be real numbers", path="pickle.npy")
    header = (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1048576, 1048576), }".ljust(117) + "\n"
    )
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header.encode())
    refused(tmp_path, "8796093022208 bytes", path="huge.npy")


def npy(base: Path, shape: str, data: bytes = b"") -> str:
    """Write a .npy file whose header says a shape as it is given."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    size = len(header).to_bytes(2, "little")
    (base / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + size + header + data)
    return "a.npy"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("(-1, -1)", r"has the shape \(-1, -1\); a model has 1 to 3 axes"),
        ("(True, True)", r"has the shape \(True, True\)"),
        (f"({'1, ' * 200})", r"has the shape \(1, 1, .*\.\.\.; a model"),
        ("()", r"has the shape \(\)"), ("(0, 4)", r"has the shape \(0, 4\)"),
        ("(1e3,)", "not a .npy file"), ("[2]", "not a .npy file"), ("(" * 3000, "not a .npy file"),
        ("'\\x1b[2J',", r"not a .npy file"),
    ],
)  # fmt: skip
def test_shapes_that_no_model_has(tmp_path: Path, shape, message):
    refused(tmp_path, message, path=npy(tmp_path, shape, bytes(4)))


@pytest.mark.parametrize("form", ["npy", "raw", "hdf5"])
def test_what_does_not_fit_the_memory_is_said(tmp_path: Path, form, monkeypatch):
    """Files that take no place on the disk."""
    count = 1 << 28
    if form == "hdf5":
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("vp", (count,), "f4", chunks=(1024,))
        name = "a.h5"
    else:
        name = npy(tmp_path, f"({count},)") if form == "npy" else "a.bin"
        with (tmp_path / name).open("ab") as file:
            file.truncate(file.tell() + 4 * count)
    monkeypatch.setattr(array_files.machine, "available_memory", lambda: 10**9)
    with pytest.raises(InsufficientMemoryError, match=r"needs 1\.07 GB .* of which 1 GB are free"):
        earth_of(tmp_path, vp=grid_file(name, shape=(count,) if form == "raw" else None))


def test_what_runs_out_of_memory_is_said(tmp_path: Path, monkeypatch, plane):
    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr(array_files, "read_npy", exhausted)
    np.save(tmp_path / "a.npy", plane)
    with pytest.raises(InsufficientMemoryError, match=r"a\.npy: needs .* subsample it"):
        earth_of(tmp_path, vp=grid_file("a.npy"))


def test_hdf5_without_values_is_refused(tmp_path: Path):
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["null"] = h5py.Empty("f4")
        file["scalar"] = 2000.0
        file["four"] = np.full((2, 2, 2, 2), 2000.0)
        file["pairs"] = np.zeros(3, [("a", "f4"), ("b", "f4")])
        file["reference"] = file["scalar"].ref
    for name, message in (
        ("null", r"m\.h5:/null has the shape None; a model has 1 to 3 axes"),
        ("scalar", r"has the shape \(\)"),
        ("four", r"has the shape \(2, 2, 2, 2\)"),
        ("pairs", "must be real numbers"),
        ("reference", "must be real numbers"),
    ):
        refused(tmp_path, message, path="m.h5", dataset=name)


def test_names_of_hdf5_are_shown_as_short_printable_text(tmp_path: Path):
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["\x1b[2J\nvp" + "p" * 9000] = np.full((3, 4), 2000.0)
        for number in range(300):
            file[f"vq{number}"] = np.full((3, 4), 2000.0)
    for name in (None, "nothing"):
        with pytest.raises(ModelError) as caught:
            earth_of(tmp_path, vp=grid_file("m.h5", dataset=name))
        assert str(caught.value).isprintable()
        assert "?[2J?vppp" in str(caught.value)
        assert "vq10, vq100, vq101, vq102, vq103, vq104, vq105, and others" in str(caught.value)
        assert len(str(caught.value)) < 600


def test_damaged_hdf5_is_refused_in_one_line(tmp_path: Path):
    """Whatever byte is wrong."""
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset("vp", data=np.full((4, 4), 2000.0), chunks=(2, 2), compression=1)
    whole, chosen = (tmp_path / "m.h5").read_bytes(), np.random.default_rng(3)
    for _ in range(150):
        damaged = bytearray(whole[: chosen.integers(len(whole)) if chosen.random() < 0.2 else None])
        for place in chosen.integers(len(damaged), size=3) if damaged else ():
            damaged[place] = chosen.integers(256)
        (tmp_path / "m.h5").write_bytes(damaged)
        said = ""
        try:
            earth_of(tmp_path, vp=grid_file("m.h5", dataset=chosen.choice(["vp", ""]) or None))
        except (ModelError, InsufficientMemoryError) as error:
            said = str(error)
        assert not said or said.isprintable()


def test_hdf5_that_reaches_beyond_itself_is_refused(tmp_path: Path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(96))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["vp"] = np.full((3, 4), 2000.0)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["external"] = h5py.ExternalLink("other.h5", "vp")
        file["soft"] = h5py.SoftLink("/group/vp")
        file["group/vp"] = np.full((3, 4), 2000.0)
        file.create_dataset("outside", (3, 4), "f8", external=[(str(secret), 0, 96)])
        layout = h5py.VirtualLayout((3, 4), "f8")
        layout[...] = h5py.VirtualSource(str(tmp_path / "other.h5"), "vp", (3, 4))
        file.create_virtual_dataset("virtual", layout)
        file["text"] = "hello"
        file.create_dataset("huge", (1 << 20, 1 << 20), "f8", chunks=(64, 64))
    for name, message in (
        ("external", "is a link in .*, which is not followed"),
        ("soft", "is a link in .*, which is not followed"),
        ("outside", "stores its values in other files"),
        ("virtual", "stores its values in other files"),
        ("text", "vp.dataset: .* must be real numbers"),
        ("huge", "8796093022208 bytes"),
        ("group", "is a group in .*, of vp; name a dataset"),
        ("nothing", "no such dataset in .*; available: external"),
        ("group/vp/deeper", "no such dataset"),
        (None, "vp.dataset: missing: .*; name one"),
    ):
        refused(tmp_path, message, path="m.h5", dataset=name)
    assert earth_of(tmp_path, vp=grid_file("m.h5", dataset="/group/vp"))
    assert earth_of(tmp_path, vp=grid_file("other.h5"))


def test_spacing_and_origin_are_those_of_the_grid_when_left_out(tmp_path: Path, plane):
    np.save(tmp_path / "a.npy", plane)
    earth = earth_of(
        tmp_path, clamp=((100.0, 200.0), None, (1000.0, 2000.0)), vp=grid_file("a.npy")
    )
    assert earth.sample(np.array(110.0), None, np.array(1020.0))["vp"] == plane[1, 2]
    part = Spec(type="file", vp=grid_file("a.npy"), vs=None, rho=None)
    with pytest.raises(ModelError, match=r"vp.origin: missing: .* has the axis z"):
        build_earth([part], tmp_path, ("vp",))


@pytest.mark.parametrize("y", ["", "y: 80, "])
def test_one_length_is_the_spacing_of_all_axes_of_a_file(tmp_path: Path, y):
    """In 2-D too, and as the results keep it."""
    shape = (6, 3, 9) if y else (6, 9)
    np.save(tmp_path / "a.npy", 2000.0 + np.arange(np.prod(shape), dtype="f4").reshape(shape))
    text = SCENARIO.replace("FILE", "a.npy").replace("KEYS", "spacing: 0.04 km")
    path = tmp_path / "s.yaml"
    path.write_text(re.sub("(z: [12]00})", rf"{y}\1", text))
    scenario = load(path)
    for one in (scenario, parse(scenario.to_yaml(), path)):
        place = [np.array(40.0 * n) for n in (4, 1, 5)]
        found = discretize(one).earth.sample(place[0], place[1] if y else None, place[2])["vp"]
        assert found == 2000.0 + np.ravel_multi_index((4, 1, 5) if y else (4, 5), shape)


SCENARIO = """\
physics: acoustic
grid: {extent: {x: 300, z: 200}, spacing: 10}
time: {duration: 0.2}
model:
  - {type: uniform, vp: 1500}
  - type: file
    vp:
      path: FILE
      KEYS
sources:
  - {type: pressure, position: {x: 150, z: 100}, wavelet: {type: ricker, frequency: 10}}
"""
_SAVE = r'raw numbers: numpy.save\("{0}.npy", {1}\)$'
LINES = {  # file and keys in the scenario -> line:column: key, and the rest
    ("none.npy", ""): r"8:7: {}.path: 'none.npy': no such file as .*none.npy; paths begin",
    ("good.npy", "shape: [4, 3]"): r"9:7: {}.shape: \[4, 3\]: .*good.npy has shape \[3, 4\];",
    ("good.npy", "units: km/s"): r"8:7: {}.path: 'good.npy': .* 2e\+06 m/s is too fast",
    ("good.npy", "format: hdf5"): r"8:7: {}.path: 'good.npy': .*good.npy cannot be read as hdf5",
    ("cube.npy", ""): r"7:5: {}.origin: missing: .*cube.npy has the axis y",
    (".", ""): r"8:7: {}.path: '.': .* is a folder; name the file in it",
    ("bare", "shape: [3]"): r"9:7: {}.shape: \[3\]: .*bare has 4 bytes, this shape of float32",
    ("bare", ""): r"7:5: {}.shape: missing: the raw file .*bare needs it",
    (
        "m.npz",
        "shape: [3, 4]",
    ): r"8:7: {}.path: 'm.npz': an archive of arrays; models are read "
    r"from .npy, HDF5, SEG-Y or " + _SAVE.format("m", r'numpy.load\("m.npz"\)\["vp"\]'),
    ("a/b.CSV", ""): "8:7: .*: a text; .*"
    + _SAVE.format("a/b", r'numpy.loadtxt\("a/b.CSV", delimiter=","\)'),
    ("cube.npy", "axes: zx"): r"9:7: {}.axes: 'zx': .*cube.npy has 3 axes",
}


@pytest.mark.parametrize(("file", "keys"), LINES)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, file, keys):
    """One line: file, line, key path, value, limit, remedy."""
    np.save(tmp_path / "good.npy", np.full((3, 4), 2000.0, "f4"))
    np.save(tmp_path / "cube.npy", np.full((3, 4, 5), 2000.0, "f4"))
    (tmp_path / "bare").write_bytes(b"\0\0\0\0")
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.replace("FILE", file).replace("KEYS", keys))
    with pytest.raises(ScenarioError, match=LINES[file, keys].format(r"model\[1\].vp")) as caught:
        discretize(load(path))
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_what_no_rock_has_is_named_with_the_model(tmp_path: Path):
    path, rock = tmp_path / "s.yaml", "{type: uniform, vp: 1500, vs: 800, rho: 2000}"
    text = SCENARIO.split("  - type: file")[0] + "sources:" + SCENARIO.split("sources:")[1]
    text = text.replace("acoustic", "elastic").replace("{type: uniform, vp: 1500}", rock)
    path.write_text(text.replace("sources:", "  - {type: block, vs: 1400}\nsources:"))
    with pytest.raises(ModelError, match=r"s.yaml:6:19: model\[1\].vs: 1400: vp/vs is 1.071 at"):
        discretize(load(path))


@pytest.mark.parametrize(("turned", "points", "named"), [
    ("vp", (41, 41), "vp.npy"), ("vs", (41, 41), "vs.npy"), ("vp", (41, 61), "vp.npy"),
    ("vs", (41, 61), "vs.npy"), ("vp rho", (41, 61), "vs.npy"),
])  # fmt: skip
def test_a_transposed_file_among_others_is_named(tmp_path: Path, turned, points, named):
    """Of three, that which is unlike the other two. The region is a cell larger than they are."""
    z, x = np.mgrid[: points[0], : points[1]]
    vp = 1500.0 + 70.0 * z + 60.0 * np.sin(x / 3.0)
    files = {"vp": vp, "vs": vp / 1.8, "rho": 310.0 * vp**0.25}
    for name, values in files.items():
        np.save(tmp_path / f"{name}.npy", values.T if name in turned.split() else values)
    lengths = ", ".join(f"{a}: {n * 10}" for a, n in zip("zx", points, strict=True))
    parts = ", ".join(f"{name}: {{path: {name}.npy}}" for name in files)
    text = SCENARIO.replace("acoustic", "elastic").replace("x: 300, z: 200", lengths)
    head, tail = text.split("model:")[0], text[text.index("sources:") :]
    scenario = f"{head}model: [{{type: file, {parts}}}]\n{tail}"
    (tmp_path / "s.yaml").write_text(scenario)
    with pytest.raises(ModelError, match=rf"vp/vs is .*: \S*{named} seems transposed: exchange"):
        discretize(load(tmp_path / "s.yaml"))


def test_mistakes_in_all_files_are_named_at_once(tmp_path: Path):
    np.save(tmp_path / "slow.npy", np.full((3, 4), 2.0))
    (tmp_path / "stations.csv").write_text("station,x,z\nA,1,z\nB,2,3\nB,4,5\n")
    (tmp_path / "s.yaml").write_text("""\
physics: elastic
grid: {extent: {x: 300 m, z: 200 m}, spacing: 10 m}
time: {duration: 0.1 s}
model:
  - {type: file, vp: {path: slow.npy}, vs: {path: none.npy}, rho: {path: none.h5}}
  - {type: table, path: none.csv}
sources:
  - {type: force, position: {x: 150, z: 100}, force: {z: 1}, wavelet: {type: file, path: w.txt}}
  - {type: force, position: {x: 150, z: 100}, force: {z: 1}, wavelet: {type: file, path: v.txt}}
receivers: [{type: stations, path: stations.csv}]
""")
    with pytest.raises(ScenarioError) as caught:
        discretize(load(tmp_path / "s.yaml"))
    keys = [line.split(": ")[1] for line in caught.value.messages]
    assert keys == [
        "model[0].vp.path", "model[0].vs.path", "model[0].rho.path", "model[1].path",
        "sources[0].wavelet.path", "sources[1].wavelet.path", "receivers[0].path",
        "receivers[0].path",
    ]  # fmt: skip


def test_an_hdf5_file_that_is_cut_short_is_called_so(tmp_path: Path):
    path = tmp_path / "vp.h5"
    with h5py.File(path, "w") as file:
        file["vp"] = np.full((50, 50), 2000.0)
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(ModelError, match=r"vp\.h5 is cut short; copy it again"):
        earth_of(tmp_path, vp=grid_file(path, format="hdf5"))


def test_quality_factors_may_be_infinite(tmp_path):
    """Nothing lies between loss and none: there the closest point counts."""
    np.save(tmp_path / "vp.npy", np.full((3, 4), 2000.0, "f4"))
    quality = np.array([[20.0, 40.0, np.inf, np.inf]] * 3, "f4")
    np.save(tmp_path / "q.npy", quality)
    at = {"spacing": SPACING, "origin": ORIGIN}
    earth = earth_of(
        tmp_path, ("vp", "qp"), vp=grid_file("vp.npy", **at), qp=grid_file("q.npy", **at)
    )
    x = np.array([0.0, 5.0, 10.0, 14.0, 16.0, 20.0, 25.0, 30.0])
    found = earth.sample(np.array([[5.0], [20.0]]), None, x[None])["qp"]
    expected = [20.0, 30.0, 40.0, 40.0, np.inf, np.inf, np.inf, np.inf]
    assert (found == expected).all()
    assert (earth.sample(np.full(8, 5.0), None, x)["qp"] == expected).all()
    for wrong, message in ((np.nan, "holds 1 of 12 values that are no numbers"), (-np.inf, "-inf")):
        np.save(tmp_path / "q.npy", np.where(np.arange(12).reshape(3, 4) == 5, wrong, quality))
        with pytest.raises(ModelError, match=message):
            earth_of(tmp_path, ("qp",), qp=grid_file("q.npy", **at))

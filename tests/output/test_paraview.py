"""Side files for ParaView: what they point to is what the results file holds.

VTK's own readers open the same files (`vtkHDFReader`, `vtkXdmfReader`, VTK 9.7) and give the same
numbers; here they are read by the rules of their formats, so that the tests need no VTK.
"""

from xml.etree import ElementTree as Xml

import h5py
import numpy as np
import pytest

from seismo.cli import main
from seismo.errors import ScenarioError
from seismo.output.paraview import write_side_files
from seismo.output.results import open_results
from seismo.output.results_file import ResultsWriter
from synthetic_results import write_elastic_2d, write_elastic_3d


def numbers(folder, item):
    """Give what a DataItem stands for."""
    if item.get("ItemType") == "HyperSlab":
        choice, source = item
        start, stride, count = np.array(choice.text.split(), int).reshape(3, -1)
        cut = tuple(slice(a, a + s * n, s) for a, s, n in zip(start, stride, count, strict=True))
        return numbers(folder, source)[cut].reshape(
            [int(n) for n in item.get("Dimensions").split()]
        )
    shape = tuple(int(n) for n in item.get("Dimensions").split())
    if item.get("Format") == "XML":
        return np.array(item.text.split(), float).reshape(shape)
    name, _, path = item.text.partition(":")
    with h5py.File(folder / name) as file:
        assert file[path].shape == shape
        assert file[path].dtype == np.dtype(f"f{item.get('Precision')}")
        return file[path][...]


each_kind_of_arrays = pytest.mark.parametrize(
    ("write", "name", "field"),
    [
        (write_elastic_2d, "wavefield/shot_001", "vx"),
        (write_elastic_3d, "volume", "vz"),
        (write_elastic_3d, "surface", "vz"),
        (write_elastic_3d, "ground", "pga"),
    ],
)


@each_kind_of_arrays
def test_vtkhdf_files_point_to_the_numbers(tmp_path, write, name, field):
    with open_results(write(tmp_path / "r.h5")) as results:
        write_side_files(results)
        arrays = {**results.snapshots, **results.maps}[name]
        wanted = arrays.values_of(field)
        columns = {a: arrays.axes.get(a, [arrays.plane.get(a, 0.0)]) for a in "xyz"}
        times = getattr(arrays, "time", range(len(wanted)))
    with h5py.File(tmp_path / f"r-{name.replace('/', '-')}.vtkhdf") as file:
        image = file["VTKHDF"]
        stored = wanted if len(wanted) > 1 else wanted[0]
        np.testing.assert_array_equal(image[f"PointData/{field}"], stored)
        np.testing.assert_array_equal(image["Steps/Values"], times)
        assert (image.attrs["Type"], image["Steps"].attrs["NSteps"]) == (b"ImageData", len(wanted))
        extent = image.attrs["WholeExtent"].reshape(3, 2)
        signs = image.attrs["Direction"].reshape(3, 3).diagonal()
        for k, (axis, sign) in enumerate(zip("xyz", (1.0, 1.0, -1.0), strict=True)):
            count = np.arange(extent[k][0], extent[k][1] + 1)
            steps = signs[k] * image.attrs["Spacing"][k] * count
            found = image.attrs["Origin"][k] + steps
            np.testing.assert_allclose(found, sign * np.array(columns[axis]), atol=1e-9)


def test_uneven_axes_are_for_xdmf(tmp_path):
    path = write_elastic_3d(tmp_path / "r.h5")
    with h5py.File(path, "r+") as file:
        file["snapshots/volume/z"][-1] += 5.0
    with open_results(path) as results:
        with pytest.raises(ScenarioError, match=r"apart along z, .* --format xdmf"):
            write_side_files(results)
        assert len(write_side_files(results, "xdmf")) == 3


@each_kind_of_arrays
def test_side_files_point_to_the_numbers(tmp_path, write, name, field):
    with open_results(write(tmp_path / "r.h5")) as results:
        paths = write_side_files(results, "xdmf")
        arrays = {**results.snapshots, **results.maps}
        assert len(paths) == len(arrays)
        path = next(p for p in paths if p.name == f"r-{name.replace('/', '-')}.xdmf")
        frames = Xml.parse(path).getroot().findall("./Domain/Grid/Grid")
        wanted = arrays[name].values_of(field)
        times = [float(frame.find("Time").get("Value")) for frame in frames]
        if name != "ground":
            np.testing.assert_array_equal(times, arrays[name].time)
        columns = {a: arrays[name].axes.get(a, [arrays[name].plane.get(a, 0.0)]) for a in "xyz"}
    assert len(frames) == len(wanted)
    for frame, values in zip(frames, wanted, strict=True):
        items = {a.get("Name"): a.find("DataItem") for a in frame.findall("Attribute")}
        np.testing.assert_array_equal(numbers(tmp_path, items[field]).ravel(), values.ravel())
        for axis, item in zip("xyz", frame.findall("Geometry/DataItem"), strict=True):
            upward = np.multiply(columns[axis], -1.0 if axis == "z" else 1.0)
            np.testing.assert_array_equal(numbers(tmp_path, item), upward)
        counts = [len(columns[axis]) for axis in "zyx"]
        assert frame.find("Topology").get("Dimensions") == " ".join(map(str, counts))


def test_the_command_names_what_it_wrote(tmp_path, capsys):
    path = write_elastic_3d(tmp_path / "r.h5")
    for kind, options in (("vtkhdf", []), ("xdmf", ["--format", "xdmf"])):
        with pytest.raises(SystemExit, match="0"):
            main(["paraview", str(path), *options])
        written = capsys.readouterr().out.split()
        assert written == [str(tmp_path / f"r-{n}.{kind}") for n in ("volume", "surface", "ground")]


def test_nothing_to_show_is_one_line(tmp_path):
    with ResultsWriter(tmp_path / "r.h5", scenario_text="", resolved="", attributes={}):
        pass
    with open_results(tmp_path / "r.h5") as results, pytest.raises(ScenarioError, match="no maps"):
        write_side_files(results)

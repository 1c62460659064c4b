"""Side files for ParaView: what they point to is what the results file holds.

VTK's own reader opens the same files (`vtkXdmfReader`, VTK 9.7) and gives the same numbers; here
the XML is read by the rules of XDMF, so that the tests need no VTK.
"""

from xml.etree import ElementTree as Xml

import h5py
import numpy as np
import pytest

from seismo.cli import main
from seismo.errors import ScenarioError
from seismo.output import ResultsWriter, open_results
from seismo.output.paraview import write_xdmf
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


@pytest.mark.parametrize(
    ("write", "name", "field"),
    [
        (write_elastic_2d, "wavefield/shot_001", "vx"),
        (write_elastic_3d, "volume", "vz"),
        (write_elastic_3d, "surface", "vz"),
        (write_elastic_3d, "ground", "pga"),
    ],
)
def test_side_files_point_to_the_numbers(tmp_path, write, name, field):
    with open_results(write(tmp_path / "r.h5")) as results:
        paths = write_xdmf(results)
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
            np.testing.assert_array_equal(numbers(tmp_path, item), columns[axis])
        counts = [len(columns[axis]) for axis in "zyx"]
        assert frame.find("Topology").get("Dimensions") == " ".join(map(str, counts))


def test_the_command_names_what_it_wrote(tmp_path, capsys):
    path = write_elastic_3d(tmp_path / "r.h5")
    with pytest.raises(SystemExit, match="0"):
        main(["paraview", str(path)])
    written = capsys.readouterr().out.split()
    assert written == [str(tmp_path / f"r-{n}.xdmf") for n in ("volume", "surface", "ground")]


def test_nothing_to_show_is_one_line(tmp_path):
    with ResultsWriter(tmp_path / "r.h5", scenario_text="", resolved="", attributes={}):
        pass
    with open_results(tmp_path / "r.h5") as results, pytest.raises(ScenarioError, match="no maps"):
        write_xdmf(results)

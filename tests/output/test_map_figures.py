"""Maps seen from above: their colours, and which names, lines and coasts are drawn."""

import sys
from types import SimpleNamespace

import cartopy
import cartopy.io.shapereader
import numpy as np
import pytest
import shapefile
from cartopy.io import Downloader

from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.output.figures import peaks
from seismo.output.results import open_results
from seismo.output.results_file import ResultsWriter


def results_of(path, codes, largest_values, scenario="", reach=900.0):
    """Write a map and a set of receivers, and open them."""
    places = {axis: np.linspace(0.0, 900.0, len(codes)) for axis in "xyz"}
    axes = {axis: np.linspace(-reach, reach, len(largest_values)) for axis in "xy"}
    with ResultsWriter(path, scenario_text="", resolved=scenario, attributes={}) as writer:
        writer.create_traces(
            "field", shots=["shot"], codes=codes, positions=places, requested=places,
            time=np.arange(3.0), quantities={"vx": "m/s"},
        )  # fmt: skip
        writer.create_maps(
            "top", shots=["shot"], axes=axes, quantities={"pgv": "m/s"}, plane={"z": 0.0}
        )
        writer.write("maps/top/pgv", 0, largest_values)
    return open_results(path)


@pytest.mark.parametrize(
    ("codes", "is_named"),
    [
        ([f"R{n:04d}" for n in range(4)], True),
        ([f"R{n:04d}" for n in range(9)], False),
        ([f"ST{n}" for n in range(9)], True),
        ([f"ST{n}" for n in range(31)], False),
    ],
)
def test_receivers_are_named_where_they_are_few_or_have_names(tmp_path, codes, is_named):
    with results_of(tmp_path / "a.h5", codes, np.ones((10, 10))) as results:
        texts = {text.get_text() for text in peaks(results).axes[0].texts}
    assert set(codes) & texts == (set(codes) if is_named else set())


@pytest.mark.parametrize(("smallest", "ratio"), [(0.5, 5.0), (0.02, 50.0), (0.0, 1000.0)], ids=str)
def test_a_logarithmic_scale_begins_where_the_values_do(tmp_path, smallest, ratio):
    """At the smallest values but one in a hundred, a fifth to a thousandth of the largest."""
    spread = np.maximum(np.geomspace(1e-9, 1.0, 900).reshape(30, 30), smallest)
    with results_of(tmp_path / "a.h5", ["A"], spread) as results:
        panel = peaks(results, scale="log").axes[0]
    norm = panel.images[0].norm
    assert norm.vmax / norm.vmin == pytest.approx(ratio, rel=0.1)
    assert panel.images[0].get_array().min() == pytest.approx(max(norm.vmin, smallest))


@pytest.fixture
def natural_earth(tmp_path, monkeypatch):
    """Give cartopy a coast along the meridian of 118 degrees west, and no way to download."""
    folder = tmp_path / "shapefiles" / "natural_earth"
    for path, line in (
        (folder / "physical" / "ne_10m_coastline", [(-118.0, 33.0), (-118.0, 34.0), (-118, 35.5)]),
        (folder / "cultural" / "ne_10m_admin_0_boundary_lines_land", [(10.0, 50.0), (11.0, 50.0)]),
    ):
        path.parent.mkdir(parents=True)
        with shapefile.Writer(str(path), shapeType=shapefile.POLYLINE) as writer:
            writer.field("name", "C")
            writer.line([line])
            writer.record("a line")
    monkeypatch.setitem(cartopy.config, "pre_existing_data_dir", str(tmp_path))
    monkeypatch.setitem(cartopy.config, "data_dir", str(tmp_path / "none"))

    def refused(*_):
        raise AssertionError("nothing is downloaded")

    monkeypatch.setattr(Downloader, "acquire_resource", refused)
    monkeypatch.setattr(cartopy.io.shapereader.NEShpDownloader, "acquire_resource", refused)
    return folder


GEOGRAPHIC = "geographic: {longitude: -117.9, latitude: 33.9, azimuth: 20.0}"


def coasts_of(figure):
    return [c for c in figure.axes[0].collections if c.get_label() == "_coastline"]


def test_coast_lines_lie_where_the_projection_puts_them(tmp_path, natural_earth):
    values = np.ones((10, 10))
    with results_of(tmp_path / "a.h5", ["A"], values, GEOGRAPHIC, reach=30e3) as results:
        (coast,) = coasts_of(peaks(results))
        assert not coasts_of(peaks(results, coast=False))
    ((piece),) = coast.get_segments()
    projection = Projection(SimpleNamespace(longitude=-117.9, latitude=33.9, azimuth=20.0))
    x, y = projection.to_grid([-118.0, -118.0, -118.0], [33.0, 34.0, 35.5])
    np.testing.assert_allclose(piece, np.column_stack([y, x]) / 1e3)


def test_coast_lines_that_are_not_there_are_left_out_or_missed(tmp_path, natural_earth):
    for file in natural_earth.rglob("*.shp"):
        file.unlink()
    with results_of(tmp_path / "a.h5", ["A"], np.ones((10, 10)), GEOGRAPHIC) as results:
        assert not coasts_of(peaks(results))
        with pytest.raises(ScenarioError, match="`cartopy_feature_download physical cultural`"):
            peaks(results, coast=True)
    message = "give the section geographic"
    results = results_of(tmp_path / "b.h5", ["A"], np.ones((10, 10)))
    with results, pytest.raises(ScenarioError, match=message):
        peaks(results, coast=True)


def test_without_cartopy_its_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cartopy.io.shapereader", None)
    with results_of(tmp_path / "a.h5", ["A"], np.ones((10, 10)), GEOGRAPHIC) as results:
        assert not coasts_of(peaks(results))
        with pytest.raises(ScenarioError, match=r"pip install 'seismo\[maps\]'"):
            peaks(results, coast=True)


def test_many_receivers_on_a_map_are_dots(tmp_path):
    codes = [f"R{n:04d}" for n in range(117)]
    with results_of(tmp_path / "a.h5", codes, np.ones((10, 10))) as results:
        dots = [line for line in peaks(results).axes[0].get_lines() if line.get_marker() == "."]
    assert [len(line.get_xdata()) for line in dots] == [117]

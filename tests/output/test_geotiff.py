"""GeoTIFF of maps, read back by rasterio: every node at its longitude and latitude."""

from types import SimpleNamespace

import numpy as np
import pyproj
import pytest
import rasterio

from seismo import open_results
from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.output.export import export, remarks
from seismo.output.results_file import ResultsWriter

X = -400.0 + 100.0 * np.arange(9)
Y = 1000.0 + 50.0 * np.arange(6)


def written(path, azimuth, shots=("shot_000",), **extra):
    """Write two maps, random but for NaN at one point, on a plane; give their samples."""
    resolved = ""
    if azimuth is not None:
        resolved = f"geographic: {{longitude: 13.4, latitude: 42.3, azimuth: {azimuth}}}\n"
    maps = np.random.default_rng(1).random((2, len(shots), Y.size, X.size)).astype("f4")
    maps[0, 0, 2, 3] = np.nan
    units = {"pgv": "m/s", "sa_rotd50_0.3s": "m/s^2"}
    attributes = {"title": "quake"}
    with ResultsWriter(path, scenario_text="", resolved=resolved, attributes=attributes) as writer:
        for name, axes, plane in (
            ("ground", {"y": Y, "x": X}, {"z": 0.0}), ("side", {"z": Y, "x": X}, {"y": 0.0}),
        ):  # fmt: skip
            writer.create_maps(name, shots=shots, axes=axes, quantities=units, plane=plane)
            for number in range(len(shots)):
                for quantity, samples in zip(units, maps, strict=True):
                    writer.write(f"maps/{name}/{quantity}", number, samples[number])
    return maps


@pytest.mark.parametrize("azimuth", [0.0, 30.0, 90.0, 200.0, 275.0])
def test_every_node_is_where_its_longitude_and_latitude_are(tmp_path, azimuth):
    maps = written(tmp_path / "x.h5", azimuth)
    with open_results(tmp_path / "x.h5") as results:
        (path,) = export(results, "geotiff")
        assert list(remarks(results, "geotiff")) == [
            "maps side are not on a horizontal plane and are left out"
        ]
    assert path.name == "x-ground.tif"
    projection = Projection(SimpleNamespace(longitude=13.4, latitude=42.3, azimuth=azimuth))
    with rasterio.open(path) as image:
        assert image.descriptions == ("pgv", "sa_rotd50_0.3s")
        assert image.units == ("m/s", "m/s^2")
        assert image.tags()["title"] == "quake"
        # Columns run east and rows south, within 45 degrees.
        assert image.transform.a >= abs(image.transform.d) - 1e-9
        assert -image.transform.e >= abs(image.transform.b) - 1e-9
        to_earth = pyproj.Transformer.from_crs(image.crs.to_wkt(), "EPSG:4326", always_xy=True)
        rows, columns = np.meshgrid(range(image.height), range(image.width), indexing="ij")
        matrix = np.array(image.transform).reshape(3, 3)[:2]
        corners = [columns.ravel() + 0.5, rows.ravel() + 0.5, np.ones(rows.size)]
        place = matrix @ np.array(corners)
        x, y = projection.to_grid(*to_earth.transform(*place))
        i = np.rint((x - X[0]) / 100.0).astype(int)
        j = np.rint((y - Y[0]) / 50.0).astype(int)
        np.testing.assert_allclose(x, X[i], atol=1e-4)
        np.testing.assert_allclose(y, Y[j], atol=1e-4)
        assert len(set(zip(i, j, strict=True))) == X.size * Y.size
        for band, samples in zip(image.read(), maps[:, 0], strict=True):
            np.testing.assert_array_equal(band.ravel(), samples[j, i])


def test_maps_without_a_place_have_the_coordinates_of_the_grid(tmp_path):
    maps = written(tmp_path / "x.h5", None, ("a", "b"))
    with open_results(tmp_path / "x.h5") as results:
        paths = list(export(results, "geotiff"))
        assert "no section geographic" in next(remarks(results, "geotiff"))
    assert [path.name for path in paths] == ["x-ground-a.tif", "x-ground-b.tif"]
    with rasterio.open(paths[1]) as image:
        assert image.crs is None
        assert image.xy(0, 0) == pytest.approx((Y[0], X[-1]))
        np.testing.assert_array_equal(image.read(2), maps[1, 1].T[::-1])


def test_results_without_maps_of_a_plane_are_refused(tmp_path):
    with ResultsWriter(tmp_path / "x.h5", scenario_text="", resolved="", attributes={}):
        pass
    with (
        open_results(tmp_path / "x.h5") as results,
        pytest.raises(ScenarioError, match=r"no maps on a horizontal plane; add output\.maps"),
    ):
        list(export(results, "geotiff"))

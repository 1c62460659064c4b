"""What check says of files of heights that are sea beds, in km, or of another sign."""

import numpy as np
import pytest

from seismo.features.topography.checks import GROUND
from seismo.runs.prediction.assess import assess
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

LENGTH, STEP = 20e3, 1e3


def mountains(low=300.0, high=1700.0):
    """Return heights (y, x) in m of a range between two levels, over 20 km."""
    ticks = np.linspace(0.0, 2 * np.pi, 21)
    shape = 0.5 - 0.25 * (np.cos(ticks)[:, None] + np.cos(2 * ticks)[None])
    return low + (high - low) * shape


def lines_of(folder, heights, stations="", dimensions=3, assessed=False, **changes):
    np.save(folder / "heights.npy", heights)
    topography = {"type": "file", "path": "heights.npy"} | changes
    extent = {"x": LENGTH, "z": 22e3} | ({"y": LENGTH} if dimensions == 3 else {})
    document = {
        "physics": "elastic", "topography": topography,
        "grid": {"extent": extent, "spacing": STEP},
        "time": {"duration": "6 s"}, "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": 5600.0, "vs": 3200.0, "rho": 2700.0}],
        "sources": [{"type": "explosion", "moment": 1e15,
                     "position": {"x": 1e4, "depth": 5e3} | ({"y": 1e4} if dimensions == 3 else {}),
                     "wavelet": {"type": "ricker", "frequency": 0.3}}],
    }  # fmt: skip
    if stations:
        (folder / "stations.csv").write_text(stations)
        document["receivers"] = [{"type": "stations", "name": "net", "path": "stations.csv"}]
    discretization = discretize(from_dict(document, folder))
    if assessed:
        return assess(discretization).warnings
    return [line for look in GROUND for line in look(discretization)]


def test_heights_of_mountains_are_as_they_should_be(tmp_path):
    assert lines_of(tmp_path, mountains()) == []
    assert lines_of(tmp_path, mountains(-30.0, 400.0)) == []
    assert lines_of(tmp_path, mountains()[3], dimensions=2) == []


def test_a_plain_is_no_mountain_in_km(tmp_path):
    """Its relief is metres within 20 km, not centimetres; high ones may be as flat as they like."""
    assert lines_of(tmp_path, mountains(1.0, 7.0)) == []
    assert lines_of(tmp_path, mountains(112.0, 112.9)) == []


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.usefixtures("no_remedies")
def test_sea_beds_and_other_signs_are_told(tmp_path, dimensions):
    heights = mountains() if dimensions == 3 else mountains()[3]
    for sunk in (-heights, heights - 2600.0):
        (line,) = lines_of(tmp_path, sunk, dimensions=dimensions)
        assert line.startswith("topography.path: the ground is below height 0 in 100%")
        assert "sea bed" in line
        assert "change their sign" in line
    assert any("sea bed" in line for line in lines_of(tmp_path, mountains() - 2600, assessed=True))


def test_a_coast_with_its_sea_bed_is_told(tmp_path):
    (line,) = lines_of(tmp_path, mountains(-900.0, 900.0))
    assert "the ground is below height 0 in 39% of the grid, down to -7" in line


def test_the_datum_does_not_matter(tmp_path):
    assert lines_of(tmp_path, mountains(), datum=3000.0) == []
    (line,) = lines_of(tmp_path, -mountains(), datum=-3000.0)
    assert "sea bed" in line


@pytest.mark.parametrize("dimensions", [2, 3])
def test_heights_in_km_are_told(tmp_path, dimensions):
    heights = mountains() if dimensions == 3 else mountains()[3]
    (line,) = lines_of(tmp_path, heights / 1e3, dimensions=dimensions)
    assert "heights of heights.npy are 0." in line
    assert line.endswith("if they are in km, write them in m")


STATIONS = """network,station,x,y,elevation
XX,TOP,10000,10000,{top}
XX,LOW,0,0,{low}
XX,NONE,5000,5000,
"""


@pytest.mark.parametrize(
    ("factor", "many"), [(1.0, 0), (-1.0, 2), (1e-3, 2)], ids=["right", "sign", "km"]
)
def test_elevations_of_stations_are_compared_with_the_ground(tmp_path, factor, many):
    heights = mountains()
    top, low = heights[10, 10], heights[0, 0]
    text = STATIONS.format(top=f"{top + 40:.1f}", low=f"{low - 40:.1f}")
    lines = lines_of(tmp_path, factor * heights, text)
    told = [line for line in lines if line.startswith("receivers net: elevations of")]
    assert len(told) == (many > 0)
    for line in told:
        assert f"of {many} of 3 stations are more than 200 m off the ground" in line
        assert f"most at XX.TOP: {top + 40:.5g} m in the list" in line


@pytest.mark.parametrize(
    ("top", "low", "many"), [("2100", "0", 2), ("2100", "", 1), ("0", "0", 0)],
    ids=["mixed", "left-out", "all-zero"],
)  # fmt: skip
def test_zero_is_an_elevation_in_a_list_that_has_others(tmp_path, top, low, many):
    """Ground is at 300 m there; lists in which all are 0 know none."""
    lines = lines_of(tmp_path, mountains(), STATIONS.format(top=top, low=low))
    told = [line for line in lines if line.startswith("receivers net: elevations of")]
    assert [f"of {many} of 3 stations are more than 200 m" in line for line in told] == [True] * (
        many > 0
    )


def test_elevations_beside_level_ground_are_not_compared(tmp_path):
    text = STATIONS.format(top=2000.0, low=-2000.0).replace("elevation\n", "elevation,depth\n")
    text = text.replace(".0\n", ".0,0\n").replace("5000,\n", "5000,,0\n")
    document = {
        "physics": "elastic", "grid": {"extent": {"x": LENGTH, "y": LENGTH, "z": 1e4},
                                       "spacing": STEP},
        "time": {"duration": "6 s"}, "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": 5600.0, "vs": 3200.0, "rho": 2700.0}],
        "sources": [{"type": "explosion", "moment": 1e15,
                     "position": {"x": 1e4, "y": 1e4, "z": 5e3},
                     "wavelet": {"type": "ricker", "frequency": 0.3}}],
        "receivers": [{"type": "stations", "name": "net", "path": "stations.csv"}],
    }  # fmt: skip
    (tmp_path / "stations.csv").write_text(text)
    discretization = discretize(from_dict(document, tmp_path))
    assert [line for look in GROUND for line in look(discretization)] == []

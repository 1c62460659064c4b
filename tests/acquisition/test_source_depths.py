"""Depths of sources by longitude and latitude over topography, and what check says of sizes."""

import re

import numpy as np
import pytest

import solver
from seismo.acquisition.events import read_event
from seismo.errors import ScenarioError
from seismo.runs.check.plan import check
from seismo.runs.coordinates import size_and_depth
from seismo.runs.prediction.checks.positions import depths_over_ground
from seismo.runs.prediction.checks.timing import MOMENTS
from seismo.runs.run import run
from seismo.scenario import from_dict
from seismo.scenario.sections.sources import EventSource
from seismo.solver.discretize import discretize
from test_event_files import CMT
from test_fault_frequencies import srf

DEGREES = {"longitude": -118.0, "latitude": 34.0}
HEIGHT = 2500.0
PULSE = {"type": "gaussian_rate", "half_duration": 1.21}
COUPLE = {"type": "moment_tensor", "strike": 10.0, "dip": 80.0, "rake": 0.0, "wavelet": PULSE}


def mountain(source, datum=0.0, **changes):
    """Give a scenario under ground that is 2.5 km high where x = y = 0."""
    hill = {"center": {"x": 0.0, "y": 0.0}, "height": HEIGHT, "width": "9 km"}
    return {
        "physics": "elastic", "geographic": DEGREES | {"azimuth": 0.0},
        "topography": {"type": "hills", "hills": [hill], "datum": datum},
        "grid": {"extent": {"x": "30 km", "y": "30 km", "z": "26 km"}, "spacing": "1 km",
                 "origin": {"x": "-15 km", "y": "-15 km"}},
        "time": {"duration": "6 s"}, "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": 5600.0, "vs": 3200.0, "rho": 2700.0}],
        "sources": [source],
    } | changes  # fmt: skip


def files(folder):
    (folder / "fault.srf").write_text(srf(12, rise=1.0))
    text = CMT.replace("33.9500", "34.0").replace("-117.7700", "-118.0")
    (folder / "event").write_text(text)


SOURCES = {
    "event": {"type": "event", "path": "event"},
    "finite_fault": {"type": "finite_fault", "path": "fault.srf", "smoothing": 1.0},
    "moment_tensor": COUPLE | {"moment": 1e17, "position": DEGREES | {"depth": 8000.0}},
}


def with_depth_from(name, depth_from):
    source = SOURCES[name]
    if name == "moment_tensor":
        return source | {"position": source["position"] | {"depth_from": depth_from}}
    return source | {"depth_from": depth_from}


def size_of(discretization):
    (facts,) = (
        size_and_depth(discretization, source) for source in discretization.shots[0].summaries
    )
    return facts


@pytest.mark.parametrize("name", SOURCES)
def test_depths_count_from_the_ground_or_the_datum(tmp_path, name):
    """From the datum they are z - datum, whatever the ground is; the default is the ground."""
    files(tmp_path)
    datum = 500.0
    setups = {
        depth_from: discretize(from_dict(mountain(source, datum), tmp_path))
        for depth_from, source in (
            (None, SOURCES[name]),
            ("ground", with_depth_from(name, "ground")),
            ("datum", with_depth_from(name, "datum")),
        )
    }
    of_default, of_ground, of_datum = (
        size_of(discretization)["z"] for discretization in setups.values()
    )
    assert of_default == pytest.approx(of_ground, abs=1e-6)
    depth = {"event": 15.5e3, "finite_fault": 3e3, "moment_tensor": 8e3}[name]
    # the centroid of a fault is that of its rows, which bend
    assert of_datum == pytest.approx(datum + depth, abs=30.0 if name == "finite_fault" else 0.01)
    # the fault reaches from the top of the mountain half a kilometre to 6 km aside
    above = HEIGHT if name != "finite_fault" else size_of(setups[None])["depth"]
    assert (of_datum - of_default) == pytest.approx(
        above, rel=0.4 if name == "finite_fault" else 1e-3
    )
    (line,) = depths_over_ground(setups[None])
    key = "sources[0].position" if name == "moment_tensor" else "sources[0]"
    assert line.startswith(f"{key}: ")
    assert "depth_from: datum" in line
    z = float(re.search(r"by which it is at z = ([0-9.e+]+) m", line).group(1))
    assert z == pytest.approx(of_datum, abs=100.0 if name == "finite_fault" else 0.1)
    for depth_from in ("ground", "datum"):
        assert not list(depths_over_ground(setups[depth_from]))


def test_low_ground_needs_no_word(tmp_path):
    hill = {"center": {"x": 0.0, "y": 0.0}, "height": 800.0, "width": "9 km"}
    low = mountain(SOURCES["moment_tensor"], topography={"type": "hills", "hills": [hill]})
    assert not list(depths_over_ground(discretize(from_dict(low))))


@pytest.mark.usefixtures("no_remedies")
def test_places_on_the_earth_may_have_z():
    place = DEGREES | {"z": 4000.0}
    (source,) = discretize(
        from_dict(mountain(COUPLE | {"moment": 1e17, "position": place}))
    ).shots[0].sources  # fmt: skip
    assert source.position[:2] == pytest.approx((0.0, 0.0), abs=1e-6)
    plan = check(from_dict(mountain(COUPLE | {"moment": 1e17, "position": place})))
    assert size_of(plan.discretization)["z"] == pytest.approx(4000.0, abs=1e-6)
    assert not any("depths count" in line for line in plan.warnings)
    assert "z = 4000 m, 6499.66 m below the ground, M0 1e+17 N m (Mw 5.27)" in str(plan)


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (DEGREES, r"position\.depth: missing: give z, or depth"),
        (DEGREES | {"z": 1.0, "depth": 2.0}, r"position\.depth: .*z"),
        (DEGREES | {"z": 1.0, "depth_from": "datum"}, r"position\.depth_from: .*says what depth"),
        (DEGREES | {"z": -3000.0}, "lies 500.3.* m above the ground"),
        (DEGREES | {"depth": -2600.0, "depth_from": "datum"}, "lies 100.3.* m above the ground"),
    ],
    ids=["neither", "both", "no depth", "above", "above by the datum"],
)
def test_mistakes_of_heights_are_told(position, message):
    with pytest.raises(ScenarioError, match=message):
        discretize(from_dict(mountain(COUPLE | {"moment": 1e17, "position": position})))


def sized(folder, **keys):
    source = COUPLE | {"position": DEGREES | {"depth": 8000.0}} | keys
    flat = mountain(source, topography=None)
    return moment_warnings(discretize(from_dict(flat, folder)))


def moment_warnings(discretization):
    lines = (line for look in MOMENTS for line in look(discretization))
    return [line for line in lines if "is Mw" in line or "dyn cm" in line]


def test_moments_that_no_earthquake_has_are_named(tmp_path):
    (line,) = sized(tmp_path, moment=5.6e23)
    assert "Mw 9.8, and no earthquake" in line
    assert "dyn cm" in line
    assert "Mw 5.1" in line
    assert sized(tmp_path, moment=5.6e16) == []
    explosion = {"type": "explosion", "moment": 5.6e23, "position": DEGREES | {"depth": 8000.0},
                 "wavelet": PULSE}  # fmt: skip
    flat = mountain(explosion, topography=None)
    (line,) = moment_warnings(discretize(from_dict(flat)))
    assert "no earthquake" in line


@pytest.mark.parametrize(
    ("wavelet", "moment", "words"),
    [
        (
            {"type": "gaussian_rate", "half_duration": 0.9},
            10 ** (1.5 * 7.5 + 9.1),
            ["14 s", "0.96 s"],
        ),
        ({"type": "triangle", "half_duration": 0.9}, 10 ** (1.5 * 7.5 + 9.1), ["14 s", "0.9 s"]),
        ({"type": "brune", "rise": 0.1}, 1e22, ["probably in dyn cm", "Mw 3.9"]),
        ({"type": "triangle", "half_duration": 1.2}, 1.4e10, None),
        ({"type": "triangle", "half_duration": 40.0}, 1e13, ["check the moment"]),
        ({"type": "triangle", "half_duration": 1.2}, 1e17, None),
        ({"type": "ricker", "frequency": 0.5}, 1e22, None),
        ({"type": "triangle", "half_duration": 1.2}, 1.0, None),
    ],
)
def test_moments_that_do_not_go_with_half_durations_are_named(tmp_path, wavelet, moment, words):
    lines = sized(tmp_path, moment=moment, wavelet=wavelet, delay="3 s")
    assert len(lines) == (words is not None)
    for word in words or ():
        assert word in lines[0]


def test_magnitudes_have_no_unit(tmp_path):
    """A short moment rate is named, a long one is chosen for a grid."""
    (line,) = sized(tmp_path, magnitude=7.5, wavelet={"type": "triangle", "half_duration": 0.3})
    assert "check the magnitude" in line
    assert "dyn cm" not in line
    assert sized(tmp_path, magnitude=3.0, wavelet=PULSE) == []


def test_a_file_in_newton_metres_is_named(tmp_path):
    """Of a CMTSOLUTION, which has dyn cm."""
    text = re.sub(r"(M..: .*)[de]\+(\d+)", lambda m: f"{m[1]}e+{int(m[2]) - 7}", CMT)
    (tmp_path / "event").write_text(text)
    tensor = read_event(EventSource(type="event", path="event"), tmp_path).tensor
    assert np.abs(tensor).max() == pytest.approx(1.45e10)
    document = mountain({"type": "event", "path": "event"}, topography=None)
    document["grid"]["extent"] |= {"x": "60 km", "y": "60 km"}
    document["grid"]["origin"] = {"x": "-30 km", "y": "-30 km"}
    discretization = discretize(from_dict(document, tmp_path))
    (line,) = moment_warnings(discretization)
    assert "dyn cm" in line


@pytest.mark.usefixtures("no_remedies")
def test_many_sources_are_told_together():
    sources = [
        COUPLE | {"name": f"s{n}", "moment": 1e15 * (n + 1),
                  "position": {"x": 0.0, "y": 500.0 * n, "z": 5000.0 + 100.0 * n}}
        for n in range(30)
    ]  # fmt: skip
    flat = mountain(sources[0], topography=None, sources=sources)
    plan = check(from_dict(flat))
    page = str(plan)
    assert "s29, the largest: z = 7900 m, 7900 m below the ground, M0 3e+16 N m (Mw 4.92)" in page
    assert "all 30: z = 5000 to 7900 m, 5000 to 7900 m below the ground" in page
    assert len(plan.as_dict()["sources"]) == 30
    few = str(check(from_dict(flat | {"sources": sources[:3]})))
    for n in range(3):
        assert f"s{n}: z = {5000 + 100 * n} m, {5000 + 100 * n} m below the ground, M0" in few


def test_results_and_their_figures_have_depth_and_size(tmp_path):
    plane = solver.plan("elastic", 2, sources=[
        {"type": "explosion", "name": "shot", "moment": 2e9,
         "position": {"x": 60.0, "z": 60.0}, "wavelet": {"type": "ricker", "frequency": 10.0}},
    ])  # fmt: skip
    results = run(from_dict(plane), tmp_path / "plane.h5")
    (row,) = results.sources
    assert row["depth"] == pytest.approx(60.0)
    assert row["scalar_moment"] == pytest.approx(2e9)
    assert "magnitude" not in row
    text = re.sub(r"\s+", " ", results.info())
    assert "60 m below the ground, M0 2e+09 N m per metre" in text
    figure = results.plot("wavelets")
    (legend,) = (axes.get_legend() for axes in figure.axes if axes.get_legend())
    assert "M0 2e+09" in legend.get_texts()[0].get_text()

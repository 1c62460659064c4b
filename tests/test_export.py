"""Exported files, read back by programs that know nothing of seismo.

Samples are random numbers, so that no two can be taken for one another. Those of single components
are read back to the last bit, rotated ones to the rounding of float32 (1e-6).
"""

import sys
from types import SimpleNamespace

import numpy as np
import obspy
import pyproj
import pytest

from seismo import open_results
from seismo.acquisition.projection import Projection
from seismo.errors import ScenarioError
from seismo.output import ResultsWriter
from seismo.output.export import export
from seismo.output.export.seismograms import station_name
from synthetic_results import write_elastic_2d

RESOLVED = """\
grid: {origin: {x: -5000.0, y: -5000.0, z: -100.0}}
geographic: {longitude: -117.761, latitude: 33.953, azimuth: 30.0}
event: {time: "2008-07-29T18:42:15.250500Z", at: 3.5, id: ci14383980, name: Chino Hills}
"""
DT = 0.0125
X, Y, Z = np.array([[1e3, 2e4, 50.0], [-3e3, 4e3, 0.0], [9e3, -1e4, -100.0]]).T
SOURCE = {"x": 500.0, "y": -250.0, "z": 14600.0}


@pytest.fixture(scope="module")
def quake(tmp_path_factory):
    """Write a single shot at three stations on the earth; give its path and its traces."""
    path = tmp_path_factory.mktemp("export") / "quake.h5"
    projection = Projection(SimpleNamespace(longitude=-117.761, latitude=33.953, azimuth=30.0))
    longitude, latitude = projection.to_geographic(X, Y)
    azimuth = projection.x_azimuth(X, Y)
    positions = {"x": X, "y": Y, "z": Z, "longitude": longitude, "latitude": latitude}
    at = projection.to_geographic(SOURCE["x"], SOURCE["y"])
    source = SOURCE | {"longitude": float(at[0]), "latitude": float(at[1])}
    traces = {
        name: np.random.default_rng(k).standard_normal((3, 400)).astype("f4")
        for k, name in enumerate(("vx", "vy", "vz", "pressure", "sxz"))
    }
    units = dict.fromkeys(("vx", "vy", "vz"), "m/s") | dict.fromkeys(("pressure", "sxz"), "Pa")
    with ResultsWriter(path, scenario_text="", resolved=RESOLVED, attributes={"dt": DT}) as writer:
        late = source | {"name": "late", "type": "force", "start": 1.0, "latitude": 0.0}
        writer.write_sources([late, source | {"name": "first", "type": "force", "start": 0.5}])
        writer.create_traces(
            "net", shots=["shot_000"], codes=["CI.PAS.00", "CI.USC", "A"], time=DT * np.arange(400),
            positions=positions | {"x_azimuth": azimuth}, requested=positions, quantities=units,
        )  # fmt: skip
        for name, samples in traces.items():
            writer.write(f"traces/net/{name}", 0, samples)
    return SimpleNamespace(path=path, traces=traces, azimuth=azimuth, source=source, **positions)


def exported(path, folder, name, **choices):
    with open_results(path) as results:
        return list(export(results, name, folder, **choices))


def north_east_up(quake, receiver):
    """Return the components by hand, in double precision."""
    x, y, z = (quake.traces[f"v{axis}"][receiver].astype(float) for axis in "xyz")
    angle = np.radians(quake.azimuth[receiver])
    return {
        "N": x * np.cos(angle) - y * np.sin(angle),
        "E": x * np.sin(angle) + y * np.cos(angle),
        "Z": -z,
    }


def test_miniseed_and_stationxml_are_read_back(quake, tmp_path):
    files = exported(quake.path, tmp_path, "miniseed")
    names = [f"quake-net-{q}{s}" for q in ("velocity", "pressure") for s in (".mseed", ".xml")]
    assert [path.name for path in files] == names
    stream = obspy.read(tmp_path / names[0])
    inventory = obspy.read_inventory(tmp_path / names[1])
    assert len(stream) == 9
    # The origin time, less the time of the run at it: t = 0.
    start = obspy.UTCDateTime("2008-07-29T18:42:11.7505")
    assert all(trace.stats.starttime == start for trace in stream)
    assert {t.stats.delta for t in stream} == {DT}
    for receiver, code in enumerate(("CI.PAS.00", "CI.USC.", "XX.A.")):
        for component, samples in north_east_up(quake, receiver).items():
            (trace,) = stream.select(id=f"{code}.HX{component}")
            np.testing.assert_allclose(trace.data, samples, rtol=0, atol=1e-6)
            position = inventory.get_coordinates(trace.id)
            assert position["latitude"] == pytest.approx(quake.latitude[receiver], abs=1e-9)
            assert position["longitude"] == pytest.approx(quake.longitude[receiver], abs=1e-9)
            assert position["elevation"] == 0.0
            assert position["local_depth"] == pytest.approx(Z[receiver] + 100.0)
            direction = inventory.get_orientation(trace.id)
            wanted = {"N": (0, 0), "E": (90, 0), "Z": (0, -90)}[component]
            assert (direction["azimuth"], direction["dip"]) == wanted
    response = inventory.get_response("CI.PAS.00.HXZ", obspy.UTCDateTime())
    assert response.instrument_sensitivity.value == 1.0
    assert response.instrument_sensitivity.input_units == "M/S"
    (trace,) = obspy.read(tmp_path / names[2]).select(id="XX.A..HDH")
    np.testing.assert_array_equal(trace.data, quake.traces["pressure"][2])


def test_sac_is_read_back(quake, tmp_path):
    files = exported(quake.path, tmp_path, "sac", quantity="velocity")
    assert len(files) == 9
    assert files[0] == tmp_path / "quake-net-velocity-sac" / "CI.PAS.00.HXN.sac"
    geod = pyproj.Geod(ellps="WGS84")
    for receiver, code in enumerate(("CI.PAS.00", "CI.USC.", "XX.A.")):
        ends = quake.longitude[receiver], quake.latitude[receiver]
        azimuth, back, distance = geod.inv(
            quake.source["longitude"], quake.source["latitude"], *ends
        )
        for component, samples in north_east_up(quake, receiver).items():
            trace = obspy.read(files[0].with_name(f"{code}.HX{component}.sac"))[0]
            np.testing.assert_allclose(trace.data, samples, rtol=0, atol=1e-6)
            head = trace.stats.sac
            assert trace.id == f"{code}.HX{component}"
            start = obspy.UTCDateTime("2008-07-29T18:42:11.7505")
            assert abs(trace.stats.starttime - start) < 1e-6
            assert head.o == pytest.approx(0.0005, abs=1e-7)
            assert head.b == pytest.approx(-3.4995, abs=1e-6)
            # SAC's coordinates have 24 bits: half a metre.
            assert head.dist == pytest.approx(distance / 1e3, abs=5e-4)
            assert head.az == pytest.approx(azimuth % 360, abs=0.003)
            assert head.baz == pytest.approx(back % 360, abs=0.003)
            assert (head.evdp, head.stdp) == (pytest.approx(14.7), pytest.approx(Z[receiver] + 100))
            assert (head.evla, head.evlo) == pytest.approx(
                (quake.source["latitude"], quake.source["longitude"]), rel=1e-7
            )
            assert (head.stla, head.stlo) == pytest.approx(ends[::-1], rel=1e-7)
            wanted = {"N": (0, 90), "E": (90, 90), "Z": (0, 0)}[component]
            assert (head.cmpaz, head.cmpinc) == wanted
            assert (head.kevnm.strip(), head.kuser0.strip()) == ("ci14383980", "m/s")
            assert (head.nzjday, head.nzmsec) == (211, 250)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"format_name": "miniseeed"}, "did you mean 'miniseed'"),
        ({"format_name": "sac", "receivers": "nets"}, "receivers: there is no 'nets'"),
        ({"format_name": "sac", "shot": "b"}, "available: shot_000"),
        ({"format_name": "sac", "quantity": "vx"}, "net: there is no 'vx' (available: v"),
        ({"format_name": "sac", "quantity": "sxz"}, "holds no velocity, displacement"),
        ({"format_name": "sac", "folder": "/nowhere"}, "/nowhere: is no folder; create it"),
    ],
)
def test_what_cannot_be_exported_is_named(quake, choice, message):
    with open_results(quake.path) as results, pytest.raises(ScenarioError) as caught:
        list(export(results, **choice))
    assert message in str(caught.value)


def test_what_is_left_out_is_said(quake, tmp_path, command_line, monkeypatch):
    code, out, err = command_line("export", str(quake.path), "sac", "-o", str(tmp_path))
    assert (code, len(out.splitlines())) == (0, 12)
    assert err == f"{quake.path}: sac has no codes for sxz, which are left out\n"
    two = str(write_elastic_2d(tmp_path / "two.h5"))
    code, out, err = command_line("export", two, "miniseed", "--shot", "shot_b")
    assert [line.rpartition("/")[2] for line in out.splitlines()] == [
        "two-line-shot_b-velocity.mseed", "two-stations-shot_b-velocity.mseed"
    ]  # fmt: skip
    assert "no event: t = 0 is 1970-01-01T00:00:00Z" in err
    assert [t.id for t in obspy.read(out.splitlines()[1])][:2] == ["CI.PAS..CXX", "CI.PAS..CXZ"]
    monkeypatch.setitem(sys.modules, "obspy", None)
    code, _, err = command_line("export", two, "miniseed")
    assert code == 2
    assert err.endswith("needs the package obspy; run `pip install 'seismo[seismology]'`\n")


@pytest.mark.parametrize(
    ("code", "wanted"),
    [("A", "XX A "), ("CI.A", "CI A "), ("CI.A.", "CI A "), ("CI.A.00", "CI A 00"),
     (".A.00", "XX A 00")],
)  # fmt: skip
def test_codes_are_taken_apart(code, wanted):
    assert " ".join(vars(station_name(code)).values()) == wanted
    with pytest.raises(ScenarioError, match=r"is not NET\.STA\.LOC, NET\.STA or STA"):
        station_name("A.B.C.D")

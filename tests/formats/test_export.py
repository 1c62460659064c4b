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
import segyio
import segyio.su
import xarray
from obspy.io.sac.header import ENUM_NAMES

import seismo
from seismo import open_results
from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.formats.segy.export import scalar_of
from seismo.formats.seismograms import station_name
from seismo.output.export import FORMATS, export, remarks
from seismo.output.results_file import ResultsWriter
from synthetic_results import write_elastic_2d, write_elastic_3d

RESOLVED = """\
grid: {origin: {x: -5000.0, y: -5000.0, z: -100.0}}
boundaries: {top: free_surface}
geographic: {longitude: -117.761, latitude: 33.953, azimuth: 30.0}
event: {time: "2008-07-29T18:42:15.250500Z", at: 3.5, id: ci14383980, name: Chino Hills}
"""
DT = 0.0125
X, Y, Z = np.array([[1e3, 2e4, 50.0], [-3e3, 4e3, 0.0], [9e3, -1e4, -100.0]]).T
TENSOR = {f"moment_{pair}": 0.0 for pair in ("xx", "yy", "zz", "xz", "yz")} | {"moment_xy": 1e17}
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
        first = {"name": "first", "type": "moment_tensor", "start": 0.5} | TENSOR
        writer.write_sources([late, source | first])
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
    # What ObsPy prints, and writes as text, needs the dates that these are open from.
    assert str(inventory[0][0])
    inventory.write(str(tmp_path / "stations.txt"), format="STATIONTXT")
    dates = [channel.start_date for net in inventory for sta in net for channel in sta]
    assert all(date == stream[0].stats.starttime for date in dates)
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
    (trace,) = stream.select(id="CI.PAS.00.HXZ")
    without = trace.copy().remove_sensitivity(inventory)
    np.testing.assert_array_equal(without.data, trace.data)
    # ObsPy leaves the Nyquist frequency out, and by default changes the mean and both ends.
    without = trace.copy().remove_response(inventory, zero_mean=False, taper=False)
    nyquist = (without.data - trace.data) * (-1.0) ** np.arange(trace.stats.npts)
    assert np.ptp(nyquist) < 1e-5 * np.abs(trace.data).max()
    (trace,) = obspy.read(tmp_path / names[2]).select(id="XX.A..HDH")
    np.testing.assert_array_equal(trace.data, quake.traces["pressure"][2])


def test_asdf_is_read_back(quake, tmp_path):
    pyasdf = pytest.importorskip("pyasdf")
    with open_results(quake.path) as results:
        (path,) = export(results, "asdf", tmp_path)
        wanted = results.to_obspy()
    assert path.name == "quake.asdf"
    with pyasdf.ASDFDataSet(str(path), mode="r", mpi=False) as data:
        assert sorted(data.waveforms.list()) == ["CI.PAS", "CI.USC", "XX.A"]
        found = obspy.Stream([t for s in data.waveforms for t in s["synthetic"]])
        assert len(found) == len(wanted)
        for trace in wanted:
            (other,) = found.select(id=trace.id)
            np.testing.assert_array_equal(other.data, trace.data)
            assert other.stats.starttime == trace.stats.starttime
            assert other.stats.delta == pytest.approx(trace.stats.delta)
        station = data.waveforms["CI.PAS"].StationXML[0][0]
        assert station.latitude == pytest.approx(33.95, abs=0.3)
        assert {c.code for c in station} == {t.stats.channel for t in wanted}
        (event,) = data.events
        assert not event.focal_mechanisms  # there are two sources
        assert event.origins[0].depth == pytest.approx(14700.0)


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
            assert head.mag == pytest.approx((17.0 - 9.1) / 1.5, abs=1e-4)  # Mw, IASPEI 2013
            assert ENUM_NAMES[head.imagtyp] == "imw"
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


@pytest.mark.parametrize("name", ["miniseed", "sac"])
def test_codes_that_become_one_are_refused(tmp_path, name):
    """One SAC file of two would be lost, and traces of miniSEED share their name."""
    path = tmp_path / "equal.h5"
    with ResultsWriter(path, scenario_text="", resolved="", attributes={"dt": DT}) as writer:
        writer.create_traces(
            "net", shots=["shot_000"], codes=["R1", "XX.R1"], time=DT * np.arange(9),
            positions={"x": X[:2], "z": Z[:2]}, requested={"x": X[:2], "z": Z[:2]},
            quantities={"vz": "m/s"},
        )  # fmt: skip
        writer.write("traces/net/vz", 0, np.zeros((2, 9), "f4"))
    with pytest.raises(ScenarioError, match=r"'R1' and 'XX.R1' would both be written as XX.R1"):
        exported(path, tmp_path, name)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"format_name": "miniseeed"}, "did you mean 'miniseed'"),
        ({"format_name": "sac", "receivers": "nets"}, "receivers: there is no 'nets'"),
        ({"format_name": "sac", "shot": "b"}, "available: shot_000"),
        ({"format_name": "sac", "quantity": "vx"}, "net: there is no 'vx' (available: v"),
        ({"format_name": "sac", "quantity": "sxz"}, "holds no velocity, displacement"),
        ({"format_name": "segy", "folder": __file__}, "test_export.py: is no folder"),
        ({"format_name": "segy", "folder": "new.sgy"}, "name a folder, such as new"),
    ],
)
def test_what_cannot_be_exported_is_named(quake, choice, message):
    with open_results(quake.path) as results, pytest.raises(ScenarioError) as caught:
        list(export(results, **choice))
    assert message in str(caught.value)


def check_geometry(head, shot, receiver, sx):
    """Compare a trace header, by segyio's keys, with the geometry of the synthetic survey."""
    field = segyio.TraceField
    x = 20.0 * receiver
    assert head[field.FieldRecord] == head[field.EnergySourcePoint] == shot + 1
    assert head[field.TraceNumber] == receiver + 1
    assert head[field.offset] == round(x - sx)
    assert head[field.CDP] == 1 + round((0.5 * (x + sx) - 300) / 10)  # midpoints from 300 m on
    assert (head[field.SourceGroupScalar], head[field.ElevationScalar]) == (1, 1)
    assert (head[field.SourceX], head[field.GroupX], head[field.SourceY]) == (sx, x, 0)
    assert (head[field.SourceDepth], head[field.ReceiverGroupElevation]) == (300, -20)
    assert (head[field.TRACE_SAMPLE_COUNT], head[field.TRACE_SAMPLE_INTERVAL]) == (401, 2000)


def test_segy_and_su_are_read_back(tmp_path):
    path = write_elastic_2d(tmp_path / "two.h5")
    with open_results(path) as results:
        line = {name: results.traces["line"].values_of(name) for name in ("vx", "vz")}
    for name, suffix in (("segy", ".segy"), ("su", ".su")):
        files = exported(path, tmp_path, name, receivers="line")
        assert [file.name for file in files] == [f"two-line-{v}{suffix}" for v in line]
        for file, samples in zip(files, line.values(), strict=True):
            by_obspy = obspy.read(file, format=name.upper(), unpack_trace_headers=True)
            opened = {"segy": segyio.open, "su": segyio.su.open}[name]
            order = {"segy": "big", "su": sys.byteorder}[name]
            with opened(str(file), ignore_geometry=True, endian=order) as read:
                np.testing.assert_allclose(read.samples, 2.0 * np.arange(401), atol=1e-9)
                np.testing.assert_array_equal(read.trace.raw[:], samples.reshape(-1, 401))
                for index, (head, trace) in enumerate(zip(read.header, by_obspy, strict=True)):
                    shot, receiver = divmod(index, 101)
                    check_geometry(head, shot, receiver, (600, 1500)[shot])
                    np.testing.assert_array_equal(trace.data, samples[shot, receiver])
                    assert trace.stats.delta == 0.002
                if name == "segy":
                    assert int(read.format) == 5
                    assert read.bin[segyio.BinField.SEGYRevision] == 1
                    assert head[segyio.TraceField.CDP_X] == (1500 + 2000) / 2
                    assert head[segyio.TraceField.TraceValueMeasurementUnit] == 6
                    assert b"TRACES: vz in m/s, Z POINTS DOWN" in read.text[0] or "vx" in file.name


def test_segy_of_a_network_has_coordinates_with_scalars_and_dates(quake, tmp_path):
    (path,) = exported(quake.path, tmp_path, "segy", quantity="pressure")
    field = segyio.TraceField
    with segyio.open(str(path), ignore_geometry=True) as read:
        for receiver, head in enumerate(read.header):
            assert head[field.GroupX] == X[receiver]
            assert head[field.GroupY] == Y[receiver]
            assert head[field.ReceiverGroupElevation] == -Z[receiver]
            assert (head[field.SourceDepth], head[field.SourceSurfaceElevation]) == (14700, 100)
            assert head[field.offset] == round(np.hypot(X[receiver] - 500, Y[receiver] + 250))
            assert head[field.CDP] == 0
            date = [head[key] for key in (157, 159, 161, 163, 165, 167)]
            assert date == [2008, 211, 18, 42, 11, 4]
            assert head[field.LagTimeA] == 750  # of 750.5 ms, to the even one
        assert b"2008-07-29T18:42:11.750500+00:00" in read.text[0]
    with open_results(quake.path) as results:
        (said,) = [r for r in remarks(results, "segy", "pressure") if "lag time A" in r]
        assert "t = 0 is 2008-07-29T18:42:11.750500+00:00, whose 750.5 ms are in lag time A" in said


LISTED = """\
physics: elastic
grid: {extent: {x: 400, y: 400, z: 200}, spacing: 20}
boundaries: {top: free_surface}
time: {duration: 0.025}
model: [{type: uniform, vp: 3000, vs: 1700, rho: 2200}]
sources: [{type: explosion, position: {x: 200, y: 200, z: 100},
           wavelet: {type: ricker, frequency: 10}}]
receivers: [{name: net, type: stations, path: list.csv, interval: 12.5 ms}]
geographic: {longitude: -118, latitude: 34}
"""


def test_stations_keep_the_sites_and_elevations_of_their_list(tmp_path):
    """In results, StationXML, SAC and NetCDF; over flat ground the elevation is the list's."""
    (tmp_path / "list.csv").write_text(
        "network,station,longitude,latitude,elevation,sitename\n"
        'CI,PAS,-117.999,34.001,314,"Pasadena, CA"\nCI,RUS,-117.998,34.002,,\n'
    )
    (tmp_path / "run.yaml").write_text(LISTED)
    seismo.run(tmp_path / "run.yaml", tmp_path / "run.h5").close()
    with open_results(tmp_path / "run.h5") as results:
        assert results.traces["net"].sites == ["Pasadena, CA", ""]
    _, stations = exported(tmp_path / "run.h5", tmp_path, "miniseed", quantity="velocity")
    inventory = obspy.read_inventory(stations)
    assert [s.site.name or "" for s in inventory[0]] == ["Pasadena, CA", ""]
    assert [s.elevation for s in inventory[0]] == [314.0, 0.0]
    head = obspy.read(exported(tmp_path / "run.h5", tmp_path, "sac")[0])[0].stats.sac
    assert head.stel == 314.0
    (netcdf,) = exported(tmp_path / "run.h5", tmp_path, "netcdf")
    sites = xarray.open_dataset(netcdf, group="traces/net", engine="h5netcdf")["site"]
    assert sites.values.tolist() == ["Pasadena, CA", ""]


def test_a_file_has_one_scalar_of_coordinates(tmp_path):
    """Where one shot needs whole metres and another tenths, all have tenths."""
    path = tmp_path / "two.h5"
    with ResultsWriter(path, scenario_text="", resolved=RESOLVED, attributes={"dt": DT}) as writer:
        about = {"type": "force", "wavelet": "ricker", "start": 0.1, "centre": 0.35}
        writer.write_sources([
            {"name": "s", "shot": shot, "x": x, "y": 0.0, "z": z} | about
            for shot, x, z in (("a", 100.0, 10.0), ("b", 100.5, 10.25))
        ])  # fmt: skip
        places = {"x": [2.0, 3.0], "y": [0.0, 0.0], "z": [0.0, 0.0]}
        writer.create_traces(
            "net", shots=["a", "b"], codes=["A", "B"], time=DT * np.arange(9), positions=places,
            requested=places, quantities={"vz": "m/s"},
        )  # fmt: skip
        for shot in (0, 1):
            writer.write("traces/net/vz", shot, np.ones((2, 9), "f4"))
    (file,) = exported(path, tmp_path, "segy")
    field = segyio.TraceField
    with segyio.open(str(file), ignore_geometry=True) as read:
        for head, x in zip(read.header, (1e4, 1e4, 10050, 10050), strict=True):
            assert head[field.SourceGroupScalar] == -100  # midpoints are at 51.25 m
            assert head[field.SourceX] == x
            assert head[field.ElevationScalar] == -100
        assert b"SOURCE: force; WAVELET ricker, CENTRE AT 0.35 S" in read.text[0]
        assert f"TIME STEP OF THE RUN: {DT:.10g} S".encode() in read.text[0]


@pytest.mark.parametrize(
    ("lengths", "scalar"),
    [([[100.0, 3.0]], 1), ([[0.0], [0.5]], -10), ([[1 / 3, 2e5]], -10000), ([[1 / 3, 3e5]], -1000),
     ([[12.25]], -100), ([[5e9]], 1)],
)  # fmt: skip
def test_scalars_of_coordinates_round_nothing_or_as_little_as_they_can(lengths, scalar):
    assert scalar_of(lengths) == scalar


@pytest.mark.parametrize(
    ("count", "dt", "name", "message"),
    [
        (32768, 0.001, "segy", "SEG-Y holds at most 32767 samples a trace, not 32768; set an "
         "interval of 2 ms"),
        (65536, 0.001, "su", "SU holds at most 65535 samples"),
        (10, 0.05, "segy", "holds intervals of 1 to 32767 microseconds, not 50 ms"),
        (10, 0.07, "su", "holds intervals of 1 to 65535 microseconds, not 70 ms"),
        (3000, 0.0017361, "segy", "with 1736 for 1736.1 the last sample is 300 \N{MICRO SIGN}s "
         "off; set an interval such as 1700 us"),
    ],
)  # fmt: skip
def test_what_segy_cannot_hold_is_refused(tmp_path, count, dt, name, message):
    path = tmp_path / "long.h5"
    with ResultsWriter(path, scenario_text="", resolved="", attributes={}) as writer:
        one = {"x": [0.0], "z": [0.0]}
        writer.create_traces(
            "set", shots=["a"], codes=["A"], positions=one, requested=one,
            time=dt * np.arange(count), quantities={"vz": "m/s"},
        )  # fmt: skip
        writer.write("traces/set/vz", 0, np.zeros((1, count), "f4"))
    with pytest.raises(ScenarioError) as caught:
        exported(path, tmp_path, name)
    assert message in str(caught.value)
    assert not list(tmp_path.glob(f"*.{name}"))


def test_a_stream_of_obspy_has_components_distances_and_coordinates(quake):
    with open_results(quake.path) as results:
        stream = results.to_obspy(quantity="velocity")
    (trace,) = stream.select(id="CI.USC..HXE")
    np.testing.assert_allclose(trace.data, north_east_up(quake, 1)["E"], rtol=0, atol=1e-6)
    assert trace.stats.distance == np.hypot(X[1] - 500.0, Y[1] + 250.0)
    assert trace.stats.coordinates.latitude == quake.latitude[1]
    assert trace.stats.seismo == {
        "x": X[1], "y": Y[1], "z": Z[1], "unit": "m/s", "quantity": "velocity", "shot": "shot_000"
    }  # fmt: skip


def test_a_tree_of_xarray_has_shots_offsets_and_lazy_arrays(tmp_path, monkeypatch):
    with open_results(write_elastic_2d(tmp_path / "two.h5")) as results:
        tree = results.to_xarray()
        line = tree["traces/line"]
        assert line["vz"].dims == ("shot", "receiver", "time")
        np.testing.assert_array_equal(line["offset"][1], 20.0 * np.arange(101) - 1500.0)
        alone = results.traces["line"]["vz"]
        np.testing.assert_array_equal(alone.offset[1], line["offset"][1])
        assert float(alone.source_x[1]) == 1500.0
        assert alone.offset.attrs["units"] == "m"
        assert [str(code) for code in line["code"][:2].values] == ["R000", "R001"]
        assert line["receiver"].dtype.kind == "i", "or sections could not be drawn"
        waves = tree["snapshots/wavefield"]
        assert dict(waves.sizes) == {"shot": 2, "time": 12, "z": 101, "x": 201}
        frame = results.snapshots["wavefield/shot_001"].frame("vz", 5)
        np.testing.assert_array_equal(waves["vz"].sel(shot="shot_b")[5], frame)
        np.testing.assert_array_equal(waves["vz"][:, 5, 3, ::7][1], frame[3, ::7])
        assert waves["z"].attrs["standard_name"] == "depth"
        assert dict(tree["model"].sizes) == {"z": 101, "x": 201}
        assert tree["maps/peaks/pgv"].attrs["units"] == "m/s"
        monkeypatch.setitem(sys.modules, "xarray", None)
        with pytest.raises(ScenarioError, match=r"pip install 'seismo\[xarray\]'"):
            results.to_xarray()


def test_netcdf_is_read_back(quake, tmp_path):
    (path,) = exported(quake.path, tmp_path, "netcdf")
    assert path.name == "quake.nc"
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        assert tree.attrs["Conventions"] == "CF-1.11"
        net = tree["traces/net"]
        for name, samples in quake.traces.items():
            np.testing.assert_array_equal(net[name][0], samples)
        assert net["sxz"].attrs["units"] == "Pa"
        begin = np.datetime64("2008-07-29T18:42:11.750500000")
        steps = (net["time"].values - begin) / np.timedelta64(1, "ns")
        np.testing.assert_allclose(steps, 12.5e6 * np.arange(400), atol=1)
        np.testing.assert_array_equal(net["latitude"], quake.latitude)
        np.testing.assert_array_equal(net["source_z"], [14600.0])
        np.testing.assert_array_equal(net["offset"][0], np.hypot(X - 500.0, Y + 250.0))
    (path,) = exported(write_elastic_3d(tmp_path / "three.h5"), tmp_path, "netcdf")
    with open_results(tmp_path / "three.h5") as results, xarray.open_datatree(path) as tree:
        frames = results.snapshots["volume"].values_of("vz")
        np.testing.assert_array_equal(tree["snapshots/volume/vz"][0], frames)
        np.testing.assert_array_equal(tree["model/vp"], results.model.values_of("vp"))
        assert float(tree["maps/ground/z"]) == 0.0
        assert tree["snapshots/volume/time"].attrs["units"] == "s"


def test_what_is_left_out_is_said(quake, tmp_path, command_line, monkeypatch):
    code, out, err = command_line("export", str(quake.path), "sac", "-o", str(tmp_path))
    assert (code, len(out.splitlines())) == (0, 12)
    assert err == f"{quake.path}: sac has no codes for sxz, which are left out\n"
    two = str(write_elastic_2d(tmp_path / "two.h5"))
    code, out, err = command_line("export", two)
    assert (code, out) == (2, "")
    assert "name a format after" in err
    assert all(name in err for name in FORMATS)
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


def test_quantities_of_a_station_have_codes_of_their_own(tmp_path):
    """A reader of all files would merge traces of equal codes."""
    path = tmp_path / "x.h5"
    names = {"vz": "m/s", "az": "m/s^2", "uz": "m"}
    with ResultsWriter(path, scenario_text="", resolved=RESOLVED, attributes={"dt": DT}) as writer:
        writer.write_sources([SOURCE])
        place = {"x": X[:1], "y": Y[:1], "z": Z[:1]}
        writer.create_traces(
            "net", shots=["shot_000"], codes=["CI.PAS.00"], time=DT * np.arange(400),
            positions=place, requested=place, quantities=names,
        )  # fmt: skip
        for name in names:
            writer.write(f"traces/net/{name}", 0, np.zeros((1, 400), "f4"))
    files = exported(path, tmp_path / "new" / "folder", "miniseed")
    assert {p.parent for p in files} == {tmp_path / "new" / "folder"}
    assert sorted(obspy.read(p)[0].stats.channel for p in files) == ["HNZ", "HXZ", "HYZ"]

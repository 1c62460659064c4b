"""Events of catalogues as sources: the same as the moment tensor that they hold, at its time."""

import re

import numpy as np
import pytest

import solver
from seismo.acquisition.events import read_event
from seismo.errors import ScenarioError
from seismo.runs.prediction.assess import assess
from seismo.scenario.sections.sources import EventSource
from seismo.solver.discretize import discretize

CMT = """ PDE 2008 07 29 18 42 15.71 33.9530 -117.7610 14.7 5.4 5.4 SOMEWHERE
event name:     c2008
time shift:     1.5000
half duration:  1.2100
latitude:       33.9500
longitude:     -117.7700
depth:          15.5
Mrr:       8.44d+23
Mtt:      -1.450000e+24
Mpp:       0.606000e+24
Mrt:      -0.198000e+24
Mrp:       0.689000e+24
Mtp:      -0.495000e+24
"""
# The same by ObsPy 1.5, but for what seismo does not read.
QUAKEML = """<?xml version='1.0' encoding='utf-8'?>
<q:quakeml xmlns="http://quakeml.org/xmlns/bed/1.2" xmlns:q="http://quakeml.org/xmlns/quakeml/1.2">
<eventParameters publicID="smi:local/catalog"><event publicID="smi:local/c2008">
<origin publicID="smi:local/cmt"><time><value>2008-07-29T18:42:17.21Z</value></time>
<latitude><value>33.95</value></latitude><longitude><value>-117.77</value></longitude>
<depth><value>15500.0</value></depth><type>centroid</type></origin>
<origin publicID="smi:local/first"><time><value>2008-07-29T18:42:15.71Z</value></time>
<latitude><value>33.953</value></latitude><longitude><value>-117.761</value></longitude>
<depth><value>14700.0</value></depth><type>hypocenter</type></origin>
<magnitude publicID="smi:local/mw"><mag><value>5.4</value></mag><type>Mww</type></magnitude>
<focalMechanism publicID="smi:local/mechanism">{planes}
<momentTensor publicID="smi:local/tensor"><derivedOriginID>smi:local/cmt</derivedOriginID>
{tensor}<sourceTimeFunction><type>triangle</type><duration>2.42</duration></sourceTimeFunction>
</momentTensor></focalMechanism></event></eventParameters></q:quakeml>
"""
COMPONENTS = {
    "rr": 8.44e16, "tt": -1.45e17, "pp": 0.606e17, "rt": -1.98e16, "rp": 6.89e16, "tp": -4.95e16
}  # fmt: skip
TENSOR = "".join(f"<M{k}><value>{v}</value></M{k}>" for k, v in COMPONENTS.items())
PLANES = "".join(
    f"<{k}><value>{v}</value></{k}>" for k, v in {"strike": 291, "dip": 59, "rake": 142}.items()
)


def quakeml(tensor=True):
    planes = f"<nodalPlanes><nodalPlane1>{PLANES}</nodalPlane1></nodalPlanes>"
    return QUAKEML.format(planes=planes, tensor=f"<tensor>{TENSOR}</tensor>" if tensor else "")


def discretized(folder, source, event=None, **changes):
    document = {
        "physics": "elastic",
        "geographic": {"longitude": -117.7, "latitude": 33.9, "azimuth": 30.0},
        "grid": {"extent": {"x": "40 km", "y": "40 km", "z": "20 km"}, "spacing": "1 km",
                 "origin": {"x": "-20 km", "y": "-20 km", "z": 0}},
        "time": {"duration": "3 s"},
        "model": [{"type": "uniform", "vp": 6000.0, "vs": 3500.0, "rho": 2700.0}],
        "sources": [source],
    } | ({"event": event} if event else {}) | changes  # fmt: skip
    return discretize(solver.from_dict(document, base=folder))


def sources_of(folder, source, event=None, **changes):
    return list(discretized(folder, source, event, **changes).shots[0].sources)


def as_tensor(**keys):
    return {
        "type": "moment_tensor", "frame": "gcmt", "components": COMPONENTS,
        "position": {"longitude": -117.77, "latitude": 33.95, "depth": "15.5 km"},
        "wavelet": {"type": "gaussian_rate", "half_duration": 1.21},
    } | keys  # fmt: skip


@pytest.mark.parametrize("text", [CMT, quakeml()], ids=["CMTSOLUTION", "QuakeML"])
def test_an_event_is_the_moment_tensor_it_holds(tmp_path, text):
    (tmp_path / "event").write_text(text)
    (event,) = sources_of(tmp_path, {"type": "event", "path": "event"})
    (tensor,) = sources_of(tmp_path, as_tensor())
    assert event.position == pytest.approx(tensor.position, abs=1e-6)
    for name, moment in tensor.strength.items():
        assert event.strength[name] == pytest.approx(moment, rel=1e-12)
    times = np.arange(0.0, 12.0, 0.05)
    assert np.array_equal(event.signal(times, 1), tensor.signal(times, 1))


@pytest.mark.parametrize("text", [CMT, quakeml()], ids=["CMTSOLUTION", "QuakeML"])
def test_the_centroid_comes_its_shift_after_the_origin_time(tmp_path, text):
    """At 4 s + 1.5 s of the run; a source at the hypocentre begins at 4 s."""
    (tmp_path / "event").write_text(text)
    reference = {"time": "2008-07-29T18:42:15.71Z", "at": "4 s"}
    source = {"type": "event", "path": "event"}
    (event,) = sources_of(tmp_path, source, reference)
    times = np.arange(0.0, 12.0, 1e-3)
    rate = event.signal(times, 1)
    assert np.sum(rate) * 1e-3 == pytest.approx(1.0, abs=1e-6)
    assert np.sum(times * rate) * 1e-3 == pytest.approx(5.5, abs=1e-4)
    triangle = {"type": "triangle", "half_duration": 1.0}
    (first,) = sources_of(
        tmp_path, source | {"origin": "hypocentre", "wavelet": triangle}, reference
    )
    assert first.start == pytest.approx(4.0, abs=1e-9)
    assert first.position[2] == 14.7e3


@pytest.mark.parametrize("origin", ["centroid", "hypocentre"])
@pytest.mark.parametrize(
    "wavelet",
    [
        {"type": "gaussian_rate", "half_duration": 0.45},
        {"type": "triangle", "half_duration": 0.45},
        {"type": "brune", "rise": "0.1 s"},
        {"type": "array", "samples": np.array([0.0, 1.0, 3.0, 0.0]), "interval": 0.1},
    ],
    ids=lambda wavelet: wavelet["type"],
)
def test_a_wavelets_own_delay_moves_no_centroid(tmp_path, wavelet, origin):
    """The section `event` has the time: what a conversion wrote as `wavelet.delay` is in it."""
    (tmp_path / "event").write_text(CMT)
    reference = {"time": "2008-07-29T18:42:15.71Z", "at": "1 s"}
    times = np.arange(0.0, 8.0, 1e-3)
    source = {"type": "event", "path": "event", "origin": origin}
    signals = []
    for own in ({}, {"delay": 0.9}, {"delay": 0}):
        keys = {"wavelet": wavelet | own, "delay": 0.1}
        (event,) = sources_of(tmp_path, source | keys, reference)
        signals.append(event.signal(times, 1))
        assert np.allclose(signals[-1], signals[0], rtol=0, atol=1e-9 * signals[0].max())
    if origin == "centroid":
        centre = np.sum(times * signals[0]) / np.sum(signals[0])
        assert centre == pytest.approx(1.0 + 1.5 + 0.1, abs=2e-3)


def test_a_delay_that_has_no_effect_is_said(tmp_path):
    (tmp_path / "event").write_text(CMT)
    wavelet = {"type": "gaussian_rate", "half_duration": 1.21, "delay": 2.42}
    source = {"type": "event", "path": "event", "wavelet": wavelet}
    reference = {"time": "2008-07-29T18:42:15.71Z", "at": "4 s"}
    with_event = discretized(tmp_path, source, reference)
    (line,) = (line for line in assess(with_event).warnings if "wavelet.delay" in line)
    assert "2.42 s has no effect" in line
    assert "sources[0].delay" in line
    without = discretized(tmp_path, source, None)
    assert not any("no effect" in line for line in assess(without).warnings)


def test_an_event_before_the_run_moves_by_event_at(tmp_path):
    (tmp_path / "event").write_text(CMT)
    reference = {"time": "2008-07-29T18:42:15.71Z", "at": "-0.5 s"}
    discretization = discretized(tmp_path, {"type": "event", "path": "event"}, reference)
    (line,) = (
        line for line in assess(discretization).warnings if "acts before the run begins" in line
    )
    later = float(re.search(r"set event.at to ([0-9.]+) s or more", line).group(1))
    reference["at"] = f"{later} s"
    (event,) = sources_of(tmp_path, {"type": "event", "path": "event"}, reference)
    assert event.start == pytest.approx(0.0, abs=1e-3)


def test_the_place_may_be_called_as_in_specfem(tmp_path):
    """They are degrees, or metres of a projection that the scenario names."""
    pyproj = pytest.importorskip("pyproj")
    in_degrees = CMT.replace("latitude: ", "latorUTM: ").replace("longitude: ", "longorUTM: ")
    (tmp_path / "event").write_text(CMT)
    (expected,) = sources_of(tmp_path, {"type": "event", "path": "event"})
    (tmp_path / "event").write_text(in_degrees)
    (event,) = sources_of(tmp_path, {"type": "event", "path": "event"})
    assert event.position == expected.position
    east, north = pyproj.Proj("EPSG:32611")(-117.77, 33.95)
    in_metres = in_degrees.replace("33.9500", f"{north:.4f}").replace("-117.7700", f"{east:.4f}")
    (tmp_path / "event").write_text(in_metres)
    (event,) = sources_of(tmp_path, {"type": "event", "path": "event", "crs": "EPSG:32611"})
    assert event.position == pytest.approx(expected.position, abs=1e-2)
    with pytest.raises(ScenarioError, match=r"crs: missing: .*map projection; give that, such as"):
        sources_of(tmp_path, {"type": "event", "path": "event"})


def test_a_nodal_plane_and_a_magnitude_do_for_a_tensor(tmp_path):
    (tmp_path / "event.xml").write_text(quakeml(tensor=False))
    (event,) = sources_of(tmp_path, {"type": "event", "path": "event.xml", "id": "c2008"})
    angles = {"strike": 291.0, "dip": 59.0, "rake": 142.0, "magnitude": 5.4}
    del (keys := as_tensor())["components"], keys["frame"]
    (tensor,) = sources_of(tmp_path, keys | angles)
    assert event.strength == pytest.approx(tensor.strength, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        (CMT.replace("1.2100", "0.0"), {}, r"\.wavelet: missing: .* half_duration: 1.2 s"),
        (CMT.replace("1.2100", "1e308"), {}, r"half duration of 1e\+308 s is above"),
        (CMT + CMT.replace("c2008", "c2009"), {}, r"has 2 events: give id, .* c2008, c2009"),
        (CMT, {"id": "c2010"}, r"sources\[0\].id: .*none of its events end so; it has c2008"),
        (CMT.replace("33.9500", "abc"), {}, r"event:5: 'abc' is no number"),
        (CMT.replace("PDE 2008", "PDE"), {}, r"event:1: is no"),
        (CMT.replace("Mtt", "Mxx"), {}, r"event:1: the event lacks mtt"),
        (CMT.replace("-117.7700", "-110.0"), {}, r"path: .*its event \(longitude -110.*outside"),
        (CMT.replace("15.5", "-1.5"), {}, r"its event .*z = -1500 m lies outside the grid"),
        ("<xml>", {}, "not read as QuakeML"),
        ("", {}, "does not begin with a date"),
    ],
)  # fmt: skip
def test_files_that_do_not_do_are_refused(tmp_path, text, keys, message):
    (tmp_path / "event").write_text(text)
    with pytest.raises(ScenarioError, match=message):
        sources_of(tmp_path, {"type": "event", "path": "event"} | keys)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"geographic": None}, r"sources\[0\].path: .*needs the section 'geographic'"),
     ({"grid": {"extent": {"x": 1e4, "z": 1e4}, "spacing": 1e3}}, "needs a 3-D grid"),
     ({"survey": {"shots": [{"position": {"x": 0, "y": 0, "z": 0}}]}}, "stays where its")],
)  # fmt: skip
def test_an_event_needs_a_grid_on_the_earth(tmp_path, changes, message):
    (tmp_path / "event").write_text(CMT)
    with pytest.raises(ScenarioError, match=message):
        sources_of(tmp_path, {"type": "event", "path": "event"}, **changes)


def test_the_centroid_is_that_of_the_moment_tensor(tmp_path):
    """Whatever other centroid stands behind it."""
    ends = QUAKEML.index("<origin "), QUAKEML.index("<origin", QUAKEML.index("<origin ") + 1)
    other = QUAKEML[slice(*ends)].replace("local/cmt", "local/else").replace("15500", "3000")
    text = quakeml().replace("<magnitude ", other + "<magnitude ")
    (tmp_path / "event.xml").write_text(text)
    (event,) = sources_of(tmp_path, {"type": "event", "path": "event.xml"})
    assert event.position[2] == 15.5e3


def test_an_event_without_mechanism_refuses_itself_alone(tmp_path):
    plain = '<event publicID="smi:local/plain"></event></eventParameters>'
    (tmp_path / "events.xml").write_text(quakeml().replace("</eventParameters>", plain))
    source = {"type": "event", "path": "events.xml"}
    assert sources_of(tmp_path, source | {"id": "c2008"})[0].position[2] == 15.5e3
    with pytest.raises(ScenarioError, match="event smi:local/plain has no focal mechanism"):
        sources_of(tmp_path, source | {"id": "plain"})


@pytest.mark.parametrize(
    ("text", "warned"),
    [(CMT, ""), (CMT.replace("+23", "+16").replace("+24", "+17"), "0.7, and .* 5.4"),
     (CMT.replace(" 5.4 5.4 ", " 0.0 0.0 "), ""), (CMT.replace(" 5.4 5.4 SOMEWHERE", ""), ""),
     (quakeml().replace("<value>5.4<", "<value>6.4<"), "5.4, and .* 6.4")],
)  # fmt: skip
def test_a_magnitude_that_is_not_that_of_the_tensor_is_said(tmp_path, text, warned):
    """Moments in N m under the header of a CMTSOLUTION are 4.7 magnitudes off."""
    (tmp_path / "event").write_text(text)
    source = EventSource(type="event", path="event")
    assert re.search(warned, said := read_event(source, tmp_path).contradiction)
    assert bool(said) is bool(warned)

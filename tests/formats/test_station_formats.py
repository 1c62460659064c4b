"""Stations of other programs' files: the receivers of the same table, and nothing silently else."""

import pytest

import solver
from seismo.errors import ScenarioError
from seismo.runs.check.plan import make_plan
from seismo.runs.check.report import _files
from seismo.runs.coordinates import true_positions
from seismo.scenario.sections.receivers import StationReceivers
from seismo.solver.discretize import discretize

PLACE = {"longitude": -118.0, "latitude": 34.0}
# What FDSN web services send, without what seismo does not read; CI.PAS moved in 2005.
XML = """<?xml version="1.0" encoding="UTF-8"?>
<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1" schemaVersion="1.2">
<Source>made by hand</Source><Created>2020-01-01T00:00:00Z</Created>
<Network code="CI">
{stations}
</Network></FDSNStationXML>
"""
STATION = """<Station code="{code}" startDate="1990-01-01T00:00:00Z"><Latitude>{latitude}</Latitude>
<Longitude>{longitude}</Longitude><Elevation>250.0</Elevation>
<Site><Name>{code}</Name></Site>{channels}</Station>"""
CHANNEL = """<Channel code="{code}" locationCode="{location}" startDate="{start}" endDate="{end}">
<Latitude>{latitude}</Latitude><Longitude>{longitude}</Longitude><Elevation>250.0</Elevation>
<Depth>{depth}</Depth></Channel>"""


def channel(code, location, latitude, longitude, depth, start="1990", end="2040"):
    start, end = (f"{year}-01-01T00:00:00Z" for year in (start, end))
    return CHANNEL.format(
        code=code, location=location, latitude=latitude, longitude=longitude, depth=depth,
        start=start, end=end,
    )  # fmt: skip


def inventory(**channels):
    stations = (
        STATION.format(code=code, latitude=34.01, longitude=-118.01, channels="".join(of))
        for code, of in channels.items()
    )
    return XML.format(stations="\n".join(stations))


def group_of(folder, text, *, flat=False, earth=True, top=0.0, topography=None, **keys):
    """Return the receivers of a scenario with a file of this text."""
    (folder / "list").write_text(text)
    extent = {"x": "8 km", "y": "8 km", "z": "4 km"}
    origin = {"x": "-4 km", "y": "-4 km", "z": top}
    if flat:
        del extent["y"], origin["y"]
    document = {
        "physics": "elastic",
        "grid": {"extent": extent, "spacing": 500.0, "origin": origin},
        "time": {"duration": 0.5},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": 6000.0, "vs": 3500.0, "rho": 2700.0}],
        "sources": [{"type": "explosion", "position": {"x": 0, "z": 2000.0} | ({} if flat else
                     {"y": 0}), "moment": 1e12, "wavelet": {"type": "ricker", "frequency": 1}}],
        "receivers": [{"type": "stations", "path": "list", **keys}],
    } | ({"geographic": PLACE} if earth else {})  # fmt: skip
    if topography:
        del origin["z"]
        extent["z"] = "8 km"
        document["topography"] = topography
    scenario = solver.from_dict(document, base=folder)
    return discretize(scenario).groups[0], scenario


def same_table(folder, rows):
    return group_of(folder, "network,station,location,longitude,latitude,depth\n" + rows)[0]


def test_channels_of_station_xml_are_the_receivers_of_the_same_table(tmp_path):
    pytest.importorskip("obspy")
    text = inventory(
        PAS=[channel(c, "00", 34.02, -118.02, 0.0) for c in ("BHE", "BHN", "BHZ")]
        + [channel("HNZ", "10", 34.02, -118.02, 100.0)],
        RUS=[channel("BHZ", "", 34.0, -117.99, 5.0)],
    )
    found, scenario = group_of(tmp_path, text)
    assert any("the elevation is ignored" in line for line in make_plan(scenario).warnings)
    table = same_table(
        tmp_path, "CI,PAS,00,-118.02,34.02,0\nCI,PAS,10,-118.02,34.02,100\nCI,RUS,,-117.99,34,5\n"
    )
    assert found.codes == table.codes == ("CI.PAS.00", "CI.PAS.10", "CI.RUS")
    assert found.coordinates.tolist() == table.coordinates.tolist()
    chosen, _ = group_of(tmp_path, text, channels=["CI.*.*.HN?", "CI.R*..BHZ"])
    assert chosen.codes == ("CI.PAS.10", "CI.RUS")


def test_stations_without_channels_have_no_location(tmp_path):
    pytest.importorskip("obspy")
    found, _ = group_of(tmp_path, inventory(PAS=[], RUS=[]))
    assert found.codes == ("CI.PAS", "CI.RUS")


FDSN = """#Network | Station | Latitude | Longitude | Elevation | SiteName | StartTime | EndTime
CI|PAS|34.02|-118.02|314.0|Pasadena, CA|1988-01-01T00:00:00|2000-01-01T00:00:00
CI|PAS|34.02|-118.02|314.0|Pasadena, CA|2000-01-01T00:00:00|
CI|RUS|34.0|-117.99|0|Rush|1988-01-01T00:00:00|
"""
CHANNELS = "".join(
    f"CI|PAS|{location}|{code}|34.02|-118.02|314|{depth}|0|-90|x|1|1|M/S|100|1988-01-01T00:00:00|\n"
    for location, depth, codes in (("00", 0.0, ("BHE", "BHZ")), ("--", 100.0, ("HNZ",)))
    for code in codes
)


def test_text_of_fdsn_web_services_is_read_as_it_comes(tmp_path):
    """Of stations and of channels, with and without the line of names; a place is read once."""
    table = same_table(tmp_path, "CI,PAS,,-118.02,34.02,0\nCI,RUS,,-117.99,34,0\n")
    names, _, rows = FDSN.partition("\n")
    for text in (FDSN, rows, f"{names[1:]}\n{rows}"):
        found, scenario = group_of(tmp_path, text)
        assert found.codes == table.codes
        assert found.coordinates.tolist() == table.coordinates.tolist()
        assert found.sites == ("Pasadena, CA", "Rush")
        assert found.elevations_m[0] == 314.0
        assert any("the column Elevation is ignored" in w for w in make_plan(scenario).warnings)
    found, _ = group_of(tmp_path, CHANNELS)
    assert found.codes == ("CI.PAS.00", "CI.PAS")
    assert found.coordinates[:, 2].tolist() == [0.0, 100.0]
    moved = FDSN.replace("34.02|-118.02|314.0|Pasadena, CA|2000", "34.03|-118.02|314.0|P|2000")
    for text, message in (
        (moved, r":3: the code CI.PAS is that of line 2"),
        (FDSN.replace("34.0|", "x|"), r":4: latitude is 'x'"),
        (FDSN.replace("|0|Rush", "|inf|Rush"), r":4: elevation is 'inf'"),
        (FDSN.replace("|Rush", ""), r":4: 7 values between \|, expected 8"),
    ):
        with pytest.raises(ScenarioError, match=message):
            group_of(tmp_path, text)


def test_a_station_that_moved_is_chosen_by_its_time(tmp_path):
    pytest.importorskip("obspy")
    text = inventory(
        PAS=[channel("BHZ", "00", 34.02, -118.02, 0.0, end="2005"),
             channel("BHZ", "00", 34.01, -118.0, 0.0, start="2005")]
    )  # fmt: skip
    with pytest.raises(ScenarioError, match=r"CI.PAS.00 has 2 places, from 1990-01.*2005.*by time"):
        group_of(tmp_path, text)
    found, _ = group_of(tmp_path, text, time="2008-07-29")
    expected = same_table(tmp_path, "CI,PAS,00,-118,34.01,0\n")
    assert found.coordinates.tolist() == expected.coordinates.tolist()
    with pytest.raises(ScenarioError, match=r"lists no station of 1980-01-01T00:00:00Z"):
        group_of(tmp_path, text, time="1980-01-01")


SW4 = """# SW4 input
grid lat=33.9 lon=-118.1 az=0 x=8000 y=8000 z=4000 h=500
time t=10
rec x=1000 y=-2000 z=300 file=s1 nsew=1 sacformat=0
rec x=1000 y=-2000 z=300 file=s1 variables=velocity
#rec x=0 y=0 file=none
rec lat=34.01 lon=-118.01 depth=40 sta=PAS file=out/CI.PAS.00
rec lat=34.02 lon=-118.02 file=out/CI.RUS.00 writeEvery=100
"""


def test_rec_lines_of_sw4_are_receivers(tmp_path):
    found, _ = group_of(tmp_path, SW4, top=-100.0)
    assert found.codes == ("s1", "PAS", "CI.RUS.00")
    assert found.coordinates[0].tolist() == [1000.0, -2000.0, 300.0]
    text = "longitude,latitude,depth,station\n-118.01,34.01,40,A\n-118.02,34.02,0,B\n"
    table, _ = group_of(tmp_path, text, top=-100.0)
    assert found.coordinates[1:].tolist() == table.coordinates.tolist()
    assert found.coordinates[1:, 2].tolist() == [-60.0, -100.0]


def test_stations_of_specfem3d_are_those_of_the_same_table(tmp_path):
    text = "PAS CI 34.02 -118.02 314.0 20.0\n\nRUS  CI  34.01 -1.180d2 0 0\n"
    found, scenario = group_of(tmp_path, text)
    table = same_table(tmp_path, "CI,PAS,,-118.02,34.02,20\nCI,RUS,,-118,34.01,0\n")
    assert found.codes == table.codes
    assert found.coordinates.tolist() == table.coordinates.tolist()
    (tmp_path / "list").write_text(text)
    assert any("the elevation is ignored" in line for line in make_plan(scenario).warnings)


def test_cartesian_stations_of_specfem3d_are_y_then_x(tmp_path):
    text = "Z1 DB 1000.0 3000.0 0.0 400.0\nZ2 DB 30.0 20.0 0.0 0.0\n"
    for earth, keys in ((False, {}), (True, {"coordinates": "metres"})):
        found, _ = group_of(tmp_path, text, earth=earth, top=-100.0, **keys)
        assert found.codes == ("DB.Z1", "DB.Z2")
        assert found.coordinates.tolist() == [[3000.0, 1000.0, 300.0], [20.0, 30.0, -100.0]]


def test_numbers_that_may_be_degrees_or_metres_have_to_be_said(tmp_path):
    text = "Z1 DB 34.0 -118.0 0.0 0.0\n"
    with pytest.raises(ScenarioError, match=r"receivers\[0\].coordinates.*may be degrees, or met"):
        group_of(tmp_path, text, earth=False)
    found, _ = group_of(tmp_path, text, earth=False, coordinates="metres")
    assert found.coordinates.tolist() == [[-118.0, 34.0, 0.0]]
    near = "Z1 DB 20.0 30.0 0.0 0.0\n"
    with pytest.raises(ScenarioError, match=r"outside the grid.*coordinates: metres takes them"):
        group_of(tmp_path, near)
    with pytest.raises(ScenarioError, match=r"latitude is '1000.0'.*coordinates: metres takes"):
        group_of(tmp_path, "Z1 DB 1000.0 3000.0 0.0 400.0\n")


def test_stations_of_specfem2d_count_from_its_surface(tmp_path):
    text = "S0001 AA 300.0 2997.5 0.0 0.0\nS0002 AA 640.0 1000.0 0.0 0.0\n"
    with pytest.raises(ScenarioError, match=r"receivers\[0\].surface.*missing: z of .* points up"):
        group_of(tmp_path, text, flat=True, earth=False)
    found, _ = group_of(tmp_path, text, flat=True, earth=False, surface="3 km", top=-100.0)
    assert found.coordinates.tolist() == [[300.0, 0.0, -97.5], [640.0, 0.0, 1900.0]]
    with pytest.raises(ScenarioError, match=r"A.*outside the grid"):
        group_of(tmp_path, text, flat=True, earth=False, surface="2 km")


def test_stations_of_specfem3d_may_have_z_upwards(tmp_path):
    text = "PAS CI 34.01 -118.02 314.0 -20.0\nRUS CI 34.01 -118 0 0\n"
    found, scenario = group_of(tmp_path, text, top=-100.0, surface=0.0)
    assert found.coordinates[:, 2].tolist() == [-80.0, -100.0]
    assert "z upwards, as `surface` is given; leave it out" in found.vertical
    # Depths are told to be that.
    text = text.replace("-20.0", "20.0")
    group, scenario = group_of(tmp_path, text)
    (tmp_path / "list").write_text(text)
    facts = dict(_files(make_plan(scenario)))
    assert "taken for depths below the ground; with `surface`" in facts["files"]
    assert group.coordinates[0, 2] == 20.0
    # Of depths that are taken for z, too.
    with pytest.raises(ScenarioError, match=r"outside the grid.*z upwards, as `surface` is given"):
        group_of(tmp_path, text, surface=0.0)


def test_of_moving_stations_it_is_told_how_depths_were_taken(tmp_path):
    keys = {"earth": False, "coordinates": "metres", "relative_to": "source"}
    group, _ = group_of(tmp_path, "A B 0.0 60.0 0.0 -20.0\n", surface=0.0, **keys)
    assert group.motion is not None
    assert "z upwards" in group.vertical


@pytest.mark.parametrize("flat", [True, False])
def test_z_upwards_counts_from_height_0_over_topography(flat, tmp_path):
    """Burial depths do from the ground above."""
    hill = {"center": {"x": 0.0} | ({} if flat else {"y": 0.0}), "height": 80.0, "width": 1500.0}
    ground = {"type": "hills", "hills": [hill], "datum": 50.0}
    line = "A B 0.0 60.0 0.0 0.0\n" if flat else "A B 0.0 0.0 0.0 60.0\n"
    keys = {"flat": flat, "earth": False, "coordinates": "metres", "topography": ground}
    found, scenario = group_of(tmp_path, line, surface=0.0, **keys)
    discretization = discretize(scenario)
    (true,) = true_positions(discretization, found.coordinates)
    assert abs(true[2] - (50.0 - 60.0)) < 1e-6
    if not flat:
        found, scenario = group_of(tmp_path, line, **keys)
        (true,) = true_positions(discretization, found.coordinates)
        assert abs(true[2] - 60.0 - discretization.vertical.ground(0.0, 0.0)) < 1e-6


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        ("PAS CI 34.1 -118.2 314 0\nRUS CI 34.1\n", {}, r"list:2: 3 values, expected 6: station"),
        ("PAS CI 34.01 -118 0 -40\n", {}, r"outside the grid.*STATIONS is taken for depths .*surf"),
        ("PAS CI 34.01 -118 314 0\n", {"time": "2008-01-01"}, r"time.*is for StationXML, and"),
        ("station,x,y,z\nA,0,0,0\n", {"coordinates": "metres"}, r"coordinates.*is for STATIONS"),
        ("rec x=10 y=20 lat=3 lon=4 sta=A\n", {}, r"list:1: x, y and lat, lon: give one of both"),
        ("rec x=10 sta=A\n", {}, r"list:1: missing y"),
        ("rec x=1O y=2 sta=A\n", {}, r"list:1: x is '1O'; give a number in m"),
        ("rec x=10 y=20\n", {}, r"list:1: the station has no code"),
        ("rec x=10 y=20 sta=A\nrec x=1 y=2 sta=A\n", {}, r"list:2: the code A is that of line 1"),
        ("rec x=1 y=2 z=3 depth=3 sta=A\n", {}, r"list:1: z and depth: give one of both"),
        ("rechdf5 infile=all.h5\n", {}, r"list:1: stations of rechdf5 stand in a file of their"),
        ("rec x=9e3 y=20 sta=A\n", {}, r"list:1: A: x = 9000 m lies outside the grid"),
    ],
)
def test_what_does_not_do_is_named(tmp_path, text, keys, message):
    with pytest.raises(ScenarioError, match=message):
        group_of(tmp_path, text, **keys)


def test_station_xml_that_cannot_be_read_is_named(tmp_path):
    pytest.importorskip("obspy")
    with pytest.raises(ScenarioError, match="list: not read as StationXML"):
        group_of(tmp_path, "<FDSNStationXML>")
    with pytest.raises(ScenarioError, match=r"surface.*is for STATIONS files of SPECFEM"):
        group_of(tmp_path, inventory(PAS=[]), surface=0.0)


def test_patterns_of_channels_have_four_parts():
    keys = {"type": "stations", "path": "a.xml"}
    with pytest.raises(ValueError, match="channels"):
        StationReceivers(**keys, channels=["BH?"])

"""Station lists: what they may hold, and how what they may not is named."""

from pathlib import Path

import pytest
import yaml

from seismo.errors import ScenarioError
from seismo.runs.check.plan import make_plan
from seismo.scenario import from_dict, load
from seismo.solver.discretize import discretize

SCENARIO = """\
physics: acoustic
grid: {extent: {x: 400, z: 300}, spacing: 20, origin: {z: -100}}
time: {duration: 0.1}
model: [{type: uniform, vp: 1500}]
sources:
  - {type: pressure, position: {x: 200, z: 50}, wavelet: {type: file, path: w.txt}}
receivers:
  - type: stations
    path: list.csv
"""
HEAD = "network,station,location,x,z\n"


def placed(tmp_path: Path, text: str, extra: str = ""):
    """Return the receiver group of a scenario with this station list."""
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    (tmp_path / "w.txt").write_text("0 0\n0.05 1\n0.1 0\n")
    (tmp_path / "s.yaml").write_text(SCENARIO + extra)
    return discretize(load(tmp_path / "s.yaml")).groups[0]


def test_columns_come_in_any_order_and_comments_and_blank_lines_do_not_count(tmp_path):
    text = '\ufeff# ours\nZ, X, Station, network\n\n20, 100, AB_1, XX  # a well\n-100, 50, "C",\n'
    group = placed(tmp_path, text)
    assert group.codes == ("XX.AB_1", "C")
    assert group.coordinates.tolist() == [[100, 0, 20], [50, 0, -100]]


def test_semicolons_between_columns_are_read(tmp_path):
    group = placed(tmp_path, "network;station;x; z\nXX;A;100;20\n;B;50;0\n")
    assert group.codes == ("XX.A", "B")
    assert group.coordinates.tolist() == [[100, 0, 20], [50, 0, 0]]


def test_depth_is_counted_from_the_free_surface_as_in_the_scenario(tmp_path):
    """A list and a position written out agree; that surface is 100 m above z = 0."""
    pytest.importorskip("pyproj")
    where = "geographic: {longitude: 10, latitude: 50}\nboundaries: {top: free_surface}\n"
    listed = placed(
        tmp_path, "station,longitude,latitude,depth\nA,10,50.001,30\nB,10,50.001,\n", where
    )
    text = SCENARIO.replace("type: stations", "type: points").replace(
        "path: list.csv", "positions: [{longitude: 10, latitude: 50.001, depth: 30}]"
    )
    (tmp_path / "s.yaml").write_text(text + where)
    written = discretize(load(tmp_path / "s.yaml")).groups[0]
    assert listed.coordinates[0].tolist() == written.coordinates[0].tolist()
    assert listed.coordinates[:, 2].tolist() == [-70.0, -100.0]


@pytest.mark.parametrize(
    ("rows", "positions"),
    [
        ("x,z\nA,400,250\nB,900,120", "{x: 400, z: 250}, {x: 900, z: 120}"),
        ("x,depth\nA,400,30\nB,900,", "{x: 400, depth: 30}, {x: 900, depth: 0}"),
        ("x\nA,400\nB,900", "{x: 400}, {x: 900}"),
    ],
)
def test_stations_in_metres_stand_over_topography_as_positions_do(tmp_path, rows, positions):
    hill = "topography: {type: hills, hills: [{center: {x: 500}, height: 100, width: 300}]}\n"
    top = hill + "boundaries: {top: free_surface}\n"
    wide = SCENARIO.replace("x: 400, z: 300", "x: 1200, z: 900").replace(", origin: {z: -100}", "")
    written = wide.replace("stations\n    path: list.csv", f"points\n    positions: [{positions}]")
    (tmp_path / "list.csv").write_text(f"station,{rows}\n", encoding="utf-8")
    (tmp_path / "w.txt").write_text("0 0\n0.05 1\n0.1 0\n")
    listed, placed_one_by_one = (
        discretize(from_dict(yaml.safe_load(text + top), tmp_path)).groups[0].coordinates
        for text in (wide, written)
    )
    assert listed.tolist() == placed_one_by_one.tolist()


def test_a_depth_stands_in_for_z_on_flat_ground_too(tmp_path):
    surface = "boundaries: {top: free_surface}\n"
    assert placed(tmp_path, "station,x,depth\nA,100,30\n", surface).coordinates[0, 2] == -70.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "XX,A,00,abc,0\n", "2: x is 'abc'; give a number in m"),
        (
            HEAD + "XX,A,00,\u2212100,0\n",
            "2: x is '\u2212100'; the character U+2212 (minus sign) only",
        ),
        (HEAD + "XX,A,00,nan,0\n", "2: x is 'nan'; give a number in m"),
        (HEAD + "XX,A,00,,0\n", "2: x is ''; give a number in m"),
        (HEAD + "\n# old\nXX,A,00,5000,0\n", "4: XX.A.00: x = 5000 m lies outside the grid"),
        (HEAD + "XX,A,00,1,0\nXX,A,00,2,0\n", "3: the code XX.A.00 is that of line 2"),
        (HEAD + "XX,A,00\n", "2: 3 values, expected 5: network, station"),
        (HEAD + "XX,A,00,1,0,7\n", "2: 6 values, expected 5: network, station"),
        (HEAD + "XX,,00,1,0\n", "2: the station has no code"),
        (HEAD + "XX,A B,00,1,0\n", "2: the code 'A B' may hold letters"),
        (HEAD + 'XX,"A,00,1,0\n', "2: 2 values, expected 5: network, station"),
        ("XX,A,00,100,0\nXX,B,00,120,0\n", "1: the first line must name the columns; exp"),
        (
            "station,x,z,channel\nA,1,0,BHZ\n",
            "1: unknown column channel; expected the columns network, station, location and "
            "longitude, latitude, depth, or x, z (or depth); names of sites, times and elevations "
            "are ignored, remove other columns",
        ),
        ("CI|PAS|34|-118|300|Pasadena\n", "1: 6 columns between |, missing network, station, lat"),
        ("Network|Station|Latitude|Elevation\nCI|A|1|2\n", "1: 4 columns between |, missing long"),
        ("station,latitude,longitude\nPAS,-118,34\n", "2: latitude is '-118'; give -90 to 90 deg"),
        (
            "station,lon,lat,depth\nA,1,0,0\n",
            "1: unknown column lon, lat; write longitude, latitude for lon, lat; expected",
        ),
        (
            "root:x:0:0:root:/root:/bin/bash\nbin:x:1:1:bin:/bin:/usr/sbin/nologin\n",
            "1: is not the header of a station list; expected the columns network, station, loc",
        ),
        ("my secret,hunter2\nmore,of it\n", "1: is not the header of a station list; expected"),
        (HEAD + "XX," + "A" * 140_000 + ",00,1,0\n", "2: 140010 characters; expected the columns"),
        (HEAD + "XX," + "A" * 9000 + ",00,1,0\n", f"2: the code '{'A' * 20}' may hold letters"),
        ("sta,x,z\nA,1,0\n", "1: unknown column sta; write station for sta; expected"),
        ("station,name,x,z\nA,B,1,0\n", "1: unknown column name; expected"),
        (
            "station x z\nA 1 0\n",
            "1: one column, 'station x z'; expected the columns network, "
            "station, location and longitude, latitude, depth, or x, z (or depth), between com",
        ),
        ("station;x;z\nA;1,5;0\n", "2: x is '1,5'; give a number in m"),
        ("station,x\nA,1\n", "1: missing column z; expected"),
        ("station,x,y,z\nA,1,0,0\nB,1,20,0\n", "3: y: a 2-D run has none; leave it empty"),
        ("x,z\n1,0\n", "1: missing column station; expected"),
        ("station,x,x,z\nA,1,1,0\n", "1: a column occurs twice; expected"),
        ("station,x,z,depth\nA,1,0,0\n", "1: the columns z and depth say one thing: leave one"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path, text, message):
    with pytest.raises(ScenarioError) as caught:
        placed(tmp_path, text)
    key = f"{tmp_path}/s.yaml:9:5: receivers[0].path: 'list.csv': {tmp_path}/list.csv:"
    assert str(caught.value).startswith(key + message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html><body>no such file</body></html>", "is XML, which is not read"),
        (
            "2.0\n# made by hand\nPLANE 1\n",
            "is SRF, a finite fault: give it as a source of type finite_fault",
        ),
        (
            "1.0\nPOINTS 2\n10.0 50.0\n",
            "is SRF, a finite fault: give it as a source of type finite_fault",
        ),
    ],
)
def test_files_of_other_formats_are_named(tmp_path, text, message):
    with pytest.raises(ScenarioError) as caught:
        placed(tmp_path, text)
    assert f"list.csv {message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_of_data_centres_that_are_not_used_are_passed_over(tmp_path):
    """The elevation is no depth; that it is not used is said."""
    header = '"Station",x,z,"Elevation",Site Name,Start,EndTime,Start\n'
    found = placed(tmp_path, header + "A,20,30,300.5,Mt. Wilson,2001-01-01,,2001-01-01\n")
    assert found.codes == ("A",)
    assert found.coordinates.tolist() == [[20, 0, 30]]
    warnings = make_plan(load(tmp_path / "s.yaml")).warnings
    assert sum("the column elevation is ignored" in line for line in warnings) == 1
    placed(tmp_path, "Station,x,z,SiteName\nA,20,30,Mt. Wilson\n")
    assert not any("is ignored" in w for w in make_plan(load(tmp_path / "s.yaml")).warnings)


def test_all_bad_lines_are_named_at_once(tmp_path):
    with pytest.raises(ScenarioError) as caught:
        placed(tmp_path, HEAD + "XX,A,00,no,0\nXX,B,00,1,0\nXX,C,00,1,none\n")
    assert [text.split("list.csv:")[1].split(":")[0] for text in caught.value.messages] == [
        "2",
        "4",
    ]


@pytest.mark.parametrize("text", ["", HEAD])
def test_an_empty_list_is_refused(tmp_path, text):
    with pytest.raises(ScenarioError, match=r"list\.csv lists no station; expected the columns"):
        placed(tmp_path, text)


def test_degrees_that_fit_when_exchanged_are_named(tmp_path):
    pytest.importorskip("pyproj")
    where = "geographic: {longitude: 14, latitude: 40}\n"
    exchanged = r"m\); .*; with longitude and latitude exchanged it lies inside$"
    with pytest.raises(ScenarioError, match=exchanged):
        placed(tmp_path, "station,latitude,longitude\nA,14,40.001\n", where)
    west = r"with a longitude of the opposite sign \(west is negative\) it lies inside$"
    with pytest.raises(ScenarioError, match=west):
        placed(tmp_path, "station,longitude,latitude\nA,-14.0,40.001\n", where)
    with pytest.raises(ScenarioError, match=r"latitude of the opposite sign \(south is negative"):
        placed(tmp_path, "station,longitude,latitude\nA,14.0,-40.001\n", where)
    with pytest.raises(ScenarioError, match=r"enlarge grid.extent$"):
        placed(tmp_path, "station,longitude,latitude\nA,117.1,14\n", where)
    spot = "positions: [{longitude: 40.001, latitude: 14}]"
    text = SCENARIO.replace("type: stations", "type: points").replace("path: list.csv", spot)
    (tmp_path / "s.yaml").write_text(text + where)
    with pytest.raises(ScenarioError, match=exchanged):
        discretize(load(tmp_path / "s.yaml"))


def test_longitudes_need_a_projection(tmp_path):
    with pytest.raises(ScenarioError, match="need the section geographic"):
        placed(tmp_path, "station,longitude,latitude\nA,10,50\n")


def test_a_missing_list_and_a_bad_wavelet_are_named_where_the_scenario_has_them(tmp_path):
    placed(tmp_path, HEAD + "XX,A,00,1,0\n")
    (tmp_path / "list.csv").unlink()
    key = r"s.yaml:9:5: receivers\[0\].path: 'list.csv': "
    with pytest.raises(ScenarioError, match=f"{key}no such"):
        discretize(load(tmp_path / "s.yaml"))
    (tmp_path / "list.csv").write_bytes(b"\x89HDF\r\n")
    with pytest.raises(ScenarioError, match=f"{key}.*csv: is an HDF5 file .*, not text; expected"):
        discretize(load(tmp_path / "s.yaml"))
    (tmp_path / "w.txt").write_text("0 0\n0.1 x\n")
    key = r"s.yaml:6:\d+: sources\[0\].wavelet.path: 'w.txt': .*w.txt:2: 'x' is not a number"
    with pytest.raises(ScenarioError, match=key):
        discretize(load(tmp_path / "s.yaml"))

"""FSP files of SRCMOD: segments, columns by their names, and what headers stand in for."""

from pathlib import Path

import numpy as np
import pytest

from seismo.errors import ModelError
from seismo.features.faults.fsp import read_fsp

HEADER = """% Event : made for a test
% Loc  : LAT  =  34.000      LON = -118.000     DEP = 8.00
% Size : LEN  =   8.00 km    WID =  4.00 km    Mw = 6.0       Mo = 1.26e+018 Nm
% Mech : STRK =  120         DIP =  60          RAKE = 90      Htop = 5.00 km
% Rupt : HypX =  4.00 km     HypZ = 2.00 km     avTr = {rise} s    avVr = {speed} km/s
% Invs :   Dx  =   2.00 km      Dz  =  2.00 km
% Invs :   LEN =  1.00 s        SHF =  {shift} s     (time-window length and time-shift)
"""
SEGMENT = """% SEGMENT #   {n}:  STRIKE =   {strike} deg       DIP =  90.0 deg
%                   LEN  =  4.00 km       WID =  4.00 km
%   Nsbfs =   2   subfaults
"""


def written(folder: Path, body: str, rise=0.8, speed=2.5, shift=0.5) -> Path:
    path = folder / "model.fsp"
    path.write_text(HEADER.format(rise=rise, speed=speed, shift=shift) + body)
    return path


PLAIN = """%   Nsbfs =      4 subfaults
%   LAT       LON       X==NS     Y==EW       Z       SLIP      RAKE      TRUP      RISE
   34.000  -118.000     0.0       0.0       5.000     1.000    30.0      1.0       0.8
   34.010  -118.000     0.0       0.0       5.000     2.000    40.0      1.5       1.0
   34.000  -118.010     0.0       0.0       7.000     0.000    50.0      2.0       0.8
   34.010  -118.010     0.0       0.0       7.000     1.000    60.0      2.5       0.8
"""


def test_the_moment_is_that_of_the_header_and_centres_lie_down_dip(tmp_path):
    """A dip of 60 degrees: centres lie sqrt(3) / 2 km deeper, and half a km to the south-west."""
    rupture = read_fsp(written(tmp_path, PLAIN))
    slips = rupture.slips
    assert (rupture.count, len(slips)) == (4, 3)
    assert np.sum(rupture.potencies * rupture.rigidities) == pytest.approx(1.26e18, rel=1e-12)
    assert slips.area == pytest.approx([8e6] * 3)  # 8 km by 4 km in four
    assert slips.depth == pytest.approx(1e3 * (np.array([5, 5, 7]) + np.sqrt(0.75)))
    north = 6371.0 * np.radians(slips.latitude[0] - 34.0)
    east = 6371.0 * np.radians(slips.longitude[0] + 118.0) * np.cos(np.radians(34.0))
    assert (north, east) == pytest.approx((0.5 * np.cos(np.radians(210)), -0.25), abs=1e-4)
    assert slips.rake.tolist() == [30.0, 40.0, 60.0]
    assert slips.onset.tolist() == [1.0, 1.5, 2.5]
    rate = rupture.rates.rate(1)
    assert (rate.area, rate.value(np.array([2.0]))[0]) == pytest.approx((1.0, 2.0))
    assert rupture.assumed == ()


def test_windows_of_several_segments_follow_one_another(tmp_path):
    """Triangles of 1 s half a second apart; slip of the second is across that of the first."""
    body = SEGMENT.format(n=1, strike=10) + (
        "%   LAT  LON  X==NS  Y==EW  Z  SLIP  RAKE  TW1  rakeTW1  TW2  rakeTW2\n"
        " 34.0 -118.0 0 0 5 1.4 20 0.6 20 0.8 110\n 34.0 -118.0 0 0 7 1.0 20 1.0 20 0 20\n"
    )
    body += SEGMENT.format(n=2, strike=40) + (
        "%   LAT  LON  X==NS  Y==EW  Z  SLIP  RAKE  TW1  rakeTW1  TW2  rakeTW2\n"
        " 34.0 -118.0 0 0 5 1.0 20 0 20 1.0 20\n 34.0 -118.0 0 0 7 0.0 20 0 20 0 20\n"
    )
    rupture = read_fsp(written(tmp_path, body))
    slips = rupture.slips
    assert slips.strike.tolist() == [10.0, 10.0, 10.0, 40.0]
    assert slips.rake.tolist() == [20.0, 110.0, 20.0, 20.0]
    assert slips.size == pytest.approx([0.6, 0.8, 1.0, 1.0])
    # 8 km from the hypocentre at 2.5 km/s, straight down: 8 - (5 + 1) and 8 - (7 + 1) km
    assert slips.onset == pytest.approx([0.8, 0.8, 0.0, 0.8], abs=1e-9)
    times = slips.onset[1] + np.array([0.4, 1.0, 1.6])
    assert rupture.rates.rate(1).value(times) == pytest.approx([0.0, 2.0, 0.0], abs=1e-6)
    moment = rupture.rigidities[0] * 8e6 * (np.hypot(0.6, 0.8) + 1.0 + 1.0)
    assert moment == pytest.approx(1.26e18)


WINDOWS = "% Nsbfs = 1\n% LAT LON X==NS Y==EW Z SLIP RAKE TW1 TW2\n 34 -118 0 0 5 2 20 1 1\n"
BARE = "%   Nsbfs = 1\n%   LAT LON X==NS Y==EW Z SLIP\n 34.0 -118.0 0 0 5 1.0\n"


def test_headers_stand_in_for_columns_and_are_named(tmp_path):
    rupture = read_fsp(written(tmp_path, BARE))
    assert rupture.slips.rake.tolist() == [90.0]
    assert rupture.slips.step.tolist() == [0.4]
    assert [text.split(":")[0] for text in rupture.assumed] == [
        "its file has no rakes of subfaults",
        "its file has no rupture times",
        "its file has no rise times",
    ]


def test_unknown_times_and_rakes_of_subfaults_are_those_of_the_header(tmp_path):
    """Files write -99 or -999 where they know nothing, which is no time before the rupture."""
    body = BARE.replace("SLIP\n", "SLIP RAKE TRUP RISE\n").replace(
        "1.0\n", "1.0 -999.00 -99.00 -99.00\n"
    )
    slips = read_fsp(written(tmp_path, body)).slips
    known = read_fsp(written(tmp_path, BARE)).slips
    for name in ("rake", "onset", "step"):
        assert getattr(slips, name) == pytest.approx(getattr(known, name)), name
    assert slips.rake.tolist() == [90.0]
    assert slips.onset[0] > 0.0


def test_slip_of_windows_counts_where_their_total_is_rounded_to_0(tmp_path):
    body = WINDOWS.replace("Nsbfs = 1", "Nsbfs = 2") + " 34 -118 0 0 7 0.000 20 0.004 0.002\n"
    rupture = read_fsp(written(tmp_path, body))
    assert rupture.slipped == pytest.approx([2.0, 0.006])


def test_rakes_of_minus_99_are_unknown_where_the_header_has_another(tmp_path):
    """That of the header is 90: -99 is 171 degrees off it, and 9 off -90."""
    body = PLAIN.replace(" 30.0 ", " -99.0 ")
    rupture = read_fsp(written(tmp_path, body))
    assert rupture.slips.rake.tolist() == [90.0, 40.0, 60.0]
    assert [text[:54] for text in rupture.assumed] == [
        "its file has no rakes of subfaults for 1 of 4: that of"
    ]
    path = written(tmp_path, body)
    path.write_text(path.read_text().replace("RAKE = 90", "RAKE = -90"))
    rupture = read_fsp(path)
    assert rupture.slips.rake.tolist() == [-99.0, 40.0, 60.0]
    assert "rakes of -99, which may say unknown, are taken as" in rupture.assumed[0]


def test_rupture_times_of_999_are_unknown(tmp_path):
    body = PLAIN.replace(" 1.0       0.8", " 999.0       0.8")
    rupture = read_fsp(written(tmp_path, body))
    depth = 5.0 + np.sqrt(0.75)
    expected = np.hypot(8.0 - depth, 0.5) / 2.5
    assert rupture.slips.onset.tolist() == [pytest.approx(expected, rel=1e-3), 1.5, 2.5]
    assert "rupture times for 1 of 4: they are distances" in rupture.assumed[0]


@pytest.mark.parametrize(
    ("body", "header", "message"),
    [
        (BARE, {"speed": -99.0}, "neither rupture times .TRUP. nor an average velocity"),
        (BARE, {"rise": -99.0}, "neither rise times"),
        (BARE.replace("= 1", "= 0"), {}, "Nsbfs is 0"),
        (BARE.replace("= 1", "= 2"), {}, r"fsp:10: 1 subfaults end here, and Nsbfs says 2"),
        (PLAIN + " 34 -118 0 0 5 1 30 1 1\n", {}, r"fsp:14: 5 subfaults end here.* says 4"),
        (WINDOWS, {"shift": -99.0}, "lacks LEN and SHF"),
        (BARE.replace("1.0\n", "1.0 2.0\n"), {}, r"fsp:10: expected 6 numbers"),
        (BARE.replace("1.0\n", "nan\n"), {}, r"fsp:10: expected 6 numbers"),
        (BARE.replace("SLIP", "SLOP"), {}, "no column SLIP"),
        (BARE.replace("1.0\n", "0.0\n"), {}, "no subfault slips"),
        (BARE.replace("1.0\n", "-999\n"), {}, r"fsp:10: SLIP is -999; give the slip in m, or 0"),
        (WINDOWS.replace(" 1 1\n", " 1 -1\n"), {}, r"moves 2 m back and forth along its rake"),
        ("", {}, "no columns LAT, LON"),
    ],
)
def test_files_that_do_not_do_are_refused(tmp_path, body, header, message):
    with pytest.raises(ModelError, match=message):
        read_fsp(written(tmp_path, body, **header))

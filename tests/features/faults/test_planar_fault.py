"""The script that writes a planar fault as an SRF file."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from seismo.acquisition.moment_tensor import moment_of
from seismo.features.faults.srf import read_srf

SCRIPT = Path(__file__).parents[3] / "scripts" / "planar_fault.py"
NORTHRIDGE = (
    "--hypocentre -118.537 34.213 17.5 --strike 122 --dip 40 --rake 101 --length 18 --width 24 "
    "--along 15 --down 20 --magnitude 6.7 --velocity 3 --rise 1.4"
)


def written(path: Path, options: str):
    pytest.importorskip("pyproj")
    runpy.run_path(str(SCRIPT))["main"]([str(path), *options.split()])
    return read_srf(path)


def test_a_fault_is_that_of_its_parameters(tmp_path):
    rupture = written(tmp_path / "f.srf", NORTHRIDGE)
    slips = rupture.slips
    assert rupture.count == len(slips) == 36 * 48
    moment = float((rupture.potencies * rupture.rigidities).sum())
    assert moment == pytest.approx(moment_of(6.7), rel=1e-4)
    assert slips.area.sum() == pytest.approx(18e3 * 24e3)
    # Depths of the edges: the hypocentre's, 20 km up and 4 km down the dip.
    sine = np.sin(np.radians(40.0))
    half = 0.25e3 * sine
    assert slips.depth.min() == pytest.approx(17.5e3 - 20e3 * sine + half, abs=1.0)
    assert slips.depth.max() == pytest.approx(17.5e3 + 4e3 * sine - half, abs=1.0)
    # The front is at 3 km/s from the hypocentre, which is 15 km along: most lies to the north-west.
    north = 111.0e3 * (slips.latitude - 34.213)
    east = 111.0e3 * np.cos(np.radians(34.213)) * (slips.longitude + 118.537)
    distance = np.sqrt(north**2 + east**2 + (slips.depth - 17.5e3) ** 2)
    assert slips.onset == pytest.approx(distance / 3e3, abs=0.03)
    azimuth = np.radians(122.0)
    along = north * np.cos(azimuth) + east * np.sin(azimuth)
    assert along.min() == pytest.approx(-14.75e3, rel=0.01)
    assert along.max() == pytest.approx(2.75e3, rel=0.01)
    # Down the dip is to the right of the strike: at the hypocentre's depth it is there.
    right = east * np.cos(azimuth) - north * np.sin(azimuth)
    assert np.corrcoef(right, slips.depth)[0, 1] == pytest.approx(1.0, abs=1e-3)


def test_the_shipped_rupture_is_what_the_script_writes(tmp_path):
    ours = written(tmp_path / "f.srf.gz", f"{NORTHRIDGE} --spacing 1").slips
    shipped = read_srf(SCRIPT.parents[1] / "scenarios" / "northridge_1994.srf").slips
    for name in ("longitude", "latitude", "depth", "onset", "size"):
        assert getattr(ours, name) == pytest.approx(getattr(shipped, name), rel=1e-5)


@pytest.mark.parametrize("change", ["--along 19", "--down 25", "--dip 80"])
def test_an_impossible_fault_is_refused(change, tmp_path, capsys):
    with pytest.raises(SystemExit):
        written(tmp_path / "f.srf", f"{NORTHRIDGE} {change}")
    assert "see --" in capsys.readouterr().err

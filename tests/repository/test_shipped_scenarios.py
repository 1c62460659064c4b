"""The scenarios that come with seismo, and that of the README, are valid and say what they claim.

The scenarios state facts (resolution, an earthquake's moment) in comments; where a fact follows
from the numbers beside it, it is computed here again, to the rounding of the printed digits.
"""

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest

from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.prediction.assess import cautions
from seismo.runs.prediction.resolution import layers_of
from seismo.scenario import load, parse
from seismo.solver.discretize import discretize

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))
DEAR = {"basin_q", "chino_hills_2008", "deep_basin", "jacksboro", "soft_basin"}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_shipped_scenario_is_valid(path):
    assert load(path).title


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.stem in DEAR else [])
        for p in SCENARIOS
    ],
)
def test_a_shipped_scenario_gives_no_cause_for_warnings(path):
    """But for Marmousi, whose file is not ours, and whose streamer lies where streamers do."""
    if path.stem == "marmousi":
        pytest.skip("needs a file that is not part of seismo")
    scenario = load(path)
    if scenario.geographic is not None:
        pytest.importorskip("pyproj")
    discretization = discretize(scenario)
    layers = layers_of(discretization, discretization.highest_frequency)
    assert cautions(discretization, layers, expected_error(discretization)) == []


def test_the_scenario_of_the_readme_is_valid():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 1
    assert parse(examples[0]).physics == "elastic"


def test_the_chino_hills_tensor_has_the_catalogue_moment_and_no_volume_change():
    """M0 = sqrt(M:M / 2) and Mw = 2/3 (log10 M0 - 9.1) (Hanks & Kanamori 1979): 1.53e17, 5.39."""
    source = load(ROOT / "scenarios" / "chino_hills_2008.yaml").sources[0]
    m = source.components
    tensor = np.array([[m.xx, m.xy, m.xz], [m.xy, m.yy, m.yz], [m.xz, m.yz, m.zz]])
    moment = math.sqrt((tensor**2).sum() / 2)
    assert moment == pytest.approx(1.53e17, abs=0.005e17)
    assert 2 / 3 * (math.log10(moment) - 9.1) == pytest.approx(5.39, abs=0.005)
    assert abs(np.trace(tensor)) < 0.01 * moment
    # The duration follows from the moment in dyn cm (Ekstrom et al. 2012).
    half_duration = 1.05e-8 * (moment * 1e7) ** (1 / 3)
    assert source.wavelet.half_duration == pytest.approx(half_duration, abs=0.005)


def test_the_chino_hills_stations_lie_inside_the_grid():
    """A degree is 111 km along the meridian; a kilometre of margin covers the flattening."""
    scenario = load(ROOT / "scenarios" / "chino_hills_2008.yaml")
    origin, extent = scenario.grid.origin, scenario.grid.extent
    place = scenario.geographic
    with (ROOT / "scenarios" / scenario.receivers[0].path).open(
        encoding="utf-8", newline=""
    ) as file:
        stations = list(csv.DictReader(file))
    assert len(stations) == 27
    for station in stations:
        north = (float(station["latitude"]) - place.latitude) * 111e3
        east = (float(station["longitude"]) - place.longitude) * 111e3
        east *= math.cos(math.radians(place.latitude))
        assert origin.x + 1e3 < north < origin.x + extent.x - 1e3
        assert origin.y + 1e3 < east < origin.y + extent.y - 1e3


def test_the_double_couple_is_what_its_comments_say():
    """M0 = 10^(1.5 Mw + 9.1); the half duration follows from the moment (Ekstrom et al. 2012).

    The first motion above the hypocentre of a thrust is up: M_zz > 0 with z down pushes P up there.
    """
    scenario = load(ROOT / "scenarios" / "double_couple.yaml")
    discretization = discretize(scenario)
    source, strength = scenario.sources[0], discretization.shots[0].sources[0].strength
    m = np.array([[strength["xx"], strength["xy"], strength["xz"]],
                  [strength["xy"], strength["yy"], strength["yz"]],
                  [strength["xz"], strength["yz"], strength["zz"]]])  # fmt: skip
    moment = math.sqrt((m**2).sum() / 2)
    assert moment == pytest.approx(10 ** (1.5 * source.magnitude + 9.1), rel=1e-6)
    assert moment == pytest.approx(2.0e16, abs=0.05e16)
    assert abs(np.trace(m)) < 1e-9 * moment
    assert np.linalg.eigvalsh(m) == pytest.approx([-moment, 0.0, moment], abs=1e-6 * moment)
    assert m[2, 2] == pytest.approx(moment * math.sin(math.radians(120)) * math.sin(math.pi / 3))
    half_duration = 1.05e-8 * (moment * 1e7) ** (1 / 3)
    assert source.wavelet.half_duration == pytest.approx(half_duration, abs=0.01)
    ring = discretization.groups[0].coordinates
    assert np.hypot(ring[:, 0], ring[:, 1]) == pytest.approx(5000.0, abs=0.01)
    azimuths = np.degrees(np.arctan2(ring[:, 1], ring[:, 0])) % 360
    assert azimuths == pytest.approx(45.0 * np.arange(8), abs=0.01)


def test_the_gallery_shows_shipped_scenarios():
    page = (ROOT / "docs" / "gallery.md").read_text()
    shown = set(re.findall(r"figures/gallery/(\S+\.png)", page))
    assert shown == {path.name for path in (ROOT / "docs" / "figures" / "gallery").iterdir()}
    for name in shown:
        assert (ROOT / "scenarios" / f"{name.rpartition('-')[0]}.yaml").exists()

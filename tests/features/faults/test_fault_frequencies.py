"""Frequencies of finite faults: of smoothed rates, in all directions, and of their subfaults."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from seismo.acquisition import wavelets
from seismo.acquisition.locator import Projection
from seismo.acquisition.slip_rate import SlipRates
from seismo.acquisition.wavelet_shapes import half_duration_of
from seismo.features.faults.finite_fault import read_rupture
from seismo.features.faults.rupture import directivity
from seismo.features.loss.mechanisms import band_of
from seismo.runs.check.plan import check
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

GEOGRAPHIC = {"longitude": -118.0, "latitude": 34.0, "azimuth": 0.0}
VS, RHO, SPEED, LENGTH, RISE = 3200.0, 2700.0, 2700.0, 500.0, 0.4


def triangle(rise, step):
    times = np.arange(0.0, rise + step / 2, step)
    return np.maximum(0.0, 1.0 - np.abs(2.0 * times / rise - 1.0)) * 2.0 / rise


def line(count, step=0.02, rise=RISE, speed=SPEED):
    """Return positions and rates of a rupture along x."""
    x = (np.arange(count) + 0.5) * LENGTH
    samples = triangle(rise, step)
    starts = samples.size * np.arange(count + 1)
    rates = SlipRates(x / speed, np.full(count, step), starts, np.tile(samples, count))
    return np.stack([x, 0.0 * x, 0.0 * x + 6000.0], axis=1), rates


def far_spectrum(positions, rates, slowness, frequency):
    """Return the spectrum of the apparent moment rate of equal subfaults: the sum itself."""
    times = rates.onset + RISE / 2 - positions @ slowness
    own = np.sinc(frequency * RISE / 2) ** 2
    return own * np.abs(np.exp(-2j * np.pi * np.outer(frequency, times)).mean(axis=1))


def test_the_highest_frequency_is_that_of_all_directions():
    """60 subfaults of 0.5 km: ahead the rupture is short, behind its subfaults come one by one."""
    positions, rates = line(60)
    seen = directivity(positions, np.ones(60), rates, VS, LENGTH**2)
    highest = max(map(wavelets.maximum_frequency, seen.rates))
    frequency = np.arange(0.0, 30.0, 0.01)
    angles = np.radians(np.arange(0.0, 181.0, 2.0))
    spectra = [
        far_spectrum(positions, rates, np.array([np.cos(a), np.sin(a), 0.0]) / VS, frequency)
        for a in angles
    ]
    of_all = frequency[np.flatnonzero(np.max(spectra, axis=0) >= 0.01)[-1]]
    total = wavelets.maximum_frequency(rates.weighted_sum(np.ones(60) / 60))
    # a lobe of sinc^2 (1.25 Hz apart) more or less: directions are few
    assert of_all / 1.15 < highest < 1.15 * of_all
    assert highest > 4.0 * total
    grain = seen.grain
    assert grain.velocity == pytest.approx(SPEED, rel=1e-9)
    assert grain.spacing == pytest.approx(LENGTH, rel=1e-9)
    assert grain.frequency == pytest.approx(1.0 / (LENGTH * (1.0 / SPEED + 1.0 / VS)), rel=1e-9)
    assert grain.share == pytest.approx(np.sinc(grain.frequency * RISE / 2) ** 2, rel=0.02)


@pytest.mark.parametrize("speed", [2000.0, 3200.0, 4500.0])
def test_ahead_of_a_rupture_its_rates_are_short(speed):
    """As fast as the waves, or faster (along the Mach cone), all subfaults come together."""
    positions, rates = line(40, speed=speed)
    rates = SlipRates(rates.onset, rates.step, rates.starts, rates.samples, 0.12)
    seen = directivity(positions, np.ones(40), rates, VS, LENGTH**2)
    own = wavelets.maximum_frequency(rates.rate(0))
    total = wavelets.maximum_frequency(rates.weighted_sum(np.ones(40) / 40))
    highest = max(map(wavelets.maximum_frequency, seen.rates))
    assert total < highest < 1.02 * own
    if speed >= VS:
        assert highest > 0.95 * own


def test_one_subfault_has_no_directions():
    positions, rates = line(1)
    assert directivity(positions, np.ones(1), rates, VS, LENGTH**2).rates == ()
    positions, rates = line(40)
    assert directivity(positions, np.ones(40), rates, np.nan, LENGTH**2).rates == ()


def test_of_very_many_subfaults_some_stand_for_all(monkeypatch):
    positions, rates = line(900)
    rates = SlipRates(rates.onset, rates.step, rates.starts, rates.samples, 0.12)
    whole = directivity(positions, np.ones(900), rates, VS, LENGTH**2)
    monkeypatch.setattr("seismo.features.faults.rupture.MOST_SUBFAULTS", 600)
    part = directivity(positions, np.ones(900), rates, VS, LENGTH**2)
    highest = [max(map(wavelets.maximum_frequency, seen.rates)) for seen in (whole, part)]
    assert highest[1] == pytest.approx(highest[0], rel=0.2)


def test_sums_of_coarse_samples_keep_the_frequencies_of_smoothed_rates():
    """Triangles of 5 s as three samples, or 101, smoothed by 1 s: the same rate and times."""
    sums = []
    for step in (2.5, 0.05):
        _, rates = line(4, step, 5.0)
        rates = SlipRates(rates.onset, rates.step, rates.starts, rates.samples, 0.43)
        sums.append(rates.weighted_sum(np.ones(4) / 4))
        first, last = rates.ends
        for n in range(4):
            t = np.array([first[n], last[n]])
            assert np.abs(rates.rate(n).value(t)).max() < 1e-6
    coarse, fine = sums
    assert coarse.first == pytest.approx(fine.first, abs=1e-9)
    assert coarse.last == pytest.approx(fine.last, abs=0.1)
    times = np.linspace(-2.0, 9.0, 400)
    assert coarse.value(times) == pytest.approx(fine.value(times), abs=1e-4 / 5.0)
    highest = wavelets.maximum_frequency(fine)
    assert wavelets.maximum_frequency(coarse) == pytest.approx(highest, rel=1e-3)
    frequency = np.linspace(0.0, 1.5, 3001)
    gauss = np.exp(-0.5 * (2 * np.pi * frequency * 0.43) ** 2)
    times = (np.arange(4) + 0.5) * LENGTH / SPEED
    array = np.abs(np.exp(-2j * np.pi * np.outer(frequency, times)).mean(axis=1))
    exact = frequency[np.flatnonzero(np.sinc(2.5 * frequency) ** 2 * gauss * array > 0.01)[-1]]
    assert highest == pytest.approx(exact, rel=0.01)


def test_sums_of_few_samples_keep_the_corners_of_rates():
    """Triangles of three samples: side lobes of sinc^2 down to 1 % are kept to a fifth."""
    for step in (0.2, 0.01):
        _, rates = line(1, step)
        total = rates.weighted_sum(np.ones(1))
        frequency, spectrum = wavelets.spectrum_of(total.value, total.shape())
        lobe = np.interp(1.5 / 0.2, frequency, spectrum) / spectrum[0]
        assert lobe == pytest.approx((1.5 * np.pi) ** -2, rel=0.2)


def srf(count, rise=RISE, step=0.02):
    projection = Projection(SimpleNamespace(**GEOGRAPHIC))
    rate = triangle(rise, step)
    lines = ["2.0", f"POINTS {count}"]
    for n in range(count):
        x = (n + 0.5) * LENGTH
        longitude, latitude = projection.to_geographic(x, 0.0)
        lines += [
            f"{longitude:.9f} {latitude:.9f} 3.0 0 90 {LENGTH**2 * 1e4} {0.5 + x / SPEED} {step} "
            f"{VS * 100} {RHO / 1000}",
            f"0 100 {rate.size} 0 0 0 0",
            " ".join(f"{100 * value:.7e}" for value in rate),
        ]
    return "\n".join(lines) + "\n"


def scenario(folder, rock=None, **keys):
    (folder / "line.srf").write_text(srf(20))
    source = {"type": "finite_fault", "path": "line.srf", "name": "line"} | keys
    return from_dict({
        "physics": "elastic", "geographic": GEOGRAPHIC,
        "grid": {"extent": {"x": "16 km", "y": "6 km", "z": "6 km"}, "spacing": "250 m",
                 "origin": {"x": "-3 km", "y": "-3 km", "z": 0}},
        "time": {"duration": "8 s"}, "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": 5600.0, "vs": VS, "rho": RHO} | (rock or {})],
        "output": {"maps": [{"name": "ground", "plane": {"z": 0}, "quantities": ["sa"],
                             "periods": [0.3]}]},
        "sources": [source],
    }, folder)  # fmt: skip


def plan(folder, **keys):
    return check(scenario(folder, **keys))


@pytest.mark.parametrize("keys", [{}, {"smoothing": 0.3}])
def test_rock_attenuates_all_that_a_fault_radiates(tmp_path, keys):
    """Its band ends at 1 % of the subfaults' own spectrum, no lower than in any direction."""
    discretization = discretize(scenario(tmp_path, {"qp": 80.0, "qs": 40.0}, **keys))
    spec = scenario(tmp_path, **keys).sources[0]
    rates = read_rupture(spec, tmp_path).rates
    own = max(wavelets.maximum_frequency(rates.rate(n)) for n in range(20))
    assert band_of(discretization.scenario)[1] == pytest.approx(own, rel=0.02)
    assert band_of(discretization.scenario)[1] > 0.98 * discretization.highest_frequency
    total = wavelets.maximum_frequency(read_rupture(spec, tmp_path).rate)
    assert band_of(discretization.scenario)[1] > 1.5 * total


def test_check_says_what_a_fault_radiates(tmp_path):
    plain = plan(tmp_path)
    page = str(plain)
    assert "rupture at 2700 m/s over subfaults 500 m apart, which show from 2.93 Hz on" in page
    (grain,) = (line for line in plain.warnings if "grain of the file" in line)
    smoothing = float(re.search(r"sources\[0\]\.smoothing to ([0-9.]+) s", grain).group(1))
    assert smoothing == pytest.approx(half_duration_of(2.93), rel=0.05)
    assert any("or sources[0].smoothing of about" in line for line in plain.warnings)
    # 0.3 s is a period of its waves, and none of the smoothed ones
    assert not any("tends to PGA" in line for line in plain.warnings)
    smooth = plan(tmp_path, smoothing=smoothing)
    assert not any("grain of the file" in line for line in smooth.warnings)
    assert smooth.f_max < 2.93 < plain.f_max
    assert any("tends to PGA" in line for line in smooth.warnings)
    assert smooth.expected.error < 0.3 * plain.expected.error


def test_a_gaussian_of_that_half_duration_leaves_a_hundredth():
    spec = SimpleNamespace(
        type="gaussian_rate", half_duration=half_duration_of(2.0), sigma=None, amplitude=1.0,
        delay=None,
    )  # fmt: skip
    assert wavelets.maximum_frequency(spec) == pytest.approx(2.0, rel=1e-3)


def test_subfaults_of_huge_faults_have_their_own_distance(monkeypatch):
    """Not that of those which are summed."""
    monkeypatch.setattr("seismo.features.faults.rupture.MOST_SUBFAULTS", 400)
    z, x = (LENGTH * n.ravel() for n in np.mgrid[:60, :60])
    _, rates = line(x.size)
    rates = SlipRates(np.hypot(x, z) / SPEED, rates.step, rates.starts, rates.samples)
    positions = np.stack([x, 0.0 * x, z], axis=1)
    grain = directivity(positions, np.ones(x.size), rates, VS, LENGTH**2).grain
    assert grain.spacing == pytest.approx(LENGTH)

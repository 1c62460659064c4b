"""Wavelets against their definitions: peak, area, spectrum, onset and derivative."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from seismo.acquisition import wavelets
from seismo.errors import ModelError
from seismo.scenario.sections.wavelet import Wavelet

WAVELET = TypeAdapter(Wavelet)


def spec(type_, **keys):
    return WAVELET.validate_python({"type": type_, **keys})


SHAPES = [
    spec("ricker", frequency=5.0), spec("gaussian", frequency=5.0),
    spec("gaussian_derivative", frequency=5.0), spec("ricker_derivative", frequency=5.0),
    spec("ormsby", corners=(2.0, 5.0, 20.0, 30.0)), spec("kuepper", duration=0.5, n=1, delay=0.0),
    spec("kuepper", duration=0.5, n=2, delay=0.0), spec("kuepper", duration=0.5, n=5, delay=0.0),
    spec("klauder", frequencies=(5.0, 30.0), duration=2.0, taper=0.4),
]  # fmt: skip
RATES = [
    spec("gaussian_rate", half_duration=0.3), spec("gaussian_rate", sigma=0.1, delay=0.8),
    spec("brune", corner_frequency=4.0, delay=0.0), spec("brune", rise=0.1, delay=0.2),
    spec("triangle", half_duration=0.3, delay=0.0), spec("smoothed_ramp", rise=0.4, delay=0.1),
]  # fmt: skip
SWEEPS = [
    spec("sweep", frequencies=(5.0, 30.0), duration=2.0, taper=0.4),
    spec("sweep", frequencies=(30.0, 5.0), duration=1.0),
]
ALL = SHAPES + RATES + SWEEPS


def name(one):
    return one.type


@pytest.mark.parametrize("one", ALL, ids=name)
def test_it_starts_quietly_at_time_zero_and_ends(one):
    t = np.linspace(-1.0, 0.0, 2001)
    peak = np.max(np.abs(wavelets.evaluate(one, np.linspace(0.0, 3.0, 30001))))
    assert np.max(np.abs(wavelets.evaluate(one, t))) < 1e-4 * peak
    late = wavelets.end_time(one) + np.linspace(0.0, 1.0, 1001)
    assert np.max(np.abs(wavelets.evaluate(one, late))) < 1e-4 * peak


@pytest.mark.parametrize("one", SHAPES, ids=name)
def test_shapes_have_a_peak_of_one(one):
    t = np.linspace(0.0, wavelets.end_time(one), 200001)
    assert np.max(np.abs(wavelets.evaluate(one, t))) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("one", RATES, ids=name)
def test_moment_rates_have_unit_area(one):
    # The trapezoidal rule on 2e5 points errs by its h^2 terms, below 1e-9; Brune's tail holds 1e-5.
    t = np.linspace(0.0, wavelets.end_time(one), 200001)
    assert np.trapezoid(wavelets.evaluate(one, t), t) == pytest.approx(1.0, abs=2e-5)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_the_derivative_is_that_of_the_function(one):
    # Centred differences err by h^2 / 6 of the third derivative; kinks (measure zero) are left out.
    t = np.linspace(-0.05, wavelets.end_time(one) + 0.05, 5000) + 1.3e-6
    h = 1e-6
    numeric = (wavelets.evaluate(one, t + h) - wavelets.evaluate(one, t - h)) / (2 * h)
    exact = wavelets.derivative(one, t)
    assert np.max(np.abs(numeric - exact)) < 1e-6 * np.max(np.abs(exact))


@pytest.mark.parametrize("one", [*ALL, spec("triangle", rise=0.2, delay=0.0)], ids=name)
@pytest.mark.parametrize("rate", [False, True])
def test_the_highest_frequency_is_that_of_minus_40_db(one, rate):
    if rate and one.type in ("triangle", "brune"):
        # Their derivatives jump: the spectrum falls as 1 / f, and no grid carries what it holds.
        assert wavelets.maximum_frequency(one, rate=True) > 2 * wavelets.maximum_frequency(one)
        return
    dt = 5e-4
    t = np.arange(1 << 16) * dt
    function = wavelets.derivative if rate else wavelets.evaluate
    spectrum = np.abs(np.fft.rfft(function(one, t)))
    frequency = np.fft.rfftfreq(t.size, dt)
    last = frequency[np.flatnonzero(spectrum >= 0.01 * spectrum.max())[-1]]
    found = wavelets.maximum_frequency(one, rate=rate)
    assert found == pytest.approx(last, abs=0.05 + 0.003 * last)  # two grids of frequencies


def test_ricker_has_its_spectral_peak_at_its_frequency():
    # Ricker (1953): the amplitude spectrum is proportional to f^2 exp(-(f / f0)^2).
    dt = 1e-3
    t = np.arange(20000) * dt
    spectrum = np.abs(np.fft.rfft(wavelets.evaluate(spec("ricker", frequency=8.0), t)))
    frequency = np.fft.rfftfreq(t.size, dt)
    expected = (frequency / 8.0) ** 2 * np.exp(1.0 - (frequency / 8.0) ** 2)
    assert np.max(np.abs(spectrum / spectrum.max() - expected)) < 1e-5


def test_the_gaussian_family_is_one_of_derivatives():
    t = np.linspace(0.0, 1.0, 1000)
    common = {"frequency": 6.0, "delay": 0.5}
    k = np.pi * 6.0
    first = wavelets.derivative(spec("gaussian", **common), t)
    unit = wavelets.evaluate(spec("gaussian_derivative", **common), t)
    assert np.allclose(first, unit * np.sqrt(2.0 / np.e) * k, atol=1e-12 * k)
    second = wavelets.derivative(spec("gaussian_derivative", **common), t)
    ricker = wavelets.evaluate(spec("ricker", **common), t)
    assert np.allclose(second, -ricker * np.sqrt(2.0 * np.e) * k, atol=1e-11 * k)


def test_a_klauder_wavelet_is_what_correlation_makes_of_a_sweep():
    """Convolved with the reflection at 0.7 s, then correlated with the sweep, by plain sums."""
    keys = {"frequencies": (10.0, 40.0), "duration": 3.0, "taper": 0.5}
    dt = 1e-3
    swept = wavelets.evaluate(spec("sweep", **keys), np.arange(3001) * dt)
    record = np.zeros(5000)
    record[700:3701] = swept
    correlated = np.correlate(record, swept, "valid")[:1400] / np.sum(swept**2)
    klauder = wavelets.evaluate(spec("klauder", **keys, delay=0.7), np.arange(1400) * dt)
    # what is left out beyond the last lobe that counts, and sums in steps of 1 / 25 period
    assert np.abs(klauder - correlated).max() < 2e-4
    begins, ends = np.searchsorted(np.cumsum(swept**2) / np.sum(swept**2), [0.02, 0.98]) * dt
    rising = np.flatnonzero(np.diff(np.sign(swept)))  # twice a period
    count = np.sum((rising * dt > begins) & (rising * dt < ends))
    assert count == pytest.approx(2 * (10.0 + 40.0) / 2 * (ends - begins), abs=1.0)


@pytest.mark.parametrize(
    ("keys", "message"),
    [({"frequencies": (5, 5)}, "both are the same"), ({"taper": 2.0}, "half of that at most"),
     ({"duration": 1e6}, "periods")],
)  # fmt: skip
def test_sweeps_that_are_none_are_refused(keys, message):
    with pytest.raises(ValueError, match=message):
        spec("sweep", **({"frequencies": (5, 50), "duration": 3.0} | keys))


def test_ormsby_spectrum_is_its_trapezoid():
    # The window only rounds the corners: flat between the inner, -40 dB beyond the outer ones.
    dt = 1e-3
    t = np.arange(1 << 14) * dt
    one = spec("ormsby", corners=(5.0, 10.0, 30.0, 40.0))
    spectrum = np.abs(np.fft.rfft(wavelets.evaluate(one, t)))
    frequency = np.fft.rfftfreq(t.size, dt)
    trapezoid = np.interp(frequency, (0.0, 5.0, 10.0, 30.0, 40.0), (0.0, 0.0, 1.0, 1.0, 0.0))
    assert np.max(np.abs(spectrum / spectrum[frequency.size * 20 // 500] - trapezoid)) < 0.12
    flat = (frequency > 13) & (frequency < 27)
    assert np.ptp(spectrum[flat]) < 0.01 * spectrum.max()
    assert np.max(spectrum[(frequency > 45) | (frequency < 1)]) < 0.01 * spectrum.max()


def test_a_gaussian_rate_is_that_of_its_sigma_or_half_duration():
    """exp(-tau^2 / (2 sigma^2)) = exp(-(1.628 tau / half duration)^2), of area 1 (SPECFEM3D)."""
    tau = np.linspace(-0.5, 0.5, 101)
    expected = np.exp(-((1.628 * tau / 0.3) ** 2)) * 1.628 / 0.3 / np.sqrt(np.pi)
    found = wavelets.evaluate(spec("gaussian_rate", half_duration=0.3, delay=0.0), tau)
    assert np.allclose(found, expected, rtol=1e-12)
    same = spec("gaussian_rate", sigma=0.3 / (1.628 * np.sqrt(2.0)), delay=0.0)
    assert np.allclose(wavelets.evaluate(same, tau), expected, rtol=1e-12)


@pytest.mark.parametrize("derivatives", [0, 1])
def test_the_energy_above_a_frequency_is_that_of_the_known_spectrum(derivatives):
    """A triangle of half duration T has sinc(f T)^2, a raised cosine sinc(f T) / (1 - (f T)^2)."""
    f = (np.arange(400_000) + 0.5) * 2.5e-3
    known = {
        spec("triangle", half_duration=0.3): np.sinc(0.3 * f) ** 2,
        spec("smoothed_ramp", rise=0.4): np.sinc(0.4 * f) / (1.0 - (0.4 * f) ** 2),
    }
    for one, spectrum in known.items():
        energy = (f**derivatives * spectrum) ** 2
        expected = energy[f > 8.0].sum() / energy.sum()
        assert wavelets.energy_above(one, 8.0, derivatives) == pytest.approx(expected, rel=0.02)
    assert wavelets.energy_above(spec("gaussian_rate", half_duration=0.3), 8.0, 1) < 1e-15


def test_brune_spectrum_falls_with_the_square_beyond_its_corner():
    # Brune (1970): 1 / (1 + (f / fc)^2); half the moment at the corner.
    dt = 1e-4
    t = (np.arange(1 << 16) + 0.5) * dt
    one = spec("brune", corner_frequency=4.0, delay=0.0)
    spectrum = np.abs(np.fft.rfft(wavelets.evaluate(one, t))) * dt
    frequency = np.fft.rfftfreq(t.size, dt)
    band = frequency < 100.0
    expected = 1.0 / (1.0 + (frequency / 4.0) ** 2)
    assert np.max(np.abs(spectrum - expected)[band]) < 1e-4


def test_amplitude_and_delay_are_applied():
    one = spec("ricker", frequency=5.0, amplitude=-3.0, delay=0.7)
    assert wavelets.evaluate(one, np.array([0.7]))[0] == -3.0
    assert wavelets.delay(one) == 0.7
    assert wavelets.delay(spec("ricker", frequency=5.0)) == pytest.approx(0.3)


def test_a_file_is_met_by_the_spline(tmp_path: Path):
    # A natural cubic spline of 20 points per period errs by (2 pi / 20)^4 * 5 / 384, about 1.3e-4.
    t = np.arange(200) * 0.01
    values = np.exp(-(((t - 1.0) / 0.15) ** 2)) * np.sin(2 * np.pi * 5 * (t - 1.0))
    (tmp_path / "two.txt").write_text(
        "# time, value\n"
        + "\n".join(f"{a!r}, {b!r}" for a, b in zip(t.tolist(), values.tolist(), strict=True))
    )
    (tmp_path / "one.txt").write_text("\n".join(repr(b) for b in values.tolist()))
    fine = np.linspace(0.0, 1.99, 5001)
    exact = np.exp(-(((fine - 1.0) / 0.15) ** 2)) * np.sin(2 * np.pi * 5 * (fine - 1.0))
    for keys in ({"path": "two.txt"}, {"path": "one.txt", "interval": 0.01}):
        one = spec("file", **keys)
        assert np.max(np.abs(wavelets.evaluate(one, fine, tmp_path) - exact)) < 2e-4
        assert np.allclose(wavelets.evaluate(one, t, tmp_path), values, atol=1e-12)
        h = 1e-6
        rate = (
            wavelets.evaluate(one, fine[5:-5] + h, tmp_path)
            - wavelets.evaluate(one, fine[5:-5] - h, tmp_path)
        ) / (2 * h)
        assert np.allclose(wavelets.derivative(one, fine[5:-5], tmp_path), rate, atol=1e-6)
        assert wavelets.evaluate(one, np.array([-0.1, 2.5]), tmp_path).tolist() == [0.0, 0.0]
        assert 4.0 < wavelets.dominant_frequency(one, tmp_path) < 6.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\nx\n", ":3: 'x' is not a number"),
        ("1x\n2\n", ":1: '1x' is not a number"),
        ("root:x:0:0\n", ":1: what it begins with is not a number: start comments with #"),
        ("\u221212\n2\n", r":1: '\u221212' is not a number: the character U\+2212"),
        ("0 1e308\n.001 -1e308\n.002 1e308\n", r"path: .*w\.txt: its values reach 1e\+308, 1e\+30"),
        ("0 1\n1e300 2\n1e308 3\n", r"w\.txt: its times reach 1e\+308 s; give seconds, up to 1e"),
        ("-1e15 1\n0 2\n1e15 1\n", "its times reach 1e"),
        (
            "0 1\n5e-324 2\n1e-323 3\n",
            "its times come as close as 4.94066e-324 s; give seconds, 1e",
        ),
        ("0 " * 6000, ":1: 11999 characters; expected a column"),
        ("0 1\n1 2\n# \n1 3\n", ":4: time 1 s is not after 1 s of the row before"),
        ("1\n2\n", "interval: missing: .* has one column"),
        ("0 1 2\n", ":1: 3 columns"),
        ("0 1\n2\n", ":2: 1 columns"),
        ("0 nan\n1 2\n", ":1: nan is not finite"),
        ("0 0\n1 0\n", "all values are 0"),
        ("", "0 samples"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line(tmp_path: Path, text, message):
    (tmp_path / "w.txt").write_text(text)
    with pytest.raises(ModelError, match=message) as caught:
        wavelets.evaluate(spec("file", path="w.txt"), np.zeros(1), tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("interval", "message"),
    [(1e300, "reach 2e"), (1.7e308, "reach inf")],
)
def test_an_interval_beyond_reason_is_blamed(tmp_path: Path, interval, message):
    (tmp_path / "w.txt").write_text("1\n2\n3\n")
    with pytest.raises(ModelError, match=rf"interval: .*w\.txt: its times .*{message}"):
        wavelets.shape_of(spec("file", path="w.txt", interval=interval), tmp_path)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ModelError, match=r"path: no such file as .*w\.txt"):
        wavelets.evaluate(spec("file", path="w.txt"), np.zeros(1), tmp_path)


def test_a_file_is_read_anew_only_when_it_has_changed(tmp_path: Path):
    file = tmp_path / "w.txt"
    file.write_text("\ufeff0, 0\n1, 1\n2, 0\n", encoding="utf-8")  # as a spreadsheet writes it
    one = spec("file", path="w.txt")
    assert wavelets.shape_of(one, tmp_path) is wavelets.shape_of(one, tmp_path)
    assert wavelets.evaluate(one, np.ones(1), tmp_path) == pytest.approx(1.0)
    file.write_text("0 0\n1 3\n2.5 0\n")
    assert wavelets.evaluate(one, np.ones(1), tmp_path) == pytest.approx(3.0)


def test_an_interval_beside_times_is_refused(tmp_path: Path):
    (tmp_path / "w.txt").write_text("0 0\n1 1\n")
    with pytest.raises(ModelError, match=r"interval: .*w\.txt has times in its first column"):
        wavelets.shape_of(spec("file", path="w.txt", interval=0.5), tmp_path)


def test_a_moment_that_stays_has_the_spectrum_of_its_rate(tmp_path):
    """Samples of a moment end at its full size; only what it changes by between them radiates."""
    times = 0.002 * np.arange(400)
    slope = np.cosh((times - 0.4) / 0.05) ** -2 / 0.1
    files = {"moment": 0.5 + 0.5 * np.tanh((times - 0.4) / 0.05), "moment_rate": slope}
    above = []
    for name, samples in files.items():
        path = tmp_path / f"{name}.txt"
        np.savetxt(path, np.column_stack([times, samples]))
        is_moment = name == "moment"
        file = spec("file", path=str(path))
        above.append(wavelets.energy_above(file, 5.0, 1 + is_moment, rate=is_moment))
    assert above[0] == pytest.approx(above[1], rel=1e-3)
    assert 1e-3 < above[0] < 0.5

"""Finite faults: files of ruptures, moments, and what subfaults act together as."""

import h5py
import numpy as np
import pytest

import solver
from seismo.acquisition.locator import Projection
from seismo.acquisition.slip_rate import SlipRate, SlipRates
from seismo.acquisition.time_dispersion import add_dispersion
from seismo.errors import ScenarioError
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

GEOGRAPHIC = {"longitude": -118.0, "latitude": 34.0, "azimuth": 20.0}
RHO, VS = 2200.0, 1200.0  # of `solver.uniform`
AREA = 400.0  # m2
STEP = 4e-4  # s
RISE = 0.05
TIMES = np.arange(0.0, RISE + STEP / 2, STEP)
RATE = np.sin(np.pi * TIMES / RISE) ** 2 * 2 / RISE  # 1/s, unit area


def point(x, y, z, angles=(30.0, 60.0, 70.0), onset=0.01, slip=0.5, version=2, across=0.0):
    """Write a subfault at x, y, z in m whose slip, and that across it, is in m."""
    scenario = from_dict(elastic([{"type": "explosion"}]))
    longitude, latitude = Projection(scenario.geographic).to_geographic(x, y)
    strike, dip, rake = angles
    words = [f"{longitude:.12f} {latitude:.12f} {z / 1e3:.9f} {strike} {dip} {AREA * 1e4}"]
    words += [f"{onset} {STEP}" + (f" {VS * 100} {RHO / 1000}" if version == 2 else "")]
    lines = [" ".join(words)]
    counts = (RATE.size, RATE.size if across else 0)
    lines.append(f"{rake} {slip * 100} {counts[0]} {across * 100} {counts[1]} 0.0 0")
    rates = np.concatenate([100 * slip * RATE, 100 * across * RATE][: 1 + bool(across)])
    lines += [" ".join(f"{rate:.9e}" for rate in chunk) for chunk in np.split(rates, [50])]
    return "\n".join(lines)


def srf(*blocks, version=2):
    """Write a file of several segments, each a list of subfaults."""
    head = f"{version}.0\n# of a test\nPLANE {len(blocks)}\n" + "0 0 1 1 1 1\n0 0 0 0 0\n" * len(
        blocks
    )
    return head + "\n".join(f"POINTS {len(b)}\n" + "\n".join(b) for b in blocks) + "\n"


def elastic(sources, **changes):
    wavelet = {"wavelet": {"type": "ricker", "frequency": 10.0}, "position": solver.place(3, 9)}
    known = [s if s["type"] == "finite_fault" or "wavelet" in s else s | wavelet for s in sources]
    changes = {"steps": None, "time": {"duration": 0.16}} | changes
    return solver.plan("elastic", 3, sources=known, geographic=GEOGRAPHIC, **changes)


def fault(folder, text, **keys):
    (folder / "fault.srf").write_text(text)
    return {"type": "finite_fault", "path": "fault.srf", "name": "fault"} | keys


def sources_of(folder, text, **keys):
    return discretize(from_dict(elastic([fault(folder, text, **keys)]), folder)).shots[0]


def as_tensor(position, onset=0.01, moment=AREA * 0.5 * RHO * VS**2, rake=70.0):
    """Give the same subfault as a moment tensor whose wavelet is a file of the same samples."""
    return {
        "type": "moment_tensor", "strike": 30.0, "dip": 60.0, "rake": rake, "moment": moment,
        "position": dict(zip("xyz", position, strict=True)),
        "wavelet": {"type": "file", "path": "rate.txt"}, "delay": onset,
    }  # fmt: skip


@pytest.mark.parametrize("version", [1, 2])
def test_one_subfault_is_the_point_source_of_its_moment(tmp_path, version):
    """SRF 1.0 takes the rigidity of the model, 2.0 its own; here they are the same."""
    np.savetxt(tmp_path / "rate.txt", np.stack([TIMES, RATE], axis=1))
    place = (120.0, 140.0, 95.0)
    shot = sources_of(tmp_path, srf([point(*place, version=version)], version=version))
    (tensor,) = discretize(from_dict(elastic([as_tensor(place)]), tmp_path)).shots[0].sources
    (subfault,), (summary,) = shot.sources, shot.summaries
    assert subfault.position == pytest.approx(place, abs=1e-5)
    assert subfault.strength == pytest.approx(tensor.strength, rel=1e-6)
    times = np.arange(300) * 5e-4 + 1.3e-4
    # a line between samples errs by (step^2 / 8) of the second derivative of the rate
    error = STEP**2 / 8 * np.pi**2 * 4 / RISE**3 * 1.01
    assert np.abs(subfault.signal(times, 1) - tensor.signal(times, 1)).max() < error
    assert summary.moment == pytest.approx(AREA * 0.5 * RHO * VS**2, rel=1e-8)
    assert summary.moments[1] == pytest.approx(summary.moment, rel=1e-8)
    assert np.isnan(summary.moments[0]) == (version == 1)


def test_slip_across_the_rake_adds_as_a_vector(tmp_path):
    shot = sources_of(tmp_path, srf([point(120, 140, 95, slip=0.3, across=0.4)]))
    turned = sources_of(
        tmp_path, srf([point(120, 140, 95, (30, 60, 70 + np.degrees(np.arctan2(4, 3))))])
    )
    (summary,), (sole,) = shot.summaries, turned.sources
    assert len(shot.sources) == 2
    assert summary.strength == pytest.approx(sole.strength, rel=1e-5)
    assert summary.moment == pytest.approx(AREA * 0.5 * RHO * VS**2, rel=1e-8)


def test_slip_across_the_rake_may_be_negative(tmp_path):
    """As much as that along it: the moment, the rate and the frequencies are those of +0.5 m."""
    back, there = (
        sources_of(
            tmp_path,
            srf([point(x, 140, 95, across=a, onset=x / 3000) for x in (60, 80, 100)]),
        ).summaries[0]
        for a in (-0.5, 0.5)
    )
    assert back.moment == pytest.approx(there.moment)
    times = np.linspace(there.start, there.end, 50)
    np.testing.assert_allclose(back.signal(times, 1), there.signal(times, 1))
    assert len(back.directivity.rates) == len(there.directivity.rates) > 0


def test_slip_across_the_rake_that_is_rounding_does_not_count(tmp_path):
    """Its rates over what they amount to would be those of a slip of their own, and noise."""
    first, second, *rates = LINE
    second = second.replace(" 0.0 0 0.0 0", " 0.0 3 0.0 0")
    text = srf(["\n".join([first, second, *rates, "1e-13 -2e-13 1.00001e-13"])])
    (subfault,) = sources_of(tmp_path, text).sources
    (sole,) = sources_of(tmp_path, srf([point(120, 140, 95)])).sources
    assert subfault.strength == pytest.approx(sole.strength, rel=1e-12)


@pytest.mark.slow
def test_a_fault_is_the_sum_of_its_subfaults(tmp_path):
    """Of two segments; traces are the sum of single runs, but for what lies above all that moves.

    Layers take no frequency from the sources, which is another one for each run.
    """
    spots = [(120.0, 140.0, 95.0), (131.0, 144.0, 99.0), (142.0, 149.0, 88.0)]
    texts = [point(*s, onset=0.01 + 0.013 * k, slip=0.2 + 0.1 * k) for k, s in enumerate(spots)]
    time = {"duration": 0.16, "step": 1.1e-3, "dispersion_removal": True}
    layers = {"layer": {"points": 4, "alpha": 20.0}}

    def run(text, **how):
        document = elastic([fault(tmp_path, text)], time=time, boundaries=layers, cells=17)
        return solver.traces(solver.simulate(document, tmp_path, **how))

    together = run(srf(texts[:2], texts[2:]))
    cut = run(srf(texts[:2], texts[2:]), parts=(2, 2))
    assert all(np.array_equal(cut[name], trace) for name, trace in together.items())
    singles = [run(srf([text])) for text in texts]
    for name in ("vx", "vy", "vz"):
        total = sum(single[name] for single in singles)
        assert np.abs(together[name] - total).max() < 1e-6 * np.abs(total).max() > 0.0


def test_samples_longer_than_the_step_keep_the_moment_and_the_spectrum():
    """Steps of a run three times and a tenth as long as those of the file."""
    rate = SlipRate.of(0.2, 0.01, np.array([0.0, 3.0, 1.0, 0.5, 0.2]) / 0.047)
    frequency = np.linspace(0.0, 8.0, 50)

    def spectrum(t, r, dt):
        return np.exp(-2j * np.pi * np.outer(frequency, t)) @ r * dt

    knots = rate.first + rate.step * np.arange(rate.knots.size)
    exact = spectrum(knots, rate.knots, rate.step) * np.sinc(frequency * rate.step) ** 2
    for dt in (1e-3, 0.0137):
        times = np.arange(0.0, 0.5, dt)
        samples = rate.resampled(times)
        assert samples.sum() * dt == pytest.approx(1.0, abs=1e-12)
        # what aliases to 8 Hz from beside 1 / dt is its spectrum there, times 8 Hz * dt
        assert np.abs(spectrum(times, samples, dt) - exact).max() < (2e-4 if dt < 0.01 else 0.02)
    assert rate.integral(np.array([0.0, 1.0])) == pytest.approx([0.0, 1.0], abs=1e-12)


def test_smoothing_is_the_convolution_with_a_gaussian():
    """A hat of half width 0.1 s: its spectrum times exp(-(2 pi f sigma)^2 / 2)."""
    sigma = 0.08
    rate = SlipRate.of(1.0, 0.1, np.array([0.0, 10.0])).smoothed(sigma)
    t = np.arange(0.0, 2.4, 1e-3)
    f = np.linspace(0.0, 12.0, 60)
    spectrum = np.exp(-2j * np.pi * np.outer(f, t - 1.1)) @ rate.value(t) * 1e-3
    exact = np.sinc(0.1 * f) ** 2 * np.exp(-0.5 * (2 * np.pi * f * sigma) ** 2)
    assert np.abs(spectrum - exact).max() < 1e-4
    assert rate.area == pytest.approx(1.0, abs=1e-12)
    assert np.diff(rate.integral(t)).sum() == pytest.approx(1.0, abs=1e-9)
    middle, h = t + 5e-4, 1e-5
    rise = (rate.value(middle + h) - rate.value(middle - h)) / (2 * h)
    assert rate.slope(middle) == pytest.approx(rise, abs=1e-4)


def test_the_sum_of_rates_has_the_sum_of_their_moments():
    onset, step, starts = 0.3 * np.arange(4), np.full(4, 0.05), 3 * np.arange(5)
    many = SlipRates(onset, step, starts, np.tile([0.0, 1.0, 0.5], 4))
    rates = [many.rate(k) for k in range(4)]
    total = many.weighted_sum(np.array([1.0, 2.0, 3.0, 4.0]))
    assert total.area == pytest.approx(10 * 1.5 * 0.05, rel=1e-12)
    t = np.array([0.31, 0.4, 1.5])
    exact = sum(w * r.integral(t) for w, r in zip((1, 2, 3, 4), rates, strict=True))
    # a rate is spread over its half interval: by an eighth of that and 1 / s at t = 0.31
    assert total.integral(t) == pytest.approx(exact, abs=0.025 / 8)


def test_short_signals_take_time_dispersion_as_long_ones_do():
    """A pulse of 40 steps at step 2000, in a window that begins a quarter of that before it."""
    n, begin = 2400, 1460
    pulse = np.zeros(n)
    pulse[1990:2031] = np.hanning(41)
    whole = add_dispersion(pulse, 0.5)
    window = add_dispersion(
        np.stack([pulse[begin:2100], pulse[: 2100 - begin]]), np.array([[begin + 0.5], [0.5]])
    )
    assert np.abs(window[0] - whole[begin:2100]).max() < 1e-4
    assert np.abs(whole[:begin]).max() < 3e-4  # the corners of the pulse
    assert np.array_equal(window[1], np.zeros(2100 - begin))


POINTS = (
    *((n, "f4") for n in ["LON", "LAT", "DEP", "STK", "DIP", "AREA", "TINIT", "DT", "VS", "DEN"]),
    ("RAKE", "f4"), ("SLIP1", "f4"),
    ("NT1", "i4"), ("SLIP2", "f4"), ("NT2", "i4"), ("SLIP3", "f4"), ("NT3", "i4"),
)  # fmt: skip


def as_hdf5(path, texts, across):
    """Write subfaults as SW4 does, with the slip across the rake or without."""
    rows, rates = list[tuple](), (list[float](), list[float]())
    for text in texts:
        about, sizes, *lines = text.split("\n")
        rows.append(tuple(float(word) for word in (about + " " + sizes).split()))
        samples = [float(word) for line in lines for word in line.split()]
        rates[0].extend(samples[: RATE.size])
        rates[1].extend(samples[RATE.size :])
    with h5py.File(path, "w") as file:
        file.attrs["VERSION"] = np.float32(2.0)
        file["POINTS"] = np.array(rows, list(POINTS))
        file["SR1"] = np.array(rates[0], "f4")
        if across:
            file["SR2"] = np.array(rates[1], "f4")


def test_srf_hdf5_is_the_srf_it_was_made_of(tmp_path):
    """To the rounding of its float32: 0.4 m in longitude."""
    texts = [point(120, 140, 95, across=0.2), point(131, 144, 99, slip=0.3, onset=0.03)]
    exact = sources_of(tmp_path, srf(texts))
    as_hdf5(tmp_path / "fault.h5", texts, True)
    source = {"type": "finite_fault", "path": "fault.h5"}
    shot = discretize(from_dict(elastic([source]), tmp_path)).shots[0]
    times = np.arange(0.0, 0.12, 1e-3)
    assert len(shot.sources) == len(exact.sources) == 3
    for one, other in zip(shot.sources, exact.sources, strict=True):
        assert one.position == pytest.approx(other.position, abs=0.5)
        assert one.strength == pytest.approx(other.strength, rel=1e-5)
        # onsets differ by 1e-9 s, intervals by 1e-8 of them
        assert one.signal(times, 1) == pytest.approx(other.signal(times, 1), abs=1e-3)
    as_hdf5(tmp_path / "fault.h5", texts, False)
    with pytest.raises(ScenarioError, match="subfault 1: NT1 to NT3 are more slip rates"):
        discretize(from_dict(elastic([source]), tmp_path))
    with h5py.File(tmp_path / "fault.h5", "w") as file:
        file["SR1"] = np.zeros(3)
    with pytest.raises(ScenarioError, match="no datasets POINTS and SR1"):
        discretize(from_dict(elastic([source]), tmp_path))


LINE = point(120, 140, 95).split("\n")
ABOUT = LINE[0].split()
LATE = "\n".join([" ".join([*ABOUT[:6], "1e308", *ABOUT[7:]]), *LINE[1:]])
BACK = "\n".join([LINE[0], "70.0 0 4 0 0 0 0", "0.1 0.2 -0.1 -0.2"])  # sums to 2.8e-17


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        (srf([point(120, 140, 95), point(1e4, 140, 95)]), {}, "srf:11: subfault 2: x = 10000 m"),
        (srf([point(120, 140, -40)]), {}, "fault.srf:7: subfault 1: lies 40 m above the surface"),
        (srf([point(120, 140, 95, version=1)], version=1), {"rigidity": "file"},
         r"sources\[0\].rigidity: .*use model"),
        (srf(LINE[:3]).replace("POINTS 3", "POINTS 1"), {}, "ends before all subfaults"),
        (srf([point(120, 140, 95), point(120, 240, 95)]).replace("POINTS 2", "POINTS 1"), {},
         r"srf:\d+: more follows the 1 of POINTS; write how many there are"),
        (srf([point(120, 140, 95)]).replace(" 60.0 ", " 60.O "), {}, "srf:7: .*expected LON LAT"),
        (srf([point(120, 140, 95)]).replace("0.0 0\n", "3.0 1\n1.0 "), {}, "opens|slip rates"),
        (srf([point(120, 140, 95)]).replace("2.0\n", "3.0\n", 1), {}, "no version 1.0 or 2.0"),
        (srf([point(120, 140, 95, slip=0.0)]), {}, "none of its 1 subfaults slips"),
        (srf([BACK]), {}, "subfault 1: moves 2.4e-06 m back and forth along its"),
        (srf([point(120, 140, 95), LATE]), {}, r"subfault 2 slips from 1e\+308 to 1e\+308 s"),
        ("", {}, "no version"),
    ],
)  # fmt: skip
def test_files_that_do_not_do_are_refused(tmp_path, text, keys, message):
    with pytest.raises(ScenarioError, match=message):
        sources_of(tmp_path, text, **keys)

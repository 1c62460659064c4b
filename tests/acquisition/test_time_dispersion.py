"""Time-dispersion removal: theory of the leapfrog oscillator, whose exact answers are closed forms.

The transform has no error of its own but that of the non-uniform FFT (about 1e-11) and of what the
record does not hold; the bounds below leave a margin over both and stay far under the error that
leapfrog makes without the transform, which each test also measures.
"""

import tracemalloc

import numpy as np
import pytest

from seismo.acquisition.time_dispersion import add_dispersion, dispersion_margin, remove_dispersion


def ricker(t, frequency, centre):
    a = (np.pi * frequency * (t - centre)) ** 2
    return (1.0 - 2.0 * a) * np.exp(-a)


def oscillator_exact(t, w0, source, fine=256):
    """Return u of u'' + w0^2 u = s by Duhamel's integral, on a grid much finer than t."""
    step = (t[1] - t[0]) / fine
    tau = np.arange(t.size * fine) * step  # the source starts from zero at tau = 0
    s = source(tau)
    cosine = np.cumsum(s * np.cos(w0 * tau)) * step
    sine = np.cumsum(s * np.sin(w0 * tau)) * step
    last = np.minimum(np.rint(t / step).astype(int), tau.size - 1)
    return (np.sin(w0 * t) * cosine[last] - np.cos(w0 * t) * sine[last]) / w0


def leapfrog(source, dt, w0):
    u = np.zeros(source.size)
    for n in range(1, source.size - 1):
        u[n + 1] = 2 * u[n] - u[n - 1] + dt**2 * (source[n] - w0**2 * u[n])
    return u


def relative(result, expected):
    return np.linalg.norm(result - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("offset", [0.0, 0.5])
@pytest.mark.parametrize("count", [700, 701, 4096])
def test_removing_what_was_added_gives_the_signal_back(offset, count):
    # The two maps of frequency are inverse to each other; a Ricker of 0.07 / dt ends by 0.25 / dt.
    dt = 2e-3
    t = (np.arange(count) + offset) * dt
    signal = ricker(t, 0.07 / dt, 0.6 * count * dt)
    dispersed = add_dispersion(signal, offset)
    assert relative(dispersed, signal) > 0.3
    back = remove_dispersion(dispersed, offset)
    assert np.max(np.abs(back - signal)) < 1e-6


@pytest.mark.parametrize("steps_per_period", [6.0, 8.0, 12.0])
def test_an_oscillator_is_exact_over_hundreds_of_periods(steps_per_period):
    # Leapfrog's frequency error (w0 dt)^2 / 24 turns the phase by many radians in 300 periods.
    w0 = 2 * np.pi
    dt = 1.0 / steps_per_period
    t = np.arange(int(300 * steps_per_period)) * dt

    def source(time):
        return ricker(time, 0.4, 4.0)

    expected = oscillator_exact(t, w0, source)
    plain = leapfrog(source(t), dt, w0)
    assert relative(plain, expected) > 0.5
    dispersed = leapfrog(add_dispersion(source(t)), dt, w0)
    result = remove_dispersion(dispersed)
    inner = slice(0, t.size - dispersion_margin(t.size))
    assert np.max(np.abs(result - expected)[inner]) < 1e-5 * np.max(np.abs(expected))


def test_only_the_pair_of_transforms_is_exact():
    # Near resonance neither transform alone suffices: the source's phase is wrong by its delay.
    w0, dt = 2 * np.pi, 1.0 / 7.0
    t = np.arange(1400) * dt

    def source(time):
        return ricker(time, 0.5, 30.0)

    expected = oscillator_exact(t, w0, source)
    inner = slice(0, t.size - dispersion_margin(t.size))
    only_remove = remove_dispersion(leapfrog(source(t), dt, w0))
    only_add = leapfrog(add_dispersion(source(t)), dt, w0)
    both = remove_dispersion(leapfrog(add_dispersion(source(t)), dt, w0))
    assert relative(only_remove[inner], expected[inner]) > 0.5
    assert relative(only_add[inner], expected[inner]) > 0.5
    assert relative(both[inner], expected[inner]) < 1e-5


def test_a_staggered_scheme_is_exact_in_both_fields():
    # v' = -w0 s + f at half steps, s' = w0 v + m at whole steps: f at whole steps, m at half steps.
    w0, dt, count = 2 * np.pi, 1.0 / 7.0, 1400
    whole = np.arange(count) * dt
    half = (np.arange(count) + 0.5) * dt

    def force(time):
        return ricker(time, 0.5, 4.0)

    def moment_rate(time):
        return 0.7 * ricker(time, 0.4, 9.0)

    f = add_dispersion(force(whole))
    m = add_dispersion(moment_rate(half), 0.5)
    v, s = np.zeros(count), np.zeros(count)  # v[n] at (n + 1/2) dt, s[n] at n dt
    for n in range(1, count):
        s[n] = s[n - 1] + dt * (w0 * v[n - 1] + m[n - 1])
        v[n] = v[n - 1] + dt * (-w0 * s[n] + f[n])
    v = remove_dispersion(v, 0.5)
    s = remove_dispersion(s)
    # Exact: s'' + w0^2 s = w0 f + m', v'' + w0^2 v = f' - w0 m, with derivatives of the Rickers.
    step = 1e-4

    def rate(shape):
        return lambda time: (shape(time + step) - shape(time - step)) / (2 * step)

    exact_s = oscillator_exact(whole, w0, lambda q: w0 * force(q) + rate(moment_rate)(q))
    fine = oscillator_exact(
        np.arange(2 * count) * (dt / 2), w0, lambda q: rate(force)(q) - w0 * moment_rate(q)
    )
    exact_v = fine[1::2]
    inner = slice(0, count - dispersion_margin(count))
    assert relative(s[inner], exact_s[inner]) < 1e-5
    assert relative(v[inner], exact_v[inner]) < 1e-5


def test_a_record_needs_nothing_from_after_its_end():
    # True time k holds what stands at k cos(phi) <= k in the dispersed record.
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(3000)
    smooth = np.convolve(noise, np.hanning(13) / 6.0, "same")
    long = remove_dispersion(smooth)
    short = remove_dispersion(smooth[:2000])
    assert np.max(np.abs(long[:1900] - short[:1900])) < 1e-5


def test_early_samples_are_not_polluted_by_a_wrap():
    signal = ricker(np.arange(2000.0), 0.05, 1900.0)
    assert np.max(np.abs(add_dispersion(signal)[:900])) < 1e-8
    assert np.max(np.abs(remove_dispersion(signal)[:1000])) < 1e-8


def test_a_constant_stays_constant():
    # Zero frequency is mapped on itself: a static offset must pass.
    steps = np.concatenate([np.zeros(300), np.hanning(400)[:200], np.ones(1500)])
    for transform in (add_dispersion, remove_dispersion):
        assert np.allclose(transform(steps)[-800:-30], 1.0, atol=1e-3)


def test_shape_and_precision_are_kept_and_memory_is_bounded():
    traces = np.zeros((2, 60, 20000), np.float32)
    traces[..., 500] = 1.0
    tracemalloc.start()
    result = remove_dispersion(traces)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.shape == traces.shape
    assert result.dtype == np.float32
    assert peak < 700e6
    assert add_dispersion(np.zeros((3, 0))).shape == (3, 0)
    assert add_dispersion(np.ones(1)).shape == (1,)

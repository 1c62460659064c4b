"""Measures of ground motion against closed forms and an independent integration (scipy)."""

import csv
from math import exp, pi, sqrt

import numpy as np
import pytest
from scipy.signal import lsim

from seismo import open_results
from seismo.acquisition import ground_motion as measures
from seismo.errors import ScenarioError
from seismo.output.export import export
from seismo.output.results_file import ResultsWriter

DT = 0.01
TIME = DT * np.arange(1201)


@pytest.mark.parametrize(("period", "damping"), [(0.05, 0.05), (1.0, 0.2), (7.5, 0.0)])
def test_an_oscillator_is_exact_for_motion_that_is_linear_between_samples(period, damping):
    """Lsim with a first-order hold is exact there, too; the rest is rounding."""
    ground = np.random.default_rng(3).standard_normal((2, 300))
    w = 2 * pi / period
    system = ([[0.0, 1.0], [-(w**2), -2 * damping * w]], [[0.0], [-1.0]], [[1.0, 0.0]], [[0.0]])
    response = measures.oscillator(ground, DT, period, damping)
    for own, motion in zip(response, ground, strict=True):
        wanted = w**2 * lsim(system, motion, DT * np.arange(300))[1]
        np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("period", [0.02, 0.5, 3.0])
def test_spectra_of_a_sudden_and_constant_acceleration(period):
    """SA = a (1 + exp(-pi d / sqrt(1 - d^2))) at every period; between samples, too."""
    damping = 0.05
    wanted = 2.0 * (1 + exp(-pi * damping / sqrt(1 - damping**2)))
    ground = np.full(TIME.size, 2.0)
    own = measures.peak(measures.spectral_response(ground, DT, period, damping))
    assert own == pytest.approx(wanted, rel=1e-3)


def test_spectra_of_harmonic_motion_in_resonance():
    """After many cycles SA = a / (2 d) where the period is that of the ground."""
    ground = 3.0 * np.sin(2 * pi * TIME / 0.4)
    own = measures.peak(measures.spectral_response(ground, DT, 0.4, 0.1))
    assert own == pytest.approx(3.0 / (2 * 0.1), rel=3e-3)


def test_rotated_peaks_of_circular_and_of_linear_motion():
    angle = 2 * pi * TIME
    half, full = measures.rotated_peaks(2 * np.cos(angle), 2 * np.sin(angle))
    assert (half, full) == (pytest.approx(2.0, rel=1e-3), pytest.approx(2.0, rel=1e-3))
    along = np.radians(30.0)
    half, full = measures.rotated_peaks(
        np.sin(angle) * np.cos(along), np.sin(angle) * np.sin(along)
    )
    assert full == pytest.approx(1.0)
    assert half == pytest.approx(1 / sqrt(2), rel=1e-2)  # directions are a degree apart


def test_intensities_and_durations_of_a_sine():
    """Integrals over whole cycles: a^2 t / 2 and 2 a t / pi; shares of it take as much time."""
    ground = np.stack([0.5 * np.sin(2 * pi * TIME), np.zeros(TIME.size)])
    arias = measures.arias_intensity(ground, DT)
    assert arias[0] == pytest.approx(pi / (2 * 9.80665) * 0.5**2 * 12 / 2, rel=1e-3)
    cav = measures.cumulative_absolute_velocity(ground, DT)
    assert cav[0] == pytest.approx(2 * 0.5 * 12 / pi, rel=1e-3)
    assert (arias[1], cav[1]) == (0, 0)
    even = np.stack([np.full(TIME.size, -2.0), np.zeros(TIME.size)])
    for last in (0.75, 0.95):
        durations = measures.significant_duration(even, DT, 0.05, last)
        assert durations[0] == pytest.approx((last - 0.05) * 12, rel=1e-12)
        assert np.isnan(durations[1])


def test_a_triangle_of_acceleration_has_its_exact_integrals():
    """Linear between samples: nothing is left to rounding, where it changes its sign, too."""
    ground = np.array([0.0, 3.0, -1.0, 0.0])
    assert measures.cumulative_absolute_velocity(ground, 2.0) == pytest.approx(3 + 2.5 + 1)
    square = 2 / 3 * (9 + (9 - 3 + 1) + 1)
    assert measures.arias_intensity(ground, 2.0) == pytest.approx(pi / (2 * 9.80665) * square)


def write_station(path, time):
    """Write one station: acceleration along x and z, velocity; x points east."""
    one = {"x": [3e3], "y": [4e3], "z": [0.0], "longitude": [10.0], "latitude": [50.0]}
    ground = np.exp(-((time - 4) ** 2)) * np.sin(8 * time)
    traces = {"ax": ground, "ay": 0 * time, "az": 0.5 * ground, "vx": 2 * ground}
    units = {name: "m/s^2" if name[0] == "a" else "m/s" for name in traces}
    with ResultsWriter(path, scenario_text="", resolved="", attributes={"f_max": 2.0}) as writer:
        writer.write_sources([{"name": "s", "type": "force", "x": 0.0, "y": 0.0, "z": 1e3}])
        writer.create_traces(
            "net", shots=["shot_000"], codes=["CI.A"], positions=one | {"x_azimuth": [90.0]},
            requested=one, time=time, quantities=units,
        )  # fmt: skip
        for name, samples in traces.items():
            writer.write(f"traces/net/{name}", 0, samples[None].astype("f4"))
    return path, ground


@pytest.fixture
def station(tmp_path):
    return write_station(tmp_path / "quake.h5", TIME)


def test_measures_do_not_depend_on_the_sampling_interval(tmp_path):
    """Four samples in the shortest period: peaks, integrals and durations to 0.3 %."""
    tables = []
    for interval in (0.005, 0.125):
        path, _ = write_station(tmp_path / f"{interval}.h5", np.arange(0.0, 12.0, interval))
        with open_results(path) as results:
            tables.append(results.ground_motion(periods=[0.5, 0.8, 3.0]))
    for fine, coarse in zip(*tables, strict=True):
        for title in fine:
            if title.startswith(("pg", "sa_", "arias", "cav", "d5")):
                assert coarse[title] == pytest.approx(fine[title], 3e-3, 1e-6, nan_ok=True), title


def test_the_table_has_a_row_for_each_component(station, tmp_path, command_line):
    path, ground = station
    with open_results(path) as results:
        rows = {row["component"]: row for row in results.ground_motion()}
        with pytest.raises(ScenarioError, match="give numbers above 0"):
            results.ground_motion(periods=[0.0])
        with pytest.raises(ScenarioError, match="sac has no spectra"):
            list(export(results, "sac", periods=[1.0]))
    pga = np.abs(ground).max()
    assert list(rows) == ["X", "N", "E", "Z", "RotD50", "RotD100"]
    assert rows["E"]["pga (m/s^2)"] == pytest.approx(pga)
    assert rows["N"]["pga (m/s^2)"] == pytest.approx(0, abs=1e-6)
    assert rows["Z"]["pga (m/s^2)"] == pytest.approx(0.5 * pga)
    assert rows["RotD100"]["pga (m/s^2)"] == pytest.approx(pga)
    assert rows["X"]["pgv (m/s)"] == pytest.approx(2 * pga)
    assert rows["E"]["distance (m)"] == 5000.0
    assert "sa_0.3s (m/s^2)" not in rows["E"], "shorter than the grid resolves"
    wanted = measures.peak(measures.spectral_response(ground, DT, 1.5))
    for component, share in (("E", 1), ("Z", 0.5), ("RotD100", 1), ("RotD50", 1 / sqrt(2))):
        assert rows[component]["sa_1.5s (m/s^2)"] == pytest.approx(share * wanted, rel=1e-2)
    assert rows["Z"]["arias (m/s)"] == pytest.approx(0.25 * rows["E"]["arias (m/s)"])
    code, out, err = command_line("export", str(path), "ground-motion", "--periods", "1.5")
    assert (code, out) == (0, f"{tmp_path}/quake-ground-motion.csv\n")
    assert "measures of displacement are left out" in err
    with (tmp_path / "quake-ground-motion.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["component"] for row in table] == list(rows)
    assert float(table[2]["sa_1.5s (m/s^2)"]) == pytest.approx(wanted, rel=1e-5)
    assert table[4]["cav (m/s)"] == ""
    code, _, err = command_line("export", str(path), "ground-motion", "--periods", "1,x")
    assert (code, err.splitlines()[-1]) == (
        2, "--periods 1,x: give numbers in s, such as 0.3,1,3"
    )  # fmt: skip

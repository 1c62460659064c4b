"""Maps of spectral acceleration and RotD against the responses of recorded motion.

Between steps acceleration is linear for both, so that responses differ by rounding only; peaks
along 90 directions are those along 180 but for the motion between two of them.
"""

import copy

import numpy as np
import pytest

import seismo
from seismo.acquisition import ground_motion as measures
from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import choose
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.grid.coefficients import Stencil
from seismo.grid.decomposition import decompose
from seismo.grid.time_step import Clock
from seismo.output.run_directory import checkpoint
from seismo.output.store.layout import long_name, symbol
from seismo.runs.prediction.checks.timing import unlike_the_motion
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.speed import RooflineMachine, map_seconds
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.fields import Fields, RankFields
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.sampling.output_sets import make_maps
from seismo.solver.sampling.peak_maps import MapReading, PeakMaps
from seismo.solver.simulation import Simulation
from test_maps import EVERY_PLANE, GRID, ORDER, entry

DT, STEPS = 0.01, 24
PERIODS = (0.03, 0.4, 5.0)  # of 24, 2 and 1 parts of a step
TIME = DT * (np.arange(STEPS + 1) + 0.5)
HISTORY = {
    "vx": np.sin(40.0 * TIME) * TIME,
    "vy": np.cos(31.0 * TIME) * np.sin(20.0 * TIME),
    "vz": TIME**2,
}


def check_responses(backend: Backend) -> None:
    """Compare maps of even motion, the last sample included, with measures of its history."""
    physics = physics_for("elastic", 3)
    ((subdomain,),) = decompose(GRID, ORDER // 2, (1, 1), 1)
    fields = Fields(backend, physics, subdomain, EVERY_PLANE, 0)
    interpolation = PointInterpolation(GRID, physics, None, False, Stencil(ORDER), None)
    names = ("sa", "sa_x", "sa_rotd50", "sa_rotd100", "pga_rotd50", "pgv_rotd50", "pga_horizontal")
    asked = entry((*names, "pga_z"), decimate=9, periods=PERIODS, damping=0.07)
    maps = make_maps(asked, GRID, physics)
    clock = Clock(DT, STEPS, DT, DT)
    peaks = PeakMaps(
        RankFields(backend, [fields], 1, SerialCommunicator()),
        MapReading(interpolation),
        [maps],
        clock,
    )
    launches = peaks.launches(0)
    # Steps beyond the duration change nothing, whatever the motion.
    for step in range(STEPS + 3):
        backend.clock[:] = step
        for name, motion in HISTORY.items():
            fields.arrays(0)[name][:] = np.float32(motion[step] if step <= STEPS else 1e3)
        for launch in launches:
            launch()
    velocity = np.array(list(HISTORY.values()))
    acceleration = np.diff(velocity, axis=1, prepend=0.0) / DT
    wanted = {
        "pga_rotd50": measures.rotated_peaks(*acceleration[:2])[0],
        "pgv_rotd50": measures.rotated_peaks(*velocity[:2, :STEPS])[0],
        "pga_horizontal": np.hypot(*acceleration[:2]).max(),
        "pga_z": acceleration[2, STEPS],  # the last one
    }
    # The ground is at rest a step before the first sample.
    padded = np.pad(acceleration, ((0, 0), (1, 0)))
    for period in PERIODS:
        response = measures.spectral_response(padded, DT, period, 0.07)
        half, full = measures.rotated_peaks(*response[:2])
        wanted |= {
            f"sa_{period:g}s": np.linalg.norm(response, axis=0).max(),
            f"sa_x_{period:g}s": measures.peak(response[0]),
            f"sa_rotd50_{period:g}s": half,
            f"sa_rotd100_{period:g}s": full,
        }
    found = peaks.peaks(0)
    assert set(found) == {f"m/{name}" for name in wanted}
    for name, value in wanted.items():
        tolerance = 2e-4 if "rotd" in name else 1e-5
        np.testing.assert_allclose(found[f"m/{name}"], value, rtol=tolerance, err_msg=name)


@pytest.mark.parametrize(
    "kind", [pytest.param(ReferenceBackend, marks=pytest.mark.slow), CpuBackend]
)
def test_maps_hold_the_responses_of_their_motion(kind):
    check_responses(kind("float32"))


@pytest.mark.slow
def test_slow_oscillators_of_many_steps_keep_their_damping():
    """Single precision in 40 000 steps of a period: 0.1 % of SA in resonance.

    e^(s h) itself would be rounded by 1 % of what it differs from 1.
    """
    physics = physics_for("elastic", 3)
    backend = CpuBackend("float32")
    ((subdomain,),) = decompose(GRID, ORDER // 2, (1, 1), 1)
    fields = Fields(backend, physics, subdomain, EVERY_PLANE, 0)
    interpolation = PointInterpolation(GRID, physics, None, False, Stencil(ORDER), None)
    period, dt, steps = 4.0, 1e-4, 40_000
    maps = make_maps(entry(("sa_x",), decimate=20, periods=(period,)), GRID, physics)
    clock = Clock(dt, steps, dt, dt)
    peaks = PeakMaps(
        RankFields(backend, [fields], 1, SerialCommunicator()),
        MapReading(interpolation),
        [maps],
        clock,
    )
    oscillate, raise_peaks, change = peaks.launches(0)[-3:]
    motion = np.sin(2 * np.pi / period * dt * (np.arange(steps + 1) + 0.5)).astype("f4")
    (values,) = (one._amplitudes for one in peaks._sets)
    for step, velocity in enumerate(motion):
        backend.clock[0] = step
        values[:] = velocity
        for launch in (oscillate, raise_peaks, change):
            launch()
    wanted = measures.oscillator(np.diff(motion.astype(float), prepend=0.0) / dt, dt, period)
    np.testing.assert_allclose(peaks.peaks(0)["m/sa_x_4s"], measures.peak(wanted), rtol=1e-3)


SCENARIO = {
    "title": "t", "physics": "elastic",
    "grid": {"extent": {"x": 240.0, "y": 200.0, "z": 120.0}, "spacing": 10.0, "order": 4},
    "time": {"duration": 0.36, "step": 0.002, "dispersion_removal": False},
    "boundaries": {"top": "free_surface", "layer": {"points": 5}},
    "model": [{"type": "uniform", "vp": 2000.0, "vs": 1200.0, "rho": 2000.0}],
    "sources": [{"type": "force", "position": {"x": 110.0, "y": 90.0, "z": 60.0},
                 "force": {"x": 1e9, "y": 5e8, "z": 1e9},
                 "wavelet": {"type": "ricker", "frequency": 5.0, "delay": 0.22}}],
    "receivers": [{"name": "n", "type": "points", "quantities": ["velocity", "acceleration"],
                   "positions": [{"x": 160.0, "y": 120.0, "z": 0.0},
                                 {"x": 60.0, "y": 90.0, "z": 0.0}]}],
    "output": {"model": False, "maps": [
        {"name": "g", "plane": {"z": 0.0}, "periods": [0.05, 0.2, 1.0],
         "quantities": ["sa_x", "sa_y", "sa_rotd50", "sa_rotd100", "pga_x", "pga_rotd50",
                        "pga_rotd100", "pgv_rotd50"]}]},
}  # fmt: skip


def test_maps_equal_the_table_of_stations(tmp_path):
    """To 0.1 %, of which interpolation to receivers and nodes are most; motion goes on at the end.

    Peaks of velocity are read at half steps there, 40 samples in a period: (pi / 40)^2 / 2 less.
    """
    with seismo.run(SCENARIO, tmp_path / "x.h5", backend="cpu") as results:
        rows = results.ground_motion(periods=[0.05, 0.2, 1.0])
        maps = results.maps["g"]
        assert maps.fact("damping") == 0.05
        columns = {"x": "X", "y": "Y", "rotd50": "RotD50", "rotd100": "RotD100"}
        by_row = {(row["code"], row["component"]): row for row in rows}
        places = {code: (y, x) for code, y, x in (("n_000", 12, 16), ("n_001", 9, 6))}
        for name in maps:
            motion, which, *period = name.split("_")
            title = f"sa_{period[0]} (m/s^2)" if period else f"{motion} ({maps.unit(name)})"
            for code, place in zip(results.traces["n"].codes, places.values(), strict=True):
                wanted = by_row[code, columns[which]][title]
                found = maps.values_of(name)[(0, *place)]
                limit = 3e-3 if motion == "pgv" else 1e-3
                assert found == pytest.approx(wanted, rel=limit), (name, code)


def test_maps_do_not_depend_on_cuts_nor_on_checkpoints(tmp_path):
    scenario = from_dict(copy.deepcopy(SCENARIO))
    discretization, backend = discretize(scenario), choose("cpu").make("float32")
    one, other, three = (
        Simulation(discretization, backend, parts) for parts in ((1, 1), (1, 3), (1, 2))
    )
    one.advance(75)
    other.advance(25)
    checkpoint.write(tmp_path, 25, {}, other.state(), np.asarray)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    three.step = 25
    checkpoint.fill([path], path, three.state(), np.asarray)
    three.advance(50)
    wanted, found = one.maps.peaks(0), three.maps.peaks(0)
    assert len(wanted) == 4 * 3 + 4
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
        assert values.any()


def maps_of(**changes):
    return from_dict(SCENARIO | {"output": {"maps": [{"quantities": ["sa"], **changes}]}})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, r"output.maps\[0\]: .*'sa' needs 'periods', such as \[0.3 s, 1 s, 3 s\]"),
        ({"quantities": ["pga"], "periods": [1.0]}, "which quantities does not list: add it"),
        ({"periods": [1.0, 0.3, 1.0]}, r"periods: .*1 s is listed twice: keep one"),
        ({"periods": [1.0], "damping": 1.0}, r"damping: 1.0: .*below 1"),
        ({"periods": [1.0], "quantities": ["sa_rotd49"]}, "did you mean 'sa_rotd50'"),
        ({"periods": [0.0]}, r"periods\[0\]: 0.0"),
    ],
)
def test_spectra_that_are_none_are_refused(changes, words):
    with pytest.raises(ScenarioError, match=words):
        maps_of(**changes)


def test_a_period_of_less_than_two_steps_is_refused():
    discretization = discretize(maps_of(periods=[1.0, 0.003]))
    with pytest.raises(
        ScenarioError, match=r"output.maps\[0\].periods\[1\]: 0.003: is below 2 time steps \(4 ms\)"
    ):
        _ = discretization.maps


def test_memory_and_time_count_oscillators_and_directions():
    """Of 3 periods in 3 directions, of which the shortest takes 29 parts of a step."""
    discretization = discretize(maps_of(quantities=["sa", "sa_rotd50"], periods=[0.005, 0.2, 1.0]))
    (maps,) = discretization.maps
    assert maps.numbers() == 3 * 3 + 2 * 3 * 3 + 3 * (1 + 90)
    assert maps.substeps(discretization.clock.dt) == [29, 1, 1]
    points = 25 * 21 * 13
    assert memory_of(discretization).maps == 4 * maps.numbers() * points
    plain = discretize(maps_of(quantities=["sa"], periods=[1.0]))
    machine = RooflineMachine("cpu", {"threads": 2})
    steps = discretization.clock.steps * points * 1e-9 / 2
    assert map_seconds(plain, machine) == pytest.approx(
        steps * (3 * 0.7 + 3 * 0.3 + 3 * 0.7 + 0.3), rel=1e-6
    )
    raised = 31 * (0.3 + 90 * 1.2)
    assert map_seconds(discretization, machine) == pytest.approx(
        steps * (3 * 0.7 + 3 * 0.3 + 3 * 31 * 0.7 + raised), rel=1e-6
    )


def test_check_names_periods_unlike_the_motion():
    lines = list(unlike_the_motion(discretize(maps_of(periods=[0.01, 0.2, 5.0]))))
    assert len(lines) == 2
    assert "periods of 0.01 s are below those of the sources' waves" in lines[0]
    assert "periods of 5 s are longer than the run" in lines[1]


def test_spectra_have_names_for_people():
    assert long_name("sa_rotd50_0.3s") == "RotD50 of spectral acceleration at 0.3 s"
    assert long_name("sa_1e-05s") == "spectral acceleration at 1e-05 s"
    assert long_name("pga_rotd100") == "RotD100 of peak ground acceleration"
    assert symbol("sa_x_10s") == "SA(10 s) x"
    assert symbol("pgv_rotd50") == "PGV RotD50"

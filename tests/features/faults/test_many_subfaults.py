"""Faults of many subfaults: what is spread by weights along each axis is what points would do.

Points act by tables of all that they act on; a fault's subfaults by products of weights, window by
window of steps. Both are the same sums in another order: they differ by rounding.
"""

import numpy as np
import pytest

import solver
from seismo.acquisition.sources import Shot
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.point_kernels import (
    PIECE,
    REACH,
    ROWS,
    WIDTH,
    spread,
    sum_segment,
)
from seismo.features.faults.injection import FaultInjection, FaultPieces
from seismo.features.faults.subfaults import placed_faults
from seismo.runs.resources.memory import memory_of
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.fields import Fields
from seismo.solver.parallel.partition import subdomains
from test_finite_fault import elastic, fault, point, srf

LAYERS = [{"type": "layers", "layers": [
    {"top": 0.0, "vp": 1500.0, "vs": 700.0, "rho": 1800.0},
    {"top": 83.0, "vp": 2600.0, "vs": 1300.0, "rho": 2300.0},
]}]  # fmt: skip
LOSSY = [{"type": "uniform", "vp": 2000.0, "vs": 1200.0, "rho": 2200.0, "qp": 60.0, "qs": 30.0}]
SURFACE = {**solver.faces(3), "top": "free_surface"}


def rough(count=12, depth=(20.0, 130.0), seed=3):
    """Give subfaults in rows of a rough plane, of all mechanisms, that begin one after another."""
    draw = np.random.default_rng(seed)
    return [
        point(70 + 5.1 * k, 95 + 4.3 * (k % 5), draw.uniform(*depth), draw.uniform(0, 90, 3),
              onset=0.01 + 0.003 * k, slip=draw.uniform(0.1, 1.0), across=0.1 * (k % 3))
        for k in range(count)
    ]  # fmt: skip


def as_points(discretization):
    """Give the same shot with every subfault as a point of its own."""
    (shot,) = discretization.shots
    every = [one.point(n) for one in shot.faults for n in range(len(one))]
    return Shot(shot.name, tuple(every), shot.summaries)


PLAIN = {"duration": 0.16, "dispersion_removal": False}


def window_of(monkeypatch, steps):
    faults = "features.faults"
    for name in ("injection.WINDOW", "injection.FaultInjection.window", "subfaults.WINDOW"):
        monkeypatch.setattr(f"seismo.{faults}.{name}", steps)


CASES = {
    "even": {},
    "float32": {"precision": "float32"},
    "surface": {"boundaries": SURFACE},
    "layers": {"model": LAYERS, "boundaries": SURFACE},
    "losses": {"model": LOSSY},
    "removal": {"time": {"duration": 0.16, "dispersion_removal": True}},
    "rigid": {"boundaries": {**solver.faces(3), "y_min": "rigid", "bottom": "rigid"}},
}


@pytest.mark.parametrize(
    "case", solver.slow_but(CASES.keys() - {"even", "layers", "losses", "float32"}, CASES)
)
def test_a_fault_acts_as_its_points_do(tmp_path, monkeypatch, case):
    """Signals are cut where they are below 1e-5 of their peak; all else is rounding."""
    window_of(monkeypatch, 32)
    document = elastic([fault(tmp_path, srf(rough()))], cells=20, **{"time": PLAIN, **CASES[case]})
    simulation = solver.build(document, tmp_path)
    near = {"rigid", "surface", "layers"}
    assert len(placed_faults(simulation.discretization)[0].spread) > 0 or case in near
    simulation.advance(simulation.total_steps)
    spread = solver.records(simulation)
    simulation.load([as_points(simulation.discretization)])
    simulation.advance(simulation.total_steps)
    bound = {"float32": 1e-5, "removal": 1e-5}.get(case, 1e-8)
    points = solver.records(simulation)
    for name in ("receivers.vx", "receivers.vy", "receivers.vz"):
        assert np.linalg.norm(spread[name] - points[name]) < bound * np.linalg.norm(points[name])


def test_subfaults_beside_ground_that_slopes_act_by_its_slope(tmp_path):
    """Those within reach of it act as points, whose weights go by the slope above each."""
    depths = [4.0, 12.0, 30.0, 60.0, 90.0]
    texts = [point(90 + 5 * k, 100, depth, onset=0.002 * k) for k, depth in enumerate(depths)]
    plane = {"type": "plane", "dip": "5 deg", "through": {"x": 120.0, "y": 120.0, "z": 0.0}}
    document = elastic([fault(tmp_path, srf(texts))], cells=28, boundaries=SURFACE,
                       topography=plane)  # fmt: skip
    discretization = discretize(from_dict(document, tmp_path))
    (subfaults,) = placed_faults(discretization)
    s = discretization.grid.index("z", subfaults.fault.positions[:, 2])
    assert subfaults.spread.tolist() == np.flatnonzero(s >= 3.5).tolist()
    assert 0 < subfaults.spread.size < len(depths)


@pytest.mark.slow
def test_subfaults_act_alike_for_every_cut(tmp_path):
    document = elastic([fault(tmp_path, srf(rough(12)))], cells=(20, 18, 16), precision="float32")
    document["time"]["duration"] = 0.06
    whole = solver.simulate(document, tmp_path)
    cut = solver.simulate(document, tmp_path, parts=(2, 2))
    for name, field in solver.wavefield(whole).items():
        np.testing.assert_array_equal(solver.wavefield(cut)[name], field)


def check_spreading(backend, folder, tolerance):
    """Compare what a backend sums in a step in which two subfaults act with the body in Python."""
    document = elastic([fault(folder, srf(rough(2)))], cells=20, precision=backend.precision)
    discretization = discretize(from_dict(document, folder))
    ((subdomain,),) = subdomains(discretization, backend.lane_width)
    fields = Fields(
        backend, discretization.physics, subdomain, discretization.uneven, discretization.reach
    )
    one = FaultInjection(backend, fields, FaultPieces(placed_faults(discretization)[0], subdomain))
    one.load(0, discretization.total_steps)
    backend.clock[:] = 30
    for launch in one.evaluations():
        launch()
    fetch = backend.fetch
    signals = fetch(one._signals)
    for held, table in zip(one._arrays, one._tables, strict=True):
        amounts, pieces, *lines = map(fetch, held)
        spans, slots, *summed = map(fetch, table)
        found = np.zeros_like(amounts)
        flat = [array.ravel() for array in (*summed, signals)]
        levels = len(summed[0]) * summed[-1].shape[1]
        sums = np.zeros(levels * WIDTH * REACH)
        for n in range(levels):
            for x in range(ROWS):
                sum_segment(n, x, x + 1, sums, *flat, [0], [30])
        for n in range(len(pieces)):
            for x in range(PIECE):
                spread(n, x, x + 1, found, pieces, spans, *lines, slots, sums)
        peak = np.abs(found).max()
        np.testing.assert_allclose(amounts, found, atol=tolerance * peak)
        assert peak > 0


def test_what_is_compiled_does_what_the_kernel_says(tmp_path):
    check_spreading(CpuBackend("float64"), tmp_path, 1e-12)


@pytest.mark.slow
def test_many_depths_of_a_half_row_are_read_from_few(tmp_path):
    """Of 24 subfaults within half a row above a contact: the polynomial of 8 errs by 1e-6."""
    texts = [point(90 + 5 * k, 120, 78.0 + 0.17 * k, onset=0.002 * k) for k in range(24)]
    document = elastic([fault(tmp_path, srf(texts))], cells=24, model=LAYERS, boundaries=SURFACE,
                       time=PLAIN)  # fmt: skip
    simulation = solver.simulate(document, tmp_path)
    spread = solver.records(simulation)
    simulation.load([as_points(simulation.discretization)])
    simulation.advance(simulation.total_steps)
    for name, points in solver.records(simulation).items():
        assert np.linalg.norm(spread[name] - points) < 1e-5 * np.linalg.norm(points)


def test_a_run_may_go_on_from_the_middle_of_a_window(tmp_path, monkeypatch):
    window_of(monkeypatch, 32)
    document = elastic([fault(tmp_path, srf(rough(6)))], cells=20)
    whole = solver.build(document, tmp_path)
    whole.advance(70)
    state = {name: np.array(held.array) for name, held in whole.state().items()}
    whole.advance(20)
    other = solver.build(document, tmp_path)
    for name, held in other.state().items():
        if held.array.shape == state[name].shape:
            held.array[:] = state[name]
    other.step = 70
    other.advance(20)
    for name, field in solver.wavefield(whole).items():
        np.testing.assert_array_equal(solver.wavefield(other)[name], field)


def test_subfaults_may_begin_after_the_run(tmp_path):
    """Its last step lies within a window: more would act in that than ever do."""
    texts = [point(90 + 3 * k, 120, 95.0, onset=0.01 + (k > 1)) for k in range(8)]
    document = elastic([fault(tmp_path, srf(texts))], cells=20, time={**PLAIN, "duration": 0.1})
    simulation = solver.simulate(document, tmp_path)
    spread = solver.records(simulation)
    simulation.load([as_points(simulation.discretization)])
    simulation.advance(simulation.total_steps)
    for name, points in solver.records(simulation).items():
        assert np.linalg.norm(spread[name] - points) < 1e-8 * np.linalg.norm(points)


def test_a_silent_shot_stays_silent_and_the_fault_acts_again(tmp_path):
    simulation = solver.build(elastic([fault(tmp_path, srf(rough(3)))], cells=20), tmp_path)
    simulation.advance(100)
    first = solver.wavefield(simulation)
    solver.silence(simulation)
    simulation.advance(100)
    assert not any(field.any() for field in solver.wavefield(simulation).values())
    simulation.load(simulation.discretization.shots)
    simulation.advance(100)
    for name, field in solver.wavefield(simulation).items():
        np.testing.assert_array_equal(field, first[name])


def test_memory_holds_what_acts_in_a_window_alone(tmp_path):
    """As many subfaults one after another take no more of a device than two at a time."""
    shares = {}
    for late in (0.0, 0.6):
        texts = [point(90 + 3 * k, 120, 95.0, onset=0.01 + late * k) for k in range(10)]
        document = elastic([fault(tmp_path, srf(texts))], time={**PLAIN, "duration": 8.0})
        simulation = solver.build(document, tmp_path)
        (one,) = simulation.solvers[0].added
        shares[late] = one._pieces.most
        held = [
            array
            for arrays in (*one._arrays, *one._tables, [one._sums, one._signals])
            for array in arrays
        ]
        numbers = sum(array.nbytes for array in held)
        where = 16 * sum(len(pieces) for _, pieces, *_ in one._arrays)
        assert memory_of(simulation.discretization).sources == numbers + where
    assert shares == {0.0: 10, 0.6: 1}


def test_moments_of_all_subfaults_are_kept(tmp_path):
    """The stress that is added, times cell and over time step, is the moment of all (1e-6)."""
    document = elastic([fault(tmp_path, srf(rough(20, depth=(60.0, 110.0))))], cells=24,
                       time=PLAIN)  # fmt: skip
    discretization = discretize(from_dict(document, tmp_path))
    (subfaults,), (shot,) = placed_faults(discretization), discretization.shots
    numbers = subfaults.spread
    assert len(numbers) > 0
    for field in subfaults.fields:
        level = [subfaults.level(a, a in field.half, numbers) for a in "xy"]
        volumes = [w.sum(axis=1) for w in (*level, subfaults.down(field, numbers))]
        found = np.prod(volumes, axis=0) * -discretization.grid.cell / discretization.clock.dt
        wanted = shot.faults[0].strengths[field.name[1:]][numbers]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-6 * np.abs(wanted).max())
    signals = subfaults.signals
    every = np.arange(len(shot.faults[0]))
    total = sum(
        signals.window(k, every).sum(axis=0) for k in range(0, discretization.total_steps, 128)
    )
    np.testing.assert_allclose(total * discretization.clock.dt, 1.0, atol=1e-6)


def test_few_subfaults_stand_for_many_where_a_run_is_checked(monkeypatch, tmp_path):
    monkeypatch.setattr("seismo.features.faults.finite_fault.MOST_SAMPLES", 4)
    discretization = discretize(from_dict(elastic([fault(tmp_path, srf(rough(30)))]), tmp_path))
    (one,) = discretization.shots[0].faults
    chosen = np.array([s.position for s in discretization.shots[0].sources])
    assert len(chosen) < 20
    for axis in range(3):
        for find in (np.min, np.max):
            assert find(chosen[:, axis]) == find(one.positions[:, axis])
    assert max(s.end for s in discretization.shots[0].sources) == pytest.approx(
        one.rates.ends[1].max()
    )

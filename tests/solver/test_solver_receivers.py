"""From what the scheme records to traces: times, intervals, codes, and where receivers stand.

Physics is checked in `test_solver_exact`; here what is done to its samples. A band-limited series
is known between its samples, so most bars are the design errors of the filters: 8-point Lagrange
interpolation to whole steps errs by (w dt / 2)^8, the anti-alias filter stops at -80 dB.
"""

import numpy as np
import pytest

import solver
from seismo.acquisition import trace_processing
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError

DT, STEPS = 1e-3, 800


def pulse(t: np.ndarray, centre: float = 0.35, frequency: float = 20.0) -> np.ndarray:
    """Return a Ricker wavelet, zero to rounding at both ends of the record."""
    u = (np.pi * frequency * (t - centre)) ** 2
    return (1 - 2 * u) * np.exp(-u)


def pulse_rate(t: np.ndarray, centre: float = 0.35, frequency: float = 20.0) -> np.ndarray:
    u = np.pi * frequency * (t - centre)
    return 2 * np.pi * frequency * u * (2 * u**2 - 3) * np.exp(-(u**2))


WHOLE = np.arange(STEPS + 1) * DT
# Step n of the loop leaves velocities at (n + 1/2) dt and stresses at (n + 1) dt.
HALF = (np.arange(STEPS + trace_processing.HALF_STEP_POINTS // 2) + 0.5) * DT


def finished(raw: np.ndarray, quantity: str, late: bool, every: int = 1) -> np.ndarray:
    return trace_processing.finish(raw[None], quantity, late, DT, STEPS, every, False)[0]


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def test_velocity_is_interpolated_to_whole_steps() -> None:
    """Half a step of delay would be an error of 6 %."""
    assert error(finished(pulse(HALF), "velocity", True), pulse(WHOLE)) < 1e-8
    assert error(finished(pulse(HALF - DT / 2), "velocity", True), pulse(WHOLE)) > 0.05


def test_stress_begins_with_the_wavefield_at_rest() -> None:
    found = finished(pulse(HALF + DT / 2), "stress", False)
    assert found.shape == WHOLE.shape
    assert error(found, pulse(WHOLE)) < 1e-12


def test_displacement_and_acceleration_are_the_scheme_s_own() -> None:
    """Sum and difference of half steps: second order, (w dt)^2 / 24 with w up to 2.5 x 20 Hz."""
    bound = (2 * np.pi * 50 * DT) ** 2 / 24
    assert error(finished(pulse_rate(HALF), "displacement", True), pulse(WHOLE)) < bound
    assert error(finished(pulse(HALF), "acceleration", True), pulse_rate(WHOLE)) < bound
    # Exactly inverse to each other, as the removal of time dispersion needs.
    raw = np.random.default_rng(0).standard_normal(HALF.size)
    moved = finished(raw, "displacement", True)
    assert np.allclose(np.diff(moved) / DT, raw[:STEPS], rtol=0, atol=1e-10)


@pytest.mark.parametrize("every", [2, 5, 8])
def test_own_interval_keeps_the_band_and_stops_aliases(every: int) -> None:
    """0.6 of the new Nyquist frequency passes, 1.15 of it does not come back folded.

    Less is stopped beside the last sample, by shorter filters.
    """
    nyquist = 0.5 / (every * DT)
    t = np.arange(4001) * DT
    window = np.hanning(t.size)
    low, high = (np.sin(2 * np.pi * part * nyquist * t) * window for part in (0.6, 1.15))
    kept = trace_processing.decimate((low + high)[None], every)[0]
    assert kept.size == (t.size - 1) // every + 1
    assert np.abs(kept - low[::every])[:-25].max() < 2e-4
    assert np.abs((low + high)[::every] - low[::every]).max() > 0.5, "there was nothing to stop"


@pytest.mark.parametrize("every", [2, 5, 30])
def test_waves_that_pass_at_the_end_are_sampled_as_before_it(every: int) -> None:
    """Filtered beside the last sample as if the record went on: 12 % of the peak without care.

    2.5 times the pulse's frequency is 0.56 of the new Nyquist frequency.
    """
    t = np.arange(120 * every + 1) * DT
    for ahead in np.linspace(-1.0, 1.0, 21):
        record = pulse(t - t[90 * every] + 0.09 - ahead * 0.02, 0.112 / (every * DT))[None]
        until = record[:, : 90 * every + 1]
        longer = trace_processing.decimate(record, every)[:, :91]
        assert np.abs(trace_processing.decimate(until, every) - longer).max() < 2e-4


def test_every_step_is_left_alone() -> None:
    raw = np.random.default_rng(1).standard_normal((2, 50))
    assert trace_processing.decimate(raw, 1) is raw


def test_intervals_fall_on_steps() -> None:
    """The step is made to divide every interval asked for, and traces end with the duration."""
    document = solver.plan("acoustic", 2, cells=20, steps=None)
    document["time"] = {"duration": 0.2}
    place = solver.place(2, 9.4)
    document["receivers"] = [
        solver.points([place], name="often", interval=0.004),
        solver.points([place], name="seldom", interval=0.01),
        solver.points([place], name="always"),
    ]
    simulation = solver.simulate(document)
    often, seldom, always = (solver.traces(simulation, group=n)["pressure"] for n in range(3))
    assert (often.shape, seldom.shape) == ((1, 51), (1, 21))
    assert always.shape == (1, simulation.steps + 1)
    for trace, interval in ((often, 0.004), (seldom, 0.01)):
        every = interval / simulation.dt
        assert every == pytest.approx(round(every), abs=1e-9)
        assert np.array_equal(trace, trace_processing.decimate(always, round(every)))


def test_sets_of_receivers() -> None:
    """Codes as given or numbered; lines and grids in order, x fastest; stations by their codes."""
    document = solver.plan("elastic", 3, cells=10, steps=2)
    h = solver.SPACING
    document["receivers"] = [
        solver.points(
            [solver.place(3, 2) | {"code": "XX.AB.00"}, solver.place(3, 3)], name="points"
        ),
        {"type": "line", "name": "line", "start": solver.place(3, 1), "end": solver.place(3, 9),
         "count": 5},
        {"type": "grid", "name": "grid", "x": [0.0, 4 * h["x"], 3], "y": [h["y"], 2 * h["y"], 2],
         "z": 5 * h["z"]},
    ]  # fmt: skip
    points, line, grid = solver.build(document).discretization.groups
    assert points.codes == ("XX.AB.00", "R0001")
    np.testing.assert_allclose(
        line.coordinates, [[n * h[a] for a in "xyz"] for n in (1, 3, 5, 7, 9)], rtol=1e-12
    )
    wanted = [(x * h["x"], y * h["y"], 5 * h["z"]) for y in (1, 2) for x in (0, 2, 4)]
    np.testing.assert_allclose(grid.coordinates, wanted, rtol=1e-12)


def test_stations_of_a_list(tmp_path) -> None:
    (tmp_path / "stations.csv").write_text(
        "network,station,location,x,y,z\nCI,PAS,00,20.5,,18\nCI,USC,,40,0,9\n"
    )
    document = solver.plan("elastic", 2, cells=10, steps=2)
    document["receivers"] = [{"type": "stations", "path": "stations.csv"}]
    (group,) = solver.build(document, tmp_path).discretization.groups
    assert group.codes == ("CI.PAS.00", "CI.USC")
    np.testing.assert_allclose(group.coordinates, [[20.5, 0, 18], [40, 0, 9]])


@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_on_the_grid_a_receiver_reads_the_node(name: str, dimensions: int) -> None:
    """The record is the value of the point, or of those of several fields, not a sum about it."""
    physics = physics_for(name, dimensions)
    document = solver.plan(name, dimensions, cells=20, steps=40)
    spot = [10] * dimensions
    found = {}
    for field in physics.fields:
        for base, components in physics.observables.items():
            for component, terms in components.items():
                if terms[0].field == field.name and not any(t.along for t in terms):
                    found[component] = (base, field, terms)
    assert found
    for component, (base, field, terms) in found.items():
        at = {
            a: solver.SPACING[a] * (n + 0.5 * (a in field.half))
            for a, n in zip(physics.axes, spot, strict=True)
        }
        document["receivers"] = [solver.points([at], quantities=[base])]
        simulation = solver.simulate(document)
        low = simulation.discretization.grid.low
        index = tuple(
            low[n] + 10 if a in physics.axes else 0 for n, a in ((2, "z"), (1, "y"), (0, "x"))
        )
        value = solver.records(simulation)[f"receivers.{component}"][0, -1]
        assert value != 0
        fields = solver.wavefield(simulation)
        wanted = sum(t.factor * fields[t.field][index] for t in terms)
        assert value == pytest.approx(wanted, rel=1e-14 * (len(terms) > 1), abs=0.0)


@pytest.mark.parametrize("faces", [{"x_min": "rigid"}, {"x_min": "periodic", "x_max": "periodic"}])
def test_derivatives_need_points_beyond_those_of_the_motion(faces: dict[str, str]) -> None:
    """Behind the images of a face are other rows: no trace may read them."""
    h, document = solver.SPACING["x"], solver.plan("elastic", 2, order=8, steps=2)
    document["boundaries"] = solver.faces(2, **faces)

    def build(x: float, quantity: str) -> None:
        at = solver.place(2, 14) | {"x": x}
        solver.build(document | {"receivers": [solver.points([at], quantities=[quantity])]})

    build(0.3 * h, "velocity")
    for quantity in ("rotation", "divergence"):
        with pytest.raises(ScenarioError, match=rf"x = 3 m .* differentiate: .* by {3 * h:g} m$"):
            build(0.3 * h, quantity)
        build(3.3 * h, quantity)


def test_several_sources_add_up() -> None:
    """The equations are linear: two sources, one delayed, give the sum of both alone."""
    document = solver.plan("elastic", 2, steps=80)
    first, second, *_ = document["sources"]
    second = {**second, "delay": 0.01}
    sums = []
    for sources in ([first, second], [first], [second]):
        document["sources"] = sources
        sums.append(solver.records(solver.simulate(document)))
    both, one, other = sums
    total = {name: one[name] + other[name] for name in both}
    assert solver.difference(both, total) < 1e-12
    late = {name: np.abs(trace).max() for name, trace in other.items()}
    assert all(late.values())


def test_delay_shifts_the_answer_by_whole_steps() -> None:
    """A delay of 7 steps moves every record by 7 samples, but for the wavelet's cut beginning."""
    document = solver.plan("acoustic_variable_density", 2, steps=90)
    document["sources"] = document["sources"][-1:]
    early = solver.simulate(document)
    document["sources"] = [{**document["sources"][0], "delay": 7 * early.dt}]
    late = solver.records(solver.simulate(document))
    for name, trace in solver.records(early).items():
        assert np.abs(late[name][:, 7:] - trace[:, :-7]).max() < 1e-6 * np.abs(trace).max()

"""Slow waves of acoustic VTI and TTI rock: told where they come, and spheres that send none."""

import numpy as np
import pytest
from rich.console import Console

import solver
from seismo.features.slow_waves.spheres import SLOW, SPHERES
from seismo.runs.check.plan import make_plan
from seismo.runs.check.report import print_plan
from seismo.runs.prediction.accuracy import expected_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

VELOCITY, FREQUENCY = 2000.0, 10.0
WAVELENGTH = VELOCITY / FREQUENCY
SHALE = {"vp": VELOCITY, "epsilon": 0.2, "delta": 0.1}
RANGE = 1.5 * WAVELENGTH
CENTRE = np.array([500.0 + 3.7, 500.0 + 3.7])


def scenario(rock, angles, h=12.5, duration=1.3, centre=CENTRE, **keys):
    """Return a whole space with receivers at angles in degrees from the axis."""
    turned = np.radians(np.asarray(angles) + rock.get("theta", 0.0))
    positions = centre + RANGE * np.stack([np.sin(turned), np.cos(turned)], axis=1)
    return {
        "physics": "acoustic", "precision": "float64",
        "grid": {"extent": {"x": 1000.0, "z": 1000.0}, "spacing": h},
        "time": {"duration": duration},
        "model": [{"type": "uniform", **rock}],
        "sources": [{"type": "pressure", "position": {"x": centre[0], "z": centre[1]},
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [{"type": "points", "quantities": ["pressure"],
                       "positions": [{"x": x, "z": z} for x, z in positions.tolist()]}],
        **keys,
    }  # fmt: skip


def told(data, cause=SLOW):
    return dict(expected_error(discretize(from_dict(data))).causes)[cause]


def behind_p(data):
    """Return what comes behind P over P (receiver), L2 of traces."""
    simulation = solver.simulate(data)
    traces = solver.traces(simulation)["pressure"]
    times = solver.times(simulation)[: traces.shape[1]]
    is_p = times <= RANGE / VELOCITY + 0.3
    parts = (np.linalg.norm(traces[:, where], axis=1) for where in (~is_p, is_p))
    return np.divide(*parts)


@pytest.mark.parametrize("rock", [SHALE, SHALE | {"theta": 35.0}])
def test_what_is_told_comes_and_spheres_leave_none(rock):
    """Without a sphere some are as strong as P; behind P of a 2-D source comes 1 % of its tail."""
    angles = [0.5, 10.0, 80.0]
    for n, found in enumerate(behind_p(scenario(rock, angles))):
        assert 0.4 < told(scenario(rock, angles[n : n + 1])) / found < 3.0
    calm = scenario(rock, angles, isotropic_source="auto")
    assert behind_p(calm).max() < 0.03
    assert 0.0 < told(calm, SPHERES) < 0.1


@pytest.mark.parametrize("angle", [0.05, 3.0, 87.0, 89.95])
def test_strong_rock_sends_them_along_both_axes(angle):
    """To the factor of two of the law. At 10 wavelengths slow waves no longer overlap with P."""
    rock = {"vp": VELOCITY, "epsilon": 0.3, "delta": -0.05}
    turned = np.radians(angle)
    offset = 10.0 * WAVELENGTH * np.array([np.sin(turned), np.cos(turned)])
    low = np.array([243.7, 243.7])
    x, z = low + offset
    data = scenario(rock, [angle], h=16.0, duration=6.0, centre=low)
    data["grid"]["extent"] = {"x": x + 240.0, "z": z + 240.0}
    data["receivers"][0]["positions"] = [{"x": x, "z": z}]
    simulation = solver.simulate(data)
    trace = solver.traces(simulation)["pressure"][0]
    times = solver.times(simulation)[: trace.size]
    # P goes between vp along the axis and vp sqrt(1 + 2 epsilon) across it.
    fast = VELOCITY * np.sqrt(1.0 + 0.6 * np.sin(turned) ** 2)
    is_p = times <= np.linalg.norm(offset) / fast + 0.3
    found = np.linalg.norm(trace[~is_p]) / np.linalg.norm(trace[is_p])
    assert 0.5 < told(data) / found < 2.0


@pytest.mark.parametrize("keys", [{}, {"theta": 35.0}, {"qp": 200.0}])
def test_what_comes_grows_towards_the_axes_and_with_refinement(keys):
    rock = SHALE | keys
    between, aside, along = (told(scenario(rock, [angle])) for angle in (45.0, 10.0, 0.0))
    assert along > 2.0 * aside > 2.0 * between > 0.0
    assert told(scenario(rock, [0.0], h=6.25)) > 2.0 * along


@pytest.mark.parametrize(("rock", "keys", "is_told"), [
    (SHALE, {}, True),
    (SHALE, {"duration": 0.3}, False),  # it ends before slow waves come
    (SHALE, {"isotropic_source": "auto"}, False),
    (SHALE | {"delta": 0.2}, {}, False),
    ({"vp": VELOCITY}, {}, False),
])  # fmt: skip
def test_where_none_come_none_are_told(rock, keys, is_told):
    assert bool(told(scenario(rock, [0.0], **keys)) > 0.0) is is_told


def test_receivers_in_water_have_none():
    water = {"type": "block", "z": [0.0, 400.0], "epsilon": 0.0, "delta": 0.0}
    model = [{"type": "uniform", **SHALE}, water]
    assert told(scenario(SHALE, [180.0], model=model)) == 0.0
    assert told(scenario(SHALE, [0.0], model=model)) > 0.0


def test_spheres_turn_delta_smoothly_where_it_is_asked_for():
    data = scenario(SHALE, [0.0], isotropic_source="auto")
    discretization = discretize(from_dict(data))
    radius = discretization.earth.spheres.radius
    assert radius == pytest.approx(0.5 * WAVELENGTH, rel=0.1)
    x = CENTRE[0] + radius * np.array([[0.0, 0.4, 0.6, 0.9, 1.1]])
    delta = discretization.earth.sample(np.full((1, 1), CENTRE[1]), None, x)["delta"].ravel()
    assert delta[:2] == pytest.approx(0.2)
    assert delta[4] == 0.1
    assert (np.diff(delta[1:]) < 0.0).all()
    for unchanged in (scenario(SHALE, [0.0]), scenario(SHALE | {"delta": 0.2}, [0.0])):
        assert discretize(from_dict(unchanged)).earth.spheres is None


def test_every_shot_has_its_sphere_and_is_no_longer_warned_of():
    shots = {
        "line": {"start": {"x": 300.0, "z": 500.0}, "end": {"x": 700.0, "z": 500.0}, "count": 3}
    }
    data = scenario(SHALE, [0.0], survey=shots)
    calm = data | {"isotropic_source": "auto"}
    assert len(discretize(from_dict(calm)).earth.spheres.centres) == 3
    warned, unwarned = (make_plan(from_dict(one)).warnings for one in (data, calm))
    assert any("isotropic_source: auto adds a sphere" in line for line in warned)
    assert not any("slow waves" in line for line in unwarned)


def test_check_says_what_spheres_there_are(capsys):
    print_plan(
        make_plan(from_dict(scenario(SHALE, [0.0], isotropic_source="auto"))), Console(width=200)
    )
    assert "spheres     1 of 100 m about sources: delta turns to epsilon" in capsys.readouterr().out


@pytest.mark.parametrize(("keys", "said"), [
    ({}, "give isotropic_source: auto"),
    ({"isotropic_source": "auto"}, "move sources out of rock of unlike epsilon and delta"),
])  # fmt: skip
def test_a_finer_grid_is_no_remedy(keys, said):
    plan = make_plan(from_dict(scenario(SHALE, [0.0], h=6.25, **keys)))
    (line,) = [line for line in plan.warnings if "will err by" in line] or [plan.remedy]
    assert said in line
    assert "use a grid.spacing" not in line

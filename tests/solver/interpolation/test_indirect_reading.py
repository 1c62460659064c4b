"""Strains of receivers beside a plane of refinement, and stresses on ground that slopes."""

import numpy as np
import pytest

import seismo
import solver
from seismo.features.topography import stresses as ground_stresses
from seismo.runs.check.plan import make_plan
from seismo.runs.request import Request
from seismo.runs.run import resume
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.interpolation.channels import (
    FURTHER,
    IndirectReading,
    reading_of,
)
from test_resume import assert_complete, contents, every_step, stopped

__all__ = ["every_step"]  # a fixture

PLANE = 300.0
ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2200.0}
FREQUENCY = ROCK["vs"] / (2.5 * 7.6 * 30.0)  # 7.6 points per shortest wavelength below the plane
DEPTHS = [270.0, 300.0, 310.0, 345.0, 360.0, 420.0]
QUANTITIES = {
    "elastic": ["strain", "rotation", "divergence", "strain_rate"],
    "elastic_sh": ["strain", "strain_rate"],
}


def document(refined, physics="elastic", dimensions=2, **changes):
    """Return a force below the plane, and receivers beside it; of one spacing without it."""
    along = solver.axes_of(dimensions)[:-1]
    middle = dict.fromkeys(along, 390.0)
    plane = {"refinement": [{"below": PLANE}]} if refined else {}
    rock = {name: ROCK[name] for name in ROCK if physics == "elastic" or name != "vp"}
    force = {"x": 0.8e9, "z": 0.6e9} if physics == "elastic" else {"y": 1e9}
    places = [{a: middle[a] + 250.0 for a in along} | {"z": z} for z in DEPTHS]
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {**dict.fromkeys(along, 1080.0), "z": 1200.0}, "spacing": 10.0,
                 "order": 8, **plane},
        "time": {"duration": 0.9}, "boundaries": {"layer": {"points": 12 if refined else 36}},
        "model": [{"type": "uniform", **rock}],
        "sources": [{"type": "force", "position": middle | {"z": 807.0}, "force": force,
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [solver.points(places, quantities=QUANTITIES[physics], name="beside")],
    } | changes  # fmt: skip


def both(physics):
    """Return the traces of the run on two grids, and on one, at the same times."""
    runs = [solver.simulate(document(refined, physics)) for refined in (True, False)]
    traces = [solver.traces(run) for run in runs]
    times = [run.dt * np.arange(next(iter(some.values())).shape[1])
             for run, some in zip(runs, traces, strict=True)]  # fmt: skip
    kept = times[0][times[0] <= times[1][-1]]
    return [
        {name: np.array([np.interp(kept, at, one) for one in trace])
         for name, trace in some.items()}
        for at, some in zip(times, traces, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("physics", QUANTITIES)
def test_strains_err_no_more_than_motion_beside_the_plane(physics):
    """By differences of velocities exz errs by 37 % of itself, and rotation by 22 %."""
    found, exact = both(physics)
    tensor = [name for name in exact if name in ("exx", "ezz", "exz", "exy", "eyz")]
    rates = [f"{name}_rate" for name in tensor]
    for names in (tensor, [*rates, *{"rotation_y", "divergence"} & exact.keys()]):
        size = np.linalg.norm([exact[name] for name in names[: len(tensor)]], axis=(0, 2))
        for name in names:
            error = np.linalg.norm(found[name] - exact[name], axis=1)
            assert (error / size).max() < 0.04, name
    shear = "exz" if physics == "elastic" else "eyz"
    error = np.linalg.norm(found[shear] - exact[shear], axis=1)
    assert (error / np.linalg.norm(exact[shear], axis=1)).max() < 0.04


def test_what_strains_of_velocities_err_by_is_told():
    """In rock that attenuates stresses of one time do not tell them."""
    lossy = [{"type": "uniform", **ROCK, "qp": 60.0, "qs": 30.0}]
    for model, told in ((None, False), (lossy, True)):
        changes = {"model": model, "attenuation": {"reference_frequency": 3.0}} if model else {}
        plan = make_plan(from_dict(document(True, **changes)))
        (text,) = [line for line in plan.warnings if line.startswith("receivers beside")]
        assert ("strains and rotation by up to 30 %" in text) == told


def test_only_what_stands_beside_the_plane_is_read_by_stresses():
    """Above it receivers are of the finer grid; far below it, in fluids and with losses as ever."""
    discretization = discretize(from_dict(document(True)))
    strains = reading_of(discretization)
    (group,) = discretization.groups
    assert ("rotation", "rotation_y" + FURTHER) in strains.bases(group)
    assert ("strain_rate", "exz_rate" + FURTHER) not in strains.bases(group)
    assert PLANE + 300.0 <= strains.last <= PLANE + 600.0
    assert type(reading_of(discretization.above)) is IndirectReading
    for z, read in ((330.0, {"sxx", "szz", "sxz"}), (900.0, {"vx", "vz"})):
        position = np.array([600.0, 0.0, z])
        points = strains.points(group, 0, position, ("strain_rate", "exz_rate"))
        assert {name for name, some in points.items() if some.weights.any()} <= read


GROUND = {"type": "hills", "hills": [{"center": {"x": 540.0}, "height": 60.0, "width": 300.0}]}


def on_the_ground(**changes):
    """Return a run on one grid under a hill, whose receivers read stresses on it."""
    places = [{"x": x, "depth": depth} for x in (480.0, 640.0) for depth in (0.0, 4.0, 40.0)]
    receivers = [solver.points(places, quantities=["stress", "pressure"], name="ground")]
    faces = {"top": "free_surface", "layer": {"points": 12}}
    return document(False, topography=GROUND, boundaries=faces, receivers=receivers, **changes)


LOSSY = {
    "model": [{"type": "uniform", **ROCK, "qp": 40.0, "qs": 20.0}],
    "attenuation": {"reference_frequency": FREQUENCY},
}


@pytest.mark.parametrize("changes", [{}, LOSSY])
def test_stresses_on_the_ground_balance(changes):
    """Pressure is minus the mean of the normal stresses, and nothing pulls at the ground."""
    simulation = solver.simulate(on_the_ground(**changes))
    traces = solver.traces(simulation)
    mean = -0.5 * (traces["sxx"] + traces["szz"])
    np.testing.assert_allclose(traces["pressure"], mean, atol=1e-9 * np.abs(mean).max())
    ground = simulation.discretization.vertical
    for n, x in ((0, 480.0), (3, 640.0)):
        slope = float(ground.surface(np.array(0.0), np.array(x), along="x"))
        largest = np.linalg.norm(traces["sxx"][n])
        for level, across in (("sxx", "sxz"), ("sxz", "szz")):
            traction = traces[across][n] - slope * traces[level][n]
            assert np.linalg.norm(traction) < 4e-3 * largest


ANISOTROPIC = {"epsilon": 0.2, "delta": 0.1}


@pytest.mark.parametrize(
    ("physics", "rock"),
    [
        pytest.param("elastic", {}, marks=pytest.mark.slow),
        ("elastic", ANISOTROPIC),
        ("elastic_sh", {}),
    ],
)
def test_stresses_by_strains_relax_as_those_of_the_run(physics, rock, monkeypatch):
    """Five rows below the ground, where both forms are right."""
    places = [{"x": x, "depth": 50.0} for x in (480.0, 640.0)]
    base = document(False, physics)
    (medium,) = base["model"]
    loss = {"qp": 40.0, "qs": 20.0} if physics == "elastic" else {"qs": 20.0}
    changes = {
        "topography": GROUND, "boundaries": {"top": "free_surface", "layer": {"points": 12}},
        "model": [medium | rock | loss], "attenuation": {"reference_frequency": FREQUENCY},
        "receivers": [solver.points(places, quantities=["stress"])],
    }  # fmt: skip
    as_they_are = solver.traces(solver.simulate(base | changes))
    monkeypatch.setattr(ground_stresses, "_ERRING", 8.0)
    by_strains = solver.traces(solver.simulate(base | changes))
    size = np.linalg.norm([*as_they_are.values()], axis=(0, 2))
    for name, traces in as_they_are.items():
        error = np.linalg.norm(by_strains[name] - traces, axis=1)
        assert (error < 2e-3 * size).all()
        assert error.any()


@pytest.mark.parametrize("kind", solver.slow_but(["ground"], ["plane", "ground", "lossy ground"]))
@pytest.mark.usefixtures("no_remedies")
def test_what_is_read_indirectly_survives_a_stop(kind, tmp_path, every_step):
    changes = {"time": {"duration": 0.12}, "checkpoint": {"steps": 19}}
    changes |= LOSSY if kind == "lossy ground" else {}
    scenario = document(True, **changes) if kind == "plane" else on_the_ground(**changes)
    unbroken = tmp_path / "unbroken.h5"
    seismo.run(scenario | {"checkpoint": {}}, unbroken).close()
    path = tmp_path / "stopped" / "x.h5"
    path.parent.mkdir()
    stopped(scenario, path, 40)
    with resume(f"{path}.run", Request()):
        assert_complete(path, contents(unbroken))


def explosion_on_a_hill(**changes):
    """Return a run of an explosion below ground that slopes, with receivers above it."""
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 300.0, "z": 260.0}, "spacing": 10.0, "order": 4},
        "time": {"duration": 0.1}, "boundaries": {"top": "free_surface", "layer": {"points": 6}},
        "topography": {"type": "hills",
                       "hills": [{"center": {"x": 70.0}, "height": 25.0, "width": 90.0}]},
        "model": [{"type": "uniform", "vp": 2000.0, "vs": 1000.0, "rho": 2000.0}],
        "sources": [{"type": "explosion", "moment": 1e12, "position": {"x": 130.0, "depth": 10.0},
                     "wavelet": {"type": "ricker", "frequency": 15.0}}],
        "receivers": [solver.points([{"x": 130.0 + cells * 10.0, "depth": 0.0}
                                     for cells in (0, 2, 3, 4)], quantities=["stress"])],
    } | changes  # fmt: skip


def test_stresses_about_a_moment_on_a_slope_leave_the_ground_without_traction():
    """The strain about a moment has the moment's own part, which is none of the stress."""
    simulation = solver.simulate(explosion_on_a_hill())
    traces = solver.traces(simulation)
    discretization = simulation.discretization
    x = discretization.groups[0].at(discretization.shots[0].name)[:, 0]
    slopes = np.array([discretization.vertical.surface(np.array(0.0), at, along="x") for at in x])
    peak = np.abs(traces["sxx"]).max()
    assert np.abs(slopes).min() > 0.05
    assert np.abs(traces["sxz"] - slopes.reshape(-1, 1) * traces["sxx"]).max() < 1e-4 * peak


@pytest.mark.usefixtures("no_remedies")
def test_a_share_of_a_survey_reads_as_the_whole(tmp_path):
    """Receivers beside a moment are read otherwise: beside that of any shot, of any share."""
    shots = [{"position": {"x": x, "depth": 10.0}} for x in (130.0, 230.0)]
    survey = explosion_on_a_hill(survey={"shots": shots})
    survey["receivers"][0]["positions"] += [{"x": x, "depth": 0.0} for x in (230.0, 245.0)]
    with seismo.run(survey, tmp_path / "whole.h5") as whole:
        every = dict(whole.traces["receivers"].items())
        for n in range(2):
            with seismo.run(survey, tmp_path / f"{n}.h5", shots=f"{n + 1}/2") as share:
                for name, traces in share.traces["receivers"].items():
                    np.testing.assert_array_equal(traces[0], every[name][n], err_msg=name)

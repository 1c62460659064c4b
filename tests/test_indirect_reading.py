"""Strains and rotation of receivers beside the plane where two spacings meet."""

import numpy as np
import pytest

import solver
from seismo.runs.check import make_plan
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.indirect_reading import OF_MOTION, IndirectReading, indirect_reading

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
    setup = discretize(from_dict(document(True)))
    strains = indirect_reading(setup)
    (group,) = setup.groups
    assert ("rotation", "rotation_y" + OF_MOTION) in strains.bases(group)
    assert ("strain_rate", "exz_rate" + OF_MOTION) not in strains.bases(group)
    assert PLANE + 300.0 <= strains.last <= PLANE + 600.0
    assert type(indirect_reading(setup.fine)) is IndirectReading
    for z, read in ((330.0, {"sxx", "szz", "sxz"}), (900.0, {"vx", "vz"})):
        position = np.array([600.0, 0.0, z])
        points = strains.points(group, 0, position, ("strain_rate", "exz_rate"))
        assert {name for name, some in points.items() if some.weights.any()} <= read

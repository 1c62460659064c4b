"""What receivers read of motion and its derivatives on ground that slopes, and below it.

Motion whose gradient is one tensor, without traction on a plane that dips, is read as it is
everywhere: on the plane, among its rows and below. Waves: Lamb's problem, turned.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seismo
import solver
from seismo.equations.rock import elastic_constants
from seismo.grid.grid import AXES
from seismo.runs.prediction.accuracy import expected_error
from seismo.solver.discretize import discretize
from seismo.solver.interpolation.channels import channel_points

H = 10.0
DIP = 20.0
AZIMUTH = 35.0
ROCKS = {
    "elastic": {"vp": 3000.0, "vs": 1700.0, "rho": 2200.0},
    "elastic_vti": {"vp": 3000.0, "vs": 1700.0, "rho": 2200.0, "epsilon": 0.2, "delta": 0.1,
                    "gamma": 0.15},
    "acoustic_variable_density": {"vp": 3000.0, "rho": 2200.0},
}  # fmt: skip


def under_a_plane(name, dimensions, **changes):
    """Return a discretized run under a plane that dips."""
    across = {"x": 600.0} if dimensions == 2 else {"x": 260.0, "y": 240.0}
    azimuth = {} if dimensions == 2 else {"azimuth": f"{AZIMUTH} deg"}
    document = solver.plan("elastic", dimensions, steps=None)
    middle = {a: 0.5 * length for a, length in across.items()}
    document |= {
        "physics": "acoustic_variable_density" if "vs" not in ROCKS[name] else "elastic",
        "grid": {"extent": {**across, "z": 1900.0}, "spacing": H, "order": 8},
        "boundaries": {"top": "free_surface", "layer": {"points": 8}},
        "topography": {"type": "plane", "dip": f"{DIP} deg", "through": {**middle, "z": 0.0},
                       **azimuth},
        "model": [{"type": "uniform", **ROCKS[name]}],
        "sources": [{"type": "explosion", "position": {**middle, "depth": 300.0}, "moment": 1e9,
                     "wavelet": {"type": "ricker", "frequency": 5.0}}],
        "receivers": [{"type": "points", "positions": [middle]}],
    }  # fmt: skip
    return discretize(seismo.load(document | changes))


def normal_of(dimensions):
    """Return the normal of the plane, into the ground."""
    slope = np.tan(np.radians(DIP))
    angle = np.radians(AZIMUTH) if dimensions == 3 else 0.0
    normal = np.array([-slope * np.cos(angle), -slope * np.sin(angle), 1.0])
    return normal / np.linalg.norm(normal)


def free_gradient(name, dimensions):
    """Return a tensor d_m v_l of motion without traction on the plane, of a fluid without turning.

    Of random ones, the part that a change of v across the plane leaves.
    """
    kept = [AXES.index(a) for a in ("xz" if dimensions == 2 else "xyz")]
    gradient = np.zeros((3, 3))
    gradient[np.ix_(kept, kept)] = np.random.default_rng(4).standard_normal((len(kept),) * 2)
    normal = normal_of(dimensions)
    if "vs" not in ROCKS[name]:
        gradient = gradient + gradient.T
        return gradient - np.trace(gradient) * np.outer(normal, normal)
    rock = {key: np.array(value) for key, value in ROCKS[name].items()}
    stiffness = elastic_constants.stiffness_of(rock)
    voigt = elastic_constants.VOIGT
    tensor = stiffness[voigt[:, :, None, None], voigt[None, None]]
    traction = np.einsum("iklm,lm,k->i", tensor, gradient, normal)
    matrix = np.einsum("iklm,k,m->il", tensor, normal, normal)
    return gradient - np.outer(np.linalg.solve(matrix, traction), normal)


def read_motion(discretization, terms, position, gradient):
    """Read some terms of v_l = d_m v_l x_m at a position x, y, s in m."""
    total = 0.0
    interpolation = discretization.interpolation
    for name, points in channel_points(interpolation, terms, position).items():
        field = discretization.physics.named(name)
        x, y, s = (
            discretization.grid.coordinate(a, n + 0.5 * (a in field.half))
            if a in discretization.grid.axes
            else 0.0 * n
            for a, n in zip(AXES, points[:3], strict=True)
        )
        place = np.stack([x, y, discretization.vertical.z(s, y, x)])
        total += points.weights @ (gradient[AXES.index(name[1])] @ place)
    return total


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("name", ROCKS)
def test_an_even_gradient_is_read_as_it_is(name, dimensions):
    discretization = under_a_plane(name, dimensions)
    gradient = free_gradient(name, dimensions)
    wanted = {
        "divergence": np.trace(gradient),
        **{f"e{a}{b}_rate": 0.5 * (gradient[i, j] + gradient[j, i])
           for i, a in enumerate(AXES) for j, b in enumerate(AXES)},
        "rotation_x": 0.5 * (gradient[2, 1] - gradient[1, 2]),
        "rotation_y": 0.5 * (gradient[0, 2] - gradient[2, 0]),
        "rotation_z": 0.5 * (gradient[1, 0] - gradient[0, 1]),
    }  # fmt: skip
    level = discretization.grid.origin[2]
    x = 0.5 * discretization.scenario.grid.extent.x + 3.3
    y = 0.5 * discretization.scenario.grid.extent.y - 4.1 if dimensions == 3 else 0.0
    scale = np.abs(gradient).max()
    for below in (0.0, 3.0, 5.0, 17.0, 60.0, 200.0):
        position = np.array([x, y, level + below])
        place = np.array(
            [x, y, float(discretization.vertical.z(position[2], np.array(y), np.array(x)))]
        )
        for a in discretization.grid.axes:
            terms = discretization.physics.observables["velocity"][f"v{a}"]
            found = read_motion(discretization, terms, position, gradient)
            assert found == pytest.approx(gradient[AXES.index(a)] @ place, abs=2e-3 * scale * H)
        for quantity in {"divergence", "rotation", "strain_rate"} & set(
            discretization.physics.observables
        ):
            for component, terms in discretization.physics.observables[quantity].items():
                found = read_motion(discretization, terms, position, gradient)
                assert found == pytest.approx(wanted[component], abs=3e-3 * scale), component


def even_stress(name, gradient):
    """Return the stress (3, 3) of a gradient of displacement, and the strain."""
    strain = 0.5 * (gradient + gradient.T)
    voigt = elastic_constants.VOIGT
    rock = {key: np.array(value) for key, value in ROCKS[name].items()}
    tensor = elastic_constants.stiffness_of(rock)[voigt[:, :, None, None], voigt[None, None]]
    return np.einsum("iklm,lm->ik", tensor, strain), strain


def sum_of(points_by_field, tensor, shear=1.0):
    """Return what points read of an even tensor, by the field that each component stands in."""
    return sum(
        points.weights.sum()
        * tensor[AXES.index(name[1]), AXES.index(name[2])]
        * (1.0 if name[1] == name[2] else shear)
        for name, points in points_by_field.items()
    )


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("name", ["elastic", "elastic_vti"])
def test_an_even_stress_is_read_and_its_strain_driven(name, dimensions):
    """Receivers read the stress; what a moment acts by reads its strain, as work wants it."""
    discretization = under_a_plane(name, dimensions)
    stress, strain = even_stress(name, free_gradient(name, dimensions))
    interpolation = discretization.interpolation
    level = discretization.grid.origin[2]
    x = 0.5 * discretization.scenario.grid.extent.x + 3.3
    y = 0.5 * discretization.scenario.grid.extent.y - 4.1 if dimensions == 3 else 0.0
    for below in (0.0, 3.0, 5.0, 17.0, 60.0):
        position = np.array([x, y, level + below])
        for component, terms in discretization.physics.observables["stress"].items():
            i, j = (AXES.index(a) for a in component[1:])
            found = sum_of(channel_points(interpolation, terms, position), stress)
            assert found == pytest.approx(stress[i, j], abs=1e-9 * np.abs(stress).max())
            acted_on = interpolation.spreading(discretization.physics.named(component), position)
            found = sum_of(acted_on, strain, shear=2.0)
            wanted = strain[i, j] * (1.0 if i == j else 2.0)
            assert found == pytest.approx(wanted, abs=1e-9 * np.abs(strain).max())


@pytest.mark.parametrize("rock", [{}, {"gamma": 0.2}])
def test_sh_waves_have_no_traction_on_the_ground(rock):
    """s_yz = f_x s_xy on the ground, of strains by c66 / c44; such motion is read as it is."""
    sh = {"type": "uniform", "vs": 1700.0, "rho": 2200.0, **rock}
    force = {"type": "force", "position": {"x": 300.0, "depth": 300.0}, "force": {"y": 1e9},
             "wavelet": {"type": "ricker", "frequency": 5.0}}  # fmt: skip
    discretization = under_a_plane("elastic", 2, physics="elastic_sh", model=[sh], sources=[force])
    position = np.array([303.3, 0.0, discretization.grid.origin[2]])
    terms = discretization.physics.observables["stress"]["syz"]
    slope = np.tan(np.radians(DIP))
    read = channel_points(discretization.interpolation, terms, position)
    assert read["sxy"].weights.sum() == pytest.approx(slope, rel=1e-6)
    assert not read["syz"].weights.any()
    driven = discretization.interpolation.spreading(discretization.physics.named("syz"), position)
    ratio = 1.0 + 2.0 * rock.get("gamma", 0.0)
    strain = {"sxy": 1.0, "syz": slope * ratio}
    found = sum(points.weights.sum() * strain[name] for name, points in driven.items())
    assert found == pytest.approx(slope * ratio, rel=1e-6)
    gradient = np.zeros((3, 3))
    gradient[1] = 1.0, 0.0, slope * ratio
    for below in (0.0, 3.0, 17.0, 60.0):
        position[2] = discretization.grid.origin[2] + below
        for component, wanted in (("exy_rate", 0.5), ("eyz_rate", 0.5 * slope * ratio)):
            terms = discretization.physics.observables["strain_rate"][component]
            assert read_motion(discretization, terms, position, gradient) == pytest.approx(
                wanted, rel=1e-9
            )


APART = 4.0  # m, of exact solutions that derivatives are differences of


def difference(places):
    """Return the weights of the derivative at 0 of the polynomial through some places in m."""
    powers = np.vander(places, increasing=True).T
    return np.linalg.solve(powers, np.arange(len(places)) == 1)


def exact_gradients(lamb, run, quantity="velocity"):
    """Return d_m v_l (receiver, l, m, time) in 1/s under a plane that dips, turned as it is.

    Or of the displacement, in 1.
    """
    receivers = lamb.SHORTEST * lamb.geometry.receivers
    steps = APART * np.arange(-3, 4.0)
    along, down = [], []
    for x, z in receivers:
        # One-sided beside the surface.
        below = steps if z > 3 * APART else APART * np.arange(7.0) - z
        along.append((steps, [(x + step, z) for step in steps]))
        down.append((below, [(x, z + step) for step in below]))
    places = np.array([place for pair in zip(along, down, strict=True)
                       for _, some in pair for place in some])  # fmt: skip
    velocity = lamb.layered_plane.force_response(
        lamb.HALF_SPACE, lamb.SHORTEST * lamb.geometry.source, places, lamb.geometry.force,
        run.source, run.dt, quantity, cut=1e-6,
    ).reshape(len(receivers), 2, 7, 2, -1)  # fmt: skip
    gradients = np.stack([
        [np.tensordot(difference(some), one[m], 1) for m, (some, _) in enumerate(pair)]
        for one, pair in zip(velocity, zip(along, down, strict=True), strict=True)
    ])  # fmt: skip
    turn = lamb.turn(np.radians(DIP))
    return np.einsum("lj,rkjt,mk->rlmt", turn, gradients, turn)


def lambs_problem(monkeypatch):
    """Import the validation case, for this test alone."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "validation"))
    import cases
    import dipping_ground as lamb

    for module in ("dipping_ground", "cases"):
        monkeypatch.delitem(sys.modules, module)
    return cases, lamb


def lambs_run(order, quantities, monkeypatch):
    """Run it with receivers on the ground, half a cell, one, two and five below it."""
    cases, lamb = lambs_problem(monkeypatch)
    receivers = np.array([[1.5, below] for below in (0.0, 0.05, 0.1, 0.2, 0.5)])
    lamb.geometry = replace(lamb.PSV, receivers=receivers, margin=5.0)
    document = lamb.scenario(lamb.geometry, DIP, 0.0, order)
    document["receivers"][0]["quantities"] = quantities
    return lamb, cases.simulate(document)


@pytest.mark.parametrize(
    ("order", "bar"), [(8, 4e-3), pytest.param(4, 6e-3, marks=pytest.mark.slow)]
)
def test_strains_of_lambs_problem(order, bar, monkeypatch):
    """Of the largest gradient there."""
    lamb, run = lambs_run(order, ["divergence", "rotation", "strain_rate"], monkeypatch)
    gradient = exact_gradients(lamb, run)
    size = np.linalg.norm(gradient.reshape(len(gradient), -1), axis=1)
    exact = {
        "divergence": gradient[:, 0, 0] + gradient[:, 1, 1],
        "exx_rate": gradient[:, 0, 0],
        "ezz_rate": gradient[:, 1, 1],
        "exz_rate": 0.5 * (gradient[:, 0, 1] + gradient[:, 1, 0]),
        "rotation_y": 0.5 * (gradient[:, 0, 1] - gradient[:, 1, 0]),
    }
    for name, wanted in exact.items():
        errors = np.linalg.norm(run.traces[name] - wanted, axis=1) / size
        assert errors.max() < bar, name


@pytest.mark.parametrize(
    ("order", "bar"), [(8, 3e-3), pytest.param(4, 4e-3, marks=pytest.mark.slow)]
)
def test_stresses_of_lambs_problem(order, bar, monkeypatch):
    """Of the largest stress there; no traction on the ground."""
    lamb, run = lambs_run(order, ["stress"], monkeypatch)
    gradient = exact_gradients(lamb, run, "displacement")
    shear = lamb.ROCK.rho * lamb.ROCK.vs**2
    pressed = (lamb.ROCK.rho * lamb.ROCK.vp**2 - 2.0 * shear) * (
        gradient[:, 0, 0] + gradient[:, 1, 1]
    )
    exact = {
        "sxx": pressed + 2.0 * shear * gradient[:, 0, 0],
        "szz": pressed + 2.0 * shear * gradient[:, 1, 1],
        "sxz": shear * (gradient[:, 0, 1] + gradient[:, 1, 0]),
    }
    size = np.linalg.norm([*exact.values(), exact["sxz"]], axis=(0, 2))
    for name, wanted in exact.items():
        errors = np.linalg.norm(run.traces[name] - wanted, axis=1) / size
        assert errors.max() < bar, name
    slope = np.tan(np.radians(DIP))
    for normal, across in (("sxx", "sxz"), ("sxz", "szz")):
        traction = run.traces[across][0] - slope * run.traces[normal][0]
        assert np.linalg.norm(traction) < 1e-3 * size[0]


# Rows below the ground, and bars: less than what level ground errs by, or as much.
SHALLOW = {0.5: 0.02, 1: 0.015, 2: 0.01, 4: 0.007}


def shallow_moment(lamb, moment, rows, dip, order):
    """Return a moment's place, receivers, both in shortest wavelengths, and the scenario."""
    angle = np.radians(dip)
    depth = 0.1 * rows
    receivers = np.array([[1.5, 0.0], [3.0, 0.0], [2.0, 1.5]])
    below = depth * np.array([np.sin(angle), np.cos(angle)])
    geometry = replace(lamb.PSV, source=below, receivers=receivers, margin=5.0)
    document = lamb.scenario(geometry, dip, 0.0, order)
    turn = lamb.turn(angle)
    turned = turn @ moment @ turn.T
    (source,) = document["sources"]
    del source["force"]
    source |= {
        "type": "moment_tensor", "position": {"x": 0.0, "depth": depth * lamb.SHORTEST},
        "components": {"xx": turned[0, 0], "zz": turned[1, 1], "xz": turned[0, 1]},
    }  # fmt: skip
    return below, receivers, document


@pytest.mark.parametrize(
    ("order", "dip", "error"),
    [(8, 5.0, 0.0052), (8, 30.0, 0.0134), (8, 45.0, 0.0254), (4, 15.0, 0.0172), (4, 45.0, 0.0457)],
)
def test_what_shallow_moments_err_by_is_told(order, dip, error, monkeypatch):
    """Half a row deep, at the worst of the receivers."""
    _, lamb = lambs_problem(monkeypatch)
    _, _, document = shallow_moment(lamb, 1e12 * np.eye(2)[::-1], 0.5, dip, order)
    told = expected_error(discretize(seismo.load(document))).error
    assert 0.5 * error < told < 3.0 * error


@pytest.mark.parametrize(
    ("component", "rows", "dip"),
    [("tn", 0.5, 30.0), *(pytest.param(*case, marks=pytest.mark.slow) for case in
     [("tt", 0.5, 30.0), ("nn", 0.5, 20.0), ("tt", 1, 20.0), ("tn", 1, 30.0), ("nn", 1, 30.0),
      ("tn", 2, 30.0), ("nn", 2, 30.0), ("tn", 4, 30.0), ("tn", 1, 5.0), ("nn", 1, 10.0)])],
)  # fmt: skip
def test_shallow_moments_of_lambs_problem(component, rows, dip, monkeypatch):
    """Along and across the slope, as right as on level ground."""
    cases, lamb = lambs_problem(monkeypatch)
    moment = np.zeros((2, 2))
    i, j = ("tn".index(letter) for letter in component)
    moment[i, j] = moment[j, i] = 1e12
    below, receivers, document = shallow_moment(lamb, moment, rows, dip, 8)
    turn = lamb.turn(np.radians(dip))
    run = cases.simulate(document)
    exact = lamb.layered_plane.moment_response(
        lamb.HALF_SPACE, lamb.SHORTEST * below, lamb.SHORTEST * receivers, moment,
        run.source, run.dt, "velocity", "moment_rate", cut=1e-6,
    )  # fmt: skip
    exact = np.einsum("ij,rjt->rit", turn, exact)
    errors = np.linalg.norm(run.components("vx", "vz") - exact, axis=(1, 2))
    assert (errors / np.linalg.norm(exact, axis=(1, 2))).max() < SHALLOW[rows]

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
from seismo.equations import elastic_constants
from seismo.grid.grid import AXES
from seismo.solver.channels import channel_points
from seismo.solver.discretize import discretize

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


def read(setup, terms, position, gradient):
    """Read some terms of v_l = d_m v_l x_m at a position x, y, s in m."""
    total = 0.0
    around = setup.interpolation
    for name, points in channel_points(around, terms, position, setup.stencil).items():
        field = setup.physics.named(name)
        x, y, s = (
            setup.grid.coordinate(a, n + 0.5 * (a in field.half))
            if a in setup.grid.axes
            else 0.0 * n
            for a, n in zip(AXES, points[:3], strict=True)
        )
        place = np.stack([x, y, setup.topography.z(s, y, x)])
        total += points.weights @ (gradient[AXES.index(name[1])] @ place)
    return total


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("name", ROCKS)
def test_an_even_gradient_is_read_as_it_is(name, dimensions):
    setup = under_a_plane(name, dimensions)
    gradient = free_gradient(name, dimensions)
    wanted = {
        "divergence": np.trace(gradient),
        **{f"e{a}{b}_rate": 0.5 * (gradient[i, j] + gradient[j, i])
           for i, a in enumerate(AXES) for j, b in enumerate(AXES)},
        "rotation_x": 0.5 * (gradient[2, 1] - gradient[1, 2]),
        "rotation_y": 0.5 * (gradient[0, 2] - gradient[2, 0]),
        "rotation_z": 0.5 * (gradient[1, 0] - gradient[0, 1]),
    }  # fmt: skip
    level = setup.grid.origin[2]
    x = 0.5 * setup.scenario.grid.extent.x + 3.3
    y = 0.5 * setup.scenario.grid.extent.y - 4.1 if dimensions == 3 else 0.0
    scale = np.abs(gradient).max()
    for below in (0.0, 3.0, 5.0, 17.0, 60.0, 200.0):
        position = np.array([x, y, level + below])
        place = np.array([x, y, float(setup.topography.z(position[2], np.array(y), np.array(x)))])
        for a in setup.grid.axes:
            terms = setup.physics.observables["velocity"][f"v{a}"]
            found = read(setup, terms, position, gradient)
            assert found == pytest.approx(gradient[AXES.index(a)] @ place, abs=2e-3 * scale * H)
        for quantity in {"divergence", "rotation", "strain_rate"} & set(setup.physics.observables):
            for component, terms in setup.physics.observables[quantity].items():
                found = read(setup, terms, position, gradient)
                assert found == pytest.approx(wanted[component], abs=3e-3 * scale), component


APART = 4.0  # m, of exact solutions that derivatives are differences of


def difference(places):
    """Return the weights of the derivative at 0 of the polynomial through some places in m."""
    powers = np.vander(places, increasing=True).T
    return np.linalg.solve(powers, np.arange(len(places)) == 1)


def exact_gradients(lamb, run):
    """Return d_m v_l (receiver, l, m, time) in 1/s under a plane that dips, turned as it is."""
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
        run.source, run.dt, "velocity", cut=1e-6,
    ).reshape(len(receivers), 2, 7, 2, -1)  # fmt: skip
    gradients = np.stack([
        [np.tensordot(difference(some), one[m], 1) for m, (some, _) in enumerate(pair)]
        for one, pair in zip(velocity, zip(along, down, strict=True), strict=True)
    ])  # fmt: skip
    turn = lamb.turn(np.radians(DIP))
    return np.einsum("lj,rkjt,mk->rlmt", turn, gradients, turn)


@pytest.mark.parametrize(
    ("order", "bar"), [(8, 4e-3), pytest.param(4, 6e-3, marks=pytest.mark.slow)]
)
def test_strains_of_lambs_problem(order, bar, monkeypatch):
    """On the ground, half a cell, one, two and five below it; of the largest gradient there."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "validation"))
    import cases
    import dipping_ground as lamb

    for module in ("dipping_ground", "cases"):
        monkeypatch.delitem(sys.modules, module)
    receivers = np.array([[1.5, below] for below in (0.0, 0.05, 0.1, 0.2, 0.5)])
    lamb.geometry = replace(lamb.PSV, receivers=receivers, margin=5.0)
    document = lamb.scenario(lamb.geometry, DIP, 0.0, order)
    document["receivers"][0]["quantities"] = ["divergence", "rotation", "strain_rate"]
    run = cases.simulate(document)
    gradient = exact_gradients(lamb, run)
    size = np.linalg.norm(gradient.reshape(len(receivers), -1), axis=1)
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

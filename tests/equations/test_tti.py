"""Elastic waves in rock whose axis of symmetry is tilted: whole spaces, limits, media, energy."""

from functools import partial

import numpy as np
import pytest

import solver
import test_vti
from seismo.equations.framework.registry import equation_for
from seismo.equations.rock import elastic_constants as constants
from seismo.errors import ModelError, ScenarioError
from seismo.exact import anisotropic
from seismo.grid.coefficients import MIDPOINT, Stencil
from seismo.grid.surface_closure import ClosureKind, surface_closure
from seismo.grid.surface_interpolation import midpoint_weights
from seismo.model.effective import tilted_stiffness
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_solver_exact import by_component, check, stress_components, whole_space_case
from test_vti import SAND, beneath

NAMES = ("vp", "vs", "rho", "epsilon", "delta", "gamma", "theta", "phi")
SHALE = {key: (solver.VALUES | solver.FURTHER)[key] for key in NAMES}
CONSTANTS = tuple(f"c{name}" for name in tilted_stiffness.ENTRIES)


def rotated(rock: dict) -> np.ndarray:
    """Give the stiffness (6, 6) by Bond's matrix, of another module than the one under test."""
    upright = constants.vti(*(rock[name] for name in NAMES[:6]))
    turn = constants.rotation(rock["theta"], rock["phi"])
    return constants.rotate(constants.matrix(upright), turn)


average = partial(test_vti.average, names=NAMES, parameters=CONSTANTS)


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_force_in_a_whole_space(dimensions: int) -> None:
    """The bars are 0.3 % (2-D) and 0.8 % at 10 points per wavelength; measured 1e-4 and 4e-4."""
    rock = SHALE | ({"phi": 0.0} if dimensions == 2 else {})
    axes = solver.axes_of(dimensions)
    force = dict(zip(axes, (1.0, 0.7, -0.4), strict=False))
    found, *case = whole_space_case(
        "elastic_tti", dimensions, {"type": "force", "force": force}, ["velocity", "stress"]
    )
    offsets, s, dt = case
    exact = anisotropic.Solid(rotated(rock), rock["rho"])
    case = (offsets, list(force.values()), s, dt, exact)
    tolerance = {2: 6e-4, 3: 3e-3}[dimensions]
    stress = anisotropic.force_response(*case, "stress")
    check(found, stress_components(axes, stress), tolerance)
    velocity = anisotropic.force_response(*case, "velocity")
    check(found, by_component("v", axes, velocity), tolerance)


def test_moment_in_a_whole_space() -> None:
    rock = SHALE | {"phi": 0.0}
    source = {"type": "moment_tensor", "components": {"xz": 1.0, "xx": 0.5}}
    found, offsets, s, dt = whole_space_case("elastic_tti", 2, source, ["velocity"])
    moment = np.array([[0.5, 1.0], [1.0, 0.0]])
    exact = anisotropic.Solid(rotated(rock), rock["rho"])
    wanted = anisotropic.moment_response(offsets, moment, s, dt, exact, "velocity", "moment_rate")
    check(found, by_component("v", "xz", wanted), 2e-3)


@pytest.mark.parametrize("top", ["absorbing", "free_surface"])
@pytest.mark.parametrize("dimensions", solver.slow_but({2}, [2, 3]))
def test_an_axis_that_is_all_but_upright_moves_as_upright_rock(dimensions, top) -> None:
    """The bar is 1e-5; other kernels and other means of layers are used."""
    runs = []
    for name, tilt in (("elastic_vti", {}), ("elastic_tti", {"theta": 1e-9})):
        layers = [
            {"top": 0.0, **{k: SAND[k] for k in NAMES[:6]}, **tilt},
            {"top": 75.0, **{k: SHALE[k] for k in NAMES[:6]}, **tilt},
        ]
        document = solver.plan(
            name, dimensions, model=[{"type": "layers", "layers": layers}], cells=32, steps=None,
            time={"duration": 0.08, "step": 1e-3, "dispersion_removal": False},
            boundaries=solver.faces(dimensions, top=top),
        )  # fmt: skip
        # Away from the contact, beside which upright rock is read by its jumps of strain.
        places = [solver.place(dimensions, n) for n in (4, 25)]
        document["receivers"] = [solver.points(places, quantities=["velocity"])]
        runs.append(solver.records(solver.simulate(document)))
    even, found = runs
    largest = max(np.abs(values).max() for values in even.values())
    if top == "absorbing":
        for key, values in even.items():
            assert np.abs(found[key] - values).max() <= 1e-5 * largest, key
    else:  # another closure: equal to its error
        for key, values in even.items():
            assert np.abs(found[key] - values).max() <= 0.1 * largest, key


def test_rocks_have_the_constants_of_bonds_rotation() -> None:
    for theta, phi in ((30.0, 25.0), (-70.0, 140.0), (90.0, -30.0)):
        rock = SHALE | {"theta": theta, "phi": phi}
        found = average([{"type": "uniform", **rock}], 0.0)
        np.testing.assert_allclose(
            constants.matrix(found), rotated(rock), atol=1e-6 * 1e9, rtol=1e-9
        )


def test_a_contact_within_one_rock_is_none() -> None:
    """Whatever its dip, in the plane and in space."""
    for dip, three in ((20.0, False), (-50.0, False), (35.0, True)):
        denser = {**SHALE, "rho": SHALE["rho"] * (1.0 + 1e-9)}
        found = average([{"type": "uniform", **SHALE}, beneath(dip, denser)], 0.0, three=three)
        np.testing.assert_allclose(constants.matrix(found), rotated(SHALE), rtol=1e-7, atol=1e3)


@pytest.mark.parametrize("dip", [30.0, -30.0])
def test_a_dipping_stack_is_a_turned_flat_one(dip: float) -> None:
    """Both rocks upright about the contact: the mean is the flat mean, turned to the same side."""
    tilted = {"theta": -dip, "phi": 0.0}  # z is down: a dip towards x turns the normal to -x
    parts = [
        {"type": "uniform", **SHALE, **tilted},
        beneath(dip, SAND | tilted),
    ]
    found = constants.matrix(average(parts, 0.0))
    rocks = [rotated(rock | {"theta": 0.0, "phi": 0.0}) for rock in (SHALE, SAND)]
    names = tilted_stiffness.ENTRIES
    entries = [{n: np.array(rock[int(n[0]) - 1, int(n[1]) - 1]) for n in names} for rock in rocks]
    layers = [tilted_stiffness.layers_of(e) for e in entries]
    means = {n: 0.5 * (layers[0][n] + layers[1][n]) for n in layers[0]}
    flat = constants.matrix(tilted_stiffness.stiffness(means))
    wanted = constants.rotate(flat, constants.rotation(-dip, 0.0))
    plane = np.ix_([0, 2, 4], [0, 2, 4])
    assert np.abs(found - wanted)[plane].max() < 0.03 * wanted[0, 0]
    assert found[0, 4] * wanted[0, 4] > 0.0


@pytest.mark.parametrize("order", [4, 8, 12, 16])
def test_interpolation_under_the_surface_is_adjoint_and_exact_for_lines(order: int) -> None:
    closure = surface_closure(Stencil(order), ClosureKind.PLAIN, 0.0)
    to_half, to_node = midpoint_weights(closure)
    nodes = np.arange(to_half.shape[1])
    for power in (0, 1):
        line = to_half @ nodes**power
        np.testing.assert_allclose(line, (nodes[: closure.rows] + 0.5) ** power, atol=1e-9)
        line = to_node @ (nodes + 0.5) ** power
        np.testing.assert_allclose(line, nodes[: closure.rows] ** power, atol=1e-9)
    rows = closure.rows
    here = closure.node_norm[:, None] * to_node[:, :rows]
    there = (closure.half_norm[:, None] * to_half[:, :rows]).T
    np.testing.assert_allclose(here, there, atol=1e-12)


@pytest.mark.parametrize("order", [4, 6, 8, 10, 12, 14, 16])
def test_interpolation_under_the_surface_has_the_norm_of_that_below(order: int) -> None:
    """Rows that interpolated to 1.17 times the energy (orders 6 to 12) let stiff coupling grow."""
    closure = surface_closure(Stencil(order), ClosureKind.PLAIN, 0.0)
    _, to_node = midpoint_weights(closure)
    rows, total = closure.rows, 60
    offset = np.arange(total)[None, :] - np.arange(total)[:, None]
    mean = sum(w * ((offset == m) | (offset == -1 - m)) for m, w in enumerate(MIDPOINT))
    mean[:rows] = 0.0
    mean[:rows, : to_node.shape[1]] = to_node
    node, half = np.ones((2, total))
    node[:rows], half[:rows] = closure.node_norm, closure.half_norm
    assert np.linalg.norm(mean * np.sqrt(node[:, None] / half), 2) < 1.0 + 2e-4


@pytest.mark.parametrize("order", [8])
def test_strongly_coupled_rock_under_a_surface_keeps_its_energy(order: int) -> None:
    """The coupling takes 0.97 of the shear energy; the motion grew by 1e50 in 500 steps."""
    c = {"c11": 20e9, "c13": 6e9, "c33": 15e9, "c15": 3.588e9, "c35": 8.53e9, "c55": 5e9}
    document = solver.plan(
        "elastic", 2, model=[{"type": "uniform", "rho": 2200.0, **c}], order=order, cells=20,
        time={"duration": 2.0, "courant": 0.99, "dispersion_removal": False}, steps=None,
        boundaries=solver.faces(2, "rigid", top="free_surface"),
    )  # fmt: skip
    simulation = solver.build(document)
    levels = solver.levels_of_noise(simulation, (*[1] * 40, 400))
    assert 0.5 < levels[-1] / np.mean(levels[:40]) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("kind", ["rigid", "free"])
def test_energy_stays_in_a_closed_box_of_random_rock(dimensions, kind, tmp_path) -> None:
    """Each node another rock and axis: motion neither grows nor dies in 20,000 steps."""
    named = {"top": "free_surface"} if kind == "free" else {}
    document = solver.plan(
        "elastic_tti", dimensions, random_medium=tmp_path, cells=12 if dimensions == 3 else 20,
        steps=20_700, boundaries=solver.faces(dimensions, "rigid", **named),
        time={"duration": 1.0, "courant": 0.98, "dispersion_removal": False},
    )  # fmt: skip
    simulation = solver.build(document, tmp_path)
    solver.add_noise(simulation)
    simulation.advance(500)  # the sources have ended
    levels = []
    for count in (*[1] * 40, 20_000, *[1] * 40):
        simulation.advance(count)
        fields = solver.wavefield(simulation)
        levels.append(sum(np.sum(fields[f"v{a}"] ** 2) for a in solver.axes_of(dimensions)))
    before, after = np.mean(levels[:40]), np.mean(levels[41:])
    assert 0.7 < after / before < 1.4


@pytest.mark.parametrize(("top", "fitted"), [(0.0, False), (50.0, False), (200.0, True)])
def test_rows_of_upright_rock_keep_the_fitted_closure(top: float, fitted: bool) -> None:
    """Tilted rock that begins in some depth: 50 m are among the rows of the closure, 200 m not."""
    layers = [
        {"top": 0.0, "vp": 2000.0, "vs": 1200.0, "rho": 2200.0},
        {"top": top, **SHALE, "phi": 0.0},
    ]
    document = solver.plan(
        "elastic_tti", 2, model=[{"type": "layers", "layers": layers[top == 0.0 :]}],
        boundaries=solver.faces(2, top="free_surface"), steps=10, order=8, cells=40,
    )  # fmt: skip
    discretization = discretize(from_dict(document))
    assert discretization.scenario.equation.name == "elastic_tti"
    assert (discretization.slope is not None) == fitted


def test_what_does_not_go_together_is_refused() -> None:
    assert equation_for("elastic", 2, ["theta", "epsilon"]).name == "elastic_tti"
    out_of_plane = solver.plan("elastic_tti", 2)
    out_of_plane["model"][0]["phi"] = 40.0
    with pytest.raises(ModelError, match="phi is 0 or 180 deg"):
        discretize(from_dict(out_of_plane))
    with pytest.raises(ScenarioError, match="under a free surface is 4 at least"):
        solver.plan("elastic_tti", 2, order=2, boundaries=solver.faces(2, top="free_surface"))

"""Differences of a bounded symbol, with which a run takes longer steps."""

from functools import partial

import numpy as np
import pytest

import flat_layers
import solver
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.exact.medium import Medium
from seismo.features.long_steps.stencil import longer_steps
from seismo.grid.coefficients import (
    BOUNDS,
    UNDER_SURFACE,
    Stencil,
    bounded,
    bounded_family,
    staggered_symbol,
    under_surface,
)
from seismo.grid.surface_closure import ClosureKind, surface_closure
from seismo.runs.check.plan import check
from seismo.runs.prediction.accuracy import expected_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_solver_conservation import closed_box, start_at_random
from test_solver_stability import amplitude
from test_stiffness import growth, lumps, noise

ROCK = Medium(3200.0, 1850.0, 2200.0)
FREQUENCY = 10.0
K = np.linspace(1e-3, np.pi, 2001)


@pytest.mark.parametrize("order", [6, 8, 12, 16])
def test_no_wave_exceeds_the_bound_nor_has_the_frequency_of_longer_ones(order) -> None:
    """Up to where the tolerance ends; beyond, the symbol is at least a tenth larger."""
    family = bounded_family(order)
    assert len(family) > 30
    for bound, tolerance in family:
        c = bounded(order, bound, tolerance)
        symbol = staggered_symbol(c, K)
        assert symbol.max() < bound * (1.0 + 1e-4)
        outside = np.abs(symbol / K - 1.0) > 1.001 * tolerance
        end = K[np.argmax(outside)]
        assert end > 0.19
        assert symbol[1.35 * end < K].min() > 1.1 * end


def bounded_differences(monkeypatch, axes: str) -> None:
    """Let all runs have them along some axes."""
    monkeypatch.setattr(
        "seismo.solver.discretize.choose_stencil",
        lambda spec, waves: Stencil(spec.order, 0.0, ((axes, 1.5, 1e-4),)),
    )


@pytest.mark.parametrize(
    ("name", "dimensions", "faces", "axes"),
    [
        pytest.param(name, n, *case, marks=[pytest.mark.slow] if slow and case[0] == "free" else [])
        for name, n, slow in (
            ("elastic", 2, False), ("elastic", 3, True), ("viscoelastic", 2, True),
            ("elastic_vti", 2, True), ("elastic_sh", 2, False),
            ("acoustic_variable_density", 3, True),
        )
        for case in (("rigid", "xyz"), ("free", "xy"))
    ],
)  # fmt: skip
def test_the_limit_is_sharp(name, dimensions, faces, axes, monkeypatch) -> None:
    """Noise stays for 400 steps at 0.99 of the limit, and explodes in 300 at 1.05 (VTI: 1.2)."""
    bounded_differences(monkeypatch, axes)
    document = solver.plan(
        name, dimensions, cells=16, steps=400, order=8, boundaries=closed_box(faces, dimensions)
    )
    for courant, steps in ((0.99, 399), (1.2 if name.endswith("vti") else 1.05, 299)):
        simulation = solver.build(document, courant=courant)
        solver.silence(simulation)
        start_at_random(simulation)
        start = amplitude(simulation)
        simulation.advance(steps)
        assert (amplitude(simulation) < 20.0 * start) == (courant < 1.0)


@pytest.mark.parametrize("name", ["elastic", "acoustic_variable_density", "elastic_sh"])
@pytest.mark.parametrize("model", ["noise", "lumps"])
def test_the_limit_holds_beside_light_rock(name, model, tmp_path, monkeypatch) -> None:
    """Densities of 1:20,000 from node to node, or in squares of two."""
    bounded_differences(monkeypatch, "xy")
    draw = {"noise": partial(noise, contrast=2e4), "lumps": partial(lumps, width=2, contrast=2e4)}
    rock = draw[model](physics_for(name, 2), tmp_path)
    assert growth(name, rock, tmp_path, 600) < 4.0


@pytest.mark.parametrize("order", UNDER_SURFACE)
def test_rows_of_a_surface_are_hardly_stiffer_than_those_below(order) -> None:
    """By 16 % at most, where the fits to other coefficients have 40 to 90 % for these."""
    stencil = Stencil(order, bounds=under_surface(order))
    assert surface_closure(stencil, ClosureKind.LONG).growth < 1.16
    assert surface_closure(stencil, ClosureKind.FORCES).growth > 1.4


def half_space(points: float, **grid) -> dict:
    """Give Lamb's problem: a force at 50 m, read on the surface after 4 and 14 wavelengths."""
    h = ROCK.vs / (2.5 * FREQUENCY) / points
    extent = {"x": h * np.ceil(1900.0 / h), "z": h * np.ceil(600.0 / h)}
    return {
        "physics": "elastic",
        "precision": "float64",
        "grid": {"extent": extent, "spacing": h, "origin": {"x": -350.0, "z": 0.0}, **grid},
        "time": {"duration": 1.1},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}],
        "sources": [{
            "type": "force", "position": {"x": 0.0, "z": 50.0}, "force": {"x": 0.0, "z": 1.0},
            "wavelet": {"type": "ricker", "frequency": FREQUENCY, "delay": 0.15},
        }],
        "receivers": [solver.points([{"x": x, "z": 0.0} for x in (300.0, 1100.0)])],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("points", "axes", "longer_by", "bar"), [(7.4, "x", 1.07, 0.004), (10.0, "zx", 1.35, 0.002)]
)
def test_steps_are_longer_and_errors_as_expected(points, axes, longer_by, bar) -> None:
    """Traces of Lamb's problem against exact ones; told is no less than 0.6 of what is found."""
    fitted = discretize(from_dict(half_space(points)))
    simulation = solver.simulate(half_space(points, stencil="long_steps"))
    longer = simulation.discretization
    assert longer.stencil.bounded == axes
    assert longer.clock.limit > longer_by * fitted.clock.limit
    found = max(flat_layers.errors(simulation, (ROCK,), (0.0,)))
    assert found < bar
    assert 0.6 * found < expected_error(longer).error < 3.0 * found


def test_what_would_ring_keeps_its_coefficients() -> None:
    """Order 16 at 6 points: bounded by 1.5, the grid answered by 2 % at its own frequency."""
    bounds = []
    for points in (6.0, 8.0):
        given = half_space(points, order=16, stencil="long_steps")
        del given["boundaries"]
        bounds.append(discretize(from_dict(given)).stencil.bounds)
    assert not bounds[0]
    assert bounds[1]


def test_coarse_grids_keep_their_coefficients() -> None:
    """Where dispersion takes what is accepted no bounded differences are left."""
    discretization = discretize(from_dict(half_space(4.0, stencil="long_steps")))
    assert not discretization.stencil.bounded
    assert discretization.stencil == discretize(from_dict(half_space(4.0))).stencil


def test_the_bound_falls_with_the_points() -> None:
    """Fewer points ask for more of the symbol."""
    setups = [discretize(from_dict(half_space(n, stencil="long_steps"))) for n in (7.4, 9.0, 14.0)]
    least = [
        min(bound for _, bound, _ in discretization.stencil.bounds) for discretization in setups
    ]
    assert least[0] > least[1] > least[2] >= min(BOUNDS)


@pytest.mark.parametrize(("cells", "bound"), [(5.0, 0.0), (9.5, 2.2), (17.0, 1.7)])
def test_near_fields_keep_what_they_need(cells, bound) -> None:
    """A moment in the whole space; error of a receiver so many cells away against the exact one."""
    given = half_space(12.0, stencil="long_steps")
    h = given["grid"]["spacing"]
    del given["boundaries"]
    given["sources"][0] |= {"type": "moment_tensor", "position": {"x": 0.0, "z": 300.0},
                            "components": {"xz": 1e12}, "time_function": "moment"}  # fmt: skip
    del given["sources"][0]["force"]
    place = {"x": 0.8 * cells * h, "z": 300.0 + 0.6 * cells * h}
    given["receivers"] = [solver.points([place], quantities=["velocity"])]
    given["time"]["duration"] = 0.5
    simulation = solver.simulate(given)
    bounds = simulation.discretization.stencil.bounds
    assert (bounds[0][:2] if bounds else ("", 0.0)) == ("xz" if bound else "", bound)
    assert max(flat_layers.errors(simulation, (ROCK, ROCK), (290.0,))) < 0.003


@pytest.mark.parametrize(
    ("cells", "bed", "axes"),
    [(5.0, 40.0, "x"), (12.0, 40.0, "xz"), (12.0, 4.0, ""), (12.0, 9.0, "xz")],
)
def test_contacts_keep_what_they_need(cells, bed, axes) -> None:
    """Receivers some cells above a bed; waves guided in thin ones grow in absorbing layers."""
    given = half_space(12.0, stencil="long_steps")
    del given["boundaries"]
    h = given["grid"]["spacing"]
    rock = {"vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}
    given["model"] = [{"type": "layers", "layers": [
        {"top": 0.0, **rock}, {"top": 300.0, **rock, "vp": 4000.0},
        {"top": 300.0 + bed * h, **rock}]}]  # fmt: skip
    place = {"x": 1100.0, "z": 300.0 - cells * h}
    given["receivers"] = [solver.points([place], quantities=["velocity"])]
    assert discretize(from_dict(given)).stencil.bounded == axes


@pytest.mark.parametrize("order", [6, 12, 16])
def test_under_a_surface_other_orders_keep_their_coefficients(order) -> None:
    """Bounded along x, waves along the rows of its closure grew in absorbing layers."""
    given = half_space(14.0, order=order, stencil="long_steps")
    assert not discretize(from_dict(given)).stencil.bounds


def test_check_says_where_no_step_is_longer() -> None:
    """Without receivers, as near fields are shown."""
    given = half_space(10.0, stencil="long_steps") | {"receivers": []}
    given["output"] = {"snapshots": [{"name": "all", "fields": ["vz"], "interval": 0.1}]}
    assert any("makes no step longer: maps" in text for text in check(from_dict(given)).warnings)


@pytest.mark.parametrize("ratio", [2.0, 2.9])
@pytest.mark.parametrize("name", ["acoustic_variable_density", "elastic", "elastic_sh"])
def test_rock_from_node_to_node_keeps_the_limit(name, ratio, tmp_path, monkeypatch) -> None:
    """A chessboard of rock: with the symbol's largest value waves grew by 2e106 in 600 steps."""
    bounded_differences(monkeypatch, "xyz")
    board = 1.0 + (ratio - 1.0) * (np.indices((25, 21)).sum(axis=0) % 2)
    values = {"vp": 2000.0 * board, "vs": 1000.0 * board, "rho": 1000.0 * board}
    physics = physics_for(name, 2)
    rock = solver.gridded(tmp_path, {key: values[key] for key in physics.needs})
    assert growth(name, rock, tmp_path, 600, averaging="point") < 4.0


def test_check_names_what_longer_steps_save() -> None:
    """As it is measured by the run itself."""
    discretization = discretize(from_dict(half_space(10.0)))
    told = longer_steps(discretization, expected_error(discretization))
    longer = discretize(from_dict(half_space(10.0, stencil="long_steps")))
    assert told.steps == longer.clock.steps / discretization.clock.steps < 0.75
    assert told.error == expected_error(longer).error
    assert "grid.stencil: long_steps takes" in str(told)
    assert longer_steps(longer, expected_error(longer)) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"physics": "acoustic"}, "is for first-order equations, and acoustic is of second order"),
        ({"grid": {"order": 4}}, "is for orders from 6 on, not for 4; leave grid.stencil out"),
        ({"model": "block"}, "is for an earth that varies with depth only"),
        ({"boundaries": {"bottom": "rigid"}}, "is not for rigid or periodic faces"),
        ({"time": {"step": 1e-4}}, "has nothing to choose where time.step is given"),
        ({"time": {"dispersion_removal": False}}, "needs time.dispersion_removal: true"),
        ({"topography": {"type": "hills"}}, "is not for topography"),
    ],
)
def test_other_runs_are_refused(changes, reason) -> None:
    """With the key and the reason."""
    given = half_space(8.0, stencil="long_steps")
    if changes.get("model") == "block":
        block = {"type": "block", "x": [500.0, 600.0], "z": [200.0, 300.0], "vp": 4000.0}
        changes = {"model": [*given["model"], {**given["model"][0], **block}]}
    for key, value in changes.items():
        given[key] = given[key] | value if isinstance(given.get(key), dict) else value
    if given["physics"] == "acoustic":
        given["model"] = [{"type": "uniform", "vp": 3200.0}]
        given["sources"][0] = {key: given["sources"][0][key] for key in ("position", "wavelet")}
        given["sources"][0]["type"] = "pressure"
        given["receivers"][0]["quantities"] = ["pressure"]
    if "topography" in given:
        hill = {"center": {"x": 500.0}, "height": 20.0, "width": 200.0}
        given["topography"]["hills"] = [hill]
        del given["grid"]["origin"]["z"]
    with pytest.raises(ScenarioError, match=reason):
        discretize(from_dict(given))

"""Rock that is transversely isotropic about z: effective media, limits, and exact whole spaces."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

import solver
from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock.plane_waves import Rock
from seismo.errors import ModelError, ScenarioError
from seismo.exact import acoustic, anisotropic
from seismo.model.build import build_earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average
from seismo.scenario import from_dict
from seismo.scenario.model_parts import ModelPart
from seismo.solver.discretize import discretize
from test_solver_exact import TOLERANCE, by_component, check, stress_components, whole_space_case

NAMES = ("vp", "vs", "rho", "epsilon", "delta", "gamma")
SHALE = {key: (solver.VALUES | solver.FURTHER)[key] for key in NAMES}
SAND = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0, "epsilon": 0.05, "delta": -0.05, "gamma": 0.1}
EVEN = dict.fromkeys(("epsilon", "delta", "gamma"), 0.0)
SPACING = dict.fromkeys("xyz", 10.0)
AVERAGES = ("c11", "c13", "c33", "c44", "c66")


def average(parts, z, x=0.0, names=NAMES, parameters=AVERAGES, three=False, **how):
    """Give the averages of one point, by name."""
    validated = [TypeAdapter(ModelPart).validate_python(part) for part in parts]
    earth = build_earth(validated, Path(), names)
    y = np.zeros(1) if three else None
    found = cell_average(
        earth,
        GridCells(np.array([z]), y, np.array([x]), SPACING),
        parameters,
        dtype=np.float64,
        **how,
    )
    return {name: value.item() for name, value in found.items()}


def beneath(dip: float, rock: dict) -> dict:
    """Give all that lies beneath a contact through the origin, which dips to the right."""
    slope = 1e4 * np.tan(np.radians(dip))
    return {"type": "interface", "points": [[-1e4, -slope], [1e4, slope]], **rock}


EXACT = anisotropic.Solid(constants.matrix(constants.vti(**SHALE)), SHALE["rho"])


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_force_in_a_whole_space(dimensions: int) -> None:
    """The bar is 0.5 % at 10 points per wavelength; measured 6e-5 (2-D), 4e-4 (3-D, order 4)."""
    axes = solver.axes_of(dimensions)
    force = dict(zip(axes, (1.0, 0.7, -0.4), strict=False))
    found, *case = whole_space_case(
        "elastic_vti", dimensions, {"type": "force", "force": force}, ["velocity", "stress"]
    )
    offsets, s, dt = case
    case = (offsets, list(force.values()), s, dt, EXACT)
    stress = anisotropic.force_response(*case, "stress")
    check(found, stress_components(axes, stress), TOLERANCE[dimensions])
    velocity = anisotropic.force_response(*case, "velocity")
    check(found, by_component("v", axes, velocity), TOLERANCE[dimensions])


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_moment_in_a_whole_space(dimensions: int) -> None:
    """In 3-D at one receiver, along whose path the exact answer takes a few seconds."""
    axes = solver.axes_of(dimensions)
    source = {"type": "moment_tensor", "components": {"xz": 1.0, "xx": 0.5}}
    found, offsets, s, dt = whole_space_case("elastic_vti", dimensions, source, ["velocity"])
    moment = np.zeros((dimensions, dimensions))
    moment[0, -1] = moment[-1, 0] = 1.0
    moment[0, 0] = 0.5
    wanted = anisotropic.moment_response(
        offsets[:1], moment, s, dt, EXACT, "velocity", "moment_rate"
    )
    first = {name: values[:1] for name, values in found.items()}
    check(first, by_component("v", axes, wanted), TOLERANCE[dimensions])


def test_sh_waves_spread_on_ellipses() -> None:
    """Lengths in units of the speeds along the axes make them circles."""
    source = {"type": "force", "force": {"y": 1.0}}
    found, offsets, s, dt = whole_space_case("elastic_sh_vti", 2, source, ["velocity"])
    v = SHALE["vs"] * np.array([np.sqrt(1.0 + 2.0 * SHALE["gamma"]), 1.0])
    wanted = acoustic.injection_pressure(offsets / v, s, dt, 1.0, 1.0)
    check(found, {"vy": wanted / (SHALE["rho"] * v.prod())}, TOLERANCE[2])


@pytest.mark.parametrize(
    ("name", "dimensions"), [("elastic", 2), ("elastic", 3), ("elastic_sh", 2)]
)
def test_rock_that_is_all_but_isotropic_moves_as_isotropic_rock(name, dimensions) -> None:
    """The bar is 1e-5; other kernels run, of five constants instead of two."""
    physics = solver.physics_for(name, dimensions)
    nearly = dict.fromkeys(("epsilon", "delta", "gamma"), 1e-12)
    model = [solver.uniform(physics)[0] | more for more in (EVEN, nearly)]
    runs = [
        solver.simulate(solver.plan(
            name, dimensions, model=[part], time={"duration": 1.0, "step": 1.5e-3},
            cells=20, steps=50,
        ))
        for part in model
    ]  # fmt: skip
    assert [run.discretization.scenario.equation.name for run in runs] == [name, f"{name}_vti"]
    even, found = (solver.records(run) for run in runs)
    largest = max(np.abs(values).max() for values in even.values())
    for key, values in even.items():
        scale = np.abs(values).max()
        assert np.abs(found[key] - values).max() <= 1e-7 * max(scale, 1e-9 * largest), key


def test_sh_rock_that_varies_sideways() -> None:
    """A contact that dips by next to nothing is that of layers; the equation lacks two of three."""
    below = {"type": "interface", "points": [[-1e4, 149.999], [1e4, 150.001]], **SAND}
    layers = {"type": "layers", "layers": [{"top": 0.0, **SHALE}, {"top": 150.0, **SAND}]}
    places = [solver.points([{"x": 110.0, "z": 70.0}, {"x": 90.0, "z": 230.0}])]
    wanted, found = (
        solver.records(solver.simulate(solver.plan(
            "elastic_sh_vti", 2, model=model, cells=30, receivers=places
        )))
        for model in ([layers], [{"type": "uniform", **SHALE}, below])
    )  # fmt: skip
    for key, values in wanted.items():
        assert np.abs(found[key] - values).max() < 0.05 * np.abs(values).max(), key


def test_a_fluid_on_vti_rock_that_varies_sideways_has_no_mean() -> None:
    """Cells that it cuts along the grid have no compliance of shear."""
    water = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0, **EVEN}
    parts = [{"type": "uniform", **water}, {"type": "block", "z": [73.0, 2000.0], **SHALE},
             {"type": "block", "x": [50.0, 90.0], "z": [120.0, 150.0], **SAND}]  # fmt: skip
    simulation = solver.build(solver.plan("elastic_vti", 2, model=parts, cells=20))
    assert np.isfinite(solver.coefficient(simulation, "c33")).all()


def test_the_fastest_wave_limits_the_step() -> None:
    """That along the layers: sqrt(1 + 2 epsilon) as fast."""
    plain, layered = (
        discretize(from_dict(solver.plan(name, 2, steps=None, stencil="taylor"))).clock.limit
        for name in ("elastic", "elastic_vti")
    )
    assert plain / layered == pytest.approx(np.sqrt(1.4))


def test_flat_layers_have_backus_average() -> None:
    """A third of sand in a cell (Backus 1962; Schoenberg & Muir 1989)."""
    block = {"type": "block", "z": [1e3, 1003.0], **SAND}  # one cell about 1000 m has 3 of 10 m
    found = average(
        [{"type": "uniform", **SHALE}, block], 1000.0, subsamples=10
    )  # fmt: skip
    rocks = [constants.constants_of(rock) for rock in (SHALE, SAND)]
    share = np.array([0.7, 0.3])
    mean = lambda of: float(share @ [of(c) for c in rocks])  # noqa: E731
    c33 = 1.0 / mean(lambda c: 1.0 / c["c33"])
    turn = mean(lambda c: c["c13"] / c["c33"])
    wanted = {
        "c33": c33,
        "c13": turn * c33,
        "c11": mean(lambda c: c["c11"] - c["c13"] ** 2 / c["c33"]) + turn**2 * c33,
        "c44": 1.0 / mean(lambda c: 1.0 / c["c44"]),
        "c66": mean(lambda c: c["c66"]),
    }
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("dip", [0.0, 20.0, 45.0, 70.0])
def test_a_contact_within_one_rock_is_none(dip: float) -> None:
    """Whatever its dip, the rock on both sides keeps its upright axis."""
    denser = {**SHALE, "rho": SHALE["rho"] * (1.0 + 1e-9)}
    found = average([{"type": "uniform", **SHALE}, beneath(dip, denser)], 0.0)
    for name, value in constants.constants_of(SHALE).items():
        assert found[name] == pytest.approx(value, rel=1e-8), name
    names = ("vs", "rho", "gamma")
    parts = [{"type": "uniform", **SHALE}, beneath(dip, denser)]
    moduli = average(parts, 0.0, names=names, parameters=("mu_xy", "mu_yz"))
    c = constants.constants_of(SHALE)
    assert moduli["mu_xy"] == pytest.approx(c["c66"], rel=1e-8)
    assert moduli["mu_yz"] == pytest.approx(c["c44"], rel=1e-8)


@pytest.mark.parametrize("dip", [20.0, 45.0, 70.0])
def test_dipping_contacts_of_isotropic_rocks_are_those_of_their_own_rule(dip: float) -> None:
    parts = [{"type": "uniform", **SHALE, **EVEN}, beneath(dip, {**SAND, **EVEN})]
    found, wanted = (average(parts, 0.0, names=names) for names in (NAMES, NAMES[:3]))
    for name, value in wanted.items():
        # The dip is found from samples of another modulus.
        assert found[name] == pytest.approx(value, rel=0.02), name


def test_an_upright_contact_in_space_keeps_rock_that_is_the_same_on_both_sides() -> None:
    denser = {**SHALE, "rho": SHALE["rho"] * (1.0 + 1e-9)}
    parts = [{"type": "uniform", **SHALE}, {"type": "block", "x": [1.0, 1e3], **denser}]
    found = average(parts, 0.0, three=True)
    for name, value in constants.constants_of(SHALE).items():
        assert found[name] == pytest.approx(value, rel=1e-8), name


def test_a_contact_with_water_knows_the_rock() -> None:
    rock, c = Rock(**SHALE), constants.constants_of(SHALE)
    assert rock.thin_stretch == pytest.approx(c["c13"] / c["c33"])
    assert rock.plate == pytest.approx(c["c11"] - c["c13"] ** 2 / c["c33"])
    assert (rock.shear, rock.level_shear) == pytest.approx((c["c44"], c["c66"]))
    assert rock.fastest == pytest.approx(SHALE["vp"] * np.sqrt(1.4))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"vs": 0.0}, r"model\[0\].*: vs is 0 and epsilon is 0.2 .*; a fluid has none of these"),
        ({"delta": -0.4}, "delta is -0.4 .* so that c13 is no real number: raise it"),
        ({"epsilon": -0.3, "delta": 0.2}, "would set energy free: raise epsilon or lower delta"),
        ({"epsilon": 20.0}, "20.0: must be a number, above -0.5, at most 2"),
    ],
)
def test_what_no_rock_can_be_is_told(values, said) -> None:
    document = solver.plan("elastic_vti", 2, steps=None)
    document["model"] = [{"type": "uniform", **SHALE, **values}]
    with pytest.raises((ModelError, ScenarioError), match=said):
        discretize(from_dict(document))


def test_water_over_shale_is_plain_water() -> None:
    """A part of type water has none of the parameters of the rock that it covers."""
    document = solver.plan("elastic_vti", 2, steps=None)
    document["model"] = [{"type": "uniform", **SHALE}, {"type": "water", "depth": 60.0}]
    discretization = discretize(from_dict(document))
    assert discretization.scenario.equation.name == "elastic_vti"
    assert discretization.earth.sample(np.array([30.0]), None)["epsilon"] == 0.0
    assert [
        contact.solid.epsilon
        for contact in discretization.slips.corrected or discretization.slips.every
    ] == [0.2]


@pytest.mark.parametrize(
    "c", [(16.7, 14.0, 6.6, 6.63), (4.0, 20.0, 7.5, 2.0)], ids=["apatite", "IV"]
)
def test_layers_damp_what_they_would_let_grow(c, monkeypatch) -> None:
    """Crystals whose energy runs back: apatite, and model IV of Becache et al. (2003)."""
    c11, c33, c13, c44 = (1e10 * modulus for modulus in c)
    rock = {"vp": (c33 / 2500.0) ** 0.5, "vs": (c44 / 2500.0) ** 0.5, "rho": 2500.0}
    rock |= {"epsilon": (c11 - c33) / (2 * c33), "gamma": -0.4}
    rock["delta"] = ((c13 + c44) ** 2 - (c33 - c44) ** 2) / (2 * c33 * (c33 - c44))
    boundaries = {**solver.faces(2), "layer": {"points": 12}}
    document = solver.plan(
        "elastic_vti", 2, cells=40, steps=3000, boundaries=boundaries,
        model=[{"type": "uniform", **rock}],
    )  # fmt: skip
    document["sources"] = document["sources"][:1]
    document["sources"][0]["wavelet"]["frequency"] = rock["vs"] / 220.0
    late = []
    for share in (1.5, 0.0):
        monkeypatch.setattr("seismo.features.guided_waves.guides.SAFE_OF_ROCKS", share)
        simulation = solver.build(document)
        simulation.advance(1000)
        before = np.abs(solver.wavefield(simulation)["vx"]).max()
        simulation.advance(simulation.total_steps - 1000)
        late.append(np.abs(solver.wavefield(simulation)["vx"]).max() / before)
    assert late[0] < 0.1
    assert late[1] > 10.0

"""Rock of Tsvankin's parameters and of elastic constants: whole spaces, limits, rotation."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import seismo
import solver
from seismo.equations.framework.registry import equation_for
from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock import plane_waves
from seismo.errors import ModelError, ScenarioError
from seismo.exact import anisotropic
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_solver_exact import TOLERANCE, by_component, check, stress_components, whole_space_case

pytestmark = pytest.mark.usefixtures("no_remedies", "exact_contacts")

RHO = solver.VALUES["rho"]
TSVANKIN = ("epsilon1", "epsilon2", "delta1", "delta2", "delta3", "gamma1", "gamma2")
NUMBERS = {name: solver.FURTHER[name] for name in TSVANKIN}
FRACTURED = {**solver.VALUES, **NUMBERS}
NINE = ("c11", "c12", "c13", "c22", "c23", "c33", "c44", "c55", "c66")
ALL = tuple(f"c{i}{j}" for i, j in combinations_with_replacement("123456", 2))
FIVE = {"c11": 12e9, "c13": 4e9, "c33": 9e9, "c44": 2e9, "c66": 3e9}
PLANE = ("c11", "c13", "c15", "c33", "c35", "c55")


def orthorhombic() -> np.ndarray:
    """Give the stiffness (6, 6), by Tsvankin's definitions (1997, eqs. 14 to 30) solved by hand."""
    n, vp, vs = NUMBERS, solver.VALUES["vp"], solver.VALUES["vs"]
    c33, c55 = RHO * vp**2, RHO * vs**2
    c11, c22 = c33 * (1.0 + 2.0 * n["epsilon2"]), c33 * (1.0 + 2.0 * n["epsilon1"])
    c66 = c55 * (1.0 + 2.0 * n["gamma1"])
    c44 = c66 / (1.0 + 2.0 * n["gamma2"])
    c = np.diag([c11, c22, c33, c44, c55, c66])
    for i, j, normal, shear, delta in (
        (0, 2, c33, c55, n["delta2"]), (1, 2, c33, c44, n["delta1"]), (0, 1, c11, c66, n["delta3"]),
    ):  # fmt: skip
        squares = 2.0 * delta * normal * (normal - shear) + (normal - shear) ** 2
        c[i, j] = c[j, i] = np.sqrt(squares) - shear
    return c


def turned(theta: float, phi: float, azimuth: float) -> np.ndarray:
    return constants.rotate(orthorhombic(), constants.rotation(theta, phi, azimuth))


def triclinic() -> np.ndarray:
    """Give a stiffness without any symmetry, whose waves do not grow in absorbing layers."""
    noise = np.random.default_rng(2).uniform(-0.01, 0.01, (6, 6))
    return turned(30.0, 25.0, 40.0) + RHO * solver.VALUES["vp"] ** 2 * (noise + noise.T)


def entries(stiffness: np.ndarray, names=ALL) -> dict[str, float]:
    return {name: float(stiffness[int(name[1]) - 1, int(name[2]) - 1]) for name in names}


def uniform(rock: dict) -> list[dict]:
    return [{"type": "uniform", "rho": RHO, **rock}]


def setup_of(rock: dict, dimensions: int, **changes):
    return discretize(from_dict(solver.plan("elastic", dimensions, model=uniform(rock), **changes)))


ROCKS = {
    "orthorhombic": (orthorhombic(), entries(orthorhombic(), NINE), "elastic_orthorhombic"),
    "by Tsvankin": (orthorhombic(), FRACTURED, "elastic_orthorhombic"),
    "triclinic": (triclinic(), entries(triclinic()), "elastic_triclinic"),
    "in the plane": (triclinic(), entries(triclinic(), PLANE), "elastic_triclinic"),
}


@pytest.mark.parametrize(
    ("kind", "dimensions"),
    [
        ("in the plane", 2),
        pytest.param("by Tsvankin", 2, marks=pytest.mark.slow),
        pytest.param("orthorhombic", 2, marks=pytest.mark.slow),
        pytest.param("by Tsvankin", 3, marks=pytest.mark.slow),
        pytest.param("triclinic", 3, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_force_in_a_whole_space(kind: str, dimensions: int) -> None:
    """The bars are 0.5 % (orthorhombic) and 0.8 % at 10 points per wavelength.

    In 3-D at order 4 triclinic rock errs by 0.08 % at most.
    """
    stiffness, rock, name = ROCKS[kind]
    axes = solver.axes_of(dimensions)
    force = dict(zip(axes, (1.0, 0.7, -0.4), strict=False))
    part = {"type": "force", "force": force}
    found, *case = whole_space_case(
        "elastic", dimensions, part, ["velocity", "stress"], model=uniform(rock)
    )
    assert setup_of(rock, dimensions).scenario.equation.name == name
    offsets, s, dt = case
    case = (offsets, list(force.values()), s, dt, anisotropic.Solid(stiffness, RHO))
    stress = anisotropic.force_response(*case, "stress")
    check(found, stress_components(axes, stress), TOLERANCE[dimensions])
    velocity = anisotropic.force_response(*case, "velocity")
    check(found, by_component("v", axes, velocity), TOLERANCE[dimensions])


def test_moment_in_a_whole_space() -> None:
    stiffness, rock, _ = ROCKS["in the plane"]
    source = {"type": "moment_tensor", "components": {"xz": 1.0, "xx": 0.5}}
    found, offsets, s, dt = whole_space_case(
        "elastic", 2, source, ["velocity"], model=uniform(rock)
    )
    moment = np.array([[0.5, 1.0], [1.0, 0.0]])
    exact = anisotropic.Solid(stiffness, RHO)
    wanted = anisotropic.moment_response(offsets, moment, s, dt, exact, "velocity", "moment_rate")
    check(found, by_component("v", "xz", wanted), 2e-3)


def run(rock: dict, dimensions: int, **changes):
    changes = {"cells": 20, "time": {"duration": 0.06, "step": 1.2e-3}, "steps": None} | changes
    return solver.simulate(solver.plan("elastic", dimensions, model=uniform(rock), **changes))


def differ(one, other) -> float:
    """Give the largest difference of two runs' records, in shares of the largest of their kind."""
    first, second = solver.records(one), solver.records(other)
    scales: dict[str, float] = {}
    for key, v in first.items():
        kind = key.split(".")[1][0]
        scales[kind] = max(scales.get(kind, 0.0), float(np.abs(v).max()))
    return max(float(np.abs(second[k] - v).max() / scales[k.split(".")[1][0]])
               for k, v in first.items())  # fmt: skip


@pytest.mark.parametrize("dimensions", [2, 3])
def test_five_constants_move_as_thomsens_parameters(dimensions: int) -> None:
    """The same equation takes both; constants are those of the parameters to rounding."""
    shale = {k: (solver.VALUES | solver.FURTHER)[k]
             for k in ("vp", "vs", "rho", "epsilon", "delta", "gamma")}  # fmt: skip
    five = {name: float(c) for name, c in constants.vti(**shale).items()}
    by_numbers, by_constants = run(shale, dimensions), run(five, dimensions)
    assert by_constants.discretization.scenario.equation.name == "elastic_vti"
    assert differ(by_numbers, by_constants) < 1e-9


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_isotropic_rock_by_constants_moves_as_isotropic_rock(dimensions: int) -> None:
    """The bar is 1e-5; three other equations run."""
    rock = constants.vti(**solver.VALUES)
    full = constants.matrix(rock)
    runs = [
        run(part, dimensions)
        for part in (
            solver.VALUES, {k: float(v) for k, v in rock.items()}, entries(full, NINE),
            entries(full, NINE) | {"c15": 1e-3},
        )
    ]  # fmt: skip
    names = [each.discretization.scenario.equation.name.removeprefix("elastic") for each in runs]
    assert names == ["", "_vti", "_orthorhombic", "_triclinic"]
    for other in runs[1:]:
        assert differ(runs[0], other) < 1e-7


@pytest.mark.parametrize("dimensions", solver.slow_but({2}, [2, 3]))
def test_rock_turned_by_hand_moves_as_rock_turned_by_angles(dimensions: int) -> None:
    """Constants of Bond's rotation, and the same rock with theta, phi and azimuth."""
    angles = {"theta": 30.0, "phi": 0.0, "azimuth": 0.0}
    if dimensions == 3:
        angles |= {"phi": 25.0, "azimuth": 40.0}
    by_hand = entries(turned(**angles))
    if dimensions == 2:
        by_hand = {name: by_hand[name] for name in PLANE}
    runs = [run(rock, dimensions) for rock in (FRACTURED | angles, by_hand)]
    assert differ(*runs) < 1e-9
    shale = {k: (solver.VALUES | solver.FURTHER)[k]
             for k in ("vp", "vs", "rho", "epsilon", "delta", "gamma")}  # fmt: skip
    tilt = {name: angles[name] for name in ("theta", "phi")}
    five = constants.rotate(constants.matrix(constants.vti(**shale)), constants.rotation(**tilt))
    names = PLANE if dimensions == 2 else ALL
    leaning, constant = run(shale | tilt, dimensions), run(entries(five, names), dimensions)
    assert leaning.discretization.scenario.equation.name == "elastic_tti"
    assert differ(leaning, constant) < 1e-9


def test_a_quarter_turn_exchanges_the_axes_of_the_rock() -> None:
    """In the plane of x and z stands what stood in that of y and z."""
    swapped = entries(orthorhombic()) | {
        "c11": orthorhombic()[1, 1], "c13": orthorhombic()[1, 2], "c55": orthorhombic()[3, 3]
    }  # fmt: skip
    for quarter in (90.0, -90.0, 270.0):
        runs = [run(FRACTURED | {"azimuth": quarter}, 2),
                run({name: swapped[name] for name in ("c11", "c13", "c33", "c55")}, 2)]  # fmt: skip
        assert differ(*runs) < 1e-9


@pytest.mark.parametrize(
    ("dimensions", "top"),
    [
        (2, "absorbing"), (2, "free_surface"),
        pytest.param(3, "absorbing", marks=pytest.mark.slow),
        pytest.param(3, "free_surface", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_gridded_rock_moves_as_a_uniform_one(dimensions: int, top: str, tmp_path) -> None:
    rock = entries(orthorhombic(), NINE) | {"azimuth": 0.0 if dimensions == 2 else 30.0}
    changes = {"boundaries": solver.faces(dimensions, top=top)}
    even = run(rock, dimensions, **changes)
    shape = (21,) * dimensions
    model = solver.gridded(
        tmp_path, {k: np.full(shape, v) for k, v in (rock | {"rho": RHO}).items()}
    )
    document = solver.plan("elastic", dimensions, cells=20, steps=None, model=model,
                           time={"duration": 0.06, "step": 1.2e-3}, **changes)  # fmt: skip
    assert differ(even, solver.simulate(document, tmp_path)) < 1e-9


def test_gridded_constants_may_be_in_gpa(tmp_path) -> None:
    files = {}
    for name, value in (entries(orthorhombic(), NINE) | {"rho": RHO}).items():
        np.save(tmp_path / f"{name}.npy", np.full((3, 3), value if name == "rho" else value / 1e9))
        files[name] = {"path": f"{name}.npy", "spacing": "500 m"}
        files[name] |= {} if name == "rho" else {"units": "GPa"}
    model = [{"type": "file", **files}]
    discretization = discretize(
        from_dict(solver.plan("elastic", 2, model=model, steps=None), tmp_path)
    )
    for name in ("c11", "c55"):
        low, high = discretization.extremes.others[name]
        assert low == pytest.approx(high) == pytest.approx(entries(orthorhombic())[name])


def test_the_fastest_wave_is_that_of_all_directions() -> None:
    """Against 8,000 directions, of rocks without symmetry, each alone and of all together."""
    generator = np.random.default_rng(7)
    roots = np.eye(6) * 3.0 + generator.normal(0.0, 0.5, (30, 6, 6))
    stiffness = roots @ np.swapaxes(roots, 1, 2) * 1e9
    n = generator.normal(size=(8000, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    every = np.array([plane_waves.waves(one, 2000.0, n)[0].max() for one in stiffness])
    media = {name: stiffness[:, int(name[1]) - 1, int(name[2]) - 1] for name in ALL}
    media |= {"rho": np.full(30, 2000.0)}
    single = [{name: v[k] for name, v in media.items()} for k in range(30)]
    assert [float(plane_waves.fastest(one)) for one in single] == pytest.approx(every, rel=1e-3)
    assert plane_waves.fastest(media).max() == pytest.approx(every.max(), rel=1e-3)


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_waves_in_rock_without_symmetry_stay_below_the_limit(dimensions: int) -> None:
    """Noise in a rigid box, at 0.99 of the limit of the step: it neither grows nor dies."""
    names = ALL if dimensions == 3 else PLANE
    document = solver.plan(
        "elastic", dimensions, model=uniform(entries(triclinic(), names)), cells=20, steps=1100,
        boundaries=solver.faces(dimensions, "rigid"),
        time={"duration": 1.0, "courant": 0.99, "dispersion_removal": False},
    )  # fmt: skip
    simulation = solver.build(document)
    solver.silence(simulation)
    solver.add_noise(simulation)
    levels = []
    for count in (*[1] * 20, 1000, *[1] * 20):
        simulation.advance(count)
        fields = solver.wavefield(simulation)
        levels.append(sum(np.sum(fields[f"v{a}"] ** 2) for a in solver.axes_of(dimensions)))
    assert 0.7 < np.mean(levels[21:]) / np.mean(levels[:20]) < 1.4


@pytest.mark.parametrize(
    ("rock", "key", "message"),
    [
        ({"c11": 12e9, "c33": 9e9, "c44": 2e9, "c66": 3e9}, "c13", "missing: give c11, c13, c33"),
        ({**entries(orthorhombic(), NINE), "vp": 2000.0}, "vp", "stands beside c11"),
        ({**FRACTURED, "epsilon": 0.1}, "epsilon1", "Thomsen's parameters or Tsvankin's"),
        ({**FIVE, "c22": 9e9}, "c12", "missing"),
        ({name: value / 1e9 for name, value in FIVE.items()}, "c11", "did you mean '12 GPa'"),
        ({"c11": "12 km/s"}, "c11", "GPa"),
        ({"rho": RHO}, "vp", "missing: give P velocity .*, or elastic constants"),
    ],
)  # fmt: skip
def test_what_is_no_rock_is_refused_with_its_key(rock, key, message) -> None:
    with pytest.raises(ScenarioError, match=rf"model\[0\].{key}: .*{message}"):
        from_dict(solver.plan("elastic", 3, steps=None) | {"model": uniform(rock)})


@pytest.mark.parametrize(
    ("rock", "dimensions", "message"),
    [
        (entries(orthorhombic(), NINE) | {"c13": 2e10}, 3, r"positive definite"),
        ({"c11": 9e9, "c13": 9e9, "c33": 9e9, "c44": 2e9, "c66": 3e9}, 2, r"positive definite"),
        (FRACTURED | {"delta3": -0.4}, 3, r"delta3 is -0.4 .*no real number"),
        (FRACTURED | {"epsilon2": -0.4, "delta2": 0.5}, 3, r"raise the epsilons"),
        (entries(orthorhombic(), NINE) | {"c14": 1e9}, 2, r"c14 is 1e\+09 .*couples motion"),
        (entries(orthorhombic(), NINE) | {"c36": 1e9}, 2, r"c36 is 1e\+09 .*couples motion"),
        (FRACTURED | {"azimuth": 30.0}, 2, r"so turned, the rock couples motion"),
        ({"c11": 9e9, "c13": -3e9, "c33": 9e9, "c44": 2e9, "c66": 3e9}, 3, r"no delta stands"),
    ],
)  # fmt: skip
def test_impossible_constants_are_refused(rock, dimensions, message) -> None:
    with pytest.raises(ModelError, match=message):
        setup_of(rock, dimensions, steps=None, time={"duration": 0.1, "step": 1e-3})


def test_water_lies_over_five_constants() -> None:
    five = {k: float(v) for k, v in constants.vti(**solver.VALUES, epsilon=0.1).items()}
    model = [*uniform(five), {"type": "water", "depth": 50.0}]
    discretization = discretize(from_dict(solver.plan("elastic", 2, model=model, steps=10)))
    assert discretization.scenario.equation.name == "elastic_vti"
    assert discretization.extremes.fluid


@pytest.mark.parametrize("first", ["constants", "velocities"])
def test_a_part_leaves_nothing_of_rock_given_in_another_way(first: str) -> None:
    """Constants over Thomsen's parameters with a tilt, and velocities over constants."""
    leaning = {"vp": 2000.0, "vs": 1200.0, "epsilon": 0.2, "delta": 0.1, "theta": 30.0}
    upright = entries(orthorhombic(), NINE)
    plain = {"vp": 2500.0, "vs": 1300.0}
    parts = [leaning, upright] if first == "velocities" else [upright, plain]
    model = [*uniform(parts[0]), {"type": "block", "z": [100.0, 200.0], **parts[1]}]
    discretization = discretize(from_dict(solver.plan("elastic", 2, model=model, steps=10)))
    inside = discretization.earth.sample(np.array([150.0]), None, np.array([0.0]))
    if first == "velocities":
        assert inside["c11"][0] == pytest.approx(upright["c11"])
        assert inside["c15"][0] == 0.0
    else:
        assert inside["c11"][0] == pytest.approx(RHO * 2500.0**2)
        assert inside["c13"][0] == pytest.approx(RHO * (2500.0**2 - 2 * 1300.0**2))


def test_layers_may_be_given_in_different_ways() -> None:
    layers = [
        {"top": 0.0, "rho": RHO, **solver.VALUES},
        {"top": 60.0, "rho": RHO, **entries(orthorhombic(), NINE)},
        {"top": 120.0, "rho": RHO, **solver.VALUES, "c11_gradient": 0.0, "epsilon": 0.1},
    ]
    model = [{"type": "layers", "layers": layers}]
    discretization = discretize(from_dict(solver.plan("elastic", 2, model=model, steps=10)))
    found = discretization.earth.sample(np.array([30.0, 90.0, 150.0]), None)
    p = RHO * solver.VALUES["vp"] ** 2
    assert found["c11"] == pytest.approx([p, orthorhombic()[0, 0], 1.2 * p])


def test_equations_take_what_the_model_gives() -> None:
    for taken, name in (
        (("c11", "c13", "c33", "c44", "c66"), "elastic_vti"), (TSVANKIN, "elastic_orthorhombic"),
        (("epsilon1", "theta"), "elastic_triclinic"), (("c15",), "elastic_triclinic"),
        (("epsilon", "theta"), "elastic_tti"),
    ):  # fmt: skip
        assert equation_for("elastic", 3, taken).name == name
    with pytest.raises(ScenarioError, match="no equation of acoustic takes c11"):
        equation_for("acoustic", 2, ["c11"])
    with pytest.raises(ScenarioError, match="no equation of elastic_sh takes gamma1"):
        equation_for("elastic_sh", 2, ["gamma1"])


@pytest.mark.parametrize(
    ("dimensions", "top"),
    [
        (2, "absorbing"), (2, "free_surface"),
        pytest.param(3, "free_surface", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_layers_of_vti_rock_by_nine_constants_move_as_by_five(dimensions: int, top: str) -> None:
    """The bar is 1e-5 away from the contact, beside which jumps of strain in VTI rock count.

    Means of cells are those of Schoenberg & Muir in both, the rows under the surface are the same.
    """
    rocks = (
        {**solver.VALUES, "epsilon": 0.1, "delta": 0.05, "gamma": 0.1},
        {"vp": 2600.0, "vs": 1500.0, "rho": 2400.0, "epsilon": 0.2, "delta": 0.1, "gamma": 0.05},
    )
    runs = []
    for names in (("c11", "c13", "c33", "c44", "c66"), NINE):
        stiffness = [constants.matrix(constants.vti(**rock)) for rock in rocks]
        layers = [
            {"top": z, "rho": rock["rho"], **entries(c, names)}
            for z, rock, c in zip((0.0, 75.0), rocks, stiffness, strict=True)
        ]
        document = solver.plan(
            "elastic", dimensions, model=[{"type": "layers", "layers": layers}], cells=28,
            steps=None, time={"duration": 0.06, "step": 1e-3, "dispersion_removal": False},
            boundaries=solver.faces(dimensions, top=top),
        )  # fmt: skip
        places = [solver.place(dimensions, n) for n in (4, 22)]
        document["receivers"] = [solver.points(places, quantities=["velocity"])]
        far = solver.place(dimensions, 18.3)
        document["sources"] = [part | {"position": far} for part in document["sources"]]
        runs.append(solver.simulate(document))
    assert runs[1].discretization.scenario.equation.name == "elastic_orthorhombic"
    assert (runs[0].discretization.slope is None) == (runs[1].discretization.slope is None)
    assert differ(*runs) < 1e-5


def test_results_hold_the_constants_about_the_axes_of_the_grid(tmp_path) -> None:
    angles = {"theta": 20.0, "phi": 0.0, "azimuth": 90.0}
    document = solver.plan("elastic", 2, model=uniform(FRACTURED | angles), cells=20, steps=4)
    results = seismo.run(document, output=str(tmp_path / "run.h5"))
    for name, value in entries(turned(**angles), PLANE).items():
        assert np.asarray(results.model[name]) == pytest.approx(value, rel=1e-6)

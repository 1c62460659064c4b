"""Rock that is anisotropic and attenuates: its loss, plane waves, whole spaces, limits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

import solver
from seismo import check
from seismo.equations.elastic.lossy_tti import losses
from seismo.equations.framework.registry import EQUATIONS, equation_for
from seismo.equations.rock import anisotropic_loss
from seismo.equations.rock import elastic_constants as constants
from seismo.exact import acoustic, anisotropic, shear
from seismo.grid.coefficients import MIDPOINT
from seismo.model.build import build_earth
from seismo.model.effective import GridCells, tilted_stiffness
from seismo.model.effective.averaging import effective_medium
from seismo.scenario import from_dict
from seismo.scenario.model_parts import ModelPart
from seismo.solver.discretize import discretize
from test_solver_exact import TOLERANCE, by_component, whole_space_run
from test_solver_exact import check as compare
from test_vti import SAND, beneath

NAMES = ("vp", "vs", "rho", "epsilon", "delta", "gamma")
ROCK = {key: (solver.VALUES | solver.FURTHER)[key] for key in (*NAMES, "qp", "qs")}
PLANE = (0, 2, 4)  # Voigt's indices of xx, zz and xz
TILTS = {2: {"theta": 30.0, "phi": 0.0}, 3: {"theta": 30.0, "phi": 25.0}}  # as `solver.uniform`


def random_rocks(count: int) -> dict[str, np.ndarray]:
    """Draw VTI rocks that take energy for every strain."""
    generator = np.random.default_rng(3)
    ends = {"vp": (2000.0, 5000.0), "ratio": (0.15, 0.6), "rho": (1800.0, 2800.0),
            "epsilon": (-0.1, 0.4), "delta": (-0.2, 0.3), "gamma": (-0.1, 0.4)}  # fmt: skip
    rocks = {name: generator.uniform(*pair, count) for name, pair in ends.items()}
    rocks["vs"] = rocks["vp"] * rocks.pop("ratio")
    sound = constants.has_c13(rocks) & constants.takes_energy(rocks)
    assert sound.sum() > count // 2
    return {name: samples[sound] for name, samples in rocks.items()}


def loss_matrix(rocks: dict, p, s) -> np.ndarray:
    """Give the imaginary part of stiffnesses (..., 6, 6) of small 1/Q of P and of S waves."""
    c = constants.constants_of(rocks)
    return constants.matrix(anisotropic_loss.relaxed(c, 1.0 + 1j * p, 1.0 + 1j * s)).imag


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_least_loss_of_p_waves_is_where_a_strain_begins_to_gain(dimensions: int) -> None:
    rocks = random_rocks(300)
    s = np.full(rocks["vp"].shape, 0.05)
    p = s * anisotropic_loss.shear_share(rocks, dimensions)
    kept = range(6) if dimensions == 3 else PLANE
    least = [
        np.linalg.eigvalsh(loss_matrix(rocks, p * more, s)[:, kept][:, :, kept])[:, 0]
        / constants.constants_of(rocks)["c33"]
        for more in (0.99, 1.0, 1.01, 3.0, 30.0)
    ]
    assert (least[0] < -1e-7).all()
    assert np.abs(least[1]).max() < 1e-12
    for more in least[2:]:
        assert more.min() > 1e-7


def test_isotropic_rock_is_where_anisotropic_rock_ends() -> None:
    rocks = random_rocks(50)
    rocks |= dict.fromkeys(("epsilon", "delta", "gamma"), 0.0 * rocks["vp"])
    nearly = rocks | {"epsilon": 1e-9 + 0.0 * rocks["vp"]}
    for dimensions in (2, 3):
        plain, near = (anisotropic_loss.shear_share(r, dimensions) for r in (rocks, nearly))
        np.testing.assert_allclose(near, plain, rtol=1e-6)


def test_parameters_of_scaled_moduli_are_theirs() -> None:
    rocks = random_rocks(300)
    changed = rocks | anisotropic_loss.scaled(rocks, 1.1, 1.3)
    found = constants.constants_of(changed)
    wanted = anisotropic_loss.relaxed(constants.constants_of(rocks), 1.1, 1.3)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-9, err_msg=name)


def test_quality_factors_by_direction_are_as_described() -> None:
    """S waves of every direction have qs, P waves qp but for a term that is told."""
    epsilon, delta, qp, qs = 0.12, 0.05, 60.0, 30.0
    c = constants.vti(3000.0, 1700.0, 2300.0, epsilon, delta, 0.1)
    p, s = (1.0 + 1j / q for q in (qp, qs))
    rock = anisotropic.Solid(constants.matrix(anisotropic_loss.relaxed(c, p, s)), 2300.0)
    angle = np.radians(np.arange(0.0, 91.0, 10.0))
    n = np.stack([np.sin(angle), np.zeros_like(angle), np.cos(angle)], 1)
    squares = rock.modes(n)[0] ** 2
    loss = np.sort(squares.imag / squares.real, 1)  # P loses least
    term = 2.0 * (1 / qs - 1 / qp) * (delta - epsilon) * (np.sin(angle) * np.cos(angle)) ** 2
    np.testing.assert_allclose(loss[:, 0], 1 / qp + term, rtol=0.01)
    np.testing.assert_allclose(loss[:, 1:], 1 / qs, rtol=0.02)
    np.testing.assert_allclose(loss[[0, -1], 0], 1 / qp, rtol=1e-12)
    rocks = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0, "epsilon": epsilon, "delta": delta}
    along_p, along_s = anisotropic_loss.by_direction(rocks | {"gamma": 0.1, "qp": qp, "qs": qs})
    np.testing.assert_allclose(along_p[::2], loss[:, 0] * qp, atol=1e-4)
    assert np.abs(loss[:, 1:] * qs - along_s[::2, None]).min(1).max() < 1e-4


def complex_constants(discretization, rock: dict, s: complex | None) -> dict:
    """Give the constants of a run's own mechanisms, for a Laplace variable s [1/s], or unrelaxed.

    These are those of s = None.
    """
    relaxation = discretization.earth.relaxation
    y = {wave: float(relaxation.cell_value(wave, rock[f"q{wave}"], 1.0, 0.0)) for wave in "ps"}
    ratios = (
        relaxation.velocity_ratio(wave, y[wave]) ** 2
        * (1.0 if s is None else relaxation.modulus(wave, y[wave], -1j * s))
        for wave in "ps"
    )
    return anisotropic_loss.relaxed(constants.constants_of(rock), *ratios)


def complex_stiffness(discretization, rock: dict, s: complex | None) -> np.ndarray:
    """Give the same about the axes of the grid, as a matrix (6, 6)."""
    upright = constants.matrix(complex_constants(discretization, rock, s))
    turn = constants.rotation(rock.get("theta", 0.0), rock.get("phi", 0.0))
    return constants.rotate(upright, turn)


def means(discretization, k: np.ndarray) -> np.ndarray:
    """Give what interpolation to nodes makes of strains (6) of wavenumbers k."""
    phase = (np.arange(len(MIDPOINT)) + 0.5) * (k * discretization.grid.spacing)[:, None]
    x, y, z = 2.0 * np.cos(phase) @ MIDPOINT
    return np.array([1.0, 1.0, 1.0, y * z, x * z, x * y])


def discrete_christoffel(discretization, rock: dict, k: np.ndarray, s: complex) -> np.ndarray:
    """Give the stiffness (6, 6) that steps and differences have for wavenumbers k (3) 1/m."""
    stiffness = complex_stiffness(discretization, rock, s)
    if "theta" not in rock:
        return stiffness
    # Shear strains that act on the nodes are interpolated; S moduli act on their own stresses.
    relaxation = discretization.earth.relaxation
    y = float(relaxation.cell_value("s", rock["qs"], 1.0, 0.0))
    unrelaxed = complex_stiffness(discretization, rock, None)
    own = np.diag(unrelaxed) * relaxation.modulus("s", y, -1j * s)
    own[:3] = 0.0
    shares = means(discretization, k)
    return np.diag(own) + shares[:, None] * (stiffness - np.diag(own)) * shares


def symbols(discretization, k: np.ndarray) -> np.ndarray:
    """Give the wavenumbers that the differences take k for."""
    m = np.arange(len(discretization.stencil.first)) + 0.5
    h = np.array(discretization.grid.spacing)
    return 2.0 / h * (np.sin(np.outer(k * h, m)) @ np.asarray(discretization.stencil.first))


def strain(wavenumber: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Give Voigt's strain rates (6) of velocities (3) exp(i k x)."""
    tensor = 1j * np.outer(wavenumber, motion)
    tensor = tensor + tensor.T
    return np.array([tensor[i, j] / (1 + (i == j)) for i, j in constants.PAIRS])


def plane_wave(discretization, rock: dict, k: np.ndarray, wave: int):
    """Give s [1/s], the motion (3) and its stiffness: the wave of that number, slowest first."""
    seen, dt = symbols(discretization, k), discretization.clock.dt
    index = constants.VOIGT
    axes = [0, 1, 2] if discretization.grid.dimensions == 3 else [0, 2]
    s = 2j * np.pi * 20.0
    for _ in range(60):
        stiffness = discrete_christoffel(discretization, rock, k, s)
        tensor = stiffness[index[:, :, None, None], index[None, None]]
        gamma = np.einsum("ijkl,j,l->ik", tensor, seen, seen)[np.ix_(axes, axes)] / rock["rho"]
        squares, motions = np.linalg.eig(gamma)
        chosen = np.argsort(squares.real)[wave]
        s = 2.0 / dt * np.arcsinh(0.5j * dt * np.sqrt(squares[chosen]))
    motion = np.zeros(3, complex)
    motion[axes] = motions[:, chosen]
    return s, motion, stiffness


def start_wave(simulation, amplitudes: dict[str, complex], k: np.ndarray) -> None:
    """Set fields to Re a exp(i k x), each where it stands."""
    discretization, (part,) = simulation.discretization, simulation.solvers
    for field in discretization.physics.fields:
        if not field.slope:
            array = part.fields.arrays(0)[field.name]
            part.subdomain.inside(array)[0] = at_points(
                discretization, field, amplitudes[field.name], k
            )
    for images in reversed(part.images):
        for fill in (f for stage in images.values() for f in stage):
            fill()


def at_points(discretization, field, amplitude: complex, k: np.ndarray) -> np.ndarray:
    """Give Re a exp(i k x) where a field stands, (z, y, x)."""
    phases = [
        k[n] * h * (np.arange(count) + 0.5 * (axis in field.half))
        for n, (axis, h, count) in enumerate(
            zip("xyz", discretization.grid.spacing, discretization.grid.points, strict=True)
        )
    ]
    x, y, z = phases
    return (amplitude * np.exp(1j * (z[:, None, None] + y[:, None] + x))).real


@pytest.mark.parametrize(
    ("dimensions", "wave"),
    [(2, 0), (2, 1), *(pytest.param(3, n, marks=pytest.mark.slow) for n in range(3))],
)
@pytest.mark.parametrize("name", ["viscoelastic_vti", "viscoelastic_tti"])
def test_plane_waves_have_their_complex_christoffel_modulus(name, dimensions, wave) -> None:
    """In single precision, of 7 points per wavelength and more, in 200 steps; the bar is 1e-5."""
    rock = ROCK | (TILTS[dimensions] if "theta" in EQUATIONS[name].needs else {})
    document = solver.plan(
        name, dimensions, precision="float32", steps=200, cells=23 if dimensions == 2 else 15,
        boundaries=solver.faces(dimensions, "periodic"), attenuation={"storage": 32},
    )  # fmt: skip
    simulation = solver.build(document)
    discretization = simulation.discretization
    counts = np.array([2, 1, 3] if dimensions == 2 else [1, 1, 1])
    k = 2.0 * np.pi * counts / (np.array(discretization.grid.points) * discretization.grid.spacing)
    k[1] *= dimensions == 3
    s, motion, stiffness = plane_wave(discretization, rock, k, wave)
    z = np.exp(s * discretization.clock.dt)
    rates = strain(symbols(discretization, k), motion)
    stress = discretization.clock.dt * np.sqrt(z) / (z - 1.0) * (stiffness @ rates)
    decay, gain = discretization.earth.relaxation.decay(discretization.clock.dt)
    amplitudes = {f"v{a}": motion[n] / np.sqrt(z) for n, a in enumerate("xyz")}
    for n, pair in enumerate(("xx", "yy", "zz", "yz", "xz", "xy")):
        amplitudes[f"s{pair}"] = stress[n]
        for m, (a, b) in enumerate(zip(decay, gain, strict=True), 1):
            amplitudes[f"memory_{pair}_{m}"] = b * np.sqrt(z) / (z - a) * rates[n]
            on_nodes = means(discretization, k)[n] * rates[n]
            amplitudes[f"memory_node_{pair}_{m}"] = b * np.sqrt(z) / (z - a) * on_nodes
    solver.silence(simulation)
    start_wave(simulation, amplitudes, k)
    simulation.advance(200)
    for field in (f for f in discretization.physics.fields if f.name.startswith("v")):
        wanted = at_points(discretization, field, amplitudes[field.name] * z**200, k)
        error = np.abs(solver.wavefield(simulation)[field.name] - wanted).max()
        assert error < 1e-5 * np.abs(motion * z**200).max()


def attenuating(discretization, name: str) -> anisotropic.AttenuatingSolid:
    """Give the rock of a run in one that is uniform, with the moduli of its own mechanisms."""
    tilted = "theta" in EQUATIONS[name].needs
    rock = ROCK | (TILTS[discretization.grid.dimensions] if tilted else {})
    return anisotropic.AttenuatingSolid(
        lambda s: complex_stiffness(discretization, rock, s), ROCK["rho"]
    )


@pytest.mark.parametrize(
    "name", [pytest.param("viscoelastic_vti", marks=pytest.mark.slow), "viscoelastic_tti"]
)
@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_force_in_a_whole_space(name: str, dimensions: int) -> None:
    """The bar is 0.5 % at 10 points per wavelength; in 3-D at one receiver, for the exact answer.

    The modulus is that of the run's own mechanisms, so that only the scheme errs.
    """
    axes = solver.axes_of(dimensions)
    force = dict(zip(axes, (1.0, 0.7, -0.4), strict=False))
    simulation, offsets = whole_space_run(
        name, dimensions, {"type": "force", "force": force}, ["velocity"]
    )
    rock = attenuating(simulation.discretization, name)
    case = (offsets[:1], list(force.values()), solver.wavelet(simulation), simulation.dt, rock)
    wanted = anisotropic.force_response(*case, "velocity")
    first = {name: values[:1] for name, values in solver.traces(simulation).items()}
    compare(first, by_component("v", axes, wanted), TOLERANCE[dimensions])


def test_sources_of_volume_lose_as_c11_does() -> None:
    """The moment of a volume source is c11 times it, the complex one, whose axis is tilted."""
    discretization = discretize(from_dict(solver.plan("viscoelastic_tti", 3, steps=5)))
    relaxation, omega = discretization.earth.relaxation, 150.0
    rock = ROCK | TILTS[3]
    wanted, unrelaxed = (
        complex_stiffness(discretization, rock, s)[0, 0] for s in (1j * omega, None)
    )
    place = np.array([100.0])
    medium = effective_medium(
        discretization.earth,
        GridCells(place, place, place, solver.SPACING),
        discretization.physics.medium,
    )
    arrays = discretization.physics.coefficients(medium, discretization.clock.dt)
    terms = [t for t in discretization.physics.drives["volume_rate"] if t.field == "sxx"]
    warped = 2.0 / discretization.clock.dt * np.tan(0.5 * omega * discretization.clock.dt)
    response = [term.rate / (term.rate + 1j * warped) if term.rate else 1.0 for term in terms]
    scales = [
        term.scale(lambda name, of_component=False: arrays[name], 1.0).item() for term in terms
    ]
    assert np.dot(scales, response) / scales[0] == pytest.approx(wanted / unrelaxed, rel=1e-7)
    assert len(terms) == 1 + relaxation.mechanisms


def test_sh_waves_spread_on_ellipses() -> None:
    """Lengths in units of the speeds along the axes make them circles; qs is that of all waves."""
    source = {"type": "force", "force": {"y": 1.0}}
    simulation, offsets = whole_space_run("viscoelastic_sh_vti", 2, source, ["velocity"])
    v = ROCK["vs"] * np.array([np.sqrt(1.0 + 2.0 * ROCK["gamma"]), 1.0])

    def speed(s: np.ndarray) -> np.ndarray:
        c44 = complex_constants(simulation.discretization, ROCK, s)["c44"]
        return np.sqrt(c44 / ROCK["rho"]) / ROCK["vs"]

    case = (offsets / v, [0.0, 0.0], solver.wavelet(simulation), simulation.dt, speed)
    wanted = shear.force_response(*case, ROCK["rho"], "velocity") / v.prod()
    compare(solver.traces(simulation), {"vy": wanted}, TOLERANCE[2])


def layered(names: tuple[str, ...], **changes) -> list[dict]:
    """Give two layers of rock, of these parameters."""
    upper = {key: ROCK[key] for key in names} | changes
    lower = upper | {"vp": 3000.0, "vs": 1700.0, "qp": 90.0, "qs": 60.0}
    lower = {key: value for key, value in lower.items() if key in upper}
    return [{"type": "layers", "layers": [{"top": 0.0, **upper}, {"top": 133.0, **lower}]}]


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [("elastic", 2), pytest.param("elastic", 3, marks=pytest.mark.slow), ("elastic_sh", 2)],
)
def test_rock_that_is_all_but_isotropic_moves_as_isotropic_rock(name, dimensions) -> None:
    """The bar is 1e-5: other kernels run, under a free surface and on both sides of a contact."""
    runs = []
    for thomsen in (0.0, 1e-12):
        model = layered((*NAMES, "qp", "qs"), epsilon=thomsen, delta=thomsen, gamma=thomsen)
        runs.append(solver.simulate(solver.plan(
            name, dimensions, model=model, time={"duration": 1.0, "step": 1e-3}, cells=20,
            steps=60, boundaries=solver.faces(dimensions, top="free_surface"),
        )))  # fmt: skip
    short = name.removeprefix("elastic")
    assert [run.discretization.scenario.equation.name for run in runs] == [
        f"viscoelastic{short}", f"viscoelastic{short}_vti"
    ]  # fmt: skip
    even, found = (solver.records(run) for run in runs)
    largest = max(np.abs(values).max() for values in even.values())
    for key, values in even.items():
        scale = np.abs(values).max()
        assert np.abs(found[key] - values).max() <= 1e-7 * max(scale, 1e-9 * largest), key


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_an_axis_that_is_all_but_upright_moves_as_upright_rock(dimensions: int) -> None:
    """To 1e-9 where one rock fills the cells; a contact changes waves that leave it by 3e-4.

    Cells that it cuts have another approximation to the loss of their normal stresses.
    """
    for parts, bar in ((1, 1e-9), (2, 3e-4)):
        runs = []
        for name, tilt in (("viscoelastic_vti", {}), ("viscoelastic_tti", {"theta": 1e-9})):
            (part,) = layered((*NAMES, "qp", "qs"), **tilt)
            (_, lower) = layers = part["layers"]
            lower["top"] = 75.0
            document = solver.plan(
                name, dimensions, model=[{"type": "layers", "layers": layers[:parts]}], cells=28,
                steps=None, time={"duration": 0.07, "step": 1e-3, "dispersion_removal": False},
            )  # fmt: skip
            places = [solver.place(dimensions, n) for n in (4, 22)]
            document["receivers"] = [solver.points(places, quantities=["velocity", "stress"])]
            runs.append(solver.simulate(document))
            assert runs[-1].discretization.scenario.equation.name == name
        assert solver.difference(*map(solver.records, runs)) < bar


ENTRIES = tuple(f"c{name}" for name in tilted_stiffness.ENTRIES)
ROOTS = tuple(f"root{n}" for n in range(1, 7))
LOSSES = ("y_dilation", "y_distortion")


def averages(parts: list[dict], names: tuple[str, ...], factor: float = 0.0) -> dict:
    """Give averages of the cell about the origin, with moduli by a factor of their y larger."""
    validated = [TypeAdapter(ModelPart).validate_python(part) for part in parts]
    wide = (-1e5, 1e5)
    earth = build_earth(validated, Path(), (*NAMES, "theta", "phi", "qp", "qs"), (wide,) * 3)
    relaxation = discretize(from_dict(solver.plan("viscoelastic_tti", 2, steps=5))).earth.relaxation
    earth = replace(earth, relaxation=relaxation, growth=factor)
    zero = np.zeros(1)
    found = effective_medium(earth, GridCells(zero, zero, zero, solver.SPACING), names)
    return {name: value.item() for name, value in found.items()}


def loss_of(medium: dict) -> np.ndarray:
    """Give the loss (6, 6) that a node has, its own shear constants aside."""
    y_p, y_s = losses(medium)
    stiffness = constants.matrix({name: medium[name] for name in ENTRIES})
    v = np.array([medium[name] for name in ROOTS])
    return y_s * stiffness + (y_p - y_s) * np.outer(v, v)


@pytest.mark.parametrize("dip", [0.0, 20.0, -50.0])
def test_a_contact_within_one_rock_that_attenuates_is_none(dip: float) -> None:
    """Whatever its dip: the roots are those of the rock, and so are y of its moduli."""
    rock = ROCK | TILTS[3]
    parts = [{"type": "uniform", **rock}, beneath(dip, rock | {"rho": rock["rho"] * (1.0 + 1e-9)})]
    found = averages(parts, (*ENTRIES, *ROOTS, *LOSSES))
    upright = np.diag([np.sqrt(1.0 + 2.0 * rock["epsilon"])] * 2 + [1.0])
    turn = constants.rotation(rock["theta"], rock["phi"])
    tensor = turn @ upright @ turn.T
    v = np.array([found[name] for name in ROOTS])
    wanted = np.array([tensor[i, j] for i, j in constants.PAIRS])
    np.testing.assert_allclose(v / v[0], wanted / wanted[0], rtol=1e-6, atol=1e-6)
    qualities = 1.0 / np.array([rock["qp"] + 1.0, rock["qs"] + 1.0])
    np.testing.assert_allclose(losses(found), qualities, rtol=1e-5)


@pytest.mark.parametrize("dip", [0.0, 30.0, 70.0])
def test_cells_of_two_rocks_lose_what_both_do(dip: float) -> None:
    """The first-order loss is that of Schoenberg & Muir's mean to a fifth; no strain gains energy.

    It is less than half a per cent of the modulus, in one cell.
    """
    other = SAND | {"theta": -40.0, "phi": 70.0, "qp": 150.0, "qs": 100.0}
    parts = [{"type": "uniform", **ROCK, **TILTS[3]}, beneath(dip, other)]
    medium = averages(parts, (*ENTRIES, *ROOTS, *LOSSES))
    loss = loss_of(medium)
    c, stiffer = (constants.matrix(averages(parts, ENTRIES, factor)) for factor in (0.0, 1e-5))
    wanted = (stiffer - c) / 1e-5
    assert np.linalg.norm(loss - wanted) < 0.2 * np.linalg.norm(wanted)
    assert np.linalg.eigvalsh(loss)[0] > 0.0


def test_the_model_chooses_the_equation() -> None:
    known = {
        "epsilon": "viscoelastic_vti",
        "gamma": "viscoelastic_vti",
        "theta": "viscoelastic_tti",
    }
    for key, name in known.items():
        assert equation_for("elastic", 3, ["qp", key]).name == name
    assert equation_for("elastic_sh", 2, ["qs", "gamma"]).name == "viscoelastic_sh_vti"
    assert equation_for("acoustic", 3, ["qp", "delta"]).name == "viscoacoustic_vti"


@pytest.mark.usefixtures("no_remedies")
def test_p_waves_that_lose_too_little_are_named_and_lose_more() -> None:
    document = solver.plan("viscoelastic_vti", 2, steps=5)
    document["model"][0] |= {"qp": 1e4, "qs": 20.0}
    rock = {key: np.array(value) for key, value in document["model"][0].items() if key in NAMES}
    most = 20.0 / anisotropic_loss.shear_share(rock, 2)
    (line,) = (w for w in check(document, backend="cpu").warnings if "qp 10000" in w)
    assert f"{most:.4g} is taken" in line
    discretization = discretize(from_dict(document))
    assert discretization.extremes.others["qp"] == pytest.approx((most, most))


@pytest.mark.usefixtures("no_remedies")
def test_times_of_shear_alone_leave_some_strain_without_loss() -> None:
    document = solver.plan("viscoelastic_vti", 2, steps=5)
    document["attenuation"] = {"relaxation": {"s": [[0.012, 0.01]]}}
    discretization = discretize(from_dict(document))
    relaxation = discretization.earth.relaxation
    rock = {key: np.array(ROCK[key]) for key in NAMES}
    share = float(anisotropic_loss.shear_share(rock, 2))
    assert discretization.extremes.others["shear_share"] == pytest.approx((share, share))
    medium = effective_medium(
        discretization.earth,
        GridCells(np.array([100.0]), None, np.array([100.0]), solver.SPACING),
        ("y_c11", "y_c33", "y_slack", "y_c44"),
    )
    p, s = relaxation.anelastic("p", medium["y_c33"]), relaxation.anelastic("s", medium["y_c44"])
    np.testing.assert_allclose(p, share * s, rtol=1e-4)
    assert not any("relaxation" in line for line in check(document, backend="cpu").warnings)
    document["attenuation"]["relaxation"]["p"] = [[0.0101, 0.01]]
    (line,) = (w for w in check(document, backend="cpu").warnings if "relaxation" in w)
    assert "the bulk modulus gains energy" in line


@pytest.mark.usefixtures("no_remedies")
def test_check_says_how_the_law_is_kept_and_q_by_direction() -> None:
    plan = check(solver.plan("viscoelastic_vti", 2, steps=5), backend="cpu")
    p, s = plan.attenuation.spread
    assert 0.01 < p < 0.05
    assert s < 0.02
    said = str(plan.attenuation)
    assert "mechanisms keep 1/Q" in said
    assert f"by direction 1/Q differs from 1/qp by up to {100 * p:.2g} %" in said


def test_acoustic_waves_spread_on_ellipses_where_epsilon_is_delta() -> None:
    """Lengths in units of the speeds along the axes make them circles, with one modulus for all.

    p = root r; of a source s and of the pressure both have shares of one half.
    """
    rock = {"vp": 2000.0, "epsilon": 0.2, "delta": 0.2, "qp": 40.0}
    simulation, offsets = whole_space_run(
        "viscoacoustic_vti", 2, {"type": "pressure", "amplitude": 1.0}, ["pressure"],
        model=[{"type": "uniform", **rock}],
    )  # fmt: skip
    relaxation = simulation.discretization.earth.relaxation
    y = float(relaxation.cell_value("p", rock["qp"], 1.0, 0.0))
    unrelaxed = rock["vp"] * float(relaxation.velocity_ratio("p", y))

    def speed(s: np.ndarray) -> np.ndarray:
        return unrelaxed * np.sqrt(relaxation.modulus("p", y, -1j * s))

    root = np.sqrt(1.0 + 2.0 * rock["delta"])
    case = (offsets / [root, 1.0], solver.wavelet(simulation), simulation.dt, speed)
    wanted = acoustic.pressure(*case) * (0.5 * (root + 1.0)) ** 2 / root
    compare(solver.traces(simulation), {"pressure": wanted}, TOLERANCE[2])

"""Rock that is anisotropic and attenuates: its loss, plane waves, whole spaces, limits."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="exact solutions need the validation extra")

import solver
from seismo import check
from seismo.equations import anisotropic_loss
from seismo.equations import elastic_constants as constants
from seismo.equations.registry import EQUATIONS, equation_for
from seismo.exact import acoustic, anisotropic, shear
from seismo.model.loss import effective_medium
from seismo.scenario import from_dict
from seismo.solver.discretization import discretize
from test_solver_exact import TOLERANCE, by_component, whole_space_run
from test_solver_exact import check as compare

NAMES = ("vp", "vs", "rho", "epsilon", "delta", "gamma")
ROCK = {key: (solver.VALUES | solver.FURTHER)[key] for key in (*NAMES, "qp", "qs")}
PLANE = (0, 2, 4)  # Voigt's indices of xx, zz and xz


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


def complex_constants(setup, rock: dict, s: complex) -> dict:
    """Give the constants of a run's own mechanisms, for a Laplace variable s [1/s]."""
    relaxation = setup.earth.relaxation
    y = {wave: float(relaxation.cell_value(wave, rock[f"q{wave}"], 1.0, 0.0)) for wave in "ps"}
    ratios = (
        relaxation.velocity_ratio(wave, y[wave]) ** 2 * relaxation.modulus(wave, y[wave], -1j * s)
        for wave in "ps"
    )
    return anisotropic_loss.relaxed(constants.constants_of(rock), *ratios)


def discrete_christoffel(setup, rock: dict, k: np.ndarray, s: complex) -> np.ndarray:
    """Give the stiffness (6, 6) that steps and differences have for wavenumbers k (3) 1/m."""
    return constants.matrix(complex_constants(setup, rock, s))


def symbols(setup, k: np.ndarray) -> np.ndarray:
    """Give the wavenumbers that the differences take k for."""
    m = np.arange(len(setup.stencil.first)) + 0.5
    h = np.array(setup.grid.spacing)
    return 2.0 / h * (np.sin(np.outer(k * h, m)) @ np.asarray(setup.stencil.first))


def strain(wavenumber: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Give Voigt's strain rates (6) of velocities (3) exp(i k x)."""
    tensor = 1j * np.outer(wavenumber, motion)
    tensor = tensor + tensor.T
    return np.array([tensor[i, j] / (1 + (i == j)) for i, j in constants.PAIRS])


def plane_wave(setup, rock: dict, k: np.ndarray, wave: int):
    """Give s [1/s], the motion (3) and its stiffness: the wave of that number, slowest first."""
    seen, dt = symbols(setup, k), setup.clock.dt
    index = constants.VOIGT
    axes = [0, 1, 2] if setup.grid.dimensions == 3 else [0, 2]
    s = 2j * np.pi * 20.0
    for _ in range(60):
        stiffness = discrete_christoffel(setup, rock, k, s)
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
    setup, (part,) = simulation.setup, simulation.parts
    for field in setup.physics.fields:
        if not field.slope:
            array = part.fields.arrays(0)[field.name]
            part.subdomain.inside(array)[0] = at_points(setup, field, amplitudes[field.name], k)
    for images in reversed(part.images):
        for fill in (f for stage in images.values() for f in stage):
            fill()


def at_points(setup, field, amplitude: complex, k: np.ndarray) -> np.ndarray:
    """Give Re a exp(i k x) where a field stands, (z, y, x)."""
    phases = [
        k[n] * h * (np.arange(count) + 0.5 * (axis in field.half))
        for n, (axis, h, count) in enumerate(
            zip("xyz", setup.grid.spacing, setup.grid.points, strict=True)
        )
    ]
    x, y, z = phases
    return (amplitude * np.exp(1j * (z[:, None, None] + y[:, None] + x))).real


@pytest.mark.parametrize(
    ("dimensions", "wave"),
    [(2, 0), (2, 1), *(pytest.param(3, n, marks=pytest.mark.slow) for n in range(3))],
)
@pytest.mark.parametrize("name", ["viscoelastic_vti"])
def test_plane_waves_have_their_complex_christoffel_modulus(name, dimensions, wave) -> None:
    """In single precision, of 7 points per wavelength and more, in 200 steps; the bar is 1e-5."""
    rock = ROCK | {key: solver.FURTHER[key] for key in EQUATIONS[name].needs if key in ("theta",)}
    document = solver.plan(
        name, dimensions, precision="float32", steps=200, cells=23 if dimensions == 2 else 15,
        boundaries=solver.faces(dimensions, "periodic"), attenuation={"storage": 32},
    )  # fmt: skip
    simulation = solver.build(document)
    setup = simulation.setup
    counts = np.array([2, 1, 3] if dimensions == 2 else [1, 1, 1])
    k = 2.0 * np.pi * counts / (np.array(setup.grid.points) * setup.grid.spacing)
    k[1] *= dimensions == 3
    s, motion, stiffness = plane_wave(setup, rock, k, wave)
    z = np.exp(s * setup.clock.dt)
    rates = strain(symbols(setup, k), motion)
    stress = setup.clock.dt * np.sqrt(z) / (z - 1.0) * (stiffness @ rates)
    decay, gain = setup.earth.relaxation.decay(setup.clock.dt)
    amplitudes = {f"v{a}": motion[n] / np.sqrt(z) for n, a in enumerate("xyz")}
    for n, pair in enumerate(("xx", "yy", "zz", "yz", "xz", "xy")):
        amplitudes[f"s{pair}"] = stress[n]
        for m, (a, b) in enumerate(zip(decay, gain, strict=True), 1):
            amplitudes[f"memory_{pair}_{m}"] = b * np.sqrt(z) / (z - a) * rates[n]
    solver.silence(simulation)
    start_wave(simulation, amplitudes, k)
    simulation.advance(200)
    for field in (f for f in setup.physics.fields if f.name.startswith("v")):
        wanted = at_points(setup, field, amplitudes[field.name] * z**200, k)
        error = np.abs(solver.wavefield(simulation)[field.name] - wanted).max()
        assert error < 1e-5 * np.abs(motion * z**200).max()


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_force_in_a_whole_space(dimensions: int) -> None:
    """The bar is 0.5 % at 10 points per wavelength; in 3-D at one receiver, for the exact answer.

    The modulus is that of the run's own mechanisms, so that only the scheme errs.
    """
    axes = solver.axes_of(dimensions)
    force = dict(zip(axes, (1.0, 0.7, -0.4), strict=False))
    simulation, offsets = whole_space_run(
        "viscoelastic_vti", dimensions, {"type": "force", "force": force}, ["velocity"]
    )
    rock = anisotropic.AttenuatingSolid(
        lambda s: constants.matrix(complex_constants(simulation.setup, ROCK, s)), ROCK["rho"]
    )
    case = (offsets[:1], list(force.values()), solver.wavelet(simulation), simulation.dt, rock)
    wanted = anisotropic.force_response(*case, "velocity")
    first = {name: values[:1] for name, values in solver.traces(simulation).items()}
    compare(first, by_component("v", axes, wanted), TOLERANCE[dimensions])


def test_sh_waves_spread_on_ellipses() -> None:
    """Lengths in units of the speeds along the axes make them circles; qs is that of all waves."""
    source = {"type": "force", "force": {"y": 1.0}}
    simulation, offsets = whole_space_run("viscoelastic_sh_vti", 2, source, ["velocity"])
    v = ROCK["vs"] * np.array([np.sqrt(1.0 + 2.0 * ROCK["gamma"]), 1.0])

    def speed(s: np.ndarray) -> np.ndarray:
        c44 = complex_constants(simulation.setup, ROCK, s)["c44"]
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
    assert [run.setup.scenario.equation.name for run in runs] == [
        f"viscoelastic{short}", f"viscoelastic{short}_vti"
    ]  # fmt: skip
    even, found = (solver.records(run) for run in runs)
    largest = max(np.abs(values).max() for values in even.values())
    for key, values in even.items():
        scale = np.abs(values).max()
        assert np.abs(found[key] - values).max() <= 1e-7 * max(scale, 1e-9 * largest), key


def test_the_model_chooses_the_equation() -> None:
    known = {"epsilon": "viscoelastic_vti", "gamma": "viscoelastic_vti"}
    for key, name in known.items():
        assert equation_for("elastic", 3, ["qp", key]).name == name
    assert equation_for("elastic_sh", 2, ["qs", "gamma"]).name == "viscoelastic_sh_vti"
    assert equation_for("acoustic", 3, ["qp", "delta"]).name == "viscoacoustic_vti"


def test_p_waves_that_lose_too_little_are_named_and_lose_more() -> None:
    document = solver.plan("viscoelastic_vti", 2, steps=5)
    document["model"][0] |= {"qp": 1e4, "qs": 20.0}
    rock = {key: np.array(value) for key, value in document["model"][0].items() if key in NAMES}
    most = 20.0 / anisotropic_loss.shear_share(rock, 2)
    (line,) = (w for w in check(document, backend="cpu").warnings if "qp 10000" in w)
    assert f"{most:.4g} is taken" in line
    setup = discretize(from_dict(document))
    assert setup.extremes.others["qp"] == pytest.approx((most, most))


def test_times_of_shear_alone_leave_some_strain_without_loss() -> None:
    document = solver.plan("viscoelastic_vti", 2, steps=5)
    document["attenuation"] = {"relaxation": {"s": [[0.012, 0.01]]}}
    setup = discretize(from_dict(document))
    relaxation = setup.earth.relaxation
    rock = {key: np.array(ROCK[key]) for key in NAMES}
    share = float(anisotropic_loss.shear_share(rock, 2))
    assert setup.extremes.others["shear_share"] == pytest.approx((share, share))
    medium = effective_medium(
        setup.earth, np.array([100.0]), None, np.array([100.0]), solver.SPACING,
        ("y_c11", "y_c33", "y_slack", "y_c44"),
    )  # fmt: skip
    p, s = relaxation.anelastic("p", medium["y_c33"]), relaxation.anelastic("s", medium["y_c44"])
    np.testing.assert_allclose(p, share * s, rtol=1e-4)
    assert not any("relaxation" in line for line in check(document, backend="cpu").warnings)
    document["attenuation"]["relaxation"]["p"] = [[0.0101, 0.01]]
    (line,) = (w for w in check(document, backend="cpu").warnings if "relaxation" in w)
    assert "the bulk modulus gains energy" in line


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
    relaxation = simulation.setup.earth.relaxation
    y = float(relaxation.cell_value("p", rock["qp"], 1.0, 0.0))
    unrelaxed = rock["vp"] * float(relaxation.velocity_ratio("p", y))

    def speed(s: np.ndarray) -> np.ndarray:
        return unrelaxed * np.sqrt(relaxation.modulus("p", y, -1j * s))

    root = np.sqrt(1.0 + 2.0 * rock["delta"])
    case = (offsets / [root, 1.0], solver.wavelet(simulation), simulation.dt, speed)
    wanted = acoustic.pressure(*case) * (0.5 * (root + 1.0)) ** 2 / root
    compare(solver.traces(simulation), {"pressure": wanted}, TOLERANCE[2])

"""Nothing grows in the absorbing layers: eigenvalues of a line, and long runs.

A line with a layer at either end, all waves across it of one wavenumber: one step is a matrix, and
nothing grows if none of its eigenvalues exceeds 1 in modulus.
"""

from itertools import product

import numpy as np
import pytest

import seismo
import solver
from seismo.backends.reference import ReferenceBackend
from seismo.features.guided_waves import guides
from seismo.grid.coefficients import centred, largest_second_symbol, staggered
from seismo.grid.grid import Grid
from seismo.runs.prediction.accuracy import layer_errors, sent_back
from seismo.runs.prediction.remedy import thicker
from seismo.solver.medium import field_damping
from seismo.solver.medium.cpml import (
    PmlParameters,
    default_profile,
    least_shift,
    profile,
)

INSIDE = 6  # points of a line between its layers


def differences(first: np.ndarray, second: np.ndarray, points: int) -> tuple[np.ndarray, ...]:
    """Build L, D up to half points and D down to nodes (points, points); zeros beyond the ends."""
    gap = np.arange(points)[None, :] - np.arange(points)[:, None]
    wide = np.concatenate([second, np.zeros(points)])
    odd = np.concatenate([[0.0], first, np.zeros(points)])
    up = np.where(gap > 0, odd[np.abs(gap)], -odd[np.abs(gap - 1)])
    down = np.where(gap >= 0, odd[np.abs(gap + 1)], -odd[np.abs(gap)])
    return wide[np.abs(gap)], up, down


def acoustic_step(
    order: int, tolerance: float, width: int, alpha: float, across: float, least: float
):
    """Build the matrix of a step: p, the p before, flux memory, outer memory (4 points, 4 points).

    Args:
        order: of the differences.
        tolerance: of their coefficients, 0 for Taylor.
        width: points of either layer.
        alpha: frequency shift at the inner edge, times spacing / velocity.
        across: square of the wavenumber across the line, times spacing^2.
        least: smallest alpha / d.
    """
    first, second = staggered(order, tolerance), centred(order, tolerance)
    points = INSIDE + 2 * width
    dt = 0.9 * 2 / np.sqrt(2 * largest_second_symbol(second))
    grid = Grid("xz", (points, 1, points), (1.0,) * 3, (0.0,) * 3, (width, 0, 0), (width, 0, 0))
    reflection, power, steep = default_profile(width)
    layer = PmlParameters(reflection, 1.0, alpha, power, 1.0, least, steep=steep)
    b, a, _, b_half, a_half, *_ = profile(grid, "x", layer, dt)
    straight, up, down = differences(first, second, points)
    one, none = np.eye(points), np.zeros((points, points))
    flux = np.hstack([a_half[:, None] * up, none, np.diag(b_half), none])
    inner = np.hstack([straight, none, none, none]) + down @ flux
    outer = np.hstack([none, none, none, np.diag(b)]) + a[:, None] * inner
    pressure = np.hstack([2 * one - dt**2 * across * one, -one, none, none])
    pressure += dt**2 * (inner + outer)
    return np.vstack([pressure, np.hstack([one, none, none, none]), flux, outer])


def growth_per_step(*line) -> float:
    return float(np.abs(np.linalg.eigvals(acoustic_step(*line))).max()) - 1.0


def check_acoustic_layers(order, tolerance, width, alphas) -> None:
    """Of constants 1 is a double eigenvalue at order 2 without a shift: known to 1e-8."""
    least = least_shift(staggered(order, tolerance), centred(order, tolerance))
    rounding = 1e-9 if order > 2 else 1e-7
    for alpha, across in product(alphas, (0.0, 0.1)):
        assert growth_per_step(order, tolerance, width, alpha, across, least) < rounding


@pytest.mark.parametrize("order", range(2, 17, 2))
def test_acoustic_layers_do_not_grow(order) -> None:
    """Sources of 1/300 and a tenth of the highest frequency; waves along the line and aslant."""
    for width, tolerance in ((5, 1e-3), (12, 0.0)):
        check_acoustic_layers(order, tolerance, width, (0.003, 0.1))


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.0, 1e-3, 1e-5])
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("width", [5, 8, 12, 20, 40])
def test_no_acoustic_layer_grows(order, tolerance, width) -> None:
    check_acoustic_layers(order, tolerance, width, (0.0, 0.01, 0.03, 0.1, 0.3, 1.0))


@pytest.mark.parametrize("order", range(4, 17, 2))
def test_acoustic_layers_grow_without_the_least_shift(order) -> None:
    """By 0.1 to 1.5 % a step: what the tests above would see."""
    assert growth_per_step(order, 0.0, 12, 0.003, 0.0, 0.0) > 1e-3


def test_least_shift_is_the_excess_of_the_staggered_difference() -> None:
    """At two points per wavelength, order 4: (2 c_1 - 2 c_2)^2 = (7/3)^2, 4 d_1 = 16/3."""
    excess = 1.1 * (1 - (16 / 3) / (7 / 3) ** 2)
    found = least_shift(staggered(4), centred(4))
    assert found == pytest.approx(excess / (1 - excess), rel=1e-6)
    assert least_shift(staggered(2), centred(2)) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("points", "frequency"), [(20, 5.0), (20, 1.0), (10, 5.0), (8, 15.0)])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_uniform_fluid_stays_silent(points, frequency, precision) -> None:
    """25,000 steps in 48^2 points; without the least shift all four stop as unstable."""
    document = solver.plan(
        "acoustic", 2, cells=47, steps=None, precision=precision,
        grid={"extent": {"x": 470.0, "z": 470.0}, "spacing": 10.0, "order": 8},
        time={"duration": 25.0, "step": 1e-3},
        boundaries=solver.faces(2) | {"layer": {"points": points}},
        model=[{"type": "uniform", "vp": 3500.0}],
        sources=[{"type": "pressure", "position": {"x": 235.0, "z": 235.0}, "amplitude": 1.0,
                  "wavelet": {"type": "ricker", "frequency": frequency}}],
        receivers=[solver.points([{"x": 100.0, "z": 100.0}])],
    )  # fmt: skip
    simulation = solver.build(document)
    largest = []
    for _ in range(5):
        simulation.advance(5000)
        largest.append(float(np.abs(solver.wavefield(simulation)["p"]).max()))
    assert largest == sorted(largest, reverse=True)


STIFF, SOFT = (3000.0, 1500.0, 2000.0), (500.0, 100.0, 1200.0)
VALUES = ("vp", "vs", "rho")


def soft_bed(thickness: float) -> list[dict]:
    """Give a soft bed between stiff ones, 203 m below the surface."""
    tops = zip((0.0, 203.0, 203.0 + thickness), (STIFF, SOFT, STIFF), strict=True)
    layers = [{"top": t, **dict(zip(VALUES, rock, strict=True))} for t, rock in tops]
    return [{"type": "layers", "layers": layers}]


def rough(kind: str, seed: int = 0) -> dict[str, np.ndarray]:
    """Draw vp, vs and rho (60, 60): of every node for itself, or of blocks 5 nodes wide."""
    generator = np.random.default_rng(seed)
    if kind == "blocks":
        hard = np.add.outer(np.arange(60) // 5, np.arange(60) // 5) % 2 == 0
        values = {"vp": (5200.0, 1500.0), "vs": (3000.0, 150.0), "rho": (2700.0, 1500.0)}
        return {name: np.where(hard, *pair) for name, pair in values.items()}
    vs = 150.0 * 20.0 ** generator.random((60, 60))
    vp = vs * generator.uniform(1.5, 4.0, (60, 60))
    return {"vp": vp, "vs": vs, "rho": 1000.0 * 3.0 ** generator.random((60, 60))}


def speeds(model: list[dict], base, steps: int, parts: int = 4, **changes) -> list[float]:
    """Run the model under a free surface; give the largest speed after each part of the steps."""
    document = solver.plan(
        "elastic", 2, cells=59, steps=None, precision=changes.pop("precision", "float32"),
        grid={"extent": {"x": 590.0, "z": 590.0}, "spacing": 10.0,
              "order": changes.pop("order", 4)},
        time={"duration": 1000.0}, model=model,
        boundaries=solver.faces(2, top="free_surface") | {
            "layer": {"points": changes.pop("points", 12)}},
        sources=[{"type": "force", "position": {"x": 300.0, "z": 100.0},
                  "force": {"x": 0.3, "z": 1.0}, "wavelet": {
                      "type": "ricker", "frequency": changes.pop("frequency", 4.0)}}],
        receivers=[solver.points([{"x": 100.0, "z": 100.0}])], **changes,
    )  # fmt: skip
    simulation = solver.build(document, base)
    found = []
    for _ in range(parts):
        simulation.advance(steps // parts)
        fields = solver.wavefield(simulation)
        found.append(max(float(np.abs(fields[name]).max()) for name in ("vx", "vz")))
    return found


@pytest.mark.parametrize("thickness", [pytest.param(0.5, marks=pytest.mark.slow), 10.0])
def test_no_layer_grows_beside_a_soft_bed(thickness, tmp_path) -> None:
    """In 0.1.0 by 10 and by 10^4 and more meanwhile."""
    found = speeds(soft_bed(thickness), tmp_path, 6000)
    assert found[-1] < 0.2 * found[0]


@pytest.mark.slow
def test_no_layer_grows_at_a_low_frequency(tmp_path) -> None:
    """36 times in the last quarter, if alpha may be less than 0.05 d."""
    found = speeds(soft_bed(10.0), tmp_path, 8000, 4, frequency=0.5, points=40)
    assert found[3] < found[2] < found[1]


def test_layers_damp_more_where_the_modulus_jumps(tmp_path) -> None:
    """Noise of 1:2 and 1:20 in vs."""
    dampings = []
    for contrast in (2.0, 20.0):
        vs = 150.0 * contrast ** np.random.default_rng(0).random((29, 29))
        rocks = {"vp": 2.0 * vs, "vs": vs, "rho": np.full_like(vs, 2000.0)}
        document = solver.plan("elastic", 2, steps=None, model=solver.gridded(tmp_path, rocks))
        discretization = solver.discretize(solver.from_dict(document, tmp_path))
        dampings.append(discretization.field_damping.early)
    assert dampings[0] == 0.015
    assert dampings[1] > 0.06


@pytest.mark.parametrize(
    ("order", "ratio"), [(8, 2.0), pytest.param(16, 1.6, marks=pytest.mark.slow)]
)
def test_no_layer_grows_at_the_surface_of_one_rock(order, ratio, tmp_path) -> None:
    """With earlier closures it did: by a factor of 70 in the last third."""
    rock = [{"type": "uniform", "vp": ratio * 1500.0, "vs": 1500.0, "rho": 2000.0}]
    found = speeds(rock, tmp_path, 15_000, 3, order=order, points=10, frequency=2.0)
    assert found[2] < found[1]


@pytest.mark.slow
@pytest.mark.parametrize("depth", [27.5, pytest.param(32.5, marks=pytest.mark.slow)])
def test_no_layer_grows_above_a_shallow_contact(depth, tmp_path) -> None:
    """Rows fitted to one at 27.5 m would, by 10^5 in the second half: they are not taken."""
    tops = [{"top": 0.0, "vp": 1500.0, "vs": 1000.0, "rho": 2100.0},
            {"top": depth, "vp": 3000.0, "vs": 1900.0, "rho": 2300.0}]  # fmt: skip
    model = [{"type": "layers", "layers": tops}]
    found = speeds(model, tmp_path, 6000, 2, order=8, points=10, frequency=2.0)
    assert found[1] < found[0]


def ground(*rocks: tuple[float, float]) -> list[dict]:
    """Return layers of vp / vs 2, from their tops in m and vs in m/s."""
    layers = [{"top": top, "vp": 2.0 * vs, "vs": vs, "rho": 2000.0} for top, vs in rocks]
    return [{"type": "layers", "layers": layers}]


@pytest.mark.parametrize(
    ("rock", "depth"), [(900.0, 77.0), pytest.param(3000.0, 154.0, marks=pytest.mark.slow)]
)
def test_no_layer_grows_in_soft_ground_on_rock(rock, depth, tmp_path) -> None:
    """30 times in 5000 steps, and at once where a contact stiffened two rows."""
    model = ground((0.0, 300.0), (depth, rock))
    found = speeds(model, tmp_path, 12_000, 3, order=8, points=12, frequency=1.0)
    assert found[2] < 0.5 * found[0]


def test_layers_damp_fields_by_what_the_ground_guides() -> None:
    """Under a free surface softer ground does, and beds; where nothing is reflected nothing."""
    free = solver.faces(2, top="free_surface") | {"layer": {"points": 12}}
    cases = [
        (ground((0.0, 800.0)), free, 0.0),
        (ground((0.0, 800.0), (50.0, 1200.0)), free, 0.005),
        (ground((0.0, 300.0), (50.0, 800.0), (120.0, 2000.0)), free, 0.015),
        (ground((0.0, 300.0), (50.0, 800.0), (120.0, 2000.0)), solver.faces(2), 0.0),
        (soft_bed(0.1), solver.faces(2), 0.0299),
    ]
    for model, boundaries, damping in cases:
        document = solver.plan(
            "elastic", 2, boundaries=boundaries, steps=None, time={"duration": 1000.0}
        )  # 252 m deep
        discretization = solver.discretize(solver.from_dict(document | {"model": model}))
        assert discretization.field_damping.late == pytest.approx(damping, abs=1e-4)


@pytest.mark.parametrize(
    ("depth", "speed"), [(100.0, 1500.0), pytest.param(300.0, 4000.0, marks=pytest.mark.slow)]
)
def test_no_layer_grows_beside_a_plate_on_a_rigid_bottom(depth, speed) -> None:
    """Backward Lamb waves: by 10^8 in the second half, before a rigid bottom counted."""
    document = solver.plan(
        "elastic", 2, steps=None, time={"duration": 1000.0}, cells=(30, round(depth / 10.0)),
        grid={"extent": {"x": 300.0, "z": depth}, "spacing": 10.0, "order": 8},
        boundaries=solver.faces(2, top="free_surface", bottom="rigid") | {"layer": {"points": 12}},
        model=[{"type": "uniform", "vp": 1.73 * speed, "vs": speed, "rho": 2000.0}],
        sources=[{"type": "force", "position": {"x": 120.0, "z": 60.0}, "force": {"z": 1.0},
                  "wavelet": {"type": "ricker", "frequency": speed / 1000.0}}],
        receivers=[solver.points([{"x": 50.0, "z": 50.0}])],
    )  # fmt: skip
    simulation = solver.build(document)
    peaks = []
    for _ in range(4):
        simulation.advance(1000)
        peaks.append(float(np.abs(solver.wavefield(simulation)["vx"]).max()))
    assert peaks[3] < peaks[1]


SOIL = ground((0.0, 300.0), (50.0, 1500.0))
SEA = [{"type": "layers", "layers": [
    {"top": 0.0, "vp": 1500.0, "vs": 0.0, "rho": 1000.0},
    {"top": 33.0, "vp": 1600.0, "vs": 300.0, "rho": 1700.0},
    {"top": 73.0, "vp": 3000.0, "vs": 1500.0, "rho": 2300.0}]}]  # fmt: skip


def through(steps: int, dimensions: int, model: list[dict], **how):
    """Build a run of so many steps whose layers are damped from step 40 on."""
    boundaries = solver.faces(dimensions, top="free_surface") | {"layer": {"points": 4}}
    document = solver.plan(
        "elastic", dimensions, cells=(26, 12) if dimensions == 2 else (12, 10, 12),
        boundaries=boundaries, model=model, steps=steps,
    )  # fmt: skip
    return solver.build(document, **how)


def fields_of(simulation) -> bytes:
    return b"".join(a.tobytes() for a in solver.wavefield(simulation).values())


@pytest.mark.parametrize(
    ("dimensions", "model"),
    [(2, SOIL), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, SEA), (3, SOIL)))],
)
def test_no_step_depends_on_the_duration(dimensions, model, monkeypatch) -> None:
    """In 0.1.0's successors until now layers damped by 1 - 3000 / steps: 1.5 to 2.5 %."""
    monkeypatch.setattr(field_damping, "HARMLESS", 40)
    onset = through(1, dimensions, model).discretization.field_damping.onset
    short, long, longer = (through(n, dimensions, model) for n in (onset - 20, 80, 160))
    assert [len(s.discretization.layer_phases) for s in (short, long, longer)] == [1, 2, 2]
    for simulation, steps in ((short, short.total_steps), (long, 80)):
        simulation.advance(steps)
        longer.load(longer.discretization.shots[:1])
        longer.advance(steps - 3)
        longer.advance(3)
        assert fields_of(simulation) == fields_of(longer)
        for name, record in solver.records(simulation).items():
            np.testing.assert_array_equal(
                record[:, :steps], solver.records(longer)[name][:, :steps]
            )


@pytest.mark.slow
@pytest.mark.parametrize("model", [pytest.param(SOIL, marks=pytest.mark.slow), SEA])
def test_layers_change_at_one_step_however_a_run_is_cut(model, monkeypatch) -> None:
    """Subdomains, NumPy, and a run that goes on from a state, before and after the change."""
    monkeypatch.setattr(field_damping, "HARMLESS", 40)
    whole = through(90, 2, model)
    assert len(whole.discretization.layer_phases) == 2
    whole.advance(90)
    parts = through(90, 2, model, parts=(2, 1))
    parts.advance(90)
    assert fields_of(parts) == fields_of(whole)
    first = through(90, 2, model)
    for stop in (30, 60):
        first.advance(stop - first.step)
        second = through(90, 2, model)
        second.step = stop
        for name, held in second.state().items():
            held.array[...] = first.state()[name].array
        second.advance(90 - stop)
        assert fields_of(second) == fields_of(whole)
    reference = through(90, 2, model, backend=ReferenceBackend)
    reference.advance(60)
    for name, wanted in solver.wavefield(reference).items():
        largest = np.abs(wanted).max()
        np.testing.assert_allclose(
            solver.wavefield(first)[name], wanted, rtol=0, atol=1e-4 * largest
        )


def test_damped_layers_absorb_what_undamped_ones_let_grow(monkeypatch, tmp_path) -> None:
    """The fields fall after the change, by the profile of a run that is damped all along."""
    monkeypatch.setattr(field_damping, "HARMLESS", 2000)
    found = speeds(ground((0.0, 300.0), (77.0, 900.0)), tmp_path, 8000, 4, order=8, frequency=1.0)
    assert found[3] < 0.5 * found[1]


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("order", "points", "frequency"),
    [(2, 5, 15.0), (4, 12, 4.0), (6, 8, 1.0), (8, 12, 10.0), (10, 20, 1.0), (12, 10, 4.0),
     (14, 40, 4.0), (16, 12, 1.0)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["noise", "blocks", 0.1, 0.5, 5.0, 30.0, 120.0])
def test_no_layer_grows_in_any_medium(kind, order, points, frequency, precision, tmp_path) -> None:
    """40,000 steps; what is trapped in soft blocks beats, and leaves slowly, or is rounding."""
    model = (
        soft_bed(kind) if isinstance(kind, float) else solver.gridded(tmp_path, rough(kind, order))
    )
    found = speeds(
        model, tmp_path, 40_000, 8, order=order, points=points, frequency=frequency,
        precision=precision,
    )  # fmt: skip
    assert min(found[4:]) < 1.5 * min(found[1:4])


@pytest.mark.usefixtures("no_remedies")
def test_check_says_from_when_on_layers_are_damped() -> None:
    """And counts what they send back then, and how thick they should be."""
    boundaries = solver.faces(2, top="free_surface") | {"layer": {"points": 12}}
    document = solver.plan(
        "elastic", 2, cells=(60, 40), model=SOIL, steps=None, boundaries=boundaries
    )
    said = []
    for duration in (4.0, 8.0):
        plan = seismo.check(document | {"time": {"duration": duration}})
        errors = layer_errors(plan.discretization)
        said.append((f"layers are damped from t = {errors[-1][0]:.3g} s" in str(plan), len(errors)))
    assert said == [(False, 1), (True, 2)]
    assert sent_back(plan.discretization, 40) < sent_back(plan.discretization)
    assert errors[1][1] > 2.0 * errors[0][1]
    wanted = 0.4 * sent_back(plan.discretization)
    discretization = seismo.check(document | {"time": {"duration": 8.0}}).discretization
    advice = thicker(discretization, wanted)
    points = int(advice.removeprefix("raise boundaries.layer.points to ").split()[0])
    assert sent_back(discretization, points) <= wanted < sent_back(discretization, points - 1)


# c11, c33, c13, c44, c66 [GPa], rho: unstable models of Becache, Fauqueux & Joly (2003), crystals.
CONSTANTS = {
    "III": (4.0, 20.0, 4.9, 2.0, 1.0, 1000.0), "IV": (4.0, 20.0, 7.5, 2.0, 1.0, 1000.0),
    "zinc": (165.0, 62.0, 50.0, 39.6, 39.6, 7100.0),
    "apatite": (167.0, 140.0, 66.0, 66.3, 66.3, 3200.0),
}  # fmt: skip
STRONG = {"vp": 3000.0, "vs": 1500.0, "rho": 2300.0, "epsilon": 0.3, "delta": -0.1, "gamma": 0.1}


def rock_of(name: str, tilt: float) -> dict[str, float]:
    """Give vp, vs, rho and Thomsen's parameters of named rock, tilted if at all."""
    rock = dict(STRONG)
    if name in CONSTANTS:
        c11, c33, c13, c44, c66 = (1e9 * c for c in CONSTANTS[name][:5])
        rho = CONSTANTS[name][5]
        delta = ((c13 + c44) ** 2 - (c33 - c44) ** 2) / (2.0 * c33 * (c33 - c44))
        rock = {"vp": (c33 / rho) ** 0.5, "vs": (c44 / rho) ** 0.5, "rho": rho, "delta": delta,
                "epsilon": 0.5 * (c11 / c33 - 1.0), "gamma": 0.5 * (c66 / c44 - 1.0)}  # fmt: skip
    return rock | ({"theta": tilt} if tilt else {})


def in_rock(rock: dict[str, float], cells: int, points: int, steps: int | None, **changes) -> dict:
    """Give a scenario with a force near the corner of a box of one rock, and two receivers."""
    spacing = 10.0
    places = [(0.8, 0.2), (0.2, 0.8), (0.8, 0.8)]
    document = {
        "physics": "elastic", "precision": "float32",
        "grid": {"extent": dict.fromkeys("xz", cells * spacing), "spacing": spacing, "order": 8},
        "time": {"duration": 1.0, "dispersion_removal": False},
        "boundaries": {"layer": {"points": points}}, "model": [{"type": "uniform", **rock}],
        "sources": [{"type": "force", "position": dict.fromkeys("xz", 0.2 * cells * spacing),
                     "force": {"x": 0.6, "z": 1.0},
                     "wavelet": {"type": "ricker", "frequency": rock["vs"] / 250.0}}],
        "receivers": [solver.points([{"x": a * cells * spacing, "z": b * cells * spacing}
                                     for a, b in places], quantities=["velocity"])],
        **changes,
    }  # fmt: skip
    if steps is not None:
        document["time"]["duration"] = steps * solver.build(document).dt
    return document


def energy_left(rock: dict[str, float], steps: int, top: str = "absorbing") -> float:
    """Run a small box; give the kinetic energy at the end over the largest of all hundredths."""
    boundaries = {"top": top, "layer": {"points": 12}}
    simulation = solver.build(in_rock(rock, 30, 12, steps, boundaries=boundaries))
    energies = []
    for _ in range(100):
        simulation.advance(steps // 100)
        motion = solver.wavefield(simulation)
        energies.append(sum(float((motion[v].astype(float) ** 2).sum()) for v in ("vx", "vz")))
    return energies[-1] / max(energies)


@pytest.mark.parametrize(("name", "tilt"), [("IV", 0.0), ("zinc", 30.0), ("strong", 45.0)])
def test_damped_layers_absorb_in_rock_that_matched_ones_let_grow(name, tilt) -> None:
    """By step 3000 the energy is below 1e-9 of its peak."""
    assert energy_left(rock_of(name, tilt), 3000) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tilt", "top"),
    [("III", 0.0, "absorbing"), ("IV", 0.0, "absorbing"), ("IV", 0.0, "free_surface"),
     ("IV", 45.0, "absorbing"), ("zinc", 0.0, "absorbing"), ("zinc", 0.0, "free_surface"),
     ("zinc", 30.0, "absorbing"), ("apatite", 0.0, "absorbing"),
     *(("strong", tilt, "absorbing") for tilt in (15.0, 30.0, 45.0, 60.0)),
     ("strong", 30.0, "free_surface")],
)  # fmt: skip
def test_nothing_grows_beside_any_rock_in_100_000_steps(name, tilt, top) -> None:
    """Along the surface of IV waves leave slowly: 3e-8 by then, 1e-9 by step 200,000."""
    left = energy_left(rock_of(name, tilt), 100_000, top)
    assert left < (1e-7 if (name, top) == ("IV", "free_surface") else 1e-9)


@pytest.mark.parametrize(("delta", "tilt", "points"), [(-0.1, 30.0, 12), (-0.1, 30.0, 30),
                                                       (0.0, 45.0, 20)])  # fmt: skip
def test_check_says_what_layers_beside_rock_send_back(monkeypatch, delta, tilt, points) -> None:
    """To a factor of 3; matched layers, which do not grow so soon, send back 0.02 %."""
    document = in_rock(STRONG | {"delta": delta, "theta": tilt}, 60, points, 420)
    damped = solver.simulate(document)
    monkeypatch.setattr(guides, "HARMLESS_GROWTH", 1.0)
    matched = solver.records(solver.simulate(document))
    found = {key: values.T for key, values in solver.records(damped).items()}
    errors = np.sqrt(sum(((found[k] - matched[k].T) ** 2).sum(0) for k in found)
                     / sum((matched[k] ** 2).sum(1) for k in found))  # fmt: skip
    ratio = sent_back(damped.discretization) / errors.max()
    assert 1 / 3 < ratio < 3


@pytest.mark.parametrize("points", [12, 20])
def test_check_says_what_acoustic_layers_send_back_along_them(points) -> None:
    """Constant density, 4 points beside a layer: to a factor of 3 of the worst trace."""
    spacing, frequency, speed = 10.0, 8.0, 2000.0
    found = []
    for beyond, width in ((0, points), (100, 20)):
        extent = {"x": 90 + 2 * beyond, "z": 20 + 2 * beyond}
        place = lambda x, z, more=beyond: {  # noqa: E731
            "x": (x + more) * spacing,
            "z": (z + more) * spacing,
        }
        simulation = solver.simulate({
            "physics": "acoustic", "precision": "float64",
            "grid": {"extent": {a: n * spacing for a, n in extent.items()}, "spacing": spacing,
                     "order": 8},
            "time": {"duration": 0.9, "dispersion_removal": False},
            "boundaries": {"layer": {"points": width}},
            "model": [{"type": "uniform", "vp": speed}],
            "sources": [{"type": "pressure", "position": place(10, 4), "amplitude": 1.0,
                         "wavelet": {"type": "ricker", "frequency": frequency}}],
            "receivers": [solver.points([place(80, 4), place(50, 4)], quantities=["pressure"])],
        })  # fmt: skip
        found.append((simulation.discretization, *solver.records(simulation).values()))
    (discretization, near), (_, far) = found
    errors = np.linalg.norm(near - far, axis=-1) / np.linalg.norm(far, axis=-1)
    assert 1 / 3 < sent_back(discretization) / errors.max() < 3


BODY = {"type": "block", "x": [400.0, 440.0], "z": [100.0, 300.0], "rho": 2500.0}


def beside_a_body(times: float, steps: int = 1):
    """Build rock under a free surface, with a body so many times as fast inside."""
    rock = {"vp": 1750.0, "vs": 1000.0}
    body = {**BODY, **{name: times * velocity for name, velocity in rock.items()}}
    return solver.build({
        "physics": "elastic",
        "grid": {"extent": {"x": 600.0, "z": 400.0}, "spacing": 10.0, "order": 8},
        "time": {"duration": steps * 1.2e-3},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", **rock, "rho": 2000.0}, body],
        "sources": [{"type": "force", "position": {"x": 300.0, "z": 300.0}, "force": {"z": 1e9},
                     "wavelet": {"type": "ricker", "frequency": 6.0}}],
        "receivers": [solver.points([{"x": 200.0, "z": 0.0}])],
    })  # fmt: skip


@pytest.mark.parametrize(("times", "damped"), [(1.1, False), (1.45, True), (2.5, True)])
def test_layers_beside_faster_rock_damp_their_fields(times, damped) -> None:
    """They are stronger than the rock at the surface asks for, along which waves grow then."""
    guided = beside_a_body(times).discretization.field_damping
    assert guided.early == 0.0
    assert (guided.late > 0.0) == damped


@pytest.mark.slow
def test_nothing_grows_beside_a_fast_body() -> None:
    """By 10^7 in 14,000 steps where layers are only matched."""
    simulation = beside_a_body(2.5, 14000)
    simulation.advance(6000)
    before = np.abs(solver.wavefield(simulation)["vz"]).max()
    simulation.advance(simulation.total_steps - 6000)
    assert np.abs(solver.wavefield(simulation)["vz"]).max() < before

"""Derivatives of misfits by the model, against differences of runs (central and Taylor)."""

from __future__ import annotations

import numpy as np
import pytest

import seismo
import solver
from seismo.errors import ScenarioError
from seismo.solver.parallel.active_region import reversed_phases

BOUNDS = {"vp": (1500.0, 3200.0), "vs": (600.0, 1700.0), "rho": (1500.0, 2600.0)}
PARAMETERS = {
    "acoustic": ("vp",),
    "acoustic_variable_density": ("vp", "rho"),
    "elastic": ("vp", "vs", "rho"),
    "elastic_sh": ("vs", "rho"),
}
MIDDLE = {"vp": 2300.0, "vs": 1200.0, "rho": 2000.0}
SHAPES = {2: (37, 41), 3: (23, 21, 25)}  # nodes z, (y,) x
SPACING = 10.0
SOURCES = {
    "acoustic": ("pressure", "explosion"),
    "acoustic_variable_density": ("force", "volume_rate", "explosion", "pressure"),
    "elastic": ("force", "moment_tensor", "explosion", "pressure", "volume_rate"),
    "elastic_sh": ("force", "moment_tensor"),
}
QUANTITIES = {
    "acoustic": ("pressure",),
    "acoustic_variable_density": ("pressure", "velocity"),
    "elastic": ("velocity", "stress", "strain"),
    "elastic_sh": ("velocity", "displacement"),
}


def scenario(equation: str, dimensions: int, top: str = "free_surface", **keys) -> dict:
    """Return a run of two shots, whose receivers are off the grid and decimated."""
    axes = "xz" if dimensions == 2 else "xyz"
    nodes = dict(zip("zx" if dimensions == 2 else "zyx", SHAPES[dimensions], strict=True))
    extent = {a: SPACING * (nodes[a] - 1) for a in axes}

    def place(**shares: float) -> dict[str, float]:
        shares = {"y": 0.52} | shares
        return {a: round(shares[a] * extent[a], 1) + 0.3 for a in axes}

    strengths = {
        "force": {"force": {"y": 1e9} if equation == "elastic_sh" else {"x": 1e9, "z": 2e9}},
        "moment_tensor": {
            "components": {"xy": 1e12, "yz": 2e12}
            if equation == "elastic_sh"
            else {"xx": 1e12, "zz": -2e12, "xz": 1e12}
        },
        "explosion": {"moment": 1e12},
        "volume_rate": {"amplitude": 1e3},
        "pressure": {"amplitude": 1e3},
    }
    kind = keys.pop("source", SOURCES[equation][0])
    return {
        "physics": equation,
        "precision": "float64",
        "averaging": "point",
        "grid": {"extent": extent, "spacing": SPACING, "order": 4},
        "time": {"duration": 0.16, "courant": 0.8},
        "boundaries": {"top": top, "layer": {"points": 8}},
        "model": [{"type": "uniform", **{n: MIDDLE[n] for n in PARAMETERS[equation]}}],
        "sources": [
            {"type": kind, **strengths[kind], "position": place(x=0.4, z=0.4),
             "wavelet": {"type": "ricker", "frequency": 25.0}}
        ],
        "survey": {"shots": [{"position": place(x=x, z=0.4)} for x in (0.4, 0.55)], "batch": 2},
        "receivers": [
            {"type": "points", "name": "line", "quantities": list(QUANTITIES[equation]),
             "positions": [place(x=x, z=0.55) for x in (0.3, 0.7)], "interval": 4e-3},
        ],
    } | keys  # fmt: skip


def propagator(document: dict, **options) -> seismo.Propagator:
    names = PARAMETERS[document["physics"]]
    options = {"backend": "cpu", "snapshots": 1} | options
    return seismo.Propagator(document, names, {n: BOUNDS[n] for n in names}, **options)


def model(equation: str, dimensions: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return rock that varies from node to node by up to a tenth."""
    random = np.random.default_rng(seed)
    return {
        name: MIDDLE[name] * (1.0 + 0.05 * random.uniform(-1.0, 1.0, SHAPES[dimensions]))
        for name in PARAMETERS[equation]
    }


def away_from_layers(dimensions: int, top: str, margin: int = 3) -> np.ndarray:
    """Return 1 at nodes whose values no layer continues, of all but a free surface's side."""
    inside = np.zeros(SHAPES[dimensions])
    first = 0 if top == "free_surface" else margin
    inside[(slice(first, -margin), *[slice(margin, -margin)] * (dimensions - 1))] = 1.0
    return inside


def misfit(traces, weights) -> float:
    """Return a sum of products and squares of all traces."""
    return sum(
        float(np.sum(weights[s][c] * t + 0.5 * (t / SCALE[c[0]]) ** 2))
        for s, of_set in traces.items()
        for c, t in of_set.items()
    )


SCALE = {"p": 1e3, "v": 1e-2, "s": 1e3, "e": 1e-5, "u": 1e-4}


def derivative_of_misfit(traces, weights):
    return {
        s: {c: weights[s][c] + t / SCALE[c[0]] ** 2 for c, t in of_set.items()}
        for s, of_set in traces.items()
    }


def check_against_differences(
    document: dict, start: dict[str, np.ndarray] | None = None, **options
) -> None:
    """Compare the derivative along a random direction of each parameter with central ones."""
    equation = document["physics"]
    dimensions = len(document["grid"]["extent"])
    wave = propagator(document, **options)
    start = start or model(equation, dimensions)
    traces = wave(keep=True, **start)
    random = np.random.default_rng(1)
    weights = {
        s: {c: random.standard_normal(t.shape) / SCALE[c[0]] for c, t in of_set.items()}
        for s, of_set in traces.items()
    }
    gradient = wave.pullback(derivative_of_misfit(traces, weights))
    # Averages about nodes hold values of the nodes beside them.
    margin = 3 if document["averaging"] == "point" else 4
    inside = away_from_layers(dimensions, document["boundaries"]["top"], margin)
    for name in PARAMETERS[equation]:
        change = MIDDLE[name] * inside * random.uniform(-1.0, 1.0, inside.shape)
        slope = float(np.sum(gradient[name] * change))
        step = 1e-5
        above, below = (
            misfit(wave(**start | {name: start[name] + h * change}), weights) for h in (step, -step)
        )
        assert (above - below) / (2.0 * step) == pytest.approx(slope, rel=1e-6), name


@pytest.mark.parametrize(
    ("equation", "top"),
    [
        pytest.param(
            equation, top,
            marks=[] if top == "free_surface" or equation == "elastic" else [pytest.mark.slow],
        )
        for equation in PARAMETERS for top in ("free_surface", "absorbing")
    ],
)  # fmt: skip
def test_derivative_is_that_of_runs(equation: str, top: str) -> None:
    """Rock that varies from node to node, in single cells beside sources and receivers."""
    check_against_differences(scenario(equation, 2, top))


@pytest.mark.parametrize(
    "equation",
    solver.slow_but(["acoustic_variable_density"], [e for e in PARAMETERS if e != "elastic_sh"]),
)
def test_derivative_is_that_of_runs_in_space(equation: str) -> None:
    check_against_differences(scenario(equation, 3))


@pytest.mark.parametrize(
    ("equation", "source"),
    [
        pytest.param(e, s, marks=[] if e == "elastic" or n == 0 else [pytest.mark.slow])
        for e, kinds in SOURCES.items() for n, s in enumerate(kinds[1:])
    ],
)  # fmt: skip
def test_medium_that_a_source_acts_by_counts(equation: str, source: str) -> None:
    check_against_differences(scenario(equation, 2, source=source))


@pytest.mark.parametrize("source", ["force", "moment_tensor", "volume_rate"])
def test_sources_act_on_a_free_surface(source: str) -> None:
    """Stresses that a source adds on the surface change others there, by the rock."""
    document = scenario("elastic", 2, source=source)
    for shot in document["survey"]["shots"]:
        shot["position"]["z"] = 5.0
    check_against_differences(document)


def contact(equation: str, dimensions: int) -> dict[str, np.ndarray]:
    """Return rock that rises along all axes, unlike, with a step by 0.2 between two rows."""
    nodes = np.meshgrid(*(np.arange(n) / n for n in SHAPES[dimensions]), indexing="ij")
    ramps = sum((0.04 + 0.02 * k) * along for k, along in enumerate(nodes))
    share = 0.85 + ramps + 0.2 * (nodes[0] > 8.5 / len(nodes[0]))
    return {name: MIDDLE[name] * share for name in PARAMETERS[equation]}


@pytest.mark.parametrize(
    ("equation", "make"),
    [
        *((equation, model) for equation in PARAMETERS),
        *(
            pytest.param(equation, contact, marks=[] if equation == "elastic" else pytest.mark.slow)
            for equation in PARAMETERS
        ),
    ],
)
def test_averages_over_cells_have_the_derivative_of_runs(equation: str, make) -> None:
    """The medium of runs by default; from the surface on, rough rock and a contact."""
    document = scenario(equation, 2, averaging="effective")
    check_against_differences(document, make(equation, 2))


def test_averages_over_cells_have_the_derivative_of_runs_in_space() -> None:
    document = scenario("acoustic_variable_density", 3, averaging="effective")
    check_against_differences(document, contact("acoustic_variable_density", 3))


def test_memory_for_few_snapshots_gives_the_same_bits() -> None:
    """Segments that are run again, and batches whose runs are not kept."""
    document = scenario("elastic", 2)
    document["survey"]["batch"] = 1
    start = model("elastic", 2)
    gradients = []
    for memory in (None, 2_900_000):
        wave = propagator(document, memory=memory)
        traces = wave(keep=memory is None, **start)
        gradients.append(wave.pullback(traces))
        assert (wave.plan.segments > 1) == (memory is not None)
    for name in PARAMETERS["elastic"]:
        assert np.array_equal(gradients[0][name], gradients[1][name])


@pytest.mark.parametrize("equation", ["acoustic", "elastic"])
def test_subdomains_give_the_same_derivative(equation: str) -> None:
    """A grid in parts sums the same images; the medium of sources is that of all parts."""
    document = scenario(equation, 2)
    start = model(equation, 2)
    gradients = []
    for count in (1, 2):
        wave = propagator(document | {"grid": document["grid"] | {"decomposition": [count, 1]}})
        gradients.append(wave.pullback(wave(keep=True, **start)))
    for name in PARAMETERS[equation]:
        largest = np.abs(gradients[0][name]).max()
        assert gradients[1][name] == pytest.approx(gradients[0][name], abs=1e-12 * largest)


@pytest.mark.parametrize("equation", ["acoustic", pytest.param("elastic", marks=pytest.mark.slow)])
def test_adjoint_runs_leave_out_points_as_forward_runs_do(equation: str, monkeypatch) -> None:
    """Waves have not filled the grid before the run is over; both runs step the same points."""
    monkeypatch.setitem(SHAPES, 3, (45, 41, 53))
    document = scenario(equation, 3)
    near = {"x": 60.3, "y": 61.0, "z": 40.2}
    document |= {"survey": {"shots": [{"position": near}]}}
    document["time"]["duration"] = 0.08
    document["receivers"][0]["positions"] = [{"x": 100.3, "y": 90.0, "z": 60.0}]
    start = model(equation, 3)
    gradients = []
    for phases_of in (reversed_phases, lambda *_: None):
        monkeypatch.setattr("seismo.inversion.adjoint.run.reversed_phases", phases_of)
        wave = propagator(document)
        gradients.append(wave.pullback(wave(keep=True, **start)))
        adjoint = wave._adjoint.gradient.adjoint.simulation
        assert (len(adjoint.phases) > 3) == (phases_of is reversed_phases)
    for name in PARAMETERS[equation]:
        largest = np.abs(gradients[1][name]).max()
        assert gradients[0][name] == pytest.approx(gradients[1][name], abs=1e-14 * largest)


@pytest.mark.parametrize("equation", ["acoustic", "elastic"])
def test_few_snapshots_sample_the_waves(equation: str) -> None:
    """Four snapshots in a period of the highest frequency: a thousandth of the derivative."""
    document = scenario(equation, 2)
    start = model(equation, 2)
    gradients = []
    for snapshots in (1, None):
        wave = propagator(document, snapshots=snapshots)
        gradients.append(wave.pullback(wave(keep=True, **start)))
    assert wave.plan.every > 1
    for name in PARAMETERS[equation]:
        error = np.linalg.norm(gradients[1][name] - gradients[0][name])
        assert error < 0.01 * np.linalg.norm(gradients[0][name])


def test_several_models_have_a_derivative_each() -> None:
    document = scenario("acoustic", 2)
    wave = propagator(document)
    several = np.stack([model("acoustic", 2, seed)["vp"] for seed in (0, 1)])
    traces = wave(vp=several)
    gradient = wave.pullback(traces)["vp"]
    assert gradient.shape == several.shape
    for vp, derivative in zip(several, gradient, strict=True):
        alone = wave.pullback(wave(vp=vp))["vp"]
        assert np.array_equal(alone, derivative)


def test_derivative_is_that_of_the_model_called_last() -> None:
    wave = propagator(scenario("acoustic", 2))
    first, second = (model("acoustic", 2, seed) for seed in (0, 1))
    expected = wave.pullback(wave(keep=True, **first))["vp"]
    wave(keep=True, **second)
    traces = wave(**first)
    next(wave.steps(every=50, **second))
    assert np.array_equal(wave.pullback(traces)["vp"], expected)


def test_refusals_say_why() -> None:
    document = scenario("acoustic", 2)
    wave = propagator(document)
    with pytest.raises(ScenarioError, match="call the propagator with a model first"):
        wave.pullback({})
    wave(**model("acoustic", 2))
    with pytest.raises(ScenarioError, match="no receiver set has this name; choose line"):
        wave.pullback({"lines": {}})
    with pytest.raises(ScenarioError, match="is not recorded; choose pressure"):
        wave.pullback({"line": {"vx": np.zeros(3)}})
    with pytest.raises(ScenarioError, match=r"has the shape \[3\]; give \[2, 2, "):
        wave.pullback({"line": {"pressure": np.zeros(3)}})
    traces = wave(**model("acoustic", 2))["line"]["pressure"]
    with pytest.raises(ScenarioError, match="is not finite"):
        wave.pullback({"line": {"pressure": np.full_like(traces, np.nan)}})
    mirrors = scenario("acoustic", 2)
    mirrors["boundaries"]["x_max"] = "rigid"
    wave = propagator(mirrors)
    wave(**model("acoustic", 2))
    with pytest.raises(ScenarioError, match="faces that are rigid have no derivative"):
        wave.pullback({})
    fluid = model("elastic", 2)
    fluid["vs"][3, 4] = 0.0
    names = PARAMETERS["elastic"]
    elastic = seismo.Propagator(
        scenario("elastic", 2), names, BOUNDS | {"vs": (0.0, 1700.0)}, backend="cpu"
    )
    with pytest.raises(ScenarioError, match=r"vs is 0 at node \[3, 4\], and fluids"):
        elastic(keep=True, **fluid)
    document["receivers"][0]["positions"][0]["x"] = 5.0
    wave = propagator(document)
    wave(**model("acoustic", 2))
    with pytest.raises(ScenarioError, match="absorbing layer along x"):
        wave.pullback({})


@pytest.mark.gpu
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("equation", PARAMETERS)
def test_card_gives_the_derivative_of_the_processor(equation: str, dimensions: int) -> None:
    if (equation, dimensions) == ("elastic_sh", 3):
        pytest.skip("SH waves are in a plane")
    document = scenario(equation, dimensions)
    start = model(equation, dimensions)
    gradients = []
    for backend in ("cpu", "gpu"):
        wave = propagator(document, backend=backend)
        gradients.append(wave.pullback(wave(keep=True, **start)))
    for name in PARAMETERS[equation]:
        largest = np.abs(gradients[0][name]).max()
        assert gradients[1][name] == pytest.approx(gradients[0][name], abs=1e-10 * largest)


@pytest.mark.gpu
@pytest.mark.parametrize("equation", PARAMETERS)
def test_snapshots_in_16_bits_sample_the_waves(equation: str) -> None:
    document = scenario(equation, 2) | {"precision": "float32"}
    start = model(equation, 2)
    gradients = []
    memory = None
    for snapshots in (1, 2):
        wave = propagator(document, backend="gpu", snapshots=snapshots, memory=memory)
        gradients.append(wave.pullback(wave(keep=True, **start)))
        memory = int(0.3 * wave.plan.bytes)
    assert wave.plan.short
    for name in PARAMETERS[equation]:
        error = np.linalg.norm(gradients[1][name] - gradients[0][name])
        assert error < 0.01 * np.linalg.norm(gradients[0][name])


@pytest.mark.parametrize("kind", ["l2", "envelope", "correlation", "transport"])
def test_misfits_have_the_derivative_of_runs(kind: str) -> None:
    document = scenario("acoustic", 2)
    wave = propagator(document)
    observed = wave(**model("acoustic", 2, seed=1))
    objective = seismo.misfit(wave, observed, kind)
    start = model("acoustic", 2)["vp"]
    _, gradient = objective(vp=start)
    inside = away_from_layers(2, "free_surface")
    change = inside * np.random.default_rng(2).uniform(-1.0, 1.0, inside.shape)
    above, below = (objective(vp=start + h * change)[0] for h in (1e-2, -1e-2))
    slope = float(np.sum(gradient["vp"] * change))
    assert (above - below) / 2e-2 == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("equation", ["acoustic", "elastic"])
def test_chosen_shots_have_their_own_traces_and_gradients(equation):
    """Of three shots, two together: one, two in another order, and all of them again."""
    place = scenario(equation, 2)["survey"]["shots"]
    shots = [*place, {"position": {a: v + 5.0 for a, v in place[0]["position"].items()}}]
    several = propagator(scenario(equation, 2, survey={"shots": shots, "batch": 2}))
    models = model(equation, 2)
    weights = {
        s: {c: np.random.default_rng(1).standard_normal(t.shape) for c, t in of_set.items()}
        for s, of_set in several(**models).items()
    }

    def of_shots(numbers):
        several.select(numbers)
        rows = slice(None) if numbers is None else list(numbers)
        traces = several(keep=True, **models)
        chosen = {s: {c: w[rows] for c, w in of_set.items()} for s, of_set in weights.items()}
        change = several.jvp(**{name: 0.01 * array for name, array in models.items()})
        return traces, several.pullback(chosen), change

    whole, gradient, changed = of_shots(None)
    parts = {numbers: of_shots(numbers) for numbers in ((2,), (1, 0), (0, 1, 2))}
    for numbers, (traces, _, change) in parts.items():
        for s, of_set in traces.items():
            for c, section in of_set.items():
                assert (section == whole[s][c][list(numbers)]).all()
                assert (change[s][c] == changed[s][c][list(numbers)]).all()
    for name, of_all in gradient.items():
        assert (parts[(0, 1, 2)][1][name] == of_all).all()
        added = parts[(2,)][1][name] + parts[(1, 0)][1][name]
        assert added == pytest.approx(of_all, rel=1e-9, abs=1e-12 * np.abs(of_all).max())
    for numbers in ((3,), (-1,), ()):
        with pytest.raises(ScenarioError, match="shots: "):
            several.select(numbers)
    several.select((0,))
    with pytest.raises(ScenarioError, match="call the propagator with a model first"):
        several.pullback({})

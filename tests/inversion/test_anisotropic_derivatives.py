"""Derivatives by the parameters of anisotropic rock: transposes, and differences of runs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import seismo
from seismo.errors import ScenarioError
from solver import slow_cases_but
from test_jvp import difference, random_residuals
from test_pullback import SHAPES, SPACING, away_from_layers, scenario
from test_source_derivatives import norm, product

MIDDLE = {
    "vp": 2300.0, "vs": 1200.0, "rho": 2000.0, "epsilon": 0.2, "delta": 0.1, "gamma": 0.1,
    "epsilon1": 0.15, "epsilon2": 0.1, "delta1": 0.05, "delta2": 0.08, "delta3": -0.03,
    "gamma1": 0.1, "gamma2": 0.06, "c11": 13.8e9, "c12": 5.3e9, "c13": 4.8e9, "c22": 12.7e9,
    "qp": 45.0, "qs": 30.0, "c23": 4.2e9, "c33": 10.6e9, "c44": 3.2e9, "c55": 2.9e9, "c66": 3.5e9,
}  # fmt: skip
THOMSEN = ("vp", "vs", "rho", "epsilon", "delta", "gamma")
TSVANKIN = (
    "vp", "vs", "rho", "epsilon1", "epsilon2", "delta1", "delta2", "delta3", "gamma1", "gamma2",
)  # fmt: skip
ORTHORHOMBIC = ("rho", "c11", "c12", "c13", "c22", "c23", "c33", "c44", "c55", "c66")


@dataclass(frozen=True)
class Rock:
    """A rock whose parameters vary, in waves of a kind.

    Attributes:
        physics: as scenarios have it.
        names: of the parameters.
        dimensions: 2 or 3.
        averaging: over cells, or none.
        top: boundary.
        fixed: further parameters of the scenario's model.
        precision: of the run.
        source: its type.
        duration: in s.
        idle: parameters that no wave in a plane knows.
    """

    physics: str
    names: tuple[str, ...]
    dimensions: int = 2
    averaging: str = "effective"
    top: str = "free_surface"
    fixed: dict[str, float] = field(default_factory=dict)
    precision: str = "float64"
    source: str = ""
    duration: float = 0.22
    idle: frozenset[str] = frozenset()

    @property
    def document(self) -> dict:
        """The scenario, of a single shot."""
        keys = {"source": self.source} if self.source else {}
        document = scenario(
            self.physics, self.dimensions, self.top, averaging=self.averaging, **keys
        )
        rock = {name: MIDDLE[name] for name in self.names} | self.fixed
        document["model"] = [{"type": "uniform", **rock}]
        document["precision"] = self.precision
        if self.physics == "elastic":
            document["receivers"][0]["quantities"] = ["velocity", "pressure"]
        document["time"]["duration"] = self.duration
        del document["survey"]["shots"][1:]
        document["survey"]["shots"][0]["position"]["z"] = SOURCE * SPACING + 4.3
        return document

    def propagator(self, **options) -> seismo.Propagator:
        """Return the propagator of its parameters and of wavelets."""
        bounds = {n: tuple(sorted((0.6 * MIDDLE[n], 1.4 * MIDDLE[n]))) for n in self.names}
        bounds |= {
            name: (0.75 * MIDDLE[name], 1.3 * MIDDLE[name]) for name in bounds.keys() & {"rho"}
        }
        options = {"backend": "cpu", "snapshots": 1} | options
        return seismo.Propagator(self.document, (*self.names, "wavelet"), bounds, **options)

    def model(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Return rough rock with a step between two rows."""
        random = np.random.default_rng(seed)
        shape = SHAPES[self.dimensions]
        below = (np.arange(shape[0]) > CONTACT).reshape(-1, *[1] * (self.dimensions - 1))
        return {
            name: MIDDLE[name] * (1.0 + 0.08 * below + 0.03 * random.uniform(-1.0, 1.0, shape))
            for name in self.names
        }


SOURCE = 6  # its row
CONTACT = 10  # the last row above a step


def cells_of(rock: Rock) -> dict[str, tuple[int, int]]:
    """Return cells z, x in a plane; on the surface pressures vanish whatever the rock."""
    cells = {"at the source": (SOURCE, 16), "beside a contact": (CONTACT, 22)}
    if rock.top == "free_surface":
        cells["at the surface"] = int(rock.physics == "acoustic"), 20
    return cells


def directions(rock: Rock, start: dict, single: bool) -> dict[str, dict[str, np.ndarray]]:
    """Return random changes of all parameters, everywhere away from layers or in single cells."""
    random = np.random.default_rng(1)
    margin = 3 if rock.averaging == "point" else 4
    places = {"everywhere": away_from_layers(rock.dimensions, rock.top, margin)}
    for place, (z, x) in cells_of(rock).items() if single else ():
        places[place] = np.zeros(SHAPES[2])
        places[place][z, x] = 1.0
    changes = {
        place: {
            name: np.abs(MIDDLE[name]) * where * random.uniform(-1.0, 1.0, where.shape)
            for name in rock.names
        }
        for place, where in places.items()
    }
    samples = start["wavelet"]
    wavelet = 0.1 * np.abs(samples).max() * random.standard_normal(samples.shape)
    changes["everywhere"]["wavelet"] = wavelet
    return changes


def check(rock: Rock, most: float = 1e-12, single: bool = True, step: float = 5e-4) -> None:
    """Compare `jvp` and `pullback` with each other, and both with central differences of runs.

    In all directions <J change, r> is <change, J^T r>, J change the central difference of traces,
    and <change, J^T r> that of <traces, r>.
    """
    wave = rock.propagator()
    start = wave.start | rock.model()
    wave(keep=True, **start)
    every = directions(rock, start, single)
    changed = {place: wave.jvp(**change) for place, change in every.items()}
    # Like the changes, so that no product is a small difference.
    residuals = {
        place: difference(traces, random_residuals(traces), 0.1)
        for place, traces in changed.items()
    }
    derivatives = {place: wave.pullback(traces) for place, traces in residuals.items()}
    for name in rock.names:
        assert derivatives["everywhere"][name].any() == (name not in rock.idle), name
    for place, change in every.items():
        derivative = derivatives[place]
        slope = sum(float(np.sum(derivative[name] * array)) for name, array in change.items())
        size = norm(changed[place]) * norm(residuals[place])
        assert abs(slope - product(changed[place], residuals[place])) < most * size, place
        if rock.precision == "float32":
            continue
        # Waves of a single cell are weak, and as good as linear in its rock.
        central = central_difference(
            wave, start, change, step if place == "everywhere" else 4 * step
        )
        assert norm(difference(central, changed[place])) < 1e-6 * norm(changed[place]), place
        assert product(central, residuals[place]) == pytest.approx(slope, rel=1e-6), place


def central_difference(
    wave: seismo.Propagator, start: dict, change: dict, step: float
) -> dict:  # fmt: skip
    """Return the derivative of traces along a change, of fourth order."""
    total: dict = {}
    for n, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
        traces = wave(**start | {m: start[m] + n * step * change[m] for m in change})
        total = difference(total, traces, -weight / (12.0 * step)) if total else {
            s: {c: weight / (12.0 * step) * t for c, t in of_set.items()}
            for s, of_set in traces.items()
        }  # fmt: skip
    return total


TILTED = {"theta": 30.0}
ACOUSTIC = ("vp", "epsilon", "delta")
PLANE = ("rho", "c11", "c13", "c33", "c55")
IN_PLANE = frozenset({"gamma"})
CASES = [
    pytest.param(Rock("elastic", THOMSEN, idle=IN_PLANE), id="vti"),
    pytest.param(
        Rock("elastic", THOMSEN, averaging="point", top="absorbing", source="volume_rate",
             idle=IN_PLANE),
        id="vti in layers",
    ),
    pytest.param(Rock("elastic_sh", ("vs", "rho", "gamma")), id="sh"),
    pytest.param(Rock("elastic_sh", ("vs", "rho", "gamma"), averaging="point"), id="sh of points"),
    pytest.param(Rock("elastic", PLANE, averaging="point", source="moment_tensor"), id="constants"),
    pytest.param(Rock("elastic", PLANE, top="absorbing"), id="constants in layers"),
    pytest.param(
        Rock("elastic", TSVANKIN, source="explosion",
             idle=frozenset({"epsilon1", "delta1", "delta3", "gamma1", "gamma2"})),
        id="orthorhombic",
    ),
    pytest.param(Rock("acoustic", ACOUSTIC), id="acoustic"),
    pytest.param(Rock("acoustic", ACOUSTIC, averaging="point", top="absorbing"), id="pressures"),
    pytest.param(Rock("acoustic", ACOUSTIC, fixed=TILTED), id="tilted"),
    pytest.param(Rock("acoustic", ACOUSTIC, fixed=TILTED, averaging="point"), id="tilted points"),
]  # fmt: skip


@pytest.mark.parametrize("rock", slow_cases_but({"vti", "sh of points", "acoustic"}, CASES))
def test_derivatives_are_those_of_runs(rock: Rock) -> None:
    check(rock)


IN_SPACE = [
    pytest.param(Rock("elastic", THOMSEN, 3, duration=0.06), id="vti"),
    pytest.param(Rock("elastic", TSVANKIN, 3, averaging="point", duration=0.1), id="orthorhombic"),
    pytest.param(Rock("elastic", ORTHORHOMBIC, 3, duration=0.1), id="constants"),
    pytest.param(Rock("acoustic", ACOUSTIC, 3, duration=0.06), id="acoustic"),
    pytest.param(
        Rock("acoustic", ACOUSTIC, 3, fixed={"theta": 30.0, "phi": 20.0}, duration=0.1),
        id="tilted",
    ),
]


@pytest.mark.parametrize("rock", slow_cases_but({"acoustic"}, IN_SPACE))
def test_derivatives_are_those_of_runs_in_space(rock: Rock) -> None:
    check(rock, single=False)


@pytest.mark.parametrize(
    "rock",
    [
        Rock("elastic", THOMSEN, precision="float32", idle=IN_PLANE),
        Rock("acoustic", ACOUSTIC, precision="float32", fixed=TILTED),
    ],
)
def test_products_are_transposes_in_single_precision(rock: Rock) -> None:
    check(rock, 1e-5)


def test_no_derivative_by_epsilon_and_delta_where_they_are_equal() -> None:
    """That by vp is exact there, and both products leave out the same."""
    rock = Rock("acoustic", ACOUSTIC, averaging="point")
    wave = rock.propagator()
    start = rock.model()
    start["epsilon"][:, 20:] = start["delta"][:, 20:] = 0.12
    wave(keep=True, **start)
    change = directions(rock, wave.start, single=False)["everywhere"]
    changed = wave.jvp(**change)
    residuals = random_residuals(changed)
    derivative = wave.pullback(residuals)
    slope = sum(float(np.sum(derivative[name] * change[name])) for name in change)
    size = norm(changed) * norm(residuals)
    assert abs(slope - product(changed, residuals)) < 1e-12 * size
    for name in ("epsilon", "delta"):
        assert not derivative[name][:, 20:].any()
        assert derivative[name][:, 10:20].any()
    above, below = (wave(**start | {"vp": start["vp"] + h * change["vp"]}) for h in (1e-4, -1e-4))
    central = product(difference(above, below), residuals) / 2e-4
    assert central == pytest.approx(float(np.sum(derivative["vp"] * change["vp"])), rel=1e-6)


def test_planes_of_isotropic_rock_take_anisotropic_models() -> None:
    """The scenario's own model is isotropic: rows that it leaves even are not."""
    rock = Rock("elastic", THOMSEN, averaging="point")
    document = rock.document
    document["model"][0] |= {"epsilon": 0.0, "delta": 0.0, "gamma": 0.0}
    document["model"].append(
        {"type": "block", "x": [0.0, 50.0], "z": [300.0, 350.0], "epsilon": 0.01}
    )
    bounds = dict.fromkeys(("epsilon", "delta", "gamma"), (0.0, 0.3))
    one = seismo.Propagator(document, tuple(bounds), bounds, backend="cpu")
    other = seismo.Propagator(rock.document, tuple(bounds), bounds, backend="cpu")
    uniform = {name: np.full(one.shape, MIDDLE[name]) for name in bounds}
    expected = other(**uniform)
    assert norm(difference(one(**uniform), expected)) < 1e-9 * norm(expected)


def test_time_step_suits_the_fastest_rock_within_the_bounds() -> None:
    bounds = {"vp": (2000.0, 2500.0), "epsilon": (0.0, 0.4)}
    several = seismo.Propagator(Rock("elastic", THOMSEN).document, tuple(bounds), bounds)
    fastest = Rock("elastic", THOMSEN).document
    fastest["model"][0] |= {"vp": 2500.0, "epsilon": 0.4}
    alone = seismo.Propagator(fastest)
    assert several.discretization.clock.dt == pytest.approx(alone.discretization.clock.dt, rel=0.01)


def test_refusals_say_why() -> None:
    tilted = Rock("elastic", THOMSEN, fixed=TILTED)
    wave = tilted.propagator()
    wave(**tilted.model())
    with pytest.raises(ScenarioError, match="elastic_tti, which has no derivative"):
        wave.pullback({})
    constants = Rock("elastic", PLANE).document
    with pytest.raises(
        ScenarioError, match="vp is none of elastic_orthorhombic; choose from rho, c"
    ):
        seismo.Propagator(constants, ["vp"], {"vp": (1500.0, 3000.0)})
    rock = Rock("acoustic", ACOUSTIC, source="explosion")
    wave = rock.propagator()
    wave(**rock.model())
    with pytest.raises(ScenarioError, match="of type explosion"):
        wave.pullback({})
    axes = Rock("acoustic", ACOUSTIC, fixed=TILTED).document
    wave = seismo.Propagator(axes, ["theta"], {"theta": (0.0, 60.0)})
    wave(theta=np.full(wave.shape, 20.0))
    with pytest.raises(ScenarioError, match="by theta there is none"):
        wave.pullback({})
    axes["model"].append({"type": "block", "z": [100.0, 200.0], "theta": 10.0})
    wave = seismo.Propagator(axes, ["vp"], {"vp": (1500.0, 3000.0)})
    wave()
    with pytest.raises(ScenarioError, match="axes of symmetry vary"):
        wave.pullback({})
    axes["isotropic_source"] = "auto"
    with pytest.raises(ScenarioError, match="have the rock that they give about sources"):
        seismo.Propagator(axes, ["vp"], {"vp": (1500.0, 3000.0)})

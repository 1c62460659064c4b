"""Derivatives by rock that attenuates: transposes, and differences of runs."""

from __future__ import annotations

import numpy as np
import pytest

import seismo
from seismo.errors import ScenarioError
from solver import slow_cases_but
from test_anisotropic_derivatives import IN_PLANE, MIDDLE, THOMSEN, Rock, check
from test_jvp import difference
from test_pullback import SHAPES
from test_source_derivatives import norm

FLUID = ("vp", "rho", "qp")
ELASTIC = ("vp", "vs", "rho", "qp", "qs")
SHEAR = ("vs", "rho", "qs")
Q = {"qp": MIDDLE["qp"], "qs": MIDDLE["qs"]}
DENSITY = {"rho": MIDDLE["rho"]}
STEP = 1e-3  # losses of runs have rounding of 1e-11
CASES = [
    pytest.param(Rock("elastic", ELASTIC), id="elastic"),
    pytest.param(
        Rock("elastic", ELASTIC, averaging="point", top="absorbing", source="volume_rate"),
        id="elastic in layers",
    ),
    pytest.param(
        Rock("elastic", ("vp", "vs", "rho"), averaging="point", top="absorbing",
             source="moment_tensor", fixed=Q),
        id="fixed losses",
    ),
    pytest.param(
        Rock("elastic", (*THOMSEN, "qp", "qs"), source="explosion", idle=IN_PLANE), id="vti"
    ),
    pytest.param(
        Rock("acoustic_variable_density", ("vp", "qp"), source="pressure", fixed=DENSITY),
        id="fluid",
    ),
    pytest.param(
        Rock("acoustic_variable_density", FLUID, averaging="point", source="volume_rate"),
        id="fluid of points",
    ),
    pytest.param(
        Rock("acoustic_variable_density", FLUID, averaging="point", top="absorbing",
             source="explosion"),
        id="fluid in layers",
    ),
    pytest.param(Rock("acoustic", ("vp", "qp")), id="acoustic"),
    pytest.param(
        Rock("acoustic", ("vp", "qp"), averaging="point", top="absorbing"), id="acoustic in layers"
    ),
    pytest.param(Rock("acoustic", ("vp", "epsilon", "delta", "qp")), id="acoustic vti"),
    pytest.param(Rock("elastic_sh", SHEAR), id="sh"),
    pytest.param(
        Rock("elastic_sh", (*SHEAR, "gamma"), averaging="point", top="absorbing",
             source="moment_tensor"),
        id="sh vti",
    ),
]  # fmt: skip


@pytest.mark.parametrize("rock", slow_cases_but({"fixed losses", "acoustic"}, CASES))
def test_derivatives_are_those_of_runs(rock: Rock) -> None:
    check(rock, step=STEP)


IN_SPACE = [
    pytest.param(Rock("elastic", ELASTIC, 3, source="explosion", duration=0.1), id="elastic"),
    pytest.param(Rock("acoustic", ("vp", "qp"), 3, duration=0.1), id="acoustic"),
    pytest.param(
        Rock("acoustic", ("vp", "epsilon", "delta", "qp"), 3, duration=0.1), id="acoustic vti"
    ),
    pytest.param(
        Rock("acoustic_variable_density", FLUID, 3, averaging="point", duration=0.1), id="fluid"
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("rock", IN_SPACE)
def test_derivatives_are_those_of_runs_in_space(rock: Rock) -> None:
    check(rock, single=False, step=STEP)


def test_products_are_transposes_in_single_precision() -> None:
    check(Rock("elastic", ELASTIC, precision="float32"), 1e-5, single=False)


@pytest.mark.parametrize(
    "source", ["moment_tensor", pytest.param("volume_rate", marks=pytest.mark.slow)]
)
def test_sources_act_on_a_free_surface(source: str) -> None:
    """Strains have what the surface adds to those of a source."""

    class Shallow(Rock):
        @property
        def document(self) -> dict:
            document = super().document
            document["survey"]["shots"][0]["position"]["z"] = 5.0
            return document

    check(Shallow("elastic", ELASTIC, source=source), single=False, step=STEP)


def test_segments_and_few_snapshots() -> None:
    """Parts of the run that are run again give the same bits; memory variables begin anew."""
    rock = Rock("elastic", ELASTIC, averaging="point")
    gradients = []
    for options in ({}, {"memory": 10_000_000}, {"snapshots": None}):
        wave = rock.propagator(**options)
        traces = wave(keep=True, **rock.model())
        gradients.append(wave.pullback(traces))
        assert (wave.plan.segments > 1) == ("memory" in options)
    for name in ELASTIC:
        assert np.array_equal(gradients[0][name], gradients[1][name])
        error = np.linalg.norm(gradients[2][name] - gradients[0][name])
        assert error < 0.01 * np.linalg.norm(gradients[0][name])


def test_traces_are_those_of_runs() -> None:
    """Velocities are given as in scenarios, not unrelaxed; strain rates are only recorded."""
    document = Rock("elastic", ELASTIC, averaging="point", top="absorbing").document
    bounds = {"vp": (MIDDLE["vp"] - 1.0, MIDDLE["vp"])}
    wave = seismo.Propagator(document, ["vp"], bounds, backend="cpu")
    traces = wave(vp=np.full(SHAPES[2], MIDDLE["vp"]))
    plain = seismo.Propagator(document, [], {}, backend="cpu")
    assert wave.discretization.clock.dt == plain.discretization.clock.dt
    expected = plain()
    assert norm(difference(traces, expected)) < 1e-9 * norm(expected)


@pytest.mark.parametrize(
    ("physics", "rock"),
    [
        ("elastic", {name: MIDDLE[name] for name in ELASTIC} | {"epsilon": 0.1, "theta": 20.0}),
        ("acoustic", {"vp": MIDDLE["vp"], "qp": 45.0, "epsilon": 0.1, "theta": 20.0}),
    ],
)
def test_refusals_say_why(physics: str, rock: dict) -> None:
    document = Rock(physics, ("vp",)).document
    document["model"] = [{"type": "uniform", **rock}]
    wave = seismo.Propagator(document, ["vp"], {"vp": (2000.0, 2500.0)})
    wave()
    with pytest.raises(ScenarioError, match="has no derivative yet"):
        wave.pullback({})


@pytest.mark.gpu
@pytest.mark.parametrize(
    "rock",
    [
        Rock("elastic", ELASTIC),
        Rock("elastic", THOMSEN, 3, averaging="point", duration=0.06),
        Rock("acoustic", ("vp", "epsilon", "delta")),
        Rock("acoustic", ("vp", "epsilon", "delta", "qp"), averaging="point"),
    ],
)
def test_card_gives_the_derivative_of_the_processor(rock: Rock) -> None:
    gradients = []
    for backend in ("cpu", "gpu"):
        wave = rock.propagator(backend=backend)
        gradients.append(wave.pullback(wave(keep=True, **rock.model())))
    for name in rock.names:
        largest = np.abs(gradients[0][name]).max()
        assert gradients[1][name] == pytest.approx(gradients[0][name], abs=1e-9 * largest)

"""Unknowns of an inversion: models that they make, and the transposed derivative."""

import numpy as np
import pytest

from seismo.inversion.full_waveform.unknowns import Tie, Unknown, Unknowns, gaussian

SHAPE = (9, 11)
BOUNDS = {"vp": (1500.0, 4000.0), "vs": (500.0, 2400.0)}
TIES = {"rho": Tie("vp", 0.25, 310.0)}


def start(seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "vp": random.uniform(2200.0, 2800.0, SHAPE),
        "vs": random.uniform(1000.0, 1400.0, SHAPE),
        "rho": np.full(SHAPE, 1000.0),
    }


def mask() -> np.ndarray:
    weights = np.ones(SHAPE)
    weights[0] = 0.0
    weights[1] = 0.5
    return weights


def unknowns_of(kind: str = "value", smooth: float | None = 25.0) -> Unknowns:
    unknowns = {name: Unknown(bounds, kind) for name, bounds in BOUNDS.items()}
    map_to_models = Unknowns(unknowns, TIES, start(), mask(), gaussian(smooth, (10.0, 12.0)))
    weights = np.random.default_rng(3).uniform(0.2, 1.0, SHAPE)
    map_to_models.begin(start(), weights)
    return map_to_models


def changes_of(seed: int, size: float = 0.05) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {name: size * random.standard_normal(SHAPE) for name in BOUNDS}


@pytest.mark.parametrize("kind", ["value", "slowness", "log"])
@pytest.mark.parametrize("size", [0.05, 2.0])  # within the bounds, and clipped by them
def test_the_transposed_derivative_agrees_with_central_differences(kind, size):
    """The misfit is a quadratic function of all models, tied ones included."""
    unknowns = unknowns_of(kind)
    weights = start(1)

    def misfit(changes):
        models = unknowns.models(changes)
        return sum(0.5e-3 * (weights[n] * (m - 0.9 * start(2)[n]) ** 2).sum() / 1e3
                   for n, m in models.items())  # fmt: skip

    changes = changes_of(1, size)
    models = unknowns.models(changes)
    by_models = {n: 1e-6 * weights[n] * (m - 0.9 * start(2)[n]) for n, m in models.items()}
    gradient = unknowns.transposed(unknowns.with_ties(by_models, models), changes, models)
    direction = changes_of(2)
    step = 1e-5
    ahead, behind = (
        misfit({n: c + s * direction[n] for n, c in changes.items()}) for s in (step, -step)
    )
    expected = sum((gradient[n] * direction[n]).sum() for n in BOUNDS)
    # Differences of the fourth digit of a sum of 200 terms; a clipped node more or less: 1e-6.
    assert (ahead - behind) / (2.0 * step) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("smooth", [None, 25.0])
def test_models_stay_where_the_mask_is_zero_and_within_bounds_elsewhere(smooth):
    unknowns = unknowns_of("slowness", smooth)
    models = unknowns.models(changes_of(4, 5.0))
    for name, model in models.items():
        assert (model[0] == start()[name][0]).all()
    for name, (low, high) in BOUNDS.items():
        assert low <= models[name].min() < models[name].max() <= high
    assert models["rho"][1:] == pytest.approx(310.0 * models["vp"][1:] ** 0.25, rel=1e-14)


@pytest.mark.parametrize("kind", ["value", "slowness", "log"])
def test_bounds_of_unknowns_lead_to_the_bounds_of_the_parameter(kind):
    unknowns = unknowns_of(kind, None)
    for column in (0, 1):
        changes = {name: np.zeros(SHAPE) for name in BOUNDS}
        for name in BOUNDS:
            changes[name][mask() > 0.0] = unknowns.bounds(name)[:, column]
        for name, model in list(unknowns.models(changes).items())[:2]:
            end = BOUNDS[name][1 - column if kind == "slowness" else column]
            assert model[1:] == pytest.approx(end, rel=1e-12)


def test_unknowns_of_zero_are_the_model_of_the_beginning():
    models = unknowns_of("log").models({name: np.zeros(SHAPE) for name in BOUNDS})
    for name in BOUNDS:
        assert models[name] == pytest.approx(start()[name], rel=1e-14)


def test_the_smoothing_is_its_own_transpose_and_its_square_has_the_wanted_length():
    smoothing = gaussian(40.0, (10.0, 10.0))
    first, second = (np.random.default_rng(s).standard_normal((61, 61)) for s in (0, 1))
    forward = (smoothing(first) * second).sum()
    assert forward == pytest.approx((first * smoothing(second)).sum(), rel=1e-12)
    spike = np.zeros((61, 61))
    spike[30, 30] = 1.0
    twice = smoothing(smoothing(spike))
    distances = 10.0 * (np.arange(61) - 30)
    # The filter ends at four deviations: the tail takes 0.1 %.
    assert np.sqrt((twice.sum(0) * distances**2).sum()) == pytest.approx(40.0, rel=2e-3)
    assert smoothing(np.ones((5, 7))) == pytest.approx(1.0)

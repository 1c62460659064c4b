"""Weights that read and act among the rows of a fitted closure."""

import numpy as np
import pytest

import flat_layers
import solver
from seismo.grid.surface_closure import ClosureKind
from seismo.grid.surface_interpolation import (
    DEPTHS,
    HALVES,
    READS,
    WEIGHTED_ROWS,
    SurfaceWeights,
    surface_weights,
)

ORDERS = (4, 6, 8, 10, 12, 14, 16)
PLACES = [0.2, 0.5, 0.8, 1.0, 2.25, 3.99, 4.64, 6.5, 7.9, 9.0]
ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}


@pytest.mark.parametrize("kind", [ClosureKind.FORCES, ClosureKind.MOMENTS])
@pytest.mark.parametrize("order", ORDERS)
def test_they_read_polynomials_exactly(order: int, kind: ClosureKind) -> None:
    """Up to degree 3; shear stresses, which vanish on the surface, without a constant there."""
    fitted = surface_weights(order, kind, np.inf)
    assert fitted is not None
    for what in READS[kind.value]:
        for depth in filter(lambda depth: fitted.reads(what, depth), PLACES):
            at, weights = fitted.weights(what, depth)
            assert at.min() >= 0
            assert at.max() < WEIGHTED_ROWS
            assert np.abs(weights).max() < 4.0
            for power in range(what == "shear" and depth < 5.5, 4):
                read = weights @ (at + 0.5 * HALVES[what]) ** power
                assert read == pytest.approx(depth**power, abs=1e-13 * WEIGHTED_ROWS**power)


def test_they_change_steadily_with_depth() -> None:
    fitted = surface_weights(8, ClosureKind.MOMENTS, np.inf)
    for what in HALVES:
        for depth in DEPTHS[1:-1]:
            (first, above), (last, below) = (
                fitted.weights(what, depth + step) for step in (-1e-6, 1e-6)
            )
            dense = np.zeros((2, WEIGHTED_ROWS))
            dense[0, first], dense[1, last] = above, below
            assert np.abs(dense[1] - dense[0]).max() < 1e-4


def test_they_stay_in_rock_of_one_kind() -> None:
    assert surface_weights(8, ClosureKind.PLAIN, np.inf) is None
    assert surface_weights(8, ClosureKind.FORCES, 9.5) is None
    for even in (10.0, 10.5, 13.0, 14.5):
        fitted = surface_weights(8, ClosureKind.FORCES, even)
        assert isinstance(fitted, SurfaceWeights)
        assert fitted.deepest == min(9.0, even - 5.5)
        assert fitted.reads("along", fitted.deepest)
        assert not fitted.reads("along", fitted.deepest + 0.1)
        assert not fitted.reads("shear", 2.0)
        assert not fitted.reads("across", 0.4)
        for what in READS["forces"]:
            for depth in np.linspace(0.6, fitted.deepest, 20):
                assert fitted.weights(what, depth)[0].max() + 0.5 * HALVES[what] < even


MOMENTS = {"shear": {"xz": 1e12}, "explosion": {"xx": 1e12, "zz": 1e12}, "upright": {"zz": 1e12}}


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("cells", solver.slow_but({1.0, 2.25}, [1.0, 2.25, 4.0, 4.64]))
def test_a_moment_among_the_rows(name: str, cells: float) -> None:
    """10 points per shortest wavelength, five cells from the source, on the surface and below."""
    h, margin = 10.0, 150.0
    beside = np.sqrt(max(25.0 - cells**2, 0.0))
    places = [(beside * h, 0.0), (80.0, 0.0), (200.0, 0.0), (150.0, 150.0), (120.0, 30.0)]
    document = {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 500.0, "z": 300.0}, "spacing": h, "order": 8,
                 "origin": {"x": -margin, "z": 0.0}},
        "time": {"duration": 0.6, "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", **ROCK}],
        "sources": [{
            "type": "moment_tensor", "position": {"x": 0.0, "z": cells * h},
            "components": MOMENTS[name], "time_function": "moment",
            "wavelet": {"type": "ricker", "frequency": ROCK["vs"] / (10.0 * 2.5 * h)},
        }],
        "receivers": [solver.points(
            [dict(zip("xz", place, strict=True)) for place in places], quantities=["velocity"],
        )],
    }  # fmt: skip
    errors = flat_layers.errors(solver.simulate(document), (ROCK,), (0.0,))
    assert max(errors) < 0.02

"""Nothing grows in the absorbing layers: eigenvalues of a line, and long runs.

A line with a layer at either end, all waves across it of one wavenumber: one step is a matrix, and
nothing grows if none of its eigenvalues exceeds 1 in modulus.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import solver
from seismo.cpml import Layer, least_shift, profile
from seismo.grid import Grid
from seismo.stencils import centred, largest_second_symbol, staggered

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
    layer = Layer(1e-7, 1.0, alpha, 2.0, 1.0, least)
    b, a, _, b_half, a_half, _ = profile(grid, "x", layer, dt)
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
    least = least_shift(staggered(order, tolerance), centred(order, tolerance))
    for alpha, across in product(alphas, (0.0, 0.1)):
        assert growth_per_step(order, tolerance, width, alpha, across, least) < 1e-9


@pytest.mark.parametrize("order", range(2, 17, 2))
def test_acoustic_layers_do_not_grow(order) -> None:
    """Sources of 1/300 and a tenth of the highest frequency; waves along the line and aslant."""
    for width, tolerance in ((5, 1e-3), (12, 0.0)):
        check_acoustic_layers(order, tolerance, width, (0.003, 0.1))


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.0, 1e-3, 1e-5])
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("width", [5, 8, 20, 40])
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

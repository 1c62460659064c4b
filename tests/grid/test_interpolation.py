"""Weights between grid points: exact where they claim it, accurate in the band, folded at faces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seismo.grid import interpolation
from seismo.grid.interpolation import Surface, axis_weights, broad_weights, point_weights

POSITIONS = st.floats(6.0, 30.0)


@given(POSITIONS, st.booleans())
def test_polynomials_are_read_exactly(position: float, half: bool) -> None:
    """To degree 3, wherever the point lies; rounding about 1e-12 of the largest term."""
    rows, weights = axis_weights(position, half)
    at = rows + 0.5 * half - position
    for degree in range(interpolation.EXACT_DEGREE + 1):
        assert abs(weights @ at.astype(float) ** degree - (degree == 0)) < 1e-10


@pytest.mark.parametrize(("points", "bar"), [(4.0, 5e-3), (6.0, 3e-3), (10.0, 6e-4)])
def test_waves_are_read_closely(points: float, bar: float) -> None:
    """A wave of so many points per wavelength, at all distances from the grid (Hicks 2002).

    Bars 1.5 times what the exact moments to degree 3 leave: 0.33, 0.23, 0.04 %.
    """
    k = 2 * np.pi / points
    worst = 0.0
    for position in np.linspace(10, 11, 41):
        rows, weights = axis_weights(position, False)
        worst = max(worst, abs(weights @ np.exp(1j * k * rows) - np.exp(1j * k * position)))
    assert worst < bar


def test_points_on_the_grid_are_read_as_they_are() -> None:
    for half in (False, True):
        rows, weights = axis_weights(7 + 0.5 * half, half)
        assert rows.tolist() == [7]
        assert weights.tolist() == [1.0]


@given(st.floats(0.0, 5.0), st.booleans(), st.sampled_from([-1, 1]))
def test_images_are_folded_with_their_sign(position: float, half: bool, sign: int) -> None:
    """The same as reading a field that is continued by hand."""
    surface = Surface(sign, vanishes=sign < 0)
    rows, weights = axis_weights(position, half, 0, surface)
    assert (rows >= 0).all()
    field = np.sin(0.4 * np.arange(20) + 0.3)
    if sign < 0 and not half:
        field[0] = 0.0
    plain_rows, plain_weights = axis_weights(position, half)
    mirrored = np.where(plain_rows < 0, -plain_rows - half, plain_rows)
    continued = np.where(plain_rows < 0, sign, 1) * field[mirrored]
    assert weights @ field[rows] == pytest.approx(plain_weights @ continued, abs=1e-12)


@given(st.floats(0.0, 8.0), st.booleans(), st.booleans())
def test_closed_surface_reads_from_below_only(position, half, vanishes) -> None:
    """Exact to degree 5, or for what vanishes on the surface; no row lies above it."""
    rows, weights = axis_weights(position, half, 0, Surface(0, vanishes))
    assert (rows >= 0).all()
    at = rows + 0.5 * half
    one_sided = rows.size != 1 and np.floor(position - 0.5 * half) - 3 < 0
    highest = interpolation.SURFACE_POINTS - 1 if one_sided else interpolation.EXACT_DEGREE
    for degree in range(1 if vanishes else 0, (1 if rows.size == 1 else highest) + 1):
        assert weights @ at.astype(float) ** degree == pytest.approx(
            position**degree, abs=1e-8 * max(1, at.max() ** degree)
        )


def test_point_weights_are_products() -> None:
    position, half = (9.3, 7.0, 8.6), "xz"
    x, y, z, w = point_weights(position, half)
    along = [axis_weights(p, a in half) for p, a in zip(position, "xyz", strict=True)]
    assert w.size == np.prod([a[0].size for a in along])
    table = dict(zip(zip(x, y, z, strict=True), w, strict=True))
    for i, wi in zip(*along[0], strict=True):
        for k, wk in zip(*along[2], strict=True):
            assert table[i, 7, k] == pytest.approx(wi * wk, abs=1e-15)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)


def test_broad_weights_pass_long_waves_alone() -> None:
    """Of 8 points within 1e-3, of 2.7 next to nothing. Above a surface they are mirrored."""
    x, y, z, w = broad_weights((20.3, None, 30.7))
    assert len(w) == 16 * 16
    assert not y.any()
    for points, share, error in ((10.0, 1.0, 1e-3), (8.0, 1.0, 1e-3), (2.7, 0.0, 2e-3)):
        wave = np.exp(2j * np.pi * (x - 20.3) / points)
        assert abs((w * wave).sum() - share) < error
    x, _, z, w = broad_weights((20.0, None, 2.4), Surface(-1, vanishes=True))
    assert z.min() >= 0
    assert (w * z).sum() == pytest.approx(2.4)

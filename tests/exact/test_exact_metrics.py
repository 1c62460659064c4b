"""The measures against ObsPy's tf_misfit and signals whose misfit is known."""

import numpy as np
import pytest

from seismo.errors import SeismoError
from seismo.exact import metrics

DT = 0.01
TIMES = np.arange(800) * DT


def ricker(frequency: float, centre: float) -> np.ndarray:
    """Return a Ricker wavelet."""
    phase = (np.pi * frequency * (TIMES - centre)) ** 2
    return (1 - 2 * phase) * np.exp(-phase)


REFERENCE = np.array([ricker(2, 3) + 0.3 * ricker(1.3, 4.2), 0.5 * ricker(1.5, 3.4)])
TRACE = np.array([1.1 * ricker(2, 3.01) + 0.28 * ricker(1.3, 4.21), 0.48 * ricker(1.5, 3.42)])


def test_misfits_agree_with_obspy() -> None:
    """Em, pm of ObsPy 1.5.1, norm global, 0.2 to 8 Hz.

    It places the wavelet half a sample off; its printed values are met to 1e-5.
    """
    found = metrics.time_frequency_misfit(TRACE, REFERENCE, DT, 0.2, 8.0)
    np.testing.assert_allclose(found.envelope, [0.08877548, 0.02722747], rtol=1e-5)
    np.testing.assert_allclose(found.phase, [0.03929445, 0.03605846], rtol=1e-5)
    single = metrics.time_frequency_misfit(TRACE[0], REFERENCE[0], DT, 0.2, 8.0)
    assert single.envelope == pytest.approx(0.08877548, rel=1e-5)


def test_scaled_trace_has_envelope_misfit_only_and_reversed_one_full_phase_misfit() -> None:
    """EM = |a - 1| for x = a r; PM = 1 for x = -r (Kristekova et al. 2009)."""
    scaled = metrics.time_frequency_misfit(1.07 * REFERENCE[0], REFERENCE[0], DT, 0.2, 8.0)
    assert scaled.envelope == pytest.approx(0.07, rel=1e-9)
    assert scaled.phase == pytest.approx(0.0, abs=1e-7)
    turned = metrics.time_frequency_misfit(-REFERENCE[0], REFERENCE[0], DT, 0.2, 8.0)
    assert turned.phase == pytest.approx(1.0, rel=1e-9)


def test_l2_amplitude_and_shift_are_told_apart() -> None:
    """A scale shows in the ratio, a delay in the shift, both in the L2."""
    late = ricker(2, 3 + 0.37 * DT)
    assert metrics.residual_shift(late, ricker(2, 3)) == pytest.approx(0.37, abs=1e-4)
    assert metrics.residual_shift(ricker(2, 2.0), 3 * ricker(2, 3)) == pytest.approx(-100, abs=1e-4)
    assert metrics.amplitude_ratio(1.02 * REFERENCE, REFERENCE) == pytest.approx(1.02)
    assert metrics.relative_l2(0.9 * REFERENCE, REFERENCE) == pytest.approx(0.1)
    assert metrics.relative_maximum(REFERENCE + 0.01, REFERENCE) == pytest.approx(
        0.01 / np.abs(REFERENCE).max()
    )


def test_comparisons_without_meaning_are_refused() -> None:
    """Other shapes, and a reference of zeros."""
    with pytest.raises(SeismoError):
        metrics.relative_l2(np.ones(3), np.ones(4))
    with pytest.raises(SeismoError):
        metrics.relative_l2(np.ones(3), np.zeros(3))

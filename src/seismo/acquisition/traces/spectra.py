"""Spectra of the traces: those of the wavelets, filtered by radiation, spreading and recording.

Far from a source of wavelet s(t) the motion is a time derivative of s: none for a pressure source,
the first for a force, the second for a moment (the first where s is a moment rate). Spreading from
a line, as in 2-D, is half an integration; plane waves are s itself. Displacement is one integration
more than velocity, acceleration and the rate of strain are one derivative.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np

from seismo.acquisition.sources.point_source import PointSource
from seismo.acquisition.wavelets import wavelet as wavelets
from seismo.grid.dispersion import Spectra

MOST_SPECTRA = 16  # largest number of different wavelets that are evaluated
_BINS = 500
_NEGLIGIBLE = 1e-7  # of the energy, at either end
_OF_SOURCES = {"plane_wave": 0.0, "pressure": 0.0, "force": 1.0, "volume_rate": 1.0}
_OF_MOMENTS = 2.0
_OF_RECORDS = {"displacement": -1.0, "acceleration": 1.0, "strain_rate": 1.0}


def derivatives_of(source: PointSource) -> float:
    """Return the order of the time derivative of the wavelet in the 3-D far field of a source."""
    return _OF_SOURCES.get(source.kind, _OF_MOMENTS) - source.derivative


def spectra_of(
    sources: Iterable[PointSource], quantities: Iterable[str], dimensions: int
) -> Spectra:
    """Return the spectra of the traces of some point sources.

    Args:
        sources: of all shots.
        quantities: that are recorded; the one with the highest frequencies counts.
        dimensions: 2 or 3.
    """
    recorded_derivative = max((_OF_RECORDS.get(name, 0.0) for name in quantities), default=0.0)
    spreading = 0.5 if dimensions == 2 else 0.0
    kinds = {
        (
            wavelet,
            s.base,
            derivatives_of(s) + recorded_derivative - spreading * (s.kind != "plane_wave"),
        ): None
        for s in sources
        for wavelet in s.radiated
    }
    selected = list(kinds)[:: -(-len(kinds) // MOST_SPECTRA)]
    cumulative = [_cumulative(*kind) for kind in selected]
    low = min(float(np.interp(_NEGLIGIBLE, e, f)) for f, e in cumulative)
    high = max(float(np.interp(1.0 - _NEGLIGIBLE, e, f)) for f, e in cumulative)
    edges = np.geomspace(low, high, _BINS + 1)
    energy = np.array([np.diff(np.interp(edges, f, e)) for f, e in cumulative])
    energy /= energy.sum(axis=1, keepdims=True)
    return Spectra(np.sqrt(edges[1:] * edges[:-1]), energy)


@lru_cache(maxsize=4 * MOST_SPECTRA)
def _cumulative(
    wavelet: wavelets.SourceWavelet, base: Path | None, derivatives: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies (n) in Hz and the share of the energy (n) up to each."""
    shape = wavelets.shape_of(wavelet, base)
    frequency, amplitude = wavelets.spectrum_of(shape.value, shape)
    energy = (amplitude[1:] * frequency[1:] ** derivatives) ** 2
    total = np.cumsum(energy)
    return frequency[1:], total / total[-1]

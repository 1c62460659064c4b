"""Frequencies of all sources of a scenario together."""

from __future__ import annotations

from seismo.acquisition import wavelets
from seismo.scenario import Scenario


def highest_frequency(scenario: Scenario) -> float:
    """Return the frequency in Hz above which all sources radiate less than 1 % of their peak."""
    base, highest = scenario.base, []
    for source in scenario.sources:
        # Where the wavelet is the moment itself, its rate is what radiates.
        rate = getattr(source, "time_function", "moment_rate") == "moment"
        highest.append(wavelets.maximum_frequency(source.wavelet, base, rate=rate))
    return max(highest)


def dominant_frequency(scenario: Scenario) -> float:
    """Return the lowest of the sources' dominant frequencies in Hz."""
    return min(wavelets.dominant_frequency(s.wavelet, scenario.base) for s in scenario.sources)

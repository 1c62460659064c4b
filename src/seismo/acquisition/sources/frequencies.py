"""Wavelets of a scenario's sources, and the frequencies of all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seismo.acquisition.sources.event_files import event_wavelet
from seismo.acquisition.sources.point_source import PointSource
from seismo.acquisition.wavelets import wavelet as wavelets
from seismo.errors import ModelError
from seismo.features.faults.finite_fault import FaultSummary, read_rupture
from seismo.features.faults.slip_rate import SlipRate
from seismo.scenario import Scenario
from seismo.scenario.sections.sources import Source
from seismo.scenario.sections.wavelet import Wavelet


def wavelet_of(scenario: Scenario, number: int) -> Any:
    """Return the wavelet of a source of a scenario: its own, or that of its file.

    Raises:
        ScenarioError: a file is missing or malformed, or lacks it.
    """
    source = scenario.sources[number]
    key: tuple[str, ...] = ()
    try:
        wavelet: Any = _wavelet(source, scenario.base)
        key = ("wavelet",)
        wavelets.shape_of(wavelet, scenario.base)
    except ModelError as error:
        raise scenario.mistake("sources", number, *key, *error.key, problem=error.problem) from None
    return wavelet


def _wavelet(source: Source, base: Path | None) -> Wavelet | SlipRate | str:
    if source.type == "event":
        return event_wavelet(source, base)
    if source.type == "finite_fault":
        return read_rupture(source, base).rate
    return source.wavelet


def highest_frequency(scenario: Scenario, summaries: Iterable[PointSource] = ()) -> float:
    """Return the frequency in Hz above which all sources radiate less than 1 % of their peak.

    Args:
        scenario: of the run.
        summaries: its sources in the earth, where they are known: faults in all directions.
    """
    faults = (source for source in summaries if isinstance(source, FaultSummary))
    rates = (rate for fault in faults for rate in fault.directivity.rates)
    highest = [wavelets.maximum_frequency(rate) for rate in rates]
    for number, source in enumerate(scenario.sources):
        # Where the wavelet is the moment itself, its rate is what radiates.
        rate = getattr(source, "time_function", "moment_rate") == "moment"
        wavelet = wavelet_of(scenario, number)
        highest.append(wavelets.maximum_frequency(wavelet, scenario.base, rate=rate))
    return max(highest)


def frequency_bound(scenario: Scenario) -> float:
    """Return a frequency in Hz that the waves of no source exceed in any direction, in any earth.

    See `highest_frequency`; of a fault it is that of its subfaults together.
    """
    faults = (source for source in scenario.sources if source.type == "finite_fault")
    rates = (read_rupture(source, scenario.base).rate_at_once for source in faults)
    return max([highest_frequency(scenario), *map(wavelets.maximum_frequency, rates)])


def dominant_frequency(scenario: Scenario) -> float:
    """Return the lowest of the sources' dominant frequencies in Hz."""
    return min(dominant_frequencies(scenario))


def dominant_frequencies(scenario: Scenario) -> Iterator[float]:
    """Yield the dominant frequency of every source in Hz."""
    for number in range(len(scenario.sources)):
        yield wavelets.dominant_frequency(wavelet_of(scenario, number), scenario.base)

"""Spectra of sources and traces: kinds and wavelets of a scenario's sources, and their peaks.

Spectra of traces are spectra of the wavelets, filtered by radiation, spreading and recording.

Far from a source of wavelet s(t) the motion is a time derivative of s: none for a pressure source,
the first for a force, the second for a moment (the first where s is a moment rate). Spreading from
a line, as in 2-D, is half an integration; plane waves are s itself. Displacement is an integral of
velocity; acceleration and the rate of strain are derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.locator import Locator
from seismo.acquisition.slip_rate import SlipRate
from seismo.acquisition.sources import PointSource
from seismo.equations.framework.table import Physics, SourceTerm
from seismo.errors import ModelError
from seismo.features import acting
from seismo.grid.coefficients import Spectra
from seismo.model.earth import Earth
from seismo.scenario import Scenario
from seismo.scenario.sections.sources import SOURCES, type_of
from seismo.scenario.sections.wavelet import Wavelet

_OWN_TYPES = frozenset(map(type_of, SOURCES))
MOST_SPECTRA = 16  # largest number of different wavelets that are evaluated
_BINS = 500
_NEGLIGIBLE = 1e-7  # of the energy, at either end
_OF_SOURCES = {"plane_wave": 0.0, "pressure": 0.0, "force": 1.0, "volume_rate": 1.0}
_OF_MOMENTS = 2.0
_OF_RECORDS = {"displacement": -1.0, "acceleration": 1.0, "strain_rate": 1.0}


@dataclass(frozen=True)
class SourceKind:
    """A type of source that a feature gives (hook `source_kind`).

    Attributes:
        type: in the scenario.
        locate: function(where positions of the grid are, section of the scenario, its number) ->
            the source in the grid, a `PointSource` or an object that `with_moments` turns into one.
        wavelet: function(section, folder of files) -> its wavelet.
        bound: function(section, folder of files) -> a wavelet with the frequencies of all
            directions, in any earth; None where that is its own.
    """

    type: str
    locate: Callable[[Locator, Any, int], Any]
    wavelet: Callable[[Any, Path | None], Any] = lambda source, base: source.wavelet
    bound: Callable[[Any, Path | None], wavelets.SourceWavelet] | None = None


def kinds_of(scenario: Scenario) -> dict[str, SourceKind]:
    """Return the kinds of sources that features give to a scenario, by their types."""
    return {kind.type: kind for kind in acting("source_kind", scenario)}


def kind_of(scenario: Scenario, source: Any) -> SourceKind | None:
    """Return the kind of a source that a feature gives; None of seismo's own types."""
    # Features look through all sources to see whether they apply, and there may be thousands.
    return None if source.type in _OWN_TYPES else kinds_of(scenario).get(source.type)


def wavelet_of(scenario: Scenario, number: int) -> Any:
    """Return the wavelet of a source of a scenario: its own, or that of its file.

    Raises:
        ScenarioError: a file is missing or malformed, or lacks it.
    """
    source = scenario.sources[number]
    key: tuple[str, ...] = ()
    try:
        wavelet: Any = _wavelet(source, scenario)
        key = ("wavelet",)
        wavelets.shape_of(wavelet, scenario.base)
    except ModelError as error:
        raise scenario.mistake("sources", number, *key, *error.key, problem=error.problem) from None
    return wavelet


def _wavelet(source: Any, scenario: Scenario) -> Wavelet | SlipRate | str:
    if source.type == "event":
        from seismo.acquisition.events import event_wavelet  # other sources need none

        return event_wavelet(source, scenario.base)
    kind = kind_of(scenario, source)
    return source.wavelet if kind is None else kind.wavelet(source, scenario.base)


def highest_frequency(scenario: Scenario, summaries: Iterable[PointSource] = ()) -> float:
    """Return the frequency in Hz above which all sources radiate less than 1 % of their peak.

    Args:
        scenario: of the run.
        summaries: its sources in the earth, where they are known: faults in all directions.
    """
    apparent = (wavelet for source in summaries for wavelet in source.apparent)
    highest = [wavelets.maximum_frequency(wavelet) for wavelet in apparent]
    for number, source in enumerate(scenario.sources):
        # Where the wavelet is the moment itself, its rate radiates.
        rate = getattr(source, "time_function", "moment_rate") == "moment"
        wavelet = wavelet_of(scenario, number)
        highest.append(wavelets.maximum_frequency(wavelet, scenario.base, rate=rate))
    return max(highest)


def frequency_bound(scenario: Scenario) -> float:
    """Return a frequency in Hz that the waves of no source exceed in any direction, in any earth.

    See `highest_frequency`; of a fault it is that of its subfaults together.
    """
    kinds = kinds_of(scenario)
    bounds = ((source, kinds[source.type].bound) for source in scenario.sources
              if source.type in kinds)  # fmt: skip
    rates = (bound(source, scenario.base) for source, bound in bounds if bound is not None)
    return max([highest_frequency(scenario), *map(wavelets.maximum_frequency, rates)])


def dominant_frequency(scenario: Scenario) -> float:
    """Return the lowest of the sources' dominant frequencies in Hz."""
    return min(dominant_frequencies(scenario))


def dominant_frequencies(scenario: Scenario) -> Iterator[float]:
    """Yield the dominant frequency of every source in Hz."""
    for number in range(len(scenario.sources)):
        yield wavelets.dominant_frequency(wavelet_of(scenario, number), scenario.base)


def derivatives_of(source: PointSource) -> float:
    """Return the order of the time derivative of the wavelet in the 3-D far field of a source."""
    return _OF_SOURCES.get(source.kind, _OF_MOMENTS) - source.derivative


def is_moment(source: PointSource) -> bool:
    """Return whether the wavelet of a source is its moment, which stays at its last value."""
    return source.derivative == 0 and source.kind not in _OF_SOURCES


def spectra_of(
    sources: Iterable[PointSource], quantities: Iterable[str], dimensions: int
) -> Spectra:
    """Return the spectra of the traces of point sources.

    Args:
        sources: of all shots.
        quantities: that are recorded; the highest frequencies count.
        dimensions: 2 or 3.
    """
    recorded_derivative = max((_OF_RECORDS.get(name, 0.0) for name in quantities), default=0.0)
    spreading = 0.5 if dimensions == 2 else 0.0
    kinds = {
        (
            wavelet,
            s.base,
            derivatives_of(s) + recorded_derivative - spreading * (s.kind != "plane_wave"),
            is_moment(s),
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
    wavelet: wavelets.SourceWavelet, base: Path | None, derivatives: float, rate: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies (n) in Hz and the share of the energy (n) up to each."""
    frequency, energy = wavelets.energy_spectrum(wavelet, derivatives, base, rate)
    total = np.cumsum(energy)
    return frequency, total / total[-1]


_SAMPLES = 257  # of a signal, to find its peak
_LATTICE = 0.25  # p / (h^2 s) where -laplacian p = s in a cell of a cubic lattice (2-D: .2 to .6)


def scale_to(number: float, power: int) -> float:
    """Return the power of two that brings a number to 2^(power - 1), or less than twice as much."""
    return 2.0 ** (power - math.frexp(number)[1])


def strain_rates(
    physics: Physics, earth: Earth, sources: Sequence[PointSource], cell: float, dt: float,
    end: float,
) -> np.ndarray:  # fmt: skip
    """Estimate the largest strain rates (source) in 1/s in the cells of the sources.

    A stress that changes by ds in every step spreads into a strain rate ds / (M dt), a velocity
    that changes by dv into dv / (c dt), with the smallest modulus M and its wave's velocity c.

    Args:
        physics: of elastic waves.
        earth: where the sources are.
        sources: of all shots.
        cell: volume of a cell in m^3 (2-D: area in m^2).
        dt: time step in s.
        end: of the last step in s; sources that begin later have none.
    """
    rock = earth.at(np.array([source.position for source in sources]), len(physics.axes))
    rho = rock["rho"]
    # Isotropic rock at each source: c11 = c33 = rho vp^2, c44 = rho vs^2.
    p = rho * rock.get("vp", rock["vs"]) ** 2  # SH waves have no vp
    s = rho * rock["vs"] ** 2
    known = {"rho": rho, **dict.fromkeys(("c11", "c22", "c33"), p),
             **dict.fromkeys(("c12", "c13", "c23"), p - 2.0 * s),
             **dict.fromkeys(("c44", "c55", "c66"), s),
             **dict.fromkeys(("root1", "root2", "root3"), np.sqrt(p))}  # fmt: skip
    medium = {name: known.get(name, 0.0 * rho) for name in physics.medium}  # lossless
    arrays = physics.coefficients(medium, dt)
    modulus = np.where(s > 0.0, s, p)
    largest = np.zeros(len(sources))
    for term, changes in _changes(physics, arrays, sources, dt, end):
        # Strain rate: stress rate over modulus, or acceleration over wave speed.
        resistance = modulus if term.field.startswith("s") else np.sqrt(modulus / rho)
        largest = np.maximum(largest, changes / (cell * resistance * dt))
    return largest


def pressures(
    physics: Physics, earth: Earth, sources: Sequence[PointSource], spacings: Sequence[float],
    dt: float, end: float,
) -> np.ndarray:  # fmt: skip
    """Estimate the largest pressures (source) in Pa in the cells of the sources.

    A source that varies slowly beside a cell holds -laplacian p = s up, in that cell alone.

    Args:
        physics: of acoustic waves of constant density.
        earth: where the sources are.
        sources: of all shots.
        spacings: of the grid in m.
        dt: time step in s.
        end: of the last step in s; sources that begin later have none.
    """
    rock = earth.at(np.array([source.position for source in sources]), len(physics.axes))
    arrays = physics.coefficients({name: rock[name] for name in physics.medium}, dt)
    cell = math.prod(spacings)
    compliance = _LATTICE * cell ** (2.0 / len(spacings)) / (arrays["k"] * cell)
    largest = np.zeros(len(sources))
    for _, changes in _changes(physics, arrays, sources, dt, end):
        largest = np.maximum(largest, compliance * changes)
    return largest


def _changes(
    physics: Physics, arrays: Mapping[str, np.ndarray], sources: Sequence[PointSource], dt: float,
    end: float,
) -> Iterator[tuple[SourceTerm, np.ndarray]]:  # fmt: skip
    """Yield how sources act, and the most (source) that each adds in a step, times the cell.

    Args:
        physics: the equation.
        arrays: model arrays (source).
        sources: of all shots.
        dt: time step in s.
        end: of the last step in s; sources that begin later add nothing.
    """
    signals: dict[tuple[int, int, int], float] = {}
    acts = np.array([source.start < end for source in sources])

    def mean(name: str, of_component: bool = False) -> np.ndarray:
        return arrays[name]

    for kind in {source.kind for source in sources}:
        for term in physics.drives[kind]:
            peaks = [
                _peak(source, term, signals) if source.kind == kind else 0.0 for source in sources
            ]
            yield term, acts * np.abs(term.scale(mean, dt)) * np.array(peaks)


def _peak(source: PointSource, term: SourceTerm, known: dict[tuple[int, int, int], float]) -> float:
    """Return the largest magnitude of strength times signal; peaks of signals are kept."""
    strength = abs(source.strength.get(term.component, 0.0))
    # Peak of each signal, found once.
    key = id(source.wavelet), source.derivative, term.derivative
    if strength and key not in known:
        times = np.linspace(source.start, source.end, _SAMPLES)
        known[key] = float(np.abs(source.signal(times, term.derivative)).max())
    return strength and strength * known[key]

"""Errors of peak maps and snapshots by time stepping, which is removed from traces only.

A wave of true spectrum U(f) that has travelled for a time T is, on a grid of time step dt,

    u(T + t) = integral U(f) exp(2 pi i [g t + (g - f) T]) dg,      f = sin(pi g dt) / (pi dt)

(`seismo.acquisition.time_dispersion`): short waves come too early, and the peak changes. Its phase
follows from dimensions, wavelet and reflections; the root mean square of a symmetric pulse and its
Hilbert transform is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from seismo.acquisition.spectra import spectra_of
from seismo.grid.coefficients import Spectra
from seismo.runs.prediction.lines import WarningLines, in_percent
from seismo.scenario.units import with_unit
from seismo.solver.accuracy.waves import longest_path
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.output_sets import MapQuantity, PeakMapSet

_HIGHEST = 0.85  # of 2 / dt: frequencies, times pi, above which transforms fade, too
_PERIODS = 8  # of the mean frequency, that the window of a pulse is long
_SAMPLES = 16  # of the highest frequency's period
_LONGEST = 400.0  # periods of the highest frequency in the window
_BISECTIONS = 12
_PICTURE = 0.1  # least error of snapshots that is reported
_ROUNDED = 0.97  # so that two digits are short enough
_SHORTEST = 0.05  # of the time step of a run, down to which a remedy is sought


def kept_dispersion(discretization: Discretization) -> WarningLines:
    """Name maps whose peaks, and snapshots whose waves, time stepping changes."""
    if discretization.waves.dt:
        return  # traces keep the error as well: it is part of their expected error
    if discretization.all_maps or discretization.scenario.output.snapshots:
        travelled = _travel_time(discretization)
        yield from _of_maps(discretization, travelled)
        yield from _of_snapshots(discretization, travelled)


def peak_change(spectra: Spectra, dt: float, travelled: float) -> float:
    """Return the relative change of the largest value of a wave by time stepping, the worst.

    Args:
        spectra: of the waves.
        dt: time step in s.
        travelled: for how long they have travelled in s.
    """
    frequency = spectra.frequency
    amplitude = np.sqrt(spectra.energy / np.gradient(frequency))
    highest = min(float(frequency[-1]), _HIGHEST / (math.pi * dt))
    mean = math.sqrt(float((spectra.energy @ frequency**2).min()))
    # The advance at the highest frequency, and the pulse itself.
    early = 1.0 - math.sqrt(1.0 - (math.pi * highest * dt) ** 2)
    window = min(2.0 * travelled * early + _PERIODS / mean, _LONGEST / highest)
    # Both waves have the frequencies up to the highest, which is larger on the grid.
    last = math.asin(math.pi * highest * dt) / (math.pi * dt)
    grid_frequency = np.arange(1, math.ceil(last * window)) / window
    count = _SAMPLES * (grid_frequency.size + 1)
    changes = []
    for density in amplitude:
        size = []
        for step in (0.0, dt):
            true = np.sinc(grid_frequency * step) * grid_frequency
            at = np.interp(true, frequency, density, left=0.0, right=0.0)
            at[true > highest] = 0.0
            phase = 2.0 * math.pi * (grid_frequency - true) * travelled
            wave = np.fft.ifft(np.append(0.0, at * np.exp(1j * phase)), count)
            size.append([np.abs(wave.real).max(), np.abs(wave.imag).max()])
        changes.append(np.array(size[1]) / size[0] - 1.0)
    return float(np.sqrt(np.mean(np.square(changes), axis=1)).max())


def _of_maps(discretization: Discretization, travelled: float) -> Iterator[str]:
    wanted = discretization.scenario.grid.accuracy
    for maps in discretization.all_maps:
        spectra = {q.name: _spectra(discretization, maps, q) for q in maps.quantities}
        changes = {
            n: peak_change(s, discretization.clock.dt, travelled) for n, s in spectra.items()
        }
        worst = max(changes, key=lambda name: changes[name])
        if changes[worst] <= wanted:
            continue
        low = _SHORTEST
        high = 1.0
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if peak_change(spectra[worst], middle * discretization.clock.dt, travelled) <= wanted:
                low = middle
            else:
                high = middle
        yield (
            f"maps {maps.name}: time stepping changes peaks ({worst}) of waves that have travelled "
            f"{travelled:.3g} s by about {in_percent(changes[worst])}, as its error is "
            f"removed from traces only; for {in_percent(wanted)} set "
            f"{_remedy(discretization, low)}, or record traces"
        )


def _of_snapshots(discretization: Discretization, travelled: float) -> Iterator[str]:
    spectra = _motion(discretization, "velocity")
    for entry in discretization.scenario.output.snapshots:
        time = min(
            travelled, discretization.scenario.time.duration if entry.stop is None else entry.stop
        )
        true = np.minimum(spectra.frequency, _HIGHEST / (math.pi * discretization.clock.dt))
        grid_frequency = np.arcsin(math.pi * true * discretization.clock.dt) / (
            math.pi * discretization.clock.dt
        )
        error = spectra.error(2.0 * math.pi * (grid_frequency - true) * time)
        if error > _PICTURE:
            yield (
                f"snapshots {entry.name}: waves that have travelled {time:.3g} s err by about "
                f"{in_percent(min(error, 1.0))} of their size, as they are ahead: the error of "
                "time stepping is removed from traces only; for "
                f"{in_percent(_PICTURE)} set "
                f"{_remedy(discretization, math.sqrt(_PICTURE / error))}, or record traces"
            )


def _remedy(discretization: Discretization, share: float) -> str:
    """Name the key of the time step, and its value for such a share of the step."""
    dt = _ROUNDED * share * discretization.clock.dt
    if discretization.scenario.time.step is not None:
        return f"time.step to about {with_unit(float(f'{dt:.2g}'), 's')}"
    return f"time.courant to about {dt / discretization.clock.limit:.2g}"


def _spectra(discretization: Discretization, maps: PeakMapSet, quantity: MapQuantity) -> Spectra:
    """Return the spectra of the quantity whose peaks a map shows."""
    motion = _motion(
        discretization, "acceleration" if quantity.follows_acceleration else "velocity"
    )
    if quantity.period is None:
        return motion
    # Oscillators answer by 1 / (1 - r^2 + 2 i damping r), r the ratio of frequencies.
    ratio = motion.frequency * quantity.period
    answer = 1.0 / np.abs(1.0 - ratio**2 + 2j * maps.damping * ratio) ** 2
    energy = motion.energy * answer
    return Spectra(motion.frequency, energy / energy.sum(axis=1, keepdims=True))


def _motion(discretization: Discretization, quantity: str) -> Spectra:
    radiating = (source for shot in discretization.shots for source in shot.summaries)
    return spectra_of(radiating, {quantity}, discretization.grid.dimensions)


def _travel_time(discretization: Discretization) -> float:
    """Return for how long in s waves of the run travel at most, up to the farthest corner."""
    sources = [source for shot in discretization.shots for source in shot.sources]
    farthest = longest_path(discretization.grid, sources, (), everywhere=True)
    longest = discretization.waves.longest
    duration = discretization.scenario.time.duration
    # Through media that are crossed straight to the farthest receiver: straight to the corner.
    times = [
        (p.distance if p.distance < min(longest, p.velocity * duration) else farthest) / p.velocity
        for p in discretization.waves.passages
    ]  # fmt: skip
    return min(max(times), duration)

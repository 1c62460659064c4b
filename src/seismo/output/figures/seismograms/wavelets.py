"""The source time functions as a run injects them, and their amplitude spectra."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from seismo.errors import ScenarioError
from seismo.output.figures.seismograms.spectra import (
    amplitude_spectrum,
    highest_frequency,
    limit_axes,
)
from seismo.output.figures.style import (
    COLOURS,
    WIDTH,
    amplitude_label,
    entitle,
    panels,
    quiet_frame,
    styled,
)
from seismo.output.reports.source_facts import described
from seismo.output.results import Results

_MOST = 8  # sources drawn
_MOST_DESCRIBED = 3  # sources whose depths and sizes stand beside their names
_END = 1e-3  # of the largest sample: a wavelet that stays below has ended


@styled
def wavelets(results: Results) -> Figure:
    """Draw the time functions of the sources on the left, their spectra on the right.

    Args:
        results: the results file.

    Raises:
        ScenarioError: the file holds no wavelets.
    """
    injected = results.wavelets
    if injected is None or len(injected.time) < 2:
        raise ScenarioError(f"{results.path}: holds no wavelets")
    time = injected.time
    samples = np.asarray(injected.samples, np.float64)
    # Sources of one time function are drawn once.
    _, first = np.unique(samples, axis=0, return_index=True)
    shown = np.sort(first)[:_MOST]
    samples = samples[shown]
    names = [injected.names[n] for n in shown]
    labels = names
    if len(injected.names) == len(names) <= _MOST_DESCRIBED:
        facts = {source.get("name"): described(source) for source in results.sources}
        labels = ["\n".join([n, *facts.get(n, "").split(", ")]).rstrip() for n in names]
    figure, ((pulse, spectrum),) = panels(1, 2, 3.2, width=WIDTH * 1.1)
    largest = np.abs(samples).max()
    factor, label = amplitude_label("wavelet", injected.unit("wavelet"), largest)
    frequency, amplitude = amplitude_spectrum(time, samples)
    top = amplitude.max()
    for n, description in enumerate(labels):
        colour = COLOURS[n % len(COLOURS)]
        pulse.plot(time, factor * samples[n], color=colour, label=description)
        spectrum.loglog(frequency[1:], amplitude[n, 1:] / top, color=colour)
    moving = np.flatnonzero((np.abs(samples) > _END * largest).any(0))
    last = time[min(moving[-1] + moving.size // 10 + 1, time.size - 1)] if moving.size else time[-1]
    pulse.set(xlabel="time (s)", ylabel=label, xlim=(0.0, last))
    # As many ticks whatever the layout: wider labels would make it ask for others, and so on.
    pulse.locator_params(axis="y", nbins=6)
    highest = highest_frequency(results)
    limit_axes(spectrum, frequency, 1.0, highest)
    spectrum.set(xlabel="frequency (Hz)", ylabel="amplitude / largest")
    if highest:
        spectrum.axvline(highest, color="0.3", linewidth=0.7, linestyle=":")
    for panel in (pulse, spectrum):
        panel.grid(which="major", color="0.9", linewidth=0.5)
        quiet_frame(panel)
    if len(names) > 1 or labels != names:
        pulse.legend(fontsize=7)
    entitle(figure, results, "wavelets")
    return figure

"""Depths, distances and frequencies at which traces of a layered earth are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup, paths_of
from seismo.runs.prediction.contacts.stack_network import RadiatingSource
from seismo.solver.discretization import Discretization

# Edges of bands of the energy, by frequency; of plane waves alone, of a wavenumber each, which ring
# in layers at single frequencies.
_PLANE_BANDS = np.append(np.linspace(0.0, 0.99, 100), [0.995, 0.9995])
_BANDS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.97, 0.995, 0.9995)
_DISTANCES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # quantiles of a set of receivers
_MOST_ENDS = 200  # sources, and receivers, between which distances are sought
_LEAST_POINTS = 2.8  # in the slowest wave: shorter ones are lost anyhow
STRAINS = {"strain_rate", "strain", "stress"}
_ALONE = ({"pressure"}, STRAINS)  # whose own squares count where nothing else is recorded


@dataclass(frozen=True)
class TraceEnds:
    """Where traces are evaluated: at all depths, in all distances of each.

    Attributes:
        depths: m.
        distances: horizontal ones from sources in m; in 2-D along x, with their sign.
        recorded: number of what is recorded: 0 motion, 1 pressure alone, 2 strains alone.
    """

    depths: np.ndarray
    distances: np.ndarray
    recorded: int


def everywhere(discretization: Discretization) -> TraceEnds:
    """Return the surface, or the top, as far as anything is from a source."""
    top = np.array(discretization.grid.origin[2:3])
    return TraceEnds(top, discretization.waves.longest * np.array(_DISTANCES), 0)


def ends_of(discretization: Discretization, group: ReceiverGroup) -> TraceEnds:
    """Return a sample of depths of receivers, and of their distances from sources."""
    depths = np.unique(group.all_positions[:, 2])
    sources = np.array(
        [source.position for shot in discretization.shots for source in shot.sources]
    )
    paths = [
        (reading[None] - acting[:, None]).reshape(-1, 3)
        for acting, reading in (
            (ends[:: -(-len(ends) // _MOST_ENDS)] for ends in pair)
            for pair in paths_of(sources, [group])
        )
    ]
    every = np.concatenate(paths or [np.zeros((1, 3))])
    distances = (
        every[:, 0] if discretization.grid.dimensions == 2 else np.hypot(every[:, 0], every[:, 1])
    )
    rank = np.argsort(np.abs(distances), kind="stable")
    chosen = np.unique(np.round(np.array(_DISTANCES) * (len(rank) - 1)).astype(int))
    return TraceEnds(
        depths[np.unique([0, len(depths) // 2, len(depths) - 1])],
        np.unique(distances[rank[chosen]]),
        next((n for n, names in enumerate(_ALONE, 1) if set(group.quantities) <= names), 0),
    )


def sampled_frequencies(
    discretization: Discretization, slowest: float, sources: Sequence[RadiatingSource]
) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies in Hz and their shares of the energy, as far as the grid carries them.

    Args:
        discretization: of the run.
        slowest: velocity in m/s of the slowest wave that is evaluated.
        sources: of the waves.
    """
    is_plane = all(source.slowness is not None for source in sources)
    bands = _PLANE_BANDS if is_plane else np.array(_BANDS)
    spectra = discretization.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    frequencies = np.interp(0.5 * (bands[1:] + bands[:-1]), below, spectra.frequency)
    carried = frequencies * _LEAST_POINTS * discretization.grid.spacing[2] < slowest
    return frequencies[carried], np.diff(bands)[carried]

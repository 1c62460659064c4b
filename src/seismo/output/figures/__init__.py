"""Figures from results files: each a kind that `draw` knows by name (`KINDS`)."""

from __future__ import annotations

from seismo.output.figures.choice import (
    EmptyFigureError,
    UnusedOptionError,
    alternatives,
    too_short,
)
from seismo.output.figures.kinds import KINDS, FigureKind, draw, figure_of, picture_name, shared
from seismo.output.figures.maps.peaks import peaks
from seismo.output.figures.sections.model import model
from seismo.output.figures.sections.movie import movie
from seismo.output.figures.sections.snapshot import snapshot
from seismo.output.figures.seismograms.gather import gather
from seismo.output.figures.seismograms.spectra import spectra
from seismo.output.figures.seismograms.traces import traces
from seismo.output.figures.telemetry import telemetry

__all__ = [
    "KINDS",
    "EmptyFigureError",
    "FigureKind",
    "UnusedOptionError",
    "alternatives",
    "draw",
    "figure_of",
    "gather",
    "model",
    "movie",
    "peaks",
    "picture_name",
    "shared",
    "snapshot",
    "spectra",
    "telemetry",
    "too_short",
    "traces",
]

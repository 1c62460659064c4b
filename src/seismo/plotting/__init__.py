"""Figures from results files: each a kind that `draw` knows by name (`KINDS`)."""

from __future__ import annotations

from seismo.plotting.choice import EmptyFigureError, alternatives, too_short
from seismo.plotting.gather import gather
from seismo.plotting.kinds import KINDS, Kind, draw, picture_name, shared
from seismo.plotting.model import model
from seismo.plotting.movie import movie
from seismo.plotting.peaks import peaks
from seismo.plotting.snapshot import snapshot
from seismo.plotting.spectra import spectra
from seismo.plotting.telemetry import telemetry
from seismo.plotting.traces import traces

__all__ = [
    "KINDS",
    "EmptyFigureError",
    "Kind",
    "alternatives",
    "draw",
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

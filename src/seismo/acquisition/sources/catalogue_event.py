"""An earthquake as catalogues describe it: a moment tensor, its origins and its duration.

A hypocentre is where and when a rupture began, a centroid where and when its moment was released
on average. The half duration of catalogues is that of a triangle.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from seismo.acquisition.sources.moment_tensor import magnitude_of, scalar_moment
from seismo.errors import ModelError

MOST_APART = 0.5  # of magnitude: moments in another unit are 4.7 off


@dataclass(frozen=True)
class EventOrigin:
    """Where and when: degrees, or m to east and north of a projection; m below the surface; UTC."""

    longitude: float
    latitude: float
    depth: float
    time: datetime


@dataclass(frozen=True)
class EventProblem:
    """An event that cannot act, and what it lacks."""

    id: str
    problem: ModelError


@dataclass(frozen=True, eq=False)
class CatalogueEvent:
    """One event of a file.

    Attributes:
        id: in its catalogue.
        tensor: moment tensor (3, 3) N m in north, east, down.
        hypocentre: None where only the centroid is known.
        centroid: None where only the hypocentre is known; one of both is.
        half_duration: s, or None.
        magnitude: that the file says beside the tensor, or None.
    """

    id: str
    tensor: np.ndarray
    hypocentre: EventOrigin | None
    centroid: EventOrigin | None
    half_duration: float | None
    magnitude: float | None = None

    def origin(self, kind: str) -> tuple[EventOrigin, bool]:
        """Return the centroid or hypocentre, the other one where it lacks, and if a centroid."""
        centroid = self.centroid is not None and (kind == "centroid" or self.hypocentre is None)
        origin = self.centroid if centroid else self.hypocentre
        assert origin is not None  # one of both is known
        return origin, centroid

    @property
    def usual_half_duration(self) -> float:
        """Return the half duration in s that follows the moment in the GCMT catalogue."""
        return half_duration_of_moment(scalar_moment(self.tensor))

    @property
    def contradiction(self) -> str:
        """Return what magnitude of the file does not fit its tensor, "" where none."""
        moment = scalar_moment(self.tensor)
        size = magnitude_of(moment)
        if self.magnitude is None or abs(size - self.magnitude) <= MOST_APART:
            return ""
        return (
            f"the moment tensor, {moment:.2g} N m, is of magnitude {size:.1f}, and the magnitude "
            f"beside it {self.magnitude:.1f}"
        )


def half_duration_of_moment(moment: float) -> float:
    """Return the half duration in s that the GCMT catalogue takes for a moment in N m.

    Literature: Ekstrom, Nettles & Dziewonski (2012, PEPI 200-201, 1-9), M0 in dyn cm.
    """
    return float(1.05e-8 * (moment * 1e7) ** (1.0 / 3.0))

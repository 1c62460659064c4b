"""Where a finite fault is: its hypocentre, and the distances of ground-motion models from it.

Each subfault is a square of its area about its centre c, with the unit vectors s along the strike
and d down the dip, and the half side h. With r = p - c the point p is

    R^2 = e(r s)^2 + e(r d)^2 + (r s x d)^2,  e(u) = max(0, |u| - h)

from it, and the distance from the surface projection has h cos(dip) across the strike. R_rup is the
least R over all that slips, R_JB the least distance from the surface projection, and R_hyp that
from the hypocentre, the centre of the subfault that slips first (Abrahamson & Shedlock 1997).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_BLOCK = 1 << 20  # of receiver times subfault at once


@dataclass(frozen=True, eq=False)
class FaultGeometry:
    """The subfaults that slip.

    Attributes:
        centres: x, y, z (slip, 3) m.
        strikes: directions (slip) from +x towards +y in rad.
        dips: (slip) rad.
        areas: (slip) m2.
        onsets: (slip) s.
    """

    centres: np.ndarray
    strikes: np.ndarray
    dips: np.ndarray
    areas: np.ndarray
    onsets: np.ndarray

    @property
    def hypocentre(self) -> np.ndarray:
        """X, y, z in m of the centre of the subfault that slips first."""
        centre: np.ndarray = self.centres[int(np.argmin(self.onsets))]
        return centre

    def distances(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """Return r_hyp, r_rup and r_jb (point) in m of points (point, 3) m."""
        points = np.asarray(points, float)
        count = max(1, _BLOCK // len(self.areas))
        blocks = [self._least(points[n : n + count]) for n in range(0, len(points), count)]
        rupture, projection = np.concatenate(blocks, axis=1)
        return {
            "r_hyp": np.linalg.norm(points - self.hypocentre, axis=1),
            "r_rup": rupture,
            "r_jb": projection,
        }

    def _least(self, points: np.ndarray) -> np.ndarray:
        """Return the least distances (2, point) from the squares and their projections."""
        half = 0.5 * np.sqrt(self.areas)
        cosine = np.cos(self.strikes)
        sine = np.sin(self.strikes)
        x, y, z = np.moveaxis(points[:, None] - self.centres, -1, 0)
        along = _beyond(x * cosine + y * sine, half)
        across = y * cosine - x * sine
        flat = np.cos(self.dips)
        steep = np.sin(self.dips)
        down = _beyond(across * flat + z * steep, half)
        off = across * steep - z * flat
        rupture = np.sqrt(along**2 + down**2 + off**2).min(axis=1)
        projection = np.hypot(along, _beyond(across, half * flat)).min(axis=1)
        return np.array([rupture, projection])


def _beyond(offset: np.ndarray, half: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, np.abs(offset) - half)

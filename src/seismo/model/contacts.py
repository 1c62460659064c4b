"""Contacts of an earth that varies with depth only: their depths, and slip contacts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.grid.grid import Grid
from seismo.model.earth import Earth

ON_CONTACT = 1e-6  # cells: so near to a contact is on it
_SAMPLES = 8  # per cell
_JUMP = 0.02  # relative change within a sample that counts as a contact
_BISECTIONS = 30
_INFINITE = {name for name, known in PARAMETERS.items() if math.isinf(known.limits[1])}
_ROUNDING = 1e3  # Pa, of constants of rock that has been turned


class SlipContact(Protocol):
    """A level contact of fluid and solid, along which they slip on each other."""

    @property
    def row(self) -> int:
        """The node row whose cell it cuts."""

    @property
    def closed(self) -> bool:
        """Whether the rows about it have one-sided differences."""

    @property
    def z_index(self) -> float:
        """Where it is, in rows."""

    @property
    def half(self) -> int:
        """The half row between the last row above it and the first row below."""

    @property
    def solid_above(self) -> bool:
        """Whether the solid lies above the fluid."""


@dataclass(frozen=True)
class SlipContacts:
    """The level contacts of an earth along which media slip on each other, from the top.

    Attributes:
        every: all of them.
        corrected: contacts whose rows are corrected.
    """

    every: Sequence[SlipContact] = ()
    corrected: Sequence[SlipContact] = ()


def below(contact: SlipContact, z_index: float) -> bool:
    """Whether a place, in rows, is of the medium below a contact."""
    if abs(z_index - contact.z_index) <= ON_CONTACT:
        return not contact.solid_above
    return z_index > contact.z_index


def contact_depths(earth: Earth, grid: Grid) -> np.ndarray:
    """Return the depths (n) in m where a medium ends suddenly, from the top."""
    first = grid.low[2]
    last = grid.points[2] - 1 - grid.high[2]
    z = grid.coordinate("z", np.arange(first, last, 1.0 / _SAMPLES) + 1.0 / (3 * _SAMPLES))
    profiles = _profiles(earth, z)
    units = [PARAMETERS[n].unit if n in PARAMETERS else "" for n in earth.needs]
    least = np.array([_ROUNDING if unit == "Pa" else 1e-9 for unit in units])
    either = np.abs(profiles)
    change = np.abs(np.diff(profiles, axis=1)) / np.maximum(
        np.maximum(either[:, 1:], either[:, :-1]), least[:, None]
    )
    jumps = np.flatnonzero((change > _JUMP).any(axis=0))
    low = z[jumps]
    high = z[jumps + 1]
    above = profiles[:, jumps]
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        at_middle = _profiles(earth, middle)
        nearer = (np.abs(at_middle - above) <= 0.5 * np.abs(profiles[:, jumps + 1] - above)).all(
            axis=0
        )
        low = np.where(nearer, middle, low)
        high = np.where(nearer, high, middle)
    return 0.5 * (low + high)


def _profiles(earth: Earth, z: np.ndarray) -> np.ndarray:
    """Return the parameters (name, depth); the inverse of parameters that may be infinite."""
    samples = earth.sample(z, None)
    return np.array(
        [1.0 / samples[name] if name in _INFINITE else samples[name] for name in earth.needs]
    )

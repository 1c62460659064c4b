"""Level contacts of fluids and solids, which slip along each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

ON_CONTACT = 1e-6  # cells: so near to a contact is on it


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

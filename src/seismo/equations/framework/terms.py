"""Shares of fields that make an observable, and of sources that act on a field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A share of an observable or of a source: factor * field, differentiated along `along`."""

    field: str
    factor: float = 1.0
    along: str = ""


@dataclass(frozen=True)
class SourceTerm:
    """How a source acts on one field: field += scale * component * signal / cell volume.

    Attributes:
        field: the field it adds to, in the stage that writes it first.
        component: which number of the mechanism: "x" of a force, "xz" of a moment tensor, "".
        scale: function(mean, dt) -> factor per point, where mean(name) is the coefficient averaged
            to the field's points; mean(name, of_component=True) that for its axis, where
            planes have it.
        derivative: time derivative of the source's moment (or force, or amplitude) that acts;
            -1 is its integral.
        rate: w in rad/s, with which the signal s relaxes: xi of dxi/dt + w xi = w s acts in its
            place; 0 where it acts itself.
    """

    field: str
    component: str
    scale: Callable
    derivative: int = 0
    rate: float = 0.0

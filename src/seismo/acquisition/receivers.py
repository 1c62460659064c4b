"""Receiver sets: positions and recorded quantities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.acquisition.fibre import Fibre
from seismo.equations.table import FOLLOWING, Physics, Term

UNITS = {
    "velocity": "m/s", "displacement": "m", "acceleration": "m/s^2", "pressure": "Pa",
    "stress": "Pa", "divergence": "1/s", "rotation": "rad/s", "strain_rate": "1/s", "strain": "1",
}  # fmt: skip
_BASES = {name: base for base, names in FOLLOWING.items() for name in names}
_MOTIONS = {"displacement": "u", "acceleration": "a"}  # letter instead of the v of velocity


def unit_of(quantity: str, physics: Physics) -> str:
    """Return the SI unit of a quantity that an equation records."""
    if quantity in UNITS:
        return UNITS[quantity]
    term = next(iter(physics.observables[quantity].values()))[0]
    return physics.named(term.field).unit + "/m" * bool(term.along)


def _name(quantity: str, component: str) -> str:
    """Return what a base component is called as a part of a quantity: vx is ux of displacement."""
    if quantity in _MOTIONS:
        return _MOTIONS[quantity] + component[1:]
    return component.removesuffix("_rate") if quantity == "strain" else component


@dataclass(frozen=True)
class ReceiverGroup:
    """The receivers of one set.

    Attributes:
        name: of the set.
        codes: one for each receiver.
        positions: (receivers, 3) x, y, z in m.
        quantities: what to record.
        interval: sampling interval in s, None for every step.
        elevations: what its station list calls them, which are not used; "" without.
        fibre: whose channels the receivers are, or None.
    """

    name: str
    codes: tuple[str, ...]
    positions: np.ndarray
    quantities: tuple[str, ...]
    interval: float | None
    elevations: str = ""
    fibre: Fibre | None = None

    @property
    def read_positions(self) -> np.ndarray:
        """Positions (n, 3) in m that fields are read at."""
        return self.positions if self.fibre is None else np.concatenate(self.fibre.ends)

    def components(self, physics: Physics) -> dict[str, tuple[str, str, str]]:
        """Return each component's quantity, the base quantity recorded and the base component."""
        components = {}
        for quantity in self.quantities:
            base = _BASES.get(quantity, quantity)
            for component in (base,) if self.fibre else physics.observables[base]:
                components[_name(quantity, component)] = (quantity, base, component)
        return components

    def terms(self, physics: Physics, base: str, component: str) -> tuple[Term, ...]:
        """Return what is read for a base component: along a fibre, all components of velocity."""
        if self.fibre is None:
            return physics.observables[base][component]
        return tuple(term for terms in physics.observables["velocity"].values() for term in terms)

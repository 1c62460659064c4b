"""Receiver sets: positions and recorded quantities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.equations.table import Physics

UNITS = {
    "velocity": "m/s", "displacement": "m", "acceleration": "m/s^2", "pressure": "Pa",
    "stress": "Pa", "divergence": "1/s", "rotation": "rad/s",
}  # fmt: skip
MOTIONS = {"displacement": "u", "acceleration": "a"}  # derived from velocity: prefix


def unit_of(quantity: str, physics: Physics) -> str:
    """Return the SI unit of a quantity that an equation records."""
    if quantity in UNITS:
        return UNITS[quantity]
    term = next(iter(physics.observables[quantity].values()))[0]
    return physics.named(term.field).unit + "/m" * bool(term.along)


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
    """

    name: str
    codes: tuple[str, ...]
    positions: np.ndarray
    quantities: tuple[str, ...]
    interval: float | None
    elevations: str = ""

    def components(self, physics: Physics) -> dict[str, tuple[str, str, str]]:
        """Return each component's quantity, the base quantity recorded and the base component."""
        components = {}
        for quantity in self.quantities:
            base = "velocity" if quantity in MOTIONS else quantity
            for component in physics.observables[base]:
                name = (
                    MOTIONS.get(quantity, "v") + component[1:] if base == "velocity" else component
                )
                components[name] = (quantity, base, component)
        return components

"""Damping of the fields in absorbing layers, which ends the growth of waves that a medium guides.

It begins, and grows, at steps of the run: until then such waves are harmless, and layers reflect
less. `seismo.features.guided_waves.guides` asks for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# The p beside beds up to an ordinary contrast, and beside stacks of a column, where alpha keeps as
# much as it can: p up to `BEDS_HARMLESS` steps with up to so many points of a layer.
BESIDE_BEDS = 0.015
EARLY_OF_STACKS = 0.002
OUTER = 0.9  # depth u in a layer from which on that of beds apart acts, up to `HARMLESS` steps
BEDS_HARMLESS = 1500
LATE_OF_BEDS = 0.02  # p beside beds apart, everywhere in a layer, from `HARMLESS` steps on
BEDS_POINTS = 14
HARMLESS = 3000  # steps in which waves of ground grow to 1 % of the peak at most,
HARMLESS_RISE = 60.0  # up to that contrast,
HARMLESS_POINTS = 24  # and so many points of a layer


@dataclass(frozen=True)
class LayerDamping:
    """How much the fields of the absorbing layers are damped, as shares p of their own d.

    Attributes:
        early: p before steps `onset` and `onset_of_beds`.
        beds: p from `onset_of_beds` on.
        late: p from `onset` on.
        outer: whether p before `onset` acts from `OUTER` of a layer's depth on.
        shift: share of the alpha that ends growth which layers have before `onset`, where `outer`.
        rise: contrast of the ground, as `HARMLESS_RISE`.
        averaged: whether layers at the sides have means of their columns
            (`seismo.features.guided_waves.side_layers`).
        jump: mean jump of the logarithm of the modulus down a column of beds, from node to node,
            without turns that guide nothing that grows.
        points: of a layer.
        rocks: the p that anisotropic rocks ask for by themselves.
        advised: the p of a medium whose run has another p.
    """

    early: float = 0.0
    late: float = 0.0
    beds: float = 0.0
    outer: bool = False
    rise: float = 1.0
    points: int = 1
    rocks: float = 0.0
    advised: float = 0.0
    averaged: bool = False
    jump: float = 0.0
    shift: float = 1.0

    def replaced(self, share: float | None, steps: int) -> LayerDamping:
        """Return a constant p instead, for a run of so many steps; itself where that is None.

        With a p of 0 layers are perfectly matched, and have no means either.
        """
        if share is None:
            return self
        advised = self.phases(steps)[-1][1]
        if share == 0.0:
            return LayerDamping(advised=advised)
        return LayerDamping(
            share, share, share, advised=advised, averaged=self.averaged, jump=self.jump
        )

    def at_least(self, share: float) -> LayerDamping:
        """Return the same with a p of so much from the first step on."""
        early, beds, late = (max(p, share) for p in (self.early, self.beds, self.late))
        return replace(self, early=early, beds=beds, late=late)

    @property
    def onset(self) -> int:
        """The step up to which growth in ground is harmless."""
        share = math.sqrt(min(1.0, HARMLESS_RISE / self.rise))
        return round(HARMLESS * share * min(1.0, HARMLESS_POINTS / self.points))

    @property
    def onset_of_beds(self) -> int:
        """The step up to which growth beside beds of a column is harmless."""
        return round(BEDS_HARMLESS * min(1.0, BEDS_POINTS / self.points))

    def phases(self, steps: int) -> tuple[tuple[int, float], ...]:
        """Return the first step and the p of each part of a run of so many steps."""
        phases = [(0, self.early)]
        for first, share in ((self.onset_of_beds, self.beds), (self.onset, self.late)):
            more = share > phases[-1][1] or self.acts_from(phases[-1][1]) > self.acts_from(share)
            if first < steps and more:
                phases.append((first, share))
        return tuple(phases)

    def acts_from(self, share: float) -> float:
        """Return the depth in a layer (0 to 1) from which on it has this p."""
        return OUTER if self._is_outer(share) else 0.0

    def shift_at(self, share: float) -> float:
        """Return the share of the alpha that ends growth which a layer with this p has."""
        if self.outer:
            return self.shift if self._is_outer(share) else 1.0
        of_all = EARLY_OF_STACKS if self.beds > self.rocks else BESIDE_BEDS
        return min(1.0, share / of_all)

    def _is_outer(self, share: float) -> bool:
        """Whether this p, of a time before `onset`, acts in the outer part alone."""
        return self.outer and share in (self.early, self.beds) and share != self.late

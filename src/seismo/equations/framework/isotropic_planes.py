"""Planes z whose medium is so even that a stage's formula takes fewer arrays there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class IsotropicPlanes:
    """A stage's formula for planes z whose medium fewer coefficients tell.

    Attributes:
        update: as that of the stage.
        coefficients: model arrays it uses.
        where: function(medium) -> where the medium is such.
        asks: averages at the nodes that `where` takes beside those of the equation.
        of_density: whether it asks for densities alone, and for those of the next plane, too, since
            they stand between.
        everywhere: function(extremes) -> whether it is throughout an earth of those
            (`seismo.model.extremes.Extremes`).
        simple: function(samples of the parameters) -> which media are such; all when None.
    """

    update: Callable
    coefficients: tuple[str, ...]
    where: Callable
    everywhere: Callable
    asks: tuple[str, ...] = ()
    of_density: bool = False
    simple: Callable | None = None

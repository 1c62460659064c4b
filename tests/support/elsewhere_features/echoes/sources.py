"""Echoes of the sources of a shot."""

from collections.abc import Sequence
from dataclasses import replace

from seismo.features.echoes.section import section_of

from seismo.acquisition.sources import PointSource, Shot
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver


class Echoes(AddedLaunches):
    """The echoes of a run, which act as point sources do."""

    def __init__(self, delay: float, share: float) -> None:
        """Keep the delay in s and the share of the strength."""
        self._delay = delay
        self._share = share

    def point_sources(self, shot: Shot) -> Sequence[PointSource]:
        """Return the echo of each source."""
        return [self._echo(source) for source in shot.points]

    def _echo(self, source: PointSource) -> PointSource:
        strength = {axis: self._share * number for axis, number in source.strength.items()}
        return replace(source, delay=source.delay + self._delay, strength=strength)


def launches(solver: SubdomainSolver, medium: object) -> list[AddedLaunches]:
    """Return the echoes that a subdomain adds."""
    echo = section_of(solver.discretization.scenario)
    return [Echoes(echo.delay, echo.share)]

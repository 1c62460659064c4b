"""What `check` says of the periods of maps of spectral acceleration."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.solver.discretization import Discretization
from seismo.solver.sampling.map_quantities import maps_of


def unlike_the_motion(discretization: Discretization) -> Iterator[str]:
    """Name periods that are shorter than the sources' waves, or longer than the run."""
    highest = discretization.highest_frequency
    duration = discretization.clock.steps * discretization.clock.dt
    for one in maps_of(discretization):
        if short := [f"{period:g}" for period in one.periods if period * highest < 1.0]:
            yield (
                f"maps {one.name}: periods of {', '.join(short)} s are below those of the sources' "
                f"waves ({1.0 / highest:.3g} s, {highest:.3g} Hz): SA there tends to PGA, and says "
                "nothing of the ground motion at these periods"
            )
        if long := [f"{period:g}" for period in one.periods if period > duration]:
            yield (
                f"maps {one.name}: periods of {', '.join(long)} s are longer than the run: SA is "
                f"the largest response within {duration:.4g} s; use a longer time.duration"
            )

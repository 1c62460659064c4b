"""Shots: the sources that act together, and shares of many shots."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

from seismo.acquisition.sources import ManySources, PointSource
from seismo.errors import ScenarioError
from seismo.grid.grid import Grid
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes


@dataclass(frozen=True)
class Shot:
    """One shot: its name and what acts in it.

    Attributes:
        name: for the results.
        points: sources that act at a point each; faults, before their moments are known.
        summaries: a point for each source of the scenario; those of faults do not act.
        faults: of many subfaults that act.
    """

    name: str
    points: tuple[Any, ...]
    summaries: tuple[PointSource, ...] = ()
    faults: tuple[ManySources, ...] = ()

    @cached_property
    def sources(self) -> tuple[PointSource, ...]:
        """All points, and subfaults that stand for all of their faults (`ManySources.samples`)."""
        return (*self.points, *chain.from_iterable(fault.samples for fault in self.faults))


@dataclass(frozen=True)
class Share:
    """One of several nearly equal shares of a survey's shots, counted from 1: "2/4"."""

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Share:
        """Read a share such as "2/4".

        Raises:
            ScenarioError: the text is not a share.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        number, of = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= of:
            prefix = f"{number} is more than {of}; " if number > of else ""
            raise ScenarioError(
                f"--shots {text}: {prefix}give a share such as 2/4, the second of four"
            )
        return Share(number, of)

    def __str__(self) -> str:
        """Format it as `read` expects it."""
        return f"{self.number}/{self.of}"

    def take(self, shots: list[Shot]) -> list[Shot]:
        """Return the shots of this share, in order.

        Raises:
            ScenarioError: there are fewer shots than shares.
        """
        if self.of > len(shots):
            raise ScenarioError(f"--shots {self}: the scenario has {len(shots)}; use fewer shares")
        start, stop = (len(shots) * n // self.of for n in (self.number - 1, self.number))
        return shots[start:stop]


def with_moments(shot: Shot, earth: Earth, dimensions: int) -> Shot:
    """Return a shot with the moments that its sources, such as finite faults, have in an earth.

    Raises:
        ScenarioError: slip makes no moment, as the model has no rigidity there.
    """
    points = list[PointSource]()
    summaries = list[PointSource]()
    faults = list[ManySources]()
    for source in shot.points:
        summary, fault = source.with_moments(earth, dimensions)
        if fault is None:
            points.append(summary)
        else:
            faults.append(fault)
        summaries.append(summary)
    return Shot(shot.name, tuple(points), tuple(summaries), tuple(faults))


def in_earth(shot: Shot, earth: Earth, grid: Grid, extremes: Extremes) -> Shot:
    """Return a shot whose sources know the rock that they come from (`PointSource.in_earth`)."""
    points, summaries = (
        tuple(source.in_earth(earth, grid, extremes) for source in sources)
        for sources in (shot.points, shot.summaries)
    )
    return replace(shot, points=points, summaries=summaries)


def evenly(shots: int, each: int, grids: int = 1) -> int:
    """Share shots out between batches of at most `each` on every grid, as evenly as can be."""
    # The fewest batches, and the smallest batch that makes no more of them.
    batches = math.ceil(shots / (max(1, each) * grids))
    return min(shots, math.ceil(shots / batches / grids) * grids)

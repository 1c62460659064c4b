"""All subdomains of a grid: which rank has which, what each costs, and who meets whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from seismo.backends.communicator import SerialCommunicator
from seismo.grid.decomposition import Subdomain, cost
from seismo.grid.grid import Box


@dataclass(frozen=True)
class Partition:
    """All subdomains of a grid, and which rank has which.

    Where several grids stand side by side, each has shots of its own and as many of the ranks, its
    *crew*. Those of different crews have nothing to tell each other in a step.

    Attributes:
        rows: subdomains as rows along z of columns along y; they are numbered row by row.
        ranks: all of them; a crew has the subdomains in runs of about equal number.
        grids: that stand side by side; the subdomains are those of this rank's.
        pml_cost: time of a point in an absorbing layer over that of an interior one.
    """

    rows: list[list[Subdomain]]
    ranks: SerialCommunicator
    grids: int = 1
    pml_cost: float = 1.0

    @property
    def crew(self) -> int:
        """How many ranks share a grid."""
        return self.ranks.count // self.grids

    @property
    def shots(self) -> range:
        """The shots on this rank's grid, of all that advance together."""
        return self.rows[0][0].shots

    @property
    def subdomains(self) -> list[Subdomain]:
        """All of them, by number."""
        return [subdomain for row in self.rows for subdomain in row]

    @property
    def own(self) -> list[int]:
        """The numbers of those that this rank has."""
        numbers = range(len(self.rows) * len(self.rows[0]))
        return [n for n in numbers if self.owner(n) == self.ranks.number]

    def owner(self, number: int) -> int:
        """Return the rank of this crew that has a subdomain."""
        first = self.ranks.number // self.crew * self.crew
        return first + number * self.crew // (len(self.rows) * len(self.rows[0]))

    def owners(self, y, z) -> np.ndarray:
        """Return the ranks that update points; images beyond a face count as the point on it."""
        found = np.zeros(np.broadcast(y, z).shape, np.int64)
        (_, ylo, zlo), (_, yhi, zhi) = self.rows[0][0].grid.box.lo, self.rows[0][0].grid.box.hi
        y, z = np.clip(y, ylo, yhi - 1), np.clip(z, zlo, zhi - 1)
        for n, subdomain in enumerate(self.subdomains):
            found[subdomain.owns(y, z)] = self.owner(n)
        return found

    @property
    def imbalance(self) -> float:
        """By how much the costliest subdomain exceeds the mean, as a share of it."""
        return self.largest * len(self.subdomains) - 1.0

    @property
    def largest(self) -> float:
        """Which share of the whole grid's cost the costliest subdomain has."""
        costs = [cost(s.grid, s.owned, self.pml_cost) for s in self.subdomains]
        return max(costs) / sum(costs)

    @property
    def parts(self) -> str:
        """How the grid is cut along z and y, such as "2 x 1"."""
        return f"{len(self.rows)} x {len(self.rows[0])}"

    def describe(self) -> dict[str, object]:
        """Return how many ranks there are, and how they share the grid."""
        return {
            "ranks": self.ranks.count, "grids": self.grids, "parts": self.parts,
            "imbalance": self.imbalance,
        }  # fmt: skip

    def meetings(self) -> Iterator[tuple[int, int, Box]]:
        """Return, for each pair of neighbours, what the other owns of the first's halo.

        All ranks see them in the same order.
        """
        steps = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]
        columns, subdomains = len(self.rows[0]), self.subdomains
        for n, subdomain in enumerate(subdomains):
            for down, along in steps:
                row, column = n // columns + down, n % columns + along
                if 0 <= row < len(self.rows) and 0 <= column < columns:
                    other = row * columns + column
                    yield n, other, subdomain.padded & subdomains[other].owned

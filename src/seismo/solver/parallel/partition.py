"""All subdomains of a grid: their ranks, costs and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.errors import ScenarioError
from seismo.features import acting
from seismo.grid.decomposition import (
    EVEN,
    LINE,
    SECTOR,
    PointCosts,
    Subdomain,
    best_parts,
    cost,
    decompose,
)
from seismo.grid.grid import Box
from seismo.solver.boundary_images import Face
from seismo.solver.discretization import Discretization


@dataclass(frozen=True)
class Partition:
    """All subdomains of a grid, and which rank has which.

    Where several grids stand side by side, each has shots of its own and as many of the ranks, a
    process group. Ranks of different groups exchange nothing in a step.

    Attributes:
        rows: subdomains as rows along z of columns along y; they are numbered row by row.
        ranks: all of them; a group has the subdomains in runs of about equal number.
        grids: that stand side by side; the subdomains are of this rank's.
        costs: of points in absorbing layers, and in rows that follow the ground.
    """

    rows: list[list[Subdomain]]
    ranks: SerialCommunicator
    grids: int = 1
    costs: PointCosts = EVEN

    @property
    def ranks_per_grid(self) -> int:
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
    def local_numbers(self) -> list[int]:
        """The numbers of this rank's subdomains."""
        numbers = range(len(self.rows) * len(self.rows[0]))
        return [n for n in numbers if self.owner(n) == self.ranks.number]

    def owner(self, number: int) -> int:
        """Return the rank of this group that has a subdomain."""
        # Subdomains are dealt to the ranks of a shot group in runs of about equal number.
        first = self.ranks.number // self.ranks_per_grid * self.ranks_per_grid
        return first + number * self.ranks_per_grid // (len(self.rows) * len(self.rows[0]))

    def owners(self, y, z) -> np.ndarray:
        """Return the ranks that update points; images beyond a face count as the point on it."""
        owners = np.zeros(np.broadcast(y, z).shape, np.int64)
        (_, ylo, zlo) = self.rows[0][0].grid.box.lo
        (_, yhi, zhi) = self.rows[0][0].grid.box.hi
        # Images beyond a face belong to the point on it.
        y = np.clip(y, ylo, yhi - 1)
        z = np.clip(z, zlo, zhi - 1)
        for n, subdomain in enumerate(self.subdomains):
            owners[subdomain.owns(y, z)] = self.owner(n)
        return owners

    @property
    def imbalance(self) -> float:
        """Excess of the costliest subdomain over the mean cost, as a fraction of it."""
        return self.largest * len(self.subdomains) - 1.0

    @property
    def largest(self) -> float:
        """Share of the grid's cost in the costliest subdomain."""
        # Costs in interior points.
        costs = [cost(s.grid, s.owned, self.costs) for s in self.subdomains]
        return max(costs) / sum(costs)

    @property
    def counts(self) -> str:
        """How the grid is cut along z and y, such as "2 x 1"."""
        return f"{len(self.rows)} x {len(self.rows[0])}"

    def describe(self) -> dict[str, object]:
        """Return the number of ranks and the decomposition."""
        return {
            "ranks": self.ranks.count, "grids": self.grids, "parts": self.counts,
            "imbalance": self.imbalance,
        }  # fmt: skip

    def neighbour_pairs(self) -> Iterator[tuple[int, int, Box]]:
        """Return, for each pair of neighbours, the box of the first's halo that the other owns.

        All ranks see them in the same order.
        """
        # Eight neighbours across z and y, corners included.
        steps = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]
        columns = len(self.rows[0])
        subdomains = self.subdomains
        for n, subdomain in enumerate(subdomains):
            for down, along in steps:
                row = n // columns + down
                column = n % columns + along
                if 0 <= row < len(self.rows) and 0 <= column < columns:
                    other = row * columns + column
                    # Halo of n owned by the other: the intersection of boxes.
                    yield n, other, subdomain.padded & subdomains[other].owned


def divide(
    discretization: Discretization,
    backend: Backend,
    ranks: SerialCommunicator,
    counts: tuple[int, int] | None = None,
) -> Partition:
    """Cut the grid of a run for ranks, or each grid where several stand side by side.

    Args:
        discretization: of the run.
        backend: where it runs, with its numbers in a lane and its cost of points in layers.
        ranks: that share it.
        counts: along z and y; None for counts of the scenario, or that suit the ranks.

    Raises:
        ScenarioError: the grid cannot be cut so, or there are fewer parts than ranks.
    """
    scenario = discretization.scenario
    requested = scenario.grid.decomposition
    uncut_axes = never_cut_axes(discretization.image_faces, discretization.interface is not None)
    ranks_per_grid = ranks.count // discretization.grids
    # Factors of the ranks with the smallest cuts.
    if counts is None and requested == "auto":
        uncut = never_cut(discretization)
        counts = best_parts(
            discretization.grid, discretization.halo, ranks_per_grid, uncut_axes, uncut
        )
    try:
        cut = counts or requested
        _refuse(cut, ranks_per_grid, uncut_axes)
        layer = backend.pml_costs[discretization.physics.differences]
        costs = point_costs(discretization, backend.name, layer)
        number = ranks.number // ranks_per_grid
        parted = subdomains(discretization, backend.lane_width, cut, number, costs=costs)
        return Partition(parted, ranks, discretization.grids, costs)
    except ScenarioError as error:
        if counts is not None:
            raise
        problem = str(error).removeprefix("decomposition: ")
        raise scenario.mistake("grid", "decomposition", problem=problem) from None


def divide_finer(discretization: Discretization, backend: Backend, below: Partition) -> Partition:
    """Cut the finer of two grids where the coarser grid is cut along y.

    Args:
        discretization: the finer grid.
        backend: see `divide`.
        below: the parts of the coarser grid.
    """
    # Cuts pass through nodes that both have: every third node of the finer grid.
    cuts = [discretization.subdivision * subdomain.owned.lo[1] for subdomain in below.subdomains]
    number = below.ranks.number // below.ranks_per_grid
    columns = [*cuts, discretization.grid.points[1]]
    parted = subdomains(discretization, backend.lane_width, number=number, columns=columns)
    return Partition(parted, below.ranks, below.grids)


def never_cut_axes(faces: Iterable[Face], refined: bool) -> dict[str, str]:
    """Return the axes that a grid is not cut along, and why, as a relative clause.

    A periodic axis is not, as its halo is filled from the same subdomain, and z is not where two
    spacings meet in a plane.
    """
    axes = {face.axis: "which is periodic" for face in faces if face.kind == "periodic"}
    return axes | ({"z": "where grids of two spacings meet"} if refined else {})


def _refuse(counts: tuple[int, int], ranks: int, uncut_axes: Mapping[str, str]) -> None:
    for axis, count in zip("zy", counts, strict=True):
        if count > 1 and axis in uncut_axes:
            raise ScenarioError(
                f"decomposition: {count} parts along {axis}, {uncut_axes[axis]}; use 1 part there"
            )
    if counts[0] * counts[1] < ranks:
        raise ScenarioError(
            f"decomposition: {counts[0]} x {counts[1]} parts for {ranks} ranks; use a part for "
            "each, or auto, or start fewer"
        )


def point_costs(discretization: Discretization, backend: str, layer: float) -> PointCosts:
    """Return the costs of points on a backend of that name, given that of points in layers."""
    for row_costs in acting("row_costs", discretization.scenario):
        return PointCosts(layer, *row_costs(discretization, backend))
    return PointCosts(layer)


def never_cut(discretization: Discretization) -> frozenset[int]:
    """Return the rows before which no grid is cut.

    Corrections would read beyond a halo there; and every part is two halos wide.
    """
    first_rows = range(max(discretization.closed_rows, 2 * discretization.halo))
    special_rows = (rows(discretization) for rows in acting("uncut_rows", discretization.scenario))
    return frozenset(first_rows).union(*special_rows)


def subdomains(
    discretization: Discretization,
    lane: int,
    counts: tuple[int, int] = (1, 1),
    number: int = 0,
    costs: PointCosts = EVEN,
    columns: list[int] | None = None,
) -> list[list[Subdomain]]:
    """Cut a grid of a discretization in parts along z and y, for lanes of so many numbers.

    Volumes of many fields have rows of half lines: pairs of fields march across their layers,
    along y from rows of a kind to rows of the other.
    """
    # Alignment: the first interior point begins a cache line.
    middle = discretization.row_groups(lane)[0].spans[1][0]
    shots = discretization.shots_on(number)
    short = discretization.grid.dimensions == 3 and discretization.physics.differences == "first"
    unit = SECTOR if short else LINE
    uncut = never_cut(discretization)
    return decompose(
        discretization.grid,
        discretization.halo,
        counts,
        len(shots),
        middle,
        shots.start,
        unit,
        costs,
        uncut,
        columns,
    )

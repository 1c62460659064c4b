"""The medium of absorbing layers at the sides, beside beds that guide waves which grow there.

Neighbouring beds move in opposite phase in the outer part of such a layer, where its damping
exceeds the frequency several times, and no damping of the fields is small that ends it. So there
the rock of a column goes over into its running mean, the medium that waves longer than its beds
see, in which nothing guides them. At depth u in the layer (`seismo.solver.medium.cpml`) the share
of the mean is

    t = ((u - u1) / (1 - u1))^POWER,  0 up to u1,

where d reaches `RATE` c / h, with c the fastest velocity and h the spacing: 0.37 with 12 points. By
then waves of the interior have lost enough not to be reflected much. In corners it is the larger of
both. Rows about contacts of fluid and solid, which are corrected for their own medium
(`seismo.features.contacts.rows`), keep it.

A stack of beds is transversely isotropic as a whole (Backus 1962, eq. 13), and so is a stack of
beds that are so themselves (Schoenberg & Muir 1989)::

    rho = <rho>,           c33 = 1 / <1 / c33>,    c13 = <c13 / c33> c33,
    c44 = 1 / <1 / c44>,   c66 = <c66>,            c11 = <c11 - c13^2 / c33> + <c13 / c33>^2 c33

The angle brackets are (1 - t) times the rock of the row, and t times a mean over rows with the
weights of a normal distribution of `SPREAD` rows. Positive weights leave the medium positive, and
no wave faster than the fastest of its rocks. Fluids keep their own medium, and divide a column:
means do not extend across fluid.

Symbols: rho (kg/m3), c11 ... c66 (Pa), t a share from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES
from seismo.solver.medium.coefficients import as_volume, averages_at, every_node
from seismo.solver.medium.cpml import depth_of, strength

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

SPREAD = 8.0  # rows
REACH = 24  # rows on either side that take part
CONSTANTS = frozenset({"rho", "c11", "c13", "c33", "c44", "c66"})

Columns = Mapping[str, np.ndarray]  # averages (z, y, x) by name
RATE = 0.1
LATEST = 0.45  # largest u1, of thick layers
POWER = 1.5
BESIDE_CONTACTS = 4  # rows on either side that keep their medium
Media = dict[str, np.ndarray]  # (z, y, x)


def has_means(averages: Collection[str]) -> bool:
    """Return whether a medium of these averages, but for losses, is that of such a stack."""
    rigid = {name for name in averages if not name.startswith(("y_", "rho_"))}
    return {"rho", "c11", "c13", "c33", "c44"} <= rigid <= CONSTANTS


@dataclass(frozen=True)
class RunningMeans:
    """Takes columns with `REACH` rows beyond either end to their running means.

    Attributes:
        share: t (y, x), broadcastable against the columns.
    """

    share: np.ndarray

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        """Return the medium (z, y, x) of columns (z + 2 REACH, y, x)."""
        columns = {name: as_volume(array) for name, array in columns.items()}
        solid = columns["c44"] > 0.0
        terms = _terms(columns, solid)
        means = _means(terms, solid)
        mixed = {
            name: (1.0 - self.share) * _inner(terms[name]) + self.share * mean
            for name, mean in means.items()
        }
        changed = _inner(solid) & (self.share > 0.0)
        constants = _constants(mixed)
        # Of rock the densities along axes are the nodes'.
        constants |= {name: constants["rho"] for name in columns if name.startswith("rho_")}
        return {
            name: np.where(changed, constant, _inner(columns[name]))
            for name, constant in constants.items()
        }


def _inner(array: np.ndarray) -> np.ndarray:
    return array[REACH : len(array) - REACH]


def _terms(c: Columns, solid: np.ndarray) -> dict[str, np.ndarray]:
    """Return the averaged quantities; of fluids no compliance of shear."""
    share = c["c13"] / c["c33"]
    terms = {
        "rho": c["rho"],
        "compliance": 1.0 / c["c33"],
        "share": share,
        "plate": c["c11"] - share * c["c13"],
        "shear_compliance": 1.0 / np.where(solid, c["c44"], 1.0),
    }
    return terms | ({"c66": c["c66"]} if "c66" in c else {})


def _constants(m: Columns) -> dict[str, np.ndarray]:
    """Return the constants of a stack of these means."""
    c33 = 1.0 / m["compliance"]
    c13 = m["share"] * c33
    constants = {
        "rho": m["rho"],
        "c33": c33,
        "c13": c13,
        "c11": m["plate"] + m["share"] * c13,
        "c44": 1.0 / m["shear_compliance"],
    }
    return constants | ({"c66": m["c66"]} if "c66" in m else {})


def _means(terms: Columns, solid: np.ndarray) -> dict[str, np.ndarray]:
    """Return weighted means (z, y, x) of terms, of the rows of a stretch of rock."""
    count = len(solid) - 2 * REACH
    # Rows with equally many fluid rows above them belong to a stretch.
    stretch = np.cumsum(~solid, axis=0)
    total = np.zeros((count, *solid.shape[1:]))
    sums = {name: np.zeros((count, *term.shape[1:])) for name, term in terms.items()}
    # Row by row, so that sums are the same for every cut of the grid.
    for offset in range(-REACH, REACH + 1):
        rows = slice(REACH + offset, REACH + offset + count)
        weight = np.exp(-0.5 * (offset / SPREAD) ** 2)
        taken = weight * (solid[rows] & (stretch[rows] == _inner(stretch)))
        total += taken
        for name, term in terms.items():
            sums[name] += taken * term[rows]
    # Fluids have no mean, and keep their terms.
    has_mean = total > 0.0
    total = np.where(has_mean, total, 1.0)
    return {n: np.where(has_mean, sums[n] / total, _inner(term)) for n, term in terms.items()}


def share_along(discretization: Discretization, axis: str, index: np.ndarray) -> np.ndarray:
    """Return t (n) of the layers along an axis at indices (n)."""
    grid = discretization.grid
    n = AXES.index(axis)
    depth = np.zeros(index.shape)
    behind = grid.points[n] - 1 - grid.high[n]
    for width, beyond in ((grid.low[n], grid.low[n] - index), (grid.high[n], index - behind)):
        if width:
            # u = 0 half a cell beyond the last point inside, 1 on the outermost node.
            half = 0.5 * discretization.subdivision
            depth = np.maximum(depth, (beyond - half) / (width - half))
    first = min(
        LATEST,
        depth_of(
            strength(discretization, 0.0), discretization.scenario.boundaries.layer.points, RATE
        ),
    )
    return np.clip((depth - first) / (1.0 - first), 0.0, 1.0) ** POWER


def in_side_layers(
    discretization: Discretization, subdomain: Subdomain, medium: Media
) -> tuple[Media, Callable[[np.ndarray], np.ndarray]] | None:
    """Return the medium with the means of the layers, and a function to spread it over (y, x).

    Where the earth varies with depth only, it has a column for each share of the means; else it is
    changed in place. None where layers have no means.

    Args:
        discretization: the run.
        subdomain: whose points, and halo along y and z.
        medium: averages (z, y, x) without them.
    """
    if not discretization.field_damping.averaged:
        return None
    nodes = {
        axis: np.array(numbers) for axis, numbers in every_node(discretization, subdomain).items()
    }
    share = _shares(discretization, nodes)
    free = _free_rows(discretization, nodes["z"])
    if not discretization.earth.layered:
        # Along the normal of a layer a single column serves all points.
        for box, index in _pieces(discretization, nodes):
            for name, mean in means_at(discretization, index, share[box]).items():
                medium[name][free, *box] = mean[free]
        return medium, lambda array: array
    # One column for each depth in a layer; the first is that of the interior.
    columns = np.unique(np.append(share, 0.0))
    number = np.searchsorted(columns, share)
    shape = (len(nodes["z"]), 1, columns.size)
    changed = {name: np.broadcast_to(array, shape).copy() for name, array in medium.items()}
    for name, mean in means_at(discretization, _column(nodes), columns[None, :]).items():
        changed[name][free] = mean[free]
    return changed, lambda array: array[:, 0][:, number]


def mixed_rows(
    discretization: Discretization, is_even: Callable[[Media], np.ndarray]
) -> np.ndarray:
    """Return for every row (z) whether the means of any layer are not even, as a stage asks."""
    grid = discretization.grid
    if not discretization.field_damping.averaged:
        return np.zeros(grid.points[2], bool)
    nodes = {a: np.arange(grid.points[AXES.index(a)]) for a in "zyx" if a in grid.axes}
    # The mean alone, t = 1: with less of it nothing else is mixed.
    all_mean = np.ones((1, 1))
    mixed = np.zeros(nodes["z"].size, bool)
    if discretization.earth.layered:
        columns = [_column(nodes)]
    else:
        columns = [index for _, index in _pieces(discretization, nodes)]
    for index in columns:
        mixed |= ~is_even(means_at(discretization, index, all_mean)).all((1, 2))
    return mixed & _free_rows(discretization, nodes["z"])


def means_at(
    discretization: Discretization, index: Mapping[str, np.ndarray], share: np.ndarray
) -> Media:
    """Return the medium (z, y, x) at nodes, with shares (y, x) of the running means."""
    # Rows beyond the grid have the rock of its ends (`Earth.clamp`).
    rows = index["z"]
    wide = np.arange(rows[0] - REACH, rows[-1] + REACH + 1)
    return averages_at(discretization, {**index, "z": wide}, RunningMeans(share))


def _shares(discretization: Discretization, nodes: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return t (y, x) of nodes."""
    # In corners the larger of both.
    along = {axis: share_along(discretization, axis, nodes[axis]) for axis in nodes if axis != "z"}
    return np.maximum(along.get("y", np.zeros(1))[:, None], along["x"][None, :])


def _free_rows(discretization: Discretization, rows: np.ndarray) -> np.ndarray:
    """Return which rows (z) may change."""
    # Corrected rows have operators for their own constants.
    contacts = np.array([contact.row for contact in discretization.slips.corrected])
    return (np.abs(rows[:, None] - contacts) > BESIDE_CONTACTS).all(1)


def _column(nodes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {axis: index if axis == "z" else index[:1] for axis, index in nodes.items()}


def _pieces(
    discretization: Discretization, nodes: Mapping[str, np.ndarray]
) -> Iterator[tuple[tuple[slice, slice], dict[str, np.ndarray]]]:
    """Yield parts (y, x) of the layers, and nodes of their columns: along a normal a single one."""
    # The layers across x keep their columns in corners; layers across y have the rest.
    inside = _span(share_along(discretization, "x", nodes["x"]) == 0.0)
    for axis in (a for a in nodes if a != "z"):
        n = AXES.index(axis)
        index = nodes[axis]
        ends = (discretization.grid.extent.lo[n], discretization.grid.extent.hi[n] - 1)
        for edge, beyond in zip(ends, (index < ends[0], index > ends[1]), strict=True):
            span = _span(beyond & (share_along(discretization, axis, index) > 0.0))
            if span.start == span.stop or (axis == "y" and inside.start == inside.stop):
                continue
            column = {**nodes, axis: np.array([edge])}
            if axis == "x":
                yield (slice(None), span), column
            else:
                yield (span, inside), {**column, "x": nodes["x"][inside]}


def _span(chosen: np.ndarray) -> slice:
    """Return the indices from the first to the last that is chosen."""
    indices = np.flatnonzero(chosen)
    return slice(int(indices[0]), int(indices[-1]) + 1) if indices.size else slice(0, 0)

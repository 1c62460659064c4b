"""Interpolation weights near contacts of layers, where the slopes of fields jump.

Across a horizontal contact of two solids, or of two fluids, motion and traction are continuous.
Their slopes along z are, with strains and accelerations that are continuous, too::

    vx, vy      sxz / mu                        vz    szz / c33 - (c13 / c33) exx
    szz, p      rho az                          sxz   rho ax - d_x [(c13 / c33) szz + E exx]

E = c11 - c13^2 / c33. So beside smooth parts a field has parts that go as the integrals along z of
1 / mu; of 1 / c33 and c13 / c33; of rho; of rho, c13 / c33 and E. In a fluid rho vx is read, which
goes as the integral of rho, and vz has a part that goes as that of 1 / rho, by which exx jumps.

The grid has these integrals, too: the sums of the averages that its nodes have, as its own
differences D invert to them, D phi = average. The weights are of even media, changed as
little as makes them read every such phi as its integral is at the position: as cubics are read
exactly (`seismo.grid.interpolation`), so are kinks, of any number of contacts, as the scheme itself
has them. Contacts of fluid and solid bound all of it: nothing is read across them.

Symbols: v velocity, s stress, e strain, a acceleration; c11, c13, c33, mu moduli (Pa), rho density.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.equations.framework.table import Physics
from seismo.grid.coefficients import inverse_of_staggered
from seismo.grid.grid import Grid
from seismo.grid.interpolation import ON_GRID, RADIUS, Along, axis_weights, kaiser_window, powers_of
from seismo.model.contacts import ON_CONTACT, SlipContact, below
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average, effective_medium, without_losses
from seismo.model.effective.column import SAMPLES

MARGIN = 24  # rows beyond the grid that sums begin in
NEAR = 6  # rows on either side that may differ and change weights
ALIKE = 1e-9  # relative difference of moduli that count as alike
_TINY = 2e-2  # of the largest slope: residuals of kinks below it are left
_NONE = 1e-3  # weights that change by less stay
_SAMPLES_PER_CELL = 8
_JUMP = 0.02  # relative change within a sample that counts as a contact
_BISECTIONS = 30
_INFINITE = {name for name, known in PARAMETERS.items() if math.isinf(known.limits[1])}
_ROUNDING = 1e3  # Pa, of constants of rock that has been turned

SlopeKind = Literal["along", "across", "pull", "shear"]
KINDS: dict[str, SlopeKind] = {
    "vx": "along", "vy": "along", "vz": "across", "szz": "pull", "p": "pull",
    "sxz": "shear", "syz": "shear",
}  # fmt: skip
Values = dict[str, np.ndarray]
Side = tuple[int, int]  # first and last row of a solid, or of a fluid
Computed = TypeVar("Computed")


def contact_depths(earth: Earth, grid: Grid) -> np.ndarray:
    """Return the depths (n) in m where a medium ends suddenly, from the top."""
    first = grid.low[2]
    last = grid.points[2] - 1 - grid.high[2]
    z = grid.coordinate(
        "z", np.arange(first, last, 1.0 / _SAMPLES_PER_CELL) + 1.0 / (3 * _SAMPLES_PER_CELL)
    )
    profiles = _profiles(earth, z)
    units = [PARAMETERS[n].unit if n in PARAMETERS else "" for n in earth.needs]
    least = np.array([_ROUNDING if unit == "Pa" else 1e-9 for unit in units])
    either = np.abs(profiles)
    change = np.abs(np.diff(profiles, axis=1)) / np.maximum(
        np.maximum(either[:, 1:], either[:, :-1]), least[:, None]
    )
    jumps = np.flatnonzero((change > _JUMP).any(axis=0))
    low = z[jumps]
    high = z[jumps + 1]
    above = profiles[:, jumps]
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        at_middle = _profiles(earth, middle)
        nearer = (np.abs(at_middle - above) <= 0.5 * np.abs(profiles[:, jumps + 1] - above)).all(
            axis=0
        )
        low = np.where(nearer, middle, low)
        high = np.where(nearer, high, middle)
    return 0.5 * (low + high)


def _profiles(earth: Earth, z: np.ndarray) -> np.ndarray:
    """Return the parameters (name, depth); the inverse of parameters that may be infinite."""
    samples = earth.sample(z, None)
    return np.array(
        [1.0 / samples[name] if name in _INFINITE else samples[name] for name in earth.needs]
    )


def moduli(medium: Values) -> Values:
    """Return the density and the moduli that an equation averages (`Physics.medium`).

    Those are rho, c11, c13, c33, c44 and, but for P-SV waves in 2-D, c66.
    """
    if "mu_yz" in medium:
        # SH waves: shear moduli only.
        nothing = np.zeros_like(medium["rho"])
        stiff = {"c11": nothing, "c13": nothing, "c33": nothing}
        return {"rho": medium["rho"], **stiff, "c44": medium["mu_yz"], "c66": medium["mu_xy"]}
    if "c33" in medium:
        return medium
    # Fluids: c11 = c13 = c33 = kappa; density 1 where the equation has none.
    fluid = medium["vp"] ** 2 if "vp" in medium else medium["p_modulus"]
    light = {name: medium.get(name, np.ones_like(fluid)) for name in ("rho", "rho_x")}
    return {**light, "c11": fluid, "c13": fluid, "c33": fluid, "c44": np.zeros_like(fluid)}


def kinks_of(kind: SlopeKind, m: Values) -> list[np.ndarray]:
    """Return the quantities (rows) that a field's slopes go as, where the medium varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # Slopes of each kind of field: see the table above.
        turn = np.nan_to_num(m["c13"] / m["c33"])
        if kind == "pull":
            kinks = [m["rho"]]
        elif kind == "along":
            kinks = [1.0 / m["c44"]]
        elif kind == "across":
            kinks = [1.0 / m["c33"], turn, *([1.0 / m["rho_x"]] if "rho_x" in m else [])]
        else:
            kinks = [m["rho"], turn, m["c11"] - m["c13"] * turn]
            kinks += [m["c66"]] if "c66" in m else []
    return [q for q in kinks if np.isfinite(q).all()]


@dataclass(frozen=True)
class Layers:
    """The rows of a grid in an earth that varies with depth only.

    Attributes:
        earth: the earth.
        grid: the grid.
        names: of the averages that the equation has.
        first: staggered coefficients of the differences.
        contacts: along which media slip, where the rows of either side end.
        losses: of the medium that the equation has, too.
    """

    earth: Earth
    grid: Grid
    names: tuple[str, ...]
    first: tuple[float, ...]
    contacts: tuple[SlipContact, ...]
    losses: tuple[str, ...] = ()

    @cached_property
    def contact_depths(self) -> np.ndarray:
        """Depths (n) in m where a medium ends suddenly, from the top."""
        return contact_depths(self.earth, self.grid)

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.arange(-MARGIN, self.grid.points[2] + MARGIN)

    @cached_property
    def _effective(self) -> Values:
        return moduli(self._average(self.grid.coordinate("z", self._rows), 1.0))

    @cached_property
    def _plain(self) -> Values:
        return moduli(self._average(self.grid.coordinate("z", self._rows), 1.0, SAMPLES))

    @cached_property
    def _fluid(self) -> np.ndarray:
        """Densities (rows) of vz half a row further down, NaN where there is any solid."""
        z = self.grid.coordinate("z", self._rows + 0.5)
        return self._average(z, 1.0, names=("rho_z",))["rho_z"]

    def _average(
        self, z: np.ndarray, fraction: float, samples: int | None = None,
        names: tuple[str, ...] = (),
    ) -> Values:  # fmt: skip
        """Return averages (n) at depths z (n) m over a part of a cell."""
        stretching = self.grid.stretching
        height = stretching.of_part(fraction) if stretching else self.grid.spacing[2] * fraction
        spacing = {**self.grid.cells, "z": height}
        across = np.zeros(1) if self.grid.dimensions == 3 else None
        averaging: Literal["effective", "point"] = "effective" if fraction else "point"
        medium = effective_medium(
            self.earth,
            GridCells(z, across, np.zeros(1), spacing),
            names or self.names,
            averaging,
            subsamples=samples,
        )
        return {name: array.ravel() for name, array in medium.items()}

    @cached_property
    def _known(self) -> dict[tuple, Any]:
        return {}

    def _once(self, work: Callable[..., Computed], *key: Hashable) -> Computed:
        """Return the result of a function of arguments, which is kept."""
        if (work.__name__, key) not in self._known:
            self._known[work.__name__, key] = work(*key)
        return self._known[work.__name__, key]

    def _side(self, z_index: float) -> Side:
        """Return the first and last row of the solid, or fluid, where a place is."""
        # Contacts of fluid and solid bound the side; their own rows are left out.
        over = [c.half + 2 for c in self.contacts if below(c, z_index)]
        under = [c.half - 1 for c in self.contacts if not below(c, z_index)]
        low = max(over, default=-MARGIN)
        high = min(under, default=int(self._rows[-1]))
        return low, max(low, high)

    def _of_side(self, samples: Values, side: Side) -> Values:
        """Return values of rows as if the medium of a side went on beyond its last rows."""
        rows = np.clip(self._rows, *side) + MARGIN
        return {name: sample[rows] for name, sample in samples.items()}

    def moduli_of(self, z: np.ndarray, fraction: float) -> Values:
        """Return the moduli (n) of a part of a cell about places z (n), in rows."""
        return moduli(self._average(self.grid.coordinate("z", z), fraction))

    def rows(self, z_index: float) -> Values:
        """Return the moduli (rows) of node rows -MARGIN and on, as the scheme has them."""
        return self._once(self._rows_of, self._side(z_index))

    def _rows_of(self, side: Side) -> Values:
        return self._of_side(self._effective, side)

    def at(self, z_index: float) -> Values:
        """Return the averages (1) of the medium at a place, in rows; on a contact of that below.

        On a contact of fluid and solid of the solid.
        """
        return self._once(self._medium, z_index, self.names)

    def losses_at(self, z_index: float) -> Values:
        """Return the losses (1) of the same medium."""
        return self._once(self._medium, z_index, self.losses)

    def _medium(self, z_index: float, names: tuple[str, ...]) -> Values:
        on = [c for c in self.contacts if abs(c.z_index - z_index) <= ON_CONTACT]
        above = any(not below(contact, z_index) for contact in on)
        # Just beside a contact, on the side that counts.
        nudge = -2 * ON_CONTACT if above else 2 * ON_CONTACT
        z = self.grid.coordinate("z", np.array([z_index + nudge]))
        return self._average(z, 0.0, names=names) if names else {}

    def uneven(self, z_index: float) -> bool:
        """Whether the medium varies in the rows about a place, and is all solid or fluid."""
        # Rows about the place: any modulus that differs, in a solid or in a fluid alone.
        first = int(np.floor(z_index)) - NEAR + 1 + MARGIN
        about = slice(max(0, first), first + 2 * NEAR)
        rows = {name: array[about] for name, array in self.rows(z_index).items()}
        wet = rows["c44"] == 0.0
        if wet.any() and not wet.all():
            return False
        return any(
            np.isfinite(array).all() and np.ptp(array) > ALIKE * np.abs(array).max(initial=0.0)
            for array in rows.values()
        )

    def weights(self, kind: SlopeKind, half: bool, z_index: float) -> Along | None:
        """Return rows and weights that read a field, or None where weights of an even medium do.

        Args:
            kind: of the field (`KINDS`).
            half: whether it stands on half rows.
            z_index: where, in rows.
        """
        return self._once(self._weights, kind, half, z_index)

    def own_weights(self, kind: SlopeKind, half: bool, z_index: float) -> Along | None:
        """Return the same where all rows are of the side of the place; None elsewhere."""
        side = self.weights(kind, half, z_index)
        if side is None:
            return None
        above = any(side[0].min() <= c.half for c in self.contacts if below(c, z_index))
        beyond = any(
            side[0].max() > c.half - int(half) for c in self.contacts if not below(c, z_index)
        )
        return None if above or beyond else side

    def _weights(self, kind: SlopeKind, half: bool, z_index: float) -> Along | None:
        if not self.uneven(z_index):
            return None
        wet = self.rows(z_index)["c44"] == 0.0
        # In a fluid rho v goes as the integral of rho.
        if wet.all() and kind == "along":
            kind = "pull"
        elif wet.any() and not wet.all():
            return None
        shift = 0.5 if half else 0.0
        # The stencil of an even medium, on a row exactly where the position is on a row.
        rows = int(np.floor(z_index - shift)) - RADIUS + 1 + np.arange(2 * RADIUS)
        if abs(z_index - shift - np.rint(z_index - shift)) < ON_GRID:
            rows += int(np.rint(z_index - shift)) - rows[RADIUS - 1]
        plain = np.zeros(rows.size)
        even_rows, weights = axis_weights(z_index, half)
        plain[np.searchsorted(rows, even_rows)] = weights
        # Correct the weights for the kinks phi, orthogonally to cubics.
        distance = z_index - shift - rows
        window = kaiser_window(distance)
        powers = powers_of(distance)
        seen, wanted = self._phi(kind, half, z_index, rows)
        if not len(seen):
            return None
        # The part of phi in cubics is read already; the rest is read by the least change.
        fit = np.linalg.solve((powers * window) @ powers.T, (powers * window) @ seen.T)
        rest = seen - fit.T @ powers
        # Damped least change of the weights, in the norm of the Kaiser window.
        miss = wanted - seen @ plain
        gram = (rest * window) @ rest.T + _TINY**2 * np.eye(len(rest))
        change = window * (np.linalg.solve(gram, miss) @ rest)
        return None if np.abs(change).max() < _NONE else (rows, plain + change)

    def _phi(
        self, kind: SlopeKind, half: bool, z_index: float, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return phi (kinks, rows) of rows, and (kinks) at a place."""
        kinks = self._once(self._integrals, kind, half, self._side(z_index), self._settled(z_index))
        # phi at rows and at the place, from the integral at the nearest half row above.
        edge = int(np.floor(z_index + 0.5))  # the half row above the place belongs to row edge - 1
        fraction = z_index + 0.5 - edge
        mean: list[np.ndarray] | None = None
        if fraction > ON_GRID:
            mean = kinks_of(kind, moduli(self._mean_above(z_index, fraction)))
        seen = []
        wanted = []
        for n, (phi, exact, unit) in kinks.items():
            start = exact[edge + MARGIN]
            seen.append(phi[rows + MARGIN] - start)
            wanted.append(fraction * float(mean[n][0]) / unit if mean is not None else 0.0)
        return np.array(seen), np.array(wanted)

    def _mean_above(self, z_index: float, fraction: float) -> Values:
        """Return the means (1) of a part of a row above a place, with the place's medium in all.

        Beyond a contact of fluid and solid that medium goes on.
        """
        top = max((c.z_index for c in self.contacts if below(c, z_index)), default=-np.inf)
        fraction = min(fraction, z_index - top)
        if fraction <= ON_CONTACT:
            return self.at(z_index)
        z = self.grid.coordinate("z", np.array([z_index - 0.5 * fraction]))
        return self._average(z, fraction, SAMPLES)

    def _integrals(
        self, kind: SlopeKind, half: bool, side: Side, settled: int
    ) -> dict[int, tuple[np.ndarray, np.ndarray, float]]:
        """Return by number phi at rows, exact integrals to the half rows above rows, their unit."""
        integrals = {}
        averages = self._once(self._rows_of, side)
        plain = self._of_side(self._plain, side)
        for n, (seen, true) in enumerate(
            zip(kinks_of(kind, averages), kinks_of(kind, plain), strict=True)
        ):
            # Sums of the scheme's averages, with the inverse of its staggered difference.
            unit = np.abs(true).max()
            if not np.ptp(true) > ALIKE * unit:
                continue
            q = seen if half else self._between(kind, seen, side)
            q = np.convolve(
                np.pad(q / unit, MARGIN, "edge"), inverse_of_staggered(self.first, MARGIN), "same"
            )
            q = q[MARGIN:][: seen.size]
            # Sums begin at the half row above the first row.
            sums = np.append(0.0, np.cumsum(q))
            phi = sums[1:] if half else sums[:-1] + 0.5 * q[0]
            # Exact integral: cumulative sum of averages over cells.
            exact = np.append(0.0, np.cumsum(true / unit))
            # Averages beside a fluid leave out part of a contact, which is not to be read.
            middle = exact[1:] if half else 0.5 * (exact[1:] + exact[:-1])
            integrals[n] = phi - (phi - middle)[settled], exact, unit
        return integrals

    def _settled(self, z_index: float) -> int:
        """Return the number of the nearest row with a single medium about it, that of a place.

        Else it is that of the nearest with any, and at last the first of all.
        """
        # Nearest row with a single medium within the stencil's radius, if possible the place's own.
        even = self._once(self._even, self._side(z_index))
        medium = moduli(self.at(z_index))
        rows = self.rows(z_index)
        alike = [np.isclose(rows[name][even], medium[name], 1e-6, 0.0, True) for name in medium]
        chosen = even[np.all(alike, axis=0)]
        chosen = chosen if chosen.size else even
        return int(chosen[np.abs(chosen - MARGIN - z_index).argmin()]) if chosen.size else 0

    def _even(self, side: Side) -> np.ndarray:
        """Return the numbers of rows with rows of a single medium about them, as `rows` counts."""
        is_even = np.ones(self._rows.size, bool)
        for array in self._once(self._rows_of, side).values():
            # Largest difference of each modulus within the radius.
            windows = np.lib.stride_tricks.sliding_window_view(
                np.pad(array, RADIUS, "edge"), 2 * RADIUS + 1
            )
            spread = np.ptp(windows, axis=1)
            largest = np.abs(windows).max(axis=1)
            is_even &= ~np.isfinite(spread) | (spread <= ALIKE * largest)
        return np.flatnonzero(is_even)

    def _between(self, kind: SlopeKind, nodes: np.ndarray, side: Side) -> np.ndarray:
        """Return the scheme's values half-way between nodes; fluids have their own density."""
        # Mean of two nodes; fluids have effective densities of their own.
        mean = 0.5 * (nodes + np.append(nodes[1:], nodes[-1]))
        if kind == "pull" and "rho" in self.names:
            density = self._of_side({"rho": self._fluid}, side)["rho"]
            mean = np.where(np.isnan(density), mean, density)
        return mean


def layers_of(
    physics: Physics, earth: Earth, grid: Grid, averaging: Literal["effective", "point"],
    first: np.ndarray, contacts: tuple[SlipContact, ...],
) -> Layers | None:  # fmt: skip
    """Return the rows of layers; None where the earth varies sideways, or nothing is averaged."""
    if not earth.layered or averaging == "point" or physics.smooth_across_layers:
        return None
    averages = without_losses(physics.medium)
    losses = tuple(name for name in physics.medium if name not in averages)
    names = (*averages, *(("rho_x",) if "rho" in earth.needs else ()))
    return Layers(earth, grid, names, tuple(first), contacts, losses)


@dataclass(frozen=True)
class FluidDensity:
    """The density of an earth of flat layers, for motion along them.

    Fluids of unlike density slip on each other. Along flat contacts of theirs rho vx is continuous,
    as the gradient of pressure is that drives both: it is read, over the density at the position,
    and a force acts on it likewise.

    Attributes:
        earth: the earth.
        rows: (points along z) of vx and vy on the grid in kg/m3, NaN where there is any solid.
    """

    earth: Earth
    rows: np.ndarray

    def ratios(self, z: np.ndarray, depth: float) -> np.ndarray:
        """Return the densities of rows z over that at a depth in m, 1 beside any solid."""
        row_densities = self.rows[np.clip(z, 0, self.rows.size - 1)]
        z_of = np.full((1, 1, 1), depth)
        sample = self.earth.sample(z_of, np.zeros(1), np.zeros(1))
        if np.isnan(row_densities).any() or np.any(sample.get("vs", 0.0) != 0.0):
            return np.ones(len(z))
        # rho v is interpolated: weights times rho(row) / rho(position).
        ratios = row_densities / sample["rho"].ravel()[0]
        return np.where(np.abs(ratios - 1.0) < ALIKE, 1.0, ratios)


def fluid_density(
    earth: Earth, grid: Grid, averaging: Literal["effective", "point"]
) -> FluidDensity | None:
    """Return the density along layers; None where not all lie flat, or the equation has none."""
    if not earth.layered or "rho" not in earth.needs:
        return None
    z = grid.coordinate("z", np.arange(grid.points[2]))
    spacing = grid.cells
    across = np.zeros(1) if grid.dimensions == 3 else None
    rows = cell_average(
        earth, GridCells(z, across, np.zeros(1), spacing), ("rho_x",), averaging, dtype=np.float64
    )["rho_x"].ravel()
    return FluidDensity(earth, rows)

"""Fit the weights of `seismo.grid.surface_interpolation` to exact responses of half-spaces.

    python scripts/fit_surface_weights.py ORDER ... [--kind forces]

rewrites the entries of these orders in src/seismo/grid/surface_weights.json, those of all kinds
unless told; five to ten seconds each. They belong to the closures of ten rows in
surface_closure.json: after a new fit of these (`fit_surface_closure.py`) they have to be fitted
again.

A force on the surface, or well below, moves the rows of the grid by y(k, w) (`closed_grid`), and
a place at depth d by the exact y(d; k, w) (`half_space_response`). The weights w_r of rows r that
read a velocity or a strain at d, and by their transpose spread a force or a moment there, make

    sum_r w_r y_r(k, w) - y(d; k, w)

least in the sum of squares, over

- body waves, evanescent ones and the Rayleigh wave, as in the fit of the closure;
- near fields on the surface and below, five cells and more from d, in 2-D and 3-D, as integrals;
- P-SV waves of three vp / vs, and SH waves;

with polynomials up to degree 3 exact, as those of a whole space have it, and small, the more the
further a row is from d. Normal stresses along and across the surface share their weights, so that
all stresses are combinations of what is read alike. Without the forces below, fields under a source
would be several times too large.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from closed_grid import RATIOS, SLOWNESS, STRETCH, Blocks, folded
from fit_surface_closure import LONG_POINTS
from half_space_response import (
    ODD,
    Waves,
    buried_response,
    buried_shear_response,
    rayleigh_slowness,
    response,
    shear_response,
)
from scipy.special import j0, j1

from seismo.grid.coefficients import Stencil, under_surface
from seismo.grid.interpolation import SLOPE_ROWS, Surface, axis_weights, sloped_weights
from seismo.grid.surface_closure import ClosureKind, interior_matrix, surface_closure
from seismo.grid.surface_interpolation import (
    DEPTHS,
    HALVES,
    READS,
    WIDTH,
    first_row,
)
from seismo.solver.interpolation.traction_free_slopes import MOST_ROWS

DATA = Path(__file__).parents[1] / "src" / "seismo" / "grid" / "surface_weights.json"
POINTS = {4: 8.0, 6: 6.0}  # per shortest wavelength, 5 for higher orders
OFFSETS = np.array([0.0, 1, 2, 3, 4, 5, 6, 8, 10, 12])  # of receivers along a line, in cells,
RADII = np.array([0.0, 2, 3.5, 5, 7, 10])  # and around a point, in three dimensions
NEAREST, IN_SPACE = 4.9, 3.9  # cells from d to a receiver, and least d in three dimensions
NEAR_STRETCH, NEAR_DAMPING, NEAR_WAVES = (1.2, 1.5, 3.0, 5.0), 0.5, 36
DAMPING, POLE_DAMPING, POLE_WEIGHT = 0.06, 0.012, 3.0
QUADRATURE, LARGEST = 700, 40.0  # wavenumbers of exact near fields, and the largest
FLOOR = 0.2  # of the largest near field of a depth, that the error of one is relative to at least
FORCES_AT = (0.0, 8.0, 11.0, 14.0, 18.0, 24.0)  # depths in cells; along z half a cell further
FAR_WEIGHT = 2.0  # of waves to near fields
BURIED_FAR = 0.4  # of forces below to those on the surface
BURIED_NEAR = {"along": 0.4, "across": 0.4, "shear": 0.15, "normal": 0.15}
LITTLE, SPREAD = 6e-3, 2.5  # of the change of weights; cells from d where it is twice as much
DEGREE = 3  # of polynomials that are read exactly
# What each reads: numbers of `SOURCES`, alone and together, and of SH waves.
PARTS = {"along": [(0,)], "across": [(1,)], "shear": [(2,)], "normal": [(3,), (4,), (3, 4)]}
DECIMALS = 15
FIELDS = len(ODD)
Equations = Iterator[tuple[np.ndarray, np.ndarray]]  # (n, row) and (n)


def sums(k: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums (place, wave) over k that give fields at receivers: even, odd in k."""
    along, interpolation = np.outer(OFFSETS, k), np.outer(RADII, k)
    even = np.concatenate([np.cos(along), k * j0(interpolation)]) * weight
    return even, np.concatenate([np.sin(along), k * j1(interpolation)]) * weight


@cache
def legendre(count: int, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return wavenumbers from 0 to the largest, and weights of an integral over them."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) * largest / 2, weights * largest / 2


def far_waves(points: float) -> Waves:
    """Return body, evanescent and Rayleigh waves, weighted by the spectrum of a Ricker wavelet."""
    rows = []
    for vp in RATIOS:
        for stretch in STRETCH:
            real = 2 * np.pi / (points * stretch)
            x = 2.5 / stretch
            weight = x * x * np.exp(1 - x * x) / np.sqrt(stretch)
            pole, damped = real * (1 - 1j * POLE_DAMPING), real * (1 - 1j * DAMPING)
            rows.append((vp, pole, rayleigh_slowness(vp) * real, POLE_WEIGHT * weight, 0, True))
            rows += [(vp, damped, slow * real, weight, 0, False) for slow in SLOWNESS]
    return Waves(*(np.array(column) for column in zip(*rows, strict=True)))


def near_waves(points: float, seen: np.ndarray) -> Waves:
    """Return the waves of near fields, whose wavenumbers are seen like that along the grid."""
    kinds = [(vp, stretch) for vp in RATIOS for stretch in NEAR_STRETCH]
    rows = [
        (vp, 2 * np.pi / (points * stretch) * (1 - 1j * NEAR_DAMPING), k, 1.0, number, False)
        for number, (vp, stretch) in enumerate(kinds)
        for k in seen
    ]
    return Waves(*(np.array(column) for column in zip(*rows, strict=True)))


def exact_fields(waves: Waves, depths: np.ndarray, force: int) -> tuple[np.ndarray, np.ndarray]:
    """Return fields of P-SV (wave, field, depth, motion) and SH (wave, field, depth) of a force."""
    at = FORCES_AT[force]
    if at:
        values = buried_response(waves, depths, np.array([at, at + 0.5]))
        shear = buried_shear_response(waves, depths, at)
    else:
        values, shear = response(waves, depths)[0], shear_response(waves, depths)[0]
    values = values.reshape(len(waves.k), FIELDS, depths.size, 2)
    return values, _sheared(waves.k, shear)


@cache
def exact_near_fields(
    vp: float, w: complex, depth: float, force: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return near fields of P-SV (field, place, motion) and of SH (field, place) of a force."""
    k, weights = legendre(QUADRATURE, LARGEST)
    one = np.ones(k.size)
    waves = Waves(vp * one, w * one, k, one, one, one)
    values, shear = exact_fields(waves, np.array([depth]), force)
    even, odd = sums(k, weights)
    total = np.where(ODD[..., None, None], odd, even)
    return np.einsum("fcpk,kfc->fpc", total, values[:, :, 0]), np.transpose(even @ shear[:, :, 0])


def _sheared(k: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return SH fields (wave, field, ...) in the order of `SOURCES`: v, yz and its strain k v."""
    found = np.zeros((k.size, FIELDS, *values.shape[2:]), complex)
    found[:, 0], found[:, 2] = values[:, 0], values[:, 1]
    found[:, 4] = k.reshape(-1, *[1] * (values.ndim - 2)) * values[:, 0]
    return found


class GridFields:
    """What the rows of a closed grid show of forces on its surface."""

    def __init__(self, order: int, kind: ClosureKind) -> None:
        """Take the largest closure of an order and a kind."""
        bounds = under_surface(order) if kind is ClosureKind.LONG else ()
        stencil = Stencil(order, bounds=bounds)
        closure = surface_closure(stencil, kind)
        self.c = stencil.first
        self.points = LONG_POINTS if kind is ClosureKind.LONG else POINTS.get(order, 5.0)
        self.top = len(self.c) + int(FORCES_AT[-1]) + 2
        size = self.top + 2 * len(self.c)
        form, half, node = interior_matrix(self.c, size, size), np.ones(size), np.ones(size)
        half[: closure.rows], node[: closure.rows] = closure.half_norm, closure.node_norm
        block = closure.half_norm[:, None] * closure.up
        form[: closure.rows, : block.shape[1]] = block
        self.blocks = Blocks(form, half, node)
        top = self.top
        self.up = (form / half[:, None])[:top, :top]
        self.down = -(form.T * (self.blocks.inside / node)[:, None])[:top, :top]
        self.along, weights = legendre(NEAR_WAVES, np.pi)
        seen = 2 * np.sin(np.outer(self.along, np.arange(len(self.c)) + 0.5)) @ self.c
        self.far, self.near = far_waves(self.points), near_waves(self.points, seen)
        self.far_fields, self.near_fields = self._fields(self.far), self._fields(self.near)
        self.far_shear, self.near_shear = self._shear(self.far), self._shear(self.near)
        self._set_sums(weights)

    def _fields(self, waves: Waves) -> np.ndarray:
        """Return P-SV fields (force, wave, field, row, motion), in the order of `SOURCES`."""
        ratio, k = (1 - 2 / waves.vp**2)[:, None], waves.k[:, None]
        weights, share = sloped_weights(0.0, SLOPE_ROWS)
        reads = np.zeros((len(waves.k), 2 * self.top, len(FORCES_AT), 2), complex)
        reads[:, self.top : self.top + weights.size, 0, 1] = weights
        reads[:, 0, 0, 1] = (-share * k * ratio)[:, 0]
        for n, at in enumerate(FORCES_AT):
            reads[:, int(at), n, 0] = 1.0
            reads[:, self.top + int(at), n, 1] = 1.0 if at else weights[0]
        reads = reads.reshape(*reads.shape[:2], -1)
        matrix = self.blocks.stiffness(waves, slice(self.top))
        y = np.linalg.solve(matrix - folded(self.c, waves, self.top, shear=False), reads)
        u, q = y[:, : self.top], y[:, self.top :]
        shear = np.einsum("ij,njc->nic", self.up, u) - k[..., None] * q
        normal = np.einsum("ij,njc->nic", self.down, q)
        normal[:, 0] = -ratio * k * u[:, 0]  # szz = 0
        found = np.stack([u, q, shear, normal, k[..., None] * u], 1)
        return np.moveaxis(found.reshape(*found.shape[:3], len(FORCES_AT), 2), 3, 0)

    def _shear(self, waves: Waves) -> np.ndarray:
        """Return SH fields (force, wave, field, row)."""
        matrix = self.blocks.shear_stiffness(waves, slice(self.top))
        forces = np.eye(self.top)[:, [int(at) for at in FORCES_AT]]
        edge = folded(self.c, waves, self.top, shear=True)
        v = np.linalg.solve(matrix - edge, np.broadcast_to(forces, (len(matrix), *forces.shape)))
        v = np.swapaxes(v, 1, 2)
        fields = np.stack([v, v @ self.up.T], 1)
        return np.moveaxis(_sheared(waves.k, fields), 2, 0)

    def _set_sums(self, weights: np.ndarray) -> None:
        """Set the sums over k of near fields."""
        even, odd = sums(self.along, weights)
        shift, some = axis_weights(0.0, True)
        kernel = np.cos(np.outer(self.along, shift + 0.5)) @ some  # of half points along x
        halves = np.array([[half + 1, half] for half in (1, 0, 1, 0, 0)])  # along x, of both ends
        # Over k in a plane; those in space end on a circle, on which all taper.
        taper = (
            kernel ** np.where(np.arange(len(even)) < len(OFFSETS), halves[..., None], 2)[..., None]
        )
        self.sums = taper * np.where(ODD[..., None, None], odd, even)
        self.shear_sums = even * kernel**2

    def equations(self, what: str, depth: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the equations (n, row) of weights that read something at a depth, complex."""
        found = []
        for force, at in enumerate(FORCES_AT):
            if at and at < depth + NEAREST:
                continue
            for equations, share in (
                (self._far_equations, BURIED_FAR if at else 1.0),
                (self._near_equations, BURIED_NEAR[what] if at else 1.0),
            ):
                found += [(share * m, share * v) for m, v in equations(what, depth, force)]
        matrices, values = zip(*found, strict=True)
        return np.concatenate(matrices), np.concatenate(values)

    def _far_equations(self, what: str, depth: float, force: int) -> Equations:
        """Yield those of waves, relative to their own motion, but for small parts of it."""
        waves = self.far
        exact, shear = exact_fields(waves, np.append(DEPTHS, depth), force)
        motion = np.sqrt((np.abs(exact[:, :2, -1]) ** 2).sum((1, 2)))
        for part in PARTS[what]:
            value = exact[:, list(part)].sum(1)
            size = motion if what in ("along", "across") else _not_small(value)
            scale = FAR_WEIGHT * waves.weight / size
            field = self.far_fields[force][:, list(part)].sum(1) * scale[:, None, None]
            yield _equal(np.swapaxes(field, 1, 2), value[:, -1] * scale[:, None])
        if what != "across":
            n = PARTS[what][-1][-1]
            scale = FAR_WEIGHT * waves.weight / _not_small(shear[:, n, :, None])
            yield _equal(self.far_shear[force][:, n] * scale[:, None], shear[:, n, -1] * scale)

    def _near_equations(self, what: str, depth: float, force: int) -> Equations:
        """Yield those of near fields, relative to themselves, but for small ones of a depth."""
        away = abs(depth - FORCES_AT[force])
        kept = np.hypot(np.r_[OFFSETS, RADII], away) >= NEAREST
        kept[len(OFFSETS) :] &= away > IN_SPACE
        plane = kept & (np.arange(kept.size) < len(OFFSETS))
        for number in range(int(self.near.near.max()) + 1):
            some = np.flatnonzero(self.near.near == number)
            vp, w = self.near.vp[some[0]], self.near.w[some[0]]
            exact, shear = exact_near_fields(vp, w, depth, force)
            fields = self.near_fields[force][some]
            for part in PARTS[what]:
                n = list(part)
                value = exact[n].sum(0)
                field = np.einsum("fcpk,kfrc->pcr", self.sums[n], fields[:, n], optimize=True)
                scale = 1 / _floored(np.sqrt((np.abs(value) ** 2).sum(1)), kept)[:, None]
                # A horizontal dipole alone is not alike in all directions.
                places = plane if part == (4,) else kept
                yield _equal((field * scale[..., None])[places], (value * scale)[places])
            if what in ("along", "shear"):
                n = PARTS[what][0][0]
                value = shear[n]
                field = self.shear_sums @ self.near_shear[force][some, n]
                scale = 1 / _floored(np.abs(value), kept)
                yield _equal((field * scale[:, None])[kept], (value * scale)[kept])

    def weights(self, what: str, depth: float) -> np.ndarray:
        """Return the weights of `WIDTH` rows that read something at a depth."""
        half = HALVES[what]
        first = first_row(depth, half)
        rows = np.arange(first, first + WIDTH)
        known = np.zeros(self.top)
        vanishes = what == "shear"
        surface = Surface(0, vanishes, MOST_ROWS if what == "across" else 0)
        at, some = axis_weights(float(depth), half, 0, surface)
        known[at] = some
        # What vanishes on the surface has no constant part in the rows next to it.
        powers = np.arange(vanishes and not first, DEGREE + 1)
        scaled = (rows + 0.5 * half) / (depth + 3.0)
        conditions, right = scaled ** powers[:, None], (depth / (depth + 3.0)) ** powers
        near = known[rows]
        near = near + np.linalg.lstsq(conditions, right - conditions @ near, rcond=None)[0]
        free = np.linalg.svd(conditions)[2][len(powers) :].T
        matrix, value = self.equations(what, depth)
        value = value - matrix[:, rows] @ near
        matrix = matrix[:, rows] @ free
        small = LITTLE * (1 + ((rows + 0.5 * half - depth) / SPREAD) ** 2)[:, None]
        system = np.concatenate([matrix.real, matrix.imag, small * free])
        right = np.concatenate([value.real, value.imag, np.zeros(WIDTH)])
        return near + free @ np.linalg.lstsq(system, right, rcond=None)[0]


def _equal(matrix: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return equations (n, row) and values (n), divided by the root of their number."""
    share = 1 / np.sqrt(value.size)
    return share * matrix.reshape(value.size, -1), share * value.ravel()


def _not_small(values: np.ndarray) -> np.ndarray:
    """Return the size (wave) at the last depth of (wave, depth, motion), not far below the mean."""
    size = np.sqrt((np.abs(values) ** 2).sum(2))
    return np.maximum(size[:, -1], 0.5 * np.sqrt((size**2).mean(1)))


def _floored(size: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return sizes (place), none far below the largest that is kept in its plane or in space."""
    found = size + 1e-300
    for part in (slice(0, len(OFFSETS)), slice(len(OFFSETS), None)):
        most = (size[part] * kept[part]).max()
        found[part] = np.maximum(found[part], FLOOR * most)
    return found


def fitted(order: int, kind: str) -> dict:
    """Fit the weights that belong to one closure, and return their entry."""
    grid = GridFields(order, ClosureKind(kind))
    entry: dict = {"order": order, "kind": kind}
    for what in READS[kind]:
        weights = np.array([grid.weights(what, depth) for depth in DEPTHS])
        entry[what] = weights.round(DECIMALS).tolist()
        most = np.abs(weights).max()
        print(f"order {order}, {kind}, {what}: largest weight {most:.2f}", flush=True)
    return entry


def written(entry: dict) -> str:
    """Return an entry as text, the weights of a depth a line."""
    parts = []
    for key, value in entry.items():
        lines = ",\n  ".join(json.dumps(row) for row in value) if isinstance(value, list) else ""
        parts.append(f"{json.dumps(key)}: " + (f"[\n  {lines}]" if lines else json.dumps(value)))
    return "{" + ",\n ".join(parts) + "}"


def main() -> None:
    """Fit the orders of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("orders", type=int, nargs="+", help="4, 6, ... 16")
    parser.add_argument("--kind", choices=READS, nargs="+", default=["forces", "moments"])
    given = parser.parse_args()
    known = json.loads(DATA.read_text()) if DATA.exists() else []
    entries = {(entry["order"], entry["kind"]): entry for entry in known}
    for key in product(given.orders, given.kind):
        entries[key] = fitted(*key)
        text = ",\n".join(written(entries[one]) for one in sorted(entries))
        DATA.write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()

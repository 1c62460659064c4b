"""Fit closures of `seismo.grid.surface_closure` to a layer on a half-space, its contact so deep.

    python scripts/fit_surface_contact.py [--depths 1.5 1.75 ...]

rewrites the entries of the kind `contact` in src/seismo/grid/surface_closure.json, of order 8; a
minute each. Each starts from the entry there is, from that of the next shallower contact, or from
the plain closure of power 1.

What is minimised is the difference between exact plane waves and those of the grid
(`seismo.runs.prediction.contacts.scattering`): what a layer on a half-space sends back of P and S
waves from below, and how the surface moves for them, travelling and evanescent, over the band of a
Ricker wavelet whose 2.5 f0 has eight points per shortest wavelength. vz is read on the surface from
the rows above the contact and the prescribed slope.
Three pairs of media and contacts a tenth of a cell above and below share one closure; it does as
well for other pairs. The rows have the averages that runs have (`seismo.model.effective.column`).
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace

import numpy as np
from fit_surface_closure import DATA, key_of, least, rounded, write

from seismo.exact.stack import psv_slopes
from seismo.features.contacts.contact import Rock
from seismo.grid.coefficients import Stencil
from seismo.grid.interpolation import sloped_weights
from seismo.grid.surface_closure import (
    CONTACT_ROWS,
    ClosureConditions,
    ClosureKind,
    SurfaceClosure,
    close,
    closed_operators,
    surface_closure,
)
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average
from seismo.model.parts import DepthProfile
from seismo.runs.prediction.contacts.scattering import (
    ContactStack,
    DiscreteStack,
    exact,
    on_grid,
)

ORDER, ACCURACY, POINTS, ROWS = 8, 1, 8.0, CONTACT_ROWS
DEPTHS = np.arange(1.5, 5.0, 0.25)  # beyond, the rows reach too little below the contact
SOFT, HARD = Rock(1200.0, 600.0, 1900.0), Rock(3000.0, 1700.0, 2300.0)
LAYERS = (  # above, below, how far off in cells the contact is, weight
    (SOFT, HARD, -0.1, 1.0), (SOFT, HARD, 0.1, 1.0),
    (Rock(2000.0, 1000.0, 2100.0), HARD, 0.05, 0.8),
    (Rock(1700.0, 400.0, 1800.0), Rock(2200.0, 900.0, 2100.0), -0.05, 0.8),
)  # fmt: skip
STRETCH = np.array((1, 1.2, 1.45, 1.75, 2.1, 2.6, 3.3, 4.5))  # wavelength over the shortest one
SLOWNESS = np.array((0.05, 0.15, 0.25, 0.33, 0.45, 0.6, 0.75, 0.9, 1.0, 1.1))  # k vs / w
STEPS = 10  # of the search
DAMPING, SENT_BACK, BELOW = 0.06, 0.4, 6.0  # Im w / Re w; weight; cells from where waves come
LEAST_NORM, GROWTH, PULL = {"half": 0.3, "node": 0.2}, 1.11, 0.03


class LayerErrors:
    """The errors of a layer on a half-space with any closure, weighed."""

    def __init__(self, above: Rock, below: Rock, depth: float, weight: float) -> None:
        """Set exact waves, what errors are relative to, and the rows."""
        self.stack, slow = ContactStack((above, below), (0.0,), -depth), min(above.vs, below.vs)
        real = 2 * np.pi * slow / (POINTS * np.repeat(STRETCH, SLOWNESS.size))
        self.k = np.tile(SLOWNESS, STRETCH.size) * real / slow
        self.s = real * (1j + DAMPING)
        x = 2.5 / np.repeat(STRETCH, SLOWNESS.size)  # frequency over that of the Ricker wavelet
        spectrum = x * x * np.exp(1 - x * x) * np.sqrt(x / 2.5)
        self.reading = sloped_weights(0.0, math.ceil(depth))
        self.exact = exact(self.stack, self.s, self.k)
        self.c = Stencil(ORDER).first
        self.rows = self._rows(depth, int(np.ceil(depth)) + 5 * len(self.c) // 2 + 10)
        coming = np.exp(-psv_slopes(below, self.s, self.k).real * BELOW)
        coming /= coming.max(axis=1, keepdims=True)
        size = np.sqrt((np.abs(self.exact * coming[:, None]) ** 2).sum(2))
        back = np.hypot(size[:, 0], size[:, 1]).clip(min=1.0) / SENT_BACK
        moved = np.hypot(size[:, 2], size[:, 3])
        share = 1e3 * spectrum / np.linalg.norm(spectrum) * weight
        scale = np.stack([share / back] * 2 + [share / moved] * 2, 1)
        self.scale = scale[:, :, None] * coming[:, None]

    def _rows(self, depth: float, count: int) -> DiscreteStack:
        """Return the rows under a surface, with the differences of the interior."""
        names = ("vp", "vs", "rho")
        values = {n: np.array([getattr(m, n) for m in self.stack.media]) for n in names}
        flat = {n: np.zeros(2) for n in names}
        earth = Earth((DepthProfile(np.array([-1e6, depth]), values, flat),), names)
        wanted = ("rho", "c11", "c13", "c33", "c44")
        means = cell_average(
            earth,
            GridCells(np.arange(count) * 1.0, None, np.zeros(1), {"x": 1.0, "z": 1.0}),
            wanted,
            dtype=np.float64,
        )
        rho, c11, c13, c33, c44 = (means[name].reshape(-1) for name in wanted)
        up, down = closed_operators(self.c, count - 1, count)
        between = 2.0 / (1.0 / c44[1:] + 1.0 / c44[:-1])
        return DiscreteStack(
            depth, c11, c13, c33, between, rho, 0.5 * (rho[1:] + rho[:-1]), up, down
        )

    def residual(self, closure: SurfaceClosure) -> np.ndarray:
        """Return weighted errors (n), complex."""
        up, down = closed_operators(self.c, *self.rows.up.shape, closure)
        rows = replace(self.rows, up=up, down=down)
        waves = on_grid(self.stack, rows, self.c, self.s, self.k, self.reading)
        return ((np.where(np.isnan(waves), self.exact, waves) - self.exact) * self.scale).ravel()


class ContactErrors:
    """What is minimised, by the free numbers x of a closure."""

    def __init__(self, depth: float) -> None:
        """Set the layers, and the closures that are exact enough."""
        self.layers = [LayerErrors(above, below, depth + shift, weight)
                       for above, below, shift, weight in LAYERS]  # fmt: skip
        self.c = Stencil(ORDER).first
        self.conditions = ClosureConditions(self.c, ROWS, ROWS + 1)
        matrix, right = self.conditions.exact_up_to(ACCURACY)
        _, singular, vectors = np.linalg.svd(matrix)
        self.free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
        self.particular = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
        plain = surface_closure(Stencil(ORDER), ClosureKind.PLAIN, max_power=1)
        self.smooth = self.coordinates(self._vector(plain))

    def _vector(self, closure: SurfaceClosure) -> np.ndarray:
        """Return block and norms of a closure of fewer rows."""
        half, node = closure.half_norm[:ROWS], closure.node_norm[: ROWS + 1]
        half = np.append(half, np.ones(ROWS - half.size))
        node = np.append(node, np.ones(ROWS + 1 - node.size))
        block = self.conditions.interior[:ROWS, : ROWS + 1].copy()
        rows, columns = min(ROWS, closure.rows), min(ROWS + 1, closure.up.shape[1])
        block[:rows, :columns] = (half[:rows, None] * closure.up[:rows])[:, :columns]
        return np.concatenate([block.ravel(), half, node])

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return x of the closure nearest to a vector of its block and norms."""
        return self.free.T @ (vector - self.particular)

    def vector(self, x: np.ndarray) -> np.ndarray:
        """Return block and norms."""
        return self.particular + self.free @ x

    def closure(self, x: np.ndarray) -> SurfaceClosure:
        """Return the closure."""
        return close(self.c, self.conditions, 1.0, self.vector(x))

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return what is minimised: errors, and what bounds norms, growth and roughness."""
        half, node = np.split(self.vector(x)[ROWS * (ROWS + 1) :], [ROWS])
        low = np.minimum(np.r_[half - LEAST_NORM["half"], node - LEAST_NORM["node"]], 0.0)
        if min(half.min(), node.min()) < 0.03:
            return np.full(1, 1e6)
        closure = self.closure(x)
        errors = np.concatenate([layer.residual(closure) for layer in self.layers])
        excess = 5000 * max(0.0, closure.growth - GROWTH)
        return np.r_[errors.real, errors.imag, 500 * low, PULL * (x - self.smooth), excess]

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return its derivatives by x."""
        own, step = self.residual(x), 1e-6
        return np.stack([(self.residual(x + step * e) - own) / step for e in np.eye(x.size)], 1)


def fitted(depth: float, entry: dict | None) -> dict:
    """Fit one closure, show what it gives, and return its entry."""
    errors = ContactErrors(depth)
    start = errors.smooth
    if entry:
        parts = (np.ravel(entry["block"]), entry["half_norm"], entry["node_norm"])
        start = errors.coordinates(np.concatenate(parts))
    x = least(errors, start, STEPS)
    closure = errors.closure(x)
    parts = [1e-3 * np.linalg.norm(layer.residual(closure)) for layer in errors.layers]
    print(f"contact {depth:g} cells deep: waves err by", ", ".join(f"{100 * p:.2f}" for p in parts),
          f"%; growth {closure.growth:.3f}", flush=True)  # fmt: skip
    block, half, node = np.split(errors.vector(x), [ROWS * (ROWS + 1), ROWS * (ROWS + 2)])
    return {
        "order": ORDER, "kind": "contact", "accuracy": ACCURACY, "points": POINTS, "depth": depth,
        "half_norm": rounded(half, 9), "node_norm": rounded(node, 9),
        "block": rounded(block.reshape(ROWS, ROWS + 1), 9),
    }  # fmt: skip


def main() -> None:
    """Fit the closures of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--depths", type=float, nargs="+", default=DEPTHS.tolist())
    entries = {key_of(entry): entry for entry in json.loads(DATA.read_text())}
    before = None
    for depth in parser.parse_args().depths:
        key = (ORDER, "contact", ROWS, depth)
        before = entries[key] = fitted(depth, entries.get(key, before))
        write(entries)


if __name__ == "__main__":
    main()

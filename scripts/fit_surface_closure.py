"""Fit the closures of `seismo.grid.surface_closure` to the exact response of elastic half-spaces.

    python scripts/fit_surface_closure.py ORDER ... [--kind forces] [--rows 10] [--rounds 2]

rewrites the entries of these orders in src/seismo/grid/surface_closure.json; half a minute to a
minute each. Each starts from the entry there is (or that of another order).

On the grid, rows of vx (nodes) and vz (half points), with mu = rho = 1, spacing 1::

    A(k, w) = stiffness(Q, H_half, H_node; k, vp) - w^2 mass,     A y = r

r reads the surface's motion (vx on node 0; vz at z = 0 from four rows and the prescribed slope,
`seismo.solver.interpolation.traction_free_slopes`). A is symmetric, so that y, weighted as
`seismo.grid.interpolation` spreads a force at some depth, is the motion of the surface for that
force; its strains are those for a moment. The rows below are folded into A exactly. SH waves have
an A of their own, of the same Q. What is minimised is the difference from `half_space_response`,
over

- body waves and evanescent ones, 0 <= k vs / w <= 1.3, w over the band of a Ricker wavelet whose
  2.5 f0 has `points` points per shear wavelength, weighted by its spectrum; damping Im w 6 %;
- the Rayleigh wave alone, damping 1.2 %, so that its velocity counts as on a path of some 40
  wavelengths, longer waves (where runs on finer grids lie) more;
- near fields at places on the surface five cells and more from the source, in 2-D and 3-D: the
  integrals over k, with Im w half of Re w. For the kind `forces`, of moments below its rows only.

What is the same for all waves, or a low power of k and w, stays within a few cells of the source:
it is left out for sources on the surface and next to it. Growth of the time step and small norms
are bounded softly, and what grows in absorbing layers (`surface_layer_growth.py`). In later rounds
near fields weigh by their error. Ten rows that grew came from the seven of their order, which are
among them: from their own numbers a fit ends in a worse minimum.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from surface_errors import Weights
from surface_layer_growth import SilentErrors

from seismo.grid.coefficients import Stencil, under_surface

DATA = Path(__file__).parents[1] / "src" / "seismo" / "grid" / "surface_closure.json"
WEIGHTS = {
    "forces": Weights(force=1.0, moment=0.0, surface=3.0, near_force=0.6, near_moment=1.0,
                      pole=1.5, moments_from=9.9),
    "moments": Weights(force=0.5, moment=0.3, surface=0.1, near_force=0.5, near_moment=2.0,
                       pole=4.0, moments_from=0.0),
}  # fmt: skip
WEIGHTS["long"] = WEIGHTS["forces"]
ROUNDS = {"forces": 0, "moments": 2, "long": 0}
POINTS = {4: 8.0, 6: 6.0}  # per shortest wavelength, 5 for higher orders
LONG_POINTS, LONG_GROWTH = 8.0, 1.15  # of the kind long, in its own largest symbol
STEPS, ENOUGH = 40, 1e-3  # of a round at most; relative decrease that ends it
WANTED = 0.02  # of near fields


def least(grid: Any, x: np.ndarray, steps: int = STEPS) -> np.ndarray:
    """Minimise the sum of squares (Levenberg 1944; Marquardt 1963) in so many steps at most."""
    residual, damping = grid.residual(x), 1e-3
    cost = residual @ residual
    for _ in range(steps):
        jacobian, before = grid.jacobian(x), cost
        square, slope = jacobian.T @ jacobian, jacobian.T @ residual
        while damping < 1e6 and cost == before:
            step = np.linalg.solve(square + damping * np.diag(np.diag(square)), -slope)
            tried = grid.residual(x + step)
            if tried @ tried < cost:
                x, residual, cost, damping = x + step, tried, tried @ tried, damping / 16
            damping *= 4
        if before - cost < ENOUGH * cost:
            break
    return x


def rounded(values: np.ndarray, decimals: int = 15) -> list:
    """Return numbers with so many decimals."""
    return np.round(values, decimals).tolist()


def start(grid: SilentErrors, entry: dict) -> np.ndarray:
    """Return where a fit starts: at the closure nearest to an entry, of as many rows or others."""
    conditions = grid.conditions
    h, n = conditions.half_rows, conditions.node_rows
    block, half, node = np.split(conditions.interior_guess(), [h * n, h * n + h])
    known = np.array(entry["block"])[:h, :n]
    block.reshape(h, n)[: known.shape[0], : known.shape[1]] = known
    for norm, name in ((half, "half_norm"), (node, "node_norm")):
        norm[: len(entry[name])] = entry[name][: norm.size]
    return grid.coordinates(np.concatenate([block, half, node]))


def fitted(order: int, kind: str, rows: int, entry: dict, rounds: int) -> dict:
    """Fit one closure, show what it gives, and return its entry."""
    if kind == "long":
        stencil = Stencil(order, bounds=under_surface(order))
        grid = SilentErrors(stencil, rows, LONG_POINTS, WEIGHTS[kind], LONG_GROWTH)
    else:
        grid = SilentErrors(Stencil(order), rows, POINTS.get(order, 5.0), WEIGHTS[kind])
    x = least(grid, start(grid, entry))
    for _ in range(rounds):
        grid.weigh_again(x, WANTED)
        x = least(grid, x)
    errors = [f"{name} {100 * error:.2f}" for name, error in grid.worst(x).items()]
    print(f"order {order}, {kind}, {rows} rows: worst near fields in %:", ", ".join(errors),
          f"; growth {grid.growth(x):.3f}", flush=True)  # fmt: skip
    matrix, half, node = grid.operators(x, grid.top)
    return {
        "order": order, "kind": kind, "accuracy": grid.accuracy, "points": grid.points,
        "half_norm": rounded(half[:rows]), "node_norm": rounded(node[: rows + 1]),
        "block": rounded(matrix[:rows, : rows + 1]),
    }  # fmt: skip


def written(entry: dict) -> str:
    """Return an entry as text, a row of its block a line."""
    parts = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entry.items() if k != "block"]
    block = ",\n  ".join(json.dumps(row) for row in entry["block"])
    return "{" + ",\n ".join([*parts, f'"block": [\n  {block}]']) + "}"


def key_of(entry: dict) -> tuple[int, str, int, float]:
    """Return what tells an entry from others: order, kind, rows and the depth of a contact."""
    return entry["order"], entry["kind"], len(entry["half_norm"]), entry.get("depth", 0.0)


def write(entries: dict[tuple[int, str, int, float], dict]) -> None:
    """Write all entries, by their keys."""
    text = ",\n".join(written(entries[key]) for key in sorted(entries))
    DATA.write_text(f"[\n{text}\n]\n")


def main() -> None:
    """Fit the orders of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("orders", type=int, nargs="+", help="4, 6, ... 16")
    parser.add_argument("--kind", choices=WEIGHTS, default="forces")
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--rounds", type=int, help="with near fields weighed again")
    given = parser.parse_args()
    entries = {key_of(entry): entry for entry in json.loads(DATA.read_text())}
    rounds = ROUNDS[given.kind] if given.rounds is None else given.rounds
    for order in given.orders:
        key = (order, given.kind, given.rows, 0.0)
        kind = "forces" if given.kind == "long" else given.kind
        others = ((order, kind, given.rows, 0.0), (8, kind, given.rows, 0.0), (8, kind, 10, 0.0))
        known = [entries.get(k) for k in (key, *others)]
        entries[key] = fitted(*key[:3], next(filter(None, known)), rounds)
        write(entries)


if __name__ == "__main__":
    main()

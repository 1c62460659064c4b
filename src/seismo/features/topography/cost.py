"""What a point costs in rows that follow the ground, over one in flat rows.

Measured with two fifths of the rows curved: on an H200 elastic waves in 3-D at orders 4 (2.0) and
8 (3.0) and in 2-D (2.4, 2.5), acoustic ones in 3-D (1.6, 2.2), lossy ones 3.4; on 32 threads of its
host elastic waves in 3-D (3.8, 5.3) and in 2-D at order 8 (2.8).
"""

from __future__ import annotations

from seismo.solver.discretization import Discretization

# By dimensions: what it costs at no order, and for each order more.
CURVED_COST = {
    "cpu": {2: (2.8, 0.0), 3: (2.3, 0.375)},
    "gpu": {2: (2.3, 0.03), 3: (1.0, 0.25)},
}


def row_costs(discretization: Discretization, backend: str) -> tuple[float, int]:
    """Return what a point costs in rows that follow the ground, and their number."""
    rows = discretization.curved_rows.count if discretization.curved_rows else 0
    grid = discretization.grid
    return curved_cost(backend, grid.dimensions, discretization.stencil.order), rows


def uncut_rows(discretization: Discretization) -> range:
    """Return the rows before which a grid cannot be cut."""
    curved = discretization.curved_rows
    return range(curved.count + discretization.halo) if curved else range(0)


def curved_cost(backend: str, dimensions: int, order: int) -> float:
    """Return it for a backend by name, 1 for one that nobody has measured."""
    least, each = CURVED_COST.get(backend, {}).get(dimensions, (1.0, 0.0))
    return least + each * order

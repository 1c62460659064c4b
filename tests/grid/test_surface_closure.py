"""Closures of the differences at a free surface, against their defining equations."""

import numpy as np
import pytest

from seismo.grid import coefficients, surface_closure
from seismo.grid.coefficients import UNDER_SURFACE, Stencil
from seismo.grid.surface_closure import ClosureKind, closure_kind
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

TOLERANCES = (0.0, 1e-3, 2e-5)
KINDS = {
    "plain": (ClosureKind.PLAIN, np.inf, 3), "short": (ClosureKind.PLAIN, np.inf, 2),
    "shortest": (ClosureKind.PLAIN, np.inf, 1),
    "forces-7": (ClosureKind.FORCES, 7, 3), "forces-10": (ClosureKind.FORCES, 10, 3),
    "contact": (ClosureKind.CONTACT, 2.3, 3),
    "moments-7": (ClosureKind.MOMENTS, 7, 3), "moments-10": (ClosureKind.MOMENTS, 10, 3),
}  # fmt: skip
EVERY = [
    pytest.param(Stencil(order, tolerance), *kind, id=f"{order}-{tolerance}-{name}")
    for order in coefficients.ORDERS
    for tolerance in TOLERANCES
    for name, kind in KINDS.items()
]
MOST_GROWTH = 1.12


def whole_matrices(stencil: Stencil, kind: ClosureKind, even_rows=np.inf, most=3, size: int = 60):
    """Give G and D of a half line with `size` points of each kind, both norms and the closure."""
    closure, c = surface_closure.surface_closure(stencil, kind, even_rows, most), stencil.first
    interior = np.zeros((size, size + len(c)))
    for r in range(size):
        for m, weight in enumerate(c, 1):
            interior[r, r + m] += weight
            if r + 1 - m >= 0:
                interior[r, r + 1 - m] -= weight
    rows, width = closure.up.shape
    up = interior[:, :size].copy()
    up[:rows] = 0
    up[:rows, :width] = closure.up
    down = np.zeros((size, size))
    for n in range(size):
        for m, weight in enumerate(c, 1):
            if n + m - 1 < size:
                down[n, n + m - 1] += weight
            if n - m >= 0:
                down[n, n - m] -= weight
    down[:rows] = 0
    down[:rows, :width] = closure.down
    norms = [np.ones(size), np.ones(size)]
    for norm, near in zip(norms, (closure.half_norm, closure.node_norm), strict=True):
        norm[: len(near)] = near
    return up, down, *norms, closure


@pytest.mark.parametrize(("stencil", "kind", "rows", "most"), EVERY)
def test_closure_sums_by_parts(stencil, kind, rows, most) -> None:
    """H_half G = -(H_node D)^T for nodes below the surface, and both norms are positive.

    The surface row of D is free: the traction it would act on is zero there.
    """
    up, down, half, node, closure = whole_matrices(stencil, kind, rows, most)
    assert closure.node_norm.min() > 0.1
    assert closure.half_norm.min() > 0.1
    near = 60 - stencil.order
    product = half[:, None] * up + (node[:, None] * down).T
    assert np.abs(product[:near, :near]).max() < 1e-11


def accuracy_of(order: int, kind: ClosureKind, most: int) -> int:
    """Give the highest power that a closure differentiates exactly."""
    plain = min(order // 2, most, 3 if order < 14 else 2)
    unknown = order == 2 or (kind is ClosureKind.LONG and order not in UNDER_SURFACE)
    return plain if kind in (ClosureKind.PLAIN, ClosureKind.CONTACT) or unknown else 2


@pytest.mark.parametrize(
    ("kind", "most"),
    [*((kind, 3) for kind in ClosureKind), (ClosureKind.PLAIN, 2), (ClosureKind.PLAIN, 1)],
)
@pytest.mark.parametrize("order", coefficients.ORDERS)
def test_closure_is_exact_for_polynomials(order: int, kind: ClosureKind, most: int) -> None:
    """D on the surface row needs a vanishing function. Twelve decimals are kept."""
    up, down, *_, closure = whole_matrices(Stencil(order), kind, most=most)
    rows = closure.rows
    nodes, halves = np.arange(60.0), np.arange(60) + 0.5
    accuracy = accuracy_of(order, kind, most)
    for k in range(accuracy + 1):
        slope = k * halves ** max(k - 1, 0)
        scale = max(1.0, halves[rows] ** k)
        assert np.abs((up @ nodes**k - slope)[:rows]).max() < 1e-9 * scale
        slope = k * nodes ** max(k - 1, 0)
        error = np.abs(down @ halves**k - slope)[1 if k == 0 else 0 : rows]
        assert (error < 1e-9 * scale).all()
    if most < 3:  # few rows leave little that could err
        return
    k = max(accuracy + 1, 3)
    assert np.abs((up @ nodes**k - k * halves ** (k - 1))[:rows]).max() > 1e-6, "better than said"


@pytest.mark.parametrize("kind", ClosureKind)
@pytest.mark.parametrize("order", coefficients.ORDERS)
def test_closure_of_fitted_coefficients_is_as_good_as_they_are(order, kind) -> None:
    """Its interior is wrong by up to 0.1 % for straight lines too; the closure by a few of that.

    Norms that are exact for powers up to 2 take an interior that is exact for all up to 3, as
    fitted coefficients are but to their tolerance.
    """
    up, *_, closure = whole_matrices(Stencil(order, 1e-3), kind)
    slope = (up @ np.arange(60.0))[: closure.rows]
    assert np.abs(slope - 1).max() < 5e-3


@pytest.mark.parametrize(("stencil", "kind", "rows", "most"), EVERY)
def test_growth_is_the_largest_eigenvalue(stencil, kind, rows, most) -> None:
    """Of the half line, against that of the unbounded grid.

    The surface row counts: vx and sxz have it, though vz and the vanishing szz do not.
    """
    up, down, *_, closure = whole_matrices(stencil, kind, rows, most)
    operator = -(down @ up)
    largest = np.sqrt(np.abs(np.linalg.eigvals(operator)).max())
    limit = closure.growth * coefficients.largest_symbol(stencil.first)
    assert largest <= limit * (1 + 1e-8)
    assert largest > 0.9 * limit, "the limit wastes more than a tenth of the step"
    assert closure.growth <= MOST_GROWTH


@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize("order", coefficients.ORDERS[1:])
def test_the_largest_fit_that_lies_in_one_medium_is_taken(order: int, moments: bool) -> None:
    """Of ten half points, of seven where a contact lies between, and none where one is nearer."""
    kind = ClosureKind.MOMENTS if moments else ClosureKind.FORCES
    sizes = {np.inf: 11, 10.0: 11, 9.5: 8, 7.0: 8}
    for even_rows, rows in sizes.items():
        assert closure_kind(order, even_rows, moments) is kind
        closure = surface_closure.surface_closure(Stencil(order), kind, even_rows)
        assert closure.rows == max(rows, order // 2)
    assert closure_kind(order, 6.5, moments) is ClosureKind.PLAIN
    plain = surface_closure.surface_closure(Stencil(order), ClosureKind.PLAIN)
    near = surface_closure.surface_closure(Stencil(order), kind, 6.5)
    np.testing.assert_array_equal(near.up, plain.up)


def test_order_2_has_a_plain_closure_only() -> None:
    """The differences themselves decide there."""
    assert closure_kind(2, np.inf, moments=True) is ClosureKind.PLAIN


def test_rows_are_fitted_to_a_contact_so_deep() -> None:
    """Of order 8, from 1.5 to 4.75 cells; each is exact for straight lines."""
    rows = set()
    for contact in (1.4, 2.3, 3.0, 4.6):
        assert closure_kind(8, 0.5, moments=False, contact_depth=contact) is ClosureKind.CONTACT
        up, down, *_, closure = whole_matrices(Stencil(8), ClosureKind.CONTACT, contact)
        assert np.abs((up @ np.arange(60.0))[:8] - 1.0).max() < 1e-9
        assert np.abs((down @ (np.arange(60) + 0.5))[:8] - 1.0).max() < 1e-9
        rows.add(float(closure.node_norm[0]))
    assert len(rows) == 4
    for order, contact in ((8, 1.25), (8, 5.0), (12, 2.3), (8, np.inf)):
        assert closure_kind(order, 0.5, moments=False, contact_depth=contact) is ClosureKind.PLAIN
    assert closure_kind(8, 7.0, moments=False, contact_depth=4.0) is ClosureKind.FORCES


@pytest.fixture
def surface_layer_growth(script):
    """Return the script that the fits use."""
    return script("surface_layer_growth")


@pytest.mark.parametrize(
    ("order", "tolerance", "kind"),
    [
        pytest.param(
            order, tolerance, kind,
            marks=[] if (order, tolerance) == (8, 0.0) and "10" in kind else [pytest.mark.slow],
        )
        for order in coefficients.ORDERS[1:]
        for tolerance in TOLERANCES
        for kind in ("forces-7", "forces-10", "moments-7", "moments-10")
    ],
)  # fmt: skip
def test_no_wave_along_fitted_rows_grows_in_a_layer(
    order, tolerance, kind, surface_layer_growth
) -> None:
    """Rocks of vp / vs 1.45 to 3; fits that do not look at it grow by 0.005 to 0.012 vs / h."""
    stencil = Stencil(order, tolerance)
    closure = surface_closure.surface_closure(stencil, *KINDS[kind])
    rows = surface_layer_growth.ROWS
    differences = surface_closure.closed_operators(stencil.first, rows - 1, rows, closure)
    waves = surface_layer_growth.modes(*differences, stencil.first)
    assert max(wave.rate.real for wave in waves) < 0.0


@pytest.mark.parametrize("fluid", [90.0, 200.0])
def test_rows_are_fitted_to_a_contact_above_a_fluid(fluid: float) -> None:
    """Half points beside a fluid have no shear; NumPy's warnings are errors in tests."""
    lid = {"top": 0.0, "vp": 1200.0, "vs": 600.0, "rho": 1800.0}
    rock = {"vp": 3000.0, "vs": 1700.0, "rho": 2200.0}
    water = {"top": fluid, "vp": 1500.0, "vs": 0.0, "rho": 1000.0}
    layers = [lid, rock | {"top": 30.0}, water, rock | {"top": fluid + 60.0}]
    document = {
        "physics": "elastic",
        "grid": {"extent": {"x": 400.0, "z": 600.0}, "spacing": 10.0, "order": 8},
        "time": {"duration": 0.1},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{"type": "force", "position": {"x": 200.0, "z": 400.0}, "force": {"z": 1e6},
                     "wavelet": {"type": "ricker", "frequency": 6.0}}],
    }  # fmt: skip
    assert discretize(from_dict(document)).waves.surface is ClosureKind.CONTACT

"""The grid cut into boxes: every point owned once, edges and core without gap or overlap."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seismo.errors import ScenarioError
from seismo.grid.decomposition import LINE, SECTOR, PointCosts, best_parts, cost, decompose
from seismo.grid.grid import Grid
from seismo.solver.grid_layout import regions


def grid(points=(33, 48, 52), layer=6, axes="xyz") -> Grid:
    shape = tuple(n if a in axes else 1 for n, a in zip(points, "xyz", strict=True))
    layers = tuple(layer if a in axes else 0 for a in "xyz")
    return Grid(axes, shape, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), layers, layers)


def count(shape, boxes) -> np.ndarray:
    """Count how many boxes hold each point, (x, y, z)."""
    total = np.zeros(shape, int)
    for box in boxes:
        total[within(box)] += 1
    return total


def within(box) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in zip(box.lo, box.hi, strict=True))


def every(rows):
    return [s for row in rows for s in row]


@pytest.mark.parametrize("parts", [(1, 1), (2, 1), (1, 3), (2, 2), (3, 2)])
@pytest.mark.parametrize("axes", ["xz", "xyz"])
def test_every_point_is_owned_once(parts: tuple[int, int], axes: str) -> None:
    whole = grid(axes=axes)
    if axes == "xz" and parts[1] > 1:
        pytest.skip("a plane has no y to cut")
    parted = every(decompose(whole, 3, parts))
    assert len(parted) == parts[0] * parts[1]
    assert (count(whole.points, [s.owned for s in parted]) == 1).all()
    sizes = [s.owned.size for s in parted]
    assert max(sizes) < 1.2 * min(sizes)


@pytest.mark.parametrize("parts", [(1, 1), (2, 2), (3, 2)])
def test_edges_and_core_are_the_owned_points(parts: tuple[int, int]) -> None:
    """Edges are what neighbours hold as halo; a whole grid has none."""
    whole, halo = grid(), 3
    for s in every(decompose(whole, halo, parts)):
        edges, core = s.edges_and_core()
        total = count(whole.points, [*edges, core])
        assert (total == count(whole.points, [s.owned])).all()
        others = [o.owned for o in every(decompose(whole, halo, parts)) if o.owned != s.owned]
        found = count(whole.points, edges)[0] > 0
        wanted = np.zeros(found.shape, bool)
        for other in others:
            (_, y0, z0), (_, y1, z1) = other.lo, other.hi
            wanted[max(y0 - halo, 0) : y1 + halo, max(z0 - halo, 0) : z1 + halo] = True
        wanted &= count(whole.points, [s.owned])[0] > 0
        assert (found == wanted).all()
        assert found.any() == (len(others) > 0)


@pytest.mark.parametrize("unit", [LINE, SECTOR])
@given(
    st.integers(0, 32), st.integers(0, 47), st.integers(0, 51), st.sampled_from([(1, 1), (2, 3)])
)
def test_flat_index_finds_the_point(unit: int, x: int, y: int, z: int, parts) -> None:
    """In the owner's view, and on a 128-byte boundary at x = 0, of every other row at least."""
    for s in every(decompose(grid(), 3, parts, batch=2, unit=unit)):
        assert s.shape[2] % LINE == (0 if unit == LINE else SECTOR)
        array = np.arange(2 * s.volume + s.before)
        (inside,) = s.inside(array)[1:]
        odd = (y + s.offset[1]) % 2 if unit == SECTOR else 0
        assert s.flat(0, y, z) % LINE == odd * SECTOR
        if s.owns(y, z):
            lo = s.owned.lo
            assert inside[z - lo[2], y - lo[1], x] == s.flat(x, y, z) + s.volume


def code(subdomain) -> np.ndarray:
    """Give an array that holds the number of each point of the grid, halo along x too."""
    (_, y0, z0), (nx, y1, z1), halo = *vars(subdomain.padded).values(), subdomain.halo
    z, y, x = np.ix_(range(z0, z1), range(y0, y1), range(-halo, nx + halo))
    array = np.full(subdomain.volume * subdomain.batch + subdomain.before, -1)
    for shot in range(subdomain.batch):
        numbers = ((shot * 100 + z + 9) * 100 + y + 9) * 100 + x + 9
        array[subdomain.flat(x, y, z) + shot * subdomain.volume] = numbers
    return array


@pytest.mark.parametrize("axes", ["xz", "xyz"])
def test_places_of_other_cuts_hold_the_same_points(axes: str) -> None:
    """The halo behind a row stands in the next one, which is another where the grid is cut."""
    whole = grid((32, 48, 52), axes=axes)
    first, *others = (
        subdomain
        for parts in ((1, 1), (3, 1), (2, 2 if axes == "xyz" else 1))
        for subdomain in every(decompose(whole, 4, parts, batch=2))
    )
    wanted = first.global_block("field", first.padded).block(code(first))
    assert (wanted != -1).all()
    for other in others:
        block = other.global_block("field", other.padded)
        here, there = block.common(first.global_block("field", first.padded))
        found = block.block(code(other))
        assert found[here].size == found.size
        assert (found[here] == wanted[there]).all()


@pytest.mark.parametrize("lane", [1, 8, 16])
@pytest.mark.parametrize(("closed", "reach"), [(0, 0), (0, 4), (7, 0)])
@pytest.mark.parametrize("axes", ["xz", "xyz"])
def test_regions_cover_the_grid_once(lane: int, closed: int, reach: int, axes: str) -> None:
    whole = grid((75, 40, 44), axes=axes)
    if closed:
        whole = Grid(
            axes, whole.points, whole.spacing, whole.origin, (6, whole.low[1], 0), whole.high
        )
    found = regions(whole, lane, closed, reach)
    assert (count(whole.points, [r.box for r in found]) == 1).all()
    for region in found:
        if region.closed:
            assert region.box.hi[2] == closed


def test_narrow_parts_and_cut_layers_are_refused() -> None:
    whole = grid()
    with pytest.raises(ScenarioError, match="needs at least 16"):
        decompose(whole, 8, (5, 1))
    with pytest.raises(ScenarioError, match="lie in an absorbing layer"):
        decompose(grid(layer=14), 3, (1, 5))
    for parts in itertools.product((1, 2), (1, 2)):
        decompose(whole, 8, parts)


@pytest.mark.parametrize("dear", [1.3, 3.4])
@pytest.mark.parametrize("parts", [(3, 1), (1, 3), (2, 2), (3, 2)])
def test_parts_cost_about_the_same(parts: tuple[int, int], dear: float) -> None:
    """Cuts lie between planes: each may be wrong by half of the dearest plane on either side."""
    whole = grid((60, 70, 80), layer=8)
    costs = np.full(whole.points, dear)
    costs[8:-8, 8:-8, 8:-8] = 1.0
    parted = decompose(whole, 3, parts, costs=PointCosts(dear))
    found = [costs[within(s.owned)].sum() for s in every(parted)]
    slack = sum(1.0 / (n // p - 1) for n, p in zip((80, 70), parts, strict=True) if p > 1)
    assert max(found) < min(found) * (1.0 + dear * slack)


@pytest.mark.parametrize("parts", [(2, 1), (1, 2), (3, 2)])
def test_parts_with_rows_that_follow_the_ground_cost_about_the_same(parts: tuple[int, int]) -> None:
    whole = grid((60, 70, 120), layer=8)
    costs = np.full(whole.points, 2.0)
    costs[8:-8, 8:-8, 8:-8] = 1.0
    costs[:, :, :12] *= 3.0
    dear = PointCosts(2.0, 3.0, 12)
    parted = decompose(whole, 3, parts, costs=dear, uncut=frozenset(range(15)))
    found = [costs[within(s.owned)].sum() for s in every(parted)]
    assert [cost(whole, s.owned, dear) for s in every(parted)] == pytest.approx(found)
    assert max(found) < 1.12 * min(found)
    assert all(s.owned.lo[2] == 0 or s.owned.lo[2] >= 15 for s in every(parted))


def test_no_more_parts_fit_than_the_message_says() -> None:
    """The layers of 14 points leave 17 to 31 of 48 for cuts that are 6 apart: three of them."""
    thick = grid(layer=14)
    widths = [s.owned.shape[1] for s in every(decompose(thick, 3, (1, 4)))]
    assert sum(widths) == 48
    assert min(widths) >= 6
    with pytest.raises(ScenarioError, match=r"5 subdomains for 48 points along y; .* at most 4"):
        decompose(thick, 3, (1, 5))


@pytest.mark.parametrize(
    ("points", "count", "parts"),
    [
        ((40, 60, 60), 1, (1, 1)),
        ((40, 60, 60), 2, (2, 1)),  # as good along y; whole planes travel faster
        ((40, 60, 60), 4, (2, 2)),
        ((40, 90, 40), 3, (1, 3)),
        ((40, 40, 200), 4, (4, 1)),
    ],
)
def test_auto_cuts_where_fewest_points_travel(points, count, parts) -> None:
    assert best_parts(grid(points), 2, count, {}) == parts


def test_auto_goes_round_what_cannot_be_cut() -> None:
    periodic = {"y": "which is periodic"}
    assert best_parts(grid((40, 60, 60)), 2, 4, periodic) == (4, 1)
    assert best_parts(grid((33, 1, 90), axes="xz"), 2, 6, {}) == (6, 1)
    with pytest.raises(ScenarioError, match="at most"):
        best_parts(grid((33, 1, 30), axes="xz"), 2, 6, {})
    with pytest.raises(ScenarioError, match="periodic"):
        best_parts(grid(), 2, 4, periodic | {"z": "which is periodic"})

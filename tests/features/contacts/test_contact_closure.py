"""One-sided differences at contacts of fluid and solid: their theory, and reading beside them."""

from types import SimpleNamespace

import numpy as np
import pytest

from seismo.equations.rock.plane_waves import Rock
from seismo.features.contacts.checks import scholte_error, scholte_velocity
from seismo.features.contacts.closure import closed_rows, contact_closure
from seismo.features.contacts.contact import Contact, FluidContacts
from seismo.features.contacts.interpolation import side_weights
from seismo.features.contacts.operators import (
    row_norms,
    uncut_rows,
)
from seismo.grid.coefficients import ORDERS, staggered
from seismo.grid.interpolation import axis_weights

WATER = Rock(1500.0, 0.0, 1000.0)
HARD, SOFT, MUD = (
    Rock(3400.0, 1963.0, 2500.0), Rock(1800.0, 500.0, 1800.0), Rock(1520.0, 150.0, 1300.0)
)  # fmt: skip
PLACES = (50.0, 50.1, 50.5, 50.75)


def contact(place: float, solid: Rock = HARD, solid_above: bool = False) -> Contact:
    """Put a closed contact below or above water."""
    n = int(np.floor(place + 0.5))
    own_above = place - n > 1e-9
    media = (solid, WATER) if solid_above else (WATER, solid)
    own, other = media if own_above else media[::-1]
    beside = n + 1 if own_above else n - 1
    return Contact(n, beside, 0.5 - abs(place - n), own, other, 0.0, place, closed=True)


@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
@pytest.mark.parametrize("order", ORDERS)
def test_closures_are_exact_on_lines_and_have_positive_norms(order: int, tolerance: float) -> None:
    """Any position in the cell: norms below a tenth would cost the time step."""
    c = tuple(staggered(order, tolerance))
    rows, slope = closed_rows(len(c)), 2.0 * np.dot(c, np.arange(len(c)) + 0.5)
    for distance in np.linspace(0.0, 1.0, 11):
        nodes = distance + np.arange(rows + len(c))
        halves = np.append(0.0, distance + 0.5 + np.arange(rows - 1))
        for solid in (True, False):
            closure = contact_closure(c, float(distance), solid)
            assert min(closure.half_norm.min(), closure.node_norm.min()) > 0.1
            on_contact = slope * np.eye(rows)[0]
            assert np.allclose(closure.q @ np.ones(len(nodes)), on_contact, rtol=0, atol=1e-9)
            lines = slope * closure.half_norm
            assert np.allclose(closure.q @ nodes, lines, rtol=0, atol=1e-9)
            # The mass of a side: norms integrate from the contact on.
            whole = closure.half_norm.sum() - (halves[-1] + 0.5)
            assert abs(whole) < 1e-9
            assert abs(closure.node_norm.sum() - (nodes[rows - 1] + 0.5)) < 1e-9


@pytest.mark.parametrize("solid_above", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_both_sides_are_adjoint_and_know_where_they_are(place: float, solid_above: bool) -> None:
    """Stress of any slope on either side of a contact pushes what lies there, and nothing else."""
    one = contact(place, solid_above=solid_above)
    rows = one.operators(staggered(8), 3)
    assert np.allclose(rows.node_norm[:, None] * rows.down(),
                       -(rows.half_norm[:, None] * rows.up()).T, rtol=0, atol=1e-13)  # fmt: skip
    z = rows.first + np.arange(len(rows.node_norm)) - place
    kinked = np.where(z < 0, 2.0 * z, 5.0 * z)
    inner = slice(8, -8)
    found = (rows.q @ kinked)[inner]
    above, below = rows.shares
    wanted = rows.half_norm * np.where(np.arange(len(rows.half_norm)) < rows.middle, 2.0, 5.0)
    wanted[rows.middle] = 2.0 * above + 5.0 * below
    assert np.allclose(found, wanted[inner], rtol=0, atol=1e-9)


@pytest.mark.parametrize("solid", [HARD, MUD])
@pytest.mark.parametrize("place", PLACES)
def test_scholte_waves_have_their_velocity(place: float, solid: Rock) -> None:
    """Against the exact secular equation; 0.1.0 erred by up to 2.4 % at 7 points, 0.5 % at 14.

    Measured: up to 1.5 % at 7 points, 0.3 % at 14; the error falls as the third power.
    """
    c = tuple(staggered(8))
    errors = [abs(scholte_error(contact(place, solid), c, points)) for points in (7.0, 14.0)]
    assert errors[0] < 0.018
    assert errors[1] < 0.0035


def test_scholte_velocity_is_that_of_the_textbook() -> None:
    """Half-spaces of water and hard rock, by the interface conditions of `stack`."""
    assert scholte_velocity(contact(50.0)) == pytest.approx(1426.585, abs=0.01)


class _Run(dict):
    """Facts of a run by type, and further attributes of it."""

    def __init__(self, facts, **attributes):
        super().__init__(facts)
        vars(self).update(attributes)


def test_only_cuts_next_to_a_contact_are_refused() -> None:
    """Rows that are read lie within the halo for every cut that is left."""
    one, c, halo = contact(50.3), staggered(8), 4
    contacts = FluidContacts((one,), (one,))
    run = _Run({FluidContacts: contacts}, stencil=SimpleNamespace(first=c), halo=halo)
    refused = uncut_rows(run)
    assert refused
    assert max(abs(row - 50.5) for row in refused) < 10
    rows = one.operators(c)
    halves, nodes = np.nonzero(rows.up())
    for cut in set(range(30, 70)) - refused:
        near = (halves + rows.first < cut) & (nodes + rows.first >= cut + halo)
        assert not near.any()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("away", [-3.3, -0.5, -0.01, 0.0, 0.01, 0.5, 3.3])
def test_each_side_is_read_from_its_own_rows(place: float, away: float) -> None:
    """A field that jumps, and vz, which has a kink; a receiver on the contact is of the rock."""
    one, at = contact(place), place + away
    nodes, halves = np.arange(100.0), np.arange(100) + 0.5
    halves[one.half] = place  # vz of the contact itself
    below = away >= 0
    for name, half, z in (("vx", False, nodes), ("szz", False, nodes), ("vz", True, halves)):
        jump = 7.0 if name == "vx" else 0.0
        field = np.where(z < place, 1.0 + 0.1 * (z - place), 1.0 + jump + 0.3 * (z - place))
        found = side_weights((one,), name, half, at, 100)
        rows, weights = found or axis_weights(at, half)
        wanted = 1.0 + (jump + 0.3 * away if below else 0.1 * away)
        assert weights @ field[rows] == pytest.approx(wanted, abs=1e-9)
    rows, weights = side_weights((one,), "sxz", True, at, 100) or axis_weights(at, True)
    shear = np.where(halves > place, halves - place, 99.0)
    assert weights @ shear[rows] == pytest.approx(max(away, 0.0), abs=1e-9)


def test_away_from_contacts_nothing_changes() -> None:
    """Eight rows that lie on one side are read as anywhere."""
    one = contact(50.3)
    assert side_weights((one,), "vx", False, 44.7, 100) is None
    assert side_weights((one,), "vx", False, 56.2, 100) is None
    assert side_weights((one,), "vx", False, 51.0, 100) is None
    assert side_weights((one,), "vz", True, 45.9, 100) is None
    assert side_weights((), "vx", False, 50.3, 100) is None


def test_norms_of_rows_hold_the_mass_of_both_sides() -> None:
    """All vz from far above to far below a contact stand for as much mass as there is."""
    one, c = contact(50.3), staggered(8)
    nodes, halves = row_norms((one,), c, 100)
    density = np.where(np.arange(100) <= 50, WATER.rho, HARD.rho)
    between = 0.5 * (density + np.roll(density, -1))
    mass = (halves * between)[30:70].sum()
    assert mass == pytest.approx((50.3 - 30.0) * WATER.rho + (70.0 - 50.3) * HARD.rho, rel=1e-9)
    mass = (nodes * density)[30:70].sum()
    assert mass == pytest.approx((50.3 - 29.5) * WATER.rho + (69.5 - 50.3) * HARD.rho, rel=1e-9)

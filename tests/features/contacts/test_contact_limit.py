"""The longest stable step beside contacts of fluid and solid, wherever their rows meet.

Noise in all fields of a plane that is periodic along x: it has every wavenumber, the largest too.
Constant forces of its shear stress let velocities of a fluid grow with time, their squares by 4.
"""

import pytest

import solver
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

AIR = {"vp": 340.0, "vs": 0.0, "rho": 1.16}
GAS = {"vp": 400.0, "vs": 0.0, "rho": 10.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
ROCK = {"vp": 3000.0, "vs": 2000.0, "rho": 2000.0}
SOIL = {"vp": 1600.0, "vs": 300.0, "rho": 1700.0}
# Upright rock whose equations interpolate strains, too: turned by a right angle, and with loss.
ORTHORHOMBIC = {"vp": 2600.0, "vs": 1300.0, "rho": 2200.0, "epsilon1": 0.25, "epsilon2": 0.15,
                "delta1": 0.1, "delta2": 0.05, "delta3": -0.1, "gamma1": 0.2, "gamma2": 0.05,
                "azimuth": 90.0}  # fmt: skip
LOSS = {"qp": 20.0, "qs": 10.0}
LOSSY = {"attenuation": {"reference_frequency": 5.0}}
H = 10.0
MOST = 10.0  # times the sum of squares, in twice the time

# Contacts whose rows meet those of the surface or of each other, and fluid ones alone.
EARTHS = {
    **{f"air of {t:g} m": [(0.0, AIR), (t, ROCK)] for t in (70.0, 90.0, 100.0, 110.0, 150.0)},
    "air of 75.5 m": [(0.0, AIR), (75.5, SOIL)],
    "air of 200 m": [(0.0, AIR), (200.0, ROCK)],
    "gas of 100 m": [(0.0, SOIL), (120.0, GAS), (220.0, ROCK)],
    "gas of 40 m": [(0.0, ROCK), (200.0, AIR), (240.0, ROCK)],
    "rock of 30 m in gas": [(0.0, GAS), (90.0, ROCK), (120.0, GAS), (260.0, ROCK)],
    "water of 90 m": [(0.0, WATER), (90.0, ROCK)],
}


def plane(layers, order=8, dimensions=2, cells=15, top="free_surface", **changes):
    """Return a document with layers (depth in m, medium)."""
    along = solver.axes_of(dimensions)[:-1]
    middle = dict.fromkeys(along, 0.5 * H * cells)
    depth = 60 if dimensions == 2 else 36
    return {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {**dict.fromkeys(along, H * cells), "z": H * depth}, "spacing": H,
                 "order": order},
        "time": {"duration": 3.0},
        "boundaries": {f"{a}_{end}": "periodic" for a in along for end in ("min", "max")}
        | {"top": top, "bottom": "rigid"},
        "model": [{"type": "layers", "layers": [{"top": z, **medium} for z, medium in layers]}],
        "sources": [{"type": "explosion", "position": {**middle, "z": 0.8 * H * depth},
                     "moment": 1e9, "wavelet": {"type": "ricker", "frequency": 5.0}}],
    } | changes  # fmt: skip


def growth(document, courant):
    """Return by how much squares of noise grow from 150 steps of a share of the limit to 300."""
    simulation = solver.build(document, courant=courant)
    first, second = solver.levels_of_noise(simulation, [150, 150])
    return second / first


@pytest.mark.parametrize(
    "order", [8, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 6, 12, 16))]
)
@pytest.mark.parametrize("name", EARTHS)
def test_steps_just_below_the_limit_are_stable(name, order):
    assert growth(plane(EARTHS[name], order), 0.98) < MOST


@pytest.mark.parametrize("order", [4, 8])
def test_the_limit_is_not_told_far_too_short(order):
    """Where light fluid over rock has no closed rows it is that of the fastest vibration."""
    document = plane(EARTHS["air of 70 m"], order)
    (contact,) = discretize(from_dict(document)).slips.corrected
    assert not contact.closed
    assert not growth(document, 1.06) < MOST


@pytest.mark.parametrize(
    ("order", "depth"),
    [
        (8, 200.0),
        (16, 200.0),
        *(pytest.param(4, z, marks=pytest.mark.slow) for z in (200.0, 205.0)),
    ],
)
def test_closed_rows_of_light_fluids_have_their_own_limit(order, depth):
    """No difference reads across the contact, whose cell's average would allow a fifth."""
    document = plane([(0.0, AIR), (depth, ROCK)], order)
    (contact,) = discretize(from_dict(document)).slips.corrected
    assert contact.closed
    assert not growth(document, 1.08) < MOST


@pytest.mark.parametrize(
    ("dimensions", "lossy"), [(2, True), (3, False), pytest.param(3, True, marks=pytest.mark.slow)]
)
def test_in_space_and_with_losses(dimensions, lossy):
    layers = [(z, medium | LOSS if lossy else medium) for z, medium in EARTHS["air of 100 m"]]
    cells = 15 if dimensions == 2 else 7
    assert growth(plane(layers, 8, dimensions, cells, **LOSSY if lossy else {}), 0.98) < MOST


@pytest.mark.parametrize(
    ("depth", "order", "lossy"),
    [
        (70.0, 8, False),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (70.0, 8, True),
                (75.5, 8, True),
                (52.0, 4, False),
                (120.0, 16, False),
            )
        ),
    ],
)
def test_rows_that_interpolate_strains_are_stable(depth, order, lossy):
    """Weights of interpolation under a free surface are no differences of shear stress."""
    rock = ORTHORHOMBIC | LOSS if lossy else ORTHORHOMBIC
    document = plane([(0.0, WATER), (depth, rock)], order, **LOSSY if lossy else {})
    discretization = discretize(from_dict(document))
    assert discretization.physics.interpolates
    assert [contact.closed for contact in discretization.slips.corrected] == [False]
    assert growth(document, 0.98) < MOST


def test_closed_rows_may_lie_beside_a_rigid_bottom():
    """Their interior reaches beyond it; the bottom is at 600 m."""
    document = plane([(0.0, WATER), (500.0, ROCK)], 16)
    (contact,) = discretize(from_dict(document)).slips.corrected
    assert contact.closed
    assert growth(document, 0.98) < MOST


def test_contacts_of_water_and_rock_cost_little():
    """Four fifths and more of the limit of the rock alone."""
    document = plane(EARTHS["water of 90 m"])
    limit = discretize(from_dict(document)).clock.limit
    alone = discretize(from_dict(document | {"model": [{"type": "uniform", **ROCK}]})).clock.limit
    assert limit / alone > 0.8

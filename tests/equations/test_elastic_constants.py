"""Constants, rotation and wave speeds of anisotropic rock, against literature and closed forms."""

import numpy as np
import pytest

from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock import plane_waves

# Crystals, and the models of Becache, Fauqueux & Joly (2003): c11, c33, c13, c44.
PLANE = {
    "I": (4.0, 20.0, 3.8, 2.0),
    "II": (20.0, 20.0, 3.8, 2.0),
    "III": (4.0, 20.0, 4.9, 2.0),
    "IV": (4.0, 20.0, 7.5, 2.0),
    "apatite": (16.7, 14.0, 6.6, 6.63),
    "zinc": (16.5, 6.2, 5.0, 3.96),
}
GROWTH = {"I": 0.0, "II": 0.0, "III": 0.020, "IV": 0.342, "apatite": 0.033, "zinc": 0.091}
SHALE = {"vp": 3000.0, "vs": 1500.0, "rho": 2300.0, "epsilon": 0.2, "delta": 0.1, "gamma": 0.1}


def shale(**values) -> np.ndarray:
    return constants.matrix(constants.vti(**{**SHALE, **values}))


def random_rocks(count: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(3)
    vp, rho = generator.uniform(2000.0, 6000.0, count), generator.uniform(1500.0, 3000.0, count)
    rocks = {"vp": vp, "vs": vp * generator.uniform(0.2, 0.7, count), "rho": rho}
    return rocks | {k: generator.uniform(-0.3, 0.6, count) for k in ("epsilon", "delta", "gamma")}


@pytest.mark.parametrize("name", PLANE)
def test_layers_let_grow_what_is_published(name):
    """III and IV are unstable in perfectly matched layers, I and II are not (Becache et al.)."""
    c11, c33, c13, c44 = PLANE[name]
    rock = constants.matrix({"c11": c11, "c13": c13, "c33": c33, "c44": c44, "c66": 0.4 * c11})
    m = plane_waves.growth(rock[None], np.ones(1), 2)
    assert m.max() == pytest.approx(GROWTH[name], abs=6e-4)


def test_nothing_grows_in_layers_beside_shale_with_an_upright_axis():
    rocks = np.array([shale(), shale(epsilon=0.3, delta=-0.1, gamma=0.2)])
    assert not plane_waves.growth(rocks, np.full(2, 2300.0)).any()
    leaning = constants.rotate(shale(), constants.rotation(45.0, 30.0))
    assert 0.004 < plane_waves.growth(leaning[None], np.full(1, 2300.0)).max() < 0.009


def test_five_constants_are_those_of_thomsen():
    """His definitions (1986, eqs. 8 and 17) give back the parameters."""
    c = constants.vti(**SHALE)
    assert (c["c11"] - c["c33"]) / (2 * c["c33"]) == pytest.approx(0.2)
    assert (c["c66"] - c["c44"]) / (2 * c["c44"]) == pytest.approx(0.1)
    square = (c["c13"] + c["c44"]) ** 2 - (c["c33"] - c["c44"]) ** 2
    assert square / (2 * c["c33"] * (c["c33"] - c["c44"])) == pytest.approx(0.1)


def test_orthorhombic_rock_of_equal_planes_is_transversely_isotropic():
    c = constants.matrix(constants.vti(**SHALE))
    in_plane = (c[0, 1] + c[5, 5]) ** 2 - (c[0, 0] - c[5, 5]) ** 2
    third = in_plane / (2 * c[0, 0] * (c[0, 0] - c[5, 5]))
    values = {key: SHALE[key] for key in ("vp", "vs", "rho")}
    found = constants.orthorhombic(
        **values, epsilon=(0.2, 0.2), delta=(0.1, 0.1, third), gamma=(0.1, 0.1)
    )
    assert constants.matrix(found) == pytest.approx(c, rel=1e-12)


def test_isotropic_rock_has_its_two_speeds_whichever_way_it_is_turned():
    rock = shale(epsilon=0.0, delta=0.0, gamma=0.0)
    turned = constants.rotate(rock, constants.rotation(33.0, 70.0))
    assert turned == pytest.approx(rock, abs=1e-6 * rock.max())
    speed, group = plane_waves.waves(rock, 2300.0, plane_waves.directions())
    assert speed == pytest.approx(np.tile([1500.0, 1500.0, 3000.0], (len(speed), 1)))
    assert np.linalg.norm(group[:, 2], axis=1) == pytest.approx(speed[:, 2])


def test_rotations_make_a_group_and_lead_the_axis_where_the_angles_say():
    there = constants.rotation(np.array([20.0, 50.0]), np.array([30.0, -40.0]))
    back = np.swapaxes(there, -1, -2)
    assert there @ back == pytest.approx(np.tile(np.eye(3), (2, 1, 1)))
    rock = np.stack([shale(), shale(delta=-0.1)])
    assert constants.rotate(constants.rotate(rock, there), back) == pytest.approx(rock, abs=1e-2)
    twice = constants.rotate(constants.rotate(rock, there[:1]), there[1:])
    assert twice == pytest.approx(constants.rotate(rock, there[1:] @ there[:1]), abs=1e-2)
    tilt, azimuth = np.radians(50.0), np.radians(-40.0)
    axis = np.array([np.sin(tilt) * np.cos(azimuth), np.sin(tilt) * np.sin(azimuth), np.cos(tilt)])
    assert there[1] @ [0.0, 0.0, 1.0] == pytest.approx(axis)
    speed, _ = plane_waves.waves(constants.rotate(rock[0], there[1]), 2300.0, axis[None])
    assert speed[0] == pytest.approx([1500.0, 1500.0, 3000.0])


def test_waves_travel_with_the_energy_velocity():
    """Euler: n V = c. V is the gradient of c |k| as well: differences of it tell."""
    rock, n = shale(epsilon=0.3), plane_waves.directions()[::40]
    speed, group = plane_waves.waves(rock, 2300.0, n)
    assert np.einsum("al,aml->am", n, group) == pytest.approx(speed)
    step = 1e-4
    for axis in range(3):
        ends = []
        for sign in (1, -1):
            k = n + sign * step * np.eye(3)[axis]
            length = np.linalg.norm(k, axis=1, keepdims=True)
            ends.append(plane_waves.waves(rock, 2300.0, k / length)[0] * length)
        assert group[..., axis] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1)


def test_extreme_speeds_are_those_of_many_directions():
    rocks = random_rocks(500)
    c, rho = constants.vti(**rocks), rocks["rho"]
    possible = constants.positive_definite(constants.matrix(c))
    kept = {name: value[possible] for name, value in c.items()}
    n = plane_waves.directions(2)
    speed, _ = plane_waves.waves(constants.matrix(kept), rho[possible], n)
    least, largest = plane_waves.extreme_speeds(kept, rho[possible])
    assert (speed.max((1, 2)) / largest).max() <= 1.0 + 1e-12
    assert (speed.max((1, 2)) / largest).min() > 1.0 - 1e-5
    assert (speed.min((1, 2)) / least).min() >= 1.0 - 1e-9
    assert (speed.min((1, 2)) / least).max() < 1.0 + 1e-3
    ends = np.sqrt(np.maximum(kept["c11"], kept["c33"]) / rho[possible])
    assert (largest / ends).max() > 1.05  # some are fastest neither along the axis nor across it


def test_a_fluid_stays_one_to_the_last_bit():
    generator = np.random.default_rng(4)
    fluid = {"vp": generator.uniform(300.0, 3000.0, 999), "rho": generator.uniform(1.0, 2e3, 999)}
    fluid |= dict.fromkeys(("vs", "epsilon", "delta", "gamma"), np.zeros(999))
    assert (constants.thin_stretch(fluid) == 1.0).all()
    assert (constants.plate(fluid) == 0.0).all()


def test_what_no_rock_can_be_is_known():
    """Sylvester's minors forbid what the eigenvalues of the stiffness do."""
    rocks = random_rocks(4000)
    wanted = constants.positive_definite(constants.matrix(constants.vti(**rocks)))
    assert 0.5 < wanted.mean() < 0.9
    assert np.array_equal(constants.has_c13(rocks) & constants.takes_energy(rocks), wanted)
    assert not constants.has_c13(rocks).all()


def test_few_directions_find_the_rocks_that_grow_most() -> None:
    """Of many rocks at random, as of each in all directions."""
    generator = np.random.default_rng(4)
    vti = {
        "vp": generator.uniform(2500.0, 4000.0, 80), "vs": generator.uniform(900.0, 1400.0, 80),
        "rho": np.full(80, 2300.0), "epsilon": generator.uniform(0.1, 0.4, 80),
        "delta": generator.uniform(-0.1, 0.1, 80), "gamma": generator.uniform(0.0, 0.3, 80),
    }  # fmt: skip
    turn = constants.rotation(generator.uniform(-90, 90, 80), generator.uniform(-180, 180, 80))
    rocks = constants.rotate(constants.matrix(constants.constants_of(vti)), turn)
    found = plane_waves.growth(rocks, vti["rho"])
    each = [plane_waves.growth(rock[None], vti["rho"][:1]) for rock in rocks]
    np.testing.assert_allclose(found, np.max(each, axis=0), rtol=1e-12)

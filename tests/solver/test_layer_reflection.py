"""What absorbing layers reflect on the grid, exactly, at any frequency and angle."""

import numpy as np
import pytest

from layer_reflection import Wave, reflection
from seismo.grid.coefficients import centred, staggered
from seismo.solver.medium.cpml import (
    PmlParameters,
    default_profile,
    least_shift,
)

ORDER = 8
LEAST = {"acoustic": least_shift(staggered(ORDER), centred(ORDER))}
BEFORE = (1e-7, 2.0, 0.0)  # layers of 0.1.0
ANGLES = {"to 60": (0, 30, 45, 60), "68": (68,), "75": (75,)}
# Kind, fastest velocity of the medium over that of the model, vp / vs, alpha h / c: waves down to
# a sixth of the fastest, alpha of a wavelet whose highest frequency has 4.5 to 9 points.
MEDIA = (
    ("acoustic", 1.0, 1.0, 0.1), ("acoustic", 1.0, 1.0, 0.3), ("acoustic", 0.167, 1.0, 0.05),
    ("P", 1.0, 3**0.5, 0.3), ("S", 0.5, 3.0, 0.09),
)  # fmt: skip


def largest(points: int, profile: tuple[float, ...], kappa: float = 1.0, media=MEDIA):
    """Return the largest reflection by class of angles, from 4.5 points per wavelength on."""
    found = dict.fromkeys(ANGLES, 0.0)
    for kind, velocity, ratio, alpha in media:
        strength, power, steep = profile
        least = LEAST.get(kind, 0.0)
        layer = PmlParameters(strength, kappa, alpha, power, 1.0, least, steep=steep)
        waves = {
            name: [Wave(p, a, kind, velocity, ratio) for p in (4.5, 6, 9, 14) for a in angles]
            for name, angles in ANGLES.items()
        }
        every = reflection([w for some in waves.values() for w in some], ORDER, layer, points)
        for name, some in zip(waves, np.split(every, [16, 20]), strict=True):
            found[name] = max(found[name], float(some.max()))
    return found


def test_the_default_layer_reflects_no_more_than_twenty_points_did() -> None:
    """By class of angles, those of 0.1.0."""
    before, now = largest(20, BEFORE), largest(12, default_profile(12))
    assert all(now[name] <= before[name] for name in ANGLES), (now, before)
    assert before["to 60"] == pytest.approx(8.8e-4, rel=0.05)


@pytest.mark.parametrize("medium", MEDIA)
def test_nor_does_it_in_any_one_medium(medium) -> None:
    """To 60 degrees: what fast waves send back is not hidden by what slow ones do."""
    before, now = (
        largest(20, BEFORE, media=(medium,)),
        largest(12, default_profile(12), media=(medium,)),
    )
    assert now["to 60"] <= before["to 60"], (now, before)


@pytest.mark.parametrize("points", [5, 8, 20])
def test_profiles_suit_the_points_of_a_layer(points) -> None:
    """Layers of other widths reflect less than they did in 0.1.0, to 60 degrees."""
    before = largest(points, BEFORE, media=MEDIA[:1])
    now = largest(points, default_profile(points), media=MEDIA[:1])
    assert now["to 60"] < 0.75 * before["to 60"]


@pytest.mark.parametrize("points", [8, 12])
def test_a_stretched_layer_reflects_more(points) -> None:
    """As the schema says: with kappa 3 more than five times at 4.5 points, at any width."""
    plain = largest(points, default_profile(points), media=MEDIA[3:4])
    stretched = largest(points, default_profile(points), 3.0, MEDIA[3:4])
    assert stretched["to 60"] > 5.0 * plain["to 60"]


@pytest.mark.parametrize("kind", ["acoustic", "P", "S"])
def test_the_reflection_of_a_thick_layer_vanishes(kind) -> None:
    """As it must, where the line that it is compared with does not reflect."""
    layer = PmlParameters(1e-9, 1.0, 0.02, 3.0, 1.0, LEAST.get(kind, 0.0))
    assert reflection([Wave(8, 30, kind)], ORDER, layer, 60).max() < 1e-6

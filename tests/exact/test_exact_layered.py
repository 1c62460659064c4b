"""Layered solutions against closed forms, other people's programs, reciprocity and symmetry."""

import numpy as np
import pytest

from seismo.errors import SeismoError
from seismo.exact import (
    acoustic,
    layered,
    layered_plane,
    metrics,
    whole_space,
)
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

ROCK, SOIL, WATER = (
    Medium(3000.0, 1700.0, 2200.0),
    Medium(1800.0, 800.0, 1900.0),
    Medium(1500.0, 0.0, 1000.0),
)
DT = 8e-3
TIMES = np.arange(120) * DT
PULSE = np.exp(-(((TIMES - 0.3) / 0.06) ** 2))
MOMENT = np.array([[1.0, 0.4, -0.7], [0.4, -0.3, 0.9], [-0.7, 0.9, 0.5]])
SEABED = Stack((WATER, SOIL, ROCK), (0.0, 60.0, 130.0))


@pytest.mark.parametrize(
    "receiver",
    [pytest.param([310.0, 190.0, 40.0], marks=pytest.mark.slow), [30.0, 20.0, 500.0]],
)
def test_layers_of_one_medium_are_a_whole_space(receiver: list[float]) -> None:
    """Waves that cross invisible interfaces are those of the closed form (all terms, 3-D)."""
    same = Stack((ROCK, ROCK, ROCK), (100.0, 400.0), free_surface=False)
    position, at = np.array([0.0, 0, 200.0]), np.array([receiver])
    found = layered.moment_response(same, position, at, MOMENT, PULSE, DT)
    wanted = whole_space.moment_response(at - position, MOMENT, PULSE, DT, ROCK)
    assert metrics.relative_l2(found, wanted) < 1e-5
    force = np.array([0.3, -0.8, 0.5])
    found = layered.force_response(same, position, at, force, PULSE, DT, "velocity")
    wanted = whole_space.force_response(at - position, force, PULSE, DT, ROCK, "velocity")
    assert metrics.relative_l2(found, wanted) < 1e-5


@pytest.mark.parametrize("receiver", [[-310.0, 40.0], [30.0, 500.0]])
def test_plane_layers_of_one_medium_are_a_whole_space(receiver: list[float]) -> None:
    """The same in 2-D, with stress."""
    same = Stack((ROCK, ROCK, ROCK), (100.0, 400.0), free_surface=False)
    position, at, moment = np.array([0.0, 200.0]), np.array([receiver]), MOMENT[::2, ::2]
    found = layered_plane.moment_response(same, position, at, moment, PULSE, DT)
    wanted = whole_space.moment_response(at - position, moment, PULSE, DT, ROCK)
    assert metrics.relative_l2(found, wanted) < 1e-5
    found = layered_plane.force_response(same, position, at, [0.4, 0.7], PULSE, DT, "stress")
    wanted = whole_space.force_response(at - position, [0.4, 0.7], PULSE, DT, ROCK, "stress")
    assert metrics.relative_l2(found, wanted[:, 1]) < 1e-5


def test_sea_surface_is_the_image_source() -> None:
    """A fluid half-space with a free surface, in 2-D and 3-D, is direct wave minus image."""
    sea = Stack((WATER,), (0.0,))
    at2, at3 = np.array([[400.0, 30.0]]), np.array([[250.0, -300.0, 30.0]])
    # A moment M(t) injects volume at the rate M'(t)/K; as "moment_rate" the pulse is M'.
    p2 = layered_plane.moment_response(
        sea, [0, 50.0], at2, np.eye(2), PULSE, DT, "stress", "moment_rate"
    )[:, 1]
    p3 = layered.moment_response(
        sea, [0, 0, 50.0], at3, np.eye(3), PULSE, DT, "pressure", "moment_rate"
    )[:, 0]
    for pressure, receivers in ((-p2, at2), (p3, at3)):
        flat = [0.0] * (receivers.shape[1] - 1)
        direct, image = (
            acoustic.injection_pressure(
                receivers - np.array([*flat, z]), PULSE / WATER.bulk, DT, WATER.vp, WATER.rho
            )
            for z in (50.0, -50.0)
        )
        assert metrics.relative_l2(pressure, direct - image) < 1e-5


def pekeris_step(tau: np.ndarray) -> np.ndarray:
    """Return pi mu r uz / F at the surface of a solid with vp^2 = 3 vs^2; tau = t vs/r."""
    out, q, late = np.zeros_like(tau), np.sqrt(3), np.sqrt(3 + np.sqrt(3)) / 2
    first, second = (tau > 1 / q) & (tau < 1), (tau >= 1) & (tau < late)
    x = tau[first] ** 2
    out[first] = (
        6
        - q / np.sqrt(x - 0.25)
        - np.sqrt(3 * q + 5) / np.sqrt(0.75 + q / 4 - x)
        + np.sqrt(3 * q - 5) / np.sqrt(x + q / 4 - 0.75)
    ) / 32
    out[second] = (6 - np.sqrt(3 * q + 5) / np.sqrt(0.75 + q / 4 - tau[second] ** 2)) / 16
    out[tau >= late] = 3 / 8
    return out


def test_lamb_surface_to_surface_is_pekeris_closed_form() -> None:
    """Vertical force and receiver on the surface: Pekeris (1955), convolved by quadrature.

    The inverse square root at the Rayleigh arrival is removed by tau = late - y^2.
    """
    rho, vs, r = 2000.0, 1000.0, 250.0
    medium = Medium(vs * np.sqrt(3), vs, rho)
    found = layered.force_response(
        Stack((medium,), (0.0,)), [0, 0, 0.0], [[150.0, -200.0, 0.0]], [0, 0, 1.0], PULSE, DT
    )[0, 2]
    late = np.sqrt(3 + np.sqrt(3)) / 2
    nodes, weights = np.polynomial.legendre.leggauss(400)

    def rate(delay: np.ndarray) -> np.ndarray:
        x = (TIMES[:, None] - delay * r / vs - 0.3) / 0.06
        return -2 * x / 0.06 * np.exp(-(x**2))

    half = (1 - 1 / np.sqrt(3)) / 2
    tau = half * nodes + 1 - half
    total = half * (rate(tau) * pekeris_step(tau)) @ weights
    y = np.sqrt(late - 1) / 2 * (nodes + 1)
    tau = late - y**2
    total += np.sqrt(late - 1) / 2 * (rate(tau) * pekeris_step(tau) * 2 * y) @ weights
    total *= r / vs
    total += 3 / 8 * np.exp(-(((TIMES - late * r / vs - 0.3) / 0.06) ** 2))
    wanted = total / (np.pi * rho * vs**2 * r)
    assert metrics.relative_l2(found, wanted) < 1e-5


@pytest.mark.slow
def test_plane_lamb_is_the_line_integral_of_the_3d_one() -> None:
    """3-D forces along y over a layered half-space sum to the 2-D line force."""
    stack = Stack((SOIL, ROCK), (0.0, 70.0))
    pulse = PULSE[:70]
    y = np.arange(46) * 24.0  # under half the shortest wavelength, out to vp times 0.36 s
    line = np.stack([np.full(y.size, 90.0), y, np.full(y.size, 0.0)], -1)
    points = layered.force_response(stack, [0, 0, 40.0], line, [0, 0, 1.0], pulse, DT)
    found = layered_plane.force_response(stack, [0, 40.0], [[90.0, 0.0]], [0, 1.0], pulse, DT)[0]
    early = TIMES[:70] < 0.45
    both_sides = np.where(y == 0, 24.0, 48.0)
    wanted = np.tensordot(both_sides, points, (0, 0))[[0, 2]]
    assert metrics.relative_l2(found[:, early], wanted[:, early]) < 1e-4


@pytest.mark.slow
def test_forces_are_reciprocal_in_a_layered_half_space() -> None:
    """G_ij(A, B) = G_ji(B, A) across layers, 3-D and 2-D, one point on the sea floor's solid."""
    a, b = np.array([0.0, 0.0, 90.0]), np.array([120.0, -200.0, 210.0])
    there = layered.force_response(SEABED, a, [b], [1.0, 0, 0], PULSE, DT)[0]
    back = layered.force_response(SEABED, b, [a], [0, 0, 1.0], PULSE, DT)[0]
    assert metrics.relative_l2(there[2], back[0]) < 1e-6
    there = layered_plane.force_response(SEABED, a[1:], [b[1:]], [1.0, 0], PULSE, DT)[0]
    back = layered_plane.force_response(SEABED, b[1:], [a[1:]], [0, 1.0], PULSE, DT)[0]
    assert metrics.relative_l2(there[1], back[0]) < 1e-6


def test_explosion_in_water_is_reciprocal_to_pressure_of_a_force_in_rock() -> None:
    """K uz(B) of an explosion at A is minus the pressure at A of a vertical force at B."""
    a, b = np.array([0.0, 0.0, 20.0]), np.array([120.0, -200.0, 210.0])
    motion = layered.moment_response(SEABED, a, [b], np.eye(3), PULSE, DT)[0, 2]
    pressure = layered.force_response(SEABED, b, [a], [0, 0, 1.0], PULSE, DT, "pressure")[0, 0]
    assert metrics.relative_l2(WATER.bulk * motion, -pressure) < 1e-6
    motion = layered_plane.moment_response(SEABED, a[1:], [b[1:]], np.eye(2), PULSE, DT)[0, 1]
    stress = layered_plane.force_response(SEABED, b[1:], [a[1:]], [0, 1.0], PULSE, DT, "stress")
    assert metrics.relative_l2(WATER.bulk * motion, stress[0, 1]) < 1e-6


def test_azimuth_is_handled_by_rotation() -> None:
    """Turning source and receiver by 37 degrees about z turns the response."""
    stack = Stack((SOIL, ROCK), (0.0, 70.0))
    angle = np.radians(37)
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    at = np.array([200.0, -90.0, 10.0])
    plain = layered.moment_response(stack, [0, 0, 100.0], [at], MOMENT, PULSE, DT)[0]
    turned = layered.moment_response(
        stack, [0, 0, 100.0], [turn @ at], turn @ MOMENT @ turn.T, PULSE, DT
    )[0]
    assert metrics.relative_l2(turned, turn @ plain) < 1e-9


# Velocity (radial, transverse, down) m/s every 0.5 s from 2.5 s of the LOH.1 problem with a
# Gaussian moment rate (sigma 0.12 s at 0.84 s), by pyprop8 1.1.5 (O'Toole & Woodhouse 2011).
LOH1_PYPROP8 = np.array(
    [
        [
            0.1232873, 0.1599751, 0.0596389, -0.2100055, 0.3364493, 0.0944835, -0.2128742,
            0.0972857, 0.0216696, 0.0814061, -0.1824371,
        ],
        [
            0.0026521, 0.0298537, 0.0290959, -0.3668912, 0.0264388, 0.0378576, 0.1011563,
            -0.1804119, 0.0214188, 0.2463356, 0.0113093,
        ],
        [
            -0.1401355, 0.227268, 0.3246695, 0.2277017, -0.175949, -0.0326556, -0.2518354,
            -0.2821395, 0.3456202, -0.3913285, 0.2977007,
        ],
    ]
)  # fmt: skip


def test_layer_over_half_space_agrees_with_pyprop8() -> None:
    """LOH.1 (Day 2001), station 10: two programs that share no line."""
    stack = Stack((Medium(4000.0, 2000.0, 2600.0), Medium(6000.0, 3464.0, 2700.0)), (0.0, 1000.0))
    dt, moment = 0.05, np.zeros((3, 3))
    t = np.arange(160) * dt
    moment[0, 1] = moment[1, 0] = 1e18
    rate = np.exp(-0.5 * ((t - 0.84) / 0.12) ** 2) / (0.12 * np.sqrt(2 * np.pi))
    x, y, z = layered.moment_response(
        stack, [0, 0, 2000.0], [[6000.0, 8000.0, 0.0]], moment, rate, dt, "velocity", "moment_rate",
        cut=1e-7,
    )[0]  # fmt: skip
    found = np.array([0.6 * x + 0.8 * y, -0.8 * x + 0.6 * y, z])
    places = np.arange(50, 160, 10)
    assert np.abs(found[:, places] - LOH1_PYPROP8).max() < 1e-5 * np.abs(found).max()


def test_unusable_stacks_and_questions_are_refused() -> None:
    """Depths that do not fit, a receiver in the air, shear waves from a fluid."""
    with pytest.raises(SeismoError):
        Stack((ROCK, SOIL), (0.0,))
    with pytest.raises(SeismoError):
        Stack((ROCK, SOIL), (10.0, 0.0))
    with pytest.raises(SeismoError):
        SEABED.layer_at(-1.0)
    with pytest.raises(SeismoError):
        layered.force_response(SEABED, [0, 0, 90.0], [[9.0, 0, 0]], [0, 0, 1.0], PULSE, DT, "x")
    with pytest.raises(SeismoError):
        layered_plane.force_response(SEABED, [0, 90.0], [[0, 90.0]], [0, 1.0], PULSE, DT)

"""Interface coefficients, guided waves and the scheme's own dispersion against known answers."""

import numpy as np
import pytest

from seismo.errors import SeismoError
from seismo.exact import layered_plane, scheme, surface_waves
from seismo.exact import stack as interface
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

UPPER, LOWER = Medium(3000.0, 1500.0, 2000.0), Medium(4000.0, 2300.0, 2300.0)
WATER = Medium(1500.0, 0.0, 1000.0)
ANGLES = np.radians([0.0, 10.0, 20.0, 30.0, 40.0])
SLOWNESS = np.sin(ANGLES) / UPPER.vp

# bruges 0.5.4, zoeppritz_element, for the pair above at P angles 0, 10, 20, 30, 40 degrees.
BRUGES = {
    ("P", "above", "RP"): [0.21052632, 0.19856738, 0.16595124, 0.12523461, 0.12038818],
    ("P", "above", "RS"): [0.0, -0.09915949, -0.17806628, -0.21570688, -0.17946751],
    ("P", "above", "TS"): [0.0, -0.07474553, -0.14795869, -0.21760957, -0.28089472],
    ("S", "below", "TP"): [0.0, -0.0663216, -0.13396477, -0.2046164, -0.28130884],
}


@pytest.mark.parametrize("case", BRUGES)
def test_solid_solid_coefficients_agree_with_bruges(case: tuple[str, str, str]) -> None:
    """Zoeppritz (1919) in the signs of Aki & Richards, eight digits printed."""
    incident, side, name = case
    found = interface.coefficients(UPPER, LOWER, SLOWNESS, incident, side)[name]
    np.testing.assert_allclose(found, BRUGES[case], atol=2e-8)


def energy(above: Medium | None, below: Medium, incident: str, side: str) -> np.ndarray:
    """Return the vertical energy flux that leaves, relative to the incident one."""
    found = interface.coefficients(above, below, SLOWNESS, incident, side)
    home, other = (above, below) if side == "above" else (below, above)

    def flux(medium: Medium, wave: str) -> np.ndarray:
        speed = medium.vp if wave == "P" else medium.vs
        return medium.rho * speed * np.sqrt(np.maximum(0, 1 - (SLOWNESS * speed) ** 2))

    leaving = sum(
        abs(value) ** 2 * flux(home if name[0] == "R" else other, name[1])
        for name, value in found.items()
    )
    return leaving / flux(home, incident)


@pytest.mark.parametrize(
    ("above", "below", "incident", "side"),
    [
        (UPPER, LOWER, "P", "above"), (UPPER, LOWER, "S", "above"), (UPPER, LOWER, "P", "below"),
        (WATER, LOWER, "P", "above"), (WATER, LOWER, "S", "below"), (LOWER, WATER, "S", "above"),
        (None, LOWER, "P", "below"), (None, LOWER, "S", "below"),
        (WATER, Medium(1700, 0, 1200.0), "P", "above"),
    ],
)  # fmt: skip
def test_coefficients_conserve_energy(
    above: Medium | None, below: Medium, incident: str, side: str
) -> None:
    """The vertical energy flux of all outgoing waves is that of the incident one."""
    np.testing.assert_allclose(energy(above, below, incident, side), 1.0, rtol=1e-10)


def test_fluid_pair_is_the_impedance_formula() -> None:
    """Displacement and pressure reflect with the same sign in this convention."""
    oil = Medium(1300.0, 0.0, 850.0)
    found = interface.coefficients(WATER, oil, np.sin(ANGLES) / WATER.vp)["RP"]
    np.testing.assert_allclose(found, interface.acoustic_reflection(WATER, oil, ANGLES), atol=1e-12)


def test_impossible_incidence_is_refused() -> None:
    """No S comes out of water and nothing out of a vacuum."""
    with pytest.raises(SeismoError):
        interface.coefficients(WATER, LOWER, SLOWNESS, "S")
    with pytest.raises(SeismoError):
        interface.coefficients(None, LOWER, SLOWNESS, "P", "above")


def test_rayleigh_speed_of_a_poisson_solid() -> None:
    """vp^2 = 3 vs^2: c^2/vs^2 = 2 - 2/sqrt(3) (Lord Rayleigh 1885)."""
    medium = Medium(1000 * np.sqrt(3), 1000.0, 2000.0)
    assert surface_waves.rayleigh_speed(medium) == pytest.approx(
        1000 * np.sqrt(2 - 2 / np.sqrt(3)), rel=1e-11
    )


def test_scholte_speed_tends_to_rayleigh_and_is_seen_in_the_wavefield() -> None:
    """With a weightless fluid it is the Rayleigh speed; else the late sea-floor wave has it."""
    light = Medium(5000.0, 0.0, 1e-6)
    assert surface_waves.stoneley_speed(light, LOWER) == pytest.approx(
        surface_waves.rayleigh_speed(LOWER), rel=1e-8
    )
    soil = Medium(1800.0, 500.0, 1900.0)
    speed = surface_waves.stoneley_speed(WATER, soil)
    dt = 0.01
    t = np.arange(300) * dt
    pulse = np.exp(-(((t - 0.3) / 0.06) ** 2))
    floor = Stack((WATER, soil), (0.0,), free_surface=False)
    u = layered_plane.force_response(
        floor, [0, 5.0], [[500.0, 5.0], [900.0, 5.0]], [0, 1.0], pulse, dt, "velocity"
    )[:, 1]
    arrivals = [float(np.sum(t * x**2) / np.sum(x**2)) for x in u * (t > 0.9)]
    assert 400.0 / (arrivals[1] - arrivals[0]) == pytest.approx(speed, rel=2e-2)


STACK = Stack((Medium(1500.0, 600.0, 1800.0), Medium(3000.0, 1700.0, 2200.0)), (0.0, 50.0))
FREQUENCIES = np.array([5.0, 8.0, 20.0])
# disba 0.7 (Herrmann's surf96 with dunkin's matrix, dc 0.1 m/s) for the stack above.
DISBA = {
    ("rayleigh", 0): [1191.10560463, 606.94232338, 565.96576088],
    ("rayleigh", 1): [1295.82613588, 1181.11480775, 675.37730775],
    ("love", 0): [730.330214, 644.38372963, 606.72122963],
    ("love", 1): [np.nan, 1647.16637025, 669.899964],
}


@pytest.mark.parametrize("case", DISBA)
def test_phase_velocities_agree_with_disba(case: tuple[str, int]) -> None:
    """Two root searches on different secular functions; disba's own step is 1e-6."""
    kind, mode = case
    found = surface_waves.phase_velocities(STACK, FREQUENCIES, mode, kind)
    np.testing.assert_allclose(found, DISBA[case], rtol=2e-6)


def test_love_phase_velocity_satisfies_loves_equation() -> None:
    """Love (1911): tan(q H) = mu2 g2 / (mu1 q)."""
    c = surface_waves.phase_velocities(STACK, FREQUENCIES, 0, "love")
    k = 2 * np.pi * FREQUENCIES / c
    layer, below = STACK.media
    q = k * np.sqrt((c / layer.vs) ** 2 - 1)
    g = k * np.sqrt(1 - (c / below.vs) ** 2)
    np.testing.assert_allclose(np.tan(q * 50), below.mu * g / (layer.mu * q), rtol=1e-7)


def test_group_velocity_is_that_of_disba() -> None:
    """Slope d omega/d k of the fundamental Love mode; disba differs by its own step."""
    found = surface_waves.group_velocities(STACK, [8.0, 20.0], 0, "love")
    np.testing.assert_allclose(found, [561.05173978, 593.48292274], rtol=1e-4)


def test_surface_waves_refuse_fluids() -> None:
    """A fluid layer is outside the secular functions."""
    with pytest.raises(SeismoError):
        surface_waves.phase_velocities(Stack((WATER, LOWER), (0.0, 10.0)), [1.0])


def test_staggered_weights_are_those_of_the_textbooks() -> None:
    """Orders 2 and 4 (Levander 1988), and every order differentiates x exactly."""
    np.testing.assert_allclose(scheme.taylor_coefficients(2), [1.0])
    np.testing.assert_allclose(scheme.taylor_coefficients(4), [9 / 8, -1 / 24])
    for order in range(2, 17, 2):
        weights = scheme.taylor_coefficients(order)
        odd = 2 * np.arange(1, order // 2 + 1) - 1
        np.testing.assert_allclose(np.sum(weights * odd), 1.0, rtol=1e-12)


@pytest.mark.parametrize("order", [2, 4, 8])
def test_discrete_plane_wave_solves_the_discrete_equation(order: int) -> None:
    """Leapfrog on a periodic line, 1-D: the predicted frequency is reproduced to rounding."""
    count, h, c = 32, 10.0, 1500.0
    weights = scheme.taylor_coefficients(order)
    dt = 0.9 * scheme.stability_limit(c, [h], weights)
    k = 2 * np.pi * 5 / (count * h)
    omega = scheme.angular_frequency(np.array([k]), c, dt, [h], weights)
    x = np.arange(count) * h
    p = np.cos(k * x)
    factor = (
        scheme.discrete_derivative(np.array(k), h, weights) * dt * c / (2 * np.sin(omega * dt / 2))
    )
    v = factor * np.cos(k * (x + h / 2) + omega * dt / 2)
    for _ in range(50):
        v -= (
            c
            * dt
            / h
            * sum(w * (np.roll(p, -m - 1) - np.roll(p, m)) for m, w in enumerate(weights))
        )
        p -= (
            c
            * dt
            / h
            * sum(w * (np.roll(v, -m) - np.roll(v, m + 1)) for m, w in enumerate(weights))
        )
    np.testing.assert_allclose(p, np.cos(k * x - omega * 50 * dt), atol=1e-11)


def test_dispersion_vanishes_with_order_and_instability_is_refused() -> None:
    """Frequency tends to c |k| at order h^p; beyond the limit there is no wave."""
    k = np.array([0.03, 0.04])
    errors = [
        abs(scheme.angular_frequency(k, 1500.0, 1e-6, [h, h], scheme.taylor_coefficients(4)) - 75.0)
        for h in (20.0, 10.0)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.2)
    with pytest.raises(SeismoError):
        scheme.angular_frequency(np.array([np.pi / 10]), 1500.0, 1.0, [10.0], [1.0])

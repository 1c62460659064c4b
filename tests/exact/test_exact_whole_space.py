"""Whole-space solutions against independent derivations: time domain, quadrature, the equations."""

import numpy as np
import pytest

from seismo.errors import SeismoError
from seismo.exact import acoustic, respond, shear, transform, whole_space
from seismo.exact.medium import Medium

ROCK = Medium(3000.0, 1700.0, 2200.0)
DT = 2e-3
TIMES = np.arange(500) * DT
X = np.array([310.0, -220.0, 430.0])


def gaussian(t: np.ndarray, centre: float = 0.25, width: float = 0.04) -> np.ndarray:
    """Return a pulse that is zero to rounding at t = 0."""
    return np.exp(-(((t - centre) / width) ** 2))


def gaussian_rate(t: np.ndarray, centre: float = 0.25, width: float = 0.04) -> np.ndarray:
    """Return its derivative."""
    return -2 * (t - centre) / width**2 * gaussian(t, centre, width)


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference over the largest value."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def test_transform_returns_what_went_in_and_integrates_a_step() -> None:
    """A unit transfer is the identity and 1/s the integral, here of a Gaussian (a step)."""
    from scipy.special import erf

    source = gaussian(TIMES)
    assert error(respond(lambda s: np.ones_like(s), source, DT), source) < 1e-9
    step = 0.04 * np.sqrt(np.pi) / 2 * (1 + erf((TIMES - 0.25) / 0.04))
    assert error(respond(lambda s: 1 / s, source, DT), step) < 1e-9
    assert error(respond(lambda s: s, step, DT), source) < 1e-8


@pytest.mark.parametrize("bad", [np.zeros(5), np.array([]), np.array([1.0, np.nan])])
def test_transform_refuses_an_unusable_source(bad: np.ndarray) -> None:
    """Nothing, zeros and NaN are refused."""
    with pytest.raises(SeismoError):
        transform(bad, DT)


@pytest.mark.parametrize("distance", [5.0, 400.0, 1200.0])
def test_acoustic_3d_is_the_retarded_potential(distance: float) -> None:
    """Closed form s(t - r/c) / (4 pi r); tolerance from the 1e-12 damping and rounding."""
    found = acoustic.pressure([[distance, 0, 0]], gaussian(TIMES), DT, 1500.0)[0]
    assert error(found, gaussian(TIMES - distance / 1500) / (4 * np.pi * distance)) < 1e-8


def test_acoustic_2d_is_the_convolution_with_the_line_source() -> None:
    """Time-domain integral over tau = r/c cosh u, smooth, by Gauss quadrature."""
    r, c = 300.0, 1500.0
    nodes, weights = np.polynomial.legendre.leggauss(200)
    limit = np.arccosh(np.maximum(TIMES * c / r, 1.0))
    u = limit[:, None] * (nodes + 1) / 2
    delays = TIMES[:, None] - r / c * np.cosh(u)
    wanted = limit / 2 * (gaussian(delays) @ weights) / (2 * np.pi)
    found = acoustic.pressure([[0.6 * r, 0.8 * r]], gaussian(TIMES), DT, c)[0]
    assert error(found, wanted) < 1e-8


@pytest.mark.parametrize("dimensions", [2, 3])
def test_injection_satisfies_the_first_order_system(dimensions: int) -> None:
    """Equation rho v_t = -grad p, grad p by central differences of 1 m: error (k h)^2/6 ~ 1e-4."""
    rho, c, h = 1800.0, 1500.0, 1.0
    x = X[:dimensions]
    near = np.concatenate([x + h * np.eye(dimensions), x - h * np.eye(dimensions)])
    p = acoustic.injection_pressure(near, gaussian(TIMES), DT, c, rho)
    slope = (p[:dimensions] - p[dimensions:]) / (2 * h)
    v = acoustic.injection_velocity([x], gaussian_rate(TIMES), DT, c, rho)[0]
    assert error(-rho * v, slope) < 5e-4
    same = acoustic.pressure([x], rho * gaussian_rate(TIMES), DT, c)
    assert error(acoustic.injection_pressure([x], gaussian(TIMES), DT, c, rho), same) < 1e-8
    flow = acoustic.velocity([x], rho * gaussian_rate(TIMES), DT, c, rho)
    assert error(acoustic.injection_velocity([x], gaussian(TIMES), DT, c, rho), flow) < 1e-8


def test_half_space_pressure_vanishes_at_a_free_surface() -> None:
    """The image has the opposite sign: p = 0 at the surface, the same sign doubles it."""
    at = [[250.0, 10.0]]
    free = acoustic.half_space_pressure(at, [0, 90.0], gaussian(TIMES), DT, 1500.0, 10.0)
    lid = acoustic.half_space_pressure(at, [0, 90.0], gaussian(TIMES), DT, 1500.0, 10.0, 1.0)
    direct = acoustic.pressure([[250.0, -80.0]], gaussian(TIMES), DT, 1500.0)
    assert np.abs(free).max() < 1e-12 * np.abs(direct).max()
    assert error(lid, 2 * direct) < 1e-12


def near_field(t: np.ndarray, r: float, power: int) -> np.ndarray:
    """Return the integral of tau^power f(t - tau) from r/vp to r/vs by Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    low, high = r / ROCK.vp, r / ROCK.vs
    tau = (high - low) / 2 * nodes + (high + low) / 2
    return (high - low) / 2 * (gaussian(t[:, None] - tau) * tau**power) @ weights


def test_point_force_is_aki_richards_4_23() -> None:
    """Near and far field of eq. 4.23 in the time domain."""
    r = float(np.linalg.norm(X))
    g, delta = X / r, np.eye(3)
    near = (3 * np.outer(g, g) - delta)[..., None] * near_field(TIMES, r, 1) / r**3
    p = np.outer(g, g)[..., None] * gaussian(TIMES - r / ROCK.vp) / (ROCK.vp**2 * r)
    s = (np.outer(g, g) - delta)[..., None] * gaussian(TIMES - r / ROCK.vs) / (ROCK.vs**2 * r)
    wanted = (near + p - s) / (4 * np.pi * ROCK.rho)
    for axis in range(3):
        found = whole_space.force_response([X], delta[axis], gaussian(TIMES), DT, ROCK)[0]
        assert error(found, wanted[:, axis]) < 1e-8


def aki_richards_4_29(moment: np.ndarray) -> np.ndarray:
    """Return u (3, time) of eq. 4.29 for a Gaussian M(t)."""
    r = float(np.linalg.norm(X))
    g, delta = X / r, np.eye(3)
    ggg = np.einsum("n,p,q->npq", g, g, g)
    a, b, c = (
        np.einsum("n,pq->npq", g, delta),
        np.einsum("p,nq->npq", g, delta),
        np.einsum("q,np->npq", g, delta),
    )
    vp, vs = ROCK.vp, ROCK.vs
    terms = (
        ((15 * ggg - 3 * a - 3 * b - 3 * c) / r**4, near_field(TIMES, r, 1)),
        ((6 * ggg - a - b - c) / (vp**2 * r**2), gaussian(TIMES - r / vp)),
        (-(6 * ggg - a - b - 2 * c) / (vs**2 * r**2), gaussian(TIMES - r / vs)),
        (ggg / (vp**3 * r), gaussian_rate(TIMES - r / vp)),
        ((c - ggg) / (vs**3 * r), gaussian_rate(TIMES - r / vs)),
    )
    return sum(
        np.einsum("npq,pq->n", tensor, moment)[:, None] * series for tensor, series in terms
    ) / (4 * np.pi * ROCK.rho)


def test_moment_tensor_is_aki_richards_4_29() -> None:
    """Near, intermediate and far field of eq. 4.29 for a general symmetric tensor."""
    moment = np.array([[1.0, 0.4, -0.7], [0.4, -0.3, 0.9], [-0.7, 0.9, 0.5]])
    wanted = aki_richards_4_29(moment)
    found = whole_space.moment_response([X], moment, gaussian(TIMES), DT, ROCK)[0]
    assert error(found, wanted) < 1e-8
    rate = whole_space.moment_response(
        [X], moment, gaussian_rate(TIMES), DT, ROCK, time_function="moment_rate"
    )[0]
    assert error(rate, wanted) < 1e-8
    velocity = whole_space.moment_response([X], moment, gaussian(TIMES), DT, ROCK, "velocity")[0]
    assert error(velocity[:, 1:-1], (wanted[:, 2:] - wanted[:, :-2]) / (2 * DT)) < 5e-3


def test_plane_green_function_is_the_line_integral_of_the_3d_one() -> None:
    """A line of 3-D forces along y (trapezium, exact for a band-limited field) is the 2-D force."""
    step, count = 15.0, 320
    y = (np.arange(-count, count + 1)) * step
    times = TIMES[:300]
    line = np.stack([np.full(y.size, 200.0), y, np.full(y.size, 150.0)], -1)
    for axis, force in ((0, [1.0, 0, 0]), (2, [0, 0, 1.0])):
        points = whole_space.force_response(line, force, gaussian(times), DT, ROCK)
        wanted = points.sum(axis=0)[[0, 2]] * step
        flat = [force[0], force[2]]
        found = whole_space.force_response([[200.0, 150.0]], flat, gaussian(times), DT, ROCK)[0]
        assert error(found, wanted) < 1e-6, axis


@pytest.mark.parametrize("dimensions", [2, 3])
def test_derived_quantities_are_derivatives_of_displacement(dimensions: int) -> None:
    """The gradient against central differences of 0.5 m, (k h)^2/6 ~ 1e-5; the rest from it."""
    x, h, unit = X[:dimensions], 0.5, np.eye(dimensions)
    moment = np.array([[1.0, 0.4, -0.7], [0.4, -0.3, 0.9], [-0.7, 0.9, 0.5]])[
        :dimensions, :dimensions
    ]

    def ask(points: np.ndarray, quantity: str) -> np.ndarray:
        return whole_space.moment_response(points, moment, gaussian(TIMES), DT, ROCK, quantity)

    u = ask(np.concatenate([x + h * unit, x - h * unit]), "displacement")
    gradient = ask([x], "gradient")[0]
    assert error(gradient, np.moveaxis(u[:dimensions] - u[dimensions:], 0, 1) / (2 * h)) < 1e-4
    divergence = ask([x], "divergence")[0]
    assert error(divergence, np.trace(gradient)) < 1e-9
    assert error(ask([x], "pressure")[0], -ROCK.bulk * divergence) < 1e-9
    strain = gradient + np.swapaxes(gradient, 0, 1)
    wanted = ROCK.mu * strain + ROCK.lame * np.eye(dimensions)[..., None] * divergence
    assert error(ask([x], "stress")[0], wanted) < 1e-9
    rotation = ask([x], "rotation")[0]
    about_y = 0.5 * (gradient[0, -1] - gradient[-1, 0])
    assert error(rotation if dimensions == 2 else rotation[1], about_y) < 1e-9


@pytest.mark.parametrize("dimensions", [2, 3])
def test_moment_tensor_is_a_sum_of_force_couples(dimensions: int) -> None:
    """u_i = -M_jk d_k G_ij with the analytic gradient of the force solution."""
    moment = np.array([[1.0, 0.4, -0.7], [0.4, -0.3, 0.9], [-0.7, 0.9, 0.5]])[
        :dimensions, :dimensions
    ]
    x = [X[:dimensions]]
    wanted = -sum(
        np.einsum(
            "k,ikt->it",
            moment[j],
            whole_space.force_response(x, axis, gaussian(TIMES), DT, ROCK, "gradient")[0],
        )
        for j, axis in enumerate(np.eye(dimensions))
    )
    found = whole_space.moment_response(x, moment, gaussian(TIMES), DT, ROCK)[0]
    assert error(found, wanted) < 1e-9


def test_stress_and_displacement_satisfy_the_equation_of_motion() -> None:
    """Equation rho u_tt = div sigma away from the source, differences of 0.5 m."""
    h, force = 0.5, np.array([0.3, -0.8, 0.5])

    def ask(points: np.ndarray, quantity: str) -> np.ndarray:
        return whole_space.force_response(points, force, gaussian(TIMES), DT, ROCK, quantity)

    stress = ask(np.concatenate([X + h * np.eye(3), X - h * np.eye(3)]), "stress")
    divergence = sum(stress[a, :, a] - stress[a + 3, :, a] for a in range(3)) / (2 * h)
    assert error(ROCK.rho * ask([X], "acceleration")[0], divergence) < 1e-4


def test_explosion_in_a_solid_without_rigidity_is_volume_injection() -> None:
    """M(t) in a fluid equals q = M'(t)/K: same pressure and velocity."""
    water = Medium(1500.0, 0.0, 1000.0)
    explosion = np.eye(3)
    p = whole_space.moment_response([X], explosion, gaussian(TIMES), DT, water, "pressure")
    rate = gaussian_rate(TIMES) / water.bulk
    assert error(p, acoustic.injection_pressure([X], rate, DT, water.vp, water.rho)) < 1e-8
    v = whole_space.moment_response([X], explosion, gaussian(TIMES), DT, water, "velocity")
    assert error(v, acoustic.injection_velocity([X], rate, DT, water.vp, water.rho)) < 1e-8


def test_shear_line_force_is_the_transverse_part_of_the_3d_force() -> None:
    """SH in 2-D is the line integral of 3-D forces along y pointing along y."""
    step = 15.0
    y = np.arange(-320, 321) * step
    times = TIMES[:300]
    line = np.stack([np.full(y.size, 200.0), y, np.full(y.size, 150.0)], -1)
    points = whole_space.force_response(line, [0, 1.0, 0], gaussian(times), DT, ROCK)
    found = shear.force_response([[200.0, 150.0]], [0, 0], gaussian(times), DT, ROCK.vs, ROCK.rho)
    assert error(found[0], points.sum(axis=0)[1] * step) < 1e-6


def test_shear_surface_is_free_and_moment_is_a_couple_of_forces() -> None:
    """sigma_yz = 0 at the surface for force and moment; Mxy is -d/dx of the force."""
    at, arguments = [[150.0, 5.0]], (gaussian(TIMES), DT, ROCK.vs, ROCK.rho)
    place = np.array([0.0, 80.0])
    couple = np.array([0.6, -0.4])
    force = shear.force_response(at, place, *arguments, "stress", 5.0)[0]
    moment = shear.moment_response(at, place, couple, *arguments, "stress", 5.0)[0]
    for stress in (force, moment):
        assert np.abs(stress[1]).max() < 1e-12 * np.abs(stress[0]).max()
    h = 0.5
    pairs = [
        shear.force_response(at, place + sign * h * axis, *arguments, surface=5.0)[0]
        for axis in np.eye(2)
        for sign in (1, -1)
    ]
    wanted = (couple[0] * (pairs[0] - pairs[1]) + couple[1] * (pairs[2] - pairs[3])) / (2 * h)
    found = shear.moment_response(at, place, couple, *arguments, surface=5.0)[0]
    assert error(found, wanted) < 1e-4


def test_unusable_questions_are_refused() -> None:
    """A receiver on the source, an unknown quantity, an impossible medium."""
    with pytest.raises(SeismoError):
        whole_space.force_response([[0.0, 0, 0]], [0, 0, 1.0], gaussian(TIMES), DT, ROCK)
    with pytest.raises(SeismoError):
        whole_space.force_response([X], [0, 0, 1.0], gaussian(TIMES), DT, ROCK, "colour")
    with pytest.raises(SeismoError):
        whole_space.moment_response([X], np.eye(3), gaussian(TIMES), DT, ROCK, time_function="x")
    with pytest.raises(SeismoError):
        Medium(1000.0, 900.0, 2000.0)

"""Exact solutions where waves attenuate, against elastic ones and what attenuation means."""

import numpy as np
import pytest

from seismo.exact import (
    acoustic,
    layered,
    layered_plane,
    metrics,
    shear,
    whole_space,
)
from seismo.exact import medium as anelastic
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

ROCK = Medium(3000.0, 1700.0, 2200.0)
SOFT = Medium(1800.0, 800.0, 1900.0)
DT = 0.004
TIMES = np.arange(512) * DT
PULSE = np.exp(-(((TIMES - 0.3) / 0.05) ** 2))
MOMENT = np.array([[1.0, 0.4, 0.2], [0.4, -0.5, 0.3], [0.2, 0.3, 0.1]])


def attenuating(medium: Medium, quality: float, law=anelastic.constant_q) -> Medium:
    modulus = law(quality, 5.0)
    return anelastic.AttenuatingMedium(medium.vp, medium.vs, medium.rho, modulus, modulus)


@pytest.mark.parametrize("law", [anelastic.constant_q, anelastic.kolsky])
@pytest.mark.parametrize("d", [2, 3])
def test_without_loss_the_trace_is_the_elastic_one(d, law) -> None:
    offsets = np.array([[900.0, 300.0, 500.0]])[:, 3 - d :]
    for quantity in ("velocity", "stress", "pressure"):
        wanted, found = (
            whole_space.moment_response(offsets, MOMENT[:d, :d], PULSE, DT, medium, quantity)
            for medium in (ROCK, attenuating(ROCK, 1e9, law))
        )
        assert metrics.relative_l2(found, wanted) < 1e-7
    elastic = anelastic.AttenuatingMedium(ROCK.vp, ROCK.vs, ROCK.rho)
    wanted, found = (
        whole_space.force_response(offsets, MOMENT[0, :d], PULSE, DT, medium)
        for medium in (ROCK, elastic)
    )
    assert metrics.relative_l2(found, wanted) < 1e-12


@pytest.mark.parametrize("law", [anelastic.constant_q, anelastic.kolsky])
@pytest.mark.parametrize("quality", [10.0, 100.0])
def test_far_waves_decay_with_distance_and_travel_at_their_phase_velocity(quality, law) -> None:
    """Two receivers of a 3-D explosion in a fluid: spectra differ by exp(-pi f t / Q) and r."""
    c, near, far = 2000.0, 500.0, 1500.0
    speed = anelastic.speed(c, law(quality, 5.0))
    p = acoustic.pressure([[near, 0, 0], [far, 0, 0]], PULSE - PULSE[0], DT, speed)
    frequencies = np.fft.rfftfreq(8192, DT)
    ratio = np.fft.rfft(p[1], 8192) / np.fft.rfft(p[0], 8192) * far / near
    at = np.argmin(np.abs(frequencies - 5.0))
    time = (far - near) / c
    assert np.abs(ratio[at]) == pytest.approx(
        np.exp(-np.pi * frequencies[at] * time / quality), rel=6e-3
    )
    delay = -np.unwrap(np.angle(ratio))[at] / (2 * np.pi * frequencies[at])
    assert delay == pytest.approx(time, rel=1e-3)


def test_nothing_arrives_before_the_unrelaxed_speed() -> None:
    ratio = anelastic.relaxation((0.06, 0.006), (0.04, 0.004))
    rock = anelastic.AttenuatingMedium(ROCK.vp, ROCK.vs, ROCK.rho, ratio, ratio)
    # A source that begins at once is smoothed by nothing but its own samples.
    source = np.where(
        TIMES > 0.3, PULSE, PULSE * np.exp(-((np.minimum(TIMES - 0.3, 0) / 0.02) ** 2))
    )
    u = whole_space.force_response([[1500.0, 0, 0]], [1.0, 0, 0], source, DT, rock)[0, 0]
    started = np.argmax(source > 1e-10 * source.max()) * DT
    early = started + 1500.0 / ROCK.vp
    assert np.abs(u[early > TIMES]).max() < 1e-7 * np.abs(u).max()


def test_bulk_and_shear_moduli_make_the_p_modulus() -> None:
    bulk, mu = anelastic.constant_q(80.0, 5.0), anelastic.constant_q(30.0, 5.0)
    s = np.array([1 + 20j, 3 + 90j])
    for d, part in ((2, 1.0), (3, 4 / 3)):
        medium = anelastic.of_bulk_and_shear(ROCK, bulk, mu, d).at(s)
        elastic_bulk = ROCK.lame + (2 - part) * ROCK.mu
        assert medium.lame + (2 - part) * medium.mu == pytest.approx(elastic_bulk * bulk(s))
        assert medium.mu == pytest.approx(ROCK.mu * mu(s))


def test_a_fluid_attenuates_as_the_elastic_solution_without_rigidity() -> None:
    ratio = anelastic.constant_q(25.0, 5.0)
    water = anelastic.AttenuatingMedium(1500.0, 0.0, 1000.0, ratio)
    offsets = [[300.0, 0, 400.0]]
    found = whole_space.moment_response(offsets, np.eye(3), PULSE, DT, water)
    # An explosion of unit moment injects volume at the rate M' over the complex bulk modulus.
    speed = anelastic.speed(1500.0, ratio)
    injected = acoustic.injection_velocity(offsets, PULSE, DT, speed, 1000.0)
    s = 2j * np.pi * 5.0
    spectra = [np.fft.rfft(trace[0, 0], 8192) for trace in (found, injected)]
    at = round(5.0 * 8192 * DT)
    s = 2j * np.pi * at / (8192 * DT)
    assert spectra[0][at] == pytest.approx(spectra[1][at] / (1000.0 * speed(s) ** 2), rel=1e-4)


def test_a_shear_wave_is_the_transverse_part_of_the_3d_force() -> None:
    ratio = anelastic.constant_q(20.0, 5.0)
    y = np.linspace(-12000, 12000, 601)
    offsets = np.stack([np.full_like(y, 400.0), y, np.full_like(y, 300.0)], -1)
    rock = anelastic.AttenuatingMedium(ROCK.vp, ROCK.vs, ROCK.rho, ratio, ratio)
    line = whole_space.force_response(offsets, [0, 1.0, 0], PULSE, DT, rock)[:, 1].sum(0) * 40.0
    plane = shear.force_response(
        [[400.0, 300.0]], [0, 0], PULSE, DT, anelastic.speed(ROCK.vs, ratio), ROCK.rho
    )[0]
    assert metrics.relative_l2(line, plane) < 1e-4


@pytest.mark.parametrize(
    "receiver",
    [pytest.param([700.0, 200.0, 300.0], marks=pytest.mark.slow), [200.0, 100.0, 900.0]],
)
def test_layers_of_one_attenuating_medium_are_a_whole_space(receiver) -> None:
    rock = attenuating(ROCK, 15.0)
    stack = Stack((rock, rock), (400.0,), free_surface=False)
    source = [0.0, 0, 200.0]
    found = layered.moment_response(stack, source, [receiver], MOMENT, PULSE, DT, "velocity")
    wanted = whole_space.moment_response(
        np.subtract([receiver], source), MOMENT, PULSE, DT, rock, "velocity"
    )
    assert metrics.relative_l2(found, wanted) < 5e-6


def test_plane_layers_of_one_attenuating_medium_are_a_whole_space() -> None:
    rock = attenuating(ROCK, 15.0)
    stack = Stack((rock, rock), (400.0,), free_surface=False)
    found = layered_plane.force_response(stack, [0, 200.0], [[700.0, 900.0]], [1.0, 2.0], PULSE, DT)
    wanted = whole_space.force_response([[700.0, 700.0]], [1.0, 2.0], PULSE, DT, rock)
    assert metrics.relative_l2(found, wanted) < 5e-6


@pytest.mark.parametrize("module", [pytest.param(layered, marks=pytest.mark.slow), layered_plane])
def test_layers_without_loss_are_elastic_ones_and_others_weaker(module) -> None:
    coarse = 4
    axes = [0, 1, 2] if module is layered else [0, 2]
    position, receiver, force = np.array([[0, 0, 600.0], [1200.0, 0, 0], [0.3, 0, 1.0]])[:, axes]

    def trace(*media: Medium) -> np.ndarray:
        stack = Stack(media, (0.0, 300.0))
        pulse = PULSE[::coarse]
        return module.force_response(
            stack, position, [receiver], force, pulse, coarse * DT, cut=1e-3
        )

    elastic = trace(SOFT, ROCK)
    assert metrics.relative_l2(trace(*(attenuating(m, 1e9) for m in (SOFT, ROCK))), elastic) < 1e-6
    weaker = trace(*(attenuating(m, 10) for m in (SOFT, ROCK)))
    assert np.linalg.norm(np.diff(weaker)) < 0.8 * np.linalg.norm(np.diff(elastic))

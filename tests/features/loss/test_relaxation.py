"""Relaxation mechanisms: how they follow laws of attenuation, and what a time step has of them."""

import math
import time

import numpy as np
import pytest

from seismo.equations.rock.relaxation import (
    Law,
    Relaxation,
    prescribed,
    warped,
)
from seismo.equations.rock.relaxation_fit import fit
from seismo.errors import SeismoError

DECADE = (1.0, 10.0)
BROAD = (0.5, 10.0)
CONSTANT = Law("kjartansson", 4.0)
# Carcione et al. (1988): relaxation of the 2-D bulk and shear moduli.
SIGMA = (8.841941282883074e-2, 8.841941282883074e-3, 8.841941282883074e-4)
BULK = (0.109527114743452, 1.070028707488438e-2, 1.132519034287800e-3)
SHEAR = (0.112028084581976, 1.093882462934487e-2, 1.167173427475064e-3)
CARCIONE = {
    "bulk": list(zip(BULK, SIGMA, strict=True)),
    "shear": list(zip(SHEAR, SIGMA, strict=True)),
}


def y_of(quality: float) -> float:
    return 1 / (quality + 1)


@pytest.mark.parametrize("name", ["kjartansson", "kolsky"])
@pytest.mark.parametrize(("band", "mechanisms", "loss"), [(DECADE, 3, 0.015), (BROAD, 4, 0.0065)])
@pytest.mark.parametrize("from_middle", [0.5, 1.0, 1.3, 2.0])
def test_quality_and_velocity_follow_the_law(name, from_middle, band, mechanisms, loss) -> None:
    reference = math.sqrt(band[0] * band[1]) * from_middle
    relaxation = fit(Law(name, reference), band, mechanisms)
    most = 1.0 if from_middle == 1 else 1.6  # of velocities that are exact elsewhere in the band
    for quality, velocity in ((10, 4e-4), (20, 2e-4), (50, 2e-4), (1000, 2e-4)):
        errors = relaxation.errors(y_of(quality))
        assert errors[0] < loss * (1 if quality > 10 else 1.1)
        assert errors[1] < velocity * most


def test_errors_are_those_of_the_modulus_itself() -> None:
    relaxation = fit(CONSTANT, DECADE, 3)
    omega = 2 * np.pi * np.geomspace(*DECADE, 300)
    quality = relaxation.quality("s", y_of(30), omega)
    assert np.abs(30 / quality - 1).max() == pytest.approx(relaxation.errors(y_of(30))[0], rel=0.02)


LAWS = [CONSTANT, Law("kolsky", 1.0), Law("power", 1.0, 2.0, 0.5), Law("power", 3.0, 0.2, 1.0)]


@pytest.mark.parametrize(
    ("law", "band"),
    [
        # Fits of power laws have many starts: every day one of them, in one band.
        pytest.param(law, band, marks=[pytest.mark.slow] * slow)
        for law in LAWS for band in ((1.0, 1.5), DECADE, (0.1, 100.0))
        for slow in [law.name == "power" and (law, band) != (LAWS[-1], DECADE)]
    ],
)  # fmt: skip
def test_no_frequency_gains_energy_down_to_the_least_quality(law, band) -> None:
    y = np.linspace(0, y_of(5), 50)
    for mechanisms in (1, 3, 8):
        weights = fit(law, band, mechanisms).anelastic("p", y)
        assert weights.min() >= 0
        assert weights.sum(0).max() < 1


def test_few_mechanisms_are_taken_where_they_do() -> None:
    assert fit(CONSTANT, (1.0, 3.0)).mechanisms == 2
    assert fit(CONSTANT, DECADE).mechanisms == 3
    assert fit(CONSTANT, (0.1, 10.0)).errors(y_of(20))[0] < 0.015
    # A power law bends at its corner, where more mechanisms do not help.
    assert fit(Law("power", 1.0, 3.0, 0.5), DECADE).mechanisms < 6


@pytest.mark.parametrize(
    ("corner", "exponent", "most"),
    [(3.0, 0.6, 0.055), pytest.param(0.5, 1.0, 0.03, marks=pytest.mark.slow)],
)
def test_more_mechanisms_follow_a_power_law_no_worse(corner, exponent, most) -> None:
    law = Law("power", 4.0, corner, exponent)
    assert max(fit(law, DECADE, count).errors(y_of(30))[0] for count in range(3, 7)) < most
    assert fit(law, DECADE, 3, dt=0.005).errors(y_of(30))[0] < most


def test_fits_are_fast_and_the_same_every_time() -> None:
    first = fit(CONSTANT, (0.3, 6.0), 4)
    fit.cache_clear()
    start = time.perf_counter()
    again = fit(CONSTANT, (0.3, 6.0), 4)
    assert time.perf_counter() - start < 2.0  # 0.05 s where nothing else runs
    assert again == first
    assert hash(again) == hash(first)


def test_a_cell_without_loss_is_elastic() -> None:
    relaxation = fit(CONSTANT, DECADE, 3)
    y = relaxation.cell_value("p", np.array([math.inf, 50.0]), 3000.0, 1500.0)
    assert y[0] == 0
    assert not relaxation.anelastic("p", y)[:, 0].any()
    assert relaxation.velocity_ratio("p", y)[0] == 1
    assert relaxation.quality("p", 0.0, 10.0) == math.inf


@pytest.mark.parametrize("law", [CONSTANT, Law("kolsky", 4.0), Law("power", 4.0, 2.0, 0.6)])
def test_the_reference_frequency_has_the_given_velocity(law) -> None:
    for relaxation in (fit(law, DECADE, 3), fit(law, DECADE, 3, dt=0.01)):
        ratio = relaxation.velocity_ratio("s", y_of(15))
        velocity = ratio * relaxation.phase_velocity("s", y_of(15), 2 * np.pi * 4.0)
        assert velocity == pytest.approx(1, abs=1e-12)
        assert ratio > 1


def test_a_reference_outside_the_band_is_carried_over_by_the_law() -> None:
    law = Law("kjartansson", 0.1)
    relaxation = fit(law, DECADE, 3)
    omega = 2 * np.pi * 3.0
    velocity = relaxation.velocity_ratio("p", y_of(20)) * relaxation.phase_velocity(
        "p", y_of(20), omega
    )
    assert velocity == pytest.approx(law.phase_velocity(1 / 20, omega), rel=4e-4)
    assert relaxation.errors(y_of(20))[1] < 4e-4


@pytest.mark.parametrize("law", [CONSTANT, Law("power", 4.0, 2.0, 0.6), Law("kolsky", 4.0)])
def test_laws_disperse_as_their_attenuation_demands(law) -> None:
    """The slope of ln|M| over ln w is 2/pi arg M where that changes slowly; M is analytic."""
    omega = 2 * np.pi * np.array([200.0, 201.0])
    modulus = law.modulus(0.02, omega)
    slope = np.diff(np.log(np.abs(modulus)))[0] / np.diff(np.log(omega))[0]
    local = 2 / np.pi * np.angle(modulus).mean()
    assert slope == pytest.approx(local, rel=0.35 if law.name == "power" else 1e-2)
    inside = law.modulus(0.02, omega * (1 - 1e-6j))
    assert np.abs(inside / modulus - 1).max() < 1e-5


def test_a_power_law_has_its_quality() -> None:
    law = Law("power", 1.0, corner=2.0, exponent=0.6)
    modulus = law.modulus(1 / 50, 2 * np.pi * np.array([0.5, 2.0, 20.0]))
    assert modulus.imag / modulus.real == pytest.approx([0.02, 0.02, 0.02 * 10**-0.6], rel=2e-4)
    # Its fit, which knows both phase and amplitude, can only follow if these belong together.
    assert max(fit(law, (4.0, 40.0), 4).errors(y_of(50))) < 0.01


def step_response(relaxation: Relaxation, y: float, dt: float, omega: float) -> complex:
    """Return stress over strain of a cell that is strained as exp(i w t), after it has settled."""
    keep, gain = relaxation.decay(dt)
    weights = relaxation.anelastic("s", y)
    strain_rate = np.exp(1j * omega * dt * (np.arange(60000) + 0.5))
    memory = np.zeros(relaxation.mechanisms, complex)
    stress, strain, ratios = 0j, 0j, []
    for rate in strain_rate:
        new = keep * memory + gain * rate
        stress += dt * (rate - weights @ (new + memory) / 2)
        strain += dt * rate
        memory = new
        ratios.append((stress, strain))
    # The constants of both integrations drop out of the difference of two steps.
    late, later = np.array(ratios[-2]), np.array(ratios[-1])
    return (later - late)[0] / (later - late)[1]


def test_a_step_has_exactly_the_modulus_that_is_said_of_it() -> None:
    dt = 0.02
    relaxation = fit(CONSTANT, DECADE, 3, dt=dt)
    omega = 2 * np.pi * 8.0
    expected = complex(relaxation.modulus("s", y_of(12), omega))
    assert step_response(relaxation, y_of(12), dt, omega) == pytest.approx(expected, rel=1e-12)
    continuous = complex(relaxation.with_step(0).modulus("s", y_of(12), omega))
    assert abs(expected / continuous - 1) > 5e-4


def test_results_without_time_dispersion_have_the_modulus_of_their_own_frequency() -> None:
    dt = 0.01
    relaxation = fit(CONSTANT, DECADE, 3, dt=dt, dispersion_removed=True)
    omega = 2 * np.pi * 8.0
    taken = 2 / dt * math.asin(omega * dt / 2)  # by the leapfrog
    expected = complex(relaxation.modulus("s", y_of(12), omega))
    assert step_response(relaxation, y_of(12), dt, taken) == pytest.approx(expected, rel=1e-12)
    assert relaxation.errors(y_of(12))[0] < 0.015
    assert warped(omega, 0.0, True) == omega


def test_prescribed_times_are_the_moduli_they_say() -> None:
    omega = 2 * np.pi * np.array([0.5, 18.0, 400.0])
    vp, vs = 3297.849, 2222.536
    relaxation = prescribed(CARCIONE, dimensions=2)
    y = relaxation.cell_value("p", 1.0, vp, vs)

    def modulus(epsilons):
        pairs = list(zip(epsilons, SIGMA, strict=True))
        ratios = [(1 + 1j * omega * e) / (1 + 1j * omega * s) for e, s in pairs]
        return sum(ratios) / sum(e / s for e, s in pairs)

    mu = vs**2 * modulus(SHEAR)
    bulk = (vp**2 - vs**2) * modulus(BULK)
    assert relaxation.modulus("s", 0.0, omega) == pytest.approx(mu / vs**2, rel=1e-12)
    assert relaxation.modulus("p", y, omega) == pytest.approx((bulk + mu) / vp**2, rel=1e-12)
    assert relaxation.velocity_ratio("p", y) == 1
    # a fluid has the bulk modulus only
    fluid = relaxation.cell_value("p", 1.0, vp, 0.0)
    assert relaxation.modulus("p", fluid, omega) == pytest.approx(modulus(BULK), rel=1e-12)


def test_bulk_is_another_modulus_in_space() -> None:
    relaxation = prescribed(CARCIONE, dimensions=3)
    assert relaxation.cell_value("p", 1.0, 2000.0, 1000.0) == pytest.approx(1 / 3)


def test_mechanisms_of_both_waves_are_united() -> None:
    relaxation = prescribed({"p": [(0.11, 0.1)], "s": [(0.013, 0.01), (0.12, 0.1)]})
    assert relaxation.frequencies == (10.0, 100.0)
    assert relaxation.anelastic("p", 0.0).tolist() == pytest.approx([0.1 / 1.1, 0])
    assert prescribed({"p": [(0.11, 0.1)]}).anelastic("s", 0.0).tolist() == [0]


def test_a_pair_may_gain_what_others_lose() -> None:
    pairs = [(0.2, 0.1), (0.0099, 0.01)]
    relaxation = prescribed({"p": pairs})
    omega = np.geomspace(1e-2, 1e5, 200)
    assert relaxation.modulus("p", 0.0, omega).imag.min() >= 0
    assert relaxation.anelastic("p", 0.0).min() < 0
    with pytest.raises(SeismoError, match=r"relaxation\.p gains energy at some frequencies"):
        prescribed({"p": [(0.11, 0.1), (0.005, 0.01)]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Law("futterman", 1.0), "law is 'futterman'; it can be kjartansson, kolsky, power"),
        (lambda: Law("kolsky", 0.0), "reference_frequency is 0.0 Hz"),
        (lambda: Law("power", 1.0), "give a positive corner and an exponent"),
        (lambda: Law("kolsky", 1.0, corner=2.0), "use law: power"),
        (lambda: fit(CONSTANT, (10.0, 1.0)), "band is 10 .. 1 Hz"),
        (lambda: fit(CONSTANT, DECADE, 9), "mechanisms is 9; it can be 1 to 8, or auto"),
        (lambda: fit(CONSTANT, DECADE, 3, dt=0.1), "band ends at 10 Hz"),
        (
            lambda: fit(CONSTANT, DECADE, 3).cell_value("s", 4.0, 1.0, 1.0),
            "qs is 4; give 5 or more",
        ),
        (lambda: prescribed({"k": [(2.0, 1.0)]}), "relaxation has k; give p and s, or bulk and"),
        (lambda: prescribed({"p": [(2.0,)]}), r"relaxation.p has \[2.0\]; give pairs"),
        (lambda: prescribed({"p": [(2.0, 1.0), (3.0, 1.0)]}), "a tau_sigma of its own"),
    ],
)
def test_mistakes_are_named(make, message) -> None:
    with pytest.raises(SeismoError, match=message):
        make()


def test_constant_means_kjartansson() -> None:
    assert Law("constant", 1.0) == Law("kjartansson", 1.0)

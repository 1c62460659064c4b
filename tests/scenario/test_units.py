"""Units: exact decimal conversion to SI, and refusal of every wrong dimension.

The expected numbers are the definitions of the units (SI brochure, 9th edition; 1 dyn = 1e-5 N), so
equality is exact: the conversion rounds once, to the float nearest to the decimal product.
"""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.scenario import units
from seismo.scenario.units import UnitError, to_si, with_unit


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("3 km/s", units.VELOCITY, 3000.0), ("3km/s", units.VELOCITY, 3000.0),
        ("3000", units.VELOCITY, 3000.0), ("25 Hz", units.FREQUENCY, 25.0),
        ("2.5e1 Hz", units.FREQUENCY, 25.0), ("12 ms", units.TIME, 0.012),
        ("1.5 min", units.TIME, 90.0), ("5 us", units.TIME, 5e-6),
        ("5 \N{MICRO SIGN}s", units.TIME, 5e-6), ("2700 kg/m3", units.DENSITY, 2700.0),
        ("2.7 g/cm3", units.DENSITY, 2700.0), ("2.7 g/cm^3", units.DENSITY, 2700.0),
        ("2.7 g cm-3", units.DENSITY, 2700.0),
        ("2.7 g/cm\N{SUPERSCRIPT THREE}", units.DENSITY, 2700.0),
        ("2.7 t/m3", units.DENSITY, 2700.0), ("15 deg", units.ANGLE, 15.0),
        ("15\N{DEGREE SIGN}", units.ANGLE, 15.0), ("1e17 N m", units.MOMENT, 1e17),
        ("1e17 N*m", units.MOMENT, 1e17), ("1e17 N.m", units.MOMENT, 1e17),
        ("1e24 dyn cm", units.MOMENT, 1e17), ("1e24 dyn-cm", units.MOMENT, 1e17),
        ("1 GPa", units.PRESSURE, 1e9), ("0.1 km", units.LENGTH, 100.0),
        ("-2 km", units.LENGTH, -2000.0), (".5 m", units.LENGTH, 0.5),
        ("0.6 1/s", units.per_metre(units.VELOCITY), 0.6),
        ("600 m/s/km", units.per_metre(units.VELOCITY), 0.6), ("1 %", units.NUMBER, 0.01),
    ],
)  # fmt: skip
def test_a_text_becomes_si_exactly(text, dimension, value):
    assert to_si(text, dimension) == value


def test_radians_become_degrees():
    assert to_si(f"{math.pi / 2!r} rad", units.ANGLE) == pytest.approx(90.0, rel=1e-15)


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3)])
def test_a_number_is_si(value):
    assert to_si(value, units.LENGTH) == 3.0
    assert type(to_si(value, units.LENGTH)) is float


@pytest.mark.parametrize(
    ("value", "dimension", "says"),
    [
        ("3 km", units.VELOCITY, "a length where a velocity is needed"),
        ("3 km", units.ANGLE, "a length where an angle is needed"),
        ("3 km/s", units.LENGTH, "with a unit (m, km)"),
        ("25 ms", units.FREQUENCY, "a time where a frequency is needed"),
        ("3 N", units.MOMENT, "a force where a moment is needed"),
        ("3 kg m", units.LENGTH, "'kg m' where a length is needed"),
        ("3 m", units.NUMBER, "write a plain number"),
        ("3 Km/s", units.VELOCITY, "unknown unit 'Km'; did you mean 'km/s'?"),
        ("3 hz", units.FREQUENCY, "did you mean 'Hz'?"),
        ("3 seconds", units.TIME, "did you mean 's'?"),
        ("3 kms", units.LENGTH, "did you mean 'km'?"),
        ("3 kms", units.VELOCITY, "did you mean 'km/s'?"),
        ("3 kms-1", units.VELOCITY, "unknown unit 'kms'; did you mean 'km s-1'?"),
        ("3 Km/S", units.VELOCITY, "did you mean 'km/s'?"),
        ("1e12 Nm", units.MOMENT, "unknown unit 'Nm'; did you mean 'N m'?"),
        ("1e12 nm", units.MOMENT, "did you mean 'N m'?"),
        ("1e12 Nm", units.FORCE, "did you mean 'N'?"),
        ("1e19 dynecm", units.MOMENT, "did you mean 'dyn cm'?"),
        ("2200 kgm3", units.DENSITY, "did you mean 'kg/m3'?"),
        ("2.2 G/cm3", units.DENSITY, "did you mean 'g/cm3'?"),
        ("3 \N{MICRO SIGN}S", units.TIME, "did you mean 'us'?"),
        ("3 parsec", units.LENGTH, "unknown unit 'parsec': write a number in m, or with a unit"),
        ("3 Km", units.ANGLE, "unknown unit 'Km': write a number in deg, or with a unit"),
        ("3 " + "Km " * 32, units.LENGTH, "unknown unit 'Km': write a number in m"),
        ("3 m//s", units.VELOCITY, "not readable"),
        ("3 kg/(m3)", units.DENSITY, "not readable"),
        ("fast", units.VELOCITY, "not a number: write a number in m/s"),
        ("", units.VELOCITY, "not a number"),
        ("1:30", units.TIME, "write seconds, like 90 s"),
        ("1_000 m", units.LENGTH, "without separators"),
        (
            "\u22121e12 N m",
            units.MOMENT,
            "character U+2212 (minus sign) only looks like '-': type -",
        ),
        ("1e\u20135 s", units.TIME, "U+2013 (en dash) only looks like '-': type -"),
        ("10\u200bkm", units.LENGTH, "take out the character U+200B (zero width space)"),
        ("1,5 m", units.LENGTH, "without separators"),
        (".inf", units.LENGTH, "finite"),
        ("nan", units.LENGTH, "finite"),
        ("1e400 m", units.LENGTH, "finite"),
        ("9" * 200, units.LENGTH, "too long"),
        (float("nan"), units.LENGTH, "finite"),
        (float("inf"), units.LENGTH, "finite"),
        (10**400, units.LENGTH, "too large"),
        (True, units.LENGTH, "not a number"),
        (None, units.LENGTH, "a value is needed"),
        ([1], units.LENGTH, "not a number"),
    ],
)
def test_what_is_not_a_value_of_the_dimension_is_refused_in_words(value, dimension, says):
    with pytest.raises(UnitError) as caught:
        to_si(value, dimension)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_huge_exponent_costs_nothing():
    assert to_si("1e-999999999 km", units.LENGTH) == 0.0
    assert to_si(f"1e-{'9' * 40} m", units.LENGTH) == 0.0
    for exponent in ("999999999", "9" * 40):
        with pytest.raises(UnitError, match="finite"):
            to_si(f"1e{exponent} km", units.LENGTH)


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_number_reads_back_equal(number):
    assert to_si(f"{number!r} m", units.LENGTH) == number


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30), st.sampled_from([units.LENGTH, units.DENSITY, units.NUMBER]))
def test_no_text_gives_anything_but_a_number_or_a_unit_error(text, dimension):
    for candidate in (text, f"1 {text}"):
        with contextlib.suppress(UnitError):
            assert math.isfinite(to_si(candidate, dimension))


def test_a_number_that_rounds_up_takes_the_next_prefix():
    """It was 1e+03 mm/s."""
    assert with_unit(0.9997, "m/s") == "1 m/s"
    assert with_unit(-9.999e-4, "m/s") == "-1 mm/s"

"""Values with units: ``"3 km/s"`` becomes ``3000.0``; ``"3 km"`` is refused for a velocity.

Inputs mix kilometres, milliseconds and grams per cubic centimetre; a forgotten factor of a thousand
is the commonest mistake of a seismic scenario. Everything inside seismo is SI (angles: degrees), a
plain number means SI, and a text with a unit is converted once, here, with its dimension checked.
Decimal arithmetic keeps ``"0.1 km"`` exactly ``100.0``.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import math
import re
from dataclasses import dataclass
from decimal import Context, Decimal
from numbers import Real

from seismo.formats.reading import look_alike

NOT_A_NUMBER = "not a number"  # beginning of messages about values without a number
Exponents = tuple[int, ...]  # of metre, kilogram, second, degree, byte


class UnitError(ValueError):
    """The text is not a number with a unit of the dimension asked for."""


class _UnknownUnitError(UnitError):
    """A name that is no unit."""


@dataclass(frozen=True)
class Dimension:
    """A physical dimension, its SI symbol and the units a message offers.

    With `per_metre` a 2-D run, of which an amount is per metre of y, has one factor of metre less.
    """

    name: str
    symbol: str
    exponents: Exponents
    offers: tuple[str, ...]
    per_metre: bool = False

    def fits(self, exponents: Exponents, dimensions: int | None = None) -> bool:
        """Whether a unit is of this dimension, in a run of 2 or 3 dimensions or in any."""
        metres, *others = self.exponents
        flat = (metres - self.per_metre, *others)
        accepted = {2: (flat,), 3: (self.exponents,)}.get(dimensions or 0, (self.exponents, flat))
        return exponents in accepted


NUMBER = Dimension("plain number", "", (0, 0, 0, 0, 0), ())
LENGTH = Dimension("length", "m", (1, 0, 0, 0, 0), ("m", "km"))
TIME = Dimension("time", "s", (0, 0, 1, 0, 0), ("s", "ms"))
FREQUENCY = Dimension("frequency", "Hz", (0, 0, -1, 0, 0), ("Hz", "kHz", "mHz"))
VELOCITY = Dimension("velocity", "m/s", (1, 0, -1, 0, 0), ("m/s", "km/s"))
DENSITY = Dimension("density", "kg/m3", (-3, 1, 0, 0, 0), ("kg/m3", "g/cm3"))
ANGLE = Dimension("angle", "deg", (0, 0, 0, 1, 0), ("deg", "rad"))
FORCE = Dimension("force", "N", (1, 1, -2, 0, 0), ("N", "kN"))
MOMENT = Dimension("moment", "N m", (2, 1, -2, 0, 0), ("N m", "dyn cm"))
PRESSURE_STRENGTH = Dimension(
    "pressure times length", "Pa m", (0, 1, -2, 0, 0), ("Pa m", "Pa"), True
)
VOLUME_RATE = Dimension("volume rate", "m3/s", (3, 0, -1, 0, 0), ("m3/s", "m2/s"), True)
PRESSURE = Dimension("pressure", "Pa", (-1, 1, -2, 0, 0), ("Pa", "MPa", "GPa"))
SIZE = Dimension("size", "B", (0, 0, 0, 0, 1), ("MB", "GB", "GiB"))
_NAMED = (NUMBER, LENGTH, TIME, FREQUENCY, VELOCITY, DENSITY, ANGLE, FORCE, MOMENT, PRESSURE)
DIMENSIONS = {dimension.symbol: dimension for dimension in _NAMED}
_PER_METRE = {VELOCITY: "1/s", DENSITY: "kg/m4"}


def per_metre(dimension: Dimension) -> Dimension:
    """Return the dimension of a change per metre."""
    metres, *others = dimension.exponents
    symbol = _PER_METRE.get(dimension, f"{dimension.symbol or 1}/m")
    offers = (symbol, f"{dimension.symbol or 1}/km")
    exponents = (metres - 1, *others)
    return Dimension(f"{dimension.name} gradient", symbol, exponents, offers)


def _scaled(exponents: Exponents, **scales: str) -> dict[str, tuple[Decimal, Exponents]]:
    return {name: (Decimal(scale), exponents) for name, scale in scales.items()}


_UNITS: dict[str, tuple[Decimal, Exponents]] = {
    "1": (Decimal(1), NUMBER.exponents),
    "%": (Decimal("0.01"), NUMBER.exponents),
    **_scaled(LENGTH.exponents, m="1", km="1e3", cm="1e-2", mm="1e-3", um="1e-6", ft="0.3048"),
    **_scaled(TIME.exponents, s="1", ms="1e-3", us="1e-6", ns="1e-9", min="60", h="3600"),
    **_scaled(FREQUENCY.exponents, Hz="1", kHz="1e3", MHz="1e6", mHz="1e-3"),
    **_scaled((0, 1, 0, 0, 0), kg="1", g="1e-3", mg="1e-6", t="1e3"),
    **_scaled(ANGLE.exponents, deg="1", rad=repr(180.0 / math.pi)),
    **_scaled(FORCE.exponents, N="1", kN="1e3", MN="1e6", GN="1e9", dyn="1e-5"),
    **_scaled(PRESSURE.exponents, Pa="1", hPa="1e2", kPa="1e3", MPa="1e6", GPa="1e9", bar="1e5"),
    **_scaled(SIZE.exponents, B="1", kB="1e3", MB="1e6", GB="1e9", TB="1e12"),
    **_scaled(SIZE.exponents, KiB="1024", MiB="1048576", GiB="1073741824"),
}
_SPELLED = {
    "meter": "m", "metre": "m", "kilometer": "km", "kilometre": "km", "foot": "ft", "feet": "ft",
    "second": "s", "sec": "s", "millisecond": "ms", "msec": "ms", "minute": "min", "hour": "h",
    "hertz": "Hz", "degree": "deg", "radian": "rad", "newton": "N", "pascal": "Pa", "gram": "g",
    "kilogram": "kg", "kmps": "km/s", "mps": "m/s", "kph": "km/h", "dyne": "dyn",
}  # fmt: skip
_BY_LOWER = {unit.lower(): unit for unit in reversed(_UNITS)} | _SPELLED  # MHz before mHz
_MOST_TRIED = 200  # corrections of a unit
_VALUE = re.compile(
    r"\s*([-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)(?![0-9_,:])(.*)\Z"
)
_FACTOR = re.compile(r"\s*(/?)\s*([A-Za-z%]+|1(?![0-9]))(?:\^?([-+]?[1-9])(?![0-9]))?")
_PLAIN = str.maketrans(
    {
        "\N{SUPERSCRIPT ONE}": "1",
        "\N{SUPERSCRIPT TWO}": "2",
        "\N{SUPERSCRIPT THREE}": "3",
        "\N{SUPERSCRIPT FOUR}": "4",
        "\N{SUPERSCRIPT MINUS}": "-",
        "\N{MINUS SIGN}": "-",
        "\N{MICRO SIGN}": "u",
        "\N{GREEK SMALL LETTER MU}": "u",
        "\N{DEGREE SIGN}": " deg ",
        "\N{MIDDLE DOT}": " ",
        "*": " ",
    }
)
_ARITHMETIC = Context(prec=60, traps=[])  # an overflow is found as an infinite result
_LONGEST = 100  # characters; nothing sensible is longer, and digits without end cost time


def to_si(value: object, dimension: Dimension) -> float:
    """Return `value`, a number in SI or a text with a unit, as an SI float (angles in degrees).

    Raises UnitError where it is not a finite number, or has another dimension.
    """
    if isinstance(value, str):
        try:
            return _finite(_parse(value, dimension), value)
        except UnitError as error:
            raise UnitError(look_alike(value) or str(error)) from None
    if value is None:
        raise UnitError(f"a value is needed: {_offer(dimension)}")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UnitError(f"{NOT_A_NUMBER}: {_offer(dimension)}")
    try:
        return _finite(float(value), value)
    except OverflowError:
        raise UnitError("too large a number") from None


def fits(text: str, dimension: Dimension, dimensions: int) -> bool:
    """Whether a text that was read as a value of a dimension suits a run of 2 or 3 dimensions."""
    match = _VALUE.match(text)
    unit = match[2].strip() if match else ""
    return not unit or dimension.fits(unit_scale(unit)[1], dimensions)


def _finite(number: float, value: object) -> float:
    if not math.isfinite(number):
        raise UnitError("must be a finite number")
    return number


def _parse(text: str, dimension: Dimension) -> float:
    match = _VALUE.match(text) if len(text) <= _LONGEST else None
    if match is None:
        raise UnitError(_not_a_number(text, dimension))
    number = match[1]
    unit = match[2].strip()
    if not unit:
        return float(number)
    try:
        scale, exponents = unit_scale(unit)
    except _UnknownUnitError as error:
        raise UnitError(f"{error}{_hint(unit, dimension)}") from None
    if not dimension.fits(exponents):
        named = (d.name for d in _NAMED if d.exponents == exponents)
        written = _a(next(named, f"value in {unit!r}"))
        needed = _a(dimension.name)
        raise UnitError(f"{written} where {needed} is needed: {_offer(dimension)}")
    if scale == 1:
        return float(number)
    return float(_ARITHMETIC.multiply(_ARITHMETIC.create_decimal(number), scale))


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def unit_scale(unit: str) -> tuple[Decimal, Exponents]:
    """Return the SI scale and the exponents (m, kg, s, deg, B) of a unit such as ``kg/m3``.

    Raises UnitError naming the unknown or unreadable part.
    """
    text = re.sub(r"-(?=[A-Za-z])", " ", unit.translate(_PLAIN).replace("^", "").replace(".", " "))
    scale = Decimal(1)
    exponents = [0] * len(NUMBER.exponents)
    position = 0
    text = text.strip()
    while position < len(text):
        match = _FACTOR.match(text, position)
        if match is None:
            raise UnitError(f"unit {unit!r} is not readable: write it like km/s, kg/m3 or N m")
        factor, its_exponents = _unit(match[2])
        power = int(match[3] or 1) * (-1 if match[1] else 1)
        scale *= factor**power
        exponents = [
            total + power * exponent
            for total, exponent in zip(exponents, its_exponents, strict=True)
        ]
        position = match.end()
    return scale, tuple(exponents)


def _unit(name: str) -> tuple[Decimal, Exponents]:
    try:
        return _UNITS[name]
    except KeyError:
        raise _UnknownUnitError(f"unknown unit {name!r}") from None


def _hint(unit: str, dimension: Dimension) -> str:
    """Offer a unit of the `dimension` that is written almost like the one given, or those usual."""
    words = re.split(r"([A-Za-z]+)", unit.translate(_PLAIN).strip())
    known = [[w] if w in _UNITS or not w.isalpha() else _corrections(w) for w in words]
    for choice in itertools.islice(itertools.product(*known), _MOST_TRIED):
        candidate = "".join(choice)
        with contextlib.suppress(UnitError):
            if dimension.fits(unit_scale(candidate)[1]):
                return f"; did you mean {candidate!r}?"
    return f": {_offer(dimension)}"


def _corrections(word: str) -> list[str]:
    """List the likely meanings of an unknown name, the likeliest first: ``Nm`` is ``N m``."""
    unit = _by_lower(word)
    halves = [(_by_lower(word[:k]), _by_lower(word[k:])) for k in range(1, len(word))]
    split = [f"{a}{by}{b}" for a, b in halves if a and b for by in " /"]
    matches = difflib.get_close_matches(word.lower(), _BY_LOWER, 3, 0.6)
    return [unit] * bool(unit) + split + [_BY_LOWER[name] for name in matches]


def _by_lower(word: str) -> str:
    lower = word.lower()
    return _BY_LOWER.get(lower) or _BY_LOWER.get(lower.removesuffix("s"), "")


def _offer(dimension: Dimension) -> str:
    if not dimension.offers:
        return "write a plain number"
    return f"write a number in {dimension.symbol}, or with a unit ({', '.join(dimension.offers)})"


def _not_a_number(text: str, dimension: Dimension) -> str:
    if len(text) > _LONGEST:
        return f"too long for a number: {_offer(dimension)}"
    if re.fullmatch(r"\s*[-+]?\.?(inf(inity)?|nan)\s*", text, re.IGNORECASE):
        return "must be a finite number"
    if re.match(r"\s*[0-9]+:[0-9]", text):
        return "minutes:seconds are not read: write seconds, like 90 s"
    if re.match(r"\s*[-+]?[0-9]+[_,][0-9]", text):
        return "digits are written without separators, like 1000 or 1.5"
    return f"{NOT_A_NUMBER}: {_offer(dimension)}"


_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_LEAST_CELLS = 3.0  # of lengths that a grid shows
_MOST_IN_KM = 1e3  # the longest that is taken for a length in km
_PREFIXABLE = ("m", "m/s", "m/s2", "m/s^2", "Pa", "s", "B", "points/s", "B/s")


def readable(value: float, unit: str) -> tuple[float, str]:
    """Return the factor and the unit that make `value` a number between 1 and 1000.

    A unit that takes no prefix is given a power of ten instead, such as ``10^-9 1/s``.
    """
    size = abs(value)
    if not 0.0 < size < float("inf"):
        return 1.0, unit
    if unit in _PREFIXABLE:
        for step, prefix in _PREFIXES:
            if step <= size * 1.0000001 < 1e3 * step:
                return 1.0 / step, prefix + unit
    exponent = 3 * math.floor(math.log10(size * 1.0000001) / 3)
    if -3 <= exponent <= 3:
        return 1.0, unit
    return 10.0**-exponent, f"10^{exponent} {unit}"


def meant_in_km(length: float, spacing: float) -> str:
    """Return ``did you mean '6 km'?`` of 6 m, which a spacing (m) makes nothing of; else ""."""
    least = _LEAST_CELLS * spacing / 1e3
    return f"did you mean '{length:g} km'?" if least <= length < _MOST_IN_KM else ""


def with_unit(value: float, unit: str) -> str:
    """Format a number with its unit, such as ``3.21 µm/s``, or ``2e-09 1/s`` without a prefix."""
    unit = "" if unit == "1" else unit
    rounded = float(f"{value:.3g}")  # 999.7 mm/s is 1 m/s, not 1e+03 mm/s
    factor, name = readable(rounded, unit)
    if name.startswith("10^"):
        factor = 1.0
        name = unit
    return f"{value * factor:.3g} {name}".rstrip()

"""Parameters of the earth model: meaning, unit, and admissible values.

Conversions that cost much are computed once for each of the media among many samples (`different`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Parameter:
    """One property of the medium: a key in every part of a scenario's model.

    Attributes:
        name: the key.
        meaning: in words.
        unit: SI, "" for a plain number.
        limits: every medium lies above the first, and is at most the second.
        reached: whether a medium may have the first of them, too.
        zero: the meaning of 0 where it is allowed besides.
        default: value where the model gives none; None where it has to.
        mean: of a cell that several media share; without, averages are those of effective media,
            see `seismo.model.effective.averaging`.
        always: whether parts that cover the whole grid give it, whatever the equation, or its
            substitutes (`seismo.equations.rock.rock_parameters.stands_for`).
        reason: for the least value, with a remedy for smaller values.
    """

    name: str
    meaning: str
    unit: str
    limits: tuple[float, float]
    zero: str = ""
    reached: bool = False
    default: float | None = None
    mean: Literal["", "arithmetic", "harmonic"] = ""
    always: bool = False
    reason: str = ""

    @property
    def start(self) -> float:
        """The value before any part of the model gives it."""
        # NaN until a part gives it, so that gaps in the model are found.
        return math.nan if self.default is None else self.default

    @property
    def has_least(self) -> bool:
        """Whether `least` is itself a value of media, not only below all of them."""
        return bool(self.zero) or self.reached

    @property
    def least(self) -> float:
        """What a value that is read of a file must exceed, or reach where 0 means something."""
        # Plain numbers may be negative; 0 of others may have a meaning (a fluid).
        return min(self.limits[0], 0.0) if self.unit else self.limits[0]


@dataclass(frozen=True)
class Condition:
    """What an equation asks of its parameters together, wherever it samples the earth.

    Attributes:
        holds: function(samples by name) -> where it does.
        names: of the parameters; a mistake is charged to the parameter of the latest part.
        problem: where it does not hold, and the remedy.
    """

    holds: Callable
    names: tuple[str, ...]
    problem: str


@dataclass(frozen=True)
class Conversion:
    """Conversion of the model's parameters to the equation's.

    Attributes:
        takes: names of the model's parameters.
        names: of the equation's parameters; of 21 constants it may not need all.
        complete: function(values as given, by name), which fills in velocities where other
            parameters stand in their place.
        convert: function(completed values by name) -> values by all of `names`.
        conditions: that the values as given have to fulfil.
    """

    takes: tuple[str, ...]
    names: tuple[str, ...]
    complete: Callable
    convert: Callable
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Gradual:
    """How little parameters should change from node to node.

    Attributes:
        names: of the parameters.
        most: change of any of them.
        problem: the consequence of more, and the remedy.
    """

    names: tuple[str, ...]
    most: float
    problem: str


ParameterFields = dict[str, np.ndarray]  # by name

VP = Parameter("vp", "P velocity", "m/s", (100.0, 20e3), always=True)
VS = Parameter("vs", "S velocity", "m/s", (10.0, 20e3), zero="a fluid")
RHO = Parameter("rho", "density", "kg/m3", (0.0, 30e3))
# As far as mechanisms are fitted (`seismo.equations.rock.relaxation`).
LEAST_QUALITY = 5.0  # fits, and the weights' positivity, are made and tested for this Q and more
_QUALITY = (LEAST_QUALITY, math.inf)
_WHY = (
    f"mechanisms are fitted to Q of {LEAST_QUALITY:g} and more; of a medium that loses more give "
    "attenuation.relaxation"
)
# Where qs is given alone, bulk moduli lose nothing (`seismo.model.earth.Earth`).
QP = Parameter(
    "qp", "P quality factor", "", _QUALITY, reached=True, default=math.inf, mean="harmonic",
    reason=_WHY,
)  # fmt: skip
QS = Parameter(
    "qs", "S quality factor", "", _QUALITY, reached=True, default=math.inf, mean="harmonic",
    reason=_WHY,
)  # fmt: skip

# Thomsen (1986): `seismo.equations.rock.elastic_constants` has the stiffness that they stand for.
_THOMSEN = (-0.5, 2.0)
EPSILON = Parameter("epsilon", "Thomsen's epsilon", "", _THOMSEN, default=0.0, mean="arithmetic")
# In metals more than 2; impossible values show in the energy (`elastic_constants.takes_energy`).
DELTA = Parameter("delta", "Thomsen's delta", "", (-0.5, 20.0), default=0.0, mean="arithmetic")
GAMMA = Parameter("gamma", "Thomsen's gamma", "", _THOMSEN, default=0.0, mean="arithmetic")
THETA = Parameter("theta", "tilt of the symmetry axis from z", "deg", (-360.0, 360.0), default=0.0)
PHI = Parameter(
    "phi", "azimuth to which the axis tilts, from x to y", "deg", (-360.0, 360.0), default=0.0
)
AZIMUTH = Parameter(
    "azimuth", "turn of the rock about its axis, from x to y, before the axis tilts", "deg",
    (-360.0, 360.0), default=0.0,
)  # fmt: skip

# Tsvankin (1997): index 1 in the plane of y and z, 2 in that of x and z, 3 in that of x and y.
TSVANKIN = tuple(
    Parameter(name, f"Tsvankin's {name}", "", _THOMSEN, default=0.0, mean="arithmetic")
    for name in ("epsilon1", "epsilon2", "delta1", "delta2", "delta3", "gamma1", "gamma2")
)
LEAST_CONSTANT = 1e4  # Pa; less is a number whose GPa was left out
_STIFF = (LEAST_CONSTANT, 1e13)
CONSTANTS = {  # 0 where the rock is given otherwise
    name: Parameter(
        name, f"elastic constant {name}", "Pa", _STIFF if i == j else (-_STIFF[1], _STIFF[1]),
        default=0.0, mean="arithmetic",
    )
    for i, j in combinations_with_replacement("123456", 2)
    for name in (f"c{i}{j}",)
}  # fmt: skip


_TRIED = 997  # samples that tell whether most are distinct
_MOST = 0.9  # of them, from which on samples are taken as they are


def worth_finding(columns: np.ndarray) -> bool:
    """Return whether few of many columns (needed, n) seem to be distinct."""
    sampled = columns[:, :: max(1, columns.shape[1] // _TRIED)]
    return different(sampled)[0].shape[1] < _MOST * sampled.shape[1]


def different(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unique columns (needed, medium) in order, and the index (n) of each.

    Rows are numbered in order, in a fifth of the time of sorting columns.
    """
    # Rank of the rows read so far, combined with that of the next row: ranks, not values.
    key = np.zeros(columns.shape[1], np.int64)
    for row in columns:
        if (row != row[:1]).any():
            unique_values, number = np.unique(row, return_inverse=True)
            _, key = np.unique(key * len(unique_values) + number, return_inverse=True)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return columns[:, first], inverse

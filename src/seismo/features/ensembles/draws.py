"""Draws of an ensemble: the values of all members, from distributions and a file.

Each key has random numbers of its own, by the seed and its path (Philox: Salmon et al. 2011), which
follow each other member by member: other keys, and more members, leave them as they are. A value is
the quantile of its distribution at a random number u; of a distribution F that is cut off

    value = F^-1(F(lowest) + u (F(highest) - F(lowest))).
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from seismo.errors import KeyPath, ModelError, ScenarioError
from seismo.features.ensembles.keys import DrawnKey, key_of
from seismo.features.ensembles.section import (
    ChosenValues,
    DistributionSection,
    ListedValues,
    LognormalValues,
    NormalValues,
    section_of,
)
from seismo.formats.reading import read_lines
from seismo.scenario import Scenario
from seismo.scenario.units import UnitError

_EXPECTED = "expected are keys such as model[1].vs on a line, and a line of values for each member"
_BITS = 53  # of a random number
_TABLE: KeyPath = ("ensemble", "table", "path")
Quantile = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Draws:
    """The values of all members.

    Attributes:
        keys: whose values differ between members.
        origins: the places in the scenario that a key is drawn at.
        table: values (member, key) in SI.
    """

    keys: tuple[DrawnKey, ...]
    origins: tuple[KeyPath, ...]
    table: np.ndarray

    def changes(self, member: int) -> dict[str, float | int]:
        """Return the values of a member, by the paths of their keys."""
        row = self.table[member].tolist()
        return {str(key): key.plain(x) for key, x in zip(self.keys, row, strict=True)}

    def described(self, member: int) -> str:
        """Write the values of a member in a line."""
        units = {str(key): key.unit for key in self.keys}
        texts = (
            f"{k} = {x if isinstance(x, int) else f'{x:.6g}'} {units[k]}".rstrip()
            for k, x in self.changes(member).items()
        )
        return ", ".join(texts)

    @property
    def extremes(self) -> list[int]:
        """The members with the least and the greatest value of each key."""
        numbers = [*self.table.argmin(axis=0), *self.table.argmax(axis=0)]
        return sorted({int(number) for number in numbers})


def draws_of(scenario: Scenario) -> Draws:
    """Return the values of all members of a scenario with an ensemble.

    Raises:
        ScenarioError: a distribution has no values, or the file will not do.
    """
    ensemble = section_of(scenario)
    keys = list[DrawnKey]()
    origins = list[KeyPath]()
    columns = list[np.ndarray]()
    for index, distribution in enumerate(ensemble.draw):
        keys.append(key_of(distribution.key, scenario.model, scenario.sources))
        origins.append(("ensemble", "draw", index, "key"))
        columns.append(_column(scenario, distribution, keys[-1], origins[-1]))
    if ensemble.table is not None:
        for key, column in _read_table(scenario, ensemble.members):
            if key.path in {other.path for other in keys}:
                raise scenario.mistake(*_TABLE, problem=f"{key} is drawn twice: leave one out")
            keys.append(key)
            origins.append(_TABLE)
            columns.append(column)
    return Draws(tuple(keys), tuple(origins), np.stack(columns, axis=1))


def _column(
    scenario: Scenario, distribution: DistributionSection, key: DrawnKey, origin: KeyPath
) -> np.ndarray:
    """Return the values (member) of a key."""
    ensemble = section_of(scenario)
    if isinstance(distribution, ListedValues):
        return np.array([key.to_si(number) for number in distribution.numbers])
    drawn = quantile_of(distribution, key)(
        random_numbers(ensemble.seed, str(key), ensemble.members)
    )
    if not np.isfinite(drawn).all():
        raise scenario.mistake(
            *origin[:-1], problem="no value of the distribution lies from lowest to highest"
        )
    return np.rint(drawn) if key.is_whole else drawn


def random_numbers(seed: int, key: str, count: int) -> np.ndarray:
    """Return numbers (count) between 0 and 1, neither of which is among them."""
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    generator = np.random.Philox(key=np.frombuffer(digest[:16], "<u8").astype(np.uint64))
    bits = generator.random_raw(count) >> np.uint64(64 - _BITS)
    return (bits.astype(float) + 0.5) * 2.0**-_BITS


def quantile_of(distribution: DistributionSection, key: DrawnKey) -> Quantile:
    """Return the function from random numbers (n) to values (n) in SI; NaN where there are none."""
    low, high = distribution.limits(key)
    if isinstance(distribution, ChosenValues):
        numbers = np.array([key.to_si(number) for number in distribution.numbers])
        return partial(_chosen, numbers, np.array(distribution.weights or np.ones(numbers.size)))
    if isinstance(distribution, NormalValues):
        mean = key.value if distribution.mean is None else key.to_si(distribution.mean)
        return partial(_normal, mean, key.to_si(distribution.deviation), low, high)
    if isinstance(distribution, LognormalValues):
        median = key.value if distribution.median is None else key.to_si(distribution.median)
        first, last = (None if end is None else math.log(end) for end in (low, high))
        logarithm = partial(_normal, math.log(median), distribution.sigma, first, last)
        return lambda u: np.clip(np.exp(logarithm(u)), low, high)
    assert low is not None
    assert high is not None
    # The ends of whole numbers are as likely as the others.
    margin = 0.5 if key.is_whole else 0.0
    return lambda u: np.clip(low - margin + u * (high - low + 2.0 * margin), low, high)


def _chosen(numbers: np.ndarray, weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    edges = np.cumsum(weights / weights.sum())
    edges[-1] = 1.0
    return numbers[np.searchsorted(edges, u, side="right")]


def _normal(
    mean: float, deviation: float, low: float | None, high: float | None, u: np.ndarray
) -> np.ndarray:
    """Return quantiles of a normal distribution that is cut off."""
    from scipy.special import ndtr, ndtri

    if low is not None and low > mean:  # the lower tail has more digits
        highest = None if high is None else 2.0 * mean - high
        return 2.0 * mean - _normal(mean, deviation, highest, 2.0 * mean - low, 1.0 - u)
    first = 0.0 if low is None else ndtr((low - mean) / deviation)
    last = 1.0 if high is None else ndtr((high - mean) / deviation)
    if not last > first:
        return np.full(u.shape, np.nan)
    drawn = mean + deviation * ndtri(first + u * (last - first))
    return drawn if low is None and high is None else np.clip(drawn, low, high)


def _read_table(scenario: Scenario, members: int) -> list[tuple[DrawnKey, np.ndarray]]:
    """Read the keys of a CSV file and their values (member) in SI.

    Raises:
        ScenarioError: a line and its remedy.
    """
    table = section_of(scenario).table
    assert table is not None
    path = scenario.resolve(table.path)
    try:
        lines = read_lines(path, _EXPECTED)
    except ModelError as error:
        raise scenario.mistake(*_TABLE, problem=error.problem) from None
    rows = [(n, [word.strip() for word in next(csv.reader([line]))]) for n, line in lines]

    def problem(number: int, text: object) -> ScenarioError:
        return scenario.mistake(*_TABLE, problem=f"{path}:{number}: {text}")

    if len(rows) != members + 1:
        count = max(0, len(rows) - 1)
        last = rows[-1][0] if rows else 1
        raise problem(last, f"{count} rows for {members} members; {_EXPECTED}")
    (first, names), *others = rows
    try:
        keys = [key_of(name, scenario.model, scenario.sources) for name in names]
    except ScenarioError as error:
        raise problem(first, error) from None
    if len({key.path for key in keys}) < len(keys):
        raise problem(first, "a key is there twice")
    columns = np.empty((members, len(keys)))
    for row, (number, words) in enumerate(others):
        if len(words) != len(keys):
            raise problem(number, f"{len(words)} values for {len(keys)} keys")
        for column, (key, word) in enumerate(zip(keys, words, strict=True)):
            try:
                columns[row, column] = key.to_si(word)
            except UnitError as error:
                raise problem(number, f"{key}: {word[:20]!r}: {error}") from None
    return list(zip(keys, columns.T, strict=True))

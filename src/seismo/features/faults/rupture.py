"""A rupture as files have it: slip at points of a fault, in SI, not yet on a grid.

It may be of a million subfaults: all attributes are kept in arrays, a number for each slip.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from seismo.acquisition.slip_rate import SlipRate, SlipRates
from seismo.errors import ModelError

_ROUNDING = 1e-6  # of a subfault's total slip
_LONGEST = 1e6  # s, after which no subfault of an earthquake slips
_LARGEST = 1e20  # m3, area times slip: a million times the largest earthquake's


@dataclass(frozen=True, eq=False)
class Slips:
    """Slip of subfaults in a direction each: arrays (slip).

    Attributes:
        subfault: number in the file, from 0.
        line: of the file, for messages; 0 where it has none.
        longitude: of the centre, in degrees.
        latitude: of the centre, in degrees.
        depth: of the centre in m below the surface.
        strike: degrees.
        dip: degrees.
        rake: of this slip, in degrees.
        area: m2.
        onset: time of the first slip rate in s.
        step: s between slip rates.
        size: of the slip in m, as the file says.
        rigidity: Pa, NaN where the file says nothing about it.
    """

    subfault: np.ndarray
    line: np.ndarray
    longitude: np.ndarray
    latitude: np.ndarray
    depth: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    rake: np.ndarray
    area: np.ndarray
    onset: np.ndarray
    step: np.ndarray
    size: np.ndarray
    rigidity: np.ndarray

    def __len__(self) -> int:
        """Count them."""
        return len(self.subfault)


@dataclass(frozen=True, eq=False)
class Rupture:
    """All slip of a fault.

    Attributes:
        path: of the file.
        count: of subfaults in the file, including those that do not slip.
        slips: of the subfaults that slip.
        slipped: (slip) m, that the slip rates amount to.
        rates: slip rates over that slip, of unit area.
        assumed: substitutes of data that the file lacks, for messages.
    """

    path: Path
    count: int
    slips: Slips
    slipped: np.ndarray
    rates: SlipRates
    assumed: tuple[str, ...] = ()

    def smoothed(self, sigma: float) -> Rupture:
        """Return it with slip rates smoothed by a Gaussian of standard deviation s."""
        return replace(self, rates=replace(self.rates, sigma=sigma))

    @cached_property
    def potencies(self) -> np.ndarray:
        """Area times slip (slip) m3, which times a rigidity is a moment."""
        return self.slips.area * self.slipped

    @cached_property
    def rigidities(self) -> np.ndarray | None:
        """Rigidity (slip) Pa of the file, None where it is incomplete."""
        return None if np.isnan(self.slips.rigidity).any() else self.slips.rigidity

    @cached_property
    def rate(self) -> SlipRate:
        """Moment rate of all over their moment, 1/s; of one rigidity where the file has none."""
        return self.rates.weighted_sum(self._weights)

    @cached_property
    def rate_at_once(self) -> SlipRate:
        """The same if all began together: waves of no direction have higher frequencies."""
        at_once = replace(self.rates, onset=np.zeros_like(self.rates.onset))
        return at_once.weighted_sum(self._weights)

    @cached_property
    def _weights(self) -> np.ndarray:
        """Shares (slip) of the moment, by their size: slip across the rake may have either sign."""
        moments = np.abs(self.potencies * (1.0 if self.rigidities is None else self.rigidities))
        return moments / moments.sum()

    def where(self, slip: int) -> str:
        """Return the file and line of a slip, for messages."""
        line = int(self.slips.line[slip])
        return f"{self.path}:{line}" if line else str(self.path)


def net_slip(rates: Sequence[Sequence[float]], step: float, where: str) -> list[float]:
    """Return the integral of slip rates in each direction; 0 for rounding errors.

    Args:
        rates: of a subfault along its rake and across it, a list for each.
        step: s between them.
        where: file and line, for messages.

    Raises:
        ModelError: all slip has slipped back, and the moment does not say so.
    """
    moved = [sum(map(abs, rate)) for rate in rates]
    slips = []
    for direction, rate, path in zip(("along", "across"), rates, moved, strict=True):
        counts = path > _ROUNDING * sum(moved)
        net = sum(rate) if counts else 0.0
        if counts and abs(net) <= _ROUNDING * path:
            raise ModelError(
                f"{where}: moves {path * step:g} m back and forth {direction} its rake, and its "
                "slip is 0 in the end: it has no moment; mend its slip rates, or set them 0",
                "path",
            )
        slips.append(float(net * step))
    return slips


@dataclass
class RuptureReader:
    """Slip as it is read, subfault by subfault.

    Attributes:
        count: of subfaults read, including those that do not slip.
    """

    count: int = 0
    _rows: array = field(default_factory=lambda: array("d"))
    _slipped: array = field(default_factory=lambda: array("d"))
    _rates: array = field(default_factory=lambda: array("f"))
    _lengths: array = field(default_factory=lambda: array("q"))

    def add(self, numbers: tuple[float, ...], slipped: float, shape: list[float]) -> None:
        """Add slip in a direction.

        Args:
            numbers: attributes of `Slips`, in order.
            slipped: m, that its rates amount to.
            shape: rates (n) 1/s over that slip.
        """
        self._rows.extend(numbers)
        self._slipped.append(slipped)
        self._rates.extend(shape)
        self._lengths.append(len(shape))

    def rupture(self, path: Path) -> Rupture | None:
        """Return the rupture read; None where nothing slips.

        Raises:
            ModelError: a subfault slips at a time that no earthquake has.
        """
        if not self._lengths:
            return None
        names = [f.name for f in fields(Slips)]
        columns = np.array(self._rows).reshape(-1, len(names)).T
        named = dict(zip(names, columns.copy(), strict=True))
        for name in ("subfault", "line"):
            named[name] = named[name].astype(np.int64)
        slips = Slips(**named)
        starts = np.concatenate([[0], np.cumsum(self._lengths)])
        rates = SlipRates(slips.onset, slips.step, starts, np.array(self._rates))
        rupture = Rupture(path, self.count, slips, np.array(self._slipped), rates)
        _refuse_late(rupture)
        _refuse_large(rupture)
        return rupture


def _refuse_late(rupture: Rupture) -> None:
    first, last = rupture.rates.ends
    # Not of numbers that are too large for a sum, either.
    is_late = ~(np.maximum(np.abs(first), np.abs(last)) < _LONGEST)
    if is_late.any():
        slip = int(is_late.argmax())
        raise ModelError(
            f"{rupture.where(slip)}: subfault {rupture.slips.subfault[slip] + 1} slips from "
            f"{first[slip]:.6g} to {last[slip]:.6g} s, and an earthquake takes less than "
            f"{_LONGEST:g} s; check the unit of its times (s)",
            "path",
        )


def _refuse_large(rupture: Rupture) -> None:
    is_large = ~(np.abs(rupture.potencies) < _LARGEST)
    if is_large.any():
        slip = int(is_large.argmax())
        raise ModelError(
            f"{rupture.where(slip)}: subfault {rupture.slips.subfault[slip] + 1} slips by "
            f"{rupture.slipped[slip]:.6g} m over {rupture.slips.area[slip]:.6g} m2, more than any "
            "earthquake; check the units of its slip and its area",
            "path",
        )

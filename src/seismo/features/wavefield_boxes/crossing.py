"""Differences that cross the faces of a box, as terms by which an incident field changes them.

Inside the box a run has the total field, outside the scattered field. Where a stage's formula at a
point inside takes a value outside, it lacks the incident field there; where a point outside takes a
value inside, it has the incident field in excess::

    inside:   u += sum of w f_inc over the points outside that the formula takes at u
    outside:  u -= sum of w f_inc over the points inside

(total-field/scattered-field formulation: Taflove & Hagness 2005, chapter 5). The weights w are
those of the run's own formulas, which are called once, on lanes of *linear forms*: a field is a sum
of weights times values at points, a coefficient a number. So every wave equation, every kind of
row, and any rock have theirs, and a run with the same grid repeats the other one to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from seismo.backends.base import (
    BOX_COLUMNS,
    FIRST_SPAN,
    SPAN_COLUMNS,
    Backend,
    KernelConstants,
    KernelFields,
    Variant,
)
from seismo.backends.reference import AT_ONCE, context_of
from seismo.equations.framework.formula import Formula
from seismo.equations.framework.table import Physics
from seismo.features.wavefield_boxes.shell import GridBox
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Box
from seismo.solver.stages import Binding, bind_stages

_SHOT = BOX_COLUMNS.index("shot")
_MEMORY = ""  # name of the memory variables of absorbing layers


class Crossings(NamedTuple):
    """Terms of a stage that cross a box's faces: a weight times a value, added to a point.

    Attributes:
        stage: name of the stage.
        target: name of the field that is added to.
        source: name of the field that is taken.
        shift: steps by which it is newer than at the beginning of the step: 1 where an earlier
            stage has written it, else 0.
        points: (n, 3) x, y, z of the points that are added to.
        origins: (n, 3) x, y, z of the points that values are taken from.
        weights: (n) of the values, with the sign of the side.
    """

    stage: str
    target: str
    source: str
    shift: int
    points: np.ndarray
    origins: np.ndarray
    weights: np.ndarray

    def chosen(self, mask: np.ndarray) -> Crossings:
        """Return the terms (n) that a mask chooses."""
        return self._replace(
            points=self.points[mask], origins=self.origins[mask], weights=self.weights[mask]
        )


class LinearForm:
    """A linear form of fields: names, indices and weights of its terms, of a lane's shape."""

    __array_ufunc__ = None  # arrays leave products and sums with it to it

    def __init__(self, terms: list[tuple[str, np.ndarray, Any]]) -> None:
        """Take the terms: name of a field, flat indices, weights."""
        self.terms = terms

    def __add__(self, other: LinearForm) -> LinearForm:
        """Return the sum of two forms."""
        return LinearForm([*self.terms, *other.terms])

    def __rsub__(self, zero: Any) -> LinearForm:
        """Return zero less the form: formulas have no other constants."""
        return -self

    def __neg__(self) -> LinearForm:
        """Return its opposite."""
        return self * -1.0

    def __sub__(self, other: LinearForm) -> LinearForm:
        """Return the difference of two forms."""
        return self + -other

    def __mul__(self, factor: Any) -> LinearForm:
        """Return it times numbers, of the lane's shape or a single number."""
        return LinearForm([(name, index, weight * factor) for name, index, weight in self.terms])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> LinearForm:
        """Return it over numbers."""
        return self * (1.0 / divisor)


class _LinearLanes:
    """Lanes of linear forms: a name in place of a field's array is a form, other arrays numbers."""

    def __init__(self, backend: Backend) -> None:
        # Coefficients are fetched from its memory.
        self._backend = backend
        self.stored: dict[str, LinearForm] = {}

    def load(self, f: Any, i: np.ndarray) -> Any:
        # Coefficients: the numbers of the run itself, wherever they are kept.
        if not isinstance(f, str):
            kept = self._backend.fetch(f[np.ravel(i)])
            return np.reshape(kept, np.shape(i)).astype(np.float64)
        # A field that the formula has written is read back on the spot alone.
        if f in self.stored:
            return self.stored[f]
        # Beside layers, where lanes of their ends lie in the interior, their memory stays zero.
        return LinearForm([] if f == _MEMORY else [(f, i, 1.0)])

    read = load

    def beside(self, f: Any, i: np.ndarray, n: int) -> Any:
        return self.load(f, i + n)

    def level(self, f: Any, i: np.ndarray, n: int, stride: int) -> Any:
        return self.load(f, i + n * stride)

    row = level

    def store(self, f: str, i: np.ndarray, form: LinearForm, mask: None) -> None:
        if f != _MEMORY:
            self.stored[f] = form

    @staticmethod
    def fetch(f: Any, i: np.ndarray) -> None:
        """Leave the caches alone."""

    @staticmethod
    def rounded(form: LinearForm) -> LinearForm:
        return form


@dataclass(frozen=True)
class _Sweep:
    """A sweep of a stage: a formula, its operators, tables, boxes and coefficients."""

    formula: Formula
    variant: Variant
    tables: KernelConstants
    boxes: np.ndarray
    coefficients: tuple[Any, ...]


class _SweepRecorder:
    """A backend that keeps the sweeps that it is asked to bind, and allocates nothing."""

    at_once = False

    def __init__(self, backend: Backend) -> None:
        self.lane_width = backend.lane_width
        self._sweeps: list[_Sweep] = []

    def distinct(self) -> list[_Sweep]:
        """Return the sweeps, once of steps of both parities, whose arrays change places."""
        # Equal formulas, operators and boxes add the same terms.
        keys = [(s.formula, s.variant, s.boxes.tobytes()) for s in self._sweeps]
        return list(dict(zip(keys, self._sweeps, strict=True)).values())

    @staticmethod
    def zeros(size: int, short: bool = False) -> np.ndarray:
        # All numbers are the same in memory: layer memory is not used inside the grid.
        return np.broadcast_to(np.zeros(()), size)

    def sweep(
        self, formula: Formula, variant: Variant, tables: KernelConstants, boxes: np.ndarray,
        operands: KernelFields, **advice: Any,
    ) -> list:  # fmt: skip
        self._sweeps.append(_Sweep(formula, variant, tables, boxes, operands.coefficients))
        return []


def crossings(
    binding: Binding, physics: Physics, box: GridBox, width: int, has_rows: Callable[[str], bool]
) -> Iterator[Crossings]:
    """Yield the terms that cross the faces of a box, at points that a subdomain updates.

    Fields of a few rows, of slopes of the ground, are left out: the ground is level about the
    faces, and they vanish there.

    Args:
        binding: of the subdomain, with its arrays.
        physics: the wave equation.
        box: of the wavefield.
        width: points that formulas take on either side of their own.
        has_rows: function(name) -> whether a field has all rows.
    """
    # Slopes have arrays of their own here, whatever the threads of the backend do.
    fields = copy(binding.fields)
    fields.marched = frozenset()
    slabs = list(box.slabs(width).values())
    for number, slab in enumerate(slabs):
        # Fields that stages of this step have written already.
        written: set[str] = set()
        for stage in physics.stages:
            # The stage's sweeps of this slab, with the operators of its rows.
            recorder: Any = _SweepRecorder(binding.backend)
            bound = replace(binding, backend=recorder, fields=fields, moving=slab)
            bind_stages([bound], (stage,), 0)
            for sweep in recorder.distinct():
                for crossing in _crossing(binding, sweep, box, stage.name, written):
                    # Points of slabs before have theirs already.
                    new = np.ones(len(crossing.points), bool)
                    for earlier in slabs[:number]:
                        new &= ~_within(crossing.points, earlier)
                    if has_rows(crossing.source) and has_rows(crossing.target) and new.any():
                        yield crossing.chosen(new)
            # Later stages take them as they are after this one.
            written |= set(stage.writes)


def _crossing(
    binding: Binding, sweep: _Sweep, box: GridBox, stage: str, written: set[str]
) -> Iterator[Crossings]:
    """Yield the terms of a sweep, of the first shot's fields, that cross the faces of a box.

    Args:
        binding: of the subdomain.
        sweep: of a stage.
        box: of the wavefield.
        stage: name of the stage.
        written: names of the fields that stages before have written.
    """
    # Names in place of the arrays of fields, and where they stand in a cell.
    names = sweep.formula.fields
    half = sweep.formula.staggered
    for row in sweep.boxes[sweep.boxes[:, _SHOT] == 0]:
        for index, context, is_end in _lanes_of(sweep, row):
            # The formula once, for all points of the lane.
            lanes = _LinearLanes(binding.backend)
            ends, middle = sweep.variant.bind(sweep.formula, lanes)
            (ends if is_end else middle)(index, context, *names, *sweep.coefficients)
            points = _coordinates(binding.subdomain, index)
            # Of each field that it writes, the terms from the other side of a face.
            for target, form in lanes.stored.items():
                is_inside = box.inside(half[target], points)
                sign = np.where(is_inside, 1.0, -1.0)
                for source, taken, weight in form.terms:
                    origins = _coordinates(binding.subdomain, taken)
                    crosses = is_inside != box.inside(half[source], origins)
                    crosses &= np.broadcast_to(weight != 0.0, crosses.shape)
                    if crosses.any():
                        yield Crossings(
                            stage, target, source, int(source in written),
                            _listed(points, crosses), _listed(origins, crosses),
                            (sign * weight)[crosses],
                        )  # fmt: skip


def _lanes_of(sweep: _Sweep, row: np.ndarray) -> Iterator[tuple[np.ndarray, Any, bool]]:
    """Yield indices (z, y, x) of a box of rows, their context, and whether at an end of rows."""
    z0, z1, y0, y1 = (int(n) for n in row[:4])
    for span in range(3):
        x0, x1 = row[FIRST_SPAN + span * SPAN_COLUMNS :][:2]
        # Some planes at a time, so that forms of many terms fit the memory.
        deep = max(1, AT_ONCE // max(1, (y1 - y0) * (x1 - x0)))
        for z in range(z0, z1 if x1 > x0 else z0, deep):
            planes = np.arange(z, min(z + deep, z1))
            context, index = context_of(sweep.tables, row, _MEMORY, planes, span)
            yield index, context, span != 1


def _coordinates(subdomain: Subdomain, index: np.ndarray) -> dict[str, np.ndarray]:
    """Return x, y, z in the grid of flat indices in the first shot's arrays."""
    y_stride, z_stride = subdomain.strides
    # The inverse of `Subdomain.flat`: planes z, rows y, and x with its halo.
    z, within_plane = np.divmod(index - subdomain.before, z_stride)
    y, x = np.divmod(within_plane, y_stride)
    offset = (subdomain.halo, *subdomain.offset[1:])
    return {axis: n - shift for axis, n, shift in zip(AXES, (x, y, z), offset, strict=True)}


def _listed(coordinates: dict[str, np.ndarray], mask: np.ndarray) -> np.ndarray:
    """Return the points (n, 3) that a mask chooses."""
    return np.stack([np.broadcast_to(coordinates[a], mask.shape)[mask] for a in AXES], axis=1)


def _within(points: np.ndarray, slab: Box) -> np.ndarray:
    """Return which points (n, 3) lie in a slab."""
    return np.all((points >= slab.lo) & (points < slab.hi), axis=1)

"""Choice of a run's grid: the cheapest whose expected error keeps to the wanted accuracy.

Spacing, order, differences and points of the absorbing layers are chosen where they are left to the
program. From the error expected on a first grid, by the points in its shortest wavelength, the laws
of the causes name a spacing for each order (`seismo.runs.prediction.remedy`); the cheapest of these
is discretized, its error computed anew, and so on until a grid keeps closely to the accuracy.
Layers get the points with which their reflections make up the remaining error.

Costs are those of a processor whose memory takes no time, so that every machine, and every rank,
chooses alike. Where a cause holds the error that no grid mends, the others keep to the accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from seismo.errors import SeismoError
from seismo.features.chosen_grids.lengths import chosen_length, has_common_cells
from seismo.runs.prediction.accuracy import (
    CONTACTS,
    READ_BESIDE,
    SENT_BACK,
    Expected,
    expected_error,
    sent_back,
)
from seismo.runs.prediction.assess import of_survey
from seismo.runs.prediction.cheaper_grid import ORDER_COST, work
from seismo.runs.prediction.layer_reflections import GRAZING, grazing_error
from seismo.runs.prediction.remedy import (
    CLOSE,
    LEAST_POINTS,
    LEAST_THICKNESS,
    MOST_TRIED,
    absorbing_spacing,
    all_causes_within,
    coarsest,
    is_mended,
    least_points,
    longest_wavelength,
    mended,
)
from seismo.runs.prediction.resolution import layers_of
from seismo.runs.resources import speed
from seismo.scenario import Scenario
from seismo.scenario.quantities import AUTO
from seismo.scenario.sections.grid import MOST_LAYER_POINTS
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.grid_layout import settled

_MACHINE = speed.RooflineMachine("cpu")
_AT_PERCENT = 6.0  # points in the shortest wavelength of the first grid, for an error of 1 %
_FIRST_POWER = 0.3  # of the error, with which these grow
_FIRST_CELLS = 24  # along the shortest side of the grid that tells the shortest wavelength
_HALVINGS = 6  # of its spacing, where it does not carry the waves
_NEAR_FIRST = 1.6  # factor of the points in a wavelength, as which the first grid will do
_MOST_PREPARED = 3e7  # points of a grid that is prepared once where the earth varies sideways
_TRIALS = 7  # grids in search of a spacing
_BELOW = 0.96  # of an error, which is aimed at
_TOO_NEAR = 0.05  # logarithm of the ratio of two spacings that tell no power
_LITTLE = 0.1  # of the wanted error: causes that tell no power
_BRACKET = 1.12  # ratio of spacings between which none is sought
_LARGEST_STEP = 1.6  # ratio of two spacings, where errors did not fall as they should
_CLOSELY = 0.85  # share of the error from which on a coarser grid is not sought
_FOR_GRID = 0.9  # of the wanted error; absorbing layers have the rest of its square
_LEAST_SHARE = 0.4  # of the wanted error, for causes that the grid mends, beside others
_LAYERS_TIMES = 12  # times the least points of layers, up to which more are tried
_LAYERS_CLOSELY = 10  # of so many points the last does not matter
_WORTH = 0.7  # of a reflection, that more points have to leave where they do not suffice
_LONGER = 0.97  # share of the time that bounded differences have to take
_ROUNDS = 3  # grids with layers, in search of one that keeps to the accuracy
_LEAST_STEP = 0.6  # factor of the error that is aimed at, after layers held that of a grid
_COARSER = 1.25  # factor of the spacing where layers hold the error


def with_grid(scenario: Scenario) -> Scenario:
    """Return a scenario with the grid and layers that it leaves to the program.

    Raises:
        ScenarioError: no grid carries its waves, or it cannot be run as written.
    """
    return scenario.completed(GridSearch(scenario).cheapest().keys)


@dataclass(frozen=True)
class Candidate:
    """A grid that was discretized.

    Attributes:
        keys: its values in the scenario, by their paths.
        discretization: of the run.
        expected: its error; without absorbing layers while spacings are sought.
        coarser: times as large a spacing as that of the discretization, where it is too large to be
            discretized.
    """

    keys: dict[str, Any]
    discretization: Discretization
    expected: Expected
    coarser: float = 1.0

    @property
    def spacing(self) -> float:
        """In m, the largest of the discretization."""
        return max(self.discretization.waves.spacing)

    @property
    def points_beside(self) -> float:
        """Times as many points as the discretization has."""
        return self.coarser**-self.discretization.grid.dimensions

    def reflecting(self, error: float, along: float | None = None) -> Candidate:
        """Return the same grid with the error of its absorbing layers, and of waves along them."""
        errors = dict(self.expected.causes) | {SENT_BACK: error}
        if along is not None:
            errors[GRAZING] = along
        causes = tuple(sorted(errors.items(), key=lambda cause: -cause[1]))
        return replace(self, expected=replace(self.expected, causes=causes))

    @property
    def seconds(self) -> float:
        """Time that it takes on a processor."""
        rate = speed.points_per_second(self.discretization, _MACHINE)
        seconds = speed.seconds(self.discretization, rate, _MACHINE)
        return seconds * self.points_beside / self.coarser

    @property
    def mended(self) -> float:
        """Error by causes that a finer grid mends."""
        return mended(self.discretization, self.expected).error

    def error_of(self, *names: str) -> float:
        """Return the error by causes of these names."""
        return math.hypot(*(e for name, e in self.expected.causes if name.startswith(names)))

    def has_order(self, order: Any) -> bool:
        """Whether differences have an order, or that of the scenario."""
        return order in (AUTO, self.discretization.stencil.order)

    @property
    def unmended(self) -> float:
        """Error by causes that neither a finer grid nor layers mend."""
        layers = self.error_of(SENT_BACK, GRAZING)
        return math.sqrt(max(0.0, self.expected.error**2 - self.mended**2 - layers**2))


class GridSearch:
    """The search of the grid of a scenario.

    Attributes:
        scenario: with spacing, or points of layers, left open.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Find out which keys are left to the program."""
        grid = scenario.grid
        layer = scenario.boundaries.layer
        is_free = {name: grid.is_open and name not in grid.model_fields_set
                   for name in ("order", "stencil")}  # fmt: skip
        # A plane needs extents of whole cells.
        self._has_no_plane = grid.is_open and grid.plane_is_open and not has_common_cells(scenario)
        without: dict[str, Any] = {"grid.refinement": []}
        self.scenario = scenario.completed(without) if self._has_no_plane else scenario
        self._wanted = grid.accuracy
        self._order_is_free = grid.is_open and (is_free["order"] or grid.order == AUTO)
        self._orders = tuple(ORDER_COST) if self._order_is_free else (grid.order,)
        self._stencil_is_free = is_free["stencil"] and not grid.refinement
        left_out = grid.is_open and "points" not in layer.model_fields_set
        self._points_are_free = left_out or layer.is_open
        self._evaluated_grids: list[Candidate] = []
        # Powers of the spacing with which contacts, and all causes together, err.
        self._power = 2.0
        self._fall = 2.5

    def cheapest(self) -> Candidate:
        """Return the cheapest grid that keeps to the accuracy, else that with the least error.

        Raises:
            ScenarioError: no grid carries its waves, or it cannot be run as written.
        """
        return self._with_plane(self._of_one_spacing())

    def _with_plane(self, candidate: Candidate) -> Candidate:
        """Return a grid with the plane that is left to the program, and layers of coarse cells."""
        if not self.scenario.grid.plane_is_open:
            return candidate
        try:
            planes = settled(self.scenario.completed(candidate.keys)).grid.planes
        except SeismoError:  # as the run will say
            return candidate
        if not planes:
            return candidate
        keys = dict(candidate.keys)
        if "boundaries.layer.points" in keys:
            points = keys["boundaries.layer.points"]
            keys["boundaries.layer.points"] = math.ceil(points / planes[0].factor)
        if candidate.coarser != 1.0:
            return replace(candidate, keys=keys)
        refined = of_survey(discretize(self.scenario.completed(keys)))
        back = candidate.error_of(SENT_BACK)
        return Candidate(keys, refined, expected_error(refined, back))

    def _of_one_spacing(self) -> Candidate:
        first = self._first()
        if not self.scenario.grid.is_open:
            return self._with_layers(first)
        share = _FOR_GRID
        grids: list[Candidate] = []
        for _ in range(_ROUNDS):
            grid = self._with_long_steps(self._with_layers(self._sought(first, share)))
            grids.append(grid)
            error = grid.expected.error
            if error <= CLOSE * self._wanted or grid.unmended >= self._wanted:
                break
            if grid.error_of(SENT_BACK, GRAZING) >= self._wanted and len(grids) > 1:
                grids += self._coarser(grids[0])
                break
            share *= max(_LEAST_STEP, self._wanted / error)
            first = grid if grid.coarser == 1.0 else first
        suitable = [grid for grid in grids if grid.expected.error <= CLOSE * self._wanted]
        if suitable:
            return min(suitable, key=lambda grid: grid.seconds)
        return min(grids, key=lambda grid: grid.expected.error)

    def _coarser(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield coarser grids, whose layers reflect less in fewer steps, while they err less."""
        while True:
            spacing = chosen_length(self.scenario, _COARSER * candidate.spacing)
            points = self._thick(candidate.discretization, spacing / candidate.spacing)
            order = candidate.discretization.stencil.order
            try:
                coarser = self._with_layers(self._evaluated(self._keys(spacing, order, points)))
            except SeismoError:
                return
            if coarser.expected.error > candidate.expected.error:
                return
            candidate = coarser
            yield candidate

    def _keys(self, spacing: float, order: Any, points: int) -> Any:
        keys: dict[str, Any] = {}
        if self.scenario.grid.is_open:
            keys["grid.spacing"] = spacing
        if self._has_no_plane:
            keys["grid.refinement"] = []
        if self._order_is_free:
            keys["grid.order"] = order
        if self._points_are_free:
            keys["boundaries.layer.points"] = points
        return keys

    def _discretized(self, keys: dict[str, Any]) -> Discretization:
        if self.scenario.grid.plane_is_open:
            keys = keys | {"grid.refinement": []}
        return of_survey(discretize(self.scenario.completed(keys)))

    def _evaluated(self, keys: dict[str, Any]) -> Candidate:
        known = next((grid for grid in self._evaluated_grids if grid.keys == keys), None)
        if known is None:
            discretization = self._discretized(keys)
            known = Candidate(keys, discretization, expected_error(discretization, 0.0))
            self._evaluated_grids.append(known)
        return known

    def _first(self) -> Candidate:
        """Return a grid by the points in the shortest wavelength at the highest frequency."""
        if not self.scenario.grid.is_open:
            keys = self._keys(0.0, None, LEAST_POINTS)
            return self._evaluated(self._keys(0.0, None, self._thick(self._discretized(keys))))
        wanted = _AT_PERCENT * (0.01 / self._wanted) ** _FIRST_POWER
        spacing = min(self._extents()) / _FIRST_CELLS
        order = self._orders[0]
        for trial in range(_HALVINGS + 1):
            spacing = chosen_length(self.scenario, spacing)
            keys = self._keys(spacing, order, LEAST_POINTS)
            try:
                discretization = self._discretized(keys)
            except SeismoError:
                if trial == _HALVINGS:
                    raise
                spacing /= 2.0
                continue
            layers = layers_of(discretization, discretization.highest_frequency)
            points = min(layer.points_per_wavelength for layer in layers)
            finer = wanted / points
            if finer < _NEAR_FIRST and (trial or finer > 1.0 / _NEAR_FIRST):
                break
            spacing = self._limited(discretization, spacing / finer)
        spacing = chosen_length(self.scenario, spacing)
        return self._evaluated(self._keys(spacing, order, self._thick(discretization)))

    def _extents(self) -> list[float]:
        extent = self.scenario.grid.extent
        return [length for length in (extent.x, extent.y, extent.z) if length is not None]

    def _limited(self, discretization: Discretization, spacing: float) -> float:
        """Return a spacing with which an earth that varies sideways is soon prepared."""
        if discretization.earth.layered:
            return spacing
        grid = discretization.grid
        return max(
            spacing,
            max(grid.spacing[::2]) * (grid.size / MOST_TRIED) ** (1.0 / grid.dimensions),
        )

    def _thick(self, discretization: Discretization, coarser: float = 1.0) -> int:
        """Return the points of layers that are thick enough for the longest waves."""
        spacing = coarser * absorbing_spacing(discretization)
        if not spacing:
            return LEAST_POINTS
        thick = LEAST_THICKNESS * longest_wavelength(discretization) / spacing
        return min(MOST_LAYER_POINTS, max(LEAST_POINTS, math.ceil(thick * (1.0 - 1e-9))))

    def _aim(self, candidate: Candidate, share: float) -> float:
        """Return the error that causes which a finer grid mends may have."""
        wanted = share * self._wanted
        unmended = candidate.unmended
        if unmended >= self._wanted:
            return wanted
        return max(_LEAST_SHARE * wanted, math.sqrt(max(0.0, wanted**2 - unmended**2)))

    def _sought(self, candidate: Candidate, share: float) -> Candidate:
        """Return the cheapest grid, layers apart, from the errors of a first."""
        good: list[Candidate] = []
        bad: list[Candidate] = []
        for _ in range(_TRIALS):
            aim = self._aim(candidate, share)
            order, spacing = self._by_laws(candidate, _BELOW * aim)
            # Between those of the same order that are known to suit, and not to suit.
            low = max((g.spacing for g in good if g.has_order(order)), default=0.0)
            high = min((g.spacing for g in bad if g.has_order(order)), default=math.inf)
            if low and (spacing <= low or high < _BRACKET * low):
                break
            if spacing >= high:
                spacing = math.sqrt(low * high) if low else high / _BRACKET
            elif high < math.inf and not low:
                spacing = max(spacing, high / _LARGEST_STEP)
            spacing = chosen_length(self.scenario, spacing)
            thick = self._thick(candidate.discretization, spacing / candidate.spacing)
            keys = self._keys(spacing, order, thick)
            if self._limited(candidate.discretization, spacing) > spacing * (1.0 + 1e-9):
                return self._by_laws_alone(candidate, keys, spacing, aim)
            if any(grid.keys == keys for grid in (*good, *bad)):
                break
            try:
                following = self._evaluated(keys)
            except SeismoError:
                break
            self._measure_powers(candidate, following)
            candidate = following
            if candidate.mended > CLOSE * aim:
                bad.append(candidate)
                continue
            good.append(candidate)
            if candidate.mended >= _CLOSELY * aim:
                break
        if good:
            return min(good, key=lambda grid: grid.seconds)
        return min([candidate, *bad], key=lambda grid: grid.mended)

    def _by_laws_alone(
        self, candidate: Candidate, keys: dict[str, Any], spacing: float, aim: float
    ) -> Candidate:
        """Return a grid that is too large for trials, prepared once or not at all."""
        coarser = spacing / candidate.spacing
        grid = candidate.discretization.grid
        if grid.size / coarser**grid.dimensions < _MOST_PREPARED:
            return self._evaluated(keys)
        fallen = min(1.0, aim / candidate.mended)
        causes = tuple(
            (name, error * (fallen if is_mended(candidate.discretization, name) else 1.0))
            for name, error in candidate.expected.causes
        )
        return Candidate(keys, candidate.discretization, Expected(causes), coarser)

    def _by_laws(self, candidate: Candidate, aim: float) -> tuple[Any, float]:
        """Return order and spacing that take the least work for an error, by the laws of causes."""
        discretization = candidate.discretization
        kept = mended(discretization, candidate.expected)
        factors = {
            order: coarsest(partial(
                all_causes_within, discretization, kept, power=self._power, wanted=aim,
                order=order if self._order_is_free else discretization.stencil.order,
            ))
            for order in self._orders
        }  # fmt: skip
        order = min(
            factors,
            key=lambda order: work(
                discretization,
                order if self._order_is_free else discretization.stencil.order,
                factors[order],
            ),
        )
        factor = factors[order]
        if order == discretization.stencil.order and kept.error > aim:
            # All causes together fall as they fell between the last two grids.
            factor = min(factor, (aim / kept.error) ** (1.0 / self._fall))
        return order, factor * candidate.spacing

    def _measure_powers(self, before: Candidate, after: Candidate) -> None:
        """Find the powers of the spacing with which contacts, and all causes, err."""
        ratio = math.log(after.spacing / before.spacing)
        if abs(ratio) < _TOO_NEAR or min(before.mended, after.mended) <= 0.0:
            return
        contacts = [grid.error_of(CONTACTS) for grid in (before, after)]
        if min(contacts) > _LITTLE * self._wanted:
            self._power = min(3.0, max(1.3, math.log(contacts[1] / contacts[0]) / ratio))
        if before.discretization.stencil.order == after.discretization.stencil.order:
            self._fall = min(4.0, max(1.3, math.log(after.mended / before.mended) / ratio))

    def _with_layers(self, candidate: Candidate) -> Candidate:
        """Return a grid with absorbing layers for the remaining error, and its error with them."""
        present = candidate.keys.get("boundaries.layer.points")
        discretization = candidate.discretization
        others = math.sqrt(
            candidate.expected.error**2 - candidate.error_of(SENT_BACK, GRAZING) ** 2
        )
        remaining = math.sqrt(max(0.0, self._wanted**2 - others**2))
        remaining = max(remaining, (1.0 - _FOR_GRID**2) * self._wanted)
        grazes = candidate.error_of(GRAZING) > 0.3 * remaining
        # As `expected_error` asks for them.
        beside = math.sqrt(max(0.0, others**2 - candidate.error_of(READ_BESIDE) ** 2))
        along: dict[int, float] = {}

        @cache
        def sent(points: int) -> float:
            along[points] = candidate.error_of(GRAZING)
            if grazes and points != present and candidate.coarser == 1.0:
                thicker = self._discretized(candidate.keys | {"boundaries.layer.points": points})
                along[points] = grazing_error(thicker)
            back = sent_back(discretization, points, candidate.coarser, beside)
            return math.hypot(back, along[points])

        if present is None:
            return candidate.reflecting(sent_back(discretization, beside=beside))
        first = sent(present)
        points = present
        error = first
        if first > remaining and sent(2 * present) < _WORTH * first:
            most = min(MOST_LAYER_POINTS, _LAYERS_TIMES * present)
            points, error = least_points(sent, remaining, present, most, _LAYERS_CLOSELY)
            if error > CLOSE * remaining and error > _WORTH * first:
                points = present
                error = first
        back = math.sqrt(max(0.0, error**2 - along[points] ** 2))
        keys = candidate.keys | {"boundaries.layer.points": points}
        thicker = replace(candidate.reflecting(back, along[points]), keys=keys)
        if points == present or candidate.coarser != 1.0:
            return thicker
        return replace(thicker, discretization=self._discretized(keys))

    def _with_long_steps(self, candidate: Candidate) -> Candidate:
        """Return a grid with bounded differences, where these save time and err no more."""
        if not self._stencil_is_free or candidate.coarser != 1.0:
            return candidate
        keys = candidate.keys | {"grid.stencil": "long_steps"}
        try:
            discretization = self._discretized(keys)
        except SeismoError:
            return candidate
        longer = Candidate(keys, discretization, candidate.expected)
        if longer.seconds > _LONGER * candidate.seconds:
            return candidate
        back = candidate.error_of(SENT_BACK)
        longer = replace(longer, expected=expected_error(discretization, back))
        is_worse = longer.expected.error > max(self._wanted, candidate.expected.error)
        return candidate if is_worse else longer

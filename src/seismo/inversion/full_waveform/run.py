"""The course of an inversion: bands, iterations, evaluations, and the files that they leave."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seismo.errors import ScenarioError, StoppedError
from seismo.inversion.full_waveform.history import History, Iteration, write_history
from seismo.inversion.full_waveform.journal import Evaluation, EvaluationJournal
from seismo.inversion.full_waveform.objective import ShotSum
from seismo.inversion.full_waveform.optimisers import minimise
from seismo.inversion.full_waveform.preparation import PreparedInversion
from seismo.inversion.full_waveform.unknowns import ModelValues, Unknowns
from seismo.inversion.problem import Problem
from seismo.inversion.survey.conditioning import illumination_weights
from seismo.inversion.survey.course import TaskRequest, complete
from seismo.inversion.survey.results_file import COMPLETE, UNFINISHED
from seismo.inversion.survey.settings import SourceIllumination


@dataclass(frozen=True)
class Advance:
    """Where an inversion is.

    Attributes:
        band: number of the band, from 0, of so many `bands`.
        bands: how many there are.
        corner: of the band in Hz, math.inf for no filter.
        iteration: of the band; 0 is its first model.
        iterations: of a band, at most.
        evaluations: made so far, those of an earlier process included.
        misfit: over the first of the band.
        seconds: since this process began to evaluate.
        replayed: whether the last evaluation is of an earlier process.
    """

    band: int
    bands: int
    corner: float
    iteration: int
    iterations: int
    evaluations: int
    misfit: float
    seconds: float
    replayed: bool

    @property
    def fraction(self) -> float:
        """Share of the iterations done."""
        return (self.band + self.iteration / self.iterations) / self.bands

    @property
    def band_name(self) -> str:
        """The band in words."""
        return "all frequencies" if math.isinf(self.corner) else f"below {self.corner:g} Hz"

    def __str__(self) -> str:
        """Describe it in a line."""
        return (
            f"band {self.band + 1}/{self.bands} ({self.band_name})  "
            f"iteration {self.iteration}/{self.iterations}  misfit {self.misfit:.4g} of the first  "
            f"{self.evaluations} evaluations"
        )


def invert(prepared: PreparedInversion, request: TaskRequest) -> Path:
    """Run an inversion to its end, and return the path of its results.

    Raises:
        ScenarioError: results of something else are there, or an inversion that has not ended.
        StorageError: the disk is full or failing.
        StoppedError: it was asked to stop.
    """

    def run(journal: EvaluationJournal, final: Path) -> None:
        _Course(prepared, request, journal, final).go()

    return complete(prepared, request, EvaluationJournal, run)


@dataclass
class _Record:
    """Iterations and evaluations so far."""

    iterations: list[Iteration] = field(default_factory=list)
    corners: list[float] = field(default_factory=list)
    misfits: list[float] = field(default_factory=list)


class _Course:
    """An inversion that runs."""

    def __init__(
        self, prepared: PreparedInversion, request: TaskRequest, journal: EvaluationJournal,
        final: Path,
    ) -> None:  # fmt: skip
        self._prepared = prepared
        self._request = request
        self._journal = journal
        self._final = final
        self._sum: ShotSum = prepared.shot_sum()
        self._unknowns: Unknowns = prepared.unknowns()
        self._record = _Record()
        self._began = time.monotonic()
        self._band = 0
        self._in_band = 0  # evaluations of the band
        self._latest: list[tuple[bytes, int]] = []  # unknowns and numbers since the last iteration

    def go(self) -> None:
        """Go through all bands, and write the results at the end of each."""
        model = self._unknowns.models(self._zeros())
        bands = self._prepared.settings.bands
        try:
            for number in range(len(bands)):
                self._band = number
                model = self._of_band(model)
                is_last = number + 1 == len(bands)
                if is_last or not self._is_replaying:
                    self._write(COMPLETE if is_last else UNFINISHED)
        except StoppedError:
            self._sum.end()
            raise
        self._sum.end()

    @property
    def _is_replaying(self) -> bool:
        """Whether the next evaluation is in the journal."""
        return len(self._record.misfits) < self._journal.count

    def _of_band(self, model: ModelValues) -> ModelValues:
        """Invert a band from a model on, and return the last accepted model."""
        self._in_band = 0
        self._latest = []
        weights = self._weights(model)
        self._unknowns.begin(model, weights)
        problem = Problem(
            self._objective, self._zeros(), scales=dict.fromkeys(self._unknowns.names, 1.0),
            mask=self._unknowns.mask > 0.0,
        )  # fmt: skip
        limits = [self._unknowns.bounds(name) for name in self._unknowns.names]
        joined = [of_name for of_name in limits if of_name is not None]
        self._problem = problem
        minimise(
            self._prepared.settings.optimiser, self._evaluate, problem.flat_start,
            np.concatenate(joined) if joined else None, self._accept,
        )  # fmt: skip
        return self._journal.evaluation(self._record.iterations[-1].evaluation).models

    def _weights(self, model: ModelValues) -> np.ndarray | None:
        """Return the preconditioner of a band; None where it is the same for all."""
        settings = self._prepared.settings.precondition
        if not isinstance(settings, SourceIllumination):
            return None
        return self._journal.weights(
            self._band, lambda: illumination_weights(self._sum.energy(model), settings.level)
        )

    def _zeros(self) -> ModelValues:
        return {name: np.zeros_like(self._unknowns.mask) for name in self._unknowns.names}

    def _objective(self, **changes: np.ndarray) -> tuple[float, ModelValues]:
        """Return the misfit of unknowns and its gradient by them."""
        models = self._unknowns.models(changes)
        value, by_parameter = self._sum.misfit(self._corner, models, self._shots())
        gradient = self._unknowns.with_ties(by_parameter, models)
        self._computed = models, gradient
        return value, self._unknowns.transposed(gradient, changes, models)

    @property
    def _corner(self) -> float:
        return self._prepared.settings.bands[self._band]

    def _shots(self) -> list[int]:
        """Return the numbers of the shots of the next evaluation."""
        count = len(self._prepared.propagator.discretization.shots)
        drawn = self._prepared.settings.shots
        if drawn is None:
            return list(range(count))
        random = np.random.default_rng([drawn.random, self._band, self._in_band])
        return sorted(random.choice(count, drawn.each, replace=False).tolist())

    def _evaluate(self, unknowns: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit of unknowns and its gradient, from the journal where it has them."""
        number = len(self._record.misfits)
        if self._is_replaying:
            evaluation = self._journal.evaluation(number)
            if not np.array_equal(evaluation.unknowns, unknowns):
                raise ScenarioError(
                    f"{self._journal.evaluation_path(number)}: the optimiser took another path "
                    "here; versions of NumPy or SciPy differ: go on where it was begun, or start "
                    "over with --no-resume"
                )
            self._problem.unit = evaluation.unit
        else:
            evaluation = self._computed_at(unknowns)
            self._journal.append(evaluation)
        self._in_band += 1
        self._record.misfits.append(evaluation.value * evaluation.unit)
        self._record.corners.append(self._corner)
        self._latest.append((unknowns.tobytes(), number))
        return evaluation.value, evaluation.flat_gradient

    def _computed_at(self, unknowns: np.ndarray) -> Evaluation:
        if self._request.is_stopping():
            if self._record.iterations:
                self._write(UNFINISHED)
            raise StoppedError(
                f"stopped after {self._journal.count} evaluations; go on with --resume"
            )
        value, gradient = self._problem.flat(unknowns)
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            raise ScenarioError("the misfit or its gradient is not finite; check observed traces")
        models, gradients = self._computed
        unit = self._problem.unit
        assert unit is not None
        return Evaluation(unknowns.copy(), value, unit, gradient, models, gradients)

    def _accept(self, unknowns: np.ndarray) -> None:
        """Take an iteration of the optimiser, and report it."""
        key = unknowns.tobytes()
        evaluation = next(number for bits, number in reversed(self._latest) if bits == key)
        self._latest = [(key, evaluation)]
        self._record.iterations.append(Iteration(self._band, self._corner, evaluation))
        rows = [row for row in self._record.iterations if row.band == self._band]
        misfits = self._record.misfits
        first = misfits[rows[0].evaluation] or 1.0
        self._request.report(
            Advance(
                self._band,
                len(self._prepared.settings.bands),
                self._corner,
                len(rows) - 1,
                self._prepared.settings.optimiser.iterations,
                len(misfits),
                misfits[evaluation] / first,
                time.monotonic() - self._began,
                self._is_replaying,
            )
        )

    def _write(self, status: str) -> None:
        """Write the results so far."""
        record = self._record
        history = History(record.iterations, record.corners, record.misfits, self._prepared.axes)
        write_history(self._final, self._prepared, status, history, self._journal.evaluation)

"""The course of an image or a kernel: batches of shots, kept in a journal, and their sum."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seismo.errors import StoppedError
from seismo.inversion.imaging.preparation import DerivativeArrays, PreparedGradient
from seismo.inversion.survey.course import TaskRequest, complete
from seismo.inversion.survey.journal import Journal


@dataclass(frozen=True)
class BatchesDone:
    """Where the sum is.

    Attributes:
        done: batches of shots that are computed, those of an earlier process included.
        batches: how many there are.
        seconds: since this process began to compute.
        replayed: whether the last batch is of an earlier process.
    """

    done: int
    batches: int
    seconds: float
    replayed: bool

    @property
    def fraction(self) -> float:
        """Share of the batches done."""
        return self.done / self.batches

    def __str__(self) -> str:
        """Describe it in a line."""
        return f"{self.done} of {self.batches} batches of shots"


def add_shots(prepared: PreparedGradient, request: TaskRequest) -> Path:
    """Add the derivatives of all shots, and return the path of the results.

    Raises:
        ScenarioError: results of something else are there, or a task that has not ended.
        StorageError: the disk is full or failing.
        StoppedError: it was asked to stop.
    """

    def run(journal: Journal, final: Path) -> None:
        prepared.write(final, _total(prepared, request, journal))

    return complete(prepared, request, lambda folder: Journal(folder, prepared.noun), run)


def _total(prepared: PreparedGradient, request: TaskRequest, journal: Journal) -> DerivativeArrays:
    """Return the sums over batches, of which those in the journal are not computed again."""
    shots = prepared.shot_sum()
    batches = shots.batches_of(prepared.shots)
    pending = [batch for batch in batches if not journal.has(_name(batch[0]))]
    began = time.monotonic()

    def report(replayed: bool) -> None:
        done = len(batches) - len(pending)
        request.report(BatchesDone(done, len(batches), time.monotonic() - began, replayed))

    if len(pending) < len(batches):
        report(replayed=True)
    try:
        while pending:
            if request.is_stopping():
                done = len(batches) - len(pending)
                raise StoppedError(
                    f"stopped after {done} of {len(batches)} batches of shots; go on with --resume"
                )
            together = pending[: shots.at_once]
            for (number, _), arrays in zip(together, shots.results(None, together), strict=True):
                journal.write(_name(number), arrays)
            pending = pending[shots.at_once :]
            report(replayed=False)
    except StoppedError:
        shots.end()
        raise
    shots.end()
    totals: DerivativeArrays = {}
    # Sums in the order of the batches have the same bits however often the run was killed.
    for number, _ in batches:
        for name, array in journal.read(_name(number)).items():
            totals[name] = totals.get(name, np.zeros(())) + array
    return totals


def _name(number: int) -> str:
    return f"batch-{number:06d}"

"""The evaluations of an inversion in its journal.

    inversion.h5.run/evaluation-000000.npz  unknowns, value, gradients
    inversion.h5.run/weights-000.npz        preconditioner of a band

Optimisers are deterministic: asked for the same values they take the same path. A run that goes on
gives them those of the journal, and computes only what is missing, to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seismo.inversion.survey.journal import Journal


@dataclass(frozen=True)
class Evaluation:
    """The misfit of a model.

    Attributes:
        unknowns: (unknown), as the optimiser gave them.
        value: the misfit, in units of the first of the band.
        unit: of that.
        flat_gradient: (unknown), by the unknowns.
        models: values (z, [y,] x) in SI by parameter.
        gradients: derivatives of the misfit by the unknown parameters, in SI.
    """

    unknowns: np.ndarray
    value: float
    unit: float
    flat_gradient: np.ndarray
    models: dict[str, np.ndarray] = field(default_factory=dict)
    gradients: dict[str, np.ndarray] = field(default_factory=dict)


def _named(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): arrays[n] for n in arrays if n.startswith(prefix)}


class EvaluationJournal(Journal):
    """The evaluations of an inversion on disk.

    Attributes:
        count: evaluations that are there.
    """

    def __init__(self, folder: Path) -> None:
        """Take the run directory, which is there and locked, and count its evaluations."""
        super().__init__(folder, "inversion")
        self.count = 0
        while self.has(self._name(self.count)):
            self.count += 1

    def evaluation_path(self, number: int) -> Path:
        """Return the file of an evaluation."""
        return self.path(self._name(number))

    def evaluation(self, number: int) -> Evaluation:
        """Read an evaluation.

        Raises:
            StorageError: the file is damaged.
        """
        arrays = self.read(self._name(number))
        return Evaluation(
            arrays["unknowns"],
            float(arrays["value"]),
            float(arrays["unit"]),
            arrays["flat_gradient"],
            _named(arrays, "model_"),
            _named(arrays, "gradient_"),
        )

    def append(self, evaluation: Evaluation) -> None:
        """Write the next evaluation, flushed to disk.

        Raises:
            StorageError: the disk is full or failing.
        """
        arrays = {
            "unknowns": evaluation.unknowns,
            "value": np.array(evaluation.value),
            "unit": np.array(evaluation.unit),
            "flat_gradient": evaluation.flat_gradient,
            **{f"model_{name}": array for name, array in evaluation.models.items()},
            **{f"gradient_{name}": array for name, array in evaluation.gradients.items()},
        }
        self.write(self._name(self.count), arrays)
        self.count += 1

    def weights(self, band: int, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the preconditioner of a band, which is made where it is not there.

        Raises:
            StorageError: it cannot be written, or is damaged.
        """
        name = f"weights-{band:03d}"
        if not self.has(name):
            self.write(name, {"weights": make()})
        return self.read(name)["weights"]

    def clear(self) -> None:
        """Remove all evaluations, and what they depend on."""
        super().clear()
        self.count = 0

    def _name(self, number: int) -> str:
        return f"evaluation-{number:06d}"

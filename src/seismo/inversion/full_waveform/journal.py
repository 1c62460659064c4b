"""The journal of an inversion: every evaluation of the misfit, from which a killed run goes on.

    inversion.h5.run/lock                   held as long as the process lives
    inversion.h5.run/beginning.json         what the numbers depend on, sealed
    inversion.h5.run/evaluation-000000.npz  unknowns, value, gradients; renamed when complete

Optimisers are deterministic: asked for the same values they take the same path. A run that goes on
gives them those of the journal, and computes only what is missing, to the same bits.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ScenarioError, StorageError
from seismo.output.run_directory import read_sealed, refusal, sealed, write_file

BEGINNING = "beginning.json"
_DAMAGES = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
_FORMAT = {"format": "seismo inversion journal", "version": 1}


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

    def packed(self) -> bytes:
        """Return it as the bytes of a file, with checksums."""
        arrays = {
            "unknowns": self.unknowns,
            "value": np.array(self.value),
            "unit": np.array(self.unit),
            "flat_gradient": self.flat_gradient,
            **{f"model_{name}": array for name, array in self.models.items()},
            **{f"gradient_{name}": array for name, array in self.gradients.items()},
        }
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()


def read_evaluation(path: Path) -> Evaluation:
    """Read an evaluation.

    Raises:
        StorageError: the file is damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Evaluation(
                arrays["unknowns"],
                float(arrays["value"]),
                float(arrays["unit"]),
                arrays["flat_gradient"],
                _named(arrays, "model_"),
                _named(arrays, "gradient_"),
            )
    except _DAMAGES as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> StorageError:
    reason = " ".join(str(error).split())
    return StorageError(
        f"{path}: is damaged: {reason}; remove it and all with higher numbers, and go on with "
        "--resume"
    )


def _named(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): arrays[n] for n in arrays if n.startswith(prefix)}


class Journal:
    """The evaluations of an inversion on disk.

    Attributes:
        count: evaluations that are there.
    """

    def __init__(self, folder: Path) -> None:
        """Take the run directory, which is there and locked, and count its evaluations."""
        self._folder = folder
        self.count = 0
        while self.path(self.count).is_file():
            self.count += 1

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to go on from."""
        return (self._folder / BEGINNING).exists()

    def path(self, number: int) -> Path:
        """Return the file of an evaluation."""
        return self._folder / f"evaluation-{number:06d}.npz"

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Write what the numbers depend on, or compare it with what is there.

        Args:
            facts: as JSON holds them.

        Raises:
            ScenarioError: evaluations were made with others.
            StorageError: it cannot be written, or is damaged.
        """
        path = self._folder / BEGINNING
        if not self.has_begun:
            self.clear()
            self._write(path, sealed({**_FORMAT, **facts}).encode())
            return
        try:
            begun = read_sealed(path)
        except (OSError, ValueError) as error:
            raise StorageError(f"{path}: is damaged: {error}; use --no-resume") from error
        for key, fact in {**_FORMAT, **facts}.items():
            if begun.get(key) != fact:
                raise ScenarioError(
                    f"{self._folder}: was begun with another {key}; go on with that, or start over "
                    "with --no-resume"
                )

    def read(self, number: int) -> Evaluation:
        """Read an evaluation.

        Raises:
            StorageError: the file is damaged.
        """
        return read_evaluation(self.path(number))

    def append(self, evaluation: Evaluation) -> None:
        """Write the next evaluation, flushed to disk.

        Raises:
            StorageError: the disk is full or failing.
        """
        self._write(self.path(self.count), evaluation.packed())
        self.count += 1

    def weights(self, band: int, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the preconditioner of a band, which is made where it is not there.

        Raises:
            StorageError: it cannot be written, or is damaged.
        """
        path = self._folder / f"weights-{band:03d}.npz"
        if not path.is_file():
            file = io.BytesIO()
            np.savez(file, weights=make())
            self._write(path, file.getvalue())
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return np.asarray(arrays["weights"])
        except _DAMAGES as error:
            raise _damaged(path, error) from error

    def clear(self) -> None:
        """Remove all evaluations, and what they depend on."""
        (self._folder / BEGINNING).unlink(missing_ok=True)
        for pattern in ("evaluation-*.npz", "weights-*.npz", ".*.partial"):
            for path in self._folder.glob(pattern):
                path.unlink()
        self.count = 0

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_file(path, data)
        except OSError as error:
            raise refusal(path, error) from error

"""The journal of a task: results of its stages on disk, from which a killed run goes on.

results.h5.run/lock              held as long as the process lives
results.h5.run/beginning.json    what the numbers depend on, sealed
results.h5.run/*.npz             arrays of a stage, with checksums; renamed when complete
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ScenarioError, StorageError
from seismo.output.run_directory import read_sealed, refusal, sealed, write_file

BEGINNING = "beginning.json"
_DAMAGES = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


class Journal:
    """Files of arrays in a run directory."""

    def __init__(self, folder: Path, noun: str) -> None:
        """Take the run directory, which is there and locked.

        Args:
            folder: the directory.
            noun: what the task makes, such as "inversion".
        """
        self._folder = folder
        self._format = {"format": f"seismo {noun} journal", "version": 1}

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to go on from."""
        return (self._folder / BEGINNING).exists()

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Write what the numbers depend on, or compare it with what is there.

        Args:
            facts: as JSON holds them.

        Raises:
            ScenarioError: the stages that are there were made with others.
            StorageError: it cannot be written, or is damaged.
        """
        path = self._folder / BEGINNING
        if not self.has_begun:
            self.clear()
            self._write(path, sealed({**self._format, **facts}).encode())
            return
        try:
            begun = read_sealed(path)
        except (OSError, ValueError) as error:
            raise StorageError(f"{path}: is damaged: {error}; use --no-resume") from error
        for key, fact in {**self._format, **facts}.items():
            if begun.get(key) != fact:
                raise ScenarioError(
                    f"{self._folder}: was begun with another {key}; go on with that, or start over "
                    "with --no-resume"
                )

    def has(self, name: str) -> bool:
        """Whether arrays of a name are there."""
        return self.path(name).is_file()

    def path(self, name: str) -> Path:
        """Return the file of arrays of a name."""
        return self._folder / f"{name}.npz"

    def read(self, name: str) -> dict[str, np.ndarray]:
        """Return arrays of a name.

        Raises:
            StorageError: the file is damaged.
        """
        path = self.path(name)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays}
        except _DAMAGES as error:
            reason = " ".join(str(error).split())
            raise StorageError(
                f"{path}: is damaged: {reason}; remove it and all with higher numbers, and go on "
                "with --resume"
            ) from error

    def write(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Write arrays under a name, flushed to disk.

        Raises:
            StorageError: the disk is full or failing.
        """
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        self._write(self.path(name), file.getvalue())

    def clear(self) -> None:
        """Remove all arrays, and what they depend on."""
        (self._folder / BEGINNING).unlink(missing_ok=True)
        for pattern in ("*.npz", ".*.partial"):
            for path in self._folder.glob(pattern):
                path.unlink()

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_file(path, data)
        except OSError as error:
            raise refusal(path, error) from error

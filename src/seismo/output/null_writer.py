"""Null writer for ranks other than 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seismo.backends.base import Copy


class NullWriter:
    """Writer and pipeline of ranks other than 0, which write nothing."""

    def create_snapshots(self, name: str, **layout: Any) -> str:
        """Lay nothing out; see `ResultsWriter.create_snapshots`."""
        return name

    def write(self, name: str, index: int, make: Callable) -> None:
        """Write nothing; see `Pipeline.write`."""

    def drain(self) -> None:
        """Wait for nothing; see `Pipeline.drain`."""

    def send(self, array: Any, names: Sequence[str], index: int) -> Copy:
        """Send nothing; see `Pipeline.send`."""
        raise ValueError("only rank 0 sends gathered arrays")

    def check(self) -> None:
        """Find nothing wrong; see `Pipeline.check`."""

    def waiting(self) -> dict[str, float]:
        """Hold nothing; see `Pipeline.waiting`."""
        return {}

    def seal(self, until: int, marks: Mapping[str, object]) -> None:
        """Seal nothing; see `Pipeline.seal`."""

"""What backends whose arrays are NumPy's share: copies, the step counter, the loop over steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seismo.backends.base import Step


class HostBackend:
    """Arrays in this machine's own memory; launches are done when they return."""

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self.clock = np.zeros(1, np.int64)

    def array(self, values: np.ndarray) -> np.ndarray:
        """Copy an array."""
        return np.array(values)

    def fetch(self, array: np.ndarray) -> np.ndarray:
        """Give the array itself."""
        return array

    def program(self, steps: tuple[Step, ...]) -> Callable[[int, int], None]:
        """Make the loop; see `Backend.program`."""
        flat = [[launch for group in step for launch in group] for step in steps]

        def advance(first: int, count: int) -> None:
            for step in range(first, first + count):
                self.clock[0] = step
                for launch in flat[step % len(flat)]:
                    launch()

        return advance

    def wait(self) -> None:
        """Return at once."""

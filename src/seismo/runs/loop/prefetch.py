"""The shots of the next batch, prepared in a thread while one is under way.

What is injected where takes longer to compute than to load: wavelets are sampled, points and
weights found for every source. The device, or the cores, need not wait for that.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from seismo.acquisition.shots import Shot
from seismo.solver.simulation import Prepared, Simulation


class Prefetcher:
    """Load batches of shots, each prepared during the one before; use as a context manager."""

    def __init__(self, simulation: Simulation, batches: list[list[Shot]]) -> None:
        """Prepare nothing yet: the first batch was loaded when the simulation was built."""
        self._simulation = simulation
        self._batches = batches
        self._pool = ThreadPoolExecutor(1, "seismo-prepare", simulation.backend.attend)
        self._prepared: dict[int, Future[Prepared]] = {}

    def __enter__(self) -> Prefetcher:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Let go of what nobody waits for."""
        self._pool.shutdown(cancel_futures=True)

    def load(self, number: int) -> list[Shot]:
        """Load a batch, and give its shots."""
        if number:
            self._begin(number)
            self._simulation.start(self._prepared.pop(number).result())
        return self._batches[number]

    def look_ahead(self, number: int) -> None:
        """Begin to prepare the batch that follows one."""
        if number + 1 < len(self._batches):
            self._begin(number + 1)

    def _begin(self, number: int) -> None:
        if number not in self._prepared:
            shots = self._batches[number]
            self._prepared[number] = self._pool.submit(self._simulation.prepare, shots)

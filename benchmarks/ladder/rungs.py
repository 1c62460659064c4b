"""The rungs in their order: from NumPy to the product, on one scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ladder import flat, layouts, loops, naive, scalar_queue, slices, strided, tile
from ladder.stand import Call, Interior, Stand, whole

# By machine: name, the file that says what is wrong with it, and the way to bind.
LADDERS: dict[str, tuple[tuple[str, str, Callable[[Any, Call], list]], ...]] = {
    "cpu": (
        ("NumPy, a slice for each neighbour", "slices", slices.bind),
        ("njit, one core", "loops", loops.serial),
        ("njit(parallel=True), z innermost", "loops", loops.strided),
        ("njit(parallel=True), x innermost", "loops", loops.parallel),
        ("the same between constants", "loops", loops.constant),
        ("the product on the processor", "", lambda backend, call: call.bind(backend)),
    ),
    "gpu": (
        ("a thread a point, threads along z", "strided", strided.bind),
        ("threads along x", "naive", naive.bind),
        ("flat arrays, unsigned index", "flat", flat.bind),
        ("a tile in shared memory", "tile", tile.bind),
        ("a queue in registers along z", "scalar_queue", scalar_queue.bind),
        ("lanes of 16 bytes, no queue", "layouts", layouts.bind(layouts.NO_QUEUE)),
        ("lanes and queue: the product", "", lambda backend, call: call.bind(backend)),
    ),
}


@dataclass(frozen=True)
class Rung:
    """A rung: its machine, point updates a second, share of the copy bandwidth, difference."""

    name: str
    machine: str
    points_per_second: float
    share: float
    difference: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def climb(stand: Stand, machine: str) -> Iterator[Rung]:
    """Measure the rungs of the processor, or of the card ("cpu", "gpu")."""
    backend, points = {
        "cpu": lambda: (stand.processor, stand.scale.processor),
        "gpu": lambda: (stand.backend, stand.scale.space),
    }[machine]()
    bandwidth = backend.bandwidth()
    interior = Interior(backend, whole("acoustic", 3, 8, points))
    for name, _, way in LADDERS[machine]:
        speed, apart = interior.measured(stand, lambda call, way=way: way(backend, call))
        share = speed * interior.bytes_per_point / bandwidth
        yield Rung(name, machine, speed, share, apart)

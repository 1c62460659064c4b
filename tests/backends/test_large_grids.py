"""Grids of more points than 32 bits count, and those that no memory holds.

Waves begin near the far corner of a large grid, where indices are largest, and do not get far: a
small grid that holds no more than this corner gives the same traces. On the CPU nothing else of the
large grid is touched; `pytest -m gpu tests/backends/test_large_grids.py` steps all of it, on a
card of 139 GiB. What does not fit is refused before anything is allocated.
"""

import mmap
import tracemalloc
from typing import Any

import numpy as np
import pytest

import seismo
import solver
from seismo.backends import machine
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.select import BackendChoice, choose
from seismo.errors import InsufficientMemoryError
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import Box
from seismo.runs import run
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.memory_fit import demands
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.fields import Fields
from seismo.solver.sampling.field_sampling import FieldSampler
from seismo.solver.simulation import Simulation
from test_resources import Device

H, LAYER = 10.0, 8  # m; points
SMALL = 90  # points of a small grid along an axis, without layers: none of its ends is reached
ROUNDING = 1e-5  # of the largest number


def corner(
    points: int, physics: str = "acoustic", *, middle: bool = False, **grid: Any
) -> dict[str, Any]:
    """Plan a cube whose far corner, and the waves beside it, stand at one place for all sizes.

    Args:
        points: along each axis, without layers; even.
        physics: the wave equation.
        middle: whether z = 0, where the waves begin, is the first plane of the lower half.
        grid: keys of `grid`.
    """
    extent, z = (points - 1) * H, 0.0 if middle else -300.0
    top = -(points // 2) * H if middle else -extent
    rock = {"acoustic": {"vp": 2000.0}, "elastic": {"vp": 2000.0, "vs": 1100.0, "rho": 2200.0}}
    kind, fields = {"acoustic": ("pressure", ["p"]), "elastic": ("explosion", ["vx", "vz"])}[
        physics
    ]
    line = {"start": {"x": -400.0, "y": -185.0, "z": z - 137.0},
            "end": {"x": -50.0, "y": -240.0, "z": z + 153.0}, "count": 6}  # fmt: skip
    box = {"x": [-500.0, 0.0], "z": [z - 200.0, z + 200.0]}
    origin = {"x": -extent, "y": -extent, "z": top}
    wavelet = {"type": "ricker", "frequency": 20.0}
    return {
        "physics": physics,
        "grid": {"extent": dict.fromkeys("xyz", extent), "origin": origin, "spacing": H, **grid},
        "time": {"duration": 0.16},
        "boundaries": {"layer": {"points": LAYER}},
        "model": [{"type": "uniform", **rock[physics]}],
        "sources": [
            {"type": kind, "position": {"x": -230.0, "y": -204.0, "z": z + 3.0}, "wavelet": wavelet}
        ],
        "receivers": [{"type": "line", **line}],
        "output": {
            "model": False,
            "snapshots": [{"fields": fields, "steps": 40, "plane": {"y": -200.0}, "box": box}],
        },
    }


class Untouched(CpuBackend):
    """Memory that is there once it is written to, and reads as zeros until then."""

    def zeros(self, size: int, short: bool = False) -> np.ndarray:
        """Reserve addresses, with a page before the first number."""
        item, page = np.dtype(self.precision).itemsize, mmap.PAGESIZE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        held = mmap.mmap(-1, (size + 4 * self.lane_width) * item + 2 * page, flags=flags)
        whole = np.frombuffer(held, self.precision)
        return whole[page // item : page // item + size + self.lane_width]


@pytest.fixture
def the_corner_alone(monkeypatch):
    """Let a grid have its medium, and step, in the far corner alone."""
    most = SMALL + LAYER

    def edges_and_core(part: Subdomain) -> tuple[list[Box], Box]:
        x, y, z = (n - most for n in part.owned.hi)
        return [], Box((x, y, z), part.owned.hi)

    def set_coefficients(
        fields: Fields, padded: dict[str, np.ndarray], fill: Any, spread: Any = None
    ) -> None:
        part = fields.subdomain
        for name, values in padded.items():
            held = fields._backend.zeros(part.volume + part.before)
            part.view(held)[0, -most - 8 :, -most - 8 :, -most - 64 :] = values.flat[0]
            fields._coefficients[name] = held

    monkeypatch.setattr(Subdomain, "edges_and_core", edges_and_core)
    monkeypatch.setattr(Fields, "set_coefficients", set_coefficients)
    monkeypatch.setattr(Simulation, "state", lambda simulation: {})  # its zeros stay as they are


def picture(simulation: Simulation) -> np.ndarray:
    """Read the pressure where the snapshots do."""
    (series,) = simulation.discretization.series
    reader = FieldSampler(simulation.sampled, series.cut)
    found = reader.buffer(np.float32)
    for launch in reader.launches("p", simulation.last_parity, found, 1.0, added=False):
        launch()
    return found


def test_a_corner_beyond_2_to_the_32_points(the_corner_alone):
    """Fields, coefficients, layer memory, sources, receivers and snapshots there."""
    small, large = (
        Simulation(discretize(from_dict(corner(points, order=4))), Untouched())
        for points in (SMALL, 1650)
    )
    assert large.solvers[0].subdomain.volume > 1 << 32
    assert (small.discretization.clock, small.discretization.stencil.tolerance) == (
        large.discretization.clock, large.discretization.stencil.tolerance
    )  # fmt: skip
    for simulation in (small, large):
        simulation.advance(simulation.total_steps)
    wanted, found = map(solver.records, (small, large))
    assert all(record.any(axis=1).all() for record in wanted.values())
    assert solver.difference(found, wanted) < ROUNDING
    pictures = {"p": picture(small)}, {"p": picture(large)}
    assert pictures[0]["p"].any()
    assert solver.difference(*pictures) < ROUNDING


class Unallocated(Device):
    """A card on which nothing is allocated."""

    def zeros(self, size: int, short: bool = False) -> np.ndarray:
        """Refuse it."""
        raise AssertionError(f"{size} numbers were allocated")

    def array(self, values: np.ndarray) -> np.ndarray:
        """Refuse it."""
        return self.zeros(values.size)

    def host_buffer(self, size: int) -> np.ndarray:
        """Refuse it."""
        return self.zeros(size)


class Processor(Unallocated):
    """The same without memory of its own."""

    name = "cpu"

    def free_memory(self) -> None:
        """Say that there is none."""


REFUSED = {  # points, GB of a card, GB of the host -> what is said
    (2200, 150, 100): r"needs 1\d\d GB of memory on a card, 150 GB .*; use 2 GPUs of this kind",
    (1650, 150, 1): r"needs 1\.\d+ GB of memory on this machine, 1 GB are free there",
    (3500, 150, 100): r"one field of 3516 x 3516 x 3516 points takes 174 GB, 150 GB .* on a card",
    (1650, None, 40): r"needs 5\d\.?\d? GB of memory on this machine, 40 GB are free there",
    (1650, None, 17): r"one field of 1666 x 1666 x 1666 points takes 18.5 GB, 17 GB",
}


@pytest.mark.parametrize(("points", "card", "host"), REFUSED)
def test_what_does_not_fit_is_refused_before_anything_is_allocated(points, card, host, monkeypatch):
    """Of a card, of the host beside it, of a processor."""
    backend = Processor(0) if card is None else Unallocated(card * 10**9)
    choice = BackendChoice(backend.name, "", lambda precision: backend)
    monkeypatch.setattr(machine, "available_memory", lambda: host * 10**9)
    monkeypatch.setattr(run, "select_backends", lambda *given: ([choice], ""))
    tracemalloc.start()
    try:
        with pytest.raises(InsufficientMemoryError, match=REFUSED[points, card, host]) as said:
            seismo.run(corner(points))
        assert "a coarser grid.spacing" in str(said.value)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_the_host_needs_little_beside_a_card_for_a_layered_earth(monkeypatch):
    """Whose model is made on the card; of another, double precision copies and what is sent."""
    monkeypatch.setattr(machine, "available_memory", lambda: 10**12)
    layered = memory_of(discretize(from_dict(corner(1650))), Device(0))
    assert layered.beside < 1e8 < layered.preparing
    document = corner(200)
    document["model"] += [{"type": "block", "x": [-500.0, 0.0], "vp": 1800.0}]
    discretization = discretize(from_dict(document))
    memory = memory_of(discretization, Device(0))
    needed = (
        2 * 8 * discretization.grid.size + memory.array
    )  # c^2 dt^2, the velocity that it is made of
    assert needed < memory.beside < 1.2 * needed


def on_the_card(document: dict[str, Any]) -> dict[str, np.ndarray]:
    """Run it; give traces and snapshots by their names."""
    results = seismo.run(document, backend="gpu")
    return {
        f"{name}/{quantity}": arrays.values_of(quantity)
        for kind in (results.traces, results.snapshots)
        for name, arrays in kind.items()
        for quantity in arrays
    }


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize(
    ("physics", "points", "parts"),
    [("acoustic", 1400, 1), ("acoustic", 1650, 1), ("acoustic", 1650, 2), ("elastic", 1300, 1)],
)
def test_a_large_grid_on_a_card(physics, points, parts):
    """Of two parts each has more than 2^31 points; waves cross the cut at the end of the first."""
    keys = {"decomposition": [2, 1], "middle": True} if parts > 1 else {}
    document = corner(points, physics, **keys)
    backend = choose("gpu").make("float32")
    discretization = discretize(from_dict(document), backend.batch_points)
    assert discretization.grid.size > (1 << 32 if points == 1650 else 1 << 31)
    if not all(demand.fits for demand in demands(memory_of(discretization, backend), backend)):
        pytest.skip("does not fit this machine")
    wanted = on_the_card(corner(SMALL, physics, middle=parts > 1))
    assert solver.difference(on_the_card(document), wanted) < ROUNDING

"""The stand that everything is measured on: scenarios, simulations of them, clocks, comparisons.

`Interior` is a grid without layers, sources and receivers, whose update a variant may write anew:
it gets exactly what the product's own sweep got, the same arrays, boxes and coefficients, and its
launches are put in the product's own programs. So nothing differs but what the variant is about.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Group, KernelConstants, KernelFields
from seismo.backends.gpu.detect import detect
from seismo.backends.select import BackendChoice, choose
from seismo.equations.framework.table import Formula
from seismo.runs.tools.bench import cases
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation

REPEATS = 3
NOISE = 1_000_003  # numbers of noise before they come again: a prime, so that rows differ


@dataclass(frozen=True)
class Scale:
    """How large the scenarios are.

    Attributes:
        space: points along each axis of a volume of one field.
        elastic: the same of an elastic one.
        processor: the same of what is measured on the processor beside a card.
        plane: points along each axis of a large plane.
        small: the same of a small one, as a shot of a survey has.
        shots: of that survey.
        seconds: that one measurement takes at least.
    """

    space: int = 384
    elastic: int = 256
    processor: int = 160
    plane: int = 2001
    small: int = 300
    shots: int = 16
    seconds: float = 0.03


FOR_CARDS = Scale()
FOR_PROCESSORS = Scale(
    space=160, elastic=96, processor=160, plane=1001, small=200, shots=8, seconds=0.3
)


class With:
    """A backend that does some things in ways of its own."""

    def __init__(self, backend: Any, **ways: Any) -> None:
        """Take the ways by their names."""
        self._backend = backend
        self.__dict__.update(ways)

    def __getattr__(self, name: str) -> Any:
        """Leave the rest to the backend."""
        return getattr(self._backend, name)


class Stand:
    """Where and how large things are measured."""

    def __init__(self, choice: BackendChoice, scale: Scale) -> None:
        """Measure where `choice` says."""
        self.choice, self.scale = choice, scale

    @cached_property
    def backend(self) -> Any:
        """The product's backend."""
        return self.choice.make("float32")

    @property
    def cards(self) -> int:
        """How many GPUs this machine has, where one of them is measured."""
        return len(detect().gpus) if self.choice.name == "gpu" else 0

    @cached_property
    def processor(self) -> Any:
        """The product's backend on the processor of this machine."""
        return choose("cpu").make("float32")

    @cached_property
    def space(self) -> Interior:
        """A volume of the acoustic equation at order 8."""
        return Interior(self.backend, whole("acoustic", 3, 8, self.scale.space))

    def once(self, take: Callable[[int], None]) -> float:
        """Time something long: the seconds of doing it once."""
        return timed(take, self.backend.wait, 1)

    def seconds(self, take: Callable[[int], None], wait: Callable[[], None]) -> float:
        """Time steps: the median of the seconds of one (`repeats`)."""
        return statistics.median(self.repeats(take, wait))

    def repeats(self, take: Callable[[int], None], wait: Callable[[], None]) -> list[float]:
        """Time steps: the seconds of one, by each of some measurements.

        `take` (count) does some, `wait` returns when done. The count is doubled until a measurement
        takes long enough (of what replays graphs of 16 steps most counts are whole graphs).
        """
        count = 2
        while (found := timed(take, wait, count)) < self.scale.seconds:
            missing = 1.1 * self.scale.seconds / max(found, 1e-6)
            count *= 2 ** max(1, min(4, math.ceil(math.log2(missing))))
        again = [timed(take, wait, count) for _ in range(REPEATS - 1)]
        return [seconds / count for seconds in (found, *again)]


def run_of(*simulations: Any, part: int = 16) -> Callable[[int], None]:
    """Make the function that takes all steps of simulations so many times, by turns."""

    def take(count: int) -> None:
        for _ in range(count):
            for first in range(0, simulations[0].total_steps, part):
                for simulation in simulations:
                    simulation.step = first
                    simulation.advance(min(part, simulation.total_steps - first))

    return take


def timed(take: Callable[[int], None], wait: Callable[[], None], count: int) -> float:
    """Give the seconds that some steps take; nothing is under way when the clock starts."""
    wait()
    begin = time.perf_counter()
    take(count)
    wait()
    return time.perf_counter() - begin


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """Give the relative L2 difference of two answers."""
    size = float(np.linalg.norm(wanted))
    if not np.isfinite(size) or size == 0.0:
        raise ValueError(f"an answer whose norm is {size} compares with nothing")
    return float(np.linalg.norm(np.subtract(found, wanted))) / size


def whole(physics: str, dimensions: int, order: int, points: int, **sections: Any) -> dict:
    """Give a scenario without layers: a periodic square or cube of one rock."""
    return layered(physics, dimensions, order, points, **sections) | {
        "boundaries": dict.fromkeys(_faces(dimensions), "periodic")
    }


def layered(physics: str, dimensions: int, order: int, points: int, **sections: Any) -> dict:
    """Give a scenario in one rock: a source in the middle, a line of receivers, layers."""
    axes = "xz" if dimensions == 2 else "xyz"
    keys = ("vp", "vs", "rho") if physics == "elastic" else ("vp",)
    middle = dict.fromkeys(axes, cases.SPACING * (points // 2))
    kind, quantity = ("explosion", "velocity") if "vs" in keys else ("pressure", "pressure")
    ends = [middle | {"x": cases.SPACING * n} for n in (points // 4, 3 * points // 4)]
    return {
        "physics": physics,
        "grid": {
            "extent": dict.fromkeys(axes, cases.SPACING * points),
            "spacing": cases.SPACING, "order": order, "stencil": "taylor",
        },
        "time": {"duration": 100_000 * cases.STEP, "step": cases.STEP},
        "model": [{"type": "uniform"} | {key: cases.LOWER[key] for key in keys}],
        "sources": [
            {"type": kind, "position": middle,
             "wavelet": {"type": "ricker", "frequency": cases.FREQUENCY}}
        ],
        "receivers": [
            {"type": "line", "start": ends[0], "end": ends[1], "count": 8,
             "quantities": [quantity]}
        ],
        **sections,
    }  # fmt: skip


def _faces(dimensions: int) -> tuple[str, ...]:
    along = ("top", "bottom", "x_min", "x_max")
    return along if dimensions == 2 else (*along, "y_min", "y_max")


def simulate(backend: Any, document: dict, steps: int | None = None) -> Simulation:
    """Build the simulation of a scenario, of so many steps if that is said."""
    if steps is not None:
        document = document | {"time": {"duration": steps * cases.STEP, "step": cases.STEP}}
    return Simulation(discretize(from_dict(document), backend.batch_points), backend)


@dataclass(frozen=True)
class Call:
    """What a sweep of the product was bound to: the arguments of `Backend.sweep`."""

    formula: Formula
    variant: Any
    tables: KernelConstants
    boxes: np.ndarray
    operands: KernelFields
    back: bool = False
    whole_boxes: np.ndarray | None = None

    def bind(self, backend: Any) -> list:
        """Bind it again."""
        return backend.sweep(
            self.formula, self.variant, self.tables, self.boxes, self.operands, self.back,
            self.whole_boxes,
        )  # fmt: skip

    def writing(self, number: int, update: Callable) -> Call:
        """Return the call that writes one of the fields, by an update of that one."""
        o, f = self.operands, self.formula
        kept = [number, *range(len(o.writes), len(f.fields))]
        fields, half = (tuple(some[n] for n in kept) for some in (f.fields, f.half))
        formula = replace(f, update=update, fields=fields, half=half)
        return replace(self, formula=formula, operands=replace(o, writes=(o.writes[number],)))


Bind = Callable[[Call], list]  # launches


class Interior:
    """A grid of one box, whose updates can be bound in other ways."""

    def __init__(self, backend: Backend, document: dict) -> None:
        """Build it, and note what the product binds."""
        self.backend, self.calls = backend, list[Call]()

        def noted(*arguments: Any, **named: Any) -> list:
            self.calls.append(Call(*arguments, **named))
            return self.calls[-1].bind(backend)

        self.simulation = simulate(With(backend, sweep=noted), document, 4)
        physics = self.simulation.discretization.physics
        self._parities = len(physics.parities)
        self._noise = np.random.default_rng(1).standard_normal(NOISE, np.float32)

    @property
    def points(self) -> int:
        """Points of the grid."""
        return self.simulation.points

    @property
    def bytes_per_point(self) -> int:
        """Bytes a perfect kernel moves for one point and step."""
        return self.simulation.bytes_per_point

    def product(self, call: Call) -> list:
        """Bind as the product does."""
        return call.bind(self.backend)

    def steps(self, bind: Bind = product) -> tuple:
        """List what even and odd steps launch; of every stage it is one group."""
        count = self._parities
        return tuple([Group(bind(call)) for call in self.calls[p::count]] for p in range(count))

    def begin(self) -> None:
        """Fill all fields, what lies outside the grid too, with noise."""
        for n, field in enumerate(self.simulation.discretization.physics.fields):
            for part in self.simulation.solvers:
                array = part.fields.arrays(0)[field.name]
                noise = np.resize(np.roll(self._noise, n), array.size)
                array[:] = self.backend.array(noise * np.float32(1e-6**field.late))

    def answer(self, take: Callable[[int, int], None], steps: int = 4) -> np.ndarray:
        """Give all fields after some steps from noise, one behind the other."""
        self.begin()
        take(0, steps)
        self.simulation.step = steps
        names = [f.name for f in self.simulation.discretization.physics.fields]
        return np.concatenate([self.simulation.field(name).ravel() for name in names])

    @cached_property
    def wanted(self) -> np.ndarray:
        """The product's answer."""
        return self.answer(self.backend.program(self.steps(self.product)))

    def measured(self, stand: Stand, bind: Bind) -> tuple[float, float]:
        """Give the point updates a second of a way to bind, and how far its answer is off."""
        take = self.backend.program(self.steps(bind))
        off = difference(self.answer(take), self.wanted)
        return self.points / stand.seconds(lambda n: take(0, n), self.backend.wait), off

"""The backend's interface: arrays, launches that work on them, and programs of launches.

A *launch* is called without arguments and returns before or after its work is done; launches run
one after the other. A *sweep* applies one update formula to every point of a list of boxes of whole
rows, each a row of `BOX_COLUMNS` integers. Array indices count from the first number of the padded
array. A *program* is the launches of a step; the backend repeats it and counts the steps. It may
contain host functions too, such as the start of messages; all launches before it are complete by
then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from seismo.backends.operators.cell import bind
from seismo.backends.operators.derivatives import Curved, Operators
from seismo.equations.framework.formula import Formula


@dataclass(frozen=True)
class Rows:
    """Rows of equal length in a flat array.

    Attributes:
        start: index of the first number.
        counts: rows along shot, z, y.
        strides: distance of neighbours along these.
        length: numbers of each row.
    """

    start: int
    counts: tuple[int, int, int]
    strides: tuple[int, int, int]
    length: int

    @property
    def starts(self) -> np.ndarray:
        """Where each of them begins."""
        # Index of each row: start + sum over (shot, z, y) of index * stride.
        return self.start + np.tensordot(self.strides, np.indices(self.counts), 1).ravel()

    @property
    def joined(self) -> Rows:
        """Neighbours along y as a single row, with the numbers between them."""
        # One row from the first number of the first row to the last of the last.
        shots, nz, ny = self.counts
        length = (ny - 1) * self.strides[2] + self.length
        return Rows(self.start, (shots, nz, 1), self.strides, length)

    def of(self, array: np.ndarray) -> np.ndarray:
        """Look at them in an array, as (shot, z, y, x)."""
        # A strided view in bytes, no copy.
        shape = (*self.counts, self.length)
        steps = (*self.strides, 1)
        strides = tuple(n * array.itemsize for n in steps)
        return np.lib.stride_tricks.as_strided(array[self.start :], shape, strides)


BOX_COLUMNS = (
    "z0", "z1", "y0", "y1",  # the rows z0 <= z < z1, y0 <= y < y1
    "shot",  # offset of the shot's fields in their arrays
    "packed",  # subtracted from an index in coefficients kept for a range of planes only
    # for the left end, the middle and the right end of the rows: the points x0 <= x < x1, and of
    # their layer memory the index of (0, 0, 0), the strides and the slot size
    *(("x0", "x1", "memory", "memory_y", "memory_z", "slot") * 3),
)  # fmt: skip
# Offsets within a row of BOX_COLUMNS: three x-segments (left PML, interior, right PML) follow.
SPAN_COLUMNS = 6
FIRST_SPAN = 6
SHORT = "float16"  # in which fields of 16 bits are kept

# Time of a point in an absorbing layer over that of an interior point, by backend and kind of
# differences, measured at order 8: on an AMD EPYC by runs of all equations with layers of 4 and of
# 32 points, on an H200 by the events of G1 and G3 (`benchmarks/`).
PML_COST = {"cpu": {"second": 2.0, "first": 1.3}, "gpu": {"second": 2.8, "first": 1.9}}


def computed_in(precision: str) -> str:
    """Return the number type in which fields of a precision are computed."""
    return "float32" if precision == SHORT else precision


@dataclass(frozen=True, eq=False)
class KernelConstants:
    """The arrays a sweep needs beside the fields; equal to itself alone.

    Attributes:
        strides: (2) distance of neighbours along y and z.
        first: (3, M) staggered coefficients / spacing along x, y, z.
        second: (3, M + 1) centred coefficients / spacing^2.
        on_nodes: (3, M) coefficients of first derivatives on the nodes / spacing.
        numbers: scalars of the run (`Physics.numbers`).
        profiles: layer profiles b, a, 1/kappa at nodes and half points, then m at both, (8, length)
            each of x, y, z; the length is the padded array's, and along x two lines more. In place
            of m come the weights of second derivatives that are taken at once
            (`seismo.solver.medium.cpml.coupled`).
        inside: along x, y, z, the first point that is owned and in no layer, and behind the last.
        up: (rows, width) surface weights for node values / spacing, with `down` for half points;
            followed by weights of interpolated values; over ground
            `seismo.features.topography.differences`.
        surface: array index of the surface row along z.
        even_layers: whether the medium of layers goes on as it is at their inner edge.
    """

    strides: np.ndarray
    first: np.ndarray
    second: np.ndarray
    on_nodes: np.ndarray
    numbers: np.ndarray
    profiles: tuple[np.ndarray, np.ndarray, np.ndarray]
    inside: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    up: np.ndarray
    down: np.ndarray
    surface: int
    even_layers: bool = True

    @cached_property
    def turned(self) -> KernelConstants:
        """The tables of the same grid with y and z swapped, but for the surface's."""
        swapped = [0, 2, 1]  # axes in the order x, z, y
        x, y, z = self.profiles
        inside = (self.inside[0], self.inside[2], self.inside[1])
        return replace(
            self, strides=self.strides[::-1], first=self.first[swapped], profiles=(x, z, y),
            second=self.second[swapped], on_nodes=self.on_nodes[swapped], inside=inside,
        )  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """Which operators a formula is bound to.

    Attributes:
        order: order of the differences.
        axes: "xz" or "xyz".
        middle: axes that pass through layer memory in the middle of a row.
        ends: the same in the layers at the ends of a row.
        slots: memory variables of the stage along one axis.
        closed: width of the surface weights, 0 away from a free surface.
        at_once: whether second derivatives update their flux memory, too.
        damped: whether layers damp the fields themselves.
        scaled: whether derivatives along z are divided by how tall their cells are.
        curved: weights of rows that follow the ground, None where they are flat.
    """

    order: int
    axes: str
    middle: str = ""
    ends: str = ""
    slots: int = 0
    closed: int = 0
    at_once: bool = False
    damped: bool = False
    scaled: bool = False
    curved: Curved | None = None

    @property
    def weighted(self) -> bool:
        """Whether rows along z have weights of their own."""
        return bool(self.closed or self.curved)

    def bind(self, formula: Formula, lanes: Any) -> tuple[Callable, Callable]:
        """Bind a formula to the operators of the ends and of the middle of a row."""
        # Two bindings of the same formula: the left and right PML segments, and the interior of a
        # row.
        ends, middle = (
            bind(
                Operators(
                    lanes,
                    self.order,
                    self.axes,
                    axes,
                    self.slots,
                    self.closed,
                    damped=self.damped,
                    scaled=self.scaled,
                    curved=self.curved,
                ),
                formula,
            )
            for axes in (self.ends, self.middle)
        )
        return (middle if self.ends == self.middle else ends), middle


@dataclass(frozen=True)
class KernelFields:
    """The arrays a formula takes, in this order.

    Attributes:
        writes: fields it changes, read on the spot only.
        reads: fields it differentiates and does not change.
        coefficients: of the model, the same for all shots.
        memory: of absorbing layers, which operators keep by themselves.
    """

    writes: tuple
    reads: tuple
    coefficients: tuple
    memory: tuple

    @property
    def all(self) -> tuple:
        """All that the formula names."""
        return self.writes + self.reads + self.coefficients


Launch = Callable[[], None]


class LargestMagnitude(NamedTuple):
    """The largest magnitude of a field, infinite for NaN, and a place of it in the array."""

    size: float
    at: int


class Copy(NamedTuple):
    """A copy under way to this machine.

    Attributes:
        wait: returns when it is complete; any thread may call it.
        hold: lets later launches wait for it.
    """

    wait: Callable[[], None]
    hold: Callable[[], None]


Search = Callable[
    [], Callable[[], LargestMagnitude]
]  # starts; returns the function that waits for the result


class Group(list[Launch]):
    """Launches that touch other points each.

    Attributes:
        where: points of fields they change: the "edge" that neighbours wait for, the "core", where
            no halo is read, or the "halo", where only the edge of fields is read; "message" for
            buffers of messages alone; "" for any points.
        name: of their joint task.
    """

    def __init__(self, launches: Iterable[Launch], where: str = "", name: str = "") -> None:
        """Collect launches of a region and a task."""
        super().__init__(launches)
        self.where = where
        self.name = name


# Order of a step: the list of groups, each of launches that may run in any order.
Step = list[Group]  # in order


class Communicator(Protocol):
    """The processes of a run, as a backend sees them (`seismo.backends.communicator`).

    Attributes:
        number: of this rank, from 0.
        count: of all ranks.
    """

    number: int
    count: int

    @property
    def first(self) -> bool:
        """Whether this rank writes files and messages."""

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all ranks to all."""

    def exchange(self, out: dict[int, Any], into: dict[int, Any]) -> tuple[Launch, ...]:
        """Bind a repeated exchange of arrays of this machine; return (start, finish)."""


class Backend(Protocol):
    """The machine that holds the fields and does the work on them."""

    name: str
    precision: str
    lane_width: int
    clock: Any  # the step, for launches that depend on it
    batch_points: int  # small shots advance together up to so many points
    at_once: bool  # whether layers' second derivatives need no sweep of fluxes before them
    has_float16: bool  # whether fields may be kept in 16 bits that more than sweeps read
    pml_costs: dict[str, float]  # by kind of differences, see `PML_COST`
    copied_from: int  # numbers in a part's fields from which their halos are copied
    looks_ahead: int  # searches (`largest`) that may be under way while it steps
    measured_from: float  # s of stepping: a shorter run says little about the machine

    def zeros(self, size: int, short: bool = False) -> Any:
        """Allocate `size` zeros, of 16 bits if `short`, aligned for lanes."""

    def array(self, host_array: np.ndarray) -> Any:
        """Copy an array to the machine, in its own type."""

    def fetch(self, array: Any) -> np.ndarray:
        """Return an array, or a view of one, to NumPy."""

    def host_buffer(self, size: int) -> np.ndarray:
        """Allocate bytes of this machine that `send` reaches fast."""

    def send(self, array: Any, host: np.ndarray) -> Copy:
        """Start to copy a flat array into such a buffer, concurrently with later launches."""

    def sweep(
        self, formula: Formula, variant: Variant, tables: KernelConstants,
        boxes: np.ndarray, operands: KernelFields, back: bool = False,
        whole_boxes: np.ndarray | None = None,
    ) -> list[Launch]:  # fmt: skip
        """Bind a formula to its operators, boxes and arrays; the launches touch other points.

        `back` advises to go from the last rows to the first: the rows that the previous sweep wrote
        last are in the caches. `whole_boxes` contain the boxes and are updated as a whole by other
        sweeps, where they differ: a single kernel may serve both.
        """

    def marches_slopes(self, formula: Formula, reach: int) -> bool:
        """Whether marching threads keep contributions of slopes to a formula's derivatives.

        Of each sum of these they keep so many rows on either side; there is no array of it then.
        """

    def each(
        self, body: Callable, count: int, arguments: tuple, writes: tuple[int, ...],
        shots: np.ndarray | None = None,
    ) -> Launch:  # fmt: skip
        """Bind ``body(n, *arguments)`` for n = 0 .. count - 1, independent of each other.

        `writes` are the places of the arguments that change. `shots` gives the shot of each n, if
        it serves a single shot: a backend may step shots separately.
        """

    def each_row(
        self, body: Callable, count: int, length: int, arguments: tuple, writes: tuple[int, ...],
        shots: np.ndarray | None = None,
    ) -> Launch:  # fmt: skip
        """Bind ``body(n, x0, x1, *arguments)`` for pieces x0 <= x < x1 of rows 0 <= x < length."""

    def program(
        self, steps: tuple[Step, ...], others: Sequence[tuple[Self, tuple[Step, ...]]] = ()
    ) -> Callable[[int, int], None]:
        """Make a function (first step, count) that takes steps; step n runs steps[n % len].

        With those of `others` (backend, steps), ranks of this process, in step: launches before a
        `seismo.backends.communicator.rank_barrier` of any rank precede all launches after it.
        """

    def exchange(
        self, ranks: Communicator, out: dict[int, Any], into: dict[int, Any]
    ) -> tuple[tuple[Launch, ...], tuple[Launch, ...]]:
        """Bind a repeated exchange of arrays with other processes; return (start, finish)."""

    def mark(self) -> Launch:
        """Return a launch that makes any backend of this process wait for all launched here."""

    def reaches(self, other: Self) -> bool:
        """Whether launches here may write to arrays of another backend of this process."""

    def copy(
        self, sources: Sequence[Any], source_rows: Rows, targets: Sequence[Any], target_rows: Rows
    ) -> Launch:
        """Bind a copy of rows of arrays to as many others, which launches here reach.

        Rows that are neighbours along y have one distance in both; numbers between them may be
        copied, too.
        """

    def staged_copy(self, source: Any, other: Self, target: Any) -> tuple[Launch, ...]:
        """Bind a copy of an array to another backend's that launches here do not reach."""

    def alone(self, group: Group) -> Callable[[int], None]:
        """Make a function (step) that launches a group of a step by itself, for timing."""

    def moment(self) -> Callable[[], float]:
        """Record an event behind all launches; the result returns its time.

        It is called once the work is done, and counts as `time.perf_counter` does.
        """

    def annotated(self, name: str) -> AbstractContextManager[Any]:
        """Name the launches made meanwhile for the vendor's profilers."""

    def wait(self) -> None:
        """Return when all that was launched is done."""

    def use_in_thread(self) -> None:
        """Let the thread that calls it work with arrays here too."""

    def largest(self, field: Any, plane: int) -> Search:
        """Bind a search for the largest magnitude in a field; NaN counts as infinite.

        Of the planes of `plane` numbers a subset may be searched: an instability spreads. In arrays
        of more than 2^32 numbers the place may be a neighbour's.
        """

    def free_memory(self) -> int | None:
        """Return the free bytes of the machine's own memory, None where it has the host's."""

    def bandwidth(self) -> float:
        """Measure the bytes a second that plain copies move, read and written."""

    def health(self) -> dict[str, float]:
        """Describe how the device is, as far as anything tells.

        `utilisation` is of 1, `memory` in bytes, `power` in W, `temperature` in degC.
        """

    def describe(self) -> dict[str, Any]:
        """Name the device and the other facts that a run's speed depends on."""

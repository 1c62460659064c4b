"""Monitor of the stability of the wavefield.

An instability grows by a factor at every step and spreads, so that looking at every few planes
every `EVERY` steps finds it soon; the exact place is sought only then.

Waves that a medium guides may grow in an absorbing layer by an e-fold in a few hundred steps
(`seismo.features.guided_waves.guides`). They are known by their place and their direction, not by
their size: once the sources are silent, waves that a layer absorbs decay in it. So they grow where
the largest motion has lain in layers for two windows of `LOOKS` looks, and the largest of the
second window exceeds `RISE` times that of the first.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seismo.backends.communicator import SerialCommunicator
from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import UnstableError
from seismo.grid.grid import AXES, Box, Grid, Triple, triple
from seismo.scenario.units import with_unit

if TYPE_CHECKING:
    from seismo.solver.simulation import Simulation


LOOKS = 8  # of a window: 400 steps
RISE = 1.2
LEAST = 1e-4  # of the peak; less may be rounding
_FACES = {"x": ("x_min", "x_max"), "y": ("y_min", "y_max"), "z": ("top", "bottom")}


class LayerLook(NamedTuple):
    """A look at the wavefield: its step, the largest motion, and the layers that it lies in."""

    step: int
    size: float
    faces: tuple[str, ...]


def faces_of(grid: Grid, index: Triple) -> tuple[str, ...]:
    """Return the faces whose absorbing layers a point lies in, as scenarios name them."""
    inner = grid.extent
    sides = zip(AXES, index, inner.lo, inner.hi, strict=True)
    return tuple(_FACES[a][i >= hi] for a, i, lo, hi in sides if not lo <= i < hi)


class LayerWatch:
    """The latest looks at a wavefield whose sources are silent."""

    def __init__(self) -> None:
        """Begin with none."""
        self.looks: deque[LayerLook] = deque(maxlen=2 * LOOKS)

    def growth(self, look: LayerLook, peak: float) -> int | None:
        """Take a look; return the step of the first since which waves grow, or None.

        Args:
            look: the latest.
            peak: the largest motion while the sources acted.
        """
        self.looks.append(look)
        # Two full windows, all of whose looks have the largest motion in layers.
        if len(self.looks) < 2 * LOOKS or not all(look.faces for look in self.looks):
            return None
        # The largest of each window, as motion oscillates from look to look.
        before = max(look.size for look in islice(self.looks, LOOKS))
        largest = max(look.size for look in islice(self.looks, LOOKS, None))
        return self.looks[0].step if largest > max(RISE * before, LEAST * peak) else None


EVERY = 50  # steps between two looks
GROWTH = 1e3  # by focusing, a wavefield may exceed its size while sources acted
OVERFLOW = 1e30  # near the end of float32
# Largest values (SI) below which float32 loses digits: numbers below 1.2e-38 are taken for 0, and
# increments of a step are a small share of them. Where they were 2e-30, traces erred by 1e-5 of
# their peak, at 2e-33 by up to 1e-2, at 2e-36 by any amount; far away they are smaller.
WEAKEST = 1e-25
Index = Triple  # x, y, z
Pieces = Iterable[tuple[Box, Any]]  # owned points, and an object that gives arrays when indexed


class StabilityMonitor:
    """Look for a wavefield that blows up.

    The machine searches while it steps on; its result is judged `Backend.looks_ahead` looks
    later, so that nobody waits.

    Attributes:
        field: that it looks at.
        latest: its largest absolute value at the last look that was judged, in its unit.
        largest: the same, of all looks.
    """

    def __init__(self, simulation: Simulation, field: str, quiet_after: float) -> None:
        """Watch a field.

        Args:
            simulation: the run that steps.
            field: name of a field that every instability reaches.
            quiet_after: time in s after which all sources are silent.
        """
        self.field = field
        self._simulation = simulation
        self._quiet_after = quiet_after
        self._grid = simulation.discretization.grid
        self._dt = simulation.dt
        self._ahead = simulation.backend.looks_ahead
        self._looks: deque[tuple[int, Callable[[], tuple[float, Index]]]] = deque()
        self._good = 0
        self._peak_index = (0, 0, 0)
        self._peak = 0.0
        self._layers = LayerWatch()
        self.latest = self.largest = 0.0

    def weakness(self) -> str:
        """Return the mistake in a wavefield whose largest value is too small; "" if nothing."""
        discretization = self._simulation.discretization
        if discretization.scenario.precision != "float32" or not 0.0 < self.largest < WEAKEST:
            return ""
        unit = discretization.physics.named(self.field).unit
        return weakness(f"the wavefield: {self.field} reaches {self.largest:.1g} {unit} only")

    def summary(self) -> dict[str, Any]:
        """Return the state of the checks so far, as JSON."""
        return {
            "good": self._good, "place": list(self._peak_index), "peak": self._peak,
            "layers": list(self._layers.looks),
        }  # fmt: skip

    def recall(self, summary: dict[str, Any]) -> None:
        """Continue from the state of an earlier run."""
        self._good = summary["good"]
        self._peak = summary["peak"]
        self.largest = self._peak
        self._peak_index = triple(summary["place"])
        self._layers.looks.extend(
            LayerLook(step, size, tuple(faces)) for step, size, faces in summary["layers"]
        )

    def confirm(self, step: int) -> dict[str, Any]:
        """Return the state that a checkpoint keeps, once the field is known to be sound.

        Raises:
            UnstableError: see `look`.
        """
        self.look(step)
        self.finish()
        return {"watch": self.summary()}

    def look(self, step: int) -> None:
        """Begin to look at the field after a step, and judge earlier looks.

        Raises:
            UnstableError: the field is NaN, infinite or far larger than its sources made it, or
                grows in absorbing layers.
        """
        self._looks.append((step, self._simulation.largest(self.field)))
        # Judge late: the reduction is queued behind steps, and nobody waits for it.
        while len(self._looks) > self._ahead:
            self._judge()

    def finish(self) -> None:
        """Judge all looks.

        Raises:
            UnstableError: as above.
        """
        while self._looks:
            self._judge()

    def _judge(self) -> None:
        step, largest = self._looks.popleft()
        (peak, index) = largest()
        time = step * self._dt
        # Growth: after the sources only focusing raises the peak.
        bound = OVERFLOW
        if time > self._quiet_after and self._peak > 0.0:
            bound = min(bound, GROWTH * self._peak)
        if peak > bound:
            raise UnstableError(self._message(step, peak, index), self._good)
        if time <= self._quiet_after or self._peak == 0.0:
            self._peak = max(self._peak, peak)
        elif self._is_next(step):
            look = LayerLook(step, peak, faces_of(self._grid, index))
            since = self._layers.growth(look, self._peak)
            if since is not None:
                raise UnstableError(self._message(step, peak, index), since)
        self._good = step
        self._peak_index = index
        self.latest = peak
        self.largest = max(self.largest, peak)

    def _is_next(self, step: int) -> bool:
        """Whether the watch of layers takes a look: its windows have regular looks alone."""
        looks = self._layers.looks
        # Checkpoints look between two of them, or again after the same step.
        return step % EVERY == 0 and not (looks and looks[-1].step == step)

    def _message(self, step: int, peak: float, index: Index) -> str:
        """Describe when and where it grew, and why.

        Values that are not finite began in their middle, as far as it has not spread to
        everywhere; then the place where the last sound look found most is named.
        """
        description = f"{self.field} reaches {peak:.3g}"
        if not math.isfinite(peak):
            views = self._simulation.views(self.field)
            lost = _middle_of_the_lost(views, self._simulation.ranks, index)
            description = (
                f"{self.field} is not finite"
                if lost
                else (f"{self.field} is finite nowhere; at step {self._good} it was largest")
            )
            index = lost or self._peak_index
        when = f"the wavefield is unstable at step {step} (t = {with_unit(step * self._dt, 's')})"
        position = {
            a: float(self._grid.coordinate(a, index[AXES.index(a)])) for a in self._grid.axes
        }
        at = {axis: np.array(value) for axis, value in position.items()}
        medium = self._simulation.discretization.earth.sample(at["z"], at.get("y"), at["x"])
        rock = {name: float(np.ravel(v)[0]) for name, v in medium.items()}
        where = ", ".join(f"{a} = {v:.6g} m" for a, v in position.items())
        cause = self._cause(index, rock, peak)
        return f"{when}: {description} at {where} ({_described(rock)}); {cause}"

    def _cause(self, index: Index, rock: dict[str, float], peak: float) -> str:
        """Name the likeliest cause and a remedy."""
        discretization = self._simulation.discretization
        # Not `time.courant`, which counts of the limit of a uniform medium and may change nothing.
        shorter = (
            f"halve the time step (time.step: {with_unit(0.5 * discretization.clock.dt, 's')})"
        )
        if not math.isfinite(peak) and discretization.physics.short:
            cause, remedy = (
                ("fields", "precision: float32")
                if discretization.scenario.in_16_bits
                else ("memory variables", "attenuation.storage: 32")
            )
            return (
                f"{cause} may have outgrown 16 bits beside a source: try {remedy}; else {shorter}"
            )
        # In an absorbing layer: outside the extent.
        inner = self._grid.extent
        outside = [
            a
            for a in self._grid.axes
            if not inner.lo[AXES.index(a)] <= index[AXES.index(a)] < inner.hi[AXES.index(a)]
        ]
        if outside:
            faces = " and ".join(faces_of(self._grid, index))
            return (
                f"it grows in the absorbing layer along {', '.join(outside)} ({faces}): "
                "make the model constant towards that face, widen boundaries.layer.points, or "
                "raise boundaries.layer.damping (to 0.08; equations of first order in time)"
            )
        # lambda = rho (vp^2 - 2 vs^2) is negative.
        vp = rock.get("vp")
        vs = rock.get("vs")
        if vp and vs and vp / vs < math.sqrt(2.0):
            return f"vp/vs is {vp / vs:.2f} there, below sqrt(2): check vs"
        if vs == 0.0:
            return f"it grows in the fluid (vs = 0): check the model there, or {shorter}"
        return f"check the model for extreme contrasts there, or {shorter}"


def weakness(subject: str) -> str:
    """Format the loss of fields too weak for single precision, and its remedy."""
    return (
        f"{subject}; below {WEAKEST:g} digits of fields are lost, as numbers below 1.2e-38 are "
        "taken for 0: use stronger sources, say by 1e20, and divide the results by as much, or "
        "precision: float64"
    )


def _described(rock: dict[str, float]) -> str:
    return ", ".join(
        f"{name} {value:.5g} {PARAMETERS[name].unit}".rstrip() for name, value in rock.items()
    )


def _middle_of_the_lost(
    pieces: Pieces, ranks: SerialCommunicator, known_index: Index
) -> Index | None:
    """Return x, y, z of the middle of values that are not finite, None without such values.

    Where nothing is, as the finer of two grids alone has any, it is the index `known_index`.
    """
    lost = 0
    points = 0
    middle = np.zeros(3)
    for owned, array in pieces:
        for z in range(array.shape[1]):
            plane = array[:, z]
            _, ys, xs = np.nonzero(~np.isfinite(plane))
            corner = np.array([owned.lo[0], owned.lo[1], owned.lo[2] + z])
            # Sum of the indices of all points that are not finite.
            middle += [xs.sum(), ys.sum(), 0.0] + corner * len(xs)
            lost = lost + len(xs)
            points = points + plane.size
    lost, points, middle = (
        sum(numbers) for numbers in zip(*ranks.allgather((lost, points, middle)), strict=True)
    )
    if not lost:
        return known_index
    return triple([round(n / lost) for n in middle.tolist()]) if lost < points else None

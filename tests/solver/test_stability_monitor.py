"""The stability monitor, on a stub of the wavefield.

`looks_ahead` is how many looks a machine may have under way: what blows up at step n is found at
the first look after it, and told that many looks later.
"""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from seismo.backends.communicator import SerialCommunicator
from seismo.backends.reference import ReferenceBackend
from seismo.errors import UnstableError
from seismo.grid.decomposition import decompose
from seismo.grid.grid import Box, Grid
from seismo.solver.accuracy import stability_monitor
from seismo.solver.accuracy.stability_monitor import StabilityMonitor

GRID = Grid("xz", (9, 1, 7), (10.0, 1.0, 10.0), (0.0, 0.0, 0.0), (2, 0, 2), (2, 0, 2))
DT = 0.001


class Wavefield:
    """A simulation whose field has a given magnitude after every step."""

    dt = DT

    def __init__(self, magnitude, ahead: int, **medium: float) -> None:
        self.step, self._magnitude = 0, magnitude
        self.backend, self.ranks = SimpleNamespace(looks_ahead=ahead), SerialCommunicator()
        earth = SimpleNamespace(sample=lambda z, y, x: medium or {"vp": 2000.0, "vs": 1000.0})
        physics = SimpleNamespace(short=frozenset(), named=lambda _: SimpleNamespace(unit="Pa"))
        of_run = SimpleNamespace(precision="float32")
        self.discretization = SimpleNamespace(
            grid=GRID, earth=earth, physics=physics, scenario=of_run, clock=SimpleNamespace(dt=1e-3)
        )
        self.array = np.zeros((1, 7, 1, 9))
        self.place = (3, 0, 4)

    def largest(self, name):
        """Search at once, and tell later."""
        found = (self._magnitude(self.step), self.place)
        return lambda: found

    def views(self, name):
        """Give the whole grid as two parts."""
        cut = (Box((0, 0, 0), (9, 1, 3)), Box((0, 0, 3), (9, 1, 7)))
        return [(box, self.array[:, box.lo[2] : box.hi[2]]) for box in cut]


def watched(field: Wavefield, quiet_after: float = 0.2, last: int = 1000) -> StabilityMonitor:
    watch = StabilityMonitor(field, "p", quiet_after)
    for field.step in range(stability_monitor.EVERY, last + 1, stability_monitor.EVERY):
        watch.look(field.step)
    watch.finish()
    return watch


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("bad", [math.inf, 1e31])
def test_a_blow_up_is_told_within_so_many_looks(ahead, bad):
    """Between looks 450 and 500: told at 500, or at 550, with 450 the last sound step."""
    field = Wavefield(lambda step: 1.0 if step < 480 else bad, ahead)
    with pytest.raises(UnstableError, match="unstable at step 500 ") as caught:
        watched(field)
    assert field.step == 500 + ahead * stability_monitor.EVERY
    assert caught.value.good == 450


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_the_last_look_is_judged_too(ahead):
    field = Wavefield(lambda step: math.inf if step == 1000 else 1.0, ahead)
    with pytest.raises(UnstableError, match="step 1000 ") as caught:
        watched(field)
    assert caught.value.good == 950
    watched(Wavefield(lambda step: 1.0, ahead))


def test_fields_too_weak_for_single_precision_are_told():
    """Once the run knows its largest value; of nothing at all nothing is said."""
    watch = watched(Wavefield(lambda step: 1e-28 if step < 200 else 1e-35, 1))
    assert watch.weakness().startswith("the wavefield: p reaches 1e-28 Pa only; below 1e-25 ")
    for largest in (0.0, 1e-20):
        assert watched(Wavefield(lambda step, size=largest: size, 1)).weakness() == ""


def test_growth_is_judged_once_the_sources_are_silent():
    """Sources may do as they like; afterwards a thousandfold is too much."""
    loud = Wavefield(lambda step: 1e6 if step == 100 else 1.0, 1)
    watched(loud)
    with pytest.raises(UnstableError, match="step 300 "):
        watched(Wavefield(lambda step: 1001.0 if step >= 300 else 1.0, 1))


def test_the_place_is_that_of_the_largest_value():
    with pytest.raises(UnstableError, match=r"p reaches 1e\+31 at x = 10 m, z = 20 m"):
        watched(Wavefield(lambda step: 1e31, 0))


def test_the_place_is_the_middle_of_what_is_lost():
    """It spreads from where it began; once nothing is left, the last sound look knows."""
    field = Wavefield(lambda step: math.inf if step > 400 else 1.0, 0)
    field.array[0, 1:6, 0, 4:9] = np.nan
    field.array[0, 3, 0, 6] = np.inf
    with pytest.raises(UnstableError, match="p is not finite at x = 40 m, z = 10 m"):
        watched(field)
    field.array[:] = np.nan
    words = "p is finite nowhere; at step 400 it was largest at x = 10 m, z = 20 m"
    with pytest.raises(UnstableError, match=words):
        watched(field)


@pytest.mark.parametrize(
    ("at", "medium", "cause"),
    [
        ((3, 4), {"vp": 2000.0, "vs": 1500.0}, r"vp/vs is 1.33 there, below sqrt\(2\)"),
        ((3, 4), {"vp": 1500.0, "vs": 0.0}, "it grows in the fluid"),
        ((3, 4), {"vp": 1500.0}, "check the model for extreme contrasts"),
        ((0, 4), {"vp": 1500.0}, "in the absorbing layer along z"),
        ((0, 8), {"vp": 1500.0}, "in the absorbing layer along x, z"),
    ],
)
def test_the_cause_is_named(at, medium, cause):
    field = Wavefield(lambda step: 1e31, 0, **medium)
    field.place = (at[1], 0, at[0])
    with pytest.raises(UnstableError, match=cause):
        watched(field)


@pytest.mark.parametrize("planes", [1, 5, 15, 16, 200])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -np.finfo("f4").max])
def test_the_search_on_the_host(planes, value):
    """Blow-ups spread: in a large field some planes may be left out, not in a small one."""
    field = np.ones(planes * 10 + 3, "f4")
    start = ReferenceBackend().largest(field, 10)
    assert start()().size == 1.0
    last = planes // 4 * 4 - 4 if planes > 31 else planes - 1
    field[last * 10 + 7] = value
    wanted = math.inf if math.isnan(value) else float(abs(value))
    assert start()() == (wanted, last * 10 + 7)


def test_a_flat_index_is_a_place_in_the_grid():
    (row,) = decompose(GRID, 2, (1, 1), batch=3)
    (subdomain,) = row
    numbers = np.arange(subdomain.before + subdomain.volume * 3.0)
    inside = subdomain.inside(numbers)
    for shot, z, x in ((0, 0, 0), (1, 6, 8), (2, 3, 5)):
        assert subdomain.point(int(inside[shot, z, 0, x])) == (x, 0, z)
    assert subdomain.point(0) == (0, 0, 0)  # beside the grid: the next point in it
    assert subdomain.point(numbers.size - 1) == (8, 0, 6)


def grown(size, places, **medium: float) -> UnstableError | None:
    """Watch a wavefield of sizes by step whose largest value is at places by step."""
    field = Wavefield(size, 0, **medium)
    watch = StabilityMonitor(field, "p", 0.2)
    for field.step in range(50, 2001, 50):
        field.place = places(field.step)
        try:
            watch.look(field.step)
        except UnstableError as error:
            return error
    return None


LEFT, BELOW, WITHIN = (1, 0, 3), (4, 0, 6), (3, 0, 4)


@pytest.mark.parametrize(
    ("place", "face"), [(LEFT, "x_min"), (BELOW, "bottom"), ((8, 0, 0), "x_max and top")]
)
def test_what_grows_in_a_layer_is_told_by_its_place(place, face):
    """Sources are silent after step 200: 16 looks later, at 1000; sound up to the first of them."""
    error = grown(lambda step: math.exp(step / 1000), lambda step: place)
    assert "unstable at step 1000" in str(error)
    assert f"({face}): make the model constant" in str(error)
    assert error.good == 250


@pytest.mark.parametrize(
    ("size", "places"),
    [
        (lambda step: math.exp(step / 1000), lambda step: WITHIN),
        (lambda step: math.exp(step / 1000), lambda step: WITHIN if step % 700 == 0 else LEFT),
        (lambda step: math.exp(step / 5000), lambda step: LEFT),
        (lambda step: math.exp(-step / 1000), lambda step: LEFT),
        (lambda step: 1.0 if step < 200 else 1e-6 * math.exp(step / 1000), lambda step: LEFT),
    ],
)
def test_nothing_else_is_taken_for_growth_in_layers(size, places):
    """Motion inside, now and then at least; that rises little, or falls; rounding."""
    assert grown(size, places) is None


def test_a_run_that_goes_on_has_the_looks_of_the_first():
    """Half of them from a checkpoint."""
    field = Wavefield(lambda step: math.exp(step / 1000), 0)
    field.place = LEFT
    first, second = (StabilityMonitor(field, "p", 0.2) for _ in range(2))
    for field.step in range(50, 601, 50):
        first.look(field.step)
    second.recall(json.loads(json.dumps(first.summary())))
    for field.step in range(650, 1000, 50):
        second.look(field.step)
    with pytest.raises(UnstableError, match="step 1000"):
        second.look(1000)


def test_looks_for_checkpoints_make_no_window_shorter():
    """Motion that swings within 200 steps, with a checkpoint every other step, and at each look."""
    field = Wavefield(lambda step: 2.0 + math.sin(step / 30), 0)
    field.place = LEFT
    monitor = StabilityMonitor(field, "p", 0.0)
    for field.step in range(50, 1001, 2):
        if field.step % stability_monitor.EVERY == 0:
            monitor.look(field.step)
        monitor.confirm(field.step)
    assert [look[0] for look in monitor.summary()["layers"]] == list(range(250, 1001, 50))

"""The time loop halts where its schedules ask for it, and does what is due, in order."""

from types import SimpleNamespace

import pytest

from seismo.runs.loop import AtSteps, EverySeconds, Halt, act
from seismo.runs.loop.time_loop import TimeLoop


class Timer:
    """Queues three steps at most."""

    def __init__(self) -> None:
        self.started, self.queueable_steps, self.settled = 0.0, 3, []

    def queue(self, advance, steps, updates) -> None:
        assert updates == 100 * steps
        advance(steps)
        self.queueable_steps -= steps

    def settle(self) -> None:
        self.settled.append(self.queueable_steps)
        self.queueable_steps = 3


@pytest.fixture
def simulation():
    found = SimpleNamespace(step=0, total_steps=10, paced=True)
    found.updates = lambda first, behind: 100 * (behind - first)
    found.advance = lambda steps: setattr(found, "step", found.step + steps)
    return found


def run(simulation, plan, begun=-1):
    timer = Timer()

    def first_step() -> None:
        simulation.advance(1)
        timer.started = 1.0

    TimeLoop(simulation, timer, lambda: None, first_step).run(plan, begun, shots=1)
    return timer


def test_actions_are_done_at_their_steps_in_the_order_of_the_plan(simulation):
    done = []
    plan = [
        (AtSteps({4, 10}), lambda step: done.append(("a", step))),
        (AtSteps({0, 4}), lambda step: done.append(("b", step)), lambda step: done.append("c")),
    ]
    run(simulation, plan)
    assert done == [("b", 0), "c", ("a", 4), ("b", 4), "c", ("a", 10)]
    assert simulation.step == 10


def test_steps_done_before_a_checkpoint_are_not_acted_on_again(simulation):
    done = []
    simulation.step = 4
    run(simulation, [(AtSteps({0, 4, 5}), done.append)], begun=4)
    assert done == [5]


def test_a_halt_says_what_it_is(simulation):
    """The first step is taken alone; the queue is done after 4 steps, and after all."""
    halts = []
    every = SimpleNamespace(steps=(6,), is_due=lambda halt: halts.append(halt))
    run(simulation, [(every, None)])
    assert halts == [
        Halt(4, is_planned=False),
        Halt(6, is_settled=False),
        Halt(7, is_planned=False),
        Halt(10, is_last=True),
    ]


def test_a_schedule_by_time_waits_for_the_queue_and_ends_with_the_last_step(monkeypatch):
    now = 100.0
    monkeypatch.setattr("seismo.runs.loop.time_loop.time.perf_counter", lambda: now)
    schedule, done = EverySeconds(0.2), []
    for later, halt in (
        (0.1, Halt(1)), (0.2, Halt(2, is_settled=False)), (0.0, Halt(3)), (0.1, Halt(4)),
        (0.0, Halt(5, is_last=True)),
    ):  # fmt: skip
        now += later
        act([(schedule, done.append)], halt)
    assert done == [3, 5]

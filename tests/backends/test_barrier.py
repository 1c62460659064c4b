"""Where threads of the CPU meet: nobody goes on before all are there, nobody waits for ever.

In every step each of two lists adds up what both wrote in the step before: a thread that goes on
too early, or works twice, leaves other numbers.
"""

import numba
import numpy as np
import pytest

from seismo.backends.cpu import barrier, threads
from seismo.backends.cpu.c_functions import argument_words, body_function

STEPS = 300
LISTS = 2
LONGEST_WAIT = 10**9  # turns of a loop


def mix(n, table, clock):
    """Write row step + 1 of a table (step, list), from both numbers of the row before."""
    step = clock[0]
    table[step + 1, n] = 3 * table[step, n] + table[step, 1 - n] + n


def note(n, table, clock):
    """Add the first list's number to the second column behind both."""
    step = clock[0]
    table[step + 1, 2] = table[step, 2] + table[step + 1, 0] - table[step + 1, 1]


@pytest.fixture
def program():
    """Lay out steps of a phase of two lists, and two of the first list alone."""
    table = np.zeros((STEPS + 1, 3), np.int64)
    clock = np.zeros(1, np.int64)
    words = argument_words((table, clock))
    both, alone = (body_function(body, False, (table, clock), clock) for body in (mix, note))
    at = words.ctypes.data
    calls = [(both, 0, 1, at), (both, 1, 2, at), (alone, 0, 1, at), (alone, 0, 1, at)]
    starts = np.array([[[0, 1, 2], [2, 3, 3], [3, 4, 4]]])
    units = np.arange(len(calls) + 1)
    return table, threads.CallTable(np.array(calls, np.uint64), units, starts), words


def expected() -> np.ndarray:
    """Take the same steps one by one."""
    table = np.zeros((STEPS + 1, 3), np.int64)
    clock = np.zeros(1, np.int64)
    with np.errstate(over="ignore"):
        for step in range(STEPS):
            clock[0] = step
            for n in range(LISTS):
                mix(n, table, clock)
            note(0, table, clock)
    return table


@pytest.fixture
def two_threads():
    if numba.config.NUMBA_NUM_THREADS < LISTS or not barrier.has_barrier():
        pytest.skip("there is one core, or no way to sleep")
    before = numba.get_num_threads()
    numba.set_num_threads(LISTS)
    yield
    numba.set_num_threads(before)


@pytest.mark.parametrize("patience", [0, barrier.MOST_PATIENCE])
def test_no_list_goes_on_before_the_other_is_there(patience, program, two_threads) -> None:
    table, laid_out, _ = program
    words = barrier.Barrier(LISTS).words
    words[barrier.PATIENCE * barrier.LINE] = patience
    threads.replay(laid_out, 0, STEPS // 2, False, words)
    threads.replay(laid_out, STEPS // 2, STEPS - STEPS // 2, False, words)
    assert words[barrier.DECISION * barrier.LINE] == barrier.BESIDE_EACH_OTHER
    assert np.array_equal(table, expected())


def test_lists_that_one_thread_takes_in_turn_do_not_wait(program, two_threads) -> None:
    """They find out, do nothing, and the steps are taken without a barrier from then on."""
    table, laid_out, _ = program
    words = barrier.Barrier(LISTS).words
    numba.set_num_threads(1)
    tables = np.append(argument_words(laid_out), words.ctypes.data)
    assert not threads._together(0, STEPS, tables, words)
    assert not table.any()
    numba.set_num_threads(LISTS)
    threads.replay(laid_out, 0, STEPS, False, words)
    assert words[barrier.DECISION * barrier.LINE] == barrier.ONE_AFTER_ANOTHER
    assert np.array_equal(table, expected())


def wait_for_the_other(n, table, clock):
    """Say that item n has begun, and wait until the other one has, too."""
    step = clock[0]
    table[step, n] += 1
    for turns in range(LONGEST_WAIT):
        table[step, 2 + n] = turns
        if table[step, 1 - n] > 0:
            break


def test_a_thread_takes_over_what_another_has_not_begun(two_threads) -> None:
    """Both units are of the second list; each ends only once the other has begun."""
    steps = 5
    table = np.zeros((steps, 4), np.int64)
    clock = np.zeros(1, np.int64)
    words = argument_words((table, clock))
    body = body_function(wait_for_the_other, False, (table, clock), clock)
    calls = np.array([(body, n, n + 1, words.ctypes.data) for n in (0, 1)], np.uint64)
    laid_out = threads.CallTable(calls, np.arange(3), np.array([[[0, 0, 2]]]))
    place = barrier.Barrier(LISTS).words
    threads.replay(laid_out, 0, 2, False, place)
    threads.replay(laid_out, 2, steps - 2, False, place)
    assert (table[:, :2] == 1).all()
    if place[barrier.DECISION * barrier.LINE] == barrier.BESIDE_EACH_OTHER:
        assert (table[:, 2:] < LONGEST_WAIT - 1).all()


@pytest.mark.parametrize(
    ("share", "patience"),
    [(0.01, barrier.MOST_PATIENCE), (0.1, barrier.LEAST_PATIENCE), (None, barrier.LEAST_PATIENCE)],
)
def test_threads_spin_for_long_on_a_machine_of_their_own_only(share, patience, monkeypatch) -> None:
    monkeypatch.setattr(barrier.machine.ExternalLoad, "share", lambda load: share)
    monkeypatch.setattr(barrier, "WINDOW", 0.0)
    quiet = share is not None and share < barrier.QUIET
    monkeypatch.setattr(barrier.machine, "running_threads", lambda: 2 if quiet else 1)
    place = barrier.Barrier(LISTS)
    assert place.words[barrier.PATIENCE * barrier.LINE] != patience
    place.adapt()
    assert place.words[barrier.PATIENCE * barrier.LINE] == patience

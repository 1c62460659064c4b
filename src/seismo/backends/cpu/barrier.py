"""A barrier at which threads meet within steps: it spins for as long as that pays, then sleeps.

A thread that waits can spin, which costs nothing where every thread has a core of its own, or
sleep, which gives its core to the late thread, or to another program. The time to spin
follows from earlier waits: where the last thread arrived soon after another had gone to sleep, all
spin for longer, up to a millisecond; where it was so late that it must have lost its core, they
spin for a few microseconds and then sleep, until waits get shorter again.

The words of a barrier (`new_barrier`), of 64 bits, each on lines of its own:

    arrived      threads that are there
    generation   how often all have been there; sleepers wait on its lower half (futex(2))
    sleepers     threads asleep
    patience     ns to spin
    present      threads that have begun
    decision     0, then whether all of them run side by side
    functions    addresses of what they call
    claimed      units of work that were taken of each thread's list, for phases by turns (`claim`)

Whoever spreads work over threads promises no more than that all of it is done. So threads assemble
first (`assemble`): only if all are there do they meet later; else none does anything.
"""

from __future__ import annotations

import ctypes
import platform
import time
from functools import cache

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from seismo.backends import machine

LINE = 16  # words between two of a barrier: neither a line nor its prefetched neighbour is shared
ARRIVED, GENERATION, SLEEPERS, PATIENCE, PRESENT, DECISION, FUNCTIONS = range(7)
CLAIMED = 8
BESIDE_EACH_OTHER = 1  # a decision
ONE_AFTER_ANOTHER = 2  # the other decision
LEAST_PATIENCE = 10_000  # ns
MOST_PATIENCE = 1_000_000
WINDOW = 0.5  # s after which the load by others is measured again: their clock ticks in 10 ms
QUIET = 0.05  # of all cores that others may use while threads spin for long
LATE = 1_500_000  # ns of delay of a thread that has lost its core
ASSEMBLY = 50_000_000  # ns in which threads have to begin
_LOOKS = 32  # at the barrier, between two at the clock
_FUTEX = {"x86_64": 202, "aarch64": 98}  # number of the system call
_WAIT = 128  # FUTEX_WAIT, private to the process
_WAKE = 129
_ALL = 1 << 30
_MONOTONIC = 1  # clock

_WORD = ir.IntType(64)
_word = types.int64


@cache
def has_barrier() -> bool:
    """Whether threads of this machine can sleep at a barrier."""
    return platform.system() == "Linux" and platform.machine() in _FUTEX


def new_barrier(parties: int) -> np.ndarray:
    """Return the words of a barrier, and the addresses of the C functions that it calls."""
    words = np.zeros((CLAIMED + 2 * parties) * LINE, np.int64)
    words[PATIENCE * LINE] = LEAST_PATIENCE
    library = ctypes.CDLL(None)
    functions = (library.syscall, library.clock_gettime, library.sched_yield)
    for n, function in enumerate(functions):
        words[FUNCTIONS * LINE + n] = ctypes.cast(function, ctypes.c_void_p).value or 0
    words[FUNCTIONS * LINE + 3] = _FUTEX.get(platform.machine(), 0)
    return words


class Barrier:
    """Own the words of a barrier, and say how long threads spin at it."""

    def __init__(self, parties: int) -> None:
        """Choose the first patience by the machine's load: long if it is idle."""
        self.words = new_barrier(parties)
        self._be_patient(machine.running_threads() == 1)
        self._start_window()

    def adapt(self) -> None:
        """Spin for long if others have used next to nothing of the processor meanwhile."""
        if time.perf_counter() - self._since < WINDOW:
            return
        share = self._others.share()
        self._be_patient(share is not None and share < QUIET)
        self._start_window()

    def _be_patient(self, is_quiet: bool) -> None:
        self.words[PATIENCE * LINE] = MOST_PATIENCE if is_quiet else LEAST_PATIENCE

    def _start_window(self) -> None:
        self._since = time.perf_counter()
        self._others = machine.ExternalLoad()


def _pointer(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return builder.inttoptr(address, _WORD.as_pointer())


@intrinsic
def _load(context, address):
    """Read a word that other threads change."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_pointer(builder, args[0]), "seq_cst", 8)

    return _word(_word), generate


@intrinsic
def _store(context, address, word):
    """Write a word that other threads read."""

    def generate(context, builder, signature, args):
        builder.store_atomic(args[1], _pointer(builder, args[0]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(_word, _word), generate


@intrinsic
def _add(context, address, word):
    """Atomically add; return the old value."""

    def generate(context, builder, signature, args):
        return builder.atomic_rmw("add", _pointer(builder, args[0]), args[1], "seq_cst")

    return _word(_word, _word), generate


@intrinsic
def _decide(context, address, word):
    """Write a word if it is 0 still."""

    def generate(context, builder, signature, args):
        builder.cmpxchg(_pointer(builder, args[0]), _WORD(0), args[1], "seq_cst")
        return context.get_dummy_value()

    return types.void(_word, _word), generate


@intrinsic
def _pause(context):
    """Leave the core to its other hardware thread for a few cycles."""

    def generate(context, builder, signature, args):
        if platform.machine() == "x86_64":
            function = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(builder.module, function, name), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _call(context, address, first, second, third, fourth, fifth, sixth):
    """Call a C function of six words at most at an address."""

    def generate(context, builder, signature, args):
        function = ir.FunctionType(_WORD, [_WORD] * 6)
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])

    return _word(*[_word] * 7), generate


@intrinsic
def _now(context, clock_gettime):
    """Return the time in ns by the function clock_gettime(2) at an address."""

    def generate(context, builder, signature, args):
        time = cgutils.alloca_once(builder, _WORD, 2)
        function = ir.FunctionType(ir.IntType(32), [_WORD, _WORD.as_pointer()])
        callee = builder.inttoptr(args[0], function.as_pointer())
        builder.call(callee, [_WORD(_MONOTONIC), time])
        seconds = builder.load(time)
        nanoseconds = builder.load(builder.gep(time, [_WORD(1)]))
        return builder.add(builder.mul(seconds, _WORD(10**9)), nanoseconds)

    return _word(_word), generate


@njit(nogil=True)
def assemble(barrier, parties):
    """Wait for all threads to begin; return whether they run beside each other."""
    present = barrier + 8 * LINE * PRESENT
    decision = barrier + 8 * LINE * DECISION
    functions = barrier + 8 * LINE * FUNCTIONS
    if _add(present, 1) == parties - 1:
        _decide(decision, BESIDE_EACH_OTHER)
    start = _now(_load(functions + 8))
    while _load(decision) == 0:
        waited = _now(_load(functions + 8)) - start
        if waited > ASSEMBLY:
            _decide(decision, ONE_AFTER_ANOTHER)
        elif waited > LEAST_PATIENCE:
            _call(_load(functions + 16), 0, 0, 0, 0, 0, 0)
        else:
            _pause()
    return _load(decision) == BESIDE_EACH_OTHER


@njit(nogil=True)
def wait_for_all(barrier, parties):
    """Wait for all threads to be here."""
    arrived = barrier + 8 * LINE * ARRIVED
    generation = barrier + 8 * LINE * GENERATION
    sleepers = barrier + 8 * LINE * SLEEPERS
    functions = barrier + 8 * LINE * FUNCTIONS
    # The last thread releases the others, and wakes sleepers.
    before = _load(generation)
    if _add(arrived, 1) == parties - 1:
        _store(arrived, 0)
        _add(generation, 1)
        if _load(sleepers):
            syscall = _load(functions)
            _call(syscall, _load(functions + 24), generation, _WAKE, _ALL, 0, 0)
        return
    # Most come soon: no look at the clock before that.
    for _ in range(_LOOKS):
        _pause()
        if _load(generation) != before:
            return
    patience = _load(barrier + 8 * LINE * PATIENCE)
    clock = _load(functions + 8)
    start = _now(clock)
    while _now(clock) - start < patience:
        for _ in range(_LOOKS):
            _pause()
            if _load(generation) != before:
                return
    _sleep(barrier, before, start)


@njit(nogil=True)
def disclaim(barrier, parties, turn, party):
    """Let all units of a thread's list be claimed anew in the next phase of a turn (0 or 1).

    In a phase of the other turn, before which all threads have met.
    """
    _store(_claimed(barrier, parties, turn, party), 0)


@njit(nogil=True)
def claim(barrier, parties, turn, party, count):
    """Return the number of a unit of a thread's list that is this thread's own from now on.

    `count` of them: a result not below it means that none is left.
    """
    claimed = _claimed(barrier, parties, turn, party)
    # A look costs less than a claim, where others have taken all.
    return count if _load(claimed) >= count else _add(claimed, 1)


@njit(nogil=True)
def _claimed(barrier, parties, turn, party):
    return barrier + 8 * LINE * (CLAIMED + turn * parties + party)


@njit(nogil=True)
def _sleep(barrier, before, start):
    """Sleep until a generation has passed; if that takes long, spin for short from then on."""
    generation = barrier + 8 * LINE * GENERATION
    sleepers = barrier + 8 * LINE * SLEEPERS
    functions = barrier + 8 * LINE * FUNCTIONS
    syscall = _load(functions)
    _add(sleepers, 1)
    # The kernel looks at the lower half of the word before it lets a thread sleep.
    while _load(generation) == before:
        _call(syscall, _load(functions + 24), generation, _WAIT, before & 0xFFFFFFFF, 0, 0)
    _add(sleepers, -1)
    if _now(_load(functions + 8)) - start > LATE:
        _store(barrier + 8 * LINE * PATIENCE, LEAST_PATIENCE)

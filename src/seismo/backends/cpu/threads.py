"""Worker threads: the calls of a task list, step by step, with denormal numbers taken for 0.

Ahead of a wavefront, and deep in absorbing layers, fields fade through all sizes to nothing. Below
1.2e-38 a float32 is denormal, and an operation on it takes over a hundred cycles on many
processors. All work on fields takes such numbers for 0, as the sweeps of GPUs do in single
precision (`fastmath`). A thread switches to that mode before it makes its calls and back behind:
whoever called computes as ever. Processors other than x86 keep their mode: ARM processors compute
with such numbers at full speed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numba
import numpy as np
from llvmlite import binding, ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from seismo.backends.cpu.barrier import (
    BESIDE_EACH_OTHER,
    CLAIMED,
    DECISION,
    LINE,
    ONE_AFTER_ANOTHER,
    PRESENT,
    assemble,
    claim,
    disclaim,
    wait_for_all,
)
from seismo.backends.cpu.c_functions import address_of, argument_reader, argument_words, typed
from seismo.backends.machine import has_lost_threads

_MODE = ir.IntType(32)
_WORD = ir.IntType(64)
# FTZ and DAZ: bits 15 and 6 of MXCSR (Intel SDM vol. 1, 10.2.3).
_FLUSHED = 1 << 15 | 1 << 6  # of the register MXCSR: denormal results are 0, and operands too
_HAS_MODE = binding.get_process_triple().startswith("x86_64")


@intrinsic
def _flush(context):
    """Take denormal numbers for 0 in this thread from now on; give the mode before."""

    def generate(context, builder, signature, args):
        if not _HAS_MODE:
            return _MODE(0)
        # stmxcsr, set the bits, ldmxcsr; the former mode is restored behind the work.
        mode_address = cgutils.alloca_once(builder, _MODE)
        _access(builder, "st", mode_address)
        before = builder.load(mode_address)
        builder.store(builder.or_(before, _MODE(_FLUSHED)), mode_address)
        _access(builder, "ld", mode_address)
        return before

    return types.uint32(), generate


@intrinsic
def _restore(context, mode):
    """Go back to a mode."""

    def generate(context, builder, signature, args):
        if _HAS_MODE:
            mode_address = cgutils.alloca_once(builder, _MODE)
            builder.store(args[0], mode_address)
            _access(builder, "ld", mode_address)
        return context.get_dummy_value()

    return types.void(types.uint32), generate


def _access(builder: ir.IRBuilder, direction: str, mode_address: ir.Value) -> None:
    """Store the mode, or load it."""
    # LLVM's intrinsics stmxcsr and ldmxcsr take a pointer to 8 bits.
    pointer = ir.IntType(8).as_pointer()
    function = ir.FunctionType(ir.VoidType(), [pointer])
    name = f"llvm.x86.sse.{direction}mxcsr"
    callee = cgutils.get_or_insert_function(builder.module, function, name)
    builder.call(callee, [builder.bitcast(mode_address, pointer)])


@intrinsic
def _call_at(context, address, first, last, parameters, step):
    """Call the C function ``void(first, last, parameters, step)`` at an address."""

    def generate(context, builder, signature, args):
        # An indirect call: all C functions have the same signature.
        function = ir.FunctionType(ir.VoidType(), [_WORD] * 4)
        builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])
        return context.get_dummy_value()

    word = types.uint64
    return types.void(word, word, word, word, types.int64), generate


class CallTable(NamedTuple):
    """What threads call.

    Attributes:
        calls: (call, 4), uint64: function, first item, last + 1, parameters.
        units: (unit + 1), int64: where each unit begins in `calls`; a single thread makes its
            calls.
        starts: (step, phase, list + 1), int64: where each task list begins in `units`.
    """

    calls: np.ndarray
    units: np.ndarray
    starts: np.ndarray


@njit(nogil=True)
def _run_units(calls, units, first, last, step):
    """Make the calls of a range of units in a step."""
    for n in range(units[first], units[last]):
        _call_at(calls[n, 0], calls[n, 1], calls[n, 2], calls[n, 3], step)


@njit(nogil=True)
def _run_list(calls, units, starts, phase, task_list, first, count):
    """Make the calls of a task list in steps first, first + 1, ..."""
    # The mode is switched once for all calls of the task list.
    mode = _flush()
    for step in range(first, first + count):
        bounds = starts[step % starts.shape[0], phase]
        _run_units(calls, units, bounds[task_list], bounds[task_list + 1], step)
    _restore(mode)


@njit(nogil=True)
def _run_beside_others(calls, units, starts, task_list, first, count, barrier):
    """Make the calls of a task list in steps first, first + 1, ..., and of units that others leave.

    Before each phase threads meet; where they cannot, it does nothing.
    """
    parties = starts.shape[2] - 1
    if not assemble(barrier, parties):
        return
    mode = _flush()
    was_alone = True
    turn = 0
    for step in range(first, first + count):
        row = step % starts.shape[0]
        for phase in range(starts.shape[1]):
            bounds = starts[row, phase]
            # Phases of the first list alone need no barrier between them.
            alone = bounds[1] == bounds[parties]
            if not (alone and was_alone):
                wait_for_all(barrier, parties)
            was_alone = alone
            # Claims are counted by turns: claims of the previous phase are cleared in this phase.
            if not alone:
                turn = 1 - turn
                disclaim(barrier, parties, 1 - turn, task_list)
                _share_units(calls, units, bounds, task_list, step, barrier, turn)
            elif task_list == 0:
                _run_units(calls, units, bounds[0], bounds[1], step)
    _restore(mode)


@njit(nogil=True)
def _share_units(calls, units, bounds, task_list, step, barrier, turn):
    """Take units of a thread's own list, then of the lists of threads that are not done.

    A thread that loses its core, or whose points are dearer, thus holds up nobody for longer than
    by a unit.
    """
    # The thread's list first, then the following lists, cyclically.
    parties = bounds.shape[0] - 1
    for ahead in range(parties):
        owner = (task_list + ahead) % parties
        first = bounds[owner]
        count = bounds[owner + 1] - first
        n = claim(barrier, parties, turn, owner, count)
        while n < count:
            _run_units(calls, units, first + n, first + n + 1, step)
            n = claim(barrier, parties, turn, owner, count)


_TABLES = (
    types.Array(types.uint64, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 3, "C"),
)
_tables_at = argument_reader(_TABLES, (False,) * len(_TABLES))


def replay(
    program: CallTable, first: int, count: int, shot_parallel: bool,
    barrier: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Take `count` steps: every task list through all of them, or all lists through every one.

    Args:
        program: calls of the threads.
        first: number of the first step.
        count: steps.
        shot_parallel: whether task lists need not wait for each other.
        barrier: where task lists that do wait meet (`barrier.new_barrier`), None for a parallel
            loop of each phase.
    """
    lists = program.starts.shape[2] - 1
    if lists > 1 and has_lost_threads():  # a parallel loop would end this process
        # The lists of shots one after another; others as a single list, phase by phase.
        ends = [[n, n + 1] for n in range(lists)] if shot_parallel else [[0, lists]]
        for pair in ends:
            alone = program._replace(starts=np.ascontiguousarray(program.starts[..., pair]))
            tables = argument_words(alone)  # kept until its address has been used
            _replay_function()(first, count, tables.ctypes.data, shot_parallel)
        return
    tables = argument_words(program)
    if barrier is not None and lists == numba.get_num_threads() > 1 and not shot_parallel:
        words = np.append(tables, np.int64(barrier.ctypes.data))
        if _together(first, count, words, barrier):
            return
    _replay_function()(first, count, tables.ctypes.data, shot_parallel)


def _together(first: int, count: int, words: np.ndarray, barrier: np.ndarray) -> bool:
    """Take steps in a parallel loop; return whether its threads ran beside each other."""
    decision = barrier[DECISION * LINE :]
    if decision[0] == ONE_AFTER_ANOTHER:  # as before
        return False
    barrier[PRESENT * LINE] = 0
    barrier[CLAIMED * LINE :] = 0
    decision[0] = 0
    _barrier_function()(first, count, words.ctypes.data, False)
    return bool(decision[0] == BESIDE_EACH_OTHER)


@cache
def _replay_function() -> Callable[[int, int, int, bool], None]:
    return _parallel_function("replay", _replay)


@cache
def _barrier_function() -> Callable[[int, int, int, bool], None]:
    return _parallel_function("replay with a barrier", _replay_together)


def _parallel_function(name: str, loop: Callable) -> Callable[[int, int, int, bool], None]:
    # Starting the threads defines the symbols that parallel code calls.
    numba.get_num_threads()
    words = (ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64, ctypes.c_int64)
    address = address_of(name, typed(loop, parallel=True, nogil=True))
    return ctypes.CFUNCTYPE(None, *words)(address)


_TABLE_WORDS = sum(1 + 2 * table.ndim for table in _TABLES)  # before that of the barrier
_barrier_at = argument_reader((types.int64,), (False,))


def _replay_together(first, count, tables, unused):
    calls, units, starts = _tables_at(tables, 0)
    (barrier,) = _barrier_at(tables + 8 * _TABLE_WORDS, 0)
    for task_list in prange(starts.shape[2] - 1):
        _run_beside_others(calls, units, starts, task_list, first, count, barrier)


def _replay(first, count, tables, shot_parallel):
    calls, units, starts = _tables_at(tables, 0)
    period = starts.shape[0]
    phases = starts.shape[1]
    task_lists = starts.shape[2] - 1
    rounds, steps = (1, count) if shot_parallel else (count, 1)
    for round_number in range(rounds):
        step = first + round_number
        for phase in range(phases):
            bounds = starts[step % period, phase]
            if bounds[1] == bounds[task_lists]:  # no need for others
                _run_list(calls, units, starts, phase, 0, step, steps)
            else:
                # The end of prange is the barrier between phases.
                for task_list in prange(task_lists):
                    _run_list(calls, units, starts, phase, task_list, step, steps)

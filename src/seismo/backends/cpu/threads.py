"""What threads run: the calls of a strand, step after step, where denormal numbers are taken for 0.

Ahead of a wavefront, and deep in absorbing layers, fields fade through all sizes to nothing. Below
1.2e-38 a float32 is denormal, and an operation on it takes some processors over a hundred cycles.
All work on fields takes such numbers for 0, as the sweeps of GPUs do in single precision
(`fastmath`). A thread switches to that mode before it makes its calls and back behind: whoever
called computes as ever. Processors other than x86 keep their mode: those of ARM compute with such
numbers at full speed.

It is all in one file, since Numba compiles anew what it keeps on disk where that file has changed.
"""

from __future__ import annotations

from llvmlite import binding, ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

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
        place = cgutils.alloca_once(builder, _MODE)
        _access(builder, "st", place)
        before = builder.load(place)
        builder.store(builder.or_(before, _MODE(_FLUSHED)), place)
        _access(builder, "ld", place)
        return before

    return types.uint32(), generate


@intrinsic
def _restore(context, mode):
    """Go back to a mode."""

    def generate(context, builder, signature, args):
        if _HAS_MODE:
            place = cgutils.alloca_once(builder, _MODE)
            builder.store(args[0], place)
            _access(builder, "ld", place)
        return context.get_dummy_value()

    return types.void(types.uint32), generate


def _access(builder: ir.IRBuilder, way: str, place: ir.Value) -> None:
    """Store the mode, or load it."""
    # LLVM's intrinsics stmxcsr and ldmxcsr take a pointer to 8 bits.
    pointer = ir.IntType(8).as_pointer()
    function = ir.FunctionType(ir.VoidType(), [pointer])
    name = f"llvm.x86.sse.{way}mxcsr"
    callee = cgutils.get_or_insert_function(builder.module, function, name)
    builder.call(callee, [builder.bitcast(place, pointer)])


@intrinsic
def _call_at(context, address, first, last, parameters, step):
    """Call the C function ``void(first, last, parameters, step)`` at an address."""

    def generate(context, builder, signature, args):
        # An indirect call: all C functions have the same signature.
        function = ir.FunctionType(ir.VoidType(), [_WORD] * 4)
        builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])
        return context.get_dummy_value()

    whole = types.uint64
    return types.void(whole, whole, whole, whole, types.int64), generate


@njit(cache=True, nogil=True)
def call_one(row, step):
    """Make one call: function, first item, last + 1, parameters."""
    mode = _flush()
    _call_at(row[0], row[1], row[2], row[3], step)
    _restore(mode)


@njit(nogil=True)
def _strand(calls, starts, phase, strand, first, count):
    """Make the calls of a strand in steps first, first + 1, ..."""
    # The mode is switched once for all calls of the strand.
    mode = _flush()
    for step in range(first, first + count):
        bounds = starts[step % starts.shape[0], phase]
        for n in range(bounds[strand], bounds[strand + 1]):
            _call_at(calls[n, 0], calls[n, 1], calls[n, 2], calls[n, 3], step)
    _restore(mode)


@njit(parallel=True, cache=True, nogil=True)
def replay(calls, starts, first, count, apart):
    """Take `count` steps: every strand through all of them, or all strands through every one."""
    period = starts.shape[0]
    phases = starts.shape[1]
    strands = starts.shape[2] - 1
    turns, steps = (1, count) if apart else (count, 1)
    for turn in range(turns):
        step = first + turn
        for phase in range(phases):
            bounds = starts[step % period, phase]
            if bounds[1] == bounds[strands]:  # no need for others
                _strand(calls, starts, phase, 0, step, steps)
            else:
                # The end of prange is the barrier between phases.
                for strand in prange(strands):
                    _strand(calls, starts, phase, strand, step, steps)

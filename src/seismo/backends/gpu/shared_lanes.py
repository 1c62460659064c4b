"""Lanes in the shared memory of a block of threads, and copies into it that go on by themselves.

A copy (PTX `cp.async`) takes 16 bytes from memory past the registers. A thread queues copies in
groups and waits for all groups but the last few; the threads of a block then meet at a barrier.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

_GLOBAL, _SHARED = 1, 3  # LLVM's address spaces


def tile_access(lane: Any, vector: ir.Type, element: ir.Type, lane_bytes: int) -> tuple:
    """Make the intrinsics that reach a tile, an array in shared memory.

    Returns:
        Functions (tile, index) -> lane; (tile, index, lane), which stores it; and (tile, index,
        array, index there), which starts to copy a lane of an array.
    """
    shared = vector.as_pointer(_SHARED)

    def place(context, builder, signature, args):
        start = context.make_array(signature.args[0])(context, builder, args[0]).data
        there = builder.addrspacecast(start, element.as_pointer(_SHARED))
        return builder.bitcast(builder.gep(there, [args[1]]), shared)

    @intrinsic
    def tile_read(context, tile, index):
        def generate(context, builder, signature, args):
            value = builder.load(place(context, builder, signature, args))
            value.align = lane_bytes
            return value

        return lane(tile, index), generate

    @intrinsic
    def tile_store(context, tile, index, value):
        def generate(context, builder, signature, args):
            stored = builder.store(args[2], place(context, builder, signature, args))
            stored.align = lane_bytes
            return context.get_dummy_value()

        return types.void(tile, index, lane), generate

    @intrinsic
    def tile_copy(context, tile, index, source, at):
        def generate(context, builder, signature, args):
            target = builder.ptrtoint(place(context, builder, signature, args), ir.IntType(32))
            array = builder.inttoptr(args[2], element.as_pointer(_GLOBAL))
            given = builder.ptrtoint(builder.gep(array, [args[3]]), ir.IntType(64))
            _assembly(builder, "cp.async.cg.shared.global [$0], [$1], 16;", "r,l", [target, given])
            return context.get_dummy_value()

        return types.void(tile, index, source, at), generate

    return tile_read, tile_store, tile_copy


def asking(element: ir.Type):
    """Make the intrinsic (array, index) that asks the second-level cache for a line of an array."""

    @intrinsic
    def ask(context, source, at):
        def generate(context, builder, signature, args):
            array = builder.inttoptr(args[0], element.as_pointer(_GLOBAL))
            given = builder.ptrtoint(builder.gep(array, [args[1]]), ir.IntType(64))
            _assembly(builder, "prefetch.global.L2 [$0];", "l", [given])
            return context.get_dummy_value()

        return types.void(source, at), generate

    return ask


def _assembly(builder, text: str, constraints: str, values: list) -> None:
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
    touched = f"{constraints},~{{memory}}".lstrip(",")
    builder.call(ir.InlineAsm(kind, text, touched, side_effect=True), values)


def _instruction(text: str):
    @intrinsic
    def instruction(context):
        def generate(context, builder, signature, args):
            _assembly(builder, text, "", [])
            return context.get_dummy_value()

        return types.void(), generate

    return instruction


copies_queued = _instruction("cp.async.commit_group;")  # ends a group


@lru_cache
def copies_done(n: int):
    """Make the function that waits for this thread's groups of copies but the last n."""
    return _instruction(f"cp.async.wait_group {n};")

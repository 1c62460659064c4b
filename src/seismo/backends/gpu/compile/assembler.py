"""PTX translated into the instructions of one kind of card, by nvJitLink.

The driver does the same when a kernel is loaded, but one kernel after another, and only where there
is a card. The library works in any process. Where it is missing, or cannot read the PTX, kernels
are kept as PTX and left to the driver.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple


@cache
def version() -> str:
    """Return the version of the library, "" where there is none that works."""
    try:
        return ".".join(map(str, _library().version()))
    except Exception:  # whatever the bindings say of a library that is not there
        return ""


class Registers(NamedTuple):
    """What a thread of a kernel holds.

    Attributes:
        used: registers.
        spilled: bytes that are stored in memory for want of registers.
    """

    used: int
    spilled: int


def assemble(ptx: str, capability: tuple[int, int]) -> bytes:
    """Return the code of a card, such as (9, 0), for PTX; raises what the library does."""
    return _linked(ptx, capability)[0]


def registers(ptx: str, capability: tuple[int, int]) -> Registers:
    """Return the registers that PTX takes on a card; raises what the library does."""
    _, log = _linked(ptx, capability, "-verbose", "-Xptxas=-v")
    # "ptxas info : Used 48 registers", and "8 bytes spill stores, 8 bytes spill loads".
    used = re.search(r"Used (\d+) registers", log)
    spilled = re.search(r"(\d+) bytes spill stores", log)
    return Registers(int(used[1]) if used else 0, int(spilled[1]) if spilled else 0)


def _linked(ptx: str, capability: tuple[int, int], *options: str) -> tuple[bytes, str]:
    """Return the code of a card for PTX, and what the assembler says of it."""
    library = _library()
    text = ptx.encode()
    # nvJitLink with one PTX input gives the cubin of one architecture.
    wanted = ["-arch=sm_{}{}".format(*capability), *options]
    handle = library.create(len(wanted), wanted)
    try:
        library.add_data(handle, library.InputType.PTX, text, len(text), "kernel")
        library.complete(handle)
        code = bytearray(library.get_linked_cubin_size(handle))
        library.get_linked_cubin(handle, code)
        log = bytearray(library.get_info_log_size(handle) if options else 0)
        if log:
            library.get_info_log(handle, log)
    finally:
        library.destroy(handle)
    return bytes(code), log.decode(errors="replace")


def _library() -> Any:
    from cuda.bindings import nvjitlink

    return nvjitlink

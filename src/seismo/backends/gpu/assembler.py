"""PTX translated into the instructions of one kind of card, by nvJitLink.

The driver does the same when a kernel is loaded, but one kernel after another, and only where there
is a card. The library works in any process. Where it is missing, or cannot read the PTX, kernels
are kept as PTX and left to the driver.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def version() -> str:
    """Return the version of the library, "" where there is none that works."""
    try:
        return ".".join(map(str, _library().version()))
    except Exception:  # whatever the bindings say of a library that is not there
        return ""


def assemble(ptx: str, capability: tuple[int, int]) -> bytes:
    """Return the code of a card, such as (9, 0), for PTX; raises what the library does."""
    library = _library()
    text = ptx.encode()
    # nvJitLink with one PTX input gives the cubin of one architecture.
    architecture = "-arch=sm_{}{}".format(*capability)
    handle = library.create(1, [architecture])
    try:
        library.add_data(handle, library.InputType.PTX, text, len(text), "kernel")
        library.complete(handle)
        code = bytearray(library.get_linked_cubin_size(handle))
        library.get_linked_cubin(handle, code)
    finally:
        library.destroy(handle)
    return bytes(code)


def _library() -> Any:
    from cuda.bindings import nvjitlink

    return nvjitlink

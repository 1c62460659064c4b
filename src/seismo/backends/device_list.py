"""What there is to compute on, for people: devices, what they lack, and where `auto` would go."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from seismo.backends import machine
from seismo.backends.gpu.detect import GpuEnvironment, driver_release
from seismo.backends.gpu.requirements import problems
from seismo.backends.select import choose


def report(facts: GpuEnvironment, opened: Callable | None = None) -> Iterator[str]:
    """Describe line by line what a machine has.

    Args:
        facts: about its GPUs.
        opened: see `seismo.backends.select.choose`.
    """
    memory = machine.available_memory()
    free = f", {memory / 2**30:.0f} GiB free" if memory is not None else ""
    yield f"CPU: {machine.processor()}, {machine.cores()} cores{free}"
    for number, gpu in enumerate(facts.gpus):
        yield f"GPU {number}: {gpu}, {gpu.memory / 2**30:.0f} GiB"
    yield from map(str, facts.links)
    yield from _software(facts)
    yield from (f"missing: {problem}" for problem in _missing(facts))
    chosen = choose("auto", facts=lambda: facts, opened=opened)
    small = ", small runs on the CPU" * (chosen.name == "gpu")
    yield f"--backend auto: {chosen.note}{small}"


def _software(facts: GpuEnvironment) -> Iterator[str]:
    """Name the driver and the packages that are there."""
    if facts.driver is not None:
        release = driver_release()
        own = f" {release}" if release else ""
        yield f"driver{own}, for CUDA {_dotted(facts.driver)}"
    named = [*facts.cupy, ("numba-cuda", facts.numba_cuda), ("numpy", facts.numpy)]
    if found := [f"{name} {version}" for name, version in named if version is not None]:
        yield ", ".join(found)


def _missing(facts: GpuEnvironment) -> list[str]:
    """List why GPUs cannot be used, once what is the same for several."""
    every = [problem for n in range(len(facts.gpus) or 1) for problem in problems(facts, n)]
    return list(dict.fromkeys(every))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))

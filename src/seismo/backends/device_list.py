"""What there is to compute on, for people: devices, what they lack, and where `auto` would go."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from seismo.backends import machine
from seismo.backends.gpu.detect import GpuEnvironment, driver_release
from seismo.backends.gpu.requirements import problems
from seismo.backends.select import choose


def report(environment: GpuEnvironment, opened: Callable | None = None) -> Iterator[str]:
    """Describe line by line what a machine has.

    Args:
        environment: about its GPUs.
        opened: see `seismo.backends.select.choose`.
    """
    # Free memory of the host first, then each GPU and how pairs of them are connected.
    memory = machine.available_memory()
    free = f", {memory / 2**30:.0f} GiB free" if memory is not None else ""
    yield f"CPU: {machine.processor()}, {machine.cores()} cores{free}"
    for number, gpu in enumerate(environment.gpus):
        yield f"GPU {number}: {gpu}, {gpu.memory / 2**30:.0f} GiB"
    yield from map(str, environment.links)
    yield from _software(environment)
    yield from (f"missing: {problem}" for problem in _missing(environment))
    chosen = choose("auto", detect=lambda: environment, opened=opened)
    small = ", small runs on the CPU" * (chosen.name == "gpu")
    yield f"--backend auto: {chosen.note}{small}"


def _software(environment: GpuEnvironment) -> Iterator[str]:
    """Name the driver and the packages that are there."""
    if environment.driver is not None:
        release = driver_release()
        release_text = f" {release}" if release else ""
        yield f"driver{release_text}, for CUDA {_dotted(environment.driver)}"
    named = [*environment.cupy, ("numba-cuda", environment.numba_cuda)]
    named += [("numpy", environment.numpy)]
    if packages := [f"{name} {version}" for name, version in named if version is not None]:
        yield ", ".join(packages)


def _missing(environment: GpuEnvironment) -> list[str]:
    """List why GPUs cannot be used, once what is the same for several."""
    # What is missing for all GPUs is named once.
    numbers = range(len(environment.gpus) or 1)
    return list(dict.fromkeys(text for n in numbers for text in problems(environment, n)))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))

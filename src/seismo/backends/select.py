"""The factory of backends, and the list of devices for people.

A GPU needs a driver, matching packages, and a card that is new enough
(`seismo.backends.gpu.detect`). Each of these is checked before any work starts, and missing
ones are named with their remedies. Code that has the backend afterwards never asks which it is.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from seismo.backends import machine
from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.gpu.detect import (
    Gpu,
    GpuEnvironment,
    able_gpus,
    driver_release,
    is_able,
    problems,
    visible_gpus,
)
from seismo.backends.gpu.detect import detect as detect_gpus
from seismo.backends.machine import REMEDY, has_lost_threads
from seismo.errors import DeviceError

if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card


Wanted = Literal["auto", "cpu", "gpu"]
Device = TypeVar("Device")
Outcome = TypeVar("Outcome")

_NO_THREADS = "threads: {} are for the CPU; leave them out on a GPU"


@dataclass(frozen=True)
class BackendChoice:
    """Where a run goes.

    Attributes:
        name: of the backend.
        note: message to the user, on one line.
        make: function (precision) -> backend.
        together: GPUs that share the run, None where it was not asked for any number.
        caution: why the run has less than was asked for, or than there is; else nothing.
    """

    name: str
    note: str
    make: Callable[[str], Backend]
    together: int | None = None
    caution: str = ""


def choose(
    wanted: str = "auto",
    device: int | None = None,
    threads: int | None = None,
    ranks: SerialCommunicator | None = None,
    *,
    detect: Callable[[], GpuEnvironment] | None = None,
    opened: Callable[[int], Card] | None = None,
) -> BackendChoice:
    """Choose the backend of a run.

    Args:
        wanted: "auto" (the GPU, if present and no threads are asked for), "cpu" or "gpu".
        device: number of the GPU, the first that will do when None.
        threads: threads to use on the CPU, all cores when None.
        ranks: that run together; each takes a GPU of its own.
        detect: function that detects GPUs; None for the default.
        opened: function (number) -> card; the card itself when None.

    Raises:
        DeviceError: the wanted device is missing, or cannot be used.
    """
    # Contradictory options are refused before any hardware is queried.
    if wanted not in get_args(Wanted):
        raise DeviceError(f"backend: {wanted!r} is none; choose auto, cpu or gpu")
    ranks = ranks or SerialCommunicator()
    each = threads or ranks.threads
    if wanted == "cpu" or (wanted == "auto" and threads is not None):
        if device is not None:
            raise DeviceError(f"device: {device} is a GPU's number; leave it out on the CPU")
        return _on_processor(each, "")
    if wanted == "gpu" and threads is not None:
        raise DeviceError(_NO_THREADS.format(threads))
    if ranks.has_others and device is not None:
        raise DeviceError(f"device: {device} for {ranks.count} ranks; leave it out: each has one")
    # One GPU for each rank of a machine, in the order of the ranks on it.
    detect = detect or partial(_detect_and_start_server, _number(visible_gpus(), device, ranks))
    environment = detect()
    number = _number(environment.gpus, device, ranks)
    card, problem = _try_opening(environment, number, opened or _open)
    # All ranks must decide alike, or they would wait for one another: exchange the problems.
    if ranks.has_others:
        problem = _first_problem(ranks, card, problem)
    if card and not problem:
        return _on_card(environment, number, card)
    # `auto` falls back to the CPU, and says why; a GPU that was named does not.
    if wanted == "gpu" or device is not None:
        option = "backend gpu" if wanted == "gpu" else f"device: {device}"
        raise DeviceError(f"{option}: {problem}")
    return _on_processor(each, problem)


def _try_opening(
    environment: GpuEnvironment, number: int, open_card: Callable[[int], Card]
) -> tuple[Card | None, str]:
    """Take a card into use; give it, or why that cannot be."""
    problem = next(problems(environment, number), "")
    if problem:
        return None, problem
    try:
        return open_card(number), ""
    except DeviceError as error:
        return None, str(error)


def _first_problem(ranks: SerialCommunicator, card: Card | None, problem: str) -> str:
    """Describe the first obstacle to a card for each rank, so that all of them decide alike."""
    # Two ranks on one card: the same node and PCI slot.
    reports = ranks.allgather((problem, platform.node(), card and card.slot))
    cards = [(node, slot) for _, node, slot in reports]
    for rank, (rank_problem, node, _) in enumerate(reports):
        if rank_problem:
            return f"rank {rank}: {rank_problem}"
        if cards.index(cards[rank]) != rank:
            return (
                f"ranks {cards.index(cards[rank])} and {rank} would share a GPU of {node}; start "
                "no more ranks on a machine than it has GPUs"
            )
    return ""


def choose_all(
    gpus: int | Literal["auto"] | None,
    wanted: str = "auto",
    device: int | None = None,
    threads: int | None = None,
    ranks: SerialCommunicator | None = None,
    *,
    detect: Callable[[], GpuEnvironment] | None = None,
    opened: Callable[[int], Card] | None = None,
) -> list[BackendChoice]:
    """Choose the backend of a run, or the GPUs that share it; each is made in a thread of its own.

    Args:
        gpus: how many GPUs, "auto" for all there are; None to follow the other options.
        wanted: see `choose`.
        device: see `choose`; not with a number of GPUs.
        threads: see `choose`; not with a number of GPUs.
        ranks: see `choose`; no others with a number of GPUs.
        detect: see `choose`.
        opened: see `choose`.

    Raises:
        DeviceError: they are not there, cannot be used, or something else was asked for too.
    """
    if gpus is None:
        return [choose(wanted, device, threads, ranks, detect=detect, opened=opened)]
    _refuse_besides(gpus, wanted, device, threads, ranks)
    environment = (detect or _detect_and_start_server)()
    open_card = opened or _open
    numbers = able_gpus(environment.gpus)
    problem = next(problems(environment, numbers[0] if numbers else 0), "")
    if problem and (wanted, gpus) == ("auto", "auto"):
        return [_on_processor(None, problem)]
    if problem:
        raise DeviceError(f"gpus: {problem}")
    count = len(numbers) if gpus == "auto" else gpus
    if not 1 <= count <= len(numbers):
        raise DeviceError(f"gpus: {count}; there are {len(numbers)}, choose 1 to {len(numbers)}")
    which = ", ".join(map(str, numbers[:count]))
    note = f"on {environment.gpus[numbers[0]].name} (GPUs {which} of {len(environment.gpus)})"
    return [
        BackendChoice("gpu", note, partial(_taken, open_card, n), count) for n in numbers[:count]
    ]


def _refuse_besides(
    gpus: Any, wanted: str, device: int | None, threads: int | None,
    ranks: SerialCommunicator | None,
) -> None:  # fmt: skip
    """Refuse options that contradict a number of GPUs.

    Raises:
        DeviceError: it was, or that is no number.
    """
    if ranks is not None and ranks.has_others:
        raise DeviceError(
            f"gpus: {gpus} for each of {ranks.count} ranks; leave it out: with --backend gpu each "
            "rank takes a GPU of its own"
        )
    if gpus != "auto" and not isinstance(gpus, int):
        raise DeviceError(f"gpus: {gpus!r}; give a number of GPUs, or 'auto'")
    if wanted == "cpu":
        raise DeviceError(f"gpus: {gpus} with backend cpu; leave one of the two out")
    if device is not None:
        raise DeviceError(f"device: {device} is one GPU, gpus: {gpus}; give one of the two")
    if threads is not None:
        raise DeviceError(_NO_THREADS.format(threads))


def _taken(open_card: Callable[[int], Card], number: int, precision: str) -> Backend:
    return _backend(precision, open_card(number))


def spread(
    ranks: SerialCommunicator,
    devices: Sequence[Device],
    work: Callable[[SerialCommunicator, Device], Outcome],
) -> Outcome:
    """Do work on a rank as it is, with its device, or on a rank for each of several devices."""
    if len(devices) == 1:
        return work(ranks, devices[0])
    from seismo.backends.device_threads import DeviceThreads

    return DeviceThreads(len(devices)).run(lambda member: work(member, devices[member.number]))


def optional_gpu(
    gpus: int | Literal["auto"] | None,
    wanted: str = "auto",
    device: int | None = None,
    threads: int | None = None,
    ranks: SerialCommunicator | None = None,
    *,
    visible: Callable[[], tuple[Gpu, ...]] = visible_gpus,
) -> str:
    """Name a GPU that may be taken and left, as the driver does; "" where there is no choice.

    See `choose_all` for the arguments.
    """
    # Only a run that may go to either machine has a choice.
    several = ranks is not None and ranks.has_others
    is_named = device is not None or threads is not None or gpus not in (None, "auto")
    if wanted != "auto" or is_named or several:
        return ""
    return next((gpu.name for gpu in visible() if is_able(gpu)), "")


def _number(gpus: tuple[Gpu, ...], device: int | None, ranks: SerialCommunicator) -> int:
    """Return the number of the GPU to use: the named, else the first that is new enough."""
    if ranks.has_others:
        return ranks.node_rank % max(1, len(gpus))
    if device is None:
        return next(iter(able_gpus(gpus)), 0)
    if gpus and not 0 <= device < len(gpus):
        listed = ", ".join(f"{n} {gpu.name}" for n, gpu in enumerate(gpus))
        raise DeviceError(f"device: there is no GPU {device}; choose from {listed}")
    return device


def _on_card(environment: GpuEnvironment, number: int, card: Card) -> BackendChoice:
    which = f"GPU {number}" + (f" of {len(environment.gpus)}" if len(environment.gpus) > 1 else "")
    note = f"on {card.name} ({which})"
    return BackendChoice("gpu", note, lambda precision: _backend(precision, card))


def _backend(precision: str, card: Card) -> Backend:
    from seismo.backends.gpu.backend import GpuBackend

    return GpuBackend(precision, card)


def _open(number: int) -> Card:
    """Take a card into use."""
    try:
        from seismo.backends.gpu.card import Card

        return Card(number)
    except (ImportError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DeviceError(f"GPU {number} cannot be used: {reason}") from error


def _detect_and_start_server(number: int | None = None) -> GpuEnvironment:
    """Detect GPUs and their packages; where there is a GPU, start the server of compilers.

    Args:
        number: see `detect`.
    """
    if visible_gpus() and machine.cores() > 1:
        from seismo.backends.gpu.compile_server import compile_server

        compile_server()
    return detect_gpus(True, number)


def _on_processor(threads: int | None, problem: str) -> BackendChoice:
    from seismo.backends.cpu.backend import CpuBackend

    most = machine.most_threads()
    if threads is not None and not 1 <= threads <= most:
        raise DeviceError(f"threads: {threads}; this machine offers 1 to {most}")
    is_forked = has_lost_threads()
    count = 1 if is_forked else threads or machine.threads()
    note = f"on the CPU, {count} thread{'s' * (count > 1)}"
    return BackendChoice(
        "cpu",
        note + (f"; no GPU: {problem}" if problem else ""),
        lambda precision: CpuBackend(precision, threads),
        caution=REMEDY if is_forked and count < (threads or most) else "",
    )


def report(environment: GpuEnvironment, opened: Callable | None = None) -> Iterator[str]:
    """Describe a machine's devices line by line.

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
    """List why GPUs cannot be used, shared reasons once."""
    # What is missing for all GPUs is named once.
    numbers = range(len(environment.gpus) or 1)
    return list(dict.fromkeys(text for n in numbers for text in problems(environment, n)))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))

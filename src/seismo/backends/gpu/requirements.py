"""What a run needs of a GPU, its driver and its packages, and what of it is missing.

Each requirement that is not met is one line with its remedy, in the order in which a user meets
them: driver, card, packages, then package versions against the driver.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from seismo.backends.gpu.detect import Gpu, GpuEnvironment, Version, numbers
from seismo.errors import DeviceError

LEAST_CAPABILITY = (8, 0)  # Ampere and later: what the kernels are tested for
LEAST_DRIVER = (12, 4)
TESTED = {  # from this version on, and before that one; pyproject.toml installs the same
    "numba-cuda": ("0.30.4", "0.31"),
    "cupy": ("14.2", "15"),
    "numpy": ("2.4", "2.5"),
}
_PTX_OF_CUDA_12 = {6: 7, 7: 8, 8: 9}  # PTX 8.6 came with CUDA 12.7, and so on


def problems(environment: GpuEnvironment, number: int) -> Iterator[str]:
    """List why a GPU cannot be used, what comes first first, each with its remedy."""
    # In order of repair: driver, card, packages, then their versions against the driver.
    yield from _driver_problems(environment)
    if not environment.gpus or environment.driver is None:
        return
    if not is_able(environment.gpus[number]):
        yield (
            f"GPU {number} is {environment.gpus[number]}; seismo needs "
            f"{_text(LEAST_CAPABILITY)} (A100, RTX 30 series) or newer"
        )
    yield from _package_problems(environment, extra_for(environment.driver))
    yield from _version_problems(environment, environment.driver)


def extra_for(driver: Version) -> str:
    """Name the extra of the package that goes with a driver."""
    return "gpu" if driver >= (13,) else "gpu-cuda12"


def _driver_problems(environment: GpuEnvironment) -> Iterator[str]:
    if environment.driver is None:
        yield (
            "there is no NVIDIA driver (libcuda.so.1); install 580 or later, in a container "
            "let it see the GPUs"
        )
    elif environment.gpus and environment.driver < LEAST_DRIVER:
        yield (
            f"the NVIDIA driver supports CUDA {_text(environment.driver)}, seismo needs "
            f"{_text(LEAST_DRIVER)}; update the driver to 550 or later, for CUDA 13 to 580"
        )
    elif environment.visible is not None and not environment.gpus:
        yield f"CUDA_VISIBLE_DEVICES={environment.visible!r} shows no GPU; unset it, or name one"
    elif not environment.gpus:
        yield f"the NVIDIA driver finds no GPU: {environment.driver_error or 'none is there'}"


def _package_problems(environment: GpuEnvironment, extra: str) -> Iterator[str]:
    install = f"pip install 'seismo[{extra}]'"
    needed = {"cupy": environment.cupy, "numba-cuda": environment.numba_cuda}
    missing = [name for name, version in needed.items() if not version]
    if missing:
        yield f"{' and '.join(missing)} is not installed; {install}"
        return
    if len(environment.cupy) > 1:
        names = [name for name, _ in environment.cupy]
        yield (
            f"{' and '.join(names)} are in each other's way; "
            f"pip uninstall {' '.join(names)}, then {install}"
        )
    cupy, version = environment.cupy[0]
    for package, tested, installed in (
        ("numba-cuda", "numba-cuda", environment.numba_cuda),
        ("numpy", "numpy", environment.numpy),
        (cupy, "cupy", version),
    ):
        if not _within(installed or "", *TESTED[tested]):
            least, below = TESTED[tested]
            yield (
                f"{package} {installed} is not one that works here ({least} up to, not including, "
                f"{below}); pip install '{package}>={least},<{below}'"
            )
    if environment.cupy_error:
        yield f"{cupy} cannot be imported ({environment.cupy_error}); {install}"
    if environment.nvvm_error:
        yield f"numba-cuda finds no working NVVM ({environment.nvvm_error}); {install}"


def _version_problems(environment: GpuEnvironment, driver: Version) -> Iterator[str]:
    """Compare the driver with the libraries."""
    supported = f"the NVIDIA driver supports CUDA {_text(driver)}"
    # Minor version compatibility: a runtime needs a driver of its major version or later.
    if environment.runtime is not None and environment.runtime[:1] > driver[:1]:
        cupy = environment.cupy[0][0]
        yield (
            f"{supported}, {cupy} brings {_text(environment.runtime)}; update the driver to 580 or "
            f"later, or pip uninstall {cupy}, then pip install 'seismo[{extra_for(driver)}]'"
        )
    # PTX newer than the driver cannot be loaded.
    if environment.ptx is not None and cuda_of(environment.ptx) > driver:
        toolkit = f"pip install 'cuda-toolkit=={_text(driver)}.*'"
        yield (
            f"{supported}, numba-cuda's NVVM writes kernels (PTX {_text(environment.ptx)}) for "
            f"CUDA {_text(cuda_of(environment.ptx))}; {toolkit}, or update the driver"
        )


def cuda_of(ptx: Version) -> Version:
    """Return the CUDA version whose driver reads a version of PTX."""
    # PTX 8.x came with CUDA 12, 9.x with CUDA 13.
    major, minor = ptx[:2]
    return (major + 4, _PTX_OF_CUDA_12.get(minor, minor) if major == 8 else minor)


def _within(version: str, least: str, below: str) -> bool:
    return numbers(least) <= numbers(version) < numbers(below)


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def is_able(gpu: Gpu) -> bool:
    """Whether a GPU is new enough."""
    return gpu.capability >= LEAST_CAPABILITY


def able_gpus(gpus: tuple[Gpu, ...]) -> list[int]:
    """Return the numbers of the GPUs that are new enough."""
    return [n for n, gpu in enumerate(gpus) if is_able(gpu)]


def refuse_without_compiler() -> None:
    """Raise where kernels cannot be compiled, with or without a card.

    Raises:
        DeviceError: the compiler is not installed.
    """
    if importlib.util.find_spec("numba_cuda") is None:
        raise DeviceError("kernels need the compiler of GPUs: pip install 'seismo[gpu]'")

"""GPUs of this machine, their driver and packages, and which of these a run would miss.

All is found out without starting anything on a GPU. The driver is asked through its C library, so
that nothing has to be installed to learn that there is no GPU; packages are examined only where
there is a GPU. `NVVM` is the compiler that turns kernels into PTX, the instructions that the driver
translates for the card.

Each requirement that is not met is a line with its remedy (`problems`), in the order in which a
user meets them: driver, card, packages, then package versions against the driver.

The management library (NVML) tells how busy, full and hot a card is, and the power it draws, by
other programs too. Where its Python package (nvidia-ml-py) or an answer is missing, so is the
number: a run does not depend on any of them.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from itertools import combinations
from pathlib import Path
from typing import Any

from seismo.backends.kernel_cache import cache_file_name, kernel_cache
from seismo.errors import DeviceError

Version = tuple[int, ...]

_NVVM_PACKAGES = (
    "numba-cuda", "cuda-pathfinder", "nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12",
    "nvidia-nvvm-cu12",
)  # fmt: skip
_NVVM_FOLDERS = ("CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX")
CUPY_PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy")
# Attributes of a device as CUdevice_attribute numbers them: the compute capability.
_MAJOR = 75
_MINOR = 76
_ATOMICS = 3  # an attribute of a pair of GPUs: between NVLink's ends only
_DRIVER_FILE = Path("/proc/driver/nvidia/version")
_SMALLEST_KERNEL = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "{layout}"
define void @nothing() {{ ret void }}
!nvvm.annotations = !{{!0}}
!0 = !{{void ()* @nothing, !"kernel", i32 1}}
!nvvmir.version = !{{!1}}
!1 = !{{i32 {ir[0]}, i32 {ir[1]}, i32 {ir[2]}, i32 {ir[3]}}}
"""


@dataclass(frozen=True)
class Gpu:
    """One GPU: its name, compute capability and memory."""

    name: str
    capability: tuple[int, int]
    memory: int = 0  # bytes

    def __str__(self) -> str:
        """Name it with its capability."""
        return f"{self.name} (compute capability {'.'.join(map(str, self.capability))})"


@dataclass(frozen=True)
class DeviceLink:
    """Two GPUs by their numbers: whether they reach each other's memory, and that by NVLink."""

    first: int
    second: int
    peers: bool
    nvlink: bool

    def __str__(self) -> str:
        """Describe the path of data between them."""
        way = (
            "over NVLink" if self.nvlink else "directly, over PCIe" if self.peers else "by the host"
        )
        return f"GPU {self.first} - GPU {self.second}: {way}"


@dataclass(frozen=True)
class GpuEnvironment:
    """What there is; versions are None, and texts empty, where there is nothing.

    Attributes:
        driver: CUDA version that the driver supports.
        gpus: the GPUs that this process may use, in CUDA's order.
        driver_error: the driver's message in place of its GPUs.
        visible: the variable CUDA_VISIBLE_DEVICES, None where it is not set.
        numpy: version of NumPy.
        numba_cuda: version of numba-cuda.
        cupy: the CuPy packages that are installed, and their versions.
        cupy_error: why CuPy cannot be imported.
        runtime: CUDA version of CuPy's libraries.
        nvvm_error: why NVVM cannot compile.
        ptx: version of the PTX that NVVM writes.
        links: between the GPUs.
    """

    driver: Version | None = None
    gpus: tuple[Gpu, ...] = ()
    driver_error: str = ""
    visible: str | None = None
    numpy: str | None = None
    numba_cuda: str | None = None
    cupy: tuple[tuple[str, str], ...] = ()
    cupy_error: str = ""
    runtime: Version | None = None
    nvvm_error: str = ""
    ptx: Version | None = None
    links: tuple[DeviceLink, ...] = ()


def numbers(version: str) -> Version:
    """Return the leading numbers of a version: (14, 2, 0) for "14.2.0rc1"."""
    # Leading digits of each dotted field, up to the first field without any.
    leading: list[int] = []
    for field in version.split("."):
        digits = field[: len(field) - len(field.lstrip("0123456789"))]
        if not digits:
            break
        leading.append(int(digits))
    return tuple(leading)


def cuda_version(number: int) -> str:
    """Write a version as CUDA counts it, 13020, for people: 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}"


def detect(kept: bool = False, number: int | None = None) -> GpuEnvironment:
    """Find out what there is; without a GPU, no package is imported.

    Args:
        kept: whether it is enough that NVVM of these packages compiled in an earlier process.
        number: of the GPU that is to be used, whose context is made meanwhile.
    """
    driver, gpus, driver_error, links = _query_driver()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not gpus:
        return GpuEnvironment(driver, gpus, driver_error, visible)
    cupy = tuple((name, v) for name in CUPY_PACKAGES if (v := _installed(name)) is not None)
    numba_cuda = _installed("numba-cuda")
    if number is not None and cupy and numba_cuda:
        _make_context(number)
    runtime, cupy_error = _import_cupy() if cupy else (None, "")
    nvvm = _kept_nvvm if kept else _try_nvvm
    ptx, nvvm_error = nvvm() if numba_cuda else (None, "")
    return GpuEnvironment(
        driver, gpus, driver_error, visible, _installed("numpy"), numba_cuda, cupy, cupy_error,
        runtime, nvvm_error, ptx, links,
    )  # fmt: skip


def visible_gpus() -> tuple[Gpu, ...]:
    """List the GPUs that the driver shows to this process; no package is imported."""
    return _query_driver()[1]


def has_driver() -> bool:
    """Whether a driver is loaded that may show a GPU, without asking it, which takes 0.1 s."""
    return _DRIVER_FILE.exists() and os.environ.get("CUDA_VISIBLE_DEVICES") != ""


def driver_release() -> str | None:
    """Return the driver's own version, such as 580.95.05, None where nothing tells."""
    try:
        words = _DRIVER_FILE.read_text(encoding="utf-8").split("\n", 1)[0].split()
    except OSError:
        return None
    return next((word for word in words if len(numbers(word)) > 1), None)


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@cache
def _query_driver() -> tuple[Version | None, tuple[Gpu, ...], str, tuple[DeviceLink, ...]]:
    """Return the driver's CUDA version, its GPUs, its error message, and the GPUs' links."""
    try:
        # The driver API by ctypes: no package is needed to learn that there is no GPU.
        driver = ctypes.CDLL("libcuda.so.1")
        version = ctypes.c_int()
        count = ctypes.c_int()
        driver.cuDriverGetVersion(ctypes.byref(version))
        status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
        gpus = tuple(_gpu(driver, n) for n in range(0 if status else count.value))
        driver_error = _error_text(driver, status) if status else ""
        links = tuple(_link(driver, *pair) for pair in combinations(range(len(gpus)), 2))
    except (OSError, AttributeError):
        return None, (), "", ()
    return numbers(cuda_version(version.value)), gpus, driver_error, links


def _gpu(driver: Any, number: int) -> Gpu:
    device = ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, len(name), device)
    capability = [ctypes.c_int(), ctypes.c_int()]
    for value, attribute in zip(capability, (_MAJOR, _MINOR), strict=True):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
    memory = ctypes.c_size_t()
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    major, minor = (value.value for value in capability)
    return Gpu(name.value.decode(errors="replace"), (major, minor), memory.value)


def _link(driver: Any, first: int, second: int) -> DeviceLink:
    # A pair of devices: peer access by PCIe or NVLink.
    devices = [ctypes.c_int(), ctypes.c_int()]
    for number, device in zip((first, second), devices, strict=True):
        driver.cuDeviceGet(ctypes.byref(device), number)
    # P2P attribute 3: native atomics, which only NVLink has.
    peers = ctypes.c_int()
    atomics = ctypes.c_int()
    driver.cuDeviceCanAccessPeer(ctypes.byref(peers), *devices)
    driver.cuDeviceGetP2PAttribute(ctypes.byref(atomics), _ATOMICS, *devices)
    return DeviceLink(first, second, bool(peers.value), bool(atomics.value))


def _error_text(driver: Any, status: int) -> str:
    text = ctypes.c_char_p()
    driver.cuGetErrorString(status, ctypes.byref(text))
    return f"{(text.value or b'unknown error').decode()} ({status})"


def _make_context(number: int) -> None:
    """Let the driver make the context of a GPU, 0.13 s in which CuPy, which takes it, is imported.

    Where that cannot be, CuPy tries again, and says why.
    """

    def make() -> None:
        # The CUDA runtime works in the primary context of a device; it is never released
        # and stays until the process ends. ctypes lets other threads run meanwhile.
        driver = ctypes.CDLL("libcuda.so.1")
        device = ctypes.c_int()
        context = ctypes.c_void_p()
        driver.cuDeviceGet(ctypes.byref(device), number)
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)

    threading.Thread(target=make, daemon=True).start()


def _import_cupy() -> tuple[Version | None, str]:
    try:
        import cupy

        version = cupy.cuda.runtime.runtimeGetVersion()
    except Exception as error:
        return None, _first_line(error)
    return numbers(cuda_version(version)), ""


def _kept_nvvm() -> tuple[Version | None, str]:
    """Return which PTX NVVM writes; where it was never tried, try it (0.6 s of imports)."""
    # What decides which library numba-cuda loads: packages first, then folders by these variables.
    packages = [str(_installed(name)) for name in _NVVM_PACKAGES]
    folders = [os.environ.get(name, "") for name in _NVVM_FOLDERS]
    name = cache_file_name("\n".join(("NVVM", sys.prefix, *packages, *folders)), "txt")
    # Next to the kernels that it has compiled, which would be gone with it.
    if (known := kernel_cache().load(name)) is not None:
        return numbers(known.decode()), ""
    ptx, nvvm_error = _try_nvvm()
    # An error is not kept: it may be mended by other means.
    if ptx and not nvvm_error:
        kernel_cache().store(name, ".".join(map(str, ptx)).encode())
    return ptx, nvvm_error


def _try_nvvm() -> tuple[Version | None, str]:
    """Compile a kernel that does nothing, and read which PTX came out."""
    try:
        from numba.cuda.cudadrv import nvvm

        # The smallest program that NVVM accepts; its .version line tells the PTX it writes.
        compiler = nvvm.NVVM()
        text = _SMALLEST_KERNEL.format(
            layout=compiler.data_layout, ir=compiler.get_ir_version()
        )  # fmt: skip
        unit = nvvm.CompilationUnit({"arch": "compute_80"})
        unit.add_module(text.encode())
        lines = unit.compile().decode().splitlines()
    except Exception as error:
        return None, _first_line(error)
    version = next((line.split()[1] for line in lines if line.startswith(".version")), "")
    return numbers(version), ""


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return " ".join(text.splitlines()[0].split())


def _answers(nvml: Any, handle: Any) -> dict[str, Callable[[], float]]:
    """List the quantities that NVML knows of a card."""
    return {
        "utilisation": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
        "memory": lambda: float(nvml.nvmlDeviceGetMemoryInfo(handle).used),
        "power": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        "temperature": lambda: float(
            nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
        ),
    }


def health_of(bus: str, nvml: Any = None) -> Callable[[], dict[str, float]]:
    """Make the function that asks how the card on a PCI bus is.

    Args:
        bus: its address, such as 0000:1B:00.0.
        nvml: the library; the installed library when None.
    """
    try:
        nvml = nvml or import_module("pynvml")
        nvml.nvmlInit()
        queries = _answers(nvml, nvml.nvmlDeviceGetHandleByPciBusId(bus))
    except Exception:  # whatever is wrong with it, the run goes on
        return dict

    def health() -> dict[str, float]:
        # An answer may fail now and then (a busy card): leave that number out.
        answers = {}
        for name, ask in queries.items():
            try:
                answers[name] = ask()
            except nvml.NVMLError:
                continue
        return answers

    return health


LEAST_CAPABILITY = (8, 0)  # Ampere and later, for which the kernels are tested
LEAST_DRIVER = (12, 4)
TESTED = {  # from the first version on, before the second; pyproject.toml has the same
    "numba-cuda": ("0.30.4", "0.31"),
    "cupy": ("14.2", "15"),
    "numpy": ("2.4", "2.5"),
}
_PTX_OF_CUDA_12 = {6: 7, 7: 8, 8: 9}  # PTX 8.6 came with CUDA 12.7, and so on


def problems(environment: GpuEnvironment, number: int) -> Iterator[str]:
    """List why a GPU cannot be used, in order of remedy, each with its remedy."""
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

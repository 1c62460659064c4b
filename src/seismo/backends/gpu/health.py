"""How a card is, as its management library (NVML) tells: busy, full, hot, and what it draws.

NVML sees a card that other programs use too. Where its Python package (nvidia-ml-py) or an answer
is missing, so is the number: a run does not depend on any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def _answers(nvml: Any, handle: Any) -> dict[str, Callable[[], float]]:
    """Name what can be asked of the card that NVML knows by a handle."""
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
        nvml: the library, the one that is installed when None.
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

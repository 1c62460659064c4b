"""Finite-difference simulation of seismic waves from one YAML file.

The names here are imported when they are first used, so that ``import seismo`` costs nothing::

    scenario = seismo.load("scenario.yaml")
    results = seismo.run(scenario)              # or seismo.open_results("scenario.h5")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seismo.errors import SeismoError
    from seismo.output.results import Results, open_results
    from seismo.runner import run
    from seismo.scenario import Scenario, load

    __version__: str

__all__ = ["Results", "Scenario", "SeismoError", "__version__", "load", "open_results", "run"]
_HOMES = {
    "Results": "seismo.output.results",
    "Scenario": "seismo.scenario",
    "SeismoError": "seismo.errors",
    "load": "seismo.scenario",
    "open_results": "seismo.output.results",
    "run": "seismo.runner",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'seismo' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("seismo")
    except metadata.PackageNotFoundError:
        return "unknown"

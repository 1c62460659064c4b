"""Finite-difference simulation of seismic waves from one YAML file.

The names here are imported when they are first used, so that ``import seismo`` costs nothing::

    scenario = seismo.load("scenario.yaml")
    seismo.preview(scenario).plot("model")      # what it is, drawn
    print(seismo.check(scenario))               # a plan; its `warnings` are those of a run
    results = seismo.run(scenario)              # or seismo.open_results("scenario.h5")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seismo.errors import ScenarioError, ScenarioWarning, SeismoError
    from seismo.inversion.misfits import misfit
    from seismo.inversion.propagator import Propagator
    from seismo.output.results import Results, open_results
    from seismo.runs.check.plan import check
    from seismo.runs.preview import preview
    from seismo.runs.run import run
    from seismo.scenario import Scenario, load

    __version__: str

__all__ = [
    "Propagator", "Results", "Scenario", "ScenarioError", "ScenarioWarning", "SeismoError",
    "__version__", "check", "load", "misfit", "open_ensemble", "open_results", "preview", "run",
]  # fmt: skip
_HOMES = {
    "Propagator": "seismo.inversion.propagator",
    "Results": "seismo.output.results",
    "Scenario": "seismo.scenario",
    "ScenarioError": "seismo.errors",
    "ScenarioWarning": "seismo.errors",
    "SeismoError": "seismo.errors",
    "check": "seismo.runs.check.plan",
    "load": "seismo.scenario",
    "misfit": "seismo.inversion.misfits",
    "open_ensemble": "seismo.features.ensembles.results",
    "open_results": "seismo.output.results",
    "preview": "seismo.runs.preview",
    "run": "seismo.runs.run",
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
    return sorted(__all__)


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("seismo")
    except metadata.PackageNotFoundError:
        return "unknown"

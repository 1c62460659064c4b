"""Features of seismo, a folder each, and the hooks by which they act in the core.

The core imports no feature. Where features can act it asks for a hook by name, and each feature
that has a function for it is called, in the order of `ORDER`::

    for report in acting("reports", scenario):
        lines += report(discretization)

A feature declares its hooks in its folder's ``__init__.py``, and imports nothing of itself there::

    FEATURE = Feature(
        "topography", applies=lambda scenario: scenario.topography is not None,
        reports="checks.report:lines",
    )

What ``module:name`` refers to, counted from the folder, is imported when it is first used. A hook
takes and returns plain objects, of types that the module of the core defines which calls it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

# Features that are no part of seismo, behind all others: folders that hold theirs, as in `PATH`.
ELSEWHERE = list(filter(None, os.environ.get("SEISMO_FEATURES", "").split(os.pathsep)))
__path__ += ELSEWHERE

# In the order in which they act; of two that interact the dependent comes later.
ORDER = (
    "chosen_grids",
    "slow_waves",
    "faults",
    "plane_waves",
    "wavefield_boxes",
    "long_steps",
    "contacts",
    "growing_rows",
    "loss",
    "half_precision",
    "topography",
    "refinement",
    "guided_waves",
    "ensembles",
)


class Feature:
    """The declaration of a feature: its folder, when it applies, and its function for each hook."""

    def __init__(
        self, name: str, applies: Callable[[Any], bool] = lambda scenario: True, **hooks: str
    ) -> None:
        """Declare a feature.

        Args:
            name: of its folder.
            applies: function(scenario) -> whether a scenario may use it; all may by default.
            hooks: ``module:name`` in the folder, by hook.
        """
        self.name = name
        self.applies = applies
        self.hooks = hooks

    def __getitem__(self, hook: str) -> Any:
        """Return the function, or the object, for a hook."""
        module, _, name = self.hooks[hook].partition(":")
        return getattr(import_module(f"{__name__}.{self.name}.{module}"), name)


@cache
def features() -> tuple[Feature, ...]:
    """Return all features in order.

    Raises:
        ImportError: a folder of `SEISMO_FEATURES` holds no feature, or a feature without a
            declaration.
    """
    others: list[str] = []
    for folder in ELSEWHERE:
        names = sorted(module.name for module in iter_modules([folder]) if module.ispkg)
        if not names:
            raise ImportError(f"{folder} holds no folder of a feature; see SEISMO_FEATURES")
        for name in names:
            if name in (*ORDER, *others):
                raise ImportError(f"{folder}: feature {name} is there twice")
            others.append(name)
    modules = [import_module(f"{__name__}.{name}") for name in (*ORDER, *sorted(others))]
    for module in modules:
        if not hasattr(module, "FEATURE"):
            raise ImportError(f"{module.__file__} declares no FEATURE")
    return tuple(module.FEATURE for module in modules)


def giving(hook: str) -> list[Feature]:
    """Return the features, in order, that have something for a hook, whether they apply or not."""
    return [feature for feature in features() if hook in feature.hooks]


def acting(hook: str, scenario: object) -> list[Any]:
    """Return the hooks of a name of all features that apply to a scenario, in order."""
    return [feature[hook] for feature in giving(hook) if feature.applies(scenario)]

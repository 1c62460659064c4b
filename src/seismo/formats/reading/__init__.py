"""Reading of files from outside with suspicion, and the optional packages that it takes."""

from __future__ import annotations

import importlib
from typing import Any

from seismo.errors import ScenarioError


def optional_package(module: str, extra: str, purpose: str) -> Any:
    """Return an imported module.

    Args:
        module: such as obspy.core.inventory.
        extra: of seismo that installs its package.
        purpose: its use, for the message.

    Raises:
        ScenarioError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ScenarioError(
            f"{purpose} needs the package {package}; run `pip install 'seismo[{extra}]'`"
        ) from None

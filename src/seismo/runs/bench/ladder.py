"""The way to the ladder of optimisations, which stands in `benchmarks/ladder` of the sources.

Its other sides are code to read and to learn from, slow on purpose, and no part of what is
installed: the ladder needs the sources, in the current folder or where seismo is run from them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError


def find() -> Any:
    """Return the ladder's module that measures and reports (`ladder.report`).

    Raises:
        ScenarioError: the sources are not here.
    """
    for root in (Path.cwd(), Path(__file__).resolve().parents[4]):
        if (root / "benchmarks" / "ladder" / "report.py").is_file():
            sys.path.insert(0, str(root / "benchmarks"))
            return import_module("ladder.report")
    raise ScenarioError(
        "bench --ladder: needs benchmarks/ladder of seismo's sources; run it in their folder"
    )

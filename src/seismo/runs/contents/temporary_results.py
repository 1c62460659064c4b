"""Results in a temporary file, which lives as long as the object that reads it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

from seismo.output.results import Results, open_results


def temporary_results(name: str, write: Callable[[Path], None]) -> Results:
    """Return what a function writes to a temporary file of a name; what fails leaves nothing."""
    folder = tempfile.mkdtemp(prefix="seismo-")
    path = Path(folder) / name
    try:
        write(path)
        results = open_results(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results

"""Adds the page `scenario.md` when mkdocs builds the site, from the models that check a scenario.

A reference written by hand drifts; nothing of this page is written by hand.
"""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File

from seismo.scenario.reference import reference


def on_files(files: Any, config: Any) -> Any:
    """Add the generated page to the site's files (the hook that mkdocs calls)."""
    files.append(File.generated(config, "scenario.md", content=reference()))
    return files

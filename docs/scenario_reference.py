"""Fills the page `scenario.md` when mkdocs builds the site, from the models that check a scenario.

A reference written by hand drifts; nothing of this page is written by hand. In the repository the
page says how to print it.
"""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File

from seismo.scenario.reference import reference


def on_files(files: Any, config: Any) -> Any:
    """Put the generated page among the site's files (the hook that mkdocs calls)."""
    files.remove(files.get_file_from_path("scenario.md"))
    files.append(File.generated(config, "scenario.md", content=reference()))
    return files

"""Progress of a run in a notebook: a bar in the output of its cell."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

from seismo.runs.reporting.progress import (
    Progress,
    Reporter,
    label,
)


def in_notebook() -> bool:
    """Whether the caller is a cell of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


class NotebookBar:
    """A progress bar of HTML that is replaced by each report."""

    def __init__(self) -> None:
        """Prepare it; nothing shows before the first report."""
        self._shown: Any = None

    def __call__(self, progress: Progress) -> None:
        """Show where the run is."""
        from IPython.display import HTML, display

        share = 1.0 if progress.phase == "done" else progress.fraction
        page = HTML(
            f'<progress value="{share:.4f}" max="1"></progress> '
            f"<code>{escape(label(progress))}</code>"
        )
        if self._shown is None:
            self._shown = display(page, display_id=True)
        else:
            self._shown.update(page)


def notebook_bar() -> Reporter | None:
    """Return a bar where there is a notebook to show it, else None."""
    return NotebookBar() if in_notebook() else None

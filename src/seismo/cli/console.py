"""The console that tables are printed to."""

from __future__ import annotations

import os
import sys

from rich.console import Console

WIDE = 160  # columns of a table that goes to a file or another program


def table_console() -> Console:
    """Return the console of standard output, wide where no terminal or COLUMNS sets its width.

    Rich would cut tables to 80 columns there.
    """
    is_set = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if is_set else WIDE)

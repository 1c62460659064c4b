"""Tables of results on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table


def print_table(
    console: Console, title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    """Print cells under headings."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    console.print(table)

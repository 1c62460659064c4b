"""The command that lists and copies what seismo brings along to start from."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from seismo.cli.arguments import ForceOption


def examples(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A file, such as quickstart, or all of a kind: scenarios, configs, scripts, "
            "notebooks, ladder [default: list them].",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to copy to; it is made.")
    ] = Path(),
    force: ForceOption = False,
) -> None:
    """List scenarios, machine profiles, scripts, notebooks and the ladder, or copy them."""
    from seismo import examples as shipped

    if name is not None:
        for path in shipped.copy_examples(name, folder, force):
            print(path)
        return
    for kind, members in groupby(shipped.examples(), key=lambda example: example.kind):
        print(kind)
        # The ladder is one program, of no use in parts; its first file says what it is.
        for example in [next(members)] if kind == "ladder" else members:
            name = "ladder" if kind == "ladder" else example.name
            print(f"  {name:<30}{example.summary}".rstrip())
    print("copy one with `seismo examples NAME`, all of a kind with `seismo examples scenarios`")

"""`python -m seismo` is the command line."""

from __future__ import annotations

from seismo.cli import main

main()

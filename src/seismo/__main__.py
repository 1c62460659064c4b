"""`python -m seismo` is the command line."""

from __future__ import annotations

import seismo.cli

seismo.cli.main()

"""The wave equations, declared in folders by family.

A wave equation is a table (fields, stages, coefficients) plus point formulas written on the
operators of `seismo.backends.operators.cell`. Nothing else in seismo knows an equation.
"""

from __future__ import annotations

import os

__path__ += filter(None, os.environ.get("SEISMO_EQUATIONS", "").split(os.pathsep))  # see `registry`

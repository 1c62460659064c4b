"""The wave equations, in folders of those that are alike, which declare all that they are.

A wave equation is a table (fields, stages, coefficients) plus point formulas written on the
operators of `seismo.backends.operators.cell`. Nothing else in seismo knows an equation.
"""

from __future__ import annotations

import os

__path__ += filter(None, os.environ.get("SEISMO_EQUATIONS", "").split(os.pathsep))  # see `registry`

"""The wave equations, one folder or file each, and the table that names them.

A wave equation is a table (fields, stages, coefficients) plus point formulas written on the
operators of `seismo.backends.operators.derivatives`. Nothing else in seismo knows an equation.
"""

from __future__ import annotations

from seismo.equations.registry import physics_for

__all__ = ["physics_for"]

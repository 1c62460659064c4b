"""A kernel for each component: nine sweeps of the elastic equations instead of two.

What is wrong: each kernel reads again what the one before has read. The three velocities share the
density and three of six stresses; the normal stresses share all three velocities and both
stiffnesses, and compute the same divergence three times. Between two kernels everything goes out to
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ladder.stand import Call


def _velocity(cell: Any, a: str) -> None:
    mass = cell["rho"] + cell.next("rho", a)
    force = cell.sum(cell.d(b, f"s{min(a, b)}{max(a, b)}") for b in "xyz")
    cell.put(f"v{a}", cell[f"v{a}"] + 2.0 / mass * force)


def _vx(cell: Any) -> None:
    _velocity(cell, "x")


def _vy(cell: Any) -> None:
    _velocity(cell, "y")


def _vz(cell: Any) -> None:
    _velocity(cell, "z")


def _normal(cell: Any, a: str) -> None:
    """Update a normal stress: what all strains make, less what shear leaves of those across."""
    strain = {b: cell.d(b, f"v{b}") for b in "xyz"}
    across = cell.sum(strain[b] for b in "xyz" if b != a)
    change = cell["c11"] * cell.sum(strain.values()) - 2.0 / cell["q"] * across
    cell.put(f"s{a}{a}", cell[f"s{a}{a}"] + change)


def _sxx(cell: Any) -> None:
    _normal(cell, "x")


def _syy(cell: Any) -> None:
    _normal(cell, "y")


def _szz(cell: Any) -> None:
    _normal(cell, "z")


def _shear(cell: Any, a: str, b: str) -> None:
    total = cell["q"] + cell.next("q", a) + cell.next("q", b) + cell.next("q", a + b)
    strain = cell.d(b, f"v{a}") + cell.d(a, f"v{b}")
    cell.put(f"s{a}{b}", cell[f"s{a}{b}"] + 4.0 / total * strain)


def _sxy(cell: Any) -> None:
    _shear(cell, "x", "y")


def _sxz(cell: Any) -> None:
    _shear(cell, "x", "z")


def _syz(cell: Any) -> None:
    _shear(cell, "y", "z")


FORMULAS: dict[int, tuple[Callable, ...]] = {
    3: (_vx, _vy, _vz),
    6: (_sxx, _syy, _szz, _sxy, _sxz, _syz),
}


def bind(backend: Any, call: Call) -> list:
    """Bind a sweep for each field that the product's sweep writes."""
    formulas = FORMULAS[len(call.operands.writes)]
    return [
        launch
        for number, formula in enumerate(formulas)
        for launch in call.writing(number, formula).bind(backend)
    ]

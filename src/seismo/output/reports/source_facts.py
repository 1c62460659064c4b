"""Depths and sizes of sources in words, for `seismo check`, `seismo info` and figures.

A row has z and depth below the ground in m, and of a moment its scalar moment in N m (in 2-D N m
per metre) and, in 3-D, its magnitude; of what a source lacks it has no key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_SOURCES = 12  # that are described each


def described(row: Mapping[str, Any]) -> str:
    """Format z, depth below the ground, moment and magnitude of a source; "" of none."""
    return ranged([row])


def ranged(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format z, depths, moments and magnitudes of sources, from least to most."""
    texts = []
    if z := _range(rows, "z"):
        texts.append(f"z = {z} m")
    if depth := _range(rows, "depth"):
        texts.append(f"{depth} m below the ground")
    if moment := _range(rows, "scalar_moment", "{:.4g}"):
        unit = "N m" if any("magnitude" in row for row in rows) else "N m per metre"
        magnitude = _range(rows, "magnitude", "{:.2f}")
        texts.append(f"M0 {moment} {unit}" + f" (Mw {magnitude})" * bool(magnitude))
    return ", ".join(texts)


def source_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each of a few sources; of more for the largest and for all together."""
    named = [row for row in rows if described(row)]
    if len(named) <= MOST_SOURCES:
        yield from (f"{row['name']}: {described(row)}" for row in named)
        return
    sizes = [row.get("scalar_moment", 0.0) for row in named]
    if any(sizes):
        largest = named[sizes.index(max(sizes))]
        yield f"{largest['name']}, the largest: {described(largest)}"
    yield f"all {len(named)}: {ranged(named)}"


def _range(rows: Sequence[Mapping[str, Any]], name: str, form: str = "{:.6g}") -> str:
    """Format the least and the largest number of a column; "" where no row has it."""
    column = [float(row[name]) for row in rows if name in row]
    if name in ("z", "depth"):  # to a millimetre: 0 is no -3e-11
        column = [round(length, 3) + 0.0 for length in column]
    if not column:
        return ""
    return " to ".join(dict.fromkeys(form.format(end) for end in (min(column), max(column))))

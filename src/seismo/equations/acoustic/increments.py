"""Acoustic waves as the pressure and its increment, the same scheme for fields of 16 bits.

With w(n) = p(n) - p(n-1) the leapfrog of `seismo.equations.acoustic` reads::

    w(n+1) = w(n) + c^2 dt^2 (xx + yy + zz),    p(n+1) = p(n) + w(n+1)

Kept in few bits, p(n) - p(n-1) would be the small difference of two rounded numbers: an error e of
one step would go on as n e. The increment has bits of its own, and an error of p stays as it is.
`p_old` is where p(n+1) is written, for p(n) is read beside it by then; its values are not read.
"""

from __future__ import annotations

from dataclasses import replace

from seismo.equations.framework.table import (
    Field,
    Physics,
    SourceTerm,
    Stage,
)


def pressure(cell):
    """Increment w += c^2 dt^2 (xx + yy + zz), and p(n+1) = p(n) + w over p(n-1)."""
    laplacian = cell.sum(cell.dd(a, "p") for a in cell.axes)
    w = cell["w"] + cell["k"] * laplacian
    cell.put("w", w)
    cell.put("p_old", cell["p"] + w)


def in_increments(physics: Physics) -> Physics:
    """Return the table of acoustic waves with p and w in place of two pressures."""
    flux, _ = physics.stages
    # What a source adds to p(n+1) is part of the increment, too.
    drives = {
        kind: (*terms, *(_of_increment(term) for term in terms))
        for kind, terms in physics.drives.items()
    }
    stage = Stage("pressure", ("w", "p_old"), ("p",), ("k",), pressure, shares=flux.name)
    return replace(
        physics,
        fields=(*physics.fields, Field("w", "", "Pa", remembers=True)),
        stages=(flux, stage),
        drives=drives,
        in_increments=None,
    )


def _of_increment(term: SourceTerm) -> SourceTerm:
    return replace(term, field="w")

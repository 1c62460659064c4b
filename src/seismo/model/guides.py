"""Whether an earth may guide waves along its absorbing faces that grow in perfectly matched layers.

In a bed between stiffer ones, or in a stiff plate over a softer one, some waves carry their energy
against their phase (Lamb 1904; Tolstoy & Usdin 1957); along a layer these are not absorbed but
amplified (Becache, Fauqueux & Joly 2003; Skelton, Adams & Craster 2007). Where the stiffness only
rises with depth and hardly varies sideways, none was found. So the shear modulus is looked at where
it runs into a layer: down every face across x or y, and along all faces.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from seismo.grid import AXES, Grid
from seismo.model import column
from seismo.model.cells import tensor
from seismo.model.earth import Earth

INVERSION = 2.0  # times as stiff as what lies below it (up to 3 grew nowhere)
ENCLOSED = 2.0  # times as stiff, or as soft, as what lies on either side
_PER_CELL = 8  # samples down a cell where the earth varies sideways: beds may be thinner


def may_guide(earth: Earth, grid: Grid) -> bool:
    """Whether the shear modulus is enclosed along an absorbing face; not without shear."""
    if not {"vs", "rho"} <= set(earth.needs):
        return False
    inner = grid.extent
    nodes = {
        axis: grid.coordinate(axis, np.arange(first, last))
        for axis, first, last in zip(AXES, inner.lo, inner.hi, strict=True)
        if axis in grid.axes
    }
    top, bottom = grid.limits("z")
    samples = column.SAMPLES if earth.layered else _PER_CELL
    nodes["z"] = np.linspace(top, bottom, (nodes["z"].size - 1) * samples + 1)
    ends = {a: (grid.low[n], grid.high[n]) for n, a in enumerate(AXES) if a in grid.axes}
    if earth.layered:
        nodes |= {a: nodes[a][:1] for a in nodes if a != "z"}
        ends = {"x": (max(width for a in ends if a != "z" for width in ends[a]), 0)}
    faces = [
        (a, k)
        for a, widths in ends.items()
        for k, width in zip((0, -1), widths, strict=True)
        if width
    ]
    return any(_enclosed(earth, nodes | {a: nodes[a][[k]]}) for a, k in faces)


def _enclosed(earth: Earth, nodes: dict[str, np.ndarray]) -> bool:
    """Whether one face of nodes has stiff above soft, or something between stiffer or softer."""
    samples = earth.sample(*tensor(nodes["z"], nodes.get("y"), nodes["x"]))
    shape = [nodes[a].size for a in "zyx" if a in nodes]
    shear = np.broadcast_to(samples["rho"] * samples["vs"] ** 2, shape)
    stiffest_above = np.maximum.accumulate(shear, 0)
    if (stiffest_above > INVERSION * shear).any():
        return True
    for axis, highest in product(range(1, shear.ndim), (np.maximum, np.minimum)):
        before = highest.accumulate(shear, axis)
        after = np.flip(highest.accumulate(np.flip(shear, axis), axis), axis)
        if highest is np.maximum:
            if (np.minimum(before, after) > ENCLOSED * shear).any():
                return True
        elif (shear > ENCLOSED * np.maximum(before, after)).any():
            return True
    return False

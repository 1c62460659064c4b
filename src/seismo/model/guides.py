"""How much an earth's absorbing faces may guide waves that grow in perfectly matched layers.

In a bed between stiffer ones, in a stiff plate over a softer one, or in soft ground on rock under a
free surface, some waves carry their energy against their phase (Lamb 1904; Tolstoy & Usdin 1957);
along a layer these are not absorbed but amplified (Becache, Fauqueux & Joly 2003; Skelton, Adams &
Craster 2007). So the shear modulus is looked at where it runs into a layer: down every face across
x or y, and along all faces.

How much the fields of the layers have to be damped where it is enclosed (as a share p of d, see
`seismo.solver.cpml`) was measured, at source frequencies low beside what the grid carries, which
asks for most. Waves beside beds stopped growing at a p of 0.005 to 0.015 with moduli of 1:3 to
1:90, and of 0.02 to 0.03 with 1:375. Where the modulus jumps from node to node it takes more. With
a the mean jump of its logarithm over `WINDOW` nodes, noise and blocks of 1:3 to 1:20 stopped at
0.005 (a = 0.96), 0.035 (1.06), 0.03 (1.25), 0.04 (1.77, 2.1) and 0.07 (2.3). In ground of 5 to 22
cells on rock waves grew from 1:1.6 on, most of them from 1:8 on, and stopped at 0.004 (below 1:4),
0.008 (1:5) and 0.01 (to 1:180); in ground of 1 to 5 cells at 0.015 (1:40 to 1:100) and 0.05
(1:170). They grow by an e-fold in 600 steps or more, so that short runs do without, whose layers
reflect less.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from seismo.grid.grid import AXES, Grid
from seismo.model import column
from seismo.model.cells import tensor
from seismo.model.earth import Earth

INVERSION = 2.0  # times as stiff as what lies below it (up to 3 grew nowhere)
ENCLOSED = 2.0  # times as stiff, or as soft, as what lies on either side
WINDOW = 40  # nodes over which jumps are averaged
BESIDE_BEDS, ORDINARY = 0.015, 90.0  # p up to that contrast
PER_DECADE, MOST_CONTRAST = 0.024, 10.0  # what more contrast adds, up to so many times as much
GROUND = 1.3  # contrast of rock below softer ground from which on that counts
LEAST_OF_GROUND, THICK, THIN = 0.005, 0.0015, 0.0003  # the p of it: least, and in contrasts
MOST_OF_GROUND = 0.06
HARMLESS = 3000  # steps in which waves of ground grow by five e-folds at most
SMOOTH, PER_JUMP, MOST = 0.55, 0.07, 0.08  # p = PER_JUMP (a - SMOOTH), at most MOST
_CAPPED = 9.0  # largest jump that counts, as beside a fluid
_PER_CELL = 8  # samples down a cell where the earth varies sideways: beds may be thinner


def damping(earth: Earth, grid: Grid, free_surface: bool, steps: int) -> float:
    """Return the p that ends growth: 0 where no face encloses a modulus, or has soft ground on top.

    Args:
        earth: the earth; nothing grows but P-SV waves.
        grid: the grid, with the widths of its layers.
        free_surface: whether the top is one.
        steps: of the run; waves of soft ground may grow by what is harmless.
    """
    if not {"vp", "vs", "rho"} <= set(earth.needs):
        return 0.0
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
    contrast, rise, jump = 1.0, 1.0, 0.0
    for a, k in faces:
        shear = _shear(earth, nodes | {a: nodes[a][[k]]})
        contrast = max(contrast, _contrast(shear))
        rise = max(rise, _rise(shear) if free_surface else 1.0)
        jump = max(jump, _jump(shear[::samples]))
    found = [0.0]
    if rise > GROUND:
        thick, thin = min(THICK * rise, BESIDE_BEDS), min(THIN * rise, MOST_OF_GROUND)
        found.append(max(LEAST_OF_GROUND, thick, thin) * max(0.0, 1.0 - HARMLESS / steps))
    if contrast > 1.0:
        more = np.clip(contrast / ORDINARY, 1.0, MOST_CONTRAST)
        found.append(BESIDE_BEDS + PER_DECADE * np.log10(more))
    if max(found) > 0.0:
        found.append(min(MOST, PER_JUMP * (jump - SMOOTH)))
    return float(max(found))


def _shear(earth: Earth, nodes: dict[str, np.ndarray]) -> np.ndarray:
    """Return the shear modulus of a face (z, [y,] x) [Pa]."""
    samples = earth.sample(*tensor(nodes["z"], nodes.get("y"), nodes["x"]))
    shape = [nodes[a].size for a in "zyx" if a in nodes]
    return np.broadcast_to(samples["rho"] * samples["vs"] ** 2, shape)


def _jump(shear: np.ndarray) -> float:
    """Return the mean jump of its logarithm from node to node, the largest of all windows."""
    largest = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        jumps_along = [np.abs(np.diff(np.log(shear), axis=axis)) for axis in range(shear.ndim)]
    for axis, jumps in enumerate(jumps_along):
        jumps = np.moveaxis(np.nan_to_num(jumps).clip(max=_CAPPED), axis, 0)  # two fluids: none
        for first in range(0, max(1, len(jumps) - WINDOW // 2), WINDOW // 2):
            window = jumps[first : first + WINDOW]
            largest = max(largest, float(window.mean(0).max())) if window.size else largest
    return largest


def _rise(shear: np.ndarray) -> float:
    """Return how many times as stiff a face is below as anything solid above."""
    softest = np.minimum.accumulate(np.where(shear > 0.0, shear, np.inf), 0)
    return float((shear / softest).max())


def _contrast(shear: np.ndarray) -> float:
    """Return by how much a face has stiff above soft, or something between stiffer or softer.

    1 where no modulus is `INVERSION` or `ENCLOSED` times as large.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [(np.maximum.accumulate(shear, 0) / shear, INVERSION)]
        for axis, highest in product(range(1, shear.ndim), (np.maximum, np.minimum)):
            before = highest.accumulate(shear, axis)
            after = np.flip(highest.accumulate(np.flip(shear, axis), axis), axis)
            if highest is np.maximum:
                found.append((np.minimum(before, after) / shear, ENCLOSED))
            else:
                found.append((shear / np.maximum(before, after), ENCLOSED))
    # Two fluids: none.
    largest = [(float(np.nan_to_num(ratio, nan=1.0).max()), least) for ratio, least in found]
    return max((ratio for ratio, least in largest if ratio > least), default=1.0)

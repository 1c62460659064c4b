"""Errors by bodies thinner than a cell, or smaller, in an earth that varies sideways.

The averages of cells have all of its compliance, but the differences across a soft cell strain it
by more than waves do. With d the thickness of a sheet, r the ratio of moduli and k the wavenumber
of waves beside it, it scatters x / (1 + x^2)^(1/2) of them, x = k d (r - 1) / 2. Of that 0.25 is
wrong, on any grid on which the sheet has fewer than two cells: level, upright and dipping sheets of
0.2 to 1 cells, r = 3 to 8, elastic, SH, VTI and acoustic, within a factor of 2.5. Fluid in rock, or
rock in fluid, that is so thin is as wide as the cells that it touches: its scattering may be wrong
altogether. So it may be of sheets in files that are interpolated, in elastic media: cells of such
files have a single mean of a modulus in all directions.

Lines through the cells are sampled from each node to the second next: a medium at neither end is
such a body. It scatters by its place as contacts do (`seismo.runs.prediction.contacts.sideways`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from seismo.grid.grid import AXES
from seismo.model.effective import tensor
from seismo.runs.prediction.contacts.sideways import (
    ALL_NODES,
    LINES,
    LINES_OF_PART,
    STAIRS,
    Faces,
    NodeBox,
    bodies_of,
    contrasts_along,
    joined,
    lattice,
    laws_of,
    media_at,
    region,
    sampled,
    scattered_error,
    within,
)
from seismo.runs.prediction.contacts.stacks import in_layers
from seismo.runs.prediction.lines import WarningLines
from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization

_WRONG = 0.25  # of the waves that a sheet scatters
_OF_BOTH = math.sqrt(0.5)  # where half of the energy is of P waves, which it scatters less
# Of a sheet by k d (r - 1) / 2 in cells, and of a body of the other phase.
_LAWS = (PowerLaw(_WRONG * math.pi / 10.0, 1.0), PowerLaw(1.0, 0.0))
_ACROSS = {2: 8, 3: 4}  # lines through a cell, along each other axis
_ALONG = 24  # samples of each line
_MOST_CELLS = 1000  # that are sampled along an axis, of all boxes together
_LEAST_CELLS = 10  # of a box
_ALIKE = 1.001  # ratio of moduli


def thin_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by bodies thinner than a cell."""
    # Nodes may all be alike where a file varies between them.
    if (discretization.extremes.uniform and not discretization.earth.gridded) or in_layers(
        discretization
    ):
        return 0.0
    points = 1.0 / (discretization.waves.spectra.frequency * max(discretization.waves.spacing))
    laws = np.array([law(points) for law in _LAWS])
    if {"vp", "vs"} <= set(discretization.earth.needs):
        laws[0] *= _OF_BOTH / (_WRONG if discretization.earth.gridded else 1.0)
    return min(
        1.0,
        scattered_error(
            discretization, joined([faces for _, faces in _bodies(discretization)]), laws
        ),
    )


def thin_fluids(discretization: Discretization) -> WarningLines:
    """Name parts that are fluid in rock, or rock in fluid, and thinner than a cell."""
    fluid = discretization.extremes.fluid and discretization.extremes.vs_max > 0.0
    if not fluid or in_layers(discretization):
        return
    for number, faces in _bodies(discretization):
        at = np.flatnonzero(faces.contrasts[1])
        if at.size:
            key = ("model",) if number is None else ("model", number)
            first = ", ".join(
                f"{a} = {faces.positions[at[0], AXES.index(a)]:.6g}"
                for a in discretization.grid.axes
            )
            yield (
                f"{discretization.scenario.named(*key)}: fluid and solid within less than "
                f"a cell of one another (about {first} m): the run has the fluid as wide as the "
                "cells that it touches, and what it scatters may be wrong altogether; use a "
                "grid.spacing of a third of its width or less, or leave it out"
            )


def _bodies(discretization: Discretization) -> list[tuple[int | None, Faces]]:
    """Return the thin bodies in each part of the model that has an extent, and in all others."""
    bodies = bodies_of(discretization)
    boxes = [body.box for body in bodies]
    count = len(boxes) + 1
    shares = ALL_NODES // count, max(_LEAST_CELLS, _MOST_CELLS // count)
    thin = [(None, _thin(discretization, region(discretization.grid), LINES, shares, boxes))]
    return [
        *thin,
        *((b.number, _thin(discretization, b.box, LINES_OF_PART, shares)) for b in bodies),
    ]


def _thin(
    discretization: Discretization, box: NodeBox, lines: int, most: tuple[int, int],
    without: Sequence[NodeBox] = (),
) -> Faces:  # fmt: skip
    """Return the thin bodies in a box of nodes, but for other boxes.

    Args:
        discretization: of the run.
        box: nodes that lines are centred on.
        lines: along each other axis, at least.
        most: nodes, and cells that are sampled.
        without: other boxes.
    """
    grid = discretization.grid
    face_sets = []
    for axis in grid.axes:
        index = lattice(box, axis, 1, lines, most[0])
        uneven = _uneven(discretization, axis, index) & ~within(index, without)
        z, y, x = np.nonzero(uneven)
        sample = slice(None, None, -(-x.size // most[1]) or 1)
        nodes = {a: index[a][n[sample]] for a, n in (("x", x), ("y", y), ("z", z)) if a in index}
        contrasts = _contrasts(discretization, axis, nodes)
        sides = [grid.spacing[AXES.index(a)] * (box[a][1] - box[a][0] + 1) / index[a].size
                 for a in index if a != axis]  # fmt: skip
        # Each body lies on two of the lines, from a node to the second next.
        area = 0.5 * STAIRS[grid.dimensions] * math.prod(sides) * x.size
        areas = np.full(contrasts.shape[1], area / max(contrasts.shape[1], 1))
        if axis != "z":
            areas = areas * grid.heights(nodes["z"])
        positions = [grid.coordinate(a, nodes[a]) if a in nodes else 0.0 * areas for a in AXES]
        is_thin = contrasts.any(axis=0)
        face_sets.append(
            Faces(contrasts[:, is_thin], np.stack(positions, axis=-1)[is_thin], areas[is_thin])
        )
    return joined(face_sets)


def _uneven(discretization: Discretization, axis: str, index: dict[str, np.ndarray]) -> np.ndarray:
    """Return about which nodes (z, y, x) two cells along an axis are not uniform."""
    shape = tuple(index[a].size if a in index else 1 for a in "zyx")
    if discretization.earth.gridded:
        return np.ones(shape, bool)
    low, high = (
        {a: discretization.grid.coordinate(a, n + side * (1.0 if a == axis else 0.5))
         for a, n in index.items()}
        for side in (-1, 1)
    )  # fmt: skip
    uneven = discretization.earth.uneven(
        tensor(low["z"], low.get("y"), low["x"]), tensor(high["z"], high.get("y"), high["x"])
    )
    in_tensor = np.broadcast_to(
        uneven, [size for a, size in zip("zyx", shape, strict=True) if a in index]
    )
    return in_tensor.reshape(shape)


def _contrasts(
    discretization: Discretization, axis: str, nodes: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the contrasts (2, n) of thin bodies about nodes (n), as `_LAWS` have them."""
    across = _ACROSS[discretization.grid.dimensions]
    offsets = (np.arange(across) + 0.5) / across - 0.5
    others = [a for a in nodes if a != axis]
    mesh = np.meshgrid(*[offsets] * len(others), indexing="ij")
    lines = mesh[0].size
    # Samples of each line lie between the samples of the line before; its ends first.
    steps = (np.arange(_ALONG)[None] + (np.arange(lines)[:, None] + 0.5) / lines) / _ALONG
    along = np.concatenate([np.tile([-1.0, 1.0], (lines, 1)), 2.0 * steps - 1.0], axis=1)
    shifts = {axis: along} | {a: m.reshape(-1, 1) for a, m in zip(others, mesh, strict=True)}
    at = {a: np.broadcast_to(discretization.grid.coordinate(a, nodes[a][:, None, None] + shifts[a]),
                             (nodes[a].size, *along.shape)) for a in nodes}  # fmt: skip
    *moduli, speeds = media_at(discretization, at["z"], at.get("y"), at["x"])
    solid = moduli[2] > 0.0
    alike = (solid == solid[..., :1]).all(-1)
    excess = np.zeros(speeds[..., 2:].shape)
    for modulus in moduli:
        positive = np.maximum(modulus, 1e-9)
        ends = positive[..., :2]
        inner = positive[..., 2:]
        beyond = np.maximum(
            inner / ends.max(-1, keepdims=True), ends.min(-1, keepdims=True) / inner
        )
        excess = np.maximum(excess, np.where(beyond > _ALIKE, beyond - 1.0, 0.0))
    beside = speeds[..., :2].min(-1) / discretization.grid.heights(nodes["z"])[:, None]
    beside = np.where(alike & (beside > 0.0), beside, np.inf)
    sheets = (2.0 * excess.mean(-1) / beside).mean(-1)
    spectra = discretization.waves.spectra
    frequency = float(np.sqrt((spectra.energy @ spectra.frequency**2).min()))
    # k d (r - 1) / 2 at the mean frequency.
    scattered = math.pi * frequency * max(discretization.waves.spacing) * sheets
    other = ((solid[..., :1] == solid[..., 1:2]) & (solid != solid[..., :1])).any((1, 2))
    return np.stack([sheets / np.sqrt(1.0 + scattered**2), other])


def hidden_error(discretization: Discretization, between: int, share: float) -> float:
    """Return the relative error of bodies between nodes.

    Args:
        discretization: of the run.
        between: places in a cell that are compared.
        share: of contrasts that only they have, which counts.
    """
    boxes = [region(discretization.grid), *(body.box for body in bodies_of(discretization))]
    hidden = _largest(discretization, boxes, between=between) - _largest(discretization, boxes)
    return discretization.waves.spectra.error(
        share * np.maximum(hidden, 0.0) @ laws_of(discretization)
    )


def _largest(
    discretization: Discretization, boxes: Sequence[NodeBox], between: int = 1
) -> np.ndarray:
    """Return the largest contrasts (3) of neighbours, as `contrasts_along` has them.

    Args:
        discretization: of the run.
        boxes: nodes that are compared.
        between: places in a cell that are compared, 1 for nodes alone.
    """
    worst = np.zeros(3)
    for number, box in enumerate(boxes):
        least = (LINES_OF_PART, 0) if number else (LINES, ALL_NODES)
        for axis in discretization.grid.axes:
            index = lattice(box, axis, between, *least)
            signed = contrasts_along(axis, sampled(discretization, index), np.ones((1, 1, 1), bool))
            worst = np.maximum(worst, np.abs(signed).max(axis=(1, 2, 3), initial=0.0))
    return worst

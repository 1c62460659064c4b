"""Damping of absorbing layers against guided waves that grow in perfectly matched layers.

In a bed between stiffer beds, in a stiff plate over a softer half-space, or in soft ground on rock
under a free surface, some waves have opposite phase and group velocities (Lamb 1904; Tolstoy &
Usdin 1957); along an absorbing layer these are not absorbed but amplified (Becache, Fauqueux & Joly
2003; Skelton, Adams & Craster 2007). So the contrasts of the shear modulus are evaluated on every
face across x or y, down and along the face.

The damping of the fields in the layers that ends this growth (as a share p of d, see
`seismo.solver.medium.cpml`) was found by runs at source frequencies low relative to the grid's
cut-off, which need the strongest damping. It rises with the contrast of beds, with the mean jump of
the modulus's logarithm from node to node (over 40 nodes), and with the contrast of ground on rock,
most of all where the ground has few cells. Stacks of two rocks in turn need most of it; where
layers have means of their columns (`seismo.features.guided_waves.side_layers`) they need little,
and so do beds apart, if alpha keeps half its value (`validation/beds_beside_layers.py`): waves grow
there where d is largest, so that at first the outer part of the layers is damped alone, and
alpha is less. Which of both a column is, and its need, is tried
(`seismo.features.guided_waves.trial_runs`).

Between a free surface and a rigid bottom every rock is a plate, in which waves grow at once.

Layers are as strong as the fastest rock of the model asks for, and waves along the closed rows of a
free surface (`seismo.grid.surface_closure`) grow in layers that are stronger than their own rock
asks for. There the ratio of moduli counts as a rise of the ground.

Rock may be so anisotropic that energy runs against the phase in it: `_of_rocks` has the p of that.

Waves of ground need time to grow, so that layers begin matched, and reflect less, up to a step that
does not depend on the duration of a run: the sooner the more points a layer has, and the more the
modulus rises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from seismo.equations.framework.parameters import different
from seismo.equations.rock import elastic_constants, plane_waves
from seismo.features.guided_waves.side_layers import Columns, has_means
from seismo.features.guided_waves.trial_runs import SAMPLES, LeastDamping, least_damping
from seismo.grid.grid import AXES, Grid
from seismo.model.earth import Earth
from seismo.model.effective import column, tensor
from seismo.solver.medium.field_damping import (
    BESIDE_BEDS,
    EARLY_OF_STACKS,
    LATE_OF_BEDS,
    LayerDamping,
)

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

INVERSION = 2.0  # times as stiff as the rock below it
ENCLOSED = 2.0  # times as stiff, or as soft, as the rock on either side
WINDOW = 40  # nodes over which jumps are averaged
_CAPPED = 9.0  # largest mean_jump that counts, as beside a fluid
ORDINARY = 90.0
# increase with contrast, up to so many times as much
PER_DECADE = 0.024
MOST_CONTRAST = 10.0
OUTRUN = 1.2  # times as fast as rock at the surface counts as rise
GROUND = 1.3  # contrast of rock below softer ground from which on that counts
# the p of it: least, and in contrasts
LEAST_OF_GROUND = 0.005
THICK = 0.0015
THIN_RISE = 50.0  # contrast from which on thin ground asks for more,
THIN_POWER = 1.4  # and the power of the contrast by which it does
MOST_OF_GROUND = 0.06
PLATE = 0.03  # the p of a plate between a free surface and a rigid bottom
# The p of layers that a plane of refinement goes through: where fields decay within a coarse cell
# along the layer, waves do not pass the plane, so that it makes plates, too. This p ends growth at
# planes that keep clear of the rows of a free surface.
REFINED = 0.05
# Beds of a column, where alpha keeps as much as it can: p up to `BEDS_HARMLESS` steps with up to so
# many points of a layer, and later, beside beds apart and beside stacks of them, whose means layers
# at the sides have (`seismo.features.guided_waves.side_layers`). Beds with a mean jump from node to
# node of up to so much are seams: without a trial, nothing grows there before `BEDS_HARMLESS`.
SEAM = 0.1
LATE_OF_SEAMS = 0.0075  # everywhere in a layer, from `HARMLESS` steps on
EARLY_OF_BEDS = 0.004  # without a trial
OF_BEDS = 0.01
STACK = 0.25  # mean jump of a stack, without a trial
ALWAYS_STACK = 0.45  # and whatever a trial tells
OF_STACKS = 0.01
LATE_OF_STACKS = 0.03  # from `HARMLESS` steps on
SAFE_OF_ROCKS = 1.5  # times the least p of anisotropic rocks
HARMLESS_GROWTH = 0.01  # m of rocks; up to 0.008 nothing grew in 100 000 steps
MOST_ROCKS = 200  # that are looked at on a face
# p = PER_JUMP (a - SMOOTH), at most MOST
SMOOTH = 0.55
PER_JUMP = 0.07
MOST = 0.08
_PER_CELL = 8  # samples down a cell where the earth varies sideways: beds may be thinner


def mean_jump(shear: np.ndarray, axis: int) -> float:
    """Return the mean mean_jump of its logarithm from node to node, the largest of all windows.

    Nothing jumps beside NaN.
    """
    largest = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        jumps = np.abs(np.diff(np.log(shear), axis=axis))
    jumps = np.moveaxis(np.nan_to_num(jumps).clip(max=_CAPPED), axis, 0)  # two fluids: none
    for first in range(0, max(1, len(jumps) - WINDOW // 2), WINDOW // 2):
        window = jumps[first : first + WINDOW]
        largest = max(largest, float(window.mean(0).max())) if window.size else largest
    return largest


def without_small_turns(shear: np.ndarray) -> np.ndarray:
    """Return a face that keeps its extreme modulus down to where it has turned by `INVERSION`.

    Beds that differ by less guide nothing that grows. What is not a number stays so.
    """
    kept = shear[0]
    rising = np.ones(kept.shape, bool)
    rows = []
    for row in shear:
        with np.errstate(invalid="ignore"):
            turns = np.where(rising, kept / row, row / kept) > INVERSION
        rising = rising ^ turns
        extreme = np.where(rising, np.fmax(kept, row), np.fmin(kept, row))
        kept = np.where(turns, row, extreme)
        rows.append(kept)
    return np.where(np.isnan(shear), np.nan, np.array(rows))


def largest_rise(shear: np.ndarray) -> float:
    """Return how many times as stiff a face is below as anything solid above."""
    softest = np.minimum.accumulate(np.where(shear > 0.0, shear, np.inf), 0)
    return float((shear / softest).max())


def inverted(shear: np.ndarray) -> float:
    """Return by how much a face has stiff above soft; 1 where that is less than `INVERSION`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return _largest(np.maximum.accumulate(shear, 0) / shear, INVERSION)


def enclosed(shear: np.ndarray) -> float:
    """Return the contrast of a face's stiffest or softest bed with both sides.

    1 where no modulus is `ENCLOSED` times as large.
    """
    ratios = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for axis, extremum in product(range(1, shear.ndim), (np.maximum, np.minimum)):
            before = extremum.accumulate(shear, axis)
            after = np.flip(extremum.accumulate(np.flip(shear, axis), axis), axis)
            if extremum is np.maximum:
                ratios.append(np.minimum(before, after) / shear)
            else:
                ratios.append(shear / np.maximum(before, after))
    return max((_largest(ratio, ENCLOSED) for ratio in ratios), default=1.0)


def _largest(ratios: np.ndarray, least: float) -> float:
    """Return the largest ratio, 1 where it is not the least that counts; of two fluids it is 1."""
    largest = float(np.nan_to_num(ratios, nan=1.0).max())
    return largest if largest > least else 1.0


def field_damping(discretization: Discretization, fastest: float) -> LayerDamping:
    """Return the damping of waves that the medium guides, in layers for waves so fast [m/s]."""
    faces = discretization.scenario.boundaries
    means = has_means(discretization.physics.medium)
    # Layers with constant damping throughout a run need no trial.
    is_tried = means and faces.layer.damping is None and discretization.interface is None
    advised = damping(
        discretization.earth, discretization.grid, discretization.closure is not None,
        faces.bottom == "rigid", fastest, means,
        partial(least_damping, discretization, fastest) if is_tried else None,
    )  # fmt: skip
    if discretization.interface is not None:
        advised = advised.at_least(REFINED)
    return advised.replaced(faces.layer.damping, discretization.total_steps)


def damping(
    earth: Earth, grid: Grid, free_surface: bool, rigid_bottom: bool = False, fastest: float = 0.0,
    has_means: bool = False, trial: Callable[[str, Columns], LeastDamping | None] | None = None,
) -> LayerDamping:  # fmt: skip
    """Return the p that ends growth: 0 where no face encloses a modulus, or has soft ground on top.

    Args:
        earth: the earth; nothing grows but P-SV waves.
        grid: the grid, with the widths of its layers.
        free_surface: whether the top is a free surface.
        rigid_bottom: whether the bottom is rigid.
        fastest: velocity in m/s that the layers are made for.
        has_means: whether columns of the medium have means
            (`seismo.features.guided_waves.side_layers`).
        trial: function(axis, column) that returns the least damping before `BEDS_HARMLESS` steps
            beside a column, None where none suffices; without a trial its mean jump decides.
    """
    if not {"vp", "vs", "rho"} <= set(earth.needs):
        return LayerDamping()
    nodes, faces = _absorbing_faces(earth, grid)
    contrasts = _on_faces(earth, nodes, [face for face, _ in faces], free_surface, fastest)
    beside = contrasts.down if contrasts.inverted > 1.0 else 0.0
    least: LeastDamping | None = None
    if beside <= STACK:
        least = LeastDamping(EARLY_OF_BEDS if beside > SEAM else 0.0, 1.0)
    if trial and 0.0 < beside < ALWAYS_STACK and _beside_beds(contrasts.inverted) <= BESIDE_BEDS:
        axis, on_face = contrasts.hardest
        least = trial(axis, _column(earth, grid, on_face))
    averaged = least is None and has_means
    of_beds, shift = least or (0.0, 1.0)
    early, beds = _of_column(contrasts.inverted, least is None, averaged, of_beds)
    ground = _of_ground(contrasts.rise)
    # Means of columns leave jumps along the face alone.
    jump = contrasts.level if averaged else max(contrasts.level, contrasts.upright)
    uneven = min(MOST, PER_JUMP * (jump - SMOOTH))
    enclosed = _beside_beds(contrasts.enclosed)
    early = max(early, enclosed, uneven if beds or enclosed else 0.0, contrasts.rocks)
    if free_surface and rigid_bottom and faces:
        early = max(early, PLATE)  # no time to begin matched: waves of plates grow at once
    outer = (early, beds) == (of_beds, OF_BEDS) and not averaged
    beds = max(early, beds)
    later = LATE_OF_BEDS if beside > SEAM else LATE_OF_SEAMS
    late = max(
        later if outer else beds, ground, uneven if ground else 0.0,
        LATE_OF_STACKS if averaged else 0.0,
    )  # fmt: skip
    points = max((width for _, width in faces), default=1)
    return LayerDamping(
        early, late, beds, outer, contrasts.rise, points, contrasts.rocks, 0.0, averaged, beside,
        shift if outer else 1.0,
    )  # fmt: skip


@dataclass
class _Contrasts:
    """What the faces of a region have most of (`seismo.features.guided_waves.guides`).

    Attributes:
        enclosed: contrast along them.
        inverted: contrast of stiff above soft.
        rise: contrast of the ground on top.
        upright: mean jump down them.
        level: mean jump along them.
        down: mean jump down them without small turns.
        rocks: the p that anisotropic rocks ask for.
        hardest: the axis across the face with the largest jump down it, and its places by axis.
    """

    enclosed: float = 1.0
    inverted: float = 1.0
    rise: float = 1.0
    upright: float = 0.0
    level: float = 0.0
    down: float = -1.0
    rocks: float = 0.0
    hardest: tuple[str, dict[str, np.ndarray]] = ("", {})


def _on_faces(
    earth: Earth, nodes: dict[str, np.ndarray], faces: list[tuple[str, int]], free_surface: bool,
    fastest: float,
) -> _Contrasts:  # fmt: skip
    """Return the largest contrasts on faces, each an axis that it is across and an end."""
    contrasts = _Contrasts()
    for axis, end in faces:
        on_face = nodes | {axis: nodes[axis][[end]]}
        shear = _shear(earth, on_face)
        contrasts.rocks = max(contrasts.rocks, _of_rocks(earth, on_face))
        contrasts.enclosed = max(contrasts.enclosed, enclosed(shear))
        contrasts.inverted = max(contrasts.inverted, inverted(shear))
        if free_surface:
            rise = max(largest_rise(shear), _outrun(earth, on_face, fastest))
            contrasts.rise = max(contrasts.rise, rise)
        rows = shear[:: _samples(earth)]
        contrasts.upright = max(contrasts.upright, mean_jump(rows, 0))
        for along in range(1, rows.ndim):
            contrasts.level = max(contrasts.level, mean_jump(rows, along))
        solid = np.where(rows > 0.0, rows, np.nan)
        down = mean_jump(without_small_turns(solid), 0)
        if down > contrasts.down:
            contrasts.down = down
            contrasts.hardest = axis, on_face
    return contrasts


def _samples(earth: Earth) -> int:
    """Return the places along z for each row."""
    return column.SAMPLES if earth.layered else _PER_CELL


def _absorbing_faces(
    earth: Earth, grid: Grid
) -> tuple[dict[str, np.ndarray], list[tuple[tuple[str, int], int]]]:
    """Return places by axis, and of each absorbing face its axis, end (0 or -1) and points.

    Where the earth varies with depth only, a single face across x stands for all faces across x and
    y.

    Args:
        earth: the earth.
        grid: the grid, with the widths of its layers.
    """
    samples = _samples(earth)
    interior = grid.extent
    nodes = {
        axis: grid.coordinate(axis, np.arange(first, last))
        for axis, first, last in zip(AXES, interior.lo, interior.hi, strict=True)
        if axis in grid.axes
    }
    top, bottom = grid.limits("z")
    nodes["z"] = np.linspace(top, bottom, (nodes["z"].size - 1) * samples + 1)
    layer_widths = {a: (grid.low[n], grid.high[n]) for n, a in enumerate(AXES) if a in grid.axes}
    if earth.layered:
        nodes |= {a: nodes[a][:1] for a in nodes if a != "z"}
        layer_widths = {
            "x": (max(width for a in layer_widths if a != "z" for width in layer_widths[a]), 0)
        }
    faces = [
        ((a, k), width)
        for a, widths in layer_widths.items()
        for k, width in zip((0, -1), widths, strict=True)
        if width
    ]
    return nodes, faces


def _column(earth: Earth, grid: Grid, on_face: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the parameters (n) of the column of a face with the most jumps, down its rows."""
    sideways = [axis for axis in "yx" if axis in on_face]
    with np.errstate(divide="ignore", invalid="ignore"):
        jumps = np.abs(np.diff(np.log(_shear(earth, on_face)), axis=0))
    total = np.nan_to_num(jumps, posinf=0.0).sum(axis=0)
    indices = dict(zip(sideways, np.unravel_index(int(total.argmax()), total.shape), strict=True))
    top, bottom = grid.limits("z")
    count = (grid.extent.shape[2] - 1) * SAMPLES
    z = top + (np.arange(count) + 0.5) / count * (bottom - top)
    at = {axis: on_face[axis][[n]] for axis, n in indices.items()}
    samples = earth.sample(*tensor(z, at.get("y"), at["x"]))
    return {
        name: np.broadcast_to(array, (count, *[1] * len(at))).ravel()
        for name, array in samples.items()
    }


def _beside_beds(contrast: float) -> float:
    """Return the p that beds of a contrast ask for."""
    if contrast <= 1.0:
        return 0.0
    more = np.clip(contrast / ORDINARY, 1.0, MOST_CONTRAST)
    return float(BESIDE_BEDS + PER_DECADE * np.log10(more))


def _of_column(contrast: float, stacked: bool, averaged: bool, early: float) -> tuple[float, float]:
    """Return the early and the later p of beds of a contrast, stacked.

    Args:
        contrast: of their moduli, 1 without any.
        stacked: whether they are a stack.
        averaged: whether layers have the mean of that.
        early: p of beds apart.
    """
    if averaged:
        return EARLY_OF_STACKS, OF_STACKS
    beds = _beside_beds(contrast)
    if stacked or not 0.0 < beds <= BESIDE_BEDS:
        return beds, beds
    return early, OF_BEDS


def _of_ground(rise: float) -> float:
    """Return the p that ground asks for below which the modulus rises so many times."""
    if rise <= GROUND:
        return 0.0
    thick = min(THICK * rise, BESIDE_BEDS)
    thin = min(BESIDE_BEDS * (rise / THIN_RISE) ** THIN_POWER, MOST_OF_GROUND)
    return max(LEAST_OF_GROUND, thick, thin)


def _of_rocks(earth: Earth, nodes: dict[str, np.ndarray]) -> float:
    """Return the p that anisotropic rocks of a face ask for: more than their waves grow by.

    These grow by m d (`seismo.equations.rock.plane_waves.growth`), and p damps them by p d.
    """
    if not {"gamma", "c33"} & set(earth.needs):
        return 0.0
    samples = earth.sample(*tensor(nodes["z"], nodes.get("y"), nodes["x"]))
    kinds, _ = different(np.stack([samples[name].ravel() for name in earth.needs]))
    media = dict(zip(earth.needs, kinds[:, :: 1 + kinds.shape[1] // MOST_ROCKS], strict=True))
    solid = (media["vs"] > 0.0) & ~elastic_constants.isotropic(media)
    media = {name: samples[solid] for name, samples in media.items()}
    # About a vertical axis nothing grows more than in a vertical plane.
    dimensions = len(nodes) if {"theta", "c33"} & media.keys() else 2
    stiffness = elastic_constants.stiffness_of(media)
    m = plane_waves.growth(stiffness, media["rho"], dimensions)
    return SAFE_OF_ROCKS * float(m.max()) if m.max() > HARMLESS_GROWTH else 0.0


def _shear(earth: Earth, nodes: dict[str, np.ndarray]) -> np.ndarray:
    """Return the shear modulus of a face (z, [y,] x) [Pa]."""
    samples = earth.sample(*tensor(nodes["z"], nodes.get("y"), nodes["x"]))
    shape = [nodes[a].size for a in "zyx" if a in nodes]
    return np.broadcast_to(samples["rho"] * samples["vs"] ** 2, shape)


def _outrun(earth: Earth, nodes: dict[str, np.ndarray], fastest: float) -> float:
    """Return by how much rock anywhere is stiffer to P waves than the top of a face.

    1 where it is not `OUTRUN` times as fast.
    """
    top = earth.sample(*tensor(nodes["z"][:1], nodes.get("y"), nodes["x"]))
    solid = top["vs"] > 0.0
    slowest = float(plane_waves.fastest(top)[solid].min()) if solid.any() else math.inf
    return (fastest / slowest) ** 2 if fastest > OUTRUN * slowest else 1.0

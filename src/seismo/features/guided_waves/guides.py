"""Damping of absorbing layers against guided waves that grow in perfectly matched layers.

In a bed between stiffer ones, in a stiff plate over a softer one, or in soft ground on rock under a
free surface, some waves have opposite phase and group velocities (Lamb 1904; Tolstoy & Usdin 1957);
along an absorbing layer these are not absorbed but amplified (Becache, Fauqueux & Joly 2003;
Skelton, Adams & Craster 2007). So the contrasts of the shear modulus are evaluated on every face
across x or y, down and along the face.

The damping of the fields in the layers that ends this growth (as a share p of d, see
`seismo.solver.medium.cpml`) was found by runs at source frequencies low relative to the grid's
cut-off, which need the strongest damping. It rises with the contrast of beds, with the mean jump of
the modulus's logarithm from node to node (over 40 nodes), and with the contrast of ground on rock,
most of all where the ground has few cells. Stacks of two rocks in turn need most of it; where
layers have means of their columns (`seismo.features.guided_waves.side_layers`) they need little,
and so do beds apart, if alpha keeps half its value (`validation/beds_beside_layers.py`): what grows
there does so where d is largest, so that at first the outer part of the layers is damped alone.

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
from typing import TYPE_CHECKING

import numpy as np

from seismo.equations.framework.parameters import different
from seismo.equations.rock import (
    elastic_constants,
    plane_waves,
)
from seismo.features.guided_waves import face_contrasts
from seismo.features.guided_waves.column_means import has_means
from seismo.grid.grid import AXES, Grid
from seismo.model.earth import Earth
from seismo.model.effective import column
from seismo.model.effective.cells import tensor
from seismo.solver.medium.field_damping import (
    BESIDE_BEDS,
    EARLY_OF_BEDS,
    EARLY_OF_STACKS,
    LayerDamping,
)

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

ORDINARY = 90.0
# what more contrast adds, up to so many times as much
PER_DECADE = 0.024
MOST_CONTRAST = 10.0
OUTRUN = 1.2  # times as fast as rock at the surface is what counts as rise
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
# many points of a layer, and later, beside beds apart and beside stacks of them. A stack has a mean
# jump from node to node of so much; layers at the sides have its means (`solver.side_layers`).
OF_BEDS = 0.01
LATE_OF_BEDS = 0.0075  # everywhere in a layer, from `HARMLESS` steps on
OF_STACKS = 0.01
LATE_OF_STACKS = 0.03  # from `HARMLESS` steps on
STACK = 0.25
SAFE_OF_ROCKS = 1.5  # times the least p of anisotropic rocks
HARMLESS_GROWTH = 0.01  # m of rocks; up to 0.008 nothing grew in 100 000 steps
MOST_ROCKS = 200  # that are looked at on a face
# p = PER_JUMP (a - SMOOTH), at most MOST
SMOOTH = 0.55
PER_JUMP = 0.07
MOST = 0.08
_PER_CELL = 8  # samples down a cell where the earth varies sideways: beds may be thinner


def field_damping(discretization: Discretization, fastest: float) -> LayerDamping:
    """Return the damping of what the medium guides, in layers for waves so fast [m/s]."""
    faces = discretization.scenario.boundaries
    advised = damping(
        discretization.earth, discretization.grid, discretization.closure is not None,
        faces.bottom == "rigid", fastest, has_means(discretization.physics.medium),
    )  # fmt: skip
    if discretization.interface is not None:
        advised = advised.at_least(REFINED)
    return advised.replaced(faces.layer.damping, discretization.total_steps)


def damping(
    earth: Earth, grid: Grid, free_surface: bool, rigid_bottom: bool = False, fastest: float = 0.0,
    has_means: bool = False,
) -> LayerDamping:  # fmt: skip
    """Return the p that ends growth: 0 where no face encloses a modulus, or has soft ground on top.

    Args:
        earth: the earth; nothing grows but P-SV waves.
        grid: the grid, with the widths of its layers.
        free_surface: whether the top is one.
        rigid_bottom: whether the bottom is rigid.
        fastest: velocity in m/s that the layers are made for.
        has_means: whether columns of the medium have means
            (`seismo.features.guided_waves.column_means`).
    """
    if not {"vp", "vs", "rho"} <= set(earth.needs):
        return LayerDamping()
    samples = column.SAMPLES if earth.layered else _PER_CELL
    nodes, faces = _absorbing_faces(earth, grid, samples)
    enclosed = 1.0
    inverted = 1.0
    rise = 1.0
    upright = 0.0
    level = 0.0
    down = 0.0
    rocks = 0.0
    for (a, k), _ in faces:
        on_face = nodes | {a: nodes[a][[k]]}
        shear = _shear(earth, on_face)
        rocks = max(rocks, _of_rocks(earth, on_face))
        enclosed = max(enclosed, face_contrasts.enclosed(shear))
        inverted = max(inverted, face_contrasts.inverted(shear))
        if free_surface:
            rise = max(rise, face_contrasts.rise(shear), _outrun(earth, on_face, fastest))
        rows = shear[::samples]
        upright = max(upright, face_contrasts.jump(rows, 0))
        level = max(level, *(face_contrasts.jump(rows, axis) for axis in range(1, rows.ndim)))
        solid = np.where(rows > 0.0, rows, np.nan)
        down = max(down, face_contrasts.jump(face_contrasts.without_small_turns(solid), 0))
    stacked = inverted > 1.0 and down > STACK
    averaged = stacked and has_means
    early, beds = _of_column(inverted, stacked, averaged)
    ground = _of_ground(rise)
    # Means of columns leave jumps along the face alone.
    jump = level if averaged else max(level, upright)
    uneven = min(MOST, PER_JUMP * (jump - SMOOTH))
    early = max(early, _beside_beds(enclosed), uneven if early or enclosed > 1.0 else 0.0, rocks)
    if free_surface and rigid_bottom and faces:
        early = max(early, PLATE)  # no time to begin matched: waves of plates grow at once
    outer = early == EARLY_OF_BEDS
    beds = max(early, beds)
    later = LATE_OF_BEDS if outer else beds
    late = max(later, ground, uneven if ground else 0.0, LATE_OF_STACKS if averaged else 0.0)
    points = max((width for _, width in faces), default=1)
    beside = down if inverted > 1.0 else 0.0
    return LayerDamping(early, late, beds, outer, rise, points, rocks, 0.0, averaged, beside)


def _absorbing_faces(
    earth: Earth, grid: Grid, samples: int
) -> tuple[dict[str, np.ndarray], list[tuple[tuple[str, int], int]]]:
    """Return places by axis, and of each absorbing face its axis, end (0 or -1) and points.

    Where the earth varies with depth only, one face across x stands for all those across x and y.

    Args:
        earth: the earth.
        grid: the grid, with the widths of its layers.
        samples: places along z for each row.
    """
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


def _beside_beds(contrast: float) -> float:
    """Return the p that beds of a contrast ask for."""
    if contrast <= 1.0:
        return 0.0
    more = np.clip(contrast / ORDINARY, 1.0, MOST_CONTRAST)
    return float(BESIDE_BEDS + PER_DECADE * np.log10(more))


def _of_column(contrast: float, stacked: bool, averaged: bool) -> tuple[float, float]:
    """Return the early and the later p of beds of a contrast, one above the other.

    Args:
        contrast: of their moduli, 1 without any.
        stacked: whether they are a stack.
        averaged: whether layers have the mean of that.
    """
    if averaged:
        return EARLY_OF_STACKS, OF_STACKS
    beds = _beside_beds(contrast)
    if stacked or not 0.0 < beds <= BESIDE_BEDS:
        return beds, beds
    return EARLY_OF_BEDS, OF_BEDS


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

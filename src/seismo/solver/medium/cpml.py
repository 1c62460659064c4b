"""Absorbing layers: complex-frequency-shifted convolutional PML profiles, and their shell boxes.

In a layer of thickness L, at depth u (0 at its inner side, 1 outside), with N the `power`, M the
`STEEP_POWER` and q the share `steep`::

    d = d0 (u^N + q u^M),  d0 = -c log(R) / (2 L (1 / (N + 1) + q / (M + 1))),
    kappa = 1 + (kappa_max - 1) u^N,
    alpha = alpha_max (1 - 0.9 u),
    b = exp(-(d / kappa + alpha) dt),  a = d (b - 1) / (kappa (d + kappa alpha))

(Roden & Gedney 2000; Komatitsch & Martin 2007). R is the theoretical reflection at normal
incidence, c the fastest velocity. Elsewhere q is 0; the steep part absorbs fast waves at the outer
side, where slow ones, for which it is too strong a change, have decayed. Elsewhere alpha falls to 0
at the outer side; waves guided by a soft layer under a free surface then grow slowly in the layers
at its ends, so it keeps a tenth. Second-order equations need alpha >= `least_shift` d besides,
media that guide waves 0.05 d.

Waves guided by a soft bed between stiff ones may have group and phase velocities of opposite signs
along the layer, and grow in it all the same (Becache, Fauqueux & Joly 2003): a mode of wavenumber
k, frequency w and group velocity V by -(k V / w) d w^2 / (w^2 + alpha^2). Where a medium may guide
such waves alpha keeps half, and the fields themselves are damped by m = exp(-p d dt) a step, each
by the d of the place where it stands, so that both ends of an axis are alike. That stretches all
axes by a share p of d, as a multi-axial PML does (Meza-Fajardo & Papageorgiou 2008), and is not
perfectly matched. Alone it takes energy in any medium: v' = m (v - dt A^T s) and
s' = m (s + dt A v') are leapfrog with friction D (v' + v), D = (1 - m) / (1 + m), and weights
W = (1 + m) / 2m >= 1. So (v, W v) + (s, W s) - dt (s, A v) falls, and no step becomes unstable.

The inner side lies half a cell beyond the last point inside: half points there are not in the layer
either, so that both ends of an axis have as many points in a layer as are asked for.

`LayerMemory` lays out the memory variables of a subdomain's layers, region by region.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from seismo.backends.base import Backend
from seismo.equations.framework.table import Stage
from seismo.grid.coefficients import staggered_symbol
from seismo.grid.decomposition import LINE, CheckpointArray, GlobalBlock, Subdomain
from seismo.grid.grid import AXES, Box, Grid
from seismo.solver.discretization import Discretization, derived_once
from seismo.solver.grid_layout import RowGroup, spans

ALPHA_DROP = 0.9  # share of alpha that is gone at the outer side
STEEP_POWER = 6.9  # M of the profile
# Theoretical reflection (powers of ten below 1), N and q of the profile by the points of a layer,
# between which they are interpolated: the least exact reflection on the grid, and at grazing
# incidence (`tests/support/layer_reflection.py`, `validation/cpml_grazing.py`).
PROFILE_POINTS = (5, 8, 10, 12, 14, 20)
PROFILE_REFLECTIONS = (3.0, 5.4, 7.0, 5.08, 6.5, 7.0)
PROFILE_POWERS = (2.0, 2.0, 2.0, 2.55, 2.5, 4.0)
PROFILE_STEEPS = (0.0, 0.0, 0.0, 0.78, 0.0, 0.0)
EXCESS_MARGIN = 1.1  # over the value at which a wave of two points neither grows nor decays


@dataclass(frozen=True)
class PmlParameters:
    """Strength of the absorbing layers.

    Attributes:
        reflection: theoretical reflection coefficient at normal incidence.
        kappa: largest stretching of the grid.
        alpha: largest frequency shift [1/s].
        power: N of the profile.
        velocity: fastest wave [m/s].
        least_shift: smallest alpha / d, see `least_shift`.
        damping: of the fields themselves, as a share of d.
        damped_from: depth u from which on they are damped.
        alpha_drop: share of alpha that is gone at the outer side.
        steep: q of the profile.
    """

    reflection: float
    kappa: float
    alpha: float
    power: float
    velocity: float
    least_shift: float = 0.0
    damping: float = 0.0
    damped_from: float = 0.0
    alpha_drop: float = ALPHA_DROP
    steep: float = 0.0


def default_profile(points: int) -> tuple[float, float, float]:
    """Return the theoretical reflection, N and q of the profile of a layer."""
    columns = (PROFILE_REFLECTIONS, PROFILE_POWERS, PROFILE_STEEPS)
    # Interpolate between the optimised profiles.
    exponent, power, steep = (float(np.interp(points, PROFILE_POINTS, c)) for c in columns)
    return 10.0**-exponent, power, steep


def least_shift(first: np.ndarray, second: np.ndarray) -> float:
    """Return the smallest alpha / d with which no second derivative in a layer makes waves grow.

    In a layer the second derivative is L f + D psi, with L the centred, D the staggered difference
    and psi the flux memory. For a growth rate g >= 0 that is (1 / s) (L - (1 - 1/s) D D) f, s = 1 +
    d / (alpha + g), up to a change of variables symmetric in any medium and for any profile. It is
    negative, so that nothing grows, if 1/s > 1 - L / (D D) at all wavenumbers: alpha / (alpha + d)
    must exceed the largest excess of D D over L, a share of D D.

    Args:
        first: (M) staggered coefficients c_m.
        second: (M + 1) centred coefficients d_m.
    """
    # Symbols of both operators: (2 sum c_m sin((m - 1/2) k))^2 and -sum of the second differences.
    k = np.linspace(1e-2, np.pi, 2001)
    m = np.arange(1, len(first) + 1)
    staggered = staggered_symbol(first, k) ** 2
    centred = 2 * (1 - np.cos(np.outer(k, m))) @ second[1:]
    # Second differences below the square of the first ones make the layer active.
    excess = max(0.0, float((1 - centred / staggered).max())) * EXCESS_MARGIN
    return excess / (1 - excess)


def depth_of(layer: PmlParameters, points: float, rate: float) -> float:
    """Return u at which d is so many times c over the spacing, in a layer of so many points.

    1 where it is less on the outer side.
    """
    u = np.linspace(0.0, 1.0, 1001)
    shape, mean = _shape(layer, u)
    return float(np.interp(rate, -np.log(layer.reflection) / (2 * points * mean) * shape, u))


def _shape(layer: PmlParameters, u: np.ndarray) -> tuple[np.ndarray, float]:
    """Return u^N + q u^M, and its mean over the layer."""
    shape = u**layer.power + layer.steep * u**STEEP_POWER
    return shape, 1 / (layer.power + 1) + layer.steep / (STEEP_POWER + 1)


def _at_depth(layer: PmlParameters, u: np.ndarray, thickness: float, dt: float) -> np.ndarray:
    """Return b, a, 1/kappa and m (4, depth) at shares u of a thickness in m."""
    # d = d0 (u^N + q u^M), d0 from R by the integral of the profile.
    shape, mean = _shape(layer, u)
    d = -layer.velocity * np.log(layer.reflection) / (2 * thickness * mean) * shape
    # kappa and alpha of the same depth.
    kappa = 1 + (layer.kappa - 1) * u**layer.power
    alpha = np.maximum(layer.alpha * (1 - layer.alpha_drop * u), layer.least_shift * d)
    # b = exp(-(d / kappa + alpha) dt), a = d (b - 1) / (kappa (d + kappa alpha))
    decay = np.exp(-(d / kappa + alpha) * dt)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = d * (decay - 1) / (kappa * (d + kappa * alpha))
    # Damping of the fields themselves, m = exp(-p d dt).
    damped = layer.damping * d * (u > layer.damped_from)
    return np.array([decay, np.nan_to_num(gain), 1 / kappa, np.exp(-damped * dt)])


def outward(
    layer: PmlParameters, points: int, spacing: float, dt: float, finer: int = 1
) -> np.ndarray:
    """Return `profile` (8, points) of a layer from inside out, half points after their nodes.

    Args:
        layer: its strength.
        points: of the layer.
        spacing: of its points in m.
        dt: time step [s].
        finer: as in `profile`.
    """
    thickness = points - 0.5 * finer
    nodes, halves = (
        _at_depth(layer, np.clip(depth / thickness, 0.0, 1.0), thickness * spacing, dt)
        for depth in (np.arange(1, points + 1) - 0.5 * finer + shift for shift in (0.0, 0.5))
    )
    return np.concatenate([nodes[:3], halves[:3], nodes[3:], halves[3:]])


def profile(grid: Grid, axis: str, layer: PmlParameters, dt: float, finer: int = 1) -> np.ndarray:
    """Compute b, a and 1/kappa at nodes and at half points along an axis, then m at both.

    Args:
        grid: the grid, whose layers damp.
        axis: of the profile.
        layer: strength of the layers.
        dt: time step [s].
        finer: cells in a cell of the grid whose layers these continue
            (`seismo.features.refinement.operators`).

    Returns:
        (8, points) float64; b = a = 0 and 1/kappa = m = 1 outside the layers. Where cells are J
        times as tall as at the top, a and 1/kappa are divided by J.
    """
    n = AXES.index(axis)
    points = grid.points[n]
    h = grid.spacing[n]
    rows = []
    kept = []
    stretching = grid.stretching if axis == "z" else None
    # Nodes, then half points.
    for shift in (0.0, 0.5):
        position = np.arange(points) + shift
        b = np.zeros(points)
        a = np.zeros(points)
        ikappa = np.ones(points)
        m = np.ones(points)
        last = points - 1 - grid.high[n]
        for width, depth, edge in (
            (grid.low[n], grid.low[n] - position, grid.low[n]),
            (grid.high[n], position - last, last),
        ):
            # Cells of a layer are as tall as at its inner side.
            if stretching is not None:
                h = grid.spacing[n] * float(grid.heights(edge))
            # u = 0 half a cell beyond the last point inside, 1 on the outermost node.
            thickness = max(width, 1) - 0.5 * finer
            u = np.clip((depth - 0.5 * finer) / thickness, 0.0, 1.0)
            inside = (u > 0) & (width > 0)
            at_depth = _at_depth(layer, u[inside], thickness * h, dt)
            b[inside], a[inside], ikappa[inside], m[inside] = at_depth
        if stretching is not None:
            height = grid.heights(position)
            a, ikappa = a / height, ikappa / height
        rows += [b, a, ikappa]
        kept.append(m)
    return np.array([*rows, *kept])


def coupled(profile: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the weights of a second derivative in a layer, before its outer memory variable.

    The flux memory psi(n+1) = b psi(n) + a df/dx stands at half points. At the node i

        d2f/dx2 + d psi(n+1)/dx = sum_k w_k f(i + k) + sum_m v_m psi(n, i + m + 1/2),

    so that neither the new flux nor its derivative has to be known around i.

    Args:
        profile: (6, points) as `profile` gives it.
        first: (M) staggered coefficients / spacing.
        second: (M + 1) centred coefficients / spacing^2.

    Returns:
        (6 M - 1, points): w for k = 1 - 2 M to 2 M - 1, then v for m = -M to M - 1.
    """
    half = len(first)
    points = profile.shape[1]
    # b and a at half points: flux memory psi = b psi + a df/dx.
    decay, gain = (np.pad(profile[row], half) for row in (3, 4))
    field = np.zeros((4 * half - 1, points))
    memory = np.zeros((2 * half, points))
    node = 2 * half - 1
    # Second difference of the field, plus D_outer a D_inner of it.
    for k in range(-half, half + 1):
        field[node + k] = second[abs(k)]
    for m in range(-half, half):
        # The outer first difference of the flux memory: c_m ahead, -c_m behind.
        outer = first[m] if m >= 0 else -first[-1 - m]
        there = slice(half + m, half + m + points)
        memory[half + m] = outer * decay[there]
        for n, inner in enumerate(first):
            field[node + m + 1 + n] += outer * inner * gain[there]
            field[node + m - n] -= outer * inner * gain[there]
    return np.concatenate([field, memory])


SLOT_STAGGER = 9  # lines between the variables of a region, so that no cache set holds them all


def _block_layout(box: Box, stretched: str, pad: int, lane: int) -> tuple[int, int, int, int]:
    """Return the layout of a variable of a shot in a box: (z, y, x) with padding.

    Args:
        box: its points.
        stretched: axes along which it is differentiated, and has `pad` zeros on both sides.
        pad: zeros on a side; along x in whole lanes.
        lane: points that the length of a row is a multiple of.

    Returns:
        index of grid point (0, 0, 0), so that kernels use grid indices; strides of y and of z;
        length in all.
    """
    # Margin of flux memory that is differentiated, on whole lanes.
    margin = [pad if a in stretched else 0 for a in AXES]
    margin[0] = -(-margin[0] // lane) * lane
    # Rows of whole lanes, planes of whole rows.
    _, ny, nz = (n + 2 * m for n, m in zip(box.shape, margin, strict=True))
    pitch = margin[0] + -(-box.shape[0] // lane) * lane
    corner = [m - lo for m, lo in zip(margin, box.lo, strict=True)]
    first = (corner[2] * ny + corner[1]) * pitch + corner[0]
    # Variables are staggered in the cache.
    return first, pitch, pitch * ny, pitch * ny * nz + SLOT_STAGGER * lane


class LayerMemory:
    """Own the memory variables of a stage, in every region and span, in one array.

    Where they are differentiated there are `pad` zeros on both sides. Along x zeros before a row
    are whole lanes or lines, so that rows are aligned; zeros behind it are the next row's, or the
    stagger.

    A backend that takes second derivatives at once has three arrays with a variable each: the outer
    derivative, and the flux of even and of odd steps, since neighbours still read the old flux. At
    the ends of rows they hold the layer alone: the points beside it have theirs in the margin,
    zeros but in corners, and weights of 0 for their view of the next row.
    """

    def __init__(
        self,
        backend: Backend,
        stage: Stage,
        slots: int,
        subdomain: Subdomain,
        regions: list[RowGroup],
        pad: int,
        at_once: bool,
        short: bool = False,
    ) -> None:
        self._layout: dict[tuple[RowGroup, int], tuple[int, ...]] = {}
        self.at_once = at_once and stage.where == "layer"
        self.slots, arrays = (1, 3) if self.at_once else (slots, 1)
        blocks = list[GlobalBlock]()
        size = LINE
        layer = spans(subdomain.grid, backend.lane_width, 0)
        # A block of memory for each row group and x-segment that is stretched.
        for (number, region), span in product(enumerate(regions), range(3)):
            # Fused updates need no points beside the layer: its own x-segment.
            alone = self.at_once and span != 1 and region.spans[1][0] < region.spans[1][1]
            x0, x1 = layer[span] if alone else region.spans[span]
            (_, y0, z0) = region.box.lo
            (_, y1, z1) = region.box.hi
            box = Box((x0, y0, z0), (x1, y1, z1)) & subdomain.owned
            (x0, y0, z0) = box.lo
            (x1, y1, z1) = box.hi
            stretched = region.stretched(span)
            if not stretched or not box.size or not self.slots:
                continue
            lane = LINE if span == 1 else backend.lane_width
            # One variable of a shot behind the other.
            first, pitch, plane, slot = _block_layout(box, stretched, pad, lane)
            first += size
            shot = slot * self.slots * len(stretched)
            self._layout[region, span] = (first, pitch, plane, slot, shot)
            size += -(-shot * subdomain.batch // LINE) * LINE
            # Global indices, so that a checkpoint fits another decomposition.
            strides = (shot, slot, plane, pitch, 1)
            start = first + z0 * strides[2] + y0 * pitch + region.spans[span][0]
            shots = (subdomain.shots.start, subdomain.shots.stop)
            counts = (shots, (0, shot // slot), (z0, z1), (y0, y1), region.spans[span])
            name = f"layer.{stage.name}.{number}.{span}"
            blocks.append(GlobalBlock(name, start, strides, tuple((run,) for run in counts)))
        self.memories = [
            CheckpointArray(
                backend.zeros(size + backend.lane_width, short),
                [replace(p, array_name=f"{p.array_name}.{n}") for p in blocks],
            )
            for n in range(arrays)
        ]

    def arrays(self, parity: int) -> tuple[Any, ...]:
        """Return the array; or the outer variable's, the flux as it is, and as it will be."""
        outer, *flux = (memory.array for memory in self.memories)
        return outer, *(reversed(flux) if parity else flux)

    def columns(self, region: RowGroup, span: int, shot: int, offset: tuple[int, int, int]):
        """Return the memory columns of a box: index of point (0, 0, 0), strides, slot size."""
        if (region, span) not in self._layout:
            return 0, 0, 0, 0
        first, memory_y, memory_z, slot, shot_step = self._layout[region, span]
        # Origin in the subdomain's array indices, of a shot.
        ox, oy, oz = offset
        origin = first - oz * memory_z - oy * memory_y - ox + shot * shot_step
        return origin, memory_y, memory_z, slot


GUIDING_ALPHA_DROP = 0.5  # the same where a medium may guide waves that grow
GUIDING_SHIFT = 0.05  # smallest alpha / d there: with less they grow for sources of low frequency


def strength(
    discretization: Discretization, damping: float, points: int | None = None
) -> PmlParameters:  # fmt: skip
    """Return the strength of layers that damp the fields by a share `damping` of their d.

    Args:
        discretization: of the run.
        damping: share of d.
        points: of the layers, None for its own.
    """
    spec = discretization.scenario.boundaries.layer
    alpha = spec.alpha
    # Default frequency shift, alpha = pi f with f in dominant frequencies.
    if alpha is None:
        alpha = discretization.physics.layer_shift * discretization.dominant_frequency
    guided = discretization.field_damping
    guides = guided.shift_at(damping)
    least = guides * GUIDING_SHIFT
    if discretization.physics.differences == "second":
        # Second differences: alpha in proportion to d, so that nothing grows.
        least = least_shift(discretization.stencil.first, discretization.stencil.second)
    reflection, power, steep = default_profile(
        (points or spec.points) // discretization.subdivision
    )
    return PmlParameters(
        spec.reflection or reflection, spec.kappa, math.pi * alpha, spec.power or power,
        discretization.fastest, least, damping, guided.acts_from(damping),
        ALPHA_DROP + guides * (GUIDING_ALPHA_DROP - ALPHA_DROP), steep,
    )  # fmt: skip


@derived_once
def profiles(discretization: Discretization) -> list[dict[str, np.ndarray]]:
    """Return, in each phase, the profile (8, points) of the layers along each axis (`profile`)."""
    layers = [strength(discretization, damping) for _, damping in discretization.layer_phases]
    dt = discretization.clock.dt
    grid = discretization.grid.damped
    return [
        {a: profile(grid, a, layer, dt, discretization.subdivision) for a in grid.axes}
        for layer in layers
    ]

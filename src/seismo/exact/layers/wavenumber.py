"""Quadrature over horizontal wavenumber that converges fast for every offset and depth.

The integral of f(k) times an oscillating function over 0..infinity is cut in two. Up to `corner`,
beyond every branch point and pole, it runs along the real axis in Gauss panels as fine as the
damping (the singularities lie Re(s)/c off the axis). Beyond, where f only decays with depth, the
oscillating function is split into its two travelling parts (cos into exp(+-ikx), J into H1 and H2)
and each is integrated along the ray at +-45 degrees on which it decays, so that source and
receiver may both be at the surface. Receivers more below than beside the source stay on the axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 34.0  # exp(-34) = 2e-15


@dataclass(frozen=True)
class IntegrationPath:
    """Nodes k (node) with weights; travelling is 0 for the axis, +1 or -1 for the two rays."""

    k: np.ndarray
    weights: np.ndarray
    travelling: int


def paths(
    s: complex, speeds: list[float], offsets: np.ndarray, depths: np.ndarray
) -> list[IntegrationPath]:
    """Return the paths of integration for receivers that share one kind of path.

    offsets (receiver) m horizontal; depths (receiver) m: the vertical way over which f decays;
    either all offsets exceed their depths or none does (see `steep`).
    """
    slowest = min(speeds)
    fastest = max(speeds)
    distance = offsets + depths
    corner = 1.7 * abs(s) / slowest
    step = min(2.0 * s.real / fastest, 6.0 / max(offsets.max(), 1e-3 * depths.max()))
    if steep(offsets, depths).all():
        end = corner + _REACH / depths.min()
        return [IntegrationPath(*_panels(_edges(corner, end, step, 6.0 / distance.max())), 0)]
    corner = max(corner, 2.0 / offsets.min())
    k, weights = _panels(_edges(corner, corner, step, step))
    result = [IntegrationPath(k, weights, 0)]
    length = np.sqrt(2) * _REACH / distance.min()
    tail, tail_weights = _panels(_growing(length, min(6.0 / distance.max(), corner / 4)))
    for sign in (1, -1):
        rotation = np.exp(0.25j * np.pi * sign)
        result.append(IntegrationPath(corner + rotation * tail, rotation * tail_weights, sign))
    return result


def steep(offsets: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Return which receivers are better integrated along the axis (receiver) bool."""
    return offsets < depths


def _edges(corner: float, end: float, step: float, far_step: float) -> np.ndarray:
    edges = np.linspace(0.0, corner, int(np.ceil(corner / step)) + 1)
    if end <= corner:
        return edges
    first = min(far_step, max(step, corner / 4))
    return np.concatenate([edges, corner + _growing(end - corner, first)[1:]])


def _growing(length: float, first: float) -> np.ndarray:
    """Return panel edges from 0 to length, of width `first`, later a sixth of the way gone."""
    edges = [0.0]
    while edges[-1] < length:
        edges.append(edges[-1] + max(first, edges[-1] / 6))
    return np.array(edges)


def _panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = np.diff(edges)[:, None] / 2
    centre = edges[:-1, None] + half
    return (centre + half * _NODES).ravel(), (half * _WEIGHTS).ravel()

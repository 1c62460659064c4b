"""Strengths of sources, and the energy of P and S waves that they radiate by direction."""

from __future__ import annotations

import numpy as np

from seismo.acquisition.sources import PointSource


def strengths(source: PointSource) -> tuple[np.ndarray, np.ndarray]:
    """Return force (3) and moment (3, 3) of a source; of pressure and volume sources any size."""
    strength = source.strength
    force = np.zeros(3)
    moment = np.zeros((3, 3))
    if "" in strength:
        return force, np.eye(3)
    for name, amount in strength.items():
        axes = ["xyz".index(axis) for axis in name]
        if len(axes) == 1:
            force[axes[0]] = amount
        else:
            moment[axes[0], axes[1]] = moment[axes[1], axes[0]] = amount
    return force, moment


def is_isotropic(source: PointSource) -> bool:
    """Whether a source radiates P waves alone."""
    force, moment = strengths(source)
    return not force.any() and bool((moment == moment[0, 0] * np.eye(3)).all())


def radiated(
    source: PointSource, waves: list[tuple[float, float]], offset: np.ndarray
) -> np.ndarray:
    """Return the energy (wave, path) that a source radiates along offsets (path, 3) far away."""
    if len(waves) == 1:
        return np.ones((1, *offset.shape[:-1]))
    force, moment = strengths(source)
    n = offset / np.maximum(np.linalg.norm(offset, axis=-1, keepdims=True), 1e-9)
    pushed = np.broadcast_to(force, n.shape) if force.any() else n @ moment
    along = (pushed * n).sum(axis=-1, keepdims=True)
    energies = [along[..., 0] ** 2, ((pushed - along * n) ** 2).sum(axis=-1)]
    size = (pushed**2).sum(axis=-1).max()
    return np.array([s * 2.0 * e / size for (_, s), e in zip(waves, energies, strict=True)])


def wave_shares(vp: float, vs: float, power: int | None) -> list[tuple[float, float]]:
    """Return velocities in m/s of the waves of a rock, and their shares of the energy.

    Args:
        vp: of P waves in m/s.
        vs: of S waves in m/s, 0 in a fluid.
        power: of vs / vp, by which P waves are weaker than S waves; None without any.
    """
    if not power or not vs:
        return [(vp, 1.0)]
    ratio = (vs / vp) ** power
    return [(vp, ratio / (1.0 + ratio)), (vs, 1.0 / (1.0 + ratio))]

"""Images of sources and receivers behind a free surface, of paths by absorbing layers.

A free surface sends down what goes up from a source, on a way that is longer by d. A path by the
bottom has such an image of its receiver, too::

    1 + s exp(i w d / c),        |s| = (way / way of the image)^((n - 1) / 2)    in n dimensions

times the wave of a path, s > 0 of SH waves and s < 0 in fluids. P and SV waves are partly
converted, and direct waves of shallow sources are about as strong as in a whole space: there only
images of sources count, s > 0, on straight paths by the square of the cosine of their incidence on
the surface, and explosions by way of faces twice, since the surface makes S waves of theirs.
"""

from __future__ import annotations

import math

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.grid.grid import AXES
from seismo.runs.prediction.contacts.directivity import is_isotropic
from seismo.solver.discretization import Discretization

_CONVERTED = math.sqrt(2.0)  # of explosions: twice the energy


def image_factor(
    discretization: Discretization, source: PointSource, position: np.ndarray, velocity: float,
    face: tuple[str, int] | None, angular: np.ndarray,
) -> np.ndarray | float:  # fmt: skip
    """Return a wave (frequency) with its images by a free surface, over the wave alone.

    Args:
        discretization: of the run.
        source: where the path begins.
        position: of the receiver (3) in m.
        velocity: of the slowest waves in m/s.
        face: axis and side of the layer that reflects; None of a straight path.
        angular: (frequency) w in 1/s.
    """
    if discretization.scenario.boundaries.top != "free_surface":
        return 1.0
    sign = _sign(discretization)
    way, *behind = _ways(discretization, np.array(source.position), position, face)
    factor = np.ones(len(angular), complex)
    steep = 1.0
    if face is None and not sign:
        steep = ((position[2] - source.position[2]) / way) ** 2
    for image in behind if sign else behind[:1]:
        share = (sign or steep) * (way / image) ** (0.5 * discretization.grid.dimensions - 0.5)
        factor *= 1.0 + share * np.exp(1j * angular * (image - way) / velocity)
    converted = face is not None and not sign and is_isotropic(source)
    return factor * (_CONVERTED if converted else 1.0)


def _ways(
    discretization: Discretization, acting: np.ndarray, reading: np.ndarray,
    face: tuple[str, int] | None,
) -> list[float]:  # fmt: skip
    """Return the lengths in m of a path, of that from the source's image, and to the receiver's."""
    top, bottom = discretization.grid.limits("z")
    across = reading - acting
    depths = acting[2] - top, reading[2] - top
    down = [abs(depths[1] - depths[0]), sum(depths)]
    if face is not None and face[0] == "z":
        once = 2.0 * (bottom - top) - sum(depths)
        down = [once, once + 2.0 * depths[0], once + 2.0 * depths[1]]
    elif face is not None:
        a = AXES.index(face[0])
        edge = discretization.grid.limits(face[0])[face[1]]
        across[a] = abs(acting[a] - edge) + abs(reading[a] - edge)
    least = min(discretization.waves.spacing)
    return [max(math.hypot(across[0], across[1], height), least) for height in down]


def _sign(discretization: Discretization) -> float:
    """Return the sign of images: of SH waves, and of waves in a fluid; 0 of P and SV waves."""
    waves = discretization.scenario.equation.layered
    if waves is not None and waves.rigid_surface:
        return 1.0
    media = (passage.medium for passage in discretization.waves.passages)
    return 0.0 if min(media, key=lambda medium: medium.top).vs else -1.0

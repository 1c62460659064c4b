"""Spheres about sources in which one property turns smoothly to another.

    sphere      property = other                                 within half the radius
                property + w(u) (other - property)               beyond it, w a quintic step

Acoustic equations of anisotropic rock send slow waves of S kind from sources where epsilon exceeds
delta, and none where delta = epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.model.layered import ParameterFields

CORE = 0.5  # of the radius, within which both are equal


@dataclass(frozen=True, eq=False)
class SourceSpheres:
    """Spheres of one radius in rock that goes on around them.

    Attributes:
        centres: z, y, x (n, 3) in m.
        radius: in m.
        turned: name of the property.
        other: name of that which it turns to.
    """

    centres: np.ndarray
    radius: float
    turned: str
    other: str

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Turn the property at coordinates in m; where spheres meet the nearest counts."""
        nearest = np.full(
            np.broadcast_shapes(z.shape, x.shape, () if y is None else y.shape), np.inf
        )
        for centre in self.centres:
            squares = [(np.asarray(c) - m) ** 2 for c, m in zip((z, y, x), centre, strict=True)
                       if c is not None]  # fmt: skip
            if sum(float(square.min(initial=np.inf)) for square in squares) < self.radius**2:
                np.minimum(nearest, sum(squares), out=nearest)
        # A quintic step from 1 in the core to 0 at the radius.
        u = np.clip((np.sqrt(nearest) / self.radius - CORE) / (1.0 - CORE), 0.0, 1.0)
        share = 1.0 - u**3 * (10.0 + u * (6.0 * u - 15.0))
        samples = fields[self.turned]
        np.copyto(samples, samples + share * (fields[self.other] - samples), where=share > 0.0)

"""What lies outside the grid: free, rigid and periodic faces as images of what lies inside.

A face on the outermost nodes is filled before the next stage reads it::

    kind       node fields   half-point fields (along the face's axis)
    free       odd           even      (pressure vanishes on the face)
    rigid      even          odd       (the motion across the face vanishes on it)
    periodic   copies from the far side

Elastic free surfaces need no images: the operators in the rows below are closed
(`seismo.stencils.surface_closure`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seismo.decomposition import Subdomain
from seismo.grid import AXES
from seismo.physics.table import Field


@dataclass(frozen=True)
class Face:
    """One face of the grid that is not absorbing.

    Attributes:
        axis: "x", "y" or "z".
        high: whether it is the far face.
        kind: "free_surface", "rigid" or "periodic".
    """

    axis: str
    high: bool
    kind: str


def _shifted(view: np.ndarray, axis: int, start: int, count: int) -> np.ndarray:
    index = [slice(None)] * view.ndim
    index[axis] = slice(start, start + count)
    return view[tuple(index)]


def touching(faces: list[Face], subdomain: Subdomain) -> list[Face]:
    """Give the faces that bound a subdomain, in the order x, y, z."""
    found = [face for face in faces if _touches(face, subdomain)]
    return sorted(found, key=lambda face: face.axis)


def _touches(face: Face, subdomain: Subdomain) -> bool:
    if face.axis == "x":
        return True
    low, high = subdomain.cut[face.axis]
    return not (high if face.high else low)


def _source_of(face: Face, half: bool, depth: int, first: int, last: int) -> int:
    """Which index mirrors the point `depth` >= 1 outside the face (nodes `first` .. `last`)."""
    if face.kind == "periodic":
        return first + depth - 1 if face.high else last + 1 - depth
    if face.high:
        return last - depth - half + 1 if half else last - depth
    return first + depth - 1 if half else first + depth


def image(field: Field | None, face: Face, subdomain: Subdomain, array) -> Callable[[], None]:
    """Bind the filling of one field outside one face; without a field, of a coefficient.

    Half-point fields on a mirror's far face have one point beyond the last node's, which is an
    image too.
    """
    view, axis = subdomain.view(array), 3 - AXES.index(face.axis)
    a = AXES.index(face.axis)
    first = subdomain.offset[a] + subdomain.owned.lo[a]
    last = first + subdomain.owned.shape[a] - 1
    half = field is not None and face.axis in field.half
    odd = field is not None and half == (face.kind == "rigid") and face.kind != "periodic"
    mirrored_half = half and face.kind != "periodic"
    pairs = []
    for depth in range(1, subdomain.halo + 1):
        outside = last + depth - (mirrored_half and face.high) if face.high else first - depth
        source = _source_of(face, mirrored_half, depth, first, last)
        pairs.append((_shifted(view, axis, outside, 1), _shifted(view, axis, source, 1)))
    on_face = None
    if odd and not half:
        on_face = _shifted(view, axis, last if face.high else first, 1)

    def fill() -> None:
        if on_face is not None:
            on_face[:] = 0
        for outside, source in pairs:
            if odd:
                np.negative(source, out=outside)
            else:
                outside[:] = source

    return fill


def bind_images(
    faces: list[Face], fields: tuple[Field, ...], subdomain: Subdomain, array_of: Callable
) -> list[Callable[[], None]]:
    """Bind the filling of several fields outside all faces, in the order x, y, z.

    Args:
        faces: faces that need images.
        fields: the fields to fill.
        subdomain: where.
        array_of: function(field name) -> flat array.
    """
    return [
        image(field, face, subdomain, array_of(field.name))
        for face in touching(faces, subdomain)
        for field in fields
    ]

"""Images of the inside of the grid outside of its free, rigid and periodic faces.

A face on the outermost nodes is filled before the next stage reads it::

    kind       node fields   half-point fields (along the face's axis)
    free       odd           even      (pressure vanishes on the face)
    rigid      even          odd       (the motion across the face vanishes on it)
    periodic   copies from the far side

Derivatives on the nodes (`Field.slope`) are even at free and odd at rigid faces.

Elastic free surfaces need no images: the operators in the rows below are closed
(`seismo.grid.surface_closure`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.row_kernels import mirror
from seismo.equations.framework.table import Field
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Grid


@dataclass(frozen=True)
class Face:
    """A face of the grid that is not absorbing.

    Attributes:
        axis: "x", "y" or "z".
        high: whether it is the far face.
        kind: "free_surface", "rigid" or "periodic".
    """

    axis: str
    high: bool
    kind: str


def touching(faces: list[Face], subdomain: Subdomain) -> list[Face]:
    """Return the faces that bound a subdomain, in the order x, y, z."""
    touched = [face for face in faces if _touches(face, subdomain)]
    return sorted(touched, key=lambda face: face.axis)


def _touches(face: Face, subdomain: Subdomain) -> bool:
    if face.axis == "x":
        return True
    low, high = subdomain.cut[face.axis]
    return not (high if face.high else low)


def source_of(face: Face, half: bool, depth: Any, first: int, last: int) -> Any:
    """Return which index from `first` to `last` mirrors a point `depth` >= 1 outside a face."""
    # Periodic: the point a period away.
    if face.kind == "periodic":
        return first + depth - 1 if face.high else last + 1 - depth
    # Mirror about the node on the face; half point n stands at n + 1/2.
    if face.high:
        return last - depth - half + 1 if half else last - depth
    return first + depth - 1 if half else first + depth


def folded(faces: list[Face], grid: Grid, field: Field, points):
    """Move weighted points outside rigid and periodic faces to the points that they are images of.

    This is the transpose of reading images. A node on a rigid face stands for half a cell. What
    interpolates beside free surfaces folds by itself.
    """
    *index, w = points
    for face in faces:
        if face.kind == "free_surface":
            continue
        a = AXES.index(face.axis)
        rigid = face.kind == "rigid"
        last = grid.points[a] - 1
        half = rigid and face.axis in field.half
        # A node on a rigid face is its own image: it counts twice.
        if rigid and not half:
            w = np.where(index[a] == (last if face.high else 0), 2.0 * w, w)
        depth = index[a] - last + half if face.high else -index[a]
        inside = source_of(face, half, depth, 0, last)
        # Odd fields (half points at a rigid face) change sign.
        w = np.where(depth > 0, -w if half else w, w)
        index[a] = np.where(depth > 0, inside, index[a])
    return (*index, w)


def turned_off(
    coefficients: dict[str, np.ndarray], odd: Mapping[str, Sequence[str]], faces: list[Face],
    subdomain: Subdomain,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return coefficients (z, y, x), 0 on rigid faces where they turn in the mirror.

    Args:
        coefficients: at the nodes of a subdomain and of its halo along y and z.
        odd: axis -> coefficients that a mirror across it turns.
        faces: of the grid that are images.
        subdomain: whose nodes.
    """
    changed = dict(coefficients)
    for face in touching([f for f in faces if f.kind == "rigid" and odd.get(f.axis)], subdomain):
        halos = {"x": 0, "y": subdomain.halo if "y" in subdomain.grid.axes else 0}
        halo = halos.get(face.axis, subdomain.halo)
        nx, ny, nz = subdomain.owned.shape
        shape = nz + 2 * subdomain.halo, ny + 2 * halos["y"], nx
        k = "zyx".index(face.axis)
        plane: list[Any] = [slice(None)] * 3
        plane[k] = shape[k] - 1 - halo if face.high else halo
        # Coefficients that the mirror turns vanish on the face.
        for name in odd[face.axis]:
            changed[name] = np.broadcast_to(changed[name], shape).copy()
            changed[name][tuple(plane)] = 0.0
    return changed


def _rows(subdomain: Subdomain, shots: int, axis: str, layers) -> np.ndarray:
    """Return the flat indices where the rows of layers across y or z begin, or all across x.

    Rows begin with the halo in front of them, and end with the halo behind.
    """
    nz, ny, _ = subdomain.shape
    y_stride, z_stride = subdomain.strides
    kept = {"y": range(ny), "z": range(nz)}
    starts = []
    for layer in layers:
        index = kept | ({} if axis == "x" else {axis: range(layer, layer + 1)})
        shot, z, y = np.ix_(range(shots), index["z"], index["y"])
        rows = (shot * subdomain.volume + z * z_stride + y * y_stride).ravel()
        starts.append(rows + (layer if axis == "x" else subdomain.before))
    return np.concatenate(starts)


def image(
    backend: Backend, field: Field | None, face: Face, subdomain: Subdomain, array
) -> list[Launch]:
    """Bind the filling of a field outside a face; without a field, of a coefficient.

    Half-point fields on a mirror's far face have a point beyond the last node's, which is an image
    too.
    """
    a = AXES.index(face.axis)
    axis = face.axis
    shots = array.size // subdomain.volume
    # Nodes on both faces, in the subdomain's array.
    first = subdomain.offset[a] + subdomain.owned.lo[a]
    last = first + subdomain.owned.shape[a] - 1
    half = field is not None and axis in field.half
    # Parity: free faces, odd at nodes and even at half points; rigid faces, the reverse.
    turned = half or (field is not None and field.slope)
    odd = field is not None and turned == (face.kind == "rigid") and face.kind != "periodic"
    mirrored_half = half and face.kind != "periodic"
    outside = []
    inside = []
    # Each halo layer and its image.
    for depth in range(1, subdomain.halo + 1):
        outside.append(last + depth - (mirrored_half and face.high) if face.high else first - depth)
        inside.append(source_of(face, mirrored_half, depth, first, last))

    def launch(to, source_layers, factor: int) -> Launch:
        steps = (1, 1)
        # Faces across y and z: whole rows along x, halo included.
        length = subdomain.owned.shape[0] + 2 * subdomain.halo
        if axis == "x":  # a line across the face holds all layers
            steps = (_step(to), _step(source_layers))
            length = len(to)
            to = to[:1]
            source_layers = source_layers[:1]
        to_rows, from_rows = (
            _rows(subdomain, shots, axis, layers) for layers in (to, source_layers)
        )
        rows = (backend.array(to_rows), backend.array(from_rows))
        owners = (from_rows - subdomain.before) // subdomain.volume
        # Numbers of 16 bits are computed with in 32.
        arguments = (array, *rows, *steps, np.dtype(backend.precision).type(factor))
        return backend.each_row(mirror, to_rows.size, length, arguments, writes=(0,), shots=owners)

    on_face = [last if face.high else first]
    # Odd fields vanish on the face itself.
    zero = [launch(on_face, on_face, 0)] if odd and not half else []
    return [*zero, launch(outside, inside, -1 if odd else 1)]


def _step(layers: list[int]) -> int:
    return layers[1] - layers[0] if len(layers) > 1 else 1


def bind_images(
    backend: Backend, faces: list[Face], fields: tuple[Field, ...], subdomain: Subdomain,
    array_of: Callable,
) -> list[Launch]:  # fmt: skip
    """Bind the filling of several fields outside all faces, in the order x, y, z.

    Args:
        backend: where the arrays are.
        faces: faces that need images.
        fields: the fields to fill.
        subdomain: where.
        array_of: function(field name) -> flat array.
    """
    return [
        launch
        for face in touching(faces, subdomain)
        for field in fields
        for launch in image(backend, field, face, subdomain, array_of(field.name))
    ]

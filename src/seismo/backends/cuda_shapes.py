"""Which layout of threads a kernel gets: a table measured on a card, by what the kernel does.

A key is the axes, the kind of formula (`Operands.kind`), the kind of box and the order of the
differences. A box is "inner", without a layer; "layer", in one across y or z; "edge", where these
meet; "side", in those across x, a few lanes wide; or "corner", where these meet others.

`seismo tune` measures other cards: what it finds is kept beside the compiled kernels, by the card's
name.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from seismo.backends.cuda_code import cache_folder, write_whole
from seismo.backends.cuda_march import Shape
from seismo.errors import DeviceError

Key = tuple[str, str, str, int]
Shapes = dict[Key, Shape]


def box_of(stretched: str) -> str:
    """Tell what kind of box has some axes stretched."""
    if stretched == "x":
        return "side"
    return "corner" if "x" in stretched else ("inner", "layer", "edge")[len(stretched)]


def shape_for(shapes: Shapes, key: Key) -> Shape:
    """Look a layout up; of the orders in the table the next one counts."""
    *what, order = key
    near = min((k for k in shapes if list(k[:3]) == what), key=lambda k: abs(k[3] - order))
    return shapes[near]


def _alike(kind: str, boxes: str, shape: Shape, axes: str = "xyz") -> Shapes:
    return {(axes, kind, box, order): shape for box in boxes.split() for order in (4, 8)}


# Measured on an H200 (`benchmarks/`).
H200: Shapes = {
    ("xyz", "second", "inner", 4): Shape((32, 8, 1), 16, True, 2),
    ("xyz", "second", "inner", 8): Shape((32, 16, 1), 32, True, 1, ahead=2),
    ("xyz", "second", "layer", 4): Shape((32, 8, 1), 64, True, 2, ahead=1),
    ("xyz", "second", "layer", 8): Shape((32, 4, 1), 64, True, 3, ahead=1),
    ("xyz", "second", "layer", 16): Shape((32, 4, 1), 64, True, 2),  # else registers spill
    **_alike("second", "edge", Shape((32, 2, 2), 1, False, 4)),
    ("xyz", "second", "side", 4): Shape((8, 16, 1), 1, False, 8),
    ("xyz", "second", "side", 8): Shape((8, 8, 2), 1, False, 10),
    ("xyz", "second", "side", 10): Shape((8, 4, 4), 1, False, 5),  # else registers spill
    **_alike("second", "corner", Shape((8, 4, 4), 1, False, 4)),
    **_alike("divergence", "inner", Shape((16, 8, 2), 1, False, 3)),
    **_alike("divergence", "layer edge", Shape((32, 8, 1), 1, False, 3)),
    **_alike("divergence", "side corner", Shape((8, 8, 4), 1, False, 3)),
    ("xyz", "gradient", "inner", 4): Shape((32, 4, 2), 1, False, 4),
    ("xyz", "gradient", "inner", 8): Shape((32, 8, 1), 1, False, 3),
    **_alike("gradient", "layer edge", Shape((32, 8, 1), 1, False, 3)),
    **_alike("gradient", "side corner", Shape((8, 8, 2), 1, False, 4)),
    **_alike("second", "inner", Shape((16, 1, 16), 8, False, 4), "xz"),
    **_alike("second", "layer", Shape((16, 1, 8), 1, False, 6), "xz"),
    **_alike("second", "side corner", Shape((8, 1, 16), 1, False, 4), "xz"),
    **_alike("divergence", "inner", Shape((32, 1, 4), 1, False, 8), "xz"),
    **_alike("divergence", "layer", Shape((32, 1, 4), 1, False, 2), "xz"),
    **_alike("divergence", "side corner", Shape((8, 1, 16), 1, False, 2), "xz"),
    **_alike("gradient", "inner", Shape((32, 1, 4), 1, False, 8), "xz"),
    **_alike("gradient", "layer", Shape((32, 1, 4), 1, False, 2), "xz"),
    **_alike("gradient", "side corner", Shape((8, 1, 16), 1, False, 2), "xz"),
}


def shapes_file(card: str) -> Path:
    """Say where the table of a card of that name is kept."""
    return cache_folder() / "shapes" / f"{re.sub('[^A-Za-z0-9]+', '-', card)}.json"


def keep_shapes(card: str, shapes: Shapes) -> Path:
    """Keep a table for cards of that name."""
    named = {" ".join(map(str, key)): asdict(shape) for key, shape in shapes.items()}
    path = shapes_file(card)
    write_whole(path, json.dumps(named, indent=1) + "\n")
    return path


def shapes_of(card: str) -> Shapes:
    """Give the table for cards of that name: the H200's, where none is kept.

    Raises:
        DeviceError: what is kept cannot be read.
    """
    path = shapes_file(card)
    if not path.exists():
        return dict(H200)
    try:
        kept = {
            _key(name): _shape(**fields) for name, fields in json.loads(path.read_text()).items()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise DeviceError(
            f"{path}: holds no layouts of threads that this version reads ({error}); delete it, "
            "and run seismo tune again"
        ) from None
    return H200 | kept


def _key(name: str) -> Key:
    axes, kind, box, order = name.split()
    return axes, kind, box, int(order)


def _shape(threads: list[int], **rest) -> Shape:
    x, y, z = threads
    return Shape((x, y, z), **rest)

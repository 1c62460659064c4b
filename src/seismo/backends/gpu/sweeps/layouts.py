"""Layouts of threads, and constants, that the kernel of a sweep has built in.

A layout is looked up in a table measured on a card, by the axes, the kind of formula
(`KernelFields.kind`), the kind of box and the order of the differences. A box is "inner", without a
layer; "layer", in a layer across y or z; "edge", where these meet; "side", in layers across x, a
few lanes wide; "corner", where these meet others; "curved", in rows that follow the ground; or
"sloping", in such rows where threads march (`march.along_slopes`).

`seismo tune` measures other cards: the results are kept beside the compiled kernels, by the card's
name.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.kernel_cache import kernel_cache
from seismo.backends.operators.derivatives import AXES
from seismo.errors import DeviceError, StorageError

WARP = 32  # threads that go together
IDLE = 0.15  # share of idle threads that rows of whole warps are worth
LINE_LANES = 8  # lanes of a line of memory, 128 bytes
MOST_ALONG_Z = 64  # threads of a block, says CUDA


@dataclass(frozen=True)
class BlockShape:
    """How a kernel's threads are laid out.

    Attributes:
        threads: of a block along x, y, z.
        planes: planes along z of a thread; several in a march, in order, with the lanes around a
            point along z in registers.
        ahead: planes further on that a march asks the second-level cache for; 0 for none.
        blocks_per_multiprocessor: that must fit together; limits the registers.
        tile: whether a march has the plane around its points in shared memory (`march_tile`).
        waves: that blocks must come in at least, or a march is cut in pieces; 0 for any number.
        slab: rows y whose blocks go through all planes before the next rows, so that planes behind
            are still in the second-level cache; 0 for all.
        together: neighbouring planes that a thread updates, reading shared lanes once; where the
            height of all boxes is a multiple.
        sectors: whether a thread of each sector of memory prefetches the arrays that a layer's
            update changes into the second-level cache, not each its own lane.
        asks: whether threads outside the layers prefetch, too, for formulas with fields of 16 bits;
            for marches across layers, whether they also prefetch the lanes of their registers.
        narrow: whether lanes of 16-bit fields are as at the ends of rows, of half as many numbers:
            where threads keep many of them in registers.
    """

    threads: tuple[int, int, int]
    planes: int = 1
    blocks_per_multiprocessor: int = 1
    ahead: int = 0
    tile: bool = False
    waves: int = 0
    slab: int = 0
    together: int = 1
    sectors: bool = False
    asks: bool = False
    narrow: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        """Threads of a block, and blocks of a multiprocessor."""
        return math.prod(self.threads), self.blocks_per_multiprocessor

    @property
    def slab_blocks(self) -> int:
        """Blocks along y of a slab; 0 without slabs."""
        return -(-self.slab // self.threads[1])

    def fitted(self, lanes: int) -> BlockShape:
        """Return the layout for rows of so many lanes: whole lines, unless many threads would idle.

        In a plane threads that would idle along x take rows further down, while warps reach over
        whole lines of memory. In a volume blocks become so narrow that few idle, but stay whole
        lines wide, so that all of a row's blocks begin on a line. Blocks of a row in a volume share
        rows evenly, or take several short ones.
        """
        # Trade threads along x for rows along z while whole warps would idle, down to a line of
        # lanes.
        width, y, z = self.threads
        if y == z == 1:
            return self._sharing(lanes)
        while y == 1 and width > LINE_LANES and 2 * z <= MOST_ALONG_Z and _idle(lanes, width):
            width = width // 2
            z = 2 * z
        if not _idle(lanes, width):
            return replace(self, threads=(width, y, z))
        # Whole lines: rows take the threads left over, in a march along y.
        narrower = range(width - width % LINE_LANES, 0, -LINE_LANES)
        for block_width in narrower if y > 1 else ():
            if not _idle(lanes, block_width):
                rows = width // block_width
                taken = (rows * y, z) if self.planes > 1 else (y, rows * z)
                return replace(self, threads=(block_width, *taken))
        # Else divide the row's lanes evenly among its blocks.
        return replace(self, threads=(-(-lanes // -(-lanes // width)), y, z))

    def _sharing(self, lanes: int) -> BlockShape:
        """Return blocks of whole lines that share a row of so many lanes evenly."""
        # Threads that a block has less than others take its next rows, or further blocks fit: as
        # many as leave each thread its registers, which warps are given as a whole.
        most = self.threads[0]
        share = -(-lanes // -(-lanes // most))
        width = -(-share // LINE_LANES) * LINE_LANES
        rows = max(1, most // width)
        warps = -(-width * rows // WARP)
        blocks = max(1, self.blocks_per_multiprocessor * most // (warps * WARP))
        return replace(self, threads=(width, rows, 1), blocks_per_multiprocessor=blocks)

    def blocks(self, sizes: tuple[int, int, int], lane: int) -> tuple[int, int, int]:
        """Blocks along x, y, z of a box of some points; of rows of slabs if there are any."""
        # The last slab is filled up with blocks behind the box, which find no points.
        x, y, z = (-(-size // n) for size, n in zip(sizes, self.points(lane), strict=True))
        rows = self.slab_blocks
        return x, -(-y // rows) * rows if rows else y, z

    def grid(self, sizes: tuple[int, int, int], lane: int, shots: int) -> tuple[int, int, int]:
        """Return the launch grid of a box of all shots (`SweepKernel`)."""
        # CUDA starts blocks along x first, then y, then z.
        x, y, z = self.blocks(sizes, lane)
        slab = self.slab_blocks
        return (x * slab, z, y // slab * shots) if slab else (x, y, z * shots)

    def points(self, lane: int) -> tuple[int, int, int]:
        """Points of a block along x, y, z."""
        x, y, z = self.threads
        return x * lane, y, z * self.planes * self.together


def _idle(lanes: int, width: int) -> bool:
    """Whether many threads of rows so wide would idle."""
    # Idle share of the last block of a row against the tolerated share.
    return lanes < (1.0 - IDLE) * -(-lanes // width) * width


LayoutKey = tuple[str, str, str, int]
Shapes = dict[LayoutKey, BlockShape]


def box_of(stretched: str) -> str:
    """Return the kind of box with these stretched axes."""
    if stretched == "x":
        return "side"
    # Number of stretched axes: 0 the interior, 1 a face, 2 an edge of the layers.
    return "corner" if "x" in stretched else ("inner", "layer", "edge")[len(stretched)]


def shape_for(shapes: Shapes, key: LayoutKey) -> BlockShape:
    """Look a layout up; the nearest order in the table counts."""
    # Layouts are measured at few orders; registers and reach vary slowly between them.
    *kind, order = key
    closest = min((k for k in shapes if list(k[:3]) == kind), key=lambda k: abs(k[3] - order))
    return shapes[closest]


def _alike(
    kinds: str, boxes: str, shape: BlockShape, axes: str = "xyz", orders: tuple[int, ...] = (4, 8)
) -> Shapes:
    return {
        (axes, kind, box, order): shape
        for kind, box, order in product(kinds.split(), boxes.split(), orders)
    }


_HIGH = (12, 16)  # orders

# Measured on an H200; orders 12 and 16, and interiors, on an H100 (`benchmarks/`).
H200: Shapes = {
    ("xyz", "second", "inner", 4): BlockShape((32, 8, 1), 8, 2),
    ("xyz", "second", "inner", 8): BlockShape((16, 8, 1), 10, 4, ahead=1),
    ("xyz", "second", "inner", 12): BlockShape((32, 8, 1), 10, 2, ahead=1),
    ("xyz", "second", "inner", 16): BlockShape((8, 16, 1), 8, 4, ahead=1),
    ("xyz", "second", "layer", 4): BlockShape((32, 8, 1), 64, 2, ahead=1),
    ("xyz", "second", "layer", 8): BlockShape((16, 4, 1), 64, 4, ahead=1),
    ("xyz", "second", "layer", 12): BlockShape((8, 8, 1), 64, 4, ahead=1, waves=3),
    ("xyz", "second", "layer", 16): BlockShape((8, 8, 1), 64, 4, ahead=2, tile=True, waves=3),
    **_alike("second", "edge", BlockShape((32, 2, 2), 1, 4), orders=(4, 8, 12)),
    ("xyz", "second", "edge", 16): BlockShape((8, 4, 4), 1, 4),
    ("xyz", "second", "side", 4): BlockShape((8, 16, 1), 1, 8),
    ("xyz", "second", "side", 8): BlockShape((8, 8, 2), 1, 10),
    ("xyz", "second", "side", 10): BlockShape((8, 4, 4), 1, 5),  # else registers spill
    # They spill, which costs less than fewer warps.
    **_alike("second", "side", BlockShape((8, 8, 4), 1, 4), orders=_HIGH),
    **_alike("second", "corner", BlockShape((8, 4, 4), 1, 4), orders=(4, 8, *_HIGH)),
    ("xyz", "divergence", "inner", 4): BlockShape((32, 4, 1), 1, 4, together=2),
    ("xyz", "divergence", "inner", 8): BlockShape((16, 8, 1), 1, 5),
    ("xyz", "divergence", "inner", 12): BlockShape((8, 4, 4), 1, 6),
    ("xyz", "divergence", "inner", 16): BlockShape((8, 4, 4), 1, 4),
    **_alike("divergence gradient", "layer edge", BlockShape((32, 8, 1), 1, 3)),
    ("xyz", "divergence", "layer", 4): BlockShape((32, 4, 1), 1, 6),
    **_alike("divergence gradient", "layer edge", BlockShape((8, 4, 4), 1, 4), orders=_HIGH),
    **_alike("divergence", "side", BlockShape((8, 8, 2), 1, 4), orders=(4, 8, 12)),
    ("xyz", "divergence", "side", 16): BlockShape((8, 8, 4), 1, 3),
    **_alike("divergence", "corner", BlockShape((8, 8, 4), 1, 3)),
    **_alike("divergence", "corner", BlockShape((8, 8, 2), 1, 3), orders=_HIGH),
    ("xyz", "gradient", "inner", 4): BlockShape((16, 8, 1), 1, 8),
    ("xyz", "gradient", "inner", 8): BlockShape((16, 8, 1), 1, 6),
    **_alike("gradient", "inner", BlockShape((8, 4, 4), 1, 5), orders=_HIGH),
    ("xyz", "gradient", "layer", 4): BlockShape((32, 4, 1), 1, 5),
    **_alike("gradient", "side corner", BlockShape((8, 8, 2), 1, 4)),
    ("xyz", "gradient", "side", 4): BlockShape((8, 4, 1), 1, 16, sectors=True),
    **_alike("gradient", "side", BlockShape((8, 4, 2), 1, 6), orders=_HIGH),
    **_alike("gradient", "corner", BlockShape((8, 8, 1), 1, 6), orders=_HIGH),
    **_alike("memory", "inner", BlockShape((128, 1, 1), 1, 3, slab=128, asks=True)),
    **_alike("memory", "edge", BlockShape((32, 2, 1), 1, 4)),
    ("xyz", "memory", "layer", 4): BlockShape((32, 4, 1), 1, 2, slab=64),
    ("xyz", "memory", "layer", 8): BlockShape((32, 4, 1), 1, 3, slab=64),
    **_alike("memory", "side corner", BlockShape((8, 4, 1), 1, 12, sectors=True)),
    ("xyz", "centred", "inner", 4): BlockShape((32, 4, 2), 1, 4),
    ("xyz", "centred", "inner", 8): BlockShape((8, 4, 2), 1, 8, slab=192, together=2),
    **_alike("centred", "layer edge", BlockShape((32, 8, 1), 1, 3), orders=(4,)),
    ("xyz", "centred", "edge", 8): BlockShape((8, 4, 2), 1, 12),
    ("xyz", "centred", "layer", 8): BlockShape((16, 4, 4), 1, 4, slab=64),
    **_alike("centred", "side corner", BlockShape((8, 8, 2), 1, 4)),
    ("xyz", "mixed", "inner", 4): BlockShape((32, 4, 2), 1, 2),
    ("xyz", "mixed", "inner", 8): BlockShape((8, 8, 2), 1, 4, slab=96),
    **_alike("mixed", "layer edge", BlockShape((32, 8, 1), 1, 2), orders=(4,)),
    ("xyz", "mixed", "edge", 8): BlockShape((8, 8, 1), 1, 6),
    ("xyz", "mixed", "layer", 8): BlockShape((8, 4, 4), 1, 3, slab=64),
    **_alike("mixed", "side corner", BlockShape((8, 8, 2), 1, 4)),
    **_alike("second", "inner", BlockShape((32, 1, 8), 1, 4), "xz"),
    **_alike("second", "layer", BlockShape((16, 1, 8), 1, 6), "xz"),
    **_alike("second", "side corner", BlockShape((8, 1, 16), 1, 4), "xz"),
    **_alike("divergence", "inner", BlockShape((32, 1, 4), 1, 8), "xz"),
    **_alike("divergence", "layer", BlockShape((32, 1, 4), 1, 2), "xz"),
    **_alike("divergence", "side corner", BlockShape((8, 1, 16), 1, 2), "xz"),
    **_alike("gradient", "inner", BlockShape((32, 1, 4), 1, 8), "xz"),
    **_alike("gradient", "layer", BlockShape((32, 1, 4), 1, 2), "xz"),
    **_alike("gradient", "side corner", BlockShape((8, 1, 16), 1, 2), "xz"),
    **_alike("centred mixed", "inner layer", BlockShape((32, 1, 4), 1, 4), "xz"),
    **_alike("centred mixed", "side corner", BlockShape((8, 1, 16), 1, 2), "xz"),
    **_alike("memory", "inner", BlockShape((32, 1, 4), 1, 4), "xz"),
    **_alike("memory", "layer", BlockShape((32, 1, 4), 1, 2), "xz"),
    **_alike("memory", "side corner", BlockShape((8, 1, 16), 1, 2), "xz"),
    # Rows that follow the ground read further along z: deep blocks share lanes.
    **_alike("divergence gradient memory", "curved", BlockShape((16, 2, 8), 1, 3)),
    **_alike("divergence gradient memory", "curved", BlockShape((16, 1, 16), 1, 2), "xz"),
    # Marches there, which keep contributions of slopes in registers.
    ("xyz", "divergence", "sloping", 4): BlockShape((32, 8, 1), 12, 1, waves=1),
    ("xyz", "gradient", "sloping", 4): BlockShape((16, 8, 1), 10, 2, ahead=2, waves=1),
}


# What differs for fields of 16 bits, measured on an H200 (elastic, order 4; acoustic, order 8).
FLOAT16: Shapes = {
    **_alike("second", "inner", BlockShape((32, 4, 1), 20, 2, ahead=1)),
    **_alike("second", "layer", BlockShape((64, 1, 1), 64, 4, ahead=1, asks=True)),
    **_alike("second", "side", BlockShape((8, 16, 1), 1, 8)),
    **_alike("second", "edge", BlockShape((16, 4, 1), 1, 6)),
    # Not measured: with wide lanes registers spill.
    ("xyz", "second", "inner", 12): BlockShape((32, 8, 1), 10, 2, ahead=1, narrow=True),
    ("xyz", "second", "inner", 16): BlockShape((8, 16, 1), 8, 4, ahead=1, narrow=True),
    ("xyz", "second", "layer", 12): BlockShape((8, 8, 1), 64, 4, ahead=1, waves=3, narrow=True),
    ("xyz", "second", "layer", 16): BlockShape((8, 8, 1), 64, 4, ahead=1, waves=3, narrow=True),
    **_alike("divergence gradient", "inner", BlockShape((16, 4, 2), 1, 5, asks=True)),
    **_alike("divergence", "layer", BlockShape((16, 4, 1), 1, 5)),
    **_alike("gradient", "layer", BlockShape((16, 4, 2), 1, 4)),
    **_alike("divergence", "edge", BlockShape((16, 4, 2), 1, 3)),
    **_alike("gradient", "edge", BlockShape((16, 8, 1), 1, 3)),
    **_alike("divergence gradient", "side", BlockShape((8, 16, 2), 1, 4)),
    **_alike("divergence", "corner", BlockShape((8, 4, 4), 1, 5)),
    **_alike("gradient", "corner", BlockShape((8, 4, 1), 1, 12, sectors=True)),
}


def shapes_file(card: str) -> Path:
    """Describe where the table of a card of that name is kept."""
    return kernel_cache().folder / f"shapes-{re.sub('[^A-Za-z0-9]+', '-', card)}.json"


def keep_shapes(card: str, shapes: Shapes) -> Path:
    """Store the entries of a table for cards of that name that differ from the defaults.

    Raises:
        StorageError: it cannot be kept for other processes.
    """
    # Only entries that differ from the built-in table are stored.
    changed = {key: shape for key, shape in shapes.items() if shape != H200.get(key)}
    named = {" ".join(map(str, key)): asdict(shape) for key, shape in changed.items()}
    path = shapes_file(card)
    cache = kernel_cache()
    cache.store(path.name, f"{json.dumps(named, indent=1)}\n".encode())
    if cache.problem:
        raise StorageError(cache.problem)
    return path


def shapes_of(card: str) -> Shapes:
    """Return the table for cards of that name: the H200's, where none is kept.

    Raises:
        DeviceError: the stored table cannot be read.
    """
    path = shapes_file(card)
    if not path.exists():
        return dict(H200)
    # An unreadable table is an error, not a reason to run slowly without a word.
    try:
        named = json.loads(kernel_cache().load(path.name) or b"")
        return H200 | {_key(name): _shape(**fields) for name, fields in named.items()}
    except (ValueError, TypeError, AttributeError):
        raise DeviceError(
            f"{path}: is damaged, or of another version; delete it, and run seismo tune again"
        ) from None


def _key(name: str) -> LayoutKey:
    axes, kind, box, order = name.split()
    return axes, kind, box, int(order)


def _shape(threads: list[int], **rest) -> BlockShape:
    x, y, z = threads
    return BlockShape((x, y, z), **rest)


@dataclass(frozen=True)
class SweepConstants:
    """What a sweep's kernel has built in.

    Attributes:
        tables: strides, coefficients, profiles, surface weights.
        stretched: axes whose derivatives pass through layer memory.
        closed: whether the rows lie under a free surface.
        masked: whether rows may end within a lane.
        half: half the order of the differences.
        writes: arrays that the formula changes; they come first.
        reads: arrays that it differentiates; they follow.
        columns: numbers of the arrays that it differentiates along z.
        arrays: all arrays.
        memories: memory variables of a point, where derivatives use them in order.
        short: whether each array is kept in 16 bits.
        scaled: whether derivatives along z are divided by how tall their cells are.
        asked_arrays: arrays prefetched into the second-level cache before a point is updated.
        unread: arrays overwritten without being read, which no march prefetches.
        short_memory: whether layers' memory is kept in 16 bits.
    """

    tables: KernelConstants
    stretched: str
    closed: bool
    masked: bool
    half: int
    writes: int
    reads: int
    columns: tuple[int, ...]
    arrays: int
    memories: int
    short: tuple[bool, ...]
    scaled: bool = False
    asked_arrays: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()
    short_memory: bool = False

    def __str__(self) -> str:
        """Name all that a kernel has built in; the profiles come as arguments."""
        # Profiles are passed as arrays; all other numbers are literals of the kernel's code, hence
        # hashed.
        t = self.tables
        shapes = [a.shape for a in (*t.profiles, t.up)]
        rest = (self.stretched, self.closed, self.masked, self.half, self.writes, self.reads)
        counts = self.arrays, self.memories, self.columns, self.short, self.asked_arrays
        kept = f"{t.inside} {t.even_layers} {self.short_memory}"
        return f"{digest_of(t)} {t.surface} {shapes} {rest} {counts} {kept}"


def digest_of(tables: KernelConstants) -> str:
    """Identify the numbers that kernels have built in."""
    digest = hashlib.sha256()
    for a in (tables.strides, tables.first, tables.second, tables.on_nodes, tables.numbers):
        digest.update(np.ascontiguousarray(a).tobytes())
    return digest.hexdigest()


def built_in(tables: KernelConstants) -> dict[str, list]:
    """Return coefficients and scalars as Python numbers: they become immediate operands."""
    coefficients = ("first", "second", "on_nodes")
    numbers = {name: [[float(c) for c in row] for row in getattr(tables, name)]
               for name in coefficients}  # fmt: skip
    return numbers | {"numbers": [float(c) for c in tables.numbers]}


def inner_nodes(tables: KernelConstants, axis: str, width: int) -> tuple[int, int]:
    """Return the first and the last node along an axis whose medium layers go on with.

    Along x they begin a lane of `width` numbers, so that loads stay aligned. Layers with a medium
    of their own read all of it.
    """
    if not tables.even_layers:
        return 0, tables.profiles[AXES.index(axis)].shape[1]
    low, high = tables.inside[AXES.index(axis)]
    lane = width if axis == "x" else 1
    return int((low - 1 - lane) // lane * lane), int(-(-high // lane) * lane)

"""Mesh of SPECFEM3D's own mesher as layers and blocks: Mesh_Par_file and its interfaces.

    interfaces   from the bottom up (below); then elements in each layer
    materials    id, rho, vp, vs, Q_kappa, Q_mu, anisotropy, domain (1 acoustic, 2 elastic)
    regions      first and last element along xi (x), eta (y), and from the bottom up; material

The last interface is the ground, and becomes topography where it is not flat. Below it contacts are
level here: contacts that bend, as interfaces do or rows of elements between them, lie at their mean
depth, which is said. Q of P follows from the moduli's (Dahlen & Tromp 1998, 9.59): 1/Qp = (1
- r) / Q_kappa + r / Q_mu, r = 4/3 (vs/vp)^2; 9999 stands for no loss.

Interfaces are elevations on regular grids, from the bottom up.

2                                            number of interfaces
.true. 161 144 316000.d0 3655000.d0 2.d4 2.d4    in metres; points, first ones, spacings of x, y
interface1.dat                               elevations in m, x running fastest
.false. 1401 1001 -121.d0 32.d0 5.d-3 5.d-3  in degrees; the last one is the ground
interface2.dat
11                                           elements below each
4
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.converted_run import ConvertedRun, short
from seismo.formats.reading import read_lines
from seismo.formats.specfem.files import ParameterFile, fortran_number, read_parameters

_FLAT = 1e-3  # m
_MARGIN = 4  # points of an interface beyond the mesh that are kept

MeshLimits = tuple[tuple[float, float], tuple[float, float]]
_LOSSLESS = 9998.0
_GLL_STEPS = 4  # between the 5 points of an element along each axis


@dataclass(frozen=True)
class Interface:
    """Elevations (y, x) m at points of x and y, which grow.

    Attributes:
        path: of the file.
        ticks: x and y of the points, in m or degrees.
        elevations: of the points.
        in_metres: whether x and y are.
    """

    path: Path
    ticks: tuple[np.ndarray, np.ndarray]
    elevations: np.ndarray
    in_metres: bool

    @property
    def is_flat(self) -> bool:
        """Whether it has a single elevation."""
        return float(np.ptp(self.elevations)) <= _FLAT

    def within(self, limits: MeshLimits) -> Interface:
        """Return the part within limits of x and y, with a few points on all sides."""
        kept = []
        for ticks, (low, high) in zip(self.ticks, limits, strict=True):
            first = int(np.searchsorted(ticks, low)) - _MARGIN
            last = int(np.searchsorted(ticks, high)) + _MARGIN
            size = ticks.size
            kept.append(slice(min(max(0, first), size - 2), max(2, min(size, last))))
        x, y = (ticks[span] for ticks, span in zip(self.ticks, kept, strict=True))
        return Interface(self.path, (x, y), self.elevations[kept[1], kept[0]], self.in_metres)

    def topography(self, run: ConvertedRun, crs: str) -> dict[str, Any]:
        """Add its elevations as a file beside the scenario; return the section `topography`.

        Args:
            run: that is converted.
            crs: projection of the mesh, "" of a mesh in x and y of the grid.
        """
        x, y = self.ticks
        if not crs:
            stream = io.BytesIO()
            np.save(stream, self.elevations)
            return {
                "type": "file", "path": run.add_side_file("ground.npy", stream.getvalue()),
                "spacing": {"x": short(x[1] - x[0]), "y": short(y[1] - y[0])},
                "origin": {"x": short(x[0]), "y": short(y[0])}, "outside": "nearest",
            }  # fmt: skip
        rows = [
            f"{float(along_x):.9g} {float(other):.9g} {float(elevation):.8g}\n"
            for other, row in zip(y, self.elevations, strict=True)
            for along_x, elevation in zip(x, row, strict=True)
        ]
        name = run.add_side_file("ground.xyz", "".join(rows).encode())
        placed = {"crs": crs} if self.in_metres else {"coordinates": "degrees"}
        return {"type": "file", "path": name, **placed, "outside": "nearest"}


def read_interfaces(path: Path) -> tuple[list[Interface], list[int]]:
    """Return the interfaces from the bottom up, and the elements below each.

    Raises:
        ScenarioError: a file is missing or malformed.
    """
    rows = read_lines(path, "expected interfaces of SPECFEM3D")
    try:
        count = int(rows[0][1].split()[0])
        described = rows[1 : 1 + 2 * count]
        counts = [int(line.split()[0]) for _, line in rows[1 + 2 * count : 1 + 3 * count]]
    except (ValueError, IndexError):
        raise ScenarioError(f"{path}: is no list of interfaces of SPECFEM3D") from None
    if len(described) != 2 * count or len(counts) != count or min(counts, default=0) < 1:
        raise ScenarioError(f"{path}: {count} interfaces need two lines and a count of elements")
    pairs = zip(described[::2], described[1::2], strict=True)
    return [_interface(path, grid, name) for grid, (_, name) in pairs], counts


def _interface(path: Path, grid: tuple[int, str], name: str) -> Interface:
    where = f"{path}:{grid[0]}"
    flag, *words = grid[1].split()
    if len(words) < 6 or flag.strip(".").lower() not in ("true", "false"):
        raise ScenarioError(
            f"{where}: expected .true. or .false., and six numbers: points, first x and y, spacings"
        )
    columns, rows, *numbers = (fortran_number(word, where) for word in words[:6])
    shape = int(rows), int(columns)
    file = path.parent / name.split()[0]
    elevations = [
        fortran_number(word, f"{file}:{number}")
        for number, line in read_lines(file, "expected elevations of an interface")
        for word in line.split()
    ]
    if min(shape) < 2 or len(elevations) < shape[0] * shape[1]:
        raise ScenarioError(
            f"{file}: has {len(elevations)} elevations, expected {shape[1]} x {shape[0]} ({where})"
        )
    if not all(numbers[2:]):
        raise ScenarioError(f"{where}: a spacing is 0")
    surface = np.array(elevations[: shape[0] * shape[1]]).reshape(shape)
    ticks = []
    for axis, size in ((0, shape[1]), (1, shape[0])):
        first = numbers[axis]
        step = numbers[2 + axis]
        ticks.append(first + step * np.arange(size))
        if step < 0.0:
            ticks[-1] = ticks[-1][::-1]
            surface = np.flip(surface, 1 - axis)
    return Interface(file, (ticks[0], ticks[1]), surface, flag.strip(".").lower() == "true")


@dataclass(frozen=True)
class MeshBox:
    """The mesh: limits of x, y in m or degrees, depths (m) of rows of elements from the top.

    Attributes:
        limits: of x and y.
        elements: along x and y.
        boundaries: z of the boundaries of rows of elements, from the bottom up, downwards from the
            top of the mesh.
        top: elevation in m at z = 0: the top of a flat mesh, else 0.
        in_metres: whether the limits are.
        parameters: Mesh_Par_file.
        ground: the top of the mesh where it is not flat, else None.
        bent: by index of a boundary, the interface by which it is not level.
    """

    limits: tuple[tuple[float, float], tuple[float, float]]
    elements: tuple[int, int]
    boundaries: tuple[float, ...]
    top: float
    in_metres: bool
    parameters: ParameterFile
    ground: Interface | None
    bent: dict[int, Interface]

    @property
    def thickness(self) -> float:
        """Height of the mesh in m, from its bottom to its highest point."""
        highest = 0.0 if self.ground is None else float(self.ground.elevations.max())
        return self.boundaries[0] + highest

    @property
    def crs(self) -> str:
        """Projection of a mesh in degrees, as PROJ has it; "" of a mesh in metres."""
        if self.in_metres:
            return ""
        zone = int(self.parameters.number("UTM_PROJECTION_ZONE"))
        south = " +south" if zone < 0 else ""
        return f"+proj=utm +zone={abs(zone)} +ellps=WGS84{south}"

    def levelled(self) -> MeshBox:
        """Return it with level ground, at z = 0, at its mean elevation."""
        shift = self.boundaries[-1]
        depths = tuple(depth - shift for depth in self.boundaries)
        return replace(self, boundaries=depths, top=self.top - shift, ground=None)

    def spacing_along_z(self) -> float:
        """Return a spacing in m that divides the depth, near that of the points of elements."""
        least = min(a - b for a, b in pairwise(self.boundaries)) / _GLL_STEPS
        return self.thickness / max(1, round(self.thickness / least))

    def count(self, axis: int) -> int:
        """Return the intervals between points of elements along x (0) or y (1)."""
        return self.elements[axis] * _GLL_STEPS


@dataclass(frozen=True)
class MeshRegion:
    """A box of elements of a material.

    Attributes:
        label: file, line and text, for messages.
        spans: first and last element along x and y, from 1.
        rows: first and last element from the bottom up.
        material: its number.
    """

    label: str
    spans: tuple[tuple[int, int], tuple[int, int]]
    rows: tuple[int, int]
    material: int

    def is_whole(self, mesh: MeshBox) -> bool:
        """Whether it reaches over the whole mesh along x and y."""
        return all(
            low <= 1 and high >= count
            for (low, high), count in zip(self.spans, mesh.elements, strict=True)
        )


def read_mesh(path: Path) -> MeshBox:
    """Read a Mesh_Par_file and its interfaces.

    Raises:
        ScenarioError: something is missing or malformed.
    """
    mesh = read_parameters(path)
    limits = [
        (mesh.number(f"{name}_MIN"), mesh.number(f"{name}_MAX"))
        for name in ("LONGITUDE", "LATITUDE")
    ]
    if any(low >= high for low, high in limits):
        raise ScenarioError(f"{path}: LONGITUDE_MIN and LATITUDE_MIN have to be below the MAX")
    in_metres = mesh.flag("SUPPRESS_UTM_PROJECTION")
    read, counts = read_interfaces(
        path.parent / mesh.texts.get("INTERFACES_FILE", "interfaces.dat")
    )
    interfaces = [
        line.within((limits[0], limits[1])) if line.in_metres == in_metres else line
        for line in read
    ]
    levels, bent = _rows(-abs(mesh.number("DEPTH_BLOCK_KM")) * 1000.0, interfaces, counts)
    ground = None if interfaces[-1].is_flat else interfaces[-1]
    if ground is not None and in_metres and not ground.in_metres:
        raise ScenarioError(
            f"{ground.path}: is in degrees, and the mesh in metres; write both in metres"
        )
    top = levels[-1] if ground is None else 0.0
    return MeshBox(
        (limits[0], limits[1]),
        (int(mesh.number("NEX_XI")), int(mesh.number("NEX_ETA"))),
        tuple(top - level for level in levels),
        top,
        in_metres,
        mesh,
        ground,
        bent,
    )


def _rows(
    bottom: float, interfaces: list[Interface], counts: list[int]
) -> tuple[list[float], dict[int, Interface]]:
    """Return mean elevations of the boundaries of rows of elements, and the cause of any bends."""
    levels = [bottom]
    bent: dict[int, Interface] = {}
    for interface, count in zip(interfaces, counts, strict=True):
        low = levels[-1]
        top = float(interface.elevations.mean())
        if top <= low:
            raise ScenarioError(
                f"{interface.path}: an interface at {top:g} m is not above {low:g} m"
            )
        below = bent.get(len(levels) - 1)
        bends = below if interface.is_flat else interface
        for n in range(1, count + 1):
            if bends is not None and not (n == count and interface.is_flat):
                bent[len(levels)] = bends
            levels.append(low + (top - low) * n / count)
    return levels, bent


def model_of(run: ConvertedRun, mesh: MeshBox, attenuates: bool) -> list[dict[str, Any]]:
    """Return the parts of the model: layers of regions over the whole mesh, then blocks.

    Raises:
        ScenarioError: a table is malformed, or elements have no material.
    """
    materials = _materials(run, mesh.parameters, attenuates)
    regions = _regions(mesh, materials)
    rows: list[dict[str, Any] | None] = [None] * (len(mesh.boundaries) - 1)
    blocks: list[dict[str, Any]] = []
    for region in regions:
        first, last = region.rows
        if region.is_whole(mesh) and not blocks:
            for index in range(max(0, first - 1), min(last, len(rows))):
                rows[index] = materials[region.material]
        elif mesh.in_metres:
            # A block keeps properties that it does not give: a block without loss has to say so.
            lossless = {"qp": math.inf, "qs": math.inf} if attenuates else {}
            blocks.append(_block(mesh, region) | lossless | materials[region.material])
        else:
            reason = "parts of a mesh in degrees are not blocks here; add it by hand"
            run.leave_out(region.label, reason, alters=True)
    for index in (n for n, material in enumerate(rows) if material is None):
        rows[index] = materials[_background(mesh, regions, index + 1)]
    _name_bent_contacts(run, mesh, rows, regions)
    layers: list[dict[str, Any]] = []
    previous = None
    for index in reversed(range(len(rows))):
        material = rows[index]
        if material is not None and material is not previous:
            layers.append({"top": short(mesh.boundaries[index + 1]), **material})
        previous = material
    return [{"type": "layers", "layers": layers}, *blocks]


def _regions(mesh: MeshBox, materials: dict[int, dict[str, Any]]) -> list[MeshRegion]:
    regions = []
    for number, row in _table(mesh.parameters, "NREGIONS"):
        where = f"{mesh.parameters.path}:{number}"
        if len(row) != 7:
            raise ScenarioError(f"{where}: a region has {len(row)} numbers, expected 7")
        first_x, last_x, first_y, last_y, first, last, name = map(int, row)
        if name not in materials:
            raise ScenarioError(f"{where}: there is no material {name}")
        # -1 stands for the last element.
        last_x, last_y = (
            count if last < 0 else last
            for last, count in zip((last_x, last_y), mesh.elements, strict=True)
        )
        label = f"{where}: region {' '.join(map(str, map(int, row)))}"
        regions.append(
            MeshRegion(label, ((first_x, last_x), (first_y, last_y)), (first, last), name)
        )
    return regions


def _background(mesh: MeshBox, regions: list[MeshRegion], row: int) -> int:
    """Return the first material of a row of elements that regions fill together.

    Raises:
        ScenarioError: they leave elements out.
    """
    filled = np.zeros(mesh.elements, bool)
    touching = [region for region in regions if region.rows[0] <= row <= region.rows[1]]
    for region in touching:
        filled[tuple(slice(first - 1, last) for first, last in region.spans)] = True
    if not filled.all():
        raise ScenarioError(
            f"{mesh.parameters.path}: no region gives row {row} of elements, or all of it"
        )
    return touching[0].material


def _name_bent_contacts(
    run: ConvertedRun, mesh: MeshBox, rows: list[dict[str, Any] | None], regions: list[MeshRegion]
) -> None:
    """Record contacts of materials, below the ground, that are level here and bend in the mesh."""
    ends = {
        end
        for region in regions
        if not region.is_whole(mesh)
        for end in (region.rows[0] - 1, region.rows[1])
    }
    for index, interface in mesh.bent.items():
        if index < len(rows) and (index in ends or rows[index] is not rows[index - 1]):
            run.leave_out(
                str(interface.path),
                f"a contact that follows it is level here, at its mean z = "
                f"{mesh.boundaries[index]:.6g} m; a part of type file or volume may bend",
                alters=True,
            )


def _block(mesh: MeshBox, region: MeshRegion) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "block"}
    axes = zip("xy", region.spans, mesh.limits, mesh.elements, strict=True)
    for axis, (first, last), (low, high), count in axes:
        size = (high - low) / count
        block[axis] = [short(low + (first - 1) * size), short(low + last * size)]
    below, above = region.rows
    top = mesh.boundaries[above]
    if mesh.ground is not None and above == len(mesh.boundaries) - 1:
        top = mesh.boundaries[0] - mesh.thickness  # of the highest ground
    return block | {"z": [short(top), short(mesh.boundaries[below - 1])]}


def _materials(
    run: ConvertedRun, mesh: ParameterFile, attenuates: bool
) -> dict[int, dict[str, Any]]:
    materials = {}
    for number, row in _table(mesh, "NMATERIALS"):
        where = f"{mesh.path}:{number}"
        if len(row) not in (7, 8):
            raise ScenarioError(f"{where}: a material has {len(row)} numbers, expected 8")
        name, rho, vp, vs, *loss = row
        kappa, mu = loss[:2] if len(row) == 8 else (_LOSSLESS, loss[0])
        anisotropy, domain = loss[-2:]
        if domain not in (1, 2) or name < 0:
            raise ScenarioError(
                f"{where}: material {name:g} is neither acoustic nor elastic with given values; "
                "poroelastic rock and tomographic files are not carried over"
            )
        if domain == 1:
            run.leave_out(
                f"{where}: material {name:g} is a fluid",
                "a source in it would be of another strength: SPECFEM's are of its potential",
            )
        if anisotropy:
            reason = "its constants are in SPECFEM: the rock is isotropic here"
            run.leave_out(f"{where}: anisotropy {anisotropy:g}", reason, alters=True)
        rock = {"vp": short(vp), "vs": short(0.0 if domain == 1 else vs), "rho": short(rho)}
        if attenuates:
            rock |= _quality_factors(vp, rock["vs"], kappa, mu)
        materials[int(name)] = rock
    return materials


def _quality_factors(vp: float, vs: float, kappa: float, mu: float) -> dict[str, Any]:
    """Return qp and qs of the quality factors of the moduli; infinite ones are left out."""
    ratio = 4.0 / 3.0 * (vs / vp) ** 2
    loss_kappa = 0.0 if kappa >= _LOSSLESS else 1.0 / kappa
    loss_mu = 0.0 if mu >= _LOSSLESS or not vs else 1.0 / mu
    loss = (1.0 - ratio) * loss_kappa + ratio * loss_mu
    factors = {"qp": short(1.0 / loss)} if loss else {}
    return factors | ({"qs": short(1.0 / loss_mu)} if loss_mu else {})


def _table(mesh: ParameterFile, name: str) -> list[tuple[int, list[float]]]:
    """Return the rows of numbers after a line NAME = count, with their line numbers."""
    count = int(mesh.number(name))
    start = mesh.lines[name]
    rows = [(n, line) for n, line in mesh.rows if n > start and "=" not in line][:count]
    if len(rows) < count:
        raise ScenarioError(f"{mesh.where(name)}: {len(rows)} lines of numbers follow")
    return [
        (n, [fortran_number(word, f"{mesh.path}:{n}") for word in line.split()]) for n, line in rows
    ]

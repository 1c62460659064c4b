"""The mesh of SPECFEM3D's own mesher as layers and blocks: Mesh_Par_file and its interfaces.

    interfaces   from the bottom up, each on a grid of elevations in m; then elements in each layer
    materials    id, rho, vp, vs, Q_kappa, Q_mu, anisotropy, domain (1 acoustic, 2 elastic)
    regions      first and last element along xi (x), eta (y), and from the bottom up; material

Flat interfaces alone are carried over. Q of P follows from those of the moduli (Dahlen & Tromp
1998, 9.59): 1/Qp = (1 - r) / Q_kappa + r / Q_mu, r = 4/3 (vs/vp)^2; 9999 stands for no loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError
from seismo.scenario.convert.converted_run import ConvertedRun, short
from seismo.scenario.convert.specfem_files import (
    ParameterFile,
    fortran_number,
    read_parameters,
)
from seismo.scenario.text_files import read_lines

_LOSSLESS = 9998.0
_FLAT = 1e-3  # m
_GLL_STEPS = 4  # between the 5 points of an element along each axis


@dataclass(frozen=True)
class MeshBox:
    """The mesh: limits of x, y in m or degrees, depths (m) of rows of elements from the top.

    Attributes:
        limits: of x and y.
        elements: along x and y.
        boundaries: z of the boundaries of rows of elements, from the bottom up, downwards from the
            top of the mesh.
        top: elevation in m of the top of the mesh.
        in_metres: whether the limits are.
        parameters: Mesh_Par_file.
    """

    limits: tuple[tuple[float, float], tuple[float, float]]
    elements: tuple[int, int]
    boundaries: tuple[float, ...]
    top: float
    in_metres: bool
    parameters: ParameterFile

    @property
    def thickness(self) -> float:
        """Depth of the bottom in m."""
        return self.boundaries[0]

    def spacing_along_z(self) -> float:
        """Return a spacing in m that divides the depth, near that of the points of elements."""
        least = min(a - b for a, b in pairwise(self.boundaries)) / _GLL_STEPS
        return self.thickness / max(1, round(self.thickness / least))

    def count(self, axis: int) -> int:
        """Return the intervals between points of elements along x (0) or y (1)."""
        return self.elements[axis] * _GLL_STEPS


def read_mesh(path: Path) -> MeshBox:
    """Read a Mesh_Par_file and its interfaces.

    Raises:
        ScenarioError: something is missing or malformed, or an interface is not flat.
    """
    mesh = read_parameters(path)
    bottom = -abs(mesh.number("DEPTH_BLOCK_KM")) * 1000.0
    interfaces = path.parent / mesh.texts.get("INTERFACES_FILE", "interfaces.dat")
    elevations, counts = _interfaces(interfaces)
    levels = [bottom]
    for top, count in zip(elevations, counts, strict=True):
        low = levels[-1]
        if top <= low:
            raise ScenarioError(f"{interfaces}: an interface at {top:g} m is not above {low:g} m")
        levels += [low + (top - low) * (n + 1) / count for n in range(count)]
    limits = [
        (mesh.number(f"{name}_MIN"), mesh.number(f"{name}_MAX"))
        for name in ("LONGITUDE", "LATITUDE")
    ]
    if any(low >= high for low, high in limits):
        raise ScenarioError(f"{path}: LONGITUDE_MIN and LATITUDE_MIN have to be below the MAX")
    return MeshBox(
        (limits[0], limits[1]),
        (int(mesh.number("NEX_XI")), int(mesh.number("NEX_ETA"))),
        tuple(elevations[-1] - level for level in levels),
        elevations[-1],
        mesh.flag("SUPPRESS_UTM_PROJECTION"),
        mesh,
    )


def model_of(run: ConvertedRun, mesh: MeshBox, attenuates: bool) -> list[dict[str, Any]]:
    """Return the parts of the model: layers of regions over the whole mesh, then blocks.

    Raises:
        ScenarioError: a table is malformed, or elements have no material.
    """
    materials = _materials(run, mesh.parameters, attenuates)
    rows: list[dict[str, Any] | None] = [None] * (len(mesh.boundaries) - 1)
    blocks: list[dict[str, Any]] = []
    for number, row in _table(mesh.parameters, "NREGIONS"):
        if len(row) != 7:
            raise ScenarioError(
                f"{mesh.parameters.path}:{number}: a region has {len(row)} numbers, expected 7"
            )
        first_x, last_x, first_y, last_y, first, last, name = map(int, row)
        if name not in materials:
            raise ScenarioError(f"{mesh.parameters.path}:{number}: there is no material {name}")
        spans = ((first_x, last_x), (first_y, last_y))
        is_whole = all(
            low <= 1 and high >= count
            for (low, high), count in zip(spans, mesh.elements, strict=True)
        )
        if is_whole and not blocks:
            for index in range(max(0, first - 1), min(last, len(rows))):
                rows[index] = materials[name]
        elif mesh.in_metres:
            # A block keeps what it does not give: one without loss has to say so.
            lossless = {"qp": math.inf, "qs": math.inf} if attenuates else {}
            blocks.append(_block(mesh, spans, (first, last)) | lossless | materials[name])
        else:
            where = f"{mesh.parameters.path}:{number}: region {' '.join(map(str, map(int, row)))}"
            run.leave_out(where, "parts of a mesh in degrees are not blocks here; add it by hand")
    if None in rows:
        missing = rows.index(None) + 1
        raise ScenarioError(f"{mesh.parameters.path}: no region gives row {missing} of elements")
    layers: list[dict[str, Any]] = []
    previous = None
    for index in reversed(range(len(rows))):
        material = rows[index]
        if material is not None and material is not previous:
            layers.append({"top": short(mesh.boundaries[index + 1]), **material})
        previous = material
    return [{"type": "layers", "layers": layers}, *blocks]


def _block(
    mesh: MeshBox, spans: tuple[tuple[int, int], ...], rows: tuple[int, int]
) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "block"}
    axes = zip("xy", spans, mesh.limits, mesh.elements, strict=True)
    for axis, (first, last), (low, high), count in axes:
        size = (high - low) / count
        block[axis] = [short(low + (first - 1) * size), short(low + last * size)]
    return block | {"z": [short(mesh.boundaries[rows[1]]), short(mesh.boundaries[rows[0] - 1])]}


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
            run.leave_out(f"{where}: anisotropy {anisotropy:g}", "its constants are in SPECFEM")
        rock = {"vp": short(vp), "vs": short(0.0 if domain == 1 else vs), "rho": short(rho)}
        if attenuates:
            rock |= _quality_factors(vp, rock["vs"], kappa, mu)
        materials[int(name)] = rock
    return materials


def _quality_factors(vp: float, vs: float, kappa: float, mu: float) -> dict[str, Any]:
    """Return qp and qs of the quality factors of the moduli; those without loss are left out."""
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


def _interfaces(path: Path) -> tuple[list[float], list[int]]:
    """Return elevations in m of flat interfaces and the elements of the layers below them."""
    rows = read_lines(path, "expected interfaces of SPECFEM3D")
    try:
        count = int(rows[0][1].split()[0])
        described = rows[1 : 1 + 2 * count]
        counts = [int(line.split()[0]) for _, line in rows[1 + 2 * count : 1 + 3 * count]]
    except (ValueError, IndexError):
        raise ScenarioError(f"{path}: is no list of interfaces of SPECFEM3D") from None
    if len(described) != 2 * count or len(counts) != count or min(counts, default=0) < 1:
        raise ScenarioError(f"{path}: {count} interfaces need two lines and a count of elements")
    return [_elevation(path.parent / name.split()[0]) for _, name in described[1::2]], counts


def _elevation(path: Path) -> float:
    """Return the elevation in m of an interface.

    Raises:
        ScenarioError: it is not flat.
    """
    elevations = [
        fortran_number(word, f"{path}:{number}")
        for number, line in read_lines(path, "expected elevations of an interface")
        for word in line.split()
    ]
    low = min(elevations, default=0.0)
    high = max(elevations, default=0.0)
    if high - low > _FLAT:
        raise ScenarioError(
            f"{path}: from {low:g} to {high:g} m: flat interfaces alone are carried over; the "
            "ground is flat here, and dipping contacts are parts of type interface"
        )
    return low

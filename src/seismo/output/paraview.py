"""Side files for ParaView, which say where the numbers of a results file are.

Each series of snapshots, and each set of maps, is a file beside the results. Fields and times stay
in the results file. Depth is down on the screen: z points up in these files, from minus the z of
the grid. An axis that was cut has the single coordinate of its plane.

VTKHDF (https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format/) is read by ParaView
from 5.13 on, and by VTK. XDMF is read by older ones, too, and by VisIt; over topography it has the
points of a structured grid, which stand in an HDF5 file of their own beside it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as Xml

import h5py
import numpy as np

from seismo.errors import ScenarioError
from seismo.output.run_directory import (
    final_path,
    plain_name,
    refusal,
    write_file,
)
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import GroundRecord, MapSet, SnapshotSeries

Format = Literal["vtkhdf", "xdmf"]
UNEVEN = 1e-6  # of a spacing, by which distances along an axis may differ


def write_side_files(results: RunResults, kind: Format = "vtkhdf") -> list[Path]:
    """Write ``<results>-<name>.<kind>`` for all snapshots and maps; give the paths.

    Raises:
        ScenarioError: there are none, or the distances along an axis differ (VTKHDF).
        StorageError: a file cannot be written.
    """
    groups: list[tuple[str, SnapshotSeries | MapSet, Iterable[float]]] = [
        *((f"snapshots/{name}", s, s.time) for name, s in results.snapshots.items() if len(s)),
        *((f"maps/{name}", m, range(len(m.shots))) for name, m in results.maps.items() if len(m)),
    ]
    if not groups:
        raise ScenarioError(
            f"{results.path}: holds no snapshots and no maps; add output.snapshots to the scenario"
        )
    make = {"vtkhdf": _vtkhdf, "xdmf": _xdmf}[kind]
    written = []
    for group, arrays, times in groups:
        name = plain_name(arrays.name.replace("/", "-"), results.path)
        path = final_path(results.path.with_name(f"{results.path.stem}-{name}.{kind}"))
        try:
            if kind == "xdmf" and arrays.ground is not None:
                points = path.with_name(_points_name(results.path.name, arrays))
                write_file(points, _points(arrays, arrays.ground))
                written.append(points)
            write_file(path, make(results.path.name, group, arrays, [float(t) for t in times]))
        except OSError as error:
            raise refusal(path, error) from error
        written.append(path)
    return written


def _vtkhdf(results: str, group: str, arrays: SnapshotSeries | MapSet, times: list[float]) -> bytes:
    """Return an image of as many steps, whose arrays are links into the results file."""
    if arrays.ground is not None:
        raise ScenarioError(
            f"{arrays.name}: its rows follow the ground, which VTKHDF has no kind of grid for; use "
            "--format xdmf"
        )
    axes = _coordinates(arrays)
    spacings = [_spacing(arrays.name, axis, coordinates) for axis, coordinates in axes.items()]
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        image = file.create_group("VTKHDF", track_order=True)
        image.attrs["Version"] = (2, 0)
        image.attrs.create("Type", np.bytes_("ImageData"))
        image.attrs["WholeExtent"] = [n for c in axes.values() for n in (0, len(c) - 1)]
        image.attrs["Origin"] = [coordinates[0] for coordinates in axes.values()]
        image.attrs["Spacing"] = spacings
        image.attrs["Direction"] = np.diag([1.0, 1.0, -1.0]).ravel()  # z of the grid is down
        steps = image.create_group("Steps")
        steps.attrs["NSteps"] = len(times)
        steps["Values"] = times
        points = image.create_group("PointData")
        for name in arrays:
            if len(times) > 1:
                points[name] = h5py.ExternalLink(results, f"/{group}/{name}")
            else:  # an image without an axis of times, for a single time
                shape = arrays.shape(name)
                layout = h5py.VirtualLayout(shape[1:], "float32")
                layout[...] = h5py.VirtualSource(results, f"{group}/{name}", shape)[0]
                points.create_virtual_dataset(name, layout)
    return content.getvalue()


def _coordinates(arrays: SnapshotSeries | MapSet) -> dict[str, np.ndarray]:
    """Return the coordinates in m along x, y and z, which points up here."""
    axes = {a: arrays.axes.get(a, np.array([arrays.plane.get(a, 0.0)])) for a in "xyz"}
    return axes | {"z": -axes["z"]}


def _spacing(name: str, axis: str, coordinates: np.ndarray) -> float:
    """Return the distance of neighbours along an axis, 1 m along a cut axis."""
    if len(coordinates) == 1:
        return 1.0
    distances = np.abs(np.diff(coordinates))
    mean = float(distances.mean())
    if np.abs(distances - mean).max() > UNEVEN * mean:
        raise ScenarioError(
            f"{name}: its points are {distances.min():g} to {distances.max():g} m apart along "
            f"{axis}, which VTKHDF has no kind for; use --format xdmf"
        )
    return mean


def _xdmf(results: str, group: str, arrays: SnapshotSeries | MapSet, times: list[float]) -> bytes:
    """Return XML with a rectilinear grid for each time."""
    root = Xml.Element("Xdmf", Version="2.0")
    series = Xml.SubElement(
        Xml.SubElement(root, "Domain"), "Grid", Name=arrays.name, GridType="Collection",
        CollectionType="Temporal",
    )  # fmt: skip
    for index, time in enumerate(times):
        series.append(_frame(f"{results}:/{group}", arrays, index, time))
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def _frame(source: str, arrays: SnapshotSeries | MapSet, index: int, time: float) -> Xml.Element:
    axes = _coordinates(arrays)
    counts = " ".join(str(len(axes[a])) for a in "zyx")
    grid = Xml.Element("Grid", Name=f"{index}", GridType="Uniform")
    Xml.SubElement(grid, "Time", Value=repr(time))
    if arrays.ground is None:
        Xml.SubElement(grid, "Topology", TopologyType="3DRectMesh", Dimensions=counts)
        geometry = Xml.SubElement(grid, "Geometry", GeometryType="VXVYVZ")
        geometry.extend(_axis_items(source, arrays, axes))
    else:
        Xml.SubElement(grid, "Topology", TopologyType="3DSMesh", Dimensions=counts)
        geometry = Xml.SubElement(grid, "Geometry", GeometryType="XYZ")
        shape = (*(len(axes[a]) for a in "zyx"), 3)
        address = f"{_points_name(source.partition(':')[0], arrays)}:/points"
        geometry.append(_data_item(address, shape, 4))
    for name in arrays:
        shape = arrays.shape(name)
        attribute = Xml.SubElement(
            grid, "Attribute", Name=name, Center="Node", AttributeType="Scalar"
        )
        slab = Xml.SubElement(attribute, "DataItem", ItemType="HyperSlab", Dimensions=counts)
        corners = [(index, *[0] * (len(shape) - 1)), (1,) * len(shape), (1, *shape[1:])]
        text = " ".join(str(n) for corner in corners for n in corner)
        selection = Xml.SubElement(
            slab, "DataItem", Dimensions=f"3 {len(shape)}", Format="XML", NumberType="Int"
        )
        selection.text = text
        slab.append(_data_item(f"{source}/{name}", shape, 4))
    return grid


def _points_name(results: str, arrays: SnapshotSeries | MapSet) -> str:
    """Return the name of the file with the points of the results' arrays."""
    return f"{Path(results).stem}-{arrays.name.replace('/', '-')}-points.h5"


def _points(arrays: SnapshotSeries | MapSet, ground: GroundRecord) -> bytes:
    """Return a file of the points (z, y, x, 3) of arrays over topography, z up."""
    axes = _coordinates(arrays)
    lines = {a: -axes[a] if a == "z" else axes[a] for a in "zyx"}
    points = np.empty((*(len(line) for line in lines.values()), 3), np.float32)
    points[..., 0] = lines["x"]
    points[..., 1] = lines["y"][:, None]
    points[..., 2] = -ground.points(lines, {})
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.create_dataset("points", data=points, compression="gzip")
    return content.getvalue()


def _axis_items(
    source: str, arrays: SnapshotSeries | MapSet, axes: dict[str, np.ndarray]
) -> Iterator[Xml.Element]:
    """Return the coordinates along x, y, z: numbers where the results file has others or none."""
    for axis, coordinates in axes.items():
        if axis in arrays.axes and axis != "z":
            yield _data_item(f"{source}/{axis}", coordinates.shape, 8)
        else:
            numbers = Xml.Element(
                "DataItem", Dimensions=f"{len(coordinates)}", Format="XML", NumberType="Float",
                Precision="8",
            )  # fmt: skip
            numbers.text = " ".join(repr(float(value)) for value in coordinates)
            yield numbers


def _data_item(address: str, shape: tuple[int, ...], precision: int) -> Xml.Element:
    item = Xml.Element(
        "DataItem", Dimensions=" ".join(map(str, shape)), Format="HDF", NumberType="Float",
        Precision=str(precision),
    )  # fmt: skip
    item.text = address
    return item

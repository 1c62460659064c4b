"""Side files for ParaView: XDMF, a few lines of XML that say where the numbers are.

Each series of snapshots, and each set of maps, is one file beside the results. Coordinates, times
and fields stay in the results file; an axis that was cut has the one coordinate of its plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np

from seismo.errors import ScenarioError
from seismo.output.array_sets import MapSet, SnapshotSeries
from seismo.output.atomic_file import final_path, refusal, write_file
from seismo.output.results import Results


def write_xdmf(results: Results) -> list[Path]:
    """Write ``<results>-<name>.xdmf`` for all snapshots and maps; give the paths.

    Raises:
        ScenarioError: there are none.
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
    return [_write(results.path, *group) for group in groups]


def _write(
    results: Path, group: str, arrays: SnapshotSeries | MapSet, times: Iterable[float]
) -> Path:
    root = Xml.Element("Xdmf", Version="2.0")
    series = Xml.SubElement(
        Xml.SubElement(root, "Domain"), "Grid", Name=arrays.name, GridType="Collection",
        CollectionType="Temporal",
    )  # fmt: skip
    source = f"{results.name}:/{group}"
    for index, time in enumerate(times):
        series.append(_frame(source, arrays, index, float(time)))
    Xml.indent(root)
    name = arrays.name.replace("/", "-")
    path = final_path(results.with_name(f"{results.stem}-{name}.xdmf"))
    try:
        write_file(path, Xml.tostring(root, encoding="utf-8", xml_declaration=True))
    except OSError as error:
        raise refusal(path, error) from error
    return path


def _frame(source: str, arrays: SnapshotSeries | MapSet, index: int, time: float) -> Xml.Element:
    axes = arrays.axes
    counts = " ".join(str(len(axes.get(a, [0]))) for a in "zyx")
    grid = Xml.Element("Grid", Name=f"{index}", GridType="Uniform")
    Xml.SubElement(grid, "Time", Value=repr(time))
    Xml.SubElement(grid, "Topology", TopologyType="3DRectMesh", Dimensions=counts)
    geometry = Xml.SubElement(grid, "Geometry", GeometryType="VXVYVZ")
    geometry.extend(_coordinates(source, axes, arrays.plane))
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


def _coordinates(
    source: str, axes: dict[str, np.ndarray], plane: dict[str, float]
) -> Iterator[Xml.Element]:
    """Return the coordinates along x, y, z."""
    for axis in "xyz":
        if axis in axes:
            yield _data_item(f"{source}/{axis}", axes[axis].shape, 8)
        else:
            single = Xml.Element(
                "DataItem", Dimensions="1", Format="XML", NumberType="Float", Precision="8"
            )
            single.text = repr(plane.get(axis, 0.0))
            yield single


def _data_item(address: str, shape: tuple[int, ...], precision: int) -> Xml.Element:
    item = Xml.Element(
        "DataItem", Dimensions=" ".join(map(str, shape)), Format="HDF", NumberType="Float",
        Precision=str(precision),
    )  # fmt: skip
    item.text = address
    return item

"""Gridded model files behind one reader interface: NumPy .npy, HDF5 and raw binary.

A reader takes the path and the specification and returns the array as it lies in the file; a new
format is one more function in `READERS`. Files are data from outside: headers are checked before
anything is read, nothing in them can name another file or run code, and sizes are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.model.gridded import AXES, GridField
from seismo.scenario.model_files import format_of
from seismo.scenario.part import impossible

LARGEST = 64 << 30  # bytes of one array
_FACTORS = {"m/s": 1.0, "km/s": 1e3, "kg/m3": 1.0, "g/cm3": 1e3}
_SAFE_FILTERS = {1, 2, 3, 4, 5, 6, 32000}  # HDF5's own and LZF; others would load plugins
_KINDS = "fiu"


def read_grid(
    spec: Any,
    base: Path,
    key: tuple[str | int, ...],
    spacing: Mapping[str, float],
    origin: Mapping[str, float],
) -> GridField:
    """Read one parameter from a gridded file.

    Args:
        spec: the scenario's specification of the file.
        base: folder that relative paths start from.
        key: of the specification in the scenario, such as ("model", 0, "vp"); the last names the
            parameter.
        spacing: spacing in m by axis name where the specification gives none.
        origin: coordinates in m of the first point where the specification gives none.

    Raises:
        ModelError: missing or malformed file, or values that no earth has.
    """
    try:
        return _read(spec, Path(base) / spec.path, key, spacing, origin)
    except ModelError as error:
        raise error.below(*key) from None


def _read(
    spec: Any,
    path: Path,
    key: tuple[str | int, ...],
    spacing: Mapping[str, float],
    origin: Mapping[str, float],
) -> GridField:
    if path.is_dir():
        raise ModelError(f"{path} is a folder; name the file in it", "path")
    if not path.is_file():
        raise ModelError(
            f"no such file as {path}; paths begin at the folder of the scenario", "path"
        )
    form = format_of(spec)
    try:
        values = READERS[form](path, spec)
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read as {form}: {_brief(error)}; check `format`", "path"
        ) from None
    axes = _axes(spec, values, path)
    if spec.shape is not None and tuple(spec.shape) != values.shape:
        raise ModelError(f"{path} has shape {list(values.shape)}; write that, or nothing", "shape")
    order = [axes.index(axis) for axis in AXES if axis in axes]
    sorted_axes = "".join(axes[k] for k in order)
    factor = _FACTORS[spec.units]
    _check_values(values, factor, str(key[-1]), path, spec)
    return GridField(
        np.ascontiguousarray(values.transpose(order)),
        sorted_axes,
        tuple(_along(spec.origin, axis, origin, "origin", path) for axis in sorted_axes),
        tuple(_along(spec.spacing, axis, spacing, "spacing", path) for axis in sorted_axes),
        factor,
        str(path),
        (*key, "path"),
    )


def _read_npy(path: Path, spec: Any) -> np.ndarray:
    """Read a .npy file, never a pickle; the header must agree with the size of the file."""
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            reader = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = reader(file)
        except ValueError as error:
            raise ModelError(
                f"{path} is not a .npy file ({_brief(error)}); save it by numpy.save", "path"
            ) from None
        _check_kind(dtype, path)
        size = _size(shape, dtype, path)
        held = path.stat().st_size - file.tell()
    if held != size:
        raise ModelError(
            f"{path} holds {held} bytes of values, its header {shape} {dtype} needs {size}; "
            "save it again",
            "path",
        )
    return np.load(path, allow_pickle=False)


def _read_raw(path: Path, spec: Any) -> np.ndarray:
    """Read bare numbers; their count must be that of the shape."""
    if spec.shape is None:
        raise ModelError(
            f"missing: the raw file {path} needs it, slowest axis first, like [101, 201]", "shape"
        )
    dtype = np.dtype(spec.dtype).newbyteorder({"little": "<", "big": ">"}[spec.byte_order])
    size = _size(tuple(spec.shape), dtype, path, "shape")
    held = path.stat().st_size
    if held != size:
        raise ModelError(
            f"{path} holds {held} bytes, this shape of {spec.dtype} needs {size}; "
            "check `shape` and `dtype`",
            "shape",
        )
    values = np.fromfile(path, dtype)
    return values.reshape(spec.shape).astype(dtype.newbyteorder("="), copy=False)


def _read_hdf5(path: Path, spec: Any) -> np.ndarray:
    """Read one dataset of an HDF5 file, reached by hard links and stored in that file."""
    import h5py

    with h5py.File(path, "r", locking="best-effort") as file:
        dataset = _dataset(file, spec.dataset, path)
        where = f"{path}:{dataset.name}"
        if dataset.external or dataset.is_virtual:
            raise ModelError(
                f"{where} keeps its values in other files, which is not followed; copy it into one",
                "dataset",
            )
        _check_kind(dataset.dtype, where, "dataset")
        _size(dataset.shape, dataset.dtype, where, "dataset")
        creation = dataset.id.get_create_plist()
        filters = {creation.get_filter(k)[0] for k in range(creation.get_nfilters())}
        if filters - _SAFE_FILTERS:
            raise ModelError(
                f"{where} is compressed by plugins {sorted(filters - _SAFE_FILTERS)}; "
                "store it with gzip",
                "dataset",
            )
        return dataset[...]


def _dataset(file: Any, name: str | None, path: Path) -> Any:
    """Follow hard links only, looking at each link before its target is touched."""
    import h5py

    if name is None:
        names = [key for key in file if isinstance(file.get(key, getlink=True), h5py.HardLink)]
        names = [key for key in names if isinstance(file[key], h5py.Dataset)]
        if len(names) != 1:
            raise ModelError(
                f"missing: {path} has the datasets {', '.join(names) or 'none'}; say which",
                "dataset",
            )
        return file[names[0]]
    node = file
    for step in name.strip("/").split("/"):
        if not isinstance(node, h5py.Group) or step not in node.keys():  # noqa: SIM118
            raise ModelError(
                f"no such dataset in {path}; at hand there: {_listing(node)}", "dataset"
            )
        if not isinstance(node.get(step, getlink=True), h5py.HardLink):
            raise ModelError(
                f"is a link in {path}, which is not followed; name the dataset itself", "dataset"
            )
        node = node[step]
    if not isinstance(node, h5py.Dataset):
        raise ModelError(f"is a group in {path}, of {_listing(node)}; name a dataset", "dataset")
    return node


def _listing(node: Any) -> str:
    return ", ".join(list(node.keys())[:10]) if hasattr(node, "keys") else "nothing"


def _check_kind(dtype: np.dtype, where: Any, key: str = "path") -> None:
    if dtype.kind not in _KINDS:
        raise ModelError(f"{where} holds {dtype}, must be real numbers", key)


def _size(shape: tuple[int, ...], dtype: np.dtype, where: Any, key: str = "path") -> int:
    size = dtype.itemsize
    for count in shape:
        size *= int(count)
    if not 0 < size <= LARGEST:
        raise ModelError(
            f"{where}: shape {tuple(shape)} of {dtype} is {size} bytes; 1 to {LARGEST} are read",
            key,
        )
    return size


def _axes(spec: Any, values: np.ndarray, path: Path) -> str:
    axes = spec.axes or {1: "z", 2: "zx", 3: "zyx"}.get(values.ndim, "")
    if len(axes) != values.ndim or len(set(axes)) != len(axes) or set(axes) - set(AXES):
        raise ModelError(
            f"{path} has {values.ndim} axes; name each once, of zyx, slowest first", "axes"
        )
    return axes


def _along(given: Any, axis: str, default: Mapping[str, float], key: str, path: Path) -> float:
    value = getattr(given, axis, None) if given is not None else None
    value = default.get(axis) if value is None else value
    if value is None:
        raise ModelError(
            f"missing: {path} has the axis {axis}; give `{key}: {{{axis}: ...}}`, "
            f"or a file without it where the run has none",
            key,
        )
    return float(value)


def _check_values(values: np.ndarray, factor: float, name: str, path: Path, spec: Any) -> None:
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all():
        bad = ~np.isfinite(values)
        raise ModelError(
            f"{path} holds {bad.sum()} of {values.size} values that are not finite, the first at "
            f"index {_first(bad)}; {_swapped(values, factor, name, spec) or 'fill the gaps'}",
            "path",
        )
    for which, value in (("smallest", low), ("largest", high)):
        if problem := impossible(name, value * factor):
            bad = values == value
            many = f"{bad.sum()} of {values.size} values, the first " if bad.sum() > 1 else ""
            remedy = "fill the gaps" if value <= 0.0 else "check `units`, `dtype` and `byte_order`"
            raise ModelError(
                f"{path}: its {which} value ({many}at index {_first(bad)}): {problem}; "
                f"{_swapped(values, factor, name, spec) or remedy}",
                "path",
            )


def _first(bad: np.ndarray) -> list[int]:
    return [int(k) for k in np.unravel_index(int(np.argmax(bad)), bad.shape)]


def _swapped(values: np.ndarray, factor: float, name: str, spec: Any) -> str:
    """Name the other byte order of a raw file where it makes rock of its values."""
    if format_of(spec) != "raw":
        return ""
    other = values.byteswap()
    low, high = float(other.min()) * factor, float(other.max()) * factor
    if not np.isfinite([low, high]).all() or impossible(name, low) or impossible(name, high):
        return ""
    right = "big" if spec.byte_order == "little" else "little"
    return f"byte_order: {right} makes {low:.4g} to {high:.4g} of them: give that"


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


READERS: dict[str, Callable[[Path, Any], np.ndarray]] = {
    "npy": _read_npy,
    "hdf5": _read_hdf5,
    "raw": _read_raw,
}

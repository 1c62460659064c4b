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

LARGEST = 64 << 30  # bytes of one array
_FACTORS = {"m/s": 1.0, "km/s": 1e3, "kg/m3": 1.0, "g/cm3": 1e3}
_SUFFIXES = {".npy": "npy", ".h5": "hdf5", ".hdf5": "hdf5", ".hdf": "hdf5"}
_SAFE_FILTERS = {1, 2, 3, 4, 5, 6, 32000}  # HDF5's own and LZF; others would load plugins
_KINDS = "fiu"


def read_grid(
    spec: Any, base: Path, name: str, spacing: Mapping[str, float], origin: Mapping[str, float]
) -> GridField:
    """Read one parameter from a gridded file.

    Args:
        spec: the scenario's specification of the file.
        base: folder that relative paths start from.
        name: parameter ("vp", "vs", "rho"), for messages and checks.
        spacing: spacing in m by axis name where the specification gives none.
        origin: coordinates in m of the first point where the specification gives none.

    Raises:
        ModelError: missing or malformed file, or values that no earth has.
    """
    path = Path(base) / spec.path
    if not path.is_file():
        raise ModelError(
            f"model: {name}: {path}: no such file; check `path`, which is relative to the scenario"
        )
    form = spec.format or _SUFFIXES.get(path.suffix.lower(), "raw")
    try:
        values = READERS[form](path, spec)
    except OSError as error:
        raise ModelError(
            f"model: {name}: {path}: cannot be read as {form}: {_brief(error)}; check `format`"
        ) from None
    axes = _axes(spec, values, f"{name}: {path}")
    if spec.shape is not None and tuple(spec.shape) != values.shape:
        raise ModelError(
            f"model: {name}: {path}: has shape {values.shape}, "
            f"the scenario says {tuple(spec.shape)}"
        )
    order = [axes.index(axis) for axis in AXES if axis in axes]
    sorted_axes = "".join(axes[k] for k in order)
    factor = _FACTORS[spec.units]
    _check_values(values, factor, name, path)
    return GridField(
        np.ascontiguousarray(values.transpose(order)),
        sorted_axes,
        tuple(
            _along(spec.origin, axis, origin, "origin", f"{name}: {path}") for axis in sorted_axes
        ),
        tuple(
            _along(spec.spacing, axis, spacing, "spacing", f"{name}: {path}")
            for axis in sorted_axes
        ),
        factor,
        f"model: {name}: {path}",
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
                f"model: {path}: not a .npy file ({_brief(error)}); save it by numpy.save"
            ) from None
        _check_kind(dtype, path)
        size = _size(shape, dtype, path)
        held = path.stat().st_size - file.tell()
    if held != size:
        raise ModelError(
            f"model: {path}: holds {held} bytes of values, "
            f"its header {shape} {dtype} needs {size}; save it again"
        )
    return np.load(path, allow_pickle=False)


def _read_raw(path: Path, spec: Any) -> np.ndarray:
    """Read bare numbers; their count must be that of the shape."""
    if spec.shape is None:
        raise ModelError(
            f"model: {path}: a raw file needs `shape`, slowest axis first, like [101, 201]"
        )
    dtype = np.dtype(spec.dtype).newbyteorder({"little": "<", "big": ">"}[spec.byte_order])
    size = _size(tuple(spec.shape), dtype, path)
    held = path.stat().st_size
    if held != size:
        raise ModelError(
            f"model: {path}: holds {held} bytes, shape {tuple(spec.shape)} of {spec.dtype} "
            f"needs {size}; check `shape` and `dtype`"
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
                f"model: {where}: keeps its values in other files, which is not followed; "
                "copy it into one"
            )
        _check_kind(dataset.dtype, where)
        _size(dataset.shape, dataset.dtype, where)
        creation = dataset.id.get_create_plist()
        filters = {creation.get_filter(k)[0] for k in range(creation.get_nfilters())}
        if filters - _SAFE_FILTERS:
            raise ModelError(
                f"model: {where}: compressed by plugins {sorted(filters - _SAFE_FILTERS)}; "
                "store it with gzip"
            )
        return dataset[...]


def _dataset(file: Any, name: str | None, path: Path) -> Any:
    """Follow hard links only, looking at each link before its target is touched."""
    import h5py

    if name is None:
        names = [key for key in file if isinstance(file.get(key, getlink=True), h5py.HardLink)]
        names = [key for key in names if isinstance(file[key], h5py.Dataset)]
        if len(names) != 1:
            raise ModelError(f"model: {path}: has the datasets {names}; say which by `dataset`")
        return file[names[0]]
    node = file
    for step in name.strip("/").split("/"):
        if not isinstance(node, h5py.Group) or step not in node.keys():  # noqa: SIM118
            raise ModelError(
                f"model: {path}: has no dataset {name!r}; at hand there: {_listing(node)}"
            )
        if not isinstance(node.get(step, getlink=True), h5py.HardLink):
            raise ModelError(
                f"model: {path}: {name!r} is a link, which is not followed; name the dataset itself"
            )
        node = node[step]
    if not isinstance(node, h5py.Dataset):
        raise ModelError(f"model: {path}: {name!r} is a group of {_listing(node)}; name a dataset")
    return node


def _listing(node: Any) -> str:
    return ", ".join(list(node.keys())[:10]) if hasattr(node, "keys") else "nothing"


def _check_kind(dtype: np.dtype, where: Any) -> None:
    if dtype.kind not in _KINDS:
        raise ModelError(f"model: {where}: holds {dtype}, expected real numbers")


def _size(shape: tuple[int, ...], dtype: np.dtype, where: Any) -> int:
    size = dtype.itemsize
    for count in shape:
        size *= int(count)
    if not 0 < size <= LARGEST:
        raise ModelError(
            f"model: {where}: shape {tuple(shape)} of {dtype} is {size} bytes; "
            f"1 to {LARGEST} are read"
        )
    return size


def _axes(spec: Any, values: np.ndarray, where: str) -> str:
    axes = spec.axes or {1: "z", 2: "zx", 3: "zyx"}.get(values.ndim, "")
    if len(axes) != values.ndim or len(set(axes)) != len(axes) or set(axes) - set(AXES):
        raise ModelError(
            f"model: {where}: has {values.ndim} axes, `axes` names {axes or 'none'!r}; "
            "name each once, slowest first"
        )
    return axes


def _along(given: Any, axis: str, default: Mapping[str, float], key: str, where: str) -> float:
    value = getattr(given, axis, None) if given is not None else None
    value = default.get(axis) if value is None else value
    if value is None:
        raise ModelError(
            f"model: {where}: {key} along {axis} is not known; give `{key}: {{{axis}: ...}}`"
        )
    return float(value)


def _check_values(values: np.ndarray, factor: float, name: str, path: Path) -> None:
    low, high = float(values.min()) * factor, float(values.max()) * factor
    unit = "kg/m3" if name == "rho" else "m/s"
    if not np.isfinite([low, high]).all():
        raise ModelError(f"model: {name}: {path}: holds values that are not finite; fill the gaps")
    if low < 0.0 or (low == 0.0 and name != "vs"):
        raise ModelError(
            f"model: {name}: {path}: smallest value {low:g} {unit}, must be positive; "
            "check dtype and byte order"
        )
    limit = 30e3 if name == "rho" else 20e3
    if high > limit:
        raise ModelError(
            f"model: {name}: {path}: largest value {high:g} {unit} exceeds {limit:g}; "
            "check `units`, dtype, byte order"
        )


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


READERS: dict[str, Callable[[Path, Any], np.ndarray]] = {
    "npy": _read_npy,
    "hdf5": _read_hdf5,
    "raw": _read_raw,
}

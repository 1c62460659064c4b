"""SRF-HDF5, as SW4's srf2hdf5 writes it: the numbers of an SRF file, in its units.

    POINTS   a compound for each subfault: LON LAT DEP STK DIP AREA TINIT DT VS DEN RAKE SLIP1 ...
    SR1      the slip rates of all, one after the other; SR2, SR3 where a file has them

VS and DEN of 0, or missing, are not known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.features.faults.files.srf import add_subfault
from seismo.features.faults.rupture import Rupture, RuptureReader
from seismo.formats.reading.arrays import (
    MALFORMED,
    brief,
    bytes_of,
    check_dataset,
    dataset_of,
    is_hollow,
    open_hdf5,
    refuse_what_does_not_fit,
)

_ABOUT = ("LON", "LAT", "DEP", "STK", "DIP", "AREA", "TINIT", "DT")
_SIZES = ("RAKE", "SLIP1", "NT1", "SLIP2", "NT2", "SLIP3", "NT3")


def read_srf_hdf5(path: Path) -> Rupture:
    """Return the slip of all subfaults.

    Raises:
        ModelError: a dataset or a number is missing, or does not fit the others.
    """
    try:
        with open_hdf5(path, locking="best-effort") as file:
            points, rates = _datasets(path, file)
    except MALFORMED as error:
        raise ModelError(f"{path} cannot be read: {brief(error)}", "path") from None
    reader = RuptureReader()
    starts = np.zeros(3, np.int64)
    for index, row in enumerate(points):
        counts = np.array([row["NT1"], row["NT2"], row["NT3"]], np.int64)
        ends = starts + counts
        if np.any(counts < 0) or any(e > r.size for e, r in zip(ends, rates, strict=True)):
            raise ModelError(
                f"{path}: subfault {index + 1}: NT1 to NT3 are more slip rates than SR1 to SR3 "
                "have; convert it from its SRF file with all slip rates, or give that",
                "path",
            )
        about = [float(row[name]) for name in _ABOUT]
        if row["VS"] > 0.0 and row["DEN"] > 0.0:
            about += [float(row["VS"]), float(row["DEN"])]
        sizes = [float(row[name]) for name in _SIZES]
        rows = [rate[a:b] for rate, a, b in zip(rates, starts, ends, strict=True)]
        if not np.isfinite([*about, *sizes, *np.concatenate(rows)]).all():
            raise ModelError(f"{path}: subfault {index + 1}: a number is not finite", "path")
        add_subfault(reader, str(path), 0, about, sizes, [row.tolist() for row in rows])
        starts = ends
    if (rupture := reader.rupture(path)) is None:
        raise ModelError(f"{path}: none of its {len(points)} subfaults slips", "path")
    return rupture


def _datasets(path: Path, file: Any) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the subfaults, and the slip rates cm/s in three directions."""
    inside = list(file)
    if "POINTS" not in inside or "SR1" not in inside:
        raise ModelError(f"{path} has no datasets POINTS and SR1: no SRF-HDF5", "path")
    points = _numbers(path, file, "POINTS", "V")
    needed = {*_ABOUT, *_SIZES, "VS", "DEN"}
    if missing := sorted(needed - set(points.dtype.names or ())):
        raise ModelError(f"{path}: POINTS lacks {', '.join(missing)}", "path")
    if odd := sorted(name for name in needed if points.dtype[name].kind not in "fiu"):
        raise ModelError(f"{path}: {', '.join(odd)} of POINTS are no numbers", "path")
    names = ("SR1", "SR2", "SR3")
    return points.ravel(), [
        _numbers(path, file, n, "fiu").astype(float).ravel() if n in inside else np.zeros(0)
        for n in names
    ]


def _numbers(path: Path, file: Any, name: str, kinds: str) -> np.ndarray:
    """Read a dataset of this file, of some kinds of NumPy's types."""
    try:
        dataset = dataset_of(file, name, path)
    except ModelError as error:
        raise ModelError(f"{name} {error.problem}", "path") from None
    where = check_dataset(dataset, path, "path", kinds)
    if dataset.shape is None or is_hollow(dataset):
        raise ModelError(
            f"{where} has the shape {dataset.shape}, of which the file holds next to nothing",
            "path",
        )
    refuse_what_does_not_fit(where, bytes_of(dataset))
    return dataset[...]

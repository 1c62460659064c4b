"""Standard Rupture Format, versions 1.0 and 2.0 (Graves 2014): a fault as points with slip rates.

    2.0
    PLANE 1                                          headers of segments, which are not needed here
      ELON ELAT NSTK NDIP LEN WID
      STK DIP DTOP SHYP DHYP
    POINTS 2500                                      one block for each segment, all are read
      LON LAT DEP STK DIP AREA TINIT DT [VS DEN]     deg, km, deg, cm2, s, in 2.0 cm/s and g/cm3
      RAKE SLIP1 NT1 SLIP2 NT2 SLIP3 NT3             deg, cm; 1 along the rake, 2 at rake + 90, 3
      SR1[1] SR1[2] ...                              opens the fault; cm/s, from TINIT in steps DT

Points stand for the centres of subfaults. Files that say 2.0 without VS and DEN exist.

SRF-HDF5, as SW4's srf2hdf5 writes it, has the same numbers in the same units:

    POINTS   a compound for each subfault: LON LAT DEP STK DIP AREA TINIT DT VS DEN RAKE SLIP1 ...
    SR1      the slip rates of all, in order; SR2, SR3 where a file has them

VS and DEN of 0, or missing, are not known.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.features.faults.rupture import Rupture, RuptureReader, net_slip
from seismo.formats.reading import shown_word
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

_CM = 1e-2
_LARGEST = 2 << 30  # bytes of text
_LONGEST = 64 << 20  # characters of a line
_DIGITS = 12  # of a count
_RATES = "slip rates in cm/s"
_EXPECTED = "expected SRF 1.0 or 2.0, a finite fault (PLANE, POINTS)"

LineIterator = Iterator[tuple[int, str]]
_ABOUT = ("LON", "LAT", "DEP", "STK", "DIP", "AREA", "TINIT", "DT")
_SIZES = ("RAKE", "SLIP1", "NT1", "SLIP2", "NT2", "SLIP3", "NT3")


def read_srf(path: Path) -> Rupture:
    """Return the slip of all points of all segments.

    Raises:
        ModelError: a line is missing or malformed, with its number.
    """
    lines = _lines(path)
    number, version = next(lines, (1, ""))
    if version.strip() not in ("1.0", "2.0"):
        raise _wrong(path, number, f"no version 1.0 or 2.0: {_EXPECTED}")
    reader = RuptureReader()
    points = 0
    for number, line in lines:
        words = line.split()
        if words[0] == "PLANE":
            deque(islice(lines, 2 * _count(path, number, words)), 0)
        elif words[0] == "POINTS":
            points = _count(path, number, words)
            for _ in range(points):
                _read_point(path, lines, reader)
        elif points and words[0][:1] in "+-.0123456789":
            raise _wrong(
                path, number, f"more follows the {points} of POINTS; write how many there are"
            )
        else:
            raise _wrong(path, number, f"expected PLANE or POINTS; {_EXPECTED}")
    if (rupture := reader.rupture(path)) is None:
        raise ModelError(f"{path}: none of its {reader.count} subfaults slips; {_EXPECTED}", "path")
    return rupture


def _lines(path: Path) -> LineIterator:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ModelError(f"{path} is larger than {_LARGEST >> 30} GB; {_EXPECTED}", "path")
        opened: Any = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as stream:
            size = 0  # of the text, which may be packed
            for number, line in enumerate(iter(partial(stream.readline, _LONGEST), ""), 1):
                size += len(line)
                if len(line) == _LONGEST or size > _LARGEST:
                    raise _wrong(path, number, f"the text, or this line, is too long; {_EXPECTED}")
                text = line.strip()
                if text and not text.startswith("#"):
                    yield number, text
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is no text, or damaged"
        raise ModelError(f"{path} cannot be read: {problem}; {_EXPECTED}", "path") from None


def _count(path: Path, number: int, words: list[str]) -> int:
    if len(words) != 2 or not words[1].isdecimal() or len(words[1]) > _DIGITS:
        raise _wrong(path, number, f"expected {words[0]} and a number of them")
    return int(words[1])


def _read_point(path: Path, lines: LineIterator, reader: RuptureReader) -> None:
    """Read the slip of a point along its rake and across it, where there is any."""
    number, line = next(lines, (0, ""))
    about = _numbers(path, number, line, "LON LAT DEP STK DIP AREA TINIT DT [VS DEN]", (8, 10))
    _, second = next(lines, (0, ""))
    sizes = _numbers(path, number + 1, second, "RAKE SLIP1 NT1 SLIP2 NT2 SLIP3 NT3", (7,))
    first = int(sizes[2])
    across = int(sizes[4])
    opening = int(sizes[6])
    if min(first, across, opening) < 0:
        raise _wrong(path, number + 1, "NT1 to NT3 have to be 0 or more")
    samples = _samples(path, lines, number, first + across + opening)
    if not math.isfinite(sum(samples)):
        raise _wrong(path, number, "a slip rate of this subfault is not finite")
    rates = samples[:first], samples[first : first + across], samples[first + across :]
    add_subfault(reader, f"{path}:{number}", number, about, sizes, rates)


def add_subfault(
    reader: RuptureReader, where: str, line: int, about: Sequence[float], sizes: Sequence[float],
    rates: Sequence[list[float]],
) -> None:  # fmt: skip
    """Add the slip of a subfault along its rake and across it, where there is any.

    Args:
        reader: takes it.
        where: file and line, for messages.
        line: of the file, 0 where it has none.
        about: LON LAT DEP STK DIP AREA TINIT DT [VS DEN], in the units of SRF.
        sizes: RAKE SLIP1 NT1 SLIP2 NT2 SLIP3 NT3.
        rates: slip rates cm/s in the three directions.

    Raises:
        ModelError: the fault opens, slips back, or has no area or interval.
    """
    index = reader.count
    reader.count += 1
    if any(rates[2]):
        raise ModelError(
            f"{where}: subfault {index + 1} opens (SLIP3): only slip along a fault is taken", "path"
        )
    longitude, latitude, depth, strike, dip, area, onset, step = about[:8]
    if (sizes[2] or sizes[4]) and not (step > 0.0 and area > 0.0):
        raise ModelError(f"{where}: subfault {index + 1}: AREA and DT have to be above 0", "path")
    rigidity = 1e3 * about[9] * (_CM * about[8]) ** 2 if len(about) == 10 else math.nan
    slips = net_slip(rates[:2], _CM * step, f"{where}: subfault {index + 1}")
    for k, turn, rate, slipped in zip((1, 3), (0.0, 90.0), rates, slips, strict=False):
        if slipped:
            rake = sizes[0] + turn
            reader.add(
                (index, line, longitude, latitude, 1e3 * depth, strike, dip, rake, _CM**2 * area,
                 onset, step, _CM * sizes[k], rigidity),
                slipped, [_CM / slipped * size for size in rate],
            )  # fmt: skip


def _samples(path: Path, lines: LineIterator, number: int, count: int) -> list[float]:
    samples: list[float] = []
    while len(samples) < count:
        number, line = next(lines, (0, ""))
        try:
            samples += map(float, line.split())
        except ValueError:
            _numbers(path, number, line, _RATES, None)  # names the error
        if not line:
            _numbers(path, number, line, _RATES, None)
    if len(samples) > count:
        raise _wrong(path, number, f"{len(samples)} slip rates of a subfault, {count} expected")
    return samples


def _numbers(
    path: Path, number: int, line: str, expected: str, counts: tuple[int, ...] | None
) -> list[float]:
    """Return the numbers of a line; `counts` are how many there may be."""
    if not line:
        raise ModelError(f"{path}: ends before all subfaults were read; it is cut short", "path")
    words = line.split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise _wrong(
            path, number, f"{shown_word(words[0], True)} ...: expected {expected}"
        ) from None
    if not all(map(math.isfinite, numbers)) or (counts and len(numbers) not in counts):
        raise _wrong(path, number, f"{len(numbers)} numbers: expected {expected}")
    return numbers


def _wrong(path: Path, number: int, problem: str) -> ModelError:
    return ModelError(f"{path}:{number}: {problem}", "path")


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
    points = _dataset(path, file, "POINTS", "V")
    needed = {*_ABOUT, *_SIZES, "VS", "DEN"}
    if missing := sorted(needed - set(points.dtype.names or ())):
        raise ModelError(f"{path}: POINTS lacks {', '.join(missing)}", "path")
    if odd := sorted(name for name in needed if points.dtype[name].kind not in "fiu"):
        raise ModelError(f"{path}: {', '.join(odd)} of POINTS are no numbers", "path")
    names = ("SR1", "SR2", "SR3")
    return points.ravel(), [
        _dataset(path, file, n, "fiu").astype(float).ravel() if n in inside else np.zeros(0)
        for n in names
    ]


def _dataset(path: Path, file: Any, name: str, kinds: str) -> np.ndarray:
    """Read a dataset of this file, of given kinds of NumPy's types."""
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

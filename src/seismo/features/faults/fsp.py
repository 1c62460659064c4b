"""FSP files of SRCMOD (Mai & Thingbaijam 2014): slip models of past earthquakes.

    % Loc  : LAT = 40.760  LON = 29.970  DEP = 17.00           the hypocentre
    % Size : LEN = 172.50 km  WID = 22.50 km  Mw = 7.56  Mo = 2.44e+020 Nm
    % Mech : STRK = 268  DIP = 85  RAKE = 180  Htop = 0.01 km
    % Rupt : ... avTr = 7.0 s  avVr = 2.7 km/s                 -99 where unknown
    % Invs : Dx = 7.50 km  Dz = 4.50 km, and LEN = 2.00 s  SHF = 1.00 s of time windows
    % SEGMENT # 1: STRIKE = 264 deg  DIP = 85.0 deg,  LEN, WID, Nsbfs = 35   of several segments
    % LAT  LON  X==NS  Y==EW  Z  SLIP  [RAKE] [TRUP] [RISE] [TW1 ...] [rakeTW1 ...]

Columns differ between files and go by their names; places are LAT, LON and Z, of the top centres of
subfaults, and are moved down-dip by half of Dz. Headers state moments of rigidities that the table
of velocities does not give (-43 to +13 % in four files): the rigidity is that which makes the
moment of all slip the header's. What a file lacks follows from its header: rakes from `Mech`,
onsets from the distance to the hypocentre at avVr, rise times from avTr. Slip rates are triangles,
of each time window LEN long, windows SHF apart, or by LEN where SHF is 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from seismo.errors import ModelError
from seismo.features.faults.rupture import Rupture, RuptureReader, net_slip
from seismo.grid.coordinates import nearest_turn

_NUMBER = r"\s*=\s*(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_UNKNOWN = -90.0  # files say -99 or -999
_NO_ANGLE = -360.0  # of rakes and longitudes, which may be -99
_DOUBTFUL = -99.0  # a rake, or none
_NEAR = 45.0  # degrees
_NO_TIMES = (999.0, 9999.0, 99999.0)  # s
_RADIUS = 6371.0  # of the earth in km
_TICK = 1e-3  # s: windows begin at multiples


@dataclass
class FspSegment:
    """One plane of a fault.

    Attributes:
        strike: degrees.
        dip: degrees.
        area: of a subfault in km2.
        count: of subfaults, as its header says.
        names: of its columns.
        rows: numbers of its subfaults.
        lines: their lines in the file.
    """

    strike: float
    dip: float
    area: float
    count: float
    names: list[str]
    rows: list[list[float]]
    lines: list[int]


def read_fsp(path: Path) -> Rupture:
    """Return the slip of all subfaults of all segments.

    Raises:
        ModelError: a line is malformed, or the header lacks the substitute of a missing column.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", "path") from None
    header = "\n".join(line for line in lines if line.startswith("%"))
    segments = _segments(path, lines, header)
    slips = [slip for segment in segments for slip in _slips(path, segment, header)]
    moment = _number(path, header, "Mo")
    potency = sum(area * math.hypot(*slip) for area, slip, _, _ in slips)
    if not (potency > 0.0 and moment > 0.0):
        raise ModelError(f"{path}: no subfault slips, or Mo is not above 0", "path")
    reader = RuptureReader()
    for area, slip, numbers, rates in slips:
        line, longitude, latitude, depth, strike, dip, rake, onset, step = numbers
        for turn, size, shape in zip((0.0, 90.0), slip, rates, strict=True):
            if size:
                reader.add(
                    (reader.count, line, longitude, latitude, depth, strike, dip, rake + turn,
                     area, onset, step, size, moment / potency),
                    size, (shape / size).tolist(),
                )  # fmt: skip
        reader.count += 1
    reader.count = sum(len(segment.rows) for segment in segments)
    rupture = reader.rupture(path)
    assert rupture is not None  # its potency is above 0
    return replace(rupture, assumed=tuple(_assumed(segments, header)))


def _assumed(segments: list[FspSegment], header: str) -> Iterator[str]:
    """Yield the substitutes of values that a file lacks."""
    known = [columns for segment in segments for columns in _known(segment, header)]
    for name, quantity, instead in (
        ("RAKE", "rakes of subfaults", "that of its header (Mech) is taken"),
        ("TRUP", "rupture times", "they are distances from the hypocentre over the average "
         "velocity of rupture (avVr)"),
        ("RISE", "rise times", "the average one (avTr) is taken"),
    ):  # fmt: skip
        if name == "RISE" and "TW2" in segments[0].names:
            continue
        lacking = sum(name not in columns for columns in known)
        if lacking == len(known):
            yield f"its file has no {quantity}: {instead} for all"
        elif lacking:
            yield f"its file has no {quantity} for {lacking} of {len(known)}: {instead} there"
    if any(columns.get("RAKE") == _DOUBTFUL for columns in known):
        yield "rakes of -99, which may say unknown, are taken as degrees: its header's is near"


def _known(segment: FspSegment, header: str) -> Iterator[dict[str, float]]:
    """Yield the data of each subfault, by the names of columns."""
    mean = _number(Path(), header, "RAKE", math.nan)
    for row in segment.rows:
        columns = zip(segment.names, row, strict=True)
        yield {name: value for name, value in columns if not _is_unknown(name, value, mean)}


def _is_unknown(name: str, value: float, mean: float) -> bool:
    """Whether a value marks missing data; -99 may be a rake where the mean rake is near."""
    if name == "RAKE" or name.startswith("rakeTW"):
        far = abs((mean - value + 180.0) % 360.0 - 180.0) > _NEAR
        return abs(value) >= -_NO_ANGLE or (value == _DOUBTFUL and far)
    return name in ("TRUP", "RISE") and (value <= _UNKNOWN or value in _NO_TIMES)


def _number(path: Path, text: str, name: str, default: float | None = None) -> float:
    """Return the number that a header gives by a name."""
    match = re.search(rf"\b{name}{_NUMBER}", text)
    least = _NO_ANGLE if name in ("LON", "RAKE") else _UNKNOWN
    if match is None or float(match[1]) <= least:
        if default is not None:
            return default
        raise ModelError(f"{path}: its header lacks {name}; give an FSP file of SRCMOD", "path")
    return float(match[1])


def _segments(path: Path, lines: list[str], header: str) -> list[FspSegment]:
    """Return the planes with their rows; that of a file without segments is the whole fault."""
    segments: list[FspSegment] = []
    about = header if "SEGMENT #" not in header else ""
    names: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("%"):
            about = line if "SEGMENT #" in line else about + "\n" + line
            words = line[1:].replace("==", " ==").split()
            if words[:2] == ["LAT", "LON"]:
                names = [word for word in words if not word.startswith("==")]
        elif line.strip():
            if names:
                segments.append(_segment(path, about, names))
                names = []
            _take_row(path, number, line, segments)
    for segment in segments:
        if missing := {"LAT", "LON", "Z", "SLIP"} - set(segment.names):
            raise ModelError(f"{path}: no column {', '.join(sorted(missing))}", "path")
        if len(segment.rows) != segment.count:
            raise ModelError(
                f"{path}:{segment.lines[-1]}: {len(segment.rows)} subfaults end here, and Nsbfs "
                f"says {segment.count:g}, by which their area follows; copy it again, or mend "
                "Nsbfs",
                "path",
            )
    if not segments:
        raise ModelError(f"{path}: no columns LAT, LON ...; give an FSP file of SRCMOD", "path")
    return segments


def _segment(path: Path, about: str, names: list[str]) -> FspSegment:
    count = _number(path, about, "Nsbfs")
    if count < 1.0:
        raise ModelError(f"{path}: Nsbfs is {count:g}; give the number of subfaults", "path")
    area = _number(path, about, "LEN") * _number(path, about, "WID") / count
    several = "SEGMENT #" in about
    strike = _number(path, about, "STRIKE" if several else "STRK")
    return FspSegment(strike, _number(path, about, "DIP"), area, count, names, [], [])


def _take_row(path: Path, number: int, line: str, segments: list[FspSegment]) -> None:
    try:
        row = [float(word) for word in line.split()]
    except ValueError:
        row = []
    if not segments or len(row) != len(segments[-1].names) or not np.isfinite(row).all():
        expected = len(segments[-1].names) if segments else "columns LAT, LON ... and their"
        raise ModelError(f"{path}:{number}: expected {expected} numbers", "path")
    segments[-1].rows.append(row)
    segments[-1].lines.append(number)


def _slips(path: Path, segment: FspSegment, header: str) -> list[tuple]:
    """Return of each subfault that slips its area, slip along and across the rake, place, rates."""
    slips = []
    for line, columns in zip(segment.lines, _known(segment, header), strict=True):
        slipping = [name for name in columns if name == "SLIP" or re.fullmatch(r"TW\d+", name)]
        for name in slipping:
            if columns[name] <= _UNKNOWN:
                raise ModelError(
                    f"{path}:{line}: {name} is {columns[name]:g}; give the slip in m, or 0", "path"
                )
        if not any(columns[name] for name in slipping):
            continue
        longitude, latitude, depth = _centre(path, segment, header, columns)
        rake = columns["RAKE"] if "RAKE" in columns else _number(path, header, "RAKE")
        onset = columns.get("TRUP")
        if onset is None:
            onset = _onset(path, header, (longitude, latitude, depth))
        step, rates = _rates(path, header, columns, rake)
        sizes = net_slip([rate.tolist() for rate in rates], step, f"{path}:{line}")
        numbers = line, longitude, latitude, 1e3 * depth, segment.strike, segment.dip, rake
        slips.append((1e6 * segment.area, tuple(sizes), (*numbers, onset, step), rates))
    return slips


def _centre(
    path: Path, segment: FspSegment, header: str, columns: dict[str, float]
) -> tuple[float, float, float]:
    """Return longitude, latitude and depth in km of a centre, half of Dz below its top."""
    half = 0.5 * _number(path, header, "Dz")
    dip = math.radians(segment.dip)
    across = half * math.cos(dip)
    azimuth = math.radians(segment.strike + 90.0)
    latitude = columns["LAT"] + math.degrees(across * math.cos(azimuth) / _RADIUS)
    east = across * math.sin(azimuth) / (_RADIUS * math.cos(math.radians(latitude)))
    return columns["LON"] + math.degrees(east), latitude, columns["Z"] + half * math.sin(dip)


def _onset(path: Path, header: str, centre: tuple[float, float, float]) -> float:
    """Return when rupture comes to a place (degrees, km) from the hypocentre, at avVr."""
    speed = _number(path, header, "avVr", 0.0)
    if speed <= 0.0:
        raise ModelError(
            f"{path}: neither rupture times (TRUP) nor an average velocity (avVr) of rupture; add "
            "one of these",
            "path",
        )
    start = [_number(path, header, name) for name in ("LON", "LAT", "DEP")]
    per_degree = math.radians(1.0) * _RADIUS
    difference = float(nearest_turn(centre[0] - start[0], 0.0))
    east = per_degree * math.cos(math.radians(centre[1])) * difference
    return math.hypot(east, per_degree * (centre[1] - start[1]), centre[2] - start[2]) / speed


def _rates(
    path: Path, header: str, columns: dict[str, float], rake: float
) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """Return the interval in s, and slip rates (n) in m/s along the rake and across it."""
    windows = [name for name in columns if re.fullmatch(r"TW\d+", name)]
    if len(windows) < 2:
        length = columns.get("RISE", 0.0)
        if length <= 0.0:
            length = _number(path, header, "avTr", 0.0)
        if length <= 0.0:
            raise ModelError(
                f"{path}: neither rise times (RISE), time windows (TW1 ...) nor an average rise "
                "time (avTr); add one of these",
                "path",
            )
        peak = 2.0 * columns["SLIP"] / length
        return 0.5 * length, (np.array([0.0, peak, 0.0]), np.zeros(3))
    match = re.search(rf"LEN{_NUMBER}\s*s\s+SHF{_NUMBER}", header)
    length, shift = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    half = round(0.5 * length / _TICK)
    interval = round((shift or length) / _TICK)
    if half < 1 or interval < 1:
        raise ModelError(f"{path}: its header lacks LEN and SHF of the time windows", "path")
    ticks = math.gcd(half, interval)
    triangle = 1.0 - np.abs(np.arange(2 * half // ticks + 1) * ticks / half - 1.0)
    rates = np.zeros((2, (interval * (len(windows) - 1) + 2 * half) // ticks + 1))
    for n, name in enumerate(windows):
        turn = math.radians(columns.get(f"rake{name}", rake) - rake)
        first = n * interval // ticks
        peak = columns[name] / (half * _TICK)
        for rate, share in zip(rates, (math.cos(turn), math.sin(turn)), strict=True):
            rate[first : first + triangle.size] += share * peak * triangle
    return ticks * _TICK, (rates[0], rates[1])

"""Receivers of SW4: the `rec` lines of its input files.

    rec x=1000 y=2000 z=0 file=sta01 nsew=0
    rec lat=34.15 lon=-118.17 depth=0 sta=PAS file=CI.PAS variables=velocity

Coordinates are of SW4's grid (x, y in m, as the grid's axes here: z down, x at the azimuth of
its command `grid`), or degrees; `z` is on the grid's axis, `depth` (`topodepth`) below the surface,
both 0 where they are left out. A station's code is `sta`, else `file`. The other options
(`nsew`, `variables`, formats) say how SW4 writes its results: here `quantities` and the exports say
it (SW4 users' guide, "rec").

A converted run reads the `rec` lines of its input where they stand (`add_receivers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from seismo.acquisition.stations import (
    NumberedLines,
    Station,
    StationFile,
    StationList,
    coordinate,
    from_lines,
    refuse_y,
    station_code,
)
from seismo.errors import ModelError
from seismo.formats.converted_run import ConvertedRun
from seismo.formats.sw4.ground import InputCommand, ToGrid

_LINE = re.compile(r"(rec|sac)(hdf5)?\s+\w+\s*=.*")
_NAMES = {
    "x": "x", "y": "y", "z": "z", "lat": "latitude", "lon": "longitude", "depth": "depth",
    "topodepth": "depth",
}  # fmt: skip
_QUANTITIES = {
    "displacement": "displacement", "velocity": "velocity", "div": "divergence",
    "curl": "rotation", "strains": "strain",
}  # fmt: skip


def has_receivers(file: StationFile) -> bool:
    """Whether a file has lines of receivers, as inputs of SW4 do."""
    return bool(_receiver_lines(file.lines))


def _receiver_lines(lines: NumberedLines) -> NumberedLines:
    """Return the lines of receivers of an SW4 input file; none where it is something else."""
    return [(number, line) for number, line in lines if _LINE.fullmatch(line)]


def read_sw4(file: StationFile) -> StationList:
    """Return the stations of receiver lines, each once, even if written in two ways.

    Raises:
        ScenarioError: a line is malformed, with a message for each of them.
    """
    path = file.path
    lines = _receiver_lines(file.lines)
    for number, line in lines:
        if line.split()[0].endswith("hdf5"):
            raise ModelError(
                f"{path}:{number}: stations of {line.split()[0]} stand in a file of their own, "
                "which is not read: list them as rec lines, or in a table",
                "path",
            )
    return StationList(
        from_lines(path, _once(lines), lambda where, line: _station(where, line, file.axes))
    )


def _once(lines: NumberedLines) -> Iterator[tuple[int, str]]:
    """Leave out lines of a station and place that were there, for another quantity of SW4's."""
    seen = set()
    for number, line in lines:
        options = _options(line)
        key = (_name(options), *sorted((k, v) for k, v in options.items() if k in _NAMES))
        if key not in seen:
            yield number, line
        seen.add(key)


def _options(line: str) -> dict[str, str]:
    return {key: text for key, _, text in (word.partition("=") for word in line.split()[1:])}


def _name(options: dict[str, str]) -> str:
    return options.get("sta") or PurePosixPath(options.get("file", "")).name


def _station(where: str, line: str, axes: str) -> Station:
    """Read a line; raises ValueError."""
    options = _options(line)
    named = {_NAMES[key]: text for key, text in options.items() if key in _NAMES}
    level = {"x", "y"} & named.keys()
    degrees = {"longitude", "latitude"} & named.keys()
    if level and degrees:
        raise ValueError("x, y and lat, lon: give one of both")
    needed = ("latitude", "longitude") if degrees else ("x", "y") if "y" in axes else ("x",)
    if missing := [name for name in needed if name not in named]:
        raise ValueError(f"missing {', '.join(missing)}")
    if "z" in named and "depth" in named:
        raise ValueError("z and depth: give one of both")
    if "y" not in axes:
        refuse_y(axes, named.pop("y", ""))
    words = _name(options).split(".")
    network, name, *rest = words if len(words) > 1 else ("", *words)
    if len(rest) > 1:
        raise ValueError(f"the code {_name(options)[:40]!r} is not NET.STA.LOC, NET.STA or STA")
    coordinates = {key: coordinate(key, text) for key, text in named.items()}
    return Station(where, station_code(network, name, *rest), coordinates)


def add_receivers(
    run: ConvertedRun, commands: list[InputCommand], lines: list[tuple[int, str]], to_grid: ToGrid
) -> None:
    """Add the receivers of `rec` and `sac` lines, except stations in HDF5 files.

    Args:
        run: that is converted.
        commands: rec, sac, rechdf5, sachdf5.
        lines: of the input, with their numbers.
        to_grid: longitude and latitude to x and y of SW4's grid.
    """
    in_files = [command for command in commands if command.name.endswith("hdf5")]
    listed = [command for command in commands if command not in in_files]
    for command in in_files:
        run.leave_out(command.label, "stations in HDF5 are not read; list them as rec lines")
    if not listed:
        return
    kinds = list(dict.fromkeys(c.options.get("variables", "displacement") for c in listed))
    for kind in kinds:
        if kind not in _QUANTITIES:
            first = next(c for c in listed if c.options.get("variables") == kind)
            run.leave_out(first.label_of("variables"), "no quantity of receivers here")
    path = run.path_from_target(run.source)
    if in_files or any(command.has("lat", "lon") for command in listed):
        # A list without the lines that the reader refuses, by x and y of SW4's projection.
        by_number = {command.where.rpartition(":")[2]: command for command in listed}
        kept = [
            _on_grid(line, by_number[str(number)], to_grid)
            for number, line in lines
            if str(number) in by_number
        ]
        path = run.add_side_file("receivers.in", ("\n".join(kept) + "\n").encode())
    quantities = [_QUANTITIES[kind] for kind in kinds if kind in _QUANTITIES]
    run.sections["receivers"] = [
        {
            "name": "stations", "type": "stations", "path": path,
            "quantities": quantities or ["displacement"],
        }
    ]  # fmt: skip
    run.remark(
        "receivers",
        "The rec lines of the input. Components are along x, y, z (down); "
        "exports turn them to north and east (nsew) with `geographic`.",
    )
    if {"div", "curl"} & set(kinds):
        run.remark("receivers", "Divergence and rotation are of the velocity: rates of SW4's.")


def _on_grid(line: str, command: InputCommand, to_grid: ToGrid) -> str:
    """Return a line with x and y in place of lat and lon."""
    if not command.has("lat", "lon"):
        return line
    x, y = to_grid(command.number("lon"), command.number("lat"))
    name, *words = line.split()
    others = [word for word in words if word.partition("=")[0] not in ("lat", "lon")]
    return " ".join([name, f"x={x:.3f}", f"y={y:.3f}", *others])

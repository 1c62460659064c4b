"""Runs of SW4 (Petersson & Sjogreen; users' guides 2 and 3): their input files as scenarios.

SW4's axes are the grid's here: x at the azimuth `az` (north by default), y 90 degrees clockwise of
it, z down, in m. Its supergrid layers lie within the extents, absorbing layers here outside them.

Commands and options that a scenario does not have are left out, each with the reason. Images of the
largest motion become maps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from seismo.errors import ModelError, ScenarioError
from seismo.formats.converted_run import ConvertedRun, attenuates_anywhere, physics_with, short
from seismo.formats.reading import optional_package, read_lines
from seismo.formats.sw4.ground import (
    IN_FILES,
    InputCommand,
    ToGrid,
    add_topography,
    commands_of,
    origin_of,
    place_plane,
    projection_of,
    refined,
    to_grid_of,
)
from seismo.formats.sw4.model import ModelPainter
from seismo.formats.sw4.sources import SourceFrame, source_of
from seismo.formats.sw4.stations import add_receivers

TESTS = ("twilight", "testenergy", "testrayleigh")  # which have no sources
UNKNOWN = "no command of SW4 that is known here"
_DRAWN = "pictures are drawn from results: `seismo plot`; fields of a run: output.snapshots, .maps"
_FILE = "this format is not read; convert it to an rfile or to NetCDF"
REASONS = {
    "fileio": "it names files of SW4; `seismo run --output` names those of a run",
    "image": _DRAWN,
    "imagehdf5": _DRAWN,
    "image3d": _DRAWN,
    "volimage": _DRAWN,
    "essioutput": _DRAWN,
    "ssioutput": _DRAWN,
    "sfileoutput": _DRAWN,
    "gmt": "maps are drawn by `seismo plot`",
    "prefilter": "time functions are not filtered; the equations are linear: filter the traces",
    "developer": "it tunes SW4's own scheme",
    "testing": "it tests SW4",
    "checkpoint": "a run writes checkpoints by itself: see `seismo schema checkpoint`",
    "restart": "`seismo resume` continues a run",
    "material": "it belongs to an ifile, which is not read",
    "ifile": "surfaces between materials are not read; write interface parts, or an rfile",
    "pfile": _FILE,
    "efile": _FILE,
    "vimaterial": _FILE,
    "ablock": "without a line `anisotropy` SW4 does not read it",
    "randomblock": "write a part of type random",
    "randomize": "write a part of type random",
    "event": "one event a scenario",
    "geodynbc": "boundary data of another run are not read",
    **dict.fromkeys(
        ("observation", "observationhdf5", "mrun", "mimage", "m3dimage", "mscalefactors", "lbfgs",
         "nlcg", "cg", "regularize", "mfsurf", "scalefactors", "mtypx"),
        "it belongs to an inversion",
    ),
    "mparcart": "the model of an inversion is not read",
}  # fmt: skip
MODELS = ("ifile", "material", "pfile", "efile", "vimaterial", "ablock")
ALTERING = (*MODELS[:-1], "randomblock", "randomize", "prefilter", "geodynbc", "mparcart")
_OPTIONS = {  # of commands that are carried over
    "grid": {"extrapolate": "values outside the model are those of its edge"},
    "supergrid": dict.fromkeys(
        ("gp", "dc", "width"), "boundaries.layer sets the absorbing layers, whose defaults are kept"
    ),
    "rupture": {"event": REASONS["event"]},
    "source": {"event": REASONS["event"]},
}
_IMAGES = ("image", "imagehdf5")
_VELOCITIES = {
    "hvelmax": "pgv_horizontal", "hmaxdudt": "pgv_horizontal", "vvelmax": "pgv_z",
    "vmaxdudt": "pgv_z",
}  # fmt: skip
_DISPLACEMENTS = {"hmax": "pgv_horizontal", "vmax": "pgv_z"}
_MAPS = _VELOCITIES | _DISPLACEMENTS
_GRID_LINE = re.compile(r"grid\s+(\S+\s+)*(h|x|y|z|nx|ny|nz)=\S")
_FACES = {"lx": "x_min", "hx": "x_max", "ly": "y_min", "hy": "y_max", "lz": "top", "hz": "bottom"}
_KINDS = ("free_surface", "rigid", "absorbing", "periodic")  # by SW4's number
_CFL = 1.3  # SW4's Courant number: step sqrt(vp^2 + 2 vs^2) / h
_FAST = 10_000.0  # m/s: sqrt(vp^2 + 2 vs^2) of rock below the crust, 8 and 4.5 km/s
_MODEL = ("block", "rfile", "sfile", "gmg")
_RUPTURES = ("rupture", "rupturehdf5")
_RECEIVERS = ("rec", "sac", "rechdf5", "sachdf5")
_UTC = "%m/%d/%Y:%H:%M:%S"


def ignored_options(command: InputCommand) -> Iterator[tuple[str, str]]:
    """Yield options of a command that is carried over, with the reason why they are not."""
    for key, reason in _OPTIONS.get(command.name, {}).items():
        if command.has(key):
            yield key, reason


def is_map(command: InputCommand) -> bool:
    """Whether a command asks for an image of the largest motion."""
    return command.name in _IMAGES and command.options.get("mode") in _MAPS


def add_maps(run: ConvertedRun, commands: list[InputCommand]) -> None:
    """Add a map for each plane of images of the largest motion; that at z = 0 is the ground."""
    maps: dict[tuple[str, float], dict[str, Any]] = {}
    for command in filter(is_map, commands):
        mode = command.options["mode"]
        axis = next((axis for axis in "zxy" if command.has(axis)), "z")
        level = command.number(axis, 0.0)
        plane = {"depth": 0} if (axis, level) == ("z", 0.0) else {axis: short(level)}
        name = f"peaks_{axis}{level:g}".replace("-", "m").replace(".", "_").replace("+", "")
        entry = maps.setdefault((axis, level), {"name": name, "quantities": [], "plane": plane})
        if _MAPS[mode] not in entry["quantities"]:
            entry["quantities"].append(_MAPS[mode])
        if mode in _DISPLACEMENTS:
            reason = f"no map of displacements: {_MAPS[mode]} is of the velocity"
            run.leave_out(command.label, reason)
    if maps:
        run.sections["output"] = {"maps": list(maps.values())}
        run.remark("output", "Largest motion over the run, of SW4's images of modes hmax, hvelmax "
                   "and so on.")  # fmt: skip


def is_sw4(path: Path) -> bool:
    """Whether a file is an SW4 input, by its command `grid`."""
    try:
        return any(_GRID_LINE.match(line) for _, line in read_lines(path, ""))
    except ModelError:
        return False


def convert_sw4(run: ConvertedRun) -> None:
    """Carry an SW4 input over.

    Raises:
        ScenarioError: a line is malformed, or there is nothing to run.
    """
    run.program = "SW4"
    lines = read_lines(run.source, "")
    commands = commands_of(run.source, lines)
    if tests := [command for command in commands if command.name in TESTS]:
        raise ScenarioError(
            f"{tests[0].label}: a test of SW4 with forces and a solution of its own: there is no "
            "source to carry over"
        )
    by_name: dict[str, list[InputCommand]] = {}
    for command in commands:
        by_name.setdefault(command.name, []).append(command)
    grid = by_name["grid"][0]
    spacing, size = _extents(grid)
    frame = _located(run, grid, size, commands)
    run.sections["title"] = f"{run.source.stem}, from SW4"
    run.sections["physics"] = physics_with(("vp", "vs", "rho"), 3)
    run.sections["grid"] = refined(run, by_name.get("refinement", []), spacing, size)
    add_topography(run, by_name.get("topography", []), size)
    painter = _model(run, grid, size, by_name, commands)
    try:
        run.sections["model"] = painter.parts_of_model()
    except ScenarioError as error:
        unread = [c for c in commands if c.name in MODELS]
        named = [f"{command.label}: {REASONS[command.name]}" for command in unread]
        raise ScenarioError(*named, *error.messages) from None
    duration = _time(run, by_name, painter, spacing)
    _boundaries(run, by_name)
    _attenuation(run, by_name)
    _sources(run, commands, frame, duration)
    place_plane(run, by_name.get("refinement", []))
    add_receivers(run, [c for c in commands if c.name in _RECEIVERS], lines, frame.to_grid)
    add_maps(run, commands)
    _leave_out(run, commands)


def _extents(grid: InputCommand) -> tuple[float, tuple[float, float, float]]:
    """Return spacing and extents in m: nx and h, x and h, or x and nx, as SW4 takes them."""
    lengths = {axis: grid.positive(axis) for axis in "xyz" if grid.has(axis)}
    counts = {axis: grid.positive(f"n{axis}") for axis in "xyz" if grid.has(f"n{axis}")}
    spacing = grid.positive("h") if grid.has("h") else 0.0
    if not spacing:
        shared = [axis for axis in counts if axis in lengths and counts[axis] > 1]
        if not shared:
            raise ScenarioError(f"{grid.label}: gives no spacing: add h=, or one of nx, ny, nz")
        spacing = lengths[shared[0]] / (counts[shared[0]] - 1)
    size = []
    for axis in "xyz":
        if axis not in lengths and axis not in counts:
            raise ScenarioError(f"{grid.label}: missing {axis}= (or n{axis}= with h=)")
        steps = lengths[axis] / spacing if axis in lengths else counts[axis] - 1
        # SW4 moves the ends to points of the grid.
        size.append(round(steps) * spacing)
    return spacing, (size[0], size[1], size[2])


def _located(
    run: ConvertedRun, grid: InputCommand, size: tuple[float, float, float],
    commands: list[InputCommand],
) -> SourceFrame:  # fmt: skip
    """Add the place on the earth, where the input has or needs it."""
    azimuth = grid.number("az", 0.0)
    to_grid = to_grid_of(grid)
    files = [
        c for c in commands
        if c.name in (*_RUPTURES, "rfile", "sfile", "gmg")
        or (c.name == "topography" and IN_FILES.get(c.options.get("input", "")) == "degrees")
    ]  # fmt: skip
    needed = files or any(c.name != "grid" and c.has("lat", "lon") for c in commands)
    is_placed = grid.has("lat", "lon")
    if not is_placed and not needed:
        return SourceFrame(azimuth, False, to_grid)
    longitude, latitude = origin_of(grid)
    run.sections["geographic"] = {
        "longitude": short(longitude), "latitude": short(latitude), "azimuth": short(azimuth),
    }  # fmt: skip
    run.remark("geographic", "x = 0, y = 0 of SW4's grid; x points along the azimuth.")
    if not is_placed:
        run.remark("geographic", "The input has no lat and lon: these are SW4's defaults.")
    if needed:
        run.remark(
            "geographic",
            "Sources and receivers with lat and lon have the x and y of SW4's own projection.",
        )
    if files:
        run.remark("geographic", _difference(grid, size, to_grid))
    return SourceFrame(azimuth, True, to_grid)


def _difference(grid: InputCommand, size: tuple[float, float, float], to_grid: ToGrid) -> str:
    """Return by how much files on the earth are elsewhere on this grid than on SW4's."""
    pyproj = optional_package("pyproj", "geo", "a file with longitudes and latitudes")
    longitude, latitude = origin_of(grid)
    aeqd = pyproj.Proj(f"+proj=aeqd +lat_0={latitude!r} +lon_0={longitude!r} +datum=WGS84")
    azimuth = math.radians(grid.number("az", 0.0))
    largest = 0.0, 1.0
    for x, y in product(*((0.0, length) for length in size[:2])):
        east = x * math.sin(azimuth) + y * math.cos(azimuth)
        north = x * math.cos(azimuth) - y * math.sin(azimuth)
        there = to_grid(*aeqd(east, north, inverse=True))
        largest = max(largest, (math.dist(there, (x, y)), math.hypot(x, y)))
    metres, distance = largest
    return (
        "Models, ruptures and heights in files are projected here about this point, to lengths on "
        f"the ellipsoid; SW4's projection puts them up to {metres:.0f} m elsewhere in this grid "
        f"({100.0 * metres / distance:.2g} % of the distance)."
    )


def _model(
    run: ConvertedRun, grid: InputCommand, size: tuple[float, float, float],
    by_name: dict[str, list[InputCommand]], commands: list[InputCommand],
) -> ModelPainter:  # fmt: skip
    least = {
        key[:2]: limit.number(key)
        for limit in by_name.get("globalmaterial", [])
        for key in ("vpmin", "vsmin")
        if limit.has(key)
    }
    painter = ModelPainter(
        run, size, "attenuation" in by_name, least, projection_of(grid),
        on_ground="topography" in run.sections,
    )  # fmt: skip
    for command in commands:
        if command.name == "block":
            painter.paint_block(command)
        elif command.name == "ablock" and "anisotropy" in by_name:
            painter.paint_constants(command)
        elif command.name in _MODEL:
            painter.add_file(command, partial(_path_of_file, run, command))
        elif command.name in ("testlamb", "testpointsource"):
            painter.paint_block(_uniform(command))
    run.remark("model", "Contacts between points are averaged here; SW4 takes values at points.")
    return painter


def _uniform(test: InputCommand) -> InputCommand:
    """Return the block of a test of SW4 in a uniform medium: rho, cp, and cs = cp / sqrt(3)."""
    vp = test.number("cp", 3.0**0.5)
    options = {"vp": f"{vp}", "vs": test.options.get("cs", f"{vp / 3.0**0.5}")}
    return InputCommand(
        test.where, test.text, "block", options | {"rho": test.options.get("rho", "1")}
    )


def _time(
    run: ConvertedRun, by_name: dict[str, list[InputCommand]], painter: ModelPainter, spacing: float
) -> float:
    if "time" not in by_name:
        raise ScenarioError(f"{run.source}: has no line `time`; add one, such as time t=10")
    time = by_name["time"][0]
    if time.has("t"):
        duration = time.positive("t")
    else:
        speed = painter.fastest()
        finest = spacing / 2 ** len(by_name.get("refinement", []))
        # Of models in files, and of elastic constants, the fastest wave is not known here.
        is_unknown = not speed or any(
            body["type"] == "volume" and body["format"] != "specfem" for body in painter.bodies
        )
        speed = max(speed, _FAST) if is_unknown else speed
        # No steps only set an SW4 run up.
        duration = max(1.0, time.number("steps")) * _CFL * finest / speed
        run.remark("time", f"{time.where}: {time.options['steps']} steps of SW4 take about this.")
        if is_unknown:
            reason = f"their length is assumed, of rock with sqrt(vp^2 + 2 vs^2) = {_FAST:g} m/s"
            run.leave_out(time.label_of("steps"), f"{reason}; write t= or time.duration")
    run.sections["time"] = {"duration": short(duration)}
    run.remark("time", "The step is chosen from the stability limit of this grid.")
    if time.has("utcstart"):
        text = time.options["utcstart"]
        form = f"{_UTC}.%f" if "." in text else _UTC
        try:
            start = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            problem = f"{time.label_of('utcstart')}: is no month/day/year:hour:minute:second"
            raise ScenarioError(problem) from None
        run.sections["event"] = {"time": start.isoformat().replace("+00:00", "Z")}
        run.remark("event", "The date of t = 0, utcstart of SW4.")
    return duration


def _boundaries(run: ConvertedRun, by_name: dict[str, list[InputCommand]]) -> None:
    faces: dict[str, Any] = {"top": "free_surface"}
    for command in by_name.get("boundary_conditions", []):
        for key in command.options:
            number = command.number(key) if key in _FACES else -1.0
            kind = _KINDS[int(number)] if number in range(len(_KINDS)) else ""
            if not kind or (kind == "free_surface" and key != "lz"):
                reason = "no such face here: it absorbs"
                run.leave_out(command.label_of(key), reason, alters=True)
            else:
                faces[_FACES[key]] = kind
    if "testpointsource" in by_name:
        faces["top"] = "absorbing"
    run.sections["boundaries"] = {face: k for face, k in faces.items() if k != "absorbing"} or {
        "top": "absorbing"
    }
    run.remark(
        "boundaries",
        "SW4's supergrid layers (30 points by default) lie within the extents; the absorbing "
        "layers here (12 points) lie outside, so that the extents may be smaller by as much.",
    )


def _attenuation(run: ConvertedRun, by_name: dict[str, list[InputCommand]]) -> None:
    for command in by_name.get("attenuation", []):
        if not attenuates_anywhere(run.sections["model"]):
            run.leave_out(command.label, "no part of the model has qp or qs: it is lossless")
            continue
        run.sections["attenuation"] = {
            "reference_frequency": short(command.positive("phasefreq", 1.0))
        }
        run.remark(
            "attenuation",
            "Q is constant over the frequencies of the sources; SW4 fits it up to maxfreq (2 Hz).",
        )
        for key in command.beyond({"phasefreq"}):
            reason = "the mechanisms and their band follow from the sources here"
            if key == "qmultiplier":
                reason = "multiply qp and qs of the model yourself"
            run.leave_out(command.label_of(key), reason, alters=key == "qmultiplier")


def _sources(
    run: ConvertedRun, commands: Iterable[InputCommand], frame: SourceFrame, duration: float
) -> None:
    sources: list[dict[str, Any]] = []
    for command in commands:
        if command.name == "source":
            source = source_of(run, command, frame, duration, len(sources) + 1)
            if source is not None:
                sources.append(source)
        elif command.name in _RUPTURES:
            if not command.has("file"):
                raise ScenarioError(f"{command.where}: {command.name}: missing file=")
            path = _path_of_file(run, command, command.options["file"])
            sources.append({"type": "finite_fault", "path": path, "rigidity": "model"})
    if not sources:
        raise ScenarioError(f"{run.source}: has no source that can be carried over")
    run.sections["sources"] = sources
    if any("time_function" in source for source in sources):
        run.remark(
            "sources",
            "SW4's time function is the moment itself (time_function: moment); one that ends at "
            "the full moment is given by its rate, which is the same.",
        )


def _path_of_file(run: ConvertedRun, command: InputCommand, path: str) -> str:
    """Return the path of a file of the input for the scenario."""
    located = run.source.parent / path
    if not located.is_file():
        run.leave_out(command.label, f"no such file as {located}: put it there before the run")
    return run.path_from_target(located)


def _leave_out(run: ConvertedRun, commands: Iterable[InputCommand]) -> None:
    """Record commands without counterpart, and such options of the other commands."""
    carried = {
        "grid", "time", "source", "supergrid", "globalmaterial", "attenuation", "testlamb",
        "testpointsource", "boundary_conditions", "anisotropy", "topography", "refinement",
        *_MODEL, *_RUPTURES, *_RECEIVERS,
    }  # fmt: skip
    anisotropic = any(command.name == "anisotropy" for command in commands)
    for command in commands:
        is_read = command.name == "ablock" and anisotropic
        if command.name not in carried and not is_map(command) and not is_read:
            reason = REASONS.get(command.name, UNKNOWN)
            run.leave_out(command.label, reason, command.name in ALTERING)
        for key, reason in ignored_options(command):
            run.leave_out(command.label_of(key), reason)

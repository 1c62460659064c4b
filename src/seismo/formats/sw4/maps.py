"""Images of the largest motion of an SW4 input as maps."""

from __future__ import annotations

from typing import Any

from seismo.formats.conversion.converted_run import ConvertedRun, short
from seismo.formats.sw4.commands import InputCommand

_IMAGES = ("image", "imagehdf5")
_VELOCITIES = {
    "hvelmax": "pgv_horizontal", "hmaxdudt": "pgv_horizontal", "vvelmax": "pgv_z",
    "vmaxdudt": "pgv_z",
}  # fmt: skip
_DISPLACEMENTS = {"hmax": "pgv_horizontal", "vmax": "pgv_z"}
_MAPS = _VELOCITIES | _DISPLACEMENTS


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

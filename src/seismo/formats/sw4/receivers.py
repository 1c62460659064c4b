"""Receivers of an SW4 input: its own `rec` lines, which are read where they stand."""

from __future__ import annotations

from seismo.formats.conversion.converted_run import ConvertedRun
from seismo.formats.sw4.commands import InputCommand
from seismo.formats.sw4.projection import ToGrid

_QUANTITIES = {
    "displacement": "displacement", "velocity": "velocity", "div": "divergence",
    "curl": "rotation", "strains": "strain",
}  # fmt: skip


def add_receivers(
    run: ConvertedRun, commands: list[InputCommand], lines: list[tuple[int, str]], to_grid: ToGrid
) -> None:
    """Add the receivers of `rec` and `sac` lines; those in HDF5 files are left out.

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

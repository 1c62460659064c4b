"""Sources of SPECFEM3D: CMTSOLUTION and FORCESOLUTION.

SPECFEM's t = 0 is the centre of the source; here it lies at the `delay` of the wavelets, so that
they begin at t = 0. A CMTSOLUTION in degrees is read where it is, by a source of type event.
Moments are steps whose rate is a Gaussian, of a force the function itself is that Gaussian, or a
Ricker wavelet of frequency f0 for both (USE_RICKER_TIME_FUNCTION).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError
from seismo.scenario.convert.converted_run import ConvertedRun, short
from seismo.scenario.convert.specfem3d_mesh import MeshBox
from seismo.scenario.convert.specfem_files import ParameterFile, read_parameters

_DYN_CM = 1e-7  # N m
_LEAST_STEPS = 5  # of a half duration
_BEGINS = 2.0  # half durations before the centre
_RICKER_BEGINS = 1.2  # periods before the centre


def add_sources(run: ConvertedRun, data: Path, parameters: ParameterFile, mesh: MeshBox) -> None:
    """Add the source of a run.

    Args:
        run: that is converted.
        data: the folder DATA.
        parameters: Par_file.
        mesh: whose x and y are in m, or degrees.

    Raises:
        ScenarioError: the file is missing or malformed, or has several sources.
    """
    is_force = parameters.flag("USE_FORCE_POINT_SOURCE")
    path = data / ("FORCESOLUTION" if is_force else "CMTSOLUTION")
    file = read_parameters(path, ":")
    first = "LATORUTM" if is_force else "LATITUDE"
    count = sum(line.partition(":")[0].strip().upper() == first for _, line in file.rows)
    if count != 1:
        raise ScenarioError(f"{path}: has {count} sources; files with one are carried over")
    ricker = parameters.flag("USE_RICKER_TIME_FUNCTION")
    least = _LEAST_STEPS * parameters.number("DT")
    top = mesh.top if parameters.flag("USE_SOURCES_RECEIVERS_Z") else None
    position = _position(file, mesh.in_metres, is_force, top)
    if top is not None and not mesh.in_metres and not is_force:
        raise ScenarioError(
            f"{parameters.where('USE_SOURCES_RECEIVERS_Z')}: a CMTSOLUTION in degrees is read with "
            "depths in km; give it so"
        )
    source = (
        _force(file, mesh.in_metres, ricker, least)
        if is_force
        else _moment(run, file, mesh.in_metres, ricker, least)
    )
    if source["type"] != "event":
        source = {"type": source.pop("type"), "position": position, **source}
    run.sections["sources"] = [source]
    run.remark("sources", "SPECFEM's t = 0 is at the wavelet's delay.")


def _force(file: ParameterFile, in_metres: bool, ricker: bool, least: float) -> dict[str, Any]:
    width_name = next((n for n in ("HDURORF0", "HDUR") if file.has(n)), "F0")
    kind = file.number("SOURCE TIME FUNCTION", 1.0 if ricker else 0.0)
    if kind not in (0.0, 1.0):
        raise ScenarioError(
            f"{file.where('SOURCE TIME FUNCTION')}: Gaussians (0) and Ricker wavelets (1) alone "
            "are carried over"
        )
    names = (
        {"y": "E", "x": "N", "z": "Z_UP"} if not in_metres else {"x": "E", "y": "N", "z": "Z_UP"}
    )
    vector = {
        axis: file.number(f"COMPONENT DIR VECT SOURCE {name}") for axis, name in names.items()
    }
    vector["z"] = -vector["z"]
    length = math.hypot(*vector.values())
    if not length:
        raise ScenarioError(f"{file.path}: the direction of the force is zero")
    size = file.number("FACTOR FORCE SOURCE")
    force = {axis: short(size * part_of_it / length) for axis, part_of_it in vector.items()}
    return {
        "type": "force",
        "force": {axis: component for axis, component in force.items() if component},
        "wavelet": _wavelet(file.number(width_name), kind == 1.0, least),
    }


def _moment(
    run: ConvertedRun, file: ParameterFile, in_metres: bool, ricker: bool, least: float
) -> dict[str, Any]:
    wavelet = _wavelet(file.number("HALF DURATION"), ricker, least)
    if not in_metres and not ricker:
        run.remark("sources", "The centroid of the file; time shifts count from its first line.")
        return {"type": "event", "path": run.path_from_target(file.path), "wavelet": wavelet}
    tensor = {
        c: _DYN_CM * file.number(f"M{c.upper()}") for c in ("rr", "tt", "pp", "rt", "rp", "tp")
    }
    if not any(tensor.values()):
        raise ScenarioError(f"{file.path}: the moment tensor is zero")
    frame = {} if in_metres else {"frame": "gcmt"}
    if in_metres:
        # r is up, t south, p east: x = p, y = -t, z = -r.
        grid = {
            "xx": tensor["pp"], "yy": tensor["tt"], "zz": tensor["rr"],
            "xy": -tensor["tp"], "xz": -tensor["rp"], "yz": tensor["rt"],
        }  # fmt: skip
        run.remark("sources", "Components on the axes of this grid: x east, y north, z down.")
    else:
        grid = tensor
    return {
        "type": "moment_tensor", **frame,
        "components": {c: short(size) for c, size in grid.items() if size},
        **({"time_function": "moment"} if ricker else {}), "wavelet": wavelet,
    }  # fmt: skip


def _position(
    file: ParameterFile, in_metres: bool, is_force: bool, top: float | None
) -> dict[str, Any]:
    """Return the place; depths are in km, or z upwards in m where the top (m) is given."""
    names = ("LONGORUTM", "LATORUTM") if is_force else ("LONGITUDE", "LATITUDE")
    across = [file.number(name) for name in names]
    level = file.number("DEPTH")
    depth = short(1000.0 * level if top is None else top - level)
    if in_metres:
        return {"x": short(across[0]), "y": short(across[1]), "z": depth}
    return {"longitude": across[0], "latitude": across[1], "depth": depth}


def _wavelet(width: float, ricker: bool, least: float) -> dict[str, Any]:
    """Return the wavelet of a half duration in s, or of a Ricker's frequency in Hz."""
    if ricker:
        delay = short(_RICKER_BEGINS / width)
        return {"type": "ricker", "frequency": short(width), "delay": delay}
    half = max(width, least)
    delay = short(_BEGINS * half)
    return {"type": "gaussian_rate", "half_duration": short(half), "delay": delay}

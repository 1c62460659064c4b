"""Runs of SPECFEM3D (Cartesian) with its own mesher: a folder with DATA/Par_file and its mesh.

SPECFEM's x points east, y north and z up. A mesh in metres keeps x and y here, with z down: a
mirror image, in which components of vectors and tensors along x and y are the same, and components
with a single z change their sign. A mesh in degrees is placed on the earth, with x north and y
east.

Sources are CMTSOLUTION and FORCESOLUTION. SPECFEM's t = 0 is the centre of the earliest source;
here it lies so much later that no source begins before t = 0, and the section `event` says the date
of a CMTSOLUTION. One in degrees is read where it is, by a source of type event. Moments are steps
whose rate is a Gaussian, of a force the function itself is that Gaussian, or a Ricker wavelet of
frequency f0 for both (USE_RICKER_TIME_FUNCTION).
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError, printable
from seismo.formats.converted_run import ConvertedRun, attenuates_anywhere, physics_with, short
from seismo.formats.reading import optional_package
from seismo.formats.specfem.files import ParameterFile, read_parameters, read_sources
from seismo.formats.specfem.mesh import MeshBox, model_of, read_mesh

_DATE = re.compile(r"([0-9]{4})" + r"\s+([0-9]+)" * 4 + r"\s+([0-9.]+)")
_DYN_CM = 1e-7  # N m
_LEAST_STEPS = 5  # of a half duration
_BEGINS = 2.0  # half durations before the centre
_RICKER_BEGINS = 1.2  # periods before the centre
_QUANTITIES = {
    "SAVE_SEISMOGRAMS_DISPLACEMENT": "displacement", "SAVE_SEISMOGRAMS_VELOCITY": "velocity",
    "SAVE_SEISMOGRAMS_ACCELERATION": "acceleration", "SAVE_SEISMOGRAMS_PRESSURE": "pressure",
}  # fmt: skip
_ON_TOP = ("STACEY_INSTEAD_OF_FREE_SURFACE", "PML_INSTEAD_OF_FREE_SURFACE")
_ALTERED = {  # flags of the earth or the source that have no counterpart
    "OCEANS": "the load of an ocean is not modelled: add a part of type water",
    "ANISOTROPY": "anisotropic values are in SPECFEM's own routines",
    "USE_OLSEN_ATTENUATION": "qs is that of the materials, not of vs: change it by hand",
    "COUPLE_WITH_INJECTION_TECHNIQUE": "wavefields of other codes are not injected",
    "USE_EXTERNAL_SOURCE_FILE": "give the samples as a wavelet of type file",
}
_REASONS = {  # other flags that have no counterpart
    "GRAVITY": "gravity is not modelled",
    "CREATE_SHAKEMAP": "ask for output.maps",
    "MOVIE_SURFACE": "ask for output.snapshots",
    "MOVIE_VOLUME": "ask for output.snapshots",
}


def add_sources(run: ConvertedRun, data: Path, parameters: ParameterFile, mesh: MeshBox) -> None:
    """Add the sources of a run.

    Args:
        run: that is converted.
        data: the folder DATA.
        parameters: Par_file.
        mesh: whose x and y are in m, or degrees.

    Raises:
        ScenarioError: the file is missing or malformed.
    """
    is_force = parameters.flag("USE_FORCE_POINT_SOURCE")
    files = read_sources(data / ("FORCESOLUTION" if is_force else "CMTSOLUTION"))
    ricker = parameters.flag("USE_RICKER_TIME_FUNCTION")
    least = _LEAST_STEPS * parameters.number("DT")
    points_up = parameters.flag("USE_SOURCES_RECEIVERS_Z")
    is_event = not (is_force or mesh.in_metres or ricker or points_up) and len(files) == 1
    # SPECFEM's times count from the first of the sources.
    shifts = [file.number("TIME SHIFT", 0.0) for file in files]
    later = [shift - min(shifts) for shift in shifts]
    sources = []
    for file in files:
        if is_event:
            source = _event(run, file, least)
        else:
            if is_force:
                source = _force(file, mesh.in_metres, ricker, least)
            else:
                source = _moment(file, mesh.in_metres, ricker, least)
            kind = source.pop("type")
            source = {"type": kind, "position": _position(file, mesh, points_up), **source}
        sources.append(source)
    # So late that none of them begins before the run.
    zero = max(source["wavelet"]["delay"] - t for source, t in zip(sources, later, strict=True))
    for source, t in zip(sources, later, strict=True):
        source["wavelet"]["delay"] = short(zero + t)
    if not is_force:
        _add_date(run, files[0], zero - min(shifts))
    if is_event:
        del sources[0]["wavelet"]["delay"]  # the section event says the time
    run.sections["sources"] = sources
    if not is_event:
        run.remark("sources", "SPECFEM's t = 0 is at the delay of the earliest wavelet.")
    if not is_force and mesh.in_metres:
        run.remark("sources", "Components on the axes of this grid: x east, y north, z down.")


def _add_date(run: ConvertedRun, file: ParameterFile, at: float) -> None:
    """Add the section `event`: the date of the first line of a source, at a time (s) of the run."""
    number, line = file.rows[0]
    match = _DATE.search(line)
    try:
        *numbers, second = match.groups() if match else ()
        minute = datetime(*map(int, numbers), tzinfo=UTC)  # type: ignore[arg-type, misc]
        time = minute + timedelta(seconds=float(second))
    except (TypeError, ValueError):
        reason = "its first line has no date: without the section event an event begins at t = 0"
        run.leave_out(f"{file.path}:{number}: {line.strip()[:40]}", reason)
        return
    text = time.isoformat().replace("+00:00", "Z")
    run.sections["event"] = {"time": text, "at": short(at)}
    if file.has("EVENT NAME") and file.texts["EVENT NAME"]:
        run.sections["event"]["name"] = printable(file.texts["EVENT NAME"])[:80]
    run.remark("event", "The date in the first line of CMTSOLUTION, so late that the source begins "
               "at t = 0.")  # fmt: skip


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


def _event(run: ConvertedRun, file: ParameterFile, least: float) -> dict[str, Any]:
    run.remark("sources", "The centroid of the file, at its time shift after the date of event.")
    wavelet = _wavelet(file.number("HALF DURATION"), False, least)
    return {"type": "event", "path": run.path_from_target(file.path), "wavelet": wavelet}


def _moment(file: ParameterFile, in_metres: bool, ricker: bool, least: float) -> dict[str, Any]:
    tensor = {
        c: _DYN_CM * file.number(f"M{c.upper()}") for c in ("rr", "tt", "pp", "rt", "rp", "tp")
    }
    if not any(tensor.values()):
        raise ScenarioError(f"{file.path}: the moment tensor is zero")
    if in_metres:
        # r is up, t south, p east: x = p, y = -t, z = -r.
        components = {
            "xx": tensor["pp"], "yy": tensor["tt"], "zz": tensor["rr"],
            "xy": -tensor["tp"], "xz": -tensor["rp"], "yz": tensor["rt"],
        }  # fmt: skip
    else:
        components = tensor
    return {
        "type": "moment_tensor", **({} if in_metres else {"frame": "gcmt"}),
        "components": {c: short(size) for c, size in components.items() if size},
        **({"time_function": "moment"} if ricker else {}),
        "wavelet": _wavelet(file.number("HALF DURATION"), ricker, least),
    }  # fmt: skip


def _position(file: ParameterFile, mesh: MeshBox, points_up: bool) -> dict[str, Any]:
    """Return the place; depths are in km below the ground, or z upwards in m."""
    across = [
        file.number(next((name for name in names if file.has(name)), names[-1]))
        for names in (("LONGORUTM", "LONORUTM", "LONGITUDE"), ("LATORUTM", "LATITUDE"))
    ]
    level = file.number("DEPTH")
    if mesh.in_metres:
        x, y = map(short, across)
        if points_up:
            return {"x": x, "y": y, "z": short(mesh.top - level)}
        return {"x": x, "y": y, "z" if mesh.ground is None else "depth": short(1000.0 * level)}
    if not points_up:
        return {"longitude": across[0], "latitude": across[1], "depth": short(1000.0 * level)}
    if mesh.ground is not None:
        raise ScenarioError(
            f"{file.where('DEPTH')}: z upwards (USE_SOURCES_RECEIVERS_Z) over topography in "
            "degrees is not carried over; give its depth below the ground in km"
        )
    depth = short(mesh.top - level)
    return {"longitude": across[0], "latitude": across[1], "depth": depth}


def _wavelet(width: float, ricker: bool, least: float) -> dict[str, Any]:
    """Return the wavelet of a half duration in s, or of a Ricker's frequency in Hz."""
    if ricker:
        delay = short(_RICKER_BEGINS / width)
        return {"type": "ricker", "frequency": short(width), "delay": delay}
    half = max(width, least)
    delay = short(_BEGINS * half)
    return {"type": "gaussian_rate", "half_duration": short(half), "delay": delay}


def is_specfem3d(source: Path) -> bool:
    """Whether it is a Par_file, or a folder with a Par_file."""
    return _parameter_file(source) is not None


def _parameter_file(source: Path) -> Path | None:
    names = (source, source / "Par_file", source / "DATA" / "Par_file")
    return next((path for path in names if path.is_file() and path.name == "Par_file"), None)


def convert_specfem3d(run: ConvertedRun) -> None:
    """Carry a run over, by the Par_file in its folder DATA.

    Raises:
        ScenarioError: a file is missing or malformed.
    """
    run.program = "SPECFEM3D"
    path = _parameter_file(run.source)
    assert path
    parameters = read_parameters(path)
    data = path.parent
    mesh_file = data / "meshfem3D_files" / "Mesh_Par_file"
    if not mesh_file.is_file():
        raise ScenarioError(
            f"{mesh_file}: is not there: meshes of SPECFEM3D's own mesher alone are carried over"
        )
    mesh = read_mesh(mesh_file)
    absorbing = [name for name in _ON_TOP if parameters.flag(name)]
    if absorbing and mesh.ground is not None:
        reason = "topography is that of a free surface, and this top absorbs: it is level here"
        run.leave_out(parameters.where(absorbing[0]), reason, alters=True)
        mesh = mesh.levelled()
    kind = parameters.texts.get("MODEL", "default").strip("'\"").lower()
    if kind != "default":
        reason = "the materials of the mesh are used instead"
        if kind == "tomo":
            reason += "; tomography_model.xyz is a part of type volume, format specfem"
        run.leave_out(parameters.where("MODEL"), reason, alters=True)
    attenuates = parameters.flag("ATTENUATION")
    run.sections["title"] = f"{path.resolve().parent.parent.name}, from SPECFEM3D"
    run.sections["physics"] = physics_with(("vp", "vs", "rho"), 3)
    if mesh.in_metres:
        _grid_in_metres(run, mesh)
    else:
        _grid_on_earth(run, mesh)
    if mesh.ground is not None:
        run.sections["topography"] = mesh.ground.topography(run, mesh.crs)
        run.remark("topography", "The top of the mesh; z = 0 is at the elevation 0.")
    run.remark("grid", "As many points as SPECFEM has: four intervals to an element.")
    duration = parameters.number("NSTEP") * parameters.number("DT")
    run.sections["time"] = {"duration": short(duration)}
    run.remark("time", "NSTEP x DT. The step is chosen from the stability limit of this grid.")
    run.sections["model"] = model_of(run, mesh, attenuates)
    _attenuation(run, parameters, attenuates)
    _boundaries(run, parameters)
    add_sources(run, data, parameters, mesh)
    _receivers(run, data, parameters, mesh)
    for name, reason in (_ALTERED | _REASONS).items():
        if parameters.has(name) and parameters.flag(name):
            run.leave_out(parameters.where(name), reason, name in _ALTERED)


def _grid_in_metres(run: ConvertedRun, mesh: MeshBox) -> None:
    sizes = [high - low for low, high in mesh.limits]
    run.sections["grid"] = {
        "extent": {"x": short(sizes[0]), "y": short(sizes[1]), "z": short(mesh.thickness)},
        "spacing": {
            "x": short(sizes[0] / mesh.count(0)),
            "y": short(sizes[1] / mesh.count(1)),
            "z": short(mesh.spacing_along_z()),
        },
        "origin": {"x": short(mesh.limits[0][0]), "y": short(mesh.limits[1][0]), **_top(mesh)},
    }
    run.remark("grid", "x and y are SPECFEM's, z points down: z components change their sign.")


def _grid_on_earth(run: ConvertedRun, mesh: MeshBox) -> None:
    """Add the grid around the middle of a mesh between meridians and parallels."""
    pyproj = optional_package("pyproj", "geo", "a mesh in degrees")
    utm = pyproj.Proj(mesh.crs)
    (west, east), (low, high) = mesh.limits
    corners = utm(west, low), utm(east, high)
    along_east, along_north = (float(b - a) for a, b in zip(*corners, strict=True))
    middle = [float(0.5 * (a + b)) for a, b in zip(*corners, strict=True)]
    longitude, latitude = utm(*middle, inverse=True)
    convergence = utm.get_factors(longitude, latitude).meridian_convergence
    run.sections["grid"] = {
        "extent": {"x": short(along_north), "y": short(along_east), "z": short(mesh.thickness)},
        "spacing": {
            "x": short(along_north / mesh.count(1)),
            "y": short(along_east / mesh.count(0)),
            "z": short(mesh.spacing_along_z()),
        },
        "origin": {"x": short(-0.5 * along_north), "y": short(-0.5 * along_east), **_top(mesh)},
    }
    run.sections["geographic"] = {
        "longitude": short(longitude), "latitude": short(latitude),
        "azimuth": short(float(convergence)),
    }  # fmt: skip
    run.remark(
        "geographic", "The middle of the mesh; x points along UTM's north, y along its east."
    )


def _top(mesh: MeshBox) -> dict[str, Any]:
    """Return z of the top of the grid, which follows from the heights over topography."""
    return {"z": 0} if mesh.ground is None else {}


def _attenuation(run: ConvertedRun, parameters: ParameterFile, attenuates: bool) -> None:
    reference = parameters.number("ATTENUATION_F0_REFERENCE", 0.0)
    if attenuates and reference > 0.0 and attenuates_anywhere(run.sections["model"]):
        run.sections["attenuation"] = {"reference_frequency": short(reference)}
    if not attenuates:
        run.remark("model", "ATTENUATION is .false.: the medium is lossless.")


def _boundaries(run: ConvertedRun, parameters: ParameterFile) -> None:
    absorbing = ("STACEY_ABSORBING_CONDITIONS", "PML_CONDITIONS")
    if not any(map(parameters.flag, absorbing)):
        where = next((parameters.where(n) for n in absorbing if parameters.has(n)), "absorbing")
        reason = "sides and bottom, free in SPECFEM then, absorb here"
        run.leave_out(where, reason, alters=True)
    top = "absorbing" if any(map(parameters.flag, _ON_TOP)) else "free_surface"
    run.sections["boundaries"] = {"top": top}
    run.remark("boundaries", "Absorbing layers lie outside the mesh.")


def _receivers(run: ConvertedRun, data: Path, parameters: ParameterFile, mesh: MeshBox) -> None:
    path = data / "STATIONS"
    if not path.is_file():
        run.leave_out(str(path), "is not there: no receivers")
        return
    quantities = [q for name, q in _QUANTITIES.items() if parameters.flag(name)]
    stations: dict[str, Any] = {
        "name": "stations", "type": "stations", "path": run.path_from_target(path),
        "coordinates": "metres" if mesh.in_metres else "degrees",
        "quantities": quantities or ["displacement"],
    }  # fmt: skip
    if parameters.flag("USE_SOURCES_RECEIVERS_Z"):
        stations["surface"] = short(mesh.top)
        run.remark("receivers", "The last column of STATIONS is z upwards, from `surface` down.")
    run.sections["receivers"] = [stations]

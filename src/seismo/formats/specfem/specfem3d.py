"""Runs of SPECFEM3D (Cartesian) with its own mesher: a folder with DATA/Par_file and its mesh.

SPECFEM's x points east, y north and z up. A mesh in metres keeps x and y here, with z down: a
mirror image, in which components of vectors and tensors along x and y are the same, and those with
one z change their sign. A mesh in degrees is placed on the earth, with x north and y east.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError
from seismo.formats.conversion.converted_run import (
    ConvertedRun,
    attenuates_anywhere,
    physics_with,
    short,
)
from seismo.formats.reading.optional_package import optional_package
from seismo.formats.specfem.files import ParameterFile, read_parameters
from seismo.formats.specfem.mesh import (
    MeshBox,
    model_of,
    read_mesh,
)
from seismo.formats.specfem.sources import add_sources

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


def parameter_file(source: Path) -> Path | None:
    """Return the Par_file of a folder, or the file itself; None where there is none."""
    names = (source, source / "Par_file", source / "DATA" / "Par_file")
    return next((path for path in names if path.is_file() and path.name == "Par_file"), None)


def convert_specfem3d(run: ConvertedRun, path: Path) -> None:
    """Carry a run over.

    Args:
        run: that is converted.
        path: Par_file in its folder DATA.

    Raises:
        ScenarioError: a file is missing or malformed.
    """
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

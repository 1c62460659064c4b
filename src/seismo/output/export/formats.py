"""The formats by name, and the one call that writes any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seismo.errors import ScenarioError
from seismo.formats.segy.export import segy, su
from seismo.formats.seismology.asdf import asdf
from seismo.formats.seismology.obspy_stream import SEISMIC, miniseed
from seismo.formats.seismology.sac import sac
from seismo.formats.seismology.seismograms import start_date
from seismo.output.export.datasets import netcdf
from seismo.output.export.geotiff import geotiff, is_horizontal
from seismo.output.export.ground_motion_table import ground_motion, missing_motions
from seismo.output.export.selection import ExportSelection, FilesOfFormat, quantities_of
from seismo.output.run_directory.atomic_file import (
    final_path,
    make_folder,
    refusal,
    write_hidden,
)
from seismo.output.run_results import RunResults
from seismo.output.store.arrays import choose

GROUND_MOTION = "ground-motion"
GEOTIFF = "geotiff"
ASDF = "asdf"
_OF_FILES = (
    ".asdf", ".csv", ".h5", ".mseed", ".nc", ".sac", ".segy", ".sgy", ".su", ".tif", ".txt", ".xml",
)  # fmt: skip


@dataclass(frozen=True)
class ExportFormat:
    """A format: its name, what it is of, and the function that returns its files.

    `quantities` are those that it can hold, all of them if None; `dated` formats hold dates;
    those of some are `to_the_second`.
    """

    name: str
    summary: str
    files: Callable[[ExportSelection], FilesOfFormat]
    quantities: tuple[str, ...] | None = None
    dated: bool = True
    to_the_second: bool = False


FORMATS: dict[str, ExportFormat] = {
    one.name: one
    for one in (
        ExportFormat(
            "miniseed", "seismograms in miniSEED, stations in StationXML", miniseed, SEISMIC
        ),
        ExportFormat(
            ASDF, "seismograms in ASDF, with StationXML and QuakeML of the event", asdf, SEISMIC
        ),
        ExportFormat("sac", "seismograms in SAC, a file for each component", sac, SEISMIC),
        ExportFormat("segy", "gathers in SEG-Y rev 1, by components", segy, None, False, True),
        ExportFormat("su", "gathers in Seismic Unix, by components", su, None, False, True),
        ExportFormat(
            GROUND_MOTION,
            "peaks, spectra, intensities at stations, CSV",
            ground_motion,
            dated=False,
        ),
        ExportFormat(GEOTIFF, "maps on a horizontal plane, in GeoTIFF", geotiff, dated=False),
        ExportFormat("netcdf", "everything, in NetCDF by the CF conventions", netcdf, dated=False),
    )
}


def export(
    results: RunResults,
    format_name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    receivers: str | None = None,
    shot: str | None = None,
    quantity: str | None = None,
    periods: Sequence[float] | None = None,
    damping: float = 0.05,
) -> Iterator[Path]:
    """Write results in the format of other programs; return the paths, one by one.

    Args:
        results: the results file.
        format_name: a name in FORMATS.
        folder: of the files, which is made (default: that of the results).
        receivers: name of a receiver set (default: all, with a file for each).
        shot: name of a shot (default: all).
        quantity: velocity, displacement, acceleration, rotation, or a trace such as pressure
            (default: all that the format has room for).
        periods: of response spectra in s, in the format ground-motion.
        damping: of these, as a share of the critical one.

    Raises:
        ScenarioError: the format, set, shot or quantity does not exist, the format cannot hold
            them, a package is not installed, or the folder cannot be made or has a file's name.
        StorageError: a file cannot be written.
    """
    chosen: ExportFormat = choose(FORMATS, format_name, "formats")
    directory = results.path.parent if folder is None else Path(folder)
    if directory.suffix.lower() in _OF_FILES and not directory.is_dir():
        raise ScenarioError(
            f"{directory}: files go to a folder, and this is a file's name; name a folder, such as "
            f"{directory.with_suffix('')}"
        )
    if periods is not None and format_name != GROUND_MOTION:
        raise ScenarioError(f"periods: {format_name} has no spectra; {GROUND_MOTION} has")
    chosen_periods = None if periods is None else tuple(periods)
    selection = ExportSelection(results, receivers, shot, quantity, chosen_periods, damping)
    for file in chosen.files(selection):
        path = directory / file.name
        make_folder(path.parent)
        try:
            write_hidden(final_path(path), file.write)
        except OSError as error:
            raise refusal(path, error) from error
        yield path


def remarks(results: RunResults, format_name: str, quantity: str | None = None) -> Iterator[str]:
    """Return what an exported file does not hold, or holds in place of what is missing."""
    chosen: ExportFormat = choose(FORMATS, format_name, "formats")
    if chosen.dated and not results.event:
        yield (
            "the scenario has no event: t = 0 is 1970-01-01T00:00:00Z in the files; add "
            "event: {time: ...} for dates"
        )
    if chosen.to_the_second and results.event:
        begin = start_date(results)
        if begin.microsecond:
            yield (
                f"{chosen.name} holds dates to the second: t = 0 is {begin.isoformat()}, whose "
                f"{begin.microsecond / 1000:g} ms are in lag time A (bytes 105, 106), whole ms"
            )
    if chosen.quantities is not None and quantity is None:
        available = {name for traces in results.traces.values() for name in quantities_of(traces)}
        if left_out := sorted(available - set(chosen.quantities)):
            yield f"{chosen.name} has no codes for {', '.join(left_out)}, which are left out"
    if format_name == ASDF and not results.section("geographic"):
        yield (
            "the scenario has no section geographic: the file has no stations and no event, whose "
            "longitudes and latitudes StationXML and QuakeML need"
        )
    if format_name == GEOTIFF:
        if not results.section("geographic"):
            yield (
                "the scenario has no section geographic: the files have no reference system, and "
                "grid coordinates, x to the north and y to the east"
            )
        if left_out := [name for name, maps in results.maps.items() if not is_horizontal(maps)]:
            yield f"maps {', '.join(left_out)} are not on a horizontal plane and are left out"
    if format_name == GROUND_MOTION and (missing := missing_motions(results)):
        yield (
            f"measures of {', '.join(missing)} are left out; add it to the receivers' quantities "
            "(acceleration for SA, Arias intensity, CAV and durations)"
        )

"""Opening of results files, with a clear line for files that are none or cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import h5py

from seismo.errors import ScenarioError
from seismo.formats.reading.arrays import open_hdf5
from seismo.formats.reading.text import similar_name
from seismo.output.results_file import FORMAT, FORMAT_VERSION
from seismo.output.run_directory import checkpoint
from seismo.output.run_directory.atomic_file import final_path
from seismo.output.run_directory.partial_files import MANIFEST, run_folder
from seismo.output.store.arrays import (
    AGAIN,
    reading,
    text_attribute,
)

_OTHERS = (  # suffixes of files that are no results
    ".yaml", ".yml", ".json", ".txt", ".csv", ".png", ".pdf", ".svg", ".gif", ".html", ".npy",
    ".npz", ".sgy", ".segy", ".su", ".sac", ".mseed", ".xml", ".vtkhdf", ".tif", ".zarr", ".run",
)  # fmt: skip
_FOREIGN = "not an HDF5 file; name what `seismo run` wrote, or copy it again"


def results_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that results go to: a new one, or one that holds results.

    Raises:
        ScenarioError: as `final_path` does, its name is that of a file of another format, or it
            holds something else, which would be lost.
    """
    final = final_path(path)
    if final.exists() and final.stat().st_size and not _holds_results(final):
        raise ScenarioError(
            f"{final}: is there and holds no results of seismo that can be read, or another "
            "program writes to it; choose another name"
        )
    if final.suffix.lower() in _OTHERS:
        problem = f"results are an HDF5 file: name it {final.with_suffix('.h5').name}"
        raise ScenarioError(f"{path}: {problem}; `seismo export` writes other formats of it")
    return final


def _holds_results(path: Path) -> bool:
    try:
        with _opened_file(path) as file:
            return text_attribute(file, "format") == FORMAT
    except (OSError, ValueError, ScenarioError):
        return False


def _opened_file(path: Path) -> h5py.File:
    try:
        # HDF5's default, so that xarray can open the same file in the same process.
        return open_hdf5(path, is_ours=True)
    except OSError:
        # A published file is never written again: where the file system has no locks, or another
        # program holds one, reading without is safe.
        return open_hdf5(path, is_ours=True, locking=False)


def _folder(path: Path) -> str:
    if not (path / MANIFEST).exists():
        return "is a folder; name a file, such as results.h5"
    onwards = f"`seismo resume {path}` goes on with it"
    if not checkpoint.checkpoint_files(path):
        onwards = "it holds no checkpoint to go on from"
    return (
        f"is the folder of a run that has not ended; {onwards}, and "
        "its parts (part-000.h5, ...) open by themselves"
    )


def opened(path: Path) -> h5py.File:
    """Open a file for reading and check that it is ours.

    Raises:
        ScenarioError: it is missing, damaged, or holds no results.
    """
    try:
        file = _opened_file(path)
    except FileNotFoundError as error:
        reason = similar_name(path, ".h5", ".hdf5") or "; run the scenario first"
        reason = f"no such file{reason}"
        if run_folder(path).is_dir():
            reason = f"is not there yet: its run has not ended; see `seismo status {path}`"
        raise ScenarioError(f"{path}: {reason}") from error
    except IsADirectoryError as error:
        raise ScenarioError(f"{path}: {_folder(path)}") from error
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else _FOREIGN
        if "truncated" in str(error):
            reason = "it is cut short; copy it again, or run the scenario again"
        if "open for write" in str(error):
            reason = "another program writes to it, or ended while it did; wait, or copy it again"
        raise ScenarioError(f"{path}: cannot be opened as results: {reason}") from error
    try:
        if text_attribute(file, "format") != FORMAT:
            raise ScenarioError(f"{path}: {_unlike_ours(file)}")
        version = text_attribute(file, "format_version")
        if version != str(FORMAT_VERSION):
            raise ScenarioError(
                f"{path}: results of format {version or '?'}, this version reads {FORMAT_VERSION}; "
                "use the seismo that wrote it"
            )
    except BaseException:
        file.close()
        raise
    return file


def _unlike_ours(file: h5py.File) -> str:
    """Explain why a file without our mark is none of ours, or which attribute is damaged.

    Raises:
        ScenarioError: the attributes cannot be listed.
    """
    with reading(file):
        names = list(file.attrs)
    if "seismo_version" not in names:
        return "is an HDF5 file, but not one that seismo wrote"
    written = repr(text_attribute(file, "format")) if "format" in names else "missing"
    return f"is damaged: the attribute format is {written}, not {FORMAT!r}; {AGAIN}"

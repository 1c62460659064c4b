"""Parts of the earth from one file with several parameters, by its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from seismo.errors import ModelError
from seismo.formats import format_for, giving
from seismo.formats.reading.arrays import too_large
from seismo.model.volumes.files import one_line_for_malformed, refuse_no_file
from seismo.model.volumes.volume import Volume
from seismo.model.volumes.volume_request import VolumeRequest
from seismo.scenario.earth.gridded_parts import (
    VOLUMES,
    VolumePart,
    volume_format,
)


def files_of_volume(section: VolumePart, path: Path) -> list[Path]:
    """Return the file of a part of the model at its path, and those that it names in turn.

    Raises:
        ModelError: it is malformed.
    """
    name = volume_format(section)
    further = (
        known["volume_files"](path) for known in giving("volume_files") if known.name == name
    )
    return [path, *chain.from_iterable(further)]


def read_volume(
    section: VolumePart,
    variables: Mapping[str, Any],
    base: Path,
    key: tuple[str | int, ...],
    region: Mapping[str, tuple[float, float]],
    projection: Callable[[], Any] | None,
) -> Volume:
    """Read a part of the earth from a file.

    Args:
        section: the part of the scenario's model.
        variables: those of the file, and their units, by parameter.
        base: folder that relative paths start from.
        key: of the part in the scenario.
        region: limits of the grid in m by axis name.
        projection: function() -> the map between the grid and the earth, None without one.

    Raises:
        ModelError: missing or malformed file, or physically impossible values.
        InsufficientMemoryError: what is needed of it is larger than the free memory.
    """
    path = Path(base) / section.path
    request = VolumeRequest(path, section, variables, key, region, projection)
    form = volume_format(section)
    try:
        refuse_no_file(path)
        if not form:
            known = ", ".join(sorted(set(VOLUMES.values())))
            raise ModelError(
                f"missing: {path} ends in none of {', '.join(VOLUMES)}; give it ({known})", "format"
            )
        with one_line_for_malformed(path, form):
            volume: Volume = format_for("volume", form)["volume"](request)
            return volume
    except ModelError as error:
        raise error.below(*key) from None
    except MemoryError:
        raise too_large(path, path.stat().st_size) from None

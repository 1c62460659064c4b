"""What is asked of the readers of files with several parameters, each of one format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seismo.errors import ModelError
from seismo.model.volumes.placement import Placement
from seismo.model.volumes.volume import Volume, VolumeBlock
from seismo.scenario.earth.gridded_parts import VolumePart


@dataclass(frozen=True)
class VolumeRequest:
    """What a region needs of a file.

    Attributes:
        path: the file.
        section: the part of the scenario's model.
        variables: those of the file, and their units, by parameter.
        key: of the part in the scenario.
        region: limits of the grid in m by axis name.
        projection: function() -> the map between the grid and the earth, None without one.
    """

    path: Path
    section: VolumePart
    variables: Mapping[str, Any]
    key: tuple[str | int, ...]
    region: Mapping[str, tuple[float, float]]
    projection: Callable[[], Any] | None

    def refuse_keys(self, *names: str) -> None:
        """Refuse keys of the section for what the file says itself."""
        for name in names:
            if getattr(self.section, name) is not None:
                raise ModelError(f"{self.path} says it itself; leave it out", name)

    def volume(
        self, blocks: tuple[VolumeBlock, ...], placement: Placement, axes: tuple[str, ...],
        reach: tuple[tuple[float, float], ...],
    ) -> Volume:  # fmt: skip
        """Return the part of the earth that a reader found; see `Volume`."""
        # Columns are filled by the readers: nothing is missing in them.
        missing = "refuse" if self.section.missing == "column" else self.section.missing
        written = self.section.minimum
        minimum = {
            name: getattr(written, name)
            for name in ("vp", "vs")
            if getattr(written, name, None) is not None
        }
        if self.section.interpolation == "cells":
            blocks = tuple(replace(block, cells=True) for block in blocks)
        for name in minimum:
            if getattr(self.section, name) is None:
                raise ModelError(
                    f"has no effect: this part has no {name}; give {name}, or leave it out",
                    "minimum",
                    name,
                )
        return Volume(
            blocks, placement, axes, reach, self.section.outside, missing, str(self.path), self.key,
            minimum=minimum,
        )  # fmt: skip

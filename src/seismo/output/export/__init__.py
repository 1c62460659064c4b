"""Results in the formats of other programs; each format is a function that `FORMATS` names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seismo.output.export.formats import FORMATS, ExportFormat, export, remarks

__all__ = ["FORMATS", "ExportFormat", "export", "remarks"]


def __getattr__(name: str) -> Any:
    # Writers of formats are imported once one is asked for: they import modules of this folder.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from seismo.output.export import formats

    return getattr(formats, name)

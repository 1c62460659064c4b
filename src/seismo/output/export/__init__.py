"""Results in the formats of other programs; each format is a function that `FORMATS` names."""

from __future__ import annotations

from seismo.output.export.formats import FORMATS, ExportFormat, export, remarks

__all__ = ["FORMATS", "ExportFormat", "export", "remarks"]

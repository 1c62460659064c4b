"""Results on disk: one HDF5 file per run, its writer, its reader and its provenance."""

from __future__ import annotations

from seismo.output.provenance import provenance
from seismo.output.results import Results, open_results
from seismo.output.results_file import ResultsWriter

__all__ = ["Results", "ResultsWriter", "open_results", "provenance"]

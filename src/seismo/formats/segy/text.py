"""The textual header of SEG-Y, which says what the numbers of a file are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seismo.formats.seismology.seismograms import hypocentre, start_date
from seismo.output.results import Results
from seismo.output.store.array_sets import TraceSet


def textual_header(
    results: Results, traces: TraceSet, name: str, shots: Sequence[str], interval: int
) -> bytes:
    """Return the textual header: 40 lines of 80 letters in EBCDIC.

    Args:
        results: the results file.
        traces: the receiver set.
        name: of the traces, such as vz.
        shots: names of the shots in the file.
        interval: between samples in microseconds.
    """
    unit = traces.unit(name)
    date = start_date(results, float(traces.time[0]))
    signs = {"z": "Z POINTS DOWN", "pressure": "POSITIVE IN COMPRESSION"}
    sign = signs.get(name, signs["z"] if name.endswith("z") else "ALONG THE GRID")
    lines = [
        "SYNTHETIC SEISMOGRAMS OF SEISMO " + str(results.attributes.get("seismo_version", "")),
        f"TITLE: {results.title}",
        f"TRACES: {name} in {unit}, {sign}",
        f"RECEIVERS: {traces.name}; {len(shots)} SHOTS, ONE AFTER THE OTHER",
        "COORDINATES: OF THE GRID, IN M, TIMES THE SCALARS IN BYTES 69 AND 71",
        "ELEVATION: -Z IN BYTES 41, 45 (THE GROUND); SOURCE DEPTH BELOW IT IN 49",
        "OFFSET: BYTES 37, WHOLE M; OF 2-D LINES WITH THE SIGN OF X",
        "CDP: BYTES 21, NUMBER OF THE MIDPOINT ALONG A 2-D LINE; 0 IN 3-D",
        "TIME 0: BEGIN OF THE RUN; ITS DATE IN BYTES 157 TO 168, 0 IF NONE",
        f"DATE OF TIME 0: {date.isoformat() if results.event else 'NONE'}",
        "FRACTION OF ITS SECOND: LAG TIME A, BYTES 105 TO 106, MS",
    ]
    if (gauge := traces.gauge_length) is not None:
        lines += [
            f"FIBRE: MEAN STRAIN ALONG IT OVER A GAUGE LENGTH OF {gauge:.10g} M",
            "COORDINATES OF RECEIVERS: OF THE MIDDLE OF THEIR GAUGE LENGTHS",
        ]
    lines += [
        f"SOURCE: {_described_sources(results, shots[0])}",
        f"TIME STEP OF THE RUN: {float(results.attributes.get('dt', 'nan')):.10g} S; SAMPLES EVERY "
        f"{interval} MICROSECONDS",
    ]
    lines += [""] * (38 - len(lines)) + ["SEG Y REV1", "END TEXTUAL HEADER"]
    rows = [f"C{number:2d} {line}"[:80].ljust(80) for number, line in enumerate(lines, 1)]
    return "".join(rows).encode("cp037", "replace")


def _described_sources(results: Results, shot: str) -> str:
    """Return the types of the sources of a shot, and wavelet and centre of the first."""
    sources = results.sources_of(shot)
    if not sources:
        return "NONE"
    first = hypocentre(results, shot)
    kinds = ", ".join(dict.fromkeys(str(source.get("type", "")) for source in sources))
    centre = float(first.get("centre", math.nan))
    at = f"BEGINS AT {float(first.get('start', 0.0)):.6g} S"
    if math.isfinite(centre):
        at = f"CENTRE AT {centre:.6g} S"
    return f"{kinds}; WAVELET {first.get('wavelet', '')}, {at}"

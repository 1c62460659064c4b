"""Climb the ladder: measure rungs and rows, say each as it is known, keep all of it as JSON."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ladder import rungs
from ladder.rows import ROWS, Row
from ladder.stand import FOR_CARDS, FOR_PROCESSORS, Scale, Stand
from ladder.worth import NotHereError
from seismo.backends.select import BackendChoice
from seismo.errors import ScenarioError
from seismo.runs.tools import bench

CLOSE = 1e-5  # the sides of a row differ by rounding: relative L2, float32, a few steps
WIDTH = 24  # of a bar


def chosen(names: Iterable[str]) -> list[str]:
    """Give the names of what is to be measured; all when none is.

    Those of the rungs are the machines', "cpu" and "gpu", those of rows their numbers.

    Raises:
        ScenarioError: a name is neither.
    """
    every = [*rungs.LADDERS, *(str(row.number) for row in ROWS)]
    wanted = list(names) or every
    if unknown := [name for name in wanted if name not in every]:
        raise ScenarioError(
            f"bench --ladder: there is no row {', '.join(unknown)}; choose from {', '.join(every)}"
        )
    return wanted


def climb(
    choice: BackendChoice, names: Iterable[str], output: Path | None, console: Console,
    scale: Scale | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Measure, print and keep; give the record.

    Args:
        choice: where.
        names: of what (`chosen`).
        output: the JSON file, written anew after each row.
        console: told of each row.
        scale: of the scenarios; what suits the machine when None.
    """
    wanted = chosen(names)
    stand = Stand(choice, scale or {"gpu": FOR_CARDS}.get(choice.name, FOR_PROCESSORS))
    record = _begun(stand, output)
    for machine in dict.fromkeys(("cpu", choice.name)):
        if machine in wanted:
            record["rungs"] = [r for r in record["rungs"] if r["machine"] != machine]
            for rung in rungs.climb(stand, machine):
                record["rungs"].append(rung.as_dict())
                console.print(_rung_line(record["rungs"][-1]), highlight=False)
                _keep(output, record)
    for row in ROWS:
        if str(row.number) in wanted:
            record["rows"][str(row.number)] = found = _measured(row, stand)
            console.print(_row_line(row, found), highlight=False)
            _keep(output, record)
    return record


def _begun(stand: Stand, output: Path | None) -> dict[str, Any]:
    """Give the record to go on with: what the file holds of the same machine, else a new one."""
    facts = {
        "machine": bench.describe_machine() | stand.backend.describe(),
        "scale": asdict(stand.scale),
    }
    if output is not None and output.exists():
        held = json.loads(output.read_text(encoding="utf-8"))
        if {key: held.get(key) for key in facts} == facts:
            return held
    rates = {stand.backend.name: stand.backend.bandwidth() / 1e9}
    rates |= {"cpu": stand.processor.bandwidth() / 1e9}
    return facts | {"bandwidth_gb_per_s": rates, "rungs": [], "rows": {}}


def _measured(row: Row, stand: Stand) -> dict[str, Any]:
    """Measure a row; what is missing or goes wrong is its result, and the next one comes."""
    try:
        worth = row.measured(stand)
    except NotHereError as error:
        return {"missing": str(error)}
    except Exception as error:
        return {"failed": _described(error)}
    found = worth.as_dict()
    if worth.difference is not None and not worth.difference <= CLOSE:
        found["failed"] = f"the answers differ by {worth.difference:.1e}"
    return found


def _described(error: Exception) -> str:
    """Say in a line what went wrong, and where in the ladder or in what it called."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return f"{said} ({Path(place.filename).name}:{place.lineno})"


def _keep(output: Path | None, record: dict[str, Any]) -> None:
    """Write the record; the file appears whole or not at all."""
    if output is not None:
        hidden = output.with_name(f".{output.name}.partial")
        hidden.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        hidden.replace(output)


def _rung_line(rung: dict[str, Any]) -> str:
    speed = rung["points_per_second"] / 1e9
    return f"{rung['machine']}  {rung['name']}: {speed:.3g} Gpoint/s, {rung['share']:.0%}"


def _row_line(row: Row, found: dict[str, Any]) -> str:
    if "sides" not in found:
        return f"{row.number}  {row.advice} {found.get('missing') or found.get('failed')}"
    sides = ", ".join(f"{s['name']} {s['value']:.3g}" for s in found["sides"])
    said = found.get("failed") or found["said"] or f"{found['gain']:.2f} x"
    return f"{row.number}  {row.advice} {sides} {found['unit']}: {said}"


def shows_gain(found: dict[str, Any]) -> bool:
    """Tell whether a row's result is how many times faster the product is."""
    return "gain" in found and "failed" not in found and not found["said"]


def bar(gain: float, most: float) -> str:
    """Draw how many times faster something is, beside the largest of all; logarithmic."""
    if gain <= 1.0:
        return ""
    return "█" * max(1, round(WIDTH * math.log(gain) / math.log(max(most, 1.01))))


def print_rows(record: dict[str, Any], console: Console) -> None:
    """Print the rows as a table with bars."""
    rows: Sequence[Row] = [row for row in ROWS if str(row.number) in record["rows"]]
    gains = [found["gain"] for found in record["rows"].values() if shows_gain(found)]
    table = Table(title="what each is worth: without, with, times faster (logarithmic bars)")
    for heading, justify in (
        ("", "right"),
        ("advice", "left"),
        ("without", "right"),
        ("with", "right"),
        ("", "left"),
        ("times", "right"),
        ("", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for row in rows:
        found = record["rows"][str(row.number)]
        if "sides" not in found or "failed" in found:
            said = found.get("missing") or found["failed"]
            table.add_row(str(row.number), row.advice, "", "", "", "", said)
            continue
        off, on = (f"{side['value']:.3g}" for side in (found["sides"][0], found["sides"][-1]))
        times, shown = "", found["said"]
        if shows_gain(found):
            times, shown = f"{found['gain']:.2f}", bar(found["gain"], max(gains))
        table.add_row(str(row.number), row.advice, off, on, found["unit"], times, shown)
    console.print(table)

"""Write the page about optimisations, and its figure, from what was measured: nothing by hand.

    python benchmarks/ladder/page.py benchmarks/results/ladder_h200.json [SCALING]

SCALING is a file of `benchmarks/scaling.py`, which has the rows of several GPUs. Prose comes from
`rows` and from the docstrings of the other ways, numbers from the files.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE, FIGURE = ROOT / "docs" / "optimizations.md", ROOT / "docs" / "figures" / "ladder.png"
MACHINES = {"cpu": "On the processor", "gpu": "On the card"}
WIDTH = 62  # letters of a row's name in the figure
BEYOND = (30, 3, 24, 4, 8, 29, 18)  # rows that are the rungs above the kernel, in their order

if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from ladder.report import shows_gain  # noqa: E402
from ladder.rows import ROWS, Row  # noqa: E402
from ladder.rungs import LADDERS  # noqa: E402
from ladder.worth import NOTHING  # noqa: E402
from seismo.output.figures.style import COLOURS, panels, quiet_frame, styled  # noqa: E402

INTRODUCTION = """\
# What each optimisation is worth

This page is written by `benchmarks/ladder/page.py` from measured numbers; edits would be lost.

    seismo bench --ladder --json ladder.json      # in the folder of the sources
    seismo bench --ladder 1 30                    # rows 1 and 30 only
    python benchmarks/ladder/page.py ladder.json  # this page, from your numbers

Each row below is a piece of advice about computing on GPUs, or with Python: what it is in seismo,
where it lives there, and what it is worth: the same work without it and with it, one after the
other on one machine. Without it is real code that gives the same answer (relative L2 below 1e-5,
tested), in a file of its own in `benchmarks/ladder`; with it is always the product's own code. What
a machine cannot show is not shown, and what does not help is shown not to. The files are for
reading, and slow on purpose, so that they are no part of what is installed.
"""
RUNGS = """\
## The rungs

From what one writes first to what seismo runs: the update of acoustic waves in 3-D at order 8, one
box, no layers. Share: the bytes that a perfect kernel moves, 16 for a point, over what copies move
on the same machine.

![Speed of the rungs, and what each row is worth](figures/ladder.png)
"""


def page(record: dict[str, Any]) -> str:
    """Give the text of the page for what was measured."""
    parts = [INTRODUCTION, _machine(record), RUNGS]
    parts += [_rungs(record, machine) for machine in MACHINES]
    parts += ["## Above the kernel\n", _beyond(record), "## All rows\n", _overview(record)]
    parts += [_row(row, _found(record, row)) for row in ROWS]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _machine(record: dict[str, Any]) -> str:
    machine, rates = record["machine"], record["bandwidth_gb_per_s"]
    moved = ", ".join(f"{rate:.0f} GB/s ({name})" for name, rate in rates.items())
    driver = f", driver {machine['driver']}" if machine.get("driver") else ""
    return (
        f"Measured on: {machine['device']}{driver}; {machine['processor']}, "
        f"{machine['threads']} threads; Numba {machine['numba']}. Copies move {moved}. "
        f"{record.get('noted', '')}\n"
    )


def _found(record: dict[str, Any], row: Row) -> dict[str, Any]:
    return record["rows"].get(str(row.number), {"missing": "not measured"})


def _rungs(record: dict[str, Any], machine: str) -> str:
    """Give the table of one machine's rungs, and what is wrong with each."""
    rungs = [rung for rung in record["rungs"] if rung["machine"] == machine]
    if not rungs:
        return ""
    files = {name: file for name, file, _ in LADDERS[machine]}
    lines = [f"### {MACHINES[machine]}\n", "| rung | Gpoint/s | times the first | share | file |"]
    lines.append("|---|---|---|---|---|")
    for rung in rungs:
        speed = rung["points_per_second"]
        times = speed / rungs[0]["points_per_second"]
        file = files.get(rung["name"], "")
        shown = f"`{file}.py`" if file else ""
        lines.append(
            f"| {rung['name']} | {speed / 1e9:.3g} | {times:.1f} | {rung['share']:.0%} | {shown} |"
        )
    wrong = [_wrong(file) for file in dict.fromkeys(files.values()) if file]
    return "\n".join([*lines, "", *(f"- {text}" for text in wrong), ""])


def _wrong(file: str) -> str:
    """Give the docstring of another way, as one paragraph."""
    text = ast.get_docstring(ast.parse((HERE / f"{file}.py").read_text(encoding="utf-8")))
    return f"`{file}.py`: {' '.join((text or '').split())}"


def _beyond(record: dict[str, Any]) -> str:
    """Give the table of the rungs above the kernel."""
    lines = ["| rung | scenario | without | with | times |", "|---|---|---|---|---|"]
    for number in BEYOND:
        row = next(row for row in ROWS if row.number == number)
        found = _found(record, row)
        cells = [f"{number}. {row.advice}", found.get("scenario", ""), *_worth(found)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _worth(found: dict[str, Any]) -> tuple[str, str, str]:
    """Give what a table says of a row: without, with, times faster."""
    if "failed" in found or "sides" not in found:
        return "", "", found.get("missing") or found.get("failed", "")
    first, last = found["sides"][0], found["sides"][-1]
    unit, gain = found["unit"], found["gain"]
    said = found["said"] or (f"{gain:.2f}" if gain < 9.95 else f"{gain:.0f}")
    return f"{first['value']:.3g} {unit}", f"{last['value']:.3g} {unit}", said


def _overview(record: dict[str, Any]) -> str:
    lines = ["| | advice | without | with | times |", "|---|---|---|---|---|"]
    for row in ROWS:
        link = f"[{row.advice}](#{row.anchor})"
        lines.append(f"| {row.number} | {link} | {' | '.join(_worth(_found(record, row)))} |")
    return "\n".join([*lines, ""])


def _row(row: Row, found: dict[str, Any]) -> str:
    """Give the section of a row."""
    lines = [f"### {row.number}. {row.advice} {{#{row.anchor}}}\n"]
    lines.append(f"In seismo: {row.here}.")
    lines.append(f"Where: {', '.join(f'`{place}`' for place in row.places)} of `src/seismo`.\n")
    if "sides" in found and "failed" not in found:
        lines += _sides(found)
        lines += [f"{_wrong(file)}\n" for file in row.beside]
    else:
        lines.append(f"Not measured: {found.get('missing') or found.get('failed')}.\n")
    return "\n".join(lines)


def _sides(found: dict[str, Any]) -> Iterator[str]:
    """Give the table of a row, its curve, and what follows from it."""
    yield f"| {found['scenario']} | {found['unit']} |\n|---|---|"
    for side in found["sides"]:
        spread = "{:.3g} to {:.3g}".format(*side["spread"]) if "spread" in side else ""
        yield f"| {side['name']} | {side['value']:.3g}{f' ({spread})' * bool(spread)} |"
    yield ""
    if found["curve"]:
        pairs = ", ".join(f"{x:g}: {y:.3g}" for x, y in found["curve"])
        yield f"By {found['along']}: {pairs} {found['unit']}.\n"
    gain = found["gain"]
    verdict = f"{gain:.3g} times faster" if gain > NOTHING else f"no gain ({gain:.2f})"
    verdict = found["said"] or verdict
    apart = found["difference"]
    answers = "" if apart is None else f"; the answers differ by {apart:.1g}"
    yield f"Worth: {verdict}{answers}.\n"


@styled
def draw(record: dict[str, Any], path: Path) -> None:
    """Draw the rungs by speed and by share, and what each row is worth."""
    machines = [m for m in MACHINES if any(r["machine"] == m for r in record["rungs"])]
    rows = [row for row in ROWS if shows_gain(_found(record, row))]
    figure, axes = panels(
        len(machines) + 1, 1, 1.9 * len(machines) + 0.2 * len(rows) + 0.8,
        height_ratios=[7] * len(machines) + [max(7, len(rows))],
    )  # fmt: skip
    for panel, machine in zip(axes[:, 0], machines, strict=False):
        rungs = [r for r in record["rungs"] if r["machine"] == machine][::-1]
        speeds = [r["points_per_second"] / 1e9 for r in rungs]
        panel.barh([r["name"] for r in rungs], speeds, color=COLOURS[0])
        panel.set_xlabel("billion point updates a second")
        panel.set_title(MACHINES[machine], loc="left")
        full = speeds[0] / rungs[0]["share"]  # points a second at all of the copy bandwidth
        top = panel.secondary_xaxis(
            "top", functions=(lambda x, f=full: 100 * x / f, lambda x, f=full: x * f / 100)
        )
        top.set_xlabel("share of the copy bandwidth (%)")
        quiet_frame(panel)
    panel, shown = axes[-1, 0], rows[::-1]
    gains = [_found(record, row)["gain"] for row in shown]
    names = [shorten(f"{row.number}. {row.advice}", WIDTH, placeholder=" ...") for row in shown]
    panel.barh(names, [gain - 1.0 for gain in gains], left=1.0, color=COLOURS[2])
    panel.set_xscale("log")
    panel.axvline(1.0, color="black", linewidth=0.7)
    panel.set_xlabel("times faster with it (no bar: no gain)")
    quiet_frame(panel)
    figure.savefig(path, dpi=150)


def main(file: str, scaling: str = "") -> None:
    """Write page and figure, and to the file what another one has of several GPUs."""
    path = Path(file)
    record = json.loads(path.read_text(encoding="utf-8"))
    if scaling:
        from ladder import several

        record["rows"] |= several.read(json.loads(Path(scaling).read_text(encoding="utf-8")))
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")
    draw(record, FIGURE)


if __name__ == "__main__":
    main(*sys.argv[1:])

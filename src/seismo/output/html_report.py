"""A report of one run as a single HTML file: nothing in it refers to another file or site."""

from __future__ import annotations

import io
import json
import math
from base64 import b64encode
from html import escape
from pathlib import Path
from string import Template

from seismo.errors import ScenarioError
from seismo.output.figures import KINDS, EmptyFigureError, figure_of
from seismo.output.report import report
from seismo.output.run_directory import final_path, refusal, write_file
from seismo.output.run_results import RunResults

_DPI = 110
_SUFFIXES = (".html", ".htm")
_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title</title>
<style>
body { font: 15px/1.5 sans-serif; max-width: 1000px; margin: 2em auto; color: #222; }
img { max-width: 100%; }
pre { background: #f5f5f5; padding: 0.8em; overflow-x: auto; font-size: 12px; }
table { border-collapse: collapse; font-size: 13px; }
td { border-top: 1px solid #ddd; padding: 0.2em 1em 0.2em 0; vertical-align: top; }
</style>
</head>
<body>
<h1>$title</h1>
<p>$status</p>
<h2>Expected accuracy</h2>
<p>$accuracy</p>
$warnings
<h2>Run</h2>
<pre>$info</pre>
<h2>Figures</h2>
$figures
<h2>Scenario</h2>
<pre>$scenario</pre>
<h2>Resources</h2>
<table>$resources</table>
<h2>Provenance</h2>
<table>$provenance</table>
</body>
</html>
""")


def write_report(results: RunResults, output_path: Path | None = None) -> Path:
    """Write the report of some results and return its path.

    Args:
        results: the results file.
        output_path: the report (default: ``<results>-report.html`` beside the results).

    Raises:
        ScenarioError: the path is none to write to, or has not the suffix of HTML, as files have
            that would be lost.
        StorageError: the disk is full or failing.
    """
    path = final_path(output_path or results.path.with_name(f"{results.path.stem}-report.html"))
    if path.suffix.lower() not in _SUFFIXES:
        raise ScenarioError(f"{path}: a report is an HTML file; call it {path.stem}.html")
    page = html_report(results).encode("utf-8", "replace")
    try:
        write_file(path, page)
    except OSError as error:
        raise refusal(path, error) from error
    return path


def html_report(results: RunResults) -> str:
    """Return the report of some results as HTML."""
    warnings = "".join(f"<li>{escape(line)}</li>" for line in results.warnings)
    return _PAGE.substitute(
        title=escape(results.title or results.path.name),
        status=escape(": ".join(filter(None, (results.status, results.message)))),
        accuracy=_accuracy(results),
        warnings=f"<p>Warnings of the run:</p><ul>{warnings}</ul>" if warnings else "",
        info=escape(report(results)),
        figures="\n".join(_figures(results)) or "<p>There is nothing to draw.</p>",
        scenario=escape(results.scenario_text or results.scenario),
        resources=_table(results.summary),
        provenance=_table(results.provenance),
    )


def _accuracy(results: RunResults) -> str:
    """Describe the error that `seismo check` expected of the traces."""
    error = results.expected_error
    if not math.isfinite(error):
        return "No error of the traces was expected: the file does not say."
    return f"Expected relative error of the traces, before the run: {100 * error:.2g} %."


def _figures(results: RunResults) -> list[str]:
    """Return every figure that the file has the data for, as an image in the page."""
    drawn = []
    for name, kind in KINDS.items():
        if kind.writes_itself or not kind.available(results):
            continue
        picture = io.BytesIO()
        try:
            figure_of(results, name).savefig(picture, format="png", dpi=_DPI)
        except EmptyFigureError as error:
            drawn.append(f"<p>{escape(name)}: {escape(str(error))}</p>")
            continue
        data = b64encode(picture.getvalue()).decode()
        drawn.append(
            f'<h3>{escape(kind.summary)}</h3>\n<img alt="{escape(name)}" '
            f'src="data:image/png;base64,{data}">'
        )
    return drawn


def _table(facts: dict[str, object]) -> str:
    rows = []
    for name, fact in facts.items():
        text = _shown(fact)
        rows.append(f"<tr><td>{escape(name.replace('_', ' '))}</td><td>{escape(text)}</td></tr>")
    return "".join(rows)


def _shown(fact: object) -> str:
    """Format a fact of the file: numbers to six digits, and what is not known in words."""
    if fact is None:
        return "not recorded"
    if isinstance(fact, float):
        return f"{fact:.6g}"
    if isinstance(fact, list | tuple):
        return ", ".join(map(_shown, fact))
    if isinstance(fact, dict):
        return ", ".join(f"{name}: {_shown(entry)}" for name, entry in fact.items())
    return fact if isinstance(fact, str) else json.dumps(fact)

"""A run of another program as it becomes a scenario: sections, remarks, and omissions.

The text is YAML with a comment on every section that needs it. On top of it stand, line by line,
the parts of the input that the scenario lacks, each with its reason. The program is recognised by
its input, in the order of the table of formats.
"""

from __future__ import annotations

import math
import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seismo.equations.framework.registry import EQUATIONS, PHYSICS
from seismo.errors import ModelError, ScenarioError, printable
from seismo.formats import FileFormat, format_for, giving
from seismo.formats.reading import read_lines
from seismo.scenario.strict_yaml import to_text

_EXPECTED = "expected an input file of SW4, a run folder of SPECFEM3D, or an .npz"
_WIDTH = 96  # characters of a comment
_ORDER = (
    "title", "physics", "grid", "time", "boundaries", "topography", "model", "attenuation",
    "sources", "survey", "receivers", "output", "geographic", "event",
)  # fmt: skip


@dataclass
class ConvertedRun:
    """The parts of a run that are carried over.

    Attributes:
        source: file or folder of the input.
        target: the scenario, a YAML file.
        axes: of arrays, such as xz; None: zx or zyx.
        units: of velocities in arrays, m/s or km/s; None: by their size.
        program: that the input is of.
        sections: of the scenario, by key.
        remarks: comments on sections, by key.
        left_out: omissions: file and line with the text, and the reason.
        side_files: contents of files beside the scenario, by name.
        is_altered: whether omissions alter the earth or a source.
    """

    source: Path
    target: Path
    axes: str | None = None
    units: str | None = None
    program: str = ""
    sections: dict[str, Any] = field(default_factory=dict)
    remarks: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    side_files: dict[str, bytes] = field(default_factory=dict)
    is_altered: bool = False

    def remark(self, section: str, text: str) -> None:
        """Comment on a section."""
        self.remarks.setdefault(section, []).append(text)

    def leave_out(self, where: str, reason: str, alters: bool = False) -> None:
        """Record an omitted part, why, and whether that alters the earth or a source."""
        self.left_out.append((printable(where), reason))
        self.is_altered |= alters

    def add_side_file(self, suffix: str, content: bytes) -> str:
        """Add a file beside the scenario, named by it; return its name."""
        name = f"{self.target.stem}-{suffix}"
        self.side_files[name] = content
        return name

    def path_from_target(self, path: Path) -> str:
        """Return a path as the scenario has to give it: relative to its folder."""
        return os.path.relpath(path.resolve(), self.target.resolve().parent)

    def occupied(self) -> list[Path]:
        """Return files beside the scenario that are there with other content."""
        paths = {self.target.parent / name: data for name, data in self.side_files.items()}
        return [p for p, data in paths.items() if p.exists() and p.read_bytes() != data]

    def messages(self) -> list[str]:
        """Return a line for each thing that is not carried over, in the order of the input."""
        ordered = sorted(self.left_out, key=lambda item: _line_number(item[0]))
        return [f"{where}: {reason}" for where, reason in ordered]

    def text(self) -> str:
        """Return the scenario as commented YAML."""
        lines = [*self._header(), ""]
        for key in sorted(self.sections, key=_ORDER.index):
            for remark in dict.fromkeys(self.remarks.get(key, ())):
                lines += _comment(remark.replace(f"{self.source.parent}/", ""))
            lines.append(_section(key, self.sections[key]))
        return "\n".join(lines)

    def _header(self) -> Iterator[str]:
        name = printable(self.source.name)
        yield f"# Converted from {name}, an input of {self.program}. What it comes to:"
        yield f"#     seismo check {self.target.name}"
        yield "# Numbers are SI (m, s, kg, Hz, N m). z points down."
        if not self.left_out:
            yield "# Everything was carried over."
            return
        yield "#"
        yield "# Not carried over, with the reason:"
        folder = f"{self.source.parent}/"
        for message in self.messages():
            yield from _comment(message.removeprefix(folder), "#   ", "#       ")


def attenuates_anywhere(model: Iterable[dict[str, Any]]) -> bool:
    """Whether any part of a model, or a layer of it, has a finite quality factor."""
    rocks = [rock for section in model for rock in section.get("layers", [section])]
    return any(rock.get(key, math.inf) != math.inf for rock in rocks for key in ("qp", "qs"))


def physics_with(parameters: Iterable[str], dimensions: int) -> str:
    """Return the simplest physics that has all these parameters, in 2-D or 3-D."""
    needed = set(parameters)
    able = [
        name
        for name in PHYSICS
        if needed <= set(EQUATIONS[name].needs) and dimensions in EQUATIONS[name].dimensions
    ]
    return min(able, key=lambda name: len(EQUATIONS[name].needs))


def short(number: float) -> float | int:
    """Return a number as YAML shows it best: whole ones without a point, others rounded."""
    rounded = float(f"{number:.12g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e9 else rounded


def _section(key: str, content: Any) -> str:
    """Return a section as YAML."""
    text = to_text({key: content})
    # PyYAML writes a mapping of plain values in braces.
    return f"{text[1:-2]}\n" if text.startswith("{") else text


def _line_number(where: str) -> int:
    match = re.search(r":(\d+):", where)
    return int(match[1]) if match else 0


def _comment(text: str, first: str = "# ", further: str = "# ") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=further, break_on_hyphens=False
    )


def convert(
    source: Path, target: Path, axes: str | None = None, units: str | None = None
) -> ConvertedRun:
    """Return a run of another program as a scenario, which is not written yet.

    Args:
        source: the input of the other program.
        target: the scenario to be, a YAML file, beside which further files may come.
        axes: of arrays in an .npz, such as xz; None: zx or zyx.
        units: of their velocities, m/s or km/s; None: by their size.

    Raises:
        ScenarioError: it is no input that is known, or a line of it is malformed.
    """
    run = ConvertedRun(source, target, axes, units)
    try:
        _format_of(run)["run"](run)
    except ModelError as error:
        raise ScenarioError(error.problem) from None
    return run


def _format_of(run: ConvertedRun) -> FileFormat:
    """Return the format of the input of a run."""
    source = run.source
    arrays = format_for("run", "npz")
    if (run.axes or run.units) and not arrays["is_run"](source):
        raise ScenarioError(f"--axes and --units are for arrays in an .npz; {source} is none")
    for known in giving("run"):
        if known["is_run"](source):
            return known
    if source.is_dir():
        raise ScenarioError(f"{source}: has no Par_file; {_EXPECTED}")
    read_lines(source, _EXPECTED)
    raise ScenarioError(f"{source}: is of no program that is known here; {_EXPECTED}")

"""Figures of arrays on nodes: the section that is drawn, with sources and receivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seismo.errors import ScenarioError
from seismo.inversion.survey.results_file import COMPLETE, NodeResults
from seismo.output.figures.section import CrossSection
from seismo.output.figures.style import RECEIVER_COLOUR, SOURCE_COLOUR, STYLE, heading
from seismo.output.run_directory import final_path, refusal
from seismo.scenario.strict_yaml import shortened

_MOST_MARKS = 60
Drawing = Callable[[Any], Figure]


def middle_section(results: NodeResults) -> CrossSection:
    """Return the section that is drawn: of 3-D arrays the vertical one amid the sources."""
    if "y" not in results.axes:
        return CrossSection("x", "z")
    middle = float(np.median(results.positions("source", "y")))
    y = results.axes["y"]
    return CrossSection("x", "z", "y", float(y[np.abs(y - middle).argmin()]))


def mark_geometry(panel: Axes, results: NodeResults, plane: CrossSection, scale: float) -> None:
    """Mark sources and receivers, projected on the section."""
    marks = (("receiver", "v", RECEIVER_COLOUR, 3), ("source", "*", SOURCE_COLOUR, 7))
    for kind, marker, colour, size in marks:
        x, z = (results.positions(kind, axis) for axis in (plane.horizontal, plane.vertical))
        every = max(1, len(x) // _MOST_MARKS)
        panel.plot(
            x[::every] * scale, z[::every] * scale, marker, color=colour, markersize=size,
            markeredgecolor="black", markeredgewidth=0.4, clip_on=False,
        )  # fmt: skip


def entitle(figure: Figure, results: NodeResults) -> None:
    """Write the title of results above a figure."""
    status = results.attributes["status"]
    words = heading(str(results.attributes["title"]), "" if status == COMPLETE else status)
    if words:
        figure.suptitle(words, fontsize=10, wrap=True)


def draw_kind(
    results: NodeResults, noun: str, kinds: Mapping[str, Drawing], kind: str,
    output_path: Path | None = None,
) -> Path:  # fmt: skip
    """Draw a kind of figure into a file, and return its path.

    Args:
        results: what is drawn.
        noun: what they are, such as "inversion".
        kinds: the functions that draw them.
        kind: one of these.
        output_path: the file; beside the results when None.

    Raises:
        ScenarioError: there is no such kind, or the file cannot be written.
        StorageError: the disk is full or failing.
    """
    if kind not in kinds:
        raise ScenarioError(f"plot {shortened(kind)}: figures of {noun}s are {', '.join(kinds)}")
    default = results.path.with_name(f"{results.path.stem}-{kind}.png")
    path = final_path(output_path or default)
    try:
        kinds[kind](results).savefig(path, dpi=STYLE["savefig.dpi"])
    except OSError as error:
        raise refusal(path, error) from error
    except ValueError as error:
        raise ScenarioError(f"{path}: {' '.join(str(error).split())}") from None
    return path

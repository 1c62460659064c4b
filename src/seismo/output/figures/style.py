"""The look that all figures share: type, colours that colour-blind readers can tell, units.

Figures are built without pyplot: no global state, no window system, and nothing to close.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from seismo.output.results_file import COMPLETE
from seismo.output.run_results import RunResults
from seismo.output.store.layout import axis_label, pretty_unit
from seismo.scenario.units import readable, with_unit

STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.direction": "out",
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 0.9,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "image.interpolation": "nearest",
}
# Okabe & Ito (2008), the order chosen for contrast on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
SOURCE_COLOUR = "#F0E442"
RECEIVER_COLOUR = "#FFFFFF"
SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"
# Light enough that red and blue stay readable on top of it, and no rock is white as air is.
GROUND = LinearSegmentedColormap.from_list("ground", ["#EEEEEE", "#B4B4B4"])
REST = 1e-6  # of the largest value: less is rounding; waves are 1e-3 of the stress at a source
WIDTH = 7.2  # inches: the text width of a journal page

P = ParamSpec("P")
R = TypeVar("R")


def styled(function: Callable[P, R]) -> Callable[P, R]:
    """Run a drawing function under the shared style, leaving the user's settings alone."""

    @functools.wraps(function)
    def wrapper(*arguments: P.args, **options: P.kwargs) -> R:
        with mpl.rc_context(STYLE):  # type: ignore[arg-type]
            return function(*arguments, **options)

    return wrapper


class SettledLayout(ConstrainedLayoutEngine):
    """A constrained layout done until it holds: panels to scale shrink to the space given."""

    def execute(self, fig: Figure) -> None:
        """Lay the figure out."""
        to_scale = any(panel.get_aspect() != "auto" for panel in fig.axes)
        for _ in range(3 if to_scale else 1):
            super().execute(fig)


class Page(Figure):
    """A figure that notebooks show where it is the last line of a cell, without pyplot."""

    def _repr_png_(self) -> bytes:
        """Return the figure as a PNG file."""
        page = io.BytesIO()
        self.savefig(page, format="png")
        return page.getvalue()


def panels(
    row_count: int, columns: int, height: float, *, width: float = WIDTH, **options: Any
) -> tuple[Figure, np.ndarray]:
    """Return a figure of `width` x `height` inches and its axes (rows, columns)."""
    figure = Page(figsize=(width, height), layout=SettledLayout())
    FigureCanvasAgg(figure)
    return figure, figure.subplots(row_count, columns, squeeze=False, **options)


def length_unit(*coordinates: Iterable[float] | np.ndarray) -> tuple[float, str]:
    """Return the factor from metres and the unit, km where something reaches 3 km."""
    reach = max((float(np.ptp(c)) for c in map(np.asarray, coordinates) if c.size), default=0.0)
    return (1e-3, "km") if reach >= 3000 else (1.0, "m")


def amplitude_label(name: str, unit: str, peak: float) -> tuple[float, str]:
    """Return the factor and the axis label that keep tick labels short, as ``vz (µm/s)``."""
    factor, shown = readable(peak, "" if unit == "1" else unit)
    power = re.fullmatch(r"10\^(-?\d+) (.*)", shown)
    words = f"$10^{{{power[1]}}}$ {pretty_unit(power[2])}" if power else pretty_unit(shown)
    return factor, axis_label(name, words.strip())


def side_bar(panel: Axes, image: Any, thickness: float = 0.03, **options: Any) -> None:
    """Draw a colour bar exactly as tall as its panel, `thickness` in widths of the panel.

    Where another panel stands to the right, the label becomes the title of its panel: beside the
    bar it would read as the vertical axis of the other panel.
    """
    bar = panel.inset_axes((1.0 + thickness, 0.0, thickness, 1.0))
    colour_bar = panel.figure.colorbar(image, cax=bar, **options)
    if "ticks" in options:
        colour_bar.minorticks_off()


def heading(*texts: str) -> str:
    """Join the known facts into a title."""
    return ", ".join(text for text in texts if text)


def entitle(figure: Figure, results: RunResults, *texts: str) -> None:
    """Set the title of a figure of results, in as many lines as it takes.

    For incomplete results it says so, and where they end.
    """
    ended = "" if results.status == COMPLETE else results.status
    if ended and (until := results.attributes.get("until")) is not None:
        ended += f" (until t = {with_unit(float(until), 's')})"
    figure.suptitle(heading(results.title, ended, *texts), fontsize=10, wrap=True)


def clip_level(amplitudes: np.ndarray, percentile: float) -> float:
    """Return the amplitude to clip at: the percentile over points that have moved.

    Early snapshots are almost everywhere at rest; counting those points would clip at nothing.
    """
    size = np.abs(amplitudes[np.isfinite(amplitudes)])
    top = size.max(initial=0.0)
    if top == 0.0:
        return 1.0
    return float(np.percentile(size[size > REST * top], percentile))


def outer_labels(axes: np.ndarray, used: int) -> None:
    """Hide the panels beyond `used` and the tick labels that a neighbour repeats."""
    row_count, columns = axes.shape
    for number, panel in enumerate(axes.flat):
        row, column = divmod(number, columns)
        if number >= used:
            panel.set_visible(False)
        if column > 0:
            panel.set_ylabel("")
            panel.tick_params(labelleft=False)
        if number + columns < used and row < row_count - 1:
            panel.set_xlabel("")
            panel.tick_params(labelbottom=False)


def quiet_frame(panel: Axes) -> None:
    """Remove the upper and the right spine."""
    panel.spines[["top", "right"]].set_visible(False)

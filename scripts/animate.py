"""Animate the snapshots of a run, through the reader of seismo and matplotlib's animation.

python scripts/animate.py quickstart.h5 --field vz --output wavefield.gif

One frame is read at a time, so a series larger than the memory is no problem.
"""

from __future__ import annotations

import argparse
import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

from seismo.errors import ScenarioError, SeismoError
from seismo.output.results import open_results


def main() -> None:
    """Read one snapshot series frame by frame and write a GIF."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--series", help="snapshot series (default: the first)")
    parser.add_argument("--field", help="field to draw (default: the last)")
    parser.add_argument("--output", default="wavefield.gif")
    options = parser.parse_args()

    with open_results(options.results) as results:
        series = results.snapshots[options.series or next(iter(results.snapshots))]
        field = options.field or list(series)[-1]
        if len(series.axes) != 2:
            raise ScenarioError(f"{series.name}: is of a volume; name a --series of a plane")
        vertical, horizontal = series.axes
        down, along = series.axes.values()
        middle = np.abs(series.frame(field, len(series.time) // 2))
        clip = np.percentile(middle[middle > 1e-6 * middle.max()], 99)

        figure, panel = plt.subplots(figsize=(7, 4.5), layout="constrained")
        image = panel.imshow(
            series.frame(field, 0), cmap="RdBu_r", vmin=-clip, vmax=clip,
            extent=(along[0], along[-1], down[-1], down[0]),
        )  # fmt: skip
        panel.set(xlabel=f"{horizontal} (m)", ylabel=f"{vertical} (m)")
        figure.colorbar(image, label=f"{field} ({series.unit(field)})", shrink=0.7)

        def show(index: int) -> list:
            image.set_data(series.frame(field, index))
            panel.set_title(f"t = {series.time[index]:.3g} s")
            return [image]

        movie = FuncAnimation(figure, show, frames=len(series.time))
        movie.save(options.output, writer=PillowWriter(fps=10))


if __name__ == "__main__":
    try:
        main()
    except SeismoError as error:  # no such file, series, field ...
        sys.exit(f"{sys.argv[0]}: {error}")

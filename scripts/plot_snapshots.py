"""Plot wavefield snapshots over the model, with nothing but h5py and matplotlib.

python scripts/plot_snapshots.py quickstart.h5 --field vz --output snapshots.png

Works on 2-D results; ``seismo plot`` draws those of 3-D runs too.
"""

from __future__ import annotations

import argparse
import sys

import h5py
import matplotlib.pyplot as plt
import numpy as np


def main() -> None:
    """Read one snapshot series and draw four of its times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--series", help="group under /snapshots (default: the first)")
    parser.add_argument("--field", help="field to draw (default: the last)")
    parser.add_argument("--output", default="snapshots.png")
    options = parser.parse_args()

    with h5py.File(options.results) as file:
        group = file["snapshots"][options.series or next(iter(file["snapshots"]))]
        while isinstance(next(iter(group.values())), h5py.Group):
            group = next(iter(group.values()))  # a survey: the first shot
        fields = [name for name, item in group.items() if item.ndim == 3]
        if not fields or "y" in file["model"]:
            parser.error("the run is 3-D: draw its snapshots with seismo plot")
        field = options.field or fields[-1]
        time, z, x = (group[name][:] for name in ("time", "z", "x"))
        frames = np.linspace(0, len(time) - 1, 5).round().astype(int)[1:]
        wave, unit = group[field][frames], group[field].attrs["units"]
        vp = file["model/vp"][:]
        model_z, model_x = file["model/z"][:], file["model/x"][:]

    clip = np.percentile(np.abs(wave[np.abs(wave) > 1e-6 * np.abs(wave).max()]), 99)
    figure, axes = plt.subplots(
        2, 2, figsize=(9, 6), sharex=True, sharey=True, layout="constrained"
    )
    for panel, frame, values in zip(axes.flat, frames, wave, strict=True):
        panel.pcolormesh(model_x, model_z, vp, cmap="Greys", alpha=0.4, rasterized=True)
        image = panel.pcolormesh(
            x, z, values, cmap="RdBu_r", vmin=-clip, vmax=clip, rasterized=True,
            alpha=np.clip(2 * np.abs(values) / clip, 0, 1),  # see the model where nothing moves
        )  # fmt: skip
        panel.set(title=f"t = {time[frame]:.3g} s", aspect="equal", xlabel="x (m)", ylabel="z (m)")
    axes[0, 0].invert_yaxis()  # z is positive down
    figure.colorbar(image, ax=axes, label=f"{field} ({unit})", shrink=0.7)
    figure.savefig(options.output, dpi=200)


if __name__ == "__main__":
    try:
        main()
    except (OSError, LookupError) as error:  # no such file, set, quantity, shot ...
        sys.exit(f"{sys.argv[0]}: {error}")

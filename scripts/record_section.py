"""Plot a record section against the distance from the source, with xarray.

python scripts/record_section.py quickstart.h5 --set surface --quantity vz --velocity 3000

``--velocity`` shifts every trace by distance / velocity, so that an arrival of that speed is flat.
"""

from __future__ import annotations

import argparse
import sys

import matplotlib.pyplot as plt
import numpy as np
import xarray


def main() -> None:
    """Read one receiver set and draw its traces, each scaled to its own peak."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--set", help="group under /traces (default: the first)")
    parser.add_argument("--quantity", default="vz")
    parser.add_argument("--shot", type=int, default=0)
    parser.add_argument("--velocity", type=float, help="reduction velocity in m/s")
    parser.add_argument("--output", default="record_section.png")
    options = parser.parse_args()

    tree = xarray.open_datatree(options.results, engine="h5netcdf")
    sets = tree["traces"].children
    name = options.set or next(iter(sets))
    if name not in sets:
        parser.error(f"--set {name}: there is {', '.join(sets)}")
    traces, sources = sets[name].dataset, tree["sources"].dataset
    shot = traces[options.quantity].isel(shot=options.shot)
    # A survey has one source a shot; a run of one shot may have many, and the first counts.
    source = sources.isel(source=options.shot if traces.sizes["shot"] > 1 else 0)
    horizontal = [axis for axis in ("x", "y") if axis in traces and axis in sources]
    distance = np.sqrt(sum((traces[axis] - source[axis]) ** 2 for axis in horizontal)).values
    # Along a line the two sides of the source are told apart.
    place = (traces.x - source.x).values if horizontal == ["x"] else distance

    step = np.ptp(place) / max(1, len(place)) or 1.0
    figure, panel = plt.subplots(figsize=(7, 8), layout="constrained")
    for trace, offset, far in zip(shot.values, place, distance, strict=True):
        time = traces.time.values - (far / options.velocity if options.velocity else 0.0)
        panel.plot(
            offset + 2 * step * trace / (np.abs(trace).max() or 1.0), time, "k", linewidth=0.5
        )
    panel.set_xlabel("distance from the source (m)")
    panel.set_ylabel(f"t - distance / {options.velocity:g} (s)" if options.velocity else "time (s)")
    panel.set_title(f"{name}: {shot.attrs['long_name']}, each trace to its own peak")
    panel.set_ylim(float(traces.time[-1]), 0.0)
    figure.savefig(options.output, dpi=200)


if __name__ == "__main__":
    try:
        main()
    except (OSError, LookupError) as error:  # no such file, set, quantity, shot ...
        sys.exit(f"{sys.argv[0]}: {error}")

"""Write the rupture of a planar fault, by its published parameters, as an SRF file.

python scripts/planar_fault.py fault.srf.gz --hypocentre -118.537 34.213 17.5 --strike 122 --dip 40
    --rake 101 --length 18 --width 24 --along 15 --down 20 --magnitude 6.7 --velocity 3 --rise 1.4

The front leaves the hypocentre in all directions at one velocity. Slip is the same everywhere but
near the edges, where it falls to zero as half a cosine; its rate is (1 - cos) / rise for the rise
time. Real ruptures are rougher: such a fault radiates too little above 1 / rise, and what it says
of one place is good to a factor of two or so. The file has the rigidity that makes the moment that
of the magnitude, and goes into a scenario as `{type: finite_fault, path: fault.srf.gz}`.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from seismo.acquisition.locator import Projection
from seismo.acquisition.moment_tensor import moment_of

STEPS = 12  # slip rates in the rise time


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the parameters; lengths in km, angles in degrees."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=summary)
    add = parser.add_argument
    add("file", type=Path, help="to write: .srf, or .srf.gz")
    add("--hypocentre", type=float, nargs=3, required=True, metavar=("LON", "LAT", "DEPTH"))
    for name in ("strike", "dip", "rake", "length", "width", "magnitude"):
        add(f"--{name}", type=float, required=True)
    add("--along", type=float, required=True, help="strike, from the first edge to the hypocentre")
    add("--down", type=float, required=True, help="dip, from the top edge to the hypocentre")
    add("--velocity", type=float, required=True, help="of the rupture, km/s")
    add("--rise", type=float, required=True, help="time of slip at a point, s")
    add("--taper", type=float, default=0.25, help="share of length and width at each edge")
    add("--spacing", type=float, default=0.5, help="of subfaults, about")
    add("--vs", type=float, default=3.6, help="of the rigidity, km/s")
    add("--density", type=float, default=2.8, help="of the rigidity, g/cm3")
    found = parser.parse_args(arguments)
    if not (0.0 <= found.along <= found.length and 0.0 <= found.down <= found.width):
        parser.error("the hypocentre lies outside the fault: see --along and --down")
    if found.hypocentre[2] < found.down * np.sin(np.radians(found.dip)):
        parser.error("the top edge lies above the surface: see --down and --dip")
    return found


def tapered(along: np.ndarray, length: float, share: float) -> np.ndarray:
    """Return slip (n) at distances from an edge: 1 in the middle, 0 at both ends."""
    inside = np.clip(np.minimum(along, length - along) / max(share * length, 1e-9), 0.0, 1.0)
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * inside))


def lines(fault: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of an SRF 2.0 file."""
    longitude, latitude, depth = fault.hypocentre
    # Centres of subfaults (down, along) in km from the corner.
    counts = [max(1, round(size / fault.spacing)) for size in (fault.length, fault.width)]
    along = (np.arange(counts[0]) + 0.5) * fault.length / counts[0]
    down = (np.arange(counts[1]) + 0.5) * fault.width / counts[1]
    across, ahead = np.meshgrid(down - fault.down, along - fault.along, indexing="ij")
    # x along the strike, y to its right, where the fault dips.
    dip = np.radians(fault.dip)
    at_hypocentre = SimpleNamespace(longitude=longitude, latitude=latitude, azimuth=fault.strike)
    place = Projection(at_hypocentre)
    places = place.to_geographic(1e3 * ahead, 1e3 * across * np.cos(dip))
    depths = depth + across * np.sin(dip)
    onsets = np.hypot(across, ahead) / fault.velocity
    # Slip in cm: that of the moment, by the rigidity in dyn/cm2.
    slip = np.outer(tapered(down, fault.width, fault.taper),
                    tapered(along, fault.length, fault.taper))  # fmt: skip
    area = 1e10 * fault.length * fault.width / slip.size
    rigidity = fault.density * (1e5 * fault.vs) ** 2
    slip *= 1e7 * moment_of(fault.magnitude) / (rigidity * area * slip.sum())
    # Rates at steps of the rise time, whose sum times the step is the slip.
    step = fault.rise / STEPS
    shape = (1.0 - np.cos(2.0 * np.pi * np.arange(STEPS + 1) / STEPS)) / fault.rise
    middle = place.to_geographic(1e3 * (0.5 * fault.length - fault.along),
                                 -1e3 * fault.down * np.cos(dip))  # fmt: skip
    top = depth - fault.down * np.sin(dip)
    yield "2.0"
    yield "PLANE 1"
    yield (f"{float(middle[0]):.6f} {float(middle[1]):.6f} {counts[0]} {counts[1]} "
           f"{fault.length:g} {fault.width:g}")  # fmt: skip
    yield (f"{fault.strike:g} {fault.dip:g} {top:.4f} {fault.along - 0.5 * fault.length:g} "
           f"{fault.down:g}")  # fmt: skip
    yield f"POINTS {slip.size}"
    for lon, lat, z, onset, moved in zip(
        *(numbers.ravel() for numbers in (*places, depths, onsets, slip)), strict=True
    ):
        yield (f"{lon:.6f} {lat:.6f} {z:.4f} {fault.strike:g} {fault.dip:g} {area:.6e} "
               f"{onset:.4f} {step:.6g} {1e5 * fault.vs:.6e} {fault.density:g}")  # fmt: skip
        yield f"{fault.rake:g} {moved:.5f} {shape.size} 0 0 0 0"
        yield " ".join(f"{rate:.5g}" for rate in moved * shape)


def main(arguments: list[str] | None = None) -> None:
    """Write the file."""
    fault = parsed(arguments)
    text = "\n".join(lines(fault)) + "\n"
    # Without a time: the same parameters make the same file.
    data = gzip.compress(text.encode(), mtime=0) if fault.file.suffix == ".gz" else text.encode()
    fault.file.write_bytes(data)


if __name__ == "__main__":
    main()

"""Plot the amplitude spectra of a few receivers and of the source wavelet, with xarray.

python scripts/spectra.py quickstart.h5 --set surface --quantity vz --receivers R0000 R0058
"""

from __future__ import annotations

import argparse
import sys

import matplotlib.pyplot as plt
import numpy as np
import xarray


def amplitude(trace: xarray.DataArray) -> xarray.DataArray:
    """Return |sum trace exp(-2 pi i f t) dt| over frequency (Hz), the last tenth tapered."""
    interval, count = float(trace.time[1] - trace.time[0]), trace.sizes["time"]
    left = np.minimum((count - np.arange(count)) / (0.1 * count), 1.0)
    tapered = trace.values * np.sin(0.5 * np.pi * left) ** 2
    return xarray.DataArray(
        np.abs(np.fft.rfft(tapered)) * interval,
        {"frequency": np.fft.rfftfreq(count, interval)},
        ["frequency"],
    )


def main() -> None:
    """Read traces and wavelets and draw their spectra on logarithmic axes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--set", help="group under /traces (default: the first)")
    parser.add_argument("--quantity", default="vz")
    parser.add_argument("--receivers", nargs="+", help="codes (default: first, middle and last)")
    parser.add_argument("--output", default="spectra.png")
    options = parser.parse_args()

    tree = xarray.open_datatree(options.results, engine="h5netcdf")
    sets = tree["traces"].children
    name = options.set or next(iter(sets))
    if name not in sets:
        parser.error(f"--set {name}: there is {', '.join(sets)}")
    traces, wavelets = sets[name].dataset, tree["wavelets"].dataset
    shot = traces[options.quantity].isel(shot=0)
    count = shot.sizes["receiver"]
    codes = options.receivers or list(shot.receiver.values[sorted({0, count // 2, count - 1})])

    figure, panel = plt.subplots(figsize=(7, 4.5), layout="constrained")
    spectra = [amplitude(shot.sel(receiver=code)) for code in codes]
    for code, spectrum in zip(codes, spectra, strict=True):
        panel.loglog(spectrum.frequency[1:], spectrum[1:], label=str(code))
    loudest = max(float(spectrum.max()) for spectrum in spectra)
    source = amplitude(wavelets.wavelet.isel(source=0))
    panel.loglog(source.frequency[1:], source[1:] / source.max() * loudest, "k--", label="source")
    panel.set_ylim(1e-4 * loudest, 2 * loudest)
    panel.set_xlabel("frequency (Hz)")
    panel.set_ylabel(f"{options.quantity} ({shot.attrs['units']} per Hz)")
    panel.legend()
    figure.savefig(options.output, dpi=200)


if __name__ == "__main__":
    try:
        main()
    except (OSError, LookupError) as error:  # no such file, set, quantity, shot ...
        sys.exit(f"{sys.argv[0]}: {error}")

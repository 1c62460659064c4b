"""What fields in 16 bits add to the error of traces, on paths of 5 to 40 shortest wavelengths.

Elastic waves of a shear dislocation in layers, and acoustic ones of a pressure source in fluids as
fast as their S waves, `precision: float16` against float32 on the same grid; the shortest
wavelength is that of 2.5 times the frequency of the Ricker wavelet, and the band ends there, too.
What rounding adds is noise: above the band there is nothing else. Without a GPU NumPy steps fields
of 16 bits, in 2-D and on the coarsest grid alone, half as far where it has to be quick.
"""

from __future__ import annotations

from itertools import product

import cases
import numpy as np

from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import BackendChoice, choose
from seismo.features.half_precision.table import rounding_error

VELOCITY, FREQUENCY = 1000.0, 5.0
BAND = 2.5 * FREQUENCY
WAVES = 40
PARTS = (0.125, 0.25, 0.5, 0.75, 1.0)  # of the path, where receivers stand
LAYERS = (
    {"top": 0.0, "vp": 1800.0, "vs": VELOCITY, "rho": 2000.0},
    {"top": 45.0, "vp": 1900.0, "vs": 1050.0, "rho": 2050.0},  # top in points
)
PROBLEMS = ((4, 8), (8, 6), (12, 4))  # order, points in the shortest wavelength


def scenario(physics: str, dimensions: int, order: int, points: int, waves: int) -> dict:
    """Put receivers up to `waves` away, in wavelengths, in the layer of the source and below it."""
    axes = "xyz" if dimensions == 3 else "xz"
    h = VELOCITY / BAND / points
    path = waves * VELOCITY / BAND
    across = [40.0 * h] * (dimensions - 1)
    away = [
        [10.0 * h + path * part, *across[:-1], depth * h]
        for depth in (40.0, 60.0)
        for part in PARTS
    ]
    position = cases.place([10.0 * h, *across], axes)
    model, source, quantity = _elastic(h) if physics == "elastic" else _acoustic(h)
    return {
        "title": "fields in 16 bits", "physics": physics,
        "grid": {"extent": cases.place([path + 20.0 * h, *[80.0 * h] * (dimensions - 1)], axes),
                 "spacing": h, "order": order},
        "time": {"duration": path / VELOCITY + 3.0 / FREQUENCY},
        "model": [{"type": "layers", "layers": model}],
        "sources": [source | {"position": position,
                              "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(np.array(away), [quantity], axes)],
    }  # fmt: skip


def _elastic(h: float) -> tuple[list[dict], dict, str]:
    """Return layers of rock, the source and what is recorded."""
    layers = [layer | {"top": layer["top"] * h} for layer in LAYERS]
    return layers, {"type": "moment_tensor", "components": {"xz": 1e13}}, "velocity"


def _acoustic(h: float) -> tuple[list[dict], dict, str]:
    """Return layers of fluid, the source and what is recorded."""
    layers = [{"top": layer["top"] * h, "vp": layer["vs"]} for layer in LAYERS]
    return layers, {"type": "pressure", "amplitude": 1e6}, "pressure"


def traces(document: dict, precision: str, choice: BackendChoice) -> tuple[np.ndarray, cases.Run]:
    """Run; return vx and vz, or the pressure (receiver, component, time), and the run."""
    run = cases.simulate(document | {"precision": precision}, choice)
    names = ("vx", "vz") if document["physics"] == "elastic" else ("pressure",)
    return np.stack([run.traces[name] for name in names], axis=1), run


def below_the_band(samples: np.ndarray, dt: float) -> np.ndarray:
    """Return traces without what lies above the band."""
    spectrum = np.fft.rfft(samples)
    spectrum[..., np.fft.rfftfreq(samples.shape[-1], dt) > BAND] = 0.0
    return np.fft.irfft(spectrum, samples.shape[-1])


def case(quick: bool) -> list[cases.Row]:
    """Compare both precisions, in 2-D where it has to be quick."""
    wide = choose()
    on_card = wide.name == "gpu"
    narrow = wide if on_card else BackendChoice("reference", "by NumPy", ReferenceBackend)
    problems = [(2, *one) for one in (PROBLEMS if on_card else PROBLEMS[-1:])]
    if on_card and not quick:
        problems += [(3, *one) for one in PROBLEMS]
    waves = WAVES // 2 if quick and not on_card else WAVES
    rows, panels = [], []
    for physics, (dimensions, order, points) in product(("elastic", "acoustic"), problems):
        document = scenario(physics, dimensions, order, points, waves)
        wanted, _ = traces(document, "float32", wide)
        found, run = traces(document, "float16", narrow)
        dt, discretization = run.dt, run.simulation.discretization
        size = np.linalg.norm(wanted, axis=(1, 2))
        whole = np.linalg.norm(found - wanted, axis=(1, 2)) / size
        band = np.linalg.norm(below_the_band(found - wanted, dt), axis=(1, 2)) / size
        name = f"{physics}, " * (physics != "elastic")
        name += f"{dimensions}-D, order {order}, {points} ppw"
        expected = 100 * rounding_error(discretization)
        said = f"{discretization.total_steps} steps, expected {expected:.2g} %"
        rows += [
            cases.Row(f"{name}: all of the traces", said, float(whole.max()), 0.015,
                      reference="float32"),
            cases.Row(f"{name}: in the band", said, float(band.max()), 0.005, reference="float32"),
        ]  # fmt: skip
        last = found[len(PARTS) - 1, -1], wanted[len(PARTS) - 1, -1]
        panels.append(cases.Panel(f"{name}, {waves} wavelengths", run.times, *last))
    title = "Fields in 16 bits, over those in 32"
    cases.draw_traces("fields_in_16_bits", title, panels, "vz (m/s), pressure (Pa)")
    return rows


if __name__ == "__main__":
    cases.main(case)

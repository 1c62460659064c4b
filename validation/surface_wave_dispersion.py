"""Rayleigh and Love modes of a soft layer: phase velocities measured on a line of receivers.

A soft layer on a half-space; vertical force (P-SV) and an SH line force at the surface. The surface
record is taken to the frequency-wavenumber domain at each frequency; the phase velocity of a mode
is where the spectrum over wavenumber peaks. A window that falls off at both ends keeps the modes
apart, and the exact dispersion curve of `seismo.exact.surface_waves` says where to look.
"""

from __future__ import annotations

import cases
import numpy as np
from scipy.optimize import minimize_scalar

from seismo.exact import surface_waves
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

LAYER, BELOW = Medium(900.0, 400.0, 1800.0), Medium(1800.0, 800.0, 2100.0)
THICKNESS, SPACING = 50.0, 2.0
CONTACTS = (0.0, 0.5)  # of a cell below a node
FREQUENCY = 12.0
LINE = np.arange(200.0, 2600.1, 4.0)


def scenario(kind: str, thickness: float, duration: float, h: float) -> dict:
    """Put layer, surface source and a line of surface receivers on a grid of so many metres."""
    rayleigh = kind == "rayleigh"
    force = {"x": 0.0, "z": 1e6} if rayleigh else {"y": 1e6}
    document = {
        "title": f"{kind} waves of a soft layer",
        "physics": "elastic" if rayleigh else "elastic_sh", "precision": "float64",
        "grid": {"extent": {"x": 3000.0, "z": 300.0}, "origin": {"x": -200.0, "z": 0.0},
                 "spacing": h, "order": 8},
        "time": {"duration": duration, "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": [
            {"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
            for top, m in ((0.0, LAYER), (thickness, BELOW))]}],
        "sources": [{"type": "force", "position": {"x": 0.0, "z": 0.0}, "force": force,
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(np.stack([LINE, 0 * LINE], 1), ["velocity"])],
    }  # fmt: skip
    return document


def phase_velocity(trace: np.ndarray, dt: float, f: float, start: float) -> float:
    """Find the wavenumber nearest to `start` where the windowed line's spectrum peaks."""
    spectrum = trace @ np.exp(-2j * np.pi * f * dt * np.arange(trace.shape[1]))
    # Amplitudes are equalised, so that a peak is not drawn aside by decay along the line.
    window = np.kaiser(LINE.size, 10.0)
    aperture = np.ptp(LINE)

    def power(c: float) -> float:
        return -abs(np.sum(window * spectrum * np.exp(2j * np.pi * f / c * LINE)))

    width = 0.8 * start**2 / (f * aperture)
    best = minimize_scalar(power, bounds=(start - width, start + width), method="bounded",
                           options={"xatol": 1e-5 * start})  # fmt: skip
    return float(best.x)


def measure(kind: str, thickness: float, duration: float, h: float):
    """Run one kind; give for modes 0 and 1 the frequencies, measured and exact velocities.

    The highest frequency, of all grids, has 8.3 points per shear wavelength of the layer.
    """
    run = cases.simulate(scenario(kind, thickness, duration, h))
    highest = 48.1 / h
    trace = run.traces["vz" if kind == "rayleigh" else "vy"]
    stack = Stack((LAYER, BELOW), (0.0, thickness))
    found = {}
    for mode, frequencies in ((0, np.arange(6.0, highest, 1.5)), (1, np.arange(9.0, highest, 1.5))):
        exact = surface_waves.phase_velocities(stack, frequencies, mode, kind)
        kept = np.isfinite(exact)
        frequencies, exact = frequencies[kept], exact[kept]
        measured = [
            phase_velocity(trace, run.dt, f, c) for f, c in zip(frequencies, exact, strict=True)
        ]
        found[mode] = (frequencies, np.array(measured), exact)
    return found


def case(quick: bool) -> list[cases.Row]:
    """Measure dispersion curves of modes 0 and 1."""
    rows = []
    figure, axes = cases.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    h, contacts = (2 * SPACING, (0.5,)) if quick else (SPACING, CONTACTS)
    for kind, axis in zip(("rayleigh", "love"), axes, strict=True):
        for fraction in contacts:
            found = measure(kind, np.floor(THICKNESS / h) * h + fraction * h, 9.0, h)
            for mode, (f, measured, exact) in found.items():
                error = float(np.abs(measured / exact - 1).max())
                rows.append(
                    cases.Row(f"{kind.capitalize()} phase velocity, mode {mode}, "
                              f"contact {fraction} h below a node",
                              f"{LAYER.vs / 48:.2g}-{LAYER.vs / 6 / h:.2g} ppw",
                              error, 0.003, reference="dispersion relation")
                )  # fmt: skip
                if fraction == 0.0:
                    axis.plot(f, exact, color=cases.COLOURS["exact"], lw=1.5)
                    axis.plot(f, measured, "o", ms=4, color=cases.COLOURS["run"])
                    axis.annotate(f"mode {mode}", (f[-1], exact[-1]), xytext=(-30, 8),
                                  textcoords="offset points", fontsize=8)  # fmt: skip
        axis.set(title=f"{kind.capitalize()} waves", xlabel="frequency (Hz)")
    axes[0].set_ylabel("phase velocity (m/s)")
    figure.suptitle("Soft layer, 50 m: line exact, dots from the simulated surface record")
    cases.save(figure, "surface_wave_dispersion")
    return rows


if __name__ == "__main__":
    cases.main(case)

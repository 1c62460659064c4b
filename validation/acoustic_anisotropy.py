"""Acoustic waves in VTI and TTI rock: whole spaces in 2-D and 3-D against their exact solutions.

Pressure of a source of volume and of an explosion, in absolute amplitude, in a medium whose waves
spread on ellipses and in shale; then the slope of the error over spacing. Traces end before the
slow waves of S kind, which no grid carries, come. The axis is upright, level (HTI), along the
diagonals of cells, and aslant: the exact solution is that about an upright axis, turned.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import (
    acoustic_vti,
    metrics,
)
from seismo.exact import (
    medium as viscoelastic,
)

VELOCITY, FREQUENCY = 2000.0, 10.0
WAVELENGTH = VELOCITY / FREQUENCY
MEDIA = {
    "ellipses": acoustic_vti.VtiRock(VELOCITY, 0.2, 0.2),
    "shale": acoustic_vti.VtiRock(VELOCITY, 0.2, 0.1),
    "strong": acoustic_vti.VtiRock(VELOCITY, 0.3, -0.05),
}
TILTED = {
    "ellipses, tilt 35": MEDIA["ellipses"]._replace(theta=35.0),
    "shale, tilt 35": MEDIA["shale"]._replace(theta=35.0),
    "shale, tilt 45": MEDIA["shale"]._replace(theta=45.0),
    "shale, level": MEDIA["shale"]._replace(theta=90.0),
    "shale, tilt 50 to 30": MEDIA["shale"]._replace(theta=50.0, phi=30.0),
}
STRENGTH = {"pressure": {"amplitude": 1.0}, "explosion": {"moment": 1.0}}
DIRECTIONS = {  # near the horizontal, aslant, near the axis
    2: np.array([[0.98, 0.2], [0.8, 0.6], [0.4, 0.92]]),
    3: np.array([[0.8, 0.55, 0.24], [0.64, 0.48, 0.6], [0.3, 0.3, 0.91]]),
}


def compare(
    name: str, kind: str, dimensions: int, ppw: float, distance: float,
    quality: float | None = None, **grid,
):  # fmt: skip
    """Run once, `distance` wavelengths far; give the run and the exact pressure.

    With a `quality` waves have that Q at all frequencies, and the velocities at the dominant one.
    """
    lost = {} if quality is None else {"qp": quality}
    rock, axes = (MEDIA | TILTED)[name], "xyz" if dimensions == 3 else "xz"
    h = WAVELENGTH / 2.5 / ppw
    offsets = DIRECTIONS[dimensions] * distance * WAVELENGTH
    # Layers beside rock of tilted axis send some of what grazes them back.
    margin = (max(1.6, 0.4 * distance) if name in TILTED else 0.8) * WAVELENGTH
    start = np.full(dimensions, margin) + (0.0 if grid else 0.37 * h)
    extent = h * np.ceil((offsets.max(axis=0) + 2.0 * margin) / h)
    run = cases.simulate({
        "physics": "acoustic", "precision": "float64",
        "grid": {"extent": cases.place(extent, axes), "spacing": h, **grid},
        "time": {"duration": (distance + 2.2) / FREQUENCY},
        "model": [{"type": "uniform", **rock._asdict(), **lost}],
        **({"attenuation": {"reference_frequency": FREQUENCY}} if lost else {}),
        "sources": [{"type": kind, "position": cases.place(start, axes), **STRENGTH[kind],
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(start + offsets, ["pressure"], axes)],
    })  # fmt: skip
    signal, action = run.source, "volume"
    if kind == "explosion":
        (source,) = run.simulation.discretization.shots[0].sources
        signal = source.signal(np.arange(run.source.size) * run.dt, 2)
        action = "moment"
    modulus = viscoelastic.constant_q(quality, FREQUENCY) if quality else None
    return run, acoustic_vti.pressure(offsets, signal, run.dt, rock, action, modulus)


def behind_p(name: str) -> float:
    """Return slow waves over P (L2) on the axis and beside it, where a sphere is about the source.

    In 2-D 1 % of P comes late by itself.
    """
    rock, h, distance = (MEDIA | TILTED)[name], WAVELENGTH / 25.0, 1.5 * WAVELENGTH
    angles = np.radians(np.array([0.0, 5.0, 45.0, 90.0]) + rock.theta)
    start = np.full(2, 500.0 + 0.37 * h)
    offsets = distance * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    run = cases.simulate({
        "physics": "acoustic", "precision": "float64", "isotropic_source": "auto",
        "grid": {"extent": {"x": 1000.0, "z": 1000.0}, "spacing": h},
        "time": {"duration": 1.3},
        "model": [{"type": "uniform", **rock._asdict()}],
        "sources": [{"type": "pressure", "position": cases.place(start),
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(start + offsets, ["pressure"])],
    })  # fmt: skip
    traces = run.traces["pressure"]
    is_p = run.times <= distance / VELOCITY + 0.3
    parts = (np.linalg.norm(traces[:, part], axis=1) for part in (~is_p, is_p))
    return float(np.divide(*parts).max())


def case(quick: bool) -> list[cases.Row]:
    """Compare whole spaces, then measure the order of convergence."""
    rows = []
    for dimensions, distance in ((2, 3.0 if quick else 10.0), (3, 1.2 if quick else 4.0)):
        names = MEDIA if dimensions == 2 else ("shale",)
        for name in names:
            for kind in STRENGTH if dimensions == 2 else ("pressure",):
                run, exact = compare(name, kind, dimensions, 10.0, distance)
                error = max(map(metrics.relative_l2, run.traces["pressure"], exact))
                what = f"{name}, {kind}, {dimensions}-D, {distance:g} wavelengths"
                rows.append(cases.Row(what, "10 ppw", error, 5e-3, reference="wavenumber integral"))
    tilted = [(name, 2, 3.0 if quick else 10.0) for name in list(TILTED)[: 2 if quick else 4]]
    if not quick:
        tilted.append(("shale, tilt 50 to 30", 3, 3.0))
    for name, dimensions, distance in tilted:
        run, exact = compare(name, "pressure", dimensions, 10.0, distance)
        error = max(map(metrics.relative_l2, run.traces["pressure"], exact))
        what = f"{name}, pressure, {dimensions}-D, {distance:g} wavelengths"
        rows.append(cases.Row(what, "10 ppw", error, 5e-3, reference="wavenumber integral"))
    for name in ("shale", "shale, tilt 35"):
        what = f"{name}, what comes behind P with isotropic_source: auto"
        rows.append(cases.Row(what, "10 ppw", behind_p(name), 0.03, reference="P alone"))
    grids, errors = (5.0, 6.0, 8.0), []
    for ppw in grids:
        run, exact = compare("shale", "pressure", 2, ppw, 2.0, order=4, stencil="taylor")
        errors.append(metrics.relative_l2(run.traces["pressure"], exact))
    slope = float(-np.polyfit(np.log(grids), np.log(errors), 1)[0])
    rows.append(cases.Row(
        "order of convergence, order 4", "5 to 8 ppw", slope, 3.6, unit="", at_least=True,
        reference="wavenumber integral",
    ))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

"""Acoustic waves in a whole space, 2-D and 3-D, over ten wavelengths, and their order.

Pressure of a pressure source in both acoustic equations, against the retarded potential (3-D) and
its integral along a line (2-D), in absolute amplitude; then the slope of the error over spacing for
the orders whose error is large enough to be seen.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import acoustic, metrics

VELOCITY, FREQUENCY = 2000.0, 10.0


def scenario(physics: str, dimensions: int, ppw: float, distance: float, order: int = 8) -> dict:
    """Put source and receivers, `distance` wavelengths apart, on a grid off its nodes."""
    wavelength = VELOCITY / FREQUENCY
    h = VELOCITY / (2.5 * FREQUENCY) / ppw
    axes = "xyz" if dimensions == 3 else "xz"
    unit = np.array([0.8, 0.36, 0.48]) if dimensions == 3 else np.array([0.8, 0.6])
    offset = unit * distance * wavelength
    start = np.full(dimensions, 0.4 * wavelength) + 0.37 * h
    extent = [h * np.ceil((0.8 * wavelength + o) / h) for o in offset]
    model = {"type": "uniform", "vp": VELOCITY}
    if physics != "acoustic":
        model["rho"] = 1800.0
    return {
        "title": "whole space", "physics": physics, "precision": "float64",
        "grid": {"extent": cases.place(extent, axes), "spacing": h, "order": order},
        "time": {"duration": (distance + 3.2) / FREQUENCY, "dispersion_removal": True},
        "model": [model],
        "sources": [{"type": "pressure", "amplitude": 1.0, "position": cases.place(start, axes),
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(np.stack([start + 0.5 * offset, start + offset]), ["pressure"],
                                   axes)],
    }  # fmt: skip


def compare(physics: str, dimensions: int, ppw: float, distance: float, order: int = 8):
    """Run once; give the run and the exact pressure (receiver, time)."""
    document = scenario(physics, dimensions, ppw, distance, order)
    run = cases.simulate(document)
    at = np.array([list(p.values()) for p in document["receivers"][0]["positions"]])
    offsets = at - np.array(list(document["sources"][0]["position"].values()))
    return run, acoustic.pressure(offsets, run.source, run.dt, VELOCITY)


def order_of_convergence(order: int, grids: tuple[int, ...]) -> float:
    """Measure the slope with source and receivers on nodes and no wave back from the layers."""
    wavelength, errors = VELOCITY / FREQUENCY, []
    offset, margin = np.array([1.6, 1.2]) * wavelength, 2.0 * wavelength
    for ppw in grids:
        h = wavelength / (2.5 * ppw)
        run = cases.simulate({
            "physics": "acoustic", "precision": "float64",
            "grid": {"extent": cases.place(offset + 2 * margin), "spacing": h, "order": order,
                     "stencil": "taylor"},
            "time": {"duration": 4.8 / FREQUENCY, "dispersion_removal": True},
            "model": [{"type": "uniform", "vp": VELOCITY}],
            "sources": [{"type": "pressure", "position": cases.place([margin, margin]),
                         "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
            "receivers": [cases.points(margin + offset, ["pressure"])],
        })  # fmt: skip
        exact = acoustic.pressure(offset[None], run.source, run.dt, VELOCITY)
        errors.append(metrics.relative_l2(run.traces["pressure"], exact))
    return float(-np.polyfit(np.log(grids), np.log(errors), 1)[0])


def case(quick: bool) -> list[cases.Row]:
    """Compare acoustic whole spaces, then measure the order of convergence."""
    rows, panels = [], []
    for dimensions, distance in ((2, 10.0), (3, 4.0 if quick else 10.0)):
        for physics in ("acoustic", "acoustic_variable_density"):
            run, exact = compare(physics, dimensions, 10.0, distance)
            error = max(metrics.relative_l2(run.traces["pressure"][r], exact[r]) for r in (0, 1))
            name = physics.replace("_", " ")
            rows.append(cases.Row(f"{name}, {dimensions}-D, {distance:g} wavelengths", "10 ppw",
                                  error, 0.005, peers="SPECFEM2D 1.5 %"))  # fmt: skip
            panels.append(cases.Panel(f"{name}, {dimensions}-D", run.times,
                                      run.traces["pressure"][1], exact[1]))  # fmt: skip
    cases.draw_traces("acoustic_whole_space", "Whole space, ten wavelengths, 10 ppw", panels, "Pa")
    for order, grids in ((2, (16, 20, 24)), (4, (8, 12, 16)), (8, (6, 8, 10))):
        slope = order_of_convergence(order, grids)
        rows.append(cases.Row(f"acoustic 2-D, order {order} slope",
                              ", ".join(f"{g:g}" for g in grids) + " ppw", slope, order - 0.2, "",
                              at_least=True))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

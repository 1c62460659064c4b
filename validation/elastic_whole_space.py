"""Elastic whole space, 3-D and 2-D: forces and moment tensors, every component.

Each force direction and each moment-tensor component acts alone, 12 points per shortest wavelength,
source and receiver between the grid points; velocities in absolute amplitude against Aki & Richards
(2002, 4.23 and 4.29) and their line integrals. A component that vanishes by symmetry at the
receiver does not occur, since receivers lie in general directions. Also the double couple of
SPECFEM3D's example and the line moment Mxz of SPECFEM2D's, where their analytic traces are present.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import metrics, whole_space
from seismo.exact.medium import Medium

MEDIUM = Medium(3200.0, 1847.5, 2200.0)
FREQUENCY, PPW = 10.0, 12
SPACING = MEDIUM.vs / (2.5 * FREQUENCY) / PPW
OFFSET = {2: np.array([412.0, 305.0]), 3: np.array([231.0, 137.0, -182.0])}
SPECFEM = {3: "SPECFEM3D 0.13-0.34 %", 2: "SPECFEM2D 0.6-0.84 %"}


def compare(dimensions: int, part: dict, strength: np.ndarray, quick: bool):
    """Run one mechanism; give the run, traces and exact velocities (component, time)."""
    small = quick and dimensions == 3
    offset = OFFSET[dimensions] * (0.6 if small else 1.0)
    rock = {"vp": MEDIUM.vp, "vs": MEDIUM.vs, "rho": MEDIUM.rho}
    layer = {"points": 12} if small else {}
    run = cases.simulate(
        cases.whole_space("elastic whole space", rock, FREQUENCY, offset, SPACING, part, layer)
    )
    offset = offset[None]
    if strength.ndim == 1:
        exact = whole_space.force_response(offset, strength, run.source, run.dt, MEDIUM, "velocity")
    else:
        exact = whole_space.moment_response(
            offset, strength, run.source, run.dt, MEDIUM, "velocity", "moment"
        )
    names = [f"v{a}" for a in ("xyz" if dimensions == 3 else "xz")]
    return run, run.components(*names)[0], exact[0]


def case(quick: bool) -> list[cases.Row]:
    """Compare every force and moment component in 2-D and 3-D."""
    rows, panels = [], []
    for dimensions, bar in ((2, 0.008), (3, 0.005)):
        for name, (part, strength) in cases.forces_and_moments(dimensions).items():
            if quick and dimensions == 3 and name != "Mxz":
                continue
            run, trace, exact = compare(dimensions, part, strength, quick)
            error = max(metrics.relative_l2(a, b) for a, b in zip(trace, exact, strict=True))
            rows.append(cases.Row(f"elastic {dimensions}-D, {name}, worst component", f"{PPW} ppw",
                                  error, bar, peers=SPECFEM[dimensions]))  # fmt: skip
            if name in ("Fx", "Mxz"):
                panels += [cases.Panel(f"{dimensions}-D {name}, v{a}", run.times, trace[k],
                                       exact[k])
                           for k, a in enumerate("xyz" if dimensions == 3 else "xz")]  # fmt: skip
    cases.draw_traces("elastic_whole_space", "Elastic whole space, 12 ppw", panels, "m/s")
    return rows + line_moment() + ([] if quick else double_couple())


def line_moment() -> list[cases.Row]:
    """Compare with the y-integral of Aki & Richards 4.29 by Z. Xie: Mxz at (500, 500) m."""
    path = cases.reference_data("specfem2d_mt2d", "x_displacement.dat")
    if path is None:
        return []
    h = SPACING
    run = cases.simulate({
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 120 * h, "z": 120 * h}, "spacing": h, "order": 8},
        "time": {"duration": 0.9, "dispersion_removal": True},
        "model": [{"type": "uniform", "vp": MEDIUM.vp, "vs": MEDIUM.vs, "rho": MEDIUM.rho}],
        "sources": [{"type": "moment_tensor", "components": {"xz": -1e8},
                     "time_function": "moment", "position": {"x": 100.0, "z": 100.0},
                     "wavelet": {"type": "ricker", "frequency": 10.0, "delay": 0.2}}],
        "receivers": [cases.points(np.array([[600.0, 600.0]]), ["displacement"])],
    })  # fmt: skip
    errors = []
    for name in "xz":
        table = np.loadtxt(path.with_name(f"{name}_displacement.dat"))
        kept = (table[:, 0] > -0.2) & (table[:, 0] < run.times[-1] - 0.2)
        found = np.interp(table[kept, 0] + 0.2, run.times, run.traces[f"u{name}"][0])
        errors.append(metrics.relative_l2(found, table[kept, 1]))
    return [cases.Row("elastic 2-D, Mxz, displacement", "12 ppw", max(errors), 0.012,
                      peers="SPECFEM2D 0.84 %",
                      reference="Xie's traces (themselves 0.76 % off)")]  # fmt: skip


def double_couple() -> list[cases.Row]:
    """Compare with SPECFEM3D's example: Mxz of 1e16 N m growing as erf(1.628 t / 2 s)."""
    path = cases.reference_data("specfem3d_aki_richards", "DB.Z1.FXX.semd.gz")
    if path is None:
        return []
    medium, offset, delay = Medium(2800.0, 1500.0, 2300.0), np.array([3000.0, 1000.0, 4000.0]), 4.0
    h = 150.0
    frequency = 1.628 / 2.0 / np.pi  # the derivative of erf(a t) is a Gaussian exp(-(a t)^2)
    run = cases.simulate({
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 4500.0, "y": 3000.0, "z": 6000.0}, "spacing": h, "order": 8},
        "time": {"duration": 12.0, "dispersion_removal": True},
        "model": [{"type": "uniform", "vp": medium.vp, "vs": medium.vs, "rho": medium.rho}],
        "sources": [{"type": "moment_tensor", "components": {"xz": 1e16},
                     "position": {"x": 750.0, "y": 1050.0, "z": 1050.0},
                     "wavelet": {"type": "gaussian", "frequency": frequency, "delay": delay,
                                 "amplitude": 0.814 / np.sqrt(np.pi)}}],
        "receivers": [cases.points(np.array([[750.0, 1050.0, 1050.0]]) + offset, ["displacement"],
                                   "xyz")],
    })  # fmt: skip
    errors = []
    for name in "XYZ":
        table = np.loadtxt(path.with_name(f"DB.Z1.FX{name}.semd.gz"))
        kept = table[:, 0] < run.times[-1] - delay
        found = np.interp(table[kept, 0] + delay, run.times, run.traces[f"u{name.lower()}"][0])
        errors.append(metrics.relative_l2(found, table[kept, 1]))
    return [cases.Row("elastic 3-D, double couple, displacement", "h = 150 m", max(errors), 0.005,
                      peers="SPECFEM3D 0.13-0.34 %",
                      reference="SPECFEM3D's analytic traces")]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

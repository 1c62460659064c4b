"""A thin slab with absorbing layers of ten points: waves at grazing incidence on a CPML.

The set-up of Komatitsch & Martin (2007, Geophysics 72, SM155) and of SEISMIC_CPML: 101 x 641 points
of 10 m, vp 3300 m/s, a force at 135 degrees (Gaussian derivative, 7 Hz) 110 m from the right-hand
layer; one receiver 2 km away in the slab, one 4 km away that the direct wave reaches along the
layer. Everything that differs from the whole-space solution came back from the layers.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import metrics, whole_space
from seismo.exact.medium import Medium

MEDIUM = Medium(3300.0, 3300.0 / 1.732, 2800.0)
SOURCE = np.array([790.0, 4270.0])
RECEIVERS = np.array([[690.0, 2300.0], [790.0, 300.0]])
FORCE = 1e7 * np.array([np.sin(np.radians(135.0)), np.cos(np.radians(135.0))])
FREQUENCY = 7.0


def scenario(
    duration: float = 4.0, order: int = 8, layer: dict | None = None, spacing: float = 10.0
) -> dict:
    """Put the slab on its grid; `layer` overrides how the ten points absorb."""
    return {
        "title": "thin slab", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 800.0, "z": 6200.0}, "spacing": spacing,
                 "origin": {"x": 100.0, "z": 100.0}, "order": order},
        "time": {"duration": duration, "dispersion_removal": True},
        "boundaries": {"layer": {"points": 10, **(layer or {})}},
        "model": [{"type": "uniform", "vp": MEDIUM.vp, "vs": MEDIUM.vs, "rho": MEDIUM.rho}],
        "sources": [{
            "type": "force", "position": cases.place(SOURCE), "force": cases.place(FORCE),
            "wavelet": {"type": "gaussian_derivative", "frequency": FREQUENCY},
        }],
        "receivers": [cases.points(RECEIVERS, ["velocity"])],
    }  # fmt: skip


def compare(layer: dict | None = None, order: int = 8, spacing: float = 10.0):
    """Run the slab; give traces and exact velocities (receiver, component, time) and the run."""
    run = cases.simulate(scenario(layer=layer, order=order, spacing=spacing))
    exact = whole_space.force_response(
        RECEIVERS - SOURCE, FORCE, run.source, run.dt, MEDIUM, "velocity"
    )
    return run.components("vx", "vz"), exact, run


def errors(traces: np.ndarray, exact: np.ndarray) -> list[float]:
    """Give the larger component's L2 error at each receiver."""
    return [
        max(metrics.relative_l2(traces[r, k], exact[r, k]) for k in range(2))
        for r in range(len(exact))
    ]


def case(quick: bool) -> list[cases.Row]:
    """Compare a thin slab's traces with those of a whole space."""
    traces, exact, run = compare()
    near, grazing = errors(traces, exact)
    panels = [
        cases.Panel(f"{c}, {where}", run.times, traces[r, k], exact[r, k])
        for r, where in enumerate(("2 km along the slab", "4 km along the layer"))
        for k, c in enumerate(("vx", "vz"))
    ]
    cases.draw_traces("cpml_grazing", "Thin slab, ten-point CPML", panels, "m/s")
    traces, exact, _ = compare(spacing=20.0)
    near_coarse, grazing_coarse = errors(traces, exact)
    sampling, coarse = "10.9 ppw, 10-point layers", "5.4 ppw, 10-point layers"
    return [
        cases.Row("CPML, receiver in the slab", sampling, near, 0.003,
                  peers="SEISMIC_CPML O(2,4) 3-6 %"),
        cases.Row("CPML, receiver at grazing incidence", sampling, grazing, 0.003,
                  peers="SEISMIC_CPML O(2,4) 17-20 %"),
        cases.Row("CPML, receiver in the slab", coarse, near_coarse, 0.003),
        cases.Row("CPML, receiver at grazing incidence", coarse, grazing_coarse, 0.003),
    ]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

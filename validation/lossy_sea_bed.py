"""Water over rock of constant Q: the sea bed at several places between the grid points.

An explosion in the water 60 m above the bed, receivers in the water and in the rock up to 700 m
away, also half a cell to either side of the bed, in absolute amplitude against the exact wavenumber
integral of `seismo.exact.layered_plane` (2-D) and `seismo.exact.layered` (3-D) with
Kjartansson's
law: Qp 40 and Qs 20 at the dominant frequency. So the fit of the mechanisms takes part, too.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered, layered_plane, metrics
from seismo.exact.medium import AttenuatingMedium, Medium, constant_q
from seismo.exact.stack import Stack

WATER, ROCK = Medium(1500.0, 0.0, 1020.0), Medium(2400.0, 1200.0, 2200.0)
QP, QS, FREQUENCY = 40.0, 20.0, 10.0
PPW = 10.0
GROUPS = {  # (offset in m, cells below the bed)
    "5 cells from the bed, either side": [(300.0, -5.0), (700.0, -5.0), (700.0, 5.0)],
    "40 cells above, 30 below": [(500.0, -40.0), (600.0, 30.0)],
    "1/2 cell from the bed, either side": [(700.0, -0.5), (700.0, 0.5)],
}


def layers(bed: float) -> list[dict]:
    """Give the model of water and rock."""
    water, rock = ({"vp": m.vp, "vs": m.vs, "rho": m.rho} for m in (WATER, ROCK))
    return [{"top": 0.0, **water}, {"top": bed, **rock, "qp": QP, "qs": QS}]


def compare(fraction: float, dimensions: int):
    """Run one position of the contact; give the run, velocities and exact ones by group."""
    h = ROCK.vs / (2.5 * FREQUENCY) / PPW
    bed = (np.ceil(250.0 / h) + fraction) * h
    axes = "xyz" if dimensions == 3 else "xz"
    places = np.array([p for group in GROUPS.values() for p in group])
    if dimensions == 3:
        places[:, 0] *= 0.5
    # In 3-D off the axes, three quarters of the way along x.
    along = (0.8, 0.6) if dimensions == 3 else (1.0,)
    receivers = np.column_stack([*(a * places[:, 0] for a in along), bed + h * places[:, 1]])
    source = np.zeros(dimensions)
    source[-1] = bed - 60.0
    beyond = np.ceil(250.0 / h) * h
    extent = dict(zip(axes, (a * places[:, 0].max() + 2 * beyond for a in along), strict=False))
    run = cases.simulate({
        "title": "water over rock of constant Q", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {a: np.ceil(e / h) * h for a, e in extent.items()} | {"z": 125 * h},
                 "origin": dict.fromkeys(axes[:-1], -beyond) | {"z": 0.0}, "spacing": h,
                 "order": 8},
        "time": {"duration": 1.3 if dimensions == 2 else 0.9, "dispersion_removal": True},
        "model": [{"type": "layers", "layers": layers(bed)}],
        "attenuation": {"reference_frequency": FREQUENCY},
        "sources": [{
            "type": "explosion", "position": cases.place(source, axes), "moment": 1e6,
            "time_function": "moment", "wavelet": {"type": "ricker", "frequency": FREQUENCY},
        }],
        "receivers": [cases.points(receivers, ["velocity"], axes)],
    })  # fmt: skip
    laws = constant_q(QP, FREQUENCY), constant_q(QS, FREQUENCY)
    stack = Stack((WATER, AttenuatingMedium(ROCK.vp, ROCK.vs, ROCK.rho, *laws)), (bed,), False)
    exact = (layered if dimensions == 3 else layered_plane).moment_response(
        stack, source, receivers, 1e6 * np.eye(dimensions), run.source, run.dt, "velocity",
        cut=1e-7,
    )  # fmt: skip
    return run, run.components(*(f"v{a}" for a in axes)), exact


def rows_of(fraction: float, dimensions: int) -> list[cases.Row]:
    """Compare one position of the contact, and draw traces of it."""
    run, traces, exact = compare(fraction, dimensions)
    errors = [metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True)]
    rows, first = [], 0
    for name, group in GROUPS.items():
        worst = max(errors[first : first + len(group)])
        first += len(group)
        sampling = f"{PPW:g} ppw, contact {fraction:g} h below a node"
        what = f"sea bed, Qs 20, {dimensions}-D, {name}"
        rows.append(cases.Row(what, sampling, worst, 0.01))
    if dimensions == 2 and fraction == 0.25:
        panels = [
            cases.Panel(f"v{a}, {name}", run.times, traces[r, k], exact[r, k])
            for r, name in ((1, "5 cells above the bed"), (2, "5 cells below"))
            for k, a in enumerate("xz")
        ]
        title = "Water over rock of Qs 20, contact a quarter of a cell below a node, 10 ppw"
        cases.draw_traces("lossy_sea_bed", title, panels, "m/s")
    return rows


def case(quick: bool) -> list[cases.Row]:
    """Compare the bed at several places in its cell, and at one in 3-D."""
    plane = [row for f in ((0.25,) if quick else (0.0, 0.25, 0.5, 0.75)) for row in rows_of(f, 2)]
    return plane if quick else plane + rows_of(0.25, 3)


if __name__ == "__main__":
    cases.main(case)

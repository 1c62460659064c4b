"""Anisotropic rock against traces of others: a whole space in six directions, and a layer of zinc.

The whole space has a point force and six receivers around it, of VTI rock and of the same rock
tilted; its exact traces come with the references (static ring integral and integral over
directions; Wang & Achenbach 1995). The layer of zinc between isotropic rock is an example of
SPECFEM2D, a numerical trace whose sides absorb by Stacey's condition: displacements are compared
until waves that these send back arrive, in absolute amplitude; z points up there.
"""

from __future__ import annotations

import json
from pathlib import Path

import cases
import numpy as np
from scipy.interpolate import CubicSpline

from seismo.exact import metrics

BARS = {"vti": {5: 0.01, 10: 0.005}, "tti": {5: 0.015, 10: 0.008}}
TILTED = {"theta": 50.0, "phi": 30.0}
MARGIN = 12  # cells between the outermost place and the layers
ROCK = {"vp": 3000.0, "vs": 1732.05, "rho": 2700.0}
ZINC = {"rho": 7100.0, "c11": 16.5e10, "c13": 5e10, "c33": 6.2e10, "c44": 3.96e10, "c66": 3.96e10}
ZINC_FREQUENCY, ZINC_END = 8.0, 0.42  # Hz; s after the peak of the wavelet


def force(vector: np.ndarray, axes: str, frequency: float, delay: float) -> dict:
    """Return a force with a Ricker wavelet."""
    wavelet = {"type": "ricker", "frequency": frequency, "delay": delay}
    return {"type": "force", "force": cases.place(vector, axes), "wavelet": wavelet}


def whole_space(kind: str, path: Path, ppw: int) -> list[cases.Row]:
    """Compare the vector of velocity at each receiver, and give the worst."""
    data = np.load(path)
    meta = json.loads(str(data["meta"]))
    medium, source = meta["medium"], meta["source"]
    h = medium["vs0"] / meta["fmax"] / ppw
    rock = {"vp": medium["vp0"], "vs": medium["vs0"], "rho": medium["rho"]}
    rock |= {n: medium[n] for n in ("epsilon", "delta", "gamma")}
    ends = np.vstack([data["receivers"], np.zeros(3)])
    low = np.floor(ends.min(0) / h - MARGIN) * h
    high = np.ceil(ends.max(0) / h + MARGIN) * h
    shift = np.array([0.3, 0.2, 0.4]) * h  # source between the nodes
    mechanism = force(np.array(source["F_xyz_N"]), "xyz", source["f0"], source["t0"])
    run = cases.simulate({
        "title": f"{kind} whole space", "physics": "elastic", "precision": "float32",
        "grid": {"extent": cases.place(high - low, "xyz"), "origin": cases.place(low, "xyz"),
                 "spacing": h, "order": 8},
        "time": {"duration": float(data["t"][-1]), "dispersion_removal": True},
        "boundaries": {"layer": {"points": 20}},
        "model": [{"type": "uniform", **rock, **(TILTED if kind == "tti" else {})}],
        "sources": [mechanism | {"position": cases.place(shift, "xyz")}],
        "receivers": [cases.points(data["receivers"] + shift, ["velocity"], "xyz")],
    })  # fmt: skip
    found = run.components("vx", "vy", "vz")
    kept = (data["t"] >= run.times[0]) & (data["t"] <= run.times[-1])
    errors = []
    for trace, exact in zip(found, data["traces"].astype(float), strict=True):
        at = CubicSpline(run.times, trace, axis=1)(data["t"][kept])
        errors.append(metrics.relative_l2(at, exact[:, kept]))
    what = f"elastic {kind.upper()} 3-D, force, worst of six receivers"
    return [cases.Row(what, f"{ppw} ppw", max(errors), BARS[kind][ppw], reference="aniso3d_whole")]


def zinc(folder: Path, h: float) -> list[cases.Row]:
    """Compare both displacements up to `ZINC_END`."""
    files = (folder / f"peer_SPECFEM2D.BX{axis}.semd.gz" for axis in "XZ")
    tables = [np.loadtxt(path) for path in files]
    delay = 1.2 / ZINC_FREQUENCY
    layers = [{"top": 0.0, **ROCK}, {"top": 800.0, **ZINC}, {"top": 1000.0, **ROCK}]
    mechanism = force(np.array([0.0, 1e10]), "xz", ZINC_FREQUENCY, delay)
    run = cases.simulate({
        "title": "layer of zinc", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 2000.0, "z": 2000.0}, "spacing": h, "order": 8},
        "time": {"duration": delay + ZINC_END, "dispersion_removal": True},
        "boundaries": {"layer": {"points": 30}},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [mechanism | {"position": {"x": 1000.0, "z": 400.0}}],
        "receivers": [cases.points(np.array([[1400.0, 800.0]]), ["displacement"])],
    })  # fmt: skip
    found = run.components("ux", "uz")[0] * np.array([[1.0], [-1.0]])
    times = tables[0][:, 0]
    kept = times <= ZINC_END
    published = np.stack([table[kept, 1] for table in tables])
    at = CubicSpline(run.times, found, axis=1)(times[kept] + delay)
    sign = np.sign((at * published).sum())  # of the force, that the example leaves open
    error = metrics.relative_l2(sign * at, published)
    return [cases.Row("layer of zinc, displacement before sides send back", f"h = {h:g} m",
                      error, 0.03, reference="SPECFEM2D's own trace")]  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare both; the quick form leaves 10 points per wavelength out."""
    rows = []
    for kind in BARS:
        path = cases.reference_data("aniso3d_whole", f"{kind}.npz")
        for ppw in (5,) if quick else (5, 10):
            if path is not None:
                rows += whole_space(kind, path, ppw)
    folder = cases.reference_data("specfem2d_zinc_layer")
    if folder is not None:
        rows += zinc(folder, 8.0) + ([] if quick else zinc(folder, 4.0))
    return rows


if __name__ == "__main__":
    cases.main(case)

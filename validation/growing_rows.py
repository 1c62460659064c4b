"""Grids whose rows grow with depth: LOH.1, forces and moments among tall cells, a plane S wave.

LOH.1 (`loh1.py`) with the spacing along z that its velocities allow, 1 to 1.7 times that at the
top: its error in those of the even grid. Forces and moments in a whole space, source and receivers
between rows that grow, against Aki & Richards; points per shortest wavelength are those in the
tallest cell near them. A plane S wave of vertical incidence in one medium: what rows that grow send
back, as the largest difference from the trace of an even grid with the same time step.
"""

from __future__ import annotations

import cases
import loh1
import numpy as np
from elastic_whole_space import MEDIUM

from seismo.exact import metrics, whole_space

PPW = 10
TOP = 10.0  # m, the spacing at the top
SHEAR = 2000.0  # m/s


def layered() -> list[cases.Row]:
    """Compare the errors of LOH.1 on both grids."""
    rows = []
    for spacing in (100.0, 50.0):
        errors = []
        points = []
        for along_z in (spacing, "auto"):
            document = loh1.scenario(spacing)
            document["grid"]["spacing"] = {"x": spacing, "y": spacing, "z": along_z}
            run = cases.simulate(document)
            errors.append(metrics.relative_l2(*loh1.traces(run)))
            points.append(run.simulation.discretization.grid.points[2])
        share = points[1] / points[0]
        rows.append(
            cases.Row(
                "LOH.1 station 10, vector L2 over that of even rows",
                f"h = {spacing:g} m, {share:.2f} of the points, {100 * errors[1]:.3g} %",
                errors[1] / errors[0], 1.2, unit="",
            )
        )  # fmt: skip
    return rows


def buried(quick: bool) -> list[cases.Row]:
    """Compare forces and moments whose source and receiver lie among rows that grow."""
    tallest = 2.0
    h = 0.5 * MEDIUM.vs / 25.0 / PPW
    rows = []
    for name, (part, strength) in cases.forces_and_moments(2).items():
        document = cases.whole_space(
            "rows that grow", {"vp": MEDIUM.vp, "vs": MEDIUM.vs, "rho": MEDIUM.rho}, 10.0,
            np.array([412.0, 305.0]), h, part, {"points": 20},
        )  # fmt: skip
        offset = np.array([412.0, 305.0])
        document["grid"]["extent"]["z"] = 220 * h
        document["grid"]["spacing"] = {"x": h, "z": [{"below": 0.0, "spacing": tallest * h}]}
        start = np.array([document["sources"][0]["position"]["x"], 40.3 * h])
        document["sources"][0]["position"] = cases.place(start)
        document["receivers"] = [cases.points(start + offset, ["velocity"])]
        run = cases.simulate(document)
        response = (
            whole_space.force_response(
                offset[None], strength, run.source, run.dt, MEDIUM, "velocity"
            )
            if strength.ndim == 1
            else whole_space.moment_response(
                offset[None], strength, run.source, run.dt, MEDIUM, "velocity", "moment"
            )
        )
        trace = run.components("vx", "vz")[0]
        error = max(metrics.relative_l2(a, b) for a, b in zip(trace, response[0], strict=True))
        heights = run.simulation.discretization.grid.heights(
            run.simulation.discretization.grid.index("z", [start[1], start[1] + offset[1]])
        )
        sampling = f"{PPW} ppw in twice the height, cells {heights[0]:.2f} and {heights[1]:.2f}"
        rows.append(
            cases.Row(f"elastic 2-D, {name} among rows that grow, worst component", sampling,
                      error, 2e-4)
        )  # fmt: skip
    return rows


def sent_back(growth: float) -> cases.Row:
    """Return what rows that grow so many times send back of a plane S wave."""

    def scenario(along_z, step: float | None) -> dict:
        time = {"step": step} if step else {}
        # Waves of less than a few cells along x do not travel: the force becomes a plane wave.
        return {
            "physics": "elastic_sh", "precision": "float64",
            "grid": {"extent": {"x": 8 * TOP, "z": 3000.0}, "order": 8, "stencil": "taylor",
                     "spacing": {"x": TOP, "z": along_z}},
            "time": {"duration": 1.6, "dispersion_removal": False, **time},
            "boundaries": {"x_min": "periodic", "x_max": "periodic", "layer": {"points": 30}},
            "model": [{"type": "uniform", "vp": 3500.0, "vs": SHEAR, "rho": 2000.0}],
            "sources": [{"type": "force", "position": {"x": 40.0, "z": 120.0}, "force": {"y": 1e9},
                         "wavelet": {"type": "ricker", "frequency": SHEAR / PPW / TOP / 2.5}}],
            "receivers": [cases.points(np.array([[0.0, 80.0]]), ["velocity"])],
        }  # fmt: skip

    grown = cases.simulate(scenario([{"below": 250.0, "spacing": growth * TOP}], None))
    even = cases.simulate(scenario(TOP, grown.dt))
    traces = [run.traces["vy"][0] for run in (grown, even)]
    back = np.abs(traces[0] - traces[1]).max() / np.abs(traces[1]).max()
    return cases.Row(
        f"plane S wave sent back by rows that grow {growth:g} times", f"{PPW} ppw at the top",
        float(back), 1e-4, reference="even rows",
    )  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare forces, moments and plane waves; LOH.1, in space, where there is time."""
    return [
        *([] if quick else layered()),
        *buried(quick),
        *(sent_back(growth) for growth in (1.7, 3.0)),
    ]


if __name__ == "__main__":
    cases.main(case)

"""Shallow sources, and a contact just under the free surface, read on the surface itself.

An explosion and a moment Mxz, one to eight cells deep in a uniform rock: motion on the surface at
every receiver five cells and more from the source, straight above it too, and the map of peak
ground velocity; a general moment tensor in 3-D. A horizontal and a vertical force among the rows of
the surface, in longer and in shorter waves. Then, in 2-D, a soft layer one to four cells thick
over rock, with a force below. The exact solution is that of the very depth, in a cell or between
(`seismo.exact.layered_plane`, `seismo.exact.layered`). Wanted are 2 % of a source and
1 % on a soft layer.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import cases
import numpy as np

import seismo
from seismo.exact import layered, layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

ROCK = Medium(3000.0, 1700.0, 2300.0)
SOFT = Medium(1200.0, 600.0, 1900.0)
SPACING, PPW = 10.0, 10
CELLS = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.3, 8.0, 12.0, 20.0, 35.0])  # receivers' x
NEAREST = 5.0  # cells from a source: nearer, the surface's own near field is not on the grid
MOMENTS = {"explosion": np.eye(2), "Mxz": np.array([[0.0, 1.0], [1.0, 0.0]])}
MOMENT = 1e12  # N m/m
SOURCE_BAR = 0.02
TENSOR_BAR = 0.02
FORCES = {"horizontal": (1e9, 0.0), "vertical": (0.0, 1e9)}
FORCE_BARS = {6: 0.02, 10: 0.005}  # by points per shortest wavelength
CONTACT_BAR = 0.01


def frequency(slowest: float, ppw: float = PPW) -> float:
    """Return the Ricker frequency in Hz with so many points per shortest wavelength."""
    return slowest / (2.5 * SPACING * ppw)


def scenario(
    layers: list[dict], slowest: float, source: dict, cells: np.ndarray, ppw: float = PPW
) -> dict:
    """Put a source under x = 0 and receivers on the surface at x of so many cells."""
    reach = 35 + 30
    places = np.stack([cells * SPACING, np.zeros(cells.size)], axis=1)
    wavelet = {"type": "ricker", "frequency": frequency(slowest, ppw)}
    travel = 1.5 * cells.max() * SPACING / slowest
    return {
        "title": "shallow", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 2 * reach * SPACING, "z": 60 * SPACING}, "spacing": SPACING,
                 "origin": {"x": -reach * SPACING, "z": 0.0}},
        "time": {"duration": 3.0 / frequency(slowest, ppw) + travel, "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{**source, "wavelet": wavelet}],
        "receivers": [cases.points(places, ["velocity"])],
    }  # fmt: skip


def layer(top: float, medium: Medium) -> dict:
    """Write one layer of the model."""
    return {"top": top, "vp": medium.vp, "vs": medium.vs, "rho": medium.rho}


def buried(depth: float, kind: str) -> tuple[cases.Run, *tuple[np.ndarray, ...]]:
    """Run a source so many cells deep; return the run, traces, exact velocities and the map's PGV.

    The latter, (receiver), is NaN between the nodes.
    """
    moment, cells = MOMENT * MOMENTS[kind], CELLS[np.hypot(CELLS, depth) >= NEAREST]
    source = {
        "type": "moment_tensor", "position": {"x": 0.0, "z": depth * SPACING},
        "components": {"xx": moment[0, 0], "zz": moment[1, 1], "xz": moment[0, 1]},
        "time_function": "moment",
    }  # fmt: skip
    document = scenario([layer(0.0, ROCK)], ROCK.vs, source, cells)
    run = cases.simulate(document)
    exact = layered_plane.moment_response(
        Stack((ROCK,), (0.0,)), np.array([0.0, depth * SPACING]),
        np.stack([cells * SPACING, np.zeros(cells.size)], axis=1), moment, run.source, run.dt,
        "velocity",
    )  # fmt: skip
    return run, run.components("vx", "vz"), exact, peaks(document, cells)


def peaks(document: dict, cells: np.ndarray) -> np.ndarray:
    """Return the peak ground velocity (receiver) m/s of the map on the surface, NaN off nodes."""
    with tempfile.TemporaryDirectory() as folder:
        maps = {"maps": [{"name": "ground", "quantities": ["pgv"]}]}
        scenario = seismo.load({**document, "output": maps})
        with warnings.catch_warnings(action="ignore"):
            results = seismo.run(scenario, output=Path(folder) / "map.h5")
        pgv, x = results.maps["ground"].values_of("pgv")[0, 0], results.maps["ground"].axes["x"]
        results.close()
    on_node = cells == np.round(cells)
    return np.where(on_node, pgv[np.searchsorted(x, cells * SPACING - 0.1 * SPACING)], np.nan)


def covered(thickness: float) -> tuple[cases.Run, np.ndarray, np.ndarray]:
    """Run a soft layer so many cells thick; return the run, traces and exact velocities."""
    source = {"type": "force", "position": {"x": 0.0, "z": 250.0}, "force": {"x": 1e9, "z": 2e9}}
    bed, cells = thickness * SPACING, CELLS[CELLS > 5.0]
    document = scenario([layer(0.0, SOFT), layer(bed, ROCK)], SOFT.vs, source, cells)
    run = cases.simulate(document)
    exact = layered_plane.force_response(
        Stack((SOFT, ROCK), (0.0, bed)), np.array([0.0, 250.0]),
        np.stack([cells * SPACING, np.zeros(cells.size)], axis=1), np.array([1e9, 2e9]),
        run.source, run.dt, "velocity",
    )  # fmt: skip
    return run, run.components("vx", "vz"), exact


def forced(depth: float, force: tuple[float, float], ppw: float) -> float:
    """Return the worst component's error of a force so many cells deep."""
    cells = CELLS[CELLS >= NEAREST]
    source = {"type": "force", "position": {"x": 0.0, "z": depth * SPACING},
              "force": cases.place(np.array(force))}  # fmt: skip
    run = cases.simulate(scenario([layer(0.0, ROCK)], ROCK.vs, source, cells, ppw))
    exact = layered_plane.force_response(
        Stack((ROCK,), (0.0,)), np.array([0.0, depth * SPACING]),
        np.stack([cells * SPACING, np.zeros(cells.size)], axis=1), np.array(force), run.source,
        run.dt, "velocity",
    )  # fmt: skip
    pairs = zip(run.components("vx", "vz").reshape(-1, run.times.size),
                exact.reshape(-1, run.times.size), strict=True)  # fmt: skip
    return max(metrics.relative_l2(*pair) for pair in pairs)


def in_three_dimensions(depth: float) -> float:
    """Return the worst trace's error of a tensor so many cells deep, in 3-D."""
    h, reach = SPACING, 32
    bearing = np.array([np.cos(0.5), np.sin(0.5), 0.0])
    receivers = np.array([0.0, 2.0, 5.0, 10.0, 20.0])[:, None] * h * bearing
    moment = MOMENT * np.array([[1.0, 0.3, 0.5], [0.3, 0.7, -0.4], [0.5, -0.4, 1.2]])
    parts = {
        a + b: moment[i, j] for i, a in enumerate("xyz") for j, b in enumerate("xyz") if j >= i
    }
    run = cases.simulate({
        "title": "shallow, 3-D", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 2 * reach * h, "y": 2 * reach * h, "z": 32 * h}, "spacing": h,
                 "origin": {"x": -reach * h, "y": -reach * h, "z": 0.0}},
        "time": {"duration": 3.0 / frequency(ROCK.vs) + 30.0 * h / ROCK.vs,
                 "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": [layer(0.0, ROCK)]}],
        "sources": [{"type": "moment_tensor", "components": parts, "time_function": "moment",
                     "position": {"x": 0.0, "y": 0.0, "z": depth * h},
                     "wavelet": {"type": "ricker", "frequency": frequency(ROCK.vs)}}],
        "receivers": [cases.points(receivers, ["velocity"], "xyz")],
    })  # fmt: skip
    exact = layered.moment_response(
        Stack((ROCK,), (0.0,)), np.array([0.0, 0.0, depth * h]), receivers, moment, run.source,
        run.dt, "velocity",
    )  # fmt: skip
    return float(trace_errors(run.components("vx", "vy", "vz"), exact).max())


def trace_errors(traces: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return L2 errors (receiver, component), of the vector's: one component may vanish above."""
    size = np.linalg.norm(exact, axis=(1, 2))[:, None]
    return np.linalg.norm(traces - exact, axis=2) / size


def case(quick: bool) -> list[cases.Row]:
    """Compare shallow sources and shallow contacts on the surface."""
    rows = [row for depth in (1.0, 2.25, 4.0, 4.64, 5.0, 5.5, 8.0)[:: 3 if quick else 1]
            for row in sources(depth)]  # fmt: skip
    for name, force in FORCES.items():
        for ppw, bar in FORCE_BARS.items():
            worst = max(forced(depth, force, ppw) for depth in (1.0, 2.5, 3.0, 4.0, 5.0))
            rows.append(cases.Row(f"{name} force one to five cells deep, read on the surface",
                                  f"{ppw} ppw, 5 cells and more away", worst, bar))  # fmt: skip
    for thickness in (1.0, 2.3, 4.0) if quick else (1.0, 1.5, 2.3, 3.0, 4.0):
        run, traces, exact = covered(thickness)
        if thickness == 2.3:
            panels = [
                cases.Panel(f"{c}, {x} cells away", run.times, traces[r, k], exact[r, k])
                for r, x in ((0, 6.3), (4, 35))
                for k, c in enumerate(("vx", "vz"))
            ]
            cases.draw_traces("shallow", "On a soft layer of 2.3 cells over rock", panels, "m/s")
        for k, axis in enumerate("xz"):
            error = max(metrics.relative_l2(a[k], b[k]) for a, b in zip(traces, exact, strict=True))
            rows.append(cases.Row(f"contact {thickness:g} cells under the surface, v{axis} on it",
                                  f"{PPW} ppw", error, CONTACT_BAR))  # fmt: skip
    if not quick:
        rows.append(cases.Row("source 5.5 cells deep, 3-D, read on the surface, worst trace",
                              f"{PPW} ppw, 5 cells and more away", in_three_dimensions(5.5),
                              TENSOR_BAR))  # fmt: skip
    return rows


def sources(depth: float) -> list[cases.Row]:
    """Compare traces and peaks of both sources at one depth in cells."""
    worst = {"trace": 0.0, "peak": 0.0, "peak of the map": 0.0}
    for kind in MOMENTS:
        _, traces, exact, mapped = buried(depth, kind)
        found, true = (np.linalg.norm(v, axis=1).max(axis=1) for v in (traces, exact))
        errors = {
            "trace": trace_errors(traces, exact),
            "peak": np.abs(found / true - 1.0),
            "peak of the map": np.abs(mapped / true - 1.0),
        }
        worst = {name: max(worst[name], float(np.nanmax(errors[name]))) for name in worst}
    return [
        cases.Row(f"source {depth:g} cells deep, read on the surface, worst {name}",
                  f"{PPW} ppw, 5 cells and more away", error,
                  SOURCE_BAR)
        for name, error in worst.items()
    ]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

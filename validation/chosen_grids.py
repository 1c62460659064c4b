"""Grids that are chosen for an error: the error that is asked for, and the one that is found.

Small earths in 2-D with an extent alone. Found is the error of the worst receiver, all components
together, against a grid 2.5 times finer than the finest that was chosen, in a wider region, without
damping of the fields in its absorbing layers. The work of a chosen grid is compared with that of
the cheapest of all grids of some lengths, orders and points of layers whose expected error keeps to
the same.
"""

from __future__ import annotations

import copy
import math
import time
from itertools import product
from typing import Any

import cases
import numpy as np
from scipy.interpolate import CubicSpline

from seismo.exact import metrics
from seismo.features.chosen_grids.choice import Candidate, GridSearch
from seismo.runs.check import load_placed
from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.prediction.remedy import CLOSE
from seismo.scenario import Scenario, from_dict
from seismo.solver.discretize import discretize

ERRORS = (0.02, 0.01, 0.002)
FINER = 2.5
LAYER = 40  # points of the absorbing layers of the reference
WIDER = 0.3  # of the width, on every side but a free surface
MOST = 1.5  # found over asked, in all cases
SHARE = 0.9  # of the cases: found is no more than asked
WORK = 1.3  # over that of the cheapest of all
FREQUENCY = 10.0
DEEP = -1e5  # m, above every grid
LENGTHS = 1.08 ** np.arange(-1, 8)  # of spacings that are compared, over the chosen one
POINTS = (10, 14, 20)
ROCK = {"vp": 2600.0, "vs": 1500.0, "rho": 2200.0}
HARD = {"vp": 4200.0, "vs": 2400.0, "rho": 2500.0}
SOFT = {"vp": 1600.0, "vs": 800.0, "rho": 1900.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
LOSSY = {"qp": 60.0, "qs": 30.0}
FORCE = {"type": "force", "force": {"z": 1e9}}
EXPLOSION = {"type": "explosion", "moment": 1e12}
COUPLE = {"type": "moment_tensor", "components": {"xz": 1e12}}
FREE = {"boundaries": {"top": "free_surface"}}


def layers(*pairs: tuple[float, dict[str, float]]) -> list[dict[str, Any]]:
    """Return a model of rocks below their tops in m."""
    return [{"type": "layers", "layers": [{"top": top, **rock} for top, rock in pairs]}]


def problem(
    source: dict[str, Any], z: float, depth: float, model: list[dict[str, Any]],
    extent: tuple[float, float] = (1200.0, 700.0), **sections: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return a scenario with a source at z and receivers at a depth in m, without a grid."""
    physics = sections.pop("physics", "elastic")
    quantity = "velocity" if physics == "elastic" else "pressure"
    low = {} if "topography" in sections else {"z": depth}
    places = [{"x": x * extent[0], **low} for x in (0.35, 0.55, 0.75, 0.9)]
    wavelet = {"type": "ricker", "frequency": FREQUENCY}
    return {
        "physics": physics,
        "grid": {"extent": cases.place(extent)},
        "time": {"duration": 0.8},
        "model": model,
        "sources": [{**source, "position": {"x": 0.2 * extent[0], "z": z}, "wavelet": wavelet}],
        "receivers": [{"type": "points", "positions": places, "quantities": [quantity]}],
        **sections,
    }  # fmt: skip


UNIFORM = [{"type": "uniform", **ROCK}]
FLUID = [{"type": "uniform", "vp": 2000.0, "rho": 1000.0}]
DENSER = layers((DEEP, {"vp": 2000.0, "rho": 1000.0}), (450.0, {"vp": 2000.0, "rho": 2200.0}))
TILTED = {**ROCK, "epsilon": 0.2, "delta": 0.1, "theta": 30.0}
ACOUSTIC = {"physics": "acoustic_variable_density"}
WEDGE = {"type": "polygon", "points": [[-1e4, 3325.0], [1e4, -1925.0], [1e4, 1e5], [-1e4, 1e5]]}
HILL = {"type": "hills", "hills": [{"center": {"x": 600.0}, "height": 60.0, "width": 200.0}]}
PROBLEMS = {
    "whole space, acoustic": problem(EXPLOSION, 400.0, 500.0, FLUID, **ACOUSTIC),
    "whole space, force": problem(FORCE, 400.0, 500.0, UNIFORM),
    "surface force": problem(FORCE, 0.0, 0.0, UNIFORM, **FREE),
    "moment under the surface": problem(COUPLE, 300.0, 0.0, UNIFORM, **FREE),
    "layers": problem(EXPLOSION, 300.0, 0.0, layers((0.0, ROCK), (500.0, HARD)), **FREE),
    "soft layer": problem(FORCE, 300.0, 0.0, layers((0.0, SOFT), (200.0, ROCK)), **FREE),
    "layers that attenuate": problem(
        EXPLOSION, 300.0, 0.0, layers((0.0, ROCK | LOSSY), (500.0, HARD | LOSSY)), **FREE
    ),
    "sea bed": problem(EXPLOSION, 200.0, 150.0, layers((0.0, WATER), (400.0, ROCK)), **FREE),
    "density step": problem(EXPLOSION, 200.0, 250.0, DENSER, **ACOUSTIC),
    "TTI": problem(FORCE, 400.0, 500.0, [{"type": "uniform", **TILTED}]),
    "slab at grazing incidence": problem(EXPLOSION, 40.0, 40.0, UNIFORM, (2400.0, 300.0)),
    "dipping contact": problem(EXPLOSION, 250.0, 300.0, [*UNIFORM, {**WEDGE, **HARD}]),
    "hill": problem(EXPLOSION, 300.0, 0.0, UNIFORM, topography=HILL, **FREE),
}  # fmt: skip

WITH_WORK = ("whole space, force", "surface force", "layers", "density step")


def chosen(document: dict[str, Any], error: float) -> tuple[Scenario, float]:
    """Return a scenario with the grid for an error, and the time in s that the choice took."""
    asked = from_dict(document | {"grid": document["grid"] | {"accuracy": error}})
    began = time.perf_counter()
    return load_placed(asked), time.perf_counter() - began


def finer(document: dict[str, Any], spacing: float) -> dict[str, Any]:
    """Return the same earth on a grid of a spacing in m, in a wider region."""
    reference = copy.deepcopy(document)
    extent = reference["grid"]["extent"]
    margin = math.ceil(WIDER * extent["x"] / spacing) * spacing
    is_free = document.get("boundaries", {}).get("top") == "free_surface"
    above = 0.0 if is_free else margin
    reference["grid"] = {
        "spacing": spacing,
        "extent": {"x": extent["x"] + 2.0 * margin, "z": extent["z"] + margin + above},
        "origin": {"x": -margin} | ({} if is_free else {"z": -above}),
    }
    reference.setdefault("boundaries", {})["layer"] = {"points": LAYER, "damping": 0.0}
    return reference


def found_errors(name: str, errors: tuple[float, ...]) -> list[float]:
    """Return the errors that are found over those that are asked for."""
    document = PROBLEMS[name]
    grids = [chosen(document, error) for error in errors]
    finest = min(scenario.grid.spacing.x for scenario, _ in grids)
    reference = cases.simulate(finer(document, finest / FINER))
    components = tuple(reference.traces)
    curve = CubicSpline(reference.times, reference.components(*components), axis=-1)
    ratios = []
    for error, (scenario, seconds) in zip(errors, grids, strict=True):
        run = cases.simulate(scenario.model_dump(mode="json", exclude_none=True))
        inside = run.times <= reference.times[-1]
        traces = run.components(*components)[..., inside]
        pairs = zip(traces, curve(run.times[inside]), strict=True)
        found = max(metrics.relative_l2(trace, exact) for trace, exact in pairs)
        told = expected_error(run.simulation.discretization).error
        keys = ", ".join(f"{key.rpartition('.')[2]} {v}" for key, v in scenario.chosen.items())
        print(f"  {name}: {error:.2%} asked, {told:.2%} told, {found:.2%} found: {keys}"
              f" ({seconds:.1f} s)", flush=True)  # fmt: skip
        ratios.append(found / error)
    return ratios


def work_over_cheapest(name: str, error: float) -> float:
    """Return the work of the chosen grid over that of the cheapest of many."""
    document = PROBLEMS[name]
    asked = from_dict(document | {"grid": document["grid"] | {"accuracy": error}})
    grid = GridSearch(asked).cheapest()
    least = math.inf
    for length, order, points in product(LENGTHS, (8, 12, 16), POINTS):
        keys = {"grid.spacing": length * grid.spacing, "grid.order": order,
                "boundaries.layer.points": points}  # fmt: skip
        run = discretize(asked.changed(keys))
        tried = Candidate(keys, run, expected_error(run, 0.0))
        if tried.seconds < least and tried.expected.error <= CLOSE * error:
            tried = Candidate(keys, run, expected_error(run))
            if tried.expected.error <= CLOSE * error:
                least = tried.seconds
    print(f"  {name}: {error:.2%}: {grid.seconds / least:.2f} times the least work", flush=True)
    return grid.seconds / least


def case(quick: bool) -> list[cases.Row]:
    """Compare asked and found errors, and the work with the least."""
    names = ("whole space, acoustic", "layers") if quick else tuple(PROBLEMS)
    errors = ERRORS[:1] if quick else ERRORS
    ratios = np.array([found_errors(name, errors) for name in names])
    against = f"a grid {FINER:g} times finer"
    rows = []
    for error, of_error in zip(errors, ratios.T, strict=True):
        asked = f"{100.0 * error:g} % asked"
        rows += [
            cases.Row("extent alone: found is no more than asked", asked,
                      float((of_error <= 1.0).mean()), SHARE, "%", "", against, at_least=True),
            cases.Row("extent alone: largest found over asked", asked,
                      float(of_error.max()), MOST, "", "", against),
        ]  # fmt: skip
    compared = names[1:] if quick else WITH_WORK
    work = max(work_over_cheapest(name, 0.01) for name in compared)
    rows.append(cases.Row(
        "extent alone: work over the cheapest of many grids", "1 % asked", work, WORK, "", "",
        "a search of all",
    ))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

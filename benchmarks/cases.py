"""The benchmark cases as plain numbers, for codes that do not read seismo's scenarios.

There is one source of each case, `seismo.runs.tools.bench.CASES`; this module restates it on grid
indices, so that a peer (in its own Python, without seismo) gets the same points, steps, time step,
two-layer model, source, receivers and shots. `python benchmarks/cases.py W1` prints one case as
JSON.

Keys: shape interior nodes (z, [y,] x); layer absorbing points on each side; spacing m; step s;
frequency Hz; interface index of z where the lower layer starts; upper, lower {vp, vs m/s, rho
kg/m3, Thomsen's parameters, angles in degrees}; further names of parameters that it has beside
those of the physics; mechanisms of rock that attenuates; sources one list of indices (z, [y,] x)
per shot; receivers a list of such indices.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from seismo.equations.framework.registry import EQUATIONS, equation_for
from seismo.runs.tools import bench


def _indices(position: dict[str, float], axes: list[str]) -> list[int]:
    return [round(position[axis] / bench.SPACING) for axis in axes]


def plain(name: str) -> dict[str, Any]:
    """Return the case as numbers on the grid, JSON-ready."""
    case = bench.select([name])[0]
    scenario = case.scenario
    extent = scenario["grid"]["extent"]
    axes = [axis for axis in ("z", "y", "x") if axis in extent]
    line = scenario["receivers"][0]
    first, last = _indices(line["start"], axes), _indices(line["end"], axes)
    shots = [shot["position"] for shot in scenario.get("survey", {}).get("shots", [])]
    positions = shots or [scenario["sources"][0]["position"]]
    upper, lower = scenario["model"][0]["layers"]
    own = EQUATIONS[scenario["physics"]]
    further = [key for key in upper if key not in {"top", *own.needs}]
    # Points in which seismo's medium changes are absorbing ones to others.
    collar = equation_for(own.name, len(axes), upper.keys() - {"top"}).beside_layers
    return {
        "name": case.name,
        "physics": scenario["physics"],
        "order": scenario["grid"]["order"],
        "steps": case.steps,
        "points": case.points,
        "shape": [round(extent[axis] / bench.SPACING) + 1 for axis in axes],
        "layer": scenario["boundaries"]["layer"]["points"] + (collar.points if collar else 0),
        "spacing": bench.SPACING,
        "step": bench.STEP,
        "frequency": bench.FREQUENCY,
        "interface": round(lower["top"] / bench.SPACING),
        "upper": bench.UPPER | bench.THOMSEN,
        "lower": bench.LOWER | bench.THOMSEN,
        "further": further,
        "mechanisms": scenario.get("attenuation", {}).get("mechanisms", 0),
        "sources": [_indices(position, axes) for position in positions],
        "receivers": [[*first[:-1], x] for x in range(first[-1], last[-1] + 1)],
        "label": f"{upper['vp']:g} over {lower['vp']:g} m/s",
    }


if __name__ == "__main__":
    for requested in sys.argv[1:] or bench.CASES:
        print(json.dumps(plain(requested)))

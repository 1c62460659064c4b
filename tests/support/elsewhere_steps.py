"""What an equation that is no part of seismo is taken through, in a process that finds its folder.

Run by `test_equation_elsewhere.py`; the last line of the output holds the findings as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import seismo
import solver
from seismo.cli import main
from seismo.errors import ScenarioError
from seismo.exact import respond
from seismo.exact.metrics import relative_l2
from seismo.exact.whole_space import radial_derivatives
from seismo.scenario import from_dict
from seismo.scenario.reference import reference_of

VP, RHO, TAU, TIME = 1500.0, 1000.0, 0.2, 0.006
SCENARIO: dict[str, Any] = {
    "physics": "relaxing_fluid",
    "relaxing_fluid": {"relaxation_time": TIME},
    "grid": {"extent": {"x": 420.0, "z": 300.0}, "spacing": 5.0, "order": 8},
    "time": {"duration": 0.22, "courant": 0.3},  # a memory variable's error is that of its step
    "boundaries": {"layer": {"points": 12}},
    "model": [{"type": "uniform", "vp": VP, "rho": RHO, "tau": TAU}],
    "sources": [{
        "type": "explosion", "moment": 1e6, "position": {"x": 100.0, "z": 150.0},
        "wavelet": {"type": "ricker", "frequency": 25.0},
    }],
    "receivers": [{
        "name": "line", "type": "points",
        "positions": [{"x": 180.0, "z": 150.0}, {"x": 300.0, "z": 150.0}],
    }],
    "output": {"snapshots": [{"name": "w", "fields": ["p", "memory"], "interval": 0.05}]},
}  # fmt: skip
SMALL = SCENARIO | {
    "grid": {"extent": {"x": 200.0, "z": 150.0}, "spacing": 5.0, "order": 8},
    "time": {"duration": 0.06},
    "sources": [SCENARIO["sources"][0] | {"position": {"x": 50.0, "z": 61.0}}],
    "receivers": [
        {
            "name": "line",
            "type": "points",
            "positions": [{"x": 70.0, "z": 61.0}],
            "quantities": ["pressure", "relaxation"],
        }
    ],
}


def called(*arguments: str) -> int:
    """Run a command in this process and return its exit code."""
    try:
        main(list(arguments))
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def exact(simulation) -> np.ndarray:
    """Return the pressure (receiver, time): (rho s^2 / K) p - lap p = rho s^2 M / K delta.

    K(s) = kappa (1 + tau - tau / (1 + t s)): what the memory variable makes of it.
    """

    def transfer(s: np.ndarray) -> np.ndarray:
        bulk = RHO * VP**2 * (1.0 + TAU - TAU / (1.0 + TIME * s))
        k = s * np.sqrt(RHO / bulk)
        return np.array([RHO * s / bulk * radial_derivatives(r, k, 2, 0)[0] for r in (80.0, 200.0)])

    return respond(transfer, 1e6 * solver.wavelet(simulation), simulation.dt)


def refused(**changes: Any) -> str:
    """Return the message that a scenario with other sections ends in."""
    try:
        from_dict(SMALL | changes)
    except ScenarioError as error:
        return str(error)
    return ""


def compiled() -> list[str]:
    """Return what is wrong with the PTX of its kernels, over boxes without layers."""
    from numba.cuda import dispatcher

    from seismo.backends.gpu import code_cache
    from seismo.backends.gpu.backend import GpuBackend
    from seismo.runs.tools.kernels import CompilingCard, is_interior

    kept = dispatcher.get_current_device
    code_cache.without_card((9, 0))
    card = CompilingCard((9, 0), is_interior)
    solver.build(SMALL, backend=lambda precision: GpuBackend(precision, card))
    codes = card.codes()
    dispatcher.get_current_device = kept
    return [str(len(codes))] + [
        str(code.kernel) for code in codes if ".local" in code.text or ".f64" in code.text
    ]


def cut(parts: tuple[int, int]) -> dict[str, np.ndarray]:
    simulation = solver.simulate(SMALL, parts=parts)
    return solver.wavefield(simulation) | solver.traces(simulation)


def findings(folder: Path) -> dict[str, Any]:
    """Take it through check, run, plot, cuts, NumPy and the compiler of the GPU's kernels."""
    path, results = str(folder / "s.yaml"), str(folder / "s.h5")
    Path(path).write_text(from_dict(SMALL).to_yaml())
    codes = [called("check", path, "--backend", "cpu")]
    codes += [called("run", path, "--output", results, "--backend", "cpu")]
    codes += [called("plot", results, "gather", "snapshot", "--output", str(folder))]
    with seismo.open_results(results) as found:
        relaxation = found.traces["line"]
        unit, traces = relaxation.unit("relaxation"), relaxation.values_of("relaxation")
        memory = float(np.abs(found.snapshots["w"].values_of("memory")).max())
    simulation = solver.simulate(SCENARIO)
    pressure = solver.traces(simulation)["pressure"]
    whole, parts = cut((1, 1)), cut((3, 1))
    numpy = solver.wavefield(solver.reference(SMALL))
    return {
        "codes": codes,
        "figures": sorted(path.name for path in folder.glob("s-*.png")),
        "memory": memory,
        "relaxation": [unit, float(np.abs(traces).max())],
        "error": max(map(relative_l2, pressure, exact(simulation))),
        "of NumPy": solver.difference({name: whole[name] for name in numpy}, numpy),
        "cut": [name for name in whole if not np.array_equal(whole[name], parts[name])],
        "kernels": compiled(),
        "reference": reference_of("model.tau") + reference_of("relaxing_fluid"),
        "refused": [
            refused(physics="acoustic"),
            refused(relaxing_fluid={"relaxation_tim": 1.0}),
            refused(model=[{"type": "uniform", "vp": VP, "rho": RHO, "tau": 2.0}]),
            refused(receivers=[SMALL["receivers"][0] | {"quantities": ["stress"]}]),
        ],
    }


if __name__ == "__main__":
    print(json.dumps(findings(Path(sys.argv[1]))))

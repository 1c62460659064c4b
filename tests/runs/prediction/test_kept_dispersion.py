"""What time stepping leaves in maps and snapshots is told: peaks against those of exact traces."""

import copy
import re

import numpy as np
import pytest

import seismo
from seismo.runs.prediction.checks.kept_dispersion import kept_dispersion
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

DOCUMENT = {
    "physics": "acoustic_variable_density",
    "grid": {"extent": {"x": 1700.0, "z": 240.0}, "spacing": 10.0},
    "time": {"duration": 0.95},
    "model": [{"type": "uniform", "vp": 2000.0, "rho": 2000.0}],
    "sources": [{"type": "pressure", "position": {"x": 100.0, "z": 120.0},
                 "wavelet": {"type": "ricker", "frequency": 12.0}}],
    "receivers": [{"type": "points", "name": "end", "quantities": ["velocity", "acceleration"],
                   "positions": [{"x": 1600.0, "z": 120.0}]}],
    "output": {"maps": [{"name": "m", "quantities": ["pgv", "pga"]}],
               "snapshots": [{"name": "s", "fields": ["p"], "interval": 0.3}]},
}  # fmt: skip


def document(frequency: float = 12.0, **time: float | bool) -> dict:
    changed = copy.deepcopy(DOCUMENT)
    changed["time"] |= time
    changed["sources"][0]["wavelet"]["frequency"] = frequency
    return changed


def told(of: dict) -> dict[str, float]:
    """Give the per cent that are told of each set of maps and snapshots."""
    lines = list(kept_dispersion(discretize(from_dict(of))))
    return {" ".join(line.split(":")[0].split()): float(line.split("about ")[1].split(" %")[0])
            for line in lines}  # fmt: skip


@pytest.mark.parametrize("frequency", [12.0, 24.0])
def test_peaks_err_as_is_told(frequency: float) -> None:
    """6.7 and 3.3 points in the shortest wavelength: PGV errs by 4.2 and 14, PGA 3.3 and 18 %."""
    with seismo.run(document(frequency)) as results:
        traces = {n: results.traces["end"].values_of(n, 0)[0] for n in ("vx", "vz", "ax", "az")}
        maps = results.maps["m"]
        row, column = (int(np.abs(maps.axes[a] - at).argmin())
                       for a, at in (("z", 120.0), ("x", 1600.0)))  # fmt: skip
        errors = []
        for name, motion in (("pgv", "v"), ("pga", "a")):
            exact = np.hypot(traces[motion + "x"], traces[motion + "z"]).max()
            errors.append(abs(maps.values_of(name, 0)[row, column] / exact - 1.0))
    expected = told(document(frequency))["maps m"]
    assert expected / 3.0 < 100.0 * max(errors) < 3.0 * expected


def test_snapshots_err_as_is_told() -> None:
    """The field of the last time against that of an eighth of the time step."""
    snapshots = []
    for step in (None, 2.5e-4):
        with seismo.run(document(**({"step": step} if step else {}))) as results:
            snapshots.append(results.snapshots["s"].values_of("p", -1).astype(float))
    error = np.linalg.norm(snapshots[0] - snapshots[1]) / np.linalg.norm(snapshots[1])
    expected = told(document())["snapshots s"]
    assert expected / 3.0 < 100.0 * error < 3.0 * expected


def test_shorter_steps_and_errors_that_traces_keep_are_not_told() -> None:
    line = next(kept_dispersion(discretize(from_dict(document()))))
    courant = re.search(r"time.courant to about (\S+),", line)
    assert courant
    assert told(document(courant=float(courant[1]))) == {}
    assert told(document(dispersion_removal=False)) == {}

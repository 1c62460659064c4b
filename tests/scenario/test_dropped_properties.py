"""Properties that the chosen waves do not feel are named, whatever part of the model gives them."""

import numpy as np
import pytest
import xarray

from seismo.runs.prediction.checks.model_parts import dropped
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

N = 21
FALLING = np.linspace(3000.0, 1000.0, N)[:, None] * np.ones(N)
ROCK = {"type": "uniform", "vp": 2000.0}
ROCK_BELOW = {"top": 0.0, "vp": 2000.0}
SOLID = ROCK | {"vs": 900.0, "rho": 1800.0}
FILE = {"type": "file", "vp": {"path": "vp.npy"}}


def lines(tmp_path, *model, physics="acoustic", kind="pressure"):
    """Return what is said of a model with files beside it."""
    np.save(tmp_path / "vp.npy", np.full((N, N), 3000.0))
    np.save(tmp_path / "falling.npy", FALLING)
    ticks = np.arange(N) * 10.0
    axes = {"z": ("z", ticks, {"units": "m", "positive": "down"}), "x": ("x", ticks)}
    names = {"vp": 3000.0 + 0.0 * FALLING, "falling": FALLING}
    volume = xarray.Dataset({name: (("z", "x"), field) for name, field in names.items()}, axes)
    volume.to_netcdf(tmp_path / "m.nc", engine="scipy")
    rows = [f"{z} 2000 {vs} {rho}" for z, vs, rho in ((0, 500, 1800), (100, 900, 2200))]
    (tmp_path / "table.csv").write_text("\n".join(row.replace(" ", ",") for row in rows))
    keys = {"force": {"force": {"y": 1.0}}, "explosion": {"moment": 1e9}}.get(kind, {})
    scenario = from_dict({
        "physics": physics,
        "grid": {"extent": {"x": 200.0, "z": 200.0}, "spacing": 10.0},
        "time": {"duration": 0.1},
        "model": list(model),
        "sources": [{"type": kind} | keys | {"position": {"x": 100.0, "z": 100.0},
                                   "wavelet": {"type": "ricker", "frequency": 10.0}}],
    }, base=tmp_path)  # fmt: skip
    return list(dropped(discretize(scenario)))


@pytest.mark.parametrize(("model", "said"), [
    ([ROCK | {"vs": 900.0}], r"vs 900 m/s"),
    ([ROCK | {"rho": 1800.0}], ""),
    ([ROCK | {"rho": 1800.0, "vs": 0.0, "qs": np.inf, "gamma": 0.0}], ""),
    ([ROCK | {"qs": 20.0, "gamma": 0.1}], "gamma 0.1, qs 20"),
    ([ROCK | {"rho": 1800.0}, {"type": "sphere", "center": {"x": 100.0, "z": 90.0}, "radius": 20.0,
                               "rho": 2600.0}], "rho 1800 to 2600 kg/m3"),
    ([ROCK, {"type": "block", "z": [50.0, 90.0], "vs": 800.0}], "vs 800 m/s"),
    ([ROCK, {"type": "polygon", "points": [[0.0, 50.0], [90.0, 50.0], [90.0, 90.0]], "qs": 9.0}],
     "qs 9"),
    ([ROCK, {"type": "interface", "points": [[0.0, 50.0], [90.0, 60.0]], "vs": 800.0}],
     "vs 800 m/s"),
    ([{"type": "layers", "layers": [ROCK_BELOW | {"rho": 1000.0, "rho_gradient": 2.0}]}],
     "rho 1000 to 1400 kg/m3"),
    ([{"type": "gradient", "vp": 2000.0, "rho": {"top": 1000.0, "bottom": 1400.0}}],
     "rho 1000 to 1400 kg/m3"),
    ([{"type": "table", "rows": [[0.0, 2000.0, 500.0, 1800.0], [100.0, 2000.0, 900.0, 2200.0]]}],
     "vs 500 to 900 m/s, rho 1800 to 2200 kg/m3"),
    ([{"type": "table", "path": "table.csv"}], "vs 500 to 900 m/s, rho 1800 to 2200 kg/m3"),
    ([{"type": "array", "vp": np.full((N, N), 2000.0), "rho": FALLING}], "rho 1000 to 3000 kg/m3"),
    ([{"type": "array", "vp": np.full((N, N), 2000.0), "vs": FALLING / 4.0}], "vs 250 to 750 m/s"),
    ([FILE | {"rho": {"path": "falling.npy", "units": "kg/m3"}}], "rho 1000 to 3000 kg/m3"),
    ([{"type": "volume", "path": "m.nc", "vp": "vp", "rho": "falling"}], "rho 1000 to 3000 kg/m3"),
    ([ROCK | {"rho": 1800.0}, {"type": "water", "depth": 50.0}], "rho 1000 to 1800 kg/m3"),
    ([ROCK, {"type": "random", "hurst": 0.3, "correlation": 30.0, "std": 0.05,
             "properties": {"vp": 1.0, "rho": 0.8}, "seed": 1}], "rho"),
])  # fmt: skip
def test_acoustic_waves_of_constant_density(tmp_path, model, said):
    found = lines(tmp_path, *model)
    assert len(found) == bool(said)
    assert all(f": {said}: without effect on waves of physics: acoustic" in line for line in found)
    taking = "elastic" if not said.startswith("rho") else "acoustic_variable_density"
    assert all(f"physics: {taking} takes" in line for line in found)


@pytest.mark.parametrize(("physics", "kind", "model", "said"), [
    ("acoustic_variable_density", "pressure", SOLID, ["vs 900 m/s"]),
    ("elastic_sh", "force", SOLID | {"qp": 30.0, "epsilon": 0.1},
     ["vp 2000 m/s, epsilon 0.1, qp 30"]),
    ("elastic", "explosion", SOLID | {"qp": 30.0, "epsilon": 0.1}, []),
])  # fmt: skip
def test_other_waves(tmp_path, physics, kind, model, said):
    found = lines(tmp_path, model, physics=physics, kind=kind)
    assert [line.split(": ")[1] for line in found] == said

"""What follows from a scenario is derived once, whoever asks for it, and its earth sampled once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from seismo.backends.select import choose
from seismo.model.earth import Earth
from seismo.runs.prediction.assess import assess
from seismo.runs.resources import speed
from seismo.runs.resources.memory import memory_of, output_of
from seismo.scenario import from_dict
from seismo.solver import discretization
from seismo.solver import discretize as discretizing
from seismo.solver.discretize import discretize
from seismo.solver.medium import cpml
from seismo.solver.simulation import Simulation

LAYERS = [
    {"type": "uniform", "vp": 3000.0, "vs": 1700.0, "rho": 2200.0},
    {"type": "water", "depth": 205.0},
]
FILES = [
    {
        "type": "file",
        **{name: {"path": f"{name}.npy", "spacing": 10.0} for name in ("vp", "vs", "rho")},
    }
]


def scenario(model, folder):
    vp = 2000.0 + 100.0 * np.random.default_rng(1).random((41, 61))
    for name, values in {"vp": vp, "vs": vp / 1.8, "rho": vp}.items():
        np.save(folder / f"{name}.npy", values.astype(np.float32))
    return from_dict(
        {
            "physics": "elastic",
            "grid": {"extent": {"x": 600.0, "z": 400.0}, "spacing": 10.0},
            "time": {"duration": 0.1},
            "boundaries": {"top": "free_surface"},
            "model": model,
            "sources": [
                {
                    "name": "s", "type": "explosion", "position": {"x": 300.0, "z": 50.0},
                    "moment": 1e9, "wavelet": {"type": "ricker", "frequency": 8.0},
                }
            ],
            "receivers": [
                {"name": "r", "type": "points", "positions": [{"x": 100.0, "z": 300.0}]}
            ],
            "output": {
                "snapshots": [{"name": "waves", "fields": ["vx"], "steps": 10}],
                "maps": [{"name": "peaks", "quantities": ["pgv"]}],
            },
        },
        folder,
    )  # fmt: skip


def asked_for(discretization) -> None:
    """Ask for all that `check` reports and `run` needs, cut in two subdomains."""
    assess(discretization)
    backend = choose("cpu").make("float32")
    for batch in (1, 1):
        shared = discretization.sharing(batch, 1)
        memory_of(shared, backend)
        output_of(shared)
        speed.map_seconds(shared, backend)
        Simulation(shared, backend, (2, 1))


@pytest.fixture
def calls(monkeypatch):
    counted: Counter[str] = Counter()

    def watch(module, name: str) -> None:
        original = getattr(module, name)

        def counting(*given, **keys):
            counted[name] += 1
            return original(*given, **keys)

        monkeypatch.setattr(module, name, counting)

    for name in ("image_faces", "make_all_series", "make_all_maps", "fluid_density", "layers_of"):
        watch(discretization, name)
    for name in ("contact_depths", "regions"):
        watch(discretization, name)
    for name in ("read_earth", "even_planes"):
        watch(discretizing, name)
    watch(cpml, "profile")
    watch(discretization, "highest_frequency")
    return counted


def test_each_fact_is_derived_once(tmp_path, calls):
    """Of the profile of absorbing layers, once along each of two axes."""
    asked_for(discretize(scenario(LAYERS, tmp_path)))
    assert calls.pop("profile") == 2
    assert set(calls.values()) == {1}
    assert len(calls) == 10


@pytest.mark.parametrize("model", [LAYERS, FILES], ids=["layered", "files"])
def test_no_points_of_the_earth_are_sampled_twice(tmp_path, monkeypatch, model):
    """But single ones, and those of a cell or two beside sources, receivers and contacts."""
    sample, sampled = Earth.sample, Counter()

    def counting(earth, z, y, x=0.0):
        values = sample(earth, z, y, x)
        if next(iter(values.values())).size > 500:
            sampled[np.asarray(z).tobytes(), np.asarray(x).tobytes()] += 1
        return values

    monkeypatch.setattr(Earth, "sample", counting)
    discretization = discretize(scenario(model, tmp_path))
    assess(discretization)
    memory_of(discretization)
    Simulation(discretization, choose("cpu").make("float32"))
    assert len(sampled) >= 2
    assert set(sampled.values()) == {1}

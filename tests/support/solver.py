"""Small scenarios for the solver's tests, made from what each wave equation declares.

Nothing here names an equation: parameters, sources and quantities come from its table, so that an
equation added to the registry runs through every general test.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seismo.acquisition import trace_processing, wavelets
from seismo.acquisition.sources import Shot
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.equations.framework.registry import (
    EQUATIONS,
    PARAMETERS,
    VARIANTS,
    physics_for,
)
from seismo.equations.framework.table import Physics
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation

# Equations that stand in for others share most of their code: every day a few tests of their own.
EVERY_EQUATION = [
    pytest.param(e.name, d, id=f"{e.name}-{d}d", marks=[pytest.mark.slow] if e.extends else [])
    for e in EQUATIONS.values()
    for d in e.dimensions
]


def slow_but(kept: Collection, values: Iterable) -> list:
    """Return parameters of a test of which a few run every day, and all with the slow tests."""
    return [pytest.param(v, marks=[] if v in kept else [pytest.mark.slow]) for v in values]


def slow_cases_but(kept: Collection[str], cases: Iterable) -> list:
    """Return equations of a test of which those named by their ids run every day."""
    return [
        pytest.param(*c.values, id=c.id, marks=[] if c.id in kept else [pytest.mark.slow])
        for c in cases
    ]


def slow_in_space(*kept: str) -> list:
    """Return every equation, of which in space only those named run every day."""
    daily = [case for case in EVERY_EQUATION if not case.marks]
    named = [case.id for case in daily if case.values[1] == 2 or case.values[0] in kept]
    return slow_cases_but(named, EVERY_EQUATION)


PLANE_EQUATIONS = [pytest.param(name, d, id=name) for name, d in VARIANTS if d == 2]

# Steps differ along the axes, so that no axis can stand for another.
SPACING = {"x": 10.0, "y": 11.0, "z": 9.0}
VALUES = {"vp": 2000.0, "vs": 1200.0, "rho": 2200.0}
FURTHER = {
    "qp": 40.0,
    "qs": 25.0,
    "epsilon": 0.2,
    "delta": 0.1,
    "gamma": 0.15,
    "theta": 30.0,
    "phi": 25.0,
    "azimuth": 40.0,
    "epsilon1": 0.25,
    "epsilon2": 0.15,
    "delta1": 0.1,
    "delta2": 0.05,
    "delta3": -0.1,
    "gamma1": 0.2,
    "gamma2": 0.05,
}  # of equations that stand in for others
RANGES = {
    "vp": (1900.0, 4000.0), "vs": (500.0, 1300.0), "rho": (1000.0, 3000.0),
    "qp": (20.0, 60.0), "qs": (10.0, 40.0),
    "epsilon": (0.1, 0.3), "delta": (-0.1, 0.05), "gamma": (0.0, 0.2),
    "theta": (-90.0, 90.0), "phi": (-180.0, 180.0), "azimuth": (-180.0, 180.0),
    "epsilon1": (0.2, 0.25), "epsilon2": (0.2, 0.25), "delta1": (-0.1, 0.05),
    "delta2": (-0.1, 0.05), "delta3": (-0.15, -0.05), "gamma1": (0.0, 0.05), "gamma2": (0.0, 0.1),
}  # fmt: skip
FREQUENCY = 40.0  # reaches its peak within some 15 steps
ORDER = {2: 8, 3: 4}  # one for all tests that do not ask for another: each compiles anew
ALL_FACES = ("top", "bottom", "x_min", "x_max", "y_min", "y_max")


def axes_of(dimensions: int) -> str:
    return "xyz" if dimensions == 3 else "xz"


def faces(dimensions: int, kind: str = "absorbing", **named: str) -> dict[str, Any]:
    """Give the section `boundaries`: one kind for all faces, but for those named."""
    names = [f for f in ALL_FACES if dimensions == 3 or f[0] != "y"]
    return {**dict.fromkeys(names, kind), **named, "layer": {"points": 4}}


def uniform(physics: Physics, **values: float) -> list[dict[str, Any]]:
    """Give a homogeneous model of what the equation needs."""
    plane = {"phi": 0.0, "azimuth": 0.0} if len(physics.axes) == 2 else {}  # axes lie in it
    given = {**VALUES, **FURTHER, **plane, **values}
    keys = [key for key in dict.fromkeys(("vp", *physics.needs)) if key in given]  # always vp
    return [{"type": "uniform", **{key: given[key] for key in keys}}]


def random_arrays(physics: Physics, shape: tuple[int, ...], seed: int = 1) -> dict[str, np.ndarray]:
    """Draw each parameter of each node on its own, uniform within its range."""
    generator = np.random.default_rng(seed)
    ranges = {key: RANGES.get(key) or PARAMETERS[key].limits for key in physics.needs}
    for angle in ("phi", "azimuth"):
        if len(physics.axes) == 2 and angle in ranges:
            ranges[angle] = (0.0, 0.0)
    return {key: generator.uniform(*ends, shape) for key, ends in ranges.items()}


def gridded(folder: Path, arrays: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Write parameters as files on the grid's own nodes."""
    for key, values in arrays.items():
        np.save(folder / f"{key}.npy", values)
    return [{"type": "file", **{key: {"path": f"{key}.npy"} for key in arrays}}]


def mechanism(physics: Physics, kind: str) -> dict[str, Any]:
    """Give a source of that kind with a different number for each component it can have."""
    names = list(dict.fromkeys(d.component for d in physics.drives[kind]))
    if kind in ("force", "moment_tensor"):
        numbers = dict(zip(names, (1.0, -0.7, 0.5, 0.3, -0.2, 0.4), strict=False))
        return {"force" if kind == "force" else "components": numbers}
    return {"moment" if kind == "explosion" else "amplitude": 1.0}


def quantities(physics: Physics) -> list[str]:
    """Name all that the equation can record."""
    return list(physics.quantities)


def place(dimensions: int, cells: tuple[float, ...] | float) -> dict[str, float]:
    """Give the position that lies so many cells from the first point along x, (y,) z."""
    along = axes_of(dimensions)
    steps = (cells,) * len(along) if np.isscalar(cells) else cells
    return {a: float(SPACING[a] * n) for a, n in zip(along, steps, strict=True)}


def plan(name: str, dimensions: int, **changes: Any) -> dict[str, Any]:
    """Give a complete scenario: every kind of source at once, every quantity recorded.

    Args:
        name: the wave equation.
        dimensions: 2 or 3.
        changes: `cells` along every axis, `order`, `stencil`, `steps` of which `duration` is
            made, `random_medium`: the folder for a model that differs from node to node; the rest
            replaces sections of the scenario.
    """
    physics = physics_for(name, dimensions)
    take = {"order": ORDER[dimensions], "stencil": "taylor", "cells": 28, "steps": 60}
    take.update(changes)
    cells, along = take.pop("cells"), axes_of(dimensions)
    cells = (cells,) * len(along) if np.isscalar(cells) else cells
    steps, folder = take.pop("steps"), take.pop("random_medium", None)
    nodes = tuple(n + 1 for n in cells[::-1])
    spots = [[0.45 * n + 0.3 + 0.6 * k for n in cells] for k in range(len(physics.drives))]
    reads = [[0.25 * n + 0.4 for n in cells], [round(0.7 * n) for n in cells]]
    document = {
        "physics": EQUATIONS[name].extends or name,
        "precision": "float64",
        "grid": {
            "extent": place(dimensions, cells),
            "spacing": {a: SPACING[a] for a in along},
            "order": take.pop("order"),
            "stencil": take.pop("stencil"),
        },
        # Records of the scheme itself are compared: no transform in time.
        "time": {"duration": 1.0, "dispersion_removal": False},
        "boundaries": faces(dimensions),
        "model": gridded(folder, random_arrays(physics, nodes)) if folder else uniform(physics),
        "sources": [
            source(physics, kind, place(dimensions, spot))
            for kind, spot in zip(physics.drives, spots, strict=True)
        ],
        "receivers": [
            points([place(dimensions, r) for r in reads], quantities=quantities(physics))
        ],
    }
    document.update(take)
    if steps is not None:
        own = folder is None or "model" in take
        step = document["time"].get("step") or stable_step(document, folder, own)
        document["time"] = {**document["time"], "duration": steps * step}
    return document


_steps: dict[str, float] = {}


def stable_step(document: dict[str, Any], folder: Path | None, own_model: bool) -> float:
    """Find the time step of a scenario, once for those that are alike."""
    text = json.dumps(document, default=repr)
    # Files of random media are the same in every folder; what is in others is not known.
    known = not own_model or '"path"' not in text
    if not known or text not in _steps:
        # Of no consequence for the step, and in small boxes too near a face.
        silent = document | {"receivers": []}
        _steps[text] = discretize(from_dict(silent, folder or ".")).clock.dt
    return _steps[text]


def source(physics: Physics, kind: str, position: dict[str, float], **changes) -> dict[str, Any]:
    """Give a source with a Ricker wavelet."""
    wavelet = {"type": "ricker", "frequency": FREQUENCY}
    base = {"type": kind, "position": position, "wavelet": wavelet}
    return {**base, **mechanism(physics, kind), **changes}


def points(positions: list[dict[str, float]], **changes) -> dict[str, Any]:
    """Give a set of receivers."""
    return {"type": "points", "positions": positions, **changes}


def build(document: dict[str, Any], base=".", *, backend=None, parts=(1, 1), courant=None):
    """Build a simulation; `courant` sets the step without asking whether it is stable."""
    scenario = from_dict(document, base)
    discretization = discretize(scenario)
    if courant is not None:
        clock = discretization.clock
        discretization = replace(discretization, clock=replace(clock, dt=courant * clock.limit))
    machine = CpuBackend if backend is None else backend
    return Simulation(discretization, machine(scenario.precision), parts)


def simulate(document: dict[str, Any], base=".", **how):
    """Build and run to the end."""
    simulation = build(document, base, **how)
    simulation.advance(simulation.total_steps)
    return simulation


def coefficient(simulation, name: str) -> np.ndarray:
    """Give a coefficient (z, y, x) of the first part, halo included; even planes tell less."""
    part = simulation.solvers[0]
    fields, sub, fetch = part.fields, part.subdomain, simulation.backend.fetch
    held = {key: fetch(array) for key, array in fields.arrays(0).items()}
    if name not in fields.physics.sparse:
        return sub.view(held[name])[0]
    whole = (k for k in held if k not in fields.physics.sparse and held[k].size >= sub.volume)
    view = {key: sub.view(held[key])[0] for key in whole}
    if name.startswith("rho"):
        whole = 0.5 * (view["rho"] + np.roll(view["rho"], -1, "zyx".index(name[-1])))
    else:
        q = view["q"]
        c11 = view.get("c11", q)  # SH waves have none
        whole = np.array({"c13": c11 - 2 / q, "c33": c11, "q66": q, "q_xy": q}[name])
    for z in np.flatnonzero(simulation.discretization.uneven[fields.physics.sparse[name]]):
        plane, shift = sub.flat(-sub.halo, -sub.offset[1], z), fields.packed(z, (name,))
        stride = sub.strides[1]
        whole[z + sub.offset[2]].ravel()[:] = held[name][plane - shift :][:stride]
    return whole


def add_noise(simulation) -> None:
    """Begin with noise in every field at every point, halos too, in about equal energy."""
    generator, (nx, ny, nz) = np.random.default_rng(5), simulation.discretization.grid.points
    for field in simulation.discretization.physics.fields:
        scale = 1e-7 if field.remembers else 1e-6**field.late  # strain rates of such velocities
        noise = generator.standard_normal((simulation.discretization.batch, nz, ny, nx))
        noise *= scale if field.scale == 1.0 else 16.0  # well inside of 16 bits
        for subdomain, fields in ((p.subdomain, p.fields) for p in simulation.solvers):
            (_, oy, oz), held = subdomain.offset, subdomain.padded & subdomain.grid.box
            ox = subdomain.halo
            (_, y0, z0), (_, y1, z1) = held.lo, held.hi
            view = subdomain.view(fields.arrays(0)[field.name])[:, oz + z0 : oz + z1]
            some = simulation.backend.array(noise[:, z0:z1, y0:y1])
            view[:, :, oy + y0 : oy + y1, ox : ox + nx] = some


def levels_of_noise(simulation: Simulation, counts: Iterable[int]) -> list[float]:
    """Start from noise in a plane; give the sum of v^2 after each of some counts of steps."""
    silence(simulation)
    add_noise(simulation)
    levels = []
    for count in counts:
        simulation.advance(count)
        fields = wavefield(simulation)
        levels.append(sum(np.sum(fields[f"v{a}"] ** 2) for a in "xz"))
    return levels


def silence(simulation) -> None:
    """Take the sources away: the wavefield begins as a test sets it."""
    simulation.load([Shot("silence", ())])


def reference(document: dict[str, Any], base="."):
    """Run on the NumPy backend."""
    return simulate(document, base, backend=ReferenceBackend)


def wavefield(simulation, shot: int = 0) -> dict[str, np.ndarray]:
    """Give every field of a shot, (z, y, x), that all points have."""
    return {
        f.name: simulation.field(f.name)[shot]
        for f in simulation.discretization.physics.fields
        if f.buffer is None and not f.on_surface
    }


def records(simulation, shot: int = 0) -> dict[str, np.ndarray]:
    """Give every recorded component as it came, (receiver, step), by set and name."""
    return {
        f"{group.name}.{component}": simulation.recorder.raw(shot, group.name, component).copy()
        for group in simulation.discretization.groups
        for _, _, component in group.components(simulation.discretization.physics).values()
    }


def traces(simulation, shot: int = 0, group: int = 0) -> dict[str, np.ndarray]:
    """Give the finished traces (receiver, sample) of one set by component."""
    discretization, physics = simulation.discretization, simulation.discretization.physics
    chosen, removal = discretization.groups[group], discretization.scenario.time.dispersion_removal
    every = discretization.clock.steps_between(chosen.interval)
    found = {}
    for name, (quantity, base, component) in chosen.components(physics).items():
        late = all(physics.named(t.field).late for t in chosen.terms(physics, base, component))
        raw = simulation.recorder.raw(shot, chosen.name, component)
        found[name] = trace_processing.finish(
            raw, quantity, late, simulation.dt, simulation.steps, every, removal
        )
    return found


def times(simulation) -> np.ndarray:
    return np.arange(simulation.steps + 1) * simulation.dt


def wavelet(simulation) -> np.ndarray:
    """Sample the first source's wavelet at the times of the traces."""
    return wavelets.evaluate(
        simulation.discretization.shots[0].sources[0].wavelet, times(simulation)
    )


def difference(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> float:
    """Give the largest error of any array over that array's largest value."""
    assert found.keys() == wanted.keys()
    worst = 0.0
    for name, array in wanted.items():
        largest = np.abs(array).max()
        assert largest > 0, f"{name} is zero: nothing is compared"
        worst = max(worst, float(np.abs(found[name] - array).max() / largest))
    return worst


def identical(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> bool:
    """Tell whether all arrays are equal to the last bit, and none is zero."""
    assert found.keys() == wanted.keys()
    assert all(array.any() for array in wanted.values())
    return all(np.array_equal(found[name], array) for name, array in wanted.items())


def go_on(first: Simulation, second: Simulation, steps: int) -> None:
    """Advance a simulation by some steps, and let a second one go on from its state."""
    first.advance(steps)
    second.step = first.step
    for name, saved in second.state().items():
        saved.array[:] = first.state()[name].array

"""Isotropic planes: detection, storage, and unchanged results."""

import dataclasses

import numpy as np
import pytest

import solver
from seismo.equations.framework.registry import physics_for
from seismo.grid.grid import AXES
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average, plain_planes
from seismo.runs.resources.memory import memory_of
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.medium import earth_samples as medium
from test_solver_backends import faces

ROCK = {"type": "uniform", **solver.VALUES}
HARD = {"vp": 3000.0, "vs": 1700.0, "rho": 2500.0}
CELLS = {2: (30, 44), 3: (24, 16, 44)}
Z = solver.SPACING["z"]
# Two bodies with planes of one rock above, between and below; a file that varies at some depths.
BLOCK = {"type": "block", "x": [60.0, 170.0], "z": [14.3 * Z, 16.0 * Z], **HARD}
SPHERE = {"type": "sphere", "center": {"x": 140.0, "z": 31.5 * Z}, "radius": 2.2 * Z, **HARD}
RUNS = {
    "bodies": [ROCK, BLOCK, SPHERE],
    "sea": [ROCK, {"type": "water", "depth": 12.4 * Z, "vp": 1500.0, "rho": 1000.0}, SPHERE],
    "gradient": [
        {"type": "gradient", **{k: {"top": v, "bottom": 1.3 * v} for k, v in HARD.items()}},
        BLOCK,
    ],
}  # fmt: skip


def document(
    model: str, dimensions: int, case: str = "layers", base=None, name="elastic", **changes
) -> dict:
    """Give a scenario with such a model; "file" writes one that varies at some depths only."""
    keys = {"cells": CELLS[dimensions], "steps": 40, "boundaries": faces(case, dimensions)}
    if model == "file":
        physics = physics_for("elastic", dimensions)
        shape = tuple(n + 1 for n in CELLS[dimensions][::-1])
        arrays = solver.random_arrays(physics, shape)
        for key, values in arrays.items():
            values[:13] = values[30:] = solver.VALUES[key]
        keys |= {"model": solver.gridded(base, arrays), "steps": None}
    else:
        parts = [dict(part) for part in RUNS[model]]
        if dimensions == 3:
            parts = [
                p | {"center": p["center"] | {"y": 90.0}} if p["type"] == "sphere" else p
                for p in parts
            ]
        keys["model"] = parts
    if name != "elastic":
        keys["model"] = [{k: v for k, v in part.items() if k != "vs"} for part in keys["model"]]
    return solver.plan(name, dimensions, **(keys | changes))


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize(
    ("name", "stage", "model"),
    [*(("elastic", "stress", model) for model in [*RUNS, "file"]),
     ("acoustic_variable_density", "velocity", "bodies")],
)  # fmt: skip
def test_shapes_and_files_tell_what_averages_are(name, stage, model, dimensions, tmp_path):
    """Planes said to be plain are even once averaged, and few others are."""
    scenario = from_dict(document(model, dimensions, base=tmp_path, name=name), tmp_path)
    discretization = discretize(scenario)
    grid, physics = discretization.grid, discretization.physics
    z, y, x = (
        grid.coordinate(a, np.arange(grid.points[AXES.index(a)])) if a in grid.axes else None
        for a in "zyx"
    )
    spacing = dict(zip(AXES, grid.spacing, strict=True))
    (rule,) = (s.even for s in physics.stages if s.name == stage)
    asked = (*physics.medium, *rule.asks)
    medium = cell_average(
        discretization.earth, GridCells(z, y, x, spacing), asked, dtype=np.float64
    )
    even = rule.where(medium).reshape(len(z), -1).all(axis=1)
    plain = plain_planes(discretization.earth, GridCells(z, y, x, spacing))
    assert not (plain & ~even).any()
    assert 0.9 * even.sum() < plain.sum() < len(z)  # cells at steep faces may be isotropic
    assert plain_planes(discretization.earth, GridCells(z, y, x, spacing), "point").all()


@pytest.mark.parametrize(
    ("model", "dimensions", "case"),
    [
        ("bodies", 2, "free_surface"), ("bodies", 2, "mixed"), ("sea", 2, "free_surface"),
        ("sea", 2, "mixed"), ("bodies", 3, "mixed"),
        pytest.param("bodies", 3, "free_surface", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_even_planes_change_no_answer(model, dimensions, case, tmp_path, monkeypatch):
    """Against the formula for all planes; cut in parts, to the last bit."""
    given = document(model, dimensions, case)
    found = solver.build(given, tmp_path)
    assert np.count_nonzero(np.diff(found.discretization.even["stress"].astype(int)) == 1) >= 2
    parts = solver.build(given, tmp_path, parts=(2, 1))
    monkeypatch.setattr(medium, "EVEN_RUN", 1000)
    whole = solver.build(given, tmp_path)
    assert not whole.discretization.even["stress"].any()
    for simulation in (found, parts, whole):
        simulation.advance(simulation.total_steps)
    assert solver.identical(solver.wavefield(parts), solver.wavefield(found))
    assert solver.difference(solver.wavefield(found), solver.wavefield(whole)) < 1e-12
    records, wanted = solver.records(found), solver.records(whole)
    # An explosion hardly rotates: the two terms of a rotation cancel to their own rounding.
    strain = np.abs(wanted["receivers.divergence"]).max()
    for name in [name for name in wanted if "rotation" in name]:
        assert np.abs(records.pop(name) - wanted.pop(name)).max() < 1e-12 * strain
    assert solver.difference(records, wanted) < 1e-12


@pytest.mark.parametrize("parts", [(1, 1), (2, 1)])
def test_even_planes_do_without_some_coefficients(parts):
    """Only the others, and the row of the free surface, keep c13, c33, q66; none a density."""
    simulation = solver.build(document("bodies", 3, "free_surface"), parts=parts)
    discretization, sparse = (
        simulation.discretization,
        {"c13", "c33", "q66", "rho_x", "rho_y", "rho_z"},
    )
    assert set(discretization.physics.sparse) == sparse
    even = discretization.even["stress"]
    kept = np.count_nonzero(~even | (np.arange(len(even)) == 0))
    assert 0 < kept < len(even) / 2
    assert discretization.even["velocity"].all()  # no fluids meet
    for name in sparse:
        planes = [p.fields.size_of(name) / p.subdomain.strides[1] for p in simulation.solvers]
        assert sum(planes) == (0 if name.startswith("rho") else kept)
        held = [p.fields.arrays(0)[name].size - p.fields.size_of(name) for p in simulation.solvers]
        assert 0 <= min(held) <= max(held) <= 256


def test_the_memory_planned_follows():
    """An elastic run in space takes 12 numbers a point in one rock, 15 where cells are cut."""
    rough = solver.plan("elastic", 3, cells=40, steps=2, model=[ROCK])
    discretization = discretize(from_dict(rough))
    memory = memory_of(discretization)
    numbers = (memory.wavefield + memory.model) / memory.array
    assert numbers == pytest.approx(12.0, abs=0.2)
    cut = memory_of(
        dataclasses.replace(
            discretization, even=discretization.even | {"stress": ~discretization.even["stress"]}
        )
    )
    assert (cut.wavefield + cut.model) / cut.array == pytest.approx(15.0, abs=0.4)

"""CPU programs against single launches: bit-identical.

A program deals tiles to threads, does the flux and its sweep tile by tile, and takes shots through
all their steps one by one. Every point is still updated by the same operations on the same values.
The numbers of threads here are those that work is dealt to, whatever runs it.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import solver
from seismo.backends import machine
from seismo.backends.cpu import c_functions, schedule
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import HostBackend
from seismo.equations.framework.registry import physics_for

CELLS = {2: (40, 30), 3: (30, 14, 12)}


def survey(name: str, dimensions: int, base, shots: int) -> dict:
    """Give a few shots in a random medium with every kind of face."""
    kind = next(iter(physics_for(name, dimensions).drives))
    cells = CELLS[dimensions]
    spots = [solver.place(dimensions, [0.4 * n + k for n in cells]) for k in range(shots)]
    document = solver.plan(
        name, dimensions, random_medium=base, cells=cells, steps=15,
        boundaries=solver.faces(dimensions, top="free_surface", x_max="rigid"),
    )  # fmt: skip
    document["sources"] = [
        solver.source(physics_for(name, dimensions), kind, spots[0]),
    ]
    if shots > 1:
        document["survey"] = {"shots": [{"position": p} for p in spots]}
    return document


def results(document: dict, base) -> list[dict[str, np.ndarray]]:
    """Run, from noise, in two goes; give what every shot has recorded and its wavefield."""
    simulation = solver.build(document, base)
    solver.add_noise(simulation)
    simulation.advance(7)
    simulation.advance(simulation.total_steps - 7)
    return [
        wanted(simulation, shot)
        for shot in range(simulation.discretization.batch)
        for wanted in (solver.records, solver.wavefield)
    ]


def deal_to(threads: int, monkeypatch) -> None:
    monkeypatch.setattr(schedule, "SMALL", 1)
    monkeypatch.setattr(CpuBackend, "threads", property(lambda backend: threads))


# Every way to deal work out in the plane; in space one for shots and one for tiles.
PROGRAMS = [
    pytest.param(
        *case.values, shots, threads, id=f"{case.id}-{shots}-{threads}",
        marks=case.marks or [pytest.mark.slow] * (
            case.id.endswith("3d") and (shots, threads) not in ((1, 3), (3, 2))),
    )
    for case in solver.slow_in_space("acoustic")
    for shots, threads in ((1, 1), (1, 3), (3, 1), (3, 2), (3, 3))
]  # fmt: skip


@pytest.mark.parametrize(("name", "dimensions", "shots", "threads"), PROGRAMS)
def test_program_equals_one_launch_after_the_other(
    name, dimensions, shots, threads, tmp_path, monkeypatch
) -> None:
    document = survey(name, dimensions, tmp_path, shots)
    deal_to(threads, monkeypatch)
    found = results(document, tmp_path)
    monkeypatch.setattr(CpuBackend, "program", HostBackend.program)
    wanted = results(document, tmp_path)
    for a, b in zip(found, wanted, strict=True):
        assert solver.identical(a, b)


@pytest.mark.parametrize(("shots", "threads", "strands"), [(3, 3, 3), (3, 1, 3), (3, 2, 2)])
def test_shots_go_apart_where_they_share_threads_evenly(
    shots, threads, strands, tmp_path, monkeypatch
) -> None:
    made = []
    table = schedule._table
    monkeypatch.setattr(schedule, "_table", lambda phases: made.append(phases) or table(phases))
    deal_to(threads, monkeypatch)
    solver.build(survey("acoustic", 2, tmp_path, shots), tmp_path)
    phases = made[-1][0]
    assert {len(phase) for phase in phases} == {strands}
    assert (len(phases) == 1) == (strands == shots)


def test_threads_share_a_shot_whose_rows_fill_the_array(monkeypatch) -> None:
    """The image behind its last row is the shot's own, too."""
    made = []
    table = schedule._table
    monkeypatch.setattr(schedule, "_table", lambda phases: made.append(phases) or table(phases))
    deal_to(2, monkeypatch)
    faces = solver.faces(2, x_min="rigid", x_max="rigid")
    simulation = solver.build(solver.plan("acoustic", 2, cells=(23, 24), boundaries=faces))
    sub = simulation.solvers[0].subdomain
    assert sub.owned.shape[0] + 2 * sub.halo == sub.shape[2]
    assert len(made[-1][0]) > 1


def test_flux_and_its_sweep_share_a_phase(tmp_path) -> None:
    """Both stages make one group of launches, of pairs where there are layers."""
    simulation = solver.build(survey("acoustic", 3, tmp_path, 1), tmp_path)
    sources, pairs, *rest = schedule._fused(simulation._bind(0))
    assert pairs
    assert {len(chain) for chain in pairs} == {2}
    assert all(len(chain) == 1 for group in (sources, *rest) for chain in group)


def test_blocks_have_fewer_rows_where_their_planes_exceed_the_cache(tmp_path, monkeypatch) -> None:
    """Flux and its sweep keep the same tiles then, and no bit depends on it."""
    document = survey("acoustic", 3, tmp_path, 1)
    rows, wavefields = [], []
    for size in (1 << 30, 1):
        monkeypatch.setattr(machine, "second_level_cache", lambda size=size: size)
        groups = solver.build(document, tmp_path)._bind(0)
        sweeps = [task for group in groups for task in group if task.tiles]
        tiles = np.concatenate([task.keep_alive[0] for task in sweeps])
        rows.append((tiles[:, 3] - tiles[:, 2]).max())
        assert {len(chain) for group in schedule._fused(groups) for chain in group} == {1, 2}
        wavefields.append(results(document, tmp_path))
    assert rows[0] > 8 >= rows[1]
    assert all(solver.identical(a, b) for a, b in zip(*wavefields, strict=True))


def test_a_coefficient_is_fetched_as_far_ahead_as_it_is_read(monkeypatch) -> None:
    """The axis' z component is differentiated along z, half a stencil beyond the point."""
    leads = []
    find = CpuBackend._leads
    monkeypatch.setattr(c_functions, "sweep_function", lambda *what: 0)  # never called
    monkeypatch.setattr(
        CpuBackend, "_leads", lambda *known: leads.append((known[1], find(*known))) or leads[-1][1]
    )
    solver.build(solver.plan("acoustic_tti", 3, cells=CELLS[3]))
    pressures = [one for formula, one in leads if len(formula.coefficients) == 6]
    assert pressures
    for *_, p, r, p_n, r_n, k, root, rest, n_x, n_y, n_z in pressures:
        assert n_z == p == r == p_n == r_n > n_y == n_x == k == root == rest


def test_second_level_cache_is_that_of_a_core(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(machine, "_CACHES", tmp_path)
    sizes = {"1": "48K", "2": "512K", "3": "32M"}
    for level, size in sizes.items():
        index = tmp_path / f"index{level}"
        index.mkdir()
        (index / "level").write_text(f"{level}\n")
        (index / "size").write_text(f"{size}\n")
    find = machine.second_level_cache.__wrapped__
    assert find() == 512 << 10
    monkeypatch.setattr(machine, "_CACHES", tmp_path / "none")
    assert find() == 1 << 20


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("order", [4, 16])
def test_flux_is_a_tile_ahead_in_thick_layers(order, threads, tmp_path, monkeypatch) -> None:
    """In layers across z the sweep of a tile reads flux of the next one, and of the one before."""
    document = survey("acoustic", 2, tmp_path, 1)
    document["grid"]["order"] = order
    document["boundaries"]["layer"] = {"points": 25}
    deal_to(threads, monkeypatch)
    _, pairs, *_ = schedule._fused(solver.build(document, tmp_path)._bind(0))
    assert any(
        chain[0].producer_links is not None and chain[0].producer_links.any() for chain in pairs
    )
    found = results(document, tmp_path)
    monkeypatch.setattr(CpuBackend, "program", HostBackend.program)
    wanted = results(document, tmp_path)
    assert all(solver.identical(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize(("told", "wanted"), [(None, "passive 1000"), ("active", "active None")])
def test_threads_that_wait_soon_sleep_unless_told_otherwise(told, wanted) -> None:
    """OpenMP takes it from the environment, when the first threads are made."""
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    environment = {k: v for k, v in os.environ.items() if k not in names}
    environment |= {"OMP_WAIT_POLICY": told} if told else {}
    line = "import os, sys, seismo.backends.base; "
    line += f"print(*map(os.environ.get, {names}))"
    line += "; assert 'numba.np.ufunc.omppool' not in sys.modules"
    said = subprocess.check_output([sys.executable, "-c", line], env=environment, text=True)
    assert said.strip() == wanted


def test_threads_get_equal_costs_where_some_launches_have_few_items(monkeypatch) -> None:
    """Four items of one launch and three of another, which must stay together, and small ones."""
    monkeypatch.setattr(schedule, "SMALL", 1)
    launches = [few_items([5.0] * 4), few_items([9.0] * 3, linked=True), few_items([1.0] * 200)]
    cost = {launch[0].parameters.ctypes.data: launch[0].costs for launch in launches}
    units = schedule._tile_parallel(launches, 8)
    task_lists = [[row for rows in units_of_one for row in rows] for units_of_one in units]
    shares = [sum(cost[at][first:last].sum() for _, first, last, at in rows) for rows in task_lists]
    done = sorted((at, n) for rows in task_lists for _, first, last, at in rows
                  for n in range(first, last))  # fmt: skip
    assert done == sorted((at, n) for at, costs in cost.items() for n in range(len(costs)))
    assert sum(shares) == 20 + 27 + 200
    assert max(shares) < 1.05 * sum(shares) / 8


def test_units_of_a_list_are_small_and_keep_linked_items_together(monkeypatch) -> None:
    monkeypatch.setattr(schedule, "SMALL", 1)
    monkeypatch.setattr(schedule, "LEAST_UNIT", 1)
    links = np.tile([True, True, False], 200)
    launches = [few_items([2.0] * 5000), few_items([3.0] * 600, linked=links)]
    cost = {launch[0].parameters.ctypes.data: launch[0].costs for launch in launches}
    linked = launches[1][0].parameters.ctypes.data
    for task_list in schedule._tile_parallel(launches, 4):
        units = [sum(cost[at][first:last].sum() for _, first, last, at in rows)
                 for rows in task_list]  # fmt: skip
        assert max(units) < 1.5 * sum(units) / schedule.UNITS
        ends = [n for rows in task_list for _, *ends, at in rows if at == linked for n in ends]
        assert ends
        assert not any(n % 3 for n in ends)


def few_items(costs: list[float], linked: bool | np.ndarray = False) -> schedule.FusedTasks:
    """Return a launch of items of some costs; `linked` to the next ones, True: one takes all."""
    clock = np.zeros(1, np.int64)
    links = None if linked is False else np.append(np.ones(len(costs) - 1, bool), False) & linked
    parameters = np.zeros(1, np.uint64)
    return (schedule.Task(0, parameters, (), np.array(costs), None, clock, b"", links),)

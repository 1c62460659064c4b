"""A wavefield is its arrays and its step: another simulation goes on from them to the same bits.

Nothing is computed when arrays are copied, so equality is exact. Media differ from node to node,
layers hold memory, and the second simulation has run before: what is missing in the state shows.
"""

import re

import numpy as np
import pytest

import solver
from seismo.equations.framework.registry import physics_for
from seismo.grid.decomposition import LINE
from seismo.runs.resources.memory import memory_of
from simulated_card import simulated
from test_solver_subdomains import survey_of

WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
HARD = {"vp": 3400.0, "vs": 1900.0, "rho": 2500.0}


def copied(simulation) -> dict[str, np.ndarray]:
    fetch = simulation.backend.fetch
    return {name: np.array(fetch(held.array)) for name, held in simulation.state().items()}


def fill(simulation, step: int, numbers: dict[str, np.ndarray]) -> None:
    simulation.step = step
    state = simulation.state()
    assert state.keys() == numbers.keys()
    for name, (array, *_) in state.items():
        array[:] = simulation.backend.array(numbers[name])


def assert_goes_on(document: dict, base, stops: tuple[int, ...], **how) -> None:
    """Stop at each step, carry the numbers over to a simulation that has run, and compare."""
    wanted = solver.simulate(document, base, **how)
    found = solver.build(document, base, **how)
    for stop in stops:
        found.advance(stop - found.step)
        numbers, before = copied(found), found
        found = solver.simulate(document, base, **how)
        found.load(found.discretization.shots)
        fill(found, stop, numbers)
        before.load(before.discretization.shots[:1])
    found.advance(found.total_steps - found.step)
    for shot in range(wanted.discretization.batch):
        assert solver.identical(solver.wavefield(found, shot), solver.wavefield(wanted, shot))
        assert solver.identical(solver.records(found, shot), solver.records(wanted, shot))


@pytest.mark.parametrize(
    ("name", "dimensions", "parts"),
    [
        pytest.param(
            *case.values, parts, id=f"{case.id}-{cut}",
            # In space every day one, cut: what the others keep is told by their planes.
            marks=case.marks or [pytest.mark.slow] * (case.id.endswith("3d") and (case.id, cut)
                                                      != ("acoustic-3d", "cut")),
        )
        for case in solver.EVERY_EQUATION
        for parts, cut in (((1, 1), "whole"), ((2, 1), "cut"))
    ],
)  # fmt: skip
def test_every_equation_goes_on_to_the_same_bits(name, dimensions, parts, tmp_path) -> None:
    """A batch of shots under a free surface, stopped after an even and an odd number of steps."""
    spots = [solver.place(dimensions, n) for n in (9.0, 11.3)]
    document = survey_of(name, dimensions, tmp_path, spots)
    document["time"]["dispersion_removal"] = True
    assert_goes_on(document, tmp_path, (7, 20), parts=parts)


def test_the_memory_of_corrected_rows_is_carried_over() -> None:
    """At the sea bed rows are corrected, with layer memory of their own."""
    layers = [{"top": 0.0, **WATER}, {"top": 12.3 * solver.SPACING["z"], **HARD}]
    document = solver.plan(
        "elastic", 2, steps=40, model=[{"type": "layers", "layers": layers}],
        boundaries=solver.faces(2, top="free_surface"),
    )  # fmt: skip
    assert solver.build(document).discretization.slips.corrected
    assert_goes_on(document, ".", (21,))


def test_the_state_of_the_start_is_zero() -> None:
    simulation = solver.simulate(solver.plan("elastic", 2, steps=20))
    assert any(array.any() for array in copied(simulation).values())
    simulation.load(simulation.discretization.shots)
    assert not any(array.any() for array in copied(simulation).values())
    assert "record" in simulation.state()
    assert len(simulation.recorder.record) == simulation.total_steps
    assert not simulation.recorder.record.any()


@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_no_array_is_held_twice(name, dimensions) -> None:
    """Stages may share their layer memory."""
    simulation = solver.build(solver.plan(name, dimensions, cells=12, steps=1))
    arrays = {name: held.array for name, held in simulation.state().items()}
    arrays.pop("record")
    assert len({id(array) for array in arrays.values()}) == len(arrays)
    assert len(arrays) > len(physics_for(name, dimensions).fields)


def test_rows_of_layer_memory_begin_on_lines() -> None:
    """Those between the layers at their ends, as the fields' rows do: loads straddle no lines."""
    simulation = solver.build(solver.plan("acoustic", 3, cells=(30, 13, 13), steps=1))
    held = [place for _, places, _ in simulation.state().values() for place in places]
    rows = [place for place in held if re.match(r"layer\.\w+\.\d\.1", place.array_name)]
    assert len({place.array_name.split(".")[2] for place in rows}) == 8
    assert all(n % LINE == 0 for place in rows for n in (place.first, *place.strides[:-1]))


@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_the_plan_counts_the_state(name, dimensions) -> None:
    """Never less; what it adds are the tables of receivers, much on a tiny grid.

    Cards have rows beyond the halo that no checkpoint holds (`Fields`).
    """
    cells = {2: 80, 3: 28}[dimensions]
    assert_counted(solver.build(solver.plan(name, dimensions, cells=cells, steps=50)))


def test_the_plan_counts_the_state_on_a_card() -> None:
    plan = solver.plan("viscoacoustic", 2, steps=50)
    assert_counted(solver.build(plan, backend=simulated))


def assert_counted(simulation) -> None:
    simulation.step = simulation.total_steps
    discretization, backend = simulation.discretization, simulation.backend
    held = sum(array.nbytes for array, *_ in simulation.state().values())
    planned, beyond = memory_of(discretization, backend), 0
    if backend.at_once and discretization.physics.at_once:
        rows = 2 * discretization.reach * len(discretization.physics.fields)
        beyond = 8 * rows * simulation.solvers[0].subdomain.strides[1]
    assert planned.wavefield + planned.layers - beyond < 1.05 * held
    assert held <= planned.state < 1.6 * held

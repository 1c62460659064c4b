"""The lanes of the CPU against the same formulas in plain NumPy, for every wave equation.

Both compute the same sums. The lanes may add in another order and fuse products (`fastmath`), so
that they differ by rounding: measured after 20 steps 1e-14 of the largest value in double and 2e-5
in single precision (pressure and rotation, which cancel). The bars are 20 times that; an operator,
mask, layer or image that is wrong in one point differs by 1e-3 and more.
"""

import pytest

import solver
from seismo.backends.reference import ReferenceBackend
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError

PLANES = [case.values for case in solver.PLANE_EQUATIONS]
TOLERANCE = {"float64": 1e-12, "float32": 4e-4}

STEPS = {2: 10, 3: 3}  # noise everywhere shows each wrong point at once
# Faces along (x, y, z). x is long enough for whole lanes between the layers; NumPy takes its time
# for each row of y and z. Away from layers the windows of sources need 12 cells.
CASES = {
    "layers": ("absorbing", "absorbing", "absorbing"),
    "free_surface": ("absorbing", "absorbing", "free_surface"),
    "closed": ("periodic", "rigid", "closed"),
    "mixed": ("rigid", "periodic", "rigid"),
}
KINDS = {"free_surface": ("free_surface", "absorbing"), "closed": ("free_surface", "rigid")}
PAIRS = (("x_min", "x_max"), ("y_min", "y_max"), ("top", "bottom"))


def faces(case: str, dimensions: int) -> dict:
    named = {
        name: kind
        for pair, both in zip(PAIRS, CASES[case], strict=True)
        for name, kind in zip(pair, KINDS.get(both, (both, both)), strict=True)
        if dimensions == 3 or name[0] != "y"
    }
    return solver.faces(dimensions, **named)


def cells(case: str, dimensions: int) -> tuple[int, ...]:
    across = 7 if case in ("layers", "free_surface") else 12
    return (44, 14) if dimensions == 2 else (30, across, across)


def compare(name: str, dimensions: int, base, case: str = "layers", **changes) -> None:
    """Run noise and sources on both backends in a random medium; compare fields and traces."""
    keys = {"cells": cells(case, dimensions), "steps": STEPS[dimensions], **changes}
    keys["boundaries"] = faces(case, dimensions)
    document = solver.plan(name, dimensions, random_medium=base, **keys)
    found, wanted = (
        solver.build(document, base, backend=backend) for backend in (None, ReferenceBackend)
    )
    for simulation in (found, wanted):
        solver.add_noise(simulation)
        simulation.advance(simulation.total_steps)
    tolerance = TOLERANCE[document["precision"]]
    assert solver.difference(solver.wavefield(found), solver.wavefield(wanted)) < tolerance
    assert solver.difference(solver.records(found), solver.records(wanted)) < tolerance


# Every equation with a free surface and layers; with images in planes.
DAILY = [
    pytest.param(
        *equation.values, case, id=f"{equation.id}-{case}",
        marks=equation.marks if case == "free_surface" or (
            case == "mixed" and equation.values in PLANES
        ) else [pytest.mark.slow],
    )
    for equation in solver.EVERY_EQUATION for case in CASES
]  # fmt: skip


@pytest.mark.parametrize(("name", "dimensions", "case"), DAILY)
def test_lanes_equal_numpy(name: str, dimensions: int, case: str, tmp_path) -> None:
    compare(name, dimensions, tmp_path, case)


@pytest.mark.parametrize("case", solver.slow_but({"free_surface"}, ["layers", "free_surface"]))
@pytest.mark.parametrize(("name", "dimensions"), solver.PLANE_EQUATIONS)
def test_lanes_equal_numpy_in_single_precision(name, dimensions, case, tmp_path) -> None:
    compare(name, dimensions, tmp_path, case, precision="float32")


@pytest.mark.parametrize(
    ("order", "stencil"), [(2, "taylor"), (16, "taylor"), (8, "minmax")], ids=str
)
def test_lanes_equal_numpy_for_other_stencils(order: int, stencil: str, tmp_path) -> None:
    """Of the equation that uses first and second differences, and compiles the quickest."""
    changes = {"order": order, "stencil": stencil, "cells": (60, 24)}
    compare("acoustic", 2, tmp_path, "free_surface", **changes)


@pytest.mark.slow
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("stencil", ["taylor", "minmax"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_every_combination(name, dimensions, case, order, stencil, precision, tmp_path) -> None:
    wide = {2: (60, 24), 3: (40, 18, 18)}[dimensions]
    changes = {"order": order, "stencil": stencil, "precision": precision, "cells": wide}
    if order == 2 and case in KINDS and physics_for(name, dimensions).interpolates:
        with pytest.raises(ScenarioError, match=r"grid\.order: 2: .* is 4 at least"):
            compare(name, dimensions, tmp_path, case, **changes)
        return
    compare(name, dimensions, tmp_path, case, **changes)

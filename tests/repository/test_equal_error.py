"""Time to equal error, in a small form: grids keep to the wanted error, peers get theirs by law."""

import sys
from pathlib import Path

import numpy as np
import pytest

import seismo

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import cubes
import tilted_errors

WAVELENGTHS = 8
MARGIN = 1.5  # of the error: in so small a cube the source is a sixth of a wavelength from a layer


def errors(cube: cubes.Cube, order: int, layer: int) -> list[float]:
    """Run a cube on the CPU; return the error of each of its traces."""
    scenario = cube.scenario(0.01, order, layer)
    with seismo.run(scenario, backend="cpu", threads=1) as results:
        traces = results.traces["far"]
        values = traces.values_of("vz" if cube.physics == "elastic" else "pressure")
        times = traces.time
    return cube.errors(values.reshape(3, -1), times, times[1] - times[0])


@pytest.mark.parametrize("physics", ["acoustic", pytest.param("elastic", marks=pytest.mark.slow)])
def test_the_grid_that_check_asks_for_keeps_to_the_error(physics) -> None:
    advice = cubes.advised(physics, WAVELENGTHS, 0.01, 8)
    assert 0.8 * 0.01 < advice.expected <= 0.01
    measured = errors(advice.cube, 8, advice.layer)
    assert max(measured) < MARGIN * 0.01
    coarser = cubes.Cube(physics, WAVELENGTHS, 0.75 * advice.cube.points)
    assert max(errors(coarser, 8, advice.layer)) > MARGIN * 0.01


@pytest.mark.slow
def test_peers_step_as_long_as_their_errors_allow() -> None:
    """Uncorrected second-order time steps have to be much shorter."""
    discretization = cubes.advised("acoustic", WAVELENGTHS, 0.01, 8).discretization
    points, courant = cubes.peer_grid(discretization, 0.01, True, 0.43)
    plain_points, plain = cubes.peer_grid(discretization, 0.01, False, 0.43)
    assert courant == 0.43
    assert plain < 0.5 * courant
    assert plain_points >= points
    assert cubes.dispersion(discretization, plain_points, plain, False) <= 0.01
    assert cubes.dispersion(discretization, plain_points, 1.2 * plain, False) > 0.01
    longer = cubes.advised("acoustic", 60, 0.01, 8).discretization
    more, _ = cubes.peer_grid(longer, 0.01, True, 0.43)
    assert cubes.dispersion(longer, more, courant, True) <= 0.01
    assert cubes.dispersion(longer, more - 0.2, courant, True) > 0.01


def test_shifted_derivatives_about_a_tilted_axis_are_of_second_order() -> None:
    """Whatever the order of the differences; those on the nodes keep theirs."""
    schemes = tilted_errors.schemes()
    orders = {
        name: np.log2(tilted_errors.error(scheme, 10) / tilted_errors.error(scheme, 20))
        for name, scheme in schemes.items()
    }
    nodes, *shifted = orders.values()
    assert 7.5 < nodes < 8.5
    assert all(1.9 < order < 2.1 for order in shifted)
    here, there = (tilted_errors.points_for(schemes[name], 0.01) for name in ("seismo", "Devito"))
    assert there > 2.5 * here

"""Averages of models over cells, and their derivatives, against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from seismo.inversion.adjoint.averages import CellAverages
from seismo.inversion.adjoint.extent import in_extent
from seismo.inversion.adjoint.tape import TapedArray, propagate
from seismo.model.node_values import ModelRange
from seismo.scenario import load
from seismo.solver.discretize import discretize
from test_pullback import BOUNDS, PARAMETERS, SHAPES, contact, model, scenario


@pytest.mark.parametrize("make", [model, contact])
@pytest.mark.parametrize(("equation", "dimensions"), [
    *((name, 2) for name in PARAMETERS), ("acoustic_variable_density", 3), ("elastic", 3)
])  # fmt: skip
def test_derivatives_of_averages(equation: str, dimensions: int, make, monkeypatch) -> None:
    """By all values at random, by those of a cell at the surface, and of one beside a contact."""
    monkeypatch.setitem(SHAPES, 3, (13, 9, 9))
    document = scenario(equation, dimensions, averaging="effective")
    document["boundaries"]["layer"]["points"] = 4
    bounds = {name: BOUNDS[name] for name in PARAMETERS[equation]}
    run = discretize(load(document), models=ModelRange(bounds))
    averages = CellAverages(run)
    start = make(equation, dimensions)
    random = np.random.default_rng(0)
    medium = averages.on_grid(start)
    assert set(medium) == {*run.physics.medium, *averages.components.values()}
    weights = {
        name: random.standard_normal(in_extent(array, run.grid).shape) / array.mean()
        for name, array in medium.items()
    }

    def total(values) -> float:
        of_values = averages.on_grid(values)
        return sum(
            float(np.sum(w * in_extent(of_values[name], run.grid))) for name, w in weights.items()
        )

    by_averages = {}
    for name, array in medium.items():
        by_averages[name] = np.zeros(array.shape)
        low = [run.grid.extent.lo[n] for n in (2, 1, 0)]
        shape = weights[name].shape if dimensions == 3 else np.insert(weights[name].shape, 1, 1)
        box = tuple(slice(a, a + n) for a, n in zip(low, shape, strict=True))
        by_averages[name][box] = weights[name].reshape(shape)
    gradient = averages.by_model(start, by_averages)
    middle = [n // 2 for n in SHAPES[dimensions][1:]]
    for name in PARAMETERS[equation]:
        directions = [random.standard_normal(SHAPES[dimensions])]
        for row in (0, 8, 9):  # at the surface, and on both sides of the contact
            directions.append(np.zeros(SHAPES[dimensions]))
            directions[-1][(row, *middle)] = 1.0
        for direction in directions:
            # Small: directions of contacts turn fast where densities are nearly the same.
            step = 3e-7 * start[name].mean()
            above, below = (
                total(start | {name: start[name] + h * direction}) for h in (step, -step)
            )
            slope = float(np.sum(gradient[name] * direction))
            scale = np.abs(gradient[name]).max()
            assert (above - below) / (2 * step) == pytest.approx(slope, rel=1e-6, abs=1e-6 * scale)


def test_tape_knows_of_broadcast_arrays_and_of_values_put_into_them() -> None:
    a = TapedArray(np.array([[1.0, 2.0], [3.0, 4.0]]))
    b = TapedArray(np.array([[2.0], [5.0]]))
    product = np.sqrt(a * b) + np.maximum(a, 2.5)
    kept = product.copy()
    kept[0] = b[1] * np.array([1.0, 2.0])
    by = propagate([(kept, np.ones((2, 2)))], [a, b])
    root = np.sqrt(np.array([[2.0, 4.0], [15.0, 20.0]]))
    expected = np.zeros((2, 2))
    expected[1] = 0.5 * 5.0 / root[1] + 1.0
    assert by(a) == pytest.approx(expected)
    assert by(b).ravel() == pytest.approx([0.0, float((0.5 * a.value[1] / root[1]).sum()) + 3.0])
    with pytest.raises(RuntimeError, match="is changed"):
        a[0] = 1.0

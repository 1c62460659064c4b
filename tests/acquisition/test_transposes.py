"""Transposes of trace processing: <A r, t> = <r, A^T t> of random signals, to rounding."""

import numpy as np
import pytest

from seismo.acquisition.time_dispersion import (
    add_dispersion,
    add_dispersion_transposed,
    remove_dispersion,
    remove_dispersion_transposed,
)
from seismo.acquisition.trace_processing import extra_steps, finish, finish_transposed

ROUNDING = 1e-12
DT = 0.37
# The quantity, and whether the field that it is made of is recorded at half steps.
QUANTITIES = [
    ("velocity", True), ("velocity", False), ("displacement", True), ("acceleration", True),
    ("pressure", False), ("stress", False), ("strain", True), ("strain_rate", True),
    ("rotation_rate", True),
]  # fmt: skip


def assert_transposed(forward, transposed, shape, seed):
    """Compare the dot products of random signals, in the unit of their norms."""
    random = np.random.default_rng(seed)
    signal = random.standard_normal(shape)
    image = forward(signal)
    trace = random.standard_normal(image.shape)
    back = transposed(trace)
    assert back.shape == signal.shape
    norm = np.linalg.norm(image) * np.linalg.norm(trace)
    assert abs(np.vdot(image, trace) - np.vdot(signal, back)) <= ROUNDING * norm


def assert_finish_transposed(quantity, half_step, steps, recorded, every, removal):
    assert_transposed(
        lambda record: finish(record, quantity, half_step, DT, steps, every, removal),
        lambda traces: finish_transposed(
            traces, quantity, half_step, DT, steps, recorded, every, removal
        ),
        (3, recorded),
        seed=recorded,
    )


@pytest.mark.parametrize("removal", [False, True])
@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize(("quantity", "half_step"), QUANTITIES)
def test_finish(quantity, half_step, every, removal):
    for steps in (5, 40, 301, 302):
        recorded = steps + extra_steps(steps, removal)
        assert_finish_transposed(quantity, half_step, steps, recorded, every, removal)


@pytest.mark.parametrize(("quantity", "half_step"), QUANTITIES)
def test_finish_of_records_that_end_early(quantity, half_step):
    """A run that stopped has fewer samples than were asked for."""
    for recorded in (6, 73):
        assert_finish_transposed(quantity, half_step, 200, recorded, 2, True)


@pytest.mark.parametrize("count", [1, 2, 63, 700, 701])
@pytest.mark.parametrize("offset", [0.0, 0.5, np.array([[0.0], [0.5], [12.25]])])
@pytest.mark.parametrize(
    ("forward", "transposed"),
    [
        (add_dispersion, add_dispersion_transposed),
        (remove_dispersion, remove_dispersion_transposed),
    ],
)
def test_time_dispersion(forward, transposed, offset, count):
    assert_transposed(
        lambda signal: forward(signal, offset),
        lambda trace: transposed(trace, offset),
        (3, count),
        seed=count,
    )


def test_the_dtype_is_that_of_the_traces():
    traces = np.ones((2, 41), np.float32)
    back = finish_transposed(traces, "velocity", True, DT, 40, 80, 1, True)
    assert back.dtype == np.float32


def test_as_many_traces_as_there_are_blocks():
    """Signals are transformed in blocks: none may depend on its neighbours."""
    traces = np.random.default_rng(0).standard_normal((200, 500))
    back = remove_dispersion_transposed(traces, 0.5)
    assert np.array_equal(back[150:151], remove_dispersion_transposed(traces[150:151], 0.5))

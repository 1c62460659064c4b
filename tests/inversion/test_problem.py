"""Problems of flat vectors: SciPy brings linear ones to their solution."""

import numpy as np
import pytest
import scipy.optimize

from quadratic_propagator import SHAPE, QuadraticPropagator, random_models
from seismo.inversion.misfits import misfit
from seismo.inversion.problem import Problem

BOUNDS = {"vp": (0.5, 2.5), "rho": (0.5, 2.5)}


def minimized(problem):
    return scipy.optimize.minimize(
        problem.flat, problem.flat_start, jac=True, method="L-BFGS-B", bounds=problem.flat_bounds,
        options={"maxiter": 500, "ftol": 1e-20, "gtol": 1e-12},
    )  # fmt: skip


def problem_of(factor=1.0, **arguments):
    """Return a problem, whose traces are multiplied by a factor, and the models that solve it."""
    propagator = QuadraticPropagator()
    for matrix in propagator.matrices.values():
        matrix *= factor
    truth = random_models(1)
    objective = misfit(propagator, propagator(**truth))
    return Problem(objective, random_models(2), **arguments), truth


@pytest.mark.parametrize("factor", [1.0, 1e-9])
def test_linear_problems_are_solved(factor):
    """However small the traces are: values are divided by the first of them."""
    problem, truth = problem_of(factor, bounds=BOUNDS)
    models = problem.unflatten(minimized(problem).x)
    for name, model in truth.items():
        assert models[name] == pytest.approx(model, rel=1e-6)


def test_scales_do_not_change_the_solution():
    problem, truth = problem_of(scales={"vp": 0.3, "rho": 2.0})
    assert np.isinf(problem.flat_bounds).all()
    models = problem.unflatten(minimized(problem).x)
    assert models["rho"] == pytest.approx(truth["rho"], rel=1e-6)


def test_the_flat_gradient_is_that_of_the_flat_value():
    problem, _ = problem_of(bounds=BOUNDS, scales={"rho": 7.0}, unit=3.0)
    random = np.random.default_rng(4)
    direction = random.standard_normal(problem.flat_start.size)
    _, gradient = problem.flat(problem.flat_start)
    step = 1e-4  # the value is quadratic: central differences have no error but rounding
    ahead, behind = (problem.flat(problem.flat_start + s * direction)[0] for s in (step, -step))
    assert (ahead - behind) / (2 * step) == pytest.approx(gradient @ direction, rel=1e-6)


def test_masked_values_stay_as_they_are():
    mask = np.ones(SHAPE, bool)
    mask[0] = False  # water
    problem, _ = problem_of(bounds=BOUNDS, mask={"vp": mask})
    assert problem.flat_start.size == 15 + 20
    assert problem.flat_bounds.shape == (35, 2)
    models = problem.unflatten(minimized(problem).x)
    assert np.array_equal(models["vp"][0], problem.start["vp"][0])
    assert not np.array_equal(models["vp"][1:], problem.start["vp"][1:])
    for_all, _ = problem_of(bounds=BOUNDS, mask=mask)
    assert for_all.flat_start.size == 30


def test_flat_vectors_lead_back_to_models_within_bounds():
    bounds = {"vp": (0.1, 2.3), "rho": (1.0 / 3.0, 2.9)}
    problem, _ = problem_of(bounds=bounds)
    models = problem.unflatten(problem.flat_start)
    for name, model in problem.start.items():
        assert models[name] == pytest.approx(model, rel=1e-15)
        for corner in (0, 1):
            at_bound = problem.unflatten(problem.flat_bounds[:, corner])[name]
            assert np.all(at_bound == bounds[name][corner])
    assert np.array_equal(problem.flatten(problem.start), problem.flat_start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": {"vs": (0.0, 1.0)}}, "bounds: vs is none of vp, rho"),
        ({"scales": {"vs": 1.0}}, "scales: vs"),
        ({"mask": {"vs": True}}, "mask: vs"),
        ({"mask": np.ones(3, bool)}, r"mask: \(3,\); vp is \(4, 5\)"),
        ({"bounds": {"vp": (0.0, 1.0)}}, "start: vp lies beyond its bounds 0 to 1"),
    ],
)
def test_mistakes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        problem_of(**arguments)

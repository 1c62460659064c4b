"""Propagators of tensors: the derivatives that PyTorch asks for. Skipped where it is missing."""

import numpy as np
import pytest

from quadratic_propagator import SECTIONS, QuadraticPropagator, random_models

torch = pytest.importorskip("torch")
from seismo.inversion.torch import propagate  # noqa: E402


def tensors(seed, **options):
    return {
        name: torch.tensor(model, requires_grad=True, **options)
        for name, model in random_models(seed).items()
    }


def power(traces):
    return sum((t**2).sum() for sections in traces.values() for t in sections.values())


def test_traces_are_those_of_the_propagator():
    propagator = QuadraticPropagator(curvature=0.3)
    traces = propagate(propagator)(**tensors(1))
    expected = propagator(**random_models(1))
    assert {name: list(sections) for name, sections in traces.items()} == {
        name: list(sections) for name, sections in SECTIONS.items()
    }
    for set_name, sections in expected.items():
        for component, section in sections.items():
            assert np.array_equal(traces[set_name][component].detach().numpy(), section)


def test_derivatives():
    wave = propagate(QuadraticPropagator(curvature=0.3))
    models = tensors(1)

    def stacked(vp, rho):
        traces = wave(vp=vp, rho=rho)
        return traces["line"]["vz"][0, 1], traces["well"]["pressure"].sum()

    assert torch.autograd.gradcheck(stacked, (models["vp"], models["rho"]))


def test_gradients_have_the_dtype_of_the_models():
    models = tensors(1, dtype=torch.float32)
    power(propagate(QuadraticPropagator())(**models)).backward()
    assert models["vp"].grad.dtype == torch.float32


def test_models_without_gradients_are_constants():
    models = tensors(1)
    constant = models["rho"].detach()
    propagator = QuadraticPropagator()
    wave = propagate(propagator)
    power(wave(vp=models["vp"], rho=constant)).backward()
    assert models["vp"].grad is not None
    assert constant.grad is None
    assert propagator.keep
    wave(vp=models["vp"].detach())
    assert not propagator.keep


def test_backward_of_earlier_calls():
    """A propagator holds the state of its last call: that of earlier ones is computed again."""
    propagator = QuadraticPropagator(curvature=0.3)
    wave = propagate(propagator)
    first = tensors(1)
    second = tensors(2)
    (power(wave(**first)) + 2.0 * power(wave(**second))).backward()
    for models, factor in ((first, 1.0), (second, 2.0)):
        alone = {name: m.detach().clone().requires_grad_() for name, m in models.items()}
        before = propagator.calls
        power(wave(**alone)).backward()
        assert propagator.calls == before + 1
        assert torch.allclose(models["vp"].grad, factor * alone["vp"].grad, rtol=1e-12)


def test_backward_after_a_call_that_failed():
    propagator = QuadraticPropagator(curvature=0.3)
    wave = propagate(propagator)
    models = tensors(1)
    value = power(wave(**models))
    with pytest.raises(KeyError):
        wave(vs=models["vp"])
    value.backward()
    assert propagator.calls == 3
    assert set(propagator.models) == {"vp", "rho"}


def test_second_derivatives_are_refused():
    models = tensors(1)
    value = power(propagate(QuadraticPropagator(curvature=0.3))(**models))
    (slope,) = torch.autograd.grad(value, models["vp"], create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        slope.sum().backward()


def test_an_optimizer_reduces_the_misfit():
    propagator = QuadraticPropagator()
    observed = propagate(propagator)(**tensors(1))
    models = tensors(2)
    optimizer = torch.optim.LBFGS(models.values(), max_iter=100, line_search_fn="strong_wolfe")
    wave = propagate(propagator)
    values = []

    def closure():
        optimizer.zero_grad()
        traces = wave(**models)
        residual = traces["line"]["vz"] - observed["line"]["vz"].detach()
        value = (residual**2).sum()
        value.backward()
        values.append(value.item())
        return value

    optimizer.step(closure)
    assert values[-1] < 1e-6 * values[0]


def test_backward_after_a_call_of_the_propagator_itself():
    propagator = QuadraticPropagator(curvature=0.3)
    wave = propagate(propagator)
    expected = tensors(1)
    power(wave(**expected)).backward()
    models = tensors(1)
    loss = power(wave(**models))
    propagator(**random_models(2))
    loss.backward()
    assert torch.equal(models["vp"].grad, expected["vp"].grad)

"""Propagators as functions of PyTorch tensors, whose gradients PyTorch's `backward` asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from seismo.inversion.misfits import Differentiable

try:
    import torch
except ImportError as error:
    raise ImportError(
        "seismo.inversion.torch needs PyTorch: pip install 'seismo[torch]'"
    ) from error

TensorSets = dict[str, dict[str, Any]]  # tensors (shot, receiver, sample) by set and component


def propagate(propagator: Differentiable) -> Callable[..., TensorSets]:
    """Return the propagator as a function of tensors that takes part in automatic differentiation.

    A propagator keeps what the gradient of its last call needs. `backward` of an earlier call of
    the function takes the steps of that call again.

    Args:
        propagator: computes traces of models, and pulls derivatives back.

    Returns:
        A function that takes models as the propagator does, as tensors by keyword, and returns
        tensors (shot, receiver, sample) by set and component, on the device of the first model.
    """

    def traces(**models: torch.Tensor) -> TensorSets:
        call = _Call(propagator, tuple(models))
        tensors = iter(_Propagation.apply(call, *models.values()))
        return {
            set_name: {component: next(tensors) for component in components}
            for set_name, components in call.layout.items()
        }

    return traces


class _Call:
    """A call of a propagator.

    Attributes:
        layout: names of the components of each receiver set, once it has run.
    """

    def __init__(self, propagator: Differentiable, names: tuple[str, ...]) -> None:
        self.propagator = propagator
        self.names = names
        self.number = 0
        self.layout: dict[str, tuple[str, ...]] = {}

    def run(self, models: tuple[torch.Tensor, ...], keep: bool) -> list[np.ndarray]:
        """Return the traces of models, in the order of the layout."""
        arrays = [model.detach().cpu().numpy() for model in models]
        traces = self.propagator(keep=keep, **dict(zip(self.names, arrays, strict=True)))
        self.number = self.propagator.calls
        self.layout = {set_name: tuple(sections) for set_name, sections in traces.items()}
        return [section for sections in traces.values() for section in sections.values()]

    def pullback(
        self, models: tuple[torch.Tensor, ...], adjoint: tuple[torch.Tensor, ...]
    ) -> list[np.ndarray]:
        """Return the derivatives by models, from those by traces in the order of the layout."""
        # A propagator knows the models of its last call alone.
        if self.propagator.calls != self.number:
            self.run(models, keep=True)
        sections = iter([section.detach().cpu().numpy() for section in adjoint])
        gradient = self.propagator.pullback(
            {
                set_name: {component: next(sections) for component in components}
                for set_name, components in self.layout.items()
            }
        )
        return [gradient[name] for name in self.names]


class _Propagation(torch.autograd.Function):
    """Traces of models."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *models: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.call = call
        ctx.save_for_backward(*models)
        device = models[0].device if models else None
        traces = call.run(models, keep=any(ctx.needs_input_grad))
        return tuple(torch.as_tensor(section, device=device) for section in traces)

    @staticmethod
    def backward(ctx: Any, *adjoint: torch.Tensor) -> tuple[Any, ...]:
        models = ctx.saved_tensors
        return None, *_Pullback.apply(ctx.call, len(models), *models, *adjoint)


class _Pullback(torch.autograd.Function):
    """Derivatives by models; those have none themselves."""

    @staticmethod
    def forward(ctx: Any, call: _Call, count: int, *tensors: torch.Tensor) -> tuple[Any, ...]:
        models = tensors[:count]
        derivatives = call.pullback(models, tensors[count:])
        return tuple(
            torch.as_tensor(derivative).to(model)
            for derivative, model in zip(derivatives, models, strict=True)
        )

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[Any, ...]:
        raise RuntimeError(
            "a propagator has first derivatives only; leave out create_graph=True, or detach the "
            "gradient by the models before you differentiate again"
        )

"""Misfits: the distance of predicted traces from observed ones, and its derivative by the former.

A misfit is any function of predicted and observed traces, set -> component -> (..., sample), that
returns a number and its derivative by each predicted sample, the *adjoint traces*. Those here add
the numbers of all traces. Samples that are NaN or masked in either are left out: predicted traces
of receivers that do not record are NaN.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np

from seismo.inversion.transport import transport

TraceSets = Mapping[str, Mapping[str, np.ndarray]]
TraceMisfit = Callable[[TraceSets, TraceSets], tuple[float, TraceSets]]
SectionMisfit = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]  # (trace, sample)
ModelArrays = Mapping[str, np.ndarray]


class Differentiable(Protocol):
    """A function of models that has a transposed derivative, such as `seismo.Propagator`."""

    calls: int  # of it so far

    def __call__(self, *, keep: bool = False, **models: Any) -> TraceSets:
        """Return the traces of models; `keep` says that `pullback` follows."""

    def pullback(self, adjoint: TraceSets) -> ModelArrays:
        """Return the derivative by the models of the last call, from that by their traces.

        Traces that are left out have no part.
        """


def misfit(
    propagator: Differentiable,
    observed: TraceSets,
    kind: str | TraceMisfit = "l2",
    weights: Any = None,
    **options: Any,
) -> Callable[..., tuple[float, ModelArrays]]:
    """Return the function of models that computes their misfit and its gradient.

    Args:
        propagator: computes traces of models, and pulls derivatives back.
        observed: traces, set -> component -> (shot, receiver, sample). Sets and components that it
            leaves out are not compared.
        kind: "l2", "huber", "envelope", "correlation" or "transport", the functions of this module;
            or a function of predicted and observed traces that returns a value and its derivative
            by predicted traces, of which those that it leaves out are zero.
        weights: factors of the samples of both predicted and observed traces before they are
            compared (tapers, mutes, 1 / standard deviation): numbers or arrays that broadcast to
            the traces, by set and component, by set, or one for all; 1 where they are left out.
        options: of the kind, such as `threshold`.

    Returns:
        A function that takes models as the propagator does, and returns the value and the gradient
        by parameter.

    Raises:
        ValueError: there is no such kind, or weights belong to no observed traces.
        TypeError: the kind has no such option, or needs one, or observed traces have another form.
    """
    if not isinstance(observed, Mapping):
        raise TypeError(
            f"observed: is a {type(observed).__name__}; give traces by receiver set and component, "
            'such as {"line": {"vz": array}} with an array (shot, receiver, sample)'
        )
    compare = comparison(kind, **options)
    if weights is not None:
        _refuse_unknown(weights, observed)
        compare = _weighted(compare, weights)

    def value_and_gradient(**models: Any) -> tuple[float, ModelArrays]:
        value, adjoint = compare(propagator(keep=True, **models), observed)
        return value, propagator.pullback(adjoint)

    return value_and_gradient


def l2(predicted: np.ndarray, observed: np.ndarray) -> tuple[float, np.ndarray]:
    """Return half the sum of squared differences, and its derivative, of traces (trace, sample)."""
    residual = predicted - observed
    return 0.5 * float((residual**2).sum()), residual


def huber(
    predicted: np.ndarray, observed: np.ndarray, threshold: float
) -> tuple[float, np.ndarray]:
    """Return Huber's misfit: differences above a threshold count linearly, others as in `l2`.

    Args:
        predicted: traces (trace, sample).
        observed: the same.
        threshold: in the unit of weighted traces.

    Returns:
        The value and its derivative.

    Literature: Huber (1964, Ann. Math. Stat. 35, 73-101).
    """
    residual = predicted - observed
    limited = np.clip(residual, -threshold, threshold)
    return float((limited * (residual - 0.5 * limited)).sum()), limited


def envelope(
    predicted: np.ndarray, observed: np.ndarray, water_level: float = 1e-3
) -> tuple[float, np.ndarray]:
    """Return half the sum of squared differences of envelopes, the moduli of analytic signals.

    Args:
        predicted: traces (trace, sample).
        observed: the same.
        water_level: share of a trace's largest observed envelope that is added, as a square, to
            squared envelopes: it keeps the derivative smooth where an envelope vanishes.

    Returns:
        The value and its derivative.

    Literature: Bozdag, Trampert & Tromp (2011, Geophys. J. Int. 185, 845-870).
    """
    quadrature = _hilbert(predicted)
    observed_squares = observed**2 + _hilbert(observed) ** 2
    added = water_level**2 * observed_squares.max(axis=1, keepdims=True)
    moduli = np.sqrt(predicted**2 + quadrature**2 + added)
    difference = moduli - np.sqrt(observed_squares + added)
    ratio = _quotient(difference, moduli)
    # The Hilbert transform is antisymmetric: its transpose is its negative.
    adjoint = ratio * predicted - _hilbert(ratio * quadrature)
    return 0.5 * float((difference**2).sum()), adjoint


def correlation(predicted: np.ndarray, observed: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum of 1 - c over traces; c is the correlation of traces divided by their norms.

    Amplitudes do not count. Traces without an observed signal are left out.

    Args:
        predicted: traces (trace, sample).
        observed: the same.

    Returns:
        The value and its derivative.

    Literature: Choi & Alkhalifah (2012, Geophys. Prosp. 60, 748-758), the global correlation norm.
    """
    norms = np.linalg.norm(predicted, axis=1, keepdims=True)
    observed_norms = np.linalg.norm(observed, axis=1, keepdims=True)
    direction = _quotient(predicted, norms)
    observed_direction = _quotient(observed, observed_norms)
    cosine = (direction * observed_direction).sum(axis=1, keepdims=True)
    value = np.count_nonzero(observed_norms) - float(cosine.sum())
    return value, _quotient(cosine * direction - observed_direction, norms)


KINDS: dict[str, Callable[..., tuple[float, np.ndarray]]] = {
    "l2": l2,
    "huber": huber,
    "envelope": envelope,
    "correlation": correlation,
    "transport": transport,
}


def _hilbert(traces: np.ndarray) -> np.ndarray:
    """Return the Hilbert transform of traces (trace, sample), with zeros beyond their ends."""
    count = traces.shape[1]
    return np.fft.irfft(-1j * np.fft.rfft(traces, 2 * count), 2 * count)[:, :count]


def _quotient(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return a quotient, zero where the denominator is."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0.0)


def comparison(kind: str | TraceMisfit, **options: Any) -> TraceMisfit:
    """Return the misfit of traces of a kind with its options, as `misfit` takes them.

    Raises:
        ValueError: there is no such kind.
        TypeError: the kind has no such option, or needs one.
    """
    if not callable(kind) and kind not in KINDS:
        raise ValueError(f"kind: {kind!r}; use {', '.join(KINDS)} or a function")
    function: Callable[..., Any] = kind if callable(kind) else KINDS[kind]
    inspect.signature(function).bind(None, None, **options)
    chosen = partial(function, **options)
    return chosen if callable(kind) else partial(sum_of_sections, chosen)


def sum_of_sections(
    compare: SectionMisfit, predicted: TraceSets, observed: TraceSets
) -> tuple[float, TraceSets]:
    """Return the sum of a comparison of traces (trace, sample) over all observed components."""
    total = 0.0
    adjoint: dict[str, dict[str, np.ndarray]] = {}
    for set_name, sections in observed.items():
        adjoint[set_name] = {}
        for component, section in sections.items():
            name = f"{set_name}.{component}"
            if component not in predicted.get(set_name, {}):
                raise ValueError(f"observed {name}: there are no such predicted traces")
            value, derivative = _compared(compare, name, predicted[set_name][component], section)
            total += value
            adjoint[set_name][component] = derivative
    return total, adjoint


def _compared(
    compare: SectionMisfit, name: str, section: np.ndarray, observed_section: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the misfit of traces (..., sample) and its derivative, zero where any is NaN."""
    predicted = _filled(section)
    observed = _filled(observed_section)
    if predicted.shape != observed.shape:
        raise ValueError(f"observed {name}: {observed.shape}; predicted are {predicted.shape}")
    missing = np.isnan(predicted) | np.isnan(observed)
    rows = (-1, predicted.shape[-1])
    value, derivative = compare(
        np.where(missing, 0.0, predicted).reshape(rows),
        np.where(missing, 0.0, observed).reshape(rows),
    )
    return value, np.where(missing, 0.0, derivative.reshape(predicted.shape))


def _filled(section: Any) -> np.ndarray:
    """Return traces in double precision, NaN where they are masked."""
    return np.ma.filled(np.ma.asanyarray(section).astype(float), np.nan)


def _weighted(compare: TraceMisfit, weights: Any) -> TraceMisfit:
    """Return a misfit of traces that are multiplied by weights."""

    def weighted(predicted: TraceSets, observed: TraceSets) -> tuple[float, TraceSets]:
        value, adjoint = compare(_multiplied(predicted, weights), _multiplied(observed, weights))
        return value, _multiplied(adjoint, weights)

    return weighted


def _refuse_unknown(weights: Any, observed: Any) -> None:
    """Refuse weights, by set or component, of no observed traces."""
    if isinstance(weights, Mapping):
        for name, weight in weights.items():
            if name not in observed:
                raise ValueError(f"weights: {name} is none of {', '.join(observed)}")
            _refuse_unknown(weight, observed[name])


def _multiplied(traces: TraceSets, weights: Any) -> TraceSets:
    return {
        set_name: {
            component: section * _weight(weights, set_name, component)
            for component, section in sections.items()
        }
        for set_name, sections in traces.items()
    }


def _weight(weights: Any, set_name: str, component: str) -> Any:
    for key in (set_name, component):
        if isinstance(weights, Mapping):
            weights = weights.get(key, 1.0)
    return weights

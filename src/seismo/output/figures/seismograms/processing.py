"""What is done to traces before they are drawn: gain, and then reduced times.

gain        agc:W divides by the root mean square within a window of W seconds around each sample,
            t:P multiplies by (t / t_last)^P; both are scaled to the trace's own peak after that
reduction   t - d / v, d the horizontal distance from the source: a wave of velocity v stands level
"""

from __future__ import annotations

import numpy as np

from seismo.errors import ScenarioError
from seismo.output.store.array_sets import TraceSet
from seismo.scenario import units

_FLOOR = 1e-3  # of a trace's largest root mean square: quieter windows are not raised to it
_AGC_WINDOW = 0.1  # of the record, where none is said


def with_gain(samples: np.ndarray, time: np.ndarray, gain: str) -> np.ndarray:
    """Return traces (receiver, time) with gain, each to its own peak, those at rest left so.

    Args:
        samples: of the traces.
        time: (time) s.
        gain: ``agc``, ``agc:0.3 s``, ``t`` or ``t:1.5``.

    Raises:
        ScenarioError: it is none of these.
    """
    kind, has_number, text = gain.partition(":")
    if kind.strip() == "agc":
        window = _AGC_WINDOW * float(time[-1] - time[0])
        if has_number:
            window = _number(gain, text, units.TIME)
        raised = _automatic(samples, time, window)
    elif kind.strip() == "t":
        power = _number(gain, text, None) if has_number else 1.0
        raised = samples * (np.clip(time, 0.0, None) / time[-1]) ** power
    else:
        raise ScenarioError(f"gain {gain!r}: use agc, agc:0.3 s, t or t:1.5")
    peaks = np.abs(raised).max(axis=-1, keepdims=True)
    return raised / np.where(peaks > 0.0, peaks, 1.0)


def reduced(
    samples: np.ndarray, time: np.ndarray, distances: np.ndarray, velocity: float
) -> np.ndarray:
    """Return traces (receiver, time) at the reduced times: trace(t + d / v), NaN after its end.

    distances (receiver) m; velocity m/s.
    """
    delays = np.abs(distances) / velocity
    return np.array([
        np.interp(time + delay, time, trace, right=np.nan)
        for trace, delay in zip(samples, delays, strict=True)
    ])  # fmt: skip


def reduction_velocity(value: str | float) -> float:
    """Return a velocity in m/s, of a number or a text such as ``6 km/s``.

    Raises:
        ScenarioError: it is none, or not above 0.
    """
    velocity = _number(f"{value}", str(value), units.VELOCITY, "reduction")
    if not velocity > 0.0:
        raise ScenarioError(f"reduction {value!r}: give a velocity above 0, such as 6 km/s")
    return velocity


def _automatic(samples: np.ndarray, time: np.ndarray, window: float) -> np.ndarray:
    """Divide by the running root mean square (Yilmaz 2001, section 1.5)."""
    step = float(time[1] - time[0])
    half = max(1, round(0.5 * window / step))
    padded = np.pad(samples.astype(float) ** 2, ((0, 0), (half + 1, half)))
    total = padded.cumsum(axis=-1)
    level = np.sqrt(np.maximum(total[:, 2 * half + 1 :] - total[:, : -2 * half - 1], 0.0))
    least = _FLOOR * level.max(axis=-1, keepdims=True)
    return samples / np.where(least > 0.0, np.maximum(level, least), 1.0)


def _number(option: str, text: str, unit: units.Dimension | None, name: str = "gain") -> float:
    try:
        return float(text) if unit is None else units.to_si(text.strip(), unit)
    except (ValueError, units.UnitError) as error:
        raise ScenarioError(f"{name} {option!r}: {error}") from None


def largest_magnitude(samples: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """Return the largest magnitude of what is recorded, 0 where nothing is."""
    return np.nanmax(np.abs(samples), axis=axis, initial=0.0)


def loudest(name: str, samples_of: dict[str, np.ndarray], traces: TraceSet) -> float:
    """Return the largest magnitude of the components that have the unit of one.

    One that is rounding beside others of its unit is not blown up.
    """
    alike = [v for other, v in samples_of.items() if traces.unit(other) == traces.unit(name)]
    return max(float(largest_magnitude(v, None)) for v in alike)

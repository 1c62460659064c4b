"""Exact 2-D waves (P-SV and fluids) in a stack of layers: Lamb's problem and its relatives.

Line sources along y in plane strain; the wave straight from the source is the closed form of
``whole_space``, everything the interfaces add is an integral over horizontal wavenumber of the
``stack`` solution. Half-spaces, free surfaces, sea floors and layers are all the same call.

x, z [m], z down; force [N/m], moment [N]; displacement [m], pressure [Pa].
Accuracy: 1e-6 of the peak or better for a band-limited source. Cost: some 10 ms per frequency.
Literature: Lamb (1904); Aki & Richards (2002) ch. 6, 7 and 9.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seismo.errors import SeismoError
from seismo.exact import whole_space
from seismo.exact.laplace import TIME_FUNCTIONS, power_of, respond
from seismo.exact.layers.stack import Stack, solve
from seismo.exact.layers.wavenumber import (
    IntegrationPath,
    paths,
    steep,
)
from seismo.exact.medium import Medium

# Parity in k of W for each of PSV_SOURCES (U has the other one).
_EVEN = np.array([False, True, True, False, True])
_SUPPRESSION = 1e-8  # of waves that come one period late
_POWERS = {"displacement": 0, "velocity": 1, "acceleration": 2, "stress": 0, "stress_rate": 1}


def force_response(
    stack: Stack,
    position: np.ndarray,
    receivers: np.ndarray,
    force: np.ndarray,
    source: np.ndarray,
    dt: float,
    quantity: str = "displacement",
    cut: float = 1e-8,
) -> np.ndarray:
    """Return the response (receiver, component, time) to a line force f(t).

    position (2) m: x, z of the source; receivers (receiver, 2) m; force (2) N/m: along x and z;
    source (time): f(t); dt s. Components x, z for displacement, velocity, acceleration; sigma_xz,
    sigma_zz (minus the pressure in a fluid) for stress, stress_rate.
    cut: relative level under which a frequency of the source is left out; a source that starts
    with a jump fills the whole band, and a larger cut then saves time.
    """
    weights = np.array([force[0], force[1], 0.0, 0.0, 0.0])
    transfer = _transfer(stack, position, receivers, weights, quantity)
    return respond(transfer, source, dt, _SUPPRESSION, cut)


def moment_response(
    stack: Stack,
    position: np.ndarray,
    receivers: np.ndarray,
    moment: np.ndarray,
    source: np.ndarray,
    dt: float,
    quantity: str = "displacement",
    time_function: str = "moment",
    cut: float = 1e-8,
) -> np.ndarray:
    """Return the response to a line moment tensor (2, 2) N with M(t) or its rate as `source`.

    In a fluid give an explosion, moment = identity: -M(t) delta is then added to the pressure of
    the surroundings. The rest as in `force_response`.
    """
    moment = np.asarray(moment, float)
    weights = np.array([0.0, 0.0, moment[0, 0], moment[0, 1], moment[1, 1]])
    power = power_of("time_function", time_function, TIME_FUNCTIONS)
    transfer = _transfer(stack, position, receivers, weights, quantity, power)
    return respond(transfer, source, dt, _SUPPRESSION, cut)


def _transfer(
    stack: Stack, position: np.ndarray, receivers: np.ndarray, weights: np.ndarray,
    quantity: str, power: int = 0,
) -> Callable[[np.ndarray], np.ndarray]:  # fmt: skip
    """Return the transfer function of s of PSV_SOURCES with weights, times s to a power.

    Raises:
        SeismoError: there is no such quantity.
    """
    power += power_of("quantity", quantity, _POWERS)
    position = np.asarray(position, float)
    receivers = np.atleast_2d(np.asarray(receivers, float))
    is_stress = quantity.startswith("stress")
    return lambda s: _waves(stack, position, receivers, weights, s, is_stress) * s**power


def _waves(
    stack: Stack, position: np.ndarray, receivers: np.ndarray, weights: np.ndarray,
    frequencies: np.ndarray, is_stress: bool,
) -> np.ndarray:  # fmt: skip
    """Return displacement or stress (receiver, component, frequency)."""
    total = np.zeros((len(receivers), 2, frequencies.size), complex)
    for members in groups(stack, position[-1], receivers, receivers[:, 0] - position[0]):
        total[members] += _scattered(
            stack, position, receivers[members], weights, frequencies, is_stress
        )
    source_layer = stack.layer_at(position[1])
    for index, receiver in enumerate(receivers):
        if stack.layer_at(receiver[1]) == source_layer:
            total[index] += _direct(
                receiver - position, frequencies, stack.media[source_layer], weights, is_stress
            )
    return total


def decay_length(stack: Stack, source: float, receiver: float) -> float:
    """Return the shortest vertical way [m] from a source depth over an interface to a receiver."""
    if stack.layer_at(source) != stack.layer_at(receiver):
        return abs(source - receiver)
    return min(abs(source - z) + abs(receiver - z) for z in stack.depths)


def groups(
    stack: Stack, source_depth: float, receivers: np.ndarray, offsets: np.ndarray
) -> list[np.ndarray]:
    """Return the receivers that can share their wavenumbers, as arrays of indices.

    Raises SeismoError for a receiver on the source.
    """
    depths = np.array([decay_length(stack, source_depth, z) for z in receivers[:, -1]])
    if np.any(np.hypot(offsets, receivers[:, -1] - source_depth) == 0):
        raise SeismoError("a receiver lies on the source, where no wave is finite")
    steep_receivers = steep(np.abs(offsets), depths)
    return [np.flatnonzero(mask) for mask in (steep_receivers, ~steep_receivers) if mask.any()]


def _scattered(
    stack: Stack,
    position: np.ndarray,
    receivers: np.ndarray,
    weights: np.ndarray,
    frequencies: np.ndarray,
    is_stress: bool,
) -> np.ndarray:
    """Return what the interfaces add, (receiver, 2, frequency)."""
    x = receivers[:, 0] - position[0]
    depths = np.array([decay_length(stack, position[1], z) for z in receivers[:, 1]])
    mix = np.stack([weights * _EVEN, weights * ~_EVEN], -1)
    result = np.zeros((len(receivers), 2, frequencies.size), complex)
    for column, s in enumerate(frequencies):
        now = stack.at(s)
        for path in paths(s, now.speeds, np.abs(x), depths):
            waves = solve(now, position[1], s, path.k, "psv", mix)
            for z in np.unique(receivers[:, 1]):
                indices = np.flatnonzero(receivers[:, 1] == z)
                field = waves.field(z)[:, 2 * is_stress : 2 * is_stress + 2]
                result[indices, :, column] += _transform(path, field, x[indices])
    return result


def _transform(path: IntegrationPath, field: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the inverse Fourier transform (receiver, 2) of the fields (k, 2, parity)."""
    even = field[..., 0]
    odd = field[..., 1]
    phase = path.k * np.abs(x)[:, None]
    if path.travelling == 0:
        cosine = np.cos(phase)
        sine = np.sin(phase)
    else:
        cosine = 0.5 * np.exp(1j * path.travelling * phase)
        sine = -1j * path.travelling * cosine
    cosine = cosine * path.weights / np.pi
    sine = sine * path.weights / np.pi
    sine = sine * np.sign(x)[:, None]
    horizontal = 1j * cosine @ odd[:, 0] - sine @ even[:, 0]
    vertical = cosine @ even[:, 1] + 1j * sine @ odd[:, 1]
    return np.stack([horizontal, vertical], -1)


def _direct(
    x: np.ndarray, s: np.ndarray, medium: Medium, weights: np.ndarray, is_stress: bool
) -> np.ndarray:
    """Return the whole-space wave (2, frequency)."""
    moment = np.array([[weights[2], weights[3]], [weights[3], weights[4]]])
    total = np.zeros((2, s.size), complex)
    for field, strength in (
        (whole_space.force_field(weights[:2], medium), weights[:2]),
        (whole_space.moment_field(moment, medium), moment),
    ):
        if strength.any() and is_stress:
            total += whole_space.stress_from_gradient(field(x, s, 1), medium.at(s))[1]
        elif strength.any():
            total += field(x, s, 0)
    return total

"""Exact 2-D waves in a stack of layers: line sources (Lamb's problem), and plane waves from below.

Line sources along y in plane strain; the wave straight from the source is the closed form of
``whole_space``, everything the interfaces add is an integral over horizontal wavenumber of the
``stack`` solution. Half-spaces, free surfaces, sea floors and layers are all the same call.

x, z [m], z down; force [N/m], moment [N]; displacement [m], pressure [Pa].
Accuracy: 1e-6 of the peak or better for a band-limited source. Cost: about 10 ms per frequency.
Literature: Lamb (1904); Aki & Richards (2002) ch. 6, 7 and 9.

The integral of f(k) times an oscillating function over 0..infinity is cut in two (`paths`). Up to a
corner, beyond every branch point and pole, it runs along the real axis in Gauss panels as fine as
the damping (the singularities lie Re(s)/c off the axis). Beyond, where f only decays with depth,
the oscillating function is split into its two travelling parts (cos into exp(+-ikx), J into H1 and
H2) and each is integrated along the ray at +-45 degrees on which it decays, so that source and
receiver may both be at the surface. Receivers more below than beside the source stay on the axis.

A plane wave comes from the half-space below a stack of solid layers under a free surface: P, SV and
SH waves of any incidence, with all reflections and conversions, by the amplitudes of up
and down going waves in every layer (global matrix method, Knopoff 1964; `stack`). With the slowness
p = sin(incidence) / c everything goes as exp(-s p x), the wavenumber k = i s p of `stack`.

x, z [m], z down; the wave goes towards +x; velocity [m/s]. P is positive along its direction, SV
along (cos, sin of the incidence) in x and z, SH along y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seismo.errors import SeismoError
from seismo.exact import TIME_FUNCTIONS, power_of, respond, transform, whole_space
from seismo.exact.medium import Medium
from seismo.exact.stack import EVEN, PlaneWaves, Stack, solve, waves_of

_SUPPRESSION = 1e-8  # of waves that come a period late
_POWERS = {"displacement": 0, "velocity": 1, "acceleration": 2, "stress": 0, "stress_rate": 1}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 34.0  # exp(-34) = 2e-15
_LONGER = 4  # periods of the transform where waves are evanescent, at less damping
_ABOVE = 1e-3  # of the damping: frequency that stands for zero
_SUPPRESSED = (1e-10, 1e-4)


@dataclass(frozen=True)
class IntegrationPath:
    """Nodes k (node) with weights; travelling is 0 for the axis, +1 or -1 for the two rays."""

    k: np.ndarray
    weights: np.ndarray
    travelling: int


def paths(
    s: complex, speeds: list[float], offsets: np.ndarray, depths: np.ndarray
) -> list[IntegrationPath]:
    """Return the paths of integration for receivers that share a kind of path.

    offsets (receiver) m horizontal; depths (receiver) m: the vertical way over which f decays;
    either all offsets exceed their depths or none does (see `steep`).
    """
    slowest = min(speeds)
    fastest = max(speeds)
    distance = offsets + depths
    corner = 1.7 * abs(s) / slowest
    step = min(2.0 * s.real / fastest, 6.0 / max(offsets.max(), 1e-3 * depths.max()))
    if steep(offsets, depths).all():
        end = corner + _REACH / depths.min()
        return [IntegrationPath(*_panels(_edges(corner, end, step, 6.0 / distance.max())), 0)]
    corner = max(corner, 2.0 / offsets.min())
    k, weights = _panels(_edges(corner, corner, step, step))
    result = [IntegrationPath(k, weights, 0)]
    length = np.sqrt(2) * _REACH / distance.min()
    tail, tail_weights = _panels(_growing(length, min(6.0 / distance.max(), corner / 4)))
    for sign in (1, -1):
        rotation = np.exp(0.25j * np.pi * sign)
        result.append(IntegrationPath(corner + rotation * tail, rotation * tail_weights, sign))
    return result


def steep(offsets: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Return which receivers are better integrated along the axis (receiver) bool."""
    return offsets < depths


def _edges(corner: float, end: float, step: float, far_step: float) -> np.ndarray:
    edges = np.linspace(0.0, corner, int(np.ceil(corner / step)) + 1)
    if end <= corner:
        return edges
    first = min(far_step, max(step, corner / 4))
    return np.concatenate([edges, corner + _growing(end - corner, first)[1:]])


def _growing(length: float, first: float) -> np.ndarray:
    """Return panel edges from 0 to length, of width `first`, later a sixth of the way gone."""
    edges = [0.0]
    while edges[-1] < length:
        edges.append(edges[-1] + max(first, edges[-1] / 6))
    return np.array(edges)


def _panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = np.diff(edges)[:, None] / 2
    centre = edges[:-1, None] + half
    return (centre + half * _NODES).ravel(), (half * _WEIGHTS).ravel()


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
    """Return the part due to the interfaces, (receiver, 2, frequency)."""
    x = receivers[:, 0] - position[0]
    depths = np.array([decay_length(stack, position[1], z) for z in receivers[:, 1]])
    mix = np.stack([weights * EVEN, weights * ~EVEN], -1)
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


def velocity(
    stack: Stack,
    wave: str,
    incidence: float,
    receivers: np.ndarray,
    source: np.ndarray,
    dt: float,
    reference: np.ndarray,
) -> np.ndarray:
    """Return the particle velocity (receiver, component, time) that an incident wave makes.

    wave: "P", "SV" or "SH"; incidence in radians; receivers (receiver, 2) m; source (time): the
    velocity of the incident wave alone at the point reference (2) m of the half-space; dt s.
    Components x, z for P and SV, y for SH.

    Where waves of this slowness are evanescent in a layer motion begins before all waves arrive,
    and the source has to be zero for a while at both ends.
    """
    if not stack.free_surface or any(medium.is_fluid for medium in stack.media):
        raise SeismoError("plane waves from below need solid layers under a free surface")
    receivers = np.atleast_2d(np.asarray(receivers, float))
    half_space = stack.media[-1]
    c = half_space.vp if wave == "P" else half_space.vs
    slowness = np.sin(incidence) / c
    speeds = [medium.vs if wave == "SH" else medium.vp for medium in stack.media]
    evanescent = bool(slowness * max(speeds) >= 1.0)
    extended = np.pad(source, (0, (_LONGER - 1) * len(source))) if evanescent else source
    spectrum = transform(extended, dt, _SUPPRESSED[evanescent])
    components = 1 if wave == "SH" else 2
    total = np.zeros((len(receivers), components, spectrum.s.size), complex)
    for column, s in enumerate(spectrum.s):
        if evanescent and s.imag == 0.0:
            s += _ABOVE * 1j * s.real  # at s itself waves neither grow nor decay with depth
        now = stack.at(s)
        waves, slope = _from_below(now, wave, s, slowness)
        # Up from the reference: exp(s q (z - z0)), unit velocity there.
        raised = np.exp(-slope * (reference[1] - stack.depths[-1]))
        # Displacement 1 / s along the direction of motion of the incident wave.
        unit = {
            "P": -now.media[-1].vp / s**2, "SV": 1j * now.media[-1].vs / s**2, "SH": 1.0 / s,
        }[wave]  # fmt: skip
        factors = s * unit * raised * np.array([1.0] if wave == "SH" else [1j, 1.0])
        for n, (x, z) in enumerate(receivers):
            along = np.exp(-s * slowness * (x - reference[0]))
            total[n, :, column] = factors * waves.field(z)[0, :components, 0] * along
    return spectrum.to_time(total)[..., : len(source)]


def _from_below(
    stack: Stack, wave: str, s: complex, slowness: float
) -> tuple[PlaneWaves, np.ndarray]:
    """Return the waves of an incident one of unit amplitude at the half-space, and its slope."""
    last = len(stack.media) - 1
    waves = waves_of(stack, s, np.array([1j * s * slowness]), "sh" if wave == "SH" else "psv")
    slopes = waves.slopes[last]
    number = 1 if wave == "SV" else 0
    unit = np.eye(slopes.shape[1])[None, :, number : number + 1]
    amplitudes = waves.answer(-waves.conditions(last, 1) @ unit)
    return PlaneWaves(stack, waves, amplitudes | {(last, 1): unit}), slopes[0, number]

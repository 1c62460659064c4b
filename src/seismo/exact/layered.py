"""Exact 3-D waves in a stack of layers: Lamb's problem, LOH.1 and anything horizontally layered.

Point forces and moment tensors in solids and fluids. The wave straight from the source is the
closed form of ``whole_space``; everything the interfaces add is a Hankel transform over horizontal
wavenumber k of the plane waves of ``stack``: with azimuth phi, z = k r and each azimuthal weight
w(phi) in {1, cos phi, sin phi, cos 2 phi, sin 2 phi} of order m,
    u_z   = 1/2pi int k i^m W J_m(z) w dk
    u_r   = 1/2pi int k i^m (U J_m'(z) w + i V J_m(z)/z w'') dk
    u_phi = 1/2pi int k i^m (U J_m(z)/z - i V J_m'(z)) w' dk
(Aki & Richards 2002 ch. 7; Bouchon 1981; the plane waves' U, V, W are defined in ``stack``). Source
and receiver may both lie on the free surface.

x, y, z [m], z down, x to y right-handed; force [N], moment [N m]; displacement [m]; pressure [Pa].
Accuracy: 1e-6 of the peak for a band-limited source. Cost: about 10 ms per frequency and station.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import hankel1, hankel2, jv

from seismo.exact import TIME_FUNCTIONS, power_of, respond, whole_space
from seismo.exact.layered_plane import (
    IntegrationPath,
    decay_length,
    groups,
    paths,
)
from seismo.exact.medium import Medium
from seismo.exact.stack import (
    ORDERS,
    SH_SOURCES,
    Stack,
    psv_weights,
    solve,
)

_SHIFTS = np.array([0.0, 0.0, 0.5, 0.0, 0.5]) * np.pi
_SUPPRESSION = 1e-8  # of waves that come a period late
_POWERS = {"displacement": 0, "velocity": 1, "acceleration": 2, "pressure": 0, "pressure_rate": 1}


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
    """Return the response (receiver, component, time) to a point force f(t).

    position (3) m: x, y, z of the source; receivers (receiver, 3) m; force (3) N along x, y, z;
    source (time): f(t); dt s. Components x, y, z; or one, minus the vertical normal stress, for
    quantity "pressure" (receivers in a fluid) and "pressure_rate".
    cut: relative level under which a frequency of the source is left out.
    """
    strengths = np.asarray(force, float), np.zeros((3, 3))
    transfer = _transfer(stack, position, receivers, strengths, quantity)
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
    """Return the response to a moment tensor (3, 3) N m with M(t) or its rate as `source`.

    In a fluid only an explosion is possible. The rest as in `force_response`.
    """
    strengths = np.zeros(3), np.asarray(moment, float)
    power = power_of("time_function", time_function, TIME_FUNCTIONS)
    transfer = _transfer(stack, position, receivers, strengths, quantity, power)
    return respond(transfer, source, dt, _SUPPRESSION, cut)


def _transfer(
    stack: Stack, position: np.ndarray, receivers: np.ndarray,
    strengths: tuple[np.ndarray, np.ndarray], quantity: str, power: int = 0,
) -> Callable[[np.ndarray], np.ndarray]:  # fmt: skip
    """Return the transfer function of s of a force and a moment, times s to a power.

    Raises:
        SeismoError: there is no such quantity.
    """
    power += power_of("quantity", quantity, _POWERS)
    position = np.asarray(position, float)
    receivers = np.atleast_2d(np.asarray(receivers, float))
    is_pressure = quantity.startswith("pressure")
    return lambda s: _waves(stack, position, receivers, strengths, s, is_pressure) * s**power


def _waves(
    stack: Stack, position: np.ndarray, receivers: np.ndarray,
    strengths: tuple[np.ndarray, np.ndarray], frequencies: np.ndarray, is_pressure: bool,
) -> np.ndarray:  # fmt: skip
    """Return displacement or pressure (receiver, component, frequency) of a force and a moment."""
    total = np.zeros((len(receivers), 1 if is_pressure else 3, frequencies.size), complex)
    offsets = np.hypot(*(receivers - position)[:, :2].T)
    mixes = _mixes(*strengths)
    for members in groups(stack, position[2], receivers, offsets):
        total[members] += _scattered(
            stack, position, receivers[members], mixes, frequencies, is_pressure
        )
    source_layer = stack.layer_at(position[2])
    medium = stack.media[source_layer]
    for index, receiver in enumerate(receivers):
        if stack.layer_at(receiver[2]) == source_layer:
            total[index] += _direct(
                receiver - position, frequencies, medium, strengths, is_pressure
            )
    return total


def _mixes(force: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how much of each unit source every azimuthal weight holds, for P-SV and SH."""
    half_difference = (moment[0, 0] - moment[1, 1]) / 2
    sh = np.zeros((len(SH_SOURCES), 5))
    sh[0, 1:3] = force[:2]
    sh[2, 1:3] = moment[:2, 2]
    sh[1, 3:] = half_difference / 2, moment[0, 1] / 2
    return psv_weights(force, moment), sh


def _scattered(
    stack: Stack,
    position: np.ndarray,
    receivers: np.ndarray,
    mixes: tuple[np.ndarray, np.ndarray],
    frequencies: np.ndarray,
    is_pressure: bool,
) -> np.ndarray:
    """Return the part due to the interfaces in x, y, z (receiver, 3 or 1, frequency)."""
    x, y = (receivers - position)[:, :2].T
    offsets = np.hypot(x, y)
    azimuths = np.arctan2(y, x)
    depths = np.array([decay_length(stack, position[2], z) for z in receivers[:, 2]])
    weight_columns = np.flatnonzero(mixes[0].any(axis=0) | mixes[1].any(axis=0))
    polar = np.zeros((len(receivers), 1 if is_pressure else 3, frequencies.size), complex)
    for column, s in enumerate(frequencies):
        now = stack.at(s)
        for path in paths(s, now.speeds, offsets, depths):
            psv = solve(now, position[2], s, path.k, "psv", mixes[0][:, weight_columns])
            sh = (
                solve(now, position[2], s, path.k, "sh", mixes[1][:, weight_columns])
                if mixes[1].any() and not is_pressure
                else None
            )
            for index, z in enumerate(receivers[:, 2]):
                in_fluid = stack.media[stack.layer_at(z)].is_fluid
                transverse = None if sh is None or in_fluid else sh.field(z)[:, 0]
                integrals = _Hankel(path, weight_columns, offsets[index], azimuths[index])
                polar[index, :, column] += (
                    integrals.scalar(-psv.field(z)[:, 3])
                    if is_pressure
                    else integrals.vector(psv.field(z), transverse)
                )
    return polar if is_pressure else _to_axes(polar, azimuths)


def _to_axes(polar: np.ndarray, azimuths: np.ndarray) -> np.ndarray:
    """Turn components r, phi, z into x, y, z."""
    cosine = np.cos(azimuths)[:, None]
    sine = np.sin(azimuths)[:, None]
    radial = polar[:, 0]
    transverse = polar[:, 1]
    down = polar[:, 2]
    return np.stack(
        [radial * cosine - transverse * sine, radial * sine + transverse * cosine, down], axis=1
    )


@dataclass(frozen=True)
class _Hankel:
    """The Hankel transforms over a path for a receiver at offset r [m]."""

    path: IntegrationPath
    used: np.ndarray  # which of the azimuthal weights the columns are
    r: float
    azimuth: float

    def _weights(self) -> Iterator[tuple]:
        """Yield w, w', w'' and the weighted J, J/z, J' of every column."""
        bessel = _bessel(self.path, self.path.k * self.r)
        measure = self.path.k * self.path.weights / (2 * np.pi)
        for kind in self.used:
            m = int(ORDERS[kind])
            angle = m * self.azimuth - _SHIFTS[kind]
            azimuthal = np.cos(angle), -m * np.sin(angle), -(m**2) * np.cos(angle)
            yield azimuthal, [1j**m * measure * b for b in bessel[m]]

    def scalar(self, field: np.ndarray) -> complex:
        """Return the transform of a field (k, column) that does not turn with azimuth."""
        return sum(
            w * (plain @ field[:, column])
            for column, ((w, _, _), (plain, _, _)) in enumerate(self._weights())
        )

    def vector(self, field: np.ndarray, transverse: np.ndarray | None) -> np.ndarray:
        """Return r, phi, z components from U, W (k, component, column) and V (k, column)."""
        total = np.zeros(3, complex)
        for column, ((w, slope, curve), (plain, ratio, derivative)) in enumerate(self._weights()):
            u = field[:, 0, column]
            vertical = field[:, 1, column]
            total += w * (derivative @ u), slope * (ratio @ u), w * (plain @ vertical)
            if transverse is not None:
                v = 1j * transverse[:, column]
                total[:2] += curve * (ratio @ v), -slope * (derivative @ v)
        return total


def _bessel(
    path: IntegrationPath, z: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return J_m(z), J_m(z)/z and J_m'(z) for m = 0, 1, 2, or their parts on a ray."""
    function = {0: jv, 1: hankel1, -1: hankel2}[path.travelling]
    half = 0.5 if path.travelling else 1.0
    j = [half * function(m, z) for m in range(4)]
    table = [(j[0], np.zeros_like(j[0]), -j[1])]
    for m in (1, 2):
        table.append((j[m], (j[m - 1] + j[m + 1]) / (2 * m), (j[m - 1] - j[m + 1]) / 2))
    return table


def _direct(
    x: np.ndarray, s: np.ndarray, medium: Medium, strengths: tuple[np.ndarray, np.ndarray],
    is_pressure: bool,
) -> np.ndarray:  # fmt: skip
    """Return the whole-space wave (3 or 1, frequency)."""
    force, moment = strengths
    total = np.zeros((1 if is_pressure else 3, s.size), complex)
    for field, strength in (
        (whole_space.force_field(force, medium), force),
        (whole_space.moment_field(moment, medium), moment),
    ):
        if strength.any() and is_pressure:
            total -= whole_space.stress_from_gradient(field(x, s, 1), medium.at(s))[2, 2]
        elif strength.any():
            total += field(x, s, 0)
    return total

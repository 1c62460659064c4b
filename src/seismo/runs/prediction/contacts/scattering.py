"""Plane waves that contacts of media scatter: exactly, and as the grid does it.

A *stack* is two half-spaces with contacts between them, or layers on a half-space under a free
surface. With the time factor exp(s t) and fields along x

    u_x = i U exp(ikx),  u_z = W exp(ikx),  s_xz = i X exp(ikx),  s_zz = Z exp(ikx)

Amplitudes are those of the vectors of `seismo.exact.stack`, which solves the exact equations.

On the grid U and Z stand in node rows, W and X in half rows. With the differences G (nodes to half
rows) and D (half rows to nodes), and the derivatives along x exact,

    rho_x s^2 U = k Sxx + D X,    Sxx = -k c11 U + c13 D W,    X = c44 (G U + k W)
    rho_z s^2 W = G Z - k X,      Z   = -k c13 U + c33 D W

and far from contacts U, W are sums of the same waves, whose exp(-a z) has the exponent that the
differences make a of. These sums stand for all rows beyond a window, so that nothing comes back
from its ends: the equations of its rows, and of a further row on each side, are a linear system for
its fields and for the waves that leave it. The difference of its amplitudes from the exact is the
contacts' error, including averages and one-sided differences; no constant is fitted.

Under a free surface X = Z = 0; U and W on it are further results. W is read there as a run does:
from rows below, and from the slope r k U, r = c13 / c33, that Z = 0 prescribes.

Fluids have X = 0 and no S wave. SH waves, and the pressure of constant density, equal waves of a
fluid: `rho v_tt = (mu v_x)_x + (mu v_z)_z` is the equation of the pressure v in a fluid of density
1 / mu and bulk modulus 1 / rho.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from seismo.equations.rock.plane_waves import Rock
from seismo.exact.stack import (
    LayerSide,
    StackWaves,
    balanced,
    psv_slopes,
    psv_vectors,
    solved,
)

_NEWTON = 8  # steps
_CONVERGED = 1e-15  # relative size of the last step
_KNOWN = 1e-9  # relative size of the last step of exponents that there are
_FARTHEST = 0.5  # relative difference of an exponent from that of the exact wave
_LARGEST = 1e8  # size at an end of the window of a wave that is 1 at the contacts


@dataclass(frozen=True)
class ContactStack:
    """Media from the top down, and the depths of their contacts in m from the topmost one.

    Attributes:
        media: of the layers and half-spaces; a fluid has vs = 0.
        depths: of the contacts.
        top: depth of a free surface in m, not positive; None where the first medium has no end.
        rigid: whether W vanishes on that surface, instead of X and Z: the free surface of SH waves.
    """

    media: tuple[Rock, ...]
    depths: tuple[float, ...]
    top: float | None = None
    rigid: bool = False


@dataclass(frozen=True)
class DiscreteStack:
    """A stack on the grid: a window of n node rows and the half rows between them.

    Attributes:
        contact_index: row of the topmost contact, from the first of the window.
        c11: (n) stiffness in Pa, likewise c13 and c33.
        c13: see c11.
        c33: see c11.
        c44: (n - 1) shear stiffness in Pa of the half rows.
        rho_x: (n) density of U in kg/m3.
        rho_z: (n - 1) density of W in kg/m3.
        up: (n - 1, n) differences G, spacing 1.
        down: (n, n - 1) differences D, spacing 1.
        spacing: of its rows in m.
    """

    contact_index: float
    c11: np.ndarray
    c13: np.ndarray
    c33: np.ndarray
    c44: np.ndarray
    rho_x: np.ndarray
    rho_z: np.ndarray
    up: np.ndarray
    down: np.ndarray
    spacing: float = 1.0

    def under_surface(self) -> DiscreteStack:
        """Return it with Z = 0 in its first row, that of a free surface."""
        c11, c13, c33 = (c.copy() for c in (self.c11, self.c13, self.c33))
        c11[0] -= c13[0] ** 2 / c33[0]
        c13[0] = c33[0] = 0.0
        return replace(self, c11=c11, c13=c13, c33=c33)


def exact(stack: ContactStack, s: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the amplitudes (wave, leaving, entering) that leave a stack for unit ones that enter.

    Those above come first, P before S. Of a stack under a free surface there are only the waves
    below, and after them U and W on the surface.

    Args:
        stack: the media; amplitudes refer to the outer contacts.
        s: (wave) 1/s.
        k: (wave) wavenumbers along x in 1/m.
    """
    waves, amplitudes = _within(stack, s, k)
    leaving = [amplitudes[n, 1 - side] for n, side in waves.entering]
    if stack.top is not None:
        down, up = (waves.field(0, side, stack.top)[:, :2] for side in (0, 1))
        leaving.append(down @ amplitudes[0, 0] + up @ amplitudes[0, 1])
    return np.concatenate(leaving, axis=1)


def exact_fields(
    stack: ContactStack, s: np.ndarray, k: np.ndarray, z: float
) -> tuple[Rock, np.ndarray]:
    """Return the rock at a depth in m from the topmost contact, and U, W, X and Z there.

    Args:
        stack: the media.
        s: (wave) 1/s.
        k: (wave) wavenumbers along x in 1/m.
        z: the depth; on a contact that of the medium below it.

    Returns:
        Rock, and fields (wave, 4, entering) for unit waves that enter.
    """
    waves, amplitudes = _within(stack, s, k)
    layer = int(np.searchsorted(stack.depths, z, "right"))
    counts = [waves.slopes[n].shape[1] for n, _ in waves.entering]
    unit = np.eye(sum(counts))
    ends = np.cumsum(counts)
    for (n, side), end, count in zip(waves.entering, ends, counts, strict=True):
        amplitudes[n, side] = np.broadcast_to(unit[end - count : end], (len(k), count, sum(counts)))
    fields = [waves.field(layer, side, z) @ amplitudes[layer, side] for side in (0, 1)]
    return stack.media[layer], fields[0] + fields[1]


def _within(
    stack: ContactStack, s: np.ndarray, k: np.ndarray
) -> tuple[StackWaves, dict[LayerSide, np.ndarray]]:
    """Return the waves of a stack, and the amplitudes of all that do not enter."""
    media = stack.media
    tops = [-np.inf if stack.top is None else stack.top, *stack.depths]
    kept = [balanced(pair) for pair in pairwise(media)]
    if stack.top is not None:
        kept.insert(0, [1] if stack.rigid else balanced(media[:1]))
    waves = StackWaves(
        list(pairwise([*tops, np.inf])),
        [psv_slopes(rock, s, k) for rock in media],
        [psv_vectors(rock, s, k) for rock in media],
        kept,
    )
    coming = np.concatenate([waves.conditions(*side) for side in waves.entering], axis=-1)
    return waves, waves.answer(-coming)


def on_grid(
    stack: ContactStack, rows: DiscreteStack, first: np.ndarray, s: np.ndarray, k: np.ndarray,
    reading: tuple[np.ndarray, float] = (np.ones(1), 0.0),
) -> np.ndarray:  # fmt: skip
    """Return what `exact` does, of waves on the grid.

    NaN stands for waves that decay below rounding on their way to the contacts, and for waves so
    steep that the grid has no such wave.

    Args:
        stack: the media.
        rows: of the grid about its contacts; of a free surface from the surface down.
        first: (M) staggered coefficients, spacing 1.
        s: (wave) 1/s.
        k: (wave) wavenumbers along x in 1/m.
        reading: weights of the first half rows, and of the slope in rows, that W on a free surface
            is read with.
    """
    fields, leaving = _in_rows(stack, rows, first, s, k)
    if stack.top is None:
        return leaving
    n = len(rows.rho_x)
    weights, sloped = reading
    along = fields[:, :1]
    across = weights @ fields[:, n : n + len(weights)]
    slope = stack.media[0].thin_stretch * k[:, None, None] * along * rows.spacing
    return np.concatenate([leaving, along, across[:, None] + sloped * slope], axis=1)


def fields_in_rows(
    stack: ContactStack, rows: DiscreteStack, first: np.ndarray, s: np.ndarray, k: np.ndarray
) -> np.ndarray:
    """Return U in node rows, and W in half rows behind them (wave, row, entering), as `on_grid`."""
    return _in_rows(stack, rows, first, s, k)[0]


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # amplitudes that NaN replaces
def _in_rows(
    stack: ContactStack, rows: DiscreteStack, first: np.ndarray, s: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return U and W in rows (wave, row, entering), and the amplitudes that leave the stack."""
    n = len(rows.rho_x)
    free = stack.top is not None
    fringe = 2 * len(first)
    nodes = np.arange(n)
    halves = np.arange(n - 1)
    ends = [(stack.media[0], False, rows.contact_index)] * (not free)
    ends += [(stack.media[-1], True, rows.contact_index + stack.depths[-1] / rows.spacing)]
    beyond = np.zeros(2 * n - 1, bool)
    equations = np.zeros(2 * n - 1, bool)
    entering = list[tuple[np.ndarray, np.ndarray]]()
    leaving = list[tuple[np.ndarray, np.ndarray]]()
    is_carried = np.ones(len(k), bool)
    for rock, low, contact_index in ends:
        # Rows beyond an end, and the first of them, whose equations hold, too.
        index = (nodes, halves + low)
        edge = n - fringe if low else fringe - 1
        far = [x >= edge if low else x <= edge for x in index]
        equations |= np.concatenate([(index[0] == edge) & (rock.vs > 0.0), index[1] == edge])
        beyond |= np.concatenate(far)
        at = nodes[far[0]] - contact_index, halves[far[1]] + 0.5 - contact_index
        exponents, there_are = _exponents(first, rows.spacing * psv_slopes(rock, s, k))
        is_carried &= there_are.all(axis=1)
        fields = psv_vectors(rock, s, k)
        for down, waves in ((low, leaving), (not low, entering)):
            field = fields[:, 0 if down else 1]
            waves.append((np.concatenate(far), _waves(field, exponents, down, at)))
    system = _equations(rows, free and not stack.rigid, s, k, np.flatnonzero(equations | ~beyond))
    unknown = [system.of(~beyond), *(system.of_waves(far, waves) for far, waves in leaving)]
    known = np.concatenate([system.of_waves(far, waves) for far, waves in entering], axis=-1)
    amplitudes = solved(np.concatenate(unknown, axis=-1), -known)
    sizes = np.concatenate([np.abs(waves).max(axis=1) for _, waves in entering], axis=-1)
    lost = (sizes > _LARGEST) | ~is_carried[:, None]
    amplitudes = np.where(lost[:, None, :], np.nan, amplitudes)
    within = int(np.count_nonzero(~beyond))
    in_rows = np.zeros((len(k), beyond.size, amplitudes.shape[2]), complex)
    in_rows[:, ~beyond] = amplitudes[:, :within]
    start = 0
    for far_rows, coming in entering:
        in_rows[:, far_rows, start : start + coming.shape[2]] += coming
        start += coming.shape[2]
    start = within
    for far_rows, going in leaving:
        in_rows[:, far_rows] += going @ amplitudes[:, start : start + going.shape[2]]
        start += going.shape[2]
    return in_rows, amplitudes[:, within:]


def _waves(
    field: np.ndarray, exponents: np.ndarray, down: bool, distances: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return U and W (wave, rows, kinds) of unit waves, so many rows from where they are so."""
    sign = -1.0 if down else 1.0
    components = [
        field[:, n : n + 1] * np.exp(sign * exponents[:, None, :] * z[:, None])
        for n, z in enumerate(distances)
    ]
    return np.concatenate(components, axis=1)


def _exponents(first: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q per row for which the differences make of exp(q z) a slope, 2 sum c_m sinh.

    For steep slopes, where there is none, the slope itself is taken.
    """
    q = slope.astype(complex)
    for _ in range(_NEWTON):
        half = np.exp(0.5 * q)
        square = half * half
        power = half
        value = -slope.astype(complex)
        rate = np.zeros_like(q)
        for n, c in enumerate(first):
            opposite = 1.0 / power
            value += c * (power - opposite)
            rate += (n + 0.5) * c * (power + opposite)
            power = power * square
        step = value / rate
        q = q - step
        if np.abs(step).max(initial=0.0) <= _CONVERGED * np.abs(q).max(initial=0.0):
            break
    is_known = np.abs(step) <= _KNOWN * np.abs(q)
    is_known &= np.abs(q - slope) <= _FARTHEST * np.abs(slope)
    return np.where(is_known, q, slope), is_known


@dataclass(frozen=True)
class _Equations:
    """Equations of U and W in rows, node rows first: still + k along, less squares on the diagonal.

    Attributes:
        numbers: (n) row that each equation is of.
        still: (n, rows) what does not depend on the wave.
        along: (n, rows) what grows with k.
        k: (wave) 1/m.
        squares: (wave, n) what the row itself has.
    """

    numbers: np.ndarray
    still: np.ndarray
    along: np.ndarray
    k: np.ndarray
    squares: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the factors (wave, n, row) of the fields in chosen rows."""
        equations, columns = self._diagonal(rows)
        factors = np.zeros((len(self.k), len(self.numbers), np.count_nonzero(rows)), complex)
        factors.real = self.still[:, rows] + self.k[:, None, None] * self.along[:, rows]
        factors[:, equations, columns] -= self.squares[:, equations]
        return factors

    def of_waves(self, rows: np.ndarray, waves: np.ndarray) -> np.ndarray:
        """Return the factors (wave, n, kind) of waves (wave, row, kind) in chosen rows."""
        still = self.still[:, rows]
        along = self.along[:, rows]
        reaching = np.flatnonzero((still != 0.0).any(axis=1) | (along != 0.0).any(axis=1))
        equations, columns = self._diagonal(rows)
        factors = np.zeros((len(self.k), len(self.numbers), waves.shape[2]), complex)
        factors[:, reaching] = still[reaching] @ waves
        factors[:, reaching] += self.k[:, None, None] * (along[reaching] @ waves)
        factors[:, equations] -= self.squares[:, equations, None] * waves[:, columns]
        return factors

    def _diagonal(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the equations of chosen rows, and the numbers of these among them."""
        equations = np.flatnonzero(rows[self.numbers])
        return equations, (np.cumsum(rows) - 1)[self.numbers[equations]]


def _equations(
    rows: DiscreteStack, free: bool, s: np.ndarray, k: np.ndarray, kept: np.ndarray
) -> _Equations:
    """Return the equations of kept (n) rows."""
    up = rows.up / rows.spacing
    down = rows.down / rows.spacing
    if free:
        rows = rows.under_surface()
    c11 = rows.c11
    c13 = rows.c13[:, None]
    c33 = rows.c33[:, None]
    c44 = rows.c44[:, None]
    uw = c13 * down + down * rows.c44
    wu = -up * c13[:, 0] - c44 * up
    still = np.block([[down @ (c44 * up), 0.0 * uw], [0.0 * wu, up @ (c33 * down)]])
    along = np.block([[0.0 * (down @ up), uw], [wu, 0.0 * (up @ down)]])
    squares = k[:, None] ** 2 * np.append(c11, rows.c44)[kept]
    squares = squares + s[:, None] ** 2 * np.append(rows.rho_x, rows.rho_z)[kept]
    return _Equations(kept, still[kept], along[kept], k, squares)

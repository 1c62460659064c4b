"""Plane waves that contacts of media scatter: exactly, and as the grid does it.

A *stack* is two half-spaces with contacts between them, or layers on a half-space under a free
surface. With the time factor exp(s t) and fields along x

    u_x = i U exp(ikx),  u_z = W exp(ikx),  s_xz = i X exp(ikx),  s_zz = Z exp(ikx)

Down-going P waves are (U, W) = (k, -a) exp(-a z), S waves (b, -k) exp(-b z), with a, b =
sqrt(k^2 + s^2 / v^2); up-going waves have -a, -b. Amplitudes multiply these vectors.

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

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seismo.equations.rock.plane_waves import Rock

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


def slopes(rock: Rock, s: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return a and b (wave, kinds) in 1/m of a rock, of a fluid a alone."""
    speeds = [rock.vp, rock.vs] if rock.vs else [rock.vp]
    return np.stack([np.sqrt(k**2 + (s / v) ** 2) for v in speeds], axis=-1)


def vectors(rock: Rock, s: np.ndarray, k: np.ndarray, down: bool) -> np.ndarray:
    """Return (U, W, X, Z) of waves of unit amplitude (wave, 4, kinds)."""
    sign = 1.0 if down else -1.0
    mu = rock.shear
    a, *rest = slopes(rock, s, k).T
    bend = rock.rho * s**2 + 2.0 * mu * k**2
    kinds = [np.stack([k + 0j, -sign * a, -2.0 * sign * mu * k * a, bend], axis=-1)]
    for b in rest:
        kinds.append(np.stack([sign * b, -k + 0j, -bend, 2.0 * sign * mu * k * b], axis=-1))
    return np.stack(kinds, axis=-1)


@dataclass(frozen=True)
class _Wave:
    """Waves of all kinds in a medium of a stack, of unit amplitude at a depth."""

    medium: int
    down: bool
    depth: float

    def at(self, stack: ContactStack, z: float, s: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Return (U, W, X, Z) (wave, 4, kinds) at a depth."""
        rock = stack.media[self.medium]
        way = z - self.depth if self.down else self.depth - z
        decay = np.exp(-way * slopes(rock, s, k))
        return vectors(rock, s, k, self.down) * decay[:, None, :]


def exact(stack: ContactStack, s: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the amplitudes (wave, leaving, entering) that leave a stack for unit ones that enter.

    Those above come first, P before S. Of a stack under a free surface there are only the waves
    below, and after them U and W on the surface.

    Args:
        stack: the media; amplitudes refer to the outer contacts.
        s: (wave) 1/s.
        k: (wave) wavenumbers along x in 1/m.
    """
    last = len(stack.media) - 1
    free = stack.top is not None
    ends = [(0, stack.depths[0])] * (not free) + [(last, stack.depths[-1])]
    entering = [_Wave(n, n == 0 and not free, z) for n, z in ends]
    leaving = [_Wave(n, n != 0 or free, z) for n, z in ends]
    edges = [] if stack.top is None else [(stack.top, last + 1, 0)]
    edges += [(z, n, n + 1) for n, z in enumerate(stack.depths)]
    within = [
        _Wave(under, down, z)
        for (_, _, under), pair in zip(edges, pairwise(z for z, *_ in edges), strict=False)
        for down, z in zip((True, False), pair, strict=True)
    ]

    def jumps(waves: list[_Wave]) -> np.ndarray:
        return np.concatenate([
            np.concatenate([_jump(stack, edge, wave, s, k) for wave in waves], axis=-1)
            for edge in edges
        ], axis=1)  # fmt: skip

    amplitudes = solved(jumps(leaving + within), -jumps(entering))
    outside = sum(1 + (stack.media[wave.medium].vs > 0.0) for wave in leaving)
    if stack.top is None:
        return amplitudes[:, :outside]
    field = np.concatenate([w.at(stack, stack.top, s, k)[:, :2] for w in within[:2]], axis=-1)
    motion = field @ amplitudes[:, outside : outside + field.shape[2]]
    return np.concatenate([amplitudes[:, :outside], motion], axis=1)


def _jump(
    stack: ContactStack, edge: tuple[float, int, int], wave: _Wave, s: np.ndarray, k: np.ndarray
) -> np.ndarray:
    """Return a wave's jumps (wave, conditions, kinds) at a contact or a surface."""
    z, above, below = edge
    beside = [stack.media[n] for n in (above, below) if n < len(stack.media)]
    sheared = sum(rock.vs > 0.0 for rock in beside)
    if len(beside) == 1:
        kept = [1] if stack.rigid else [2, 3] if sheared else [3]
    else:
        kept = [[1, 3], [1, 2, 3], [0, 1, 2, 3]][sheared]
    if wave.medium not in (above, below):
        return np.zeros((len(k), len(kept), 1 + (stack.media[wave.medium].vs > 0.0)))
    sign = (wave.medium == above) - float(wave.medium == below)
    return sign * wave.at(stack, z, s, k)[:, kept]


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # amplitudes that NaN replaces
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
        exponents, there_are = _exponents(first, rows.spacing * slopes(rock, s, k))
        is_carried &= there_are.all(axis=1)
        for down, waves in ((low, leaving), (not low, entering)):
            field = vectors(rock, s, k, down)
            waves.append((np.concatenate(far), _waves(field, exponents, down, at)))
    system = _equations(rows, free, s, k, np.flatnonzero(equations | ~beyond))
    unknown = [system[:, :, ~beyond], *(system[:, :, far] @ waves for far, waves in leaving)]
    known = np.concatenate([system[:, :, far] @ waves for far, waves in entering], axis=-1)
    amplitudes = solved(np.concatenate(unknown, axis=-1), -known)
    sizes = np.concatenate([np.abs(waves).max(axis=1) for _, waves in entering], axis=-1)
    lost = (sizes > _LARGEST) | ~is_carried[:, None]
    amplitudes = np.where(lost[:, None, :], np.nan, amplitudes)
    within = np.count_nonzero(~beyond)
    outside = [amplitudes[:, within:]]
    if free:
        below = int(np.count_nonzero(~beyond[:n]))
        along = amplitudes[:, :1]
        weights, sloped = reading
        across = weights @ amplitudes[:, below : below + len(weights)]
        slope = stack.media[0].thin_stretch * k[:, None, None] * along * rows.spacing
        outside += [along, across[:, None] + sloped * slope]
    return np.concatenate(outside, axis=1)


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


def _equations(
    rows: DiscreteStack, free: bool, s: np.ndarray, k: np.ndarray, kept: np.ndarray
) -> np.ndarray:
    """Return the kept (n) equations of U and W (wave, n, rows), node rows first."""
    up = rows.up / rows.spacing
    down = rows.down / rows.spacing
    c11 = rows.c11.copy()
    bears = np.ones(len(rows.c11))
    if free:  # Z = 0 in the row of the surface
        c11[0] -= rows.c13[0] ** 2 / rows.c33[0]
        bears[0] = 0.0
    c13 = (rows.c13 * bears)[:, None]
    c33 = (rows.c33 * bears)[:, None]
    c44 = rows.c44[:, None]
    uw = c13 * down + down * rows.c44
    wu = -up * c13[:, 0] - c44 * up
    still = np.block([[down @ (c44 * up), 0.0 * uw], [0.0 * wu, up @ (c33 * down)]])
    along = np.block([[0.0 * (down @ up), uw], [wu, 0.0 * (up @ down)]])
    system = (still[kept] + k[:, None, None] * along[kept]).astype(complex)
    squares = k[:, None] ** 2 * np.append(c11, rows.c44)[kept]
    squares = squares + s[:, None] ** 2 * np.append(rows.rho_x, rows.rho_z)[kept]
    system[:, np.arange(len(kept)), kept] -= squares
    return system


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solutions (wave, unknowns, columns) of equations of unlike sizes."""
    size = np.maximum(np.abs(matrix.real), np.abs(matrix.imag))
    rows = 1.0 / size.max(axis=2, keepdims=True)
    size *= rows
    columns = 1.0 / size.max(axis=1, keepdims=True)
    solution = np.linalg.solve(matrix * (rows * columns), right * rows)
    return solution * columns.transpose(0, 2, 1)

"""Effective stiffness of cells of rock of any anisotropy.

Its constants are given, or follow from transversely isotropic rock with a tilted axis: with the
axis n of a rock and its constants c11, c13, c33, c44, c66 about it
(`seismo.equations.rock.elastic_constants`)::

    c_ijkl = (c11 - 2 c66) d_ij d_kl + c66 (d_ik d_jl + d_il d_jk)
             + (c13 - c11 + 2 c66) (d_ij n_k n_l + n_i n_j d_kl)
             + (c44 - c66) (d_ik n_j n_l + d_il n_j n_k + d_jk n_i n_l + d_jl n_i n_k)
             + (c11 + c33 - 2 c13 - 4 c44) n_i n_j n_k n_l

A cell that a contact cuts has the mean of Schoenberg & Muir (1989, Geophysics 54, 581): with N for
the components zz, yz, xz across flat layers and T for xx, yy, xy along them::

    C_NN = <C_NN^-1>^-1,   C_TN = <C_TN C_NN^-1> C_NN,
    C_TT = <C_TT - C_TN C_NN^-1 C_NT> + <C_TN C_NN^-1> C_NN <C_NN^-1 C_NT>

about the normal of the contact, turned back. c44 and c55 between nodes have the harmonic means of
`seismo.model.effective.stiffness`. Symbols: as there; entries "34" of a matrix by their Voigt
indices.

Rock that attenuates has besides the roots v of its P moduli, sqrt(c11), sqrt(c11), sqrt(c33) for
xx, yy, zz about its axis (`seismo.equations.rock.anisotropic_loss`). Stresses v that act everywhere
in a stack leave it with the stress

    v_N = C_NN <C_NN^-1 v_N>,   v_T = <v_T - C_TN C_NN^-1 v_N> + <C_TN C_NN^-1> v_N
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from functools import partial, reduce
from itertools import combinations_with_replacement
from operator import itemgetter

import numpy as np

from seismo.equations.framework.parameters import CONSTANTS
from seismo.equations.rock import elastic_constants
from seismo.model.effective import (
    TINY,
    Samples,
    column,
    slopes,
)

Entries = dict[str, np.ndarray]

_ACROSS = "345"
_ALONG = "126"
ENTRIES = tuple(i + j for i, j in combinations_with_replacement("123456", 2))
_BETWEEN = ("44", "55")
_LEAST_SHEAR = 1e-30  # stiffness of a fluid, in shares of c33: inverses stay finite


def _total(terms: Iterable[np.ndarray]) -> np.ndarray:
    return reduce(np.add, terms)


def _entry(i: str, j: str) -> str:
    return min(i, j) + max(i, j)


def stiffness_of(samples: Samples) -> Entries:
    """Return the 21 constants (...) [Pa] of rocks, by the two indices of each."""
    if "c33" in samples:
        constants = elastic_constants.with_implied(
            {name: samples[name] for name in samples if name in CONSTANTS}
        )
        none = np.zeros_like(constants["c33"])
        return {name: constants.get(f"c{name}", none) for name in ENTRIES}
    c = elastic_constants.constants_of(samples)
    n = list(elastic_constants.axis_of(samples["theta"], samples["phi"]).values())
    nn = {(i, j): n[i] * n[j] for i in range(3) for j in range(i, 3)}
    level = c["c11"] - 2.0 * c["c66"]
    mixed = c["c13"] - c["c11"] + 2.0 * c["c66"]
    turned = c["c44"] - c["c66"]
    rest = c["c11"] + c["c33"] - 2.0 * c["c13"] - 4.0 * c["c44"]

    def dyad(i: int, j: int) -> np.ndarray:
        return nn[min(i, j), max(i, j)]

    entries = {}
    for name in ENTRIES:
        (i, j), (k, m) = (elastic_constants.PAIRS[int(digit) - 1] for digit in name)
        total = rest * (dyad(i, j) * dyad(k, m))
        both = (i == k) * (j == m) + (i == m) * (j == k)
        if both:
            total = total + both * c["c66"]
        if i == j and k == m:
            total = total + level
        if i == j:
            total = total + mixed * dyad(k, m)
        if k == m:
            total = total + mixed * dyad(i, j)
        for same, first, second in ((i == k, j, m), (i == m, j, k), (j == k, i, m), (j == m, i, k)):
            if same:
                total = total + turned * dyad(first, second)
        entries[name] = total
    return entries


def _inverse(m: Entries, rows: str) -> Entries:
    """Return the inverse of a symmetric matrix of three rows."""
    a, b, c = tuple(rows)
    get = lambda i, j: m[_entry(i, j)]  # noqa: E731
    minors = {
        _entry(i, j): get(k1, k2) * get(l1, l2) - get(k1, l2) * get(l1, k2)
        for i, j, (k1, l1), (k2, l2) in (
            (a, a, (b, c), (b, c)), (b, b, (a, c), (a, c)), (c, c, (a, b), (a, b)),
            (a, b, (b, c), (c, a)), (a, c, (b, c), (a, b)), (b, c, (a, c), (b, a)),
        )
    }  # fmt: skip
    determinant = _total(get(a, k) * minors[_entry(a, k)] for k in rows)
    return {name: minor / determinant for name, minor in minors.items()}


def layers_of(c: Entries) -> Entries:
    """Return what has a mean over flat layers: "across", "share", "rest" and "between" entries."""
    c = c | {name: np.maximum(c[name], _LEAST_SHEAR * c["33"]) for name in ("44", "55", "66")}
    across = _inverse(c, _ACROSS)
    entries = {f"across_{name}": value for name, value in across.items()}
    share = {
        t + n: _total(c[_entry(t, k)] * across[_entry(k, n)] for k in _ACROSS)
        for t in _ALONG
        for n in _ACROSS
    }
    entries |= {f"share_{name}": value for name, value in share.items()}
    for i, j in combinations_with_replacement(_ALONG, 2):
        entries[f"rest_{i}{j}"] = c[i + j] - _total(share[i + n] * c[_entry(j, n)] for n in _ACROSS)
    return entries | {f"between_{name}": 1.0 / c[name] for name in _BETWEEN}


def roots_of(samples: Samples) -> Entries:
    """Return the roots (...) [sqrt(Pa)] of the P moduli of rocks, by the index of the stress."""
    if "root1" in samples:
        # Given constants: v is known; in 2-D that of yy does not act in the plane.
        none = 0.0 * samples["root1"]
        return {str(k): samples.get(f"root{k}", none) for k in range(1, 7)}
    c = elastic_constants.constants_of(samples)
    n = list(elastic_constants.axis_of(samples["theta"], samples["phi"]).values())
    level = np.sqrt(c["c11"])
    # v_ij = sqrt(c11) d_ij + (sqrt(c33) - sqrt(c11)) n_i n_j
    beyond = np.sqrt(c["c33"]) - level
    return {
        str(index): beyond * (n[i] * n[j]) + (level if i == j else 0.0)
        for index, (i, j) in enumerate(elastic_constants.PAIRS, 1)
    }


def root_layers_of(v: Entries, layers: Samples) -> Entries:
    """Return the quantities averaged over flat layers, of roots and of `layers_of`."""
    across = {n: _total(layers[f"across_{_entry(n, k)}"] * v[k] for k in _ACROSS) for n in _ACROSS}
    rest = {t: v[t] - _total(layers[f"share_{t}{k}"] * v[k] for k in _ACROSS) for t in _ALONG}
    entries = {f"across_root_{n}": value for n, value in across.items()}
    return entries | {f"rest_root_{t}": value for t, value in rest.items()}


def roots(m: Samples) -> Entries:
    """Return the roots root1 ... root6 (...) of means, the inverse of `root_layers_of`."""
    across = {name: m[f"across_{name}"] for name in ENTRIES if set(name) <= set(_ACROSS)}
    normal = _inverse(across, _ACROSS)
    # v_N = C_NN <C_NN^-1 v_N>
    v = {n: _total(normal[_entry(n, k)] * m[f"across_root_{k}"] for k in _ACROSS) for n in _ACROSS}
    # v_T = <v_T - C_TN C_NN^-1 v_N> + <C_TN C_NN^-1> v_N
    for t in _ALONG:
        v[t] = m[f"rest_root_{t}"] + _total(m[f"share_{t}{k}"] * v[k] for k in _ACROSS)
    return {f"root{name}": value for name, value in v.items()}


def stiffness(m: Samples) -> Entries:
    """Return the constants c11 ... c66 (...) of means, the inverse of `layers_of`."""
    across = {name: m[f"across_{name}"] for name in ENTRIES if set(name) <= set(_ACROSS)}
    entries = _inverse(across, _ACROSS)
    mixed = {
        t + n: _total(m[f"share_{t}{k}"] * entries[_entry(k, n)] for k in _ACROSS)
        for t in _ALONG
        for n in _ACROSS
    }
    for i, j in combinations_with_replacement(_ALONG, 2):
        coupled = _total(mixed[i + n] * m[f"share_{j}{n}"] for n in _ACROSS)
        entries[i + j] = m[f"rest_{i}{j}"] + coupled
    entries |= {_entry(*name): value for name, value in mixed.items()}
    entries |= {name: 1.0 / m[f"between_{name}"] for name in _BETWEEN}
    return {f"c{name}": value for name, value in entries.items()}


def _mean(name: str, samples: MutableMapping[str, np.ndarray]) -> np.ndarray:
    """Return one of `layers_of`; all are computed at once per samples."""
    if name not in samples:
        samples.update(layers_of(stiffness_of(samples)))
    return samples[name]


def _root_mean(name: str, samples: MutableMapping[str, np.ndarray]) -> np.ndarray:
    """Return one of `root_layers_of`, as `_mean` does."""
    if name not in samples:
        _mean(_NAMES[0], samples)
        samples.update(root_layers_of(roots_of(samples), samples))
    return samples[name]


_NAMES = (
    *(f"across_{n}" for n in ENTRIES if set(n) <= set(_ACROSS)),
    *(f"share_{t}{n}" for t in _ALONG for n in _ACROSS),
    *(f"rest_{n}" for n in ENTRIES if set(n) <= set(_ALONG)),
    *(f"between_{n}" for n in _BETWEEN),
)
_ROOT_NAMES = (*(f"across_root_{n}" for n in _ACROSS), *(f"rest_root_{t}" for t in _ALONG))
MEANS = {
    **{name: partial(_mean, name) for name in _NAMES},
    **{name: partial(_root_mean, name) for name in _ROOT_NAMES},
}

# Means that belong together: of entries of tensors, and of roots.
OF_TENSORS = frozenset(name for name in MEANS if not name.startswith("between"))


def sharp_shares(samples: MutableMapping[str, np.ndarray], solid: np.ndarray) -> np.ndarray:
    """Return the share (n) of sharp averages of columns of rock (n, samples), 0 of others.

    Args:
        samples: of the rocks; also the cache of results, as in `_mean`.
        solid: (n) which columns are all rock.
    """
    share = np.zeros(len(solid))
    for group, rows, kernel in (
        ("across", _ACROSS, column.NODES),
        ("rest", _ALONG, column.ALONG),
    ):
        entries = [[_mean(f"{group}_{_entry(i, j)}", samples)[solid] for j in rows] for i in rows]
        tensors = np.moveaxis(np.array(entries), (0, 1), (-2, -1))
        limit = column.tensor_share(tensors, kernel)
        share[solid] = limit if group == "across" else np.minimum(share[solid], limit)
    return share


def _root(name: str, m: Samples) -> np.ndarray:
    return roots(m)[name]


RESULTS: dict[str, tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]] = {
    **{f"c{name}": (_NAMES, itemgetter(f"c{name}")) for name in ENTRIES},
    **{
        name: ((*_NAMES, *_ROOT_NAMES), partial(_root, name))
        for name in (f"root{index}" for index in range(1, 7))
    },
}


def turned(
    samples: Samples, points: np.ndarray, at_ends: np.ndarray, with_roots: bool = False
) -> Entries:
    """Return the means (cells) of cells that contacts cut, about the normals of these.

    Cells that hold fluid have the means of flat layers: a fluid has no stiffness in shear, and
    rounding after the rotation would leave a divisor near 0.

    Args:
        samples: (cells, samples) of the rocks.
        points: (rank, samples) positions in cells from the centre; z first.
        at_ends: (cells) whether a cell is at an end of the interior, or beyond: there contacts are
            taken for parallel to an axis, as they go on in layers.
        with_roots: whether roots of P moduli are turned, too.
    """
    dry = (samples["vs"] > 0.0).all(1)
    if dry.all():
        return _about_normals(samples, points, at_ends, with_roots)
    rocks, wet = (
        {name: parameter[cells] for name, parameter in samples.items()} for cells in (dry, ~dry)
    )
    about = _about_normals(rocks, points, at_ends[dry], with_roots)
    means = {name: np.empty(at_ends.shape) for name in about}
    for name, mean in about.items():
        means[name][dry] = mean
        means[name][~dry] = MEANS[name](wet).mean(1)
    return means


def _about_normals(
    samples: Samples, points: np.ndarray, at_ends: np.ndarray, with_roots: bool
) -> Entries:
    """Return the means (cells) of cells without fluid; see `turned`."""
    rocks = stiffness_of(samples)
    across = slopes(sum(rocks[n + n] for n in "123456") + rocks["33"], points)
    largest = np.abs(across) >= np.abs(across).max(0)
    across = np.where(at_ends & ~largest, 0.0, across)
    z, *horizontal = across / np.maximum(np.sqrt((across**2).sum(0)), TINY)
    x = horizontal[-1]
    y = horizontal[0] if len(horizontal) == 2 else np.zeros_like(z)
    upright = np.where(z + np.abs(x) + np.abs(y) == 0.0, 1.0, z)
    tilt = np.degrees(np.arctan2(np.hypot(x, y), upright))
    azimuth = np.degrees(np.arctan2(y, x))
    turn = elastic_constants.rotation(tilt, azimuth)
    back = np.swapaxes(turn, -1, -2)
    matrix = elastic_constants.matrix({f"c{name}": value for name, value in rocks.items()})
    about = elastic_constants.rotate(matrix, back[:, None])
    order = [int(digit) - 1 for digit in _ALONG + _ACROSS]
    tensor = np.empty((len(about), 6, 6))
    rows, columns = np.ix_(order, order)
    tensor[:, rows, columns] = stacked(about[..., rows, columns], len(_ALONG))
    tensor = elastic_constants.rotate(tensor, turn)
    entries = {name: tensor[:, int(name[0]) - 1, int(name[1]) - 1] for name in ENTRIES}
    layers = layers_of(entries)
    return layers | (_turned_roots(samples, about, turn, layers) if with_roots else {})


def _turned_roots(
    samples: Samples, about: np.ndarray, turn: np.ndarray, layers: Entries
) -> Entries:
    """Return the means of the roots of cells, about the normals of their contacts, turned back.

    Args:
        samples: (cells, samples) of the rocks.
        about: (cells, samples, 6, 6) their stiffness about the normals.
        turn: (cells, 3, 3) rotation from z to the normals.
        layers: `layers_of` the cells.
    """
    index = elastic_constants.VOIGT + 1
    v = roots_of(samples)
    tensor = np.stack([np.stack([v[str(k)] for k in row], -1) for row in index], -2)
    tensor = np.swapaxes(turn, 1, 2)[:, None] @ tensor @ turn[:, None]
    rocks = {name: about[..., int(name[0]) - 1, int(name[1]) - 1] for name in ENTRIES}
    means = layers_of(rocks)
    v = {str(k): tensor[..., i, j] for k, (i, j) in enumerate(elastic_constants.PAIRS, 1)}
    flat = roots({name: mean.mean(1) for name, mean in (means | root_layers_of(v, means)).items()})
    back = np.stack([np.stack([flat[f"root{k}"] for k in row], -1) for row in index], -2)
    back = turn @ back @ np.swapaxes(turn, 1, 2)
    pairs = enumerate(elastic_constants.PAIRS, 1)
    return root_layers_of({str(k): back[:, i, j] for k, (i, j) in pairs}, layers)


def stacked(rocks: np.ndarray, along: int) -> np.ndarray:
    """Return the tensors (cells, n, n) of stacks of layers (cells, layers, n, n).

    The first `along` components lie along the layers, the others across.
    """
    across = np.linalg.inv(rocks[..., along:, along:])
    share = rocks[..., :along, along:] @ across
    rest = rocks[..., :along, :along] - share @ rocks[..., along:, :along]
    normal = np.linalg.inv(across.mean(1))
    mixed = share.mean(1) @ normal
    level = rest.mean(1) + mixed @ np.swapaxes(share.mean(1), 1, 2)
    lower = np.concatenate([np.swapaxes(mixed, 1, 2), normal], 2)
    return np.concatenate([np.concatenate([level, mixed], 2), lower], 1)

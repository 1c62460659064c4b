"""Averages along z for an earth that varies with z only: contacts as sharp as the grid resolves.

The mean over the cell about a node spreads a contact over a width of variance 0 to 1/4 (in cells
squared, depending on its position), and the mean of the two nodes about a half point adds 1/4. For
a wave of wavenumber k that is an error of about (k h)^2 / 8 of the contact's contrast, more than
all other errors of a grid of high order. So the kernel of the average has a smaller variance::

    w(u) = (1 + 2 a) B(u) - a B(u - 1) - a B(u + 1)

at u cells from the node. B is the quadratic B-spline, of variance 1/4; 1/12 is the variance of a
piecewise constant field on the grid. The total variance vanishes for a = 1/6 at the nodes, and for
a = 7/24 in means of two nodes. The moduli of stresses parallel to a contact (`ALONG`) multiply
strains that are continuous with a jump in their slope: there the piecewise constant adds nothing,
and a = 1/8 makes the variance vanish (a = 1/6 has twice the error, a = 0.1 the same; 10 points per
wavelength, contrasts of 1.5 to 3 in velocity). The result is close to a sinc, the sharpest step
that a grid resolves (Mittet 2017, Geophysics 82, T159-T182), and independent of the position of
the contact between the nodes.

Because of the negative weights an average may be less than the values on either side. Where a value
next to a node would fall below `1 - room` of the least around it, it is mixed with the mean over
the cell, equally at all nodes of the contact. The same limit holds for means of two nodes where
these are used: without it a contact 0.4 cells below a node had a shear modulus 3.3 times that of
the rock, an enclosed plate whose waves grow in absorbing layers. Low compliances would make waves
too fast for the time step; moduli of stresses parallel to a contact do not, and only have to stay
positive. Only the mean over the cell is used where the kernel covers fluid and solid, whose contact
is not an effective medium (`seismo.features.contacts.contact`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seismo.grid.grid import CellSizes, moved

REACH = 2  # nodes on either side that a contact's limit is taken from
WIDTH = 5  # cells that the kernel spans
CELLS = WIDTH + 2 * REACH
SAMPLES = 128  # of each


class AveragingKernel(NamedTuple):
    """Weight and limits of the averaging kernel.

    Attributes:
        a: weight of the shifted splines, see above.
        room: relative amount by which an average may be less than the least value around it.
        pairs: the same for means of two neighbours, where these are used.
    """

    a: float
    undershoot: float
    pairs: float | None = None


NODES = AveragingKernel(1.0 / 6.0, 0.05)  # used at the nodes
BETWEEN = AveragingKernel(7.0 / 24.0, 0.7, 0.4)  # means of two neighbours are used
ALONG = AveragingKernel(1.0 / 8.0, 0.5)  # used at the nodes, of stiffness along contacts


def sample_depths(nodes: np.ndarray, sizes: CellSizes) -> np.ndarray:
    """Return the depths (n, CELLS * SAMPLES) m of the samples of columns at nodes (n) m."""
    return moved(sizes, "z", nodes[:, None], _offsets(CELLS))


def average(
    samples: np.ndarray, kernel: AveragingKernel, use_kernel: np.ndarray,
    share: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the averages (n) of columns sampled at `places`.

    Args:
        samples: (n, CELLS * SAMPLES); where they are positive the kernel is limited.
        kernel: `NODES`, `BETWEEN` or `ALONG`.
        use_kernel: (n) where the kernel may be used; elsewhere the mean over the cell is.
        share: (n) of sharp averages, the rest plain (`tensor_share`), in place of own limits.
    """
    cell = _window(samples, 0, 1).mean(axis=1)
    use_kernel = use_kernel & np.isfinite(samples).all(axis=1)  # a fluid's shear compliance is not
    selected = samples[use_kernel]
    weights = _weights(kernel.a)
    kernel_share = _limited(selected, kernel) if share is None else share[use_kernel]
    cell[use_kernel] += kernel_share * (
        _sum(_window(selected, 0, WIDTH), weights) - cell[use_kernel]
    )
    return cell


def _limited(samples: np.ndarray, kernel: AveragingKernel) -> np.ndarray:
    """Return the share (n) of sharp averages that limits leave, alike at all nodes of a contact."""
    weights = _weights(kernel.a)
    kernel_share = np.ones(len(samples))
    previous = None
    for shift in range(-REACH, REACH + 1):
        kernel_window = _window(samples, shift, WIDTH)
        limits = (
            _sum(kernel_window, weights),
            _window(samples, shift, 1).mean(axis=1),
            kernel_window.min(axis=1),
        )
        kernel_share = np.minimum(kernel_share, _share(*limits, kernel.undershoot))
        if previous is not None and kernel.pairs is not None:
            sharpened, mean = (0.5 * (a + b) for a, b in zip(previous[:2], limits[:2], strict=True))
            least = np.minimum(previous[2], limits[2])
            kernel_share = np.minimum(kernel_share, _share(sharpened, mean, least, kernel.pairs))
        previous = limits
    return kernel_share


def tensor_share(samples: np.ndarray, kernel: AveragingKernel) -> np.ndarray:
    """Return the share (n) of sharp averages of tensors that leaves them positive.

    No strain has less energy by an average than by `1 - room` of the least tensor around, at any
    node of the contact. Entries limited singly would belong to no rock.

    Args:
        samples: (n, CELLS * SAMPLES, k, k), positive definite.
        kernel: `NODES` or `ALONG`.
    """
    weights = _weights(kernel.a)[:, None, None]
    share = np.ones(len(samples))
    for shift in range(-REACH, REACH + 1):
        kernel_window = _window(samples, shift, WIDTH)
        cell = _window(samples, shift, 1).mean(axis=1)
        traces = np.trace(kernel_window, axis1=-2, axis2=-1)
        least = kernel_window[np.arange(len(samples)), traces.argmin(axis=1)]
        # cell + share (sharp - cell) - bound is positive up to the eigenvalue -1 / share of this.
        excess = cell - (1.0 - kernel.undershoot) * least
        is_more = np.linalg.eigvalsh(excess)[:, 0] > 0.0
        excess = np.where(is_more[:, None, None], excess, np.eye(excess.shape[-1]))
        change = np.linalg.solve(excess, (kernel_window * weights).sum(axis=1) - cell)
        lowest = np.linalg.eigvals(change).real.min(axis=-1)
        share = np.minimum(share, np.where(is_more, 1.0 / np.maximum(-lowest, 1.0), 0.0))
    return share


def _share(
    sharpened: np.ndarray, mean: np.ndarray, least: np.ndarray, undershoot: float
) -> np.ndarray:
    """Return the share (n) of sharp averages, the rest plain, that keeps to `1 - room` of a least.

    Only where that is positive.
    """
    bound = np.where(least > 0.0, (1.0 - undershoot) * least, -np.inf)
    below_bound = sharpened < bound
    kernel_share = np.ones(len(sharpened))
    kernel_share[below_bound] = (mean[below_bound] - bound[below_bound]) / (
        mean[below_bound] - sharpened[below_bound]
    )
    return kernel_share


def _sum(samples: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weighted sums row by row: rounding in a matrix product depends on the row count."""
    return (samples * weights).sum(axis=1)


def _window(samples: np.ndarray, shift: int, cells: int) -> np.ndarray:
    """Return the samples of so many cells about the node `shift` further down."""
    first = ((CELLS - cells) // 2 + shift) * SAMPLES
    return samples[:, first : first + cells * SAMPLES]


def _offsets(cells: int) -> np.ndarray:
    return (np.arange(cells * SAMPLES) + 0.5) / SAMPLES - 0.5 * cells


def _weights(a: float) -> np.ndarray:
    """Return the weights of the samples; their sum is 1."""
    u = _offsets(WIDTH)
    weights = (1.0 + 2.0 * a) * _spline(u) - a * (_spline(u - 1.0) + _spline(u + 1.0))
    return weights / weights.sum()


def _spline(u: np.ndarray) -> np.ndarray:
    """Return the quadratic B-spline: the box of a cell three times over."""
    u = np.abs(u)
    return np.where(u < 0.5, 0.75 - u**2, np.where(u < 1.5, 0.5 * (1.5 - u) ** 2, 0.0))

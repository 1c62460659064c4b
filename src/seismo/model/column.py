"""Averages down a column, of an earth that varies with z only: contacts as sharp as a grid can.

The mean over the cell about a node spreads a contact over a width of variance 0 to 1/4 (in cells
squared, by where it lies), and the mean of the two nodes about a half point adds 1/4. A wave of
wavenumber k meets that as an error of about (k h)^2 / 8 of the contact's contrast, more than all
other errors of a grid of high order. So the column is weighted by a kernel of less variance::

    w(u) = (1 + 2 a) B(u) - a B(u - 1) - a B(u + 1)

at u cells from the node. B is the quadratic B-spline, of variance 1/4, and 1/12 is the variance of
the steps of a grid: a = 1/6 leaves none at the nodes, 7/24 in means of two nodes. What resists
motion along a contact (`ALONG`) acts on strains that are continuous, whose slopes jump, and is
strongest where they are least: there the steps add nothing, and a = 1/8 leaves none (a = 1/6 has
twice the error, a = 0.1 the same; 10 points per wavelength, contrasts of 1.5 to 3 in velocity).
The result is close to a sinc, the sharpest step that a grid carries (Mittet 2017, Geophysics 82,
T159-T182), and blind to where between nodes a contact lies.

The negative weights make a value less than that of either side. As far as one near a node would
fall below `1 - room` of the least about it, the mean over the cell is mixed in, in all the nodes of
the contact alike. Where means of two nodes are used, so are these: a contact 0.4 cells under a node
had a shear modulus 3.3 times that of the rock, an enclosed plate whose waves grow in absorbing
layers. Low compliances make waves too fast for the time step; what resists motion along
a contact makes none, and has only to stay positive. The mean over the cell stands alone where
the kernel meets fluid and solid, whose contact is no medium
(`seismo.equations.elastic.fluid_solid_contact`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

REACH = 2  # nodes on either side that a contact's limit is taken from
WIDTH = 5  # cells that the kernel spans
CELLS = WIDTH + 2 * REACH
SAMPLES = 128  # of each


class AveragingKernel(NamedTuple):
    """How sharp an average is.

    Attributes:
        a: its weight, see above.
        room: share of the least by which it may fall below that.
        pairs: the same of the means of two neighbours, where these are used.
    """

    a: float
    room: float
    pairs: float | None = None


NODES = AveragingKernel(1.0 / 6.0, 0.05)  # used at the nodes
BETWEEN = AveragingKernel(7.0 / 24.0, 0.7, 0.4)  # means of two neighbours are used
ALONG = AveragingKernel(1.0 / 8.0, 0.5)  # used at the nodes, of what resists motion along contacts


def places(nodes: np.ndarray, spacing: float) -> np.ndarray:
    """Return where to sample the columns of nodes (n) m, (n, CELLS * SAMPLES) m."""
    return nodes[:, None] + _offsets(CELLS) * spacing


def average(values: np.ndarray, kernel: AveragingKernel, sharp: np.ndarray) -> np.ndarray:
    """Return the averages (n) of columns sampled at `places`.

    Args:
        values: (n, CELLS * SAMPLES); where they are positive the kernel is limited.
        kernel: `NODES`, `BETWEEN` or `ALONG`.
        sharp: (n) where the kernel may be used; elsewhere the mean over the cell is.
    """
    cell = _window(values, 0, 1).mean(axis=1)
    sharp = sharp & np.isfinite(values).all(axis=1)  # a fluid's shear compliance is not
    inside, weights = values[sharp], _weights(kernel.a)
    share = np.ones(len(inside))
    before = None
    for shift in range(-REACH, REACH + 1):
        near = _window(inside, shift, WIDTH)
        here = _sum(near, weights), _window(inside, shift, 1).mean(axis=1), near.min(axis=1)
        share = np.minimum(share, _share(*here, kernel.room))
        if before is not None and kernel.pairs is not None:
            sharpened, mean = (0.5 * (a + b) for a, b in zip(before[:2], here[:2], strict=True))
            least = np.minimum(before[2], here[2])
            share = np.minimum(share, _share(sharpened, mean, least, kernel.pairs))
        before = here
    cell[sharp] += share * (_sum(_window(inside, 0, WIDTH), weights) - cell[sharp])
    return cell


def _share(sharpened: np.ndarray, mean: np.ndarray, least: np.ndarray, room: float) -> np.ndarray:
    """Return the share (n) of sharp averages, the rest plain, that keeps to `1 - room` of a least.

    Only where that is positive.
    """
    bound = np.where(least > 0.0, (1.0 - room) * least, -np.inf)
    over = sharpened < bound
    share = np.ones(len(sharpened))
    share[over] = (mean[over] - bound[over]) / (mean[over] - sharpened[over])
    return share


def _sum(samples: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weight and add up row by row: a matrix product would round by how many rows there are."""
    return (samples * weights).sum(axis=1)


def _window(values: np.ndarray, shift: int, cells: int) -> np.ndarray:
    """Return the samples of so many cells about the node `shift` further down."""
    first = ((CELLS - cells) // 2 + shift) * SAMPLES
    return values[:, first : first + cells * SAMPLES]


def _offsets(cells: int) -> np.ndarray:
    return (np.arange(cells * SAMPLES) + 0.5) / SAMPLES - 0.5 * cells


def _weights(a: float) -> np.ndarray:
    """Return the weights of the samples; their sum is 1."""
    u = _offsets(WIDTH)
    weights = (1.0 + 2.0 * a) * _spline(u) - a * (_spline(u - 1.0) + _spline(u + 1.0))
    return weights / weights.sum()


def _spline(u: np.ndarray) -> np.ndarray:
    """Return the quadratic B-spline: the box of one cell three times over."""
    u = np.abs(u)
    return np.where(u < 0.5, 0.75 - u**2, np.where(u < 1.5, 0.5 * (1.5 - u) ** 2, 0.0))

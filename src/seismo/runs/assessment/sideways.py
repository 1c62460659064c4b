"""The error that contacts leave in the traces of an earth that varies sideways, by measured laws.

Contacts that dip or bend have averages over boxes, which are right to first order only; where
fluid meets solid, a staircase of cells. What they err by follows from how unlike neighbouring
nodes are: the errors of the worst of five receivers about a contact, at dips of 5 to 85 degrees and
5 to 14 points in the shortest wavelength, are within a factor of three of the laws (at 45 degrees
the lattice is as fine again, and fluid on solid errs by up to ten times less).
"""

from __future__ import annotations

import numpy as np

from seismo.grid.grid import AXES
from seismo.solver.accuracy import PowerLaw
from seismo.solver.discretization import Discretization

# By the points in a wavelength, for a contrast of 1.
SOLIDS = PowerLaw(0.042, 1.1)  # root of the ratio of stiffnesses, less 1
FLUIDS = PowerLaw(0.032, 2.0)  # logarithm of the ratio of impedances
WET = PowerLaw(1.0, 1.5)  # mu / (mu + kappa): solid's shear modulus, fluid's bulk modulus
_LINES = 30  # that nodes are compared on, spread over each of the other axes


def sideways_error(setup: Discretization) -> float:
    """Return the relative error that contacts leave in the traces of a run."""
    media = setup.waves.passages
    if len(media) < 2:
        return 0.0
    slowest = min(passage.medium.sampled for passage in media)
    return contrast_error(setup, contrasts(setup), slowest)


def contrast_error(setup: Discretization, unlike: np.ndarray, velocity: float) -> float:
    """Return the relative error that contrasts (3) leave in traces of waves of a velocity (m/s)."""
    points = velocity / (setup.waves.spectra.frequency * max(setup.waves.spacing))
    laws = np.array([law(points) for law in (SOLIDS, FLUIDS, WET)])
    return setup.waves.spectra.error(unlike @ laws)


def contrasts(setup: Discretization, between: int = 1) -> np.ndarray:
    """Return the largest contrasts of neighbours: solids, fluids, and fluid with solid (3).

    Args:
        setup: of the run.
        between: places in a cell that are compared, 1 for nodes alone.
    """
    return np.max([_along(setup, axis, between) for axis in setup.grid.axes], axis=0)


def _along(setup: Discretization, axis: str, between: int) -> np.ndarray:
    """Return the contrasts (3) of neighbours along one axis, on lines through the grid."""
    grid = setup.grid
    ticks = {}
    for a in grid.axes:
        n = AXES.index(a)
        first = grid.extent.lo[n]
        last = grid.extent.hi[n]
        every = (
            1.0 / between
            if a == axis
            else max(1, round((last - first) / _LINES ** (0.5 * grid.dimensions - 0.5)))
        )
        ticks[a] = grid.coordinate(a, np.arange(first, last, every))
    z = ticks["z"].reshape(-1, 1, 1)
    x = ticks["x"].reshape(1, 1, -1)
    y = ticks["y"].reshape(1, -1, 1) if "y" in ticks else None
    samples = setup.earth.sample(z, y, x)
    shape = np.broadcast_shapes(*(v.shape for v in samples.values()))
    rho = np.broadcast_to(samples.get("rho", np.ones(shape)), shape)
    vs = np.broadcast_to(samples.get("vs", np.zeros(shape)), shape)
    speed = np.broadcast_to(samples.get("vp", vs), shape)
    along = "zyx".index(axis)

    def pair(of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.delete(of, -1, along), np.delete(of, 0, along)

    stiffness = pair(rho * speed**2)
    impedance = pair(rho * speed)
    shear = pair(rho * vs**2)
    solid = pair(vs > 0.0)
    both = solid[0] & solid[1]
    mixed = solid[0] ^ solid[1]
    unlike = np.sqrt(np.maximum(_ratio(stiffness), _ratio(shear))) - 1.0
    fluid = np.where(solid[0], stiffness[1], stiffness[0])
    share = np.maximum(*shear) / np.maximum(np.maximum(*shear) + fluid, 1e-9)
    measures = (
        (both, unlike), (~solid[0] & ~solid[1], np.log(_ratio(impedance))), (mixed, share)
    )  # fmt: skip
    return np.array([np.max(value, where=where, initial=0.0) for where, value in measures])


def _ratio(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the larger over the smaller of positive numbers, 1 where any is 0."""
    low = np.minimum(*pair)
    high = np.maximum(*pair)
    return np.where(low > 0.0, high / np.where(low > 0.0, low, 1.0), 1.0)

"""The error that contacts leave in the traces of an earth that varies sideways, by measured laws.

Contacts that dip or bend have averages over boxes, which are right to first order only; where
fluid meets solid, a staircase of cells. What they err by follows from how unlike neighbouring
nodes are, and from the points in the wavelength of the slower one of them: the errors of the worst
of five receivers about a contact, at dips of 5 to 85 degrees and 5 to 14 points in the shortest
wavelength, are within a factor of three of the laws (at 45 degrees the lattice is as fine again,
and fluid on solid errs by up to ten times less).

Of what a large body scatters one of half a width a scatters 0.75 k a along each axis where that is
less than 1, k the wavenumber of its slowest waves; the errors of such bodies are unrelated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from seismo.grid.grid import AXES, Grid
from seismo.solver.accuracy import PowerLaw
from seismo.solver.discretization import Discretization

# By the points in a wavelength, for a contrast of 1.
SOLIDS = PowerLaw(0.042, 1.1)  # root of the ratio of stiffnesses, less 1
FLUIDS = PowerLaw(0.032, 2.0)  # logarithm of the ratio of impedances
WET = PowerLaw(1.0, 1.5)  # mu / (mu + kappa): solid's shear modulus, fluid's bulk modulus
_LAWS = (SOLIDS, FLUIDS, WET)
_POWERS = np.array([law.power for law in _LAWS])
# Lines that nodes are compared on, spread over each of the other axes: of the region at least so
# many, and all of a region of so many nodes; of each part that has an extent.
_LINES = 30
_ALL_NODES = 100_000
_LINES_OF_PART = 9
_SCATTERED = 0.75  # by a body, of what a large one does: for k a of 1 along an axis
_SMALL = 0.9  # of what a large body scatters

NodeBox = Mapping[str, tuple[int, int]]  # first and last node by axis
SampledMedia = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # as `_sampled` returns them


def sideways_error(setup: Discretization) -> float:
    """Return the relative error that contacts leave in the traces of a run."""
    if setup.extremes.uniform:
        return 0.0
    spectra = setup.waves.spectra
    mean_frequency = float(np.sqrt((spectra.energy @ spectra.frequency**2).min()))
    small: list[tuple[NodeBox, list[float]]] = []
    boxes = [_region(setup.grid)]
    for box, half_widths in _bodies(setup):
        k = 2.0 * math.pi * mean_frequency / setup.waves.slowest
        if _scattered(k, half_widths) < _SMALL:
            small.append((box, half_widths))
        else:
            boxes.append(box)
    without = [box for box, _ in small]
    squares = _phase(setup, _largest(setup, boxes, without)) ** 2
    for box, half_widths in small:
        slowest = _slowest(setup, box)
        share = _scattered(2.0 * math.pi * spectra.frequency / slowest, half_widths)
        squares = squares + (share * _phase(setup, _largest(setup, [box]))) ** 2
    return spectra.error(np.sqrt(squares))


def _scattered(k: np.ndarray | float, half_widths: Sequence[float]) -> np.ndarray:
    """Return what a body scatters of waves of wavenumbers k in 1/m, over what a large one does."""
    shares = [np.minimum(1.0, _SCATTERED * k * half_width) for half_width in half_widths]
    return np.prod(shares, axis=0)


def hidden_error(setup: Discretization, between: int, share: float) -> float:
    """Return the relative error of what lies between nodes.

    Args:
        setup: of the run.
        between: places in a cell that are compared.
        share: of contrasts that only they have, which counts.
    """
    boxes = [_region(setup.grid), *(box for box, _ in _bodies(setup))]
    hidden = _largest(setup, boxes, between=between) - _largest(setup, boxes)
    return setup.waves.spectra.error(_phase(setup, share * np.maximum(hidden, 0.0)))


def _phase(setup: Discretization, contrasts: np.ndarray) -> np.ndarray:
    """Return the error (n) of each frequency by contrasts (3) as `_largest` returns them."""
    points = 1.0 / (setup.waves.spectra.frequency * max(setup.waves.spacing))
    return contrasts @ np.array([law(points) for law in _LAWS])


def _region(grid: Grid) -> NodeBox:
    return {
        a: (grid.extent.lo[n], grid.extent.hi[n] - 1) for n, a in enumerate(AXES) if a in grid.axes
    }


def _bodies(setup: Discretization) -> list[tuple[NodeBox, list[float]]]:
    """List the nodes about each part that has an extent, and half its widths in m."""
    grid = setup.grid
    region = _region(grid)
    bodies: list[tuple[NodeBox, list[float]]] = []
    for number, model_part in enumerate(setup.earth.model_parts):
        extent = {a: ends for a, ends in getattr(model_part, "extent", {}).items()
                  if ends is not None and a in region}  # fmt: skip
        half_widths = [0.5 * (high - low) for low, high in extent.values()]
        if setup.earth.frame.follows_ground(number):
            extent.pop("z", None)
        if half_widths:
            box = {a: _about(grid, a, extent[a], ends) if a in extent else ends
                   for a, ends in region.items()}  # fmt: skip
            bodies.append((box, half_widths))
    return bodies


def _about(
    grid: Grid, axis: str, interval: tuple[float, float], ends: tuple[int, int]
) -> tuple[int, int]:
    """Return the first and the last node about an interval in m, within the ends of a region."""
    first, last = (float(grid.index(axis, end)) for end in interval)
    nodes = np.clip([math.ceil(first) - 1, math.floor(last) + 1], *ends)
    return int(nodes[0]), int(nodes[1])


def _largest(
    setup: Discretization, boxes: Sequence[NodeBox], without: Sequence[NodeBox] = (),
    between: int = 1,
) -> np.ndarray:  # fmt: skip
    """Return the largest contrasts of neighbours: solids, fluids, and fluid with solid (3).

    Each over that power of the velocity in m/s of the slower one that its law has of the points.

    Args:
        setup: of the run.
        boxes: nodes that are compared.
        without: those between which neighbours do not count.
        between: places in a cell that are compared, 1 for nodes alone.
    """
    worst = np.zeros(len(_LAWS))
    for number, box in enumerate(boxes):
        sampled: dict[bytes, SampledMedia] = {}  # boxes that are compared whole have one lattice
        for axis in setup.grid.axes:
            index = _lattice(box, axis, between, 0 if number else _LINES)
            lattice = b"".join(nodes.astype(float).tobytes() for nodes in index.values())
            if lattice not in sampled:
                sampled[lattice] = _sampled(setup, index)
            counted = ~_within(index, without)
            worst = np.maximum(worst, _along(axis, sampled[lattice], counted))
    return worst


def _lattice(box: NodeBox, axis: str, between: int, least: int) -> dict[str, np.ndarray]:
    """Return indices by axis: all nodes along one, so many as there are lines along others."""
    length = box[axis][1] - box[axis][0] + 1
    lines = _LINES_OF_PART
    if least:
        lines = max(least, int((_ALL_NODES / length) ** (1.0 / (len(box) - 1))))
    return {
        a: np.arange(first, last + 1.0 / between, 1.0 / between)
        if a == axis
        else np.unique(np.linspace(first, last, min(lines, last - first + 1)).round())
        for a, (first, last) in box.items()
    }


def _slowest(setup: Discretization, box: NodeBox) -> float:
    """Return the velocity in m/s of the slowest wave in the middle and at the faces of a box."""
    *_, speeds = _sampled(setup, {a: np.linspace(*ends, 3) for a, ends in box.items()})
    return float(speeds.min())


def _sampled(setup: Discretization, index: Mapping[str, np.ndarray]) -> SampledMedia:
    """Return rho, rho vp^2, rho vs^2 (z, y, x) and, in cells at the top, the slowest velocity."""
    grid = setup.grid
    z, x = (grid.coordinate(a, index[a]) for a in "zx")
    y = grid.coordinate("y", index["y"])[:, None] if "y" in index else None
    samples = setup.earth.sample(z[:, None, None], y, x)
    shape = np.broadcast_shapes(*(v.shape for v in samples.values()))
    rho = np.broadcast_to(samples.get("rho", np.ones(shape)), shape)
    vs = np.broadcast_to(samples.get("vs", np.zeros(shape)), shape)
    vp = np.broadcast_to(samples.get("vp", vs), shape)
    height = grid.heights(index["z"])[:, None, None]
    return rho, rho * vp**2, rho * vs**2, np.where(vs > 0.0, vs, vp) / height


def _along(axis: str, media: SampledMedia, counted: np.ndarray) -> np.ndarray:
    """Return the largest contrasts (3) of neighbours along one axis, as `_largest` does.

    Neighbours count where one of them is `counted` (z, y, x).
    """
    along = "zyx".index(axis)

    def pair(of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.delete(of, -1, along), np.delete(of, 0, along)

    rho, bulk, rigidity, speeds = media
    stiffness = pair(bulk)
    impedance = pair(np.sqrt(rho * bulk))
    shear = pair(rigidity)
    solid = pair(rigidity > 0.0)
    both = solid[0] & solid[1]
    mixed = solid[0] ^ solid[1]
    either = np.any(pair(counted), axis=0)
    unlike = np.sqrt(np.maximum(_ratio(stiffness), _ratio(shear))) - 1.0
    fluid = np.where(solid[0], stiffness[1], stiffness[0])
    share = np.maximum(*shear) / np.maximum(np.maximum(*shear) + fluid, 1e-9)
    slower = np.minimum(*pair(speeds))
    measures = (
        (both, unlike), (~solid[0] & ~solid[1], np.log(_ratio(impedance))), (mixed, share)
    )  # fmt: skip
    return np.array([
        np.max(value / slower**power, where=where & either, initial=0.0)
        for (where, value), power in zip(measures, _POWERS, strict=True)
    ])  # fmt: skip


def _within(index: Mapping[str, np.ndarray], boxes: Sequence[NodeBox]) -> np.ndarray:
    """Return which nodes (z, y, x) of a lattice lie in any of some boxes."""
    within = np.zeros(tuple(len(index.get(a, (0,))) for a in "zyx"), bool)
    for box in boxes:
        inside = [
            np.flatnonzero((index[a] >= box[a][0]) & (index[a] <= box[a][1])) if a in index else [0]
            for a in "zyx"
        ]
        within[np.ix_(*inside)] = True
    return within


def _ratio(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the larger over the smaller of positive numbers, 1 where any is 0."""
    low = np.minimum(*pair)
    high = np.maximum(*pair)
    return np.where(low > 0.0, high / np.where(low > 0.0, low, 1.0), 1.0)

"""The error that contacts leave in the traces of an earth that varies sideways, by measured laws.

Contacts that dip or bend have averages over boxes, which are right to first order only; where fluid
meets solid, a staircase of cells. The error of a wave across a contact follows from the contrast of
neighbouring nodes, and from the points in the wavelength of the slower medium: the laws are met
within a factor of three (at 45 degrees the lattice is as fine again, and fluid on solid errs less).

Averages are exact to second order where a contact lies along the grid, which errs by a share of the
law (`_ALONG_GRID`). Contacts of solids that dip by d err by sqrt(sin 2d) of it besides.

The error of a trace is the scattering of parts of contacts to its receiver, over the direct wave.
Parts no larger than a wavelength / (2 pi) scatter coherently, others are unrelated, so that an
error e of the law leaves, in n dimensions, with the distances r_s of the source, r_r of the
receiver and r between them::

    error^2 = 1 / pi  integral  e^2 (r / (2 r_s r_r))^(n - 1)  dS

which is e^2 for a plane half way; times the energy that the source radiates to the part over that
to the receiver, by its direction. A body errs in no more than its volume: thinner than the cell
that averages are taken over, in that share of it.

Contacts of tilted rock are counted as contacts of rock whose axis is upright
(`seismo.equations.framework.declaration.LayeredWaves`), which knows nothing of a rock that goes on
about another axis. With the constants C of both rocks, each in its own c33, that adds about

    e = factor |C - C'| / |C| (10 / p)^2,    |C|^2 the sum of squares of all c_ijkl

at p points in the wavelength. It overestimates small tilts without any other change, by the
interpolation of strains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.acquisition.sources import PointSource
from seismo.equations.rock import elastic_constants
from seismo.grid.grid import AXES, Grid
from seismo.runs.prediction.contacts.directivity import is_isotropic, radiated, wave_shares
from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization

# By the points in a wavelength, for a contrast of 1.
SOLIDS = PowerLaw(0.042, 1.1)  # root of the ratio of stiffnesses, less 1
FLUIDS = PowerLaw(0.032, 2.0)  # logarithm of the ratio of impedances
WET = PowerLaw(1.0, 1.5)  # mu / (mu + kappa): solid's shear modulus, fluid's bulk modulus
_LAWS = (SOLIDS, FLUIDS, WET)
_POWERS = np.array([law.power for law in _LAWS])
# Lines that nodes are compared on, spread over each of the other axes: of the region at least so
# many, and all of so many nodes; of each part that has an extent, its share of these.
LINES = 30
ALL_NODES = 100_000
LINES_OF_PART = 9
_MOST_ENDS = 50  # sources, and receivers, that waves are scattered between
_MOST_FACES = 2000
_LEAST_DIRECT = 0.15  # energy by direction, of the mean of all, that counts; at most 1
_ALONG_GRID = 0.4  # of the error of contacts that dip: that of contacts along the grid
_ALONG = 16  # places in a cell, by which a dip is known
_PLACES = 5  # along an axis, where the motion is wanted everywhere
STAIRS = {2: math.pi / 4.0, 3: 2.0 / 3.0}  # area over that of its stairs, mean of all directions

NodeBox = Mapping[str, tuple[int, int]]  # first and last node by axis
SampledMedia = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # as `_sampled` returns them


class LocalPart(NamedTuple):
    """A part of the model: its number, the nodes about it, and half its widths in m."""

    number: int
    box: NodeBox
    half_widths: list[float]


class Faces(NamedTuple):
    """Faces between nodes that are unlike.

    Attributes:
        contrasts: (3, n) as `contrasts_along` returns them.
        positions: (n, 3) m.
        areas: (n) m^2, m in 2-D.
    """

    contrasts: np.ndarray
    positions: np.ndarray
    areas: np.ndarray


def sideways_error(discretization: Discretization) -> float:
    """Return the relative error that contacts leave in the traces of a run."""
    if discretization.extremes.uniform:
        return 0.0
    return scattered_error(discretization, _faces(discretization), laws_of(discretization))


def scattered_error(discretization: Discretization, faces: Faces, laws: np.ndarray) -> float:
    """Return the relative error that faces leave in the worst trace.

    Args:
        discretization: of the run.
        faces: where contrasts (law, n) are.
        laws: error (law, frequency) of a contrast of 1, at the frequencies of the run.
    """
    if not faces.areas.size:
        return 0.0
    squares = np.concatenate([
        faces.contrasts**2 @ (faces.areas * shares).T
        for shares in _shares(discretization, faces.positions)
    ], axis=1)  # fmt: skip
    spectra = discretization.waves.spectra
    worst = (laws**2 @ spectra.energy.mean(axis=0) @ squares).argmax()
    return spectra.error(np.sqrt(squares[:, worst] @ laws**2))


def _shares(discretization: Discretization, at: np.ndarray) -> Iterator[np.ndarray]:
    """Yield which share (path, n) of an error, for each unit of area, places send to receivers."""
    waves = discretization.waves
    spectra = waves.spectra
    mean_frequency = float(np.sqrt((spectra.energy @ spectra.frequency**2).min()))
    nearest = waves.slowest / (2.0 * math.pi * mean_frequency)

    columns = [AXES.index(axis) for axis in discretization.grid.axes]

    def distances(ends: np.ndarray, others: np.ndarray) -> np.ndarray:
        lengths = np.linalg.norm((ends[:, None] - others[None])[..., columns], axis=-1)
        return np.maximum(lengths, nearest)

    sources = [source for shot in discretization.shots for source in shot.sources]
    by_position = {tuple(source.position): source for source in sources if source.is_local}
    local = np.array([source.position for source in sources if source.is_local]).reshape(-1, 3)
    power = discretization.grid.dimensions - 1
    paths = list(paths_of(local, discretization.groups))
    if not paths or discretization.scenario.output.maps:
        paths.append((local, _everywhere(discretization.grid)))
    for starts, ends in paths:
        acting, reading = (thinned(positions, _MOST_ENDS) for positions in (starts, ends))
        from_receivers = distances(reading, at)
        shares = [(1.0 / (2.0 * from_receivers)) ** power]
        shares *= any(not source.is_local for source in sources)
        for position in acting:
            straight = distances(reading, position[None])
            share = straight / (2.0 * distances(position[None], at) * from_receivers)
            source = by_position.get(tuple(position.tolist()))
            directed = _directed(discretization, source, reading, at) if source else 1.0
            shares.append(share**power * directed)
        yield np.concatenate(shares) / math.pi


def _directed(
    discretization: Discretization, source: PointSource, reading: np.ndarray, at: np.ndarray
) -> np.ndarray | float:
    """Return the energy (path, n) that a source sends to places over that to its receivers.

    Waves that it sends elsewhere reach receivers, too, where it sends them the least.
    """
    medium = discretization.earth.at(np.array([source.position]), discretization.grid.dimensions)
    vp, vs = (float(np.ravel(medium.get(name, 0.0))[0]) for name in ("vp", "vs"))
    if not (vp and vs) or is_isotropic(source):
        return 1.0
    of_moments = 2 * (source.kind != "force")
    waves = wave_shares(vp, vs, discretization.grid.dimensions + 1 + of_moments)
    energy = radiated(source, waves, np.concatenate([reading, at]) - source.position).sum(axis=0)
    energy = np.clip(energy, _LEAST_DIRECT, 1.0)
    return np.asarray(energy[len(reading) :] / energy[: len(reading), None])


def _everywhere(grid: Grid) -> np.ndarray:
    """Return places (n, 3) spread over the region."""
    ends = region(grid)
    ticks = [
        grid.coordinate(a, np.linspace(*ends[a], _PLACES)) if a in ends else [0.0] for a in AXES
    ]
    return np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 3)


def _faces(discretization: Discretization) -> Faces:
    """Return the faces between unlike nodes, of each part in proportion to its volume."""
    bodies = bodies_of(discretization)
    boxes = [body.box for body in bodies]
    nodes = ALL_NODES // (len(boxes) + 1)
    face_sets = [_faces_of(discretization, region(discretization.grid), (LINES, nodes), boxes)]
    for body in bodies:
        faces = _faces_of(discretization, body.box, (LINES_OF_PART, nodes))
        thickness = 1.0 / sum(1.0 / max(width, 1e-9) for width in body.half_widths)
        filled = min(1.0, thickness / max(discretization.waves.spacing))
        face_sets.append(faces._replace(contrasts=filled * faces.contrasts))
    every = joined(face_sets)
    chosen = thinned(np.arange(every.areas.size), _MOST_FACES)
    areas = every.areas[chosen] * every.areas.size / max(chosen.size, 1)
    return Faces(every.contrasts[:, chosen], every.positions[chosen], areas)


def joined(faces: Sequence[Faces]) -> Faces:
    """Return all faces of the sets."""
    return Faces(
        np.concatenate([each.contrasts for each in faces], axis=1),
        np.concatenate([each.positions for each in faces]),
        np.concatenate([each.areas for each in faces]),
    )


def _faces_of(
    discretization: Discretization,
    box: NodeBox,
    least: tuple[int, int],
    without: Sequence[NodeBox] = (),
) -> Faces:
    """Return the faces of a box of nodes, except faces inside other boxes.

    Args:
        discretization: of the run.
        box: nodes that are compared.
        least: lines, and nodes, that `lattice` is to have.
        without: other boxes.
    """
    grid = discretization.grid
    face_sets = []
    media = dict[tuple[bytes, ...], SampledMedia]()  # small boxes have one lattice for all axes
    for axis in grid.axes:
        index = lattice(box, axis, 1, *least)
        key = tuple(nodes.tobytes() for nodes in index.values())
        if key not in media:
            media[key] = sampled(discretization, index)
        signed = contrasts_along(axis, media[key], ~within(index, without))
        sudden = np.stack([_sudden(contrast, "zyx".index(axis)) for contrast in signed])
        every = np.argwhere(sudden.any(axis=0))
        z, y, x = thinned(every, _MOST_FACES).T
        nodes = {a: index[a][n] + 0.5 * (a == axis) for a, n in (("x", x), ("y", y), ("z", z))
                 if a in index}  # fmt: skip
        sides = {a: grid.spacing[AXES.index(a)] * (box[a][1] - box[a][0] + 1) / index[a].size
                 for a in index if a != axis}  # fmt: skip
        area = STAIRS[grid.dimensions] * math.prod(sides.values()) * len(every)
        areas = np.full(x.size, area / max(x.size, 1))
        if axis != "z":
            areas = areas * grid.heights(nodes["z"])
        positions = [grid.coordinate(a, nodes[a]) if a in nodes else 0.0 * areas for a in AXES]
        contrasts = sudden[:, z, y, x]
        contrasts[0] *= np.sqrt(_ALONG_GRID**2 + _slant(discretization, axis, nodes))
        face_sets.append(Faces(contrasts, np.stack(positions, axis=-1), areas))
    return joined(face_sets)


def _slant(
    discretization: Discretization, axis: str, nodes: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return sin(2 dip) of faces (n) at nodes, by how far they move along an axis across a cell."""
    grid = discretization.grid
    steps = (np.arange(_ALONG) + 0.5) / _ALONG - 0.5
    squares = np.zeros(len(nodes[axis]))

    def stiffness(shifts: Mapping[str, np.ndarray | float]) -> np.ndarray:
        at = {a: grid.coordinate(a, n[:, None] + shifts.get(a, 0.0)) for a, n in nodes.items()}
        _, bulk, rigidity, _ = media_at(discretization, at["z"], at.get("y"), at["x"])
        return np.log(np.maximum(bulk + rigidity, 1e-9))

    ends = stiffness({axis: np.array([-0.5, 0.5])})
    jump = np.maximum(np.abs(ends[:, 1] - ends[:, 0]), 1e-9)[:, None]
    for other in nodes:
        if other != axis:
            low, high = (stiffness({axis: steps, other: side}) for side in (-0.5, 0.5))
            squares += np.minimum(np.abs(high - low) / jump, 1.0).mean(axis=1) ** 2
    slope = np.sqrt(squares)
    return np.minimum(2.0 * slope / (1.0 + slope**2), 1.0)


def _sudden(signed: np.ndarray, along: int) -> np.ndarray:
    """Return the part of node-to-node contrasts that their neighbours do not share."""
    last = signed.shape[along] - 1
    if last < 1:
        return np.abs(signed)
    before, after = (
        np.take(signed, np.clip(np.arange(last + 1) + n, 0, last), axis=along) for n in (-1, 1)
    )
    alike = (before * signed > 0.0) & (after * signed > 0.0)
    steady = np.where(alike, np.minimum(np.abs(before), np.abs(after)), 0.0)
    return np.asarray(np.maximum(np.abs(signed) - steady, 0.0))


def laws_of(discretization: Discretization) -> np.ndarray:
    """Return the laws (3, n) at the frequencies of a run, of waves of 1 m/s."""
    points = 1.0 / (discretization.waves.spectra.frequency * max(discretization.waves.spacing))
    return np.array([law(points) for law in _LAWS])


def region(grid: Grid) -> NodeBox:
    """Return the first and the last node of the region along each axis."""
    return {
        a: (grid.extent.lo[n], grid.extent.hi[n] - 1) for n, a in enumerate(AXES) if a in grid.axes
    }


def bodies_of(discretization: Discretization) -> list[LocalPart]:
    """List the parts of the model that have an extent."""
    grid = discretization.grid
    region_ends = region(grid)
    bodies = []
    for number, model_part in enumerate(discretization.earth.model_parts):
        extent = {a: ends for a, ends in getattr(model_part, "extent", {}).items()
                  if ends is not None and a in region_ends}  # fmt: skip
        half_widths = [0.5 * (high - low) for low, high in extent.values()]
        if discretization.earth.frame.follows_ground(number):
            extent.pop("z", None)
        if half_widths:
            box = {a: _about(grid, a, extent[a], ends) if a in extent else ends
                   for a, ends in region_ends.items()}  # fmt: skip
            bodies.append(LocalPart(number, box, half_widths))
    return bodies


def _about(
    grid: Grid, axis: str, interval: tuple[float, float], ends: tuple[int, int]
) -> tuple[int, int]:
    """Return the first and the last node about an interval in m, within the ends of a region."""
    first, last = (float(grid.index(axis, end)) for end in interval)
    nodes = np.clip([math.ceil(first) - 1, math.floor(last) + 1], *ends)
    return int(nodes[0]), int(nodes[1])


def lattice(box: NodeBox, axis: str, between: int, lines: int, nodes: int) -> dict[str, np.ndarray]:
    """Return indices by axis: all nodes along the axis, a number of lines along others."""
    length = box[axis][1] - box[axis][0] + 1
    lines = max(lines, int((nodes / length) ** (1.0 / (len(box) - 1))))
    return {
        a: np.arange(first, last + 1.0 / between, 1.0 / between)
        if a == axis
        else np.unique(np.linspace(first, last, min(lines, last - first + 1)).round())
        for a, (first, last) in box.items()
    }


def sampled(discretization: Discretization, index: Mapping[str, np.ndarray]) -> SampledMedia:
    """Return rho, rho vp^2, rho vs^2 (z, y, x) and, in cells at the top, the slowest velocity."""
    grid = discretization.grid
    z, x = (grid.coordinate(a, index[a]) for a in "zx")
    y = grid.coordinate("y", index["y"])[:, None] if "y" in index else None
    rho, bulk, rigidity, slowest = media_at(discretization, z[:, None, None], y, x)
    return rho, bulk, rigidity, slowest / grid.heights(index["z"])[:, None, None]


def media_at(
    discretization: Discretization, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
) -> SampledMedia:
    """Return rho, rho vp^2, rho vs^2 and the slowest velocity at coordinates in m (broadcast)."""
    samples = discretization.earth.sample(z, y, x)
    shape = np.broadcast_shapes(*(v.shape for v in samples.values()))
    rho = np.broadcast_to(samples.get("rho", np.ones(shape)), shape)
    vs = np.broadcast_to(samples.get("vs", np.zeros(shape)), shape)
    vp = np.broadcast_to(samples.get("vp", vs), shape)
    return rho, rho * vp**2, rho * vs**2, np.where(vs > 0.0, vs, vp)


def contrasts_along(axis: str, media: SampledMedia, counted: np.ndarray) -> np.ndarray:
    """Return the contrasts (3, z, y, x) of neighbours along an axis, as used in laws.

    They are positive where the next node is stiffer. Neighbours count where one of them is
    `counted` (z, y, x).
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
    either = np.any(pair(np.broadcast_to(counted, rho.shape)), axis=0)
    unlike = np.sqrt(np.maximum(_ratio(stiffness), _ratio(shear))) - 1.0
    fluid = np.where(solid[0], stiffness[1], stiffness[0])
    share = np.maximum(*shear) / np.maximum(np.maximum(*shear) + fluid, 1e-9)
    # A fluid has no SH waves.
    slower = np.minimum(*pair(np.where(speeds > 0.0, speeds, np.inf)))
    follows = np.where(stiffness[1] + shear[1] < stiffness[0] + shear[0], -1.0, 1.0)
    measures = (
        (both, unlike), (~solid[0] & ~solid[1], np.log(_ratio(impedance))), (mixed, share)
    )  # fmt: skip
    return np.stack([
        np.where(where & either, follows * value / slower**power, 0.0)
        for (where, value), power in zip(measures, _POWERS, strict=True)
    ])  # fmt: skip


def within(index: Mapping[str, np.ndarray], boxes: Sequence[NodeBox]) -> np.ndarray:
    """Return which nodes (z, y, x) of a lattice lie in any box."""
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


TURNED = PowerLaw(0.0118, 2.0)  # of |C - C'| = |C|
_BESIDE = 0.05  # of a cell: where rocks are asked for


def turned_error(discretization: Discretization) -> float:
    """Return the error of the traces; 0 where no strains are coupled, or no axis changes."""
    depths = discretization.contact_depths
    if not discretization.physics.interpolates or not len(depths):
        return 0.0
    little = _BESIDE * discretization.grid.spacing[2]
    z = np.stack([depths - little, depths + little], -1).ravel()
    samples = discretization.earth.sample(z, None)
    solid = samples["vs"] > 0.0
    rocks = {name: np.broadcast_to(value, z.shape) for name, value in samples.items()}
    # c_ijkl over c33 of rock whose axis is upright, rho vp^2.
    voigt = elastic_constants.VOIGT
    stiffness = elastic_constants.stiffness_of(rocks)
    tensor = stiffness[..., voigt[:, :, None, None], voigt[None, None]].reshape(len(z), -1)
    scaled = tensor / (rocks["rho"] * rocks["vp"] ** 2)[:, None]
    pairs = [
        float(np.linalg.norm(b - a) / np.linalg.norm(a))
        for n, (a, b) in enumerate(pairwise(scaled))
        if n % 2 == 0 and solid[n] and solid[n + 1]
    ]
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * discretization.grid.spacing[2])
    return max(pairs, default=0.0) * waves.spectra.error(TURNED(points))

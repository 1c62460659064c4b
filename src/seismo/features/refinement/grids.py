"""The discretization of a scenario on two grids, a finer above a plane and a coarser below.

Each has its own spacing, order, closure and layers. They share the time step, and have equal
layers, for the fastest wave and the waves guided by the ground above.

The finer grid moves the plane, and stresses of the coarser act on it: in rock that is faster below,
they may be too stiff for the step of either grid. The scheme is

    L = largest eigenvalue of inv(M) B^T C B,    dt <= 2 / sqrt(L),

with B the strains of velocities, C the stiffness, M the mass. As the exchange is adjoint in the
norms (`seismo.features.refinement.operators`), B suffices: strains of the finer grid of its own
velocities, and of the coarser grid of v* = R v_fine, too. Along the plane rock is taken as uniform,
of the largest stiffness and the least density of a row: waves of a wavenumber k_a of the coarser
grid, and in the finer grid of the three (in 3-D nine) that R aliases to it,

    k_a + 2 pi j / (3 h_a),    j = -1, 0, 1,

each with differences' symbols s_a. Depths count from the plane into each grid. Symbols: h spacing
(m), rho (kg/m3), moduli (Pa).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from seismo.errors import ScenarioError, gathered
from seismo.features.refinement.levels import above_plane, levels, showing
from seismo.features.refinement.operators import FACTOR, PlaneColumn, plane_column, to_coarse
from seismo.features.refinement.plane import at_plane, refuse_plane
from seismo.features.topography.ground import PlaneAboveGroundError
from seismo.grid.coefficients import staggered_symbol
from seismo.grid.grid import AXES
from seismo.grid.interpolation import harmonic_means
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average, without_losses
from seismo.scenario import Scenario
from seismo.solver.accuracy.time_step import make_clock, normal_stiffness, shear_stiffness
from seismo.solver.accuracy.waves import are_converted
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import damped, field_damping
from seismo.solver.grid_layout import Level, ground_over

_WAVENUMBERS = (0.0, 0.5, 1.0)  # of the coarser grid, of its largest
_ALIASES = (0, -1, 1)
_LOSSY = 0.98  # of the limit of media that attenuate, by unrelaxed moduli: 0.983 found at Q = 6
_SLAB = 1 << 21  # nodes sampled at a time

Blocks = dict[tuple[int, str], np.ndarray]  # matrices by wave and component of the velocity
OnLevel = Callable[[Scenario, Level, Any], Discretization]


@dataclass(frozen=True)
class _Side:
    """One grid from the plane on.

    Attributes:
        height: spacing along z in m.
        rows: differences and norms, spacing 1.
        rho: (nodes) density.
        normal: (nodes, axes, axes) root of the stiffness of normal strains.
        shear: (nodes) stiffness of each pair of axes.
    """

    height: float
    rows: PlaneColumn
    rho: np.ndarray
    normal: np.ndarray
    shear: dict[str, np.ndarray]


@dataclass(frozen=True)
class _PlaneWave:
    """A wave along the plane in a grid.

    Attributes:
        side: its grid.
        symbols: of differences along axes, in 1/m.
        read: weight of R for each component; none in the coarser grid.
    """

    side: _Side
    symbols: dict[str, float]
    read: dict[str, float] | None


def plane_limit(above: Discretization, below: Discretization) -> float:
    """Return the longest stable step in s of motion at the plane between two grids."""
    sides = _side(above), _side(below)
    across = above.grid.axes[:-1]
    moving = [field.name[1:] for field in above.physics.fields if field.late]
    largest = 0.0
    for shares in product(_WAVENUMBERS, repeat=len(across)):
        waves = list(_waves((above, below), sides, dict(zip(across, shares, strict=True)), moving))
        largest = max(largest, _highest(waves, moving))
    return (1.0 if above.earth.relaxation is None else _LOSSY) * 2.0 / largest


def _side(discretization: Discretization) -> _Side:
    """Return a grid from the plane on, with the bounds of its rock."""
    rows = plane_column(discretization.stencil)
    count = rows.node_norm.size
    nodes = GridCells.of(discretization.live_grid)
    if discretization.earth.layered:
        nodes = nodes.column
    # Rows at the plane, in blocks.
    depths = nodes.z[-count:] if discretization.subdivision > 1 else nodes.z[:count]
    across = nodes.x.size * (1 if nodes.y is None else nodes.y.size)
    slabs = np.array_split(depths, min(depths.size, 1 + depths.size * across // _SLAB))
    bounds = [_bounds(discretization, replace(nodes, z=slab)) for slab in slabs]
    rock = {}
    for name in bounds[0]:
        downwards = np.concatenate([bound[name] for bound in bounds])
        from_plane = downwards[::-1] if discretization.subdivision > 1 else downwards
        rock[name] = np.pad(from_plane, (0, count - depths.size), "edge")
    axes = [a for a in discretization.grid.axes if f"c{a}{a}" in rock]
    normal = np.zeros((count, len(axes), len(axes)))
    for (m, a), (n, b) in product(enumerate(axes), repeat=2):
        normal[:, m, n] = rock[f"c{a}{b}"]
    squares, vectors = np.linalg.eigh(normal)
    root = np.sqrt(squares.clip(min=0.0))[:, :, None] * np.swapaxes(vectors, 1, 2)
    shear = {name[1:]: moduli for name, moduli in rock.items() if name[0] == "s"}
    return _Side(discretization.grid.spacing[2], rows, rock["rho"], root, shear)


def _bounds(discretization: Discretization, nodes: GridCells) -> dict[str, np.ndarray]:
    """Return the least rho, the largest normal stiffnesses cab and shear ones sab of rows (n)."""
    names = without_losses(discretization.physics.medium)
    averaging = discretization.scenario.averaging
    medium = cell_average(discretization.own_earth, nodes, names, averaging, dtype=np.float64)
    beside = tuple(range(1, medium["rho"].ndim))
    stresses = {field.name for field in discretization.physics.fields}
    bounds = {"rho": medium["rho"].min(axis=beside)}
    for a, b in ("xz", "yz", "xy"):
        if f"s{a}{b}" in stresses:
            bounds[f"s{a}{b}"] = shear_stiffness(medium, a, b).max(axis=beside)
    if "szz" in stresses:
        for a, b in product(discretization.grid.axes, repeat=2):
            bounds[f"c{a}{b}"] = normal_stiffness(medium, a, b).max(axis=beside)
    return bounds


def _waves(
    setups: tuple[Discretization, Discretization], sides: tuple[_Side, _Side],
    shares: dict[str, float], moving: Sequence[str],
) -> Iterator[_PlaneWave]:  # fmt: skip
    """Yield waves of the finer grid that R aliases, and their wave of the coarser grid.

    Args:
        setups: of the finer and the coarser grid.
        sides: the same from the plane on.
        shares: of the largest wavenumber of the coarser grid, by axes along the plane.
        moving: components of the velocity.
    """
    fine, coarse = setups

    def symbol(discretization: Discretization, axis: str, angle: float) -> float:
        spacing = discretization.grid.spacing[AXES.index(axis)]
        return float(staggered_symbol(discretization.stencil.first, np.array([angle]))[0]) / spacing

    for aliases in product(_ALIASES, repeat=len(shares)):
        angles = {
            a: np.pi * (share + 2 * j) / FACTOR
            for (a, share), j in zip(shares.items(), aliases, strict=True)
        }
        symbols = {a: symbol(fine, a, angle) for a, angle in angles.items()}
        read = {
            c: float(np.prod([_averaged(angles[a], j, a == c)
                              for a, j in zip(angles, aliases, strict=True)]))
            for c in moving
        }  # fmt: skip
        yield _PlaneWave(sides[0], symbols, read)
    symbols = {a: symbol(coarse, a, np.pi * share) for a, share in shares.items()}
    yield _PlaneWave(sides[1], symbols, None)


def _averaged(angle: float, alias: int, is_half: bool) -> float:
    """Return the symbol of R along an axis, at so many radians for a fine cell."""
    offsets, weights = to_coarse(is_half)
    phase = angle * (offsets - int(is_half))
    # Between coarse points waves a turn apart differ in sign.
    return float(np.cos(phase) @ weights) * (-1.0) ** (alias * is_half)


def _highest(waves: Sequence[_PlaneWave], moving: Sequence[str]) -> float:
    """Return the highest frequency in rad/s, the root of the largest eigenvalue."""
    columns: dict[tuple[int, str], slice] = {}
    masses = []
    end = 0
    for n, wave in enumerate(waves):
        side = wave.side
        mass = side.height * side.rows.node_norm * side.rho
        between = 0.5 * (side.rho[:-1] + side.rho[1:])
        half_mass = side.height * side.rows.half_norm * between
        for c in moving:
            masses.append(half_mass if c == "z" else mass)
            columns[n, c] = slice(end, end + masses[-1].size)
            end += masses[-1].size
    strains = []
    for n in range(len(waves)):
        for root, blocks in _strains(waves, n, moving):
            strain = np.zeros((root.size, end))
            for key, block in blocks.items():
                strain[:, columns[key]] += root[:, None] * block
            strains.append(strain)
    # C^1/2 B M^-1/2
    scaled = np.vstack(strains) / np.sqrt(np.concatenate(masses))
    return float(np.sqrt(np.linalg.eigvalsh(scaled.T @ scaled)[-1]))


def _strains(
    waves: Sequence[_PlaneWave], n: int, moving: Sequence[str]
) -> Iterator[tuple[np.ndarray, Blocks]]:
    """Yield roots of the weights (rows) of strains in a wave's grid, and their parts."""
    side = waves[n].side
    symbols = waves[n].symbols
    rows = side.rows
    height = side.height
    halves, nodes = (np.sqrt(height * norm) for norm in (rows.half_norm, rows.node_norm))
    up, down_z = _across(waves, n)
    level = np.eye(rows.node_norm.size)
    # e_az = d v_a / dz + s_a v_z at half points
    for a in (c for c in moving if c != "z"):
        blocks = {key: block for key, block in up.items() if key[1] == a}
        if "z" in moving:
            blocks[n, "z"] = symbols[a] * np.eye(rows.half_norm.size)
        yield halves * np.sqrt(harmonic_means(side.shear[f"{a}z"])), blocks
    # e_xy = s_x v_y + s_y v_x at nodes
    if "y" in moving:
        blocks = {(n, "y"): symbols["x"] * level}
        if "y" in symbols:
            blocks[n, "x"] = symbols["y"] * level
        yield nodes * np.sqrt(side.shear["xy"]), blocks
    # e_aa = -s_a v_a, e_zz = d v_z / dz at nodes, combined by the root of the stiffness
    for k in range(side.normal.shape[1]):
        of_axes = dict(zip((*symbols, "z"), side.normal[:, k].T, strict=True))
        blocks = {(n, a): -of_axes[a][:, None] * s * level for a, s in symbols.items()}
        blocks |= {key: of_axes["z"][:, None] * block for key, block in down_z.items()}
        yield nodes, blocks


def _across(waves: Sequence[_PlaneWave], n: int) -> tuple[Blocks, Blocks]:
    """Return differences away from the plane: of fields at nodes, and of v_z.

    By the value on the plane f* = f[0] or l f of a grid's own, in the coarser R f* of the finer,
    whose v_z has the opposite sign, as depths count upwards there.
    """
    wave = waves[n]
    rows = wave.side.rows
    height = wave.side.height
    down = -(rows.up.T * rows.half_norm) / rows.node_norm[:, None] / height
    on_plane = np.eye(1, rows.node_norm.size)
    at_node = np.eye(rows.node_norm.size)[:, :1] / rows.node_norm[0] / height
    jump = (rows.extrapolation / rows.half_norm)[:, None] / height
    moving = [pair[0] for pair in wave.side.shear if pair[1] == "z"]
    if wave.read is not None:
        up: Blocks = {(n, a): rows.up / height for a in moving}
        return up, {(n, "z"): down - at_node * rows.extrapolation}
    up = {(n, a): rows.up / height + jump * on_plane for a in moving}
    down_z: Blocks = {(n, "z"): down}
    for m, other in enumerate(waves):
        if other.read is not None:
            of = other.side.rows
            first = np.eye(1, of.node_norm.size)
            up |= {(m, a): -jump * first * other.read[a] for a in moving}
            if "z" in other.read:
                down_z[m, "z"] = at_node * of.extrapolation * other.read["z"]
    return up, down_z


def discretize_grids(scenario: Scenario, on_level: OnLevel) -> Discretization | None:
    """Discretize a scenario on two grids; None where it has no plane of refinement.

    Args:
        scenario: its plane is known.
        on_level: function(scenario, level, ground) -> the discretization of one of the grids.

    Raises:
        ScenarioError: a grid or the plane will not do.
    """
    if not scenario.grid.planes:
        return None
    try:
        return _on_both(scenario, on_level)
    except PlaneAboveGroundError as error:
        # Problems of the plane that the ground needs are reported as well.
        try:
            _on_both(at_plane(scenario, error.enough), on_level)
        except ScenarioError as others:
            at = f" (with the plane at z = {error.enough:g} m, which the ground needs)"
            raise ScenarioError(*error.messages, *(text + at for text in others.messages)) from None
        raise


def _on_both(scenario: Scenario, on_level: OnLevel) -> Discretization:
    """Discretize a scenario on the grids on both sides of its plane."""
    fine, coarse = levels(scenario)
    ground = ground_over(scenario, fine.grid)

    def on_grid(level: Level) -> Discretization:
        return on_level(scenario, level, ground)

    grids = gathered(partial(on_grid, level) for level in (fine, coarse))
    # S waves of either side cross the plane.
    if are_converted(*(discretization.waves for discretization in grids)):
        fine, coarse = (_converting(level) for level in (fine, coarse))
        grids = [
            discretization if discretization.waves.shear else on_grid(level)
            for discretization, level in zip(grids, (fine, coarse), strict=True)
        ]
    # Common time step: the shortest of both, and of motion at the plane.
    clocks = [discretization.clock for discretization in grids]
    clocks.append(make_clock(scenario, plane_limit(*grids), 1.0))
    dt = min(clock.dt for clock in clocks)
    shortest = next(clock for clock in clocks if clock.dt == dt)
    clock = replace(shortest, limit=min(clock.limit for clock in clocks))
    above, below = (
        discretization if discretization.clock.dt == dt
        else on_grid(level.stepped(dt))
        for discretization, level in zip(grids, (fine, coarse), strict=True)
    )  # fmt: skip
    # Outputs across the plane are refused; outputs above it are those of the finer grid.
    assert coarse.interface is not None
    plane = coarse.interface.row
    refuse_plane(scenario, above, below)
    names = above_plane(scenario, below.grid, below.physics, below.clock, plane)
    # Layers are alike on both: for the fastest wave, and the waves guided by the ground above.
    fastest = [side.fastest for side in (above, below)]
    guided = field_damping(replace(below, closure=above.closure), max(fastest))
    above, below = (
        damped(replace(side, fastest_beside=other, clock=clock), guided)
        for side, other in zip((above, below), reversed(fastest), strict=True)
    )
    above = replace(above, scenario=showing(above.scenario, names))
    # Rows above the plane, of the coarser grid, are not updated, and so not corrected.
    contacts = below.slips
    kept = tuple(contact for contact in contacts.corrected if contact.row >= plane)
    below = below.having(replace(contacts, corrected=kept))
    return replace(below, scenario=scenario, above=above)


def _converting(level: Level) -> Level:
    """Return a grid with S waves that come across its plane."""
    assert level.interface is not None
    return replace(level, interface=replace(level.interface, converted=True))

"""A plane wave in the layered earth about a box, as the grid itself carries it: a column of rows.

For a frequency, exp(s t), and a horizontal slowness every column of the background has the same
motion, but for a factor exp(-s p . x). What the formulas of a step make of it (`column_formulas`)
is a linear system of all fields in all rows: differences, closed rows under a free surface, means
of the medium and the time step are the scheme's own, so nothing of the wave is left for the box to
scatter. Unknown are the fields U after the last stage that writes them; before it they stand for
U / z, z = exp(s dt).

Below the rows the half-space goes on. The up-going wave there is a mode exp(kappa z) of the
difference equations, the down-going their decaying solution: with rows in blocks,

    A- u[n-1] + A0 u[n] + A+ u[n+1] = 0,      u[n+1] = T u[n]

T comes from cyclic reduction, which halves the rows in each turn (Bini & Meini 1996).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import sparse

from seismo.equations.framework.table import Physics
from seismo.features.plane_waves.column_formulas import (
    ColumnDifferences,
    RowSum,
    stage_updates,
)

# Powers of 1 / z, and axes of the horizontal derivatives that a matrix still lacks.
MatrixFactor = tuple[int, str]
Matrices = dict[MatrixFactor, sparse.csr_array]
_MOST_TURNS = 64  # of the cyclic reduction, each of twice as many rows
_ROUNDING = 1e-13  # of a root
_SINGULAR = 1e-4  # of the largest singular value: belong to solutions of the equations
_SMALL = 1e-15  # of the couplings that are left


class Injected(NamedTuple):
    """What a stage makes of derivatives of the wave along an axis.

    Attributes:
        stage: its name.
        field: that it changes.
        axis: of the derivatives; their numbers are left out along x and y.
        terms: matrix (row, row) for each differentiated field.
    """

    stage: str
    field: str
    axis: str
    terms: dict[str, sparse.csr_array]


class Mode(NamedTuple):
    """An up-going wave in the half-space, at a frequency.

    Attributes:
        s: of exp(s t), in the time of the grid, 1/s.
        z: exp(s dt).
        slope: of exp(kappa z), kappa in 1/m.
        symbols: axis -> factor of a horizontal derivative, 1/m.
        velocity: component -> particle velocity of the incident wave at the reference row.
    """

    s: complex
    z: complex
    slope: complex
    symbols: Mapping[str, complex]
    velocity: Mapping[str, complex]


class IncidentColumn:
    """The fields of a wave in a column, by frequency."""

    def __init__(
        self, physics: Physics, matrices: ColumnDifferences, model: Mapping[str, np.ndarray],
        even: Mapping[str, np.ndarray], rows: int, block: int, scale: float, spacing: float,
        reference: int,
    ) -> None:  # fmt: skip
        """Set up the equations.

        Args:
            physics: the wave equation.
            matrices: differences along z, of `rows` + 3 `block` rows.
            model: coefficients (row); from row `rows` - 2 `block` on they are the half-space's.
            even: by stage, (row) whether its formula is that of isotropic planes.
            rows: to solve for, a multiple of `block`.
            block: the most rows that a difference reaches.
            scale: stress in Pa of a particle velocity of 1 m/s, about.
            spacing: m of the rows of the half-space.
            reference: row of the half-space at which `Mode.velocity` is that of the incident wave.
        """
        self.physics = physics
        self.rows = rows
        self._block = block
        self._spacing = spacing
        self._reference = reference
        self._total = matrices.up.shape[0]
        # What is never differentiated comes last, and is eliminated.
        fields = sorted(physics.fields, key=lambda field: field.remembers)
        self._names = [field.name for field in fields]
        self._units = [scale if field.unit == "Pa" else 1.0 for field in fields]
        self._kept = sum(not field.remembers for field in fields)
        self._half = np.array([0.5 * ("z" in field.half) for field in fields[: self._kept]])
        self.injected: list[Injected] = []
        self._read: dict[str, dict[str, Matrices]] = {}  # fields that each stage sees
        self._entries = _Entries(self._composed(matrices, model, even))

    def _composed(
        self, matrices: ColumnDifferences, model: Mapping[str, np.ndarray], even: Mapping
    ) -> Matrices:
        """Return U minus the step of U / z, as matrices (unknown, unknown)."""
        size = self._total * len(self._names)
        row = np.arange(self._total)
        # Unknowns row by row, eliminated ones last; in units that make all of equal size.
        picks = {}
        for n, name in enumerate(self._names):
            at = row * self._kept + n if n < self._kept else self._total * n + row
            entries = (np.full(row.size, self._units[n]), (row, at))
            picks[name] = sparse.csr_array(entries, shape=(row.size, size))
        now: dict[str, Matrices] = {name: {(1, ""): pick} for name, pick in picks.items()}
        last = {name: stage.name for stage in self.physics.stages for name in stage.writes}
        system: Matrices = {}
        # Stages in order: each sees the results of the previous.
        for stage in self.physics.stages:
            updates = stage_updates(self.physics, stage, matrices, model, even.get(stage.name))
            self._read[stage.name] = dict(now)
            self.injected += _derivatives(self.physics.axes, stage.name, updates)
            for name, update in {n: _composition(u, now) for n, u in updates.items()}.items():
                now[name] = update
                if last[name] != stage.name:
                    continue
                # Its last stage: an equation for the field itself.
                now[name] = {(0, ""): picks[name]}
                put = (picks[name] * self._units[self._names.index(name)] ** -2).T.tocsr()
                equation = _added({(0, ""): picks[name]}, update, -1.0)
                system = _added(system, {f: (put @ m).tocsr() for f, m in equation.items()})
        return system

    def fields(self, mode: Mode) -> np.ndarray:
        """Return the unknowns (row * field) of all rows under an incident wave, none eliminated."""
        edge = self.rows * self._kept
        size = self._block * self._kept
        system = self._entries.of(mode, self._total * self._kept)
        # Blocks of the half-space, whose rows are all alike.
        below = _block_of(system, slice(edge, edge + size), slice(edge - size, edge + 2 * size))
        behind, centre, ahead = np.hsplit(below, 3)
        going_down = _transfer(behind, centre, ahead)
        # Total motion above, outgoing below:
        # u[n+1] = wave[n+1] + T (u[n] - wave[n]) behind the last block of rows.
        wave = self._incident(*self._mode_of(below[: self._kept], mode), mode)
        right = -ahead @ (wave[size:] - going_down @ wave[:size])
        count = self.rows // self._block
        return _rising_solution(system, size, count, ahead @ going_down, right)

    def reading(self, stage: str, name: str, matrix: sparse.csr_array) -> Matrices:
        """Return matrices that give a matrix times a field, in a stage, from the unknowns."""
        count = self.rows * self._kept
        return {
            factor: (matrix @ m[: self.rows, :count]).tocsr()
            for factor, m in self._read[stage][name].items()
        }

    def _mode_of(self, rows: np.ndarray, mode: Mode) -> tuple[complex, np.ndarray]:
        """Return kappa h of the incident wave, and the equations of its amplitudes, singular there.

        Args:
            rows: (field, row * field) coefficients of the first row below, from a block above on.
            mode: of a frequency, with kappa of rock that loses nothing.
        """
        count = self._kept
        # Amplitudes of exp(kappa z) stand apart: offsets in rows.
        away = np.arange(-self._block, 2 * self._block)[:, None, None]
        away = away + self._half - self._half[:, None]
        coefficients = rows.reshape(count, -1, count).transpose(1, 0, 2)
        # From the root of lossless rock, which is exact where nothing is remembered.
        step = mode.slope * self._spacing
        for _ in range(_MOST_TURNS):
            terms = coefficients * np.exp(step * away)
            symbol = terms.sum(0)
            if self._kept == len(self._names):
                break
            # Newton's step to det = 0: 1 / trace(K^-1 dK/d kappa).
            try:
                change = 1.0 / np.trace(np.linalg.solve(symbol, (terms * away).sum(0)))
            except np.linalg.LinAlgError:
                break  # it is 0 to the last bit
            step -= change
            if abs(change) <= _ROUNDING * abs(step):
                break
        return step, symbol

    def _incident(self, step: complex, symbol: np.ndarray, mode: Mode) -> np.ndarray:
        """Return the incident wave in the last block of rows and the next (row * field).

        Loss makes the direction of `Mode.velocity` complex; its square is the same.
        """
        names = self._names[: self._kept]
        # Velocities stand half a step later than t = step dt.
        known = np.array([name in mode.velocity for name in names])
        wanted = np.array([mode.velocity[n] for n in names if n in mode.velocity]) * np.sqrt(mode.z)
        # Solutions of the equations of a row: a wave, or S waves of either polarisation.
        _, sizes, rows = np.linalg.svd(symbol)
        waves = rows[sizes <= _SINGULAR * sizes[0]].conj().T
        # Of these the wave most similar to that in lossless rock, scaled to its size.
        shares = np.linalg.lstsq(waves[known], wanted, rcond=None)[0]
        moved = waves[known] @ shares
        amplitudes = waves @ shares * np.sqrt((wanted @ wanted) / (moved @ moved))
        at = np.arange(self.rows - self._block, self.rows + self._block) - self._reference
        return (amplitudes * np.exp(step * (at[:, None] + self._half))).ravel()


class _Entries:
    """The numbers of a matrix that is a sum of matrices times numbers of the frequency."""

    def __init__(self, matrices: Matrices) -> None:
        summands = [matrix.tocoo() for matrix in matrices.values()]
        self._at = tuple(
            np.concatenate([getattr(summand, name) for summand in summands])
            for name in ("row", "col")
        )
        self._data = np.concatenate([summand.data for summand in summands])
        self._summand = np.repeat(np.arange(len(summands)), [summand.nnz for summand in summands])
        self._factors = list(matrices)
        self._shape = summands[0].shape

    def of(self, mode: Mode, kept: int) -> sparse.coo_array:
        """Return the matrix of a frequency, of unknowns from a number on without coupling.

        These depend on themselves and on the first ones, and are eliminated.
        """
        factors = np.array([number(mode, factor) for factor in self._factors])
        numbers = self._data * factors[self._summand]
        if kept == self._shape[0]:
            return sparse.coo_array((numbers, self._at), shape=self._shape)
        matrix = sparse.csr_array((numbers, self._at), shape=self._shape)
        # What a memory variable keeps of itself, and takes from the first unknowns.
        diagonal = matrix[kept:, kept:].diagonal()
        remembered = sparse.diags_array(1.0 / diagonal) @ matrix[kept:, :kept]
        return (matrix[:kept, :kept] - matrix[:kept, kept:] @ remembered).tocoo()


def _block_of(matrix: sparse.coo_array, rows: slice, columns: slice) -> np.ndarray:
    """Return ranges of rows and columns of a matrix."""
    is_inside = (matrix.row >= rows.start) & (matrix.row < rows.stop)
    is_inside &= (matrix.col >= columns.start) & (matrix.col < columns.stop)
    block = np.zeros((rows.stop - rows.start, columns.stop - columns.start), complex)
    at = (matrix.row[is_inside] - rows.start, matrix.col[is_inside] - columns.start)
    np.add.at(block, at, matrix.data[is_inside])
    return block


def _rising_solution(
    matrix: sparse.coo_array, size: int, count: int, last: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the solution of the first rows and columns, of `count` blocks of a size.

    They couple neighbouring blocks, but the first ones, under a free surface, all of each other.
    A block is added to the last, which alone has the right-hand side.
    """
    edge = size * count
    is_inside = (matrix.row < edge) & (matrix.col < edge)
    row = matrix.row[is_inside]
    column = matrix.col[is_inside]
    data = matrix.data[is_inside]
    away = column // size - row // size
    # So many blocks at the top are taken as a single block.
    farther = np.abs(away) > 1
    joined = 1 + int(np.maximum(row, column)[farther].max(initial=0)) // size
    top = np.zeros((joined * size, joined * size), complex)
    first = (row < len(top)) & (column < len(top))
    np.add.at(top, (row[first], column[first]), data[first])
    # Blocks before, on and behind the diagonal, (block, which, row, column).
    at = ((row // size * 3 + away + 1) * size + row % size) * size + column % size
    at = at[~farther]
    data = data[~farther]
    blocks = np.bincount(at, data.real, 3 * size * edge) + 0j
    blocks += 1j * np.bincount(at, data.imag, 3 * size * edge)
    blocks = blocks.reshape(count, 3, size, size)
    blocks[-1, 1] += last
    # Block elimination from the top (Thomas): u[n] = -upward[n] u[n+1] above the up-going wave.
    upward = []
    diagonal = top
    for n in range(joined, count):
        ahead = np.zeros((len(diagonal), size), complex)
        ahead[-size:] = blocks[n - 1, 2]
        upward.append(np.linalg.solve(diagonal, ahead))
        diagonal = blocks[n, 1] - blocks[n, 0] @ upward[-1][-size:]
    solution = [np.linalg.solve(diagonal, right)]
    for step in reversed(upward):
        solution.append(-step @ solution[-1][:size])
    return np.concatenate(solution[::-1])


def _derivatives(axes: str, stage: str, updates: Mapping[str, RowSum]) -> list[Injected]:
    """Return the terms of derivatives along each axis in the fields of a stage."""
    injected: list[Injected] = []
    for axis in axes:
        for name, update in updates.items():
            terms = {g: matrix for (g, along), matrix in update.terms.items() if along == axis}
            if terms:
                injected.append(Injected(stage, name, axis, terms))
    return injected


def _composition(update: RowSum, now: Mapping[str, Matrices]) -> Matrices:
    """Return an update of fields that are themselves functions of the unknowns."""
    # Matrices multiply; a horizontal derivative adds its axis to the factor left out.
    total: Matrices = {}
    for (name, axis), matrix in update.terms.items():
        for (power, axes), inner in now[name].items():
            factor = (power, axes + axis.replace("z", ""))
            total = _added(total, {factor: (matrix @ inner).tocsr()})
    return total


def _added(first: Matrices, second: Matrices, factor: float = 1.0) -> Matrices:
    total = dict(first)
    for key, matrix in second.items():
        total[key] = total[key] + matrix * factor if key in total else matrix * factor
    return total


def number(mode: Mode, factor: MatrixFactor) -> complex:
    """Return the factor that a matrix has been left without."""
    power, axes = factor
    number = mode.z**-power
    for axis in axes:
        number *= mode.symbols[axis]
    return number


def _transfer(behind: np.ndarray, centre: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Return T of u[n+1] = T u[n], the decaying solution of blocks that are all alike."""
    first = centre.copy()
    down = behind
    up = ahead
    middle = centre
    for _ in range(_MOST_TURNS):
        # Every second block is eliminated (Bini & Meini 1996, cyclic reduction).
        solved = np.linalg.solve(middle, np.hstack([down, up]))
        from_behind, from_ahead = np.hsplit(solved, 2)
        change = up @ from_behind
        first = first - change
        if np.abs(change).max() <= _SMALL * np.abs(first).max():
            break
        # What is left: blocks twice as far apart.
        middle = middle - down @ from_ahead - change
        down = -down @ from_behind
        up = -up @ from_ahead
    return -np.linalg.solve(first, behind)

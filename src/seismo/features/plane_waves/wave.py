"""Terms that a plane wave adds to the fields about its box: signals of rows, and their points.

Fields inside the box are of all waves, outside of all but the incident wave f. A difference that
reaches across the boundary takes part of its values from the other side, and lacks

    sum over j of  c_j (chi_i - chi_j) f_j,      chi = 1 inside, 0 outside,

at point i. Across x and y the sum is over columns, which have the same motion at other times: a
signal for each row and a short filter for each column (`retarded_filters`). Across z it is over
rows, of which each column has the same sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from scipy import sparse

from seismo.acquisition.time_dispersion import add_dispersion
from seismo.exact import Spectrum, transform
from seismo.features.plane_waves.column import (
    IncidentColumn,
    Injected,
    MatrixFactor,
    Mode,
    number,
)
from seismo.features.plane_waves.column_formulas import differences
from seismo.features.plane_waves.delays import (
    IncidentTerm,
    RetardedFilters,
    SignalBand,
    WaveColumns,
    middle,
    retarded_filters,
    wave_columns,
)
from seismo.features.plane_waves.plane_wave import PlaneWave, WaveBox, box_of
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Box
from seismo.solver.discretization import Discretization
from seismo.solver.medium.coefficients import coefficients_of, medium_of


def background(
    discretization: Discretization, box: WaveBox, count: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the coefficients (row) at the first corner of a box, and by stage the even rows.

    Rows beyond the grid are as the last row.

    Args:
        discretization: the run.
        box: of a plane wave.
        count: rows.
    """
    grid = discretization.grid
    nz = grid.points[2]
    cut = {"y": (False, False), "z": (False, False)}
    (x, y, _) = box.first
    column = Subdomain(grid, Box((x, y, 0), (x + 1, y + 1, nz)), discretization.halo, cut)
    arrays = coefficients_of(discretization, column, medium_of(discretization, column))
    # Beyond the last row the half-space goes on.
    rows = np.minimum(np.arange(count), nz - 1)
    model = {}
    for name, array in arrays.items():
        # Planes z with their halo, and y with its own where the earth varies along it.
        middle = array.shape[1] // 2
        along = np.broadcast_to(array[:, middle, 0], nz + 2 * discretization.halo)
        model[name] = along[rows + discretization.halo]
    return model, {stage: planes[rows] for stage, planes in discretization.even.items()}


_SUPPRESSED = 1e-8  # of waves that arrive a period of the transform late
_EVANESCENT = (2, 1e-4)  # periods of the transform, and the rest of a wave one period late
_ABOVE = 1e-3  # of the damping: frequency that stands for zero
_CUT = 1e-12  # of the spectrum: frequencies that are left out
_PASSED = (2.2, 2.8)  # points per wavelength in the half-space: none below, all above
_EARLIER = 0.06  # of a delay: so much earlier come waves of 9 steps a period
_LEAST = 1e-3  # of the incident motion: the largest in the column, also of grazing waves
_MOST = 30.0  # of the incident motion at the bottom of the box, reflections included
_SPARE = 64  # samples before the first step and behind the last, which filters reach


class IncidentWave:
    """A plane wave on the grid of a run.

    Attributes:
        box: in which the run has all of it.
        injected: terms of the formulas that read it.
        samples: steps of its signals.
    """

    def __init__(self, discretization: Discretization, wave: PlaneWave) -> None:
        self._discretization = discretization
        self._wave = wave
        grid = discretization.grid
        self._removal = discretization.scenario.time.dispersion_removal
        self.box = box_of(discretization, wave)
        block = discretization.stencil.order // 2
        rows = block * -(-(self.box.last[2] + 2 * block + 2) // block)
        self._rows = rows
        model, even = background(discretization, self.box, rows + 3 * block)
        index = np.minimum(np.arange(rows + 3 * block), grid.points[2] - 1)
        heights = np.array([grid.heights(index), grid.heights(index + 0.5)])
        # Rows down to a few below the box, and blocks of the half-space behind them.
        spacing = grid.spacing[2]
        self._height = spacing * float(heights[0, -1])
        self._column = IncidentColumn(
            discretization.physics,
            differences(discretization.stencil, discretization.closure, spacing, heights),
            model, even, rows, block, wave.impedance, self._height, self.box.last[2],
        )  # fmt: skip
        self.injected = self._column.injected
        # Signals begin before step 0: high frequencies come earlier than their delay.
        span = sum(
            abs(along) * (self.box.last[a] - self.box.first[a]) * grid.spacing[a]
            for a, along in enumerate(wave.level)
        )
        early = span / wave.velocity / discretization.clock.dt * _EARLIER if self._removal else 0.0
        self._ahead = _SPARE + int(early)
        self.samples = discretization.total_steps + self._ahead + _SPARE

    def terms(self) -> Iterator[IncidentTerm]:
        """Yield the terms that each stage's differences lack."""
        spectrum = self.spectrum()
        band = self.band(spectrum)
        acting = [(term, *self.shares(term)) for term in self.injected]
        acting = [(term, rows, matrices) for term, rows, matrices in acting if rows.size]
        ends = np.cumsum([0, *(rows.size for _, rows, _ in acting)])
        # Matrices that read the rows of all terms, stacked, from the unknowns.
        reading: dict[MatrixFactor, list] = {}
        for n, (term, _, matrices) in enumerate(acting):
            for name, matrix in matrices.items():
                for factor, m in self._column.reading(term.stage, name, matrix).items():
                    reading.setdefault(factor, []).append(_placed(m, ends[n], ends[-1]))
        sums = {
            factor: sum(summands[1:], summands[0]).tocsr() for factor, summands in reading.items()
        }
        transfer = self._transfer(spectrum, sums, ends[-1])
        # Filters of the same columns serve several fields.
        filters: dict[tuple, RetardedFilters] = {}
        for n, (term, rows, _) in enumerate(acting):
            # Where it acts, and how late the wave comes to each column.
            columns = self.columns(term)
            if columns is None:
                continue
            segments, references = self.segments(columns, band)
            kind = self._kind(term)
            if kind not in filters:
                filters[kind] = retarded_filters(
                    columns.y.delays, columns.x.delays, references[segments], band
                )
            signals = [
                self._signals(spectrum, transfer[ends[n] : ends[n + 1]], delay).T
                for delay in references
            ]
            yield IncidentTerm(
                term.stage,
                term.field,
                (columns.x.points, columns.y.points, rows),
                columns.numbers,
                columns.scales,
                np.array(signals, self._discretization.scenario.arithmetic),
                segments,
                filters[kind]._replace(lags=filters[kind].lags - self._ahead),
            )

    def _transfer(
        self, spectrum: Spectrum, sums: Mapping[MatrixFactor, sparse.csr_array], rows: int
    ) -> np.ndarray:
        """Return matrices' products with the column (row, frequency).

        Raises:
            ScenarioError: the column's motion is not of the wave's size.
        """
        transfer = np.zeros((rows, spectrum.s.size), complex)
        physics = self._discretization.physics
        every_row = sparse.eye_array(self._rows, format="csr")
        moved = [
            self._column.reading(physics.stages[0].name, field.name, every_row)
            for field in physics.fields
            if field.name in ("vx", "vy", "vz")
        ]
        motion = np.zeros((len(moved), self._rows, spectrum.s.size), complex)
        # The column, frequency by frequency.
        for n, s in enumerate(spectrum.s):
            if self._wave.evanescent and s.imag == 0.0:
                s += _ABOVE * 1j * s.real  # at s itself waves neither grow nor decay with depth
            mode = self._mode(s)
            unknowns = self._column.fields(mode)
            for factor, matrix in sums.items():
                transfer[:, n] += (matrix @ unknowns) * number(mode, factor)
            for component, matrices in zip(motion, moved, strict=True):
                for factor, matrix in matrices.items():
                    component[:, n] += (matrix @ unknowns[: matrix.shape[1]]) * number(mode, factor)
        self._refuse_unlike(spectrum, motion)
        return transfer

    def _refuse_unlike(self, spectrum: Spectrum, motion: np.ndarray) -> None:
        """Raise ScenarioError where motion (component, row, frequency) is not of the wave's size.

        Below the box there is the incident wave, and its reflection by the earth above: its energy
        is no larger.
        """
        wave_peak = float(np.abs(spectrum.to_time(np.ones(spectrum.s.size))).max())
        peaks = np.sqrt((spectrum.to_time(motion) ** 2).sum(axis=0)).max(axis=-1)
        bottom = float(peaks[self.box.last[2]])
        if _LEAST * wave_peak <= peaks.max() and bottom <= _MOST * wave_peak:
            return  # not where either is not a number
        scenario = self._discretization.scenario
        number_of_source = self._discretization.shots[0].points.index(self._wave)
        problem = (
            f"a plane wave of {wave_peak:.3g} m/s moves the bottom of its box at {bottom:.3g} m/s, "
            "which no layers above it reflect: the grid's equations have no such wave in this "
            "earth; change margin, grid.spacing or the rock there, and please report the scenario"
        )
        raise scenario.mistake("sources", number_of_source, problem=problem)

    def segments(self, columns: WaveColumns, band: SignalBand) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each delay's signals, and the delays in steps of all of them."""
        late = middle(columns.y.delays, columns.x.delays)
        if not np.isfinite(band.segment):
            return np.zeros(late.size, np.int32), np.zeros(1)
        numbers, segments = np.unique(np.round(late / band.segment), return_inverse=True)
        return segments.astype(np.int32), numbers * band.segment

    def _signals(self, spectrum: Spectrum, transfer: np.ndarray, delay: float) -> np.ndarray:
        """Return signals (row, step), dispersed as after a delay in steps, but not so late."""
        dt = self._discretization.clock.dt
        s = spectrum.s
        level = 2.0 / dt * np.sinh(0.5 * s * dt) if self._removal else s
        # The columns want exp(-level d), their lags make exp(-s d).
        shift = np.exp((s - level) * delay * dt - s * self._ahead * dt)
        return spectrum.to_time(transfer * shift)[:, : self.samples]

    def spectrum(self) -> Spectrum:
        """Return the particle velocity of the incident wave where it comes to the box first."""
        discretization = self._discretization
        dt = discretization.clock.dt
        # The wavelet, with the dispersion that is taken from the traces again (Koene et al. 2018).
        samples = self._wave.signal(np.arange(self.samples) * dt, 0)
        samples = samples * self._wave.strength[""]
        if self._removal:
            samples = add_dispersion(samples, dt)
        # What is evanescent begins before all waves: no Laplace transform takes it, but at small
        # damping, for which the transform is longer.
        longer, suppressed = _EVANESCENT if self._wave.evanescent else (1, _SUPPRESSED)
        samples = np.pad(samples, (0, (longer - 1) * samples.size))
        spectrum = transform(samples, dt, suppressed, _CUT)
        # No waves that the grid does not carry.
        shortest = 2.0 * np.pi * self._wave.velocity / (np.abs(spectrum.s) * self._height)
        low, high = _PASSED
        share = np.clip((shortest - low) / (high - low), 0.0, 1.0)
        passed = share > 0.0
        amplitudes = spectrum.amplitudes * np.sin(0.5 * np.pi * share) ** 2
        return Spectrum(
            spectrum.s[passed], amplitudes[passed], spectrum.bins[passed], spectrum.dt,
            spectrum.count, spectrum.padded,
        )  # fmt: skip

    def band(self, spectrum: Spectrum) -> SignalBand:
        """Return the spectrum of the signals from 0 to its highest frequency."""
        full = np.zeros(spectrum.bins[-1] + 1)
        full[spectrum.bins] = np.abs(spectrum.amplitudes)
        highest = 2.0 * np.pi * (full.size - 1) / spectrum.padded
        return SignalBand(full / full.max(), highest, self._removal)

    def _mode(self, s: complex) -> Mode:
        """Return the incident wave of a frequency, as the difference equations have it."""
        discretization = self._discretization
        dt = discretization.clock.dt
        first = discretization.stencil.first
        arms = np.arange(len(first)) + 0.5
        rate = 2.0 / dt * np.sinh(0.5 * s * dt)  # d/dt
        level = rate if self._removal else s

        def slope(number: complex, h: float) -> complex:
            """d/dx of exp(number x)."""
            return 2.0 / h * complex(first @ np.sinh(number * arms * h))

        # Horizontal derivatives of exp(-s p . x): p is that of the true wave.
        slowness = 1.0 / self._wave.velocity
        symbols = {
            axis: slope(-level * along * slowness, discretization.grid.spacing[AXES.index(axis)])
            for axis, along in zip("xy", self._wave.level, strict=True)
        }
        # Dispersion relation: (d/dt)^2 = c^2 (d/dx^2 + d/dy^2 + d/dz^2), z up.
        across = np.sqrt((rate * slowness) ** 2 - sum(d**2 for d in symbols.values()))
        across = across if across.real > 0.0 else -across
        kappa = s * slowness * np.cos(self._wave.incidence)
        h = self._height
        for _ in range(50):  # Newton
            change = (slope(kappa, h) - across) / complex(
                2.0 * first @ (arms * np.cosh(kappa * arms * h))
            )
            kappa -= change
            if abs(change) <= 1e-15 * abs(kappa):
                break
        velocity = self._velocity(symbols, across, rate * slowness)
        named = {f"v{a}": velocity[a] for a in "xyz"}
        moved = {f.name: named[f.name] for f in discretization.physics.fields if f.name in named}
        z = np.exp(s * dt)
        return Mode(s, z, kappa, symbols, moved)

    def _velocity(
        self, symbols: Mapping[str, complex], across: complex, gradient: complex
    ) -> dict[str, complex]:
        """Return the particle velocity of amplitude 1.

        Args:
            symbols: horizontal derivatives.
            across: vertical slowness.
            gradient: d/dt over the velocity of the wave.
        """
        azimuth = self._wave.azimuth
        # Horizontal direction as the differences see it; the derivative along it.
        x = complex(np.cos(azimuth))
        y = complex(np.sin(azimuth))
        radial = np.sqrt(symbols["x"] ** 2 + symbols["y"] ** 2)
        if (radial * np.conj(x * symbols["x"] + y * symbols["y"])).real < 0.0:
            radial = -radial
        if self._wave.level != (0.0, 0.0):
            x = symbols["x"] / radial
            y = symbols["y"] / radial
        if self._wave.wave == "SH":
            return {"x": -y, "y": x, "z": 0.0}
        # Sine and cosine of the incidence, as the differences see them.
        along = -radial / gradient
        up = across / gradient
        if self._wave.wave == "P":
            return {"x": along * x, "y": along * y, "z": -up}
        return {"x": up * x, "y": up * y, "z": along}

    def shares(self, term: Injected) -> tuple[np.ndarray, dict]:
        """Return the rows that a term acts in, and matrices (row, row of the column) for these."""
        named = self._discretization.physics.named
        index = np.arange(self._rows)
        is_inside = self.box.inside("z", "z" in named(term.field).half, index)
        matrices = {name: matrix[: self._rows, : self._rows] for name, matrix in term.terms.items()}
        if term.axis != "z":
            return index[is_inside], {n: m[is_inside] for n, m in matrices.items()}
        # Across z: chi_i - chi_j for each of its numbers.
        reached = np.zeros(self._rows, bool)
        masked = {}
        for name, matrix in matrices.items():
            inside_there = self.box.inside("z", "z" in named(name).half, index)
            # c_ij (chi_i - chi_j)
            entries = matrix.tocoo()
            chi = is_inside[entries.row].astype(float) - inside_there[entries.col]
            entries.data = entries.data * chi
            entries.eliminate_zeros()
            reached[entries.row] = True
            masked[name] = entries.tocsr()
        return index[reached], {name: matrix[reached] for name, matrix in masked.items()}

    def columns(self, term: Injected) -> WaveColumns | None:
        """Return the columns that a term acts in, and how late the wave comes to them."""
        return wave_columns(self._discretization, self._wave, self.box, term.axis, term.field)

    def _kind(self, term: Injected) -> tuple[str, bool, bool]:
        """Return the key of a term's columns."""
        half = self._discretization.physics.named(term.field).half
        return term.axis, "x" in half, "y" in half


def _placed(matrix: sparse.csr_array, first: int, rows: int) -> sparse.csr_array:
    """Return a matrix of more rows that contains this one."""
    entries = matrix.tocoo()
    shape = (rows, matrix.shape[1])
    return sparse.csr_array((entries.data, (entries.row + first, entries.col)), shape=shape)

"""Finite faults on the grid: each subfault a moment tensor with its own moment rate.

    M_ij(t) = mu A (n_i d_j + n_j d_i) u(t),

mu the rigidity, A the area, n and d the directions of the fault's normal and of the slip u, in the
axes of the grid, whose north is that at the subfault. Area times slip, the potency, is the file's;
a rigidity is the file's, or that of the model where the subfault lies.

There may be a million of them. They are kept in arrays, and the run is checked against a sample:
the ends, and several between.

For distances (`FaultGeometry`) each subfault is a square of its area about its centre c, with the
unit vectors s along the strike and d down the dip, and the half side h. With r = p - c the point p
is

    R^2 = e(r s)^2 + e(r d)^2 + (r s x d)^2,  e(u) = max(0, |u| - h)

from it, and the distance from the surface projection has h cos(dip) across the strike. R_rup is the
least R over all that slips, R_JB the least distance from the surface projection, and R_hyp that
from the hypocentre, the centre of the subfault that slips first (Abrahamson & Shedlock 1997).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from seismo.acquisition.locator import Locator
from seismo.acquisition.moment_tensor import (
    component_arrays,
    double_couple,
    grid_components,
    to_grid,
)
from seismo.acquisition.slip_rate import SlipRates
from seismo.acquisition.sources import PointSource
from seismo.acquisition.spectra import SourceKind, wavelet_of
from seismo.acquisition.wavelet_shapes import sigma_of
from seismo.acquisition.wavelets import SourceWavelet
from seismo.errors import ModelError
from seismo.features.faults.fsp import read_fsp
from seismo.features.faults.rupture import Directivity, Rupture, directivity
from seismo.features.faults.section import FiniteFaultSource
from seismo.features.faults.srf import read_srf, read_srf_hdf5
from seismo.formats.reading import no_file, version_of
from seismo.model.earth import Earth
from seismo.scenario.sections.sources import SOURCE_NAME

_BLOCK = 1 << 20  # of receiver times subfault at once
MOST_SAMPLES = 2000  # subfaults that stand for all where a run is checked
_DEGREES = ("longitude", "latitude", "depth")
_MOST_NAMED = 5  # subfaults outside the grid, in a message


@dataclass(frozen=True, eq=False)
class FaultGeometry:
    """The subfaults that slip.

    Attributes:
        centres: x, y, z (slip, 3) m.
        strikes: directions (slip) from +x towards +y in rad.
        dips: (slip) rad.
        areas: (slip) m2.
        onsets: (slip) s.
    """

    centres: np.ndarray
    strikes: np.ndarray
    dips: np.ndarray
    areas: np.ndarray
    onsets: np.ndarray

    @property
    def hypocentre(self) -> np.ndarray:
        """X, y, z in m of the centre of the subfault that slips first."""
        centre: np.ndarray = self.centres[int(np.argmin(self.onsets))]
        return centre

    def distances(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """Return r_hyp, r_rup and r_jb (point) in m of points (point, 3) m."""
        points = np.asarray(points, float)
        count = max(1, _BLOCK // len(self.areas))
        blocks = [self._least(points[n : n + count]) for n in range(0, len(points), count)]
        rupture, projection = np.concatenate(blocks, axis=1)
        return {
            "r_hyp": np.linalg.norm(points - self.hypocentre, axis=1),
            "r_rup": rupture,
            "r_jb": projection,
        }

    def _least(self, points: np.ndarray) -> np.ndarray:
        """Return the least distances (2, point) from the squares and their projections."""
        half = 0.5 * np.sqrt(self.areas)
        cosine = np.cos(self.strikes)
        sine = np.sin(self.strikes)
        x, y, z = np.moveaxis(points[:, None] - self.centres, -1, 0)
        along = _beyond(x * cosine + y * sine, half)
        across = y * cosine - x * sine
        flat = np.cos(self.dips)
        steep = np.sin(self.dips)
        down = _beyond(across * flat + z * steep, half)
        off = across * steep - z * flat
        rupture = np.sqrt(along**2 + down**2 + off**2).min(axis=1)
        projection = np.hypot(along, _beyond(across, half * flat)).min(axis=1)
        return np.array([rupture, projection])


def _beyond(offset: np.ndarray, half: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, np.abs(offset) - half)


@dataclass(frozen=True)
class FaultSummary(PointSource):
    """A fault as a single point: at the centroid, with the sum of the moment tensors and rates.

    Attributes:
        subfaults: that slip.
        moment: sum of the subfaults' scalar moments in N m, as they act.
        moments: the same with the rigidity of the file, NaN without, and of the model.
        mismatch: slip that the rates amount to over that of the file, less 1.
        assumed: substitutes of data that the file lacks, for messages.
        directivity: its radiation by direction.
        geometry: where the subfaults are.
    """

    subfaults: int = 0
    moment: float = 0.0
    moments: tuple[float, float] = (0.0, 0.0)
    mismatch: float = 0.0
    assumed: tuple[str, ...] = ()
    directivity: Directivity = field(default_factory=Directivity)
    geometry: FaultGeometry | None = None

    @property
    def scalar_moment(self) -> float:
        """Sum of the subfaults' scalar moments in N m."""
        return self.moment

    @property
    def is_extended(self) -> bool:
        """Whether it stands for many points: its subfaults."""
        return True

    @property
    def apparent(self) -> tuple[SourceWavelet, ...]:
        """Moment rates as stations in several directions see them."""
        return self.directivity.rates


@dataclass(frozen=True, eq=False)
class PlacedFault:
    """A rupture on the grid, before its rigidity is known.

    Attributes:
        rupture: as the file has it.
        source: of the scenario.
        name: in messages and results.
        positions: x, y, z (slip, 3) m.
        tensors: per unit of scalar moment (slip, 3, 3).
        delay: s, added to the onsets.
        geometry: where the subfaults are, in true depths.
    """

    rupture: Rupture
    source: FiniteFaultSource
    name: str
    positions: np.ndarray
    tensors: np.ndarray
    delay: float
    geometry: FaultGeometry

    def with_moments(self, earth: Earth, dimensions: int) -> tuple[FaultSummary, ActingFault]:
        """Return the fault as a point, and its subfaults with their moments in an earth.

        Raises:
            ScenarioError: slip makes no moment, as the model has no rigidity there.
        """
        return acting(self, earth, dimensions)


def place_fault(locate: Locator, source: FiniteFaultSource, number: int) -> PlacedFault:
    """Return a fault of a scenario in the grid, before its rigidity is known."""
    scenario = locate.scenario
    wavelet_of(scenario, number)  # raises the file's errors
    rupture = read_rupture(source, scenario.base)
    assert locate.projection is not None  # the rules of the scenario
    slips = rupture.slips
    x, y = locate.projection.to_grid(slips.longitude, slips.latitude)
    z = slips.depth + locate.top(x, y, source.depth_from)
    coordinates = np.stack([x, y, z], axis=1)
    _refuse_outside(locate, rupture, coordinates, number, source.depth_from)
    event = scenario.event
    azimuths = locate.projection.x_azimuth(x, y)
    geometry = FaultGeometry(
        coordinates, np.radians(slips.strike - azimuths), np.radians(slips.dip), slips.area,
        rupture.rates.onset,
    )  # fmt: skip
    return PlacedFault(
        rupture, source, source.name or SOURCE_NAME.format(number),
        locate.on_grid(coordinates), unit_tensors(rupture, azimuths),
        source.delay + (event.at if event else 0.0), geometry,
    )  # fmt: skip


def _refuse_outside(
    locate: Locator, rupture: Rupture, coordinates: np.ndarray, number: int, depth_from: str | None
) -> None:
    """Raise ScenarioError with the first subfaults that lie outside the grid."""
    slips = rupture.slips
    outside = locate.are_outside(coordinates)
    numbers, firsts = np.unique(slips.subfault[outside], return_index=True)
    problems = []
    for n in np.flatnonzero(outside)[firsts[:_MOST_NAMED]].tolist():
        degrees: dict[str, Any] = {name: float(getattr(slips, name)[n]) for name in _DEGREES}
        degrees["depth_from"] = depth_from
        problem = locate.outside(tuple(coordinates[n].tolist()), degrees)
        if slips.depth[n] < 0.0 and depth_from != "datum":
            problem = f"lies {-slips.depth[n]:g} m above the surface; move it down"
        problems.append(f"{rupture.where(n)}: subfault {slips.subfault[n] + 1}: {problem}")
    if len(numbers) > _MOST_NAMED:
        problems.append(f"so do {len(numbers)} of {rupture.count} subfaults in all")
    if problems:
        raise locate.mistakes(("sources", number, "path"), problems)


def read_rupture(source: FiniteFaultSource, base: Path | None) -> Rupture:
    """Return the rupture of a source; a file that has not changed since is not read again.

    Raises:
        ModelError: it is missing or malformed, or has no rigidity that is asked for.
    """
    path = Path(base or ".") / source.path
    if problem := no_file(path, "give a rupture in SRF"):
        raise ModelError(problem, "path")
    sigma = sigma_of(source.smoothing) if source.smoothing else 0.0
    rupture = _read(path, sigma, version_of(path))
    if source.rigidity == "file" and rupture.rigidities is None:
        raise ModelError(
            f"{path} has no shear velocities and densities (VS, DEN of SRF 2.0): use model",
            "rigidity",
        )
    return rupture


@lru_cache(maxsize=2)
def _read(path: Path, sigma: float, changed: object) -> Rupture:
    text = read_fsp if path.suffix.lower() == ".fsp" else read_srf
    rupture = read_srf_hdf5(path) if h5py.is_hdf5(path) else text(path)
    return rupture.smoothed(sigma) if sigma else rupture


@dataclass(frozen=True, eq=False)
class ActingFault:
    """The subfaults that act, or slip along and across their rake.

    Attributes:
        name: of the source.
        positions: x, y, z (slip, 3) m.
        strengths: components (slip) N m of the moment tensors, by name.
        rates: moment rates over moments, 1/s.
        delay: s, added to their times.
    """

    name: str
    positions: np.ndarray
    strengths: dict[str, np.ndarray]
    rates: SlipRates
    delay: float

    def __len__(self) -> int:
        """Count them."""
        return len(self.positions)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        rates = self.rates
        arrays = [self.positions, rates.onset, rates.step, rates.starts, rates.samples]
        return sum(a.nbytes for a in (*arrays, *self.strengths.values()))

    def moved(self, positions: np.ndarray) -> ActingFault:
        """Return them at other positions (slip, 3) m."""
        return replace(self, positions=positions)

    def point(self, number: int) -> PointSource:
        """Return a subfault as a point."""
        strength = {name: float(sizes[number]) for name, sizes in self.strengths.items()}
        return PointSource(
            self.name, "moment_tensor", tuple(self.positions[number].tolist()), strength,
            self.rates.rate(number), self.delay, 1,
        )  # fmt: skip

    @cached_property
    def samples(self) -> list[PointSource]:
        """Return all if few; of many the extremes of every attribute, and several between.

        Extremes: farthest along each axis, first and last in time, and strongest.
        """
        if len(self) <= MOST_SAMPLES:
            return [self.point(n) for n in range(len(self))]
        peaks = np.maximum.reduceat(np.abs(self.rates.samples), self.rates.starts[:-1])
        sizes = np.max([np.abs(size) for size in self.strengths.values()], axis=0)
        order = [*self.positions.T, *self.rates.ends, sizes * peaks]
        chosen = {int(find(attribute)) for attribute in order for find in (np.argmin, np.argmax)}
        chosen.update(range(0, len(self), -(-len(self) // MOST_SAMPLES)))
        return [self.point(n) for n in sorted(chosen)]


def unit_tensors(rupture: Rupture, azimuths: np.ndarray) -> np.ndarray:
    """Return the moment tensors (slip, 3, 3) per scalar moment; x points along azimuths (slip)."""
    slips = rupture.slips
    return to_grid(double_couple(slips.strike, slips.dip, slips.rake), azimuths)


def acting(fault: PlacedFault, earth: Earth, dimensions: int) -> tuple[FaultSummary, ActingFault]:
    """Return a fault as a single point, and the subfaults that act for it.

    Args:
        fault: on the grid.
        earth: the medium that it lies in.
        dimensions: of the grid.
    """
    rupture = fault.rupture
    vs, model = _rock(fault.positions, earth, dimensions)
    of_file = rupture.rigidities
    uses_model = fault.source.rigidity == "model" or of_file is None
    moments = rupture.potencies * (model if uses_model else of_file)
    sizes = rupture.slips.area * rupture.slips.size
    moduli = (np.full_like(model, np.nan) if of_file is None else of_file), model
    tensors = moments[:, None, None] * fault.tensors
    weights = np.abs(moments) / np.abs(moments).sum()
    by_direction = _by_direction(
        rupture, fault.positions.tobytes(), moments.tobytes(), float(weights @ vs)
    )
    summary = FaultSummary(
        name=fault.name, kind="moment_tensor", derivative=1,
        position=tuple((weights @ fault.positions).tolist()),
        strength=grid_components(tensors.sum(axis=0)), wavelet=rupture.rate, delay=fault.delay,
        subfaults=np.unique(rupture.slips.subfault).size, moment=_total(rupture, moments),
        moments=(_total(rupture, sizes * moduli[0]), _total(rupture, sizes * moduli[1])),
        mismatch=_total(rupture, rupture.potencies) / max(_total(rupture, sizes), 1e-300) - 1.0,
        assumed=rupture.assumed, directivity=by_direction, geometry=fault.geometry,
    )  # fmt: skip
    strengths = component_arrays(tensors)
    return summary, ActingFault(fault.name, fault.positions, strengths, rupture.rates, fault.delay)


@lru_cache(maxsize=4)  # a run is discretized several times, in search of a remedy
def _by_direction(rupture: Rupture, positions: bytes, moments: bytes, speed: float) -> Directivity:
    """Return a rupture's radiation by direction, from arrays as bytes: keys of the cache."""
    area = float(np.median(rupture.slips.area))
    centres = np.frombuffer(positions).reshape(-1, 3)
    return directivity(centres, np.frombuffer(moments), rupture.rates, speed, area)


def _rock(positions: np.ndarray, earth: Earth, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the model's vs (n) m/s and rigidity (n) Pa at positions (n, 3) m, NaN without."""
    if not {"vs", "rho"} <= set(earth.needs):
        unknown = np.full(len(positions), np.nan)
        return unknown, unknown
    medium = earth.as_given.at(positions, dimensions)
    return np.asarray(medium["vs"]), np.asarray(medium["rho"] * medium["vs"] ** 2)


def _total(rupture: Rupture, sizes: np.ndarray) -> float:
    """Return the sum over subfaults of their total slip along and across the rake."""
    return float(np.sqrt(np.bincount(rupture.slips.subfault, sizes**2)).sum())


KIND = SourceKind(
    "finite_fault", place_fault, lambda source, base: read_rupture(source, base).rate,
    lambda source, base: read_rupture(source, base).rate_at_once,
)  # fmt: skip

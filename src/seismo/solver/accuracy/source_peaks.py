"""Largest numbers that sources give to the fields of their own cells, estimated before a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.equations.framework.table import Physics, SourceTerm
from seismo.model.earth import Earth

_SAMPLES = 257  # of a signal, to find its peak
_LATTICE = 0.25  # p / (h^2 s) where -laplacian p = s in one cell of a cubic lattice (2-D: .2 to .6)


def scale_to(number: float, power: int) -> float:
    """Return the power of two that brings a number to 2^(power - 1), or less than twice as much."""
    return 2.0 ** (power - math.frexp(number)[1])


def strain_rates(
    physics: Physics, earth: Earth, sources: Sequence[PointSource], cell: float, dt: float,
    end: float,
) -> np.ndarray:  # fmt: skip
    """Estimate the largest strain rates (source) in 1/s: those of the cells of the sources.

    A stress that changes by ds in every step spreads into a strain rate ds / (M dt), a velocity
    that changes by dv into dv / (c dt), with the smallest modulus M and its wave's velocity c.

    Args:
        physics: of elastic waves.
        earth: where the sources are.
        sources: of all shots.
        cell: volume of a cell in m^3 (2-D: area in m^2).
        dt: time step in s.
        end: of the last step in s; sources that begin later have none.
    """
    x, y, z = np.array([source.position for source in sources]).T
    rock = earth.sample(z, y if len(physics.axes) == 3 else None, x)
    rho = rock["rho"]
    # Isotropic rock at each source: c11 = c33 = rho vp^2, c44 = rho vs^2.
    p = rho * rock.get("vp", rock["vs"]) ** 2  # SH waves have no vp
    s = rho * rock["vs"] ** 2
    known = {"rho": rho, **dict.fromkeys(("c11", "c22", "c33"), p),
             **dict.fromkeys(("c12", "c13", "c23"), p - 2.0 * s),
             **dict.fromkeys(("c44", "c55", "c66"), s),
             **dict.fromkeys(("root1", "root2", "root3"), np.sqrt(p))}  # fmt: skip
    medium = {name: known.get(name, 0.0 * rho) for name in physics.medium}  # lossless
    arrays = physics.coefficients(medium, dt)
    modulus = np.where(s > 0.0, s, p)
    largest = np.zeros(len(sources))
    for term, changes in _changes(physics, arrays, sources, dt, end):
        # Strain rate: stress rate over modulus, or acceleration over wave speed.
        resistance = modulus if term.field.startswith("s") else np.sqrt(modulus / rho)
        largest = np.maximum(largest, changes / (cell * resistance * dt))
    return largest


def pressures(
    physics: Physics, earth: Earth, sources: Sequence[PointSource], spacings: Sequence[float],
    dt: float, end: float,
) -> np.ndarray:  # fmt: skip
    """Estimate the largest pressures (source) in Pa: those of the cells of the sources.

    A source that varies slowly beside a cell holds -laplacian p = s up, in one cell alone.

    Args:
        physics: of acoustic waves of constant density.
        earth: where the sources are.
        sources: of all shots.
        spacings: of the grid in m.
        dt: time step in s.
        end: of the last step in s; sources that begin later have none.
    """
    x, y, z = np.array([source.position for source in sources]).T
    rock = earth.sample(z, y if len(physics.axes) == 3 else None, x)
    arrays = physics.coefficients({name: rock[name] for name in physics.medium}, dt)
    cell = math.prod(spacings)
    compliance = _LATTICE * cell ** (2.0 / len(spacings)) / (arrays["k"] * cell)
    largest = np.zeros(len(sources))
    for _, changes in _changes(physics, arrays, sources, dt, end):
        largest = np.maximum(largest, compliance * changes)
    return largest


def _changes(
    physics: Physics, arrays: Mapping[str, np.ndarray], sources: Sequence[PointSource], dt: float,
    end: float,
) -> Iterator[tuple[SourceTerm, np.ndarray]]:  # fmt: skip
    """Yield how sources act, and what each (source) adds in a step at most, times the cell.

    Args:
        physics: the equation.
        arrays: model arrays (source).
        sources: of all shots.
        dt: time step in s.
        end: of the last step in s; sources that begin later add nothing.
    """
    signals: dict[tuple[int, int, int], float] = {}
    acts = np.array([source.start < end for source in sources])

    def mean(name: str, of_component: bool = False) -> np.ndarray:
        return arrays[name]

    for kind in {source.kind for source in sources}:
        for term in physics.drives[kind]:
            peaks = [_peak(one, term, signals) if one.kind == kind else 0.0 for one in sources]
            yield term, acts * np.abs(term.scale(mean, dt)) * np.array(peaks)


def _peak(source: PointSource, term: SourceTerm, known: dict[tuple[int, int, int], float]) -> float:
    """Return the largest magnitude of strength times signal; those of signals are kept."""
    strength = abs(source.strength.get(term.component, 0.0))
    # Peak of each signal, found once.
    key = id(source.wavelet), source.derivative, term.derivative
    if strength and key not in known:
        times = np.linspace(source.start, source.end, _SAMPLES)
        known[key] = float(np.abs(source.signal(times, term.derivative)).max())
    return strength and strength * known[key]

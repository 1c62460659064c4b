"""Plane waves that attenuate, against the modulus that the time steps are said to have.

A standing wave in a periodic box. With S = (z^1/2 - z^-1/2) / dt and i W = 2/dt (z - 1) / (z + 1),
the discrete equations are S^2 = -K^2 M(W) / rho, K the wavenumber that the differences see: a
polynomial in z of degree N + 2 for N mechanisms, whose coefficients are the recurrence that the
wave at a node must follow from step to step. What it misses it by is the error, over the elastic
term. Of elastic waves P and S ones are set in the stresses, each with its own modulus, and about a
tilted axis both pressures of acoustic qP waves, of which M makes all moduli. Then the
root of that polynomial gives the decay in time, to be that of Kjartansson's law with the quality of
the scenario.
"""

from __future__ import annotations

from functools import reduce

import cases
import numpy as np
import scheme_dispersion as box

from seismo.equations.acoustic import tti as acoustic_tti
from seismo.equations.rock.relaxation import Relaxation
from seismo.scenario import from_dict
from seismo.solver.discretization import Discretization
from seismo.solver.simulation import build

QUALITY, RATE = 20.0, 33.3  # qp and qs; reference frequency in Hz
SHEAR = 1100.0  # m/s
ROUNDING = 3e-10  # of the steps, over the elastic term: 0.1e-10 to 1.6e-10, by the processor
WAVES = ((4, 0), (4, 2), (3, 3), (1, 4))
SHALE = {"epsilon": 0.2, "delta": 0.1, "theta": 35.0}


def scenario(physics: str) -> dict:
    """Make the periodic box of a rock that attenuates."""
    document = box.scenario(physics, 8, "taylor")
    document["model"][0]["qp"] = QUALITY
    document["attenuation"] = {"reference_frequency": RATE, "band": [8.0, 60.0]}
    return document


def recurrence(
    relaxation: Relaxation, y: float, square: float, dt: float, kind: str = "p"
) -> np.ndarray:
    """Give the polynomial in z, of (z - 1)^2 + z square M(W)/M_U times all denominators."""
    half = np.array(relaxation.frequencies) * dt / 2
    weights = relaxation.anelastic(kind, y)
    factors = [np.array([h + 1, h - 1]) for h in half]  # h (z + 1) + (z - 1)
    together = reduce(np.polymul, factors)
    relaxed = together
    for n, (h, weight) in enumerate(zip(half, weights, strict=True)):
        others = reduce(np.polymul, factors[:n] + factors[n + 1 :], np.array([1.0]))
        relaxed = relaxed - weight * h * np.polymul([1.0, 1.0], others)
    inertia = np.polymul([1.0, -2.0, 1.0], together)
    return np.polyadd(inertia, square * np.polymul([1.0, 0.0], relaxed))


def compare(physics: str) -> tuple[float, float]:
    """Return the worst misfit of the recurrence, and of Q at the waves' own frequencies."""
    names = ("p", "p_old") if physics == "acoustic" else ("p",)
    misfits, losses = [], []
    for wave in WAVES:
        p, discretization = box.standing_wave(scenario(physics), names, wave)
        relaxation, dt = discretization.earth.relaxation, discretization.clock.dt
        y = float(relaxation.cell_value("p", QUALITY, box.VELOCITY, 0.0))
        speed = box.VELOCITY * float(relaxation.velocity_ratio("p", y))
        square = box.symbol(physics, discretization.stencil, wave) * (speed * dt / box.SPACING) ** 2
        coefficients = recurrence(relaxation, y, square, dt)
        missed = np.convolve(p, coefficients, "valid")
        misfits.append(np.abs(missed).max() / (square * np.abs(p).max()))
        root = max(np.roots(coefficients), key=lambda z: z.imag)
        # A wave of real wavenumber fades in time: s^2 ~ s^(2 gamma) gives the angle of s.
        gamma = np.arctan(1 / QUALITY) / np.pi
        s = np.log(root)
        losses.append(abs(-s.real / s.imag / np.tan(np.pi / 2 * gamma / (1 - gamma)) - 1))
    return max(misfits), max(losses)


def elastic_wave(kind: str, wave: tuple[int, int]) -> tuple[np.ndarray, Discretization]:
    """Set the stresses of a standing P or S wave, as strained at once; give one at each step."""
    document = scenario("acoustic_variable_density")
    document["physics"] = "elastic"
    document["model"][0] |= {"vs": SHEAR, "qs": QUALITY}
    simulation = build(from_dict(document))
    discretization = simulation.discretization
    theta = 2 * np.pi * np.array(wave) / box.POINTS
    m = np.arange(1, len(discretization.stencil.first) + 1) - 0.5
    x, z = (2 * np.sum(discretization.stencil.first * np.sin(m * t)) for t in theta)
    # Unrelaxed moduli over density: times their speeds squared.
    p, s = (speed(discretization, wave) ** 2 for wave in "ps")
    # P: u = grad phi; S: u = curl psi, psi half a cell along both axes.
    xx, zz, xz = (x * x, z * z, 2 * x * z) if kind == "p" else (x * z, -x * z, z * z - x * x)
    amplitudes = {"sxx": p * xx + (p - 2 * s) * zz, "szz": p * zz + (p - 2 * s) * xx, "sxz": s * xz}
    return box.followed(simulation, amplitudes, wave), discretization


def speed(discretization: Discretization, kind: str, shear: float = SHEAR) -> float:
    """Return the unrelaxed speed of P or S waves [m/s]."""
    relaxation = discretization.earth.relaxation
    y = float(relaxation.cell_value(kind, QUALITY, box.VELOCITY, shear))
    given = box.VELOCITY if kind == "p" else SHEAR
    return given * float(relaxation.velocity_ratio(kind, y))


def elastic_misfit(kind: str) -> float:
    """Return the worst misfit of the recurrence of P or S waves."""
    misfits = []
    for wave in ((4, 2), (1, 4), (3, 3)):
        series, discretization = elastic_wave(kind, wave)
        relaxation, dt = discretization.earth.relaxation, discretization.clock.dt
        y = float(relaxation.cell_value(kind, QUALITY, box.VELOCITY, SHEAR))
        number = box.symbol("elastic", discretization.stencil, wave)
        square = number * (speed(discretization, kind) * dt / box.SPACING) ** 2
        coefficients = recurrence(relaxation, y, square, dt, kind)
        missed = np.convolve(series, coefficients, "valid")
        misfits.append(np.abs(missed).max() / (square * np.abs(series).max()))
    return max(misfits)


def tilted_wave(discretization: Discretization, wave: tuple[int, int]) -> tuple[float, np.ndarray]:
    """Return K^2 dt^2 M_U / rho of a qP wave about a tilted axis, and its (p, r)."""
    tilt = np.radians(SHALE["theta"])
    root = 1.0 + 2.0 * SHALE["delta"]
    vp = speed(discretization, "p", 0.0)
    medium = {"vp": vp, "delta": SHALE["delta"], "axis_x": np.sin(tilt), "axis_z": np.cos(tilt),
              "anellipticity": vp**2 * (SHALE["epsilon"] - SHALE["delta"]) * root}  # fmt: skip
    c = acoustic_tti.coefficients(medium, discretization.clock.dt)
    m = np.arange(1, discretization.stencil.order // 2 + 1)
    slopes = (2 * np.sum(discretization.stencil.on_nodes * np.sin(2 * np.pi * k * m / box.POINTS))
              for k in wave)  # fmt: skip
    # -N and -H as the differences see them.
    along = sum(c[f"n_{a}"] * slope for a, slope in zip("xz", slopes, strict=True)) ** 2
    across = box.symbol("acoustic", discretization.stencil, wave) - along
    matrix = np.array([
        [(c["k"] * c["root"] ** 2 + c["rest"]) * across, c["k"] * c["root"] * along],
        [c["k"] * c["root"] * across, c["k"] * along],
    ])  # fmt: skip
    squares, pressures = np.linalg.eig(matrix / box.SPACING**2)
    fast = np.argmax(squares)
    return float(squares[fast]), pressures[:, fast]


def tilted_misfit() -> float:
    """Return the worst misfit of the recurrence of acoustic qP waves about a tilted axis."""
    misfits = []
    for wave in WAVES:
        document = scenario("acoustic")
        document["model"][0] |= SHALE
        simulation = build(from_dict(document))
        discretization = simulation.discretization
        square, (p, r) = tilted_wave(discretization, wave)
        series = box.followed(simulation, {"p": p, "r": r, "p_old": p, "r_old": r}, wave)
        relaxation = discretization.earth.relaxation
        y = float(relaxation.cell_value("p", QUALITY, box.VELOCITY, 0.0))
        coefficients = recurrence(relaxation, y, square, discretization.clock.dt)
        missed = np.convolve(series, coefficients, "valid")
        misfits.append(np.abs(missed).max() / (square * np.abs(series).max()))
    return max(misfits)


def case(quick: bool) -> list[cases.Row]:
    """Compare standing waves with the recurrence of their modulus."""
    rows = []
    for physics in ("acoustic", "acoustic_variable_density"):
        misfit, loss = compare(physics)
        name = physics.replace("_", " ")
        sampling = f"order 8, {len(WAVES)} angles"
        rows.append(cases.Row(f"plane wave, visco-{name}", sampling, misfit, ROUNDING, "",
                              reference="its complex modulus"))  # fmt: skip
        rows.append(cases.Row(f"plane wave, visco-{name}, decay in time", sampling, loss, 0.02,
                              reference="Q = 20"))  # fmt: skip
    for kind in "ps":
        rows.append(cases.Row(f"plane {kind.upper()} wave, visco-elastic", "order 8, 3 angles",
                              elastic_misfit(kind), ROUNDING, "",
                              reference="its complex modulus"))  # fmt: skip
    rows.append(cases.Row("plane qP wave, visco-acoustic TTI", f"order 8, {len(WAVES)} angles",
                          tilted_misfit(), ROUNDING, "",
                          reference="its complex modulus"))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

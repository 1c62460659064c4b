"""Plane-wave reflection coefficients of an interface anywhere between grid points.

A line source stands above a flat interface, receivers at its depth. The reflected pressure is the
record less that of the same run without the interface; divided, in the frequency-wavenumber domain,
by what the homogeneous run records where the mirror image of the receivers would stand, it *is* the
plane-wave reflection coefficient at each angle: both have gone the same way. The line of receivers
is longer than waves travel, so nothing is cut off in space; so that nothing is cut off in time, the
frequency has a small imaginary part (records times exp(-damping t)), for which the coefficients of
Zoeppritz hold as well (Aki & Richards 2002, eq. 5.40; Phinney 1965).

p slowness [s/m]; xi, eta vertical slownesses of P and S [s/m]; time factor exp(-i omega t).
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact.medium import Medium

SPACING, HEIGHT, REACH, PPW = (
    10.0,
    30,
    300,
    10,
)  # m; cells above the interface; cells waves travel; ppw
PAIRS = {
    "solid-solid": (Medium(2500.0, 1300.0, 2100.0), Medium(3500.0, 2000.0, 2400.0)),
    "solid-solid, strong": (Medium(1800.0, 600.0, 1900.0), Medium(2700.0, 1500.0, 2300.0)),
    "water over sediment": (Medium(1500.0, 0.0, 1000.0), Medium(1800.0, 500.0, 1800.0)),
    "water over rock": (Medium(1500.0, 0.0, 1000.0), Medium(3400.0, 1963.0, 2500.0)),
}
DAMPING = 9.0  # records end at exp(-9)
ANGLES = np.radians(np.arange(0.0, 40.1, 2.0))


def frequency(pair: tuple[Medium, Medium]) -> float:
    """Give the Ricker frequency with PPW points per shortest wavelength."""
    slowest = min(v for m in pair for v in (m.vp, m.vs) if v > 0)
    return slowest / (2.5 * SPACING * PPW)


def scenario(pair: tuple[Medium, Medium], fraction: float, with_interface: bool) -> dict:
    """Put source, interface and receivers on the grid."""
    h, up = SPACING, pair[0]
    half = REACH + 10
    depth = 20 * h
    duration = 1.5 / frequency(pair) + REACH * h / up.vp
    below = [{"top": depth + (HEIGHT + fraction) * h, "vp": pair[1].vp, "vs": pair[1].vs,
              "rho": pair[1].rho}] if with_interface else []  # fmt: skip
    line = np.arange(-half, half + 1) * h
    mirrored = depth + 2 * (HEIGHT + fraction) * h
    at = depth if with_interface else mirrored
    receivers = [cases.points(np.stack([line, np.full(line.size, at)], 1), ["pressure"])]
    receivers[0]["name"] = "line"
    if not with_interface:
        receivers.append(cases.points(np.stack([line, np.full(line.size, depth)], 1), ["pressure"]))
        receivers[1]["name"] = "direct"
    return {
        "title": "plane-wave coefficients", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": (2 * half + 40) * h, "z": (2 * HEIGHT + 60) * h}, "spacing": h,
                 "order": 8, "origin": {"x": -(half + 20) * h, "z": 0.0}},
        "time": {"duration": duration, "dispersion_removal": True,
                 "step": 0.45 * h / max(m.vp for m in pair)},
        "model": [{"type": "layers", "layers": [
            {"top": 0.0, "vp": up.vp, "vs": up.vs, "rho": up.rho}, *below]}],
        "sources": [{"type": "explosion", "moment": 1.0, "time_function": "moment",
                     "position": {"x": 0.0, "z": depth},
                     "wavelet": {"type": "ricker", "frequency": frequency(pair)}}],
        "receivers": receivers,
    }  # fmt: skip


def records(scenario_dict: dict) -> tuple[list[np.ndarray], float]:
    """Run; give the pressure (receiver, time) of each receiver set, and the step."""
    from seismo.acquisition import trace_processing
    from seismo.scenario import from_dict
    from seismo.solver.simulation import build

    simulation = build(from_dict(scenario_dict))
    simulation.advance(simulation.total_steps)
    found = [
        trace_processing.finish(simulation.recorder.raw(0, g.name, "pressure"), "pressure", False,
                         simulation.dt, simulation.steps, 1, True)
        for g in simulation.discretization.groups
    ]  # fmt: skip
    return found, simulation.dt


def zoeppritz(pair: tuple[Medium, Medium], p: np.ndarray, omega: complex) -> np.ndarray:
    """Return RPP of complex slownesses at a frequency with a positive imaginary part."""
    (a1, b1, r1), (a2, b2, r2) = ((m.vp, m.vs, m.rho) for m in pair)

    def vertical(c: float) -> np.ndarray:
        root = np.sqrt(1 / c**2 - p**2 + 0j)
        return np.where((omega * root).imag < 0, -root, root)

    xi1, xi2, eta2 = vertical(a1), vertical(a2), vertical(b2)
    a = r2 * (1 - 2 * (b2 * p) ** 2) - r1 * (1 - 2 * (b1 * p) ** 2)
    b = r2 * (1 - 2 * (b2 * p) ** 2) + 2 * r1 * (b1 * p) ** 2
    c = r1 * (1 - 2 * (b1 * p) ** 2) + 2 * r2 * (b2 * p) ** 2
    d = 2 * (r2 * b2**2 - r1 * b1**2)
    if b1 > 0:
        eta1 = vertical(b1)
        f, h = b * eta1 + c * eta2, a - d * xi2 * eta1
    else:  # both divided by eta1, which tends to infinity
        f, h = b, -d * xi2
    e, g = b * xi1 + c * xi2, a - d * xi1 * eta2
    upper = (b * xi1 - c * xi2) * f - (a + d * xi1 * eta2) * h * p**2
    return upper / (e * f + g * h * p**2)


def coefficients(pair: tuple[Medium, Medium], fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the reflection coefficient (angle) at the source's frequency, measured and exact."""
    (whole,), dt = records(scenario(pair, fraction, True))
    (incident, direct), _ = records(scenario(pair, fraction, False))
    reflected = whole - direct
    times = dt * np.arange(reflected.shape[1])
    omega = 2 * np.pi * frequency(pair) + 1j * DAMPING / times[-1]
    x = SPACING * (np.arange(len(reflected)) - len(reflected) // 2)
    turn = np.exp(1j * omega * times)
    k = omega.real * np.sin(ANGLES) / pair[0].vp
    phase = np.exp(-1j * k[:, None] * x)
    found = (phase @ (reflected @ turn)) / (phase @ (incident @ turn))
    return found, zoeppritz(pair, k / omega, omega)


def case(quick: bool) -> list[cases.Row]:
    """Measure reflection coefficients for interfaces on, beside and between the nodes."""
    rows = []
    figure, axes = cases.subplots(2, len(PAIRS), figsize=(3.4 * len(PAIRS), 5), sharex=True)
    fractions = (0.25,) if quick else (0.0, 0.25, 0.5, 0.75)
    for number, (column, (name, pair)) in enumerate(zip(axes.T, PAIRS.items(), strict=True)):
        for fraction in () if quick and number % 2 else fractions:
            found, truth = coefficients(pair, fraction)
            error = np.abs(found - truth)
            rows.append(
                cases.Row(f"Zoeppritz RPP 0-40 deg, {name}, interface {fraction} h below a node",
                          f"{PPW} ppw", float(error.max()), 0.01, "", reference="Zoeppritz")
            )  # fmt: skip
            if fraction == 0.25:
                column[0].plot(
                    np.degrees(ANGLES), np.abs(truth), color=cases.COLOURS["exact"], lw=2
                )
            column[0].plot(np.degrees(ANGLES), np.abs(found), ".", ms=4, label=f"{fraction} h")
            column[1].semilogy(np.degrees(ANGLES), error, lw=1)
        column[0].set_title(name, fontsize=9)
        column[1].axhline(0.01, color=cases.COLOURS["bar"], ls="--", lw=1)
        column[1].set_xlabel("angle (degrees)")
    axes[0, 0].set_ylabel("|RPP|")
    axes[1, 0].set_ylabel("|error|")
    axes[0, 0].legend(fontsize=7)
    figure.suptitle(
        "Reflection coefficients at 25 points per wavelength (S; water: P)", fontsize=10
    )
    cases.save(figure, "zoeppritz")
    return rows


if __name__ == "__main__":
    cases.main(case)

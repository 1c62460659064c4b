"""Plane-wave reflection coefficients of an interface anywhere between grid points.

A line source stands above a flat interface, receivers at its depth. The reflected pressure is the
record less that of the same run without the interface; divided, in the frequency-wavenumber domain,
by what the homogeneous run records where the mirror image of the receivers would stand, it *is* the
plane-wave reflection coefficient at each angle: both have gone the same way. The line of receivers
is longer than waves travel, so nothing is cut off in space; the end of the records is tapered.
Compared with Zoeppritz's coefficients (`seismo.exact.interface`).
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import interface
from seismo.exact.medium import Medium

SPACING, HEIGHT, REACH, PPW = 10.0, 50, 800, 10  # m; cells above the interface; cells waves travel; ppw
PAIRS = {
    "solid-solid": (Medium(2500.0, 1300.0, 2100.0), Medium(3500.0, 2000.0, 2400.0)),
    "solid-solid, strong": (Medium(1800.0, 600.0, 1900.0), Medium(2700.0, 1500.0, 2300.0)),
    "water over sediment": (Medium(1500.0, 0.0, 1000.0), Medium(1800.0, 500.0, 1800.0)),
    "water over rock": (Medium(1500.0, 0.0, 1000.0), Medium(3400.0, 1963.0, 2500.0)),
}
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
        receivers.append(
            cases.points(np.stack([line, np.full(line.size, depth)], 1), ["pressure"])
        )
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
    from seismo import receivers
    from seismo.scenario import from_dict
    from seismo.simulation import build

    simulation = build(from_dict(scenario_dict))
    simulation.advance(simulation.total_steps)
    found = [
        receivers.finish(simulation.recorder.raw(0, g.name, "pressure"), "pressure", False,
                         simulation.dt, simulation.steps, 1, True)
        for g in simulation.setup.groups
    ]  # fmt: skip
    return found, simulation.dt


def coefficients(pair: tuple[Medium, Medium], fraction: float) -> np.ndarray:
    """Measure the reflection coefficient (angle) at the source's frequency."""
    (whole,), dt = records(scenario(pair, fraction, True))
    (incident, direct), _ = records(scenario(pair, fraction, False))
    reflected = whole - direct
    count = reflected.shape[1]
    taper = np.ones(count)
    end = count // 2
    taper[-end:] = np.cos(0.5 * np.pi * np.arange(end) / end) ** 2
    x = SPACING * (np.arange(len(reflected)) - len(reflected) // 2)
    omega = 2 * np.pi * frequency(pair)
    turn = np.exp(-1j * omega * dt * np.arange(count)) * taper
    spectra = reflected @ turn, incident @ turn
    found = []
    for angle in ANGLES:
        phase = np.exp(1j * omega * np.sin(angle) / pair[0].vp * x)
        found.append((spectra[0] @ phase) / (spectra[1] @ phase))
    return np.conj(np.array(found))  # to the time factor exp(-i omega t)


def case(quick: bool) -> list[cases.Row]:
    """Measure reflection coefficients for interfaces on, beside and between the nodes."""
    rows = []
    figure, axes = cases.plt.subplots(
        2, len(PAIRS), figsize=(3.4 * len(PAIRS), 5), sharex=True, layout="constrained"
    )
    for column, (name, pair) in zip(axes.T, PAIRS.items(), strict=True):
        slowness = np.sin(ANGLES) / pair[0].vp
        truth = interface.coefficients(*pair, slowness)["RP"]
        column[0].plot(np.degrees(ANGLES), np.abs(truth), color=cases.COLOURS["exact"], lw=2)
        for fraction in (0.0, 0.25) if quick else (0.0, 0.25, 0.5, 0.75):
            found = coefficients(pair, fraction)
            error = np.abs(found - truth)
            rows.append(
                cases.Row(f"Zoeppritz RPP 0-40 deg, {name}, interface {fraction} h below a node",
                          f"{PPW} ppw", float(error.max()), 0.01, "",
                          "plain staggered grid 0.01-0.7", "Zoeppritz")
            )  # fmt: skip
            column[0].plot(np.degrees(ANGLES), np.abs(found), ".", ms=4, label=f"{fraction} h")
            column[1].semilogy(np.degrees(ANGLES), error, lw=1)
        column[0].set_title(name, fontsize=9)
        column[1].axhline(0.01, color=cases.COLOURS["bar"], ls="--", lw=1)
        column[1].set_xlabel("angle (degrees)")
    axes[0, 0].set_ylabel("|RPP|")
    axes[1, 0].set_ylabel("|error|")
    axes[0, 0].legend(fontsize=7)
    figure.suptitle("Reflection coefficients at 25 points per wavelength (S; water: P)", fontsize=10)
    cases.save(figure, "zoeppritz")
    return rows


if __name__ == "__main__":
    cases.main(case)

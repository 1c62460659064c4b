"""Finite faults in an elastic whole space: traces are the sum of exact point sources.

A dipping plane of subfaults between the grid points, whose strike, rake, slip and onset vary,
written as an SRF file and read back: slip, area and rigidity in its units, longitudes and
latitudes, north that turns from subfault to subfault. Slip rates are Gaussians, of which the file
has samples; the sum of Aki & Richards (2002, 4.29) over all subfaults takes them as they are.

A rupture along a line has the highest frequencies ahead, and behind it subfaults come one by one:
its rates are triangles of three samples, smoothed by `smoothing`, and what `check` expects of the
traces is compared with what is found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import cases
import numpy as np
from scipy.special import ndtr

from seismo.acquisition.locator import Projection
from seismo.acquisition.moment_tensor import double_couple, to_grid
from seismo.acquisition.wavelet_shapes import sigma_of
from seismo.exact import metrics, whole_space
from seismo.exact.medium import Medium
from seismo.runs.prediction.accuracy import expected_error

MEDIUM = Medium(6000.0, 3464.0, 2700.0)
GEOGRAPHIC = {"longitude": -118.1, "latitude": 34.0, "azimuth": 25.0}
SIGMA, DELAY, SPACING = 0.15, 0.75, 100.0  # s, s, m: 10 points at 3.5 Hz, -46 dB of the rate
INTERVAL = 0.01  # s between slip rates of the file
STRETCH, RUPTURE = 500.0, 2700.0  # m, m/s: subfaults in a row
RISE, SMOOTHING = 0.4, 0.31  # s
RECEIVERS = np.array([[3400.0, 2600.0, 1500.0], [1400.0, 3500.0, 3200.0]])


def subfaults(count: int) -> list[dict[str, float]]:
    """List the subfaults of a plane that dips, count along strike and half as many down."""
    generator, listed = np.random.default_rng(1987), []
    for along in range(count):
        for down in range(max(1, count // 2)):
            x, y, z = (
                1233.0 + 61.0 * along,
                1188.0 + 139.0 * along - 43.0 * down,
                1360.0 + 97 * down,
            )
            strike, rake, slip = generator.uniform((60.0, 70.0, 0.2), (80.0, 110.0, 1.0))
            onset = 0.05 * np.hypot(along, down)
            listed.append({"x": x, "y": y, "z": z, "strike": strike, "dip": 55.0, "rake": rake,
                           "slip": slip, "area": 150.0 * 105.0, "onset": onset})  # fmt: skip
    return listed


def srf(plane: list[dict[str, float]], interval: float, rate: np.ndarray) -> str:
    """Write them in the units of SRF 2.0, with slip rates over the slip (n) 1/s."""
    projection = Projection(SimpleNamespace(**GEOGRAPHIC))
    lines = ["2.0", f"POINTS {len(plane)}"]
    for one in plane:
        longitude, latitude = projection.to_geographic(one["x"], one["y"])
        lines += [
            f"{longitude:.9f} {latitude:.9f} {one['z'] / 1e3:.6f} {one['strike']:.9f} {one['dip']} "
            f"{one['area'] * 1e4:.9e} {one['onset']:.9f} {interval} {MEDIUM.vs * 100} "
            f"{MEDIUM.rho / 1000}",
            f"{one['rake']:.9f} {one['slip'] * 100:.9f} {rate.size} 0 0 0 0",
            " ".join(f"{100 * one['slip'] * value:.7e}" for value in rate),
        ]
    return "\n".join(lines) + "\n"


def rates(t: np.ndarray) -> np.ndarray:
    """Return the slip rate over the slip in 1/s, t after the onset."""
    return np.exp(-0.5 * ((t - DELAY) / SIGMA) ** 2) / (np.sqrt(2.0 * np.pi) * SIGMA)


def sum_of_points(
    plane: list[dict[str, float]], receivers: np.ndarray, times: np.ndarray, dt: float,
    rate: Callable[[np.ndarray], np.ndarray] = rates,
) -> np.ndarray:  # fmt: skip
    """Return velocities (receiver, component, time): the sum over the plane."""
    projection = Projection(SimpleNamespace(**GEOGRAPHIC))
    total = np.zeros((len(receivers), 3, times.size))
    for one in plane:
        moment = MEDIUM.rho * MEDIUM.vs**2 * one["area"] * one["slip"]
        tensor = double_couple(one["strike"], one["dip"], one["rake"], moment)
        azimuth = float(projection.x_azimuth(one["x"], one["y"]))
        total += whole_space.moment_response(
            receivers - [one["x"], one["y"], one["z"]], to_grid(tensor, azimuth),
            rate(times - one["onset"]), dt, MEDIUM, "velocity", "moment_rate",
        )  # fmt: skip
    return total


def line(count: int) -> list[dict[str, float]]:
    """List the subfaults of a rupture along x, which stands along it and slips there."""
    return [
        {"x": (n + 0.5) * STRETCH, "y": 0.0, "z": 0.0, "strike": 25.0, "dip": 90.0, "rake": 0.0,
         "slip": 1.0, "area": STRETCH**2, "onset": 1.0 + (n + 0.5) * STRETCH / RUPTURE}
        for n in range(count)
    ]  # fmt: skip


def smooth_triangle(t: np.ndarray) -> np.ndarray:
    """Return a triangle from 0 to RISE s of unit area, convolved with the Gaussian of SMOOTHING.

    The second integral of the Gaussian is t Phi(t / sigma) + sigma phi(t / sigma).
    """
    sigma = sigma_of(SMOOTHING)

    def ramp(late: float) -> np.ndarray:
        u = (t - late) / sigma
        return sigma * (u * ndtr(u) + np.exp(-0.5 * u**2) / np.sqrt(2.0 * np.pi))

    return (ramp(0.0) - 2.0 * ramp(0.5 * RISE) + ramp(RISE)) * 4.0 / RISE**2


def rupture(spacing: float, count: int) -> cases.Row:
    """Compare the error of the worst receiver ahead, behind and aside with the expected one."""
    plane = line(count)
    north = count * STRETCH
    receivers = np.array([[north + 5e3, 500, 500], [-5e3, 500, 500], [0.5 * north, 3e3, 1e3]])
    margin = 7e3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "line.srf"
        path.write_text(srf(plane, 0.5 * RISE, np.array([0.0, 2.0 / RISE, 0.0])))
        run = cases.simulate({
            "physics": "elastic", "geographic": GEOGRAPHIC,
            "grid": {"extent": {"x": north + 2 * margin, "y": 9e3, "z": 7.2e3}, "spacing": spacing,
                     "origin": {"x": -margin, "y": -4.5e3, "z": -3.6e3}, "order": 8},
            "time": {"duration": 2.0 + north / RUPTURE + (north + 6e3) / MEDIUM.vs},
            "model": [{"type": "uniform", "vp": MEDIUM.vp, "vs": MEDIUM.vs, "rho": MEDIUM.rho}],
            "sources": [{"type": "finite_fault", "path": str(path), "smoothing": SMOOTHING}],
            "receivers": [cases.points(receivers, ["velocity"], "xyz")],
        })  # fmt: skip
    exact = sum_of_points(plane, receivers, run.times, run.dt, smooth_triangle)
    traces = run.components("vx", "vy", "vz")
    found = max(metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True))
    expected = expected_error(run.simulation.discretization).error
    ratio = max(found / expected, expected / found)
    name = f"{count} subfaults in a row: found {100 * found:.2g} %, expected {100 * expected:.2g} %"
    return cases.Row(name, f"h = {spacing:g} m", ratio, 3.0, "")


def case(quick: bool) -> list[cases.Row]:
    """Compare the traces of a fault of 8 or 50 subfaults, and what is expected of a rupture."""
    plane = subfaults(4 if quick else 10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fault.srf"
        path.write_text(srf(plane, INTERVAL, rates(np.arange(0.0, 2 * DELAY, INTERVAL))))
        run = cases.simulate({
            "physics": "elastic", "precision": "float64", "geographic": GEOGRAPHIC,
            "grid": {"extent": {"x": 4500.0, "y": 4500.0, "z": 4500.0}, "spacing": SPACING,
                     "order": 8},
            "time": {"duration": 2.4 if quick else 2.8},
            "boundaries": {"layer": {"points": 12}},
            "model": [{"type": "uniform", "vp": MEDIUM.vp, "vs": MEDIUM.vs, "rho": MEDIUM.rho}],
            "sources": [{"type": "finite_fault", "path": str(path)}],
            "receivers": [cases.points(RECEIVERS, ["velocity"], "xyz")],
        })  # fmt: skip
    (summary,) = run.simulation.discretization.shots[0].summaries
    slip = sum(MEDIUM.rho * MEDIUM.vs**2 * one["area"] * one["slip"] for one in plane)
    traces, exact = (
        run.components("vx", "vy", "vz"),
        sum_of_points(plane, RECEIVERS, run.times, run.dt),
    )
    error = max(metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True))
    panels = [cases.Panel(f"receiver {n + 1}, v{a}", run.times, traces[n, k], exact[n, k])
              for n in range(len(RECEIVERS)) for k, a in enumerate("xyz")]  # fmt: skip
    cases.draw_traces("finite_fault", f"{len(plane)} subfaults, 10 ppw", panels, "m/s")
    name = f"{len(plane)} subfaults of an SRF file, worst trace"
    return [
        cases.Row(name, "10 points at 3.5 Hz", error, 0.005),
        cases.Row("its moment beside that of slip, area and rigidity", "",
                  abs(summary.moment / slip - 1.0), 1e-6),
        *(rupture(spacing, 12) for spacing in ((300.0,) if quick else (360.0, 300.0, 225.0))),
    ]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

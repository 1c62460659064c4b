"""A finite fault in an elastic whole space: traces are the sum of exact point sources.

A dipping plane of subfaults between the grid points, whose strike, rake, slip and onset vary,
written as an SRF file and read back: slip, area and rigidity in its units, longitudes and
latitudes, north that turns from subfault to subfault. Slip rates are Gaussians, of which the file
has samples; the sum of Aki & Richards (2002, 4.29) over all subfaults takes them as they are.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

import cases
import numpy as np

from seismo.acquisition.moment_tensor import double_couple, to_grid
from seismo.acquisition.projection import Projection
from seismo.exact import metrics, whole_space
from seismo.exact.medium import Medium

MEDIUM = Medium(6000.0, 3464.0, 2700.0)
GEOGRAPHIC = {"longitude": -118.1, "latitude": 34.0, "azimuth": 25.0}
SIGMA, DELAY, SPACING = 0.15, 0.75, 100.0  # s, s, m: 10 points at 3.5 Hz, -46 dB of the rate
INTERVAL = 0.01  # s between slip rates of the file
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


def srf(plane: list[dict[str, float]]) -> str:
    """Write them in the units of SRF 2.0."""
    projection = Projection(SimpleNamespace(**GEOGRAPHIC))
    times = np.arange(0.0, 2 * DELAY, INTERVAL)
    rate = rates(times)
    lines = ["2.0", f"POINTS {len(plane)}"]
    for one in plane:
        longitude, latitude = projection.to_geographic(one["x"], one["y"])
        lines += [
            f"{longitude:.9f} {latitude:.9f} {one['z'] / 1e3:.6f} {one['strike']:.9f} {one['dip']} "
            f"{one['area'] * 1e4:.9e} {one['onset']:.9f} {INTERVAL} {MEDIUM.vs * 100} "
            f"{MEDIUM.rho / 1000}",
            f"{one['rake']:.9f} {one['slip'] * 100:.9f} {times.size} 0 0 0 0",
            " ".join(f"{100 * one['slip'] * value:.7e}" for value in rate),
        ]
    return "\n".join(lines) + "\n"


def rates(t: np.ndarray) -> np.ndarray:
    """Return the slip rate over the slip in 1/s, t after the onset."""
    return np.exp(-0.5 * ((t - DELAY) / SIGMA) ** 2) / (np.sqrt(2.0 * np.pi) * SIGMA)


def exact(plane: list[dict[str, float]], times: np.ndarray, dt: float) -> np.ndarray:
    """Return velocities (receiver, component, time): the sum over the plane."""
    projection = Projection(SimpleNamespace(**GEOGRAPHIC))
    total = np.zeros((len(RECEIVERS), 3, times.size))
    for one in plane:
        moment = MEDIUM.rho * MEDIUM.vs**2 * one["area"] * one["slip"]
        tensor = double_couple(one["strike"], one["dip"], one["rake"], moment)
        azimuth = float(projection.x_azimuth(one["x"], one["y"]))
        total += whole_space.moment_response(
            RECEIVERS - [one["x"], one["y"], one["z"]], to_grid(tensor, azimuth),
            rates(times - one["onset"]), dt, MEDIUM, "velocity", "moment_rate",
        )  # fmt: skip
    return total


def case(quick: bool) -> list[cases.Row]:
    """Compare the traces of a fault of 8 or 50 subfaults."""
    plane = subfaults(4 if quick else 10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fault.srf"
        path.write_text(srf(plane))
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
    (summary,) = run.simulation.setup.shots[0].summaries
    slip = sum(MEDIUM.rho * MEDIUM.vs**2 * one["area"] * one["slip"] for one in plane)
    traces, sum_of_points = run.components("vx", "vy", "vz"), exact(plane, run.times, run.dt)
    error = max(metrics.relative_l2(a, b) for a, b in zip(traces, sum_of_points, strict=True))
    panels = [cases.Panel(f"receiver {n + 1}, v{a}", run.times, traces[n, k], sum_of_points[n, k])
              for n in range(len(RECEIVERS)) for k, a in enumerate("xyz")]  # fmt: skip
    cases.draw_traces("finite_fault", f"{len(plane)} subfaults, 10 ppw", panels, "m/s")
    name = f"{len(plane)} subfaults of an SRF file, worst trace"
    return [
        cases.Row(name, "10 points at 3.5 Hz", error, 0.005),
        cases.Row("its moment beside that of slip, area and rigidity", "",
                  abs(summary.moment / slip - 1.0), 1e-6),
    ]  # fmt: skip


if __name__ == "__main__":
    cases.main(case)

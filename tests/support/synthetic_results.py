"""Results files with a made-up wavefield, for the tests of the writer, reader and figures.

A P and an S front spread from the source with a Ricker pulse and cylindrical (spherical)
spreading; the radial and the tangential motion are what a geophysicist expects to see, and the
amplitude at every receiver is known in closed form.
"""

from pathlib import Path

import numpy as np

from seismo.output.results_file import ResultsWriter
from seismo.runs.loop import time_loop as telemetry

VP, VS, FREQUENCY, DELAY = 3000.0, 1700.0, 15.0, 0.08
SHOTS = {"shot_a": 600.0, "shot_b": 1500.0}
SOURCE_DEPTH = 300.0


def ricker(time: np.ndarray, frequency: float = FREQUENCY) -> np.ndarray:
    """Return a Ricker pulse centred at time 0."""
    argument = (np.pi * frequency * time) ** 2
    return (1 - 2 * argument) * np.exp(-argument)


def motion(
    offsets: tuple[np.ndarray, ...], time: np.ndarray | float, frequency: float = FREQUENCY
) -> list[np.ndarray]:
    """Return the velocity (m/s) along each axis; the last axis of `offsets` is z."""
    radius = np.sqrt(sum(d**2 for d in offsets)) + 20.0
    spread = 1e-6 * (radius / 1e3) ** (-(len(offsets) - 1) / 2)
    delay = 1.2 / frequency
    compression = spread * ricker(time - delay - radius / VP, frequency)
    shear = 2 * spread * ricker(time - delay - radius / VS, frequency)
    across = np.sqrt(sum(d**2 for d in offsets[:-1])) + 1e-9
    down = offsets[-1]
    field = []
    for d in offsets[:-1]:
        field.append(d / radius * compression + d / across * down / radius * shear)
    return [*field, down / radius * compression - across / radius * shear]


def write_elastic_2d(path: Path) -> Path:
    """Write a two-shot elastic 2-D run: model, sources, wavelets, two sets, two series."""
    x, z = np.arange(0.0, 2001.0, 10.0), np.arange(0.0, 1001.0, 10.0)
    time = 0.002 * np.arange(401)
    vp = np.where(z[:, None] < 350 + 60 * np.sin(x / 300), 2200.0, 3400.0)
    vp[(z[:, None] - 650) ** 2 + (x - 1200) ** 2 < 150**2] = 4200.0
    vp = vp.astype("f4")
    attributes = {
        "title": "Two shots over a buried high", "physics": "elastic", "dt": 0.001, "f_max": 37.0,
    }  # fmt: skip
    with ResultsWriter(
        path, scenario_text="title: two", resolved="title: two\n", attributes=attributes
    ) as writer:
        parameters = {
            "vp": (vp, "m/s"),
            "vs": (vp / 1.8, "m/s"),
            "rho": (vp * 0.25 + 1500, "kg/m3"),
        }
        writer.write_model({"z": z, "x": x}, parameters)
        writer.write_sources(
            [
                {
                    "name": name, "type": "force", "shot": name, "x": place, "z": SOURCE_DEPTH,
                    "requested": {"x": place + 1.0, "z": SOURCE_DEPTH}, "force": {"z": 1.0},
                }
                for name, place in SHOTS.items()
            ]
        )  # fmt: skip
        writer.write_wavelets(time, np.tile(ricker(time - DELAY), (2, 1)), list(SHOTS), "N")
        line_x = np.arange(0.0, 2001.0, 20.0)
        sets = {
            "line": (line_x, np.full(line_x.size, 20.0), [f"R{k:03d}" for k in range(line_x.size)]),
            "stations": (
                np.array([150.0, 480.0, 900.0, 1290.0, 1750.0]),
                np.full(5, 20.0),
                [f"CI.{code}" for code in ("PAS", "OLI", "CHN", "SRN", "LFP")],
            ),
        }
        for name, (rx, rz, codes) in sets.items():
            _write_set(writer, name, rx, rz, codes, time)
        times = np.arange(0.0, 0.56, 0.05)
        for shot, place in SHOTS.items():
            folder = writer.create_snapshots(
                "wavefield", shot=shot, axes={"z": z, "x": x}, times=times,
                fields={"vx": "m/s", "vz": "m/s"},
            )  # fmt: skip
            for index, t in enumerate(times):
                vx, vz = motion(np.meshgrid(x - place, z - SOURCE_DEPTH), t)
                writer.write(f"{folder}/vx", index, vx)
                writer.write(f"{folder}/vz", index, vz)
        writer.create_maps(
            "peaks", shots=list(SHOTS), axes={"z": z, "x": x}, quantities={"pgv": "m/s"}, plane={}
        )
        for number, place in enumerate(SHOTS.values()):
            depths, offsets = np.meshgrid(z - SOURCE_DEPTH, x - place, indexing="ij")
            writer.write("maps/peaks/pgv", number, 1e-6 / (1 + np.hypot(depths, offsets) / 1e3))
        _write_telemetry(writer)
        writer.finish({"steps": 800, "elapsed_s": 3.21, "points_per_second": 2.1e8, "threads": 2})
    return path


def _write_telemetry(writer: ResultsWriter) -> None:
    """Store three seconds of a run."""
    clock = np.linspace(0.2, 3.2, 16)
    series = {"time": clock, "points_per_second": 2.1e8 + 1e6 * np.sin(clock)}
    writer.write_telemetry(series | {"memory": 3e8 * clock}, telemetry.UNITS)


def _write_set(
    writer: ResultsWriter,
    name: str,
    x: np.ndarray,
    z: np.ndarray,
    codes: list[str],
    time: np.ndarray,
) -> None:
    writer.create_traces(
        name, shots=list(SHOTS), codes=codes, positions={"x": x, "z": z},
        requested={"x": x, "z": z}, time=time, quantities={"vx": "m/s", "vz": "m/s"},
    )  # fmt: skip
    for index, place in enumerate(SHOTS.values()):
        offsets = ((x - place)[:, None], (z - SOURCE_DEPTH)[:, None])
        vx, vz = motion(offsets, time)
        writer.write(f"traces/{name}/vx", index, vx)
        writer.write(f"traces/{name}/vz", index, vz)


def write_elastic_3d(path: Path) -> Path:
    """Write a single-source 3-D run over 30 x 24 x 15 km, with stations and volumes."""
    x, y, z = (np.arange(n) * 500.0 for n in (61, 49, 31))
    time = 0.05 * np.arange(301)
    layers = np.interp(z, [0, 4000, 4001, 15000], [3500, 4500, 5800, 6500])
    vp = np.broadcast_to(layers[:, None, None], (z.size, y.size, x.size)).astype("f4")
    sx, sy, sz = 14000.0, 11000.0, 7000.0
    attributes = {"title": "Point source at 7 km depth", "physics": "elastic", "dt": 0.025}
    with ResultsWriter(path, scenario_text="", resolved="", attributes=attributes) as writer:
        writer.write_model({"z": z, "y": y, "x": x}, {"vp": (vp, "m/s"), "rho": (vp / 2, "kg/m3")})
        writer.write_sources([{"name": "main", "type": "moment_tensor", "x": sx, "y": sy, "z": sz}])
        writer.write_wavelets(time, ricker(time - 1.2, 1.0)[None], ["main"])
        _write_telemetry(writer)
        places = np.array([[4, 5], [9, 18], [16, 6], [20, 15], [26, 9], [12, 12]]) * 1e3
        codes = [f"XX.S{k:02d}" for k in range(len(places))]
        px, py = places.T
        pz = np.zeros(px.size)
        positions = {"x": px, "y": py, "z": pz}
        writer.create_traces(
            "stations", shots=["shot"], codes=codes, positions=positions, requested=positions,
            time=time, quantities={"vx": "m/s", "vy": "m/s", "vz": "m/s"},
        )  # fmt: skip
        field = motion(tuple(d[:, None] for d in (px - sx, py - sy, pz - sz)), time, 1.0)
        for name, traces in zip(("vx", "vy", "vz"), field, strict=True):
            writer.write(f"traces/stations/{name}", 0, traces)
        times = np.arange(0.0, 6.1, 1.0)
        grid = np.meshgrid(z - sz, y - sy, x - sx, indexing="ij")
        writer.create_snapshots(
            "volume", shot=None, axes={"z": z, "y": y, "x": x}, times=times, fields={"vz": "m/s"}
        )
        writer.create_snapshots(
            "surface", shot=None, axes={"y": y, "x": x}, times=times, fields={"vz": "m/s"},
            plane={"z": 0.0},
        )  # fmt: skip
        for index, t in enumerate(times):
            vz = motion((grid[2], grid[1], grid[0]), t, 0.5)[-1]
            writer.write("snapshots/volume/vz", index, vz)
            writer.write("snapshots/surface/vz", index, vz[0])
        writer.create_maps(
            "ground", shots=["shot"], axes={"y": y, "x": x}, plane={"z": 0.0},
            quantities={"pgv_horizontal": "m/s", "pga": "m/s^2", "szz": "Pa"},
        )  # fmt: skip
        distance = np.hypot(*np.meshgrid(y - sy, x - sx, indexing="ij")) / 1e3
        for name, size in (("pgv_horizontal", 1e-3), ("pga", 1e-2), ("szz", 1e3)):
            writer.write(f"maps/ground/{name}", 0, size / (7 + distance))
    return path

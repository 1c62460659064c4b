"""Verification of an installation: small runs compared with exact solutions, on every device.

Unlike the test suite it needs nothing but seismo, unlike `validation/` it is short: it
answers whether this machine, with these packages and this driver, computes as it should.

Each case is a scenario with all its defaults (order, precision, absorbing layers, removal of time
dispersion), sources and receivers between the grid points, and the traces that `seismo.exact` says
it must give, in absolute amplitude. Sampling is in points per shortest wavelength, at 2.5 times the
frequency of a Ricker wavelet. A bar is about twice the error of this version; a fault of an
installation (a package, a compiler, a driver) is wrong by far more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.backends.communicator import SerialCommunicator
from seismo.backends.select import BackendChoice, choose
from seismo.equations.rock import elastic_constants
from seismo.errors import DeviceError, ScenarioError, SeismoError
from seismo.exact import (
    acoustic,
    anisotropic,
    layered,
    layered_plane,
    shear,
    whole_space,
)
from seismo.exact import (
    medium as viscoelastic,
)
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.output.results import Results
from seismo.runs.request import Request

Exact = Callable[[np.ndarray, float], np.ndarray]
RunScenario = Callable[[SerialCommunicator, Mapping[str, Any], Request], Results | None]

ROCK = Medium(3200.0, 1847.5, 2200.0)
SOIL = Medium(1732.0, 1000.0, 1800.0)
WATER = Medium(1500.0, 0.0, 1020.0)
FREQUENCY = 10.0  # Hz


@dataclass(frozen=True)
class VerificationCase:
    """A problem.

    Attributes:
        name: of it.
        document: its scenario, with a source and a set of receivers, `line`.
        components: of the traces that are compared.
        exact: gives them (receiver, component, time) for the source's wavelet (time) and the step
            (s) of both.
        bar: relative L2 norm of the error that must not be exceeded, all traces together.
    """

    name: str
    document: Mapping[str, Any]
    components: tuple[str, ...]
    exact: Exact
    bar: float


def cases() -> list[VerificationCase]:
    """Return all of them, the quickest first."""
    return [
        acoustic_2d(),
        fluid_contact(),
        shear_2d(),
        rayleigh_wave(),
        sea_bed(),
        attenuation(),
        anisotropy(),
        acoustic_3d(),
        double_couple(),
        layer_3d(),
    ]


def acoustic_2d() -> VerificationCase:
    """Pressure in a whole space, seven wavelengths away."""
    offset = np.array([1100.0, 825.0])
    document = _whole_space("acoustic", {"vp": 2000.0}, offset, 10.0, "pressure", type="pressure")
    return VerificationCase(
        "acoustic, 2-D, whole space", document, ("pressure",),
        lambda source, dt: acoustic.pressure(offset, source, dt, 2000.0)[:, None], 0.001,
    )  # fmt: skip


def acoustic_3d() -> VerificationCase:
    """Pressure in a whole space, in 3-D."""
    offset = np.array([300.0, -150.0, 220.0])
    document = _whole_space(
        "acoustic_variable_density", {"vp": 2000.0, "rho": 1800.0}, offset, 6.0, "pressure",
        type="pressure",
    )  # fmt: skip
    return VerificationCase(
        "acoustic, variable density, 3-D", document, ("pressure",),
        lambda source, dt: acoustic.pressure(offset, source, dt, 2000.0)[:, None], 0.001,
    )  # fmt: skip


def shear_2d() -> VerificationCase:
    """SH waves of a line force."""
    offset = np.array([640.0, 320.0])
    document = _whole_space(
        "elastic_sh", _rock(ROCK), offset, 8.0, "velocity",
        type="force", force={"y": 1e9},
    )  # fmt: skip

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        return shear.force_response(
            offset[None], np.zeros(2), 1e9 * source, dt, ROCK.vs, ROCK.rho, "velocity"
        )[:, None]

    return VerificationCase("elastic SH, 2-D, whole space", document, ("vy",), exact, 0.001)


def double_couple() -> VerificationCase:
    """Velocities of a double couple in 3-D (Aki & Richards 2002, 4.29)."""
    offset = np.array([210.0, 130.0, -170.0])
    moment = np.zeros((3, 3))
    moment[0, 2] = moment[2, 0] = 1e12
    document = _whole_space(
        "elastic", _rock(ROCK), offset, 6.0, "velocity",
        type="moment_tensor", components={"xz": 1e12}, time_function="moment",
    )  # fmt: skip

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        return whole_space.moment_response(offset[None], moment, source, dt, ROCK, "velocity")

    return VerificationCase(
        "elastic, 3-D, double couple", document, ("vx", "vy", "vz"), exact, 0.001
    )


def attenuation() -> VerificationCase:
    """Constant Q of 20 for S and 40 for P waves, after six shear wavelengths."""
    offset = np.array([640.0, 320.0])
    document = _whole_space(
        "elastic", _rock(ROCK) | {"qp": 40.0, "qs": 20.0}, offset, 8.0, "velocity",
        type="force", force={"x": 0.0, "z": 1e9},
    )  # fmt: skip
    document["attenuation"] = {"reference_frequency": FREQUENCY}
    lossy = viscoelastic.AttenuatingMedium(
        ROCK.vp, ROCK.vs, ROCK.rho, viscoelastic.constant_q(40.0, FREQUENCY),
        viscoelastic.constant_q(20.0, FREQUENCY),
    )  # fmt: skip

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        force = np.array([0.0, 1e9])
        return whole_space.force_response(offset[None], force, source, dt, lossy, "velocity")

    return VerificationCase("visco-elastic, 2-D, Q = 20", document, ("vx", "vz"), exact, 0.008)


def anisotropy() -> VerificationCase:
    """Velocities in rock with a vertical axis of symmetry."""
    offset = np.array([312.0, 205.0])
    rock = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0, "epsilon": 0.2, "delta": 0.08}
    constants = elastic_constants.constants_of(rock | {"gamma": 0.0})
    solid = anisotropic.Solid(elastic_constants.matrix(constants), rock["rho"])
    document = _whole_space(
        "elastic", rock, offset, 7.0, "velocity", type="force", force={"x": 1e9, "z": 0.0}
    )

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        force = np.array([1e9, 0.0])
        return anisotropic.force_response(offset[None], force, source, dt, solid, "velocity")

    return VerificationCase("elastic VTI, 2-D, whole space", document, ("vx", "vz"), exact, 0.001)


def rayleigh_wave() -> VerificationCase:
    """Lamb's problem in 2-D: a buried force and the Rayleigh wave that it leaves."""
    receivers = np.array([[500.0, 0.0], [900.0, 0.0]])
    depth = np.array([0.0, 43.0])
    document = _half_space(((0.0, ROCK),), 8.0, receivers, 700.0, 0.9) | {
        "sources": [_source(depth, type="force", force={"x": 0.0, "z": 1e9})]
    }

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        return layered_plane.force_response(
            Stack((ROCK,), (0.0,)), depth, receivers, np.array([0.0, 1e9]), source, dt, "velocity"
        )

    return VerificationCase(
        "elastic, 2-D, free surface (Lamb)", document, ("vx", "vz"), exact, 0.005
    )


def fluid_contact() -> VerificationCase:
    """Pressure over and under a contact of fluids of unlike density, under a free surface."""
    upper = Medium(1600.0, 0.0, 1000.0)
    lower = Medium(1600.0, 0.0, 2200.0)
    receivers = np.array([[300.0, 150.0], [500.0, 300.0], [700.0, 150.0]])
    position = np.array([0.0, 61.0])
    layers = ((0.0, upper), (251.3, lower))
    document = _half_space(layers, 10.0, receivers, 500.0, 0.8, "pressure") | {
        "physics": "acoustic_variable_density",
        "sources": [_source(position, type="explosion", moment=1e9, time_function="moment")],
    }

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        stress = layered_plane.moment_response(
            Stack((upper, lower), (0.0, 251.3), True), position, receivers, 1e9 * np.eye(2), source,
            dt, "stress", cut=1e-7,
        )  # fmt: skip
        return -stress[:, 1:]

    return VerificationCase(
        "acoustic, variable density, 2-D, contact", document, ("pressure",), exact, 0.006
    )


def sea_bed() -> VerificationCase:
    """Velocities over and under a sea bed that lies between grid points."""
    bed = 302.3
    receivers = np.array([[600.0, bed - 100.0], [600.0, bed + 40.0]])
    position = np.array([0.0, bed - 150.0])
    document = _half_space(((0.0, WATER), (bed, ROCK)), 10.0, receivers, 650.0, 0.8) | {
        "sources": [_source(position, type="explosion", moment=1e9, time_function="moment")],
    }

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        return layered_plane.moment_response(
            Stack((WATER, ROCK), (0.0, bed), True), position, receivers, 1e9 * np.eye(2), source,
            dt, "velocity", cut=1e-7,
        )  # fmt: skip

    return VerificationCase("elastic, 2-D, water over rock", document, ("vx", "vz"), exact, 0.002)


def layer_3d() -> VerificationCase:
    """A soft layer over rock under a free surface, in 3-D: body and surface waves."""
    receivers = np.array([[180.0, 90.0, 0.0]])
    position = np.array([0.0, 0.0, 52.0])
    h = SOIL.vs / (2.5 * FREQUENCY) / 6.0
    document = {
        "title": "verification", "physics": "elastic",
        "grid": {"extent": {"x": 45 * h, "y": 31 * h, "z": 25 * h},
                 "origin": {"x": -15 * h, "y": -8 * h, "z": 0.0}, "spacing": h},
        "time": {"duration": 0.65},
        "boundaries": {"top": "free_surface"},
        "model": [_layers(((0.0, SOIL), (84.0, ROCK)))],
        "sources": [_source(position, type="force", force={"x": 0.0, "y": 0.0, "z": 1e9})],
        "receivers": [_receivers(receivers, "velocity")],
    }  # fmt: skip

    def exact(source: np.ndarray, dt: float) -> np.ndarray:
        return layered.force_response(
            Stack((SOIL, ROCK), (0.0, 84.0)), position, receivers, np.array([0.0, 0.0, 1e9]),
            source, dt, "velocity",
        )  # fmt: skip

    return VerificationCase(
        "elastic, 3-D, layer over half-space", document, ("vx", "vy", "vz"), exact, 0.02
    )


def _rock(medium: Medium) -> dict[str, float]:
    return {"vp": medium.vp, "vs": medium.vs, "rho": medium.rho}


def _position(position: np.ndarray) -> dict[str, float]:
    return dict(zip("xyz" if position.size == 3 else "xz", map(float, position), strict=True))


def _source(position: np.ndarray, **mechanism: Any) -> dict[str, Any]:
    wavelet = {"type": "ricker", "frequency": FREQUENCY}
    return {**mechanism, "position": _position(position), "wavelet": wavelet}


def _receivers(positions: np.ndarray, quantity: str) -> dict[str, Any]:
    entries = [_position(position) for position in positions]
    return {"name": "line", "type": "points", "positions": entries, "quantities": [quantity]}


def _layers(layers: tuple[tuple[float, Medium], ...]) -> dict[str, Any]:
    entries = []
    for top, medium in layers:
        fluids = all(m.is_fluid for _, m in layers)  # of which the equations take no vs
        rock = _rock(medium)
        entries.append({"top": top} | {k: v for k, v in rock.items() if k != "vs" or not fluids})
    return {"type": "layers", "layers": entries}


def _whole_space(
    physics: str, rock: dict[str, float], offset: np.ndarray, points: float, quantity: str,
    **mechanism: Any,
) -> dict[str, Any]:  # fmt: skip
    """Put a source and a receiver, both between the grid points, in a box around them."""
    slowest = rock.get("vs", rock.get("vp", 0.0))
    h = slowest / (2.5 * FREQUENCY) / points
    margin = 6 * h
    extent = np.ceil((np.abs(offset) + 2 * margin) / h) * h
    start = np.where(offset > 0, margin, extent - margin) + 0.3 * h
    return {
        "title": "verification", "physics": physics,
        "grid": {"extent": _position(extent), "spacing": h},
        "time": {"duration": float(np.linalg.norm(offset) / slowest + 3.2 / FREQUENCY)},
        "model": [{"type": "uniform", **rock}],
        "sources": [_source(start, **mechanism)],
        "receivers": [_receivers((start + offset)[None], quantity)],
    }  # fmt: skip


def _half_space(
    layers: tuple[tuple[float, Medium], ...], points: float, receivers: np.ndarray,
    depth: float, duration: float, quantity: str = "velocity",
) -> dict[str, Any]:  # fmt: skip
    """Return layers (top m, medium) under a free surface, a grid around source and receivers."""
    slowest = min(medium.vs or medium.vp for _, medium in layers)
    h = slowest / (2.5 * FREQUENCY) / points
    far = receivers[:, 0].max()
    return {
        "title": "verification", "physics": "elastic",
        "grid": {"extent": {"x": np.ceil((far + 200.0) / h) * h, "z": np.ceil(depth / h) * h},
                 "origin": {"x": -np.ceil(100.0 / h) * h, "z": 0.0}, "spacing": h},
        "time": {"duration": duration},
        "boundaries": {"top": "free_surface"},
        "model": [_layers(layers)],
        "receivers": [_receivers(receivers, quantity)],
    }  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """The outcome of a case.

    Attributes:
        case: its name.
        backend: where it ran.
        error: relative L2 norm of the difference, NaN where the run failed.
        bar: that it must not exceed.
        seconds: of the run, compilation included, and of the exact solution.
        problem: why the run failed.
    """

    case: str
    backend: str
    error: float
    bar: float
    seconds: float
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the bar is met; NaN never is."""
        return bool(self.error <= self.bar)

    def __str__(self) -> str:
        """Format a line of the table."""
        line = (
            f"{self.case:<44}{self.backend:<9}{100 * self.error:>7.2g} %{100 * self.bar:>6.2g} %"
            f"{self.seconds:>6.1f} s"
        )
        return line + ("" if self.passed else f"  FAILED{': ' * bool(self.problem)}{self.problem}")


def select_cases(words: Sequence[str] = ()) -> list[VerificationCase]:
    """Return the cases whose names contain any of the words; all without words.

    Raises:
        ScenarioError: a word is in no name.
    """
    every = cases()
    for word in words:
        if not any(word in case.name for case in every):
            names = "; ".join(case.name for case in every)
            raise ScenarioError(f"{word}: no case is called so; there are: {names}")
    return [case for case in every if not words or any(word in case.name for word in words)]


@dataclass(frozen=True)
class Target:
    """Where cases run: the backend, its description, and the request."""

    backend: str
    note: str
    keys: dict[str, Any]


def targets_of(backend: str, device: int | None, threads: int | None) -> list[Target]:
    """Return where to verify: for "auto" on the CPU and, where it can be used, on a GPU.

    Raises:
        DeviceError: a requested device is not there, or cannot be used.
    """
    if backend != "auto":
        keys = {"device": device, "threads": threads}
        return [_target(choose(backend, device, threads), keys)]
    targets = [_target(choose("cpu", None, threads), {"threads": threads})]
    try:
        targets.append(_target(choose("gpu", device), {"device": device}))
    except DeviceError:
        if device is not None:
            raise
    return targets


def _target(choice: BackendChoice, keys: dict[str, Any]) -> Target:
    return Target(choice.name, choice.note, keys)


def verify(
    cases: Iterable[VerificationCase], target: Target, run: RunScenario
) -> Iterator[Verdict]:
    """Run cases and yield the outcome of each.

    Args:
        cases: to run.
        target: where.
        run: function(communicator, scenario, request) -> results.
    """
    for case in cases:
        start = time.perf_counter()
        error = float("nan")
        problem = ""
        try:
            error = _error(case, Request(backend=target.backend, **target.keys), run)
        except DeviceError:
            raise  # of no case: nothing can run there
        except SeismoError as failure:
            problem = str(failure)
        seconds = time.perf_counter() - start
        yield Verdict(case.name, target.backend, error, case.bar, seconds, problem)


def _error(case: VerificationCase, request: Request, run: RunScenario) -> float:
    """Return the relative L2 norm of the error of all traces of a case."""
    from seismo.exact.metrics import relative_l2

    results = run(SerialCommunicator(), case.document, request)
    assert results is not None  # there is no other rank
    with results:
        assert results.wavelets is not None
        traces = results.traces["line"]
        recorded = np.stack([traces.values_of(name)[0] for name in case.components], axis=1)
        exact = case.exact(results.wavelets.samples[0], results.dt)
    return relative_l2(recorded, exact)

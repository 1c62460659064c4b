"""Plane waves from below: nothing leaves their box, they are exact, and what cannot be is refused.

The incident wave is that of the difference equations themselves: what the box sends out of a
layered earth is rounding and the error of short filters, 1e-6 of the motion; waves that are
evanescent somewhere begin 8 periods early, which leaves 1e-5.
"""

import numpy as np
import pytest

import solver
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import choose
from seismo.errors import ScenarioError
from seismo.exact import layered_plane as incident_plane
from seismo.exact.medium import AttenuatingMedium, Medium, constant_q
from seismo.exact.stack import Stack
from seismo.features.plane_waves.delays import (
    ERROR,
    AxisDelays,
    SignalBand,
    retarded_filters,
)
from seismo.features.plane_waves.injection import (
    INCIDENT_NANOSECONDS,
    incident_seconds,
    incident_size,
)
from seismo.features.plane_waves.plane_wave import PlaneWave, box_of, plane_waves
from seismo.runs.check.plan import check
from seismo.runs.prediction.contacts.layered_error import layered_error
from seismo.runs.resources.speed import (
    STEP_SECONDS,
    SURFACE_STAGE_SECONDS,
    RooflineMachine,
    seconds,
)
from seismo.scenario import from_dict, load
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation, build

HALF_SPACE = ({"top": 0.0, "vp": 4000.0, "vs": 2300.0, "rho": 2500.0},)
LAYERS = (
    {"top": 0.0, "vp": 1500.0, "vs": 600.0, "rho": 1900.0},
    {"top": 150.0, "vp": 2200.0, "vs": 1200.0, "rho": 2100.0},
    {"top": 433.0, "vp": 4000.0, "vs": 2300.0, "rho": 2500.0},
)
LOSSY = tuple({**layer, "qp": layer["vs"] / 5, "qs": layer["vs"] / 10} for layer in LAYERS)


def scenario(wave="SV", incidence=25.0, layers=LAYERS, h=15.0, duration=2.0, **changes) -> dict:
    """Return a layered earth of 1.2 x 0.9 km."""
    document = {
        "physics": "elastic_sh" if wave == "SH" else "elastic",
        "grid": {"extent": {"x": 1200.0, "z": 900.0}, "spacing": h, "order": 8},
        "time": {"duration": duration},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": list(layers)}],
        "sources": [{"type": "plane_wave", "wave": wave, "incidence": incidence,
                     "wavelet": {"type": "ricker", "frequency": 4.0}}],
        "receivers": [{"type": "points", "quantities": ["velocity"], "name": "r",
                       "positions": [{"x": 405.0, "z": 0.0}, {"x": 700.0, "z": 405.0}]}],
    }  # fmt: skip
    return document | changes


def in_space(**changes) -> dict:
    """Return the same in space, with differences of another order."""
    document = scenario(h=20.0, **changes)
    document["grid"] |= {"extent": {"x": 700.0, "y": 640.0, "z": 760.0}, "order": 4}
    document["physics"] = "elastic"
    document["sources"][0]["azimuth"] = 33.0
    document["receivers"][0]["positions"] = [{"x": 400.0, "y": 400.0, "z": 0.0}]
    return document


def changed(document: dict, **source) -> dict:
    document["sources"][0] |= source
    return document


def outside(document: dict, every: int = 20) -> float:
    """Return the largest velocity outside the box, of that inside, over a run."""
    simulation = build(from_dict(document))
    discretization = simulation.discretization
    (wave,) = plane_waves(discretization)
    box = box_of(discretization, wave)
    inside = tuple(
        slice(first - 1, last + 2) if axis in box.faces else slice(None)
        for axis, first, last in zip("zyx", box.first[::-1], box.last[::-1], strict=True)
    )
    top = slice(0, box.last[2] + 2)
    names = [name for name in ("vx", "vy", "vz") if name in discretization.physics.shown]
    largest = left = 0.0
    while simulation.step < simulation.total_steps:
        simulation.advance(min(every, simulation.total_steps - simulation.step))
        for name in names:
            field = np.abs(simulation.field(name)[0])
            largest = max(largest, float(field.max()))
            field[(top, *inside[1:])] = 0.0
            left = max(left, float(field.max()))
    assert largest > 0.5
    return left / largest


@pytest.mark.parametrize(
    ("document", "bar"),
    [
        (scenario("P", 50.0), 3e-6),
        pytest.param(scenario("SV", 0.0, duration=4.0), 3e-6, marks=pytest.mark.slow),
        (scenario("SV", 36.0, duration=4.0), 3e-5),  # P grazes in the half-space
        pytest.param(scenario("SH", 85.0, duration=3.0), 3e-6, marks=pytest.mark.slow),
        (scenario(layers=LOSSY, attenuation={"reference_frequency": 4.0}), 3e-6),
        (scenario(time={"duration": 2.0, "dispersion_removal": False}), 3e-6),
    ],
    ids=["p", "sv-upright", "sv-grazing-p", "sh", "lossy", "dispersed"],
)
def test_nothing_leaves_the_box(document, bar):
    assert outside(document) < bar


@pytest.mark.parametrize("order", solver.slow_but({16}, (12, 16)))
def test_nothing_leaves_the_box_on_coarse_grids(order):
    document = scenario(h=20.0)  # 2.7 points in the shortest wavelength
    document["grid"]["order"] = order
    assert outside(document) < 3e-6


def test_nothing_leaves_the_box_where_rows_grow():
    document = scenario()
    document["grid"]["spacing"] = {"x": 15.0, "z": [{"below": 450.0, "spacing": 24.0}]}
    document["grid"]["extent"]["z"] = 1800.0
    assert outside(document) < 3e-6


@pytest.mark.parametrize("wave", ["SH", pytest.param("SV", marks=pytest.mark.slow)])
def test_nothing_leaves_the_box_in_space(wave):
    document = in_space(duration=0.7)
    document["sources"][0]["wave"] = wave
    assert outside(document) < 3e-6


@pytest.mark.parametrize(
    ("incidence", "azimuth"),
    [
        (25.0, 0.0),
        pytest.param(0.0, 33.0, marks=pytest.mark.slow),
        pytest.param(25.0, 90.0, marks=pytest.mark.slow),
    ],
)
def test_nothing_leaves_the_box_where_columns_share_signals(incidence, azimuth):
    document = in_space(duration=0.6)
    document["sources"][0] |= {"incidence": incidence, "azimuth": azimuth}
    assert outside(document) < 3e-6
    size = incident_size(discretize(from_dict(document)))
    assert size.signals < 0.2 * size.points


def traces(document: dict) -> tuple[np.ndarray, np.ndarray, Simulation]:
    """Return traces (receiver, component, time), and the exact ones."""
    simulation = build(from_dict(document))
    simulation.advance(simulation.total_steps)
    from seismo.acquisition import trace_processing

    discretization = simulation.discretization
    (wave,) = plane_waves(discretization)
    components = ("vy",) if wave.wave == "SH" else ("vx", "vz")
    recorded = np.stack(
        [
            trace_processing.finish(
                simulation.recorder.raw(0, "r", name).astype(float), "velocity", True,
                simulation.dt, simulation.steps, 1, True,
            )
            for name in components
        ],
        axis=1,
    )  # fmt: skip
    layers = document["model"][0]["layers"]
    media = [Medium(layer["vp"], layer["vs"], layer["rho"]) for layer in layers]
    if "attenuation" in document:
        reference = document["attenuation"]["reference_frequency"]
        # The bulk modulus of a plane gains nothing: 1/qp is at least (vs/vp)^2 of 1/qs.
        qualities = [(layer.get("qp", np.inf), layer.get("qs", np.inf)) for layer in layers]
        media = [
            AttenuatingMedium(
                rock.vp,
                rock.vs,
                rock.rho,
                constant_q(min(qp, qs * (rock.vp / rock.vs) ** 2), reference),
                constant_q(qs, reference),
            )
            for rock, (qp, qs) in zip(media, qualities, strict=True)
        ]
    stack = Stack(tuple(media), tuple(layer["top"] for layer in layers))
    source = wave.signal(np.arange(2 * recorded.shape[-1]) * simulation.dt, 0)
    places = [[p["x"], p["z"]] for p in document["receivers"][0]["positions"]]
    exact = incident_plane.velocity(
        stack, wave.wave, wave.incidence, np.array(places), source, simulation.dt,
        np.array([wave.position[0], wave.position[2]]),
    )  # fmt: skip
    return recorded, exact[..., : recorded.shape[-1]], simulation


@pytest.mark.parametrize(
    ("wave", "incidence", "layers", "h", "bar"),
    [
        ("P", 40.0, HALF_SPACE, 20.0, 1e-3),
        pytest.param("SV", 20.0, HALF_SPACE, 20.0, 1e-3, marks=pytest.mark.slow),
        ("SV", 50.0, HALF_SPACE, 20.0, 1e-3),  # P is evanescent
        # 7 points in the shortest wavelength
        pytest.param("SV", 25.0, LAYERS, 7.5, 1e-2, marks=pytest.mark.slow),
        ("SH", 50.0, LAYERS, 7.5, 1e-2),
    ],
)
def test_motion_is_exact(wave, incidence, layers, h, bar):
    duration = 4.0 if incidence == 50.0 else 2.5
    document = scenario(wave, incidence, layers, h, duration)
    document["receivers"][0]["positions"][1] = {"x": 700.0, "z": 420.0}
    recorded, exact, _ = traces(document)
    error = np.linalg.norm(recorded - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    assert error.max() < bar


@pytest.mark.parametrize(
    ("wave", "incidence", "ratio"),
    [
        ("SH", 60.0, 0.5),
        ("SV", 15.0, 2.0),
        pytest.param("P", 30.0, 0.5, marks=pytest.mark.slow),
        pytest.param("SV", 20.0, 0.5, marks=pytest.mark.slow),
        pytest.param("P", 70.0, 2.0, marks=pytest.mark.slow),
    ],
)
def test_contacts_err_as_expected(wave, incidence, ratio):
    """A seam of two cells: of the slowness of the wave alone, at all distances."""
    rock = {"vp": 3464.0, "vs": 2000.0, "rho": 2300.0}
    seam = {"vp": ratio * rock["vp"], "vs": ratio * rock["vs"], "rho": ratio**0.25 * rock["rho"]}
    layers = [{"top": z} | m for z, m in ((0.0, rock), (400.0, seam), (440.0, rock))]
    recorded, exact, simulation = traces(scenario(wave, incidence, layers, 20.0, 3.0))
    errors = np.linalg.norm(recorded - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    assert 0.5 < layered_error(simulation.discretization).error / errors.max() < 2.0


@pytest.mark.parametrize(
    ("wave", "incidence", "layers", "h", "bar"),
    [
        ("P", 40.0, HALF_SPACE, 20.0, 2e-3),
        pytest.param("SV", 25.0, HALF_SPACE, 20.0, 3e-3, marks=pytest.mark.slow),
        ("SH", 50.0, HALF_SPACE, 20.0, 3e-3),
        pytest.param("SV", 25.0, LAYERS, 7.5, 6e-3, marks=pytest.mark.slow),
    ],
)
def test_motion_in_lossy_rock_is_exact(wave, incidence, layers, h, bar):
    # Constant Q against what six mechanisms make of it; at Q = 20 the direction of motion is
    # another one than that in rock of real velocities, by 2 %.
    lossy = [{**layer, "qp": 40.0, "qs": 20.0} for layer in layers]
    loss = {"reference_frequency": 4.0, "mechanisms": 6, "band": [0.3, 20.0]}
    document = scenario(wave, incidence, lossy, h, 3.0, attenuation=loss)
    document["receivers"][0]["positions"][1] = {"x": 700.0, "z": 420.0}
    recorded, exact, _ = traces(document)
    error = np.linalg.norm(recorded - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    assert error.max() < bar


@pytest.mark.parametrize("incidence", [0.0, 20.0, 60.0])
def test_exact_half_space(incidence):
    # Free-surface motion of a P wave (Aki & Richards 2002, table 5.2 and problem 5.6), of an SH
    # wave twice its own.
    c, s = np.cos(np.radians(incidence)), np.sin(np.radians(incidence))
    alpha, beta = 4000.0, 2300.0
    times = np.arange(600) * 5e-3
    source = np.exp(-(((times - 1.0) / 0.1) ** 2))
    stack = Stack((Medium(alpha, beta, 2500.0),), (0.0,))
    args = (np.radians(incidence), np.zeros((1, 2)), source, 5e-3, np.zeros(2))
    p, cos_j = s / alpha, np.sqrt(1.0 - (beta * s / alpha) ** 2)
    bend = 1.0 / beta**2 - 2.0 * p**2
    rayleigh = bend**2 + 4.0 * p**2 * (c / alpha) * (cos_j / beta)
    x, z = incident_plane.velocity(stack, "P", *args)[0]
    expected_x = 4.0 * alpha * p * (c / alpha) * (cos_j / beta) / beta**2 / rayleigh
    expected_z = -2.0 * alpha * (c / alpha) * bend / beta**2 / rayleigh
    assert np.abs(x - expected_x * source).max() < 1e-7
    assert np.abs(z - expected_z * source).max() < 1e-7
    (y,) = incident_plane.velocity(stack, "SH", *args)[0]
    assert np.abs(y - 2.0 * source).max() < 1e-7


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        (scenario(duration=1.0), (3, 1)),
        (in_space(duration=0.3), (2, 2)),
    ],
    ids=["2d", "3d"],
)
def test_cuts_change_no_bit(document, parts):
    checked = from_dict(document)
    fields = []
    for counts in (None, parts):
        simulation = build(checked, counts=counts)
        simulation.advance(120)
        fields.append(solver.wavefield(simulation))
    assert solver.identical(*fields)


def stepped(document: dict, name: str, steps: int, *backends) -> list[np.ndarray]:
    """Give a field after some steps on each backend."""
    discretization = discretize(from_dict(document))
    fields = []
    for backend in backends:
        simulation = Simulation(discretization, backend)
        simulation.advance(steps)
        fields.append(simulation.field(name))
    return fields


def test_plain_code_and_kernels_agree():
    document = scenario(h=25.0, layers=({**LAYERS[1], "top": 0.0}, LAYERS[2]), duration=0.6)
    document["grid"]["extent"]["x"] = 900.0
    document["receivers"][0]["positions"] = [{"x": 450.0, "z": 0.0}]
    fields = stepped(document, "vx", 50, CpuBackend("float64"), ReferenceBackend("float64"))
    assert np.abs(fields[0] - fields[1]).max() < 1e-12 * np.abs(fields[0]).max()


def test_code_of_gpus_agrees():
    pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")
    from simulated_card import simulated

    document = scenario(h=25.0, layers=HALF_SPACE, duration=0.6, precision="float64")
    document["grid"]["extent"] = {"x": 900.0, "z": 600.0}
    document["receivers"][0]["positions"] = [{"x": 450.0, "z": 0.0}]
    fields = stepped(document, "vz", 8, simulated("float64"), ReferenceBackend("float64"))
    assert np.abs(fields[1]).max() > 0.0
    assert np.abs(fields[0] - fields[1]).max() < 1e-12 * np.abs(fields[1]).max()


@pytest.mark.gpu
@pytest.mark.parametrize(
    "document",
    [
        scenario(),
        scenario("SH", layers=LOSSY, attenuation={"reference_frequency": 4.0}),
        in_space(),
        changed(in_space(), incidence=25.0, azimuth=0.0),
        changed(in_space(), incidence=0.0),
    ],
    ids=["2d", "2d-lossy", "3d", "3d-along-x", "3d-upright"],
)
def test_a_card_adds_the_waves_that_the_processor_adds(document):
    """To rounding, of the largest velocity, stress or memory: upright waves leave some at rest."""
    checked = from_dict(document | {"precision": "float64", "time": {"duration": 0.8}})
    found, wanted = (build(checked, choose(name)) for name in ("gpu", "cpu"))
    for simulation in (found, wanted):
        simulation.advance(simulation.total_steps)
    found, wanted = solver.wavefield(found), solver.wavefield(wanted)
    for kind in {name[0] for name in wanted}:
        names = [name for name in wanted if name[0] == kind]
        largest = max(np.abs(wanted[name]).max() for name in names)
        assert largest > 0.0
        assert max(np.abs(found[name] - wanted[name]).max() for name in names) < 1e-12 * largest


def test_another_simulation_goes_on():
    checked = from_dict(scenario(duration=1.2))
    first = build(checked)
    second = build(checked)
    solver.go_on(first, second, 400)
    for simulation in (first, second):
        simulation.advance(200)
    assert np.array_equal(first.field("vz"), second.field("vz"))


BODY = {"type": "sphere", "radius": 100.0, "vp": 1200.0, "vs": 500.0, "rho": 1800.0}
REFUSED = {
    "sh-in-plane": (changed(scenario(), wave="SH"), "sources[0].wave", "elastic_sh"),
    "fluid": (
        scenario(physics="acoustic", model=[{"type": "uniform", "vp": 2000.0}]),
        "sources[0].wave", "has no plane waves from below",
    ),
    "azimuth": (changed(scenario(), azimuth=30.0), "sources[0].azimuth", "0 or 180 deg"),
    "grazing": (changed(scenario(), incidence=90.0), "sources[0].incidence", "89"),
    "top": (scenario(boundaries={"top": "absorbing"}), "boundaries.top", "free_surface"),
    "bottom": (
        scenario(boundaries={"top": "free_surface", "bottom": "rigid"}),
        "boundaries.bottom", "absorbing",
    ),
    "sides": (
        scenario(boundaries={"top": "free_surface", "x_min": "periodic", "x_max": "periodic"}),
        "boundaries.x_min", "straight up",
    ),
    "survey": (
        scenario(survey={"shots": [{"position": {"x": 300.0, "z": 0.0}}]}), "survey", "leave it out"
    ),
    "margin": (changed(scenario(), margin=100.0), "sources[0].margin", "less than 10 points"),
    "no-box": (changed(scenario(), margin=580.0), "sources[0].margin", "points of the box"),
    "beside": (
        scenario(model=[{"type": "layers", "layers": list(LAYERS)},
                        {**BODY, "center": {"x": 200.0, "z": 300.0}}]),
        "sources[0].margin", "the rock at x = ",
    ),
    "below": (
        scenario(layers=(*LAYERS, {**LAYERS[2], "top": 800.0, "vp": 4500.0})),
        "sources[0].margin", "rock still changes at 825 m",
    ),
    "anisotropic": (
        scenario(layers=(*LAYERS[:2], {**LAYERS[2], "epsilon": 0.1})),
        "sources[0].type", "rock with epsilon",
    ),
    "early": (
        changed(scenario(), wavelet={"type": "ricker", "frequency": 4.0, "delay": -1.0}),
        "sources[0].delay", "or more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name):
    document, key, words = REFUSED[name]
    with pytest.raises(ScenarioError) as raised:
        discretize(from_dict(document))
    assert key in str(raised.value)
    assert words in str(raised.value)


def test_check_says_what_it_does():
    document = scenario()
    document["receivers"][0]["positions"].append({"x": 30.0, "z": 0.0})
    plan = check(document)
    (warned,) = [line for line in plan.warnings if "outside the box" in line]
    assert "receivers r: 1 lie" in warned
    assert plan.memory.sources > 1e6
    # Adding it takes time, too.
    discretization = discretize(from_dict(document))
    size = incident_size(discretization)
    step = INCIDENT_NANOSECONDS["cpu"]
    each = size.points * step["points"] + size.signals * step["signals"]
    extra = incident_seconds(discretization, RooflineMachine("cpu", {"threads": 1}))
    assert extra == pytest.approx(each * 1e-9 * discretization.total_steps)
    launching = STEP_SECONDS["cpu"] + SURFACE_STAGE_SECONDS  # of the steps, and of their surface
    stepping = discretization.total_steps * (discretization.grid.size / 1e8 + launching)
    found = seconds(discretization, 1e8, RooflineMachine("cpu", {"threads": 1}))
    assert found == pytest.approx(stepping + extra)


def test_a_box_between_periodic_sides():
    sides = {"x_min": "periodic", "x_max": "periodic"}
    document = scenario("SV", 0.0, boundaries={"top": "free_surface", **sides})
    assert outside(document) < 3e-6


def test_filters_delay_and_difference():
    band = SignalBand(np.exp(-(np.linspace(0.0, 5.0, 50) ** 2)), 0.6, True)
    offsets = np.array([[0.3, 1.9], [40.2, 41.3]])
    weights = np.array([[1.0, -0.5], [1.0, 0.0]])
    late = np.array([0.0, 7.7, 30.1])  # along y
    along_y = AxisDelays(late[:, None], np.ones((3, 1)))
    filters = retarded_filters(along_y, AxisDelays(offsets, weights), np.zeros(6), band)
    frequency = np.linspace(0.0, 0.3, 30)
    ahead = np.arange(filters.taps.shape[1]) - filters.lags[:, None]
    true = 2.0 * np.sin(0.5 * frequency)
    for place in range(6):
        y, x = divmod(place, 2)
        made = np.exp(1j * np.outer(frequency, ahead[place])) @ filters.taps[place]
        wanted = np.exp(-1j * np.outer(true, late[y] + offsets[x])) @ weights[x]
        held = np.exp(-((frequency / 0.12) ** 2))
        assert np.abs((made - wanted) * held).max() < 3.0 * ERROR


def test_scenario_of_a_basin():
    discretization = discretize(load("scenarios/plane_wave_basin.yaml"))
    (wave,) = plane_waves(discretization)
    assert isinstance(wave, PlaneWave)
    assert wave.velocity == 2900.0

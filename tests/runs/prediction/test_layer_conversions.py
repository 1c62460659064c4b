"""P and SV waves that meet layers which damp the fields, and what such layers send back."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import layer_reflection
import solver
from seismo.runs.prediction import layer_images
from seismo.runs.prediction.accuracy import sent_back
from seismo.runs.prediction.layer_equations import sent_back as converted
from seismo.runs.prediction.layer_waves import LayerWaves
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.medium.cpml import strength

VP, VS = 4200.0, 2400.0
ROCK = {"vp": VP, "vs": VS, "rho": 2500.0}
MOMENT = {"type": "moment_tensor", "components": {"xx": -1e15, "zz": 1e15}}
FORCE = {"type": "force", "force": {"x": 1e12}}
SPACING = 240.0
# Physics, source, top, depth of receivers, points, damping, error of the worst receiver.
CASES = [
    ("elastic", MOMENT, "absorbing", 0.0, 12, 0.05, 0.11665),
    ("elastic", MOMENT, "free_surface", 0.0, 12, 0.05, 0.01891),
    ("elastic", FORCE, "free_surface", 3000.0, 20, 0.02, 0.004096),
    ("elastic", {"type": "explosion", "moment": 1e15}, "absorbing", 0.0, 6, 0.05, 0.0869),
    (
        "elastic_sh",
        {"type": "force", "force": {"y": 1e12}},
        "free_surface",
        0.0,
        12,
        0.05,
        0.005478,
    ),
]
CASE_NAMES = ("physics", "source", "top", "depth", "points", "damping", "found")


def document(physics, source, top, depth, points, damping) -> dict:
    """Put a source of long waves into a box of rock, layers a sixth of a wavelength thick."""
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": 28800.0, "z": 20160.0}, "spacing": SPACING, "order": 8},
        "time": {"duration": 18.0},
        "boundaries": {"top": top, "layer": {"points": points, "damping": damping}},
        "model": [{"type": "uniform", **ROCK}],
        "sources": [{**source, "position": {"x": 12500.0, "z": 8600.0},
                     "wavelet": {"type": "ricker", "frequency": 0.35}}],
        "receivers": [solver.points([{"x": x, "z": depth} for x in (1900.0, 14400.0, 26900.0)],
                                    quantities=["velocity"])],
    }  # fmt: skip


@pytest.mark.parametrize(CASE_NAMES, CASES)
def test_it_is_told_what_damped_layers_send_back_of_long_waves(
    physics, source, top, depth, points, damping, found
) -> None:
    case = document(physics, source, top, depth, points, damping)
    ratio = sent_back(discretize(from_dict(case))) / found
    assert 0.7 < ratio < (2.5 if top == "free_surface" else 1.4)


@pytest.mark.slow
@pytest.mark.parametrize(CASE_NAMES, CASES)
def test_it_is_found(physics, source, top, depth, points, damping, found) -> None:
    """Of finished traces, against matched layers of 20 points."""
    case = document(physics, source, top, depth, points, damping)
    matched = copy.deepcopy(case)
    matched["boundaries"]["layer"] = {"points": 20, "damping": 0.0}
    near, far = (solver.traces(solver.simulate(one)) for one in (case, matched))
    errors = sum(((near[c] - far[c]) ** 2).sum(axis=-1) for c in far)
    energies = sum((far[c] ** 2).sum(axis=-1) for c in far)
    assert np.sqrt((errors / energies).max()) == pytest.approx(found, rel=0.1)


H = 10.0
UP = {"type": "force", "force": {"z": 1e9}}
EXPLOSION = {"type": "explosion", "moment": 1e12}
# Dimensions, source, error of the worst receiver.
SOFT_CASES = [(2, UP, 0.0316), (2, EXPLOSION, 0.1005), (3, UP, 0.0197)]


def soft_ground(dimensions: int, source: dict, wider: float = 0.0, length: float = 500.0) -> dict:
    """Put a source into ten cells of soft ground on rock; `wider` by so many m on all sides."""
    axes = "xyz" if dimensions == 3 else "xz"
    size = {"x": length, "y": 400.0, "z": 300.0}
    ends = [(0.4, 0.5), (0.6, 0.55), (0.8, 0.625), (0.88, 0.2)]
    places = [{"x": x * length, "y": y * size["y"], "z": 0.0} for x, y in ends]
    position = {"x": 120.0, "y": 200.0, "z": 80.0}
    return {
        "physics": "elastic",
        "grid": {"extent": {a: size[a] + wider * (1 if a == "z" else 2) for a in axes},
                 "origin": {a: -wider for a in axes if a != "z"}, "spacing": H},
        "time": {"duration": 1.6 * length / 500.0},
        "boundaries": {"top": "free_surface", "layer": {"damping": 0.0 if wider else 0.05}},
        "model": [{"type": "layers", "layers": [
            {"top": -1e5, "vp": 800.0, "vs": 400.0, "rho": 1800.0},
            {"top": 100.0, "vp": 2200.0, "vs": 1200.0, "rho": 2300.0}]}],
        "sources": [{**source, "position": {a: position[a] for a in axes},
                     "wavelet": {"type": "ricker", "frequency": 400.0 / (15.0 * H)}}],
        "receivers": [solver.points([{a: p[a] for a in axes} for p in places],
                                    quantities=["velocity"])],
    }  # fmt: skip


@pytest.mark.parametrize(("dimensions", "source", "found"), SOFT_CASES)
def test_it_is_told_what_damped_layers_send_back_of_soft_ground(dimensions, source, found) -> None:
    assert 0.5 < sent_back(discretize(from_dict(soft_ground(dimensions, source)))) / found < 2.0


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "source", "found"), SOFT_CASES)
def test_it_is_found_of_soft_ground(dimensions, source, found) -> None:
    """Against a region so wide that nothing comes back from its layers."""
    wider = 900.0 if dimensions == 3 else 1600.0
    near, far = (
        solver.traces(solver.simulate(soft_ground(dimensions, source, w))) for w in (0.0, wider)
    )
    count = min(len(near["vx"][0]), len(far["vx"][0]))
    errors = sum(((near[c] - far[c])[:, :count] ** 2).sum(axis=-1) for c in far)
    energies = sum((far[c][:, :count] ** 2).sum(axis=-1) for c in far)
    assert np.sqrt((errors / energies).max()) == pytest.approx(found, rel=0.1)


def test_a_path_of_too_many_waves_is_looked_at_in_a_shorter_one(monkeypatch) -> None:
    """To a factor of 1.5."""
    given = from_dict(soft_ground(2, UP, length=1500.0))
    errors = []
    for most in (3e5, 2e4):
        monkeypatch.setattr(layer_images, "_MOST_WAVES", most)
        errors.append(layer_images.images_error(discretize(given), 12, damping=0.05))
    assert errors[1] != errors[0]
    assert errors[1] == pytest.approx(errors[0], rel=0.5)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("kind", "points", "degrees"), [
    ("P", 100.0, 20.0), ("P", 60.0, 60.0), ("S", 20.0, 45.0), ("S", 60.0, 10.0), ("S", 60.0, 70.0),
])  # fmt: skip
def test_p_and_sv_waves_come_back_as_from_a_line_of_points(kind, points, degrees, side) -> None:
    """The line is solved with waves that are excited at a point, and shifts of the phase alone."""
    plan = discretize(from_dict(document("elastic", FORCE, "absorbing", 0.0, 18, 0.05)))
    layer = strength(plan, 0.05)
    dt, h = plan.clock.dt, SPACING
    unit = replace(layer, alpha=layer.alpha * h / VP, velocity=1.0)
    wave = layer_reflection.Wave(points, degrees, kind, 1.0, VP / VS)
    largest = layer_reflection.largest_symbol(layer_reflection.staggered(8))
    step = dt * VP / h / (np.sqrt(2.0) / largest)
    found = layer_reflection.reflection([wave], 8, unit, 18, step)[0]

    k = 2.0 * np.pi / points
    w = 2.0 / dt * np.arcsin(0.5 * dt * (VP if kind == "P" else VS) * k / h)
    kx = k * np.sin(np.radians(degrees))
    own = "PS".index(kind)
    waves = LayerWaves(plan, "x", side, VP, layer, 18)
    back = converted(waves, VS, np.array([w + 0j]), np.array([kx / h]))[0, :, own]
    q = np.sqrt((w * h / np.array([VP, VS])) ** 2 - kx**2 + 0j)
    n = np.arange(-5, 1)  # the line compares waves there
    motion = sum(
        amplitude * np.array([x * np.exp(-1j * q_back * (n + 0.5)), z * np.exp(-1j * q_back * n)])
        for amplitude, q_back, (x, z) in zip(
            back, q, ((-q[0], kx), (-kx, -q[1])), strict=True
        )
    )  # fmt: skip
    told = np.sqrt((np.abs(motion) ** 2).mean() / (0.5 * k**2))
    assert told == pytest.approx(found, rel=0.03)

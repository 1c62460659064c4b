"""`seismo check`: phase errors against formulas, memory estimates against measurements."""

import copy
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from seismo.acquisition.wavelets import energy_above
from seismo.backends.base import PML_COST
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.select import choose
from seismo.grid.decomposition import PointCosts, cost, decompose
from seismo.runs.check.plan import make_plan
from seismo.runs.check.report import print_plan
from seismo.runs.prediction import remedy
from seismo.runs.prediction.accuracy import (
    CONTACTS,
    PLACING,
    Expected,
    expected_error,
)
from seismo.runs.prediction.assess import assess
from seismo.runs.prediction.checks.timing import MOMENTS
from seismo.runs.prediction.remedy import mended
from seismo.runs.prediction.resolution import phase_error
from seismo.runs.progress import clock_time
from seismo.runs.resources import speed
from seismo.runs.tools import bench
from seismo.scenario import from_dict
from seismo.solver.accuracy.stencil import dispersion_error, stencil_for
from seismo.solver.discretize import discretize

SCENARIO = {
    "physics": "elastic",
    "grid": {"extent": {"x": 2000.0, "z": 1000.0}, "spacing": 10.0},
    "time": {"duration": 1.5},
    "boundaries": {"top": "free_surface"},
    "model": [{"type": "layers", "layers": [
        {"top": 0.0, "vp": 1800.0, "vs": 1000.0, "rho": 2000.0},
        {"top": 300.0, "vp": 3200.0, "vs": 1800.0, "rho": 2400.0}]}],
    "sources": [{"type": "force", "force": {"z": 1.0}, "position": {"x": 600.0, "z": 200.0},
                 "wavelet": {"type": "ricker", "frequency": 8.0}}],
    "receivers": [{"type": "line", "start": {"x": 100.0, "z": 10.0}, "count": 19,
                   "end": {"x": 1900.0, "z": 10.0}}],
    "output": {"snapshots": [{"fields": ["vx", "vz"], "interval": 0.1, "decimate": 2}]},
}  # fmt: skip


def scenario(**sections):
    return from_dict(copy.deepcopy(SCENARIO) | sections)


@cache
def planned(text: str):
    return make_plan(scenario(**json.loads(text)))


def plan_of(**sections):
    """Return the plan of a scenario, which several tests may look at."""
    return planned(json.dumps(sections))


def new_plan_of(**sections):
    """Return the plan of a scenario, made with what fixtures have exchanged."""
    return make_plan(scenario(**sections))


def section(name, **keys):
    return {name: SCENARIO[name] | keys}


def test_a_sound_scenario_has_no_warnings():
    assert plan_of().warnings == []


@pytest.mark.parametrize(("top", "said"), [(0.0, 0), (-300.0, 1)])
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_depths_that_are_not_z_are_told(top, said):
    """A source's depth of 4 km is z = 3.7 km there, which layers know nothing of."""
    place = {"geographic": {"longitude": 13.0, "latitude": 46.0}}
    rock = {"model": [{"type": "uniform", "vp": 1800.0, "vs": 1000.0, "rho": 2000.0}]}
    plan = new_plan_of(**place, **rock, **section("grid", origin={"x": 0.0, "z": top}))
    assert sum("the free surface, z = -300 m" in line for line in plan.warnings) == said


@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_a_layer_of_odd_velocities_is_named():
    odd = copy.deepcopy(SCENARIO["model"])
    odd[0]["layers"][1]["vs"] = 2400.0
    (said,) = (line for line in new_plan_of(model=odd).warnings if "vp/vs" in line)
    assert said.startswith("model[0].layers[1].vs: vp/vs falls to 1.333")
    assert "between z = 300 and 1000 m" in said


VTI = {"type": "uniform", "vp": 2500.0, "vs": 1300.0, "rho": 2200.0, "epsilon": 0.2, "delta": 0.1}
BOX = {"type": "block", "x": [300.0, 340.0], "z": [500.0, 540.0], "vp": 4500.0, "vs": 2500.0}


@pytest.mark.parametrize(("beneath", "above", "said"), [
    (VTI, BOX, "epsilon 0.2, delta 0.1 of the rock that it lies over; give epsilon: 0, delta: 0"),
    (VTI | {"qp": 50.0, "qs": 30.0}, BOX | {"epsilon": 0.0, "delta": 0.0},
     "keeps qp 50, qs 30 of the rock that it lies over; give qp: .inf, qs: .inf for"),
    (VTI, BOX | {"epsilon": 0.0, "delta": 0.0}, ""),
    (VTI, {name: value for name, value in BOX.items() if name != "vs"}, ""),
    (VTI | {"theta": 20.0}, BOX | {"epsilon": 0.0, "delta": 0.0}, ""),
    (VTI | {"theta": 20.0}, BOX | {"epsilon": 0.1, "delta": 0.0}, "keeps theta 20 of the rock"),
])  # fmt: skip
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_what_a_body_keeps_of_the_rock_beneath_is_told(beneath, above, said):
    """Salt in shale is as anisotropic as the shale, unless it says that it is not."""
    plan = new_plan_of(model=[beneath, above])
    lines = [line for line in plan.warnings if "gives velocities, and keeps" in line]
    assert len(lines) == bool(said)
    assert not said or (lines[0].startswith("model[1]: ") and said in lines[0])


@pytest.mark.parametrize(("physics", "below", "said"), [
    ("acoustic", 2500.0, True), ("acoustic", 1000.0, False),
    ("acoustic_variable_density", 2500.0, False),
])  # fmt: skip
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_densities_that_acoustic_waves_do_not_feel_are_told(physics, below, said):
    layers = [{"top": 0.0, "vp": 1500.0, "rho": 1000.0}, {"top": 90.0, "vp": 1500.0, "rho": below}]
    model = [{"type": "layers", "layers": layers}]
    plan = new_plan_of(
        model=model, receivers=[ON_TOP], physics=physics, sources=[SHALLOW], output={}
    )
    told = [line for line in plan.warnings if "constant density" in line]
    assert bool(told) is said
    assert all("acoustic_variable_density takes it" in line for line in told)


def test_no_zero_of_the_page_has_a_sign(capsys):
    """Phase errors of -0.0001 % and less are 0.000 %."""
    fine = {"sources": [SHALLOW | {"wavelet": {"type": "ricker", "frequency": 2.0}}]}
    plan = plan_of(**fine)
    errors = [layer.phase_error for layer in plan.layers]
    assert any(-0.0005 < error < 0.0 for error in errors)
    print_plan(plan, Console(width=200))
    assert not re.search(r"[-+]0\.?0* ", capsys.readouterr().out)


@pytest.mark.parametrize("spacing", [16.0, pytest.param(25.0, marks=pytest.mark.slow)])
def test_the_spacing_named_keeps_all_causes_to_the_accuracy(spacing):
    """Dispersion alone would do with a coarser one."""
    plan = plan_of(**section("grid", spacing=spacing))
    (said,) = (line for line in plan.warnings if "use a grid.spacing of about" in line)
    found = float(re.search(r"of about (\S+) m", said)[1])
    better = discretize(scenario(**section("grid", spacing=found)))
    assert 0.2 * better.scenario.grid.accuracy < expected_error(better).error <= 0.01
    fewest = min(layer.points_per_wavelength for layer in plan.layers)
    assert found < spacing * fewest / plan.points_needed


def test_a_miss_too_small_for_a_warning_has_its_spacing_too(capsys):
    """The line of the accuracy says it, and the grid that it names keeps to it."""
    plan = plan_of()
    assert 0.01 < plan.expected.error < 0.1
    assert plan.warnings == []
    print_plan(plan, Console(width=500))
    assert plan.remedy in capsys.readouterr().out
    found = float(re.search(r"^for 1 % use a grid.spacing of about (\S+) m", plan.remedy)[1])
    better = discretize(scenario(**section("grid", spacing=found)))
    assert 0.002 < expected_error(better).error <= 0.01
    assert plan_of(**section("grid", spacing=5.0)).remedy == ""
    assert plan_of(**section("grid", spacing=25.0)).remedy == ""


def test_the_spacing_named_suits_an_earth_that_varies_sideways():
    """From errors that are as large as they get no law leads to those wanted: it is tried."""
    fall = {"type": "interface", "vp": 3200.0, "vs": 1800.0, "rho": 2400.0,
            "points": [[0.0, 100.0], [2000.0, 900.0]]}  # fmt: skip
    model = {"model": [SCENARIO["model"][0] | {"layers": SCENARIO["model"][0]["layers"][:1]}, fall]}
    plan = plan_of(**model, **section("grid", spacing=40.0))
    said = next(line for line in plan.warnings if "use a grid.spacing of about" in line)
    found = float(re.search(r"of about (\S+) m", said)[1])
    better = discretize(scenario(**model, **section("grid", spacing=found)))
    # Layers as thick in points reflect more there, and have a remedy of their own.
    assert "and raise boundaries.layer.points to" in said
    assert 0.002 < mended(better, expected_error(better)).error <= 0.01


@pytest.mark.parametrize(("error", "grids"), [(0.0009, 0), (0.0011, 1)])
def test_contacts_that_err_by_little_are_not_judged_on_a_coarser_grid(error, grids, monkeypatch):
    """1 % is wanted; a tenth of it changes what all together err by in the third digit."""
    discretization = discretize(scenario())
    made = []
    monkeypatch.setattr(remedy, "discretize", lambda one: made.append(one) or discretization)
    expected = Expected(((CONTACTS, error), (PLACING, 0.03)))
    assert 1.0 <= remedy._power_of_contacts(discretization, expected) <= 2.0
    assert len(made) == grids


def test_what_no_spacing_mends_has_its_own_remedy():
    """A moment on a contact errs by the ratio of moduli where the earth varies sideways."""
    source = SCENARIO["sources"][0] | {"position": {"x": 600.0, "z": 300.0}}
    source = {k: v for k, v in source.items() if k != "force"} | {"type": "explosion"}
    fine = section("grid", spacing=2.0)
    block = {"type": "block", "x": [900.0, 1000.0], "z": [300.0, 400.0], "vp": 2500.0,
             "vs": 1400.0, "rho": 2300.0}  # fmt: skip
    model = [*SCENARIO["model"], block]
    said = plan_of(sources=[source], model=model, **fine).warnings[0]
    assert "mostly from sources beside contacts; for 1 % move sources away from contacts" in said
    assert "grid.spacing of" not in said


@pytest.mark.parametrize(("source", "receiver", "said"), [
    (290.0, 310.0, 1), (290.0, 900.0, 0), (900.0, 310.0, 0), (50.0, 20.0, 0)])  # fmt: skip
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_scholte_waves_that_no_receiver_feels_are_left_out(source, receiver, said):
    """They are 150 m long, and fall to exp(-2 pi) within some 160 m in rock, and 270 m in water."""
    acting = {"sources": [SCENARIO["sources"][0] | {"position": {"x": 600.0, "z": source}}]}
    reading = {"receivers": [bed_receivers("velocity", receiver)]}
    plan = new_plan_of(model=sea(303.0), **acting, **reading)
    assert sum("Scholte waves travel along it" in line for line in plan.warnings) == said


def test_layers_and_points_per_wavelength():
    """A Ricker wavelet falls to 1 % at 2.77 times its frequency: x exp(1 - x) = 0.01."""
    plan = plan_of()
    assert plan.f_max == pytest.approx(8.0 * math.sqrt(7.639), rel=1e-3)
    assert [(layer.top, layer.bottom, layer.vs) for layer in plan.layers] == [
        (0.0, 290.0, 1000.0),
        (300.0, 1000.0, 1800.0),
    ]
    for layer in plan.layers:
        assert layer.points_per_wavelength == pytest.approx(layer.vs / plan.f_max / 10.0)
    assert sum(layer.share for layer in plan.layers) == pytest.approx(1.0)


def test_a_gradient_is_summed_up_in_three_rows():
    gradient = [{"type": "gradient", **{
        key: {"top": top, "bottom": 2 * top} for key, top in
        (("vp", 2000.0), ("vs", 1000.0), ("rho", 2000.0))}}]  # fmt: skip
    layers = plan_of(model=gradient).layers
    assert [layer.vs for layer in layers] == pytest.approx([1000.0, 1500.0, 2000.0], abs=10.0)


@pytest.mark.usefixtures("no_remedies")
def test_the_rows_that_stand_for_many_media_are_not_shown_as_layers(capsys):
    """The water's 300 m are a third of the depth: as one class, not cut after a tenth."""
    gradient = [{"type": "gradient", "vp": {"top": 2000.0, "bottom": 4000.0},
                 "rho": {"top": 2000.0, "bottom": 2000.0}},
                {"type": "water", "depth": 295.0}]  # fmt: skip
    changed = {
        "physics": "acoustic_variable_density",
        "sources": [SHALLOW | {"type": "pressure"}],
    }
    plan = plan_of(model=gradient, **changed, output={})
    slowest, middle, fastest = plan.layers
    assert (slowest.top, slowest.bottom, slowest.vp) == (0.0, 290.0, 1500.0)
    assert slowest.share == pytest.approx(30 / 101)
    assert fastest.share == pytest.approx(10 / 101)
    assert (middle.top, middle.bottom, fastest.top) == (300.0, 900.0, 910.0)
    assert middle.vp == pytest.approx(3200.0, abs=20.0)
    print_plan(plan, Console(width=200))
    said = capsys.readouterr().out
    assert "the slowest, the median and the fastest of many media (no layers)" in said
    assert re.search(r"0 to 290 .* 1500 .* slowest 30%", said)
    assert not any(layer.stands_for for layer in plan_of().layers)


def test_media_of_one_velocity_are_still_several():
    rows = [[20.0 * k, 2000.0, 1000.0, 2000.0 + k] for k in range(40)]
    model = [{"type": "table", "rows": rows}]
    sources = [SHALLOW | {"type": "pressure"}]
    plan = plan_of(
        physics="acoustic_variable_density", model=model, sources=sources, output={})  # fmt: skip
    assert [layer.stands_for for layer in plan.layers] == ["slowest", "fastest"]


@pytest.mark.usefixtures("no_remedies")
def test_the_points_that_are_needed():
    """With as many points as `check` names, dispersion comes to the wanted accuracy."""
    for keys in ({"order": 4}, {"order": 8}, {"order": 12, "stencil": "taylor"}):
        plan = plan_of(**section("grid", **keys))
        fewest = min(layer.points_per_wavelength for layer in plan.layers)
        waves = plan.discretization.waves
        spacing = tuple(h * fewest / plan.points_needed for h in waves.spacing)
        there = replace(waves, spacing=spacing)
        stencil = stencil_for(plan.discretization.scenario.grid.stencil, keys["order"], there)
        assert dispersion_error(there, stencil) == pytest.approx(0.01, rel=0.05)


def test_the_resolution_is_said_beside_what_it_needs(capsys):
    print_plan(plan_of(), Console(width=500))
    lines = capsys.readouterr().out.splitlines()
    said = next(line for line in lines if "shortest" in line)
    assert "4.5 points in the shortest wavelength (1000 m/s at 22.11 Hz)" in said
    assert "order 8 keeps dispersion to 1 % from 3" in said
    said = next(line for line in lines if "expected" in line)
    assert re.search(r"expected trace error \d.* %, mostly from contacts of media", said)


@pytest.mark.parametrize("physics", ["acoustic", "elastic"])
def test_the_phase_error_of_second_order_differences(physics):
    """At 10 points per wavelength r = sin(pi / 10) / (pi / 10) = 0.98363 (Virieux 1986, eq. 9).

    The staggered first difference and the centred second one agree on it.
    """
    discretization = discretize(scenario(
        physics=physics, **section("grid", order=2, stencil="taylor"),
        sources=[{"type": "explosion", "position": {"x": 600.0, "z": 200.0},
                  "wavelet": {"type": "ricker", "frequency": 8.0}}],
        receivers=[], output={}, boundaries={}))  # fmt: skip
    expected = 100 * (math.sin(math.pi / 10) / (math.pi / 10) - 1)
    assert phase_error(discretization, 1000.0, 10.0) == pytest.approx(expected, rel=1e-9)


def test_the_phase_error_of_time_stepping():
    """With exact differences c'/c = asin(w dt / 2) / (w dt / 2) = 1 + (w dt)^2 / 24 + ..."""
    discretization = discretize(
        scenario(**section("grid", order=16), **section("time", dispersion_removal=False))
    )
    frequency, velocity = 5.0, 3200.0  # 64 points per wavelength: space adds nothing
    angle = 2 * math.pi * frequency * discretization.clock.dt
    assert phase_error(discretization, velocity, frequency) == pytest.approx(
        100 * angle**2 / 24, rel=1e-3
    )


WATER = {"model": [*SCENARIO["model"], {"type": "water", "depth": 100.0}]}
SHALLOW = {"type": "explosion", "position": {"x": 650.0, "z": 0.0},
           "wavelet": {"type": "ricker", "frequency": 8.0}}  # fmt: skip
ON_TOP = {"type": "points", "positions": [{"x": 900.0, "z": 0.0}], "quantities": ["pressure"]}
FAULT = {"type": "moment_tensor", "position": {"x": 650.0, "z": 300.0}, "strike": 30.0, "dip": 60.0,
         "rake": 20.0, "wavelet": {"type": "ricker", "frequency": 8.0}}  # fmt: skip
BODY = {"type": "sphere", "radius": 100.0, "vp": 2000.0}


def sea(depth: float) -> list[dict]:
    """Give a model of water over rock, with the bed at a depth in m."""
    layers = ((0.0, 1500.0, 0.0, 1000.0), (depth, 2500.0, 1200.0, 2200.0))
    names = ("top", "vp", "vs", "rho")
    return [{"type": "layers", "layers": [dict(zip(names, m, strict=True)) for m in layers]}]


def bed_receivers(quantity: str, z: float) -> dict:
    """Give a receiver that records a quantity at a depth in m."""
    return {"type": "points", "name": "line", "quantities": [quantity],
            "positions": [{"x": 900.0, "z": z}]}  # fmt: skip


def test_dispersion_is_warned_of_by_the_paths_that_waves_take():
    """Along the diagonal differences err by a third of what they do along an axis."""
    document = {
        "physics": "acoustic", "model": [{"type": "uniform", "vp": 2000.0}],
        "grid": {"extent": {"x": 600, "y": 600, "z": 600}, "spacing": 20, "order": 4},
        "time": {"duration": 0.4},
        "sources": [{"type": "pressure", "position": {"x": 300, "y": 300, "z": 300},
                     "wavelet": {"type": "ricker", "frequency": 10}}],
        "receivers": [{"type": "points", "positions": [{"x": 100, "y": 200, "z": 300}]}],
    }  # fmt: skip
    diagonal = make_plan(from_dict(document))
    assert diagonal.expected.error < 0.01
    assert not [text for text in diagonal.warnings if "dispersion" in text]
    document["receivers"] = [{"type": "points", "positions": [{"x": 20, "y": 300, "z": 300}]}]
    (warning,) = (text for text in make_plan(from_dict(document)).warnings if "dispersion" in text)
    assert "for 1 % use a grid.spacing of about" in warning


# Waves of 3 km/s suit this grid: no time goes into the search for another.
FAST = {"model": [{"type": "uniform", "vp": 5000.0, "vs": 3000.0, "rho": 2600.0}]}
INACCURATE = {
    "use a grid.spacing of about 0.625 m or a dominant frequency of about 3.7 Hz instead": {
        "sources": [SCENARIO["sources"][0] | {"wavelet": {"type": "ricker", "frequency": 60.0}}]
    },
    "of 1000 m/s at 22.11 Hz, and all causes together by .* for 1 % use a grid.spacing of about 0":
        section("grid", order=2),
    "the traces will err by more than 70 %, mostly from contacts of media under": section(
        "grid", spacing=25.0, order=16, accuracy=0.1
    ) | {"sources": [SCENARIO["sources"][0] | {"wavelet": {"type": "ricker", "frequency": 8.2}}],
         "model": [{"type": "layers", "layers": [
             SCENARIO["model"][0]["layers"][0],
             {"top": 60.0, "vp": 5200.0, "vs": 3000.0, "rho": 2600.0}]}]},
}  # fmt: skip
WARNED = {
    "below sqrt": {"model": [{"type": "uniform", "vp": 1800.0, "vs": 1400.0, "rho": 2000.0}]},
    "points per wavelength": section("grid", spacing=40.0),
    "1200 s .\\d+ steps. is 5.. times as long as the slowest wave .1000 m/s. takes across":
        section("time", duration=1200.0),
    "minmax keeps wave speeds to 0.1 % only, .* leave grid.stencil out":
        section("grid", stencil="minmax"),
    "by its time steps; set time.dispersion_removal: true":
        section("time", dispersion_removal=False),
    "ends before any wave": section("time", duration=0.4),
    "ends before source": section("time", duration=0.3),
    "direct wave can have passed 7 of 19": section("time", duration=0.5),
    "direct S wave can have passed 4 of 19": section("time", duration=0.8),
    "has acted": section("time", duration=0.38) | {"receivers": []},
    "unusual": {"model": [{"type": "uniform", "vp": 1800.0, "vs": 1000.0, "rho": 20.0}]},
    "a velocity of .* m/s is unusual for the earth; .* gradients, in m/s per m": {
        "model": [{"type": "layers", "layers": [
            {"top": 0.0, "vp": 2000.0, "vs": 1200.0, "rho": 2000.0, "vp_gradient": 600.0},
        ]}]
    },
    "\\(x_min\\), which takes part of the motion: enlarge grid.extent": {
        "sources": [SCENARIO["sources"][0] | {"position": {"x": 20.0, "z": 200.0}}]
    },
    "receivers .* \\(top\\), .*: if ground or sea end at the top, set boundaries.top: free": {
        "boundaries": {}, "receivers": [ON_TOP],
    },
    "within 5 points": {
        "sources": [SCENARIO["sources"][0] | {"position": {"x": 610.0, "z": 20.0}}]
    },
    "pressure vanishes": WATER | {"sources": [SHALLOW]},
    "record pressure .*where it vanishes": WATER | {"receivers": [ON_TOP]},
    "record stress .*where it vanishes": WATER | {
        "receivers": [ON_TOP | {"quantities": ["stress"]}]
    },
    "with 100% of its largest value, which is left out; leave sources.0..wavelet.delay out, or "
    "set sources.0..delay, which is added to the wavelet's own, to 0.1875 s or more": {
        "sources": [SCENARIO["sources"][0]
                    | {"wavelet": {"type": "ricker", "frequency": 8.0, "delay": 0.0}}]
    },
    "source source_000: acts before the run .* left out; set sources.0..delay, .* to 0 s or": {
        "sources": [SCENARIO["sources"][0] | {"delay": -10.0}]
    },
    "extent.x: 2006 m is no whole number of spacings of 10 m: the grid is 2010 m long": section(
        "grid", extent={"x": 2006.0, "z": 1000.0}
    ),
    "xy = .* N m, .* takes no part in a 2-D run": FAST | {"sources": [FAULT | {"magnitude": 2.0}]},
    "magnitude 2: a moment of 1.26e\\+12 N m acts on each metre": FAST | {
        "sources": [FAULT | {"magnitude": 2.0}]
    },
    "magnitude 2: its ricker wavelet is a moment rate of area 0: the moment ends at 0 N m, not "
    "1.26e.12; take a moment rate of area 1: gaussian_rate, brune": FAST | {
        "sources": [FAULT | {"magnitude": 2.0}]
    },
    "its gaussian_rate wavelet is the moment itself .time_function. and ends at 0: ": FAST | {
        "sources": [FAULT | {"magnitude": 2.0, "time_function": "moment",
                             "wavelet": {"type": "gaussian_rate", "sigma": 0.03}}]
    },
    "source source_000: a moment of 3e\\+19 N m acts on each metre along y": FAST | {
        "sources": [FAULT | {"moment": 3e19}]
    },
    "source source_000: 0.038 of the energy .* lies above 33.3 Hz, .* at 1000 m/s: it rings": {
        "sources": [SCENARIO["sources"][0] | {"wavelet": {"type": "triangle", "rise": 0.125}}]
    },
    "source source_000: .* of the energy .* it rings behind them; use a longer wavelet, or a f": {
        "sources": [FAULT | {"strike": 90.0, "moment": 1e9,
                             "wavelet": {"type": "gaussian_rate", "half_duration": 0.05}}],
        **section("grid", spacing=14.0),
    },
    "contact .* z = 303 m: Scholte waves .*: after [0-9.]+ m, .* alone errs by .* % in all its": {
        "model": sea(303.0), "receivers": [bed_receivers("velocity", 310.0)],
    },
    "contact .* z = 30 m is too near to a surface.* is room with a grid.spacing of about 2.6":
        {"model": sea(30.0)},
    "line: 1 of 1 .R0000 at .* z = 303 m. on the contact of .* they record that of the solid": {
        "model": sea(303.0), "receivers": [bed_receivers("velocity", 303.0)],
    },
    "line: 1 record divergence, rotation or strain up to 11 points under the free surface": {
        "boundaries": {"top": "free_surface"}, "receivers": [bed_receivers("rotation", 22.0)],
    },
    "line: 1 of 1 .* record divergence, rotation or strain within 7 points of the contact": {
        "model": sea(12.0), "receivers": [bed_receivers("rotation", 40.0)],
    },
    "fluid meets solid in an earth that varies sideways": {
        "model": [*SCENARIO["model"], {"type": "sphere", "center": {"x": 900.0, "z": 500.0},
                                       "radius": 100.0, "vs": 0.0}],
    },
    "model.1.: the sphere begins at z = 4400 m, beyond the grid, which ends at 1000 m": {
        "model": [*SCENARIO["model"], BODY | {"center": {"x": 900.0, "z": 4500.0}}],
    },
    "model.1.: the sphere ends at x = -200 m, before the grid, which begins at 0 m": {
        "model": [*SCENARIO["model"], BODY | {"center": {"x": -300.0, "z": 500.0}}],
    },
    "model.1.: the block begins at z = 1200 m": {
        "model": [*SCENARIO["model"], {"type": "block", "z": [1200.0, 1300.0], "vp": 2500.0}],
    },
    "model.1.: the polygon begins at x = 3000 m": {
        "model": [*SCENARIO["model"], {"type": "polygon", "vp": 2500.0,
                                       "points": [[3e3, 0.0], [3.1e3, 0.0], [3e3, 300.0]]}],
    },
    "model.1..radius: a radius of 0.3 m, in a grid .* every 10 m; did you mean '0.3 km'": {
        "model": [*SCENARIO["model"], BODY | {"vp": 3e3, "radius": 0.3,
                                              "center": {"x": 900.0, "z": 500.0}}],
    },
    "model.1..z: a side of 0.01 m, in a grid .*; check its unit": {
        "model": [*SCENARIO["model"], {"type": "block", "z": [0.5, 0.51], "vp": 2500.0}],
    },
    "model.1. covers all of model.0.: it changes nothing; put it after model.1., whose first": {
        "model": [{"type": "water", "depth": 300.0}, *SCENARIO["model"]],
    },
    "model.1..points: the edges .100, 100. to .500, 500. and .500, 100. to .100, 500. cross": {
        "model": [*SCENARIO["model"], {"type": "polygon", "vp": 2500.0, "points": [
            [100.0, 100.0], [500.0, 500.0], [500.0, 100.0], [100.0, 500.0]]}],
    },
    "only t = 0 is kept": {"receivers": [SCENARIO["receivers"][0] | {"interval": 5.0}]},
    "boundaries.layer.points": {
        "boundaries": {"layer": {"points": 6}}, "grid": SCENARIO["grid"] | {"accuracy": 0.02},
    },
    "a contact at z = 1100 m, below the grid, .* 1000 m, .* back from t = 0.* s on; traces lack": {
        "model": [{"type": "layers", "layers": [
            *SCENARIO["model"][0]["layers"], {"top": 1100.0, "vp": 4000.0, "vs": 2300.0,
                                                 "rho": 2500.0}]}],
    },
    "because of time.step; .* times as many steps": section("time", step=2e-4),
    "of 100 ms of output.snapshots wavefield; .* 1.4 times as many steps as with 98 ms": {
        "receivers": [SCENARIO["receivers"][0] | {"interval": 0.007}]
    },
    "because of the interval of 100 µs of receivers .* as it needs": {
        "receivers": [SCENARIO["receivers"][0] | {"interval": 0.0001}]
    },
    "because of the intervals of 3 ms of receivers receivers, 1.3 ms of output.snapshots a and "
    "1.7 ms of output.snapshots b, which divide by 100 µs only .make them multiples": {
        "receivers": [SCENARIO["receivers"][0] | {"interval": 3e-3}],
        "output": {"snapshots": [{"name": "a", "fields": ["vx"], "interval": 1.3e-3},
                                 {"name": "b", "fields": ["vx"], "interval": 1.7e-3}]},
    },
    "because of the interval of 1.6 ms of receivers receivers; .* 1.8 times": {
        "receivers": [SCENARIO["receivers"][0] | {"interval": 1.6e-3}],
        "output": {"snapshots": [{"fields": ["vx"], "interval": 0.16}]},
    },
    "filtered out": {"receivers": [SCENARIO["receivers"][0] | {"interval": 0.025}]},
    "nothing of the waves": {"receivers": [], "output": {}},
    "origin time is at t = 50 s .* from 0 to": {
        "event": {"time": "2026-10-30T06:40:18Z", "at": 50.0}},
    "points thick": {
        "averaging": "point",
        "model": [*SCENARIO["model"], {"type": "block", "z": [500.0, 510.0], "vp": 2500.0}],
    },
}  # fmt: skip


def test_the_duration_asked_for_is_enough():
    """Direct waves leave while a source acts: duration = distance / speed + that time."""
    line = plan_of(**section("time", duration=0.8)).warnings[0]
    needed = float(re.search(r"after ([\d.]+) s", line)[1])
    pulse = needed - math.hypot(1300.0, 190.0) / 1800.0
    assert 2.0 / 8.0 < pulse < 2.5 / 8.0  # of a Ricker wavelet with its peak at 1.5 periods
    assert plan_of(**section("time", duration=needed + 1e-3)).warnings == []


@pytest.mark.parametrize(("source", "derivatives"), [
    ({"type": "explosion"}, 1), ({"type": "explosion", "time_function": "moment"}, 2),
    ({"type": "force", "force": {"z": 1.0}}, 1), ({"type": "pressure"}, 0),
])  # fmt: skip
@pytest.mark.usefixtures("no_remedies")
def test_the_energy_beyond_the_grid_is_that_of_the_far_motion(source, derivatives):
    """Velocity follows force' and moment'', pressure the source itself (Aki & Richards, ch. 4).

    At 3 points of 10 m per wavelength of 1000 m/s the grid ends at 33.3 Hz.
    """
    wavelet = {"type": "smoothed_ramp", "rise": 0.25}
    source = source | {"position": {"x": 600.0, "z": 200.0}, "wavelet": wavelet}
    made = scenario(sources=[source])
    lost = energy_above(made.sources[0].wavelet, 100.0 / 3.0, derivatives)
    said = [line for line in make_plan(made).warnings if "rings" in line]
    assert bool(said) == (lost > 3e-5)
    if said:
        assert f" {lost:.2g} of the energy" in said[0]


@pytest.mark.usefixtures("no_remedies")
def test_maps_are_counted_in_the_run_time(capsys, monkeypatch):
    """Of a PGV map that is two components at the nodes, and a peak."""
    monkeypatch.setattr(CpuBackend, "bandwidth", lambda _: 1e12)  # a measured one would count
    plan = make_plan(scenario())
    output = {"maps": [{"name": "ground", "quantities": ["pgv"]}]}
    mapped = make_plan(scenario(output=output))
    assert plan.map_seconds == 0.0
    points, steps = 201 * 101, plan.discretization.clock.steps
    threads = int(choose("cpu").make("float32").describe()["threads"])
    assert mapped.map_seconds == pytest.approx(points * steps * 1.7e-9 / threads, rel=0.01)
    assert mapped.as_dict()["map_seconds"] == mapped.map_seconds < mapped.seconds
    print_plan(mapped, Console(width=500))
    without = clock_time(mapped.seconds - mapped.map_seconds)
    assert f"; without the maps about {without} (an estimate" in capsys.readouterr().out


def test_an_explosion_makes_no_direct_s_wave():
    source = {k: v for k, v in SCENARIO["sources"][0].items() if k != "force"}
    changed = {"sources": [source | {"type": "explosion"}], **section("time", duration=0.8)}
    assert plan_of(**changed).warnings == []


@pytest.mark.parametrize("words", WARNED)
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_what_is_suspicious_is_named(words):
    warnings = new_plan_of(**WARNED[words]).warnings
    assert any(re.search(words, line) for line in warnings), warnings


@pytest.mark.parametrize("words", INACCURATE)
def test_what_is_inaccurate_is_named_with_its_remedy(words):
    warnings = plan_of(**INACCURATE[words]).warnings
    assert any(re.search(words, line) for line in warnings), warnings


@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_contacts_below_the_grid_are_told_where_the_run_would_hear_of_them():
    deeper = {"top": 4000.0, "vp": 4000.0, "vs": 2300.0, "rho": 2500.0}
    layers = [*SCENARIO["model"][0]["layers"], deeper]
    plan = new_plan_of(model=[{"type": "layers", "layers": layers}])
    assert not any("below the grid" in line for line in plan.warnings)


FORCED = {"type": "force", "force": {"x": 1e6}}


@pytest.mark.parametrize(("source", "depth", "words"), [
    ({"type": "moment_tensor", "components": {"xz": 1e9}}, 52.0, "moment less than 9 .* 6 %"),
    (FORCED, 50.0, "a force up to 5 points deep: .* 20 %"),
    (FORCED, 52.0, None),
])  # fmt: skip
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_what_is_rough_straight_above_shallow_sources_is_told(source, depth, words):
    """One of two receivers on the surface; sources about 5 points deep, in 3-D."""
    wavelet = SCENARIO["sources"][0]["wavelet"]
    source = source | {"position": {"x": 200.0, "y": 200.0, "z": depth}, "wavelet": wavelet}
    above = [{"x": x, "y": 210.0, "z": 0.0} for x in (190.0, 300.0)]
    given = scenario(
        **section("grid", extent=dict.fromkeys("xyz", 400.0)), sources=[source],
        receivers=[{"name": "above", "type": "points", "positions": above}],
    )  # fmt: skip
    told = [line for line in make_plan(given).warnings if "the epicentre of" in line]
    assert len(told) == (words is not None)
    assert words is None or re.search(f"receivers above: 1 on .* {words}", told[0])


@pytest.mark.parametrize("wavelet", [
    {"type": "gaussian_rate", "half_duration": 0.05}, {"type": "brune", "corner_frequency": 3.0},
    {"type": "triangle", "rise": 0.1}, {"type": "smoothed_ramp", "rise": 0.2},
])  # fmt: skip
def test_moment_rates_of_unit_area_reach_a_magnitude(wavelet):
    """The wavelets that `check` leads to; a moment that is given may be anything."""
    for size, count in (({"magnitude": 2.0}, 2), ({"moment": 3e9, "time_function": "moment"}, 1)):
        discretization = discretize(scenario(sources=[FAULT | size | {"wavelet": wavelet}]))
        warnings = [line for lines in MOMENTS for line in lines(discretization)]
        assert len(warnings) == count
        assert not any("area" in line for line in warnings)


@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_a_plane_that_moves_to_the_nodes_is_told_once():
    """Nodes stand every 10 m; a rounding error moves nothing."""
    planes = {"below": {"z": 14.0}, "on": {"z": 20.0 + 1e-9}, "side": {"y": 107.5}}
    output = {
        "snapshots": [{"fields": ["vx"], "steps": 5, "plane": {"z": 14.0}}],
        "maps": [{"name": n, "quantities": ["pgv"], "plane": p} for n, p in planes.items()],
    }
    source = SCENARIO["sources"][0] | {"position": {"x": 300.0, "y": 200.0, "z": 200.0}}
    grid = section("grid", extent={"x": 600.0, "y": 400.0, "z": 400.0})
    solid = scenario(**grid, sources=[source], receivers=[], output=output)
    assert [line for line in make_plan(solid).warnings if "plane" in line] == [
        "output.snapshots wavefield, output.maps below: the plane z = 14 m lies between nodes of "
        "the grid: that of z = 10 m is taken",
        "output.maps side: the plane y = 107.5 m lies between nodes of the grid: that of "
        "y = 110 m is taken",
    ]


@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_pressure_on_the_surface_of_rock_is_not_zero():
    """-(sxx + szz) / 2 is free of szz alone there, and explosions there drive sxx."""
    changed = {"sources": [SHALLOW], "receivers": [ON_TOP]}
    assert not any("surface (z" in line for line in new_plan_of(**changed).warnings)


@pytest.mark.parametrize(("size", "said"), [(1e-15, 0), (1e-22, 1)])
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_sources_too_weak_for_single_precision_are_told(size, said):
    """1 N moves the point beside it by 1e-7 m/s; no number of 1e-29 m/s has all its digits."""
    (source,) = SCENARIO["sources"]
    weak = [source | {"force": {"z": size}}]
    for precision, lines in (("float32", said), ("float64", 0)):
        warnings = new_plan_of(sources=weak, precision=precision).warnings
        assert sum("digits of fields are lost" in line for line in warnings) == lines


@pytest.mark.parametrize(("wavelet", "said"), [
    ({"type": "ricker", "frequency": 8.0}, "source_000 (force, ricker centred at 0.1875 s)"),
    ({"type": "ricker", "frequency": 8.0, "delay": 0.25}, "ricker centred at 0.25 s)"),
    ({"type": "brune", "corner_frequency": 2.0, "delay": 0.1}, "brune begins at 0.1 s)"),
])  # fmt: skip
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_the_plan_says_when_a_source_acts(wavelet, said, capsys):
    sources = [SCENARIO["sources"][0] | {"wavelet": wavelet}]
    print_plan(new_plan_of(sources=sources), Console())
    assert said in capsys.readouterr().out


def test_a_plan_is_plain_data():
    plan = json.loads(json.dumps(plan_of().as_dict()))
    assert plan["sources"][0]["centre"] == 1.5 / 8.0
    assert plan["points"] == {"x": 225, "z": 113}
    assert plan["dt"] < plan["dt_limit"]
    steps = plan["steps"]
    # 101 x 51 points, two fields, 16 times
    assert plan["output_bytes"]["snapshots"] == 4 * 101 * 51 * 2 * 16
    assert plan["output_bytes"]["traces"] == 4 * 19 * 2 * (steps + 1)
    assert plan["seconds"] > 0


RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "comparison.json"


@pytest.mark.parametrize("backend", [CpuBackend, GpuBackend])
@pytest.mark.parametrize("name", ["W2", "W3"])
def test_parts_and_estimates_count_a_layer_point_alike(backend, name):
    """As `PML_COST` interior points, on whatever backend."""
    discretization = discretize(from_dict(bench.CASES[name].scenario))
    kind = discretization.physics.differences
    grid, factor = discretization.grid, PML_COST[backend.name][kind]
    points = grid.extent.size + factor * (grid.size - grid.extent.size)
    costs = PointCosts(backend.pml_costs[kind])
    parts = decompose(grid, discretization.halo, (2, 1), costs=costs)
    parted = sum(cost(grid, s.owned, costs) for row in parts for s in row)
    assert parted == pytest.approx(points)
    estimated = speed.mean_cost(discretization, speed.RooflineMachine(backend.name)) * grid.size
    assert estimated == pytest.approx(points)


@pytest.mark.parametrize("name", bench.CASES)
def test_the_expected_speed_is_near_what_was_measured(name):
    """With the bandwidth and cores of that day; W5's small batches fork more than they step."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    found = next(r for r in record["results"] if (r["case"], r["code"]) == (name, "seismo"))
    best = max(record["bandwidth_gb_per_s"][0]) * 1e9
    discretization = discretize(from_dict(bench.CASES[name].scenario))
    threads = record["machine"]["threads"]
    then = SimpleNamespace(
        name="cpu", bandwidth=lambda: best, describe=lambda: {"threads": threads}
    )
    expected = speed.points_per_second(discretization, then)
    slack = 0.5 if name == "W5" else 0.15
    assert expected == pytest.approx(1e6 * found["mpoints_per_s"], rel=slack)


def test_the_run_time_is_called_an_estimate(capsys):
    print_plan(plan_of(), Console(width=500))
    said = next(line for line in capsys.readouterr().out.splitlines() if "run time" in line)
    assert "an estimate" in said


MEASURE = """
import re, sys
import seismo
from pathlib import Path
from seismo.runs.resources.memory import memory_of
from seismo.scenario import load
from seismo.solver.discretize import discretize

def status(key):
    text = Path("/proc/self/status").read_text()
    return int(re.search(key + r":\\s+(\\d+)", text)[1]) * 1024

small, large = sys.argv[1:]
seismo.run(small, small + ".h5")          # imports and kernels are there from now on
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
discretization = discretize(load(large))
seismo.run(large, large + ".h5")
print(memory_of(discretization).total, status("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads Linux's /proc")
def test_the_memory_of_a_run_is_the_memory_planned(tmp_path):
    """Within 15 % of the largest resident size, less what an earlier small run had taken.

    With a block in it the earth is averaged point by point, which takes more than stepping does.
    What else a busy machine keeps in memory for a moment is not planned: one run of three will do.
    """
    paths = []
    for name, length in (("small", 600.0), ("large", 10000.0)):
        data = copy.deepcopy(SCENARIO)
        data["grid"]["extent"] = {"x": length, "z": length}
        block = {"x": [100.0, 400.0], "z": [100.0, 250.0], "vp": 2500.0, "vs": 1400.0}
        data["model"].append({"type": "block", "rho": 2200.0} | block)
        data["time"] = {"duration": 0.02}
        data["receivers"][0]["end"]["x"] = 400.0
        data["sources"][0]["position"]["x"] = 300.0
        data["output"]["snapshots"][0]["interval"] = 0.01
        paths.append(tmp_path / f"{name}.yaml")
        paths[-1].write_text(from_dict(data).to_yaml())
    command = [sys.executable, "-c", MEASURE, *map(str, paths)]
    ratios = []
    while len(ratios) < 3 and (not ratios or abs(ratios[-1] - 1.0) > 0.15):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        planned, real = np.array(done.stdout.split(), float)
        ratios.append(planned / real)
    assert abs(ratios[-1] - 1.0) <= 0.15, ratios


@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_check_ends_with_the_code_of_a_run_that_would_not_start(monkeypatch):
    """4 for memory, 75 for the disk; where both lack, `run` meets the memory first."""
    from seismo.runs.check import plan as check

    assert make_plan(from_dict(SCENARIO)).exit_code == 0
    monkeypatch.setattr(check, "lack_of_disk", lambda *_: "no room")
    assert make_plan(from_dict(SCENARIO)).exit_code == 75
    monkeypatch.setattr(
        check, "demands", lambda *_: [SimpleNamespace(fits=False, need=1, where="host")]
    )
    assert make_plan(from_dict(SCENARIO)).exit_code == 4


@pytest.mark.usefixtures("no_remedies")
def test_shear_in_a_fluid_and_exchanged_losses_are_told():
    """Slip in water, and P waves that lose more than S waves; not in rock, nor the usual way."""
    rock = {"type": "uniform", "vp": 2500.0, "vs": 1300.0, "rho": 2200.0}
    said = []
    for loss, vs in (({"qp": 50.0, "qs": 100.0}, 600.0), ({"qp": 100.0, "qs": 50.0}, 0.0)):
        sea = {"type": "block", "z": [-1.0, 500.0], "vp": 1500.0, "vs": vs, "rho": 1000.0}
        slip = FAULT | {"strike": 90.0, "moment": 1e9}
        discretization = discretize(scenario(model=[rock | loss, sea], sources=[slip]))
        lines = assess(discretization).warnings
        said.append([("has shear" in x, "are they exchanged" in x) for x in lines])
    isotropic = SHALLOW | {"position": {"x": 650.0, "z": 300.0}}
    discretization = discretize(scenario(model=[rock, sea], sources=[isotropic]))
    assert not any("has shear" in line for line in assess(discretization).warnings)
    assert [any(a for a, _ in one) for one in said] == [False, True]
    assert [any(b for _, b in one) for one in said] == [True, False]


@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_the_centre_of_a_wavelet_after_the_origin_time_is_told():
    """In seconds, with the event.at that mends it."""
    rate = {"type": "gaussian_rate", "half_duration": 0.1}
    changed = FAST | {"sources": [FAULT | {"strike": 90.0, "moment": 1e9, "wavelet": rate}]}
    event = {"time": "2020-01-01T00:00:00Z"}
    page = str(new_plan_of(**changed, event=event)).replace("\n", " ")
    at = re.search(r"set event.at to (\S+ m?s) if", re.sub(" +", " ", page))[1]
    mended = str(new_plan_of(**changed, event=event | {"at": at}))
    assert "origin time is that" not in mended


AIR = {"vp": 340.0, "vs": 0.0, "rho": 1.2}


@pytest.mark.parametrize(
    ("medium", "warned"),
    [(AIR, True), (AIR | {"vp": 1500.0, "rho": 1000.0}, False), (AIR | {"rho": 900.0}, False)],
)
@pytest.mark.usefixtures("no_remedies", "exact_contacts")
def test_a_source_in_air_is_named(medium, warned):
    """Water, and slow mud, are no air; a fluid that is not water is called one."""
    document = copy.deepcopy(SCENARIO)
    document["model"] = [{"type": "uniform", "vp": 2000.0, "vs": 1000.0, "rho": 2000.0},
                         {"type": "block", "z": [-1.0, 500.0], **medium}]  # fmt: skip
    wavelet = {"type": "ricker", "frequency": 12.0}
    position = {"x": 900.0, "z": 200.0}
    document["sources"] = [{"type": "explosion", "name": "shot", "moment": 1.0,
                            "position": position, "wavelet": wavelet}]  # fmt: skip
    said = "\n".join(make_plan(from_dict(document)).warnings)
    assert ("source shot: stands in air" in said) == warned
    assert "water of 340" not in said
    assert ("fluid of 340" in said) == (medium["vp"] == 340.0)

"""Fields in 16 bits: in what units, what rounding changes, who may keep them so."""

import math
from dataclasses import replace

import numpy as np
import pytest

import seismo
import solver
import test_gpu_simulated
from seismo import check
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.backends.row_kernels import dither
from seismo.backends.select import choose
from seismo.equations.framework.registry import physics_for
from seismo.errors import DeviceError, ScenarioError, UnstableError
from seismo.features.half_precision import table as half_precision
from seismo.features.half_precision.table import in_16_bits, pressures_in_16_bits, rounding_error
from seismo.features.loss import mechanisms as memory_storage
from seismo.scenario import from_dict
from seismo.solver.accuracy.stability_monitor import StabilityMonitor
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation
from solver import SPACING
from test_solver_backends import faces
from test_solver_state import assert_goes_on

SHORT = {"precision": "float16"}


@pytest.fixture(autouse=True)
def unlike_sources(monkeypatch):
    """Let sources of all kinds act at once, with one unit each."""
    monkeypatch.setattr(memory_storage, "MOST_UNLIKE", math.inf)


def plan(dimensions: int = 2, name: str = "elastic", **changes) -> dict:
    return solver.plan(name, dimensions, **{"steps": 6, **SHORT, **changes})


@pytest.mark.parametrize("name", ["elastic", "elastic_sh", "elastic_vti"])
def test_units_round_nothing(name):
    """Fields of 32 bits in other units give the same bits: sources, surface, layers and all."""
    document = plan(name=name, precision="float32", steps=40)
    document["boundaries"] = faces("free_surface", 2)
    discretization = discretize(from_dict(document))
    scaled = in_32_bits(
        discretization, in_16_bits(discretization.physics, 2.0**-7, 2.0**-29, model=False)
    )
    found, wanted = (solver.records(simulated(one)) for one in (scaled, discretization))
    assert solver.identical(found, wanted)


def test_units_of_pressure_and_length_round_nothing():
    """Increments in other units give the same bits in 32: sources, surface, layers and all."""
    document = plan(name="acoustic", precision="float32", steps=40)
    document["boundaries"] = faces("free_surface", 2)
    discretization = discretize(from_dict(document))
    plain = pressures_in_16_bits(discretization.physics, 1.0, 1.0, model=False)
    scaled = pressures_in_16_bits(discretization.physics, 2.0**20, 2.0**-3, model=False)
    found, wanted = (
        solver.records(simulated(in_32_bits(discretization, one))) for one in (scaled, plain)
    )
    assert solver.identical(found, wanted)
    leapfrog = solver.records(simulated(discretization))
    assert solver.difference(wanted, leapfrog) < 1e-5


def in_32_bits(discretization, physics):
    """Return a run of an equation whose fields have other units, and 32 bits."""
    wide = tuple(replace(field, short=False) for field in physics.fields)
    return replace(discretization, physics=replace(physics, fields=wide, short_layers=False))


def as_large(tree, factor: float):
    """Return a scenario whose lengths along x, y and z are so many times as large."""
    if isinstance(tree, list):
        return [as_large(one, factor) for one in tree]
    if not isinstance(tree, dict):
        return tree
    return {k: v * factor if k in "xyz" else as_large(v, factor) for k, v in tree.items()}


def test_lengths_are_in_units_near_the_spacing():
    """Then (c dt)^2 has all bits in 16, in rock and in a tank, and half of the bytes move."""
    for factor in (1.0, 1e-4):
        document = as_large(plan(3, "acoustic"), factor)
        physics = discretize(from_dict(document)).physics
        assert 1.0 < SPACING["z"] * factor / physics.length <= 2.0
        assert physics.short_coefficients == ("k",)
        assert physics.numbers_per_point == 2.5


def simulated(discretization) -> Simulation:
    simulation = Simulation(discretization, solver.CpuBackend("float32"))
    simulation.advance(simulation.total_steps)
    return simulation


def test_half_of_the_bytes():
    narrow, wide = (physics_for("elastic", 3), discretize(from_dict(plan(3))).physics)
    assert (narrow.numbers_per_point, wide.numbers_per_point) == (30, 15)
    half, whole = (check(plan(3, precision=some)).memory for some in ("float16", "float32"))
    assert half.wavefield < 0.51 * whole.wavefield
    assert half.model < 0.6 * whole.model


def test_the_mean_of_a_model_stays():
    """To nearest, c of a rock would err by up to 2.4e-4 everywhere."""
    rock = np.full(20_000, 0.20032, np.float32)
    short = np.zeros(rock.size, np.float16)
    dither(0, 0, rock.size, short, rock, np.array([0]), np.array([-3]), 1)
    assert len(np.unique(short)) == 2
    assert abs(short.astype(float).mean() / rock[0] - 1.0) < 1e-5
    assert np.abs(short.astype(float) / rock - 1.0).max() < 2.0**-10


def test_differences_of_stiffnesses_keep_their_bits():
    """Of vp / vs = 100 traces of layers that cut cells err by 40 % with a model of 16 bits."""
    soft = {"top": 0.0, "vp": 1500.0, "vs": 15.0, "rho": 1500.0}
    for vs, wanted in ((15.0, False), (500.0, True)):
        model = [{"type": "layers", "layers": [soft | {"vs": vs}]}]
        discretization = discretize(from_dict(plan(model=model)))
        assert bool(discretization.physics.short_coefficients) == wanted


def test_the_model_is_the_same_however_the_grid_is_cut():
    whole, cut = (
        solver.build(plan(), backend=ReferenceBackend, parts=parts) for parts in ((1, 1), (2, 1))
    )
    for name in whole.discretization.physics.short_coefficients:
        nodes = np.array([[3, 9, 20], [0, 0, 0], [2, 11, 20]])
        wanted = whole.solvers[0].fields.at(nodes, name)
        parts = [part.fields for part in cut.solvers]
        for n, z in enumerate(nodes[2]):
            (fields,) = [f for f in parts if f.subdomain.owned.lo[2] <= z < f.subdomain.owned.hi[2]]
            assert fields.at(nodes[:, n : n + 1], name)[0] == wanted[n]


@pytest.mark.parametrize(
    ("name", "dimensions", "case"),
    [
        ("elastic", 2, "free_surface"),
        pytest.param("elastic", 3, "layers", marks=pytest.mark.slow),
        ("acoustic", 2, "free_surface"),
        ("acoustic", 3, "layers"),
        pytest.param("elastic_sh", 2, "layers", marks=pytest.mark.slow),
        pytest.param("elastic_vti", 3, "free_surface", marks=pytest.mark.slow),
    ],
)
def test_the_cards_lanes_equal_numpy(name, dimensions, case, tmp_path, monkeypatch):
    """Sums in another order round to a neighbour now and then."""
    monkeypatch.setitem(test_gpu_simulated.TOLERANCE, "float16", 4e-3)
    document = test_gpu_simulated.planned(name, dimensions, tmp_path, case, **SHORT)
    test_gpu_simulated.compare(document, tmp_path)


@pytest.mark.parametrize(
    ("name", "quantities"), [("elastic", ["velocity", "pressure"]), ("acoustic", ["pressure"])]
)
def test_traces_hardly_change(name, quantities):
    """And their band less: what rounding adds is white."""
    read = [solver.points([solver.place(2, (20.3, 16.0))], quantities=quantities)]
    keys = {"name": name, "cells": (28, 24), "steps": 150, "receivers": read}
    short = solver.records(solver.simulate(plan(**keys), backend=ReferenceBackend))
    whole = solver.records(solver.simulate(plan(**keys, precision="float32")))
    for name, wanted in whole.items():
        change = np.linalg.norm(short[name] - wanted) / np.linalg.norm(wanted)
        assert 1e-4 < change < 1e-2


@pytest.mark.parametrize(("name", "fields"), [("elastic", ("vx", "szz")), ("acoustic", ("p",))])
def test_fields_are_given_in_their_units(name, fields):
    """Snapshots, maps and what is said of the largest values."""
    document = plan(name=name, steps=30)
    short, whole = (
        solver.simulate(document | {"precision": some}, backend=ReferenceBackend)
        for some in ("float16", "float32")
    )
    for name in fields:
        wanted = whole.field(name)
        assert np.abs(short.field(name) - wanted).max() < 1e-2 * np.abs(wanted).max()
        assert short.largest(name)()[0] == pytest.approx(whole.largest(name)()[0], rel=1e-2)


@pytest.mark.parametrize("name", ["elastic", "acoustic"])
def test_a_run_goes_on_to_the_same_bits(name, tmp_path):
    document = plan(name=name, steps=12, random_medium=tmp_path, cells=(20, 18))
    assert_goes_on(document, tmp_path, (5, 9), parts=(2, 1), backend=ReferenceBackend)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "acoustic_vti"}, "lossless elastic and acoustic waves, not for acoustic_vti"),
        ({"name": "acoustic_variable_density"}, "not for acoustic_variable_density"),
        ({"name": "viscoelastic"}, "not for viscoelastic"),
        ({"model": [{"type": "layers", "layers": [
            {"top": 0.0, "vp": 1500.0, "vs": 0.0, "rho": 1000.0},
            {"top": 200.0, "vp": 2500.0, "vs": 1400.0, "rho": 2100.0}]}]}, "fluids"),
    ],
)  # fmt: skip
def test_where_they_will_not_do(changes, problem):
    with pytest.raises(ScenarioError, match=rf"^precision: 'float16': too few bits: .*{problem}"):
        discretize(from_dict(plan(**changes)))


@pytest.mark.usefixtures("no_remedies")
def test_a_cpu_refuses_them_and_check_says_what_they_cost():
    with pytest.raises(DeviceError, match="float16 is for GPUs"):
        solver.build(plan())
    velocity = [solver.points([solver.place(3, 12.0)], quantities=["velocity"])]
    plain = check(plan(3, receivers=velocity))
    assert dict(plain.expected.causes)["fields of 16 bits"] == 5e-3
    assert dict(check(plan(3)).expected.causes)["fields of 16 bits"] == pytest.approx(25e-3)
    assert "rounding adds some 0.5 % of noise" in " ".join(str(plain).split())


def test_check_names_the_precision_that_keeps_the_accuracy():
    said = check(plan(3, grid=plan(3)["grid"] | {"accuracy": 1e-3}))
    assert any("give precision: float32" in line for line in said.warnings)


@pytest.mark.parametrize(
    ("kind", "wavelet", "points", "least"),
    [
        pytest.param("moment_tensor", "ricker", 80.0, 5e-3, marks=pytest.mark.slow),
        ("moment_tensor", "gaussian", 30.0, 1e-2),
        pytest.param("force", "ricker", 80.0, 0.0, marks=pytest.mark.slow),
    ],
)
def test_more_noise_is_told_where_there_is_more(kind, wavelet, points, least):
    """A near field strong beside the waves, and a moment that stays."""
    speed = solver.VALUES["vs"] / min(SPACING["x"], SPACING["z"])
    frequency = speed / points * (2.0 if wavelet == "gaussian" else 1.0)  # twice the dominant one
    shape = {"type": wavelet, "frequency": frequency}
    at = solver.place(2, (10.3, 9.2))
    source = solver.source(physics_for("elastic", 2), kind, at, wavelet=shape)
    read = [solver.points([solver.place(2, (22.3, 16.0))], quantities=["velocity"])]
    keys = {"cells": (30, 26), "steps": int(15 * points), "receivers": read, "sources": [source]}
    simulation = solver.simulate(plan(**keys), backend=ReferenceBackend)
    found = np.array(list(solver.records(simulation).values()))
    whole = solver.records(solver.simulate(plan(**keys, precision="float32")))
    error = np.linalg.norm(found - list(whole.values())) / np.linalg.norm(list(whole.values()))
    told = rounding_error(simulation.discretization)
    assert least < error < 1.5 * told < 9.0 * error


@pytest.mark.parametrize("points", [20.0, 400.0])
def test_a_slow_moment_that_stays_fits(points):
    """A tenth of what it adds stays in its cell, beside waves that are the weaker the slower it is.

    With 100 it took stresses to 24,700 in units of the velocity alone, and to 12,400 in these.
    """
    shape = {"type": "gaussian", "frequency": solver.VALUES["vs"] / SPACING["z"] / points}
    at = solver.place(2, (10.3, 9.2))
    source = solver.source(physics_for("elastic", 2), "moment_tensor", at, wavelet=shape)
    discretization = discretize(from_dict(plan(steps=int(8 * points), sources=[source])))
    (acting,) = discretization.shots[0].sources
    moment = np.abs(acting.signal(np.linspace(acting.start, acting.end, 400), 0)).max()
    added = moment * discretization.physics.named("sxx").scale / discretization.grid.cell
    assert 2.0**11 < 0.25 * added < 2.0**15


def test_soft_rock_is_told_to_have_more_noise():
    """Found 2 wavelengths from a moment: 0.7, 1.8, 2 to 4 and 8 % for vp / vs 2, 10, 25 and 50."""
    layers = {"top": 0.0, "vp": 2000.0, "vs": 1000.0, "rho": 1500.0}
    told = [
        rounding_error(
            discretize(from_dict(plan(model=[{"type": "layers", "layers": [layers | {"vs": vs}]}])))
        )
        for vs in (1000.0, 80.0, 20.0)
    ]
    assert told[1] == pytest.approx(told[0] * 2.5)
    assert told[2] == pytest.approx(told[0] * 5.0)


def test_what_is_too_large_ends_the_run(monkeypatch):
    monkeypatch.setattr(half_precision, "strain_rates", lambda *a: np.full(len(a[2]), 1e-12))
    simulation = solver.build(plan(steps=30), backend=ReferenceBackend)
    monitor = StabilityMonitor(simulation, "vx", np.inf)
    with np.errstate(all="ignore"):
        simulation.advance(simulation.total_steps)
    with pytest.raises(UnstableError, match=r"outgrown 16 bits.*precision: float32"):
        monitor.confirm(simulation.step)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_all_kernels_assemble(dimensions):
    """Those of images, too, which compute in 32 bits: products of 16 need a library."""
    pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")
    from seismo.runs.tools.kernels import facts_of, launched

    document = plan(dimensions, "acoustic", boundaries=faces("free_surface", dimensions))
    facts = [facts_of(request) for request in launched(from_dict(document), (9, 0))]
    assert "mirror" in {one.name for one in facts}


def test_lanes_are_loaded_whole():
    """Eight numbers at once inside and four at the ends of rows, of which LLVM drops no part."""
    pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")
    from seismo.backends.gpu import code_cache
    from seismo.backends.gpu.sweeps.kernels import SweepKernel
    from seismo.runs.tools.kernels import CompilingCard, is_interior

    def wanted(kernel) -> bool:
        return isinstance(kernel, SweepKernel) and (
            is_interior(kernel) or kernel.constants.stretched == "x"
        )

    code_cache.without_card((9, 0))
    card = CompilingCard((9, 0), wanted)
    document = plan(3, cells=(40, 24, 24), boundaries=faces("layers", 3))
    solver.build(document, backend=lambda precision: GpuBackend(precision, card))
    codes = card.codes()
    assert {code.kernel.narrow for code in codes} == {False, True}
    for code in codes:
        word, stored = ("v2.u32", "v4.b16") if code.kernel.narrow else ("v4.u32", "v4.u32")
        loads = code.instructions(r"ld\.global")
        assert any(load.endswith(word) for load in loads)
        assert not any("16" in load for load in loads)
        assert f"st.global.{stored}" in code.instructions(r"st\.global")
        assert not code.instructions(r"(?:add|sub|mul|fma)\S*f16")


@pytest.fixture(scope="module")
def gpu():
    return choose("gpu").make


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["elastic", "elastic_sh", "elastic_vti", "acoustic"])
@pytest.mark.parametrize("case", ["free_surface", "layers"])
def test_a_card_equals_numpy(name, case, tmp_path, gpu):
    document = plan(name=name, random_medium=tmp_path, boundaries=faces(case, 2), steps=40)
    found, wanted = (
        solver.simulate(document, tmp_path, backend=b) for b in (gpu, ReferenceBackend)
    )
    assert solver.difference(solver.records(found), solver.records(wanted)) < 1e-2


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["elastic", "acoustic"])
@pytest.mark.parametrize("order", [4, 8, 12])
def test_a_card_gives_the_same_bits_however_the_grid_is_cut(name, order, tmp_path, gpu):
    keys = {"order": order, "cells": (40, 33, 35), "boundaries": faces("free_surface", 3)}
    document = plan(3, name, random_medium=tmp_path, steps=60, **keys)
    whole, cut, wide = (
        solver.simulate(document | more, tmp_path, backend=gpu, parts=parts)
        for more, parts in (({}, (1, 1)), ({}, (2, 2)), ({"precision": "float32"}, (1, 1)))
    )
    assert solver.identical(solver.records(cut), solver.records(whole))
    assert solver.identical(solver.wavefield(cut), solver.wavefield(whole))
    assert 1e-5 < solver.difference(solver.records(whole), solver.records(wide)) < 5e-2
    assert_goes_on(document, tmp_path, (5, 33), parts=(2, 1), backend=gpu)


@pytest.mark.gpu
def test_a_run_on_a_card_writes_what_one_in_32_bits_does(tmp_path):
    document = plan(3, cells=(40, 32, 32), steps=80)
    document["output"] = {
        "snapshots": [{"name": "cut", "fields": ["velocity", "szz"], "steps": 20}],
        "maps": [{"name": "ground", "quantities": ["pgv", "pga"]}],
    }
    short, wide = (
        seismo.run(document | {"precision": some}, tmp_path / f"{some}.h5", backend="gpu")
        for some in ("float16", "float32")
    )
    for name in ("vx", "szz"):
        found, wanted = (one.snapshots["cut"][name][-1] for one in (short, wide))
        assert np.linalg.norm(found - wanted) < 2e-2 * np.linalg.norm(wanted)
    for name in ("pgv", "pga"):
        found, wanted = (one.maps["ground"][name][...] for one in (short, wide))
        assert np.linalg.norm(found - wanted) < 1e-2 * np.linalg.norm(wanted)

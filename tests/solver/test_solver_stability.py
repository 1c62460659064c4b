"""Stable up to the limit in any medium, unstable just beyond it.

The limit is exact for the fastest wave of a homogeneous medium (von Neumann): at 1.05 of it the
shortest wave grows by exp(2 arcosh(1.05)) = 1.88 a step, below it no wave grows. A medium that
varies is bound by its fastest cell; a closed free surface and layers must not add a growing mode.
The energy of leapfrog (see `test_solver_conservation`) is positive below the limit, so that noise
stays within a small factor, which at 0.99 of the limit is at most 1 / sqrt(1 - 0.99^2) = 7.
"""

import numpy as np
import pytest

import solver
from seismo.equations.framework.registry import EQUATIONS, physics_for
from test_solver_conservation import closed_box, start_at_random

VALUES, ROCK = ("vp", "vs", "rho"), (6000.0, 3460.0, 2700.0)


def amplitude(simulation) -> float:
    """Give the largest value of the fields that a standing load does not fill."""
    fields = simulation.discretization.physics.fields
    moving = [f.name for f in fields if f.late] or [f.name for f in fields]
    return max(float(np.abs(solver.wavefield(simulation)[name]).max()) for name in moving)


# Waves without stiffness, along the axes of the medium, move on as they began: noise in their rate
# adds up in proportion to the steps, by 66 times in 400 of them and 1030 in 6400.
DRIFT = {f"{acoustic}_{axis}": 400 for acoustic in ("acoustic", "viscoacoustic")
         for axis in ("vti", "tti")}  # fmt: skip
# The limit is that of the fastest wave in all directions: none along the diagonals of cells is.
ANISOTROPIC = ("vti", "tti", "orthorhombic", "triclinic")
LOUD = {name: 1.2 for name in EQUATIONS if "elastic" in name and name.endswith(ANISOTROPIC)}


def noisy(name: str, dimensions: int, case: str, courant: float, **changes):
    """Give a homogeneous closed box full of noise."""
    document = solver.plan(
        name, dimensions, cells=16, steps=400, boundaries=closed_box(case, dimensions), **changes
    )
    simulation = solver.build(document, courant=courant)
    solver.silence(simulation)
    start_at_random(simulation)
    return simulation


@pytest.mark.parametrize(
    ("name", "dimensions", "case"),
    [
        pytest.param(
            *equation.values, case, id=f"{equation.id}-{case}",
            marks=[pytest.mark.slow] if case == "rigid" and equation.values[1] == 3 else
            equation.marks,
        )
        for equation in solver.EVERY_EQUATION for case in ("rigid", "free")
    ],
)  # fmt: skip
def test_limit_is_sharp(name: str, dimensions: int, case: str) -> None:
    """Noise stays for 400 steps at 0.99 of the limit; 300 at 1.05, or `LOUD`, explode."""
    quiet = noisy(name, dimensions, case, 0.99)
    start = amplitude(quiet)
    quiet.advance(399)
    assert amplitude(quiet) < DRIFT.get(name, 20) * start
    loud = noisy(name, dimensions, case, LOUD.get(name, 1.05))
    loud.advance(299)
    assert not amplitude(loud) < 1e12 * start


def strong_contrasts(physics, shape: tuple[int, ...], seed: int) -> dict[str, np.ndarray]:
    """Draw a medium whose neighbours differ by up to 4 in velocity and 3.5 in density.

    A third of the cells is fluid, and a corner is water beside the stiffest rock. A frame of rock
    leads into the layers: thin channels that enter them carry waves whose phase and energy travel
    in opposite directions, which no perfectly matched layer absorbs (Becache et al. 2003).
    """
    generator = np.random.default_rng(seed)
    vp = generator.uniform(1500.0, 6000.0, shape)
    vs = vp * generator.uniform(0.0, 0.7, shape) * (generator.random(shape) > 0.33)
    rho = generator.uniform(1000.0, 3500.0, shape)
    corner = tuple(slice(0, n // 3) for n in shape)
    beside = (slice(0, shape[0] // 3), *corner[1:-1], slice(shape[-1] // 3, None))
    vp[corner], vs[corner], rho[corner] = 1500.0, 0.0, 1000.0
    vp[beside], vs[beside], rho[beside] = 6000.0, 3460.0, 2700.0
    frame = np.ones(shape, bool)
    frame[(slice(0, -5), *(slice(5, -5),) * (len(shape) - 1))] = False
    vp[frame], vs[frame], rho[frame] = 4000.0, 2300.0, 2500.0
    if "vp" not in physics.needs:  # a fluid knows no shear, and nothing drives it
        vs = np.maximum(vs, 200.0)
    if {"gamma", "theta"} <= set(physics.needs) or "gamma1" in physics.needs:  # no fluids
        vs = np.maximum(vs, 0.1 * vp)
    epsilon = generator.uniform(0.0, 0.4, shape)
    delta = epsilon - generator.uniform(0.0, 0.5, shape)
    values = {"vp": vp, "vs": vs, "rho": rho, "epsilon": epsilon, "delta": delta}
    values["theta"] = generator.uniform(-90.0, 90.0, shape)
    values["phi"] = generator.uniform(-180.0, 180.0, shape)
    if len(physics.axes) == 2 and "gamma" in physics.needs:  # axes lie in the plane
        values["phi"][:] = 0.0
    if "gamma" in physics.needs:  # fluids have none of these
        for key, least, most in (("epsilon", 0.0, 0.3), ("delta", -0.1, 0.0), ("gamma", 0.0, 0.2)):
            values[key] = np.where(vs > 0.0, generator.uniform(least, most, shape), 0.0)
    quality = {"qp": (20.0, 60.0), "qs": (10.0, 40.0)}
    values |= {key: generator.uniform(*ends, shape) for key, ends in quality.items()}
    return {key: values[key] for key in physics.needs if key in values}


def growth(name: str, dimensions: int, top: str, base, steps: int, **changes) -> float:
    """Give the largest motion in the last fifth of a run over that of the second fifth."""
    cells = (40, 30) if dimensions == 2 else (18, 16, 14)
    physics = physics_for(name, dimensions)
    shape, seed = tuple(n + 1 for n in cells[::-1]), changes.pop("seed", 3)
    arrays = changes.pop("arrays", None) or strong_contrasts(physics, shape, seed)
    keys = {
        "cells": cells,
        "model": solver.gridded(base, arrays),
        "boundaries": solver.faces(dimensions, top=top),
        "receivers": [solver.points([solver.place(dimensions, 5)])],
        "time": {"duration": 1.0, "courant": 0.99},
        "steps": None,
    }
    document = solver.plan(name, dimensions, **{**keys, **changes})
    step = solver.build(document, base).dt
    document["time"]["duration"] = steps * step
    simulation = solver.build(document, base)
    values = []
    for _ in range(steps // 25):
        simulation.advance(25)
        values.append(amplitude(simulation))
    fifth = len(values) // 5
    return max(values[-fifth:]) / max(values[fifth : 2 * fifth])


@pytest.mark.parametrize("top", solver.slow_but({"free_surface"}, ["absorbing", "free_surface"]))
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_nothing_grows_in_a_wild_medium(name, dimensions, top, tmp_path) -> None:
    """Layers on all other faces, 0.99 of the limit; the source is over after 2 % of the run."""
    assert growth(name, dimensions, top, tmp_path, 3000 if dimensions == 2 else 500) < 1.0


@pytest.mark.parametrize(
    "soft", [(1500.0, 0.0, 1000.0), (1500.0, 200.0, 1800.0)], ids=["sea", "mud"]
)
def test_layers_hold_a_soft_cover(soft, tmp_path) -> None:
    """Water or mud on the stiffest rock, running into the layers."""
    arrays = {key: np.full((31, 41), rock) for key, rock in zip(VALUES, ROCK, strict=True)}
    for key, value in zip(VALUES, soft, strict=True):
        arrays[key][:8] = value
    assert growth("elastic", 2, "free_surface", tmp_path, 6000, arrays=arrays) < 1.0


def stack_of_layers(physics, seed: int) -> list[dict]:
    """Draw two to four layers of any contrast, half of them thinner than four cells."""
    generator, layers, top = np.random.default_rng(seed), [], 0.0
    for _ in range(generator.integers(2, 5)):
        vp = generator.uniform(1500.0, 6500.0)
        values = {"vp": vp, "vs": vp / generator.uniform(1.5, 5.0)}
        values["rho"] = generator.uniform(1200.0, 3000.0)
        values["epsilon"] = 0.1 * values["rho"] / 1000.0
        values["delta"] = values["epsilon"] - 0.05 * (3000.0 - values["rho"]) / 1000.0
        values["gamma"] = 0.2 - 0.03 * len(layers)
        layers.append(
            {"top": top} | {k: v for k, v in values.items() if k in ("vp", *physics.needs)}
        )
        top += (
            generator.uniform(20.0, 200.0) if generator.random() < 0.5 else generator.uniform(2, 36)
        )
    return [{"type": "layers", "layers": layers}]


@pytest.mark.parametrize("seed", solver.slow_but({0, 1}, range(4)))
@pytest.mark.parametrize(("name", "dimensions"), solver.PLANE_EQUATIONS)
def test_no_stack_of_layers_grows(name: str, dimensions: int, seed: int) -> None:
    """Effective media of contacts may exceed the fastest rock by some percent, not more."""
    document = solver.plan(
        name, dimensions, cells=(16, 40), steps=600, boundaries=closed_box("free", dimensions),
        model=stack_of_layers(physics_for(name, dimensions), seed),
    )  # fmt: skip
    simulation = solver.build(document, courant=0.99)
    solver.silence(simulation)
    start_at_random(simulation)
    start = amplitude(simulation)
    simulation.advance(599)
    # Energy shared among rocks of other impedance moves more.
    assert amplitude(simulation) < DRIFT.get(name, 60) * start


def test_a_sea_bed_that_bends_may_run_into_the_layers() -> None:
    """Cells that slip and yet hold shear, fine in the interior, grow there: 1.4 times meanwhile."""
    bed = [[-50, 572], [79, 405], [207, 485], [336, 401], [464, 296], [593, 551], [721, 228],
           [850, 481]]  # fmt: skip
    model = [
        {"type": "uniform", "vp": 1500.0, "vs": 0.0, "rho": 1020.0},
        {"type": "interface", "points": bed, "vp": 3400.0, "vs": 1963.0, "rho": 2500.0},
    ]
    document = solver.plan(
        "elastic", 2, cells=80, steps=3000, model=model, boundaries=solver.faces(2), order=4,
        grid={"extent": {"x": 800.0, "z": 800.0}, "spacing": 10.0, "order": 4}, precision="float32",
    )  # fmt: skip
    simulation = solver.build(document, courant=0.99)
    simulation.advance(1200)
    middle = amplitude(simulation)
    simulation.advance(1800)
    assert amplitude(simulation) < 0.5 * middle


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("block", [False, True], ids=["layers", "layers and a block"])
def test_the_surface_of_water_bears_no_stress(dimensions: int, block: bool) -> None:
    """Exactly none, in single precision: a remainder would push the row under it for ever.

    A block in the rock has the general formula run everywhere, instead of that for one rock.
    """
    sea = [{"top": 0.0, "vp": 1500.0, "vs": 0.0, "rho": 1000.0},
           {"top": 60.0, "vp": 4000.0, "vs": 2300.0, "rho": 2500.0}]  # fmt: skip
    model = [{"type": "layers", "layers": sea}]
    if block:
        model.append({"type": "block", "z": [120.0, 140.0], "x": [60.0, 90.0], "vp": 3000.0})
    document = solver.plan(
        "elastic", dimensions, cells=20, steps=200, model=model, precision="float32",
        boundaries=solver.faces(dimensions, top="free_surface"),
    )  # fmt: skip
    simulation = solver.simulate(document)
    for name, values in solver.wavefield(simulation).items():
        if name in ("sxx", "syy", "szz"):
            assert not values[0].any()
            assert values[1].any()


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("block", [False, True], ids=["layers", "layers and a block"])
def test_the_normal_stresses_of_water_are_one_number(dimensions: int, block: bool) -> None:
    """To the last bit: no wave takes a difference away, and it would turn the water ever faster.

    On a card it did: by 3e-3 of vx in the water after 2 s of scenarios/sea_bottom.yaml.
    """
    sea = [{"top": 0.0, "vp": 1500.0, "vs": 0.0, "rho": 1000.0},
           {"top": 160.0, "vp": 4000.0, "vs": 2300.0, "rho": 2500.0}]  # fmt: skip
    model = [{"type": "layers", "layers": sea}]
    if block:
        model.append({"type": "block", "z": [190.0, 205.0], "x": [60.0, 90.0], "vp": 3000.0})
    document = solver.plan(
        "elastic", dimensions, cells=26, steps=150, model=model, precision="float32",
        sources=[{"type": "explosion", "position": solver.place(dimensions, [11.4] * dimensions),
                  "wavelet": {"type": "ricker", "frequency": 20.0}}],
    )  # fmt: skip
    simulation = solver.simulate(document)
    found = solver.wavefield(simulation)
    water = slice(
        0, simulation.discretization.grid.low[2] + 12
    )  # and 5 more, which the contact owns
    assert np.abs(found["szz"][water]).max() > 0.0
    for name in {"sxx", "syy"} & found.keys():
        assert np.array_equal(found[name][water], found["szz"][water]), name


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("stencil", ["taylor", "minmax"])
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("top", ["absorbing", "free_surface"])
@pytest.mark.parametrize(("name", "dimensions"), solver.PLANE_EQUATIONS)
def test_nothing_grows_at_any_order(name, dimensions, top, order, stencil, seed, tmp_path) -> None:
    """Waves caught between hard blocks beat for 20,000 steps: growth is told from twice as many."""
    changes = {"order": order, "stencil": stencil, "seed": seed}
    assert growth(name, dimensions, top, tmp_path, 40_000, **changes) < 1.0

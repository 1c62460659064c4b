"""The time step where light rock lies beside heavy rock."""

import numpy as np
import pytest

import solver
from seismo.equations.framework.registry import physics_for
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_solver_conservation import closed_box, start_at_random
from test_solver_stability import amplitude

VALUES = ("vp", "vs", "rho")


def layers(physics, *rocks) -> list[dict]:
    """Give beds of 100 m, each of vp, vs and rho."""
    keys = dict.fromkeys(("vp", *physics.needs))
    beds = [
        {"top": 100.0 * n, **{k: dict(zip(VALUES, rock, strict=True))[k] for k in keys}}
        for n, rock in enumerate(rocks)
    ]
    return [{"type": "layers", "layers": beds}]


def noise(physics, base, contrast: float) -> list[dict]:
    """Draw every node: densities of up to that contrast, a fifth of them as light as air."""
    generator, shape = np.random.default_rng(2), (25, 21)
    vp = 3000.0 * np.exp(-generator.random(shape))
    rho = 10.0 * min(contrast, 2000.0) ** generator.random(shape)
    rho = np.where((generator.random(shape) < 0.2) & (contrast > 2000.0), 1.0, rho)
    values = {"vp": vp, "vs": 0.5 * vp, "rho": rho}
    return solver.gridded(base, {key: values[key] for key in physics.needs})


def lumps(physics, base, width: int, contrast: float) -> list[dict]:
    """Draw squares of so many nodes, two fifths of them as light as air in rock of one velocity.

    Inside a lump velocities are light, and differences of high order read stresses of the rock.
    """
    few = np.random.default_rng(1).random((25 // width + 1, 21 // width + 1)) < 0.4
    light = np.kron(few, np.ones((width, width), bool))[:25, :21]
    vp = np.full(light.shape, 3000.0)
    values = {"vp": vp, "vs": 0.5 * vp, "rho": np.where(light, 1.0, contrast)}
    return solver.gridded(base, {key: values[key] for key in physics.needs})


def growth(
    name: str, model: list[dict], base, steps: int, order: int = 8, courant: float = 0.99, **changes
) -> float:
    """Give the noise after so many steps at a share of the limit, over that after a third."""
    document = solver.plan(
        name, 2, cells=(20, 24), steps=None, order=order, boundaries=closed_box("free", 2),
        model=model, time={"duration": 1e-3}, **changes,
    )  # fmt: skip
    limit = discretize(from_dict(document, base)).clock.limit
    document["time"] = {"duration": steps * limit}
    simulation = solver.build(document, base, courant=courant)
    solver.silence(simulation)
    start_at_random(simulation)
    simulation.advance(steps // 3)
    before = amplitude(simulation)
    simulation.advance(steps - steps // 3)
    return amplitude(simulation) / before


@pytest.mark.parametrize("contrast", [20.0, 20_000.0])
@pytest.mark.parametrize("name", ["elastic", "acoustic_variable_density", "elastic_sh"])
def test_the_limit_holds_beside_light_rock(name, contrast, tmp_path) -> None:
    """In 0.1.0 not finite within some hundred steps at 1:20,000."""
    model = noise(physics_for(name, 2), tmp_path, contrast)
    assert growth(name, model, tmp_path, 600) < 4.0


@pytest.mark.parametrize(("order", "averaging"), [(8, "effective"), (8, "point"), (4, "point")])
@pytest.mark.parametrize("width", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["elastic", "acoustic_variable_density", "elastic_sh"])
def test_lumps_of_air_need_the_limit(name, order, width, averaging, tmp_path, monkeypatch) -> None:
    """Noise stays at 0.99 of it; that of the fastest rock is 10 to 100 times as long."""
    model = lumps(physics_for(name, 2), tmp_path, width, 20_000.0)
    changes = {"order": order, "averaging": averaging}
    assert growth(name, model, tmp_path, 300, **changes) < 4.0
    monkeypatch.setattr("seismo.solver.accuracy.time_step.largest_eigenvalue", lambda *medium: 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not growth(name, model, tmp_path, 300, **changes) < 1e50


@pytest.mark.parametrize(
    ("name", "courant"), [("elastic", 3.0), ("acoustic_variable_density", 1.5), ("elastic_sh", 4.0)]
)
def test_the_limit_beside_light_rock_is_near(name, courant, tmp_path) -> None:
    """A bound, which the largest step falls short of by this factor at most."""
    model = lumps(physics_for(name, 2), tmp_path, 4, 20_000.0)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not growth(name, model, tmp_path, 300, courant=courant) < 1e20


def test_the_limit_holds_under_a_bed_as_light_as_air(tmp_path) -> None:
    """In 0.1.0 not finite within 100 steps."""
    model = layers(physics_for("elastic", 2), (3000.0, 1500.0, 1.0), (3000.0, 1500.0, 20_000.0))
    assert growth("elastic", model, tmp_path, 600) < 4.0


def test_ordinary_rock_leaves_the_step_as_it_is() -> None:
    """That of the fastest rock, whatever lies above it."""
    physics = physics_for("elastic", 2)
    fast, soft, mud = (6000.0, 3400.0, 2800.0), (2500.0, 1000.0, 2100.0), (1600.0, 200.0, 1500.0)
    steps = [
        discretize(from_dict(solver.plan("elastic", 2, model=layers(physics, *rocks)))).clock.dt
        for rocks in ((mud, soft, fast), (soft, fast), (fast, fast))
    ]
    assert steps[:2] == pytest.approx([steps[2]] * 2, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("name", ["elastic", "acoustic_variable_density", "elastic_sh"])
@pytest.mark.parametrize("contrast", [200.0, 20_000.0])
def test_the_limit_holds_for_ten_thousand_steps(name, order, contrast, tmp_path) -> None:
    """Every node for itself, and lumps."""
    physics = physics_for(name, 2)
    for model in (
        noise(physics, tmp_path, contrast),
        *(lumps(physics, tmp_path, width, contrast) for width in (2, 3, 5)),
    ):
        assert growth(name, model, tmp_path, 10_000, order) < 4.0

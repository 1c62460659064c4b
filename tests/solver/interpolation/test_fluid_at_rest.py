"""Fluids in which SH waves do not travel: receivers read 0 there, whatever differences move."""

import numpy as np
import pytest

import seismo
import solver
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

WATER = {"vs": 0.0, "rho": 1000.0}
ROCK = {"vs": 1200.0, "rho": 2200.0}
BED = 93.0  # m
WET = [0.0, 40.0, BED - 8.0, BED - 0.1]
DRY = [BED, BED + 0.1, BED + 8.0]
FLAT = [{"type": "layers", "layers": [{"top": 0.0, **WATER}, {"top": BED, **ROCK}]}]
UNEVEN = [
    {"type": "uniform", **ROCK},
    {"type": "block", "x": [-1e4, 1e4], "z": [-1e4, BED], **WATER},
]


def sea(model: list[dict], depth: float = 120.0, name: str = "elastic_sh", **changes) -> dict:
    """Return a scenario of SH waves under water, with receivers above, on and below its bed."""
    physics = physics_for(name, 2)
    quantities = [quantity for quantity in physics.observables if quantity != "pressure"]
    return solver.plan(
        name, 2, model=model, boundaries=solver.faces(2, top="free_surface"),
        sources=[solver.source(physics, "force", {"x": 150.0, "z": depth})],
        receivers=[solver.points([{"x": 160.0, "z": z} for z in WET + DRY], quantities=quantities)],
        **changes,
    )  # fmt: skip


@pytest.mark.parametrize("model", [FLAT, pytest.param(UNEVEN, marks=pytest.mark.slow)])
def test_receivers_in_water_read_nothing_of_rock(model) -> None:
    """Next to the bed they read motion of rock, and far from it 0 / 0 as shear stress."""
    for name, values in solver.records(solver.simulate(sea(model))).items():
        assert (values[: len(WET)] == 0.0).all(), name
        assert (np.abs(values[len(WET) :]).max(axis=1) > 0.0).all(), name


def test_sources_in_water_are_refused() -> None:
    """They would move nothing but rows of water, or rock by these."""
    with pytest.raises(ScenarioError, match=r"sources: .* fluid .* z = 85 m, .* move it into rock"):
        discretize(from_dict(sea(FLAT, depth=BED - 8.0, steps=None)))
    discretize(from_dict(sea(FLAT, depth=BED, steps=None)))


@pytest.mark.usefixtures("no_remedies")
def test_check_names_receivers_in_water() -> None:
    """Under a free surface on water, whose waves have no error."""
    said = str(seismo.check(sea(FLAT)))
    assert "4 of 7" in said
    assert "elastic_sh waves do not travel: they record 0; move them into rock" in said

"""Fluids beside rock of any anisotropy: beside upright rock as in the VTI equation."""

import numpy as np
import pytest

import seismo
import solver
from seismo.equations.framework.registry import physics_for
from seismo.equations.rock import elastic_constants
from seismo.errors import ModelError
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
SOFT = {"vp": 2000.0, "vs": 900.0, "rho": 2000.0}
SHALE = {"vp": 2600.0, "vs": 1300.0, "rho": 2200.0, "epsilon": 0.2, "delta": 0.08, "gamma": 0.1}
LOSSY = {"attenuation": {"reference_frequency": 40.0, "storage": 32}}
BED, BASE = 223.0, 430.0  # m


def sea(dimensions: int, top: dict, base: dict, across: int = 14, **changes) -> dict:
    """Give water over rock of which the lower part is of another kind, in cells of some 10 m."""
    layers = [{"top": 0.0, **WATER}, {"top": BED, **top}, {"top": BASE, **base}]
    explosion = solver.source(
        physics_for("elastic", dimensions), "explosion",
        dict.fromkeys(solver.axes_of(dimensions), 70.0) | {"z": 180.0},
    )  # fmt: skip
    return solver.plan(
        "elastic", dimensions, cells=(*[across] * (dimensions - 1), 64),
        model=[{"type": "layers", "layers": layers}], sources=[explosion],
        **{"steps": 150, "boundaries": solver.faces(dimensions, top="free_surface")} | changes,
    )  # fmt: skip


def traces(document: dict) -> tuple[str, dict[str, np.ndarray]]:
    """Run a sea; name its equation and give the velocities, which change sign under the bed."""
    places = [
        dict.fromkeys(document["grid"]["extent"], 60.0) | {"z": z} for z in (50.0, 219.0, 228.0)
    ]
    document["receivers"] = [solver.points(places, quantities=["velocity"])]
    simulation = solver.simulate(document)
    assert [contact.closed for contact in simulation.discretization.slips.corrected] == [True]
    return simulation.discretization.scenario.equation.name, solver.records(simulation)


def constants_of(rock: dict) -> dict:
    """Give a rock by nine constants, of which c22 is not quite c11."""
    c = elastic_constants.constants_of(rock)
    nine = {
        "c11": c["c11"], "c22": c["c11"] * (1.0 + 1e-9), "c33": c["c33"], "c13": c["c13"],
        "c23": c["c13"], "c12": c["c11"] - 2.0 * c["c66"], "c44": c["c44"], "c55": c["c44"],
        "c66": c["c66"],
    }  # fmt: skip
    return {"rho": rock["rho"]} | nine


@pytest.mark.parametrize(
    ("dimensions", "equation", "base"),
    [
        (2, "elastic_tti", SHALE | {"theta": 1e-9}),
        (2, "elastic_orthorhombic", constants_of(SHALE)),
        pytest.param(3, "elastic_tti", SHALE | {"theta": 1e-9}, marks=pytest.mark.slow),
        pytest.param(3, "elastic_orthorhombic", constants_of(SHALE), marks=pytest.mark.slow),
        pytest.param(
            3, "elastic_triclinic", constants_of(SHALE) | {"theta": 1e-9}, marks=pytest.mark.slow
        ),
    ],
)
def test_a_sea_over_rock_that_is_upright_in_all_but_name(dimensions, equation, base) -> None:
    """Traces are those of the VTI equation, in water and beside the bed."""
    plain = traces(sea(dimensions, SOFT, SHALE))
    found = traces(sea(dimensions, SOFT, base))
    assert (plain[0], found[0]) == ("elastic_vti", equation)
    for name, wanted in plain[1].items():
        largest = np.abs(wanted).max()
        assert largest > 0.0
        # Waves of the base, whose averages are sharpened otherwise, are about to arrive.
        np.testing.assert_allclose(found[1][name], wanted, rtol=0.0, atol=1e-5 * largest)


def test_constants_of_a_fluid_are_one_number() -> None:
    """Its normal stresses stay equal to the last bit, with the loss of its own."""
    document = sea(2, SOFT | {"qp": 40.0, "qs": 20.0}, SHALE | {"theta": 30.0}, **LOSSY)
    simulation = solver.simulate(document)
    assert simulation.discretization.scenario.equation.name == "viscoelastic_tti"
    fields = solver.wavefield(simulation)
    rows = slice(2, 12)
    water = [fields[name][rows] for name in ("sxx", "szz")]
    assert (water[0] != 0.0).any()
    assert np.abs(water[0]).max() > 0.0
    np.testing.assert_array_equal(*water)
    assert np.abs(fields["sxz"][rows]).max() < 1e-20 * np.abs(water[0]).max()


@pytest.mark.slow
@pytest.mark.parametrize("rock", [SHALE | {"theta": 35.0, "phi": 20.0}, constants_of(SHALE)])
@pytest.mark.parametrize("loss", [{}, {"qp": 40.0, "qs": 20.0}])
def test_rounding_does_not_turn_a_fluid(rock, loss) -> None:
    """Single precision in space: velocities by the source erred by 1e-4, now by 3e-6.

    In each step sums of one rounding part the stresses by another; nothing brings that back.
    """
    document = sea(3, SOFT | loss, rock | loss, steps=100, order=4, **(LOSSY if loss else {}))
    wanted = solver.wavefield(solver.simulate(document))
    found = solver.wavefield(solver.simulate(document | {"precision": "float32"}))
    water = slice(8, 22)
    np.testing.assert_array_equal(found["sxx"][water], found["syy"][water])
    np.testing.assert_array_equal(found["sxx"][water], found["szz"][water])
    names = ("vx", "vy", "vz")
    assert solver.difference({n: found[n] for n in names}, {n: wanted[n] for n in names}) < 1.5e-5


def test_memory_of_tilted_rock_under_water_fits_16_bits() -> None:
    """On nodes of water beside rock that couples strains: it was not a number."""
    rock = SHALE | {"qp": 40.0, "qs": 20.0}
    document = sea(2, rock | {"theta": 35.0}, rock, **LOSSY)
    wanted = solver.wavefield(solver.simulate(document))
    document |= {"precision": "float32"}
    document["attenuation"] = LOSSY["attenuation"] | {"storage": 16}
    simulation = solver.simulate(document)
    assert simulation.discretization.physics.short
    found = solver.wavefield(simulation)
    names = ("vx", "vz", "szz", "sxz")
    assert solver.difference({n: found[n] for n in names}, {n: wanted[n] for n in names}) < 1e-3


@pytest.mark.parametrize(
    "loss", [pytest.param({}, marks=pytest.mark.slow), {"qp": 40.0, "qs": 20.0}]
)
@pytest.mark.parametrize("where", ["bed", pytest.param("base", marks=pytest.mark.slow)])
def test_nothing_grows_beside_tilted_rock_under_water(where, loss) -> None:
    """Rock that couples strains below the bed, and right beside it: waves leave."""
    tilted = SHALE | {"theta": 35.0} | loss
    top, base = (tilted, SHALE | loss) if where == "bed" else (SOFT | loss, tilted)
    document = sea(2, top, base, steps=6000, precision="float32", **(LOSSY if loss else {}))
    simulation = solver.build(document)
    assert bool(simulation.discretization.slips.corrected) == (where == "base")
    levels = []
    for count in (100, 2900, 3000):
        simulation.advance(count)
        levels.append(float(np.abs(solver.wavefield(simulation)["szz"]).max()))
    assert 0.0 < levels[2] < 0.9 * levels[1] < 0.9 * levels[0]


def test_nothing_grows_at_a_bed_of_tilted_rock_that_bends() -> None:
    """Cells that hold water and rock: about its normals the stiffness of water had no inverse."""
    rock = SHALE | {"theta": 35.0}
    axis = {"epsilon": 0.0, "delta": 0.0, "gamma": 0.0, "theta": 0.0}
    document = sea(2, rock, rock, across=30, steps=2000, precision="float32")
    document["model"] = [
        {"type": "uniform", **WATER, **axis},
        {"type": "sphere", "center": {"x": 150.0, "z": 500.0}, "radius": 280.0, **rock},
    ]
    simulation = solver.build(document)
    levels = []
    for count in (100, 900, 1000):
        simulation.advance(count)
        levels.append(float(np.abs(solver.wavefield(simulation)["szz"]).max()))
    assert 0.0 < levels[2] < 0.9 * levels[1] < 0.9 * levels[0]


@pytest.mark.usefixtures("no_remedies")
def test_check_says_that_a_bed_of_tilted_rock_is_averaged() -> None:
    """And within how many cells it would have to be upright."""
    said = str(seismo.check(sea(2, SHALE | {"theta": 35.0}, SHALE)))
    assert "normal and shear strains are coupled" in said
    assert "within 10 cells of it, 90 m" in said
    assert "strains are coupled" not in str(seismo.check(sea(2, SOFT, SHALE | {"theta": 35.0})))


def test_a_fluid_of_anisotropic_parameters_is_refused() -> None:
    document = sea(3, SOFT, {n: SHALE[n] for n in SOFT} | {"azimuth": 30.0, "epsilon1": 0.1})
    document["model"][0]["layers"][0] |= {"epsilon1": 0.1}
    with pytest.raises(ModelError, match="a fluid has none of these"):
        discretize(from_dict(document))

"""vz on the free surface: read with the slope that vanishing traction prescribes, and few rows.

Sources next to the surface, and contacts just below it, are compared with a grid four times finer,
which reads vz on its surface from a quarter of the depth.
"""

import numpy as np
import pytest

import flat_layers
import seismo
import solver
from seismo.equations.rock import elastic_constants
from seismo.exact import metrics
from seismo.grid.interpolation import Surface, axis_weights, slope_share, sloped_weights
from seismo.grid.surface_closure import ClosureKind
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.interpolation.channels import channel_points
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.interpolation.traction_free_slopes import even_depths

ROCK = {"vp": 5550.0, "vs": 3150.0, "rho": 2650.0}
SOFT = {"vp": 1200.0, "vs": 600.0, "rho": 1900.0}
HARD = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}


@pytest.mark.parametrize("rows", [1, 2, 3, 6])
@pytest.mark.parametrize("position", [0.0, 0.3, 0.8, 2.2])
def test_few_rows_and_a_slope_read_polynomials(position: float, rows: int) -> None:
    weights, share = sloped_weights(position, rows)
    assert weights.size <= rows
    z = np.arange(weights.size) + 0.5
    for power in range(weights.size + 1):
        assert weights @ z**power + share * (power == 1) == pytest.approx(position**power, abs=1e-9)


@pytest.mark.parametrize("position", [0.5, 3.5, 4.0, 7.2])
def test_no_slope_takes_part_on_a_row_of_vz_or_further_down(position: float) -> None:
    assert slope_share(position, True, Surface(0, False, 8)) == 0.0


def test_a_reading_stays_above_a_contact() -> None:
    """Two half points above it: no more are read; below it the slope tells nothing."""
    shallow = Surface(0, vanishes=False, sloped=2)
    assert axis_weights(0.0, True, 0, shallow)[0].tolist() == [0, 1]
    assert axis_weights(2.6, True, 0, shallow)[0].size == 6
    assert slope_share(2.6, True, shallow) == 0.0


def layered(depth: float, spacing: float, x: list[float]) -> dict:
    """Give a soft layer over rock, a force in the rock, and receivers on the surface."""
    layers = [{"top": 0.0, **SOFT}, {"top": depth, **HARD}] if depth else [{"top": 0.0, **SOFT}]
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 500.0, "z": 300.0}, "spacing": spacing, "order": 8},
        "time": {"duration": 1.2, "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "layer": {"points": round(200.0 / spacing)}},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{
            "type": "force", "position": {"x": 100.0, "z": 120.0}, "force": {"x": 1e6, "z": 2e6},
            "wavelet": {"type": "ricker", "frequency": 2.4},
        }],
        "receivers": [{
            "name": "s", "type": "points", "quantities": ["velocity"], "interval": 0.01,
            "positions": [{"x": at, "z": 0.0} for at in x],
        }],
    }  # fmt: skip


def test_the_first_contact_is_found() -> None:
    for depth, even in ((0.0, np.inf), (23.0, 2.0), (27.0, 2.5), (60.0, 5.5), (300.0, np.inf)):
        setup = discretize(from_dict(layered(depth, 10.0, [100.0])))
        assert even_depths(setup.earth, setup.grid, 8) == [even]
        assert setup.slope.rows == (8 if even > 8 else np.ceil(even))


def reading(document: dict, quantity: str, component: str, place, motion: np.ndarray) -> float:
    """Give what a receiver reads of the velocity motion (vx, vy, vz; x, y, z) (x, y, z)."""
    setup = discretize(from_dict(document))
    around = PointInterpolation(
        setup.grid, setup.physics, setup.closure, False, setup.stencil, setup.slope
    )
    terms, total = setup.physics.observables[quantity][component], 0.0
    for name, points in channel_points(around, terms, place).items():
        half = np.array([0.5 * (a in setup.physics.named(name).half) for a in "xyz"])
        places = np.transpose(points[:3]) + half
        total += points.weights @ (places * setup.grid.spacing) @ motion["xyz".index(name[1])]
    return total


@pytest.mark.parametrize("z", [0.0, 3.0, 10.0, 22.0, 37.0])
@pytest.mark.parametrize("x", [120.0, 123.0])
@pytest.mark.parametrize("vs", [600.0, 0.0])
def test_divergence_and_rotation_of_motion_without_traction(vs: float, x: float, z: float) -> None:
    """Linear motion that the surface allows is read exactly, on the grid, between, and at z = 0."""
    document = layered(0.0, 10.0, [120.0])
    document["model"][0]["layers"][0]["vs"] = vs
    document["grid"] |= {
        "extent": {"x": 240.0, "y": 200.0, "z": 200.0},
        "order": 4,
        "stencil": "taylor",
    }
    document["boundaries"] = {"top": "free_surface", "layer": {"points": 4}}
    document["sources"][0]["position"]["y"] = document["receivers"][0]["positions"][0]["y"] = 100.0
    stretch = 1.0 - 2.0 * (vs / SOFT["vp"]) ** 2
    turned = np.array([-0.7, 0.4]) * (1.0 if vs else -1.0)
    motion = np.array([[1.0, 0.3, 0.0], [-0.2, 0.5, 0.0], [0.7, -0.4, 0.0]])
    motion[:2, 2], motion[2, 2] = turned, -stretch * (motion[0, 0] + motion[1, 1])

    def read(quantity: str, component: str) -> float:
        return reading(document, quantity, component, (x, 105.0, z), motion)

    assert read("divergence", "divergence") == pytest.approx(np.trace(motion), rel=1e-9, abs=1e-10)
    for n, axis in enumerate("xyz"):
        after, before = (n + 2) % 3, (n + 1) % 3
        wanted = 0.5 * (motion[after, before] - motion[before, after])
        assert read("rotation", f"rotation_{axis}") == pytest.approx(wanted, rel=1e-9, abs=1e-10)


def test_divergence_and_rotation_beside_the_surface_are_exact() -> None:
    """Seven points per shortest wavelength, against the exact solution of a half-space.

    At z = 0 0.2 to 0.45 % are found, at 13 and 27 m up to 1.6 and 3.9 % (rotation; vz 1.5 %).
    """
    h, source, force = 10.0, (203.0, 160.0), (1e6, 2e6)
    places = [(x, z) for z in (0.0, 13.0, 27.0) for x in (330.0, 437.0)]
    document = layered(0.0, h, [])
    document["grid"]["extent"] = {"x": 600.0, "z": 300.0}
    document["boundaries"]["layer"] = {"points": 14}
    document["time"] = {"duration": 0.55}
    document["model"] = [{"type": "uniform", **HARD}]
    frequency = HARD["vs"] / (7.0 * 2.5 * h)
    document["sources"] = [{
        "type": "force", "position": dict(zip("xz", source, strict=True)),
        "force": dict(zip("xz", force, strict=True)),
        "wavelet": {"type": "ricker", "frequency": frequency},
    }]  # fmt: skip
    document["receivers"] = [solver.points(
        [dict(zip("xz", place, strict=True)) for place in places],
        quantities=["divergence", "rotation"],
    )]  # fmt: skip
    simulation = solver.simulate(document)
    found = solver.traces(simulation)
    # Differences of the exact velocity: 1/90 of the shortest wavelength, fourth order.
    step, across = 3.0, np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
    down = np.array([-25.0, 48.0, -36.0, 16.0, -3.0]) / 12.0
    shifts = np.array([(n, 0) for n in (-2, -1, 1, 2)] + [(0, n) for n in range(5)])
    around = (np.array(places)[:, None] + step * shifts).reshape(-1, 2)
    velocity = flat_layers.exact(simulation, (HARD,), (0.0,), places=around)
    velocity = velocity.reshape(len(places), len(shifts), 2, -1)
    along = np.einsum("k,pkct->cpt", across, velocity[:, :4]) / step
    below = np.einsum("k,pkct->cpt", down, velocity[:, 4:]) / step
    wanted = {"divergence": along[0] + below[1], "rotation_y": 0.5 * (below[0] - along[1])}
    for name, exact in wanted.items():
        errors = [metrics.relative_l2(*pair) for pair in zip(found[name], exact, strict=True)]
        assert max(errors[:2]) < 0.006, name
        assert max(errors) < {"divergence": 0.025, "rotation_y": 0.045}[name]


def traces(document: dict, path) -> np.ndarray:
    """Run, and give vx and vz (component, receiver, time)."""
    with seismo.run(document, path) as results:
        return np.array([results.traces["s"].values_of(c)[0] for c in ("vx", "vz")])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "bar"), [(0.0, 0.001), (13.0, 0.01), (23.0, 0.01), (28.0, 0.009)]
)
def test_vz_on_the_surface_above_a_contact(depth: float, bar: float, tmp_path) -> None:
    """Ten points per shortest wavelength in the soft layer: 0.07, 0.94, 0.95, 0.83 % are found.

    A polynomial through six rows, across the contact, gave 1 to 7 %.
    """
    x = [150.0, 203.0, 300.0, 400.0]
    _, coarse = traces(layered(depth, 10.0, x), tmp_path / "coarse.h5")
    _, fine = traces(layered(depth, 2.5, x), tmp_path / "fine.h5")
    for found, wanted in zip(coarse, fine, strict=True):
        assert metrics.relative_l2(found, wanted) < bar


def explosion(depth: float, spacing: float) -> dict:
    """Give an explosion so many cells of 1250 m below the surface, with receivers and a map."""
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 17500.0, "z": 12500.0}, "origin": {"x": -7500.0, "z": 0.0},
                 "spacing": spacing, "order": 8},
        "time": {"duration": 15.0, "step": 4e-5 * spacing},
        "boundaries": {"top": "free_surface", "layer": {"points": 12}},
        "model": [{"type": "uniform", **ROCK}],
        "sources": [{
            "type": "explosion", "position": {"x": 0.0, "z": 1250.0 * depth}, "moment": 1e18,
            "wavelet": {"type": "gaussian_rate", "half_duration": 4.0},
        }],
        "receivers": [{
            "name": "s", "type": "points", "quantities": ["velocity"], "interval": 0.05,
            "positions": [{"x": 1250.0 * n, "z": 0.0} for n in (0, 1, 2, 2.7, 5, 6.3)],
        }],
        "output": {"maps": [{"name": "m", "quantities": ["pgv_z"], "box": {"z": [0.0, 1.0]}}]},
    }  # fmt: skip


def surface_motion(depth: float, spacing: float, path) -> tuple[np.ndarray, np.ndarray]:
    """Run; give vx and vz (component, receiver, time), and the peaks of vz 1250 m apart."""
    with seismo.run(explosion(depth, spacing), path) as results:
        traces = np.array([results.traces["s"].values_of(c)[0] for c in ("vx", "vz")])
        peaks = results.maps["m"].values_of("pgv_z")[0, 0, :: round(1250.0 / spacing)]
    return traces, peaks


@pytest.mark.filterwarnings("ignore::seismo.errors.ScenarioWarning")
@pytest.mark.parametrize(
    ("depth", "bar"),
    [
        (5.0, 0.025),
        *(pytest.param(d, 0.02, marks=pytest.mark.slow) for d in (1.0, 1.5, 3.7, 4.64, 5.5, 6, 8)),
        *(pytest.param(d, 0.025, marks=pytest.mark.slow) for d in (2.0, 2.5, 3.0)),
    ],
)
def test_vz_on_the_surface_above_a_shallow_source(depth: float, bar: float, tmp_path) -> None:
    """Traces and peaks five cells and more from the source, straight above it included.

    Errors are 1 % of the motion of a receiver at most, 2.4 % straight above a source five cells
    deep; a polynomial through six rows was wrong by a factor of 3 at 4.64 cells.
    """
    coarse, peaks = surface_motion(depth, 1250.0, tmp_path / "coarse.h5")
    fine, wanted = surface_motion(depth, 312.5, tmp_path / "fine.h5")
    far = np.hypot((0, 1, 2, 2.7, 5, 6.3), depth) > 4.99
    error = np.abs(coarse - fine).max(axis=2) / np.sqrt((fine**2).sum(axis=0)).max(axis=1)
    assert error[:, far].max() < bar
    far = np.hypot(np.arange(-6, 9), depth) > 4.99
    assert (np.abs(peaks / wanted - 1)[far] < bar).all()


MOMENT = {"type": "moment_tensor", "components": {"xz": 1e9}, "time_function": "moment"}
SIDEWAYS = {"type": "force", "force": {"x": 1e6}}


@pytest.mark.parametrize(
    ("depth", "source", "cells", "kind", "rows"),
    [
        (0.0, {}, 8.0, ClosureKind.FORCES, 11), (0.0, MOMENT, 5.0, ClosureKind.MOMENTS, 11),
        (0.0, MOMENT, 0.0, ClosureKind.FORCES, 11), (0.0, MOMENT, 9.5, ClosureKind.FORCES, 11),
        (0.0, SIDEWAYS, 3.0, ClosureKind.FORCES, 11), (86.0, SIDEWAYS, 3.0, ClosureKind.MOMENTS, 8),
        (86.0, SIDEWAYS, 6.0, ClosureKind.FORCES, 8),
        (86.0, MOMENT, 5.0, ClosureKind.MOMENTS, 8), (66.0, MOMENT, 5.0, ClosureKind.PLAIN, 6),
        (46.0, MOMENT, 9.0, ClosureKind.CONTACT, 8), (23.0, SIDEWAYS, 0.0, ClosureKind.CONTACT, 8),
        (12.0, SIDEWAYS, 0.0, ClosureKind.PLAIN, 4),
    ],
)  # fmt: skip
def test_the_closure_is_that_of_what_acts_and_lies_among_its_rows(
    depth, source, cells, kind, rows
) -> None:
    """In a layer so many metres thick, spacing 10 m, a source so many cells deep."""
    document = layered(depth, 10.0, [200.0])
    given = document["sources"][0]
    if source:
        given = {"wavelet": given["wavelet"], **source}
    document["sources"] = [{**given, "position": {"x": 100.0, "z": 10.0 * cells}}]
    setup = discretize(from_dict(document))
    assert (setup.waves.surface, setup.closure.rows) == (kind, rows)


def test_under_water_the_closure_is_plain() -> None:
    document = layered(0.0, 10.0, [200.0])
    document["model"] = [{"type": "uniform", "vp": 1500.0, "vs": 0.0, "rho": 1000.0}]
    document["sources"][0] = {
        "type": "explosion", "moment": 1e9, "position": {"x": 100.0, "z": 50.0},
        "wavelet": document["sources"][0]["wavelet"],
    }  # fmt: skip
    assert discretize(from_dict(document)).waves.surface is ClosureKind.PLAIN


@pytest.mark.parametrize(("force", "bar"), [((1e6, 0.0), 0.015), ((0.0, 1e6), 0.006)])
def test_a_force_among_the_rows(force, bar) -> None:
    """Three cells deep, 6 points per shortest wavelength."""
    h, source, places = 10.0, (0.0, 30.0), [(50.0, 0.0), (120.0, 0.0), (200.0, 0.0)]
    document = layered(0.0, h, [])
    document["grid"] |= {"extent": {"x": 500.0, "z": 250.0}, "origin": {"x": -150.0, "z": 0.0}}
    document["time"] = {"duration": 0.45}
    document["model"] = [{"type": "uniform", **HARD}]
    document["sources"] = [{
        "type": "force", "position": dict(zip("xz", source, strict=True)),
        "force": dict(zip("xz", force, strict=True)),
        "wavelet": {"type": "ricker", "frequency": HARD["vs"] / (6.0 * 2.5 * h)},
    }]  # fmt: skip
    document["receivers"] = [solver.points(
        [dict(zip("xz", place, strict=True)) for place in places], quantities=["velocity"],
    )]  # fmt: skip
    errors = flat_layers.errors(solver.simulate(document), (HARD,), (0.0,), each=True)
    assert max(errors) < bar


SHALE = {"type": "uniform", "vp": 2400.0, "vs": 700.0, "rho": 2100.0, "epsilon": 0.35, "delta": 0.3}


@pytest.mark.parametrize("rock", [{"theta": 0.0}, {"gamma": 0.2, "theta": 35.0, "phi": 50.0}])
def test_motion_without_traction_is_differentiated_exactly(rock) -> None:
    """Velocities linear in x, y, z, on and below the surface of rock of c13 > c33, upright or not.

    Strains across the surface follow from those along it, C_NN e_N + C_NT e_T = 0, and the rows
    next to it take no part: what the scheme has there is no strain of the ground. Without the
    traction tilted rock had an ezz twice as large with h / 2; with the sign of a fluid, which c13 >
    c33 was taken for, exz on the surface was 1.3 times the largest strain.
    """
    setup = discretize(from_dict({
        "physics": "elastic", "time": {"duration": 0.05},
        "grid": {"extent": dict.fromkeys("xyz", 300.0), "spacing": 10.0, "order": 8},
        "boundaries": {"top": "free_surface"}, "model": [SHALE | rock],
        "sources": [{"type": "force", "force": {"z": 1.0}, "position": dict.fromkeys("xyz", 150.0),
                     "wavelet": {"type": "ricker", "frequency": 5.0}}],
    }))  # fmt: skip
    at = np.array([150.0])
    stiffness = elastic_constants.stiffness_of(setup.earth.sample(0.0 * at, at, at))[0]
    normal, along = [2, 3, 4], [0, 1, 5]
    e = np.zeros(6)
    e[along] = 1.0, -0.7, 0.4
    inverse = np.linalg.inv(stiffness[np.ix_(normal, normal)])
    e[normal] = -inverse @ stiffness[np.ix_(normal, along)] @ e[along]
    turning = np.array([[0.0, 0.3, -0.8], [-0.3, 0.0, 0.5], [0.8, -0.5, 0.0]])
    gradient = turning  # d_j v_i: turning and strain rates
    for number, (i, j) in enumerate(elastic_constants.PAIRS):
        for a, b in {(i, j), (j, i)}:
            gradient[a, b] += e[number] / (1.0 if i == j else 2.0)
    for z in (0.0, 1.0, 5.0, 13.0, 27.0, 60.0):
        for quantity in ("strain_rate", "rotation", "divergence"):
            for terms in setup.physics.observables[quantity].values():
                read = 0.0
                points = channel_points(setup.interpolation, terms, (152.0, 157.0, z))
                for name, some in points.items():
                    half = [0.5 * (a in setup.physics.named(name).half) for a in "xyz"]
                    position = [setup.grid.origin[a] + 10.0 * (some[a] + half[a]) for a in range(3)]
                    read += some.weights @ (gradient["xyz".index(name[1])] @ position)
                exact = sum(
                    t.factor * gradient["xyz".index(t.field[1]), "xyz".index(t.along)]
                    for t in terms
                )
                assert read == pytest.approx(exact, abs=1e-3)  # of the stencil

"""The medium of absorbing layers: rock as at the edge, and the mean of a column of beds."""

import numpy as np
import pytest

import seismo
import solver
from seismo.features.guided_waves.guides import STACK
from seismo.features.guided_waves.side_layers import (
    REACH,
    SPREAD,
    RunningMeans,
    in_side_layers,
    share_along,
)
from seismo.runs.prediction.accuracy import sent_back
from seismo.solver.medium.coefficients import medium_of


@pytest.mark.parametrize("depth", [470.0, pytest.param(477.0, marks=pytest.mark.slow)])
def test_no_layer_grows_below_a_contact_at_its_edge(depth) -> None:
    """One cell above the bottom: its average, 3.3 times as stiff to shear, filled the layer."""
    soft = {"vp": 1300.0, "vs": 480.0, "rho": 1800.0}
    layers = [{"top": 0.0, **soft}, {"top": depth, "vp": 5000.0, "vs": 2500.0, "rho": 2350.0}]
    document = solver.plan(
        "elastic", 2, cells=(10, 48), steps=None,
        grid={"extent": {"x": 100.0, "z": 480.0}, "spacing": 10.0, "order": 6},
        time={"duration": 2.0}, model=[{"type": "layers", "layers": layers}],
        boundaries=solver.faces(2) | {"layer": {"points": 12}},
        sources=[{"type": "force", "position": {"x": 50.0, "z": 300.0}, "force": {"z": 1.0},
                  "wavelet": {"type": "ricker", "frequency": 4.0}}],
        receivers=[solver.points([{"x": 50.0, "z": 50.0}])],
    )  # fmt: skip
    simulation = solver.build(document)
    simulation.advance(1000)
    before = np.abs(solver.wavefield(simulation)["vx"]).max()
    simulation.advance(1000)
    assert np.abs(solver.wavefield(simulation)["vx"]).max() < before


BEDS = [{"vp": 1700.0, "vs": 500.0, "rho": 1900.0}, {"vp": 3200.0, "vs": 1850.0, "rho": 2300.0}]


def beds(count: int = 15, cells: int = 4, **further: float) -> list[dict]:
    """Give beds of two rocks in turn, with so many cells of 10 m each."""
    layers = [{"top": 10.0 * cells * n, **BEDS[n % 2], **further} for n in range(count)]
    return [{"type": "layers", "layers": layers}]


def beside(model: list[dict], dimensions: int = 2, steps: int = 60, parts=None, **changes):
    """Build a run of a small box of beds under a free surface."""
    extent = dict.fromkeys("xyz"[: dimensions - 1] if dimensions == 3 else "x", 100.0)
    document = {
        "physics": "elastic",
        "grid": {"extent": extent | {"z": 300.0}, "spacing": 10.0, "order": 4},
        "time": {"duration": 1.0},
        "boundaries": {"top": "free_surface", "layer": {"points": 8}},
        "model": model,
        "sources": [{"type": "force", "force": {"x": 1e6, "z": 1e6},
                     "position": dict.fromkeys(extent, 50.0) | {"z": 120.0},
                     "wavelet": {"type": "ricker", "frequency": 8.0}}],
        "receivers": [solver.points([dict.fromkeys(extent, 30.0) | {"z": 0.0}])],
    } | changes  # fmt: skip
    simulation = solver.build(document, parts=parts)
    simulation.advance(steps)
    return simulation


BLOCK = {"type": "block", "x": [40.0, 60.0], "z": [0.0, 100.0], "vp": 2000.0, "vs": 900.0}
LOSS = {"qp": 60.0, "qs": 30.0}


@pytest.mark.parametrize(
    ("dimensions", "model", "parts"),
    [
        (2, beds(), (2, 1)),
        (2, [*beds(**LOSS), BLOCK], (3, 1)),
        pytest.param(3, beds(8), (2, 2), marks=pytest.mark.slow),
        pytest.param(3, [*beds(8, **LOSS), BLOCK], (2, 2), marks=pytest.mark.slow),
    ],
)
def test_means_are_those_of_one_grid_however_it_is_cut(dimensions, model, parts):
    whole, cut = (beside(model, dimensions, parts=p) for p in (None, parts))
    assert whole.discretization.field_damping.averaged
    for name, array in solver.wavefield(whole).items():
        np.testing.assert_array_equal(solver.wavefield(cut)[name], array, err_msg=name)


def test_layers_across_y_have_the_means_of_those_across_x():
    """In an earth that a block makes vary sideways; away from it both sides are alike."""
    simulation = beside([*beds(8), BLOCK], 3, steps=0)
    subdomain = simulation.solvers[0].subdomain
    medium = medium_of(simulation.discretization, subdomain)
    before = medium["c44"].copy()
    with_means, _ = in_side_layers(simulation.discretization, subdomain, medium)
    shear = with_means["c44"]
    first = simulation.discretization.halo  # y has its halo
    across_x, across_y = shear[:, first + 9, 0], shear[:, first, 9]
    np.testing.assert_array_equal(across_y, across_x)
    assert not np.array_equal(across_y, before[:, first, 9])
    np.testing.assert_array_equal(shear[:, first + 13, 8:19], before[:, first + 13, 8:19])


def in_turn(cells: tuple[int, int], ratio: float, jitter: float = 0.0) -> list[dict]:
    """Give 500 m of two rocks in turn of 10 m cells, of a ratio of moduli, with uneven depths."""
    draw = np.random.default_rng(1)
    rocks = [{"vp": 1800.0, "vs": 710.0, "rho": 1430.0}]
    rocks.append({"vp": 1870.0, "vs": 710.0 * (ratio * 1430.0 / 2250.0) ** 0.5, "rho": 2250.0})
    layers = []
    depth = 0.0
    while depth < 500.0:
        layers.append({"top": depth, **rocks[len(layers) % 2]})
        depth += 10.0 * cells[len(layers) % 2] * (1.0 + jitter * draw.uniform(-1.0, 1.0))
    return [{"type": "layers", "layers": layers}]


def test_a_trial_tells_stacks_from_other_beds():
    """Beds that are alike guide waves that grow; of unlike thickness they do not."""

    def damping(jitter: float):
        plan = solver.plan(
            "elastic", 2, steps=None, time={"duration": 1.0},
            grid={"extent": {"x": 100.0, "z": 500.0}, "spacing": 10.0, "order": 8},
            boundaries=solver.faces(2) | {"layer": {"points": 12}},
            model=in_turn((4, 4), 4.0, jitter),
            sources=[{"type": "force", "position": {"x": 53.0, "z": 220.0}, "force": {"x": 1.0},
                      "wavelet": {"type": "ricker", "frequency": 2.4}}],
            receivers=[solver.points([{"x": 50.0, "z": 100.0}])],
        )  # fmt: skip
        return solver.discretize(solver.from_dict(plan)).field_damping

    alike, unlike = damping(0.0), damping(0.9)
    assert min(alike.jump, unlike.jump) > STACK
    assert (alike.averaged, unlike.averaged) == (True, False)


def constants(vp: float, vs: float, rho: float) -> np.ndarray:
    """Return rho, c11, c13, c33 and c44 of isotropic rock."""
    p, mu = rho * vp**2, rho * vs**2
    return np.array([rho, p, p - 2.0 * mu, p, mu])


def test_means_of_many_thin_beds_are_those_of_backus():
    """Beds of a row each, half and half; c11 and c13 by Backus (1962, eq. 13)."""
    names = ("rho", "c11", "c13", "c33", "c44")
    rocks = np.array([constants(*rock.values()) for rock in BEDS])
    rows = rocks[np.arange(2 * REACH + 10) % 2]
    columns = {name: rows[:, n].reshape(-1, 1, 1) for n, name in enumerate(names)}
    means = RunningMeans(np.array([[0.0, 1.0]]))(columns)
    rho, c11, c13, c33, c44 = rocks.T
    harmonic = 1.0 / (1.0 / c33).mean()
    share = (c13 / c33).mean()
    wanted = {
        "rho": rho.mean(), "c33": harmonic, "c13": share * harmonic, "c44": 1 / (1 / c44).mean(),
        "c11": (c11 - c13**2 / c33).mean() + share**2 * harmonic,
    }  # fmt: skip
    # Rows of one rock have a share of 1/2 + exp(-(pi SPREAD)^2 / 2) / 2, and the ends of the sum.
    for name, value in wanted.items():
        assert means[name][5, 0, 1] == pytest.approx(value, rel=2.0 * np.exp(-4.5) / SPREAD)
        np.testing.assert_array_equal(
            means[name][:, 0, 0], columns[name][REACH:-REACH, 0, 0], err_msg=name
        )


def test_fluids_part_columns_and_keep_their_medium():
    """Rock above water does not take part in the means of that below it."""
    count = 2 * REACH + 12
    upper, lower = (constants(*rock.values()) for rock in BEDS)
    water = constants(1500.0, 0.0, 1000.0)
    row = np.arange(count)[:, None] - REACH
    rows = np.where(row < 4, upper, np.where(row < 6, water, lower))
    names = ("rho", "c11", "c13", "c33", "c44")
    columns = {name: rows[:, n].reshape(-1, 1, 1) for n, name in enumerate(names)}
    means = RunningMeans(np.ones((1, 1)))(columns)
    for n, name in enumerate(names):
        np.testing.assert_allclose(means[name][:, 0, 0], rows[REACH:-REACH, n], rtol=1e-12)


def test_the_mean_is_that_of_the_outer_part_of_side_layers():
    discretization = beside(beds(), steps=0).discretization
    share = share_along(discretization, "x", np.arange(discretization.grid.points[0]))
    assert share[0] == share[-1] == 1.0
    assert (np.diff(share[:9]) <= 0.0).all()
    assert not share[7:-7].any()


def test_a_run_of_fifteen_beds_is_told_what_layers_send_back():
    """`check` is within a factor of 3; perfectly matched layers let the error grow beyond 1."""

    def run(wider: float, **layer):
        further = {
            "grid": {"extent": {"x": 400.0 + 2.0 * wider, "z": 700.0 + wider},
                     "origin": {"x": -wider, "z": 0.0}, "spacing": 10.0, "order": 8},
            "boundaries": {"top": "free_surface", "layer": {"points": 12} | layer},
            "time": {"duration": 2.6},
            "sources": [{"type": "force", "position": {"x": 203.0, "z": 220.0},
                         "force": {"x": 1e6, "z": 1e6},
                         "wavelet": {"type": "ricker", "frequency": 2.222}}],
            "receivers": [solver.points([{"x": 100.0, "z": 0.0}, {"x": 320.0, "z": 180.0},
                                         {"x": 320.0, "z": 420.0}], quantities=["velocity"])],
        }  # fmt: skip
        simulation = beside(beds(), steps=1770, **further)
        return simulation.discretization, np.stack(list(solver.records(simulation).values()))

    (_, far), (discretization, near), (_, matched) = run(2000.0), run(0.0), run(0.0, damping=0.0)
    errors, grown = (
        np.sqrt(((one - far) ** 2).sum((0, 2)) / (far**2).sum((0, 2))).max()
        for one in (near, matched)
    )
    assert errors < 0.15
    assert grown > 1.0
    assert 0.5 < sent_back(discretization) / errors < 3.0


@pytest.mark.slow
@pytest.mark.parametrize("cells", [2, 3, 4, 6, 7])
@pytest.mark.parametrize("order", [4, 8, 16])
@pytest.mark.parametrize(("dimensions", "top"), [(2, "free_surface"), (2, "absorbing")])
def test_no_layer_grows_beside_beds_in_turn(cells, order, dimensions, top):
    """40,000 steps: a thousandth of the peak at most is left."""
    changes = {
        "grid": {"extent": {"x": 100.0, "z": 500.0}, "spacing": 10.0, "order": order},
        "boundaries": {"top": top, "layer": {"points": 12}}, "time": {"duration": 100.0},
        "sources": [{"type": "force", "position": {"x": 53.0, "z": 220.0}, "force": {"z": 1e6},
                     "wavelet": {"type": "ricker", "frequency": 2.0}}],
    }  # fmt: skip
    simulation = beside(beds(60 // cells, cells), dimensions, 2000, **changes)
    peak = np.abs(solver.wavefield(simulation)["vx"]).max()
    simulation.advance(38_000)
    assert np.abs(solver.wavefield(simulation)["vx"]).max() < 1e-3 * peak


@pytest.mark.usefixtures("no_remedies")
def test_check_says_that_side_layers_have_means():
    document = {
        "physics": "elastic", "grid": {"extent": {"x": 300.0, "z": 300.0}, "spacing": 10.0},
        "time": {"duration": 1.0}, "model": beds(),
        "sources": [{"type": "force", "position": {"x": 150.0, "z": 120.0}, "force": {"z": 1e6},
                     "wavelet": {"type": "ricker", "frequency": 8.0}}],
        "receivers": [solver.points([{"x": 50.0, "z": 0.0}])],
    }  # fmt: skip
    assert "side layers have the mean of beds" in str(seismo.check(document))
    document["model"] = beds(1)
    assert "side layers have the mean of beds" not in str(seismo.check(document))

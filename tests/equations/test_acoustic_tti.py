"""Acoustic waves in rock of tilted axis: exact solutions, limits, what layers do, long runs."""

import numpy as np
import pytest

import seismo
import solver
from seismo.equations.framework.registry import equation_for
from seismo.errors import ScenarioError
from seismo.exact.acoustic_vti import VtiRock
from seismo.exact.metrics import relative_l2
from seismo.grid import coefficients
from seismo.grid.grid import Grid
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.medium.coefficients import share_along
from seismo.solver.medium.cpml import profiles
from test_acoustic_vti import STRENGTH, VP, compared
from test_gpu_simulated import compare, planned
from test_solver_stability import growth

ELLIPTIC, SHALE = VtiRock(VP, 0.2, 0.2, 35.0), VtiRock(VP, 0.2, 0.1, 35.0)
ASLANT = VtiRock(VP, 0.2, 0.1, 50.0, 30.0)
# In wavelengths; slow waves of a length that the grid carries come later than any trace ends.
OFFSETS = {
    2: np.array([[1.7, 0.3], [0.0, 1.8], [1.4, 1.1]]),
    3: np.array([[0.1, 0.0, 0.9], [0.9, -0.1, -0.1]]),
}

MARGIN = 1.2  # wavelengths, beside them


def whole_space(rock: VtiRock, kind: str, dimensions: int, points: float = 10.0, **changes):
    name = "viscoacoustic_tti" if "quality" in changes else "acoustic_tti"
    return compared(
        name, rock, kind, OFFSETS[dimensions], points,
        0.38 if dimensions == 2 else 0.22, MARGIN, 10, **changes,
    )  # fmt: skip


@pytest.mark.parametrize("kind", STRENGTH)
def test_waves_in_a_plane_are_exact(kind) -> None:
    """At 10 points per shortest wavelength of qP, on ellipses: measured 9e-5."""
    found, wanted = whole_space(ELLIPTIC, kind, 2)
    assert max(map(relative_l2, found, wanted)) < 4e-4


@pytest.mark.parametrize(
    ("rock", "dimensions"), [(SHALE, 2), pytest.param(ASLANT, 3, marks=pytest.mark.slow)]
)
def test_waves_in_shale_are_exact(rock, dimensions) -> None:
    """At 10 points in 2-D, 6 in 3-D; measured 8e-4 and 8e-3; without broad sources 8e-2."""
    found, wanted = whole_space(rock, "pressure", dimensions, 10.0 if dimensions == 2 else 6.0)
    bar = 5e-3 if dimensions == 2 else 2e-2
    assert max(map(relative_l2, found, wanted)) < bar


@pytest.mark.parametrize(
    ("rock", "kind", "dimensions"),
    [(ELLIPTIC, "explosion", 2), (SHALE, "pressure", 2),
     pytest.param(ASLANT, "pressure", 3, marks=pytest.mark.slow)],
)  # fmt: skip
def test_waves_lose_what_their_modulus_says(rock, kind, dimensions) -> None:
    """With Q of 15; measured 1.1e-4 and 8e-4 in 2-D, 8.5e-3 in 3-D, as without loss."""
    points = 10.0 if dimensions == 2 else 6.0
    found, wanted = whole_space(rock, kind, dimensions, points, quality=15.0)
    assert max(map(relative_l2, found, wanted)) < {2: 5e-3, 3: 2e-2}[dimensions]


def test_errors_vanish_with_the_order() -> None:
    """Order 4, two grids."""
    grids, errors = (5.0, 8.0), []
    for points in grids:
        found, wanted = whole_space(ELLIPTIC, "pressure", 2, points, order=4)
        errors.append(relative_l2(found, wanted))
    assert -np.diff(np.log(errors))[0] / np.diff(np.log(grids))[0] > 3.7


def test_an_upright_axis_takes_the_equation_for_it() -> None:
    document = solver.plan("acoustic_tti", 2, cells=20)
    assert from_dict(document).equation.name == "acoustic_tti"
    document["model"][0] |= {"theta": 0.0, "phi": 0.0}
    assert from_dict(document).equation.name == "acoustic_vti"
    assert equation_for("acoustic", 2, ["theta"]).name == "acoustic_tti"
    assert equation_for("acoustic", 2, ["theta", "qp"]).name == "viscoacoustic_tti"


def test_check_says_that_contacts_make_slow_waves() -> None:
    document = solver.plan("acoustic_tti", 2, cells=40)
    rocks = [{"top": 0.0, "vp": VP, "epsilon": 0.1, "delta": 0.1, "theta": 30.0}]
    rocks.append({**rocks[0], "top": 100.0, "epsilon": 0.25})
    for shown in (True, False):
        document["model"] = [{"type": "layers", "layers": rocks}]
        said = [w for w in seismo.check(from_dict(document)).warnings if "slow waves, 0.3" in w]
        assert len(said) == shown
        if shown:
            assert "epsilon changes by 0.15 from one node to the next at z = 99 m: where" in said[0]
        rocks[1]["epsilon"] = 0.12


def test_epsilon_below_delta_is_refused_where_it_is() -> None:
    document = solver.plan("acoustic_tti", 2, cells=20)
    document["model"].append({"type": "block", "z": [90.0, 120.0], "x": [50.0, 80.0], "delta": 0.3})
    with pytest.raises(ScenarioError, match=r"model\[1\].delta: 0.3: epsilon is 0.2 and delta"):
        discretize(from_dict(document))


@pytest.mark.parametrize("order", [2, 8, 16])
@pytest.mark.parametrize("tolerance", coefficients.TOLERANCES)
def test_first_differences_leave_a_laplacian(order, tolerance) -> None:
    """Squared they are no larger than second ones for any wave, so that nothing grows."""
    k, m = np.linspace(1e-2, np.pi, 777), np.arange(1, order // 2 + 1)
    first = 2 * np.sin(np.outer(k, m)) @ coefficients.centred_first(order, tolerance)
    second = 2 * (1 - np.cos(np.outer(k, m))) @ coefficients.centred(order, tolerance)[1:]
    assert (first**2 <= second * (1 + 1e-9)).all()
    near = k < 0.3
    assert np.abs(first[near] / k[near] - 1.0).max() < {2: 2e-2, 8: 5e-3, 16: 2e-3}[order]


def test_an_axis_is_the_mean_of_axes_not_of_angles() -> None:
    """Of 80 and -80 degrees it is level; where a rock without an axis takes part, the other's."""
    layers = [
        {"top": 0.0, "vp": VP, "epsilon": 0.2, "delta": 0.1, "theta": 80.0, "phi": 0.0},
        {"top": 50.0, "vp": VP, "epsilon": 0.2, "delta": 0.1, "theta": -80.0},
        {"top": 100.0, "vp": 1500.0, "epsilon": 0.0, "delta": 0.0},
        {"top": 150.0, "vp": VP, "epsilon": 0.2, "delta": 0.1, "theta": 40.0, "phi": 90.0},
    ]
    model = [{"type": "layers", "layers": layers}]
    earth = discretize(from_dict(solver.plan("acoustic_tti", 2, cells=20, model=model))).earth
    z, names = np.array([20.0, 50.0, 150.0, 180.0]), ("axis_x", "axis_y", "axis_z")
    found = cell_average(earth, GridCells(z, None, np.array([0.0]), {"x": 10.0, "z": 10.0}), names)
    x, y, down = (np.abs(found[name][:, 0]) for name in names)
    sine, cosine = np.sin(np.radians([80.0, 40.0])), np.cos(np.radians([80.0, 40.0]))
    assert x == pytest.approx([sine[0], 1.0, 0.0, 0.0], abs=1e-4)
    assert y == pytest.approx([0.0, 0.0, sine[1], sine[1]], abs=1e-4)
    assert down == pytest.approx([cosine[0], 0.0, cosine[1], cosine[1]], abs=1e-4)


def test_layers_begin_with_a_collar_that_does_not_damp() -> None:
    discretization = discretize(from_dict(solver.plan("acoustic_tti", 2, cells=20)))
    grid, collar = discretization.grid, discretization.scenario.equation.beside_layers
    assert grid.low == (4 + collar.points, 0, 4 + collar.points)
    decay = profiles(discretization)[0]["x"][0]
    assert np.flatnonzero(decay)[[3, 4]].tolist() == [3, grid.points[0] - 4]
    share = share_along(grid, "x", np.arange(grid.points[0]))
    assert np.flatnonzero(share == 1.0)[4] == 4
    assert (share[grid.extent.lo[0] : grid.extent.hi[0]] == 0.0).all()
    free = Grid("xz", (9, 1, 9), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0, 0, 0), (0, 0, 0), 4)
    assert not share_along(free, "z", np.arange(-2, 11)).any()


@pytest.mark.parametrize(
    ("name", "dimensions", "case"),
    [pytest.param("acoustic_tti", 2, "mixed", marks=pytest.mark.slow),
     ("acoustic_tti", 2, "free_surface"), ("acoustic_tti", 3, "closed"),
     ("viscoacoustic_tti", 2, "free_surface"),
     pytest.param("viscoacoustic_tti", 2, "mixed", marks=pytest.mark.slow),
     pytest.param("viscoacoustic_tti", 3, "mixed", marks=pytest.mark.slow)],
)  # fmt: skip
def test_every_backend_gives_the_same(name, dimensions, case, tmp_path) -> None:
    """In a random medium."""
    compare(planned(name, dimensions, tmp_path, case), tmp_path)


# In a plane `test_solver_subdomains.py` tells it every day.
@pytest.mark.slow
def test_any_cut_gives_the_same(tmp_path) -> None:
    document = solver.plan("acoustic_tti", 3, cells=12, steps=12, random_medium=tmp_path)
    whole, cut = (
        solver.wavefield(solver.simulate(document, tmp_path, parts=p)) for p in ((1, 1), (2, 2))
    )
    assert solver.identical(cut, whole)


@pytest.mark.parametrize("top", ["absorbing", "free_surface"])
def test_nothing_grows_in_a_wild_medium(top, tmp_path) -> None:
    """Vp, epsilon, delta and the axis drawn anew at every node."""
    assert growth("acoustic_tti", 2, top, tmp_path, 3000) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("theta", [10.0, 45.0, 80.0])
def test_nothing_grows_in_100_000_steps(theta, tmp_path) -> None:
    """In shale that runs into the layers; slow waves that cannot leave beat by 4 %."""
    model = [{"type": "uniform", **SHALE._replace(theta=theta)._asdict()}]
    assert growth("acoustic_tti", 2, "absorbing", tmp_path, 100_000, model=model) < 1.2

"""Symmetry axes on the grids of files and arrays: interpolated as axes, not as two angles."""

from pathlib import Path

import numpy as np
import pytest

import solver
from seismo.equations.rock.elastic_constants import axis_of
from seismo.errors import ModelError, ScenarioError
from seismo.model.build import build_earth
from seismo.model.earth import Earth
from seismo.model.gridded import (
    Gridded,
    GridField,
    angles_at,
)
from seismo.scenario import from_dict
from seismo.scenario.model_parts import GradientPart
from seismo.solver.discretize import discretize


def grid(values, axes: str = "z", step: float = 10.0) -> GridField:
    array = np.asarray(values, float)
    return GridField(array, axes, (0.0,) * array.ndim, (step,) * array.ndim, 1.0, "a file")


def axis_at(grids: dict, z: float, x: float = 0.0, **angles: float) -> np.ndarray:
    """Give the axis at a place, upwards; `angles` are those that grids do not have."""
    read = angles_at(grids, np.array([[z]]), None, np.array([[x]]))
    whole = {"theta": 0.0, "phi": 0.0} | angles | {n: v.item() for n, v in read.items()}
    n = np.array(list(axis_of(**whole).values()))
    return n * np.sign(n[2] if abs(n[2]) > 1e-9 else n[0])


@pytest.mark.parametrize(
    ("ends", "middle"),
    [((89.0, -89.0), 90.0), ((-80.0, 80.0), 90.0), ((20.0, 40.0), 30.0), ((350.0, 10.0), 0.0),
     ((170.0, 30.0), 10.0), ((0.0, 0.0), 0.0), ((179.0, -179.0), 0.0)],
)  # fmt: skip
def test_tilts_go_the_shorter_way(ends, middle) -> None:
    found = axis_at({"theta": grid(ends)}, 5.0)
    wanted = np.array(list(axis_of(middle, 0.0).values()))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_azimuths_go_the_shorter_way() -> None:
    for phi, middle in (((350.0, 10.0), 0.0), ((170.0, -170.0), 180.0), ((-30.0, 60.0), 15.0)):
        found = axis_at({"phi": grid(phi)}, 5.0, theta=40.0)
        np.testing.assert_allclose(found, list(axis_of(40.0, middle).values()), atol=1e-12)


def test_both_angles_make_an_axis() -> None:
    """Half way it is the mean of both, as vectors; through the vertical, too, and in the plane."""
    for theta, phi in (((40.0, 50.0), (350.0, 10.0)), ((20.0, 20.0), (0.0, 180.0)),
                       ((80.0, 85.0), (10.0, 190.0)), ((30.0, -30.0), (20.0, 200.0))):  # fmt: skip
        found = axis_at({"theta": grid(theta), "phi": grid(phi)}, 5.0)
        n = np.array([list(axis_of(*pair).values()) for pair in zip(theta, phi, strict=True)])
        mean = n[0] + n[1] * np.sign(n[0] @ n[1])
        mean /= np.linalg.norm(mean) * np.sign(mean[2] if abs(mean[2]) > 1e-9 else mean[0])
        np.testing.assert_allclose(found, mean, atol=1e-9)


def test_on_points_and_beside_them() -> None:
    """At points of the file, axes are its own; phi varies along x, theta along z."""
    grids = {"theta": grid([10.0, 60.0, 160.0]), "phi": grid([0.0, 350.0, 300.0], "x")}
    for k, theta in enumerate((10.0, 60.0, 160.0)):
        for j, phi in enumerate((0.0, 350.0, 300.0)):
            n = np.array(list(axis_of(theta, phi).values()))
            found = axis_at(grids, 10.0 * k, 10.0 * j)
            np.testing.assert_allclose(found, n * np.sign(n[2]), atol=1e-12)


def test_parts_of_a_grid_are_as_the_whole() -> None:
    """To the bit, or the answer would depend on how a run is cut into subdomains."""
    generator = np.random.default_rng(1)
    grids = {
        n: grid(generator.uniform(-180.0, 180.0, (30, 20)), "zx", 7.3) for n in ("theta", "phi")
    }
    earth = Earth((Gridded(grids),), ("theta", "phi"))
    z, x = 3.1 * np.arange(60)[:, None], 2.7 * np.arange(40)[None]
    whole = earth.sample(z, None, x)
    for first in (0, 13, 37):
        part = earth.sample(z[first : first + 11], None, x)
        for name, samples in part.items():
            np.testing.assert_array_equal(samples, whole[name][first : first + 11])


@pytest.mark.parametrize("name", ["acoustic_tti", "elastic_tti"])
def test_rock_of_one_axis_written_in_many_ways_is_uniform(name) -> None:
    """Tilts of 35, -145 and 215 degrees, and azimuths of 0 and 180: traces as with one of them."""
    generator = np.random.default_rng(2)
    shape = (21, 21)
    theta, phi = 35.0 + 180.0 * generator.integers(-1, 2, shape), np.zeros(shape)
    away = generator.random(shape) < 0.5
    theta[away], phi[away] = -theta[away], 180.0
    runs = []
    for angles in ({"theta": 35.0, "phi": 0.0}, None):
        document = solver.plan(name, 2, cells=20, steps=40)
        document["model"][0] |= angles or {"theta": 0.0}
        if angles is None:
            document["model"].append({"type": "array", "theta": theta, "phi": phi})
        runs.append(solver.records(solver.simulate(document)))
    one, many = runs
    largest = max(np.abs(values).max() for values in one.values())
    for key, values in one.items():
        assert np.abs(many[key] - values).max() < 1e-6 * largest, key


def test_what_is_no_axis_is_refused() -> None:
    document = solver.plan("acoustic_tti", 2, cells=20)
    document["model"].append({"type": "array", "theta": np.zeros(21), "phi": np.zeros(11),
                              "axes": "z", "spacing": {"z": 20.0}})  # fmt: skip
    document["model"][-1]["phi"][3] = 20.0
    document["model"][-1]["theta"][3] = 20.0
    with pytest.raises(ScenarioError, match=r"model\[1\].phi: .*stands on other points than theta"):
        discretize(from_dict(document))
    part = {
        "type": "gradient",
        "vp": {"top": 2e3, "bottom": 2e3},
        "theta": {"top": 80.0, "bottom": -80.0},
    }
    with pytest.raises(ModelError, match=r"theta would turn by -160 deg .* 80 and 100 deg"):
        build_earth([GradientPart(**part)], Path(), ("theta",), ((0.0, 100.0), None, None))
    part["theta"] = {"top": 80.0, "bottom": 100.0}
    build_earth([GradientPart(**part)], Path(), ("theta",), ((0.0, 100.0), None, None))


def test_angles_of_two_parts_are_refused_where_both_vary() -> None:
    """Half way between two axes, each angle by itself is that of neither."""
    document = solver.plan("acoustic_tti", 3, cells=12)
    theta = {"type": "array", "theta": np.linspace(10.0, 80.0, 13), "axes": "z"}
    phi = {"type": "array", "phi": np.linspace(0.0, 170.0, 13), "axes": "z"}
    for parts in ([theta, phi], [phi, theta]):
        changed = document | {"model": [*document["model"], *parts]}
        with pytest.raises(ScenarioError, match=r"phi: .*varies in this part and theta in model\["):
            discretize(from_dict(changed))
    even = phi | {"phi": np.full(13, 20.0)}
    discretize(from_dict(document | {"model": [*document["model"], theta, even]}))

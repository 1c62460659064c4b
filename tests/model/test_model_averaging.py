"""Effective medium: the averages of Backus (1962) and Moczo et al. (2002), computed by hand."""

import tracemalloc
from pathlib import Path
from types import SimpleNamespace as Spec

import numpy as np
import pytest

from seismo.model.build import build_earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average

HERE = Path()
UPPER = {"vp": 2000.0, "vs": 1000.0, "rho": 2000.0}
LOWER = {"vp": 4000.0, "vs": 2400.0, "rho": 2600.0}
MILD = {"vp": 2500.0, "vs": 1300.0, "rho": 2300.0}
ALL = ("rho", "p_modulus", "vp", "vs")


def uniform(values):
    return Spec(type="uniform", **values)


def block(values, **faces):
    return Spec(type="block", **(dict.fromkeys(("x", "y", "z")) | faces), **values)


def mixture(share):
    """Return what a cell holds that has a share of LOWER in UPPER."""
    harmonic = {}
    for name, velocity in (("p_modulus", "vp"), ("shear_modulus", "vs")):
        upper = UPPER["rho"] * UPPER[velocity] ** 2
        lower = LOWER["rho"] * LOWER[velocity] ** 2
        harmonic[name] = 1.0 / ((1 - share) / upper + share / lower)
    rho = (1 - share) * UPPER["rho"] + share * LOWER["rho"]
    vp, vs = (np.sqrt(harmonic[name] / rho) for name in ("p_modulus", "shear_modulus"))
    return {"rho": rho, "p_modulus": harmonic["p_modulus"], "vp": vp, "vs": vs}


def average(earth, z, y, x, h=10.0, **keys):
    keys = {"parameters": ALL, "dtype": np.float64} | keys
    return cell_average(earth, GridCells(z, y, x, {"z": h, "y": h, "x": h}), **keys)


@pytest.mark.parametrize("depth", [40.0, 42.0, 45.0, 47.5])
@pytest.mark.parametrize("three", [False, True])
def test_a_flat_interface_is_as_sharp_as_the_grid_can(depth, three):
    """What varies with z only has the moments of the step itself, 0 to 3, wherever it lies.

    128 samples place it to within h / 256, which is the bar of the first moment; densities count
    on the nodes, and shear compliances between them.
    """
    earth = build_earth([uniform(UPPER), block(MILD, z=(depth, 1e9))], HERE)
    z, x = np.arange(0.0, 101.0, 10.0), np.arange(4) * 10.0
    found = average(earth, z, x[:3] if three else None, x, parameters=("rho", "c44", "c66"))
    shear = [m["rho"] * m["vs"] ** 2 for m in (UPPER, MILD)]
    for values, ends, nodes, variance in (
        (found["rho"], (UPPER["rho"], MILD["rho"]), z, 0.0),
        (1.0 / found["c44"], (1 / shear[0], 1 / shear[1]), None, 0.0),
        (found["c66"], shear, z, 1 / 12),  # that of the steps of a grid
    ):
        assert values.shape == ((11, 3, 4) if three else (11, 4))
        assert np.ptp(values.reshape(11, -1), axis=1).max() <= 1e-12 * values.max()
        column = values.reshape(11, -1)[:, 0]
        assert column[[0, 1]] == pytest.approx(ends[0], rel=1e-12)
        assert column[[8, 9, 10]] == pytest.approx(ends[1], rel=1e-12)
        if nodes is None:
            column, nodes = 0.5 * (column[1:] + column[:-1]), z[:-1] + 5.0
        steps = np.diff(column) / (ends[1] - ends[0])
        middles = (0.5 * (nodes[1:] + nodes[:-1]) - depth) / 10.0
        moments = [np.sum(steps * middles**n) for n in range(4)]
        assert moments == pytest.approx([1.0, 0.0, variance, 0.0], abs=5e-3)
        assert np.abs(np.diff(column)).sum() < 1.3 * abs(ends[1] - ends[0])


def test_a_strong_contrast_stays_possible():
    """No average falls below the least by more than its room: 5 %, between nodes 70, along 50.

    Means of two averages between nodes by 40 %: less was 3.3 times as stiff as the rock.
    """
    soft = {"vp": 1500.0, "vs": 150.0, "rho": 1500.0}
    hard = {"vp": 6500.0, "vs": 3700.0, "rho": 2900.0}
    for depth in np.arange(40.0, 50.0, 1.3):
        earth = build_earth([uniform(soft), block(hard, z=(depth, 1e9))], HERE)
        z, x = np.arange(0.0, 101.0, 10.0), np.zeros(1)
        names = ("rho", "c33", "c44", "c11", "c13", "c66")
        found = average(earth, z, None, x, parameters=names)
        modulus, shear = hard["rho"] * hard["vp"] ** 2, hard["rho"] * hard["vs"] ** 2
        assert found["c33"].max() <= modulus / 0.949
        assert found["c44"].max() <= shear / 0.299
        between = 2.0 / (1.0 / found["c44"][1:] + 1.0 / found["c44"][:-1])
        assert between.max() <= shear / 0.599
        assert found["c66"].min() >= 0.499 * soft["rho"] * soft["vs"] ** 2
        assert found["rho"].min() >= 0.949 * soft["rho"]
        plane = found["c11"] - found["c66"]  # the energy of every strain is positive
        assert np.all((plane > 0.0) & (plane * found["c33"] > found["c13"] ** 2))


def test_columns_do_not_depend_on_which_points_are_asked_for():
    """Subdomains ask for parts of the grid; their answers are the same to the last bit."""
    earth = build_earth([uniform(UPPER), block(LOWER, z=(47.0, 63.0))], HERE)
    z, x = np.arange(0.0, 121.0, 10.0), np.zeros(1)
    whole = average(earth, z, None, x, parameters=("rho", "c11", "c44"))
    for name, values in average(earth, z[4:7], None, x, parameters=tuple(whole)).items():
        assert np.array_equal(values, whole[name][4:7])


def test_the_quadrature_converges_to_the_average():
    earth = build_earth([uniform(UPPER), block(LOWER, z=(42.0, 1e9))], HERE)
    found = average(earth, np.array([40.0]), None, np.zeros(1), subsamples=10)
    for name, value in mixture(0.3).items():
        assert found[name][0, 0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_vertical_faces_and_corners(dimensions):
    # Flat faces are met to h / 2N of N lattice points (144 in 2-D, 101 in 3-D); at edges and
    # corners the lattice errs by about log(N)^2 / N; the contrast of moduli magnifies by up to 7.
    names = "zyx" if dimensions == 3 else "zx"
    faces = dict(zip(names, [(0.0, 42.5), (0.0, 52.5), (0.0, 62.5)], strict=False))
    earth = build_earth([uniform(UPPER), block(LOWER, **faces)], HERE)
    axis = np.arange(10.0, 91.0, 10.0)
    found = average(earth, axis, axis if dimensions == 3 else None, axis)
    along = [np.clip((faces[name][1] - axis + 5.0) / 10.0, 0.0, 1.0) for name in names]
    parts = np.meshgrid(*along, indexing="ij")
    share = np.prod(parts, 0)
    cut = np.sum([(part % 1) > 0 for part in parts], 0)  # faces that pass through the cell
    for name, values in found.items():
        error = np.abs(values / mixture(share)[name] - 1.0)
        assert np.max(error[cut == 0]) < 1e-12
        assert np.max(error[(cut == 1) & (share > 0)]) < 0.02
        assert np.max(error) < 0.12


def test_a_cell_with_fluid_carries_no_shear():
    wet = Spec(type="water", depth=43.0, vp=1500.0, rho=1000.0)
    for bodies in ([], [block(LOWER, x=(1e3, 2e3))]):
        earth = build_earth([uniform(UPPER), wet, *bodies], HERE)
        names = (*ALL, "mu_xy", "mu_yz")
        found = average(earth, np.array([30.0, 40.0, 50.0]), None, np.arange(3) * 10.0,
                        parameters=names)  # fmt: skip
        for name in ("mu_xy", "mu_yz"):
            assert np.all(found[name][:2] == 0.0)
            assert np.allclose(found[name][2], 2e9)
        assert np.all(found["vs"][:2] == 0.0)
        water, rock = 1000.0 * 1500.0**2, UPPER["rho"] * UPPER["vp"] ** 2
        expected = 1.0 / (0.8 / water + 0.2 / rock)
        assert np.allclose(found["p_modulus"][1], expected, rtol=2e-2)
        # No rule of mixing may give a negative bulk modulus.
        assert np.all(found["p_modulus"] >= 4.0 / 3.0 * found["mu_yz"])


def test_constant_density_averages_the_square_of_slowness():
    earth = build_earth([uniform(UPPER), block(LOWER, z=(42.0, 1e9))], HERE, ("vp",))
    found = average(earth, np.array([40.0]), None, np.zeros(1), parameters=("vp",), subsamples=10)
    expected = (0.7 / UPPER["vp"] ** 2 + 0.3 / LOWER["vp"] ** 2) ** -0.5
    assert found["vp"][0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dip", [7.0, 30.0, 45.0, 62.0, 90.0])
def test_a_dipping_contact_has_backus_stiffness_turned(dip):
    """C'_ijkl = R_ia R_jb R_kc R_ld C_abcd (Auld 1990, ch. 3) of what Backus (1962) has for layers.

    Where one or two of 144 lattice points count on the wrong side, they turn the contact by some
    2 degrees: 3 % of sin^2 of its dip, which the anisotropy of these two magnifies by up to 1.5.
    """
    sine, cosine = np.sin(np.radians(dip)), np.cos(np.radians(dip))
    ends = np.array([[-1e4, 0.0], [1e4, 0.0], [1e4, 1e4], [-1e4, 1e4]])
    corners = ends @ np.array([[cosine, sine], [-sine, cosine]])
    body = Spec(type="polygon", points=tuple(map(tuple, corners)), **LOWER)
    names = ("c11", "c13", "c33", "c44")
    earth = build_earth([uniform(UPPER), body], HERE)
    found = average(earth, np.zeros(1), None, np.zeros(1), parameters=names)
    flat = build_earth([uniform(UPPER), block(LOWER, z=(0.0, 1e9))], HERE)
    level = average(flat, np.zeros(1), None, np.zeros(1), parameters=names, subsamples=10)
    tensor = np.zeros((2, 2, 2, 2))  # x, z
    tensor[0, 0, 0, 0], tensor[1, 1, 1, 1] = level["c11"].item(), level["c33"].item()
    tensor[0, 0, 1, 1] = tensor[1, 1, 0, 0] = level["c13"].item()
    for place in ((0, 1, 0, 1), (0, 1, 1, 0), (1, 0, 0, 1), (1, 0, 1, 0)):
        tensor[place] = level["c44"].item()
    turn = np.array([[cosine, -sine], [sine, cosine]])
    tensor = np.einsum("ia,jb,kc,ld,abcd->ijkl", turn, turn, turn, turn, tensor)
    places = ((0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 0, 1))
    for name, place in zip(names, places, strict=True):
        assert found[name].item() == pytest.approx(tensor[place], rel=0.05), name


@pytest.mark.parametrize("dip", [0.0, 7.0, 30.0, 45.0, 62.0, 90.0])
def test_shear_moduli_add_up_along_a_contact_and_compliances_across(dip):
    """The diagonal of M = n n^T / <1 / mu> + (1 - n n^T) <mu> in a cell cut in half, as above."""
    sine, cosine = np.sin(np.radians(dip)), np.cos(np.radians(dip))
    ends = np.array([[-1e4, 0.0], [1e4, 0.0], [1e4, 1e4], [-1e4, 1e4]])
    corners = ends @ np.array([[cosine, sine], [-sine, cosine]])
    body = Spec(type="polygon", points=tuple(map(tuple, corners)), **LOWER)
    earth = build_earth([uniform(UPPER), body], HERE, ("vs", "rho"))
    found = average(earth, np.zeros(1), None, np.zeros(1), parameters=("mu_xy", "mu_yz"))
    mu = np.array([m["rho"] * m["vs"] ** 2 for m in (UPPER, LOWER)])
    along, across = mu.mean(), 1.0 / np.mean(1.0 / mu)
    assert found["mu_xy"].item() == pytest.approx(cosine**2 * along + sine**2 * across, rel=0.05)
    assert found["mu_yz"].item() == pytest.approx(sine**2 * along + cosine**2 * across, rel=0.05)


def test_where_fluid_and_solid_share_a_cell_that_dips_it_slips():
    """Pressure alone is common to both: all of c11, c13 and c33 are harmonic means."""
    bed = Spec(type="polygon", points=((-1e4, -3e3), (1e4, 3e3), (1e4, 1e4), (-1e4, 1e4)), **LOWER)
    water = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
    earth = build_earth([uniform(water), bed], HERE)
    names = ("c11", "c13", "c33", "p_modulus")
    found = average(earth, np.array([-2.0]), None, np.zeros(1), parameters=names)
    assert 1500.0**2 * 1e3 < found["c33"].item() < LOWER["rho"] * LOWER["vp"] ** 2
    for name in names:
        assert found[name].item() == pytest.approx(found["c33"].item(), rel=1e-12)


def test_a_sphere_has_its_volume():
    # The sum of the cells' shares is the volume of the ball, to the error of the lattice.
    lighter = UPPER | {"rho": 1000.0}
    ball = Spec(type="sphere", center=Spec(x=51.0, y=47.0, z=53.0), radius=27.3, **lighter)
    earth = build_earth([uniform(UPPER), ball], HERE)
    axis = np.arange(0.0, 101.0, 10.0)
    rho = average(earth, axis, axis, axis, parameters=("rho",))["rho"]
    volume = np.sum(UPPER["rho"] - rho) / 1000.0 * 1e3
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * 27.3**3, rel=5e-3)
    plain = average(earth, axis, axis, axis, parameters=("rho",), averaging="point")["rho"]
    assert set(np.unique(plain)) == {1000.0, 2000.0}


def test_the_lattice_and_a_tensor_grid_of_samples_agree():
    # Two quadratures of one integral: 144 lattice points against 40 x 40 midpoints.
    parts = [uniform(UPPER), block(LOWER, z=(13.0, 27.0), x=(31.0, 58.0))]
    z, x = np.arange(0.0, 41.0, 10.0), np.arange(0.0, 101.0, 10.0)
    lattice = average(build_earth(parts, HERE), z, None, x, parameters=("rho",))["rho"]
    tensor = average(build_earth(parts, HERE), z, None, x, parameters=("rho",), subsamples=40)[
        "rho"
    ]
    assert np.allclose(lattice, tensor, rtol=5e-3)
    assert not np.allclose(lattice, UPPER["rho"], rtol=5e-2)


def test_absorbing_layers_repeat_the_edge():
    clamp = ((0.0, 100.0), (0.0, 50.0), (0.0, 60.0))
    lower = block(LOWER, z=(97.0, 100.0), x=(57.0, 60.0), y=(0.0, 2.0))
    earth = build_earth([uniform(UPPER), lower], HERE, clamp=clamp)
    z, y, x = (np.arange(-30.0, n + 31.0, 10.0) for n in (100.0, 50.0, 60.0))
    for shift in (0.0, 5.0):
        found = average(earth, z + shift, y, x, dtype=np.float32)
        for values in found.values():
            inner = values[3:14, 3:9, 3:10]
            beyond = ((3, 3), (3, 3), (3, 3))
            if shift:
                inner, beyond = values[3:13, 3:9, 3:10], ((3, 3), (3, 3), (3, 3))
                assert np.array_equal(
                    values[14:], np.repeat(values[14:15], values.shape[0] - 14, 0)
                )
            else:
                assert np.array_equal(values, np.pad(inner, beyond, "edge"))
            assert values.dtype == np.float32


def test_a_gridded_earth_is_averaged_too(tmp_path: Path):
    # Cells of 40 m over a file of 10 m: the mean square slowness of its bilinear surface.
    rng = np.random.default_rng(5)
    np.save(tmp_path / "v.npy", rng.uniform(1500.0, 4000.0, (33, 33)))
    keys = dict.fromkeys(("format", "dataset", "shape", "axes"))
    at = {"spacing": Spec(x=10.0, z=10.0), "origin": Spec(x=0.0, z=0.0)}
    file = Spec(path="v.npy", units="m/s", **keys, **at)
    earth = build_earth([Spec(type="file", vp=file, vs=None, rho=None)], tmp_path, ("vp",))
    nodes = np.arange(40.0, 281.0, 40.0)
    found = average(earth, nodes, None, nodes, 40.0, parameters=("vp",), subsamples=16)["vp"]
    fine = np.arange(280) + 20.5
    square = earth.sample(fine[:, None], None, fine[None, :])["vp"] ** -2
    expected = square.reshape(7, 40, 7, 40).mean((1, 3)) ** -0.5
    assert np.allclose(found, expected, rtol=5e-3)  # 16 x 16 midpoints against 40 x 40


def test_memory_is_bounded_by_slabs():
    earth = build_earth([uniform(UPPER), block(LOWER, x=(0.0, 333.0), z=(0.0, 123.0))], HERE)
    axis = np.arange(0.0, 1000.0, 10.0)
    tracemalloc.start()
    found = average(earth, axis, axis, axis, parameters=("rho",), dtype=np.float32)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["rho"].nbytes == 4_000_000
    assert peak < 300e6

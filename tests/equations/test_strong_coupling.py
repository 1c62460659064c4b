"""Rocks that couple normal and shear strains beside others of up to 20,000 times their stiffness.

The discrete energy has to stay positive whatever lies beside what (`elastic.tti.weakened`).
"""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

import seismo
import solver
from seismo.equations.elastic import tti
from seismo.equations.rock.elastic_constants import named
from seismo.grid.coefficients import MIDPOINT, Stencil
from seismo.grid.interpolation import Midpoints
from seismo.grid.surface_closure import ClosureKind, surface_closure
from seismo.grid.surface_interpolation import midpoint_weights
from seismo.solver.medium.coefficients import averages_at, node_medium

CONTRASTS = (75.0, 1000.0, 20_000.0)
STRONG = {  # the coupling takes 0.97 of the shear energy
    "c11": 20e10, "c13": 6e10, "c33": 15e10, "c15": 3.588e10, "c35": 8.53e10, "c55": 5e10,
}  # fmt: skip


def two_rocks(shape: tuple[int, ...], contrast: float, coupling: float, seed: int = 0) -> dict:
    """Draw the constants of one rock, each node as it is or so many times softer."""
    generator = np.random.default_rng(seed)
    stiffness = np.where(generator.random(shape) < 0.5, 1.0 / contrast, 1.0)
    sign = np.sign(generator.standard_normal(shape))
    if len(shape) == 2:
        rock = dict(STRONG)
        share = dict.fromkeys(("c15", "c35"), coupling**0.5 * sign)
    else:
        names = [f"c{i}{j}" for i, j in combinations_with_replacement(range(1, 7), 2)]
        root = generator.standard_normal((6, 6))
        matrix = root @ root.T + 0.3 * np.eye(6)
        rock = {name: 1e10 * matrix[int(name[1]) - 1, int(name[2]) - 1] for name in names}
        share = {}
    return {name: value * stiffness * share.get(name, 1.0) for name, value in rock.items()}


def interpolation(count: int) -> np.ndarray:
    """Give P (nodes, half points) of a line that is periodic."""
    lines = [np.roll(np.eye(count), shift, 1) for shift in (-2, -1, 0, 1)]
    return sum(w * line for w, line in zip(np.array(MIDPOINT)[[1, 0, 0, 1]], lines, strict=True))


def released(medium: dict, lines: dict, norms: dict) -> float:
    """Give the largest share of the energy of shear stresses that coupling may set free.

    Args:
        medium: constants (z, y, x) of the nodes.
        lines: P by axis.
        norms: of nodes and of half points by axis.
    """
    axes = "".join(sorted(lines))
    order = [a for a in "zyx" if a in lines]
    shear = [a + b for a, b in combinations_with_replacement(axes, 2) if a != b]
    flat = {name: np.ravel(value) for name, value in medium.items()}
    size = flat["c11"].size

    def whole(by_axis: dict, plain: dict) -> np.ndarray:
        found = np.ones((1, 1))
        for a in order:
            found = np.kron(found, by_axis.get(a, plain[a]))
        return found

    plain = {a: np.eye(len(lines[a])) for a in order}
    # a_nI, b_IJ in units in which nodes hold 1 / c_I of each; strains e at their best.
    modulus = {pair: flat[named("c", pair, pair)] for pair in shear}
    normal = np.array([[flat[named("c", a, b)] for b in axes] for a in axes]).transpose(2, 0, 1)
    mixed = np.array([[flat[named("c", a, i)] / modulus[i] for i in shear] for a in axes])
    mixed = mixed.transpose(2, 0, 1)
    gain = np.swapaxes(mixed, 1, 2) @ np.linalg.solve(normal, mixed)
    for n, i in enumerate(shear):
        for m, j in enumerate(shear):
            if n != m:
                gain[:, n, m] -= flat[named("c", i, j)] / (modulus[i] * modulus[j])
    columns = []
    for i in shear:
        halves = whole({a: 0.5 * (plain[a] + np.roll(plain[a], -1, 0)) for a in i}, plain)
        halves = halves @ (1.0 / modulus[i])
        here = np.diag(whole({}, {a: np.diag(norms[a][0]) for a in order}))
        there = np.diag(whole({}, {a: np.diag(norms[a][1 if a in i else 0]) for a in order}))
        p = whole({a: lines[a] for a in i}, plain)
        columns.append(np.sqrt(here)[:, None] * p / np.sqrt(there * halves))
    total = np.zeros((len(shear) * size,) * 2)
    for n, left in enumerate(columns):
        for m, right in enumerate(columns):
            block = left.T @ (gain[:, n, m, None] * right)
            total[n * size : (n + 1) * size, m * size : (m + 1) * size] = block
    return float(np.linalg.eigvalsh(total)[-1])


@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize(
    ("dimensions", "coupling"), [(2, 0.1), (2, 0.3), (2, 1.0), pytest.param(3, 1.0)]
)
def test_no_motion_sets_energy_free(dimensions: int, coupling: float, contrast: float) -> None:
    """In a periodic box; as the rocks are, the share is more than 1 at 1 : 1000 and beyond."""
    count = 14 if dimensions == 2 else 6
    axes = solver.axes_of(dimensions)
    rocks = two_rocks((count,) * dimensions, contrast, coupling)
    around = {name: np.pad(value, tti.REACH, "wrap") for name, value in rocks.items()}
    along = {a: Midpoints(n) for n, a in enumerate(reversed(axes))}
    inner = (slice(tti.REACH, -tti.REACH),) * dimensions
    found = {name: value[inner] for name, value in tti.weakened(around, along).items()}
    lines = dict.fromkeys(axes, interpolation(count))
    norms = dict.fromkeys(axes, np.ones((2, count)))
    assert released(found, lines, norms) < 1.0
    if contrast >= 1000.0 and coupling > 0.1:
        assert released(rocks, lines, norms) > 1.0


@pytest.mark.parametrize("order", [4, 8, 12])
def test_no_motion_sets_energy_free_under_a_surface(order: int) -> None:
    closure = surface_closure(Stencil(order), ClosureKind.PLAIN, 0.0)
    to_half, to_node = midpoint_weights(closure)
    rows, width = to_half.shape
    count = {"z": width + 8, "x": 8}
    rocks = two_rocks((count["z"], count["x"]), 20_000.0, 0.4)
    wide = {name: np.pad(v, ((0, 0), (tti.REACH,) * 2), "wrap") for name, v in rocks.items()}
    along = {"z": Midpoints(0, 0, to_half, to_node), "x": Midpoints(1)}
    inner = (slice(None), slice(tti.REACH, -tti.REACH))
    found = {name: value[inner] for name, value in tti.weakened(wide, along).items()}
    down = interpolation(count["z"])
    down[:2, -2:] = down[-2:, :2] = 0.0
    down[:rows] = 0.0
    down[:rows, :width] = to_node
    norms = np.ones((2, count["z"]))
    norms[0, :rows], norms[1, :rows] = closure.node_norm, closure.half_norm
    lines = {"z": down, "x": interpolation(count["x"])}
    both = {"z": norms, "x": np.ones((2, count["x"]))}
    # Below the last nodes the medium goes on unseen: there nothing is coupled.
    for medium in (found, rocks):
        for name in ("c15", "c35"):
            medium[name][-4:] = 0.0
    assert released(found, lines, both) < 1.0
    assert released(rocks, lines, both) > 1.0


def test_rocks_of_usual_contrasts_keep_their_couplings() -> None:
    """Soft soil on rock: shear stiffness 1 : 100 for the strongest coupling of shales."""
    for coupling, contrast in ((0.1, 900.0), (0.3, 100.0), (1.0, 1.0)):
        shape = (30, 20)
        rocks = two_rocks(shape, 1.0, coupling)
        rocks = {
            n: np.where(np.arange(30)[:, None] < 14, v / contrast, v) for n, v in rocks.items()
        }
        share = tti.coupled_share(rocks, "xz")
        np.testing.assert_allclose(share, 0.97 * coupling, rtol=0.01)
        found = tti.weakened(rocks, {"z": Midpoints(0), "x": Midpoints(1)})
        for name, values in rocks.items():
            np.testing.assert_array_equal(found[name], values)


def test_planes_are_weakened_alike_however_many_at_a_time(monkeypatch) -> None:
    rocks = two_rocks((14, 14), 1000.0, 0.3)
    along = {"z": Midpoints(0), "x": Midpoints(1)}
    at_once = tti.weakened(rocks, along)
    monkeypatch.setattr(tti, "_SLAB", 3 * 14)
    for name, values in tti.weakened(rocks, along).items():
        np.testing.assert_array_equal(at_once[name], values)


def gridded(folder, dimensions: int, cells: int, top: str, **changes) -> dict:
    """Give a box of nodes of two rocks at random, each with an axis of its own."""
    document = solver.plan(
        "viscoelastic_tti" if changes.pop("q", False) else "elastic_tti", dimensions,
        random_medium=folder, cells=cells, steps=None, averaging="point",
        time={"duration": 0.7, "courant": 0.99, "dispersion_removal": False},
        boundaries=solver.faces(dimensions, "rigid", top=top), **changes,
    )  # fmt: skip
    theta = np.load(folder / "theta.npy")
    soft = np.random.default_rng(2).random(theta.shape) < 0.5
    for name, speed in (("vp", 15_000.0), ("vs", 7500.0)):
        np.save(folder / f"{name}.npy", speed * np.where(soft, 20_000.0**-0.5, 1.0))
    return document


@pytest.mark.parametrize("q", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("top", ["rigid", "free_surface"])
def test_nothing_grows_beside_rock_20000_times_as_stiff(top: str, q: bool, tmp_path) -> None:
    """Motion grew by 1e9 in 1000 steps; it is at the level of equal energies from step 100 on."""
    simulation = solver.build(gridded(tmp_path, 2, 20, top, q=q), tmp_path)
    solver.silence(simulation)
    solver.add_noise(simulation)
    levels = []
    for count in (200, *[1] * 20, 2000, *[1] * 20):
        simulation.advance(count)
        fields = solver.wavefield(simulation)
        levels.append(sum(np.sum(fields[f"v{a}"] ** 2) for a in "xz"))
    assert (0.0 if q else 0.4) < np.mean(levels[-20:]) / np.mean(levels[1:21]) < 2.0


@pytest.mark.parametrize(
    ("sides", "top"),
    [
        ("periodic", "rigid"),
        ("absorbing", "free_surface"),
        pytest.param("periodic", "free_surface", marks=pytest.mark.slow),
        pytest.param("absorbing", "rigid", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("dimensions", "parts"), [(2, (3, 1)), pytest.param(3, (2, 2), marks=pytest.mark.slow)]
)
def test_couplings_do_not_depend_on_cuts(
    dimensions: int, parts, top: str, sides: str, tmp_path
) -> None:
    document = gridded(tmp_path, dimensions, 44 if dimensions == 2 else 28, top)
    document["boundaries"] |= dict.fromkeys(("x_min", "x_max"), sides)
    if sides == "absorbing":
        document["boundaries"] |= {"bottom": sides, "layer": {"points": 12}}
    simulation = solver.build(document, tmp_path)
    whole = simulation.solvers[0].subdomain
    wanted = node_medium(simulation.discretization, whole)
    physics = replace(simulation.discretization.physics, weakened=None)
    given = node_medium(replace(simulation.discretization, physics=physics), whole)
    assert 0.0 < (wanted["c15"] != given["c15"]).mean() < 1.0
    for part in solver.build(document, tmp_path, parts=parts).solvers:
        found = node_medium(simulation.discretization, part.subdomain)
        inner, place = [], []
        for axis, n in zip("zy", (2, 1), strict=True):
            halo = part.subdomain.halo if axis in simulation.discretization.grid.axes else 0
            first, last = part.subdomain.owned.lo[n], part.subdomain.owned.hi[n]
            inner.append(slice(halo, halo + last - first))
            place.append(slice(first + halo, last + halo))
        for name in ("c15", "c35"):
            np.testing.assert_array_equal(found[name][tuple(inner)], wanted[name][tuple(place)])


@pytest.mark.parametrize("name", ["c15", "c35"])
def test_couplings_go_on_in_layers(name: str, tmp_path) -> None:
    """As the medium does, from the first node of a layer on; they varied over six nodes there."""
    document = gridded(tmp_path, 2, 44, "rigid")
    sides = dict.fromkeys(("x_min", "x_max", "bottom"), "absorbing")
    document["boundaries"] |= sides | {"layer": {"points": 12}}
    simulation = solver.build(document, tmp_path)
    whole = simulation.solvers[0].subdomain
    c = node_medium(simulation.discretization, whole)[name][: -whole.halo, 0]
    for layer, edge in (
        (c[:, :12], c[:, 11:12]), (c[:, -12:], c[:, -12:-11]), (c[-12:], c[-12:-11])
    ):  # fmt: skip
        np.testing.assert_array_equal(layer, np.broadcast_to(edge, layer.shape))
    assert (np.diff(c[:-12, 12:-12], axis=1) != 0.0).any()


@pytest.mark.usefixtures("no_remedies")
@pytest.mark.parametrize(("coupling", "said"), [(0.6, True), (0.05, False)])
def test_check_says_where_couplings_are_weakened(coupling: float, said: bool) -> None:
    """Beside rock four times as stiff: of six tenths of the shear energy 0.8 is left."""
    rock = {n: v * (coupling**0.5 if n in ("c15", "c35") else 1.0) for n, v in STRONG.items()}
    soft = {n: 0.25 * v for n, v in rock.items()}
    layers = [{"top": 0.0, "rho": 2200.0, **soft}, {"top": 131.0, "rho": 2200.0, **rock}]
    model = [{"type": "layers", "layers": layers}]
    time = {"duration": 0.1}
    text = str(seismo.check(solver.plan("elastic", 2, model=model, steps=None, time=time)))
    assert ("coupled by only 0." in text) == said


@pytest.mark.parametrize("place", [0.0, 0.5, 0.7])
def test_averages_of_layers_are_those_of_a_rock(place: float) -> None:
    """Beside rock 100 times as stiff entries limited one by one had c33 = -610 GPa, and grew."""
    rock = {n: v * (0.31**0.5 if n in ("c15", "c35") else 1.0) for n, v in STRONG.items()}
    soft = {n: 0.01 * v for n, v in rock.items()}
    top = solver.SPACING["z"] * (14 + place)
    layers = [{"top": 0.0, "rho": 2200.0, **soft}, {"top": top, "rho": 2200.0, **rock}]
    model = [{"type": "layers", "layers": layers}]
    time = {"duration": 0.5, "courant": 0.99, "dispersion_removal": False}
    document = solver.plan("elastic", 2, model=model, steps=None, time=time,
                           boundaries=solver.faces(2, "rigid"))  # fmt: skip
    simulation = solver.build(document)
    depths = {"z": np.arange(8, 22), "x": np.arange(1)}
    medium = averages_at(simulation.discretization, depths)
    rows = [["c11", "c13", "c15"], ["c13", "c33", "c35"], ["c15", "c35", "c55"]]
    stiffness = np.array([[medium[n].ravel() for n in row] for row in rows]).transpose(2, 0, 1)
    size = np.linalg.eigvalsh(stiffness)
    assert size.min() > 0.9 * np.linalg.eigvalsh(stiffness[0]).min()
    assert size.max() < 1.2 * np.linalg.eigvalsh(stiffness[-1]).max()
    levels = solver.levels_of_noise(simulation, (*[1] * 20, 300))
    assert levels[-1] < 5.0 * np.mean(levels[:20])

"""Contacts of fluid and solid: the energy they conserve, and waves against the exact solution."""

import numpy as np
import pytest

import flat_layers
import solver
from seismo.backends.cpu.backend import CpuBackend
from seismo.equations.elastic.isotropic import FLUID_Q
from seismo.exact.medium import Medium
from seismo.features.contacts.operators import contact_mass
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

WATER, ICE = (1500.0, 0.0, 1000.0), (3600.0, 1800.0, 920.0)
HARD, SOFT = (3400.0, 1963.0, 2500.0), (1800.0, 500.0, 1800.0)
DZ = solver.SPACING["z"]


def layers(*rows) -> list[dict]:
    """Give a model of (top in cells, (vp, vs, rho)) downwards."""
    found = [dict(zip(("top", "vp", "vs", "rho"), (t * DZ, *m), strict=True)) for t, m in rows]
    return [{"type": "layers", "layers": found}]


SEA_BEDS = {
    "on_a_node": layers((0.0, WATER), (14.0, HARD)),
    "below_it": layers((0.0, WATER), (14.3, HARD)),
    "half_way": layers((0.0, WATER), (14.5, SOFT)),
    "above_it": layers((0.0, WATER), (14.8, SOFT)),
    "under_ice": layers((0.0, ICE), (8.4, WATER), (17.7, HARD)),
}


def closed_box(dimensions: int, model: list, order: int, courant: float = 0.9):
    """Build a box that no wave leaves, with random motion in it."""
    named = {"top": "rigid", "bottom": "rigid"}
    document = solver.plan(
        "elastic", dimensions, model=model, order=order,
        cells=(12, 28) if dimensions == 2 else (12, 10, 28),
        boundaries=solver.faces(dimensions, "periodic", **named),
    )  # fmt: skip
    document["receivers"], document["sources"] = [], document["sources"][:1]  # that never acts
    simulation = solver.build(document, courant=courant)
    part, generator = simulation.solvers[0], np.random.default_rng(3)
    simulation.load([])
    simulation.total_steps = 10**9
    for axis in simulation.discretization.physics.axes:
        view = part.subdomain.inside(part.fields.arrays(0)[f"v{axis}"])
        view[:] = generator.standard_normal(view.shape)
    for fill in part.images[0]["velocity"]:
        fill()
    return simulation


def columns(simulation) -> dict[str, np.ndarray]:
    """Give weights of rows and stiffnesses (z, 1, 1) from the theory of the module."""
    discretization, part = simulation.discretization, simulation.solvers[0]
    dt, names = simulation.dt, ["rho"]
    names += [c for stage in discretization.physics.stages for c in stage.coefficients]
    (_, oy, oz), halo, (nx, ny, nz) = (
        part.subdomain.offset, part.subdomain.halo, part.subdomain.owned.shape
    )  # fmt: skip
    owned = np.s_[oz : oz + nz, oy : oy + ny, halo : halo + nx]
    found = {
        n: solver.coefficient(simulation, n)[owned].astype(float) for n in dict.fromkeys(names)
    }
    rho, c33, c13 = found["rho"] * dt, found["c33"] / dt, found["c13"] / dt
    q = found["q"] * dt
    mu = np.where(q < 0.1 * FLUID_Q * dt, 1 / q, 0.0)
    stretch = c13 / c33
    plate = np.where(mu > 0, found["c11"] / dt - stretch * c13, 0.0)
    weight, density = np.ones_like(rho), 0.5 * (rho + np.roll(rho, -1, 0))
    across, shear = np.ones_like(rho), 0.5 * (q + np.roll(q, -1, 0))
    for contact in discretization.slips.corrected:
        if contact.closed:
            rows = contact.operators(discretization.stencil.first)
            nodes = slice(rows.first, rows.first + len(rows.node_norm))
            halves = slice(rows.first, rows.first + len(rows.half_norm))
            weight[nodes] = across[nodes] = rows.node_norm[:, None, None]
            density[halves] *= rows.half_norm[:, None, None]
            shear[halves] *= rows.half_norm[:, None, None]
            density[contact.half] = contact_mass(rows, lambda row: rho[row])
            continue
        for row, part_of_cell in contact.strain.items():
            weight[row] = (row != contact.row) + part_of_cell
        density[contact.half] = contact.density
    return {
        "rho": rho, "weight": weight, "density": density, "c33": c33, "stretch": stretch,
        "plate": plate, "mu": mu, "shear": shear, "across": across,
    }  # fmt: skip


def energy(c: dict, v: dict, later: dict, s: dict) -> float:
    """Give v(t - dt/2) . M v(t + dt/2) + s(t) . C^-1 s(t), which leapfrog keeps if C M does."""
    face = np.ones_like(c["rho"])
    face[[0, -1]] = 0.5  # rows on rigid faces
    inner = slice(0, -1)  # half rows; the last one is an image
    total = np.sum((c["density"] * v["vz"] * later["vz"])[inner])
    solid, safe = c["mu"] > 0, lambda a: np.where(a > 0, a, 1.0)
    sides = [a for a in "xy" if f"v{a}" in v]
    for a in sides:
        total += np.sum(face * c["weight"] * c["rho"] * v[f"v{a}"] * later[f"v{a}"])
        total += np.sum((c["shear"] * s[f"s{a}z"] ** 2)[inner])
    total += np.sum(face * c["across"] * s["szz"] ** 2 / c["c33"])
    thin = [s[f"s{a}{a}"] - c["stretch"] * s["szz"] for a in sides]
    if len(sides) == 1:
        strained = thin[0] ** 2 / safe(c["plate"])
    else:
        strained = (thin[0] + thin[1]) ** 2 / safe(4 * (c["plate"] - c["mu"]))
        strained += (thin[0] - thin[1]) ** 2 / safe(4 * c["mu"]) + s["sxy"] ** 2 / safe(c["mu"])
    return float(total + np.sum((face * c["weight"] * strained)[solid]))


# Every bed with two of the orders, in the plane or in space.
BEDS = [
    pytest.param(bed, *kind, marks=[pytest.mark.slow] * ((n + k) % 3 == 0))
    for n, bed in enumerate(SEA_BEDS) for k, kind in enumerate(((2, 2), (2, 8), (3, 4)))
]  # fmt: skip


@pytest.mark.parametrize(("bed", "dimensions", "order"), BEDS)
def test_energy_is_conserved(bed: str, dimensions: int, order: int) -> None:
    """The corrected differences are negative adjoints: only rounding changes the energy."""
    simulation = closed_box(dimensions, SEA_BEDS[bed], order)
    assert len(simulation.discretization.slips.corrected) == (2 if bed == "under_ice" else 1)
    c, found = columns(simulation), []
    for _ in range(60):
        before = solver.wavefield(simulation)
        simulation.advance(1)
        after = solver.wavefield(simulation)
        found.append(energy(c, before, after, before))
    assert np.ptp(found) < 1e-12 * found[0]


MUD = (1520.0, 150.0, 1300.0)
STABLE = SEA_BEDS | {
    "mud_on_a_node": layers((0.0, WATER), (14.0, MUD)),  # its row has half a cell of mass
    "a_bed_between_nodes": layers((0.0, SOFT), (14.2, HARD), (14.8, SOFT)),
    "half_a_cell_from_a_node": layers((0.0, SOFT), (14.4, HARD)),
}


@pytest.mark.parametrize(
    ("sheet", "bottom", "kept"), [(WATER, 16.97, 0), (WATER, 17.97, 2), (HARD, 16.97, 2)]
)
def test_contacts_that_share_rows_are_left_to_the_averages(sheet, bottom, kept) -> None:
    """Two rows of fluid belong to both contacts, and what each adds to them can grow without end.

    (By 1e10 in 2500 steps of a closed box, at any time step.) One row of solid is enough for each.
    """
    other = HARD if sheet == WATER else WATER
    model = layers((0.0, other), (14.88, sheet), (bottom, other))
    document = solver.plan("elastic", 2, model=model, order=4, cells=(12, 28),
                           boundaries=solver.faces(2, "rigid"))  # fmt: skip
    assert len(discretize(from_dict(document)).slips.corrected) == kept


@pytest.mark.parametrize("model", STABLE)
def test_the_limit_is_stable(model: str) -> None:
    """In a closed box nothing damps an unstable mode; 1e-15 that grows by 1 % a step would show.

    A bed on a node is as fast as the limit allows: what moves at it would add up to 400 and more.
    """
    simulation = closed_box(2, STABLE[model], 8, courant=1.0)
    largest = []
    for _ in range(4):
        simulation.advance(1250)
        largest.append(max(np.abs(simulation.field(n)).max() for n in ("vx", "vz")))
    assert max(largest) < 50.0


@pytest.mark.slow
def test_long_run_with_layers_and_free_surface() -> None:
    """After the source the layers only take energy; a fluid keeps eddies but no pressure."""
    document = solver.plan(
        "elastic", 2, model=layers((0.0, WATER), (16.3, SOFT)), order=8, cells=(30, 34),
        boundaries=solver.faces(2, top="free_surface"), precision="float32", steps=8000,
    )  # fmt: skip
    document["sources"] = [s for s in document["sources"] if s["type"] == "explosion"]
    document["sources"][0]["position"]["z"] = 6 * DZ  # in the water: rock would keep its strain
    simulation = solver.build(document)
    assert len(simulation.discretization.slips.corrected) == 1
    simulation.advance(30)
    early = np.abs(simulation.field("szz")).max()
    simulation.advance(7970)
    # 3 % is left in the water between surface and sea bed, as much as without the corrections.
    assert np.abs(simulation.field("szz")).max() < 0.1 * early


@pytest.mark.parametrize(
    ("dimensions", "order", "parts"),
    [
        (2, 8, (2, 1)),
        (2, 8, (3, 1)),
        (2, 2, (2, 1)),
        pytest.param(3, 4, (2, 2), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("depth", solver.slow_but({12.8, 14.2}, [12.8, 13.5, 13.8, 14.2, 15.1]))
def test_the_cut_does_not_show(
    dimensions: int, order: int, parts: tuple[int, int], depth: float
) -> None:
    """Cuts next to the contact and through it: every bit the same, layers included.

    Its rows reach two rows up and down, further than differences of order 2.
    """
    cells = (20, 27) if dimensions == 2 else (14, 14, 27)
    document = solver.plan(
        "elastic", dimensions, model=layers((0.0, WATER), (depth, HARD)), cells=cells, steps=24,
        order=order,
    )  # fmt: skip
    document["sources"] = [s for s in document["sources"] if s["type"] == "explosion"]
    whole, cut = solver.simulate(document), solver.simulate(document, parts=parts)
    assert whole.discretization.slips.corrected
    assert solver.identical(solver.wavefield(cut), solver.wavefield(whole))
    assert solver.identical(solver.records(cut), solver.records(whole))


@pytest.mark.parametrize("parts", [(2, 1), (3, 1)])
def test_shots_on_a_thread_each_keep_their_rows(parts: tuple[int, int], monkeypatch) -> None:
    """A thread takes a shot at a time between two halos: rows below a cut are of that shot, too."""
    monkeypatch.setattr(CpuBackend, "threads", 1)
    document = solver.plan(
        "elastic", 2, model=layers((0.0, WATER), (20.8, HARD)), cells=(20, 40), steps=60, order=4
    )
    (source,) = (s for s in document["sources"] if s["type"] == "explosion")
    there = source["position"]
    shots = [{"position": there | {"x": there["x"] + dx}} for dx in (0.0, 30.0)]
    document |= {"sources": [source], "survey": {"shots": shots, "batch": 2}}
    whole, cut = solver.simulate(document), solver.simulate(document, parts=parts)
    for shot in range(2):
        assert solver.identical(solver.records(cut, shot), solver.records(whole, shot))


def test_three_dimensions_treat_x_and_y_alike() -> None:
    """A box as wide in y as in x, its motion mirrored in the diagonal."""
    document = solver.plan(
        "elastic", 3, model=SEA_BEDS["below_it"], order=4, cells=(10, 10, 28),
        boundaries=solver.faces(3, "absorbing"),
    )  # fmt: skip
    document["grid"]["spacing"]["y"] = document["grid"]["spacing"]["x"]
    document["grid"]["extent"]["y"] = document["grid"]["extent"]["x"]
    simulation = solver.build(document)
    part = simulation.solvers[0]
    simulation.load([])
    view = part.subdomain.inside(part.fields.arrays(0)["vx"])
    view[:] = np.random.default_rng(5).standard_normal(view.shape)
    other = part.subdomain.inside(part.fields.arrays(0)["vy"])
    other[:] = view.swapaxes(2, 3)
    simulation.advance(50)
    fields = solver.wavefield(simulation)
    pairs = (("vx", "vy"), ("sxx", "syy"), ("sxz", "syz"), ("vz", "vz"), ("szz", "szz"))
    for one, two in pairs:
        mirrored = fields[two].swapaxes(1, 2)
        assert np.allclose(fields[one], mirrored, rtol=0, atol=1e-11 * np.abs(mirrored).max())


# Relative L2 of vx and vz at 10 points per shortest wavelength, order 8. Measured: 0.5 to 1.1 % on
# the hard sea bed, 0.03 to 0.23 % on the soft one; the plain averages of the cells give 5 to 52 %
# and 0.4 to 11 %. The bars are 1.5 times the largest.
BARS = {"hard": (HARD, 0.0085), "soft": (SOFT, 0.005)}


@pytest.mark.parametrize(
    ("bed", "fraction"),
    [
        ("hard", 0.75), ("soft", 0.25),
        pytest.param("hard", 0.0, marks=pytest.mark.slow),
        pytest.param("hard", 0.5, marks=pytest.mark.slow),
        pytest.param("soft", 0.75, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_sea_bed_anywhere_between_rows(bed: str, fraction: float) -> None:
    """An explosion 30 cells above it, against the wavenumber integrals of the exact solution."""
    rock, bar = BARS[bed]
    h, bottom = 12.0, 100.0 + fraction
    slow = min(v for v in (WATER[0], rock[1]))
    f0 = slow / (2.5 * h * 10)
    source, reads = (30.0 * h, 70.0 * h), [(60.0 * h, (100 + k) * h) for k in (-12, 5, 25)]
    names = ("top", "vp", "vs", "rho")
    media = [dict(zip(names, m, strict=True)) for m in ((0.0, *WATER), (bottom * h, *rock))]
    document = {
        "physics": "elastic",
        "precision": "float64",
        "grid": {"extent": {"x": 160 * h, "z": 160 * h}, "spacing": h, "order": 8},
        "time": {"duration": 96 * h / slow + 3 / f0, "dispersion_removal": True},
        "boundaries": {"layer": {"points": 30}},
        "model": [{"type": "layers", "layers": media}],
        "sources": [{
            "type": "explosion", "position": {"x": source[0], "z": source[1]},
            "wavelet": {"type": "ricker", "frequency": f0}, "time_function": "moment",
        }],
        "receivers": [solver.points(
            [{"x": source[0] + x, "z": z} for x, z in reads], quantities=["velocity"]
        )],
    }  # fmt: skip
    layers = (Medium(*WATER), Medium(*rock)), (bottom * h,)
    assert max(flat_layers.errors(solver.simulate(document), *layers)) < bar

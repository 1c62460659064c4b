"""Sources and receivers beside contacts of two solids, or of two fluids, that lie flat."""

from typing import get_args

import numpy as np
import pytest

import flat_layers
import solver
from seismo.equations.framework.registry import physics_for
from seismo.exact import metrics
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.interpolation.channels import channel_points
from seismo.solver.interpolation.layer_contacts import SlopeKind

H, CONTACT, EARLY = 10.0, 300.0, 290.0  # m
SOFT = {"vp": 1200.0, "vs": 600.0, "rho": 1900.0}
ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
LIGHT = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
HEAVY = {"vp": 2500.0, "vs": 0.0, "rho": 2200.0}
SOLIDS, FLUIDS = (SOFT, ROCK), (LIGHT, HEAVY)
FAR = np.array([(120.0, 180.0), (250.0, 200.0), (150.0, 450.0)])


def layers(media, first: float = 0.0, contact: float = CONTACT) -> list[dict]:
    tops = zip((first, contact), media, strict=True)
    return [{"type": "layers", "layers": [{"top": top, **medium} for top, medium in tops]}]


def document(media, kind: dict, source, places, quantities=("velocity",)) -> dict:
    """Put a source among two layers; 10 points in the shortest wavelength."""
    slowest = media[0]["vs"] or media[0]["vp"]
    wavelet = {"type": "ricker", "frequency": slowest / (25.0 * H)}
    return {
        "physics": "elastic",
        "precision": "float64",
        "grid": {"extent": {"x": 850.0, "z": 750.0}, "origin": {"x": -300.0, "z": -100.0},
                 "spacing": H, "order": 8},
        "time": {"duration": 1000.0 / slowest},
        "model": layers(media, -100.0),
        "sources": [{**kind, "position": dict(zip("xz", source, strict=True)), "wavelet": wavelet}],
        "receivers": [solver.points([dict(zip("xz", p, strict=True)) for p in places],
                                    quantities=list(quantities))],
    }  # fmt: skip


def moment(**components: float) -> dict:
    given = {"xx": 0.0, "xz": 0.0, "zz": 0.0} | {n: 1e12 * m for n, m in components.items()}
    return {"type": "moment_tensor", "components": given}


BLAST, SHEAR, DROP = {"type": "explosion", "moment": 1e12}, moment(xz=1.0), moment(zz=1.0)
PUSH, SIDEWAYS = ({"type": "force", "force": {a: 1e9}} for a in "zx")


@pytest.mark.parametrize(
    ("media", "kind", "cells", "bar"),
    [
        (SOLIDS, SHEAR, 0.01, 0.03),  # 4.6 with one pair of weights for both media
        pytest.param(SOLIDS, SHEAR, 0.5, 0.07, marks=pytest.mark.slow),  # 1.8
        (SOLIDS, SHEAR, 2.0, 0.01),  # 0.29
        (SOLIDS, DROP, -0.3, 0.02),  # 0.27
        pytest.param(SOLIDS, DROP, 0.5, 0.04, marks=pytest.mark.slow),  # 1.6
        pytest.param(SOLIDS, moment(xx=1.0), -0.5, 0.04, marks=pytest.mark.slow),
        (SOLIDS, BLAST, -0.01, 0.01),  # 1.0
        (SOLIDS, PUSH, 0.01, 0.02),  # 0.085
        pytest.param(SOLIDS, SIDEWAYS, 0.01, 0.06, marks=pytest.mark.slow),  # 0.16
        (FLUIDS, BLAST, 0.01, 0.02),  # 0.97
        pytest.param(FLUIDS, BLAST, -1.0, 0.02, marks=pytest.mark.slow),
        (FLUIDS, PUSH, 0.01, 0.04),
    ],
)
def test_a_source_beside_a_contact_is_of_its_own_side(media, kind, cells, bar) -> None:
    source = (0.0, CONTACT + cells * H)
    simulation = solver.simulate(document(media, kind, source, FAR))
    assert max(flat_layers.errors(simulation, media, (CONTACT,), cut=1e-4)) < bar


@pytest.mark.parametrize("media", [SOLIDS, FLUIDS])
def test_receivers_beside_a_contact_read_their_own_side(media) -> None:
    """Velocities, strains and stresses, of waves from below; some jump across the contact."""
    source, step = (0.0, 450.0), 0.5
    places = [(150.0, CONTACT + H * cells) for cells in (-2.0, -0.4, -0.01, 0.3, 0.5)]
    wet = media is FLUIDS
    quantities = ("velocity", "stress", "divergence", "pressure")
    quantities += () if wet else ("rotation",)
    simulation = solver.simulate(document(media, BLAST, source, places, quantities))

    def true(quantity: str, shift: float = 0.0) -> np.ndarray:
        moved = [(x + shift, z) for x, z in places]
        how = {"places": np.array(moved), "cut": 1e-4}
        exact = flat_layers.exact(simulation, media, (CONTACT,), quantity, **how)
        return exact.transpose(1, 0, 2)

    def along(quantity: str) -> np.ndarray:
        return (true(quantity, step) - true(quantity, -step)) / (2 * step)

    under = np.array([z > CONTACT for _, z in places])
    rho, vp, vs = (np.where(under, media[1][n], media[0][n])[:, None] for n in ("rho", "vp", "vs"))
    mu, c33 = rho * vs**2, rho * vp**2
    c13 = c33 - 2 * mu
    (vx, vz), (sxz, szz), rates = true("velocity"), true("stress"), true("stress_rate")
    exx, vx_x = along("displacement")[0], along("velocity")[0]
    sxx = szz if wet else c13 / c33 * szz + (c33 - c13**2 / c33) * exx
    wanted = {"vx": vx, "vz": vz, "sxx": sxx, "szz": szz, "pressure": -0.5 * (sxx + szz)}
    wanted["divergence"] = (rates[1] + (0.0 if wet else 2 * mu * vx_x)) / c33
    if not wet:
        wanted |= {"sxz": sxz, "rotation_y": 0.5 * rates[0] / mu - along("velocity")[1]}
    found = solver.traces(simulation)
    for name, traces in wanted.items():
        errors = [metrics.relative_l2(a, b) for a, b in zip(found[name], traces, strict=True)]
        assert max(errors) < 0.025, name


def test_averages_beside_a_sea_bed_displace_no_reading() -> None:
    """Two points under a contact that lies four under a sea bed, whose averages are cell means.

    They do not add up to the media's; rows beyond the contact are read as they are (13 % without).
    """
    media = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}, SOFT, ROCK
    source, places = (0.0, CONTACT + 2 * H), FAR[:1]
    given = document(SOLIDS, SIDEWAYS, source, places)
    tops = zip((-100.0, CONTACT - 4 * H, CONTACT), media, strict=True)
    given["model"][0]["layers"] = [{"top": top, **medium} for top, medium in tops]
    simulation = solver.simulate(given)
    depths = (CONTACT - 4 * H, CONTACT)
    assert max(flat_layers.errors(simulation, media, depths, cut=1e-4)) < 0.05


LAYERED = {"vp": 2000.0, "vs": 1200.0, "rho": 2200.0}, {"vp": 4000.0, "vs": 2300.0, "rho": 2800.0}


def between(name: str, dimensions: int, **changes) -> dict:
    """Plan a run with a contact 0.4 cells under a row, near its middle."""
    media = [dict(medium) for medium in LAYERED]
    if name == "acoustic":
        [medium.pop("rho") for medium in media]
    if not physics_for(name, dimensions).needs.count("vs"):
        [medium.pop("vs") for medium in media]
    model = layers(media, contact=11.4 * solver.SPACING["z"])
    cells = (30, 24) if dimensions == 2 else (24, 18, 24)
    return solver.plan(name, dimensions, cells=cells, model=model, **changes)


@pytest.mark.parametrize(
    ("name", "dimensions", "z"),
    [
        pytest.param(name, d, z, marks=[pytest.mark.slow] * ((d == 3) and (z != 11.7)))
        for name, d in (("elastic", 2), ("elastic", 3), ("acoustic_variable_density", 2))
        for z in (10.2, 11.4, 11.7, 13.3)
    ],
)
def test_a_blast_is_the_transpose_of_divergence(name: str, dimensions: int, z: float) -> None:
    """As `test_explosion_and_divergence_change_places`, beside a contact."""
    physics = physics_for(name, dimensions)
    low, far = ((8.3, 7.6, z), (17.4, 11.2, 16.8))
    low, far = (solver.place(dimensions, p if dimensions == 3 else p[::2]) for p in (low, far))

    def answer(source: dict, at: dict, quantity: str) -> tuple[dict, float]:
        receivers = [solver.points([at], quantities=[quantity])]
        run = solver.simulate(between(name, dimensions, sources=[source], receivers=receivers,
                                      steps=50))  # fmt: skip
        return {k.split(".")[1]: r[0] for k, r in solver.records(run).items()}, run.dt

    for axis in physics.axes:
        push = solver.source(physics, "force", far, force={axis: 1.0})
        divergence, dt = answer(push, low, "divergence")
        blast = solver.source(physics, "explosion", low) | {"delay": dt / 2}
        velocity, _ = answer(blast, far, "velocity")
        change = np.diff(velocity[f"v{axis}"]) / dt
        scale = np.abs(divergence["divergence"]).max()
        assert np.abs(change - divergence["divergence"][:-1]).max() < 1e-10 * scale


@pytest.mark.parametrize(("name", "dimensions"), solver.slow_in_space("elastic"))
def test_any_decomposition_gives_the_same_bits(name: str, dimensions: int) -> None:
    """Sources on either side of a cut, whose points lie on both, beside a contact."""
    spots = [
        solver.place(dimensions, (9.3, 8.3, z) if dimensions == 3 else (9.3, z))
        for z in (11.1, 11.9, 12.6, 13.4)
    ]
    physics = physics_for(name, dimensions)
    kinds = zip(physics.drives, spots, strict=False)
    changes = {
        "sources": [solver.source(physics, kind, spot) for kind, spot in kinds],
        "receivers": [solver.points(spots, quantities=solver.quantities(physics))],
        "steps": 30,
    }  # fmt: skip
    given = between(name, dimensions, **changes)
    whole, cut = (solver.records(solver.simulate(given, parts=p)) for p in ((1, 1), (2, 1)))
    assert solver.identical(cut, whole)


WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}


def reading(media, tops, surface: bool = False, **changes):
    """Return what reads in an earth of media with their tops in m, from a grid that begins at 0."""
    given = document(SOLIDS, BLAST, (0.0, 690.0), FAR) | changes
    given["grid"] = given["grid"] | {"extent": {"x": 850.0, "z": 750.0}, "origin": {"x": -300.0}}
    if surface:
        given["boundaries"] = solver.faces(2, top="free_surface")
    stacked = [{"top": top, **medium} for top, medium in zip(tops, media, strict=True)]
    given["model"] = [{"type": "layers", "layers": stacked}]
    discretization = discretize(from_dict(given))
    return discretization, discretization.interpolation


@pytest.mark.parametrize("rock", [332.0, 345.0])
def test_a_node_on_a_sea_bed_is_read_from_the_solid_alone(rock: float) -> None:
    """With another contact beside it; water was read there, with weights of 3."""
    discretization, interpolation = reading((WATER, SOFT, ROCK), (0.0, CONTACT, rock))
    points = interpolation.reading(discretization.physics.named("vx"), (0.0, 0.0, CONTACT))["vx"]
    assert points.z.min() >= discretization.grid.index("z", CONTACT)
    assert np.abs(points.weights).sum() < 2.0


@pytest.mark.parametrize("name", ["rotation", "stress", "divergence"])
@pytest.mark.parametrize(
    ("media", "tops", "surface"),
    [((LIGHT, HEAVY), (0.0, 60.0), True), ((WATER, SOFT, ROCK), (0.0, 20.0, 51.0), True)],
)
def test_weights_among_layers_are_finite(name, media, tops, surface) -> None:
    """In fluids, and where fluid and solid meet near other contacts."""
    discretization, interpolation = reading(media, tops, surface)
    for z in np.arange(5.0, 100.0, 7.5):
        for terms in discretization.physics.observables[name].values():
            for points in channel_points(interpolation, terms, (0.0, 0.0, z)).values():
                assert np.isfinite(points.weights).all()


def test_a_place_on_a_contact_is_of_the_medium_below_however_it_rounds() -> None:
    for k in range(1, 40):
        depth = 0.3 * k
        discretization, interpolation = reading(SOLIDS, (0.0, 240.0 + depth))
        place = float(discretization.grid.index("z", 240.0 + depth))
        found = float(interpolation.layers.at(place)["c33"][0])
        assert found == pytest.approx(ROCK["rho"] * ROCK["vp"] ** 2, rel=1e-6), depth


def test_away_from_contacts_nothing_changes() -> None:
    discretization = discretize(from_dict(document(SOLIDS, BLAST, (0.0, EARLY), FAR)))
    interpolation = discretization.interpolation
    for z in (CONTACT - 9.3 * H, CONTACT + 9.3 * H):
        assert interpolation.strains((0.0, 0.0, z)) is None
        for field in discretization.physics.fields:
            place = float(discretization.grid.index("z", z))
            for kind in get_args(SlopeKind):
                assert interpolation.layers.weights(kind, "z" in field.half, place) is None
    assert interpolation.strains((0.0, 0.0, CONTACT - 3 * H)) is not None


def test_weights_read_the_kink_that_the_grid_has() -> None:
    """Of vx that one shear stress strains: differences of it are the compliances between nodes."""
    discretization = discretize(from_dict(document(SOLIDS, BLAST, (0.0, EARLY), FAR)))
    rows, middle = discretization.interpolation.layers, int(discretization.grid.index("z", CONTACT))
    count = 30
    nodes = np.arange(-count, count + 1)
    first = 24 + middle - count  # `Layers.rows` begins 24 rows above the grid
    yielding = 1.0 / rows.rows(float(middle))["c44"][first:][: nodes.size]
    between = 0.5 * (yielding[1:] + yielding[:-1])[3:-3]
    difference = np.zeros((between.size, nodes.size))
    for m, c in enumerate(discretization.stencil.first):
        for n in range(between.size):
            difference[n, n + 4 + m] += c
            difference[n, n + 3 - m] -= c

    def true(z):
        return np.where(z < 0.0, yielding[0], yielding[-1]) * z

    motion, ends = true(nodes), np.r_[0:12, nodes.size - 12 : nodes.size]
    known = np.eye(nodes.size)[ends]
    motion = np.linalg.lstsq(np.vstack([difference, known]), np.append(between, motion[ends]))[0]
    jump, count_read = yielding[0] - yielding[-1], 0
    for cells in np.arange(-3.0, 3.01, 0.25):
        index, weights = rows.weights("along", False, middle + cells) or ([middle], [0.0])
        if len(index) > 1:
            read = weights @ motion[index - middle + count]
            assert abs(read - true(cells)) < 0.01 * jump
            assert abs(weights @ (index - middle) ** 3.0 - cells**3) < 1e-11
            count_read += 1
    assert count_read > 15
    plain = np.array([0.0, 0.0, 0.0, 1.0])
    assert abs(plain @ motion[count - 3 : count + 1]) > 0.15 * jump  # a node on the contact

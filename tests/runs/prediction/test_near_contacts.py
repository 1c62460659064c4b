"""What `check` says of sources and receivers beside contacts, against runs and exact solutions."""

import numpy as np
import pytest

import flat_layers
import solver
from seismo.features.contacts.checks import thin_solid_lines, thin_solids
from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.prediction.contacts.near_contacts import (
    near_contacts,
    near_receivers,
    near_sources,
)
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.interpolation.layer_contacts import layers_of
from seismo.solver.interpolation.point_weights import PointInterpolation

H, CONTACT = 10.0, 300.0  # m
SOFT = {"vp": 1200.0, "vs": 600.0, "rho": 1900.0}
ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
PLACES = np.array([(200.0, 150.0), (400.0, 150.0)])
MOMENT, FORCE = {"xz": 1e12}, {"x": 1e9}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}


def document(kind: str, cells: float, places=PLACES, upper=SOFT) -> dict:
    """Put a source so many cells below a contact; 10 points in the shortest wavelength."""
    strength = {"components": MOMENT} if kind == "moment_tensor" else {"force": FORCE}
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 900.0, "z": 600.0}, "origin": {"x": -300.0, "z": 0.0},
                 "spacing": H},
        "time": {"duration": 1.5},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": [{"top": 0.0, **upper}, {"top": CONTACT, **ROCK}]}],
        "sources": [{"type": kind, "position": {"x": 0.0, "z": CONTACT + cells * H}, **strength,
                     "wavelet": {"type": "ricker", "frequency": 2.4}}],
        "receivers": [solver.points([dict(zip("xz", p, strict=True)) for p in places],
                                    quantities=["velocity"])],
    }  # fmt: skip


def told(given: dict) -> list[str]:
    discretization = discretize(from_dict(given))
    return list(near_contacts(near_sources(discretization), near_receivers(discretization)))


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        pytest.param("moment_tensor", 0.3, marks=pytest.mark.slow),
        pytest.param("moment_tensor", 1.0, marks=pytest.mark.slow),
        ("force", 0.3),
    ],
)
def test_a_source_beside_a_contact_errs_as_told(kind: str, cells: float) -> None:
    simulation = solver.simulate(document(kind, cells))
    found = flat_layers.errors(simulation, (SOFT, ROCK), (0.0, CONTACT), each=True)
    expected = expected_error(simulation.discretization)
    assert expected.causes[0][0] == "sources beside contacts"
    assert max(found) / 3.0 < expected.causes[0][1] or expected.causes[0][1] == 1.0
    assert expected.causes[0][1] < 4.0 * max(found)
    assert near_sources(simulation.discretization)[0].error == expected.causes[0][1]


@pytest.mark.slow
def test_an_explosion_on_the_softer_side_errs_little() -> None:
    """Told to a factor of 4, as of other sources; it is 20 times as much by the law of r - 1."""
    given = document("force", -0.4)
    position, wavelet = (given["sources"][0][name] for name in ("position", "wavelet"))
    given["sources"] = [
        {"type": "explosion", "moment": 1e12, "position": position, "wavelet": wavelet}
    ]
    given["time"]["duration"] = 1.0
    simulation = solver.simulate(given)
    found = max(flat_layers.errors(simulation, (SOFT, ROCK), (0.0, CONTACT)))
    assert found / 3.0 < expected_error(simulation.discretization).error < 4.0 * found


@pytest.mark.parametrize(
    ("upper", "cells", "z", "lines"),
    [
        (SOFT, 6.0, 150.0, 0),
        (SOFT, 1.0, 150.0, 1),
        (SOFT, 2.0, 150.0, 0),
        (SOFT, 6.0, 292.0, 1),
        (SOFT, 6.0, 320.0, 0),
        (ROCK, 0.0, 300.0, 0),  # no contact
        (WATER, 0.5, 299.0, 0),  # whose rows are of their own side
    ],
)
def test_sources_and_receivers_beside_contacts_are_told(upper, cells, z, lines) -> None:
    given = document("moment_tensor", cells, [(200.0, z)], upper)
    given["receivers"][0]["quantities"] = ["strain" if upper is SOFT else "velocity"]
    assert len(told(given)) == lines


def test_contacts_beside_a_source_are_seen_in_any_earth() -> None:
    """A block whose side stands two points beside the source."""
    given = document("moment_tensor", 6.0)
    given["model"].append({"type": "block", "x": [20.0, 90.0], "z": [310.0, 500.0], **SOFT})
    (line,) = told(given)
    assert "a contact of media lies 1.9 points away" in line


def on_thin_soil(cells: float, receivers=((120.0, 150.0),), depth=100.0) -> dict:
    """Put soil of so many cells between water and rock, and an explosion in the water."""
    given = document("force", 0.0, receivers)
    bed = {"top": 303.0, **SOFT}, {"top": 303.0 + cells * H, **ROCK}
    given["model"] = [{"type": "layers", "layers": [{"top": 0.0, **WATER}, *bed]}]
    given["sources"] = [{"type": "explosion", "moment": 1e12, "position": {"x": 0.0, "z": depth},
                         "wavelet": {"type": "ricker", "frequency": 2.4}}]  # fmt: skip
    given["boundaries"] = {"top": "absorbing"}
    return given


def test_rows_of_the_fluid_are_not_read_among_layers_of_the_solid() -> None:
    """Nodes of rock 2.7 cells from water, whose weights among layers reach over soil and bed."""
    discretization = discretize(from_dict(on_thin_soil(2.5)))
    (contact,) = discretization.slips.corrected
    first = discretization.stencil.first
    layers = layers_of(
        discretization.physics,
        discretization.earth,
        discretization.grid,
        "effective",
        first,
        discretization.slips.corrected,
    )
    interpolation = PointInterpolation(
        discretization.grid,
        discretization.physics,
        None,
        False,
        discretization.stencil,
        layers=layers,
        rules=discretization.interpolation.rules,
    )
    for field in discretization.physics.fields:
        for depth in (330.0, 335.0):
            _, _, rows, weights = interpolation.weights(field, (0.0, 0.0, depth))
            assert rows[weights != 0.0].min() >= contact.half + ("z" not in field.half)


def test_a_receiver_on_a_row_under_thin_soil_reads_its_own_side() -> None:
    """2.7 cells from water: 60 % where the row of the water is read."""
    place = np.array([(150.0, 330.0)])
    given = on_thin_soil(2.5, place)
    simulation = solver.simulate(given)
    (error,) = flat_layers.errors(simulation, (WATER, SOFT, ROCK), (303.0, 328.0))
    assert error < 0.1
    assert error / 3.0 < expected_error(simulation.discretization).error < 3.0 * error


def test_divergence_in_a_layer_of_two_cells_is_told() -> None:
    """Found: 80 to 700 % in 1.5 cells, velocity 4 to 6."""
    given = on_thin_soil(1.5, [(150.0, 306.0)])
    for quantity, error in (("velocity", 0.049), ("divergence", 0.795)):
        given["receivers"][0]["quantities"] = [quantity]
        (thin,) = thin_solids(discretize(from_dict(given)))
        assert thin.error == pytest.approx(error, rel=0.03)


@pytest.mark.parametrize(
    ("cells", "depth", "error"),
    [(1.5, 306.0, 0.795), (2.5, 320.0, 0.147), (2.5, 500.0, 0.049), (5.0, 320.0, 0.147),
     (6.0, 320.0, 0.0), (2.5, 100.0, 0.0)],  # in the water, as the receivers
)  # fmt: skip
def test_thin_solids_on_fluids_are_told(cells: float, depth: float, error: float) -> None:
    """Found: 4 to 19 % (60 to 430 of moments in 1.5 cells), 3 to 9 deeper, 1 from six cells on."""
    discretization = discretize(from_dict(on_thin_soil(cells, depth=depth)))
    lines = list(thin_solid_lines(discretization))
    assert len(lines) == (error > 0.0)
    assert dict(expected_error(discretization).causes)["thin solids on fluids"] == pytest.approx(
        error, rel=0.03
    )
    if lines:
        assert f"{cells:g} cells of solid between the fluid at z = 303 m" in lines[0]
        assert f"grid.spacing of {H * cells / 6:.3g} m" in lines[0]


@pytest.mark.parametrize(
    ("quantity", "found"), [("velocity", 0.019), ("divergence", 0.062), ("stress", 0.063)]
)
def test_receivers_beside_contacts_count(quantity: str, found: float) -> None:
    """To 40 % of what is found on the contact."""
    given = document("moment_tensor", 6.0, [(200.0, CONTACT)])
    far = solver.points([{"x": 200.0, "z": 100.0}], quantities=[quantity])
    given["receivers"][0].update(quantities=[quantity], name="on")
    given["receivers"].append({**far, "name": "far"})
    expected = expected_error(discretize(from_dict(given)))
    assert 0.6 < dict(expected.causes)["receivers beside contacts"] / found < 1.4
    sets = dict(expected.sets)
    assert sets["far"] < 0.7 * found < sets["on"]


def beside_a_contact(model: list[dict], **source) -> dict:
    """Put a source of acoustic waves four tenths of a cell under a contact of unlike velocities."""
    given = document("force", 0.4)
    given["sources"][0] = {k: v for k, v in given["sources"][0].items() if k != "force"} | source
    return given | {"physics": "acoustic", "boundaries": {}, "model": model,
                    "receivers": [solver.points([{"x": 200.0, "z": 150.0}])]}  # fmt: skip


@pytest.mark.parametrize(("kind", "errs"), [("explosion", True), ("pressure", False)])
def test_an_acoustic_source_beside_a_contact_that_dips_is_told(kind: str, errs: bool) -> None:
    """The same contact as a layer's is the reference: a moment there errs by 330 %."""
    fast = {"vp": 3600.0}
    flat = [{"type": "layers", "layers": [{"top": 0.0, "vp": 1200.0}, {"top": CONTACT, **fast}]}]
    below = {"type": "interface", "points": [[-1e4, CONTACT - 0.1], [1e4, CONTACT + 0.1]]}
    dips = [{"type": "uniform", "vp": 1200.0}, below | fast]
    wanted, found = (
        solver.traces(solver.simulate(beside_a_contact(model, type=kind)))["pressure"]
        for model in (flat, dips)
    )
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    discretization = discretize(from_dict(beside_a_contact(dips, type=kind)))
    expected = dict(expected_error(discretization).causes)["sources beside contacts"]
    lines = list(near_contacts(near_sources(discretization), near_receivers(discretization)))
    assert len(lines) == errs
    assert (error > 0.5) == errs
    assert min(error, 1.0) < 3.0 * expected or not errs


FIRM = {**SOFT, "vp": 1600.0, "vs": 800.0}


BELOW, ABOVE = (0.1, 0.4, 1.1), (-0.6, -0.2)  # cells below the contact, soft rock above it


@pytest.mark.parametrize(
    ("rock", "quantity", "cells"),
    [(ROCK, "rotation", BELOW + ABOVE), (ROCK, "stress", BELOW + ABOVE), (FIRM, "strain", BELOW),
     (ROCK, "stress", ABOVE), (ROCK, "strain", ABOVE), (FIRM, "strain", ABOVE)],
)  # fmt: skip
def test_strains_beside_a_contact_that_dips_err_as_told(
    rock: dict, quantity: str, cells: tuple[float, ...]
) -> None:
    """Read as in one medium, which among layers they are not: those are the reference."""
    places = [(200.0, CONTACT + below * H) for below in cells]
    given = document("force", -14.0, places)
    given["receivers"][0]["quantities"] = [quantity]
    given["boundaries"] = {}
    given["time"]["duration"] = 1.0
    given["model"][0]["layers"][1] = {"top": CONTACT, **rock}
    contact = {"type": "interface", "points": [[-1e4, CONTACT - 0.1], [1e4, CONTACT + 0.1]]}
    dips = given | {"model": [{"type": "uniform", **SOFT}, contact | rock]}
    wanted, found = (solver.traces(solver.simulate(each)) for each in (given, dips))
    squares = [
        sum(np.square(a).sum(1) for a in arrays)
        for arrays in ([found[name] - wanted[name] for name in wanted], wanted.values())
    ]
    error = float(np.sqrt(squares[0] / squares[1]).max())
    discretization = discretize(from_dict(dips))
    assert len(told(dips)) == 1
    assert error / 3.0 < min(1.0, near_receivers(discretization)[0].error) < 4.0 * error


@pytest.mark.parametrize(("cells", "found"), [(-0.6, 0.2), (-0.2, 0.38), (0.4, 2.6)])
def test_moments_err_less_on_the_softer_side_of_a_contact_that_dips(cells, found) -> None:
    """By 1 - 1 / r in place of r - 1; found beside one of a ratio of moduli of 9.7."""
    contact = {"type": "interface", "points": [[-1e4, CONTACT - 0.1], [1e4, CONTACT + 0.1]]}
    given = document("moment_tensor", cells) | {"boundaries": {}}
    given["model"] = [{"type": "uniform", **SOFT}, contact | ROCK]
    assert near_sources(discretize(from_dict(given)))[0].error == pytest.approx(found, rel=0.3)


@pytest.mark.parametrize(("kind", "cells"), [("explosion", 0.4), ("force", -14.0)])
def test_tilted_rock_is_read_and_acted_on_as_where_the_earth_varies_sideways(kind, cells) -> None:
    """Its layers are not read by what is continuous: 60 % found, of the same with h / 4."""
    tilted = {"epsilon": 0.1, "delta": 0.05, "theta": 30.0}
    given = document("force", cells, [(200.0, CONTACT + 2.0)])
    given["receivers"][0]["quantities"] = ["rotation"]
    if kind == "explosion":
        given["sources"][0] = {k: v for k, v in given["sources"][0].items() if k != "force"}
        given["sources"][0]["type"] = kind
    for layer in given["model"][0]["layers"]:
        layer |= tilted
    discretization = discretize(from_dict(given))
    assert discretization.interpolation.layers is None
    beside = near_receivers(discretization) if kind == "force" else near_sources(discretization)
    assert beside[0].error > 1.0


def test_every_receiver_of_a_line_is_looked_at() -> None:
    """One of 159 stands on the side of a body, the others five cells or more away from it."""
    places = [(-250.0 + 50.0 * n, 300.0) for n in range(159)]
    given = document("force", -14.0, places)
    given["grid"]["extent"]["x"] = 9000.0
    given["receivers"][0]["quantities"] = ["rotation"]
    body = {"type": "block", "x": [places[31][0], 1e5], **ROCK}
    given["model"] = [{"type": "uniform", **SOFT}, body]
    affected = near_receivers(discretize(from_dict(given)))[0].affected
    assert affected == "1 of 159 (R0031 at x = 1300, z = 300 m)"


def test_the_first_few_receivers_beside_a_contact_are_named() -> None:
    given = document(
        "force", -14.0, [(200.0 + 10.0 * n, 293.0 - (n == 1) * 150.0) for n in range(9)]
    )
    given["receivers"][0]["quantities"] = ["rotation"]
    (line,) = told(given)
    first = "R0000 at x = 200, z = 293 m; R0002 at x = 220, z = 293 m; R0003 at x = 230, z = 293 m"
    assert f": 8 of 9 ({first}; and 5 more) on a contact of media or near it" in line


def test_a_receiver_that_moves_is_named_where_it_comes_beside_a_contact() -> None:
    """Of the second shot alone, 200 m to the right of the first."""
    given = document("force", -14.0)
    shots = [{"position": {"x": x, "z": 100.0}} for x in (0.0, 200.0)]
    body = {"type": "block", "x": [300.0, 1e5], **ROCK}
    line = {"type": "line", "start": {"x": -100.0, "z": 300.0}, "end": {"x": 100.0, "z": 300.0}}
    moving = line | {"count": 3, "relative_to": "source", "quantities": ["rotation"]}
    given |= {"model": [{"type": "uniform", **SOFT}, body], "survey": {"shots": shots}}
    given["receivers"] = [moving]
    affected = near_receivers(discretize(from_dict(given)))[0].affected
    assert affected == "1 of 3 (R0002 at x = 300, z = 300 m)"


def beside_a_body(inside: float, outside: float, cells: float) -> dict:
    """Put a receiver so many cells outside a round body, for S velocities in m/s."""
    given = document("force", -14.0, [(500.0 - cells * H, 300.0)])
    given["boundaries"] = {}
    rocks = [{"vp": 1.8 * v, "vs": v, "rho": 1700.0 + 0.3 * v} for v in (outside, inside)]
    body = {"type": "sphere", "center": {"x": 700.0, "z": 300.0}, "radius": 200.0, **rocks[1]}
    given["model"] = [{"type": "uniform", **rocks[0]}, body]
    return given


@pytest.mark.parametrize(
    ("quantity", "inside", "outside", "found"),
    [("stress", 500.0, 1000.0, 0.21), ("stress", 1000.0, 500.0, 0.08),
     ("stress", 400.0, 1240.0, 0.35), ("stress", 1240.0, 400.0, 0.34),
     ("strain", 1000.0, 500.0, 0.15), ("strain", 1240.0, 400.0, 0.22),
     ("strain", 500.0, 1000.0, 0.39)],
)  # fmt: skip
def test_stresses_err_on_both_sides_of_a_contact_and_strains_on_the_stiffer_more(
    quantity: str, inside: float, outside: float, found: float
) -> None:
    """Medians of receivers all around such bodies, against grids three times finer."""
    given = beside_a_body(inside, outside, 0.45)
    given["receivers"][0]["quantities"] = [quantity]
    error = near_receivers(discretize(from_dict(given)))[0].error
    assert 0.5 < error / found < 3.0


def test_an_explosion_feels_the_modulus_of_p_waves_alone() -> None:
    given = beside_a_body(1000.0, 500.0, 0.45)
    rock = given["model"][0]
    given["model"][1] |= {"vp": rock["vp"], "vs": 700.0, "rho": rock["rho"]}
    errors = []
    for kind in ({"type": "explosion", "moment": 1e12},
                 {"type": "moment_tensor", "components": MOMENT}):  # fmt: skip
        given["sources"][0] = {
            "wavelet": given["sources"][0]["wavelet"], "position": {"x": 495.0, "z": 300.0}, **kind
        }  # fmt: skip
        errors.append(near_sources(discretize(from_dict(given)))[0].error)
    assert errors[0] == 0.0
    assert errors[1] > 0.05


def test_a_source_beside_a_contact_does_not_feel_softer_ground_elsewhere() -> None:
    given = document("force", 0.3)
    soil = {"top": 0.0, "vp": 700.0, "vs": 300.0, "rho": 1700.0}
    layers = given["model"][0]["layers"]
    errors = []
    for stack in (layers, [soil, layers[0] | {"top": 50.0}, layers[1]]):
        given["model"][0]["layers"] = stack
        errors.append(near_sources(discretize(from_dict(given)))[0].error)
    assert errors[1] == pytest.approx(errors[0])

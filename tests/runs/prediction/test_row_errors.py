"""Expected errors of receivers beside contacts, of the rows that they read, beside finer grids."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import solver
from seismo.exact import metrics
from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.prediction.contacts.row_errors import reading_errors
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

H, CONTACT, FINER = 10.0, 250.0, 3  # m
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
CELLS = {"strain": (-1.0, -0.5, 0.25), "rotation": (-0.75, 0.5), "velocity": (-0.05, 1.0)}


def document(
    upper: dict, lower: dict, kind: dict, source: float, points: float,
    cells: dict[str, tuple[float, ...]], physics: str = "elastic", finer: int = 1,
) -> dict:  # fmt: skip
    """Put a source, and sets of a receiver each, so many cells below a contact; above: < 0."""
    slowest = min(rock.get("vs") or rock["vp"] for rock in (upper, lower))
    frequency, wave = slowest / (2.5 * points * H), points * H
    receivers = [
        solver.points(
            [{"x": 3.0 * wave, "z": CONTACT + n * H}], name=f"{name}_{n}", quantities=[name]
        )
        for name, depths in cells.items()
        for n in depths
    ]
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": 3.0 * wave + 240.0, "z": 500.0}, "spacing": H / finer,
                 "origin": {"x": -120.0, "z": 0.0}},
        "time": {"duration": 4.5 * wave / slowest + 2.5 / frequency},
        "boundaries": {"layer": {"points": 15 * finer, "damping": 0.0}},
        "model": [{"type": "layers", "layers": [{"top": -1e5, **upper},
                                                {"top": CONTACT, **lower}]}],
        "sources": [{**kind, "position": {"x": 0.0, "z": CONTACT + source * H},
                     "wavelet": {"type": "ricker", "frequency": frequency}}],
        "receivers": receivers,
    }  # fmt: skip


def told_and_found(*given, **further) -> dict[str, tuple[float, float]]:
    """Return the expected error of each set of receivers, and that against a finer grid."""
    run, finer = (solver.simulate(document(*given, finer=n, **further)) for n in (1, FINER))
    told = reading_errors(run.discretization)
    pairs = {}
    for number, group in enumerate(run.discretization.groups):
        read, wanted = (
            np.stack([*solver.traces(each, group=number).values()], axis=1)[0]
            for each in (run, finer)
        )
        inside = solver.times(run) <= solver.times(finer)[-1]
        known = CubicSpline(solver.times(finer), wanted, axis=-1)(solver.times(run)[inside])
        found = metrics.relative_l2(read[:, inside], known)
        (error,) = told[group.name].values()
        pairs[group.name] = error, found
    return pairs


def rock(vs: float, vp_over_vs: float = 2.0) -> dict:
    return {"vp": vp_over_vs * vs, "vs": vs, "rho": 1700.0 + 0.2 * vs}


UP = {"type": "force", "force": {"z": 1e9}}
COUPLE = {"type": "moment_tensor", "components": {"xz": 1e12}}
ACROSS = {"type": "force", "force": {"y": 1e9}}
EXPLOSION = {"type": "explosion", "moment": 1e12}
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("ratio", "kind", "source", "points"),
    [
        (3.5, UP, -8.0, 6.0),
        pytest.param(3.5, COUPLE, -8.0, 10.0, marks=SLOW),
        pytest.param(2.0, UP, -8.0, 6.0, marks=SLOW),
        pytest.param(3.5, {"type": "force", "force": {"x": 1e9}}, 5.0, 6.0, marks=SLOW),
    ],
)
def test_strains_and_motion_beside_solids_err_as_told(ratio, kind, source, points) -> None:
    """Above 100 % where waves of the softer rock decay in the stiffer one."""
    pairs = told_and_found(rock(600.0), rock(600.0 * ratio, 1.8), kind, source, points, CELLS)
    for name, (told, found) in pairs.items():
        assert 0.5 < told / found < 2.0, name


@pytest.mark.parametrize("physics", ["elastic_sh", pytest.param("acoustic_variable_density",
                                                                marks=SLOW)])  # fmt: skip
def test_sh_and_acoustic_waves_beside_contacts_are_read_as_told(physics) -> None:
    soft, hard = rock(600.0), rock(1800.0)
    cells = {"strain": (-0.75, 0.05), "stress": (0.3,), "velocity": (-0.05, 0.3)}
    kind = ACROSS
    for each in (soft, hard):
        each.pop("vp" if physics == "elastic_sh" else "vs")
    if physics != "elastic_sh":
        cells = {"pressure": (-0.75, 0.05, 0.5), "velocity": (-0.3, 0.3)}
        kind = EXPLOSION
    pairs = told_and_found(soft, hard, kind, -8.0, 6.0, cells, physics)
    for name, (told, found) in pairs.items():
        assert 0.5 < told / found < 2.5, name


@pytest.mark.parametrize("bed", [rock(900.0, 2.1), pytest.param(rock(2000.0, 1.75), marks=SLOW)])
def test_receivers_on_a_sea_bed_and_beside_it_err_as_told(bed) -> None:
    cells = {"velocity": (-0.3, 0.0, 0.3), "strain": (-0.3, 0.0), "stress": (0.0,)}
    pairs = told_and_found(WATER, bed, UP, 7.0, 7.0, cells)
    for name, (told, found) in pairs.items():
        assert 0.5 < told / found < 2.0, name


def test_stresses_on_a_free_surface_over_a_contact_err_as_told() -> None:
    """Found 1.0 %: no stress pulls the surface, in rows and exactly."""
    given = document(rock(360.0), rock(720.0), UP, 15.0, 7.0, {})
    given["boundaries"] = {"top": "free_surface"}
    given["model"][0]["layers"][1]["top"] = 3.3 * H
    given["receivers"] = [solver.points([{"x": 150.0, "z": 0.0}], quantities=["stress"])]
    ((error,),) = (
        [*each.values()] for each in reading_errors(discretize(from_dict(given))).values()
    )
    assert 0.002 < error < 0.03


def test_depths_between_all_sources_and_their_contact_keep_their_law() -> None:
    """Waves come to them the other way; one on the other side of the contact counts."""
    given = document(rock(600.0), rock(1800.0), UP, -8.0, 6.0, {"strain": (0.25,)})
    (source,) = given["sources"]
    (receiver,) = given["receivers"]
    z = receiver["positions"][0]["z"]
    contact = given["model"][0]["layers"][1]["top"]
    known = []
    for share in (0.5, -8.0):
        near = source["position"] | {"z": z + share * (contact - z)}
        changed = given | {"sources": [source | {"position": near}]}
        discretization = discretize(from_dict(changed))
        known.append(any(reading_errors(discretization).values()))
        assert any(reading.error > 0.0 for reading in expected_error(discretization).reading)
    assert known == [False, True]


def test_readings_of_other_rows_keep_their_laws() -> None:
    """Fibres, and VTI rocks, whose waves count as those of isotropic ones."""
    given = document(rock(600.0), rock(1800.0), UP, -8.0, 6.0, {"strain": (0.25,)})
    assert expected_error(discretize(from_dict(given))).reading[0].error > 0.02
    tilted = {"epsilon": 0.2, "delta": 0.05}
    for layer in given["model"][0]["layers"]:
        layer |= tilted
    discretization = discretize(from_dict(given))
    assert not any(reading_errors(discretization).values())
    assert expected_error(discretization).reading[0].error > 0.02

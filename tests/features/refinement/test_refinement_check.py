"""What `check` says of runs on grids of two spacings."""

import numpy as np
import pytest

import flat_layers
import solver
from seismo.acquisition.sources import Share
from seismo.features.refinement import error as refined
from seismo.features.refinement.error import (
    along_error,
    contact_error,
    narrow_error,
    refined_error,
    refinement_error,
    thin_error,
)
from seismo.output.pipeline import packing_bytes
from seismo.runs.prediction.assess import assess
from seismo.runs.resources.memory import SENT, WORK_BYTES, memory_of, output_of
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_refinement import scene, traces

SOFT = {"vp": 1800.0, "vs": 1000.0, "rho": 2000.0}
ROCK = {"vp": 4200.0, "vs": 2400.0, "rho": 2500.0}


def layers(contact: float, **changes) -> dict:
    """Give soft ground on rock, whose plane of refinement lies at 420 m and coarse rows at 30 m."""
    changed = scene(**changes)
    parts = [{"top": 0.0, **SOFT}, {"top": contact, **ROCK}]
    return changed | {"model": [{"type": "layers", "layers": parts}]}


def setup_of(document: dict):
    """Discretize a document."""
    return discretize(from_dict(document))


def error_by_plane(document: dict, layer_points: int) -> tuple:
    """Run with and without the plane, where layers have so many points.

    Returns:
        the run with it, and the relative L2 error of its worst trace.
    """
    refined = solver.build(document)
    records = traces(refined)
    del document["grid"]["refinement"]
    document["boundaries"]["layer"]["points"] = layer_points
    wanted = traces(solver.build(document))
    error = np.linalg.norm(records - wanted, axis=(0, 2)) / np.linalg.norm(wanted, axis=(0, 2))
    return refined, error.max()


def test_contacts_next_to_the_plane_are_told() -> None:
    """Below it, as far as closed rows go; not on it, nor above it."""
    errors = [contact_error(setup_of(layers(420.0 + 30.0 * n))) for n in range(-1, 6)]
    assert errors[0] == errors[1] == errors[-1] == 0.0
    assert np.argmax(errors) == 3
    assert 0.015 < errors[3] < 0.04
    document = layers(480.0)
    (warning,) = (w for w in assess(setup_of(document)).warnings if "a contact of media" in w)
    assert "between z = 450 and 480 m" in warning
    assert warning.endswith("use below: 480 m or more, or 330 m or less")
    # That remedy is one.
    document["grid"]["refinement"] = [{"below": 480.0}]
    document["sources"] = document["sources"][:1]
    assert contact_error(setup_of(document)) == 0.0


def test_thin_layers_above_the_plane_are_told() -> None:
    """A soft one that ends in the next six rows, less further up; not a contact alone."""
    errors = []
    for end in (405.0, 365.0, 340.0):
        document = layers(1100.0)
        seam = {"type": "block", "z": [end - 10.0, end], "vp": 600.0, "vs": 400.0, "rho": 1800.0}
        document["model"].append(seam)
        errors.append(thin_error(setup_of(document)))
    assert 0.1 < errors[0] < 0.3
    assert 2e-3 < errors[1] < 6e-3
    assert errors[2] == thin_error(setup_of(layers(390.0))) == 0.0


def test_bodies_between_nodes_below_the_plane_are_told() -> None:
    """A dike of a third of a cell: at least what it errs by, and less than four times that."""
    document = scene(time={"duration": 1.6, "step": 1.5e-3})
    document["boundaries"]["layer"] = {"points": 20, "damping": 0.0}
    document["sources"] = document["sources"][:1]
    document["sources"][0]["position"]["z"] = 1000.0
    places = [{"x": x, "z": 0.0} for x in (300.0, 600.0)]
    document["receivers"][0]["positions"] = places
    assert narrow_error(setup_of(document)) == 0.0
    dike = {"type": "block", "x": [455.0, 465.0], "z": [500.0, 900.0], "rho": 1900.0}
    document["model"].append(dike | {"vp": 760.0, "vs": 400.0})
    refined, error = error_by_plane(document, 60)
    assert error < narrow_error(refined.discretization) < 4.0 * error
    # Nodes that see it tell of it themselves.
    dike["x"] = [435.0, 495.0]
    document["grid"]["refinement"] = [{"below": 420.0}]
    assert narrow_error(setup_of(document | {"model": [document["model"][0], dike | {
        "vp": 760.0, "vs": 400.0}]})) == 0.0  # fmt: skip


@pytest.mark.parametrize("order", [4, 8])
def test_what_the_plane_sends_back_to_the_surface_is_told(order: int) -> None:
    """Of a force on a half-space: at least what it is, and less than four times that."""
    document = scene(time={"duration": 1.4, "step": 1.5e-3})
    document["grid"] |= {"order": order, "extent": {"x": 900.0, "z": 900.0}}
    document["boundaries"] |= {"x_min": "periodic", "x_max": "periodic"}
    document["sources"] = document["sources"][:1]
    document["sources"][0] |= {
        "position": {"x": 450.0, "z": 0.0}, "wavelet": {"type": "ricker", "frequency": 2.5},
    }  # fmt: skip
    document["receivers"][0]["positions"] = [{"x": x, "z": 0.0} for x in (150.0, 250.0, 600.0)]
    refined, error = error_by_plane(document, 24)
    assert error < refinement_error(refined.discretization) < 4.0 * error


@pytest.mark.parametrize(("order", "row"), [(8, -0.5), (4, 2.3), (8, 5.0)])
def test_what_receivers_next_to_the_plane_err_by_is_told(order: int, row: float) -> None:
    """To a factor of 3, so many coarse rows below it: SH waves from far above."""
    document = scene(physics="elastic_sh", time={"duration": 1.6, "step": 4e-3})
    document["grid"] |= {"order": order, "extent": {"x": 900.0, "z": 1200.0}}
    document["boundaries"]["top"] = "absorbing"
    document["sources"] = [document["sources"][0] | {
        "force": {"y": 1e9}, "wavelet": {"type": "ricker", "frequency": 2.0},
    }]  # fmt: skip
    document["receivers"][0]["positions"] = [
        {"x": x, "z": 420.0 + 30.0 * row} for x in (440.0, 600.0)
    ]
    refined, error = error_by_plane(document, 24)
    expected = refined_error(refined.discretization)
    assert 0.5 * error < expected.error < 3.0 * error


def test_each_job_of_an_array_expects_the_error_of_the_survey() -> None:
    """Of shots on either side of the plane, of which each job has one."""
    document = scene()
    document["sources"] = document["sources"][:1]
    document["receivers"][0]["positions"] = [{"x": 300.0, "z": 0.0}]
    places = [{"x": 450.0, "z": z} for z in (30.0, 700.0)]
    document["survey"] = {"shots": [{"position": place} for place in places]}
    scenario = from_dict(document)
    shares = [None, Share(1, 2), Share(2, 2)]
    expected = [assess(discretize(scenario, share=share)).expected for share in shares]
    assert expected[1] == expected[2] == expected[0]
    assert expected[0].error > 0.0


def test_contacts_above_the_plane_keep_receivers_further_away() -> None:
    document = layers(390.0)
    document["receivers"][0]["positions"] = [{"x": 250.0, "z": 350.0}]
    texts = [w for w in assess(setup_of(document)).warnings if "next to the plane" in w]
    assert "fields err by up to 70 %: use z of 340 m or less" in texts[0]
    document["model"] = scene()["model"]
    assert not [w for w in assess(setup_of(document)).warnings if "next to the plane" in w]


def test_a_contact_next_to_the_plane_errs_as_is_told() -> None:
    """To a factor of two: of a force in rock, read on soft ground; 0.4 % with a plane elsewhere."""
    document = layers(480.0, time={"duration": 2.2})
    document["grid"]["extent"]["z"] = 1500.0
    document["sources"] = [document["sources"][1] | {"position": {"x": 450.0, "z": 1000.0}}]
    document["receivers"][0]["positions"] = [{"x": x, "z": 0.0} for x in (300.0, 500.0)]
    document["boundaries"]["layer"]["points"] = 60
    simulation = solver.build(document)
    simulation.advance(simulation.total_steps)
    error = max(flat_layers.errors(simulation, (SOFT, ROCK), (0.0, 480.0)))
    expected = contact_error(simulation.discretization)
    assert 0.5 * expected < error < 2.0 * expected


def test_rayleigh_waves_along_a_shallow_plane_are_told() -> None:
    """Less of them where the plane is deeper, and none without a free surface."""
    shallow = setup_of(scene())
    deep = scene()
    deep["grid"]["refinement"] = [{"below": 510.0}]
    deep["sources"] = deep["sources"][:1]
    assert along_error(setup_of(deep)) < 0.7 * along_error(shallow)
    covered = scene(boundaries={"top": "absorbing"})
    assert along_error(setup_of(covered)) == 0.0


def test_each_side_is_looked_at() -> None:
    """Also the one without sources; its grid ends at the plane without a layer."""
    document = scene()
    document["sources"] = document["sources"][1:]
    document["receivers"][0]["positions"] = [{"x": 20.0, "z": 100.0}, {"x": 450.0, "z": 380.0}]
    lines = assess(setup_of(document)).warnings
    (line,) = [line for line in lines if "of the absorbing layer (" in line]
    assert "(x_min)" in line


def test_what_stands_for_others_lies_beside_no_contact() -> None:
    """The side without sources is judged by waves from the plane, which may lie on a contact."""
    document = layers(420.0)
    document["sources"] = document["sources"][1:]
    causes = dict(refined_error(setup_of(document)).causes)
    assert causes.get("sources beside contacts", 0.0) < 0.005


def test_maps_above_the_plane_are_looked_at() -> None:
    document = scene()
    document["output"] = {"maps": [
        {"name": "ground", "quantities": ["sa"], "periods": [0.05], "box": {"z": [0.0, 60.0]}},
    ]}  # fmt: skip
    lines = assess(setup_of(document)).warnings
    assert any(line.startswith("maps ground: periods of 0.05 s are below") for line in lines)


def test_buffers_of_the_traces_of_both_grids_are_counted() -> None:
    """The one file that both write has them all."""
    discretization = setup_of(scene(time={"duration": 40.0}))
    record = sum(len(group) for group in discretization.groups) * 2 * discretization.total_steps * 8
    packed = packing_bytes(output_of(discretization).traces)
    assert memory_of(discretization).blocks >= SENT * record + WORK_BYTES + packed


def test_a_check_looks_at_the_earth_beside_the_plane_once_on_either_side(monkeypatch) -> None:
    looked_at = []
    look = refined._sent_back
    monkeypatch.setattr(
        refined,
        "_sent_back",
        lambda discretization, z: (
            looked_at.append(discretization.subdivision) or look(discretization, z)
        ),
    )
    assert any("a contact of media" in text for text in assess(setup_of(layers(480.0))).warnings)
    assert sorted(looked_at) == [1, 3]

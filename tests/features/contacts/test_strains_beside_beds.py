"""Strains, rotation and divergence beside contacts of fluid and solid, read from one side."""

from unittest import mock

import numpy as np
import pytest

import flat_layers
import solver
from seismo.exact.medium import Medium
from seismo.features.contacts import contact as fluid_solid_contact
from seismo.features.contacts.checks import source_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.interpolation.channels import channel_points

WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
ROCK = {"vp": 3000.0, "vs": 1500.0, "rho": 2300.0}
ICE = {"vp": 3500.0, "vs": 1800.0, "rho": 920.0}
H = 10.0
BED = 30.3 * H
DERIVED = ("strain_rate", "rotation", "divergence")


def layers(above: dict, below: dict) -> list[dict]:
    """Return a model of two media that meet at the bed."""
    return [{"type": "layers", "layers": [{"top": -1e6, **above}, {"top": BED, **below}]}]


def gradients(solid: bool) -> np.ndarray:
    """Return d_j v_i of motion whose shear vanishes in the solid, and whose vz does not jump."""
    d = np.array([[1.0, 0.2, 0.7], [-0.3, 2.0, -0.4], [0.9, 0.6, -0.5]])
    if solid:
        d[:, :2] *= -1.7
        d[2] = 0.9, 0.6, 0.8
        d[:2, 2] = -d[2, :2]
    return d


def motion(discretization, contact, name: str, points) -> np.ndarray:
    """Return a velocity that is linear on either side, at points of its field."""
    grid, field = discretization.grid, discretization.physics.named(name)
    x, y, z = (
        getattr(points, a) * H + 0.5 * H * (a in field.half) if a in grid.axes else 0.0 * points.x
        for a in "xyz"
    )
    depth = z - contact.z_index * H
    if contact.closed and "z" in field.half:
        depth = np.where(points.z == contact.half, 0.0, depth)
    axis, jump = "xyz".index(name[1]), 0.0 if name == "vz" else 3.0
    above, below = (
        gradients(solid)[axis] for solid in (contact.solid_above, not contact.solid_above)
    )
    return np.where(
        depth <= 0.0, above @ np.stack([x, y, depth]), jump + below @ np.stack([x, y, depth])
    )


@pytest.mark.parametrize(
    ("dimensions", "order", "above", "below"),
    [(2, 4, WATER, ROCK), (3, 8, WATER, ROCK), (2, 8, ICE, WATER), (2, 16, WATER, ROCK)],
)
@pytest.mark.parametrize("closed", [True, False])
def test_straight_lines_are_read_on_either_side(dimensions, order, above, below, closed) -> None:
    """No derivative reads across the contact, along which the media slip."""
    document = solver.plan(
        "elastic", dimensions, model=layers(above, below), receivers=[],
        grid={"extent": dict.fromkeys(solver.axes_of(dimensions), 64 * H), "spacing": H,
              "order": order, "stencil": "taylor"},
        sources=[{"type": "explosion", "wavelet": {"type": "ricker", "frequency": 7.5},
                  "position": dict.fromkeys(solver.axes_of(dimensions), 20 * H)}],
    )  # fmt: skip
    clearance = fluid_solid_contact._has_clearance
    room = clearance if closed else lambda *found: False
    with mock.patch.object(fluid_solid_contact, "_has_clearance", room):
        discretization = discretize(from_dict(document))
        (contact,) = discretization.slips.corrected
    assert contact.closed == closed
    interpolation = discretization.interpolation
    for away in (-6.3, -1.4, -0.2, 0.0, 0.4, 1.0, 3.7):
        z = float(discretization.grid.coordinate("z", contact.z_index + away))
        at = (93.0, 87.0 * (dimensions == 3), z)
        solid = (away < 0.0) == contact.solid_above or away == 0.0
        d = gradients(solid)
        for quantity in DERIVED:
            for name, terms in discretization.physics.observables[quantity].items():
                points = channel_points(interpolation, terms, at)
                found = sum(
                    p.weights @ motion(discretization, contact, field, p)
                    for field, p in points.items()
                )
                wanted = sum(
                    t.factor * d["xyz".index(t.field[1]), "xyz".index(t.along)] for t in terms
                )
                assert found == pytest.approx(wanted, abs=1e-8), (away, name)


def test_strains_of_waves_beside_a_sea_bed() -> None:
    """Against differences of exact velocities; read across the bed they err by over 100 %."""
    places = np.array([[500.0, BED - 2.0], [500.0, BED + 2.0]])
    step = 0.04
    document = solver.plan(
        "elastic", 2, steps=None, model=layers(WATER, ROCK),
        grid={"extent": {"x": 65 * H, "z": 50 * H}, "spacing": H, "order": 8},
        time={"duration": 0.5, "dispersion_removal": True},
        boundaries=solver.faces(2) | {"layer": {"points": 20}},
        sources=[{"type": "explosion", "position": {"x": 20 * H, "z": BED - 15 * H},
                  "moment": 1e9, "wavelet": {"type": "ricker", "frequency": 7.5}}],
    )  # fmt: skip
    positions = [{"x": x, "z": z} for x, z in places.tolist()]
    document["receivers"] = [solver.points(positions, quantities=["strain_rate"])]
    simulation = solver.simulate(document)
    found = solver.traces(simulation)
    around = step * np.array([(-0.5, 0.0), (0.5, 0.0), (0.0, -0.5), (0.0, 0.5)])
    velocities = flat_layers.exact(
        simulation, (Medium(**WATER), Medium(**ROCK)), (BED,), cut=1e-4,
        places=(places[:, None] + around).reshape(-1, 2),
    ).reshape(2, 4, 2, -1)  # fmt: skip
    along = (velocities[:, 1] - velocities[:, 0]) / step
    down = (velocities[:, 3] - velocities[:, 2]) / step
    wanted = np.stack([along[:, 0], down[:, 1], 0.5 * (along[:, 1] + down[:, 0])], axis=1)
    read = np.stack([found[name] for name in ("exx_rate", "ezz_rate", "exz_rate")], axis=1)
    errors = np.linalg.norm(read - wanted, axis=(1, 2)) / np.linalg.norm(wanted, axis=(1, 2))
    assert errors[0] < 0.01
    assert errors[1] < 0.04


@pytest.mark.parametrize(
    ("source", "away", "least", "most"),
    [
        ({"type": "explosion"}, 4.2, 0.006, 0.02),
        ({"type": "explosion"}, 7.0, 0.0, 0.0),
        ({"type": "explosion"}, -4.2, 0.002, 0.01),
        ({"type": "force", "force": {"x": 1e6}}, 0.4, 0.03, 0.08),
        ({"type": "moment_tensor", "components": {"xz": 1e9}}, 4.2, 0.007, 0.02),
    ],
)
def test_sources_among_closed_rows_are_told(source, away, least, most) -> None:
    """Ten points in the shortest wavelength, between the errors of traces 12 to 40 cells away."""
    moment = {"moment": 1e9} if source["type"] == "explosion" else {}
    wave = {"type": "ricker", "frequency": WATER["vp"] / (2.5 * H * 10)}
    document = solver.plan(
        "elastic", 2, model=layers(WATER, ROCK), receivers=[],
        grid={"extent": {"x": 64 * H, "z": 64 * H}, "spacing": H, "order": 8},
        sources=[{**source, **moment, "wavelet": wave,
                  "position": {"x": 20 * H, "z": BED + away * H}}],
    )  # fmt: skip
    told = source_error(discretize(from_dict(document)))
    assert least <= told <= most

"""Moment tensors against Aki & Richards (2002), box 4.4, and an entry of the GCMT catalogue."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seismo.acquisition import moment_tensor
from seismo.scenario.sections.sources import ExplosionSource, MomentTensorSource

ANGLES = (st.floats(0.0, 359.9), st.floats(1.0, 89.0), st.floats(-179.0, 179.0))  # fmt: skip


def box_4_4(strike, dip, rake):
    """Return the tensor written out as in Aki & Richards (2002), box 4.4."""
    phi, delta, lam = np.radians([strike, dip, rake])
    sin, cos = np.sin, np.cos
    xx = -(sin(delta) * cos(lam) * sin(2 * phi) + sin(2 * delta) * sin(lam) * sin(phi) ** 2)
    xy = sin(delta) * cos(lam) * cos(2 * phi) + 0.5 * sin(2 * delta) * sin(lam) * sin(2 * phi)
    xz = -(cos(delta) * cos(lam) * cos(phi) + cos(2 * delta) * sin(lam) * sin(phi))
    yy = sin(delta) * cos(lam) * sin(2 * phi) - sin(2 * delta) * sin(lam) * cos(phi) ** 2
    yz = -(cos(delta) * cos(lam) * sin(phi) - cos(2 * delta) * sin(lam) * cos(phi))
    zz = sin(2 * delta) * sin(lam)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@given(*ANGLES)
def test_double_couple_is_that_of_aki_and_richards(strike, dip, rake):
    tensor = moment_tensor.double_couple(strike, dip, rake, 2.0)
    assert np.allclose(tensor, 2.0 * box_4_4(strike, dip, rake), atol=1e-12)
    assert moment_tensor.scalar_moment(tensor) == pytest.approx(2.0)


@given(*ANGLES)
def test_each_nodal_plane_gives_the_tensor_back(strike, dip, rake):
    tensor = moment_tensor.double_couple(strike, dip, rake)
    planes = moment_tensor.nodal_planes(tensor)
    for plane in planes:
        again = moment_tensor.double_couple(plane.strike, plane.dip, plane.rake)
        assert np.allclose(again, tensor, atol=1e-7)
    distance = [
        abs((p.strike - strike + 180) % 360 - 180)
        + abs(p.dip - dip)
        + abs((p.rake - rake + 180) % 360 - 180)
        for p in planes
    ]
    assert min(distance) < 1e-4 or dip > 88.9


def test_a_vertical_strike_slip_fault_to_the_north():
    # Left-lateral (rake 0) on a north-striking fault: the east side moves north, Mxy > 0.
    tensor = moment_tensor.double_couple(0.0, 90.0, 0.0)
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = 1.0
    assert np.allclose(tensor, expected, atol=1e-15)


def test_a_thrust_raises_the_hanging_wall():
    # Pure thrust at 45 degrees: pressure horizontal across strike, tension vertical.
    tensor = moment_tensor.double_couple(0.0, 45.0, 90.0)
    assert np.allclose(tensor, np.diag([0.0, -1.0, 1.0]), atol=1e-15)


def test_gcmt_components_are_turned_as_in_box_4_4():
    # Mrr = Mzz, Mtt = Mxx, Mpp = Myy, Mrt = Mxz, Mrp = -Myz, Mtp = -Mxy.
    given = SimpleNamespace(rr=1.0, tt=2.0, pp=3.0, rt=4.0, rp=5.0, tp=6.0)
    tensor = moment_tensor.from_components(given, "gcmt")
    assert np.array_equal(tensor, [[2.0, -6.0, 4.0], [-6.0, 3.0, -5.0], [4.0, -5.0, 1.0]])
    assert moment_tensor.to_gcmt(tensor) == vars(given)


def test_enu_components():
    given = SimpleNamespace(ee=1.0, nn=2.0, uu=3.0, en=4.0, eu=5.0, nu=6.0)
    tensor = moment_tensor.from_components(given, "enu")
    assert np.array_equal(tensor, [[2.0, 4.0, -6.0], [4.0, 1.0, -5.0], [-6.0, -5.0, 3.0]])


def test_components_left_out_are_zero():
    given = SimpleNamespace(xx=None, xz=2.0)
    tensor = moment_tensor.from_components(given, "aki_richards")
    assert tensor[0, 2] == tensor[2, 0] == 2.0
    assert np.abs(tensor).sum() == 4.0


def test_a_catalogue_entry_in_two_frames_agrees_with_its_own_planes():
    # GCMT 201103110546A (Tohoku-oki): components in 1e29 dyn cm = 1e22 N m, planes 203/10/88 and
    # 25/80/90, moment 5.312e22 N m. Planes are those of the double couple, rounded to degrees.
    given = SimpleNamespace(
        rr=1.73e22, tt=-0.281e22, pp=-1.45e22, rt=2.12e22, rp=4.55e22, tp=-0.657e22
    )
    tensor = moment_tensor.from_components(given, "gcmt")
    assert moment_tensor.scalar_moment(tensor) == pytest.approx(5.312e22, rel=2e-3)
    assert moment_tensor.magnitude_of(moment_tensor.scalar_moment(tensor)) == pytest.approx(
        9.08, abs=0.01
    )
    planes = sorted(moment_tensor.nodal_planes(tensor), key=lambda plane: plane.dip)
    for plane, (strike, dip, rake) in zip(planes, [(203, 10, 88), (25, 80, 90)], strict=True):
        assert plane.dip == pytest.approx(dip, abs=1.0)
        assert abs((plane.strike - strike + 180) % 360 - 180) < 1.5
        assert plane.rake == pytest.approx(rake, abs=1.5)


@given(*ANGLES, st.floats(-180.0, 360.0))
def test_turning_the_grid_turns_the_strike(strike, dip, rake, azimuth):
    # Seen from a grid whose x points along `azimuth`, the fault strikes at strike - azimuth.
    turned = moment_tensor.to_grid(moment_tensor.double_couple(strike, dip, rake), azimuth)
    assert np.allclose(turned, box_4_4(strike - azimuth, dip, rake), atol=1e-12)


def test_magnitude_and_moment_are_inverse():
    assert moment_tensor.moment_of(6.0) == pytest.approx(10**18.1)
    assert moment_tensor.magnitude_of(moment_tensor.moment_of(5.39)) == pytest.approx(5.39)


def test_sources_of_the_scenario():
    common = {"position": {"x": 0.0, "z": 1.0}, "wavelet": {"type": "ricker", "frequency": 1.0}}
    explosion = ExplosionSource(type="explosion", moment=3.0, **common)
    assert np.array_equal(moment_tensor.tensor_of(explosion, 30.0), 3.0 * np.eye(3))
    angles = {"strike": 10.0, "dip": 20.0, "rake": 30.0}
    fault = MomentTensorSource(type="moment_tensor", **angles, magnitude=4.0, **common)
    expected = 10**15.1 * box_4_4(-30.0, 20.0, 30.0)
    assert np.allclose(moment_tensor.tensor_of(fault, 40.0), expected, rtol=1e-12, atol=1e3)
    fault = MomentTensorSource(type="moment_tensor", **angles, moment=2.0, **common)
    assert np.allclose(moment_tensor.tensor_of(fault), 2.0 * box_4_4(10.0, 20.0, 30.0))
    turned = {"frame": "gcmt", "components": {"rt": 1.0, "pp": 2.0}}
    tensor = moment_tensor.tensor_of(
        MomentTensorSource(type="moment_tensor", **turned, **common), 180
    )
    assert np.allclose(tensor, [[0.0, 0.0, -1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 0.0]])


def test_shares_of_pure_sources():
    # Eigenvalues (2, -1, -1) are a pure CLVD, (1, 0, -1) a double couple, (1, 1, 1) an explosion.
    for values, expected in (
        ((2.0, -1.0, -1.0), (0.0, 0.0, 1.0)),
        ((1.0, 1.0, -2.0), (0.0, 0.0, -1.0)),
        ((1.0, 0.0, -1.0), (0.0, 1.0, 0.0)),
        ((-1.0, -1.0, -1.0), (-1.0, 0.0, 0.0)),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ):
        found = moment_tensor.shares(np.diag(values))
        names = ("isotropic", "double_couple", "clvd")
        assert np.allclose([found[name] for name in names], expected, atol=1e-12)

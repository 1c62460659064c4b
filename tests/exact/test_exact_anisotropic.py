"""Exact waves in anisotropic whole spaces, against isotropic and scalar ones, and stored traces."""

import os
from pathlib import Path

import numpy as np
import pytest

from seismo.equations.rock import elastic_constants as constants
from seismo.errors import SeismoError
from seismo.exact import acoustic, anisotropic, whole_space
from seismo.exact.anisotropic import Solid
from seismo.exact.medium import Medium
from solver import slow_but

DT = 4e-3
_PHASE = (np.pi * 5.0 * (np.arange(150) * DT - 0.24)) ** 2
SOURCE = (1.0 - 2.0 * _PHASE) * np.exp(-_PHASE)
OFFSET = {2: [[150.0, 180.0]], 3: [[110.0, -80.0, 130.0]]}
FORCE = {2: np.array([1.0, -0.3]), 3: np.array([1.0, 0.5, -0.3])}
MOMENT = {
    2: np.array([[1.0, 0.3], [0.3, -0.5]]),
    3: np.array([[1.0, 0.3, -0.2], [0.3, -0.5, 0.4], [-0.2, 0.4, 0.7]]),
}


def close(found: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-8) -> bool:
    return found.shape == wanted.shape and bool(
        np.abs(found - wanted).max() < tolerance * np.abs(wanted).max()
    )


@pytest.mark.parametrize("d", slow_but({2}, [2, 3]))
def test_isotropic_rock_is_no_exception(d):
    medium = Medium(3000.0, 1700.0, 2300.0)
    rock = Solid(constants.matrix(constants.vti(medium.vp, medium.vs, medium.rho)), medium.rho)
    place = np.array(OFFSET[d])
    for quantity in ("velocity", "stress"):
        case = (place, FORCE[d], SOURCE, DT)
        wanted = whole_space.force_response(*case, medium, quantity)
        assert close(anisotropic.force_response(*case, rock, quantity), wanted)
    case = (place, MOMENT[d], SOURCE, DT)
    wanted = whole_space.moment_response(*case, medium, "velocity", "moment_rate")
    assert close(anisotropic.moment_response(*case, rock, "velocity", "moment_rate"), wanted)


@pytest.mark.parametrize("d", slow_but({2}, [2, 3]))
def test_rock_whose_components_part_has_scalar_waves(d):
    """With c12 = -c66 and so on, rho u_x,tt = c11 u_x,xx + c66 u_x,yy + c55 u_x,zz, likewise y, z.

    Lengths in units of the speeds along the axes make that an acoustic wave of speed 1.
    """
    rho, c = 2300.0, np.array([20e9, 16e9, 12e9, 5e9, 4e9, 7e9])
    stiffness = np.diag(c)
    for i, j, shear in ((0, 1, 5), (0, 2, 4), (1, 2, 3)):
        stiffness[i, j] = stiffness[j, i] = -c[shear]
    speeds = np.sqrt(np.array([c[[0, 5, 4]], c[[5, 1, 3]], c[[4, 3, 2]]]) / rho)
    if d == 2:
        speeds = speeds[::2, ::2]
    rock, place = Solid(stiffness, rho), np.array(OFFSET[d])
    found = anisotropic.force_response(place, FORCE[d], SOURCE, DT, rock)
    wanted = [
        strength * acoustic.pressure(place / v, SOURCE, DT, 1.0) / (rho * v.prod())
        for strength, v in zip(FORCE[d], speeds, strict=True)
    ]
    assert close(found, np.stack(wanted, 1))
    found = anisotropic.moment_response(
        place, MOMENT[d], SOURCE, DT, rock, time_function="moment_rate"
    )
    slopes = [
        np.einsum("rkt,k->rt", acoustic.velocity(place / v, SOURCE, DT, 1.0, 1.0), row / v)
        / (rho * v.prod())
        for row, v in zip(MOMENT[d], speeds, strict=True)
    ]
    assert close(found, np.stack(slopes, 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vti", "tti"])
def test_stored_traces(name):
    """Their spectrum ends at 26 Hz, where the wavelet has 1e-3 of its peak."""
    folder = os.environ.get("SEISMO_REFDATA")
    if not folder:
        pytest.skip("SEISMO_REFDATA names no folder of reference data")
    stored = np.load(Path(folder) / "aniso3d_whole" / f"{name}.npz")
    time = stored["t"]
    phase = (np.pi * 8.0 * (time - 0.18)) ** 2
    found = anisotropic.force_response(
        stored["receivers"][::5], [6e11, -3e11, 8e11], (1.0 - 2.0 * phase) * np.exp(-phase),
        time[1] - time[0], Solid(stored["C"], 2300.0), "velocity",
    )  # fmt: skip
    assert close(found, stored["traces"][::5], 1e-3)


def test_what_cannot_be_asked():
    rock = Solid(np.eye(6), 1.0)
    with pytest.raises(SeismoError, match="quantity"):
        anisotropic.force_response(OFFSET[2], FORCE[2], SOURCE, DT, rock, "pressure")
    with pytest.raises(SeismoError, match="offsets"):
        anisotropic.force_response([[0.0, 0.0]], FORCE[2], SOURCE, DT, rock)
    with pytest.raises(SeismoError, match="positive definite"):
        anisotropic.force_response(OFFSET[2], FORCE[2], SOURCE, DT, Solid(-np.eye(6), 1.0))

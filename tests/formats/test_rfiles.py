"""Models in rfiles of SW4: blocks between planes below a ground with elevations."""

import struct
from pathlib import Path

import numpy as np
import pytest

from seismo.errors import ScenarioError
from test_sfiles import AZIMUTH, ORIGIN, PROJ, TEXT, earth, own

TEXT = TEXT.replace("m.sfile", "m.rfile").replace(f'crs: "{PROJ}", ', "")
TOP, MIDDLE, BOTTOM = -2000.0, 1000.0, 9000.0  # z of the blocks


def elevation(x, y):
    return 400.0 + 0.01 * x - 0.02 * y


def vp(z, x, y):
    """Return a speed that is linear in all three, so that interpolation is exact."""
    return 3000.0 + 0.2 * z + 0.01 * x - 0.02 * y


def write(base: Path, order="<", precision=4, *, cut=0, **replaced):
    """Write the ground and two blocks of 1 and 2 km, with rho, vp and vs."""
    head = {"magic": 1, "blocks": 3, "middle": MIDDLE} | replaced
    text = PROJ.encode()
    data = struct.pack(order + "3i", head["magic"], precision, 0)
    data += struct.pack(order + "3di", AZIMUTH, *ORIGIN, len(text)) + text
    data += struct.pack(order + "i", head["blocks"])
    arrays = []
    for step, down, top, levels in (
        (1e3, 0.0, 0.0, 1), (1e3, 500.0, TOP, 7), (2e3, 2000.0, head["middle"], 5),
    ):  # fmt: skip
        x, y = np.arange(0.0, 40001.0, step), np.arange(0.0, 36001.0, step)
        z = top + down * np.arange(levels)
        if levels == 1:
            array = elevation(x[:, None], y)[:, :, None, None]
        else:
            speed = vp(z, x[:, None, None], y[:, None])
            array = np.stack([0 * speed + 2500.0, speed, 0.5 * speed], -1)
        data += struct.pack(order + "3d4i", step, down, top, array.shape[3], *array.shape[:3])
        arrays.append(array.astype(f"{order}f{precision}").tobytes())
    data += b"".join(arrays)
    (base / "m.rfile").write_bytes(data[: len(data) - cut])


@pytest.mark.parametrize(("order", "precision"), [("<", 4), (">", 8)])
def test_points_lie_below_the_ground(tmp_path: Path, order, precision):
    write(tmp_path, order, precision)
    z = np.array([0.0, 700.0, 2500.0, 4600.0, 6000.0])[:, None, None]
    y, x = np.linspace(-2e3, 2e3, 5), np.linspace(-4e3, 4e3, 9)
    sampled = earth(tmp_path, "", TEXT).sample(z, y[:, None], x)
    own_x, own_y = own(*np.broadcast_arrays(x, y[:, None]))
    expected = vp(z - elevation(own_x, own_y), own_x, own_y)
    np.testing.assert_allclose(sampled["vp"], expected, rtol=3e-7)
    np.testing.assert_allclose(sampled["vs"], 0.5 * expected, rtol=3e-7)
    np.testing.assert_allclose(sampled["rho"], 2500.0)


@pytest.mark.parametrize(
    ("changes", "text", "message"),
    [
        ({"magic": 3}, TEXT, "does not begin with the number 1 of an rfile"),
        ({"cut": 100}, TEXT, "ends within block 2: it is not complete"),
        ({"blocks": 1}, TEXT, "has 1 blocks; 2 to 100 are read"),
        ({"middle": 1500.0}, TEXT, "block 1 ends at z = 1000 m, and block 2 is from 1500 to 9500"),
        ({}, TEXT.replace("vp: Cp", "vp: Vp"), "model.*vp.*has no 'Vp'; it has Rho, Cp, Cs"),
        ({}, TEXT.replace("KEYS", "positive: down"), "positive.*says it itself; leave it out"),
        ({}, TEXT.partition("geographic:")[0], "add the section `geographic`"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(tmp_path: Path, changes, text, message):
    write(tmp_path, **changes)
    with pytest.raises(ScenarioError, match=message):
        earth(tmp_path, "", text)

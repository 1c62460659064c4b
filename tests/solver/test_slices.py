"""Slices read the requested grid points in any decomposition.

Every comparison is exact: nothing is computed but sums of two numbers and a rounding.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from seismo.backends.communicator import SerialCommunicator
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.backends.row_kernels import shorten
from seismo.equations.framework.registry import physics_for
from seismo.grid.decomposition import decompose
from seismo.grid.grid import Grid
from seismo.output.pipeline import masks
from seismo.solver.fields import Fields, RankFields
from seismo.solver.sampling.field_sampling import FieldSampler, make_slice
from seismo.solver.sampling.output_sets import kept_bits

GRID = Grid("xyz", (17, 13, 19), (10.0, 10.0, 5.0), (0.0, -20.0, 0.0), (4, 3, 0), (4, 3, 4))
SHOTS = 2
EVERY_PLANE = {"velocity": np.ones(GRID.points[2], bool)}


def entry(plane=None, box=None, decimate=2):
    axes = dict.fromkeys("xyz")
    return SimpleNamespace(
        decimate=decimate,
        plane=plane and SimpleNamespace(**{**axes, plane: 21.0}),
        box=box and SimpleNamespace(**{**axes, **box}),
    )


def parts_of(backend, whole, cuts):
    physics = physics_for("acoustic_variable_density", 3)
    found = [
        Fields(backend, physics, subdomain, EVERY_PLANE, 0)
        for row in decompose(GRID, 2, cuts, SHOTS)
        for subdomain in row
    ]
    for fields in found:
        (_, y0, z0), (_, y1, z1) = fields.subdomain.owned.lo, fields.subdomain.owned.hi
        fields.subdomain.inside(fields.arrays(0)["p"])[...] = whole[:, z0:z1, y0:y1]
    return found


@pytest.mark.parametrize("kind", [ReferenceBackend, CpuBackend])
@pytest.mark.parametrize("cuts", [(1, 1), (2, 2)])
@pytest.mark.parametrize(
    ("asked", "index"),
    [
        (entry(), (slice(0, 15, 2), slice(3, 10, 2), slice(4, 13, 2))),
        (entry("x"), (slice(0, 15, 2), slice(3, 10, 2), slice(6, 7))),
        (entry("y"), (slice(0, 15, 2), slice(7, 8), slice(4, 13, 2))),
        (entry("z"), (slice(4, 5), slice(3, 10, 2), slice(4, 13, 2))),
        (
            entry(box={"x": (11.0, 60.0), "z": (20.0, 70.0)}, decimate=3),
            (slice(4, 15, 3), slice(3, 10, 3), slice(6, 11, 3)),
        ),
        (entry("z", {"y": (-10.0, 10.0)}, 1), (slice(4, 5), slice(4, 7), slice(4, 13))),
    ],
)
def test_a_cut_through_parts_is_the_cut_through_the_whole(kind, cuts, asked, index):
    backend = kind("float32")
    whole = np.random.default_rng(1).normal(size=(SHOTS, 19, 13, 17)).astype("f4")
    cut = make_slice(asked, GRID)
    reader = FieldSampler(
        RankFields(backend, parts_of(backend, whole, cuts), SHOTS, SerialCommunicator()), cut
    )
    target = backend.array(np.full(reader.size, np.nan, np.float32))
    for added in (False, True):
        for launch in reader.launches("p", 0, target, 0.5, added=added):
            launch()
    wanted = whole[(slice(None), *index)]
    np.testing.assert_array_equal(target.reshape(wanted.shape), wanted)
    assert cut.shape == tuple(
        n for n, a in zip(wanted.shape[1:], "zyx", strict=True) if a in cut.axes
    )
    for axis, part in zip("zyx", index, strict=True):
        first, step = GRID.coordinate(axis, part.start), GRID.spacing["xyz".index(axis)]
        if asked.plane is not None and getattr(asked.plane, axis) is not None:
            assert cut.plane == {axis: first}
        else:
            values = cut.axes[axis]
            np.testing.assert_allclose(np.diff(values), step * (part.step or 1))
            assert values[0] == first


@pytest.mark.parametrize("kind", [ReferenceBackend, CpuBackend])
@pytest.mark.parametrize("error", [0.1, 1e-2, 1e-3, 1e-6])
def test_rounding_keeps_its_bound_and_what_is_no_number(kind, error):
    bits = kept_bits(error)
    assert 2.0 ** -(bits + 1) <= error < 2.0**-bits
    rng = np.random.default_rng(2)
    values = (rng.normal(size=1000) * 10.0 ** rng.integers(-37, 38, 1000)).astype("f4")
    values[:6] = [0.0, -0.0, np.nan, np.inf, -np.inf, np.float32(1.9999999)]
    values[6:7].view("u4")[:] = 0x7FFFFFFF  # the NaN of graphics processors
    rounded, backend = values.copy(), kind("float32")
    lost = np.uint32(23 - bits)
    held = (rounded.view("u4"), np.array([0, 500]), *masks(bits))
    backend.each_row(shorten, 2, 500, held, (0,))()
    np.testing.assert_array_equal(np.isnan(rounded), np.isnan(values))
    sound = np.isfinite(values)
    np.testing.assert_array_equal(rounded[~sound], values[~sound])
    a, b = values[sound].astype(float), rounded[sound].astype(float)
    assert (np.abs(a - b) <= 2.0 ** -(bits + 1) * np.abs(a)).all()
    assert not (rounded[sound].view("u4") & ((np.uint32(1) << lost) - np.uint32(1))).any()

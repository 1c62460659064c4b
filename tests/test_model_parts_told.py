"""Lengths meant in km, and parts of the model of which nothing is left, are told; others not."""

import re

import pytest

from seismo.runs.assessment.tiny_lengths import tiny_lengths
from seismo.scenario import load
from seismo.solver.discretize import discretize

ROCK = {"vp": 2000.0, "vs": 1000.0, "rho": 2000.0}
HARD = {"vp": 3500.0, "vs": 2000.0, "rho": 2400.0}
BASE = {"type": "uniform", **ROCK}


def setup_of(model, size=1000.0, topography=None, **more):
    y = more.pop("y", None)
    middle = {"x": 500.0, "z": 500.0} | ({"y": 100.0} if y else {})
    document = {
        "physics": "elastic",
        "grid": {"extent": {"x": size, "z": size} | ({"y": y} if y else {}), "spacing": 10.0},
        "time": {"duration": 0.1},
        "boundaries": {"top": "free_surface"},
        "model": model,
        "sources": [{"type": "explosion", "position": middle,
                     "wavelet": {"type": "ricker", "frequency": 5.0}}],
        "receivers": [{"type": "points", "positions": [middle]}],
        **({"topography": topography} if topography else {}),
        **more,
    }  # fmt: skip
    return discretize(load(document))


def layers(*tops, **more):
    rocks = [ROCK if k == 0 else HARD for k in range(len(tops))]
    listed = [{"top": top, **rock} for top, rock in zip(tops, rocks, strict=True)]
    return {"type": "layers", "layers": listed, **more}


def table(*depths, **more):
    rows = [[z, 2000.0 + 10.0 * k, 1000.0, 2000.0] for k, z in enumerate(depths)]
    return {"type": "table", "rows": rows, **more}


def gradient(**ends):
    values = {name: {"top": ROCK[name], "bottom": HARD[name]} for name in ROCK}
    return {"type": "gradient", **values, **ends}


def polygon(*points, **more):
    return {"type": "polygon", "points": points, **HARD, **more}


def interface(*points):
    return {"type": "interface", "points": points, **HARD}


HILLS = {"type": "hills", "hills": [{"center": {"x": 500.0}, "height": 100.0, "width": 300.0}]}


@pytest.mark.parametrize(
    ("parts", "key", "remedy"),
    [
        ([table(0.0, 0.2, 0.4)], "model[0].rows", "a range of depths of 0.4 m, .*'0.4 km'"),
        ([table(0.0, 0.2, 5.0)], "model[0].rows", "'5 km'"),
        ([layers(0.0, 0.2, 0.5)], "model[0].layers", "'0.5 km'"),
        ([layers(0.0, 0.2, 0.5, relative_to="ground")], "model[0].layers", "'0.5 km'"),
        ([BASE, layers(0.3)], "model[1].layers", "'0.3 km'"),
        ([gradient(z_bottom=1.0)], "model[0].z_bottom", "'1 km'"),
        ([gradient(z_top=0.2, z_bottom=0.8)], "model[0].z_bottom", "'0.8 km'"),
        ([gradient(z_top=0.3)], "model[0].z_top", "'0.3 km'"),
        ([BASE, polygon([0.1, 0.1], [0.3, 0.1], [0.3, 0.3], [0.1, 0.3])], "model[1].points",
         "a longest side of 0.2 m, .*'0.2 km'"),
        ([BASE, polygon([1, 1], [3, 1], [3, 3], [1, 3])], "model[1].points", "'2 km'"),
        ([BASE, polygon([100, 0.3], [500, 0.3], [500, 0.5])], "model[1].points", "'0.2 km'"),
        ([BASE, interface([0, 0.1], [0.4, 0.3])], "model[1].points", "coordinates .*'0.4 km'"),
        ([BASE, {"type": "block", "x": [1, 3], "z": [1, 3], **HARD}], "model[1].x", "'2 km'"),
        ([BASE, {"type": "sphere", "center": {"x": 203, "z": 203}, "radius": 2, **HARD}],
         "model[1].radius", "'2 km'"),
        ([BASE, {"type": "water", "depth": 0.3}], "model[1].depth", "a depth of 0.3 m, .*'0.3 km'"),
    ],
)  # fmt: skip
def test_lengths_meant_in_km_are_asked_for(parts, key, remedy):
    lines = list(tiny_lengths(setup_of(parts)))
    assert lines
    assert all(line.startswith("model[") for line in lines)
    assert lines[0].startswith(f"{key}: ")
    assert re.search(remedy, lines[0]), lines[0]


@pytest.mark.parametrize(
    "parts",
    [
        [layers(0.0, 0.5, 30.0, 60.0)],
        [layers(0.0, 5.0)],  # m of soil: 5 km would lie below the grid
        [layers(0.0, 400.0, 400.5)],  # a thin bed
        [BASE, layers(0.0)],
        [table(-100.0, 0.0, 2.0, 35e3)],
        [table(0.0)],
        [gradient()],
        [gradient(z_top=500.0, z_bottom=501.0)],
        [BASE, polygon([500, 100], [503, 100], [503, 600], [500, 600])],  # a dyke
        [BASE, polygon([500, 100], [506, 100], [506, 106], [500, 106])],  # a pipe
        [BASE, interface([500, 100], [500.01, 105])],  # a fault
        [BASE, interface([0, 20.0], [1000, 20.0])],
        [BASE, {"type": "block", "z": [150.0, 152.0], **HARD}],
        [BASE, {"type": "water", "depth": 2.0}],
    ],
)
def test_thin_beds_and_small_bodies_are_not(parts):
    assert list(tiny_lengths(setup_of(parts))) == []


def test_depths_below_hills_in_km_are_asked_for_too():
    (line,) = tiny_lengths(setup_of([layers(0.0, 0.2, 0.5)], topography=HILLS))
    assert "'0.5 km'" in line
    assert list(tiny_lengths(setup_of([layers(0.0, 20.0, 500.0)], topography=HILLS))) == []

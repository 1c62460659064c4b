"""Lengths meant in km, and parts of the model of which nothing is left, are told; others not."""

import re

import numpy as np
import pytest

from seismo.errors import ScenarioError
from seismo.runs.prediction.checks.coverage import bodies_outside
from seismo.runs.prediction.checks.model_parts import hidden_parts
from seismo.runs.prediction.checks.shapes import outlines, tiny_lengths
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


SEA = {"type": "water", "depth": 300.0}
BODY = {"type": "block", "x": [300, 500], "z": [300, 500], **HARD}
BALL = {"type": "sphere", "center": {"x": 400.0, "y": 100.0, "z": 400.0}, "radius": 50.0, **HARD}
SQUARE = [[300, 300], [700, 300], [700, 700], [300, 700]]
OVER = {"type": "block", "x": [-1e5, 1e5], "z": [250, 600], **ROCK}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([BODY, BASE], ["] covers all of model[0]: it changes nothing; put it after model[1]"]),
        ([SEA, layers(300.0, 800.0)], ["after model[1], whose first layer reaches up"]),
        ([SEA, gradient(z_top=800.0)], ["put it after model[1], whose top value reaches up"]),
        ([SEA, table(800.0, 900.0)], ["whose first row"]),
        ([BASE, layers(800.0)], ["model[0]: it", "leave it out, or give its rock in model[1]"]),
        ([BASE, layers(0.0, 500.0), BODY], ["model[1] covers all of model[0]: "]),
        ([SEA, layers(0.0, 500.0), BODY, SEA | {"depth": 20}], ["model[1] covers all of model[0]"]),
        ([layers(0.0, 300.0), BASE], ["model[1] covers all of model[0]: "]),
        ([BASE, BODY, OVER], ["model[2] covers all of model[1]: ", "after model[2]"]),
        ([BASE, BALL | {"center": {"x": 400.0, "z": 400.0}}, BODY], ["model[2] covers all of"]),
        ([BASE, polygon(*SQUARE), OVER | {"x": [0, 450]}, OVER | {"x": [450, 1000], "z": [0, 900]}],
         []),
        ([BASE, polygon(*SQUARE), OVER | {"x": [0, 450], "z": [0, 900]},
          OVER | {"x": [450, 1000], "z": [0, 900]}], ["model[2] and model[3] cover all"]),
        ([BASE, interface([0, 900], [1000, 950]), {"type": "block", "z": [800, 1000], **ROCK}],
         ["model[2] covers all of model[1]: "]),
        ([BASE, polygon([300, 300], [500, 500], [400, 400])], ["nothing lies inside of the poly"]),
        ([BASE, polygon(*SQUARE, *SQUARE)], ["nothing lies inside"]),
        ([BASE, SEA | {"depth": 0.0}], ["nothing lies inside of the water"]),
    ],
)  # fmt: skip
def test_parts_of_which_nothing_is_left_are_named(parts, words):
    lines = list(hidden_parts(setup_of(parts)))
    assert len(lines) == bool(words)
    assert all(word in lines[0] for word in words), lines


@pytest.mark.parametrize(
    "parts",
    [
        [BASE, BODY, SEA],
        [BASE, BODY, OVER | {"x": [300, 499]}],  # a sliver is left
        [BASE, BODY, {"type": "block", "z": [0, 900], "vp": 2500.0}],  # vs and rho are
        [BASE, SEA, BODY | {"x": [0, 1000], "z": [0, 299]}],
        [BASE, OVER | {"z": [0, 1000]}],  # a background that bodies cover
        [BASE, polygon([500, 0], [503, 0], [603, 1000], [600, 1000])],  # a dyke
        [layers(0.0, 300.0, 5000.0), interface([0, 300], [1000, 400])],
        [BASE, {"type": "sphere", "center": {"x": 203, "z": 203}, "radius": 2, **HARD}],
        [BASE, {"type": "random", "hurst": 0.3, "correlation": 50.0, "std": 0.02, "seed": 1,
                "properties": ["vp"]}, BODY],
        [BASE, BALL | {"center": {"x": -300.0, "z": 500.0}}],  # beyond the grid: told elsewhere
    ],
)  # fmt: skip
def test_parts_of_which_something_is_left_are_not(parts):
    assert list(hidden_parts(setup_of(parts))) == []


def test_in_three_dimensions_too():
    small = {"size": 1000.0, "y": 200.0, "boundaries": {"layer": {"points": 5}}}
    assert "all of model[0]" in next(hidden_parts(setup_of([BALL, BASE], **small)))
    assert list(hidden_parts(setup_of([BASE, BALL, BODY | {"y": [0, 120]}], **small))) == []


def test_over_topography_too():
    covered = setup_of([BASE, BODY, OVER], topography=HILLS)
    (line,) = hidden_parts(covered)
    assert "model[2] covers all of model[1]: it" in line
    assert list(hidden_parts(setup_of([BASE, BODY], topography=HILLS))) == []


@pytest.mark.parametrize("interpolation", ["linear", "cells"])
def test_arrays_cover_bodies_before_them(interpolation):
    samples = {name: np.full((101, 101), value) for name, value in ROCK.items()}
    samples["vp"][50:] = 3000.0
    array = {"type": "array", "interpolation": interpolation, **samples}
    (line,) = hidden_parts(setup_of([BODY, array]))
    assert "model[1] covers all of model[0]: it" in line
    assert list(hidden_parts(setup_of([BASE, array, BODY]))) == []


def test_points_of_the_grid_count_where_averages_are_not_taken():
    ball = BALL | {"center": {"x": 203.0, "z": 203.0}, "radius": 1.0}
    (line,) = hidden_parts(setup_of([BASE, ball], averaging="point"))
    assert "no point of the grid lies inside of the sphere" in line
    assert list(hidden_parts(setup_of([BASE, ball | {"radius": 5.0}], averaging="point"))) == []


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[300, 300], [700, 700], [700, 300], [300, 700]],
         ["[300, 300] to [700, 700] and [700, 300] to [300, 700] cross:"]),
        ([[200, 50], [290, 330], [50, 155], [350, 155], [110, 330]], ["and 4 more pairs"]),
        ([*SQUARE, *SQUARE], ["[300, 300] to [700, 300] is there twice"]),
        ([*SQUARE, SQUARE[0]], []),
        (SQUARE[::-1], []),
        ([[0, 0], [0, 900], [900, 900], [900, 0], [0, 0], *SQUARE, SQUARE[0]], []),  # with a hole
        ([[300, 300], [500, 500], [700, 300], [700, 700], [500, 500], [300, 700]], []),
    ],
)  # fmt: skip
def test_outlines_in_a_wrong_order_are_told(points, words):
    lines = list(outlines(setup_of([BASE, polygon(*points)])))
    assert len(lines) == bool(words)
    assert all(word in lines[0] for word in words), lines


@pytest.mark.parametrize("order", [0, 1])
def test_a_sea_bed_above_the_grid_is_refused(order):
    sea = SEA | {"depth": -300.0}
    with pytest.raises(ScenarioError, match=rf"model\[{order}\].depth.*did you mean 300 m"):
        setup_of([BASE, sea] if order else [sea, layers(0.0, 800.0)])


def test_a_sea_bed_above_a_grid_that_begins_deeper_is_told():
    below = {"extent": {"x": 1000.0, "z": 1000.0}, "spacing": 10.0, "origin": {"z": 100.0}}
    (line,) = bodies_outside(setup_of([BASE, SEA | {"depth": 50.0}], grid=below))
    assert "the water ends at z = 50 m, before the grid, which begins at 100 m" in line

"""The spline of the ground: the same bits for points one by one, on lines and in cut cells.

Reference: `RectBivariateSpline.ev` of scipy, of each point by itself (Dierckx 1993, FITPACK).
"""

from collections import Counter

import numpy as np
import pytest

from seismo.features.topography.rows import GroundSpline
from seismo.model.effective import lattice
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_ground import LAYERS, solid

NODES = np.arange(0.0, 201.0, 10.0)


def spline():
    """Return a spline through heights that no low polynomial has."""
    rng = np.random.default_rng(3)
    return GroundSpline(NODES, NODES[:-4], rng.normal(size=(17, 21)))


def cells(count, limits=(0.0, 200.0)):
    """Return y, x (cells, 101) m of samples of some cells, moved to between limits."""
    rng = np.random.default_rng(1)
    at = np.sort(rng.choice(26 * 30, count, replace=False))
    _, y, x = lattice(3)
    rows = (10.0 * (at // 30) - 40.0)[:, None] + 10.0 * y
    columns = (10.0 * (at % 30) - 40.0)[:, None] + 10.0 * x
    return np.clip(rows, *limits), np.clip(columns, *limits)


LINE = np.linspace(-13.0, 213.0, 37)
DIAGONAL = np.linspace(0.0, 150.0, 300)[:, None] + [0.0, 5.0]
POINTS = {
    "nodes": (LINE[:, None], LINE),
    "rows of cells": (LINE[None, :9, None], LINE[None, None]),
    "cut cells": cells(700),
    "cells beyond the nodes": cells(700, (-50.0, 260.0)),
    "few cells": cells(20),
    "cells on lines of their own": (DIAGONAL, DIAGONAL),
    "row of points": (np.full((1, 1), 7.0), LINE),
    "not in order": (LINE[::-1, None], LINE),
    "lines of points": (LINE[::-1], LINE),
    "unlike shapes": (LINE[:, None], LINE[None, :] + np.zeros((37, 1))),
    "one": (np.array(7.0), np.array(190.0)),
}


@pytest.mark.parametrize("along", ["", "x", "y"])
@pytest.mark.parametrize("name", POINTS)
def test_points_have_the_bits_of_each_by_itself(name, along):
    y, x = POINTS[name]
    surface = spline()
    values = surface(y, x, along)
    each = np.broadcast_arrays(y, x)
    assert values.shape == each[0].shape
    assert np.array_equal(values.ravel(), surface(*(c.ravel() for c in each), along))


@pytest.mark.parametrize(
    ("name", "singly"),
    [
        ("nodes", 0),
        ("cut cells", 0),
        ("few cells", 1),
        ("cells on lines of their own", 1),
        ("row of points", 1),
    ],
)
def test_crossings_of_lines_are_evaluated_line_by_line(name, singly, monkeypatch):
    surface = spline()
    calls = Counter()
    evaluate = surface._spline.ev

    def counted(*points, **slopes):
        calls["ev"] += 1
        return evaluate(*points, **slopes)

    monkeypatch.setattr(surface._spline, "ev", counted)
    surface(*POINTS[name])
    assert calls["ev"] == singly


def test_the_ground_over_points_is_asked_once(monkeypatch):
    below = {"type": "layers", "layers": LAYERS[:1], "relative_to": "ground"}
    earth = discretize(from_dict(solid(model=[below, below]))).earth
    calls = Counter()
    evaluate = GroundSpline.__call__

    def counted(self, y, x, along=""):
        calls[along] += 1
        return evaluate(self, y, x, along)

    monkeypatch.setattr(GroundSpline, "__call__", counted)
    z, y, x = np.array([[60.0]]), np.array([[700.0]]), np.array([[800.0]])
    earth.sample(z, y, x)
    assert calls[""] == 1
    # Boxes: at their four corners.
    earth.uneven((z, y, x), (z + 50.0, y + 50.0, x + 50.0))
    assert calls[""] == 5

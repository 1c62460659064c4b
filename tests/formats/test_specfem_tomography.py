"""Text models of SPECFEM: interpolation is exact for what is linear, z points up."""

import numpy as np
import pytest

import solver
from seismo.errors import ScenarioError
from seismo.solver.discretize import discretize

X = np.linspace(-1000.0, 3000.0, 5)
Y = np.linspace(0.0, 2000.0, 3)
Z = np.linspace(-4000.0, 500.0, 4)


def rock(x, y, z):
    """Return vp, vs, rho, qp, qs that are linear along each axis (z upwards)."""
    vp = 4000.0 - 0.2 * z + 0.1 * x - 0.05 * y
    return vp, 0.5 * vp, 2000.0 + 0.1 * vp, 0.05 * vp, 0.02 * vp


def text_of(axes=3, columns=5, rows=None, levels=Z):
    ticks = (X, Y, levels) if axes == 3 else (X, levels)
    header = [
        " ".join(f"{t[0]:g}" for t in ticks) + " " + " ".join(f"{t[-1]:g}" for t in ticks),
        " ".join(f"{t[1] - t[0]:g}" for t in ticks),
        " ".join(f"{t.size}" for t in ticks),
        "1 9e3 1 9e3 1 9e3",
    ]
    lines = []
    for z in levels:
        for y in Y if axes == 3 else (0.0,):
            for x in X:
                place = (x, y, z) if axes == 3 else (x, z)
                lines.append(" ".join(f"{n:.10g}" for n in (*place, *rock(x, y, z)[:columns])))
    return "\n".join(["# origin, end", *header, "# points", *lines[:rows]]) + "\n"


def earth(folder, text, axes=3, lossy=True, below=(), **keys):
    (folder / "tomography_model.xyz").write_text(text)
    names = ("vp", "vs", "rho", "qp", "qs")[: 5 if lossy else 3]
    part = {"type": "volume", "path": "tomography_model.xyz", **{n: n for n in names}, **keys}
    level = {"y": 1000.0} if axes == 3 else {}
    document = {
        "physics": "elastic",
        "grid": {"extent": {"x": 2000.0, **level, "z": 3000.0}, "spacing": 250.0},
        "time": {"duration": 1.0}, "model": [*below, part],
        "sources": [{"type": "explosion", "position": {"x": 500.0, **level, "z": 500.0},
                     "wavelet": {"type": "ricker", "frequency": 1.0}}],
    }  # fmt: skip
    return discretize(solver.from_dict(document, base=folder)).earth


def test_values_are_those_of_the_file(tmp_path):
    x, y, z = (
        np.array([0.0, 130.0, 1990.0]),
        np.array([10.0, 700.0, 990.0]),
        np.array([5, 777, 3e3]),
    )
    for columns in (3, 5):
        sampled = earth(tmp_path, text_of(columns=columns), lossy=False).sample(z, y, x)
        for name, expected in zip(("vp", "vs", "rho"), rock(x, y, -z)[:3], strict=True):
            np.testing.assert_allclose(sampled[name], expected, rtol=1e-6)
    sampled = earth(tmp_path, text_of()).sample(z, y, x)
    np.testing.assert_allclose(sampled["qs"], rock(x, y, -z)[4], rtol=1e-6)


def test_models_of_specfem2d_have_no_y(tmp_path):
    x, z = np.array([0.0, 1990.0]), np.array([0.0, 3e3])
    text = text_of(axes=2, columns=3)
    sampled = earth(tmp_path, text, axes=2, lossy=False, format="specfem").sample(z, None, x)
    np.testing.assert_allclose(sampled["vp"], rock(x, 0.0, -z)[0], rtol=1e-6)


def test_the_smallest_velocities_of_a_part(tmp_path):
    x, y, z = np.zeros(2), np.zeros(2), np.array([0.0, 3000.0])
    least = {"vs": 2100.0, "vp": 4100.0}
    sampled = earth(tmp_path, text_of(), lossy=False, minimum=least).sample(z, y, x)
    np.testing.assert_allclose(sampled["vs"], [2100.0, 2300.0], rtol=1e-6)
    np.testing.assert_allclose(sampled["vp"], [4100.0, 4600.0], rtol=1e-6)
    np.testing.assert_allclose(sampled["rho"], [2400.0, 2460.0], rtol=1e-6)
    rock_below = {"type": "uniform", "vp": 5e3, "vs": 3e3, "rho": 2700.0}
    keys = {"minimum": least, "vs": None, "outside": "keep"}
    with pytest.raises(ScenarioError, match=r"minimum\.vs: .*this part has no vs"):
        earth(tmp_path, text_of(), lossy=False, below=[rock_below], **keys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3\nvp\n", r":2: is no line of numbers; expected a tomography_model.xyz"),
        ("1 2 3\n1 2 3\n1 2 3\n4\n", "its header has 3, 3 and 3 numbers"),
        (text_of().replace("5 3 4", "5 3 0"), r"points; spacings have to be above 0"),
        (text_of().replace("5 3 4", "5000 3000 4000"), "too short for the 60000000000 points"),
        (text_of(rows=59), "has 59 points of 8 numbers; expected 60"),
        (text_of().replace("5 3 4", "3 5 4"), "point 4 is at x = 2000 m, off the grid"),
        (text_of().replace(" 2000 -4000 ", " 2000 -4000 a"), "are no table of numbers"),
        (text_of(columns=4), "of 7 numbers; expected 60"),
        (text_of().replace("1000 1000 1500", "1 1 1"), "off the grid of its header"),
    ],
)
def test_malformed_files_are_refused(tmp_path, text, message):
    with pytest.raises(ScenarioError, match=message):
        earth(tmp_path, text)


@pytest.mark.parametrize(
    ("keys", "message"),
    [({"positive": "up"}, "says it itself"), ({"vp": "Cp"}, "has no column 'Cp'; available: vp")],
)
def test_keys_that_it_does_not_have(tmp_path, keys, message):
    with pytest.raises(ScenarioError, match=message):
        earth(tmp_path, text_of(), **keys)


def test_points_outside_are_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"z = .* \(elevation -.* m, .* is outside"):
        earth(tmp_path, text_of(levels=0.5 * Z))

"""Percents, radians, sources listed twice and samples that are cut are told; others are not."""

import re

import numpy as np
import pytest

from seismo.runs.prediction.checks.positions import POSITIONS
from seismo.runs.prediction.checks.shapes import percents, radians
from seismo.runs.prediction.checks.timing import TIMING
from seismo.scenario import load
from seismo.solver.discretize import discretize

ROCK = {"type": "uniform", "vp": 2000.0, "vs": 1000.0, "rho": 2000.0}
FORCE = {"type": "force", "force": {"z": 1e9}, "position": {"x": 500.0, "z": 500.0},
         "wavelet": {"type": "ricker", "frequency": 5.0}}  # fmt: skip
MOMENT = FORCE | {"type": "moment_tensor", "components": {"xz": 1e12}}
MOMENT.pop("force")


def discretized(model=(ROCK,), sources=(FORCE,), physics="elastic"):
    document = {
        "physics": physics,
        "grid": {"extent": {"x": 1000.0, "z": 1000.0}, "spacing": 20.0},
        "time": {"duration": 2.0},
        "model": list(model),
        "sources": list(sources),
        "receivers": [{"type": "points", "positions": [{"x": 300.0, "z": 300.0}]}],
    }
    return discretize(load(document))


def told(checks, discretization):
    return [line for check in checks for line in check(discretization)]


@pytest.mark.parametrize(
    ("physics", "given", "expected"),
    [
        ("elastic", {"epsilon": 0.2, "delta": 0.1}, []),
        ("elastic", {"epsilon": 2.0, "delta": 1.0}, ["epsilon: 2: .* write 0.02 if"]),
        ("elastic", {"epsilon": 0.2, "delta": 0.1, "theta": 30.0}, []),
        ("elastic", {"epsilon": 0.2, "delta": 0.1, "theta": 0.5}, ["in radians, write 28.65"]),
        ("elastic", {"epsilon": 0.2, "delta": 0.1, "theta": -1.0}, ["radians, write 57.3"]),
        ("elastic", {"epsilon": 0.2, "delta": 0.1, "theta": 0.0}, []),
    ],
)
def test_percents_and_radians_are_asked_for(physics, given, expected):
    lines = told((percents, radians), discretized([ROCK | given], physics=physics))
    assert len(lines) == len(expected)
    for line, pattern in zip(lines, expected, strict=True):
        assert line.startswith("model[0].")
        assert re.search(pattern, line), line


def test_a_small_tilt_beside_large_ones_is_one_of_a_fold():
    parts = [{"type": "block", "z": [z, z + 200.0], "vp": 2000.0, "theta": theta}
             for z, theta in ((200.0, 1.0), (600.0, 20.0))]  # fmt: skip
    assert not told((radians,), discretized([ROCK | {"epsilon": 0.1}, *parts], physics="elastic"))


def test_a_source_that_is_listed_twice_is_told():
    elsewhere = FORCE | {"position": {"x": 520.0, "z": 500.0}}
    sources = [FORCE, elsewhere, FORCE | {"name": "b"}]
    lines = [x for x in told(POSITIONS, discretized(sources=sources)) if "adds up" in x]
    assert len(lines) == 1
    assert lines[0].startswith("sources[2]: the same as sources[0]")


@pytest.mark.parametrize(
    ("source", "kept", "words"),
    [
        (FORCE, slice(0, None), []),
        (FORCE, slice(60, None), ["begin at"]),
        (FORCE, slice(0, 130), ["end at"]),
        (MOMENT, slice(60, 130), ["begin at", "end at"]),
        (MOMENT | {"time_function": "moment"}, slice(0, 130), []),
    ],
)
def test_samples_that_are_cut_are_told(source, kept, words, tmp_path):
    """The moment itself stays at its last sample, and so may end at any value."""
    times = 0.005 * np.arange(200)
    phase = (np.pi * 3.0 * (times - 0.5)) ** 2
    path = tmp_path / "ricker.txt"
    np.savetxt(path, np.column_stack([times, (1.0 - 2.0 * phase) * np.exp(-phase)])[kept])
    wavelet = {"type": "file", "path": str(path)}
    lines = [x for x in told(TIMING, discretized(sources=[source | {"wavelet": wavelet}]))
             if "radiates a jump" in x]  # fmt: skip
    assert len(lines) == len(words)
    assert all(word in line for word, line in zip(words, lines, strict=True))

"""Sources by themselves: the signal they drive a field with, and what no run can hold."""

from types import SimpleNamespace

import numpy as np
import pytest

import solver
from seismo.acquisition import spectra
from seismo.acquisition.sources import PointSource
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError


@pytest.mark.parametrize("delay", [0.0, -0.28, -0.38, -0.5, 0.3])
def test_the_integral_of_a_wavelet_counts_what_came_before_the_run(delay):
    """That of a Ricker wavelet is tau exp(-(pi f tau)^2), tau = t - delays.

    By 4-point Gauss rule in steps of a hundredth of a period the error is far below 1e-9.
    """
    f, own = 10.0, 0.3
    wavelet = SimpleNamespace(type="ricker", frequency=f, amplitude=1.0, delay=own)
    source = PointSource("s", "pressure", (0.0, 0.0, 0.0), {"": 1.0}, wavelet, delay, 0)
    times = np.arange(600) * 1e-3
    tau = times - own - delay
    exact = tau * np.exp(-((np.pi * f * tau) ** 2))
    assert np.abs(source.signal(times, -1) - exact).max() < 2e-9


def test_a_source_beyond_the_numbers_of_the_run_is_named():
    place = {"x": 100.0, "z": 100.0}
    strong = solver.source(
        physics_for("acoustic", 2), "pressure", place, amplitude=1e60, name="big"
    )
    document = {
        "physics": "acoustic", "grid": {"extent": {"x": 200.0, "z": 200.0}, "spacing": 10.0},
        "time": {"duration": 0.1}, "model": [{"type": "uniform", "vp": 2000.0}],
        "sources": [strong],
    }  # fmt: skip
    with pytest.raises(ScenarioError, match="source big: too strong for float32 numbers"):
        solver.build(document)
    solver.build(document | {"precision": "float64"})


DIPOLE = {"frame": "aki_richards", "components": {"yy": 1e15}}
UPWARD = {"frame": "gcmt", "components": {"pp": 1e15}}
STRIKE_SLIP = {"strike": 0.0, "dip": 90.0, "rake": 0.0, "moment": 1e15}


def mechanism(physics: str, source: dict, dimensions: int = 2) -> dict:
    axes = "xyz" if dimensions == 3 else "xz"
    wavelet = {"type": "ricker", "frequency": 10.0}
    return {
        "physics": physics,
        "grid": {"extent": dict.fromkeys(axes, 400.0), "spacing": 20.0},
        "time": {"duration": 0.1},
        "model": [{"type": "uniform", "vs": 1200.0, "rho": 2000.0}
                  | ({"vp": 2400.0} if physics == "elastic" else {})],
        "sources": [{"position": dict.fromkeys(axes, 200.0), "wavelet": wavelet} | source],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "key"),
    [(STRIKE_SLIP, "strike"), (DIPOLE, "components"), (UPWARD, "components"),
     (STRIKE_SLIP | {"rake": 180.0}, "strike")],
)  # fmt: skip
def test_a_moment_that_does_not_act_in_the_plane_is_refused(source, key):
    """Before, the rounding of cos 90 degrees radiated 1e-16 of the moment, without a word."""
    document = mechanism("elastic", {"type": "moment_tensor"} | source)
    with pytest.raises(ScenarioError, match="radiates nothing") as refused:
        solver.discretize(solver.from_dict(document))
    said = str(refused.value)
    assert f"sources[0].{key}" in said
    assert ("angles" in said) == (key == "strike")
    in_space = mechanism("elastic", {"type": "moment_tensor"} | source, 3)
    assert len(solver.discretize(solver.from_dict(in_space)).shots) == 1


def test_features_are_not_asked_about_each_source(monkeypatch):
    """They look through all sources to answer, so that time would grow as the square of these."""
    asked = []

    def kinds(scenario):
        asked.append(scenario)
        return {}

    monkeypatch.setattr(spectra, "kinds_of", kinds)
    document = mechanism("elastic", {"type": "explosion", "moment": 1.0})
    document["sources"] = [one | {"name": f"{n}"} for n in range(20) for one in document["sources"]]
    scenario = solver.from_dict(document)
    discretization = solver.discretize(scenario)
    spectra.frequency_bound(scenario)
    assert len(discretization.shots[0].sources) == 20
    assert len(asked) == 1  # by `frequency_bound`, once


def test_rounding_of_angles_does_not_radiate():
    """Of a fault across the plane, xy and yz are zero, not 1e-17 of the moment."""
    document = mechanism(
        "elastic", {"type": "moment_tensor"} | STRIKE_SLIP | {"strike": 90.0, "rake": 90.0}
    )
    (source,) = solver.discretize(solver.from_dict(document)).shots[0].sources
    sizes = [abs(value) for value in source.strength.values() if value]
    assert min(sizes) > 1e-9 * max(sizes)


@pytest.mark.parametrize(
    ("physics", "source"),
    [("elastic", {"type": "force", "force": {"y": 1.0}}),
     ("elastic_sh", {"type": "force", "force": {"x": 1.0}}),
     ("elastic_sh", {"type": "moment_tensor", "frame": "aki_richards", "components": {"xx": 1.0}})],
)  # fmt: skip
def test_what_moves_only_across_the_motion_is_refused(physics, source):
    with pytest.raises(ScenarioError):
        solver.discretize(solver.from_dict(mechanism(physics, source)))

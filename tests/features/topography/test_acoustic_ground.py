"""Acoustic waves under ground that slopes, on which the pressure vanishes.

Under a plane that dips the exact solution is that of a whole space less the wave of an image source
about it. That energy is constant and that cuts change nothing: `test_curved_rows`.
"""

import numpy as np
import pytest

import seismo
from seismo.errors import ScenarioError
from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.request import Request
from seismo.runs.run import resume
from seismo.solver.discretize import discretize
from test_resume import contents, report_every_step, stopped

exact = pytest.importorskip("seismo.exact.acoustic", reason="needs the validation extra")

H = 10.0
SPEED = 1700.0
RHO = 1200.0
FREQUENCY = 6.8  # Hz; the shortest wavelength is 100 m
FLUIDS = {
    "acoustic": {"vp": SPEED}, "acoustic_variable_density": {"vp": SPEED, "rho": RHO},
}  # fmt: skip
LOSSY = {name: fluid | {"qp": 30.0} for name, fluid in FLUIDS.items()}


def data(physics, fluid, **changes):
    """Return a small run over a hill, with some sections changed."""
    hill = {"center": {"x": 600.0}, "height": 90.0, "width": 150.0}
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": 1200.0, "z": 800.0}, "spacing": H, "order": 8},
        "time": {"duration": 0.5},
        "boundaries": {"top": "free_surface", "layer": {"points": 10}},
        "topography": {"type": "hills", "hills": [hill]},
        "model": [{"type": "uniform", **fluid}],
        "sources": [{"type": "pressure", "position": {"x": 400.0, "depth": 60.0},
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [{"type": "points", "quantities": ["pressure"],
                       "positions": [{"x": x, "depth": 23.0} for x in (560.0, 700.0)]}],
    } | changes  # fmt: skip


def traces(document, *names):
    """Run it; return traces (component, receiver, time) of the only set."""
    with seismo.run(document, backend="cpu") as results:
        (group,) = results.traces.values()
        return np.array([group.values_of(name)[0] for name in names]), group.time


@pytest.mark.parametrize("fluids", [FLUIDS, LOSSY], ids=["lossless", "lossy"])
def test_one_density_is_that_of_any(fluids):
    """Pressures of constant density are those of variable density, where it is the same."""
    one, any_density = (traces(data(name, fluid), "pressure")[0] for name, fluid in fluids.items())
    assert np.abs(one - any_density).max() < 1e-7 * np.abs(one).max()  # of traces in 32 bits


def dipping(physics, dip, order, receivers):
    """Return a run under a plane that dips by so many degrees, and the matrix of its frame.

    receivers: (receiver, 2) m down the slope and below it.
    """
    cosine = np.cos(np.radians(dip))
    sine = np.sin(np.radians(dip))
    turn = np.array([[cosine, -sine], [sine, cosine]])
    ground = {"type": "plane", "dip": f"{dip} deg", "through": {"x": 0.0, "z": 0.0}}
    x, z = turn @ SOURCE
    document = data(
        physics, FLUIDS[physics], topography=ground,
        grid={"extent": {"x": 1200.0, "z": 2600.0}, "spacing": H, "order": order,
              "origin": {"x": -500.0}},
        time={"duration": 0.62, "dispersion_removal": True},
    )  # fmt: skip
    document["sources"][0] |= {"position": {"x": float(x), "z": float(z)}}
    positions = [
        {"x": float(x), "depth": 0.0} if below == 0.0 else {"x": float(x), "z": float(z)}
        for (x, z), below in zip(receivers @ turn.T, receivers[:, 1], strict=True)
    ]
    document["receivers"] = [{"type": "points", "positions": positions, "quantities": [
        "pressure" if physics == "acoustic" else "velocity"]}]  # fmt: skip
    return document, turn


SOURCE = np.array([-60.0, 210.0])  # down the slope, and below it
IMAGE = SOURCE * np.array([1.0, -1.0])


def pulse(times):
    """Return the default wavelet: a Ricker pulse, 1.5 periods late."""
    phase = (np.pi * FREQUENCY * (times - 1.5 / FREQUENCY)) ** 2
    return (1.0 - 2.0 * phase) * np.exp(-phase)


@pytest.mark.parametrize(("dip", "order", "bar"), [(20.0, 8, 1.2e-3), (20.0, 4, 5e-3)])
def test_pressure_under_a_slope(dip, order, bar):
    receivers = np.array([[40.0, 7.0], [120.0, 33.0], [200.0, 150.0]])
    document, _ = dipping("acoustic", dip, order, receivers)
    (found,), times = traces(document, "pressure")
    wanted = exact.half_space_pressure(receivers, SOURCE, pulse(times), times[1], SPEED)
    errors = np.linalg.norm(found - wanted, axis=1) / np.linalg.norm(wanted, axis=1)
    assert errors.max() < bar


@pytest.mark.parametrize(("order", "bar"), [(8, 6e-3), (4, 1.2e-2)])
def test_motion_on_a_slope(order, bar):
    """On the ground, half a cell and two cells below it."""
    receivers = np.array([[40.0, 0.0], [120.0, 0.0], [120.0, 5.0], [120.0, 20.0]])
    document, turn = dipping("acoustic_variable_density", 20.0, order, receivers)
    found, times = traces(document, "vx", "vz")
    direct, reflected = (
        exact.velocity(receivers - start, pulse(times), times[1], SPEED, RHO)
        for start in (SOURCE, IMAGE)
    )
    wanted = np.einsum("ij,rjt->irt", turn, direct - reflected)
    errors = np.linalg.norm(found - wanted, axis=(0, 2)) / np.linalg.norm(wanted, axis=(0, 2))
    assert errors.max() < bar
    told = expected_error(discretize(seismo.load(document))).error
    assert told / 3.0 < errors.max() < 3.0 * told


def test_level_ground_gives_the_bits_of_none():
    level = {"type": "plane", "dip": 0.0, "through": {"x": 0.0, "z": 0.0}}
    document = data("acoustic", FLUIDS["acoustic"], topography=level)
    assert discretize(seismo.load(document)).physics.differences == "second"
    flat = {name: section for name, section in document.items() if name != "topography"}
    with (
        seismo.run(document, backend="cpu") as one, seismo.run(flat, backend="cpu") as other,
    ):  # fmt: skip
        assert one.traces_hash == other.traces_hash


def surveyed(batch):
    """Return a run of three shots with maps and snapshots on the ground."""
    shots = [{"position": {"x": x, "depth": 60.0}} for x in (300.0, 400.0, 777.0)]
    output = {"snapshots": [{"fields": ["p"], "interval": 0.05}]}
    document = data("acoustic", FLUIDS["acoustic"], output=output, precision="float32")
    return document | {"survey": {"shots": shots, "batch": batch}}


def test_batches_and_runs_that_were_stopped_change_no_bit(tmp_path, monkeypatch):
    report_every_step(monkeypatch)
    paths = [tmp_path / f"{name}.h5" for name in ("whole", "batch", "stopped")]
    for batch, path in zip((1, 2), paths, strict=False):
        seismo.run(surveyed(batch), path, backend="cpu").close()
    stopped(surveyed(2), paths[2], 60, backend="cpu")
    resume(f"{paths[2]}.run", Request()).close()
    wanted, *others = (contents(path) for path in paths)
    for found in others:
        assert [name for name in wanted if found.get(name) != wanted[name]] == []


@pytest.mark.parametrize(
    ("rock", "words"),
    [({"epsilon": 0.1, "delta": 0.05}, "neither of their two fields"),
     ({"epsilon": 0.1, "delta": 0.05, "theta": 20.0}, "neither of their two fields")],
)  # fmt: skip
def test_anisotropic_fluids_are_refused(rock, words):
    with pytest.raises(ScenarioError, match=words):
        discretize(seismo.load(data("acoustic", FLUIDS["acoustic"] | rock)))

"""Arrays of an .npz as scenarios: the model, places and the strength of the source are the same."""

import numpy as np
import pytest

import seismo
from seismo.acquisition import wavelets
from seismo.errors import ScenarioError
from seismo.formats.converted_run import convert
from seismo.scenario import load
from seismo.solver.discretize import discretize

SHAPE = (41, 61)  # z, x
VP = np.linspace(1500.0, 2500.0, SHAPE[0])[:, None] * np.ones(SHAPE[1])


def ricker(count, dt, frequency):
    a = (np.pi * frequency * (np.arange(count) * dt - 1.5 / frequency)) ** 2
    return (1.0 - 2.0 * a) * np.exp(-a)


WAVELET = ricker(200, 1e-3, 20.0)
ARRAYS = {
    "vp": VP, "spacing": 10.0, "sources": np.array([[2, 30]]),
    "receivers": np.array([[2, 5], [2, 15], [2, 25]]), "wavelet": WAVELET, "dt": 1e-3,
}  # fmt: skip


def converted(folder, axes=None, units=None, **changed):
    arrays = {name: array for name, array in (ARRAYS | changed).items() if array is not None}
    np.savez(folder / "run.npz", **arrays)
    run = convert(folder / "run.npz", folder / "scenario.yaml", axes, units)
    (folder / "scenario.yaml").write_text(run.text())
    for name, content in run.side_files.items():
        (folder / name).write_bytes(content)
    return load(folder / "scenario.yaml"), run


def test_a_model_with_indices(tmp_path):
    scenario, run = converted(tmp_path)
    assert (scenario.grid.extent.x, scenario.grid.extent.z) == (600.0, 400.0)
    assert (scenario.sources[0].position.x, scenario.sources[0].position.z) == (300.0, 20.0)
    assert scenario.time.duration == pytest.approx(0.199)  # 200 samples
    assert scenario.receivers[0].interval == pytest.approx(1e-3)
    discretization = discretize(scenario)
    (group,) = discretization.groups
    assert group.coordinates[:, [0, -1]].tolist() == [[50, 20], [150, 20], [250, 20]]
    vp = discretization.earth.sample(np.array([100.0, 350.0]), None, np.array([0.0, 600.0]))["vp"]
    np.testing.assert_allclose(vp, [1750.0, 2375.0])
    t = np.arange(200) * 1e-3
    np.testing.assert_allclose(
        wavelets.evaluate(scenario.sources[0].wavelet, t, tmp_path), WAVELET, atol=1e-7
    )
    assert not run.left_out
    text = (tmp_path / "scenario.yaml").read_text()
    assert "Assumed: the axes of the arrays are z, x (--axes)." in text
    assert "Assumed: velocities are in m/s, the largest is 2500." in text


def test_axes_and_units_as_devito_has_them(tmp_path):
    scenario, _ = converted(
        tmp_path, axes="xz", vp=1e-3 * VP.T, dt=1.0, spacing=np.array([10.0, 10.0]),
        sources=None, receivers=None, wavelet=None, src_data=WAVELET[:, None],
        src_coordinates=np.array([[300.0, 20.0]]),
        rec_coordinates=np.array([[50.0, 20.0], [155.0, 30.0]]),
    )  # fmt: skip
    assert (scenario.grid.extent.x, scenario.grid.extent.z) == (600.0, 400.0)
    assert scenario.time.duration == pytest.approx(0.199)  # of 200 samples of 1 ms
    assert scenario.sources[0].amplitude == 100.0
    earth = discretize(scenario).earth
    assert float(earth.sample(np.array(100.0), None, np.array(250.0))["vp"]) == pytest.approx(
        1750.0
    )


def test_shots_and_receivers_that_move_with_them(tmp_path):
    sources = np.array([[[2, 10]], [[2, 20]], [[2, 30]]])
    receivers = sources + np.array([[0, -5], [0, -3], [0, 2]])
    amplitudes = np.broadcast_to(WAVELET, (3, 1, 200))
    scenario, _ = converted(
        tmp_path, sources=None, receivers=None, wavelet=None, source_locations=sources,
        receiver_locations=receivers, source_amplitudes=amplitudes,
    )  # fmt: skip
    assert scenario.survey.line.count == 3
    (group,) = scenario.receivers
    assert group.relative_to == "source"
    assert [p.x for p in group.positions] == [-50.0, -30.0, 20.0]
    assert {p.z for p in group.positions} == {20.0}
    scenario, _ = converted(tmp_path, sources=np.array([[2, 10], [2, 21], [3, 30]]))
    assert [s.position.x for s in scenario.survey.shots] == [100.0, 210.0, 300.0]


DEEPWAVE = {
    "sources": None, "receivers": None, "wavelet": None,
    "source_locations": ARRAYS["sources"][None], "receiver_locations": ARRAYS["receivers"][None],
    "source_amplitudes": WAVELET[None, None],
}  # fmt: skip


def test_names_of_deepwave_say_its_sign_and_seconds(tmp_path):
    """It adds -v^2 dt^2 times the samples; steps beyond its limit are divided, and in s."""
    scenario, run = converted(tmp_path, **DEEPWAVE, dt=4e-3, spacing=5.0)
    assert scenario.sources[0].amplitude == -25.0
    assert scenario.time.duration == pytest.approx(199 * 4e-3)
    assert scenario.receivers[0].interval == pytest.approx(4e-3)
    assert "Deepwave subtracts them" in " ".join(run.text().replace("\n#", " ").split())
    places = {name: DEEPWAVE[name].astype(float) for name in DEEPWAVE if "locations" in name}
    same, _ = converted(tmp_path, **DEEPWAVE | places, dt=4e-3, spacing=5.0)
    assert same.sources[0].position == scenario.sources[0].position  # its places are indices
    assert same.receivers == scenario.receivers
    scenario, _ = converted(tmp_path, **DEEPWAVE, vp=1e-3 * VP, dt=0.1)
    assert scenario.time.duration == pytest.approx(19.9)


@pytest.mark.parametrize(
    ("name", "dt", "scale", "interval"),
    [("dt", 4e-3, 1.0, 4e-3), ("dt_s", 0.2, 1e-3, 0.2), ("dt_ms", 2.0, 1.0, 2e-3),
     ("dt", 4e-3, 1e-3, 4e-3), ("dt", 2.0, 1e-3, 2e-3)],
)  # fmt: skip
def test_a_name_says_the_unit_of_the_interval(tmp_path, name, dt, scale, interval):
    """Of plain names in s; in ms where the unit of velocities is m/ms and s would be too long."""
    scenario, _ = converted(tmp_path, vp=scale * VP, **{"dt": None, name: dt})
    assert scenario.time.duration == pytest.approx(199 * interval)


def test_places_of_devito_fire_together(tmp_path):
    """(n, axes) is one shot of n sources, each with its column of samples."""
    pair = np.stack([WAVELET, -0.5 * WAVELET], axis=1)
    places = {"sources": None, "wavelet": None, "src_coordinates": np.array([[2, 30], [2, 40]])}
    scenario, run = converted(tmp_path, **places, src_data=pair)
    assert scenario.survey is None
    assert "whole numbers are indices" in " ".join(run.text().replace("\n#", " ").split())
    assert [source.position.x for source in scenario.sources] == [300.0, 400.0]
    t = np.arange(200) * 1e-3
    for source, column in zip(scenario.sources, pair.T, strict=True):
        np.testing.assert_allclose(
            wavelets.evaluate(source.wavelet, t, tmp_path), column, atol=1e-7
        )
    scenario, _ = converted(tmp_path, **places, src_data=pair[:, :1])
    assert len({source.wavelet.path for source in scenario.sources}) == 1
    with pytest.raises(ScenarioError, match="src_data has 2 wavelets, and src_coordinates 3"):
        converted(
            tmp_path, **places | {"src_coordinates": np.array([[2, 3], [2, 4], [2, 5]])},
            src_data=pair,
        )  # fmt: skip
    with pytest.raises(ScenarioError, match="has names of Deepwave and Devito"):
        converted(tmp_path, **DEEPWAVE | places, src_data=pair)


def test_the_physics_has_what_the_arrays_give(tmp_path):
    names = ("vs", "rho", "qp")
    vs = 0.5 * VP
    rho = np.full(SHAPE, 2.0)
    qp = np.full(SHAPE, 50.0)
    for extra in ({}, {"rho": rho}, {"vs": vs, "rho": rho}, {"qp": qp}):
        scenario, _ = converted(tmp_path, **extra)
        assert [n for n in names if getattr(scenario.model[0], n) is not None] == [
            n for n in names if n in extra
        ]
        assert scenario.model[0].interpolation == "cells"  # a sample is a point of their grids
        assert (scenario.sources[0].type == "explosion") == ("vs" in extra)
    assert discretize(converted(tmp_path, rho=rho)[0]).earth.sample(
        np.array(0.0), None, np.array(0.0)
    )["rho"] == pytest.approx(2000.0)


@pytest.mark.slow
def test_samples_are_added_to_one_point(tmp_path):
    """The run equals leapfrog of (1/vp^2) p_tt = lap p + s at one point, to its dispersion."""
    count = 240
    dt = 1e-3
    h = 10.0
    v = 2000.0
    wavelet = ricker(count, dt, 8.0)
    n = 151
    now = np.zeros((n, n))
    before = np.zeros((n, n))
    trace = []
    for sample in wavelet:
        trace.append(now[75, 95])
        lap = np.zeros_like(now)
        lap[1:-1, 1:-1] = (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        ) / h**2
        lap[75, 75] += sample
        now, before = 2 * now - before + (v * dt) ** 2 * lap, now
    scenario, _ = converted(
        tmp_path, vp=np.full((61, 61), v), sources=np.array([[30, 30]]), dt=dt, wavelet=wavelet,
        receivers=np.array([[30, 50]]),
    )  # fmt: skip
    with seismo.run(scenario, tmp_path / "x.h5") as results:
        mine = results.traces["receivers"]["pressure"][0, 0]
    assert mine.size == count
    assert np.linalg.norm(mine - trace) < 0.03 * np.linalg.norm(trace)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"vp": None}, "has no vp"),
        ({"spacing": None}, "has no spacing"),
        ({"vp": VP.ravel()}, "vp has 1 axes; 2 or 3"),
        ({"rho": VP.T}, "rho has the shape"),
        ({"vs": VP}, "has vs and no rho"),
        ({"wavelet": np.array([WAVELET, 2 * WAVELET])}, "one wavelet of 2 or more samples"),
        ({"sources": np.zeros((1, 2, 2), int)}, "has 2 sources in each shot"),
        ({"receivers": np.zeros((3, 3), int)}, r"receivers has the shape \(3, 3\)"),
        ({"vp": VP * np.nan}, "vp: holds what is no finite number"),
        ({"dt": None}, "has no dt"),
        ({"dt": -1.0}, "dt is -1; it has"),
    ],
)
def test_mistakes_are_one_line(tmp_path, changed, message):
    with pytest.raises(ScenarioError, match=message) as error:
        converted(tmp_path, **changed)
    assert "\n" not in str(error.value)


def test_the_command(tmp_path, command_line, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", **ARRAYS, colour=np.zeros(3))
    code, out, err = command_line("convert", "a.npz", "--axes", "zx", "-o", "b.yaml")
    assert (code, out) == (0, "b-vp.npy\nb-wavelet.txt\nb.yaml\n")
    assert err.startswith("a.npz: colour: no array of a scenario has this name")
    (tmp_path / "a.in").write_text("grid x=1 h=1\n")
    assert "--axes and --units are for arrays" in command_line("convert", "a.in", "--axes", "xz")[2]
    (tmp_path / "broken.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-300])
    assert command_line("convert", "broken.npz")[0] == 2

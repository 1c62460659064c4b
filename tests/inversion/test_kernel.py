"""Sensitivity kernels: measurements against differences, causality, the hole, mistakes."""

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize_scalar

import seismo
from seismo.errors import ScenarioError
from seismo.inversion.imaging.kernels import PreparedKernel, amplitude, traveltime
from seismo.inversion.imaging.results import open_kernel
from seismo.inversion.imaging.run import add_shots
from seismo.inversion.imaging.settings import load_kernel
from seismo.inversion.survey.course import TaskRequest
from small_inversion import ON_ONE_THREAD, scenario, write_scenario

VP = 2300.0
SOURCE = {"x": 180.0, "z": 280.0}
RECEIVER = {"x": 420.0, "z": 280.0}
END = 0.235  # s of the window
WELL = {"type": "points", "name": "well", "quantities": ["pressure"], "interval": 1e-3}
SETTINGS = {
    "window": {"before": {"delay": END - 0.02}, "taper": 0.02},
    "snapshots": 1,
}


def transmission(**keys) -> dict:
    """Return a source and a receiver in uniform rock."""
    document = scenario(
        model=[{"type": "uniform", "vp": VP}], boundaries={"layer": {"points": 8}},
        grid={"extent": {"x": 600.0, "z": 560.0}, "spacing": 10.0, "order": 4},
        time={"duration": 0.26},
        receivers=[WELL | {"positions": [RECEIVER]}],
        survey={"shots": [{"position": SOURCE}]},
    )  # fmt: skip
    return document | keys


def prepared(folder, **keys) -> PreparedKernel:
    document = {"scenario": transmission()} | SETTINGS | keys
    path = folder / "kernel.yaml"
    text = {key: value for key, value in document.items() if value is not None}
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    return PreparedKernel(load_kernel(path), seismo.Propagator, ON_ONE_THREAD)


def kernels(task: PreparedKernel, path) -> dict[str, np.ndarray]:
    with open_kernel(add_shots(task, TaskRequest(path))) as results:
        return {name: results.array(name) for name in results.names}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernel")


@pytest.fixture(scope="module")
def ready(folder):
    return prepared(folder)


@pytest.fixture(scope="module")
def by_vp(ready, folder):
    return kernels(ready, folder / "traveltime.h5")["vp"]


def waves(vp: float) -> np.ndarray:
    """Return the trace (sample) of uniform rock, which ends as the window does."""
    models = seismo.Propagator(transmission(), ["vp"], {"vp": (2200.0, 2400.0)}, backend="cpu")
    return models(vp=np.full(models.shape, vp))["well"]["pressure"][0, 0]


def delay(later: np.ndarray, earlier: np.ndarray) -> float:
    """Return the time in s by which a trace lags another: the largest of their correlation."""
    window = np.clip((END - 1e-3 * np.arange(later.size)) / 0.02, 0.0, 1.0)
    weights = 0.5 - 0.5 * np.cos(np.pi * window)
    return lag_of(weights * later, weights * earlier, 1e-3)


def lag_of(later: np.ndarray, earlier: np.ndarray, interval: float) -> float:
    """Return the lag in s at which the correlation of traces (sample) is largest."""
    spectra = [np.fft.rfft(trace, 4 * trace.size) for trace in (later, earlier)]
    phase = 2j * np.pi * np.fft.rfftfreq(4 * later.size, interval)
    product = spectra[0] * spectra[1].conj()

    def correlation(lag: float) -> float:
        return -float((product * np.exp(phase * lag)).real.sum())

    limits = {"bounds": (-5e-3, 5e-3), "method": "bounded", "options": {"xatol": 1e-10}}
    return float(minimize_scalar(correlation, **limits).x)


def test_a_kernel_sums_to_the_shift_of_uniform_changes(by_vp):
    """The delay of measured traces, and the travel time: 240 m at 2300 m/s."""
    first = waves(VP)
    step = 1e-3
    measured = [delay(waves(VP * (1.0 + s)), first) for s in (step, -step)]
    by_ln_vp = by_vp.sum() * 10.0**2
    assert by_ln_vp == pytest.approx((measured[0] - measured[1]) / (2.0 * step), rel=1e-3)
    assert by_ln_vp == pytest.approx(-240.0 / VP, rel=0.03)


def test_a_kernel_is_zero_where_waves_come_too_late(ready, by_vp):
    """Beyond the ellipse from whose points waves arrive before the window ends."""
    z, x = np.meshgrid(ready.axes["z"], ready.axes["x"], indexing="ij")
    path = sum(np.hypot(x - p["x"], z - p["z"]) for p in (SOURCE, RECEIVER))
    outside = path / VP > END
    assert 0.2 < outside.mean() < 0.8
    assert np.abs(by_vp[outside]).max() < 1e-8 * np.abs(by_vp).max()
    # Inside, between source and receiver: slower is later.
    assert (by_vp[26:31, 24:37] < 0.0).all()


def test_measurements_are_derivatives_of_traces():
    time = 2e-3 * np.arange(200)
    pulse = np.exp(-(((time - 0.2) / 0.03) ** 2))[None]
    later = np.exp(-(((time - 0.2 - 1e-5) / 0.03) ** 2))[None]
    _, by_trace = traveltime(pulse, pulse, 2e-3)
    assert ((later - pulse) * by_trace).sum() == pytest.approx(1e-5, rel=1e-3)
    # Of a record that ends within the wave.
    cut = pulse[:, :105]
    change = 1e-3 * np.sin(0.2 * np.arange(105.0))
    _, by_trace = traveltime(cut, cut, 2e-3)
    lag = lag_of(cut[0] + change, cut[0], 2e-3)
    assert (change * by_trace[0]).sum() == pytest.approx(lag, rel=0.03)
    _, by_trace = amplitude(pulse, pulse)
    assert (0.01 * pulse * by_trace).sum() == pytest.approx(0.01)
    assert (traveltime(0.0 * pulse, pulse, 2e-3)[1] == 0.0).all()


def test_an_amplitude_kernel_agrees_with_differences(folder):
    array = kernels(prepared(folder, kind="amplitude", window=None), folder / "amplitude.h5")["vp"]
    sizes = [np.log(np.linalg.norm(waves(VP * (1.0 + s)))) for s in (1e-3, -1e-3)]
    assert array.sum() * 10.0**2 == pytest.approx((sizes[0] - sizes[1]) / 2e-3, rel=1e-3)


def test_a_waveform_kernel_is_the_gradient_of_the_misfit(folder):
    write_scenario(folder, **transmission(model=[{"type": "uniform", "vp": 2250.0}]))
    task = prepared(folder, kind="waveform", observed="observed.h5", window=None)
    array = kernels(task, folder / "waveform.h5")["vp"]
    with seismo.open_results(folder / "observed.h5") as results:
        observed = results.traces["well"].values_of("pressure", 0)[None]
    _, gradient = seismo.misfit(task.propagator, {"well": {"pressure": observed}})(**task.models)
    expected = VP * gradient["vp"] / 10.0**2
    assert array == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())


def test_kernels_of_receivers_are_added(folder):
    """Travel times of both are later by the sum."""
    positions = [RECEIVER, {"x": 400.0, "z": 350.0}]
    both = transmission(receivers=[WELL | {"positions": positions}])
    chosen = (None, ["R0000"], ["R0001"])
    arrays = [
        kernels(prepared(folder, scenario=both, codes=codes), folder / f"sum{n}.h5")["vp"]
        for n, codes in enumerate(chosen)
    ]
    assert arrays[0] == pytest.approx(arrays[1] + arrays[2], abs=1e-9 * np.abs(arrays[0]).max())
    with open_kernel(folder / "sum2.h5") as results:
        assert list(results.positions("receiver", "z")) == [350.0]


@pytest.mark.slow
def test_a_travel_time_in_3d_does_not_feel_the_ray(folder):
    """The hole of the doughnut (Dahlen, Hung & Nolet 2000), amid source and receiver."""
    line = {"y": 180.0, "z": 180.0}
    document = transmission(
        grid={"extent": {"x": 600.0, "y": 360.0, "z": 360.0}, "spacing": 10.0, "order": 4},
        time={"duration": 0.32},
        receivers=[WELL | {"positions": [{"x": 500.0} | line]}],
        sources=[scenario()["sources"][0] | {"position": {"x": 100.0} | line}],
        survey={"shots": [{"position": {"x": 100.0} | line}]},
    )  # fmt: skip
    task = prepared(folder, scenario=document, window=None, snapshots=None)
    array = kernels(task, folder / "doughnut.h5")["vp"]
    amid = array[:, :, 30]
    assert abs(amid[18, 18]) < 0.15 * np.abs(amid).max()
    ring = amid[18, 18:]
    assert ring[np.abs(ring).argmax()] < 0.0
    assert array.sum() * 10.0**3 == pytest.approx(-400.0 / VP, rel=0.03)


@pytest.mark.parametrize(
    ("keys", "place", "problem"),
    [
        ({"kind": "phase"}, "kind", "must be one of traveltime, amplitude, waveform"),
        ({"kind": "waveform"}, "kernel.yaml", "waveform needs observed traces"),
        ({"observed": "a.h5"}, "kernel.yaml", "observed is no key of traveltime"),
        ({"receivers": "line"}, "receivers", "must be a set of the scenario: well"),
        ({"component": "vz"}, "component", "must be one that well records: pressure"),
        ({"codes": ["R7"]}, "codes", "R7 is no receiver of well; use R0000"),
        ({"parameters": ["vp", "rho"]}, "parameters[1]", "is no parameter of acoustic; use vp"),
    ],
)
def test_mistakes_are_named_with_their_place(folder, keys, place, problem):
    with pytest.raises(ScenarioError) as caught:
        prepared(folder, **keys)
    (message,) = caught.value.messages
    assert message.startswith(f"{folder}/kernel.yaml")
    assert f"{place}: " in message or place in message
    assert problem in message


def test_a_window_without_waves_is_refused(folder):
    task = prepared(folder, window={"before": {"delay": "60 ms"}})
    with pytest.raises(ScenarioError, match="no waves of shot_000 reach R0000 in it"):
        add_shots(task, TaskRequest(folder / "silent.h5", resume=False))


def test_the_command_checks_computes_and_draws(folder, command_line):
    prepared(folder)
    file = folder / "kernel.yaml"
    options = ("--backend", "cpu", "--threads", "1")
    code, out, _ = command_line("kernel", file, "--check", *options)
    assert code == 0
    assert "kernels     by vp at 57 x 61 nodes" in out
    assert "traveltime of well.pressure, 1 receiver" in out
    output = folder / "drawn.h5"
    code, out, _ = command_line("kernel", file, *options, "--output", output)
    assert (code, out.strip()) == (0, str(output))
    code, out, _ = command_line("plot", output)
    assert (code, out.strip()) == (0, str(folder / "drawn-kernel.png"))
    code, out, _ = command_line("info", output)
    assert "kernel of   traveltime of well.pressure at R0000" in out
    assert "s/m^2" in out


def test_the_example_is_sound():
    from pathlib import Path

    folder = Path(__file__).resolve().parents[2] / "inversions"
    kernel = load_kernel(folder / "traveltime_kernel.yaml")
    assert kernel.background_scenario().physics == "elastic"
    assert (kernel.kind, kernel.component) == ("traveltime", "vx")

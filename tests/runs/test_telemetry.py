"""What is sampled while a run steps: kept, thinned out evenly, drawn; and what a card tells."""

from types import SimpleNamespace

import numpy as np
import pytest

import seismo
from seismo.backends.gpu.detect import health_of
from seismo.backends.reference import ReferenceBackend
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.output.figures import KINDS, draw, figure_of
from seismo.runs.loop import run_loop
from seismo.runs.loop import time_loop as telemetry
from seismo.runs.loop.time_loop import Telemetry
from seismo.runs.progress import Progress, facts
from test_run import SCENARIO


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Report after every stretch of steps, and take the bandwidth from the first on."""
    monkeypatch.setattr(run_loop, "REPORT_EVERY", 0.0)
    monkeypatch.setattr(
        run_loop.StepTimer, "queueable_steps", property(lambda pace: 10 - pace._steps)
    )
    monkeypatch.setattr(ReferenceBackend.__base__, "measured_from", 0.0)
    monkeypatch.setattr(ReferenceBackend.__base__, "bandwidth", lambda backend: 1e9)
    said = []
    found = seismo.run(SCENARIO, tmp_path / "x.h5", said.append, backend="cpu")
    yield found, [p for p in said if p.phase == "step"]
    found.close()


def test_a_run_keeps_its_series(results):
    """A sample for each report, by a clock that goes on; shares are speeds over the bandwidth."""
    found, reports = results
    series = found.telemetry
    assert len(series.time) == len(reports) > 10
    assert (np.diff(series.time) > 0).all()
    speed, share = (series.values_of(n) for n in ("points_per_second", "bandwidth_share"))
    numbers = 4 * physics_for(SCENARIO["physics"], 2).numbers_per_point
    np.testing.assert_allclose(share, speed * numbers / 1e9, rtol=1e-6)
    assert (series.values_of("memory") > 1e6).all()
    busy = series.values_of("utilisation")
    assert ((busy >= 0) & (busy <= 1)).all()
    assert series.unit("points_per_second") == "points/s"
    assert {"output_waiting", "output_stalls"} <= set(series)
    assert reports[-1].share == pytest.approx(found.summary["bandwidth_share"])
    assert reports[-1].health["memory"] > 1e6


def test_a_figure_of_it(results, tmp_path):
    found, _ = results
    assert draw(found, "telemetry", tmp_path / "a.png").stat().st_size > 1000
    figure_of(found, "telemetry", quantities="memory,utilisation")
    assert not KINDS["telemetry"].available(found)  # only where it is named
    with pytest.raises(ScenarioError, match="power"):
        draw(found, "telemetry", tmp_path / "c.png", quantities="power")


def test_too_many_samples_are_thinned_evenly(monkeypatch):
    """Of 100 at most 8 stay, as far apart as they can be: every sixteenth, the last included."""
    monkeypatch.setattr(telemetry, "MOST", 8)
    samples = Telemetry(SimpleNamespace(), SimpleNamespace(), several=False)
    for n in range(1, 97):
        samples.add(float(n), {"memory": 2.0 * n} | ({"power": 1.0} if n > 50 else {}))
    series = samples.series()
    assert list(series) == ["time", "memory", "power"]
    np.testing.assert_array_equal(series["time"], np.arange(16, 97, 16))
    np.testing.assert_array_equal(series["memory"], 2 * series["time"])
    np.testing.assert_array_equal(np.isnan(series["power"]), series["time"] <= 50)


def test_what_a_report_says():
    health = {"utilisation": 0.98, "memory": 3.2e9, "power": 611.6, "temperature": 61.0}
    said = facts(Progress("step", 5, 10, points_per_second=2e11, share=0.8, health=health))
    assert "200 Gpoint/s  80% of the copy bandwidth" in said
    assert said.endswith("98% busy, 3.2 GB, 612 W, 61 °C")


class Nvml(SimpleNamespace):
    """A library that knows one card, without a sensor of power."""

    NVMLError = ValueError
    NVML_TEMPERATURE_GPU = 0

    def nvmlInit(self):  # noqa: N802
        pass

    def nvmlDeviceGetHandleByPciBusId(self, bus):  # noqa: N802
        if bus != "0000:1B:00.0":
            raise ValueError("not found")
        return 7

    def nvmlDeviceGetUtilizationRates(self, card):  # noqa: N802
        return SimpleNamespace(gpu=97)

    def nvmlDeviceGetMemoryInfo(self, card):  # noqa: N802
        return SimpleNamespace(used=3 << 30)

    def nvmlDeviceGetPowerUsage(self, card):  # noqa: N802
        raise ValueError("not supported")

    def nvmlDeviceGetTemperature(self, card, sensor):  # noqa: N802
        return 55


def test_what_a_card_tells():
    """What has no sensor is left out; without the library there is nothing, and no error."""
    health = health_of("0000:1B:00.0", Nvml())
    assert health() == {"utilisation": 0.97, "memory": 3 << 30, "temperature": 55.0}
    assert health_of("0000:FF:00.0", Nvml())() == {}
    assert health_of("0000:1B:00.0")() == {}

"""Observed traces: from results and SEG-Y to the shots, receivers and samples of a scenario."""

import numpy as np
import pytest
import yaml

import seismo
from seismo.errors import ScenarioError
from seismo.inversion.survey.observed import read_observed
from seismo.output.export import export
from seismo.solver.discretize import discretize
from small_inversion import scenario, settings, write_scenario

WELL = scenario()["receivers"][0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of a scenario, its results and its SEG-Y file."""
    path = tmp_path_factory.mktemp("observed")
    write_scenario(path)
    with seismo.open_results(path / "observed.h5") as results:
        list(export(results, "segy", path))
    return path


def observed(folder, changes=None, **keys):
    """Read the observed traces of a scenario that was changed."""
    run = seismo.load(scenario()).changed(changes or {})
    inversion = settings(folder, **keys)
    return read_observed(inversion, inversion.observed, discretize(run))


def recorded(folder) -> np.ndarray:
    with seismo.open_results(folder / "observed.h5") as results:
        traces = results.traces["well"]
        return np.stack([traces.values_of("pressure", n) for n in (0, 1)]).astype(float)


def segy_of(folder) -> str:
    (path,) = folder.glob("*.segy")
    return path.name


def test_results_are_read_as_they_are(folder):
    traces = observed(folder)
    assert traces.remarks == []
    assert (traces.sections["well"]["pressure"] == recorded(folder)).all()


def test_segy_has_the_same_traces(folder):
    traces = observed(folder, observed=segy_of(folder))
    assert traces.remarks == []
    expected = recorded(folder)
    # Samples of a file have 32 bits.
    assert traces.sections["well"]["pressure"] == pytest.approx(
        expected, rel=1e-6, abs=1e-7 * float(np.abs(expected).max())
    )


def with_points(*depths: float) -> dict:
    """Return receivers of the well at depths in m."""
    positions = [{"x": 350.0, "z": z} for z in depths]
    points = {"type": "points", "positions": positions}
    return {"receivers": [{k: WELL[k] for k in ("name", "quantities", "interval")} | points]}


def test_receivers_of_results_are_matched_by_their_codes(folder):
    """Codes count from R0000: those of other depths are other receivers."""
    with pytest.raises(ScenarioError, match=r"R0001 lies 40 m from the scenario's"):
        observed(folder, with_points(60.0, 140.0))
    section = observed(folder, with_points(60.0, 100.0)).sections["well"]["pressure"]
    assert (section == recorded(folder)[:, :2]).all()
    traces = observed(folder, with_points(*np.arange(60.0, 341.0, 40.0)))
    assert np.isnan(traces.sections["well"]["pressure"][:, 7]).all()
    assert "2 of 16 traces of well.pressure are not there" in traces.remarks[0]


def test_receivers_of_segy_are_matched_by_their_positions(folder):
    traces = observed(folder, with_points(300.0, 60.0, 155.1), observed=segy_of(folder))
    section = traces.sections["well"]["pressure"]
    expected = recorded(folder)[:, [6, 0]]
    assert section[:, :2] == pytest.approx(expected, abs=1e-6 * float(np.abs(expected).max()))
    assert np.isnan(section[:, 2]).all()
    assert "2 of 6 traces of well.pressure are not there" in traces.remarks[0]


@pytest.mark.parametrize(("interval", "most"), [(4e-3, 4e-3), (1e-3, 1e-4), (2.5e-3, 1e-3)])
def test_other_sampling_is_interpolated(folder, interval, most):
    """Against a run with that interval; at 4 ms frequencies from 100 Hz on, 0.3 %, are left out."""
    changes = {"receivers[0].interval": interval}
    traces = observed(folder, changes)
    section = traces.sections["well"]["pressure"]
    propagator = seismo.Propagator(seismo.load(scenario()).changed(changes), backend="cpu")
    expected = propagator()["well"]["pressure"]
    assert section.shape == expected.shape
    error = np.linalg.norm(section - expected) / np.linalg.norm(expected)
    assert error < most
    assert "were interpolated from 2 ms" in traces.remarks[0]


def test_a_record_that_ends_early_counts_until_then(folder):
    traces = observed(folder, {"time.duration": 0.25})
    section = traces.sections["well"]["pressure"]
    assert np.isfinite(section[..., :101]).all()
    assert np.isnan(section[..., 101:]).all()
    assert "25 samples of the scenario lie beyond them" in traces.remarks[0]


@pytest.mark.parametrize(
    ("changes", "keys", "problem"),
    [
        ({"receivers[0].name": "hole"}, {}, "has the sets well; those of the scenario are hole"),
        (
            {"survey.shots[1].position.x": 62.0},
            {},
            "the source of shot_001 lies 12 m from the scenario's",
        ),
        ({"survey.shots[1].position.x": 62.0}, {"observed": "SEGY"}, "has no traces of shot_001"),
        ({"receivers[0].start.x": 330.0}, {}, "well: R0000 lies 20 m from the scenario's"),
        ({"receivers[0].start.z": 70.0}, {"observed": "SEGY"}, None),
        ({"survey.shots": [{"position": {"x": 50.0, "z": 120.0}, "name": "first"}]}, {},
         "has no shot first, but shot_000, shot_001"),
        ({}, {"observed": "none.h5"}, "there is no such file"),
        ({}, {"observed": [{"path": "observed.h5", "component": "vz"}]}, "well: has pressure"),
        ({}, {"observed": ["observed.h5", "observed.h5"]}, "was given before"),
        ({"sources[0].wavelet.frequency": 150.0}, {"observed": "late.h5"}, "too few for waves"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(folder, changes, keys, problem):
    if keys.get("observed") == "SEGY":
        keys = {"observed": segy_of(folder)}
    if keys.get("observed") == "late.h5":
        run = seismo.load(scenario()).changed({"receivers[0].interval": 4e-3})
        seismo.run(run, folder / "late.h5", backend="cpu", threads=1).close()
    if problem is None:
        assert np.isnan(observed(folder, changes, **keys).sections["well"]["pressure"]).any()
        return
    with pytest.raises(ScenarioError) as caught:
        observed(folder, changes, **keys)
    assert problem in str(caught.value)
    assert "inversion.yaml:" in str(caught.value)
    assert yaml.safe_load((folder / "inversion.yaml").read_text())

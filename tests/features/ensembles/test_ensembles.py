"""Ensembles: members have the bits of single runs, however they are run, stopped or shared."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import seismo
from seismo.backends.device_threads import DeviceThreads
from seismo.errors import ScenarioError, StoppedError, UnstableError
from seismo.features.ensembles import run as ensembles
from seismo.features.ensembles.collection import Collection, MemberFiles
from seismo.features.ensembles.members import Members
from seismo.runs import batch
from seismo.runs.request import Request, Signals
from seismo.runs.run import resume, run_on
from seismo.runs.status import status_of
from seismo.scenario import from_dict, parse

pytestmark = [
    pytest.mark.usefixtures("no_remedies"),
    pytest.mark.filterwarnings("ignore::seismo.ScenarioWarning"),
]

TEXT = """\
physics: acoustic_variable_density
grid: {extent: {x: 400 m, z: 200 m}, spacing: 10 m, order: 4}
time: {duration: 0.2 s}
boundaries: {layer: {points: 6}}
model:
  - {type: uniform, vp: 2000, rho: 2000}
  - {type: block, z: [150, 300], vp: VP, rho: 1800}
sources:
  - {type: pressure, position: {x: X, z: 100}, wavelet: {type: ricker, frequency: 12}}
receivers:
  - {name: line, type: line, start: {x: 50, z: 30}, end: {x: 350, z: 30}, count: 4,
     quantities: [velocity], interval: 10 ms}
output: {maps: [{name: ground, quantities: [pgv], plane: {z: 30}}]}
"""
ENSEMBLE = """\
ensemble:
  members: 4
  seed: 3
  percentiles: [10, 50, 90]
  draw:
    - {type: lognormal, key: "model[1].vp", sigma: 0.2, lowest: 1500, highest: 3.5 km/s}
    - {type: uniform, key: "sources[0].position.x", lowest: 150 m, highest: 0.25 km}
"""
WHOLE = (TEXT + ENSEMBLE).replace("VP", "2500").replace("X", "200")


def scenario_file(folder: Path, text: str = WHOLE) -> Path:
    path = folder / "basin.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def scenario(tmp_path_factory) -> Path:
    return scenario_file(tmp_path_factory.mktemp("ensemble"))


@pytest.fixture(scope="module")
def unbroken(scenario) -> Path:
    """Results of an ensemble that runs from its beginning to its end."""
    path = scenario.with_name("unbroken.h5")
    seismo.run(scenario, path, backend="cpu", threads=1).close()
    return path


def arrays(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of a file by their names."""
    contents = {}

    def keep(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            contents[name] = item[...]

    with h5py.File(path) as file:
        file.visititems(keep)
    return contents


def same(first: Path, second: Path) -> bool:
    one, other = arrays(first), arrays(second)
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes()
        if one[name].dtype.kind != "O"
        else list(one[name]) == list(other[name])
        for name in one
    )


def test_members_have_the_bits_of_runs_with_the_values_typed_in(unbroken):
    with seismo.open_ensemble(unbroken) as ensemble:
        for member in (0, 3):
            vp, x = (repr(float(column[member])) for column in ensemble.draws.values())
            single = parse(TEXT.replace("VP", vp).replace("X", x))
            with seismo.run(single, backend="cpu", threads=1) as alone:
                for name in ("vx", "vz"):
                    expected = alone.traces["line"].values_of(name)
                    actual = ensemble.traces["line"].values_of(name, member)
                    assert actual.tobytes() == expected.tobytes()
                    assert np.abs(expected).max() > 0.0
                expected = alone.maps["ground"].values_of("pgv")
                assert ensemble.maps["ground"].values_of("pgv", member).tobytes() == (
                    expected.tobytes()
                )
                assert ensemble.members["traces_sha256"][member] == alone.traces_hash
                assert ensemble.members["dt"][member] == alone.dt
            assert ensemble.member(member).model == single.model
        assert len(set(ensemble.members["traces_sha256"])) == 4
        assert ensemble.verify() > 0


def test_statistics_are_those_of_all_members(unbroken):
    with seismo.open_ensemble(unbroken) as ensemble:
        maps = ensemble.maps["ground"].values_of("pgv").astype(float)
        statistics = ensemble.statistics["ground"]
        assert statistics.percentiles == [10.0, 50.0, 90.0]
        assert statistics.dimensions("pgv_percentile") == ("percentile", "shot", "x")
        for name, expected in (
            ("pgv_mean", maps.mean(0)),
            ("pgv_deviation", maps.std(0, ddof=1)),
            ("pgv_percentile", np.percentile(maps, [10, 50, 90], axis=0)),
        ):
            np.testing.assert_array_equal(statistics.values_of(name), expected.astype(np.float32))
            np.testing.assert_array_equal(statistics[name].values, expected.astype(np.float32))
            assert statistics.unit(name) == "m/s"


def test_statistics_need_few_files_and_no_maps_of_members(unbroken, monkeypatch, tmp_path):
    """Tiles smaller than a map, and two files that are open at a time, give the same numbers."""
    monkeypatch.setattr("seismo.features.ensembles.collection._TOGETHER", 500)
    monkeypatch.setattr("seismo.features.ensembles.collection._MOST_OPEN", 2)
    text = WHOLE.replace("  seed", "  member_maps: false\n  seed")
    with seismo.run(
        scenario_file(tmp_path, text), tmp_path / "e.h5", backend="cpu", threads=1
    ) as ensemble:
        assert not ensemble.maps
        assert "ground: pgv: mean, deviation, percentiles 10, 50, 90" in ensemble.info()
    expected = {name: a for name, a in arrays(unbroken).items() if not name.startswith("maps")}
    actual = arrays(tmp_path / "e.h5")
    assert {**expected, **actual}.keys() == expected.keys() == actual.keys()
    assert all(np.array_equal(actual[name], array) for name, array in expected.items())


class _KilledError(BaseException):
    pass


def counted(monkeypatch) -> list[int]:
    """Return the list that each member that is run is appended to."""
    runs = []
    original = ensembles.EnsembleRun._run_member

    def run_member(self, member, *arguments):
        runs.append(member)
        original(self, member, *arguments)

    monkeypatch.setattr(ensembles.EnsembleRun, "_run_member", run_member)
    return runs


def test_a_killed_ensemble_goes_on_without_finished_members(
    scenario, unbroken, monkeypatch, tmp_path
):
    results = tmp_path / "e.h5"

    def kill(progress):
        if progress.phase == "step" and progress.peak is None and progress.work == 0.5:
            raise _KilledError

    with pytest.raises(_KilledError):
        seismo.run(scenario, results, kill, backend="cpu", threads=1)
    folder = tmp_path / "e.h5.run"
    assert sorted(path.name for path in folder.glob("member*")) == [
        "member-00000.h5", "member-00001.h5",
    ]  # fmt: skip
    with pytest.raises(ScenarioError, match="left 2 of 4 members; go on with --resume"):
        seismo.run(scenario, results, backend="cpu", threads=1)
    runs = counted(monkeypatch)
    resume(folder, Request(threads=1)).close()
    assert runs == [2, 3]
    assert same(results, unbroken)
    assert not folder.exists()


def test_a_member_that_was_stopped_goes_on_from_its_checkpoint(
    scenario, unbroken, monkeypatch, tmp_path
):
    results = tmp_path / "e.h5"
    signals = Signals()
    checkpoints = []

    def stop(progress):
        signals.stop |= 4 * progress.step == progress.steps > 0  # the first member is done
        if progress.phase == "checkpoint":
            checkpoints.append(progress.note)

    monkeypatch.setattr(ensembles.EnsembleRun, "_refuse_to_go_on", lambda *_: None)
    with pytest.raises(StoppedError, match=r"on SIGTERM; go on with: seismo resume .*e.h5.run$"):
        seismo.run(scenario, results, stop, backend="cpu", threads=1, signals=signals)
    assert checkpoints[0].startswith("member 1: checkpoint at step")
    (status,) = status_of(results)
    assert status.state == "stopped"
    runs = counted(monkeypatch)
    seismo.run(scenario, results, resume=True, backend="cpu", threads=1).close()
    assert runs == [1, 2, 3]
    assert same(results, unbroken)


def test_an_ensemble_stops_between_members(scenario, tmp_path):
    signals = Signals()

    def stop(progress):
        signals.stop |= 4 * progress.step == progress.steps > 0

    with pytest.raises(StoppedError, match="stopped before member 1 of 4, on SIGTERM; go on with"):
        seismo.run(scenario, tmp_path / "e.h5", stop, backend="cpu", threads=1, signals=signals)
    changed = seismo.load(scenario).changed({"ensemble.seed": 4})
    with pytest.raises(ScenarioError, match=r"ensemble.seed: .*the checkpoint is of a run with 3"):
        seismo.run(changed, tmp_path / "e.h5", resume=True, backend="cpu", threads=1)


def test_runs_of_the_other_kind_are_kept_until_they_are_given_up(scenario, tmp_path):
    """Neither takes the folder of the other for its own."""
    results = tmp_path / "e.h5"
    signals = Signals()

    def stop(progress):
        signals.stop |= 4 * progress.step == progress.steps > 0

    single = seismo.load(scenario).changed({"ensemble": None, "checkpoint.steps": 5})
    with pytest.raises(StoppedError):
        seismo.run(scenario, results, stop, backend="cpu", threads=1, signals=signals)
    for wanted in (None, True):
        with pytest.raises(ScenarioError, match=r"run of several, .* left its members"):
            seismo.run(single, results, resume=wanted, backend="cpu", threads=1)

    def kill(progress):
        if progress.phase == "checkpoint":
            raise _KilledError

    with pytest.raises(_KilledError):
        seismo.run(single, results, kill, resume=False, backend="cpu", threads=1)
    folder = tmp_path / "e.h5.run"
    assert not list(folder.glob("member*"))
    for wanted in (None, True):
        with pytest.raises(ScenarioError, match="an unfinished run that is no ensemble left a ch"):
            seismo.run(scenario, results, resume=wanted, backend="cpu", threads=1)
    seismo.run(scenario, results, resume=False, backend="cpu", threads=1).close()
    assert not folder.exists()


def test_complete_results_are_not_made_again(scenario, unbroken, monkeypatch):
    runs = counted(monkeypatch)
    seismo.run(scenario, unbroken, resume=True, backend="cpu", threads=1).close()
    assert runs == []
    (status,) = status_of(unbroken)
    assert status.state == "complete"
    changed = seismo.load(scenario).changed({"ensemble.seed": 4})
    with pytest.raises(ScenarioError, match="is complete, and of a run with 3"):
        seismo.run(changed, unbroken, resume=True, backend="cpu", threads=1)


@pytest.mark.parametrize("count", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_ranks_share_the_members(scenario, unbroken, tmp_path, count):
    """Of more ranks than members some have none."""
    results = tmp_path / "e.h5"
    request = Request(results, backend="cpu", threads=1)
    DeviceThreads(count).run(lambda ranks: run_on(ranks, scenario, request)).close()
    assert same(results, unbroken)


def test_a_member_by_itself_has_results_of_a_run(scenario, unbroken, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with seismo.run(scenario, member=2, backend="cpu", threads=1) as alone:
        assert alone.path.name == "basin-member-2.h5"
        assert len(alone.model) == 2
        with seismo.open_ensemble(unbroken) as ensemble:
            assert alone.traces_hash == ensemble.members["traces_sha256"][2]
    with pytest.raises(ScenarioError, match="member 4: the 4 members are numbered 0 to 3"):
        seismo.run(scenario, member=4)
    single = from_dict({**seismo.load(scenario).changed({"ensemble": None})._source().data})
    with pytest.raises(ScenarioError, match="member 0: the scenario has no ensemble"):
        seismo.run(single, member=0)


def test_an_unstable_member_is_named_and_run_again(scenario, tmp_path, monkeypatch):
    original = ensembles.MemberRun.go

    def fail(self):
        original(self)
        if self.path.name == "member-00001.h5":
            raise UnstableError("vx is NaN", 7)

    monkeypatch.setattr(ensembles.MemberRun, "go", fail)
    with pytest.raises(UnstableError, match=r"^member 1 \(model\[1\].vp = .* m/s, .*\): vx is NaN"):
        seismo.run(scenario, tmp_path / "e.h5", backend="cpu", threads=1)
    assert [path.name for path in (tmp_path / "e.h5.run").glob("member*")] == ["member-00000.h5"]


def test_a_scenario_without_a_file_has_temporary_results(scenario):
    data = seismo.load(scenario)._source().data | {"receivers": []}
    ensemble = seismo.run(from_dict(data), backend="cpu", threads=1)
    assert len(ensemble) == 4
    assert not ensemble.traces
    folder = ensemble.path.parent
    del ensemble
    assert not folder.exists()


def test_coordinates_that_differ_between_members_are_kept_of_all(unbroken, tmp_path):
    """Such as distances from a source that moves."""
    files = []
    for member in range(2):
        files.append(tmp_path / f"{member}.h5")
        with h5py.File(files[-1], "w") as file:
            group = file.create_group("traces/line")
            for axis, count in (("shot", 1), ("receiver", 3), ("time", 2)):
                group.create_dataset(axis, data=np.arange(float(count))).make_scale(axis)
            distance = group.create_dataset("r_hyp", data=np.arange(3.0) + member)
            distance.dims[0].attach_scale(group["receiver"])
            array = group.create_dataset("vx", data=np.ones((1, 3, 2), "f4"), chunks=(1, 3, 2))
            array.attrs["peak"] = 1.0
            for number, axis in enumerate(("shot", "receiver", "time")):
                array.dims[number].attach_scale(group[axis])
    with h5py.File(tmp_path / "e.h5", "w") as file, seismo.open_ensemble(unbroken) as other:
        scenario = parse(other.scenario)
        Collection(file, MemberFiles(files), Members(scenario))._copy_group("traces/line")
        np.testing.assert_array_equal(file["traces/line/r_hyp"][...], [[0, 1, 2], [1, 2, 3]])


def test_files_of_ensembles_are_not_taken_for_runs(unbroken, tmp_path):
    with pytest.raises(ScenarioError, match=r"holds an ensemble of runs: seismo\.open_ensemble"):
        seismo.open_results(unbroken)
    other = tmp_path / "run.h5"
    shutil.copy(unbroken, other)
    with h5py.File(other, "r+") as file:
        file.attrs["format"] = "seismo results"
    with pytest.raises(ScenarioError, match="attribute format is 'seismo results', not 'seismo e"):
        seismo.open_ensemble(other)


def test_results_of_the_other_kind_are_kept_by_resume(scenario, unbroken, tmp_path):
    single = seismo.load(scenario).changed({"ensemble": None})
    results = tmp_path / "e.h5"
    shutil.copy(unbroken, results)
    with pytest.raises(ScenarioError, match=r"holds an ensemble of runs.*with --no-resume"):
        seismo.run(single, results, resume=True, backend="cpu", threads=1)
    assert same(results, unbroken)
    seismo.run(single, results, backend="cpu", threads=1).close()
    with pytest.raises(ScenarioError, match="is no ensemble, which --resume goes on with"):
        seismo.run(scenario, results, resume=True, backend="cpu", threads=1)


def test_jobs_share_members_among_ranks_and_gpus(tmp_path):
    """Ranks need not share a grid, and GPUs no shots."""
    shots = "survey: {shots: [{position: {x: 150, z: 90}}, {position: {x: 200, z: 90}}]}\n"
    text = WHOLE.replace("receivers:", shots + "receivers:")
    several = seismo.load(scenario_file(tmp_path, text))
    script = batch.batch_script(several, batch.MachineProfile(backend="gpu", gpus=4), tmp_path)
    assert "--gpus 4" in script
    assert "--shots" not in script
    many = batch.MachineProfile(cpus=64, ranks=64)
    batch.write_script(several, many, tmp_path)
    with pytest.raises(ScenarioError, match=r"--array 2: .* leave --array out"):
        batch.write_script(several, many, tmp_path, True, batch.JobArray(2))


def test_a_damaged_trace_is_found(unbroken, tmp_path):
    path = tmp_path / "e.h5"
    shutil.copy(unbroken, path)
    with h5py.File(path, "r+") as file:
        file["traces/line/vx"][2, 0, 1, 5] += 1.0
    with (
        seismo.open_ensemble(path) as ensemble,
        pytest.raises(ScenarioError, match="traces of member 2 do not have their hash"),
    ):
        ensemble.verify()


def test_xarray_opens_the_groups(unbroken):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    with xarray.open_dataset(unbroken, group="traces/line", engine="h5netcdf") as traces:
        assert traces["vx"].dims == ("member", "shot", "receiver", "time")
        assert traces["vx"].sizes["member"] == 4
    with seismo.open_ensemble(unbroken) as ensemble, ensemble.to_xarray() as tree:
        np.testing.assert_array_equal(
            tree["draws"]["model[1].vp"].values, ensemble.draws["model[1].vp"]
        )
        assert ensemble.traces["line"]["vx"].dims[0] == "member"


def test_figures_are_drawn(unbroken):
    with seismo.open_ensemble(unbroken) as ensemble:
        fans = ensemble.plot("fans", codes="R0001", quantities=["vz"])
        line = fans.axes[0].lines[0].get_ydata()
        median = np.median(ensemble.traces["line"].values_of("vz")[:, 0, 1].astype(float), axis=0)
        np.testing.assert_allclose(line / np.abs(line).max(), median / np.abs(median).max())
        assert len(ensemble.plot("statistics").axes[0].lines) == 4
        assert len(ensemble.plot("draws").axes) == 2
        with pytest.raises(ScenarioError, match="there is no 'snapshot'"):
            ensemble.plot("snapshot")
        with pytest.raises(ScenarioError, match="there is no '7'"):
            ensemble.plot("fans", shot=7)


def test_check_says_members_and_the_largest_error(scenario):
    plan = seismo.check(scenario, backend="cpu")
    extent = plan.findings[next(f for f in plan.findings if f.key == "ensemble")]
    members = Members(seismo.load(scenario))
    errors = {k: seismo.check(members[k], backend="cpu").expected.error for k in extent.assessed}
    assert extent.error == errors[extent.worst] == max(errors.values())
    assert max(errors.values()) > min(errors.values())
    assert "4 members, which draw model[1].vp from" in str(extent)
    assert plan.as_dict()["ensemble"]["members"] == 4

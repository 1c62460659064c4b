"""Receivers that move with the shots: the bits of receivers that lie where they come to.

The reference is a run of each shot by itself, with fixed receivers at the source's position plus
the offsets. Offsets and shots are multiples of 1/8 m, so that both places are the same number.
"""

import numpy as np
import pytest
import segyio

import seismo
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.device_threads import DeviceThreads
from seismo.backends.select import BackendChoice
from seismo.errors import ScenarioError
from seismo.output.export import export
from seismo.runs import run as runner
from seismo.runs.loop import run_loop
from seismo.runs.request import Request
from seismo.runs.run import resume
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation
from simulated_card import simulated
from solver import slow_but
from test_resume import contents, stopped
from thread_ranks import ThreadBackend

SHOTS = [300.0, 343.125, 386.25, 401.5, 440.0]
OFFSETS = [-250.0, -161.375, -53.0, 0.0, 47.5]
DEPTHS = [20.0, 33.125, 52.0, 100.5, 20.0]
FLAT = {
    "physics": "acoustic_variable_density",
    "grid": {"extent": {"x": 600.0, "z": 300.0}, "spacing": 10.0, "order": 4},
    "time": {"duration": 0.08, "step": 0.002},
    "boundaries": {"top": "free_surface", "layer": {"points": 6}},
    "model": [{"type": "layers", "layers": [{"top": 0.0, "vp": 1500.0, "rho": 1000.0},
                                            {"top": 200.0, "vp": 1900.0, "rho": 1900.0}]}],
    "sources": [{"type": "explosion", "position": {"x": 300.0, "z": 60.0}, "moment": 1e9,
                 "wavelet": {"type": "ricker", "frequency": 15.0}}],
    "survey": {"shots": [{"position": {"x": x, "z": 60.0}} for x in SHOTS], "batch": 2},
    "receivers": [
        {"name": "streamer", "type": "points", "relative_to": "source",
         "quantities": ["pressure", "velocity"],
         "positions": [{"x": x, "z": z} for x, z in zip(OFFSETS, DEPTHS, strict=True)]},
        {"name": "node", "type": "points", "quantities": ["pressure"],
         "positions": [{"x": 303.0, "z": 205.0}]},
    ],
}  # fmt: skip
SOLID = FLAT | {
    "physics": "elastic",
    "model": [{"type": "uniform", "vp": 1800.0, "vs": 900.0, "rho": 1700.0}],
    "receivers": [FLAT["receivers"][0] | {"quantities": ["velocity", "divergence"]}],
}
VOLUME = FLAT | {
    "grid": {"extent": {"x": 600.0, "y": 160.0, "z": 160.0}, "spacing": 10.0, "order": 4},
    "time": {"duration": 0.04, "step": 0.002},
    "model": [{"type": "uniform", "vp": 1500.0, "rho": 1000.0}],
    "sources": [FLAT["sources"][0] | {"position": {"x": 300.0, "y": 80.0, "z": 60.0}}],
    "survey": {"shots": [{"position": {"x": 302.0, "y": 80.0, "z": 60.0}},
                         {"position": {"x": 343.5, "y": 71.25, "z": 60.0}}]},
    "receivers": [FLAT["receivers"][0] | {"positions": [
        {"x": x, "y": y, "z": z} for x, y, z in zip(OFFSETS, (-60.0, -8.5, 1.5, 8.0, 51.0), DEPTHS,
                                                    strict=True)]}],
}  # fmt: skip


def fixed(document: dict, shot: int) -> dict:
    """Give the run of one shot, whose receivers stay where it takes them."""
    position = document["survey"]["shots"][shot]["position"]
    groups = []
    for group in document["receivers"]:
        kept = {k: v for k, v in group.items() if k not in ("relative_to", "relative_depth")}
        axes = "xyz" if group.get("relative_depth") else "xy"
        if "relative_to" in group:
            kept["positions"] = [
                {a: p[a] + position[a] * (a in axes) for a in p} for p in group["positions"]
            ]
        groups.append(kept)
    sources = [document["sources"][0] | {"position": position}]
    alone = {k: v for k, v in document.items() if k != "survey"}
    return alone | {"sources": sources, "receivers": groups}


def records(simulation: Simulation, shot: int) -> dict[str, np.ndarray]:
    """Give the records of a shot of the batch; nothing but on the first rank."""
    found = {}
    for group in simulation.discretization.groups:
        for _, _, component in group.components(simulation.discretization.physics).values():
            raw = simulation.recorder.raw(shot, group.name, component)
            found[f"{group.name}.{component}"] = raw
    return found if simulation.ranks.first else {}


def every_shot(document: dict, parts, ranks: SerialCommunicator, make=CpuBackend) -> list[dict]:
    """Run all batches of a survey in one simulation; give the records of every shot."""
    discretization = discretize(from_dict(document))
    simulation = Simulation(discretization, make(discretization.scenario.precision), parts, ranks)
    found = []
    for first in range(0, len(discretization.shots), discretization.batch):
        shots = discretization.shots[first : first + discretization.batch]
        if first:
            simulation.load(shots)
        simulation.advance(simulation.total_steps)
        found += [records(simulation, shot) for shot in range(len(shots))]
    return found


def assert_equal(found: list[dict], wanted: list[dict]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        assert [name for name in one if not np.array_equal(one[name], other[name])] == []
        assert all(record.any(axis=1).all() for record in other.values())


@pytest.fixture(scope="module")
def wanted() -> list[dict]:
    """The shots of FLAT, each by itself with fixed receivers."""
    alone = SerialCommunicator()
    return [every_shot(fixed(FLAT, n), (1, 1), alone)[0] for n in range(len(SHOTS))]


@pytest.mark.parametrize(
    ("batch", "parts"),
    [
        pytest.param(batch, (count, 1), marks=[] if count == n + 1 else [pytest.mark.slow])
        for n, batch in enumerate((1, 2, 5)) for count in (1, 2, 3)
    ],
)  # fmt: skip
def test_every_shot_has_the_bits_of_fixed_receivers(wanted, batch, parts):
    document = FLAT | {"survey": FLAT["survey"] | {"batch": batch}}
    assert_equal(every_shot(document, parts, SerialCommunicator()), wanted)


@pytest.mark.parametrize(
    "document",
    [
        SOLID,
        VOLUME,
        FLAT | {"physics": "acoustic", "model": [{"type": "uniform", "vp": 1500.0}],
                "receivers": [FLAT["receivers"][0] | {"quantities": ["pressure"]}]},
        FLAT | {"receivers": [FLAT["receivers"][0] | {"relative_depth": True}],
                "survey": {"shots": [{"position": {"x": 300.0, "z": 60.0}},
                                     {"position": {"x": 301.0, "z": 72.5}}]}},
    ],
    ids=["solid", "volume", "second order", "depths"],
)  # fmt: skip
def test_other_equations_and_depths(document):
    alone = SerialCommunicator()
    count = len(document["survey"]["shots"])
    wanted = [every_shot(fixed(document, n), (1, 1), alone)[0] for n in range(count)]
    assert_equal(every_shot(document, (2, 1), alone), wanted)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_that_share_the_grid(wanted, ranks):
    """Receivers go from one rank to another, between batches."""

    def run(member: SerialCommunicator) -> list[dict]:
        return every_shot(DEEP, (ranks, 1), member, ThreadBackend)

    alone = SerialCommunicator()
    expected = every_shot(DEEP, (1, 1), alone)
    assert_equal(DeviceThreads(ranks).run(run), expected)


# Sources and receivers at depths of their own in each shot, about the cuts.
DEEP = FLAT | {
    "receivers": [FLAT["receivers"][0] | {"relative_depth": True}],
    "survey": {
        "shots": [{"position": {"x": 300.0, "z": z}} for z in (40.0, 103.0, 155.0)],
        "batch": 1,
    },
}


def test_the_card_takes_other_receivers_with_each_batch(tmp_path, monkeypatch):
    """The same places as the CPU reads; records to what single precision rounds."""
    document = FLAT | {"time": {"duration": 0.05, "step": 0.002},
                       "survey": {"shots": FLAT["survey"]["shots"][:2], "batch": 1}}  # fmt: skip
    expected = seismo.run(document, tmp_path / "cpu.h5", backend="cpu")
    choice = BackendChoice("gpu", "on a simulator", simulated)
    monkeypatch.setattr(runner, "select_backends", lambda *_: ([choice], ""))
    found = seismo.run(document, tmp_path / "gpu.h5")
    a, b = (r.traces["streamer"].values_of("pressure") for r in (found, expected))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())
    assert np.abs(b).max(axis=2).all()


DROPPING = FLAT | {
    "receivers": [
        FLAT["receivers"][0] | {"outside": "drop", "interval": 0.004},
        FLAT["receivers"][1],
    ],
    "survey": {"shots": [{"position": {"x": x, "z": 60.0}} for x in (100.0, 343.125, 580.0)],
               "batch": 2},
    "checkpoint": {"steps": 19},
}  # fmt: skip


@pytest.fixture(scope="module")
def dropping(tmp_path_factory):
    """A run that leaves receivers out where they would be outside."""
    path = tmp_path_factory.mktemp("dropping") / "x.h5"
    with seismo.run(DROPPING, path) as results:
        yield results


def test_results_have_the_places_of_every_shot(dropping):
    traces = dropping.traces["streamer"]
    shots = np.array([100.0, 343.125, 580.0])
    assert traces.moves
    assert set(traces) == {"pressure", "vx", "vz"}
    np.testing.assert_array_equal(traces.x, shots[:, None] + OFFSETS)
    np.testing.assert_array_equal(traces.z, np.tile(DEPTHS, (3, 1)))
    assert traces.recording(0).tolist() == [False, False, True, True, True]
    assert traces.recording(1).all()
    assert traces.recording(2).tolist() == [True, True, True, True, False]
    values = traces.values_of("pressure")
    assert not np.isnan(values[1]).any()
    assert np.array_equal(np.isnan(values).all(axis=2), ~(traces.column("recording") > 0.0))
    assert np.isfinite(traces.attribute("pressure", "peak"))
    offset = traces.geometry["offset"][1]
    np.testing.assert_array_equal(offset, np.tile(OFFSETS, (3, 1)))
    assert not dropping.traces["node"].moves
    assert dropping.traces["node"].x.tolist() == [303.0]
    assert "5 receivers that move with the source" in dropping.info()
    assert dropping.verify()


def test_dropped_receivers_change_no_bits_of_others(dropping, tmp_path):
    """Compare with fixed receivers at those places that are inside."""
    traces = dropping.traces["streamer"]
    for shot in (0, 2):
        alone = fixed(DROPPING, shot)
        kept = np.flatnonzero(traces.recording(shot))
        group = {k: v for k, v in alone["receivers"][0].items() if k != "outside"}
        group["positions"] = [group["positions"][n] for n in kept]
        with seismo.run(alone | {"receivers": [group]}, tmp_path / f"{shot}.h5") as single:
            for name in traces:
                expected = single.traces["streamer"].values_of(name)[0]
                assert np.array_equal(traces.values_of(name)[shot, kept], expected)
                assert expected.any(axis=1).all()


@pytest.fixture
def every_step(monkeypatch):
    """Report every step, so that runs can be stopped anywhere."""
    monkeypatch.setattr(run_loop, "REPORT_EVERY", -1.0)
    monkeypatch.setattr(
        run_loop.StepTimer, "queueable_steps", property(lambda pace: 1 - pace._steps)
    )


@pytest.mark.parametrize("step", slow_but({42}, [1, 42, 50]))
def test_a_run_goes_on_to_the_same_bits(dropping, tmp_path, every_step, step):
    """Before, at and behind the end of the first batch of shots."""
    path = tmp_path / "x.h5"
    stopped(DROPPING, path, step)
    with resume(f"{path}.run", Request()):
        assert contents(path) == contents(dropping.path)


def test_a_share_of_the_shots_has_its_own_places(dropping, tmp_path):
    with seismo.run(DROPPING, tmp_path / "x.h5", shots="2/3") as share:
        traces = share.traces["streamer"]
        np.testing.assert_array_equal(traces.x, dropping.traces["streamer"].x[1:2])
        for name in traces:
            whole = dropping.traces["streamer"].values_of(name)
            assert np.array_equal(traces.values_of(name)[0], whole[1])


def test_datasets_of_xarray(dropping):
    pytest.importorskip("xarray")
    traces = dropping.to_xarray()["traces/streamer"].dataset
    assert traces["x"].dims == traces["offset"].dims == ("shot", "receiver")
    np.testing.assert_array_equal(traces["offset"], np.tile(OFFSETS, (3, 1)))
    pressure = dropping.traces["streamer"]["pressure"]
    assert pressure.coords["x"].dims == ("shot", "receiver")
    assert pressure.coords["x"].attrs["units"] == "m"


def test_headers_of_segy(dropping, tmp_path):
    """Dropped receivers are dead traces, so that every shot has as many."""
    (path,) = export(dropping, "segy", tmp_path, receivers="streamer", quantity="pressure")
    traces = dropping.traces["streamer"]
    field = segyio.TraceField
    with segyio.open(path, ignore_geometry=True) as file:
        assert file.tracecount == 15
        for n, head in enumerate(file.header):
            shot, receiver = divmod(n, 5)
            scalar = abs(head[field.SourceGroupScalar])
            assert head[field.GroupX] == round(traces.x[shot, receiver] * scalar)
            assert head[field.SourceX] == round((100.0, 343.125, 580.0)[shot] * scalar)
            assert head[field.offset] == round(OFFSETS[receiver])
            is_recorded = bool(traces.recording(shot)[receiver])
            assert head[field.TraceIdentificationCode] == (1 if is_recorded else 2)
            samples = np.nan_to_num(traces.values_of("pressure")[shot, receiver])
            np.testing.assert_array_equal(file.trace[n], samples)


def test_streams_of_obspy(dropping):
    pytest.importorskip("obspy")
    stream = dropping.to_obspy(receivers="streamer", quantity="pressure")
    assert len(stream) == 3 + 5 + 4
    last = stream[-1].stats
    assert (last.seismo.shot, last.seismo.x, last.distance) == ("shot_002", 580.0, 0.0)


@pytest.mark.parametrize("name", ["miniseed", "sac", "netcdf", "su"])
def test_every_export_is_written(dropping, tmp_path, name):
    pytest.importorskip("obspy")
    assert all(path.stat().st_size for path in export(dropping, name, tmp_path))


def test_ground_motion_leaves_dropped_receivers_out(dropping):
    rows = dropping.ground_motion(receivers="streamer")
    places = {(row["shot"], row["code"], row["x (m)"]) for row in rows}
    assert len(places) == 3 + 5 + 4
    assert ("shot_000", "R0002", 47.0) in places


def test_figures(dropping):
    gather = dropping.plot("gather", shot=0, receivers="streamer", quantities="pressure")
    panel = gather.axes[0]
    assert "offset" in panel.get_xlabel()
    assert len(panel.lines) == 3
    dropping.plot("gather", shot=2, receivers="streamer", mode="image", reduction="1500 m/s")
    assert [t.get_text() for t in dropping.plot("traces", shot=0).axes[0].get_yticklabels()] == [
        "R0002", "R0003", "R0004",
    ]  # fmt: skip
    with pytest.raises(ScenarioError, match="R0000 lies outside the grid in shot_000"):
        dropping.plot("traces", shot=0, codes="R0000")
    dropping.plot("model")


@pytest.mark.usefixtures("no_remedies")
def test_check_tells_how_receivers_move(tmp_path):
    plan = seismo.check(DROPPING)
    text = str(plan)
    assert "streamer: 5 (pressure, velocity) moving with the source, 3 of 15 traces dropped" in text
    shots = [{"position": {"x": x, "z": 60.0}} for x in (290.0, 548.0)]
    near = FLAT | {"survey": {"shots": shots}}
    warnings = seismo.check(near).warnings
    assert any(w.startswith("2 of 5 receivers streamer: within 5 points") for w in warnings)


def test_one_source_without_a_survey():
    """Offsets of a single shot."""
    alone = {k: v for k, v in FLAT.items() if k != "survey"}
    (group, _) = discretize(from_dict(alone)).groups
    np.testing.assert_array_equal(group.at("shot_000")[:, 0], 300.0 + np.array(OFFSETS))


def changed(**keys) -> dict:
    return FLAT | {"receivers": [FLAT["receivers"][0] | keys]}


TWO = {k: v for k, v in FLAT.items() if k != "survey"} | {
    "sources": [FLAT["sources"][0] | {"name": name} for name in "ab"]
}
MISTAKES = {
    "leaves": (
        FLAT | {"survey": {"line": {"start": {"x": 270.0, "z": 60.0},
                                    "end": {"x": 200.0, "z": 60.0}, "count": 8}}},
        r"receivers\[0\]: in shot_003 receiver R0000 comes to x = -10 m, outside the grid \(0 to "
        r"600 m\), as do 5 of 40 traces in all; enlarge grid.extent, move the shots, or set "
        "outside: drop, which records NaN in their place",
    ),
    "always": (
        changed(outside="drop", positions=[{"x": 900.0, "z": 20.0}]),
        r"receivers\[0\]: in shot_000 receiver R0000 comes to x = 1200 m, outside the grid \(0 to "
        r"600 m\), as do 5 of 5 traces in all; enlarge grid.extent, or move the shots",
    ),
    "depth": (
        changed(outside="drop", positions=[{"x": 0.0, "z": 400.0}]),
        r"receivers\[0\]\.positions\[0\]\.z: 400.*outside the grid: z from 0 m to 300 m",
    ),
    "no offsets": (
        {**FLAT, "receivers": [{k: v for k, v in FLAT["receivers"][0].items()
                                if k != "relative_to"} | {"outside": "drop",
                                                          "positions": [{"x": 5.0, "z": 5.0}]}]},
        r"receivers\[0\]\.outside: .*says how receivers move: add relative_to: source",
    ),
    "several sources": (
        TWO,
        r"receivers\[0\]\.relative_to: .*needs one source to count from, and there are 2, which "
        "act together",
    ),
    "degrees": (
        changed(positions=[{"longitude": 3.0, "latitude": 40.0}])
        | {"geographic": {"longitude": 3.0, "latitude": 40.0}},
        r"receivers\[0\]\.positions\[0\]\.longitude: .*is a place, where relative_to: source needs "
        "an offset",
    ),
    "another word": (
        changed(relative_to="shot"),
        r"receivers\[0\]\.relative_to: 'shot': must be one of source",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_told(case):
    document, message = MISTAKES[case]
    with pytest.raises(ScenarioError, match=message) as caught:
        discretize(from_dict(document))
    assert len(caught.value.messages) == 1


def test_places_too_near_a_rigid_face_are_refused_before_the_first_shot():
    """They come up in the second batch, after the first would have run."""
    shots = [{"position": {"x": x, "z": 60.0}} for x in (300.0, 251.25)]
    document = SOLID | {
        "boundaries": {"x_min": "rigid", "x_max": "rigid", "layer": {"points": 6}},
        "survey": {"shots": shots, "batch": 1},
    }
    message = r"receivers\[0\]: in shot_001 receiver R0000: x = 1.25 m lies too near a face"
    with pytest.raises(ScenarioError, match=message):
        discretize(from_dict(document))


def test_each_set_too_near_a_rigid_face_is_told_by_its_key():
    """Of receivers that stay where they are, too."""
    document = SOLID | {"boundaries": {"x_min": "rigid", "x_max": "rigid"}}
    sets = [
        {"type": "points", "name": name, "quantities": ["stress"], "positions": [place]}
        for name, place in (("a", {"x": 0.0, "z": 60.0}), ("b", {"x": 1.0, "z": 70.0}))
    ]
    with pytest.raises(ScenarioError) as refusal:
        discretize(from_dict(document | {"receivers": sets}))
    assert len(refusal.value.messages) == 2
    for number, text in enumerate(refusal.value.messages):
        assert text.startswith(f"receivers[{number}]: R0000: x = {number} m lies too near a face")


def test_lists_of_stations_hold_offsets(tmp_path):
    (tmp_path / "cable.csv").write_text("station,x,z\nA,-100,20\nB,50,25\n")
    group = {"name": "cable", "type": "stations", "relative_to": "source", "path": "cable.csv"}
    discretization = discretize(from_dict(FLAT | {"receivers": [group]}, tmp_path))
    assert discretization.groups[0].at("shot_001").tolist() == [
        [243.125, 0.0, 20.0],
        [393.125, 0.0, 25.0],
    ]
    (tmp_path / "cable.csv").write_text("station,longitude,latitude\nA,3,40\n")
    with pytest.raises(ScenarioError, match="has longitudes and latitudes, where relative_to"):
        discretize(from_dict(FLAT | {"receivers": [group]}, tmp_path))

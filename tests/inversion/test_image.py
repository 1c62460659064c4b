"""Images by reverse-time migration: contacts in place, sums of shots, runs that go on, refusals."""

import numpy as np
import pytest
import yaml

import seismo
from seismo.errors import ScenarioError, StoppedError
from seismo.inversion.imaging.migration import PreparedMigration, laplacian
from seismo.inversion.imaging.preparation import DerivativeBatches, background_of
from seismo.inversion.imaging.results import open_image, squared
from seismo.inversion.imaging.run import add_shots
from seismo.inversion.imaging.settings import Background, load_migration
from seismo.inversion.survey.course import TaskRequest
from seismo.solver.discretize import discretize
from small_inversion import ON_ONE_THREAD, Rank, scenario, write_scenario

CONTACT = 225.0  # m, between nodes
LAYERS = [
    {"type": "uniform", "vp": 2300.0, "rho": 2000.0},
    {"type": "block", "z": [CONTACT, 400.0], "vp": 2300.0, "rho": 2200.0},
]
UNIFORM = LAYERS[:1]
SETTINGS = {
    "scenario": "scenario.yaml",
    "observed": "observed.h5",
    "background": {"model": UNIFORM},
    "window": {"after": {"velocity": "2.3 km/s", "delay": "110 ms"}, "taper": "20 ms"},
    "mask": {"above": "100 m"},
    "snapshots": 1,
}


def survey(**keys) -> dict:
    """Return three shots over a contact of two densities, one at a time."""
    line = {"start": {"x": 50.0, "z": 50.0}, "end": {"x": 350.0, "z": 50.0}, "count": 16}
    receivers = {"type": "line", "name": "line", "quantities": ["pressure"], "interval": 2e-3}
    shots = [{"position": {"x": x, "z": 50.0}} for x in (100.0, 200.0, 300.0)]
    return scenario(
        physics="acoustic_variable_density", model=LAYERS, boundaries={"layer": {"points": 8}},
        survey={"shots": shots, "batch": 1}, receivers=[receivers | line],
        time={"duration": 0.3}, **keys,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("image")
    write_scenario(path, **survey())
    return path


def settings(folder, **keys):
    document = {key: value for key, value in (SETTINGS | keys).items() if value is not None}
    path = folder / "image.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return load_migration(path)


def prepared(folder, **keys) -> PreparedMigration:
    return PreparedMigration(settings(folder, **keys), seismo.Propagator, ON_ONE_THREAD)


@pytest.fixture(scope="module")
def ready(folder):
    return prepared(folder)


@pytest.fixture(scope="module")
def images(ready, folder):
    """Return the arrays of an unbroken run."""
    return contents(add_shots(ready, TaskRequest(folder / "unbroken.h5")))


def contents(path) -> dict[str, np.ndarray]:
    with open_image(path) as results:
        return {name: results.array(name) for name in results.names}


def test_a_contact_is_where_it_belongs(images, ready):
    """Impedance grows there: the image turns from negative to positive, at the largest slope."""
    column = images["impedance"][:, 20]
    z = ready.axes["z"]
    steepest = int(np.argmax(np.diff(column)))
    assert z[steepest] == pytest.approx(CONTACT - 5.0, abs=10.0)  # a cell
    assert column[steepest] < 0.0 < column[steepest + 1]
    # Neither sources nor direct waves: nothing above the contact is as bright.
    assert np.abs(column[:19]).max() < 0.4 * np.abs(column).max()


def test_anisotropy_of_an_image_is_that_of_the_scenario(tmp_path):
    rock = {"vp": 2300.0, "rho": 2000.0, "vs": 1200.0, "epsilon": 0.15, "delta": 0.05}
    model = [{"type": "uniform", **rock}, LAYERS[1] | {"rho": 2200.0}]
    write_scenario(tmp_path, **survey() | {"physics": "elastic", "model": model})
    task = prepared(tmp_path, background={"model": [model[0]]}, conditions=["impedance"])
    assert task.propagator.discretization.scenario.equation.name == "elastic_vti"
    assert task.models.keys() == {"vp", "vs", "rho"}
    column = contents(add_shots(task, TaskRequest(tmp_path / "image.h5")))["impedance"][:, 20]
    steepest = int(np.argmax(np.diff(column)))
    assert task.axes["z"][steepest] == pytest.approx(CONTACT - 5.0, abs=10.0)


def test_an_image_is_the_derivative_of_the_misfit(folder):
    """Of all shots at once, without windows: that of the library's own misfit of traces."""
    task = prepared(
        folder, window=None, migrate="difference", conditions=["impedance", "vp"],
        illumination={"normalise": False}, mask=None,
    )  # fmt: skip
    arrays = contents(add_shots(task, TaskRequest(folder / "derivative.h5")))
    with seismo.open_results(folder / "observed.h5") as results:
        traces = results.traces["line"]
        observed = np.stack([traces.values_of("pressure", n) for n in range(3)])
    objective = seismo.misfit(task.propagator, {"line": {"pressure": observed}})
    task.propagator.select()
    _, gradient = objective(**task.models)
    for name, parameter in (("impedance", "rho"), ("vp", "vp")):
        expected = -task.models[parameter] * gradient[parameter]
        assert arrays[name] == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())
        assert (arrays[name] == arrays[f"unnormalised_{name}"]).all()


def test_a_stopped_run_goes_on_to_the_same_bits(ready, folder, images):
    output = folder / "stopped.h5"
    reports = []
    with pytest.raises(StoppedError, match="after 1 of 3 batches of shots; go on with --resume"):
        add_shots(ready, TaskRequest(output, None, reports.append, lambda: bool(reports)))
    assert not output.exists()
    with pytest.raises(ScenarioError, match="the image here has not ended; go on with --resume"):
        add_shots(ready, TaskRequest(output))
    other = prepared(folder, low_pass="30 Hz")
    with pytest.raises(ScenarioError, match="begun with another image"):
        add_shots(other, TaskRequest(output, resume=True))
    reports.clear()
    add_shots(ready, TaskRequest(output, True, reports.append))
    assert [(stage.done, stage.replayed) for stage in reports] == [
        (1, True),
        (2, False),
        (3, False),
    ]
    with pytest.raises(ScenarioError, match="holds another image; choose another --output"):
        add_shots(other, TaskRequest(output, resume=True))
    resumed = contents(output)
    assert all((resumed[name] == array).all() for name, array in images.items())
    assert not output.with_name("stopped.h5.run").exists()


@pytest.mark.parametrize("count", [2, 4])  # of four ranks one has no shot
def test_images_are_the_same_for_any_number_of_ranks(ready, count):
    batches = ready.shot_sum().batches_of(ready.shots)
    alone = ready.shot_sum().results(None, batches)
    sums = []
    for number in range(count):
        sums.append(DerivativeBatches(ready))
        sums[-1]._ranks = Rank(number, count)
    sums[0]._ranks.others = [s._of_rank(None, batches) for s in sums[1:]]
    for first, second in zip(alone, sums[0].results(None, batches), strict=True):
        assert all((first[name] == second[name]).all() for name in first)


def test_chosen_shots_need_no_others(folder):
    """Files may lack what is not chosen, and the image is that of these shots."""
    other = folder / "few"
    other.mkdir()
    few = survey()
    few["survey"] = {"shots": few["survey"]["shots"][:1], "batch": 1}
    write_scenario(other, **few)
    (other / "scenario.yaml").write_text(yaml.safe_dump(survey()))
    with pytest.raises(ScenarioError, match="has no shot shot_001"):
        prepared(other)
    task = prepared(other, shots={"names": ["shot_000", "shot_001"], "every": 2})
    assert task.shots == [0]
    (alone,) = task.shot_sum().results(None, [(0, [0])])
    assert np.abs(alone["rho"]).max() > 0.0


def test_a_background_keeps_travel_times_and_water():
    run = discretize(seismo.load(survey()))
    vp = np.full((37, 41), 3000.0)
    vp[:20] = 2000.0
    vp[:5] = 1500.0
    model = {"vp": vp, "rho": 1000.0 + vp}
    smooth = background_of(Background(smooth=30.0, above=45.0), run.grid, model)
    assert (smooth["vp"][:5] == 1500.0).all()
    assert smooth["vp"][5] == pytest.approx(2000.0, rel=1e-4)  # no water in it
    assert np.diff(smooth["vp"][5:, 0]).max() < 150.0
    times = [(1.0 / speed[5:]).sum() for speed in (vp, smooth["vp"])]
    assert times[0] == pytest.approx(times[1], rel=1e-3)
    assert background_of(Background(), run.grid, model) is model


def test_units_are_squared():
    units = {"Pa": "Pa^2", "m/s": "m^2/s^2", "m/s^2": "m^2/s^4", "1/s": "1/s^2", "1": "1"}
    assert {unit: squared(unit) for unit in units} == units


def test_the_laplacian_is_that_of_polynomials():
    z, x = np.meshgrid(10.0 * np.arange(8), 5.0 * np.arange(9), indexing="ij")
    inner = laplacian(3.0 * z**2 - x**2, [10.0, 5.0])[1:-1, 1:-1]
    assert inner == pytest.approx(np.full_like(inner, 4.0))
    assert (laplacian(np.ones((3, 4, 5)), [1.0, 2.0, 3.0]) == 0.0).all()


@pytest.mark.parametrize(
    ("keys", "place", "problem"),
    [
        ({"conditions": ["vs"]}, "conditions[0]", "vs needs vs, which acoustic_variable_density"),
        ({"conditions": "impedence"}, "conditions[0]", "did you mean 'impedance'?"),
        ({"conditions": ["vp", "vp"]}, "conditions", "names vp twice"),
        ({"background": {"above": "3 m"}}, "background", "give smooth, or leave it out"),
        ({"background": {"model": [{"type": "uniform", "vp": "2 kg"}]}}, "background.model[0].vp",
         "kg"),
        ({"shots": {"names": "shot_9"}}, "shots.names", "use shot_000, shot_001, shot_002"),
        ({"mask": {"above": "3 km"}}, "mask", "leaves no node free"),
        ({"observed": "nothing.h5"}, "observed[0].path", "there is no such file"),
        ({"window": {"after": {"delay": "9 s"}}}, "window", "no observed trace has waves in it"),
        ({"filter": "laplace"}, "filter", "did you mean 'laplacian'?"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_place(folder, keys, place, problem):
    with pytest.raises(ScenarioError) as caught:
        prepared(folder, **keys)
    (message,) = caught.value.messages
    assert message.startswith(f"{folder}/image.yaml")
    assert f"{place}: " in message
    assert problem in message


def test_impedance_needs_a_density(folder):
    """The remedy is named where the key is left out, too."""
    rock = {"physics": "acoustic", "model": [{"type": "uniform", "vp": 2300.0}]}
    without = survey() | rock
    with pytest.raises(ScenarioError) as caught:
        prepared(folder, scenario=without, background=None)
    assert "impedance needs rho, which acoustic has not; use vp" in str(caught.value)
    assert "equation with density" in str(caught.value)


def test_the_command_checks_migrates_and_draws(folder, command_line):
    settings(folder, output=None, window=None)
    file = folder / "image.yaml"
    options = ("--backend", "cpu", "--threads", "1")
    code, out, _ = command_line("image", file, "--check", *options)
    assert code == 0
    assert "image       impedance at 37 x 41 nodes" in out
    assert "line.pressure (48 traces), recorded" in out
    assert "3 of 3, 1 together: 3 runs" in out
    assert "no `window.after`: direct waves of the traces are migrated, too" in out
    output = folder / "drawn.h5"
    code, out, err = command_line("image", file, *options, "--output", output)
    assert (code, out.strip()) == (0, str(output))
    assert "3 of 3 batches of shots" in err
    code, out, _ = command_line("plot", output)
    assert code == 0
    names = [type(folder)(line).name for line in out.split()]
    assert names == ["drawn-image.png", "drawn-illumination.png"]
    code, out, _ = command_line("info", output)
    assert code == 0
    assert "shots       shot_000, shot_001, shot_002" in out
    assert "impedance, at most" in out
    code, _, err = command_line("plot", output, "gather")
    assert code == 2
    assert "figures of images are image, illumination" in err
    code, _, err = command_line("info", output, "--verify")
    assert "images have no checksums" in err


def test_the_example_is_sound():
    from pathlib import Path

    folder = Path(__file__).resolve().parents[2] / "inversions"
    migration = load_migration(folder / "reflection_image.yaml")
    assert migration.background_scenario().physics == "acoustic_variable_density"
    assert migration.observed[0].path == "reflection.h5"
    assert migration.background.smooth == 100.0

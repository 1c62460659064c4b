"""Wavefields out of boxes and in again: the field of one run inside, nothing outside of its own.

On the grid of the recorded run the terms that cross the faces are those of its own formulas: what
is left is the rounding of float32 and of records (1e-6), and the interpolation of records between
steps, 1e-5 of the peak at eight records in the shortest period (`test_records_between_steps`).
"""

import copy

import numpy as np
import pytest

import seismo
from seismo.acquisition.spectra import derivatives_of
from seismo.errors import ScenarioError
from seismo.features.wavefield_boxes.crossing import LinearForm
from seismo.features.wavefield_boxes.recording import recorded_fields
from seismo.features.wavefield_boxes.signals import interpolated, polynomials
from seismo.runs.check.plan import check
from seismo.runs.run import resume
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from solver import slow_but
from test_device_threads import on_team
from test_resume import report_every_step, stopped

pytestmark = pytest.mark.usefixtures("no_remedies", "exact_contacts")

ROCK = {"vp": 2000.0, "vs": 1100.0, "rho": 2000.0}
TILTED = {"epsilon": 0.1, "delta": 0.05, "theta": "20 deg"}
LOSSY = {"qp": 50.0, "qs": 40.0}
INSIDE = [{"x": 360.0, "z": 300.0}, {"x": 403.0, "z": 247.0}]
OUTSIDE = [{"x": 220.0, "z": 100.0}, {"x": 550.0, "z": 400.0}]


def outer(physics="elastic", kind="explosion", rock=ROCK, top="absorbing", **changes) -> dict:
    """Return a run whose waves pass a box from the left."""
    source = {"type": kind, "position": {"x": 103.0, "z": 203.0},
              "wavelet": {"type": "ricker", "frequency": 12.0}}  # fmt: skip
    if kind == "force":
        source["force"] = {"y": 1.0}
    quantity = "pressure" if physics.startswith("acoustic") else "velocity"
    stations = {"type": "points", "quantities": [quantity], "interval": 0.006}
    return {
        "physics": physics,
        "grid": {"extent": {"x": 640.0, "z": 560.0}, "spacing": 10.0, "order": 8},
        "time": {"duration": 0.3},
        "boundaries": {"top": top, "layer": {"points": 8}},
        "model": [{"type": "layers", "layers": [
            {"top": 0.0, **rock}, {"top": 305.0, **rock | {"vp": 3000.0, "vs": 1700.0}}]}],
        "sources": [source],
        "receivers": [stations | {"name": "inside", "positions": INSIDE},
                      stations | {"name": "outside", "positions": OUTSIDE}],
        "output": {"boxes": [{"name": "site", "box": {
            "x": [280.0, 460.0], "z": [0.0 if top == "free_surface" else 190.0, 380.0]}}]},
    } | changes  # fmt: skip


def without(scenario: dict, *names: str) -> dict:
    """Return a scenario whose rock lacks some properties."""
    for layer in scenario["model"][0]["layers"]:
        for name in names:
            layer.pop(name, None)
    return scenario


def inner(scenario: dict, path="outer.h5", **changes) -> dict:
    """Return the run that injects a box in place of the sources."""
    own = {"sources": [{"type": "wavefield", "path": str(path)}], "output": {}}
    return copy.deepcopy(scenario) | own | changes


def traces(results, name: str) -> np.ndarray:
    """Return all traces of a set, one component after the other."""
    group = results.traces[name]
    return np.array([group.values_of(component)[0] for component in group])


def compared(folder, scenario: dict, wanted=None, **changes) -> tuple[float, float]:
    """Return the largest difference inside, and what there is outside, over the peak."""
    path = folder / "outer.h5"
    with seismo.run(scenario, path) as recorded:
        peak = np.abs(traces(recorded, "outside")).max()
        expected = traces(recorded if wanted is None else wanted, "inside")
    with seismo.run(inner(scenario, path, **changes), folder / "inner.h5") as injected:
        found = traces(injected, "inside")
        leaking = np.abs(traces(injected, "outside")).max()
    return np.abs(found - expected).max() / peak, leaking / peak


CASES = {
    "acoustic": outer("acoustic", "pressure"),
    "acoustic, surface": outer("acoustic", "pressure", top="free_surface"),
    "acoustic TTI": outer("acoustic", "pressure", ROCK | TILTED),
    "acoustic, loss": outer("acoustic", "pressure", ROCK | {"qp": 40.0}),
    "variable density": outer("acoustic_variable_density", "pressure"),
    "SH": outer("elastic_sh", "force", top="free_surface"),
    "elastic": outer(),
    "elastic, surface": outer(top="free_surface"),
    "elastic, loss": outer(rock=ROCK | LOSSY, top="free_surface"),
    "elastic VTI": outer(rock=ROCK | {"epsilon": 0.1, "delta": 0.05}),
    "elastic TTI": outer(rock=ROCK | TILTED, top="free_surface"),
    "elastic TTI, loss": outer(rock=ROCK | TILTED | LOSSY, top="free_surface"),
}
for name, case in CASES.items():
    if "acoustic" in name or name == "variable density":
        without(case, "vs", "qs", *(("rho",) if "acoustic" in name else ()))
    if name == "SH":
        without(case, "vp")


@pytest.mark.parametrize(
    "name",
    slow_but(("acoustic TTI", "variable density", "SH", "elastic TTI, loss"), CASES),
)
def test_box_has_the_field_of_the_recorded_run(name, tmp_path):
    inside, outside = compared(tmp_path, CASES[name])
    assert inside < 1e-5
    assert outside < 1e-5


VOLUME = outer(
    grid={"extent": {"x": 800.0, "y": 640.0, "z": 520.0}, "spacing": 20.0, "order": 4},
    sources=[{"type": "explosion", "position": {"x": 83.0, "y": 200.0, "z": 143.0},
              "wavelet": {"type": "ricker", "frequency": 7.0}}],
    boundaries={"top": "free_surface", "layer": {"points": 6}},
    time={"duration": 0.24},
    receivers=[{"name": "inside", "type": "points", "interval": 0.006,
                "positions": [{"x": 411.0, "y": 310.0, "z": 0.0},
                              {"x": 400.0, "y": 322.0, "z": 125.0}]},
               {"name": "outside", "type": "points", "interval": 0.006,
                "positions": [{"x": 120.0, "y": 90.0, "z": 40.0},
                              {"x": 700.0, "y": 210.0, "z": 420.0}]}],
    output={"boxes": [{"name": "site", "box": {"x": [280.0, 540.0], "y": [180.0, 440.0],
                                               "z": [0.0, 280.0]}}]},
)  # fmt: skip


def test_bits_of_any_decomposition_and_ranks_in_space(monkeypatch, tmp_path):
    """Records and what is injected are the same however the grid is cut, and on several ranks."""
    path = tmp_path / "outer.h5"
    with seismo.run(VOLUME, path) as recorded:
        expected = traces(recorded, "inside")
        peak = np.abs(traces(recorded, "outside")).max()
    with seismo.run(inner(VOLUME, path), tmp_path / "one.h5") as whole:
        assert np.abs(traces(whole, "inside") - expected).max() < 1e-5 * peak
        assert np.abs(traces(whole, "outside")).max() < 1e-5 * peak
        bits = whole.traces_hash
    on_team(monkeypatch, 2)
    cut = VOLUME["grid"] | {"decomposition": [1, 2]}
    with seismo.run(VOLUME | {"grid": cut}, tmp_path / "two.h5") as recorded:
        again, first = recorded.boxes["site"]["y_min"], seismo.open_results(path)
        assert np.array_equal(again.values_of("sxy"), first.boxes["site"]["y_min"].values_of("sxy"))
    with seismo.run(inner(VOLUME, path, grid=cut), tmp_path / "three.h5") as parts:
        assert parts.traces_hash == bits


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acoustic", "elastic, loss", "elastic TTI, loss"])
def test_cuts_beside_the_box_in_space(name, tmp_path):
    """Also where a subdomain has no term, with two parities, and with memory variables."""
    layers = [layer | {"qp": 60.0, "qs": 30.0} for layer in CASES["elastic"]["model"][0]["layers"]]
    scenario = VOLUME | {"model": [{"type": "layers", "layers": layers}]}
    cut = [2, 2]
    if name == "acoustic":
        model = CASES["acoustic"]["model"]
        source = VOLUME["sources"][0] | {"type": "pressure"}
        scenario = VOLUME | {"physics": "acoustic", "model": model, "sources": [source]}
        sets = [group | {"quantities": ["pressure"]} for group in VOLUME["receivers"]]
        scenario["receivers"] = sets
    elif "TTI" in name:
        tilted = [layer | TILTED | {"gamma": 0.1} for layer in layers]
        scenario["model"] = [{"type": "layers", "layers": tilted}]
        cut = [1, 2]
    inside, outside = compared(tmp_path, scenario)
    # The recorded run keeps memory variables in 16 bits.
    assert inside < (1e-5 if name == "acoustic" else 5e-5)
    assert outside < 1e-5
    parts = scenario["grid"] | {"decomposition": cut}
    path = tmp_path / "outer.h5"
    with seismo.run(inner(scenario, path, grid=parts), tmp_path / "cut.h5") as results:
        assert results.traces_hash == seismo.open_results(tmp_path / "inner.h5").traces_hash


def test_spectrum_is_that_of_the_recorded_source(recorded_path):
    """A moment rate is differentiated once in the far field, whatever injects its waves."""
    recorded = discretize(from_dict(outer())).shots[0].summaries[0]
    injected = discretize(from_dict(inner(outer(), recorded_path))).shots[0].summaries[0]
    assert derivatives_of(injected) == derivatives_of(recorded) == 1.0


@pytest.mark.parametrize(
    ("steps", "error"), [(None, 5e-5), pytest.param(7, 1e-2, marks=pytest.mark.slow)]
)
def test_records_between_steps(steps, error, tmp_path):
    """Records are thinned as far as the sources' spectrum allows, and other steps are met."""
    scenario = outer(time={"duration": 0.3, "step": 0.0015})
    scenario["grid"]["stencil"] = "taylor"
    scenario["output"]["boxes"][0]["steps"] = steps
    inside, outside = compared(tmp_path, scenario, time={"duration": 0.3, "step": 0.0012})
    assert inside < error
    assert outside < error


def test_records_and_every_step(tmp_path):
    """Eight records in the shortest period: most steps are between them."""
    scenario = outer(sources=[outer()["sources"][0] | {
        "wavelet": {"type": "ricker", "frequency": 6.0}}])  # fmt: skip
    plan = check(scenario)
    assert [text.rpartition(", ")[2] for _, text in facts(plan, "box")] == ["every 5 steps"]
    inside, outside = compared(tmp_path, scenario)
    assert inside < 1e-5
    assert outside < 1e-5


def facts(plan, label: str) -> list[tuple[str, str]]:
    from seismo.runs.prediction.lines import facts_of_features

    return [row for row in facts_of_features(plan.discretization, "sources") if row[0] == label]


@pytest.mark.parametrize("top", ["absorbing", "free_surface"])
def test_grid_of_half_the_spacing(top, tmp_path):
    """Between points of the recorded grid fields are polynomials, to 0.5 % of the fine run."""
    scenario = outer(top=top, sources=[outer()["sources"][0] | {
        "wavelet": {"type": "ricker", "frequency": 6.0}}])  # fmt: skip
    fine = scenario["grid"] | {"spacing": 5.0}
    with seismo.run(scenario | {"grid": fine, "output": {}}, tmp_path / "fine.h5") as wanted:
        inside, outside = compared(tmp_path, scenario, wanted, grid=fine)
    assert inside < 5e-3
    assert outside < 5e-3


@pytest.mark.parametrize("vp", [1500.0, pytest.param(3600.0, marks=pytest.mark.slow)])
def test_inclusion_in_the_box(vp, tmp_path):
    """What scatters in the box leaves it: the run with all of it is repeated, in even rock."""
    scenario = outer(model=[{"type": "uniform", **ROCK}], time={"duration": 0.3, "step": 0.001})
    scenario["grid"]["stencil"] = "taylor"
    block = {"type": "block", "x": [340.0, 400.0], "z": [250.0, 320.0], "vp": vp, "vs": vp / 2}
    model = [*scenario["model"], block]
    full = scenario | {"model": model, "output": {}}
    with seismo.run(full, tmp_path / "full.h5") as wanted:
        inside, scattered = compared(tmp_path, scenario, wanted, model=model)
    assert inside < 1e-5
    assert scattered > 1e-3


def test_hill_in_the_box(tmp_path):
    """A box recorded under level ground takes a hill: rows about the faces are at other depths."""
    scenario = outer(
        model=[{"type": "uniform", **ROCK}], top="free_surface",
        sources=[outer()["sources"][0] | {"wavelet": {"type": "ricker", "frequency": 6.0}}],
    )  # fmt: skip
    scenario["receivers"][0]["positions"] = [{"x": 370.0, "depth": 0.0}, {"x": 401.0, "z": 201.0}]
    scenario["output"]["boxes"][0]["box"]["x"] = [180.0, 540.0]
    scenario["receivers"][1]["positions"] = [{"x": 80.0, "z": 100.0}]
    hill = {"type": "hills", "hills": [{"center": {"x": 360.0}, "height": 30.0, "width": 30.0}]}
    full = scenario | {"topography": hill, "output": {}}
    with seismo.run(full, tmp_path / "full.h5") as wanted:
        inside, _ = compared(tmp_path, scenario, wanted, topography=hill)
    assert inside < 1e-2


@pytest.mark.slow
def test_stopped_runs_go_on_to_the_same_bits(monkeypatch, tmp_path):
    """Of records, and of what is injected from the middle of a window."""
    report_every_step(monkeypatch)
    scenario = outer()
    path = tmp_path / "outer.h5"
    with seismo.run(scenario, path) as whole:
        bits = whole.traces_hash
        slab = whole.boxes["site"]["x_min"].values_of("sxz")
    stopped(scenario, tmp_path / "again.h5", 70)
    with resume(tmp_path / "again.h5.run") as again:
        assert again.traces_hash == bits
        assert np.array_equal(again.boxes["site"]["x_min"].values_of("sxz"), slab)
    with seismo.run(inner(scenario, path), tmp_path / "inner.h5") as whole:
        bits = whole.traces_hash
    stopped(inner(scenario, path), tmp_path / "later.h5", 70)
    with resume(tmp_path / "later.h5.run") as again:
        assert again.traces_hash == bits


def refused(scenario: dict) -> str:
    with pytest.raises(ScenarioError) as caught:
        check(scenario)
    return str(caught.value)


@pytest.fixture(scope="module")
def recorded_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "outer.h5"
    seismo.run(outer(), path).close()
    return path


def test_boxes_are_refused_where_they_do_not_fit():
    small = outer(output={"boxes": [{"box": {"x": [280.0, 300.0], "z": [190.0, 380.0]}}]})
    assert "nodes along x: it needs 160 m" in refused(small)
    edge = outer(output={"boxes": [{"box": {"x": [20.0, 460.0], "z": [190.0, 380.0]}}]})
    assert "x_min is nearer than 8 points" in refused(edge)
    flat = outer(output={"boxes": [{"box": {"x": [280.0, 460.0]}}]})
    assert "needs z: [from, to]" in refused(flat)
    deep = outer(output={"boxes": [{"box": {"x": [280.0, 460.0], "z": [190.0, 900.0]}}]})
    assert "outside the grid: z from 0 m to 560 m" in refused(deep)
    twice = outer()["output"]["boxes"] * 2
    assert "output.boxes[1].name: 'site': the name 'site' is taken by boxes[0]" in refused(
        outer(output={"boxes": twice})
    )


def test_wavefields_are_refused_where_they_do_not_fit(recorded_path):
    def inject(**changes) -> str:
        return refused(inner(outer(), recorded_path, **changes))

    assert "ends at 0.3 s, and this run at 0.4 s" in inject(time={"duration": 0.4})
    assert "no box other; it has site" in inject(
        sources=[{"type": "wavefield", "path": str(recorded_path), "box": "other"}]
    )
    acoustic = without(outer("acoustic", "pressure"), "vs", "rho")
    assert "is of elastic waves, and this run has acoustic" in refused(
        inner(acoustic, recorded_path)
    )
    assert "x_min is nearer than 4 points" in inject(
        grid=outer()["grid"] | {"origin": {"x": 250.0}}, receivers=[]
    )
    assert "No such file" in refused(inner(outer(), "nowhere.h5"))


def test_check_names_unlike_rock_and_receivers_outside(recorded_path):
    scenario = inner(outer(rock=ROCK | {"rho": 2100.0}), recorded_path)
    warnings = " ".join(check(scenario).warnings)
    assert "rho is 2100, and 2000 where it was recorded" in warnings
    assert "receivers outside: 2 lie outside the box of wavefield source_000 or within" in warnings
    source = outer()["sources"][0] | {"position": {"x": 360.0, "z": 280.0}}
    assert "source source_000 lies in it" in " ".join(check(outer(sources=[source])).warnings)


def test_a_wavefield_is_not_injected_into_a_box_with_its_source(tmp_path):
    source = outer()["sources"][0] | {"position": {"x": 360.0, "z": 280.0}}
    scenario = outer(sources=[source], time={"duration": 0.02})
    seismo.run(scenario, tmp_path / "outer.h5").close()
    text = refused(inner(scenario, tmp_path / "outer.h5"))
    assert "its source source_000 lies in box site" in text


def test_differences_are_those_of_the_recorded_run(recorded_path):
    """Of the same spacing; another order that is typed is kept."""
    recorded = seismo.open_results(recorded_path)
    own = discretize(from_dict(inner(outer(), recorded_path)))
    assert own.stencil.tolerance == recorded.attributes["stencil_tolerance"]
    assert own.clock.dt == recorded.dt
    other = outer()["grid"] | {"order": 4}
    assert discretize(from_dict(inner(outer(), recorded_path, grid=other))).stencil.order == 4


def test_recorded_fields_stand_where_formulas_take_them():
    """Velocities half a step before the stresses of a record; pressure of second order with it."""
    lags = recorded_fields(discretize(from_dict(outer())).physics)
    assert lags == {"sxx": 0.0, "szz": 0.0, "sxz": 0.0, "vx": 0.5, "vz": 0.5}
    tilted = discretize(from_dict(CASES["acoustic TTI"])).physics
    assert set(recorded_fields(tilted).values()) == {0.0, 1.0}


def test_series_between_samples():
    """A windowed sinc keeps 1e-6 of waves of five samples a period, whole samples to the bit."""
    n = np.arange(200.0)
    wave = np.exp(-(((n - 100.0) / 25.0) ** 2)) * np.cos(2.0 * np.pi * n / 5.0)
    at = np.array([60.3, 99.5, 131.77])
    exact = np.exp(-(((at - 100.0) / 25.0) ** 2)) * np.cos(2.0 * np.pi * at / 5.0)
    assert np.allclose(interpolated(wave[:, None], at)[:, 0], exact, atol=2e-6)
    assert np.array_equal(interpolated(wave[:, None], n[5:9])[:, 0], wave[5:9])
    assert interpolated(wave[:, None], np.array([-40.5, 260.5])).tolist() == [[0.0], [0.0]]


def test_polynomials_are_exact_for_their_degree():
    samples = np.append(-0.5, np.arange(12.0))
    wanted = np.array([-0.25, 0.5, 6.3, 11.2])
    weights = polynomials(samples, wanted)
    assert np.allclose(weights @ samples**7, wanted**7, rtol=1e-9)
    assert np.allclose(weights.sum(axis=1), 1.0)


def test_linear_forms_take_numbers_from_either_side():
    form = LinearForm([("p", np.arange(2), 1.0)])
    total = 0.0 - np.array([2.0, 3.0]) * form / 2.0 + form
    assert [np.broadcast_to(w, 2).tolist() for _, _, w in total.terms] == [
        [-1.0, -1.5], [1.0, 1.0],
    ]  # fmt: skip

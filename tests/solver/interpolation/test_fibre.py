"""Strain along fibres (DAS), against exact velocities at the ends and bends of every gauge length.

Whole spaces and a free surface, 10 points in the shortest wavelength, gauge lengths of a fraction
of the spacing to half a wavelength. The bar is 0.5 % of each channel, where it is not nearly blind
(a fibre across the motion); tolerances are about three times what was measured.
"""

import numpy as np
import pytest

import seismo
import solver
from seismo.acquisition.receivers import fibre_of
from seismo.errors import ScenarioError
from seismo.exact import acoustic, layered_plane, whole_space
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.output.export import export
from test_solver_exact import FREQUENCY, WAVELET

MEDIUM = Medium(**solver.VALUES)
WAVE = MEDIUM.vs / (2.5 * FREQUENCY)  # the shortest wavelength in m
H = WAVE / 10
LINES = {  # in cells
    "level": [[34.2, 14.4], [52.9, 14.4]],
    "oblique": [[30.3, 8.1], [49.8, 21.7]],
    "bent": [[32.0, 20.0], [38.5, 11.5], [46.2, 12.1], [46.2, 25.0]],
}


def fibre(points, gauge_length, **keys):
    axes = "xz" if len(points[0]) == 2 else "xyz"
    listed = [dict(zip(axes, (float(p * H) for p in point), strict=True)) for point in points]
    return {"type": "fibre", "name": f"f{gauge_length / H:g}", "points": listed,
            "spacing": 1.7 * H, "gauge_length": gauge_length, **keys}  # fmt: skip


def run(physics, cells, source, at, sets, reach, model=None, **changes):
    axes = "xz" if len(cells) == 2 else "xyz"
    place = lambda p: {a: float(v * H) for a, v in zip(axes, p, strict=True)}  # noqa: E731
    document = solver.plan(
        physics, len(cells), steps=None,
        grid={"extent": place(cells), "spacing": H, "order": solver.ORDER[len(cells)]},
        time={"duration": float(reach * H / MEDIUM.vs + 2.4 / FREQUENCY)},
        boundaries={**solver.faces(len(cells), **changes), "layer": {"points": 10}},
        sources=[{"position": place(at), "wavelet": WAVELET, **source}],
        receivers=sets,
    )  # fmt: skip
    return solver.simulate(document | ({"model": model} if model else {}))


def wanted(group, velocity, axes):
    """Sum exact velocities over ends and bends: velocity((n, axes) m) -> (n, axes, time)."""
    order = ["xyz".index(a) for a in axes]
    ends = group.fibre.ends
    # All of them at once: exact waves of layers share their work.
    counts = np.cumsum([len(of_one) for of_one in ends])
    motion = np.split(velocity(np.concatenate(ends)[:, order]), counts[:-1])
    pairs = zip(group.fibre.weights, motion, strict=True)
    return np.array([np.einsum("na,nat->t", w[:, order], v) for w, v in pairs])


def errors(found, expected):
    """Return the errors of all channels, of a blind one in shares of the median."""
    size = np.linalg.norm(expected, axis=1)
    return np.linalg.norm(found - expected, axis=1) / np.maximum(size, 0.2 * np.median(size))


@pytest.mark.parametrize("line", LINES)
def test_strain_along_fibres_in_a_whole_space(line):
    """Gauge lengths of 0.2 cells, 3 cells and half a wavelength: found 0.02 to 0.09 %."""
    gauges = [0.2 * H, 3 * H, 5 * H]
    sets = [fibre(LINES[line], g, quantities=["strain_rate", "strain"]) for g in gauges]
    source, force = np.array([16.3, 12.2]), [1.0, 0.6]
    simulation = run(
        "elastic", (62, 34), {"type": "force", "force": {"x": 1.0, "z": 0.6}}, source, sets, 40
    )
    s = solver.wavelet(simulation)
    for number, group in enumerate(simulation.discretization.groups):
        found = solver.traces(simulation, group=number)
        for name, motion in (("strain_rate", "velocity"), ("strain", "displacement")):
            exact = lambda x, q=motion: whole_space.force_response(  # noqa: E731
                x - source * H, force, s, simulation.dt, MEDIUM, q
            )
            assert errors(found[name], wanted(group, exact, "xz")).max() < 2e-3


@pytest.mark.slow
def test_strain_along_a_fibre_in_3_d():
    source = np.array([12.3, 9.2, 10.1])
    line = [[20.4, 11.2, 8.0], [25.0, 17.6, 8.0], [25.0, 17.6, 16.3]]
    simulation = run(
        "elastic", (32, 26, 24), {"type": "explosion", "moment": 1.0, "time_function": "moment"},
        source, [fibre(line, 4 * H)], 22,
    )  # fmt: skip
    s, moment = solver.wavelet(simulation), np.eye(3)
    exact = lambda x: whole_space.moment_response(  # noqa: E731
        x - source * H, moment, s, simulation.dt, MEDIUM, "velocity"
    )
    found = solver.traces(simulation)["strain_rate"]
    assert errors(found, wanted(simulation.discretization.groups[0], exact, "xyz")).max() < 5e-3


def test_a_fibre_in_water_has_the_strain_of_the_water():
    source = np.array([16.3, 12.2])
    simulation = run(
        "acoustic_variable_density", (62, 34), {"type": "pressure", "amplitude": 1.0}, source,
        [fibre(LINES["bent"], 3 * H)], 40,
    )  # fmt: skip
    s = solver.wavelet(simulation)
    exact = lambda x: acoustic.velocity(  # noqa: E731
        x - source * H, s, simulation.dt, MEDIUM.vp, MEDIUM.rho
    )
    found = solver.traces(simulation)["strain_rate"]
    assert errors(found, wanted(simulation.discretization.groups[0], exact, "xz")).max() < 2e-3


def test_strain_on_and_under_a_free_surface():
    """Lamb's problem along fibres on the surface, under it and down from it.

    In shares of the strain along the surface: found 0.03 % on it, and 0.6 % among its rows.
    """
    source = np.array([20.3, 12.3])
    lines = [[[40.3, z], [51.1, z]] for z in (0.0, 0.6)]
    lines += [[[48.4, 0.6], [48.4, 6.6]]]
    sets = [fibre(line, 3 * H, name=f"l{n}") for n, line in enumerate(lines)]
    simulation = run(
        "elastic", (68, 34), {"type": "force", "force": {"x": 0.6, "z": 1.0}}, source, sets, 38,
        top="free_surface",
    )  # fmt: skip
    s, stack = solver.wavelet(simulation), Stack((MEDIUM,), (0.0,))
    exact = lambda x: layered_plane.force_response(  # noqa: E731
        stack, source * H, x, [0.6, 1.0], s, simulation.dt, "velocity"
    )
    expected = [wanted(group, exact, "xz") for group in simulation.discretization.groups]
    size = np.median(np.linalg.norm(expected[0], axis=1))
    worst = [
        np.linalg.norm(solver.traces(simulation, group=n)["strain_rate"] - e, axis=1).max() / size
        for n, e in enumerate(expected)
    ]
    assert worst[0] < 1e-3
    assert max(worst) < 1e-2


HARD = {"vp": 3400.0, "vs": 2000.0, "rho": 2500.0}


def test_short_gauge_lengths_read_strains_across_a_contact():
    """Of 0.4 and 1 cells: errors up to 4.1 and 3.6 % (motion at the ends 11.6, 7.7), here 2.7."""
    contact = 9.4 * H
    source = np.array([14.3, 6.3])
    line = [[30.0, 0.0], [39.0, 12.0]]
    sets = [fibre(line, g * H, name=f"g{g}", spacing=1.6 * H) for g in (0.4, 1.0)]
    simulation = run(
        "elastic", (50, 30), {"type": "force", "force": {"x": 1.0, "z": 0.6}}, source, sets, 30,
        model=[{"type": "layers",
                "layers": [{"top": 0.0, **solver.VALUES}, {"top": contact, **HARD}]}],
        top="free_surface",
    )  # fmt: skip
    s, stack = solver.wavelet(simulation), Stack((MEDIUM, Medium(**HARD)), (0.0, contact))
    exact = lambda x: layered_plane.force_response(  # noqa: E731
        stack, source * H, x, [1.0, 0.6], s, simulation.dt, "velocity"
    )
    for number, group in enumerate(simulation.discretization.groups):
        found = solver.traces(simulation, group=number)["strain_rate"]
        assert errors(found, wanted(group, exact, "xz")).max() < 0.03


def test_weights_of_a_straight_fibre_are_a_difference_and_bends_take_part():
    points = np.array([[0.0, 0.0, 0.0], [40.0, 0.0, 30.0], [40.0, 0.0, 80.0]])
    along, positions = fibre_of(points, 10.0, 20.0)
    assert along.distances.tolist() == [10.0 + 10.0 * n for n in range(9)]
    assert positions[0] == pytest.approx([8.0, 0.0, 6.0])
    direction = np.array([0.8, 0.0, 0.6])
    assert along.ends[0] == pytest.approx(np.outer([0.0, 20.0], direction))
    assert along.weights[0] == pytest.approx(np.outer([-0.05, 0.05], direction))
    over = along.ends[4], along.weights[4]  # 40 to 60 m, about the bend at 50 m
    assert over[0] == pytest.approx(np.array([[32, 0, 24], [40, 0, 30], [40, 0, 40]]))
    assert over[1].sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-15)
    assert over[1][1] == pytest.approx((direction - [0, 0, 1]) / 20.0)
    # A rigid rotation strains nothing, whatever the bends.
    turning = np.stack([over[0][:, 2], 0.0 * over[0][:, 0], -over[0][:, 0]], axis=1)
    assert np.sum(over[1] * turning) == pytest.approx(0.0, abs=1e-15)


def small(folder, sets, **changes):
    document = solver.plan(
        "elastic", 2, cells=(30, 34), steps=40, random_medium=folder,
        boundaries=solver.faces(2, top="free_surface"),
    ) | {"receivers": sets} | changes  # fmt: skip
    document["sources"] = document["sources"][:1]
    return document


SPOTS = [{"x": 60.0, "z": 20.0}, {"x": 180.0, "z": 150.0}, {"x": 185.0, "z": 290.0}]
BENT = {"type": "fibre", "name": "bent", "points": SPOTS, "spacing": 7.0, "gauge_length": 60.0}


def test_a_fibre_across_cuts_records_the_same_bits(tmp_path):
    document = small(tmp_path, [BENT])
    whole = solver.records(solver.simulate(document, tmp_path))
    for parts in ((2, 1), (3, 1)):
        cut = solver.simulate(document, tmp_path, parts=parts)
        assert solver.identical(solver.records(cut), whole)
    assert np.abs(whole["bent.strain_rate"]).max(axis=1).min() > 0.0


def test_a_fibre_of_a_file_is_that_of_its_points(tmp_path):
    (tmp_path / "cable.csv").write_text("x;z\n60;20\n180;150\n185;290\n")
    filed = {key: value for key, value in BENT.items() if key != "points"} | {"path": "cable.csv"}
    groups = [
        solver.build(small(tmp_path, [s]), tmp_path).discretization.groups[0] for s in (BENT, filed)
    ]
    assert groups[0].coordinates.tolist() == groups[1].coordinates.tolist()
    (tmp_path / "cable.csv").write_text("x;z\n60;20\n180;1500\n")
    with pytest.raises(ScenarioError, match=r"path.*cable.csv:3: z = 1500 m lies outside the grid"):
        solver.build(small(tmp_path, [filed]), tmp_path)
    (tmp_path / "cable.csv").write_text("x,name\n60,20\n")
    with pytest.raises(ScenarioError, match=r"expected the columns longitude, latitude, depth, or"):
        solver.build(small(tmp_path, [filed]), tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gauge_length": 900.0}, r"gauge_length.*900 m are longer than the fibre, 317\.\d+ m"),
        ({"points": None}, r"points: missing: give the points of the fibre, or path"),
        ({"path": "a.csv"}, r"points: a fibre has its points here, or in a file"),
        ({"quantities": ["velocity"]}, r"a fibre records strain_rate, strain"),
        ({"spacing": 1e-4}, r"makes 3\.17\d+e\+06 channels, 1000000 is the limit"),
        ({"points": [SPOTS[0], {"x": 9000.0, "z": 5.0}]}, r"points\[1\].x: 9000.0: outside"),
    ],
)
def test_what_a_fibre_cannot_be_is_said(tmp_path, changes, message):
    keys = {k: v for k, v in {**BENT, **changes}.items() if v is not None}
    with pytest.raises(ScenarioError, match=message):
        solver.build(small(tmp_path, [keys]), tmp_path)


@pytest.mark.parametrize("physics", ["acoustic", "elastic_sh"])
def test_equations_without_motion_along_a_fibre_are_named(tmp_path, physics):
    document = solver.plan(physics, 2) | {"receivers": [BENT]}
    with pytest.raises(ScenarioError, match=rf"physics {physics} has no motion along a fibre"):
        solver.build(document, tmp_path)


def test_results_of_a_fibre_say_its_distances_and_gauge_length(tmp_path):
    pytest.importorskip("matplotlib")
    sets = [BENT | {"quantities": ["strain_rate", "strain"], "interval": "10 ms"}]
    document = small(tmp_path, sets, time={"duration": 0.1})
    seismo.run(solver.from_dict(document, tmp_path), output=tmp_path / "r.h5")
    with seismo.open_results(tmp_path / "r.h5") as results:
        traces = results.traces["bent"]
        assert traces.gauge_length == 60.0
        assert traces.column("fibre_distance").tolist() == [30.0 + 7.0 * n for n in range(37)]
        assert (traces.unit("strain"), traces.unit("strain_rate")) == ("1", "1/s")
        figure = results.plot("gather")
        assert figure.axes[0].get_xlabel() == "distance along the fibre (m)"
        written = list(export(results, "segy", tmp_path))
        header = written[0].read_bytes()[:3200].decode("cp037")
        assert "GAUGE LENGTH OF 60 M" in header
        with pytest.raises(ScenarioError, match="the format netcdf holds every quantity"):
            list(export(results, "miniseed", tmp_path))


def test_rounding_makes_no_pieces_of_a_gauge_length():
    """A gauge length that ends on a bend, or with the fibre, has no further end beside it."""
    generator = np.random.default_rng(1)
    for _ in range(60):
        angle, pieces = generator.uniform(0.0, 6.28), int(generator.integers(2, 60))
        begin = generator.uniform(0.0, 1000.0, 3)
        along = 10.0 * np.array([[np.cos(angle), np.sin(angle), 0.0]])
        corner = begin + pieces * along
        points = np.concatenate([begin[None], corner, corner + 3 * along[:, [1, 0, 2]]])
        fibre, _ = fibre_of(points, 10.0, 10.0)
        assert len(fibre.ends) == pieces + 3
        for ends, weights in zip(fibre.ends, fibre.weights, strict=True):
            assert len(ends) == 2
            np.testing.assert_allclose(weights.sum(axis=0), 0.0, atol=1e-12)
            np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 0.1)


def test_a_gauge_length_may_be_the_whole_fibre():
    """Points of an oblique fibre are rounded: 2 m may be 2e-10 m shorter."""
    half = 0.707106781
    points = [{"x": 180.0 - half, "z": 90.0 - half}, {"x": 180.0 + half, "z": 90.0 + half}]
    one = {"type": "fibre", "points": points, "spacing": 1.0, "gauge_length": 2.0}
    (group,) = solver.build(solver.plan("elastic", 2, receivers=[one])).discretization.groups
    assert len(group.codes) == 1
    np.testing.assert_allclose(group.fibre.weights[0].sum(axis=0), 0.0, atol=1e-9)

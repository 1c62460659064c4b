"""What sources make arrive in a layered earth, and what contacts make of it, beside runs.

The sums over wavenumbers are those of the exact solutions (`seismo.exact.layered`,
`layered_plane`) for one complex frequency; what is expected of contacts is what runs err by.
"""

import copy

import numpy as np
import pytest

import flat_layers
import solver
from seismo.exact import layered, layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.runs.prediction.contacts import layered_traces
from seismo.runs.prediction.contacts.layered_error import layered_error
from seismo.runs.prediction.contacts.layered_traces import LayeredTraces
from seismo.runs.prediction.contacts.radiation import radiating_sources
from seismo.runs.prediction.contacts.stacks import section_of
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_contact_error import FREQUENCY, HARD, ROCK, WATER

SOFT = Medium(1800.0, 900.0, 1900.0)
HEAVY = Medium(2500.0, 0.0, 1800.0)
SOURCES = {
    "up": {"type": "force", "force": {"z": 1e9}},
    "along": {"type": "force", "force": {"x": 1e9}},
    "inclined": {"type": "force", "force": {"x": 1e9, "z": 6e8}},
    "explosion": {"type": "explosion", "moment": 1e9},
    "couple": {"type": "moment_tensor", "components": {"xz": 1e9}},
    "dipoles": {"type": "moment_tensor", "components": {"xx": 1e9, "zz": -1e9, "xz": 3e8}},
}


def seam(ratio: float) -> Medium:
    return Medium(ratio * ROCK.vp, ratio * ROCK.vs, max(ratio, 0.4) ** 0.25 * ROCK.rho)


def scenario(
    media, depths, source: dict, positions: list[tuple[float, float]], source_depth: float,
    points: float = 6.0, dimensions: int = 2, quantity: str = "velocity", surface: bool = False,
) -> dict:  # fmt: skip
    """Put layers on a grid; depths in nodes, all else in shortest wavelengths (x, z)."""
    slowest = min(m.vs or m.vp for m in media)
    shortest = slowest / (2.5 * FREQUENCY)
    h = shortest / points
    margin = 30.0 if dimensions == 2 else 12.0
    top = 0.0 if surface else -margin
    far = max(abs(x) for x, _ in positions)
    bottom = max(*depths, *(z * points for _, z in positions), source_depth * points) + margin
    is_solid = any(m.vs for m in media)
    extent = {"x": np.ceil(far * points) + 2 * margin, "z": np.ceil(bottom - top)}
    origin = {"x": -margin, "z": top}
    if dimensions == 3:
        extent["y"] = 2 * margin
        origin["y"] = -margin
    across = {"y": 0.0} if dimensions == 3 else {}
    ends = [{"x": x * shortest, "z": z * shortest} | across for x, z in positions]
    layers = [
        {"top": z * h, "vp": m.vp, "rho": m.rho} | ({"vs": m.vs} if is_solid else {})
        for z, m in zip((top, *depths), media, strict=True)
    ]
    return {
        "physics": "elastic" if is_solid else "acoustic_variable_density",
        "precision": "float64",
        "grid": {"extent": {a: n * h for a, n in extent.items()},
                 "origin": {a: n * h for a, n in origin.items()}, "spacing": h, "order": 8},
        "time": {"duration": (far + 3.0) * shortest / slowest + 3.2 / FREQUENCY},
        "boundaries": {"top": "free_surface" if surface else "absorbing", "layer": {"points": 25}},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [source | {"position": {"x": 0.0, "z": source_depth * shortest} | across,
                              "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [solver.points(ends, quantities=[quantity])],
    }  # fmt: skip


def summed_and_exact(given: dict, media, depths, surface: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return squares of motion and pressure (2, distance) of one frequency, and the exact ones."""
    discretization = discretize(from_dict(given))
    ends = discretization.groups[0].coordinates
    traces = LayeredTraces(
        discretization, section_of(discretization), ends[:1, 2], np.sort(ends[:, 0])
    )
    (source,) = radiating_sources(discretization, 0.0)
    summed = traces.squares([source], np.array([FREQUENCY]), np.ones(1))[0, 0, :, 0]
    damping, _ = traces._damping(np.array([2.0 * np.pi * FREQUENCY]), [source])
    s = np.array([damping + 2j * np.pi * FREQUENCY])
    acting = discretization.shots[0].sources[0]
    h = discretization.grid.spacing[2]
    stack = Stack(tuple(media), tuple([0.0] * surface + [d * h for d in depths]), surface)
    axes = "xyz" if discretization.grid.dimensions == 3 else "xz"
    force = np.array([acting.strength.get(axis, 0.0) for axis in axes])
    plain = acting.strength.get("", 0.0)
    moment = np.array(
        [
            [acting.strength.get("".join(sorted(a + b)), plain * (a == b)) for b in axes]
            for a in axes
        ]
    )
    position, places = (np.array(at)[..., [ "xyz".index(a) for a in axes]]
                        for at in (acting.position, ends[np.argsort(ends[:, 0])]))  # fmt: skip
    exact = []
    for pressure in (False, True):
        if len(axes) == 3:
            quantity = "pressure" if pressure else "displacement"
            strengths = force, moment
            wave = layered._transfer(stack, position, places, strengths, quantity)(s)
        else:
            weights = np.array([*force, moment[0, 0], moment[0, 1], moment[1, 1]])
            quantity = "stress" if pressure else "displacement"
            wave = layered_plane._transfer(stack, position, places, weights, quantity)(s)
            wave = wave[:, 1:] if pressure else wave
        exact.append((np.abs(wave[..., 0]) ** 2).sum(axis=1))
    return summed, np.array(exact)


@pytest.mark.parametrize(
    ("kind", "surface"),
    [
        pytest.param(
            kind, surface,
            marks=[] if surface or kind in {"explosion", "couple"} else [pytest.mark.slow],
        )
        for kind in SOURCES for surface in (False, True)
    ],
)  # fmt: skip
def test_motion_is_that_of_exact_solutions_in_a_plane(kind, surface) -> None:
    """Off the axis, and on it, where one component vanishes."""
    media, depths = (ROCK, SOFT, HARD), (24.0, 60.0)
    places = [(x, 1.5) for x in (0.0, 1.0, 3.0, 8.0)]
    given = scenario(media, depths, SOURCES[kind], places, 3.0, surface=surface)
    summed, exact = summed_and_exact(given, media, depths, surface)
    np.testing.assert_allclose(
        summed[0] / summed[0].sum(), exact[0] / exact[0].sum(), rtol=0.06, atol=1e-3
    )


@pytest.mark.parametrize("kind", ["up", "explosion"])
def test_motion_is_that_of_exact_solutions_in_space(kind) -> None:
    media, depths = (ROCK, SOFT, HARD), (24.0, 60.0)
    places = [(x, 1.5) for x in (0.0, 1.0, 3.0, 8.0)]
    given = scenario(media, depths, SOURCES[kind], places, 3.0, dimensions=3)
    summed, exact = summed_and_exact(given, media, depths, False)
    np.testing.assert_allclose(
        summed[0] / summed[0].sum(), exact[0] / exact[0].sum(), rtol=0.06, atol=1e-3
    )


@pytest.mark.parametrize("dimensions", [2, 3])
def test_pressure_is_that_of_exact_solutions(dimensions) -> None:
    media, depths = (WATER, HEAVY), (24.0,)
    places = [(x, 1.5) for x in (1.0, 3.0, 8.0)]
    given = scenario(media, depths, SOURCES["explosion"], places, 2.5,
                     dimensions=dimensions, quantity="pressure")  # fmt: skip
    summed, exact = summed_and_exact(given, media, depths, False)
    np.testing.assert_allclose(
        summed[1] / summed[1].sum(), exact[1] / exact[1].sum(), rtol=0.12, atol=1e-3
    )


def seam_error(ratio, thickness, points, kind, offsets) -> tuple[list[float], list[float]]:
    """Return what receivers above a seam err by, and what is expected of each."""
    media = (ROCK, seam(ratio), ROCK)
    longer = max(1.0, 1.0 / ratio)  # wavelengths in the rock, in shortest ones
    depths = (24.0, 24.0 + thickness)
    places = [(x * longer, 1.5 * longer) for x in offsets]
    given = scenario(media, depths, SOURCES[kind], places, 2.0 * longer, points)
    simulation = solver.simulate(given)
    contacts = [d * given["grid"]["spacing"] for d in depths]
    return flat_layers.errors(simulation, media, contacts, cut=1e-5), each_expected(given)


def each_expected(given: dict) -> list[float]:
    """Return what is expected of contacts, of one receiver after another."""
    alone = []
    for position in given["receivers"][0]["positions"]:
        single = copy.deepcopy(given)
        single["receivers"][0]["positions"] = [position]
        alone.append(layered_error(discretize(from_dict(single))).error)
    return alone


@pytest.mark.parametrize(
    ("ratio", "thickness", "points", "kind"),
    [
        (2.5, 3.0, 8.0, "inclined"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (
            (2.5, 1.0, 8.0, "up"), (0.25, 1.0, 2.7, "up"), (0.25, 2.0, 2.7, "along"),
            (0.25, 3.0, 2.7, "inclined"),
            (0.5, 1.0, 5.0, "explosion"), (0.5, 2.0, 5.0, "couple"), (0.5, 3.0, 5.0, "dipoles"),
            (0.77, 1.0, 7.0, "up"), (2.5, 2.0, 8.0, "along"), (4.0, 1.0, 10.0, "explosion"),
            (4.0, 2.0, 10.0, "couple"), (4.0, 3.0, 10.0, "dipoles"),
        )),
    ],
)  # fmt: skip
def test_thin_seams_err_as_expected_of_each_receiver(ratio, thickness, points, kind) -> None:
    """Straight above the source seams err by little, far along them by far more.

    Bars are those of the campaign in ADR 013; what errs by less than 1 % does by other causes, too.
    """
    errors, expected = seam_error(ratio, thickness, points, kind, (1.0, 3.0, 8.0))
    for found, told in zip(errors, expected, strict=True):
        assert told < 2.0 * found
        assert told > 0.6 * found or found < 0.01
    assert max(expected) > 0.7 * max(errors)


def test_a_component_that_vanishes_on_the_axis_does_not_count() -> None:
    """u_x of a vertical force, u_z of a horizontal one, straight above."""
    for kind in ("up", "along", "couple", "explosion"):
        errors, expected = seam_error(2.5, 3.0, 8.0, kind, (0.0,))
        assert 0.4 * errors[0] < expected[0] < 2.0 * max(errors[0], 0.003)


def sh_scenario(places: list[tuple[float, float]]) -> dict:
    """Return SH waves above and below a seam."""
    given = scenario((ROCK, seam(2.5), ROCK), (24.0, 26.0), SOURCES["up"], places, 2.0, 8.0)
    given["physics"] = "elastic_sh"
    source = {"type": "force", "force": {"y": 1e9}}
    given["sources"][0] = source | {k: given["sources"][0][k] for k in ("position", "wavelet")}
    return given


def test_contacts_err_as_expected_of_sh_waves() -> None:
    """The velocity along y is even in x: largest straight above the source, where there is no W.

    vy is the pressure in a fluid of density 1 / mu and bulk modulus 1 / rho.
    """
    given = sh_scenario([(0.0, 0.5), (2.0, 0.5), (8.0, 1.0), (0.0, 4.0)])
    simulation = solver.simulate(given)
    fluids = tuple(Medium(m.vs, 0.0, 1e10 / (m.rho * m.vs**2)) for m in (ROCK, seam(2.5), ROCK))
    h = given["grid"]["spacing"]
    ends = simulation.discretization.groups[0].coordinates[:, ::2]
    stress = layered_plane.moment_response(
        Stack(fluids, (24.0 * h, 26.0 * h), False),
        np.array(simulation.discretization.shots[0].sources[0].position)[::2], ends,
        1e9 / ROCK.rho * np.eye(2), solver.wavelet(simulation), simulation.dt,
        quantity="stress", time_function="moment_rate", cut=1e-5,
    )  # fmt: skip
    recorded = solver.traces(simulation)["vy"]
    errors = [metrics.relative_l2(a, -b) for a, b in zip(recorded, stress[:, 1], strict=True)]
    expected = each_expected(given)
    for found, told in zip(errors, expected, strict=True):
        assert told < 2.0 * found
        assert told > 0.5 * found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("media", "depths", "kind", "places", "source_depth"),
    [
        ((ROCK, seam(2.0), ROCK), (10.0, 12.0), "along", [(1.0, 1.0), (4.0, 1.0), (8.0, 1.0)], 1.0),
        ((ROCK, seam(0.5), ROCK), (14.0, 16.0), "up", [(1.0, 1.5), (5.0, 1.5)], 1.5),
    ],
)
def test_contacts_err_as_expected_in_space(media, depths, kind, places, source_depth) -> None:
    given = scenario(media, depths, SOURCES[kind], places, source_depth, 5.0, 3)
    simulation = solver.simulate(given)
    discretization = simulation.discretization
    acting = discretization.shots[0].sources[0]
    stack = Stack(tuple(media), tuple(d * discretization.grid.spacing[2] for d in depths), False)
    ends = np.array(acting.position), discretization.groups[0].coordinates
    trace = solver.wavelet(simulation), simulation.dt, "velocity"
    if acting.kind == "force":
        force = np.array([acting.strength.get(axis, 0.0) for axis in "xyz"])
        exact = layered.force_response(stack, *ends, force, *trace, cut=1e-4)
    else:
        moment = np.zeros((3, 3))
        moment[0, 2] = moment[2, 0] = acting.strength["xz"]
        exact = layered.moment_response(stack, *ends, moment, *trace, "moment_rate", cut=1e-4)
    traces = solver.traces(simulation)
    recorded = np.stack([traces[name] for name in ("vx", "vy", "vz")], axis=1)
    errors = [metrics.relative_l2(a, b) for a, b in zip(recorded, exact, strict=True)]
    assert 0.6 * max(errors) < layered_error(simulation.discretization).error < 2.0 * max(errors)


def test_the_worst_of_several_sources_counts() -> None:
    """Sources of other kinds, and depths, in one shot."""
    media, depths = (ROCK, seam(2.5), ROCK), (24.0, 26.0)
    given = scenario(media, depths, SOURCES["up"], [(3.0, 1.5), (8.0, 1.5)], 2.0, 8.0)
    plain = given["sources"][0]
    others = [
        SOURCES["explosion"]
        | {"position": plain["position"] | {"z": 0.5 * plain["position"]["z"]}},
        SOURCES["along"] | {"position": plain["position"]},
    ]
    errors = []
    every = [plain, *(other | {"wavelet": plain["wavelet"]} for other in others)]
    for sources in ([one] for one in every):
        given["sources"] = sources
        errors.append(layered_error(discretize(from_dict(given))).error)
    given["sources"] = every
    together = layered_error(discretize(from_dict(given))).error
    assert together == pytest.approx(max(errors), rel=0.25)


def test_runs_without_receivers_err_as_the_surface_does() -> None:
    media, depths = (SOFT, ROCK), (12.0,)
    given = scenario(media, depths, SOURCES["up"], [(x, 0.0) for x in (1.0, 4.0, 8.0)], 3.0,
                     surface=True)  # fmt: skip
    line = layered_error(discretize(from_dict(given))).error
    del given["receivers"]
    given["output"] = {"maps": [{"quantities": ["pgv"]}]}
    everywhere = layered_error(discretize(from_dict(given)))
    assert not everywhere.sets
    assert 0.5 * line < everywhere.error < 3.0 * line


def test_pressure_on_the_surface_of_a_fluid_counts_as_motion() -> None:
    """It vanishes there, so that nothing is an error of it."""
    given = scenario((WATER, HEAVY), (12.0,), SOURCES["explosion"], [(1.0, 0.0), (6.0, 0.0)], 1.0,
                     quantity="pressure", surface=True)  # fmt: skip
    on_top = layered_error(discretize(from_dict(given))).error
    for position in given["receivers"][0]["positions"]:
        position["z"] = 0.1 * given["grid"]["spacing"]
    assert 0.3 < layered_error(discretize(from_dict(given))).error / on_top < 3.0


@pytest.mark.parametrize("ratio", [pytest.param(0.5, marks=pytest.mark.slow), 2.5])
def test_errors_of_long_paths_are_as_with_all_wavenumbers(ratio, monkeypatch) -> None:
    """Of 100 wavelengths, with as many wavenumbers as `check` takes, and with all."""
    media, depths = (ROCK, seam(ratio), ROCK), (15.0, 17.0)
    given = scenario(media, depths, SOURCES["up"], [(50.0, 2.5), (100.0, 2.5)], 1.5)
    errors = []
    for most in (layered_traces._MOST, 10 * layered_traces._MOST):
        monkeypatch.setattr(layered_traces, "_MOST", most)
        errors.append(layered_error(discretize(from_dict(given))).error)
    assert 0.5 < errors[0] / errors[1] < 3.0

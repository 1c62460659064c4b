"""The choice of difference coefficients, and the predicted error against the one that is found.

Exact solutions: pressure of a line source in a whole space (`seismo.exact.acoustic`), and forces in
an elastic one (`seismo.exact.whole_space`). Predictions are to be right to a factor of three.
"""

import math

import numpy as np
import pytest

import solver
from seismo.acquisition import wavelets
from seismo.acquisition.sources import Share
from seismo.errors import ScenarioError
from seismo.exact import (
    acoustic,
    layered_plane,
    metrics,
    shear,
    whole_space,
)
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.features.loss.checks import fit_error
from seismo.grid.coefficients import TOLERANCES, Stencil
from seismo.runs.prediction.accuracy import Expected, expected_error
from seismo.runs.prediction.cheaper_grid import cheaper_grid
from seismo.scenario import from_dict
from seismo.solver.accuracy.stencil import (
    AUTO_ORDERS,
    best_stencil,
    dispersion_error,
)
from seismo.solver.discretize import discretize

VELOCITY, FREQUENCY = 2000.0, 10.0
SHORTEST = VELOCITY / (2.5 * FREQUENCY)
ROCK = Medium(3464.0, 2000.0, 2300.0)
WAVES = 25  # shortest wavelengths of the path


def document(points: float, physics: str = "acoustic", **grid) -> dict:
    """Put a source and a receiver so many shortest wavelengths apart, along x and off its nodes."""
    h = SHORTEST / points
    margin, half = 4 * SHORTEST, 8 * SHORTEST
    lengths = {"x": 2 * margin + WAVES * SHORTEST, "z": 2 * half}
    extent = {axis: math.ceil(length / h) * h for axis, length in lengths.items()}
    start = {"x": margin + 0.3 * h, "z": half}
    source = {"type": "pressure"}
    model = {"type": "uniform", "vp": VELOCITY}
    if physics == "elastic":
        source = {"type": "force", "force": {"z": 1e9}}
        model = {"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}
    return {
        "physics": physics, "grid": {"extent": extent, "spacing": h, **grid},
        "time": {"duration": WAVES * SHORTEST / VELOCITY + 3.2 / FREQUENCY}, "model": [model],
        "sources": [source | {"position": start,
                              "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [solver.points([start | {"x": start["x"] + WAVES * SHORTEST}])],
    }  # fmt: skip


def error_of(document: dict) -> tuple[float, float]:
    """Run; return the largest error of a component with some motion, and the predicted one."""
    simulation = solver.simulate(document)
    offset = np.array([[WAVES * SHORTEST, 0.0]])
    times = solver.times(simulation)
    signal = wavelets.evaluate(simulation.discretization.shots[0].sources[0].wavelet, times)
    found = solver.traces(simulation)
    if "pressure" in found:
        exact = acoustic.pressure(offset, signal, simulation.dt, VELOCITY)
        error = metrics.relative_l2(found["pressure"][0], exact[0])
    else:
        exact = whole_space.force_response(
            offset, np.array([0.0, 1e9]), signal, simulation.dt, ROCK, "velocity"
        )
        error = metrics.relative_l2(found["vz"][0], exact[0, 1])
    return error, expected_error(simulation.discretization).error


@pytest.mark.parametrize(
    ("points", "keys"),
    [
        pytest.param(3.2, {"order": 12}, marks=pytest.mark.slow),
        (4.5, {}), (4.5, {"stencil": "taylor"}),
        (3.5, {"stencil": "minmax", "order": 16}), (9.0, {"order": 4}), (4.0, {"order": 4}),
    ],
    ids=str,
)  # fmt: skip
def test_the_predicted_error_is_found(points: float, keys: dict) -> None:
    found, expected = error_of(document(points, **keys))
    assert found / 3 < expected < 3 * found


def test_the_predicted_error_of_time_stepping_is_found() -> None:
    late = document(8.0)
    late["time"]["dispersion_removal"] = False
    found, expected = error_of(late)
    assert found / 3 < expected < 3 * found
    assert expected > 0.1


@pytest.mark.parametrize("points", [4.0, 5.0])
def test_the_predicted_error_of_elastic_waves_is_found(points: float) -> None:
    found, expected = error_of(document(points, "elastic"))
    assert found / 3 < expected < 3 * found


FORCES = {"level": (1e9, 0.0), "upright": (0.0, 1e9)}


@pytest.mark.parametrize(
    ("name", "cells", "offset", "depth"),
    [("upright", 3.0, 3.0, 0.0), ("upright", 5.0, 3.0, 0.0), ("level", 4.0, 3.0, 0.0),
     ("level", 4.0, 0.7, 0.0), ("explosion", 1.0, 4.0, 4.0)],
)  # fmt: skip
def test_the_predicted_error_of_sources_under_a_surface_is_found(
    name, cells, offset, depth
) -> None:
    """An upright force errs among the rows of the surface, down to 4.4 cells, not further down.

    A moment among them errs in all that it sends down, too.
    """
    points = 7.0
    h = SHORTEST / points
    case = document(points, "elastic")
    margin = 3.0 * SHORTEST
    length, bottom = ((n + 1) * h * math.ceil(points) for n in (offset + 6.0, depth + 3.0))
    case["grid"] |= {"extent": {"x": length, "z": bottom}, "origin": {"x": -margin, "z": 0.0}}
    case["time"]["duration"] = (math.hypot(offset, depth) + 4.0) * SHORTEST / ROCK.vs
    case["time"]["duration"] += 3.2 / FREQUENCY
    case["boundaries"] = {"top": "free_surface"}
    kind = {"force": dict(zip("xz", FORCES[name], strict=True))} if name in FORCES else {
        "type": "explosion", "moment": 1e9}  # fmt: skip
    case["sources"][0] = {
        "type": "force", "wavelet": case["sources"][0]["wavelet"],
        "position": {"x": 0.0, "z": cells * h}, **kind,
    }  # fmt: skip
    end = np.array([offset, depth]) * SHORTEST
    case["receivers"] = [solver.points([{"x": float(end[0]), "z": float(end[1])}])]
    simulation = solver.simulate(case)
    signal = wavelets.evaluate(
        simulation.discretization.shots[0].sources[0].wavelet, solver.times(simulation)
    )
    ends = Stack((ROCK,), (0.0,)), np.array([0.0, cells * h]), end[None]
    if name in FORCES:
        exact = layered_plane.force_response(
            *ends, np.array(FORCES[name]), signal, simulation.dt, "velocity", cut=1e-5
        )
    else:
        exact = layered_plane.moment_response(
            *ends, 1e9 * np.eye(2), signal, simulation.dt, "velocity", "moment_rate", cut=1e-5
        )
    traces = solver.traces(simulation)
    found = metrics.relative_l2(np.stack([traces["vx"][0], traces["vz"][0]]), exact[0])
    assert found / 3 < expected_error(simulation.discretization).error < 3 * found


def test_fewer_points_take_a_larger_tolerance() -> None:
    """The band has to reach farther; every choice is the best of the family."""
    chosen = []
    for points in (3.0, 4.0, 6.0, 12.0):
        discretization = discretize(from_dict(document(points)))
        errors = [dispersion_error(discretization.waves, Stencil(8, t)) for t in TOLERANCES]
        assert dispersion_error(discretization.waves, discretization.stencil) == min(errors)
        chosen.append(discretization.stencil.tolerance)
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[0] > 1e-4
    assert chosen[-1] == 0.0


def test_auto_is_the_lowest_order_that_keeps_the_accuracy() -> None:
    orders = []
    for points, wanted in ((8.0, 0.01), (3.2, 0.01), (2.8, 0.01), (3.2, 1e-3), (2.4, 1e-4)):
        discretization = discretize(from_dict(document(points, order="auto", accuracy=wanted)))
        best = {n: best_stencil(discretization.waves, n) for n in AUTO_ORDERS}
        errors = {n: dispersion_error(discretization.waves, best[n]) for n in AUTO_ORDERS}
        enough = [n for n in AUTO_ORDERS if errors[n] <= wanted]
        assert discretization.stencil.order == (enough or [min(errors, key=errors.__getitem__)])[0]
        orders.append(discretization.stencil.order)
    assert set(orders) == set(AUTO_ORDERS)


def test_a_cheaper_grid_keeps_the_accuracy() -> None:
    """It is found to err as little as it is said to, and is itself the cheapest."""
    fine = document(8.0)
    discretization = discretize(from_dict(fine))
    cheaper = cheaper_grid(discretization, expected_error(discretization))
    assert cheaper.work < 0.2
    coarse = document(SHORTEST / cheaper.spacing, order=cheaper.order)
    found, expected = error_of(coarse)
    assert found < 0.015
    assert expected == pytest.approx(cheaper.error, rel=0.2)
    discretization = discretize(from_dict(coarse))
    assert cheaper_grid(discretization, expected_error(discretization)) is None
    assert cheaper_grid(discretization, Expected((("anything", 0.02),))) is None


def test_auto_is_no_better_than_what_it_cannot_mend() -> None:
    """Under a free surface that errs by more, order 8 is as good as any."""
    shallow = document(3.2, "elastic", order="auto")
    assert discretize(from_dict(shallow)).stencil.order > 8
    shallow["boundaries"] = {"top": "free_surface"}
    assert discretize(from_dict(shallow)).stencil.order == 8


@pytest.mark.parametrize("top", ["absorbing", "free_surface"])
def test_boundaries_err_more_on_longer_paths_and_fewer_points(top: str) -> None:
    """Contacts err about by the square of the spacing; Rayleigh waves by the path, too."""

    def causes(points: float, layers: int, offset: float = 1.0) -> dict[str, float]:
        case = document(points, "elastic")
        case["boundaries"] = {"top": top}
        case["sources"][0]["position"]["z"] = 0.0
        rock = {"vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}
        tops = [{"top": 300.0 * n, **rock, "vs": ROCK.vs + 100.0 * n} for n in range(layers)]
        case["model"] = [{"type": "layers", "layers": tops}]
        start = case["sources"][0]["position"]["x"]
        case["receivers"][0]["positions"][0] = {"x": start + offset * WAVES * SHORTEST, "z": 0.0}
        return dict(expected_error(discretize(from_dict(case))).causes)

    one, two, finer = causes(6.0, 1), causes(6.0, 2), causes(12.0, 2)
    assert one["contacts of media"] == 0.0
    assert 2 < two["contacts of media"] / finer["contacts of media"] < 8
    if top == "absorbing":
        assert one["the free surface"] == 0.0
    else:
        near = causes(6.0, 1, 0.25)["the free surface"]
        assert 1.5 < one["the free surface"] / near < 5


@pytest.mark.parametrize(
    ("quantity", "found"), [("velocity", 0.0036), ("stress", 0.0059), ("strain", 0.0059)]
)
def test_strains_under_a_surface_err_more_than_motion(quantity: str, found: float) -> None:
    """P waves of a deep upright force; found against a run three times finer with wider sides."""
    h = 25.36
    case = document(6.0, "elastic") | {"boundaries": {"top": "free_surface"}}
    case["grid"] = {"extent": {"x": 141 * h, "z": 77 * h}, "spacing": h, "order": 8}
    case["model"] = [{"type": "uniform", "vp": 2148.0, "vs": 1003.9, "rho": 2001.2}]
    case["time"]["duration"] = 4.3
    case["sources"] = [{"type": "force", "force": {"z": 1e9},
                        "position": {"x": 104.9 * h, "z": 50.96 * h},
                        "wavelet": {"type": "ricker", "frequency": 2.639}}]  # fmt: skip
    places = [{"x": cells * h, "z": 0.0} for cells in (41.1, 41.4, 62.0, 90.5, 108.0)]
    case["receivers"] = [solver.points(places, quantities=[quantity])]
    assert 0.5 < expected_error(discretize(from_dict(case))).error / found < 2.0


@pytest.mark.parametrize(
    ("kind", "offset", "quantity"),
    [
        ({"type": "moment_tensor", "components": {"xz": 1e9}}, 0.4, "velocity"),
        ({"type": "moment_tensor", "components": {"xz": 1e9}}, 2.0, "strain"),
        ({"type": "force", "force": {"z": 1e9}}, 2.0, "displacement"),
    ],
    ids=["steep", "strain", "force"],
)
def test_waves_that_come_up_to_a_surface_err_by_their_incidence(kind, offset, quantity) -> None:
    """Steep shear waves err most, and strain the surface least; motion out of it errs little."""
    h = SHORTEST / 5.0
    sides, depth, end = 24.0 * h, 20.3 * h, offset * SHORTEST
    case = document(5.0, "elastic", order=8) | {"boundaries": {"top": "free_surface"}}
    case["grid"]["extent"] = {"x": 2.0 * sides + 2.0 * SHORTEST, "z": 44.0 * h}
    case["time"]["duration"] = 1.5 * math.hypot(depth, end) / ROCK.vs + 0.25
    case["sources"][0] = {
        "wavelet": case["sources"][0]["wavelet"], "position": {"x": sides, "z": depth}, **kind
    }  # fmt: skip
    case["receivers"] = [solver.points([{"x": sides + end, "z": 0.0}], quantities=[quantity])]
    simulation = solver.simulate(case)
    times = solver.times(simulation)
    signal = wavelets.evaluate(simulation.discretization.shots[0].sources[0].wavelet, times)
    little = 0.01 * h
    places = np.array([[end + n * little, 0.0] for n in (-1, 0, 1)])
    ends = Stack((ROCK,), (0.0,)), np.array([0.0, depth]), places
    motion = "velocity" if quantity == "velocity" else "displacement"
    if kind["type"] == "force":
        exact = layered_plane.force_response(
            *ends, np.array([0.0, 1e9]), signal, simulation.dt, motion, cut=1e-5
        )
    else:
        exact = layered_plane.moment_response(
            *ends, 1e9 * (1.0 - np.eye(2)), signal, simulation.dt, motion, "moment_rate", cut=1e-5
        )
    traces = solver.traces(simulation)
    if quantity == "strain":
        wanted, names = (exact[2, :1] - exact[0, :1]) / (2.0 * little), ["exx"]
    else:
        wanted, names = exact[1], sorted(traces)
    found = metrics.relative_l2(np.stack([traces[name][0] for name in names]), wanted)
    assert 0.6 < expected_error(simulation.discretization).error / found < 1.6


def test_strains_on_the_surface_of_water_are_those_of_its_potential() -> None:
    """Where exx and ezz vanish exz is left, which is as large as motion times k."""
    case = document(8.0, "elastic", order=8) | {"boundaries": {"top": "free_surface"}}
    water = {"top": 0.0, "vp": 1500.0, "vs": 0.0, "rho": 1000.0}
    rock = {"top": 200.0, "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}
    case["model"] = [{"type": "layers", "layers": [water, rock]}]
    case["receivers"] = [solver.points([{"x": 1000.0, "z": 0.0}], quantities=["strain"])]
    causes = dict(expected_error(discretize(from_dict(case))).causes)
    assert causes["the free surface"] < 0.02
    assert causes["contacts of media"] < 0.05


@pytest.mark.parametrize(
    ("moment", "end"), [(None, 0.0), ((0.0, 1e9), 0.0), (None, 1.5)], ids=["on", "moment", "below"]
)
def test_sh_waves_err_under_a_surface_as_sums_say(moment, end: float) -> None:
    """Waves that come up steeply err most: by 6 times what a law of all incidences says."""
    h = ROCK.vs / (2.5 * FREQUENCY) / 6.0
    middle, depth, read = 30.0 * h, 25.3 * h, end * 6.0 * h
    source = {"type": "force", "force": {"y": 1e9}}
    if moment:
        source = {"type": "moment_tensor", "components": {"yz": 1e9}}
    case = {
        "physics": "elastic_sh",
        "grid": {"extent": {"x": 2.0 * middle, "z": 50.0 * h}, "spacing": h, "order": 8},
        "time": {"duration": 2.0 * depth / ROCK.vs + 0.3},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "uniform", "vs": ROCK.vs, "rho": ROCK.rho}],
        "sources": [source | {"position": {"x": middle, "z": depth},
                              "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [solver.points([{"x": middle + 3.0 * h, "z": read}])],
    }  # fmt: skip
    simulation = solver.simulate(case)
    times = solver.times(simulation)
    signal = 1e9 * wavelets.evaluate(simulation.discretization.shots[0].sources[0].wavelet, times)
    ends = np.array([[3.0 * h, read]]), np.array([0.0, depth])
    medium = ROCK.vs, ROCK.rho
    if moment:
        unit = np.array(moment) / 1e9
        exact = shear.moment_response(
            *ends, unit, signal, simulation.dt, *medium, "displacement", 0.0
        )
    else:
        exact = shear.force_response(*ends, signal, simulation.dt, *medium, "velocity", 0.0)
    (trace,) = solver.traces(simulation).values()
    found = metrics.relative_l2(trace[0], exact[0])
    assert 0.5 < expected_error(simulation.discretization).error / found < 2.0


def test_the_coefficients_belong_to_all_shots_of_a_survey() -> None:
    """A share of the shots is computed with the coefficients of the whole survey."""
    several = document(5.0)
    first, far = several["sources"][0]["position"], several["receivers"][0]["positions"][0]
    several["survey"] = {"shots": [{"position": far}, {"position": first}]}
    scenario = from_dict(several)
    whole, half = discretize(scenario), discretize(scenario, share=Share(1, 2))
    assert len(half.shots) == 1
    assert half.waves.longest == whole.waves.longest == pytest.approx(WAVES * SHORTEST)
    assert half.stencil == whole.stencil


def test_the_spectrum_is_that_of_the_trace() -> None:
    """In 2-D f^3 exp(-2 f^2), f in frequencies of a Ricker: (1 + y) exp(-y) above f, y = 2 f^2."""
    spectra = discretize(from_dict(document(5.0))).waves.spectra
    y = 2 * (spectra.frequency / FREQUENCY) ** 2
    above = 1 - np.cumsum(spectra.energy[0])
    np.testing.assert_allclose(above, (1 + y) * np.exp(-y), atol=0.02)
    end = np.sqrt(np.interp(1.2e-4, above[::-1], y[::-1]) / 2)
    assert end == pytest.approx(2.403, rel=0.01)


@pytest.mark.parametrize(("quantity", "terms"), [("displacement", 2), ("acceleration", 4)])
def test_the_spectrum_is_that_of_the_recorded_quantity(quantity: str, terms: int) -> None:
    """Of a force: f^3 exp(-2 f^2) for displacement, f^7 exp(-2 f^2) for acceleration."""
    scenario = document(5.0, "elastic")
    scenario["receivers"][0]["quantities"] = [quantity]
    spectra = discretize(from_dict(scenario)).waves.spectra
    y = 2 * (spectra.frequency / FREQUENCY) ** 2
    above = 1 - np.cumsum(spectra.energy[0])
    series = sum(y**n / math.factorial(n) for n in range(terms))
    np.testing.assert_allclose(above, series * np.exp(-y), atol=0.02)


def test_a_grid_that_carries_nothing_is_refused() -> None:
    """8 kHz on a grid for 10 Hz is a mistake of units, and not a matter of accuracy."""
    hopeless = document(5.0)
    hopeless["sources"][0]["wavelet"]["frequency"] = "8 kHz"
    said = r"carries 62.5 Hz at most .* sources\[0\].wavelet has a .* of 8000 Hz; check its unit"
    with pytest.raises(ScenarioError, match=said):
        discretize(from_dict(hopeless))


@pytest.mark.parametrize("frequency", [5.0, 20.0, 40.0])
def test_a_source_that_is_the_only_receiver_has_coefficients(frequency: float) -> None:
    """No way disperses nothing; what the grid does not carry is lost all the same."""
    together = document(4.0)
    together["sources"][0]["wavelet"]["frequency"] = frequency
    together["receivers"] = [solver.points([together["sources"][0]["position"]])]
    discretization = discretize(from_dict(together))
    assert math.isfinite(expected_error(discretization).error)
    if frequency == 5.0:  # all alike
        assert discretization.stencil.tolerance == 0.0


def test_waves_come_back_from_below() -> None:
    """Beside the source, all that is recorded late has crossed the upper medium twice."""
    near = document(5.0)
    position = near["sources"][0]["position"]
    near["receivers"] = [solver.points([position | {"x": position["x"] + 10.0}])]
    depth = 1.5 * position["z"]
    near["model"] = [{"type": "layers", "layers": [
        {"top": 0.0, "vp": VELOCITY}, {"top": depth, "vp": 1.5 * VELOCITY}]}]  # fmt: skip
    upper, lower = discretize(from_dict(near)).waves.passages
    assert upper.distance == pytest.approx(2 * depth, rel=0.1)
    assert lower.distance == pytest.approx(10.0)


@pytest.mark.parametrize("band", [None, (0.05, 0.5)])
def test_waves_that_have_decayed_beyond_all_numbers_are_left_out_in_silence(band) -> None:
    """Of 500 s in rock of Q 5 nothing is left at high frequencies, by law or by mechanisms."""
    lossy = document(5.0, "elastic")
    lossy["grid"] = {"extent": {"x": 1e6, "z": 12e3}, "spacing": 250.0}
    lossy["time"]["duration"] = 500.0
    lossy["model"][0] |= {"qp": 10.0, "qs": 5.0}
    lossy["attenuation"] = {} if band is None else {"band": list(band)}
    lossy["sources"][0] |= {"position": {"x": 8e3, "z": 5e3},
                            "wavelet": {"type": "triangle", "half_duration": 0.2}}  # fmt: skip
    lossy["receivers"] = [solver.points([{"x": 9e5, "z": 5e3}])]
    assert 0.1 < fit_error(discretize(from_dict(lossy))) < 1.5

"""The solver against exact solutions: every equation, source, component and quantity.

Homogeneous whole spaces (`seismo.exact`: Aki & Richards 4.23 and 4.29, Hankel functions in 2-D),
half spaces by images, and Lamb's problem. Absolute amplitudes: nothing is fitted. The grid has 10
points in the shortest wavelength (at 2.5 times the wavelet's frequency), order 8 in 2-D and 4 in
3-D, time dispersion removed. The bar of the literature's codes is 0.5 %; the tolerances here are
about three times what was measured, so that a loss of accuracy shows long before the bar.
"""

import numpy as np
import pytest

import solver
from seismo.equations.framework.registry import EQUATIONS, physics_for
from seismo.errors import ScenarioError
from seismo.exact import (
    acoustic,
    layered_plane,
    shear,
    whole_space,
)
from seismo.exact.medium import Medium
from seismo.exact.metrics import relative_l2
from seismo.exact.stack import Stack

MEDIUM = Medium(**solver.VALUES)
FREQUENCY = 10.0
WAVELET = {"type": "ricker", "frequency": FREQUENCY}
TOLERANCE = {2: 6e-4, 3: 3e-3}  # measured 2e-4 and 1e-3 (divergence; stress)
OFFSETS = np.array([[18.2, 9.4, 14.3], [-10.3, 21.0, 6.7]])  # receiver minus source, in cells


def slowest(name: str) -> float:
    return solver.VALUES["vs" if "elastic" in name else "vp"]


def whole_space_case(*case, **how):
    """Run a source in a homogeneous region; give its traces, offsets in m and the wavelet."""
    simulation, offsets = whole_space_run(*case, **how)
    return solver.traces(simulation), offsets, solver.wavelet(simulation), simulation.dt


def whole_space_run(
    name: str, dimensions: int, source: dict, quantities: list[str], timing=None,
    model=None, **layer,
):  # fmt: skip
    """Run a source in a homogeneous region; give the simulation and the offsets in m.

    It is that of the equation, unless a `model` is given.
    """
    h = slowest(name) / (2.5 * FREQUENCY) / 10
    axes = solver.axes_of(dimensions)
    order = ["xyz".index(a) for a in axes]
    offsets = OFFSETS[:, order] * h
    start = np.array([16.3, 6.4, 10.2])[order] * h
    extent = np.array([42.0, 34.0, 32.0])[order] * h
    place = lambda at: dict(zip(axes, map(float, at), strict=True))  # noqa: E731
    duration = np.linalg.norm(offsets, axis=1).max() / slowest(name) + 2.4 / FREQUENCY
    document = solver.plan(
        name, dimensions, steps=None, **({"model": model} if model else {}),
        grid={"extent": place(extent), "spacing": h, "order": solver.ORDER[dimensions]},
        time=timing or {"duration": float(duration), "dispersion_removal": True},
        boundaries={
            **solver.faces(dimensions),
            "layer": {"points": 15 if dimensions == 2 else 10, **layer},
        },
        sources=[{"position": place(start), "wavelet": WAVELET, **source}],
        receivers=[solver.points([place(start + o) for o in offsets], quantities=quantities)],
    )  # fmt: skip
    return solver.simulate(document), offsets


def check(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], tolerance: float) -> None:
    """Compare components; one that is weak is measured against the strongest of its kind."""
    assert wanted
    largest = max(np.linalg.norm(w) for w in wanted.values())
    errors = {
        name: np.linalg.norm(found[name] - w) / max(np.linalg.norm(w), 0.2 * largest)
        for name, w in wanted.items()
    }
    assert max(errors.values()) < tolerance, errors


def by_component(prefix: str, axes: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {prefix + a: values[:, n] for n, a in enumerate(axes)}


def stress_components(axes: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {
        f"s{a}{b}": values[:, i, j]
        for i, a in enumerate(axes)
        for j, b in enumerate(axes)
        if j >= i
    }


def field_of(response, axes: str) -> dict[str, dict[str, np.ndarray]]:
    """Give every quantity of an elastic field by component; response(quantity) is exact."""
    rotation = response("velocity_rotation")
    rotation = (
        {"rotation_y": rotation} if len(axes) == 2 else by_component("rotation_", axes, rotation)
    )
    normal = [response("stress")[:, n, n] for n in range(len(axes))]
    strain, rate = (strain_of(response(q), axes) for q in ("stress", "stress_rate"))
    return {
        "velocity": by_component("v", axes, response("velocity")),
        "displacement": by_component("u", axes, response("displacement")),
        "acceleration": by_component("a", axes, response("acceleration")),
        "stress": stress_components(axes, response("stress")),
        "pressure": {"pressure": -sum(normal) / len(axes)},
        "divergence": {"divergence": response("velocity_divergence")},
        "rotation": rotation,
        "strain": strain,
        "strain_rate": {f"{name}_rate": values for name, values in rate.items()},
    }


def strain_of(stress: np.ndarray, axes: str) -> dict[str, np.ndarray]:
    """Give the strain of a stress (receiver, i, j, time), in 2-D a plane one."""
    lame, n = MEDIUM.lame, len(axes)
    share = lame / (n * lame + 2 * MEDIUM.mu) * np.trace(stress, axis1=1, axis2=2)
    strain = (stress - np.eye(n)[:, :, None] * share[:, None, None]) / (2 * MEDIUM.mu)
    return {f"e{name[1:]}": values for name, values in stress_components(axes, strain).items()}


FLUIDS = [
    case for case in solver.EVERY_EQUATION
    if case.values[0].startswith("acoustic") and not EQUATIONS[case.values[0]].extends
]  # fmt: skip


@pytest.mark.parametrize("kind", ["pressure", "explosion", "volume_rate"])
@pytest.mark.parametrize(("name", "dimensions"), FLUIDS)
def test_fluid_source(name: str, dimensions: int, kind: str) -> None:
    """Pressure source s: p_tt / c^2 - lap p = s. Explosion M: s = M'' / c^2. Rate q: s = rho q'."""
    if kind not in physics_for(name, dimensions).drives:
        with pytest.raises(ScenarioError, match="acoustic has the sources pressure, explosion"):
            whole_space_case(name, dimensions, {"type": kind}, ["pressure"])
        return
    source = {"type": kind, "amplitude": 3.0}
    if kind == "explosion":
        source = {"type": kind, "moment": 3.0, "time_function": "moment_rate"}
    quantities = solver.quantities(physics_for(name, dimensions))
    found, offsets, s, dt = whole_space_case(name, dimensions, source, quantities)
    if kind == "pressure":
        pressure = acoustic.pressure(offsets, 3 * s, dt, MEDIUM.vp)
        velocity = acoustic.velocity(offsets, 3 * s, dt, MEDIUM.vp, MEDIUM.rho)
    else:
        rate = 3 * s / (MEDIUM.rho * MEDIUM.vp**2 if kind == "explosion" else 1.0)
        pressure = acoustic.injection_pressure(offsets, rate, dt, MEDIUM.vp, MEDIUM.rho)
        velocity = acoustic.injection_velocity(offsets, rate, dt, MEDIUM.vp, MEDIUM.rho)
    check(found, {"pressure": pressure}, TOLERANCE[dimensions])
    if "velocity" in quantities:
        check(found, by_component("v", solver.axes_of(dimensions), velocity), TOLERANCE[dimensions])


@pytest.mark.parametrize("dimensions", [2, 3])
def test_every_quantity_of_a_force(dimensions: int) -> None:
    """A force along no axis, every quantity an elastic receiver can record."""
    axes = solver.axes_of(dimensions)
    force = dict(zip("xyz", (1.0, 0.7, -0.4), strict=True))
    source = {"type": "force", "force": {a: force[a] for a in axes}}
    quantities = solver.quantities(physics_for("elastic", dimensions))
    found, offsets, s, dt = whole_space_case("elastic", dimensions, source, quantities)
    vector = [force[a] for a in axes]
    wanted = field_of(lambda q: whole_space.force_response(offsets, vector, s, dt, MEDIUM, q), axes)
    for components in wanted.values():
        check(found, components, TOLERANCE[dimensions])


MOMENTS = {
    "xx": (2, {"xx": 2.0}),
    "zz": (2, {"zz": 2.0}),
    "xz": (2, {"xz": 2.0}),
    # Two runs in 3-D; no two components act alike at both receivers.
    "normal": (3, {"xx": 1.0, "yy": -0.7, "zz": 0.4}),
    "shear": (3, {"xy": 0.6, "xz": -0.8, "yz": 1.0}),
}


@pytest.mark.parametrize("case", solver.slow_but(MOMENTS.keys() - {"shear"}, MOMENTS))
def test_moments(case: str) -> None:
    """All components; in 2-D as a moment, in 3-D as its rate."""
    dimensions, components = MOMENTS[case]
    axes = solver.axes_of(dimensions)
    time_function = "moment" if dimensions == 2 else "moment_rate"
    source = {
        "type": "moment_tensor", "components": components, "time_function": time_function,
    }  # fmt: skip
    found, offsets, s, dt = whole_space_case("elastic", dimensions, source, ["velocity"])
    moment = np.zeros((dimensions, dimensions))
    for name, value in components.items():
        i, j = (axes.index(a) for a in name)
        moment[i, j] = moment[j, i] = value
    wanted = whole_space.moment_response(offsets, moment, s, dt, MEDIUM, "velocity", time_function)
    check(found, by_component("v", axes, wanted), TOLERANCE[dimensions])


def test_elastic_explosion_and_pressure_source() -> None:
    """M is isotropic: an explosion's, of a pressure source M'' = vp^2 s, of a rate M' = c11 q."""
    unit = np.eye(2)
    source = {"type": "explosion", "moment": 2.0, "time_function": "moment"}
    found, offsets, s, dt = whole_space_case("elastic", 2, source, ["velocity"])
    wanted = whole_space.moment_response(offsets, 2 * unit, s, dt, MEDIUM, "velocity")
    check(found, by_component("v", "xz", wanted), TOLERANCE[2])
    found, offsets, s, dt = whole_space_case(
        "elastic", 2, {"type": "pressure", "amplitude": 2.0}, ["acceleration"]
    )
    # Two derivatives of the moment: its displacement for s is the acceleration's moment / vp^2.
    wanted = whole_space.moment_response(offsets, 2 * MEDIUM.vp**2 * unit, s, dt, MEDIUM)
    check(found, by_component("a", "xz", wanted), TOLERANCE[2])
    found, offsets, s, dt = whole_space_case(
        "elastic", 2, {"type": "volume_rate", "amplitude": 2.0}, ["velocity"]
    )
    moment = 2 * MEDIUM.rho * MEDIUM.vp**2 * unit  # its rate
    wanted = whole_space.moment_response(offsets, moment, s, dt, MEDIUM)
    check(found, by_component("v", "xz", wanted), TOLERANCE[2])


@pytest.mark.parametrize("source", ["force", "xy", "yz"])
def test_sh(source: str) -> None:
    """Force and both moments of SH waves; velocity and stresses."""
    document = {"type": "force", "force": {"y": 2.0}}
    if source != "force":
        document = {
            "type": "moment_tensor", "components": {source: 2.0}, "time_function": "moment",
        }  # fmt: skip
    quantities = ["velocity", "displacement", "stress", "strain"]
    found, offsets, s, dt = whole_space_case("elastic_sh", 2, document, quantities)
    zero, (vs, rho) = np.zeros(2), (MEDIUM.vs, MEDIUM.rho)
    if source == "force":
        response = lambda q: shear.force_response(offsets, zero, 2 * s, dt, vs, rho, q)  # noqa: E731
    else:
        moment = 2.0 * np.array([source == "xy", source == "yz"])
        response = lambda q: shear.moment_response(offsets, zero, moment, s, dt, vs, rho, q)  # noqa: E731
    check(found, {"vy": response("velocity")}, TOLERANCE[2])
    check(found, {"uy": response("displacement")}, TOLERANCE[2])
    stress = response("stress")
    check(found, {"sxy": stress[:, 0], "syz": stress[:, 1]}, TOLERANCE[2])
    strain = stress / (2.0 * MEDIUM.mu)
    check(found, {"exy": strain[:, 0], "eyz": strain[:, 1]}, TOLERANCE[2])


LAYERS = {"stretched": {"kappa": 2.0}, "cubic": {"power": 3.0}, "unshifted": {"alpha": 0.0}}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("name", ["acoustic_variable_density", "elastic"])
def test_layers_of_every_shape_absorb(name: str, layer: str) -> None:
    """Waves that cross the layers' sides on the way out; long after them only echoes are left.

    A perfect layer leaves nothing but the differences' own reflection of its slope: found 9e-5.
    A stretch that is not the one the memory variables know would echo by percents.
    """
    source, quantity = {"type": "pressure", "amplitude": 1.0}, "pressure"
    if name == "elastic":
        source, quantity = {"type": "force", "force": {"x": 1.0, "z": 0.5}}, "velocity"
    timing = {"duration": 0.8, "dispersion_removal": True}
    found, offsets, s, dt = whole_space_case(
        name, 2, source, [quantity], timing=timing, **LAYERS[layer]
    )
    if quantity == "pressure":
        wanted = {"pressure": acoustic.pressure(offsets, s, dt, MEDIUM.vp)}
    else:
        exact = whole_space.force_response(offsets, [1.0, 0.5], s, dt, MEDIUM, quantity)
        wanted = by_component("v", "xz", exact)
    check(found, wanted, 3e-4)


def surface_case(name: str, source: dict, depth: float, quantities: list[str]):
    """Run a source at a depth (cells) under a free surface; receivers on it, near it and deep."""
    h = slowest(name) / (2.5 * FREQUENCY) / 10
    at = np.array([20.3, depth]) * h
    receivers = np.array([[52.0, 0.0], [40.4, 0.4], [56.6, 12.7]]) * h
    place = lambda p: {"x": float(p[0]), "z": float(p[1])}  # noqa: E731
    reach = np.linalg.norm(receivers - at, axis=1).max()
    document = solver.plan(
        name, 2, steps=None,
        grid={"extent": {"x": 76 * h, "z": 40 * h}, "spacing": h, "order": 8},
        time={"duration": float(reach / (0.9 * slowest(name)) + 2.6 / FREQUENCY),
              "dispersion_removal": True},
        boundaries={**solver.faces(2, top="free_surface"), "layer": {"points": 20}},
        sources=[{"position": place(at), "wavelet": WAVELET, **source}],
        receivers=[solver.points([place(r) for r in receivers], quantities=quantities)],
    )  # fmt: skip
    simulation = solver.simulate(document)
    return solver.traces(simulation), at, receivers, solver.wavelet(simulation), simulation.dt


@pytest.mark.parametrize("depth", [12.3, 1.4])
@pytest.mark.parametrize("name", ["acoustic", "acoustic_variable_density"])
def test_sea_surface(name: str, depth: float) -> None:
    """The image source, for sources also within a window of it. Bar 1 %, found 0.008 %."""
    found, at, receivers, s, dt = surface_case(
        name, {"type": "pressure", "amplitude": 1.0}, depth, ["pressure"]
    )
    wanted = acoustic.half_space_pressure(receivers, at, s, dt, MEDIUM.vp)
    assert np.abs(found["pressure"][0]).max() < 1e-6 * np.abs(wanted).max()  # on the surface
    assert relative_l2(found["pressure"][1:], wanted[1:]) < 3e-4


def test_sh_under_a_free_surface() -> None:
    """The image of the same sign, down to receivers on the surface."""
    found, at, receivers, s, dt = surface_case(
        "elastic_sh", {"type": "force", "force": {"y": 1.0}}, 5.3, ["velocity"]
    )
    wanted = shear.force_response(
        receivers, at, s, dt, MEDIUM.vs, MEDIUM.rho, "velocity", surface=0.0
    )
    assert relative_l2(found["vy"], wanted) < 4e-4


LAMB = {
    "force_down": ({"type": "force", "force": {"z": 1.0}}, 0.0),
    "force_along": ({"type": "force", "force": {"x": 1.0}}, 0.0),
    "shallow_force": ({"type": "force", "force": {"x": 0.6, "z": 1.0}}, 0.7),
    "explosion": ({"type": "explosion", "moment": 1.0, "time_function": "moment"}, 5.4),
    "shallow_explosion": ({"type": "explosion", "moment": 1.0, "time_function": "moment"}, 1.6),
    "shear_couple": (
        {"type": "moment_tensor", "components": {"xz": 1.0}, "time_function": "moment"}, 4.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LAMB)
def test_lamb(case: str) -> None:
    """Force and moment on and below an elastic free surface: body, head and Rayleigh waves.

    Codes judged by the same problem stand at 2 % with 15 points; found 0.1 to 0.5 %.
    """
    source, depth = LAMB[case]
    found, at, receivers, s, dt = surface_case("elastic", source, depth, ["velocity"])
    stack = Stack((MEDIUM,), (0.0,))
    if source["type"] == "force":
        force = [source["force"].get(a, 0.0) for a in "xz"]
        wanted = layered_plane.force_response(stack, at, receivers, force, s, dt, "velocity")
    else:
        moment = np.eye(2) if source["type"] == "explosion" else np.array([[0, 1], [1, 0]])
        wanted = layered_plane.moment_response(stack, at, receivers, moment, s, dt, "velocity")
    check(found, by_component("v", "xz", wanted), 0.012)


def test_large_steps_with_dispersion_removal() -> None:
    """At 0.98 of the limit time stepping errs by 0.24 % here; removed, 0.007 % is left."""
    source = {"type": "force", "force": {"x": 1.0, "z": 0.5}}
    errors = {}
    for removal in (False, True):
        timing = {"duration": 0.6, "courant": 0.98, "dispersion_removal": removal}
        found, offsets, s, dt = whole_space_case("elastic", 2, source, ["velocity"], timing=timing)
        wanted = whole_space.force_response(offsets, [1.0, 0.5], s, dt, MEDIUM, "velocity")
        errors[removal] = relative_l2(np.stack([found["vx"], found["vz"]], 1), wanted)
    assert errors[False] > 0.0015
    assert errors[True] < 2e-4

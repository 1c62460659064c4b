"""Time one case with Devito, by the equations of its own seismic examples.

Acoustic: `m u_tt - laplace(u) + damp u_t = q` (damping layer); elastic: velocity-stress multiplied
by a damping mask. Rock that attenuates has one mechanism there (`viscoacoustic`, of first order,
and `viscoelastic`), acoustic rock of vertical or tilted axis the centred kernel of `tti`, whose
rotated derivatives are of half the order. The damping covers the 20 points (36 where the axis is
tilted) that the other codes spend on a CPML, and costs Devito less than a CPML would. Given to it:
`opt=advanced` (its default), OpenMP, GCC with `-O3 -march=native -ffast-math`, and block shapes
from aggressive autotuning, found in the warm-up. The time is what Devito's own timers give for the
generated sections, so that argument handling in Python does not count. `--set opt=linearize:true`
and the like reach its optimiser.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import timing

os.environ.setdefault("DEVITO_LANGUAGE", "openmp")
os.environ.setdefault("DEVITO_LOGGING", "ERROR")
os.environ.setdefault("DEVITO_ARCH", "gcc")

import devito
from devito import Eq, Operator, TimeFunction, diag, div, grad, solve, sqrt
from examples.seismic import SeismicModel
from examples.seismic.source import PointSource, Receiver, TimeAxis
from examples.seismic.tti.operators import kernel_centered
from examples.seismic.viscoacoustic.operators import sls_1st_order

warnings.filterwarnings("ignore")  # SymPy's, about Devito's use of it


def model_of(case: dict[str, Any]) -> SeismicModel:
    """Return the examples' model (axes z, [y,] x; km/s, ms) with its damping layer or mask."""
    rank = len(case["shape"])
    parameters = {"vp": timing.two_layers(case, "vp") / 1e3, "bcs": "damp"}
    if case["physics"] != "acoustic":
        parameters |= {"b": 1e3 / timing.two_layers(case, "rho"), "bcs": "mask"}
    if case["physics"] == "elastic":
        parameters["vs"] = timing.two_layers(case, "vs") / 1e3
    for key in case["further"]:
        unit = np.pi / 180.0 if key in ("theta", "phi") else 1.0
        parameters[key] = timing.two_layers(case, key) * unit
    return SeismicModel(
        origin=(0.0,) * rank,
        spacing=(case["spacing"],) * rank,
        shape=tuple(case["shape"]),
        space_order=case["order"],
        nbl=case["layer"],
        **parameters,
    )


def geometry_of(case: dict[str, Any], model: SeismicModel) -> tuple[PointSource, Receiver]:
    """Return the source and the receivers as sparse functions."""
    axis = TimeAxis(start=0.0, step=case["step"] * 1e3, num=case["steps"] + 2)
    source = PointSource(name="src", grid=model.grid, time_range=axis, npoint=1)
    source.data[:, 0] = timing.ricker(case, case["steps"] + 2)
    receiver = Receiver(name="rec", grid=model.grid, time_range=axis, npoint=len(case["receivers"]))
    receiver.coordinates.data[:] = np.array(case["receivers"]) * case["spacing"]
    return source, receiver


def acoustic(case: dict[str, Any], model: SeismicModel, source: Any, receiver: Any) -> list[Any]:
    """Return the equations of the acoustic case."""
    field = TimeFunction(name="u", grid=model.grid, time_order=2, space_order=case["order"])
    update = solve(model.m * field.dt2 - field.laplace + model.damp * field.dt, field.forward)
    step = model.grid.time_dim.spacing
    return [
        Eq(field.forward, update),
        source.inject(field.forward, expr=source * step**2 / model.m),
        receiver.interpolate(expr=field),
    ]


def elastic(case: dict[str, Any], model: SeismicModel, source: Any, receiver: Any) -> list[Any]:
    """Return the equations of the elastic case: explosion, vertical velocity."""
    order = {"grid": model.grid, "space_order": case["order"], "time_order": 1}
    v = devito.VectorTimeFunction(name="v", **order)
    tau = devito.TensorTimeFunction(name="tau", **order)
    strain = grad(v.forward) + grad(v.forward).transpose(inner=False)
    stress = tau.dt - model.lam * diag(div(v.forward)) - model.mu * strain
    return [
        Eq(v.forward, model.damp * solve(v.dt - model.b * div(tau), v.forward)),
        Eq(tau.forward, model.damp * solve(stress, tau.forward)),
        source.inject(tau.forward.diagonal(), expr=source * model.grid.time_dim.spacing),
        receiver.interpolate(expr=v[0]),
    ]


def relaxation(case: dict[str, Any], model: SeismicModel) -> tuple[Any, Any, Any]:
    """Return the relaxation times of the mechanism: of stress, of strain of P and of S waves."""
    f0 = case["frequency"] / 1e3
    stress = (sqrt(1.0 + 1.0 / model.qp**2) - 1.0 / model.qp) / f0
    shear = (1.0 + f0 * model.qs * stress) / (f0 * model.qs - f0**2 * stress)
    return stress, 1.0 / (f0**2 * stress), shear


def viscoelastic(case: dict[str, Any], model: SeismicModel, source: Any, receiver: Any) -> Any:
    """Return the equations of the visco-elastic case: explosion, vertical velocity."""
    order = {"grid": model.grid, "space_order": case["order"], "time_order": 1}
    v = devito.VectorTimeFunction(name="v", **order)
    tau = devito.TensorTimeFunction(name="tau", **order)
    memory = devito.TensorTimeFunction(name="r", **order)
    stress, p, s = relaxation(case, model)
    strain = grad(v.forward) + grad(v.forward).transpose(inner=False)
    volume = model.lam * diag(div(v.forward))
    change = tau.dt - memory.forward - p / stress * volume - model.mu * s / stress * strain
    kept = (p / stress - 1) * volume + model.mu * (s / stress - 1) * strain
    relaxing = memory.dt + (memory + kept) / stress
    return [
        Eq(v.forward, model.damp * solve(v.dt - model.b * div(tau), v.forward)),
        Eq(memory.forward, model.damp * solve(relaxing, memory.forward)),
        Eq(tau.forward, model.damp * solve(change, tau.forward)),
        source.inject(tau.forward.diagonal(), expr=source * model.grid.time_dim.spacing),
        receiver.interpolate(expr=v[0]),
    ]


def viscoacoustic(case: dict[str, Any], model: SeismicModel, source: Any, receiver: Any) -> Any:
    """Return the equations of the visco-acoustic case, of any density: volume, pressure."""
    order = {"grid": model.grid, "space_order": case["order"], "time_order": 1}
    p = TimeFunction(name="p", staggered=devito.NODE, **order)
    v = devito.VectorTimeFunction(name="v", **order)
    geometry = SimpleNamespace(_f0=case["frequency"] / 1e3, nt=case["steps"])
    step = model.grid.time_dim.spacing
    return [
        *sls_1st_order(model, geometry, p, v=v),
        source.inject(p.forward, expr=source * step / model.m),
        receiver.interpolate(expr=p),
    ]


def anisotropic(case: dict[str, Any], model: SeismicModel, source: Any, receiver: Any) -> Any:
    """Return the equations of acoustic rock with an axis: volume, pressure."""
    order = {"grid": model.grid, "space_order": case["order"], "time_order": 2}
    u, v = (TimeFunction(name=name, **order) for name in "uv")
    step = model.grid.time_dim.spacing
    return [
        *kernel_centered(model, u, v),
        *(source.inject(w.forward, expr=source * step**2 / model.m) for w in (u, v)),
        receiver.interpolate(expr=u + v),
    ]


def equations_of(case: dict[str, Any]) -> Callable:
    """Return the function that gives the equations of a case.

    Raises:
        SystemExit: the examples have none.
    """
    physics, further = case["physics"], frozenset(case["further"])
    axis = {"epsilon", "delta"}
    known = {
        ("acoustic", frozenset()): acoustic,
        ("elastic", frozenset()): elastic,
        ("acoustic_variable_density", frozenset({"qp"})): viscoacoustic,
        ("elastic", frozenset({"qp", "qs"})): viscoelastic,
        ("acoustic", frozenset(axis)): anisotropic,
        ("acoustic", frozenset(axis | {"theta", "phi"})): anisotropic,
    }
    if (physics, further) not in known or case.get("mechanisms", 0) > 1:
        raise SystemExit(f"Devito's examples have no such {physics} equation")
    return known[physics, further]


def options_of(settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Return Devito's `opt`: advanced, plus what `--set opt=key:value,...` asks."""
    pairs = [item.split(":") for item in settings.get("opt", "").split(",") if item]
    values = {"true": True, "false": False}
    return "advanced", {"openmp": True} | {key: values.get(value, value) for key, value in pairs}


def make(case: dict[str, Any], settings: dict[str, str]) -> tuple[timing.Loop, dict[str, Any]]:
    """Return the loop of the case, compiled, tuned and warmed up, and what to note of it."""
    model = model_of(case)
    source, receiver = geometry_of(case, model)
    equations = equations_of(case)
    operator = Operator(
        equations(case, model, source, receiver),
        subs=model.spacing_map,
        name="Forward",
        opt=options_of(settings),
    )
    given = {"src": source, "rec": receiver, "dt": np.float32(case["step"] * 1e3), "time_m": 1}
    tuned: dict[str, Any] = {}
    tuning = settings.get("tuning", "aggressive")
    source.coordinates.data[0] = np.array(case["sources"][0]) * case["spacing"]
    if tuning != "off":
        operator.apply(time_M=8, autotune=tuning, **given)
        tuned = dict(operator._state["autotuning"][-1].get("tuned", {}))
    operator.apply(time_M=max(4, case["steps"] // 10), autotune="off", **given, **tuned)

    def loop(sources: list[list[int]]) -> float:
        total = 0.0
        for position in sources:
            source.coordinates.data[0] = np.array(position) * case["spacing"]
            summary = operator.apply(time_M=case["steps"], autotune="off", **given, **tuned)
            total += sum(section.time for section in summary.values())
        return total

    return loop, {
        "blocks": {key: int(value) for key, value in tuned.items()},
        "absorbing": f"damping, {case['layer']} points",
    }


if __name__ == "__main__":
    timing.main("devito", devito.__version__, __doc__, make)

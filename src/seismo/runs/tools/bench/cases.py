"""The cases that `seismo bench` times: fixed scenarios, stated once for all codes and machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from seismo.backends.select import BackendChoice
from seismo.equations.framework.registry import EQUATIONS, equation_for
from seismo.errors import ScenarioError

if TYPE_CHECKING:
    from seismo.scenario import Scenario

SPACING = 10.0
STEP = 0.0008  # 0.32 of a spacing at 4 km/s: stable in every code, in 2-D and in 3-D
FREQUENCY = 20.0
LAYER_POINTS = 20
DEFAULT_LAYER = 12  # points that scenarios have where they name none
WARM_UP_STEPS = 4
UPPER = {"vp": 2500.0, "vs": 1400.0, "rho": 2100.0, "qp": 80.0, "qs": 40.0}
THOMSEN = {"epsilon": 0.2, "delta": 0.1, "gamma": 0.1, "theta": 30.0, "phi": 20.0}
LOWER = {"vp": 4000.0, "vs": 2300.0, "rho": 2500.0, "qp": 200.0, "qs": 100.0}
TTI = ("epsilon", "delta", "theta", "phi")  # of acoustic waves
VTI_LOSS = ("epsilon", "delta", "gamma", "qp", "qs")
MECHANISMS = 3  # of media that attenuate
UPDATES = 4_000_000_000  # of points, about, in the steps of a shipped scenario
SHIPPED = (  # in 3-D
    "ACOUSTIC_3D", "CHINO_HILLS_2008", "DOUBLE_COUPLE", "JACKSBORO", "LOH1", "NORTHRIDGE_1994",
    "VOLCANO",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A benchmark: a scenario, the steps to time and the points (layers and shots included)."""

    name: str
    steps: int
    points: int
    scenario: dict[str, Any] | Scenario


def _case(
    name: str, physics: str, dimensions: int, total: int, order: int, steps: int, shots: int = 1,
    further: tuple[str, ...] = (), bits: int = 32, layer: int = LAYER_POINTS,
    mechanisms: int = MECHANISMS, precision: str = "float32",
) -> Case:  # fmt: skip
    """Build the scenario of a cube (or square) of `total` points a side, layers included.

    The model gives `further` parameters beside the parameters of the physics; memory variables, of
    so many `mechanisms`, have `bits`.
    """
    collar = equation_for(physics, dimensions, further).beside_layers
    nodes = total - 2 * (layer + (collar.points if collar else 0))
    axes = ("x", "z") if dimensions == 2 else ("x", "y", "z")
    scenario: dict[str, Any] = {
        "title": f"benchmark {name}",
        "physics": physics,
        "precision": precision,
        "grid": {
            "extent": dict.fromkeys(axes, (nodes - 1) * SPACING),
            "spacing": SPACING,
            "order": order,
            "stencil": "taylor",
        },
        "time": {"duration": (steps + 2 * WARM_UP_STEPS) * STEP, "step": STEP},
        "boundaries": {"layer": {"points": layer}},
        **_medium_and_geometry((*EQUATIONS[physics].needs, *further), axes, nodes),
    }
    if {"qp", "qs"} & set(further):
        scenario["attenuation"] = {"mechanisms": mechanisms, "storage": bits}
    if shots > 1:
        first = scenario["sources"][0]["position"]
        columns = [number * (nodes - 1) // (shots - 1) for number in range(shots)]
        scenario["survey"] = {
            "shots": [{"position": first | {"x": SPACING * column}} for column in columns]
        }
    return Case(name, steps, total**dimensions * shots, scenario)


def _medium_and_geometry(
    keys: tuple[str, ...], axes: tuple[str, ...], nodes: int
) -> dict[str, Any]:
    """Return model, sources and receivers: two layers, a source, a line of up to 1000 nodes."""
    middle = SPACING * (nodes // 2)
    across = {"y": middle} if "y" in axes else {}
    count = min(nodes, 1000)
    layers = [
        {"top": 0.0} | {key: (UPPER | THOMSEN)[key] for key in keys},
        {"top": middle} | {key: (LOWER | THOMSEN)[key] for key in keys},
    ]
    # SH waves know neither pressures nor P waves.
    push: dict[str, Any] = {"type": "explosion" if "vs" in keys else "pressure"}
    if "vp" not in keys:
        push = {"type": "force", "force": {"y": 1e6}}
    source = push | {
        "position": {"x": middle, **across, "z": 10 * SPACING},
        "wavelet": {"type": "ricker", "frequency": FREQUENCY},
    }
    line = {
        "type": "line",
        "start": {"x": 0.0, **across, "z": 2 * SPACING},
        "end": {"x": (count - 1) * SPACING, **across, "z": 2 * SPACING},
        "count": count,
        "quantities": ["velocity" if "vs" in keys else "pressure"],
    }
    return {
        "model": [{"type": "layers", "layers": layers}],
        "sources": [source],
        "receivers": [line],
    }


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _case("W1", "acoustic", 2, 2081, 8, 500),
        _case("W2", "acoustic", 3, 256, 8, 100),
        _case("W3", "elastic", 2, 1541, 4, 300),
        _case("W4", "elastic", 3, 160, 4, 60),
        _case("W5", "acoustic", 2, 340, 8, 500, shots=64),
    )
}


# Rock that attenuates or is anisotropic, on CPUs: run where they are named, beside peers, which
# have a single mechanism (Devito) or any number.
ROCK_CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _case("W6", "acoustic_variable_density", 3, 256, 8, 50, further=("qp",)),
        _case("W7", "acoustic_variable_density", 3, 256, 8, 50, further=("qp",), mechanisms=1),
        _case("W8", "elastic", 3, 160, 4, 40, further=("qp", "qs")),
        _case("W9", "elastic", 3, 160, 4, 40, further=("qp", "qs"), mechanisms=1),
        _case("W10", "acoustic", 3, 256, 8, 50, further=TTI[:2]),
        _case("W11", "acoustic", 3, 256, 8, 50, further=TTI),
        _case("W12", "elastic", 3, 160, 4, 40, further=("epsilon", "delta", "gamma")),
        _case("W13", "elastic", 3, 160, 4, 40, further=tuple(THOMSEN)),
    )
}

# For cards: the grids that their users have, layers of 20 points around them; then the small cubes
# that high orders make of them, with layers of the default width.
CARD_CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _case("G1", "acoustic", 3, 552, 8, 400),
        _case("G2", "acoustic", 3, 552, 4, 400),
        _case("G3", "elastic", 3, 424, 4, 100),
        _case("G4", "elastic", 3, 424, 8, 100),
        _case("G5", "acoustic", 2, 2041, 8, 8000),
        _case("G6", "elastic", 2, 1541, 4, 4000),
        _case("G7", "acoustic", 2, 340, 8, 20000),
        _case("G8", "acoustic", 2, 340, 8, 2000, shots=64),
        _case("G28", "elastic", 2, 340, 4, 1000, shots=64),
        _case("G29", "elastic", 2, 240, 4, 2000, shots=64),
        _case("G30", "elastic_sh", 2, 340, 4, 2000, shots=64),
        _case("G9", "elastic", 3, 424, 4, 60, further=("qp", "qs")),
        _case("G10", "acoustic_variable_density", 3, 552, 8, 100, further=("qp",)),
        _case("G11", "acoustic_variable_density", 3, 552, 8, 200),
        _case("G12", "acoustic", 3, 552, 8, 200, further=("qp",)),
        _case("G13", "elastic", 3, 424, 4, 100, further=("epsilon", "delta", "gamma")),
        _case("G14", "acoustic", 3, 552, 8, 200, further=("epsilon", "delta")),
        _case("G15", "elastic", 3, 424, 4, 60, further=tuple(THOMSEN)),
        _case("G16", "acoustic", 3, 584, 8, 100, further=TTI),
        _case("G17", "elastic", 3, 424, 4, 80, further=("qp", "qs"), bits=16),
        _case("G18", "elastic", 3, 424, 4, 60, further=VTI_LOSS, bits=16),
        _case("G25", "acoustic", 3, 584, 8, 60, further=(*TTI, "qp")),
        _case("G26", "elastic", 3, 424, 4, 100, precision="float16"),
        _case("G27", "elastic", 3, 424, 8, 100, precision="float16"),
        _case("G31", "acoustic", 3, 552, 8, 400, precision="float16"),
        _case("G19", "acoustic", 3, 320, 8, 400, layer=DEFAULT_LAYER),
        _case("G20", "acoustic", 3, 320, 12, 400, layer=DEFAULT_LAYER),
        _case("G21", "acoustic", 3, 320, 16, 400, layer=DEFAULT_LAYER),
        _case("G22", "elastic", 3, 240, 4, 200, layer=DEFAULT_LAYER),
        _case("G23", "elastic", 3, 240, 8, 200, layer=DEFAULT_LAYER),
        _case("G24", "elastic", 3, 240, 12, 200, layer=DEFAULT_LAYER),
    )
}
_USUAL = {"gpu": CARD_CASES}
_TUNING = {  # points along an axis, of the cases above, and steps: few, for many layouts
    ("acoustic", "xz"): (2041, 1000), ("acoustic", "xyz"): (552, 20),
    ("elastic", "xz"): (1541, 500), ("elastic", "xyz"): (424, 10),
    ("acoustic_tti", "xz"): (2073, 500), ("acoustic_tti", "xyz"): (584, 10),
}  # fmt: skip
TUNED = tuple(dict.fromkeys(physics for physics, _ in _TUNING))  # their equations


def tuning_case(physics: str, axes: str, order: int) -> Case:
    """Return the case that layouts of threads are compared by."""
    points, steps = _TUNING[physics, axes]
    equation = EQUATIONS[physics]
    base = equation.extends or physics
    further = tuple(name for name in equation.needs if name not in EQUATIONS[base].needs)
    name = f"{physics} {len(axes)}-D order {order}"
    return _case(name, base, len(axes), points, order, steps, further=further)


@cache
def shipped_case(name: str) -> Case:
    """Return the case of a scenario that seismo brings, with all that it records."""
    from seismo.examples import HERE
    from seismo.scenario import load
    from seismo.solver.discretize import discretize

    scenario = load(HERE / "scenarios" / f"{name.lower()}.yaml")
    discretization = discretize(scenario)
    points = discretization.grid.size * discretization.batch
    steps = min(discretization.total_steps - 2 * WARM_UP_STEPS, max(20, UPDATES // points))
    return Case(name, steps, points, scenario)


def usual(choice: BackendChoice) -> list[str]:
    """Name the cases that say most about a machine."""
    return list(_USUAL.get(choice.name, CASES))


def select(names: Iterable[str] = ()) -> list[Case]:
    """Return the named cases, or the first five for CPUs.

    Raises ScenarioError when a name is not a case.
    """
    wanted = [name.upper() for name in names] or list(CASES)
    known = CASES | ROCK_CASES | CARD_CASES
    unknown = [name for name in wanted if name not in known and name not in SHIPPED]
    if unknown:
        raise ScenarioError(
            f"benchmark case {', '.join(unknown)} does not exist; choose from "
            f"{', '.join((*known, *SHIPPED))}"
        )
    return [known[name] if name in known else shipped_case(name) for name in wanted]

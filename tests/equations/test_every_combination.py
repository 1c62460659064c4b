"""Every equation with every kind of model, output, surface and number: `check`, and ten steps.

Whatever a scenario allows must neither end in an internal error nor leave numbers that are not
finite. Equations come from the registry, those of other packages (`SEISMO_EQUATIONS`) included.
"""

import math
from itertools import combinations, product

import pytest

import seismo
import solver
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import BackendChoice
from seismo.equations.framework.registry import EQUATIONS, physics_for
from seismo.errors import ScenarioError
from seismo.features.loss import mechanisms as memory_storage
from seismo.runs import run

VARIANTS = [(e.name, d) for e in EQUATIONS.values() for d in e.dimensions]
MODELS = ("uniform", "layered", "body")
OUTPUTS = ("all", "receivers", "maps", "snapshots", "plane wave")
SURFACES = ("free_surface", "absorbing")
NUMBERS = (("float32", "auto"), ("float64", "auto"), ("float32", 16), ("float32", 32))
STEPS = 10
STEP = 1e-3  # s, below the limit of all
CELLS = {2: (24, 20), 3: (14, 14, 14)}
WAVE_CELLS = {2: (44, 36), 3: (44, 44, 36)}  # room for a box within
WAVE = {"type": "plane_wave", "wavelet": {"type": "ricker", "frequency": 25.0}, "incidence": 10.0}
# In the words of what refuses them: memory variables of 16 bits, and plane waves.
REFUSED = ("16: too few bits", "isotropic solid rock", "no plane waves from below")


def product_of(name: str, dimensions: int, outputs: tuple[str, ...]) -> list[tuple]:
    """Give all combinations of an equation that differ."""
    numbers = NUMBERS if EQUATIONS[name].attenuates else NUMBERS[:2]
    return [
        (name, dimensions, *chosen)
        for chosen in product(MODELS, outputs, SURFACES, numbers)
        if chosen[1] != "plane wave" or chosen[2] == "free_surface"
    ]


def pairs(chosen: tuple) -> set:
    """Give the pairs of what meets in a combination, beside its equation, and if that loses."""
    _, dimensions, *factors = chosen
    return set(combinations(enumerate([dimensions, EQUATIONS[chosen[0]].attenuates, *factors]), 2))


def covering() -> list[tuple]:
    """Give one combination of each equation: those that have most pairs not had before."""
    had: set = set()
    chosen = []
    for name, dimensions in VARIANTS:
        every = product_of(name, dimensions, OUTPUTS[:1])
        chosen.append(max(every, key=lambda one: len(pairs(one) - had)))
        had |= pairs(chosen[-1])
    return chosen


def model(physics, kind: str, middle_x: float) -> list[dict]:
    """Give rock, another one further down, or a body of it, above z = 60 m about an x."""
    (rock,) = solver.uniform(physics)
    values = {key: value for key, value in rock.items() if key != "type"}
    faster = values | {key: 1.2 * values[key] for key in ("vp", "vs") & values.keys()}
    middle = 8.0 * solver.SPACING["z"]
    if kind == "layered":
        return [{"type": "layers", "layers": [{"top": 0.0, **values}, {"top": middle, **faster}]}]
    body = {"type": "block", "x": [middle_x - 30.0, middle_x + 30.0], "z": [20.0, 60.0], **faster}
    return [rock, body] if kind == "body" else [rock]


def combination(name, dimensions, kind, output, surface, number) -> dict:
    """Give a scenario."""
    physics = physics_for(name, dimensions)
    precision, storage = number
    cells = (WAVE_CELLS if output == "plane wave" else CELLS)[dimensions]
    document = solver.plan(
        name, dimensions, cells=cells, steps=None, precision=precision,
        model=model(physics, kind, 0.5 * cells[0] * solver.SPACING["x"]),
        boundaries=solver.faces(dimensions, top=surface),
    )  # fmt: skip
    document["time"] = {"duration": STEPS * STEP, "step": STEP}
    if EQUATIONS[name].attenuates:
        document["attenuation"] = {"storage": storage}
    if output == "plane wave":
        document["sources"] = [WAVE | {"wave": "SH" if "sh" in name.split("_") else "SV"}]
    if output in ("maps", "snapshots"):
        document["receivers"] = []
    quantity = "pgv" if "velocity" in physics.quantities else "pressure"
    outputs = {
        "maps": [{"quantities": [quantity], "plane": {"z": 18.0}}],
        "snapshots": [{"fields": [next(iter(physics.shown))], "steps": 2}],
    }
    document["output"] = {n: sets for n, sets in outputs.items() if output in (n, "all")}
    return document


def assert_runs(folder, name, dimensions, *factors) -> None:
    """Check and run; a combination that is refused says why in the words of its feature."""
    document = combination(name, dimensions, *factors)
    try:
        assert str(seismo.check(document))
        with seismo.run(document, folder / "x.h5") as results:
            assert results.status == "complete"
    except ScenarioError as error:
        if not any(words in str(error) for words in REFUSED):
            raise


def is_long(name: str, dimensions: int) -> bool:
    """Whether an equation in space stands in for another."""
    return dimensions == 3 and bool(EQUATIONS[name].extends)


@pytest.fixture(autouse=True)
def unlike_sources(monkeypatch):
    """Let sources of all kinds act at once, with one unit each."""
    monkeypatch.setattr(memory_storage, "MOST_UNLIKE", math.inf)


@pytest.fixture
def plain_code(monkeypatch):
    """Let runs take few steps on NumPy, for which nothing is compiled."""
    monkeypatch.setitem(globals(), "STEPS", 4)
    choices = [BackendChoice("cpu", "in plain code", ReferenceBackend, 1)]
    monkeypatch.setattr(run, "select_backends", lambda *_: (choices, ""))


def test_every_pair_is_covered():
    """But of numbers that only equations with losses have, and of those alone."""
    had = set().union(*map(pairs, covering()))
    wanted = set().union(*(
        pairs(c) for name, dimensions in VARIANTS for c in product_of(name, dimensions, OUTPUTS[:1])
    ))  # fmt: skip
    assert wanted - had == set()


@pytest.mark.usefixtures("plain_code", "no_remedies", "exact_contacts")
@pytest.mark.parametrize(
    "chosen",
    [
        # In space others than the equations of fewest parameters take seconds to judge.
        pytest.param(c, id=f"{c[0]}-{c[1]}d", marks=[pytest.mark.slow] * is_long(*c[:2]))
        for c in covering()
    ],
)
def test_every_equation_runs(chosen, tmp_path):
    assert_runs(tmp_path, *chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dimensions"), VARIANTS)
def test_every_combination_runs(name, dimensions, tmp_path):
    """Compiled, and with the remedies that `check` seeks."""
    for chosen in product_of(name, dimensions, OUTPUTS):
        try:
            assert_runs(tmp_path, *chosen)
        except Exception as error:
            error.add_note(f"combination: {chosen}")
            raise

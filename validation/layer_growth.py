"""No absorbing layer grows: a table of long runs in media that are hard on layers.

    python validation/layer_growth.py --jobs 16 --steps 100000 > layer_growth.md
    python validation/layer_growth.py --only 3-D --backend gpu > layer_growth_3d.md

Small grids (40 points along an axis, 18 in 3-D, and the layers, h = 10 m) with layers on all faces,
or a free surface on top, for every equation: a uniform medium (ten times as many steps in 2-D),
white noise in all parameters, thin soft beds between stiff ones. Orders, points, precisions and
frequencies (shares of what the grid carries in the slowest rock) are dealt out in turn, so that
each medium meets all of them. "Left" is the largest motion of the last tenth over that of the run,
"growth" over that of the tenth after a fifth of the run. Rounding leaves 1e-7 and less.

    python validation/layer_growth.py --media rocks --jobs 16 --only 2-D

takes rocks that layers are hard put to instead: those of Becache, Fauqueux & Joly (2003) whose
waves run back, crystals, tilted rock, an axis of its own at every node, and quality factors from 5
to 1000 at random at every node, of rock and fluid, isotropic and not.
"""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, dataclass, fields
from itertools import count
from pathlib import Path

import numpy as np

from seismo.backends.select import choose
from seismo.equations.framework.registry import VARIANTS, physics_for
from seismo.errors import SeismoError
from seismo.scenario import from_dict
from seismo.solver.simulation import build

POINTS, SPACING, PARTS = {2: 40, 3: 18}, 10.0, 50
STIFF = {"vp": 3000.0, "vs": 1500.0, "rho": 2000.0}
SOFT = {"vp": 500.0, "vs": 100.0, "rho": 1200.0}
NOISE = (1.001, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)  # contrasts
WIDE = (3.0, 5.0, 10.0, 20.0)  # the same, in density too
BEDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # m
# c11, c33, c13, c44, c66 [GPa], rho: models of Becache, Fauqueux & Joly (2003), and crystals.
ROCKS = {
    "III": (4.0, 20.0, 4.9, 2.0, 1.0, 1000.0),
    "IV": (4.0, 20.0, 7.5, 2.0, 1.0, 1000.0),
    "zinc": (165.0, 62.0, 50.0, 39.6, 39.6, 7100.0),
    "apatite": (167.0, 140.0, 66.0, 66.3, 66.3, 3200.0),
}
SHALE = {"epsilon": 0.3, "delta": -0.1, "gamma": 0.1}
QUALITIES = (5.0, 1000.0)
ORDERS, SHARES = (2, 4, 6, 8, 10, 12, 14, 16), (0.05, 0.1, 0.25, 0.5, 1.0)
LAYERS = {2: (5, 8, 10, 12, 20, 40), 3: (5, 8, 12)}
FLOOR, DECAYED = 1e-5, 1.5  # below this share of the peak rounding may wander by this factor


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes:
        equation: its name.
        dimensions: 2 or 3.
        medium: "uniform", or "noise", "wide" or "bed" and a contrast or a thickness; or rock: its
            name and tilt in degrees, "axes" at random, or "Q" at random and what else it has.
        top: kind of the face on top.
        order: of the differences.
        points: of the layers.
        share: source frequency in the highest that the grid carries.
        precision: of the numbers.
        steps: of the run.
    """

    equation: str
    dimensions: int
    medium: tuple
    top: str
    order: int
    points: int
    share: float
    precision: str
    steps: int


def media(dimensions: int) -> list[tuple[str, float]]:
    """List the media; in 3-D, where a run takes longer, those that asked for most in 2-D."""
    if dimensions == 3:
        return [("uniform", 2.0), ("noise", 5.0), ("noise", 20.0), ("bed", 1.0), ("bed", 10.0)]
    found = [("uniform", ratio) for ratio in (1.5, 1.73, 2.0, 3.0)]
    found += [("noise", c) for c in NOISE] + [("wide", c) for c in WIDE]
    return found + [("bed", thickness) for thickness in BEDS]


def cases(steps: int, rounds: int) -> list[Case]:
    """Deal out orders, points, frequencies and precisions to all equations and media."""
    turn, found = {2: count(), 3: count()}, []
    for _ in range(rounds):
        for equation, dimensions in VARIANTS:
            layers = LAYERS[dimensions]
            for medium in media(dimensions):
                n = next(turn[dimensions])
                found.append(Case(
                    equation, dimensions, medium, ("absorbing", "free_surface")[n % 3 > 0],
                    ORDERS[n * 5 % 8], layers[n // 2 * 7 % len(layers)], SHARES[n * 3 % 5],
                    ("float32", "float64")[n // 3 % 2],
                    steps * (10 if medium[0] == "uniform" and dimensions == 2 else 1),
                ))  # fmt: skip
    return sorted(found, key=lambda case: (-case.steps, -case.dimensions))


def rock_cases(steps: int) -> list[Case]:
    """List rocks that layers are hard put to, in planes and in space."""
    plane = [(name, tilt, "absorbing") for name in ROCKS for tilt in (0.0, 30.0)]
    plane += [(name, 0.0, "free_surface") for name in ("IV", "zinc")]
    plane += [("shale", tilt, "absorbing") for tilt in (15.0, 30.0, 45.0, 60.0)]
    plane += [("shale", 30.0, "free_surface")]
    space = [("zinc", 0.0, "absorbing"), ("IV", 30.0, "absorbing"), ("shale", 45.0, "absorbing")]
    tops = ("absorbing", "free_surface")
    found = [
        Case("elastic", dimensions, (name, tilt), top, 8 if dimensions == 2 else 4, 12, 0.5,
             "float32", steps)
        for dimensions, rocks in ((2, plane), (3, space)) for name, tilt, top in rocks
    ]  # fmt: skip
    found += [
        Case("elastic", dimensions, ("axes", 0.0), top, order, 12, 0.25, precision, steps)
        for dimensions, order in ((2, 8), (2, 4), (3, 4)) for top in tops
        for precision in (("float32", "float64") if order == 8 else ("float32",))
    ]  # fmt: skip
    lossy = [("acoustic", ""), ("acoustic", "VTI"), ("acoustic", "TTI"),
             ("acoustic_variable_density", ""), ("elastic_sh", ""),
             ("elastic", ""), ("elastic", "VTI"), ("elastic", "TTI")]  # fmt: skip
    # Two pressures that cancel have no stiffness: given a rate by rounding, they move on.
    both = ("float32", "float64")
    return found + [
        Case(equation, dimensions, ("Q", rock), top, 8 if dimensions == 2 else 4, 12, 0.5,
             precision, steps)
        for equation, rock in lossy for dimensions in (2, 3) for top in tops
        for precision in (both[1:] if equation == "acoustic" and rock else
                          both if dimensions == 2 else both[:1])
        if dimensions == 2 or rock == "TTI" or (equation, rock) == ("elastic", "")
    ]  # fmt: skip


def rock_model(case: Case, folder: Path) -> tuple[list[dict], float]:
    """Give the model of rock, and its slowest velocity [m/s]."""
    name, further = case.medium
    shape = (POINTS[case.dimensions],) * case.dimensions
    generator = np.random.default_rng(case.order + case.points)
    if name in ROCKS:
        *moduli, rho = ROCKS[name]
        constants = dict(zip(("c11", "c33", "c13", "c44", "c66"), moduli, strict=True))
        rock = {key: 1e9 * value for key, value in constants.items()} | {"rho": rho}
        return [{"type": "uniform", **rock, **({"theta": further} if further else {})}], (
            1e9 * constants["c44"] / rho
        ) ** 0.5
    rock, drawn = STIFF | SHALE, {}
    if name == "shale":
        rock["theta"] = further
    elif name == "axes":
        drawn["theta"] = generator.uniform(-90.0, 90.0, shape)
        if case.dimensions == 3:
            drawn["phi"] = generator.uniform(-180.0, 180.0, shape)
    else:
        needs = {"vp", *physics_for(case.equation, case.dimensions).needs}
        rock = {key: value for key, value in STIFF.items() if key in needs}
        if further:
            rock |= SHALE | ({"theta": 30.0} if further == "TTI" else {})
        drawn = arrays("noise", 2.0, case.dimensions, case.order)
        drawn = {key: values for key, values in drawn.items() if key in needs}
        ends = np.log(QUALITIES)
        for key in ("qp", "qs"):
            if f"v{key[1]}" in physics_for(case.equation, case.dimensions).needs:
                drawn[key] = np.exp(generator.uniform(*ends, shape))
    for key, values in drawn.items():
        np.save(folder / f"{key}.npy", values)
    part = {"type": "file", **{key: {"path": str(folder / f"{key}.npy")} for key in drawn}}
    slow = "vs" if "vs" in rock else "vp"
    slowest = float(drawn[slow].min()) if slow in drawn else rock[slow]
    return [{"type": "uniform", **rock}, *([part] if drawn else [])], slowest


def arrays(kind: str, contrast: float, dimensions: int, seed: int) -> dict[str, np.ndarray]:
    """Draw every node; vp / vs is at least 1.5."""
    generator, shape = np.random.default_rng(seed), (POINTS[dimensions],) * dimensions
    vs = 150.0 * contrast ** generator.random(shape)
    if kind == "noise":
        spread = 1.0 + 2.0 * min(1.0, contrast - 1.0)
        vp = vs * 1.5 * spread ** generator.random(shape)
        return {"vp": vp, "vs": vs, "rho": 1000.0 * min(contrast, 3.0) ** generator.random(shape)}
    vp = 300.0 * contrast ** generator.random(shape)
    return {"vp": vp, "vs": np.minimum(vs, vp / 1.5),
            "rho": 500.0 * contrast ** generator.random(shape)}  # fmt: skip


def model(case: Case, folder: Path) -> tuple[list[dict], float]:
    """Give the model, and its slowest velocity [m/s]."""
    if case.medium[0] in (*ROCKS, "shale", "axes", "Q"):
        return rock_model(case, folder)
    needs = dict.fromkeys(("vp", *physics_for(case.equation, case.dimensions).needs))
    kind, number = case.medium
    slow = "vs" if "vs" in needs else "vp"
    if kind == "uniform":
        rock = STIFF | {"vp": number * STIFF["vs"]}
        return [{"type": "uniform", **{key: rock[key] for key in needs}}], rock[slow]
    if kind == "bed":
        top = (POINTS[case.dimensions] // 3 + 0.3) * SPACING
        beds = zip((0.0, top, top + number), (STIFF, SOFT, STIFF), strict=True)
        layers = [{"top": z, **{key: rock[key] for key in needs}} for z, rock in beds]
        return [{"type": "layers", "layers": layers}], SOFT[slow]
    drawn = arrays(kind, number, case.dimensions, case.order + case.points)
    for key in needs:
        np.save(folder / f"{key}.npy", drawn[key])
    part = {"type": "file", **{key: {"path": str(folder / f"{key}.npy")} for key in needs}}
    return [part], float(drawn[slow].min())


def scenario(case: Case, folder: Path) -> dict:
    """Put a source near the middle, above the bed."""
    rocks, slowest = model(case, folder)
    physics, points = physics_for(case.equation, case.dimensions), POINTS[case.dimensions]
    axes = "xyz" if case.dimensions == 3 else "xz"
    middle = (points // 2 + 0.3) * SPACING
    kind = "force" if "vs" in physics.needs else "pressure"  # in a fluid a force leaves eddies
    source = {"force": {axis: 1.0 for axis in ("x", "y", "z") if f"v{axis}" in
                        {field.name for field in physics.fields}}}  # fmt: skip
    return {
        "physics": case.equation, "precision": case.precision,
        "grid": {"extent": dict.fromkeys(axes, (points - 1) * SPACING), "spacing": SPACING,
                 "order": case.order},
        "time": {"duration": 1.0, "dispersion_removal": False},
        "boundaries": {"top": case.top, "layer": {"points": case.points}},
        "model": rocks,
        "sources": [{"type": kind, "position": dict.fromkeys(axes, middle) | {"z": 0.42 * middle},
                     **(source if kind == "force" else {"amplitude": 1.0}),
                     "wavelet": {"type": "ricker",
                                 "frequency": case.share * slowest / (2.5 * 2 * SPACING)}}],
        "receivers": [{"type": "points", "positions": [dict.fromkeys(axes, 6 * SPACING)]}],
    }  # fmt: skip


def follow(case: Case, device: str = "cpu") -> tuple[float, float]:
    """Run; return the largest motion of the last tenth over the run's, and over an earlier one."""
    choice = choose(device, threads=1 if device == "cpu" else None)
    with tempfile.TemporaryDirectory() as folder:
        document = scenario(case, Path(folder))
        step = build(from_dict(document)).dt
        document["time"]["duration"] = case.steps * step
        simulation = build(from_dict(document), choice)
        every = simulation.discretization.physics.fields
        moving = [f.name for f in every if f.late] or [every[0].name]
        ends = [case.steps * (part + 1) // PARTS for part in range(PARTS)]
        found = {}
        try:
            for step in sorted({*range(100, ends[0], 100), *ends}):
                simulation.advance(step - simulation.step)
                found[step] = max(float(np.abs(simulation.field(n)).max()) for n in moving)
        except SeismoError:
            return np.inf, np.inf
    tenth = PARTS // 10
    last = max(found[step] for step in ends[-tenth:])
    return last / max(found.values()), last / max(found[k] for k in ends[2 * tenth : 3 * tenth])


def grows(left: float, growth: float) -> bool:
    """Whether motion grows, or did not fall when it was well above rounding."""
    return not (growth < 1.0 or (left < FLOOR and growth < DECAYED))


def main() -> None:
    """Print the table as runs end, and how many grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--steps", type=int, default=100_000, help="of each run")
    parser.add_argument("--rounds", type=int, default=2, help="times that each medium is met")
    parser.add_argument(
        "--media", choices=("isotropic", "rocks"), default="isotropic", help="which are run"
    )
    parser.add_argument("--only", default="", help='of these, like "elastic 3-D" or "noise"')
    parser.add_argument(
        "--backend", choices=("cpu", "gpu"), default="cpu", help="a CPU's core each"
    )
    asked = parser.parse_args()
    rocks = asked.media == "rocks"
    todo = [
        case
        for case in (rock_cases(asked.steps) if rocks else cases(asked.steps, asked.rounds))
        if asked.only in f"{case.equation} {case.dimensions}-D {case.medium}"
    ]
    named = [f.name for f in fields(Case)]
    print(" | ".join([*named, "left", "growth"]))
    print(" | ".join(["---"] * (len(named) + 2)))
    bad = 0
    with ProcessPoolExecutor(asked.jobs) as pool:
        running = {pool.submit(follow, case, asked.backend): case for case in todo}
        for future in as_completed(running):
            case, (left, growth) = running[future], future.result()
            bad += grows(left, growth)
            values = [" ".join(map(str, x)) if isinstance(x, tuple) else str(x)
                      for x in astuple(case)]  # fmt: skip
            said = " **grows**" if grows(left, growth) else ""
            print(" | ".join(values), f"| {left:.1e} | {growth:.2g}{said}", flush=True)
    print(f"\n{bad} of {len(todo)} runs grew")


if __name__ == "__main__":
    main()

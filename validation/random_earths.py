"""Earths drawn at random: the error that `seismo check` expects, over the error that is found.

Ten kinds of earth in 2-D with drawn rocks, sizes, sources, wavelets and receivers, 5 to 10 points
per shortest wavelength; seeds are fixed. Found is the error of the worst receiver, all components
together, against a grid three times finer in a wider region. Absorbing layers of that grid do not
damp the fields: by default they begin to after some thousand steps where soft ground or beds guide
waves along them (`seismo.features.guided_waves.guides`), and reflect more from then on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import cases
import numpy as np
from scipy.interpolate import CubicSpline

from seismo.backends.select import choose
from seismo.exact import metrics
from seismo.runs.prediction.accuracy import expected_error

EARTHS = 20  # of each kind
FINER = 3
WIDER = 0.3  # of the width, on every side but a free surface
LAYER = 30  # points of the absorbing layers of the finer grid; of plane waves as thick as its own
RATIOS = (0.5, 3.0)  # expected over found: wanted
LEAST_RATIO = 0.33
DEEP = 1e6  # m
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
QUANTITIES = (*["velocity"] * 3, "displacement", "acceleration", "stress", "strain")
SOURCES: tuple[dict[str, Any], ...] = (
    {"type": "force", "force": {"x": 1e9}},
    {"type": "force", "force": {"z": 1e9}},
    {"type": "explosion", "moment": 1e12},
    {"type": "moment_tensor", "components": {"xz": 1e12}},
)


@dataclass(frozen=True)
class Draw:
    """What one earth is drawn from.

    Attributes:
        random: generator of its numbers.
        frequency: of the wavelet in Hz.
        spacing: m.
        width: of the region in m.
        depth: of the region in m.
        soft: the slowest rock, as a scenario has it.
        medium: 1.3 to 2 times as fast.
        hard: 2 to 3.5 times as fast.
    """

    random: np.random.Generator
    frequency: float
    spacing: float
    width: float
    depth: float
    soft: dict[str, float]
    medium: dict[str, float]
    hard: dict[str, float]

    def between(self, low: float, high: float) -> float:
        """Return a number between two."""
        return float(self.random.uniform(low, high))

    def cells(self, low: float, high: float) -> float:
        """Return a length in m between two numbers of cells."""
        return self.spacing * self.between(low, high)

    def rock(self, vs: float) -> dict[str, float]:
        """Return a rock of an S velocity in m/s."""
        return rock(self.random, vs)

    def either(self, share: float) -> bool:
        """Return whether a case is drawn that a share of all is."""
        return bool(self.random.random() < share)


def rock(random: np.random.Generator, vs: float) -> dict[str, float]:
    """Return a rock of an S velocity in m/s."""
    vp = vs * random.uniform(1.65, 2.4)
    return {"vp": float(vp), "vs": float(vs), "rho": 1700.0 + min(0.3 * vs, 900.0)}


def draw(random: np.random.Generator, slowest: tuple[float, float], size: float) -> Draw:
    """Draw rocks and lengths; regions are so many times as large as those of 90 to 150 nodes."""
    vs = float(random.uniform(*slowest))
    frequency = float(random.uniform(2.0, 6.0))
    spacing = vs / (2.5 * frequency) / float(random.choice([5, 6, 7, 8, 10]))
    width, depth = (
        spacing * round(size * int(random.integers(*nodes))) for nodes in ((90, 150), (60, 100))
    )
    speeds = (vs, vs * random.uniform(1.3, 2.0), vs * random.uniform(2.0, 3.5))
    return Draw(random, frequency, spacing, width, depth, *(rock(random, v) for v in speeds))


def stack(rocks: list[dict[str, float]], tops: list[float]) -> dict[str, Any]:
    """Return layers of rocks, with the depths in m where all but the first begin."""
    return {"type": "layers", "layers": [
        {"top": top, **rock} for top, rock in zip([-DEEP, *tops], rocks, strict=True)
    ]}  # fmt: skip


def uniform(d: Draw) -> dict[str, Any]:
    """Return one rock."""
    return {"model": [{"type": "uniform", **d.soft}]}


def layers(d: Draw) -> dict[str, Any]:
    """Return three to five layers, in one of three earths in any order."""
    count = int(d.random.integers(2, 5))
    tops = np.sort(d.random.uniform(6.0, d.depth / d.spacing - 10.0, count)) * d.spacing
    speeds = np.sort(d.random.uniform(1.0, 3.0, count + 1))
    if d.either(0.3):
        d.random.shuffle(speeds)
    rocks = [d.rock(d.soft["vs"] * v / speeds.min()) for v in speeds]
    return {"model": [stack(rocks, tops.tolist())]}


def gradient(d: Draw) -> dict[str, Any]:
    """Return a linear change from soft to hard rock."""
    ends = {name: {"top": d.soft[name], "bottom": d.hard[name]} for name in d.soft}
    top = 8.0 * d.spacing
    return {"model": [{"type": "gradient", "z_top": top, "z_bottom": d.depth - top, **ends}]}


def basin(d: Draw) -> dict[str, Any]:
    """Return a basin with a round floor, open to the top."""
    middle = d.width * d.between(0.4, 0.6)
    half = d.width * d.between(0.2, 0.35)
    floor = d.depth * d.between(0.15, 0.45)
    points = [[middle + half * a, floor * (1.0 - a * a)] for a in np.linspace(-1.0, 1.0, 13)]
    points += [[middle + half, -DEEP], [middle - half, -DEEP]]
    around = d.hard if d.either(0.5) else d.medium
    return {"model": [{"type": "uniform", **around},
                      {"type": "polygon", "points": points, **d.soft}]}  # fmt: skip


def bodies(d: Draw) -> dict[str, Any]:
    """Return one to three spheres and blocks, soft and hard."""
    model: list[dict[str, Any]] = [{"type": "uniform", **d.medium}]
    for _ in range(int(d.random.integers(1, 4))):
        inside = d.soft if d.either(0.5) else d.hard
        x = d.width * d.between(0.25, 0.7)
        z = d.depth * d.between(0.25, 0.65)
        if d.either(0.6):
            radius = d.spacing * float(np.exp(d.between(np.log(1.5), np.log(12.0))))
            model.append({"type": "sphere", "center": {"x": x, "z": z}, "radius": radius, **inside})
        else:
            ends = {"x": [x, x + d.cells(3.0, 25.0)], "z": [z, z + d.cells(3.0, 25.0)]}
            model.append({"type": "block", **ends, **inside})
    return {"model": model}


def well_log(d: Draw) -> dict[str, Any]:
    """Return ten to twenty thin beds, without those below the grid, which no run of it can hold."""
    count = int(d.random.integers(10, 22))
    speeds = np.exp(np.cumsum(d.random.normal(0.0, 0.15, count)))
    tops = np.cumsum(d.random.uniform(1.5, 6.0, count))[:-1] * d.spacing
    rocks = [d.rock(d.soft["vs"] * min(v, 3.5)) for v in speeds / speeds.min()]
    kept = tops[tops < d.depth - d.spacing].tolist()
    return {"model": [stack(rocks[: len(kept) + 1], kept)]}


def soil(d: Draw) -> dict[str, Any]:
    """Return soft ground of a few cells on two rocks."""
    tops = [d.cells(3.0, 14.0), d.cells(20.0, 40.0)]
    return {"model": [stack([d.soft, d.medium, d.hard], tops)]}


def sea(d: Draw) -> dict[str, Any]:
    """Return water over sediment over rock."""
    tops = [d.cells(15.0, 30.0), d.cells(40.0, 55.0)]
    return {"model": [stack([WATER, d.soft, d.hard], tops)]}


def hills(d: Draw) -> dict[str, Any]:
    """Return a hill or a canyon, in half of all with a soft layer that follows the ground."""
    height = d.cells(3.0, 10.0) * (1.0 if d.either(0.7) else -1.0)
    hill = {"center": {"x": d.width * d.between(0.4, 0.6)}, "height": height,
            "width": d.cells(15.0, 30.0)}  # fmt: skip
    model = [{"type": "uniform", **d.soft}]
    if d.either(0.5):
        below = stack([d.soft, d.medium], [d.cells(12.0, 25.0)])
        model.append({**below, "relative_to": "ground"})
    return {"model": model, "topography": {"type": "hills", "hills": [hill]}}


def over_plane_waves(d: Draw) -> dict[str, Any]:
    """Return a soft layer on rock, through which a plane wave comes from below."""
    source = {"type": "plane_wave", "wave": "P" if d.either(0.5) else "SV",
              "incidence": d.between(0.0, 25.0), "margin": 15.0 * d.spacing}  # fmt: skip
    return {"model": [stack([d.soft, d.hard], [d.cells(5.0, 20.0)])], "sources": [source]}


@dataclass(frozen=True)
class Kind:
    """A kind of earth, and the least that is asked of what `check` expects of it.

    Attributes:
        name: as rows say it.
        sections: function (draw) -> model, and other sections of a scenario.
        within: least share of ratios in `RATIOS`.
        below: largest share of ratios below `LEAST_RATIO`.
        free: share of earths under a free surface.
        slowest: S velocities in m/s between which the slowest is drawn.
    """

    name: str
    sections: Callable[[Draw], dict[str, Any]]
    within: float
    below: float
    free: float = 0.65
    slowest: tuple[float, float] = (300.0, 1200.0)


KINDS = (
    Kind("uniform rock", uniform, 0.9, 0.0),
    Kind("layers", layers, 0.9, 0.0),
    Kind("gradients", gradient, 0.85, 0.0),
    Kind("basins", basin, 0.85, 0.0),
    Kind("bodies", bodies, 0.85, 0.0),
    Kind("well logs", well_log, 0.85, 0.0),
    Kind("soil", soil, 0.85, 0.0, 1.0, (200.0, 450.0)),
    Kind("sea", sea, 0.9, 0.0, 0.65, (500.0, 900.0)),
    Kind("hills and canyons", hills, 0.85, 0.0, 1.0),
    Kind("plane waves", over_plane_waves, 0.9, 0.0, 1.0),
)
QUICK = ("uniform rock", "soil")


def scenario(kind: Kind, seed: int, size: float = 1.0) -> dict[str, Any]:
    """Return the scenario of an earth of a kind."""
    d = draw(np.random.default_rng((KINDS.index(kind), seed)), kind.slowest, size)
    sections = kind.sections(d)
    free = d.either(kind.free)
    wavelet = {"type": "ricker" if d.either(0.7) else "gaussian_derivative",
               "frequency": d.frequency}  # fmt: skip
    depth = 0.0 if free and d.either(0.7) else d.depth * d.between(0.15, 0.6)
    position = {"x": d.width * d.between(0.2, 0.8), "z": d.depth * d.between(0.1, 0.85)}
    quantity = str(d.random.choice(QUANTITIES))
    # Plane waves are those of a box, a margin within the sides.
    inside = (0.25, 0.75) if "sources" in sections else (0.1, 0.9)
    along = np.sort(d.random.uniform(*inside, 5)) * d.width
    places = [{"x": float(x), "z": depth} for x in along]
    number = int(d.random.integers(len(SOURCES)))
    if "topography" in sections:
        places, quantity = [{"x": place["x"]} for place in places], "velocity"
        position = {"x": position["x"], "depth": position["z"]}
    elif "sources" in sections:
        places, quantity = [{**place, "z": 0.0} for place in places], "velocity"
    else:
        # A source is spread over some cells of its own grid.
        away = [np.hypot(p["x"] - position["x"], p["z"] - position["z"]) for p in places]
        places = [p for p, r in zip(places, away, strict=True) if r > 6.0 * d.spacing]
    if kind.sections is sea and position["z"] <= sections["model"][0]["layers"][1]["top"]:
        number = 2  # no force, and no shear, in water
    sources = sections.pop("sources", [{**SOURCES[number], "position": position}])
    return {
        "title": f"{kind.name}, seed {seed}", "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": d.width, "z": d.depth}, "spacing": d.spacing, "order": 8},
        "time": {"duration": d.width / d.soft["vs"] * d.between(0.5, 0.8) + 2.5 / d.frequency},
        "boundaries": {"top": "free_surface" if free else "absorbing"},
        "sources": [{**source, "wavelet": wavelet} for source in sources],
        "receivers": [{"type": "points", "positions": places, "quantities": [quantity]}],
        **sections,
    }  # fmt: skip


def finer(document: dict[str, Any]) -> dict[str, Any]:
    """Return the same earth on a finer grid; that of a plane wave has the same sides."""
    reference = copy.deepcopy(document)
    grid = reference["grid"]
    spacing = grid["spacing"]
    is_plane = document["sources"][0]["type"] == "plane_wave"
    margin = 0.0 if is_plane else float(np.ceil(WIDER * grid["extent"]["x"] / spacing) * spacing)
    above = {} if document["boundaries"]["top"] == "free_surface" else {"z": -margin}
    extent = {
        "x": grid["extent"]["x"] + 2.0 * margin,
        "z": grid["extent"]["z"] + margin - above.get("z", 0.0),
    }
    grid |= {"spacing": spacing / FINER, "extent": extent, "origin": {"x": -margin, **above}}
    reference["boundaries"]["layer"] = {"points": 12 * FINER if is_plane else LAYER, "damping": 0.0}
    return reference


def compare(kind: Kind, seed: int, size: float) -> tuple[float, float]:
    """Return the expected error of an earth, and the error of its worst receiver."""
    document = scenario(kind, seed, size)
    processor = choose("cpu", threads=1)  # many small runs side by side
    run, reference = (cases.simulate(d, processor) for d in (document, finer(document)))
    inside = run.times <= reference.times[-1]
    names = tuple(run.traces)
    exact = CubicSpline(reference.times, reference.components(*names), axis=-1)(run.times[inside])
    traces = run.components(*names)[..., inside]
    # A receiver that no wave has reached has no error, nor has an earth where none has been.
    errors = [metrics.relative_l2(t, e) for t, e in zip(traces, exact, strict=True) if e.any()]
    return expected_error(run.simulation.discretization).error, max(errors, default=np.nan)


def case(quick: bool) -> list[cases.Row]:
    """Compare expected and found errors of each kind of earth."""
    kinds = [kind for kind in KINDS if not quick or kind.name in QUICK]
    count, size = (1, 0.5) if quick else (EARTHS, 1.0)
    earths = [(kind, seed) for kind in kinds for seed in range(count)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        both = list(pool.map(compare, *zip(*earths, strict=True), [size] * len(earths)))
    rows = []
    for n, kind in enumerate(kinds):
        pairs = both[n * count : (n + 1) * count]
        ratios = np.array([expected / found for expected, found in pairs])
        for seed in np.flatnonzero((ratios < LEAST_RATIO) | (ratios > RATIOS[1])).tolist():
            expected, found = pairs[seed]
            print(f"  {kind.name} {seed}: {expected:.2%} expected, {found:.2%} found")
        ratios = ratios[np.isfinite(ratios)]
        within = float(((ratios >= RATIOS[0]) & (ratios <= RATIOS[1])).mean())
        low = float((ratios < LEAST_RATIO).mean())
        sampling, against = f"{count} of a kind", f"a grid {FINER} times finer"
        rows += [
            cases.Row(f"{kind.name}: expected {RATIOS[0]:g} to {RATIOS[1]:g} times found",
                      sampling, within, kind.within, "%", "", against, at_least=True),
            cases.Row(f"{kind.name}: expected less than {LEAST_RATIO:g} times found",
                      sampling, low, kind.below, "%", "", against),
        ]  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

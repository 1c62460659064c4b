"""What `seismo check` expects of a run's traces, beside the error that is found.

Half-spaces, layers over half-spaces and contacts in 2-D, a vertical force or an explosion, Ricker
wavelet, against exact solutions of the stack of layers. A row is the ratio of the two errors, the
larger over the smaller: predictions are to be right to a factor of three. The found error is that
of the worst receiver, all components together.
"""

from __future__ import annotations

from dataclasses import dataclass

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.runs.prediction.accuracy import expected_error

FREQUENCY = 10.0
ROCK = Medium(3464.0, 2000.0, 2300.0)
HARD = Medium(5500.0, 3200.0, 2600.0)
WEAK = Medium(3637.0, 2100.0, 2300.0)
STIFF = Medium(17320.0, 10000.0, 2300.0)
HARDER = Medium(6200.0, 3600.0, 2700.0)
HARDEST = Medium(8000.0, 4500.0, 3000.0)
SOFT = Medium(1800.0, 800.0, 1900.0)
WATER = Medium(1500.0, 0.0, 1000.0)
MUD = Medium(1700.0, 0.0, 1500.0)
SEDIMENT = Medium(1900.0, 900.0, 2000.0)


@dataclass(frozen=True)
class Problem:
    """A stack of layers, lengths in shortest wavelengths.

    Attributes:
        name: for the row.
        media: from the top down.
        depths: of the contacts.
        source: depth of it.
        depth: of the receivers.
        offsets: of the receivers.
        points: in the shortest wavelength.
        surface: whether the top is free.
    """

    name: str
    media: tuple[Medium, ...]
    depths: tuple[float, ...]
    source: float
    depth: float
    offsets: tuple[float, ...]
    points: float
    surface: bool = True

    @property
    def shortest(self) -> float:
        """Length in m of the shortest wave, at 2.5 times the wavelet's frequency."""
        return min(m.vs or m.vp for m in self.media) / (2.5 * FREQUENCY)


PROBLEMS = (
    Problem("half-space, force near the surface", (ROCK,), (), 0.6, 0.0, (5.0, 10.0), 5.0),
    Problem("half-space, force near the surface", (ROCK,), (), 0.6, 0.0, (5.0, 10.0), 10.0),
    Problem("half-space, long path", (ROCK,), (), 0.6, 0.0, (20.0, 40.0), 7.0),
    Problem("half-space, buried force", (ROCK,), (), 4.0, 2.0, (3.0, 6.0), 5.0),
    Problem("soft layer over rock", (SOFT, ROCK), (3.0,), 5.0, 0.0, (4.0, 12.0), 7.0),
    Problem("soft layer over rock", (SOFT, ROCK), (3.0,), 5.0, 0.0, (4.0, 12.0), 10.0),
    Problem("two solids", (ROCK, HARD), (4.0,), 2.0, 1.5, (3.0, 8.0), 5.0, False),
    Problem("two solids", (ROCK, HARD), (4.0,), 2.0, 1.5, (3.0, 8.0), 10.0, False),
    Problem("water over mud", (WATER, MUD), (5.0,), 3.0, 2.0, (3.0, 8.0), 6.0, False),
    Problem("water over mud", (WATER, MUD), (5.0,), 3.0, 2.0, (3.0, 8.0), 12.0, False),
    Problem("water over sediment", (WATER, SEDIMENT), (8.0,), 5.0, 8.8, (4.0, 12.0), 8.0, False),
    Problem("two solids, nearly alike", (ROCK, WEAK), (4.0,), 2.0, 1.5, (3.0, 8.0), 6.0, False),
    Problem("two solids, 1 : 5", (ROCK, STIFF), (4.0,), 2.0, 1.5, (3.0, 8.0), 6.0, False),
    Problem("two solids, 1 : 5", (ROCK, STIFF), (4.0,), 2.0, 1.5, (3.0, 8.0), 12.0, False),
    Problem("water over rock", (WATER, ROCK), (4.05,), 2.0, 4.3, (3.0, 8.0), 6.0, False),
    Problem("water over rock", (WATER, ROCK), (4.05,), 2.0, 4.3, (3.0, 8.0), 12.0, False),
    Problem(
        "four solids",
        (ROCK, HARD, HARDER, HARDEST),
        (4.0, 5.0, 7.0),
        2.0,
        1.5,
        (3.0, 8.0),
        8.0,
        False,
    ),
    Problem("three rows of soft rock", (SOFT, ROCK), (0.3,), 2.0, 0.0, (5.0, 12.0), 10.0),
    Problem("six rows of soft rock", (SOFT, ROCK), (0.6,), 2.0, 0.0, (5.0, 30.0), 10.0),
    Problem("four rows of rock on hard rock", (ROCK, HARD), (0.5,), 2.0, 0.0, (5.0, 12.0), 8.0),
    Problem("half-space, force one wavelength deep", (ROCK,), (), 1.0, 0.0, (3.0, 8.0), 5.0),
    Problem("half-space, force one wavelength deep", (ROCK,), (), 1.0, 0.0, (3.0, 8.0), 7.0),
)


def scenario(problem: Problem) -> tuple[dict, float]:
    """Return the scenario, and its spacing in m."""
    wave, h = problem.shortest, problem.shortest / problem.points
    margin = np.ceil(3.0 * problem.points) * h
    above = 0.0 if problem.surface else margin
    deepest = max((problem.source, problem.depth, *problem.depths)) * wave
    extent = [np.ceil((max(problem.offsets) * wave + 2 * margin) / h) * h,
              np.ceil((deepest + margin + above) / h) * h]  # fmt: skip
    tops = (-above, *(d * wave for d in problem.depths))
    fluid = all(m.vs == 0.0 for m in problem.media)
    wet = problem.media[0].vs == 0.0
    kind = {"type": "explosion", "moment": 1e9} if wet else {"type": "force", "force": {"z": 1e9}}
    slowest = min(m.vs or m.vp for m in problem.media)
    ends = np.array([[n * wave, problem.depth * wave] for n in problem.offsets])
    duration = (max(problem.offsets) + 4.0) * wave / slowest + 3.2 / FREQUENCY
    return {
        "title": problem.name, "precision": "float64",
        "physics": "acoustic_variable_density" if fluid else "elastic",
        "grid": {"extent": cases.place(extent), "spacing": h,
                 "origin": {"x": -float(margin), "z": -float(above)}},
        "time": {"duration": float(duration)},
        "boundaries": {"top": "free_surface" if problem.surface else "absorbing"},
        "model": [{"type": "layers", "layers": [
            {"top": float(top), "vp": m.vp, "rho": m.rho} | ({} if fluid else {"vs": m.vs})
            for top, m in zip(tops, problem.media, strict=True)]}],
        "sources": [kind | {"position": {"x": 0.0, "z": problem.source * wave},
                            "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(ends, ["velocity"])],
    }, h  # fmt: skip


def compare(problem: Problem) -> tuple[float, float]:
    """Run; return the error of the worst receiver, and the expected one."""
    document, _ = scenario(problem)
    run = cases.simulate(document)
    wave = problem.shortest
    depths = tuple(d * wave for d in problem.depths)
    stack = Stack(problem.media, (0.0, *depths) if problem.surface else depths, problem.surface)
    ends = np.array([[n * wave, problem.depth * wave] for n in problem.offsets])
    place = np.array([0.0, problem.source * wave])
    if "force" in document["sources"][0]:
        exact = layered_plane.force_response(
            stack, place, ends, np.array([0.0, 1e9]), run.source, run.dt, "velocity", cut=1e-5
        )
    else:
        exact = layered_plane.moment_response(
            stack, place, ends, 1e9 * np.eye(2), run.source, run.dt, "velocity", "moment_rate",
            cut=1e-5,
        )  # fmt: skip
    traces = run.components("vx", "vz")
    errors = [metrics.relative_l2(t, e) for t, e in zip(traces, exact, strict=True)]
    return max(errors), expected_error(run.simulation.discretization).error


def case(quick: bool) -> list[cases.Row]:
    """Compare found and expected errors."""
    rows = []
    for problem in PROBLEMS[:: 2 if quick else 1]:
        found, expected = compare(problem)
        rows.append(cases.Row(
            f"{problem.name}: found {100 * found:.2g} %, expected {100 * expected:.2g} %",
            f"{problem.points:g} ppw", max(found / expected, expected / found), 3.0, "",
        ))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

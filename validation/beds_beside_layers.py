"""Beds in turn beside absorbing layers: what these send back, and that nothing grows in them.

Fifteen beds of four cells, soft and stiff in turn (moduli 1:17), guide waves that grow by an e-fold
in 50 steps in layers that are perfectly matched. Traces are compared with those of a region whose
sides and bottom are too far to be heard. Then random stacks of two rocks in turn (2 to 10 cells a
bed, moduli 1:8 to 1:45, orders 4 to 16, with and without a free surface), whose largest motion
in the last quarter of a run is compared with that in the quarter before.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import cases
import numpy as np

from seismo.scenario import from_dict
from seismo.solver.simulation import Simulation, build

SPACING = 10.0
BEDS = ((1700.0, 500.0, 1900.0), (3200.0, 1850.0, 2300.0))
RECEIVERS = ((100.0, 0.0), (320.0, 180.0), (320.0, 420.0))
ERROR = 0.2  # of each trace, up to step 3076
LEAST = 1e-4  # of the peak: less may be rounding
STACKS = 120


def stacked(rocks: tuple, cells: tuple[int, int], depth: float) -> list[dict]:
    """Give layers of two rocks (vp, vs, rho) in turn, of so many cells each, down to a depth."""
    layers = []
    top = 0.0
    while top < depth:
        turn = len(layers) % 2
        layers.append({"top": top, **dict(zip(("vp", "vs", "rho"), rocks[turn], strict=True))})
        top += SPACING * cells[turn]
    return [{"type": "layers", "layers": layers}]


def simulation(model: list[dict], width: float, wider: float = 0.0, **changes) -> Simulation:
    """Build a run of 700 m of beds, in a region that is wider on all sides but the top."""
    document = {
        "physics": "elastic",
        "grid": {"extent": {"x": width + 2.0 * wider, "z": 700.0 + wider}, "spacing": SPACING,
                 "origin": {"x": -wider, "z": 0.0}, "order": changes.pop("order", 8)},
        "time": {"duration": changes.pop("duration", 4.5)},
        "boundaries": {"top": changes.pop("top", "free_surface")},
        "model": model,
        "sources": [{"type": "force", "position": {"x": 0.5 * width + 3.0, "z": 220.0},
                     "force": {"x": 1e6, "z": 1e6},
                     "wavelet": {"type": "ricker", "frequency": changes.pop("frequency", 2.222)}}],
        "receivers": [{"name": "r", **cases.points(np.array(RECEIVERS), ["velocity"])}],
    }  # fmt: skip
    return build(from_dict(document), threads=1)


def traces(wider: float, duration: float) -> np.ndarray:
    """Return vx and vz (component, receiver, time) beside the fifteen beds."""
    run = simulation(stacked(BEDS, (4, 4), 600.0), 400.0, wider, duration=duration)
    run.advance(run.total_steps)
    return np.stack([run.recorder.raw(0, "r", name) for name in ("vx", "vz")]).astype(float)


def growth(seed: int, steps: int) -> float:
    """Return the largest motion in the last quarter of so many steps, over that in the third."""
    generator = np.random.default_rng(seed)
    soft, stiff = (
        (vs * generator.uniform(1.7, 2.2), vs, 1700.0 + 0.25 * vs)
        for vs in (generator.uniform(300.0, 700.0), generator.uniform(1500.0, 2200.0))
    )
    rocks = (soft, stiff) if seed % 2 else (stiff, soft)
    cells = tuple(int(n) for n in generator.integers(2, 11, 2))
    run = simulation(
        stacked(rocks, cells, 700.0), 340.0, duration=0.004 * steps,
        order=int(generator.choice([4, 6, 8, 10, 12, 16])),
        top=str(generator.choice(["free_surface", "absorbing"])),
        frequency=soft[1] / (SPACING * generator.uniform(10.0, 30.0)),
    )  # fmt: skip
    motion = []
    for _ in range(40):
        run.advance(steps // 40)
        motion.append(float(np.abs(run.field("vx")).max()))
    return max(motion[30:]) / max(*motion[20:30], LEAST * max(motion))


def case(quick: bool) -> list[cases.Row]:
    """Measure the traces beside fifteen beds, and what is left beside random stacks."""
    wider, duration = (2000.0, 1.6) if quick else (6000.0, 4.5)
    far, near = (traces(more, duration) for more in (wider, 0.0))
    errors = np.sqrt(((near - far) ** 2).sum((0, 2)) / (far**2).sum((0, 2)))
    rows = [
        cases.Row("beds in turn, layers of 12 points", f"receiver at {x:g}, {z:g} m", float(error),
                  ERROR, "%", "", "a region that is wider")
        for (x, z), error in zip(RECEIVERS, errors, strict=True)
    ]  # fmt: skip
    count, steps = (2, 4000) if quick else (STACKS, 40_000)
    # Each stack is a small run of one thread.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        most = max(pool.map(partial(growth, steps=steps), range(count)))
    rows.append(cases.Row("growth beside random stacks", f"{count} stacks, {steps} steps", most,
                          1.0, "", "", "the quarter before"))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

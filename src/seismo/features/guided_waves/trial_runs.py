"""Trial runs of a column of beds between two absorbing layers, which show whether waves grow there.

Whether beds guide waves that grow depends on how alike they are, on their thickness and on their
contrast, and no single number of these tells it. So a column is run by itself::

    layer | `CELLS` cells of the column | layer

with forces of the run's dominant frequency, and with a sequence of dampings of the layers' outer
part (`seismo.solver.medium.field_damping`), first with little of the alpha that ends growth: the
more a layer has of it, the thinner it is for long waves, which come back from its outer end.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seismo.backends.cpu.backend import CpuBackend
from seismo.grid.grid import AXES
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.medium.field_damping import LATE_OF_BEDS, LayerDamping
from seismo.solver.simulation import Simulation

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

SHARES = (0.0, 0.004, 0.008)  # the p that are tried,
MOST = 0.01  # and the step that motion is compared with
EXCESS = 0.08  # of the peak, by which it may be larger
GROWING = -0.3  # e-folds in 1000 steps, from which on beds ask for more than `MOST`,
LEFT = 0.02  # and the share of the peak
SHIFTS = (0.3, 0.5)  # of alpha that ends growth: shares that are tried, with `MOST`,
HARMLESS_RATE = 1.0  # and e-folds in 1000 steps up to which they will do for a while
STEPS = 2500
CELLS = 10
ROWS = 100  # of a column that are run, with the largest jumps,
LEAST_ROWS = 40  # or as many with the lowest rock below
SAMPLES = 8  # of a column down a row
_LOOK = 50  # steps between looks
_PERIOD = 300  # steps of the longest period,
_LEAST_POINTS = 8  # and points of the shortest dominant wavelength
_PARAMETERS = ("vp", "vs", "rho", "epsilon", "delta")
_FORCES = ((0.15, 1.0, 0.4), (0.4, -0.5, 1.0), (0.65, 0.8, -0.7), (0.9, -0.3, 0.6))


class TrialMotion(NamedTuple):
    """What is left of the motion of a trial run: its share of the peak, and its rate.

    The rate is that of its last 1000 steps, in e-folds.
    """

    share: float
    rate: float

    def grows(self, harmless: float) -> bool:
        """Whether more than little is left, and at a rate above a harmless one."""
        return self.rate > harmless and self.share > LEFT


class LeastDamping(NamedTuple):
    """The p that beds ask for at first, and the share of the alpha that ends growth."""

    early: float
    shift: float


def least_damping(
    discretization: Discretization, fastest: float, axis: str, column: dict[str, np.ndarray]
) -> LeastDamping | None:
    """Return the least alpha and p with which little grows beside a column, None without any.

    Args:
        discretization: of the run.
        fastest: velocity in m/s that layers are made for.
        axis: that the layer is across.
        column: earth parameters (n) by name, `SAMPLES` down each row.
    """
    trial = json.dumps(_scenario(discretization, axis, column))
    if motion_left(trial, fastest, MOST, 1.0).grows(GROWING):
        return None
    for shift in (*SHIFTS, 1.0):
        most_damped = motion_left(trial, fastest, MOST, shift)
        if shift == 1.0 or not most_damped.grows(HARMLESS_RATE):
            for p in SHARES:
                if motion_left(trial, fastest, p, shift).share <= most_damped.share + EXCESS:
                    return LeastDamping(p, shift)
    return None


@cache
def motion_left(scenario: str, fastest: float, share: float, shift: float) -> TrialMotion:
    """Run a trial whose layers damp a share of d in their outer part, with a share of alpha."""
    damping = LayerDamping(share, LATE_OF_BEDS, share, outer=True, shift=shift)
    discretization = replace(
        discretize(from_dict(json.loads(scenario))), field_damping=damping, fastest_beside=fastest
    )
    run = Simulation(discretization, CpuBackend())
    looks = []
    for _ in range(STEPS // _LOOK):
        run.advance(_LOOK)
        looks.append(float(np.abs(run.field("vx")).max()))
    largest = np.array(looks).reshape(-1, 500 // _LOOK).max(axis=1)
    return TrialMotion(largest[-1] / largest.max(), float(np.log(largest[-1] / largest[-3])))


def _scenario(
    discretization: Discretization, axis: str, column: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return the scenario of a trial run."""
    boundaries = discretization.scenario.boundaries
    h, row = (discretization.grid.spacing[AXES.index(a)] for a in (axis, "z"))
    rows = _hardest_rows(column)
    middle = (0.5 * CELLS + 0.3) * h
    depth = row * max(len(rows), LEAST_ROWS)
    rocks = [
        {name: float(column[name][n]) for name in _PARAMETERS if name in column}
        for n in range(rows.start * SAMPLES, rows.stop * SAMPLES)
    ]
    alpha = boundaries.layer.alpha
    if alpha is None:
        alpha = discretization.physics.layer_shift * discretization.dominant_frequency
    highest = min(rock["vs"] for rock in rocks) / (_LEAST_POINTS * max(h, row))
    lowest = 1.0 / (_PERIOD * discretization.clock.dt)
    frequency = min(max(discretization.dominant_frequency, lowest), highest)
    wavelet = {"type": "ricker", "frequency": frequency}
    return {
        "physics": discretization.scenario.physics,
        "grid": {
            "extent": {"x": CELLS * h, "z": depth}, "spacing": {"x": h, "z": row},
            "order": discretization.stencil.order,
        },
        # No step is longer than a wave takes to pass a cell.
        "time": {"duration": STEPS * max(h, row) / max(rock["vp"] for rock in rocks)},
        "boundaries": {
            "top": boundaries.top if rows.start == 0 else "absorbing",
            "layer": {
                "points": boundaries.layer.points, "damping": 0.0, "alpha": alpha,
                "kappa": boundaries.layer.kappa, "power": boundaries.layer.power,
                "reflection": boundaries.layer.reflection,
            },
        },
        "model": [{"type": "layers", "layers": [
            {"top": row * n / SAMPLES, **rock} for n, rock in enumerate(rocks)
            if not n or rock != rocks[n - 1]
        ]}],
        "sources": [
            {"type": "force", "position": {"x": middle, "z": share * depth},
             "force": {"x": x, "z": z}, "wavelet": wavelet}
            for share, x, z in _FORCES
        ],
        "receivers": [{"type": "points", "positions": [{"x": middle, "z": 0.5 * depth}]}],
    }  # fmt: skip


def _hardest_rows(column: dict[str, np.ndarray]) -> range:
    """Return at most `ROWS` rows of rock that have the largest jumps of the shear modulus."""
    shear = (column["rho"] * column["vs"] ** 2).reshape(-1, SAMPLES)
    solid = (shear > 0.0).all(axis=1)
    logarithm = np.log(np.where(solid, shear[:, 0], 1.0))
    jumps = np.zeros(len(shear))
    jumps[1:] = np.abs(np.diff(logarithm)) * (solid[1:] & solid[:-1])
    # Sums of jumps from each row to the end of its rock, or as far as a trial goes.
    stretch = np.cumsum(~solid)
    last = np.array([
        min(n + ROWS, np.searchsorted(stretch, stretch[n], side="right")) for n in range(len(shear))
    ])  # fmt: skip
    total = np.cumsum(jumps)
    sums = np.where(solid, total[last - 1] - total[np.arange(len(shear))], -1.0)
    first = int(sums.argmax())
    return range(first, int(last[first]))

"""Hills and canyons against an independent solution: P-SV and SH waves that they scatter.

A force under level ground beside a hill or canyon z = -height exp(-(x/width)^2); receivers on its
flanks, on top and beyond, and in the rock. The reference is the method of fundamental solutions in
the frequency domain (`curved_surface.py`). It errs by 0.05 % of a trace at worst on level ground,
against the exact solution of Lamb's problem; with other spacings its hills change by 0.1 %, and the
bottom of the canyon by 0.2 %. Three grids show the order of convergence. Last, layers that begin
two wavelengths from receivers are compared with such far away, beside the same on level ground.
"""

from __future__ import annotations

from dataclasses import dataclass

import cases
import curved_surface
import numpy as np
from scipy.interpolate import CubicSpline

from seismo.exact import metrics
from seismo.exact.medium import Medium

ROCK = Medium(3000.0, 1700.0, 2200.0)
SHORTEST = 100.0  # wavelength of S waves in m
FREQUENCY = ROCK.vs / (2.5 * SHORTEST)  # Hz
DELAY = 1.6 / FREQUENCY
FORCES = {"P-SV": np.array([0.8e9, 0.6e9]), "SH": np.array([1e9])}
COMPONENTS = {"P-SV": ("vx", "vz"), "SH": ("vy",)}
FAR, CLOSE = 9.0, 2.0  # shortest wavelengths from source and receivers to the layers
LAYER_BAR = 0.001
SAMPLINGS = (7, 10, 14)
# Of all receivers, at 10 points per wavelength.
BARS = {"P-SV": {8: 0.01, 4: 0.03}, "SH": {8: 0.002, 4: 0.006}}


@dataclass(frozen=True)
class Hill:
    """A hill, or a canyon where its height is negative; all in shortest wavelengths.

    Attributes:
        name: as rows say it.
        height, width: at x = 0 its height; at x = width 1/e of it.
        source: x, and depth below the ground.
        receivers: (receiver, 2) likewise.
    """

    name: str
    height: float
    width: float
    source: tuple[float, float] = (-7.0, 1.1)
    receivers: tuple[tuple[float, float], ...] = (
        (-4.0, 0.0), (-2.0, 0.0), (0.0, 0.0), (1.5, 0.0), (3.0, 0.0), (6.0, 0.0), (0.0, 1.3),
        (3.5, 2.2),
    )  # fmt: skip

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest x of source and receivers."""
        along = [x for x, _ in (self.source, *self.receivers)]
        return min(along), max(along)

    @property
    def duration(self) -> float:
        """Length of a run in s."""
        low, high = self.ends
        return 1.15 * (high - low) * SHORTEST / ROCK.vs + DELAY + 1.2 / FREQUENCY

    @property
    def surface(self) -> curved_surface.Surface:
        """The ground of the reference."""
        # The wavelet begins 0.6 periods late; P waves are back from the nearer end after the run.
        low, _ = self.ends
        nearest = min(abs(x) for x, _ in self.receivers if x < 0)
        reach = 0.5 * (ROCK.vp * (self.duration - 0.6 / FREQUENCY) - (low - nearest) * SHORTEST)
        feature = min(0.2, 0.1 * self.width) * SHORTEST
        return curved_surface.hill(self.height * SHORTEST, self.width * SHORTEST, reach, feature)

    def positions(self, points: tuple) -> np.ndarray:
        """Return x, z in m of points given by x and depth below the ground."""
        x, below = SHORTEST * np.array(points).T
        return np.stack([x, self.surface.depth(x) + below], axis=-1)


LEVEL = Hill("level ground", 0.0, 3.0)
HILL = Hill("hill of 27 degrees", 1.8, 3.0)
STEEP = Hill("hill of 41 degrees", 3.0, 3.0)
CANYON = Hill("canyon of 27 degrees", -1.8, 3.0)
SMALL = Hill("small hill of 27 degrees", 0.9, 1.5, (-3.0, 1.1),
             ((-1.5, 0.0), (0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (0.5, 0.7)))  # fmt: skip


def scenario(hill: Hill, kind: str, order: int, ppw: float, margin: float = FAR) -> dict:
    """Put the force and the receivers under a hill on a grid of so many points per wavelength."""
    h = SHORTEST / ppw
    first, last = hill.ends
    low = h * np.floor((first - margin) * ppw)
    wide = h * np.ceil((last + margin) * ppw) - low
    # Rows are flat four heights of the hill below.
    deep = (3.0 + 0.5 * margin + 5.0 * abs(hill.height)) * SHORTEST
    force = FORCES[kind]
    document = {
        "title": hill.name, "physics": "elastic" if kind == "P-SV" else "elastic_sh",
        "precision": "float64",
        "grid": {"extent": {"x": wide, "z": h * np.ceil(deep / h)}, "spacing": h, "order": order,
                 "origin": {"x": low}},
        "time": {"duration": hill.duration, "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "topography": {"type": "hills", "hills": [{
            "center": {"x": 0.0}, "height": hill.height * SHORTEST, "width": hill.width * SHORTEST,
        }]},
        "model": [{"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}],
        "sources": [{
            "type": "force", "position": below(hill.source),
            "force": cases.place(force) if kind == "P-SV" else {"y": force[0]},
            "wavelet": {"type": "ricker", "frequency": FREQUENCY, "delay": DELAY},
        }],
        "receivers": [{"type": "points", "quantities": ["velocity"],
                       "positions": [below(point) for point in hill.receivers]}],
    }  # fmt: skip
    if hill.height == 0:
        document["topography"] = {"type": "plane", "dip": 0.0, "through": {"x": 0.0, "z": 0.0}}
    return document


def below(point: tuple[float, float]) -> dict[str, float]:
    """Write a position by its depth below the ground."""
    return {"x": SHORTEST * point[0], "depth": SHORTEST * point[1]}


@dataclass(frozen=True)
class Reference:
    """Velocities (receiver, component, time) m/s at times (time) s of the reference."""

    times: np.ndarray
    velocities: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return them at other times: of 24 samples a shortest period, splines err by 2e-5."""
        return CubicSpline(self.times, self.velocities, axis=-1)(times)


def reference(hill: Hill, kind: str) -> Reference:
    """Solve for the waves of a hill by fundamental solutions."""
    dt = 1 / (60.0 * FREQUENCY)
    times = np.arange(np.ceil(hill.duration / dt) + 3) * dt
    phase = (np.pi * FREQUENCY * (times - DELAY)) ** 2
    velocities = curved_surface.force_response(
        hill.surface, hill.positions((hill.source,)), hill.positions(hill.receivers),
        FORCES[kind], (1 - 2 * phase) * np.exp(-phase), dt, ROCK,
    )  # fmt: skip
    return Reference(times, velocities)


def compare(
    hill: Hill, kind: str, order: int, ppw: float, wanted: Reference
) -> tuple[cases.Run, np.ndarray, np.ndarray]:
    """Run a hill; return the run, traces and wanted velocities (receiver, component, time)."""
    run = cases.simulate(scenario(hill, kind, order, ppw))
    return run, run.components(*COMPONENTS[kind]), wanted.at(run.times)


def rows_of(hill: Hill, kind: str, quick: bool) -> list[cases.Row]:
    """Compare one hill at both orders, and of some how errors fall with the spacing."""
    wanted = reference(hill, kind)
    samplings = SAMPLINGS if hill is HILL else (10,)
    rows = []
    for order in (8,) if quick else (8, 4):
        errors = []
        for ppw in samplings:
            run, traces, exact = compare(hill, kind, order, ppw, wanted)
            errors.append(metrics.relative_l2(traces, exact))
            if ppw == 10:
                rows.append(cases.Row(
                    f"{hill.name}, {kind}, all receivers", f"{ppw} ppw, order {order}", errors[-1],
                    BARS[kind][order], reference="fundamental solutions",
                ))  # fmt: skip
                if hill is HILL and order == 8:
                    draw(hill, kind, run, traces, exact)
        rows += convergence(f"{hill.name}, {kind}", order, samplings, errors)
    return rows


def convergence(name: str, order: int, samplings, errors: list[float]) -> list[cases.Row]:
    """Give the power of the spacing by which errors fall; nothing of one sampling."""
    if len(errors) == 1:
        return []
    slope = -np.polyfit(np.log(samplings), np.log(errors), 1)[0]
    sampled = f"{', '.join(map(str, samplings))} ppw, order {order}"
    return [cases.Row(
        f"{name}, order of convergence", sampled, slope, 3.0, "",
        reference="fundamental solutions", at_least=True,
    )]  # fmt: skip


def draw(hill: Hill, kind: str, run: cases.Run, traces: np.ndarray, exact: np.ndarray) -> None:
    """Draw receivers before, on and beyond a hill."""
    panels = [
        cases.Panel(f"{letter}, x = {hill.receivers[r][0]:g} wavelengths", run.times,
                    traces[r, k], exact[r, k])
        for r in (1, 2, 4) for k, letter in enumerate(COMPONENTS[kind])
    ]  # fmt: skip
    name = f"hills_{kind.replace('-', '').lower()}"
    cases.draw_traces(name, f"{kind} waves on a {hill.name}, 10 ppw", panels, "m/s")


def reflected(hill: Hill) -> float:
    """Return what layers close to a hill change, of the traces of layers far away."""
    order, ppw = 8, 10
    far, close = (
        cases.simulate(scenario(hill, "P-SV", order, ppw, margin)) for margin in (FAR, CLOSE)
    )
    names = COMPONENTS["P-SV"]
    return metrics.relative_l2(close.components(*names), far.components(*names))


def case(quick: bool) -> list[cases.Row]:
    """Compare hills and a canyon with fundamental solutions, and layers near and far."""
    if quick:
        return rows_of(SMALL, "P-SV", quick)
    rows = [
        row
        for kind in ("P-SV", "SH")
        for hill in (HILL, STEEP, CANYON)
        for row in rows_of(hill, kind, quick)
    ]
    level = reflected(LEVEL)
    for hill in (HILL, CANYON):
        rows.append(cases.Row(
            f"{hill.name}, P-SV, layers at {CLOSE:g} against {FAR:g} wavelengths "
            f"(level ground {100 * level:.2g} %)", "10 ppw, order 8", reflected(hill), LAYER_BAR,
            reference="wider grid",
        ))  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)

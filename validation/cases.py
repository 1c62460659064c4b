"""What every validation case shares: run a scenario, compare, report a row, draw a figure.

A case is a script with a function ``case(quick) -> list[Row]``. Scenarios go through the public
dicts, traces come back in absolute amplitude on the simulation's own time step, and the exact
solution is asked for exactly those times: nothing is scaled, shifted or resampled before it is
compared, unless the row says so.

Sampling is stated as points per shortest wavelength (ppw), at 2.5 times a Ricker's frequency.
Third-party data (analytic traces that others published) is read from the folder named by the
environment variable SEISMO_REFDATA; without it those rows are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.acquisition import trace_processing, wavelets
from seismo.backends.select import BackendChoice, choose
from seismo.scenario import from_dict
from seismo.solver.simulation import Simulation, build

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
FIGURES_VARIABLE = "SEISMO_VALIDATION_FIGURES"  # names another folder for the figures
COLOURS = {"exact": "0.15", "run": "#d1495b", "residual": "#2e86ab", "bar": "#edae49"}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        case: what was simulated and what was compared.
        sampling: points per wavelength, grid spacing or the like.
        error: what came out.
        bar: what it must not exceed (or, where `at_least`, fall below).
        unit: "%" prints error and bar as percentages; "" as numbers.
        peers: what other codes reach on the same problem.
        reference: what it was compared with.
        at_least: whether larger is better (an order of convergence).
    """

    case: str
    sampling: str
    error: float
    bar: float
    unit: str = "%"
    peers: str = ""
    reference: str = "closed form"
    at_least: bool = False

    @property
    def passed(self) -> bool:
        """Whether the bar is met; NaN never is."""
        return bool(self.error >= self.bar if self.at_least else self.error <= self.bar)

    def text(self, value: float) -> str:
        """Write the error or the bar."""
        return f"{100 * value:.3g} %" if self.unit == "%" else f"{value:.3g}{self.unit}"

    def line(self) -> str:
        """Write the row for a terminal."""
        sign = ">=" if self.at_least else "<="
        verdict = "pass" if self.passed else "FAIL"
        left = f"{verdict}  {self.text(self.error):>9} {sign} {self.text(self.bar):<8} {self.case}"
        return f"{left} [{self.sampling}]" + (f"  peers: {self.peers}" if self.peers else "")


@dataclass(frozen=True)
class Run:
    """A finished simulation.

    Attributes:
        traces: component -> (receiver, time) float64.
        times: (time) s, the first is 0.
        source: (time) the first source's wavelet at those times.
        simulation: the simulation itself.
        seconds: wall clock of the steps.
    """

    traces: dict[str, np.ndarray]
    times: np.ndarray
    source: np.ndarray
    simulation: Simulation
    seconds: float

    @property
    def dt(self) -> float:
        """Time step in s."""
        return self.simulation.dt

    def components(self, *names: str) -> np.ndarray:
        """Stack components as (receiver, component, time)."""
        return np.stack([self.traces[name] for name in names], axis=1)


def simulate(scenario: Mapping[str, Any], choice: BackendChoice | None = None) -> Run:
    """Run a scenario (one shot) on the fastest device there is, or one, and finish its traces."""
    simulation = build(from_dict(scenario), choice or choose())
    start = time.perf_counter()
    simulation.advance(simulation.total_steps)
    simulation.backend.wait()
    seconds = time.perf_counter() - start
    times = np.arange(simulation.steps + 1) * simulation.dt
    source = wavelets.evaluate(simulation.discretization.shots[0].sources[0].wavelet, times)
    return Run(finished_traces(simulation), times, source, simulation, seconds)


def finished_traces(simulation: Simulation, shot: int = 0) -> dict[str, np.ndarray]:
    """Turn the records of all receiver sets into traces (receiver, time) by component."""
    discretization, found = simulation.discretization, {}
    physics, removal = discretization.physics, discretization.scenario.time.dispersion_removal
    for group in discretization.groups:
        for name, (quantity, base, component) in group.components(physics).items():
            terms = physics.observables[base][component]
            late = all(physics.named(term.field).late for term in terms)
            raw = simulation.recorder.raw(shot, group.name, component).astype(float)
            found[name] = trace_processing.finish(
                raw, quantity, late, simulation.dt, simulation.steps, 1, removal
            )
    return found


def points(positions: np.ndarray, quantities: list[str], axes: str = "xz") -> dict[str, Any]:
    """Write a receiver set of points (receiver, axis) m."""
    named = [dict(zip(axes, map(float, p), strict=True)) for p in np.atleast_2d(positions)]
    return {"type": "points", "positions": named, "quantities": quantities}


def whole_space(
    title: str, rock: dict[str, float], frequency: float, offset: np.ndarray, spacing: float,
    mechanism: dict[str, Any], layer: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Put one source and one receiver, both off the nodes, in a box around them."""
    axes = "xyz" if offset.size == 3 else "xz"
    margin = 12 * spacing
    extent = [np.ceil((abs(o) + 2 * margin) / spacing) * spacing for o in offset]
    start = np.where(offset > 0, margin, np.array(extent) - margin) + 0.3 * spacing
    return {
        "title": title, "physics": "elastic", "precision": "float64",
        "grid": {"extent": place(extent, axes), "spacing": spacing, "order": 8},
        "time": {"duration": float(np.linalg.norm(offset) / rock["vs"] + 3.2 / frequency),
                 "dispersion_removal": True},
        "boundaries": {"layer": layer},
        "model": [{"type": "uniform", **rock}],
        "sources": [{**mechanism, "position": place(start, axes),
                     "wavelet": {"type": "ricker", "frequency": frequency}}],
        "receivers": [points(start + offset, ["velocity"], axes)],
    }  # fmt: skip


def forces_and_moments(dimensions: int) -> dict[str, tuple[dict, np.ndarray]]:
    """Name every force and moment component: scenario part, and vector or matrix."""
    axes = "xyz" if dimensions == 3 else "xz"
    found = {}
    for n, a in enumerate(axes):
        force = np.eye(dimensions)[n] * 1e9
        found[f"F{a}"] = ({"type": "force", "force": place(force, axes)}, force)
    for n, a in enumerate(axes):
        for m, b in enumerate(axes[n:], n):
            moment = np.zeros((dimensions, dimensions))
            moment[n, m] = moment[m, n] = 1e12
            found[f"M{a}{b}"] = (
                {"type": "moment_tensor", "components": {a + b: 1e12}, "time_function": "moment"},
                moment,
            )
    return found


def place(position: np.ndarray, axes: str = "xz") -> dict[str, float]:
    """Write a position (axis) m."""
    return dict(zip(axes, map(float, position), strict=True))


def reference_data(*names: str) -> Path | None:
    """Give the path of a third-party file, or None (and say so) where the data is absent."""
    folder = os.environ.get("SEISMO_REFDATA")
    path = Path(folder, *names) if folder else None
    if path is None or not path.exists():
        print(f"  left out: {'/'.join(names)} (set SEISMO_REFDATA to the folder of references)")
        return None
    return path


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **options: Any
) -> tuple[Figure, Any]:
    """Give a figure and its axes; only cases that draw import matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def save(figure: Figure, name: str) -> None:
    """Save a figure, small enough to be kept in the repository."""
    folder = Path(os.environ.get(FIGURES_VARIABLE, HERE / "figures"))
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=80, metadata={"Software": ""})


@dataclass(frozen=True)
class Panel:
    """One trace beside its reference: label, times (time) s, both traces (time)."""

    label: str
    times: np.ndarray
    trace: np.ndarray
    exact: np.ndarray


def draw_traces(name: str, title: str, panels: list[Panel], unit: str, columns: int = 2) -> None:
    """Draw each trace over its reference, and the difference ten times enlarged.

    Not of quick runs, which report their rows alone: it takes as long as many of them.
    """
    if "--quick" in sys.argv:
        return
    rows = -(-len(panels) // columns)
    figure, axes = subplots(
        rows, columns, figsize=(5.4 * columns, 1.9 * rows + 0.8), sharex="col", squeeze=False
    )
    for panel, axis in zip(panels, axes.flat, strict=False):
        draw_panel(axis, panel)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("time (s)")
    figure.supylabel(unit, fontsize=9)
    figure.suptitle(title, fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    save(figure, name)


def draw_panel(axis: Axes, panel: Panel) -> None:
    """Draw one trace over its reference, and the difference ten times enlarged."""
    difference = panel.trace - panel.exact
    axis.plot(panel.times, panel.exact, color=COLOURS["exact"], lw=1.8, label="exact")
    axis.plot(panel.times, panel.trace, color=COLOURS["run"], lw=0.9, ls="--", label="seismo")
    axis.plot(
        panel.times, 10 * difference, color=COLOURS["residual"], lw=0.8, label="difference x 10"
    )
    error = np.linalg.norm(difference) / np.linalg.norm(panel.exact)
    axis.set_title(f"{panel.label}: {100 * error:.2g} %", fontsize=9, loc="left")
    axis.tick_params(labelsize=8)
    axis.margins(x=0)
    axis.grid(alpha=0.25, lw=0.5)


def main(case: Callable[[bool], list[Row]]) -> None:
    """Run a case as a script; exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=(case.__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a smaller version, for a first look")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    arguments = parser.parse_args()
    start = time.perf_counter()
    rows = case(arguments.quick)
    for row in rows:
        print(row.line())
    print(f"  {time.perf_counter() - start:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows]))
    raise SystemExit(0 if all(row.passed for row in rows) else 1)

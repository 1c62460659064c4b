"""Reverse-time migration: images of contacts from observed traces and a background without them.

The waves of each source, and the observed traces sent back in time from the receivers, coincide
where waves were reflected. Their product, summed over time, is the derivative of half the squared
difference of traces by the model (Lailly 1983; Tarantola 1984). An image is its negative by the
relative change of a parameter, over the energy of the waves of all sources::

    image = -p dJ/dp / (energy / largest energy + level)

so that it is positive where observed waves ask for more than the background has. `impedance` has
p = rho at speeds that stay: the impedance kernel, which sees what is reflected and not the long
waves along all paths (Zhu, Luo, Nissen-Meyer, Morency & Tromp 2009; Douma, Yingst, Vasconcelos &
Tromp 2010). `vp` and `vs` have both; there a Laplacian takes the long waves away (Zhang & Sun
2009).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from seismo.acquisition.receivers import unit_of
from seismo.grid.grid import AXES
from seismo.inversion.imaging.preparation import ENERGY, DerivativeArrays, PreparedGradient
from seismo.inversion.imaging.results import NodeArray, squared, write_arrays
from seismo.inversion.imaging.settings import Migration
from seismo.inversion.misfits import comparison
from seismo.inversion.survey.observed import ObservedTraces, read_observed
from seismo.inversion.survey.plan import (
    PlanLines,
    gradient_text,
    lines_of_waves,
    nodes_text,
    shots_text,
    traces_text,
)
from seismo.inversion.survey.preparation import SurveyMachine
from seismo.inversion.survey.traces import BandComparison, Sections, ShotPropagator

_PARAMETERS = {"impedance": "rho", "vp": "vp", "vs": "vs"}  # of conditions


class PreparedMigration(PreparedGradient):
    """A migration that is ready to run.

    Attributes:
        traces: observed ones, and remarks on them.
    """

    noun = "image"
    settings: Migration

    def __init__(
        self, settings: Migration, make: Callable[..., ShotPropagator], machine: SurveyMachine
    ) -> None:
        """Check all that can be checked before the first step, as `PreparedGradient` does."""
        super().__init__(settings, make, machine)
        self._refuse_conditions()
        run = self.propagator.discretization
        self.traces: ObservedTraces = read_observed(settings, settings.observed, run, self.shots)
        self._refuse_silence()

    def plan_lines(self) -> PlanLines:
        """Return facts of the migration, a name and a text each."""
        propagator = self.propagator
        shots = len(self.shots)
        lines = [
            ("image", f"{', '.join(self.settings.conditions)} at {nodes_text(propagator)}"),
            ("traces", f"{traces_text(self.observed)}, {self.settings.migrate}"),
            ("shots", shots_text(propagator, shots)),
            *lines_of_waves(propagator),
            ("time", gradient_text(propagator, shots, others=1)),
            *(("note", remark) for remark in self.traces.remarks),
        ]  # fmt: skip
        if self.settings.migrate == "recorded" and self.settings.window.after is None:
            note = "no `window.after`: direct waves of the traces are migrated, too"
            lines.append(("note", note))
        return lines

    @property
    def observed(self) -> Sections:
        """Observed traces."""
        return self.traces.sections

    @cached_property
    def comparison(self) -> BandComparison:
        """Half the squared difference of traces, or half the square of observed ones."""
        compare = comparison("l2")
        if self.settings.migrate == "recorded":
            compare = partial(_of_nothing, compare)
        return BandComparison(
            self.propagator.discretization, self.observed, self.settings.window, compare,
            self.settings.low_pass,
        )  # fmt: skip

    def _refuse_silence(self) -> None:
        """Refuse observed traces without waves in the window."""
        shots = range(len(self.propagator.discretization.shots))
        windowed = self.comparison.windowed(self.observed, shots).values()
        if not any(section.any() for sections in windowed for section in sections.values()):
            raise self.settings.mistake(
                "window", problem="no observed trace has waves in it; let it begin sooner or end "
                "later, with units such as `velocity: 2 km/s`",
            )  # fmt: skip

    @property
    def needs_energy(self) -> bool:
        """The waves of all sources illuminate the image."""
        return True

    def write(self, path: Path, totals: DerivativeArrays) -> None:
        """Write images, and what they are made of."""
        energy = totals[ENERGY] / (float(totals[ENERGY].max()) or 1.0)
        unit = self._unit
        arrays: dict[str, NodeArray] = {}
        for name in self.settings.conditions:
            parameter = _PARAMETERS[name]
            raw = -self.models[parameter] * totals[parameter]
            arrays[f"unnormalised_{name}"] = NodeArray(raw, unit)
            is_filtered = bool(unit) and self.settings.filter == "laplacian"
            arrays[name] = NodeArray(self._image(raw, energy), unit + "/m^2" * is_filtered)
        arrays["illumination"] = NodeArray(energy, "1")
        write_arrays(path, self, arrays)

    def _image(self, raw: np.ndarray, energy: np.ndarray) -> np.ndarray:
        """Return an image: normalised, filtered, masked."""
        illumination = self.settings.illumination
        image = raw / (energy + illumination.level) if illumination.normalise else raw
        if self.settings.filter == "laplacian":
            grid = self.propagator.discretization.grid
            axes = [axis for axis in "zyx" if axis in grid.axes]
            image = -laplacian(image, [grid.spacing[AXES.index(axis)] for axis in axes])
        return image * self.mask

    @property
    def _unit(self) -> str:
        """The unit of squared traces; none where components differ."""
        run = self.propagator.discretization
        units = {
            unit_of(group.components(run.physics)[component][0], run.physics)
            for group in run.groups
            for component in self.observed.get(group.name, ())
        }
        return squared(units.pop()) if len(units) == 1 else ""

    def _refuse_conditions(self) -> None:
        """Refuse images by parameters that the equation lacks."""
        equation = self.scenario.equation.name
        for number, name in enumerate(self.settings.conditions):
            if _PARAMETERS[name] in self.models:
                continue
            known = [n for n, parameter in _PARAMETERS.items() if parameter in self.models]
            problem = (
                f"{name} needs {_PARAMETERS[name]}, which {equation} has not; use "
                f"{', '.join(known)}"
            )
            if name == "impedance":
                problem += (
                    " (with filter: laplacian), or an equation with density in the scenario, "
                    "which may be uniform"
                )
            # Left out, the key has no line.
            key = ("conditions", number) if "conditions" in self.settings.model_fields_set else ()
            raise self.settings.mistake(*key or ("conditions",), problem=problem)


def laplacian(array: np.ndarray, spacing: list[float]) -> np.ndarray:
    """Return the Laplacian of an array on nodes, zero across its faces.

    Args:
        array: (z, [y,] x).
        spacing: along its axes, in m.
    """
    padded = np.pad(array, 1, mode="edge")
    inner = tuple(slice(1, -1) for _ in spacing)
    total = np.zeros_like(array)
    for axis, step in enumerate(spacing):
        ahead, behind = (
            tuple(slice(ends[0], ends[1]) if a == axis else s for a, s in enumerate(inner))
            for ends in ((2, None), (0, -2))
        )
        total += (padded[ahead] - 2.0 * padded[inner] + padded[behind]) / step**2
    return total


def _of_nothing(compare: Any, predicted: Mapping[str, Any], observed: Mapping[str, Any]) -> Any:
    """Compare observed traces with none, of the shape of predicted ones."""
    zeros = {
        name: {component: np.zeros_like(section) for component, section in sections.items()}
        for name, sections in predicted.items()
    }
    return compare(zeros, observed)

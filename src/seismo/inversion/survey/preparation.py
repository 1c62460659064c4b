"""Tasks that are ready to run: their machine, and all that their numbers depend on."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seismo.backends.communicator import SerialCommunicator
from seismo.inversion.survey.batches import ShotBatches
from seismo.inversion.survey.plan import PlanLines
from seismo.inversion.survey.settings import SurveySettings
from seismo.inversion.survey.traces import Sections, ShotPropagator
from seismo.model.node_values import nodes_along
from seismo.scenario import Scenario


@dataclass(frozen=True)
class SurveyMachine:
    """Where a task runs: the options of a propagator, and the ranks that share it."""

    backend: str = "auto"
    device: int | None = None
    threads: int | None = None
    ranks: SerialCommunicator = field(default_factory=SerialCommunicator)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a propagator."""
        return {
            "backend": self.backend, "device": self.device, "threads": self.threads,
            "ranks": self.ranks,
        }  # fmt: skip


class PreparedTask(ABC):
    """A task that is ready to run.

    Attributes:
        noun: what it makes, such as "inversion".
        settings: its settings.
        machine: where it runs.
        scenario: of the waves.
        propagator: computes the waves.
    """

    noun: str
    settings: SurveySettings
    machine: SurveyMachine
    scenario: Scenario
    propagator: ShotPropagator

    @abstractmethod
    def shot_sum(self) -> ShotBatches:
        """Return the sum over the batches of shots, on all ranks."""

    @abstractmethod
    def plan_lines(self) -> PlanLines:
        """Return facts of the task before it runs, a name and a text each."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What the numbers depend on, by words for messages."""

    @property
    def identity(self) -> str:
        """The digest of the facts."""
        return hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """The coordinates in m of the nodes, by name, in the order of the arrays."""
        grid = self.propagator.discretization.grid
        return {a: nodes_along(grid, a) for a in "zyx" if a in grid.axes}

    @property
    def geometry(self) -> dict[str, np.ndarray]:
        """Positions (n, 3) m of "source" and "receiver" that have a part in it."""
        run = self.propagator.discretization
        sources = [point.position for shot in run.shots for point in shot.points]
        receivers = [group.all_positions for group in run.groups]
        return {"source": np.array(sources), "receiver": np.concatenate(receivers)}

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the results."""
        return {
            "title": self.settings.title, "identity": self.identity,
            f"{self.noun}_text": self.settings.text, self.noun: self.settings.resolved(),
            "scenario": self.scenario.to_yaml(),
        }  # fmt: skip

    def facts_with(self, **others: Any) -> dict[str, Any]:
        """Return facts of all tasks beside others, which are none of the settings' paths."""
        return {
            self.noun: self.settings.model_dump(
                mode="json", exclude={"title", "output", "observed", "scenario"}
            ),
            "scenario": self.scenario.to_yaml(),
            "kind of device": self.propagator.simulation.backend.name,
            "number of shots together": self.propagator.discretization.batch,
            **others,
        }


def digest_of(sections: Sections) -> str:
    """Return the digest of traces by set and component."""
    digest = hashlib.sha256()
    for name in sorted(sections):
        for component in sorted(sections[name]):
            digest.update(f"{name}.{component}".encode())
            digest.update(np.ascontiguousarray(sections[name][component]).tobytes())
    return digest.hexdigest()

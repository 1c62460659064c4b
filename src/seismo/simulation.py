"""From a scenario to a wavefield that steps: `build(scenario) -> Simulation`, and its loop.

    for step:
        for stage:                       # velocity, then stress
            update edges, start halos    # what neighbours wait for
            update core, finish halos
            inject sources; fill images outside the faces
        sample receivers
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seismo import decomposition
from seismo.backends.cpu import CpuBackend
from seismo.halo import Halo
from seismo.part import Part
from seismo.receivers import Recorder
from seismo.setup import Setup, prepare
from seismo.survey import Shot


class Simulation:
    """A batch of shots on the grid, ready to step."""

    def __init__(self, setup: Setup, backend: Any, parts: tuple[int, int] = (1, 1)) -> None:
        """Allocate and bind everything; see `build`."""
        self.setup, self.backend = setup, backend
        halo = setup.scenario.grid.order // 2
        subdomains = decomposition.decompose(setup.grid, halo, parts, setup.batch)
        rows = [[Part(setup, backend, s) for s in row] for row in subdomains]
        self.parts = [part for row in rows for part in row]
        self._halos = [
            [
                Halo([[p.fields for p in row] for row in rows], stage.writes, parity)
                if stage.writes
                else None
                for stage in setup.physics.stages
            ]
            for parity in (0, 1)
        ]
        self.step = 0
        self.total_steps = setup.clock.steps + setup.extra_steps
        self.recorder = Recorder(
            self.parts[0].around, [p.fields for p in self.parts], setup.groups,
            setup.scenario.grid.order, setup.scenario.grid.stencil, setup.batch, self.total_steps,
        )  # fmt: skip
        self.load(setup.shots[: setup.batch])

    @property
    def points(self) -> int:
        """Points that one step updates, absorbing layers and shots included."""
        return self.setup.grid.size * self.setup.batch

    @property
    def bytes_per_point(self) -> int:
        """Bytes a perfect kernel moves for one point and step."""
        return self.setup.physics.numbers_per_point * np.dtype(self.backend.precision).itemsize

    @property
    def dt(self) -> float:
        """Time step in s."""
        return self.setup.clock.dt

    @property
    def steps(self) -> int:
        """Steps of the wanted duration."""
        return self.setup.clock.steps

    def load(self, shots: list[Shot]) -> None:
        """Start over with other shots, at most a batch of them."""
        sources = [list(shot.sources) for shot in shots]
        for part in self.parts:
            part.fields.clear()
            part.injection.load(sources, self.total_steps)
            for stage in part.stages:
                stage.clear()
        self.recorder.clear()
        self.step = 0

    def advance(self, steps: int) -> None:
        """Take a number of steps, at most up to `total_steps`."""
        if self.step + steps > self.total_steps:
            raise ValueError(f"{self.step} + {steps} steps exceed the run's {self.total_steps}")
        swaps = self.setup.physics.swap is not None
        for _ in range(steps):
            parity = self.step % 2 if swaps else 0
            self._step(parity)
            self.recorder.sample(self.step, parity)
            self.step += 1

    def _step(self, parity: int) -> None:
        for n, stage in enumerate(self.setup.physics.stages):
            for part in self.parts:
                part.stages[n].update_edges(parity)
            halo = self._halos[parity][n]
            if halo is not None:
                halo.start()
            for part in self.parts:
                part.stages[n].update_core(parity)
            if halo is not None:
                halo.finish()
            for part in self.parts:
                part.injection.inject(stage.name, self.step, parity)
                for fill in part.images[parity][stage.name]:
                    fill()

    def field(self, name: str) -> np.ndarray:
        """Give a field (shot, z, y, x) as the last step left it, layers included."""
        swaps = self.setup.physics.swap is not None
        parity = (self.step - 1) % 2 if swaps else 0
        nx, ny, nz = self.setup.grid.points
        whole = np.empty((self.setup.batch, nz, ny, nx), self.backend.precision)
        for part in self.parts:
            (_, y0, z0), (_, y1, z1) = part.subdomain.owned.lo, part.subdomain.owned.hi
            whole[:, z0:z1, y0:y1] = part.subdomain.inside(part.fields.written(name, parity))
        return whole


def build(
    scenario: Any, *, threads: int | None = None, parts: tuple[int, int] = (1, 1)
) -> Simulation:
    """Build the simulation of a scenario's first batch of shots.

    Args:
        scenario: a checked scenario.
        threads: threads to use, all cores when None.
        parts: subdomains along z and y (the answer does not depend on it).

    Raises:
        ScenarioError: something in the scenario cannot be built.
    """
    return Simulation(prepare(scenario), CpuBackend(scenario.precision, threads), parts)

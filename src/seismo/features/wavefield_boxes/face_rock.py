"""Rock about the faces of a box, which the recorded run and the run that injects have alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seismo.features.wavefield_boxes.recorded_box import RecordedBox
from seismo.features.wavefield_boxes.source import RecordedWavefield
from seismo.model.effective import tensor
from seismo.output.run_results import RunResults
from seismo.solver.discretization import Discretization

_ALIKE = 0.01  # relative difference of rock that is taken for the same


def unlike_rock(discretization: Discretization, wavefield: RecordedWavefield) -> Iterator[str]:
    """Yield a place where rock about the faces of a box differs from that of the recorded run."""
    with wavefield.recorded.open() as results:
        if not len(results.model):
            yield (
                f"the model of {wavefield.recorded.path.name} was not written (output.model), and "
                "its rock is not compared with that of this run"
            )
            return
        for face in wavefield.recorded.faces:
            if difference := _difference(discretization, wavefield, results, face):
                problem = "the incident field is not one of this rock"
                yield f"{difference}: {problem}; keep rock that differs inside the box"
                return


def _difference(
    discretization: Discretization, wavefield: RecordedWavefield, results: RunResults, face: str
) -> str:
    """Describe a place on a face where rock differs, "" where it is the same."""
    model = results.model
    recorded_box = wavefield.recorded
    # Nodes of the recorded run on both sides of the face; under topography at their true depths.
    index = {axis: _nodes(recorded_box, face, axis, model.axes[axis]) for axis in model.axes}
    coordinates = {axis: model.axes[axis][nodes] for axis, nodes in index.items()}
    coordinates["z"] = recorded_box.ground.depths(face, coordinates["z"])
    nodes = tensor(coordinates["z"], coordinates.get("y"), coordinates["x"])
    rock = discretization.earth.as_given.sample(*nodes)
    # Of parameters that both runs have, the first place where they differ.
    for name in filter(rock.__contains__, model):
        recorded = model.values_of(name)[np.ix_(*index.values())]
        injected = np.broadcast_to(rock[name].reshape(recorded.shape), recorded.shape)
        # Relative to the larger of both.
        larger = np.maximum(np.abs(recorded), np.abs(injected))
        unlike = np.argwhere(np.abs(injected - recorded) > _ALIKE * larger)
        if unlike.size:
            first = tuple(unlike[0])
            position = ", ".join(
                f"{axis} = {coordinates[axis][number]:.6g} m"
                for axis, number in zip(index, first, strict=True)
            )
            return (
                f"{position}, on face {face} of box {recorded_box.name}, {name} is "
                f"{injected[first]:.6g}, and {recorded[first]:.6g} where it was recorded"
            )
    return ""


def _nodes(recorded: RecordedBox, face: str, axis: str, ticks: np.ndarray) -> np.ndarray:
    """Return the numbers of nodes (n) at coordinates (m) in m that lie about a face."""
    low, high = (int(np.abs(ticks - end).argmin()) for end in recorded.ends[axis])
    # Along the face all nodes of the box, across it the last outside and the first inside.
    if axis != face[0]:
        return np.arange(low, high + 1)
    return np.array([low - 1, low]) if face.endswith("min") else np.array([high, high + 1])

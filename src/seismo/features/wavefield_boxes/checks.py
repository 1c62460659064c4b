"""Lines of `seismo check` about recorded and injected boxes, and runs that they do not suit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from seismo.features.wavefield_boxes.face_ground import LEVEL, face_ground
from seismo.features.wavefield_boxes.face_rock import unlike_rock
from seismo.features.wavefield_boxes.recording import box_of, every_steps, recorded_width
from seismo.features.wavefield_boxes.shell import GridBox
from seismo.features.wavefield_boxes.source import RecordedWavefield, reach, recorded_wavefields
from seismo.grid.grid import AXES
from seismo.runs.prediction.lines import Check, Report, WarningLines
from seismo.solver.discretization import Discretization

READ = 5  # points about a position from which fields are read, half points among them


def refuse(discretization: Discretization) -> None:
    """Raise ScenarioError where boxes do not go with a run."""
    scenario = discretization.scenario
    if scenario.in_16_bits:
        problem = "boxes are of fields in 32 or 64 bits: give float32"
        raise scenario.mistake("precision", problem=problem)
    # Boxes that are recorded are refused where they are cut.
    for number, section in enumerate(scenario.output.boxes):
        for problem in _crossed(
            discretization, box_of(discretization, section), recorded_width(discretization)
        ):
            raise scenario.mistake("output", "boxes", number, "box", problem=problem)
    _ = discretization.series
    for wavefield in recorded_wavefields(discretization):
        number = discretization.shots[0].points.index(wavefield)
        for problem in _misfits(discretization, wavefield):
            raise scenario.mistake("sources", number, "box", problem=problem)


def _misfits(discretization: Discretization, wavefield: RecordedWavefield) -> Iterator[str]:
    """Yield why the box of a wavefield does not fit a run."""
    if misfit := wavefield.box.misfits(discretization.grid, reach(discretization)):
        yield misfit
    yield from _crossed(discretization, wavefield.box, reach(discretization))
    yield from _unlike_tops(discretization, wavefield)


def _crossed(discretization: Discretization, box: GridBox, width: int) -> Iterator[str]:
    """Yield why faces of a box, with so many rows on either side, may not lie where they do."""
    grid = discretization.grid
    # Corrections of rows beside a fluid are no part of formulas.
    for contact in discretization.slips.corrected:
        if box.first[2] - width <= contact.z_index <= box.last[2] + width:
            depth = float(grid.coordinate("z", contact.z_index))
            yield (
                f"a contact of fluid and solid at z = {depth:.6g} m crosses its faces, or is "
                "too near: keep the box above or below it"
            )
    try:
        face_ground(discretization, box, width)
    except ValueError as error:
        yield str(error)


def _unlike_tops(discretization: Discretization, wavefield: RecordedWavefield) -> Iterator[str]:
    """Yield why a box that is open to a free surface does not fit this run's."""
    recorded = wavefield.recorded
    if "z_min" in recorded.faces:
        return
    grid = discretization.grid
    top = float(grid.coordinate("z", grid.extent.lo[2]))
    ground = face_ground(discretization, wavefield.box, reach(discretization))
    is_free = discretization.scenario.boundaries.top == "free_surface"
    for face in recorded.faces:
        if face[0] == "z":
            continue
        surface = recorded.ground.surface(face, recorded.first["z"])
        distance = abs(ground.surface(face, top) - surface)
        if distance > LEVEL * grid.spacing[2] or not is_free:
            yield (
                f"is open to a free surface at z = {surface:g} m, where this run has none about "
                f"{face}: begin the grid, or its ground, there, with boundaries.top: free_surface"
            )


def receivers_outside(discretization: Discretization) -> WarningLines:
    """Name receivers and maps with points outside a box, where they show scattered waves."""
    for wavefield in recorded_wavefields(discretization):
        lie = f"outside the box of wavefield {wavefield.name} or within {READ} points of its faces"
        remedy = "where scattered waves alone are recorded: move them inside"
        for group in discretization.groups:
            if outside := group.count_where(partial(_outside, discretization, wavefield.box)):
                yield f"receivers {group.name}: {outside} lie {lie}, {remedy}"
        for map_ in discretization.maps:
            if _outside(discretization, wavefield.box, map_.cut.corners).any():
                yield f"maps {map_.name}: reach {lie}, where they show scattered waves alone"


def rock_about(discretization: Discretization) -> WarningLines:
    """Name wavefields about whose boxes rock is not that of the recorded run."""
    for wavefield in recorded_wavefields(discretization):
        for difference in unlike_rock(discretization, wavefield):
            yield f"wavefield {wavefield.name}: {difference}"


def sources_inside(discretization: Discretization) -> WarningLines:
    """Name sources in boxes that are recorded: these cannot be injected."""
    for section in discretization.scenario.output.boxes:
        box = box_of(discretization, section)
        for source in discretization.shots[0].sources:
            position = np.array([source.position])
            if source.is_local and not _outside(discretization, box, position, 0).any():
                yield (
                    f"output.boxes {section.name}: source {source.name} lies in it, and a "
                    "wavefield is injected from boxes beside its sources: move one of them"
                )


def _outside(
    discretization: Discretization, box: GridBox, positions: np.ndarray, margin: int = READ
) -> np.ndarray:
    """Return which positions (n, 3) in m have points outside a box, so many within its faces."""
    outside = np.zeros(len(positions), bool)
    for face in box.faces:
        a = AXES.index(face[0])
        index = discretization.grid.index(face[0], positions[:, a])
        beyond = box.first[a] - index if face.endswith("min") else index - box.last[a]
        outside |= beyond > -margin
    return outside


def box_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield a line for each box that is recorded."""
    for section in discretization.scenario.output.boxes:
        box = box_of(discretization, section)
        steps = every_steps(discretization, section)
        yield (
            "box",
            f"{section.name}: {_extent(discretization, box)}, fields of "
            f"{2 * recorded_width(discretization)} rows about {len(box.faces)} faces, "
            f"{'in every step' if steps == 1 else f'every {steps} steps'}",
        )


def wavefield_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield a line for each wavefield that is injected."""
    for wavefield in recorded_wavefields(discretization):
        recorded = wavefield.recorded
        yield (
            "wavefield",
            f"{wavefield.name}: box {recorded.name} of {recorded.path.name}; all motion within "
            f"{_extent(discretization, wavefield.box)}, outside what is scattered alone",
        )


def _extent(discretization: Discretization, box: GridBox) -> str:
    """Format the ends of a box."""
    grid = discretization.grid
    texts = []
    for axis in grid.axes:
        a = AXES.index(axis)
        low, high = grid.coordinate(axis, np.array([box.first[a], box.last[a]]))
        texts.append(f"{axis} = {low:.6g} to {high:.6g} m")
    return ", ".join(texts)


CHECKS = (
    Check("places", rock_about),
    Check("places", receivers_outside),
    Check("places", sources_inside),
)
REPORTS = (Report("sources", wavefield_facts), Report("sources", box_facts))

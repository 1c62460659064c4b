"""What the run of a plane wave has to be: layered earth about its box, over a half-space.

The incident wave is that of the earth without what is inside of the box. About it, as far as
differences reach inwards and as far as the grid goes outwards, rock may vary with depth alone, and
from the bottom of the box on not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from seismo.features.plane_waves.plane_wave import (
    LEAST_MARGIN,
    PlaneWave,
    WaveBox,
    rock_below,
    wave_box,
)
from seismo.grid.grid import AXES
from seismo.model.effective.averaging import effective_medium
from seismo.model.effective.cells import GridCells

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

_ALIKE = 1e-6  # relative difference of averages that are equal
_ISOTROPIC = ("vp", "vs", "rho", "qp", "qs")


def plane_waves(discretization: Discretization) -> list[PlaneWave]:
    """Return the plane waves of a run."""
    return [
        wave for shot in discretization.shots for wave in shot.points if isinstance(wave, PlaneWave)
    ]


def box_of(discretization: Discretization, wave: PlaneWave) -> WaveBox:
    """Return the box of a plane wave in a run."""
    faces = discretization.scenario.boundaries
    level = [
        a
        for a in discretization.grid.axes
        if a != "z" and getattr(faces, f"{a}_min") == "absorbing"
    ]
    return wave_box(discretization.grid, wave.margin, "".join(level))


def refuse_background(discretization: Discretization) -> None:
    """Raise ScenarioError where the earth about the box of a plane wave will not do."""
    for wave in plane_waves(discretization):
        number = discretization.shots[0].points.index(wave)
        for key, problem in _problems(discretization, wave):
            raise discretization.scenario.mistake("sources", number, *key, problem=problem)


def _problems(
    discretization: Discretization, wave: PlaneWave
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield keys of the source and what is wrong."""
    box = box_of(discretization, wave)
    grid = discretization.grid
    # Points between the box and the layers, which differences of the highest order reach.
    for axis in box.faces:
        a = AXES.index(axis)
        ends = (box.first[a] - grid.low[a], grid.points[a] - 1 - grid.high[a] - box.last[a])
        least = min(ends) if axis != "z" else ends[1]
        if least < LEAST_MARGIN:
            needed = LEAST_MARGIN * grid.edge(axis, box.last[a])
            yield ("margin",), f"less than {LEAST_MARGIN} points along {axis}: give {needed:g} m"
            return
        if box.last[a] - box.first[a] <= discretization.stencil.order:
            problem = f"leaves no more than {discretization.stencil.order} points of the box along"
            yield ("margin",), f"{problem} {axis}: make it smaller, or grid.extent.{axis} larger"
            return
    # The half-space is one of equal rows.
    heights = grid.heights(np.arange(box.last[2], grid.points[2]))
    if not np.allclose(heights, heights[-1], rtol=_ALIKE, atol=0.0):
        problem = "rows still grow there, and a plane wave comes from rows of one height"
        yield (
            ("margin",),
            f"{problem}: end their growth above its box with a list in grid.spacing.z",
        )
        return
    if discretization.slips.corrected:
        depth = float(grid.coordinate("z", discretization.slips.corrected[0].z_index))
        problem = f"fluid meets solid at z = {depth:.6g} m of the layered earth"
        yield ("type",), f"{problem}, where plane waves are not known: use solids alone"
        return
    # Polarisation and dispersion of the incident wave are those of isotropic rock.
    below = rock_below(discretization.earth, grid)
    odd = [name for name, value in below.items() if name not in _ISOTROPIC and value != 0.0]
    if odd or not below.get("vs"):
        rock = f"rock with {', '.join(odd)}" if odd else "a fluid"
        yield ("type",), f"comes from isotropic solid rock, and the bottom of the model is {rock}"
        return
    yield from _uneven(discretization, box)


def _uneven(discretization: Discretization, box: WaveBox) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where rock about the box differs from that of its first corner.

    The ends of the extent are left out: cells there have half the samples of others, and only what
    the box scatters comes there.
    """
    grid = discretization.grid
    reach = discretization.stencil.order // 2
    inner = {"z": np.arange(grid.extent.lo[2], grid.extent.hi[2])}
    corner = {}
    for a, axis in enumerate("xy"):
        ends = int(axis in grid.axes)
        inner[axis] = np.arange(grid.extent.lo[a] + ends, grid.extent.hi[a] - ends)
        corner[axis] = np.array([max(box.first[a], inner[axis][0])])
    column = _averages(discretization, {**inner, **corner})
    # From the bottom of the box on, one rock.
    bottom = box.last[2] - grid.extent.lo[2]
    for numbers in column.values():
        rows = np.flatnonzero(
            ~np.isclose(numbers[bottom:], numbers[-1:], rtol=_ALIKE, atol=0.0).all((1, 2))
        )
        if rows.size:
            z = float(grid.coordinate("z", inner["z"][bottom + rows[-1]]))
            depth = float(grid.coordinate("z", box.last[2]))
            yield (
                ("margin",),
                f"its box ends at z = {depth:.6g} m, and below rock still changes at {z:.6g} m: "
                "the wave comes from a half-space; make grid.extent.z larger, or margin smaller",
            )
            return
    if discretization.earth.layered:
        return
    # Slabs of nodes about each face, outwards to the ends of the grid.
    for axis in box.faces:
        a = AXES.index(axis)
        along = inner[axis]
        about = along[along > box.last[a] - reach]
        if axis != "z":
            about = np.concatenate([along[along < box.first[a] + reach], about])
        there = _averages(discretization, {**inner, axis: about})
        for name, numbers in there.items():
            wanted = column[name] if axis != "z" else column[name][about - inner["z"][0]]
            alike = np.isclose(numbers, wanted, rtol=_ALIKE, atol=0.0)
            if not alike.all():
                z, y, x = np.argwhere(~alike)[0]
                index = {**inner, axis: about}
                yield (
                    ("margin",),
                    _difference(discretization, box, index["z"][z], index["y"][y], index["x"][x]),
                )
                return


def _averages(
    discretization: Discretization, index: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the averages (z, y, x) about nodes of the grid."""
    grid = discretization.grid
    z, x = (grid.coordinate(a, index[a]) for a in "zx")
    y = grid.coordinate("y", index["y"]) if grid.dimensions == 3 else None
    averages = effective_medium(
        discretization.earth,
        GridCells(z, y, x, grid.cells),
        discretization.physics.medium,
        discretization.scenario.averaging,
    )
    shape = (z.size, 1 if y is None else y.size, x.size)
    arrays = {k: v[:, None, :] if v.ndim == 2 else v for k, v in averages.items()}
    return {name: np.broadcast_to(array, shape) for name, array in arrays.items()}


def _difference(discretization: Discretization, box: WaveBox, z: int, y: int, x: int) -> str:
    """Describe a node whose rock differs from that of the box's corner."""
    grid = discretization.grid
    at = {"x": x, "y": y, "z": z}
    position = ", ".join(f"{a} = {float(grid.coordinate(a, at[a])):.6g} m" for a in grid.axes)
    reach = discretization.stencil.order // 2
    within = []
    for axis in box.faces:
        a = AXES.index(axis)
        low, high = grid.coordinate(axis, [box.first[a] + reach, box.last[a] - reach])
        within.append(
            f"{axis} = {low:.6g} to {high:.6g} m" if axis != "z" else f"above z = {high:.6g} m"
        )
    return (
        f"about its box the earth may vary with depth alone, and the rock at {position} is not "
        f"that of its corner; keep what varies within {', '.join(within)}, or enlarge grid.extent"
    )

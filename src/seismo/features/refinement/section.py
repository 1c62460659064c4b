"""Refinement of the grid above a plane: the rules of its key."""

from __future__ import annotations

from seismo.features.refinement.operators import FACTOR
from seismo.scenario.draft import Draft
from seismo.scenario.quantities import Mistake, Mistakes
from seismo.scenario.sections.receivers import FibreReceivers

_WHOLE = 1e-6  # of a cell, by which a length may miss whole cells


def refinement(draft: Draft) -> Mistakes:
    """Check that the region of a refinement is whole cells, and refuse incompatible keys."""
    if draft.grid is None or not draft.grid.refinement:
        return
    path = ("grid", "refinement")
    if len(draft.grid.planes) > 1:
        yield Mistake((*path, 1), "there is one plane at most: leave it out")
    if draft.grid.is_open and draft.grid.planes:
        yield Mistake(
            (*path, 0, "below"),
            "is a plane of a grid whose spacing is not chosen yet: give grid.spacing, or "
            "refinement: auto",
        )
    if draft.grid.grows:
        yield Mistake(
            ("grid", "spacing", "z"), "grows, and refined grids have one height each: use a length"
        )
    for axis in "xyz":
        spacing = draft.grid.at_top(axis)
        length = getattr(draft.grid.extent, axis)
        if spacing is None or length is None:
            continue
        cells = length / (FACTOR * spacing)
        if abs(cells - round(cells)) > _WHOLE:
            wanted = max(1, round(cells)) * FACTOR * spacing
            yield Mistake(
                ("grid", "extent", axis), f"is {length:g} m, and the spacing below the plane is "
                f"{FACTOR * spacing:g} m: use a multiple of it, such as {wanted:g} m",
            )  # fmt: skip
    yield from _faces(draft)
    yield from _not_together(draft)


def _faces(draft: Draft) -> Mistakes:
    """Check the faces: side faces go through the plane."""
    if draft.boundaries is not None and draft.boundaries.top == "periodic":
        problem = "does not go with grid.refinement: use free_surface, rigid or absorbing"
        yield Mistake(("boundaries", "top"), problem)
    for axis in "xy":
        for face in (f"{axis}_min", f"{axis}_max"):
            if draft.boundaries is not None and getattr(draft.boundaries, face) == "rigid":
                yield Mistake(
                    ("boundaries", face),
                    "goes through a plane of refinement, which needs absorbing or periodic sides",
                )


def _not_together(draft: Draft) -> Mistakes:
    """Refuse keys that do not go together with a refinement."""
    for index, source in enumerate(draft.sources or ()):
        if source is not None and source.type == "plane_wave":
            yield Mistake(
                ("sources", index, "type"),
                "does not go with grid.refinement: use other sources, or leave that out",
            )
    for index, group in enumerate(draft.receivers or ()):
        if group is not None and (isinstance(group, FibreReceivers) or group.moves):
            yield Mistake(
                ("receivers", index, "type"),
                "fibres and receivers that move do not go with grid.refinement: use points, or "
                "leave that out",
            )
    if draft.grid is not None and draft.grid.decomposition != "auto":
        along_z, along_y = draft.grid.decomposition
        if along_z > 1:
            most = along_z * along_y if draft.grid.extent.y is not None else 1
            yield Mistake(
                ("grid", "decomposition"),
                f"refined grids are cut along y alone: use [1, {most}], or auto",
            )


RULES = {"lines": (refinement,)}

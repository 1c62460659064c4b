"""Rules that follow from the wave equation: which sources, traces, fields and properties it has.

The tables say what each equation offers, in one place, so that a new equation adds a line to each.
"""

from __future__ import annotations

from typing import Any

from seismo.scenario import units
from seismo.scenario.base import Mistake, Path
from seismo.scenario.model_parts import LayersPart, TablePart
from seismo.scenario.rules import Draft, Found
from seismo.scenario.sources import FRAMES, ForceSource, MomentTensorSource
from seismo.scenario.suggestions import nearest

PHYSICS = ("acoustic", "acoustic_variable_density", "elastic", "elastic_sh")
_MOTION = ("velocity", "displacement", "acceleration")
QUANTITIES: dict[str, tuple[str, ...]] = {
    "acoustic": ("pressure",),
    "acoustic_variable_density": ("pressure", *_MOTION, "divergence"),
    "elastic": (*_MOTION, "pressure", "stress", "divergence", "rotation"),
    "elastic_sh": (*_MOTION, "stress"),
}
DEFAULT_QUANTITIES = {
    "acoustic": ("pressure",),
    "acoustic_variable_density": ("pressure",),
    "elastic": ("velocity",),
    "elastic_sh": ("velocity",),
}
SOURCE_TYPES: dict[str, tuple[str, ...]] = {
    "acoustic": ("pressure", "explosion"),
    "acoustic_variable_density": ("pressure", "volume_rate", "explosion", "force"),
    "elastic": ("force", "moment_tensor", "explosion", "pressure", "volume_rate"),
    "elastic_sh": ("force", "moment_tensor"),
}
NEEDED_PROPERTIES: dict[str, tuple[str, ...]] = {
    "acoustic": ("vp",),
    "acoustic_variable_density": ("vp", "rho"),
    "elastic": ("vp", "vs", "rho"),
    "elastic_sh": ("vs", "rho"),
}
_FIELDS = {
    ("acoustic", 2): ("p",),
    ("acoustic", 3): ("p",),
    ("acoustic_variable_density", 2): ("p", "vx", "vz"),
    ("acoustic_variable_density", 3): ("p", "vx", "vy", "vz"),
    ("elastic", 2): ("vx", "vz", "sxx", "szz", "sxz"),
    ("elastic", 3): ("vx", "vy", "vz", "sxx", "syy", "szz", "sxy", "sxz", "syz"),
    ("elastic_sh", 2): ("vy", "sxy", "syz"),
}
_FIELD_GROUPS = {
    "acoustic": ("pressure",),
    "acoustic_variable_density": ("velocity", "pressure"),
    "elastic": ("velocity", "pressure"),
    "elastic_sh": ("velocity",),
}
_PEAKS = ("pgv", "pga")
_PER_METRE = {"pressure": units.PRESSURE_STRENGTH, "volume_rate": units.VOLUME_RATE}
_SUGGESTED = 100  # entries of a list for which the likeliest meaning is looked for
_WHOLE_GRID = ("uniform", "layers", "gradient", "table", "file")


def fields(physics: str, dimensions: int) -> tuple[str, ...]:
    """Return the names that snapshots may ask for, groups such as ``velocity`` last."""
    return _FIELDS.get((physics, dimensions), ()) + _FIELD_GROUPS[physics]


def dimension(draft: Draft) -> Found:
    """Check that the wave equation exists in the dimension of the grid."""
    if draft.physics == "elastic_sh" and draft.dimensions == 3:
        yield Mistake(
            ("physics",), "SH waves are 2-D: leave out grid.extent.y, or use physics: elastic"
        )


def sources(draft: Draft) -> Found:
    """Check the types of sources, and the directions that the equation lacks."""
    if draft.physics is None:
        return
    types = SOURCE_TYPES[draft.physics]
    for index, source in enumerate(draft.sources or ()):
        path: Path = ("sources", index)
        if source is not None and source.type not in types:
            yield Mistake(
                (*path, "type"), f"physics {draft.physics} has the sources {', '.join(types)}"
            )
        elif isinstance(source, ForceSource):
            yield from _force(draft, path, source)
        elif isinstance(source, MomentTensorSource):
            yield from _tensor(draft, path, source)


def amounts(dimensions: int, data: dict[str, Any]) -> Found:
    """Check the units of what a 2-D run has per metre of y, in the data of a sound scenario."""
    for index, source in enumerate(data["sources"]):
        amount = source.get("amplitude")
        dimension = _PER_METRE.get(source["type"])
        if dimension and isinstance(amount, str) and not units.fits(amount, dimension, dimensions):
            needed = dimension.offers[3 - dimensions]
            yield Mistake(
                ("sources", index, "amplitude"),
                f"a {dimensions}-D run needs {needed}" + " (per metre of y)" * (dimensions == 2),
            )


def _force(draft: Draft, path: Path, source: ForceSource) -> Found:
    if draft.physics == "elastic_sh":
        for axis in ("x", "z"):
            if getattr(source.force, axis) != 0.0:
                yield Mistake(
                    (*path, "force", axis), "SH waves move along y only: leave it out, give y"
                )
    elif draft.dimensions == 2 and source.force.y != 0.0:
        remedy = "use physics: elastic_sh, or leave it out"
        yield Mistake((*path, "force", "y"), f"a 2-D run has no motion along y: {remedy}")


def _tensor(draft: Draft, path: Path, source: MomentTensorSource) -> Found:
    if source.components is None:
        if draft.physics == "elastic_sh":
            problem = "SH waves take components xy and yz: give these instead of the angles"
            yield Mistake((*path, "strike"), problem)
        return
    names = FRAMES[source.frame]
    given = tuple(type(source.components).model_fields)
    if given != names:
        problem = (
            f"frame {source.frame} has the components {', '.join(names)}, not {', '.join(given)}"
        )
        yield Mistake((*path, "components"), f"{problem}; change the frame or the names")
        return
    nonzero = [name for name in names if getattr(source.components, name) != 0.0]
    if not nonzero:
        yield Mistake(
            (*path, "components"), f"the moment tensor is zero: give one of {', '.join(names)}"
        )
    if draft.physics == "elastic_sh" and source.frame != "aki_richards":
        yield Mistake(
            (*path, "frame"), "SH waves take frame: aki_richards with the components xy and yz"
        )
    elif draft.physics == "elastic_sh":
        for name in nonzero:
            if name not in ("xy", "yz"):
                problem = "SH waves are moved by xy and yz only: leave it out"
                yield Mistake((*path, "components", name), problem)
    elif draft.dimensions == 2 and source.frame == "aki_richards":
        for name in nonzero:
            if name in ("xy", "yz"):
                problem = "a 2-D run has no shear with y: use physics: elastic_sh, or leave it out"
                yield Mistake((*path, "components", name), problem)


def receivers(draft: Draft) -> Found:
    """Check that the equation has what each set of receivers records."""
    if draft.physics is None:
        return
    known = QUANTITIES[draft.physics]
    offers = f"physics {draft.physics} records"
    for index, group in enumerate(draft.receivers or ()):
        names = (group and group.quantities) or ()
        yield from _listed(("receivers", index, "quantities"), names, known, offers)


def cuts(draft: Draft) -> Found:
    """Check what snapshots and maps show, and their places."""
    if draft.output is None or draft.dimensions is None:
        return
    for key, listed, offered in (("snapshots", "fields", fields), ("maps", "quantities", peaks)):
        for index, entry in enumerate(getattr(draft.output, key)):
            path = ("output", key, index)
            names = getattr(entry, listed)
            known = offered(draft.physics, draft.dimensions) if draft.physics else names
            offers = f"physics {draft.physics} in {draft.dimensions}-D has the {listed}"
            yield from _listed((*path, listed), names, known, offers)
            yield from _cut(draft, path, entry)


def peaks(physics: str, dimensions: int) -> tuple[str, ...]:
    """Return what maps may show: fields, and peaks of motion where the equation has velocities."""
    own = fields(physics, dimensions)
    motions = [name[1:] for name in own if name in ("vx", "vy", "vz")]
    level = ["horizontal"] if set(motions) & {"x", "y"} else []
    words = [peak + tail for tail in ("", *(f"_{t}" for t in level + motions)) for peak in _PEAKS]
    return tuple(n for n in own if n != "velocity") + (tuple(words) if motions else ())


def _listed(path: Path, names: tuple[str, ...], known: tuple[str, ...], offers: str) -> Found:
    """Check that each name is known and stands in a list but once."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name not in known:
            hint = (_of_others(name) or nearest(name, known)) if number < _SUGGESTED else ""
            yield Mistake((*path, number), f"{offers} {', '.join(known)}{hint}")
        elif name in seen:
            yield Mistake((*path, number), "listed twice: keep one")
        seen.add(name)


def _of_others(name: str) -> str:
    """Describe which equations have the field of a name, of those that not all have."""
    found = [f"{physics} in {n}-D" for (physics, n), own in _FIELDS.items() if name in own]
    return f"; {name} is a field of physics {', '.join(found)}" if found else ""


def _cut(draft: Draft, path: Path, entry: Any) -> Found:
    """Check that a plane is asked of a 3-D run only, and that it and the box lie in the grid."""
    if entry.plane is not None and draft.dimensions == 2:
        yield Mistake((*path, "plane"), "a 2-D run is one plane already: leave it out")
    elif entry.plane is not None:
        for axis in "xyz":
            yield from _inside(draft, (*path, "plane", axis), axis, getattr(entry.plane, axis))
    for axis in "xyz" if entry.box is not None else "":
        place = (*path, "box", axis)
        ends = getattr(entry.box, axis)
        if ends is not None and axis == "y" and draft.dimensions == 2:
            yield Mistake(place, "a 2-D run has no y: leave it out")
        elif ends is not None:
            yield from next(filter(None, (list(_inside(draft, place, axis, e)) for e in ends)), ())


def _inside(draft: Draft, path: Path, axis: str, value: float | None) -> Found:
    low = getattr(draft.grid.origin, axis) if draft.grid else 0.0
    length = getattr(draft.grid.extent, axis) if draft.grid else None
    if value is not None and length is not None and not low <= value <= low + length:
        problem = f"outside the grid: {axis} from {low:g} m to {low + length:g} m; move it inside"
        yield Mistake(path, problem)


def properties(draft: Draft) -> Found:
    """Check that every property of the equation is given over the whole grid."""
    if draft.physics is None or not draft.model or any(part is None for part in draft.model):
        return
    for key in NEEDED_PROPERTIES[draft.physics]:
        gaps = [gap for index, part in enumerate(draft.model) for gap in _gaps(index, part, key)]
        if any(part.type in _WHOLE_GRID and _gives(part, key) for part in draft.model):
            continue
        remedy = (
            f"missing: physics {draft.physics} needs {key} over the whole grid; no part gives it"
        )
        for gap in gaps or [("model", 0, key)]:
            yield Mistake(gap, f"{remedy}; add {key} here")


def _gives(part: Any, key: str) -> bool:
    if isinstance(part, LayersPart):
        return all(getattr(layer, key) is not None for layer in part.layers)
    return isinstance(part, TablePart) or getattr(part, key) is not None


def _gaps(index: int, part: Any, key: str) -> list[Path]:
    """Return where a part that could give `key` everywhere does not."""
    if isinstance(part, LayersPart):
        missing = [
            number for number, layer in enumerate(part.layers) if getattr(layer, key) is None
        ]
        return [("model", index, "layers", number, key) for number in missing]
    return [("model", index, key)] if part.type in _WHOLE_GRID and not _gives(part, key) else []

"""Rules that follow from the wave equation: which sources, traces, fields and properties it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from seismo.equations.framework.registry import (
    EQUATIONS,
    VARIANTS,
    equation_for,
    physics_for,
)
from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath, ScenarioError
from seismo.scenario import units
from seismo.scenario.mistakes.draft import Draft
from seismo.scenario.mistakes.suggestions import closest_match
from seismo.scenario.quantities import Mistake
from seismo.scenario.rules.between_sections import Mistakes
from seismo.scenario.sections.grid import ground_of
from seismo.scenario.sections.receivers import ALONG_FIBRES
from seismo.scenario.sections.sources import (
    FRAMES,
    ForceSource,
    MomentTensorSource,
    PlaneWaveSource,
)

_PEAKS = ("pgv", "pga", "sa")
_PER_METRE = {"pressure": units.PRESSURE_STRENGTH, "volume_rate": units.VOLUME_RATE}
_SUGGESTED = 100  # entries of a list for which the likeliest meaning is looked for


def table_of(draft: Draft) -> Physics | None:
    """Return the table of a scenario's wave equation, in a dimension that it exists in."""
    equation = draft.equation
    if equation is None:
        return None
    known = equation.dimensions
    dimensions = draft.dimensions if draft.dimensions in known else known[0]
    return physics_for(equation.name, dimensions, draft.options.get(equation.name))


def _others(dimensions: int, suits: Callable[[Physics], bool]) -> str:
    """Name the equations whose table in so many dimensions will do."""
    return ", ".join(
        name for name, n in VARIANTS if n == dimensions and suits(physics_for(name, n))
    )


def dimension(draft: Draft) -> Mistakes:
    """Check that the wave equation exists in the dimension of the grid."""
    if draft.physics is None or draft.dimensions is None:
        return
    known = EQUATIONS[draft.physics]
    if draft.dimensions not in known.dimensions:
        change = "leave out grid.extent.y" if draft.dimensions == 3 else "give grid.extent.y"
        others = _others(draft.dimensions, lambda other: set(known.needs) <= set(other.needs))
        remedy = f"{change}, or use physics: {others}" if others else change
        yield Mistake(("physics",), f"is {known.dimensions[0]}-D only: {remedy}")


def combination(draft: Draft) -> Mistakes:
    """Check that an equation takes all that the model gives."""
    if draft.physics is None or not draft.model or None in draft.model:
        return
    try:
        equation_for(draft.physics, None, draft.required)
    except ScenarioError as error:
        yield Mistake(("physics",), str(error))


def options(draft: Draft) -> Mistakes:
    """Check that options are those of the wave equation."""
    equation = draft.equation
    if equation is None:
        return
    for name in draft.options:
        if equation.name != name:
            yield Mistake((name,), f"options of physics {name}, not {equation.name}: leave it out")


def attenuation(draft: Draft) -> Mistakes:
    """Check that something attenuates where it is said how."""
    equation = draft.equation
    unread = draft.model is None or None in draft.model  # may hold what attenuates
    if equation and draft.attenuation and not equation.attenuates and not unread:
        problem = "the model gives no quality factor that the waves feel: add qp or qs"
        yield Mistake(("attenuation",), f"{problem}, or leave it out")
    if equation is None or draft.attenuation is None or draft.attenuation.relaxation is None:
        return
    moduli = set(draft.attenuation.relaxation.times)
    for wave, other in ("ps", "sp"):
        if moduli == {wave} and f"q{wave}" not in equation.needs:
            problem = f"physics {draft.physics} has no {wave.upper()} waves: give {other}"
            yield Mistake(("attenuation", "relaxation", wave), problem)


def sources(draft: Draft) -> Mistakes:
    """Check the types of sources, and the directions that the equation lacks."""
    table = table_of(draft)
    if table is None:
        return
    for index, source in enumerate(draft.sources or ()):
        path: KeyPath = ("sources", index)
        if isinstance(source, PlaneWaveSource):
            yield from _plane_wave(draft, table, path, source)
        elif source is not None and getattr(source, "acts_as", source.type) not in table.drives:
            offers = ", ".join(table.drives)
            yield Mistake((*path, "type"), f"physics {draft.physics} has the sources {offers}")
        elif isinstance(source, ForceSource):
            yield from _force(draft, table, path, source)
        elif isinstance(source, MomentTensorSource):
            yield from _tensor(draft, table, path, source)


def _plane_wave(draft: Draft, table: Physics, path: KeyPath, source: PlaneWaveSource) -> Mistakes:
    """Check that the equation has such waves, and that the boundaries let them in."""
    plane_waves = _plane_waves(table)
    if source.wave not in plane_waves:
        others = _others(len(table.axes), lambda other: source.wave in _plane_waves(other))
        which = ", ".join(plane_waves)
        has = f"has plane waves {which} from below" if which else "has no plane waves from below"
        remedy = f"; physics {others} has {source.wave}" if others else ""
        yield Mistake(
            (*path, "wave"), f"physics {draft.physics} in {draft.dimensions}-D {has}{remedy}"
        )
    if draft.dimensions == 2 and source.azimuth not in (None, 0.0, 180.0, -180.0):
        yield Mistake((*path, "azimuth"), "a 2-D run has waves along x alone: give 0 or 180 deg")
    if draft.survey is not None:
        yield Mistake(("survey",), "moves its source, and a plane wave has no place: leave it out")
    faces = draft.boundaries
    if faces is None:
        return
    if faces.top != "free_surface":
        yield Mistake(("boundaries", "top"), "plane waves from below need a free_surface")
    if faces.bottom != "absorbing":
        yield Mistake(("boundaries", "bottom"), "plane waves come through it: make it absorbing")
    for axis in "xy"[: (draft.dimensions or 2) - 1]:
        face = f"{axis}_min"
        if getattr(faces, face) == "rigid" or getattr(faces, f"{axis}_max") == "rigid":
            yield Mistake(("boundaries", face), "reflects plane waves: make both sides absorbing")
        elif getattr(faces, face) == "periodic" and source.incidence != 0.0:
            problem = "lets through waves straight up alone: use incidence: 0 deg, or absorbing"
            yield Mistake(("boundaries", face), problem)


def _plane_waves(table: Physics) -> tuple[str, ...]:
    """Return the plane waves of an equation with staggered differences and closed rows."""
    if table.differences != "first" or table.interpolates or not table.closes_surface:
        return ()
    names = {field.name for field in table.fields}
    waves = ("P", "SV") if {"vx", "vz"} <= names else ()
    return (*waves, "SH") if "vy" in names else waves


def amounts(dimensions: int | None, data: dict[str, Any]) -> Mistakes:
    """Check the units of what a 2-D run has per metre of y, in the data of a scenario."""
    sources_as_written = data.get("sources")
    if dimensions is None or not isinstance(sources_as_written, list):
        return
    for index, source in enumerate(sources_as_written):
        if not isinstance(source, dict):
            continue
        amount = source.get("amplitude")
        dimension = _PER_METRE.get(str(source.get("type")))
        if dimension and isinstance(amount, str) and not units.fits(amount, dimension, dimensions):
            needed = dimension.offers[3 - dimensions]
            yield Mistake(
                ("sources", index, "amplitude"),
                f"a {dimensions}-D run needs {needed}" + " (per metre of y)" * (dimensions == 2),
            )


def _force(draft: Draft, table: Physics, path: KeyPath, source: ForceSource) -> Mistakes:
    for axis in "xyz" if draft.dimensions else "":
        if axis not in table.components("force") and getattr(source.force, axis) != 0.0:
            yield Mistake((*path, "force", axis), _motionless(draft, table, "force", axis))


def _motionless(draft: Draft, table: Physics, kind: str, component: str) -> str:
    """Describe what a component of a source does nothing to, and which equations it moves."""
    taken = ", ".join(table.components(kind))
    others = _others(len(table.axes), lambda other: component in other.components(kind))
    remedy = f"leave it out, or use physics: {others}" if others else "leave it out"
    return f"physics {draft.physics} in {len(table.axes)}-D is moved by {taken} only: {remedy}"


def _tensor(draft: Draft, table: Physics, path: KeyPath, source: MomentTensorSource) -> Mistakes:
    taken = table.components("moment_tensor")
    normal = any(name[0] == name[1] for name in taken)
    if source.components is None:
        if not normal:
            problem = f"physics {draft.physics} takes the components {', '.join(taken)}: give these"
            yield Mistake((*path, "strike"), f"{problem} instead of the angles")
        return
    names = FRAMES[source.frame]
    given_names = tuple(type(source.components).model_fields)
    if given_names != names:
        expected = f"frame {source.frame} has the components {', '.join(names)}"
        problem = f"{expected}, not {', '.join(given_names)}"
        yield Mistake((*path, "components"), f"{problem}; change the frame or the names")
        return
    nonzero = [name for name in names if getattr(source.components, name) != 0.0]
    if not nonzero:
        yield Mistake(
            (*path, "components"), f"the moment tensor is zero: give one of {', '.join(names)}"
        )
    if source.frame == "aki_richards":
        # Along y nothing changes in the plane: myy acts on nothing there, and is a tensor's all
        # the same.
        lost = (n for n in nonzero if n not in taken and not (normal and n[0] == n[1]))
        for name in lost if draft.dimensions else ():
            problem = _motionless(draft, table, "moment_tensor", name)
            yield Mistake((*path, "components", name), problem)
    elif not normal:
        problem = f"physics {draft.physics} takes frame: aki_richards with the components"
        yield Mistake((*path, "frame"), f"{problem} {', '.join(taken)}")


def receivers(draft: Draft) -> Mistakes:
    """Check that the equation has what each set of receivers records."""
    table = table_of(draft)
    if table is None:
        return
    known = table.quantities
    offers = f"physics {draft.physics} records"
    for index, group in enumerate(draft.receivers or ()):
        names = (group and group.quantities) or ()
        if group is not None and group.type == "fibre":
            yield from _along_fibre(draft, table, ("receivers", index), names)
            continue
        yield from _listed(("receivers", index, "quantities"), names, known, offers)


def _along_fibre(draft: Draft, table: Physics, path: KeyPath, names: tuple[str, ...]) -> Mistakes:
    """Check that a fibre records its strain, and the equation has the motion that strains it."""
    yield from _listed((*path, "quantities"), names, ALONG_FIBRES, "a fibre records")
    moving = table.observables.get("velocity", {})
    if any(f"v{axis}" not in moving for axis in table.axes):
        problem = f"physics {draft.physics} has no motion along a fibre: use physics elastic"
        if table.fields[0].name == "p":
            problem += ", or give rho in the model"
        yield Mistake((*path, "type"), problem)


def cuts(draft: Draft) -> Mistakes:
    """Check what snapshots and maps show, and their places."""
    if draft.output is None or draft.dimensions is None:
        return
    table = table_of(draft)
    shown = table and {"fields": table.shown, "quantities": peaks(table)}
    for key, listed in (("snapshots", "fields"), ("maps", "quantities")):
        for index, entry in enumerate(getattr(draft.output, key)):
            if entry is None:
                continue
            path = ("output", key, index)
            names = getattr(entry, listed)
            known = shown[listed] if shown else names
            offers = f"physics {draft.physics} in {draft.dimensions}-D has the {listed}"
            yield from _listed((*path, listed), names, known, offers)
            yield from _cut(draft, path, entry)


def peaks(table: Physics) -> tuple[str, ...]:
    """Return what maps may show: fields, and peaks of motion where the equation has velocities."""
    field_names = table.shown
    motions = [name[1:] for name in field_names if name in ("vx", "vy", "vz")]
    level = ["horizontal"] if set(motions) & {"x", "y"} else []
    level += ["rotd50", "rotd100"] if {"x", "y"} <= set(motions) else []
    words = [peak + tail for tail in ("", *(f"_{t}" for t in level + motions)) for peak in _PEAKS]
    return tuple(n for n in field_names if n != "velocity") + (tuple(words) if motions else ())


def _listed(path: KeyPath, names: tuple[str, ...], known: tuple[str, ...], offers: str) -> Mistakes:
    """Check that each name is known and stands in a list but once."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name not in known:
            hint = ""
            if number < _SUGGESTED:
                hint = _of_others(name) or closest_match(name, known, remarks=False).text
            yield Mistake((*path, number), f"{offers} {', '.join(known)}{hint}")
        elif name in seen:
            yield Mistake((*path, number), "listed twice: keep one")
        seen.add(name)


def _of_others(name: str) -> str:
    """Describe which equations have the field of a name, of those that not all have."""
    equations = ", ".join(
        f"{physics} in {n}-D"
        for physics, n in VARIANTS
        if any(f.name == name and not f.previous_of for f in physics_for(physics, n).fields)
    )
    return f"; {name} is a field of physics {equations}" if equations else ""


def _cut(draft: Draft, path: KeyPath, entry: Any) -> Mistakes:
    """Check that a plane and a box lie in the grid; maps of a 2-D run are lines on a plane."""
    if entry.plane is not None and draft.dimensions == 2 and path[1] == "snapshots":
        problem = "snapshots of a 2-D run are of one plane already: leave it out, or give a box"
        yield Mistake((*path, "plane"), problem)
    elif entry.plane is not None and draft.dimensions == 2 and entry.plane.y is not None:
        yield Mistake((*path, "plane", "y"), "a 2-D run has no y: give depth, z or x")
    elif entry.plane is not None:
        for axis in "xyz":
            yield from _inside(draft, (*path, "plane", axis), axis, getattr(entry.plane, axis))
        yield from _deep(draft, (*path, "plane", "depth"), (entry.plane.depth,))
    if entry.box is not None:
        yield from _deep(draft, (*path, "box", "depth"), entry.box.depth or ())
    for axis in "xyz" if entry.box is not None else "":
        axis_path = (*path, "box", axis)
        ends = getattr(entry.box, axis)
        if ends is not None and axis == "y" and draft.dimensions == 2:
            yield Mistake(axis_path, "a 2-D run has no y: leave it out")
        elif ends is not None and getattr(entry.plane, axis, None) is not None:
            yield Mistake(axis_path, f"the plane has one {axis}: leave it out")
        elif ends is not None:
            yield from next(
                filter(None, (list(_inside(draft, axis_path, axis, e)) for e in ends)), ()
            )


def _deep(draft: Draft, path: KeyPath, depths: Iterable[float | None]) -> Mistakes:
    """Check that depths below the ground lie in the grid."""
    limits = draft.limits("z")
    for depth in depths:
        if limits and draft.boundaries and depth is not None:
            z = ground_of(limits[0], draft.boundaries.top) + depth
            yield from _inside(draft, path, "z", z)


def _inside(draft: Draft, path: KeyPath, axis: str, value: float | None) -> Mistakes:
    limits = draft.limits(axis)
    if value is not None and limits is not None and not limits[0] <= value <= limits[1]:
        low, high = limits
        problem = f"outside the grid: {axis} from {low:g} m to {high:g} m; move it inside"
        yield Mistake(path, problem)

"""Plane waves from below: their section of a scenario, with its rules."""

from __future__ import annotations

from typing import ClassVar, Literal

from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath
from seismo.scenario.draft import Draft, equations_with
from seismo.scenario.quantities import (
    Angle,
    Field,
    Incidence,
    Mistake,
    Mistakes,
    Name,
    ParticleVelocity,
    PositiveLength,
    TimeFromZero,
)
from seismo.scenario.sections.sources import AddedSource, SourceSection
from seismo.scenario.sections.wavelet import Wavelet


class PlaneWaveSource(SourceSection):
    """A plane wave from below, in a layered earth over a half-space."""

    is_driven: ClassVar[bool] = False
    type: Literal["plane_wave"]
    name: Name | None = Field(None, description="name in messages and results")
    wave: Literal["P", "SV", "SH"] = Field(description="what comes up in the half-space")
    incidence: Incidence = Field(
        0.0, description="angle of its direction in the half-space from the vertical"
    )
    azimuth: Angle | None = Field(
        None,
        description="horizontal direction in which it goes, clockwise from north at the middle of "
        "the grid (from +x without `geographic`); in 2-D 0 or 180 deg",
    )
    amplitude: ParticleVelocity = Field(
        1.0, description="factor on the wavelet: particle velocity in the half-space, m/s"
    )
    wavelet: Wavelet = Field(description="particle velocity against time")
    delay: TimeFromZero = Field(
        0.0,
        description="time added to the wavelet's own, which begins half a dominant period after "
        "t = 0 where the wave comes to its box first",
    )
    margin: PositiveLength | None = Field(
        None,
        description="from the ends of grid.extent, but for the top, to the box in which the run "
        "has the total motion; default: 12 points",
    )

    def mistakes(self, draft: Draft, table: Physics, path: KeyPath) -> Mistakes:
        """Check that the equation has such waves, and that the boundaries let them in."""
        plane_waves = _plane_waves(table)
        if self.wave not in plane_waves:
            others = equations_with(len(table.axes), lambda other: self.wave in _plane_waves(other))
            which = ", ".join(plane_waves)
            has = (
                f"has plane waves {which} from below" if which else "has no plane waves from below"
            )
            remedy = f"; physics {others} has {self.wave}" if others else ""
            yield Mistake(
                (*path, "wave"), f"physics {draft.physics} in {draft.dimensions}-D {has}{remedy}"
            )
        if draft.dimensions == 2 and self.azimuth not in (None, 0.0, 180.0, -180.0):
            yield Mistake(
                (*path, "azimuth"), "a 2-D run has waves along x alone: give 0 or 180 deg"
            )
        if draft.survey is not None:
            yield Mistake(
                ("survey",), "moves its source, and a plane wave has no place: leave it out"
            )
        faces = draft.boundaries
        if faces is None:
            return
        if faces.top != "free_surface":
            yield Mistake(("boundaries", "top"), "plane waves from below need a free_surface")
        if faces.bottom != "absorbing":
            yield Mistake(
                ("boundaries", "bottom"), "plane waves come through it: make it absorbing"
            )
        for axis in "xy"[: (draft.dimensions or 2) - 1]:
            face = f"{axis}_min"
            if getattr(faces, face) == "rigid" or getattr(faces, f"{axis}_max") == "rigid":
                yield Mistake(
                    ("boundaries", face), "reflects plane waves: make both sides absorbing"
                )
            elif getattr(faces, face) == "periodic" and self.incidence != 0.0:
                problem = "lets through waves straight up alone: use incidence: 0 deg, or absorbing"
                yield Mistake(("boundaries", face), problem)


def _plane_waves(table: Physics) -> tuple[str, ...]:
    """Return the plane waves of an equation with staggered differences and closed rows."""
    if table.differences != "first" or table.interpolates or not table.closes_surface:
        return ()
    names = {field.name for field in table.fields}
    waves = ("P", "SV") if {"vx", "vz"} <= names else ()
    return (*waves, "SH") if "vy" in names else waves


SOURCE = AddedSource(PlaneWaveSource, after="moment_tensor")

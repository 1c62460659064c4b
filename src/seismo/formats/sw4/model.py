"""The earth of an SW4 input: blocks painted over each other, and files, in their order.

Blocks that reach over the whole grid make layers up to the first block that does not; later blocks,
and blocks with sides, are blocks here, too, or, with a gradient, text models of SPECFEM. A property
p of a block is p + pgrad d, at the depth d below z = 0 or, with topography, below the ground (not
below the top of the block; SW4's MaterialBlock.C). `absdepth` counts depths from z = 0 over
topography, too. `globalmaterial` raises smaller velocities of all blocks and files: max(vmin, v + g
d), which is linear on either side of the depth where it begins to act.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

from seismo.errors import ScenarioError
from seismo.formats.converted_run import ConvertedRun, short
from seismo.formats.sw4.ground import InputCommand

_PROPERTIES = ("vp", "vs", "rho", "qp", "qs")
_GRADIENTS = ("vpgrad", "vsgrad", "rhograd")
_CONSTANT = re.compile("c[1-6][1-6]")
_SIDES = ("x1", "x2", "y1", "y2", "z1", "z2")
_FILES = {"rfile": "rfile", "sfile": "sfile", "gmg": "geomodelgrids"}  # command: format
_SW4_NAMES = {"vp": "Cp", "vs": "Cs", "rho": "Rho", "qp": "Qp", "qs": "Qs"}
_VARIABLES = {  # of files, by format
    "rfile": _SW4_NAMES,
    "sfile": _SW4_NAMES,
    "geomodelgrids": {"vp": "Vp", "vs": "Vs", "rho": "density", "qp": "Qp", "qs": "Qs"},
}

Linear = tuple[float, float]  # at z = 0, and its change per metre


@dataclass
class ColumnInterval:
    """An interval of depth (m) and its properties at z from the blocks, by name."""

    top: float
    bottom: float
    properties: dict[str, Linear] = field(default_factory=dict)


@dataclass
class ModelPainter:
    """The model as it grows with the commands of the input.

    Attributes:
        run: that is converted.
        size: x, y, z of the grid in m.
        attenuates: whether SW4 uses qp and qs.
        least: smallest vp and vs (`globalmaterial`) in m/s.
        crs: of sfiles: the projection of the input.
        on_ground: whether depths of blocks count from ground that is not level.
    """

    run: ConvertedRun
    size: tuple[float, float, float]
    attenuates: bool
    least: dict[str, float]
    crs: str = ""
    on_ground: bool = False
    column: list[ColumnInterval] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    intervals_of_bodies: list[ColumnInterval] = field(default_factory=list)

    def paint_block(self, command: InputCommand) -> None:
        """Add a block, as layers or as a body.

        Raises:
            ScenarioError: an option is no number.
        """
        properties = self._properties(command)
        limits = self._limits(command)
        for key in command.beyond({*_PROPERTIES, *_GRADIENTS, *_SIDES, "absdepth"}):
            reason = "blocks have no such option here"
            self.run.leave_out(command.label_of(key), reason, alters=True)
        interval = (limits.get("z1", -math.inf), limits.get("z2", math.inf))
        if interval[0] >= self.size[2] or interval[1] <= 0.0:
            self.run.leave_out(command.label, "this block lies outside the grid")
            return
        is_absolute = command.options.get("absdepth", "0") in ("1", "true", "yes")
        in_column = not (self.bodies or not self._covers(limits))
        varies = any(slope for _, slope in properties.values()) or limits.keys() & {"z1", "z2"}
        if self.on_ground and varies and in_column == is_absolute:
            kind = "layers count from the ground" if in_column else "bodies count from z = 0"
            self.run.leave_out(command.label, f"depths of {kind} here", alters=True)
        if in_column:
            self._add_to_column(properties, interval)
        else:
            self._add_bodies(properties, limits)

    def paint_constants(self, command: InputCommand) -> None:
        """Add an anisotropic block: constants on the axes of the grid, 0 if left out.

        Raises:
            ScenarioError: an option is no number.
        """
        known = [key for key in command.options if key == "rho" or _CONSTANT.fullmatch(key)]
        limits = self._limits(command)
        for key in command.beyond({*known, *_SIDES}):
            reason = "anisotropic blocks have no such option here"
            self.run.leave_out(command.label_of(key), reason, alters=True)
        axes = "z" if self._covers(limits) else "xyz"
        sides = {
            axis: [short(limits.get(f"{axis}1", 0.0)), short(limits.get(f"{axis}2", length))]
            for axis, length in self._reach.items()
            if axis in axes and limits.keys() & {f"{axis}1", f"{axis}2"}
        }
        if self.on_ground and "z" in sides:
            self.run.leave_out(command.label, "depths of bodies count from z = 0 here", alters=True)
        kind = {"type": "block", **sides} if sides else {"type": "uniform"}
        self.bodies.append(kind | {key: short(command.number(key)) for key in known})

    def add_file(self, command: InputCommand, exists: Callable[[str], Any]) -> None:
        """Add a model file.

        Args:
            command: of the input.
            exists: function(path of the input) -> path for the scenario; remarks if it is missing.
        """
        kind = _FILES[command.name]
        if not command.has("filename", "file"):
            raise ScenarioError(f"{command.where}: {command.name}: missing filename=")
        name = command.options.get("filename") or command.options["file"]
        folder = command.options.get("directory", "")
        path = f"{folder.rstrip('/')}/{name}" if folder else name
        body: dict[str, Any] = {"type": "volume", "path": exists(path), "format": kind}
        variables = _VARIABLES[kind]
        body |= {key: variables[key] for key in _PROPERTIES[: 5 if self.attenuates else 3]}
        if kind == "sfile" and self.crs:
            body["crs"] = self.crs
        elif kind == "sfile":
            self.run.leave_out(
                command.label,
                "the line `grid` gives no proj, and an sfile does not say its own: add crs, such "
                "as '+proj=tmerc +datum=WGS84 +units=m +lon_0=-123 +lat_0=35'",
            )
        # Air and water have no values in these files; values of the rock below go on there.
        if self.least:
            body["minimum"] = dict(self.least)
        body["missing"] = "column"
        body["outside"] = "keep" if self.column else "nearest"
        self.bodies.append(body)
        for key in command.beyond({"filename", "file", "directory"}):
            self.run.leave_out(command.label_of(key), "files have no such option here")

    def parts_of_model(self) -> list[dict[str, Any]]:
        """Return the parts of the scenario's model.

        Raises:
            ScenarioError: no block reaches a depth.
        """
        if not self.column:
            first = self.bodies[0] if self.bodies else {}
            if first.get("outside") != "nearest" and first.get("type") != "uniform":
                raise ScenarioError(
                    f"{self.run.source}: no block reaches over the whole grid: the model is not "
                    "complete; add one with vp, vs and rho as the first"
                )
            return self.bodies
        layers = []
        for interval in self.column:
            # The first layer continues upwards, the last downwards.
            top = max(interval.top, 0.0)
            bottom = min(interval.bottom, self.size[2])
            if bottom > top:
                for span in self._limited(ColumnInterval(top, bottom, interval.properties)):
                    layers.append(self._layer(span, span.top))
        section: dict[str, Any] = {"type": "layers"}
        if self.on_ground:
            section["relative_to"] = "ground"
        return [{**section, "layers": _joined(layers)}, *self.bodies]

    def fastest(self) -> float:
        """Return the largest sqrt(vp^2 + 2 vs^2) of blocks in m/s, which SW4's step is of."""
        ends = [
            {name: value + slope * z for name, (value, slope) in interval.properties.items()}
            for interval in (*self.column, *self.intervals_of_bodies)
            for z in (max(interval.top, 0.0), min(interval.bottom, self.size[2]))
        ]
        return max(
            (math.sqrt(end.get("vp", 0.0) ** 2 + 2.0 * end.get("vs", 0.0) ** 2) for end in ends),
            default=0.0,
        )

    def _properties(self, command: InputCommand) -> dict[str, Linear]:
        properties = {}
        for name in _PROPERTIES:
            value = command.number(name, -1.0)
            # SW4 keeps earlier values where a block has no value, or a negative value.
            if value < 0.0:
                continue
            if name in ("qp", "qs") and not self.attenuates:
                self.run.leave_out(
                    command.label_of(name),
                    "without a line `attenuation` SW4 does not use it; the medium is lossless",
                )
                continue
            slope = 0.0 if name in ("qp", "qs") else command.number(f"{name}grad", 0.0)
            properties[name] = (value, slope)
        return properties

    def _limited(self, interval: ColumnInterval) -> list[ColumnInterval]:
        """Return the parts of an interval in which no, or every, velocity is below the least."""
        crossings = {
            (self.least[name] - value) / slope
            for name, (value, slope) in interval.properties.items()
            if name in self.least and slope
        }
        inside = sorted(z for z in crossings if interval.top < z < interval.bottom)
        intervals = []
        for top, bottom in pairwise([interval.top, *inside, interval.bottom]):
            properties = dict(interval.properties)
            for name in self.least.keys() & properties.keys():
                value, slope = properties[name]
                if value + 0.5 * slope * (top + bottom) < self.least[name]:
                    properties[name] = (self.least[name], 0.0)
            intervals.append(ColumnInterval(top, bottom, properties))
        return intervals

    @property
    def _reach(self) -> dict[str, float]:
        """Extents in m of the grid, which mesh refinement may enlarge beyond SW4's, by axis."""
        return {axis: float(length) for axis, length in self.run.sections["grid"]["extent"].items()}

    def _limits(self, command: InputCommand) -> dict[str, float]:
        """Return the sides of a block, except sides at or beyond the far ends of SW4's grid."""
        limits = {key: command.number(key) for key in _SIDES if command.has(key)}
        ends = {f"{axis}2": length for axis, length in zip("xyz", self.size, strict=True)}
        return {key: side for key, side in limits.items() if side < ends.get(key, math.inf)}

    def _covers(self, limits: dict[str, float]) -> bool:
        return all(
            limits.get(f"{axis}1", 0.0) <= 0.0 and limits.get(f"{axis}2", length) >= length
            for axis, length in zip("xy", self.size[:2], strict=True)
        )

    def _add_to_column(self, properties: dict[str, Linear], interval: tuple[float, float]) -> None:
        if not self.column:
            self.column = [ColumnInterval(-math.inf, math.inf)]
        low, high = interval
        split: list[ColumnInterval] = []
        for old in self.column:
            cuts = [old.top, *(z for z in (low, high) if old.top < z < old.bottom), old.bottom]
            for top, bottom in pairwise(cuts):
                inside = low <= top and bottom <= high
                now = old.properties | (properties if inside else {})
                split.append(ColumnInterval(top, bottom, now))
        self.column = split

    def _layer(self, interval: ColumnInterval, top: float) -> dict[str, Any]:
        properties = interval.properties
        if missing := [name for name in ("vp", "vs", "rho") if name not in properties]:
            if self.bodies:
                return {}
            raise ScenarioError(
                f"{self.run.source}: no block gives {', '.join(missing)} below z = {top:g} m; add "
                "it to the block there"
            )
        layer: dict[str, Any] = {"top": short(top)}
        for name, (value, slope) in properties.items():
            layer[name] = short(value + slope * top)
            if slope:
                layer[f"{name}_gradient"] = short(slope)
        return layer

    def _add_bodies(self, properties: dict[str, Linear], limits: dict[str, float]) -> None:
        """Add a block with sides, cut where `globalmaterial` begins to act."""
        sides: dict[str, Any] = {}
        for axis, length in self._reach.items():
            if axis != "z" and (f"{axis}1" in limits or f"{axis}2" in limits):
                first = limits.get(f"{axis}1", 0.0)
                sides[axis] = [short(first), short(limits.get(f"{axis}2", length))]
        low = limits.get("z1", 0.0)
        high = limits.get("z2", self._reach["z"])
        self.intervals_of_bodies.append(ColumnInterval(low, high, properties))
        intervals = self._limited(self.intervals_of_bodies[-1])
        for span in intervals:
            if not span.properties:
                continue
            ends = [short(span.top), short(span.bottom)]
            if any(slope for _, slope in span.properties.values()):
                self.bodies.append(self._graded(span, sides))
            else:
                depths = {"z": ends} if len(intervals) > 1 or limits.keys() & {"z1", "z2"} else {}
                rock = {name: short(value) for name, (value, _) in span.properties.items()}
                self.bodies.append({"type": "block", **sides, **depths, **rock})

    def _graded(self, span: ColumnInterval, sides: dict[str, Any]) -> dict[str, Any]:
        """Return a body whose properties change linearly with depth: a model of eight points."""
        x, y = (sides.get(axis, [0.0, self._reach[axis]]) for axis in "xy")
        ticks = (x, y, (-span.bottom, -span.top))
        lines = [
            " ".join(f"{axis[0]:.12g}" for axis in ticks)
            + " "
            + " ".join(f"{axis[1]:.12g}" for axis in ticks),
            " ".join(f"{axis[1] - axis[0]:.12g}" for axis in ticks),
            "2 2 2",
            "0 0 0 0 0 0",
        ]
        for z, north, east in product(*reversed(ticks)):
            properties = [
                value - slope * z
                for value, slope in (span.properties.get(n, (0.0, 0.0)) for n in _PROPERTIES)
            ]
            lines.append(" ".join(f"{number:.12g}" for number in (east, north, z, *properties)))
        number = 1 + sum(body.get("format") == "specfem" for body in self.bodies)
        name = self.run.add_side_file(f"body{number}.xyz", ("\n".join(lines) + "\n").encode())
        names = {key: key for key in span.properties}
        return {"type": "volume", "path": name, "format": "specfem", **names, "outside": "keep"}


def _joined(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return layers without continuations of the layer above."""
    kept: list[dict[str, Any]] = []
    for layer in filter(None, layers):
        same = kept and {k: v for k, v in layer.items() if k != "top"} == {
            k: v for k, v in kept[-1].items() if k != "top"
        }
        gradients = any(key.endswith("_gradient") for key in layer)
        if not same or gradients:
            kept.append(layer)
    return kept

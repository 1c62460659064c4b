"""Declarations of wave equations: name, parameters, tables, cost.

Whatever follows from the tables is derived there (`seismo.equations.framework.table.Physics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from seismo.equations.framework.parameters import Parameter
from seismo.equations.framework.table import Physics


@dataclass(frozen=True)
class LayeredWaves:
    """The P-SV waves equal to an equation's waves where the earth varies with depth only.

    The error of contacts of layers is computed from these
    (`seismo.runs.prediction.contacts.scattering`).

    Attributes:
        averages: that `moduli` takes (see `seismo.model.effective.averaging`).
        medium: function(*parameters of the equation) -> vp, vs and rho of the P-SV medium.
        parameters: function(vp, vs, rho) -> parameters of the equation, the inverse of that.
        moduli: function(*averages) -> c11, c13, c33, c44, rho_x, rho_z on the nodes.
        rigid_surface: whether W vanishes on a free surface, instead of the stresses.
    """

    averages: tuple[str, ...]
    medium: Callable
    parameters: Callable
    moduli: Callable
    rigid_surface: bool = False

    def with_further(self, *defaults: float) -> LayeredWaves:
        """Return the waves of an equation with further parameters, which do not affect them."""
        # Further parameters are appended; these waves do not depend on them.
        original = self
        count = len(defaults)
        return replace(
            self,
            medium=lambda *parameters: original.medium(*parameters[:-count]),
            parameters=lambda vp, vs, rho: (*original.parameters(vp, vs, rho), *defaults),
        )


@dataclass(frozen=True)
class StoredEnergy:
    """Energy that fields store at points of a cell: half a symmetric form of them.

    In a closed box without sources the sum over all cells is constant, to rounding. Where
    velocities stand half a step later than other fields it is kinetic energy, rho v^2 / 2 at
    n + 1/2, and half the forms of the fields at n and n + 1. Where an equation is of second order
    in time it is half the difference of the forms of (n, n) and (n - 1, n + 1).

    Attributes:
        half: the axes along which the points lie half a cell further.
        entries: function(mean) -> the factors of the products of fields at the points, by both
            names; mean(name) is a coefficient averaged from the nodes to the points.
        response: the same of the inverse of the form, where the form may be singular; None where it
            never is.
    """

    half: str
    entries: Callable[[Callable[[str], Any]], dict[tuple[str, str], Any]]
    response: Callable[[Callable[[str], Any]], dict[tuple[str, str], Any]] | None = None


@dataclass(frozen=True)
class Collar:
    """Another medium in absorbing layers, where waves of the medium itself would grow.

    Attributes:
        points: of the layers, at their inner side, in which the medium changes and nothing damps.
        change: function(coefficients, share) -> coefficients, with a share from 0, where the medium
            is as given, to 1, where layers damp.
    """

    points: int
    change: Callable


@dataclass(frozen=True)
class Equation:
    """One wave equation; the `EQUATION` of its module.

    Attributes:
        name: value of `physics` in a scenario, unless it extends another.
        parameters: that it takes of the earth model.
        instead: further ones, which parts of the model may give in their place; its tables convert
            them (`seismo.equations.framework.parameters.Conversion`).
        tables: function(axes, options) -> its table along "xz" or "xyz".
        options: a frozen pydantic model in SI, all of whose keys have defaults: a section of the
            scenario, with the name of the equation.
        dimensions: numbers of dimensions that it exists in.
        also_called: names that other programs have for it, in lower case.
        nanoseconds: by backend and dimensions, how long a core computes on a point outside
            absorbing layers, at order 8 (`seismo.runs.resources.speed`).
        bandwidth_share: by backend and dimensions, the share of the bandwidth that it reaches.
        layered: its waves in horizontal layers as P-SV waves; without, `check` estimates contact
            errors as if the earth varied sideways.
        extends: name of the equation in whose place it is taken where the model gives its further
            parameters (`seismo.equations.framework.registry.equation_for`).
        beside_layers: replacement of its medium in absorbing layers.
        sloping: function(table, options) -> its table under ground that slopes, from that over flat
            ground; None where these are the same, or its waves do not go with it.
        energy: function(axes) -> the energy of its fields (`StoredEnergy`), if conserved to
            rounding, else None.
    """

    name: str
    parameters: tuple[Parameter, ...]
    tables: Callable[[str, Any], Physics]
    instead: tuple[Parameter, ...] = ()
    options: type[BaseModel] | None = None
    dimensions: tuple[int, ...] = (2, 3)
    also_called: tuple[str, ...] = ()
    nanoseconds: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    bandwidth_share: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    layered: LayeredWaves | None = None
    extends: str = ""
    beside_layers: Collar | None = None
    energy: Callable[[str], tuple[StoredEnergy, ...]] | None = None
    sloping: Callable[[Physics, Any], Physics] | None = None

    def attenuating(
        self, name: str, tables: Callable[[str, Any], Physics], *quality: Parameter, **changes: Any
    ) -> Equation:
        """Return the equation of these waves in rock that attenuates, where the model gives Q.

        Args:
            name: of it.
            tables: function(axes, relaxation) -> its table.
            quality: parameters of the loss, infinite without any.
            changes: further declarations that differ.
        """
        layered = self.layered and self.layered.with_further(*(math.inf for _ in quality))
        plain = replace(
            self, name=name, parameters=(*self.parameters, *quality), tables=tables,
            extends=self.extends or self.name, also_called=(), nanoseconds={}, bandwidth_share={},
            layered=layered, energy=None,
        )  # fmt: skip
        return replace(plain, **changes)

    @property
    def waves_in_layers(self) -> LayeredWaves:
        """Return `layered` of an equation that has it.

        Raises:
            TypeError: it has no such waves.
        """
        if self.layered is None:
            raise TypeError(f"the equation {self.name} does not declare its waves in layers")
        return self.layered

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of its parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of all parameters that the model may give."""
        return (*self.needs, *(parameter.name for parameter in self.instead))

    @property
    def attenuates(self) -> bool:
        """Whether its waves lose energy: `tables` is then called with a `Relaxation`."""
        return bool({"qp", "qs"} & set(self.needs))

    @property
    def default_quantities(self) -> tuple[str, ...]:
        """What receivers record where the scenario does not say: the first of its quantities."""
        return self.physics(self.dimensions[0]).quantities[:1]

    def physics(self, dimensions: int, options: Any = None, slopes: bool = False) -> Physics:
        """Return its table in 2 or 3 dimensions, with its default options when None.

        `slopes`: that under ground that slopes.
        """
        if options is None and self.options is not None:
            options = self.options()
        # Fields that stages read as new stand half a step later.
        table = self.tables("xyz" if dimensions == 3 else "xz", options)
        if slopes and self.sloping:
            table = self.sloping(table, options)
        fields = tuple(replace(field, late=field.name in table.late) for field in table.fields)
        return replace(table, fields=fields, needs=self.needs)

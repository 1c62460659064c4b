"""Tables of wave equations: fields, stages, coefficients, observables, sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal

from seismo.equations.framework.formula import Formula
from seismo.equations.framework.parameters import (
    Condition,
    Conversion,
    Gradual,
)
from seismo.equations.rock.slow_waves import SlowWaves


@dataclass(frozen=True)
class Term:
    """A share of an observable or of a source: factor * field, differentiated along `along`."""

    field: str
    factor: float = 1.0
    along: str = ""


@dataclass(frozen=True)
class SourceTerm:
    """How a source acts on a field: field += scale * component * signal / cell volume.

    Attributes:
        field: the field it adds to, in the stage that writes it first.
        component: which number of the mechanism: "x" of a force, "xz" of a moment tensor, "".
        scale: function(mean, dt) -> factor per point, where mean(name) is the coefficient averaged
            to the field's points; mean(name, of_component=True) that for its axis, where
            planes have it.
        derivative: time derivative of the source's moment (or force, or amplitude) that acts;
            -1 is its integral.
        rate: w in rad/s, with which the signal s relaxes: xi of dxi/dt + w xi = w s acts in its
            place; 0 where it acts itself.
    """

    field: str
    component: str
    scale: Callable
    derivative: int = 0
    rate: float = 0.0


@dataclass(frozen=True)
class IsotropicPlanes:
    """A stage's formula for planes z whose medium fewer coefficients tell.

    Attributes:
        update: as that of the stage.
        coefficients: model arrays it uses.
        where: function(medium) -> where the medium is such.
        asks: averages at the nodes that `where` takes beside the equation's own.
        of_density: whether it asks for densities alone, including the next plane's, since they
            stand between.
        everywhere: function(extremes) -> whether it holds throughout an earth of these extremes
            (`seismo.model.extremes.Extremes`).
        simple: function(samples of the parameters) -> which media are such; all when None.
    """

    update: Callable
    coefficients: tuple[str, ...]
    where: Callable
    everywhere: Callable
    asks: tuple[str, ...] = ()
    of_density: bool = False
    simple: Callable | None = None


Differences = Literal["first", "second"]
# Observables -> name of their integral, or derivative, in time.
FOLLOWING = {"velocity": ("displacement", "acceleration"), "strain_rate": ("strain",)}


@dataclass(frozen=True)
class Field:
    """One array of the wavefield.

    Attributes:
        name: vx, szz, p, ...
        half: the axes along which it stands half a cell further, e.g. "xz" for sxz.
        unit: SI unit.
        late: whether it stands half a step later than the fields at t = step * dt; filled in by
            `Equation.physics`.
        previous_of: name of the field whose previous values it holds, in an equation of second
            order in time: the two change places after every step.
        remembers: whether it is a memory variable of the medium, or an increment, which no stage
            differentiates and no output shows.
        slope: whether it is new in every step and only serves a later stage, as a derivative on
            the nodes does: mirror faces give images on nodes the other sign than a field's, and
            no output shows it.
        short: whether it is kept in 16 bits.
        scale: power of two that it is kept times.
        vanishes: whether it vanishes on a free surface, and differences along z are closed there
            (`seismo.grid.surface_closure`): these hold that of shear stresses, half a cell below.
        on_surface: whether it stands in the row of the surface alone, new in every step.
        buffer: number of the array that it shares, of rows that follow the ground alone, with
            others that are new in every stage; None where it has its own.
    """

    name: str
    half: str
    unit: str
    late: bool = False
    previous_of: str = ""
    vanishes: bool = False
    remembers: bool = False
    slope: bool = False
    short: bool = False
    scale: float = 1.0
    on_surface: bool = False
    buffer: int | None = None


@dataclass(frozen=True)
class Stage:
    """An update of fields from others, at every point.

    Attributes:
        name: velocity, stress, pressure, ...
        writes: fields it changes (read on the spot only).
        reads: fields it differentiates.
        coefficients: model arrays it uses.
        update: its formula, a function(cell) (`seismo.backends.operators.cell`).
        where: "everywhere", "layer" (absorbing layers only), "surface" (the free-surface row),
            "closed" (the rows under it with weights of their own) or "curved" (rows that follow the
            ground).
        shares: name of an earlier stage whose layer memory this stage continues to use.
        even: the same for planes z where the medium is even, with fewer arrays.
        slopes: further fields that it reads on rows that follow the ground.
    """

    name: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    coefficients: tuple[str, ...]
    update: Callable
    where: str = "everywhere"
    shares: str | None = None
    even: IsotropicPlanes | None = None
    slopes: tuple[str, ...] = ()

    def coefficients_in(self, even: bool) -> tuple[str, ...]:
        """Return the coefficients that it takes in planes of a kind."""
        return self.even.coefficients if even and self.even else self.coefficients


@dataclass(frozen=True)
class CurvedSurface:
    """Stresses of an equation in the balance on a ground that slopes (`sloping_ground`).

    Attributes:
        moduli: function(coefficients, numbers by name) -> c33 dt of nodes, and of each horizontal
            axis the shear modulus times dt between nodes (z, y, x), as they act within a step.
        shear: formula that takes mu / g P0 Px(a e) from the shear stresses across z.
        coefficients: that it takes.
        remembers: memory variables that it changes, too.
    """

    moduli: Callable
    shear: Callable
    coefficients: tuple[str, ...]
    remembers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Physics:
    """The table of a wave equation in 2-D or 3-D.

    Attributes:
        axes: "xz" or "xyz".
        fields: the wavefield; the first is watched for growth.
        stages: in the order of the time step.
        coefficients: function(medium, dt) -> dict of model arrays.
        medium: averages that `coefficients` takes (see `seismo.model.effective.averaging`).
        observables: quantity -> component -> terms.
        drives: type of source -> how it acts.
        derived: further numbers whose extremes are known: name -> function(samples of parameters).
        fastest: function(extremes) -> the fastest wave in m/s, which limits the time step
            (`seismo.model.extremes.Extremes`).
        fastest_along: the same of waves along single axes, where these are slower.
        conversion: of parameters that the model gives to its own; None where these are the same.
        conditions: joint conditions of the parameters.
        about_sources: conditions of the medium at a source; `check` warns of violations.
        slow_waves: which sources send that do not fulfil it; None of equations without.
        gradual: parameters that should not jump between nodes; `check` warns of jumps.
        broad_sources: whether sources are spread, and send no waves too short for the grid.
        smooth_across_layers: whether its fields are taken for smooth across contacts of layers,
            where receivers read them (else `seismo.solver.interpolation.layer_contacts`).
        layer_shift: frequency shift of its absorbing layers, in dominant frequencies of the source.
        fluid_meets_solid: whether fluid and solid may share an earth, and slip on their contact
            (`seismo.features.contacts.contact`).
        fluid_rests: whether fluids stay at rest: receivers in them read 0, and sources are refused.
        strain_responses: function(medium of node rows) -> strain "zz", "xz" or "yz" -> field -> its
            response to a strain rate per second (rows), for shear strains in the half rows below;
            rows beside fluids are corrected by it (`seismo.features.contacts.operators`).
        fluid_force: axis -> driving force of a fluid along it: factor * d field / d axis is
            rho dv/dt; where the inverse density is a tensor (`seismo.features.contacts.rows`).
        numbers: scalars that formulas take, by name (`Cell.number`).
        odd: axis -> coefficients that a mirror across it turns: they vanish on rigid faces.
        weakened: function(medium, interpolation by axis) -> medium whose couplings are so weak
            that no motion sets energy free, whatever rock is near (`seismo.grid.interpolation`).
        weakened_by: nodes on either side that it depends on.
        needs: names of the parameters that the model gives; filled in by `Equation.physics`.
        short_coefficients: model arrays that are kept in 16 bits.
        gradients: fields whose gradient, of the others the divergence, is taken on rows that follow
            the ground (`seismo.features.topography.differences`); none where they cannot.
        curved_surface: how its stresses balance on a ground that slopes, None where they need not.
        short_layers: whether memory variables of absorbing layers are kept in 16 bits.
        length: unit in m of the differences' spacings, a power of two.
        in_increments: function(this table) -> the table of the same scheme whose fields may be kept
            in 16 bits, where rounding would change the difference of two steps.
    """

    axes: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...]
    coefficients: Callable
    medium: tuple[str, ...]
    observables: dict[str, dict[str, tuple[Term, ...]]] = field(default_factory=dict)
    drives: dict[str, tuple[SourceTerm, ...]] = field(default_factory=dict)
    derived: Mapping[str, Callable] = field(default_factory=dict)
    fastest: Callable = attrgetter("vp_max")
    fastest_along: Mapping[str, Callable] = field(default_factory=dict)
    conversion: Conversion | None = None
    conditions: tuple[Condition, ...] = ()
    about_sources: tuple[Condition, ...] = ()
    slow_waves: SlowWaves | None = None
    gradual: Gradual | None = None
    broad_sources: bool = False
    smooth_across_layers: bool = False
    layer_shift: float = 1.0
    fluid_meets_solid: bool = False
    fluid_rests: bool = False
    strain_responses: Callable | None = None
    fluid_force: dict[str, Term] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    odd: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weakened: Callable | None = None
    weakened_by: int = 0
    needs: tuple[str, ...] = ()
    short_coefficients: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()
    curved_surface: CurvedSurface | None = None
    short_layers: bool = False
    length: float = 1.0
    in_increments: Callable[[Physics], Physics] | None = None

    @property
    def quantities(self) -> tuple[str, ...]:
        """Recorded quantities: the observables, and their integrals and derivatives in time."""
        names = dict.fromkeys(self.observables)
        for rate, others in FOLLOWING.items():
            if rate in names:
                names |= dict.fromkeys(others)
        return tuple(names)

    @property
    def shown(self) -> tuple[str, ...]:
        """What snapshots show: fields that are no memory, and groups of them last."""
        # Memory variables, slopes and the older time level are hidden.
        groups = (name for name in ("velocity", "pressure") if name in self.observables)
        hidden = (f.previous_of or f.remembers or f.slope for f in self.fields)
        fields = (f.name for f, out in zip(self.fields, hidden, strict=True) if not out)
        return (*fields, *groups)

    @property
    def previous(self) -> dict[str, str]:
        """Field -> the field with its previous values; they change places after each step."""
        return {f.previous_of: f.name for f in self.fields if f.previous_of}

    @property
    def late(self) -> frozenset[str]:
        """Fields that a later stage of the step reads as new: they stand half a step later.

        In equations of second order in time all stand at whole steps.
        """
        # Leapfrog of second order: all fields at t = n dt.
        if self.previous:
            return frozenset()
        written: set[str] = set()
        half_steps: set[str] = set()
        for stage in (s for s in self.stages if s.where in ("everywhere", "layer")):
            # Staggered in time: a field read after it was written in the same step.
            half_steps |= written & set(stage.reads)
            written |= set(stage.writes)
        return frozenset(half_steps)

    @property
    def differences(self) -> Differences:
        """Which differences drive the waves: second ones of one field, or staggered first ones."""
        return "second" if self.previous else "first"

    @property
    def at_once(self) -> bool:
        """Whether layers' second derivatives may update both their memory variables at once.

        Not where first derivatives on the nodes are taken besides.
        """
        return not any(self.formula(stage, False).kind == "mixed" for stage in self.stages)

    @property
    def interpolates(self) -> bool:
        """Whether a stage takes fields half a cell from where they stand."""
        return any(self.formula(stage, False).interpolates for stage in self.stages)

    @property
    def closes_surface(self) -> bool:
        """Whether the free surface closes the differences along z; else it is mirrored."""
        return any(f.vanishes for f in self.fields)

    @property
    def numbers_per_point(self) -> float:
        """Numbers that a perfect kernel moves for a point and step, in isotropic planes.

        Those of 16 bits count half.
        """
        stages = [stage for stage in self.stages if stage.where == "everywhere"]
        # Each changed field: a write, and a read unless it is new; others a read.
        moved = [n for s in stages for n in (*s.writes, *s.reads, *s.coefficients_in(True))]
        for stage in stages:
            formula = self.formula(stage, even=True)
            moved += [formula.fields[n] for n in formula.read_back]
        return sum(0.5 if name in self.short else 1.0 for name in moved)

    @property
    def short(self) -> frozenset[str]:
        """Names of the fields and model arrays that are kept in 16 bits."""
        return frozenset(f.name for f in self.fields if f.short).union(self.short_coefficients)

    def formula(self, stage: Stage, even: bool) -> Formula:
        """Return a stage's formula for planes of a kind."""
        # Order of a kernel's arguments: changed fields, read fields, coefficients.
        fields = (*stage.writes, *stage.reads)
        coefficients = stage.coefficients_in(even)
        return Formula(
            stage.even.update if even and stage.even else stage.update,
            self.axes,
            fields,
            tuple(self.named(name).half for name in fields),
            coefficients,
            tuple(name for name in coefficients if name in self.sparse),
            tuple(self.numbers),
            tuple(name for name in (*fields, *coefficients) if name in self.short),
        )

    def curved_formula(
        self, stage: Stage, even: bool, planes: tuple[str, ...], marched: bool = False
    ) -> Formula:
        """Return a stage's formula on rows that follow the ground.

        What slopes add is in arrays, or is found by threads that march along z.
        """
        flat = self.formula(stage, even)
        listed = () if marched else stage.slopes
        return replace(
            flat,
            fields=(*flat.fields, *listed),
            half=(*flat.half, *(self.named(name).half for name in listed)),
            coefficients=(*flat.coefficients, *planes),
            gradients=self.gradients,
            on_surface=tuple(name for name in flat.fields if self.named(name).on_surface),
            marched=stage.slopes if marched else (),
        )

    def exchanged(self, stage: Stage) -> tuple[str, ...]:
        """Return the fields of a stage that are read beside where they stand.

        Memory variables of a medium are not, but where a stage differentiates them.
        """
        read = {name for stage in self.stages for name in stage.reads}
        return tuple(n for n in stage.writes if n in read or not self.named(n).remembers)

    def slots(self, owner: str) -> int:
        """Return the layer memory variables along one axis of a stage and those that share them."""
        # Stages that share memory need as many variables as the largest of them.
        sharing = [stage for stage in self.stages if owner in (stage.name, stage.shares)]
        return max(self.formula(s, even).slots for s in sharing for even in (False, True))

    def components(self, kind: str) -> tuple[str, ...]:
        """Return the components of a type of source that move anything."""
        return tuple(dict.fromkeys(term.component for term in self.drives.get(kind, ())))

    @property
    def sparse(self) -> dict[str, str]:
        """Coefficients that even planes of a stage do without, and the name of that stage.

        The row of a free surface keeps the fields that its stage reads.
        """
        return {
            name: stage.name
            for stage in self.stages
            if stage.even
            for name in stage.coefficients
            if name not in stage.even.coefficients
        }

    @property
    def parities(self) -> tuple[int, ...]:
        """The kinds of steps there are: 0, and 1 where the names of arrays alternate."""
        # The two time levels change places after each step.
        return (0, 1) if self.previous else (0,)

    def stage_writing(self, name: str) -> str:
        """Return the first stage after which field `name` is new."""
        # p(n + 1) is written over p(n - 1).
        written = self.previous.get(name, name)
        return next(s.name for s in self.stages if written in s.writes)

    @property
    def has_tractions(self) -> bool:
        """Whether each velocity has a traction on level planes, and differences of both alone."""
        names = {field.name for field in self.fields}
        moving = [field.name[1:] for field in self.fields if field.late]
        plain = self.differences == "first" and not self.interpolates
        return plain and all(f"s{axis}z" in names for axis in moving)

    def named(self, name: str) -> Field:
        """Return the field of that name."""
        return next(f for f in self.fields if f.name == name)

"""Attenuation of the earth: the law of its quality factors, or relaxation times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ValidationInfo, model_validator

from seismo.equations.framework.registry import (
    parameters_of_physics,
)
from seismo.scenario import units
from seismo.scenario.draft import Draft
from seismo.scenario.model_parts import given_parameters
from seismo.scenario.quantities import (
    AddedKey,
    AutoOrCount,
    Field,
    Mistake,
    Mistakes,
    PositiveFrequency,
    PositiveTime,
    Quantity,
    ScenarioSection,
)

if TYPE_CHECKING:
    from seismo.scenario.document import Scenario

Pairs = tuple[tuple[PositiveTime, PositiveTime], ...]
_MOST = 8


class RelaxationTimes(ScenarioSection):
    """Relaxation times of the moduli; vp and vs are then the unrelaxed velocities.

    Pairs [tau_epsilon, tau_sigma] of lambda + 2 mu and mu (`p`, `s`), or of the bulk and the shear
    modulus. They hold for the whole model, whatever its quality factors. Where `s` is given alone
    the bulk modulus loses nothing, and fluids neither.
    """

    p: Pairs | None = Field(None, description="pairs [tau_epsilon, tau_sigma] of lambda + 2 mu")
    s: Pairs | None = Field(None, description="pairs of mu; alone: the bulk modulus loses nothing")
    bulk: Pairs | None = Field(None, description="pairs of the bulk modulus (2-D: lambda + mu)")
    shear: Pairs | None = Field(None, description="pairs of mu, beside `bulk`")

    @property
    def times(self) -> dict[str, Pairs]:
        """Return the pairs that are given, by modulus."""
        named = {name: getattr(self, name) for name in ("p", "s", "bulk", "shear")}
        return {name: pairs for name, pairs in named.items() if pairs is not None}

    @model_validator(mode="after")
    def _one_kind(self) -> RelaxationTimes:
        if set(self.times) not in ({"p"}, {"s"}, {"p", "s"}, {"bulk", "shear"}):
            raise ValueError("give p and s, or bulk and shear")
        return self


class Attenuation(ScenarioSection):
    """How media whose qp or qs the model gives attenuate."""

    reference_frequency: PositiveFrequency = Field(
        1.0,
        description="frequency at which phase velocities are vp and vs: the earth does not change "
        "with the sources",
    )
    law: Literal["constant", "kjartansson", "kolsky", "power"] = Field(
        "constant",
        description="1/Q constant (Kjartansson's exact law; kolsky: nearly so), or power: constant "
        "up to `corner`, then falling with `exponent`",
    )
    corner: PositiveFrequency | None = Field(None, description="corner of law: power")
    exponent: Annotated[float, Quantity(units.NUMBER, gt=0.0, le=1.0)] | None = Field(
        None, description="power of frequency with which 1/Q falls above it"
    )
    band: tuple[PositiveFrequency, PositiveFrequency] | None = Field(
        None,
        description="[from, to] within which the law is followed; default: a decade or more, up "
        "to the highest frequency of the sources",
    )
    mechanisms: Annotated[Any, AutoOrCount(choices=tuple(range(1, _MOST + 1)))] = Field(
        "auto", description="relaxation mechanisms; auto: as few as keep 1/Q within 1.5 % at Q 20"
    )
    storage: Annotated[Any, AutoOrCount(choices=(16, 32))] = Field(
        "auto",
        description="bits of a memory variable, 16 or 32; auto: 16 in 3-D elastic media whose "
        "sources are not much unlike in strength",
    )
    relaxation: RelaxationTimes | None = Field(
        None, description="relaxation times of the whole model, in place of a law"
    )

    @property
    def gives(self) -> set[str]:
        """Parameters that relaxation times give: an equation that attenuates is needed."""
        return set() if self.relaxation is None else {"qp", "qs"}

    @model_validator(mode="after")
    def _consistent(self) -> Attenuation:
        if (self.law == "power") != (self.corner is not None and self.exponent is not None):
            raise ValueError("corner and exponent belong to law: power; give both, or none")
        if self.band is not None and not self.band[0] < self.band[1]:
            raise ValueError("band has to grow: write the lower frequency first")
        # A resolved scenario has all defaults.
        law_keys = {
            name
            for name in {"reference_frequency", "law", "band", "mechanisms"} & self.model_fields_set
            if getattr(self, name) != type(self).model_fields[name].default
        }
        if self.relaxation is not None and law_keys:
            raise ValueError(f"relaxation stands in place of {', '.join(sorted(law_keys))}")
        return self


def resolved_law(attenuation: Attenuation | None, info: ValidationInfo) -> Attenuation | None:
    """Return the law of a scenario's media that lose energy, for its results to have it."""
    taken = {"qp", "qs"} & parameters_of_physics(info.data.get("physics"))
    loses = taken & given_parameters(info.data.get("model", ()))
    return Attenuation() if attenuation is None and loses else attenuation


def attenuated_waves(draft: Draft) -> Mistakes:
    """Check that something attenuates where it is said how."""
    equation = draft.equation
    section = draft.others.get("attenuation")
    unread = draft.model is None or None in draft.model  # may hold attenuating media
    if equation and section and not equation.attenuates and not unread:
        problem = "the model gives no quality factor that the waves feel: add qp or qs"
        yield Mistake(("attenuation",), f"{problem}, or leave it out")
    if equation is None or section is None or section.relaxation is None:
        return
    moduli = set(section.relaxation.times)
    for wave, other in ("ps", "sp"):
        if moduli == {wave} and f"q{wave}" not in equation.needs:
            problem = f"physics {draft.physics} has no {wave.upper()} waves: give {other}"
            yield Mistake(("attenuation", "relaxation", wave), problem)


def section_of(scenario: Scenario) -> Attenuation:
    """Return the section of a scenario, or its defaults."""
    return scenario.section("attenuation") or Attenuation()


KEY = AddedKey(
    "attenuation",
    "model",
    Annotated[Attenuation | None, AfterValidator(resolved_law)],
    Field(None, validate_default=True, description="how media that lose energy (qp, qs) do so"),
)
RULES = {"options": (attenuated_waves,)}

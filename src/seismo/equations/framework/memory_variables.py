"""Memory variables of media that lose energy, for each strain and relaxation mechanism.

    ds_I/dt = sum_J [ C_IJ e_J - sum_l A^l_IJ xi^l_J ],    d xi^l_J/dt + w_l xi^l_J = w_l e_J

C: unrelaxed stiffness (Pa); e_J strain rates and xi^l_J memory variables (1/s), which stand where
e_J does, at t = n dt; A^l = Y_l C, with weights Y_l for P and for S moduli
(`seismo.equations.rock.relaxation`). The variables know of no material (Kristek & Moczo 2003), so
that nothing has to be averaged where media meet. A step (Cayley, second order, stable by itself):

    xi(n + 1) = a_l xi(n) + b_l e(n + 1/2),    A^l acts on [xi(n + 1) + xi(n)] / 2

`decay_l` = a_l, `gain_l` = b_l; `p_constant_l`, `p_linear_l`, `p_quadratic_l` give Y_l / 2 of P
moduli from the number y of a node, and `s_...` of shear moduli. Variables that are kept in
16 bits are xi times a power of two (`Relaxation.scale`): `gain_l` is then b_l times that, and the
constants of Y_l / 2 are divided by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seismo.equations.framework.table import Field, IsotropicPlanes, Physics, SourceTerm, Stage
from seismo.equations.rock.relaxation import Relaxation

_POWERS = ("constant", "linear", "quadratic")


@dataclass(frozen=True)
class CellArrays:
    """A cell of formulas whose coefficients are arrays, outside of any kernel.

    Attributes:
        arrays: coefficients by name.
        numbers: scalars of the mechanisms, by name (`numbers_of`).
    """

    arrays: Mapping[str, np.ndarray]
    numbers: Mapping[str, float]

    def __getitem__(self, name: Any) -> np.ndarray:
        """Return a coefficient."""
        return self.arrays[name]

    def number(self, name: str) -> float:
        """Return a scalar."""
        return self.numbers[name]

    def sum(self, terms: Iterable[Any]) -> Any:
        """Return the sum of terms."""
        return sum(terms)


# Tables of a scenario that is not yet a run: mechanisms without frequencies.
UNKNOWN = Relaxation((1.0,) * 3, ((0.0,) * 3,) * 3, ((0.0,) * 3,) * 3)


def names_of(strain: str, relaxation: Relaxation) -> tuple[str, ...]:
    """Return the names of a strain's memory variables."""
    return tuple(f"memory_{strain}_{n}" for n in range(1, relaxation.mechanisms + 1))


def memory_fields(strains: Mapping[str, str], relaxation: Relaxation) -> tuple[Field, ...]:
    """Return the memory variables of strains, each with the axes along which it stands between."""
    return tuple(
        Field(name, half, "1/s", remembers=True, short=relaxation.scale > 0)
        for strain, half in strains.items()
        for name in names_of(strain, relaxation)
    )


def numbers_of(relaxation: Relaxation, waves: str) -> dict[str, float]:
    """Return the scalars of the mechanisms, for the moduli "p", "s" or "ps"."""
    # Cayley's step: xi(n + 1) = a_l xi(n) + b_l e(n + 1/2).
    decays, gains = relaxation.decay(relaxation.dt)
    scale = relaxation.scale or 1.0
    numbers: dict[str, float] = {}
    for n, (decay, gain) in enumerate(zip(decays, gains, strict=True), 1):
        numbers |= {f"decay_{n}": float(decay), f"gain_{n}": float(gain) * scale}
        for wave in waves:
            # Y_l / 2 as a polynomial of y: the step applies it to xi(n + 1) + xi(n).
            weights = getattr(relaxation, wave)[n - 1]
            pairs = zip(_POWERS, weights, strict=True)
            numbers |= {f"{wave}_{power}_{n}": 0.5 / scale * weight for power, weight in pairs}
    return numbers


def remember(cell: Any, rates: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Update the memory variables of strain rates; return the sums of old and new of each.

    All are read before any is written: a processor then waits for them only once.
    """
    # Loads of all variables come before the first store.
    names = {strain: [f"memory_{strain}_{n}" for n in _mechanisms(cell)] for strain in rates}
    before = {strain: [cell[name] for name in names[strain]] for strain in rates}
    sums: dict[str, list[Any]] = {}
    for strain, rate in rates.items():
        sums[strain] = []
        for n, (name, old) in enumerate(zip(names[strain], before[strain], strict=True), 1):
            # xi(n + 1) = a_l xi(n) + b_l e; the stress takes xi(n + 1) + xi(n).
            new = cell.number(f"decay_{n}") * old + cell.number(f"gain_{n}") * rate
            cell.put(name, new)
            sums[strain].append(old + new)
    return sums


def lasting(cell: Any, strain: str, rate: Any) -> Any:
    """Return a strain rate less its memory, of a P modulus whose loss is `y`."""
    (memory,) = remember(cell, {strain: rate}).values()
    return rate - loss(cell, "p", cell["y"], memory)


def lossless(cell: Any, strain: str, rate: Any) -> Any:
    """Return a strain rate of rock without loss, in the place of `lasting`."""
    return rate


def added(*memories: Sequence[Any]) -> list[Any]:
    """Return the sums of several strains' memories, by mechanism."""
    return [sum(rest, first) for first, *rest in zip(*memories, strict=True)]


def loss(cell: Any, wave: str, y: Any, memory: Sequence[Any]) -> Any:
    """Return sum of Y_l xi^l: the lost strain rate, in a stress of a "p" or "s" modulus."""
    return cell.sum(_half_weight(cell, wave, y, n) * memory[n - 1] for n in _mechanisms(cell))


def loss_between(cell: Any, wave: str, y: Any, other: Any, memory: Sequence[Any]) -> Any:
    """Return the same of the difference of two weights, Y_l(y) - Y_l(other)."""
    return cell.sum(
        (_half_weight(cell, wave, y, n) - _half_weight(cell, wave, other, n)) * memory[n - 1]
        for n in _mechanisms(cell)
    )


def at_once(cell: Any, wave: str, y: Any) -> Any:
    """Return the share of a stiffness that a strain within a step does not feel: Y_l b_l / 2."""
    return cell.sum(
        _half_weight(cell, wave, y, n) * cell.number(f"gain_{n}") for n in _mechanisms(cell)
    )


def drive(cell: Any, strain: str, rate: Any) -> None:
    """Let a strain rate that is known later than `remember` act on the same step."""
    for n in _mechanisms(cell):
        # The further strain rate e adds b_l e to xi(n + 1).
        name = f"memory_{strain}_{n}"
        cell.put(name, cell[name] + cell.number(f"gain_{n}") * rate)


def responses_of_memory(strain: str, relaxation: Relaxation, like: np.ndarray) -> dict:
    """Return the response of memory to a strain rate known after `remember`, per second.

    Args:
        strain: which the memory variables remember.
        relaxation: the mechanisms of a run.
        like: (rows) an array of as many rows.
    """
    # The further strain rate e adds b_l e to xi(n + 1), as in `drive`.
    gains = relaxation.decay(relaxation.dt)[1] * (relaxation.scale or 1.0) / relaxation.dt
    names = names_of(strain, relaxation)
    return {name: np.full_like(like, gain) for name, gain in zip(names, gains, strict=True)}


def with_memory(
    stage: Stage, update: Callable, strains: Iterable[str], coefficients: tuple[str, ...],
    relaxation: Relaxation, even: IsotropicPlanes | None = None,
) -> Stage:  # fmt: skip
    """Return a stage of an equation without loss that remembers strains.

    Args:
        stage: of the equation without loss.
        update: its formula with loss.
        strains: that it remembers.
        coefficients: that it takes.
        relaxation: the mechanisms.
        even: the same of planes whose medium is even.
    """
    remembered = (name for strain in strains for name in names_of(strain, relaxation))
    return replace(
        stage, writes=(*stage.writes, *remembered), coefficients=coefficients, update=update,
        even=even,
    )  # fmt: skip


def with_loss(
    plain: Physics, relaxation: Relaxation, waves: str, strains: Mapping[str, str],
    stages: Iterable[Stage], coefficients: Callable, losses: Iterable[str], **changes: Any,
) -> Physics:  # fmt: skip
    """Return the table of an equation whose rock attenuates, of that of the same without loss.

    Args:
        plain: the table without loss.
        relaxation: the mechanisms.
        waves: moduli that relax: "p", "s" or "ps".
        strains: that are remembered, each with the axes along which it stands between nodes.
        stages: replacements of stages of the same names (`with_memory`).
        coefficients: function(medium, dt) -> arrays that formulas take.
        losses: averages that they take besides.
        changes: further attributes.
    """
    in_place = {stage.name: stage for stage in stages}
    return replace(
        plain,
        fields=(*plain.fields, *memory_fields(strains, relaxation)),
        stages=tuple(in_place.get(stage.name, stage) for stage in plain.stages),
        coefficients=coefficients,
        medium=(*plain.medium, *losses),
        numbers=numbers_of(relaxation, waves),
        in_increments=None,
        **changes,
    )


def pressures_with_loss(
    plain: Physics, relaxation: Relaxation, update: Callable, average: str,
    sources: Mapping[str, Sequence[tuple[str, Callable]]],
) -> Physics:  # fmt: skip
    """Return the table of an equation of pressures with loss: `y` on the nodes tells it.

    Args:
        plain: the table without loss, whose last stage advances the pressures.
        relaxation: the mechanisms.
        update: formula of that stage with loss.
        average: of the medium that `y` is.
        sources: type of source -> of each of its terms the strain that it acts as, and
            function(mean, dt) -> the rate of that (`strain_source`).
    """
    *_, last = plain.stages
    strains = dict.fromkeys((strain for strain, _ in sources["pressure"]), "")

    def coefficients(medium: dict, dt: float) -> dict:
        return plain.coefficients(medium, dt) | {"y": medium[average]}

    drives = {
        kind: tuple(
            source_term
            for term, (strain, rate) in zip(plain.drives[kind], rates, strict=True)
            for source_term in strain_source(term, rate, strain, relaxation)
        )
        for kind, rates in sources.items()
    }
    stage = with_memory(last, update, strains, (*last.coefficients, "y"), relaxation)
    return with_loss(
        plain, relaxation, "p", strains, [stage], coefficients, [average],
        drives=plain.drives | drives,
    )  # fmt: skip


def strain_source(
    term: SourceTerm, rate: Callable, strain: str, relaxation: Relaxation
) -> tuple[SourceTerm, ...]:
    """Return a source of pressure that acts as a strain rate does: on the memory, too.

    Args:
        term: the source without loss, a modulus times `rate`.
        rate: function(mean, dt) -> strain rate in 1/s of its amplitude.
        strain: which the memory variables remember.
        relaxation: the mechanisms.
    """
    # A strain rate e of the source adds b_l e to xi and M (1 - sum Y_l b_l / 2) e to p.
    gains = relaxation.decay(relaxation.dt)[1]

    def scale(mean, dt):
        # sum Y_l b_l / 2: the memory's effect within the step.
        lost = np.tensordot(gains, relaxation.anelastic("p", mean("y")), 1) / 2.0
        return term.scale(mean, dt) * (1.0 - lost)

    def remembered(gain: float) -> Callable:
        return lambda mean, dt: gain * rate(mean, dt)

    names = names_of(strain, relaxation)
    memories = (
        SourceTerm(name, term.component, remembered(float(gain)), term.derivative)
        for name, gain in zip(names, gains, strict=True)
    )
    return SourceTerm(term.field, term.component, scale, term.derivative), *memories


def relaxing_source(
    term: SourceTerm, share: Callable, relaxation: Relaxation
) -> tuple[SourceTerm, ...]:
    """Return a source of stress whose strength is a modulus, with its loss.

    Args:
        term: the source without loss, of the unrelaxed modulus.
        share: function(mean) -> Y_l (mechanism, ...) of that modulus (`SourceTerm.scale`).
        relaxation: the mechanisms.
    """

    # -c sum Y_l xi^l, where xi is the source's own signal, relaxed with w_l.
    def lost(n: int) -> Callable:
        return lambda mean, dt: -term.scale(mean, dt) * share(mean)[n]

    rates = enumerate(relaxation.frequencies)
    return term, *(replace(term, scale=lost(n), rate=rate) for n, rate in rates)


def relaxed(signal: np.ndarray, rate: float, dt: float) -> np.ndarray:
    """Return the means of old and new xi in each step that a signal drives (Cayley's step)."""
    # dxi/dt + w xi = w s, with the mean of old and new xi (Cayley).
    half = rate * dt / 2
    old = 0.0
    means = np.empty_like(signal)
    for n, now in enumerate(signal.tolist()):
        new = ((1 - half) * old + 2 * half * now) / (1 + half)
        means[n] = (old + new) / 2
        old = new
    return means


def _mechanisms(cell: Any) -> range:
    return range(1, 1 + sum(name.startswith("decay") for name in cell.numbers))


def _half_weight(cell: Any, wave: str, y: Any, n: int) -> Any:
    # Horner's scheme of Y_l / 2 = constant + linear y + quadratic y^2.
    constant, linear, quadratic = (cell.number(f"{wave}_{power}_{n}") for power in _POWERS)
    return constant + y * (linear + y * quadratic)

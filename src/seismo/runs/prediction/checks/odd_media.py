"""Checks of media: unusual rock, and media too thin or too unlike for a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.equations.framework.parameters import VP
from seismo.equations.rock.anisotropic_loss import SHEAR_SHARE
from seismo.equations.rock.relaxation import SHEAR_PART
from seismo.grid.grid import AXES
from seismo.model.effective import tensor
from seismo.runs.prediction.checks.thin_bodies import thin_fluids
from seismo.runs.prediction.contacts.directivity import strengths
from seismo.runs.prediction.lines import WarningLines
from seismo.runs.prediction.resolution import LayerResolution
from seismo.scenario.model_parts import named_parameters
from seismo.solver.discretization import Discretization

WATER = (1350.0, 1650.0)  # velocities of it, in m/s
_SHEAR = 0.01  # of a moment tensor's largest component
_TRIED = 32  # points along an axis at which quality factors are compared
# Less of both, and no shear, is air or the like.
AIR_VELOCITY = 400.0
AIR_DENSITY = 10.0


def medium_name(layer: LayerResolution) -> str:
    """Return the word for a medium: rock, water, or another fluid."""
    if layer.vs != 0.0:
        return "rock"
    return "water" if layer.vp and WATER[0] <= layer.vp <= WATER[1] else "fluid"


def _medium_at(discretization: Discretization, source: PointSource) -> dict[str, np.ndarray]:
    return discretization.earth.at(np.array([source.position]), discretization.grid.dimensions)


def _sources_in_air(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name sources in a medium that is as light and slow as air."""
    if not {"vp", "rho"} <= set(discretization.earth.needs):
        return
    for source in {s.name: s for shot in discretization.shots for s in shot.sources}.values():
        medium = _medium_at(discretization, source)
        vp, rho = (float(np.ravel(medium[name])[0]) for name in ("vp", "rho"))
        solid = "vs" in medium and float(np.ravel(medium["vs"])[0]) > 0.0
        if vp < AIR_VELOCITY and rho < AIR_DENSITY and not solid:
            yield (
                f"source {source.name}: stands in air ({vp:.4g} m/s, {rho:.3g} kg/m3): hardly "
                "anything of it reaches the ground, and what is recorded in air is the motion of "
                "air; move it below the surface, or use a free surface instead of air"
            )


def _sheared_fluids(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name moments of shear in a fluid, in which no fault slips."""
    if "vs" not in discretization.earth.needs:
        return
    sources = {s.name: s for shot in discretization.shots for s in shot.sources}.values()
    for source in (s for s in sources if s.kind == "moment_tensor"):
        medium = _medium_at(discretization, source)
        axes = [AXES.index(axis) for axis in discretization.grid.axes]
        moment = strengths(source)[1][np.ix_(axes, axes)]
        shear = np.abs(moment - np.trace(moment) / len(axes) * np.eye(len(axes))).max()
        if float(np.ravel(medium["vs"])[0]) == 0.0 and shear > _SHEAR * np.abs(moment).max():
            yield (
                f"source {source.name}: its moment tensor has shear, and it stands in a fluid, "
                "where no fault slips and nothing shears; move it into rock, or use an explosion"
            )


def _about_sources(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name sources whose medium the equation would have otherwise, and why."""
    sources = {s.name: s for shot in discretization.shots for s in shot.sources}.values()
    for condition, source in product(discretization.physics.about_sources, sources):
        medium = _medium_at(discretization, source)
        if not np.all(condition.holds(medium)):
            named = (f"{name} {float(medium[name][0]):g}" for name in condition.names)
            yield f"source {source.name}: stands at {', '.join(named)}: {condition.problem}"


def _sudden(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name the largest change, from node to node, of a model that should be smooth."""
    rule = discretization.physics.gradual
    grid = discretization.grid
    if rule is None or discretization.extremes.uniform:
        return
    nodes = {a: grid.coordinate(a, np.arange(grid.extent.lo[k], grid.extent.hi[k]))
             for k, a in enumerate(AXES) if a in grid.axes}  # fmt: skip
    sampled = {a: c[:: -(-c.size // _TRIED)] for a, c in nodes.items()}
    changes = []
    for axis in "z" if discretization.earth.layered else grid.axes:
        line = sampled | {axis: nodes[axis]}
        samples = discretization.earth.sample(*tensor(line["z"], line.get("y"), line["x"]))
        along = [a for a in "zyx" if a in grid.axes].index(axis)
        for name in rule.names:
            jumps = np.abs(np.diff(samples[name], axis=along)).max(
                tuple(n for n in range(grid.dimensions) if n != along)
            )
            at = int(jumps.argmax())
            changes.append((float(jumps[at]), name, axis, float(nodes[axis][at])))
    largest, name, axis, where = max(changes)
    if largest > rule.most:
        yield (
            f"model: {name} changes by {largest:.2g} from one node to the next at {axis} = "
            f"{where:.6g} m: {rule.problem}"
        )


def _ratio(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    ratio = discretization.extremes.ratio_min
    where = "model"
    if ratio >= math.sqrt(2.0):
        return
    solid = [layer for layer in layers if layer.vs]
    worst = min(solid, key=lambda layer: (layer.vp or math.inf) / (layer.vs or 1.0))
    if discretization.earth.layered:
        key = discretization.earth.given_by("vs", 0.5 * sum(worst.z))
        where = discretization.scenario.named(*key)
    kind = "unrelaxed " if discretization.earth.relaxation else ""
    yield (
        f"{where}: {kind}vp/vs falls to {ratio:.3f}, below sqrt(2) (a negative Poisson ratio), "
        f"between z = {worst.z[0]:.6g} and {worst.z[1]:.6g} m: rocks have 1.5 to 2.2, sediments "
        f"more; {discretization.earth.turned(math.sqrt(2.0)) or 'check vs'}"
    )


def _density(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    extremes = discretization.extremes
    if extremes.rho_max and not 900.0 <= extremes.rho_min <= extremes.rho_max <= 8000.0:
        value = extremes.rho_min if extremes.rho_min < 900.0 else extremes.rho_max
        yield f"model: a density of {value:.5g} kg/m3 is unusual for the earth; check its unit"


def _velocity(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Single values have this limit where they are read; gradients lead beyond it."""
    fastest = discretization.extremes.vp_max
    if fastest > VP.limits[1]:
        yield (
            f"model: a velocity of {fastest:.5g} m/s is unusual for the earth; check its unit, and "
            "those of gradients, in m/s per m"
        )


def _uneven_bed(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Rows that a contact of fluid and solid owns are flat (`fluid_solid_contact`)."""
    wet = discretization.extremes.fluid and discretization.extremes.vs_max > 0.0
    if wet and discretization.physics.fluid_meets_solid and not discretization.earth.layered:
        yield (
            "model: fluid meets solid in an earth that varies sideways: their contact is averaged "
            "cell by cell; near it, waves err by up to 7 % over soft sediment and 50 % over hard "
            "rock with 10 points per wavelength; compare with a finer grid.spacing"
        )


def _thin(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    if (
        not discretization.earth.layered
        or discretization.scenario.averaging != "point"
        or len(layers) < 2
    ):
        return
    for layer in layers:
        spacing = discretization.grid.spacing[2] * layer.height
        thickness = layer.bottom - layer.top + spacing
        if thickness < 2.5 * spacing and layer.share < 0.5:
            yield (
                f"model: the layer at {layer.top:.6g} m is {round(thickness / spacing)} points "
                "thick; use averaging: effective, or a finer grid.spacing"
            )


def _samples(discretization: Discretization) -> dict[str, np.ndarray]:
    """Return the parameters of the scenario on a coarse lattice."""
    axes = {
        a: np.linspace(*discretization.grid.limits(a), _TRIED) for a in discretization.grid.axes
    }
    return discretization.earth.as_given.sample(*tensor(axes["z"], axes.get("y"), axes["x"]))


def _shear_loss(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name solids whose qp is given where no part of the model gives any qs."""
    if not {"vs", "qp", "qs"} <= set(discretization.earth.needs):
        return
    named = named_parameters(discretization.scenario.model)
    if "qp" not in named or "qs" in named:
        return
    medium = _samples(discretization)
    if (np.isfinite(medium["qp"]) & (medium["vs"] > 0.0)).any():
        yield (
            "model: qp is given without qs, so that S waves lose nothing; give qs, which is most "
            "often the lower of both, or qs: .inf if that is meant"
        )


def _exchanged_loss(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name solids whose P waves lose more than their S waves, as few rocks have it."""
    if not {"vs", "qp", "qs"} <= set(discretization.earth.needs):
        return
    medium = _samples(discretization)
    exchanged = (medium["qp"] < medium["qs"]) & np.isfinite(medium["qs"]) & (medium["vs"] > 0.0)
    if exchanged.any():
        qp, qs = (float(medium[name][exchanged][0]) for name in ("qp", "qs"))
        yield (
            f"model: qp {qp:g} is less than qs {qs:g}: rocks lose more by shear, so that qs is "
            "most often the lower of both; are they exchanged?"
        )


def _bulk_loss(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name a qp that would let the bulk modulus gain energy, or none, and the qp taken."""
    if not {"vp", "qp", "qs"} <= set(discretization.earth.needs):
        return
    medium = _samples(discretization)
    most = discretization.earth.most_qp(medium)
    broken = medium["qp"] > most * (1.0 + 1e-3)
    finite = np.isfinite(medium["qp"])
    for rocks in (broken & finite, broken & ~finite):
        if not rocks.any():
            continue
        # The rock whose P waves lose most.
        first = np.argmin(np.where(rocks, most, np.inf))
        qp, qs, limit = (float(a.ravel()[first]) for a in (medium["qp"], medium["qs"], most))
        if math.isfinite(qp):
            yield (
                f"model: qp {qp:g} beside qs {qs:g} would let the bulk modulus gain energy: "
                f"{limit:.4g} is taken, as where qp is left out; give at most that"
            )
        else:
            yield (
                f"model: qs {qs:g} stands without a finite qp: P waves shear rock, too, and have "
                f"qp {limit:.4g}, with which the bulk modulus loses nothing; give qp, at most that"
            )


def _bulk_gain(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Name relaxation times of P moduli that lose less than the shear modulus in them."""
    relaxation = discretization.earth.relaxation
    ratio = discretization.extremes.ratio_min
    if relaxation is None or relaxation.law or not {"qp", "qs"} <= set(discretization.earth.needs):
        return
    omega = np.geomspace(*np.multiply((1e-2, 1e2), np.array(relaxation.frequencies)[[0, -1]]))
    of_mu = SHEAR_PART[discretization.grid.dimensions]
    share = discretization.extremes.others.get(SHEAR_SHARE, (0.0, of_mu / ratio**2))[1]
    y = relaxation.cell_value("p", math.inf, 1.0, math.sqrt(share / of_mu))
    p, s = (relaxation.modulus(wave, y, omega).imag for wave, y in (("p", y), ("s", 0.0)))
    if (p < share * s - 1e-9).any():
        yield (
            f"attenuation.relaxation: where vp/vs is {ratio:.3g} the moduli of p lose less than "
            "the shear modulus in them: the bulk modulus gains energy, and waves may grow; give "
            "p a longer tau_epsilon, leave p out (bulk loses nothing), or give bulk and shear"
        )


ODD_MEDIA: tuple[Callable[[Discretization, list[LayerResolution]], WarningLines], ...] = (
    _sources_in_air, _sheared_fluids, _exchanged_loss,
    _about_sources, _sudden, _ratio, _density, _velocity, _shear_loss, _bulk_loss, _bulk_gain,
    _uneven_bed, lambda discretization, _: thin_fluids(discretization), _thin,
)  # fmt: skip

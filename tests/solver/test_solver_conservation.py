"""What the discrete equations conserve exactly: energy in a closed box, and reciprocity.

*Energy.* Leapfrog steps v(n+1/2) = v(n-1/2) + dt/rho G s(n), s(n+1) = s(n) + dt C D v(n+1/2) with
D = -G^T (in the quadrature norms of the grid) keep

    E = 1/2 <v(n+1/2), rho v(n+1/2)> + 1/2 <s(n), inv(C) s(n+1)>

to rounding, for any medium; second-order pressure keeps <p(n), p(n)/k> - <p(n+1), p(n-1)/k>. Points
on mirror faces stand for half a cell, those beyond for none, and those under a closed free surface
for the norms of its closure. The bar of 1e-12 allows rounding to add up over the steps.

*Reciprocity.* The same symmetry, kept by layers with real stretching and by sources that are the
transpose of receivers: what a force along j at b does along i at a is what the force along i at a
does along j at b. An explosion's velocity and a force's divergence are reciprocal as well.
"""

from functools import partial

import numpy as np
import pytest

import solver
from seismo.equations.framework.registry import (
    EQUATIONS,
    VARIANTS,
    physics_for,
)
from seismo.solver.interpolation.point_weights import PointInterpolation

CLOSED = {  # of faces along x, y and z
    "rigid": (("rigid", "rigid"), ("rigid", "rigid"), ("rigid", "rigid")),
    "periodic": (("periodic", "periodic"), ("rigid", "rigid"), ("periodic", "periodic")),
    "free": (("periodic", "periodic"), ("periodic", "periodic"), ("free_surface", "rigid")),
}
BOX = {2: (24, 20), 3: (12, 9, 10)}


def closed_box(case: str, dimensions: int) -> dict:
    names = (("x_min", "x_max"), ("y_min", "y_max"), ("top", "bottom"))
    kinds = {
        name: kind
        for pair, both in zip(names, CLOSED[case], strict=True)
        for name, kind in zip(pair, both, strict=True)
        if dimensions == 3 or name[0] != "y"
    }
    return solver.faces(dimensions, **kinds)


def start_at_random(simulation) -> None:
    """Fill all fields with noise; one step then fills the images."""
    solver.add_noise(simulation)
    simulation.advance(1)


class Energy:
    """The conserved quantity of one simulation, from its own coefficients."""

    def __init__(self, simulation) -> None:
        self.simulation = simulation
        self.part = simulation.solvers[0]
        self.physics = simulation.discretization.physics
        self.axes = self.physics.axes

    def weight(self, half: str) -> np.ndarray:
        """Give the share of a cell, (z, y, x)."""
        discretization = self.simulation.discretization
        rows = []
        for axis, (low, high) in (("z", ("top", "bottom")), ("y", ("y_min", "y_max")),
                                  ("x", ("x_min", "x_max"))):  # fmt: skip
            w = np.ones(discretization.grid.points["xyz".index(axis)])
            kinds = [getattr(discretization.scenario.boundaries, face) for face in (low, high)]
            if axis in self.axes and kinds[0] != "periodic":
                w[-1] = 0.0 if axis in half else 0.5
                if axis not in half:
                    w[0] = 0.5
                if axis == "z" and discretization.closure is not None:
                    norm = (
                        discretization.closure.half_norm
                        if "z" in half
                        else discretization.closure.node_norm
                    )
                    w[: len(norm)] = norm
            rows.append(w)
        return np.einsum("z,y,x->zyx", *rows)

    def coefficient(self, name: str, half: str, mean) -> np.ndarray:
        """Average a coefficient from nodes to points, by `mean` of the list of its nodes."""
        sub = self.part.subdomain
        view = solver.coefficient(self.simulation, name)
        (_, oy, oz), (_, y0, z0) = sub.offset, sub.owned.lo
        start = (sub.halo, oy + y0, oz + z0)
        ends = [(0, 0, 0)]
        for axis in half:
            n = "xyz".index(axis)
            ends += [tuple(e + (k == n) for k, e in enumerate(end)) for end in ends]
        nodes = [
            view[tuple(
                slice(start[n] + end[n], start[n] + end[n] + sub.owned.shape[n]) for n in (2, 1, 0)
            )]
            for end in ends
        ]  # fmt: skip
        return mean(np.array(nodes), axis=0)

    def fields(self) -> dict[str, np.ndarray]:
        """Copy the wavefield."""
        return {k: v.copy() for k, v in solver.wavefield(self.simulation).items()}

    def after_a_step(self) -> float:
        """Take a step, or two where an equation is of second order in time, and give the energy."""
        before = self.fields()
        self.simulation.advance(1)
        now = self.fields()
        if self.physics.differences == "first":
            return self.kinetic(now) + sum(0.5 * np.sum(form) for form in self.stored(before, now))
        self.simulation.advance(1)
        forms = zip(self.stored(now, now), self.stored(before, self.fields()), strict=True)
        return sum(0.5 * np.sum(form - other) for form, other in forms)

    def drift(self, steps: int, parts: int = 4) -> float:
        """Take some steps, and give the largest change of the energy between parts, relative."""
        energies = [self.after_a_step()]
        for _ in range(parts):
            self.simulation.advance(steps)
            energies.append(self.after_a_step())
        assert energies[0] > 0
        return float(np.ptp(energies) / energies[0])

    def stored(self, one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Give the forms of two states at all points, each (z, y, x)."""
        parts = self.simulation.discretization.scenario.equation.energy(self.axes)
        return [
            self.weight(part.half)
            * sum(one[a] * factor * other[b] for (a, b), factor in entries.items())
            for part in parts
            for entries in [part.entries(partial(self.coefficient, half=part.half, mean=np.mean))]
        ]

    def density(self, half: str) -> np.ndarray:
        """Give that of motion along an axis, (z, y, x)."""
        if f"rho_{half}" in self.physics.sparse:
            return self.coefficient(f"rho_{half}", "", np.mean)
        return self.coefficient("rho", half, np.mean)

    def kinetic(self, after: dict[str, np.ndarray]) -> float:
        """Sum rho v^2 / 2 over the fields of motion."""
        return sum(
            0.5 * np.sum(
                self.weight(f.half) * after[f.name] ** 2
                * self.density(f.half)
            )
            for f in self.physics.fields
            if f.late
        )  # fmt: skip


CONSERVING = [case for case in solver.EVERY_EQUATION if EQUATIONS[case.values[0]].energy]
# Waves without stiffness move on: their energy is what is left of numbers 10,000 times as large.
ROUNDING = {"acoustic_vti": 1e-9, "acoustic_tti": 1e-9}


def drift(name: str, dimensions: int, case: str, base, steps: int, **changes) -> float:
    """Give the largest change of energy over the run, relative."""
    document = solver.plan(
        name, dimensions, cells=BOX[dimensions], steps=steps, random_medium=base,
        boundaries=closed_box(case, dimensions), **changes,
    )  # fmt: skip
    physics = physics_for(name, dimensions)
    middle = solver.place(dimensions, [n / 2 for n in BOX[dimensions]])
    document["sources"] = document["sources"][:1]
    document["receivers"] = [solver.points([middle], quantities=list(physics.observables)[:1])]
    simulation = solver.build(document, base)
    solver.silence(simulation)
    start_at_random(simulation)
    return Energy(simulation).drift(steps // 5)


@pytest.mark.parametrize("case", CLOSED)
@pytest.mark.parametrize(("name", "dimensions"), CONSERVING)
def test_energy_is_constant(name: str, dimensions: int, case: str, tmp_path) -> None:
    """Noise in a random medium: every wavenumber, every mode of the surface."""
    steps = 4000 if dimensions == 2 else 1000
    assert drift(name, dimensions, case, tmp_path, steps) < ROUNDING.get(name, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("case", CLOSED)
@pytest.mark.parametrize(("name", "dimensions"), CONSERVING)
def test_energy_is_constant_for_long(name, dimensions, case, order, tmp_path) -> None:
    found = drift(name, dimensions, case, tmp_path, 10_000, order=order)
    assert found < ROUNDING.get(name, 1e-12)


def test_every_equation_has_its_energy() -> None:
    """Of those that stand in for others some conserve none."""
    assert all(EQUATIONS[name].energy for name, _ in VARIANTS)


# Off the grid along every axis, the first in the rows that the free surface closes.
NEAR, DEEP = (9.3, 0.4, 7.6), (21.6, 11.45, 14.7)


def spots(dimensions: int) -> list[dict[str, float]]:
    order = (0, 1) if dimensions == 2 else (0, 2, 1)  # x, (y,) z
    return [solver.place(dimensions, [spot[n] for n in order]) for spot in (NEAR, DEEP)]


def answer(name, dimensions, base, first: dict, at: dict, quantity: str, **changes) -> dict:
    """Run one source and give the raw records (step) of a quantity at one place.

    In a closed box where an equation interpolates: absorbing layers stretch the points that it
    couples unlike, by which it is reciprocal to 0.1 % alone.
    """
    cells = (30, 24) if dimensions == 2 else (30, 22, 20)
    sides = "rigid" if physics_for(name, dimensions).interpolates else "absorbing"
    document = solver.plan(
        name, dimensions, cells=cells, steps=120 if dimensions == 2 else 60, random_medium=base,
        sources=[first], receivers=[solver.points([at], quantities=[quantity])],
        **({"boundaries": solver.faces(dimensions, sides, top="free_surface")} | changes),
    )  # fmt: skip
    simulation = solver.simulate(document, base)
    found = solver.records(simulation)
    return {key.split(".")[1]: record[0] for key, record in found.items()} | {"dt": simulation.dt}


def single(physics, kind: str, component: str, position: dict) -> dict:
    """Give a source with one component."""
    if kind == "force":
        return solver.source(physics, kind, position, force={component: 1.0})
    return solver.source(physics, kind, position)


def asymmetry(name, dimensions, base, a: dict, b: dict, **changes) -> float:
    """Tell by how much answers differ when source and receiver change places.

    Force and velocity, or pressure where an equation knows no force.
    """
    physics = physics_for(name, dimensions)
    kind, quantity = ("force", "velocity") if "force" in physics.drives else ("pressure",) * 2
    names = [d.component for d in physics.drives[kind]]
    channel = {c: f"v{c}" if kind == "force" else "pressure" for c in names}
    there = {
        c: answer(name, dimensions, base, single(physics, kind, c, a), b, quantity, **changes)
        for c in names
    }
    back = {
        c: answer(name, dimensions, base, single(physics, kind, c, b), a, quantity, **changes)
        for c in names
    }
    scale = max(np.abs(there[c][channel[e]]).max() for c in names for e in names)
    assert scale > 0
    worst = max(
        np.abs(there[c][channel[e]] - back[e][channel[c]]).max() for c in names for e in names
    )
    return worst / scale


@pytest.mark.parametrize(("name", "dimensions"), solver.slow_in_space("elastic"))
def test_source_and_receiver_change_places(name, dimensions, tmp_path, monkeypatch) -> None:
    """In single precision, whose kernels are others, in the plane alone.

    Broad sources differ from what receivers read: here they are as narrow.
    """
    monkeypatch.setattr(PointInterpolation, "spreading", PointInterpolation.reading)
    a, b = spots(dimensions)
    for precision, tolerance in (("float64", 1e-10), ("float32", 1e-4))[: 4 - dimensions]:
        assert asymmetry(name, dimensions, tmp_path, a, b, precision=precision) < tolerance


IN_SPACE = {("acoustic", "periodic")}


@pytest.mark.parametrize(
    ("name", "dimensions", "at", "across"),
    [
        pytest.param(name, d, at, across, marks=[pytest.mark.slow] if slow else [])
        for name, d in VARIANTS
        for at in ((0.0, 0.3, 2.6) if d == 2 else (0.3,))
        for across in ("rigid", "periodic")
        # In space one kind, as `at` and the kind are tried together in planes; there images at a
        # rigid face and a periodic one differ in the side that they come from alone.
        for slow in [
            (name, across) not in IN_SPACE if d == 3 else across == "periodic" and at != 0.3
        ]
    ],
)
def test_they_change_places_beside_images(name, dimensions, at, across, tmp_path) -> None:
    """On both faces across x, and at the bottom: sources are the transpose of reading images."""
    faces = {"x_min": across, "x_max": across, "bottom": "rigid"}
    width, depth = 30 - (across == "periodic"), 24 if dimensions == 2 else 20
    low, high = (
        solver.place(dimensions, (x, 11.45, z) if dimensions == 3 else (x, z))
        for x, z in ((at, 9.6), (width - at, depth - 0.4 - at))
    )
    changes = {"boundaries": solver.faces(dimensions, **faces), "order": 8}
    assert asymmetry(name, dimensions, tmp_path, low, high, **changes) < 1e-10


WITH_DIVERGENCE = [
    case for case in solver.EVERY_EQUATION
    if "divergence" in physics_for(*case.values).observables
    and {"explosion", "force"} <= set(physics_for(*case.values).drives)
]  # fmt: skip


@pytest.mark.parametrize(("name", "dimensions"), WITH_DIVERGENCE)
def test_explosion_and_divergence_change_places(name: str, dimensions: int, tmp_path) -> None:
    """What an explosion's moment pulse adds to v(n+1) at b is div v(n) at a of the same force at b.

    The moment rate acts half a step later than a force; its wavelet is delayed by that. Both places
    are below the rows closed by the surface, where the pressure on the surface row is taken off.
    """
    physics = physics_for(name, dimensions)
    a, b = spots(dimensions)
    a["z"] += 8 * solver.SPACING["z"]
    names = [d.component for d in physics.drives["force"]]
    forces = {
        c: answer(name, dimensions, tmp_path, single(physics, "force", c, b), a, "divergence")
        for c in names
    }
    blast = single(physics, "explosion", "", a) | {"delay": forces[names[0]]["dt"] / 2}
    velocity = answer(name, dimensions, tmp_path, blast, b, "velocity")
    scale = max(np.abs(forces[c]["divergence"]).max() for c in names)
    for c in names:
        change = np.diff(velocity[f"v{c}"]) / velocity["dt"]
        assert np.abs(change - forces[c]["divergence"][:-1]).max() < 1e-10 * scale

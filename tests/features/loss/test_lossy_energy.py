"""What is left of the energy of media that attenuate falls in every step, in closed boxes.

With relaxed stiffness C - sum A_l and A_l = Y_l C of each mechanism, stresses s and memory
variables xi_l (strain rates) hold

    W = 1/2 e (C - sum A_l) e + 1/2 sum xi_l A_l xi_l / w_l^2,
    s = (C - sum A_l) e + sum A_l xi_l / w_l,

and leapfrog with Cayley's step of the memory keeps 1/2 <v(n-1/2), rho v(n+1/2)> + W(n) but for the
loss dt sum of <xi_l, A_l xi_l> / w_l, xi_l the mean of old and new. Points and weights are those of
`test_solver_conservation`.
"""

import numpy as np
import pytest

import solver
from seismo.equations.framework.registry import physics_for
from test_solver_conservation import Energy, closed_box

CELLS = {2: 24, 3: 12}


class LossyEnergy:
    """The energy of one simulation, from its own coefficients."""

    def __init__(self, simulation) -> None:
        self._simulation = simulation
        self._plain = Energy(simulation)
        self._dt = simulation.discretization.clock.dt
        self._relaxation = simulation.discretization.earth.relaxation
        self._groups = [self._normal()]
        for field in simulation.discretization.physics.fields:
            if len(field.half) == 2 and field.name[0] == "s":
                self._groups.append(self._shear(field.half))

    def _mean(self, name: str, half: str = "") -> np.ndarray:
        """Average a coefficient over the nodes (z, y, x) about points; periodic along x and y."""
        part = self._simulation.solvers[0]
        points = np.array(self._simulation.discretization.grid.points)
        nodes = np.moveaxis(np.indices(points), (1, 2, 3), (3, 2, 1))
        ends = [np.zeros(3, int)]
        for axis in half:
            ends += [end + np.eye(3, dtype=int)["xyz".index(axis)] for end in ends]
        total = 0.0
        for end in ends:
            beside = nodes + end[:, None, None, None]
            beside[:2] %= points[:2, None, None, None]
            beside[2] = np.minimum(beside[2], points[2] - 1)
            total = total + part.fields.at(beside.reshape(3, -1), name).reshape(nodes.shape[1:])
        return total / len(ends)

    def _normal(self) -> tuple:
        """Return names of stresses and memory, sign, C, A_l and half axes of normal stresses."""
        p, s = (lambda y, w=w: self._relaxation.anelastic(w, y) for w in "ps")
        axes = self._simulation.discretization.grid.axes
        if "p" in {field.name for field in self._simulation.discretization.physics.fields}:
            k = self._mean("kappa") / self._dt
            loss = (p(self._mean("y")) * k)[..., None, None]
            memory = next(
                f.name for f in self._simulation.discretization.physics.fields if f.remembers
            )
            return ["p"], [memory.removesuffix("_1")], -1.0, k[..., None, None], loss, ""
        c11, c33, g, d = (self._mean(n) / self._dt for n in ("c11", "c33", "common", "slack"))
        y11, y33, y_slack = map(self._mean, ("y11", "y33", "y_slack"))
        n = len(axes)
        stiffness = np.zeros((*c11.shape, n, n))
        loss = np.zeros((self._relaxation.mechanisms, *stiffness.shape))
        for matrix, (of_11, of_33, of_13) in (
            (stiffness, (c11, c33, g - d)),
            (loss, (c11 * p(y11), c33 * p(y33), g * p(0.5 * (y11 + y33)) - d * s(y_slack))),
        ):
            matrix[..., : n - 1, : n - 1] = of_11[..., None, None]
            matrix[..., : n - 1, n - 1] = matrix[..., n - 1, : n - 1] = of_13[..., None]
            matrix[..., n - 1, n - 1] = of_33
        if n == 3:
            mu = 1.0 / (self._mean("q66") * self._dt)
            y66 = self._mean("qy66") / self._mean("q66")
            for matrix, of_mu in ((stiffness, mu), (loss, mu * s(y66))):
                matrix[..., 0, 1] -= 2.0 * of_mu
                matrix[..., 1, 0] -= 2.0 * of_mu
        names = [f"s{a}{a}" for a in axes]
        return names, [f"memory_{a}{a}" for a in axes], 1.0, stiffness, loss, ""

    def _shear(self, half: str) -> tuple:
        q, qy = ("q66", "qy66") if half == "xy" else ("q", "qy")
        compliance = self._mean(q, half)
        mu = 1.0 / (compliance * self._dt)
        y = self._mean(qy, half) / compliance
        loss = (self._relaxation.anelastic("s", y) * mu)[..., None, None]
        return [f"s{half}"], [f"memory_{half}"], 1.0, mu[..., None, None], loss, half

    def _stored(self, fields: dict[str, np.ndarray]) -> float:
        rates = self._relaxation.frequencies
        total = 0.0
        for names, memories, sign, stiffness, loss, half in self._groups:
            stress = sign * np.stack([fields[name] for name in names], -1)
            lag = np.array([
                np.stack([fields[f"{name}_{n}"] for name in memories], -1) / rate
                for n, rate in enumerate(rates, 1)
            ])  # fmt: skip
            of_memory = np.einsum("l...ij,l...j->l...i", loss, lag)
            rest = (stress - of_memory.sum(0))[..., None]
            strain = np.linalg.solve(stiffness - loss.sum(0), rest)
            density = (rest * strain).sum((-2, -1)) + (lag * of_memory).sum((0, -1))
            total += 0.5 * np.sum(self._plain.weight(half) * density)
        return total

    def after_a_step(self) -> float:
        """Take a step and give the energy at its beginning."""
        before = self._plain.fields()
        self._simulation.advance(1)
        after = self._plain.fields()
        kinetic = sum(
            0.5 * np.sum(self._plain.weight(f.half) * before[f.name] * after[f.name]
                         * self._plain.density(f.half))
            for f in self._simulation.discretization.physics.fields if f.late
        )  # fmt: skip
        return kinetic * self._dt + self._stored(before)


@pytest.mark.parametrize("steps", [400, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "dimensions", "box"),
    [("viscoelastic", 2, "free"), ("viscoacoustic_variable_density", 2, "rigid"),
     pytest.param("viscoelastic", 2, "rigid", marks=pytest.mark.slow),
     pytest.param("viscoelastic_vti", 2, "rigid", marks=pytest.mark.slow),
     pytest.param("viscoelastic", 3, "rigid", marks=pytest.mark.slow)],
)  # fmt: skip
def test_energy_falls_in_every_step(name, dimensions, box, steps, tmp_path) -> None:
    """Q of 5 to 1000 and velocities anew at every node, near the limit of the step."""
    document = solver.plan(
        name, dimensions, cells=CELLS[dimensions], steps=steps + 9, random_medium=tmp_path,
        boundaries=closed_box(box, dimensions),
        time={"duration": 1.0, "courant": 0.98, "dispersion_removal": False},
    )  # fmt: skip
    generator = np.random.default_rng(7)
    shape = (CELLS[dimensions] + 1,) * dimensions
    for key in sorted({"qp", "qs"} & set(physics_for(name, dimensions).needs)):
        quality = np.exp(generator.uniform(np.log(5.0), np.log(1000.0), shape))
        np.save(tmp_path / f"{key}.npy", quality)
    simulation = solver.build(document, tmp_path)
    solver.silence(simulation)
    solver.add_noise(simulation)
    simulation.advance(1)
    energy = LossyEnergy(simulation)
    found = []
    while simulation.step < steps:
        found += [energy.after_a_step(), energy.after_a_step()]
        simulation.advance(min(18, steps + 8 - simulation.step))
    assert max(np.diff(found)) < 1e-14 * found[0]
    assert 0.0 < found[-1] < 0.7 * found[0]

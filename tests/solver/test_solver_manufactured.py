"""Manufactured solutions in a medium that varies everywhere: the order of the whole scheme.

Smooth fields are chosen freely, one product of cosines each. They solve the equations once every
line of these has a source of its own: what is left when they are put in,

    f_i = (q_i(t + dt/2) - q_i(t - dt/2)) / dt - c_i (d_a q_j + ...)

of which all terms are known exactly (Roache 2002, J. Fluids Eng. 124, 4-10). The difference in time
is the scheme's own, so that none of the error is of time. It is then only that of

* the differences: order 2M in a periodic box, one more than that of its rows under a closed free
  surface (Gustafsson 1975). To see it, c_i is the mean that the scheme forms of the nodes about a
  half point;
* those means: with c_i of the true medium, what varies is carried to second order whatever the
  differences' order.

The formulas run on the NumPy backend here; `test_solver_backends` holds the lanes to it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import solver
from seismo.backends.reference import ReferenceBackend

SIZE = 1000.0  # m, of the box along x and z
MIDDLE = {"x": 0.5 * SIZE, "z": 0.5 * SIZE}
STEP = 1.5e-3  # s: stable on the finest grids
STEPS = {False: 40, True: 80}  # more under a surface, whose few rows show late
RATE = 2 * np.pi * 6.0  # rad/s: a period of 0.17 s, the box is crossed in 0.3 s


@dataclass(frozen=True)
class Cosines:
    """A product of a cosine of x and one of z, each with its waves in the box and phase [rad]."""

    size: float
    x_waves: float
    x_phase: float
    z_waves: float
    z_phase: float

    def __call__(self, x: np.ndarray, z: np.ndarray, along: str = "") -> np.ndarray:
        """Evaluate it, or its derivative along an axis."""
        k = 2 * np.pi / SIZE * np.array([self.x_waves, self.z_waves])
        phases = k[0] * x + self.x_phase, k[1] * z + self.z_phase
        parts = [
            -rate * np.sin(phase) if along == axis else np.cos(phase)
            for axis, rate, phase in zip("xz", k, phases, strict=True)
        ]
        return self.size * parts[0] * parts[1]


# Parameters of the medium: 1 and a smooth part, even about both ends of z.
MEDIUM = {
    "vp": (2500.0, Cosines(0.2, 1, 0.3, 1, 0.0)),
    "vs": (1300.0, Cosines(0.25, 1, 1.4, 1, 0.0)),
    "rho": (2200.0, Cosines(0.3, 1, 2.2, 1, 0.0)),
}
# Of every field: how it varies, in a periodic box and between a free surface and a rigid bottom.
PERIODIC = {
    "vx": Cosines(1.0, 2, 0.1, 1, 0.7), "vy": Cosines(1.0, 2, 0.1, 1, 0.7),
    "vz": Cosines(0.8, 1, 0.9, 2, 0.2), "sxx": Cosines(0.9, 2, 1.3, 1, 1.1),
    "szz": Cosines(1.1, 1, 0.4, 2, 0.5), "sxz": Cosines(0.7, 1, 2.1, 1, 1.9),
    "sxy": Cosines(0.9, 1, 1.3, 2, 1.1), "syz": Cosines(0.7, 2, 2.1, 1, 1.9),
    "p": Cosines(1.0, 2, 1.3, 1, 1.1),
}  # fmt: skip
SINE = -0.5 * np.pi
FREE = {
    "vx": Cosines(1.0, 2, 0.1, 1.0, 0.0),
    "vz": Cosines(0.8, 1, 0.9, 0.75, 0.0),
    "sxx": Cosines(0.9, 2, 1.3, 1.0, 0.0),
    "szz": Cosines(1.1, 1, 0.4, 1.25, SINE),
    "sxz": Cosines(0.7, 1, 2.1, 1.0, SINE),
}
STRESS_SCALE = 5e6  # Pa for 1 m/s

Medium = Callable[..., np.ndarray]


def parameter(name: str) -> Medium:
    mean, part = MEDIUM[name]
    return lambda x, z: mean * (1.0 + part(x, z))


def modulus(name: str) -> Medium:
    """Give rho, the P or S modulus, lambda, or their names in the equations with a sign."""
    vp, vs, rho = (parameter(p) for p in ("vp", "vs", "rho"))
    return {
        "1/rho": lambda x, z: 1.0 / rho(x, z),
        "-1/rho": lambda x, z: -1.0 / rho(x, z),
        "-kappa": lambda x, z: -rho(x, z) * vp(x, z) ** 2,
        "c11": lambda x, z: rho(x, z) * vp(x, z) ** 2,
        "c13": lambda x, z: rho(x, z) * (vp(x, z) ** 2 - 2 * vs(x, z) ** 2),
        "mu": lambda x, z: rho(x, z) * vs(x, z) ** 2,
    }[name]


# d(field)/dt = sum of coefficient * d(other)/d(axis), stage by stage.
RATES = {
    "elastic": (
        {
            "vx": (("1/rho", "sxx", "x"), ("1/rho", "sxz", "z")),
            "vz": (("1/rho", "sxz", "x"), ("1/rho", "szz", "z")),
        },
        {
            "sxx": (("c11", "vx", "x"), ("c13", "vz", "z")),
            "szz": (("c13", "vx", "x"), ("c11", "vz", "z")),
            "sxz": (("mu", "vx", "z"), ("mu", "vz", "x")),
        },
    ),
    "elastic_sh": (
        {"vy": (("1/rho", "sxy", "x"), ("1/rho", "syz", "z"))},
        {"sxy": (("mu", "vy", "x"),), "syz": (("mu", "vy", "z"),)},
    ),
    "acoustic_variable_density": (
        {"vx": (("-1/rho", "p", "x"),), "vz": (("-1/rho", "p", "z"),)},
        {"p": (("-kappa", "vx", "x"), ("-kappa", "vz", "z"))},
    ),
}


def mean_of_nodes(coefficient: Medium, x, z, half: str, h: float) -> np.ndarray:
    """Average a coefficient over the nodes about a half point, in its inverse as the scheme does.

    1 / rho and the shear modulus are the only ones that stand at half points: arithmetic means of
    densities, harmonic ones of moduli.
    """
    shifts = {a: (-0.5 * h, 0.5 * h) if a in half else (0.0,) for a in "xz"}
    inverse = [1.0 / coefficient(x + dx, z + dz) for dx in shifts["x"] for dz in shifts["z"]]
    return 1.0 / np.mean(inverse, axis=0)


class Manufactured:
    """One equation on n by n cells, driven along the chosen fields."""

    def __init__(
        self, name: str, order: int, cells: int, folder: Path, *, surface=False, averaged=True
    ) -> None:
        self.h, self.fields = SIZE / cells, FREE if surface else PERIODIC
        self.simulation = _simulation(name, order, cells, folder, surface)
        self.part = self.simulation.solvers[0]
        self.averaged = averaged
        self.physics = self.simulation.discretization.physics
        for field in self.physics.fields:
            self.inside(field.name)[:] = self.exact(field.name, 0)
        self._fill(*(f.name for f in self.physics.fields))
        self.sources = [
            {field: self._terms(field, terms) for field, terms in stage.items()}
            for stage in RATES[name]
        ]

    def place(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Give the coordinates x (1, nx) and z (nz, 1) of a field's points in m."""
        half, grid = self.physics.named(name).half, self.simulation.discretization.grid
        x, z = (self.h * (np.arange(grid.points["xyz".index(a)]) + 0.5 * (a in half)) for a in "xz")
        return x[None, :], z[:, None]

    def inside(self, name: str) -> np.ndarray:
        """Give the view (nz, nx) of a field that the solver steps."""
        return self.part.subdomain.inside(self.part.fields.arrays(0)[name])[0, :, 0]

    def time(self, name: str, step: int) -> float:
        """Give the time in s at which a field stands after so many steps."""
        return STEP * (step - 0.5 * self.physics.named(name).late)

    def scale(self, name: str) -> float:
        """Give the size of a field: 1 m/s, or the stress that goes with it."""
        return 1.0 if name.startswith("v") else STRESS_SCALE

    def swing(self, name: str, time: float) -> float:
        """Give the factor of a field at a time in s."""
        return self.scale(name) * np.cos(RATE * time + 0.4 * (not name.startswith("v")))

    def exact(self, name: str, step: int) -> np.ndarray:
        """Give the chosen field (nz, nx) after so many steps."""
        return self.fields[name](*self.place(name)) * self.swing(name, self.time(name, step))

    def _terms(self, name: str, terms) -> list[tuple[str, np.ndarray]]:
        """Give what the equations would change in a second by the fields: (other, values)."""
        x, z = self.place(name)
        half, found = self.physics.named(name).half, []
        for coefficient, other, axis in terms:
            medium = modulus(coefficient)
            here = mean_of_nodes(medium, x, z, half, self.h) if self.averaged else medium(x, z)
            found.append((other, here * self.fields[other](x, z, axis)))
        return found

    def _fill(self, *names: str) -> None:
        for stage in self.physics.stages:
            if set(names) & set(stage.writes):
                for fill in self.part.images[0][stage.name]:
                    fill()

    def advance(self, step: int) -> None:
        """Take a step: each stage, then the sources of what it wrote."""
        driven = iter(self.sources)
        for bound in self.part.stages:
            for launch in (*bound.edges[0], *bound.core[0]):
                launch()
            if bound.stage.where == "everywhere":
                self._drive(next(driven), step)
            self._fill(*bound.stage.writes)

    def _drive(self, sources, step: int) -> None:
        for name, terms in sources.items():
            change = self.exact(name, step + 1) - self.exact(name, step)
            middle = 0.5 * (self.time(name, step) + self.time(name, step + 1))
            for other, values in terms:
                change = change - STEP * self.swing(other, middle) * values
            self.inside(name)[:] += change

    def error(self) -> float:
        """Run, and give the largest error of any field over that field's largest value."""
        steps = STEPS[self.fields is FREE]
        for step in range(steps):
            self.advance(step)
        found = []
        for field in self.physics.fields:
            valid = slice(None, -1) if "z" in field.half and self.fields is FREE else slice(None)
            wanted = self.fields[field.name](*self.place(field.name)) * self.scale(field.name)
            final = self.exact(field.name, steps)
            found.append(
                np.abs(self.inside(field.name) - final)[valid].max() / np.abs(wanted).max()
            )
        return max(found)


def _simulation(name: str, order: int, cells: int, folder: Path, surface: bool):
    h = SIZE / cells
    node = h * np.arange(cells + 1)
    physics = solver.physics_for(name, 2)
    arrays = {
        key: parameter(key)(node[None, :], node[:, None])
        for key in dict.fromkeys(("vp", *physics.needs))
    }
    faces = dict.fromkeys(("top", "bottom", "x_min", "x_max"), "periodic")
    if surface:
        faces |= {"top": "free_surface", "bottom": "rigid"}
    document = solver.plan(
        name, 2, order=order, steps=None, boundaries=faces, averaging="point",
        grid={"extent": {"x": SIZE, "z": SIZE}, "spacing": h, "order": order,
              "stencil": "taylor"},
        time={"duration": STEPS[surface] * STEP, "step": STEP, "dispersion_removal": False},
        model=solver.gridded(folder, arrays),
        receivers=[], sources=[solver.source(physics, next(iter(physics.drives)), MIDDLE)],
    )  # fmt: skip
    for part in document["model"]:
        for key in arrays:
            part[key]["spacing"] = {"x": h, "z": h}
    simulation = solver.build(document, folder, backend=ReferenceBackend)
    solver.silence(simulation)
    return simulation


def slope(folder: Path, name: str, order: int, grids: tuple[int, int], **how) -> float:
    coarse, fine = (Manufactured(name, order, n, folder, **how).error() for n in grids)
    assert fine > 1e-9, "rounding, not truncation"
    return float(np.log(coarse / fine) / np.log(grids[1] / grids[0]))


# Cells along the box, in which the shortest field has two waves.
GRIDS = {2: (16, 24), 4: (18, 30), 8: (20, 28)}


@pytest.mark.parametrize(
    ("name", "order"),
    [
        pytest.param(name, n, marks=[pytest.mark.slow] * ((name, n) != ("elastic", 4)))
        for name in RATES for n in GRIDS
    ],
)  # fmt: skip
def test_order_in_a_varying_medium(tmp_path: Path, name: str, order: int) -> None:
    """Orders 2, 4, 8 at 8 to 12 points per wavelength; speeds vary by 40 to 50 %."""
    assert slope(tmp_path, name, order, GRIDS[order]) > order - 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        (4, 3),
        pytest.param(2, 2, marks=pytest.mark.slow),
        pytest.param(8, 4, marks=pytest.mark.slow),
    ],
)
def test_order_under_a_free_surface(tmp_path: Path, order: int, wanted: int) -> None:
    """The rows under the surface in a medium that varies along and across it."""
    assert slope(tmp_path, "elastic", order, (16, 32), surface=True) > wanted - 0.2


@pytest.mark.parametrize("name", solver.slow_but({"elastic_sh"}, RATES))
def test_a_varying_medium_is_carried_to_second_order(tmp_path: Path, name: str) -> None:
    """With the true medium at half points, differences of order 8 leave the means' error."""
    found = slope(tmp_path, name, 8, (20, 30), averaged=False)
    assert 1.8 < found < 2.5

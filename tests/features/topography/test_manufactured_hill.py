"""Manufactured P-SV waves under a hill: what a slope adds to the error of level ground.

The hill, 0.05 high and exp(-(x / 0.15)^2) wide in units of the longest wavelength, is that which
SW4 measures itself with (examples/twilight/gauss-twi). Velocities are those of level ground, at the
true z of points. The stress is s_tt t t^T beside parts that vanish on the ground, t along it there,
so that its traction vanishes. What these fields lack to solve the equations are sources, as in
`test_solver_manufactured`; derivatives of them are differences of order 8, exact to 1e-9.
"""

from pathlib import Path

import numpy as np
import pytest

import solver
from seismo.backends.cpu.backend import CpuBackend
from seismo.equations.framework.registry import physics_for
from seismo.solver import discretize
from seismo.solver.closure_choice import FreeSurface
from test_solver_manufactured import FREE, SIZE, Manufactured

HEIGHT = 0.05 * SIZE  # m
WIDTH = 0.15 * SIZE
WAVES = 3  # wavelengths along x: the hill stands far from the periodic sides
STRETCH = 0.4 * SIZE  # m below the ground, where what follows it has become level
DURATION = 0.8 * SIZE / 2500.0  # s
RATE = 2.0 * np.pi * 2500.0 / SIZE  # rad/s
ROCK = (2500.0, 1300.0, 2200.0)  # vp, vs in m/s, rho in kg/m3
APART = 1e-3 * SIZE  # m
CENTRAL = np.array([4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0])  # of order 8


def differentiated(function, x, z, along):
    """Return the derivative of a function of x and z along an axis, by central differences."""
    if not along:
        return function(x, z)
    dx, dz = (APART * (along == a) for a in "xz")
    return sum(
        c * (function(x + n * dx, z + n * dz) - function(x - n * dx, z - n * dz))
        for n, c in enumerate(CENTRAL, 1)
    ) / APART  # fmt: skip


class Fields:
    """The chosen fields, as functions of x and the true z."""

    def __init__(self, topography) -> None:
        self.topography = topography

    def ground(self, x, along=""):
        """Return z in m of the ground, or its slope."""
        if self.topography is None:
            return 0.0 * x
        inner = np.broadcast_to(x, np.shape(x))
        below = self.topography.surface(None, inner, along=along)
        return below if along else below + self.topography.level

    def below(self, x, z):
        """Return a depth that is 0 on the ground, and z where it is level."""
        down = z - self.ground(x)
        return z - self.ground(x) * np.exp(-((down / STRETCH) ** 4))

    def along(self, x, z):
        """Return t, of length 1."""
        slope = self.ground(x, "x") * np.exp(-(((z - self.ground(x)) / STRETCH) ** 4))
        size = np.hypot(1.0, slope)
        return 1.0 / size, slope / size

    def __call__(self, name, x, z, along=""):
        """Return a field, or its derivative along an axis."""
        return differentiated(lambda x, z: self._value(name, x, z), x, z, along)

    def _value(self, name, x, z):
        if name.startswith("v"):
            return FREE[name](x, z)
        s = self.below(x, z)
        tx, tz = self.along(x, z)
        pair = {"x": tx, "z": tz}
        along = FREE["sxx"](x, s) * pair[name[1]] * pair[name[2]]
        return along + (0.0 if name == "sxx" else FREE[name](x, s))


class Hill(Manufactured):
    """P-SV waves on a grid of so many cells to the longest wavelength, with a hill or level."""

    def __init__(self, order: int, cells: int, folder: Path, height: float) -> None:
        self.h = SIZE / cells
        self.steps = round(DURATION / (0.3 * self.h / 3000.0))
        self.step = DURATION / self.steps
        self.simulation = _simulation(order, self.h, self.step, self.steps, folder, height)
        self.part = self.simulation.solvers[0]
        self.physics = self.simulation.discretization.physics
        self.fields = Fields(self.simulation.discretization.vertical)
        self.named = [f.name for f in self.physics.fields if f.buffer is None and not f.on_surface]
        self._places = {name: self._place(name) for name in self.named}
        self._known = {name: self.fields(name, *self._places[name]) for name in self.named}
        for name in self.named:
            self.inside(name)[:] = self.exact(name, 0)
        self._fill(*self.named)
        self.sources = self._sources()

    def _place(self, name):
        half, grid = self.physics.named(name).half, self.simulation.discretization.grid
        x, s = (
            np.asarray(
                grid.coordinate(a, np.arange(grid.points["xyz".index(a)]) + 0.5 * (a in half))
            )
            for a in "xz"
        )
        topography = self.simulation.discretization.vertical
        z = s[:, None] + 0.0 * x if topography is None else topography.z(s[:, None], None, x)
        return x[None, :] + 0.0 * z, z

    def place(self, name):
        """Give the true coordinates x and z (nz, nx) of a field's points in m."""
        return self._places[name]

    def time(self, name: str, step: int) -> float:
        """Give the time in s at which a field stands after so many steps."""
        return self.step * (step - 0.5 * self.physics.named(name).late)

    def swing(self, name: str, time: float) -> float:
        """Give the factor of a field at a time in s."""
        return self.scale(name) * np.cos(RATE * time + 0.4 * (not name.startswith("v")))

    def exact(self, name: str, step: int) -> np.ndarray:
        """Give the chosen field (nz, nx) after so many steps."""
        return self._known[name] * self.swing(name, self.time(name, step))

    def _sources(self):
        # Uniform rock: what the fields would change in a second, by name of the other.
        vp, vs, rho = ROCK
        c11, mu = rho * vp**2, rho * vs**2
        rates = (
            {"vx": ((1 / rho, "sxx", "x"), (1 / rho, "sxz", "z")),
             "vz": ((1 / rho, "sxz", "x"), (1 / rho, "szz", "z"))},
            {"sxx": ((c11, "vx", "x"), (c11 - 2 * mu, "vz", "z")),
             "szz": ((c11 - 2 * mu, "vx", "x"), (c11, "vz", "z")),
             "sxz": ((mu, "vx", "z"), (mu, "vz", "x"))},
        )  # fmt: skip
        return [
            {name: [(other, c * self.fields(other, *self._places[name], axis))
                    for c, other, axis in terms] for name, terms in stage.items()}
            for stage in rates
        ]  # fmt: skip

    def _drive(self, sources, step: int) -> None:
        for name, terms in sources.items():
            change = self.exact(name, step + 1) - self.exact(name, step)
            middle = 0.5 * (self.time(name, step) + self.time(name, step + 1))
            for other, values in terms:
                change = change - self.step * self.swing(other, middle) * values
            self.inside(name)[:] += change

    def errors(self) -> tuple[float, float]:
        """Run; return the error of velocities of 1 m/s about the hill, L2 and largest."""
        for step in range(self.steps):
            self.advance(step)
        squares = []
        most = []
        for name in ("vx", "vz"):
            x, z = self._places[name]
            inner = (np.abs(x - 0.5 * WAVES * SIZE) <= 0.5 * SIZE) & (z < SIZE)
            off = (self.inside(name) - self.exact(name, self.steps))[inner]
            squares.append(np.mean(off**2))
            most.append(np.abs(off).max())
        return float(np.sqrt(sum(squares))), max(most)


def _simulation(order, h, step, steps, folder, height):
    """Build the run; the bottom of all lies at z = SIZE."""
    physics = physics_for("elastic", 2)
    sides = dict.fromkeys(("x_min", "x_max"), "periodic")
    hills = [{"center": {"x": 0.5 * WAVES * SIZE}, "height": height, "width": WIDTH}]
    document = solver.plan(
        "elastic", 2, order=order, steps=None,
        boundaries={"top": "free_surface", "bottom": "rigid", **sides},
        grid={"extent": {"x": WAVES * SIZE, "z": SIZE}, "spacing": h, "order": order,
              "stencil": "taylor", "origin": {"z": 0.0}},
        time={"duration": steps * step, "step": step, "dispersion_removal": False},
        model=[{"type": "uniform", **dict(zip(("vp", "vs", "rho"), ROCK, strict=True))}],
        receivers=[],
        sources=[solver.source(physics, "force", {"x": 0.5 * SIZE, "z": 0.5 * SIZE})],
    )  # fmt: skip
    if height:
        document["grid"]["origin"] = {"z": -h * np.ceil(height / h)}
        document["grid"]["extent"]["z"] = SIZE + h * np.ceil(height / h)
        document["topography"] = {"type": "hills", "hills": hills}
    simulation = solver.build(document, folder, backend=CpuBackend)
    solver.silence(simulation)
    return simulation


def errors(order, cells, folder, monkeypatch, height):
    """Run it with the plain closure, which rows that follow the ground have."""
    monkeypatch.setattr(discretize, "free_surface", lambda *_: FreeSurface(0, 0.0))
    return Hill(order, cells, folder, height).errors()


@pytest.mark.parametrize("order", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_a_hill_costs_little_at_30_points(tmp_path, monkeypatch, order):
    """SW4 errs 1.6 times as much under it as on level ground, in L2, and 2.5 times at most."""
    hill, level = (errors(order, 30, tmp_path, monkeypatch, height) for height in (HEIGHT, 0.0))
    assert hill[0] < 1.7 * level[0]
    assert hill[1] < 2.5 * level[1]


@pytest.mark.slow
@pytest.mark.parametrize(("order", "wanted"), [(4, 3.4), (8, 4.0)])
def test_errors_under_a_hill_fall(tmp_path, monkeypatch, order, wanted):
    coarse, fine = (errors(order, cells, tmp_path, monkeypatch, HEIGHT)[0] for cells in (30, 60))
    assert np.log2(coarse / fine) > wanted

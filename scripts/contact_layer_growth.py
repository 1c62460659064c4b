"""How fast waves along flat contacts grow in an absorbing layer, by the differences of a run.

    python scripts/contact_layer_growth.py [sea_bed | open_sea_bed | solids | surface] [--order 8]

prints, for contrasts, vp / vs and places of the contact in its cell, the largest growth rate in an
even layer, times h / vp. A wave grows where its phase and its energy run in opposite directions
(Becache, Fauqueux & Joly 2003). Rows at a contact, with differences or averages of their own, may
guide such waves of two to three points, which nothing that a source radiates shows.

The differences are those of a run between periodic faces, as they are: what one step makes of a
unit in each row of each field, transformed along x. Parts that are odd in k are the derivatives
along x, which a layer stretches: with y all fields and X their share that is odd::

    dy/dt = (Z + X) y + p,    dp/dt = -(d + alpha) p - d X y

Rows next to the bottom, and to the top where it is no free surface, are damped, so that what leaves
the contact does not come back. Of soft ground on rock under a free surface waves grow that exist:
those a run damps from some step on (`seismo.features.guided_waves.guides`). Measured: none beside a
sea bed (vs 300 to 3000 m/s, vp / vs 1.5 to 3, six places), nor between two solids (1:1.2 to 1:5 in
velocity).
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.backends.select import choose
from seismo.features.contacts import contact as fluid_solid_contact
from seismo.scenario import from_dict
from seismo.solver.simulation import Simulation, build

FIELDS = ("vx", "vz", "sxx", "szz", "sxz")
HALF = {"x": ("vx", "sxz"), "z": ("vz", "sxz")}  # what stands on half points
SPACING, ROWS, ALONG = 10.0, 36, 40
SPONGE, FRICTION = 12, 0.5  # rows whose fields are damped by so much, times vp / h
LAYER, SHIFT = 0.6, 0.03  # d and alpha, times vp / h
STATIC = 0.03  # angular frequency, times vp / h, up to which nothing is looked at
WAVENUMBERS = (0.1, 0.2, 0.32, 0.6, 1.2, 2.2)  # times h
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}


def simulation_of(layers: list[dict], top: str, order: int, closed: bool) -> Simulation:
    """Build a run of flat layers (depths in m), without sources."""
    speed = min(layer["vs"] or layer["vp"] for layer in layers)
    sides = {"x_min": "periodic", "x_max": "periodic", "bottom": "rigid", "top": top}
    document = {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": ALONG * SPACING, "z": ROWS * SPACING}, "spacing": SPACING,
                 "order": order},
        "time": {"duration": 10.0, "dispersion_removal": False},
        "boundaries": sides,
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{"type": "force", "position": {"x": 83.0, "z": (ROWS - 4) * SPACING},
                     "force": {"x": 1.0},
                     "wavelet": {"type": "ricker", "frequency": speed / (12.5 * SPACING)}}],
        "receivers": [{"type": "points", "positions": [{"x": 60.0, "z": (ROWS - 9) * SPACING}]}],
    }  # fmt: skip
    has_room = fluid_solid_contact._has_clearance if closed else lambda *found: False
    with mock.patch.object(fluid_solid_contact, "_has_clearance", has_room):
        simulation = build(from_dict(document), choose("cpu", threads=1))
    simulation.load([Shot("silence", ())])
    return simulation


def responses(simulation: Simulation) -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """Return what a step makes (rows, x) of a unit in each row of each field, by that."""
    (part,) = simulation.solvers
    arrays = {name: part.fields.arrays(0)[name] for name in FIELDS}
    nx, _, nz = simulation.discretization.grid.points
    made = {}
    for name, row in product(FIELDS, range(nz)):
        for array in arrays.values():
            array[...] = 0.0
        part.subdomain.inside(arrays[name])[0, row, 0, nx // 2] = 1.0
        simulation.advance(1)
        made[name, row] = {read: simulation.field(read)[0, :, 0].copy() for read in FIELDS}
    return made


class ContactWaves:
    """The waves along the rows of a run."""

    def __init__(
        self, layers: list[dict], top: str = "rigid", order: int = 8, closed: bool = True
    ) -> None:
        """Take layers as a scenario has them, and what the rows of a run are made of.

        Args:
            layers: their depths in m, and media.
            top: the kind of the top face.
            order: of the differences.
            closed: whether a sea bed has room for one-sided differences.
        """
        self._simulation = simulation_of(layers, top, order, closed)
        self._made = responses(self._simulation)
        nx, _, self._rows = self._simulation.discretization.grid.points
        self._x = np.arange(nx) - nx // 2
        self._closed_top = top == "free_surface"
        extremes = self._simulation.discretization.extremes
        # Stresses in units of an impedance: numbers of like size.
        impedance = 2000.0 * extremes.vp_max
        self._units = np.repeat([1.0, 1.0, *(3 * [1.0 / impedance])], self._rows)
        self._rate = SPACING / extremes.vp_max

    def growth(self, wavenumber: float) -> float:
        """Return the largest growth rate in a layer, times h / vp, of a wavenumber times h."""
        rates = self._matrix(wavenumber)
        # Odd parts, which are imaginary, are the derivatives along x.
        stretched = 1j * rates.imag
        damped = np.diag(self._friction())
        one = np.eye(len(rates))
        system = np.block([
            [rates - damped, one], [-LAYER * stretched, -(LAYER + SHIFT) * one],
        ])  # fmt: skip
        growths = np.linalg.eigvals(system)
        return float(growths[np.abs(growths.imag) > STATIC].real.max())

    def _matrix(self, wavenumber: float) -> np.ndarray:
        """Return the rates of change of all fields by all fields, times h / vp."""
        n = self._rows
        found = np.zeros((len(FIELDS) * n, len(FIELDS) * n), complex)
        for (source, row), read in self._made.items():
            column = FIELDS.index(source) * n + row
            # Velocities change by stresses, and stresses by velocities of the same step.
            for k, name in enumerate(FIELDS):
                if (name[0] == "v") != (source[0] == "v"):
                    shift = 0.5 * ((name in HALF["x"]) - (source in HALF["x"]))
                    waves = np.exp(-1j * wavenumber * (self._x + shift))
                    found[k * n : (k + 1) * n, column] = read[name] @ waves
        found *= self._rate / self._simulation.dt
        return self._units[:, None] * found / self._units

    def _friction(self) -> np.ndarray:
        """Return the damping of every row of every field."""
        dampings = []
        for name in FIELDS:
            row = np.arange(self._rows) + 0.5 * (name in HALF["z"])
            depth = row - (self._rows - 1 - SPONGE)
            if not self._closed_top:
                depth = np.maximum(depth, SPONGE - row)
            dampings.append(FRICTION * np.clip(depth / SPONGE, 0.0, 1.0) ** 2)
        return np.concatenate(dampings)


def pair(above: dict[str, float], below: dict[str, float], cells: float) -> list[dict[str, Any]]:
    """Return two media whose contact lies so many cells deep."""
    return [{"top": 0.0, **above}, {"top": cells * SPACING, **below}]


def rock(vs: float, ratio: float) -> dict[str, float]:
    """Return rock of a shear velocity in m/s and a vp / vs."""
    return {"vp": vs * ratio, "vs": vs, "rho": 310.0 * (1.7 * vs) ** 0.25}


def cases(kind: str):
    """Yield names, layers and the top face."""
    for ratio, place in product((1.5, 1.73, 2.2, 3.0), (0.0, 0.2, 0.4, 0.5, 0.6, 0.8)):
        for vs in (300.0, 600.0, 1000.0, 1800.0, 3000.0) if "sea_bed" in kind else ():
            yield (vs, ratio, place), pair(WATER, rock(vs, ratio), 18.0 + place), "rigid"
        for contrast in (1.2, 1.5, 2.0, 3.0, 5.0) if "sea_bed" not in kind else ():
            media = rock(1000.0, ratio), rock(1000.0 * contrast, ratio)
            cells, top = (18.0, "rigid") if kind == "solids" else (2.0, "free_surface")
            yield (contrast, ratio, place), pair(*media, cells + place), top


def main() -> None:
    """Print the growth of all cases of a kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    kinds = ("sea_bed", "open_sea_bed", "solids", "surface")
    parser.add_argument("kind", nargs="?", choices=kinds, default=kinds[0])
    parser.add_argument("--order", type=int, default=8)
    arguments = parser.parse_args()
    for name, layers, top in cases(arguments.kind):
        waves = ContactWaves(layers, top, arguments.order, arguments.kind != "open_sea_bed")
        print(*name, f"{max(waves.growth(k) for k in WAVENUMBERS):.1e}", sep="  ", flush=True)


if __name__ == "__main__":
    main()

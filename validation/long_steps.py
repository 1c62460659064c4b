"""Longer time steps by bounded differences (`grid.stencil: long_steps`).

Rayleigh waves after 8 to 40 shortest wavelengths along a half-space (as in `rayleigh_path`), and
forces and moments in the whole space (as in `elastic_whole_space`), at 7 to 14 points per shortest
wavelength, with the default accuracy of 1 %. Relative L2 norm of the receiver against the exact
solutions. Rows say by how much steps are longer than with fitted coefficients; others what `check`
expects over what is found, and the reverse.
"""

from __future__ import annotations

import cases
import elastic_whole_space
import numpy as np
import rayleigh_path

from seismo.exact import layered_plane, metrics, whole_space
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.runs.prediction.accuracy import expected_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

RATIO = 3**0.5  # vp / vs
BAR = 0.005
PATHS = {7: 8, 10: 40, 14: 40}  # shortest wavelengths by points in each


def compared(scenario: dict, label: str, points: int, exact) -> list[cases.Row]:
    """Run a scenario with longer steps; return its error, and what is expected over it.

    Args:
        scenario: with fitted coefficients.
        label: of the row.
        points: per shortest wavelength.
        exact: gives the traces (receiver, component, time) of a run.
    """
    fitted = discretize(from_dict(scenario)).clock.limit
    scenario["grid"]["stencil"] = "long_steps"
    run = cases.simulate(scenario)
    discretization = run.simulation.discretization
    longer = discretization.clock.limit / fitted - 1.0
    wanted = exact(run)
    names = ("vx", "vy", "vz") if wanted.shape[1] == 3 else ("vx", "vz")
    error = metrics.relative_l2(run.components(*names)[0], wanted[0])
    label = f"{label}, steps {100.0 * longer:.0f} % longer"
    ratio = expected_error(discretization).error / error
    return [
        cases.Row(label, f"{points} ppw", error, BAR),
        cases.Row(f"{label}: expected over found", f"{points} ppw", ratio, 3.0, unit=""),
        cases.Row(f"{label}: found over expected", f"{points} ppw", 1.0 / ratio, 2.0, unit=""),
    ]


def along_a_surface(points: int) -> list[cases.Row]:
    """Compare a Rayleigh wave."""
    far = PATHS[points] * rayleigh_path.SHORTEST
    medium = Medium(RATIO * rayleigh_path.VS, rayleigh_path.VS, 2000.0)

    def exact(run: cases.Run) -> np.ndarray:
        return layered_plane.force_response(
            Stack((medium,), (0.0,)), np.array([0.0, 0.6 * rayleigh_path.SHORTEST]),
            np.array([[far, 0.0]]), np.array([0.0, 1.0]), run.source, run.dt, "velocity",
        )  # fmt: skip

    given = rayleigh_path.scenario(points, RATIO, 8, far)
    label = f"Rayleigh wave after {PATHS[points]} shortest wavelengths"
    return compared(given, label, points, exact)


def in_the_whole_space(dimensions: int, points: int, name: str) -> list[cases.Row]:
    """Compare a force or a moment."""
    part, strength = cases.forces_and_moments(dimensions)[name]
    rock = elastic_whole_space.MEDIUM
    frequency = elastic_whole_space.FREQUENCY
    offset = elastic_whole_space.OFFSET[dimensions]

    def exact(run: cases.Run) -> np.ndarray:
        source = offset[None], strength, run.source, run.dt, rock, "velocity"
        if strength.ndim == 1:
            return whole_space.force_response(*source)
        return whole_space.moment_response(*source, "moment")

    h = rock.vs / (2.5 * frequency) / points
    medium = {"vp": rock.vp, "vs": rock.vs, "rho": rock.rho}
    given = cases.whole_space("longer steps", medium, frequency, offset, h, part, {})
    return compared(given, f"whole space, {dimensions}-D, {name}", points, exact)


def case(quick: bool) -> list[cases.Row]:
    """Compare Rayleigh waves, and body waves of the whole space."""
    rows = [row for points in PATHS if not quick or points == 10 for row in along_a_surface(points)]
    for dimensions, points in ((2, 7), (2, 10), (3, 10)):
        if dimensions == 2 or not quick:
            rows += in_the_whole_space(dimensions, points, "Fx")
            rows += in_the_whole_space(dimensions, points, "Mxz")
    return rows


if __name__ == "__main__":
    cases.main(case)

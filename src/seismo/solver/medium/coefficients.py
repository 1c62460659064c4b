"""The averages of the earth that formulas take on a subdomain, and the arrays made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from seismo.features import acting
from seismo.grid.decomposition import Subdomain
from seismo.grid.stretching import moved
from seismo.model.effective.averaging import cell_average
from seismo.model.effective.cells import GridCells
from seismo.solver.absorbing.layer_collar import changed
from seismo.solver.medium.node_medium import node_medium, nodes_of
from seismo.solver.surface.boundary_images import turned_off

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization


Averages = dict[str, np.ndarray]  # (z, y, x) by name


def medium_of(discretization: Discretization, subdomain: Subdomain) -> Averages:
    """Return the averages (z, y, x) that the coefficients are made of."""
    medium = node_medium(discretization, subdomain)
    # Rows that features correct have a medium of their own.
    for adjust in acting("row_media", discretization.scenario):
        adjust(discretization, subdomain, medium)
    if "rho" in medium:
        medium |= _own_densities(discretization, subdomain, medium["rho"])
    return medium


def layer_medium_of(
    discretization: Discretization, subdomain: Subdomain, medium: Averages
) -> tuple[Averages, Callable[[np.ndarray], np.ndarray]]:
    """Return the medium with that of absorbing layers, and what spreads arrays of it over (y, x).

    It may be changed in place.
    """
    for in_layers in acting("layer_media", discretization.scenario):
        changed: tuple[Averages, Callable] | None = in_layers(discretization, subdomain, medium)
        if changed is not None:
            return changed
    return medium, lambda array: array


def coefficients_of(
    discretization: Discretization, subdomain: Subdomain, medium: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the arrays of the formulas, with dt; rigid faces and layers change some."""
    physics = discretization.physics
    coefficients = physics.coefficients(medium, discretization.clock.dt)
    coefficients = turned_off(coefficients, physics.odd, discretization.image_faces, subdomain)
    # Media whose waves would grow in layers change over the collar.
    collar = discretization.scenario.equation.beside_layers
    return changed(coefficients, collar, discretization.grid, subdomain) if collar else coefficients


def _own_densities(
    discretization: Discretization, subdomain: Subdomain, rho: np.ndarray
) -> dict[str, np.ndarray]:
    """Average densities about the velocities, in the planes z that keep them.

    Where a cell holds any solid, there or at the two nodes beside it, they are the mean of these
    nodes; so they are in all other planes of a layered earth.

    Args:
        discretization: the run.
        subdomain: whose points and halo.
        rho: averages (z, y, x) at the nodes.
    """
    names = [name for name in discretization.physics.sparse if name.startswith("rho_")]
    if not names:
        return {}
    # Planes z that keep a density for each component.
    kept = discretization.uneven[discretization.physics.sparse[names[0]]]
    layered = discretization.earth.layered
    if not (kept.any() or layered):
        return dict.fromkeys(names, np.zeros((1, 1, 1)))
    first, last = (end[2] + n * subdomain.halo
                   for end, n in ((subdomain.owned.lo, -1), (subdomain.owned.hi, 1)))  # fmt: skip
    planes = np.flatnonzero(kept[np.clip(np.arange(first, last), 0, kept.size - 1)])
    beyond = np.append(planes, planes + 1).clip(max=len(rho) - 1)  # they and the next ones
    # Cells that hold any solid have no density of a fluid (NaN).
    solid = np.isnan(_density(discretization, subdomain, names[0], beyond, ""))
    densities = {}
    for name in names:
        axis = "zyx".index(name[-1])
        mean = 0.5 * (rho + _next(rho, axis)) if layered else np.zeros(rho.shape)
        # Effective density where the velocity stands; beside solids the mean of two nodes.
        effective = _density(discretization, subdomain, name, planes, name[-1])
        is_solid, is_solid_below = np.split(solid, 2)
        solid_next = is_solid_below if axis == 0 else _next(is_solid, axis)
        dry = np.isnan(effective) | is_solid | solid_next
        pair = rho[beyond].reshape(2, len(planes), *rho.shape[1:])
        beside = pair[1] if axis == 0 else _next(pair[0], axis)
        mean[planes] = np.where(dry, 0.5 * (pair[0] + beside), effective)
        densities[name] = mean
    return densities


def _density(
    discretization: Discretization,
    subdomain: Subdomain,
    name: str,
    planes: np.ndarray,
    axis: str,
) -> np.ndarray:
    """Average a density (planes, y, x) half a cell along an axis from the nodes ("": at them)."""
    nodes = nodes_of(discretization, subdomain)
    z, x = (discretization.grid.coordinate(a, nodes[a]) for a in "zx")
    y = discretization.grid.coordinate("y", nodes["y"]) if "y" in nodes else None
    # The cell about a velocity, half a cell along its axis.
    sizes = discretization.grid.cells
    z, x = (moved(sizes, a, at, 0.5 * (a == axis)) for a, at in (("z", z[planes]), ("x", x)))
    y = None if y is None else moved(sizes, "y", y, 0.5 * (axis == "y"))
    averaging = discretization.scenario.averaging
    density = cell_average(
        discretization.own_earth, GridCells(z, y, x, sizes), (name,), averaging, dtype=np.float64
    )[name]
    return density[:, None, :] if density.ndim == 2 else density


def _next(array: np.ndarray, axis: int) -> np.ndarray:
    """Return the values of the next points along an axis; those of the last ones stay."""
    count = array.shape[axis]
    return array.take(np.minimum(np.arange(count) + 1, count - 1), axis)

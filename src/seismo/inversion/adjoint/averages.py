"""Averages of a model over the cells of a grid, and their transpose.

Effective media (`seismo.model.effective`) are functions of means over cells of functions of the
values at their samples, g(<f(m)>), and samples are interpolated between nodes. A tape runs through
the functions that the forward run itself calls, slab by slab, and the interpolation is transposed:

    derivative by m = interpolation^T f'(m) <.>^T g'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, Literal

import numpy as np

from seismo.grid.grid import Bounds, moved
from seismo.inversion.adjoint.extent import in_extent, in_layers_zero, on_grid
from seismo.inversion.adjoint.tape import Tangents, TapedArray, propagate, value_of
from seismo.model.earth import Earth
from seismo.model.effective import Clamp, GridCells
from seismo.model.effective.averaging import (
    PREFIX,
    averages_by_rows,
    averages_of,
    effective_medium,
    is_told_by_rock,
    modulus_of,
    of_rock,
    without_losses,
)
from seismo.model.node_values import NodeValues, nodes_along, with_values
from seismo.solver.discretization import Discretization

# Losses of isotropic rock, and those that are the same.
_ALIKE = {"y_c33": "y_c11", "y_slack": "y_c44", "y_c66": "y_c44", "y_mu_xy": "y_mu_yz"}
MediumAverages = dict[str, np.ndarray]


@dataclass(frozen=True)
class TapedEarth:
    """An earth of values at nodes, whose samples remember them.

    Attributes:
        earth: the earth.
        arrays: by parameter, (z, [y,] x) at the nodes.
    """

    earth: Earth
    arrays: Mapping[str, TapedArray]

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.earth.needs

    @property
    def clamp(self) -> Clamp:
        """The interior, beyond which it goes on as at its edge."""
        return self.earth.clamp

    @property
    def layered(self) -> bool:
        """Whether it varies with depth only."""
        return self.earth.layered

    @property
    def gridded(self) -> bool:
        """Whether a part varies within cells anywhere."""
        return self.earth.gridded

    @property
    def stiffer(self) -> TapedEarth:
        """The same with larger moduli."""
        return replace(self, earth=self.earth.stiffer)

    def grown(self, share: float) -> TapedEarth:
        """Return the same with moduli that are so many times their y larger."""
        return replace(self, earth=replace(self.earth, growth=share))

    @property
    def column_averages(self) -> dict[Any, Any]:
        """No averages down a column: values at nodes vary along all axes."""
        return {}

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where boxes hold several media."""
        return self.earth.uneven(low, high)

    def varies(self, low: Bounds, high: Bounds, density: bool = False) -> bool:
        """Whether values vary within boxes."""
        return self.earth.varies(low, high, density)

    def inside(self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> Bounds:
        """Return coordinates clamped to the interior."""
        return self.earth.inside(z, y, x)

    def sample(
        self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray | float = 0.0
    ) -> dict[str, TapedArray]:
        """Return each parameter (broadcast shape) at coordinates in m."""
        (model_part,) = (p for p in self.earth.model_parts if isinstance(p, NodeValues))
        coordinates = self.earth.inside(z, y, np.asarray(x, float))
        taped = {
            name: TapedArray(
                samples,
                [
                    (
                        self.arrays[name],
                        partial(_to_nodes, model_part, name, coordinates),
                        partial(_from_nodes, model_part, name, coordinates),
                    )
                ],
            )
            for name, samples in self.earth.as_painted.sample(z, y, x).items()
            if name in self.arrays
        }
        if self.earth.conversion is not None:
            converted = self.earth.converted(taped)
            taped = {name: converted[name] for name in self.earth.needs}
        return self.earth.unrelaxed(taped)


def _to_nodes(
    model_part: NodeValues, name: str, coordinates: Bounds, derivative: np.ndarray
) -> np.ndarray:
    """Return the derivative by values at nodes from that by samples at coordinates z, y, x in m."""
    return model_part.grids[name].at_transposed(derivative, *coordinates)


def _from_nodes(
    model_part: NodeValues, name: str, coordinates: Bounds, change: np.ndarray
) -> np.ndarray:
    """Return the change of samples at coordinates z, y, x in m with that of values at nodes."""
    return replace(model_part.grids[name], samples=change).at(*coordinates)


_GROWTH = 0.01  # relative change of moduli, over y, of losses that have derivatives


def _effective_by_rows(
    earth: TapedEarth, points: GridCells, parameters: Sequence[str],
    averaging: Literal["effective", "point"],
) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:  # fmt: skip
    """Yield rows of z, and averages and losses (rows, [ny,] nx) there; see `effective_medium`.

    Losses are central differences of a larger change of moduli than there, whose derivatives are
    not lost in rounding; they differ by some 1e-9.

    Args:
        earth: that grows: `grown(share)` is the same with moduli so many times their y larger.
        points: of the grid.
        parameters: averages, and losses "y_c33".
        averaging: as for `cell_average`.
    """
    plain = without_losses(parameters)
    lossy = tuple(name for name in parameters if name.startswith(PREFIX))
    needed = averages_of(lossy)
    everything = tuple(dict.fromkeys((*plain, *needed)))
    grown: Any = earth.grown
    taped: Any = earth
    softer, stiffer = (
        averages_by_rows(grown(share), points, needed, averaging) if lossy else repeat(None)
        for share in (-_GROWTH, _GROWTH)
    )
    middle = averages_by_rows(taped, points, everything, averaging)
    for (rows, averages), soft, hard in zip(middle, softer, stiffer, strict=False):
        result = {name: averages[name] for name in plain}
        if soft is not None and hard is not None:
            for name in lossy:
                _, modulus = modulus_of(name.removeprefix(PREFIX))
                change = (modulus(hard[1]) - modulus(soft[1])) / (2.0 * _GROWTH)
                result[name] = change / modulus(averages)
        yield rows, result


class CellAverages:
    """The averages that the coefficients of a run are made of, on the nodes of its grid.

    Attributes:
        components: names of densities that are averaged about velocities, by axis.
    """

    def __init__(self, discretization: Discretization) -> None:
        """Take the run."""
        self._discretization = discretization
        physics = discretization.physics
        # Solids do not slip: only where all is fluid has a velocity a density of its own.
        names = [] if "vs" in physics.needs else [n for n in physics.sparse if n[:4] == "rho_"]
        self._uneven = np.zeros(discretization.grid.points[2], bool)
        for name in names:
            self._uneven |= discretization.uneven[physics.sparse[name]]
        self.components = {name[-1]: name for name in names} if self._uneven.any() else {}

    def on_grid(self, model: Mapping[str, np.ndarray]) -> MediumAverages:
        """Return the averages (z, y, x) at the nodes of the grid; layers continue the edge.

        Args:
            model: values (z, [y,] x) in SI at the nodes of the extent, by every parameter.
        """
        grid = self._discretization.grid
        averages: MediumAverages = {}
        if self.of_nodes:
            averages = of_rock(model, self._discretization.physics.medium)
        else:
            earth = self._earth(model)
            for points, names in self._points():
                averages |= effective_medium(earth, points, names, self._averaging)
            if self._averaging == "point" and "epsilon" not in earth.needs:
                # Even planes take one number of each wave, of which others differ by rounding.
                averages |= {n: averages[_ALIKE[n]] for n in averages.keys() & _ALIKE.keys()}
        return {name: on_grid(array, grid) for name, array in averages.items()}

    def coefficients(self, averages: Mapping[str, TapedArray]) -> dict[str, TapedArray]:
        """Return the coefficients of the equation from the averages."""
        physics = self._discretization.physics
        taped: dict[str, TapedArray] = physics.coefficients(
            self._medium(averages), self._discretization.clock.dt
        )
        if "rest" in taped:
            # Where epsilon is delta, the least that it may be, derivatives by both are left out.
            root: Any = taped["root"]
            taped["root"] = np.where(taped["rest"] > 0.0, root, value_of(root))
        return taped

    def _medium(self, averages: Mapping[str, TapedArray]) -> dict[str, TapedArray]:
        """Return the medium of `Physics.coefficients` from the averages.

        In planes that keep no density for each component it is the mean of two nodes.
        """
        medium: dict[str, Any] = dict(averages)
        for axis, name in self.components.items():
            rho = averages["rho"]
            planes = np.asarray(self._uneven[:, None, None], like=rho.value)
            component: Any = averages[name]
            medium[name] = np.where(planes, component, 0.5 * (rho + rho.next(axis)))
        return medium

    def by_model(
        self, model: Mapping[str, np.ndarray], by_averages: Mapping[str, np.ndarray]
    ) -> MediumAverages:
        """Return derivatives (z, [y,] x) by the values of a model from those by its averages.

        Args:
            model: as of `on_grid`.
            by_averages: derivatives (z, y, x) on the nodes of the grid. Where averages are of
                nodes both may stand on a card.
        """
        grid = self._discretization.grid
        derivatives = {name: in_extent(array, grid) for name, array in by_averages.items()}
        total = {name: np.zeros_like(array) for name, array in model.items()}
        for rows, taped, averages in self._taped_by_rows(model):
            ends = ((average, derivatives[name][rows]) for name, average in averages.items())
            by = propagate(ends, taped.values())
            for name, array in taped.items():
                total[name] += by(array)
        return total

    def changes(
        self, model: Mapping[str, np.ndarray], change: Mapping[str, np.ndarray]
    ) -> MediumAverages:
        """Return the changes (z, y, x) of averages with those of a model, zero in layers.

        Args:
            model: as of `on_grid`.
            change: (z, [y,] x) of its values, by name; others do not change.
        """
        shape = next(iter(model.values())).shape
        total: MediumAverages = {}
        for rows, taped, averages in self._taped_by_rows(model):
            tangents = Tangents([(taped[name], array) for name, array in change.items()])
            for name, average in averages.items():
                total.setdefault(name, np.zeros(shape))[rows] = tangents(average)
        grid = self._discretization.grid
        return {name: in_layers_zero(array, grid) for name, array in total.items()}

    def _taped_by_rows(
        self, model: Mapping[str, np.ndarray]
    ) -> Iterator[tuple[Any, dict[str, TapedArray], dict[str, TapedArray]]]:
        """Yield rows of z, the taped values of the model, and the averages made of them."""
        taped = {name: TapedArray(array) for name, array in model.items()}
        if self.of_nodes:
            rock: Any = of_rock(taped, self._discretization.physics.medium)  # type: ignore[arg-type]
            yield slice(None), taped, rock
            return
        earth: Any = TapedEarth(self._earth(model), taped)
        for points, every in self._points():
            # Symmetry axes have no derivative (`seismo.inversion.refusals`).
            names = [name for name in every if not name.startswith("axis_")]
            by_rows: Iterator[Any] = _effective_by_rows(earth, points, names, self._averaging)
            for rows, averages in by_rows:
                yield rows, taped, averages

    @property
    def of_nodes(self) -> bool:
        """Whether the values at nodes are those of their cells, of isotropic rock."""
        is_plain = is_told_by_rock(self._discretization.earth.needs)
        return self._averaging == "point" and is_plain

    @property
    def _averaging(self) -> Literal["effective", "point"]:
        return self._discretization.scenario.averaging

    def _earth(self, model: Mapping[str, np.ndarray]) -> Earth:
        return with_values(self._discretization.earth, self._discretization.grid, model)

    def _points(self) -> Iterator[tuple[GridCells, tuple[str, ...]]]:
        """Yield points of the extent, and names of the averages about them."""
        grid = self._discretization.grid
        z, x = (nodes_along(grid, axis) for axis in "zx")
        y = nodes_along(grid, "y") if "y" in grid.axes else None
        yield GridCells(z, y, x, grid.cells), tuple(self._discretization.physics.medium)
        for axis, name in self.components.items():
            # The cell about a velocity, half a cell along its axis.
            coordinates: dict[str, Any] = {"z": z, "y": y, "x": x}
            coordinates[axis] = moved(grid.cells, axis, coordinates[axis], 0.5)
            yield (
                GridCells(coordinates["z"], coordinates["y"], coordinates["x"], grid.cells),
                (name,),
            )

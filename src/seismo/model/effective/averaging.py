"""Effective medium of a grid: the parameters of each cell that preserve reflections, and losses.

Point values of the earth move every interface to a cell face, with first-order errors of its
reflections. Averages over the cell about the point make them second order (Moczo et al. 2002, BSSA
92, 3042-3066; Backus 1962, JGR 67): quantities that multiply a common motion have the arithmetic
mean, those that multiply a common stress the harmonic mean:

    rho  arithmetic                        (common velocity; fluids: `effective_density`)
    rho vp^2, rho vs^2  harmonic           (stress on the interface is continuous)
    1 / vp^2  arithmetic                   (density constant: compliance is proportional to it)

(`seismo.model.effective.stiffness` has the tensor of a cell that a contact cuts.)

The average is over a box of the grid spacing about each point; where the earth varies with z only,
a sharper kernel is used (`seismo.model.effective.column`).

Symbols: z, y, x coordinates (m), vp, vs (m/s), rho (kg/m3), moduli (Pa).

**Losses.** Media that attenuate have complex moduli M (1 - sum Y_l w_l / (w_l + i w)), with Y_l
nearly proportional to y (`seismo.equations.rock.relaxation`). What a cell of several media has
follows from the averages by the correspondence principle. To first order in 1/Q that is, of each
stiffness,

    y of c = d ln c / d eps,  every modulus M of the earth being M (1 + eps y)

which is y itself where a single medium fills the cell.

In anisotropic rock a constant relaxes with both y. The loss of two sums of constants that turning
does not change tells them, nine times Voigt's bulk modulus and 15 times his shear modulus::

    dilation = c11 + c22 + c33 + 2 (c12 + c13 + c23),
    distortion = c11 + c22 + c33 - c12 - c13 - c23 + 3 (c44 + c55 + c66)

and the moduli of strains in the plane of x and z: c11 + c33 + 2 c13, and c11 + c33 - 2 c13 + 4 c55.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from seismo.equations.rock.anisotropic_loss import STIFFER
from seismo.grid.grid import Bounds, CellSizes, moved
from seismo.model.effective import (
    GRIDDED,
    SLAB,
    TINY,
    AveragedEarth,
    GridCells,
    Samples,
    cells_about,
    column,
    lattice,
    offsets,
    plain_means,
    tensor,
    tilt,
    tilted_stiffness,
    uneven_cells,
)
from seismo.model.effective import (
    density as effective_density,
)
from seismo.model.effective import (
    stiffness as effective_stiffness,
)

_COLUMN = column.CELLS * column.SAMPLES  # samples per point where the earth varies with z only

# What is averaged, from samples of vp, vs, rho, ...
_MEANS: dict[str, Callable[[Samples], np.ndarray]] = {
    **{name: itemgetter(name) for name in ("vp", "vs", "rho")},
    "square_slowness": lambda s: s["vp"] ** -2,
    **effective_stiffness.MEANS,
    **effective_stiffness.VTI_MEANS,
    **effective_density.MEANS,
    **plain_means.MEANS,
    **tilted_stiffness.MEANS,
}
# Down a column: parameters that formulas average again, from the nodes to the points between, and
# stiffness along the contacts of layers.
_VTI = effective_stiffness.VTI_MEANS.keys()
_ANISOTROPIC = _VTI | tilted_stiffness.MEANS.keys()
_KERNELS = {
    "solid_compliance": column.BETWEEN,
    "plate": column.ALONG,
    "shear": column.ALONG,
    **{n: column.BETWEEN for n in tilted_stiffness.MEANS if n.startswith("between")},
    **{n: column.ALONG for n in tilted_stiffness.MEANS if n.startswith("rest")},
}
_RESULTS: dict[str, tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]] = {
    "rho": (("density",), lambda m: m["density"]),
    **effective_density.RESULTS,
    **plain_means.RESULTS,
    "p_modulus": (("compliance",), lambda m: 1.0 / m["compliance"]),
    **effective_stiffness.RESULTS,
    "vp": (("density", "compliance"), lambda m: (m["density"] * m["compliance"]) ** -0.5),
    "vs": (
        ("density", "shear_compliance"),
        lambda m: (m["density"] * m["shear_compliance"]) ** -0.5,
    ),
}
# Of a single rock that is isotropic, or a fluid, from its samples.
OF_ROCK: dict[str, Callable[[Samples], np.ndarray]] = {
    **{name: itemgetter(name) for name in ("vp", "vs", "rho")},
    **dict.fromkeys(("p_modulus", "c11", "c33"), lambda s: s["rho"] * s["vp"] ** 2),
    **dict.fromkeys(("c44", "c66", "mu_xy", "mu_yz"), lambda s: s["rho"] * s["vs"] ** 2),
    "c13": lambda s: s["rho"] * (s["vp"] ** 2 - 2.0 * s["vs"] ** 2),
}
_CONSTANT_DENSITY = {"vp": (("square_slowness",), lambda m: m["square_slowness"] ** -0.5)}


def cell_average(
    earth: AveragedEarth,
    points: GridCells,
    parameters: Sequence[str],
    averaging: Literal["effective", "point"] = "effective",
    subsamples: int | None = None,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """Return the effective medium at the points of a grid.

    Args:
        earth: the earth; it knows whether density takes part (`Earth.needs`).
        points: of the grid; averages are over their cells.
        parameters: keys of `_RESULTS`.
        averaging: "effective", or "point" for the values at the points themselves.
        subsamples: samples per axis and cell for plain means, instead of a choice by the kind of
            earth.
        dtype: of the result; the work is in float64.

    Returns:
        Each parameter as an array (nz, [ny,] nx), in SI.
    """
    shape = tuple(index.size for index in points.within(earth)[1])
    result = {name: np.empty(shape, dtype) for name in parameters}
    for rows, averages in averages_by_rows(earth, points, parameters, averaging, subsamples):
        for name, average in averages.items():
            result[name][rows] = average
    return result


def averages_by_rows(
    earth: AveragedEarth,
    points: GridCells,
    parameters: Sequence[str],
    averaging: Literal["effective", "point"] = "effective",
    subsamples: int | None = None,
) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Yield rows of z, and their averages (rows, [ny,] nx) in float64; see `cell_average`."""
    rules = _RESULTS if "rho" in earth.needs else _RESULTS | _CONSTANT_DENSITY
    rules = rules | effective_stiffness.results(earth.needs)
    if averaging == "point" and is_told_by_rock(earth.needs, parameters):
        rules = {name: (earth.needs, formula) for name, formula in OF_ROCK.items()}
    formulas = {name: rules[name] for name in parameters}
    means = sorted({mean for needed, _ in formulas.values() for mean in needed})
    (z, y, x), indices = points.within(earth)
    sampler = _Sampler(earth, points.spacing, tuple(means), averaging == "effective", subsamples)
    for z_slice, averages in sampler.slabs(z, y, x):
        target = np.flatnonzero((indices[0] >= z_slice.start) & (indices[0] < z_slice.stop))
        source = (indices[0][target] - z_slice.start, *indices[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            inputs = averages | effective_stiffness.stiffness(averages)
            # Parameters of the same formula have it evaluated once.
            evaluated = {formula: formula(inputs) for _, formula in formulas.values()}
        repeated = {formula: _repeated(array, source) for formula, array in evaluated.items()}
        yield target, {name: repeated[formula] for name, (_, formula) in formulas.items()}


def is_told_by_rock(needs: Collection[str], parameters: Collection[str] = ()) -> bool:
    """Whether `of_rock` has parameters of an effective medium, of an earth of these parameters."""
    return OF_ROCK.keys() >= {*needs, *parameters}


def of_rock(samples: Samples, parameters: Sequence[str]) -> dict[str, np.ndarray]:
    """Return parameters of an effective medium where isotropic rock alone fills each cell.

    Args:
        samples: of vp, vs and rho, as far as there are such.
        parameters: names of averages, without losses.
    """
    return {name: OF_ROCK[name](samples) for name in parameters}


def _repeated(array: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return the values at indices along each axis; a single value is that of all of them."""
    for axis, index in enumerate(indices):
        if array.shape[axis] > 1 and not np.array_equal(index, np.arange(array.shape[axis])):
            array = array.take(index, axis)
    return array


def plain_planes(
    earth: AveragedEarth,
    points: GridCells,
    averaging: Literal["effective", "point"] = "effective",
    density: bool = False,
    simple: Callable[[Samples], np.ndarray] | None = None,
) -> np.ndarray:
    """Return which planes z (nz) have isotropic averages only; see `cell_average`.

    With `simple` the media on them have to be such, too.

    For `density` alone, files that vary gently count as plain (`Earth.varies`). No averages are
    computed; where the earth varies with z only, these reach beyond a cell
    (`seismo.model.effective.column`).
    """
    (z, y, x), indices = points.within(earth)
    sampler = _Sampler(earth, points.spacing, (), averaging == "effective", None)
    planes = (tensor(z[k : k + 1], y, x) for k in range(z.size))
    is_plain = [
        sampler.plain(axes, density) and (simple is None or simple(earth.sample(*axes)).all())
        for axes in planes
    ]
    return np.array(is_plain)[indices[0]]


@dataclass(frozen=True)
class _Sampler:
    """Evaluates averages slab by slab, so that memory stays bounded."""

    earth: AveragedEarth
    spacing: CellSizes
    means: tuple[str, ...]
    effective: bool
    subsamples: int | None

    def slabs(
        self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> Iterator[tuple[slice, dict[str, np.ndarray]]]:
        """Yield rows of z and their averages (rows, [ny,] nx), or (rows, [1,] 1) if layered."""
        if self.earth.layered:
            y = None if y is None else y[:1]
            x = x[:1]
        rank = 2 if y is None else 3
        samples_per_point = int(np.prod(self._division(rank))) if self.effective else 1
        plane = x.size * (1 if y is None else y.size)
        slab_rows = max(1, SLAB // (plane * samples_per_point))
        for first in range(0, z.size, slab_rows):
            z_slice = slice(first, min(first + slab_rows, z.size))
            axes = tensor(z[z_slice], y, x)
            with np.errstate(divide="ignore", invalid="ignore"):
                yield z_slice, self._average(axes, rank)

    def _division(self, rank: int) -> tuple[int, ...]:
        """Return the samples per point along z, (y,) x."""
        if self.earth.layered:
            return (self.subsamples or _COLUMN, *(1,) * (rank - 1))
        return (self.subsamples,) * rank if self.subsamples else GRIDDED[rank]

    def _average(self, axes: Bounds, rank: int) -> dict[str, np.ndarray]:
        if not self.effective:
            return self._means_of(self.earth.sample(*axes))
        if self.earth.layered and not self.subsamples:
            return self._columns(axes[0])
        if self.earth.layered:
            return self._tensor_average(axes, self._division(rank))
        if self.earth.gridded:
            averages = self._tensor_average(axes, self._division(rank))
        else:
            averages = self._means_of(self.earth.sample(*axes))
        self._refine(averages, axes, self._points(rank))
        self._straighten(averages, axes)
        return averages

    def _straighten(self, averages: dict[str, np.ndarray], axes: Bounds) -> None:
        """Mark cells that slip; make contacts parallel to the axes at the ends of the interior.

        They continue so in absorbing layers, where waves grow in cells that slip and transmit
        shear: c13 + 2 c44 exceeds the root of c11 c33 (Becache et al. 2003).
        """
        at_ends = self._at_ends(axes)
        if "tilt" in averages:
            averages["slips"] = (averages["solid"] > 0.0) & (averages["solid"] < 1.0) & ~at_ends
        if effective_density.NORMALS[0] in averages:
            effective_density.straighten(averages, at_ends)

    def _at_ends(self, axes: Bounds) -> np.ndarray:
        """Return which points (broadcastable) are at the ends of the interior, or beyond."""
        at_ends = np.zeros((), bool)
        for axis, limits in zip(axes, self.earth.clamp, strict=True):
            if axis is not None and limits is not None:
                at_ends = at_ends | (axis <= limits[0]) | (axis >= limits[1])
        return at_ends

    def plain(self, axes: Bounds, density: bool) -> bool:
        """Whether no cell of a plane z needs to be averaged."""
        low, high = cells_about(axes, self.spacing)
        return not self.effective or not (
            self.earth.uneven(low, high).any() or self.earth.varies(low, high, density)
        )

    def _points(self, rank: int) -> np.ndarray:
        """Return where to sample a cell (rank, samples), in cells from its centre."""
        if self.subsamples:
            axes = [offsets(self.subsamples)] * rank
            return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
        return lattice(rank)

    def _means_of(self, samples: Samples, without: Container[str] = ()) -> dict[str, np.ndarray]:
        names = (name for name in self.means if name not in without)
        # Copies: averages of cut cells are put into them.
        return {name: _MEANS[name](samples).copy() for name in names}

    def _columns(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Average down the columns (see `column`) that meet two media; once for all."""
        known = self.earth.column_averages.setdefault((z.tobytes(), self.spacing["z"]), {})
        if not known.keys() >= set(self.means):
            samples = self.earth.sample(column.sample_depths(z.ravel(), self.spacing), None)
            is_mixed = ~np.logical_and.reduce([(v == v[:, :1]).all(1) for v in samples.values()])
            alone = {name: v[:, 0] for name, v in samples.items()}
            mixed = {name: v[is_mixed] for name, v in samples.items()}
            solid = mixed.get("vs", mixed[self.earth.needs[0]]) > 0.0
            is_one_phase = np.asarray(solid.all(1) | ~solid.any(1))
            needed = set(self.means)
            if {"vp", "vs", "rho"} <= samples.keys():
                needed |= _MEANS.keys() - plain_means.MEANS.keys() - _ANISOTROPIC
            shares = None
            if not needed.isdisjoint(tilted_stiffness.MEANS):
                shares = tilted_stiffness.sharp_shares(
                    mixed, is_one_phase & np.asarray(solid[:, 0])
                )
            for name in needed:
                kernel = _KERNELS.get(name, column.NODES)
                averages = np.array(_MEANS[name](alone))
                # Entries of a tensor are averaged alike.
                share = shares if name in tilted_stiffness.OF_TENSORS else None
                samples_of = _MEANS[name](mixed)
                averages[is_mixed] = column.average(samples_of, kernel, is_one_phase, share)
                known[name] = averages
        return {name: known[name].reshape(z.shape) for name in self.means}

    def _tensor_average(self, axes: Bounds, division: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Average over every cell of a tensor grid, each divided alike."""
        present = [(name, axis) for name, axis in zip("zyx", axes, strict=True) if axis is not None]
        fine = {
            name: moved(self.spacing, name, axis.reshape(-1, 1), offsets(count)).ravel()
            for (name, axis), count in zip(present, division, strict=True)
        }
        means = self._means_of(self.earth.sample(*tensor(fine["z"], fine.get("y"), fine["x"])))
        split_shape = [
            size
            for (_, axis), count in zip(present, division, strict=True)
            for size in (axis.size, count)
        ]
        sample_axes = tuple(range(1, 2 * len(present), 2))
        averaged = {
            name: fine_values.reshape(split_shape).mean(sample_axes)
            for name, fine_values in means.items()
        }
        if effective_density.NORMALS[0] in averaged and not self.earth.layered:
            cell_samples = np.moveaxis(
                means["density"].reshape(split_shape), sample_axes, range(-len(sample_axes), 0)
            )
            shape = cell_samples.shape[: len(sample_axes)]
            points = np.stack(np.meshgrid(*map(offsets, division), indexing="ij"))
            averaged |= {
                name: squares.reshape(shape)
                for name, squares in effective_density.normals(
                    cell_samples.reshape(-1, int(np.prod(division))),
                    points.reshape(len(sample_axes), -1),
                ).items()
            }
        return averaged

    def _refine(self, averages: dict[str, np.ndarray], axes: Bounds, points: np.ndarray) -> None:
        """Replace the averages of the uneven cells only."""
        for cells, samples in uneven_cells(self.earth, axes, self.spacing, points):
            means = self._means_of(samples, without=tilted_stiffness.MEANS)
            for name, cell_samples in means.items():
                averages[name][cells] = cell_samples.mean(1)
            if "tilt" in means:
                self._tilt(averages, cells, samples, points, self._at_ends(axes))
            if "across_33" in averages:
                ends = np.broadcast_to(self._at_ends(axes), averages["across_33"].shape)[cells]
                roots = "across_root_3" in averages
                turned = tilted_stiffness.turned(samples, points, ends, roots)
                for name, mean in turned.items():
                    averages[name][cells] = mean
            if effective_density.NORMALS[0] in means:
                for name, squares in effective_density.normals(means["density"], points).items():
                    averages[name][cells] = squares

    def _tilt(
        self, averages: dict[str, np.ndarray], cells: tuple[np.ndarray, ...], samples: Samples,
        points: np.ndarray, at_ends: np.ndarray,
    ) -> None:  # fmt: skip
        """Find the dip of contacts in cut cells, and the stiffness of VTI rock there."""
        vti = not _VTI.isdisjoint(self.means)
        name = "compliance" if "compliance" in self.means else "shear"
        varied = effective_stiffness.contrast(samples) if vti else _MEANS[name](samples)
        dip = tilt(varied.clip(min=TINY), points)
        ends = np.broadcast_to(at_ends, averages["tilt"].shape)[cells]
        dip = averages["tilt"][cells] = np.where(ends, np.round(dip), dip)
        if vti and len(cells) == 2:
            for name, means in effective_stiffness.turned(samples, dip).items():
                averages[name][cells] = means


PREFIX = "y_"

_NORMAL = ("c11", "c22", "c33")
_MIXED = ("c12", "c13", "c23")
_SHEAR = ("c44", "c55", "c66")
_PLANE = ("c11", "c33", "c13", "c55")


def _sum(m: Samples, names: Sequence[str]) -> np.ndarray:
    return sum((m[name] for name in names[1:]), m[names[0]])


# Averaged quantity and modulus of constants whose loss is asked for but that are no average.
_MODULI: dict[str, tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]] = {
    "slack": (("c11", "c33", "c13"), lambda m: np.sqrt(m["c11"] * m["c33"]) - m["c13"]),
    "vp": (("vp",), lambda m: m["vp"] ** 2),
    "dilation": (
        (*_NORMAL, *_MIXED),
        lambda m: _sum(m, _NORMAL) + 2.0 * _sum(m, _MIXED),
    ),
    "distortion": (
        (*_NORMAL, *_MIXED, *_SHEAR),
        lambda m: _sum(m, _NORMAL) - _sum(m, _MIXED) + 3.0 * _sum(m, _SHEAR),
    ),
    "plane_dilation": (_PLANE[:3], lambda m: m["c11"] + m["c33"] + 2.0 * m["c13"]),
    "plane_distortion": (
        _PLANE,
        lambda m: m["c11"] + m["c33"] - 2.0 * m["c13"] + 4.0 * m["c55"],
    ),
}


def modulus_of(name: str) -> tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]:
    """Return the averages that a modulus is made of, and how."""
    return _MODULI.get(name, ((name,), lambda m: m[name]))


def without_losses(parameters: Sequence[str]) -> tuple[str, ...]:
    """Return the averages that are no losses."""
    return tuple(name for name in parameters if not name.startswith(PREFIX))


def effective_medium(
    earth: AveragedEarth,
    points: GridCells,
    parameters: Sequence[str],
    averaging: Literal["effective", "point"] = "effective",
    change: Callable[[Samples], dict[str, np.ndarray]] | None = None,
    **how: Any,
) -> dict[str, np.ndarray]:
    """Return averages and losses ("y_c33", ...) at the points of a grid, in float64.

    Arguments as for `cell_average`, with replacements of averages (of all constants, whose losses
    change with them).
    """
    plain = without_losses(parameters)
    lossy = tuple(name for name in parameters if name.startswith(PREFIX))

    def average(earth: AveragedEarth, names: Sequence[str]) -> dict[str, np.ndarray]:
        averages = cell_average(earth, points, names, averaging, dtype=np.float64, **how)
        return averages if change is None else change(averages)

    if not lossy:
        return average(earth, plain)
    needed = averages_of(lossy)
    everything = tuple(dict.fromkeys((*plain, *needed)))
    before = average(earth, everything)
    after = average(earth.stiffer, everything if change else needed)
    return {name: before[name] for name in plain} | losses_between(lossy, before, after)


def averages_of(losses: Sequence[str]) -> tuple[str, ...]:
    """Return the averages that losses are those of."""
    moduli = [modulus_of(name.removeprefix(PREFIX)) for name in losses]
    return tuple(dict.fromkeys(name for names, _ in moduli for name in names))


def losses_between(names: Sequence[str], soft: Samples, hard: Samples) -> dict[str, np.ndarray]:
    """Return losses ("y_c33", ...) of constants, and for moduli `STIFFER` times y larger.

    Args:
        names: of the losses.
        soft: the constants that their moduli take [Pa].
        hard: the same of the stiffer earth (`Earth.stiffer`).
    """
    moduli = {name: modulus_of(name.removeprefix(PREFIX))[1] for name in names}
    return {name: _growth(modulus(soft), modulus(hard)) for name, modulus in moduli.items()}


def _growth(soft: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Return the relative change for a whole eps, 0 where there is no modulus.

    It is none but rounding where media lose nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.where(soft > 0.0, (hard / soft - 1.0) / STIFFER, 0.0)
    return np.where(np.abs(growth) < 1e-9, 0.0, growth)

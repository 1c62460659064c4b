"""The effective medium of a grid: the parameters of each cell that preserve reflections.

Point values of the earth move every interface to a cell face, with first-order errors of its
reflections. Averages over the cell about the point make them second order (Moczo et al. 2002, BSSA
92, 3042-3066; Backus 1962, JGR 67): quantities that multiply a common motion have the arithmetic
mean, those that multiply a common stress the harmonic mean:

    rho  arithmetic                        (common velocity; fluids: `effective_density`)
    rho vp^2, rho vs^2  harmonic           (stress on the interface is continuous)
    1 / vp^2  arithmetic                   (density constant: compliance is proportional to it)

A cell cut by a horizontal contact is transversely isotropic as a whole (Backus 1962, eq. 13): with
l = 1 - 2 vs^2 / vp^2 = lambda / (lambda + 2 mu) and angle brackets for arithmetic means,

    c33 = 1 / <1 / (rho vp^2)>,   c13 = <l> c33,   c11 = <4 rho vs^2 (1 - vs^2 / vp^2)> + <l> c13,
    c44 = 1 / <1 / (rho vs^2)>,   c66 = <rho vs^2>

(`_stiffness` has the tensor of a dipping contact.)

The shear modulus is 0 in any cell with fluid: a fluid-solid contact transmits no shear. But c44,
from which the stiffness between nodes is computed, is that of the solid where this fills more than
half of the cell, and 0 elsewhere: between a fluid and a solid node it vanishes, and the solid keeps
its shear stiffness up to the contact (`seismo.equations.fluid_solid_contact` treats
horizontal contacts). The average is over a box of one grid spacing about each point; where the
earth varies with z only, a sharper kernel is used (`seismo.model.column`).

Symbols: z, y, x coordinates (m), vp, vs (m/s), rho (kg/m3), moduli (Pa).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from seismo.model import column, effective_density, plain_means
from seismo.model.cells import (
    GRIDDED,
    SLAB,
    TINY,
    Samples,
    cells_about,
    lattice,
    offsets,
    tensor,
    tilt,
    uneven_cells,
    unique_axes,
)
from seismo.model.earth import Earth
from seismo.model.layered import Bounds

_COLUMN = column.CELLS * column.SAMPLES  # samples per point where the earth varies with z only

# What is averaged, from samples of vp, vs, rho; a fluid's shear compliance is infinite.
_MEANS: dict[str, Callable[[Samples], np.ndarray]] = {
    "compliance": lambda s: 1.0 / (s["rho"] * s["vp"] ** 2),
    "shear_compliance": lambda s: 1.0 / (s["rho"] * s["vs"] ** 2),
    "thin_stretch": lambda s: 1.0 - 2.0 * (s["vs"] / s["vp"]) ** 2,
    "plate": lambda s: 4.0 * s["rho"] * s["vs"] ** 2 * (1.0 - (s["vs"] / s["vp"]) ** 2),
    "shear": lambda s: s["rho"] * s["vs"] ** 2,
    "solid": lambda s: (s["vs"] > 0.0) * 1.0,
    "solid_compliance": lambda s: np.where(s["vs"] > 0.0, 1.0 / (s["rho"] * s["vs"] ** 2), 0.0),
    "square_slowness": lambda s: s["vp"] ** -2,
    **effective_density.MEANS,
    **plain_means.MEANS,
    "tilt": lambda s: np.zeros_like(s["rho"]),  # computed for cut cells only, by `tilt`
    "slips": lambda s: np.zeros_like(s["rho"]),  # computed by `_straighten`
}
# Down a column: what formulas average once more, from the nodes to the points between them, and
# what resists strains along the contacts of layers.
_KERNELS = {"solid_compliance": column.BETWEEN, "plate": column.ALONG, "shear": column.ALONG}
# What is asked for, from those averages.
_STIFFNESS = (
    "compliance", "shear_compliance", "plate", "thin_stretch", "shear", "solid",
    "solid_compliance", "tilt", "slips",
)  # fmt: skip


def _stiffness(m: Samples) -> dict[str, np.ndarray]:
    """Return Backus' stiffness of a cell, rotated by the dip of its contact (sin^2: `tilt`).

    The other components of such a tensor (c15, c35 in 2-D) are neglected. Harmonic means in all
    directions are used for steep contacts in 3-D (`tilt` is 2), and in cells with fluid and solid.
    """
    normal = 1.0 / m["compliance"]
    shear_normal = 1.0 / m["shear_compliance"]
    coupling = m["thin_stretch"] * normal
    in_plane = m["plate"] + m["thin_stretch"] * coupling
    is_isotropic = (m["tilt"] > 1.0) | (m["slips"] > 0.0)
    sin2 = np.where(is_isotropic, 0.0, m["tilt"])
    cos2 = 1.0 - sin2
    sin2_cos2 = sin2 * (1.0 - sin2)
    mixed = 2.0 * sin2_cos2 * (coupling + 2.0 * shear_normal)
    return {
        "c33": np.where(is_isotropic, normal, normal * cos2**2 + in_plane * sin2**2 + mixed),
        "c11": np.where(is_isotropic, normal, in_plane * cos2**2 + normal * sin2**2 + mixed),
        "c13": np.where(
            is_isotropic,
            normal - 2.0 * shear_normal,
            coupling * (1.0 - 2.0 * sin2_cos2)
            + (in_plane + normal - 4.0 * shear_normal) * sin2_cos2,
        ),
        "c66": np.where(is_isotropic, shear_normal, m["shear"]),
        "c44": np.where(
            m["solid"] > 0.5,
            m["solid"] / m["solid_compliance"] * (1.0 - 4.0 * sin2_cos2)
            + (in_plane + normal - 2.0 * coupling) * sin2_cos2,
            0.0,
        ),
    }


_MODULI = ("solid_compliance", "shear", "solid", "tilt")


def _moduli(is_zz: bool, m: Samples) -> np.ndarray:
    """Return M_xx, or M_zz (`across`), of the tensor M that gives SH stresses their strains.

    M = n n^T / <1 / mu> + (1 - n n^T) <mu>, n normal to the contact, less M_xz; 0 where there is
    fluid. In 2-D.
    """
    normal = 1.0 - m["tilt"] if is_zz else m["tilt"]
    modulus = normal / m["solid_compliance"] + (1.0 - normal) * m["shear"]
    return np.where(np.isclose(m["solid"], 1.0), modulus, 0.0)


_RESULTS: dict[str, tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]] = {
    "rho": (("density",), lambda m: m["density"]),
    **effective_density.RESULTS,
    **plain_means.RESULTS,
    "p_modulus": (("compliance",), lambda m: 1.0 / m["compliance"]),
    "mu_xy": (_MODULI, partial(_moduli, False)),
    "mu_yz": (_MODULI, partial(_moduli, True)),
    **{name: (_STIFFNESS, itemgetter(name)) for name in ("c33", "c13", "c11", "c44", "c66")},
    "vp": (("density", "compliance"), lambda m: (m["density"] * m["compliance"]) ** -0.5),
    "vs": (
        ("density", "shear_compliance"),
        lambda m: (m["density"] * m["shear_compliance"]) ** -0.5,
    ),
}
_CONSTANT_DENSITY = {"vp": (("square_slowness",), lambda m: m["square_slowness"] ** -0.5)}


def cell_average(
    earth: Earth,
    z: np.ndarray,
    y: np.ndarray | None,
    x: np.ndarray,
    spacing: Mapping[str, float],
    parameters: Sequence[str],
    averaging: Literal["effective", "point"] = "effective",
    subsamples: int | None = None,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """Return the effective medium at the points of a grid.

    Args:
        earth: the earth; it knows whether density takes part (`Earth.needs`).
        z: depths (nz) m of the points; any stagger, absorbing layers included.
        y: coordinates (ny) m along y, or None in 2-D.
        x: coordinates (nx) m along x.
        spacing: edges in m of the averaging box by axis name.
        parameters: keys of `_RESULTS`.
        averaging: "effective", or "point" for the values at the points themselves.
        subsamples: samples per axis and cell for plain means, instead of a choice by the kind of
            earth.
        dtype: of the result; the work is in float64.

    Returns:
        Each parameter as an array (nz, [ny,] nx), in SI.
    """
    rules = _RESULTS if "rho" in earth.needs else _RESULTS | _CONSTANT_DENSITY
    formulas = {name: rules[name] for name in parameters}
    needs_stiffness = any(needed is _STIFFNESS for needed, _ in formulas.values())
    means = sorted({mean for needed, _ in formulas.values() for mean in needed})
    # Points beyond the interior repeat those at its edge.
    (z, y, x), indices = unique_axes(earth.inside(np.asarray(z, float), y, np.asarray(x, float)))
    shape = tuple(axis_index.size for axis_index in indices)
    result = {name: np.empty(shape, dtype) for name in parameters}
    sampler = _Sampler(earth, spacing, tuple(means), averaging == "effective", subsamples)
    for z_slice, averages in sampler.slabs(z, y, x):
        target = np.flatnonzero((indices[0] >= z_slice.start) & (indices[0] < z_slice.stop))
        source = np.ix_(indices[0][target] - z_slice.start, *indices[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            inputs = averages | (_stiffness(averages) if needs_stiffness else {})
            evaluated = {name: formula(inputs) for name, (_, formula) in formulas.items()}
        for name, averaged in evaluated.items():
            broadcast = np.broadcast_to(
                averaged, (averaged.shape[0], *(p.max() + 1 for p in indices[1:]))
            )
            result[name][target] = broadcast[source]
    return result


def plain_planes(
    earth: Earth, z: np.ndarray, y: np.ndarray | None, x: np.ndarray, spacing: Mapping[str, float],
    averaging: Literal["effective", "point"] = "effective", density: bool = False,
) -> np.ndarray:  # fmt: skip
    """Return which planes z (nz) have isotropic averages only; see `cell_average`.

    For `density` alone, files that vary gently count as plain (`Earth.varies`). No averages are
    computed; where the earth varies with z only, these reach beyond a cell (`seismo.model.column`).
    """
    (z, y, x), indices = unique_axes(earth.inside(np.asarray(z, float), y, np.asarray(x, float)))
    sampler = _Sampler(earth, spacing, (), averaging == "effective", None)
    is_plain = [sampler.plain(tensor(z[k : k + 1], y, x), density) for k in range(z.size)]
    return np.array(is_plain)[indices[0]]


@dataclass(frozen=True)
class _Sampler:
    """Evaluates averages slab by slab, so that memory stays bounded."""

    earth: Earth
    spacing: Mapping[str, float]
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
        at_ends = np.zeros((), bool)
        for axis, limits in zip(axes, self.earth.clamp, strict=True):
            if axis is not None and limits is not None:
                at_ends = at_ends | (axis <= limits[0]) | (axis >= limits[1])
        if "tilt" in averages:
            averages["slips"] = (averages["solid"] > 0.0) & (averages["solid"] < 1.0) & ~at_ends
            averages["tilt"] = np.where(at_ends, np.round(averages["tilt"]), averages["tilt"])
        if effective_density.NORMALS[0] in averages:
            effective_density.straighten(averages, at_ends)

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

    def _means_of(self, samples: Samples) -> dict[str, np.ndarray]:
        return {name: np.array(_MEANS[name](samples)) for name in self.means}

    def _columns(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Average down the columns (`seismo.model.column`) that meet two media; once for all."""
        known = self.earth.column_averages.setdefault((z.tobytes(), self.spacing["z"]), {})
        if not known.keys() >= set(self.means):
            samples = self.earth.sample(column.sample_depths(z.ravel(), self.spacing["z"]), None)
            is_mixed = ~np.logical_and.reduce([(v == v[:, :1]).all(1) for v in samples.values()])
            alone = {name: v[:, 0] for name, v in samples.items()}
            mixed = {name: v[is_mixed] for name, v in samples.items()}
            solid = mixed.get("vs", mixed[self.earth.needs[0]]) > 0.0
            is_one_phase = np.asarray(solid.all(1) | ~solid.any(1))
            needed = set(self.means)
            if {"vp", "vs", "rho"} <= samples.keys():
                needed |= _MEANS.keys() - plain_means.MEANS.keys()
            for name in needed:
                kernel = _KERNELS.get(name, column.NODES)
                averages = np.array(_MEANS[name](alone))
                averages[is_mixed] = column.average(_MEANS[name](mixed), kernel, is_one_phase)
                known[name] = averages
        return {name: known[name].reshape(z.shape) for name in self.means}

    def _tensor_average(self, axes: Bounds, division: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Average over every cell of a tensor grid, each divided alike."""
        present = [(name, axis) for name, axis in zip("zyx", axes, strict=True) if axis is not None]
        fine = {
            name: (axis.reshape(-1, 1) + offsets(count) * self.spacing[name]).ravel()
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
            means = self._means_of(samples)
            for name, cell_samples in means.items():
                averages[name][cells] = cell_samples.mean(1)
            if "tilt" in means:
                cell_samples = means["compliance" if "compliance" in means else "shear"]
                averages["tilt"][cells] = tilt(cell_samples.clip(min=TINY), points)
            if effective_density.NORMALS[0] in means:
                for name, squares in effective_density.normals(means["density"], points).items():
                    averages[name][cells] = squares

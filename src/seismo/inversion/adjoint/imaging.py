"""Imaging: sums over time of adjoint fields times operations on fields of the forward run.

The derivative of a misfit by a coefficient is a sum over steps of an adjoint field times the
operation that the coefficient multiplies (`seismo.inversion.adjoint.tracing`). These sums,
*images*, are arrays of a subdomain like its fields, and sweeps of the backend add to them:

    image_sxx_x_vx      += sxx d_x vx          sxx of the adjoint run, vx of the forward run
    image_sxz_x_vz_z_vx += sxz (d_x vz + d_z vx)
    image_vx            += vx (vx_now - vx_before),  both of the adjoint run
    image_sxx_2_szz     += (memory 2 of exx) ezz      of the adjoint run, ezz of the forward run
    image_p_r           += r (p_now - p_before),     r the change in the forward run

The names of the images tell the sweeps which products they are. Differences are those of the
interior everywhere: images in absorbing layers mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seismo.backends.base import KernelFields, Launch, Variant
from seismo.equations.framework.formula import Formula
from seismo.grid.decomposition import LINE, Subdomain
from seismo.grid.grid import Box
from seismo.inversion.adjoint.memory import StrainMemory
from seismo.inversion.adjoint.tracing import Operation
from seismo.solver.parallel.active_region import Phase
from seismo.solver.subdomain import SubdomainSolver

FieldProduct = tuple[str, Operation]  # a field of the adjoint run, an operation on forward fields


def image_name(product: FieldProduct) -> str:
    """Return the name of the image of a product."""
    field, operation = product
    return "_".join(
        ["image", field, *(word for pair in operation.operands for word in pair if word)]
    )


def change_name(fields: tuple[str, str]) -> str:
    """Return the name of the image of a change of an adjoint field and a forward field."""
    return "_".join(["image", *dict.fromkeys(fields)])


def strain_image_name(product: tuple[str, int, str]) -> str:
    """Return the name of the image of an adjoint strain, or its memory, and a forward strain."""
    stress, mechanism, other = product
    return f"image_{stress}_{mechanism}_{other}"


def strain_products(cell) -> None:
    """Add adjoint strains and their memory times forward strain rates to their images."""
    for name in cell.fields:
        if name.startswith("image_"):
            _, stress, mechanism, other = name.split("_")
            adjoint = cell[f"adjoint_{stress}_{mechanism}"]
            cell.put(name, cell[name] + adjoint * cell[f"forward_{other}"])


def products(cell) -> None:
    """Add adjoint fields times derivatives of forward fields to their images."""
    derivatives = {}
    for name in cell.fields:
        if name.startswith("image_"):
            _, field, *words = name.split("_")
            pairs = tuple(zip(words[::2], words[1::2], strict=True))
            if pairs not in derivatives:
                derivatives[pairs] = cell.total(*pairs)
            cell.put(name, cell[name] + cell[f"adjoint_{field}"] * derivatives[pairs])


def changes(cell) -> None:
    """Add forward fields times the change of adjoint fields in a step to their images."""
    for name in cell.fields:
        if name.startswith("image_"):
            field, other = _changing(name)
            change = cell[f"adjoint_{field}"] - cell[f"before_{field}"]
            cell.put(name, cell[name] + cell[other] * change)


def _changing(name: str) -> tuple[str, str]:
    """Return the adjoint field and the forward field of the image of a change."""
    _, field, *others = name.split("_")
    return field, others[0] if others else field


class Images:
    """The images of a subdomain, and the launches that add to them."""

    def __init__(
        self, solver: SubdomainSolver, phases: Sequence[Phase], stiffness: Iterable[FieldProduct],
        moving: Iterable[tuple[str, str]],
        memory: StrainMemory | None = None,
    ) -> None:  # fmt: skip
        """Allocate images and bind their sweeps.

        Args:
            solver: the subdomain of the adjoint run.
            phases: of its steps, whose points alone images are added to.
            stiffness: products of stresses and derivatives of velocities.
            moving: fields whose change in a step is an image's factor, and forward fields, which
                are the other.
            memory: strains of rock that attenuates, whose products are imaged, too.
        """
        self._memory = memory
        strains = tuple(map(strain_image_name, memory.products if memory else ()))
        self._solver = solver
        self._backend = solver.backend
        self._stiffness = {image_name(product): product for product in stiffness}
        pairs = tuple(moving)
        self._moving = tuple(dict.fromkeys(name for name, _ in pairs))
        sizes = solver.fields.wavefield
        size = next(iter(sizes.values())).size
        forward = dict.fromkeys(
            [
                *(name for _, op in self._stiffness.values() for _, name in op.operands),
                *self._moving,
                *(memory.strain_rates if memory else ()),
            ]
        )

        def new(size: int) -> Any:
            return self._backend.zeros(size)[:size]

        # Fields of the forward run, and velocities of the adjoint run before a step.
        self.forward = {name: new(size) for name in forward}
        previous = solver.fields.physics.previous
        self.before = {name: new(size) for name in self._moving if name not in previous}
        changing = tuple(map(change_name, pairs))
        names = [*self._stiffness, *strains, *changing]
        self.images = {name: new(size) for name in names}
        # In each phase, about a step of a parity; that whose change is taken is written then.
        self._products = self._of_phases(products, tuple(self._stiffness), phases)
        self._strains = self._of_phases(strain_products, strains, phases)
        self._changes = self._of_phases(changes, changing, phases)

    def clear(self) -> None:
        """Set all images to zero."""
        for image in self.images.values():
            image[:] = 0

    def before_step(self, phase: int, parity: int) -> None:
        """Add the products with stresses as they are, and keep velocities; before a step."""
        for launch in (*self._products[phase][parity], *self._strains[phase][parity]):
            launch()
        for name, kept in self.before.items():
            kept[:] = self._solver.fields.written(name, parity)

    def after_step(self, phase: int, parity: int) -> None:
        """Add the products with the change of fields; after a step of a parity."""
        for launch in self._changes[phase][parity]:
            launch()
        if self._solver.fields.physics.previous:
            for launch in self._strains[phase][parity]:
                launch()

    def sums(self, name: str) -> Any:
        """Return an image (z, y, x) of the subdomain's own points, summed over shots in order."""
        first, *further = self._solver.subdomain.inside(self.images[name])
        total = first.astype(float)
        for of_shot in further:
            total += of_shot
        return total

    def _array(self, name: str, parity: int) -> Any:
        """Return an array by its name in formulas."""
        fields = self._solver.fields
        if name.startswith("image_"):
            return self.images[name]
        if self._memory and name.startswith("forward_"):
            return self.forward[self._memory.named(name.split("_")[1], self._memory.last)]
        if self._memory and name.count("_") == 2:
            _, stress, mechanism = name.split("_")
            return fields.written(self._memory.named(stress, int(mechanism)), parity)
        kind, _, field = name.rpartition("_")
        if kind == "adjoint":
            return fields.written(field, parity)
        if kind == "before":
            # An equation of second order in time keeps the field before the step by itself.
            is_kept = field in fields.physics.previous
            return fields.arrays(parity)[field] if is_kept else self.before[field]
        return self.forward[field]

    def _of_phases(
        self, update: Any, images: tuple[str, ...], phases: Sequence[Phase]
    ) -> list[list[list[Launch]]]:
        """Bind a formula in the points of each phase, for steps of each parity."""
        parities = self._solver.fields.physics.parities
        return [[self._bind(update, images, p, phase.box) for p in parities] for phase in phases]

    def _bind(self, update: Any, images: tuple[str, ...], parity: int, box: Box) -> list[Launch]:
        if not images:
            return []
        solver = self._solver
        fields = dict.fromkeys(name.split("_")[1] for name in images)
        reads = [f"adjoint_{field}" for field in fields]
        if update is strain_products:
            strains = [name.split("_")[1:] for name in images]
            reads = [f"adjoint_{stress}_{mechanism}" for stress, mechanism, _ in strains]
            reads = list(dict.fromkeys([*reads, *(f"forward_{other}" for *_, other in strains)]))
        elif update is changes:
            reads += [f"before_{field}" for field in fields] + list(fields)
        else:
            operations = [self._stiffness[name][1] for name in images]
            reads += dict.fromkeys(name for op in operations for _, name in op.operands)
        return sweeps(
            solver, update,
            {name: self._array(name, parity) for name in images},
            {name: self._array(name, parity) for name in reads},
            solver.subdomain.owned & box, is_closed=update is products,
        )  # fmt: skip


def sweeps(
    solver: SubdomainSolver, update: Callable, writes: Mapping[str, Any], reads: Mapping[str, Any],
    box: Box, is_closed: bool,
) -> list[Launch]:  # fmt: skip
    """Bind a formula on arrays like the fields to a box, with the differences of the interior.

    Args:
        solver: of the subdomain.
        update: the formula. The names of its arrays are those of fields, or have that of a field,
            where the array stands, behind the first underscore.
        writes: arrays by name that it changes.
        reads: arrays by name that it reads.
        box: of points that the subdomain owns.
        is_closed: whether rows under a free surface have the differences of the closure.
    """
    sub = solver.subdomain
    names = (*writes, *reads)
    formula = Formula(
        update, sub.grid.axes, names, tuple(_half_of(solver, name) for name in names), (), ()
    )
    discretization = solver.discretization
    tables = solver.tables[0]
    launches: list[Launch] = []
    memory = solver.backend.zeros(LINE + solver.backend.lane_width)
    nx, ny, nz = sub.grid.points
    closed = discretization.closed_rows if is_closed else 0
    for first, last in ((0, closed), (closed, nz)):
        rows = Box((0, 0, first), (nx, ny, last)) & box
        if not rows.size:
            continue
        width = tables.up.shape[1] if last == closed else 0
        variant = Variant(
            discretization.stencil.order, sub.grid.axes, slots=formula.slots, closed=width
        )
        operands = KernelFields(tuple(writes.values()), tuple(reads.values()), (), (memory,))
        launches += solver.backend.sweep(formula, variant, tables, _columns(sub, rows), operands)
    return launches


def _half_of(solver: SubdomainSolver, name: str) -> str:
    """Return the axes along which an array stands half a cell further, by its name."""
    field = name.split("_")[1] if "_" in name else name
    return solver.fields.physics.named(field).half


def _columns(sub: Subdomain, box: Box) -> np.ndarray:
    """Return the columns (`seismo.backends.base.BOX_COLUMNS`) of a box, for every shot."""
    ox, oy, oz = sub.offset
    (x0, y0, z0) = box.lo
    (x1, y1, z1) = box.hi
    span = [0, 0, 0, 0]  # no layer memory
    along = [x0 + ox, x0 + ox, *span, x0 + ox, x1 + ox, *span, x1 + ox, x1 + ox, *span]
    rows = [z0 + oz, z1 + oz, y0 + oy, y1 + oy]
    columns = [[*rows, shot * sub.volume, 0, *along] for shot in range(sub.batch)]
    return np.array(columns, np.int64)

"""Runs in a plane of flat layers, beside the exact solution of their own source."""

from collections.abc import Sequence

import numpy as np

import solver
from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

Media = Sequence[Medium | dict[str, float]]


def exact(
    simulation, media: Media, depths: Sequence[float], quantity: str = "velocity", places=None,
    cut: float = 1e-8,
) -> np.ndarray:  # fmt: skip
    """Return the exact traces (receiver, component, time) of the only source of a run.

    Args:
        simulation: the run.
        media: from the top down.
        depths: of the contacts in m; one more, ahead of them, is that of a free surface.
        quantity: as `seismo.exact.layered_plane` has it.
        places: (receiver, 2) m; those of the first set of receivers if not given.
        cut: of the wavenumbers.
    """
    source = simulation.discretization.shots[0].sources[0]
    if places is None:
        places = simulation.discretization.groups[0].coordinates[:, ::2]
    known = tuple(m if isinstance(m, Medium) else Medium(**m) for m in media)
    given = Stack(known, depths, len(depths) == len(known)), np.array(source.position)[::2], places
    trace, part = (solver.wavelet(simulation), simulation.dt, quantity), source.strength.get
    if source.kind == "force":
        force = np.array([part("x", 0.0), part("z", 0.0)])
        return layered_plane.force_response(*given, force, *trace, cut)
    xx, zz = (part(name, part("", 0.0)) for name in ("xx", "zz"))
    moment = np.array([[xx, part("xz", 0.0)], [part("xz", 0.0), zz]])
    kind = ("moment", "moment_rate")[source.derivative]
    return layered_plane.moment_response(*given, moment, *trace, kind, cut)


def errors(simulation, *layers, each: bool = False, **how) -> list[float]:
    """Return the relative L2 errors of the receivers' velocities, or of `each` component."""
    found, wanted = solver.traces(simulation), exact(simulation, *layers, **how)
    both = np.stack([found["vx"], found["vz"]], axis=1)
    length = both.shape[2] * (1 if each else 2)
    pairs = zip(both.reshape(-1, length), wanted.reshape(-1, length), strict=True)
    return [metrics.relative_l2(*pair) for pair in pairs]
